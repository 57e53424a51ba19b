"""ARGUE: a flow chart for each sentence of a report, and the nuggets that its sentences state.

## argue

`strict` is Walden et al. 2025 (Auto-ARGUE, arXiv 2509.26184) with the flow chart of Mayfield et al.
2024 (arXiv 2405.00982), `reference` the code of the latter's authors (`report_gen_eval`).

A judge takes each sentence through the chart:

- it cites: every citation must support it, else it is penalised, also where there is no such
  passage. If all do, it states the nuggets that it entails;
- it cites nothing and reports an absence ("it is not known"): it is right if it states a nugget,
  else penalised;
- it cites nothing and needs to ([worthy](#worthy) asks the same): penalised at its first
  occurrence, and ignored where the sentences before it say the same;
- else it is ignored.

Sentences are the run's own, else statements. Nuggets are those of `--assessments`; a query without
any leaves. `reference` also ignores supported sentences without a nugget, and sentences with a
citation of nothing, and leaves out missing answers. A judge of entailment alone takes no sentence
for an absence, and every uncited one for one that needs a citation.

*Example.* S1 is supported and states nuggets 1 and 2 of 4; S2 is supported and states none; S3
cites two passages, one of which does not support it; S4 cites nothing and needs to; S5 repeats it;
S6 introduces. `strict`: P = (1 + 1 + 0 + 0)/4 = .50, R = 2/4 = .50, F1 = .50. `reference`: P = (1 +
0 + 0)/3 = .33, R = .50, F1 = .40.
"""

from collections.abc import Collection, Generator, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.declared import CitationQuality, per_answer
from citeforge.evaluator.measures.handed import Answer, Asking
from citeforge.evaluator.measures.judging import premise_text
from citeforge.evaluator.measures.values import NOTHING, Value, extreme_mean
from citeforge.evaluator.submissions.tools import Need, ScoringTools
from citeforge.plugins.published_measures.questions import (
    ABSENCE,
    NEED,
    make_questions_option,
    need_pair,
)
from citeforge.plugins.trec.assessments import load_assessments, write_assessments_option
from citeforge.plugins.trec.support import split_sentences

Outcome = float | None
"""1 for a sentence that is right, 0 for one that is penalised, None for one that is ignored."""


_YES = Value.exact(1.0)


@dataclass
class JudgedSentence:
    """A sentence of a report with the judge's verdicts, each between bounds.

    Attributes:
        text: the sentence.
        citations: positions of the passages that it cites; None for a citation of none.
        supported: whether every citation supports it.
        absence: whether it cites nothing, and reports an absence.
        needs: whether it cites nothing and needs a citation.
        repeated: whether the sentences before it say the same.
        states: whether it entails each nugget, in their order.
    """

    text: str
    citations: Sequence[int | None]
    supported: Value = NOTHING
    absence: Value = NOTHING
    needs: Value = _YES
    repeated: Value = NOTHING
    states: Sequence[Value] = field(default_factory=list)

    @property
    def is_wrong(self) -> bool:
        """Whether the sentence has a citation of no passage."""
        return None in self.citations

    @property
    def counted(self) -> Value:
        """Whether its nuggets count: if cited, it is supported; if uncited, it states absence."""
        return self.supported if self.citations else self.absence

    @property
    def states_any(self) -> Value:
        """Whether the sentence states a nugget."""
        return Value.best(self.states)


@dataclass(frozen=True)
class ReportScores:
    """Sentence precision and nugget recall of one report."""

    precision: Value = NOTHING
    recall: Value = NOTHING


def _make_signature_option(tools: ScoringTools, protocol: str) -> str | None:
    """Write the score signature's option: hashes of nugget files and of judge prompts."""
    questions = make_questions_option(ABSENCE, NEED)(tools, protocol)
    return " ".join(filter(None, (write_assessments_option(tools, protocol), questions))) or None


