"""Log probabilities of a prompt's own tokens, from an OpenAI-compatible completions endpoint.

Asked with ``echo`` as vLLM and llama.cpp answer it; chat endpoints do not give them.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import Sequence
from functools import partial
from typing import Any

import msgspec

from citeforge.engines.llm.caller import Caller
from citeforge.engines.llm.options import ClientOptions, make_client
from citeforge.engines.llm.records import Failure
from citeforge.schemas.errors import InputError


class _Logprobs(msgspec.Struct):
    token_logprobs: list[float | None]
    text_offset: list[int] | None = None


class _Choice(msgspec.Struct):
    logprobs: _Logprobs | None


class _Completion(msgspec.Struct):
    choices: list[_Choice]


class EndpointModel:
    """A model behind ``/completions``."""

    def __init__(self, model: str, options: ClientOptions) -> None:
        self.model, self.options = model, options

    def identity(self) -> dict[str, Any]:
        return {"name": f"openai:{self.model}", "by": "completions, echo"}

    def of(self, texts: Sequence[str]) -> list[float]:
        """Perplexities of texts.

        Raises:
            InputError: the endpoint gives no log probabilities of prompts, or cannot be reached.
        """
        return asyncio.run(self._all(list(texts)))

    async def _all(self, texts: list[str]) -> list[float]:
        caller = Caller(self.options)
        gate = asyncio.Semaphore(self.options.concurrency)
        async with make_client(self.options) as client:

            async def one(text: str) -> Any:
                send = partial(
                    client.completions.with_raw_response.create,
                    model=self.model,
                    prompt=text,
                    max_tokens=1,
                    temperature=0,
                    echo=True,
                    logprobs=1,
                )
                async with gate:
                    return await caller.call(send, partial(_read, size=len(text)), len(text) // 4)

            results = await asyncio.gather(*map(one, texts))
        for result in results:
            if isinstance(result, Failure):
                raise InputError(
                    f"perplexity failed: {result.message}",
                    path=f"openai:{self.model}",
                    allowed="an endpoint with /completions, echo and logprobs (vLLM, llama.cpp); "
                    "or --perplexity ngram",
                )
        return list(results)


def _read(body: bytes, size: int) -> Any:
    """Perplexity of the prompt's tokens: the first has no log probability, the generated one and
    what lies behind the prompt does not count."""
    try:
        choice = msgspec.json.decode(body, type=_Completion).choices[0]
    except (msgspec.MsgspecError, UnicodeDecodeError, IndexError) as error:
        return Failure("unparsable", f"the reply holds no completion ({str(error)[:120]})", 200)
    if choice.logprobs is None:
        return Failure("unparsable", "the reply holds no log probabilities", 200)
    found = choice.logprobs
    logs = found.token_logprobs
    if found.text_offset is not None:
        pairs = zip(logs, found.text_offset, strict=False)
        logs = [p for p, offset in pairs if offset < size]
    else:
        logs = logs[:-1]
    known = [p for p in logs if p is not None]
    if not known:
        return Failure("unparsable", "the reply holds no log probabilities of the prompt", 200)
    return math.exp(-math.fsum(known) / len(known))
