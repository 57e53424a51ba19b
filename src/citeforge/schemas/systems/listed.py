"""Systems that answer benchmarks: declarations alone, which ``run`` and ``list systems`` read."""

from __future__ import annotations

from typing import Any

from citeforge.schemas.systems.attributed_ir import ATTRIBUTED_IR, KALMA
from citeforge.schemas.systems.declaration import System


def _absent(name: str, what: str) -> System:
    return System(name, "", f"absent knowledge: {what}", family="KaLMA", shows="triples",
                  is_control=True)  # fmt: skip


PLAIN = (
    System(
        "random",
        "",
        "1 to 3 distinct passages, drawn uniformly (lower bound)",
        family="RAGE",
        paper="rage",
        section="4",
        is_control=True,
    ),
    System(
        "echo-relevant",
        "",
        "every relevant passage (upper bound)",
        family="RAGE",
        paper="rage",
        section="4",
        is_control=True,
    ),
    System(
        "gold",
        "",
        "HAGRID's own answers, the one that measures select",
        family="Attributed-IR",
        paper="attributed_ir",
        section="3.2",
        shows="passages",
        is_control=True,
    ),
    System(
        "all-gold",
        "",
        "all of HAGRID's own answers, one a run",
        family="Attributed-IR",
        paper="attributed_ir",
        section="3.2",
        shows="passages",
        is_control=True,
    ),
    System(
        "top-1",
        "",
        "the first passage, cited",
        family="ALCE",
        paper="alce",
        section="D",
        shows="passages",
    ),
    System(
        "top-1-two-sentences",
        "",
        "its first two sentences, cited",
        family="ALCE",
        paper="alce",
        section="D",
        shows="passages",
    ),
    System(
        "label-blind",
        "",
        "authorship: cites relevant passages with probability .7, others with .15, whatever labels",
        family="authorship",
        design=True,
        is_control=True,
    ),
    System(
        "label-follower",
        "",
        "authorship: the same without labels; .9 and .35 under the first label, .4 and .05 under "
        "the second (biased on purpose)",
        family="authorship",
        design=True,
        is_control=True,
    ),
    _absent("absent-blind", "marks facts as absent with probability .4, absent or not"),
    _absent("absent-aware", "marks facts as absent with .9 where they are, .05 where they are not"),
)
"""Systems that need no model; those of kalma benchmarks have names of these."""


def _asking(name: str, what: str, family: str, section: str, **more: Any) -> System:
    paper = {"RAGE": "rage", "ALCE": "alce", "authorship": "attrieval"}[family]
    return System(
        name,
        "",
        what,
        family=family,
        paper=paper,
        section=section,
        llm=True,
        shows="passages",
        **more,
    )


ASKING = (
    _asking(
        "rage",
        "the passages and the question in one prompt, short cited sentences asked for",
        "RAGE",
        "4",
        template="rage",
    ),
    _asking(
        "vanilla",
        "the first k passages, an instruction and worked examples",
        "ALCE",
        "3.1",
        template="alce",
    ),
    _asking(
        "oracle",
        "the same with the passages that hold the most answers (context set `oracle`)",
        "ALCE",
        "4.2",
        template="alce",
        context="oracle",
    ),
    _asking(
        "summ",
        "summaries in place of passages, without those that do not help",
        "ALCE",
        "3.1",
        template="alce",
    ),
    _asking(
        "snippet",
        "extracts in place of passages, without those that do not help",
        "ALCE",
        "3.1",
        template="alce",
    ),
    _asking(
        "interact",
        "short versions first; the model checks full texts while it writes",
        "ALCE",
        "3.1",
        template="interact",
    ),
    _asking(
        "inline-search",
        "nothing shown at first; the model searches while it writes",
        "ALCE",
        "3.1",
        template="inline_search",
    ),
    _asking(
        "closed-book",
        "the question alone; `--post-cite` finds citations afterwards",
        "ALCE",
        "3.1",
        template="closed_book",
    ),
    _asking(
        "authorship",
        "every cell of the experiment, with what it says of authors",
        "authorship",
        "3",
        template="authorship",
        design=True,
    ),
)
"""Systems that ask an LLM."""

SYSTEMS = (*PLAIN, *ASKING, *ATTRIBUTED_IR, *KALMA)
