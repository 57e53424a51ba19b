"""A small fixed part of `make torture`: kills, signals, full disks, read-only disks."""

import os
from collections.abc import Iterator
from pathlib import Path
from shlex import split

import pytest

from citeforge.package.kinds import recipes
from torture.sweep import SIGNALS, Torture, compiler, sample, small_disk, torture
from torture.world import commands

pytestmark = pytest.mark.slow

KILLS = 1
"""Kills a command; `make torture` makes thousands."""


@pytest.fixture(scope="module")
def running(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Torture]:
    if compiler() is None:
        pytest.skip("no C compiler on this machine")
    with torture(tmp_path_factory.mktemp("torture")) as result:
        yield result


BUILDS = (
    "build-rage", "build-rage-overwrite", "build-hagrid", "build-alce", "build-alce-retrieved",
    "build-twins", "build-authorship", "build-faithfulness", "build-deflection", "build-position",
    "build-kalma", "build-kalma-llm", "build-documents",
)  # fmt: skip
"""Every kind; their whole folders and stores are compared."""
NAMES = (
    *BUILDS, "llm-run", "llm-import", "judge", "score", "score-nuggets",
    "score-rubric", "score-fact", "export-beir", "card", "audit",
    "leaderboard-again", "leaderboard-add", "kg-snapshot",
)  # fmt: skip
ON_DISKS = (
    "build-hagrid", "build-documents", "build-kalma", "llm-import", "score", "export-beir", "card",
    "leaderboard-again",
)  # fmt: skip


def test_every_kind_is_built() -> None:
    kinds = {split(c.words)[1] for c in commands("http://localhost") if c.name in BUILDS}
    assert kinds == set(recipes())


@pytest.mark.parametrize("name", NAMES)
def test_killed_commands_end_as_if_undisturbed(running: Torture, name: str) -> None:
    count, _ = running.calm(running.commands[name])
    assert count > 3, "no file operation was counted: the shim does not work"
    before = running.points
    for point in sample({name: count}, KILLS, seed=11):
        running.kill(*point)
    assert running.points > before, "nothing was killed"
    assert not running.failures, running.failures.pop()


@pytest.mark.parametrize("name", NAMES)
def test_signals_end_commands_in_a_line_and_nothing_is_lost(running: Torture, name: str) -> None:
    """At a third of their file operations, each command with one of the signals."""
    count, _ = running.calm(running.commands[name])
    assert running.signal(name, count // 3 + 1, SIGNALS[NAMES.index(name) % 3])
    assert not running.failures, running.failures.pop()


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_gets_full_is_named_and_the_command_goes_on_later(
    running: Torture, name: str
) -> None:
    """From the middle of their file operations on."""
    count, _ = running.calm(running.commands[name])
    assert running.fill_at(name, count // 2), "it did not notice"
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
