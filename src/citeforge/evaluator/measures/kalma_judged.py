"""Measures of answers that cite triples by a judge: alignment and [NA] (KaLMA, 4.3 to 4.5)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter

import numpy as np

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import signature_name
from citeforge.engines.text.short_replies import read_words
from citeforge.evaluator.measures.declared import CitationQuality, per_submission
from citeforge.evaluator.measures.kalma_citations import (
    PAPER,
    f1_sample,
    is_later,
    micro_and_macro,
    micro_sample,
)
from citeforge.evaluator.measures.kalma_graphs import KalmaInputs, pair_triple
from citeforge.evaluator.measures.kalma_marks import answers_prompt, ask_llm
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value, judge_pair
from citeforge.evaluator.statements.kalma import is_unreadable
from citeforge.evaluator.statements.triples import ParsedAnswer, TripleClaim
from citeforge.evaluator.statistics.estimates import Floats, Sample, sample_between
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.schemas.kg import Key, Triple
from citeforge.schemas.text import normalise_em

REFERENCE_ANSWERS = 400


@dataclass(frozen=True)
class AlignedCitations:
    """Citations of one answer that their statements entail: number and share.

    Attributes:
        hits: their number, between bounds.
        share: their share; None where the answer leaves the mean.
        total: citations, once a statement.
    """

    hits: Value
    share: Value | None
    total: int


CitedTexts = list[tuple[str, Key]]
"""Texts of an answer's statements, each with a triple that it cites."""
_JUDGED = (Need.JUDGE, Need.SEGMENTER)


@per_submission("kalma", reads="triples", source=PAPER, needs=_JUDGED)
def aligned(inputs: KalmaInputs) -> dict[AnswerKey, AlignedCitations]:
    """Ask the judge which cited triples are entailed by the statement that cites them."""
    rows = {(run, r.row): _cited_texts(inputs, r) for run, r in inputs.items()}
    return _count_aligned(inputs, rows, lambda text, key: key.complete, NOTHING, NOTHING)


@aligned.reference
def reference_aligned(inputs: KalmaInputs) -> dict[AnswerKey, AlignedCitations]:
    """Ask the judge about citations as KaLMA's code does: only for the first 400 answers."""
    rows = {
        (run, r.row): _cited_texts(inputs, r)
        for run, readings in enumerate(inputs.runs)
        for r in readings[:REFERENCE_ANSWERS]  # unreadable ones are among the first, too
        if r.shown.triples and not is_unreadable(r.output)
    }
    return _count_aligned(
        inputs, rows, lambda text, key: key.value.lower() not in text.lower(), Value.exact(1.0),
        None,
    )  # fmt: skip


def _cited_texts(inputs: KalmaInputs, answer: ParsedAnswer) -> CitedTexts:
    """List the texts of an answer's statements with each triple that they cite."""
    return [(c.text, key) for c in inputs.claims(answer) for key in c.citations]


def _count_aligned(
    inputs: KalmaInputs, cited_triples: Mapping[AnswerKey, CitedTexts],
    is_asked: Callable[[str, Key], bool], value_if_unasked: Value, share_if_uncited: Value | None,
) -> dict[AnswerKey, AlignedCitations]:  # fmt: skip
    """Count cited triples that the citing statement entails; the judge decides if ``is_asked``.

    Args:
        inputs: all answers.
        cited_triples: citations of each answer.
        is_asked: whether the judge is asked about a statement and a triple.
        value_if_unasked: what counts where it is not.
        share_if_uncited: share of an answer without citations; None where it leaves the mean.
    """
    judge = inputs.tools.get_judge()
    judge.ask(pair_triple(*p) for pairs in cited_triples.values() for p in pairs if is_asked(*p))
    aligned = {}
    for key, pairs in cited_triples.items():
        each = [
            judge_pair(judge, pair_triple(*p)) if is_asked(*p) else value_if_unasked for p in pairs
        ]
        share = Value.mean(each) if each else share_if_uncited
        aligned[key] = AlignedCitations(sum(each, NOTHING), share, len(each))
    return aligned


def align_micro(aligned: ByAnswer[AlignedCitations]) -> Sample:
    """Compute the share of entailed citations over all answers."""
    sums = aligned.sums(lambda one: (one.hits, one.total))
    return sample_between(partial(micro_sample, is_always_defined=True), *sums)


def align_macro(aligned: ByAnswer[AlignedCitations]) -> Sample:
    """Average the answers' shares of entailed citations."""
    return aligned.mean(lambda one: one.share)


