"""Unsafe archives."""

import stat
import zipfile
from pathlib import Path

import pytest

from citeforge.engines.archives import unpack_zip
from conftest import refused


def make_zip(path: Path, entries: dict[str, str], link: bool = False) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in entries.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFLNK | 0o777 if link else stat.S_IFREG | 0o644) << 16
            archive.writestr(info, text)
    return path


@pytest.mark.parametrize(
    "name", ["../evil", "a/../../evil", "/evil", "..\\evil", "C:\\evil", "C:/evil"]
)
def test_entries_that_leave_the_folder(tmp_path: Path, name: str) -> None:
    archive = make_zip(tmp_path / "a.zip", {"good": "x", name: "y"})
    with refused("link-outside", path=archive) as caught:
        unpack_zip(archive, tmp_path / "in" / "side")
    assert f"the entry {name!r} would leave the folder" in str(caught.value)
    assert sorted(p.name for p in tmp_path.rglob("*")) == ["a.zip"]


def test_symbolic_links(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"link": "/etc/passwd"}, link=True)
    with refused("link-outside", path=archive):
        unpack_zip(archive, tmp_path / "inside")
    assert not (tmp_path / "inside").exists()


def test_damaged_archives(tmp_path: Path) -> None:
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as content:
        content.writestr("corpus.jsonl", "some words " * 500)
    damaged = bytearray(archive.read_bytes())
    start = len("corpus.jsonl") + 30  # behind the local header
    damaged[start : start + 8] = b"\xff" * 8
    for data in (b"", b"PK\x03\x04 nonsense", b"text", damaged):
        archive.write_bytes(data)
        with refused("bad-archive", path=archive):
            unpack_zip(archive, tmp_path / "inside")


def test_the_only_folder_inside_is_taken(tmp_path: Path) -> None:
    archive = make_zip(tmp_path / "a.zip", {"nq/corpus.jsonl": "x", "__MACOSX/y": "z"})
    assert unpack_zip(archive, tmp_path / "inside") == tmp_path / "inside" / "nq"
