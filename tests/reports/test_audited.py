"""What an audit found among the negatives, in reports and leaderboards."""

import shutil
from pathlib import Path

import citeforge as cf
from citeforge.evaluator.compare import load_scores
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.build import build_site
from citeforge.publishing.card import write_card
from citeforge.reports.audited import describe_negatives
from citeforge.schemas.audit import Audit, Cascade, EstimatedShare
from conftest import Inline

BEFORE = EstimatedShare(share=0.05, low=0.02, high=0.09, n=60, by="l", method="stratified")


def audit(benchmark_hash: str = "0" * 64) -> Audit:
    """1,000 negatives, 40 of them decided relevant: 18 of 20 labelled ones are, 1 of 20 cleared."""
    cascade = Cascade(
        stages=["rules", "lexical@2", "people"],
        strata={"relevant": 40, "cleared": 60, "unsuspected": 900},
        labelled={"relevant": (20, 18), "cleared": (20, 1)}, before=BEFORE,
        after=BEFORE.model_copy(update={"share": 0.012, "low": 0.003, "high": 0.04}),
    )  # fmt: skip
    return Audit(
        benchmark_hash=benchmark_hash, checks={}, flaws={}, negatives=1000, personal_data={},
        languages={}, false_negatives=BEFORE, cascade=cascade,
    )  # fmt: skip


def test_without_labels_it_says_so() -> None:
    bare = audit().model_copy(update={"false_negatives": None, "cascade": None})
    assert "no sample is labelled" in describe_negatives(bare)[0]


def test_a_benchmark_without_negatives_has_no_share_of_them() -> None:
    bare = audit().model_copy(update={"false_negatives": None, "cascade": None, "negatives": 0})
    assert describe_negatives(bare) == ["The audit lists: no flaws."]


def test_pages_tell_it(tmp_path: Path, package: Path, inline: Inline) -> None:
    shutil.copytree(package, tmp_path / "facts")
    cf.run("random", package, tmp_path / "r.jsonl")
    cf.score(tmp_path / "r.jsonl", package).save(tmp_path / "r.json")
    report = ("report", "r.json", "--benchmark", "facts")
    missing = inline.fails(1, "not-computed", *report)
    assert "citeforge audit facts" in missing.stderr
    result = audit(Package(tmp_path / "facts").hash)
    # A file that somebody put beside the package is no audit of it.
    (tmp_path / "facts" / "audit.json").write_text(result.model_dump_json())
    inline.fails(1, "not-computed", *report)
    write_card(tmp_path / "facts", audit=result.model_dump_json())
    words = "Of those that stay when the relevant ones go: 1.2 % [0.3, 4.0]."
    for table in ((), ("--best", "bold")):
        assert words in inline(*report, *table).stdout
    scores = [load_scores(tmp_path / "r.json")]
    inline.ok(*report, "--out", "page.html")
    assert words in (tmp_path / "page.html").read_text()
    build_site(tmp_path / "facts", scores, tmp_path / "site")
    assert words in (tmp_path / "site" / "index.html").read_text()
    for wrong in (
        (*report, "--out", "r.csv"), (*report, "--out", "r.tex", "--best", "bold"),
        (*report, "--out", "r.svg"),
    ):  # fmt: skip
        refused = inline(*wrong)
        assert (refused.returncode, "--benchmark" in refused.stderr) == (2, True), wrong
    text = (tmp_path / "r.json").read_text().replace(result.benchmark_hash, "f" * 64)
    (tmp_path / "r.json").write_text(text)
    other = inline.fails(1, "wrong-benchmark", *report)
    assert "was scored on facts@ffffffff" in other.stderr
