"""Questions and facts of a KaLMA benchmark for annotators (KaLMA, appendix C.1)."""

from __future__ import annotations

from citeforge.engines.draws import sample_ids
from citeforge.evaluator.labels.annotation.export import Sheet, SheetRow
from citeforge.evaluator.labels.annotation.tasks import AnnotationTask
from citeforge.package.items import by_query, pairs
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError


def kalma_rows(
    task: AnnotationTask, package: Package, sample: int | None, seed: int
) -> tuple[list[SheetRow], dict[str, dict[str, object]]]:
    """Rows of both forms of each sampled question; or of its facts, one a row.

    Returns:
        (rows, key by item: query_id, form, and the fact).

    Raises:
        InputError: no facts.
    """
    gold = by_query(package.gold.to_pylist())
    if task.unit == "knowledge" and not gold:
        raise InputError("has no minimum knowledge sets", path=package.folder)
    sheet = Sheet(task, seed)
    for form, table in package.forms.items():
        texts = dict(pairs(table["_id"], table["text"]))
        ids = list(texts)
        chosen = ids if sample is None else sample_ids(ids, sample, seed, "annotate kalma")
        for query in chosen:
            units: list[dict[str, object]] = [{"query_id": query, "form": form}]
            if task.unit == "knowledge":
                units = [
                    {**units[0], "fact": f"{f['name']}, {f['relation']}: {f['value']}"}
                    for f in gold.get(query, [])
                ]
            for where in units:
                shown = {"question": texts[query]}
                if "fact" in where:
                    shown["fact"] = str(where["fact"])
                sheet.add(where, shown)
    return sheet.shuffled()
