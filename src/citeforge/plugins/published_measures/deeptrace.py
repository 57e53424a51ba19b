"""DeepTRACE: which statements cite which sources, and which sources support which statements.

## deeptrace

Venkit et al. 2025 (DeepTRACE, arXiv 2509.04499). Rows of two matrices are the relevant statements
of an answer, columns the passages shown: cited `C`, and supported `S`, each 0 or 1. **Every
statement is asked about with every passage**: 20 statements and 10 passages are 200 questions an
answer, which `--dry-run` counts. An LLM judge also says which statements are relevant (one question
a statement), whether the question takes a side (one a query), on which side each relevant statement
is, and how sure of itself a one-sided answer sounds. A judge of entailment alone takes all
statements as relevant, and leaves `Relevant`, `OneSided` and `Overconfident` out.

`Necessity` is the size of the smallest set of passages that supports all supported statements,
found by integer programming; beyond 10,000 nodes of its search the set of the greedy rule is taken,
which may be larger. A failed question about relevance leaves all values of its answer open.

`reference` does what the notebook does. It reads sentences with their marks (`[1]`, `[1, 2]`), and
leaves out passages without text, and answers without a relevant sentence or such a passage.
Accuracy is 1 where nothing is cited (it prints 1 − accuracy as imprecision), the denominator of
`Thoroughness` is larger by 10⁻⁶, and `Necessity` takes the set of the greedy rule. `Uncited` counts
up to the largest number cited, if that is larger. The notebook has no `Overconfident` (from the
paper here), and takes from the data which questions take a side.

`cite all` has no uncited source and the best `Thoroughness`: read them with `Accuracy`.

*Example.* Three relevant statements, four passages. 1 is supported by A and B and cites A, 2 is
supported by B and cites C, 3 by none and cites nothing. Accuracy = 1/2, Thoroughness = 1/3 (of A
and B for 1 and B for 2), Unsupported = 1/3, Uncited = 2/4, Necessity = 1/4 (B supports both).
"""

import re
from collections.abc import Callable, Collection, Generator, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import numpy.typing as npt

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.evaluator.measures.declared import CitationQuality, per_answer, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers, Asking
from citeforge.evaluator.measures.judging import premise
from citeforge.evaluator.measures.values import NOTHING, Value, judge_pair
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need
from citeforge.plugins.published_measures.questions import make_questions_option, require_questions

PAPER = "Venkit et al. 2025 (DeepTRACE, arXiv 2509.04499), section 3"
CORE, DEBATED, STANCE, CONFIDENT = (
    "llm-core-statement", "llm-debated", "llm-stance", "llm-confident",
)  # fmt: skip
UNKNOWN, _ONE = Value(0.0, 1.0), Value.exact(1.0)
_MOST_NODES = 10_000
"""Nodes of the search for the smallest cover, after which the greedy one is taken."""
Booleans = npt.NDArray[np.bool_]
_MARK = re.compile(r"\[([\d, ]+)\]")
_SMOOTHING = 1e-6


@dataclass(frozen=True)
class Matrices:
    """Which sources the relevant statements of an answer cite, and which support them.

    Attributes:
        cited: positions of the sources that each statement cites.
        supported: verdict on each source, by statement.
        n_sources: number of sources.
        n_wrong: citations of sources that there are not.
        is_sure: whether it is known which statements are relevant.
    """

    cited: Sequence[Collection[int]]
    supported: Sequence[Sequence[Value]]
    n_sources: int
    n_wrong: int = 0
    is_sure: bool = True

    @property
    def n_cited(self) -> int:
        """Number of an answer's citations, those of no passage included."""
        return sum(map(len, self.cited)) + self.n_wrong

    @property
    def cited_support(self) -> Value:
        """Number of an answer's citations whose passage supports their statement."""
        rows = zip(self.cited, self.supported, strict=True)
        return sum((row[at] for cited, row in rows for at in cited), NOTHING)

    def accuracy(self) -> Value:
        """Compute the share of citations whose passage supports their statement; 0 if none."""
        return self.cited_support / (self.n_cited or 1)

    def thoroughness(self, smoothing: float = 0.0) -> Value:
        """Compute cited supporting passages / (all supporting ones + ``smoothing``); 0 if none.

        Args:
            smoothing: number that is added to the denominator.
        """
        total = sum((value for row in self.supported for value in row), NOTHING)
        found = self.cited_support
        # Verdicts on uncited sources only lower the share, those on cited ones only raise it.
        lowest = found.low + (total.high - found.high) + smoothing
        highest = found.high + (total.low - found.low) + smoothing
        return Value(found.low / (lowest or 1), found.high / (highest or 1))

    def unsupported(self) -> Value:
        """Compute the share of statements that no passage supports; 1 without a statement."""
        if not self.supported:
            return _ONE
        share = Value.mean([Value.best(row) for row in self.supported])
        return Value(1 - share.high, 1 - share.low)

    def necessity(self) -> Value:
        """Compute the share of passages in the smallest set that supports what all support.

        With failed verdicts: at least a cover of the sure statements by all sources that may
        support them, at most one by sure support and a further source for each other statement.
        """
        low, high = self._make_support_matrix(False), self._make_support_matrix(True)
        sure, maybe = low.any(axis=1), high.any(axis=1)
        least = count_necessary(high[sure])
        most = count_necessary(low[sure]) + int((maybe & ~sure).sum())
        n = self.n_sources or 1
        return Value(least / n, min(most, self.n_sources) / n)

    def _make_support_matrix(self, failed_as_support: bool) -> Booleans:
        """Make the (statements, passages) matrix of support, with judge failures as such or not.

        Args:
            failed_as_support: whether verdicts on which the judge failed count as support.
        """
        rows = [
            [(v.high if failed_as_support else v.low) > 0 for v in row] for row in self.supported
        ]
        return np.array(rows, np.bool_).reshape(len(rows), self.n_sources)


