"""KaLMA's measures by hand, in both protocols."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures import kalma_citations
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs
from citeforge.evaluator.statements.triples import (
    ParsedAnswer,
    ShownGraphs,
    read_answer,
    read_reference,
)
from citeforge.evaluator.statistics.estimates import Sample, estimate_value
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.package import Package
from citeforge.schemas.kg import Key, Triple
from conftest import Inline, refused, write_jsonl
from conftest_evaluator import Facts, World, graph_samples, marking_llm
from servers.running import openai_server
from stand_ins import RuleLlm


def triple(relation: str, value: str, qid: str = "Q1") -> Triple:
    return Triple(qid, "Ada", "P1", relation, value)


# Four shown triples; the values are letters that the judge of these tests reads.
GRAPH = tuple(triple(f"r{x}", x) for x in "ABCD")
GOLD = ((Key("Q1", "rA", "A"), 1), (Key("Q1", "rB", "B"), 2), (Key("Q1", "rE", "E"), 3))
"""rA from round 1, rB from round 2; rE from round 3 is not in the shown graph."""
SHOWN = ShownGraphs("question?", GRAPH, GOLD, (triple("rE", "E"),))


def inputs(
    outputs: Sequence[str | None], protocol: str = "strict", shown: ShownGraphs = SHOWN,
    **tools: Any,
) -> KalmaInputs:  # fmt: skip
    world: Any = World([f"q{i}" for i in range(len(outputs))], [[] for _ in outputs])
    readings = [
        ParsedAnswer(i, shown, "", (), 0, 0, is_missing=True)
        if text is None
        else (read_answer if protocol == "strict" else read_reference)(i, shown, text, ())
        for i, text in enumerate(outputs)
    ]
    if protocol == "reference":
        readings = [r for r in readings if not r.is_missing]
    own = ScoringTools(**{"segmenter": SentenceSegmenter(), **tools}).with_options(
        protocol=protocol
    )
    return KalmaInputs(world, [readings], frozenset(), own)


def values(found: dict[str, Sample | str]) -> dict[str, float]:
    return {n: estimate_value(s).value for n, s in found.items() if not isinstance(s, str)}


def counted(given: KalmaInputs) -> dict[str, Sample | str]:
    """All measures of citations, which need no judge."""
    return graph_samples(given, *(m.name for m in kalma_citations.MEASURES))


# The first answer cites rA twice, rB once, rC once (shown, not gold), rE (gold, not shown) and an
# incomplete one: six citations. The second cites rD. The third cites nothing.
OUTPUTS = [
    "A [Q1, rA: A]. A and B [Q1, rA: A, rB: B]. C [Q1, rC: C]. E [Q1, rE: E]. [Q1, rA]",
    "D [Q1, rD: D].",
    "Nothing at all.",
]


def test_strict_by_hand() -> None:
    result = values(counted(inputs(OUTPUTS)))
    # Correct: rA, rA, rB, rC of six; rD of one. Precise: rA, rA, rB. Gold hit: rA, rB of three.
    assert result["KaLMA.Corr@micro"] == (4 + 1 + 0) / (6 + 1 + 0)
    assert result["KaLMA.Corr@macro"] == (4 / 6 + 1 / 1 + 0) / 3
    assert result["KaLMA.P@micro"] == (3 + 0 + 0) / (6 + 1 + 0)
    assert result["KaLMA.P@macro"] == (3 / 6 + 0 / 1 + 0) / 3
    assert result["KaLMA.R@micro"] == (2 + 0 + 0) / (3 + 3 + 3)
    assert result["KaLMA.R@macro"] == pytest.approx((2 / 3 + 0 + 0) / 3)
    p, r = 3 / 7, 2 / 9
    assert result["KaLMA.F1@micro"] == pytest.approx(2 * p * r / (p + r))
    p, r = (3 / 6) / 3, (2 / 3) / 3
    assert result["KaLMA.F1@macro"] == pytest.approx(2 * p * r / (p + r))
    assert result["KaLMA.Citations"] == (6 + 1 + 0) / 3
    assert result["KaLMA.NAs"] == 0


def test_what_answers_a_general_question_is_right_and_not_wanted() -> None:
    shown = replace(SHOWN, answers=frozenset({triple("rC", "C").key.compared}))
    result = values(counted(inputs(OUTPUTS, shown=shown)))
    # As above, and rC is right: rA, rA, rB, rC of six. R and Corr do not change.
    assert result["KaLMA.P@micro"] == (4 + 0 + 0) / (6 + 1 + 0)
    assert result["KaLMA.P@macro"] == (4 / 6 + 0 / 1 + 0) / 3
    assert result["KaLMA.R@micro"] == (2 + 0 + 0) / (3 + 3 + 3)
    assert result["KaLMA.Corr@micro"] == (4 + 1 + 0) / (6 + 1 + 0)
    same = values(counted(inputs(OUTPUTS, "reference", shown)))
    assert same == values(counted(inputs(OUTPUTS, "reference")))


def test_reference_by_hand() -> None:
    result = values(counted(inputs(OUTPUTS, "reference")))
    # The incomplete citation is dropped: five and one. Precision: knowledge hit (rA, rB, rE: three
    # of the gold of all rounds, presence in the graph not asked) ÷ citations. Recall: rB, rE of the
    # two of rounds 2 and 3. Uncited answers leave the macro averages of P and Corr.
    assert result["KaLMA.P@micro"] == (3 + 0) / (5 + 1)
    assert result["KaLMA.P@macro"] == (3 / 5 + 0 / 1) / 2
    assert result["KaLMA.R@micro"] == (2 + 0 + 0) / (2 + 2 + 2)
    assert result["KaLMA.R@macro"] == pytest.approx((2 / 2 + 0 + 0) / 3)
    assert result["KaLMA.Corr@micro"] == (4 + 1) / (5 + 1)
    assert result["KaLMA.Corr@macro"] == (4 / 5 + 1 / 1) / 2


def test_missing_answers_and_empty_graphs() -> None:
    empty = ShownGraphs("question?", (), GOLD, ())
    strict = values(counted(inputs(["A [Q1, rA: A].", None], shown=empty)))
    assert strict["KaLMA.Corr@micro"] == 0 / 1  # an empty graph is scored
    assert strict["KaLMA.R@micro"] == 0 / 6
    reference = counted(inputs(["A [Q1, rA: A]."], "reference", empty))
    assert set(reference) >= {"KaLMA.Corr@micro"}
    assert values(reference)["KaLMA.Corr@micro"] == 0  # the query has left: nothing counts
    for name in ("KaLMA.Corr@macro", "KaLMA.Citations", "KaLMA.NAs"):
        assert np.isnan(reference[name].per_query).all(), name
    present = values(counted(inputs(["A [Q1, rA: A].", None])))
    assert present["KaLMA.P@macro"] == (1 + 0) / 2
    assert present["KaLMA.R@micro"] == 1 / 6
    gone = values(counted(inputs(["A [Q1, rA: A].", None], "reference")))
    assert gone["KaLMA.P@macro"] == 1
    # An empty answer is one that the reference cannot read: it leaves, too.
    unread = counted(inputs(["A [Q1, rA: A].", ""], "reference"))
    assert values(unread)["KaLMA.R@micro"] == values(present_alone())["KaLMA.R@micro"]
    assert np.isnan(unread["KaLMA.Citations"].per_query[0, 1])


def present_alone() -> dict[str, Sample | str]:
    return counted(inputs(["A [Q1, rA: A]."], "reference"))


def test_no_citation_anywhere_is_zero_not_undefined() -> None:
    result = values(counted(inputs(["Nothing.", "Nothing."])))
    assert result["KaLMA.P@micro"] == result["KaLMA.Corr@micro"] == result["KaLMA.F1@micro"] == 0


def judged(text: str | list[str], protocol: str = "strict", llm: Any = None) -> Any:
    texts = [text] if isinstance(text, str) else text
    given = inputs(texts, protocol, judge=JudgeSession(Facts(), None), llm=llm)
    found = graph_samples(
        given, "KaLMA.Align@micro", "KaLMA.Align@macro", "KaLMA.NA.P", "KaLMA.NA.R", "KaLMA.NA.F1"
    )
    return values(found), {n: s for n, s in found.items() if isinstance(s, str)}, found


def test_alignment_by_hand() -> None:
    # "A and B" entails rA: A and rB: B; "no capital" does not entail rC: C; the incomplete one
    # is not aligned. The second answer cites nothing.
    text = "So A and B [Q1, rA: A, rB: B]. So no capital [Q1, rC: C]. So A [Q1, rA]."
    result, _, _ = judged([text, "So nothing."])
    assert result["KaLMA.Align@micro"] == (2 + 0) / (4 + 0)
    assert result["KaLMA.Align@macro"] == (2 / 4 + 0) / 2
    result, _, _ = judged([text, "So nothing."], "reference")
    # Incomplete ones are dropped, uncited answers leave; a value that stands in the sentence is
    # taken for granted, whatever its case ("no capital" holds a "c").
    assert result["KaLMA.Align@micro"] == 3 / 3
    assert result["KaLMA.Align@macro"] == (3 / 3) / 1


def test_a_failing_judge_gives_bounds() -> None:
    result, _, align = judged("So A [Q1, rA: A]. So # here [Q1, rB: B].")
    assert result["KaLMA.Align@micro"] == 1 / 2
    upper = align["KaLMA.Align@micro"].upper
    assert upper is not None
    assert estimate_value(upper).value == 2 / 2


def test_na_by_hand() -> None:
    # Absent: rE. Of three [NA] statements one entails it.
    text = "So E [NA]. So A [NA]. So nothing [NA]. So B [Q1, rB: B]."
    result, _, _ = judged([text, "So A."])
    assert result["KaLMA.NA.P"] == (1 + 0) / (3 + 0)
    assert result["KaLMA.NA.R"] == (1 + 0) / (1 + 1)
    assert result["KaLMA.NA.F1"] == pytest.approx(2 * (1 / 3) * (1 / 2) / (1 / 3 + 1 / 2))
    # With an LLM that says which statements answer the question: one more is rightly marked.
    llm = RuleLlm(lambda request: "No." if "So nothing" in request.messages[0][1] else "Yes")
    result, _, _ = judged([text, "So A."], llm=llm)
    assert (
        len(llm.asked) == len({r.messages for r in llm.asked}) == 2
    )  # those that hold nothing absent, once
    assert result["KaLMA.NA.P"] == 2 / 3
    result, why, _ = judged("So A [Q1, rA: A].")
    assert why == {"KaLMA.NA.P": "no answer has an [NA]"}
    assert result["KaLMA.NA.F1"] == result["KaLMA.NA.R"] == 0


def test_na_in_reference_counts_pairs() -> None:
    # "Absent" is the gold of rounds ≥ 2 that the answer does not cite: rB and rE. Both statements
    # entail both: four pairs of two statements and two triples.
    result, _, _ = judged(["So B and E [NA] too. So E and B [NA] too.", "So A."], "reference")
    assert result["KaLMA.NA.P"] == 4 / 2
    assert result["KaLMA.NA.R"] == 4 / 2  # the answer without [NA] has left
    # Its expression never cuts where a capital stands two characters before the full stop: "A].".
    result, _, _ = judged(["So B and E [NA]. So E and B [NA]."], "reference")
    assert result["KaLMA.NA.P"] == 2 / 1
    assert result["KaLMA.NA.R"] == 2 / 2
    cited, _, _ = judged("So B [Q1, rB: B]. So E [NA].", "reference")
    assert (cited["KaLMA.NA.P"], cited["KaLMA.NA.R"]) == (1 / 1, 1 / 1)


def test_geval_by_hand() -> None:
    llm = marking_llm({"Good [Q1, rA: A].": "5", "Bad.": "Mark: 2", "Odd.": "between 2 and 4"})
    given = inputs(["Good [Q1, rA: A].", "Bad.", "Odd.", None], llm=llm)
    result = graph_samples(given, "GEval.consistency")["GEval.consistency"]
    assert not isinstance(result, str)
    # The reply without a mark is counted and left out; a missing answer gets 1.
    assert estimate_value(result).value == (5 + 2 + 1) / 3
    assert result.upper is None
    assert len(given.failures) == 1
    assert "- Ada, rA: A" in llm.asked[0].messages[0][1]
    llm = marking_llm({"Good.": "5", "Bad.": "2", "Odd.": "?"})
    given = inputs(["Good [Q1, rA: A].", "Bad.", "Odd.", None], "reference", llm=llm)
    result = graph_samples(given, "GEval.fluency")["GEval.fluency"]
    assert not isinstance(result, str)
    assert estimate_value(result).value == (5 + 2 + 3) / 3
    assert "- Ada" not in llm.asked[0].messages[0][1]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_failed_calls_are_no_marks(protocol: str) -> None:
    llm = marking_llm({"": Failure("refused", "no")})
    given = inputs(["Good [Q1, rA: A].", "Bad."], protocol, llm=llm)
    result = graph_samples(given, "GEval.fluency")["GEval.fluency"]
    assert isinstance(result, str)
    assert result == "none of 2 answers got a mark: no"
    assert len(given.failures) == 2


# --- the commands -----------------------------------------------------------------------------


def test_a_perfect_submission(inline: Inline, kalma_package: Path, tmp_path: Path) -> None:
    echo = tmp_path / "echo.jsonl"
    cf.run("echo-relevant", kalma_package, echo)
    assert cf.check(echo, cf.load(kalma_package)).errors == []
    there = ("score", "echo.jsonl", "--benchmark", kalma_package)
    inline.ok(*there, "--judge", "lexical", "--out", "s.json")
    page = cf.report(
        [tmp_path / f"s.{name}.json" for name in ("full", "absent_1")], kind="html"
    ).text
    assert "KaLMA.R@micro" in page
    assert "minimum knowledge" in page
    # Each set of the file has its row.
    rows = inline(*there, "--measures", "KaLMA.R@micro").stdout
    assert re.search(r"echo-relevant · full \(control\) +100\.00", rows)
    gold = Package(kalma_package).gold.num_rows  # one fact of each question is gone
    left = 100 * (gold - len(cf.load(kalma_package).query_ids)) / gold
    assert re.search(rf"echo-relevant · absent_1 \(control\) +{left:.2f}".replace(".", r"\."), rows)
    names = ["KaLMA.R@micro", "KaLMA.NA.P"]
    scores = cf.score(echo, kalma_package, names, context="absent_1", judge="lexical")
    assert scores["KaLMA.R@micro"].value == pytest.approx(left)
    assert "opt:answers-nothing clause off" in scores["KaLMA.NA.P"].signature


def test_prompts_of_general_questions(inline: Inline, kalma_package: Path, tmp_path: Path) -> None:
    inline.ok("export", "prompts", kalma_package, "--context", "full_general", "--out", "p.jsonl")
    assert "Answer the question" in (tmp_path / "p.jsonl").read_text()


def test_kalmas_own_csv(kalma_package: Path, tmp_path: Path) -> None:
    """One row a query, in order."""
    (tmp_path / "out.csv").write_text("Question,Answer\nwho?,Nothing.\n")
    scores = cf.score(tmp_path / "out.csv", kalma_package, ["KaLMA.R@micro"])
    assert (scores.file.submission_format, scores.counts.n_answered) == ("kalma", 1)
    (tmp_path / "many.csv").write_text("Answer\n" + "x\n" * 50)
    n = len(cf.load(kalma_package))
    with refused("too-large", path=tmp_path / "many.csv", line=n + 2):
        cf.score(tmp_path / "many.csv", kalma_package)


def test_citations_that_cannot_be_read(kalma_package: Path, tmp_path: Path) -> None:
    row = {"query_id": "Q906-Q907", "context": "full", "output": "[Q906, a: b] [Q906] [Q907, x"}
    found = cf.check(write_jsonl(tmp_path / "odd.jsonl", [row]), cf.load(kalma_package))
    assert {f.code: f.message for f in found.warnings if f.line} == {
        "unread-citation": "1 bracket without an end",
        "incomplete-citation": "1 citation without a relation or a value",
        "not-shown": "cites 1 triples that were not shown (first: Q906, a: b)",
    }


def test_brackets_of_another_form_are_counted(kalma_package: Path, tmp_path: Path) -> None:
    shown = Package(kalma_package).context_table("full").to_pylist()
    row = next(r for r in shown if r["query_id"] == "Q906-Q907")
    t = row["triples"][0]
    fact = f"{t['relation']}: {t['value']}"
    brackets = [
        f"[{fact}]", f"[{fact}, {t['qid']}]", f"[{t['name']}, {fact}]",
        f"[{t['relation']}, {t['value']}]", f"({t['qid']}, {fact})",
    ]  # fmt: skip
    texts = [
        *brackets, f"[{t['qid']}, {fact}]", "[see: above]", f"[a link: {fact}](x)", f"({fact})",
        f"({t['qid']}, {t['relation']}: xyz)", f"[{t['qid']}, a: ({fact})]",
    ]  # fmt: skip
    line = {"query_id": "Q906-Q907", "context": "full", "output": "; ".join(texts)}
    path = write_jsonl(tmp_path / "odd.jsonl", [line])
    messages = [f.message for f in cf.check(path, cf.load(kalma_package)).warnings if f.line]
    (found,) = (m for m in messages if "in another form" in m)
    # The five brackets and the text of the link; no citation, no round bracket without an id.
    assert found.startswith("6 brackets hold a shown relation and value")
    assert f"(first: {brackets[0]!r})" in found
    scored = cf.score(path, kalma_package, ["KaLMA.Corr@micro"])
    assert [w for w in scored.warnings if "in another form" in w] == [f"odd: {found}"]
    assert scored.counts.n_unparsed == 1  # answers with such a bracket


def test_what_looks_at_passages_is_refused(kalma_package: Path, tmp_path: Path) -> None:
    answers = [{"query_id": q, "output": "x"} for q in cf.load(kalma_package).query_ids]
    for measure in ("CiteP", "CAB.P"):
        with refused("wrong-kind", cf.UsageError):
            cf.score(answers, kalma_package, [measure])
    with refused("wrong-kind", cf.UsageError):
        cf.run("gold", kalma_package, tmp_path / "x.jsonl")


def test_marks_of_an_endpoint(inline: Inline, kalma_package: Path, tmp_path: Path) -> None:
    cf.run("echo-relevant", kalma_package, tmp_path / "echo.jsonl")
    lines = [json.loads(x) for x in (tmp_path / "echo.jsonl").read_text().splitlines()]
    for row in lines:
        if "output" in row:
            row["output"] += " #script:4#"  # what the scripted endpoint replies
    write_jsonl(tmp_path / "s.jsonl", lines)
    args = ("score", "s.jsonl", "--benchmark", kalma_package, "--measures", "GEval.coherence")
    with openai_server(tmp_path / "log") as server:
        command = (
            *(*args, "--context", "full", "--llm", "openai:m"),
            *("--base-url", server.url, "--store", "marks.db"),
        )
        result = inline.ok(*command)
        asked = len(server.requests())
        assert asked == sum(row.get("context") == "full" for row in lines)
        assert inline(*command).stdout == result.stdout
        assert len(server.requests()) == asked  # every mark was kept
    assert re.search(r"GEval\.coherence ↑\n.*\necho-relevant \(control\) +4\.00", result.stdout)
    alone = inline(*args)
    assert "needs --llm openai:MODEL or replay:FILE" in alone.stdout + alone.stderr


def test_queries_about_the_same_people_are_one_cluster(kalma_package: Path) -> None:
    benchmark = Benchmark(kalma_package)
    entities = [json.loads(m)["entities"] for m in benchmark.queries["metadata"].to_pylist()]
    clusters = benchmark.clusters
    assert clusters is not None
    for a, mine in enumerate(entities):
        for b, others in enumerate(entities):
            if {*mine} & {*others}:
                assert clusters[a] == clusters[b]
    # As many clusters as groups of people that no question connects.
    groups: list[set[str]] = []
    for mine in entities:
        near = [g for g in groups if g & {*mine}]
        groups = [*(g for g in groups if g not in near), {*mine}.union(*near)]
    assert len(groups) == len({*clusters.tolist()}) < len(entities)
