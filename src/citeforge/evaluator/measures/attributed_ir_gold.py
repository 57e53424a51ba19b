"""Answers against gold answers (Attributed-IR): corpus BLEU-4, ROUGE-Lsum, BERTScore."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from operator import itemgetter
from typing import Any

import numpy as np

from citeforge.engines.model_files import sign_model
from citeforge.evaluator.measures.attributed_ir_citations import AIR
from citeforge.evaluator.measures.declared import SCRIPTS, Measure, per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.rouge import RougeScorers, rouge_lsum
from citeforge.evaluator.measures.script_words import (
    LATIN,
    choose_tokenizer,
    list_choices,
    load_tokenizer,
)
from citeforge.evaluator.measures.values import ByAnswer
from citeforge.evaluator.statements.attributed_ir import without_reference_marks
from citeforge.evaluator.statistics.estimates import Floats, Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.schemas.errors import InputError, MissingExtraError

PartScores = tuple[float, float, float]
"""Precision, recall and F of one answer."""
_PARTS = {"P": "precision", "R": "recall", "F": "F"}


def gold_answers(inputs: Answers, single: bool) -> Iterator[tuple[Answer, list[str]]]:
    """Yield (answer, gold texts without marks) of queries with gold; one text if ``single``.

    Args:
        inputs: the answers.
        single: whether only the single gold answer of a query counts, not all.

    Raises:
        CannotError: no query has any.
    """

    def remove_marks(text: str) -> str:
        """Remove the citation marks from a gold answer, by the rules of the scoring protocol."""
        if inputs.protocol == "reference":
            return without_reference_marks(text)
        return inputs.grammar.strip_marks(text)

    has_gold = False
    for item in inputs:
        gold = item.gold
        answers = gold.answers if not single else [] if gold.single is None else [gold.single]
        if answers:
            has_gold = True
            yield item, [remove_marks(g.text or "") for g in answers]
    if not has_gold:
        raise CannotError("needs gold answers", code="no-gold")


def bleu_statistics(
    output: str, references: Sequence[str], bleu: Any, tokenizer: str = LATIN
) -> list[int]:
    """Count the lengths and n-grams from which sacreBLEU computes BLEU, of one answer.

    These are hypothesis and reference length, then correct and total n-grams for n = 1 to 4. The
    reference length is that of the **shortest** reference (docs/measures/attributed_ir.md).

    Args:
        output: the answer without marks.
        references: its gold answers.
        bleu: sacreBLEU's ``BLEU``.
        tokenizer: name of the tokeniser, by the script of the gold answers.
    """
    if tokenizer != LATIN:
        output, *references = map(load_tokenizer(tokenizer), (output, *references))
    stats: list[int] = bleu._extract_corpus_statistics([output], [[r] for r in references])[0]
    shortest = min((len(bleu.tokenizer(r).split()) for r in references), default=0)
    return [stats[0], shortest, *stats[2:]]


class BleuSample(Sample):
    """Sufficient statistics of corpus BLEU."""

    def combine(self, sums: Floats) -> Floats:
        """Compute corpus BLEU from counts summed over answers."""
        return _corpus_bleu(sums)


def compute_bleu(inputs: Answers, single: bool) -> Sample:
    """Compute corpus BLEU of the answers against all gold answers of a query, or a single one.

    Args:
        inputs: the answers.
        single: whether only the single gold answer of a query counts, not all.
    """
    try:
        from sacrebleu.metrics.bleu import BLEU
    except ImportError as error:
        raise CannotError(
            "needs sacrebleu: pip install 'citeforge[scores]'", code="missing-extra"
        ) from error
    counter = BLEU(smooth_method="none", tokenize="13a", force=True)
    used = set[str]()
    sums = np.zeros((*inputs.shape, 10))
    values: dict[AnswerKey, float] = {}
    for item, texts in gold_answers(inputs, single):
        name = LATIN if inputs.protocol == "reference" else choose_tokenizer(texts)
        used.add(name)
        sums[item.key] = bleu_statistics(item.text, texts, counter, name)
        values[item.key] = float(_corpus_bleu(sums[item.key]))
    return BleuSample(sums, inputs.column(values), choices=list_choices(used))


def _corpus_bleu(sums: Floats) -> Floats:
    """Compute corpus BLEU in [0, 1] from sums of :func:`bleu_statistics`, shape (…, 10)."""
    hyp, ref = sums[..., 0], sums[..., 1]
    correct, total = sums[..., 2:6], sums[..., 6:10]
    with np.errstate(divide="ignore", invalid="ignore"):
        precisions = np.log(np.where(total > 0, correct / total, 0.0))
        penalty = np.where(hyp < ref, np.exp(1 - ref / hyp), 1.0)
        score = penalty * np.exp(precisions.mean(axis=-1))
    values: Floats = np.where((correct > 0).all(axis=-1), score, 0.0)
    return values


def compute_rouge(inputs: Answers, single: bool) -> ByAnswer[PartScores]:
    """Compute each answer's ROUGE-Lsum P, R and F against its best, or a single, gold answer.

    Args:
        inputs: the answers.
        single: whether only the single gold answer of a query counts, not all.
    """
    by_script = inputs.protocol != "reference"
    scorers = RougeScorers(stemmer=False, by_script=by_script)
    scores = {
        item.key: rouge_lsum(item.text, texts, scorers.get(texts))
        for item, texts in gold_answers(inputs, single)
    }
    every = [texts for _, texts in gold_answers(inputs, False)] if by_script else []
    return ByAnswer(scores, inputs.shape, list_choices(map(choose_tokenizer, every)))


def compute_bertscore(inputs: Answers, single: bool) -> dict[AnswerKey, PartScores]:
    """Compute each answer's BERTScore P, R and F against its best (by F), or a single, gold answer.

    See docs/measures/attributed_ir.md.
    """
    from citeforge.engines.models.answer_models import BertScore

    rows = {item.key: (item.text, texts) for item, texts in gold_answers(inputs, single)}
    try:
        scorer = BertScore(*inputs.tools.options.bertscore)
    except (InputError, MissingExtraError) as error:
        raise CannotError(str(error), code=error.code) from error
    best = scorer.best(*map(list, zip(*rows.values(), strict=True)))
    return dict(zip(rows, best, strict=True))


def _bert_model(tools: ScoringTools, protocol: str) -> str:
    """Name the model and layer of BERTScore that ``tools`` choose, for score signatures."""
    model, layer = tools.options.bertscore
    return f"{sign_model(model)}/layer{layer}"


@dataclass(frozen=True)
class _Words:
    """Texts that document a measure, with ``{}`` for precision, recall or F."""

    definition: str
    formula: str
    edge_cases: str = ""


def _declare_parts(
    name_prefix: str, compute_scores: Callable[..., Mapping[AnswerKey, PartScores]],
    best_texts: _Words, single_texts: _Words,
    **declared: Any,
) -> Iterator[Measure]:  # fmt: skip
    """Declare P, R and F measures against the best and a single (``@1gold``) gold answer.

    Args:
        name_prefix: what their names begin with.
        compute_scores: answers to (P, R, F) of each; ``single``: if only one gold answer counts.
        best_texts: what they are against the best.
        single_texts: the same against the single one.
        declared: further facts of both groups.
    """
    for references, words in (("best", best_texts), ("1gold", single_texts)):
        single = references == "1gold"
        group = per_submission("attributed_ir", **_GOLD, **declared)(
            partial(compute_scores, single=single)
        )
        for at, (part, noun) in enumerate(_PARTS.items()):
            yield group.measure(
                f"{name_prefix}.{part}{'@1gold' * single}", words.definition.format(noun),
                mean=itemgetter(at), formula=words.formula, edge_cases=words.edge_cases,
                parameters={"part": part, "references": references},
            )  # fmt: skip


_GOLD: dict[str, Any] = {"evaluator": "attributed_ir", "needs": (Need.GOLD,), "source": AIR}
_BLEU: dict[str, Any] = {**_GOLD, "requires": "gold answers, sacrebleu", "changes": SCRIPTS}


@per_submission("attributed_ir", **_BLEU)
def bleu(answers: Answers) -> Sample:
    """Compute corpus BLEU of the answers against all gold answers of a query."""
    return compute_bleu(answers, single=False)


@per_submission("attributed_ir", **_BLEU)
def single_gold_bleu(answers: Answers) -> Sample:
    """Compute corpus BLEU of the answers against the single gold answer of a query."""
    return compute_bleu(answers, single=True)


MEASURES = (
    bleu.measure("BLEU",
        "corpus BLEU-4 against all gold answers, shortest reference (per query: of its answer "
        "alone)",
        formula="corpus BLEU-4 of all answers, [13a tokens](#text), no smoothing; brevity penalty "
        "`exp(1 − r/h)` if `h < r`, with `h` the words of the answers and `r` of each query's "
        "*shortest* gold answer",
        edge_cases="no four-gram in common: 0. Values by query are BLEU of that answer alone, so "
        "their mean is another number", parameters={"references": "all"}),
    single_gold_bleu.measure("BLEU@1gold", "the same against one gold answer",
        formula="the same against one gold answer", parameters={"references": "1gold"}),
    *_declare_parts(
        "ROUGE-Lsum", compute_rouge,
        _Words("ROUGE-Lsum {} of the best gold answer",
               "ROUGE-Lsum without stemmer, of the gold answer with the best F", "no overlap: 0"),
        _Words("ROUGE-Lsum {} of the one gold answer, plain mean",
               "against one gold answer; a plain mean, where their code prints the midpoint of a "
               "bootstrap"),
        requires="gold answers, rouge-score", changes=SCRIPTS,
    ),
    *_declare_parts(
        "BERTScore", compute_bertscore,
        _Words("BERTScore {}, gold answer with the best F",
               "BERTScore of the gold answer with the best F: roberta-large, layer 17, no idf, no "
               "rescaling", "an empty text: 0, never sent to the model"),
        _Words("BERTScore {}, one gold answer", "against one gold answer"),
        requires="gold answers, bert-score, roberta-large", options=_bert_model,
    ),
)  # fmt: skip
