"""TREC RAG's weighted precision and recall, by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.records import Decision, JudgeFailure, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused, write_jsonl
from conftest_evaluator import Facts, Measure
from scoring import score
from stand_ins import RuleJudge

NAMES = ["TREC.WP", "TREC.WR", "TREC.HP", "TREC.HR"]
TRACKS = [*NAMES, "TREC.WP@all", "TREC.WR@all"]


FAILURE = JudgeFailure("failed")


def judge_letters(premise: str, hypothesis: str) -> Decision:
    """Full support when the premise has all capital letters of the statement, partial when it has
    some of them; a premise with ``#`` makes it fail."""
    needed = {c for c in hypothesis if c in "ABCDEF"}
    shared = needed & set(premise)
    level = 1.0 if needed and shared == needed else 0.5 if shared else 0.0
    return FAILURE if "#" in premise else Verdict(level == 1, support=level)


def everything() -> RuleJudge:
    """A judge that supports all, but fails on premises with ``#``."""
    return RuleJudge(lambda premise, _: FAILURE if "#" in premise else True)


# (output, weighted precision, weighted recall, hard precision, hard recall); passage 1 says A, 2
# says B, 3 says C.
CASES = [
    ("Says A [1].", 1, 1, 1, 1),
    ("Says A and B [1].", 0.5 / 1, 0.5 / 1, 0, 0),
    # The best citation of a statement counts for recall, all of them for precision.
    ("Says A [1][2].", (1 + 0) / 2, 1, (1 + 0) / 2, 1),
    ("Says A and B [1][2].", (0.5 + 0.5) / 2, 0.5, 0, 0),
    ("Says A [1]. Says B.", 1 / 1, 1 / 2, 1 / 1, 1 / 2),
    ("Says A [1]. Says B and C [2]. Says C [1].", 1.5 / 3, 1.5 / 3, 1 / 3, 1 / 3),
    # Of what was not shown nothing is supported.
    ("Says A [1][9].", 1 / 2, 1, 1 / 2, 1),
    ("Says A.", 0, 0, 0, 0),
    ("", 0, 0, 0, 0),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] or "empty" for c in CASES])
def test_weights(measure: Measure, case: tuple[str, float, float, float, float]) -> None:
    output, *expected = case
    result = measure([output], TRACKS, judge=RuleJudge(judge_letters))
    assert [result[n][0] for n in NAMES] == pytest.approx(expected)
    assert "--protocol reference" in result["TREC.WP@all"]


def test_two_levels_weigh_one_or_nothing(measure: Measure) -> None:
    result = measure(["Says A and B [1]. Says C [3]."], NAMES, judge=Facts())
    assert [result[n][0] for n in NAMES] == [1 / 2, 1 / 2, 1 / 2, 1 / 2]


# Labels of the citations of each sentence; 2 full, 1 partial, 0 no support, -1 not judged.
LABELS: list[tuple[list[list[int]], list[float]]] = [
    ([[2], [1], [0], []], [1.5 / 3, 1.5 / 4, 1 / 3, 1 / 4, 1.5 / 3, 1.5 / 4]),
    # The first citation counts, however good another is; @all takes the mean.
    ([[0, 2], [1, 2, 2]], [0.5 / 2, 0.5 / 2, 0, 0, (1 / 2 + 2.5 / 3) / 2, (1 / 2 + 2.5 / 3) / 2]),
    # A sentence whose first citation nobody judged leaves both; @all still has its others.
    ([[-1, 2], [2], []], [1 / 1, 1 / 2, 1 / 1, 1 / 2, (1 + 1) / 2, (1 + 1) / 3]),
    ([[-1], [-1, -1], [1], []], [0.5 / 1, 0.5 / 2, 0, 0, 0.5 / 1, 0.5 / 2]),
    ([[1, -1, 0], []], [0.5, 0.5 / 2, 0, 0, (0.5 + 0) / 2, (0.5 + 0) / 2 / 2]),
    # Empty denominators.
    ([[-1], [-1, -1]], [0, 0, 0, 0, 0, 0]),
    ([[], []], [0, 0, 0, 0, 0, 0]),
    ([], [0, 0, 0, 0, 0, 0]),
]


def report(topic: str, cited: Sequence[int], run: str = "r1") -> dict[str, Any]:
    """A report whose sentences cite so many passages each."""
    names = [f"d{i}" for i in range(max(cited, default=0))]
    answer = [{"text": f"Says\n{i}. It too.", "citations": list(range(n))}
              for i, n in enumerate(cited)]  # fmt: skip
    return {
        "run_id": run, "topic_id": topic, "topic": "t", "response_length": 1,
        "references": names, "answer": answer,
    }  # fmt: skip


def labels(topic: str, rows: list[list[int]], run: str = "r1") -> dict[str, Any]:
    """An assignment as TREC RAG publishes it: labels are texts there."""
    return {
        "topic_id": topic,
        "run_id": run,
        "sentences": [
            {"sentenceID": i, "citations": [{"citationID": j, "support": str(label)}
             for j, label in enumerate(row)]} for i, row in enumerate(rows)
        ],
    }  # fmt: skip


def scored(
    path: Path, benchmark: Benchmark, names: Sequence[str] = TRACKS, protocol: Any = "reference",
    judge: JudgeSession | None = None, **options: Any,
) -> ScoreFile:  # fmt: skip
    return score(
        path, benchmark, select(names), protocol=protocol, tools=ScoringTools(judge), **options
    )


