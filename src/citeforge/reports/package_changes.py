"""Differences between two packages, as tables and notes for people to read."""

from collections.abc import Iterator, Sequence

from citeforge.engines.report_table import Table, folded_note
from citeforge.engines.shown import show_percent
from citeforge.schemas.package_changes import PackageChanges, StillAnswered, TableChanges
from citeforge.schemas.text import printable

_MOST_NAMED = 5
"""Names that a table for readers lists of each change; JSON and CSV have all."""
TITLE = "Changes from {old} to {new}"


def summary_tables(changes: PackageChanges, max_names: int = _MOST_NAMED) -> Iterator[Table]:
    """Make tables of two packages' differences: counts, ids of rows, answers still valid.

    Args:
        changes: comparison of two packages.
        max_names: number of names that are listed of each change.
    """
    yield Table(
        ["", "old", "new", "same", "added", "removed", "changed"],
        [_count_rows(part) for part in (*changes.tables, *changes.contexts)],
        title="Rows",
    )
    named = list(list_changes(changes))
    if named:
        yield Table(
            ["", "change", "number", "which"],
            [(*key, f"{len(names):,}", list_names(names, max_names)) for *key, names in named],
            left=4, title="Changes", keys=2,
        )  # fmt: skip
    if changes.answers:
        yield Table(
            ["context", "answered", "as shown", "share"],
            [
                (
                    one.context,
                    f"{one.n_answered:,}",
                    f"{len(one.as_shown):,}",
                    show_percent(one.share),
                )
                for one in changes.answers
            ],
            title=f"Answers of {changes.system} to queries that both packages show alike",
        )
        reasons = [row for one in changes.answers for row in _list_reasons(one, max_names)]
        if reasons:
            yield Table(
                ["context", "reason", "number", "which"], reasons,
                left=4, title="Answers to what is shown in another way", keys=2,
            )  # fmt: skip


def _count_rows(part: TableChanges) -> Sequence[object]:
    """Count a compared table's rows (old, new, same, added, removed, changed) as texts."""
    n_changed = part.n_old - len(part.removed) - part.n_same
    numbers = (part.n_old, part.n_new, part.n_same, len(part.added), len(part.removed), n_changed)
    return [part.name, *(f"{n:,}" for n in numbers)]


def list_changes(changes: PackageChanges) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (table, kind of change, ids of changed rows) of all differences of two packages."""
    for part in (*changes.tables, *changes.contexts):
        every = {"added": part.added, "removed": part.removed, **part.changed}
        yield from ((part.name, change, names) for change, names in every.items() if names)


def _list_reasons(answers: StillAnswered, max_names: int) -> Iterator[Sequence[object]]:
    """Yield table rows, one per reason why answers to a context set are no longer valid."""
    for reason, queries in answers.changed.items():
        yield answers.context, reason, f"{len(queries):,}", list_names(queries, max_names)


def list_names(names: Sequence[str], max_names: int) -> str:
    """Write the first names of a list, and how many more there are."""
    more = len(names) - max_names
    shown = (name if name.isprintable() else printable(name) for name in names[:max_names])
    return ", ".join(shown) + (f", and {more:,} more" if more > 0 else "")


def list_notes(changes: PackageChanges) -> list[str]:
    """Write notes on two packages: settings that differ, tables with rows in another order."""
    notes = [f"setting {text}" for text in changes.settings]
    notes += [
        f"{part.name}: rows of both packages are in another order"
        for part in changes.tables
        if part.is_reordered and part.n_old == part.n_new == part.n_same
    ]
    if changes.is_equal:
        notes.append("the packages have the same tables and contexts")
    return notes


def render_changes(changes: PackageChanges, width: int | None = None) -> str:
    """Render the differences of two packages as text, as ``compare`` prints them.

    Args:
        changes: comparison of two packages.
        width: width of the terminal; None for lines of any length.
    """
    parts = [folded_note(TITLE.format(old=changes.old, new=changes.new), width)]
    for number, table in enumerate(summary_tables(changes)):
        title = folded_note(f"{table.title}:", width) if number else []
        parts.append([*title, *table.text(width)])
    notes = [line for note in list_notes(changes) for line in folded_note(note, width)]
    return "\n\n".join("\n".join(lines) for lines in (*parts, notes) if lines)
