"""`kg profile`: what a graph says of a class, and the draft of a domain."""

from pathlib import Path

import pytest

from citeforge.kg.domain import load_domain
from citeforge.kg.drafts import DraftRelation, ValueSort, plural
from citeforge.kg.english import guess_label_form
from citeforge.kg.graph import open_graph
from citeforge.kg.profile import profile_class, profile_plain
from citeforge.package.package import Package
from citeforge.schemas.recipes.base import RunOptions
from conftest import EXAMPLES, Inline

GRAPH = EXAMPLES / "people" / "graph.ttl"
BRIDGES = """
@prefix wd: <http://www.wikidata.org/entity/> .
@prefix wdt: <http://www.wikidata.org/prop/direct/> .
@prefix b: <http://wikiba.se/ontology#> .
@prefix r: <http://www.w3.org/2000/01/rdf-schema#> .
wd:P31 r:label "instance of"@en ; b:directClaim wdt:P31 .
wd:P1 r:label "replaces"@en, "ersetzt"@de ; b:directClaim wdt:P1 .
wd:P2 r:label "made from"@en ; b:directClaim wdt:P2 .
wd:P3 r:label "span {m}"@en ; b:directClaim wdt:P3 .
wd:Q1 r:label "Old Bridge"@en ; wdt:P31 wd:Q9 ; wdt:P2 wd:Q7, wd:Q8 ; wdt:P3 "21.5" .
wd:Q2 r:label "New Bridge"@en ; wdt:P31 wd:Q9 ; wdt:P1 wd:Q1 ; wdt:P2 wd:Q8 .
wd:Q3 wdt:P31 wd:Q10 ; wdt:P3 "3" .
wd:Q7 r:label "stone"@en . wd:Q8 r:label "granite"@en . wd:Q9 r:label "bridge"@en .
"""
DOMAIN = "name: bridges\nentity_class: Q9\nuninformative: [instance of]\n"


