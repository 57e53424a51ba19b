"""Compressed files that unpack to more than anybody meant: refused in bounded memory."""

import gzip
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from citeforge.engines.io.archives import unpack_zip
from citeforge.schemas.errors import InputError

_MEMBER = 1 << 26
_ALLOWANCE = 700 << 20
"""Bytes of memory above what the imports take; the file unpacks to 1 GiB."""

_READERS = {
    "lines": (
        "from citeforge.engines.io.jsonlines import read_rows as read\n"
        "from citeforge.schemas.submission import SubmissionLine as Row\n"
        "go = lambda p: list(read(p, Row))",
        ":1: the line is longer than 64 MiB",
    ),
    "text": (
        "from citeforge.engines.io.textfiles import text_lines\ngo = lambda p: list(text_lines(p))",
        ":1: the line is longer than 64 MiB",
    ),
    "whole": (
        "from citeforge.ir_convert.alce import read_items as go",
        "unpacks to more than 256 MiB",
    ),
    "graph": ("from citeforge.kg.engines import StoreEngine as go", "zeros.nt.gz:1"),
    "format": ("from citeforge.evaluator.submissions.formats import detect\n"
               "from citeforge.evaluator.submissions.reader import read_answers\n"
               "go = lambda p: 1 / 0 if detect(p) != 'citeforge' else list(read_answers(p))",
               ":1: the line is longer than 64 MiB"),
}  # fmt: skip

_CHILD = """
import resource, sys
from pathlib import Path
from citeforge.schemas.errors import InputError
{reader}
path = Path(sys.argv[1])
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {allowance}, resource.RLIM_INFINITY))
try:
    go(path)
except InputError as error:
    print(error)
"""


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1 GiB of zeros in about 1 MB."""
    path = tmp_path_factory.mktemp("bomb") / "zeros.nt.gz"
    path.write_bytes(gzip.compress(bytes(_MEMBER), 1) * 16)
    return path


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="tells no size of a process")
@pytest.mark.parametrize("name", _READERS)
def test_a_gibibyte_of_zeros(bomb: Path, name: str) -> None:
    reader, message = _READERS[name]
    script = _CHILD.format(reader=reader, allowance=_ALLOWANCE)
    done = subprocess.run(
        [sys.executable, "-c", script, str(bomb)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(str(bomb)), done.stderr
    assert message in done.stdout


def test_a_zip_that_the_disk_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What an archive says that it holds is compared with what is free, before the first byte."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("corpus.jsonl", bytes(1 << 20))
    free = type("Usage", (), {"free": (1 << 20) - 1})
    monkeypatch.setattr("citeforge.engines.io.archives.shutil.disk_usage", lambda _: free)
    with pytest.raises(InputError, match=r"a\.zip: unpacks to 1,048,576 bytes, and 1,048,575 are"):
        unpack_zip(path, tmp_path / "out")
    assert not (tmp_path / "out").exists()
