"""The notebooks of `examples/` run from top to bottom and say what they say."""

import re
import shutil
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from conftest import EXAMPLES
from patience import patience

pytestmark = pytest.mark.slow

NOTEBOOKS = sorted((EXAMPLES / "notebooks").glob("*.ipynb"))


def shown(notebook: nbformat.NotebookNode) -> list[str]:
    """What the cells print and return, as text and as HTML; warnings of libraries aside."""
    outputs = [
        output
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if output.get("name") != "stderr"
    ]
    texts = [output.get("text") or output["data"]["text/plain"] for output in outputs]
    return texts + [output.get("data", {}).get("text/html", "") for output in outputs]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_a_notebook_runs_and_gives_the_outputs_that_it_shows(path: Path, tmp_path: Path) -> None:
    shutil.copytree(EXAMPLES, tmp_path / "examples", ignore=shutil.ignore_patterns("out"))
    notebook = nbformat.read(path, as_version=4)
    before = shown(notebook)
    here = {"metadata": {"path": str(tmp_path / "examples" / "notebooks")}}
    client = NotebookClient(notebook, kernel_name="python3", resources=here)
    client.timeout, client.startup_timeout = round(patience(300)), round(patience(60))
    client.iopub_timeout = round(patience(60))  # for outputs that come behind the reply
    client.execute()
    assert shown(notebook) == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_outputs_are_small_and_of_no_machine(path: Path) -> None:
    text = path.read_text()
    assert len(text) < 25_000
    assert not re.search(r"/(home|root|tmp|work|Users)/", text)
    assert shown(nbformat.read(path, as_version=4))


def test_there_are_notebooks() -> None:
    assert [p.stem for p in NOTEBOOKS] == [
        "build-a-benchmark", "compare-published-files", "score-and-compare",
    ]  # fmt: skip
