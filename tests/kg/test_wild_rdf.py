"""RDF as people have it: files, malformed statements, labels, merged ids, units, dates."""

import bz2
import gzip
import json
import lzma
import re
from collections.abc import Callable
from pathlib import Path

import pyoxigraph
import pytest
import yaml

import citeforge as cf
from citeforge.kg.domain import load_domain
from citeforge.kg.engines import BASE, MALFORMED, StoreEngine
from citeforge.kg.graph import KnowledgeGraph, open_graph
from citeforge.kg.link import Linker
from citeforge.kg.snapshot import write_snapshot
from citeforge.kg.values import render_date
from conftest import EXAMPLES, ROOT, Inline, refused

GRAPH = EXAMPLES / "people" / "graph.ttl"
HEAD = """\
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix p: <http://www.wikidata.org/prop/> .
@prefix psv: <http://www.wikidata.org/prop/statement/value/> .
@prefix b: <http://wikiba.se/ontology#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
@prefix owl: <http://www.w3.org/2002/07/owl#> .
@prefix xsd: <http://www.w3.org/2001/XMLSchema#> .
@prefix geo: <http://www.opengis.net/ont/geosparql#> .
wd:P31 r:label "instance of"@en ; b:directClaim wdt:P31 .
wd:P1 r:label "height"@en ; b:directClaim wdt:P1 ; b:claim p:P1 ; b:statementValue psv:P1 .
wd:P2 r:label "friend"@en ; b:directClaim wdt:P2 .
wd:P3 r:label "date of death"@en ; b:directClaim wdt:P3 .
wd:Q5 r:label "human"@en .
"""


def graph(tmp_path: Path, body: str, *languages: str) -> KnowledgeGraph:
    (tmp_path / "g.ttl").write_text(HEAD + body)
    return open_graph(f"file:{tmp_path / 'g.ttl'}", "people", languages, cf.RunOptions())


def facts(kg: KnowledgeGraph, qid: str) -> list[tuple[str, str, str]]:
    triples = kg.subgraphs([qid])[qid].triples
    return [(t.relation, t.value, t.value_id) for t in triples if t.relation != "instance of"]


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz", ".GZ", ""])
@pytest.mark.parametrize("name", ["g.ttl", "g.TTL", "g.turtle", "g.n3", "g.trig"])
def test_every_ending_and_compression(tmp_path: Path, name: str, ending: str) -> None:
    data = GRAPH.read_bytes()
    pack: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".bz2": bz2.compress,
        ".xz": lzma.compress,
    }
    path = tmp_path / f"{name}{ending}"
    path.write_bytes(pack[ending.lower()](data) if ending else b"\xef\xbb\xbf" + data)
    kg = KnowledgeGraph(StoreEngine(path), load_domain("people"))
    assert kg.subgraphs(["Q901"])["Q901"].name == "Marie Curie"


def test_named_graphs_are_one_graph(tmp_path: Path) -> None:
    quads = "<http://x/a> <http://x/p> <http://x/b> <http://x/g1> .\n" * 2
    quads += "<http://x/a> <http://x/p> <http://x/b> <http://x/g2> .\n"
    (tmp_path / "g.nq").write_text(quads + "<http://x/a> <http://x/p> <http://x/c> .\n")
    rows = StoreEngine(tmp_path / "g.nq").select("SELECT ?o WHERE { ?s ?p ?o }")
    assert sorted(row["o"].value for row in rows) == ["http://x/b", "http://x/c"]


PLACE = "http://www.wikidata.org/"


