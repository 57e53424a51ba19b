"""Numbers of answers in the passages that they cite (docs/measures/numbers.md)."""

from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.plugins.published_measures.quantities import Quantities, read_quantities
from conftest_evaluator import Measure

SAME = [
    ("3.5 bn", "3,500 million"), ("3,5 Milliarden", "3.5 billion"), ("12 млн", "12 million"),
    ("12th", "12"), ("the twelfth", "12th"), ("twelve", "12"), ("twenty-four", "24"),
    ("two hundred and five", "205"), ("a million", "1,000,000"), ("50 %", "fifty percent"),
    ("50%", "50 per cent"), ("1,200", "1200"), ("1.200", "1 200"), ("-5", "minus 5"),
    ("3½", "3.5"), ("$3.5m", "3.5 million dollars"), ("€20k", "20,000 euros"),
    ("5 kg", "5 kilograms"), ("5 kilogrammes", "5 kg"), ("310 m", "310 metres"),
    ("20 °C", "20 degrees"), ("20 °C", "20 Celsius"), ("7 sq km", "7 square kilometres"),
    ("5 March 2019", "2019-03-05"), ("12 November 1964", "November 12th, 1964"),
    ("3 de mayo de 2001", "2001-05-03"), ("1964", "12 November 1964"),
    ("the 12th", "12 November 1964"), ("1964–1970", "from 1964 to 1970"),
    ("40–50 %", "between 40 % and 50 %"), ("1964-65", "1964 and 1965"),
    ("19th century", "nineteenth century"),
]  # fmt: skip
DIFFERENT = [
    ("3.5 bn", "3.5 million"), ("12", "120"), ("12", "1.2"), ("5 kg", "5 g"), ("310 m", "310 feet"),
    ("20 °C", "20 °F"), ("50 %", "50 people"), ("1965", "12 November 1964"), ("$5", "€5"),
    ("-5", "5"), ("1964–1970", "1964"), ("5 March", "6 March"), ("5 March 2019", "March 2019"),
    ("the 1960s", "1965"), ("12", "nothing"), ("3 October 1991", "3 October 1990"),
    ("3 October 1991", "3 May 1700"), ("5 March", "the 5th of them"),
]  # fmt: skip


def is_found(one: str, other: str) -> bool:
    found = read_quantities(one, only_sure=True)
    assert found
    return all(quantity in Quantities(other) for quantity in found)


@pytest.mark.parametrize(("one", "other"), SAME)
def test_a_number_is_found_in_another_spelling(one: str, other: str) -> None:
    assert is_found(f"It is {one}.", f"They say that it is {other} or so.")


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_another_number_or_unit_is_not_found(one: str, other: str) -> None:
    assert not is_found(f"It is {one}.", f"They say that it is {other} or so.")


def test_words_that_may_be_no_number_are_found_and_not_looked_for() -> None:
    assert read_quantities("One of them was second to none.", only_sure=True) == []
    assert is_found("It has 1 and 2.", "One has two.")


@given(st.integers(0, 10**15), st.sampled_from([",", " ", "\u202f", "'"]))
def test_separators_change_no_number(number: int, separator: str) -> None:
    assert is_found(f"{number:,}".replace(",", separator), str(number))
    assert is_found(str(number), f"{number:,}".replace(",", separator))


@given(st.integers(1, 9999), st.sampled_from([("thousand", 3), ("million", 6), ("bn", 9)]))
def test_a_size_is_its_zeros(number: int, size: tuple[str, int]) -> None:
    written = Fraction(number, 10)
    digits = f"{number // 10}.{number % 10} {size[0]}"
    assert is_found(digits, str(int(written * 10 ** size[1])))
    assert not is_found(digits, str(int((written + 1) * 10 ** size[1])))


@given(
    st.dates(date(1000, 1, 1)), st.sampled_from(["%d %B %Y", "%B %d, %Y", "%Y-%m-%d", "%d.%m.%Y"])
)
def test_a_date_is_found_in_each_format(day: date, form: str) -> None:
    written, iso = f"{day:{form}}", f"{day:%Y-%m-%d}"
    assert is_found(written, iso)
    assert is_found(f"in {iso[:4]}", written)


@given(st.text(max_size=60))
def test_every_number_of_a_text_is_in_the_text(text: str) -> None:
    assert all(q in Quantities(text) for q in read_quantities(text, only_sure=True))


def test_numbers_are_looked_for_in_what_their_statement_cites(measure: Measure) -> None:
    shown = ["It is 310 metres high.", "It opened in 1937.", "It cost 3,500 million dollars."]
    found = measure(
        [
            "It is 310 m high [1]. It opened in 1937 and cost $3.5 bn [2].",
            "1. It is high [1].",
            "It is 310 m high.",
            "",
        ],
        ["numbers"],
        shown,
        missing=[3],
    )
    assert found["Numbers"] == [2 / 3, None, 0 / 1, 0]
    assert found["Numbers.Shown"] == [3 / 3, None, 1 / 1, 0]
    assert found["Numbers.Count"] == [3, 0, 1, 0]
