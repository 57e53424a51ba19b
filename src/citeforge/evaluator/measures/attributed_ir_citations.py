"""Attributed-IR's reading of answers, and measures of their citations (Djeddal et al. 2024).

## attributed_ir

Djeddal et al. 2024, section 2.5; `reference`: their evaluators. Premises are texts without titles.

The *one* gold answer is the first that is attributable and informative, else attributable, else
informative, else the first. Queries without a gold answer are left out of BLEU, ROUGE and
BERTScore. Marks are removed from answers and gold answers, but not from closed-book answers.

Limits of `reference`: distinct citations, cut to 7 *before* the range is checked; 20 statements;
queries without passages are left out. Its overlap compares a mark with 1 instead of the number of
passages, so only `[1]` and `[0]` count.

*Example.* S1 cites 1 and 2, S2 cites 3, S3 nothing; φ is 1 for (2, S1) and (4, S3). AutoAIS.cit =
1/3, @cited = 1/2, psg = 2/3. Cited ids {a, d}, gold {a, b, c}: Overlap.P = 1/2, Overlap.R = 1/3.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain, islice
from typing import Any

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.declared import CitationQuality, per_answer, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers, Asking
from citeforge.evaluator.measures.judging import CitationScores, citation_f1, judge_citations
from citeforge.evaluator.measures.values import Value
from citeforge.evaluator.statements.attributed_ir import air_output, mark_numbers, with_passages
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need

AIR = "Djeddal et al. 2024 (Attributed-IR), section 2.5"


@dataclass(frozen=True)
class BestCitations:
    """The best citation of each statement of an answer, averaged.

    Attributes:
        over_all: over all statements.
        over_cited: over statements with a citation.
    """

    over_all: Value
    over_cited: Value


_JUDGED: dict[str, Any] = {
    "evaluator": "attributed_ir", "needs": (Need.STATEMENTS, Need.PASSAGES, Need.JUDGE),
    "requires": "a judge", "source": AIR, "reads_labels": False,
}  # fmt: skip


@per_answer("attributed_ir", **_JUDGED)
def entailed_by_cited(answer: Answer) -> Asking[BestCitations]:
    """Compute the share of an answer's statements that a cited passage entails."""
    return (yield from _find_best(answer, [statement.cited for statement in answer.statements]))


@per_answer("attributed_ir", **_JUDGED)
def entailed_by_shown(answer: Answer) -> Asking[BestCitations]:
    """Compute the share of an answer's statements that any passage shown entails.

    It takes many more questions to the judge.
    """
    return (yield from _find_best(answer, [range(answer.n_passages) for _ in answer.statements]))


def _find_best(answer: Answer, candidates: Sequence[Iterable[int]]) -> Asking[BestCitations]:
    """Ask the judge about each statement with each candidate passage; average the best verdicts.

    Args:
        answer: the answer.
        candidates: for each of its statements, positions of the passages to ask about.
    """
    pairs = [
        [Pair(answer.passages[position].text, statement.text) for position in positions]
        for statement, positions in zip(answer.statements, candidates, strict=True)
    ]
    values = iter((yield list(chain.from_iterable(pairs))))
    best = [Value.best(islice(values, len(positions))) for positions in pairs]
    # Where a citation out of range skips a statement, wrong ones alone leave it uncited.
    cited = [
        value
        for value, statement in zip(best, answer.statements, strict=True)
        if statement.cited or (statement.wrong and not statement.skipped)
    ]
    return BestCitations(Value.mean(best), Value.mean(cited))


@per_submission(
    "attributed_ir", **_JUDGED,
    formula="CitRec, CitPrec and CitF1 of [alce](#alce) with these premises",
    edge_cases="no statement: 0. `reference`: a statement whose only citation is a passage without "
    "text counts −1 in both",
)  # fmt: skip
def cited(answers: Answers) -> dict[AnswerKey, CitationScores]:
    """Let the judge score every answer's citations (recall, precision) as Attributed-IR does."""
    return judge_citations(answers, with_title=False)


_quality = partial(
    CitationQuality,
    reference="Their code looks at 20 statements of an answer and 7 citations of each.",
)
_TEXTS = "It asks as ALCE does, but the judge sees no titles."


@dataclass(frozen=True)
class Overlap:
    """Precision and recall of an answer's cited passages against the gold answer's."""

    precision: float
    recall: float


