"""Builds with a cache of vectors: the same packages, and nothing is embedded again."""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from citeforge.builders.authorship.meaning import SentenceVectors
from citeforge.builders.rage.build import build_rage
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.models.transformer import TransformerEmbedder
from citeforge.engines.retrieval.settings import RetrieverSettings, make_dense
from citeforge.engines.running.names import OFFLINE, make_embedder
from citeforge.engines.running.setup import run_embedder
from citeforge.engines.tables import table_of, write_table
from citeforge.package.kinds import kind_of_recipe
from citeforge.plugins.published_systems.search import EmbeddingReranker
from citeforge.schemas.recipes.answers import AlceRecipe, Retrieving
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import RageRecipe
from citeforge.schemas.tables import CORPUS
from conftest import EXAMPLES, Inline, content

pytestmark = pytest.mark.slow
FACTS = EXAMPLES / "facts"
N_PASSAGES, N_QUERIES = 84, 30


@pytest.fixture
def embedded(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[str]]:
    """Texts that models were asked for, by numeric format and kind."""
    asked: dict[str, list[str]] = {}
    real = TransformerEmbedder.encode_watched

    def encode_watched(self: Any, texts: Sequence[str], kind: Any, advance: Any) -> Any:
        asked.setdefault(f"{self.compute} {kind}", []).extend(texts)
        return real(self, texts, kind, advance)

    monkeypatch.setattr(TransformerEmbedder, "encode_watched", encode_watched)
    return asked


def build(
    out: Path, cache: Path | None, source: Path = FACTS, **recipe: Any
) -> tuple[str, dict[str, bytes]]:
    """Build a benchmark; its hash, and its files."""
    made = build_rage(
        RageRecipe(source=f"beir:{source}", embedder="offline", name="b", **recipe),
        RunOptions(out=out, device="cpu", cache=cache),
    )
    return made.benchmark_hash, content(out)


def test_another_seed_and_mixture_embed_nothing_again(
    tmp_path: Path, embedded: dict[str, list[str]]
) -> None:
    cache = tmp_path / "cache"
    cold = build(tmp_path / "cold", cache)
    assert {k: len(v) for k, v in embedded.items() if k.startswith("fp32")} == {
        "fp32 passage": N_PASSAGES, "fp32 query": N_QUERIES,
    }  # fmt: skip
    embedded.clear()
    assert build(tmp_path / "warm", cache) == cold
    build(tmp_path / "other", cache, seed=5, mixtures=("other=1,1,2",))
    assert embedded == {}
    assert build(tmp_path / "without", None) == cold
    assert len(embedded["fp32 passage"]) == N_PASSAGES


def test_of_a_changed_corpus_the_changes_alone_are_embedded(
    tmp_path: Path, embedded: dict[str, list[str]]
) -> None:
    cache, source = tmp_path / "cache", tmp_path / "facts"
    build(tmp_path / "old", cache)
    embedded.clear()
    lines = (FACTS / "corpus.jsonl").read_text().splitlines()
    changed = json.loads(lines[40])
    changed["text"] = "Quite another passage, in another length."
    new = {"_id": "new", "title": "", "text": "A passage at the beginning."}
    source.mkdir()
    for file in FACTS.iterdir():
        (source / file.name).symlink_to(file)
    (source / "corpus.jsonl").unlink()
    rows = [json.dumps(new), *lines[:40], json.dumps(changed), *lines[41:]]
    (source / "corpus.jsonl").write_text("\n".join(rows) + "\n")
    warm = build(tmp_path / "warm", cache, source)
    assert [text.split()[-1] for text in embedded["fp32 passage"]] == ["beginning.", "length."]
    assert "fp32 query" not in embedded
    # Bounds of cosines differ: passages were embedded beside others.
    assert build(tmp_path / "without", None, source)[0] == warm[0]


