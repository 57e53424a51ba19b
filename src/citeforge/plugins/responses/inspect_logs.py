"""Logs of inspect_ai as submissions: a row, whose code is imported when a log is read."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.evaluator.submissions.formats import Format, OnError, Origin
from citeforge.plugins.responses.ways import WAY, list_ways
from citeforge.schemas.submission import Lines

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims


class LogFormat(Format):
    """Logs of inspect_ai."""

    def answers(self, path: Path, benchmark: Benchmark, options: str, on_error: OnError) -> Lines:
        """Yield the answers of an inspect_ai log, with sample numbers."""
        from citeforge.plugins.responses.inspect_files import read_log

        return read_log(path, benchmark, options, on_error)

    def looks_like(self, path: Path, start: bytes) -> bool:
        """Whether a file is an inspect_ai log, by the ending of its name."""
        return path.suffix == ".eval"

    def origin(self, path: Path) -> Origin:
        """Read the fields of a submission's header (system, benchmark, …) from a log."""
        from citeforge.plugins.responses.inspect_files import origin_of_log

        return origin_of_log(path)

    def claims(self, path: Path) -> Claims:
        """Yield, per sample of an inspect_ai log, the benchmark hashes that it names."""
        from citeforge.plugins.responses.inspect_files import claims_of_log

        return claims_of_log(path)


INSPECT = LogFormat(
    "inspect", WAY, f"logs of inspect_ai (.eval); WAY of {', '.join(list_ways(is_numbered=True))}",
    rank=10, advice="run inspect eval with --metadata benchmark_hash={hash}",
)  # fmt: skip
