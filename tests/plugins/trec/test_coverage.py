"""Nuggets, rubrics and DRAGUN's reports: labels in, figures out, by hand."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.llm import read_decision
from citeforge.engines.judge.no_model import TableJudge
from citeforge.engines.judge.profiles import built_in_profiles
from citeforge.engines.judge.records import JudgeFailure, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import LlmReply
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused, write_jsonl
from scoring import score
from stand_ins import RuleJudge

NUGGETS = ["Nuggets.Vital", "Nuggets.All", "Nuggets.VitalStrict", "Nuggets.AllStrict"]
RUBRIC = ["Rubric.Score", "Rubric.Binary"]
DRAGUN = ["DRAGUN.Supportive", "DRAGUN.Contradictory"]


def nugget(importance: str, assignment: str | None, text: str = "n") -> dict[str, Any]:
    row: dict[str, Any] = {"text": text, "importance": importance}
    return row if assignment is None else row | {"assignment": assignment}


def answers(tmp_path: Path, queries: Sequence[str]) -> Path:
    rows = [{"query_id": q, "output": f"Says {q} [1].", "passages": []} for q in queries]
    return write_jsonl(tmp_path / "r1.jsonl", rows)


def scored(
    path: Path, benchmark: Benchmark, names: Sequence[str], files: Sequence[Path],
    protocol: Any = "reference", judge: Any = None,
) -> ScoreFile:  # fmt: skip
    session = None if judge is None else JudgeSession(judge)
    return score(
        path, benchmark, select(names), protocol=protocol, tools=ScoringTools(session),
        assessments=tuple(files),
    )  # fmt: skip


def values(file: ScoreFile, names: Sequence[str], row: int) -> list[float | None]:
    result = {m.name: m.per_query[row] for m in file.measures}
    return [result[name] for name in names]


YES, PART, NO = "support", "partial_support", "not_support"
NUGGET_CASES: list[tuple[list[dict[str, Any]], list[float]]] = [
    (
        [nugget("vital", YES), nugget("vital", PART), nugget("okay", NO), nugget("okay", PART)],
        [(1 + 0.5) / 2, (1 + 0.5 + 0 + 0.5) / 4, 1 / 2, 1 / 4],
    ),
    ([nugget("okay", YES)], [0, 1, 0, 1]),  # no vital one: 0
    ([nugget("vital", "failed"), nugget("vital", "Support")], [1 / 2] * 4),
    ([], [0, 0, 0, 0]),
]


def test_nuggets(tmp_path: Path, benchmark: Benchmark) -> None:
    queries = benchmark.query_ids[: len(NUGGET_CASES)]
    file = write_jsonl(tmp_path / "assignments.jsonl", [
        {"qid": q, "run_id": "r1", "nuggets": rows}
        for q, (rows, _) in zip(queries, NUGGET_CASES, strict=True)
    ] + [{"qid": "elsewhere", "run_id": "r1", "nuggets": []}])  # fmt: skip
    result = scored(answers(tmp_path, benchmark.query_ids[:6]), benchmark, NUGGETS, [file])
    for row, (case, expected) in enumerate(NUGGET_CASES):
        assert values(result, NUGGETS, row) == pytest.approx(expected), case
    # Queries without a list define nothing.
    assert values(result, NUGGETS, 5) == [None] * 4
    assert result.measures[0].n == len(NUGGET_CASES)


def test_strict_leaves_open_what_nobody_labelled_and_misses_nothing(
    tmp_path: Path, benchmark: Benchmark
) -> None:
    first, second = benchmark.query_ids[:2]
    file = write_jsonl(tmp_path / "a.jsonl", [
        {"qid": first, "run_id": "r1",
         "nuggets": [nugget("vital", YES), nugget("vital", "failed")]},
        {"qid": second, "run_id": "r1", "nuggets": [nugget("vital", YES)]},
    ])  # fmt: skip
    path = answers(tmp_path, [first])
    reference = scored(path, benchmark, NUGGETS[:1], [file]).measures[0]
    assert (reference.value, reference.n) == (100 * 1 / 2, 1)
    strict = scored(path, benchmark, NUGGETS[:1], [file], "strict").measures[0]
    # The second answer is missing: 0. Of the first, one nugget of two is open.
    assert strict.n == 2
    assert (strict.lower_bound, strict.upper_bound) == (100 * (1 / 2) / 2, 100 * (2 / 2) / 2)


# Criteria as (weight, verdict).
RUBRIC_CASES: list[tuple[list[tuple[float, str]], list[float | None]]] = [
    (
        [(5, "satisfied"), (2, "Partially Satisfied"), (3, "not_satisfied")],
        [(5 + 2 * 0.5) / 10, 5 / 10],
    ),
    # A fault that the answer has takes away; in part it counts half, or nothing.
    ([(4, "satisfied"), (-2, "satisfied")], [(4 - 2) / 4, (4 - 2) / 4]),
    ([(4, "not_satisfied"), (-2, "partially_satisfied")], [(0 - 1) / 4, 0]),
    ([(-1, "satisfied")], [None, None]),
    ([(0, "satisfied")], [None, None]),
    ([(0.5, "satisfied"), (1.5, "not_satisfied")], [0.5 / 2, 0.5 / 2]),
]


def test_rubrics(tmp_path: Path, benchmark: Benchmark) -> None:
    queries = benchmark.query_ids[: len(RUBRIC_CASES)]
    file = write_jsonl(tmp_path / "graded.jsonl", [
        {"qid": q, "run_id": "r1", "criteria": [
            {"text": "c", "weight": weight, "verdict": verdict} for weight, verdict in rows
        ]}
        for q, (rows, _) in zip(queries, RUBRIC_CASES, strict=True)
    ])  # fmt: skip
    result = scored(answers(tmp_path, queries), benchmark, RUBRIC, [file])
    for row, (case, expected) in enumerate(RUBRIC_CASES):
        assert values(result, RUBRIC, row) == pytest.approx(expected), case
    assert result.measures[0].n == 4  # two are undefined, and no number
    # A missing answer has the worst value: all faults, and nothing else.
    strict = scored(answers(tmp_path, queries[:1]), benchmark, RUBRIC, [file], "strict")
    assert values(strict, RUBRIC, 1) == [-2 / 4, -2 / 4]
    assert values(strict, RUBRIC, 0) == pytest.approx(RUBRIC_CASES[0][1])


def test_a_rubric_without_a_positive_weight_is_never_a_number(
    tmp_path: Path, benchmark: Benchmark, package: Path, inline: Inline
) -> None:
    query = benchmark.query_ids[0]
    file = write_jsonl(tmp_path / "g.jsonl", [
        {"qid": query, "criteria": [{"text": "c", "weight": -1, "verdict": "satisfied"}]}
    ])  # fmt: skip
    done = inline("score", answers(tmp_path, [query]), "--benchmark", package, "--measures",
                  "rubric", "--assessments", file)  # fmt: skip
    assert done.returncode == 2
    assert "Rubric.Score, Rubric.Binary: no query defines it" in done.stderr


def test_other_layouts_of_rubrics(tmp_path: Path, benchmark: Benchmark) -> None:
    two, three = benchmark.query_ids[:2]
    other = write_jsonl(tmp_path / "graded.jsonl", [
        {"query_id": two, "rubrics": [{"criterion": "a", "points": 7, "criteria_met": True},
                                      {"criterion": "b", "points": -2, "criteria_met": True}]},
        {"query_id": three, "rubrics": [{"criterion": "a", "points": 7, "criteria_met": False}]},
    ])  # fmt: skip
    result = scored(answers(tmp_path, [two, three]), benchmark, RUBRIC, [other])
    assert [values(result, RUBRIC[:1], row)[0] for row in range(2)] == [(7 - 2) / 7, 0 / 7]


def rubric_file(path: Path, topic: str, questions: Sequence[tuple[str, Sequence[str]]]) -> None:
    """A topic's rubric as DRAGUN publishes it: (importance, ids of short answers) of questions."""
    rubrics = [
        {"question_id": f"q-{rank}", "question_text": "Who?", "importance": importance,
         "short_answers": [{"answer_id": name, "answer_text": name} for name in names]}
        for rank, (importance, names) in enumerate(questions, 1)
    ]  # fmt: skip
    (path / f"{len(list(path.iterdir()))}.json").write_text(
        str({"topic_id": topic, "rubrics": rubrics}).replace("'", '"')
    )


