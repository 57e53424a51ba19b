"""Correctness of ALCE: by words (such as ROUGE), and by models (MAUVE, QA, a judge of claims)."""

import re
import string
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from citeforge.engines.judge.records import Pair
from citeforge.engines.model_files import sign_model
from citeforge.evaluator.measures.alce_citations import (
    ALCE,
    APPENDIX,
    list_option,
)
from citeforge.evaluator.measures.declared import (
    COUNT,
    SCRIPTS,
    SHORT_ANSWERS,
    per_answer,
    per_submission,
)
from citeforge.evaluator.measures.handed import Answer, Answers, Asking
from citeforge.evaluator.measures.rouge import RougeScorers, rouge_lsum
from citeforge.evaluator.measures.script_words import count_text_words, length_option
from citeforge.evaluator.measures.values import ByAnswer, Value
from citeforge.evaluator.statements.strict import answer_part, strict_items
from citeforge.evaluator.statistics.estimates import Floats, Sample
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need
from citeforge.package.items import Gold
from citeforge.schemas.errors import InputError, MissingExtraError
from citeforge.schemas.matching.answers import AnswerText, is_answer
from citeforge.schemas.text import normalise_answer

_IN_BRACKETS = re.compile(r"\s*[(（][^()（）]*[)）]\s*\Z")
_LISTS = "answer lists (QAMPARI)"
_LONG = "long answers (ASQA) or answers (ELI5)"
_PAIRS = "qa_pairs (ASQA)"


@per_answer("alce", source=ALCE, changes=SCRIPTS, options=length_option, reads_labels=False)
def length(answer: Answer) -> int:
    """Count the words of an answer, without its citation marks."""
    return count_text_words(answer.text)


@length.reference
def reference_length(answer: Answer) -> int:
    """Count the white-space-separated tokens of an answer, without its citation marks."""
    return len(answer.text.split())


@dataclass(frozen=True)
class AnsweredPairs:
    """Share of a question's qa_pairs that an answer answers, and whether it answers all."""

    share: float
    are_all: bool


@per_answer(
    "alce", needs=(Need.GOLD,), lacks=_PAIRS, requires=_PAIRS, source=ALCE, changes=SHORT_ANSWERS
)
def str_em(answer: Answer) -> AnsweredPairs | None:
    """Compute which share of a query's sub-questions (qa_pairs) an answer answers, if it has any.

    A pair is answered if one of its short answers is in the text, by
    docs/definitions.md#short_answers.
    """
    return _answered(find_answers(answer.text, answer.gold.qa_pairs, strict=True))


@str_em.reference
def reference_str_em(answer: Answer) -> AnsweredPairs | None:
    """Compute the share of answered sub-questions as ALCE's code does.

    A short answer that normalises to an empty text counts as found in every answer.
    """
    return _answered(find_answers(answer.text, answer.gold.qa_pairs, strict=False))


def find_answers(text: str, golds: Iterable[Gold], *, strict: bool) -> list[bool]:
    """Check for each gold row if a text has a short answer, by ``strict`` rules or ALCE's code.

    Args:
        text: an answer, or a passage.
        golds: gold rows with accepted forms.
        strict: whether the rules of docs/definitions.md#short_answers decide, or ALCE's code.
    """
    if strict:
        read = AnswerText(text)
        return [read.contains_any(gold.aliases) for gold in golds]
    normal = normalise_answer(text)
    return [any(normalise_answer(alias) in normal for alias in gold.aliases) for gold in golds]


def _answered(hits: list[bool]) -> AnsweredPairs | None:
    """Summarise which sub-questions are answered (share, whether all); None if there are none."""
    return AnsweredPairs(sum(hits) / len(hits), all(hits)) if hits else None


@dataclass(frozen=True)
class ListScores:
    """Scores of a list answer; for ``recall5`` and ``f15``, five gold answers are enough."""

    precision: float
    recall: float
    recall5: float
    f1: float
    f15: float
    n_items: int


@per_answer(
    "alce", needs=(Need.GOLD,), lacks=_LISTS, requires=_LISTS, source=ALCE, options=list_option,
    changes=SHORT_ANSWERS,
)  # fmt: skip
def listed(answer: Answer) -> ListScores | None:
    """Score a list answer (precision, recall, F1) against the gold answers; None without gold."""
    return score_list(answer, answer.gold.answer_lists)


def score_list(answer: Answer, gold: Sequence[Gold]) -> ListScores | None:
    """Score a list answer against some of its gold answers; None if there are none."""
    # `Paris (France)` is Paris, too.
    forms = (
        [AnswerText(t) for t in dict.fromkeys((i.text, _IN_BRACKETS.sub("", i.text)))]
        for i in (strict_items(answer, answer.submission) if gold else ())
    )
    return _list_scores(
        [
            row
            for both in forms
            if any(row := [any(form.equals_any(g.aliases) for form in both) for g in gold])
            or any(form.main for form in both)
        ],
        len(gold),
    )


