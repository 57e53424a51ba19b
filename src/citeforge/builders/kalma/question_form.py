"""Rules of form for questions that a model wrote, for both forms: no model is asked.

A question is one sentence in English that opens with a question word, names everybody that it asks
about, and states nothing.
"""

import re
from collections.abc import Collection, Iterable, Sequence

from citeforge.builders.kalma.mentions import DENIAL, find_name_words
from citeforge.builders.kalma.phrasing import find_given_away
from citeforge.builders.kalma.question_clauses import AUXILIARIES, PREPOSITIONS, AskedClause
from citeforge.builders.kalma.themes import GENERAL_WORDS
from citeforge.builders.kalma.words import OPENERS, PLAIN, fold
from citeforge.engines.text.languages import choose_language, detect_language
from citeforge.engines.text.names import mask_names
from citeforge.kg.wordings import read_wordings
from citeforge.schemas.kg import Triple

LANGUAGE = "en"
"""Language of questions: the prompts, and the words of relations, are English."""
_OTHER_LANGUAGES = ("de", "es", "fr", "it", "nl", "pt")
"""Languages that a question is compared with; any other must be recognised in it."""
MOST_CHARACTERS = 800
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
_NUMBER = re.compile(r"\d+")
_META = re.compile(
    r"\b(?:paragraphs?|passages?|excerpts?|snippets?|context|sources? above|according to|"
    r"based (?:up)?on|question|sentences?|(?:the|this|that|given|provided) (?:text|facts?|"
    r"information|article|document|statement|triples?|graph)|knowledge graph|"
    r"above(?! (?:all|the rest))|below|"
    r"(?:as )?(?:mentioned|described|stated|provided|listed|outlined|reported)|answer)\b",
    re.IGNORECASE,
)
_WHETHER = re.compile(r"\b(?:whether|is it (?:true|correct|so)|right\?|correct\?|true that)", re.I)
_TAG = re.compile(
    r",\s*(?:(?:is|was|were|are|do|did|does|had|has|have)(?:n['’]t)? (?:he|she|it|they)|"
    r"right|correct|true|yes|no|isn['’]t it)\s*\?$",
    re.IGNORECASE,
)
_PREMISE = re.compile(
    r"\b(?:after|before|following|despite|in spite of|although|though|because|since|"
    r"given (?:that|the|his|her|their)|"
    r"considering|seeing|knowing|assuming|amid|while|until|once|thanks to|due to|owing to|when "
    r"(?:he|she|they)|in (?:the )?(?:wake|light|view|aftermath) of|now that|even though|whereas|"
    r"if|unless|upon|apart from|aside from|notwithstanding|prior to|as a result of|"
    r"bearing in mind|being|as (?:X|he|she|they|one|the|a|an)|eventually|finally)\b(?! when)",
    re.IGNORECASE,
)
_RESTRICTION = re.compile(
    r"\b(?:(?:which|what|whose) (first|last|other)(?! (?:name|language))|at (?:first|last))\b",
    re.IGNORECASE,
)
"""Words by which only some of the values answer, though each is plain by itself."""
_NUMBER_ASKED = re.compile(r"\b(?:how (many|much|often|old)|at what (age))\b", re.IGNORECASE)
_COMPARISON = re.compile(
    r"\b(?:which|who|whom) of (?:X(?:,? (?:and|or) X)\b|them\b|the two\b|these\b)|\bX or X\b|"
    r"\b(earlier|older|elder|younger|longer|shorter|sooner|further|farther|better|greater|higher|"
    r"larger|bigger|richer|wealthier|more than|less than|the (?:more|less) [a-z]+)\b",
    re.IGNORECASE,
)
"""Words that ask which of the two, or which of several, is more."""
_VERBS = AUXILIARIES | {"became", "made", "led", "brought"}
_SPOKEN = frozenset({"I"})


