"""Commands that are killed or limited while they run; each is a process of its own."""

import os
import subprocess
import sys
from pathlib import Path

PROGRAM = '''
import os, resource, signal, sys
from citeforge.cli.main import main

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

if LARGEST:
    resource.setrlimit(resource.RLIMIT_FSIZE, (LARGEST, LARGEST))
if DIE_AT:
    die_at(*DIE_AT)
main(ARGS)
'''


def run(
    args: list[str], folder: Path, largest: int = 0, die_at: tuple[Path, int] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run a command, whose files grow to so many bytes at most (0: any).

    ``die_at``: a folder, and which new file there the command does not live to make.
    """
    place = die_at and (str(die_at[0]), die_at[1])
    program = f"ARGS, LARGEST, DIE_AT = {args!r}, {largest}, {place!r}\n{PROGRAM}"
    env = {**os.environ, "HF_HOME": str(folder / "hf")}
    command = [sys.executable, "-c", program]
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, text=True)
