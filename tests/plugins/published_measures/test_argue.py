"""The flow chart of ARGUE, worked out by hand (docs/measures/argue.md)."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.measures.results import compute
from citeforge.evaluator.measures.values import NOTHING, Value
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.package.items import Passage
from citeforge.plugins.published_measures.argue import bound_precision
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.submission import CitedSentence
from conftest_evaluator import World
from stand_ins import AskedJudge, RuleJudge

NAMES = ["ARGUE.P", "ARGUE.R", "ARGUE.F1"]
PASSAGES = ("One Two Rose", "One Both", "Flaw#")
NUGGETS = ["One", "Rose", "Owl", "Yak"]
EXAMPLE = (
    "One Rose is [1]. Two is [1]. Both is [1][2]. Claim is. Claim is still. Hello is."
)  # fmt: skip


def decide(pair: Pair) -> bool | JudgeFailure:
    """A text entails a sentence or nugget that begins with one of its words.

    A claim needs a citation, "No …" is an absence, and a text with # makes the judge fail.
    """
    begin = pair.hypothesis.split()[0]
    if pair.question == "llm-need-citation":
        return JudgeFailure("failed") if begin == "Maybe" else begin == "Claim"
    if pair.question == "llm-absence":
        return begin == "No"
    return JudgeFailure("failed") if "#" in pair.premise else begin in pair.premise.split()


def scores(
    output: str, folder: Path, protocol: str = "strict", judge: Any = None,
    nuggets: list[str] | None = None, sentences: tuple[CitedSentence, ...] | None = None,
    is_missing: bool = False,
) -> dict[str, tuple[float | None, float | None] | str]:  # fmt: skip
    """Each measure's lowest and highest value for one answer, or why it has none."""
    file = folder / "nuggets.jsonl"
    listed = NUGGETS if nuggets is None else nuggets
    row = {"qid": "q0", "nuggets": [{"text": n, "importance": "vital"} for n in listed]}
    file.write_text(json.dumps(row) + "\n")
    shown = tuple(Passage(f"p{i}", "", text) for i, text in enumerate(PASSAGES))
    world = World(["q0", "q1"], [[], []])
    items = [
        AnswerItem(0, "Which?", output, shown, is_missing, sentences=sentences),
        AnswerItem(1, "Without nuggets?", "One is [1].", shown),
    ]
    session = JudgeSession(judge or AskedJudge(decide))
    tools = ScoringTools(session, SentenceSegmenter()).with_options(
        protocol=protocol, assessments=(file,)
    )
    inputs = Inputs(world, [items], Grammar(), "", tools)  # type: ignore[arg-type]
    computed, missing = compute(inputs, select(NAMES), session, has_hidden_gold=False)
    found: dict[str, Any] = {one.name: one.reason for one in missing}
    for measure, sample in computed:
        low, other = sample.per_query[0]
        assert other != other  # a query without nuggets leaves
        high = low if sample.upper is None else sample.upper.per_query[0][0]
        found[measure.name] = float(low), float(high)
    return found


def exactly(precision: float, recall: float) -> dict[str, Any]:
    """The three values without bounds."""
    total = precision + recall
    f1 = 2 * precision * recall / total if total else 0.0
    values = (precision, recall, f1)
    return {n: (pytest.approx(v), pytest.approx(v)) for n, v in zip(NAMES, values, strict=True)}


@pytest.mark.parametrize(
    "protocol, precision", [("strict", (1 + 1 + 0 + 0) / 4), ("reference", (1 + 0 + 0) / 3)]
)
def test_the_example_of_the_page(protocol: str, precision: float, tmp_path: Path) -> None:
    assert scores(EXAMPLE, tmp_path, protocol) == exactly(precision, 2 / 4)


# (report, strict (P, R), reference (P, R))
CASES: list[tuple[str, tuple[float, float], tuple[float, float]]] = [
    ("One is [1].", (1 / 1, 1 / 4), (1 / 1, 1 / 4)),
    # Nuggets of a sentence that is not supported do not count.
    ("Owl One is [2].", (0 / 1, 0 / 4), (0 / 1, 0 / 4)),
    # A citation of no passage: wrong, or (in their code) an error that leaves the sentence out.
    ("One is [1][9]. Two is [1].", (1 / 2, 0 / 4), (0, 0 / 4)),
    # An absence is right if it states a nugget.
    ("No Owl is known.", (1 / 1, 1 / 4), (1 / 1, 1 / 4)),
    ("No Emu is known. One is [1].", (1 / 2, 1 / 4), (1 / 2, 1 / 4)),
    # Repeated claims are penalised once, also where the first one cites.
    ("Claim is. Claim is. Claim is.", (0 / 1, 0), (0 / 1, 0)),
    ("Claim One is [2]. One is [1]. Claim is.", (1 / 2, 1 / 4), (1 / 2, 1 / 4)),
    # A nugget counts once.
    ("One is [1]. One is [2].", (2 / 2, 1 / 4), (2 / 2, 1 / 4)),
    ("Hello is.", (0, 0), (0, 0)),
    ("", (0, 0), (0, 0)),
]


