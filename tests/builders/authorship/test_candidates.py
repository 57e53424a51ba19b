"""Candidates by embedding against brute force, on vectors made to be awkward."""

from collections.abc import Sequence
from functools import partial
from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.builders.authorship.select import retrieve_candidates
from citeforge.builders.derive import Base
from citeforge.engines.models.embedder import Role
from citeforge.engines.tables import iter_batches, shard_paths, write_table
from citeforge.schemas.tables import CORPUS


class Table:
    """An embedder whose texts are numbers of rows."""

    def __init__(self, vectors: npt.NDArray[np.float32]) -> None:
        self.vectors = vectors

    def fingerprint(self) -> dict[str, Any]:
        return {"name": "table"}

    def encode(self, texts: Sequence[str], kind: Role) -> npt.NDArray[np.float32]:
        return self.vectors[[int(text) for text in texts]]


@pytest.mark.numeric
@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 150),
    distinct=st.integers(1, 8),
    depth=st.integers(1, 40),
)
def test_equals_brute_force_with_many_ties(
    tmp_path_factory: pytest.TempPathFactory, seed: int, n: int, distinct: int, depth: int
) -> None:
    rng = np.random.default_rng(seed)
    # Few distinct directions among many passages: candidates end inside groups of equal scores.
    vectors = rng.normal(size=(distinct, 8)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    texts = rng.integers(0, distinct, n)
    ids = [f"id{k}" for k in rng.permutation(n)]
    folder = tmp_path_factory.mktemp("world")
    columns = [ids, [""] * n, [str(t) for t in texts], [None] * n]
    write_table(folder / "corpus", "corpus", pa.table(columns, schema=CORPUS))
    corpus = shard_paths(folder / "corpus", "corpus")
    base = SimpleNamespace(
        corpus=corpus,
        passages=partial(iter_batches, corpus),
        query_ids=[f"q{i}" for i in range(distinct)],
        queries=pa.table({"text": [str(i) for i in range(distinct)]}),
    )
    ranked = retrieve_candidates(
        cast(Base, base), "dense", depth, lambda: Table(vectors), folder / "vectors"
    )
    # Vectors are kept in half precision.
    wide = vectors.astype(np.float16).astype(np.float64)
    wide /= np.linalg.norm(wide, axis=1, keepdims=True)
    for row in range(distinct):
        scores = np.round(wide @ wide[row], 6)[texts]
        best = sorted(zip(-scores, ids, strict=True))[:depth]
        assert ranked[f"q{row}"] == [name for _, name in best]
