"""Numbers that papers' own code printed, kept in ``frozen/``: one file per program of theirs.

A case is one call of such a program. Its line holds a hash of what the program read, and what it
printed. `make peers` runs the programs again, says what differs, and with ``WRITE=1`` stores it.
"""

import hashlib
import importlib.util
import json
import math
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

FOLDER = Path(__file__).with_name("frozen")


@dataclass(frozen=True)
class Program:
    """A paper's own code.

    Attributes:
        name: of the file in ``frozen/``.
        repository: owner and name on GitHub; a checkout has the latter as its folder's name.
        ran: what is called, and what stands in for models.
        drawn_by: the test module that draws the inputs.
        uses: further repositories that it needs.
    """

    name: str
    repository: str
    ran: str
    drawn_by: str
    uses: tuple[str, ...] = ()


class FrozenNumbers:
    """Numbers that are stored, or made anew.

    Attributes:
        checkouts: folder with a checkout of each repository; None for the stored numbers.
        folder: where the numbers are stored.
    """

    def __init__(self, checkouts: Path | None, folder: Path = FOLDER) -> None:
        self.checkouts, self.folder = checkouts, folder
        self._made: dict[Program, dict[str, Any]] = {}

    def __call__(self, program: Program, case: str, run: Callable[..., Any], *inputs: Any) -> Any:
        """What a program prints for one case.

        Args:
            program: the paper's code.
            case: names the case in its file.
            run: runs it, given its checkout and the inputs.
            inputs: all that it reads, as JSON.
        """
        line = {"inputs": hash_inputs(inputs)}
        stored = self._stored(program)["cases"].get(case)
        where = f"{program.name}.json, case {case!r}"
        if self.checkouts is None:
            assert stored is not None, f"{where}: not stored; make peers DIR=… WRITE=1"
            drawn = stored["inputs"] == line["inputs"]
            assert drawn, f"{where}: {program.drawn_by} draws other inputs than those stored"
            return stored["printed"]
        checkout = self.find_checkout(program.repository)
        for one in program.uses:
            self.find_checkout(one)
        with redirect_stdout(StringIO()):
            line["printed"] = as_json(run(checkout, *as_json(inputs)))
        made = self._made.setdefault(program, {}).setdefault(case, line)
        assert made["inputs"] == line["inputs"], f"{where}: two inputs have this name"
        return line["printed"]

    def find_checkout(self, repository: str) -> Path:
        """Checkout of a repository; skips the test where there is none."""
        if self.checkouts is None:
            pytest.skip("CITEFORGE_PEERS is not set")
        checkout = self.checkouts / repository.rpartition("/")[2]
        if not checkout.is_dir():
            pytest.skip(f"CITEFORGE_PEERS has no checkout of {repository}")
        return checkout

    def _stored(self, program: Program) -> dict[str, Any]:
        path = self.folder / f"{program.name}.json"
        if not path.exists():
            return {"cases": {}}
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return content

    def _made_anew(self, program: Program) -> dict[str, Any]:
        names = (program.repository, *program.uses)
        return {
            "commits": {name: read_commit(self.find_checkout(name)) for name in names},
            "ran": program.ran,
            "drawn_by": f"tests/peers/{program.drawn_by}",
            "cases": self._made[program],
        }

    def differences(self) -> list[str]:
        """What the programs that ran printed otherwise than is stored."""
        found = []
        for program, cases in self._made.items():
            stored = self._stored(program)
            stored["cases"] = {case: v for case, v in stored["cases"].items() if case in cases}
            texts = find_differences(stored, self._made_anew(program))
            found += [f"{program.name}.json: {text}" for text in texts]
        return found

    def write(self) -> None:
        """Store the numbers of the programs that ran, one case per line."""
        for program, cases in self._made.items():
            head = self._made_anew(program) | {"cases": {}}
            lines = (
                f'  "{case}": {json.dumps(v, ensure_ascii=False)}' for case, v in cases.items()
            )
            text = json.dumps(head, indent=1).removesuffix("{}\n}") + "{\n" + ",\n".join(lines)
            path = self.folder / f"{program.name}.json"
            path.write_text(f"{text}\n }}\n}}\n", encoding="utf-8")


def load_module(path: Path, name: str) -> ModuleType:
    """A module of theirs from its file alone."""
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def as_json(values: Any) -> Any:
    """A copy as JSON has it."""
    return json.loads(json.dumps(values, default=np.generic.item))


def hash_inputs(inputs: Any) -> str:
    """Hash of JSON values, whatever the order of keys."""
    text = json.dumps(inputs, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def read_commit(checkout: Path) -> str:
    """Commit of a checkout."""
    command = ["git", "-C", str(checkout), "rev-parse", "HEAD"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def find_differences(stored: Any, made: Any, place: str = "") -> Iterator[str]:
    """Places where two JSON values differ; floats may differ in their last digits."""
    if isinstance(stored, dict) and isinstance(made, dict):
        for key in stored | made:
            here = f"{place} {key}".strip()
            if key in stored and key in made:
                yield from find_differences(stored[key], made[key], here)
            else:
                yield f"{here}: {'no longer printed' if key in stored else 'not stored'}"
    elif isinstance(stored, list) and isinstance(made, list) and len(stored) == len(made):
        for i, (old, new) in enumerate(zip(stored, made, strict=True)):
            yield from find_differences(old, new, f"{place} [{i}]")
    elif isinstance(stored, float) and isinstance(made, float):
        both_nan = math.isnan(stored) and math.isnan(made)
        if not both_nan and not math.isclose(stored, made, rel_tol=1e-12, abs_tol=1e-12):
            yield f"{place}: stored {stored}, now {made}"
    elif stored != made:
        yield f"{place}: stored {stored}, now {made}"
