"""Child processes that outlive what kills or stops one of them."""

import contextlib
import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

_TICK = 0.25
_TESTS = Path(__file__).resolve().parent.parent


class Child:
    """One worker, started again when it died or hung.

    A case is a hang when it has taken ``limit`` seconds of processor time (a busy machine changes
    nothing), or twenty times as many of the clock (it waits for something).
    """

    def __init__(self, limit: float, home: Path) -> None:
        self.limit = limit
        self._home = home
        self._process: subprocess.Popen[str] | None = None

    def ask(self, args: list[str], cwd: Path) -> dict[str, Any]:
        """The worker's answer; ``where`` says ``hang`` or ``crash`` when there is none."""
        process = self._process or self._start()
        assert process.stdin is not None and process.stdout is not None
        with contextlib.suppress(BrokenPipeError):  # it died: there will be no answer
            process.stdin.write(json.dumps({"args": args, "cwd": str(cwd)}) + "\n")
            process.stdin.flush()
        used, begun = cpu_seconds(process.pid), time.monotonic()
        while not select.select([process.stdout], [], [], _TICK)[0]:
            busy = cpu_seconds(process.pid) - used
            if busy > self.limit or time.monotonic() - begun > 20 * self.limit:
                self.close()
                return _lost("hang", f"no end after {busy:.0f} s of processor time")
        line = process.stdout.readline()
        if not line:
            process.wait()
            self._process = None
            return _lost("crash", f"the process ended with {process.returncode}")
        answer: dict[str, Any] = json.loads(line)
        return answer

    def _start(self) -> subprocess.Popen[str]:
        path = os.pathsep.join(filter(None, (str(_TESTS), os.environ.get("PYTHONPATH", ""))))
        env = {
            **os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "HF_HUB_OFFLINE": "1",
            "HF_DATASETS_OFFLINE": "1", "HF_HOME": str(self._home),
        }  # fmt: skip
        self._process = subprocess.Popen(
            [sys.executable, "-m", "fuzzing.worker"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env,
            text=True,
        )  # fmt: skip
        return self._process

    def close(self) -> None:
        """End the worker."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            self._process = None


def _lost(where: str, what: str) -> dict[str, Any]:
    return {"exit": None, "stdout": "", "stderr": "", "trace": what, "where": where}


def cpu_seconds(pid: int) -> float:
    """Processor time of a process so far; of the clock where the system does not tell."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return time.monotonic()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