class NotebookMatrices(Matrices):
    """The same, counted as in the authors' notebook."""

    def accuracy(self) -> Value:
        """Compute the share of citations whose passage supports their statement; 1 if none."""
        return super().accuracy() if self.n_cited else _ONE

    def thoroughness(self, smoothing: float = _SMOOTHING) -> Value:
        """Compute cited supporting passages / (all supporting ones + a small ``smoothing``)."""
        return super().thoroughness(smoothing)

    def necessity(self) -> Value:
        """Compute the share of passages in a greedy cover; unknown where the judge failed."""
        if any(v.low < v.high for row in self.supported for v in row):
            return UNKNOWN
        matrix = self._make_support_matrix(False)
        return Value.exact(cover_greedily(matrix[matrix.any(axis=1)]) / self.n_sources)


def count_necessary(matrix: Booleans) -> int:
    """Compute the size of the smallest set of columns with a True in every row (set cover).

    Args:
        matrix: of booleans, with a True in each row.
    """
    from scipy.optimize import Bounds, LinearConstraint, milp

    rows = np.unique(matrix, axis=0)
    if not rows.size:
        return 0
    found = milp(
        np.ones(rows.shape[1]), integrality=1, bounds=Bounds(0, 1),
        constraints=LinearConstraint(rows.astype(float), lb=1),
        options={"node_limit": _MOST_NODES},
    )  # fmt: skip
    return round(found.fun) if found.status == 0 else cover_greedily(matrix)


def cover_greedily(matrix: Booleans) -> int:
    """Compute the size of a set cover of rows by columns that a greedy algorithm finds."""
    n_taken = 0
    while matrix.size:
        matrix = matrix[~matrix[:, matrix.sum(axis=0).argmax()]]
        n_taken += 1
    return n_taken


def _ask_relevance(
    answer: Answer, statement_texts: Sequence[str]
) -> Generator[list[Pair], list[Value], list[Value]]:
    """Ask which statements are relevant to the question; all, if the judge answers no questions."""
    if not answer.submission.tools.get_judge().answers_questions:
        return [_ONE] * len(statement_texts)
    return (yield [Pair(answer.query, text, CORE) for text in statement_texts])


def _ask_support(
    statement_texts: Sequence[str], sources: Sequence[str]
) -> Generator[list[Pair], list[Value], list[list[Value]]]:
    """Ask a judge whether each source supports each statement: a row per statement."""
    values = iter((yield [Pair(source, text) for text in statement_texts for source in sources]))
    return [[next(values) for _ in sources] for _ in statement_texts]


_declare = partial(per_answer, "deeptrace", source=PAPER, reads_labels=False)
_NEEDS = (Need.STATEMENTS, Need.SEGMENTER, Need.PASSAGES, Need.JUDGE)


@_declare(
    needs=_NEEDS, requires="a judge, asked about every statement with every passage",
    missing=Matrices([], [], 0), options=make_questions_option(CORE),
    unlabelled="it reads passages that are not cited, and labels cover cited ones only",
)  # fmt: skip
def matrices(answer: Answer) -> Asking[Matrices]:
    """Ask a judge which of an answer's statements are relevant and which passages support them."""
    statements = answer.statements
    core = yield from _ask_relevance(answer, [s.text for s in statements])
    kept = [s for s, value in zip(statements, core, strict=True) if value.high]
    n = len(answer.passages)
    sources = [premise(answer.passages, (at,), True) for at in range(n)]
    supported = yield from _ask_support([s.text for s in kept], sources)
    return Matrices(
        [s.cited for s in kept], supported, n, sum(s.wrong for s in kept), _are_all_known(core)
    )


