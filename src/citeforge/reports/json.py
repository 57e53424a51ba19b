"""Reports as JSON."""

import json

from pydantic_core import to_jsonable_python

from citeforge.evaluator.rows import is_trivial
from citeforge.reports.comparison import ComparisonReport
from citeforge.reports.model import ScoreReport


def write_scores(report: ScoreReport) -> str:
    """Write scores as JSON, with trivial measures and values to beat (of systems that copy)."""
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
    """Write a comparison of systems as a JSON object; undefined numbers become null."""
    content = to_jsonable_python(comparison, inf_nan_mode="null")
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"
