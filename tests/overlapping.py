"""A small corpus of overlapping chunks, and benchmarks built of it."""

from pathlib import Path

from citeforge.builders.derive import Base
from citeforge.builders.rage.build import build_rage
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.rage import Mining, RageRecipe
from conftest import write_beir
from stand_ins import RuleEmbedder

STRIDE, WIDTH, CHUNKS = 50, 100, 5
DOCUMENTS = ("river", "castle", "engine")


def by_document() -> RuleEmbedder:
    """Vectors by document: chunks of one lie near each other, and near its question."""

    def embed(text: str) -> list[float]:
        number = sum(map(ord, text)) % 97 / 970
        return [1.0 if d in text else number for d in DOCUMENTS]

    return RuleEmbedder(embed)


def write_chunks(at: Path) -> Path:
    """The corpus as a BEIR folder: the third chunk of each document is relevant to its question."""
    chunks = {}
    for document in DOCUMENTS:
        words = [f"{document}{i}" for i in range(STRIDE * (CHUNKS + 1))]
        for i in range(CHUNKS):
            chunks[f"{document}-{i}"] = " ".join(words[i * STRIDE : i * STRIDE + WIDTH])
    # Not only neighbours: a line of the relevant chunk by itself.
    chunks["castle-line"] = " ".join(f"castle{i}" for i in range(130, 145))
    queries = {d: f"What of the {d}?" for d in DOCUMENTS}
    return write_beir(at / "b", chunks, queries, [(d, f"{d}-2", 1) for d in DOCUMENTS])


def built(source: Path, out: Path, **more: object) -> dict[str, set[str]]:
    mining = Mining(seemingly_relevant=5, irrelevant=4, **more.pop("mining", {}))  # type: ignore[arg-type]
    recipe = RageRecipe(
        source=f"beir:{source}", licence="cc0-1.0", mining=mining, mixtures=("m=1,1,1",), **more
    )  # type: ignore[arg-type]
    build_rage(recipe, RunOptions(out=out), by_document())
    return {q: {d["corpus-id"] for d in docs} for q, docs in Base(out).negatives.items()}


PIECES = {
    "river": {"river-1", "river-3"},
    "castle": {"castle-1", "castle-3", "castle-line"},
    "engine": {"engine-1", "engine-3"},
}
