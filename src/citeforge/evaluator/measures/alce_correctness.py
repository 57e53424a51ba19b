"""Correctness of ALCE: by words (such as ROUGE), and by models (MAUVE, QA, a judge of claims)."""

import re
import string
from collections import Counter
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.alce_citations import (
    ALCE,
    APPENDIX,
    list_option,
)
from citeforge.evaluator.measures.columns import (
    Value,
    bounded_mean,
    judge_pair,
    mean_of,
    mean_of_defined,
    values_by_answer,
)
from citeforge.evaluator.measures.declared import SCRIPTS, SHORT_ANSWERS, PassageMeasure, count
from citeforge.evaluator.measures.rouge import RougeScorers, rouge_lsum
from citeforge.evaluator.measures.script_words import count_text_words, length_option
from citeforge.evaluator.statements.alce import alce_text
from citeforge.evaluator.statements.strict import answer_part, strict_items
from citeforge.evaluator.statistics.estimates import Sample
from citeforge.evaluator.submissions.inputs import AnswerItem, AnswerKey, Inputs
from citeforge.evaluator.submissions.tools import CannotError
from citeforge.schemas.errors import InputError, MissingExtraError
from citeforge.schemas.matching.answers import AnswerText, is_answer
from citeforge.schemas.text import normalise_answer

_IN_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*\Z")
_LISTS = "answer lists (QAMPARI)"
_LONG = "long answers (ASQA) or answers (ELI5)"
_PAIRS = "qa_pairs (ASQA)"


def count_words(item: AnswerItem, inputs: Inputs) -> float:
    """Count the words of an answer without citations."""
    text = alce_text(item, inputs)
    return float(len(text.split()) if inputs.protocol == "reference" else count_text_words(text))


@dataclass(frozen=True)
class AnsweredPairs:
    """Share of a question's qa_pairs that an answer answers, and whether it answers all."""

    share: float
    are_all: bool


def compute_str_em(item: AnswerItem, inputs: Inputs) -> AnsweredPairs | None:
    """Compute which share of a query's sub-questions (qa_pairs) an answer answers, if it has any.

    A pair is answered if one of its short answers is in the text, in ``strict`` by
    docs/definitions.md#short_answers. As in ALCE's code, one that normalises to nothing always is
    in ``reference``.
    """
    pairs = item.gold.qa_pairs
    if not pairs:
        return None
    if inputs.protocol == "reference":
        text = normalise_answer(alce_text(item, inputs))
        hits = [any(normalise_answer(a) in text for a in pair.aliases) for pair in pairs]
    else:
        answer = AnswerText(alce_text(item, inputs))
        hits = [answer.contains_any(pair.aliases) for pair in pairs]
    return AnsweredPairs(sum(hits) / len(hits), all(hits))


@dataclass(frozen=True)
class ListScores:
    """Scores of a list answer; for ``recall5`` and ``f15``, five gold answers are enough."""

    precision: float
    recall: float
    recall5: float
    f1: float
    f15: float
    n_items: int


def compute_qampari(item: AnswerItem, inputs: Inputs) -> ListScores | None:
    """Compare the items of a list answer with the gold answers; None without gold lists."""
    gold = item.gold.answer_lists
    if not gold:
        return None
    if inputs.protocol == "reference":
        answers = [{normalise_answer(a) for a in g.aliases} for g in gold]
        text = answer_part(alce_text(item, inputs), inputs)
        parts = text.rstrip().rstrip(".").rstrip(",").split(",")
        listed = [normal for part in parts if (normal := normalise_answer(part))]
        given = [[item in aliases for aliases in answers] for item in listed]
    else:
        # `Paris (France)` is Paris, too.
        forms = (
            [AnswerText(t) for t in dict.fromkeys((i.text, _IN_BRACKETS.sub("", i.text)))]
            for i in strict_items(item, inputs)
        )
        given = [
            row
            for both in forms
            if any(row := [any(form.equals_any(g.aliases) for form in both) for g in gold])
            or any(form.main for form in both)
        ]
    n = len(given)
    precision = sum(map(any, given)) / n if n else 0.0
    hits = sum(any(row[at] for row in given) for at in range(len(gold)))
    recall = hits / len(gold)
    recall5 = min(5, hits) / min(5, len(gold))
    f1s = _f1(precision, recall), _f1(precision, recall5)
    return ListScores(precision, recall, recall5, *f1s, n)


