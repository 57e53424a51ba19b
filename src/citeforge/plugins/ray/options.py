"""How a Ray cluster is reached and shared out."""

from pydantic import Field

from citeforge.schemas.recipes.base import Part


class RayOptions(Part):
    """Which cluster, and how much of it; nothing here changes a result."""

    address: str | None = None
    """The cluster's HOST:PORT (default: RAY_ADDRESS, else a Ray of its own on this machine)."""
    workers: int | None = Field(None, ge=1)
    """Worker processes (default: one a GPU, or one a machine)."""
    gpus: float | None = Field(None, ge=0)
    """GPUs a worker (default: 1 where the cluster has some)."""
