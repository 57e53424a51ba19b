"""Negatives of hidden contexts, chosen so that how often a passage is shown reveals no label.

A reader of the public half can count in how many contexts a passage is shown. Drawn query by query,
negatives come from the whole corpus and relevant passages do not, so rare passages are relevant.
And who can search the corpus sees how many of the shown passages are near the query: as many more
as are relevant. So all queries are drawn for together:

- Every passage that is shown is shown ``repeats`` times, or as many times more as it is relevant to
  more queries. A passage that is relevant to none is treated like one drawn from those that are.
- Every context has the same number of near passages, relevant ones among them.
- Near negatives are those that share most with the query in words, as relevant passages do. Words
  are counted in whole numbers, which are the same on every processor.
- Far negatives are passages that are shown to other queries, as often as is left for them.
- Negatives have the forms of the query's relevant passages where there are such passages (see
  ``form``): far ones are exchanged between queries for that, too.
"""

import random
import re
from collections import Counter, deque
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise

import numpy as np
import numpy.typing as npt

from citeforge.builders.rage.form import Forms
from citeforge.engines.draws import generator
from citeforge.schemas.recipes.rage import RageRecipe

_WORD = re.compile(r"\w+")
_ROUNDS = 50
"""Rounds of exchanging far negatives between queries, and tries in each."""
_FORM_ROUNDS = 10
"""First rounds, in which passages of another form than is wanted are exchanged, too."""

Pairs = set[tuple[int, str]]
"""(row of a query, passage)."""
Refused = Callable[[Pairs], Pairs]
"""Function that selects, of some pairs, those whose passage must not be a negative of the query."""


@dataclass(frozen=True)
class Candidates:
    """Passages that may be shown for one query.

    Attributes:
        relevant: to be shown.
        near: seemingly relevant ones, those to be preferred first.
        far: drawn from the corpus, all of them allowed.
    """

    relevant: Sequence[str]
    near: Sequence[str]
    far: Sequence[str]


@dataclass
class Chosen:
    """Chosen negatives of all queries.

    Attributes:
        near: seemingly relevant passages by query.
        far: irrelevant passages by query.
        repeats: how often a passage that is relevant to one query is shown.
        n_short: slots of near negatives that had to be filled with far ones.
        n_uneven: slots that were filled whatever the frequencies.
        n_unlike: negatives of another form than the relevant passages of their query.
    """

    near: list[list[str]]
    far: list[list[str]]
    repeats: int
    n_short: int = 0
    n_uneven: int = 0
    n_unlike: int = 0


def count_near_candidates(recipe: RageRecipe, n_relevant: Sequence[int]) -> npt.NDArray[np.int64]:
    """Compute how many near (seemingly relevant) candidates per query hidden labels require.

    Args:
        recipe: recipe of the build.
        n_relevant: relevant passages of each query.
    """
    mixture, most = recipe.mixtures[0], recipe.mining.seemingly_relevant
    counts = np.array(n_relevant, np.int64)
    n_missing = mixture.relevant + mixture.seemingly_relevant - np.minimum(counts, mixture.relevant)
    n_wanted: npt.NDArray[np.int64] = np.maximum(most + 1 - counts, n_missing + 1) * (most > 0)
    return n_wanted


def sort_by_shared_words(
    query: str, passage_ids: Sequence[str], texts: Mapping[str, str], weights: Mapping[str, int]
) -> list[str]:
    """Sort passages by the weight of the words that they share with a query; stable.

    Args:
        query: its text.
        passage_ids: ids of passages.
        texts: passage id to text.
        weights: word weights from :func:`word_weights`.
    """
    words = set(_WORD.findall(query.casefold()))

    def shared_weight(passage: str) -> int:
        """Sum the weights of the words that a passage (id) shares with the query."""
        shared = words & set(_WORD.findall(texts[passage].casefold()))
        return sum(weights.get(word, 0) for word in shared)

    return sorted(passage_ids, key=shared_weight, reverse=True)