@pytest.mark.parametrize("case", CASES, ids=[case[0] or "empty" for case in CASES])
def test_each_way_through_the_chart(
    case: tuple[str, tuple[float, float], tuple[float, float]], tmp_path: Path
) -> None:
    report, strict, reference = case
    assert scores(report, tmp_path) == exactly(*strict)
    assert scores(report, tmp_path, "reference") == exactly(*reference)


def test_failed_verdicts_leave_bounds(tmp_path: Path) -> None:
    # The support of S1 is open, S2 is right, and S3 may need a citation.
    found = scores("Rose is [3]. One is [1]. Maybe is.", tmp_path)
    assert found["ARGUE.P"] == (1 / 3, 2 / 2)
    assert found["ARGUE.R"] == (1 / 4, 2 / 4)
    # Their code rewards S1 for its nugget, if it is supported.
    assert scores("Rose is [3]. One is [1]. Maybe is.", tmp_path, "reference") == found


def test_a_judge_of_entailment_knows_no_absence_and_no_statement_without_need(
    tmp_path: Path,
) -> None:
    judge = RuleJudge(lambda premise, hypothesis: decide(Pair(premise, hypothesis)))
    found = scores("No Owl is known. Hello is. One is [1].", tmp_path, judge=judge)
    assert found == exactly(1 / 3, 1 / 4)


def test_the_sentences_of_a_run_are_taken_as_they_are(tmp_path: Path) -> None:
    own = (CitedSentence("One is. Rose is.", [0]), CitedSentence("Claim is.", []))
    assert scores("ignored", tmp_path, sentences=own) == exactly(1 / 2, 2 / 4)
    nothing = (CitedSentence("One is.", [None]), CitedSentence("One is.", [0, 0]))
    assert scores("ignored", tmp_path, sentences=nothing) == exactly(1 / 2, 1 / 4)


def test_repeated_nuggets_are_one_in_strict(tmp_path: Path) -> None:
    twice = ["One", "One", "Owl"]
    assert scores("One is [1].", tmp_path, nuggets=twice) == exactly(1, 1 / 2)
    assert scores("One is [1].", tmp_path, "reference", nuggets=twice) == exactly(1, 1 / 3)


def test_missing_reports_are_worst_in_strict_and_leave_in_reference(tmp_path: Path) -> None:
    assert scores("", tmp_path, is_missing=True) == exactly(0, 0)
    found = scores("", tmp_path, "reference", is_missing=True)
    assert all("--assessments" in str(reason) for reason in found.values())


def test_auto_argue_prints_these_scores_of_these_counts() -> None:
    """Run hltime-lg.jina of TREC RAGTIME 2025, all topics: counts and scores as published."""
    precision = bound_precision([{1.0}] * 171 + [{0.0}] * (245 - 171) + [{None}])
    recall = Value.mean([Value.exact(1.0)] * 268 + [NOTHING] * (815 - 268))
    f1 = Value.harmonic(precision, recall)
    published = 0.6979591836734694, 0.32883435582822085, 0.4470479209852457
    assert (precision.low, recall.low, f1.low) == pytest.approx(published, abs=1e-12)


def test_only_what_can_decide_is_asked(tmp_path: Path) -> None:
    judge = AskedJudge(decide)
    scores(EXAMPLE, tmp_path, judge=judge)
    kinds = [pair.question or "entails" for pair in judge.asked]
    # S1, S2 and S3 have four citations, three sentences have none; S1 and S2 are held against four
    # nuggets; three need a citation or not; two of these were perhaps said before.
    assert {kind: kinds.count(kind) for kind in kinds} == {
        "entails": 4 + 2 * 4 + 2, "llm-absence": 3, "llm-need-citation": 3,
    }  # fmt: skip