def test_vectors_of_another_machine_give_the_same_package(
    tmp_path: Path, embedded: dict[str, list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another batch size and another rounding of each vector, as another processor has them."""
    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        patch.setattr(TransformerEmbedder, "batch_size", 6)
        forward = TransformerEmbedder._forward

        def round_otherwise(self: TransformerEmbedder, features: dict[str, Any]) -> Any:
            vectors = forward(self, features)
            error = {"float32": 1e-7, "float64": 1e-16}[str(vectors.dtype)]
            vectors[:, ::2] += error / 10
            vectors[:, 1::3] -= error / 10
            return vectors

        patch.setattr(TransformerEmbedder, "_forward", round_otherwise)
        build(tmp_path / "there", cache)
    embedded.clear()
    here = build(tmp_path / "here", cache)
    assert embedded == {}
    assert here[0] == build(tmp_path / "without", None)[0]


def rank_dense(folder: Path) -> object:
    """Dense retrieval, as for rankings of builds, searches of systems, and wordings of clauses."""
    folder.mkdir()
    rows = [("p0", "", "Bronze is made of copper and tin."), ("p1", "Io", "A moon of Jupiter.")]
    (name,) = write_table(folder, "corpus", table_of([(*row, None) for row in rows], CORPUS))
    settings = RetrieverSettings([folder / name], partial(make_embedder, OFFLINE), folder / "v")
    return make_dense(settings).rank({"q": "Which metals?"}, 2)


def build_dense_candidates(folder: Path) -> object:
    recipe = AlceRecipe(
        source=f"alce:{EXAMPLES / 'answers' / 'asqa.json'}", corpus=f"beir:{FACTS}",
        retrieving=Retrieving(retrievers=("dense",), depth=10), name="b",
    )  # fmt: skip
    return kind_of_recipe(recipe).build(recipe, RunOptions(out=folder)).benchmark_hash


def compare_sentences(folder: Path) -> object:
    """Vectors in float64, as of twins' checks."""
    vectors = SentenceVectors(run_embedder(OFFLINE, RunOptions()))
    return vectors.find_nearest(["Io is a moon."], ["Bronze is made of copper.", "Io"])


def rerank(folder: Path) -> object:
    """The second stage of systems that search."""
    reranker = EmbeddingReranker(make_embedder(OFFLINE, EmbedderSettings(device="cpu")))
    return reranker.scores([("Which metals?", "Copper and tin."), ("Which moon?", "Io.")])


@pytest.mark.parametrize(
    "place",
    [rank_dense, build_dense_candidates, compare_sentences, rerank],
    ids=lambda f: f.__name__,
)
def test_every_place_that_embeds_uses_the_cache(
    tmp_path: Path,
    embedded: dict[str, list[str]],
    monkeypatch: pytest.MonkeyPatch,
    place: Callable[[Path], object],
) -> None:
    without = place(tmp_path / "without")
    monkeypatch.setenv("CITEFORGE_CACHE", str(tmp_path / "cache"))
    first = place(tmp_path / "first")
    assert embedded
    embedded.clear()
    assert place(tmp_path / "again") == first == without
    assert embedded == {}


def test_options_of_the_command_and_doctor(inline: Inline, tmp_path: Path) -> None:
    build_words = ("build", "rage", "--source", f"beir:{FACTS}", "--embedder", "offline")
    inline.ok(*build_words, "--cache", "kept", "--out", "one")
    before = content(tmp_path / "kept")
    # Passages and queries in float32, and those that float64 decides.
    assert len(before) == 4
    inline.ok(*build_words, "--no-cache", "--out", "two", CITEFORGE_CACHE="kept")
    assert content(tmp_path / "kept") == before
    size = sum(map(len, before.values())) / 10**6
    shown = inline.ok("doctor", "--offline", "--cache", "kept", "--cache-size", "0.5").stdout
    assert (
        f"vector cache           kept/vectors: {size:.1f} MB of at most 0.5 GB (--cache-size)"
        in shown
    )
    assert "vector cache           off (CITEFORGE_CACHE)" in inline.ok("doctor", "--offline").stdout
