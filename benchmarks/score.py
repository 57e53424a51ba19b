"""Scoring a million answers, and the time per query of rage_toolkit at 500,000 passages."""

import io
import json
import random
from collections.abc import Collection
from contextlib import redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import machine, measure, vocabulary


def make_package(
    folder: Path,
    queries: int,
    hidden: bool = False,
    passages: int = 100_000,
    length: int = 0,
    types: int = 0,
    swapped: Collection[int] = (),
) -> Path:
    """A package with nine passages a context, and a submission that cites them.

    Args:
        folder: gets both.
        queries: how many.
        hidden: with a secret.
        passages: how many.
        length: words drawn for the text of each passage; 0 for its id as text.
        types: values of the field ``type`` of the queries; 0 for no metadata.
        swapped: rows of queries whose labels are in reverse order, with all else as it is.
    """
    import msgspec
    import pyarrow as pa

    from citeforge.builders.package import PackageWriter
    from citeforge.engines.files import sha256_file
    from citeforge.package.secret import write_secret
    from citeforge.schemas.manifest import SECRET, ContextSet, Manifest
    from citeforge.schemas.recipes.rage import RageRecipe
    from citeforge.schemas.tables import CONTEXTS, CORPUS, LABELS, MAPPING, QUERIES

    rng = random.Random(0)
    words = vocabulary(1)
    writer = PackageWriter(folder / "package")
    pool = [f"p{i}" for i in range(passages)]
    texts = [" ".join(rng.choices(words, k=length)) for _ in pool] if length else pool
    names = [f"q{i}" for i in range(queries)]
    empty = [""] * len(pool)
    corpus = pa.table([pool, empty, texts, [None] * len(pool)], schema=CORPUS)
    writer.add("corpus", "corpus", corpus)
    extra = [json.dumps({"type": f"t{i % types}"}) if types else None for i in range(queries)]
    writer.add("queries", "queries", pa.table([names, names, extra], schema=QUERIES))
    picks = [rng.sample(pool, 9) for _ in names]
    kinds = [LABELS[i // 3] for i in range(9)]
    labels = [kinds[::-1] if row in swapped else kinds for row in range(queries)]
    for label in LABELS:
        flat = [
            (query, passage)
            for query, ids, own in zip(names, picks, labels, strict=True)
            for passage, kind in zip(ids, own, strict=True)
            if kind == label
        ]
        nulls = [None] * len(flat)
        columns = [[q for q, _ in flat], [p for _, p in flat], nulls, nulls, nulls]
        writer.add("mapping", label, pa.table(columns, schema=MAPPING))
    docs = []
    for ids, own in zip(picks, labels, strict=True):
        order = rng.sample(range(9), 9)
        docs.append([{"corpus-id": ids[i], "label": own[i]} for i in order])
    writer.add("contexts", "mix", pa.table([names, docs], schema=CONTEXTS))
    manifest = Manifest(
        kind="rage",
        name="synthetic",
        citeforge="0",
        sources=[],
        config=RageRecipe(source="made:score", embedder="offline").model_dump(mode="json"),
        contexts={"mix": ContextSet(description="nine passages")},
    )
    if hidden:
        write_secret(writer.folder, bytes(32))
        writer.files[SECRET] = sha256_file(writer.folder / SECRET)
    writer.finish(manifest, {"queries": queries})
    encoder = msgspec.json.Encoder()
    with (folder / "answers.jsonl").open("wb") as file:
        for name in names:
            cited = rng.sample(range(1, 10), 3)
            text = " ".join(rng.choices(words, k=40))
            output = f"{text} [{cited[0]}]. {text[:80]} [{cited[1]}][{cited[2]}]."
            file.write(encoder.encode({"query_id": name, "output": output}) + b"\n")
    return folder


def prepare_ours(folder: str, by: tuple[str, ...] = ()) -> Any:
    from citeforge.evaluator import score
    from citeforge.evaluator.measures.registry import select
    from citeforge.evaluator.submissions import benchmark
    from citeforge.evaluator.submissions.tools import ScoringTools

    tools = ScoringTools().with_options(by=by)
    return benchmark.Benchmark, score, select(["rage"]), Path(folder), tools


def run_ours(state: Any) -> int:
    """Everything that `citeforge score` does, the hashes of the package included."""
    open_benchmark, score, measures, folder, tools = state
    setup = score.ScoringSetup(open_benchmark(folder / "package"), measures, tools)
    result = score.score_context(folder / "answers.jsonl", setup)
    return int(result.counts.n_answered)


PEER_QUERIES = 40


def prepare_peer(passages: int) -> Any:
    import pandas as pd
    import rage_toolkit

    rng = random.Random(0)
    ids = [f"p{i}" for i in range(passages)]
    corpus = pd.DataFrame({"_id": ids, "title": "", "text": "some words of text"})
    names = [f"q{i}" for i in range(PEER_QUERIES)]
    queries = pd.DataFrame({"_id": names, "text": names})
    tables = []
    for _ in range(3):
        pairs = [(q, rng.choice(ids)) for q in names for _ in range(3)]
        tables.append(pd.DataFrame(pairs, columns=["query-id", "corpus-id"]))

    class Canned(rage_toolkit.AugmentedGenerationSystem):
        def generate_answer(self, query_string: str, document_texts: list[str]) -> tuple[str, str]:
            return "prompt", "some words [1]. more words [2][3]."

    return rage_toolkit.evaluate, Canned(), queries, corpus, tables


def run_peer(state: Any) -> int:
    evaluate, system, queries, corpus, tables = state
    with redirect_stdout(io.StringIO()):
        _, results = evaluate(system, queries, corpus, *tables, proportions_mix=(3, 3, 3))
    return len(results)


def main() -> None:
    """Print the seconds for a million answers and the ratio of the times per query."""
    print("##", machine("msgspec", "numpy", "pyarrow", "rage-toolkit"))
    with TemporaryDirectory() as folder:
        make_package(Path(folder), 1_000_000)
        ours = measure(prepare_ours, run_ours, folder)
    peer = measure(prepare_peer, run_peer, 500_000)
    mine, theirs = ours.seconds / ours.result, peer.seconds / peer.result
    print(f"citeforge {ours.result:,} answers in {ours.seconds:.1f} s, peak {ours.peak_mb:,.0f} MB")
    print(f"citeforge {mine * 1e6:.1f} µs a query, hashes, intervals and all")
    print(f"rage_toolkit {theirs * 1e3:.1f} ms a query at 500,000 passages")
    print(f"ratio     {theirs / mine:,.0f}× less time a query")
    with TemporaryDirectory() as folder:
        make_package(Path(folder), 100_000, types=20)
        plain, slices = (measure(prepare_ours, run_ours, folder, by) for by in ((), ("type",)))
    print(f"100,000 answers in {plain.seconds:.1f} s, in 20 slices {slices.seconds:.1f} s")


if __name__ == "__main__":
    main()
