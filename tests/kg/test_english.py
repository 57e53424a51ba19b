"""English words for labels of a graph."""

import pytest

from citeforge.kg.domain import load_domain
from citeforge.kg.english import with_article, with_unit
from citeforge.schemas.kg import Triple

PEOPLE = load_domain("people")


@pytest.mark.parametrize(
    ("number", "unit", "expected"),
    [
        ("92", "minute", "92 minutes"),
        ("1", "metre", "1 metre"),
        ("115000000", "United States dollar", "115000000 United States dollars"),
        ("1.5", "metre per second", "1.5 metres per second"),
        ("20", "degree Celsius", "20 degrees Celsius"),
        ("2", "century", "2 centuries"),
        ("5", "foot", "5 feet"),
        ("7", "gigahertz", "7 gigahertz"),
        ("3", "km", "3 km"),
        ("3", "US dollar", "3 US dollars"),
        ("about 3", "metre", "about 3 metre"),
        ("5", "metre above sea level", "5 metres above sea level"),
        ("9.8", "metre per second squared", "9.8 metres per second squared"),
        ("4", "metre squared", "4 metres squared"),
        ("5", "per mille", "5 per mille"),
        ("5", "per cent", "5 per cent"),
        ("5", "cent", "5 cents"),
        ("5", "light-year", "5 light-years"),
        ("2", "acre-foot", "2 acre-feet"),
        ("2", "kW-h", "2 kW-h"),
        ("2", "pound-force", "2 pounds-force"),
        ("150", "horsepower", "150 horsepower"),
    ],
)
def test_units_are_in_the_plural(number: str, unit: str, expected: str) -> None:
    assert with_unit(number, unit) == expected


def test_names_have_articles_where_english_has_them() -> None:
    for name, text in {
        "Greek War of Independence": "the Greek War of Independence",
        "University of Paris": "the University of Paris",
        "Nobel Prize in Physics": "the Nobel Prize in Physics",
        "Radical Party": "the Radical Party",
        "Foundation and Empire": "Foundation and Empire",
        "Harry Potter and the Order of the Phoenix": "Harry Potter and the Order of the Phoenix",
        "Order of Saint Michael and Saint George": "the Order of Saint Michael and Saint George",
        "United States of America": "the United States of America",
        "Twentieth Dynasty of Egypt": "Twentieth Dynasty of Egypt",
        "Harvard University": "Harvard University",
        "World War II": "World War II",
        "Charlotte Church": "Charlotte Church",
        "Commentaries on the Gallic War": "Commentaries on the Gallic War",
        "The Great War": "The Great War",
        "Paris": "Paris",
    }.items():
        assert with_article(name) == text
    # Works have names of wars and parties as titles, and hardly any of prizes and states.
    films = PEOPLE.model_copy(update={"titles": True})
    for domain in (films, PEOPLE.model_copy(update={"others": (films,)})):
        for value, text in {
            "Star Wars": "Star Wars",
            "House of Cards": "House of Cards",
            "United Kingdom": "the United Kingdom",
            "Academy Award for Best Picture": "the Academy Award for Best Picture",
        }.items():
            made = domain.verbalise(Triple("Q1", "Return of the Jedi", "P155", "follows", value))
            assert made == f"Return of the Jedi's follows is {text}."
        work = Triple("Q2", "Star Wars", "P136", "genre", "space opera")
        assert domain.verbalise(work) == "Star Wars's genre is space opera."
    war = Triple("Q1", "Lord Byron", "P607", "conflict", "Greek War of Independence", "Q9")
    assert PEOPLE.verbalise(war) == "Lord Byron's conflict is the Greek War of Independence."