def test_what_a_graph_says_of_a_class(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(BRIDGES)
    (tmp_path / "bridges.yaml").write_text(DOMAIN)
    name, domain = f"file:{tmp_path / 'g.ttl'}", str(tmp_path / "bridges.yaml")
    result = profile_class(open_graph(name, domain, ("en",), RunOptions()))
    assert result.entities == 2
    assert result.classes == [("Q9", "bridge", 2), ("Q10", "Q10", 1)]
    assert [(r.label, r.pid, r.entities, r.values, r.example) for r in result.relations] == [
        ("instance of", "P31", 2, 1, "bridge"),
        ("made from", "P2", 2, 2, "granite"),
        ("replaces", "P1", 1, 1, "Old Bridge"),
        ("span {m}", "P3", 1, 1, "21.5"),
    ]
    german = profile_class(open_graph(name, domain, ("de", "en"), RunOptions()))
    assert german.relations[2].label == "ersetzt"


def test_the_draft_is_a_domain_that_builds(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "g.ttl").write_text(BRIDGES)
    (tmp_path / "bridges.yaml").write_text(DOMAIN)
    where = ("--kg", "file:g.ttl", "--domain")
    told = inline.ok("kg", "profile", *where, "bridges.yaml", "--out", "draft.yaml")
    assert "2 entities of Q9; classes: Q9 bridge 2, Q10 Q10 1" in told.stdout
    assert "made from P2 2 2 granite no" in " ".join(told.stdout.split())
    words = load_domain(str(tmp_path / "draft.yaml")).questions
    assert words is not None and set(words.relations) == {"made from", "replaces", "span {m}"}
    again = inline("kg", "profile", *where, "draft.yaml")
    assert "made from P2 2 2 granite yes" in " ".join(again.stdout.split())
    made = inline.ok("build", "kalma", *where, "draft.yaml", "--pairs-from-kg", "replaces",
                  "--min-facts", "1", "--licence", "cc0-1.0", "--out", "k")  # fmt: skip
    assert "warning" not in made.stderr
    (question,) = Package(tmp_path / "k").forms["specific"]["text"].to_pylist()
    assert question == (
        "Who or what were New Bridge and its predecessor Old Bridge each made from, "
        "and what is Old Bridge's span (m)?"
    )


def test_a_class_that_the_domain_does_not_name_goes_into_the_draft(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(BRIDGES)
    kg = open_graph(f"file:{tmp_path / 'g.ttl'}", "people", ("en",), RunOptions())
    result = profile_class(kg)
    assert (result.entity_class, result.entities) == ("Q9", 2)
    (tmp_path / "d.yaml").write_text(result.draft(kg.domain))
    drafted = load_domain(str(tmp_path / "d.yaml"))
    assert (drafted.name, drafted.entity_class, drafted.min_name_parts) == ("bridge", "Q9", 1)
    words = drafted.phrasing
    # Only the class's own relations: no word about people.
    assert set(words.relations) == {"made from", "replaces", "span {m}"}
    assert words.relations["span {m}"].ask == "what {was} {whose} span (m)"
    assert words.relations["replaces"].ask == "what did {who} replace"  # a frequent property
    assert words.links == {"replaces": {"any": "predecessor"}}
    assert (words.opener, words.pronouns) == ("what", {"any": ("it", "its", "it")})


def test_the_draft_of_the_domains_own_class_has_opener_pronouns_and_links(tmp_path: Path) -> None:
    (tmp_path / "g.ttl").write_text(BRIDGES)
    (tmp_path / "bridges.yaml").write_text(DOMAIN)
    more = "questions:\n  opener: who\n  relations: {made from: {ask: 'of what {was} {who}'}}\n"
    (tmp_path / "own.yaml").write_text(DOMAIN + more)
    drafts = {}
    for name in ("bridges", "own"):
        domain = str(tmp_path / f"{name}.yaml")
        kg = open_graph(f"file:{tmp_path / 'g.ttl'}", domain, ("en",), RunOptions())
        (tmp_path / f"{name}-draft.yaml").write_text(profile_class(kg).draft(kg.domain))
        drafts[name] = load_domain(str(tmp_path / f"{name}-draft.yaml")).phrasing
    new, own = drafts["bridges"], drafts["own"]
    assert (new.opener, new.pronouns) == ("what", {"any": ("it", "its", "it")})
    assert new.links == own.links == {"replaces": {"any": "predecessor"}}
    # Words that are there stay.
    assert (own.opener, own.pronouns) == ("who", {})
    assert own.relations["made from"].ask == "of what {was} {who}"


def test_the_class_can_be_chosen(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "g.ttl").write_text(BRIDGES)
    for name in ("Q9", "Bridge"):
        told = inline.ok("kg", "profile", "--kg", "file:g.ttl", "--class", name, "--out", "d.yaml")
        assert "2 entities of Q9" in told.stdout
        assert load_domain(str(tmp_path / "d.yaml")).name == "bridge"
    ran = inline("kg", "profile", "--kg", "file:g.ttl", "--class", "tunnel")
    assert (ran.returncode, ran.code) == (1, "unknown-id") and "Q9 (bridge)" in ran.stderr
    plain = ("--kg", f"file:{EXAMPLES / 'plain' / 'people.ttl'}", "--class")
    ran = inline("kg", "profile", *plain, "Persons")
    assert (ran.returncode, ran.code) == (1, "unknown-id") and "schema.org/City" in ran.stderr
    inline.ok("kg", "profile", *plain, "city", "--out", "city.yaml")
    drafted = load_domain(str(tmp_path / "city.yaml"))
    assert drafted.plain is not None and drafted.plain.classes == ("https://schema.org/City",)


def test_the_choice_of_a_class_is_explained_where_there_are_several(
    tmp_path: Path, inline: Inline
) -> None:
    people = "\n".join(f'wd:Q{n} r:label "P {n}"@en ; wdt:P31 wd:Q5 .' for n in (20, 21, 22))
    (tmp_path / "g.ttl").write_text(f'{BRIDGES}{people}\nwd:Q5 r:label "human"@en .')
    profile = ("kg", "profile", "--kg", "file:g.ttl")
    told = inline.ok(*profile, "--out", "d.yaml").stdout
    assert "3 entities of Q5; classes: Q5 human 3, Q9 bridge 2, Q10 Q10 1" in told
    assert (
        "this is human (Q5), the class of people; for another class, such as bridge (Q9):\n"
        "  --class bridge\n"
    ) in told  # 80 columns
    assert "this is" not in inline.ok(*profile, "--class", "Q5").stdout
    (tmp_path / "g.ttl").write_text(f'{BRIDGES}wd:Q5 r:label "human"@en .')
    told = " ".join(inline.ok(*profile).stdout.split())
    assert "this is bridge (Q9), the largest class; for another class, such as Q10 (Q10):" in told
    plain = inline.ok("kg", "profile", "--kg", f"file:{EXAMPLES / 'plain' / 'people.ttl'}").stdout
    assert "the largest class; for another class" in " ".join(plain.split())
    (tmp_path / "g.ttl").write_text(BRIDGES.replace("wd:Q3 wdt:P31 wd:Q10", "wd:Q3 wdt:P31 wd:Q9"))
    assert "this is" not in inline.ok(*profile).stdout  # the only class


BOOKS = """
@prefix s: <https://schema.org/> .
@prefix e: <https://example.org/> .
@prefix x: <http://www.w3.org/2001/XMLSchema#> .
e:b1 a s:Book ; s:name "Red Mars" ; s:author e:kim ; s:genre "science fiction" ;
    s:datePublished "1992"^^x:gYear ; s:numberOfPages 572 ; s:url "https://example.org/1" .
e:b2 a s:Book ; s:name "Green Mars" ; s:author e:kim ; s:genre "science fiction", "utopia" ;
    s:datePublished "1993"^^x:gYear ; s:numberOfPages 640 ; s:isBasedOn e:b1 .
e:kim a s:Person ; s:name "Kim Stanley Robinson" ; s:birthPlace e:w ; s:gender "male" ;
    s:jobTitle "writer" .
e:w a s:City ; s:name "Waukegan" .
"""


def test_names_of_schema_org_have_words(tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "books.ttl").write_text(BOOKS)
    inline.ok("kg", "profile", "--kg", "file:books.ttl", "--out", "books.yaml")
    drafted = load_domain(str(tmp_path / "books.yaml"))
    words = drafted.phrasing
    asks = {relation: (p.theme, p.ask) for relation, p in words.relations.items()}
    assert asks == {
        "author": ("making", "who wrote {whom}"),
        "genre": ("sort", "of which genre {was} {who}"),
        "number of pages": ("size", "how many pages {did} {who} have"),
        "publication date": ("publishing", "when {past} {who} released"),
        "based on": ("story", "on what {was} {who} based"),
    }
    assert (words.opener, words.links["based on"]) == ("what", {"any": "model"})
    assert drafted.plain is not None and "https://schema.org/url" not in drafted.plain.relations
    inline.ok("build", "kalma", "--kg", "file:books.ttl", "--domain", "books.yaml",
              "--pairs-from-kg", "based on", "--licence", "cc0-1.0", "--out", "k")  # fmt: skip
    (question,) = Package(tmp_path / "k").forms["specific"]["text"].to_pylist()
    assert question == (
        "When were Green Mars and its model Red Mars each released, and what are Green Mars' "
        "genres?"
    )
    # People have the words of the built-in domain.
    inline.ok("kg", "profile", "--kg", "file:books.ttl", "--class", "Person", "--out", "p.yaml")
    people = load_domain(str(tmp_path / "p.yaml"))
    assert people.phrasing.relations["place of birth"].ask == "where {past} {who} born"
    assert people.phrasing.relations["occupation"].theme == "career"
    assert (people.phrasing.opener, people.phrasing.sex) == ("who", "sex or gender")
    assert people.uninformative == ("sex or gender", "instance of")


def test_a_class_without_an_iri_is_left_out(tmp_path: Path, inline: Inline) -> None:
    """Two entities are of a blank node, one each of two classes: of these the first counts."""
    (tmp_path / "g.ttl").write_text("""
@prefix e: <http://e.org/> .
e:a a _:union, e:Mill ; e:height 3 .
e:b a _:union, e:Ferry ; e:length 9 .
""")
    graph = open_graph(f"file:{tmp_path / 'g.ttl'}", "people", ("en",), RunOptions())
    listing = profile_plain(graph)
    assert listing.classes == [("http://e.org/Ferry", 1), ("http://e.org/Mill", 1)]
    assert listing.entity_class == "http://e.org/Ferry"
    assert "http://e.org/length" in listing.own and "http://e.org/height" not in listing.own
    told = inline.ok("kg", "profile", "--kg", "file:g.ttl", "--out", "draft.yaml")
    assert "classes: http://e.org/Ferry 1, http://e.org/Mill 1\n" in told.stdout
    plain = load_domain(str(tmp_path / "draft.yaml")).plain
    assert plain is not None and plain.classes == ("http://e.org/Ferry",)
    named = inline.fails(1, "unknown-id", "kg", "profile", "--kg", "file:g.ttl", "--class", "Ship")
    assert "the largest: http://e.org/Ferry (ferry), http://e.org/Mill (mill)" in named.stderr


def test_an_unknown_class_of_wikidata_is_left_out(tmp_path: Path) -> None:
    body = "wd:Q1 wdt:P31 _:some . wd:Q2 wdt:P31 _:some . wd:Q3 wdt:P31 wd:Q11 ; wdt:P3 9 .\n"
    (tmp_path / "g.ttl").write_text(BRIDGES.partition("wd:Q1 ")[0] + body)
    result = profile_class(open_graph(f"file:{tmp_path / 'g.ttl'}", "people", (), RunOptions()))
    assert (result.entity_class, result.classes) == ("Q11", [("Q11", "Q11", 1)])


@pytest.mark.parametrize(
    ("label", "sort", "ask", "many", "noun"),
    [
        ("coach", "person", "who {was} {whose} coach", "who {were} {whose} coaches", "coach"),
        ("has branch", "thing", "what {was} {whose} branch", "what {were} {whose} branches",
         "branch"),
        ("gauge {mm}", "number", "what {was} {whose} gauge (mm)", "what {were} {whose} gauge (mm)s",
         "gauge {mm}"),
        ("ally of", "own", "who or what {was} {who} an ally of", None, "ally"),
        ("moored at", "place", "who or what {past} {who} moored at", None, None),
    ],
)  # fmt: skip
def test_relations_that_no_list_has_are_asked_for_by_label_and_values(
    label: str, sort: ValueSort, ask: str, many: str | None, noun: str | None
) -> None:
    relation = DraftRelation("P99999", label, guess_label_form(label), sort)
    assert (relation.phrase.ask, relation.phrase.many, relation.noun) == (ask, many, noun)
    assert relation.phrase.theme


def test_plurals() -> None:
    labels = "city, day, bus, box, church, dish, head of state, member of parliament, cast member"
    assert ", ".join(map(plural, labels.split(", "))) == (
        "cities, days, buses, boxes, churches, dishes, heads of state, members of parliament, "
        "cast members"
    )


def test_plain_rdf_is_named_as_such(inline: Inline) -> None:
    for domain, model in (
        ((), "plain"),
        (("--domain", EXAMPLES / "plain" / "friends.yaml"), "plain"),
    ):
        told = inline("kg", "profile", "--kg", f"file:{EXAMPLES / 'plain' / 'people.ttl'}", *domain)
        assert told.stdout.startswith(f"model: {model}"), told.stderr
    assert inline("kg", "profile", "--kg", f"file:{GRAPH}").stdout.startswith("model: wikidata")


def test_people_keep_their_words(tmp_path: Path) -> None:
    kg = open_graph(f"file:{GRAPH}", "people", ("en",), RunOptions())
    result = profile_class(kg)
    (tmp_path / "d.yaml").write_text(result.draft(kg.domain))
    again = load_domain(str(tmp_path / "d.yaml"))
    assert kg.domain.questions is not None and again.questions is not None
    assert again.questions.relations.items() >= kg.domain.questions.relations.items()
    assert again.questions.themes.items() >= kg.domain.questions.themes.items()


@pytest.mark.parametrize(
    ("ids", "out", "exit_code", "code", "line"),
    [
        ("Q1\n", "g.ttl", 2, "bad-option", None),
        ("# none\n", "g.nt", 1, "empty-file", None),
        ("Q1\nQ 2>\n", "g.nt", 1, "wrong-value", 2),
    ],
)
def test_snapshots_that_cannot_be_taken(
    tmp_path: Path, inline: Inline, ids: str, out: str, exit_code: int, code: str, line: int | None
) -> None:
    (tmp_path / "ids.txt").write_text(ids)
    ran = inline("kg", "snapshot", "--kg", f"file:{GRAPH}", "--entities", "ids.txt", "--out", out)
    assert (ran.returncode, ran.code, getattr(ran.error, "line", None)) == (exit_code, code, line)
