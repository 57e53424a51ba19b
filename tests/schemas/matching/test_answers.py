"""Short answers in texts (docs/definitions.md#short_answers)."""

import unicodedata
from datetime import date
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.schemas.matching.answers import AnswerText, contains_answer, is_answer
from citeforge.schemas.text import MONTHS

# Answer, then texts it is in, then texts it is not in.
CASES: dict[str, tuple[str, list[str], list[str]]] = {
    "year in ranges and dates": (
        "1964",
        ["It ran from 1964–1981.", "opened 1964-11-21", "on 12 Nov. 1964", "1964.", "1964–65",
         "from 1964 to 1981", "1964 -1981", "in 1964² he", "1964年11月12日", "1964년에",
         "一九六四年"],
        ["51964", "the 1964s", "19.64", "1964 %", "-1964", "1964th"],
    ),
    "score": ("10", ["The score was 10-2", "won 10:2", "5–10 km", "10 to 2"], ["10.5", "10²³"]),
    "whole score": ("10-2", ["10–2", "10 - 2", "10 to 2"], ["2-10", "10-2-1", "110-2"]),
    "time": ("30", ["30 people"], ["at 10:30", "10:30:15", "1:30"]),
    "season": ("2020", ["2019/20", "2019–20", "in 2020"], ["20/20"]),
    "month of ISO": ("March 2001", ["2001-03", "12 March 2001"], ["2001-04", "2001"]),
    "decimal": ("3.5", ["3,5 kg", "3.50", "3·5", "٣٫٥", "3 1/2", "3½"], ["35 kg", "3.51", "13.5"]),
    "whole of a decimal": ("3", ["3.", "3, 5", "3 of 5"], ["3.14", "3,000", "1/3", "3.0.1"]),
    "thousands": (
        "1298",
        ["1,298", "1.298", "1 298", "1\u202f298", "1'298", "1’298", "1298.0", "１２９８", "١٬٢٩٨"],
        ["298", "51298", "12980", "1,298,000", "1298 %"],
    ),
    "lakhs": ("1234567", ["12,34,567", "1,234,567"], ["12,345,67"]),
    "read both ways": ("1.298", ["1298", "1,298", "1.2980"], ["12.98"]),
    "three zeros are thousands": ("50", ["50.0"], ["50,000", "50.000"]),
    "negative": (
        "-5",
        ["−5 °C", "–5", "(-5)", "minus 5 degrees"],
        ["5 degrees", "10 minus 5", "2-5", "F-5"],
    ),
    "fraction": ("½", ["1/2", "0.5", ",5 or .5"], ["1 1/2", "1½", "11/2", "1/2/3"]),
    "power": ("6.02e23", ["6.02 × 10²³", "6.02·10^23", "6.02 x 10^23"], ["6.02", "10²³"]),
    "per cent": ("50 %", ["50%", "50 per cent", "%50", "٥٠٪", "50–60 %"], ["50", "150 %", "50 ‰"]),
    "no per cent": ("50", ["50 people"], ["50 %", "50 percent", "40–50 %"]),
    "size": ("1.5 million", ["1,500,000", "$1.5 million", "1,5 Millionen"], ["15 million", "1.5"]),
    "money": ("€5", ["5 €", "EUR 5", "5 euros", "€5.00"], ["$5", "5", "€50", "€5 million"]),
    "amount of money": ("5", ["$5", "5 dollars", "US$5"], ["$50", "$5 million"]),
    "unit": ("5 km", ["5km", "5-km walk"], ["5 km²", "5 km/h", "15 km", "2.5 km"]),
    "area": ("5 km²", ["5 km2", "5 km^2"], ["5 km"]),
    "degrees": ("10 °C", ["10°C", "10 C"], ["10 °F", "-10 °C"]),
    "ordinal": ("1st", ["the 1st of them"], ["21st", "1"]),
    "code": ("007", ["agent 007"], ["7", "1007"]),
    "date": (
        "12 November 1964",
        ["November 12th, 1964", "12. November 1964", "12 de noviembre de 1964", "1964-11-12",
         "12.11.1964", "11/12/1964", "12/11/64", "12-Nov-1964", "12 ноября 1964"],
        ["1964", "November 1964", "11.12.1964", "12 November 1965", "12 November"],
    ),
    "month and year": ("November 1964", ["12 November 1964", "Nov 1964"], ["1964", "November"]),
    "no day of a date": ("12", ["12 people"], ["12 November 1964", "1964-11-12"]),
    "Turkish": ("İstanbul", ["Istanbul", "ISTANBUL", "İSTANBUL'da", "ıstanbul"], ["stanbul"]),
    "Greek": ("Ἀθῆναι", ["ΑΘΗΝΑΙ", "αθήναι"], ["ΑΘΗΝΑ"]),
    "Arabic": ("محمد", ["كتبه مُحَمَّد", "ومحمد"], ["محمود"]),
    "Arabic prefixes": ("القاهرة", ["في القاهرة", "بالقاهرة", "والقاهرة"], ["قاهر"]),
    "Hebrew": ("ירושלים", ["בירושלים", "ומירושלים"], ["ירושל"]),
    "Hebrew within a word": ("לב", ["לב טוב"], ["כלב"]),
    "marks stay": ("Schäfer", ["SCHÄFER", "Scha\u0308fer"], ["Schafer", "Schaefer"]),
    "sharp s": ("Straße", ["STRASSE", "in der Strasse"], ["Strafe"]),
    "hyphens": ("co-operate", ["cooperate", "co operate", "co‑operate"], ["operate", "operateco"]),
    "apostrophes": ("O'Brien", ["O’Brien", "OBrien"], ["Brien", "O Brien"]),
    "inside a name": ("Brien", ["Mr Brien"], ["O'Brien"]),
    "elision": ("Aquila", ["L’Aquila", "the Aquila's"], ["Aquilas"]),
    "ampersand": ("AT&T", ["at AT&T."], ["AT", "T"]),
    "free ampersand": ("Marks & Spencer", ["Marks and Spencer"], ["Marks Spencer"]),
    "initials": ("U.S.", ["the US Navy", "U.S.-led", "U. S."], ["U.S.S.R.", "USA"]),
    "spaced initials": ("J. R. R. Tolkien", ["J.R.R. Tolkien", "JRR Tolkien"], ["R. R. Tolkie"]),
    "articles": ("The Hague", ["in Hague", "the Hague"], ["Haguel"]),
    "article at the end": ("Vitamin A", ["Vitamin A is", "vitamin A"], ["Vitamin C", "vitamin"]),
    "nothing but an article": ("A", ["A.", "a"], ["I do not know.", "Vitamin A is", "the"]),
    "nothing but signs": ("!!!", ["!!!", " !!! "], ["No!!!", "!!"]),
    "whole words": ("art", ["art, too", "(art)"], ["party", "arts", "art2"]),
    "signs of names": ("C", ["in C.", "C, too"], ["C++", "C#", "C-section", "F-C"]),
    "signed name": ("C++", ["in C++.", "C++ and C"], ["C", "C+"]),
    "hyphen and number": ("16", ["16 planes"], ["F-16", "COVID-16", "B16"]),
    "name with a number": ("F-16", ["F16", "an F-16"], ["F-1", "16"]),
    "Chinese": ("鲁迅", ["作者是鲁迅先生。"], ["鲁智深"]),
    "Katakana is words": ("イン", ["ホテル・イン"], ["インド"]),
    "Thai": ("กรุงเทพ", ["เมืองหลวงคือกรุงเทพมหานคร"], ["กรุง"]),
    "Thai signs": ("ก", ["ก ข"], ["กิน", "เก"]),
    "Hindi signs": ("कम", ["कम है"], ["काम", "कमल"]),
    "Korean particles": ("서울", ["서울이다.", "서울에서는"], ["서울역", "남서울"]),
    "raised letters": ("Lego", ["Lego™", "LEGO®"], ["Legos"]),
}  # fmt: skip


