"""Choice of the facts of each question: whole themes of its entities, a drawn number of facts."""

from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations

from citeforge.builders.kalma.mentions import contains_value
from citeforge.builders.kalma.phrasing import compose, find_given_away, find_phrase
from citeforge.builders.kalma.selection import EntityPair, values_by_relation
from citeforge.builders.kalma.variation import Variation
from citeforge.engines.draws import generator
from citeforge.kg.classes import select_domain
from citeforge.kg.domain import Domain
from citeforge.kg.equivalence import Equivalence
from citeforge.schemas.kg import Key, Triple, relation_key
from citeforge.schemas.recipes.kalma import Choices

LINK_EVERY = 3
"""One question in so many asks what connects its entities; the others say it."""
GENERAL_WORDS = 20
"""Most words of a general question."""
_MOST_GROUPS = 3
_THEMELESS_GROUPS = 10
"""Groups that a choice is made from in a domain without themes: 1,012 choices of 8 at most."""
_COST = 6
_SAYS_AN_ANSWER = "pairs_whose_questions_say_an_answer"
_SHARES_FACTS = "pairs_without_free_themes"
_SAYS_THE_SAME = "pairs_whose_facts_say_the_same"
_IS_LONG = "pairs_with_a_long_general_question"
_CHECKS = (_SAYS_AN_ANSWER, _SHARES_FACTS, _SAYS_THE_SAME, _IS_LONG)
"""Reasons to reject a choice of facts, in the order in which choices are checked."""


@dataclass(frozen=True)
class FactGroup:
    """All facts of one entity in one theme.

    Attributes:
        qid: the entity.
        theme: name of the theme.
        facts: all that the graph has.
        n_wordless: facts that the domain has no clause for.
    """

    qid: str
    theme: str
    facts: tuple[Triple, ...]
    n_wordless: int


@dataclass(frozen=True)
class Plan:
    """Facts of one pair, and the questions for them.

    Attributes:
        facts: the minimum knowledge set; the link comes first where it is asked for.
        general: the general question of the template.
        specific: the specific one.
    """

    facts: tuple[Triple, ...]
    general: str
    specific: str


@dataclass(frozen=True)
class NoPlan:
    """Why a pair has no questions.

    Attributes:
        reason: key of the count of such pairs.
    """

    reason: str


