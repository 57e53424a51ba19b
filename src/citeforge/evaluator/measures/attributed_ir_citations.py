"""Attributed-IR's reading of answers, and measures of their citations (Djeddal et al. 2024).

## attributed_ir

Djeddal et al. 2024, section 2.5; `reference`: their evaluators. Premises are texts without titles.

The *one* gold answer is the first that is attributable and informative, else attributable, else
informative, else the first. Queries without a gold answer are left out of BLEU, ROUGE and
BERTScore. Marks are removed from answers and gold answers, but not from closed-book answers.

Limits of `reference`: distinct citations, cut to 7 *before* the range is checked; 20 statements;
queries without passages are left out. Its overlap compares a mark with 1 instead of the number of
passages, so only `[1]` and `[0]` count.

*Example.* S1 cites 1 and 2, S2 cites 3, S3 nothing; φ is 1 for (2, S1) and (4, S3). AutoAIS.cit =
1/3, @cited = 1/2, psg = 2/3. Cited ids {a, d}, gold {a, b, c}: Overlap.P = 1/2, Overlap.R = 1/3.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.alce_citations import strict_claims
from citeforge.evaluator.measures.columns import (
    Key,
    Value,
    bounded_mean_of,
    get_judge,
    judge_pair,
    mean_of,
    values_by_answer,
)
from citeforge.evaluator.measures.declared import (
    CannotError,
    CitationQuality,
    PassageMeasure,
)
from citeforge.evaluator.measures.judging import (
    Claim,
    JudgedAnswers,
    citation_f1,
    citation_precision,
    citation_recall,
    judge_citations,
    read_claims,
    require_passages,
)
from citeforge.evaluator.submissions.inputs import AnswerItem, Inputs
from citeforge.schemas.citations.grammar import read_number, without_markers

AIR = "Djeddal et al. 2024 (Attributed-IR), section 2.5"
MOST_CITATIONS = 7
MOST_STATEMENTS = 20
_BRACKET = r"\[\d+(?:,\s*\d+)*\]"
_MARK = re.compile(rf"{_BRACKET}(?:,\s{_BRACKET})*")  # brackets joined by commas are one mark
_NUMBER = re.compile(r"\d+")
_PROMPT_START, _PROMPT_END = "<|system|>", "<|assistant|>\n"


def mark_numbers(text: str) -> list[int]:
    """List the numbers in all citation marks of a text, in order."""
    return [read_number(n) for mark in _MARK.findall(text) for n in _NUMBER.findall(mark)]


def split_claims(item: AnswerItem, inputs: Inputs) -> list[Claim]:
    """Split an answer into statements with citations, by the rules of the scoring protocol."""
    read = strict_claims if inputs.protocol == "strict" else _reference_claims
    return read(item, inputs)


def _reference_statements(item: AnswerItem, inputs: Inputs) -> list[tuple[str, list[int]]]:
    """Split an answer into (text, cited numbers) as Attributed-IR's evaluator does.

    A mark that opens a sentence replaces the citations of the sentence before, unless that one was
    nothing but marks; it is no citation of its own sentence. A sentence that is one mark, or marks
    joined by commas, is no statement; other sentences of marks are statements without text.
    """
    assert inputs.tools.segmenter is not None
    output = air_output(item.output)
    statements: dict[int, tuple[str, list[int]]] = {}
    for at, (start, end) in enumerate(inputs.tools.segmenter.split(output)):
        sentence = output[start:end]
        marks = _MARK.findall(sentence)
        own = sentence
        if marks and sentence.startswith(marks[0]):
            own = sentence[len(marks[0]) :]
            if at - 1 in statements:
                statements[at - 1] = (statements[at - 1][0], mark_numbers(marks[0]))
        if not marks or ", ".join(marks) != sentence:
            text = _MARK.sub("", sentence).replace(" .", ".")
            statements[at] = (text, mark_numbers(own))
    return list(statements.values())


def _reference_claims(item: AnswerItem, inputs: Inputs) -> list[Claim]:
    """Make claims of an answer's first 20 statements, with up to 7 distinct citations each.

    Citations are cut before the range check; ``[0]`` is the last passage. A statement with a
    citation out of range is marked as skipped: NLI skips it, AutoAIS looks at its other citations.
    """
    n = len(item.passages)
    claims = []
    for text, numbers in _reference_statements(item, inputs)[:MOST_STATEMENTS]:
        # The order of premises is that of a Python set, as in the evaluator.
        cited = list(set(numbers))[:MOST_CITATIONS]
        inside = tuple((number - 1) % n for number in cited if number <= n)
        n_wrong = len(cited) - len(inside)
        claims.append(Claim(text, inside, wrong=n_wrong, skipped=n_wrong > 0))
    return claims


def with_passages(inputs: Inputs) -> Inputs:
    """Drop answers without passages if the protocol is ``reference``.

    Raises:
        CannotError: none has any.
    """
    require_passages(inputs)
    if inputs.protocol == "strict":
        return inputs
    return replace(inputs, runs=[[i for i in items if i.passages] for items in inputs.runs])


def without_reference_marks(text: str) -> str:
    """Remove citations as Attributed-IR's code does: ``[1]`` and ``[1, 2]``, and nothing else."""
    return re.sub(_BRACKET, "", text)


