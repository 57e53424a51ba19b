"""Checks all workflows that the docs show, and the one of `leaderboard init`, by GitHub's schema.

The schema is the one that check-jsonschema carries, so that no network is needed.
"""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from citeforge.plugins.leaderboard.start import WORKFLOW, start_leaderboard

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_JOBS = re.compile(r"^jobs:", re.MULTILINE)


def find_workflows(root: Path = ROOT) -> dict[str, str]:
    """Map ``page-number.yml`` to each YAML block of the pages that has jobs."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return {
        f"{page.stem}-{n}.yml": block
        for page in pages
        for n, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")))
        if _JOBS.search(block)
    }


def check_workflows(workflows: dict[str, str], folder: Path) -> str:
    """Write workflows into a folder and check them; return what is wrong, empty if nothing is."""
    paths = [folder / name for name in workflows]
    for path, text in zip(paths, workflows.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema"]
    ran = subprocess.run(
        [*command, "vendor.github-workflows", *paths], capture_output=True, text=True
    )
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        found = find_workflows()
        start_leaderboard(Path(name) / "leaderboard", ["facts"])
        found["leaderboard.yml"] = (Path(name) / "leaderboard" / WORKFLOW).read_text()
        if problems := check_workflows(found, Path(name)):
            sys.exit(f"docs/workflows.py: {problems}")
        print(f"{len(found)} workflows fit GitHub's schema")
