"""FACT of DeepResearch Bench: citation accuracy and effective citations (arXiv 2506.11763).

Pairs are read from the report's markup, not by an LLM, and only statements that are equal are one
(the paper has an LLM extract them, and drop paraphrases); or the submission brings them, with or
without verdicts.

## fact

Du et al. 2025 (DeepResearch Bench, arXiv 2506.11763), section 3.2 and appendix. A pair is a
statement and a page (URL) that it cites; [reports.md](reports.md) says how pairs are read. A pair
is supported if the page's text supports it at least in part.

Unread pairs count and support nothing under `strict`. *Example.* Two reports, with 3 of 5 and 0 of
0 pairs supported, one of the 5 unread. `strict`: Acc = (3/5 + 0)/2 = .30, Eff = 1.5. `reference`:
Acc = 3/4, Eff = 3, Cit = 4.
"""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.evaluator.measures.declared import COUNT, CitationQuality, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.measures.values import ByAnswer, Value
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, no_judge
from citeforge.evaluator.submissions.url_marks import has_text
from citeforge.plugins.responses.fact_pairs import KEYS, statement_pairs
from citeforge.schemas.citations.urls import normalise_url

PAPER = "Du et al. 2025 (DeepResearch Bench, FACT), section 3.2"


_UNREAD = "unread"
"""Outcome of a pair whose page has no text."""


@dataclass(frozen=True)
class ReportCounts:
    """Numbers of statement–URL pairs of one report.

    Attributes:
        supported: pairs that the page supports, between bounds.
        n_pairs: pairs; ``reference``: those that were judged.
        n_unread: pairs whose page has no text or tells nothing; ``reference``: pairs left out.
    """

    supported: Value
    n_pairs: int
    n_unread: int


class ReportsCounts(ByAnswer[ReportCounts]):
    """Counts of all reports."""

    def accuracy(self) -> Sample:
        """Compute the mean share of a report's statement–URL pairs that are supported."""
        return self.mean(lambda report: report.supported / (report.n_pairs or 1))


class PooledCounts(ReportsCounts):
    """Counts of all reports that cite, whose pairs are pooled as in the paper's code."""

    def accuracy(self) -> Sample:
        """Compute the share of all reports' statement–URL pairs that are supported."""
        return self.ratio(lambda report: (report.supported.low, report.n_pairs))


@per_submission(
    "fact", needs=(Need.PASSAGES, Need.SEGMENTER, Need.JUDGE_IF_ANY), source=PAPER,
    requires="a judge, reports that cite by URL, and passages with `url` and `text`",
    reads_labels=False,
)  # fmt: skip
def reports(answers: Answers) -> ReportsCounts:
    """Count each report's statement–URL pairs: all, supported and unread ones."""
    outcomes = _find_outcomes(answers, strict=True)
    if not _have_given_pairs(answers):
        answers.require_passages()
    counts = {key: _count_outcomes(some, strict=True) for key, some in outcomes.items()}
    return ReportsCounts(counts, answers.shape)


@reports.reference
def reference_reports(answers: Answers) -> ReportsCounts:
    """Count the statement–URL pairs of each report that cites, without unread pages."""
    outcomes = _find_outcomes(answers, strict=False)
    counts = {key: _count_outcomes(some, strict=False) for key, some in outcomes.items() if some}
    return PooledCounts(counts, answers.shape)


def _have_given_pairs(answers: Answers) -> bool:
    """Whether a submission lists the statement–URL pairs of all its reports itself."""
    return all(answer.facts is not None for answer in answers if not answer.is_missing)


