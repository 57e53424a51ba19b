"""Atomic files."""

import os
import resource
import stat
import subprocess
import sys
from pathlib import Path
from threading import Event, Thread
from typing import Any

import pytest
from filelock import lock_descriptor

from citeforge.engines import files
from citeforge.engines.files import (
    atomic_file,
    digest,
    digest_folder,
    read_json,
    sha256_file,
    write_text,
)
from citeforge.kg.replies import ReplyStore
from citeforge.package.secret import write_secret
from citeforge.schemas.manifest import SECRET
from conftest import refused


def test_nothing_appears_when_writing_fails(tmp_path: Path) -> None:
    target = tmp_path / "file"
    target.write_bytes(b"old")
    with pytest.raises(ZeroDivisionError), atomic_file(target) as file:
        file.write(b"new")
        raise ZeroDivisionError
    assert target.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_and_the_file_that_it_leads_to_is_replaced(tmp_path: Path) -> None:
    real, link, outer = tmp_path / "data" / "real", tmp_path / "link", tmp_path / "outer"
    link.symlink_to("data/real")
    outer.symlink_to(link)
    for number, path in enumerate((link, outer, tmp_path / "data" / "real")):
        write_text(path, str(number))
        assert real.read_text() == str(number)
    folder = tmp_path / "folder"
    folder.symlink_to("data")
    write_text(folder / "new", "in a folder that is a link")
    assert (tmp_path / "data" / "new").read_text() == "in a folder that is a link"
    assert link.is_symlink() and outer.is_symlink() and folder.is_symlink()
    assert sorted(p.name for p in tmp_path.rglob("*")) == [
        "data", "folder", "link", "new", "outer", "real"
    ]  # fmt: skip


def test_a_pipe_that_is_open_is_refused_by_the_name_that_was_given() -> None:
    reading, writing = os.pipe()
    with os.fdopen(reading), os.fdopen(writing, "w"):
        path = Path(f"/dev/fd/{writing}")  # a link that leads to no path, like /dev/stdout
        with refused("not-a-file", path=path):
            write_text(path, "x")


def test_a_link_to_itself_a_folder_a_pipe_or_a_device_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "piped").symlink_to("pipe")
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to("loop")
    before = sorted(p.name for p in tmp_path.iterdir())
    for name, code in (
        ("pipe", "not-a-file"), ("piped", "not-a-file"), ("folder", "not-a-file"),
        ("/dev/null", "not-a-file"), ("loop", "storage"),
    ):  # fmt: skip
        path = tmp_path / name
        with refused(code, path=path):
            write_text(path, "x")
        with refused(code, path=path):
            ReplyStore(path)
    assert sorted(p.name for p in tmp_path.iterdir()) == before
    assert stat.S_ISFIFO((tmp_path / "pipe").lstat().st_mode)


def test_sha256(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    # FIPS 180-2, appendix B.1
    assert sha256_file(path) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"


def test_digest_does_not_depend_on_key_order() -> None:
    assert digest({"a": 1, "b": [2]}) == digest({"b": [2], "a": 1})
    assert digest({"a": 1}) != digest({"a": 2})


def test_size_limit_of_the_system(tmp_path: Path) -> None:
    """The kernel refuses to let the file grow, as a full disk would."""
    script = """
import resource, sys
from pathlib import Path
from citeforge.engines.files import atomic_file
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    with atomic_file(Path(sys.argv[1])) as file:
        file.write(b"x" * 100_000)
except Exception as error:
    print(type(error).__name__, error.code)
"""
    target = tmp_path / "file"
    result = subprocess.run(
        [sys.executable, "-c", script, str(target)], capture_output=True, text=True, check=True
    )
    assert result.stdout == "InputError disk-full\n"
    assert list(tmp_path.iterdir()) == []
    assert resource.getrlimit(resource.RLIMIT_FSIZE)[0] != 1000


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        (b"{", "bad-json", None),
        (b'{"a":1,\n"b"}', "bad-json", 2),
        (b'{"a": "\\ud800"}', "bad-json", None),
        (b'{"a":\n\n NaN}', "bad-json", 3),
        (b'{"a": 1e999}', "bad-json", None),
        (b"1" * 5000, "bad-json", None),
        (b"[" * 100_000, "bad-json", None),
        (b'{"a":\n"\xff"}', "bad-encoding", 2),
        (b'{"a": 1, "a": 2}', "duplicate-key", None),
        (b"", "bad-json", None),
    ],
)
def test_json_that_is_none(tmp_path: Path, text: bytes, code: str, line: int | None) -> None:
    """Half a surrogate pair would be met much later, by whatever writes the text."""
    path = tmp_path / "a.json"
    path.write_bytes(text)
    with refused(code, path=path, line=line):
        read_json(path)


