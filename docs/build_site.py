"""Builds the documentation as a site; a link or anchor that leads nowhere is an error.

The pages are the Markdown files of this repository where they lie, so that links between them work
on GitHub, in an editor and on the site. docs/api.md is made for the site alone.
"""

import logging
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from api import api_page
from mkdocs.commands.build import build
from mkdocs.config import load_config
from mkdocs.exceptions import MkDocsException

from citeforge.evaluator.measures.definitions import built_in_families

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *("README.md", "CONTRIBUTING.md", "RELEASING.md", "CHANGELOG.md", "DATASETS.md"),
    *("benchmarks", "examples"),
)
PARTS = (*PAGES, "LICENSE", "src")
"""Files and folders, beside docs, that pages are taken from, or that they link to."""


def build_site(out: Path, root: Path = ROOT) -> None:
    """Write the site of a checkout into a folder."""
    with TemporaryDirectory() as folder:
        pages = Path(folder, "docs")
        pages.mkdir()
        for part in (*(root / "docs").glob("*"), *(root / name for name in PARTS)):
            if part.exists():
                Path(folder, part.relative_to(root)).symlink_to(part)
        if (root / "src").exists():
            (pages / "api.md").write_text(api_page())
        config = load_config(
            str(ROOT / "mkdocs.yml"), docs_dir=folder, site_dir=str(out), strict=True
        )
        families = [{f: f"docs/measures/{f}.md"} for f in built_in_families()]
        for part in config["nav"]:
            if "Families of measures" in part:
                part["Families of measures"] = families
        build(config)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s")
    try:
        build_site(*(Path(argument).resolve() for argument in sys.argv[1:]))
    except MkDocsException as error:
        sys.exit(f"docs/build_site.py: {error}")
