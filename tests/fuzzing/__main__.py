"""Damage files and run commands on them, for a time or a number of cases.

Every failure is printed once, with the command that does it again. Exit code 1 when there is one.
"""

import argparse
import itertools
import os
import shlex
import shutil
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from fuzzing.cases import Outcome, run_case
from fuzzing.pool import Child
from fuzzing.targets import TARGETS
from fuzzing.world import make_world

_KINDS = {
    "hang": "hangs",
    "crash": "crashes",
    "no file": "messages without the file",
    "exit code": "other exit codes",
    "": "tracebacks",
}
"""How faults begin, and what they are counted as; the first that fits."""


class Session:
    """Cases in worker processes.

    Attributes:
        outcomes: the first outcome of every fault, by fault.
        counts: cases by how they ended.
        faults: cases of each fault.
    """

    def __init__(self, world: Path, work: Path, limit: float) -> None:
        self.world, self.work, self.limit = world, work, limit
        self.outcomes: dict[str, Outcome] = {}
        self.counts: Counter[str] = Counter()
        self.faults: Counter[str] = Counter()
        self._lock = threading.Lock()

    def run(self, names: Iterator[str], workers: int, until: float) -> None:
        """Run cases until there are no more, or the clock says so."""
        threads = [
            threading.Thread(target=self._drain, args=(names, n, until)) for n in range(workers)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    def _drain(self, names: Iterator[str], number: int, until: float) -> None:
        child = Child(self.limit, self.work / f"home-{number}")
        try:
            while time.monotonic() < until:
                with self._lock:
                    name = next(names, None)
                if name is None:
                    return
                folder = self.work / name.replace(":", "-")
                try:
                    outcome = run_case(name, self.world, folder, child.ask)
                except Exception as error:  # a fault of the fuzzer's own is one, too
                    outcome = Outcome(name, "", "", None, f"fuzzer: {error!r}", str(error))
                shutil.rmtree(folder, ignore_errors=True)
                with self._lock:
                    self._keep(outcome)
        finally:
            child.close()

    def _keep(self, outcome: Outcome) -> None:
        self.counts["cases"] += 1
        self.counts[f"exit {outcome.exit}"] += 1
        if outcome.fault:
            self.faults[outcome.fault] += 1
            if outcome.fault not in self.outcomes:
                self.outcomes[outcome.fault] = outcome


def case_names(targets: Sequence[str], seed: int) -> Iterator[str]:
    """Cases in rounds over the targets: ``seed``, ``seed + 1``, and so on."""
    for number in itertools.count(seed):
        for target in targets:
            yield f"{target}:{number}"


def report(session: Session, seed: int) -> str:
    """Figures, and every fault with its first case."""
    lines = []
    for fault, count in session.faults.most_common():
        first = session.outcomes[fault]
        again = f"PYTHONPATH=tests {shlex.quote(sys.executable)} -m fuzzing --case {first.case}"
        last = first.text.strip().splitlines()[-1:] or [""]
        lines += [f"{count:>5}  {fault}", f"       {first.done}", f"       {first.command}",
                  f"       {last[0][:300]}", f"       again: {again}"]  # fmt: skip
    counts = session.counts
    exits = ", ".join(f"{n:,} {what}" for what, n in sorted(counts.items()) if what != "cases")
    kinds = Counter(dict.fromkeys(_KINDS.values(), 0))
    for fault, n in session.faults.items():
        kinds[next((k for start, k in _KINDS.items() if fault.startswith(start)))] += n
    result = ", ".join(f"{n:,} {kind}" for kind, n in kinds.items())
    lines.append(f"seed {seed}: {counts['cases']:,} files ({exits}); {result}; "
                 f"{len(session.faults)} distinct")  # fmt: skip
    return "\n".join(lines)


def main(args: Sequence[str] | None = None) -> int:
    """Entry point."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("--seconds", type=float, default=600.0, help="time budget (default 600)")
    parser.add_argument("--cases", type=int, help="cases at most")
    parser.add_argument("--seed", type=int, help="first seed (default: from the clock)")
    parser.add_argument("--workers", type=int, default=max(1, os.cpu_count() or 1))
    parser.add_argument("--limit", type=float, default=30.0, help="processor seconds of a case")
    parser.add_argument(
        "--target", action="append", choices=TARGETS, metavar="NAME", help="only these"
    )
    parser.add_argument("--world", type=Path, help="folder of whole files, made when it is absent")
    parser.add_argument("--case", help="TARGET:SEED, once; its folder is kept")
    given = parser.parse_args(args)
    seed = int(time.time()) if given.seed is None else given.seed
    os.environ["HF_HUB_OFFLINE"] = os.environ["HF_DATASETS_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory(prefix="citeforge-fuzz-") as scratch:
        work = Path(scratch)
        world = make_world((given.world or work / "world").resolve())
        if given.case:
            return _one(given.case, world, work, given.limit)
        print(f"seed {seed}, {given.workers} workers, world {world}", flush=True)
        session = Session(world, work / "cases", given.limit)
        names = itertools.islice(case_names(given.target or list(TARGETS), seed), given.cases)
        session.run(names, given.workers, time.monotonic() + given.seconds)
        print(report(session, seed))
        return 1 if session.faults else 0


def _one(name: str, world: Path, work: Path, limit: float) -> int:
    folder = Path(tempfile.mkdtemp(prefix="citeforge-case-")) / "case"
    child = Child(limit, work / "home")
    try:
        outcome = run_case(name, world, folder, child.ask)
    finally:
        child.close()
    print(f"{outcome.done}\ncd {folder} && citeforge {outcome.command}\nexit {outcome.exit}")
    print(outcome.text)
    print(f"fault: {outcome.fault or 'none'}")
    return 1 if outcome.fault else 0


if __name__ == "__main__":
    sys.exit(main())
