"""`build rage --compute`: lists of int8's two stages and of float32; what a manifest keeps."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from citeforge.builders.build import rebuild
from citeforge.builders.rage.build import build_rage
from citeforge.engines.models import compute
from citeforge.schemas.benchmarks.manifest import Manifest
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.recipes.records import RageRecipe, RunOptions
from conftest import refused, run_options, write_beir
from servers.tiny_embedder import make_embedder_folder, passages

needs_fast = pytest.mark.skipif(
    not all(map(find_spec, ("openvino", "nncf"))), reason="without the extra fast"
)


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and 400 passages with 2 queries."""
    root = tmp_path_factory.mktemp("compute")
    make_embedder_folder(root)
    texts = {f"p{i}": text for i, text in enumerate(passages(400))}
    queries = {f"q{i}": text for i, text in enumerate(passages(2, seed=1, longest=9))}
    write_beir(root / "beir", texts, queries, [("q0", "p0", 1), ("q1", "p1", 1)])
    return root


def build(world: Path, out: Path, wanted: str, resume: bool = False, **config: Any) -> Manifest:
    recipe = RageRecipe(
        source=f"beir:{world / 'beir'}",
        embedder=str(world / "model"),
        mining=Mining(seemingly_relevant=3),
        compute=wanted,  # type: ignore[arg-type]
        **config,
    )
    run = RunOptions(out=out, resume=resume, device="cpu")
    return build_rage(recipe, run)


def lists(folder: Path) -> list[tuple[str, str, int]]:
    (path,) = (folder / "mapping").glob("seemingly_relevant-*.parquet")
    table = pq.read_table(path, partitioning=None).to_pylist()
    return [(r["query-id"], r["corpus-id"], r["rank"]) for r in table]


@pytest.mark.numeric
@needs_fast
def test_two_stages_give_the_lists_of_float32(world: Path, tmp_path: Path) -> None:
    quantized = build(world, tmp_path / "int8", "int8")
    exact = build(world, tmp_path / "fp32", "fp32")
    assert lists(tmp_path / "int8") == lists(tmp_path / "fp32")
    assert len(lists(tmp_path / "int8")) == 6
    assert quantized.config["compute"] == "int8"
    assert exact.config["compute"] == "fp32"
    assert quantized.models["embedder"]["dtype"] == "float32"
    assert quantized.models["nominator"]["dtype"] == "int8"
    assert quantized.models["nominator"]["margin"] > 0
    assert "nominator" not in exact.models
    assert quantized.counts["queries not settled by nominations of any depth"] == 0
    # A sample of 200 for measuring, and what was nominated: how many the processor decides.
    assert 200 <= quantized.counts["passages embedded in float32"] <= 400


@pytest.mark.slow
@needs_fast
def test_killed_while_deciding_and_resumed(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = build(world, tmp_path / "whole", "int8", name="b")

    class Killed(Exception):
        pass

    def kill(*_: Any) -> None:
        raise Killed

    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("citeforge.builders.rage.negatives.mapping_table", kill)
        build(world, tmp_path / "out", "int8", name="b")
    again = build(world, tmp_path / "out", "auto", resume=True, name="b")
    assert again.manifest_sha256 == whole.manifest_sha256


@pytest.mark.numeric
@needs_fast
def test_few_passages_are_all_embedded_in_float32(world: Path, tmp_path: Path) -> None:
    # 2 queries × 2 × (60 + 6) nominations are 264, more than half of 400 passages.
    recipe = RageRecipe(
        source=f"beir:{world / 'beir'}",
        embedder=str(world / "model"),
        compute="int8",
        mining=Mining(seemingly_relevant=60),
    )
    made = build_rage(recipe, run_options(tmp_path / "out", device="cpu"))
    assert "nominator" not in made.models
    assert made.models["embedder"]["engine"].startswith("openvino ")


def test_a_finished_build_keeps_its_numbers(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = build(world, tmp_path / "out", "fp32", name="b")
    monkeypatch.setattr(compute, "cpu_has_bfloat16", lambda: True)
    assert build(world, tmp_path / "out", "auto", resume=True, name="b") == made
    with pytest.raises(InputError, match="compute: fp32 → bf16"):
        build(world, tmp_path / "out", "bf16", resume=True, name="b")
    assert rebuild(tmp_path / "out", run_options(tmp_path / "again"), (), lambda uses: None).equal


def test_a_build_of_bfloat16_elsewhere_is_refused(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "cpu_has_bfloat16", lambda: True)
    assert build(world, tmp_path / "out", "auto").config["compute"] == "bf16"
    monkeypatch.setattr(compute, "cpu_has_bfloat16", lambda: False)
    with refused("unsupported", UsageError):
        build(world, tmp_path / "out", "auto", resume=True)


def test_a_served_model_computes_elsewhere(world: Path, tmp_path: Path) -> None:
    recipe = RageRecipe(source=f"beir:{world / 'beir'}", embedder="openai:m", compute="fp32")
    run = RunOptions(out=tmp_path / "out", base_url="http://127.0.0.1:9/v1")
    with pytest.raises(UsageError, match="--compute fp32: openai:m does not compute here"):
        build_rage(recipe, run)
    assert not (tmp_path / "out").exists()
