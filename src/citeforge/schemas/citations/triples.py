"""Citations of triples: ``[Q212657, place of birth: Rome, occupation: painter]`` and ``[NA]``.

Relations and values may themselves hold commas, colons and brackets. What is known — the relations
and values of the shown graph, then all relations of the benchmark — is therefore matched first, the
longest first, and only the rest is read by its punctuation.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence

from citeforge.schemas.citations.grammar import Marker, Parsed
from citeforge.schemas.invisible import INVISIBLE, JOINERS
from citeforge.schemas.kg import NAME, SAME_RELATIONS, Key, Triple, relation_key
from citeforge.schemas.matching.answers import AnswerText

# White space is single spaces where these look.
_CITES = re.compile(r"\[ ?(?:(?:qid ?: ?)?(?P<qid>[QqLl]\d+)(?= ?[,\]:;])|(?:NA|N/A|n/a|na) ?\])")
# Length stays: the offsets of marks are found by it.
_PLAIN = str.maketrans(
    "‘’‚‛ʼ′“”„‟″\u2010\u2011\u2012\u2013\u2014\u2015\u2212\uff0d【】［］：，；０１２３４５６７８９",
    "'" * 6 + '"' * 5 + "-" * 8 + "[][]:,;0123456789",
)
"""Typographic variants to the characters that graphs have."""
# Invisible marks in and before white space belong to it; alone they are no character.
_MARKS = INVISIBLE + JOINERS
_PIECE = re.compile(rf"\s[\s{_MARKS}]*|[{_MARKS}]+|\S[\u0300-\u036f]*")
_RUN = re.compile(r"\s\s")
_SPACES = str.maketrans("\t\n\r\x0b\x0c\x1c\x1d\x1e\x1f\x85\xa0", " " * 11)
_VARIANT = re.compile(r"[\xad\u0300-\U0010ffff]")
_MARK = re.compile(f"[{_MARKS}]")
_COLON = re.compile(r" ?: ?")
_FACT_END = re.compile(r" ?[,;\]]")
_UNKNOWN_RELATION = re.compile(r"([^:\[\],]*):")
_UNKNOWN_FOLLOWS = re.compile(r"[^,:\[\]]{1,80}: ")
_BRACKET = re.compile(r"\[(?:[^\[\]]|\[[^\[\]]*\]){1,2000}\]")
_ROUND = re.compile(r"\( ?[QqLl]\d+ ?[,:;](?:[^()]|\([^()]*\)){1,2000}\)")
_SEPARATORS = (": ", ":", ", ", ",", "; ", ";")
"""Between relation and value in brackets that are meant to cite."""
_LONGEST_VALUE = 2000
"""Characters of a value that the graph lacks."""
_ALSO: dict[str, list[str]] = {}
for _own, _wikidata in SAME_RELATIONS.items():
    _ALSO.setdefault(relation_key(_own), []).extend((_own, _wikidata))


def _spellings(relation: str) -> tuple[str, ...]:
    """List the names of a relation: itself, then its names in BioKaLMA and Wikidata."""
    return tuple(dict.fromkeys((relation, *_ALSO.get(relation_key(relation), ()))))


def render(qid: str, facts: Iterable[tuple[str, str]]) -> str:
    """Write a citation of one entity's (relation, value) facts: ``[QID, relation: value]``."""
    return f"[{', '.join([qid, *(f'{relation}: {value}' for relation, value in facts)])}]"