A, B, C = "A: Have to Know", "B: Good to Know", "C: Nice to Know"


@pytest.fixture
def rubrics(tmp_path: Path, benchmark: Benchmark) -> Path:
    folder = tmp_path / "human_rubrics"
    folder.mkdir()
    first, second = benchmark.query_ids[:2]
    rubric_file(folder, first, [(A, ["a1", "a2"]), (B, ["b1"]), (C, ["c1", "c2", "c3"])])
    rubric_file(folder, second, [(B, ["d1", "d2"]), (C, [])])
    return folder


def test_dragun(tmp_path: Path, benchmark: Benchmark, rubrics: Path) -> None:
    first, second = benchmark.query_ids[:2]
    lines = ["topic_id,run_tag,answer_id,annotation"]
    said = {"a1": "supports", "a2": "contradicts", "b1": "partial", "c1": "none",
            "c2": "supports", "c3": "partial"}  # fmt: skip
    lines += [f"{first},r1,{name},{label}" for name, label in said.items()]
    lines += [f"{first},r2,{name},contradicts" for name in said]
    lines += [f"{second},r1,d1,contradicts"]
    labels = tmp_path / "labels.csv"
    labels.write_text("\n".join(lines) + "\n")
    result = scored(answers(tmp_path, [first, second]), benchmark, DRAGUN, [labels, rubrics])
    supportive = (4 * 1 / 2 + 2 * 0.5 / 1 + 1 * 1.5 / 3) / (4 + 2 + 1)
    assert values(result, DRAGUN, 0) == pytest.approx([supportive, (4 * 1 / 2) / (4 + 2 + 1)])
    # Of two short answers one was labelled; the question without any is none.
    assert values(result, DRAGUN, 1) == pytest.approx([0, (2 * 1 / 1) / 2])
    assert result.measures[0].value == pytest.approx(100 * (supportive + 0) / 2)
    strict = scored(answers(tmp_path, [second]), benchmark, DRAGUN, [labels, rubrics], "strict")
    contradictory = strict.measures[1]
    # The first report is missing: as bad as can be. Of the second, d2 is open.
    assert values(strict, DRAGUN, 0) == [0, 1]
    assert contradictory.lower_bound == pytest.approx(100 * (1 + 1 / 2) / 2)
    assert contradictory.upper_bound == pytest.approx(100 * (1 + 2 / 2) / 2)


