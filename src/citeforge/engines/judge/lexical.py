"""The embedded baseline: containment of words and numbers. Not comparable with published scores."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any

from citeforge.engines.judge.records import Keep, Pair, Verdict

_WORD = re.compile(r"\w+")
_STOP = frozenset(
    """a an and are as at be been but by for from had has have he her his in is it its of on or
    she that the their they this to was were which who will with""".split()
)


class LexicalJudge:
    """Entailed when the premise holds every number of the hypothesis and most of its words.

    The share of the hypothesis' distinct content words found in the premise must reach the
    threshold. A hypothesis without content words is not entailed.
    """

    signature = "lexical@1"
    comparable = False
    threshold = 0.75

    def identity(self) -> dict[str, Any]:
        return {"name": "lexical", "version": 1, "threshold": self.threshold}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        words = cache(lambda text: frozenset(_WORD.findall(text.lower())))
        keep([(i, self._verdict(*map(words, pair))) for i, pair in enumerate(pairs)])

    def _verdict(self, premise: frozenset[str], hypothesis: frozenset[str]) -> Verdict:
        content = hypothesis - _STOP
        if not content:
            return Verdict(False, -1.0)
        share = len(content & premise) / len(content)
        numbers = {w for w in content if any(c.isdigit() for c in w)}
        entailed = share >= self.threshold and numbers <= premise
        margin = share - self.threshold if numbers <= premise else -1.0
        return Verdict(entailed, margin)
