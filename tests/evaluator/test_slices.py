"""Scores of the queries that share the value of a field."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.measures.registry import parse
from citeforge.evaluator.slices import make_slice_file, make_slices, query_labels
from citeforge.evaluator.statistics.estimates import mean_sample
from citeforge.evaluator.statistics.intervals import quantile, sidak_level
from citeforge.evaluator.withhold import withhold_scores
from citeforge.package.fields import describe_fields
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import Signature
from conftest import Inline, refused, run_inline, write_jsonl

N = 60


def metadata(n: int) -> dict[str, Any]:
    """30 of type ``a`` and 25 of ``b``; five have none. Of hops 2, nine."""
    kind = {"type": "a" if n < 30 else "b"} if n < 55 else {}
    return {**kind, "hops": 2 if n % 7 == 0 else 10}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A benchmark of 60 queries, and two systems: one cites the relevant passage of type a."""
    folder = tmp_path_factory.mktemp("slices")
    passages = [{"_id": f"p{i}", "title": "", "text": f"Passage {i} says this."} for i in range(N)]
    write_jsonl(folder / "beir" / "corpus.jsonl", [*passages])
    queries = [{"_id": f"q{i}", "text": f"What of {i}?", "metadata": metadata(i)} for i in range(N)]
    write_jsonl(folder / "beir" / "queries.jsonl", [*queries])
    (folder / "beir" / "qrels").mkdir()
    pairs = "".join(f"q{i}\tp{i}\t1\n" for i in range(N))
    (folder / "beir" / "qrels" / "test.tsv").write_text(f"query-id\tcorpus-id\tscore\n{pairs}")
    recipe = cf.RageRecipe.model_validate(
        {
            "source": f"beir:{folder / 'beir'}", "licence": "cc0-1.0", "candidates": "bm25",
            "mining": {"seemingly_relevant": 0},
            "mixtures": ["mix=1,2,0"],
        }
    )  # fmt: skip
    bench = cf.build(recipe, folder / "package")
    del bench
    opened = cf.load(folder / "package")
    for name, right in (("one", 30), ("two", 50)):
        rows: list[dict[str, object]] = [{"submission": {"system": name}}]
        for n, item in enumerate(opened.items("mix")):
            at = item.relevant[0] + 1 if n < right else (item.relevant[0] + 1) % 3 + 1
            rows.append({"query_id": item.query_id, "output": f"So it is [{at}]."})
        write_jsonl(folder / f"{name}.jsonl", rows)
    return folder


def score(world: Path, name: str = "one", by: Sequence[str] = ("type", "hops")) -> cf.Scores:
    return cf.score(world / f"{name}.jsonl", world / "package", ["CiteP", "CiteF1"], by=by)


def test_values_by_hand(world: Path) -> None:
    file = score(world).file
    by_name = {(p.field, p.value): p for p in file.slices}
    assert [(p.field, p.value, len(p.rows)) for p in file.slices] == [
        ("type", "a", 30), ("type", "b", 25), ("type", "(none)", 5),
        ("hops", "2", 9), ("hops", "10", 51),
    ]  # fmt: skip
    assert by_name["type", "a"].measures[0].value == 100
    assert by_name["type", "b"].measures[0].value == 0
    # Small slices have their values, with wide intervals: of five, none is right.
    small = by_name["type", "(none)"].measures[0]
    assert (small.value, small.low) == (0, 0) and small.high > 50
    # Of 51 queries of hops 10, the right ones: 30 less the five that 7 divides below 30.
    precision, f1 = by_name["hops", "10"].measures
    assert precision.value == pytest.approx(100 * 25 / 51)
    # Each has one relevant passage and one citation: precision and recall are equal.
    assert f1.value == pytest.approx(100 * 25 / 51)


def test_intervals_hold_at_once(world: Path) -> None:
    """Five slices: each interval covers in .95^(1/5) of 100."""
    (part,) = [p for p in score(world).file.slices if (p.field, p.value) == ("hops", "10")]
    q, n, share = quantile(float("inf"), sidak_level(0.95, 5)), 51, 25 / 51
    assert sidak_level(0.95, 5) ** 5 == pytest.approx(0.95)
    middle = (share + q * q / (2 * n)) / (1 + q * q / n)
    half = q / (1 + q * q / n) * np.sqrt(share * (1 - share) / n + q * q / (4 * n * n))
    entry = part.measures[0]
    assert (entry.low, entry.high) == pytest.approx((100 * (middle - half), 100 * (middle + half)))
    (alone,) = [p for p in score(world, by=["hops"]).file.slices if p.value == "10"]
    assert alone.measures[0].high < entry.high  # two slices need less