@per_answer(
    "argue", needs=(Need.SEGMENTER, Need.PASSAGES, Need.JUDGE), missing=ReportScores(),
    lacks="--assessments FILE with nuggets of the benchmark's queries",
    options=_make_signature_option,
    requires="a judge, best an LLM, and nuggets (--assessments)",
    source="strict: Walden et al. 2025 (Auto-ARGUE); reference: code of Mayfield et al. 2024",
    unlabelled="labels say neither which nuggets a sentence states nor which need a citation",
)  # fmt: skip
def reports(answer: Answer) -> Asking[ReportScores]:
    """Judge a report's sentences: precision of sentences, and recall of nuggets."""
    nuggets = _find_nuggets(answer)
    if nuggets is None:
        return None
    nuggets = list(dict.fromkeys(nuggets))
    sentences = yield from _judge_sentences(answer, nuggets)
    precision = bound_precision(map(strict_outcomes, sentences))
    return ReportScores(precision, Value.mean(_stated_nuggets(sentences, len(nuggets))))


@reports.reference
def reference_reports(answer: Answer) -> Asking[ReportScores]:
    """Judge a report's sentences as the authors' code does: precision, and recall of nuggets."""
    nuggets = _find_nuggets(answer)
    if nuggets is None or answer.is_missing:
        return None
    distinct = list(dict.fromkeys(nuggets))
    sentences = yield from _judge_sentences(answer, distinct)
    precision = bound_precision(reference_outcomes(s, bool(nuggets)) for s in sentences)
    found = sum(_stated_nuggets(sentences, len(distinct)), NOTHING)
    return ReportScores(precision, found / (len(nuggets) or 1))


def _find_nuggets(answer: Answer) -> list[str] | None:
    """List the texts of the nuggets of an answer's query; None without any file of nuggets."""
    answers = answer.submission
    lists = load_assessments(answers).lists["nuggets"]
    points = lists.find(answers.names, answers.query_ids[answer.row])
    return None if points is None else [point.text for point in points]


def _judge_sentences(
    answer: Answer, nuggets: Sequence[str]
) -> Generator[list[Pair], list[Value], list[JudgedSentence]]:
    """Ask the judge, in three rounds, about support, nuggets and needs of a report's sentences.

    First whether citations support their sentence, and which uncited ones report an absence; then
    what these state, and which others need a citation; then which of those were said before.
    """
    answers, shown = answer.submission, answer.passages
    asks = answers.tools.get_judge().answers_questions
    sentences = [
        JudgedSentence(
            s.text, list(dict.fromkeys(_find_passage(c, len(shown)) for c in s.citations))
        )
        for s in split_sentences(answers, answer)
    ]
    cited = [s for s in sentences if s.citations and not s.is_wrong]
    uncited = [s for s in sentences if not s.citations]

    support = [
        [Pair(premise_text(shown[c], strict=True), s.text) for c in s.citations if c is not None]
        for s in cited
    ]
    absence = [Pair(f"Question: {answer.query}", s.text, ABSENCE) for s in uncited if asks]
    first = [*chain.from_iterable(support), *absence]
    said = dict(zip(first, (yield first), strict=True))
    for sentence, pairs in zip(cited, support, strict=True):
        values = [said[pair] for pair in pairs]
        sentence.supported = Value(min(v.low for v in values), min(v.high for v in values))
    for sentence, pair in zip(uncited, absence, strict=False):
        sentence.absence = said[pair]

    counted = [s for s in sentences if s.counted.high]
    stated = [Pair(s.text, nugget) for s in counted for nugget in nuggets]
    open_needs = [s for s in uncited if not s.absence.low and asks]
    needs = [need_pair(answer, s.text) for s in open_needs]
    second = [*stated, *needs]
    said = dict(zip(second, (yield second), strict=True))
    for sentence in counted:
        sentence.states = [said[Pair(sentence.text, nugget)] for nugget in nuggets]
    for sentence, pair in zip(open_needs, needs, strict=True):
        sentence.needs = said[pair]

    before = {id(s): "\n".join(p.text for p in sentences[:n]) for n, s in enumerate(sentences)}
    claims = [s for s in uncited if not s.absence.low and s.needs.high and before[id(s)]]
    third = [Pair(before[id(s)], s.text) for s in claims]
    for sentence, value in zip(claims, (yield third), strict=True):
        sentence.repeated = value
    return sentences