class TripleGrammar:
    """Reads citations of one shown graph.

    Attributes:
        brackets: after :meth:`parse`, the citations of each bracket, by the number that its
            marker carries: relation and value as the shown graph has them, else as written; empty
            where there is none.
        malformed: after :meth:`parse`, brackets that hold a shown relation and value, and are no
            citations: ``[Ada Lovelace, father: Lord Byron]``, ``(Q7259, father: Lord Byron)``.
    """

    def __init__(self, triples: Iterable[Triple], relations: Iterable[str] = ()) -> None:
        """Make a parser of citations that name triples of one shown graph.

        Args:
            triples: triples of the shown graph.
            relations: further known relation names.
        """
        # QID to (relation as it may be spelt, value, key in the graph's own spelling) of its facts
        self._facts: dict[str, list[tuple[str, str, Key]]] = {}
        self._names: dict[str, set[str]] = {}
        labels = {NAME, *relations}
        for triple in triples:
            qid, name = triple.qid.upper(), squeeze(triple.name)
            facts, value = self._facts.setdefault(qid, []), squeeze(triple.value)
            key = Key(qid, triple.relation, triple.value)
            facts += [(squeeze(r), value, key) for r in _spellings(triple.relation)]
            if name not in self._names.setdefault(qid, set()):
                self._names[qid].add(name)
                facts.append((NAME, name, Key(qid, NAME, triple.name)))
            labels.add(triple.relation)
        for facts in self._facts.values():
            facts.sort(key=lambda fact: -len(fact[0] + fact[1]))
        labels = {squeeze(spelling) for relation in labels for spelling in _spellings(relation)}
        self._relations = sorted(labels, key=lambda r: (-len(r), r))
        self.brackets: list[list[Key]] = []
        self.malformed: list[str] = []

    def parse(self, output: str, n_docs: int = 0) -> Parsed:
        """Read an output's citation marks; a mark's number is its index in :attr:`brackets`."""
        self.brackets = []
        markers: list[Marker] = []
        unparsed: list[tuple[int, int]] = []
        text, offsets = _normalise_with_offsets(output)
        at = 0
        while (opening := _CITES.search(text, at)) is not None:
            start, at = opening.span()
            if opening["qid"] is None:
                markers.append(Marker(offsets[start], offsets[at], (), is_na=True))
            elif (end := self._read_bracket(text, opening)) is None:
                unparsed.append((offsets[start], offsets[at]))
                at = start + 1
            else:
                markers.append(Marker(offsets[start], offsets[end], (len(self.brackets) - 1,)))
                at = end
        seen = [*(marker.start for marker in markers), *(start for start, _ in unparsed)]
        brackets = (*_BRACKET.finditer(text), *_ROUND.finditer(text))
        spans = (m.span() for m in brackets if self._holds_a_fact(m[0]))
        malformed = [
            (start, end)
            for start, end in ((offsets[a], offsets[b]) for a, b in spans)
            if not any(start <= other < end for other in seen)
            and not any(marker.start < start < marker.end for marker in markers)
        ]
        malformed.sort()
        self.malformed = [output[start:end] for start, end in malformed]
        return Parsed(tuple(markers), tuple(sorted([*unparsed, *malformed])))

    def _holds_a_fact(self, text: str) -> bool:
        """Whether the text of a bracket has a shown relation and behind it a shown value."""
        folded = text.casefold()
        facts = (f for mine in self._facts.values() for f in mine if f[0] != NAME and f[1])
        return any(
            f"{part}{separator}{value.casefold()}" in folded
            for relation, value, _ in facts
            if (part := relation.casefold()) in folded
            for separator in _SEPARATORS
        )

    def _read_bracket(self, text: str, opening: re.Match[str]) -> int | None:
        """Append a bracket's citations to ``brackets``; return its end, None if it is not closed.

        Args:
            text: normalised output.
            opening: match of the bracket's start, up to its QID.
        """
        qid = opening["qid"].upper()
        citations: list[Key] = []
        at = opening.end()
        while True:
            at = _behind_space(text, at)
            if at >= len(text):
                return None
            if text[at] in "[]":
                # A citation that begins inside another one ends it.
                self.brackets.append(self._drop_name(qid, citations) or [Key(qid, "", "")])
                return at + (text[at] == "]")
            if text[at] in ",:;":
                at = _behind_space(text, at + 1)
            step = self._read_known_fact(text, at, qid) or self._read_unknown_fact(text, at, qid)
            if step is None:
                return None
            citation, at = step
            if citation is not None:
                citations.append(citation)

    def _read_known_fact(self, text: str, offset: int, qid: str) -> tuple[Key, int] | None:
        """Read a fact of the shown graph at an offset: (its key, offset behind it), or None."""
        for relation, value, key in self._facts.get(qid, ()):
            start = _behind_relation(text, offset, relation)
            if start is not None and text.startswith(value, start):
                end = start + len(value)
                if _FACT_END.match(text, end):
                    return key, end
        return None

    def _drop_name(self, qid: str, citations: list[Key]) -> list[Key]:
        """Drop a bracket's citations of the entity's name (``name: Rome``), unless all are."""
        names = self._names.get(qid, ())
        facts = [
            c
            for c in citations
            if not (c.relation == NAME or (not c.value and c.relation in names))
        ]
        return facts or citations

    def _read_unknown_fact(self, text: str, offset: int, qid: str) -> tuple[Key | None, int] | None:
        """Read any ``relation: value`` at an offset: (its key, offset behind it); None if unclosed.

        The key is None where there is neither relation nor value.
        """
        relation, start = self._find_known_relation(text, offset) or ("", offset)
        if not relation and (unknown := _UNKNOWN_RELATION.match(text, offset)) is not None:
            relation, start = unknown[1].strip(), unknown.end()
        end = self._find_end_of_value(text, start)
        if end is None:
            return None
        value = text[start:end].strip()
        if not relation:
            return (Key(qid, value, "") if value else None), end
        return self._find_same_fact(qid, relation, value) or Key(qid, relation, value), end

    def _find_same_fact(self, qid: str, relation: str, value: str) -> Key | None:
        """Find the fact of the shown graph whose value is the same in another spelling, or None."""
        facts = [
            f for f in self._facts.get(qid, ()) if relation_key(f[0]) == relation_key(relation)
        ]
        written = AnswerText(value) if facts and value else None
        return next((key for _, v, key in facts if written and written.equals(v)), None)

    def _find_known_relation(self, text: str, offset: int) -> tuple[str, int] | None:
        """Find the longest known relation name at an offset, and the offset of its value."""
        ends = ((r, _behind_relation(text, offset, r)) for r in self._relations)
        return next(((relation, end) for relation, end in ends if end is not None), None)

    def _find_end_of_value(self, text: str, offset: int) -> int | None:
        """Find a value's end offset: at ``, relation:``, ``; relation:`` or a bracket; or None."""
        depth = 0
        for end in range(offset, min(len(text), offset + _LONGEST_VALUE)):
            char = text[end]
            if char == "[":
                if depth == 0 and _CITES.match(text, end):
                    return end
                depth += 1
            elif char == "]":
                if depth == 0:
                    return end
                depth -= 1
            elif char in ",;" and depth == 0 and self._relation_follows(text, end + 1):
                return end
        return None

    def _relation_follows(self, text: str, offset: int) -> bool:
        """Whether a relation name, known or not, follows an offset and white space."""
        offset = _behind_space(text, offset)
        known = self._find_known_relation(text, offset)
        return known is not None or _UNKNOWN_FOLLOWS.match(text, offset) is not None


