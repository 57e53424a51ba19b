"""Trust-Score: refusals, answers and citations, where passages may lack the answer.

## trust

Song et al. 2025 (Trust-Align, arXiv 2409.11242), section 3; `reference`: their `trust_eval`. The
gold of a query is its `qa_pairs` (ASQA), else its answer list (QAMPARI), else its claims (ELI5). A
query is *answerable* if a passage shown has a piece of it: a [short answer](#short_answers) in its
title or text; for claims, the judge says so. Pieces that no passage has do not count. A question of
a `documents` benchmark that its documents do not answer is not answerable.

`F1(p, r)` is the harmonic mean of two means, 0 where both are 0. `strict` reads refusals by rules
of all languages, and needs answerable queries and others; a missing or empty answer is wrong either
way, and has the worst values. `reference` calls an answer a refusal that has a stretch nearly
equal (partial ratio above 85) to the sentence that systems were asked to refuse with, which
`--wordings` brings as `trust_refusal`. It reads all lines of an answer, three citations a statement
and the texts of passages without titles; an irrelevant citation counts where its passage shares a
piece of gold with the others cited; and what has no query is 0.

*Example.* Of 4 queries 3 are answerable. Refused: one of these, and the other one. F1 of refusals:
P = 1/2, R = 1/1, so 2/3; F1 of answers: P = 2/2, R = 2/3, so 4/5; `Trust.Refusals` = 11/15. The
two answers have all gold, and half of it: `Trust.Correct` = F1(1.5/2, 1.5/3) = 3/5. Their citations
have recall 1 and 0, precision 1 and 0: `Trust.Citations` = 1/2. `Trust.Score` = (11/15 + 3/5 +
1/2)/3.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256

import numpy as np

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.evaluator.measures.alce_correctness import (
    find_answers,
    score_list,
    score_reference_list,
)
from citeforge.evaluator.measures.declared import CitationQuality, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.judging import CitationJudging
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value, judge_pair
from citeforge.evaluator.statements.alce import read_alce_text, reference_clean
from citeforge.evaluator.statements.refusing import SIGNED_RULES, refuses
from citeforge.evaluator.statistics.estimates import Floats, Sample, harmonic, ratio
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.package.items import Gold, Passage
from citeforge.schemas.text import normalise_answer, premise_of

FAMILY = "trust"
SOURCE = "Song et al. 2025 (Trust-Align), section 3"
REFUSAL = "trust_refusal"
"""Name of the authors' sentence of refusal in a file of wordings."""
_THRESHOLD = 85
_GOLD = "qa_pairs (ASQA), answer lists (QAMPARI) or claims (ELI5)"


@dataclass(frozen=True)
class TrustAnswer:
    """What one answer adds to the Trust-Score.

    Attributes:
        is_answerable: whether a passage shown has a piece of the gold.
        refuses: whether the answer refuses.
        is_answered: whether it counts among the answers whose correctness is averaged.
        is_judged: whether it counts among the answers whose citations are judged.
        correct: share of the gold in passages that the answer has; 0 where it is not answerable.
        recall: of its citations; None where they are not judged, or there is no sentence.
        precision: likewise.
    """

    is_answerable: bool
    refuses: bool
    is_answered: bool
    is_judged: bool
    correct: Value
    recall: Value | None = None
    precision: Value | None = None


def _make_signature_option(tools: ScoringTools, protocol: str) -> str:
    """Write the score signature's option: the rules or phrase that detect refusals."""
    if protocol == "strict":
        return SIGNED_RULES or ""
    return f"refusal={sha256(tools.wording(REFUSAL).encode()).hexdigest()[:8]}"


@per_submission(
    FAMILY, needs=(Need.GOLD, Need.PASSAGES, Need.JUDGE_IF_ANY, Need.BENCHMARK), source=SOURCE,
    requires=_GOLD, options=_make_signature_option, counts_unanswerable=True,
)  # fmt: skip
def answered(answers: Answers) -> dict[AnswerKey, TrustAnswer]:
    """Decide which answers refuse, and how correct the others are (Trust-Score)."""
    return _assess_answers(answers, _find_gold(answers))