@pytest.mark.parametrize("part", ["", "entity/", "prop/direct/", "entity/Q901"])
def test_iris_with_another_scheme_are_those_of_the_domain(tmp_path: Path, part: str) -> None:
    """All of them, those of one sort, or one: a file put together from two sources."""
    text = GRAPH.read_text().replace("wd:Q901 ", f"<{PLACE}entity/Q901> ")
    title = f"https://www.wikidata.org/{part} is no IRI"
    literal = f'wd:Q901 skos:altLabel "{title}"@en .\n'
    swapped = text.replace(PLACE + part, f"https://www.wikidata.org/{part}")
    (tmp_path / "g.ttl").write_text(swapped + literal)
    (tmp_path / "own.ttl").write_text(text + literal)
    kg, own = (
        open_graph(f"file:{tmp_path / name}", "people", ("en",), cf.RunOptions())
        for name in ("g.ttl", "own.ttl")
    )
    people = [f"Q9{n:02d}" for n in range(1, 12)]
    assert kg.subgraphs(people) == own.subgraphs(people)
    assert kg.labels_of_class() == own.labels_of_class()
    assert title in kg.labels_of_class()
    counted = {
        name: n for name, n in kg.counts.items() if name.startswith("iris_of_another_scheme")
    }
    assert len(counted) == (2 if not part else 1) and all(counted.values())
    assert not any(name.startswith("iris_of_another_scheme") for name in own.counts)


def test_a_domain_with_https_reads_a_graph_with_http() -> None:
    fields = yaml.safe_load((ROOT / "src/citeforge/kg/data/people.yaml").read_text())
    secure = {f"{name}_iri": f"https://www.wikidata.org/{rest}/"
              for name, rest in (("entity", "entity"), ("direct", "prop/direct"))}  # fmt: skip
    kg = open_graph(f"file:{GRAPH}", fields | secure, ("en",), cf.RunOptions())
    own = open_graph(f"file:{GRAPH}", "people", ("en",), cf.RunOptions())
    assert kg.subgraphs(["Q901"]) == own.subgraphs(["Q901"])


def test_a_graph_of_another_place_says_what_the_domain_needs(tmp_path: Path) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(GRAPH.read_text().replace(PLACE, "https://base.example/"))
    with refused("unknown-id", path=path) as caught:
        open_graph(f"file:{path}", "people", ("en",), cf.RunOptions())
    assert "https://base.example/entity/P101" in str(caught.value)
    assert "entity_iri and direct_iri" in str(caught.value)


RDF_FORMATS = {"g.rdf": "RDF_XML", "g.nt": "N_TRIPLES", "g.trig": "TRIG", "g.nq": "N_QUADS",
               "g.jsonld": "JSON_LD"}  # fmt: skip


@pytest.mark.parametrize("graph_name", ["<http://x/g>", "_:g", ""])
@pytest.mark.parametrize("name", RDF_FORMATS)
def test_every_format_and_named_graph_is_the_same_graph(
    tmp_path: Path, name: str, graph_name: str
) -> None:
    form = getattr(pyoxigraph.RdfFormat, RDF_FORMATS[name])
    prefixes, body = GRAPH.read_text().split("\n\n", 1)
    text = f"{prefixes}\n{graph_name} {{ {body} }}"
    quads = list(pyoxigraph.parse(text, pyoxigraph.RdfFormat.TRIG))
    rows = quads if form.supports_datasets else [quad.triple for quad in quads]
    pyoxigraph.serialize(rows, str(tmp_path / name), form)
    kg, own = (
        KnowledgeGraph(StoreEngine(p), load_domain("people")) for p in (tmp_path / name, GRAPH)
    )
    assert kg.subgraphs(["Q901", "Q906"]) == own.subgraphs(["Q901", "Q906"])


@pytest.mark.parametrize(
    ("name", "text", "advice"),
    [("g.ttl", "", "written as .trig or .nq"), ("g.nq", "# none\n", "or in named graphs"),
     ("g.rdf", '<r:RDF xmlns:r="http://www.w3.org/1999/02/22-rdf-syntax-ns#"/>', ".trig or .nq")],
)  # fmt: skip
def test_a_file_without_triples(tmp_path: Path, name: str, text: str, advice: str) -> None:
    (tmp_path / name).write_text(text)
    with refused("empty-file", path=tmp_path / name) as caught:
        StoreEngine(tmp_path / name).load()
    assert advice in str(caught.value)


