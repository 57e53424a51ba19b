"""Ctrl-C ends a command with one line and 130, also while it imports."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from conftest import ROOT
from patience import patience

pytestmark = pytest.mark.usefixtures("interruptible")

GATE = """
import os, signal
os.write(int(os.environ["GATE"]), b"x")
while True:
    {wait}
"""
WAITS = {
    "interrupt": "signal.pause()",
    "another error": "try:\n        signal.pause()\n    except KeyboardInterrupt:\n"
    "        raise ImportError('multiarray failed to import') from None",
    # Python prints and forgets what a finalizer raises.
    "a finalizer": "class Dying:\n        def __del__(self):\n            signal.pause()\n"
    "    Dying()\n    signal.pause()",
}


@pytest.mark.parametrize("wait", WAITS)
@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("click", ["--help"]),
        pytest.param("msgspec", ["check", "s.jsonl", "--benchmark", "p"], marks=pytest.mark.slow),
        ("pyarrow", ["check", "s.jsonl", "--benchmark", "p"]),
        pytest.param("pydantic", ["score", "s.jsonl", "--benchmark", "p"], marks=pytest.mark.slow),
    ],
)
def test_imports(tmp_path: Path, module: str, words: list[str], wait: str) -> None:
    (tmp_path / f"{module}.py").write_text(GATE.format(wait=WAITS[wait]))
    package = str(ROOT / "tests" / "golden" / "v1" / "package")
    (tmp_path / "s.jsonl").write_text('{"query_id":"q1","output":"x"}\n')
    gate, end = os.pipe()
    paths = os.pathsep.join([str(tmp_path), str(ROOT / "src")])
    process = subprocess.Popen(
        [sys.executable, "-m", "citeforge", *(package if w == "p" else w for w in words)],
        cwd=tmp_path, pass_fds=[end], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "PYTHONPATH": paths, "GATE": str(end)},
    )  # fmt: skip
    os.close(end)
    assert os.read(gate, 1) == b"x"  # the import runs, and waits for the signal
    process.send_signal(signal.SIGINT)
    _, error = process.communicate(timeout=patience(60))
    os.close(gate)
    assert process.returncode == 130, error
    assert "Traceback" not in error
    assert "Exception ignored" not in error
    assert error.splitlines()[-1].startswith("interrupted; run the same command again")
