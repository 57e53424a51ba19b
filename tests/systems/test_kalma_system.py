"""`run kalma` over what retrieval found, against the scripted endpoint."""

import json
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.kg.domain import load_domain
from citeforge.kg.engines import StoreEngine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.link import Linker
from conftest import EXAMPLES, Inline
from servers.running import openai_server

GRAPH = EXAMPLES / "people" / "graph.ttl"
KEY = {"OPENAI_API_KEY": "k"}


@pytest.fixture(scope="module")
def people(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = cf.KalmaRecipe(
        kg=f"file:{GRAPH}", pairs_from_kg=("father", "spouse"), retrieved=True, licence="cc0-1.0"
    )
    return cf.build(recipe, tmp_path_factory.mktemp("people") / "p").folder


def test_the_retrieved_set_holds_what_the_linker_finds(people: Path) -> None:
    package = cf.load(people)
    assert list(package.manifest.contexts)[-1] == "retrieved"
    kg = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))
    items = list(package.items("retrieved"))
    links, graphs = Linker(kg).link([item.query for item in items])
    right = {item.query_id: {g.qid for g in item.graphs} for item in package.items("full")}
    hits = 0
    for item, mine in zip(items, links, strict=True):
        best = list(dict.fromkeys(x.candidates[0].qid for x in mine if x.candidates))
        assert [g.qid for g in item.graphs] == best
        assert all(g.triples == graphs[g.qid].triples for g in item.graphs)
        hits += len(right[item.query_id] & set(best))
    total = sum(map(len, right.values()))
    assert 0 < hits <= total
    description = package.manifest.contexts["retrieved"].description
    assert f"{100 * hits / total:.1f} % of the right ones" in description
    assert package.manifest.config["retrieved"] is True


def test_kalma_is_checked_and_scored(inline: Inline, people: Path, tmp_path: Path) -> None:
    package = cf.load(people)
    item = next(package.items("retrieved"))
    fact = item.graphs[0].triples[0]
    said = f"So it is [{fact.qid}, {fact.relation}: {fact.value}]. More [NA]."
    words = ("run", "kalma", "--benchmark", str(people), "--llm", "openai:m", "--out", "s.jsonl")
    with openai_server(tmp_path / "log", replies=[["Now yours", said]]) as server:
        inline.ok(*words, "--base-url", server.url, **KEY)
        prompts = [r["text"] for r in server.requests()]
        whole = next(text for text in prompts if item.query in text)
        # A token for every three bytes, eight around the message, 32 for the reply.
        size = -(-len(whole.encode()) // 3) + 8 + 32
        tight = [*words[:-1], "t.jsonl", "--base-url", server.url, "--limit", "1"]
        tight += ["--max-answer", "32", "--window"]
        enough = inline(*tight, str(size), **KEY)
        small = inline(*tight, str(size - 1), **KEY)
    assert enough.stdout == "t.jsonl: 1 answer of kalma (openai:m)\n"
    assert small.stdout == "t.jsonl: 1 answer of kalma (openai:m) (1 fact dropped)\n"
    header = json.loads((tmp_path / "s.jsonl").read_text().splitlines()[0])["submission"]
    assert header["contexts"] == ["retrieved"]
    assert set(header["prompts"]) == {"kalma"}
    assert len(prompts) == len(package.query_ids)
    assert any(f"{fact.relation}: {fact.value}" in text for text in prompts)
    assert all("[NA]" in text for text in prompts)
    assert cf.check(tmp_path / "s.jsonl", package).errors == []
    assert "KaLMA.R@micro" in cf.score(tmp_path / "s.jsonl", package)
    inline.ok("verify", people)


def test_systems_are_shown_what_they_can_read(inline: Inline, people: Path, package: Path) -> None:
    words = ("--llm", "openai:m", "--out", "s.jsonl")
    for system, benchmark, shown in (
        ("kalma", package, "triples"),
        ("rtg-vanilla", people, "passages"),
    ):
        wrong = inline.fails(
            2, "wrong-kind", "run", system, "--benchmark", benchmark, *words, **KEY
        )
        assert f"needs {shown}" in wrong.stderr


def test_questions_whose_names_lead_nowhere(tmp_path: Path) -> None:
    """An empty graph is a context like any other, and is counted."""
    from citeforge.builders.kalma.contexts import KalmaQuestion, retrieve_graphs

    kg = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))
    result, counts = retrieve_graphs(kg, [KalmaQuestion("q1", (), (), "Who was that?")], None)
    assert result.triples == {"q1": []}
    assert counts["questions_without_retrieved_graphs"] == 1
    assert "0.0 % of the right ones" in result.description
