"""Citations of triples: ``[Q212657, place of birth: Rome, occupation: painter]`` and ``[NA]``.

Relations and values may themselves hold commas, colons and brackets. What is known — the relations
and values of the shown graph, then all relations of the benchmark — is therefore matched first, the
longest first, and only the rest is read by its punctuation.
"""

import re
from collections.abc import Iterable
from typing import NamedTuple

from citeforge.schemas.benchmarks.kg import NAME, SAME_RELATIONS, Key, Triple, relation_key
from citeforge.schemas.citations.grammar import Marker, Parsed

_OPEN = re.compile(r"\[\s*(?:qid\s*:\s*)?(?P<qid>[QqLl]\d+)(?=\s*[,\]:])")
_NA = re.compile(r"\[\s*NA\s*\]")
_CITES = re.compile(rf"{_OPEN.pattern}|{_NA.pattern}")
_ALSO: dict[str, list[str]] = {}
for _own, _wikidata in SAME_RELATIONS.items():
    _ALSO.setdefault(relation_key(_own), []).extend((_own, _wikidata))


def _spellings(relation: str) -> tuple[str, ...]:
    """A relation as it is, and by its other name where BioKaLMA and Wikidata have two."""
    return tuple(dict.fromkeys((relation, *_ALSO.get(relation_key(relation), ()))))


class _Fact(NamedTuple):
    """What may be cited: a spelling of its relation, and the two as the graph has them."""

    spelling: str
    relation: str
    value: str


def render(qid: str, facts: Iterable[tuple[str, str]]) -> str:
    """A citation of several relations and values of one entity."""
    return f"[{', '.join([qid, *(f'{relation}: {value}' for relation, value in facts)])}]"


