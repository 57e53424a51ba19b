"""Switches off each rule of the citation grammar, and compares what is read with and without it.

A rule is one alternative of a regular expression in ``schemas/citations``, a whole expression
without alternatives, or a set of signs. Expressions that only make reading fast are none.

    PYTHONPATH=src:tests python -m citation_rules FILE…

prints how many readings of the answers in JSON files each rule changes.
"""

import json
import re
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from citeforge.schemas.citations import doubt, forms, grammar, mentions, reference_list
from citeforge.schemas.citations.grammar import Grammar, Parsed

SHOWN = 10
"""Passages that each answer was shown."""
_SETS = ((doubt, ("_QUOTES", "_ENDS", "_BEHIND", "_UNITS", "_SPACED")),)
_PATTERNS: tuple[tuple[ModuleType, tuple[str, ...]], ...] = (
    (doubt, ("_SECTION", "_SCALE", "_GLUED_SCALE", "_A_SCALE", "_ARTICLE", "_FROM_ONE",
             "_IDENTIFIER", "_IN_CODE", "_PROGRAMMING", "_RING", "_COMBINED", "_YEAR", "_WIDE")),
    (forms, ("_ALL", "_PAGE", "SUSPECT", "FREE_BRACKET", "DEFINITION")),
    (grammar, ("_MATRIX", "_ENDS_CLAUSE")),
    (mentions, ("_END", "_HASH", "_SPELT", "_LOOSE", "_CELL")),
    (reference_list, ("_SINGULAR", "_ENTRY", "_SOURCE", "_OTHER_HEADING", "_PREDICATE")),
)  # fmt: skip
_NEVER = "(?!)"
_ENDS = (r"\Z", r"\n", r"[ \t]*\n", "^")
_WORD = re.compile(r"[\w\\ .?'’\[\]-]+")


@dataclass(frozen=True)
class Rule:
    """A rule that can be switched off.

    Attributes:
        name: module, name and alternative, such as ``doubt._YEAR``.
        module: its module.
        attribute: its name there.
        without: what the attribute is without it.
    """

    name: str
    module: ModuleType
    attribute: str
    without: Any


def list_rules() -> Iterator[Rule]:
    """Yield all rules of the grammar."""
    for module, names in _SETS:
        for name in names:
            yield Rule(f"{_short(module)}.{name}", module, name, frozenset())
    for module, names in _PATTERNS:
        for name in names:
            yield from _rules_of_pattern(module, name)


def _rules_of_pattern(module: ModuleType, name: str) -> Iterator[Rule]:
    """Yield a rule per alternative of a regular expression; one for it all without any."""
    value = getattr(module, name)
    source, flags = (value, 0) if isinstance(value, str) else (value.pattern, value.flags)
    for text, without in _alternatives(source):
        pattern: Any = without if isinstance(value, str) else re.compile(without, flags)
        group = re.match(r".*?\(\?P<(\w+)>", text)
        shown = f": {group[1] if group is not None else text[:40]}" if text else ""
        yield Rule(f"{_short(module)}.{name}{shown}", module, name, pattern)


def _short(module: ModuleType) -> str:
    return module.__name__.rpartition(".")[2]


def _alternatives(source: str) -> list[tuple[str, str]]:
    """List (alternative, expression without it); of nested ones, those of groups at the top."""
    parts = _split(source)
    if any(part in _ENDS for part in parts):
        return [("", _emptied(source))]  # the ends of a clause are one rule
    found: list[tuple[str, str]] = []
    for at, part in enumerate(parts):
        inner = _groups(part)
        several = [g for g in inner if len(_split(part[g[0] : g[1]])) > 1]
        is_whole = len(inner) == 1 and inner[0][1] + 1 == len(part)
        if several and (len(parts) == 1 or is_whole):
            for start, end in several:
                choices = _split(part[start:end])
                words = [c for c in choices if _WORD.fullmatch(c)]
                if len(words) > 0.7 * len(choices):  # a list of words is one rule
                    changed = part[:start] + _emptied(part[start:end]) + part[end:]
                    found.append((f"words {len(found)}", _joined(parts, at, changed)))
                    continue
                for n, choice in enumerate(choices):
                    others = _joined(choices, n, _emptied(choice))
                    changed = part[:start] + others + part[end:]
                    found.append((choice, _joined(parts, at, changed)))
        elif len(parts) > 1:
            # A group that is referred to stays: as one that never matches.
            found.append((part, _joined(parts, at, _emptied(part))))
    return found or [("", _emptied(source))]


