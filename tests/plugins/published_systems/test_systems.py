"""Attributed-IR's systems by the words that a user types, against the scripted endpoint."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.package.package import Package
from citeforge.plugins.published_systems.search import Search
from conftest import Inline
from servers.running import openai_server

KEY = {"OPENAI_API_KEY": "k"}
CLOSED = ["from what you know", "It is so. It was [7] built in 1937! Nobody knows why?"]
CITED = ["what the passages say", "It is so [1]."]
QUERIES = ["search queries", "1. golden gate bridge opening\n2. Golden Gate Bridge, opening?\n3."]


def header(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text().splitlines()[0])["submission"]
    return result


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in path.read_text().splitlines()[1:]]


class World:
    """A package, and an endpoint that says the same to every prompt of a sort."""

    def __init__(self, inline: Inline, package: Path, folder: Path, url: str, log: Any) -> None:
        self.inline, self.folder, self.url, self.log = inline, folder, url, log
        self.package, self.opened = package, Package(package)

    def run(self, system: str, *words: object, out: str = "s.jsonl", limit: int = 3) -> Any:
        return self.inline(
            *("run", system, "--benchmark", self.package, "--llm", "openai:m", "--out", out),
            *("--base-url", self.url, "--limit", str(limit)),
            *words,
            **KEY,
        )

    def lines(self, system: str, *words: object) -> list[dict[str, Any]]:
        """Run it; where there is a second stage, over few passages unless the words say."""
        few = ("--depth", "10") if system.startswith("rtg-") and system != "rtg-gold" else ()
        made = self.run(system, *few, *words)
        assert made.returncode == 0, made.stderr
        return lines(self.folder / "s.jsonl")

    def scored_lines(self, system: str, *words: object) -> list[dict[str, Any]]:
        """Run it, check and score what it writes."""
        result = self.lines(system, *words)
        path = self.folder / "s.jsonl"
        checked = self.inline("check", path, "--benchmark", self.package)
        assert checked.returncode == 0, checked.stdout + checked.stderr
        scored = self.inline(
            *("score", path, "--benchmark", self.package, "--measures", "alce,retrieval"),
            *("--judge", "lexical"),
        )
        assert scored.returncode == 0, scored.stderr
        assert "own" in scored.stdout
        return result

    def asked(self) -> list[str]:
        return [r["text"] for r in self.log()]


@pytest.fixture
def world(inline: Inline, package: Path, tmp_path: Path, request: pytest.FixtureRequest) -> Any:
    replies = getattr(request, "param", [CLOSED, CITED, QUERIES])
    with openai_server(tmp_path / "log", replies=replies) as server:
        yield World(inline, package, tmp_path, server.url, server.requests)


def test_g_asks_without_passages_and_cites_nothing(world: World) -> None:
    rows = world.scored_lines("g")
    assert [r["passages"] for r in rows] == [[], [], []]
    assert {r["output"] for r in rows} == {CLOSED[1]}
    assert all("Passages" not in text for text in world.asked())
    assert "context" not in rows[0]


def test_rtg_gold_shows_the_relevant_passages_in_their_order(world: World) -> None:
    rows = world.scored_lines("rtg-gold")
    relevant: dict[str, list[str]] = {}
    mapping = world.opened.mappings["relevant"]
    for query, passage in zip(
        mapping["query-id"].to_pylist(), mapping["corpus-id"].to_pylist(), strict=True
    ):
        relevant.setdefault(query, []).append(passage)
    for row, text in zip(rows, world.asked(), strict=False):
        assert [p["docid"] for p in row["passages"]] == relevant[row["query_id"]]
        assert "[1] " in text
    assert world.lines("rtg-gold", "--k", "1")[0]["passages"] == rows[0]["passages"][:1]


def test_rtg_vanilla_says_what_it_searched_with(world: World) -> None:
    made = world.run("rtg-vanilla")
    assert made.stdout.endswith(
        "3 answers of rtg-vanilla (openai:m) (3 rankings by bm25 + embedder offline, no "
        "cross-encoder)\n"
    )
    said = header(world.folder / "s.jsonl")
    rows = world.scored_lines("rtg-vanilla")
    assert [len(r["passages"]) for r in rows] == [2, 2, 2]
    assert said["retrieval"]["over"] == "corpus"
    assert said["retrieval"]["first"]["name"] == "bm25"
    assert said["retrieval"]["second"]["kind"] == "embedder, no cross-encoder"
    assert said["retrieval"]["depth"] == 100
    assert set(said["prompts"]) == {"air-cited"}
    result = {r["query_id"]: {p["docid"] for p in r["passages"]} for r in rows}
    relevant = world.opened.mappings["relevant"]
    hits = sum(
        passage in result.get(query, ())
        for query, passage in zip(
            relevant["query-id"].to_pylist(), relevant["corpus-id"].to_pylist(), strict=True
        )
    )
    assert hits >= 3


def test_a_cross_encoder_is_the_second_stage(world: World, tmp_path: Path) -> None:
    from servers import tiny_rerankers as tiny

    texts = world.opened.texts(i for b in world.opened.passages() for i in b["_id"].to_pylist())
    words = sorted({w for _, text in texts.values() for w in text.split()})
    model = tiny.cross_encoder(tmp_path / "ce", words)
    rows = world.lines("rtg-vanilla", "--reranker", model, "--k", "3")
    assert header(tmp_path / "s.jsonl")["retrieval"]["second"]["kind"] == "cross-encoder"
    from sentence_transformers import CrossEncoder

    asked = dict(zip(world.opened.query_ids, world.opened.questions("mix"), strict=True))
    encoder = CrossEncoder(str(model), device="cpu")
    for row in rows:
        shown = [(p["docid"], f"{p['title']} {p['text']}" if "title" in p else p["text"])
                 for p in row["passages"]]  # fmt: skip
        scores = encoder.predict([(asked[row["query_id"]], text) for _, text in shown])
        assert sorted(scores, reverse=True) == pytest.approx(list(scores))


def test_over_the_passages_of_the_context(world: World) -> None:
    items = {item.query_id: item for item in world.opened.items("mix")}
    for row in world.lines("rtg-vanilla", "--over", "context"):
        assert {p["docid"] for p in row["passages"]} <= {
            p.id for p in items[row["query_id"]].passages
        }


def test_no_more_are_read_than_said(world: World) -> None:
    """Of one passage that the first stage finds, the second cannot show two."""
    rows = world.lines("rtg-vanilla", "--depth", "1")
    assert [len(r["passages"]) for r in rows] == [1, 1, 1]


@pytest.mark.parametrize("fusion", ["sort", "rerank", "combsum", "combmnz", "pm2", "query:1"])
def test_rtg_query_gen_fuses(world: World, fusion: str) -> None:
    run = world.scored_lines if fusion == "rerank" else world.lines
    rows = run("rtg-query-gen", "--fusion", fusion, "--k", "3")
    assert {tuple(r["meta"]["queries"]) for r in rows} == {("golden gate bridge opening",)}
    assert [len(r["passages"]) for r in rows] == [3, 3, 3]
    said = header(world.folder / "s.jsonl")
    assert said["counts"]["subqueries_repeated"] == 3
    assert set(said["prompts"]) == {"air-cited", "air-queries"}
    shown = {tuple(p["docid"] for p in r["passages"]) for r in rows}
    assert len(shown) == 1 or fusion != "query:1"  # all have the same sub-query
    assert len(shown) == 3 or fusion in ("query:1", "pm2")


@pytest.mark.parametrize(
    "world",
    [[CITED, ["search queries", "What a fine question this is, and " + "how " * 30]]],
    indirect=True,
)
def test_prose_in_place_of_queries_leaves_the_question_alone(world: World) -> None:
    rows = world.lines("rtg-query-gen", "--fusion", "combsum")
    assert {tuple(r["meta"]["queries"]) for r in rows} == {()}
    assert header(world.folder / "s.jsonl")["counts"]["replies_without_subqueries"] == 3
    alone = world.lines("rtg-vanilla")
    assert [r["passages"] for r in rows] == [r["passages"] for r in alone]


@pytest.mark.slow
def test_the_max_row_is_made_of_each_query_alone(world: World) -> None:
    """Table 3 of the paper: the best of the queries' own rankings, query by query."""
    for n in (0, 1):
        words = ("--fusion", f"query:{n}", "--retrieve-only", "--depth", "10", "--k", "10",
                 "--system", f"q{n}")  # fmt: skip
        made = world.run("rtg-query-gen", *words, out=f"{n}.jsonl", limit=5)
        assert made.returncode == 0, made.stderr
        assert {r["output"] for r in lines(world.folder / f"{n}.jsonl")} == {""}
    assert all("what the passages say" not in text for text in world.asked())
    scored = world.inline(
        *("score", "0.jsonl", "1.jsonl", "--benchmark", world.package, "--max-row"),
        *("--measures", "P@1,R@10"),
    )
    assert scored.returncode == 0, scored.stderr
    assert "MAX of 2" in scored.stdout


