"""Citation recall and precision by a judge, as ALCE asks for them (Gao et al. 2023, section 3)."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures.handed import Answers
from citeforge.evaluator.measures.values import NOTHING, ByAnswer, Value, judge_pair
from citeforge.evaluator.statements.strict import CitedStatement
from citeforge.evaluator.statistics.estimates import Sample, harmonic_sample
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey
from citeforge.package.items import Passage
from citeforge.schemas.text import premise_of


@dataclass
class CitationScores:
    """Recall and precision of one answer, with what they consist of.

    Attributes:
        recall: None when the answer leaves the mean.
        precision: None when the answer leaves the mean.
        n_statements: number of statements.
        n_multiple: statements with several citations; ``reference``: out-of-range ones count.
        several: of those in range, whether each is supported, and how many of its citations would
            then not be needed; ``strict``: 1 if any.
    """

    recall: Value | None
    precision: Value | None
    n_statements: int = 0
    n_multiple: int = 0
    several: list[tuple[Value, Value]] = field(default_factory=list)


def premise_text(passage: Passage, strict: bool, with_title: bool = True) -> str:
    """Write a passage as a premise, its title (if any) as ``strict`` or ALCE's code writes it.

    Args:
        passage: the passage.
        strict: whether the title is written as in ``strict``, or as ``Title: …`` (reference).
        with_title: whether it is written at all.
    """
    if not with_title:
        return passage.text
    if strict:
        return premise_of(passage.title, passage.text)
    return f"Title: {passage.title}\n{passage.text}"


def premise(
    passages: Sequence[Passage], cited: Iterable[int], strict: bool, with_title: bool = True
) -> str:
    """Join cited passages into one premise, written as in ``strict`` or in the paper's code."""
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
        is_needed: Callable[[AnswerItem, int, tuple[int, ...]], bool] | None = None,
    ) -> None:
        """Prepare to judge citations by ``strict``, ALCE's or Attributed-IR's rules and by labels.

        Args:
            judge: decides whether passages entail a statement.
            strict: whether the rules of ``strict`` count; else those of the evaluator whose
                premises these are: ALCE's with titles, Attributed-IR's without.
            with_title: whether a premise begins with the passage's title.
            levels: people's verdicts on single citations, by pair.
            is_needed: whether a citation counts even where the others entail the statement, from
                the answer, the passage and the other passages; None for never.
        """
        self.judge = judge
        self._levels = levels
        self._is_needed = is_needed or (lambda item, passage, others: False)
        self.strict = strict
        self.with_title = with_title
        self._as_alce = not strict and with_title
        self._as_air = not strict and not with_title

    def score(self, answers: list[tuple[AnswerItem, list[CitedStatement]]]) -> list[CitationScores]:
        """Judge the citations of all (answer, its statements); return one score per answer."""
        self.judge.ask(
            self._pair(item, statement.cited, statement)
            for item, statements in answers
            for statement in statements
            if statement.cited and not statement.skipped
        )
        several = [
            (item, statement)
            for item, statements in answers
            for statement in statements
            if len(statement.cited) > 1
            and not statement.skipped
            and self._is_supported(item, statement).high
        ]
        self.judge.ask(
            self._pair(i, (c,), statement) for i, statement in several for c in statement.cited
        )
        self.judge.ask(
            self._pair(item, self._without(statement, index), statement)
            for item, statement in several
            for index, c in enumerate(statement.cited)
            if not self._ask(item, (c,), statement).low
        )
        return [self._score_answer(item, statements) for item, statements in answers]

    def _pair(self, item: AnswerItem, positions: Iterable[int], statement: CitedStatement) -> Pair:
        """Pair a statement, as hypothesis, with the passages at the given positions, as premise."""
        return Pair(premise(item.passages, positions, self.strict, self.with_title), statement.text)

    def _ask(self, item: AnswerItem, positions: Iterable[int], statement: CitedStatement) -> Value:
        """Ask the judge if the passages at the given positions together support a statement."""
        return judge_pair(self.judge, self._pair(item, positions, statement))

    def _is_supported(self, item: AnswerItem, statement: CitedStatement) -> Value:
        """Whether all citations of a statement together support it."""
        if not statement.cited or statement.skipped:
            return NOTHING
        return self._ask(item, statement.cited, statement)

    def _without(self, statement: CitedStatement, index: int) -> tuple[int, ...]:
        """List the passages that a statement cites, without the citation at an index."""
        if self._as_alce:
            # Of a repeated citation the first occurrence goes, as a list's `remove` does; [0] and
            # [n] are the same passage, and no repeats.
            names = statement.as_written or statement.cited
            index = names.index(names[index])
        return statement.cited[:index] + statement.cited[index + 1 :]

    def _score_answer(self, item: AnswerItem, statements: list[CitedStatement]) -> CitationScores:
        """Compute citation recall and precision of one answer from the judge's verdicts."""
        if not statements:
            nothing = None if self._as_alce else NOTHING
            return CitationScores(nothing, nothing)
        supported = [self._is_supported(item, statement) for statement in statements]
        scores = CitationScores(Value.mean(supported), None, len(statements))
        right = NOTHING
        if self._as_air:
            # Its "undecided" is -1, which a passage without text leaves standing.
            right = Value.exact(0.0 - sum(self._is_blank(item, c) for c in statements))
            scores.recall = Value.mean(supported) + right / len(statements)
        n_citations = 0
        for statement, holds in zip(statements, supported, strict=True):
            if statement.skipped:
                scores.n_multiple += self._as_alce and statement.wrong > 1
                continue
            n_citations += len(statement.cited) + statement.wrong
            if len(statement.cited) == 1:
                right += holds
            elif len(statement.cited) > 1:
                needed = self._count_needed(item, statement) if holds.high else NOTHING
                right += Value(holds.low * needed.low, needed.high)
                scores.n_multiple += 1
                scores.several.append((holds, self._count_needless(statement, needed)))
        scores.precision = right / n_citations if n_citations else NOTHING
        return scores

    @staticmethod
    def _is_blank(item: AnswerItem, statement: CitedStatement) -> bool:
        """Whether the only citation of a statement is a passage without text."""
        if statement.skipped or len(statement.cited) != 1:
            return False
        return not item.passages[statement.cited[0]].text

    def _count_needless(self, statement: CitedStatement, needed: Value) -> Value:
        """Count a statement's unneeded citations; several as 1, unless by ALCE's rules."""
        n = len(statement.cited)
        low, high = n - needed.high, n - needed.low
        return Value(low, high) if self._as_alce else Value(min(low, 1.0), min(high, 1.0))

    def _count_needed(self, item: AnswerItem, statement: CitedStatement) -> Value:
        """Count the needed (in ALCE's words: not irrelevant) citations of a supported statement.

        People are asked of every citation whether it supports the statement at least in part
        (ALCE's human evaluation, section 6); a judge is asked whether the others do without it.
        """
        if self._levels is not None:
            levels = [self._levels.get(self._pair(item, (c,), statement)) for c in statement.cited]
            sure = sum(level in ("full", "partial") for level in levels)
            return Value(float(sure), float(sure + levels.count(None)))
        total = NOTHING
        for index, c in enumerate(statement.cited):
            alone = self._ask(item, (c,), statement)
            if alone.low:
                total += Value.exact(1.0)
                continue
            rest = self._without(statement, index)
            if self._as_air and len(rest) == 1 and not item.passages[rest[0]].text:
                continue  # nothing is asked, and nothing counted
            if self._is_needed(item, c, rest):
                total += Value.exact(1.0)
                continue
            others = self._ask(item, rest, statement)
            total += Value(1 - others.high, max(alone.high, 1 - others.low))
        return total


def judge_citations(answers: Answers, with_title: bool) -> dict[AnswerKey, CitationScores]:
    """Let the judge score the citations of every answer's statements.

    Args:
        answers: with their statements, passages and a judge.
        with_title: whether premises have titles, as ALCE's, or not, as Attributed-IR's.
    """
    is_strict, levels = answers.protocol == "strict", answers.tools.levels
    judging = CitationJudging(answers.tools.get_judge(), is_strict, with_title, levels)
    rows = list(answers)
    scores = judging.score([(answer, [*answer.statements]) for answer in rows])
    return {answer.key: score for answer, score in zip(rows, scores, strict=True)}


def citation_f1(scores: ByAnswer[CitationScores]) -> Sample:
    """Compute F1 of mean precision and mean recall, with bounds where the judge failed."""
    both = scores.mean(lambda s: s.precision), scores.mean(lambda s: s.recall)
    f1 = harmonic_sample(*(s.per_query for s in both))
    if any(s.upper for s in both):
        highs = ((s.upper or s).per_query for s in both)
        f1 = replace(f1, upper=harmonic_sample(*highs))
    return f1
