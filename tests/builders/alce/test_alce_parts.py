"""Parts of `build alce`: the greedy choice, cutting, matching, and what replies say."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.builders.alce.coverage import (
    JUDGED,
    SHORT,
    Coverage,
    choose_oracle,
    covered_answers,
    judged_relevant,
    mean_recalls,
    share_kept,
)
from citeforge.builders.alce.questions import (
    cut_into_pieces,
    name_retrievers,
    passage_chunks,
    piece_id,
    whole_id,
)
from citeforge.builders.alce.writing import (
    is_irrelevant,
    long_answer,
    parse_subclaims,
    write_texts,
)
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.package.items import Gold, GoldRows
from citeforge.schemas.sources import SourceInfo
from citeforge.schemas.tables import CORPUS
from conftest import refused

SETS = st.lists(st.frozensets(st.integers(0, 7), max_size=4), max_size=9)


def union(covered: list[frozenset[int]], chosen: list[int]) -> int:
    return len(frozenset().union(*(covered[i] for i in chosen)))


def test_oracle_swaps_where_that_helps_most() -> None:
    # Start: 0 and 1, which hold {1, 2, 3}. Passage 2 brings 4; in the place of 1 the set has
    # {1, 2, 3, 4}, in the place of 0 it has {2, 3, 4}: passage 1 goes.
    covered = [frozenset({1, 2, 3}), frozenset({2, 3}), frozenset({4})]
    assert choose_oracle(covered, 2) == [0, 2]
    # Passages of equal recall: the better rank stays.
    assert choose_oracle([frozenset({1}), frozenset({1}), frozenset()], 1) == [0]
    assert choose_oracle([frozenset(), frozenset({1})], 5) == [1, 0]
    assert choose_oracle([], 5) == []


def test_oracle_may_miss_the_best_set() -> None:
    # The start {0, 1} holds {1, 2, 3, 4, 5}. Each single swap holds 5 as well:
    #   0 with 2: {1, 2, 3, 4, 5}   0 with 3: {1, 2, 4, 5, 6}
    #   1 with 2: {1, 2, 3, 4, 5}   1 with 3: {1, 3, 4, 5, 6}
    # so nothing moves, though {2, 3} holds all 6.
    covered = [
        frozenset({1, 2, 4, 5}),
        frozenset({1, 3, 4, 5}),
        frozenset({1, 2, 3}),
        frozenset({4, 5, 6}),
    ]
    assert choose_oracle(covered, 2) == [0, 1]
    best = max(combinations(range(4), 2), key=lambda two: union(covered, list(two)))
    assert (best, union(covered, [0, 1]), union(covered, list(best))) == ((2, 3), 5, 6)


@given(covered=SETS, k=st.integers(1, 5))
def test_oracle_is_never_worse_than_its_start_nor_better_than_the_best(
    covered: list[frozenset[int]], k: int
) -> None:
    chosen = choose_oracle(covered, k)
    assert len(set(chosen)) == len(chosen) == min(k, len(covered))
    start = sorted(range(len(covered)), key=lambda i: (-len(covered[i]), i))[:k]
    sets = list(combinations(range(len(covered)), len(chosen)))
    assert union(covered, start) <= union(covered, chosen)
    assert union(covered, chosen) <= max(union(covered, list(s)) for s in sets)


@given(text=st.text(alphabet=" \t\nab\u00a0\u3000é", max_size=200), size=st.integers(1, 9))
def test_cutting_loses_no_word(text: str, size: int) -> None:
    result = cut_into_pieces(text, size)
    assert " ".join(result).split() == text.split()
    assert all(1 <= len(piece.split()) <= size for piece in result)
    assert all(len(piece.split()) == size for piece in result[:-1])


class Passages:
    """A source of passages alone."""

    def __init__(self, rows: list[tuple[str, str, str]]) -> None:
        self.rows = rows
        self.told = SourceInfo(spec="here:it", kind="here")

    def info(self) -> SourceInfo:
        return self.told

    def passages(self) -> list[pa.RecordBatch]:
        rows = [dict(zip(CORPUS.names, (*row, None), strict=True)) for row in self.rows]
        return [pa.RecordBatch.from_pylist(rows, schema=CORPUS)]


def test_pieces_keep_title_and_origin() -> None:
    source = Passages([("a", "A", "one two three"), ("blank", "B", " \n"), ("a#0", "C", "four")])
    rows = [row for batch in passage_chunks(source, 2) for row in batch.to_pylist()]  # type: ignore[arg-type]
    assert [(r["_id"], r["title"], r["text"]) for r in rows] == [
        ("a#0", "A", "one two"),
        ("a#1", "A", "three"),
        ("a#0#0", "C", "four"),
    ]
    assert [whole_id(r["_id"]) for r in rows] == ["a", "a", "a#0"]
    assert whole_id(piece_id("x#1", 0)) == "x#1"
    assert source.told.counts == {
        "passages_before_cutting": 3,
        "passages_without_a_word": 1,
        "passages_after_cutting": 3,
    }
    with refused("empty-text", path="here:it"):
        list(passage_chunks(Passages([("b", "", " ")]), 2))  # type: ignore[arg-type]


def gold(kind: str, text: str | None = None, *aliases: str, **more: int) -> Gold:
    labels = {"informative": None, "attributable": None, **more}
    return Gold(kind=kind, text=text, aliases=aliases, citations=(), **labels)


def test_short_answers_are_found_as_alce_normalises() -> None:
    rows = GoldRows(
        [
            gold("qa_pair", "one", "The U.S.", "America"),
            gold("qa_pair", "two", "1973"),
            gold("qa_pair", "none", "", "the"),
        ]
    )
    texts = {"p": ("1973", "In the us, 'twas so."), "q": ("", "Opened in 1973!"), "r": ("", "no")}
    result = covered_answers(
        {"x": rows, "empty": GoldRows()}, {"x": list(texts), "empty": []}, texts
    )
    assert result.sizes == {"x": 3}
    assert result.get_units("x", ["p", "q", "r"]) == [frozenset({0}), frozenset({1}), frozenset()]
    assert result.recall("x", ["p", "q"]) == 2 / 3


def test_recall_is_of_units_and_five_of_a_list_are_enough() -> None:
    answers = [gold("answer_list", None, f"answer{i}.") for i in range(8)]
    texts = {
        "a": ("", "answer0 answer1 answer2"),
        "b": ("", "answer1 answer3 answer4"),
        "c": ("", "nothing"),
    }
    result = covered_answers({"x": GoldRows(answers)}, {"x": list(texts)}, texts)
    ranking = {"x": ["a", "c", "b"]}
    # 3 of 8 in the first; 5 of 8 in all three, which is all that recall-5 asks for.
    assert mean_recalls("r", ranking, result, frozenset({"x"}), 3) == {
        "recall_mean[r][@1][short answers]": round(3 / 8, 4),
        "recall_mean[r][-5@1][short answers]": 3 / 5,
        "recall_mean[r][@3][short answers]": round(5 / 8, 4),
        "recall_mean[r][-5@3][short answers]": 5 / 5,
    }
    depths = [
        name.split("@")[1].split("]")[0]
        for name in mean_recalls("r", ranking, result, frozenset(), 100)
    ]
    # Passages that hold 6 of the 8 answers: 5 are enough for recall-5, and not for recall.
    few, many = {"x": ["a", "b"]}, {"x": ["a", "b", "d"]}
    result.held["x"]["d"] = frozenset({7})
    assert share_kept(few, many, result, frozenset({"x"})) == {
        "oracle_recall_of_all_candidates_share": 0.0,
        "oracle_recall_5_of_all_candidates_share": 1.0,
    }
    assert depths == ["1", "3", "5", "20", "100"]  # as Tables 12 to 14 have it


def test_pieces_of_a_judged_passage_hold_it() -> None:
    named = {"x": ["d#0", "d#1", "e#0"]}
    whole = {name: whole_id(name) for name in named["x"]}
    result = judged_relevant({"x": ["d", "f"], "none": []}, named, whole)
    assert result.unit == JUDGED
    assert result.sizes == {"x": 2}
    assert result.recall("x", ["e#0"]) == 0
    assert result.recall("x", ["d#1", "d#0"]) == 1 / 2
    assert Coverage(SHORT).get_units("nobody", ["d"]) == [frozenset()]


REPLIES = [
    ("A is B.\nC is D.\nE is F.\nG is H.", ["A is B.", "C is D.", "E is F."]),
    ("Claims:\n1. A is B.\n\n 2) C is D.\n- C is D.\n* E is F.", ["A is B.", "C is D.", "E is F."]),
    ("Claim 1: A is B.", ["A is B."]),
    ("Sure!\nClaim 1: A is B.\nClaim 2: A is B.\n\nThe answer is: B.", ["A is B."]),
    ("1973 was the year.", ["1973 was the year."]),
    ("  \n", []),
]


@pytest.mark.parametrize(("reply", "claims"), REPLIES)
def test_claims_are_lines(reply: str, claims: list[str]) -> None:
    assert parse_subclaims(reply, 3) == claims


def test_a_text_with_the_number_of_the_quotes_of_its_prompt_is_a_failure() -> None:
    class RepeatingLlm:
        def identity(self) -> dict[str, Any]:
            return {"name": "repeating"}

        def complete(self, requests: Sequence[Request]) -> list[Result]:
            numbers = [r.messages[-1][1].partition("<quote-")[2][:16] for r in requests]
            return [LlmReply(f"It opened in {numbers[0]}."), LlmReply("It opened in 1937.")]

    rows = [{"question": "When?", "answer": f"It opened in 1937{end}", "n": 1} for end in ".!"]
    failure, text = write_texts(RepeatingLlm(), "subclaims", rows, 9)
    assert isinstance(failure, Failure) and failure.reason == "unparsable"
    assert text == "It opened in 1937."


def test_claims_are_taken_from_the_answer_that_measures_select() -> None:
    bad = gold("answer", "Wrong [1].", attributable=0, informative=1)
    good = gold("answer", "Right [1][2].", attributable=1, informative=1)
    assert long_answer(GoldRows([bad, good])) == "Right."
    assert long_answer(GoldRows([good, gold("long_answer", "Annotated.")])) == "Annotated."
    assert long_answer(GoldRows([gold("claim", "C")])) == ""


IRRELEVANT = [
    ("irrelevant", True),
    ("Irrelevant.", True),
    ("The document is irrelevant to the question.", True),
    (
        "Irrelevant: it is about ships and says nothing of bridges, towers, roads or of any year.",
        True,
    ),
    ("It opened in 1973.", False),
    ("", False),
    (
        "Judges found the motive of the accused irrelevant to the verdict, which fell in May 1921.",
        False,
    ),
]


@pytest.mark.parametrize(("reply", "expected"), IRRELEVANT)
def test_irrelevant_replies(reply: str, expected: bool) -> None:
    assert is_irrelevant(reply) is expected


def test_splits_are_words() -> None:
    names = name_retrievers(
        ["bm25", "run:runs/my-run.v2.txt", "run:other/my-run.gz", "bm25", "dense"]
    )
    assert names == {
        "bm25": "bm25",
        "run_my_run": "run:runs/my-run.v2.txt",
        "run_my_run_": "run:other/my-run.gz",
        "dense": "dense",
    }
