"""Checks of questions that need no model, and the names of all checks in their order."""

import re
from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from rapidfuzz.fuzz import token_sort_ratio

from citeforge.builders.authorship.facts import bare_words, words_and_signs
from citeforge.builders.authorship.wording import split_tokens, word_lists
from citeforge.engines.text.languages import choose_language, detect_language, stop_words
from citeforge.plugins.documents.design import PAIR, SEED, Design
from citeforge.plugins.documents.form_rules import find_form_fault
from citeforge.plugins.documents.questions import Evidence, Question, contains_answer
from citeforge.plugins.documents.wishes import Length, Terms
from citeforge.schemas.matching.answers import AnswerText, is_answer
from citeforge.schemas.matching.tokens import ARTICLES, separate_signs

FORMAT = "format"
FORM = "form"
QUOTE = "quote"
COPY = "copy"
GIVEAWAY = "giveaway"
KIND = "kind of answer"
POINTER = "pointer"
LANGUAGE = "language"
LENGTH = "length"
TERMS = "terms"
DIFFICULTY = "difficulty"
STATEMENT = "statement"
REPEAT = "repeat"
ENTAILED = "entailed"
ANSWERED = "answered with evidence"
CLOSED_BOOK = "closed book"
HALVES = "both passages needed"
ALONE = "one other passage"
UNCLEAR = "which document"
NEEDED = "evidence needed"
NOT_ABSENT = "not answered elsewhere"
PERSON = "a person"
SEED_COPY = "copy of a seed"
NO_EVIDENCE = "seed without evidence"
CHECKS = (
    FORMAT, FORM, QUOTE, COPY, GIVEAWAY, KIND, POINTER, LANGUAGE, LENGTH, TERMS, STATEMENT,
    SEED_COPY, REPEAT,
    ENTAILED, ANSWERED, CLOSED_BOOK, HALVES, DIFFICULTY, ALONE, UNCLEAR, NEEDED, NOT_ABSENT,
    PERSON, NO_EVIDENCE,
)  # fmt: skip
"""In the order in which they are made; a question is rejected by the first that it fails."""
_INSTRUCTIONS = "en"
"""Language of the built-in prompts."""
_SAME_QUESTION_RATIO = 90
"""rapidfuzz's token_sort_ratio from which two questions ask the same."""
_NUMBER_WITH_WORD = re.compile(r"\d[\d.,]*\s*([^\W\d_]{2,})\.?")
_YEAR = re.compile(r"(?:(since|in|from)\s+)?(?:the year\s+)?(?:1\d{3}|20\d{2})")
_DURATION = re.compile(
    r"\bhow old\b|\bhow long (?:ago|has|have|had|did|does|do)\b|\bhow long (?:was|were)\b.*ed\b"
)
"""Questions for a time; "How long is the bridge" may have 1500 for an answer."""
_POINTERS = re.compile(
    r"\b(?:the|this|these|above|given) (?:passage|text|excerpt|paragraph|document|article)s?\b"
    r"|\b(?:dem|diesem|im|laut) (?:text|abschnitt|absatz|dokument|auszug)\b"
    r"|\b(?:le|ce|du|cet|l') ?(?:texte|passage|document|extrait|paragraphe)\b"
    r"|\b(?:el|este|del) (?:texto|pasaje|documento|párrafo|fragmento)\b"
    r"|\b(?:mentioned|described|stated) (?:above|here)\b",
    re.I,
)


def check_text(question: Question, max_copied_words: int, design: Design | None = None) -> None:
    """Mark a question as rejected if its text breaks a rule (copied words, wrong language, …).

    It keeps the rule of its form; its quotes have to be in the evidence; it copies no long run of
    words from there, gives no answer away, has an answer of the kind that is asked for, and refers
    to nothing that is not shown; languages agree; and the statement has the answers and names what
    is asked.

    Args:
        question: the question.
        max_copied_words: most words in a row that may be those of the evidence.
        design: language, length and terms that are wanted; None for no wishes.
    """
    if fault := find_form_fault(question):
        question.reject(FORM, fault)
        return
    if not _check_quotes(question):
        return
    runs = (_shared_run(question.text, e.text) for e in question.evidence)
    shared = max(runs, key=_count_words)
    facts = [] if question.is_polar else question.answers
    wishes = question.spec.merge_wishes(design or Design())
    if (n_shared := _count_words(shared)) > max_copied_words:
        question.reject(COPY, f"takes {n_shared:g} words in a row: {' '.join(shared)!r}")
    elif leaks := [a for a in (*facts, *question.aliases) if _contains_answer(question.text, a)]:
        question.reject(GIVEAWAY, f"gives the answer {leaks[0]!r} away")
    elif kind := _find_kind_fault(question):
        question.reject(KIND, kind)
    elif pointer := _find_pointer(question):
        question.reject(POINTER, f"refers to something that is not shown: {pointer!r}")
    elif languages := _language_mismatch(question, wishes.language):
        question.reject(LANGUAGE, languages)
    elif length := _find_length_fault(question.text, wishes.length):
        question.reject(LENGTH, length)
    elif term := _find_term_fault(question, wishes.terms):
        question.reject(TERMS, term)
    elif lacking := [a for a in facts if not contains_answer(question.statement, a)]:
        question.reject(STATEMENT, f"the statement lacks the answer {lacking[0]!r}")
    elif question.answers and not _statement_matches(question):
        reason = f"the statement says nothing of the question: {question.statement!r}"
        question.reject(STATEMENT, reason)


