"""TREC's report measures beside the tracks' own code: RAGDoll, nuggetizer, DRAGUN's scorer."""

import hashlib
import importlib
import json
import math
import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType
from typing import Any

import pytest

from citeforge.engines.judge.records import Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.text import premise_of
from conftest import write_jsonl
from peers.frozen import FrozenNumbers, Program, load_module
from scoring import score
from stand_ins import RuleJudge

RAGDOLL = Program(
    "ragdoll",
    "castorini/RAGDoll",
    "support, nuggetizer and rubric: all from the run's file to the metrics; a hash of both texts "
    "stands in for the LLM",
    "test_trec_peer.py",
)
NUGGETIZER = Program(
    "nuggetizer",
    "castorini/nuggetizer",
    "core/metrics.py: calculate_nugget_scores() and calculate_global_metrics()",
    "test_trec_peer.py",
)
DRAGUN = Program(
    "dragun",
    "trec-dragun/resources",
    "utils/score.py: load_rubrics() and score_report_generation()",
    "test_trec_peer.py",
)
SUPPORT = {
    "TREC.WP": "weighted_precision_first_citation",
    "TREC.WR": "weighted_recall_first_citation",
    "TREC.HP": "hard_precision",
    "TREC.HR": "hard_recall",
    "TREC.WP@all": "weighted_precision_all_judged_citations",
    "TREC.WR@all": "weighted_recall_all_judged_citations",
}
NUGGETS = {
    "Nuggets.Vital": "vital_score",
    "Nuggets.All": "all_score",
    "Nuggets.VitalStrict": "strict_vital_score",
    "Nuggets.AllStrict": "strict_all_score",
}
TEXTS = ("Io is a moon.", "Two. Of them!\nAnd a line.", "", "  ", "\n", "It [1] cites.",
         "Škoda 東京", "- a\n- b")  # fmt: skip
WORDS = {2: "FS", 1: "PS", 0: "NS"}


def label(statement: str, citation: str) -> int:
    """Support from 0 to 2, by the hash of both texts."""
    return hashlib.sha256(f"{statement}\0{citation}".encode()).digest()[0] % 3


def verdict(premise: str, hypothesis: str) -> Verdict:
    """:func:`label` as a judge's."""
    level = label(hypothesis, premise)
    return Verdict(level == 2, support=level / 2)


@contextmanager
def ragdoll(checkout: Path) -> Iterator[Callable[[str], ModuleType]]:
    """Modules of RAGDoll by their names."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(checkout / "src"))
        yield importlib.import_module


def scored(
    path: Path, benchmark: Benchmark, names: Any, judge: Any = None, **options: Any
) -> ScoreFile:
    measures, tools = select(list(names)), ScoringTools(judge)
    return score(path, benchmark, measures, protocol="reference", tools=tools, **options)


def equal(file: ScoreFile, row: int, theirs: dict[str, Any]) -> int:
    """How many figures of a topic are the same; all must be."""
    result = {m.name: m.per_query[row] for m in file.measures}
    assert result == pytest.approx(theirs, abs=1e-12, nan_ok=True)
    return len(theirs)


def drawn_report(rng: random.Random, topic: str, ids: list[str]) -> dict[str, Any]:
    listed = rng.choices(ids, k=rng.randrange(0, 6))
    answer = [
        {"text": rng.choice(TEXTS), "citations": [
            rng.choice([rng.randrange(-1, 7), rng.randrange(0, 3), rng.choice(ids)])
            for _ in range(rng.choice([0, 1, 1, 2, 4]))
        ]}
        for _ in range(rng.randrange(0, 8))
    ]  # fmt: skip
    about = {"team_id": "t", "run_id": "r1", "type": "automatic", "narrative_id": topic,
             "narrative": topic}  # fmt: skip
    return {"metadata": about, "references": listed, "answer": answer}


def assess_support(
    checkout: Path, rows: list[dict[str, Any]], segments: dict[str, str]
) -> dict[str, Any]:
    """Labels and figures of each topic, from a run's file on."""
    with ragdoll(checkout) as module, TemporaryDirectory() as folder:
        tasks = module("ragdoll.support.stages").iter_support_tasks(
            [row | {"segments": segments} for row in rows]
        )
        judged = [
            {"metadata": about["source"] | {"source": {}}, "status": "completed",
             "support_label": WORDS[label(about["statement"], about["citation"])]}
            for about in (task["metadata"] for task in tasks)
        ]  # fmt: skip
        assigned = module("ragdoll.support.assignments").assemble_support_assignments(
            write_jsonl(Path(folder, "run.jsonl"), rows),
            [write_jsonl(Path(folder, "judgments.jsonl"), judged)],
        )
        assert [row["topic_id"] for row in assigned] == [
            row["metadata"]["narrative_id"] for row in rows
        ]
        metric = module("ragdoll.support.metrics").support_metric
        return {
            "labels": [
                [[c["support"] for c in s["citations"]] for s in row["sentences"]]
                for row in assigned
            ],
            **{c: [getattr(metric(row), c) for row in assigned] for c in SUPPORT.values()},
        }


