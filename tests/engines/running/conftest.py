"""One small Ray cluster for all tests of this folder, on loopback."""

import faulthandler
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from citeforge.engines.running.ray_cluster import connect
from citeforge.schemas.recipes.ray import RayOptions
from conftest import ROOT
from patience import patience

LONGEST_SECONDS = int(patience(1200))
"""Longest that a test may take; each takes less than a minute where nothing else runs."""


@pytest.fixture(autouse=True)
def every_wait_ends() -> Iterator[None]:
    """Fail where a test waits for ever; end the run where even that does not come through."""

    def fail(*_: object) -> None:
        raise TimeoutError(f"the test has waited for {LONGEST_SECONDS} s")

    signal.signal(signal.SIGALRM, fail)
    signal.alarm(LONGEST_SECONDS)
    faulthandler.dump_traceback_later(LONGEST_SECONDS + 60, exit=True)
    yield
    faulthandler.cancel_dump_traceback_later()
    signal.alarm(0)


def free_port() -> int:
    """A port that nobody has."""
    with socket.socket() as result:
        result.bind(("127.0.0.1", 0))
        port: int = result.getsockname()[1]
        return port


@pytest.fixture(scope="session")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """``HOST:PORT`` of a cluster with two cores."""
    log = tmp_path_factory.mktemp("ray") / "log"
    where = f"127.0.0.1:{free_port()}"
    # Ours, not one in the home of whoever runs the tests; commands find out that it is wanted.
    os.environ["RAY_AUTH_TOKEN"] = "0123456789abcdef" * 4
    os.environ["RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"] = "0"  # on loopback, as the head is
    env = {
        **os.environ,
        "RAY_AUTH_MODE": "token",
        "PYTHONPATH": f"{ROOT / 'src'}:{ROOT / 'tests'}",
        "RAY_USAGE_STATS_ENABLED": "0",
    }
    words = ["start", "--head", "--block", "--num-cpus=2", "--include-dashboard=false"]
    words += [f"--port={where.rpartition(':')[2]}", "--node-ip-address=127.0.0.1"]
    words += ["--object-store-memory=100000000", "--disable-usage-stats"]

    def start() -> subprocess.Popen[bytes]:
        # Sockets have short names: not below pytest's folder.
        with log.open("wb") as out:
            command = [sys.executable, "-m", "ray.scripts.scripts", *words]
            return subprocess.Popen(command, stdout=out, stderr=out, env=env)

    head = start()
    try:
        deadline = time.monotonic() + patience(180)
        while "Ray runtime started" not in log.read_text():
            assert time.monotonic() < deadline, log.read_text()
            if head.poll() is not None:  # Ray gives itself 30 s, too few on a busy machine
                head = start()
            time.sleep(0.1)
        yield where
    finally:
        if "ray" in sys.modules:
            sys.modules["ray"].shutdown()
        head.kill()  # the kernel ends what it started; asked politely, it takes half a minute
        head.wait()


@pytest.fixture(scope="session")
def cluster(address: str) -> RayOptions:
    """Two workers of that cluster, to which this process is connected."""
    connect(address)
    return RayOptions(address=address, workers=2)
