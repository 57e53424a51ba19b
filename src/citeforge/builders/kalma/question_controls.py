"""Controls of the check of questions: composed questions with one known fault each."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from citeforge.builders.kalma.phrasing import compose
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.selection import EntityPair
from citeforge.builders.shares import share_with_interval
from citeforge.kg.domain import Domain
from citeforge.schemas.counts import count_key
from citeforge.schemas.kg import Triple, relation_key

RIGHT = "right"
KINDS = ("one fact of one entity left out", "entities exchanged", "one fact added")
_PAIRS = 50
"""Pairs at most by which a check of questions is measured."""


@dataclass(frozen=True)
class Control:
    """A composed question with a known fault, or without one.

    Attributes:
        fault: one of ``KINDS``; ``RIGHT`` for none.
        asking: the question with the facts that it should ask for.
    """

    fault: str
    asking: QuestionToCheck


def control_questions(
    domain: Domain, pairs: Iterable[tuple[EntityPair, Sequence[Triple]]]
) -> Iterator[Control]:
    """Compose correct and deliberately faulty questions, to measure a question check's errors.

    Args:
        domain: has the words.
        pairs: linked entities, each with the gold facts of its question.
    """
    for pair, gold in islice(pairs, _PAIRS):
        asks_link = pair.link in gold
        facts = [t for t in gold if t != pair.link]
        for fault, asked in [(RIGHT, facts), *_spoil_facts(domain, pair, facts)]:
            text = compose(domain, pair, asked, asks_link, is_general=False).text
            yield Control(fault, QuestionToCheck(text, tuple(gold), pair.pool, pair.link))


def _spoil_facts(
    domain: Domain, pair: EntityPair, facts: Sequence[Triple]
) -> Iterator[tuple[str, list[Triple]]]:
    """Yield (kind of fault, facts that a question with it asks for) for each possible fault."""
    asked = {(t.qid, relation_key(t.relation)) for t in facts}
    left_out, exchanged, added = KINDS
    first = (facts[0].qid, relation_key(facts[0].relation))
    if len(asked) > 1:
        yield left_out, [t for t in facts if (t.qid, relation_key(t.relation)) != first]
    turn = dict(zip((g.qid for g in pair.graphs), pair.graphs[::-1], strict=True))
    swapped = [replace(t, qid=turn[t.qid].qid, name=turn[t.qid].name) for t in facts]
    if {(t.qid, relation_key(t.relation)) for t in swapped} != asked:
        yield exchanged, swapped
    for triple in pair.pool:
        has_words = triple.has_label and domain.phrasing.phrase(triple.relation) is not None
        is_new = (triple.qid, relation_key(triple.relation)) not in asked
        if has_words and is_new and triple.value_id not in turn:
            yield added, [*facts, triple]
            return


def error_stats(check: QuestionCheck, controls: Iterable[Control]) -> dict[str, str]:
    """Measure how often a check refuses correct questions, and accepts each kind of faulty ones.

    A model is asked about every question, also where the rules alone would do.
    """
    rows = list(controls)
    found = check.check([c.asking for c in rows], asks_model=True)
    hits = {fault: [0, 0] for fault in (RIGHT, *KINDS)}
    for control, result in zip(rows, found, strict=True):
        if result.failure:
            continue  # counted by the check
        is_accepted = result.find_fault(control.asking) is None
        hits[control.fault][0] += is_accepted != (control.fault == RIGHT)
        hits[control.fault][1] += 1
    stats = {"question_check_refused": share_with_interval(*hits[RIGHT])}
    for fault in KINDS:
        stats[count_key("question_check_accepted", fault)] = share_with_interval(*hits[fault])
    return stats
