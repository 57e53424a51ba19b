"""Builds with the cache of vectors, against the first build, which fills it.

Whole builds of beir_hagrid (2,789 passages, ``QUERIES`` questions, 200) with the embedded model,
each in a process of its own: with an empty cache, the same again, with another seed and mixture, of
a corpus in which ten passages are others, and without a cache.
"""

import json
import os
import shutil
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.measure import Measured, machine, measure

QUERIES = int(os.environ.get("QUERIES", 200))
_CHANGED = 10


def prepare(folder: str, out: str, cache: str, **more: Any) -> Any:
    from citeforge.builders.rage import build  # noqa: F401
    from citeforge.schemas.recipes.base import RunOptions
    from citeforge.schemas.recipes.rage import RageRecipe

    recipe = RageRecipe(
        source=f"beir:{folder}", split="dev", limit=QUERIES, embedder="offline", name="b", **more
    )
    return recipe, RunOptions(out=Path(out), device="cpu", cache=Path(cache) if cache else None)


def prepare_other(folder: str, out: str, cache: str) -> Any:
    return prepare(folder, out, cache, seed=1, mixtures=("other=1,2,3",))


def run(state: Any) -> tuple[str, float]:
    """Build; the hash, and the processor seconds that it took."""
    from citeforge.builders.rage.build import build_rage

    start = time.process_time()
    return build_rage(*state).benchmark_hash[:8], time.process_time() - start


def copy_changed(data: Path, folder: Path) -> Path:
    """Copy a BEIR folder, with another first word in some of its passages."""
    shutil.copytree(data, folder)
    lines = (folder / "corpus.jsonl").read_text().splitlines()
    for number in range(0, len(lines), len(lines) // _CHANGED + 1):
        row = json.loads(lines[number])
        lines[number] = json.dumps(row | {"text": f"Indeed, {row['text']}"})
    (folder / "corpus.jsonl").write_text("\n".join(lines) + "\n")
    return folder


def main() -> None:
    """Print seconds and processor seconds of each build, and their ratio to the first one."""
    data = os.environ.get("CITEFORGE_REAL_DATA")
    if not data:
        sys.exit("set CITEFORGE_REAL_DATA to the folder that holds beir_hagrid")
    print("##", machine("torch", "transformers", "numpy"))
    with TemporaryDirectory() as place:
        work = Path(place)
        source, cache = Path(data) / "beir_hagrid", str(work / "cache")
        changed = copy_changed(source, work / "changed")
        builds = {
            "empty cache": (prepare, source, cache),
            "the same again": (prepare, source, cache),
            "another seed, so other questions, and mixture": (prepare_other, source, cache),
            f"{_CHANGED} passages changed": (prepare, changed, cache),
            "no cache": (prepare, source, ""),
        }
        first: Measured | None = None
        for number, (name, (make, folder, where)) in enumerate(builds.items()):
            made = measure(make, run, str(folder), str(work / f"out-{number}"), where)
            digest, spent = made.result
            first = first or made
            print(
                f"{name}: {made.seconds:.1f} s ({made.seconds / first.seconds:.3f} of the first), "
                f"{spent:.1f} processor seconds ({spent / first.result[1]:.3f}); hash {digest}; "
                f"load {os.getloadavg()[0]:.0f}",
                flush=True,
            )
        size = sum(p.stat().st_size for p in Path(cache).rglob("*") if p.is_file())
        print(f"cache: {size / 1e6:.1f} MB")


if __name__ == "__main__":
    main()