def squeeze(text: str) -> str:
    """Normalise a text: single spaces, typographic variants as ASCII, NFC, no invisible marks."""
    return " ".join(_normalise_with_offsets(text)[0].split())


def _normalise_with_offsets(text: str) -> tuple[str, Sequence[int]]:
    """Normalise white space and typographic variants: (text, original offset of each character).

    A last offset is that of the end.
    """
    pieces: list[str] = []
    offsets: list[int] = []
    if _VARIANT.search(text) is None and _RUN.search(text) is None:
        return text.translate(_SPACES), range(len(text) + 1)
    for match in _PIECE.finditer(text.translate(_PLAIN)):
        if _MARK.match(match[0]):
            continue
        piece = " " if match[0][0].isspace() else unicodedata.normalize("NFC", match[0])
        pieces.append(piece)
        offsets += [match.start()] * len(piece)
    return "".join(pieces), [*offsets, len(text)]


def _behind_space(text: str, offset: int) -> int:
    """Return the offset after a space at an offset; the same offset if there is no space."""
    return offset + text.startswith(" ", offset)


def _behind_relation(text: str, offset: int, relation: str) -> int | None:
    """Return the offset behind ``relation:`` (in any case) if it is at an offset; else None."""
    end = offset + len(relation)
    is_there = text[offset:end].lower() == relation.lower()
    colon = _COLON.match(text, end) if is_there else None
    return None if colon is None else colon.end()
