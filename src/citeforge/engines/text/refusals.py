"""Detection of refusals among answers, by regular expressions per language."""

import re
from functools import cache
from pathlib import Path

from citeforge.engines.textfiles import read_yaml, validated
from citeforge.schemas.record import FrozenRecord

_DATA = Path(__file__).parent / "data" / "refusals"
_BLOCK = re.compile("<([A-Z_]+)>")
_QUOTATION = re.compile(r"[\"“„«][^\"“”„«»\n]{1,200}[\"“”»]")
_SAME_LETTERS = str.maketrans(
    {**dict.fromkeys("’‘ʼ´", "'"), "\u00a0": " ", "\u202f": " ", "İ": "i", "ı": "i", "ſ": "s"}
)


class RuleFile(FrozenRecord):
    """Content of a rule file: regular expressions in lower case, one per line; ``#`` is a comment.

    Attributes:
        cues: one of them is in every refusal: most answers have none, and are done quickly.
        blocks: name to what ``<NAME>`` means in later blocks and in rules.
        strong: rules about the evidence, or about the system itself.
        weak: rules that can be about the world as well ("there is no information"); they
            count in answers that cite nothing.
    """

    cues: str
    blocks: dict[str, str]
    strong: str
    weak: str


@cache
def language_rules(language: str) -> tuple[re.Pattern[str], re.Pattern[str], re.Pattern[str]]:
    """Compile the refusal rules of a language (``en``) to patterns: cues, strong and weak rules."""
    path = _DATA / f"{language}.yaml"
    file = validated(RuleFile, read_yaml(path), path)
    blocks: dict[str, str] = {}

    def fill(expression: str) -> str:
        """Replace each ``<NAME>`` in an expression by the block of that name."""
        return _BLOCK.sub(lambda name: blocks[name[1]], expression)

    for name, block in file.blocks.items():
        blocks[name] = f"(?:{fill(block)})"
    cues, strong, weak = (
        re.compile("|".join(fill(e) for e in group.splitlines() if not e.startswith("#")))
        for group in (file.cues, file.strong, file.weak)
    )
    return cues, strong, weak


def _matches(language: str, text: str, cites: bool) -> bool:
    """Whether the refusal rules of a language match a text given in lower case."""
    cues, strong, weak = language_rules(language)
    if cues.search(text) is None:
        return False
    return bool(strong.search(text) or (not cites and weak.search(text)))


def is_refusal(text: str, detector: str, cites: bool = False) -> bool:
    """Whether an answer is empty, or a refusal by the rules of the detector's languages.

    Args:
        text: without marks.
        detector: rules, see :func:`citeforge.schemas.refusals.checked_detector`.
        cites: whether the answer cites anything: then "there is no information" is about the
            world, unless it is about the evidence or the system itself.
    """
    whole = text.translate(_SAME_LETTERS).lower().strip()
    # Quoted text is not the answer's own words, unless it is the whole answer.
    own_words = _QUOTATION.sub(" ", whole)
    answer = own_words if any(map(str.isalnum, own_words)) else whole
    languages = detector.partition(":")[2].split(",")
    return not answer or any(_matches(one, answer, cites) for one in languages)