@listed.reference
def reference_listed(answer: Answer) -> ListScores | None:
    """Score a list answer against the gold answers as ALCE's code does; None without gold."""
    return score_reference_list(
        answer_part(answer.text, answer.submission), answer.gold.answer_lists
    )


def score_reference_list(text: str, gold: Sequence[Gold]) -> ListScores | None:
    """Score a list answer's text against gold answers as ALCE's code does; None without them."""
    answers = [{normalise_answer(a) for a in g.aliases} for g in gold]
    parts = text.rstrip().rstrip(".").rstrip(",").split(",")
    items = [normal for part in parts if (normal := normalise_answer(part))]
    return _list_scores([[i in aliases for aliases in answers] for i in items], len(answers))


def _list_scores(matches: list[list[bool]], n_gold: int) -> ListScores | None:
    """Compute precision, recall and F1 of a list answer; None without gold answers.

    Args:
        matches: for each item of the answer, whether it matches each gold answer.
        n_gold: number of gold answers.
    """
    if not n_gold:
        return None
    n = len(matches)
    precision = sum(map(any, matches)) / n if n else 0.0
    hits = sum(any(row[at] for row in matches) for at in range(n_gold))
    recall, recall5 = hits / n_gold, min(5, hits) / min(5, n_gold)
    f1s = _f1(precision, recall), _f1(precision, recall5)
    return ListScores(precision, recall, recall5, *f1s, n)


def _f1(p: float, r: float) -> float:
    """Compute the harmonic mean of precision and recall; 0 if both are 0."""
    return 2 * p * r / (p + r) if p + r else 0.0


@per_submission(
    "alce", needs=(Need.GOLD, Need.SEGMENTER), requires=f"{_LONG}, rouge-score", source=APPENDIX,
    changes=SCRIPTS,
)  # fmt: skip
def rouge(answers: Answers) -> ByAnswer[float]:
    """Compute ALCE's ROUGE-Lsum F against the best gold long answer (ASQA) or gold answer (ELI5).

    With a stemmer, in lower case, one sentence per line. In ``reference`` there are two long
    answers and no more.
    """
    is_reference = answers.protocol == "reference"
    scorers = RougeScorers(stemmer=True, by_script=not is_reference)
    segmenter = answers.tools.get_segmenter()

    def sentence_lines(text: str) -> str:
        """Put each sentence of a text on a line, in lower case."""
        lowered = text.lower()
        return "\n".join(lowered[s:e] for s, e in segmenter.split(lowered))

    values = {}
    for answer in answers:
        gold = answer.gold
        rows = gold.long_answers or (gold.answers if answers.task in ("asqa", "eli5") else ())
        golds = [sentence_lines(g.text or "") for g in rows][: 2 if is_reference else None]
        if golds:
            lines, scorer = sentence_lines(answer.text), scorers.get(golds)
            values[answer.key] = rouge_lsum(lines, golds, scorer)[2]
    if not values:
        raise CannotError(f"needs {_LONG}", code="no-gold")
    return ByAnswer(values, answers.shape, scorers.choices)


class SetSample(Sample):
    """Sufficient statistics of a measure of all answers together: its value in each run."""

    def combine(self, sums: Floats) -> Floats:
        """Get the MAUVE value of each run from the only column of a sample's sums."""
        values: Floats = sums[..., 0]
        return values


def mauve_text(question: str, answer: str) -> str:
    """Join question and answer, cut to 100 words, without trailing punctuation (ALCE's code)."""
    words = f"{question} {answer}".split()[:100]
    return " ".join(words).rstrip(string.punctuation)


@per_submission(
    "alce", needs=(Need.GOLD,), requires="answers or long answers, mauve-text, gpt2-large",
    source=ALCE, options=lambda tools, protocol: sign_model(tools.options.mauve_model),
)  # fmt: skip
def mauve(answers: Answers) -> Sample:
    """Compute MAUVE against human answers: one number per run, without an interval.

    The human answer is ALCE's ``answer``, which ASQA has beside its long answers; else the first of
    those.
    """
    from citeforge.engines.models.answer_models import mauve_value

    values = []
    for items in answers.runs:
        human, outputs = [], []
        for item in items:
            gold = item.gold
            texts = [p.text for p in (*gold.answers, *gold.long_answers) if p.text is not None]
            if texts:
                human.append(mauve_text(item.query, texts[0]))
                outputs.append(mauve_text(item.query, item.text))
        if not human:
            raise CannotError("needs long answers (ASQA, ELI5) or gold answers", code="no-gold")
        try:
            values.append(mauve_value(human, outputs, answers.tools.options.mauve_model))
        except (InputError, MissingExtraError) as error:
            raise CannotError(str(error), code=error.code) from error
    sums, nothing = np.zeros((*answers.shape, 1)), np.full(answers.shape, np.nan)
    sums[:, 0, 0] = values
    return SetSample(sums, nothing, has_interval=False)


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