def test_gtr_cites_one_passage_a_statement(world: World) -> None:
    rows = world.scored_lines("gtr")
    for row in rows:
        assert row["output"].startswith("It is so [1]. It was (7) built in 1937 [")
        assert row["output"].endswith("! Nobody knows why?")  # stop words alone: nothing is found
        assert 1 <= len(row["passages"]) <= 3
    two = world.lines("gtr", "--per-statement", "2")[0]
    assert "[1][2]" in two["output"]
    assert header(world.folder / "s.jsonl")["counts"]["statements_without_passages"] == 3
    assert next(p["docid"] for p in two["passages"]) == rows[0]["passages"][0]["docid"]


@pytest.mark.parametrize(
    "world", [[["from what you know", "Zyx qwv. ..."], CITED, QUERIES]], indirect=True
)
def test_nothing_found_is_counted_and_answered_without(world: World) -> None:
    assert {r["output"] for r in world.lines("gtr")} == {"Zyx qwv. ..."}
    assert header(world.folder / "s.jsonl")["counts"]["statements_without_passages"] == 3


def test_without_passages_the_question_is_asked_alone(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Search, "rankings", lambda self, item, queries, depth: [[]])
    rows = world.lines("rtg-vanilla")
    assert {(r["output"], len(r["passages"])) for r in rows} == {(CLOSED[1], 0)}
    assert header(world.folder / "s.jsonl")["counts"]["answered_without_passages"] == 3


@pytest.mark.parametrize("system", ["rtg-vanilla", "gtr"])
def test_a_run_file_is_no_retriever_of_systems(world: World, system: str) -> None:
    made = world.run(system, "--retriever", "run:r.trec")
    assert (made.returncode, made.code) == (2, "bad-option")
    assert "--over context" in made.stderr


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("rtg-query-gen", "--fusion", "combsun"), "unknown-name"),
        (("rtg-query-gen", "--fusion", "query:x"), "bad-option"),
        (("rtg-query-gen", "--retriever", "run:x"), "bad-option"),
        (("gtr", "--retriever", "bm26"), "unknown-name"),
        (("gtr", "--over", "context", "--retriever", "dense"), "conflicting-options"),
        (("g", "--context", "mix", "--context", "mix"), "conflicting-options"),
    ],
)
def test_wrong_words(world: World, words: tuple[str, ...], code: str) -> None:
    made = world.run(*words)
    assert (made.returncode, made.code) == (2, code)
    assert world.asked() == []
