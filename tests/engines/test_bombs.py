"""Compressed files that unpack to far more than they should: refused in bounded memory."""

import gzip
import subprocess
import sys
import zipfile
from contextvars import ContextVar
from pathlib import Path

import pytest

from citeforge.engines import jsonlines
from citeforge.engines.archives import unpack_zip
from conftest import refused

_MEMBER = 1 << 26
_ALLOWANCE = 700 << 20
"""Bytes of memory above what the imports take; the file unpacks to 1 GiB."""

_READERS = {
    "lines": "from citeforge.engines.jsonlines import read_rows as read\n"
             "from citeforge.schemas.submission import SubmissionLine as Row\n"
             "go = lambda p: list(read(p, Row))",
    "text": "from citeforge.engines.textfiles import text_lines\n"
            "go = lambda p: list(text_lines(p))",
    "whole": "from citeforge.ir_convert.alce import read_items as go",
    "graph": "from citeforge.kg.engines import StoreEngine\n"
             "go = lambda p: StoreEngine(p).load()",
    "format": "from citeforge.evaluator.submissions.formats import detect\n"
              "from citeforge.evaluator.submissions.formats import read_answers\n"
              "go = lambda p: 1 / 0 if detect(p).name != 'citeforge' else list(read_answers(p))",
}  # fmt: skip

_CHILD = """
import resource, sys
from pathlib import Path
from citeforge import InputError
{reader}
path = Path(sys.argv[1])
size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + {allowance}, resource.RLIM_INFINITY))
try:
    go(path)
except InputError as error:
    print(error.path, error.line)
"""


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """1 GiB of zeros in about 1 MB."""
    path = tmp_path_factory.mktemp("bomb") / "zeros.nt.gz"
    path.write_bytes(gzip.compress(bytes(_MEMBER), 1) * 16)
    return path


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="the system has no /proc")
@pytest.mark.parametrize("name", _READERS)
def test_a_gibibyte_of_zeros(bomb: Path, name: str) -> None:
    script = _CHILD.format(reader=_READERS[name], allowance=_ALLOWANCE)
    done = subprocess.run(
        [sys.executable, "-c", script, str(bomb)], capture_output=True, text=True, check=False
    )
    assert done.stdout == f"{bomb} {None if name == 'whole' else 1}\n", done.stderr


@pytest.mark.parametrize("name", ["lines", "text", "whole", "format"])
def test_more_zeros_than_a_line_or_a_file_may_have(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(jsonlines, "LARGEST_UNPACKED", 1 << 16)
    monkeypatch.setattr(jsonlines, "_largest_line", ContextVar("small", default=1 << 16))
    path = tmp_path / "zeros.nt.gz"
    path.write_bytes(gzip.compress(bytes(1 << 18)))
    space: dict[str, object] = {}
    exec(_READERS[name], space)
    with refused("too-large", path=path, line=None if name == "whole" else 1):
        space["go"](path)  # type: ignore[operator]


def test_a_zip_that_the_disk_cannot_hold(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The declared size of an archive is compared with the free space before the first byte."""
    path = tmp_path / "a.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("corpus.jsonl", bytes(1 << 20))
    free = type("Usage", (), {"free": (1 << 20) - 1})
    monkeypatch.setattr("citeforge.engines.archives.shutil.disk_usage", lambda _: free)
    with refused("disk-full", path=path) as caught:
        unpack_zip(path, tmp_path / "out")
    assert "unpacks to 1,048,576 bytes, and 1,048,575 are free" in str(caught.value)
    assert not (tmp_path / "out").exists()
