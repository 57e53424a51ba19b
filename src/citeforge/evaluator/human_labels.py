"""Match labels of people with the answers of one submission."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from citeforge.engines.judge.records import Decision, JudgeFailure, Keep, Pair, Verdict
from citeforge.evaluator.label_files import FULL, NOT, PARTIAL, Label, LabelRegister
from citeforge.evaluator.measures.judging import premise
from citeforge.evaluator.statements.strict import CitedStatement, read_strict
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.schemas.text import normalise_answer

_SUPPORT = {FULL: 1.0, PARTIAL: 0.5, NOT: 0.0}


@dataclass
class HumanLabels:
    """People's verdicts on the answers of one system.

    Attributes:
        verdicts: pair to its level of support: ``full``, ``partial`` or ``not``.
        levels: pair of a single citation to its level of support.
        rows: rows of the queries whose answers have a label.
        contested: pairs that occur in several answers with different labels; they have no verdict.
        n_unplaced: number of labels whose text is no statement of the answer.
        n_undecided: number of labels on which people did not agree, or did not decide.
        n_duplicates: number of labels that repeat another one word for word.
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
        statement: levels of statements with all that they cite, and of one of several citations.
        citation: levels of a single citation.
        is_single: whether the pair has one passage.
    """

    statement: set[str] = field(default_factory=set)
    citation: set[str] = field(default_factory=set)
    is_single: bool = False

    def add(self, level: str, statement: CitedStatement, citation: int | None) -> None:
        """Record a label (such as "full" support) of a statement, or of one of its citations.

        Of a statement with several citations, the pair may be one of them or all together; a pair
        with one passage is noted as such.

        Args:
            level: level of support, such as "full".
            statement: statement that is labelled.
            citation: position of the labelled passage; None for a label of the whole statement.
        """
        if citation is not None:
            self.citation.add(level)
        if citation is None or len(statement.cited) > 1:
            self.statement.add(level)
        self.is_single |= citation is not None or len(statement.cited) == 1


class LabelJudge:
    """A judge whose verdicts are people's labels; it fails on pairs without a label."""

    signature = "people"
    comparable = False

    def __init__(self, human_labels: HumanLabels) -> None:
        """Make a judge that answers with people's labels of statements and citations."""
        self._people = human_labels

    def identity(self) -> dict[str, Any]:
        """Describe this judge for manifests and signatures."""
        return {"name": "people"}

    def count_tokens(self, pairs: Sequence[Pair]) -> int | None:
        """Return None: labels have no tokens."""
        return None

    def decide(self, pairs: Sequence[Pair], keep: Keep) -> None:
        """Call ``keep`` with the index of each pair and people's verdict on the pair."""
        keep([(i, self._decision(p)) for i, p in enumerate(pairs)])

    def _decision(self, pair: Pair) -> Decision:
        """Get the labelled verdict on a pair of passages and statement; a failure without label."""
        if pair not in self._people.verdicts:
            return JudgeFailure("no label")
        level = self._people.levels.get(pair)
        support = None if level is None else _SUPPORT[level]
        return Verdict(self._people.verdicts[pair] == FULL, support=support)


def select_labels(labels: Sequence[Label], system: str, submission: str) -> list[Label]:
    """Select a system's labels, which name the system or (as ALCE's do) its submission file."""
    stem = submission.removesuffix(".gz").rpartition(".")[0] or submission
    names = {system, submission, stem}
    return [x for x in labels if x.system in names or x.system.removesuffix(".json") in names]


