"""The catalogue: everything that users can name, joined from the folders that declare it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol, cast, get_args

import click

from citeforge.cli.command import Root
from citeforge.schemas.catalogue import Named, Sort, listed
from citeforge.schemas.errors import EXTRAS

Rows = Mapping[str, Named]
"""Rows of a sort, by name."""


class _Rows(Protocol):
    """Catalogue of one sort."""

    def all(self) -> Rows:
        """Map all names of a sort, such as judges, to their declarations; imports plugins."""

    def names(self) -> Mapping[str, str]:
        """Map all names of a sort, such as judges, to plugins ("" if built in); imports none."""


class _Measures:
    """Catalogue of measures."""

    def all(self) -> Rows:
        """Map the names of all measures to their records."""
        from citeforge.evaluator.measures.registry import measures

        return measures()

    def names(self) -> Mapping[str, str]:
        """Map the names of all measures to the names of their plugins ("" if built in)."""
        from citeforge.evaluator.measures.registry import measures

        return {name: measure.origin or "" for name, measure in measures().items()}


def find_catalogue(sort: Sort) -> _Rows:
    """Import the catalogue (list of names) of one sort, such as judges, formats or commands.

    That of commands is known where the program runs.
    """
    match sort:
        case "sources":
            from citeforge.ir_convert.registry import SOURCES

            return SOURCES
        case "kinds":
            from citeforge.package.kinds import KINDS

            return KINDS
        case "formats":
            from citeforge.evaluator.submissions.formats import FORMATS

            return FORMATS
        case "exports":
            from citeforge.publishing.export import EXPORTS

            return EXPORTS
        case "judges":
            from citeforge.engines.running.names import JUDGES

            return JUDGES
        case "embedders":
            from citeforge.engines.running.names import EMBEDDERS

            return EMBEDDERS
        case "llms":
            from citeforge.engines.running.names import LLMS

            return LLMS
        case "writers":
            from citeforge.engines.running.names import WRITERS

            return WRITERS
        case "checkers":
            from citeforge.engines.running.names import CHECKERS

            return CHECKERS
        case "retrievers":
            from citeforge.engines.running.names import RETRIEVERS

            return RETRIEVERS
        case "rerankers":
            from citeforge.engines.running.names import RERANKERS

            return RERANKERS
        case "fusions":
            from citeforge.engines.retrieval.fusion import FUSIONS

            return FUSIONS
        case "perplexity":
            from citeforge.engines.running.names import PERPLEXITY

            return PERPLEXITY
        case "segmenters":
            from citeforge.engines.running.names import SEGMENTERS

            return SEGMENTERS
        case "graphs":
            from citeforge.kg.engines import GRAPHS

            return GRAPHS
        case "runners":
            from citeforge.engines.running.runners import RUNNERS

            return RUNNERS
        case "systems":
            from citeforge.systems.registry import SYSTEMS

            return SYSTEMS
        case "plots":
            from citeforge.reports.pages.names import PLOTS

            return PLOTS
        case "trackers":
            from citeforge.publishing.tracking import TRACKERS

            return TRACKERS
        case "commands":
            # Commands have options, whose names are looked up here: their rows are above.
            root = click.get_current_context().find_root().command
            return cast(Root, root).catalogue
        case "measures":
            return _Measures()


SORTS: tuple[Sort, ...] = get_args(Sort)
_SORT = re.compile(rf"{{({'|'.join(SORTS)})}}")


@dataclass(frozen=True)
class Entry:
    """One row as ``citeforge list`` shows it.

    Attributes:
        name: part before a colon.
        form: what users type.
        help: description in one line.
        plugin: name and version of the plugin that declares it; empty for a built-in row.
        family: heading that it is listed under; empty for none.
        notes: what it needs, and where it is described.
        facts: further descriptions, by name.
    """

    name: str
    form: str
    help: str
    plugin: str
    family: str
    notes: tuple[str, ...]
    facts: dict[str, str]


def rows_of(sort: Sort) -> Rows:
    """Map the names of a sort, such as judges, to their declarations; import plugins."""
    return find_catalogue(sort).all()


def fill_names(text: str) -> str:
    """Replace placeholders such as ``{judges}`` in a help text by the names users can choose."""
    return _SORT.sub(lambda found: listed(rows_of(found[1]).values()), text)  # type: ignore[arg-type]


def list_entries(sort: Sort) -> list[Entry]:
    """Describe all names of a sort, such as judges, for ``citeforge list``, by heading."""
    catalogue = find_catalogue(sort)
    plugins = catalogue.names()
    entries = [_describe(row, plugins.get(name, "")) for name, row in catalogue.all().items()]
    families = dict.fromkeys(entry.family for entry in entries)
    return [entry for family in families for entry in entries if entry.family == family]


def _describe(row: Named, plugin: str) -> Entry:
    """Describe one name (a judge, format, …) as ``citeforge list`` shows it: use, needs, source.

    Args:
        row: row of a catalogue.
        plugin: plugin that declares it; empty for a built-in row.
    """
    needs: str = getattr(row, "needs", "")
    notes = (
        getattr(row, "where", ""),
        f"needs {f'citeforge[{EXTRAS[needs][0]}]' if needs in EXTRAS else needs}" if needs else "",
        "needs an LLM" if getattr(row, "llm", False) and not getattr(row, "argument", "") else "",
    )
    names = ("splits", "becomes", "licence")
    facts = {name: str(getattr(row, name)) for name in names if hasattr(row, name)}
    if facts:
        facts = {"argument": getattr(row, "argument", ""), **facts}
    return Entry(
        row.name, row.form, row.help, plugin, getattr(row, "family", ""),
        tuple(filter(None, notes)), facts,
    )  # fmt: skip
