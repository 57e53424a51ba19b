"""The drawing program, vl-convert."""

from __future__ import annotations

import resource
from typing import Any

from citeforge.schemas.errors import InputError
from citeforge.schemas.extras import extras_named

_ADDRESSES = 80
"""GiB of addresses that V8, inside vl-convert, sets apart; with fewer it ends the whole process."""


def hindrance() -> str | None:
    """Why nothing can be drawn in this process; None where it can."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY or limit >= _ADDRESSES << 30:
        return None
    return (
        f"drawing needs {_ADDRESSES} GiB of addresses (not of memory), and this process may have "
        f"{limit / (1 << 30):.1f}; `ulimit -v unlimited` first"
    )


def to_svg(spec: dict[str, Any]) -> str:
    """The drawing of a specification in Vega-Lite.

    Raises:
        InputError: the process may not have as many addresses as it takes.
        MissingExtraError: the extra ``report`` is not installed.
    """
    with extras_named():
        import vl_convert
    problem = hindrance()
    if problem is not None:
        raise InputError(problem)
    return str(vl_convert.vegalite_to_svg(spec))


def to_picture(svg: str, form: str) -> bytes:
    """A drawing as ``png``, at twice its size, or as ``pdf``, of its size."""
    import vl_convert

    is_png = form == "png"
    return bytes(vl_convert.svg_to_png(svg, scale=2) if is_png else vl_convert.svg_to_pdf(svg))
