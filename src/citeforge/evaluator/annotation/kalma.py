"""Questions and facts of a KaLMA benchmark for annotators (KaLMA, appendix C.1)."""

from __future__ import annotations

from pathlib import Path

from citeforge.engines.draws import sample_ids
from citeforge.engines.tables import read_table, shard_paths
from citeforge.evaluator.annotation.export import Row, Sheet
from citeforge.evaluator.annotation.tasks import Task
from citeforge.package.manifest import load_intact
from citeforge.schemas.errors import InputError
from citeforge.schemas.kg import KG_GOLD
from citeforge.schemas.tables import QUERIES


def kalma_rows(
    task: Task, folder: Path, sample: int | None, seed: int
) -> tuple[list[Row], dict[str, dict[str, object]]]:
    """Rows of both forms of each sampled question; or of its facts, one a row.

    Returns:
        (rows, key by item: query_id, form, and the fact).

    Raises:
        InputError: another kind of benchmark, or no facts.
    """
    manifest = load_intact(folder)
    if manifest.kind != "kalma":
        raise InputError(
            f"is a {manifest.kind} benchmark", path=folder, allowed="a kalma benchmark"
        )
    gold: dict[str, list[dict[str, str]]] = {}
    for row in read_table(shard_paths(folder / "gold", "gold"), KG_GOLD).to_pylist():
        gold.setdefault(row["query_id"], []).append(row)
    if task.unit == "knowledge" and not gold:
        raise InputError("has no minimum knowledge sets", path=folder)
    sheet = Sheet(task, seed)
    for form in ("specific", "general"):
        table = read_table(shard_paths(folder / "queries", form), QUERIES)
        texts = dict(zip(table["_id"].to_pylist(), table["text"].to_pylist(), strict=True))
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
