"""Plain RDF through a mapping, against rdflib's own counts of the same file."""

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.builders.kalma.selection import from_graph
from citeforge.kg.graph import open_graph
from citeforge.kg.translation import _read_date
from citeforge.kg.values import render_date
from conftest import EXAMPLES, Inline, refused

GRAPH, DOMAIN = EXAMPLES / "plain" / "people.ttl", EXAMPLES / "plain" / "friends.yaml"
WHERE = ("--kg", f"file:{GRAPH}", "--domain", DOMAIN)


def test_counts_are_those_of_rdflib() -> None:
    from rdflib import RDF, Graph, Namespace, URIRef

    kg = open_graph(f"file:{GRAPH}", str(DOMAIN), ("en", "de", "fr"), cf.RunOptions())
    plain = Graph().parse(GRAPH)
    foaf, schema = Namespace("http://xmlns.com/foaf/0.1/"), Namespace("https://schema.org/")
    people = {
        s for c in (foaf.Person, schema.Person) for s in plain.subjects(RDF.type, c)
        if isinstance(s, URIRef)
    }  # fmt: skip
    graphs = kg.subgraphs(kg.ids[str(p)] for p in people)
    assert len(graphs) == len(people) == 5
    result = [t for g in graphs.values() for t in g.triples if t.relation != "instance of"]
    for predicate, relation, lost in (
        (schema.spouse, "spouse", 0),
        (schema.parent, "parent", 0),
        (schema.children, "child", 0),
        (foaf.knows, "acquaintance", 0),
        (schema.birthDate, "date of birth", 1),  # "about 1792"
        (schema.deathDate, "date of death", 0),
        (schema.birthPlace, "place of birth", 1),  # an IRI without a name
        (schema.knowsAbout, "field of work", 0),
        (schema.affiliation, "affiliation", 1),  # a blank node
    ):
        there = [s for s, _ in plain.subject_objects(predicate) if s in people]
        assert sum(t.relation == relation for t in result) == len(there) - lost, relation
    ada = graphs[kg.ids["https://example.org/id/ada"]]
    spouses = {str(o) for o in plain.objects(URIRef("https://example.org/id/ada"), schema.spouse)}
    ids = {kg.ids[s] for s in spouses}
    assert {t.value_id for t in ada.triples if t.relation == "spouse"} == ids


def test_what_a_plain_graph_says() -> None:
    kg = open_graph(f"file:{GRAPH}", str(DOMAIN), ("en",), cf.RunOptions())
    # IRIs in order: ada, annabella, babbage, byron, london, william.
    assert kg.ids["https://example.org/id/byron"] == "Q4"
    graph = kg.subgraphs(["Q4"])["Q4"]
    said = [(t.relation, t.value, t.value_id, t.precision) for t in graph.triples]
    assert said == [
        ("instance of", "Person", "Q0", ""),
        ("spouse", "Annabella Milbanke", "Q2", ""),
        ("child", "Ada Lovelace", "Q1", ""),
        ("date of birth", "1788", "", "year"),
        ("date of death", "1824-04", "", "month"),
        ("place of birth", "London", "Q5", ""),
    ]
    assert kg.find(["Ada King", "Lord Byron"]) == {"Ada King": ["Q1"], "Lord Byron": ["Q4"]}
    german = open_graph(f"file:{GRAPH}", str(DOMAIN), ("de", "en"), cf.RunOptions())
    assert german.subgraphs(["Q1"])["Q1"].name == "Ada, Gräfin von Lovelace"
    people = {q for ids in kg.labels_of_class().values() for q in ids}
    unnamed = [t for g in kg.subgraphs(people).values() for t in g.unnamed]
    assert [t.relation for t in unnamed] == ["place of birth"]  # an IRI without a label
    assert dict(kg.counts) == {
        "entities_without_an_iri": 1,
        "values_as_impossible_dates": 1,
        "values_without_a_label": 1,
        "values_without_an_iri": 1,
        "facts_that_the_mapping_does_not_name[https://schema.org/height]": 1,
        "facts_that_the_mapping_does_not_name[https://schema.org/url]": 1,
    }


def test_the_commands_work_with_it(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "ids.txt").write_text("https://example.org/id/ada  # her\nQ4\n")
    inline.ok("kg", "snapshot", *WHERE, "--entities", "ids.txt", "--out", "s.nt")
    of_file = open_graph(f"file:{GRAPH}", str(DOMAIN), ("en",), cf.RunOptions())
    of_snapshot = open_graph(f"file:{tmp_path / 's.nt'}", str(DOMAIN), ("en",), cf.RunOptions())
    assert of_snapshot.subgraphs(["Q1", "Q4"]) == of_file.subgraphs(["Q1", "Q4"])

    (tmp_path / "q.jsonl").write_text('{"_id": "a", "text": "Was Ada King a friend?"}\n')
    inline.ok("kg", "link", *WHERE, "--questions", "q.jsonl", "--out", "l.jsonl")
    (link,) = json.loads((tmp_path / "l.jsonl").read_text())["links"]
    assert [c["qid"] for c in link["candidates"]] == ["Q1"]

    inline.ok(
        "build", "kalma", *WHERE, "--pairs-from-kg", "spouse", "--licence", "cc0-1.0", "--out", "k"
    )
    inline.ok("verify", "k")
    manifest = json.loads((tmp_path / "k" / "manifest.json").read_text())
    assert manifest["config"]["domain"]["plain"]["classes"][0] == "http://xmlns.com/foaf/0.1/Person"


