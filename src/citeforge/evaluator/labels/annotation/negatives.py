"""Mapped negatives for annotators: are they really not relevant?"""

from __future__ import annotations

from citeforge.builders.audit.cascade import UNSUSPECTED
from citeforge.builders.audit.flaws import mapped_negatives
from citeforge.builders.audit.records import Audit
from citeforge.builders.audit.run import sample_negatives
from citeforge.builders.recipes.derive import Base
from citeforge.engines.io.files import read_json
from citeforge.engines.io.textfiles import validated
from citeforge.evaluator.labels.annotation.export import Sheet, SheetRow
from citeforge.evaluator.labels.annotation.tasks import AnnotationTask
from citeforge.package.manifest import AUDIT
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError

DEFAULT = 200


def negative_rows(
    task: AnnotationTask, package: Package, sample: int | None, seed: int
) -> tuple[list[SheetRow], dict[str, dict[str, object]]]:
    """Rows of a sample of (query, negative) pairs.

    Where an audit of these tables had a strong judge, the sample is drawn within the strata that
    it left (suspects decided relevant, suspects cleared, the rest), else from all alike.

    Args:
        task: ``audit-negative``.
        package: benchmark.
        sample: pairs; None for 200.
        seed: seed of sample and order.

    Raises:
        InputError: the benchmark has no mapped negatives.
    """
    base = Base(package.folder, package.manifest)
    strata = _strata(base, package)
    pairs = sample_negatives(base, sample or DEFAULT, seed, strata)
    if not pairs:
        raise InputError("has no mapped negatives", path=package.folder)
    texts = base.texts({p for _, p in pairs})
    asked = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    sheet = Sheet(task, seed)
    for query, passage in pairs:
        title, text = texts[passage]
        shown = {"question": asked[query], "passage": f"{title}: {text}" if title else text}
        where: dict[str, object] = {"query_id": query, "passage": passage}
        if strata is not None:
            where["stratum"] = strata[query, passage]
        sheet.add(where, shown)
    return sheet.rows, sheet.key


def _strata(base: Base, package: Package) -> dict[tuple[str, str], str] | None:
    """Stratum of each negative, as the last audit left them; None where it left none."""
    path = package.folder / AUDIT
    if not path.is_file():
        return None
    found = validated(Audit, read_json(path), path)
    if found.cascade is None or found.benchmark_hash != package.hash:
        return None
    decided = {(d.query, d.passage): d.stratum for d in found.decisions}
    return {pair: decided.get(pair, UNSUSPECTED) for pair in mapped_negatives(base)}
