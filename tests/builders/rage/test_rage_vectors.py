"""`build rage --vectors`: what others embedded, mined as our own vectors are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.builders.rage.build import build_rage
from citeforge.builders.verify import verify
from citeforge.engines.tables import read_table, shard_paths
from citeforge.package.manifest import load_manifest
from citeforge.schemas.recipes.base import make_record
from citeforge.schemas.tables import MAPPING, SEEMINGLY_RELEVANT
from conftest import Inline, refused, run_options
from stand_ins import RuleEmbedder

LETTERS = "0123456789abcdef"
DIMENSION = len(LETTERS)


def mined(out: Path) -> list[Any]:
    table = read_table(shard_paths(out / "mapping", SEEMINGLY_RELEVANT), MAPPING)
    rows: list[Any] = table.to_pylist()
    return rows


@pytest.fixture
def vectors(tmp_path: Path, small_beir: Path) -> dict[str, Any]:
    """Files of a build with our own shards, whose lists are in `plain`."""
    recipe = make_record(
        cf.RageRecipe, source=f"beir:{small_beir}", mining={"seemingly_relevant": 4}
    )
    kept = tmp_path / "kept"
    # Counts of letters and digits: vectors that any tool could have made.
    embedder = RuleEmbedder(lambda text: [1 + text.lower().count(c) for c in LETTERS])
    build_rage(recipe, run_options(tmp_path / "plain", embeddings=kept), embedder)
    for stored, name in (("passages-given", "passages"), ("queries", "queries")):
        raw = np.fromfile(kept / f"{stored}-00000.vectors", "<f4").reshape(-1, DIMENSION)
        np.save(tmp_path / f"{name}.npy", raw)
    return {
        "source": f"beir:{small_beir}",
        "mining": {"seemingly_relevant": 4},
        "vectors": tmp_path / "passages.npy",
        "query_vectors": tmp_path / "queries.npy",
        "vectors_model": "letters@3",
    }


def build(out: Path, config: dict[str, Any], **run: Any) -> None:
    cf.build(make_record(cf.RageRecipe, **config), out, **run)


def test_given_vectors_give_the_lists_of_our_own(tmp_path: Path, vectors: dict[str, Any]) -> None:
    build(tmp_path / "given", vectors)
    assert mined(tmp_path / "given") == mined(tmp_path / "plain")
    assert verify(tmp_path / "given") == []
    manifest = load_manifest(tmp_path / "given")
    assert manifest.models["embedder"] == {
        "name": "letters@3", "vectors": "given", "dimension": DIMENSION,
    }  # fmt: skip
    assert len(manifest.config["vectors_sha256"]) == 2
    assert "torch" not in manifest.libraries
    assert "letters@3" in (tmp_path / "given" / "README.md").read_text()
    # A finished package is taken only for the same files.
    build(tmp_path / "given", vectors, resume=True)
    changed = np.load(vectors["vectors"])
    np.save(vectors["vectors"], changed[::-1])
    with refused("recipe-changed") as caught:
        build(tmp_path / "given", vectors, resume=True)
    assert "(vectors_sha256" in str(caught.value)
    # A sample of the queries takes theirs.
    np.save(vectors["vectors"], changed)
    build(tmp_path / "one", {**vectors, "limit": 1})
    (query,) = {row["query-id"] for row in mined(tmp_path / "one")}
    assert mined(tmp_path / "one") == [
        row for row in mined(tmp_path / "plain") if row["query-id"] == query
    ]


def test_vectors_that_do_not_fit(tmp_path: Path, vectors: dict[str, Any]) -> None:
    few, thin, out = tmp_path / "few.npy", tmp_path / "thin.npy", tmp_path / "out"
    np.save(few, np.load(vectors["vectors"])[:5])
    with refused("bad-vectors", path=few):
        build(out, {**vectors, "vectors": few})
    np.save(thin, np.load(vectors["query_vectors"])[:, :5])
    with refused("bad-vectors", path=thin):
        build(out, {**vectors, "query_vectors": thin})
    assert not out.exists()
    with refused("bad-option", cf.UsageError):
        build(out, {**vectors, "vectors_model": None})
    with refused("bad-option", cf.UsageError):
        build(out, {**vectors, "candidates": "bm25"})


def test_on_the_command_line(inline: Inline, tmp_path: Path, vectors: dict[str, Any]) -> None:
    command = [
        *("build", "rage", "--source", vectors["source"], "--out", "out", "--n-seemingly", 4),
        *("--vectors", "passages.npy", "--query-vectors", "queries.npy"),
    ]
    inline.ok(*command, "--vectors-model", "letters")
    assert mined(tmp_path / "out") == mined(tmp_path / "plain")
    result = inline(*command, "--overwrite")
    assert result.returncode == 2
    assert result.stderr == (
        "error: --vectors-model missing: --vectors, --query-vectors, --vectors-model go together\n"
    )