def find_form_fault(
    question: str,
    form: str,
    names: Sequence[str],
    clauses: Sequence[AskedClause],
    allowed_words: frozenset[str],
    choices: Collection[AskedClause],
    shown: Sequence[Triple],
    gold: Sequence[Triple],
    link: Triple | None = None,
) -> str | None:
    """Describe a fault in a question's syntax or in what it states; None if there is none.

    Args:
        question: its text.
        form: ``specific`` or ``general``.
        names: entities that it must name.
        clauses: its clauses.
        allowed_words: words by which its gold facts are asked for, in lower case.
        choices: clauses that let a gold fact be chosen: ``was it a natural or a violent death``.
        shown: triples that it may rest on.
        gold: facts that it asks for, whose values it must not say.
        link: fact that connects two entities, which it may state.
    """
    masked = mask_names(question, {*names, *(t.name for t in shown)})
    masked = mask_names(masked, {word for name in names for word in find_name_words(name)})
    return (
        _find_shape_fault(question, masked, form)
        or _find_unnamed(question, names)
        or _find_foreign_language(masked)
        or _find_statement(masked, allowed_words, [c for c in clauses if c not in choices])
        or _find_other_answer(masked, allowed_words)
        or _find_untrue_bond(masked, link)
        or _find_value(masked, allowed_words, gold)
        or _find_unknown_claim(masked, allowed_words, shown)
        or _find_repetition(clauses)
    )


def _find_shape_fault(question: str, masked: str, form: str) -> str | None:
    """Say why a question is not one sentence with a question word in front; None if it is.

    Args:
        question: its text.
        masked: the same with a placeholder in place of each name.
        form: ``specific`` or ``general``.
    """
    if not question.endswith("?"):
        return "is no question"
    if masked.count("?") > 1:
        return "has more than one question mark"
    if len(question) > MOST_CHARACTERS:
        return f"is longer than {MOST_CHARACTERS} characters"
    n_words = len(question.split())
    if form == "general" and n_words > GENERAL_WORDS:
        return f"is longer than {GENERAL_WORDS} words: {n_words}"
    words = _WORD.findall(masked.lower())
    opener = next((i for i, w in enumerate(words) if w not in PREPOSITIONS), len(words))
    if opener > 2 or words[opener : opener + 1] == [] or words[opener] not in OPENERS:
        return f"does not open with a question word: {' '.join(words[:3])!r}"
    if re.search(r"[.!:]\s|[\n()\[\]{}*#•]|\s[-–—]\s|—", masked[:-1]):
        return "is not one sentence"
    if match := _META.search(masked):
        return f"talks of a text or of itself: {match[0]!r}"
    if _WHETHER.search(masked) or _TAG.search(masked):
        return "can be answered by yes or no"
    return None


def _find_unnamed(question: str, names: Iterable[str]) -> str | None:
    """Say which entity a question does not name ("A and B Curie" names both); None if all are."""
    known = list(names)
    for name in known:
        if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", question):
            continue
        first, _, shared = name.rpartition(" ")
        others = "|".join(re.escape(o) for o in known if o != name and o.endswith(f" {shared}"))
        if not (
            first and others and re.search(rf"\b{re.escape(first)} and (?:{others})", question)
        ):
            return f"does not name {name!r}"
    return None


def _find_foreign_language(masked: str) -> str | None:
    """Say which language a text is in, where that is sure and not the questions' language."""
    text = re.sub(r"\bX(?:['’]s)?\b", "", masked)
    others = (*_OTHER_LANGUAGES, detect_language(text))
    found = choose_language(text, LANGUAGE, filter(None, others))
    return f"is in another language: {found}" if found not in (None, LANGUAGE) else None


def _find_statement(
    masked: str, allowed_words: frozenset[str], clauses: Sequence[AskedClause]
) -> str | None:
    """Say which words of a question deny or state something, or ask for yes or no; or None."""
    for pattern, reason in ((DENIAL, "denies something"), (_PREMISE, "states a premise")):
        for match in pattern.finditer(masked):
            if not {*_WORD.findall(match[0].lower())} <= allowed_words:
                return f"{reason}: {match[0]!r}"
    if restriction := _RESTRICTION.search(masked):
        is_worded = restriction[1] == "other" and "other" in allowed_words  # "other relatives"
        if not is_worded:
            return f"states a premise: {restriction[0]!r}"
    for clause in clauses:
        words = [t.text for t in clause.tokens]
        first = next((w for w in words if w not in PREPOSITIONS), "")
        if first in AUXILIARIES and clause.tokens[0].text == first:
            return f"can be answered by yes or no: {clause.text!r}"
        if _has_statement_order(clause):
            return f"has the order of a statement: {clause.text!r}"
        if (
            len(words) > 2
            and clause.tokens[-1].qids
            and words[-2] in ("did", "does", "do", "had", "has", "have")
        ):
            return f"breaks off: {clause.text!r}"
        for i, word in enumerate(words[:-1]):
            is_verb = word in AUXILIARIES and i and words[i - 1] in ("and", "or", ",")
            if is_verb and clause.tokens[i + 1].qids and i > 1 and words[i - 2] not in OPENERS:
                return f"can be answered by yes or no: {word!r}"
    return None


