"""What was not computed is said once a reason."""

from __future__ import annotations

from pathlib import Path

import citeforge as cf
from citeforge.evaluator.reports.missing import caution_lines, missing_lines
from citeforge.evaluator.reports.report import rendered
from citeforge.evaluator.reports.table import render_scores
from citeforge.schemas.scores import Counts, NotComputed, ScoreFile
from conftest_builders import hagrid
from conftest_plots import scored


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


def test_a_measure_that_any_citation_satisfies_is_called_trivial() -> None:
    plain = scored("one", {"CiteP": [1.0, 1.0, 0.0], "CiteR": [0.5, 1.0, 0.0]})
    assert caution_lines([plain]) == []

    def shown(n_all_relevant: int) -> ScoreFile:
        counts = plain.counts.model_copy(update={"n_all_relevant": n_all_relevant})
        return plain.model_copy(update={"counts": counts})

    assert caution_lines([shown(2)]) == []  # one of three queries shows something else
    (line,) = caution_lines([shown(3), shown(3)])
    assert line.startswith("CiteP is trivial on x, mix: every passage shown is relevant")
    for ending in ("md", "latex", "html"):
        assert line in rendered([shown(3)], ending).decode()
    assert line in render_scores([shown(3)])


def test_hagrid_shows_relevant_passages_alone(tmp_path: Path) -> None:
    manifest = hagrid(tmp_path / "h")
    answers = [{"query_id": q, "output": "One [1]."} for q in cf.load(tmp_path / "h").query_ids]
    scores = cf.score(answers, tmp_path / "h", ["CiteP"])
    assert scores.counts.n_all_relevant == scores.counts.n_queries == 5, manifest.counts
    assert scores["CiteP"].value == 100.0
    assert len(caution_lines([scores.file])) == 1
