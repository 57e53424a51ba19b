"""`build rage --judge-pool`: relevance that a model decides in place of people."""

import csv
import json
import re
from pathlib import Path

import numpy as np
import pytest

import citeforge as cf
from citeforge.builders.rage.pool_judges import LlmPoolJudge, PoolPair
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.tables import rows_of
from citeforge.package.package import Package
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import Pooling
from citeforge.schemas.tables import UNSURE
from conftest import Inline, refused, write_beir
from servers.nursery import kill_command
from servers.running import Running, openai_server

QUERIES = {"q1": "Where do herons nest?", "q2": "How deep is the lake?"}
PASSAGES = {
    "h3": "Herons nest in tall trees beside rivers.",
    "h2": "Some herons, storks and other birds nest in reeds.",
    "h1": "Herons are grey birds with long legs.",
    "h0": "To nest: a verb of computing, said of loops.",
    "l3": "The lake is 40 metres deep.",
    "l1": "The lake is cold in winter.",
    "l0": "Deep learning began in the 1980s.",
    **{f"x{i}": f"Page {i} of a cookery book: salt, oil and flour." for i in range(12)},
}
GRADED = {"h3": 3, "h2": 2, "h1": 1, "h0": 0, "l3": 3, "l1": 1, "l0": 0}
"""Grades for the query of the passage's own letter; all other pairs have 0."""
EMBEDDED = ("--vectors", "p.npy", "--query-vectors", "q.npy", "--vectors-model", "letters")
"""Vectors that are near where the first letters are equal."""


def replies(grades: dict[str, int] = GRADED) -> list[list[str]]:
    said = [
        [re.escape(QUERIES["q1" if name[0] == "h" else "q2"]) + ".*" + re.escape(PASSAGES[name]),
         f'Sure. {{"grade": {grade}}}']
        for name, grade in grades.items()
    ]  # fmt: skip
    return [*said, ["You decide how well", '{"grade": 0}']]


def beir(folder: Path, qrels: list[tuple[str, str, int]] | None = None) -> Path:
    """A BEIR folder, and vectors beside it; without qrels there is no folder of them."""
    write_beir(folder, PASSAGES, QUERIES, qrels or [])
    axes = {"h": (1, 0, 0), "l": (0, 1, 0), "x": (0, 0, 1)}
    near = [(*axes[name[0]], 0.1 * i) for i, name in enumerate(PASSAGES)]
    np.save(folder.parent / "p.npy", np.array(near, np.float32))
    np.save(folder.parent / "q.npy", np.array([(1, 0, 0, 0), (0, 1, 0, 0)], np.float32))
    if qrels is None:
        (folder / "qrels" / "test.tsv").unlink()
        (folder / "qrels").rmdir()
    return folder


