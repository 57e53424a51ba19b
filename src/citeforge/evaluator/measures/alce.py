"""ALCE's measures (METRICS section 2; Gao et al. 2023, sections 3 and 4, and their code)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from citeforge.engines.judge.records import JudgeFailure, Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures.bounds import BOTH, Bounds, Value
from citeforge.evaluator.statements import split_statements
from citeforge.package.items import Passage
from citeforge.schemas.marks import read_number

_MARK = re.compile(r"\[\d+")
_SPACED_MARK = re.compile(r" \[\d+")


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


@dataclass
class CitationScores:
    """Recall and precision of one answer, with what they consist of.

    Attributes:
        recall: None when the answer leaves the mean.
        precision: likewise.
        n_multiple: statements with several citations; ``reference``: out-of-range ones count.
        several: of those in range, whether each is supported, and how many of its citations would
            then not be needed; ``strict``: 1 if any.
    """

    recall: Value | None
    precision: Value | None
    n_multiple: int = 0
    several: list[tuple[Bounds, Value]] = field(default_factory=list)
    supported: list[Bounds] = field(default_factory=list)


def render(passage: Passage, strict: bool, with_title: bool = True) -> str:
    """A passage as a premise."""
    if not with_title or (strict and not passage.title):
        return passage.text
    return f"Title: {passage.title}\n{passage.text}"


class CitationJudging:
    """Citation recall and precision of many answers, in three waves of questions.

    First every statement against all its passages; then, where that holds and several are cited,
    each passage alone; then, where one alone does not suffice, the others without it.

    Premises with titles are ALCE's, those without are Attributed-IR's; where ``strict`` is off,
    each is counted as its own evaluator does.
    """

    def __init__(self, judge: JudgeSession, strict: bool, with_title: bool = True) -> None:
        self.judge = judge
        self.strict = strict
        self.with_title = with_title
        self._as_alce = not strict and with_title
        self._as_air = not strict and not with_title

    def score(self, answers: list[tuple[Item, list[Claim]]]) -> list[CitationScores]:
        """Scores of every answer, in order."""
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
            if len(claim.cited) > 1 and not claim.skipped and self._all(item, claim).high
        ]
        self.judge.ask(self._pair(i, (c,), claim) for i, claim in several for c in claim.cited)
        self.judge.ask(
            self._pair(item, self._without(claim, place), claim)
            for item, claim in several
            for place, c in enumerate(claim.cited)
            if not self._known(item, (c,), claim).low
        )
        return [self._answer(item, claims) for item, claims in answers]

    def _pair(self, item: Item, cited: Iterable[int], claim: Claim) -> Pair:
        premise = "\n".join(render(item.passages[c], self.strict, self.with_title) for c in cited)
        return Pair(premise, claim.text)

    def _known(self, item: Item, cited: Iterable[int], claim: Claim) -> Bounds:
        pair = self._pair(item, cited, claim)
        decision = self.judge.ask([pair])[pair]
        if isinstance(decision, JudgeFailure):
            return BOTH
        return Bounds(decision.entailed, decision.entailed)

    def _all(self, item: Item, claim: Claim) -> Bounds:
        if not claim.cited or claim.skipped:
            return Bounds(False, False)
        return self._known(item, claim.cited, claim)

    def _without(self, claim: Claim, place: int) -> tuple[int, ...]:
        if self._as_alce:
            # Of a repeated citation the first occurrence goes, as a list's `remove` does.
            place = claim.cited.index(claim.cited[place])
        return claim.cited[:place] + claim.cited[place + 1 :]

    def _answer(self, item: Item, claims: list[Claim]) -> CitationScores:
        if not claims:
            nothing = None if self._as_alce else Value(0.0, 0.0)
            return CitationScores(nothing, nothing)
        supported = [self._all(item, claim) for claim in claims]
        scores = CitationScores(Value.mean(supported), None, supported=supported)
        right = Value(0.0, 0.0)
        if self._as_air:
            # Its "undecided" is -1, which a passage without text leaves standing.
            undecided = Value(*[-float(sum(self._is_blank(item, c) for c in claims))] * 2)
            scores.recall = Value.mean(supported) + undecided / len(claims)
            right += undecided
        n_citations = 0
        for claim, holds in zip(claims, supported, strict=True):
            if claim.skipped:
                scores.n_multiple += self._as_alce and claim.wrong > 1
                continue
            n_citations += len(claim.cited) + claim.wrong
            if len(claim.cited) == 1:
                right += Value(float(holds.low), float(holds.high))
            elif len(claim.cited) > 1:
                needed = self._needed(item, claim) if holds.high else Value(0.0, 0.0)
                right += Value(holds.low * needed.low, needed.high)
                scores.n_multiple += 1
                scores.several.append((holds, self._unneeded(claim, needed)))
        scores.precision = right / n_citations if n_citations else Value(0.0, 0.0)
        return scores

    @staticmethod
    def _is_blank(item: Item, claim: Claim) -> bool:
        if claim.skipped or len(claim.cited) != 1:
            return False
        return not item.passages[claim.cited[0]].text

    def _unneeded(self, claim: Claim, needed: Value) -> Value:
        n = len(claim.cited)
        low, high = n - needed.high, n - needed.low
        return Value(low, high) if self._as_alce else Value(min(low, 1.0), min(high, 1.0))

    def _needed(self, item: Item, claim: Claim) -> Value:
        """Number of citations of a supported statement that are not irrelevant."""
        total = Value(0.0, 0.0)
        for place, c in enumerate(claim.cited):
            alone = self._known(item, (c,), claim)
            if alone.low:
                total += Value(1.0, 1.0)
                continue
            rest = self._without(claim, place)
            if self._as_air and len(rest) == 1 and not item.passages[rest[0]].text:
                continue  # nothing is asked, and nothing counted
            others = self._known(item, rest, claim)
            total += Value(float(not others.high), float(alone.high or not others.low))
        return total


def strict_claims(item: Item, inputs: Inputs) -> list[Claim]:
    """Statements of the whole output; each distinct citation once, out-of-range ones wrong."""
    if inputs.task == "qampari":
        return list(_strict_qampari(item, inputs))
    assert inputs.tools.segmenter is not None
    found = split_statements(
        item.output, inputs.grammar, inputs.tools.segmenter, len(item.passages)
    )
    return [_claim(s.text, s.numbers, item, inputs) for s in found.statements]


def _claim(text: str, numbers: list[int], item: Item, inputs: Inputs) -> Claim:
    distinct = [n - inputs.grammar.base for n in dict.fromkeys(numbers)]
    inside = tuple(p for p in distinct if 0 <= p < len(item.passages))
    return Claim(text, inside, wrong=len(distinct) - len(inside))


def _strict_qampari(item: Item, inputs: Inputs) -> Iterator[Claim]:
    for part in split_list(answer_part(item.output, inputs)):
        markers = inputs.grammar.parse(part, len(item.passages)).markers
        kept = zip([0, *(m.end for m in markers)], [*(m.start for m in markers), len(part)],
                   strict=True)  # fmt: skip
        text = "".join(part[start:end] for start, end in kept)
        text = " ".join(text.strip(" .,\n").split())
        if text:
            numbers = [n for m in markers for n in m.numbers]
            yield _claim(f"{item.query} {text}", numbers, item, inputs)


def answer_part(text: str, inputs: Inputs) -> str:
    """With ``cot``, what follows the first colon; nothing without one."""
    return text.partition(":")[2] if inputs.tools.cot else text


def split_list(text: str) -> list[str]:
    """Items of a list answer: cut at newlines, and at commas outside quotes and brackets."""
    parts = []
    start = depth = 0
    quoted = False
    for at, character in enumerate(text):
        if character in "([【":
            depth += 1
        elif character in ")]】":
            depth = max(0, depth - 1)
        elif character in '"“”':
            quoted = not quoted
        if (character == "," and depth == 0 and not quoted) or character == "\n":
            parts.append(text[start:at])
            start = at + 1
            depth, quoted = 0, False
    return [*parts, text[start:]]


def reference_output(output: str) -> str:
    """The output as ALCE's evaluator prepares it."""
    return output.strip().split("\n")[0].replace("<|im_end|>", "")


