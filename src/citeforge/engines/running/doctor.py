"""Checks of the installation, in plain lines with what to type next."""

import os
import platform
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from citeforge.engines.event_loop import run_async
from citeforge.engines.model_files import http_errors
from citeforge.engines.shown import show_amount
from citeforge.engines.textfiles import count_text
from citeforge.schemas.errors import (
    EXTRAS,
    CiteforgeError,
    InputError,
    cpu_install,
    install_command,
    require,
)
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.version import __version__

_SECONDS = 5.0


@dataclass(frozen=True)
class Finding:
    """Result of one check of the installation.

    Attributes:
        what: its name.
        good: whether it is there; None when it is absent, False when it is there and unusable.
        text: result in words.
        advice: command to type next, if any.
    """

    what: str
    good: bool | None
    text: str
    advice: str = ""


def examine(run: RunOptions, store: Path | None, ask_network: bool) -> list[Finding]:
    """Check libraries, models, cache, endpoint, Hub and store; return one finding each.

    Args:
        run: its endpoint (None for the environment's) and its cache of vectors.
        store: replay store to open for reading.
        ask_network: whether the Hub and the endpoint are asked.
    """
    findings = [
        Finding("citeforge", True, f"{__version__} on Python {platform.python_version()}"),
        *_check_libraries(),
        *_check_models(),
        _check_cache(run),
        *_check_endpoint(run.base_url, ask_network),
        _check_embedded_llm(),
    ]
    if ask_network:
        findings.append(_check_hub())
    if store is not None:
        findings.append(_check_store(store))
    findings.append(
        Finding("next", True, "try: citeforge build demo --out demo, or citeforge list sources")
    )
    return findings


def _check_libraries() -> Iterator[Finding]:
    """Report which optional libraries are installed."""
    for name in ("torch", "transformers", "sentence-transformers", "datasets", "spacy", "ray"):
        try:
            yield Finding(name, True, version(name))
        except PackageNotFoundError:
            extra, _ = EXTRAS[name.replace("-", "_")]
            advice = install_command(extra)
            yield Finding(name, None, "not installed; scores need none", advice)
    try:
        import faiss
    except ImportError:
        text = "FAISS is not installed; building needs it"
        advice = "pip install 'citeforge[cpu]' (or 'citeforge[gpu]', not both)"
        yield Finding("vector search", None, text, advice)
    else:
        gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
        yield Finding("vector search", True, f"FAISS {faiss.__version__}, {gpus} GPUs")


def _check_models() -> Iterator[Finding]:
    """Report whether the offline embedder works, and on which device models run."""
    from citeforge.engines.models.compute import MANY_PASSAGES, choose_compute
    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import OFFLINE, make_embedder

    try:
        make_embedder(OFFLINE, EmbedderSettings(device="cpu")).fingerprint()
        yield Finding("offline embedder", True, "all-MiniLM-L6-v2, weights verified")
    except CiteforgeError as error:
        yield Finding("offline embedder", None, str(error), install_command("offline"))
    try:
        import torch
    except ImportError:
        yield Finding("device", None, "unknown: torch is not installed")
        return
    has_gpu = torch.cuda.is_available()
    if torch.version.cuda is not None and not has_gpu:
        yield Finding(
            "torch for GPUs", True,
            f"built for CUDA {torch.version.cuda}, of which this machine has no GPU: "
            "it works, and takes gigabytes that are not used",
            f"in a new environment: {cpu_install('build,cpu,offline')}",
        )  # fmt: skip
    device = torch.cuda.get_device_name(0) if has_gpu else f"CPU, {os.cpu_count()} cores"
    kind = "float32"
    if choose_compute("auto", "cuda" if has_gpu else "cpu") == "bf16":
        kind = f"bfloat16 from {MANY_PASSAGES} passages per query on, with fewer in float32"
    yield Finding("device", True, f"{device}; --compute auto embeds in {kind}")


def _check_cache(run: RunOptions) -> Finding:
    """Report the folder, size and limit of the cache of vectors that run options choose."""
    from citeforge.engines.models.vector_cache import VARIABLE, open_cache

    cache = open_cache(run)
    if cache is None:
        return Finding("vector cache", None, f"off ({VARIABLE}): each build embeds all passages")
    size = cache.size() / 10**6
    text = (
        f"{cache.root}: {show_amount(size, 1)} MB of at most {run.cache_size:g} GB (--cache-size)"
    )
    return Finding("vector cache", True, text)


def _check_endpoint(address: str | None, ask_network: bool) -> Iterator[Finding]:
    """Report whether a key is set and, if asked, whether the LLM endpoint answers."""
    from citeforge.engines.keys import KEY_VARIABLE, api_key
    from citeforge.engines.llm.addresses import base_url

    options = RunOptions(base_url=address, timeout=_SECONDS, max_retries=0)
    url, key = base_url(options), api_key()
    text, advice = f"{KEY_VARIABLE} is not set", ""
    if key:
        text = f"{KEY_VARIABLE} is set (never shown)"
    elif url:
        text += "; local endpoints need none"
    else:
        advice = (
            f"export {KEY_VARIABLE}=…, or --base-url of a local server; "
            "--judge lexical, --llm offline and --llm replay:FILE need neither"
        )
    yield Finding("LLM key", True if key else None, text, advice)
    if not ask_network:
        return
    if not url and not key:
        yield Finding("LLM endpoint", None, "none configured")
        return
    from citeforge.engines.llm.transport import list_models

    try:
        models = run_async(list_models(options))
    except InputError as error:
        yield Finding(
            "LLM endpoint", None, f"does not answer ({error.message})", error.allowed or ""
        )
    else:
        names = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
        yield Finding("LLM endpoint", True, f"answers; {len(models)} models: {names}")


def _check_embedded_llm() -> Finding:
    """Report whether the offline LLM (SmolLM2) is installed and its weights are whole."""
    from citeforge.engines.llm.smollm import INSTALL, MODEL, gguf_file

    try:
        for module in ("transformers", "gguf", "accelerate"):
            require(module)
        gguf_file()
    except CiteforgeError as error:
        return Finding("offline LLM", None, str(error), INSTALL)
    return Finding("offline LLM", True, f"{MODEL}, weights verified (for trials, not results)")


def _check_hub() -> Finding:
    """Report whether the Hugging Face Hub answers."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return Finding("Hugging Face Hub", None, "switched off by HF_HUB_OFFLINE")
    try:
        get_session().head(constants.ENDPOINT, timeout=_SECONDS)
    except http_errors() as error:
        reason = type(error).__name__
        advice = "name local folders (beir:, hagrid:, hf:FOLDER) and --embedder offline"
        return Finding("Hugging Face Hub", None, f"does not answer ({reason})", advice)
    return Finding("Hugging Face Hub", True, "answers")


def _check_store(path: Path) -> Finding:
    """Report how many answers a replay store has."""
    from citeforge.engines.llm.replay import ReplayStore

    try:
        with ReplayStore(path, readonly=True) as opened:
            stats = opened.stats()
    except InputError as error:
        return Finding("store", False, str(error))
    return Finding(
        "store",
        True,
        f"{count_text(stats.answers, 'answer')}, {count_text(stats.failures, 'failure')}",
    )
