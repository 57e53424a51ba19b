"""``--perplexity openai:MODEL``: perplexity by an OpenAI-compatible completions endpoint.

Requests have ``echo``, which vLLM and llama.cpp support; chat endpoints do not return the log
probabilities of a prompt.
"""

import math
from array import array
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from citeforge.engines.llm.endpoint import Endpoint, Route
from citeforge.engines.llm.reading import Usage
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.engines.models.perplexity import PerplexitySettings

_LARGEST_MEAN = 700.0
"""Largest mean negative log probability whose exponential is finite."""


def _request(text: str) -> Request:
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


def _read(body: Mapping[str, Any], completion: _Completion) -> Result:
    """Read the mean negative log probability of the prompt's tokens from a reply.

    The first token has none; generated tokens after the prompt do not count.
    """
    logprobs = completion.choices[0].logprobs if completion.choices else None
    if logprobs is None:
        return Failure("unparsable", "the reply contains no log probabilities", 200)
    logs = logprobs.token_logprobs
    if logprobs.text_offset is not None:
        pairs = zip(logs, logprobs.text_offset, strict=False)
        logs = [p for p, offset in pairs if offset < len(body["prompt"])]
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


_COMPLETIONS = Route("perplexity", "/completions", _Completion, _read)


class EndpointModel:
    """Computes perplexities by the endpoint ``/completions``; replies are stored."""

    def __init__(self, model: str, settings: PerplexitySettings) -> None:
        """Make the client of the endpoint."""
        self.model = model
        self._endpoint = Endpoint(model, settings.store, settings.options)

    def identity(self) -> dict[str, Any]:
        """Identity of the model for manifests."""
        return {"name": f"openai:{self.model}", "by": "completions, echo"}

    def of(self, texts: Sequence[str]) -> list[float]:
        """Compute the perplexity of each text.

        Raises:
            InputError: the endpoint returns no log probabilities of prompts, or cannot be reached.
            BudgetError: the next call could exceed the cost limit.
        """
        results = self._endpoint.ask(_COMPLETIONS, [_request(t) for t in texts])
        self._endpoint.require_replies(
            _COMPLETIONS,
            results,
            "an endpoint with /completions, echo and logprobs (vLLM, llama.cpp); "
            "or --perplexity ngram",
        )
        replies = [r for r in results if isinstance(r, LlmReply)]
        return [math.exp(mean) for r in replies for mean in array("d", r.numbers or b"")]