def words(source: Path, server: Running, out: str, *more: str) -> list[str]:
    return [
        "build", "rage", "--source", f"beir:{source}", *EMBEDDED,
        "--judge-pool", "openai:m", "--pool-depth", "5", "--mixture", "mix=2,2,2",
        "--n-seemingly", "3", "--n-irrelevant", "3", "--base-url", server.url, "--out", out, *more,
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")


def pairs(folder: Path, label: str) -> set[tuple[str, str, float | None]]:
    return set(rows_of(Package(folder).mapping(label), "query-id", "corpus-id", "score"))


def test_queries_without_judgements_become_a_benchmark(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    with openai_server(tmp_path / "log", replies=replies()) as server:
        planned = inline.ok(*words(source, server, "out", "--dry-run", "--price", "1,2"))
        assert not server.requests()
        assert not list(tmp_path.glob("out*"))
        built = inline.ok(*words(source, server, "out", "--price", "1,2", "--max-cost", "1"))
        asked = server.requests()
        n = len(asked)
        # At most five by BM25, five by vectors, and two at random, for each of two queries.
        assert 2 * (5 + 2) <= n <= 2 * (5 + 5 + 2)
        calls = re.compile(r"calls to make +(\d+) ")
        assert calls.findall(planned.stdout) == [str(n)]
        assert re.search(r"cost +about \d", planned.stdout)
        # Vectors of a model are made up in a dry run, so the pools are others, and no larger.
        other = [word for word in words(source, server, "x", "--dry-run") if word not in EMBEDDED]
        (made_up,) = map(int, calls.findall(inline.ok(*other).stdout))
        assert 2 * (5 + 2) <= made_up <= 2 * (5 + 5 + 2)
        inline.ok(*words(source, server, "again", "--store", "out.replay.db"))
        assert len(server.requests()) == n
    assert "cost 0.0" in built.stdout + built.stderr
    out = tmp_path / "out"
    assert pairs(out, "relevant") == {("q1", "h3", 3.0), ("q1", "h2", 2.0), ("q2", "l3", 3.0)}
    assert pairs(out, UNSURE) == {("q1", "h1", 1.0), ("q2", "l1", 1.0)}
    shown = {
        (row["query_id"], doc["corpus-id"]): doc["label"]
        for row in Package(out).context_table("mix").to_pylist()
        for doc in row["docs"]
    }
    assert not {("q1", "h1"), ("q2", "l1")} & shown.keys()
    negatives = {(q, p) for label in ("irrelevant", "seemingly_relevant")
                 for q, p, _ in pairs(out, label)}  # fmt: skip
    assert ("q1", "h0") in negatives
    assert not negatives & {("q1", "h1"), ("q2", "l1"), ("q1", "h2")}
    manifest = cf.load(out).manifest
    assert manifest.models["pool judge"] == {"name": "openai:m"}
    assert manifest.models["pool ranking"]["name"] == "bm25"
    assert manifest.models["embedder"]["name"]
    assert manifest.config["pool"] == {
        "judge": "openai:m", "depth": 5, "controls": 2, "relevant_from": 2
    }  # fmt: skip
    assert re.fullmatch("[0-9a-f]{64}", manifest.config["prompts"]["grade"])
    assert manifest.counts["pool_pairs_judged"] == n
    assert manifest.counts["pool_pairs_that_the_judge_failed_on"] == 0
    card = (out / "README.md").read_text()
    assert "labels favour systems of the same model or model family" in card
    # Four of four at random are graded 0: Wilson's interval of 0 of 4 ends at z² / (4 + z²).
    assert pytest.approx(0.490, abs=1e-3) == 1.96**2 / (4 + 1.96**2)
    assert re.search(r"error of the pool's judge, random passages: called relevant +\| +0 of 4 "
                     r"\(0\.0 % \[0\.0, 49\.0\]\)", card)  # fmt: skip
    inline.ok("verify", "out")
    assert manifest.benchmark_hash == cf.load(tmp_path / "again").manifest.benchmark_hash


def test_people_decide_where_they_judged_and_measure_the_judge(
    inline: Inline, tmp_path: Path
) -> None:
    # The judge calls h1 not relevant, which people do, and h2 relevant, which they do not.
    source = beir(tmp_path / "data", [("q1", "h1", 1), ("q1", "h2", 0), ("q1", "h3", 2)])
    with openai_server(tmp_path / "log", replies=replies()) as server:
        inline.ok(*words(source, server, "out", "--corpus", "pool"))
    out = tmp_path / "out"
    assert pairs(out, "relevant") == {("q1", "h1", 1.0), ("q1", "h3", 2.0), ("q2", "l3", 3.0)}
    assert pairs(out, UNSURE) == {("q2", "l1", 1.0)}
    stats = json.loads((out / "stats.json").read_text())
    errors = {key: text for key, text in stats.items() if key.startswith("pool_error")}
    assert [text.partition(" (")[0] for text in errors.values()] == ["0 of 4", "1 of 2", "1 of 1"]
    inline.ok("verify", "out")


def test_a_lower_threshold_and_queries_without_relevant_passages(
    inline: Inline, tmp_path: Path
) -> None:
    source = beir(tmp_path / "data")
    few = {name: grade for name, grade in GRADED.items() if name != "l3"}
    with openai_server(tmp_path / "log", replies=replies(few)) as server:
        ran = inline.ok(*words(source, server, "two"))
        assert "no relevant passage: 1 (" in ran.stderr
        inline.ok(*words(source, server, "one", "--relevant-from", "1"))
        inline.ok(*words(source, server, "kept", "--allow-no-relevant"))
    with openai_server(tmp_path / "log", replies=replies({})) as server:
        inline.fails(1, "no-relevant", *words(source, server, "none"))
    assert cf.load(tmp_path / "two").manifest.counts["queries_without_relevant_passages"] == 1
    assert set(Package(tmp_path / "two").query_ids) == {"q1"}
    assert pairs(tmp_path / "one", "relevant") == {
        ("q1", "h3", 3.0), ("q1", "h2", 2.0), ("q1", "h1", 1.0), ("q2", "l1", 1.0)
    }  # fmt: skip
    assert set(Package(tmp_path / "kept").query_ids) == {"q1", "q2"}


def test_people_correct_what_is_unsure(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    with openai_server(tmp_path / "log", replies=replies()) as server:
        inline.ok(*words(source, server, "out"))
        inline.ok("labels", "export", "--task", "unsure-relevance", "--benchmark", "out",
                  "--out", "sheet.csv")  # fmt: skip
        with (tmp_path / "sheet.csv").open(newline="") as file:
            rows = list(csv.DictReader(file))
        assert {row["passage"] for row in rows} == {PASSAGES["h1"], PASSAGES["l1"]}
        for row in rows:
            row["label"] = "relevant" if row["passage"] == PASSAGES["h1"] else "not relevant"
        with (tmp_path / "sheet.csv").open("w", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        inline.ok(
            "labels", "import", "sheet.csv", "--key", "sheet.csv.key.json", "--out", "labels.jsonl"
        )
        n = len(server.requests())
        line = words(source, server, "right", "--store", "out.replay.db", "--labels")
        inline.ok(*line, "labels.jsonl")
        assert len(server.requests()) == n
        other = {"query_id": "q9", "passage": "h1", "label": "relevant"}
        (tmp_path / "other.jsonl").write_text(json.dumps(other) + "\n")
        inline.fails(1, "unknown-query", *line, "other.jsonl", "--overwrite")
        other |= {"query_id": "q1", "question": "A question of another data set?"}
        (tmp_path / "other.jsonl").write_text(json.dumps(other) + "\n")
        inline.fails(1, "unknown-query", *line, "other.jsonl", "--overwrite")
        other = {"query_id": "q1", "passage": "zz", "label": "relevant"}
        (tmp_path / "other.jsonl").write_text(json.dumps(other) + "\n")
        inline.fails(1, "unknown-id", *line, "other.jsonl", "--overwrite")
    out = tmp_path / "right"
    assert ("q1", "h1", 1.0) in pairs(out, "relevant")
    assert not pairs(out, UNSURE)
    counts = cf.load(out).manifest.counts
    assert (counts["passages_people_call[relevant]"], counts["pool_passages_unsure"]) == (1, 0)
    inline.ok("verify", "right")


@pytest.mark.slow
def test_a_killed_build_pays_for_nothing_twice(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    with openai_server(tmp_path / "log", replies=replies()) as server:
        inline.ok(*words(source, server, "whole"))
        n = len(server.requests())
        server.answer_up_to(n + 4)
        line = words(source, server, "killed", "--concurrency", "1")
        kill_command(line, tmp_path, lambda: len(server.requests()) > n + 4, OPENAI_API_KEY="k")
        server.answer_up_to(None)
        inline.ok(*line, "--resume")
        # The fifth request was under way, so it is asked again.
        assert len(server.requests()) == 2 * n + 1
    hashes = {cf.load(tmp_path / out).manifest.benchmark_hash for out in ("whole", "killed")}
    assert len(hashes) == 1


def test_the_cost_limit_holds(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    with openai_server(tmp_path / "log", replies=replies()) as server:
        line = words(source, server, "out", "--price", "1000,1000", "--thinking-tokens", "0",
                     "--concurrency", "1")  # fmt: skip
        inline.fails(3, "budget", *line, "--max-cost", "1.5")
        n = len(server.requests())
        inline.ok(*line, "--resume")
        assert 0 < n < len(server.requests()) <= 2 * (5 + 5 + 2)


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ('{"grade": 3}', 3.0),
        ('```json\n{"grade": "2"}\n```', 2.0),
        ("1", 1.0),
        ('{"grade": 4}', None),
        ('{"grade": 2.5}', None),
        ('{"grade": true}', None),
        ('{"grade": 1} or {"grade": 2}', None),
        ("It is about herons.", None),
    ],
)
def test_grades_are_read_strictly(tmp_path: Path, reply: str, grade: float | None) -> None:
    with openai_server(tmp_path / "log", replies=[[".", reply]]) as server:
        judge = LlmPoolJudge(OpenAiLlm("m", None, RunOptions(base_url=server.url)), 2)
        assert judge.grade([PoolPair("Where?", "", "There.")]) == [grade]
        # Unreadable replies are asked for three times.
        assert len(server.requests()) == (3 if grade is None else 1)


def test_a_judge_of_entailment_says_which_passages_answer(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    texts = [(q, p) for q in QUERIES for p in PASSAGES]
    table = [
        {"premise": PASSAGES[p], "hypothesis": f"This text answers the question: {QUERIES[q]}",
         "verdict": (q, p) in {("q1", "h3"), ("q2", "l3")},
         **({"support": "partial"} if (q, p) == ("q1", "h2") else {})}
        for q, p in texts
    ]  # fmt: skip
    (tmp_path / "v.jsonl").write_text("".join(json.dumps(row) + "\n" for row in table))
    line = ["build", "rage", "--source", f"beir:{source}", *EMBEDDED,
            "--judge-pool", "table:v.jsonl", "--pool-depth", "5", "--out", "out"]  # fmt: skip
    inline.ok(*line)
    assert pairs(tmp_path / "out", "relevant") == {("q1", "h3", 1.0), ("q2", "l3", 1.0)}
    assert pairs(tmp_path / "out", UNSURE) == {("q1", "h2", 0.5)}
    for words_ in (("--relevant-from", "1"), ("--dry-run",)):
        inline.fails(2, "option-without-effect", *line, "--overwrite", *words_)
    line[line.index("table:v.jsonl")] = "opnai:m"
    stderr = inline.fails(2, "unknown-name", *line, "--overwrite").stderr
    assert "--judge-pool 'opnai:m' (did you mean 'openai'?)" in stderr


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pool": Pooling(depth=3)}, "require --judge-pool"),
        ({"pool": Pooling(judge="lexical"), "hidden": True}, "--hidden requires judgements"),
        ({"pool": Pooling(judge="lexical"), "judging": {"judge": "lexical"}}, "exclude each other"),
    ],
)
def test_options_that_do_not_go_together(options: dict[str, object], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cf.RageRecipe.model_validate({"source": "beir:x", **options})


def test_without_a_judge_judgements_are_needed(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    line = ["build", "rage", "--source", f"beir:{source}", "--embedder", "offline", "--out", "o"]
    assert "--judge-pool MODEL" in inline.fails(1, "missing-file", *line).stderr
    recipe = cf.RageRecipe(source="corpus:x", pool=Pooling(judge="lexical"))
    with refused("option-without-effect"):
        cf.build(recipe, tmp_path / "o")


def test_pairs_without_a_grade_are_failures(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    unread = [[re.escape(PASSAGES["h1"]), "It is about herons."], *replies()]
    with openai_server(tmp_path / "log", replies=unread) as server:
        ran = inline.fails(3, "counted-failures", *words(source, server, "out"), "--json")
    found = json.loads(ran.stdout)
    assert found["exit_code"] == 3
    assert found["result"]["folder"] == "out"
    assert found["error"]["code"] == "counted-failures"
    # Of two queries, each asked about h1: by BM25 or vectors for the first alone.
    n = cf.load(tmp_path / "out").manifest.counts["pool_pairs_that_the_judge_failed_on"]
    assert f"{n} pairs of pools on which the judge failed" in ran.stderr
    assert ("q1", "h1", None) in pairs(tmp_path / "out", UNSURE)
    inline.ok("verify", "out")


def test_replies_of_a_server_of_ones_own_are_kept(inline: Inline, tmp_path: Path) -> None:
    source = beir(tmp_path / "data")
    with openai_server(tmp_path / "log", replies=replies()) as server:
        inline.ok(*words(source, server, "out", "--judge-pool", "vllm:m"))
        n = len(server.requests())
        more = ("--judge-pool", "vllm:m", "--store", "out.replay.db")
        inline.ok(*words(source, server, "again", *more))
        assert len(server.requests()) == n > 0


def test_unsure_passages_stay_hidden_in_benchmarks_made_of_a_pool(
    inline: Inline, tmp_path: Path
) -> None:
    source = beir(tmp_path / "data")
    with openai_server(tmp_path / "log", replies=replies()) as server:
        inline.ok(*words(source, server, "out"))
    unsure = pairs(tmp_path / "out", UNSURE)
    assert {(q, p) for q, p, _ in unsure} == {("q1", "h1"), ("q2", "l1")}
    for more in ((), ("--remine",)):
        inline.ok("build", "rage", "--source", f"rage:{tmp_path / 'out'}", *EMBEDDED, *more,
                  "--mixture", "mix=2,9,9", "--n-seemingly", "9", "--n-irrelevant", "20",
                  "--out", "next", "--overwrite")  # fmt: skip
        assert pairs(tmp_path / "next", UNSURE) == unsure
        shown = {
            (row["query_id"], doc["corpus-id"])
            for row in Package(tmp_path / "next").context_table("mix").to_pylist()
            for doc in row["docs"]
        }
        assert ("q1", "h0") in shown
        assert not shown & {("q1", "h1"), ("q2", "l1")}
        inline.ok("verify", "next")
    for seed in range(6):  # passages of one query may be negatives of the other, but for these
        inline.ok("build", "rage", "--source", f"rage:{tmp_path / 'out'}", "--candidates", "bm25",
                  "--remine", "--hidden", "--mixture", "mix=1,2,1", "--seed", seed,
                  "--out", "hidden", "--overwrite")  # fmt: skip
        barred = {(q, p) for q, p, _ in pairs(tmp_path / "hidden", UNSURE)}  # by other ids
        assert len(barred) == len(unsure)
        shown = {
            (row["query_id"], doc["corpus-id"])
            for row in Package(tmp_path / "hidden").context_table("mix").to_pylist()
            for doc in row["docs"]
        }
        assert not shown & barred
