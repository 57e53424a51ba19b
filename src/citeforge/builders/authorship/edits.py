"""Words that a rewrite inserts, deletes or replaces where the words around them stayed.

Rewrites move phrases and exchange words. Words that the other text has nowhere, in a sentence in
which little else is new, are no other wording: they are added or lost.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence

from citeforge.builders.authorship.agreement import compile_words, read_words, word_groups
from citeforge.builders.authorship.alignment import Alignment, Edit, Sentence, find_stems
from citeforge.builders.authorship.facts import numbers_in_text
from citeforge.builders.authorship.wording import word_lists

_SMALL_WORDS = ("hedges", "connectives", "quantifiers")
"""Word groups whose words are compared by themselves: "a number of" is "many"."""
_DIGITS = re.compile(r"\d+")
_LEAST_WORDS = 2
"""New content words of an insertion; fewer may only make a sentence flow."""
_NEW = 0.7
"""Least share of new words among its content words."""
_FREEDOM = 0.5
"""Weight of words that both sentences have without counterpart, for they replace each other."""


def find_replacements(alignment: Alignment, language: str) -> Iterator[tuple[str, str]]:
    """Yield (check name, reason) of numbers, units and small words changed in their place.

    Args:
        alignment: passage and rewrite.
        language: that of the passage.
    """
    for edit in alignment.edits:
        if len(edit.old) == len(edit.new) == 1:
            old, new = edit.old[0].lower(), edit.new[0].lower()
            if check := _find_change(old, new, language):
                yield check, f"{old!r} became {new!r}"
        if len(edit.old) == 1 and (became := _find_lost_quantifier(edit, language)):
            yield "quantifiers", became
        for verb, here, there in (("lacks", edit.old, edit.new), ("adds", edit.new, edit.old)):
            if len(here) == 1 and not there and _is_hedge(here[0], edit, alignment, language):
                yield "hedges", f"{verb} {here[0].lower()!r}"


def _find_change(old: str, new: str, language: str) -> str | None:
    """Name the check that a word fails which replaces another one; None if it passes."""
    numbers = [numbers_in_text(word).allowed for word in (old, new)]
    is_counted = all(numbers) and numbers[0].isdisjoint(numbers[1])
    if is_counted or (_DIGITS.sub("", old) == _DIGITS.sub("", new) and _DIGITS.search(old)):
        return "numbers"
    units = [dict(word_lists().units.get(word, ())) for word in (old, new)]
    if any(units[0][name] != units[1][name] for name in units[0].keys() & units[1].keys()):
        return "units"
    groups = word_groups(language, "quantifiers").values()
    before, after = ({g.name for g in groups if g.find(word) == [word]} for word in (old, new))
    return "quantifiers" if before and after and before.isdisjoint(after) else None


def _find_lost_quantifier(edit: Edit, language: str) -> str | None:
    """Describe a quantifier replaced by other words: ``'only' became 'among others'``."""
    old, new = edit.old[0].lower(), " ".join(edit.new).lower()
    groups = [g for g in word_groups(language, "quantifiers").values() if g.find(old) == [old]]
    hedges = [g for g in word_groups(language, "hedges").values() if g.count([old])]
    if not new or not groups or any(group.count([new]) for group in (*groups, *hedges)):
        return None
    return f"{old!r} became {new!r}"


def _is_hedge(word: str, edit: Edit, alignment: Alignment, language: str) -> bool:
    """Whether a deleted or inserted word is a hedge that has moved to no other place."""
    sentences = alignment.before[edit.before].text, alignment.after[edit.after].text
    groups = word_groups(language, "hedges").values()
    return any(
        group.find(word) and len(group.find(sentences[0])) != len(group.find(sentences[1]))
        for group in groups
        if not group.may_add
    )


def find_insertions(alignment: Alignment, language: str) -> Iterator[str]:
    """Yield the words that a rewrite inserts into a sentence of its passage.

    Args:
        alignment: passage and rewrite.
        language: that of both texts.
    """
    sides = alignment.after, alignment.before
    for edit in alignment.edits:
        linked = alignment.sources_of(edit.after)
        if not _content(edit.old, language):
            yield from _find_new(edit.new, edit.after, sides, linked, language)


def find_new_clauses(alignment: Alignment, language: str) -> Iterator[str]:
    """Yield the dependent clauses of a rewrite all of whose content words are new.

    Args:
        alignment: passage and rewrite.
        language: that of both texts.
    """
    sides = alignment.after, alignment.before
    words = compile_words(read_words(language, "clauses", "dependent"))
    clause = re.compile(rf"[,;(—–]\s*({words.pattern}[^,;()—–]*)", re.IGNORECASE)
    for index, sentence in enumerate(alignment.after):
        linked = alignment.sources_of(index)
        for match in clause.finditer(sentence.text):
            own = match[1].split()
            yield from _find_new(own, index, sides, linked, language, is_clause=True)


def find_deletions(alignment: Alignment, language: str) -> Iterator[str]:
    """Yield the words that a rewrite deletes from a sentence of its passage.

    Args:
        alignment: passage and rewrite.
        language: that of both texts.
    """
    for edit in alignment.edits:
        linked = alignment.twins_of(edit.before)
        sides = alignment.before, alignment.after
        if not _content(edit.new, language):
            yield from _find_new(edit.old, edit.before, sides, linked, language)


def _find_new(
    words: Sequence[str],
    index: int,
    sides: tuple[list[Sentence], list[Sentence]],
    linked: list[Sentence],
    language: str,
    is_clause: bool = False,
) -> Iterator[str]:
    """Yield words of a sentence, as one text, if most of them occur less often in the other text.

    Args:
        words: words of the sentence in a row.
        index: index of the sentence in its text.
        sides: sentences of its text, and of the other text.
        linked: sentences of the other text that match it.
        language: that of both texts.
        is_clause: whether they are a clause, all of whose words have to be new.
    """
    here, there = (Counter(stem for s in side for stem in s.stems) for side in sides)
    stems = _content(words, language)
    if numbers_in_text(" ".join(words)).allowed:
        return  # numbers are compared by themselves: "six years later" is a year
    new = {s for s in stems if here[s] > there[s]}
    if len(new) < _LEAST_WORDS or len(new) < (1 if is_clause else _NEW) * len(stems):
        return
    missing = {stem for s in linked for stem in s.stems if not here[stem]}
    others = {s for s in sides[0][index].stems if not there[s]} - stems
    replaced = min(len(missing), len(others))
    if len(new) - (not is_clause) > len(missing) - replaced + _FREEDOM * replaced:
        yield " ".join(words)


def _content(words: Sequence[str], language: str) -> frozenset[str]:
    """Find the stems of content words that are no hedge, connective or quantifier."""
    text = " ".join(words)
    for category in _SMALL_WORDS:
        for group in word_groups(language, category).values():
            text = group.strict.sub(" ", text)
    return find_stems(text)