LINES = b'<http://x/a> <http://x/p> "1" .\n' * 3
LONG = b"y" * (17 << 20)


@pytest.mark.parametrize("skip", [False, True])
@pytest.mark.parametrize(
    ("name", "data", "line"),
    [
        ("g.nt", LINES + b'<http://x/a> <http://x/p> "' + LONG + b'" .\n' + LINES, 4),
        ("g.nt.gz", LINES + b'<http://x/a> <http://x/p> "' + LONG + b'" .\n', 4),
        ("g.nq", LINES + b"<http://x/" + LONG + b"> <http://x/p> <http://x/b> .\n", 4),
        ("g.ttl", b"\xef\xbb\xbf" + LINES + b'<http://x/a>\n <http://x/p> """'
         + b"yyyyyyy\n" * (17 << 17) + b'""" .', 5),
        ("g.trig", LINES + b"{\n<http://x/a> <http://x/p> '" + LONG + b"' }", 5),
        ("g.jsonld", b'[\n{"@id": "http://x/a",\n"http://x/p": "' + LONG[: 9 << 20] + b'"}]', 3),
    ],
)  # fmt: skip
def test_a_text_above_the_limit_of_the_reader_is_named_by_its_line(
    tmp_path: Path, name: str, data: bytes, line: int, skip: bool
) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(data, 1) if name.endswith(".gz") else data)
    with refused("too-long", path=path, line=line):
        StoreEngine(path, skip).load()


XML = '<rdf:RDF xmlns:rdf="http://www.w3.org/1999/02/22-rdf-syntax-ns#" xmlns:x="http://x/">{}</rdf:RDF>'


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("g.ttl", '<> <http://x/p> "1" . <#me> <http://x/p> <other> .'),
        ("g.rdf", XML.format('<rdf:Description rdf:about="#me"><x:p>1</x:p></rdf:Description>')),
        ("g.owl", XML.format('<rdf:Description rdf:about=""><x:p>1</x:p></rdf:Description>')),
        ("g.jsonld", '{"@id": "#me", "http://x/p": "1"}'),
    ],
)
def test_relative_iris_are_read_below_one_base(tmp_path: Path, name: str, text: str) -> None:
    (tmp_path / name).write_text(text)
    engine = StoreEngine(tmp_path / name)
    subjects = {row["s"].value for row in engine.select("SELECT ?s WHERE { ?s ?p ?o }")}
    assert subjects and all(name.startswith(BASE) for name in subjects)
    if name != "g.jsonld":
        (count,) = engine.counts.values()
        assert count == len(subjects) + (name == "g.ttl")  # <other> is a value


BAD = """\
<http://x/a> <http://x/p> <http://x/b> .
<http://x/a> <http://x/p> <http://x/b c> .
<http://x/a> <http://x/p> <http://x/c> .
nothing of the kind
<http://x/a> <http://x/p> "\\q" .
<http://x/a> <http://x/p> <http://x/d> .
"""


