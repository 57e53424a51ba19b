"""The drawing program, vl-convert, on a thread of its own: it works while Python goes on."""

from __future__ import annotations

import os
import resource
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, TypeVar

from citeforge.schemas.errors import InputError
from citeforge.schemas.extras import extras_named

if TYPE_CHECKING:
    from citeforge.plugins.plots.figure import Figure

T = TypeVar("T")

_ADDRESSES = 80
"""GiB of addresses that V8, inside vl-convert, sets apart; with fewer it ends the whole process."""
_SMALLEST = {"data": {"values": [{}]}, "mark": "point"}


@cache
def _thread(process: int) -> ThreadPoolExecutor:
    """Its one thread in this process; a fork has none of its parent's."""
    return ThreadPoolExecutor(1, "plots")


def hindrance() -> str | None:
    """Why nothing can be drawn in this process; None where it can."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= _ADDRESSES << 30:
        return None
    return (
        f"drawing needs {_ADDRESSES} GiB of addresses (not of memory), and this process may have "
        f"{limit / (1 << 30):.1f}; `ulimit -v unlimited` first"
    )


def start_drawing() -> None:
    """Start it, which takes longer than to draw; nothing where it cannot draw."""
    if find_spec("vl_convert") is not None and hindrance() is None:
        _ask(_svg, _SMALLEST)


def to_svg(spec: dict[str, Any]) -> str:
    """The drawing of a specification in Vega-Lite.

    Raises:
        InputError: the process may not have as many addresses as it takes.
        MissingExtraError: the extra ``report`` is not installed.
    """
    return _ask(_svg, spec).result()


def to_picture(svg: str, form: str) -> bytes:
    """A drawing as ``png``, at twice its size, or as ``pdf``, of its size."""
    return _ask(_picture, svg, form).result()


def drawn(figures: Iterable[Figure]) -> list[Figure]:
    """Figures with their drawings, each made while the next one is specified."""
    pictures = [(figure, _ask(_svg, figure.spec)) for figure in figures]
    for figure, drawing in pictures:
        vars(figure)["svg"] = drawing.result()
    return [figure for figure, _ in pictures]


@contextmanager
def unchecked() -> Iterator[None]:
    """Specifications are not validated inside: that takes longer than to draw them.

    Tests make every plot with validation.
    """
    with extras_named():
        from altair.utils import schemapi
    with schemapi.debug_mode(False):
        yield


def _ask(what: Callable[..., T], *given: object) -> Future[T]:
    return _thread(os.getpid()).submit(what, *given)


def _svg(spec: dict[str, Any]) -> str:
    with extras_named():
        import vl_convert
    problem = hindrance()
    if problem is not None:
        raise InputError(problem)
    return str(vl_convert.vegalite_to_svg(spec))


def _picture(svg: str, form: str) -> bytes:
    import vl_convert

    is_png = form == "png"
    return bytes(vl_convert.svg_to_png(svg, scale=2) if is_png else vl_convert.svg_to_pdf(svg))
