"""Embeddings from an OpenAI-compatible endpoint: ``--embedder openai:MODEL``."""

from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from citeforge.engines.embedding.embedder import Kind, Vectors
from citeforge.engines.embedding.prefixes import Prefixes
from citeforge.engines.llm.budget import estimate_prompt_tokens
from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import Failure, LlmReply, Result
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import Usage
from citeforge.engines.models.parallel import batched

_BATCH = 64
_VECTOR_BYTES = 64 << 10


@dataclass(frozen=True)
class _Batch:
    """Texts that are embedded in one call."""

    texts: tuple[str, ...]
    sample: int = 0
    most_tokens: int | None = 0

    @property
    def reply_bytes(self) -> int:
        return len(self.texts) * _VECTOR_BYTES

    def payload(self, model: str) -> dict[str, Any]:
        # Without an explicit format the SDK asks for base64, which not every server has.
        return {"model": model, "input": list(self.texts), "encoding_format": "float"}


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]
    usage: Usage | None = None


def _read(batch: _Batch, body: bytes) -> Result:
    try:
        reply = msgspec.json.decode(body, type=_Embeddings)
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Failure("unparsable", f"the reply contains no embeddings ({str(error)[:120]})", 200)
    n = len(batch.texts)
    ordered = sorted(reply.data, key=lambda e: e.index)
    if [e.index for e in ordered] != list(range(n)):
        return Failure("unparsable", f"the reply contains {len(reply.data)} embeddings of {n}", 200)
    numbers = array("d", chain.from_iterable(e.embedding for e in ordered))
    if len({len(e.embedding) for e in ordered}) != 1 or not np.isfinite(numbers).all():
        return Failure("unparsable", "the reply contains embeddings of unequal length or NaN", 200)
    usage = reply.usage or Usage(estimate_prompt_tokens(batch))
    return LlmReply("", usage.prompt_tokens, numbers=numbers)


_EMBEDDINGS: Route[_Batch] = Route("embedding", "embeddings", _read)


class OpenAiEmbedder:
    """Vectors of a served model. Finished shards are never asked for again, nor what is stored."""

    def __init__(
        self,
        model: str,
        prefixes: Prefixes,
        options: ClientOptions,
        store: ReplayStore | None = None,
    ) -> None:
        self.model = model
        self.prefixes = prefixes
        self._endpoint = Endpoint(model, store, options)

    def fingerprint(self) -> dict[str, Any]:
        return {
            "name": f"openai:{self.model}",
            "endpoint": self._endpoint.options.endpoint,
            "batch_size": _BATCH,
            **self.prefixes.facts(),
        }

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """See :class:`citeforge.engines.embedding.embedder.Embedder`.

        Raises:
            InputError: no key, or a call failed for good.
            BudgetError: the next call could pass the cost limit.
        """
        prefix = self.prefixes.of(kind)
        batches = [
            _Batch(tuple(prefix + text for text in batch)) for batch in batched(texts, _BATCH)
        ]
        if not batches:
            return np.empty((0, 0), np.float32)
        answers = self._endpoint.ask_numbers(
            _EMBEDDINGS, batches, "check the model, the endpoint and the key; see: citeforge doctor"
        )
        rows = [
            np.frombuffer(numbers, np.float64).reshape(len(batch.texts), -1)
            for batch, numbers in zip(batches, answers, strict=True)
        ]
        vectors = np.concatenate(rows)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
        return unit
