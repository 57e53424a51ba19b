"""Rules of wording on made-up passages, good rewrites of them, and wrong ones."""

from pathlib import Path

import pytest
import yaml

import citeforge as cf
from citeforge.builders.authorship.checks import Checker, SourcePassage
from citeforge.builders.authorship.facts import Entities
from citeforge.builders.authorship.opposites import find_unit_faults
from citeforge.builders.authorship.twins import build_twins
from citeforge.builders.authorship.wording import count_denials
from citeforge.schemas.errors import UsageError
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.twins import Thresholds

# Passages of twenty words are short for the check of length, which is not looked at here.
CHECKER = Checker(Thresholds(length_ratio=(0.5, 2.0)), Entities())


def failed(human: str, twin: str) -> dict[str, str]:
    return CHECKER.check([(SourcePassage("p", "", human), twin)])[0].failed


@pytest.mark.parametrize(
    ("name", "n_good", "good_refused", "n_wrong", "wrong_refused"),
    [
        ("rewrites", 60, 0, 191, 129),  # in view while the rules were written
        ("unseen", 40, 1, 168, 82),  # in view while the rules were cut back
        ("fresh", 20, 2, 58, 37),  # in view while negations were compared by sentence
        ("later", 40, 3, 115, 64),  # in view while names, units and years were mended
        ("subjects", 30, 2, 111, 52),  # of 30 passages of HAGRID; in view like "later"
        ("subjects_last", 12, 3, 56, 31),  # of 12 more; not in view while the rules were mended
    ],
)
def test_wrong_rewrites_refused_and_good_ones(
    name: str, n_good: int, good_refused: int, n_wrong: int, wrong_refused: int
) -> None:
    rows = yaml.safe_load((Path(__file__).parent / f"{name}.yaml").read_text(encoding="utf-8"))
    good = [failed(row["passage"], row["good"]) for row in rows]
    wrong = [
        failed(row["passage"], row["good"].replace(old, new))
        for row in rows
        for _, old, new in row["wrong"]
    ]
    assert (len(good), len(wrong)) == (n_good, n_wrong)
    assert sum(map(bool, good)) <= good_refused
    assert sum(map(bool, wrong)) >= wrong_refused


@pytest.mark.parametrize(
    ("human", "twin", "check"),
    [
        ("The gate is open.", "The gate is not open.", "negation"),
        ("Frost is not uncommon there.", "There frost is common.", ""),
        ("Frost is not uncommon there.", "There frost is uncommon.", "negation"),
        ("It lies in the south.", "In the north it lies.", "opposites"),
        ("He did not survive.", "He died.", ""),
        ("It was not complete until the end.", "It was complete only at the end.", ""),
        ("The fort was closed.", "The fort could not be visited.", ""),
        ("It ruled for 40 years.", "It ruled for four decades.", ""),
        ("She sold American art.", "She sold art from America.", ""),
        ("She sold American art.", "She sold art from Austria.", "entities"),
        ("Anna is older than Boris.", "Boris is younger than Anna.", ""),
        ("Anna is older than Boris.", "Boris is older than Anna.", "names opposites"),
        ("The shop did not open.", "The shop stayed closed.", ""),
        ("It was sold, and it was not used.", "It was not sold, and not used.", "negation"),
        ("It stood for a century.", "It stood for a hundred years.", ""),
        (
            "Sold in 1948, it was banned in 1954.",
            "Sold in 1948, six years later it was banned.",
            "",
        ),
        ("Sold in 1948, banned in 1954.", "Banned in 1954, six years after 1948.", ""),
        ("Lind was a Scottish surgeon.", "Lind was a surgeon from Scotland.", ""),
        ("Who reaches 18 may sign.", "At 18 one is allowed to sign.", ""),
        ("It came two weeks earlier.", "It came two weeks before.", ""),
        ("It had some success.", "It was not without success.", ""),
        ("It stands after the old mill.", "Before the old mill it stands.", "opposites"),
        ("The term is 5 years in office.", "In office, the term is 5 months in all.", "units"),
        ("It weighs 5 kilograms.", "Its weight is 5 pounds.", "units"),
        ("Three brothers ran it.", "It was run by four brothers.", "numbers"),
        ("It opened on 2005-02-22.", "On 22 February 2005 it opened.", ""),
        ("It opened on 2005-02-22.", "On 22 March 2005 it opened.", "dates"),
        ("Some 2.4 million came.", "About 2,400,000 people came.", ""),
        ("Some 2.4 million came.", "About 240,000 people came.", "numbers"),
        ("They ran twenty-four shops.", "It was 24 shops that they ran.", ""),
        ("Met in 1986, wed in 1990.", "Met in 1986, wed four years later.", ""),
        ("Met in 1986, wed in 1990.", "Met in 1986, wed five years later.", "numbers"),
        ("Made in 2012, sold in 2013.", "Made in 2012, sold a year later.", ""),
        ("It was 5 per cent of all.", "Of all it was 5%.", ""),
        ("It ruled for eighteen years.", "For 18 months it ruled.", "units"),
        ("Of 10 percent, 10 percent left.", "Of 10 percent, 10 permille are gone.", "units"),
        ("It lay 10 km away.", "It was 10 km from there (6 miles).", "numbers"),
        ("It hit some villages.", "Villages were hit.", "hedges"),
        ("It hit some villages.", "Several villages were hit.", ""),
        ("It was the most liked play.", "That play was liked.", "hedges"),
        ("It was the most liked play.", "People liked no other play as much.", ""),
        ("It was the largest play.", "That play was the most extensive.", ""),
        ("It was for the United States.", "It was for the USA.", ""),
        ("She led the Royal Air Force.", "It was the RAF that she led.", ""),
        ("Then he met Anna Berg.", "It was Berg whom he met.", ""),
        ("Then he met Anna Berg.", "It was Anna Holm whom he met.", "entities"),
        ("He had left by ship.", "From Lisbon he had left by ship.", "entities"),
        ("It shaped Western thought.", "It shaped the thought of the West.", ""),
        ("It shaped Western thought.", "It shaped the thought of the East.", "entities opposites"),
        (
            "Give no drug: Feeding children can do harm.",
            "No drug should be given: it can do children harm to be fed.",
            "",
        ),
        ("Two states won: France and Spain.", "The two states that won are Spain's.", "entities"),
        ("Winds of 90 KPH blew.", "Winds blew at 90 km/h.", ""),
        ("Winds of 90 KPH blew.", "Winds blew at 90 mph.", "units"),
        ("Winds of 90 kilometres per hour blew.", "Winds blew at 90 miles an hour.", "units"),
        ("He raced over a two mile track.", "On a two-mile track an ad hoc race was his.", ""),
        ("Soon he succeeded in leaving the camp.", "Before long he did leave the camp.", ""),
    ],
)
def test_one_rule_each(human: str, twin: str, check: str) -> None:
    assert set(failed(human, twin)) - {"length", "copy"} == set(check.split())