def test_fields_of_the_package(world: Path) -> None:
    opened = cf.load(world / "package")
    labels = query_labels(opened, "mix", ["n_relevant", "n_shown"])
    assert labels == {"n_relevant": ["1"] * N, "n_shown": ["3"] * N}
    with refused("unknown-name", cf.UnknownValueError, noun="field of the queries", value="kind"):
        score(world, by=["kind"])
    with refused("wrong-kind", cf.UsageError):
        query_labels(opened, "own", ["n_shown"])


def test_show_and_card_name_the_fields_that_make_slices(world: Path, inline: Inline) -> None:
    out = inline.ok("show", world / "package").stdout
    assert "fields of the queries (score --by FIELD):" in out
    # Of 60 queries, 9 are multiples of 7.
    assert "  type: a 30, b 25, (none) 5\n  hops: 10 51, 2 9\n" in out
    card = (world / "package" / "README.md").read_text()
    assert "| type | a 30, b 25, (none) 5 |\n| hops | 10 51, 2 9 |" in card


def test_packages_without_fields_say_nothing_of_them(package: Path, inline: Inline) -> None:
    assert "--by FIELD" not in inline.ok("show", package).stdout
    assert "--by FIELD" not in (package / "README.md").read_text()


def test_fields_of_many_values_are_counted() -> None:
    rows = [json.dumps({"id": str(n), "few": n % 10}) for n in range(60)]
    shown = describe_fields(pa.table({"metadata": [*rows, None]}))
    assert shown["id"] == "61 values, too many or too long for slices"  # and those without
    assert shown["few"] == ", ".join(f"{n} 6" for n in range(8)) + " and 3 more"


def test_a_field_of_too_many_values(package: Path) -> None:
    opened = cf.load(package)
    column = [json.dumps({"id": n}) for n in range(60)]

    class Many:
        queries = {"metadata": type("Column", (), {"to_pylist": staticmethod(lambda: column)})}
        has_graphs, manifest = opened.has_graphs, opened.manifest

    with refused("out-of-range", cf.UsageError):
        query_labels(Many(), "mix", ["id"])  # type: ignore[arg-type]


def test_a_slice_alone_is_a_score_file(world: Path) -> None:
    """Its values are those of a benchmark of these queries, influences included."""
    part = make_slice_file(score(world).file, "hops", "10")
    assert part is not None
    again = ScoreFile.model_validate(part.model_dump())
    assert len(again.query_ids) == 51
    for entry in again.measures:
        assert len(entry.per_query) == 51
        if entry.influence is None:
            mean = np.mean([v for v in entry.per_query if v is not None])
            assert entry.value == pytest.approx(100 * mean)
    f1 = again.measures[1]
    assert f1.influence is not None and sum(filter(None, f1.influence)) == pytest.approx(0)


def test_compare_and_gate_by_slices(world: Path, tmp_path: Path) -> None:
    one, two = score(world), score(world, "two")
    rows = cf.compare(one, two, measures=["CiteP", "CiteF1"], by=["type"])
    found = {(d.slice, d.measure): d.difference for d in rows}
    # Two is right on 20 more queries, all of type b, of which there are 25.
    for measure in ("CiteP", "CiteF1"):
        assert found["type=b", measure] == pytest.approx(100 * 20 / 25)
    assert found["type=a", "CiteP"] == 0
    assert found["", "CiteP"] == pytest.approx(100 * 20 / 60)
    assert "type=(none): 5 queries are few: see how wide its intervals are" in rows.cautions
    # Worse in a slice, and as good on the whole: the policy allows 40 points.
    policy = {"critical": {"CiteP": {"margin": 60, "relative": "100%"}}}
    assert cf.gate(one, two, policy=policy).verdict == "pass"
    result = cf.gate(one, two, policy=policy, by=["type"])
    assert result.verdict == "fail"
    assert [r.place for r in result.rows if r.verdict == "fail"] == ["type=b"]
    with refused("not-computed", cf.UsageError):
        cf.compare(one, two, by=["n_shown"])
    better = one.file.model_copy(deep=True)
    better.slices[1].measures[0].value = 90.0
    with refused("inconsistent-scores", cf.InputError):
        cf.gate(cf.Scores(better), two, policy=policy, by=["type"])
    other = one.file.model_dump()
    other["slices"][1]["measures"][0]["name"] = "CiteR"
    with pytest.raises(ValueError, match="does not fit"):
        ScoreFile.model_validate(other)
    with refused("not-computed", cf.UsageError):
        cf.gate(one, score(world, "two", by=["hops"]), by=["type"])