def test_a_judge_labels_where_nobody_has(
    tmp_path: Path, benchmark: Benchmark, rubrics: Path
) -> None:
    first = benchmark.query_ids[0]
    says = f"Says {first}."
    verdicts = {"full": "n1", "partial": "n2", "no": "n3"}
    rows: list[dict[str, object]] = [
        {"premise": says, "hypothesis": text, "verdict": level == "full", "support": level}
        for level, text in verdicts.items()
    ]
    rows += [
        {"premise": says, "hypothesis": f"Who? {name}", "verdict": False, "support": "contradicts"}
        for name in ("a1", "a2", "b1", "c1", "c2", "c3")
    ]
    judge = TableJudge(write_jsonl(tmp_path / "verdicts.jsonl", rows))
    bank = write_jsonl(tmp_path / "nuggets.jsonl", [
        {"qid": first, "nuggets": [nugget("vital", None, t) for t in verdicts.values()]}
    ])  # fmt: skip
    result = scored(answers(tmp_path, [first]), benchmark, [*NUGGETS, *DRAGUN], [bank, rubrics],
                   judge=judge)  # fmt: skip
    assert values(result, NUGGETS, 0) == [1.5 / 3, 1.5 / 3, 1 / 3, 1 / 3]
    assert values(result, DRAGUN, 0) == [0, 1]
    assert "judge:table:verdicts.jsonl" in result.measures[0].signature


