"""What the list shows of a file: read when it is shown, and again when it has changed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import msgspec

from citeforge.engines.jsonlines import UNREADABLE, open_bytes, read_errors
from citeforge.engines.shown import show_interval, show_number
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.submissions.formats import read_header
from citeforge.library.viewer.found import Found, Sort
from citeforge.package.manifest import MANIFEST
from citeforge.schemas.errors import InputError, read_error
from citeforge.schemas.text import choose_digits

_BLOCK = 1 << 20
_MOST_BLOCKS = 1 << 10
"""Blocks in which answers are counted: a small compressed file may unpack to any size."""
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
        benchmark_hash: hash of the package, or of the one that is answered; empty if unknown.
        problem: why it cannot be read; empty if it can.
    """

    found: Found
    title: str = ""
    texts: tuple[str, ...] = ()
    more: str = ""
    benchmark_hash: str = ""
    problem: str = ""


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
    scale: int
    noise: float | None = None

    def __str__(self) -> str:
        """Write name and value."""
        return f"{self.name} {show_number(self.value, choose_digits(self.noise, self.scale))}"


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


def _read_package(entry: Found) -> Row:
    """Read a package's row of the viewer's list: name, kind, version, context sets."""
    manifest = msgspec.json.decode((entry.path / MANIFEST).read_bytes(), type=_Manifest)
    missing = [name for name in manifest.files if not (entry.path / name).is_file()]
    if missing:
        return Row(entry, problem=f"is not complete: {missing[0]} is missing")
    texts = manifest.kind, manifest.version, ", ".join(manifest.contexts)
    return Row(entry, manifest.name, texts, benchmark_hash=manifest.benchmark_hash)


def _read_submission(entry: Found) -> Row:
    """Read a submission's row of the viewer's list: its header, its number of answers."""
    header = read_header(entry.path)
    n_lines, last, n_blocks = 0, b"\n", 0
    with open_bytes(entry.path) as file, read_errors(entry.path):
        while n_blocks < _MOST_BLOCKS and (block := file.read(_BLOCK)):
            n_lines, last, n_blocks = n_lines + block.count(b"\n"), block, n_blocks + 1
    n = n_lines + (not last.endswith(b"\n")) - (header is not None)
    more = " or more" if n_blocks == _MOST_BLOCKS else ""
    known: Mapping[str, Any] = header or {}
    title = str(known.get("system", "")) + (" (control)" if known.get("control") is True else "")
    texts = count_text(n, "answer") + more, str(known.get("benchmark", ""))
    return Row(entry, title, texts, benchmark_hash=str(known.get("benchmark_hash", "")))


def _read_scores(entry: Found) -> Row:
    """Read a score file's row of the viewer's list: system, what was scored, main values."""
    file = msgspec.json.decode(entry.path.read_bytes(), type=_Scores)
    by_name = {m.name: m for m in file.measures if m.value is not None}
    names = [n for n in file.headline if n in by_name] or list(by_name)
    shown = [by_name[name] for name in names[:_MEASURES]]
    more = [", ".join(map(str, shown[1:])), _describe_noise(shown)]
    n, missing = file.counts.n_queries, file.counts.n_missing
    count = f"{n:,}" + (f", {missing:,} answers missing" if missing else "")
    title = file.system + (" (control)" if file.is_control else "")
    value = _show(shown[0]) if shown else ""
    texts = value, f"{file.context}, {file.protocol}", count, file.benchmark
    return Row(entry, title, texts, "; ".join(filter(None, more)), file.benchmark_hash)


def _show(measure: _Measure) -> str:
    """Write a measure's value with its interval."""
    digits = choose_digits(measure.noise, measure.scale)
    ends = f" {show_interval(measure.low, measure.high, digits)}"
    return f"{measure}{ends * (measure.low is not None)}"


def _describe_noise(measures: Sequence[_Measure]) -> str:
    """Describe the privacy noise in values that depend on hidden labels; empty without noise."""
    sizes = [m.noise for m in measures if m.noise is not None]
    return f"labels hidden, noise of up to {show_number(max(sizes), 1)}" if sizes else ""


_READERS: dict[Sort, Callable[[Found], Row]] = {
    "packages": _read_package,
    "submissions": _read_submission,
    "scores": _read_scores,
    "sites": Row,
    "reports": Row,
}


@dataclass
class Rows:
    """Rows of the list, kept until their files change."""

    _kept: dict[str, Row] = field(default_factory=dict)

    def read(self, entry: Found) -> Row:
        """Get a file's row of the viewer's list, read again only if the file has changed."""
        row = self._kept.get(entry.key)
        if row is None or row.found != entry:
            row = self._kept[entry.key] = _read(entry)
        return row


def _read(entry: Found) -> Row:
    """Read a file's row of the viewer's list; a row with the problem if it is at fault."""
    try:
        return _READERS[entry.sort](entry)
    except InputError as error:
        return Row(entry, problem=error.message)
    except OSError as error:
        return Row(entry, problem=read_error(error, entry.path).message)
    except UNREADABLE as error:
        return Row(entry, problem=f"is damaged: {error}")