def _statement_matches(question: Question) -> bool:
    """Whether a question of three words or more shares one with its statement; else True."""
    words = set(AnswerText(question.text).main) - ARTICLES
    return len(words) < 3 or any(map(AnswerText(question.statement).has, words))


def _check_quotes(question: Question) -> bool:
    """Whether a question's quotes are in its evidence (of a pair, in both); if not, reject it."""
    texts = [_compared_form(e.text) for e in question.evidence]
    quoted: set[int] = set()  # indexes of the texts with a quote
    for quote in question.quotes:
        form = _compared_form(quote)
        at = next((i for i, text in enumerate(texts) if form and form in text), None)
        if at is None:
            question.reject(QUOTE, f"is not in the evidence: {quote!r}")
            return False
        quoted.add(at)
    if question.base == PAIR and len(quoted) < len(texts):
        question.reject(QUOTE, "quotes one passage of two")
        return False
    return True


def _shared_run(question: str, passage: str) -> list[str]:
    """Find the longest run of words that a question copies from a passage."""
    one, two = words_and_signs(question), words_and_signs(passage)
    match = SequenceMatcher(None, one, two, autojunk=False).find_longest_match()
    return one[match.a : match.a + match.size]


def _count_words(words: Sequence[str]) -> float:
    """Count words; a character of a script without spaces counts as half a word."""
    signs = sum(separate_signs(word) != word for word in words)
    return len(words) - signs / 2


def _contains_answer(text: str, answer: str) -> bool:
    """Whether a text contains all words of an answer, in any order."""
    read, words = AnswerText(text), set(AnswerText(answer).main) - ARTICLES
    return read.contains(answer) or (bool(words) and all(map(read.has, words)))


def _find_kind_fault(question: Question) -> str | None:
    """Describe how an answer's kind mismatches "how many" or "how long"; None if it fits.

    Kilograms are no number of bells, and a year is no duration: "since 2012" is graded against "14
    years". A question that names a unit of the answer's kind may have any such answer: "How many
    miles" has "120 metres".
    """
    asked, units = question.text.lower(), word_lists().units
    named = {kind for word in split_tokens(asked) for kind, _ in units.get(word, ())}
    for answer in question.answers:
        said = answer.strip(" .,;:!").lower()
        year = _YEAR.fullmatch(said)
        match = _NUMBER_WITH_WORD.fullmatch(said)
        kinds = {kind for kind, _ in units.get(match[1], ())} if match else set()
        if match and re.search(r"\bhow many\b", asked) and kinds and kinds.isdisjoint(named):
            return f"the question asks for no number of {match[1]}: {answer!r}"
        is_long = re.search(r"\bhow long\b", asked) if year and year[1] else None
        if year and not named and (is_long or _DURATION.search(asked)):
            return f"the answer is a year: {answer!r}"
    return None


def _find_pointer(question: Question) -> str | None:
    """Find a reference such as "the passage" in a question's text; None if there is none."""
    texts = " ".join(e.text for e in question.evidence).lower()
    pointers = (m[0] for m in _POINTERS.finditer(question.text))
    return next((words for words in pointers if words.lower() not in texts), None)


def _language_mismatch(question: Question, expected: str | None) -> str | None:
    """Describe how a question is not in the expected language; None if it is.

    Args:
        question: the question.
        expected: language of questions; None for that of the evidence.
    """
    if question.spec.form.name == SEED:  # a user's own is in the language of users
        return None
    right = expected or detect_language(question.evidence[0].text)
    found = None if right is None else _find_language(question, right)
    if found in (None, right):
        return None
    return f"is {found}; " + (f"wanted: {expected}" if expected else f"the passage is {right}")


def _find_language(question: Question, expected: str) -> str | None:
    """Detect the language of question and statement: the expected one, another, or None.

    Writers that do not keep to the right language write in the passage's or in that of the
    instructions; whatever else a text surely is in is compared too.
    """
    found = None
    likely = [detect_language(question.evidence[0].text), _INSTRUCTIONS]
    for text in filter(None, (question.statement, question.text)):
        others = [name for name in (*likely, detect_language(text)) if name is not None]
        found = choose_language(text, expected, others)
        if found not in (None, expected):
            break
    return found


