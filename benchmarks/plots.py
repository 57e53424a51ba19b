"""The plots of a report: specified and drawn one after another, and as reports do it."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.measure import best, machine

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

_N, _TIMES = 200, 3


def _files(n: int) -> list[object]:
    import citeforge.plugins.plots.figures  # noqa: F401
    from conftest_plots import answer, scored

    rng = np.random.default_rng(1)
    return [
        scored(f"system {s}",
               {m: rng.random(_N).tolist() for m in ("CiteP", "CiteR", "CiteF1@query", "NLI.rec")},
               [answer(f"q{i}", [[i % 5], [(i + s) % 5]], i % 3) for i in range(_N)], 1.0 + s)
        for s in range(n)
    ]  # fmt: skip


def _in_turn(files: Sequence[object]) -> float:
    """Each specification validated, each drawing waited for; processor seconds."""
    from citeforge.plugins.plots.choose import page_figures

    start = time.process_time()
    for figure in page_figures(files):  # type: ignore[arg-type]
        figure.inline()
    return time.process_time() - start


def _as_reports_do(files: Sequence[object]) -> float:
    from citeforge.plugins.plots.choose import page_figures
    from citeforge.plugins.plots.figures import plots_part

    start = time.process_time()
    plots_part(page_figures(files))  # type: ignore[arg-type]
    return time.process_time() - start


def main() -> None:
    """Print the figures."""
    print(machine("altair", "vl-convert-python"))
    for n in (4, 12, 40):
        slow = best(_files, _in_turn, n, times=_TIMES)
        fast = best(_files, _as_reports_do, n, times=_TIMES)
        print(
            f"{n} systems: in turn {slow.seconds:.2f} s (processor {slow.result:.2f}), as reports "
            f"do {fast.seconds:.2f} s (processor {fast.result:.2f}): "
            f"{slow.seconds / fast.seconds:.2f}x the speed, "
            f"{fast.result / slow.result:.2f} of the processor time"
        )


if __name__ == "__main__":
    main()