def match_labels(labels: Sequence[Label], inputs: Inputs) -> HumanLabels:
    """Match labels with a system's answers: people's verdict per (passages, statement) pair.

    Args:
        labels: labels of this system.
        inputs: its answers in protocol ``strict``; labels are about the first run.

    Raises:
        InputError: a label is of an unknown query or statement, or two labels of one statement or
            citation differ.
    """
    people, register = HumanLabels(), LabelRegister()
    items = {item.row: item for item in inputs.runs[0]}
    rows = {q: row for row, q in enumerate(inputs.benchmark.query_ids)}
    texts = {item.query: row for row, item in items.items()}
    levels_of: defaultdict[Pair, _Levels] = defaultdict(_Levels)
    statements_of: dict[int, list[CitedStatement]] = {}
    for label in labels:
        row = rows.get(label.query, texts.get(label.query))
        if row is None or row not in items:
            raise label.error(
                f"labels an answer to {label.query!r}, which {label.system} does not answer",
                "labels of answers to this benchmark's queries",
                code="unknown-query",
            )
        people.rows.add(row)
        if row not in statements_of:
            statements_of[row] = read_strict(items[row], inputs)
        statement = _find_statement(label, statements_of[row])
        words = None if label.text is None else _normalise(label.text)
        citation, nth = label.citation, label.nth
        if statement is not None:
            citation, nth = _find_citation(label, statement), None
        if register.is_repeat((row, label.statement, words, citation, nth), label):
            people.n_duplicates += 1
        elif statement is None:
            people.n_unplaced += 1
        elif label.level is None:
            people.n_undecided += 1
        else:
            for pair in _make_pairs(items[row], statement, citation):
                levels_of[pair].add(label.level, statement, citation)
    for pair, levels in levels_of.items():
        _set_verdict(people, pair, levels)
    return people


def _make_pairs(item: AnswerItem, statement: CitedStatement, citation: int | None) -> list[Pair]:
    """Pair a statement with its cited passages, or with one of them, with and without titles."""
    cited = statement.cited if citation is None else (citation,)
    premises = (premise(item.passages, cited, True, with_title) for with_title in (True, False))
    return [Pair(text, statement.text) for text in premises]


def _find_statement(label: Label, statements: Sequence[CitedStatement]) -> CitedStatement | None:
    """Find the statement of an answer that a label is about; None if no statement fits."""
    if label.n_statements is not None and label.n_statements != len(statements):
        return None
    if label.text is not None:
        words = _normalise(label.text)
        return next((c for c in statements if _normalise(c.text) == words), None)
    number = label.statement
    if number is None or not 0 <= number < len(statements):
        raise label.error(
            f"labels statement {number}; the answer of {label.system} to {label.query!r} has "
            f"{len(statements)}",
            "labels of these answers, segmented as they were for the annotators",
            code="out-of-range",
        )
    return statements[number]


def _normalise(text: str) -> str:
    """Normalise a text for comparison, without citation marks."""
    return normalise_answer(re.sub(r"\[\d+(?:,\s*\d+)*\]", " ", text))


def _find_citation(label: Label, statement: CitedStatement) -> int | None:
    """Get the context position of the passage that a label judges; None if it judges all cited."""
    if label.nth is not None:
        if label.nth >= len(statement.cited):
            raise label.error(
                f"labels citation {label.nth + 1} of a statement that has {len(statement.cited)} "
                f"({label.system}, {label.query!r})",
                code="out-of-range",
            )
        return statement.cited[label.nth]
    if label.citation is not None and label.citation not in statement.cited:
        raise label.error(
            f"labels a citation of passage {label.citation} (from 0), which statement "
            f"{label.statement} of {label.system} to {label.query!r} does not cite",
            code="unknown-id",
        )
    return label.citation


def _set_verdict(human_labels: HumanLabels, pair: Pair, levels: _Levels) -> None:
    """Add a pair's verdict by people to ``human_labels``, unless labels (``levels``) conflict.

    Args:
        human_labels: verdicts of all pairs, to which this one is added.
        pair: cited passages and statement.
        levels: support levels that labels give to the pair.
    """
    # Labels of a statement take precedence over those of its only citation.
    decisive = levels.statement or levels.citation
    if len(decisive) > 1:
        human_labels.contested.add(pair)
        human_labels.n_undecided += 1
    else:
        (human_labels.verdicts[pair],) = decisive
    of_citation = levels.citation or levels.statement
    if levels.is_single and len(of_citation) == 1:
        (human_labels.levels[pair],) = of_citation