def is_language_clear(question: Question, design: Design) -> bool:
    """Whether it is clear that a question is in the right language; a user's own always is."""
    if question.spec.form.name == SEED:
        return True
    wanted = question.spec.merge_wishes(design).language
    right = wanted or detect_language(question.evidence[0].text)
    return right is not None and _find_language(question, right) == right


def _find_length_fault(text: str, length: Length | None) -> str | None:
    """Describe how a question has too few or too many words; None if it does not."""
    n = len(AnswerText(text).main)
    if length is None or length.least <= n <= length.most:
        return None
    return f"has {n} words; wanted: {length.least} to {length.most}"


def _find_term_fault(question: Question, terms: Terms) -> str | None:
    """Describe a forbidden term in a question, or a missing one; None if its terms are right."""
    if avoided := [t for t in terms.avoid if _has_term(question.text, t, re.I)]:
        return f"has the term {avoided[0]!r}"
    quoted = " ".join(question.quotes)
    written = " ".join([question.text, *question.answers, question.statement])
    kept = (t for t in terms.keep if _has_term(quoted, t, re.I) and not _has_term(written, t))
    return next((f"lacks the term {term!r}, which is quoted" for term in kept), None)


def _has_term(text: str, term: str, flags: int = 0) -> bool:
    """Whether a text contains a term, as whole words."""
    edges = (
        r"(?<![^\W_])" if term[0].isascii() else "",
        r"(?![^\W_])" if term[-1].isascii() else "",
    )
    return re.search(f"{edges[0]}{re.escape(term)}{edges[1]}", text, flags) is not None


def fits_passage(question: Question, passage: Evidence, reply: str) -> bool:
    """Whether a question also fits a passage of another document, whose answer is ``reply``.

    The passage contains the reply, and every word of the question that the evidence has, except
    words that any text may have. A question without such words, or in another language than its
    evidence, whose words are then translated, tells nothing.

    Args:
        question: a question with evidence.
        passage: passage of another document.
        reply: answer that a reader found in the passage alone; none of the right ones.
    """
    other = AnswerText(f"{passage.title}\n{passage.text}")
    own = [AnswerText(f"{e.title}\n{e.text}") for e in question.evidence]
    asked, written = map(detect_language, [question.text, question.evidence[0].text])
    common = ARTICLES | stop_words(asked or "en")
    words = [w for w in AnswerText(question.text).main if w not in common]
    named = [w for w in words if any(text.has(w) for text in own)]
    can_tell = bool(named) and (asked is None or written is None or asked == written)
    return can_tell and other.contains(reply) and all(map(other.has, named))


def reject_repeats(questions: Sequence[Question], earlier: Iterable[Question]) -> None:
    """Reject questions that repeat an earlier question or each other.

    A repetition has nearly the same words, and the same names, numbers and answers.
    """
    forms = [(_compared_form(q.text), q) for q in earlier]
    for question in questions:
        form = _compared_form(question.text)
        for other_form, other in forms:
            if token_sort_ratio(
                form, other_form, score_cutoff=_SAME_QUESTION_RATIO
            ) and _have_same_facts(question, other):
                question.reject(REPEAT, f"repeats {other.id}: {other.text!r}")
                break
        else:
            forms.append((form, question))


def reject_seed_copies(questions: Iterable[Question], seeds: Iterable[str]) -> None:
    """Reject questions whose words and names are nearly those of a user's seed question."""
    forms = [(_compared_form(seed), seed) for seed in seeds]
    for question in questions:
        form = _compared_form(question.text)
        for other, seed in forms:
            is_alike = token_sort_ratio(form, other, score_cutoff=_SAME_QUESTION_RATIO)
            if is_alike and _name_words(question.text) == _name_words(seed):
                question.reject(SEED_COPY, f"copies a seed: {seed!r}")
                break


def _compared_form(text: str) -> str:
    """Normalise a question or quote for comparison: words without punctuation."""
    return " ".join(bare_words(text.replace("’", "'")))


def _have_same_facts(first: Question, second: Question) -> bool:
    """Whether two questions contain the same names and numbers, and have the same answers."""
    return _name_words(first.text) == _name_words(second.text) and all(
        is_answer(answer, other.answers)
        for own, other in ((first, second), (second, first))
        for answer in own.answers
    )


def _name_words(question: str) -> set[str]:
    """Find the words of a question with a capital or a digit, except its first word."""
    words = question.split()[1:]
    return {w.strip("?.,") for w in words if any(c.isupper() or c.isdigit() for c in w)}
