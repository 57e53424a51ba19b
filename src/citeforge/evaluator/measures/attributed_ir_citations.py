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

from collections.abc import Iterable
from dataclasses import dataclass
from functools import partial

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.columns import (
    Value,
    bounded_mean_of,
    judge_pair,
    mean_of,
    values_by_answer,
)
from citeforge.evaluator.measures.declared import CitationQuality, PassageMeasure
from citeforge.evaluator.measures.judging import (
    JudgedAnswers,
    citation_f1,
    citation_precision,
    citation_recall,
    judge_citations,
)
from citeforge.evaluator.statements.attributed_ir import air_output, mark_numbers, with_passages
from citeforge.evaluator.statements.protocols import statements_of
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs
from citeforge.evaluator.submissions.tools import CannotError

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


def judge_passages(inputs: Inputs, of_shown: bool) -> dict[AnswerKey, BestCitations]:
    """Compute each answer's share of statements that a cited, or any shown, passage entails.

    All shown passages take many more questions to the judge.
    """
    judge = inputs.tools.get_judge()
    rows = statements_of(inputs, "attributed_ir")

    def pairs(item: AnswerItem, statement: CitedStatement) -> Iterable[Pair]:
        """Pair a statement with each passage that it cites, or that was shown, for the judge."""
        looked_at = range(len(item.passages)) if of_shown else statement.cited
        return (Pair(item.passages[at].text, statement.text) for at in looked_at)

    judge.ask(
        pair
        for _, item, statements in rows
        for statement in statements
        for pair in pairs(item, statement)
    )
    values: dict[AnswerKey, BestCitations] = {}
    for key, item, statements in rows:
        best = [Value.best(judge_pair(judge, pair) for pair in pairs(item, c)) for c in statements]
        # Where a citation out of range skips a statement, wrong ones alone leave it uncited.
        cited = [
            value
            for value, statement in zip(best, statements, strict=True)
            if statement.cited or (statement.wrong and not statement.skipped)
        ]
        values[key] = BestCitations(Value.mean(best), Value.mean(cited))
    return values


_OF_CITED, _OF_SHOWN = (partial(judge_passages, of_shown=of_shown) for of_shown in (False, True))


def judged_citations(inputs: Inputs) -> JudgedAnswers:
    """Let the judge score every answer's citations (recall, precision) as Attributed-IR does."""
    return judge_citations(inputs, "attributed_ir")


_judged = partial(
    PassageMeasure,
    family="attributed_ir",
    needs="a judge",
    source=AIR,
    uses=("judge", "segmenter", "statements"),
    reads_labels=False,
)
_quality = partial(
    CitationQuality,
    reference="Their code looks at 20 statements of an answer and 7 citations of each.",
)
_nli = partial(
    _judged,
    formula="CitRec, CitPrec and CitF1 of [alce](#alce) with these premises",
    edge_cases="no statement: 0. `reference`: a statement whose only citation is a passage without "
    "text counts −1 in both",
)  # fmt: skip
_TEXTS = "It asks as ALCE does, but the judge sees no titles."


@dataclass(frozen=True)
class Overlap:
    """Precision and recall of an answer's cited passages against the gold answer's."""

    precision: float
    recall: float


def compute_overlap(item: AnswerItem, inputs: Inputs) -> Overlap | None:
    """Compute precision and recall of an answer's cited passages against the gold answer's.

    Without gold or generated citations it is 0; ``reference``: None, which leaves the query out,
    where the gold answer is the empty string.
    """
    answer = item.gold.single
    if inputs.protocol == "reference" and (answer is None or not answer.text):
        return None
    cited = set(answer.citations) if answer is not None else set()
    if inputs.protocol == "reference":
        assert answer is not None
        quotes = inputs.benchmark.relevant_ids[item.row]
        marks = mark_numbers(answer.text or "")
        cited = {quotes[n - 1] for n in marks if n <= len(quotes)} if quotes else set()
        generated, n_wrong = _reference_ids(item), 0
    else:
        inside, n_wrong, _ = inputs.grammar.cited(item.output, len(item.passages))
        generated = {item.passages[p].id for p in inside}
    size = len(generated) + n_wrong
    shared = len(cited & generated)
    return Overlap(shared / size if size else 0.0, shared / len(cited) if cited else 0.0)


