"""FACT of DeepResearch Bench: citation accuracy and effective citations (arXiv 2506.11763).

``strict`` is the paper's appendix: of report t, N_s of its N_u statement–URL pairs are supported by
the text of the page; accuracy is the mean of N_s / N_u, 0 for a report without pairs; effective
citations are the mean of N_s. A page that has no text, or tells nothing by the judge's word,
supports nothing. ``reference`` counts as the authors' code does: such pairs are left out, and those
on which the judge failed, reports without citations, too, and accuracy is one share over all pairs.

Pairs are read from the report's markup, not by an LLM, and only statements that are equal are one
(the paper has an LLM extract them, and drop paraphrases); or the submission brings them, with or
without verdicts.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from citeforge.engines.judge.records import Decision, JudgeFailure, Pair
from citeforge.evaluator.measures.columns import Key, Value, bounded, mean_of_defined, segmenter_of
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    Found,
    Measure,
    PassageMeasure,
)
from citeforge.evaluator.measures.judging import premise_text, require_passages
from citeforge.evaluator.statistics.estimates import ratio_sample
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.evaluator.submissions.tools import NO_JUDGE
from citeforge.evaluator.submissions.url_marks import has_text
from citeforge.plugins.responses.fact_pairs import KEYS, statement_pairs
from citeforge.schemas.citations.urls import normalise_url

PAPER = "Du et al. 2025 (DeepResearch Bench, FACT), section 3.2"


_UNREAD = "unread"
"""Outcome of a pair whose page has no text."""


def fact(inputs: Inputs, measures: Sequence[Measure]) -> Found:
    """Compute all FACT measures from one round of judge calls.

    Raises:
        CannotError: there is no judge, no segmenter, no passage has a URL, or there is no passage.
    """
    strict = inputs.protocol == "strict"
    rows = [((run, item.row), _questions(inputs, item, strict)) for run, item in inputs.items()]
    pairs = [q for _, questions in rows for q in questions if isinstance(q, Pair)]
    judge = inputs.tools.judge
    brought = all(item.facts is not None for _, item in inputs.items() if not item.is_missing)
    if judge is None and (pairs or not brought):
        raise CannotError(NO_JUDGE, code="missing-judge")
    any_url = any(p.url for _, item in inputs.items() for p in item.passages)
    if not any_url and any(_UNREAD in questions for _, questions in rows):
        raise CannotError(
            "needs the texts of cited pages: passages with `url` and `text` in the lines",
            code="missing-field",
        )
    if strict and not brought:
        require_passages(inputs)
    decisions = {} if judge is None else judge.ask(pairs)
    yield from _samples(
        inputs, {key: Counter(_outcome(q, decisions) for q in some) for key, some in rows}, strict
    )


def _questions(inputs: Inputs, item: AnswerItem, strict: bool) -> list[Pair | str]:
    """List, for each pair of a report, the judge's question, or the outcome if it is known."""
    pages = {normalise_url(p.url): p for p in item.passages if p.url}
    texts = {
        name: premise_text(page, strict) for name, page in pages.items() if has_text(page.text)
    }
    facts = item.facts
    if facts is None:
        segmenter = segmenter_of(inputs.tools)
        urls = [p.url for p in item.passages]
        facts = statement_pairs(item.output, segmenter, KEYS[inputs.protocol], urls)
    questions: list[Pair | str] = []
    for one in facts:
        text = texts.get(normalise_url(one.url))
        question = _UNREAD if text is None else Pair(text, one.statement)
        questions.append(one.verdict or question)
    return questions


def _outcome(question: Pair | str, decisions: Mapping[Pair, Decision]) -> str:
    """Get the outcome of a pair: supported, unsupported, undecided, unread or failed."""
    if isinstance(question, str):
        return question
    decision = decisions[question]
    if isinstance(decision, JudgeFailure):
        return "failed"
    if decision.undecided:
        return "undecided"
    return "supported" if decision.level > 0 else "unsupported"


def _samples(inputs: Inputs, outcomes: Mapping[Key, Counter[str]], strict: bool) -> Found:
    """Compute accuracy and effective citations from each report's numbers of outcomes."""
    supported: dict[Key, Value] = {}
    n_pairs: dict[Key, float] = {}
    n_unread: dict[Key, float] = {}
    for key, counts in outcomes.items():
        if not strict and not counts:
            continue  # reports without citations
        right, failed = float(counts["supported"]), counts["failed"]
        unread = counts[_UNREAD] + counts["undecided"] + (0 if strict else failed)
        supported[key] = Value(right, right + failed if strict else right)
        n_pairs[key] = float(counts.total() - (0 if strict else unread))
        n_unread[key] = float(unread)
    if strict:
        shares = {key: value / (n_pairs[key] or 1) for key, value in supported.items()}
        yield bounded(inputs, "FACT.Acc", shares)
    else:  # supported pairs of all pairs that were judged
        columns = ({key: value.low for key, value in supported.items()}, n_pairs)
        sums = np.stack([np.nan_to_num(inputs.column(rows)) for rows in columns], axis=-1)
        yield "FACT.Acc", ratio_sample(sums)
    yield bounded(inputs, "FACT.Eff", supported)
    yield mean_of_defined(inputs, "FACT.Cit", n_pairs)
    yield mean_of_defined(inputs, "FACT.Unread", n_unread)


_needs = "a judge, reports that cite by URL, and passages with `url` and `text`"
_percent = partial(
    PassageMeasure, family="fact", needs=_needs, source=PAPER, uses=("judge", "segmenter"),
    compute=fact,
)  # fmt: skip
_count = partial(_percent, high=None, scale=1, higher_is_better=None)
MEASURES = (
    _percent("FACT.Acc", definition="statement–URL pairs that the page supports, fully or in part",
             formula="mean over reports of supported ÷ pairs; without pairs 0",
             edge_cases="`reference`: supported ÷ judged pairs, over all reports",
             citation_quality=CitationQuality(
                 "precision", "Each statement and page is one pair, and partial support is enough.",
                 "Their code pools the pairs of all reports, without pages that tell nothing.",
             )),
    _count(
        "FACT.Eff", definition="supported statement–URL pairs of a report", higher_is_better=True,
        formula="mean number of supported pairs",
        edge_cases="`reference`: the same over reports that cite",
        citation_quality=CitationQuality(
            "recall", "It counts supported pairs, so that longer reports are ahead.",
            "Their code takes the mean over reports that cite.",
        ),
    ),
    _count("FACT.Cit", definition="statement–URL pairs of a report (reference: those judged)",
           formula="mean number of pairs",
           edge_cases="`reference`: judged pairs, over reports that cite"),
    _count(
        "FACT.Unread",
        definition="of these, pairs whose page has no text or tells nothing (reference: left out)",
        formula="of these, pairs whose page has no text or tells nothing",
        edge_cases="`reference`: pairs left out: these, and failed judgements",
        higher_is_better=False,
    ),
)  # fmt: skip
