"""Citation worthiness: statements that cite, or need no citation.

## worthy

Ours, by a question of Zhang et al. 2024 (LongBench-Cite, arXiv 2409.02897), which ARGUE asks, too:
does a statement without a citation need one? An LLM judge says that it does, or why not: it
introduces, other statements imply it, it is the writer's own reasoning, or common knowledge. A
statement that cites no passage shown is one without a citation. Both protocols read
[statements](#statements) by the rules of `strict`, `reference` those of punkt's sentences. Whether
a citation is right is not asked: an answer that cites in every sentence has 1, and so may a refusal
have. Read it beside a measure of support and one of correctness.

*Example.* Of four statements one cites, one introduces the others, two need a citation, of which
one cites only [9] of 5 passages: (1 + 1 + 0 + 0)/4 = .50.
"""

from citeforge.evaluator.measures.declared import per_answer
from citeforge.evaluator.measures.handed import Answer, Asking
from citeforge.evaluator.measures.values import NOTHING, Value
from citeforge.evaluator.statements.strict import read_strict
from citeforge.evaluator.submissions.tools import Need
from citeforge.plugins.published_measures.questions import (
    NEED,
    make_questions_option,
    need_pair,
    require_questions,
)


@per_answer(
    "worthy", needs=(Need.SEGMENTER, Need.JUDGE), missing=NOTHING,
    options=make_questions_option(NEED),
    source="ours; question: Zhang et al. 2024 (LongBench-Cite)", requires="an LLM judge",
    reads_labels=False,
    unlabelled="it asks whether uncited statements need a citation, and labels are of cited ones",
)  # fmt: skip
def worthy(answer: Answer) -> Asking[Value]:
    """Compute the share of an answer's statements that cite, or need no citation.

    Raises:
        CannotError: the judge decides entailment alone.
    """
    judge = answer.submission.tools.get_judge()
    require_questions(judge, "what needs a citation")
    statements = read_strict(answer, answer.submission)
    needs = yield [need_pair(answer, s.text) for s in statements if not s.cited]
    cites = [Value.exact(1.0)] * (len(statements) - len(needs))
    return Value.mean([*cites, *(need.complement for need in needs)])


MEASURES = (
    worthy.measure(
        "Worthy", "statements that cite, or need no citation",
        formula="mean over statements of 1 if it cites a passage shown, else 1 − need",
        edge_cases="no statement: 0"),
)  # fmt: skip
