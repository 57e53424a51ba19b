"""Formats of prediction files: citeforge's own and those of the papers; others come with plugins.

Each row's code is imported when the row is used.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from citeforge.engines.catalogue import Catalogue
from citeforge.evaluator.submissions.format import BY_COLUMN, Format, Lines, OnError

if TYPE_CHECKING:
    from citeforge.evaluator.submissions.benchmark import Benchmark
    from citeforge.evaluator.submissions.origin import Claims

OURS = "citeforge"


def _read_ours(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read citeforge's own JSON Lines."""
    from citeforge.evaluator.submissions.reader import read_answers

    return read_answers(path, on_error)


def _read_alce(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read ALCE's result file."""
    from citeforge.evaluator.submissions.paper_files import read_alce

    return read_alce(path, benchmark)


def _read_attributed_ir(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read Attributed-IR's CSV."""
    from citeforge.evaluator.submissions.paper_files import read_attributed_ir

    return read_attributed_ir(path, benchmark)


def _read_attrieval(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read AttriEval's saved data sets."""
    from citeforge.evaluator.submissions.paper_files import read_attrieval

    return read_attrieval(path, benchmark)


def _read_kalma(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read KaLMA's CSV."""
    from citeforge.evaluator.submissions.paper_files import read_kalma_csv

    return read_kalma_csv(path, benchmark)


def _read_rage_toolkit(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Read rage_toolkit's CSV."""
    from citeforge.evaluator.submissions.paper_files import read_rage_toolkit

    return read_rage_toolkit(path, benchmark)


def _claims_in_document(path: Path) -> Claims:
    """Yield the hashes that the items of one JSON document name."""
    from citeforge.evaluator.submissions.origin import claims_in_document

    return claims_in_document(path)


def _claims_in_csv(path: Path) -> Claims:
    """Yield the hashes that the rows of a CSV file name."""
    from citeforge.evaluator.submissions.origin import claims_in_csv

    return claims_in_csv(path)


def _claims_in_saved(path: Path) -> Claims:
    """Yield the hashes that the rows of saved data sets name."""
    from citeforge.evaluator.submissions.paper_files import claims_in_saved

    return claims_in_saved(path)


FORMATS: Catalogue[Format, None] = Catalogue(
    "formats",
    "format",
    Format,
    (
        Format(OURS, "", "citeforge's JSON Lines: query_id and output", _read_ours),
        Format(
            "alce", "", "results of ALCE's scripts", _read_alce, claims=_claims_in_document,
            advice='add "benchmark_hash": "{hash}" beside "data"',
        ),
        Format(
            "attributed-ir", "", "Attributed-IR's CSV or JSON Lines", _read_attributed_ir,
            claims=_claims_in_csv, advice=BY_COLUMN,
        ),
        Format(
            "attrieval", "", "data sets saved by AttriEval", _read_attrieval,
            claims=_claims_in_saved, advice=BY_COLUMN, base=0,
        ),
        Format(
            "kalma", "", "KaLMA's CSV, in the order of queries", _read_kalma,
            claims=_claims_in_csv, advice=BY_COLUMN,
        ),
        Format(
            "rage-toolkit", "", "rage_toolkit's response_info CSV", _read_rage_toolkit,
            claims=_claims_in_csv, advice=BY_COLUMN,
        ),
    ),
)  # fmt: skip
