"""The sweep that ends a command at each of its file operations.

A command is run undisturbed and its file operations are counted; then again and again, each time
killed (SIGKILL), sent another signal, or on a disk that is full from another operation on, and run
once more. The end must be that of the undisturbed
run, byte for byte, without litter, and at the moment of the kill nothing may stand half-made under
its final name.

``python -m torture.sweep --points 2000 --minutes 60 --seed 1 [COMMAND …]`` from ``tests/``.
"""

import argparse
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parent
if str(HERE.parent) not in sys.path:
    sys.path.insert(0, str(HERE.parent))

from plugins.documents.village import replies  # noqa: E402
from servers.running import openai_server  # noqa: E402
from torture.world import VERDICTS, Command, Run, build_world, commands  # noqa: E402

SIGNALS = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)
LITTER = ("*.tmp", "*.partial", ".amending", "*-journal", "lock", "*.lock", ".*.new")
# Sizes of stores depend on their history; what they hold is compared instead.
STORED = {
    "kept": "SELECT asked, kind, payload, sample, content FROM kept "
    "WHERE kind != 'speed' ORDER BY asked",
}


def compiler() -> str | None:
    """A C compiler, which the shim needs."""
    return shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")


class Nursery:
    """Runs commands in forked processes, and kills them at a file operation."""

    def __init__(self, work: Path) -> None:
        shim = work / "shim.so"
        subprocess.run(
            [compiler() or "cc", "-O1", "-shared", "-fPIC", "-o", shim, HERE / "shim.c", "-ldl"],
            check=True,
        )
        self.process = subprocess.Popen(
            [sys.executable, str(HERE / "nursery.py")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={
                **os.environ,
                "PYTHONPATH": os.pathsep.join([str(HERE.parent), str(HERE.parent.parent / "src")]),
                "LD_PRELOAD": str(shim),
                "TORTURE_SHIM": str(shim),
                "OMP_NUM_THREADS": "1",
                "HF_HOME": str(work / "hf"),
                "OPENAI_API_KEY": "none",
            },
        )

    def run(
        self, args: list[str], cwd: Path, at: int = 0, torn: bool = False, largest: int = 0,
        ending: int = signal.SIGKILL,
    ) -> Run:  # fmt: skip
        """Run a command in ``cwd``.

        Args:
            args: its words.
            cwd: folder whose file operations count.
            at: operation at which it is ended, counted from 1; 0 to let it be.
            torn: whether a write is done by half before SIGKILL.
            largest: most bytes of a file (RLIMIT_FSIZE); 0 for no limit.
            ending: signal that it gets; 0: the disk is full from that operation on.
        """
        assert self.process.stdin
        assert self.process.stdout
        task = {"args": args, "cwd": str(cwd), "at": at, "torn": torn, "largest": largest}
        self.process.stdin.write(json.dumps({**task, "ending": int(ending)}) + "\n")
        self.process.stdin.flush()
        return Run(**json.loads(self.process.stdout.readline()))

    def close(self) -> None:
        """End the process."""
        assert self.process.stdin
        assert self.process.stdout
        self.process.stdin.close()
        self.process.wait()
        self.process.stdout.close()


def content(path: Path) -> object:
    """What is compared: bytes of files; of a store, what it holds."""
    if path.is_dir():
        return {p.relative_to(path).as_posix(): content(p) for p in path.rglob("*") if p.is_file()}
    if not path.exists():
        return None
    data = path.read_bytes()
    if not data.startswith(b"SQLite format 3"):
        return data
    with sqlite3.connect(path) as database:
        tables = {n for (n,) in database.execute("SELECT name FROM sqlite_master")}
        result = {n: database.execute(q).fetchall() for n, q in STORED.items() if n in tables}
    database.close()
    return result


def litter(folder: Path) -> list[str]:
    """Names that nothing finished may leave behind."""
    result = {p.relative_to(folder).as_posix() for n in LITTER for p in folder.rglob(n)}
    return sorted(result)


def list_left(folder: Path) -> list[str]:
    """Names that a command that ended by itself may not leave; finished stages it may."""
    return [name for name in litter(folder) if not name.endswith(".partial")]


def unlike(a: object, b: object) -> str:
    """Where two contents differ, in words."""
    if isinstance(a, dict) and isinstance(b, dict):
        names = sorted(k for k in {*a, *b} if a.get(k) != b.get(k))
        return ", ".join(map(str, names[:5]))
    return "everything"


class Torture:
    """Kills commands in copies of one world.

    Attributes:
        failures: what went wrong, one line each.
        points: kills made so far.
    """

    def __init__(self, nursery: Nursery, work: Path, url: str) -> None:
        self.nursery, self.work = nursery, work
        self.world = work / "world"
        build_world(nursery.run, self.world)
        self.commands = {c.name: c for c in commands(url)}
        self.failures: list[str] = []
        self.points = 0
        self._calm: dict[str, tuple[int, dict[str, object]]] = {}

    @contextmanager
    def _copy(self) -> Iterator[Path]:
        folder = self.work / "run"
        shutil.copytree(self.world, folder)
        try:
            yield folder
        finally:
            shutil.rmtree(folder)

    def calm(self, command: Command) -> tuple[int, dict[str, object]]:
        """Operations of an undisturbed run, and what it makes."""
        if command.name not in self._calm:
            with self._copy() as folder:
                run = self.nursery.run(list(command.args), folder)
                if run.code != 0:
                    raise RuntimeError(f"{command.name}: exit {run.code}\n{run.output}")
                made = {o: content(folder / o) for o in command.outs}
                if litter(folder):
                    self.failures.append(f"{command.name}: leaves {litter(folder)}")
            self._calm[command.name] = run.count, made
        return self._calm[command.name]

    def kill(self, name: str, at: int, torn: bool) -> bool:
        """Kill a command at an operation, run it again, and look at the end.

        Returns:
            Whether it was killed: it may have had fewer operations this time.
        """
        command = self.commands[name]
        _, expected = self.calm(command)
        place = f"{name} at {at}{' torn' if torn else ''}"
        with self._copy() as folder:
            before = {o: content(folder / o) for o in command.outs}
            run = self.nursery.run(list(command.args), folder, at, torn)
            if run.code != -9:
                if run.code != 0:
                    self.failures.append(f"{place}: not killed, exit {run.code}: {run.output}")
                return False
            self.points += 1
            self._check_moment(place, command, folder, before, expected)
            self._run_again(place, command, folder, expected)
        return True

    def signal(self, name: str, at: int, number: signal.Signals) -> bool:
        """Send a command another signal than SIGKILL at an operation, and run it again.

        Returns:
            Whether it ended by that; it may have been done, or have had fewer operations.
        """
        command = self.commands[name]
        _, expected = self.calm(command)
        place = f"{name}, {number.name} at {at}"
        with self._copy() as folder:
            before = {o: content(folder / o) for o in command.outs}
            run = self.nursery.run(list(command.args), folder, at, ending=number)
            if run.code == 0:
                return False
            self.points += 1
            by = "" if number is signal.SIGINT else f" by {number.name}"
            kept, last = ["", "", *run.output.splitlines()][-2:]
            if (
                run.code != 128 + number
                or "Traceback" in run.output
                or not kept.startswith("kept: ")
                or last != f"interrupted{by}; run the same command again, a build with --resume"
            ):
                self.failures.append(f"{place}: exit {run.code}: {run.output}")
            if left := list_left(folder):
                self.failures.append(f"{place}: leaves {left}")
            self._check_moment(place, command, folder, before, expected)
            self._run_again(place, command, folder, expected)
        return True

    def fill_at(self, name: str, at: int) -> bool:
        """Let the disk be full from an operation on; free it, and run the command again.

        Returns:
            Whether the command noticed.
        """
        command = self.commands[name]
        _, expected = self.calm(command)
        place = f"{name}, full at {at}"
        with self._copy() as folder:
            before = {o: content(folder / o) for o in command.outs}
            run = self.nursery.run(list(command.args), folder, at, ending=0)
            self._check_refusal(place, run, folder, before, expected)
            if run.code == 0:
                return False
            self.points += 1
            if "disk is full" not in run.output and "No space left" not in run.output:
                self.failures.append(f"{place}: does not say so: {run.output}")
            self._run_again(place, command, folder, expected)
        return True

    def _run_again(
        self, place: str, command: Command, folder: Path, expected: dict[str, object]
    ) -> None:
        """Run a command that was ended once more: everything is as if it had not been."""
        args = [*command.args, *(["--resume"] if command.resumes else [])]
        again = self.nursery.run(args, folder)
        if again.code != 0 and not (
            command.again and content(folder / command.outs[0]) == expected[command.outs[0]]
        ):
            self.failures.append(f"{place}: second run, exit {again.code}: {again.output}")
            return
        for out, wanted in expected.items():
            result = content(folder / out)
            if result != wanted:
                self.failures.append(f"{place}: {out} differs: {unlike(result, wanted)}")
        if litter(folder):
            self.failures.append(f"{place}: leaves {litter(folder)}")

    def squeeze(self, name: str, largest: int) -> bool:
        """Run a command where no file may grow larger, as on a full disk.

        Returns:
            Whether it was stopped by that.
        """
        command = self.commands[name]
        _, expected = self.calm(command)
        with self._copy() as folder:
            before = {o: content(folder / o) for o in command.outs}
            run = self.nursery.run(list(command.args), folder, largest=largest)
            self._check_refusal(f"{name}, files up to {largest} B", run, folder, before, expected)
        return run.code != 0

    def fill(self, name: str, disk: Path, free: int) -> bool:
        """Run a command on a disk with so many bytes left.

        Args:
            name: of the command.
            disk: mount point of a small file system, which is emptied.
            free: bytes that stay free, rounded down to pages; negative: it is made read-only.
        """
        command = self.commands[name]
        _, expected = self.calm(command)
        folder = disk / "run"
        shutil.copytree(self.world, folder)
        before = {o: content(folder / o) for o in command.outs}
        if free < 0:
            remount(disk, "ro")
        else:
            left = os.statvfs(disk)
            n = max(0, left.f_bavail * left.f_frsize - free)
            (disk / "filler").write_bytes(b"x" * n)
        try:
            run = self.nursery.run(list(command.args), folder)
            place = f"{name}, {'read-only' if free < 0 else f'{free} B free'}"
            if free >= 0:
                (disk / "filler").unlink()  # looking into a store needs space, too
            self._check_refusal(place, run, folder, before, expected)
        finally:
            if free < 0:
                remount(disk, "rw")
            for path in disk.iterdir():
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        return run.code != 0

    def _check_refusal(
        self,
        place: str,
        run: Run,
        folder: Path,
        before: dict[str, object],
        expected: dict[str, object],
    ) -> None:
        """Either it is all done, or one line says why not and everything is as before."""
        if run.code == 0:
            wanted = [expected]
        else:
            wanted = [before, expected]
            lines = run.output.strip().splitlines()
            if run.code != 1 or "Traceback" in run.output or not lines[-1].startswith("error: "):
                self.failures.append(f"{place}: exit {run.code}: {run.output}")
        for out in before:
            result = content(folder / out)
            if not out.endswith(".db") and all(result != w[out] for w in wanted):
                self.failures.append(f"{place}: {out} stands half-made")
        if left := list_left(folder):
            self.failures.append(f"{place}: leaves {left}")

    def _check_moment(
        self,
        place: str,
        command: Command,
        folder: Path,
        before: dict[str, object],
        expected: dict[str, object],
    ) -> None:
        """Right after the kill: what stands under a final name is whole."""
        for out in command.outs:
            if out.endswith(".db"):
                continue  # a store has a journal of its own; the second run shows that it opens
            if command.name in ("card", "audit"):
                looked = self.nursery.run(["verify", out], folder)
                if looked.code != 0:
                    self.failures.append(f"{place}: {out} does not verify: {looked.output}")
            elif (folder / out).exists() and content(folder / out) not in (
                before[out],
                expected[out],
            ):
                wrong = unlike(content(folder / out), expected[out])
                self.failures.append(f"{place}: {out} stands half-made: {wrong}")


def remount(disk: Path, how: str) -> None:
    """Change a mount to ``ro`` or ``rw``."""
    subprocess.run(["mount", "-o", f"remount,{how}", disk], check=True)


@contextmanager
def small_disk(folder: Path, size: int) -> Iterator[Path | None]:
    """A file system of ``size`` bytes in memory; None where mounting is not allowed."""
    folder.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    if os.geteuid() != 0 or subprocess.run(command, capture_output=True).returncode != 0:
        yield None
        return
    try:
        yield folder
    finally:
        subprocess.run(["umount", folder], check=True)


@contextmanager
def torture(work: Path) -> Iterator[Torture]:
    """A nursery, a server and a world for the length of the block."""
    nursery = Nursery(work)
    try:
        with openai_server(work / "server.log", replies=VERDICTS + replies()) as server:
            yield Torture(nursery, work, server.url)
    finally:
        nursery.close()


def sample(counts: dict[str, int], n: int, seed: int) -> list[tuple[str, int, bool]]:
    """Kill points: every operation of every command, then again torn, until there are enough; the
    commands take turns, in an order of the seed's."""
    rng = random.Random(seed)
    rest = {
        c: [(at, torn) for torn in (False, True) for at in range(1, k + 1)]
        for c, k in counts.items()
    }
    for points in rest.values():
        rng.shuffle(points)
    result: list[tuple[str, int, bool]] = []
    while len(result) < n and any(rest.values()):
        for name, points in rest.items():
            if points:
                result.append((name, *points.pop()))
    return result[:n]


def main() -> int:
    """Run the sweep; 1 when anything failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="commands (default: all)")
    parser.add_argument("--points", type=int, default=2000)
    parser.add_argument("--minutes", type=float, default=120.0, help="stop after so long")
    parser.add_argument("--seed", type=int, default=None)
    given = parser.parse_args()
    if compiler() is None:
        sys.stdout.write("torture needs a C compiler (cc); none was found\n")
        return 1
    seed = random.SystemRandom().randrange(1 << 32) if given.seed is None else given.seed
    end = time.monotonic() + 60 * given.minutes
    say = lambda text: (sys.stdout.write(text + "\n"), sys.stdout.flush())  # noqa: E731
    say(f"seed {seed}")
    with tempfile.TemporaryDirectory(prefix="torture-") as work, torture(Path(work)) as running:
        names = given.names or list(running.commands)
        counts = {n: running.calm(running.commands[n])[0] for n in names}
        say(", ".join(f"{n} {c}" for n, c in counts.items()))
        shown = 0
        for name, at, torn in sample(counts, given.points, seed):
            if time.monotonic() > end:
                say("out of time")
                break
            if torn or at % 2:
                running.kill(name, at, torn)
            elif at % 4:
                running.fill_at(name, at)
            else:
                running.signal(name, at, SIGNALS[at // 4 % len(SIGNALS)])
            for line in running.failures[shown:]:
                say(f"FAILED {line}")
            shown = len(running.failures)
            if running.points % 100 == 0:
                say(f"{running.points} kills, {shown} failures")
        say(f"{running.points} kills, {len(running.failures)} failures, seed {seed}")
        return 1 if running.failures else 0


if __name__ == "__main__":
    sys.exit(main())
