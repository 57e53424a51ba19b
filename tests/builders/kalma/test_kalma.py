"""`build kalma`: selection, scores by hand, checks of the writer, contexts, a second domain."""

import json
import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.kalma.build import build_kalma
from citeforge.builders.kalma.evolve import Specificity, rank_triples
from citeforge.builders.kalma.mentions import marker
from citeforge.builders.kalma.selection import StatedPair, disambiguate, read_stated
from citeforge.builders.kalma.writer_requests import embedded_templates
from citeforge.builders.verify import verify
from citeforge.engines.llm.records import Failure, Request, Result
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.engines import StoreEngine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.package.manifest import load_intact
from citeforge.package.package import Package
from citeforge.schemas import kg
from citeforge.schemas.recipes.kalma import Choices
from conftest import EXAMPLES, Inline, refused, write_jsonl
from servers.nursery import kill_command
from servers.sparql import Faults, proxy, sparql_server
from stand_ins import RuleLlm

GRAPH = EXAMPLES / "people" / "graph.ttl"
PEOPLE = load_domain("people")


def open_graph() -> KnowledgeGraph:
    return KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))


def template() -> TemplateWriter:
    return TemplateWriter(embedded_templates(PEOPLE))


def fact(qid: str, relation: str, value: str, **more: str) -> kg.Triple:
    return kg.Triple(qid, {"Q1": "Ada Byron", "Q2": "Lord Byron"}.get(qid, qid), "P1", relation,
                  value, **more)  # fmt: skip


# --- the score ---------------------------------------------------------------------------------


def test_the_score_by_hand() -> None:
    """Three graphs; "occupation" in all of them, "hobby" in one (twice, which counts once)."""
    graphs = [
        kg.Graph("Q1", "a", (fact("Q1", "occupation", "x"), fact("Q1", "hobby", "y"),
                          fact("Q1", "hobby", "z"))),
        kg.Graph("Q2", "b", (fact("Q2", "occupation", "x"),)),
        kg.Graph("Q3", "c", (fact("Q3", "occupation", "x"),)),
        kg.Graph("Q3", "c", (fact("Q3", "occupation", "x"),)),  # the same graph again
    ]  # fmt: skip
    specificity = Specificity(graphs)
    assert specificity.compute("occupation") == math.log(2 * 3 / 3)
    assert specificity.compute("hobby") == math.log(2 * 3 / 1)
    triples = [fact("Q1", "occupation", "x"), fact("Q1", "hobby", "y")]
    result = rank_triples(triples, [2.0, 4.0], specificity, alpha=0.25)
    soft = {
        "occupation": math.exp(1 / 2) / (math.exp(1 / 2) + math.exp(1 / 4)),
        "hobby": math.exp(1 / 4) / (math.exp(1 / 2) + math.exp(1 / 4)),
    }
    assert [s.triple.relation for s in result] == ["hobby", "occupation"]
    assert result[0].score == pytest.approx(0.25 * math.log(6) + 0.75 * soft["hobby"])
    assert result[1].score == pytest.approx(0.25 * math.log(2) + 0.75 * soft["occupation"])
    assert result[1].coherence == pytest.approx(soft["occupation"])
    # With α = 0 the likelier sentence wins.
    coherent = rank_triples(triples, [2.0, 4.0], specificity, alpha=0.0)
    assert coherent[0].triple.relation == "occupation"


# --- selection ---------------------------------------------------------------------------------


def stated(*rows: tuple[str, str, str]) -> list[StatedPair]:
    return [StatedPair(i, "text", *row) for i, row in enumerate(rows, 1)]


def test_disambiguation_keeps_what_the_graph_connects_as_stated() -> None:
    result = disambiguate(
        open_graph(),
        stated(
            ("Marie Curie", "spouse", "Pierre Curie"),
            ("Irène Curie", "child of", "Pierre Curie"),  # an alias; "child of" means father
            ("Ada Lovelace", "father", "Lord Byron"),
            ("Marie Curie", "daughter", "Irène Joliot-Curie"),  # mapped to child
            ("Pierre Curie", "student", "Paul Langevin"),  # the physicist, not the namesake
            ("Marie Curie", "sibling", "Pierre Curie"),  # connected, but otherwise
            ("Marie Curie", "spouse", "Lord Byron"),
            ("Marie Curie", "spouse", "No Body"),
            ("Marie", "spouse", "Pierre Curie"),
            ("Pierre Curie", "wife", "Marie Curie"),  # the first pair the other way round
        ),
    )
    assert [p.id for p in result.pairs] == [
        "Q901-Q902", "Q903-Q902", "Q906-Q907", "Q901-Q903", "Q902-Q909",
    ]  # fmt: skip
    assert result.counts == {
        "pairs_linked_otherwise": 1,
        "pairs_not_linked": 1,
        "pairs_without_entity": 1,
        "pairs_with_a_short_name[2]": 1,
        "pairs_repeated": 1,
    }


