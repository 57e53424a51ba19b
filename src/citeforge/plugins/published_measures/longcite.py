"""Citation quality as LongBench-Cite measures it: graded recall, relevance, F1 and length.

## longcite

Zhang et al. 2024 (LongCite, arXiv 2409.02897), section 3. An LLM judge grades how far all that a
statement cites supports it: g = 1 for nearly all of it, 1/2 for more than half, else 0. A statement
without a citation has g = 1 − need ([worthy](#worthy) asks the same). Each citation alone is
relevant, r = 1, if it supports any point of its statement. F1 is computed for each answer, then
averaged.

A judge of entailment alone gives its level of support for g, and r = 1 where that is above 0; then
every statement without a citation counts as one that needs it. Both protocols read
[statements](#statements) by the rules of `strict`, `reference` those of punkt's sentences: it looks
at the first 40 of an answer, joins passages by empty lines, without titles, and leaves out missing
answers and citations of nothing, which `strict` counts as not relevant. Tokens are words, or those
of `--tokenizer`.

*Example.* S1 cites [1] and [2], which support most of it, [1] alone nothing; S2 cites [3] and is
fully supported; S3 cites nothing and needs to; S4 cites nothing and introduces: R = (.5 + 1 + 0 +
1)/4 = .63, P = (0 + 1 + 1)/3 = .67, F1 = 2 · .63 · .67/(.63 + .67) = .65. Passages of 30, 50 and 40
words: Length = 120/3 = 40.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache

from citeforge.engines.judge.records import Pair
from citeforge.engines.model_files import sign_model
from citeforge.evaluator.measures.declared import COUNT, CitationQuality, per_answer
from citeforge.evaluator.measures.handed import Answer, Asking
from citeforge.evaluator.measures.judging import premise, premise_text
from citeforge.evaluator.measures.script_words import count_text_words
from citeforge.evaluator.measures.values import NOTHING, Value
from citeforge.evaluator.statements.strict import CitedStatement, read_strict
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from citeforge.plugins.published_measures.questions import (
    HALF_SUPPORT,
    NEED,
    RELEVANT,
    make_questions_option,
    need_pair,
    read_levels,
)
from citeforge.schemas.errors import InputError, MissingExtraError

REFERENCE_STATEMENTS = 40
"""Statements of an answer that the authors' code looks at."""


@dataclass(frozen=True)
class CitationGrades:
    """Grades of the statements and citations of one answer.

    Attributes:
        recall: mean grade of support over statements.
        precision: share of citations that are relevant.
    """

    recall: Value = NOTHING
    precision: Value = NOTHING

    @property
    def f1(self) -> Value:
        """Harmonic mean of an answer's citation recall and precision."""
        return Value.harmonic(self.recall, self.precision)


@per_answer(
    "longcite", needs=(Need.SEGMENTER, Need.PASSAGES, Need.JUDGE), missing=CitationGrades(),
    source="Zhang et al. 2024 (LongCite), section 3", requires="a judge, best an LLM",
    options=make_questions_option(NEED, HALF_SUPPORT, RELEVANT), reads_labels=False,
    unlabelled="labels are not in its grades, nor do they say which statements need a citation",
)  # fmt: skip
def grades(answer: Answer) -> Asking[CitationGrades]:
    """Let the judge grade an answer's statements (recall) and citations (precision)."""
    statements = _read_statements(answer)
    texts = [premise_text(passage, strict=True) for passage in answer.passages]
    together = [premise(answer.passages, s.cited, strict=True) for s in statements]
    return (
        yield from _grade(answer, statements, texts, together, sum(s.wrong for s in statements))
    )


@grades.reference
def reference_grades(answer: Answer) -> Asking[CitationGrades]:
    """Let the judge grade an answer's first 40 statements, as the authors' code does."""
    if answer.is_missing:
        return None
    statements = _read_statements(answer)[:REFERENCE_STATEMENTS]
    texts = [passage.text for passage in answer.passages]
    together = ["\n\n".join(texts[c] for c in s.cited).strip() for s in statements]
    return (yield from _grade(answer, statements, texts, together, 0))


