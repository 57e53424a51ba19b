"""Declarations of systems that answer benchmarks, and checks of their names."""

import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from citeforge.schemas.catalogue import Choice
from citeforge.schemas.invisible import is_invisible
from citeforge.schemas.lookalikes import latin_letters
from citeforge.schemas.recipes.base import Part

_PAPERS = {
    "rage": "RAGE",
    "alce": "ALCE",
    "attributed_ir": "Attributed-IR",
    "kalma": "KaLMA",
    "attrieval": "AttriEval",
}
"""Name of the method of each paper, by the paper's short name."""


@dataclass(frozen=True)
class System(Choice):
    """Declaration of a system that answers benchmarks.

    Attributes:
        factory: without an LLM, a function of (benchmark, context sets, runs, seed) to the lines
            of a submission; with one, of a setting to what answers a task.
        options: the class of the record of its options.
        family: whose it is: the name of a benchmark family.
        paper: source whose paper describes it; empty for none.
        section: section of the paper.
        llm: whether it asks an LLM.
        shows: what it is to be shown; ``any`` where it does not matter.
        design: whether it answers only the cells of an experiment.
        own: whether it brings its own passages, so that one context set, the first, will do.
        context: context set that it is about, when none is named.
        asks: LLM that it always asks; empty where ``--llm`` names one.
        template: its main prompt, which ``--template`` replaces, or several by blanks; empty where
            it has none.
        templates: of a plugin's: the folder of its Jinja files; None where it has none.
        is_control: whether it is a reference line, such as a random choice or the gold answers:
            tables show it apart and never rank it.
    """

    factory: Callable[..., Any]
    options: type[Part] = Part
    family: str = ""
    paper: str = ""
    section: str = ""
    llm: bool = False
    shows: Literal["passages", "triples", "any"] = "any"
    design: bool = False
    own: bool = False
    context: str = ""
    asks: str = ""
    template: str = ""
    templates: Path | None = None
    is_control: bool = False

    @property
    def where(self) -> str:
        """Paper and section that describe the system; empty if there is none."""
        paper = _PAPERS.get(self.paper, self.paper)
        return f"{paper}, {self.section}" if paper and self.section else paper


LONGEST = 200
"""Characters of a name."""
_MOST_MARKS = 2
"""Accents on one character; more of them cover the lines above and below."""
_FORBIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs")
"""Categories of control, bidi and zero-width characters, and of spaces other than the usual one."""
_STROKES = str.maketrans("I1|0", "lllO")


def name_problem(name: str) -> str | None:
    """Describe what is wrong with the name of a system; None if nothing is."""
    if not name.strip():
        return "is empty"
    if len(name) > LONGEST:
        return f"has {len(name):,} characters; a name has {LONGEST} at most"
    marks = 0
    for character in name:
        category = unicodedata.category(character)
        if is_invisible(character) or (category in _FORBIDDEN and character != " "):
            label = unicodedata.name(character, "a control character")
            return f"{name!a} contains the invisible character U+{ord(character):04X} ({label})"
        marks = marks + 1 if category in ("Mn", "Me") else 0
        if marks > _MOST_MARKS:
            return f"{name!a} has more than {_MOST_MARKS} accents on one character"
    if name != " ".join(name.split()):
        return f"{name!r} begins or ends with a space, or has two in a row"
    return None


def find_lookalike(name: str, others: Iterable[str]) -> str | None:
    """Find the first of some names that looks like a given one; None if there is none."""
    looks = _shape_keys(name)
    return next((other for other in others if other != name and looks & _shape_keys(other)), None)


def _shape_keys(name: str) -> frozenset[str]:
    """Compute keys of a name by letters and by shape (``rn`` as ``m``); look-alikes share one."""
    letters = latin_letters(name)
    strokes = letters.translate(_STROKES).replace("rn", "m")
    return frozenset((f"letters {letters.casefold()}", f"strokes {strokes}"))
