"""What ``labels …`` prints, and what stands beside corrected values."""

import math
from collections.abc import Iterable, Sequence

from citeforge.engines.io.report_table import Table
from citeforge.evaluator.statistics.ranks import rank_text
from citeforge.plugins.labels.correction.calibration import Calibration
from citeforge.plugins.labels.correction.ranks import corrected_ranks
from citeforge.plugins.labels.planning.effort import EffortPlan
from citeforge.plugins.labels.planning.planning import LabelPlan, QueryPlan
from citeforge.schemas.scores import ScoreFile


def correction_notes(results: Iterable[ScoreFile]) -> list[str]:
    """How corrected values were made, once a system and method."""
    lines = []
    for r in results:
        for m in r.measures:
            if (c := m.corrected) is None:
                continue
            if c.method == "ppi++":
                lines.append(
                    f"corrected: {r.system}, {m.name}: PPI++ with {c.n_labels:,} labelled answers, "
                    f"weight of the judge {c.tuning or 0:.2f}; labels alone "
                    f"{c.labels_value or 0:.2f} [{c.labels_low or 0:.2f}, {c.labels_high or 0:.2f}]"
                )
            else:
                lines.append(
                    f"corrected: {r.system}, {m.name}: Rogan–Gladen, with error rates of the judge "
                    "on other answers; it holds where the judge errs here as it did there"
                )
    return lines


def order_notes(results: Sequence[ScoreFile]) -> list[str]:
    """What may be said of the order of systems by corrected values."""
    return [
        f"ranks by {order.measure} corrected (at once, 95 %"
        + ("" if order.paired else "; other queries were labelled of each")
        + "): "
        + ", ".join(f"{system} {rank_text(ranks)}" for system, ranks in order.ranks.items())
        for order in corrected_ranks(results)
    ]


def render_query_plans(plans: Iterable[QueryPlan], power: float) -> str:
    """What ``labels plan-queries`` prints."""
    head = ("measure", "systems", "sd", "queries", "power now", f"needed for {power:.0%}")
    rows = []
    for p in plans:
        several = len(p.systems) > 1
        systems = " − ".join(reversed(p.systems)) if several else f"{p.systems[0]} alone"
        needed = "–" if p.n_needed is None else f"{p.n_needed:,}"
        rows.append(
            (p.measure, systems, f"{p.sd:.2f}", f"{p.n_now:,}", f"{p.power_now:.2f}", needed)
        )
    return "\n".join(Table(head, rows).text())


def render_effort(plan: EffortPlan) -> str:
    """What ``labels plan-effort`` prints."""
    has = ", ".join(f"{name} {n:,}" for name, n in plan.levels.items())
    lines = [
        f"{plan.measure} of {plan.system}: {plan.value:.2f} [{plan.low:.2f}, {plan.high:.2f}]",
        f"made of: {has}",
        "uncertainty (squared standard error): "
        + ", ".join(f"{source} {share:.0%}" for source, share in plan.shares.items()),
    ]
    corrected = " of the corrected value" if "labels" in plan.levels else ""
    lines += ["", f"to expect{corrected} now: ± {plan.half:.2f} (Student's t, uncut)"]
    head = ("more", "now", "then", "±", "narrower", "cost", "narrower per cost")
    rows = [
        (s.source, f"{s.now:,}", f"{s.then:,}", f"{s.half:.2f}", f"{s.narrower:.3f}",
         f"{s.cost:,g}", f"{s.per_cost:.3g}")
        for s in plan.steps
    ]  # fmt: skip
    lines += Table(head, rows).text()
    return "\n".join([*lines, *(f"not known: more {s} ({why})" for s, why in plan.unknown.items())])


def render_label_plan(plan: LabelPlan, half: float) -> str:
    """What ``labels plan`` prints."""
    lines = [
        f"{plan.measure} of {plan.system}: {plan.n_answers:,} answers, standard deviation "
        f"{plan.sd:.2f} "
        + (
            f"(people, {plan.pilot:,} labelled answers)"
            if plan.pilot
            else "(the judge's; a pilot of 30 labelled answers would tell people's)"
        )
    ]
    if plan.alone is None and plan.with_judge is None:
        return "\n".join([
            *lines,
            f"± {half:g} cannot be reached: labels of all answers give ± {plan.least:.2f}; more "
            "queries are needed",
        ])  # fmt: skip
    alone = "more than there are answers" if plan.alone is None else f"{plan.alone:,}"
    lines.append(f"± {half:g} needs {alone} labelled answers without the judge")
    if plan.correlation is None:
        lines.append(
            "what the judge saves is not known without its correlation with people (a pilot with "
            "score --labels tells it; or guess with --correlation)"
        )
    elif plan.with_judge is not None and plan.with_judge == plan.alone:
        lines.append(
            f"the judge saves nothing: its values have correlation {plan.correlation:.2f} with "
            "people's"
        )
    else:
        needed = "more than there are" if plan.with_judge is None else f"{plan.with_judge:,}"
        lines.append(f"± {half:g} needs {needed} with it (correlation {plan.correlation:.2f})")
    return "\n".join(lines)


def render_calibration(result: Calibration) -> str:
    """What ``labels calibrate`` prints."""
    r = result.rates
    lines = [
        f"judge {result.judge} against {result.n:,} statements of {result.n_answers:,} answers",
        f"  sensitivity  {r.sensitivity:.4f} ± {r.sensitivity_stderr:.4f} (of supported, found)",
        f"  specificity  {r.specificity:.4f} ± {r.specificity_stderr:.4f} (of others, found)",
        f"  accuracy     {result.accuracy:.4f}",
        f"  kappa        {result.kappa:.4f}",
        f"  failures     {result.n_failed:,}",
        *(f"  accuracy in {name}: {value:.4f}" for name, value in result.by_system.items()),
    ]
    if not math.isnan(result.drift):
        lines.append(f"  drift between systems: p = {result.drift:.4f} (chi-squared)")
    if r.sensitivity + r.specificity <= 1:
        lines.append("  no better than chance: it corrects nothing")
    return "\n".join(lines)