def word_weights(texts: Iterable[str]) -> dict[str, int]:
    """Map each word in given texts to an integer weight, which is higher for rarer words."""
    found = [set(_WORD.findall(text.casefold())) for text in texts]
    counts = Counter(word for words in found for word in words)
    return {word: (len(found) // n).bit_length() for word, n in counts.items()}


def choose_negatives(
    queries: Sequence[Candidates],
    context_size: int,
    n_relevant_or_near: int,
    seed: int,
    find_forbidden: Refused,
    forms: Forms | None = None,
) -> Chosen:
    """Choose all queries' negatives: shown as often as relevant passages, of wanted ``forms``.

    That number of repeats is taken with which most slots can be filled by the rules; of several,
    that with most passages of the forms that are wanted, and of these the smallest.

    Args:
        queries: candidates of each query.
        context_size: passages of a context.
        n_relevant_or_near: passages of a context that are relevant or seem so.
        seed: secret seed of the draws.
        find_forbidden: says which far negatives may not be.
        forms: forms that negatives are to have; None where any will do.

    Returns:
        Negatives, ``context_size`` with the relevant ones; fewer without more candidates.
    """
    forms = forms or Forms()
    weights = Counter(p for query in queries for p in query.relevant)
    most = min(
        context_size * len(queries) // max(1, weights.total()),
        len(queries) // max(weights.values(), default=1),
    )
    plans = [
        _Plan(
            queries,
            weights,
            context_size,
            n_relevant_or_near,
            repeats,
            generator(seed, "hidden", repeats),
            forms,
        )
        for repeats in range(1, max(1, most) + 1)
    ]
    best = min(plans, key=lambda plan: (plan.n_short + plan.left, plan.n_unlike, plan.repeats))
    far, n_uneven = _deal_far_negatives(best, find_forbidden)
    near = list(map(list, best.chosen))
    n_unlike = sum(
        forms.distance(row, slot, passage) > 0
        for row, (ids, others) in enumerate(zip(near, far, strict=True))
        for slot, passage in enumerate([*ids, *others])
    )
    return Chosen(near, far, best.repeats, best.n_short, n_uneven, n_unlike)


@dataclass
class _Plan:
    """Plan for one number of repeats: near negatives of all queries, and times left per passage.

    Attributes:
        left: slots for which there is no passage yet.
        rest: passage to the number of times that it is still to be shown.
        chosen: near negatives by query.
    """

    queries: Sequence[Candidates]
    weights: Counter[str]
    size: int
    n_near: int
    repeats: int
    rng: random.Random
    forms: Forms
    left: int = 0
    rest: dict[str, int] = field(default_factory=dict)
    chosen: list[dict[str, None]] = field(default_factory=list)
    _users: dict[str, dict[int, None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Assign near negatives to queries; plan passages for the contexts' remaining positions."""
        self.left = self.size * len(self.queries) - self.repeats * self.weights.total()
        self.rest = {p: (self.repeats - 1) * w for p, w in self.weights.items()}
        self.chosen = [{} for _ in self.queries]
        self._assign_in_turns()
        for row in range(len(self.queries)):
            while self._n_missing(row) and self._free_candidate(row):
                pass
        more = list(dict.fromkeys(p for query in self.queries for p in query.far))
        self.rng.shuffle(more)
        for passage in self._put_missing_forms_first(more):
            if passage not in self.rest and self.left:
                self._admit(passage, self.left)

    def _put_missing_forms_first(self, passages: list[str]) -> list[str]:
        """Put passages first whose form (title, …) is still missing among the planned ones.

        Each one that comes first counts ``repeats`` times, for it will be shown so often.
        """
        wanted = self._missing_forms()
        first: list[str] = []
        for passage in passages:
            if passage in self.rest or passage not in self.forms.passages:
                continue
            kind = self.forms.revealing_values(self.forms.passages[passage])
            if wanted[kind] > 0:
                wanted[kind] -= self.repeats
                first.append(passage)
        taken = set(first)
        return first + [p for p in passages if p not in taken]

    def _missing_forms(self) -> Counter[tuple[object, ...]]:
        """Count the wanted negatives of each form (title, length, …) that are not planned yet."""
        forms = self.forms
        missing = forms.count_wanted([self.size - len(q.relevant) for q in self.queries])
        if missing:
            near = Counter(p for of_query in self.chosen for p in of_query)
            for passage, number in (near + Counter(self.rest)).items():
                missing[forms.revealing_values(forms.passages[passage])] -= number
        return missing

    @property
    def n_unlike(self) -> int:
        """Number of negatives for which no passage has the wanted form (title, length, …)."""
        return sum(number for number in self._missing_forms().values() if number > 0)

    @property
    def n_short(self) -> int:
        """Number of seemingly relevant (near) negatives that all queries together still need."""
        return sum(map(self._n_missing, range(len(self.queries))))

    def _n_missing(self, query_index: int) -> int:
        """Count the seemingly relevant (near) negatives that a query still needs."""
        mine = self.queries[query_index]
        return max(0, self.n_near - len(mine.relevant) - len(self.chosen[query_index]))

    def _admit(self, passage: str, max_slots: int) -> bool:
        """Plan to show a negative as often as relevant ones; return whether open positions suffice.

        Args:
            passage: id of the passage.
            max_slots: slots that it may take where fewer are left than a relevant one takes.

        Returns:
            Whether there were enough slots left.
        """
        weights = list(self.weights.values()) or [1]
        number = self.repeats * self.rng.choice(weights)
        number = number if number <= self.left else min(self.repeats, max_slots)
        if number > self.left:
            return False
        self.rest[passage] = number
        self.left -= number
        return True

    def _assign(self, query_index: int, passage: str) -> None:
        """Assign a passage to a query as a seemingly relevant (near) negative."""
        self.rest[passage] -= 1
        self.chosen[query_index][passage] = None
        self._users.setdefault(passage, {})[query_index] = None

    def _assign_in_turns(self) -> None:
        """Assign near negatives in turns, from the nearest; queries with more relevant ones later.

        Relevant passages have the first slots of their query, so that the nearest negatives are
        there as often as relevant passages would be.
        """
        rows = list(range(len(self.queries)))
        for turn in range(max((len(q.relevant) + len(q.near) for q in self.queries), default=0)):
            self.rng.shuffle(rows)
            for row in rows:
                mine = self.queries[row]
                slot = turn - len(mine.relevant)
                if not 0 <= slot < len(mine.near) or not self._n_missing(row):
                    continue
                passage = mine.near[slot]
                if passage not in self.rest and not self._admit(passage, 0):
                    continue
                if self.rest[passage]:
                    self._assign(row, passage)

    def _free_candidate(self, query_index: int) -> bool:
        """Find one more near negative for a query by exchanges; return whether there was one.

        Args:
            query_index: number of the query.

        Returns:
            Whether one was found.
        """
        came_from: dict[str, int] = {}
        given_away: dict[int, str] = {}
        waiting = deque([query_index])
        while waiting:
            asking = waiting.popleft()
            for passage in self.queries[asking].near:
                is_new = passage not in self.chosen[asking] and passage not in came_from
                if not is_new or passage not in self.rest:
                    continue
                came_from[passage] = asking
                if self.rest[passage]:
                    self._reassign_along(query_index, passage, came_from, given_away)
                    return True
                for user in self._users.get(passage, ()):
                    if user != query_index and user not in given_away:
                        given_away[user] = passage
                        waiting.append(user)
        return False

    def _reassign_along(
        self, query_index: int, passage: str, taker_of: dict[str, int], given_away: dict[int, str]
    ) -> None:
        """Reassign near negatives along a chain of exchanges, from its end back to its query.

        Args:
            query_index: number of the query that gets one more.
            passage: passage at the end of the chain, which is still to be shown.
            taker_of: passage to the query that is to get it.
            given_away: query to the passage that it gives away for that.
        """
        while True:
            taker = taker_of[passage]
            self._assign(taker, passage)
            if taker == query_index:
                return
            passage = given_away[taker]
            del self.chosen[taker][passage], self._users[passage][taker]
            self.rest[passage] += 1


class _Deal:
    """Irrelevant (far) passages dealt out to the open slots of all contexts.

    Attributes:
        dealt: passages in the order of the slots; those beyond the last slot are spare.
        slots: number of the query that each slot is of.
        ends: first slot of each query, and the number of slots.
        shown: passages that a query shows already, or could show as near ones.
        n: number of slots that got a passage.
        barred: pairs of query and passage that must not be.
    """

    def __init__(self, plan: _Plan) -> None:
        """Deal out the planned far passages to the open slots of contexts, in random order."""
        queries = plan.queries
        self.plan = plan
        self.dealt = [p for p, number in plan.rest.items() for _ in range(number)]
        plan.rng.shuffle(self.dealt)
        self.shown = [
            {*q.relevant, *near, *q.near} for q, near in zip(queries, plan.chosen, strict=True)
        ]
        sizes = [plan.size - len(q.relevant) - len(plan.chosen[i]) for i, q in enumerate(queries)]
        self.slots = [row for row, number in enumerate(sizes) for _ in range(number)]
        self.ends = list(accumulate(sizes, initial=0))
        self.n = min(len(self.slots), len(self.dealt))
        self.barred: Pairs = set()

    def pairs(self) -> Pairs:
        """Return the (query number, far passage) pairs as dealt out now."""
        return set(zip(self.slots[: self.n], self.dealt[: self.n], strict=True))

    def fits(self, slot: int) -> bool:
        """Whether the passage dealt to a slot of a query's context may be shown there."""
        row, passage = self.slots[slot], self.dealt[slot]
        mine = self.dealt[self.ends[row] : min(self.ends[row + 1], self.n)]
        return (
            passage not in self.shown[row]
            and (row, passage) not in self.barred
            and mine.count(passage) == 1
        )  # fmt: skip

    def count_differences(self, slot: int, passage: str) -> int:
        """Count the features (title, …) in which a passage differs from those wanted at a slot."""
        if slot >= self.n:
            return 0
        row, plan = self.slots[slot], self.plan
        return plan.forms.distance(row, len(plan.chosen[row]) + slot - self.ends[row], passage)

    def exchange(self, slot: int) -> None:
        """Try to exchange a slot's passage with another slot's that fits, or fits better."""
        dealt = self.dealt
        is_wrong, before = not self.fits(slot), self.count_differences(slot, dealt[slot])
        for _ in range(_ROUNDS):
            # What was dealt beyond the last slot may be exchanged, too.
            other = self.plan.rng.randrange(len(dealt))
            change = self.count_differences(slot, dealt[other]) - before
            change += self.count_differences(other, dealt[slot])
            change -= self.count_differences(other, dealt[other])
            if not is_wrong and change >= 0:
                continue
            dealt[slot], dealt[other] = dealt[other], dealt[slot]
            if self.fits(slot) and (other >= self.n or self.fits(other)):
                return
            dealt[slot], dealt[other] = dealt[other], dealt[slot]


def _deal_far_negatives(plan: _Plan, find_forbidden: Refused) -> tuple[list[list[str]], int]:
    """Choose irrelevant (far) passages: (ids per query, number of them not planned).

    What is still to be shown is dealt out, and exchanged between queries until all may have what
    they got.

    Args:
        plan: relevant and near passages of each query, and times left per passage.
        find_forbidden: selects the pairs that must not be.

    Returns:
        (far passages of each query, number of them that the plan did not provide).
    """
    deal, asked = _Deal(plan), Pairs()
    for number in range(_ROUNDS + 1):
        new = deal.pairs() - asked
        deal.barred |= find_forbidden(new)
        asked |= new
        wrong = [slot for slot in range(deal.n) if not deal.fits(slot)]
        if number == _ROUNDS:  # what is exchanged must be asked about once more
            break
        if number < _FORM_ROUNDS:
            wrong = [
                slot
                for slot in range(deal.n)
                if not deal.fits(slot) or deal.count_differences(slot, deal.dealt[slot])
            ]
        if not wrong:
            break
        for slot in wrong:
            deal.exchange(slot)
    far: list[list[str]] = []
    n_uneven = len(deal.dealt) - deal.n
    for row, (start, end) in enumerate(pairwise(deal.ends)):
        fitting = (deal.dealt[i] for i in range(start, min(end, deal.n)) if deal.fits(i))
        mine = list(dict.fromkeys(fitting))
        others = [p for p in plan.queries[row].far if p not in deal.shown[row] and p not in mine]
        more = plan.rng.sample(others, min(end - start - len(mine), len(others)))
        n_uneven += len(more)
        far.append(mine + more)
    return far, n_uneven