def _are_all_known(values: Iterable[Value]) -> bool:
    """Whether the judge failed on none of the verdicts."""
    return all(value.low == value.high for value in values)


@matrices.reference
def notebook_matrices(answer: Answer) -> Asking[Matrices]:
    """Ask a judge about relevance and support of sentences, as the authors' notebook does."""
    sentences = split_sentences(answer)
    core = yield from _ask_relevance(answer, sentences)
    kept = [s for s, value in zip(sentences, core, strict=True) if value.high]
    readable = [at for at, p in enumerate(answer.passages) if p.text.strip()]
    if not kept or not readable:
        return None
    sources = [premise(answer.passages, (at,), False) for at in readable]
    supported = yield from _ask_support(kept, sources)
    cited = [set(read_numbers(sentence)) for sentence in kept]
    places = [[j for j, at in enumerate(readable) if at + 1 in numbers] for numbers in cited]
    return NotebookMatrices(places, supported, len(readable), is_sure=_are_all_known(core))


def split_sentences(answer: Answer) -> list[str]:
    """Split an answer into sentences that keep their citation marks."""
    spans = answer.submission.tools.get_segmenter().split(answer.output)
    return [answer.output[start:end] for start, end in spans]


def read_numbers(text: str) -> list[int]:
    """List the numbers of a text's citation marks, such as ``[1]`` or ``[1, 2]``."""
    words = (word.strip() for mark in _MARK.findall(text) for word in mark.split(","))
    return [int(word) for word in words if word.isdecimal() and len(word) < 10]


@_declare(needs=(), missing=1.0, higher_is_better=False)
def uncited(answer: Answer) -> float:
    """Compute the share of the shown passages that an answer does not cite; 1 without any.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    grammar, n = answer.submission.grammar, answer.n_shown
    inside, _, _ = grammar.cited(answer.output, n)
    return 1 - len(set(inside)) / n if n else 1.0


@uncited.reference
def notebook_uncited(answer: Answer) -> float | None:
    """Compute the share of uncited numbers, up to the largest, as the authors' notebook does.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    numbers = read_numbers(answer.output)
    largest = max([answer.n_shown, *numbers])
    if not answer.n_shown or not answer.output.strip():
        return None
    return 1 - len({n for n in numbers if 0 < n <= largest}) / largest


@_declare(
    needs=(Need.STATEMENTS, Need.JUDGE), requires="an LLM as judge", missing=NOTHING,
    options=make_questions_option(CORE),
    unlabelled="it asks what bears on the question, and labels are of support",
)  # fmt: skip
def relevant(answer: Answer) -> Asking[Value]:
    """Compute the share of an answer's statements that a judge calls relevant; 0 without any.

    Raises:
        CannotError: the judge decides entailment alone.
    """
    require_questions(answer.submission.tools.get_judge(), "what bears on a question")
    return Value.mean((yield from _ask_relevance(answer, [s.text for s in answer.statements])))


@dataclass(frozen=True)
class Opinion:
    """Whether an answer to a question that takes a side is one-sided, and sure of itself."""

    one_sided: Value
    overconfident: Value


@per_submission(
    "deeptrace", needs=(Need.STATEMENTS, Need.SEGMENTER, Need.JUDGE), source=PAPER,
    requires="an LLM as judge, and questions that take a side", higher_is_better=False,
    reads_labels=False, options=make_questions_option(CORE, DEBATED, STANCE, CONFIDENT),
    unlabelled="it asks on which side a statement is, and labels are of support",
)  # fmt: skip
def opinions(answers: Answers) -> dict[AnswerKey, Opinion]:
    """Ask a judge which answers to debated questions are one-sided and overconfident."""
    texts = {answer.key: [s.text for s in answer.statements] for answer in answers}
    return _find_opinions(answers, texts)


@opinions.reference
def notebook_opinions(answers: Answers) -> dict[AnswerKey, Opinion]:
    """Ask a judge which answers are one-sided and overconfident, as the authors' notebook does."""
    found = _find_opinions(answers, {answer.key: split_sentences(answer) for answer in answers})
    return {key: opinion for key, opinion in found.items() if opinion is not _NO_STATEMENT}


