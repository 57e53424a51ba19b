"""``eval.yaml``: what a published benchmark tells the Hub's leaderboards (Community Evals).

Format: https://huggingface.co/docs/hub/eval-results. A task is a measure on a context set; models
answer with values in their own repositories.
"""

import re

import yaml

from citeforge.package.kinds import kind_of
from citeforge.schemas.benchmarks.manifest import Manifest

FILE = "eval.yaml"
FRAMEWORK = "citeforge"


def task_id(context: str, measure: str) -> str:
    """Id of the leaderboard of a measure on a context set."""
    return re.sub(r"[^A-Za-z0-9._-]", "-", f"{context}_{measure}")


def render_evals(manifest: Manifest) -> str | None:
    """Text of ``eval.yaml``; None for a benchmark without leaderboards."""
    kind = kind_of(manifest)
    tasks = [
        {"id": task_id(context, measure), "config": "contexts", "split": context}
        for context in manifest.contexts
        for measure in kind.headline
    ]
    if not tasks:  # experiments, whose values are of several sets together
        return None
    content = {
        "name": manifest.name,
        "description": f"A benchmark for cited generation: {kind.about}. Values are from 0 to 100; "
        "missing answers count as wrong. The notes of each result say how it was computed.",
        "evaluation_framework": FRAMEWORK,
        "tasks": tasks,
    }
    return yaml.safe_dump(content, sort_keys=False, allow_unicode=True, width=100)
