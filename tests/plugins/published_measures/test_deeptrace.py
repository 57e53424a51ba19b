"""DeepTRACE's matrices and opinions, counted by hand (docs/measures/deeptrace.md)."""

import re
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from citeforge.engines.judge.records import JudgeFailure, Pair, Verdict
from citeforge.evaluator.measures.values import Value
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.plugins.published_measures.deeptrace import (
    Matrices,
    count_necessary,
    cover_greedily,
)
from conftest import Inline, write_jsonl
from conftest_evaluator import Facts, Measure
from stand_ins import AskedJudge

MATRICES = [f"DeepTRACE.{n}" for n in ("Accuracy", "Thoroughness", "Unsupported", "Necessity")]
UNCITED, RELEVANT = "DeepTRACE.Uncited", "DeepTRACE.Relevant"
OPINIONS = ["DeepTRACE.OneSided", "DeepTRACE.Overconfident"]
ORDER = [*MATRICES, UNCITED]
PASSAGES = ["A", "AB", "C", "D"]
SMOOTH = 1e-6

# (answer, ORDER in strict, ORDER in reference)
CASES = [
    # The page's example: A and AB support statement 1, which cites A; AB supports 2, citing C.
    ("A is [1]. B is [3]. E is.",
     (1 / 2, 1 / 3, 1 / 3, 1 / 4, 2 / 4), (1 / 2, 1 / (3 + SMOOTH), 1 / 3, 1 / 4, 2 / 4)),
    # Nothing is cited.
    ("A is. C is.", (0, 0 / 3, 0, 2 / 4, 1), (1, 0, 0, 2 / 4, 1)),
    # Nothing is supported.
    ("E is [1].", (0, 0, 1, 0, 3 / 4), (0, 0, 1, 0, 3 / 4)),
    # A citation out of range is wrong, and makes the notebook count up to it.
    ("C is [3][9].", (1 / 2, 1, 0, 1 / 4, 3 / 4), (1, 1 / (1 + SMOOTH), 0, 1 / 4, 7 / 9)),
    ("C is [3, 4].", (1 / 2, 1, 0, 1 / 4, 2 / 4), (1 / 2, 1 / (1 + SMOOTH), 0, 1 / 4, 2 / 4)),
    ("", (0, 0, 1, 0, 1), None),
]  # fmt: skip


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
def test_matrices_by_hand(
    case: tuple[str, tuple[float, ...], tuple[float, ...] | None], measure: Measure
) -> None:
    answer, strict, reference = case
    found = measure([answer], ORDER, PASSAGES)
    assert [found[name][0] for name in ORDER] == pytest.approx(strict)
    found = measure([answer], ORDER, PASSAGES, protocol="reference")
    if reference is None:
        assert all(found[name] == "no query defines it" for name in ORDER)
    else:
        assert [found[name][0] for name in ORDER] == pytest.approx(reference, abs=1e-12)


def test_every_statement_is_asked_about_with_every_passage(measure: Measure) -> None:
    judge = Facts()
    measure(["A is [1]. B is. C is."], MATRICES, PASSAGES, judge=judge)
    assert len(judge.asked) == len(set(judge.asked)) == 3 * 4


def test_missing_answers_have_the_worst_values(measure: Measure) -> None:
    found = measure(["C is [3].", ""], ORDER, PASSAGES, missing=[1])
    assert [found[name][1] for name in ORDER] == [0, 0, 1, 0, 1]


def test_failed_verdicts_leave_bounds(measure: Measure) -> None:
    """Passage 2 is unknown for both statements, and 1 supports the first one."""
    found = measure(["A is [1]. B is [2]."], MATRICES, ["A", "#"])
    bounds = {name: (found[name][0], found[f"{name}/upper"][0]) for name in MATRICES}
    assert bounds == {
        "DeepTRACE.Accuracy": (1 / 2, 2 / 2),
        # Lowest: 2 supports statement 1 alone, where it is not cited; highest: 2 alone.
        "DeepTRACE.Thoroughness": (1 / 2, 2 / 2),
        "DeepTRACE.Unsupported": (0 / 2, 1 / 2),
        "DeepTRACE.Necessity": (1 / 2, 2 / 2),
    }


