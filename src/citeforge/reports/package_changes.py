"""Differences between two packages, as tables and notes for people to read."""

from collections.abc import Iterator, Sequence

from citeforge.engines.report_table import Table, folded_note
from citeforge.engines.shown import show_percent
from citeforge.schemas.package_changes import PackageChanges, StillAnswered, TableChanges
from citeforge.schemas.text import printable

_MOST_NAMED = 5
"""Names that a table for readers lists of each change; JSON and CSV have all."""
TITLE = "Changes from {old} to {new}"


def summary_tables(changes: PackageChanges, most: int = _MOST_NAMED) -> Iterator[Table]:
    """Make the tables of a comparison: numbers, names, and answers that are still valid.

    Args:
        changes: comparison of two packages.
        most: number of names that are listed of each change.
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
            [(*key, f"{len(names):,}", _list_names(names, most)) for *key, names in named],
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
        reasons = [row for one in changes.answers for row in _list_reasons(one, most)]
        if reasons:
            yield Table(
                ["context", "reason", "number", "which"], reasons,
                left=4, title="Answers to what is shown in another way", keys=2,
            )  # fmt: skip


def _count_rows(part: TableChanges) -> Sequence[object]:
    """Make the row of numbers of one table or context set."""
    n_changed = part.n_old - len(part.removed) - part.n_same
    numbers = (part.n_old, part.n_new, part.n_same, len(part.added), len(part.removed), n_changed)
    return [part.name, *(f"{n:,}" for n in numbers)]


def list_changes(changes: PackageChanges) -> Iterator[tuple[str, str, Sequence[str]]]:
    """Yield (table, change, names of its rows) of all changes."""
    for part in (*changes.tables, *changes.contexts):
        every = {"added": part.added, "removed": part.removed, **part.changed}
        yield from ((part.name, change, names) for change, names in every.items() if names)


def _list_reasons(one: StillAnswered, most: int) -> Iterator[Sequence[object]]:
    """Yield the rows of a context set's answers that are to something else."""
    for reason, queries in one.changed.items():
        yield one.context, reason, f"{len(queries):,}", _list_names(queries, most)


def _list_names(names: Sequence[str], most: int) -> str:
    """List the first names, and the number of others."""
    more = len(names) - most
    shown = (name if name.isprintable() else printable(name) for name in names[:most])
    return ", ".join(shown) + (f", and {more:,} more" if more > 0 else "")


def list_notes(changes: PackageChanges) -> list[str]:
    """List the settings that differ, and tables whose rows are in another order."""
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
    """Render what ``compare`` prints for two packages.

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
