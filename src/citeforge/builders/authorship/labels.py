"""Label sets: the authors that prompts state for passages (section 3.1, appendices B, C)."""

import re
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from citeforge.builders.derive import Docs
from citeforge.engines.draws import generator
from citeforge.engines.tables import rows_of
from citeforge.engines.textfiles import read_yaml, validated
from citeforge.package.items import Labelling
from citeforge.package.package import Package
from citeforge.schemas.authorship import PLACEBO, Cell, LabelSet, parse_design
from citeforge.schemas.errors import InputError, UnknownValueError
from citeforge.schemas.tables import RELEVANT

_BUILT_IN = Path(__file__).parent / "data" / "label_sets.yaml"


@cache
def built_in_label_sets() -> dict[str, LabelSet]:
    """Read the built-in sets of author labels; map their names to them."""
    return {s.name: s for s in load_label_sets(_BUILT_IN)}


def load_label_sets(path: Path) -> list[LabelSet]:
    """Read sets of author labels from a YAML file: one mapping, or a list of them.

    Raises:
        InputError: not YAML, an unknown or missing field, or labels that both sides have.
    """
    content = read_yaml(path)
    rows = content if isinstance(content, list) else [content]
    label_sets = []
    for number, row in enumerate(rows, 1):
        if isinstance(row, dict):
            row = {k: [v] if k in ("first", "second") and isinstance(v, str) else v
                   for k, v in row.items()}  # fmt: skip
        label_sets.append(
            validated(
                LabelSet,
                row,
                path,
                part=f"label set {number}",
                allowed="name, first, second (a label or a list of them), and phrase with {label}, "
                "note, distinct",
            )
        )
    return label_sets


def choose_label_sets(
    chosen: Sequence[LabelSet | str], files: Sequence[Path]
) -> tuple[LabelSet, ...]:
    """Collect a build's sets of author labels: named ones and files'; two defaults if none.

    Raises:
        UnknownValueError: no such set.
        InputError: a name is used twice, or a file is wrong.
    """
    built_in = built_in_label_sets()
    sets = []
    for one in chosen or ([] if files else ["human_llm", PLACEBO]):
        if isinstance(one, str) and one not in built_in:
            raise UnknownValueError("label set", one, built_in)
        sets.append(built_in[one] if isinstance(one, str) else one)
    for path in files:
        sets += load_label_sets(path)
    names: set[str] = set()
    for labels in sets:
        # Names of files differ in more than case.
        if (name := labels.name.casefold()) in names or name == "vanilla":
            raise InputError(
                f"label set {labels.name!r}: duplicate or reserved name", code="duplicate-id"
            )
        names.add(name)
    return tuple(sets)


def require_enough_labels(labels: LabelSet, k: int) -> None:
    """Raise an error if distinct labels are fewer than ``k`` passages, on either side of a set.

    Raises:
        InputError: a context could not be labelled without a repeated label.
    """
    if not labels.distinct:
        return
    for side, pool in (("first", labels.first), ("second", labels.second)):
        if 1 < len(pool) < k:
            raise InputError(
                f"has {len(pool)} labels on the {side} side, and a context shows {k} passages",
                path=f"label set {labels.name}",
                allowed=f"at least {k} labels, distinct: false, or a smaller --k",
                code="too-few",
            )


def draw_labels(labels: LabelSet, query: str, size: int, seed: int) -> list[tuple[str, str]]:
    """Draw ``size`` pairs of a query's author labels, from both halves of a label set.

    Keyed by (seed, set, query): a passage that has the same side in two cells has the same label
    in both. In sets by lot a coin decides for each position which side is called first.
    """
    sides = []
    for name, pool in (("first", labels.first), ("second", labels.second)):
        rng = generator(seed, "authorship label", labels.name, name, query)
        if labels.distinct and len(pool) > 1:
            sides.append(rng.sample(pool, size))
        else:
            sides.append([rng.choice(pool) for _ in range(size)])
    pairs = list(zip(sides[0], sides[1], strict=True))
    if labels.by_lot:
        coin = generator(seed, "authorship lot", labels.name, query)
        pairs = [(a, b) if coin.random() < 0.5 else (b, a) for a, b in pairs]
    return pairs


def cell_labels(
    label_set: LabelSet, cell: Cell, docs: Mapping[str, Docs], seed: int
) -> list[dict[str, object]]:
    """Draw the author labels of an experimental condition's contexts: an AUTHORS row per query.

    Args:
        label_set: the set of labels.
        cell: a labelled cell.
        docs: query to the passages shown with it.
        seed: seed of the draws.
    """
    rows: list[dict[str, object]] = []
    for query, row in docs.items():
        drawn = draw_labels(label_set, query, len(row), seed)
        labels = [
            first if cell.side(doc["label"] == RELEVANT) == "first" else second
            for doc, (first, second) in zip(row, drawn, strict=True)
        ]
        rows.append({"query_id": query, "labels": labels})
    return rows


def read_labelling(package: Package, context: str) -> Labelling:
    """Read each passage's author label in a context set, and the note that explains labels.

    Args:
        package: an authorship benchmark.
        context: cell of its design.
    """
    design = parse_design(package.manifest.config)
    words = {w for s in design.label_sets for w in (*s.first, *s.second)}
    # A passage that says "[LLM]" of itself must not pass for labelled.
    own = re.compile(r"\[(" + "|".join(map(re.escape, sorted(words))) + r")\]")
    cell = design.find(context)
    if cell.labels is None:
        return Labelling(own=own)
    labels = design.label_set(cell.labels)
    table = package.authors(context)
    labels_of = {
        query: [labels.phrase.replace("{label}", w) for w in words]
        for query, words in rows_of(table, "query_id", "labels")
    }
    return Labelling(labels.note, labels_of, own)
