"""What measures perplexity, and how it is named."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, Protocol

from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.store import ReplayStore
from citeforge.schemas.errors import UsageError


class Perplexity(Protocol):
    """Gives exp of the mean negative log probability of a text's tokens."""

    def identity(self) -> dict[str, Any]:
        """What manifests say of it."""
        ...

    def of(self, texts: Sequence[str]) -> list[float]:
        """Perplexities, each above 0, in order."""
        ...


def make_perplexity(
    name: str,
    training: Iterable[str],
    *,
    device: str = "auto",
    revision: str | None = None,
    options: ClientOptions | None = None,
    store: ReplayStore | None = None,
) -> Perplexity:
    """The engine of ``--perplexity``: ``ngram``, ``hf:MODEL`` or ``openai:MODEL``.

    Args:
        name: kind and argument.
        training: paragraphs that the n-gram model is trained on.
        device: of a local model.
        revision: of a Hub model.
        options: of an endpoint.
        store: where an endpoint's answers are kept.

    Raises:
        UsageError: another kind.
    """
    kind, _, argument = name.partition(":")
    if name == "ngram":
        from citeforge.engines.perplexity.ngram import NgramModel

        return NgramModel(training)
    if kind == "hf" and argument:
        from citeforge.engines.perplexity.causal import CausalModel

        return CausalModel(argument, device, revision)
    if kind == "openai" and argument:
        from citeforge.engines.perplexity.endpoint import EndpointModel

        return EndpointModel(argument, store, options or ClientOptions())
    raise UsageError(f"--perplexity {name!r}: expected ngram, hf:MODEL or openai:MODEL")


def perplexity_name(name: str) -> str:
    """Name under which the engine of ``--perplexity`` stands in manifests: a model folder's last
    part, other names as they are."""
    kind, _, argument = name.partition(":")
    return f"hf:{Path(argument).name}" if kind == "hf" else name
