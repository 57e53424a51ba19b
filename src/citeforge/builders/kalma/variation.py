"""Choice of the wordings of each question, so that the questions of a benchmark vary."""

import random
import re
from collections import Counter
from collections.abc import Callable, Collection, Sequence

from citeforge.builders.kalma.phrasing import Composed, compose, find_given_away
from citeforge.builders.kalma.selection import EntityPair
from citeforge.engines.draws import generator
from citeforge.engines.text.names import mask_names
from citeforge.engines.text.variety import find_opener, word_runs
from citeforge.kg.domain import Domain
from citeforge.schemas.kg import Triple

LONG = 30
"""Words above which shorter wordings are better."""
_STILTED = re.compile(r"\bX's? (?:[a-z]+ )+X's?(?= )|\bof (?:them|him|her|it)\b")
"""Stilted words, with X for names: ``Byron's daughter Ada's birth``, ``the birth of her``."""
_NUMBERS = range(100)
"""Numbers of the wordings that are drawn for each question; the best one is taken."""


class Variation:
    """Draws wordings of each question, and takes the one that repeats earlier questions least.

    Questions are worded one after the other; those of one form are compared with each other.
    """

    def __init__(self, domain: Domain, seed: int) -> None:
        """Start without earlier questions to differ from; the seed draws the wordings."""
        self._domain, self._seed = domain, seed
        self._openers = {"specific": Counter[str](), "general": Counter[str]()}
        self._runs = {"specific": Counter[tuple[str, ...]](), "general": Counter[tuple[str, ...]]()}

    def word(
        self, form: str, pair: EntityPair, facts: Sequence[Triple],
        avoided_templates: Collection[str], is_allowed: Callable[[str], bool],
    ) -> Composed:  # fmt: skip
        """Draw wordings of a question; record and return the least stilted, long and repetitive.

        Args:
            form: ``specific`` or ``general``.
            pair: entities that it names.
            facts: what it asks for, the link included where it is asked for.
            avoided_templates: templates of clauses to avoid, where the domain has others.
            is_allowed: whether a wording may be taken; the domain's first one always may.
        """
        names = [g.name for g in pair.graphs]
        openers, runs = self._openers[form], self._runs[form]

        def cost(question: Composed) -> tuple[float, ...]:
            """Compute a wording's cost: stilted phrases, length, words of earlier questions."""
            masked = mask_names(question.text, names)
            runs_in_order = word_runs(masked)
            mine = {*runs_in_order}
            return (
                len(question.asks)
                - len({*question.asks})
                + len({*question.asks} & {*avoided_templates}),
                len(_STILTED.findall(masked)) + len(runs_in_order) - len(mine),
                max(0, len(question.text.split()) - LONG),
                openers[find_opener(masked)] + openers[find_opener(question.text)],
                sum(run in runs for run in mine) / max(1, len(mine)),
            )

        drawn = self._draw(form, pair, facts, avoided_templates)
        fitting = [question for question in drawn if is_allowed(question.text)]
        if not fitting and avoided_templates:
            # Where all of these are too long, one with an avoided template may be short enough.
            drawn = self._draw(form, pair, facts, ())
            fitting = [question for question in drawn if is_allowed(question.text)]
        asked = [t for t in facts if t != pair.link]
        first = compose(self._domain, pair, asked, len(asked) < len(facts), form == "general")
        best = min(fitting, key=cost, default=first)
        masked = mask_names(best.text, names)
        openers.update({find_opener(masked), find_opener(best.text)})
        runs.update({*word_runs(masked)})
        return best

    def find_shortest_general(self, pair: EntityPair, facts: Sequence[Triple]) -> str | None:
        """Find the shortest wording of a general question on facts; None if all tell an answer.

        Args:
            pair: entities that it names.
            facts: what it asks for, the link included where it is asked for.
        """
        texts = (question.text for question in self._draw("general", pair, facts, ()))
        return min(texts, key=lambda text: len(text.split()), default=None)

    def _draw(
        self, form: str, pair: EntityPair, facts: Sequence[Triple],
        avoided_templates: Collection[str],
    ) -> list[Composed]:  # fmt: skip
        """Draw wordings of a question, the domain's first one last; omit those with an answer.

        Args:
            form: ``specific`` or ``general``.
            pair: entities that it names.
            facts: what it asks for, the link included where it is asked for.
            avoided_templates: templates of clauses to avoid, where the domain has others.
        """
        asked = [t for t in facts if t != pair.link]
        draws: list[random.Random | None] = [
            generator(self._seed, "kalma wording", form, pair.id, n) for n in _NUMBERS
        ]
        drawn = (
            compose(
                self._domain, pair, asked, len(asked) < len(facts), form == "general", draw,
                avoided_templates,
            )
            for draw in [*draws, None]
        )  # fmt: skip
        return [question for question in drawn if find_given_away(question.text, asked) is None]