@dataclass(frozen=True)
class NaStatements:
    """Counts of one answer's statements of absence, and of the absent triples that they name.

    A statement of absence carries an [NA], or says so in words. It names the triples that it
    entails, or whose relation it has.

    Attributes:
        precise: those that name an absent triple or answer nothing, between bounds.
        n_statements: their number.
        recalled: absent triples that one of them names, between bounds.
        n_absent: absent triples.
    """

    precise: Value
    n_statements: int
    recalled: Value
    n_absent: int


@dataclass(frozen=True)
class _NaAnswer:
    """An answer with its [NA] statements, and the triples that count as absent."""

    reading: ParsedAnswer
    claims: Sequence[TripleClaim]
    absent: Sequence[Triple]


_Hits = list[list[float]]
"""Of each [NA] statement, whether it entails each absent triple."""


@per_submission(
    "kalma", reads="triples", source=PAPER, needs=(*_JUDGED, Need.LLM),
    gold={"strict": "removed", "reference": "2+"},
)  # fmt: skip
def na_statements(inputs: KalmaInputs) -> dict[AnswerKey, NaStatements]:
    """Count, by the judge, statements marked [NA] that name a triple missing from the graph."""
    rows = {
        (run, r.row): _NaAnswer(r, _na_claims(inputs, r), r.shown.absent)
        for run, r in inputs.items()
    }
    judge = _ask_about_absent(inputs, rows.values())
    idle = _find_idle_statements(inputs, rows.values(), judge)

    def count(answer: _NaAnswer, hits: _Hits) -> tuple[float, float]:
        """Count (right [NA] statements, absent triples that they name) of an answer."""
        idles = [(answer.reading.shown.question, c.text) in idle for c in answer.claims]
        precise = sum(max([is_idle, *row]) for is_idle, row in zip(idles, hits, strict=True))
        return precise, sum(map(max, zip(*hits, strict=True)))

    return _count_na(judge, rows, count)


@na_statements.reference
def reference_na_statements(inputs: KalmaInputs) -> dict[AnswerKey, NaStatements]:
    """Count pairs of [NA] statement and uncited gold triple, as KaLMA's code does.

    Each pair counts, so that both numbers can pass what they are divided by.
    """
    rows = {
        (run, r.row): _NaAnswer(r, claims, _uncited_gold(r))
        for run, r in inputs.items()
        if (claims := _na_claims(inputs, r))
    }
    judge = _ask_about_absent(inputs, rows.values())
    return _count_na(judge, rows, lambda answer, hits: (sum(map(sum, hits)), sum(map(sum, hits))))


def _na_claims(inputs: KalmaInputs, answer: ParsedAnswer) -> list[TripleClaim]:
    """List the statements of an answer that carry an [NA]."""
    return [claim for claim in inputs.claims(answer) if claim.is_na]


def _ask_about_absent(inputs: KalmaInputs, answers: Iterable[_NaAnswer]) -> JudgeSession:
    """Ask the judge about all pairs of [NA] statement and missing triple; return the judge."""
    judge = inputs.tools.get_judge()
    judge.ask(pair_triple(c.text, t) for row in answers for c in row.claims for t in row.absent)
    return judge


def _count_na(
    judge: JudgeSession, answers: Mapping[AnswerKey, _NaAnswer],
    count_hits: Callable[[_NaAnswer, _Hits], tuple[float, float]],
) -> dict[AnswerKey, NaStatements]:  # fmt: skip
    """Count right [NA] statements per answer, with bounds where the judge failed.

    Args:
        judge: judge that was asked about all pairs.
        answers: answers with their [NA] statements and absent triples.
        count_hits: gets (right [NA] statements, absent triples found) of an answer from a matrix of
            verdicts, one row per statement and one column per absent triple.
    """
    statements = {}
    for key, row in answers.items():
        decisions = [
            [judge_pair(judge, pair_triple(c.text, t)) for t in row.absent] for c in row.claims
        ]
        ends = [
            count_hits(row, [[end(value) for value in values] for values in decisions])
            for end in (attrgetter("low"), attrgetter("high"))
        ]
        precise, recalled = (Value(*both) for both in zip(*ends, strict=True))
        statements[key] = NaStatements(precise, len(row.claims), recalled, len(row.absent))
    return statements


def share_of_statements(statements: ByAnswer[NaStatements], error_text: str) -> Sample:
    """Compute the share of right statements on missing knowledge; an error if there are none.

    Raises:
        CannotError: there are none; says ``error_text``.
    """
    sums = statements.sums(lambda one: (one.precise, one.n_statements))
    return _micro_between(sums, error_text)


