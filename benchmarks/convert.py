"""BEIR corpus to Parquet, against `datasets.load_dataset("json").to_parquet()`."""

import json
import random
import shutil
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import best, machine, measure, vocabulary


def make_corpus(path: Path, passages: int) -> None:
    """Write a synthetic corpus with metadata, about 800 bytes a passage."""
    rng = random.Random(0)
    words = vocabulary(0)
    path.parent.mkdir()
    with path.open("w") as file:
        for i in range(passages):
            row = {
                "_id": f"doc{i}",
                "title": " ".join(rng.choices(words, k=4)),
                "text": " ".join(rng.choices(words, k=rng.randint(50, 130))),
                "metadata": {"url": f"https://en.example.org/wiki/{i}", "n": i},
            }
            file.write(json.dumps(row) + "\n")


def prepare_ours(source: str, out: str) -> Any:
    from citeforge.engines.tables import TableWriter
    from citeforge.ir_convert.beir import open_beir
    from citeforge.ir_convert.source import ReadOptions
    from citeforge.schemas.tables import CORPUS

    beir = open_beir(str(Path(source).parent), None, ReadOptions(passages_only=True))
    return TableWriter(Path(out), "corpus", CORPUS), beir.read_batches()


def run_ours(state: Any) -> int:
    writer, batches = state
    with writer:
        for batch in batches:
            writer.write(batch)
    rows: int = writer.rows
    return rows


def prepare_peer(source: str, out: str) -> Any:
    import datasets

    datasets.disable_progress_bars()
    return datasets, source, out


def run_peer(state: Any) -> int:
    datasets, source, out = state
    loaded = datasets.load_dataset("json", data_files=source, split="train", cache_dir=out)
    loaded.to_parquet(f"{out}/peer.parquet")
    return len(loaded)


def main() -> None:
    """Print the ratio, and the memory at 500,000 and 2,000,000 passages."""
    print("##", machine("pyarrow", "msgspec", "datasets"))
    with TemporaryDirectory() as folder:
        base = Path(folder)
        small, large = (base / name / "corpus.jsonl" for name in ("small", "large"))
        make_corpus(small, 500_000)
        print(f"500,000 passages, {small.stat().st_size / 1e6:,.0f} MB of JSON Lines")
        small.read_bytes()  # both start from a warm page cache
        ours = best(prepare_ours, run_ours, str(small), str(base / "ours"), times=3)
        peers = []
        for i in range(3):
            peers.append(measure(prepare_peer, run_peer, str(small), str(base / f"peer{i}")))
            if i < 2:
                shutil.rmtree(base / f"peer{i}")
        peer = min(peers, key=lambda m: m.seconds)
        assert ours.result == peer.result == 500_000
        sizes = [sum(p.stat().st_size for p in (base / "ours").glob("*.parquet"))]
        sizes.append((base / "peer2" / "peer.parquet").stat().st_size)
        print(
            f"citeforge {ours.seconds:.2f} s, peak {ours.peak_mb:,.0f} MB, {sizes[0] / 1e6:,.0f} MB"
        )
        print(
            f"datasets  {peer.seconds:.2f} s, peak {peer.peak_mb:,.0f} MB, {sizes[1] / 1e6:,.0f} MB"
        )
        print(f"ratio     {peer.seconds / ours.seconds:.2f}× the speed of datasets")
        shutil.rmtree(base / "peer2")
        make_corpus(large, 2_000_000)
        more = measure(prepare_ours, run_ours, str(large), str(base / "ours2"))
        growth = more.peak_mb / ours.peak_mb - 1
        print(
            f"2,000,000 passages: {more.seconds:.2f} s, peak {more.peak_mb:,.0f} MB ({growth:+.0%})"
        )


if __name__ == "__main__":
    main()