def test_json_with_a_byte_order_mark(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b'\xef\xbb\xbf{"a": [1, 2.5, null, "\\u00e9"]}')
    assert read_json(path) == {"a": [1, 2.5, None, "é"]}


SWEPT_MEANWHILE = """
import subprocess, sys
from pathlib import Path
from citeforge.engines.files import atomic_file

folder, exclusive = Path(sys.argv[1]), sys.argv[2] == "exclusive"
SWEEP = "import sys; from pathlib import Path; from citeforge.engines.files import sweep; "
SWEEP += "sweep(Path(sys.argv[1]))"

def sweep(event, args):
    if event in ("os.rename", "os.link", "os.remove") and str(args[0]).endswith(".tmp"):
        subprocess.run([sys.executable, "-c", SWEEP, str(folder)], check=True)

sys.addaudithook(sweep)
with atomic_file(folder / "f", exclusive=exclusive) as file:
    file.write(b"whole")
"""


@pytest.mark.parametrize("how", ["exclusive", "replacing"])
def test_another_process_never_sweeps_what_is_about_to_be_named(tmp_path: Path, how: str) -> None:
    subprocess.run([sys.executable, "-c", SWEPT_MEANWHILE, tmp_path, how], check=True)
    assert [p.name for p in tmp_path.iterdir()] == ["f"]
    assert (tmp_path / "f").read_bytes() == b"whole"


def test_the_digest_of_a_folder_knows_names_and_content_but_not_hidden_files(
    tmp_path: Path,
) -> None:
    (tmp_path / "a" / ".git").mkdir(parents=True)
    (tmp_path / "a" / "x.txt").write_text("1")
    before = digest_folder(tmp_path / "a")
    (tmp_path / "a" / ".git" / "config").write_text("2")
    (tmp_path / "a" / ".hidden").write_text("2")
    assert digest_folder(tmp_path / "a") == before
    (tmp_path / "a" / "y.txt").write_text("2")
    assert digest_folder(tmp_path / "a") != before


@pytest.mark.parametrize(
    ("umask", "public", "folder"),
    [(0o077, 0o600, 0o700), (0o000, 0o666, 0o777), (0o022, 0o644, 0o755), (0o027, 0o640, 0o750)],
)
def test_files_have_the_rights_that_the_umask_grants_and_stores_are_private(
    tmp_path: Path, umask: int, public: int, folder: int
) -> None:
    before = os.umask(umask)
    try:
        (tmp_path / "old").touch(mode=0o600)
        write_text(tmp_path / "old", "x")
        write_text(tmp_path / "below" / "new", "x")
        with ReplyStore(tmp_path / "replies.db") as replies:
            replies.put("e", "q", b"x")
        write_secret(tmp_path / "below", b"x")
    finally:
        os.umask(before)
    modes = {p.relative_to(tmp_path).as_posix(): p.stat().st_mode & 0o777
             for p in tmp_path.rglob("*")}  # fmt: skip
    assert modes.pop("replies.db") == modes.pop(f"below/{SECRET}") == 0o600
    assert modes.pop("old") == modes.pop("below/new") == public
    assert modes.pop("below") == folder
    assert all(mode == 0o600 for mode in modes.values())  # what SQLite writes beside its database


def test_a_temporary_file_is_held_even_if_a_reader_tries_its_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The reader lets go while the writer waits."""
    opened, waits = os.open, Event()

    def open_beside_a_reader(path: Path, *args: Any) -> int:
        handle = opened(path, *args)
        reader = opened(path, os.O_RDONLY)
        assert lock_descriptor(reader, blocking=False)
        Thread(target=lambda: (waits.wait(), os.close(reader))).start()
        return handle

    def lock(handle: int, **options: Any) -> bool:
        assert not lock_descriptor(handle, blocking=False)
        waits.set()
        return lock_descriptor(handle, **options)

    monkeypatch.setattr(files, "lock_descriptor", lock)
    with monkeypatch.context() as patched:
        patched.setattr(os, "open", open_beside_a_reader)
        handle, path = files.make_temporary(tmp_path / "a", 0o600)
    other = os.open(path, os.O_RDWR)
    assert not lock_descriptor(other, blocking=False)
    os.close(other)
    os.close(handle)