na_precision = partial(share_of_statements, error_text="no answer has an [NA]")


def na_recall(statements: ByAnswer[NaStatements]) -> Sample:
    """Compute which share of absent triples is reported as missing, over all answers."""
    return _micro_between(
        statements.sums(lambda one: (one.recalled, one.n_absent)), "nothing is absent"
    )


def na_f1(statements: ByAnswer[NaStatements]) -> Sample:
    """Compute F1 of statements on missing knowledge; precision is 0 without statements."""
    precise = statements.sums(lambda one: (one.precise, one.n_statements))
    recalled = statements.sums(lambda one: (one.recalled, one.n_absent))
    if not recalled[0][..., 1].any():
        raise CannotError("nothing is absent", code="no-gold")
    low, high = (np.concatenate(both, axis=-1) for both in zip(precise, recalled, strict=True))
    return sample_between(f1_sample, low, high)


def _micro_between(sums: tuple[Floats, Floats], error_text: str) -> Sample:
    """Make the sample of hits ÷ total, bounded where the judge failed; an error without totals.

    Raises:
        CannotError: nothing is divided; says ``error_text``.
    """
    if not sums[0][..., 1].any():
        raise CannotError(error_text, code="no-gold")
    return sample_between(micro_sample, *sums)


def _uncited_gold(answer: ParsedAnswer) -> list[Triple]:
    """List gold triples of rounds ≥ 2 that an answer does not cite, which KaLMA calls absent."""
    cited = set(answer.citations)
    return [
        Triple(k.qid, "", "", k.relation, k.value)
        for k, number in answer.shown.gold
        if is_later(number) and k not in cited
    ]


def _find_idle_statements(
    inputs: KalmaInputs, answers: Iterable[_NaAnswer], judge: JudgeSession
) -> frozenset[tuple[str, str]]:
    """Find [NA] statements that answer nothing, by an LLM: (question, statement) pairs.

    Section 4.5: such a mark is right. Only statements that hold no absent triple are asked about; a
    reply that says neither is counted as failed.
    """
    if inputs.tools.llm is None:
        return frozenset()
    pairs = dict.fromkeys(
        (row.reading.shown.question, c.text)
        for row in answers
        for c in row.claims
        if normalise_em(c.text)
        and not any(judge_pair(judge, pair_triple(c.text, t)).low for t in row.absent)
    )
    prompts = (answers_prompt(q, s) for q, s in pairs)
    idle = set[tuple[str, str]]()
    for pair, reply in zip(pairs, ask_llm(inputs, inputs.tools.llm, prompts), strict=True):
        said = None if reply is None else read_words(reply, ("yes", "no"))
        if said is None and reply is not None:
            inputs.failures.append(f"the reply {reply[:60]!r} says neither yes nor no")
        if said == "no":
            idle.add(pair)
    return frozenset(idle)


def _clause_option(tools: ScoringTools, protocol: str) -> str:
    """Name the LLM that checks if [NA] statements answer the question, for signatures; or "off"."""
    name = "off" if tools.llm is None else signature_name(tools.llm)
    return f"answers-nothing clause {name}"


MEASURES = (
    *micro_and_macro(
        aligned, "Align", "citations that their statement entails", align_micro, align_macro,
        requires="a judge",
        formula='pairs of statement and citation with `φ(statement, "relation: value") = 1` ÷ '
        "pairs",
        citation_quality=CitationQuality(
            "precision", "The statement must entail the triple: the reverse of other definitions.",
            "KaLMA's code takes a value that stands in the statement for aligned, and looks at the "
            f"first {REFERENCE_ANSWERS} answers.",
        ),
    ),
    na_statements.measure(
        "KaLMA.NA.P", "[NA] statements that entail an absent triple, or answer nothing",
        formula="`[NA]` statements that entail an absent triple, or (`strict` with `--llm`) do not "
        "answer the question ÷ `[NA]` statements",
        requires="a judge", options=_clause_option, sample=na_precision),
    na_statements.measure("KaLMA.NA.R", "absent triples that an [NA] statement entails",
        formula="absent triples that an `[NA]` statement entails ÷ absent triples",
        requires="a judge and an absent_… context", sample=na_recall),
    na_statements.measure(
        "KaLMA.NA.F1", "harmonic mean of NA.P and NA.R (the paper's Figure 4)",
        formula="harmonic mean of NA.P (0 without any `[NA]`) and NA.R",
        requires="a judge and an absent_… context", options=_clause_option, sample=na_f1),
)  # fmt: skip
