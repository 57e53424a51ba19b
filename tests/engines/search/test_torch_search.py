"""Search on a device of torch, here the processor: the interface that GPUs are behind."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from citeforge.engines.embedding.vectors import unit_rows
from citeforge.engines.search.exact import Faiss, choose_first_stage
from citeforge.engines.search.gemm import Best
from citeforge.engines.search.torch_search import TorchSearch
from citeforge.schemas.errors import InputError

RNG = np.random.default_rng(3)
QUERIES = unit_rows(RNG.standard_normal((13, 24)).astype(np.float32))
BLOCKS = [unit_rows(RNG.standard_normal((n, 24)).astype(np.float32)) for n in (40, 3, 57)]


def found(search: Any) -> Best:
    best, start = Best(len(QUERIES), 5), 0
    for block in BLOCKS:
        search.search(block, start, best)
        start += len(block)
    return best


def test_it_finds_what_faiss_finds() -> None:
    there, here = found(TorchSearch(QUERIES, "cpu")), found(Faiss(QUERIES))
    assert (there.where == here.where).all()
    assert np.allclose(there.scores, here.scores, atol=1e-6)


class Scarce:
    """Products of more than so many rows do not fit."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.asked: list[int] = []

    def __call__(self, left: torch.Tensor, right: torch.Tensor) -> torch.Tensor:
        self.asked.append(len(left))
        if len(left) > self.most:
            raise torch.OutOfMemoryError("CUDA out of memory")
        return torch.mm(left, right)


def test_memory_that_runs_out_halves_the_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    scarce = Scarce(4)
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda left, right: scarce(left, right))
    there = found(TorchSearch(QUERIES, "cpu"))
    # 13 // 2 = 6, 6 // 2 = 3; then four products of 3 and one of 1, for each of three blocks.
    assert scarce.asked == [13, 6, *[3, 3, 3, 3, 1] * 3]
    assert (there.where == found(Faiss(QUERIES)).where).all()


def test_memory_that_never_suffices_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    scarce = Scarce(0)
    monkeypatch.setattr(torch.Tensor, "__matmul__", lambda left, right: scarce(left, right))
    with pytest.raises(InputError, match=r"^cpu: memory does not suffice to search one block"):
        found(TorchSearch(QUERIES, "cpu"))


def test_a_device_that_is_named_is_taken() -> None:
    assert not isinstance(choose_first_stage(QUERIES, 1.0, "cpu"), TorchSearch)
    named = choose_first_stage(QUERIES, 1.0, "meta")
    assert isinstance(named, TorchSearch)
    assert named.device == "meta"


def test_rough_products_are_switched_off_and_on_again() -> None:
    torch.set_float32_matmul_precision("high")
    try:
        found(TorchSearch(QUERIES, "cpu"))
        assert torch.get_float32_matmul_precision() == "high"
    finally:
        torch.set_float32_matmul_precision("highest")
