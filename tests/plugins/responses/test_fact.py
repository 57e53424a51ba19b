"""FACT: which statements cite which pages, and what is counted of them."""

# ruff: noqa: E501 (cases, one a line)
import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge import score
from citeforge.engines.judge.records import JudgeFailure, Verdict
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.check import check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import detect
from citeforge.evaluator.submissions.url_marks import read_markup
from citeforge.plugins.responses.fact_pairs import statement_pairs, without_fragment
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.submission import CitedFact, ReportLine
from conftest import EXAMPLES, refused, write_jsonl
from scoring import iter_answers
from stand_ins import RuleJudge

REPORTS = EXAMPLES / "vendors" / "reports.jsonl"
SEGMENTER = SentenceSegmenter()
A, B, C = "https://a.org/x", "https://b.org/y", "https://c.org/z_(moon)"


def pairs(report: str, *shown: str) -> list[tuple[str, str]]:
    result = statement_pairs(report, SEGMENTER, normalise_url, shown)
    return [(p.statement, p.url) for p in result]


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
        # Links alone behind a sentence mark it, whatever they are called.
        (f"Io is a moon. [Reuters]({A})", [("Io is a moon.", A)]),
        (f"Io is a moon.[Reuters]({A}) [AP]({B}).", [("Io is a moon.", A), ("Io is a moon.", B)]),
        (f"Io is a moon. [Reuters]({A}), [The Times]({B}). Titan is cold. [AP]({C})",
         [("Io is a moon.", A), ("Io is a moon.", B), ("Titan is cold.", C)]),
        (f"Io is a moon [1]. [Reuters]({C}) and [AP]({B})\nTitan is cold." + LIST,
         [("Io is a moon.", A), ("Io is a moon.", C), ("Io is a moon.", B)]),
        (f"Io is a moon.\n\nSource: [Reuters]({A})", [("Io is a moon.", A)]),
        (f"Io is a moon.\n- [Reuters]({A})\n- [AP]({B})", [("Io is a moon.", A), ("Io is a moon.", B)]),
        (f"木星很大。[路透社]({A})", [("木星很大。", A)]),
        # Their text stays where a sentence goes on, where nothing stands before, below a heading, in a table.
        (f"Io is a moon. [Titan]({A}) is cold.", [("Titan is cold.", A)]),
        (f"Io is a moon. See [Titan]({A}).", [("See Titan.", A)]),
        (f"[Reuters]({A})", [("Reuters", A)]),
        (f"Io is a moon.\n\n## More\n\n[Reuters]({A})", [("Reuters", A)]),
        (f"Hot moons.\n\n| Moon | by |\n|---|---|\n| [Io]({A}) | [AP]({B}) |\n| [Dione]({A}) | [dpa]({B}) |",
         [("| Io | AP |", A), ("| Io | AP |", B), ("| Dione | dpa |", A), ("| Dione | dpa |", B)]),
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
    assert without_fragment(f"{A}?utm_source=x#:~:text=io,moon") == f"{A}?utm_source=x"
    report = f"Io is a moon ({A}). It is hot ({A}/). It is far ({A}#:~:text=far)."
    result = statement_pairs(report, SEGMENTER, without_fragment)
    assert [p.url for p in result] == [A, f"{A}/", A]


def test_a_list_with_faults() -> None:
    result = read_markup(
        f"Io [1] is [3] a moon [9].\n\nReferences\n[1] {A}\n[1] {B}\n[3] A book, no address.\n"
    )
    assert result.references == {1: A}
    assert (result.twice, result.unlisted) == ([1], [3, 9])


TOKENS = st.sampled_from(
    ["Io is a moon", " [1]", "[2, 3]", "【1†L2】", f" ([a]({A}))", f"[b]({B})", f" {C}", ". ", "\n",
     "\n\n", "## References\n", f"[1] {A}\n", "`", "```", "](", "![", "[", ")", "木星。", "\u2028", "| a |"]
)  # fmt: skip


@given(st.lists(TOKENS, max_size=25).map("".join) | st.text(max_size=80))
def test_any_text_is_read(report: str) -> None:
    result = statement_pairs(report, SEGMENTER, normalise_url)
    assert len({(p.statement, p.url) for p in result}) == len(result)
    ends, mentions = [0], read_markup(report).mentions
    for mention in mentions:
        assert ends[-1] <= mention.start < mention.end <= len(report)
        assert mention.keys
        ends.append(mention.end)
    assert {p.url for p in result} <= {normalise_url(k) for m in mentions for k in m.keys}


