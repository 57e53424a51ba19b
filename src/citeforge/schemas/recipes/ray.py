"""Options of the runner ``--engine ray``."""

from pydantic import Field

from citeforge.schemas.recipes.base import Part


class RayOptions(Part):
    """Options of ``--engine ray``: the cluster and its workers; none changes a result."""

    address: str | None = None
    """The cluster's HOST:PORT (default: RAY_ADDRESS, else a Ray of its own on this machine)."""
    workers: int | None = Field(None, ge=1)
    """Worker processes (default: one per GPU, else one per machine)."""
