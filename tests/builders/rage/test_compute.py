"""`build rage --compute`: one recipe gives one benchmark, whatever computes."""

import json
import random
import re
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

from citeforge.builders.rage.build import build_rage
from citeforge.builders.rebuild import rebuild
from citeforge.engines.models import compute
from citeforge.engines.models.compute import cpu_has_bfloat16
from citeforge.engines.models.embed import TransformerEmbedder
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.manifest import Manifest
from citeforge.schemas.recipes.base import Compute, RunOptions
from citeforge.schemas.recipes.rage import Mining, RageRecipe
from conftest import EXAMPLES, refused, run_options, write_beir
from servers.tiny_embedder import WORDS, make_embedder_folder, passages

README = Path(__file__).parents[3] / "README.md"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model, and 400 passages with 8 queries."""
    root = tmp_path_factory.mktemp("compute")
    make_embedder_folder(root)
    texts = {f"p{i}": text for i, text in enumerate(passages(400))}
    queries = {f"q{i}": text for i, text in enumerate(passages(8, seed=1, longest=9))}
    write_beir(root / "beir", texts, queries, [(q, f"p{q[1:]}", 1) for q in queries])
    return root


def build(world: Path, out: Path, wanted: Compute, resume: bool = False, **config: Any) -> Manifest:
    recipe = RageRecipe(
        source=f"beir:{world / 'beir'}",
        embedder=str(world / "model"),
        mining=Mining.model_validate({"seemingly_relevant": 3, **config.pop("mining", {})}),
        **config,
    )
    return build_rage(recipe, RunOptions(out=out, resume=resume, device="cpu", compute=wanted))


def possible() -> list[Compute]:
    """What this processor computes in."""
    return ["fp32", "fp64", "bf16"] if cpu_has_bfloat16() else ["fp32", "fp64"]


@pytest.mark.slow
@pytest.mark.numeric
@pytest.mark.parametrize("mining", [{"margin": 0.02, "skip_top": 1}, {}], ids=str)
def test_one_recipe_gives_one_hash(
    world: Path, tmp_path: Path, mining: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    made = {c: build(world, tmp_path / c, c, mining=mining, name="b") for c in possible()}
    with monkeypatch.context() as patch:
        patch.setattr(TransformerEmbedder, "batch_size", 7)
        made["auto"] = build(world, tmp_path / "auto", "auto", mining=mining, name="b")
    assert len({m.benchmark_hash for m in made.values()}) == 1
    assert len({json.dumps([m.models, m.config]) for m in made.values()}) == 1
    for wanted, manifest in made.items():
        dtypes = {"fp32": "float32", "fp64": "float64", "bf16": "bfloat16"}
        if wanted != "auto":
            assert manifest.computed["dtype"] == dtypes[wanted]
    assert "bounds" not in made["fp64"].computed
    assert made["fp32"].computed["passages_decided_in_float64"] <= 400
    assert made["fp32"].computed["bounds"][-1] == 0


# tests/test_one_recipe.py builds the same in every arithmetic.
@pytest.mark.slow
@pytest.mark.parametrize("wanted", possible())
def test_the_example_has_the_hash_that_the_readme_prints(tmp_path: Path, wanted: Compute) -> None:
    printed = re.search(r"quickstart@([0-9a-f]{8})", README.read_text())
    assert printed is not None
    recipe = RageRecipe(source=f"beir:{EXAMPLES / 'facts'}", embedder="offline", name="facts")
    made = build_rage(recipe, run_options(tmp_path / "facts", compute=wanted, device="cpu"))
    assert made.benchmark_hash[:8] == printed[1]


def awkward_texts() -> list[str]:
    """Texts of which many are nearly the same: copies that differ in a word or at their end, which
    the model may not read, equal ones, and ones as long as the model reads."""
    rng = random.Random(3)
    one, long = passages(1, longest=20)[0], " ".join(rng.choices(WORDS, k=110))
    copies = []
    for i in range(150):
        words = one.split()
        words[i % len(words)] = WORDS[i]
        copies.append(" ".join(words))
    cut = [f"{long} {WORDS[i]}" for i in range(40)]  # the same to a model of 100 tokens
    edge = [" ".join(rng.choices(WORDS, k=k)) for k in range(95, 103) for _ in range(4)]
    return passages(150, seed=5) + copies + copies[:10] + cut + edge


def narrowest_queries(texts: list[str], model: Any, number: int) -> list[str]:
    """Of many queries those whose third and fourth passage lie nearest to each other."""
    many = passages(2000, seed=11, longest=8)
    scores = exact_cosines(model, many, texts)
    falling = -np.sort(-scores, axis=1)
    return [many[i] for i in np.argsort(falling[:, 2] - falling[:, 3])[:number]]


def exact_cosines(model: Any, queries: list[str], texts: list[str]) -> np.ndarray:
    """Cosines by sentence-transformers in float64."""
    vectors = [model.encode(t, convert_to_numpy=True) for t in (queries, texts)]
    units = [v / np.linalg.norm(v, axis=1, keepdims=True) for v in vectors]
    assert units[0].dtype == np.float64
    product: np.ndarray = units[0] @ units[1].T
    return product


@pytest.mark.slow
@pytest.mark.numeric
def test_awkward_corpora_against_brute_force_in_float64(world: Path, tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(str(world / "model"), device="cpu", local_files_only=True).double()
    texts = awkward_texts()
    asked = passages(10, seed=9, longest=9) + narrowest_queries(texts, model, 20) + texts[150:160]
    ids = [f"p{i:03}" for i in random.Random(1).sample(range(len(texts)), len(texts))]
    queries = {f"q{i}": f"{text} {WORDS[i]}" for i, text in enumerate(asked)}
    judged = [(q, ids[0], 1) for q in queries]
    write_beir(tmp_path / "beir", dict(zip(ids, texts, strict=True)), queries, judged)
    expected = {}
    scores = np.round(exact_cosines(model, list(queries.values()), texts), 12)
    for row, query in enumerate(queries):
        others = (i for i in range(len(texts)) if texts[i] != texts[0])
        order = sorted(others, key=lambda i: (-scores[row, i], ids[i]))
        expected[query] = {ids[i] for i in order[:3]}
    for wanted in possible():
        recipe = RageRecipe(
            source=f"beir:{tmp_path / 'beir'}", embedder=str(world / "model"),
            mining={"seemingly_relevant": 3},
        )  # fmt: skip
        out = tmp_path / wanted
        made = build_rage(recipe, run_options(out, compute=wanted, device="cpu"))
        assert lists(out) == expected, wanted
        assert made.counts["texts_cut_by_the_embedder[passages][100]"] > 40


def lists(folder: Path) -> dict[str, set[str]]:
    (path,) = (folder / "mapping").glob("seemingly_relevant-*.parquet")
    found: dict[str, set[str]] = {}
    for row in pq.read_table(path, partitioning=None).to_pylist():
        found.setdefault(row["query-id"], set()).add(row["corpus-id"])
    return found


@pytest.mark.numeric
@pytest.mark.skipif(not cpu_has_bfloat16(), reason="this processor has no bfloat16 arithmetic")
def test_few_passages_are_decided_in_finer_numbers(world: Path, tmp_path: Path) -> None:
    computed = build(world, tmp_path / "out", "bf16").computed
    # 200 of the sample, and what lies near the ends of eight lists.
    assert 200 <= computed["passages_decided_in_float32"] < 400
    # 16 of the sample; float32 leaves hardly anything open.
    assert 16 <= computed["passages_decided_in_float64"] < 40


@pytest.mark.parametrize(("first", "then"), [("fp32", "fp64"), ("fp64", "auto")])
def test_a_build_goes_on_in_other_numbers(
    world: Path, tmp_path: Path, first: Compute, then: Compute, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(Exception):
        pass

    def kill(*_: Any) -> None:
        raise Killed

    whole = build(world, tmp_path / "whole", "fp32", name="b")
    with monkeypatch.context() as patch, pytest.raises(Killed):
        patch.setattr("citeforge.builders.rage.negatives.mapping_table", kill)
        build(world, tmp_path / "out", first, name="b")
    again = build(world, tmp_path / "out", then, resume=True, name="b")
    assert again.benchmark_hash == whole.benchmark_hash
    assert build(world, tmp_path / "out", first, resume=True, name="b") == again
    assert rebuild(tmp_path / "out", run_options(tmp_path / "again"), (), lambda uses: None).equal


def test_bfloat16_that_the_processor_lacks(
    world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compute, "cpu_has_bfloat16", lambda: False)
    with refused("unsupported", UsageError):
        build(world, tmp_path / "out", "bf16")


def test_a_served_model_computes_elsewhere(world: Path, tmp_path: Path) -> None:
    recipe = RageRecipe(source=f"beir:{world / 'beir'}", embedder="openai:m")
    run = RunOptions(out=tmp_path / "out", base_url="http://127.0.0.1:9/v1", compute="bf16")
    with pytest.raises(UsageError, match="--compute bf16: openai:m does not compute here"):
        build_rage(recipe, run)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(("value", "what"), [(np.nan, "NaN"), (0.0, "zeros")])
def test_a_vector_without_a_direction_names_the_passage(
    world: Path, tmp_path: Path, value: float, what: str
) -> None:
    class Broken:
        def fingerprint(self) -> dict[str, Any]:
            return {"name": "broken"}

        def encode(self, texts: list[str], kind: str) -> Any:
            vectors = np.ones((len(texts), 4), np.float32)
            if kind == "passage":
                vectors[37] = value
            return vectors

    recipe = RageRecipe(source=f"beir:{world / 'beir'}", embedder="offline")
    with refused("bad-vectors", InputError, path="broken") as caught:
        build_rage(recipe, run_options(tmp_path / "out"), Broken())
    assert "'p37'" in str(caught.value)
    assert what in str(caught.value)
