"""Processor seconds of short commands, against a bare click program, and their dearest imports."""

import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.measure import machine
from citeforge.cli.main import one_line_helps

STARTS = 30
"""Rounds for what takes less than a tenth of a second; others have 3."""
DEAREST = 5
CITEFORGE = ("-c", "from citeforge.__main__ import main; main()")
"""What the installed script does."""
FACTS = Path(__file__).parent.parent / "examples" / "facts"
IMPORT = re.compile(r"import time:\s+\d+ \|\s+(\d+) \| ( *)(\S+)")


def environment() -> dict[str, str]:
    """The caller's, in which byte code is kept between runs."""
    return {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}


def processor_seconds(*commands: tuple[str, ...], rounds: int = STARTS) -> list[float]:
    """Least user and system time of each run of Python; they take turns, so that load hits all.

    A round before the first fills the caches.
    """
    times: list[list[float]] = [[] for _ in commands]
    for _ in range(rounds + 1):
        for arguments, kept in zip(commands, times, strict=True):
            before = resource.getrusage(resource.RUSAGE_CHILDREN)
            subprocess.run(
                [sys.executable, *arguments], check=True, capture_output=True, env=environment()
            )
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            kept.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return [min(kept[1:]) for kept in times]


def dearest_imports(arguments: tuple[str, ...]) -> list[str]:
    """Packages outside the standard library with the seconds of their first import, dearest first.

    An import counts all that it imports itself, and those do not appear beside it.
    """
    done = subprocess.run(
        [sys.executable, "-X", "importtime", *arguments],
        check=True,
        capture_output=True,
        text=True,
        env=environment(),
    )
    seconds: dict[str, float] = {}
    for total, _, module in IMPORT.findall(done.stderr):
        package = module.split(".")[0]
        if module == package and package not in (*sys.stdlib_module_names, "citeforge"):
            seconds[package] = int(total) / 1e6
    ordered = sorted(seconds, key=lambda package: -seconds[package])[:DEAREST]
    return [f"{package} {seconds[package]:.2f}" for package in ordered]


def write_bare_click(path: Path) -> None:
    """A program with as many commands as citeforge, which do nothing."""
    lines = ["import click", "@click.group()", "def cli(): pass"]
    for number, text in enumerate(one_line_helps().values()):
        lines += [f"@cli.command(help={text!r})", f"def command{number}(): pass"]
    path.write_text("\n".join([*lines, "cli()", ""]))


def main() -> None:
    """Print one line a command."""
    print(machine())
    with TemporaryDirectory() as folder:
        bare, package, answers = (Path(folder, name) for name in ("bare.py", "facts", "a.jsonl"))
        write_bare_click(bare)
        there = ("--benchmark", str(package))
        build = ("build", "rage", "--source", f"beir:{FACTS}", "--licence", "apache-2.0",
                 "--embedder", "offline", "--out", str(package), "--overwrite")  # fmt: skip
        prepare = ("run", "random", *there, "--out", str(answers))
        processor_seconds((*CITEFORGE, *build), rounds=1)
        subprocess.run([sys.executable, *CITEFORGE, *prepare], check=True, capture_output=True)
        helps = (("-c", "pass"), (str(bare), "--help"), (*CITEFORGE, "--help"))
        python_seconds, click_seconds, help_seconds = processor_seconds(*helps)
        print(f"python -c pass: {python_seconds:.3f} s; bare click --help: {click_seconds:.3f} s")
        commands = (("check", str(answers), *there), ("score", str(answers), *there), build)
        long = processor_seconds(*((*CITEFORGE, *command) for command in commands), rounds=3)
        for command, seconds in zip((("--help",), *commands), (help_seconds, *long), strict=True):
            imports = ", ".join(dearest_imports((*CITEFORGE, *command)))
            print(
                f"{' '.join(command[:2]) if command[0] == 'build' else command[0]}: "
                f"{seconds:.3f} s, {seconds / click_seconds:.2f}× bare click, "
                f"{seconds / python_seconds:.0f}× bare Python; dearest imports: {imports}"
            )


if __name__ == "__main__":
    main()
