"""Embeddings from an OpenAI-compatible endpoint: ``--embedder openai:MODEL``."""

import sys
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.options import shown_address
from citeforge.engines.llm.reading import Usage
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.embedder import Kind, Vectors
from citeforge.engines.models.parallel import batched
from citeforge.engines.models.prefixes import Prefixes
from citeforge.schemas.recipes.base import RunOptions

_BATCH = 64
_TOO_LARGE = (400, 413, 422)
"""Statuses by which servers refuse a batch: TEI and others take 32, 10 or 1 texts."""
_ADVICE = "check the model, the endpoint and the key; see: citeforge doctor"


def _request(texts: Sequence[str]) -> Request:
    """Make the request that embeds texts in one call."""
    # Without an explicit format the SDK asks for base64, which not every server has.
    params = {"input": list(texts), "encoding_format": "float"}
    return Request((), params, needs_text=False)


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]
    usage: Usage | None = None


def _read(body: Mapping[str, Any], reply: _Embeddings) -> Result:
    """Read the embeddings of a reply; a failure if some are missing or unequal."""
    n = len(body["input"])
    ordered = sorted(reply.data, key=lambda e: e.index)
    if [e.index for e in ordered] != list(range(n)):
        return Failure("unparsable", f"the reply contains {len(reply.data)} embeddings of {n}", 200)
    numbers = np.fromiter(chain.from_iterable(e.embedding for e in ordered), np.float64)
    if len({len(e.embedding) for e in ordered}) != 1 or not np.isfinite(numbers).all():
        return Failure("unparsable", "the reply contains embeddings of unequal length or NaN", 200)
    return LlmReply("", (reply.usage or Usage()).paid[0], numbers=numbers.tobytes())


_EMBEDDINGS = Route("embedding", "/embeddings", _Embeddings, _read)


class OpenAiEmbedder:
    """Embeds texts by an endpoint; finished shards and stored replies are not asked again."""

    def __init__(
        self,
        model: str,
        prefixes: Prefixes,
        options: RunOptions,
        store: ReplayStore | None = None,
    ) -> None:
        self.model = model
        self.prefixes = prefixes
        self._endpoint = Endpoint(model, store, options)
        self._size = _BATCH

    def fingerprint(self) -> dict[str, Any]:
        return {
            "name": f"openai:{self.model}",
            "endpoint": shown_address(self._endpoint.options),
            "batch_size": _BATCH,
            **self.prefixes.facts(),
        }

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """See :class:`citeforge.engines.models.embedder.Embedder`.

        Raises:
            InputError: no key, or a call failed for good.
            BudgetError: the next call could pass the cost limit.
        """
        prefix = self.prefixes.of(kind)
        if not texts:
            return np.empty((0, 0), np.float32)
        prefixed = [prefix + text for text in texts]
        # The first batch tells the size of the others.
        first, rest = prefixed[: self._size], prefixed[self._size :]
        rows = [*self._ask(first), *(self._ask(rest) if rest else ())]
        vectors = np.concatenate(rows)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
        return unit

    def _ask(self, texts: Sequence[str]) -> list[Any]:
        """Embed texts: one array per batch, in order; a batch that is too large is halved."""
        batches = batched(texts, self._size)
        results = self._endpoint.ask(_EMBEDDINGS, list(map(_request, batches)))
        left = [r for b, r in zip(batches, results, strict=True) if not _is_too_large(b, r)]
        self._endpoint.require_replies(_EMBEDDINGS, left, _ADVICE)
        rows: list[Any] = []
        for batch, result in zip(batches, results, strict=True):
            if isinstance(result, LlmReply):
                numbers = np.frombuffer(result.numbers or b"", np.float64)
                rows.append(numbers.reshape(len(batch), -1))
                continue
            half = len(batch) // 2
            if half < self._size:
                self._size = half
                sys.stderr.write(
                    f"openai:{self.model} refuses {len(batch)} texts at once; "
                    f"sends at most {half} from now on\n"
                )
            rows += self._ask(batch)
        return rows


def _is_too_large(batch: Sequence[str], result: Result) -> bool:
    is_refused = isinstance(result, Failure) and result.status in _TOO_LARGE
    return is_refused and len(batch) > 1
