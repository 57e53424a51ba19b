"""Reader of BioKaLMA's published questions and graphs, which counts what they contain."""

from collections.abc import Sequence
from typing import Any

from citeforge.ir_convert.kalma import read_entries
from citeforge.plugins.reproduce.reader import FileGroups, ReaderTools, Values, only_file
from citeforge.schemas.errors import UnknownValueError
from citeforge.schemas.recipes.base import Part, checked


def read_graphs(
    files: FileGroups, options: dict[str, Any], wanted: Sequence[str], tools: ReaderTools
) -> Values:
    """Count BioKaLMA's ``entries``, distinct ``people``, or distinct ``values of RELATION``."""
    checked(Part, **options)
    paths = only_file(files, "kalma")
    entries = read_entries(paths[0])
    graphs = {graph.qid: graph for entry in entries for graph in entry.graphs}
    counts: dict[str, float] = {"entries": len(entries), "people": len(graphs)}
    for name in wanted:
        relation = name.removeprefix("values of ")
        if name not in counts and relation == name:
            raise UnknownValueError("statistic", name, ("entries", "people", "values of RELATION"))
        if relation != name:
            triples = (t for graph in graphs.values() for t in graph.triples)
            counts[name] = len({t.value for t in triples if t.relation == relation})
    return {name: counts[name] for name in wanted}
