"""rage_toolkit's evaluator and our ``reference`` protocol on the same answers."""

import json
import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from citeforge.builders.rage.build import build_rage
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.tables import RELEVANT
from conftest import write_jsonl
from peers.frozen import FrozenNumbers, Program
from scoring import score

TOOLKIT = Program(
    "rage_toolkit",
    "othr-nlp/rage_toolkit",
    "cite_evaluation_utils.py: parse_citations() and calculate_evaluation_result_for_query()",
    "test_rage_peer.py",
)
N_QUERIES = 400
SHOWN = 9
NAMES = {
    "CiteP": "cite_precision",
    "CiteR": "cite_recall",
    "Distinct": "num_cited_distinct",
    "Length": "answer_length",
    "ShortEM": "short-answer-exact-match",
}
SHORT = [
    None, "[]", '["Schindler’s List"]', '["1939–1945", "six years"]', '["Ada", "Lovelace"]',
    '[""]', '["10°C"]', '["ada"]',
]  # fmt: skip


def _answer(rng: random.Random, word: str) -> str:
    """One answer of one of fourteen kinds."""

    def n() -> int:
        return rng.randrange(1, SHOWN + 1)

    kinds: list[Callable[[], str]] = [
        lambda: "",
        lambda: f"It is {word}, and nobody is cited.",
        lambda: f"It is {word} [{n()}].",
        lambda: f"One [{n()}][{n()}] and  {word}   [{n()}].",
        lambda: f"The same [{(k := n())}] again [{k}][{k}] {word}.",
        lambda: f"Beyond [{SHOWN + 1}], [0], [{rng.randrange(11, 999)}] and [{n()}] {word}.",
        lambda: f"[{n()}] {word} stands behind. [{n()}]",
        lambda: f"Lists [{n()}, {n()}] and ranges [1-{n()}] and {word}; [{n()}]",
        lambda: f"[[{n()}]] [ {n()} ] [{n()} {word} ] ][{n()}][ (3) {{{n()}}}",
        lambda: f"Line [{n()}]\n\n{word}\r\n- [{n()}]\u2028[{n()}]\t[{n()}]",
        lambda: f"“{word}” — ‘[{n()}]’ … [２] [٣] [0{n()}]",
        lambda: f"In [2019] {word} was [NA]; see [{n()}](http://a.b/c) and `[{n()}]`.",
        lambda: f"[-1] [+2] [1.0] [{n()}. ] {word.upper()} [Document {n()}]",
        lambda: f"[{'9' * 300}] {word}\u00a0[{n()}] {'It goes on. ' * 40}",
    ]
    return rng.choice(kinds)()


@pytest.fixture
def benchmark(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Benchmark:
    """A benchmark with nine passages per query; some relevant ones have short answers."""
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))
    rng = random.Random(5)
    ids, queries = [f"d{i}" for i in range(40)], [f"q{i}" for i in range(N_QUERIES)]
    mapping: dict[str, list[tuple[str, str, str | None]]] = {
        "relevant": [], "irrelevant": [], "seemingly_relevant": [],
    }  # fmt: skip
    for query in queries:
        n, mine = rng.randrange(1, 5), rng.sample(ids, SHOWN + 1)
        mapping["relevant"] += [(query, i, rng.choice(SHORT)) for i in mine[:n]]
        mapping["irrelevant"] += [(query, i, None) for i in mine[n:SHOWN]]
        mapping["seemingly_relevant"].append((query, mine[SHOWN], None))
    columns = ("query-id", "corpus-id", "short_answers")
    schema = pa.schema([(name, pa.string()) for name in columns])
    tables = {
        "corpus": pa.table({"_id": ids, "title": [""] * 40, "text": [f"On {i}." for i in ids]}),
        "queries": pa.table({"_id": queries, "text": [f"What of {q}?" for q in queries]}),
    }
    for name, rows in mapping.items():
        dicts = [dict(zip(columns, row, strict=True)) for row in rows]
        tables[f"mapping/{name}"] = pa.Table.from_pylist(dicts, schema)
    source = tmp_path / "source"
    (source / "mapping").mkdir(parents=True)
    card = "configs:\n"
    for name, content in tables.items():
        pq.write_table(content, source / f"{name}.parquet")
    for name, splits in (("corpus", ["corpus"]), ("queries", ["queries"]), ("mapping", mapping)):
        card += f"- config_name: {name}\n  data_files:\n"
        for split in splits:
            file = f"mapping/{split}" if name == "mapping" else split
            card += f"  - split: {split}\n    path: {file}.parquet\n"
    (source / "README.md").write_text(f"---\n{card}---\n")
    recipe = RageRecipe(
        source=f"rage:{source}",
        candidates="bm25",
        mixtures=("m=9,9,0",),
    )
    build_rage(recipe, RunOptions(out=tmp_path / "out"))
    return Benchmark(tmp_path / "out")


