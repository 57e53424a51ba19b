"""How a Ray cluster is reached and shared out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ClusterOptions:
    """Which cluster, and how much of it; nothing here changes a result.

    Attributes:
        address: ``HOST:PORT``; None for ``RAY_ADDRESS``, else a Ray of its own on this machine.
        workers: worker processes at most; None for one a GPU, or one a machine where there is none.
        gpus: GPUs a worker, may be a share; None for 1 where the cluster has some.
    """

    address: str | None = None
    workers: int | None = None
    gpus: float | None = None