def test_the_example_by_hand(package: Path) -> None:
    """Report 1 has five pairs: three supported, one of a page without text, one of no page.

    Report 2 has two, one supported; report 3 cites nothing; 27 questions have no report.
    """
    strict = score(REPORTS, package, measures=["fact"], judge="lexical")
    result = {m: strict[m].value for m in strict}
    assert result["FACT.Acc"] == pytest.approx(100 * (3 / 5 + 1 / 2 + 0) / 30)
    assert result["FACT.Eff"] == pytest.approx((3 + 1) / 30)
    assert result["FACT.Cit"] == pytest.approx((5 + 2) / 30)
    assert result["FACT.Unread"] == pytest.approx(2 / 30)
    theirs = score(REPORTS, package, measures=["fact"], judge="lexical", protocol="reference",
                   segmenter="nupunkt")  # fmt: skip
    result = {m: theirs[m].value for m in theirs}
    # Of all pairs that could be judged; reports without citations are left out.
    assert result["FACT.Acc"] == pytest.approx(100 * (3 + 1) / (3 + 2))
    assert result["FACT.Eff"] == pytest.approx((3 + 1) / 2)
    assert result["FACT.Cit"] == pytest.approx((3 + 2) / 2)
    assert result["FACT.Unread"] == pytest.approx(2 / 2)


def test_partial_support_is_support(package: Path, tmp_path: Path) -> None:
    """As the paper has it: facts found entirely or partially."""
    page = {"url": A, "text": "Some text."}
    report = f"One is true ({A}). Two is half ({A}). Three is false ({A})."
    path = write_jsonl(tmp_path / "r.jsonl", [{"id": "q01", "article": report, "pages": [page]}])
    result = score(path, package, measures=["FACT.Eff"], judge=levels())
    assert result["FACT.Eff"].per_query[0] == 2


def test_scraped_files_of_the_benchmark(tmp_path: Path, benchmark: Benchmark) -> None:
    row = {
        "id": 1, "prompt": "Which moon is the most volcanically active body in the Solar System?",
        "article": f"Io ({A}).", "citations": [{"fact": "Io", "ref_idx": 0, "url": A}],
        "citations_deduped": {A: {"facts": ["Io"], "url_content": "Io\n\n\n\nIo is hot."},
                              B: {"facts": ["x"], "url_content": "scrape failed: 404"}},
    }  # fmt: skip
    path = write_jsonl(tmp_path / "scraped.jsonl", [row])
    assert detect(path).name == "deep-research"
    ((line, answer),) = iter_answers(path, benchmark)
    assert (line, answer.query_id) == (1, "q01")
    assert [(p.url, p.text) for p in answer.passages or ()] == [
        (A, "Io\n\n\n\nIo is hot."),
        (B, ""),
    ]


def test_what_check_says_of_reports(benchmark: Benchmark, tmp_path: Path) -> None:
    result = check(REPORTS, benchmark)
    said = [str(w) for w in result.warnings if w.line == 1]
    assert said == [
        "output: cites [3]; the list of references has no URL for it",
        "passages: no text of 1 of 3 cited pages (first: https://example.com/volcanoes); they "
        "support nothing. Give their texts as passages with url and text",
    ]
    twice = f"Io [1].\n\nReferences\n[1] {A}\n[1] {B}"
    path = write_jsonl(tmp_path / "r.jsonl", [
        {"id": "q01", "article": twice, "pages": [{"url": A, "text": "Io."}]}])  # fmt: skip
    (said,) = [str(w) for w in check(path, benchmark).warnings if w.line == 1]
    assert said == "output: the list of references has 1 several times; the first one counts"


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({"id": "q01", "article": 7}, "wrong-type", "article"),
        ({"article": "x"}, "missing-field", "id"),
        ({"id": "q01", "article": "x", "pages": [{"url": A}]}, "missing-field", "pages[0].text"),
        ({"id": "q01", "article": "x", "pages": {A: "text"}}, "wrong-type", "pages"),
    ],
)
def test_a_wrong_line(
    tmp_path: Path, benchmark: Benchmark, row: dict[str, object], code: str, field: str
) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [{"id": "q01", "article": "x"}, row])
    with refused(code, path=path, line=2, field=field):
        list(iter_answers(path, benchmark, "deep-research"))