def run_toolkit(
    checkout: Path, answers: list[dict[str, Any]], relevant: list[list[str | None]]
) -> dict[str, Any]:
    """Columns of their results, and their means."""
    import pandas as pd

    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(checkout))
        patch.delitem(sys.modules, "rage_toolkit", raising=False)
        from rage_toolkit import cite_evaluation_utils as toolkit
    table = pd.DataFrame(relevant, columns=["query-id", "corpus-id", "short_answers"])
    results = pd.DataFrame(
        [
            toolkit.calculate_evaluation_result_for_query(
                info | {"answer_citations": toolkit.parse_citations(info["answer"])}, table
            )
            for info in answers
        ]
    )[list(NAMES.values())].astype(float)
    assert str(checkout) in toolkit.__file__
    return {"queries": results.to_dict("list"), "mean": results.mean().to_dict()}


def test_every_figure_of_every_answer(
    printed: FrozenNumbers, benchmark: Benchmark, tmp_path: Path
) -> None:
    rng = random.Random(6)
    table = benchmark.context("m")
    relevant = benchmark.mappings[RELEVANT].select(["query-id", "corpus-id", "short_answers"])
    pairs = [list(row.values()) for row in relevant.to_pylist()]
    answers, lines = [], []
    for row, query in enumerate(benchmark.query_ids):
        ids = [i or "" for i in table.ids_of(row)]
        assert len(ids) == SHOWN
        shown_relevant = [ids[position] for position in sorted(table.relevant[row])]
        short = [json.loads(s) for q, i, s in pairs if q == query and i in ids and s]
        words = [w for group in short for w in group] or ["nothing"]
        output = _answer(rng, rng.choice([*words, "Ada", "nothing of it"]))
        answers.append(
            {"query_id": query, "answer": output, "doc_ids": ids,
             "rel_doc_ids_for_query": shown_relevant}
        )  # fmt: skip
        lines.append({"query_id": query, "output": output, "context": "m"})
    theirs = printed(TOOLKIT, "fourteen kinds", run_toolkit, answers, pairs)
    path = write_jsonl(tmp_path / "run.jsonl", lines)
    ours = score(path, benchmark, select(list(NAMES)), context="m", protocol="reference")
    for measure in ours.measures:
        column = NAMES[measure.name]
        assert measure.value == pytest.approx(measure.scale * theirs["mean"][column], abs=1e-9)
        expected = theirs["queries"][column]
        values = [float("nan") if v is None else v for v in measure.per_query]
        assert values == pytest.approx(expected, abs=1e-9, nan_ok=True), measure.name
    assert {m.name for m in ours.measures} == set(NAMES)
    matches = theirs["queries"]["short-answer-exact-match"]
    assert min(matches.count(1.0), matches.count(0.0), sum(m != m for m in matches)) >= 30
    assert all(0.1 < theirs["mean"][NAMES[name]] < 0.9 for name in ("CiteP", "CiteR"))