@pytest.mark.parametrize("case", CASES)
def test_answer_in_text(case: str) -> None:
    answer, right, wrong = CASES[case]
    assert [t for t in right if not AnswerText(t).contains(answer)] == []
    assert [t for t in wrong if AnswerText(t).contains(answer)] == []


@pytest.mark.parametrize(
    ("answer", "right", "wrong"),
    [
        ("1964", ["1964", "1964.", "1964年"], ["12 November 1964", "1964–65", "in 1964"]),
        ("$5", ["$5.00", "5 dollars"], ["5", "€5"]),
        ("5", ["5", "+5"], ["$5", "5 %"]),
        ("Paris", ["paris", "(Paris)"], ["Paris, France", "Vitamin Paris"]),
        ("Vitamin", ["the vitamin"], ["Vitamin A"]),
        ("A", ["A.", "a"], ["the", "B", ""]),
        ("The Hague", ["Hague", "the Hague."], ["The Hague Court"]),
    ],
)
def test_text_that_is_an_answer(answer: str, right: list[str], wrong: list[str]) -> None:
    assert [t for t in right if not is_answer(t, [answer])] == []
    assert [t for t in wrong if is_answer(t, [answer])] == []


def test_no_answer_is_in_an_empty_text() -> None:
    assert not contains_answer("", ["", "A", "1964"])
    assert not contains_answer("text", [])


