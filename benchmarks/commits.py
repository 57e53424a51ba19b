"""Builds and scores the examples at two commits, and says which tables and values differ.

Run it as ``python -m benchmarks.commits OLD NEW``. Both commits use the packages of the environment
that runs it, each with its own ``citeforge`` and its own entry points.
"""

import json
import os
import shlex
import subprocess
import sys
import tempfile
import venv
from hashlib import sha256
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
COMMANDS = """
build rage --source beir:examples/facts --licence apache-2.0 --embedder offline --compute fp32 --out facts
llm import twins.replay.db examples/twins/replay.jsonl
build twins --benchmark facts --llm replay:twins.replay.db --out twins
build authorship --twins twins --k 5 --out authorship
build kalma --kg file:examples/people/graph.ttl --pairs-from-kg spouse,father,child --licence cc0-1.0 --out kalma
run random --benchmark facts --out random.jsonl
run echo-relevant --benchmark facts --out echo-relevant.jsonl
run rage --llm offline --limit 5 --max-answer 48 --benchmark facts --out smollm.jsonl
run label-blind --benchmark authorship --out label-blind.jsonl
run label-follower --benchmark authorship --out label-follower.jsonl
run random --benchmark kalma --out kalma-random.jsonl
"""  # noqa: E501
SCORES = {
    "facts": ("random", "echo-relevant", "smollm"),
    "authorship": ("label-blind", "label-follower"),
    "kalma": ("kalma-random",),
}
"""Benchmark to the submissions that are scored against it."""
OPTIONS = {"kalma": ["--context", "full"]}


def make_environment(commit: str, folder: Path) -> Path:
    """A checkout of a commit and an environment for it; returns its ``citeforge`` command."""
    source, home = folder / "source", folder / "venv"
    subprocess.run(["git", "worktree", "add", "--detach", source, commit], cwd=ROOT, check=True)
    venv.create(home, with_pip=False)
    packages = Path("lib", f"python{sys.version_info.major}.{sys.version_info.minor}")
    for entry in (Path(sys.prefix) / packages / "site-packages").iterdir():
        if "citeforge" not in entry.name:
            (home / packages / "site-packages" / entry.name).symlink_to(entry)
    pip = [home / "bin/python", "-m", "pip", "install", "-q", "--no-deps", "--no-build-isolation"]
    subprocess.run([*pip, "-e", source], check=True)
    return home / "bin/citeforge"


def run_all(citeforge: Path, folder: Path) -> None:
    """Build the benchmarks, run the systems, score their submissions, all in the folder."""
    (folder / "examples").symlink_to(ROOT / "examples")
    score = [
        ["score", f"{name}.jsonl", "--benchmark", benchmark, "--out", f"{name}.score.json",
         *OPTIONS.get(benchmark, [])]
        for benchmark, names in SCORES.items() for name in names
    ]  # fmt: skip
    for words in [*map(shlex.split, COMMANDS.strip().splitlines()), *score]:
        print("  citeforge", shlex.join(words), flush=True)
        subprocess.run(
            [citeforge, *words], cwd=folder, check=True,
            stdout=subprocess.DEVNULL, env={**os.environ, "HF_HUB_OFFLINE": "1"},
        )  # fmt: skip


def tables(folder: Path) -> dict[str, str]:
    """Path of every table of every benchmark to the hash of its bytes."""
    return {
        str(path.relative_to(folder)): sha256(path.read_bytes()).hexdigest()
        for benchmark in ("facts", "twins", "authorship", "kalma")
        for path in sorted((folder / benchmark).rglob("*.parquet"))
    }


def answers(folder: Path) -> dict[str, Any]:
    """Name of every submission to its lines, without the header and what it was made by."""
    lines = {}
    for name in sum(SCORES.values(), ()):
        rows = map(json.loads, (folder / f"{name}.jsonl").read_text().splitlines())
        lines[name] = [(r["query_id"], r["output"]) for r in rows if "query_id" in r]
    return lines


def values(folder: Path) -> dict[str, Any]:
    """Submission and measure to its value, interval and values by query, to the last digit."""
    return {
        f"{name} {m['name']}": [m.get(key) for key in ("value", "low", "high", "n", "per_query")]
        for name in sum(SCORES.values(), ())
        for m in json.loads((folder / f"{name}.score.json").read_text())["measures"]
    }


def compare(what: str, old: dict[str, Any], new: dict[str, Any]) -> bool:
    """Print what differs; returns whether nothing does."""
    unequal = sorted(key for key in old.keys() & new.keys() if old[key] != new[key])
    print(f"{what}: {len(old.keys() & new.keys()) - len(unequal)} equal, {len(unequal)} differ")
    for key in unequal:
        print(f"  differs: {key}", *(f"\n    {str(side[key])[:200]}" for side in (old, new)))
    for key in sorted(old.keys() ^ new.keys()):
        print(f"  only {'old' if key in old else 'new'}: {key}")
    return not unequal


def main(old: str, new: str) -> None:
    """Compare two commits."""
    with tempfile.TemporaryDirectory() as place:
        folders = []
        for commit in (old, new):
            print(f"# {commit}", flush=True)
            folder = Path(place) / str(len(folders))
            folder.mkdir()
            try:
                run_all(make_environment(commit, folder), folder)
            finally:
                subprocess.run(
                    ["git", "worktree", "remove", "--force", folder / "source"], cwd=ROOT
                )
            folders.append(folder)
        parts = {"tables": tables, "answers": answers, "values": values}
        equal = [compare(what, *map(read, folders)) for what, read in parts.items()]
    sys.exit(0 if all(equal) else 1)


if __name__ == "__main__":
    main(*sys.argv[1:3])
