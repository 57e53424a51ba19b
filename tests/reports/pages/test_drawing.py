"""The drawing program under the limits of a system."""

import resource
import subprocess
import sys

import pytest

from citeforge.reports.pages.figure import drawing_problem, to_svg
from conftest import refused

_DRAWS = """
from citeforge.reports.pages.figure import to_svg
from citeforge.schemas.errors import InputError
try:
    to_svg({"data": {"values": [{}]}, "mark": "point"})
except InputError as error:
    print(error.code)
"""


@pytest.mark.slow
@pytest.mark.parametrize("gib", [8, 40])
def test_a_limit_of_addresses_ends_no_process(gib: int) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _DRAWS], capture_output=True, text=True, check=False,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_AS, (gib << 30, gib << 30)),
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "out-of-memory\n", "")


def test_a_limit_of_addresses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    assert drawing_problem() is None
    monkeypatch.setattr(resource, "getrlimit", lambda what: (8 << 30, 8 << 30))
    with refused("out-of-memory") as caught:
        to_svg({})
    assert str(caught.value) == (
        "drawing needs 80 GiB of address space (not of memory), and the limit is 8.0; "
        "run `ulimit -v unlimited` first"
    )
