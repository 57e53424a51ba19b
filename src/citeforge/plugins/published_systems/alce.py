"""Declarations of ALCE's systems, which the entry points load."""

from functools import partial
from pathlib import Path

from citeforge.plugins.published_systems.alce_options import (
    AlceOptions,
    CondensedOptions,
    InteractOptions,
    SearchOptions,
    ShotOptions,
)
from citeforge.plugins.published_systems.alce_prompts import (
    closed_book,
    condensed_passages,
    vanilla,
)
from citeforge.plugins.published_systems.interact import inline_search, interact
from citeforge.schemas.recipes.systems import System

_alce = partial(
    System, argument="", family="ALCE", paper="alce", section="3.1", llm=True, shows="passages",
    template="alce", templates=Path(__file__).parent / "templates",
)  # fmt: skip
VANILLA = _alce(
    "vanilla",
    help="the first k passages, an instruction and worked examples",
    factory=vanilla,
    options=AlceOptions,
)
ORACLE = _alce(
    "oracle",
    help="the same with the passages that hold the most answers (context set `oracle`)",
    factory=vanilla,
    options=AlceOptions,
    section="4.2",
    context="oracle",
)
SUMM = _alce(
    "summ",
    help="summaries in place of passages, without those that do not help",
    factory=partial(condensed_passages, "summary"),
    options=CondensedOptions,
)
SNIPPET = _alce(
    "snippet",
    help="extracts in place of passages, without those that do not help",
    factory=partial(condensed_passages, "snippet"),
    options=CondensedOptions,
)
INTERACT = _alce(
    "interact",
    help="short versions first; the model checks full texts while it writes",
    factory=interact,
    options=InteractOptions,
    template="interact",
)
INLINE_SEARCH = _alce(
    "inline-search",
    help="nothing shown at first; the model searches while it writes",
    factory=inline_search,
    options=SearchOptions,
    template="inline_search",
)
CLOSED_BOOK = _alce(
    "closed-book",
    help="the question alone; `--post-cite` finds citations afterwards",
    factory=closed_book,
    options=ShotOptions,
    template="closed_book",
)
