"""Sentences of a gate decision: what was found in a row, what decided it, what would help."""

from citeforge.engines.shown import show_interval, show_number, show_p_equation, show_percent
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.gate_findings import (
    AboveBound,
    FewDefined,
    FewQueries,
    Finding,
    MeasureTest,
    NoBaseline,
    NoCounterpart,
    NoInterval,
    NotComparable,
    NotComputed,
    Remedy,
    RequiredValue,
    Row,
    SameSubmission,
    Tested,
    WithinBounds,
)
from citeforge.evaluator.gate_remedies import POWER
from citeforge.evaluator.gate_rows import describe_file
from citeforge.reports.notes import REFUSED, UNCITED

_COUNTED = {
    "missing": ("missing answers", "{n} of {of} answers are missing"),
    "judge_failed": ("failures of the judge", "the judge failed on {n} pairs"),
    "truncated": ("truncated answers", "{n} of {of} answers were cut at the token limit"),
    "empty": ("empty answers", "{n} of {of} answers are empty"),
    "unparsed": ("unread marks", "{n} of {of} answers have a mark that could not be read"),
    "uncited": ("answers without citation", UNCITED),
    "refused": ("refusals", REFUSED),
    "out_of_range": (
        "citations out of range", "{n} of {of} answers cite a passage that was not shown"
    ),
}  # fmt: skip
"""Name of a bound to the title of its row, and what is wrong."""
_REMEDIES: dict[Remedy, str] = {
    "margin": "no number of queries shows that nothing at all was lost: allow a margin",
    "verdicts": "no number of queries makes up for them: judge these pairs again",
    "labels": "more labelled answers make the interval narrower",
    "runs": "no number of queries makes up for that: score more runs",
}


def row_title(row: Row) -> str:
    """Get the title of a gate's row: a measure's name, or a count such as "missing answers"."""
    return _COUNTED[row.what][0] if isinstance(row.finding, AboveBound) else row.what


def write_sentence(row: Row) -> str:
    """Write a sentence on one measure, count or required query of a gate: result and reason."""
    finding: Finding = row.finding
    match finding:
        case Tested():
            return _describe_test(finding)
        case SameSubmission(sha256):
            return (
                f"{row.what}: the same answers as the baseline's (sha256 {sha256[:8]}…): nothing "
                "is worse."
            )
        case NotComputed(system, reason):
            why = f": {reason}" if reason else "; score it with --measures"
            return f"{row.what} was not computed for {system}{why}."
        case NotComparable(message):
            return f"{message}. Score both in the same way."
        case FewDefined(system, n_baseline, n_both):
            return (
                f"{row.what} is defined on {n_baseline:,} queries for the baseline, and on "
                f"{n_both:,} of them for {system}."
            )
        case FewQueries(n, least):
            return f"{row.what}: has {count_text(n, 'query')}; {least:,} needed."
        case NoInterval():
            return f"{row.what} has no interval."
        case NoBaseline():
            return (
                "There is no baseline yet, so that nothing can be compared; to begin, keep the "
                "scores and the answers, and name the scores with --baseline in the next run."
            )
        case NoCounterpart():
            return _describe_lone_file(finding)
        case AboveBound(file, is_baseline, count, most):
            answers = file.counts.n_answered + file.counts.n_missing
            fault = _COUNTED[row.what][1].format(n=f"{count:,}", of=f"{answers:,}")
            whose = f"baseline {file.system}" if is_baseline else file.system
            return f"{whose}: {fault}; at most {most:,} allowed."
        case WithinBounds(file):
            c = file.counts
            return (
                f"{file.system}: {c.n_answered:,} of {c.n_answered + c.n_missing:,} answers, "
                f"{c.n_truncated:,} truncated, {c.n_judge_failed:,} failures of the judge."
            )
        case RequiredValue():
            return _describe_required(finding)


def _describe_lone_file(finding: NoCounterpart) -> str:
    """Write that a score file of the baseline or new system has no counterpart to compare."""
    scores = describe_file(finding.file)
    if finding.is_baseline:
        return (
            f"{scores} of the baseline has no counterpart among the new score files; score the "
            "new system there, too."
        )
    there = "; ".join(dict.fromkeys(map(describe_file, finding.others)))
    return f"The baseline has no scores for {scores}; it has {there}."


