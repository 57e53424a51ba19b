"""Measures that count an answer only if it is correct and all its citations are right.

## correct_and_cited

After the strict attributed accuracy of visual question answering, for texts: one verdict for each
answer, so that citing well cannot make up for answering wrong, nor the other way round. Ours in
both protocols, which read statements and citations as [alce](#alce) does.

`CorrectAndCited` asks a judge. An answer is correct if it has a [short answer](#short_answers) of
every `qa_pairs` row (ASQA), every gold answer of a list (QAMPARI), and entails every gold claim
(ELI5). It is cited if citation recall and precision of ALCE are both 1. `CorrectAndCited@relevant`
asks none: a short answer is there (`ShortEM`), and each passage cited is relevant (`CiteP`), both
as [rage](#rage) reads them.

*Example.* Of 4 answers, two have all short answers; one of these cites only what supports its
statements, the other also a passage that is not needed: CorrectAndCited = 1/4.
"""

from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.alce_correctness import find_answers, score_list
from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.judging import judge_citations
from citeforge.evaluator.measures.rage_citations import RAGE, RageScores
from citeforge.evaluator.measures.values import Value, judge_pair
from citeforge.evaluator.statistics.estimates import Sample, mean_sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need

FAMILY = "correct_and_cited"
_GOLD = "short answers (ASQA, QAMPARI) or claims (ELI5)"
_SOURCE = "ours, after strict attributed accuracy (CiteVQA)"
_NEARLY_ONE = 1 - 1e-9


@per_submission(
    FAMILY, evaluator="alce", requires=f"{_GOLD}, a judge", source=_SOURCE,
    needs=(Need.STATEMENTS, Need.PASSAGES, Need.GOLD, Need.JUDGE),
    unlabelled="it asks whether gold claims follow from the answer, and labels are of what the "
    "answer states",
)  # fmt: skip
def correct(answers: Answers) -> dict[AnswerKey, Value]:
    """Decide per answer with gold whether it is correct and perfectly cited (0 or 1).

    Raises:
        CannotError: no query has such gold.
    """
    judge = answers.tools.get_judge()
    every = [answer for answer in answers if _has_gold(answer)]
    if not every:
        raise CannotError(f"needs {_GOLD}", code="no-gold")
    scores = judge_citations(answers, with_title=True)
    claims = {a.key: [Pair(a.text, c.text or "") for c in a.gold.claims] for a in every}
    judge.ask(pair for pairs in claims.values() for pair in pairs)
    results: dict[AnswerKey, Value] = {}
    for answer in every:
        recall, precision = scores[answer.key].recall, scores[answer.key].precision
        if recall is not None and precision is not None:
            entailed = [judge_pair(judge, pair) for pair in claims[answer.key]]
            holds = Value.exact(float(_has_short_answers(answer)))
            results[answer.key] = _all_are_one([recall, precision, holds, *entailed])
    return results


def _has_gold(answer: Answer) -> bool:
    """Whether an answer's query has gold (short answers or claims) to check correctness."""
    gold = answer.gold
    return bool(gold.qa_pairs or gold.answer_lists or gold.claims)


def _has_short_answers(answer: Answer) -> bool:
    """Whether an answer has a short answer to each sub-question, and all of a gold list."""
    strict = answer.submission.protocol == "strict"
    listed = score_list(answer, answer.gold.answer_lists)
    return all(find_answers(answer.text, answer.gold.qa_pairs, strict=strict)) and (
        listed is None or listed.recall == 1
    )


def _all_are_one(values: Iterable[Value]) -> Value:
    """Compute 1 if all values (intervals) are 1, else 0; separately for both ends."""
    low, high = zip(*((v.low, v.high) for v in values), strict=True)
    return Value(float(min(low) >= _NEARLY_ONE), float(min(high) >= _NEARLY_ONE))


def _correct_and_relevant(scores: RageScores) -> Sample:
    """Compute the share of answers with a gold short answer that cite relevant passages alone."""
    columns = scores.labelled
    answerable = columns.n_answerable > 0  # also where `reference` has no ShortEM
    if not answerable.any():
        raise CannotError("needs short answers in mapping/relevant", code="no-gold")
    both = (columns.short_em == 1) & (columns.precision >= _NEARLY_ONE)
    return mean_sample(np.where(answerable, both.astype(np.float64), np.nan))


MEASURES = (
    correct.measure(
        "CorrectAndCited", "answers that are correct, with all statements and citations supported",
        formula="1 if the answer has all short answers, entails all claims, and CitRec = CitPrec = "
        "1, else 0", edge_cases="no such gold: undefined; no citation: 0"),
    replace(
        RAGE.measure(
            "CorrectAndCited@relevant", "answers with a short answer that cite relevant passages "
            "alone", sample=_correct_and_relevant, requires="short answers in mapping/relevant",
            source=_SOURCE, formula="1 if ShortEM = CiteP = 1, else 0",
            edge_cases="no short answers: undefined; nothing cited, or ShortEM undefined in "
            "`reference`: 0"),
        family=FAMILY),
)  # fmt: skip
