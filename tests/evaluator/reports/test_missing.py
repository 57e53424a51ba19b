"""What was not computed is said once a reason."""

from __future__ import annotations

from citeforge.evaluator.reports.missing import missing_lines
from citeforge.schemas.scores import Counts, NotComputed, ScoreFile


def scores(system: str, *missing: tuple[str, str]) -> ScoreFile:
    counts = dict.fromkeys(Counts.model_fields, 0)
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_format="citeforge",
        submission_sha256="0" * 64, benchmark="b", benchmark_hash="1" * 64, protocol="strict",
        context="full", counts=Counts(**counts), query_ids=[], measures=[],
        not_computed=[NotComputed(name=n, reason=r) for n, r in missing], answers=[],
    )  # fmt: skip


def test_measures_with_one_reason_share_a_line() -> None:
    found = missing_lines([scores("a", ("M", "needs x"), ("N", "needs x"), ("O", "needs y"))])
    assert found == ["M, N: needs x", "O: needs y"]


def test_a_line_names_the_systems_unless_it_concerns_all() -> None:
    first = scores("a", ("M", "needs x"), ("N", "no query defines it"))
    second = scores("b", ("M", "needs x"))
    assert missing_lines([first, second]) == ["M: needs x", "N: no query defines it (a)"]
    assert missing_lines([]) == []