def test_passages_without_text_are_no_sources_of_the_notebook(measure: Measure) -> None:
    answer, shown = "A is [2].", ["", "A"]
    found = measure([answer], [*MATRICES, UNCITED], shown)
    assert found["DeepTRACE.Necessity"] == [1 / 2]
    found = measure([answer], [*MATRICES, UNCITED], shown, protocol="reference")
    assert found["DeepTRACE.Necessity"] == [1 / 1]
    assert found[UNCITED] == [1 / 2]


def smallest_cover(matrix: np.ndarray) -> int:
    """By trying all sets of columns."""
    n = matrix.shape[1]
    sizes = (k for k in range(n + 1) for some in combinations(range(n), k)
             if matrix[:, list(some)].any(axis=1).all())  # fmt: skip
    return next(sizes)


def test_the_smallest_cover_is_found_where_the_greedy_one_is_larger() -> None:
    rng = np.random.default_rng(3)
    larger = 0
    for _ in range(60):
        matrix = rng.random((9, 7)) < 0.3
        matrix = matrix[matrix.any(axis=1)]
        expected = smallest_cover(matrix)
        assert count_necessary(matrix) == expected
        assert cover_greedily(matrix) >= expected
        larger += cover_greedily(matrix) > expected
    assert larger > 3
    # Columns of 1–4 and 5–8 suffice; the greedy rule begins with the one of 3–6 and 7.
    rows = [[1, 0, 0], [1, 0, 0], [1, 0, 1], [1, 0, 1], [0, 1, 1], [0, 1, 1], [0, 1, 1], [0, 1, 0]]
    matrix = np.array(rows, bool)
    assert (count_necessary(matrix), cover_greedily(matrix)) == (2, 3)
    assert count_necessary(np.zeros((0, 4), bool)) == 0


STANCES = {"+": 1.0, "-": -1.0, "=": 0.0}


def decide(pair: Pair) -> bool | Verdict | JudgeFailure:
    """Queries with "side" take one; the sign of a statement is its stance; "so" is filler."""
    match pair.question:
        case "llm-debated":
            return "side" in pair.premise
        case "llm-core-statement":
            return JudgeFailure("core") if "!" in pair.hypothesis else "so" not in pair.hypothesis
        case "llm-stance":
            sign = next(c for c in pair.hypothesis if c in "+-=%")
            support = STANCES.get(sign)
            return JudgeFailure("?") if support is None else Verdict(support == 1, support=support)
        case "llm-confident":
            return "surely" in pair.hypothesis
    return Facts._has_letters(pair.premise, pair.hypothesis)


# (answer, OneSided, Overconfident, each with bounds)
DEBATED = [
    ("A + is. B - is surely.", (0, 0), (0, 0)),
    ("A + is. B = is.", (1, 1), (0, 0)),
    ("A + is surely. B + is.", (1, 1), (1, 1)),
    ("A - is surely.", (1, 1), (1, 1)),
    # No statement has a side; the only one for the other side is filler.
    ("A = is.", (1, 1), (0, 0)),
    ("A + is. B - is so.", (1, 1), (0, 0)),
    ("A + is surely. B % is.", (0, 1), (0, 1)),
    ("A = is surely. B % is.", (1, 1), (1, 1)),
    ("A + is. C - is! B is - surely.", (0, 1), (0, 1)),
    ("A is so.", (1, 1), (1, 1)),
    ("", (1, 1), (1, 1)),
]


@pytest.mark.parametrize("case", DEBATED, ids=[c[0] or "empty" for c in DEBATED])
def test_opinions_by_hand(
    case: tuple[str, tuple[int, int], tuple[int, int]], measure: Measure
) -> None:
    found = measure([case[0]], OPINIONS, queries=["a side?"], judge=AskedJudge(decide))
    for name, (low, high) in zip(OPINIONS, case[1:], strict=True):
        assert (found[name], found.get(f"{name}/upper", [low])) == ([low], [high])