@pytest.mark.parametrize("name", ["g.nt", "g.ttl", "g.nt.gz"])
def test_malformed_statements_are_named_or_left_out_and_counted(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_bytes(gzip.compress(BAD.encode()) if name.endswith(".gz") else BAD.encode())
    with refused("bad-rdf", path=path, line=2) as caught:
        StoreEngine(path).load()
    message = str(caught.value)
    assert "<http://x/b c> ." in message and "--skip-malformed" in message
    engine = StoreEngine(path, skip_malformed=True)
    values = {row["o"].value for row in engine.select("SELECT ?o WHERE { ?s ?p ?o }")}
    assert values >= {"http://x/b", "http://x/c"} and "http://x/b c" not in values
    assert engine.counts[MALFORMED] == 3
    if name != "g.ttl":  # in Turtle a statement ends at a full stop, not at the end of a line
        assert "http://x/d" in values


def test_a_whole_document_cannot_be_read_in_part(tmp_path: Path) -> None:
    path = tmp_path / "g.rdf"
    path.write_text(XML.format("<x:p>"))
    with refused("bad-rdf", path=path) as caught:
        StoreEngine(path, skip_malformed=True).load()
    assert "--skip-malformed" not in str(caught.value)


def test_a_build_counts_what_it_skipped(tmp_path: Path, inline: Inline) -> None:
    broken = GRAPH.read_text() + "wd:Q901 wdt:P26 <http://x/a b> .\n"
    (tmp_path / "g.ttl").write_text(broken)
    ask = ("build", "kalma", "--kg", "file:g.ttl", "--pairs-from-kg", "spouse", "--out", "k")
    assert inline(*ask).code == "bad-rdf"
    done = inline.ok(*ask, "--skip-malformed")
    said = "malformed statements of the file, left out"
    assert re.search(f"{said} +1\n", done.stdout)
    manifest = json.loads((tmp_path / "k" / "manifest.json").read_text())
    assert manifest["config"]["skip_malformed"] is True
    assert manifest["counts"][MALFORMED] == 1
    profile = inline("kg", "profile", "--kg", "file:g.ttl", "--skip-malformed")
    assert "1 malformed statement of the file, left out" in profile.stdout
    words = ("kg", "profile", "--kg", "sparql:http://127.0.0.1:9/", "--skip-malformed")
    inline.fails(2, "option-without-effect", *words)


@pytest.mark.parametrize("tag", ["@mul", ""])
def test_labels_are_read_in_mul_behind_the_languages_asked_for(tmp_path: Path, tag: str) -> None:
    path = tmp_path / "g.ttl"
    path.write_text(GRAPH.read_text().replace('"Ada Lovelace"@en', f'"Ada Lovelace"{tag}'))
    before = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))
    kg = KnowledgeGraph(StoreEngine(path), load_domain("people"))
    people = [f"Q9{n:02d}" for n in range(1, 12)]
    assert kg.subgraphs(people) == before.subgraphs(people)
    assert kg.find(["Ada Lovelace"]) == before.find(["Ada Lovelace"]) == {"Ada Lovelace": ["Q906"]}
    assert kg.identity()["languages"] == ["en"]
    write_snapshot(kg, ["Q906"], tmp_path / "a.nt")
    write_snapshot(before, ["Q906"], tmp_path / "b.nt")
    assert (tmp_path / "a.nt").read_bytes() == (tmp_path / "b.nt").read_bytes()
    (links,), _ = Linker(kg).link(["Who was the father of Ada Lovelace?"])
    assert [(link.name, link.candidates[0].qid) for link in links] == [("Ada Lovelace", "Q906")]


@pytest.mark.parametrize("others", [(), ("mul",)])
def test_values_without_words_are_known_and_frozen(tmp_path: Path, others: tuple[str, ...]) -> None:
    kg = graph(
        tmp_path,
        'wd:Q1 r:label "Ann Lee"@en ; wdt:P31 wd:Q5 ; wdt:P1 "haut"@fr, "tall"@en ;'
        ' wdt:P2 wd:Q2, wd:Q3 .\nwd:Q2 r:label "Bob Ray"@en . wd:Q3 r:label "ボブ"@ja .',
        "en", *others,
    )  # fmt: skip
    assert facts(kg, "Q1") == [("height", "tall", ""), ("friend", "Bob Ray", "Q2")]
    ann = kg.subgraphs(["Q1"])["Q1"]
    unnamed = [(t.relation, t.value, t.value_id) for t in ann.unnamed]
    assert unnamed == [("height", "", ""), ("friend", "", "Q3")]
    write_snapshot(kg, ["Q1"], tmp_path / "s.nt")
    frozen = open_graph(f"file:{tmp_path / 's.nt'}", "people", ("en",), cf.RunOptions())
    assert frozen.subgraphs(["Q1"])["Q1"] == ann


