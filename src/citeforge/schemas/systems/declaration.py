"""What is declared of a system that answers benchmarks."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from citeforge.schemas.models.choices import Choice
from citeforge.schemas.recipes.base import Part


@dataclass(frozen=True)
class System(Choice):
    """One way of answering.

    Attributes:
        factory: without an LLM, a function of (name, benchmark, context sets, runs,
            seed) to the lines of a submission; with one, of a setting to what answers a task.
        options: the class of the record of its options; None where it has none.
        family: whose it is: the name of a benchmark family.
        paper: source whose paper describes it; empty for none.
        section: place in the paper.
        llm: whether it asks an LLM.
        shows: what it is to be shown; ``any`` where it does not matter.
        design: whether it answers only the cells of an experiment.
        own: whether it brings its own passages, so that one context set, the first, will do.
        context: context set that it is about, when none is named.
        template: its main prompt, which ``--template`` replaces; empty where it has none.
        templates: of a plugin's: the folder of its Jinja files; None where it has none.
        is_control: whether it is a reference line, such as a random choice or the gold answers:
            tables show it apart and never rank it.
    """

    options: type[Part] | None = None
    family: str = ""
    paper: str = ""
    section: str = ""
    llm: bool = False
    shows: Literal["passages", "triples", "any"] = "any"
    design: bool = False
    own: bool = False
    context: str = ""
    template: str = ""
    templates: Path | None = None
    is_control: bool = False
