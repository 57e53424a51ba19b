"""FACT: which statements cite which pages, and what is counted of them."""

# ruff: noqa: E501 (cases, one a line)
from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.sentences import SentenceSegmenter
from citeforge.evaluator.benchmark import Benchmark
from citeforge.evaluator.check import check
from citeforge.evaluator.formats import answers_of, detect
from citeforge.evaluator.research.markup import read_markup
from citeforge.evaluator.research.pairs import as_written, read_pairs
from citeforge.library.scores import score
from citeforge.schemas.errors import InputError
from citeforge.schemas.urls import same_url
from conftest import EXAMPLES, write_jsonl

REPORTS = EXAMPLES / "vendors" / "reports.jsonl"
SEGMENTER = SentenceSegmenter()
A, B, C = "https://a.org/x", "https://b.org/y", "https://c.org/z_(moon)"


@pytest.fixture(scope="module")
def benchmark(package: Path) -> Benchmark:
    return Benchmark(package)


def pairs(report: str, *shown: str) -> list[tuple[str, str]]:
    found = read_pairs(report, SEGMENTER, same_url, shown).pairs
    return [(p.statement, p.key) for p in found]


LIST = f"\n\n## References\n\n[1] One. {A}\n[2] [Two]({B})\n"


@pytest.mark.parametrize(
    ("report", "expected"),
    [
        ("", []),
        ("Io is a moon.", []),
        # A list that no sentence cites gives nothing.
        ("Io is a moon." + LIST, []),
        ("Io is a moon [1]." + LIST, [("Io is a moon.", A)]),
        ("Io is a moon [1, 2]." + LIST, [("Io is a moon.", A), ("Io is a moon.", B)]),
        ("Io is a moon [1][2]. So is Titan【2†L3-L9】." + LIST,
         [("Io is a moon.", A), ("Io is a moon.", B), ("So is Titan.", B)]),
        ("Io is a moon [2†L3]. So is Titan[^1]." + LIST, [("Io is a moon.", B), ("So is Titan.", A)]),
        ("Io is a moon.[^1]\n\n[^1]: Moons, " + A, [("Io is a moon.", A)]),
        ("Io is a moon [1].\n\nSources:\n1. Moons. " + A, [("Io is a moon.", A)]),
        # An entry whose URL stands in its next line.
        ("Io is a moon [1].\n\nReferences\n[1] Moons\n    " + A + "\n[2] Two", [("Io is a moon.", A)]),
        # Links: their text stays where it is part of the sentence.
        (f"As [the atlas]({A}) says, Io is a moon.", [("As the atlas says, Io is a moon.", A)]),
        (f"Io is a moon ([a.org]({A})).", [("Io is a moon.", A)]),
        (f"Io is a moon ([an atlas]({A}), [two]({B})).", [("Io is a moon.", A), ("Io is a moon.", B)]),
        (f"Io is a moon [source]({A}). Titan [1]({B}).", [("Io is a moon.", A), ("Titan.", B)]),
        (f'Io is a moon [a.org]({A} "An atlas").', [("Io is a moon.", A)]),
        (f"Io is a moon [link](<{A}>).", [("Io is a moon.", A)]),
        (f"Io is a moon ({C}).", [("Io is a moon.", C)]),
        (f"Io is a moon. {A}", [("Io is a moon.", A)]),
        (f"Io is a moon <{A}>. So is Titan {B}.", [("Io is a moon.", A), ("So is Titan.", B)]),
        (f"木星很大（{A}）。土星也是[1]。\n\n参考文献\n[1] {B}", [("木星很大。", A), ("土星也是。", B)]),
        # No citations: images, code, links within a site.
        (f"![Io]({A}) Io is a moon. `see {A}` [top](#moons) [mail](mailto:a@b.c)", []),
        # One page, written in four ways; the same said again is one pair.
        (f"Io is a moon [x]({A}#:~:text=io). Io is a moon ([a]({A}?utm_source=openai)). IO IS A MOON ({A}/)!",
         [("Io is a moon x.", A), ("Io is a moon.", A)]),
        # A number that the list lacks cites something that nobody can look up.
        ("Io is a moon [7]." + LIST, [("Io is a moon.", "[7]")]),
        # A row of a table is a statement; a heading is none, and its mark belongs to what follows.
        (f"# Moons [1]\n\n| Moon | is |\n|---|---|\n| Io | hot [2] |\n| Titan | cold ({A}) |" + LIST,
         [("| Io | hot |", A), ("| Io | hot |", B), ("| Titan | cold |", A)]),
    ],
)  # fmt: skip
def test_pairs_of_a_report(report: str, expected: list[tuple[str, str]]) -> None:
    assert pairs(report) == expected