def air_output(output: str) -> str:
    """Remove a repeated system prompt from an output, as Attributed-IR's evaluators do."""
    output = output.replace("<|endoftext|>", "")
    text = ""
    while (start := output.find(_PROMPT_START)) >= 0:
        end = output.find(_PROMPT_END, start + len(_PROMPT_START))
        if end < 0:
            break
        text += output[:start]
        output = output[end + len(_PROMPT_END) :]
    return text + output


def air_text(item: AnswerItem, inputs: Inputs) -> str:
    """Get an answer's text without citation marks, for Attributed-IR's measures of correctness.

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


@dataclass(frozen=True)
class BestCitations:
    """The best citation of each statement of an answer, averaged.

    Attributes:
        over_all: over all statements.
        over_cited: over statements with a citation.
    """

    over_all: Value
    over_cited: Value


def judge_passages(inputs: Inputs, of_shown: bool) -> dict[Key, BestCitations]:
    """Compute each answer's share of statements that a cited, or any shown, passage entails.

    All shown passages take many more questions to the judge.
    """
    rows = read_claims(inputs.once(with_passages), split_claims)
    judge = get_judge(inputs.tools)

    def pairs(item: AnswerItem, claim: Claim) -> Iterable[Pair]:
        """Pair a claim with each passage that it cites, or that was shown, for the judge."""
        looked_at = range(len(item.passages)) if of_shown else claim.cited
        return (Pair(item.passages[at].text, claim.text) for at in looked_at)

    judge.ask(pair for _, item, claims in rows for claim in claims for pair in pairs(item, claim))
    values: dict[Key, BestCitations] = {}
    for key, item, claims in rows:
        best = [Value.best(judge_pair(judge, pair) for pair in pairs(item, c)) for c in claims]
        # Where a citation out of range skips a statement, wrong ones alone leave it uncited.
        cited = [
            value
            for value, claim in zip(best, claims, strict=True)
            if claim.cited or (claim.wrong and not claim.skipped)
        ]
        values[key] = BestCitations(Value.mean(best), Value.mean(cited))
    return values


_OF_CITED, _OF_SHOWN = (partial(judge_passages, of_shown=of_shown) for of_shown in (False, True))


def judged_citations(inputs: Inputs) -> JudgedAnswers:
    """Let the judge score every answer's citations (recall, precision) as Attributed-IR does."""
    return judge_citations(inputs.once(with_passages), split_claims, with_title=False)


_judged = partial(
    PassageMeasure, family="attributed_ir", needs="a judge", source=AIR, uses=("judge", "segmenter")
)
_quality = partial(
    CitationQuality,
    reference="Their code looks at 20 statements of an answer and 7 citations of each.",
)
_nli = partial(
    _judged,
    formula="CitRec, CitPrec and CitF1 of [alce](#alce) with these premises",
    edge_cases="no statement: 0. `reference`: a statement whose only citation is a passage without "
    "text counts −1 in both",
)  # fmt: skip
_TEXTS = "It asks as ALCE does, but the judge sees no titles."


@dataclass(frozen=True)
class Overlap:
    """Precision and recall of an answer's cited passages against the gold answer's."""

    precision: float
    recall: float


