"""A small fixed part of `make torture`: kills, full disks, read-only disks."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from torture.sweep import Torture, compiler, sample, small_disk, torture

pytestmark = pytest.mark.slow

KILLS = 1
"""Kills a command; `make torture` makes thousands."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Torture]:
    if compiler() is None:
        pytest.skip("no C compiler on this machine")
    with torture(tmp_path_factory.mktemp("torture")) as result:
        yield result


NAMES = (
    "build-rage", "build-rage-overwrite", "build-hagrid", "build-authorship", "llm-run",
    "llm-import", "judge", "score", "export-beir", "card", "audit", "leaderboard-again",
    "leaderboard-add", "kg-snapshot",
)  # fmt: skip
"""The quick ones of all kinds."""
ON_DISKS = ("build-hagrid", "llm-import", "score", "export-beir", "card", "leaderboard-again")


@pytest.mark.parametrize("name", NAMES)
def test_killed_commands_end_as_if_undisturbed(running: Torture, name: str) -> None:
    count, _ = running.calm(running.commands[name])
    assert count > 3, "no file operation was counted: the shim does not work"
    before = running.points
    for point in sample({name: count}, KILLS, seed=11):
        running.kill(*point)
    assert running.points > before, "nothing was killed"
    assert not running.failures, running.failures.pop()


@pytest.mark.parametrize("name", ON_DISKS)
def test_a_size_limit_ends_in_one_line(running: Torture, name: str) -> None:
    """RLIMIT_FSIZE stands for a full disk where none can be mounted."""
    assert running.squeeze(name, 60), "the limit was never reached: the test shows nothing"
    assert not running.failures, running.failures.pop()


@pytest.mark.parametrize("name", ON_DISKS)
def test_full_and_read_only_disks_end_in_one_line(
    running: Torture, tmp_path: Path, name: str
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root may mount")
    with small_disk(tmp_path / "disk", 8 << 20) as disk:
        if disk is None:
            pytest.skip("mounting is not allowed here")
        stopped = [running.fill(name, disk, free) for free in (-1, 0)]
    assert stopped == [True, True]
    assert not running.failures, running.failures.pop()
