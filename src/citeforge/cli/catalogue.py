"""The catalogue: everything that users can name, joined from the folders that declare it."""

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Protocol

from citeforge.schemas.catalogue import Named, Sort, listed
from citeforge.schemas.errors import EXTRAS

Rows = Mapping[str, Named]
"""Rows of a sort, by name."""


class _Rows(Protocol):
    """Catalogue of one sort."""

    def all(self) -> Rows:
        """Load all rows, by name."""

    def names(self) -> Mapping[str, str]:
        """Map each name to its plugin (empty for built-in ones), without importing any."""


class _Measures:
    """Catalogue of measures."""

    def all(self) -> Rows:
        """Load all measures, by name."""
        from citeforge.evaluator.measures.registry import measures

        return measures()

    def names(self) -> Mapping[str, str]:
        """Map each name to its plugin (empty for built-in ones)."""
        from citeforge.evaluator.measures.registry import measures

        return {name: measure.origin or "" for name, measure in measures().items()}


def _sources() -> _Rows:
    """Import the catalogue of sources."""
    from citeforge.ir_convert.registry import SOURCES

    return SOURCES


def _kinds() -> _Rows:
    """Import the catalogue of kinds of benchmark."""
    from citeforge.package.kinds import KINDS

    return KINDS


def _exports() -> _Rows:
    """Import the catalogue of exports."""
    from citeforge.publishing.export import EXPORTS

    return EXPORTS


def _formats() -> _Rows:
    """Import the catalogue of formats of prediction files."""
    from citeforge.evaluator.submissions.names import FORMATS

    return FORMATS


def _judges() -> _Rows:
    """Import the catalogue of judges."""
    from citeforge.engines.running.names import JUDGES

    return JUDGES


def _embedders() -> _Rows:
    """Import the catalogue of embedders."""
    from citeforge.engines.running.names import EMBEDDERS

    return EMBEDDERS


def _llms() -> _Rows:
    """Import the catalogue of LLMs."""
    from citeforge.engines.running.names import LLMS

    return LLMS


def _writers() -> _Rows:
    """Import the catalogue of writers: LLMs, and templates."""
    from citeforge.engines.running.names import WRITERS

    return WRITERS


def _checkers() -> _Rows:
    """Import the catalogue of checks of questions: LLMs, and a rule."""
    from citeforge.engines.running.names import CHECKERS

    return CHECKERS


def _retrievers() -> _Rows:
    """Import the catalogue of retrievers."""
    from citeforge.engines.running.names import RETRIEVERS

    return RETRIEVERS


def _perplexity() -> _Rows:
    """Import the catalogue of perplexity models."""
    from citeforge.engines.running.names import PERPLEXITY

    return PERPLEXITY


def _segmenters() -> _Rows:
    """Import the catalogue of segmenters."""
    from citeforge.engines.running.names import SEGMENTERS

    return SEGMENTERS


def _graphs() -> _Rows:
    """Import the catalogue of knowledge graphs."""
    from citeforge.kg.engines import GRAPHS

    return GRAPHS


def _runners() -> _Rows:
    """Import the catalogue of runners."""
    from citeforge.engines.running.names import RUNNERS

    return RUNNERS


def _systems() -> _Rows:
    """Import the catalogue of systems."""
    from citeforge.systems.registry import SYSTEMS

    return SYSTEMS


def _measures() -> _Rows:
    """Make the catalogue of measures."""
    return _Measures()


CATALOGUES: dict[Sort, Callable[[], _Rows]] = {
    "sources": _sources,
    "kinds": _kinds,
    "formats": _formats,
    "exports": _exports,
    "judges": _judges,
    "embedders": _embedders,
    "llms": _llms,
    "writers": _writers,
    "checkers": _checkers,
    "retrievers": _retrievers,
    "perplexity": _perplexity,
    "segmenters": _segmenters,
    "graphs": _graphs,
    "runners": _runners,
    "systems": _systems,
    "measures": _measures,
}
"""Sort to the function that imports its rows."""
_SORT = re.compile(rf"{{({'|'.join(CATALOGUES)})}}")


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

    def to_json(self) -> dict[str, Any]:
        """Convert to an object of ``citeforge list SORT --json``."""
        return asdict(self)


def rows_of(sort: Sort) -> Rows:
    """List everything of a sort that users can name; plugins that declare some are imported."""
    return CATALOGUES[sort]().all()


def fill_names(text: str) -> str:
    """Replace ``{judges}`` and its like in a help text by the names of that sort."""
    return _SORT.sub(lambda found: listed(rows_of(found[1]).values()), text)  # type: ignore[arg-type]


def list_entries(sort: Sort) -> list[Entry]:
    """Describe all rows of a sort, those of a family together."""
    catalogue = CATALOGUES[sort]()
    plugins = catalogue.names()
    entries = [_describe(row, plugins.get(name, "")) for name, row in catalogue.all().items()]
    families = dict.fromkeys(entry.family for entry in entries)
    return [entry for family in families for entry in entries if entry.family == family]


def _describe(row: Named, plugin: str) -> Entry:
    """Describe a row, with the facts that only rows of its sort have."""
    needs: str = getattr(row, "needs", "")
    notes = (
        getattr(row, "where", ""),
        f"needs {f'citeforge[{EXTRAS[needs][0]}]' if needs in EXTRAS else needs}" if needs else "",
        "needs an LLM" if getattr(row, "llm", False) else "",
    )
    names = ("splits", "becomes", "licence")
    facts = {name: str(getattr(row, name)) for name in names if hasattr(row, name)}
    if facts:
        facts = {"argument": getattr(row, "argument", ""), **facts}
    return Entry(
        row.name, row.form, row.help, plugin, getattr(row, "family", ""),
        tuple(filter(None, notes)), facts,
    )  # fmt: skip
