"""How published files become numbers: one reader a kind of file, found by its name."""

from __future__ import annotations

from citeforge.plugins.reproduce.readers.attributed_ir import read_air_answers, read_air_questions
from citeforge.plugins.reproduce.readers.comparisons import read_comparisons
from citeforge.plugins.reproduce.readers.graphs import read_graphs
from citeforge.plugins.reproduce.readers.judgements import read_judgements
from citeforge.plugins.reproduce.readers.lists import read_list
from citeforge.plugins.reproduce.readers.reader import Reader
from citeforge.schemas.errors import UnknownValueError

READERS: dict[str, Reader] = {
    "attributed-ir": read_air_answers,
    "hagrid": read_air_questions,
    "judgements": read_judgements,
    "kalma": read_graphs,
    "preferences": read_comparisons,
    "rows": read_list,
}


def find_reader(name: str) -> Reader:
    """A reader by its name.

    Raises:
        UnknownValueError: there is none.
    """
    if name not in READERS:
        raise UnknownValueError("reader", name, READERS)
    return READERS[name]
