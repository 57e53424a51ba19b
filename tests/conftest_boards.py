"""Made scores for leaderboards, and changes of submissions."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.schemas.scores import Counts, MeasureScore, ScoreFile

EVIL = (
    "<img src=x onerror=\"document.title='owned'\"></script><script>document.title='owned'</script>"
)


def entry(name: str, values: list[float], signature: str | None = None) -> MeasureScore:
    value = 100 * float(np.mean(values))
    return MeasureScore(
        name=name, signature=signature or f"{name}|p:strict|bench:x", scale=100, value=value,
        low=value - 2, high=value + 2, stderr=1.0, interval="bootstrap", n=len(values),
        n_undefined=0, per_query=values,
    )  # fmt: skip


def scored(
    benchmark_hash: str, system: str, measures: list[MeasureScore], queries: list[str]
) -> ScoreFile:
    counts = Counts(n_queries=len(queries), n_runs=1, n_answered=len(queries), n_missing=0,
                    n_unparsed=0)  # fmt: skip
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_sha256="0" * 64, benchmark="x",
        benchmark_hash=benchmark_hash, protocol="strict", context="mix", counts=counts,
        query_ids=queries, measures=measures, headline=["CiteF1@query", "CiteF1"],
    )  # fmt: skip


def broken(path: Path, change: Callable[[list[dict[str, Any]]], None]) -> None:
    """Change the lines of a submission, its header among them."""
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    change(rows)
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