def _f1(p: float, r: float) -> float:
    """Compute the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * p * r / (p + r) if p + r else 0.0


def compute_rouge(inputs: Inputs) -> Sample:
    """Average ALCE's ROUGE-Lsum F against the best gold long answer (ASQA) or gold answer (ELI5).

    With a stemmer, in lower case, one sentence per line.
    """
    scorers = RougeScorers(stemmer=True, by_script=inputs.protocol != "reference")
    segmenter = inputs.tools.get_segmenter()

    def sentence_lines(text: str) -> str:
        """Put each sentence of a text on a line, in lower case."""
        lowered = text.lower()
        return "\n".join(lowered[s:e] for s, e in segmenter.split(lowered))

    def value(item: AnswerItem, inputs: Inputs) -> float | None:
        """Compute ROUGE-Lsum F of one answer; None without a long answer to compare it with."""
        gold = item.gold
        rows = gold.long_answers or (gold.answers if inputs.task in ("asqa", "eli5") else ())
        golds = [sentence_lines(g.text or "") for g in rows]
        if not golds:
            return None
        # ALCE's code knows two long answers and no more.
        golds = golds[:2] if inputs.protocol == "reference" else golds
        scorer = scorers.get(golds)
        return rouge_lsum(sentence_lines(alce_text(item, inputs)), golds, scorer)[2]

    sample = mean_of_defined(inputs, values_by_answer(value, _LONG)(inputs))
    return replace(sample, choices=scorers.choices)


def mauve_text(question: str, answer: str) -> str:
    """Join question and answer, cut to 100 words, without trailing punctuation (ALCE's code)."""
    words = f"{question} {answer}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


def compute_mauve(inputs: Inputs) -> Sample:
    """Compute MAUVE against human answers: one number per run, without an interval.

    The human answer is ALCE's ``answer``, which ASQA has beside its long answers; else the first of
    those.
    """
    from citeforge.engines.models.answer_models import mauve_value

    values = []
    for items in inputs.runs:
        human, outputs = [], []
        for item in items:
            gold = item.gold
            texts = [p.text for p in (*gold.answers, *gold.long_answers) if p.text is not None]
            if texts:
                human.append(mauve_text(item.query, texts[0]))
                outputs.append(mauve_text(item.query, alce_text(item, inputs)))
        if not human:
            raise CannotError("needs long answers (ASQA, ELI5) or gold answers", code="no-gold")
        try:
            values.append(mauve_value(human, outputs, inputs.tools.options.mauve_model))
        except (InputError, MissingExtraError) as error:
            raise CannotError(str(error), code=error.code) from error
    sums, nothing = np.zeros((*inputs.shape, 1)), np.full(inputs.shape, np.nan)
    sums[:, 0, 0] = values
    return Sample(sums, lambda s: s[..., 0], nothing, has_interval=False)


def token_f1(prediction: str, answer: str) -> float:
    """Compute SQuAD's F1 of the normalised tokens of two texts; 1 if neither text has any."""
    a, b = normalise_answer(prediction).split(), normalise_answer(answer).split()
    if not a or not b:
        return float(a == b)
    shared = sum((Counter(a) & Counter(b)).values())
    return _f1(shared / len(a), shared / len(b))


@dataclass(frozen=True)
class QaScores:
    """Scores of a QA model on one output: exact matches, F1 of tokens, and whether all match."""

    exact: float
    f1: float
    hit: bool


def score_qa(inputs: Inputs) -> dict[AnswerKey, QaScores]:
    """Score each output by how well a QA model answers ASQA's sub-questions from it."""
    from citeforge.engines.models.extractive_qa import ExtractiveQa

    texts = {
        (run, item.row): (alce_text(item, inputs), golds)
        for run, item in inputs.items()
        if (golds := item.gold.qa_pairs)
    }
    if not texts:
        raise CannotError("needs qa_pairs (ASQA)", code="no-gold")
    try:
        model = ExtractiveQa(inputs.tools.options.qa_model)
    except InputError as error:
        raise CannotError(str(error), code=error.code) from error
    questions = [(gold.text or "", text) for text, golds in texts.values() for gold in golds]
    spans = iter(model.answers(questions))
    rows: dict[AnswerKey, QaScores] = {}
    for key, (_, golds) in texts.items():
        exact, overlap = [], []
        for gold in golds:
            predicted = next(spans)
            normal = normalise_answer(predicted)
            exact.append(
                any(normal == normalise_answer(a) for a in gold.aliases)
                if inputs.protocol == "reference"
                else is_answer(predicted, gold.aliases)
            )
            overlap.append(max((token_f1(predicted, a) for a in gold.aliases), default=0.0))
        shares = sum(exact) / len(exact), sum(overlap) / len(overlap)
        rows[key] = QaScores(*shares, all(exact))
    return rows


def compute_claim_recall(inputs: Inputs) -> Sample:
    """Compute the share of a query's gold claims that its answer entails."""
    judge = inputs.tools.get_judge()
    pairs = {
        (run, item.row): [Pair(alce_text(item, inputs), g.text or "") for g in claims]
        for run, item in inputs.items()
        if (claims := item.gold.claims)
    }
    if not pairs:
        raise CannotError("needs claims (ELI5)", code="no-gold")
    judge.ask(p for group in pairs.values() for p in group)
    values = {k: Value.mean([judge_pair(judge, p) for p in group]) for k, group in pairs.items()}
    return bounded_mean(inputs, values)


_LISTED = values_by_answer(compute_qampari, _LISTS)
_STRINGS = values_by_answer(compute_str_em, _PAIRS)
_str = partial(PassageMeasure, family="alce", needs=_PAIRS, source=ALCE, changes=SHORT_ANSWERS)
_listed = partial(
    PassageMeasure, family="alce", needs=_LISTS, source=ALCE, options=list_option,
    changes=SHORT_ANSWERS,
)  # fmt: skip
_qa = partial(
    PassageMeasure, family="alce", needs="qa_pairs (ASQA), a QA model", source=APPENDIX,
    uses=("qa",), options=lambda tools, protocol: Path(tools.options.qa_model).name,
)  # fmt: skip
_F1 = "harmonic mean of the answer's P and R, or P and R5"
_EXACT = "two texts without tokens agree"
MEASURES = (
    count(
        "ALCE.Length", "alce", "words of the output without markers", source=ALCE,
        formula="words of the [text](#text)", edge_cases="missing answer: 0",
        compute=mean_of(values_by_answer(count_words), float), changes=SCRIPTS,
        options=length_option, reads_labels=False,
    ),
    count(
        "QAMPARI.NumPreds", "alce", "list items of the output", needs=_LISTS, source=ALCE,
        compute=mean_of(_LISTED, lambda s: s.n_items), options=list_option, formula="list items",
    ),
    _str("ALCE.StrEM", definition="qa_pairs with a short answer in the output",
         compute=mean_of(_STRINGS, lambda s: s.share),
         formula="share of a question's `qa_pairs` with a [short answer](#short_answers) in the "
         "text", edge_cases="`reference`: one that normalises to nothing is in every text"),
    _str("ALCE.StrHit", definition="outputs with a short answer of every qa_pair",
         compute=mean_of(_STRINGS, lambda s: s.are_all),
         formula="1 if all `qa_pairs` are there, else 0"),
    _listed("QAMPARI.P", definition="list items that are gold answers",
            compute=mean_of(_LISTED, lambda s: s.precision),
            formula="share of the list items that [are](#short_answers) an alias of a gold answer",
            edge_cases="no item: 0"),
    _listed("QAMPARI.R", definition="gold answers among the list items",
            compute=mean_of(_LISTED, lambda s: s.recall),
            formula="share of gold answers with an alias among the items"),
    _listed("QAMPARI.R5", definition="min(5, hits) / min(5, gold answers)",
            compute=mean_of(_LISTED, lambda s: s.recall5),
            formula="`min(5, hits) / min(5, gold answers)`"),
    _listed("QAMPARI.F1", definition="harmonic mean of P and R of one answer", formula=_F1,
            compute=mean_of(_LISTED, lambda s: s.f1)),
    _listed("QAMPARI.F1-5", definition="harmonic mean of P and R5 of one answer", formula=_F1,
            compute=mean_of(_LISTED, lambda s: s.f15)),
    PassageMeasure(
        "ALCE.ROUGE-Lsum", "alce",
        "ROUGE-Lsum F of the better long answer (ASQA) or of the answer (ELI5), stemmed",
        formula="the best ROUGE-Lsum F over the long answers (ASQA) or the answers (ELI5): lower "
        "case, Porter stemmer, one sentence per line",
        edge_cases="`reference`: the first two long answers",
        needs=f"{_LONG}, rouge-score", source=APPENDIX, uses=("segmenter",), compute=compute_rouge,
        changes=SCRIPTS,
    ),
    PassageMeasure(
        "MAUVE", "alce", "closeness of question and answer texts to human ones",
        formula='MAUVE of "question answer" texts against gold ones: 100 words, trailing '
        "punctuation cut, GPT-2-large", edge_cases="one number per run, no interval",
        needs="answers or long answers, mauve-text, gpt2-large", source=ALCE, uses=("mauve",),
        compute=compute_mauve, options=lambda tools, protocol: Path(tools.options.mauve_model).name,
    ),
    _qa("QA-EM", definition="qa_pairs that a QA model answers exactly from the output",
        changes=SHORT_ANSWERS,
        compute=mean_of(score_qa, lambda s: s.exact),
        formula="an extractive QA model reads the text: share of `qa_pairs` answered exactly "
        "([short answers](#short_answers))", edge_cases=_EXACT),
    _qa("QA-F1", definition="token F1 of those answers", compute=mean_of(score_qa, lambda s: s.f1),
        formula="mean best token F1 of its answers", edge_cases=_EXACT),
    _qa("QA-Hit", definition="outputs from which all qa_pairs are answered exactly",
        changes=SHORT_ANSWERS,
        compute=mean_of(score_qa, lambda s: s.hit),
        formula="1 if all `qa_pairs` are answered exactly, else 0"),
    PassageMeasure(
        "ALCE.ClaimRec", "alce", "gold claims that the output entails",
        formula="share of the gold claims that the text entails",
        needs="claims (ELI5), a judge", source=ALCE, uses=("judge",), compute=compute_claim_recall,
        unlabelled="it asks whether gold claims follow from the answer, and labels are of what the "
        "answer states",
    ),
)  # fmt: skip
