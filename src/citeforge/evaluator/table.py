"""The tables that ``score`` and ``compare`` print."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import groupby

from citeforge.engines.columns import aligned
from citeforge.evaluator.compare import Difference
from citeforge.evaluator.missing import not_computed
from citeforge.evaluator.rows import named
from citeforge.schemas.scores import MeasureScore, ScoreFile

_COUNTS = {
    "queries": "n_queries",
    "answered": "n_answered",
    "missing": "n_missing",
    "truncated": "n_truncated",
    "empty": "n_empty",
    "unparsed": "n_unparsed",
    "judge failed": "n_judge_failed",
    "uncited": "n_uncited",
    "out of range": "n_out_of_range",
    "no relevant": "n_no_relevant",
}


def render_scores(results: list[ScoreFile], width: int | None = None) -> str:
    """Systems down, measures across, counts beneath, signatures last.

    Scores of authorship benchmarks come as the tables of bias and sensitivity.

    Args:
        results: score files.
        width: of the terminal; None where lines may be of any length.
    """
    results = named(results)
    if all(r.design is not None for r in results):
        return _render_design(results)
    names = list(dict.fromkeys(m.name for r in results for m in r.measures))
    rows = [["", *names]]
    for r in results:
        scores = {m.name: m for m in r.measures}
        rows.append([r.system, *(_cell(scores.get(name)) for name in names)])
    shown = _COUNTS | ({"reference lists": "n_listed"} if any(r.counts.n_listed for r in results)
                       else {})  # fmt: skip
    counts = [["", *shown]]
    counts += [
        [r.system, *(f"{getattr(r.counts, field):,}" for field in shown.values())] for r in results
    ]
    lines = [*aligned(rows, width=width), "", *aligned(counts, width=width)]
    foreign = [f"{r.system} read as {r.submission_format}" for r in results
               if r.submission_format != "citeforge"]  # fmt: skip
    missing = [f"not computed: {line}" for line in not_computed(results)]
    return "\n".join([*lines, *foreign, *missing, *_signatures(results)])


_DIFFERENCE = ("measure", "difference", "95 % interval", "p (t)", "p (perm)", "Holm", "detectable",
               "queries")  # fmt: skip


def render_differences(found: Iterable[Difference]) -> str:
    """A table a pair of systems: what ``compare`` prints."""
    lines = []
    for (first, second), group in groupby(found, key=lambda d: (d.first, d.second)):
        rows = list(group)
        parts = dict.fromkeys(part for d in rows for part in d.across)
        lines.append(f"{second} − {first}" + (f" (across {'; '.join(parts)})" if parts else ""))
        table = aligned([_DIFFERENCE, *map(difference_cells, rows)], ruled=False)
        lines += [f"  {line}" for line in table]
    return "\n".join(lines)


def difference_head() -> tuple[str, ...]:
    """Titles of the columns of :func:`difference_cells`."""
    return _DIFFERENCE


def difference_cells(d: Difference) -> tuple[str, ...]:
    """A comparison as cells."""
    return (
        " = ".join([d.measure, *d.also]),
        f"{d.difference:+.2f}",
        "–" if math.isnan(d.low) else f"[{d.low:.2f}, {d.high:.2f}]",
        f"{d.p_t:.4f}",
        f"{d.p_permutation:.4f}",
        "–" if math.isnan(d.p_holm) else f"{d.p_holm:.4f}",
        f"{d.detectable:.2f}",
        f"{d.n:,}",
    )


def _render_design(results: list[ScoreFile]) -> str:
    from citeforge.evaluator.authorship.tables import as_text, bias, recipes, sensitivity

    shown = [t for t in (bias(results), sensitivity(results)) if t.rows]
    lines = [f"{as_text(t)}\n{t.note}\n" for t in shown]
    for r in results:
        c = r.counts
        lines.append(
            f"{r.system}: {c.n_queries} queries, {c.n_answered:,} answers in all cells, "
            f"{c.n_missing:,} missing, {c.n_truncated:,} truncated, {c.n_empty:,} empty, "
            f"{c.n_unparsed:,} unparsed, {c.n_uncited:,} uncited, "
            f"{c.n_out_of_range:,} out of range"
            + (f", {c.n_no_gold:,} queries without gold" if c.n_no_gold else "")
        )
    lines += [f"not computed: {line}" for line in not_computed(results)]
    lines += [f"signature: {s}" for s in recipes(results)]
    lines += interval_note(m.interval for r in results for m in r.measures)
    return "\n".join([*lines, "all cells, and tables for papers: citeforge report SCORES"])


def _cell(score: MeasureScore | None) -> str:
    if score is None or score.value is None:
        return "–"
    text = f"{score.value:.2f}"
    if score.sd_runs is not None:
        text += f" ±{score.sd_runs:.2f}"
    if score.low is not None and score.high is not None:
        text += f" [{score.low:.2f}, {score.high:.2f}]"
    return text


def _signatures(results: list[ScoreFile]) -> list[str]:
    """One line for all measures that share the rest of their signature."""
    recipes: dict[str, dict[str, None]] = {}
    intervals = set()
    for result in results:
        for measure in result.measures:
            name, _, rest = measure.signature.partition("|")
            recipes.setdefault(rest, {})[name] = None
            intervals.add(measure.interval)
    lines = [f"signature: {','.join(names)}|{rest}" for rest, names in recipes.items()]
    return lines + interval_note(intervals)


def interval_note(made: Iterable[str]) -> list[str]:
    """What to say of the intervals in a table; nothing where there are none."""
    words = {
        "bootstrap": "bootstrap over queries",
        "t": "Student's t where fewer than 100 queries enter",
        "normal": "normal (too many queries for the bootstrap)",
    }
    found = [words[name] for name in words if name in set(made)]
    return [f"intervals: 95 %, {'; '.join(found)}; ± is the sd between runs"] if found else []
