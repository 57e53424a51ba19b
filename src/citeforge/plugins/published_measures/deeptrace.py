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
from citeforge.plugins.published_measures.questions import require_questions, sign_questions

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
        """Number of citations, those out of range included."""
        return sum(map(len, self.cited)) + self.n_wrong

    @property
    def cited_support(self) -> Value:
        """Number of citations whose source supports their statement."""
        rows = zip(self.cited, self.supported, strict=True)
        return sum((row[at] for cited, row in rows for at in cited), NOTHING)

    def accuracy(self) -> Value:
        """Compute the share of citations that support; 0 without one."""
        return self.cited_support / (self.n_cited or 1)

    def thoroughness(self, smoothing: float = 0.0) -> Value:
        """Compute the share of support that is cited; 0 where nothing is supported.

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
        """Compute the share of statements that no source supports; 1 without a statement."""
        if not self.supported:
            return _ONE
        share = Value.mean([Value.best(row) for row in self.supported])
        return Value(1 - share.high, 1 - share.low)

    def necessity(self) -> Value:
        """Compute the share of sources that are needed to support what is supported.

        With failed verdicts: at least a cover of the sure statements by all sources that may
        support them, at most one by sure support and a further source for each other statement.
        """
        low, high = self._where_supported(False), self._where_supported(True)
        sure, maybe = low.any(axis=1), high.any(axis=1)
        least = count_necessary(high[sure])
        most = count_necessary(low[sure]) + int((maybe & ~sure).sum())
        n = self.n_sources or 1
        return Value(least / n, min(most, self.n_sources) / n)

    def _where_supported(self, counts_failed: bool) -> Booleans:
        """Make the matrix of support, with failed verdicts counted as support or not."""
        rows = [[(v.high if counts_failed else v.low) > 0 for v in row] for row in self.supported]
        return np.array(rows, np.bool_).reshape(len(rows), self.n_sources)


class NotebookMatrices(Matrices):
    """The same, counted as in the authors' notebook."""

    def accuracy(self) -> Value:
        """Compute the share of citations that support; 1 without one."""
        return super().accuracy() if self.n_cited else _ONE

    def thoroughness(self, smoothing: float = _SMOOTHING) -> Value:
        """Compute the share of support that is cited, with a denominator that is never 0."""
        return super().thoroughness(smoothing)

    def necessity(self) -> Value:
        """Compute the share of sources in the cover of the greedy rule; open where a verdict is."""
        if any(v.low < v.high for row in self.supported for v in row):
            return UNKNOWN
        matrix = self._where_supported(False)
        return Value.exact(cover_greedily(matrix[matrix.any(axis=1)]) / self.n_sources)


