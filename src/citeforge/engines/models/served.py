"""Perplexity and embeddings from an OpenAI-compatible endpoint."""

import hashlib
import math
import sys
from array import array
from collections.abc import Mapping, Sequence
from itertools import chain
from typing import Any

import msgspec
import numpy as np

from citeforge.engines.llm.addresses import shown_address
from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.replies import Usage
from citeforge.engines.models.embedder import Embedder, Role, Vectors
from citeforge.engines.models.prefixes import Prefixes, find_prefixes
from citeforge.engines.parallel import batched
from citeforge.schemas.recipes.base import RunOptions

_LARGEST_MEAN = 700.0
"""Largest mean negative log probability whose exponential is finite."""


def _perplexity_request(text: str) -> Request:
    """Make the request for the log probabilities of a text's own tokens."""
    params = {"prompt": text, "max_tokens": 1, "temperature": 0, "echo": True, "logprobs": 1}
    return Request((), params, needs_text=False, gets_room=False)


class _Logprobs(msgspec.Struct):
    """Log probabilities in a reply, with the offset of each token's text."""

    token_logprobs: list[float | None]
    text_offset: list[int] | None = None


class _Choice(msgspec.Struct):
    """One completion in a reply."""

    logprobs: _Logprobs | None


class _Completion(msgspec.Struct):
    """A reply of the endpoint."""

    choices: list[_Choice]
    usage: Usage | None = None


def _read_mean_surprisal(request_body: Mapping[str, Any], completion: _Completion) -> Result:
    """Read from a reply the mean negative log probability of the request's prompt tokens.

    The first token has none; generated tokens after the prompt do not count.

    Args:
        request_body: body of the request, with the prompt.
        completion: the reply.

    Returns:
        A reply whose ``numbers`` are the mean; or a failure.
    """
    logprobs = completion.choices[0].logprobs if completion.choices else None
    if logprobs is None:
        return Failure("unparsable", "the reply contains no log probabilities", 200)
    logs = logprobs.token_logprobs
    if logprobs.text_offset is not None:
        pairs = zip(logs, logprobs.text_offset, strict=False)
        logs = [p for p, offset in pairs if offset < len(request_body["prompt"])]
    else:
        logs = logs[:-1]
    defined = [p for p in logs if p is not None]
    if not defined:
        return Failure("unparsable", "the reply contains no log probabilities of the prompt", 200)
    mean = -math.fsum(defined) / len(defined)
    if not -_LARGEST_MEAN < mean < _LARGEST_MEAN:
        return Failure("unparsable", f"the reply's log probabilities have the mean {-mean:g}", 200)
    paid = (completion.usage or Usage()).paid
    return LlmReply("", *paid, numbers=array("d", [mean]).tobytes())


_COMPLETIONS = Route("perplexity", "/completions", _Completion, _read_mean_surprisal)


class ServedPerplexity:
    """Computes perplexities by the endpoint ``/completions``; replies are stored."""

    def __init__(self, model: str, store: ReplayStore | None, options: RunOptions) -> None:
        """Set the model's name, and make the client that asks the endpoint for perplexities."""
        self.model = model
        self._endpoint = Endpoint(model, store, options)

    def identity(self) -> dict[str, Any]:
        """Describe the model for manifests: its name, and the kind of request."""
        return {"name": f"openai:{self.model}", "by": "completions, echo"}

    def rehearse(self, texts: Sequence[str], tries: int = 1) -> None:
        """Record perplexity calls for texts, at most ``tries`` each, in a dry run's ledger."""
        self._endpoint.rehearse(_COMPLETIONS, [_perplexity_request(t) for t in texts], tries)

    def compute(self, texts: Sequence[str]) -> list[float]:
        """Compute the perplexity of each text, asking the endpoint unless its reply is stored.

        Raises:
            InputError: the endpoint returns no log probabilities of prompts, or cannot be reached.
            BudgetError: the next call could exceed the cost limit.
        """
        results = self._endpoint.ask(_COMPLETIONS, [_perplexity_request(t) for t in texts])
        self._endpoint.require_replies(
            _COMPLETIONS,
            results,
            "an endpoint with /completions, echo and logprobs (vLLM, llama.cpp); "
            "or --perplexity ngram",
        )
        replies = [r for r in results if isinstance(r, LlmReply)]
        return [math.exp(mean) for r in replies for mean in array("d", r.numbers or b"")]


_BATCH_SIZE = 64
_TOO_LARGE_STATUSES = (400, 413, 422)
"""HTTP statuses by which servers refuse a large batch: TEI and others take 32, 10 or 1 texts."""


def _embedding_request(texts: Sequence[str]) -> Request:
    """Make the request that embeds texts in one call."""
    # Without an explicit format the SDK asks for base64, which not every server has.
    params = {"input": list(texts), "encoding_format": "float"}
    return Request((), params, needs_text=False, gets_room=False)


class _Embedding(msgspec.Struct):
    """Embedding of one text in a reply."""

    index: int
    embedding: list[float]