@pytest.mark.parametrize(
    ("human", "twin", "fault"),
    [
        ("He tried for eight hours a day.", "For eight hours a day he made a second attempt.", ""),
        ("He came twice a year.", "After a decade in Paris he came twice a year.", ""),
        ("He came twice a year.", "He came twice a year, each second time by ship.", ""),
        ("It rose 3% a year.", "There was a month of rain, and it rose 3% a year.", ""),
        ("In 1900 it ran twice a day.", "It ran twice a day; 1900 was a year of rain.", ""),
        ("He left every day.", "Every day he left, in 1921 he spent a week there.", ""),
        ("It came daily.", "Secondly, it came daily, to each second house.", ""),
        ("It burns 30 litres of oil an hour.", "It burns 30 litres of oil a day.",
         "'per hour' became 'per day'"),
        ("It eats 600 flies in an hour.", "600 flies a day it eats.",
         "'per hour' became 'per day'"),
        ("It took 600 flies in an hour.", "600 flies an hour it took.", ""),
        ("Take 100 micrograms.", "You should take 100 milligrams.",
         "'100 micrograms' became '100 milligrams'"),
        ("They work several hours a day.", "Hours a week they work.",
         "'per day' became 'per week'"),
        ("It ground 300 sacks a day.", "300 sacks a month it ground.",
         "'per day' became 'per month'"),
        ("It makes 5 frames per second.", "5 frames per decade are made by it.",
         "'per second' became 'per decade'"),
    ],
)  # fmt: skip
def test_rates_follow_amounts(human: str, twin: str, fault: str) -> None:
    assert next(find_unit_faults(human, twin), "") == fault


def test_of_several_moved_units_the_first_kind_of_the_list_is_named() -> None:
    human = "It holds 2 litres, 3 metres, 5 grams."
    twin = "It holds 20 gallons, 30 feet, 50 pounds."
    # The data file lists length before mass and volume.
    assert failed(human, twin)["units"] == "'3 metres' became '30 feet'"


def test_negations_of_other_languages_are_counted() -> None:
    assert count_denials("Das Tor ist nicht offen, und niemand wohnt dort.", "de") == 2
    assert count_denials("La porte n'est pas ouverte.", "fr") == 1
    assert count_denials("Nunca ha sido abierta.", "es") == 1
    assert count_denials("Het is niet open.", "nl") is None


def test_the_lexical_judge_is_refused(tmp_path: Path) -> None:
    recipe = cf.TwinsRecipe(benchmark=tmp_path, llm="x", judging=Judging(judge="lexical"))
    with pytest.raises(UsageError, match="says the opposite"):
        build_twins(recipe, cf.RunOptions(out=tmp_path / "out"))


def test_less_of_one_thing_and_more_of_another_are_no_opposites() -> None:
    human = "The cells become less flexible, which leads to increased infections."
    twin = "The cells lose much of what makes them flexible, and there are more infections."
    assert "opposites" not in failed(human, twin)
    assert "opposites" in failed(human, human.replace("less", "more"))


def test_a_decision_against_something_is_one_not_to_do_it() -> None:
    human = "The government decided not to renew the agreement on the naval base."
    twin = "About the naval base, the government decided against renewing the agreement."
    assert "negation" not in failed(human, twin)


def test_opposites_are_about_one_thing() -> None:
    # "Previously" is of a constitution, "up to" of school classes.
    human = (
        "Previously, under the old law, three languages were taught. Schools use it in all classes."
    )
    twin = (
        "The old law had three languages be taught. In schools it is used in classes up to the top."
    )
    assert "opposites" not in failed(human, twin)


def test_what_is_yet_to_be_done_is_not_done() -> None:
    human = "The remaining seven countries have not ratified it."
    assert "negation" not in failed(human, "The other seven countries have yet to ratify it.")


@pytest.mark.parametrize(
    ("human", "twin", "is_denied"),
    [
        ("The metal needs oxygen in store.", "In store the metal needs no oxygen.", True),
        ("The maps were sold with labels.", "The maps were sold without labels.", True),
        ("It is the longest bridge of its kind.", "No bridge of its kind is longer.", False),
        ("The tooth may be asymptomatic but is not disease free.",
         "The tooth may be symptom-free and yet is not without disease.", False),
        ("The river is deeper than any other river.", "No river is deeper than this one.", False),
    ],
)  # fmt: skip
def test_no_and_without_deny(human: str, twin: str, is_denied: bool) -> None:
    assert ("negation" in failed(human, twin)) == is_denied