def test_a_language_asked_for_comes_before_mul(tmp_path: Path) -> None:
    body = 'wd:Q1 r:label "One"@mul, "Eins"@de ; wdt:P31 wd:Q5 ; wdt:P2 "text"@mul .'
    assert graph(tmp_path, body, "de").subgraphs(["Q1"])["Q1"].name == "Eins"
    kg = graph(tmp_path, body, "en")
    assert kg.subgraphs(["Q1"])["Q1"].name == "One"
    assert facts(kg, "Q1") == [("friend", "text", "")]


def test_merged_ids_are_followed(tmp_path: Path) -> None:
    kg = graph(
        tmp_path,
        'wd:Q1 r:label "Ann Lee"@en ; wdt:P31 wd:Q5 ; wdt:P2 wd:Q10 .\n'
        'wd:Q12 r:label "Bob Ray"@en ; wdt:P31 wd:Q5 ; wdt:P2 wd:Q1 .\n'
        "wd:Q10 owl:sameAs wd:Q11 . wd:Q11 owl:sameAs wd:Q12 .\n"
        "wd:Q12 owl:sameAs <http://dbpedia.org/resource/Bob> . wd:Q20 owl:sameAs wd:Q21 .\n",
    )
    assert facts(kg, "Q1") == [("friend", "Bob Ray", "Q12")]
    graphs = kg.subgraphs(["Q10", "Q12", "Q20", "Q99"])
    assert {q: g.qid for q, g in graphs.items()} == {"Q10": "Q12", "Q12": "Q12"}
    assert kg.counts["merged_ids"] == 1
    assert kg.counts["entities_without_statements"] == 2
    write_snapshot(kg, ["Q10", "Q1"], tmp_path / "s.nt")
    frozen = KnowledgeGraph(StoreEngine(tmp_path / "s.nt"), load_domain("people"))
    assert frozen.subgraphs(["Q10"])["Q10"] == kg.subgraphs(["Q10"])["Q10"]


UNITS = """
wd:Q1 r:label "Ann Lee"@en ; wdt:P31 wd:Q5 ; wdt:P1 {values} ; p:P1 wd:s1, wd:s2 .
wd:s1 psv:P1 wd:v1 . wd:v1 b:quantityAmount "+1.68"^^xsd:decimal ; b:quantityUnit wd:Q11573 .
wd:s2 psv:P1 wd:v2 . wd:v2 b:quantityAmount {amount} ; b:quantityUnit {unit} .
wd:Q11573 r:label "metre"@en, "Meter"@de . wd:Q218593 r:label "inch"@en . wd:Q199 r:label "1"@en .
"""


@pytest.mark.parametrize(
    ("values", "amount", "unit", "expected"),
    [
        ('"+1.68"^^xsd:decimal', "66", "wd:Q218593", ["1.68 metres"]),
        ('"+1.68"^^xsd:decimal, 66', "66", "wd:Q218593", ["1.68 metres", "66 inches"]),
        (
            '"+1.68"^^xsd:decimal',
            '"+1.68"^^xsd:decimal',
            "wd:Q218593",
            ["1.68 inches", "1.68 metres"],
        ),
        ("66", "66", "wd:Q199", ["66"]),
        ('"+3"^^xsd:decimal', "66", "wd:Q199", ["3"]),  # no statement says its unit
        ("66", "66", "wd:Q404", []),
    ],
)
def test_quantities_keep_their_unit(
    tmp_path: Path, values: str, amount: str, unit: str, expected: list[str]
) -> None:
    kg = graph(tmp_path, UNITS.format(values=values, amount=amount, unit=unit))
    assert [value for _, value, _ in facts(kg, "Q1")] == expected
    lost = "values_without_a_unit_label"
    assert kg.counts[lost] == (not expected)
    write_snapshot(kg, ["Q1"], tmp_path / "s.nt")
    frozen = KnowledgeGraph(StoreEngine(tmp_path / "s.nt"), load_domain("people"))
    assert frozen.subgraphs(["Q1"]) == kg.subgraphs(["Q1"])


