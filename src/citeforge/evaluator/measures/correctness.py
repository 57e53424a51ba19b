"""Correctness measures of ALCE and Attributed-IR that need no model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from citeforge.evaluator.inputs import Inputs, Item
from citeforge.evaluator.measures.alce import (
    answer_part,
    reference_clean,
    reference_output,
    split_list,
)
from citeforge.evaluator.measures.cannot import CannotError
from citeforge.package.items import Gold
from citeforge.schemas.grammar import without_markers
from citeforge.schemas.text import normalise_answer

_REFERENCE_MARKS = re.compile(r"\[\d+(?:,\s*\d+)*\]")
_PROMPT_START, _PROMPT_END = "<|system|>", "<|assistant|>\n"


def alce_text(item: Item, inputs: Inputs) -> str:
    """The output as ALCE's word measures see it."""
    if inputs.protocol == "reference":
        return reference_clean(reference_output(item.output))
    return without_markers(
        item.output, inputs.grammar.parse(item.output, len(item.passages)).markers
    )


def exact_presence(text: str, answers: Sequence[str]) -> bool:
    """Whether some normalised short answer stands in the normalised text.

    As in ALCE's code, an answer that normalises to nothing counts as present.
    """
    normalised = normalise_answer(text)
    return any(normalise_answer(answer) in normalised for answer in answers)


def str_em(item: Item, gold: Sequence[Gold], inputs: Inputs) -> tuple[float, float] | None:
    """(StrEM, StrHit) of one answer; None without qa_pairs."""
    pairs = [g for g in gold if g.kind == "qa_pair"]
    if not pairs:
        return None
    text = alce_text(item, inputs)
    hits = [exact_presence(text, pair.aliases) for pair in pairs]
    return sum(hits) / len(hits), float(all(hits))


class Qampari(NamedTuple):
    """List scores of one answer."""

    precision: float
    recall: float
    recall5: float
    f1: float
    f1_5: float
    n_items: float


def qampari(item: Item, gold: Sequence[Gold], inputs: Inputs) -> Qampari | None:
    """QAMPARI's precision and recall of list items; None without answer lists.

    Recall-5 is min(5, hits) / min(5, number of gold answers).
    """
    answers = [{normalise_answer(a) for a in g.aliases} for g in gold if g.kind == "answer_list"]
    if not answers:
        return None
    if inputs.protocol == "reference":
        text = answer_part(alce_text(item, inputs), inputs)
        parts = [normalise_answer(x) for x in text.rstrip().rstrip(".").rstrip(",").split(",")]
    else:
        parts = [
            normalise_answer(x) for x in split_list(answer_part(alce_text(item, inputs), inputs))
        ]
    found = [p for p in parts if p]
    everything = set().union(*answers)
    precision = sum(p in everything for p in found) / len(found) if found else 0.0
    hits = sum(any(a in found for a in aliases) for aliases in answers)
    recall = hits / len(answers)
    recall5 = min(5, hits) / min(5, len(answers))
    f1, f1_5 = _f1(precision, recall), _f1(precision, recall5)
    return Qampari(precision, recall, recall5, f1, f1_5, len(found))


def _f1(p: float, r: float) -> float:
    return 2 * p * r / (p + r) if p + r else 0.0


def without_reference_marks(text: str) -> str:
    """Attributed-IR's removal: exactly ``[1]`` and ``[1, 2]``, and nothing else."""
    return _REFERENCE_MARKS.sub("", text)


def air_output(output: str) -> str:
    """The output as Attributed-IR's evaluators prepare it: without a repeated system prompt."""
    output = output.replace("<|endoftext|>", "")
    kept = ""
    while (start := output.find(_PROMPT_START)) >= 0:
        end = output.find(_PROMPT_END, start + len(_PROMPT_START))
        if end < 0:
            break
        kept += output[:start]
        output = output[end + len(_PROMPT_END) :]
    return kept + output


def air_text(item: Item, inputs: Inputs) -> str:
    """The output as Attributed-IR's correctness measures see it.

    Closed-book outputs (no passages) keep their brackets.
    """
    if inputs.protocol == "reference":
        output = air_output(item.output)
        return without_reference_marks(output) if item.passages else output
    if not item.passages:
        return item.output
    return without_markers(
        item.output, inputs.grammar.parse(item.output, len(item.passages)).markers
    )


def gold_texts(gold: Sequence[Gold], inputs: Inputs) -> list[str]:
    """Gold answers without their markers, in order."""
    texts = [g.text or "" for g in gold if g.kind == "answer"]
    if inputs.protocol == "reference":
        return [without_reference_marks(t) for t in texts]
    return [without_markers(t, inputs.grammar.parse(t, 1 << 30).markers) for t in texts]


def single_gold(gold: Sequence[Gold]) -> Gold | None:
    """The one gold answer: the first attributable and informative, else attributable, else
    informative, else the first."""
    answers = [g for g in gold if g.kind == "answer"]
    for wanted in (
        lambda g: g.attributable == 1 and g.informative == 1,
        lambda g: g.attributable == 1,
        lambda g: g.informative == 1,
        lambda g: True,
    ):
        for answer in answers:
            if wanted(answer):
                return answer
    return None


class Rouge(NamedTuple):
    """ROUGE-Lsum of one answer against its best gold answer."""

    precision: float
    recall: float
    f: float


def rouge_lsum(output: str, references: Sequence[str], scorer: Any) -> Rouge:
    """Scores against the reference with the best F; zeros without references."""
    best = Rouge(0.0, 0.0, 0.0)
    for reference in references:
        found = scorer.score(reference, output)["rougeLsum"]
        if found.fmeasure > best.f:
            best = Rouge(found.precision, found.recall, found.fmeasure)
    return best


def bleu_statistics(output: str, references: Sequence[str], bleu: Any) -> list[int]:
    """sacreBLEU's sufficient statistics of one answer: hypothesis and reference length, then
    correct and total n-grams for n = 1 to 4.

    The reference length is that of the **shortest** reference (METRICS section 3).
    """
    stats: list[int] = bleu._extract_corpus_statistics([output], [[r] for r in references])[0]
    shortest = min((len(bleu.tokenizer(r).split()) for r in references), default=0)
    return [stats[0], shortest, *stats[2:]]


def gold_answers(inputs: Inputs, single: bool) -> Iterator[tuple[int, Item, list[str]]]:
    """(run, item, gold texts) of every item: all gold answers, or only the single one.

    Raises:
        CannotError: no query has any.
    """
    found = False
    for run, item in inputs.items():
        gold = inputs.gold[item.row]
        if single:
            one = single_gold(gold)
            gold = [] if one is None else [one]
        texts = gold_texts(gold, inputs)
        found = found or bool(texts)
        yield run, item, texts
    if not found:
        raise CannotError("needs gold answers")
