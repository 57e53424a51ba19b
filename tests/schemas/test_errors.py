"""Errors that say what was probably meant."""

import pytest

from citeforge.schemas.errors import UnknownValueError, suggestion


@pytest.mark.parametrize(
    ("value", "meant"),
    [("CitP", "CiteP"), ("citep", "CiteP"), ("rgae", "rage"), ("CITER", "CiteR"), ("zebra", None)],
)
def test_what_was_meant(value: str, meant: str | None) -> None:
    said = suggestion(value, ["CiteP", "CiteR", "rage"])
    assert said == ("" if meant is None else f" (did you mean {meant!r}?)")


def test_what_begins_right_comes_before_what_looks_alike() -> None:
    assert suggestion("ROUGE", ["ROUGE-Lsum.F@1gold", "ROUGE-Lsum.F", "rage"]) == (
        " (did you mean 'ROUGE-Lsum.F'?)"
    )
    assert suggestion("id", ["idle"]) == " (did you mean 'idle'?)"
    assert suggestion("", ["a"]) == ""


def test_names_that_print_the_same_are_told_apart() -> None:
    """One letter, or a letter and its accent."""
    told = r"(did you mean 'Jose\u0301', which prints like 'Jos\xe9'?)"
    assert told in str(UnknownValueError("query", "Jos\u00e9", ["Jose", "Jose\u0301"]))
    assert suggestion("\u00e9", ["e\u0301"]) == (
        r" (did you mean 'e\u0301', which prints like '\xe9'?)"
    )


def test_unknown_values_name_it_first() -> None:
    assert str(UnknownValueError("system", "randm", ["random", "gold"])) == (
        "unknown system 'randm' (did you mean 'random'?); known: gold, random"
    )


def test_the_last_part_of_a_name_is_enough() -> None:
    known = ["ALCE.CitRec", "ALCE.CitPrec", "trec"]
    assert suggestion("CitRec", known) == " (did you mean 'ALCE.CitRec'?)"
    assert suggestion("citprec", known) == " (did you mean 'ALCE.CitPrec'?)"


def test_a_command_lists_what_is_too_long_for_a_line() -> None:
    error = UnknownValueError("measure", "citef", ["CiteF1", "CiteP"], "citeforge list measures")
    assert str(error) == (
        "unknown measure 'citef' (did you mean 'CiteF1'?); `citeforge list measures` lists them all"
    )
