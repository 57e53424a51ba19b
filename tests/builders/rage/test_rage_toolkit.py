"""rage_toolkit, unchanged, runs on our package; our reference scores are its scores."""

import json
import random
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from rage_toolkit import AugmentedGenerationSystem, evaluate

from citeforge.builders.package import PackageWriter
from citeforge.builders.rage.build import build_rage
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.manifest import load_manifest
from citeforge.schemas.manifest import ContextSet
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.tables import CONTEXTS, LABELS
from conftest import offline_embedder
from scoring import score

FORMS = [
    "[{}]",
    "[{}][{}]",
    "[{}, {}]",
    "word [{}].",
    "[0]",
    "[99]",
    "[{}] and [12]",
    "nothing",
    "",
]


class Chatter(AugmentedGenerationSystem):
    """Writes marks of all kinds, words, and now and then a short answer."""

    def __init__(self, answers: list[str]) -> None:
        self.rng = random.Random(3)
        self.answers = answers

    def generate_answer(self, query_string: str, document_texts: list[str]) -> tuple[str, str]:
        numbers = self.rng.choices(range(1, len(document_texts) + 1), k=4)
        parts = [f.format(*numbers) for f in self.rng.choices(FORMS, k=3)]
        return "prompt", "  ".join([*parts, *self.rng.sample(self.answers, 5)])


def make_package(folder: Path, with_answers: bool) -> Path:
    """ALCE items give relevant passages with short answers, HAGRID's give none."""
    rng = random.Random(1)
    words = ["io", "europa", "titan", "triton", "iron", "gold", "tin", "zinc", "nile", "congo"]
    items = [
        {
            "id": str(i),
            "question": f"Which of these is number {i}?",
            "answers": [[words[i % 10]]],
            "docs": [
                {
                    "id": f"{i}-{j}",
                    "title": f"T{j}",
                    "text": f"{' '.join(rng.sample(words, 3))} {i} {j}",
                }
                for j in range(6)
            ]
            + [{"id": f"{i}-r", "title": "", "text": f"Here is {words[i % 10]}, {i}."}],
        }
        for i in range(40)
    ]
    path = folder / "items.json"
    path.write_text(json.dumps(items))
    build_rage(
        RageRecipe(source=f"alce:{path}", embedder="offline"),
        RunOptions(out=folder / "package"),
        offline_embedder(),
    )
    return folder / "package"


def load(package: Path, config: str, split: str, cache: Path) -> pd.DataFrame:
    """The way rage_toolkit's users load a data set."""
    import datasets

    return datasets.load_dataset(
        str(package), config, split=split, cache_dir=str(cache)
    ).to_pandas()


def test_equal_to_nine_digits(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    package = make_package(tmp_path, with_answers=True)
    cache = tmp_path / "cache"
    mapping = {label: load(package, "mapping", label, cache) for label in LABELS}
    words = ["io", "europa", "titan", "triton", "iron", "gold", "tin", "zinc", "congo", "Io"]
    # The toolkit draws from the global generators, which nobody else seeds.
    random.seed(5)
    np.random.seed(5)
    info, results = evaluate(
        Chatter(words),
        load(package, "queries", "queries", cache),
        load(package, "corpus", "corpus", cache),
        mapping["relevant"],
        mapping["irrelevant"],
        mapping["seemingly_relevant"],
        proportions_mix=(3, 3, 3),
    )
    capsys.readouterr()
    drawn, submission = freeze_what_was_drawn(package, info, tmp_path)
    names = ["CiteP", "CiteR", "Distinct", "Length", "ShortEM"]
    scores = score(
        submission, Benchmark(drawn), select(names), context="drawn", protocol="reference"
    )
    theirs = {
        "CiteP": results["cite_precision"],
        "CiteR": results["cite_recall"],
        "Distinct": results["num_cited_distinct"],
        "Length": results["answer_length"],
        "ShortEM": results["short-answer-exact-match"],
    }
    for measure in scores.measures:
        column = theirs[measure.name]
        assert measure.value is not None
        assert abs(measure.value / measure.scale - column.mean()) < 1e-9, measure.name
        for mine, other in zip(measure.per_query, column, strict=True):
            assert (mine is None) == bool(pd.isna(other))
            assert mine is None or abs(mine - other) < 1e-9
    assert {m.name for m in scores.measures} == set(theirs)
    # The comparison means something only if the outputs held what tells readers apart.
    answers = " ".join(info["answer"])
    assert re.search(r"\[99\]", answers)
    assert re.search(r"\[\d, \d\]", answers)
    assert 0 < results["short-answer-exact-match"].mean() < 1


def freeze_what_was_drawn(package: Path, info: pd.DataFrame, tmp_path: Path) -> tuple[Path, Path]:
    """A package with the toolkit's own mixture as its context set, and its answers."""
    relevant = dict(zip(info["query_id"], info["rel_doc_ids_for_query"], strict=True))
    seemingly = dict(zip(info["query_id"], info["semirel_doc_ids_for_query"], strict=True))
    rows = []
    lines = []
    for query, ids, answer in zip(info["query_id"], info["doc_ids"], info["answer"], strict=True):
        labels = [
            "relevant"
            if i in relevant[query]
            else "seemingly_relevant"
            if i in seemingly[query]
            else "irrelevant"
            for i in ids
        ]
        docs = [{"corpus-id": i, "label": n} for i, n in zip(ids, labels, strict=True)]
        rows.append({"query_id": query, "docs": docs})
        lines.append(json.dumps({"query_id": query, "output": answer}))
    old = load_manifest(package)
    writer = PackageWriter(tmp_path / "drawn")
    for name in old.files:
        if name.endswith(".parquet") and not name.startswith("contexts/"):
            config, file = name.split("/")
            table = pq.read_table(package / name, partitioning=None)
            writer.add(config, file.split("-")[0], table)
    writer.add("contexts", "drawn", pa.Table.from_pylist(rows, schema=CONTEXTS))
    fresh = old.model_copy(update={"contexts": {"drawn": ContextSet(description="drawn")}})
    writer.finish(fresh, {"queries": len(rows)})
    submission = tmp_path / "chatter.jsonl"
    submission.write_text("\n".join(lines) + "\n")
    return tmp_path / "drawn", submission
