"""The runner of this process, from which runners that spread work over workers inherit."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar

from citeforge.engines.judge.records import Judge
from citeforge.engines.models.embedder import Embedder
from citeforge.schemas.recipes.base import Compute, Part, RunOptions

if TYPE_CHECKING:
    from citeforge.engines.retrieval.exact import FirstStage


class Runner:
    """Runs all work in this process; subclasses spread it over workers.

    Results must be those of this class, whatever else runs and however many workers there are.
    What is stored (vectors, verdicts) is written by the process that asks.

    Attributes:
        options: record of its options.
    """

    options: ClassVar[type[Part]] = Part

    def __init__(self, options: Any = None) -> None:
        """Store the runner's own options, or their defaults.

        Args:
            options: a record of the class's own ``options``; None for defaults.
        """
        self.settings = self.options() if options is None else options

    def require(self) -> None:
        """Check before any work that the runner's libraries and workers are there.

        Raises:
            CiteforgeError: a library is missing, or nothing answers.
        """

    def embedder(self, make: Callable[[], Embedder], device: str, compute: Compute) -> Embedder:
        """Make an embedder by calling ``make`` in this process; other runners call it in workers.

        The embedder of a cluster is :class:`~citeforge.engines.models.embedder.Distributed`, and
        gets all shards of a corpus at once.

        Args:
            make: loads the model; can be pickled.
            device: device of a worker; ignored here, as ``make`` knows it.
            compute: numeric format; ignored here, as ``make`` knows it.
        """
        return make()

    def judge(self, make: Callable[[], Judge], run: RunOptions) -> Judge:
        """Make a local judge by calling ``make`` here; other runners call it on their workers."""
        return make()

    def first_stage(self, device: str) -> FirstStage:
        """Get the function that searches the vectors of a corpus."""
        from citeforge.engines.retrieval.exact import retrieve_candidates

        return partial(retrieve_candidates, device=device)
