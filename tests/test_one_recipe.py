"""One recipe gives one hash: build the same benchmarks in every kind of arithmetic that is here.

`make processors` runs it in every setting, and compares the hashes that it leaves in the file that
``CITEFORGE_HASHES`` names. With ``CITEFORGE_REAL_DATA`` a part of HAGRID's passages is built, too.
"""

import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from citeforge.engines.models.compute import cpu_has_bfloat16
from citeforge.engines.models.embed import TransformerEmbedder
from citeforge.package.kinds import kind_of_recipe
from citeforge.package.secret import write_secret
from citeforge.schemas.recipes.answers import AlceRecipe, Retrieving
from citeforge.schemas.recipes.base import Compute, RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from conftest import EXAMPLES
from conftest_builders import copy_part

HASHES = "CITEFORGE_HASHES"
SHARED_CACHE = "CITEFORGE_SHARED_CACHE"
"""Cache of vectors of all settings: each build takes those that other arithmetic has made."""
Build = Callable[[RunOptions], str]


def computes() -> list[tuple[Compute, int]]:
    """Numbers that this processor computes in, and batch sizes."""
    found: list[tuple[Compute, int]] = [("auto", 32), ("fp32", 5)]
    if cpu_has_bfloat16():
        found.append(("bf16", 7))
    return found


def benchmarks(scratch: Path) -> Iterator[tuple[str, str, Build]]:
    """Name of a benchmark, name of its corpus, which is embedded once, and what builds it."""
    yield "facts", "facts", lambda run: rage(EXAMPLES / "facts", run)
    yield "hidden", "facts", lambda run: hidden(scratch / "secret", run)
    yield "asqa", "facts", asqa
    if real := os.environ.get("CITEFORGE_REAL_DATA"):
        part = copy_part(
            Path(real) / "beir_hagrid", scratch / "hagrid", n_queries=30, n_passages=150
        )
        yield "hagrid", "hagrid", lambda run: rage(part, run, "dev")


def rage(folder: Path, run: RunOptions, split: str | None = None) -> str:
    """Build a RAGE benchmark of a BEIR folder; its hash."""
    recipe = RageRecipe(source=f"beir:{folder}", split=split, embedder="offline", name="b")
    return kind_of_recipe(recipe).build(recipe, run).benchmark_hash


def hidden(secret: Path, run: RunOptions) -> str:
    """Build a benchmark with hidden labels, drawn by one secret; the hash."""
    secret.mkdir(exist_ok=True)
    write_secret(secret, bytes(range(32)))
    recipe = RageRecipe(
        source=f"beir:{EXAMPLES / 'facts'}", embedder="offline", hidden=True, name="b"
    )
    run = run.model_copy(update={"secret_from": secret})
    return kind_of_recipe(recipe).build(recipe, run).benchmark_hash


def asqa(run: RunOptions) -> str:
    """Build ASQA's examples with dense rankings of the facts; the hash."""
    recipe = AlceRecipe(
        source=f"alce:{EXAMPLES / 'answers' / 'asqa.json'}", corpus=f"beir:{EXAMPLES / 'facts'}",
        retrieving=Retrieving(retrievers=("dense",), depth=50), name="b",
    )  # fmt: skip
    return kind_of_recipe(recipe).build(recipe, run).benchmark_hash


@pytest.mark.slow
@pytest.mark.numeric
@pytest.mark.skipif(HASHES not in os.environ, reason="part of make processors")
def test_one_recipe_gives_one_hash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found: dict[str, dict[str, str]] = {}
    for name, corpus, make in benchmarks(tmp_path):
        for number, (compute, size) in enumerate(computes()):
            monkeypatch.setattr(TransformerEmbedder, "batch_size", size)
            out, vectors = tmp_path / f"{name}-{number}", tmp_path / f"{corpus}-vectors-{number}"
            run = RunOptions(out=out, compute=compute, embeddings=vectors)
            found.setdefault(name, {})[f"{compute}/{size}"] = make(run)[:8]
        cache = Path(os.environ.get(SHARED_CACHE, tmp_path / "cache"))
        mixed = RunOptions(out=tmp_path / f"{name}-mixed", cache=cache)
        found[name]["vectors of all settings"] = make(mixed)[:8]
    assert all(len(set(of.values())) == 1 for of in found.values()), found
    words = (f"{name}@{next(iter(of.values()))}" for name, of in found.items())
    Path(os.environ[HASHES]).write_text(" ".join(words))
