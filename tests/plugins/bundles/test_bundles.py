"""Each bundle finds its biased control, with 60 queries, at p < .001; and not the null."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import JudgeFailure
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.text.sentences import SentenceSegmenter
from citeforge.evaluator.compare import compare_many
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.plugins.bundles.build import build_bundle
from citeforge.plugins.bundles.design import DeflectionRecipe, FaithfulnessRecipe, PositionRecipe
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.signature import parse_signature
from citeforge.systems.registry import get_system
from citeforge.systems.run import run_system
from conftest import refused
from conftest_bundles import N
from scoring import score
from stand_ins import RuleJudge

MADE: dict[str, tuple[Callable[..., Any], Any, str, str, str]] = {
    "deflection": (build_bundle, DeflectionRecipe, "deflection-blind", "deflection-aware",
                   "Refusal.Balanced"),
    "faithfulness": (build_bundle, FaithfulnessRecipe, "post-rationaliser", "faithful",
                     "Faith.PostRat"),
    "position": (build_bundle, PositionRecipe, "position-blind", "position-follower",
                 "Pos.Early"),
}  # fmt: skip


@pytest.fixture(scope="module")
def bundles(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("bundles")
    for name, (make, recipe, *_) in MADE.items():
        make(recipe(benchmark=base), cf.RunOptions(out=folder / name))
    return {name: folder / name for name in MADE}


def scored(folder: Path, system: str, out: Path, seed: int = 0) -> ScoreFile:
    benchmark = Benchmark(folder)
    path = out / f"{system}-{seed}.jsonl"
    run_system(get_system(system), benchmark, [], 1, seed, path, header_name=f"{system} {seed}")
    return score(path, benchmark, select([benchmark.manifest.kind]))


@pytest.mark.parametrize("name", MADE)
def test_two_controls_are_told_apart_and_the_null_is_not(
    name: str, bundles: dict[str, Path], tmp_path: Path
) -> None:
    *_, blind, biased, measure = MADE[name]
    files = [scored(bundles[name], system, tmp_path) for system in (blind, biased)]
    null = scored(bundles[name], blind, tmp_path, seed=1)
    assert len(files[0].query_ids) == N
    (told,) = compare_many(files, [measure]).differences
    assert told.p_t < 0.001
    assert told.p_permutation < 0.001
    (alike,) = compare_many([files[0], null], [measure]).differences
    assert alike.p_t > 0.05
    assert alike.low <= 0 <= alike.high


def test_authorship_likewise(base: Path, tmp_path: Path) -> None:
    recipe = cf.AuthorshipRecipe(
        benchmark=base, label_sets=("human_llm",), selection=Selection(k=5, rule="any")
    )
    cf.build(recipe, tmp_path / "a")
    blind, follower = (
        scored(tmp_path / "a", s, tmp_path) for s in ("label-blind", "label-follower")
    )
    null = scored(tmp_path / "a", "label-blind", tmp_path, seed=1)
    assert len(blind.query_ids) == N
    (told,) = compare_many([blind, follower], ["CAB.P"]).differences
    assert told.p_t < 0.001
    assert told.p_permutation < 0.001
    (alike,) = compare_many([blind, null], ["CAB.P"]).differences
    assert alike.p_t > 0.05


def test_absent_knowledge_likewise(tmp_path: Path) -> None:
    people = [{"name": f"Ada Nr{i}", "qid": f"Q{i}", "spouse": f"Bo Nr{i}", "child": f"Cy Nr{i}"}
              for i in range(1, N + 1)]  # fmt: skip
    graphs, gold = tmp_path / "graphs.json", tmp_path / "gold.json"
    graphs.write_text(json.dumps([[f"Who is {p['name']}?", [p]] for p in people]))
    sets = [[p["qid"], [[p["qid"], "spouse", p["spouse"], 1], [p["qid"], "child", p["child"], 2]]]
            for p in people]  # fmt: skip
    gold.write_text(json.dumps(sets))
    cf.build(cf.KalmaRecipe(source=f"kalma:{graphs}", gold=gold), tmp_path / "k")
    benchmark = Benchmark(tmp_path / "k")
    measures = select(["KaLMA.NA.P", "KaLMA.NA.R"])
    tools = ScoringTools(JudgeSession(LexicalJudge()), SentenceSegmenter())

    def score_system(system: str, seed: int = 0) -> ScoreFile:
        path = tmp_path / f"{system}-{seed}.jsonl"
        run_system(
            get_system(system),
            benchmark,
            ["absent_1"],
            1,
            seed,
            path,
            header_name=f"{system} {seed}",
        )
        return score(path, benchmark, measures, tools=tools)

    blind, aware, null = (
        score_system("absent-blind"),
        score_system("absent-aware"),
        score_system("absent-blind", 1),
    )
    assert len(blind.query_ids) == N
    told, alike = (
        {d.measure: d for d in compare_many([blind, other]).differences} for other in (aware, null)
    )
    assert told["KaLMA.NA.R"].p_t < 0.001
    assert told["KaLMA.NA.R"].p_permutation < 0.001
    assert told["KaLMA.NA.R"].difference > 0
    assert alike["KaLMA.NA.R"].p_t > 0.05
    # What is marked: half of it is absent where marks are blind, nearly all where they are not.
    precision = [m.value for f in (blind, aware) for m in f.measures if m.name == "KaLMA.NA.P"]
    assert precision[0] == pytest.approx(50, abs=15)
    assert precision[1] == pytest.approx(100 * 0.9 / 0.95, abs=8)


def test_the_effect_of_position_has_an_interval_and_a_number_of_queries(
    bundles: dict[str, Path], tmp_path: Path
) -> None:
    blind, follower = (
        {m.name: m for m in scored(bundles["position"], system, tmp_path).measures}
        for system in ("position-blind", "position-follower")
    )
    early = follower["Pos.Early"]
    assert early.low is not None
    assert early.low > 0
    assert early.p_t is not None
    assert early.p_t < 0.001
    assert blind["Pos.Early"].p_t is not None
    assert blind["Pos.Early"].p_t > 0.05
    assert {f"Pos.Cited[{place}]" for place in range(1, 6)} <= set(blind)
    # n = (1.96 · s / .05)², s from the queries' own values, rounded up.
    values = [v for v in early.per_query if v is not None]
    mean = sum(values) / N
    variance = sum((v - mean) ** 2 for v in values) / (N - 1)
    assert follower["Pos.Queries"].value == pytest.approx(variance * (1.96 / 0.05) ** 2, abs=1.1)
    assert follower["Pos.Queries"].interval == "none"


def test_controls_of_another_bundle_are_refused(bundles: dict[str, Path], tmp_path: Path) -> None:
    with refused("wrong-kind"):
        scored(bundles["deflection"], "position-blind", tmp_path)
    with refused("wrong-kind"):
        scored(bundles["deflection"], "label-blind", tmp_path)
    benchmark = Benchmark(bundles["deflection"])
    path = tmp_path / "d.jsonl"
    run_system(get_system("deflection-blind"), benchmark, [], 1, 0, path)
    with refused("wrong-kind"):
        score(path, benchmark, select(["position"]))
    with refused("conflicting-options"):
        score(path, benchmark, select(["deflection"]), context="related")


def submission(
    benchmark: Benchmark, answers: dict[str, dict[str, str]], out: Path, protocol: str = "strict"
) -> ScoreFile:
    """Answers by cell and query; what is not there is missing."""
    rows = [{"query_id": q, "context": cell, "output": text}
            for cell, by in answers.items() for q, text in by.items()]  # fmt: skip
    path = out / "s.jsonl"
    path.write_text("".join(json.dumps(r) + "\n" for r in rows))
    return score(path, benchmark, select([benchmark.manifest.kind]), protocol=protocol)


def values(file: ScoreFile) -> dict[str, float | None]:
    return {m.name: m.value for m in file.measures}


def test_refusals_by_hand(bundles: dict[str, Path], tmp_path: Path) -> None:
    benchmark = Benchmark(bundles["deflection"])
    no, yes = "I cannot answer that.", "In 1002 [1]."
    q = benchmark.query_ids
    file = submission(benchmark, {
        # 10 refused of 60; 3 of the 30 with four relevant passages (q0, q2, q4) and q1, which has
        # one and counts nowhere; 45 of 60, and one answer that is missing and so not refused.
        "answerable": {x: no if i < 10 else yes for i, x in enumerate(q)},
        "partial": {x: no if i in (0, 1, 2, 4) else yes for i, x in enumerate(q)},
        "related": {x: no if i < 45 else yes for i, x in enumerate(q) if i != 59},
    }, tmp_path)  # fmt: skip
    result = values(file)
    assert result["Refusal.P"] == pytest.approx(100 * 45 / 55)
    assert result["Refusal.R"] == pytest.approx(100 * 45 / 60)
    # 2 · P · R / (P + R) = 2 · 45 / (60 + 45 + 10)
    assert result["Refusal.F1"] == pytest.approx(100 * 90 / 115)
    assert result["Refusal.Answered"] == pytest.approx(100 * 15 / 60)
    assert result["Refusal.Wrong"] == pytest.approx(100 * 10 / 60)
    assert result["Refusal.Partial"] == pytest.approx(100 * 3 / 30)
    assert result["Refusal.Balanced"] == pytest.approx(100 * (45 / 60 + 50 / 60) / 2)
    assert file.counts.n_missing == 1


def test_missing_answers_leave_both_sides_of_a_quotient(
    bundles: dict[str, Path], tmp_path: Path
) -> None:
    """Else 45 right refusals would stand above 20 + 10."""
    benchmark = Benchmark(bundles["deflection"])
    no, yes = "I cannot answer that.", "In 1002 [1]."
    q = benchmark.query_ids
    result = values(submission(benchmark, {
        "answerable": {x: no if i < 10 else yes for i, x in enumerate(q[:20])},
        "partial": dict.fromkeys(q, yes),
        "related": {x: no if i < 45 else yes for i, x in enumerate(q)},
    }, tmp_path, "reference"))  # fmt: skip
    assert result["Refusal.P"] == pytest.approx(100 * 20 / (20 + 10))
    assert result["Refusal.F1"] == pytest.approx(100 * 2 * 20 / (20 + 20 + 10))
    assert result["Refusal.R"] == pytest.approx(100 * 45 / 60)


def test_faithfulness_by_hand(bundles: dict[str, Path], tmp_path: Path) -> None:
    benchmark = Benchmark(bundles["faithfulness"])
    tables = {c: benchmark.context(c) for c in ("original", "removed", "decoy")}
    q = benchmark.query_ids
    answers: dict[str, dict[str, str]] = {c: {} for c in tables}
    for row, query in enumerate(q):
        shown = {c: t.ids_of(row) for c, t in tables.items()}
        target = next(i for i in range(5) if shown["original"][i] != shown["removed"][i])
        decoy = next(i for i in range(5) if shown["original"][i] != shown["decoy"][i])
        year, other = str(1000 + row), (target + 1) % 5
        answers["original"][query] = f"In {year} [{(target if row < 40 else other) + 1}]."
        # 40 cite the evidence. Without it 10 say the same and cite its place, 10 the same and
        # another place, 10 say something else there, 10 refuse.
        answers["removed"][query] = (
            f"In {year} [{target + 1}]." if row < 10 else
            f"It was {year} [{other + 1}]." if row < 20 else
            f"In 1 [{target + 1}]." if row < 30 else "Nobody knows."
        )  # fmt: skip
        answers["decoy"][query] = f"In {year} [{(decoy if row < 5 else target) + 1}]."
    result = values(submission(benchmark, answers, tmp_path))
    assert result == {
        "Faith.Cites": pytest.approx(100 * 40 / 60),
        "Faith.Moved": pytest.approx(100 * 20 / 40),
        "Faith.PostRat": pytest.approx(100 * 20 / 40),
        "Faith.Decoy": pytest.approx(100 * 5 / 40),
    }


def test_position_by_hand(bundles: dict[str, Path], tmp_path: Path) -> None:
    benchmark = Benchmark(bundles["position"])
    q = benchmark.query_ids
    cells = list(benchmark.manifest.contexts)
    # 45 queries: always the first place; 15: the third in the first cell alone, else nothing.
    answers = {c: {x: "It is so [1]." if i < 45 else "It is so [3]." if c == cells[0] else "So."
                   for i, x in enumerate(q)} for c in cells}  # fmt: skip
    result = values(submission(benchmark, answers, tmp_path))
    # Of 5 places the first half is 1 and 2, the last 4 and 5; the middle is 2, 3, 4.
    assert result["Pos.Cited[1]"] == pytest.approx(100 * 45 / 60)
    assert result["Pos.Cited[3]"] == pytest.approx(100 * 15 * 0.2 / 60)
    assert result["Pos.Early"] == pytest.approx(100 * 45 / 60 / 2)
    assert result["Pos.Ends"] == pytest.approx(100 * (45 * 0.5 - 15 * 0.2 / 3) / 60)
    del answers[cells[1]]
    file = submission(benchmark, answers, tmp_path)
    assert not file.measures
    assert "no answers to the cell rotation_1" in file.not_computed[0].reason


def test_refusals_by_a_judge(base: Path, tmp_path: Path) -> None:
    recipe = DeflectionRecipe(benchmark=base, refusals="judge")
    build_bundle(recipe, cf.RunOptions(out=tmp_path / "d"))
    benchmark = Benchmark(tmp_path / "d")
    cells = {"answerable": "Yes.", "partial": "Yes.", "related": "No."}
    answers = {c: dict.fromkeys(benchmark.query_ids, text) for c, text in cells.items()}
    assert not submission(benchmark, answers, tmp_path).measures
    failure = JudgeFailure("x")
    judge = RuleJudge(lambda said, _: failure if "fail" in said else said.startswith("No"), "no")
    tools = ScoringTools(JudgeSession(judge))
    file = score(tmp_path / "s.jsonl", benchmark, select(["deflection"]), tools=tools)
    assert values(file)["Refusal.F1"] == 100
    assert "judge:no@1" in file.measures[0].signature
    answers["related"]["q0"] = "fail"
    submission(benchmark, answers, tmp_path)
    file = score(tmp_path / "s.jsonl", benchmark, select(["deflection"]), tools=tools)
    assert "the judge failed" in file.not_computed[0].reason


def test_what_counts_as_a_refusal_stands_in_the_signature(
    base: Path, bundles: dict[str, Path], tmp_path: Path
) -> None:
    """The tables are the same, and so is their hash: nothing else tells the two apart."""
    folder = tmp_path / "deflection"
    recipe = DeflectionRecipe(benchmark=base, refusals="rules:de")
    build_bundle(recipe, cf.RunOptions(out=folder))
    files = [scored(f, "deflection-aware", tmp_path) for f in (bundles["deflection"], folder)]
    assert files[0].benchmark_hash == files[1].benchmark_hash
    signed = [parse_signature(f.measures[0].signature)["opt"] for f in files]
    assert signed == ["refusals=rules-en@2", "refusals=rules-de@2"]
    with refused("not-comparable"):
        compare_many(files, ["Refusal.R"])
