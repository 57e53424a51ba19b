"""Detection of refusals, and of what is said to be missing, by regular expressions per language."""

import re
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from citeforge.engines.textfiles import read_yaml, validated
from citeforge.schemas.record import FrozenRecord

_DATA = Path(__file__).parent / "data"
ABSENCE_LANGUAGES = tuple(sorted(file.stem for file in (_DATA / "absence").glob("*.yaml")))
"""Languages with rules of absence."""
ABSENCE_VERSION = 3
"""Version of the rules of absence, in signatures."""
_WORD = re.compile(r"\w+")
_SPACED = bytes(c if chr(c).isalnum() or c == ord("_") else ord(" ") for c in range(128)).ljust(256)
"""ASCII characters that are no part of a word to spaces."""
_BLOCK = re.compile("<([A-Z_]+)>")
_QUOTATION = re.compile(r"[\"“„«][^\"“”„«»\n]{1,200}[\"“”»]")
_SAME_LETTERS = str.maketrans(
    {**dict.fromkeys("’‘ʼ´", "'"), "\u00a0": " ", "\u202f": " ", "İ": "i", "ı": "i", "ſ": "s"}
)


class RuleFile(FrozenRecord):
    """Content of a rule file: regular expressions in lower case, one per line; ``#`` is a comment.

    Attributes:
        cue_words: one of them, or of ``cue_parts``, is in every refusal: most answers have none,
            and are done quickly.
        cue_parts: parts of words or of sentences, one per line.
        blocks: name to what ``<NAME>`` means in later blocks and in rules.
        strong: rules about the evidence, or about the system itself.
        weak: rules that can be about the world as well ("there is no information"); they
            count in answers that cite nothing.
        roles: denials of a role ("the text does not name her as its author"), which say nothing of
            missing knowledge; one expression.
    """

    cue_words: frozenset[str]
    cue_parts: str
    blocks: dict[str, str]
    strong: str
    weak: str
    roles: str = "(?!)"


@dataclass(frozen=True)
class LanguageRules:
    """Refusal rules of a language, see :class:`RuleFile`."""

    cue_words: frozenset[str]
    cue_parts: tuple[str, ...]
    strong: re.Pattern[str]
    weak: re.Pattern[str]
    roles: re.Pattern[str]

    def has_cue(self, text: str, words: Collection[str]) -> bool:
        """Whether a text in lower case, which consists of ``words``, has a cue of these rules."""
        return not self.cue_words.isdisjoint(words) or any(p in text for p in self.cue_parts)

    def match(self, text: str, cites: bool) -> bool:
        """Whether the rules match a lower-case text; weak ones only count if it cites nothing."""
        return bool(self.strong.search(text) or (not cites and self.weak.search(text)))


@cache
def language_rules(language: str, kind: str = "refusals") -> LanguageRules:
    """Read and compile a language's rules of refusal or (by ``kind``) of absence.

    A rule is an expression on a line; ``<NAME>`` in it stands for a block, a named expression.
    Strong rules always mean a refusal, weak ones only in an answer without citations. Texts
    without a cue, a word or a part of one, are not searched.

    Args:
        language: its code.
        kind: folder of the file: ``refusals``, or ``absence`` for sentences of missing knowledge.
    """
    path = _DATA / kind / f"{language}.yaml"
    file = validated(RuleFile, read_yaml(path), path)
    blocks: dict[str, str] = {}

    def fill(expression: str) -> str:
        """Replace each ``<NAME>`` in a regular expression by the expression of that name."""
        return _BLOCK.sub(lambda name: blocks[name[1]], expression)

    for name, block in file.blocks.items():
        blocks[name] = f"(?:{fill(block)})"
    strong, weak = (
        re.compile("|".join(fill(e) for e in group.splitlines() if not e.startswith("#")))
        for group in (file.strong, file.weak)
    )
    roles = re.compile(fill(file.roles))
    return LanguageRules(file.cue_words, tuple(file.cue_parts.splitlines()), strong, weak, roles)


def split_words(text: str) -> list[str]:
    """Split a text into its words, of letters and digits only."""
    if not text.isascii():
        return _WORD.findall(text)
    return text.encode().translate(_SPACED).decode().split()


def _fold(text: str) -> str:
    """Fold a text to lower case, without quotations unless it consists of them."""
    whole = (text if text.isascii() else text.translate(_SAME_LETTERS)).lower().strip()
    own_words = _QUOTATION.sub(" ", whole)
    return own_words if any(map(str.isalnum, own_words)) else whole


def _rules_with_cue(folded: str, detector: str) -> Iterator[LanguageRules]:
    """Yield the refusal rules of a detector's languages of which a text has a cue."""
    words = set(split_words(folded))
    for language in detector.partition(":")[2].split(","):
        if (rules := language_rules(language)).has_cue(folded, words):
            yield rules


def may_refuse(text: str, detector: str) -> bool:
    """Whether a text has a cue (word or part of one) that every non-empty refusal has."""
    return any(_rules_with_cue(_fold(text), detector))


def is_refusal(text: str, detector: str, cites: bool = False) -> bool:
    """Whether an answer is empty or a refusal by a detector's rules, some only if it cites none.

    Args:
        text: without marks.
        detector: rules, see :func:`citeforge.schemas.refusals.checked_detector`.
        cites: whether the answer cites anything: then "there is no information" is about the
            world, unless it is about the evidence or the system itself.
    """
    answer = _fold(text)
    return not answer or any(r.match(answer, cites) for r in _rules_with_cue(answer, detector))


def says_absent(sentence: str, languages: Collection[str] = ABSENCE_LANGUAGES) -> bool:
    """Whether a sentence says that something is missing from the evidence or knowledge.

    Args:
        sentence: without marks.
        languages: it may be in one of these, which have rules of absence and of refusals.
    """
    folded = _fold(sentence)
    words = set(split_words(folded))

    def says(absence: LanguageRules, refusals: LanguageRules) -> bool:
        """Whether a language's rules of absence or of refusals match the sentence."""
        found = [rules for rules in (absence, refusals) if rules.has_cue(folded, words)]
        text = absence.roles.sub(" ", folded) if found else ""
        return any(rules.match(text, cites=True) for rules in found)

    return any(says(language_rules(name, "absence"), language_rules(name)) for name in languages)