def _find_outcomes(answers: Answers, strict: bool) -> dict[AnswerKey, Counter[str]]:
    """Decide, by the judge, how many statement–URL pairs of each report have each outcome.

    Returns:
        Number of pairs with each outcome, by answer.

    Raises:
        CannotError: there is no judge, no segmenter, or no passage has a URL.
    """
    rows = [(a.key, _list_judge_questions(answers, a, strict)) for a in answers]
    pairs = [q for _, questions in rows for q in questions if isinstance(q, Pair)]
    judge = answers.tools.judge
    if judge is None and (pairs or not _have_given_pairs(answers)):
        raise CannotError(no_judge(), code="missing-judge")
    any_url = any(p.url for answer in answers for p in answer.passages)
    if not any_url and any(_UNREAD in questions for _, questions in rows):
        raise CannotError(
            "needs the texts of cited pages: passages with `url` and `text` in the lines",
            code="missing-field",
        )
    decisions = {} if judge is None else judge.ask(pairs)
    return {key: Counter(_find_outcome(q, decisions) for q in some) for key, some in rows}


def _list_judge_questions(inputs: Answers, report: Answer, strict: bool) -> list[Pair | str]:
    """List, per statement–URL pair of a report, the judge's question or a known outcome."""
    pages = {normalise_url(p.url): p for p in report.passages if p.url}
    texts = {
        name: premise_text(page, strict) for name, page in pages.items() if has_text(page.text)
    }
    facts = report.facts
    if facts is None:
        segmenter = inputs.tools.get_segmenter()
        urls = [p.url for p in report.passages]
        facts = statement_pairs(report.output, segmenter, KEYS[inputs.protocol], urls)
    questions: list[Pair | str] = []
    for one in facts:
        text = texts.get(normalise_url(one.url))
        question = _UNREAD if text is None else Pair(text, one.statement)
        questions.append(one.verdict or question)
    return questions


def _find_outcome(question: Pair | str, decisions: Mapping[Pair, Decision]) -> str:
    """Get a statement–URL pair's outcome: supported, unsupported, undecided, unread or failed.

    Args:
        question: what the judge was asked, or the outcome if it is known without the judge.
        decisions: the judge's, by pair.
    """
    if isinstance(question, str):
        return question
    decision = decisions[question]
    if isinstance(decision, JudgeFailure):
        return "failed"
    if decision.undecided:
        return "undecided"
    return "supported" if decision.level > 0 else "unsupported"


def _count_outcomes(outcomes: Counter[str], strict: bool) -> ReportCounts:
    """Count a report's pairs by outcome: all (but unread unless ``strict``), supported, unread."""
    right, failed = float(outcomes["supported"]), outcomes["failed"]
    unread = outcomes[_UNREAD] + outcomes["undecided"] + (0 if strict else failed)
    supported = Value(right, right + failed if strict else right)
    return ReportCounts(supported, outcomes.total() - (0 if strict else unread), unread)


MEASURES = (
    reports.measure("FACT.Acc", "statement–URL pairs that the page supports, fully or in part",
        sample=lambda counts: counts.accuracy(),
        formula="mean over reports of supported ÷ pairs; without pairs 0",
        edge_cases="`reference`: supported ÷ judged pairs, over all reports",
        citation_quality=CitationQuality(
        "precision", "Each statement and page is one pair, and partial support is enough.",
        "Their code pools the pairs of all reports, without pages that tell nothing.", )),
    reports.measure("FACT.Eff", "supported statement–URL pairs of a report",
        mean=lambda report: report.supported, high=None, scale=1,
        formula="mean number of supported pairs",
        edge_cases="`reference`: the same over reports that cite",
        citation_quality=CitationQuality(
        "recall", "It counts supported pairs, so that longer reports are ahead.",
        "Their code takes the mean over reports that cite.", )),
    reports.measure("FACT.Cit", "statement–URL pairs of a report (reference: those judged)",
        mean=lambda report: report.n_pairs, **COUNT, formula="mean number of pairs",
        edge_cases="`reference`: judged pairs, over reports that cite"),
    reports.measure("FACT.Unread",
        "of these, pairs whose page has no text or tells nothing (reference: left out)",
        formula="of these, pairs whose page has no text or tells nothing",
        edge_cases="`reference`: pairs left out: these, and failed judgements",
        mean=lambda report: report.n_unread, high=None, scale=1, higher_is_better=False),
)  # fmt: skip