def test_a_judge_that_fails_leaves_bounds_and_one_without_contradictions_says_so(
    tmp_path: Path, benchmark: Benchmark, rubrics: Path
) -> None:
    first = benchmark.query_ids[0]
    bank = write_jsonl(tmp_path / "nuggets.jsonl", [
        {"qid": first, "nuggets": [nugget("vital", None, t) for t in ("n1", "n2", "n3")]}
    ])  # fmt: skip
    # It has two levels: it supports n1, and fails on n2.
    failure = JudgeFailure("failed")
    judge = RuleJudge(lambda _, nugget: failure if nugget == "n2" else nugget == "n1")
    result = scored(answers(tmp_path, [first]), benchmark, ["Nuggets.Vital", *DRAGUN],
                   [bank, rubrics], judge=judge)  # fmt: skip
    vital = result.measures[0]
    assert (vital.lower_bound, vital.upper_bound) == (
        pytest.approx(100 * 1 / 3), pytest.approx(100 * 2 / 3),
    )  # fmt: skip
    (absent,) = result.not_computed
    assert (absent.name, "llm-dragun" in absent.reason) == ("DRAGUN.Contradictory", True)


@pytest.mark.parametrize(
    ("name", "reply", "support"),
    [
        ("llm-nugget", '{"assignment": "partial_support"}', 0.5),
        ("llm-rubric", '{"verdict": "satisfied"}', 1.0),
        ("llm-dragun", '{"assessment": "contradicts"}', -1.0),
        ("llm-dragun", '{"assessment": "none"}', 0.0),
        ("llm-nugget", '{"assignment": "maybe"}', None),
    ],
)
def test_profiles_of_a_chat_model(name: str, reply: str, support: float | None) -> None:
    result = read_decision(LlmReply(reply), built_in_profiles()[name])
    assert (result.support if isinstance(result, Verdict) else None) == support
    if isinstance(result, Verdict):
        assert (result.entailed, result.level) == (support == 1, max(support or 0, 0))


@pytest.mark.parametrize(
    ("text", "code", "field"),
    [
        ('{"nuggets": []}', "missing-field", "qid"),
        ('{"qid": "q01"}', "missing-field", None),
        ('{"qid": "q01", "nuggets": [{"text": "a", "assignment": "yes"}]}',
         "wrong-value", "assignment"),
        ('{"qid": "q01", "criteria": [{"text": "a"}]}', "missing-field", "weight"),
        ('{"qid": "q01", "criteria": [{"text": "a", "weight": 1, "verdict": "ok"}]}',
         "wrong-value", "verdict"),
        ('{"qid": "q01", "rubrics": [{"importance": "D", "short_answers": []}]}',
         "wrong-value", "importance"),
        ('{"qid": "q01", "nuggets": {}}', "wrong-type", "nuggets"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, benchmark: Benchmark, text: str, code: str, field: str | None
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text('{"qid": "q02", "nuggets": []}\n' + text + "\n")
    with refused(code, path=file, line=2, field=field):
        scored(answers(tmp_path, ["q01"]), benchmark, NUGGETS, [file])


@pytest.mark.parametrize(
    ("rows", "code", "field", "line"),
    [
        (["a9,none"], "unknown-id", "answer_id", 2),
        (["a1,maybe"], "wrong-value", "auto_assessment", 2),
        (["a1,"], "empty-text", "auto_assessment", 2),
        (["a1,none", "a1,partial"], "duplicate-id", "auto_assessment", 3),
    ],
)
def test_labels_of_short_answers_that_no_rubric_has(
    tmp_path: Path, benchmark: Benchmark, rubrics: Path, rows: list[str], code: str, field: str,
    line: int,
) -> None:  # fmt: skip
    labels, query = tmp_path / "labels.csv", benchmark.query_ids[0]
    lines = ["topic_id,run_tag,answer_id,auto_assessment", *(f"{query},r1,{row}" for row in rows)]
    labels.write_text("\n".join(lines) + "\n")
    with refused(code, path=labels, line=line, field=field):
        scored(answers(tmp_path, [query]), benchmark, DRAGUN, [labels, rubrics])


def test_labels_of_others_are_no_labels(tmp_path: Path, benchmark: Benchmark) -> None:
    query = benchmark.query_ids[0]
    file = write_jsonl(tmp_path / "a.jsonl", [
        {"qid": query, "run_id": "other", "nuggets": [nugget("vital", YES)]}
    ])  # fmt: skip
    result = scored(answers(tmp_path, [query]), benchmark, ["Nuggets.All"], [file])
    (absent,) = result.not_computed
    assert "no labels of r1 (they are of other)" in absent.reason
    result = scored(answers(tmp_path, [query]), benchmark, ["Nuggets.All"], [])
    (absent,) = result.not_computed
    assert "needs --assessments FILE: nuggets" in absent.reason