def test_labels_of_people_give_the_tracks_figures(tmp_path: Path, benchmark: Benchmark) -> None:
    topics = benchmark.query_ids[: len(LABELS)]
    run = write_jsonl(tmp_path / "run.jsonl", [
        report(t, [len(row) for row in rows]) for t, (rows, _) in zip(topics, LABELS, strict=True)
    ])  # fmt: skip
    people = write_jsonl(tmp_path / "people.jsonl", [
        labels(t, rows) for t, (rows, _) in zip(topics, LABELS, strict=True)
    ] + [labels(topics[0], [[0]], run="another")])  # fmt: skip
    file = scored(run, benchmark, assessments=(people,))
    values = {m.name: m.per_query for m in file.measures}
    for row, (case, expected) in enumerate(LABELS):
        assert [values[name][row] for name in TRACKS] == pytest.approx(expected), case
    # A run is the mean over its topics.
    firsts = [expected[0] for _, expected in LABELS]
    assert file.measures[0].value == pytest.approx(100 * sum(firsts) / len(firsts))
    assert "assessments:" in file.measures[0].signature


def test_the_unit_is_the_runs_own_sentence(tmp_path: Path, benchmark: Benchmark) -> None:
    """Several statements and line ends in a sentence change nothing, and every line counts."""
    ids = [name for row in benchmark.relevant_ids[:5] for name in row][:5]
    rows = [
        {"run_id": "r1", "topic_id": topic, "topic": "t", "response_length": 1,
         "references": ids, "answer": [
            {"text": f"First A.\nThen {n}, too.\n\nAnd more.", "citations": [n]} for n in range(5)
        ]}
        for topic in benchmark.query_ids[:5]
    ]  # fmt: skip
    judge = RuleJudge(judge_letters)
    session = JudgeSession(judge)
    scored(write_jsonl(tmp_path / "run.jsonl", rows), benchmark, NAMES[:2], judge=session)
    assert {p.hypothesis for p in judge.asked} == {
        f"First A.\nThen {n}, too.\n\nAnd more." for n in range(5)
    }
    assert len(judge.asked) == len({ids[n] for n in range(5)})


def test_what_no_passage_is_was_judged_by_nobody(tmp_path: Path, benchmark: Benchmark) -> None:
    relevant = benchmark.relevant_ids[0][0]
    answer = [
        {"text": "A.", "citations": ["zebra", 0]},  # a docid without a text
        {"text": "B.", "citations": [7]},  # no place in references
        {"text": "C.", "citations": []},
    ]
    row = {"run_id": "r", "topic_id": benchmark.query_ids[0], "topic": "t", "response_length": 1,
           "references": [relevant], "answer": answer}  # fmt: skip
    path = write_jsonl(tmp_path / "run.jsonl", [row])
    with refused("citation-format", path=path, line=1):
        scored(path, benchmark, judge=JudgeSession(everything()))
    form = "trec-rag24:any"
    file = scored(path, benchmark, judge=JudgeSession(everything()), file_format=form)
    assert file.submission_format == form
    values = {m.name: m.per_query[0] for m in file.measures}
    # U are the first two sentences; @all has the second citation of the first.
    assert [values[n] for n in TRACKS] == [0, 0, 0, 0, 1 / 1, 1 / 2]


def test_a_failed_judgement_leaves_bounds(measure: Measure) -> None:
    result = measure(["Says A [1]. Says B [2]."], TRACKS, passages=("A", "B #"),
                    protocol="reference", judge=everything())  # fmt: skip
    assert (result["TREC.WP"], result["TREC.WP/upper"]) == ([1 / 2], [2 / 2])
    assert (result["TREC.HR"], result["TREC.HR/upper"]) == ([1 / 2], [2 / 2])


def test_answers_without_sentences_of_their_own_are_read_in_statements(measure: Measure) -> None:
    output = "Says A [2][1]. Says B [2]. Says C.\nSays A [9]."
    result = measure([output], TRACKS, protocol="reference", judge=RuleJudge(judge_letters))
    # First citations: B (0), B (1), none, and one that nobody judged.
    assert [result[n][0] for n in TRACKS] == pytest.approx(
        [1 / 2, 1 / 3, 1 / 2, 1 / 3, (1 / 2 + 1) / 2, (1 / 2 + 1) / 3]
    )


def test_wrong_labels_are_refused(
    tmp_path: Path, benchmark: Benchmark, package: Path, inline: Inline
) -> None:
    topic = benchmark.query_ids[0]
    run = write_jsonl(tmp_path / "run.jsonl", [report(topic, [1, 2])])
    people = tmp_path / "people.jsonl"
    write_jsonl(people, [labels(topic, [[2], [1]])])
    with refused("wrong-value", path=people) as caught:
        scored(run, benchmark, assessments=(people,))
    assert "labels of 2 sentences with [1, 1] citations, and the" in str(caught.value)
    write_jsonl(people, [labels(topic, [[2], [1, 3]])])
    with refused("wrong-value", path=people, line=1, field="support"):
        scored(run, benchmark, assessments=(people,))
    write_jsonl(people, [labels(topic, [[2], [1, 1]]), labels(topic, [[2], [1, 0]])])
    with refused("duplicate-id", path=people, line=2):
        scored(run, benchmark, assessments=(people,))
    write_jsonl(people, [labels(topic, [[2], [1, 1]], run="else")])
    words = ("--benchmark", package, "--measures", "trec", "--protocol", "reference")
    done = inline.fails(2, "not-computed", "score", run, *words, "--assessments", people)
    assert "or human labels of this run (--assessments FILE" in done.stderr
