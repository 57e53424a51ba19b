"""What a plot declares: the core's in ``choose.py``, others in plugins."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from citeforge.plugins.plots.figure import Figure
from citeforge.schemas.scores import ScoreFile


def main_alone(files: Sequence[ScoreFile], main: str) -> Sequence[str]:
    """The main measure."""
    return (main,)


@dataclass(frozen=True)
class Plot:
    """A plot of score files.

    Attributes:
        name: as ``--plot`` takes it.
        shows: what it shows, in one line.
        needs: what score files must hold, for who asks for it without.
        make: called with score files, the best first, and the name of a measure; gives a figure, or
            None where the files do not hold what it shows.
        rank: place among the plots of a page, from the lowest.
        page_measures: called with score files and their main measure; gives the measures of which a
            page has the plot.
        write: writes what it shows in any format: (score files, format, title or None, measures or
            families) to the content of a file; None where it is a picture alone.
        of_cells: whether it shows scores of authorship benchmarks, whose pages have no other plots.
    """

    name: str
    shows: str
    needs: str
    make: Callable[[Sequence[ScoreFile], str], Figure | None]
    rank: int = 1000
    page_measures: Callable[[Sequence[ScoreFile], str], Sequence[str]] = main_alone
    of_cells: bool = False
    write: Callable[[Sequence[ScoreFile], str, str | None, Sequence[str]], bytes] | None = None
