"""Reports as JSON."""

import json
import math
from dataclasses import asdict

from citeforge.evaluator.compare import Difference
from citeforge.evaluator.rows import is_trivial
from citeforge.reports.comparison import ComparisonReport
from citeforge.reports.model import ScoreReport


def write_scores(report: ScoreReport) -> str:
    """Write the score files as a JSON list, without answers, with trivial measures and lines."""
    files, lines = report.given, report.lines
    content = [
        f.model_dump(mode="json", exclude={"answers"})
        | {
            "trivial": [m.name for m in f.measures if is_trivial(f, m.name)],
            "lines": {m.name: lines[m.signature] for m in f.measures if m.signature in lines},
        }
        for f in files
    ]
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def write_comparison(comparison: ComparisonReport) -> str:
    """Write a comparison as a JSON object; null for numbers that are not defined."""
    differences = [_to_fields(d) for d in comparison.differences]
    beside = {k: v for k, v in vars(comparison).items() if k != "differences"}
    content = {"differences": differences, **beside}
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _to_fields(difference: Difference) -> dict[str, object]:
    """Convert a difference to its fields by name, with None for NaN, which JSON lacks."""
    return {
        name: None if isinstance(value, float) and math.isnan(value) else value
        for name, value in asdict(difference).items()
    }
