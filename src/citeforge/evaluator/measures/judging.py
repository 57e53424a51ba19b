"""Citation recall and precision by a judge, as ALCE asks for them (Gao et al. 2023, section 3)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.columns import (
    NOTHING,
    Compute,
    Key,
    Value,
    bounded_mean,
    get_judge,
    get_segmenter,
    judge_pair,
)
from citeforge.evaluator.measures.declared import CannotError
from citeforge.evaluator.statistics.estimates import Sample, harmonic_sample
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.package.items import Passage
from citeforge.schemas.text import premise_of

NO_PASSAGES = "no passages were shown"
"""Why measures of citations are not computed for closed-book systems."""


@dataclass(frozen=True)
class Claim:
    """A statement to be judged, with its citations.

    Attributes:
        text: the hypothesis.
        cited: 0-based positions of the passages cited, all shown; ``reference`` keeps repeats.
        wrong: number of further citations that are wrong whatever the judge says.
        skipped: ``reference``: a citation was out of range, so the statement has recall 0 and its
            citations enter no precision.
    """

    text: str
    cited: tuple[int, ...]
    wrong: int = 0
    skipped: bool = False


def require_passages(inputs: Inputs) -> None:
    """Raise an error if no answer was shown any passage, so that citations cannot be judged.

    Raises:
        CannotError: no answer has a passage.
    """
    if not any(item.passages for _, item in inputs.items()):
        raise CannotError(NO_PASSAGES, code="missing-field")


def read_claims(
    inputs: Inputs, read: Callable[[AnswerItem, Inputs], list[Claim]]
) -> list[tuple[Key, AnswerItem, list[Claim]]]:
    """Split every answer into statements: list ((run, query row), answer, statements).

    Raises:
        CannotError: there is no judge, nothing that splits sentences, or (``strict``) no passage.
    """
    get_judge(inputs.tools)
    if inputs.protocol == "strict":
        require_passages(inputs)
    if inputs.task != "qampari":
        get_segmenter(inputs.tools)
    rows = []
    for run, item in inputs.items():
        # In `strict` all families read the same statements; they are cut once.
        key = ("strict" if inputs.protocol == "strict" else read.__qualname__, run, item.row)
        if key not in inputs.statements:
            inputs.statements[key] = read(item, inputs)
        rows.append(((run, item.row), item, inputs.statements[key]))
    return rows


@dataclass
class CitationScores:
    """Recall and precision of one answer, with what they consist of.

    Attributes:
        recall: None when the answer leaves the mean.
        precision: None when the answer leaves the mean.
        n_multiple: statements with several citations; ``reference``: out-of-range ones count.
        several: of those in range, whether each is supported, and how many of its citations would
            then not be needed; ``strict``: 1 if any.
    """

    recall: Value | None
    precision: Value | None
    n_multiple: int = 0
    several: list[tuple[Value, Value]] = field(default_factory=list)


def premise_text(passage: Passage, strict: bool, with_title: bool = True) -> str:
    """Write a passage as a premise for the judge, with its title or without."""
    if not with_title:
        return passage.text
    if strict:
        return premise_of(passage.title, passage.text)
    return f"Title: {passage.title}\n{passage.text}"


def premise(
    passages: Sequence[Passage], cited: Iterable[int], strict: bool, with_title: bool = True
) -> str:
    """Join the cited passages into one premise; passages without text are left out."""
    # Attributed-IR's own code joins texts as they are, empty ones too.
    sources = [p for c in cited if (p := passages[c]).text.strip() or not with_title]
    return "\n".join(premise_text(p, strict, with_title) for p in sources)


class CitationJudging:
    """Citation recall and precision of many answers, in three rounds of questions to the judge.

    First every statement against all its passages; then, where that holds and several are cited,
    each passage alone; then, where one alone does not suffice, the others without it.

    Premises with titles are ALCE's, those without are Attributed-IR's; where ``strict`` is off,
    each is counted as its own evaluator does.
    """

    def __init__(
        self,
        judge: JudgeSession,
        strict: bool,
        with_title: bool = True,
        levels: Mapping[Pair, str] | None = None,
    ) -> None:
        """Prepare to judge citations; ``levels`` are people's verdicts on single citations."""
        self.judge = judge
        self._levels = levels
        self.strict = strict
        self.with_title = with_title
        self._as_alce = not strict and with_title
        self._as_air = not strict and not with_title

    def score(self, answers: list[tuple[AnswerItem, list[Claim]]]) -> list[CitationScores]:
        """Judge the citations of all answers; return the citation scores of each, in order."""
        self.judge.ask(
            self._pair(item, claim.cited, claim)
            for item, claims in answers
            for claim in claims
            if claim.cited and not claim.skipped
        )
        several = [
            (item, claim)
            for item, claims in answers
            for claim in claims
            if len(claim.cited) > 1 and not claim.skipped and self._is_supported(item, claim).high
        ]
        self.judge.ask(self._pair(i, (c,), claim) for i, claim in several for c in claim.cited)
        self.judge.ask(
            self._pair(item, self._without(claim, place), claim)
            for item, claim in several
            for place, c in enumerate(claim.cited)
            if not self._ask(item, (c,), claim).low
        )
        return [self._score_answer(item, claims) for item, claims in answers]

    def _pair(self, item: AnswerItem, cited: Iterable[int], claim: Claim) -> Pair:
        """Pair a claim with the given passages as its premise."""
        return Pair(premise(item.passages, cited, self.strict, self.with_title), claim.text)

    def _ask(self, item: AnswerItem, cited: Iterable[int], claim: Claim) -> Value:
        """Ask the judge whether the given passages together support a claim."""
        return judge_pair(self.judge, self._pair(item, cited, claim))

    def _is_supported(self, item: AnswerItem, claim: Claim) -> Value:
        """Whether all citations of a claim together support it."""
        if not claim.cited or claim.skipped:
            return NOTHING
        return self._ask(item, claim.cited, claim)

    def _without(self, claim: Claim, place: int) -> tuple[int, ...]:
        """List the cited passages of a claim without the one at index ``place``."""
        if self._as_alce:
            # Of a repeated citation the first occurrence goes, as a list's `remove` does.
            place = claim.cited.index(claim.cited[place])
        return claim.cited[:place] + claim.cited[place + 1 :]

    def _score_answer(self, item: AnswerItem, claims: list[Claim]) -> CitationScores:
        """Compute citation recall and precision of one answer from the judge's verdicts."""
        if not claims:
            nothing = None if self._as_alce else NOTHING
            return CitationScores(nothing, nothing)
        supported = [self._is_supported(item, claim) for claim in claims]
        scores = CitationScores(Value.mean(supported), None)
        right = NOTHING
        if self._as_air:
            # Its "undecided" is -1, which a passage without text leaves standing.
            right = Value.exact(0.0 - sum(self._is_blank(item, c) for c in claims))
            scores.recall = Value.mean(supported) + right / len(claims)
        n_citations = 0
        for claim, holds in zip(claims, supported, strict=True):
            if claim.skipped:
                scores.n_multiple += self._as_alce and claim.wrong > 1
                continue
            n_citations += len(claim.cited) + claim.wrong
            if len(claim.cited) == 1:
                right += holds
            elif len(claim.cited) > 1:
                needed = self._count_needed(item, claim) if holds.high else NOTHING
                right += Value(holds.low * needed.low, needed.high)
                scores.n_multiple += 1
                scores.several.append((holds, self._count_needless(claim, needed)))
        scores.precision = right / n_citations if n_citations else NOTHING
        return scores

    @staticmethod
    def _is_blank(item: AnswerItem, claim: Claim) -> bool:
        """Whether the only citation of a claim is a passage without text."""
        if claim.skipped or len(claim.cited) != 1:
            return False
        return not item.passages[claim.cited[0]].text

    def _count_needless(self, claim: Claim, needed: Value) -> Value:
        """Count a claim's needless citations: all, as ALCE's code does, or else one at most."""
        n = len(claim.cited)
        low, high = n - needed.high, n - needed.low
        return Value(low, high) if self._as_alce else Value(min(low, 1.0), min(high, 1.0))

    def _count_needed(self, item: AnswerItem, claim: Claim) -> Value:
        """Count the needed (in ALCE's words: not irrelevant) citations of a supported claim.

        People are asked of every citation whether it supports the statement at least in part
        (ALCE's human evaluation, section 6); a judge is asked whether the others do without it.
        """
        if self._levels is not None:
            levels = [self._levels.get(self._pair(item, (c,), claim)) for c in claim.cited]
            sure = sum(level in ("full", "partial") for level in levels)
            return Value(float(sure), float(sure + levels.count(None)))
        total = NOTHING
        for place, c in enumerate(claim.cited):
            alone = self._ask(item, (c,), claim)
            if alone.low:
                total += Value.exact(1.0)
                continue
            rest = self._without(claim, place)
            if self._as_air and len(rest) == 1 and not item.passages[rest[0]].text:
                continue  # nothing is asked, and nothing counted
            others = self._ask(item, rest, claim)
            total += Value(1 - others.high, max(alone.high, 1 - others.low))
        return total