class _Embeddings(msgspec.Struct):
    """A reply of the endpoint."""

    data: list[_Embedding]
    usage: Usage | None = None


def _read_embeddings(request_body: Mapping[str, Any], reply: _Embeddings) -> Result:
    """Read a request's embeddings from its reply; a Failure if some are missing, unequal or NaN.

    Args:
        request_body: body of the request, with the texts.
        reply: the reply.
    """
    n = len(request_body["input"])
    ordered = sorted(reply.data, key=lambda e: e.index)
    if [e.index for e in ordered] != list(range(n)):
        return Failure("unparsable", f"the reply contains {len(reply.data)} embeddings of {n}", 200)
    numbers = np.fromiter(chain.from_iterable(e.embedding for e in ordered), np.float64)
    if len({len(e.embedding) for e in ordered}) != 1 or not np.isfinite(numbers).all():
        return Failure("unparsable", "the reply contains embeddings of unequal length or NaN", 200)
    return LlmReply("", (reply.usage or Usage()).paid[0], numbers=numbers.tobytes())


_EMBEDDINGS = Route("embedding", "/embeddings", _Embeddings, _read_embeddings)


class ServedEmbedder:
    """Embeds texts by calls of an endpoint; replies are stored."""

    def __init__(
        self, model: str, prefixes: Prefixes | None, store: ReplayStore | None, options: RunOptions
    ) -> None:
        """Set the model's name and prefixes, and make the client of the embeddings endpoint.

        Args:
            model: name of the model.
            prefixes: texts before queries and passages; None for those of a table of known models.
            store: keeps replies.
            options: how the endpoint is reached, what it may cost.
        """
        self.model = model
        self.prefixes = prefixes or find_prefixes(model)
        self._endpoint = Endpoint(model, store, options)
        self._size = _BATCH_SIZE

    def fingerprint(self) -> dict[str, Any]:
        """Describe model, endpoint, batch size and prefixes for manifests."""
        return {
            "name": f"openai:{self.model}",
            "endpoint": shown_address(self._endpoint.options),
            "batch_size": _BATCH_SIZE,
            **self.prefixes.facts(),
        }

    def rehearse(self, texts: Sequence[str], kind: Role) -> None:
        """Record the calls that embedding texts takes, in the ledger of a dry run."""
        prefixed = [self.prefixes.get(kind) + text for text in texts]
        requests = list(map(_embedding_request, batched(prefixed, self._size)))
        self._endpoint.rehearse(_EMBEDDINGS, requests)

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Embed queries or passages as unit vectors, in order.

        Raises:
            InputError: no key, or a call failed for good.
            BudgetError: the next call could exceed the cost limit.
        """
        prefix = self.prefixes.get(kind)
        if not texts:
            return np.empty((0, 0), np.float32)
        prefixed = [prefix + text for text in texts]
        # The first batch finds the size that the endpoint accepts.
        first, rest = prefixed[: self._size], prefixed[self._size :]
        rows = [*self._ask(first), *(self._ask(rest) if rest else ())]
        vectors = np.concatenate(rows)
        norms = np.linalg.norm(vectors, axis=1, keepdims=True)
        unit: Vectors = (vectors / np.where(norms == 0, 1, norms)).astype(np.float32)
        return unit

    def _ask(self, texts: Sequence[str]) -> list[Any]:
        """Embed texts: one array per batch, in order; a batch that is too large is halved."""
        batches = batched(texts, self._size)
        results = self._endpoint.ask(_EMBEDDINGS, list(map(_embedding_request, batches)))
        left = [r for b, r in zip(batches, results, strict=True) if not _is_too_large(b, r)]
        self._endpoint.require_replies(_EMBEDDINGS, left)
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
    """Whether the endpoint refused a batch of several texts, perhaps as too large."""
    is_refused = isinstance(result, Failure) and result.status in _TOO_LARGE_STATUSES
    return is_refused and len(batch) > 1


class RehearsedEmbedder:
    """Embedder of a dry run: notes the calls of a served one, and makes vectors out of digests."""

    def __init__(self, name: str, served: Embedder | None) -> None:
        """Set up an embedder for dry runs, which records the calls that a served one would make.

        Args:
            name: of the embedder.
            served: embedder whose calls are noted if it is a served one; None or another one if it
                would compute here, which costs nothing.
        """
        self._name = name
        self._served = served if isinstance(served, ServedEmbedder) else None

    def fingerprint(self) -> dict[str, Any]:
        """Describe the dry run's embedder, whose vectors are not a model's."""
        return {"name": self._name, "rehearsed": True}

    def encode(self, texts: Sequence[str], kind: Role) -> Vectors:
        """Make a unit vector from each text's digest, for a dry run, which only counts calls."""
        if self._served is not None:
            self._served.rehearse(texts, kind)
        digests = [hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest() for text in texts]
        rows = np.frombuffer(b"".join(digests), np.uint8).reshape(len(texts), -1) / 127.5 - 1
        unit: Vectors = (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)
        return unit