class TripleGrammar:
    """Reads citations of one shown graph.

    Attributes:
        brackets: after :meth:`parse`, the citations of each bracket, by the number that its
            marker carries: relation and value as the shown graph has them, else as written; empty
            where there is none.
    """

    def __init__(self, triples: Iterable[Triple], relations: Iterable[str] = ()) -> None:
        """Take in what may be cited.

        Args:
            triples: triples of the shown graph.
            relations: further known relation names.
        """
        self._facts: dict[str, list[_Fact]] = {}
        self._names: dict[str, set[str]] = {}
        labels = {NAME, *relations}
        for triple in triples:
            qid, name = triple.qid.upper(), squeeze(triple.name)
            facts = self._facts.setdefault(qid, [])
            facts += [_Fact(r, triple.relation, triple.value) for r in _spellings(triple.relation)]
            if name not in self._names.setdefault(qid, set()):
                self._names[qid].add(name)
                facts.append(_Fact(NAME, NAME, name))
            labels.add(triple.relation)
        for facts in self._facts.values():
            facts.sort(key=lambda f: -len(f.spelling + squeeze(f.value)))
        labels = {spelling for relation in labels for spelling in _spellings(relation)}
        self._relations = sorted(labels, key=lambda r: (-len(r), r))
        self.brackets: list[list[Key]] = []

    def parse(self, output: str, n_docs: int = 0) -> Parsed:
        """Markers of an output; the numbers of a marker are positions in :attr:`brackets`."""
        self.brackets = []
        markers: list[Marker] = []
        unparsed: list[tuple[int, int]] = []
        at = 0
        while (start := output.find("[", at)) >= 0:
            na = _NA.match(output, start)
            if na is not None:
                markers.append(Marker(na.start(), na.end(), (), is_na=True))
                at = na.end()
                continue
            opening = _OPEN.match(output, start)
            end = None if opening is None else self._bracket(output, opening)
            if end is None:
                if opening is not None:
                    unparsed.append((start, opening.end()))
                at = start + 1
                continue
            markers.append(Marker(start, end, (len(self.brackets) - 1,)))
            at = end
        return Parsed(tuple(markers), tuple(unparsed))

    def _bracket(self, output: str, opening: re.Match[str]) -> int | None:
        """Read one bracket; its end, or None when it never closes."""
        qid = opening["qid"].upper()
        citations: list[Key] = []
        at = opening.end()
        while True:
            at = _spaces(output, at)
            if at >= len(output):
                return None
            if output[at] in "[]":
                # A citation that begins inside another one ends it.
                self.brackets.append(self._without_name(qid, citations) or [Key(qid, "", "")])
                return at + (output[at] == "]")
            if output[at] in ",:":
                at = _spaces(output, at + 1)
            step = self._known_fact(output, at, qid) or self._unknown_fact(output, at, qid)
            if step is None:
                return None
            citation, at = step
            if citation is not None:
                citations.append(citation)

    def _known_fact(self, output: str, at: int, qid: str) -> tuple[Key, int] | None:
        for fact in self._facts.get(qid, ()):
            end = _match_relation(output, at, squeeze(fact.spelling))
            if end is not None:
                end = _match_squeezed(output, _spaces(output, end), squeeze(fact.value))
            if end is not None and _after_spaces(output, end) in (",", "]"):
                return Key(qid, fact.relation, fact.value), end
        return None

    def _without_name(self, qid: str, citations: list[Key]) -> list[Key]:
        """In ``[Q1, Ada Lovelace, occupation: poet]`` and ``[Q1, name: Ada Lovelace, occupation:
        poet]`` the name only repeats whose triples these are; alone, it is cited."""
        names = self._names.get(qid, ())
        facts = [
            c
            for c in citations
            if not (c.relation == NAME or (not c.value and c.relation in names))
        ]
        return facts or citations

    def _unknown_fact(self, output: str, at: int, qid: str) -> tuple[Key | None, int] | None:
        """A fact that the graph lacks: a known relation first, else up to the first colon."""
        relation = ""
        body = at
        for label in self._relations:
            end = _match_relation(output, at, label)
            if end is not None:
                relation, body = label, end
                break
        else:
            generic = re.compile(r"([^:\[\],]*):").match(output, at)
            if generic is not None:
                relation, body = squeeze(generic[1]), generic.end()
        stop = self._stop(output, body)
        if stop is None:
            return None
        text = squeeze(output[body:stop])
        if not relation:
            return (Key(qid, text, "") if text else None), stop
        return Key(qid, relation, text), stop

    def _stop(self, output: str, at: int) -> int | None:
        """Where a value ends: before ``, relation:`` or the closing bracket."""
        depth = 0
        for position in range(at, min(len(output), at + 2000)):
            char = output[position]
            if char == "[":
                if depth == 0 and _CITES.match(output, position):
                    return position
                depth += 1
            elif char == "]":
                if depth == 0:
                    return position
                depth -= 1
            elif char == "," and depth == 0 and self._relation_follows(output, position + 1):
                return position
        return None

    def _relation_follows(self, output: str, at: int) -> bool:
        at = _spaces(output, at)
        if any(_match_relation(output, at, relation) is not None for relation in self._relations):
            return True
        return re.compile(r"[^,:\[\]]{1,80}:\s").match(output, at) is not None


def squeeze(text: str) -> str:
    """White space squeezed to single spaces."""
    return " ".join(text.split())


def _spaces(output: str, at: int) -> int:
    while at < len(output) and output[at].isspace():
        at += 1
    return at


def _after_spaces(output: str, at: int) -> str:
    """The first character that is no white space; empty at the end."""
    at = _spaces(output, at)
    return output[at : at + 1]


def _match_relation(output: str, at: int, relation: str) -> int | None:
    """End of ``relation:`` at a place, in any case; None when it is not there."""
    end = _match_squeezed(output, at, relation, folded=True)
    if end is None or _after_spaces(output, end) != ":":
        return None
    return _spaces(output, end) + 1


def _match_squeezed(output: str, at: int, text: str, folded: bool = False) -> int | None:
    """End of ``text`` at a place, runs of white space being equal; None when it is not there."""
    for number, word in enumerate(text.split(" ")):
        if number:
            following = _spaces(output, at)
            if following == at:
                return None
            at = following
        there = output[at : at + len(word)]
        if there != word and not (folded and there.lower() == word.lower()):
            return None
        at += len(word)
    return at
