"""``check`` and ``score`` have one verdict on a file; contexts that have no triples; gold that no
graph has."""

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.score import ScoringSetup, prepare_scoring, score_context
from citeforge.evaluator.submissions.submission import Submission
from conftest import Inline, refused, write_jsonl

PEOPLE = [
    {"name": f"Ada Nr{i}", "qid": f"Q{i}", "spouse": f"S{i}", "child": f"C{i}",
     "date_of_birth": "-0044-03-15" if i == 2 else f"18{i:02d}-12-10", "date_of_death": ""}
    for i in range(1, 5)
]  # fmt: skip
ASPECTS = ("coherence", "consistency", "fluency", "relevance")
GOLD = [["Q1", "spouse", "S1", 1], ["Q1", "child", "C1", 2], ["Q9", "spouse", "elsewhere", 3]]


def files(folder: Path) -> tuple[Path, Path]:
    graphs, gold = folder / "graphs.json", folder / "gold.json"
    entries = [[f"Who is {i}?", PEOPLE[i : i + 2]] for i in range(3)]
    graphs.write_text(json.dumps(entries))
    sets = [GOLD, *([["Q2", "child", "C2", 2]] for _ in range(2))]
    gold.write_text(json.dumps([[q, mine] for (q, _), mine in zip(entries, sets, strict=True)]))
    return graphs, gold


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("kalma")
    graphs, gold = files(folder)
    return cf.build(cf.KalmaRecipe(source=f"kalma:{graphs}", gold=gold), folder / "k").folder


def test_gold_of_graphs_that_were_not_retrieved(package: Path) -> None:
    """It cannot be cited, and it counts: the package is right, the retrieval was not."""
    assert verify(package) == []
    manifest = cf.load(package).manifest
    assert manifest.counts["gold_facts_of_no_graph"] == 2
    stats = json.loads((package / "stats.json").read_text())
    assert stats["years_of_birth"] == "45 BCE to 1804"


def test_gold_is_kept_on_the_way_out_and_back(inline: Inline, tmp_path: Path) -> None:
    graphs, gold = files(tmp_path)
    build = ("build", "kalma", "--source")
    for args in (
        (*build, f"kalma:{graphs}", "--gold", gold, "--out", "one"),
        ("verify", "one"),
        ("export", "kalma", "one", "--out", "out"),
        (*build, "kalma:out/specific.json", "--gold", "out/gold.json", "--out", "two"),
    ):
        inline.ok(*args)
    one, two = cf.load(tmp_path / "one").manifest, cf.load(tmp_path / "two").manifest
    assert one.benchmark_hash == two.benchmark_hash
    later = json.loads((tmp_path / "out" / "gold_no_round1.json").read_text())
    assert [len(mine) for _, mine in later] == [2, 1, 1]
    assert inline(*build, f"kalma:{graphs}", "--gold-later", gold, "--out", "x").returncode == 2
    for words in (
        ("--one-entity", "0.5"), ("--keep-impossible",), ("--nearest", "offline"),
        ("--pairs-from-kg", "father"), ("--min-facts", "2"), ("--judge", "lexical"),
    ):  # fmt: skip
        made = inline.fails(
            2, "option-without-effect", *build, f"kalma:{graphs}", *words, "--out", "x"
        )
        assert f"{words[0]}: for questions made from a graph" in made.stderr


def lines(package: Path) -> list[dict[str, Any]]:
    benchmark = cf.load(package)
    return [
        {"query_id": q, "output": f"So [Q1, spouse: S1] {name}.", "context": name, "run": 0}
        for name in ("full", "absent_1")
        for q in benchmark.query_ids
    ]


Mutation = Callable[[random.Random, list[dict[str, Any]]], None]


def _set(field: str, *values: Any) -> Mutation:
    def change(rng: random.Random, rows: list[dict[str, Any]]) -> None:
        rng.choice(rows)[field] = rng.choice(values)

    return change


def _drop(field: str, every: bool = False) -> Mutation:
    def change(rng: random.Random, rows: list[dict[str, Any]]) -> None:
        for row in rows if every else [rng.choice(rows)]:
            row.pop(field, None)

    return change


