"""Labels of people, matched with the answers of one submission."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from citeforge.engines.judge.records import Decision, JudgeFailure, Keep, Pair, Verdict
from citeforge.evaluator.measures.alce_citations import strict_claims
from citeforge.evaluator.measures.judging import Claim, premise
from citeforge.evaluator.statements.inputs import AnswerItem, Inputs
from citeforge.plugins.labels.files import FULL, NOT, PARTIAL, Label, LabelRegister
from citeforge.schemas.text import normalise_answer

_SUPPORT = {FULL: 1.0, PARTIAL: 0.5, NOT: 0.0}


@dataclass
class HumanLabels:
    """People's verdicts on the answers of one system.

    Attributes:
        verdicts: pairs to what people call them: ``full``, ``partial`` or ``not``.
        levels: pairs of a single citation to ``full``, ``partial`` or ``not``.
        rows: rows of the queries whose answers have a label.
        contested: pairs that stand in several answers and were labelled differently there; they
            decide nothing.
        n_unplaced: labels whose text is no statement of the answer.
        n_undecided: labels on which people did not agree, or had nothing to say.
        n_duplicates: labels that say again, word for word, what another one says.
    """

    verdicts: dict[Pair, str] = field(default_factory=dict)
    levels: dict[Pair, str] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)
    contested: set[Pair] = field(default_factory=set)
    n_unplaced: int = 0
    n_undecided: int = 0
    n_duplicates: int = 0


@dataclass
class _Levels:
    """Levels of support that labels give to one pair.

    Attributes:
        statement: of statements with all that they cite, and of one of several citations.
        citation: of a single citation.
        is_single: whether the pair has one passage.
    """

    statement: set[str] = field(default_factory=set)
    citation: set[str] = field(default_factory=set)
    is_single: bool = False

    def add(self, level: str, claim: Claim, citation: int | None) -> None:
        """Add a label of a claim, or of one of its citations."""
        if citation is not None:
            self.citation.add(level)
        if citation is None or len(claim.cited) > 1:
            self.statement.add(level)
        self.is_single |= citation is not None or len(claim.cited) == 1


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
        """Give the verdict of a pair's label; a failure without one."""
        if pair not in self._people.verdicts:
            return JudgeFailure("no label")
        level = self._people.levels.get(pair)
        support = None if level is None else _SUPPORT[level]
        return Verdict(self._people.verdicts[pair] == FULL, support=support)


def of_system(labels: Sequence[Label], system: str, submission: str) -> list[Label]:
    """Select the labels of a system, named by its name or by its file as in ALCE's labels."""
    stem = submission.removesuffix(".gz").rpartition(".")[0] or submission
    names = {system, submission, stem}
    return [x for x in labels if x.system in names or x.system.removesuffix(".json") in names]


def match_labels(labels: Sequence[Label], inputs: Inputs) -> HumanLabels:
    """Match labels with a system's answers: verdicts on the pairs that measures ask about.

    Args:
        labels: of this system.
        inputs: its answers, of ``strict``; labels are about the first run.

    Raises:
        InputError: a label of a query or statement that there is not, or two labels of one
            statement or citation that differ.
    """
    people, register = HumanLabels(), LabelRegister()
    items = {item.row: item for item in inputs.runs[0]}
    rows = {q: row for row, q in enumerate(inputs.benchmark.query_ids)}
    texts = {item.query: row for row, item in items.items()}
    levels_of: defaultdict[Pair, _Levels] = defaultdict(_Levels)
    claims_of: dict[int, list[Claim]] = {}
    for label in labels:
        row = rows.get(label.query, texts.get(label.query))
        if row is None or row not in items:
            raise label.wrong(
                f"labels an answer to {label.query!r}, which {label.system} does not answer",
                "labels of answers to this benchmark's queries",
                code="unknown-query",
            )
        people.rows.add(row)
        if row not in claims_of:
            claims_of[row] = strict_claims(items[row], inputs)
        claim = _claim(label, claims_of[row])
        words = None if label.text is None else _words(label.text)
        citation, nth = label.citation, label.nth
        if claim is not None:
            citation, nth = _citation(label, claim), None
        if register.is_repeat((row, label.statement, words, citation, nth), label):
            people.n_duplicates += 1
        elif claim is None:
            people.n_unplaced += 1
        elif label.level is None:
            people.n_undecided += 1
        else:
            for pair in _pairs(items[row], claim, citation):
                levels_of[pair].add(label.level, claim, citation)
    for pair, levels in levels_of.items():
        _decide(people, pair, levels)
    return people


def _pairs(item: AnswerItem, claim: Claim, citation: int | None) -> list[Pair]:
    """Pair a claim with its cited passages, with titles (ALCE) and without (Attributed-IR)."""
    cited = claim.cited if citation is None else (citation,)
    premises = (premise(item.passages, cited, True, with_title) for with_title in (True, False))
    return [Pair(text, claim.text) for text in premises]


def _claim(label: Label, claims: Sequence[Claim]) -> Claim | None:
    """Find the statement of a label; None if no statement of the answer has its text."""
    if label.n_statements is not None and label.n_statements != len(claims):
        return None
    if label.text is not None:
        words = _words(label.text)
        return next((c for c in claims if _words(c.text) == words), None)
    place = label.statement
    if place is None or not 0 <= place < len(claims):
        raise label.wrong(
            f"labels statement {place}; the answer of {label.system} to {label.query!r} has "
            f"{len(claims)}",
            "labels of these answers, segmented as they were for the annotators",
            code="out-of-range",
        )
    return claims[place]


def _words(text: str) -> str:
    """Normalise a text: no citation marks, case or punctuation."""
    return normalise_answer(re.sub(r"\[\d+(?:,\s*\d+)*\]", " ", text))


def _citation(label: Label, claim: Claim) -> int | None:
    """Find the position of the passage that a label is about; None for all together."""
    if label.nth is not None:
        if label.nth >= len(claim.cited):
            raise label.wrong(
                f"labels citation {label.nth + 1} of a statement that has {len(claim.cited)} "
                f"({label.system}, {label.query!r})",
                code="out-of-range",
            )
        return claim.cited[label.nth]
    if label.citation is not None and label.citation not in claim.cited:
        raise label.wrong(
            f"labels a citation of passage {label.citation} (from 0), which statement "
            f"{label.statement} of {label.system} to {label.query!r} does not cite",
            code="unknown-id",
        )
    return label.citation


def _decide(people: HumanLabels, pair: Pair, levels: _Levels) -> None:
    """Set the verdict on a pair, unless answers that share it were labelled differently."""
    # What is said of a statement stands before what is said of its only citation.
    decisive = levels.statement or levels.citation
    if len(decisive) > 1:
        people.contested.add(pair)
        people.n_undecided += 1
    else:
        (people.verdicts[pair],) = decisive
    of_citation = levels.citation or levels.statement
    if levels.is_single and len(of_citation) == 1:
        (people.levels[pair],) = of_citation
