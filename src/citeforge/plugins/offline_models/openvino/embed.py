"""Embedders computed by OpenVINO: one in float32 that decides, one in int8 that nominates."""

import hashlib
from collections.abc import Callable, Sequence
from functools import cached_property
from importlib.metadata import version
from pathlib import Path
from typing import Any

from citeforge.engines.embedding.embed import TransformerEmbedder
from citeforge.engines.embedding.embedder import Kind, Vectors
from citeforge.engines.embedding.prefixes import Prefixes
from citeforge.engines.io.files import digest
from citeforge.engines.io.progress import Advance
from citeforge.engines.models.compute import cpu_has_bfloat16
from citeforge.engines.models.files import Located
from citeforge.plugins.offline_models.openvino.convert import (
    TorchModel,
    float32_model,
    int8_model,
)
from citeforge.plugins.offline_models.openvino.runtime import Compiled, engine_name, widened
from citeforge.plugins.offline_models.openvino.store import kept
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Chosen

_EXAMPLE = ("A text.", "Another text, which is longer than the first one.")
_OUTPUT = "token_embeddings"

Files = dict[str, bytes]
"""Names and contents of a converted model's files."""


def _token_vectors(module: Any, inputs: dict[str, Any]) -> Any:
    return module(inputs)[_OUTPUT]


class FastEmbedder(TransformerEmbedder):
    """A sentence-transformers model whose transformer OpenVINO computes in float32.

    Every text is a batch of its own, padded to a fixed multiple: its vector depends on nothing
    but the text. Pooling and what follows it are the model's own modules.
    """

    compute: Chosen = "int8"
    batch_size = 1

    def __init__(self, name: str, locate: Callable[[], Located], prefixes: Prefixes | None) -> None:
        super().__init__(name, locate, "cpu", prefixes, "int8")

    def computed(self) -> dict[str, Any]:
        return {**super().computed(), "engine": engine_name()}

    def quantized(self, calibration: Sequence[str]) -> "RoughEmbedder":
        """The same model in int8.

        Args:
            calibration: passages to calibrate it on.
        """
        return RoughEmbedder(self, calibration)

    @cached_property
    def source(self) -> TorchModel:
        """The model as it is to be converted.

        Raises:
            InputError: it does not begin with a transformer that reads text.
        """
        model = self._model
        first = model[0]
        if getattr(first, "module_output_name", None) != _OUTPUT:
            raise InputError(
                "does not begin with a transformer of texts",
                path=self.name,
                allowed="--compute fp32, or bf16 where the processor has it",
                code="unsupported",
            )
        example = self._tokenise(list(_EXAMPLE))
        pad = model.tokenizer.pad_token_id or 0
        return TorchModel(self._located, first, _token_vectors, example, _OUTPUT, pad)

    def _weights(self) -> Path:
        return float32_model(self.source)

    @cached_property
    def _compiled(self) -> Compiled:
        import torch

        return Compiled(self._weights(), torch.get_num_threads())

    def encode_watched(self, texts: Sequence[str], kind: Kind, advance: Advance) -> Vectors:
        advance(0, "loading the model")
        _ = self._compiled  # by this thread, before several want it
        return super().encode_watched(texts, kind, advance)

    def _embed_batch(self, tokens: dict[str, Any]) -> Vectors:
        """Unit vectors of one tokenised batch."""
        import torch

        source = self.source
        inputs = widened(tokens, source.names, source.pad)
        vectors = self._compiled(list(inputs.values()))
        features: dict[str, Any] = {k: torch.from_numpy(v) for k, v in inputs.items()}
        features[source.what] = torch.from_numpy(vectors)
        with torch.inference_mode():
            for module in list(self._model)[1:]:
                features = module(features)
            output = features["sentence_embedding"].float()
            unit: Vectors = torch.nn.functional.normalize(output, dim=1).numpy()
        return unit


class RoughEmbedder(FastEmbedder):
    """The int8 model of a :class:`FastEmbedder`; its vectors only nominate."""

    batch_size = 4

    def __init__(
        self, exact: FastEmbedder, calibration: Sequence[str], files: Files | None = None
    ) -> None:
        """Take the model in float32, and the files of one that was quantised elsewhere."""
        super().__init__(exact.name, lambda: exact._located, exact.prefixes)
        self._exact, self._texts, self._files = exact, calibration, files
        self._calibration = [self.prefixes.passage + text for text in calibration]

    def computed(self) -> dict[str, Any]:
        # What int8 leaves over; see Compiled.
        rest = "bfloat16" if cpu_has_bfloat16() else "float32"
        own = {"nncf": version("nncf"), "calibration_sha256": digest(self._calibration)}
        return {**super().computed(), **own, "rest": rest}

    def files(self) -> Files:
        """The int8 model, for where it is not to be made again."""
        return {p.name: p.read_bytes() for p in self._weights().parent.glob("int8.*")}

    def sent(self, files: Files) -> "RoughEmbedder":
        """The same with a model that was quantised elsewhere."""
        return RoughEmbedder(self._exact, self._texts, files)

    @cached_property
    def source(self) -> TorchModel:
        return self._exact.source

    @property
    def _model(self) -> Any:
        return self._exact._model

    def _weights(self) -> Path:
        files = self._files
        if files is None:
            source = self.source
            tokens = [self._tokenise([text]) for text in self._calibration]
            inputs = [[t[name].numpy() for name in source.names] for t in tokens]
            return int8_model(source, inputs, digest(self._calibration))

        def write(folder: Path) -> None:
            for name, content in files.items():
                (folder / name).write_bytes(content)

        hashes = {n: hashlib.sha256(content).hexdigest() for n, content in files.items()}
        return kept(digest({"int8": hashes}), write) / "int8.xml"