@pytest.mark.parametrize("suffix", ["jsonl", "csv"])
def test_pairs_files(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"pairs.{suffix}"
    if suffix == "jsonl":
        rows: list[dict[str, object]] = [
            {"paragraph": "P.", "first": "A B", "relation": "spouse", "second": "C D"},
            {"sentence": "S.", "subject": "E F", "predicate": "child", "object": "G H"},
        ]
        write_jsonl(path, rows)
    else:
        path.write_text("paragraph,first,relation,second\nP.,A B,spouse,C D\nS.,E F,child,G H\n")
    result = read_stated(path)
    assert [(s.paragraph, s.first, s.relation, s.second) for s in result] == [
        ("P.", "A B", "spouse", "C D"),
        ("S.", "E F", "child", "G H"),
    ]
    bad = tmp_path / "bad.jsonl"
    write_jsonl(bad, [{"paragraph": "P.", "first": "A", "relation": "x"}])
    with refused("missing-field", path=bad, line=1, field="second"):
        read_stated(bad)


# --- whole builds ------------------------------------------------------------------------------


def options(out: Path, *relations: str, **more: Any) -> tuple[cf.KalmaRecipe, cf.RunOptions]:
    recipe = cf.KalmaRecipe(kg=f"file:{GRAPH}", pairs_from_kg=relations, nearest="none", **more)
    return recipe, cf.RunOptions(out=out)


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The question of one pair, by the template writer."""
    out = tmp_path_factory.mktemp("plain") / "k"
    build_kalma(*options(out, "father", limit=1), template())
    return out


def test_a_round_per_fact_with_the_template_writer(kalma_package: Path) -> None:
    assert verify(kalma_package) == []
    gold = Package(kalma_package).gold.to_pylist()
    rounds: dict[str, list[int]] = {}
    for row in gold:
        rounds.setdefault(row["query_id"], []).append(row["round"])
        assert row["relation"] not in PEOPLE.uninformative
    # The link is of round 1, where the question asks for it.
    assert all(r == list(range(r[0], r[0] + len(r))) and r[0] < 3 for r in rounds.values())
    assert all(4 <= len(r) <= 8 for r in rounds.values())
    for row in Package(kalma_package).evolution.to_pylist():
        assert all(marker(kg.from_row(t)) in row["paragraph"] for t in row["triples"])
        if row["round"] > 1:
            triple = kg.from_row(row["triples"][0])
            scores = [c["score"] for c in row["candidates"]]
            assert scores == sorted(scores, reverse=True)
            # The template writer's sentence always passes: the best candidate is taken.
            assert kg.from_row(row["candidates"][0]["triple"]) == triple


@contextmanager
def thread_server(data: Path, folder: Path) -> Iterator[str]:
    with proxy(data) as running:
        yield running.url


@pytest.mark.parametrize(
    "server", [thread_server, pytest.param(sparql_server, marks=pytest.mark.slow)]
)
def test_all_sources_of_a_graph_give_byte_identical_tables(
    tmp_path: Path, inline: Inline, server: Callable[[Path, Path], Any]
) -> None:
    common = ("build", "kalma", "--pairs-from-kg", "spouse,father,child", "--limit", "3")

    def hash_of(name: str, *where: str) -> str:
        inline.ok(*common, *where, "--out", name)
        return load_intact(tmp_path / name).benchmark_hash

    hashes = {hash_of("file", "--kg", f"file:{GRAPH}")}
    with server(GRAPH, tmp_path) as url:
        store = ("--kg-store", "kg.db", "--kg-batch", "2")
        hashes.add(hash_of("endpoint", "--kg", f"sparql:{url}", *store))
    # The server is gone; the kept replies answer in its place.
    hashes.add(hash_of("replies", "--kg", "replay:kg.db", "--kg-batch", "2"))
    (tmp_path / "ids.txt").write_text("\n".join(f"Q9{n:02d}" for n in range(1, 12)))
    words = ("--kg", f"file:{GRAPH}", "--entities", "ids.txt", "--out", "s.nt.gz")
    inline.ok("kg", "snapshot", *words)
    hashes.add(hash_of("snapshot", "--kg", "file:s.nt.gz"))
    assert len(hashes) == 1
    sources = [load_intact(tmp_path / name).sources for name in ("endpoint", "replies")]
    assert sources[0] == sources[1]


RESUMED = ("build", "kalma", "--pairs-from-kg", "spouse,father,child", "--limit", "5")


def test_builds_without_an_endpoint_go_on_where_they_were(tmp_path: Path, inline: Inline) -> None:
    """The endpoint fails after 1, 3 and 5 more replies: each is asked for once."""
    with proxy(GRAPH) as running:
        where = ("--kg", f"sparql:{running.url}", "--kg-batch", "2")
        resumed = (*RESUMED, *where, "--kg-store", "kg.db", "--resume", "--out", "resumed")
        for more in (1, 3, 5):
            running.config = Faults(faults=[""] * more, then="400")
            assert inline(*resumed).code == "endpoint-refused"
            assert not (tmp_path / "resumed").exists()
        running.config = Faults()
        inline.ok(*resumed)
        answered = sum(r["status"] == 200 for r in running.requests())
        inline.ok(*RESUMED, *where, "--out", "fresh")
        needed = sum(r["status"] == 200 for r in running.requests()) - answered
    assert answered == needed > 9
    hashes = {load_intact(tmp_path / name).benchmark_hash for name in ("resumed", "fresh")}
    assert len(hashes) == 1
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.slow
def test_killed_builds_go_on_where_they_were(tmp_path: Path, inline: Inline) -> None:
    """SIGKILL of the real command after 1, 3 and 5 more replies: each is asked for once, and the
    tables are those of an undisturbed build."""
    inline.ok(*RESUMED, "--kg", f"file:{GRAPH}", "--out", "calm")
    with (
        sparql_server(GRAPH, tmp_path) as server,
        proxy(server, latency=0.01) as running,
    ):
        where = ("--kg", f"sparql:{running.url}", "--kg-store", "kg.db", "--kg-batch", "2")
        words = [*RESUMED, *where, "--resume", "--out", "killed"]

        def kill_after(more: int) -> None:
            # Not by requests(): one whose client was killed may be missing there.
            goal = running.answered() + more
            running.answer_up_to(goal)
            kill_command(words, tmp_path, lambda: running.answered() >= goal)

        for more in (1, 3, 5):
            kill_after(more)
            assert not (tmp_path / "killed").exists()
            running.answer_up_to(None)
        inline.ok(*words)
        asked = len(running.requests())
        # A fresh run of the same sends every request once.
        inline.ok(*RESUMED, *where[:2], "--kg-batch", "2", "--out", "fresh")
        needed = len(running.requests()) - asked
    assert needed > 9
    assert asked - needed <= 3  # one in flight at each kill
    names = ("calm", "killed", "fresh")
    assert len({load_intact(tmp_path / n).benchmark_hash for n in names}) == 1
    assert not list(tmp_path.glob("*.partial"))


def scripted(script: dict[tuple[str, int], str | Failure], is_mute: bool = False) -> RuleLlm:
    """A writer that replies like the template writer, but for what the test says.

    A mute one never makes a paragraph longer.
    """
    base = template()

    def reply(request: Request) -> str | Result:
        key = (f"{request.task} {request.values.get('marker', '')}".strip(), request.sample)
        if is_mute and request.task == "extend":
            return "No."
        return script.pop(key, None) or base.complete([request])[0]

    return RuleLlm(reply, "scripted")


def test_a_refused_sentence_is_asked_again_then_the_next_triple_is_tried(
    plain: Path, tmp_path: Path
) -> None:
    table = Package(plain).evolution.to_pylist()
    first, second = (kg.from_row(c["triple"]) for c in table[1]["candidates"][:2])
    bad = {("extend " + marker(first), attempt): "No." for attempt in range(3)}
    bad |= {("extend " + marker(second), 0): Failure("truncated", "cut")}
    llm = scripted(bad)  # type: ignore[arg-type]
    out = tmp_path / "k"
    manifest = build_kalma(*options(out, "father", limit=1), llm)
    rows = Package(out).evolution.to_pylist()
    assert kg.from_row(rows[1]["triples"][0]) == second
    refused = rows[1]["refused"]
    assert [r.split(":")[0] for r in refused] == ["lost a citation"] * 3 + ["truncated"]
    assert manifest.counts["replies_refused[extend][lost a citation]"] >= 3
    # Three attempts at the first triple, two at the second.
    assert [r.sample for r in llm.asked if r.task == "extend"][:5] == [0, 1, 2, 0, 1]


def test_the_template_stands_in_where_that_is_asked_for(plain: Path, tmp_path: Path) -> None:
    choices = Choices(stand_in=True, attempts=2)
    manifest = build_kalma(
        *options(tmp_path / "k", "father", limit=1, choices=choices), scripted({}, is_mute=True)
    )
    mine = Package(tmp_path / "k").evolution
    n = mine.num_rows - 1
    # Two attempts at each further round, and then the template's sentence of the first triple.
    assert n >= 3 and manifest.counts["replies_refused[extend][lost a citation]"] == n * 2
    assert manifest.counts["texts_by_the_template[extend]"] == n
    assert mine["paragraph"] == Package(plain).evolution["paragraph"]
    assert [len(r) for r in mine["refused"].to_pylist()] == [0, *n * [3]]
    assert mine["refused"][1][2].as_py() == "no reply could be taken: the template wrote it"


def test_pairs_without_a_question_are_dropped_and_counted(tmp_path: Path) -> None:
    out = tmp_path / "k"
    with refused("no-queries") as caught:
        build_kalma(*options(out, "father", limit=2), scripted({}, is_mute=True))
    for fact in (
        "no triple could be added: lost a citation", "replies refused: extend: lost a citation",
        "--stand-in",
    ):  # fmt: skip
        assert fact in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_pairs_are_of_a_file_or_of_relations(tmp_path: Path) -> None:
    out = tmp_path / "k"
    with refused("missing-option", cf.UsageError):
        cf.build(cf.KalmaRecipe(kg=f"file:{GRAPH}"), out)
    with refused("conflicting-options", cf.UsageError):
        cf.build(options(out, "father", pairs=tmp_path / "pairs.jsonl")[0], out)
    with refused("unknown-id", path=f"file:{GRAPH}") as caught:
        cf.build(options(out, "wizard of")[0], out)
    assert "'wizard of'" in str(caught.value)


def test_paragraphs_of_a_file(tmp_path: Path, inline: Inline) -> None:
    write_jsonl(
        tmp_path / "pairs.jsonl",
        [
            {
                "paragraph": "Ada Lovelace, born in London on 10 December 1815, was the only child "
                "of the poet Lord Byron.",
                "first": "Ada Lovelace",
                "relation": "father",
                "second": "Lord Byron",
            },
            {
                "paragraph": "Marie Curie knew Lord Byron.",
                "first": "Marie Curie",
                "relation": "friend",
                "second": "Lord Byron",
            },
        ],
    )
    result = inline.ok(
        "build", "kalma", "--kg", f"file:{GRAPH}", "--pairs", "pairs.jsonl", "--out", "k"
    )
    assert "pairs dropped: not connected in the graph" in result.stdout
    result = inline("show", "k", "--trace", "--query", "Q906-Q907")
    assert "was the only child of the poet Lord Byron [Q906, father: Lord Byron]." in result.stdout
    assert "Specific question:" in result.stdout
    assert inline("show", "k", "--trace", "--query", "Q1-Q2").code == "unknown-name"


BRIDGES_DOMAIN = """
name: bridges
entity_class: Q2001
min_name_parts: 1
uninformative: [instance of]
inverse:
  replaces: [replaced by]
templates:
  noun: "The {{ relation }} of {{ name }} is {{ value }}."
  general: "What are {{ names|join(' and ') }}?"
"""
BRIDGES_GRAPH = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix wikibase: <http://wikiba.se/ontology#> .
@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P31 rdfs:label "instance of"@en ; wikibase:directClaim wdt:P31 .
wd:P1365 rdfs:label "replaces"@en ; wikibase:directClaim wdt:P1365 .
wd:P1366 rdfs:label "replaced by"@en ; wikibase:directClaim wdt:P1366 .
wd:P177 rdfs:label "crosses"@en ; wikibase:directClaim wdt:P177 .
wd:P186 rdfs:label "made from material"@en ; wikibase:directClaim wdt:P186 .
wd:P84 rdfs:label "architect"@en ; wikibase:directClaim wdt:P84 .
wd:P571 rdfs:label "inception"@en ; wikibase:directClaim wdt:P571 .
wd:P2048 rdfs:label "height"@en ; wikibase:directClaim wdt:P2048 .
wd:Q1 rdfs:label "Old Bridge"@en ; wdt:P31 wd:Q2001 ; wdt:P1366 wd:Q2 ; wdt:P177 wd:Q7 ;
  wdt:P186 wd:Q8 ; wdt:P571 "1209-01-01T00:00:00Z"^^<http://www.w3.org/2001/XMLSchema#dateTime> .
wd:Q2 rdfs:label "New Bridge"@en ; wdt:P31 wd:Q2001 ; wdt:P1365 wd:Q1 ; wdt:P177 wd:Q7 ;
  wdt:P186 wd:Q9 ; wdt:P84 wd:Q10 ; wdt:P2048 "21.5" .
wd:Q7 rdfs:label "Thames"@en . wd:Q8 rdfs:label "stone"@en . wd:Q9 rdfs:label "granite"@en .
wd:Q10 rdfs:label "John Rennie"@en . wd:Q2001 rdfs:label "bridge"@en .
"""


def test_a_second_domain_needs_a_configuration_alone(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "bridges.yaml").write_text(BRIDGES_DOMAIN)
    (tmp_path / "bridges.ttl").write_text(BRIDGES_GRAPH)
    inline.ok(
        *("build", "kalma", "--kg", "file:bridges.ttl", "--domain", "bridges.yaml"),
        *("--pairs-from-kg", "replaces", "--out", "k", "--min-facts", "1"),
    )
    assert verify(tmp_path / "k") == []
    trace = inline("show", "k", "--trace", "--query", "Q2-Q1").stdout
    assert "General question: What are New Bridge and Old Bridge?" in trace
    assert "The replaces of New Bridge is Old Bridge [Q2, replaces: Old Bridge]." in trace
    # "replaced by" says the same the other way round: no round may pick it.
    assert "Q1, replaced by: New Bridge" not in trace
    absent = Package(tmp_path / "k").absent("absent_3").to_pylist()
    relations = {r["relation"] for r in absent if r["why"] == "inverse"}
    assert relations <= {"replaced by"}
    for args in (
        ("run", "random", "--benchmark", "k", "--out", "r.jsonl"),
        ("score", "r.jsonl", "--benchmark", "k"),
    ):
        inline.ok(*args)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("name: x\n", "missing-field"),
        ("name: x\nentity_class: Q1\nspouse: y\n", "unknown-field"),
        ("name: [", "bad-yaml"),
        ("name: x\nentity_class: Q1\ntemplates:\n  extend: '{{ question'\n", "wrong-value"),
    ],
)
def test_bad_domains_are_refused(tmp_path: Path, text: str, code: str) -> None:
    path = tmp_path / "d.yaml"
    path.write_text(text)
    with refused(code, path=path):
        load_domain(str(path))


def test_unknown_domains_and_relations() -> None:
    with refused("missing-file", path="wizards"):
        load_domain("wizards")
    assert Domain(name="x", entity_class="Q1").inverses("spouse") == ()


def test_the_manifest_records_the_choices(tmp_path: Path) -> None:
    choices = Choices(alpha=0.9, max_facts=6)
    made = build_kalma(*options(tmp_path / "k", "father", choices=choices), template())
    assert made.config["choices"]["alpha"] == 0.9
    assert [made.models[m]["name"] for m in ("writer", "perplexity")] == ["template", "ngram"]
    assert made.config["checked_by"] == (
        "contradictions: value clash on single-valued relations; "
        "fact: its value or an alias is in the text; claims: by their words"
    )
    stats = json.loads((tmp_path / "k" / "stats.json").read_text())
    assert 4 <= stats["knowledge_per_question_mean"] <= 6
