"""A process that has imported what embeds, and forks one command at a time.

Each is a real process: it is killed by SIGKILL, and the kernel limits it.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

SCRIPT = '''
import json, os, resource, signal, sys
import torch, faiss, sentence_transformers, transformers.models.bert.modeling_bert
from citeforge.cli.main import main
import citeforge.builders.rage.build, citeforge.cli.building.build

def die_at(folder, count):
    """SIGKILL where the so-manyth new file of a folder, or of its `.partial`, would appear."""
    new = []
    def hook(event, args):
        made = args[0] if event == "open" and (args[2] or 0) & os.O_CREAT else None
        path = str(args[1] if event == "os.rename" else made)
        if path.startswith((folder + "/", folder + ".partial/")) and not os.path.exists(path):
            new.append(path)
            if len(new) == count:
                os.kill(os.getpid(), signal.SIGKILL)
    sys.addaudithook(hook)

for line in sys.stdin:
    task = json.loads(line)
    child = os.fork()
    if child == 0:
        for stream, path in ((1, os.devnull), (2, task["errors"])):
            os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC), stream)
        if task["largest"]:
            resource.setrlimit(resource.RLIMIT_FSIZE, (task["largest"], task["largest"]))
        if task["die_at"]:
            die_at(*task["die_at"])
        main(task["args"])
        os._exit(0)
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
'''


class Nursery:
    """Starts commands, and says how they ended."""

    def __init__(self, folder: Path) -> None:
        self._errors = folder / "errors"
        self._process = subprocess.Popen(
            [sys.executable, "-c", SCRIPT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdin
        assert self._process.stdout
        self._into, self._out = self._process.stdin, self._process.stdout

    def start(
        self, args: list[str], largest: int = 0, die_at: tuple[Path, int] | None = None
    ) -> None:
        """Start a command, whose files grow to so many bytes at most (0: any).

        ``die_at``: a folder, and which new file there it does not live to make.
        """
        task = {
            "args": args, "largest": largest, "errors": str(self._errors),
            "die_at": die_at and (str(die_at[0]), die_at[1]),
        }  # fmt: skip
        self._into.write(json.dumps(task) + "\n")
        self._into.flush()

    def wait(self) -> int:
        """Return code of the command that was started last, as `subprocess` gives it."""
        return int(self._out.readline())

    def errors(self) -> str:
        """What it wrote on its standard error."""
        return self._errors.read_text()

    def close(self) -> None:
        """End the process."""
        self._process.kill()
        self._process.wait()
        self._into.close()
        self._out.close()
