"""Suspects decided by rules, a strong judge and people; the share of false negatives by strata."""

import csv
import json
from math import sqrt
from pathlib import Path

import numpy as np
import pytest

import citeforge as cf
from citeforge.builders.audit_sentences import write_estimate
from citeforge.builders.verify import verify
from citeforge.package.manifest import load_intact
from citeforge.package.package import Package, read_texts
from citeforge.plugins.audit.cascade import Stratum, pooled_share
from citeforge.schemas.audit import Audit
from conftest import Inline, write_jsonl
from overlapping import DOCUMENTS, PIECES, built, write_chunks

TRUTH = {("river", "river-1"), ("castle", "castle-1")}


def test_one_stratum_has_wilson_s_interval() -> None:
    n, hits, z = 40, 3, 1.959963984540054
    p = hits / n
    middle = (p + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * sqrt(p * (1 - p) / n + z**2 / (4 * n**2))
    assert pooled_share([Stratum(900, n, hits)]) == pytest.approx((p, middle - half, middle + half))


def test_strata_weigh_as_many_rows_as_they_have() -> None:
    whole, rest = Stratum(10, 10, 9), Stratum(90, 30, 3)
    share, low, high = pooled_share([whole, rest])
    # Of the first all are labelled: 9 are relevant. The second gives its own width, times .9.
    assert share == pytest.approx((10 * 0.9 + 90 * 0.1) / 100)
    ends = rest.interval()
    assert (low, high) == pytest.approx((0.09 + 0.9 * ends[0], 0.09 + 0.9 * ends[1]))
    # Nobody labelled 50 of 100: they may all be relevant, or none.
    assert pooled_share([Stratum(50, 50, 0), Stratum(50, 0, 0)]) == (0.25, 0.0, 0.5)
    with pytest.raises(ValueError, match="no rows"):
        pooled_share([])


def test_the_interval_covers() -> None:
    rng = np.random.default_rng(7)
    sizes, shares, drawn = (60, 140, 4000), (0.8, 0.3, 0.01), (30, 40, 120)
    relevant = [round(n * p) for n, p in zip(sizes, shares, strict=True)]
    truth = sum(relevant) / sum(sizes)
    covered = 0
    for _ in range(300):
        strata = [
            Stratum(size, n, int(rng.hypergeometric(hits, size - hits, n)))
            for size, hits, n in zip(sizes, relevant, drawn, strict=True)
        ]
        _, low, high = pooled_share(strata)
        covered += low <= truth <= high
    assert covered >= 0.93 * 300


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("cascade")
    built(write_chunks(at), at / "plain")
    return at / "plain"


@pytest.fixture
def judge(package: Path, tmp_path: Path) -> str:
    """A strong judge that finds one of the seven pieces relevant."""
    wanted = {p for pieces in PIECES.values() for p in pieces}
    texts = read_texts(Package(package).corpus, wanted)
    rows: list[dict[str, object]] = [
        {
            "premise": texts[passage][1],
            "hypothesis": f"This text answers the question: What of the {query}?",
            "verdict": passage == "river-1",
            "margin": 2.5 if passage == "river-1" else -1.5,
        }
        for query, pieces in PIECES.items()
        for passage in pieces
    ]
    return f"table:{write_jsonl(tmp_path / 'strong.jsonl', rows)}"


def audited(inline: Inline, package: Path, judge: str, *more: object) -> tuple[Audit, str]:
    result = inline.ok("audit", package, "--strong-judge", judge, *more)
    assert verify(package) == []
    return Audit.model_validate_json((package / "audit.json").read_text()), result.stdout


def test_from_suspicion_to_a_build_without(
    package: Path, judge: str, tmp_path: Path, inline: Inline
) -> None:
    result, told = audited(inline, package, judge)
    assert result.cascade is not None
    assert result.checks["strong judge"] == result.cascade.stages[-1]
    assert result.negatives == 3 * (5 + 4)
    assert result.cascade.strata == {"relevant": 1, "cleared": 6, "unsuspected": 27 - 7}
    assert "1 relevant, 6 cleared, 20 unsuspected" in told
    rows = {(d.query, d.passage): d for d in result.decisions}
    assert set(rows) == {(q, p) for q in DOCUMENTS for p in PIECES[q]}
    first = rows["river", "river-1"]
    assert (first.verdict, first.score, first.suspected) == ("relevant", 2.5, ["shared-text"])
    assert first.by.startswith("table:strong.jsonl@")
    assert rows["castle", "castle-1"].verdict == "not relevant"

    export = ("labels", "export", "--task", "audit-negative", "--benchmark", package)
    inline.ok(*export, "--sample", 12, "--out", "sample.csv")
    key = json.loads((tmp_path / "sample.csv.key.json").read_text())["items"]
    drawn = [w["stratum"] for w in key.values()]
    # 1 of 1; then half of the 11 that are left, at most 6; the rest of the largest.
    assert [drawn.count(s) for s in ("relevant", "cleared", "unsuspected")] == [1, 5, 6]
    with (tmp_path / "ann.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["item", "label"])
        for item, where in key.items():
            pair = (where["query_id"], where["passage"])
            writer.writerow([item, "relevant" if pair in TRUTH else "not relevant"])
    words = ("labels", "import", "ann.csv", "--key", "sample.csv.key.json", "--out", "l.jsonl")
    inline.ok(*words)

    result, told = audited(inline, package, judge, "--labels", "l.jsonl")
    assert result.cascade is not None
    hits = sum((w["query_id"], w["passage"]) == ("castle", "castle-1") for w in key.values())
    assert result.cascade.labelled == {
        "relevant": (1, 1),
        "cleared": (5, hits),
        "unsuspected": (6, 0),
    }
    before, after = result.cascade.before, result.cascade.after
    assert before is not None and after is not None
    assert result.false_negatives == before
    assert before.share == pytest.approx((1 * 1 + 6 * hits / 5 + 20 * 0) / 27)
    # Without the one, and without what people result: of 26 - hits the rest of 6 hits / 5.
    assert after.share == pytest.approx((6 * hits / 5 - hits) / (26 - hits))
    assert after.low <= after.share <= after.high <= before.high
    assert f"estimate {write_estimate(before)} of the negatives are relevant (12 labelled" in told
    assert f"estimate {write_estimate(after)} of those that stay" in told
    assert "Suspects were decided by rules, then table:" in (package / "README.md").read_text()
    labelled = {(d.query, d.passage) for d in result.decisions if d.by == "people"}
    assert labelled == {(w["query_id"], w["passage"]) for w in key.values()}

    source = package.parent / "b"
    left = built(source, tmp_path / "clean", decided=package / "audit.json")
    gone = {(d.query, d.passage) for d in result.decisions if d.verdict == "relevant"}
    assert ("river", "river-1") in gone
    assert not any((q, p) in gone for q in left for p in left[q])
    assert sum(map(len, left.values())) == 27 - len(gone)
    manifest = load_intact(tmp_path / "clean")
    assert manifest.counts["decided_relevant[people]"] == len(gone)
    assert manifest.counts["decided_relevant_elsewhere"] == 0
    assert manifest.config["decided"] == "audit.json"
    assert len(manifest.config["decided_sha256"]) == 64


@pytest.mark.slow
def test_labels_of_other_strata_are_refused(
    package: Path, judge: str, tmp_path: Path, inline: Inline
) -> None:
    row = {"label": "relevant", "query_id": "river", "passage": "river-1", "stratum": "cleared"}
    write_jsonl(tmp_path / "l.jsonl", [row])
    result = inline.fails(
        1, "input-changed", "audit", package, "--strong-judge", judge, "--labels", "l.jsonl"
    )
    assert isinstance(result.error, cf.InputError)
    assert (result.error.line, result.error.field) == (1, "stratum")
    write_jsonl(tmp_path / "l.jsonl", [{**row, "passage": "river-2"}])
    result = inline("audit", package, "--strong-judge", judge, "--labels", "l.jsonl")
    assert result.code == "unknown-id"


@pytest.mark.slow
def test_an_audit_without_decisions_drops_nothing(
    package: Path, tmp_path: Path, inline: Inline
) -> None:
    inline.ok("audit", package)
    inline.fails(
        1,
        "missing-field",
        *("build", "rage", "--source", f"beir:{package.parent / 'b'}", "--embedder", "offline"),
        *("--decided", package / "audit.json", "--out", "out"),
    )