def _find_passage(cited: int | None, n_shown: int) -> int | None:
    """Get a citation's passage position if it is among the passages shown, else None."""
    return cited if cited is not None and 0 <= cited < n_shown else None


def strict_outcomes(sentence: JudgedSentence) -> set[Outcome]:
    """List a sentence's possible outcomes: right 1, penalised 0, ignored None.

    There is one outcome, unless the judge failed.
    """
    if sentence.citations:
        return {float(supported) for supported in _possible_verdicts(sentence.supported)}
    return _uncited_outcomes(sentence, True)


def reference_outcomes(sentence: JudgedSentence, has_nuggets: bool) -> set[Outcome]:
    """List a sentence's possible outcomes (1, 0, None) by the authors' code.

    A supported sentence is rewarded for a nugget alone, and one with a citation of nothing is
    ignored.
    """
    if not sentence.citations:
        return _uncited_outcomes(sentence, has_nuggets)
    if sentence.is_wrong:
        return {None}
    rewards: set[Outcome] = {
        1.0 if states else None for states in _possible_verdicts(sentence.states_any)
    }
    return set().union(*(rewards if ok else {0.0} for ok in _possible_verdicts(sentence.supported)))


def _uncited_outcomes(sentence: JudgedSentence, has_nuggets: bool) -> set[Outcome]:
    """List the possible outcomes (1, 0, None) of a sentence without a citation."""
    outcomes: set[Outcome] = set()
    for is_absence in _possible_verdicts(sentence.absence):
        if is_absence:
            outcomes |= (
                set(map(float, _possible_verdicts(sentence.states_any))) if has_nuggets else {None}
            )
            continue
        for needs in _possible_verdicts(sentence.needs):
            repeats = _possible_verdicts(sentence.repeated) if needs else {True}
            outcomes |= {None if repeated else 0.0 for repeated in repeats}
    return outcomes


def _possible_verdicts(value: Value) -> set[bool]:
    """List the possible booleans of a verdict: one, unless the judge failed."""
    return {value.low > 0, value.high > 0}


def bound_precision(outcomes: Iterable[Collection[Outcome]]) -> Value:
    """Compute bounds of the share of right sentences, as judgements may fail; 0 without any.

    Args:
        outcomes: possible outcomes of each sentence.
    """
    rows = list(outcomes)
    ends = [_extreme_precision(rows, highest) for highest in (False, True)]
    return Value(*(0.0 if isnan(end) else end for end in ends))


def _extreme_precision(outcomes: Iterable[Collection[Outcome]], highest: bool) -> float:
    """Compute the lowest or highest precision of sentences with some possible outcomes, or NaN."""
    sure: list[float] = []
    maybe: list[float] = []
    for row in outcomes:
        if (best := float(highest)) in row:
            sure.append(best)
        elif row != {None}:
            (maybe if None in row else sure).append(1 - best)
    return extreme_mean(sure, maybe, highest)


def _stated_nuggets(sentences: Sequence[JudgedSentence], n_nuggets: int) -> list[Value]:
    """Decide, per nugget, whether any sentence states it, of those that may count for nuggets."""
    return [
        Value.best(
            Value(s.counted.low * s.states[n].low, s.counted.high * s.states[n].high)
            for s in sentences
            if s.states
        )
        for n in range(n_nuggets)
    ]


MEASURES = (
    reports.measure(
        "ARGUE.P", "sentences that their citations support, of those that cite or have to",
        mean=lambda r: r.precision,
        formula="right sentences ÷ sentences that are not ignored; 0 for none",
        citation_quality=CitationQuality(
            "both", "A claim without a citation counts against it at its first occurrence.",
            "Their code counts a supported sentence only where it states a nugget.")),
    reports.measure(
        "ARGUE.R", "nuggets that a supported sentence states", mean=lambda r: r.recall,
        formula="nuggets stated by sentences that are supported, or report an absence ÷ nuggets",
        edge_cases="no nuggets: 0"),
    reports.measure(
        "ARGUE.F1", "harmonic mean of both for each report",
        mean=lambda r: Value.harmonic(r.precision, r.recall),
        formula="2PR/(P + R) of each report, then averaged"),
)  # fmt: skip