def test_the_commands(world: Path, inline: Inline, tmp_path: Path) -> None:
    words = ("--benchmark", world / "package", "--measures", "CiteP,CiteR", "--by", "type,hops")
    for name in ("one", "two"):
        ran = inline.ok("score", world / f"{name}.jsonl", *words, "--out", f"{name}.json")
    lines = [line.split() for line in ran.stdout.splitlines()]
    assert any(line[:2] == ["(none)", "5"] and line[-1] == "few" for line in lines)
    assert any(line[:3] == ["b", "25", "80.00"] for line in lines)
    files = ("one.json", "two.json")
    compared = inline("compare", *files, "--by", "type", COLUMNS="80").stdout
    assert "two − one, type=b" in compared
    ran = inline("gate", "one.json", "--baseline", "two.json", "--by", "type")
    assert "type=b: CiteP is worse" in " ".join(ran.stdout.split())
    assert "## CiteP by hops" in inline("report", *files).stdout
    assert "## CiteP by hops" not in inline("report", *files, "--by", "type").stdout
    table = inline("report", *files, "--format", "csv").stdout.splitlines()
    assert table[0].endswith(",field,slice")
    assert sum(line.endswith(",type,b") for line in table) == 4
    assert inline("report", *files, "--by", "gone").code == "not-computed"
    (tmp_path / "scores").mkdir()
    shutil.copy(tmp_path / "one.json", tmp_path / "scores")
    site = ("--benchmark", world / "package", "--scores", "scores", "--out", "site")
    inline.ok("leaderboard", "build", *site)
    (page,) = (tmp_path / "site" / "systems").glob("*.html")
    assert "<h2>CiteP by type</h2>" in page.read_text()


def test_figures_of_slices(world: Path) -> None:
    pytest.importorskip("vl_convert")
    files = [score(world), score(world, "two")]
    svg = cf.report(files, kind="svg", plot="slices", measure="CiteP").text
    assert "type b · two" in svg
    page = cf.report(files, kind="html").text
    assert 'id="plot-slices-CiteF1"' in page or 'id="plot-slices-CiteP"' in page
    with refused("not-computed", cf.UsageError):
        cf.report([score(world, by=())], kind="svg", plot="slices")


def test_hidden_gold_has_no_slices(world: Path) -> None:
    private = score(world).file.model_copy(update={"gold": "private"})
    assert withhold_scores(private).slices == []
    whole = {**withhold_scores(private).model_dump(), "slices": private.model_dump()["slices"]}
    with pytest.raises(ValueError, match="withheld"):
        ScoreFile.model_validate(whole)


def test_cells_have_no_slices(authorship_package: Path, tmp_path: Path) -> None:
    words = ("run", "label-blind", "--benchmark", authorship_package, "--out", "s.jsonl")
    run_inline(words, tmp_path, {}).check_returncode()
    with refused("wrong-kind", cf.UsageError):
        cf.score(tmp_path / "s.jsonl", authorship_package, by=["n_shown"])


def test_slices_name_the_place_of_a_measure_and_leave_out_what_is_of_the_whole() -> None:
    sample = replace(mean_sample(np.ones((1, N))), place="1", p_t=0.5)
    measure, signature = (
        parse("Pos.Cited"),
        Signature("Pos.Cited", "strict", "1,strict", "m", "b@1"),
    )
    (part,) = make_slices([(measure, sample)], [signature], {"type": ["a"] * N}, None)
    (entry,) = part.measures
    assert (entry.name, entry.value, entry.p_t) == ("Pos.Cited[1]", 100, None)


def test_answers_come_with_the_fields_that_filter_them(world: Path, inline: Inline) -> None:
    """Scored with --details and not --by: no slice has scores, and pages can filter by all."""
    words = ("--benchmark", world / "package", "--measures", "CiteP", "--details")
    inline.ok("score", world / "one.jsonl", *words, "--out", "all.json")
    file = load_scores(inline.folder / "all.json")
    assert [(p.field, p.value, len(p.rows)) for p in file.slices] == [
        ("type", "a", 30), ("type", "b", 25), ("type", "(none)", 5),
        ("hops", "2", 9), ("hops", "10", 51),
    ]  # fmt: skip
    assert not any(p.measures for p in file.slices)
    assert "by type" not in inline.ok("report", "all.json").stdout
    inline.ok("report", "all.json", "--out", "all.html")
    page = (inline.folder / "all.html").read_text()
    assert '["type", ["a", "b", "(none)"]]' in page  # the choices of the explorer
    with refused("not-computed", cf.UsageError):
        cf.report([inline.folder / "all.json"], kind="md", by=["type"])
    # One of two fields has scores; the other still filters.
    inline.ok("score", world / "one.jsonl", *words, "--by", "hops", "--out", "hops.json")
    inline.ok("report", "hops.json", "--by", "hops", "--out", "hops.html")
    page = (inline.folder / "hops.html").read_text()
    assert '["type", ["a", "b", "(none)"]]' in page
    assert "CiteP by type" not in inline.ok("report", "hops.json").stdout
