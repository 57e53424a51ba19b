"""Causes that a rewrite turns into effects, or into things that did not prevent the effect."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from citeforge.builders.authorship.agreement import compile_words, read_words
from citeforge.builders.authorship.alignment import Alignment, find_stems

_END = re.compile(r"[,;:.()]")


@dataclass(frozen=True)
class _Cause:
    """Stems of the words for a cause and for its effect in one sentence, without numbers."""

    cause: frozenset[str]
    effect: frozenset[str]


def find_turned_causes(alignment: Alignment, language: str) -> Iterator[str]:
    """Describe causes that a rewrite exchanges with their effects, or denies: "despite".

    Args:
        alignment: passage and rewrite.
        language: that of the passage.
    """
    for i, j in sorted(alignment.links):
        before, after = alignment.before[i].text, alignment.after[j].text
        twins = _find_causes(after, language)
        for old in _find_causes(before, language):
            for new in twins:
                if old.cause & new.effect and old.effect & new.cause and not (
                    old.cause & new.cause or old.effect & new.effect
                ):  # fmt: skip
                    cause = " ".join(sorted(old.cause & new.effect))
                    yield f"cause and effect exchanged: {cause!r}"
        yield from _find_denied_causes(before, after, language)


def _find_causes(text: str, language: str) -> list[_Cause]:
    """List the causes that a sentence names, with their effects."""
    before_cause, before_effect = (
        read_words(language, "causation", name) for name in ("before_cause", "before_effect")
    )
    is_before_cause = compile_words(before_cause).fullmatch
    found = list[_Cause]()
    for match in compile_words(f"{before_cause} {before_effect}").finditer(text):
        left, right = text[: match.start()], text[match.end() :]
        if not is_before_cause(match.group()):
            parts = left, right
        elif find_stems(left):
            parts = right, left
        else:  # "Because it rained, the match was off."
            first, _, rest = right.partition(",")
            parts = first, rest
        cause, effect = map(_words, parts)
        found.append(_Cause(cause - effect, effect - cause))
    return found


def _words(text: str) -> frozenset[str]:
    """Find the stems of content words in a text; dates may be with cause or effect."""
    return frozenset(stem for stem in find_stems(text) if not stem[0].isdigit())


def _find_denied_causes(before: str, after: str, language: str) -> Iterator[str]:
    """Describe clauses behind "because" or "as" in one sentence and "although" in the other."""
    concession = compile_words(read_words(language, "causation", "concession"))
    reason = compile_words(read_words(language, "causation", "reason"))
    reasons, concessions = ([_END.split(before[m.end() :])[0] for m in words.finditer(before)]
                            for words in (reason, concession))  # fmt: skip
    for match in concession.finditer(after):
        clause = find_stems(_END.split(after[match.end() :])[0])
        shared, usual = (
            max((len(clause & find_stems(text)) for text in texts), default=0)
            for texts in (reasons, concessions)
        )
        if 2 * shared > len(clause) and shared > usual:
            yield f"a reason is behind {match.group().lower()!r}"
