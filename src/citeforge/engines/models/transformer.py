"""Embedder of sentence-transformers models, computed by torch on this machine."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from citeforge.engines.model_files import Located, loading_errors, model_title, quiet_transformers
from citeforge.engines.models.compute import choose_compute, resolve_device
from citeforge.engines.models.embedder import Role, Vectors
from citeforge.engines.models.prefixes import Prefixes, find_prefixes
from citeforge.engines.parallel import batched, in_halves, one_thread_each
from citeforge.engines.progress import Advance
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Chosen, Compute

if TYPE_CHECKING:
    import torch
    from torch import Tensor

BATCH_SIZE = 32
_DTYPES: dict[Chosen, str] = {"fp32": "float32", "bf16": "bfloat16", "fp64": "float64"}
_WIDER: dict[Chosen, int] = {"bf16": 1, "fp32": 2, "fp64": 4}
"""Size of a number, relative to bfloat16."""
_MINILM_TOKENS = 256
"""Tokens of a text that all-MiniLM-L6-v2 reads."""
Load = Callable[[Path, str], Any]
"""Function that loads the model of a folder on a device."""


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
        """Set model, device and format; ``locate`` and ``load`` are called at the first use.

        Args:
            name: name that the user gave.
            locate: finds the model's folder.
            device: device on which it computes.
            prefixes: texts before queries and passages; None for the model's own.
            compute: numeric format.
            load: loads a folder on a device; None for sentence-transformers.
        """
        self.name = name
        self._locate = locate
        self._device = device
        self._prefixes = prefixes
        self._compute = compute
        self._load = load or _load_sentence_transformer

    @cached_property
    def _located(self) -> Located:
        """Find the files of the embedding model, once."""
        return self._locate()

    @cached_property
    def prefixes(self) -> Prefixes:
        """Texts to put before queries and passages: the user's, else the model's own."""
        return self._prefixes or find_prefixes(self.name, self._located.folder)

    @cached_property
    def device(self) -> str:
        """Device of the model; the CPU for float64, which Apple's GPUs do not support."""
        device = resolve_device(self._device)
        return "cpu" if device == "mps" and self._compute == "fp64" else device

    @cached_property
    def compute(self) -> Chosen:
        """Numeric format that the model computes in, such as bf16, set by option or device."""
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
        """Number of texts per batch; on a CPU fewer in wider formats, for equal memory."""
        return max(1, self.batch_size // (_WIDER[self.compute] if self.device == "cpu" else 1))

    @cached_property
    def _model(self) -> Any:
        """Load the embedding model in its numeric format."""
        import torch

        allowed = "a model folder or Hub id, or --embedder offline"
        with loading_errors("is not a sentence-transformers model", self.name, allowed):
            model = self._load(self._located.folder, self.device)
        return model.to(getattr(torch, _DTYPES[self.compute])).eval()

    def release(self) -> None:
        """Free the memory of the embedding model; it is loaded again when texts are encoded."""
        self.__dict__.pop("_model", None)

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Embed queries or passages (``kind``): unit vectors, one row per text, in order."""
        return self.encode_watched(texts, kind, lambda *_: None)

    def encode_watched(self, texts: Sequence[str], kind: Role, advance: Advance) -> Vectors:
        """Embed texts as ``encode`` does; call ``advance`` after every batch.

        Args:
            texts: texts to embed.
            kind: whether they are queries or passages.
            advance: takes the number of texts done.
        """
        prefix = self.prefixes.get(kind)
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
        """Tokenise texts with the model's own tokenizer: names of inputs to tensors."""
        model = self._model
        tokens: dict[str, Any] = (getattr(model, "preprocess", None) or model.tokenize)(texts)
        return tokens

    def _embed_batch(self, tokens: dict[str, Any]) -> Vectors:
        """Embed one tokenised batch, in halves if memory runs out.

        Halves have the width of the whole; the last bits of their vectors may differ from its.

        Args:
            tokens: tensors of the tokenised texts, by name.
        """
        features = {k: v for k, v in tokens.items() if hasattr(v, "to")}
        size = len(next(iter(features.values())))

        def embed_rows(rows: slice) -> Vectors:
            """Embed the texts at some rows of the tokenised batch."""
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


def _load_sentence_transformer(folder: Path, device: str) -> Any:
    """Load the sentence-transformers model of a folder onto a device."""
    from sentence_transformers import SentenceTransformer

    quiet_transformers()
    return SentenceTransformer(str(folder), device=device, local_files_only=True)


class MiniLmEncoder:
    """Encoder of all-MiniLM-L6-v2, with the methods of a sentence-transformers model.

    ``sentence_transformers`` would compute the same, and takes three seconds longer to import
    (benchmarks/results).

    Attributes:
        tokenizer: tokenizer of transformers; cuts texts at _MINILM_TOKENS.
        bert: torch module.
    """

    def __init__(self, folder: Path) -> None:
        """Load the tokenizer and weights of all-MiniLM-L6-v2 from a folder."""
        transformers = quiet_transformers()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, model_max_length=_MINILM_TOKENS, local_files_only=True
        )
        self.bert = transformers.BertModel.from_pretrained(folder, local_files_only=True)

    def to(self, placement: "torch.dtype | str") -> Self:
        """Convert the weights to a number type, or move them to a device; return the encoder."""
        self.bert = self.bert.to(placement)
        return self

    def eval(self) -> Self:
        """Turn dropout off; return the same encoder."""
        self.bert = self.bert.eval()
        return self

    def preprocess(self, texts: Sequence[str]) -> dict[str, "Tensor"]:
        """Tokenise a batch: ids and attention mask, padded to its longest text."""
        tokens = self.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        return dict(tokens)

    def __call__(self, features: dict[str, "Tensor"]) -> dict[str, "Tensor"]:
        """Compute unit vectors of a tokenised batch: the mean over its tokens, normalised."""
        import torch

        hidden = self.bert(**features).last_hidden_state
        present = features["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        wide = torch.promote_types(hidden.dtype, torch.float32)  # bfloat16 sums in float32
        total = (hidden * present).sum(dim=1, dtype=wide)
        mean = (total / present.sum(dim=1, dtype=wide)).to(hidden.dtype)
        return {"sentence_embedding": torch.nn.functional.normalize(mean, dim=1)}


def load_minilm(folder: Path, device: str) -> Any:
    """Load all-MiniLM-L6-v2 from a folder onto a device."""
    return MiniLmEncoder(folder).to(device)