def test_without_pages_it_says_what_is_missing(package: Path, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "r.jsonl", [{"query_id": "q01", "output": f"Io ({A})."}])
    result = score(path, package, measures=["FACT.Acc"], judge="lexical")
    (absent,) = result.not_computed
    assert "needs the texts of cited pages: passages with `url` and `text`" in absent.reason
    assert json.loads(REPORTS.read_text().splitlines()[0])["pages"]


def levels() -> RuleJudge:
    """A judge that says what the last word of a statement is; fails on any other."""
    verdicts = {"true.": Verdict(True), "half.": Verdict(False, support=0.5),
                "false.": Verdict(False), "unknown.": Verdict(False, undecided=True)}  # fmt: skip
    failure = JudgeFailure("no reply")
    return RuleJudge(lambda _, said: verdicts.get(said.split()[-1], failure))


def test_what_the_judge_cannot_tell_leaves_both_counts_of_the_authors(
    package: Path, tmp_path: Path
) -> None:
    """Six pairs: two supported, one not, one undecided, one failed, one page without text."""
    words = ("One is true", "Two is true", "Three is false", "Four is unknown", "Five is odd")
    report = " ".join(f"{w} ({A})." for w in words) + f" Six is true ({B})."
    line = {"id": "q01", "article": report, "pages": [{"url": A, "text": "Some text."}]}
    path = write_jsonl(tmp_path / "r.jsonl", [line])
    theirs = score(path, package, measures=["fact"], judge=levels(), protocol="reference",
                   segmenter="nupunkt")  # fmt: skip
    assert theirs["FACT.Acc"].value == pytest.approx(100 * 2 / 3)
    assert [theirs[f"FACT.{m}"].value for m in ("Eff", "Cit", "Unread")] == [2, 3, 3]
    assert theirs["FACT.Acc"].upper_bound is None
    strict = score(path, package, measures=["fact"], judge=levels())
    first = {m: strict[m].per_query[0] for m in strict}
    assert first["FACT.Acc"] == pytest.approx(2 / 6)
    assert (first["FACT.Eff"], first["FACT.Cit"], first["FACT.Unread"]) == (2, 6, 2)
    # 29 of 30 queries have no report; the failed pair may be supported or not.
    assert strict["FACT.Acc"].lower_bound == pytest.approx(100 * 2 / 6 / 30)
    assert strict["FACT.Acc"].upper_bound == pytest.approx(100 * 3 / 6 / 30)


def validated(identifier: str, *pages: dict[str, object]) -> dict[str, object]:
    """A line of validated.jsonl whose pages are numbered."""
    groups = {f"https://p.org/{i}": page for i, page in enumerate(pages)}
    facts = [{"fact": f, "ref_idx": 0, "url": u} for u, p in groups.items() for f in p["facts"]]  # type: ignore[attr-defined]
    return {"id": identifier, "prompt": "", "article": "No marks.", "citations": facts,
            "citations_deduped": groups}  # fmt: skip


def page(*results: str, error: str | None = None, text: str | None = "Text.") -> dict[str, object]:
    """What their code keeps of a page: as many facts as results, the last result first."""
    rows = [{"idx": i, "result": r} for i, r in enumerate(results)][::-1]
    return {"facts": [f"Fact {i} is {r}." for i, r in enumerate(results)], "url_content": text,
            "validate_res": [] if error else rows, "validate_error": error}  # fmt: skip