def test_only_questions_that_take_a_side_count(measure: Measure) -> None:
    judge = AskedJudge(decide)
    found = measure(["A + is."] * 2, OPINIONS, queries=["a side?", "what?"], judge=judge)
    assert found["DeepTRACE.OneSided"] == [1, None]
    assert [pair.question for pair in judge.asked] == [
        "llm-debated", "llm-debated", "llm-core-statement", "llm-stance", "llm-confident",
    ]  # fmt: skip
    found = measure(["A + is."], OPINIONS, queries=["what?"], judge=AskedJudge(decide))
    assert set(found.values()) == {"no question takes a side"}


def test_the_notebook_leaves_answers_without_a_relevant_sentence_out(measure: Measure) -> None:
    found = measure(["A is so.", "A + is."], OPINIONS, queries=["a side?"] * 2,
                    protocol="reference", judge=AskedJudge(decide))  # fmt: skip
    assert found["DeepTRACE.OneSided"] == [None, 1]


def test_statements_that_are_filler_are_in_no_matrix(measure: Measure) -> None:
    answer = "A is [1]. E is so [2]. B is."
    found = measure([answer], [*MATRICES, RELEVANT], PASSAGES, judge=AskedJudge(decide))
    assert found == {
        "DeepTRACE.Accuracy": [1 / 1], "DeepTRACE.Thoroughness": [1 / 3],
        "DeepTRACE.Unsupported": [0 / 2], "DeepTRACE.Necessity": [1 / 4], RELEVANT: [2 / 3],
    }  # fmt: skip


def test_unknown_relevance_leaves_the_values_of_its_answer_open(measure: Measure) -> None:
    found = measure(["A is! B is."], [*MATRICES, RELEVANT], PASSAGES, judge=AskedJudge(decide))
    assert {(found[n][0], found[f"{n}/upper"][0]) for n in MATRICES} == {(0, 1)}
    assert (found[RELEVANT], found[f"{RELEVANT}/upper"]) == ([1 / 2], [2 / 2])


def test_a_judge_of_entailment_says_nothing_of_relevance_and_opinions(measure: Measure) -> None:
    found = measure(["A is."], [RELEVANT, *OPINIONS])
    assert all("facts@1 decides entailment alone" in found[n] for n in (RELEVANT, *OPINIONS))


def test_the_example_of_the_papers_figure() -> None:
    """Six relevant statements of seven and five sources; the fractions are the figure's."""
    cited = [{1}, {2}, {1, 3}, {2}, {5}, {4}]
    supported = [{1, 4}, {2, 5}, set[int](), {2, 3}, {3, 5}, {2, 3}]
    found = Matrices(
        [[n - 1 for n in sorted(numbers)] for numbers in cited],
        [[Value.exact(float(n in numbers)) for n in range(1, 6)] for numbers in supported],
        n_sources=5,
    )
    assert found.accuracy() == Value.exact(4 / 7)
    assert found.thoroughness() == Value.exact(4 / 10)
    share = found.unsupported()
    assert (share.low, share.high) == pytest.approx((1 / 6, 1 / 6))
    assert found.necessity() == Value.exact(3 / 5)


def test_the_bill_has_every_statement_with_every_passage(
    package: Path, tmp_path: Path, inline: Inline
) -> None:
    """Two statements; which queries take a side is asked of all of them."""
    benchmark = Benchmark(package)
    item = next(iter(benchmark.items(benchmark.contexts[0])))
    line = {"query_id": item.query_id, "context": item.context, "output": "A is [1]. B is."}
    file = write_jsonl(tmp_path / "answers.jsonl", [line])
    done = inline.ok("score", file, "--benchmark", package, "--measures", "deeptrace", "--judge",
                     "openai:m", "--dry-run", OPENAI_API_KEY="k")  # fmt: skip
    support, relevance, stance, confidence = 2 * len(item.passages), 2, 2, 1
    debated = len(set(benchmark.questions(item.context)))
    calls = re.search(r"calls to make +([\d,]+) if", done.stdout)
    assert calls is not None, done.stdout
    assert int(calls[1]) == support + relevance + debated + stance + confidence