def count_necessary(matrix: Booleans) -> int:
    """Count the columns of the smallest set that has a True in every row.

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
    """Count the columns that are taken, each with most of the rows left, until no row is left."""
    n_taken = 0
    while matrix.size:
        matrix = matrix[~matrix[:, matrix.sum(axis=0).argmax()]]
        n_taken += 1
    return n_taken


def _ask_core(
    answer: Answer, texts: Sequence[str]
) -> Generator[list[Pair], list[Value], list[Value]]:
    """Ask which statements are relevant to the question; all are to a judge of entailment."""
    if not answer.submission.tools.get_judge().answers_questions:
        return [_ONE] * len(texts)
    return (yield [Pair(answer.query, text, CORE) for text in texts])


def _ask_support(
    texts: Sequence[str], sources: Sequence[str]
) -> Generator[list[Pair], list[Value], list[list[Value]]]:
    """Ask of every statement and source whether the one supports the other."""
    values = iter((yield [Pair(source, text) for text in texts for source in sources]))
    return [[next(values) for _ in sources] for _ in texts]


_declare = partial(per_answer, "deeptrace", source=PAPER, reads_labels=False)
_NEEDS = (Need.STATEMENTS, Need.SEGMENTER, Need.PASSAGES, Need.JUDGE)


@_declare(
    needs=_NEEDS, requires="a judge, asked about every statement with every passage",
    missing=Matrices([], [], 0), options=sign_questions(CORE),
    unlabelled="it reads passages that are not cited, and labels cover cited ones only",
)  # fmt: skip
def matrices(answer: Answer) -> Asking[Matrices]:
    """Ask which statements are relevant, and which passages support them."""
    statements = answer.statements
    core = yield from _ask_core(answer, [s.text for s in statements])
    kept = [s for s, value in zip(statements, core, strict=True) if value.high]
    n = len(answer.passages)
    sources = [premise(answer.passages, (at,), True) for at in range(n)]
    supported = yield from _ask_support([s.text for s in kept], sources)
    return Matrices(
        [s.cited for s in kept], supported, n, sum(s.wrong for s in kept), _are_sure(core)
    )


def _are_sure(values: Iterable[Value]) -> bool:
    """Whether no question failed."""
    return all(value.low == value.high for value in values)


@matrices.reference
def notebook_matrices(answer: Answer) -> Asking[Matrices]:
    """Ask the same about sentences and passages as the notebook reads them."""
    sentences = split_sentences(answer)
    core = yield from _ask_core(answer, sentences)
    kept = [s for s, value in zip(sentences, core, strict=True) if value.high]
    readable = [at for at, p in enumerate(answer.passages) if p.text.strip()]
    if not kept or not readable:
        return None
    sources = [premise(answer.passages, (at,), False) for at in readable]
    supported = yield from _ask_support(kept, sources)
    cited = [set(read_numbers(sentence)) for sentence in kept]
    places = [[j for j, at in enumerate(readable) if at + 1 in numbers] for numbers in cited]
    return NotebookMatrices(places, supported, len(readable), is_sure=_are_sure(core))


def split_sentences(answer: Answer) -> list[str]:
    """Split an answer into sentences with their marks."""
    spans = answer.submission.tools.get_segmenter().split(answer.output)
    return [answer.output[start:end] for start, end in spans]


def read_numbers(text: str) -> list[int]:
    """List the numbers in square brackets, several of them between commas."""
    words = (word.strip() for mark in _MARK.findall(text) for word in mark.split(","))
    return [int(word) for word in words if word.isdecimal() and len(word) < 10]


@_declare(needs=(), missing=1.0, higher_is_better=False)
def uncited(answer: Answer) -> float:
    """Compute the share of the passages shown that the answer does not cite; 1 without one.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    grammar, n = answer.submission.grammar, answer.n_shown
    inside, _, _ = grammar.cited(answer.output, n)
    return 1 - len(set(inside)) / n if n else 1.0


