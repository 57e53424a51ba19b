"""TREC's report measures beside the tracks' own code: RAGDoll, nuggetizer, DRAGUN's scorer."""

import hashlib
import importlib
import importlib.util
import json
import math
import random
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citeforge.engines.judge.records import Keep, Pair, Verdict
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.tools import Tools
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.text import premise_of
from conftest import write_jsonl
from scoring import score

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


class HashJudge:
    """:func:`label` as a judge."""

    signature = "hash@1"
    comparable = False

    def identity(self) -> dict[str, Any]:
        return {"name": "hash"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        levels = [label(p.hypothesis, p.premise) for p in pairs]
        keep([(i, Verdict(level == 2, support=level / 2)) for i, level in enumerate(levels)])


@pytest.fixture(scope="module")
def ragdoll(peer: Callable[[str], Path]) -> Iterator[Callable[[str], ModuleType]]:
    """Modules of RAGDoll."""
    source = str(peer("RAGDoll") / "src")
    sys.path.insert(0, source)
    yield importlib.import_module
    sys.path.remove(source)


def load(path: Path, name: str) -> ModuleType:
    """A module out of its file alone."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def benchmark(package: Path) -> Benchmark:
    return Benchmark(package)


def scored(
    path: Path, benchmark: Benchmark, names: Any, judge: Any = None, **options: Any
) -> ScoreFile:
    measures, tools = select(list(names)), Tools(judge)
    return score(path, benchmark, measures, protocol="reference", tools=tools, **options)


def equal(file: ScoreFile, row: int, theirs: dict[str, float]) -> int:
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


@pytest.mark.parametrize("seed", range(5))
def test_support_of_whole_runs_by_a_judge(
    ragdoll: Any, benchmark: Benchmark, tmp_path: Path, seed: int
) -> None:
    """From the run's file to the figures: sentences, citations, what is not judged."""
    stages, assignments = ragdoll("ragdoll.support.stages"), ragdoll("ragdoll.support.assignments")
    metric = ragdoll("ragdoll.support.metrics").support_metric
    rng = random.Random(seed)
    known = list(dict.fromkeys(i for row in benchmark.relevant_ids for i in row))[:12]
    segments = {i: premise_of(*t) for i, t in benchmark.texts(known).items()}
    rows = [drawn_report(rng, t, [*known, "zebra", "yak"]) for t in benchmark.query_ids]
    path = write_jsonl(tmp_path / "run.jsonl", rows)
    judged = [
        {"metadata": task["metadata"]["source"] | {"source": {}}, "status": "completed",
         "support_label": WORDS[label(task["metadata"]["statement"], task["metadata"]["citation"])]}
        for task in stages.iter_support_tasks([row | {"segments": segments} for row in rows])
    ]  # fmt: skip
    judgments = write_jsonl(tmp_path / "judgments.jsonl", judged)
    assigned = assignments.assemble_support_assignments(path, [judgments])
    theirs = {row["topic_id"]: metric(row) for row in assigned}
    ours = scored(path, benchmark, SUPPORT, judge=JudgeSession(HashJudge()))
    # The assignments are labels, too, as people's.
    labels = write_jsonl(tmp_path / "labels.jsonl", assigned)
    by_labels = scored(path, benchmark, SUPPORT, assessments=(labels,))
    for file in (ours, by_labels):
        same = sum(
            equal(file, row, {n: getattr(theirs[t], column) for n, column in SUPPORT.items()})
            for row, t in enumerate(benchmark.query_ids)
        )
        assert same == 6 * 30
    for name, column in SUPPORT.items():
        mean = math.fsum(getattr(m, column) for m in theirs.values()) / len(theirs)
        result = next(m.value for m in ours.measures if m.name == name)
        assert result == pytest.approx(100 * mean, abs=1e-9)


def test_support_of_any_labels(ragdoll: Any) -> None:
    from citeforge.evaluator.measures.columns import Value
    from citeforge.plugins.trec import support

    metric = ragdoll("ragdoll.support.metrics").support_metric
    weights = {2: Value(1, 1), 1: Value(0.5, 0.5), 0: Value(0, 0), -1: None}

    @given(st.lists(st.lists(st.integers(-1, 2), max_size=5), max_size=9))
    @settings(max_examples=500)
    def same(rows: list[list[int]]) -> None:
        theirs = metric({"sentences": [{"citations": [{"support": n} for n in r]} for r in rows]})
        weighed = [[weights[n] for n in row] for row in rows]
        hard = [[w and Value(float(w.low == 1), float(w.low == 1)) for w in r] for r in weighed]
        for sentences, pick, names in (
            (weighed, support._first, ("TREC.WP", "TREC.WR")),
            (hard, support._first, ("TREC.HP", "TREC.HR")),
            (weighed, support._mean, ("TREC.WP@all", "TREC.WR@all")),
        ):
            result = [v.low for v in support.support_shares(sentences, pick)]
            assert result == pytest.approx([getattr(theirs, SUPPORT[n]) for n in names])

    same()


def answers(tmp_path: Path, benchmark: Benchmark) -> Path:
    rows = [{"query_id": q, "output": "Yes.", "passages": []} for q in benchmark.query_ids]
    return write_jsonl(tmp_path / "r1.jsonl", rows)


@pytest.mark.parametrize("seed", range(3))
def test_nuggets(peer: Any, ragdoll: Any, benchmark: Benchmark, tmp_path: Path, seed: int) -> None:
    theirs = load(peer("nuggetizer") / "src/nuggetizer/core/metrics.py", "nuggetizer_metrics")
    also = ragdoll("ragdoll.nuggetizer.metrics").calculate_scores
    rng = random.Random(seed)
    rows = [
        {"qid": q, "run_id": "r1", "nuggets": [
            {"text": f"n{i}", "importance": rng.choice(["vital", "okay"]),
             "assignment": rng.choice(["support", "partial_support", "not_support", "failed"])}
            for i in range(rng.choice([0, 1, 2, 5, 20]))
        ]}
        for q in benchmark.query_ids
    ]  # fmt: skip
    file = write_jsonl(tmp_path / "assignments.jsonl", rows)
    ours = scored(answers(tmp_path, benchmark), benchmark, NUGGETS, assessments=(file,))
    same = 0
    for at, row in enumerate(rows):
        scores = theirs.calculate_nugget_scores(row["qid"], row["nuggets"])
        result = {n: getattr(scores, column) for n, column in NUGGETS.items()}
        assert result == {n: also(row["nuggets"])[column] for n, column in NUGGETS.items()}
        same += equal(ours, at, result)
    assert same == 4 * 30
    total = theirs.calculate_global_metrics(rows)
    for m in ours.measures:
        assert m.value == pytest.approx(100 * total[NUGGETS[m.name]], abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_rubrics(ragdoll: Any, benchmark: Benchmark, tmp_path: Path, seed: int) -> None:
    theirs = ragdoll("ragdoll.rubric.metrics").score_response
    rng = random.Random(seed)
    rows = [
        {"qid": q, "run_id": "r1", "criteria": [
            {"text": f"c{i}", "weight": rng.choice([5, 2, 1, 0.5, 0, -1, -3]),
             "verdict": rng.choice(["satisfied", "Partially Satisfied", "not_satisfied"])}
            for i in range(rng.randrange(1, 9))
        ]}
        for q in benchmark.query_ids
    ]  # fmt: skip
    rows[seed]["criteria"] = [{"text": "c", "weight": -1, "verdict": "satisfied"}]
    file = write_jsonl(tmp_path / "graded.jsonl", rows)
    names = {"Rubric.Score": False, "Rubric.Binary": True}
    ours = scored(answers(tmp_path, benchmark), benchmark, names, assessments=(file,))
    same = undefined = 0
    for at, row in enumerate(rows):
        result = {n: theirs(row["criteria"], binary=binary) for n, binary in names.items()}
        undefined += math.isnan(result["Rubric.Score"])
        same += equal(ours, at, {n: None if math.isnan(v) else v for n, v in result.items()})  # type: ignore[misc]
    assert (same, undefined > 0) == (2 * 30, True)


@pytest.mark.parametrize("seed", range(3))
def test_dragun(peer: Any, benchmark: Benchmark, tmp_path: Path, seed: int) -> None:
    pandas = pytest.importorskip("pandas")
    theirs = load(peer("resources") / "utils" / "score.py", "dragun_score")
    rng = random.Random(seed)
    folder = tmp_path / "human_rubrics"
    folder.mkdir()
    lines = []
    for topic in benchmark.query_ids:
        questions = [
            {"question_id": f"{topic}-{rank}", "question_text": "Who?",
             "importance": rng.choice(list(theirs.IMPORTANCE_MAP)),
             "short_answers": [{"answer_id": f"a{rank}-{i}", "answer_text": "He."}
                               for i in range(rng.randrange(0, 5))]}
            for rank in range(1, rng.randrange(2, 10))
        ]  # fmt: skip
        questions[0]["short_answers"] = [{"answer_id": "a1-0", "answer_text": "She."}]
        (folder / f"{topic}.json").write_text(json.dumps({"topic_id": topic, "rubrics": questions}))
        share = rng.choice([1.0, 1.0, 0.6])  # of the short answers that somebody assessed
        for n, answer in enumerate(a for q in questions for a in q["short_answers"]):
            if n == 0 or rng.random() < share:
                said = rng.choice(["supports", "partial", "contradicts", "none"])
                lines.append((topic, "r1", answer["answer_id"], said))
    labels = tmp_path / "labels.csv"
    frame = pandas.DataFrame(lines, columns=["topic_id", "run_tag", "answer_id", "annotation"])
    frame.to_csv(labels, index=False)
    theirs.RUBRICS_DIR = str(folder)
    theirs.score_report_generation(frame, theirs.load_rubrics(), str(tmp_path), "human")
    topics = pandas.read_csv(tmp_path / "human_report_generation_per_topic_results.csv")
    runs = pandas.read_csv(tmp_path / "human_report_generation_per_run_results.csv")
    names = {"DRAGUN.Supportive": "supportive_score", "DRAGUN.Contradictory": "contradictory_score"}
    ours = scored(answers(tmp_path, benchmark), benchmark, names, assessments=(folder, labels))
    same = 0
    for _, row in topics.iterrows():
        at = benchmark.row_of[row["topic_id"]]
        same += equal(ours, at, {n: row[column] for n, column in names.items()})
    assert same == 2 * 30
    for m in ours.measures:
        assert m.value == pytest.approx(100 * runs[names[m.name]][0], abs=1e-9)
