"""Sub-graphs, names, dates, snapshots and linking on a hand-written graph."""

import errno
import gzip
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.kg.domain import Domain, load_domain
from citeforge.kg.endpoint import TooLongError
from citeforge.kg.engines import StoreEngine, make_engine
from citeforge.kg.graph import KnowledgeGraph
from citeforge.kg.link import Linker, linking_quality
from citeforge.kg.snapshot import write_snapshot
from citeforge.kg.values import Row, iri, lexical_date, literal, query, render_date
from citeforge.schemas.kg import Triple
from conftest import EXAMPLES, Inline, refused

GRAPH = EXAMPLES / "people" / "graph.ttl"
PEOPLE = [f"Q9{n:02d}" for n in range(1, 12)]


@pytest.fixture(scope="module")
def kg() -> KnowledgeGraph:
    return KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"))


def facts(kg: KnowledgeGraph, qid: str) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for triple in kg.subgraphs([qid])[qid].triples:
        result.setdefault(triple.relation, []).append(triple.value)
    return result


def test_every_value_is_kept_and_ids_addresses_media_are_not(kg: KnowledgeGraph) -> None:
    marie = facts(kg, "Q901")
    assert marie["award received"] == ["Nobel Prize in Chemistry", "Nobel Prize in Physics"]
    assert sorted(marie["child"]) == ["Irène Joliot-Curie", "Ève Curie"]
    assert marie["languages spoken, written or signed"] == ["French", "Polish"]
    assert not {"VIAF ID", "official website", "image"} & set(marie)
    assert "birth name" not in marie  # Polish text, and English was asked for
    polish = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"), ("en", "pl"))
    assert facts(polish, "Q901")["birth name"] == ["Maria Salomea Skłodowska"]


def test_dates_keep_their_precision(kg: KnowledgeGraph) -> None:
    graphs = kg.subgraphs(PEOPLE)
    dates = {
        (q, t.relation): (t.value, t.precision)
        for q, g in graphs.items()
        for t in g.triples
        if t.precision
    }
    assert dates["Q901", "date of birth"] == ("1867-11-07", "day")
    assert dates["Q909", "date of birth"] == ("1872-01", "month")
    assert dates["Q909", "date of death"] == ("1946", "year")
    assert dates["Q910", "date of birth"] == ("1950s", "decade")
    assert dates["Q908", "date of death"] == ("44-03-15 BCE", "day")
    assert dates["Q911", "date of birth"] == ("76 BCE", "year")


@pytest.mark.parametrize(
    ("lexical", "precision", "expected"),
    [
        ("1871-11-01T00:00:00Z", 11, ("1871-11-01", "day")),
        ("1871-11-01T00:00:00Z", None, ("1871-11-01", "unknown")),
        ("0154-01-01T00:00:00Z", None, ("0154", "year")),
        ("-0043-01-01T00:00:00Z", None, ("44 BCE", "year")),
        ("1815-01-01T00:00:00Z", 11, ("1815-01-01", "day")),
        ("1815-01-01T09:30:00Z", None, ("1815-01-01", "unknown")),
        ("0476-01-01T00:00:00Z", 9, ("0476", "year")),
        ("0000-01-01T00:00:00Z", 9, ("1 BCE", "year")),
        ("-0001-01-01T00:00:00Z", 9, ("2 BCE", "year")),
        ("1801-01-01T00:00:00Z", 7, ("19th century", "century")),
        ("1800-01-01T00:00:00Z", 7, ("18th century", "century")),
        ("-0299-01-01T00:00:00Z", 7, ("3rd century BCE", "century")),
        ("2001-01-01T00:00:00Z", 6, ("3rd millennium", "millennium")),
        ("d41d8cd9T00:00:00Z", 9, None),
    ],
)
def test_dates_by_hand(
    lexical: str, precision: int | None, expected: tuple[str, str] | None
) -> None:
    assert render_date(lexical, precision) == expected


@given(
    st.integers(-3000, 2100),
    st.integers(1, 12),
    st.integers(1, 28),
    st.sampled_from([11, 10, 9, 8, 7, 6, None]),
)
def test_a_rendered_date_can_be_written_again(
    year: int, month: int, day: int, precision: int | None
) -> None:
    sign = "-" if year < 0 else ""
    lexical = f"{sign}{abs(year):04d}-{month:02d}-{day:02d}T00:00:00Z"
    rendered = render_date(lexical, precision)
    assert rendered is not None
    again = render_date(lexical_date(*rendered), precision)
    assert again == rendered