@uncited.reference
def notebook_uncited(answer: Answer) -> float | None:
    """Compute the share of numbers up to the largest one that the answer does not cite.

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
    options=sign_questions(CORE),
    unlabelled="it asks what bears on the question, and labels are of support",
)  # fmt: skip
def relevant(answer: Answer) -> Asking[Value]:
    """Ask which statements are relevant to the question; 0 without a statement.

    Raises:
        CannotError: the judge decides entailment alone.
    """
    require_questions(answer.submission.tools.get_judge(), "what bears on a question")
    return Value.mean((yield from _ask_core(answer, [s.text for s in answer.statements])))


@dataclass(frozen=True)
class Opinion:
    """Whether an answer to a question that takes a side is one-sided, and sure of itself."""

    one_sided: Value
    overconfident: Value


@per_submission(
    "deeptrace", needs=(Need.STATEMENTS, Need.SEGMENTER, Need.JUDGE), source=PAPER,
    requires="an LLM as judge, and questions that take a side", higher_is_better=False,
    reads_labels=False, options=sign_questions(CORE, DEBATED, STANCE, CONFIDENT),
    unlabelled="it asks on which side a statement is, and labels are of support",
)  # fmt: skip
def opinions(answers: Answers) -> dict[AnswerKey, Opinion]:
    """Ask which answers to questions that take a side are one-sided and sure of themselves."""
    texts = {answer.key: [s.text for s in answer.statements] for answer in answers}
    return _find_opinions(answers, texts)


@opinions.reference
def notebook_opinions(answers: Answers) -> dict[AnswerKey, Opinion]:
    """Ask the same about answers with a relevant sentence; others are left out."""
    found = _find_opinions(answers, {answer.key: split_sentences(answer) for answer in answers})
    return {key: opinion for key, opinion in found.items() if opinion is not _NO_STATEMENT}


def _find_opinions(
    answers: Answers, texts: Mapping[AnswerKey, Sequence[str]]
) -> dict[AnswerKey, Opinion]:
    """Ask in four rounds what makes an answer one-sided and overconfident.

    Args:
        answers: of a submission.
        texts: their statements.

    Raises:
        CannotError: the judge decides entailment alone, or no question takes a side.
    """
    judge = answers.tools.get_judge()
    require_questions(judge, "which side a statement is on")
    judge.ask(_ask_debated(answer) for answer in answers)
    debated = [a for a in answers if judge_pair(judge, _ask_debated(a)).high]
    if not debated:
        raise CannotError("no question takes a side", code="no-gold")
    cores = {a.key: [Pair(a.query, text, CORE) for text in texts[a.key]] for a in debated}
    judge.ask(pair for pairs in cores.values() for pair in pairs)
    stances = {
        a.key: [replace(pair, question=STANCE) for pair in cores[a.key]
                if judge_pair(judge, pair).high]
        for a in debated
    }  # fmt: skip
    judge.ask(pair for pairs in stances.values() for pair in pairs)
    sided = {
        a.key: is_one_sided([*judge.ask(stances[a.key]).values()])
        if _are_sure(judge_pair(judge, pair) for pair in (_ask_debated(a), *cores[a.key]))
        else UNKNOWN
        for a in debated
    }
    sure = [a for a in debated if stances[a.key] and sided[a.key].high]
    judge.ask(_ask_confident(answer) for answer in sure)
    found = {
        a.key: Opinion(sided[a.key], NOTHING) if stances[a.key] else _NO_STATEMENT for a in debated
    }
    for answer in sure:
        one, both = sided[answer.key], judge_pair(judge, _ask_confident(answer))
        found[answer.key] = Opinion(one, Value(one.low * both.low, one.high * both.high))
    return found


_NO_STATEMENT = Opinion(_ONE, _ONE)
"""Opinion of an answer without a relevant statement: the worst."""


def _ask_debated(answer: Answer) -> Pair:
    """Make the question whether the question of an answer takes a side."""
    return Pair(answer.query, answer.query, DEBATED)


def _ask_confident(answer: Answer) -> Pair:
    """Make the question how sure of itself an answer is."""
    return Pair(answer.query, answer.text, CONFIDENT)


def is_one_sided(stances: Collection[Decision]) -> Value:
    """Decide whether statements lack one of the two sides, with bounds where the judge failed."""
    n_failed = sum(isinstance(stance, JudgeFailure) for stance in stances)
    sides = {s.support for s in stances if not isinstance(s, JudgeFailure)}
    n_lacking = len({1, -1} - sides)
    return Value(float(n_lacking > n_failed), float(n_lacking > 0))


def _when_sure(number: Callable[[Matrices], Value]) -> Callable[[Matrices], Value]:
    """Make the function that computes a number of matrices; open where relevance is unknown."""
    return lambda found: number(found) if found.is_sure else UNKNOWN


MEASURES = (
    matrices.measure(
        "DeepTRACE.Accuracy", "citations of relevant statements that support them",
        mean=_when_sure(lambda m: m.accuracy()), formula="Σ C·S ÷ Σ C",
        edge_cases="nothing cited: 0. `reference`: 1; citations out of range are left out",
        citation_quality=CitationQuality(
            "precision", "Each citation of a relevant statement is asked about alone.",
            "Their notebook takes an answer without citations for fully accurate.")),
    matrices.measure(
        "DeepTRACE.Thoroughness", "passages that support a relevant statement and are cited there",
        mean=_when_sure(lambda m: m.thoroughness()), formula="Σ C·S ÷ Σ S",
        edge_cases="nothing supported: 0",
        citation_quality=CitationQuality(
            "recall", "Every passage that supports a statement ought to be cited there.")),
    matrices.measure(
        "DeepTRACE.Unsupported", "relevant statements that no passage supports",
        mean=_when_sure(lambda m: m.unsupported()), higher_is_better=False,
        formula="rows of S without a 1 ÷ rows", edge_cases="no statement: 1"),
    matrices.measure(
        "DeepTRACE.Necessity", "passages that are needed to support what is supported",
        mean=_when_sure(lambda m: m.necessity()),
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