@per_submission(
    FAMILY, needs=(Need.GOLD, Need.PASSAGES, Need.STATEMENTS, Need.SEGMENTER, Need.JUDGE,
                   Need.BENCHMARK),
    source=SOURCE, requires=f"{_GOLD}, a judge", options=_make_signature_option,
    counts_unanswerable=True,
)  # fmt: skip
def cited(answers: Answers) -> dict[AnswerKey, TrustAnswer]:
    """Decide which answers refuse, and how correct and well cited the others are."""
    strict, found = answers.protocol == "strict", _find_gold(answers)
    read = _assess_answers(answers, found)
    judged = [answer for answer in answers if answer.key in read and read[answer.key].is_judged]

    def is_needed(answer: AnswerItem, position: int, other_positions: tuple[int, ...]) -> bool:
        """Whether a cited passage (by position) shares a gold answer with another cited one."""
        assert isinstance(answer, Answer)
        held = found[answer.key]
        return any(
            h and any(held[o][i] for o in other_positions) for i, h in enumerate(held[position])
        )

    judging = CitationJudging(
        answers.tools.get_judge(), strict, levels=answers.tools.levels,
        is_needed=None if strict else is_needed,
    )  # fmt: skip
    scores = judging.score(
        [
            (a, list(a.statements if strict else read_alce_text(a.output, a, answers)))
            for a in judged
        ]
    )
    for answer, score in zip(judged, scores, strict=True):
        own = read[answer.key]
        read[answer.key] = replace(own, recall=score.recall, precision=score.precision)
    return read


def _gold_pieces(answer: Answer) -> Sequence[Gold]:
    """List the gold of an answer's query: short answers, else a list, else claims."""
    gold = answer.gold
    return gold.qa_pairs or gold.answer_lists or gold.claims


def _find_gold(answers: Answers) -> dict[AnswerKey, list[list[bool]]]:
    """Find, per answer, which gold answers each passage has: a row per passage of booleans.

    Answers to queries that nothing in the benchmark answers have rows of no pieces.

    Raises:
        CannotError: no query has gold, or no answer was shown a passage; or claims are to be found,
            and there is no judge, or it failed.
    """
    absent = answers.benchmark.unanswerable
    rows = [a for a in answers if _gold_pieces(a) or absent[a.row]]
    if not any(map(_gold_pieces, rows)):
        raise CannotError(f"needs {_GOLD}", code="no-gold")
    answers.require_passages()
    strict = answers.protocol == "strict"
    claimed = {a.key for a in rows if a.gold.claims and _gold_pieces(a) == a.gold.claims}
    pairs = {
        a.key: [[Pair(_passage_text(p, strict, True), g.text or "") for g in a.gold.claims]
                for p in a.passages]
        for a in rows if a.key in claimed
    }  # fmt: skip
    if pairs:
        judge = answers.tools.get_judge()
        decisions = judge.ask(p for lines in pairs.values() for line in lines for p in line)
        verdicts = {p: d.entailed for p, d in decisions.items() if not isinstance(d, JudgeFailure)}
        if len(verdicts) < len(decisions):
            raise CannotError(
                "the judge failed on passages, which may have gold claims", code="judge-failed"
            )
    return {
        a.key: [[verdicts[pair] for pair in line] for line in pairs[a.key]]
        if a.key in claimed
        else [
            find_answers(_passage_text(p, strict, False), _gold_pieces(a), strict=strict)
            for p in a.passages
        ]
        for a in rows
    }


def _passage_text(passage: Passage, strict: bool, is_premise: bool) -> str:
    """Join a passage's texts to search for gold answers, or as the judge's premise."""
    if strict:
        return premise_of(passage.title, passage.text)
    return f"{passage.title} {passage.text}" if is_premise else passage.text


def _assess_answers(
    answers: Answers, gold_by_passage: Mapping[AnswerKey, list[list[bool]]]
) -> dict[AnswerKey, TrustAnswer]:
    """Decide, per answer with gold, if it refuses and how correct it is, by passages' gold.

    Raises:
        CannotError: all queries are answerable, or none is (``strict``).
    """
    strict = answers.protocol == "strict"
    held = {
        key: [any(column) for column in zip(*lines, strict=True)]
        for key, lines in gold_by_passage.items()
    }
    if strict and len({any(row) for row in held.values()}) == 1:
        raise CannotError(
            "needs queries whose passages have a gold answer, and queries whose passages have none",
            code="wrong-benchmark",
        )
    rows = [answer for answer in answers if answer.key in held]
    correct = _score_answers(rows, held)
    return {
        a.key: _assess_strictly(a, any(held[a.key]), correct[a.key])
        if strict
        else _assess_as_authors(a, any(held[a.key]), correct[a.key])
        for a in rows
    }


def _score_answers(
    scored_answers: Sequence[Answer], gold_in_passages: Mapping[AnswerKey, list[bool]]
) -> dict[AnswerKey, Value]:
    """Score answers by those of their gold answers that passages have (a bool each); 0 if none."""
    golds = {
        a.key: [g for g, has in zip(_gold_pieces(a), gold_in_passages[a.key], strict=True) if has]
        for a in scored_answers if any(gold_in_passages[a.key])
    }  # fmt: skip
    claims = {
        a.key: [Pair(_get_text(a), g.text or "") for g in golds[a.key]]
        for a in scored_answers if a.key in golds and _gold_pieces(a) == a.gold.claims
    }  # fmt: skip
    if claims:
        judge = scored_answers[0].submission.tools.get_judge()
        judge.ask(pair for pairs in claims.values() for pair in pairs)
        values = {
            key: Value.mean([judge_pair(judge, pair) for pair in pairs])
            for key, pairs in claims.items()
        }
    return {
        a.key: NOTHING if a.key not in golds
        else values[a.key] if a.key in claims
        else Value.exact(_score_short_answers(a, golds[a.key]))
        for a in scored_answers
    }  # fmt: skip