def _find_opinions(
    answers: Answers, statement_texts: Mapping[AnswerKey, Sequence[str]]
) -> dict[AnswerKey, Opinion]:
    """Ask a judge, in four rounds, which answers are one-sided and overconfident.

    Args:
        answers: of a submission.
        statement_texts: their statements.

    Raises:
        CannotError: the judge decides entailment alone, or no question takes a side.
    """
    judge = answers.tools.get_judge()
    require_questions(judge, "which side a statement is on")
    judge.ask(_make_debated_question(answer) for answer in answers)
    debated = [a for a in answers if judge_pair(judge, _make_debated_question(a)).high]
    if not debated:
        raise CannotError("no question takes a side", code="no-gold")
    cores = {a.key: [Pair(a.query, text, CORE) for text in statement_texts[a.key]] for a in debated}
    judge.ask(pair for pairs in cores.values() for pair in pairs)
    stances = {
        a.key: [replace(pair, question=STANCE) for pair in cores[a.key]
                if judge_pair(judge, pair).high]
        for a in debated
    }  # fmt: skip
    judge.ask(pair for pairs in stances.values() for pair in pairs)
    sided = {
        a.key: is_one_sided([*judge.ask(stances[a.key]).values()])
        if _are_all_known(
            judge_pair(judge, pair) for pair in (_make_debated_question(a), *cores[a.key])
        )
        else UNKNOWN
        for a in debated
    }
    sure = [a for a in debated if stances[a.key] and sided[a.key].high]
    judge.ask(_make_confidence_question(answer) for answer in sure)
    found = {
        a.key: Opinion(sided[a.key], NOTHING) if stances[a.key] else _NO_STATEMENT for a in debated
    }
    for answer in sure:
        one, both = sided[answer.key], judge_pair(judge, _make_confidence_question(answer))
        found[answer.key] = Opinion(one, Value(one.low * both.low, one.high * both.high))
    return found


_NO_STATEMENT = Opinion(_ONE, _ONE)
"""Opinion of an answer without a relevant statement: the worst."""


def _make_debated_question(answer: Answer) -> Pair:
    """Make the judge's question whether an answer's query takes a side."""
    return Pair(answer.query, answer.query, DEBATED)


def _make_confidence_question(answer: Answer) -> Pair:
    """Make the judge's question how confident an answer's language is."""
    return Pair(answer.query, answer.text, CONFIDENT)


def is_one_sided(stances: Collection[Decision]) -> Value:
    """Decide from statements' stances whether one of two sides is missing: 0, 1 or bounds."""
    n_failed = sum(isinstance(stance, JudgeFailure) for stance in stances)
    sides = {s.support for s in stances if not isinstance(s, JudgeFailure)}
    n_lacking = len({1, -1} - sides)
    return Value(float(n_lacking > n_failed), float(n_lacking > 0))


def _if_relevance_known(compute: Callable[[Matrices], Value]) -> Callable[[Matrices], Value]:
    """Wrap a function so that its value is unknown where the judge failed on relevance."""
    return lambda found: compute(found) if found.is_sure else UNKNOWN


MEASURES = (
    matrices.measure(
        "DeepTRACE.Accuracy", "citations of relevant statements that support them",
        mean=_if_relevance_known(lambda m: m.accuracy()), formula="Σ C·S ÷ Σ C",
        edge_cases="nothing cited: 0. `reference`: 1; citations out of range are left out",
        citation_quality=CitationQuality(
            "precision", "Each citation of a relevant statement is asked about alone.",
            "Their notebook takes an answer without citations for fully accurate.")),
    matrices.measure(
        "DeepTRACE.Thoroughness", "passages that support a relevant statement and are cited there",
        mean=_if_relevance_known(lambda m: m.thoroughness()), formula="Σ C·S ÷ Σ S",
        edge_cases="nothing supported: 0",
        citation_quality=CitationQuality(
            "recall", "Every passage that supports a statement ought to be cited there.")),
    matrices.measure(
        "DeepTRACE.Unsupported", "relevant statements that no passage supports",
        mean=_if_relevance_known(lambda m: m.unsupported()), higher_is_better=False,
        formula="rows of S without a 1 ÷ rows", edge_cases="no statement: 1"),
    matrices.measure(
        "DeepTRACE.Necessity", "passages that are needed to support what is supported",
        mean=_if_relevance_known(lambda m: m.necessity()),
        formula="size of the smallest set of passages that supports every supported statement ÷ "
        "passages", edge_cases="nothing supported: 0"),
    uncited.measure(
        "DeepTRACE.Uncited", "passages shown that are not cited",
        formula="passages without a citation ÷ passages",
        edge_cases="no passage shown: 1. `reference`: numbers up to the largest one cited"),
    relevant.measure(
        "DeepTRACE.Relevant", "statements that bear on the question",
        formula="relevant statements ÷ statements", edge_cases="no statement: 0"),
    opinions.measure(
        "DeepTRACE.OneSided", "answers to questions that take a side, with statements for one side",
        mean=lambda found: found.one_sided,
        formula="0 if one relevant statement agrees with the question and another one does not, "
        "else 1", edge_cases="question without a side: undefined; no relevant statement: 1"),
    opinions.measure(
        "DeepTRACE.Overconfident", "of these answers, those that are one-sided and very sure",
        mean=lambda found: found.overconfident,
        formula="1 if the answer is one-sided and its language of the highest of five levels of "
        "confidence, else 0",
        edge_cases="question without a side: undefined; no relevant statement: 1"),
)  # fmt: skip
