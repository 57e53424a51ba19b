"""Measures of what passages do to a system: answers without any, among noise, and with the right.

## mirage

Park et al. 2025 (MIRAGE, arXiv 2504.17137), section 4; `reference`: their `evaluation.py`. One
system answers each question three times: without passages (context set `none`), with passages of
which some are noise (the set that is scored), and with the right ones alone: the set `oracle`, else
one whose passages are all relevant. All three are lines of one file, with `context` in each, or
files that `score FILE --also FILE` joins. Runs are compared by number; an only one with all.

`b`, `m` and `o` say whether a short answer of the query is in the answer to each of the three: by
[these rules](#short_answers) (`strict`), or anywhere in its raw text, without regard to case
(`reference`, which leaves out a query that lacks one of them). Each query is of one of the four
kinds, so that they sum up to 1; in `strict` a missing answer has the worst value of each instead.

*Example.* Of 4 queries one has o = 1, m = 0; one o = m = 1; one o = b = 0; and one o = 0, b = 1:
each of the four is 1/4. If the third were right in all three sets: Vulnerable = 1/4, Acceptable =
2/4, Insensitive = 0/4, Misread = 1/4.
"""

from collections.abc import Callable
from dataclasses import dataclass

from citeforge.evaluator.measures.declared import per_submission
from citeforge.evaluator.measures.handed import Answer, Answers
from citeforge.evaluator.measures.values import ByAnswer
from citeforge.evaluator.submissions.benchmark import CLOSED_BOOK, OWN
from citeforge.evaluator.submissions.inputs import AnswerKey
from citeforge.evaluator.submissions.tools import CannotError, Need
from citeforge.package.package import short_answers
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.tables import RELEVANT

FAMILY = "mirage"
ORACLE = "oracle"
_SOURCE = "Park et al. 2025 (MIRAGE), section 4"
_NEEDED = "answers of one system to three context sets, and short answers"


@dataclass(frozen=True)
class Outcome:
    """Whether a query is answered right in each of the three context sets.

    Attributes:
        base: without passages.
        mixed: with noise.
        oracle: with the right passages alone.
        is_missing: whether one of the three answers is missing.
    """

    base: bool
    mixed: bool
    oracle: bool
    is_missing: bool = False


@per_submission(FAMILY, needs=(Need.BENCHMARK, Need.CONTEXTS), source=_SOURCE, requires=_NEEDED)
def outcomes(answers: Answers) -> ByAnswer[Outcome]:
    """Decide per query which of the answers without, with noisy, with right passages are right.

    Raises:
        CannotError: one of the sets is not answered, or is the one that is scored; or no query has
            short answers.
    """
    oracle = _find_oracle(answers)
    base, right = _make_lookup(answers.beside[CLOSED_BOOK]), _make_lookup(answers.beside[oracle])
    b = answers.benchmark
    golds = short_answers(b.queries, b.mappings[RELEVANT], b.gold)
    if not any(golds):
        raise CannotError("needs short answers of the queries", code="no-gold")
    find = _is_right if answers.protocol == "strict" else _is_right_by_authors
    results: dict[AnswerKey, Outcome] = {}
    for answer in answers:
        gold = golds[answer.row]
        three = base(answer.key), answer, right(answer.key)
        present = [one for one in three if one is not None]
        if gold and (answers.protocol == "strict" or len(present) == len(three)):
            is_missing = len(present) < len(three) or any(one.is_missing for one in present)
            hits = (one is not None and find(one, gold) for one in three)
            without, mixed, alone = hits
            results[answer.key] = Outcome(without, mixed, alone, is_missing)
    return ByAnswer(results, answers.shape, (f"oracle={oracle}",))


def _find_oracle(answers: Answers) -> str:
    """Find the answered context set that shows relevant passages alone: its name.

    Raises:
        CannotError: says which set is not answered, and how it is added.
    """
    beside, how = answers.beside, "; add lines of that `context`, or a file: --also FILE"
    if CLOSED_BOOK not in beside:
        raise CannotError(
            f"needs the answers without passages, to the context set {CLOSED_BOOK}, beside those "
            f"to a set with noise{how}",
            code="missing-answer",
        )
    sets = [name for name in beside if name not in (CLOSED_BOOK, OWN)]
    if ORACLE in sets:
        return ORACLE
    tables = (answers.benchmark.context(name) for name in sets)
    found = [
        table.name
        for table in tables
        if all(size == len(right) for size, right in zip(table.sizes, table.relevant, strict=True))
    ]
    if not found:
        raise CannotError(
            f"needs the answers to a context set {ORACLE}, or another whose passages are all "
            f"relevant, beside those to a set with noise{how}",
            code="missing-answer",
        )
    return found[0]


def _make_lookup(answers: Answers) -> Callable[[AnswerKey], Answer | None]:
    """Make a function that finds an answer by (run, query row); an only run serves all runs."""
    by_key = {answer.key: answer for answer in answers}
    only = len(answers.runs) == 1
    return lambda key: by_key.get((0, key[1]) if only else key)


def _is_right(answer: Answer, gold: list[str]) -> bool:
    """Whether an answer's text has one of the gold short answers."""
    return AnswerText(answer.text).contains_any(gold)


def _is_right_by_authors(answer: Answer, gold: list[str]) -> bool:
    """Whether an answer's unprocessed text has a gold short answer as a substring, in any case."""
    output = answer.output.lower()
    return any(text.lower() in output for text in gold)


def _vulnerable(outcome: Outcome) -> float:
    """Return 1 if a query's answer is right, but wrong with irrelevant passages added; else 0."""
    return float(outcome.is_missing or (outcome.oracle and not outcome.mixed))


def _acceptable(outcome: Outcome) -> float:
    """Return 1 if a query's answer is right, also with irrelevant passages added; else 0."""
    return float(not outcome.is_missing and outcome.oracle and outcome.mixed)


def _insensitive(outcome: Outcome) -> float:
    """Whether a query is answered wrong without passages, and with relevant ones alone."""
    return float(outcome.is_missing or not (outcome.oracle or outcome.base))


def _misread(outcome: Outcome) -> float:
    """Whether a query is answered right without passages, wrong with relevant ones alone."""
    return float(outcome.is_missing or (outcome.base and not outcome.oracle))


MEASURES = (
    outcomes.measure(
        "MIRAGE.Vulnerable", "answers right with the right passages alone, wrong among noise",
        mean=_vulnerable, formula="1 if o = 1 and m = 0, else 0", higher_is_better=False),
    outcomes.measure(
        "MIRAGE.Acceptable", "answers right with the right passages alone and among noise",
        mean=_acceptable, formula="1 if o = m = 1, else 0"),
    outcomes.measure(
        "MIRAGE.Insensitive", "answers wrong without passages and with the right ones",
        mean=_insensitive, formula="1 if o = b = 0, else 0", higher_is_better=False),
    outcomes.measure(
        "MIRAGE.Misread", "answers right without passages, wrong with the right ones",
        mean=_misread, formula="1 if o = 0 and b = 1, else 0", higher_is_better=False),
)  # fmt: skip