def test_numbers_without_a_list_are_the_passages_of_the_line() -> None:
    assert pairs("Io is a moon [2]. So is Titan [3].", A, B) == [
        ("Io is a moon.", B), ("So is Titan.", "[3]"),
    ]  # fmt: skip
    assert pairs("Io is a moon [2]." + LIST, "https://other.org", "https://else.org") == [
        ("Io is a moon.", B)
    ]


def test_urls_of_the_authors_code() -> None:
    """As written, but for the words that a browser should mark."""
    assert as_written(f"{A}?utm_source=x#:~:text=io,moon") == f"{A}?utm_source=x"
    report = f"Io is a moon ({A}). It is hot ({A}/). It is far ({A}#:~:text=far)."
    found = read_pairs(report, SEGMENTER, as_written).pairs
    assert [p.key for p in found] == [A, f"{A}/", A]


def test_a_list_with_faults() -> None:
    found = read_markup(
        f"Io [1] is [3] a moon [9].\n\nReferences\n[1] {A}\n[1] {B}\n[3] A book, no address.\n"
    )
    assert found.references == {1: A}
    assert (found.twice, found.unlisted) == ([1], [3, 9])


TOKENS = st.sampled_from(
    ["Io is a moon", " [1]", "[2, 3]", "【1†L2】", f" ([a]({A}))", f"[b]({B})", f" {C}", ". ", "\n",
     "\n\n", "## References\n", f"[1] {A}\n", "`", "```", "](", "![", "[", ")", "木星。", "\u2028", "| a |"]
)  # fmt: skip


@given(st.lists(TOKENS, max_size=25).map("".join) | st.text(max_size=80))
def test_any_text_is_read(report: str) -> None:
    found = read_pairs(report, SEGMENTER, same_url)
    assert len({(p.statement, p.key) for p in found.pairs}) == len(found.pairs)
    ends = [0]
    for mention in found.markup.mentions:
        assert ends[-1] <= mention.start < mention.end <= len(report)
        assert mention.keys
        ends.append(mention.end)
    known = {same_url(k) for m in found.markup.mentions for k in m.keys}
    assert {p.key for p in found.pairs} <= known


def test_the_example_by_hand(package: Path) -> None:
    """Report 1 has five pairs: three supported, one of a page without text, one of no page.

    Report 2 has two, one supported; report 3 cites nothing; 27 questions have no report.
    """
    strict = score(REPORTS, package, measures=["fact"], judge="lexical")
    found = {m: strict[m].value for m in strict}
    assert found["FACT.Acc"] == pytest.approx(100 * (3 / 5 + 1 / 2 + 0) / 30)
    assert found["FACT.Eff"] == pytest.approx((3 + 1) / 30)
    assert found["FACT.Cit"] == pytest.approx((5 + 2) / 30)
    assert found["FACT.Unread"] == pytest.approx(2 / 30)
    theirs = score(REPORTS, package, measures=["fact"], judge="lexical", protocol="reference",
                   segmenter="nupunkt")  # fmt: skip
    found = {m: theirs[m].value for m in theirs}
    # Of all pairs that could be judged; reports without citations are left out.
    assert found["FACT.Acc"] == pytest.approx(100 * (3 + 1) / (3 + 2))
    assert found["FACT.Eff"] == pytest.approx((3 + 1) / 2)
    assert found["FACT.Cit"] == pytest.approx((3 + 2) / 2)
    assert found["FACT.Unread"] == pytest.approx(2 / 2)