def test_labels_that_name_nothing_are_none(tmp_path: Path) -> None:
    body = (
        'wd:Q1 r:label "Ann Lee"@en ; wdt:P31 wd:Q5 ; wdt:P2 wd:Q2, wd:Q3, wd:Q4, wd:Q6 .'
        'wd:Q2 r:label "Q11606009"@en . wd:Q3 r:label "child, name unknown"@en .'
        'wd:Q4 r:label "Unknown Pleasures"@en . wd:Q6 r:label "Q5"@en .'
    )
    kg = graph(tmp_path, body)
    # The title of a record, and the name of a car, stay.
    assert [value for _, value, _ in facts(kg, "Q1")] == ["Q5", "Unknown Pleasures"]
    assert kg.counts["values_without_a_label"] == 2


@pytest.mark.parametrize("domain", ["people", "films"])
@pytest.mark.parametrize(
    ("label", "names"),
    [
        ("Unknown", "films"), ("No name", "films"), ("Unnamed", "films"),
        ("No Name", "people films"), ("Unnamed Memory", "people films"),
        ("My Name Is Unknown", "people films"), ("The Unknown Person", "people films"),
        ("Unknown Father", "people films"), ("Unnamed Footpath", "people films"),
        ("unknown", ""), ("unnamed", ""), ("no label", ""), ("q11606009", ""), ("P1234", ""),
        ("unknown value", ""), ("Unknown child", ""), ("unnamed daughter of Ann Lee", ""),
        ("name unknown", ""), ("son (name is not known)", ""), ("wife, Name unknown", ""),
    ],
)  # fmt: skip
def test_titles_are_no_placeholders(tmp_path: Path, domain: str, label: str, names: str) -> None:
    (tmp_path / "films.yaml").write_text("name: films\nentity_class: Q11424\ntitles: true\n")
    body = f'wd:Q1 r:label "Ann"@en ; wdt:P2 wd:Q2 . wd:Q2 r:label "{label}"@en .'
    (tmp_path / "g.ttl").write_text(HEAD + body)
    where = str(tmp_path / "films.yaml") if domain == "films" else domain
    kg = open_graph(f"file:{tmp_path / 'g.ttl'}", where, ("en",), cf.RunOptions())
    kept = [value for _, value, _ in facts(kg, "Q1")]
    assert kept == ([label] if domain in names.split() else [])


def test_coordinates_are_left_out_and_counted(tmp_path: Path) -> None:
    body = 'wd:Q1 r:label "Ann"@en ; wdt:P2 "Point(2.35 48.85)"^^geo:wktLiteral, "x" .'
    kg = graph(tmp_path, body)
    assert facts(kg, "Q1") == [("friend", "x", "")]
    assert kg.counts["values_as_coordinates"] == 1


@pytest.mark.parametrize(
    ("lexical", "precision", "expected"),
    [
        ("1990-05-00T00:00:00Z", None, ("1990-05", "month")),
        ("1990-05-00T00:00:00Z", 11, ("1990-05", "month")),
        ("1990-00-00T00:00:00Z", 10, ("1990", "year")),
        ("1990-00-00T00:00:00Z", None, ("1990", "year")),
        ("1990-00-12T00:00:00Z", 11, ("1990", "year")),
        ("1990-00-00T00:00:00Z", 8, ("1990s", "decade")),
        ("-0100-00-00T00:00:00Z", None, ("101 BCE", "year")),
        ("1990-13-01T00:00:00Z", 11, None),
        ("1990-05-32T00:00:00Z", 11, None),
    ],
)
def test_a_month_or_day_00_is_unknown(
    lexical: str, precision: int | None, expected: tuple[str, str] | None
) -> None:
    assert render_date(lexical, precision) == expected


def test_dates_with_00_in_graphs_of_both_models(tmp_path: Path) -> None:
    date = '"1990-05-00T00:00:00Z"^^xsd:dateTime'
    kg = graph(tmp_path, f'wd:Q1 r:label "Ann Lee"@en ; wdt:P3 {date} .')
    (triple,) = kg.subgraphs(["Q1"])["Q1"].triples
    assert (triple.value, triple.precision) == ("1990-05", "month")
    kg = plain(
        tmp_path, f"x:death {date} ; x:birth '1950-00-00'^^xsd:date, '1951-13'^^xsd:gYearMonth"
    )
    assert plain_facts(kg) == [("birth", "1950"), ("death", "1990-05")]
    assert kg.counts["values_as_impossible_dates"] == 1