def compute_overlap(item: AnswerItem, inputs: Inputs) -> Overlap | None:
    """Compute precision and recall of an answer's cited passages against the gold answer's.

    Without gold or generated citations it is 0; ``reference``: None, which leaves the query out,
    where the gold answer is the empty string.
    """
    answer = item.gold.single
    if inputs.protocol == "reference" and (answer is None or not answer.text):
        return None
    cited = set(answer.citations) if answer is not None else set()
    if inputs.protocol == "reference":
        assert answer is not None
        quotes = inputs.benchmark.relevant_ids[item.row]
        marks = mark_numbers(answer.text or "")
        cited = {quotes[n - 1] for n in marks if n <= len(quotes)} if quotes else set()
        generated, n_wrong = _reference_ids(item), 0
    else:
        inside, n_wrong, _ = inputs.grammar.cited(item.output, len(item.passages))
        generated = {item.passages[p].id for p in inside}
    size = len(generated) + n_wrong
    shared = len(cited & generated)
    return Overlap(shared / size if size else 0.0, shared / len(cited) if cited else 0.0)


def _reference_ids(item: AnswerItem) -> set[str]:
    """Get the ids of cited passages as Attributed-IR's code counts them: it sees only [1] and [0].

    It compares a marker with 1 instead of the number of passages.
    """
    numbers = [n for n in mark_numbers(air_output(item.output)) if n <= 1]
    return {item.passages[n - 1].id for n in numbers} if item.passages else set()


def compute_overlaps(inputs: Inputs) -> dict[Key, Overlap]:
    """Compute precision and recall of every answer's cited passages against the gold answer's."""
    inputs = inputs.once(with_passages)
    if not any(g.citations for gold in inputs.benchmark.gold_rows for g in gold.answers):
        raise CannotError("needs gold answers with citations", code="no-gold")
    return values_by_answer(compute_overlap)(inputs)


_overlap = partial(
    PassageMeasure, family="attributed_ir", needs="gold answers with citations", source=AIR,
)  # fmt: skip
_overlap_quality = partial(
    CitationQuality,
    apart="A citation is right where one gold answer cites the same passage, whatever it says.",
    reference="Their code counts [1] and [0] alone, so that only the first and the last passage "
    "can be cited.",
)
MEASURES = (
    _judged(
        "AutoAIS.cit",
        compute=bounded_mean_of(_OF_CITED, lambda best: best.over_all),
        definition="best citation of each statement entails it",
        formula="mean over statements of the largest `φ(c, s)` over their citations",
        edge_cases="uncited statement: 0. No statement: 0",
        citation_quality=_quality(
            "recall",
            "One cited passage alone must entail the statement; needless ones cost nothing.",
        ),
    ),
    _judged(
        "AutoAIS.cit@cited",
        compute=bounded_mean_of(_OF_CITED, lambda best: best.over_cited),
        definition="the same over cited statements only",
        formula="the same over cited statements",
        edge_cases="none cited: 0, and the answer stays",
        citation_quality=_quality(
            "precision",
            "Statements without a citation are left out, so that citing little is free.",
        ),
    ),
    _judged(
        "AutoAIS.psg",
        definition="best shown passage of each statement entails it",
        formula="mean over statements of the largest `φ(p, s)` over all passages shown",
        edge_cases="no statement: 0",
        compute=bounded_mean_of(_OF_SHOWN, lambda best: best.over_all),
        unlabelled="it reads all passages shown, and labels cover cited ones only",
    ),
    _nli("NLI.rec", definition="CitRec with passage texts as premises", linear=True,
         compute=citation_recall(judged_citations),
         citation_quality=_quality("recall", _TEXTS)),
    _nli("NLI.prec", definition="CitPrec with passage texts as premises",
         compute=citation_precision(judged_citations),
         citation_quality=_quality("precision", _TEXTS)),
    _nli("NLI.F1", definition="harmonic mean of mean NLI.rec and mean NLI.prec",
         compute=citation_f1(judged_citations),
         citation_quality=_quality("both", _TEXTS)),
    _overlap("Overlap.P", definition="cited passages that the gold answer cites",
             compute=mean_of(compute_overlaps, lambda both: both.precision),
             formula="passages cited by answer and gold answer ÷ passages cited by the answer",
             edge_cases="no citation on either side: 0. `strict`: out-of-range citations are in "
             "the denominator",
             citation_quality=_overlap_quality("precision")),
    _overlap("Overlap.R", definition="passages of the gold answer that are cited",
             compute=mean_of(compute_overlaps, lambda both: both.recall),
             formula="the same ÷ passages cited by the gold answer",
             edge_cases="as above. `reference`: queries with empty gold answers are left out",
             citation_quality=_overlap_quality("recall")),
)  # fmt: skip
