"""Rounds of questions: as many as are still wanted, until there are enough or no more tries."""

from collections.abc import Iterator, Sequence

from citeforge.engines.io.progress import progress
from citeforge.plugins.documents.asker import PromptedLlm
from citeforge.plugins.documents.checks import CHECKS, FORMAT, check_text, reject_repeats
from citeforge.plugins.documents.questions import Evidence, Question, read_question
from citeforge.plugins.documents.recipe import PAIR, DocumentsRecipe
from citeforge.plugins.documents.trials import Trials

_PARTNERS = 12
"""Nearest passages among which the other one of a pair is looked for."""


def make_questions(recipe: DocumentsRecipe, trials: Trials) -> list[Question]:
    """All questions that were written, accepted or not, in order.

    Args:
        recipe: how many of which form.
        trials: what they must stand.
    """
    made: list[Question] = []
    order = iter(trials.passages.order)
    written = dict.fromkeys(recipe.wanted, 0)
    while fresh := _drawn(recipe, made, written, order, trials):
        with progress("asking for questions", len(fresh), "questions") as advance:
            _write(fresh, trials.asker)
            advance(len(fresh))
        for question in fresh:
            if question.is_open:
                check_text(question, recipe.asking.longest_copy)
        reject_repeats([q for q in fresh if q.is_open], [q for q in made if q.is_open])
        trials.run(fresh)
        made += fresh
    return made


def _drawn(
    recipe: DocumentsRecipe,
    made: Sequence[Question],
    written: dict[str, int],
    order: Iterator[str],
    trials: Trials,
) -> list[Question]:
    """Questions of the next round, with their evidence and nothing more."""
    drawn: list[tuple[str, str]] = []
    for form, wanted in recipe.wanted.items():
        accepted = sum(q.form == form and q.is_open for q in made)
        n = min(wanted - accepted, recipe.asking.tries * wanted - written[form])
        batch = [(form, name) for _, name in zip(range(n), order, strict=False)]
        written[form] += len(batch)
        drawn += batch
    texts = trials.passages.texts([name for _, name in drawn])
    partners = _partners([texts[name] for form, name in drawn if form == PAIR], trials)
    questions: list[Question] = []
    for form, name in drawn:
        evidence: tuple[Evidence, ...] = (texts[name],)
        if form == PAIR:
            if name not in partners:
                continue
            evidence = (texts[name], partners[name])
        questions.append(Question(f"q{len(made) + len(questions) + 1}", form, evidence))
    return questions


def _partners(passages: Sequence[Evidence], trials: Trials) -> dict[str, Evidence]:
    """A passage near each, of another heading or file if there is one near it."""
    ranked = trials.search.rank({p.id: p.text for p in passages}, _PARTNERS)
    partners = {}
    for name, hits in ranked.items():
        others = [r.docid for r in hits if r.docid != name]
        apart = [other for other in others if not trials.passages.are_together(name, other)]
        if others:
            partners[name] = (apart or others)[0]
    texts = trials.passages.texts(list(partners.values()))
    return {name: texts[other] for name, other in partners.items()}


def _write(questions: Sequence[Question], asker: PromptedLlm) -> None:
    replies = asker.ask([asker.to_write(q) for q in questions])
    for question, reply in zip(questions, replies, strict=True):
        if reply.failure:
            question.reject(FORMAT, f"no reply ({reply.failure})")
        elif wrong := read_question(reply.text, question):
            question.reject(FORMAT, wrong)


def tally(recipe: DocumentsRecipe, questions: Sequence[Question]) -> dict[str, int]:
    """How many questions were written, taken by each check, accepted and missing."""
    counts = {"questions written": len(questions)}
    for check in CHECKS:
        if n := sum(q.check == check for q in questions):
            counts[f"questions taken by the check: {check}"] = n
    for form, wanted in recipe.wanted.items():
        accepted = sum(q.form == form and q.is_open for q in questions)
        counts[f"questions accepted: {form}"] = accepted
        if accepted < wanted:
            counts[f"questions wanted and not made: {form}"] = wanted - accepted
    return counts
