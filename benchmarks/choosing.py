"""Which measures agree: with each other on real answers, and with what people said of answers."""

import json
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from scipy.stats import mannwhitneyu, spearmanr

import citeforge as cf
from citeforge.builders.alce.frozen import build_hagrid
from citeforge.plugins.published_measures.quantities import Quantities, read_quantities
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import RunOptions

MEASURES = (
    "CiteP", "CiteR", "ALCE.CitRec", "ALCE.CitPrec", "Numbers", "Numbers.Shown", "Quotes.Shown",
    "Placement.PerStatement", "Placement.Last", "ROUGE-Lsum.F", "Length",
)  # fmt: skip
LEAST = 20
"""Answers that define both measures, or have each label, for a figure."""
_MARK = re.compile(r"\s*\[\d+\](?: https?://\S+)?")
SUPPORTED = {"Complete": True, "Partial": True, "Incomplete": False, "Missing": False}
Values = Mapping[str, Sequence[float]]


def correlate(values: Values) -> list[str]:
    """Rows of a table of Spearman's ρ over answers, with measures as heads and rows."""
    rows = [f"| | {' | '.join(f'`{m}`' for m in values)} |", "| --- |" + " --- |" * len(values)]
    for one in values:
        cells = []
        for other in values:
            pairs = np.array([values[one], values[other]])
            pairs = pairs[:, ~np.isnan(pairs).any(axis=0)]
            is_fixed = pairs.shape[1] < LEAST or (np.ptp(pairs, axis=1) == 0).any()
            cells.append("–" if is_fixed else _show(spearmanr(*pairs).statistic))
        rows.append(f"| `{one}` | {' | '.join(cells)} |")
    return rows


def rank_labels(values: Sequence[float], labels: Sequence[bool]) -> str:
    """Share of pairs of a right and a wrong answer that a measure ranks so (AUC), and how many."""
    defined = [(v, is_right) for v, is_right in zip(values, labels, strict=True) if v == v]
    right, wrong = ([v for v, r in defined if r is side] for side in (True, False))
    if min(len(right), len(wrong)) < LEAST or len({v for v, _ in defined}) == 1:
        return f"– ({len(right)} and {len(wrong)})"
    area = mannwhitneyu(right, wrong).statistic / (len(right) * len(wrong))
    return f"{_show(area)} ({len(right)} and {len(wrong)})"


def _show(value: float) -> str:
    """A coefficient or share as the page has it: ``.62``, ``−.19``, ``1.00``."""
    return f"{value:z.2f}".replace("0.", ".", 1).replace("-", "−")


def compute(lines: Sequence[Mapping[str, object]], benchmark: cf.Benchmark, context: str) -> Values:
    """Values of each measure for the queries that the lines answer."""
    scores = cf.score(lines, benchmark, MEASURES, judge="lexical", context=context)
    for left_out in scores.not_computed:
        print(f"not computed: {left_out.name}: {left_out.reason}")
    answered = {str(line["query_id"]) for line in lines}
    kept = [i for i, query in enumerate(benchmark.query_ids) if query in answered]
    return {m.name: [_number(m.per_query[i]) for i in kept] for m in scores.file.measures}


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def gold_answers(path: Path) -> list[tuple[list[dict[str, object]], list[bool]]]:
    """HAGRID's first answers to its questions with labels of attribution, its second ones, …"""
    groups: list[tuple[dict[str, dict[str, object]], dict[str, bool]]] = []
    for text in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(text)
        for number, answer in enumerate(row["answers"]):
            if answer["attributable"] is None:
                continue
            if number >= len(groups):
                groups.append(({}, {}))
            query = str(row["query_id"])
            groups[number][0][query] = {"query_id": query, "output": answer["answer"]}
            groups[number][1][query] = bool(answer["attributable"])
    return [([*lines.values()], [*labels.values()]) for lines, labels in groups]


def expert_claims(path: Path) -> tuple[list[float], list[bool]]:
    """Share of each claim's numbers in its evidence, and whether experts call it supported."""
    values, labels = [], []
    for line in path.read_text(encoding="utf-8").splitlines():
        for claim in json.loads(line)["claims"]:
            text = _MARK.sub("", claim["claim"])
            found = read_quantities(text, only_sure=True)
            if claim["support"] in SUPPORTED and claim["evidence"] and found:
                there = Quantities("\n".join(_MARK.sub("", e) for e in claim["evidence"]))
                values.append(sum(quantity in there for quantity in found) / len(found))
                labels.append(SUPPORTED[claim["support"]])
    return values, labels


def main() -> None:
    """Print the tables of docs/choosing.md."""
    data = Path(os.environ["CITEFORGE_REAL_DATA"])
    with TemporaryDirectory() as folder:
        hagrid, out = data / "hagrid" / "dev.jsonl", Path(folder) / "hagrid"
        build_hagrid(HagridRecipe(source=f"hagrid:{hagrid}"), RunOptions(out=out))
        benchmark = cf.load(out)
        text = (data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl").read_text(encoding="utf-8")
        answers = [json.loads(line) for line in text.splitlines()]
        print("\n".join(correlate(compute(answers, benchmark, "own"))))
        values: dict[str, list[float]] = {name: [] for name in MEASURES}
        labels: list[bool] = []
        for lines, judged in gold_answers(hagrid):
            order = {str(line["query_id"]): at for at, line in enumerate(lines)}
            asked = [order[q] for q in benchmark.query_ids if q in order]
            found = compute(lines, benchmark, "gold")
            labels += [judged[at] for at in asked]
            for name, column in values.items():
                column += found.get(name, [math.nan] * len(asked))
    for name, column in values.items():
        print(f"| `{name}` | {rank_labels(column, labels)} |")
    claims = expert_claims(data / "expertqa" / "val.jsonl")
    print(f"| `Numbers` of ExpertQA's claims | {rank_labels(*claims)} |")


if __name__ == "__main__":
    main()