def plain(tmp_path: Path, statements: str) -> KnowledgeGraph:
    """Graph of one entity, whose every predicate but its name is a relation."""
    head = "@prefix x: <http://x/> .\n" + HEAD.split("wd:P31")[0]
    (tmp_path / "p.ttl").write_text(f'{head}x:ann a x:Person ; r:label "Ann" ; {statements} .\n')
    names = ("birth", "death", "height", "place")
    domain = {
        "name": "mine",
        "model": "plain",
        "plain": {
            "prefixes": {"x": "http://x/", "r": "http://www.w3.org/2000/01/rdf-schema#"},
            "classes": ["x:Person"],
            "labels": ["r:label"],
            "relations": {f"x:{name}": {"label": name} for name in names},
        },
    }
    return open_graph(f"file:{tmp_path / 'p.ttl'}", domain, ("en",), cf.RunOptions())


def plain_facts(kg: KnowledgeGraph) -> list[tuple[str, str]]:
    (found,) = kg.subgraphs(["Q1"]).values()
    return [(t.relation, t.value) for t in found.triples if t.relation != "instance of"]


def test_units_and_coordinates_of_plain_rdf(tmp_path: Path) -> None:
    metre, dollar = "<http://dbpedia.org/datatype/metre>", "<http://dbpedia.org/datatype/usDollar>"
    kg = plain(
        tmp_path,
        f"x:height '1.68'^^{metre}, '3'^^{dollar}, 4, 'x'^^{metre} ; "
        "x:place 'Point(1 2)'^^geo:wktLiteral",
    )
    values = [
        ("height", "1.68 metres"),
        ("height", "3 us dollars"),
        ("height", "4"),
        ("height", "x"),
    ]
    assert plain_facts(kg) == values
    assert kg.counts["values_as_coordinates"] == 1


def test_relations_that_lead_to_another_class_say_so(tmp_path: Path, inline: Inline) -> None:
    text = (
        GRAPH.read_text() + 'wd:Q1008 wdt:P31 wd:Q3918 .\nwd:Q3918 rdfs:label "university"@en .\n'
    )
    (tmp_path / "g.ttl").write_text(text)
    ask = ("build", "kalma", "--kg", "file:g.ttl", "--out", "k", "--pairs-from-kg")
    one = inline.fails(1, "no-pairs", *ask, "employer")
    assert "'employer', its values are: " in one.stderr and "university" in one.stderr
    both = inline.ok(*ask, "employer,spouse")
    assert "relations without a pair: 'employer', its values are: " in both.stdout


def test_a_profile_of_unmapped_rdf_lists_its_predicates(tmp_path: Path, inline: Inline) -> None:
    path = EXAMPLES / "plain" / "people.ttl"
    told = inline.ok("kg", "profile", "--kg", f"file:{path}", "--out", "mine.yaml")
    assert "classes: http://xmlns.com/foaf/0.1/Person 5, https://schema.org/Person 2" in told.stdout
    rows = [line.split() for line in told.stdout.splitlines()]
    assert ["https://schema.org/spouse", "4", "4", "4", "entity"] in [row[:5] for row in rows]
    assert ["https://schema.org/birthDate", "3", "3", "3", "text", "1788"] in rows
    domain = yaml.safe_load((tmp_path / "mine.yaml").read_text())
    relations = domain["plain"]["relations"]
    assert relations["https://schema.org/birthPlace"]["label"] == "place of birth"
    inline.ok("build", "kalma", "--kg", f"file:{path}", "--domain", "mine.yaml",
                  "--pairs-from-kg", "spouse", "--min-facts", "1", "--out", "k")  # fmt: skip