def test_facts_and_verdicts_of_another_run(package: Path, tmp_path: Path) -> None:
    """Report 1: 2 of 3 and 1 unknown; a failed page with 2 facts; 1 of 1 of a page without text.

    Report 2: 0 of 1. Report 3 cites nothing and is left out by their code.
    """
    rows = [
        validated("q01", page("supported", "supported", "unsupported", "unknown"),
                  page("x", "y", error="timeout"), page("supported", text="scrape failed: 404")),
        validated("q02", page("unsupported")),
        validated("q03"),
    ]  # fmt: skip
    path = write_jsonl(tmp_path / "validated.jsonl", rows)
    theirs = score(path, package, measures=["fact"], protocol="reference", segmenter="nupunkt",
                   file_format="deep-research-verdicts")  # fmt: skip
    assert theirs["FACT.Acc"].value == pytest.approx(100 * (3 + 0) / (4 + 1))
    assert theirs["FACT.Eff"].value == pytest.approx((3 + 0) / 2)
    assert theirs["FACT.Cit"].value == pytest.approx((4 + 1) / 2)
    assert theirs["FACT.Unread"].value == pytest.approx((1 + 2) / 2)
    assert "|opt:verdicts:file|" in theirs["FACT.Acc"].signature
    strict = score(path, package, measures=["fact"], file_format="deep-research-verdicts")
    assert strict["FACT.Acc"].lower_bound == pytest.approx(100 * (3 / 7 + 0 / 1 + 0) / 30)
    assert strict["FACT.Acc"].upper_bound == pytest.approx(100 * (5 / 7 + 0 / 1 + 0) / 30)
    # Their facts, judged here: the judge goes by the last word; page 3 of report 1 has no text.
    judge = RuleJudge(lambda _, fact: "is supported" in fact, "word")
    ours = score(path, package, measures=["fact"], protocol="reference", segmenter="nupunkt",
                 file_format="deep-research-facts", judge=judge)  # fmt: skip
    assert ours["FACT.Acc"].value == pytest.approx(100 * (2 + 0) / (6 + 1))
    assert "|judge:word@1|" in ours["FACT.Acc"].signature
    assert "|opt:facts:file|" in ours["FACT.Acc"].signature
    no_judge = score(path, package, measures=["fact"], file_format="deep-research-facts")
    assert "judge" in no_judge.not_computed[0].reason


def test_extracted_facts(tmp_path: Path, benchmark: Benchmark) -> None:
    """Before repeats are dropped by their LLM, only the very same fact of a page is one."""
    cited = [{"fact": f, "ref_idx": 0, "url": u} for f, u in (("Io", A), ("Io", A), ("Io", B))]
    row = {"id": "q01", "article": "x", "citations": cited}
    path = write_jsonl(tmp_path / "extracted.jsonl", [row])
    ((_, answer),) = iter_answers(path, benchmark, "deep-research-facts")
    assert isinstance(answer, ReportLine)
    assert answer.facts == (CitedFact("Io", A), CitedFact("Io", B))
    ((_, answer),) = iter_answers(path, benchmark)
    assert isinstance(answer, ReportLine)
    assert answer.facts is None


def test_no_system_says_what_is_supported(tmp_path: Path, benchmark: Benchmark) -> None:
    """Neither in our format, nor in a file of verdicts whose format nobody named."""
    fact = {"statement": "Io", "url": A, "verdict": "supported"}
    path = write_jsonl(tmp_path / "s.jsonl", [{"query_id": "q01", "output": "x", "facts": [fact]}])
    with refused("unknown-field", path=path, line=1, field="facts"):
        list(iter_answers(path, benchmark))
    path = write_jsonl(tmp_path / "validated.jsonl", [validated("q01", page("supported"))])
    assert detect(path).name == "deep-research"
    ((_, answer),) = iter_answers(path, benchmark)
    assert isinstance(answer, ReportLine)
    assert answer.facts is None


@pytest.mark.parametrize(
    ("row", "code", "words"),
    [
        ({"citations": "extraction failed"}, "missing-field", "contains no facts"),
        ({}, "missing-field", ""),
        ({"citations_deduped": {A: {"facts": ["x"]}}}, "wrong-value", "has 0 verdicts of 1 facts"),
        (
            validated("q01", page("supported", "unsupported") | {"facts": ["x"]}),
            "wrong-value", "has 2 verdicts of 1",
        ),
        (validated("q01", page("perhaps")), "wrong-value", "perhaps"),
    ],
)  # fmt: skip
def test_a_run_without_facts_or_verdicts(
    tmp_path: Path, benchmark: Benchmark, row: dict[str, object], code: str, words: str
) -> None:
    path = write_jsonl(tmp_path / "v.jsonl", [{"id": "q01", "article": "x", **row}])
    with refused(code, path=path, line=1) as caught:
        list(iter_answers(path, benchmark, "deep-research-verdicts"))
    assert words in str(caught.value)
