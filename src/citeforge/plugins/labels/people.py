"""Labels of people, held against the answers of one submission."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from citeforge.engines.judge.records import Decision, JudgeFailure, Keep, Pair, Verdict
from citeforge.evaluator.measures.alce.answers import reference_claims, strict_claims
from citeforge.evaluator.measures.attributed_ir.answers import claims_of
from citeforge.evaluator.measures.judging import Claim, premise
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.plugins.labels.files import FULL, NOT, PARTIAL, Label, LabelRegister
from citeforge.schemas.text import normalise_answer

_SUPPORT = {FULL: 1.0, PARTIAL: 0.5, NOT: 0.0}


@dataclass
class HumanLabels:
    """What people say of the answers of one system.

    Attributes:
        verdicts: pairs to whether people call them supported.
        levels: pairs of a single citation to ``full``, ``partial`` or ``not``.
        rows: rows of the queries whose answers have a label.
        by_label: levels of the pairs of ``verdicts``.
        contested: pairs that stand in several answers and were labelled differently there; they
            decide nothing.
        n_unplaced: labels whose text is no statement of the answer.
        n_undecided: labels on which people did not agree, or had nothing to say.
        n_duplicates: labels that say again, word for word, what another one says.
    """

    verdicts: dict[Pair, bool] = field(default_factory=dict)
    levels: dict[Pair, str] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)
    by_label: dict[Pair, str] = field(default_factory=dict)
    contested: set[Pair] = field(default_factory=set)
    n_unplaced: int = 0
    n_undecided: int = 0
    n_duplicates: int = 0


@dataclass
class _Levels:
    """All levels of one pair.

    Attributes:
        statement: of statements with all that they cite, and of one of several citations.
        citation: of a single citation.
        is_single: whether the pair has one passage.
    """

    statement: set[str] = field(default_factory=set)
    citation: set[str] = field(default_factory=set)
    is_single: bool = False


class LabelJudge:
    """A judge that knows labelled pairs, and fails on all others."""

    signature = "people"
    comparable = False

    def __init__(self, people: HumanLabels) -> None:
        self._people = people

    def identity(self) -> dict[str, Any]:
        return {"name": "people"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        keep([(i, self._decision(p)) for i, p in enumerate(pairs)])

    def _decision(self, pair: Pair) -> Decision:
        if pair not in self._people.verdicts:
            return JudgeFailure("no label")
        level = self._people.levels.get(pair)
        return Verdict(
            self._people.verdicts[pair], support=None if level is None else _SUPPORT[level]
        )


def systems_of(labels: Iterable[Label]) -> list[str]:
    """Systems that are labelled, in order."""
    return list(dict.fromkeys(label.system for label in labels))


def of_system(labels: Sequence[Label], system: str, submission: str) -> list[Label]:
    """Labels of one system: named as it is, or as its file (ALCE's labels name files)."""
    stem = submission.removesuffix(".gz").rpartition(".")[0] or submission
    names = {system, submission, stem}
    return [x for x in labels if x.system in names or x.system.removesuffix(".json") in names]


@dataclass(frozen=True)
class _Way:
    """How a family of measures reads statements, and shows passages to a judge."""

    read: Callable[[AnswerItem, Inputs], list[Claim]]
    with_titles: tuple[bool, ...]


_STRICT = (_Way(strict_claims, (True, False)),)
_REFERENCE = (_Way(reference_claims, (True,)), _Way(claims_of, (False,)))


def find_people(labels: Sequence[Label], inputs: Inputs) -> HumanLabels:
    """Labels of a system as verdicts about the pairs that measures ask about.

    Labels are about the statements that ``strict`` reads. Under ``reference`` those count that the
    paper's code reads as the same words with the same citations; labels that bring the text of a
    statement, or all sentences of an answer (ALCE's), are held against its own reading.

    Args:
        labels: of this system.
        inputs: its answers; labels are about the first run.

    Raises:
        InputError: a label of a query or statement that there is not, or two labels of one
            statement or citation that differ.
    """
    finder = _Finder(inputs)
    for label in labels:
        finder.add(label)
    return finder.decided()


class _Finder:
    """Places labels, one after the other."""

    def __init__(self, inputs: Inputs) -> None:
        self.people = HumanLabels()
        self._inputs = inputs
        self._is_strict = inputs.protocol == "strict"
        self._ways = _STRICT if self._is_strict else _REFERENCE
        self._labelled = inputs if self._is_strict else _as_strict(inputs)
        self._items = {item.row: item for item in inputs.runs[0]}
        self._rows = {q: row for row, q in enumerate(inputs.benchmark.query_ids)}
        self._texts = {item.query: row for row, item in self._items.items()}
        self._claims: dict[tuple[object, int], list[Claim]] = {}
        self._register = LabelRegister()
        self._said: defaultdict[Pair, _Levels] = defaultdict(_Levels)

    def decided(self) -> HumanLabels:
        """What all labels together say, in whatever order they came."""
        for pair, levels in self._said.items():
            _decide(self.people, pair, levels)
        return self.people

    def add(self, label: Label) -> None:
        """Keep one label."""
        row = self._rows.get(label.query, self._texts.get(label.query))
        if row is None or row not in self._items:
            raise label.wrong(
                f"labels an answer to {label.query!r}, which {label.system} does not give",
                "labels of answers to this benchmark's queries",
            )
        self.people.rows.add(row)
        item = self._items[row]
        words = None if label.text is None else _words(label.text)
        placed = [(way, c) for way in self._ways if (c := self._claim(label, row, way))]
        citation = _citation(label, placed[0][1], item) if placed else label.citation
        nth = None if placed else label.nth
        if self._register.is_repeat((row, label.statement, words, citation, nth), label):
            self.people.n_duplicates += 1
        elif not placed:
            self.people.n_unplaced += 1
        elif label.level is None:
            self.people.n_undecided += 1
        else:
            for way, claim in placed:
                self._learn(label, item, claim, citation, way)

    def _learn(
        self, label: Label, item: AnswerItem, claim: Claim, citation: int | None, way: _Way
    ) -> None:
        """Keep a label under the premises of ALCE and of Attributed-IR."""
        assert label.level is not None
        cited = claim.cited if citation is None else (citation,)
        for with_title in way.with_titles:
            text = premise(item.passages, cited, self._is_strict, with_title)
            levels = self._said[Pair(text, claim.text)]
            if citation is not None:
                levels.citation.add(label.level)
            if citation is None or len(claim.cited) > 1:
                levels.statement.add(label.level)
            levels.is_single |= len(cited) == 1

    def _read(self, read: Callable[[AnswerItem, Inputs], list[Claim]], row: int) -> list[Claim]:
        known = (read, row)
        if known not in self._claims:
            of = self._labelled if read is strict_claims else self._inputs
            self._claims[known] = read(self._items[row], of)
        return self._claims[known]

    def _claim(self, label: Label, row: int, way: _Way) -> Claim | None:
        """A label's statement, as a family reads it; None where it reads another one."""
        claims = self._read(way.read, row)
        if self._is_strict or label.text is not None or label.n_statements is not None:
            place = _statement(label, claims)
            return None if place is None else claims[place]
        wanted = self._read(strict_claims, row)
        place = _statement(label, wanted)
        if place is None:
            return None
        mine = wanted[place]
        _citation(label, mine, self._items[row])
        same = (
            c for c in claims
            if _words(c.text) == _words(mine.text) and set(c.cited) == set(mine.cited)
        )  # fmt: skip
        return next(same, None)


def _as_strict(inputs: Inputs) -> Inputs:
    """The answers as those who labelled them saw them."""
    from citeforge.engines.text.sentences import SentenceSegmenter

    tools = replace(inputs.tools, segmenter=SentenceSegmenter())
    return replace(inputs, protocol="strict", tools=tools, statements={})


def _statement(label: Label, claims: Sequence[Claim]) -> int | None:
    """Place of a label's statement; None where its text is none of the answer's."""
    if label.n_statements is not None and label.n_statements != len(claims):
        return None
    if label.text is not None:
        words = _words(label.text)
        return next((i for i, c in enumerate(claims) if _words(c.text) == words), None)
    place = label.statement
    if place is None or not 0 <= place < len(claims):
        raise label.wrong(
            f"labels statement {place}, and the answer of {label.system} to {label.query!r} has "
            f"{len(claims)}",
            "labels of these very answers, segmented as they were for the annotators",
        )
    return place


def _words(text: str) -> str:
    """A text without marks, case and punctuation."""
    return normalise_answer(re.sub(r"\[\d+(?:,\s*\d+)*\]", " ", text))


def _citation(label: Label, claim: Claim, item: AnswerItem) -> int | None:
    """Position of the passage that a label is about; None for all together."""
    if label.nth is not None:
        if label.nth >= len(claim.cited):
            raise label.wrong(
                f"labels citation {label.nth + 1} of a statement that has {len(claim.cited)} "
                f"({label.system}, {label.query!r})"
            )
        return claim.cited[label.nth]
    if label.citation is not None and label.citation not in claim.cited:
        raise label.wrong(
            f"labels a citation of passage {label.citation} (from 0), which statement "
            f"{label.statement} of {label.system} to {label.query!r} does not cite"
        )
    return label.citation


def _decide(people: HumanLabels, pair: Pair, levels: _Levels) -> None:
    """Keep the verdict on a pair, unless answers that share it were labelled differently."""
    # What is said of a statement stands before what is said of its only citation.
    decisive = levels.statement or levels.citation
    if len(decisive) > 1:
        people.contested.add(pair)
        people.n_undecided += 1
    else:
        (level,) = decisive
        people.verdicts[pair] = level == FULL
        if levels.statement:
            people.by_label[pair] = level
    of_citation = levels.citation or levels.statement
    if levels.is_single and len(of_citation) == 1:
        (people.levels[pair],) = of_citation
