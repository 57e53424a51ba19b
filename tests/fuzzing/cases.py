"""A case: one damaged file, one command, and what is wrong with how it ended."""

import json
import random
import re
import shlex
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.schemas.errors import ExitCode
from fuzzing.mutations import damage
from fuzzing.targets import TARGETS, Target

Ask = Callable[[list[str], Path], dict[str, Any]]
_KNOWN_EXITS = frozenset(ExitCode)
_OF_OUTCOME = ("no question is left", "is not a folder; a BEIR folder")
"""Messages about what came of sound files."""


@dataclass(frozen=True)
class Outcome:
    """How a case ended.

    Attributes:
        case: its name, ``TARGET:SEED``.
        command: what was run.
        done: what was done to which file.
        exit: exit code; None when there is none.
        fault: what is wrong, in a few words that other cases of the same fault share; or "".
        text: the traceback, or the message.
    """

    case: str
    command: str
    done: str
    exit: int | None
    fault: str
    text: str


def run_case(name: str, world: Path, folder: Path, ask: Ask) -> Outcome:
    """Damage a file and run a command on it; both follow from the name.

    Args:
        name: ``TARGET:SEED``.
        world: folder of whole files.
        folder: made, and left, for the case.
        ask: runs a command in a folder.
    """
    kind, _, seed = name.partition(":")
    target = TARGETS[kind]
    rng = random.Random(f"{kind} {seed}")
    _copy(target, world, folder)
    path = rng.choice(target.candidates(folder))
    where = path.relative_to(folder)
    done = f"{where}: {damage(rng, path)}"
    if target.signed and rng.random() < 0.7:
        done += "; signed" if sign(folder / where.parts[0]) else ""
    command = rng.choice(target.commands).replace("{w}", str(world))
    answer = ask(shlex.split(command), folder)
    fault = _fault(answer, command, _names(folder, where, command))
    text = answer["trace"] or answer["stderr"].strip()
    return Outcome(name, command, done, answer["exit"], fault, text)


def _copy(target: Target, world: Path, folder: Path) -> None:
    folder.mkdir(parents=True)
    for file in target.files:
        source = world / file
        if source.is_dir():
            shutil.copytree(source, folder / file)
        else:
            shutil.copy(source, folder / file)


def _names(folder: Path, damaged: Path, command: str) -> list[str]:
    """What a message may name: the damaged file, its folder, or another input beside it.

    Which of two files that do not fit is at fault, no program can know; of two systems, messages
    give the names.
    """
    words = re.split(r"[\s:]", command)
    inputs = [Path(w) for w in words if "/" in w or (folder / w).exists()]
    named = {damaged.name, damaged.parts[0]}
    named |= {p.name for p in inputs if p.name} | {p.stem for p in inputs if p.suffix == ".json"}
    return sorted(named - {"out"})


def _fault(answer: dict[str, Any], command: str, names: list[str]) -> str:
    """What is wrong with how a command ended; an empty string when nothing is."""
    if answer["where"]:
        return str(answer["where"])
    words = " ".join(w for w in command.split()[:2] if not w.startswith("-"))
    if answer["exit"] not in _KNOWN_EXITS:
        return f"exit code {answer['exit']} of {words}"
    of_outcome = any(text in answer["stderr"] for text in _OF_OUTCOME)
    if answer["exit"] == 1 and not of_outcome and not any(n in answer["stderr"] for n in names):
        message = re.sub(r"\d+|'[^']*'|\"[^\"]*\"|/\S+", "…", answer["stderr"].strip()[-160:])
        return f"no file is named: {words}: {message}"
    if "Traceback (most recent call last)" in answer["stderr"]:
        return f"a traceback is printed: {words}"
    return ""


def sign(package: Path) -> bool:
    """Make a manifest agree with its files and with itself, as if they had been built so."""
    import hashlib

    from citeforge.builders.package import MANIFEST, pretty_json
    from citeforge.engines.files import digest
    from citeforge.schemas.manifest import benchmark_hash

    path = package / MANIFEST
    try:
        content = json.loads(path.read_bytes())
        for file in content["files"]:
            if (package / file).is_file():
                content["files"][file] = hashlib.sha256((package / file).read_bytes()).hexdigest()
        content["benchmark_hash"] = benchmark_hash(content["files"])
        content["manifest_sha256"] = digest({**content, "manifest_sha256": ""})
        path.write_bytes(pretty_json(content).encode())
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return False
    return True