def _score_short_answers(answer: Answer, golds: Sequence[Gold]) -> float:
    """Score an answer by gold short answers: the share that it has, or F1-5 of a list."""
    strict = answer.submission.protocol == "strict"
    if answer.gold.qa_pairs:
        hits = find_answers(_get_text(answer), golds, strict=strict)
        return sum(hits) / len(hits)
    listed = score_list(answer, golds) if strict else score_reference_list(_get_text(answer), golds)
    return listed.f15 if listed else 0.0


def _get_text(answer: Answer) -> str:
    """Get an answer's text without citation marks; in ``reference``, of all its lines."""
    is_strict = answer.submission.protocol == "strict"
    return answer.text if is_strict else reference_clean(answer.output)


def _assess_strictly(answer: Answer, is_answerable: bool, correct: Value) -> TrustAnswer:
    """Assess an answer's refusal and correctness by ``strict``; an empty one is worst."""
    if answer.is_missing or not answer.text.strip():
        return TrustAnswer(is_answerable, is_answerable, True, True, NOTHING)
    refused = refuses(answer, answer.submission.grammar)
    own = NOTHING if refused else correct
    return TrustAnswer(is_answerable, refused, not refused, not refused, own)


def _assess_as_authors(answer: Answer, is_answerable: bool, correct: Value) -> TrustAnswer:
    """Assess an answer's refusal and correctness as the authors' code does.

    An answer that refuses without citation marks has correctness 0. Whether it counts as answered
    is read with them for short answers, and without them for claims.
    """
    phrase = answer.submission.tools.wording(REFUSAL)
    refused = is_near_refusal(answer.output, phrase)
    plain = is_near_refusal(reference_clean(answer.output), phrase)
    is_answered = not (plain if _gold_pieces(answer) == answer.gold.claims else refused)
    own = NOTHING if plain else correct
    return TrustAnswer(is_answerable, refused, is_answered, not refused, own)


def is_near_refusal(text: str, phrase: str) -> bool:
    """Whether part of a text nearly equals a refusal phrase, by fuzzywuzzy's partial ratio.

    It compares the text from the start of each common block, by insertions and deletions.

    Raises:
        CannotError: rapidfuzz is not installed.
    """
    try:
        from rapidfuzz.distance import Indel, Levenshtein
    except ImportError as error:
        raise CannotError(
            "needs rapidfuzz: pip install 'citeforge[build]'", code="missing-extra"
        ) from error
    one, other = normalise_answer(phrase), normalise_answer(text)
    if not one or not other:
        return False
    shorter, longer = (one, other) if len(one) <= len(other) else (other, one)
    starts = (
        max(block.b - block.a, 0)
        for block in Levenshtein.opcodes(shorter, longer).as_matching_blocks()
    )
    best = max(
        Indel.normalized_similarity(shorter, longer[start : start + len(shorter)])
        for start in starts
    )
    return round(100 * best) > _THRESHOLD


@dataclass(frozen=True)
class F1Sample(Sample):
    """Sufficient statistics of F1s of two means each, 0 where they have none, and their average.

    Attributes:
        shares: weight of each F1.
    """

    shares: tuple[float, ...] = (1.0,)

    def combine(self, sums: Floats) -> Floats:
        """Compute the weighted average of several F1s from the sums and counts of their means."""
        pairs = sums.reshape(*sums.shape[:-1], -1, 2, 2)
        means = np.nan_to_num(ratio(pairs[..., 0], pairs[..., 1]))
        f1s: Floats = np.nan_to_num(harmonic(means[..., 0], means[..., 1]))
        average: Floats = f1s @ np.array(self.shares)
        return average