HOSTILE = [
    "O'Connor",
    'a "quoted" name',
    "back\\slash",
    "new\nline",
    "Ünïcödé 名前",
    '"} ?s ?p ?o . FILTER("',
    'x"@en } UNION { ?entity ?p ?o } #',
    "{{names}} {{class}}",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_find_nothing_and_break_nothing(kg: KnowledgeGraph, name: str) -> None:
    assert kg.find([name, "Marie Curie"]) == {name: [], "Marie Curie": ["Q901"]}


@given(st.text())
@example("\x00\x07\u2028")
def test_any_text_is_one_literal(text: str) -> None:
    import pyoxigraph

    rows = list(pyoxigraph.Store().query(f"SELECT ({literal(text)} AS ?x) WHERE {{}}"))
    expected = text.encode("utf-8", "replace").decode()
    assert [r["x"].value for r in rows] == [expected]


def test_an_id_that_is_none_is_refused(kg: KnowledgeGraph) -> None:
    with refused("bad-option", field="entity"):
        kg.subgraphs(["Q1> ?p ?o . } #"])
    with refused("bad-option", field="entity"):
        iri("")
    with refused("bad-option", field="language"):
        KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"), ('en") } #',))


def test_languages_fall_back_in_the_order_asked_for() -> None:
    french = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"), ("fr", "en"))
    graphs = french.subgraphs(["Q908", "Q901"])
    assert graphs["Q908"].name == "Jules César"
    assert graphs["Q901"].name == "Marie Curie"
    german = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"), ("de", "en"))
    assert "Ehepartner" in facts(german, "Q901")
    only = KnowledgeGraph(StoreEngine(GRAPH), load_domain("people"), ("fr",))
    assert list(only.subgraphs(PEOPLE)) == ["Q908"]
    assert only.counts["entities_without_a_label_in_the_languages"] == 10


def test_a_snapshot_gives_the_same_graph(kg: KnowledgeGraph, tmp_path: Path) -> None:
    out = tmp_path / "snap.nt.gz"
    n_entities, n_lines = write_snapshot(kg, PEOPLE, out)
    assert n_entities == 11
    assert len(gzip.decompress(out.read_bytes()).splitlines()) == n_lines
    frozen = KnowledgeGraph(StoreEngine(out), load_domain("people"))
    assert frozen.subgraphs(PEOPLE) == kg.subgraphs(PEOPLE)
    assert frozen.find(["Madame Curie", "Paul Langevin"]) == kg.find(
        ["Madame Curie", "Paul Langevin"]
    )
    assert frozen.statements(["P26", "P22"]) == kg.statements(["P26", "P22"])
    write_snapshot(kg, PEOPLE, tmp_path / "again.nt.gz")
    assert (tmp_path / "again.nt.gz").read_bytes() == out.read_bytes()


def test_namesakes_are_ranked_by_what_the_question_names(kg: KnowledgeGraph) -> None:
    questions = [
        "Where did Paul Langevin, the physicist, study under Pierre Curie?",
        "Which sport did Paul Langevin play for Canada, was it ice hockey?",
        "Who was Nobody Known?",
    ]
    links, _ = Linker(kg).link(questions)
    assert [x.name for x in links[0]] == ["Paul Langevin", "Pierre Curie"]
    assert [c.qid for c in links[0][0].candidates] == ["Q909", "Q910"]
    assert [c.qid for c in links[1][0].candidates] == ["Q910", "Q909"]
    assert links[1][0].candidates[0].matches == 2  # Canada, ice hockey
    assert links[2] == []
    # One of three linked entities is not expected, one expected entity is not linked.
    result = linking_quality(links, [{"Q909"}, {"Q910"}, {"Q901"}])
    assert (result.recall, result.precision) == (2 / 3, 2 / 3)


def test_forms_of_relations() -> None:
    domain = Domain(name="x", entity_class="Q1")
    assert domain.label_form("place of birth") == "noun"
    assert domain.label_form("member of") == "role"
    assert domain.label_form("educated at") == "participle"
    triple = Triple("Q1", "Ada", "P69", "educated at", "home")
    assert domain.verbalise(triple) == "Ada was educated at home."
    ours = Domain(name="x", entity_class="Q1", forms={"educated at": "active"})
    assert ours.verbalise(triple) == "Ada educated at home."


BAD_GRAPHS = [
    ("x.nt", "<a> <b> .\n", "bad-rdf", 1),
    ("x.ttl", "", "empty-file", None),
    ("x.csv", "a,b", "unsupported", None),
    ("x.rdf", "<a/>", "bad-rdf", None),
    ("x.nt.gz", "not gzip", "bad-rdf", 1),
]


@pytest.mark.parametrize(("name", "text", "code", "line"), BAD_GRAPHS)
def test_bad_graph_files_are_refused(
    tmp_path: Path, name: str, text: str, code: str, line: int | None
) -> None:
    path = tmp_path / name
    path.write_text(text)
    with refused(code, path=path, line=line):
        StoreEngine(path).load()


def test_a_graph_without_a_scheme_is_refused() -> None:
    with refused("unknown-name", cf.UsageError) as caught:
        make_engine("wikidata", cf.RunOptions())
    assert "expected file:PATH" in str(caught.value)