@pytest.mark.parametrize(
    ("old", "new", "line", "code", "field"),
    [
        (
            "schema:spouse:",
            "scheme:spouse:",
            14,
            "wrong-value",
            "plain.relations.scheme:spouse.[key]",
        ),
        (
            "label: parent,",
            "label: parent, kind: x,",
            15,
            "unknown-field",
            "plain.relations.schema:parent.kind",
        ),
        (
            "values: date}",
            "values: day}",
            18,
            "wrong-value",
            "plain.relations.schema:birthDate.values",
        ),
        ("[foaf:name, rdfs:label]", "[]", 11, "wrong-value", "plain.labels"),
        ("foaf: http:", "foaf: http :", 7, "wrong-value", "plain.prefixes.foaf"),
        ("[foaf:Person, schema:Person]", "[foaf:Persons]", 10, "unknown-id", "plain.classes"),
        ("[foaf:name, rdfs:label]", "[foaf:givenName]", 11, "unknown-id", "plain.labels"),
        ("model: plain", "model: wikidata\nentity_class: Q5", None, "wrong-value", ""),
        ("model: plain", "model: plain\nentity_class: Q5", None, "wrong-value", ""),
    ],
)
def test_a_bad_mapping_is_refused_with_file_and_line(
    old: str, new: str, line: int | None, code: str, field: str | None, tmp_path: Path
) -> None:
    shutil.copy(GRAPH, tmp_path / "people.ttl")
    text = DOMAIN.read_text()
    assert old in text
    path = tmp_path / "d.yaml"
    path.write_text(text.replace(old, new, 1))
    with refused(code, path=path, line=line, field=field):
        open_graph(f"file:{tmp_path / 'people.ttl'}", str(path), ("en",), cf.RunOptions())


def test_an_endpoint_has_no_mapping() -> None:
    with refused("conflicting-options", cf.UsageError):
        open_graph("sparql:http://127.0.0.1:9/sparql", str(DOMAIN), ("en",), cf.RunOptions())


_DATES = st.from_regex(r"-?[0-9]{4}(-[0-9]{2}){0,2}(T.{0,5}|Z)?", fullmatch=True)


@given(st.text(max_size=12) | _DATES)
def test_a_date_is_shown_as_far_as_it_is_known_or_is_none(text: str) -> None:
    result = _read_date(text)
    if result is not None:
        rendered = render_date(*result)
        assert rendered is not None
        assert rendered[1] in ("day", "month", "year")


def test_a_language_beside_the_mapping_is_refused_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text(f"language: en\n{DOMAIN.read_text()}")
    with refused("unknown-field", path=path, line=1, field="language") as caught:
        open_graph(f"file:{GRAPH}", str(path), ("en",), cf.RunOptions())
    assert "there is plain.language" in str(caught.value)
    path.write_text(f"clases: x\n{DOMAIN.read_text()}")
    with refused("unknown-field", path=path, line=1, field="clases") as caught:
        open_graph(f"file:{GRAPH}", str(path), ("en",), cf.RunOptions())
    assert "the fields are name, model" in str(caught.value)


def test_values_of_a_class_outside_the_mapping_say_what_to_do(tmp_path: Path) -> None:
    (tmp_path / "books.ttl").write_text(
        "@prefix s: <https://schema.org/> . @prefix : <http://example.org/> .\n"
        ':b a s:Book ; s:name "Salt Road" ; s:author :a .\n'
        ':a a s:Person ; s:name "Iris Stone" .\n'
    )

    def pairs(*classes: str) -> list[str]:
        plain = {
            "prefixes": {"s": "https://schema.org/"}, "classes": classes, "labels": ["s:name"],
            "relations": {"s:author": {"label": "author", "values": "entity"}},
        }  # fmt: skip
        domain = {"name": "books", "model": "plain", "plain": plain}
        graph = f"file:{tmp_path / 'books.ttl'}"
        kg = open_graph(graph, domain, ["en"], cf.RunOptions())
        return [p.stated.value for p in from_graph(kg, graph, ["author"], None, 0).pairs]

    with refused("no-pairs", path="--pairs-from-kg") as caught:
        pairs("s:Book")
    assert "`plain: classes`; add the class of the relation's values" in str(caught.value)
    assert pairs("s:Book", "s:Person") == ["Iris Stone"]
