"""The line of ``citeforge doctor`` on Ray."""

from importlib.metadata import PackageNotFoundError, version

from citeforge.engines.running.doctor import Examination, Finding
from citeforge.plugins.ray.connection import ADDRESS_VARIABLE, is_listening, parse_address
from citeforge.plugins.ray.options import RayOptions
from citeforge.schemas.errors import UsageError


def _look(ask_network: bool) -> Finding:
    try:
        installed = version("ray")
    except PackageNotFoundError:
        advice = "pip install 'citeforge[ray]'"
        return Finding("Ray", None, "not installed; only --engine ray needs it", advice)
    try:
        address = parse_address(RayOptions())
    except UsageError as error:
        return Finding("Ray", False, str(error), f"unset {ADDRESS_VARIABLE}, or set it right")
    if address is None:
        return Finding("Ray", True, f"{installed}; --engine ray starts one on this machine")
    if ask_network and not is_listening(address):
        advice = f"ray start --head, or unset {ADDRESS_VARIABLE}"
        return Finding("Ray", False, f"{installed}; no cluster answers at {address}", advice)
    return Finding("Ray", True, f"{installed}; --engine ray uses the cluster at {address}")


RAY = Examination("ray", _look)