class Planner:
    """Plans the questions of a benchmark one after the other, so that themes and facts vary."""

    def __init__(
        self, domain: Domain, choices: Choices, seed: int, equivalence: Equivalence
    ) -> None:
        """Start without plans of questions; the seed draws how many facts each plan gets."""
        self._domain, self._choices, self._seed = domain, choices, seed
        self._equivalence = equivalence
        self._used = Counter[str]()
        self._plans: list[set[Key]] = []
        self._n_links = self._n_pairs = 0
        self._variation = Variation(domain, seed)

    def plan(self, pair: EntityPair, stated_facts: Collection[Key] = ()) -> Plan | NoPlan:
        """Choose the facts that a question on two entities asks for, or say why none fit.

        The choice goes by: clauses of the domain, facts that the seed states, facts of both
        entities, the drawn number of facts, and themes that few questions have had.
        """
        rejected = set[str]()
        has_link = pair.link is not None
        is_due = has_link and LINK_EVERY * (self._n_links + 1) <= self._n_pairs + 1
        for asks_link in (True, False) if is_due else (False,):
            if (chosen := self._choose(pair, stated_facts, asks_link, rejected)) is not None:
                plan, groups = chosen
                plan = self._reword(pair, plan)
                self._n_links += asks_link
                self._n_pairs += has_link
                self._used.update({group.theme for group in groups})
                self._plans.append({t.key for t in plan.facts})
                return plan
        # The choice that came furthest failed by this check alone, as far as is known.
        return NoPlan(max(rejected, key=_CHECKS.index, default="pairs_without_facts"))

    def _choose(
        self, pair: EntityPair, stated_facts: Collection[Key], asks_link: bool, rejected: set[str]
    ) -> tuple[Plan, Sequence[FactGroup]] | None:
        """Choose a pair's facts to ask for: (plan, groups), or None; add reasons to ``rejected``.

        The reasons why choices are rejected are added to ``rejected``, as keys of the counts of
        pairs that are dropped for them.
        """
        link = (pair.stated,) if asks_link else ()
        low, high = self._choices.min_facts, self._choices.max_facts
        wanted = generator(self._seed, "kalma facts", pair.id).randint(low, high)

        def sort_key(groups: Sequence[FactGroup]) -> tuple[object, ...]:
            """Make the sort key of some (topic, entity) groups of facts; the best sorts first."""
            facts = [t for group in groups for t in group.facts]
            themes = [group.theme for group in groups]
            return (
                sum(group.n_wordless for group in groups),
                -sum(t.key in stated_facts for t in facts),
                len({group.qid for group in groups}) == 1,
                abs(len(link) + len(facts) - wanted) + sum(map(self._cost, sorted({*themes}))),
                [(group.theme, group.qid) for group in groups],
            )

        groups = list(self._find_groups(pair))
        themes = {t for g in pair.graphs for t in select_domain(self._domain, g).phrasing.themes}
        most = _MOST_GROUPS
        if not any(group.theme in themes for group in groups):
            # Without declared themes, each relation is a group of its own, of one fact or a few.
            groups, most = sorted(groups, key=lambda c: sort_key((c,)))[:_THEMELESS_GROUPS], high
        subsets = chain.from_iterable(combinations(groups, n) for n in range(1, most + 1))

        def fits(subset: Sequence[FactGroup]) -> bool:
            """Whether the number of facts in some groups is within the bounds."""
            return low <= len(link) + sum(len(group.facts) for group in subset) <= high

        # Small entities have a fact or two per theme: then two themes of both are asked for.
        fitting = list[Sequence[FactGroup]](filter(fits, subsets))
        fitting = fitting or list(filter(fits, _pair_themes(groups)))
        second: tuple[Plan, Sequence[FactGroup]] | None = None
        long_ones: list[tuple[Plan, Sequence[FactGroup]]] = []
        for subset in sorted(fitting, key=sort_key):
            plan = self._make_plan(pair, (*link, *(t for group in subset for t in group.facts)))
            if plan is None:
                rejected.add(_SAYS_AN_ANSWER)
                continue
            if self._repeats_a_plan(plan):
                rejected.add(_SHARES_FACTS)
                continue
            if self._has_restated(plan.facts):
                rejected.add(_SAYS_THE_SAME)
                continue
            n_words = len(plan.general.split())
            is_wordless = any(group.n_wordless for group in subset)
            if n_words > GENERAL_WORDS and not is_wordless:
                long_ones.append((plan, subset))
                continue
            names_both = all(g.name in plan.specific for g in pair.graphs)
            if names_both and (is_wordless or n_words < len(plan.specific.split())):
                return plan, subset
            second = second or (plan, subset)
        return second or self._shorten(pair, long_ones, rejected)

    def _shorten(
        self, pair: EntityPair, plans: Sequence[tuple[Plan, Sequence[FactGroup]]],
        rejected: set[str],
    ) -> tuple[Plan, Sequence[FactGroup]] | None:  # fmt: skip
        """Find the first plan with a short wording of its general question; None without one.

        Args:
            pair: the two entities.
            plans: plans whose general question is long in the domain's first wording.
            rejected: gets the reason if no wording of any of them is short.
        """
        for plan, groups in plans:
            text = self._variation.find_shortest_general(pair, plan.facts)
            if text is not None and len(text.split()) <= GENERAL_WORDS:
                return replace(plan, general=text), groups
        if plans:
            rejected.add(_IS_LONG)
        return None

    def _cost(self, theme: str) -> float:
        """Compute a question topic's penalty in facts, which grows with its number of uses."""
        return _COST * self._used[theme] / max(len(self._plans), 1)

    def _repeats_a_plan(self, plan: Plan) -> bool:
        """Whether a plan shares more facts with an earlier plan than the options allow."""
        keys = {t.key for t in plan.facts}
        return any(len(keys & other) > self._choices.max_shared for other in self._plans)

    def _has_restated(self, facts: Sequence[Triple]) -> bool:
        """Whether two of the given facts state the same, also by inverse or related relations."""
        return any(self._equivalence.same(a, b) for a, b in combinations(facts, 2))

    def _make_plan(self, pair: EntityPair, facts: tuple[Triple, ...]) -> Plan | None:
        """Compose the general and specific question for facts; None if one contains an answer."""
        asks_link = pair.link in facts
        asked = [t for t in facts if t != pair.link]
        general = compose(self._domain, pair, asked, asks_link, is_general=True).text
        specific = compose(self._domain, pair, asked, asks_link, is_general=False).text
        leak = find_given_away(general, asked) or find_given_away(specific, asked)
        return None if leak else Plan(facts, general, specific)

    def _reword(self, pair: EntityPair, plan: Plan) -> Plan:
        """Draw new wordings of a plan's questions with the same names, the general one short."""
        names = [g.name for g in pair.graphs if g.name in plan.specific]
        specific = self._variation.word(
            "specific", pair, plan.facts, (), lambda text: all(name in text for name in names)
        )
        n_words, most = len(plan.general.split()), len(specific.text.split()) - 1
        most = max(n_words, min(GENERAL_WORDS, most))
        names = [g.name for g in pair.graphs if g.name in plan.general]
        general = self._variation.word(
            "general", pair, plan.facts, specific.asks,
            lambda text: len(text.split()) <= most and all(name in text for name in names),
        )  # fmt: skip
        return Plan(plan.facts, general.text, specific.text)

    def _find_groups(self, pair: EntityPair) -> Iterator[FactGroup]:
        """Yield groups of facts on one (topic, entity), in which each fact can be asked for."""
        named = {g.qid: g.name for g in pair.graphs}
        domains = {g.qid: select_domain(self._domain, g) for g in pair.graphs}
        groups: dict[tuple[str, str], list[Triple]] = {}
        unnamed = (t for g in pair.graphs for t in g.unnamed)
        for values in values_by_relation((*pair.pool, *unnamed)).values():
            relation, domain = values[0].relation, domains[values[0].qid]
            if relation not in domain.uninformative:
                theme = find_phrase(domain, relation).theme
                mine = [t for t in values if t.value_id not in named]
                groups.setdefault((values[0].qid, theme), []).extend(mine)
        for (qid, theme), facts in groups.items():
            phrases = domains[qid].phrasing.phrases_by_key
            order = {label: at for at, label in enumerate(phrases)}
            facts.sort(key=lambda t: order.get(relation_key(t.relation), len(order)))
            facts = self._without_restated(facts)
            # Ids and values without words cannot be answers, and "X discography" is none about X.
            if facts and all(
                t.has_label and not any(contains_value(t.value, name) for name in named.values())
                for t in facts
            ):
                wordless = sum(relation_key(t.relation) not in phrases for t in facts)
                yield FactGroup(qid, theme, tuple(facts), wordless)

    def _without_restated(self, facts: Sequence[Triple]) -> list[Triple]:
        """Return facts without relations whose facts all restate those of other relations."""
        kept = list(facts)
        for relation in dict.fromkeys(t.relation for t in reversed(facts)):
            mine = [t for t in kept if t.relation == relation]
            others = [t for t in kept if t.relation != relation]
            if all(any(self._equivalence.same(t, other) for other in others) for t in mine):
                kept = others
        return kept


def _pair_themes(groups: Sequence[FactGroup]) -> Iterator[Sequence[FactGroup]]:
    """Yield four groups, of two topics and two entities, for every two topics they share."""
    by_theme: dict[str, list[FactGroup]] = {}
    for group in groups:
        by_theme.setdefault(group.theme, []).append(group)
    shared = [mine for mine in by_theme.values() if len(mine) > 1]
    return ((*one, *other) for one, other in combinations(shared, 2))
