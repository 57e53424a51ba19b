"""Words of texts in any script, for measures that count or compare words."""

import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.tools import CannotError
from citeforge.schemas.matching.tokens import separate_signs

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.tools import ScoringTools

LATIN, WORDS, CHINESE, CHARACTERS = "13a", "intl", "zh", "char"
"""Tokenisers of sacreBLEU: for Latin script, for others with spaces, for Chinese, and for scripts
without spaces."""
_OF_SCRIPT = {
    "CJK": CHINESE, "HIRAGANA": CHARACTERS, "KATAKANA": CHARACTERS, "THAI": CHARACTERS,
    "LAO": CHARACTERS, "KHMER": CHARACTERS, "MYANMAR": CHARACTERS, "TIBETAN": CHARACTERS,
    "LATIN": LATIN,
}  # fmt: skip


def count_text_words(text: str) -> int:
    """Count the words of a text; in scripts without spaces, count its characters."""
    separated = text if text.isascii() else separate_signs(text)
    words = separated.split()
    return len(words) if separated == text else sum(any(map(str.isalnum, w)) for w in words)


def length_option(tools: "ScoringTools", protocol: str) -> str | None:
    """Name how words are counted, for score signatures; None under ``reference``."""
    return None if protocol == "reference" else "words space+char"


def choose_tokenizer(texts: Iterable[str]) -> str:
    """Choose the tokeniser for gold texts, by the script of most of their letters.

    The text of an answer does not decide: it would choose how it is scored.
    """
    counts = Counter(_script(char) for text in texts for char in text if char.isalpha())
    kana = counts["HIRAGANA"] + counts["KATAKANA"]
    if kana and kana + counts["CJK"] > sum(counts.values()) / 2:
        return CHARACTERS
    most = max(counts, key=lambda script: counts[script], default="LATIN")
    return _OF_SCRIPT.get(most, WORDS)


def is_mostly_latin(text: str) -> bool:
    """Whether at least half of a text's letters are Latin."""
    letters = [_script(char) == "LATIN" for char in text if char.isalpha()]
    return 2 * sum(letters) >= len(letters)


@cache
def _script(char: str) -> str:
    """Get the first word of a letter's Unicode name, which is its script."""
    return unicodedata.name(char, "").split(" ")[0].split("-")[0]


@cache
def load_tokenizer(name: str) -> Callable[[str], str]:
    """Load one of sacreBLEU's tokenisers: a text to its tokens, with spaces between them.

    Raises:
        CannotError: sacreBLEU is not installed.
    """
    try:
        from sacrebleu.tokenizers.tokenizer_char import TokenizerChar
        from sacrebleu.tokenizers.tokenizer_intl import TokenizerV14International
        from sacrebleu.tokenizers.tokenizer_zh import TokenizerZh
    except ImportError as error:
        raise CannotError(
            "needs sacrebleu: pip install 'citeforge[scores]'", code="missing-extra"
        ) from error
    make: dict[str, Callable[[], Callable[[str], str]]] = {
        WORDS: TokenizerV14International, CHINESE: TokenizerZh, CHARACTERS: TokenizerChar,
    }  # fmt: skip
    return make[name]()


def list_choices(names: Iterable[str]) -> tuple[str, ...]:
    """Name tokenisers for score signatures; empty if all texts were in Latin script."""
    used = set(names)
    return (f"tok {'+'.join(sorted(used))}",) if used - {LATIN} else ()
