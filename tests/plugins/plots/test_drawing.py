"""The drawing program under the limits of a system."""

import resource
import subprocess
import sys

import pytest

from citeforge.plugins.plots.figure import hindrance

_DRAWS = """
from citeforge.plugins.plots.figure import to_svg
from citeforge.schemas.errors import InputError
try:
    to_svg({"data": {"values": [{}]}, "mark": "point"})
except InputError as error:
    print(error)
"""


@pytest.mark.parametrize("gib", [8, 40])
def test_a_limit_of_addresses_is_said_and_ends_no_process(gib: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRAWS], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (gib << 30, gib << 30)),
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == (
        "drawing needs 80 GiB of addresses (not of memory), and this process may have "
        f"{gib}.0; `ulimit -v unlimited` first\n"
    )


def test_without_a_limit_nothing_hinders() -> None:
    assert resource.getrlimit(resource.RLIMIT_AS)[0] == resource.RLIM_INFINITY
    assert hindrance() is None