@pytest.mark.parametrize("seed", range(4))
def test_support_of_whole_runs_by_a_judge(
    printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path, seed: int
) -> None:
    """From the run's file to the figures: sentences, citations, what is not judged."""
    rng = random.Random(seed)
    known = list(dict.fromkeys(i for row in benchmark.relevant_ids for i in row))[:12]
    segments = {i: premise_of(*t) for i, t in benchmark.texts(known).items()}
    rows = [drawn_report(rng, t, [*known, "zebra", "yak"]) for t in benchmark.query_ids]
    theirs = printed(RAGDOLL, f"support, seed {seed}", assess_support, rows, segments)
    path = write_jsonl(tmp_path / "run.jsonl", rows)
    judge = JudgeSession(RuleJudge(verdict))
    # RAGDoll reads what the track would refuse.
    ours = scored(path, benchmark, SUPPORT, judge, file_format="trec-rag25:any")
    # The assignments are labels, too, as people's.
    assigned: list[dict[str, object]] = [
        {"topic_id": topic, "run_id": "r1",
         "sentences": [{"citations": [{"support": n} for n in s]} for s in sentences]}
        for topic, sentences in zip(benchmark.query_ids, theirs["labels"], strict=True)
    ]  # fmt: skip
    labels = write_jsonl(tmp_path / "labels.jsonl", assigned)
    by_labels = scored(
        path, benchmark, SUPPORT, assessments=(labels,), file_format="trec-rag25:any"
    )
    for measure in (*ours.measures, *by_labels.measures):
        expected = theirs[SUPPORT[measure.name]]
        assert measure.per_query == pytest.approx(expected, abs=1e-12)
        assert measure.value == pytest.approx(100 * math.fsum(expected) / 30, abs=1e-9)
    assert len(ours.measures) == len(by_labels.measures) == 6


def test_support_of_any_labels(printed: FrozenNumbers) -> None:
    from citeforge.evaluator.measures.values import Value
    from citeforge.plugins.trec import support

    rng = random.Random(9)
    every = [
        [[rng.randint(-1, 2) for _ in range(rng.randrange(6))] for _ in range(rng.randrange(10))]
        for _ in range(100)
    ]

    def run(checkout: Path, every: list[list[list[int]]]) -> list[list[float]]:
        with ragdoll(checkout) as module:
            metric = module("ragdoll.support.metrics").support_metric
        reports = [
            {"sentences": [{"citations": [{"support": n} for n in row]} for row in rows]}
            for rows in every
        ]
        return [
            [getattr(metric(report), column) for column in SUPPORT.values()] for report in reports
        ]

    theirs = printed(RAGDOLL, "support of any labels", run, every)
    weights = {2: Value(1, 1), 1: Value(0.5, 0.5), 0: Value(0, 0), -1: None}
    for rows, expected in zip(every, theirs, strict=True):
        weighed = [[weights[n] for n in row] for row in rows]
        hard = [[w and Value(float(w.low == 1), float(w.low == 1)) for w in r] for r in weighed]
        ours = [
            share.low
            for sentences, pick in (
                (weighed, support._first_weight), (hard, support._first_weight),
                (weighed, support._mean_weight),
            )
            for shares in [support.support_shares(sentences, pick)]
            for share in (shares.precision, shares.recall)
        ]  # fmt: skip
        assert ours == pytest.approx(expected)


