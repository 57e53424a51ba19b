"""Answers whose every statement is supported: by all that was shown, or by relevant passages alone.

## grounded

Jacovi et al. 2025 (FACTS Grounding, arXiv 2501.03200) for answers that are grounded in all passages
shown, and Sorodoc et al. 2025 (GaRAGe, arXiv 2506.07671) for those grounded in relevant ones. An
answer is 1 or 0: first an LLM says whether it does what was asked; one that does not is 0. Then all
passages, as one premise, must entail each statement. Of the statements that they do not entail, an
LLM judge is asked whether they state a fact at all; greetings and opinions need no source. A judge
of entailment alone (an NLI model) is not asked that, so that each statement counts, and only
`Grounded.Unadjusted` and `Grounded.uRAF` are computed, which take every answer for one that does
what was asked. With an LLM a refusal is grounded there.

Both papers average several judges: score with each, and let `report` take the files together. Both
protocols compute the same from [statements](#statements) by the rules of `strict`; `reference` has
those of punkt's sentences. The papers' code is not public; their
prompts judge all of an answer in one call.

*Example.* Passage 1 is relevant and says A, passage 2 is not and says B. "Hello! A. B." does what
was asked, and its greeting states no fact: Grounded = Unadjusted = 1, and RAF = uRAF = 0, since B
is not in passage 1. "I do not know." has Grounded 0 and Unadjusted 1.
"""

from collections.abc import Generator, Sequence
from functools import partial

from citeforge.engines.judge.records import Pair
from citeforge.evaluator.measures.declared import Measure, per_answer
from citeforge.evaluator.measures.handed import Answer, Asking
from citeforge.evaluator.measures.judging import premise
from citeforge.evaluator.measures.values import NOTHING, Value
from citeforge.evaluator.statements.strict import read_strict
from citeforge.evaluator.submissions.tools import Need
from citeforge.package.items import Passage
from citeforge.plugins.published_measures.questions import make_questions_option, require_questions

_FACTS = "Jacovi et al. 2025 (FACTS Grounding, arXiv 2501.03200)"
_GARAGE = "Sorodoc et al. 2025 (GaRAGe, arXiv 2506.07671)"
ELIGIBLE, FACT_STATED = "llm-eligible", "llm-fact-stated"


def _judge_groundedness(
    answer: Answer, statement_texts: Sequence[str], passages: Sequence[Passage]
) -> Generator[list[Pair], list[Value], Value]:
    """Ask the judge whether the passages together support all statements of fact (0 or 1)."""
    source = premise(passages, range(len(passages)), True)
    values = dict(
        zip(statement_texts, (yield [Pair(source, text) for text in statement_texts]), strict=True)
    )
    if answer.submission.tools.get_judge().answers_questions:
        unsure = [text for text, value in values.items() if not value.low]
        stated = yield [Pair(answer.query, text, FACT_STATED) for text in unsure]
        for text, fact in zip(unsure, stated, strict=True):
            values[text] = Value.best([values[text], fact.complement])
    worst = [min(v.low for v in values.values()), min(v.high for v in values.values())]
    return Value(*worst)


def _score(answer: Answer, is_adjusted: bool, only_relevant: bool) -> Asking[Value]:
    """Decide if (relevant) passages ground an answer and, if ``is_adjusted``, it fits the query.

    Args:
        answer: the answer.
        is_adjusted: whether it must do what was asked.
        only_relevant: whether relevant passages alone support statements; None without one.

    Raises:
        CannotError: the judge decides entailment alone, and is asked for more.
    """
    if is_adjusted:
        judge = answer.submission.tools.get_judge()
        require_questions(judge, "whether an answer does what was asked")
    passages = answer.passages
    if only_relevant:
        relevant = set(answer.submission.relevant_ids[answer.row])
        passages = tuple(p for p in passages if p.id in relevant)
        if not passages:
            return None
    texts = [statement.text for statement in read_strict(answer, answer.submission)]
    if not texts:
        return NOTHING
    eligible = Value.exact(1.0)
    if is_adjusted:
        (eligible,) = yield [Pair(answer.query, answer.text, ELIGIBLE)]
    if not eligible.high:
        return NOTHING
    grounded = yield from _judge_groundedness(answer, texts, passages)
    return Value(eligible.low * grounded.low, eligible.high * grounded.high)


def _declare(
    name: str, definition: str, formula: str, is_adjusted: bool, only_relevant: bool
) -> Measure:
    """Declare a measure of answers that all or only relevant passages ground, with questions."""
    needs = [Need.SEGMENTER, Need.PASSAGES, Need.JUDGE, *([Need.GOLD] if only_relevant else [])]
    context = " and relevant passages" if only_relevant else ""
    group = per_answer(
        "grounded", needs=needs, missing=NOTHING, source=_GARAGE if only_relevant else _FACTS,
        requires=("an LLM as judge" if is_adjusted else "a judge") + context,
        options=make_questions_option(*([ELIGIBLE] if is_adjusted else []), FACT_STATED),
        reads_labels=only_relevant,
        edge_cases="no statement: 0" + ("; no relevant passage: undefined" if context else ""),
        unlabelled="it reads passages that are not cited, and labels cover cited ones only",
    )(partial(_score, is_adjusted=is_adjusted, only_relevant=only_relevant))  # fmt: skip
    return group.measure(name, definition, formula=formula)


_ALL = "1 if the passages together entail each statement that states a fact"
_RELEVANT = "the same with the relevant passages alone"
MEASURES = (
    _declare("Grounded", "answers that do what was asked and that the passages support in full",
             f"{_ALL}, and the answer does what was asked, else 0", True, False),
    _declare("Grounded.Unadjusted", "answers that the passages support in full",
             f"{_ALL}, else 0", False, False),
    _declare("Grounded.RAF", "answers that do what was asked and that relevant passages support "
             "in full", f"{_RELEVANT}, and the answer does what was asked", True, True),
    _declare("Grounded.uRAF", "answers that relevant passages support in full", _RELEVANT, False,
             True),
)  # fmt: skip
