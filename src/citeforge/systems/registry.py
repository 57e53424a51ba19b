"""Systems by name: declarations of the built-in ones, and those of plugins."""

from dataclasses import replace
from functools import partial

from citeforge.engines.catalogue import Catalogue
from citeforge.engines.llm.own import public_name
from citeforge.engines.plugins import warn
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.systems import System
from citeforge.systems.baselines import (
    cite_by_label,
    cite_random,
    cite_relevant,
    copy_first_passage,
    copy_gold,
)
from citeforge.systems.kalma import Marks, state_gold
from citeforge.systems.nearest import copy_nearest
from citeforge.systems.one_prompt import prompt_by_kind, prompt_with_graphs, prompt_with_passages
from citeforge.systems.system_options import EditedOptions, LlmOptions

_rage = partial(System, argument="", family="RAGE", paper="rage", section="4")
_bound = partial(_rage, is_control=True)
_gold = partial(
    System, argument="", family="Attributed-IR", paper="attributed_ir", section="3.2",
    shows="passages", is_control=True,
)  # fmt: skip
_top = partial(System, argument="", family="ALCE", paper="alce", section="D", shows="passages")
_nearest = partial(System, argument="", family="line", is_control=True)
_authorship = partial(System, argument="", family="authorship", design=True)
_reader = partial(_authorship, is_control=True)
_kalma = partial(System, argument="", family="KaLMA", shows="triples")


def _declare_control(name: str, description: str, na_probabilities: Marks) -> System:
    """Declare a control system that states gold facts, and marks some as absent by chance."""
    return _kalma(
        name,
        help=description,
        factory=partial(state_gold, system_name=name, na_probabilities=na_probabilities),
        is_control=True,
    )


def _declare_own(name: str, argument_name: str, description: str) -> System:
    """Declare a system that sends built-in prompts to a user's own program or server."""
    return System(
        name, argument_name, description, prompt_by_kind, LlmOptions, family="your own", llm=True,
        template="rage authorship kalma",
    )  # fmt: skip


DECLARED = (
    _bound(
        "random",
        help="1 to 3 distinct passages, drawn uniformly (lower bound)",
        factory=cite_random,
    ),
    _bound(
        "echo-relevant",
        help="every relevant passage (upper bound of RAGE's measures)",
        factory=cite_relevant,
    ),
    _gold(
        "gold",
        help="HAGRID's own answers, the one that measures select",
        factory=partial(copy_gold, all_answers=False),
    ),
    _gold(
        "all-gold",
        help="all of HAGRID's own answers, one per run",
        factory=partial(copy_gold, all_answers=True),
    ),
    _top(
        "top-1",
        help="the first passage, cited",
        factory=partial(copy_first_passage, n_sentences=None),
    ),
    _top(
        "top-1-two-sentences",
        help="its first two sentences, cited",
        factory=partial(copy_first_passage, n_sentences=2),
    ),
    _nearest(
        "copy-nearest-1",
        help="the first sentence of the passage or triple with most words of the question, cited "
        "(the line to beat, where one is relevant)",
        factory=partial(copy_nearest, n_sources=1),
    ),
    _nearest(
        "copy-nearest-3",
        help="the first sentences of the three with most words of the question, each cited (the "
        "line to beat, where several are relevant)",
        factory=partial(copy_nearest, n_sources=3),
    ),
    _reader(
        "label-blind",
        help="authorship: cites relevant passages with probability .7, others with .15, whatever "
        "labels",
        factory=partial(cite_by_label, is_biased=False),
    ),
    _reader(
        "label-follower",
        help="authorship: the same without labels; .9 and .35 under the first label, .4 and .05 "
        "under the second (biased on purpose)",
        factory=partial(cite_by_label, is_biased=True),
    ),
    _declare_control(
        "absent-blind",
        "absent knowledge: marks facts as absent with probability .4, absent or not",
        Marks(present=0.4, absent=0.4),
    ),
    _declare_control(
        "absent-aware",
        "absent knowledge: marks facts as absent with .9 where they are, .05 where they are not",
        Marks(present=0.05, absent=0.9),
    ),
    _rage(
        "rage",
        help="the passages and the question in one prompt, short cited sentences asked for",
        factory=partial(prompt_with_passages, "rage"),
        options=EditedOptions,
        llm=True,
        shows="passages",
        template="rage",
    ),
    _authorship(
        "authorship",
        help="every cell of the experiment, with its author labels",
        factory=partial(prompt_with_passages, "authorship"),
        options=LlmOptions,
        paper="attrieval",
        section="3",
        llm=True,
        shows="passages",
        template="authorship",
    ),
    _kalma(
        "kalma",
        help="sub-graphs and one demonstration with [NA] in one prompt",
        factory=prompt_with_graphs,
        options=LlmOptions,
        paper="kalma",
        section="3.3",
        llm=True,
        context="retrieved",
        template="kalma",
    ),
    _declare_own(
        "exec",
        "COMMAND",
        "your program, as exec:COMMAND: a prompt in, an answer out",
    ),
    _declare_own(
        "http",
        "//HOST/PATH",
        "your server, as http://HOST/PATH: a POST of each prompt",
    ),
    _declare_own(
        "https", "//HOST/PATH", "your server, as https://HOST/PATH: a POST of each prompt"
    ),
)


SYSTEMS: Catalogue[Choice, None] = Catalogue("systems", "system", Choice, DECLARED)


def as_system(declared: Choice) -> System:
    """Convert a plugin's declaration to a ``System``; return a ``System`` unchanged.

    Raises:
        InputError: it has no factory.
    """
    if declared.factory is None:
        raise InputError(
            f"the system {declared.name!r} is declared without a factory",
            allowed="fix the plugin that declares it",
            code="broken-plugin",
        )
    if isinstance(declared, System):
        return declared
    return System(declared.name, "", declared.help, declared.factory, family="plugin")


def get_system(spec: str) -> System:
    """Look up a declared system by its name, such as ``rage`` or ``exec:COMMAND``.

    Raises:
        UnknownValueError: no such system.
        InputError: its plugin is broken.
    """
    name, _, argument = spec.partition(":")
    found = SYSTEMS.find(name)
    if found is None or (argument and not found.argument):
        return as_system(SYSTEMS.get(spec))  # which raises the error, or knows a name with a colon
    system = as_system(found)
    return replace(system, name=public_name(spec), asks=spec) if argument else system


def systems() -> dict[str, System]:
    """Map the names of all systems to declarations; warn of plugins' broken ones."""
    found = {}
    for name, declared in SYSTEMS.all().items():
        try:
            found[name] = as_system(declared)
        except InputError as error:
            warn(str(error))
    return found


def refusal(system: System, benchmark: Benchmark) -> str | None:
    """Explain why a system cannot answer a kind of benchmark; None if it can."""
    kind = benchmark.kind
    if reason := kind.facts.explain_refusal(f"run {system.name}"):
        return reason
    if system.shows not in ("any", kind.facts.shows):
        return f"needs {system.shows}, and {kind.name} benchmarks show {kind.facts.shows}"
    if system.design and not kind.facts.is_design:
        return f"answers the cells of an experiment, which {kind.name} benchmarks do not have"
    return None