@dataclass(frozen=True)
class Part:
    """A part of the Trust-Score, or all of it.

    Attributes:
        means: of an answer, what it adds to the sum of each mean, and whether it is counted; two
            means for each F1.
        shares: weight of each F1.
        per_query: value of a single answer, for reports; None where it has none.
    """

    means: Callable[[TrustAnswer], Sequence[tuple[Value, bool]]]
    shares: tuple[float, ...]
    per_query: Callable[[TrustAnswer], Value | None]

    def sample(self, answers: ByAnswer[TrustAnswer]) -> Sample:
        """Make the Trust-Score sample of all answers, with bounds where the judge failed."""
        low, high = self._sample(answers, 0), self._sample(answers, 1)
        same = np.array_equal(low.sums, high.sums)
        return low if same else replace(low, upper=high)

    def _sample(self, answers: ByAnswer[TrustAnswer], bound: int) -> Sample:
        """Make the Trust-Score sample from the lowest (``bound`` 0) or highest (1) values."""
        sums = np.zeros((*answers.shape, 4 * len(self.shares)))
        values = np.full(answers.shape, np.nan)
        for key, answer in answers.items():
            means = self.means(answer)
            sums[key] = [n for v, counts in means for n in (_get_bounds(v)[bound] * counts, counts)]
            if (value := self.per_query(answer)) is not None:
                values[key] = _get_bounds(value)[bound]
        return F1Sample(sums, values, always=True, shares=self.shares)


def _get_bounds(value: Value) -> tuple[float, float]:
    """Get the (low, high) bounds of a value."""
    return value.low, value.high


def _refusal_means(answer: TrustAnswer) -> list[tuple[Value, bool]]:
    """List (value, whether it counts) of an answer in P and R of refusing, P and R of answering."""
    refused, right = (
        answer.refuses and not answer.is_answerable,
        answer.is_answerable and not answer.refuses,
    )
    rows = ((refused, answer.refuses), (refused, not answer.is_answerable),
            (right, not answer.refuses), (right, answer.is_answerable))  # fmt: skip
    return [(Value.exact(float(value)), counts) for value, counts in rows]


def _correct_means(answer: TrustAnswer) -> list[tuple[Value, bool]]:
    """List (correctness, whether it counts) in the means over answered and answerable queries."""
    return [(answer.correct, answer.is_answered), (answer.correct, answer.is_answerable)]


def _citation_means(answer: TrustAnswer) -> list[tuple[Value, bool]]:
    """List (value, whether it counts) of an answer in mean citation precision and mean recall."""
    return [
        (v or NOTHING, answer.is_judged and v is not None)
        for v in (answer.precision, answer.recall)
    ]


def _refusal_value(answer: TrustAnswer) -> Value:
    """Decide whether an answer refuses exactly if its query is not answerable (0 or 1)."""
    return Value.exact(float(answer.refuses != answer.is_answerable))


def _correct_value(answer: TrustAnswer) -> Value | None:
    """Get an answer's correctness; None if it neither answered nor is answerable."""
    return answer.correct if answer.is_answered or answer.is_answerable else None


def _citation_value(answer: TrustAnswer) -> Value | None:
    """Compute the F1 of an answer's citations; None if they are not judged."""
    if answer.precision is None or answer.recall is None:
        return None
    p, r = (np.array(_get_bounds(v)) for v in (answer.precision, answer.recall))
    return Value(*harmonic(p, r).tolist())


def _trust_value(answer: TrustAnswer) -> Value:
    """Average an answer's values of refusal, correctness and citations, where defined."""
    parts = [_refusal_value(answer), _correct_value(answer), _citation_value(answer)]
    return Value.mean([part for part in parts if part is not None])


REFUSALS = Part(_refusal_means, (1 / 2, 1 / 2), _refusal_value)
CORRECT = Part(_correct_means, (1.0,), _correct_value)
CITATIONS = Part(_citation_means, (1.0,), _citation_value)
SCORE = Part(
    lambda a: [*_refusal_means(a), *_correct_means(a), *_citation_means(a)],
    (1 / 6, 1 / 6, 1 / 3, 1 / 3), _trust_value,
)  # fmt: skip
MEASURES = (
    cited.measure(
        "Trust.Score", "mean of the three below", sample=SCORE.sample,
        formula="mean of the three below"),
    answered.measure(
        "Trust.Refusals", "F1 of refusals and F1 of answers, by what the passages can answer",
        sample=REFUSALS.sample,
        formula="mean of F1(P, R) of refusals (P: of refused queries, those not answerable; R: of "
        "those not answerable, refused ones) and of answers (likewise)"),
    answered.measure(
        "Trust.Correct", "gold of the passages that answers have", sample=CORRECT.sample,
        formula="F1(mean over answers, mean over answerable queries) of an answer's share of the "
        "pieces in passages (lists: `QAMPARI.F1-5`); not answerable, or refused: 0"),
    cited.measure(
        "Trust.Citations", "F1 of citation precision and recall of answers that do not refuse",
        sample=CITATIONS.sample,
        formula="F1(mean precision, mean recall), as [ALCE's](#alce), over answers that do not "
        "refuse",
        citation_quality=CitationQuality(
            "both", "Joined passages must entail the statement, citations that nobody needs cost "
            "precision, and answers that refuse do not count.",
            "Theirs reads three citations of a statement, and lets an irrelevant one count whose "
            "passage has the gold of another.")),
)  # fmt: skip
