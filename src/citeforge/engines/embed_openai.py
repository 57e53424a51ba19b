"""Embeddings from an OpenAI-compatible endpoint: ``--embedder openai:MODEL``."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np

from citeforge.engines.embed import Kind, Prefixes, Vectors
from citeforge.engines.llm.budget import most_prompt_tokens
from citeforge.engines.llm.caller import Caller
from citeforge.engines.llm.options import ClientOptions, make_client
from citeforge.engines.llm.records import Failure, Request
from citeforge.schemas.errors import InputError

_BATCH = 64


class _Embedding(msgspec.Struct):
    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    data: list[_Embedding]


class OpenAiEmbedder:
    """Vectors of a served model. Finished shards are never asked for again."""

    def __init__(self, model: str, prefixes: Prefixes, options: ClientOptions) -> None:
        self.model = model
        self.prefixes = prefixes
        self.options = options

    def fingerprint(self) -> dict[str, Any]:
        return {
            "name": f"openai:{self.model}",
            "endpoint": self.options.endpoint,
            "batch_size": _BATCH,
            "query_prefix": self.prefixes.query,
            "passage_prefix": self.prefixes.passage,
        }

    def encode(self, texts: Sequence[str], kind: Kind) -> Vectors:
        """See :class:`citeforge.engines.embed.Embedder`.

        Raises:
            InputError: no key, or a call failed for good.
        """
        prefix = self.prefixes.query if kind == "query" else self.prefixes.passage
        batches = [
            [prefix + text for text in texts[start : start + _BATCH]]
            for start in range(0, len(texts), _BATCH)
        ]
        if not batches:
            return np.empty((0, 0), np.float32)
        found = np.concatenate(asyncio.run(self._all(batches)))
        norms = np.linalg.norm(found, axis=1, keepdims=True)
        unit: Vectors = (found / np.where(norms == 0, 1, norms)).astype(np.float32)
        return unit

    async def _all(self, batches: list[list[str]]) -> list[Any]:
        caller = Caller(self.options)
        gate = asyncio.Semaphore(self.options.concurrency)
        async with make_client(self.options) as client:

            async def one(batch: list[str]) -> Any:
                # Without an explicit format the SDK asks for base64, which not every server has.
                send = partial(
                    client.embeddings.with_raw_response.create,
                    model=self.model,
                    input=batch,
                    encoding_format="float",
                )
                size = most_prompt_tokens(Request(tuple(("user", t) for t in batch)))
                async with gate:
                    return await caller.call(send, partial(_read, n=len(batch)), size // 4)

            results = await asyncio.gather(*map(one, batches))
        for result in results:
            if isinstance(result, Failure):
                raise InputError(
                    f"embedding failed: {result.message}",
                    path=f"openai:{self.model}",
                    allowed="check the model, the endpoint and the key; see: citeforge doctor",
                )
        return results


def _read(body: bytes, n: int) -> Any:
    try:
        data = msgspec.json.decode(body, type=_Embeddings).data
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        return Failure("unparsable", f"the reply holds no embeddings ({str(error)[:120]})", 200)
    ordered = sorted(data, key=lambda e: e.index)
    if [e.index for e in ordered] != list(range(n)):
        return Failure("unparsable", f"the reply holds {len(data)} embeddings of {n}", 200)
    vectors = np.array([e.embedding for e in ordered], np.float64)
    if vectors.ndim != 2 or not np.isfinite(vectors).all():
        return Failure("unparsable", "the reply holds embeddings of unequal length or NaN", 200)
    return vectors