def _describe_required(finding: RequiredValue) -> str:
    """Write a required query's value and the bound it must keep, or that either is missing."""
    query, name, value = finding.query, finding.measure, finding.value
    if value is None or (finding.least is None and finding.most is None):
        whose = "the new system" if value is None else "a comparable baseline"
        return f"Query {query} has no value of {name} of {whose}."
    is_least = finding.least is not None
    bound = show_number(finding.least if is_least else finding.most)
    side = "at least" if is_least else "at most"
    return f"Query {query} has a {name} of {show_number(value)}; {side} {bound} is required."


def _describe_test(finding: Tested) -> str:
    """Write whether a measure's test shows a loss or none, with its numbers."""
    test, allowed = finding.test, show_number(finding.test.allowed)
    name, change = test.row.what, _describe_change(test, finding.p)
    match finding.conclusion:
        case "reported":
            return f"{name}: {change}."
        case "better":
            return f"{name} is better: {change}."
        case "not worse":
            return f"{name} is not worse by more than {allowed}: {change}."
        case "not shown worse":
            return f"{name} is not shown to be worse: {change}."
        case "worse":
            fall = -test.sign * (test.row.difference or 0.0)
            reason = (
                "" if fall > test.allowed
                else "a fall is shown, and one of up to "
                f"{show_number(test.worst_loss)} is not excluded; "
            )  # fmt: skip
            return f"{name} is worse: {change}; {reason}{allowed} less is allowed."
        case "unclear":
            return _describe_doubt(finding)


def _describe_doubt(finding: Tested) -> str:
    """Write why a measure is not shown to be no worse, and what would show it."""
    test = finding.test
    row, found, allowed = test.row, test.found, show_number(test.allowed)
    parts = [f"{row.what} may be worse by more than {allowed}: {_describe_change(test)}"]
    if not found.n_changed and not test.is_corrected:
        parts[0] = (
            f"{row.what}: 0 of {row.n:,} answers differ: a loss of up to "
            f"{show_number(test.worst_loss, 1)} points cannot be excluded; "
            f"{allowed} less is allowed"
            f"{_describe_failures(test)}"
        )
    if found.by_runs > 0 and not test.is_corrected:
        ends = [abs(end - found.value) for end in found.by_queries]
        width = show_number(ends[0] if test.sign > 0 else ends[1])
        parts.append(
            f"the interval reaches {width} down by queries alone, and "
            f"{show_number(found.by_runs)} by runs and verdicts"
        )
    if finding.n_needed is not None:
        parts.append(
            f"if nothing changed, about {finding.n_needed:,} queries would show it with "
            f"{show_percent(POWER)} power"
        )
    parts += [_REMEDIES[remedy] for remedy in finding.remedies]
    return "; ".join(parts) + "."


def _describe_change(test: MeasureTest, adjusted_p: float | None = None) -> str:
    """Write a measure's old and new value, difference, changed queries, and judge failures.

    Args:
        test: a measure's change.
        adjusted_p: adjusted p-value to write; None for none.
    """
    row = test.row
    after = "" if adjusted_p is None else f" ({show_p_equation(adjusted_p)} after Holm)"
    return (
        f"{show_number(row.baseline)} → {show_number(row.new)}, difference "
        f"{show_number(row.difference, sign='+')} {show_interval(row.low, row.high, sign='+')} "
        f"over {count_text(row.n, 'query')}, of which {test.found.n_changed:,} "
        f"{'differs' if test.found.n_changed == 1 else 'differ'}{after}"
        f"{_describe_failures(test)}"
    )


def _describe_failures(test: MeasureTest) -> str:
    """Write how far the judge's failures could move a difference, in points; empty without any."""
    words = ("lower", "raise") if test.sign > 0 else ("raise", "lower")
    moves = [
        f"{word} it by {show_number(most)}{more}"
        for word, most, more in zip(words, test.doubts, (" more", ""), strict=True) if most > 0
    ]  # fmt: skip
    old, new = test.failures
    return (
        f"; {old:,} and {new:,} failures of the judge (baseline and new) could {' or '.join(moves)}"
        if moves
        else ""
    )
