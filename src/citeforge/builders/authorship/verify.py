"""What must hold between the cells of an authorship benchmark, and between twins."""

from itertools import chain

import pyarrow as pa
from pydantic import ValidationError

from citeforge.builders.packaging.verify import Problems, missing_passages
from citeforge.engines.io.tables import rows_of
from citeforge.package.package import Package
from citeforge.schemas.benchmarks.authorship import design_of
from citeforge.schemas.benchmarks.tables import RELEVANT


def wrong_twins(package: Package) -> Problems:
    """Twins that the corpus lacks, and passages with two of them."""
    table = package.twins
    ids = [t for t in table["twin_id"].to_pylist() if t]
    if len(set(ids)) != len(ids) or len(set(table["_id"].to_pylist())) != table.num_rows:
        yield "twins", "a passage or a twin comes twice"
    for name in sorted(missing_passages(package, [pa.chunked_array([ids], pa.string())]))[:10]:
        yield "twins", f"names the twin {name!r}, which is not in corpus"


def wrong_cells(package: Package) -> Problems:
    """Cells that do not show the same passages in the same order, or are labelled wrongly."""
    try:
        design = design_of(package.manifest)
    except (KeyError, ValidationError) as error:
        yield "manifest.json", f"config.design cannot be read ({str(error).splitlines()[0]})"
        return
    if [c.context for c in design.cells] != package.contexts:
        yield "manifest.json", "the cells of config.design are not the context sets"
        return
    human_of = dict(rows_of(package.twins, "twin_id", "_id"))
    expected: list[list[str]] | None = None
    for cell in design.cells:
        table = package.context_table(cell.context)
        rows = table["docs"].to_pylist()
        humans = [[human_of.get(d["corpus-id"], d["corpus-id"]) for d in row] for row in rows]
        expected = expected or humans
        if humans != expected:
            yield f"contexts/{cell.context}", "shows other passages than the first cell"
        for doc in chain.from_iterable(rows):
            origin = cell.relevant_origin if doc["label"] == RELEVANT else cell.other_origin
            name = doc["corpus-id"]
            if (name in human_of) != (origin == "llm"):
                yield f"contexts/{cell.context}", f"passage {name!r} is not of origin {origin}"
        if cell.labels is None:
            continue
        authors = package.authors(cell.context)
        place = f"authors/{cell.context}"
        if authors["query_id"].to_pylist() != table["query_id"].to_pylist():
            yield place, "its queries are not those of the contexts"
            continue
        labels = design.label_set(cell.labels)
        for row, words in zip(rows, authors["labels"].to_pylist(), strict=True):
            sides = [cell.side(d["label"] == RELEVANT) for d in row]
            pools = [labels.first if side == "first" else labels.second for side in sides]
            if labels.by_lot:
                pools = [labels.first + labels.second] * len(row)
            if len(words) != len(row) or any(
                word not in pool for word, pool in zip(words, pools, strict=True)
            ):
                yield place, "a passage carries a label of the wrong side"
                break
