"""Runs of TREC's tracks, written from answers in sentences of their own and read again."""

import itertools
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import citeforge as cf
from citeforge.engines.judge.records import Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.plugins.trec.tracks import TRACKS, Track
from conftest import refused, write_jsonl
from scoring import iter_answers, score
from stand_ins import RuleJudge

BY_FORMAT = {track.format: track for track in TRACKS}
NAMES = ["TREC.WP", "TREC.WR", "TREC.HP", "TREC.HR", "TREC.WP@all", "TREC.WR@all"]
SHOWN = 4  # passages that each query of the context set has at least
Row = dict[str, Any]


def judge_lengths(premise: str, hypothesis: str) -> Verdict:
    """Support by the lengths of both texts: another pair is most likely another level."""
    level = len(premise + 2 * hypothesis) % 3 / 2
    return Verdict(level == 1, support=level)


def figures(path: Path, benchmark: Benchmark, form: str = "auto") -> list[Any]:
    judge = ScoringTools(judge=JudgeSession(RuleJudge(judge_lengths)))
    file = score(
        path, benchmark, select(NAMES), protocol="reference", tools=judge, file_format=form
    )
    return [m.value for m in file.measures]


def said(path: Path, benchmark: Benchmark, form: str = "auto") -> Row:
    """Sentences of each query, with the ids that they cite."""
    result = {}
    for _, answer in iter_answers(path, benchmark, form):
        row = benchmark.row_of[answer.query_id]
        own = answer.passages
        ids = benchmark.context("mix").ids_of(row) if own is None else [p.docid for p in own]
        result[answer.query_id] = [
            (s.text, [None if c is None else ids[c] for c in s.citations])
            for s in answer.sentences or ()
        ]
    return result


HARD = st.sampled_from(
    ["Io it is.", "Io it is.", "First.\nThen\r\n\tmore. ", " Dr. No saw 3.5 ", "", "  ", "\n",
     "As [2] says, [9] and [1, 3].", "[1]", "[2][1] Io.", "# Moons", "- one\n- two",
     "References:", "[1] http://a.example", "| a | b |",
     "é\u0301\u2028\u200b\x00\x1b[1m", '"}], "x": [{"', "**Io**"]
) | st.text(max_size=8)  # fmt: skip
CITED = st.lists(st.integers(0, SHOWN - 1), max_size=6)
SENTENCES = st.lists(st.fixed_dictionaries({"text": HARD, "citations": CITED}), max_size=5)
ANSWERS = st.dictionaries(st.sampled_from(["q01", "q02", "q07"]), SENTENCES, min_size=1)


def written(folder: Path, package: Path, track: Track, rows: list[Row], **more: Any) -> Any:
    out = folder / f"made-{next(_NUMBERS)}"
    path = write_jsonl(folder / "answers.jsonl", rows)
    about = {"team": "t", "run_desc": "d", "run_id": "r1"} | more
    lost = cf.export(track.format, package, out, submission=path, **about)
    return out / "run.jsonl", lost


_NUMBERS = itertools.count()


@pytest.mark.parametrize("name", ["trec-rag24", "trec-rag26", "trec-ragtime25", "trec-dragun25"])
def test_own_sentences_come_back_as_they_are(
    tmp_path: Path, package: Path, benchmark: Benchmark, name: str
) -> None:
    track = BY_FORMAT[name]

    @given(answers=ANSWERS)
    @settings(max_examples=5)
    @example(answers={"q01": []})
    @example(answers={"q01": [{"text": "A.\nB.", "citations": [3, 0, 2, 1]},
                              {"text": "", "citations": [1]},
                              {"text": "[1]", "citations": []}]})  # fmt: skip
    def holds(answers: dict[str, list[Row]]) -> None:
        rows = [
            {"query_id": q, "context": "mix", "output": "Other words [1].", "sentences": sentences}
            for q, sentences in answers.items()
        ]
        if "scores" in track.styles:  # an object has no key twice
            for sentence in itertools.chain.from_iterable(answers.values()):
                sentence["citations"] = list(dict.fromkeys(sentence["citations"]))
        path, lost = written(tmp_path, package, track, rows)
        assert lost == [f"{30 - len(rows)} queries without an answer"]
        mine = tmp_path / "answers.jsonl"
        assert said(path, benchmark, name) == said(mine, benchmark)
        assert figures(path, benchmark, f"{name}:any") == figures(mine, benchmark)

    holds()


