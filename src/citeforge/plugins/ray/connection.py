"""One connection of this process to a Ray cluster, or to a Ray of its own on this machine."""

import contextlib
import logging
import os
import socket
from pathlib import Path
from typing import Any

from citeforge.plugins.ray.options import RayOptions
from citeforge.schemas.errors import InputError, UsageError, extras_named, require

ADDRESS_VARIABLE = "RAY_ADDRESS"
_HOW = "start one with: ray start --head, or leave --ray-address out for a Ray on this machine"
_OWN: dict[str, Any] = {  # "local": else Ray takes the latest that was started on this machine
    "address": "local", "_node_ip_address": "127.0.0.1", "include_dashboard": False,
    "object_store_memory": 512 << 20,
}  # fmt: skip
"""A Ray of our own: on loopback only; what does not fit its memory goes to disk."""
_connected: list[str | None] = []


def parse_address(options: RayOptions) -> str | None:
    """Read ``HOST:PORT`` of the cluster from options or environment; None for a Ray of our own.

    Raises:
        UsageError: an address of another form.
    """
    place = options.address or os.environ.get(ADDRESS_VARIABLE) or "local"
    host, _, port = place.rpartition(":")
    if place == "local":
        return None
    if place.startswith("ray://") or not host or not port.isdigit() or not 0 < int(port) < 65536:
        source = "--ray-address" if options.address else ADDRESS_VARIABLE
        raise UsageError(
            f"{source} {place!r}: expected HOST:PORT of the cluster's head, as printed by `ray "
            "start --head` (run citeforge on a machine of the cluster; ray:// is not supported)",
            code="bad-option",
        )
    return place


def is_listening(address: str) -> bool:
    """Return whether something takes connections at ``HOST:PORT`` within 5 s."""
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError):
        socket.create_connection((host.strip("[]"), int(port)), 5).close()
        return True
    return False


def require_reachable(options: RayOptions) -> str | None:
    """Return the address of a cluster that answers; Ray is not imported.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: an address of another form.
        InputError: nothing answers there.
    """
    require("ray")
    address = parse_address(options)
    if address is not None and not is_listening(address):  # Ray itself would try for minutes
        reason = "no Ray cluster answers within 5 s"
        raise InputError(reason, path=address, allowed=_HOW, code="no-cluster")
    return address


def connect(options: RayOptions) -> Any:
    """Connect, and return the module ``ray`` with ``ray.data``.

    A Ray of our own has the cores that this process may use and sends no usage statistics; it ends
    with this process, however that ends.

    Raises:
        CiteforgeError: see :func:`require_reachable`.
        InputError: a cluster of another version, or this process is connected to another one.
    """
    address = require_reachable(options)
    if address is None:  # else Ray would listen in the network; read when Ray is imported
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    token = Path.home() / ".ray" / "auth_token"
    if token.is_file() or {"RAY_AUTH_TOKEN", "RAY_AUTH_TOKEN_PATH"} & os.environ.keys():
        os.environ.setdefault("RAY_AUTH_MODE", "token")  # as `ray start` does
    with extras_named():
        import ray
        import ray.data
    for handler in logging.getLogger("ray.data").handlers:
        if isinstance(handler, logging.StreamHandler):  # Ray's file of logs has everything
            handler.setLevel(logging.CRITICAL)
    if ray.is_initialized() and address in _connected:
        return ray
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None
    place = {"address": address} if address else {**_OWN, "num_cpus": cores}
    try:
        ray.init(**place, log_to_driver=False, logging_level="ERROR")
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        reason, path = f"cannot be used: {first_line(error)}", address or "a Ray on this machine"
        raise InputError(reason, path=path, allowed=_HOW, code="no-cluster") from error
    _connected[:] = [address]
    return ray


def first_line(error: BaseException) -> str:
    """Shorten an error of Ray, which takes pages, to at most 300 characters of one line."""
    return next((s for line in str(error).splitlines() if (s := line.strip())), repr(error))[:300]
