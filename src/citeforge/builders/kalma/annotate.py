"""The seed with its facts marked, as the template writer does it: only what it really states."""

import re
from collections.abc import Sequence

from citeforge.builders.kalma.mentions import Mentions, words_in
from citeforge.kg.domain import Domain
from citeforge.schemas.benchmarks.kg import Triple
from citeforge.schemas.citations.triples import render
from citeforge.schemas.text import MONTHS

# Where another statement begins: sentences, and clauses that have a subject of their own.
_CLAUSE = re.compile(
    r"[.!?;]\s+|,?\s(?:but|while|whereas|whose|who|which|where|when|after|before)\s"
    r"|,?\sand\s(?=(?:his|her|their|he|she|it|they|the|[A-Z]\w*)\b)"
)


def marker(triple: Triple) -> str:
    """The citation of one triple."""
    return render(triple.qid, [(triple.relation, triple.value)])


def renderings(triple: Triple) -> list[str]:
    """Ways in which a text may give a value: dates as people write them, all else as it is."""
    if not triple.precision:
        return [triple.value]
    bare = triple.value.removesuffix(" BCE")
    parts = bare.split("-")
    forms = [triple.value, bare]
    if len(parts) > 1 and not 1 <= int(parts[1]) <= len(MONTHS):
        return forms  # a date as somebody else's graph has it
    if triple.precision in ("day", "unknown") and len(parts) == 3:
        year, month, day = str(int(parts[0])), MONTHS[int(parts[1]) - 1], str(int(parts[2]))
        forms += [f"{day} {month} {year}", f"{month} {day} {year}", f"{day} {month[:3]} {year}"]
    elif triple.precision == "month" and len(parts) == 2:
        forms.append(f"{MONTHS[int(parts[1]) - 1]} {int(parts[0])}")
    elif triple.precision == "year":
        forms.append(str(int(bare)))
    return forms


def annotate(text: str, pool: Sequence[Triple], domain: Domain, link: Triple) -> str:
    """The seed with citations of every fact that it states.

    The link between the two entities comes first; what only says it the other way round,
    uninformative relations, and values without a label, are left out. A fact is stated where its
    value stands as a mention of its own, in a clause about its entity, and behind the words that
    announce its relation where the domain knows such words.
    """
    others = [t for t in pool if t.key != link.key and t.relation not in domain.uninformative]
    inverse = set(domain.inverses(link.relation))
    others = [t for t in others if not (t.qid == link.value_id and t.relation in inverse)]
    mentions, names = Mentions.of(text, pool), {t.name for t in pool}
    facts = [t for t in others if t.value not in names and len(t.value) > 2 and t.has_label]
    places: dict[int, Triple] = {}
    for triple in [link, *sorted(facts, key=lambda t: t.qid != link.qid)]:
        for start, end in mentions.places(renderings(triple)):
            is_of_it = mentions.subject(start) == triple.qid
            if triple.key == link.key or (
                is_of_it and _is_announced(text, start, end, triple.relation, domain)
            ):
                # One mention rests on one fact: the first entity's comes first.
                places.setdefault(end, triple)
                break
    for end in sorted(places, reverse=True):
        text = f"{text[:end]} {marker(places[end])}{text[end:]}"
    return text


def _is_announced(text: str, start: int, end: int, relation: str, domain: Domain) -> bool:
    """Whether the nearest cue of the clause is one of this relation, where it has cues."""
    cues = domain.single_valued.get(relation)
    if not cues:
        return True
    begin, stop = _clause(text, start, end)
    every = {cue for words in domain.single_valued.values() for cue in words}
    places = [(m.start(), c) for c in sorted(every) for m in words_in(text[begin:stop], [c])]
    before = [(at, cue) for at, cue in places if begin + at < start]
    nearest = max(before) if before else min(places, default=None)
    return nearest is not None and nearest[1] in cues


def _clause(text: str, start: int, end: int) -> tuple[int, int]:
    """Where the clause of a mention begins and ends."""
    begin, stop = 0, len(text)
    for match in _CLAUSE.finditer(text):
        if match.end() <= start:
            begin = match.end()
        elif match.start() >= end:
            stop = match.start()
            break
    return begin, stop
