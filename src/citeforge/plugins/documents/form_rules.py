"""Rules that the texts of a question have to keep because of its form."""

import re
from collections.abc import Callable

from rapidfuzz.distance import OSA

from citeforge.builders.authorship.facts import bare_words
from citeforge.plugins.documents.polar import is_one, polar_words
from citeforge.plugins.documents.questions import Question
from citeforge.schemas.matching.answers import AnswerText
from citeforge.schemas.matching.tokens import ARTICLES

_LEAST_WORDS_OF_A_MEANING = 3
_MOST_KEYWORDS = 8
_MOST_MISSPELLED, _MOST_EDITS = 3, 2
"""Most words that a misspelled question changes, and most letters of each."""
_SHORTEST_NAME = 4
"""Least characters of a word by which two passages are linked or told apart."""


def find_form_fault(question: Question) -> str | None:
    """Describe how a question breaks its form's rule (such as ``list``); None if it keeps it."""
    rule = _RULES.get(question.spec.form.check)
    return None if rule is None else rule(question)


def _check_number(question: Question) -> str | None:
    """Describe a "number" question's fault: an answer without a numeral; None if fine."""
    (answer,) = question.answers
    return None if any(map(str.isnumeric, answer)) else f"the answer has no number: {answer!r}"


def _check_polar(question: Question) -> str | None:
    """Describe a "yes/no" question's fault: an answer that is neither; None if fine."""
    (answer,) = question.answers
    words = polar_words(f"{question.text} {question.statement}")
    is_polar = any(is_one(answer, some) for some in words)
    return None if is_polar else f"the answer is neither yes nor no: {answer!r}"


def _check_meaning(question: Question) -> str | None:
    """Describe a "definition" question's fault: too short an answer; None if fine."""
    (answer,) = question.answers
    n = len(AnswerText(answer).main)
    if n >= _LEAST_WORDS_OF_A_MEANING:
        return None
    return f"the answer has {n} of at least {_LEAST_WORDS_OF_A_MEANING} words: {answer!r}"


def _check_steps(question: Question) -> str | None:
    """Describe a "procedure" question's fault: steps missing or out of order; None if fine."""
    text = " ".join(bare_words(question.statement))
    places = [text.find(" ".join(bare_words(step))) for step in question.answers]
    if -1 in places:
        return f"the statement lacks the step {question.answers[places.index(-1)]!r}"
    return None if places == sorted(places) else "the statement has the steps in another order"


def _check_premise(question: Question) -> str | None:
    """Describe a "premise" question's fault: no premise or quote, or no shared word, or None."""
    if not question.quotes or not question.premise:
        return f"has no line with {'Premise' if question.quotes else 'Quote'}"
    words = set(AnswerText(question.text).main) - ARTICLES
    if any(map(AnswerText(question.premise).has, words)):
        return None
    return f"the premise has no word of the question: {question.premise!r}"


def _check_keywords(question: Question) -> str | None:
    """Describe a "search" question's fault: not 2 to 8 keywords; None if fine."""
    n = len(AnswerText(question.text).main)
    if re.search("[?？؟;]", question.text):
        return f"is a sentence, not a search: {question.text!r}"
    if 2 <= n <= _MOST_KEYWORDS:
        return None
    return f"has {n} words; a search has 2 to {_MOST_KEYWORDS}"


def _check_misspelled(question: Question) -> str | None:
    """Describe a fault: no corrected question, or not 1 to 3 words misspelt; None if fine."""
    wrong, right = bare_words(question.text), bare_words(question.corrected)
    if not right:
        return "has no line with Corrected"
    if len(wrong) != len(right):
        return f"differs in more than spelling from {question.corrected!r}"
    changed = [(one, two) for one, two in zip(wrong, right, strict=True) if one != two]
    if not changed:
        return "no word is misspelled"
    if len(changed) > _MOST_MISSPELLED:
        return f"misspells {len(changed)} words; at most {_MOST_MISSPELLED}"
    far = [pair for pair in changed if OSA.distance(*pair) > _MOST_EDITS]
    return f"{far[0][0]!r} is another word than {far[0][1]!r}" if far else None


def _check_bridge(question: Question) -> str | None:
    """Describe a "bridge" question's fault: passages not linked, or the link named, or None."""
    shared = set.intersection(*(_long_words(quote) for quote in question.quotes[:2]))
    if not shared:
        return "the two quotes have no word in common that links them"
    if shared - _long_words(question.text):
        return None
    return f"names what links the passages: {', '.join(sorted(shared))}"


def _check_comparison(question: Question) -> str | None:
    """Describe a "comparison" question's fault: it does not name both things; None if fine."""
    one, two = (_long_words(f"{e.title} {e.text}") for e in question.evidence)
    asked = _long_words(question.text)
    if asked & (one - two) and asked & (two - one):
        return None
    return "does not name both things that it compares"


def _long_words(text: str) -> set[str]:
    """Find the words of a text that have at least four characters."""
    return {word for word in bare_words(text) if len(word) >= _SHORTEST_NAME}


_RULES: dict[str, Callable[[Question], str | None]] = {
    "number": _check_number,
    "yes/no": _check_polar,
    "definition": _check_meaning,
    "procedure": _check_steps,
    "premise": _check_premise,
    "search": _check_keywords,
    "misspelled": _check_misspelled,
    "bridge": _check_bridge,
    "comparison": _check_comparison,
}
"""Rule of a form, by the name that :class:`~citeforge.plugins.documents.design.Form` has for it."""