def _reference_ids(item: AnswerItem) -> set[str]:
    """Get the ids of cited passages as Attributed-IR's code counts them: it sees only [1] and [0].

    It compares a marker with 1 instead of the number of passages.
    """
    numbers = [n for n in mark_numbers(air_output(item.output)) if n <= 1]
    return {item.passages[n - 1].id for n in numbers} if item.passages else set()


def compute_overlaps(inputs: Inputs) -> dict[AnswerKey, Overlap]:
    """Compute precision and recall of every answer's cited passages against the gold answer's."""
    inputs = with_passages(inputs)
    if not any(g.citations for gold in inputs.benchmark.gold_rows for g in gold.answers):
        raise CannotError("needs gold answers with citations", code="no-gold")
    return values_by_answer(compute_overlap)(inputs)


_overlap = partial(
    PassageMeasure, family="attributed_ir", needs="gold answers with citations", source=AIR,
)  # fmt: skip
_overlap_quality = partial(
    CitationQuality,
    apart="A citation is right where one gold answer cites the same passage, whatever it says.",
    reference="Their code counts [1] and [0] alone, so that only the first and the last passage "
    "can be cited.",
)
MEASURES = (
    _judged(
        "AutoAIS.cit",
        compute=bounded_mean_of(_OF_CITED, lambda best: best.over_all),
        definition="best citation of each statement entails it",
        formula="mean over statements of the largest `φ(c, s)` over their citations",
        edge_cases="uncited statement: 0. No statement: 0",
        citation_quality=_quality(
            "recall",
            "One cited passage alone must entail the statement; needless ones cost nothing.",
        ),
    ),
    _judged(
        "AutoAIS.cit@cited",
        compute=bounded_mean_of(_OF_CITED, lambda best: best.over_cited),
        definition="the same over cited statements only",
        formula="the same over cited statements",
        edge_cases="none cited: 0, and the answer stays",
        citation_quality=_quality(
            "precision",
            "Statements without a citation are left out, so that citing little is free.",
        ),
    ),
    _judged(
        "AutoAIS.psg",
        definition="best shown passage of each statement entails it",
        formula="mean over statements of the largest `φ(p, s)` over all passages shown",
        edge_cases="no statement: 0",
        compute=bounded_mean_of(_OF_SHOWN, lambda best: best.over_all),
        unlabelled="it reads all passages shown, and labels cover cited ones only",
    ),
    _nli("NLI.rec", definition="CitRec with passage texts as premises", linear=True,
         compute=citation_recall(judged_citations),
         citation_quality=_quality("recall", _TEXTS)),
    _nli("NLI.prec", definition="CitPrec with passage texts as premises",
         compute=citation_precision(judged_citations),
         citation_quality=_quality("precision", _TEXTS)),
    _nli("NLI.F1", definition="harmonic mean of mean NLI.rec and mean NLI.prec",
         compute=citation_f1(judged_citations),
         citation_quality=_quality("both", _TEXTS)),
    _overlap("Overlap.P", definition="cited passages that the gold answer cites",
             compute=mean_of(compute_overlaps, lambda both: both.precision),
             formula="passages cited by answer and gold answer ÷ passages cited by the answer",
             edge_cases="no citation on either side: 0. `strict`: out-of-range citations are in "
             "the denominator",
             citation_quality=_overlap_quality("precision")),
    _overlap("Overlap.R", definition="passages of the gold answer that are cited",
             compute=mean_of(compute_overlaps, lambda both: both.recall),
             formula="the same ÷ passages cited by the gold answer",
             edge_cases="as above. `reference`: queries with empty gold answers are left out",
             citation_quality=_overlap_quality("recall")),
)  # fmt: skip
