"""Sentences on what audits found: estimated shares, form of passages, degenerate systems."""

from citeforge.engines.shown import show_amount, show_interval, show_number, show_percent
from citeforge.schemas.audit import EstimatedShare, Exploits
from citeforge.schemas.form import EVERYTHING, FormAudit


def write_estimate(share: EstimatedShare) -> str:
    """Write an estimated share in per cent with its 95 % interval: ``4.0 % [1.1, 9.9]``."""
    interval = show_interval(100 * share.low, 100 * share.high, 1)
    return f"{show_percent(share.share, 1)} {interval}"


def form_findings(audit: FormAudit) -> list[str]:
    """Write which features (length, …) reveal relevant passages, if any, or why none was tested."""
    if audit.not_audited:
        return [f"the form of the passages was not audited: {audit.not_audited}"]
    telling = sorted((test for test in audit.tests if test.tells), key=lambda test: test.p)
    named = [test for test in telling if test.feature != EVERYTHING] or telling
    if not named:
        return []
    test, *others = named
    also = "".join(f", {other.feature}" for other in others if other.feature != test.feature)
    return [
        f"the form of the passages tells labels: {test.feature}{also}. With {test.feature} a "
        f"learnt attacker ({test.attacker}) finds {test.with_texts:,} of {audit.relevant:,} "
        f"relevant passages, by shared words alone {audit.texts[test.attacker]:,}, by chance "
        f"{show_amount(audit.chance, 0)}. A larger corpus, or a larger --n-seemingly, offers more "
        "negatives of the same form"
    ]


def exploit_findings(exploits: Exploits) -> list[str]:
    """Write which degenerate systems (such as "copy all") reach an honest one, per measure."""
    values = {row.system: row.values for row in exploits.rows}
    every = dict.fromkeys(m for row in exploits.rows for m in row.values)
    measures = [m for m in every if m not in exploits.directions]
    silent = [m for m in measures if not any(r.values.get(m) for r in exploits.rows if r.is_honest)]
    return [
        f"{row.system} is at or above an honest system: "
        + "; ".join(
            f"{measure} {show_number(row.values[measure])} ("
            + ", ".join(f"{name} {show_number(values[name][measure])}" for name in names)
            + ")"
            for measure, names in row.reached.items()
        )
        for row in exploits.rows
        if row.reached
    ] + [
        f"{measure}: no honest system scores above 0 here, so that there is nothing to compare"
        for measure in silent
    ] or ["no degenerate system is at or above an honest one"]