DATES = st.dates(date(1000, 1, 1), date(2999, 12, 31))


@given(st.text(max_size=60))
def test_every_text_is_itself(text: str) -> None:
    read = AnswerText(text)
    if read.bare:
        assert read.equals(text)


@given(st.text("ab AThe1259.,-–/%$€:'&+^²½ novmarc 月年백은\n", max_size=40))
def test_every_text_of_numbers_and_signs_is_in_itself(text: str) -> None:
    read = AnswerText(text)
    if read.bare:
        assert read.equals(text)
        assert read.contains(text)


WORDS = st.text("abcdefghijklmnopqrstuvwxyzéßøαβγδабвг", min_size=2, max_size=8)


@given(st.lists(WORDS, max_size=6), WORDS, st.lists(WORDS, max_size=6))
def test_a_word_is_found_as_a_whole_word_alone(
    before: list[str], word: str, after: list[str]
) -> None:
    text = ", ".join([*before, word, *after])
    assert AnswerText(text).contains(word)
    assert not AnswerText(" ".join([*before, f"zz{word}", *after])).contains(f"zz{word}zz")
    assert not AnswerText(f"zz{word} {word}zz").contains(word)


NUMBERS = st.integers(0, 10**12)


@given(NUMBERS, st.integers(1, 999))
def test_a_number_is_the_same_in_every_layout(whole: int, part: int) -> None:
    value = f"{whole}.{part:03}"
    for separator, point in ((",", "."), (".", ","), (" ", "."), ("'", ".")):
        layout = f"{whole:,}".replace(",", separator)
        assert is_answer(layout, [str(whole)])
        if whole > 999_999:  # shorter ones can be read both ways
            assert is_answer(f"{layout}{point}{part:03}", [value])
            assert not is_answer(f"{layout}{point}{part:03}", [str(whole)])


@given(NUMBERS, NUMBERS)
def test_no_number_is_in_another(one: int, two: int) -> None:
    assert AnswerText(f"about {two} of them").contains(str(one)) == (one == two)
    assert AnswerText(f"{one}–{two}").contains(str(one))


@given(NUMBERS, st.sampled_from("٠۰०০๐၀០０"))
def test_digits_of_every_script(number: int, zero: str) -> None:
    start = ord(zero) - unicodedata.decimal(zero)
    written = "".join(chr(start + int(digit)) for digit in str(number))
    assert is_answer(written, [str(number)])


@given(st.integers(1, 60), st.integers(2, 60))
def test_fractions_are_values(top: int, bottom: int) -> None:
    if top < bottom:
        share = Fraction(top, bottom)
        assert is_answer(f"{top}/{bottom}", [f"{share.numerator}/{share.denominator}"])
        assert not is_answer(f"{top}/{bottom}", [str(top)])


@given(DATES, DATES)
def test_dates_have_one_value_in_all_layouts(one: date, two: date) -> None:
    year, month = str(one.year), MONTHS[one.month - 1]
    layouts = [
        one.isoformat(), f"{one.day} {month} {year}", f"{month} {one.day}, {year}",
        f"{one.day}.{one.month}.{year}", f"{year}年{one.month}月{one.day}日",
    ]  # fmt: skip
    for text in layouts:
        assert all(is_answer(text, [other]) for other in layouts)
        assert AnswerText(f"on {text}, they").contains(f"{month} {year}")
        assert AnswerText(f"on {text}, they").contains(year)
        assert not AnswerText(f"in {year}").contains(text)
        assert AnswerText(text).contains(two.isoformat()) == (one == two)
    for text in (f"{one.day}/{one.month}/{year}", f"{one.month}/{one.day}/{year}"):
        assert is_answer(text, [one.isoformat()])


@pytest.mark.parametrize("before", ["10^", "6 x 10^", "minus ", "1 -", "1-", "1e", "€", ""])
def test_numbers_of_thousands_of_digits_are_read(before: str) -> None:
    """Python converts no text of more than 4,300 digits to an integer."""
    nines = "9" * 5_000
    assert is_answer(before + nines, [before + nines])
    assert not is_answer(before + nines, [before + nines[1:]])
