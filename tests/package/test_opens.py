"""How often commands open the files of a package: hashed once, its corpus streamed once.

Counted in this process at the functions that hash and that open Parquet; and at the functions of
the C library, which Python and Arrow share, in a process of its own.
"""

import os
import shutil
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from citeforge.package import manifest
from citeforge.package.package import Package
from conftest import Inline

HERE = Path(__file__).parent
COMPILER = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
needs_compiler = pytest.mark.skipif(
    COMPILER is None or sys.platform != "linux", reason="needs a C compiler and Linux"
)
Opened = Callable[..., Counter[str]]


@pytest.fixture(scope="module")
def shim(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("opens") / "opens.so"
    build = [str(COMPILER), "-O1", "-shared", "-fPIC", "-o", made, HERE / "opens.c", "-ldl"]
    subprocess.run(build, check=True)
    return made


@pytest.fixture
def opened(shim: Path, package: Path, tmp_path: Path) -> Iterator[Opened]:
    """Runs a command on a copy of the example package; counts opens of each file of it."""
    copy = tmp_path / "p"
    shutil.copytree(package, copy)

    def run(*args: object) -> Counter[str]:
        log = tmp_path / "opens"
        log.unlink(missing_ok=True)
        subprocess.run(
            [sys.executable, "-m", "citeforge", *map(str, args)],
            env={**os.environ, "LD_PRELOAD": str(shim), "OPENS": str(log)},
            check=True,
            capture_output=True,
            cwd=tmp_path,
        )
        lines = log.read_text().splitlines()
        there = [Path(os.path.normpath(tmp_path / line)) for line in lines]
        return Counter(p.relative_to(copy).as_posix() for p in there if p.is_relative_to(copy))

    yield run


def corpus_of(folder: Path) -> list[str]:
    return [p.relative_to(folder).as_posix() for p in Package(folder).corpus]


def tables_of(found: Counter[str], *left_out: str) -> dict[str, int]:
    return {n: c for n, c in found.items() if n.endswith(".parquet") and n not in left_out}


@pytest.fixture
def scores(package: Path, inline: Inline, tmp_path: Path) -> Path:
    """A folder with the scores of one system."""
    path = tmp_path / "scores" / "s.json"
    path.parent.mkdir()
    inline.ok("run", "random", "--benchmark", package, "--out", "s.jsonl")
    args = ("score", "s.jsonl", "--benchmark", package, "--out", path)
    inline.ok(*args)
    return path.parent


@pytest.mark.parametrize("command", ["audit", "leaderboard"])
def test_files_are_hashed_once_and_the_corpus_is_streamed_once(
    package: Path,
    scores: Path,
    inline: Inline,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    command: str,
) -> None:
    corpus = corpus_of(package)
    hashed: Counter[str] = Counter()
    read: Counter[str] = Counter()
    sha256_file = manifest.sha256_file

    def counted(path: Path) -> str:
        hashed[path.relative_to("p").as_posix()] += 1
        return sha256_file(path)

    class Counted(pq.ParquetFile):
        def __init__(self, path: Path, **more: object) -> None:
            read[path.relative_to("p").as_posix()] += 1
            super().__init__(path, **more)

    shutil.copytree(package, tmp_path / "p")
    monkeypatch.setattr(manifest, "sha256_file", counted)
    monkeypatch.setattr(pq, "ParquetFile", Counted)
    words = ("leaderboard", "build", "--benchmark", "p", "--scores", scores, "--out", "site")
    inline.ok(*(words if command == "leaderboard" else ("audit", "p")))
    assert set(hashed.values()) == {1}
    assert hashed.keys() >= read.keys()
    assert [read[name] for name in corpus] == [1]


@pytest.mark.slow
@needs_compiler
def test_the_count_sees_what_arrow_and_python_open(opened: Opened, package: Path) -> None:
    result = opened("verify", "p")
    # Hashed, schema, and streamed for duplicates and for what mappings name; before each stream
    # the headers of pages are read.
    assert [result[name] for name in corpus_of(package)] == [1 + 1 + 2 * 2]
    assert result["stats.json"] == 1


@pytest.mark.slow
@needs_compiler
def test_a_leaderboard_hashes_once_and_streams_the_corpus_once(
    opened: Opened, package: Path, scores: Path
) -> None:
    result = opened("leaderboard", "build", "--benchmark", "p", "--scores", scores, "--out", "site")
    (queries,) = (name for name in result if name.startswith("queries/"))
    # Hashed, headers of pages, read.
    assert max(tables_of(result, queries).values()) == 3, result
    assert result[queries] == 5  # and read for the fields that queries are filtered by, and shown
    assert all(result[name] == 3 for name in corpus_of(package))
    assert result["stats.json"] == 2  # checked, and read for the first page


@pytest.mark.slow
@needs_compiler
def test_an_audit_hashes_once_and_streams_the_corpus_once(opened: Opened, package: Path) -> None:
    result = opened("audit", "p")
    corpus = corpus_of(package)
    # Hashed, headers of pages, streamed, and its schema read for croissant.json.
    assert all(result[name] == 4 for name in corpus), result
    assert result["README.md"] == 1  # hashed
    # And read: by two checks, and the queries for the fields that the card names.
    assert max(tables_of(result, *corpus).values()) <= 8, result