def test_commands(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "ids.txt").write_text("Q901\nQ902  # Pierre\n\nQ4242\n")
    result = inline.ok(
        *("kg", "snapshot", "--kg", f"file:{GRAPH}", "--entities", "ids.txt", "--out", "s.nt.gz")
    )
    assert "2 of 3 entities" in result.stdout
    (tmp_path / "q.jsonl").write_text('{"_id": "1", "text": "Who was Marie Curie?"}\n')
    result = inline.ok(
        *("kg", "link", "--kg", "file:s.nt.gz", "--questions", "q.jsonl", "--out", "links.jsonl")
    )
    assert "1 names, 1 linked" in result.stdout
    inline.fails(1, "missing-file", "kg", "link", "--kg", "file:no.nt", "--questions", "q.jsonl")


class Lossy(StoreEngine):
    """The embedded engine, whose replies lack one row."""

    lost: int | None = None

    def select(self, query: str) -> list[Row]:
        rows = sorted(super().select(query), key=repr)
        if self.lost is not None and len(rows) > 1:
            del rows[self.lost]
        return rows


def test_no_row_can_be_lost_unnoticed() -> None:
    engine = Lossy(GRAPH)
    kg = KnowledgeGraph(engine, load_domain("people"), ("en", "pl"))
    people = ["Q901", "Q909", "Q911"]
    entities = kg._entities(people)
    rows = engine.select(query("subgraphs", entities=entities, languages=kg._languages))
    assert len(rows) > 30
    for lost in range(len(rows)):
        engine.lost = lost
        with pytest.raises(TooLongError, match=r"the reply has [0-9,]+ rows of Q[0-9]+ and"):
            kg._query_subgraphs(people)


KILLED = """
import os, signal, sys
os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
from citeforge.cli.main import main
sys.argv = ["citeforge", *sys.argv[1:]]
main()
"""


@pytest.mark.slow
def test_a_killed_snapshot_leaves_nothing_behind(inline: Inline, tmp_path: Path) -> None:
    """The file is not there until it is whole; what a killed run left goes with the next."""
    (tmp_path / "ids.txt").write_text("Q901\nQ902\n")
    (tmp_path / "out").mkdir()
    graph = f"file:{EXAMPLES / 'people' / 'graph.ttl'}"
    args = ["kg", "snapshot", "--kg", graph, "--entities", "ids.txt", "--out", "out/s.nt.gz"]
    killed = subprocess.run([sys.executable, "-c", KILLED, *args], cwd=tmp_path, check=False)
    assert killed.returncode == -signal.SIGKILL
    assert not (tmp_path / "out" / "s.nt.gz").exists()
    assert list((tmp_path / "out").iterdir())  # it was killed in the midst of it
    inline.ok(*args)
    assert [p.name for p in (tmp_path / "out").iterdir()] == ["s.nt.gz"]


def test_a_snapshot_on_a_full_disk_leaves_nothing_behind(
    kg: KnowledgeGraph, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(_: int) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises((OSError, cf.InputError)):
        write_snapshot(kg, ["Q901"], tmp_path / "s.nt.gz")
    assert not list(tmp_path.iterdir())


def test_a_damaged_gzip_graph(tmp_path: Path) -> None:
    path = tmp_path / "x.nt.gz"
    whole = gzip.compress(b'<urn:a> <urn:b> "c" .\n' * 50)
    for data in (whole[:-9], whole[:30], whole[:20] + b"\xff" * 9 + whole[29:]):
        path.write_bytes(data)
        with refused("bad-archive", path=path):
            StoreEngine(path).load()


@pytest.mark.parametrize("field", ["entity_class", "instance_of"])
@pytest.mark.parametrize("name", ["", "Q5 - and more", "Q5> . ?s ?p ?o }"])
def test_an_id_of_a_domain_that_is_none_is_refused(tmp_path: Path, field: str, name: str) -> None:
    path = tmp_path / "d.yaml"
    path.write_text(json.dumps({"name": "d", "entity_class": "Q5"} | {field: name}))
    with refused("wrong-value", path=path, line=1, field=field):
        load_domain(str(path))


@pytest.mark.parametrize(
    ("label", "shown"),
    [
        ("\u200eLord Byron\u200e", "Lord Byron"),
        ("\ufeffLord\xad By\xadron \u200f\u200b", "Lord Byron"),
        ("Lord \u2060 Byron", "Lord Byron"),
        ("می\u200cخواهم", "می\u200cخواهم"),
        ("ه\u200d", "ه\u200d"),  # the letter as at the beginning of a word
        ("דג C++\u200e דג", "דג C++\u200e דג"),  # keeps the plus signs behind the C
        ("👩\u200d🚀", "👩\u200d🚀"),
    ],
)
def test_labels_lose_only_marks_that_no_text_needs(tmp_path: Path, label: str, shown: str) -> None:
    text = GRAPH.read_text().replace('"Ada Lovelace"@en', f'"{label}"@en')
    (tmp_path / "g.ttl").write_text(text)
    kg = KnowledgeGraph(StoreEngine(tmp_path / "g.ttl"), load_domain("people"))
    assert kg.subgraphs(["Q906"])["Q906"].name == shown
    counted = "labels_with_hidden_characters"
    assert (kg.counts[counted] > 0) == (label != shown)
