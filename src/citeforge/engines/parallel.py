"""Floating-point work in fixed pieces, each on one thread, for results equal on all machines.

A sum of floats depends on how threads share it out. A piece that one thread computes does not, so
the number of cores can change the time that a list of pieces takes, and never a bit of the results.
"""

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from citeforge.engines.posix import return_free_memory

T = TypeVar("T")
R = TypeVar("R")
_PIECES_BETWEEN_TRIMS = 128
"""Pieces after which free memory goes back to the system: 4,096 texts in batches of 32."""


def batched(items: Sequence[T], size: int) -> list[Sequence[T]]:
    """Split items into consecutive batches of ``size`` items; the last one may be shorter."""
    return [items[start : start + size] for start in range(0, len(items), size)]


def one_thread_each(
    work: Callable[[T], R], pieces: Iterable[T], device: str = "cpu"
) -> Iterator[R]:
    """Apply ``work`` to pieces, each on one thread, as many at once as cores; yield in order.

    Threads are enough: torch computes without the interpreter's lock. There are as many as torch
    would use in one operation here (``OMP_NUM_THREADS``, else the number of cores). The caller's
    own setting is the same afterwards.

    Args:
        work: a function that may run in several threads at once. A fast tokeniser may not.
        pieces: taken one by one in the calling thread, a few ahead of the work.
        device: device of ``work``. Off the CPU one piece after another runs in the calling
            thread: a GPU shares out each piece itself.

    Yields:
        One result a piece; the first error ends the rest.
    """
    if device != "cpu":
        yield from map(work, pieces)
        return
    import torch

    workers = torch.get_num_threads()
    pool = ThreadPoolExecutor(
        workers,
        thread_name_prefix="citeforge-floats",
        initializer=torch.set_num_threads,  # holds for the thread that calls it
        initargs=(1,),
    )
    waiting: deque[Future[R]] = deque()
    try:
        for number, piece in enumerate(pieces, 1):
            if number % _PIECES_BETWEEN_TRIMS == 0:
                return_free_memory()
            if len(waiting) == 2 * workers:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, piece))
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
        return_free_memory()
        # A thread that starts later takes over whatever was set last in any thread.
        torch.set_num_threads(workers)


def in_halves(work: Callable[[slice], R], rows: slice, device: str) -> list[R | None]:
    """Apply ``work`` to rows, in halves if memory runs out; None for a row that is too large.

    Args:
        work: computes some rows.
        rows: from ``start`` to ``stop``; at least one.
        device: device of ``work``.

    Returns:
        One result a piece, in order; None for a single row for which memory does not suffice.
    """
    import torch

    try:
        return [work(rows)]
    except RuntimeError as error:
        if not isinstance(error, torch.OutOfMemoryError) and "memory" not in str(error).lower():
            raise
    # Outside the handler, so that the failed piece's tensors are free again.
    if device.startswith("cuda"):
        torch.cuda.empty_cache()
    if rows.stop - rows.start == 1:
        return [None]
    middle = (rows.start + rows.stop + 1) // 2
    pieces = slice(rows.start, middle), slice(middle, rows.stop)
    return [result for piece in pieces for result in in_halves(work, piece, device)]
