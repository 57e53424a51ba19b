"""What measures perplexity, and how it is named."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.models.perplexity.ngram import NgramModel
from citeforge.engines.registry import Registry, expected
from citeforge.schemas.models.choices import PERPLEXITY as CHOICES
from citeforge.schemas.models.choices import Choice


class Perplexity(Protocol):
    """Gives exp of the mean negative log probability of a text's tokens."""

    def identity(self) -> dict[str, Any]:
        """What manifests say of it."""
        ...

    def of(self, texts: Sequence[str]) -> list[float]:
        """Perplexities, each above 0, in order."""
        ...


@dataclass(frozen=True)
class PerplexitySettings:
    """What an engine is made with, besides its argument.

    Attributes:
        training: paragraphs that the n-gram model is trained on.
        device: of a local model.
        revision: of a Hub model.
        options: how an endpoint is reached.
        store: where its answers are kept.
    """

    training: Iterable[str]
    device: str = "auto"
    revision: str | None = None
    options: ClientOptions = field(default_factory=ClientOptions)
    store: ReplayStore | None = None


def make_perplexity(name: str, training: Iterable[str], **settings: Any) -> Perplexity:
    """The engine of ``--perplexity``: one of PERPLEXITY, or a plugin's.

    Args:
        name: name and argument.
        training: paragraphs that the n-gram model is trained on.
        settings: further fields of :class:`PerplexitySettings`.

    Raises:
        UsageError: another name.
        InputError: a broken plugin.
    """
    return PERPLEXITY.make(name, PerplexitySettings(training, **settings))


def perplexity_name(name: str) -> str:
    """Name under which the engine of ``--perplexity`` stands in manifests: a model folder's last
    part, other names as they are."""
    return f"hf:{Path(name).name}" if name.startswith("hf:") else name


PERPLEXITY: Registry[Choice, Perplexity] = Registry(
    "perplexity model",
    "perplexity",
    CHOICES,
    {"ngram": lambda settings: NgramModel(settings.training)},
    "identity of",
    expected("--perplexity", CHOICES),
)