def test_partial_support_is_support(package: Path, tmp_path: Path) -> None:
    """As the paper has it: facts found entirely or partially."""
    from citeforge.engines.judge.records import Verdict

    class Judge:
        signature, comparable = "levels", False

        def identity(self) -> dict[str, str]:
            return {"name": "levels"}

        def count_tokens(self, pairs: object) -> None:
            return None

        def decide(self, pairs, keep) -> None:  # type: ignore[no-untyped-def]
            level = {"One.": 1.0, "Half.": 0.5, "None.": 0.0}
            keep([(i, Verdict(level[p.hypothesis] == 1, support=level[p.hypothesis]))
                  for i, p in enumerate(pairs)])  # fmt: skip

    page = {"url": A, "text": "Some text."}
    report = f"One ({A}). Half ({A}). None ({A})."
    path = write_jsonl(tmp_path / "r.jsonl", [{"id": "q01", "article": report, "pages": [page]}])
    found = score(path, package, measures=["FACT.Eff"], judge=Judge())
    assert found["FACT.Eff"].per_query[0] == 2


def test_scraped_files_of_the_benchmark(tmp_path: Path, benchmark: Benchmark) -> None:
    row = {
        "id": 1, "prompt": "Which moon is the most volcanically active body in the Solar System?",
        "article": f"Io ({A}).", "citations": [{"fact": "Io", "ref_idx": 0, "url": A}],
        "citations_deduped": {A: {"facts": ["Io"], "url_content": "Io\n\n\n\nIo is hot."},
                              B: {"facts": ["x"], "url_content": "scrape failed: 404"}},
    }  # fmt: skip
    path = write_jsonl(tmp_path / "scraped.jsonl", [row])
    assert detect(path) == "deep-research"
    ((line, answer),) = answers_of(path, benchmark)
    assert (line, answer.query_id) == (1, "q01")
    assert [(p.url, p.text) for p in answer.passages or ()] == [
        (A, "Io\n\n\n\nIo is hot."),
        (B, ""),
    ]


def test_what_check_says_of_reports(benchmark: Benchmark, tmp_path: Path) -> None:
    found = check(REPORTS, benchmark)
    said = [w for line, w in found.warnings if line == 1]
    assert said == [
        "output: cites [3]; the list of references has no URL for it",
        "passages: no text of 1 of 3 cited pages (first: https://example.com/volcanoes); they "
        "support nothing. Give their texts as passages with url and text",
    ]
    twice = f"Io [1].\n\nReferences\n[1] {A}\n[1] {B}"
    path = write_jsonl(tmp_path / "r.jsonl", [
        {"id": "q01", "article": twice, "pages": [{"url": A, "text": "Io."}]}])  # fmt: skip
    (said,) = [w for line, w in check(path, benchmark).warnings if line == 1]
    assert said == "output: the list of references has 1 several times; the first one counts"


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"id": "q01", "article": 7}, "article: Expected `str`, got `int`"),
        ({"article": "x"}, "missing required field `id`"),
        (
            {"id": "q01", "article": "x", "pages": [{"url": A}]},
            r"pages\[0\]: Object missing required field `text`",
        ),
        ({"id": "q01", "article": "x", "pages": {A: "text"}}, "pages: Expected `array | null`"),
    ],
)
def test_a_wrong_line(
    tmp_path: Path, benchmark: Benchmark, row: dict[str, object], message: str
) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [{"id": "q01", "article": "x"}, row])
    with pytest.raises(InputError, match=rf"r\.jsonl:2:? .*{message}"):
        list(answers_of(path, benchmark, "deep-research"))


def test_without_pages_it_says_what_is_missing(package: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [{"query_id": "q01", "output": f"Io ({A})."}])
    found = score(path, package, measures=["FACT.Acc"], judge="lexical")
    (absent,) = found.not_computed
    assert "needs the texts of cited pages: passages with `url` and `text`" in absent.reason
    assert json.loads(REPORTS.read_text().splitlines()[0])["pages"]
