"""Whether the check accepts each composed question of drafted domains about linked entities."""

import random
from collections.abc import Sequence

import pytest

from citeforge.builders.kalma.phrasing import compose
from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.selection import EntityPair
from citeforge.kg.domain import Domain
from citeforge.kg.drafts import DraftRelation, ValueSort, draft_phrasing
from citeforge.schemas.kg import Graph, Triple

NAMES = {"Q1": "Dornbach", "Q2": "Vellin"}
RELATIONS: dict[str, dict[str, tuple[str, ValueSort]]] = {
    # Class: property to (label, kind of its values); "own" ones link two entities.
    "canal": {
        "P974": ("tributary", "own"), "P403": ("mouth of the watercourse", "own"),
        "P205": ("basin country", "place"), "P17": ("country", "place"),
        "P177": ("crossed by", "thing"), "P885": ("origin of the watercourse", "place"),
        "P2043": ("length", "number"), "P900001": ("lock keeper", "person"),
    },
    "episode": {
        "P155": ("follows", "own"), "P156": ("followed by", "own"), "P57": ("director", "person"),
        "P161": ("cast member", "person"), "P577": ("publication date", "date"),
        "P136": ("genre", "thing"), "P495": ("country of origin", "place"),
        "P900002": ("sound stage", "place"),
    },
}  # fmt: skip
N_QUESTIONS = 60


def drafted(class_label: str) -> Domain:
    relations = [
        DraftRelation(pid, label, "verb" if label == "crossed by" else "noun", sort)
        for pid, (label, sort) in RELATIONS[class_label].items()
    ]
    words = draft_phrasing(class_label, relations).model_dump()
    return Domain.model_validate({"name": "d", "entity_class": "Q9", "questions": words})


def drawn_pair(class_label: str, rng: random.Random) -> EntityPair:
    """Two linked entities, each with one or two values of most relations."""
    links = [label for label, sort in RELATIONS[class_label].values() if sort == "own"]
    stated = Triple("Q1", NAMES["Q1"], "P1", rng.choice(links), NAMES["Q2"], "Q2")
    graphs = []
    for qid, name in NAMES.items():
        facts = [
            Triple(qid, name, "P1", label, f"value {qid} {number} of {n}")
            for number, (label, sort) in enumerate(RELATIONS[class_label].values())
            for n in range(rng.choice((0, 1, 2) if sort != "number" else (0, 1)))
        ]
        graphs.append(Graph(qid, name, (*([stated] if qid == "Q1" else []), *facts)))
    return EntityPair(*graphs, stated)


def asked_facts(pair: EntityPair, rng: random.Random) -> Sequence[Triple]:
    """All values of one to four relations of the pair's entities, without those that link them."""
    kinds = list(dict.fromkeys((t.qid, t.relation) for t in pair.pool if t != pair.link))
    chosen = rng.sample(kinds, min(len(kinds), rng.randint(1, 4)))
    return [t for t in pair.pool if (t.qid, t.relation) in chosen and t != pair.link]


@pytest.mark.parametrize("class_label", RELATIONS)
@pytest.mark.parametrize("form", ["specific", "general"])
def test_the_check_accepts_what_the_program_composes(class_label: str, form: str) -> None:
    domain = drafted(class_label)
    check = QuestionCheck(domain)
    refused, n_read = {}, 0
    for seed in range(N_QUESTIONS):
        rng = random.Random(seed)
        pair = drawn_pair(class_label, rng)
        facts = asked_facts(pair, rng)
        asks_link = rng.random() < 0.5
        question = compose(domain, pair, facts, asks_link, form == "general", rng).text
        gold = (pair.stated, *facts) if asks_link else tuple(facts)
        to_check = QuestionToCheck(question, gold, pair.pool, pair.link, form)
        (found,) = check.check([to_check])
        why = found.find_fault(to_check)
        if why is not None and "is longer than" in why:
            continue  # such a wording is not taken
        n_read += 1
        if why is not None:
            refused[question] = why
    assert refused == {}
    assert n_read > N_QUESTIONS / 3


def test_other_connections_than_the_link_are_a_theme() -> None:
    pair = drawn_pair("canal", random.Random(0))
    facts = [Triple(q, n, "P1", "crossed by", f"bridge {q}") for q, n in NAMES.items()]
    text = "With what else are Dornbach and Vellin each connected?"
    to_check = QuestionToCheck(text, tuple(facts), pair.pool, pair.link, "general")
    (found,) = QuestionCheck(drafted("canal")).check([to_check])
    assert found.find_fault(to_check) is None
