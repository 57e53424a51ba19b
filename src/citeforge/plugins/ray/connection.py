"""One connection of this process to a Ray cluster, or to a Ray of its own on this machine."""

import contextlib
import os
import socket
from pathlib import Path
from typing import Any

from citeforge.plugins.ray.options import RayOptions
from citeforge.schemas.errors import InputError, UsageError, extras_named, require

ADDRESS_VARIABLE = "RAY_ADDRESS"
STORE_BYTES = 512 << 20
"""Memory for what is on its way between processes of a Ray of our own; more goes to disk."""
_ANSWER_SECONDS = 5.0
_HOW = "start one with: ray start --head, or leave --ray-address out for a Ray on this machine"

_connected: dict[str, str | None] = {}


def require_reachable(options: RayOptions) -> None:
    """Stop before work is done that a cluster is needed for later; Ray is not imported.

    Raises:
        MissingExtraError: Ray is not installed.
        UsageError: an address of another form.
        InputError: nothing answers there.
    """
    require("ray")
    address = address_of(options)
    # Ray itself would go on trying for minutes, and end the process then.
    if address is not None and not is_listening(address):
        raise InputError(
            f"no Ray cluster answers within {_ANSWER_SECONDS:g} s", path=address, allowed=_HOW,
            code="no-cluster"
        )  # fmt: skip


def connect(options: RayOptions) -> Any:
    """The module ``ray``, connected.

    A Ray of our own has the cores that this process may use, listens on loopback only, has no
    dashboard and sends no usage statistics; it ends with this process, however that ends.

    Raises:
        MissingExtraError: Ray is not installed.
        InputError: no cluster answers there, or one of another version.
    """
    address = address_of(options)
    if address is None or _is_on_loopback_only(address):
        # Read when Ray is imported: it would take this machine's address in its network otherwise.
        os.environ.setdefault("RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER", "0")
    os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
    if _has_token():
        # As `ray start` does; a cluster without tokens does not look at it.
        os.environ.setdefault("RAY_AUTH_MODE", "token")
    with extras_named():
        import ray
    if ray.is_initialized():
        connected = _connected.get("address", address)
        if connected != address:
            raise UsageError(
                f"this process is connected to {connected or 'a Ray of its own'} already; "
                "one process works with one cluster",
                code="conflicting-options",
            )
        return ray
    quiet = {"log_to_driver": False, "logging_level": "ERROR"}
    require_reachable(options)
    try:
        if address is None:
            ray.init(
                address="local",  # else the latest that somebody started here is taken
                num_cpus=len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else None,
                include_dashboard=False,
                object_store_memory=STORE_BYTES,
                _node_ip_address="127.0.0.1",
                **quiet,
            )
        else:
            ray.init(address=address, **quiet)
    except (ConnectionError, RuntimeError, ValueError, OSError) as error:
        first_line = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        what = address or "a Ray on this machine"
        raise InputError(
            f"cannot be used: {first_line}", path=what, allowed=_HOW, code="no-cluster"
        ) from error
    _connected["address"] = address
    return ray


def address_of(options: RayOptions) -> str | None:
    """``HOST:PORT`` of the cluster; None for a Ray of our own.

    Raises:
        UsageError: an address of another form.
    """
    place = options.address or os.environ.get(ADDRESS_VARIABLE) or None
    if place is None or place == "local":
        return None
    host, _, port = place.rpartition(":")
    if place.startswith("ray://") or not host or not port.isdigit() or not 0 < int(port) < 65536:
        source = "--ray-address" if options.address else ADDRESS_VARIABLE
        raise UsageError(
            f"{source} {place!r}: expected HOST:PORT of the cluster's head, as printed by "
            "`ray start --head` (run citeforge on a machine of the cluster; ray:// is not "
            "supported)",
            code="bad-option",
        )
    return place


def is_listening(address: str) -> bool:
    """Whether something takes connections there."""
    host, _, port = address.rpartition(":")
    with contextlib.suppress(OSError):
        socket.create_connection((host.strip("[]"), int(port)), _ANSWER_SECONDS).close()
        return True
    return False


def _has_token() -> bool:
    """Whether there is a token to show to the cluster, where Ray looks for it."""
    token = os.environ.get("RAY_AUTH_TOKEN") or os.environ.get("RAY_AUTH_TOKEN_PATH")
    return bool(token) or (Path.home() / ".ray" / "auth_token").is_file()


def _is_on_loopback_only(address: str) -> bool:
    """Whether a head that is named by loopback does not listen in the network, too."""
    host, _, port = address.rpartition(":")
    if host not in ("localhost", "127.0.0.1"):
        return False
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which address would be used
        except OSError:
            return True
        return not is_listening(f"{probe.getsockname()[0]}:{port}")