def answers(tmp_path: Path, benchmark: Benchmark) -> Path:
    rows = [{"query_id": q, "output": "Yes.", "passages": []} for q in benchmark.query_ids]
    return write_jsonl(tmp_path / "r1.jsonl", rows)


Rows = list[dict[str, Any]]


def nuggets(checkout: Path, rows: Rows) -> dict[str, Any]:
    """Figures of each topic, and their means, by nuggetizer."""
    theirs = load_module(checkout / "src/nuggetizer/core/metrics.py", "nuggetizer_metrics")
    scores = [theirs.calculate_nugget_scores(row["qid"], row["nuggets"]) for row in rows]
    total = theirs.calculate_global_metrics(rows)
    return {
        "topics": [{c: getattr(s, c) for c in NUGGETS.values()} for s in scores],
        "all": {c: total[c] for c in NUGGETS.values()},
    }


def nuggets_of_ragdoll(checkout: Path, rows: Rows) -> list[dict[str, float]]:
    """Figures of each topic by RAGDoll."""
    with ragdoll(checkout) as module:
        calculate = module("ragdoll.nuggetizer.metrics").calculate_scores
    return [{c: calculate(row["nuggets"])[c] for c in NUGGETS.values()} for row in rows]


@pytest.mark.parametrize("seed", range(3))
def test_nuggets(printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows: Rows = [
        {"qid": q, "run_id": "r1", "nuggets": [
            {"text": f"n{i}", "importance": rng.choice(["vital", "okay"]),
             "assignment": rng.choice(["support", "partial_support", "not_support", "failed"])}
            for i in range(rng.choice([0, 1, 2, 5, 20]))
        ]}
        for q in benchmark.query_ids
    ]  # fmt: skip
    theirs = printed(NUGGETIZER, f"seed {seed}", nuggets, rows)
    assert printed(RAGDOLL, f"nuggets, seed {seed}", nuggets_of_ragdoll, rows) == theirs["topics"]
    file = write_jsonl(tmp_path / "assignments.jsonl", rows)
    ours = scored(answers(tmp_path, benchmark), benchmark, NUGGETS, assessments=(file,))
    same = sum(
        equal(ours, at, {name: scores[column] for name, column in NUGGETS.items()})
        for at, scores in enumerate(theirs["topics"])
    )
    assert same == 4 * 30
    for m in ours.measures:
        assert m.value == pytest.approx(100 * theirs["all"][NUGGETS[m.name]], abs=1e-9)


RUBRIC = {"Rubric.Score": False, "Rubric.Binary": True}


def rubrics(checkout: Path, rows: Rows) -> list[dict[str, float | None]]:
    """Figures of each topic; None where they are not defined."""
    with ragdoll(checkout) as module:
        score_response = module("ragdoll.rubric.metrics").score_response
    scores = (
        {name: score_response(row["criteria"], binary=binary) for name, binary in RUBRIC.items()}
        for row in rows
    )
    return [{name: None if v != v else v for name, v in one.items()} for one in scores]


@pytest.mark.parametrize("seed", range(3))
def test_rubrics(printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    rows: Rows = [
        {"qid": q, "run_id": "r1", "criteria": [
            {"text": f"c{i}", "weight": rng.choice([5, 2, 1, 0.5, 0, -1, -3]),
             "verdict": rng.choice(["satisfied", "Partially Satisfied", "not_satisfied"])}
            for i in range(rng.randrange(1, 9))
        ]}
        for q in benchmark.query_ids
    ]  # fmt: skip
    rows[seed]["criteria"] = [{"text": "c", "weight": -1, "verdict": "satisfied"}]
    theirs = printed(RAGDOLL, f"rubrics, seed {seed}", rubrics, rows)
    file = write_jsonl(tmp_path / "graded.jsonl", rows)
    ours = scored(answers(tmp_path, benchmark), benchmark, RUBRIC, assessments=(file,))
    assert sum(equal(ours, at, one) for at, one in enumerate(theirs)) == 2 * 30
    assert any(one["Rubric.Score"] is None for one in theirs)


REPORTS = {"DRAGUN.Supportive": "supportive_score", "DRAGUN.Contradictory": "contradictory_score"}
IMPORTANCE = ("A: Have to Know", "B: Good to Know", "C: Nice to Know")
COLUMNS = ("topic_id", "run_tag", "answer_id", "annotation")


def dragun(checkout: Path, topics: Rows, lines: list[list[str]]) -> dict[str, Any]:
    """Figures of each topic, and of the run."""
    import pandas as pd

    theirs = load_module(checkout / "utils" / "score.py", "dragun_score")
    assert tuple(theirs.IMPORTANCE_MAP) == IMPORTANCE
    with TemporaryDirectory() as folder:
        for topic in topics:
            Path(folder, f"{topic['topic_id']}.json").write_text(json.dumps(topic))
        theirs.RUBRICS_DIR = folder
        frame = pd.DataFrame(lines, columns=COLUMNS)
        theirs.score_report_generation(frame, theirs.load_rubrics(), folder, "human")
        per_topic, per_run = (
            pd.read_csv(Path(folder, f"human_report_generation_per_{one}_results.csv"))
            for one in ("topic", "run")
        )
    columns = list(REPORTS.values())
    return {
        "topics": per_topic.set_index("topic_id")[columns].to_dict("index"),
        "run": per_run[columns].to_dict("records")[0],
    }


@pytest.mark.parametrize("seed", range(3))
def test_dragun(printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path, seed: int) -> None:
    rng = random.Random(seed)
    folder = tmp_path / "human_rubrics"
    folder.mkdir()
    topics: Rows = []
    lines = []
    for topic in benchmark.query_ids:
        questions: Rows = [
            {"question_id": f"{topic}-{rank}", "question_text": "Who?",
             "importance": rng.choice(IMPORTANCE),
             "short_answers": [{"answer_id": f"a{rank}-{i}", "answer_text": "He."}
                               for i in range(rng.randrange(0, 5))]}
            for rank in range(1, rng.randrange(2, 10))
        ]  # fmt: skip
        questions[0]["short_answers"] = [{"answer_id": "a1-0", "answer_text": "She."}]
        topics.append({"topic_id": topic, "rubrics": questions})
        (folder / f"{topic}.json").write_text(json.dumps(topics[-1]))
        share = rng.choice([1.0, 1.0, 0.6])  # of the short answers that somebody assessed
        for n, answer in enumerate(a for q in questions for a in q["short_answers"]):
            if n == 0 or rng.random() < share:
                said = rng.choice(["supports", "partial", "contradicts", "none"])
                lines.append([topic, "r1", answer["answer_id"], said])
    labels = tmp_path / "labels.csv"
    labels.write_text("".join(f"{','.join(line)}\n" for line in [list(COLUMNS), *lines]))
    theirs = printed(DRAGUN, f"seed {seed}", dragun, topics, lines)
    ours = scored(answers(tmp_path, benchmark), benchmark, REPORTS, assessments=(folder, labels))
    same = sum(
        equal(ours, benchmark.row_of[topic], {name: one[c] for name, c in REPORTS.items()})
        for topic, one in theirs["topics"].items()
    )
    assert same == 2 * 30
    for m in ours.measures:
        assert m.value == pytest.approx(100 * theirs["run"][REPORTS[m.name]], abs=1e-9)