JudgedAnswers = list[tuple[Key, int, CitationScores]]
"""((run, query row), number of statements, scores) of every answer."""


def judge_citations(
    inputs: Inputs, read: Callable[[AnswerItem, Inputs], list[Claim]], with_title: bool
) -> JudgedAnswers:
    """Split every answer into statements, and let the judge score their citations.

    Args:
        inputs: the answers.
        read: gives the statements of an answer.
        with_title: premises with titles are ALCE's, those without Attributed-IR's.

    Raises:
        CannotError: as :func:`read_claims`.
    """
    rows, levels = read_claims(inputs, read), inputs.tools.levels
    judge, is_strict = get_judge(inputs.tools), inputs.protocol == "strict"
    judging = CitationJudging(judge, is_strict, with_title, levels)
    scores = judging.score([(item, claims) for _, item, claims in rows])
    return [(k, len(c), s) for (k, _, c), s in zip(rows, scores, strict=True)]


def citation_recall(judged: Callable[[Inputs], JudgedAnswers]) -> Compute:
    """Make the function that averages citation recall over queries, from judged answers."""
    return lambda inputs: bounded_mean(
        inputs, {key: s.recall for key, _, s in inputs.once(judged) if s.recall}
    )


def citation_precision(judged: Callable[[Inputs], JudgedAnswers]) -> Compute:
    """Make the function that averages citation precision over queries, from judged answers."""
    return lambda inputs: bounded_mean(
        inputs, {key: s.precision for key, _, s in inputs.once(judged) if s.precision}
    )


def citation_f1(judged: Callable[[Inputs], JudgedAnswers]) -> Compute:
    """Make the function that takes the harmonic mean of mean citation precision and recall."""

    def compute(inputs: Inputs) -> Sample:
        """Compute F1 from mean precision and mean recall, with bounds where the judge failed."""
        both = citation_precision(judged)(inputs), citation_recall(judged)(inputs)
        f1 = harmonic_sample(*(s.per_query for s in both))
        if any(s.upper for s in both):
            highs = ((s.upper or s).per_query for s in both)
            f1 = replace(f1, upper=harmonic_sample(*highs))
        return f1

    return compute
