"""Languages of texts: py3langid's answers, in whole numbers."""

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from citeforge.engines.text.languages import (
    choose_language,
    detect_language,
    language_probabilities,
)
from engines.text.short_questions import QUESTIONS

TEXTS = {
    "en": "The bridge opened in 1981, and people walk along its banks in the evening.",
    "de": "Die Brücke wurde 1981 eröffnet, und abends gehen viele Menschen an ihr entlang.",
    "fr": "Le pont a été ouvert en 1981, et les gens se promènent le soir le long des rives.",
    "ru": "Мост был открыт в 1981 году, и вечером люди гуляют вдоль берегов реки.",
    "ja": "この橋は1981年に開通し、夕方になると多くの人が川岸を歩いています。川はとても長いです。",
}


@pytest.mark.parametrize("language", TEXTS)
def test_languages_are_found(language: str) -> None:
    assert detect_language(TEXTS[language]) == language
    assert detect_language(TEXTS[language].upper()) == language


def test_short_and_mixed_texts_have_no_clear_language() -> None:
    assert detect_language("too short") is None
    assert detect_language("1981 1998 2004 1410 2220 1991 12 13 14 15 16 17") is None


@pytest.mark.parametrize(
    "text", [*TEXTS.values(), TEXTS["en"] + TEXTS["fr"], "One more", "a\ud800b c"]
)
def test_probabilities_are_those_of_the_library(text: str) -> None:
    """Its own sums are in 32 bits, so that they differ by less than a thousandth."""
    library = dict(LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True).rank(text))
    found = language_probabilities(text)
    assert found == pytest.approx(library, abs=1e-3)
    assert sum(found.values()) == pytest.approx(1)


def test_a_text_without_features_may_be_in_any_language() -> None:
    shares = language_probabilities("")
    assert set(shares.values()) == {1 / len(shares)}


@pytest.mark.parametrize("language", QUESTIONS)
def test_short_questions_with_names_are_in_their_language(language: str) -> None:
    others = {*QUESTIONS} - {language}
    for text in QUESTIONS[language]:
        for other in others:
            assert choose_language(text, language, [other]) in (language, None), text
            # Wanted is the other: found out, or not clear, never taken for it.
            assert choose_language(text, other, [language]) in (language, None), text


@pytest.mark.parametrize(
    ("language", "n_unclear"), [("en", 0), ("de", 1), ("fr", 1), ("es", 0), ("it", 1)]
)
def test_few_short_questions_are_not_clear(language: str, n_unclear: int) -> None:
    pairs = [(t, o) for t in QUESTIONS[language] for o in QUESTIONS if o != language]
    found = [choose_language(text, language, [other]) for text, other in pairs]
    assert (len(pairs) >= 20 * 4, found.count(None)) == (True, n_unclear)


@pytest.mark.parametrize(
    ("text", "others", "found"),
    [
        ("Who invented the Garden pump Nila 9?", ["en"], "en"),
        ("Who invented the Garden pump Nila 9?", ["fr", "en", "it"], "en"),
        ("Wer hat die Garden Pump Nila 9 erfunden?", ["en"], "de"),
        ("Was wiegt Nila 9?", ["en"], "de"),  # "was" is a word of both: the model decides
        ("谁发明了 Nila 9?", ["zh", "en"], "zh"),  # no spaces: the model decides
        ("Wer kennt Nila 9?", [], "de"),  # nothing to compare
        ("Wie rot the is der Nila 9?", ["en"], None),  # mixed
        ("Nila 9", ["en"], None),
        ("", ["en"], None),
    ],
)
def test_a_language_is_chosen_between_the_wanted_and_others(
    text: str, others: list[str], found: str | None
) -> None:
    assert choose_language(text, "de", others) == found
