"""Systems that answer benchmarks: declarations alone, which ``run`` and ``list systems`` read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from citeforge.schemas.recipes.base import Part
from citeforge.schemas.systems.attributed_ir import ATTRIBUTED_IR, KALMA
from citeforge.schemas.systems.declaration import System

_rage = partial(System, argument="", family="RAGE", paper="rage", section="4")
_hagrid = partial(
    System,
    argument="",
    family="Attributed-IR",
    paper="attributed_ir",
    section="3.2",
    shows="passages",
    is_control=True,
)
_alce = partial(System, argument="", family="ALCE", paper="alce", shows="passages")
_asking_alce = partial(_alce, llm=True, section="3.1", template="alce")
_authorship = partial(System, argument="", family="authorship", design=True)
_absent = partial(System, argument="", family="KaLMA", shows="triples", is_control=True)

PLAIN = (
    _rage(
        name="random",
        what="1 to 3 distinct passages, drawn uniformly (lower bound)",
        is_control=True,
    ),
    _rage(name="echo-relevant", what="every relevant passage (upper bound)", is_control=True),
    _hagrid(name="gold", what="HAGRID's own answers, the one that measures select"),
    _hagrid(name="all-gold", what="all of HAGRID's own answers, one a run"),
    _alce(name="top-1", what="the first passage, cited", section="D"),
    _alce(name="top-1-two-sentences", what="its first two sentences, cited", section="D"),
    _authorship(
        name="label-blind",
        is_control=True,
        what="authorship: cites relevant passages with probability .7, others with .15, whatever "
        "labels",
    ),
    _authorship(
        name="label-follower",
        is_control=True,
        what="authorship: the same without labels; .9 and .35 under the first label, .4 and .05 "
        "under the second (biased on purpose)",
    ),
    _absent(
        name="absent-blind",
        what="absent knowledge: marks facts as absent with probability .4, absent or not",
    ),
    _absent(
        name="absent-aware",
        what="absent knowledge: marks facts as absent with .9 where they are, .05 where they are "
        "not",
    ),
)
"""Systems that need no model; those of kalma benchmarks have names of these."""

ASKING = (
    _rage(
        name="rage",
        llm=True,
        shows="passages",
        template="rage",
        what="the passages and the question in one prompt, short cited sentences asked for",
    ),
    _asking_alce(name="vanilla", what="the first k passages, an instruction and worked examples"),
    _asking_alce(
        name="oracle",
        section="4.2",
        context="oracle",
        what="the same with the passages that hold the most answers (context set `oracle`)",
    ),
    _asking_alce(
        name="summ", what="summaries in place of passages, without those that do not help"
    ),
    _asking_alce(
        name="snippet", what="extracts in place of passages, without those that do not help"
    ),
    _asking_alce(
        name="interact",
        template="interact",
        what="short versions first; the model checks full texts while it writes",
    ),
    _asking_alce(
        name="inline-search",
        template="inline_search",
        what="nothing shown at first; the model searches while it writes",
    ),
    _asking_alce(
        name="closed-book",
        template="closed_book",
        what="the question alone; `--post-cite` finds citations afterwards",
    ),
    _authorship(
        name="authorship",
        paper="attrieval",
        section="3",
        llm=True,
        shows="passages",
        template="authorship",
        what="every cell of the experiment, with what it says of authors",
    ),
)
"""Systems that ask an LLM."""

SYSTEMS = (*PLAIN, *ASKING, *ATTRIBUTED_IR, *KALMA)


def system_made_by(
    name: str, factory: Callable[..., Any], options: type[Part], templates: Path
) -> System:
    """The declaration of a name with what makes it: how a built-in plugin gives a system."""
    (declared,) = (system for system in SYSTEMS if system.name == name)
    return replace(declared, factory=factory, options=options, templates=templates)
