"""``export inspect`` and ``export lighteval``: a benchmark as a task of another framework.

The folder has the prompts, the package, and a task file without any text of the benchmark: names
and settings are read from ``task.json``, so that no text can become code.
"""

import re
from functools import partial
from pathlib import Path
from typing import Annotated

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from citeforge.builders.prompts import contexts_for, prompt_lines
from citeforge.engines.files import atomic_file, write_text
from citeforge.engines.markdown import markdown_text
from citeforge.evaluator.measures.registry import select
from citeforge.package.manifest import MANIFEST
from citeforge.package.package import Package
from citeforge.plugins.responses.task_files import PACKAGE, PROMPTS, TASK, TaskFile
from citeforge.publishing.export import ContextOptions, DroppedFields, Export
from citeforge.publishing.hub import copy_files
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Option, Words
from citeforge.schemas.recipes.command_options import Protocol

_TEMPLATES = Path(__file__).parent / "data"
_LONGEST_NAME = 60


class TaskOptions(ContextOptions):
    """Options of ``export inspect`` and ``export lighteval``."""

    context: str | None = None
    """Context set, or `all` (default: the only one; experiments: all)."""
    template: str | None = None
    """Template of prompts: `rage`, `authorship`, `kalma`, or a Jinja file (default: by kind)."""
    show: str | None = None
    """`summary` or `snippet`: what stands for passages that have one (build alce)."""
    measures: Annotated[Words, Option(joined=True, names="measures")] = ()
    """Measures or families, separated by commas (default: what fits the benchmark)."""
    judge: Annotated[str | None, Option(names="judges")] = None
    """Judge: {judges}."""
    protocol: Protocol = "strict"
    """Our corrected definitions, or what the paper's own code prints."""


def export_task(framework: str, folder: Path, out: Path, options: TaskOptions) -> DroppedFields:
    """Export a benchmark as a task of inspect_ai or lighteval; return what is left out.

    Args:
        framework: ``inspect`` or ``lighteval``.
        folder: the benchmark.
        out: folder, there already.
        options: prompts, and how answers are scored.

    Returns:
        What is left out, one line each.

    Raises:
        InputError: labels are hidden, no prompts can be made, or a template is wrong.
        UnknownValueError: no such context set or measure.
        UsageError: there are several context sets, and none is named.
    """
    package = Package(folder)
    manifest = package.manifest
    if manifest.has_hidden_labels or manifest.config.get("hidden_gold"):
        raise InputError(
            "has hidden labels, which a task needs to score and must not hand on", path=folder,
            allowed="inspect eval citeforge/package -T benchmark=PUBLIC-HALF -T gold=GOLD-HALF",
            code="hidden-gold",
        )  # fmt: skip
    select(options.measures)
    if not package.contexts:
        raise InputError(
            f"has no context sets, so that a {manifest.kind} benchmark asks nothing", path=folder,
            allowed="a benchmark with prompts (`citeforge export prompts` writes some)",
            code="wrong-kind",
        )  # fmt: skip
    contexts = contexts_for(package, options.context)
    (out / PROMPTS).parent.mkdir(parents=True)
    with atomic_file(out / PROMPTS) as file:
        for line in prompt_lines(package, contexts, options.template, options.show):
            file.write(line.encode())
    copy_files(folder, [MANIFEST, *manifest.files], out / PACKAGE)
    task = TaskFile(
        name=_task_name(manifest.name), benchmark=manifest.name,
        benchmark_hash=manifest.answer_hash, contexts=contexts, measures=list(options.measures),
        protocol=options.protocol, judge=options.judge,
    )  # fmt: skip
    write_text(out / TASK, task.model_dump_json(indent=1) + "\n")
    environment = Environment(
        loader=FileSystemLoader(_TEMPLATES), undefined=StrictUndefined, keep_trailing_newline=True,
        autoescape=False,
    )  # fmt: skip
    environment.filters["shown"] = markdown_text
    write_text(out / "task.py", environment.get_template(f"{framework}_task.j2").render())
    readme = environment.get_template("task_readme.j2").render(
        framework=framework, task=task, n_queries=len(package), version=manifest.version
    )
    write_text(out / "README.md", readme)
    others = [name for name in package.contexts if name not in contexts]
    dropped = [f"the context sets {', '.join(others)}"] if others else []
    return [*dropped, f"95 % intervals: {framework} shows values and standard errors"]


def _task_name(benchmark: str) -> str:
    """Make an exported task's name from a benchmark's: letters, digits, ``_`` and ``-``."""
    return f"citeforge_{re.sub(r'[^A-Za-z0-9_-]', '_', benchmark)[:_LONGEST_NAME]}"


INSPECT_TASK = Export(
    "inspect", "A task of inspect_ai, with prompts, benchmark and scorer.",
    partial(export_task, "inspect"), TaskOptions, of="benchmarks",
)  # fmt: skip
LIGHTEVAL_TASK = Export(
    "lighteval", "A task of lighteval, with prompts, benchmark and measures.",
    partial(export_task, "lighteval"), TaskOptions, of="benchmarks",
)  # fmt: skip