def reference_clean(text: str) -> str:
    """ALCE's removal of citations: ``[1, 2]`` leaves ``, 2``."""
    return _MARK.sub("", _SPACED_MARK.sub("", text)).replace(" |", "").replace("]", "")


def reference_claims(item: Item, inputs: Inputs) -> list[Claim]:
    """Statements and citations as ALCE's evaluator reads them, faults included.

    Range is checked on all markers first, then the list is cut to ``at_most_citations``; ``[0]``
    is the last passage; repeats are kept. ``cot`` changes nothing here.
    """
    output = reference_output(item.output)
    if inputs.task == "qampari":
        parts = output.rstrip().rstrip(".").rstrip(",").split(",")
        sentences = [f"{item.query} {part.strip()}" for part in parts]
    else:
        assert inputs.tools.segmenter is not None
        sentences = [output[s:e] for s, e in inputs.tools.segmenter.split(output)]
    claims = []
    n = len(item.passages)
    for sentence in sentences:
        positions = [read_number(mark[1:]) - 1 for mark in _MARK.findall(sentence)]
        text = reference_clean(sentence).strip()
        if any(p >= n or p < -n for p in positions):
            claims.append(Claim(text, (), wrong=len(positions), skipped=True))
        else:
            kept = positions[: inputs.tools.at_most_citations]
            claims.append(Claim(text, tuple(p % n for p in kept)))
    return claims
