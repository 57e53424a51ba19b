"""Languages of texts: py3langid's answers, in whole numbers."""

import pytest
from py3langid.langid import MODEL_FILE, LanguageIdentifier

from citeforge.engines.text.languages import detect_language, language_probabilities

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
