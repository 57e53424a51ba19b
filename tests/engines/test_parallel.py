"""The number of threads changes no bit of anything that is computed in floats."""

import ctypes
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.parallel import one_thread_each
from citeforge.engines.posix import return_free_memory
from patience import patience
from servers.float_work import WORK, make_models

TESTS = Path(__file__).parents[1]
THREADS = (1, 3)
MODELS = ("embedding", "judge", "perplexity", "bertscore", "mauve", "qa", "cross")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[int, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("models")
    make_models(folder)
    result = {}
    for threads in THREADS:
        number = str(threads)
        path = os.pathsep.join([str(TESTS), *filter(None, [os.environ.get("PYTHONPATH")])])
        env = {**os.environ, "PYTHONPATH": path, "PYTHONHASHSEED": number}
        env |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), number)
        script = TESTS / "servers" / "float_work.py"
        output = subprocess.run(
            [sys.executable, script, folder, number], stdout=subprocess.PIPE, check=True, env=env
        ).stdout
        result[threads] = json.loads(output.splitlines()[-1])
    return result


@pytest.mark.slow
@pytest.mark.parametrize("name", WORK)
def test_same_bytes_for_every_number_of_threads(
    results: dict[int, dict[str, Any]], name: str
) -> None:
    assert len({results[threads][name][0] for threads in THREADS}) == 1
    for threads in THREADS:
        _, in_modules, afterwards = results[threads][name]
        assert in_modules == ([1] if name.startswith(MODELS) else [])
        assert afterwards == threads


def test_order_is_kept_and_every_core_works() -> None:
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(3)
    try:
        together = threading.Barrier(3)

        def work(piece: int) -> tuple[int, int, str]:
            together.wait(timeout=patience(60))  # passes when three are under way at once
            return piece, torch.get_num_threads(), threading.current_thread().name

        result = list(one_thread_each(work, range(12)))
        assert [piece for piece, _, _ in result] == list(range(12))
        assert {n for _, n, _ in result} == {1}
        assert len({name for _, _, name in result}) == 3
        assert torch.get_num_threads() == 3
    finally:
        torch.set_num_threads(before)


def test_pieces_are_taken_a_few_ahead() -> None:
    import torch

    taken = []

    def pieces() -> Any:
        for i in range(100):
            taken.append(i)
            yield i

    results = one_thread_each(lambda i: i, pieces())
    assert next(results) == 0
    assert len(taken) <= 2 * torch.get_num_threads() + 1
    results.close()  # type: ignore[attr-defined]


def test_an_error_of_one_piece_ends_the_rest() -> None:
    def work(piece: int) -> int:
        if piece == 5:
            raise ValueError("piece 5")
        return piece

    results = one_thread_each(work, range(1000))
    assert [next(results) for _ in range(5)] == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match="piece 5"):
        next(results)


def test_another_device_is_left_to_itself() -> None:
    here = threading.current_thread().name
    result = one_thread_each(lambda i: threading.current_thread().name, range(3), "cuda")
    assert list(result) == [here] * 3


@pytest.mark.skipif(not hasattr(ctypes.CDLL(None), "malloc_trim"), reason="another C library")
def test_freed_memory_of_other_threads_goes_back_to_the_system() -> None:
    def resident() -> int:
        pages = Path("/proc/self/statm").read_text().split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")

    blocks: list[bytearray] = []

    def fill() -> None:
        blocks.extend(bytearray(b"x" * 50_000) for _ in range(2_000))  # 100 MB, of one arena

    thread = threading.Thread(target=fill)
    thread.start()
    thread.join()
    del blocks[:-1]  # the last one lies at the arena's end, so that it cannot shrink
    held = resident()
    return_free_memory()
    assert held - resident() > 50_000_000


def test_other_systems_need_no_trimming(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ctypes, "CDLL", lambda name: object())  # musl has no malloc_trim
    return_free_memory()
    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.delattr(ctypes, "CDLL")
    return_free_memory()
