"""Outcome of a design: the mix of questions that was made, and how varied they are."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt

from citeforge.builders.shares import share_with_interval
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.shown import show_percent
from citeforge.engines.text.variety import variety_stats
from citeforge.plugins.documents.design import Design
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Question
from citeforge.schemas.counts import count_key

Stats = dict[str, int | float | str]


def mix_stats(
    specs: Mapping[QuestionSpec, int],
    questions: Sequence[Question],
    declared: Mapping[str, Mapping[str, float]],
) -> Stats:
    """Compare declared shares of question forms, user groups and topics with accepted questions.

    Args:
        specs: number of questions wanted, by form, user and topic.
        questions: all questions that were written.
        declared: form, user and topic to names and their shares; none for a design without.
    """
    stats: Stats = {}
    axes = (
        ("form", "mix_of_form", _form),
        ("user", "mix_of_user", _user),
        ("topic", "mix_of_topic", _topic),
    )
    for group, key, axis in axes:
        wanted, shares = Counter[str](), declared.get(group, {})
        for spec, n in specs.items():
            wanted[axis(spec)] += n
        made = Counter(axis(q.spec) for q in questions if q.is_accepted and q.spec in specs)
        for name, share in shares.items():
            n_wanted = wanted[name]
            checks = Counter(q.check for q in questions if q.check and axis(q.spec) == name)
            text = share_with_interval(made[name], made.total())
            text += f"; declared {show_percent(share / sum(shares.values()), 1)}"
            if wanted and not n_wanted:
                text += f", too little for one of {wanted.total():,} questions"
            if made[name] < n_wanted:
                reasons = ", ".join(f"{check} {n:,}" for check, n in checks.most_common())
                text += f"; {n_wanted - made[name]:,} missing"
                # Each question that is wanted is written at least once, while passages last.
                unwritten = n_wanted - made[name] - checks.total()
                text += f", {unwritten:,} of them without a passage" if unwritten > 0 else ""
                text += f", rejected by: {reasons}" if reasons else ""
            stats[count_key(key, name)] = text
    return stats


def design_stats(design: Design) -> Stats:
    """List language of questions, and description and language per user group and question form."""
    stats: Stats = {} if design.language is None else {"design_language": design.language}
    for user in design.users:
        if text := _describe(user.description, user.language):
            stats[count_key("description_of_user", user.name)] = text
    for form in design.forms:
        if text := _describe(form.description, form.wishes.language):
            stats[count_key("description_of_form", form.name)] = text
    return stats


def _describe(description: str, language: str | None) -> str:
    """Write a description in one line, with the language of its own if there is one."""
    return " ".join([*description.split(), *([f"(language: {language})"] if language else [])])


def _form(spec: QuestionSpec) -> str:
    """Get the name of the question form, such as ``single``, in a question specification."""
    return spec.form.name


def _user(spec: QuestionSpec) -> str:
    """Get the user group's name in a question specification; "" without one."""
    return "" if spec.user is None else spec.user.name


def _topic(spec: QuestionSpec) -> str:
    """Get the topic's name in a question specification; "" without one."""
    return spec.topic or ""


def diversity_stats(questions_name: str, texts: Iterable[str], embedder: Embedder) -> Stats:
    """Compute diversity of question texts (openers, repeated runs, mean cosine), by count key.

    Args:
        questions_name: name of the questions, for the keys.
        texts: the questions.
        embedder: makes their vectors.
    """
    rows = list(texts)
    stats: Stats = {**variety_stats(questions_name, rows)}
    if len(rows) > 1:
        cosine = mean_pairwise_cosine(embedder.encode(rows, "query"))
        stats[count_key("pairwise_cosine_mean", questions_name)] = round(cosine, 3)
    return stats


def mean_pairwise_cosine(vectors: npt.ArrayLike) -> float:
    """Compute the mean cosine over all pairs of unit vectors."""
    rows = np.asarray(vectors, np.float64)
    n, total = len(rows), rows.sum(axis=0)
    return float((total @ total - (rows * rows).sum()) / (n * (n - 1)))