@per_submission(
    "alce", needs=(Need.GOLD,), requires="qa_pairs (ASQA), a QA model", source=APPENDIX,
    options=lambda tools, protocol: sign_model(tools.options.qa_model),
)  # fmt: skip
def qa(answers: Answers) -> dict[AnswerKey, QaScores]:
    """Score outputs by how well a QA model answers ASQA's sub-questions from them."""
    from citeforge.engines.models.extractive_qa import ExtractiveQa

    texts = {item.key: (item.text, golds) for item in answers if (golds := item.gold.qa_pairs)}
    if not texts:
        raise CannotError("needs qa_pairs (ASQA)", code="no-gold")
    try:
        model = ExtractiveQa(answers.tools.options.qa_model)
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
                if answers.protocol == "reference"
                else is_answer(predicted, gold.aliases)
            )
            overlap.append(max((token_f1(predicted, a) for a in gold.aliases), default=0.0))
        shares = sum(exact) / len(exact), sum(overlap) / len(overlap)
        rows[key] = QaScores(*shares, all(exact))
    return rows


@per_answer(
    "alce", needs=(Need.GOLD, Need.JUDGE), lacks="claims (ELI5)", requires="claims (ELI5), a judge",
    source=ALCE,
)  # fmt: skip
def claim_recall(answer: Answer) -> Asking[Value]:
    """Compute the share of a query's gold claims that its answer entails; None without claims."""
    entailed = yield [Pair(answer.text, claim.text or "") for claim in answer.gold.claims]
    return Value.mean(entailed) if entailed else None


_F1 = "harmonic mean of the answer's P and R, or P and R5"
_EXACT = "two texts without tokens agree"
MEASURES = (
    length.measure("ALCE.Length", "words of the output without markers", **COUNT,
        formula="words of the [text](#text)", edge_cases="missing answer: 0"),
    listed.measure("QAMPARI.NumPreds", "list items of the output", mean=lambda s: s.n_items,
        formula="list items", changes=(), **COUNT),
    str_em.measure("ALCE.StrEM", "qa_pairs with a short answer in the output",
        mean=lambda s: s.share,
        formula="share of a question's `qa_pairs` with a [short answer](#short_answers) in the "
        "text", edge_cases="`reference`: one that normalises to nothing is in every text"),
    str_em.measure("ALCE.StrHit", "outputs with a short answer of every qa_pair",
        mean=lambda s: s.are_all, formula="1 if all `qa_pairs` are there, else 0"),
    listed.measure("QAMPARI.P", "list items that are gold answers", mean=lambda s: s.precision,
        formula="share of the list items that [are](#short_answers) an alias of a gold answer",
        edge_cases="no item: 0"),
    listed.measure("QAMPARI.R", "gold answers among the list items", mean=lambda s: s.recall,
        formula="share of gold answers with an alias among the items"),
    listed.measure("QAMPARI.R5", "min(5, hits) / min(5, gold answers)", mean=lambda s: s.recall5,
        formula="`min(5, hits) / min(5, gold answers)`"),
    listed.measure("QAMPARI.F1", "harmonic mean of P and R of one answer", formula=_F1,
        mean=lambda s: s.f1),
    listed.measure("QAMPARI.F1-5", "harmonic mean of P and R5 of one answer", formula=_F1,
        mean=lambda s: s.f15),
    rouge.measure("ALCE.ROUGE-Lsum",
        "ROUGE-Lsum F of the better long answer (ASQA) or of the answer (ELI5), stemmed",
        formula="the best ROUGE-Lsum F over the long answers (ASQA) or the answers (ELI5): lower "
        "case, Porter stemmer, one sentence per line",
        edge_cases="`reference`: the first two long answers"),
    mauve.measure("MAUVE", "closeness of question and answer texts to human ones",
        formula='MAUVE of "question answer" texts against gold ones: 100 words, trailing '
        "punctuation cut, GPT-2-large", edge_cases="one number per run, no interval"),
    qa.measure("QA-EM", "qa_pairs that a QA model answers exactly from the output",
        changes=SHORT_ANSWERS, mean=lambda s: s.exact,
        formula="an extractive QA model reads the text: share of `qa_pairs` answered exactly "
        "([short answers](#short_answers))", edge_cases=_EXACT),
    qa.measure("QA-F1", "token F1 of those answers", mean=lambda s: s.f1,
        formula="mean best token F1 of its answers", edge_cases=_EXACT),
    qa.measure("QA-Hit", "outputs from which all qa_pairs are answered exactly",
        changes=SHORT_ANSWERS, mean=lambda s: s.hit,
        formula="1 if all `qa_pairs` are answered exactly, else 0"),
    claim_recall.measure("ALCE.ClaimRec", "gold claims that the output entails",
        formula="share of the gold claims that the text entails",
        unlabelled="it asks whether gold claims follow from the answer, and labels are of what the "
        "answer states"),
)  # fmt: skip
