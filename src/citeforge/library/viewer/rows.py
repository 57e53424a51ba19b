"""What the list shows of a file: read when it is shown, and again when it has changed."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import msgspec

from citeforge.engines.jsonlines import UNREADABLE
from citeforge.engines.shown import show_number
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.formats import read_header
from citeforge.library.viewer.found import Found, Sort
from citeforge.package.manifest import MANIFEST
from citeforge.schemas.errors import InputError, read_error

_BLOCK = 1 << 20
_MEASURES = 3
"""Most measures of a score file that the list shows."""


@dataclass(frozen=True)
class Row:
    """A row of the list.

    Attributes:
        found: file or package.
        title: name of the package or system; empty where there is none, or it cannot be read.
        texts: further texts, in the order of the columns of its sort.
        more: small print below the first of these; empty for none.
        problem: why it cannot be read; empty if it can.
        benchmark_hash: hash of the package, or of the one that is answered; empty if unknown.
    """

    found: Found
    title: str = ""
    texts: tuple[str, ...] = ()
    more: str = ""
    problem: str = ""
    benchmark_hash: str = ""


class _Manifest(msgspec.Struct):
    """Part of a manifest that the list shows."""

    name: str
    kind: str
    version: str
    benchmark_hash: str
    contexts: dict[str, Any]
    files: dict[str, Any]


class _Measure(msgspec.Struct):
    """Part of a measure's score that the list shows."""

    name: str
    value: float | None
    low: float | None
    high: float | None


class _Counts(msgspec.Struct):
    """Part of a score file's counts that the list shows."""

    n_queries: int
    n_missing: int


class _Scores(msgspec.Struct):
    """Part of a score file that the list shows: the rest, such as its answers, is not built."""

    system: str
    benchmark: str
    benchmark_hash: str
    protocol: str
    context: str
    counts: _Counts
    measures: list[_Measure]
    headline: list[str] = []
    is_control: bool = False


def _read_package(found: Found) -> Row:
    """Read what the list shows of a package."""
    manifest = msgspec.json.decode((found.path / MANIFEST).read_bytes(), type=_Manifest)
    missing = [name for name in manifest.files if not (found.path / name).is_file()]
    if missing:
        return Row(found, problem=f"is not complete: {missing[0]} is missing")
    texts = manifest.kind, manifest.version, ", ".join(manifest.contexts)
    return Row(found, manifest.name, texts, benchmark_hash=manifest.benchmark_hash)


def _read_submission(found: Found) -> Row:
    """Read what the list shows of a submission: its header, and its number of answers."""
    header = read_header(found.path)
    n_lines, last = 0, b"\n"
    with found.path.open("rb") as file:
        while block := file.read(_BLOCK):
            n_lines, last = n_lines + block.count(b"\n"), block
    n = n_lines + (not last.endswith(b"\n")) - (header is not None)
    known: Mapping[str, Any] = header or {}
    title = str(known.get("system", "")) + (" (control)" if known.get("control") is True else "")
    texts = count_text(n, "answer"), str(known.get("benchmark", ""))
    return Row(found, title, texts, benchmark_hash=str(known.get("benchmark_hash", "")))


def _read_scores(found: Found) -> Row:
    """Read what the list shows of a score file: system, what was scored, and its main values."""
    file = msgspec.json.decode(found.path.read_bytes(), type=_Scores)
    by_name = {m.name: m for m in file.measures if m.value is not None}
    names = [n for n in file.headline if n in by_name] or list(by_name)
    shown = [by_name[name] for name in names[:_MEASURES]]
    more = ", ".join(f"{m.name} {show_number(m.value)}" for m in shown[1:])
    n, missing = file.counts.n_queries, file.counts.n_missing
    count = f"{n:,}" + (f", {missing:,} answers missing" if missing else "")
    title = file.system + (" (control)" if file.is_control else "")
    value = _show(shown[0]) if shown else ""
    texts = value, f"{file.context}, {file.protocol}", count, file.benchmark
    return Row(found, title, texts, more, benchmark_hash=file.benchmark_hash)


def _show(measure: _Measure) -> str:
    """Write a measure's value with its interval."""
    ends = f" [{show_number(measure.low)}, {show_number(measure.high)}]"
    return f"{measure.name} {show_number(measure.value)}" + ends * (measure.low is not None)


_READERS: dict[Sort, Callable[[Found], Row]] = {
    "packages": _read_package,
    "submissions": _read_submission,
    "scores": _read_scores,
    "reports": Row,
}


@dataclass
class Rows:
    """Rows of the list, kept until their files change."""

    _kept: dict[str, Row] = field(default_factory=dict)

    def read(self, found: Found) -> Row:
        """Read what the list shows of a file; a row that names the problem if it cannot be read."""
        row = self._kept.get(found.key)
        if row is None or row.found != found:
            row = self._kept[found.key] = _read(found)
        return row


def _read(found: Found) -> Row:
    """Read a row; what is wrong with a file becomes a part of it."""
    try:
        return _READERS[found.sort](found)
    except InputError as error:
        return Row(found, problem=error.message)
    except OSError as error:
        return Row(found, problem=read_error(error, found.path).message)
    except UNREADABLE as error:
        return Row(found, problem=f"is damaged: {error}")