def test_what_sentences_lose_is_counted(
    tmp_path: Path, package: Path, benchmark: Benchmark
) -> None:
    row = {"query_id": "q01", "context": "mix", "output": "x",
           "sentences": [{"text": "A.", "citations": [0, None, 99, -1, 0, 1]}]}  # fmt: skip
    first, second, *_ = benchmark.context("mix").ids_of(0)
    outside = "3 citations of passages that were not shown, or have no id"
    again = "1 citation that a sentence makes again: the track has each id once"
    missing = "29 queries without an answer"
    for name, cited, expected in (
        ("trec-rag26", [first, first, second], [outside, missing]),
        ("trec-ragtime26", [first, second], [again, outside, missing]),
    ):
        path, lost = written(tmp_path, package, BY_FORMAT[name], [row])
        assert sorted(lost) == sorted(expected)
        assert said(path, benchmark, name) == {"q01": [("A.", cited)]}


def test_the_most_confident_citation_is_the_first(tmp_path: Path, benchmark: Benchmark) -> None:
    """The order of names in an object says nothing."""
    row = {"metadata": {"team_id": "t", "run_id": "r", "topic_id": "q01"},
           "references": ["a", "b", "c"],
           "responses": [{"text": "A.", "citations": {"a": 0.2, "b": 0.9, "c": 0.5}}]}  # fmt: skip
    path = write_jsonl(tmp_path / "run.jsonl", [row])
    assert said(path, benchmark, "trec-ragtime25") == {"q01": [("A.", ["b", "c", "a"])]}


@pytest.mark.parametrize(
    ("more", "code", "words"),
    [
        ({"run_id": "a\n::add-mask::b"}, "bad-name", "--run-id"),
        ({"run_id": "a\u202eb"}, "bad-name", "--run-id"),
        ({"run_id": ""}, "bad-name", "--run-id is empty"),
        ({"run_id": "r" * 21}, "too-long", "has 21 characters; TREC RAG 2026 allows 20"),
        ({"team": "\x1b[31m"}, "bad-name", "--team"),
        ({"team": " "}, "missing-option", "--team"),
        ({"run_desc": "\n"}, "missing-option", "--run-desc"),
    ],
)
def test_names_that_nobody_can_read_are_not_written(
    tmp_path: Path, package: Path, more: Row, code: str, words: str
) -> None:
    row = {"query_id": "q01", "context": "mix", "output": "x [1]"}
    with refused(code, cf.UsageError) as caught:
        written(tmp_path, package, BY_FORMAT["trec-rag26"], [row], **more)
    assert words in str(caught.value)


def test_a_run_has_its_name_however_long_its_first_report_is(
    tmp_path: Path, benchmark: Benchmark
) -> None:
    row = {"run_id": "r1", "topic_id": "q01", "topic": "t",
           "references": [f"d{i:09}" for i in range(10_000)], "answer": []}  # fmt: skip
    path = write_jsonl(tmp_path / "file.jsonl", [row])
    assert Submission(path, benchmark, "trec-rag24").system == "r1"


@pytest.mark.parametrize("track", TRACKS, ids=lambda t: t.format)
def test_marks_come_back_before_the_full_stop(
    tmp_path: Path, package: Path, benchmark: Benchmark, track: Track
) -> None:
    """Else the papers' code gives each sentence the marks of the one before."""
    lines = ["Io is a moon [2].", "Is it hot [1]?", 'He said "yes [1]."', "No end [3]"]
    row = {"query_id": "q01", "context": "mix", "output": "\n".join(lines)}
    path, _ = written(tmp_path, package, track, [row])
    ((_, answer),) = iter_answers(path, benchmark, track.format)
    shape = re.sub(r"\[\d+\]", "[n]", answer.output)
    assert shape == re.sub(r"\[\d+\]", "[n]", "\n".join(lines))
    marks = [int(n) - 1 for n in re.findall(r"\[(\d+)\]", answer.output)]
    assert answer.sentences is not None
    assert [[n] for n in marks] == [s.citations for s in answer.sentences]
