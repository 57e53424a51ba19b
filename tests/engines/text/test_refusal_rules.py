"""Rules of refusals: what their files hold, and what every match of a rule holds."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from citeforge.engines.text import refusals
from citeforge.engines.text.refusals import is_refusal, language_rules, split_words
from citeforge.schemas.refusals import LANGUAGES


def test_every_language_is_a_file() -> None:
    files = (Path(refusals.__file__).parent / "data" / "refusals").glob("*.yaml")
    assert sorted(path.stem for path in files) == list(LANGUAGES)


@pytest.mark.parametrize("group", ["strong", "weak"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_every_match_of_a_rule_holds_a_cue(language: str, group: str) -> None:
    """Texts without a cue are not searched: a rule that needs none of them would never match."""
    rules = language_rules(language)
    pattern = rules.strong if group == "strong" else rules.weak
    letters = st.sampled_from(sorted(set(pattern.pattern) - {"\n"}))

    @settings(phases=[Phase.generate], suppress_health_check=list(HealthCheck))
    @given(st.from_regex(pattern, alphabet=letters))
    def check(text: str) -> None:
        small = text.lower()
        assert pattern.search(small) is None or rules.has_cue(small, split_words(small))

    check()


@given(st.text(st.sampled_from("aZ09_ .,-'\n\t\x1c\x1fé’")))
def test_words_of_a_text(text: str) -> None:
    assert split_words(text) == re.findall(r"\w+", text)


def test_letters_that_look_alike_are_one() -> None:
    for text in ("I CANNOT ANSWER.", "İ cannot anſwer.", "ı cannot answer."):
        assert is_refusal(text, "rules:en"), text
