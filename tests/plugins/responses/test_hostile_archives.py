"""Archives as submissions: damaged, hostile or of another kind, they end in one line."""

import io
import struct
import tarfile
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai.log import write_eval_log

from citeforge.evaluator.submissions.benchmark import Benchmark
from conftest import Inline
from plugins.responses.test_logs import log_of, sample

LINE = b'{"query_id":"q01","output":"Io is a moon [1]."}\n'
_ZEROS = bytes(1 << 20)


def tarred(compression: str, *members: tuple[str, bytes], link: str = "") -> bytes:
    """A tar archive, with a link to another file if one is named."""
    file = io.BytesIO()
    with tarfile.open(fileobj=file, mode=f"w:{compression}") as archive:  # type: ignore[call-overload]
        for name, data in members:
            entry = tarfile.TarInfo(name)
            entry.size = len(data)
            archive.addfile(entry, io.BytesIO(data))
        if link:
            entry = tarfile.TarInfo("linked.jsonl")
            entry.type, entry.linkname = tarfile.SYMTYPE, link
            archive.addfile(entry)
    return file.getvalue()


def zipped(*members: tuple[str, bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members:
            archive.writestr(name, data)
    return file.getvalue()


ONE = ("a.jsonl", LINE)
OTHERS: Mapping[str, Callable[[], bytes]] = {
    "a.tar": lambda: tarred("", ONE),
    "a.tar.gz": lambda: tarred("gz", ONE),
    "a.tgz": lambda: tarred("gz", ONE),
    "a.tar.bz2": lambda: tarred("bz2", ONE),
    "a.tar.xz": lambda: tarred("xz", ONE),
    "a.zip": lambda: zipped(ONE),
    "tar.jsonl": lambda: tarred("", ONE),
    "tar.jsonl.gz": lambda: tarred("gz", ONE),
    "zip.jsonl": lambda: zipped(ONE),
    "out.tar": lambda: tarred("", ("../../a.jsonl", LINE), link="/etc/passwd"),
    "many.tar.gz": lambda: tarred("gz", *((f"{i}.jsonl", LINE) for i in range(3_000))),
    "half.tar.gz": lambda: tarred("gz", ONE)[:60],
    "half.zip": lambda: zipped(ONE)[:60],
    "bomb.zip": lambda: zipped(("a.jsonl", _ZEROS * 64)),
    "bomb.tar.gz": lambda: tarred("gz", ("a.jsonl", _ZEROS * 64)),
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("command", ["check", "score"])
def test_archives_that_are_no_submissions(
    package: Path, tmp_path: Path, inline: Inline, name: str, command: str
) -> None:
    path = tmp_path / name
    path.write_bytes(OTHERS[name]())
    done = inline.fails(1, "bad-archive", command, path, "--benchmark", package)
    if not name.startswith("half.tar"):
        assert "archive; unpack it, and name the file in it" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == [name]


def rewritten(log: bytes, change: Callable[[zipfile.ZipInfo, bytes], tuple[str, bytes]]) -> bytes:
    """A log whose members have another name or content."""
    with zipfile.ZipFile(io.BytesIO(log)) as archive:
        return zipped(*(change(e, archive.read(e)) for e in archive.infolist()))


def flipped(log: bytes, field: int, signatures: Mapping[bytes, int], value: bytes) -> bytes:
    """A log with other bytes in a field of all its headers, local and central."""
    result = bytearray(log)
    for signature, shift in signatures.items():
        start = result.find(signature)
        while start >= 0:
            result[start + field + shift : start + field + shift + len(value)] = value
            start = result.find(signature, start + 4)
    return bytes(result)


HEADERS = {b"PK\x03\x04": 0, b"PK\x01\x02": 2}
"""Signatures of the headers of a zip archive, and how much later their fields come."""
LOGS: Mapping[str, Callable[[bytes], bytes]] = {
    "cut short": lambda log: log[: len(log) * 2 // 3],
    "encrypted": lambda log: flipped(log, 6, HEADERS, b"\x01\x00"),
    "wrong CRC": lambda log: flipped(log, 14, HEADERS, b"\xde\xad\xbe\xef"),
    "unknown method": lambda log: flipped(log, 8, HEADERS, b"\x63\x00"),
    "larger than it says": lambda log: flipped(log, 22, HEADERS, struct.pack("<I", 7)),
    "names that climb": lambda log: rewritten(log, lambda e, d: (f"../../{e.filename}", d)),
    "no samples' end": lambda log: rewritten(log, lambda e, d: (e.filename, d[:-9])),
    "empty members": lambda log: rewritten(log, lambda e, d: (e.filename, b"")),
}  # fmt: skip


@pytest.mark.parametrize(
    ("n_files", "n_mebibytes", "what"),
    [(1, 33, "has a file larger than 32 MiB, unpacked: 'samples/0.json'"),
     (33, 32, "is larger than 1,024 MiB, unpacked")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_a_log_that_unpacks_to_more_than_its_reader_can_hold(
    package: Path, tmp_path: Path, inline: Inline, n_files: int, n_mebibytes: int, what: str
) -> None:
    path = tmp_path / "log.eval"
    sizes = {b"PK\x03\x04": 22, b"PK\x01\x02": 24}
    small = zipped(*[("samples/0.json", b"{}")] * n_files)  # all of one name
    large = struct.pack("<I", n_mebibytes << 20)
    for signature, field in sizes.items():
        small = flipped(small, field, {signature: 0}, large)
    path.write_bytes(small)
    assert what in inline.fails(1, "too-large", "check", path, "--benchmark", package).stderr


@pytest.fixture
def log(benchmark: Benchmark, tmp_path: Path) -> bytes:
    path = tmp_path / "whole.eval"
    write_eval_log(
        log_of(benchmark, [sample(q, "So [1].") for q in benchmark.query_ids]), str(path)
    )
    whole = path.read_bytes()
    path.unlink()
    return whole


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("command", ["check", "score"])
def test_damaged_and_hostile_logs(
    package: Path, tmp_path: Path, inline: Inline, log: bytes, name: str, command: str
) -> None:
    path = tmp_path / "log.eval"
    path.write_bytes(LOGS[name](log))
    done = inline.fails(1, "bad-archive", command, path, "--benchmark", package)
    assert "is not a readable log of inspect_ai (" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["log.eval"]
