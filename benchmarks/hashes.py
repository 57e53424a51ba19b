"""What `score` spends on holding every file of a large package against its sha256.

Seconds of processor time, medians, alternating: the whole command, and in one process scoring
with and without the check.
"""

import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from benchmarks.measure import machine
from benchmarks.score import make_package

PASSAGES, LENGTH, QUERIES, TIMES = 200_000, 100, 1_000, 5


def seconds(run: Callable[[], object]) -> float:
    """Processor time of this process."""
    start = time.process_time()
    run()
    return time.process_time() - start


def command_seconds(*args: str | Path) -> float:
    """Processor time of a command of citeforge."""

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    start = spent()
    command = [sys.executable, "-m", "citeforge", *map(str, args)]
    subprocess.run(command, check=True, capture_output=True)
    return spent() - start


def main() -> None:
    """Print the times, and the share of the command that hashing is."""
    from citeforge.evaluator.measures.registry import select
    from citeforge.evaluator.score import ScoringSetup, score_context
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.package.manifest import load_manifest

    print("##", machine("numpy", "pyarrow"))
    measures = select(["rage"])
    with TemporaryDirectory() as folder:
        root = make_package(Path(folder), QUERIES, passages=PASSAGES, length=LENGTH)
        package, answers = root / "package", root / "answers.jsonl"
        size = sum(p.stat().st_size for p in package.rglob("*.parquet"))
        rows = []
        for _ in range(TIMES):
            with_hashes = seconds(
                lambda: score_context(answers, ScoringSetup(Benchmark(package), measures))
            )
            manifest = load_manifest(package)
            bare = ScoringSetup(Benchmark(package, manifest), measures)
            without = seconds(lambda: score_context(answers, bare))  # noqa: B023
            command = command_seconds(
                "score", answers, "--benchmark", package, "--measures", "rage"
            )
            rows.append((with_hashes, without, command))
    checked, unchecked, whole = (median(column) for column in zip(*rows[1:], strict=True))
    print(f"{QUERIES:,} answers, {PASSAGES:,} passages, {size / 1e6:.0f} MB, processor time:")
    print(f"scoring {checked:.2f} s, without hashes {unchecked:.2f} s; command {whole:.2f} s")
    print(
        f"hashes: {checked - unchecked:.2f} s, {(checked - unchecked) / whole:.0%} of the command"
    )


if __name__ == "__main__":
    main()