def _find_other_answer(masked: str, allowed_words: frozenset[str]) -> str | None:
    """Say that a question wants a number or a comparison, where no gold fact is one; or None."""
    match = _NUMBER_ASKED.search(masked)
    if match and (match[1] or match[2]).lower() not in allowed_words:
        return f"asks for a number: {match[0]!r}"
    for match in _COMPARISON.finditer(masked):
        if not match[1] or not {*match[1].lower().split()} <= allowed_words:
            return f"asks for a comparison: {match[0]!r}"
    return None


def _find_untrue_bond(masked: str, link: Triple | None) -> str | None:
    """Say which bond of two entities a question states though another one connects them; or None.

    ``the marriage of A and B`` is right for spouses only.
    """
    for noun, relations in read_wordings().bonds.items():
        is_true = link is not None and link.relation in relations
        if not is_true and re.search(rf"\b{noun} (?:of|between) X and X\b", masked, re.IGNORECASE):
            return f"states a premise: {noun!r}"
    return None


def _has_statement_order(clause: AskedClause) -> bool:
    """Whether an entity is between a question word and its verb: ``where Ada was born``.

    In "which of Ada's works is" and "who of the pupils of Ada was" it belongs to the question word.
    """
    words = [t.text for t in clause.tokens]
    at = next((i for i, t in enumerate(clause.tokens) if t.qids), len(words))
    opener = next((i for i, w in enumerate(words[:at]) if w in OPENERS), None)
    if opener is None or words[opener] == "whose" or not {*words[opener:at]}.isdisjoint(_VERBS):
        return False
    return words[at - 1] not in PREPOSITIONS and not AUXILIARIES.isdisjoint(words[at:])


def _find_value(masked: str, allowed_words: frozenset[str], gold: Sequence[Triple]) -> str | None:
    """Say which gold value, or word of one, a question gives away; None if it gives none."""
    if (leak := find_given_away(masked, gold)) is not None:
        return f"gives away {leak.relation}: {leak.value}"
    own = {fold(w) for w in allowed_words | PLAIN}
    said = {(fold(w.lower()), w[0].isupper()) for w in _WORD.findall(masked)}
    for triple in (t for t in gold if not t.precision):
        for word in _WORD.findall(triple.value):
            stem = fold(word.lower())
            if len(word) > 3 and stem not in own and (stem, word[0].isupper()) in said:
                return f"says a word of an answer: {word!r}"
    return None


def _find_unknown_claim(
    masked: str, allowed_words: frozenset[str], shown: Sequence[Triple]
) -> str | None:
    """Say which number or name a question states that no shown triple has; or None."""
    if match := _NUMBER.search(masked):
        return f"states a number: {match[0]!r}"
    own = {fold(w) for w in allowed_words}
    known = {w for t in shown for v in (t.value, t.relation) for w in _WORD.findall(v)}
    for match in list(_WORD.finditer(masked))[1:]:
        word = re.sub(r"['’]s$", "", match[0])
        low = word.lower()
        fits = word in known or low in allowed_words or word in _SPOKEN or fold(low) in own
        if word[0].isupper() and word != "X" and not fits:
            return f"states what no triple says: {word!r}"
    return None


def _find_repetition(clauses: Sequence[AskedClause]) -> str | None:
    """Say which clause a question repeats about the same entities; None if it repeats none."""
    known: list[tuple[object, frozenset[str]]] = []
    for clause in clauses:
        key = (clause.bag, frozenset(clause.qids))
        if key in known:
            return f"asks twice: {clause.text!r}"
        known.append(key)
    return None
