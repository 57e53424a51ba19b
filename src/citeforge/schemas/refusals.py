"""What a refusal looks like: rules of several languages, or the question for a judge."""

from __future__ import annotations

import re
from functools import cache

from citeforge.schemas.refusal_rules.english import ENGLISH
from citeforge.schemas.refusal_rules.european import FRENCH, GERMAN, SPANISH
from citeforge.schemas.refusal_rules.others import CHINESE, DUTCH, ITALIAN, PORTUGUESE
from citeforge.schemas.refusal_rules.search import Rules

RULES = {
    "de": GERMAN,
    "en": ENGLISH,
    "es": SPANISH,
    "fr": FRENCH,
    "it": ITALIAN,
    "nl": DUTCH,
    "pt": PORTUGUESE,
    "zh": CHINESE,
}
"""Language to expressions, one of which an answer must hold somewhere to be a refusal.

That something "is not mentioned" or "is not known" is an answer, unless it is said of what was
shown, or by who answers.
"""
VERSION = 2
"""Of the expressions; it stands in signatures."""
JUDGE = "judge"
HYPOTHESIS = "The text says that the question cannot be answered."
"""What a judge is asked about an answer, which is the premise."""


def checked_detector(given: str) -> str:
    """A detector of refusals as it is declared: ``rules:LANG[,LANG…]`` or ``judge``.

    Raises:
        ValueError: rules without a language, or of one that there are no rules for.
    """
    name, _, languages = given.partition(":")
    if given == JUDGE:
        return given
    known = ", ".join(sorted(RULES))
    if name != "rules":
        raise ValueError(f"{given!r} detects no refusals; rules:LANG[,LANG…] ({known}) or judge")
    wanted = [one.strip() for one in languages.split(",") if one.strip()]
    if not wanted:
        raise ValueError(
            f"rules need a language: an answer in another one would never be a refusal; write "
            f"rules:LANG[,LANG…] with {known}"
        )
    strange = [one for one in wanted if one not in RULES]
    if strange:
        raise ValueError(f"there are no rules for the language {strange[0]!r}; known: {known}")
    return "rules:" + ",".join(dict.fromkeys(wanted))


def signed_detector(detector: str | None) -> str | None:
    """What signatures say of a detector: its languages, and the version of the rules."""
    if detector is None or detector == JUDGE:
        return detector and f"refusals={JUDGE}"
    return f"refusals={detector.replace(':', '-')}@{VERSION}"


_QUOTED = re.compile(r"[\"“„«][^\"“”„«»\n]{1,200}[\"“”»]")
_STRAIGHT = str.maketrans({**dict.fromkeys("’‘ʼ´", "'"), "\u00a0": " ", "\u202f": " "})


@cache
def _rules(detector: str, cites: bool) -> Rules:
    chosen = [RULES[one] for one in detector.partition(":")[2].split(",")]
    return Rules.of(
        rule for one in chosen for rule in (one.strong if cites else one.strong + one.weak)
    )


def is_refusal(text: str, detector: str, cites: bool = False) -> bool:
    """Whether an answer says that it gives none; an empty one does.

    Args:
        text: without marks.
        detector: see :func:`checked_detector`; rules.
        cites: whether the answer cites anything: then "there is no information" is said of the
            world, unless it is said of what was shown or by who answers.
    """
    straight = text.translate(_STRAIGHT).strip()
    # What stands in quotation marks is somebody else's word, unless it is the whole answer.
    plain = _QUOTED.sub(" ", straight)
    said = plain if any(map(str.isalnum, plain)) else straight
    return not straight or _rules(detector, cites).match(said)