@per_submission(
    "attributed_ir", needs=(Need.PASSAGES, Need.GOLD, Need.BENCHMARK),
    requires="gold answers with citations",
    source=AIR,
)  # fmt: skip
def overlap(answers: Answers) -> dict[AnswerKey, Overlap]:
    """Compute precision and recall of every answer's cited passages against the gold answer's.

    Without gold or generated citations they are 0.
    """
    answers.require_passages()
    _require_citations(answers)
    overlaps = {}
    for answer in answers:
        gold = answer.gold.single
        inside, n_wrong, _ = answers.grammar.cited(answer.output, answer.n_passages)
        generated = {answer.passages[p].id for p in inside}
        cited = set(gold.citations) if gold is not None else set()
        overlaps[answer.key] = _overlap(cited, generated, n_wrong)
    return overlaps


@overlap.reference
def reference_overlap(answers: Answers) -> dict[AnswerKey, Overlap]:
    """Compute overlaps of citations as Attributed-IR's code does, without empty gold answers.

    Its code compares a mark with 1 instead of the number of passages: only [1] and [0] count.
    """
    shown = with_passages(answers)
    _require_citations(answers)
    overlaps = {}
    for answer in shown:
        gold = answer.gold.single
        if gold is not None and gold.text:
            quotes = answers.relevant_ids[answer.row]
            marks = mark_numbers(gold.text)
            cited = {quotes[n - 1] for n in marks if n <= len(quotes)} if quotes else set()
            numbers = [n for n in mark_numbers(air_output(answer.output)) if n <= 1]
            generated = {answer.passages[n - 1].id for n in numbers}
            overlaps[answer.key] = _overlap(cited, generated, 0)
    return overlaps


def _require_citations(answers: Answers) -> None:
    """Raise an error if no gold answer cites anything.

    Raises:
        CannotError: none does.
    """
    if not any(g.citations for gold in answers.benchmark.gold_rows for g in gold.answers):
        raise CannotError("needs gold answers with citations", code="no-gold")


def _overlap(gold_cited: set[str], answer_cited: set[str], n_not_shown: int) -> Overlap:
    """Compute precision and recall of an answer's citations against a gold answer's."""
    size, shared = len(answer_cited) + n_not_shown, len(gold_cited & answer_cited)
    return Overlap(shared / size if size else 0.0, shared / len(gold_cited) if gold_cited else 0.0)


_overlap_quality = partial(
    CitationQuality,
    apart="A citation is right where one gold answer cites the same passage, whatever it says.",
    reference="Their code counts [1] and [0] alone, so that only the first and the last passage "
    "can be cited.",
)
MEASURES = (
    entailed_by_cited.measure("AutoAIS.cit", "best citation of each statement entails it",
        mean=lambda best: best.over_all,
        formula="mean over statements of the largest `φ(c, s)` over their citations",
        edge_cases="uncited statement: 0. No statement: 0",
        citation_quality=_quality(
        "recall", "One cited passage alone must entail the statement; needless ones cost nothing.",
        )),
    entailed_by_cited.measure("AutoAIS.cit@cited", "the same over cited statements only",
        mean=lambda best: best.over_cited, formula="the same over cited statements",
        edge_cases="none cited: 0, and the answer stays",
        citation_quality=_quality(
        "precision", "Statements without a citation are left out, so that citing little is free.",
        )),
    entailed_by_shown.measure("AutoAIS.psg", "best shown passage of each statement entails it",
        formula="mean over statements of the largest `φ(p, s)` over all passages shown",
        edge_cases="no statement: 0", mean=lambda best: best.over_all,
        unlabelled="it reads all passages shown, and labels cover cited ones only"),
    cited.measure("NLI.rec", "CitRec with passage texts as premises", linear=True,
        mean=lambda scores: scores.recall, citation_quality=_quality("recall", _TEXTS)),
    cited.measure("NLI.prec", "CitPrec with passage texts as premises",
        mean=lambda scores: scores.precision, citation_quality=_quality("precision", _TEXTS)),
    cited.measure("NLI.F1", "harmonic mean of mean NLI.rec and mean NLI.prec", sample=citation_f1,
        citation_quality=_quality("both", _TEXTS)),
    overlap.measure("Overlap.P", "cited passages that the gold answer cites",
        mean=lambda both: both.precision,
        formula="passages cited by answer and gold answer ÷ passages cited by the answer",
        edge_cases="no citation on either side: 0. `strict`: out-of-range citations are in "
        "the denominator", citation_quality=_overlap_quality("precision")),
    overlap.measure("Overlap.R", "passages of the gold answer that are cited",
        mean=lambda both: both.recall, formula="the same ÷ passages cited by the gold answer",
        edge_cases="as above. `reference`: queries with empty gold answers are left out",
        citation_quality=_overlap_quality("recall")),
)  # fmt: skip