def _joined(parts: Sequence[str], at: int, changed: str) -> str:
    return "|".join(changed if n == at else p for n, p in enumerate(parts))


def _emptied(part: str) -> str:
    """Make an expression never match; its named groups stay."""
    return f"{_NEVER}(?:{part})"


def _scan(source: str) -> Iterator[tuple[int, str, int]]:
    """Yield (offset, character, depth) of an expression outside of sets and escapes."""
    depth, at, in_set = 0, 0, False
    while at < len(source):
        c = source[at]
        if c == "\\":
            at += 2
            continue
        if in_set:
            in_set = c != "]"
        elif c == "[":
            in_set = True
            at += 1 if source[at + 1 : at + 2] == "^" else 0
            at += 1 if source[at + 1 : at + 2] == "]" else 0
        elif c == "(":
            yield at, c, depth
            depth += 1
        elif c == ")":
            depth -= 1
            yield at, c, depth
        elif c == "|":
            yield at, c, depth
        at += 1


def _split(source: str) -> list[str]:
    """Split an expression at the bars of its top."""
    cuts = [at for at, c, depth in _scan(source) if c == "|" and depth == 0]
    return [source[a + 1 : b] for a, b in zip([-1, *cuts], [*cuts, len(source)], strict=True)]


def _groups(source: str) -> list[tuple[int, int]]:
    """List the (start, end) of the insides of groups at the top, without look-arounds."""
    spans, start = [], 0
    for at, c, depth in _scan(source):
        if c == "(" and depth == 0:
            start = at
        elif c == ")" and depth == 0:
            head = re.match(r"\((?:\?:|\?P<\w+>|(?!\?))", source[start:])
            if head is not None:
                spans.append((start + head.end(), at))
    return spans


@contextmanager
def switched_off(rule: Rule) -> Iterator[None]:
    """Read without a rule."""
    kept = getattr(rule.module, rule.attribute)
    targets = [m for m in (doubt, forms, grammar, mentions, reference_list)
               if getattr(m, rule.attribute, None) is kept]  # fmt: skip
    _forget()
    for module in targets:
        setattr(module, rule.attribute, rule.without)
    try:
        yield
    finally:
        for module in targets:
            setattr(module, rule.attribute, kept)
        _forget()


def _forget() -> None:
    """Drop what the grammar keeps between answers."""
    for kept in (forms.all_forms, doubt.find_variables, doubt._is_about_programs,
                 reference_list.may_hold_list):  # fmt: skip
        kept.cache_clear()


def read_all(texts: Sequence[str]) -> list[Parsed]:
    """Read the marks of texts, as answers to ten passages."""
    return [Grammar().parse(text, SHOWN) for text in texts]


def texts_in(path: Path) -> list[str]:
    """List the texts with a digit or sign in a file of JSON or JSON lines."""
    content = path.read_text(encoding="utf-8")
    try:
        values = [json.loads(content)]
    except json.JSONDecodeError:
        values = [json.loads(line) for line in content.splitlines() if line.strip()]
    found: dict[str, None] = {}

    def visit(value: Any) -> None:
        if isinstance(value, str):
            found.setdefault(value)
        elif isinstance(value, dict | list):
            for inner in value.values() if isinstance(value, dict) else value:
                visit(inner)

    visit(values)
    return list(found)


def main(paths: Sequence[str]) -> None:
    """Print, for each rule, how many readings of each file's texts change without it."""
    sets = [texts_in(Path(path)) for path in paths]
    full = [read_all(texts) for texts in sets]
    sizes = (f"{Path(p).name} ({len(t)})" for p, t in zip(paths, sets, strict=True))
    print("rule", *sizes, sep="\t")
    for rule in list_rules():
        with switched_off(rule):
            changed = [
                sum(a != b for a, b in zip(read_all(texts), known, strict=True))
                for texts, known in zip(sets, full, strict=True)
            ]
        print(rule.name, *changed, sep="\t", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
