"""What must hold between the cells of a bundle."""

from pydantic import ValidationError

from citeforge.builders.packaging.verify import Problems
from citeforge.package.package import Package
from citeforge.plugins.bundles import design
from citeforge.schemas.benchmarks.tables import RELEVANT


def wrong_bundle(package: Package) -> Problems:
    """Cells that are not those of the manifest, or do not differ as they must."""
    try:
        bundle = design.bundle_of(package.manifest)
    except (KeyError, ValidationError) as error:
        yield "manifest.json", f"config.bundle cannot be read ({str(error).splitlines()[0]})"
        return
    if list(bundle.cells) != package.contexts:
        yield "manifest.json", "the cells of config.bundle are not the context sets"
        return
    cells = {c: package.context_table(c)["docs"].to_pylist() for c in bundle.cells}
    if len({len(rows) for rows in cells.values()}) != 1:
        yield "contexts", "its cells are of different queries"
        return
    for row in range(len(package.query_ids)):
        docs = {c: rows[row] for c, rows in cells.items()}
        if wrong := _difference(docs):
            yield f"contexts/{wrong[0]}", f"query {package.query_ids[row]!r}: {wrong[1]}"


def _difference(docs: dict[str, list[dict[str, str]]]) -> tuple[str, str] | None:
    first = next(iter(docs.values()))
    if design.RELATED in docs and any(d["label"] == RELEVANT for d in docs[design.RELATED]):
        return design.RELATED, "shows a relevant passage"
    for cell in (design.REMOVED, design.DECOY):
        if cell in docs:
            pairs = zip(docs[design.ORIGINAL], docs[cell], strict=False)
            if len(docs[design.ORIGINAL]) != len(docs[cell]) or sum(a != b for a, b in pairs) != 1:
                return cell, "differs from original in other than one place"
    if design.rotation_name(0) in docs:
        for shift, rotated in enumerate(docs.values()):
            at = len(first) - shift
            if rotated != first[at:] + first[:at]:
                return design.rotation_name(shift), "is no rotation of the first cell"
    elif any(len(rows) != len(first) for rows in docs.values()):
        return next(iter(docs)), "shows another number of passages than the other cells"
    return None