MUTATIONS: dict[str, Mutation] = {
    "context": _set("context", "own", "none", "full", "absent_1", "absent_9", "", None, 3),
    "query": _set("query_id", "e0001", "nobody", "", None, 7),
    "run": _set("run", 0, 1, -1, "1", 2**70, 1.5, None),
    "output": _set("output", "", None, "[Q1, spouse: ", "\u0000", ["x"]),
    "passages": _set("passages", [], [{"text": "x"}], None, "x"),
    "another field": _set("other", 1),
    "no context": _drop("context"),
    "no context at all": _drop("context", every=True),
    "no query": _drop("query_id"),
    "no output": _drop("output"),
    "twice": lambda rng, rows: rows.append(dict(rng.choice(rows))),
    "only one set": lambda rng, rows: rows.__delitem__(slice(0, 3)),
    "shuffled": lambda rng, rows: rng.shuffle(rows),
}


def contexts_of(path: Path, benchmark: cf.Benchmark, context: str | None) -> list[str]:
    """What `citeforge score` scores: every set that the lines name, or the one of --context."""
    return Submission(path, benchmark).contexts if context is None else [context]


@pytest.mark.parametrize("context", [None, "full", "absent_1"])
@pytest.mark.parametrize("kind", MUTATIONS)
def test_one_verdict(package: Path, tmp_path: Path, kind: str, context: str | None) -> None:
    benchmark = cf.load(package)
    setup = prepare_scoring(benchmark, cf.ScoreOptions(measures=("KaLMA.Corr@micro",)))
    for seed in range(8):
        rng = random.Random(f"{kind} {seed}")
        rows = lines(package)
        MUTATIONS[kind](rng, rows)
        if seed % 2:
            rng.choice(list(MUTATIONS.values()))(rng, rows)
        path = write_jsonl(tmp_path / "s.jsonl", rows)
        errors = cf.check(path, benchmark, context).errors
        reason = ""
        try:
            for name in contexts_of(path, benchmark, context):
                tools = setup.tools.with_options(context=name)
                score_context(path, ScoringSetup(benchmark, setup.measures, tools))
        except cf.CiteforgeError as error:
            reason = str(error)
        assert bool(errors) == bool(reason), (kind, seed, errors, reason, rows)


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_contexts_without_triples(package: Path, tmp_path: Path, protocol: Any) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", lines(package))
    for name, code in (("own", "wrong-kind"), ("none", "wrong-kind"), ("absent_7", "unknown-name")):
        with refused(code, cf.UsageError):
            cf.score(path, package, context=name, protocol=protocol)
    rows = lines(package)
    rows[1]["passages"] = [{"text": "x"}]
    path = write_jsonl(tmp_path / "p.jsonl", rows)
    with refused("wrong-kind", cf.InputError, path=path, line=2, field="passages"):
        cf.score(path, package, protocol=protocol)


@pytest.mark.parametrize("names", ["alce", "rage", "retrieval", "attributed_ir"])
def test_measures_of_passages_are_refused(package: Path, tmp_path: Path, names: str) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", lines(package))
    with refused("wrong-kind", cf.UsageError) as caught:
        cf.score(path, package, [names])
    words = r": needs passages \(kinds: alce, .*\), and k shows triples; use --measures kalma"
    assert re.search(words, str(caught.value))


def test_reference_needs_no_segmenter(package: Path, tmp_path: Path) -> None:
    session = JudgeSession(LexicalJudge())
    path = write_jsonl(tmp_path / "s.jsonl", lines(package))
    result = cf.score(path, package, context="full", protocol="reference", judge=session)
    assert "seg:kalma" in result["KaLMA.Align@micro"].signature
    assert {n.name: n.reason for n in result.not_computed} == {
        **{f"GEval.{aspect}": "needs --llm openai:MODEL or replay:FILE" for aspect in ASPECTS},
        "KaLMA.NA.P": "no answer has an [NA]",
        "KaLMA.NA.R": "nothing is absent",
        "KaLMA.NA.F1": "nothing is absent",
    }
    with refused("conflicting-options", cf.UsageError):
        cf.score(path, package, protocol="reference", segmenter="punkt", judge=session)


def test_triples_that_were_not_shown(package: Path, tmp_path: Path) -> None:
    """A submission without a hash of the benchmark: it may answer another one."""
    rows = lines(package)
    for n, row in enumerate(rows):
        row["output"] = f"So it is [Q{n + 70}, place of birth: Nowhere {n}]."
    result = cf.check(write_jsonl(tmp_path / "s.jsonl", rows), cf.load(package)).warnings
    assert [(f.line, f.code) for f in result] == [
        (None, "missing-hash"),
        (None, "wrong-benchmark"),
        *((line, "not-shown") for line in range(1, 7)),
    ]
    assert "cite triples that this benchmark does not show" in result[1].message
