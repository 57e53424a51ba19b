"""How a cluster is shared out among workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from citeforge.plugins.ray.options import RayOptions
from citeforge.schemas.errors import InputError


@dataclass(frozen=True)
class Share:
    """What a pool of workers takes.

    Attributes:
        workers: at most so many.
        cpus: cores a worker; so many threads compute in it.
        gpus: GPUs a worker.
    """

    workers: int
    cpus: int
    gpus: float

    @property
    def resources(self) -> dict[str, float]:
        """What one worker asks Ray for."""
        return {"num_cpus": self.cpus, "num_gpus": self.gpus}


def share_out(options: RayOptions, device: str, nodes: Sequence[dict[str, float]]) -> Share:
    """Workers for a cluster of these machines.

    Args:
        options: what was asked for.
        device: ``cpu`` takes no GPU.
        nodes: resources of each machine, as Ray names them (``CPU``, ``GPU``).

    Raises:
        InputError: no machine can hold a worker.
    """
    with_gpu = [n for n in nodes if n.get("GPU")]
    gpus = options.gpus
    if gpus is None:
        gpus = 1.0 if with_gpu and not device.startswith("cpu") else 0.0
    if gpus:
        fitting = [n for n in with_gpu if n["GPU"] >= gpus]
        slots = [int(n["GPU"] / gpus) for n in fitting]
    else:
        fitting = [n for n in nodes if n.get("CPU", 0) >= 1]
        slots = [1 for _ in fitting]
        if options.workers is not None:
            slots = _spread(options.workers, [int(n["CPU"]) for n in fitting])
    shares = [(n, s) for n, s in zip(fitting, slots, strict=True) if s]
    if not shares:
        raise InputError(
            f"no machine of the cluster has {gpus:g} GPUs" if gpus else "no machine has a core",
            path="Ray",
            allowed="fewer --ray-gpus, or a cluster that has them (see: ray status)",
            code="no-cluster",
        )
    workers = sum(s for _, s in shares)
    if options.workers is not None:
        workers = options.workers if gpus else min(workers, options.workers)
    cpus = max(1, min(int(n.get("CPU", 1)) // s for n, s in shares))
    return Share(workers, cpus, gpus)


def _spread(workers: int, cores: list[int]) -> list[int]:
    """Workers on each machine, so that each has as many cores as can be; at least one core."""
    slots = [0] * len(cores)
    for _ in range(min(workers, sum(cores))):
        best = max(range(len(cores)), key=lambda i: cores[i] / (slots[i] + 1))
        slots[best] += 1
    return slots


def alive(ray: Any) -> list[dict[str, float]]:
    """Resources of the machines that are up."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]