def _read_statements(answer: Answer) -> list[CitedStatement]:
    """Split an answer into statements with citations, by the protocol ``strict``.

    Raises:
        CannotError: no answer was shown a passage.
    """
    answer.submission.require_passages()
    return read_strict(answer, answer.submission)


def _grade(
    answer: Answer, statements: Sequence[CitedStatement], passage_texts: Sequence[str],
    joined_citations: Sequence[str], n_invalid: int,
) -> Asking[CitationGrades]:  # fmt: skip
    """Let the judge grade statements and citations (invalid ones as 0); average the grades.

    Args:
        answer: the answer.
        statements: its statements.
        passage_texts: text of each passage, to judge a citation of it by.
        joined_citations: text of all that each statement cites.
        n_invalid: citations of no passage.
    """
    judge = answer.submission.tools.get_judge()
    half, relevant = (HALF_SUPPORT, RELEVANT) if judge.answers_questions else ("", "")
    support = [
        Pair(t, s.text, half) for t, s in zip(joined_citations, statements, strict=True) if s.cited
    ]
    alone = [Pair(passage_texts[c], s.text, relevant) for s in statements for c in s.cited]
    uncited = [s.text for s in statements if not s.cited]
    needs = [need_pair(answer, text) for text in uncited] if judge.answers_questions else []
    yield [*support, *alone, *needs]
    unneeded = [need.complement for need in read_levels(judge, needs)]
    recall = Value.mean([*read_levels(judge, support), *(unneeded or [NOTHING] * len(uncited))])
    hits = [Value(float(v.low > 0), float(v.high > 0)) for v in read_levels(judge, alone)]
    return CitationGrades(recall, Value.mean([*hits, *[NOTHING] * n_invalid]))


def _name_counter(tools: ScoringTools, protocol: str) -> str:
    """Write the score signature's option: what lengths count, words or a tokenizer's tokens."""
    tokenizer = tools.options.tokenizer
    return f"tokens {'words' if tokenizer is None else sign_model(tokenizer)}"


@cache
def _load_counter(tokenizer: str | None) -> Callable[[str], int]:
    """Load the function that counts a text's tokens by a tokenizer; its words if None.

    Raises:
        CannotError: there is no such tokenizer.
    """
    from citeforge.systems.prompts import load_token_counter

    if tokenizer is None:
        return count_text_words
    try:
        return load_token_counter(tokenizer, "words")
    except (InputError, MissingExtraError) as error:
        raise CannotError(str(error), code=error.code) from error


@per_answer(
    "longcite", needs=(Need.SEGMENTER, Need.PASSAGES), reads_labels=False, options=_name_counter,
    source="Zhang et al. 2024 (LongCite), section 3",
)  # fmt: skip
def lengths(answer: Answer) -> list[int]:
    """Count the tokens (or words) of the cited passage, per citation of an answer."""
    count = _load_counter(answer.submission.tools.options.tokenizer)
    statements = _read_statements(answer)
    return [count(answer.passages[c].text) for s in statements for c in s.cited]


_APART = "Support is graded, and uncited statements that need no citation count as supported."
MEASURES = (
    grades.measure(
        "LongCite.R", "support of statements by all that they cite, full 1, more than half 0.5",
        mean=lambda g: g.recall, formula="mean g over statements",
        edge_cases="no statement: 0", citation_quality=CitationQuality("recall", _APART)),
    grades.measure(
        "LongCite.P", "citations that support any point of their statement",
        mean=lambda g: g.precision, formula="mean r over citations",
        edge_cases="no citation: 0", citation_quality=CitationQuality(
            "precision", "One supported point of a statement is enough for each of its citations.",
            "Their code leaves out citations of nothing.")),
    grades.measure(
        "LongCite.F1", "harmonic mean of both for each answer", mean=lambda g: g.f1,
        formula="2PR/(P + R) of each answer, then averaged",
        citation_quality=CitationQuality("both", "It is computed for each answer, then averaged.")),
    lengths.measure(
        "LongCite.Length", "words or tokens of a cited passage",
        ratio=lambda counts: (float(sum(counts)), len(counts)),
        formula="Σ tokens of cited passages ÷ citations, over all answers",
        edge_cases="no citation in any answer: not computed", **COUNT),
)  # fmt: skip
