"""Words beside citation marks, such as "Document" in ``[Document 5]``: ``data/words.toml``."""

import re
import tomllib
from functools import cache
from pathlib import Path


@cache
def _tables() -> dict[str, dict[str, str]]:
    """Read ``data/words.toml``: table name to {language: its words, separated by spaces}."""
    path = Path(__file__).with_name("data") / "words.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


def words_of(table: str, *, unspaced: bool = False) -> tuple[str, ...]:
    """List a table's words in ``words.toml`` of languages with spaces or, ``unspaced``, without.

    ``_`` stands for a space in it.

    Args:
        table: name of the table, such as "verbs".
        unspaced: whether to list those of languages without spaces, instead of all others.
    """
    lines = [v for k, v in _tables()[table].items() if (k in _WITHOUT_SPACES) == unspaced]
    words = (word.replace("_", " ") for line in lines for word in line.split())
    return tuple(dict.fromkeys(words))


def alternatives(words: tuple[str, ...]) -> str:
    """Make a regular expression of words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


_WITHOUT_SPACES = ("ja", "ko", "zh")
SEE = frozenset(words_of("see"))
"""Words that may come before the label or the number."""
AND = frozenset(words_of("and"))
"""Words between two numbers."""
NUMBER_WORDS = {
    word: number
    for line in _tables()["numbers"].values()
    for number, word in enumerate(line.split(), 1)
}
"""Numbers in words of several languages, ordinals, Chinese and Roman numerals."""

_SIGNS = frozenset(words_of("signs"))
_WORDS = [*words_of("labels"), *words_of("labels", unspaced=True)]
_UNSPACED = re.compile(r"[\u3040-\u30ff\u3400-\u9fff]")
_LABELS = frozenset(word for word in _WORDS if not word.endswith("~"))
_GLUED = frozenset(
    before + label + behind for before in ("", *filter(_UNSPACED.match, SEE | AND))
    for label in filter(_UNSPACED.match, _LABELS) for behind in ("", "第", "番号", "编号", "編號")
)  # fmt: skip
"""Labels of languages without spaces, with the words around them: `见文档`, `文書番号`."""
_STEMS = tuple(word[:-1] for word in _WORDS if word.endswith("~"))
_ENDINGS = tuple(sorted(_LABELS, key=len, reverse=True))
_LAST_WORD = re.compile(r"[\w\u0900-\u0dff]+\Z")
_LONGEST = 14
"""Letters of an inflected form."""


def is_label(word: str) -> bool:
    """Whether a lower-case word can stand for a passage, such as ``document``."""
    is_inflected = word.startswith(_STEMS) and len(word) < _LONGEST
    is_joined = word[:1] in "בהוכלמש" and word[1:] in _LABELS  # Hebrew `במסמך`
    return word in _LABELS or word in _GLUED or is_joined or is_inflected


def may_stand_in_mark(word: str) -> bool:
    """Whether a lower-case word may be beside the numbers of a citation mark (``see``, ``and``)."""
    is_see = word in SEE or (word.endswith("第") and word[:-1] in SEE)
    return is_see or word in AND or word in _SIGNS or is_label(word)


def find_last_label(text: str) -> int:
    """Find the offset of a word such as "Document" at the end of a text; -1 if there is none."""
    lower = text.lower()
    if (word := _LAST_WORD.search(lower)) is None:
        return -1
    if is_label(word[0]):
        return word.start()
    label = next(filter(lower.endswith, _ENDINGS), "") if lower.endswith(_ENDINGS) else ""
    return len(text) - len(label) if label and _UNSPACED.match(label) else -1
