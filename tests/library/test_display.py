"""What a console and a notebook show of objects: short, escaped, nothing from outside."""

import re
import shutil
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pandas
import pytest

import citeforge as cf
from citeforge.engines.report_table import MOST_ROWS, Displayed, Table
from citeforge.schemas.scores import ScoreFile
from conftest import refused, write_jsonl
from conftest_plots import HOSTILE, scored, trivial_files


class Cells(HTMLParser):
    """Texts of a table's cells, and all tags and attributes."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.cells: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.tags.append(tag)
        self.attributes += [name for name, _ in attrs]
        if tag in ("td", "th"):
            self.cells.append("")

    def handle_data(self, data: str) -> None:
        if self.tags and self.tags[-1] in ("td", "th", "b"):
            self.cells[-1] += data.strip()


def shown(found: Any) -> Cells:
    """What a notebook shows, after the checks that hold for every object."""
    html = found._repr_html_()
    cells = Cells(html)
    assert set(cells.tags) <= {"p", "div", "table", "thead", "tbody", "tr", "th", "td", "b"}
    assert set(cells.attributes) <= {"class", "tabindex", "role", "aria-label", "scope", "style"}
    line = repr(found)
    assert line.startswith("<")
    assert "\n" not in line
    assert len(line) < 300
    return cells


def two() -> list[ScoreFile]:
    return [
        scored("one", {"CiteP": [0.0, 1.0, 1.0, 1.0], "CiteR": [0.5, 0.5, 1.0, 1.0]}),
        scored("two", {"CiteP": [1.0, 1.0, 1.0, 1.0], "CiteR": [0.5, 0.5, 1.0, 1.0]}),
    ]


def test_scores() -> None:
    scores = cf.Scores(two()[0])
    assert repr(scores) == "<scores of one on x: CiteP 75.00, CiteR 75.00>"
    cells = shown(scores).cells
    assert cells[:2] == ["measure", "one"]
    assert cells[2] == "CiteP ↑"
    assert cells[3].startswith("75.00 [")
    assert "signature: CiteP,CiteR|p:strict" in scores._repr_html_()
    # One measure, or the whole file, prints no value of single queries.
    assert "per_query" not in repr(scores["CiteP"])
    assert "value=75.0" in repr(scores["CiteP"])
    assert "query_ids" not in repr(scores.file)


def test_what_is_missing_stands_beside_the_numbers(package: Path) -> None:
    rows = [{"query_id": "q01", "output": "A [2]."}]
    scores = cf.score(rows, package, ["CiteP"], by=["n_relevant"])
    n_queries = len(cf.load(package).query_ids)
    missing = f"{n_queries - 1} of {n_queries} answers missing"
    assert missing in repr(scores)
    html = scores._repr_html_()
    assert missing in html
    cells = Cells(html).cells
    at = cells.index("missing")
    assert cells[at - 2 : at + 5] == [
        "queries", "answered", "missing", "answers", f"{n_queries}", "1", f"{n_queries - 1}"
    ]  # fmt: skip
    assert "CiteP by n_relevant" in html  # slices, too
    warnings = scores.warnings
    assert any(f"{n_queries - 1} answers missing" in text for text in warnings)
    assert any("add benchmark_hash to each answer" in text for text in warnings)
    assert not any("--" in text for text in warnings)  # options of the command line
    frame = scores.to_pandas()
    assert frame.attrs["warnings"] == warnings
    assert frame.attrs["counts"]["n_missing"] == n_queries - 1
    by_slice = scores.to_pandas(by="n_relevant")
    assert by_slice.index.names == ["n_relevant", "measure"]
    assert by_slice["n"].sum() == n_queries
    with refused("unknown-name", cf.UnknownValueError, value="n_shown", known=["n_relevant"]):
        scores.to_pandas(by="n_shown")


def test_failed_verdicts_are_said() -> None:
    file = scored("one", {"CiteP": [0.0, 1.0]})
    counts = file.counts.model_copy(update={"n_judge_failed": 3})
    scores = cf.Scores(file.model_copy(update={"counts": counts}))
    assert repr(scores).endswith("; the judge failed on 3 pairs>")
    assert "one: the judge failed on 3 pairs; bounds say what that leaves open" in scores.warnings


def test_names_from_outside_are_escaped() -> None:
    file = scored(HOSTILE, {"CiteP": [0.0, 1.0, 1.0]})
    other = scored("two", {"CiteP": [1.0, 1.0, 1.0]})
    for result in (cf.Scores(file), cf.compare(cf.Scores(file), cf.Scores(other))):
        assert "<img" not in result._repr_html_()
        assert any("<img src=x" in text for text in (result._repr_html_().replace("&lt;", "<"),))
        assert "img" not in Cells(result._repr_html_()).tags


def test_many_measures_are_cut(package: Path) -> None:
    names = {f"M{i}": [0.0, 1.0, 1.0] for i in range(100)}
    scores = cf.Scores(scored("one", names))
    assert repr(scores).endswith("M3 66.67 and 96 more>")
    cells = shown(scores)
    assert cells.tags.count("tr") == 1 + MOST_ROWS
    assert f"<p>… {100 + 1 - MOST_ROWS} more rows</p>" in scores._repr_html_()


def test_comparisons() -> None:
    one, other = map(cf.Scores, two())
    result = cf.compare(one, other)
    # One of four queries differs: nothing is significant.
    assert repr(result) == "<2 differences, 0 of them with p < 0.05 after Holm>"
    cells = shown(result).cells
    assert cells[0] == "measure"
    assert cells[8:10] == ["CiteP", "+25.00"]
    assert "two − one" in result._repr_html_()
    assert "signature of the first measure: CiteP|p:strict" in result._repr_html_()
    for frame in (pandas.DataFrame(result), result.to_pandas()):
        assert frame["difference"].tolist() == [25.0, 0.0]
        assert frame["measure"].tolist() == ["CiteP", "CiteR"]
    assert result.to_pandas().attrs["cautions"] == result.cautions
    assert cf.Comparisons().to_pandas().columns.tolist() == frame.columns.tolist()
    assert repr(cf.Comparisons()).startswith("<0 differences")
    assert "<table" not in cf.Comparisons()._repr_html_()
    marked = cf.compare(*map(cf.Scores, trivial_files()))
    assert "CiteP (trivial)" in marked._repr_html_()
    assert "every passage shown is relevant" in marked._repr_html_()


def test_packages_and_their_queries(package: Path) -> None:
    bench = cf.load(package)
    assert re.fullmatch(r"<rage benchmark \S+@[0-9a-f]{8}: 30 queries, contexts mix>", repr(bench))
    assert "context mix" in shown(bench).cells
    item = next(bench.items("mix", "q26"))
    assert repr(item).startswith("<query q26 'After whom is the programming language")
    assert shown(item).tags.count("tr") == 1 + len(item.passages)


def test_frames_of_a_benchmark(package: Path) -> None:
    bench = cf.load(package)
    assert bench.queries.to_pandas()["_id"].tolist() == bench.query_ids
    frame = bench.to_pandas("mix")
    items = list(bench.items("mix"))
    assert len(frame) == sum(len(item.passages) for item in items)
    assert frame.columns.tolist() == [
        "query_id", "query", "number", "id", "title", "text", "label", "url",
    ]  # fmt: skip
    first = frame[frame["query_id"] == items[0].query_id]
    assert first["id"].tolist() == [p.id for p in items[0].passages]
    assert first["number"].tolist() == [*range(1, len(first) + 1)]
    assert bench.to_pandas().equals(frame)
    with refused("unknown-name", noun="context", value="none", known=["mix"]):
        bench.to_pandas("none")


def test_frames_of_triples(kalma_package: Path) -> None:
    bench = cf.load(kalma_package)
    item = next(bench.items())
    triples = [t for g in item.graphs for t in g.triples]
    frame = bench.to_pandas()
    mine = frame[frame["query_id"] == item.query_id]
    assert mine["relation"].tolist() == [t.relation for t in triples]
    assert f"shows {len(triples)}, triples" in repr(item)
    assert f"{triples[0].relation}: {triples[0].value}" in shown(item).cells


def test_without_pandas_the_extra_is_named(package: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "pandas", None)
    with refused("missing-extra", cf.MissingExtraError, extra="pandas"):
        cf.load(package).to_pandas()
    with refused("missing-extra", cf.MissingExtraError, extra="pandas"):
        cf.Scores(two()[0]).to_pandas()


def test_checks(package: Path, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"query_id": "q01", "output": "One [1]."}, {"query_id": "<b>", "output": "x"},
    ]  # fmt: skip
    result = cf.check(str(write_jsonl(tmp_path / "s.jsonl", rows)), cf.load(package))
    assert re.fullmatch(r"<2 answers read, 1 error, \d+ warnings>", repr(result))
    cells = shown(result).cells
    assert cells[:5] == ["", "line", "finding", "error", "2"]
    assert "'<b>' is not in the benchmark" in cells[5]
    assert '<td style="text-align:left">' in result._repr_html_()
    assert "<b>" not in result._repr_html_()


@pytest.mark.slow
def test_audits_and_rebuilt_packages(package: Path, tmp_path: Path) -> None:
    shutil.copytree(package, tmp_path / "p")
    result = cf.audit(tmp_path / "p")
    n_flaws = sum(map(len, result.result.flaws.values()))
    assert re.fullmatch(rf"<audit: \d of \d checks made, {n_flaws} flaws>", repr(result))
    assert set(result.result.flaws) <= set(shown(result).cells)
    again = cf.rebuild(tmp_path / "p", tmp_path / "again", trust=True)
    assert repr(again).endswith(" made again: all tables are equal>")
    shown(again)


def test_a_table_of_no_rows_is_not_shown() -> None:
    class Empty(Displayed):
        def _headline(self) -> str:
            return "a & b"

        def _tables(self) -> list[Table]:
            return [Table(["x"], [])]

    assert Empty()._repr_html_() == "<p>a &amp; b</p>"
