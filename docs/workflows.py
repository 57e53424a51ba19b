"""Checks files for GitHub by its schemas: ours, that of `leaderboard init`, those in the docs.

The schemas are those that check-jsonschema carries, so that no network is needed.
"""

import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from citeforge.plugins.leaderboard.start import WORKFLOW, start_leaderboard

ROOT = Path(__file__).resolve().parent.parent
_BLOCK = re.compile(r"^```ya?ml\n(.*?)^```", re.MULTILINE | re.DOTALL)
_JOBS = re.compile(r"^jobs:", re.MULTILINE)
WORKFLOWS = "vendor.github-workflows"
OURS = {
    "workflows/*.yml": WORKFLOWS,
    "dependabot.yml": "vendor.dependabot",
    "ISSUE_TEMPLATE/[!c]*.yml": "vendor.github-issue-forms",
    "ISSUE_TEMPLATE/config.yml": "vendor.github-issue-config",
}
"""Files below .github, each with the name of its schema in check-jsonschema."""


def find_workflows(root: Path = ROOT) -> dict[str, str]:
    """Map ``page-number.yml`` to each YAML block of the pages that has jobs."""
    pages = [root / "README.md", *sorted((root / "docs").glob("*.md"))]
    return {
        f"{page.stem}-{n}.yml": block
        for page in pages
        for n, block in enumerate(_BLOCK.findall(page.read_text(encoding="utf-8")))
        if _JOBS.search(block)
    }


def check_files(paths: Iterable[Path], schema: str) -> str:
    """Check files by a schema that check-jsonschema carries; return what is wrong, or nothing."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", schema]
    ran = subprocess.run([*command, *paths], capture_output=True, text=True)
    return "" if ran.returncode == 0 else ran.stdout + ran.stderr


def check_workflows(workflows: Mapping[str, str], folder: Path) -> str:
    """Write workflows into a folder and check them; return what is wrong, or nothing."""
    paths = [folder / name for name in workflows]
    for path, text in zip(paths, workflows.values(), strict=True):
        path.write_text(text, encoding="utf-8")
    return check_files(paths, WORKFLOWS)


def check_ours(folder: Path = ROOT / ".github") -> str:
    """Check every file of our own that GitHub reads; return what is wrong, or nothing."""
    found = {schema: list(folder.glob(pattern)) for pattern, schema in OURS.items()}
    unknown = {path for path in folder.rglob("*") if path.is_file()}.difference(*found.values())
    stray = [f"{path}: which schema is it of?\n" for path in sorted(unknown)]
    return "".join([*stray, *(check_files(paths, schema) for schema, paths in found.items())])


if __name__ == "__main__":
    with TemporaryDirectory() as name:
        found = find_workflows()
        start_leaderboard(Path(name) / "leaderboard", ["hub:ORG/facts"])
        found["leaderboard.yml"] = (Path(name) / "leaderboard" / WORKFLOW).read_text()
        if problems := check_workflows(found, Path(name)) + check_ours():
            sys.exit(f"docs/workflows.py: {problems}")
        print(f"{len(found)} workflows of others and all of .github fit GitHub's schemas")
