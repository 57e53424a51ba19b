"""``--engine ray``: embeds, searches and judges with workers of a Ray cluster."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from citeforge.engines.judge.records import Judge
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.running.ray_cluster import require_reachable
from citeforge.engines.running.runner import Runner
from citeforge.schemas.recipes.base import Compute, RunOptions
from citeforge.schemas.recipes.ray import RayOptions

if TYPE_CHECKING:
    from citeforge.engines.retrieval.exact import FirstStage


class RayRunner(Runner):
    """Runs models and vector search in the workers of a Ray cluster."""

    options = RayOptions
    settings: RayOptions

    def require(self) -> None:
        """Refuse to start when Ray is not installed or the cluster does not answer."""
        require_reachable(self.settings.address)

    def embedder(self, make: Callable[[], Embedder], device: str, compute: Compute) -> Embedder:
        """Make an embedder whose model ``make`` loads in workers of the cluster."""
        from citeforge.engines.running.ray_work import ClusterEmbedder

        return ClusterEmbedder(make, device, self.settings)

    def judge(self, make: Callable[[], Judge], run: RunOptions) -> Judge:
        """Make a judge whose model ``make`` loads in workers of the cluster."""
        from citeforge.engines.running.ray_work import ClusterJudge

        return ClusterJudge(make, run.device, self.settings, run.batch_size)

    def first_stage(self, device: str) -> FirstStage:
        """Make the function that searches shards of vectors in the cluster."""
        from citeforge.engines.running.ray_work import search_shards

        return partial(search_shards, self.settings, device)
