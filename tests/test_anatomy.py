"""docs/anatomy.md names files and functions that exist, and their commands pass through each."""

import re
import sys
import threading
from types import FrameType
from typing import Any

import pytest

import citeforge
from conftest import EXAMPLES, ROOT, Inline

PAGE = (ROOT / "docs" / "anatomy.md").read_text()
FIGURES = [
    re.findall(r"^[ │├└]*(\w[\w/]*\.py) +(\w+(?:\.\w+)?)  ", figure, re.MULTILINE)
    for figure in re.findall(r"```\n(.*?)```", PAGE, re.DOTALL)
]
SOURCES = f"{citeforge.__path__[0]}/"


def calls_of(inline: Inline, *words: Any) -> set[tuple[str, str]]:
    """Files of the package with the functions and classes that a command calls in them."""
    calls = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        path, name = frame.f_code.co_filename, frame.f_code.co_qualname
        if event == "call" and path.startswith(SOURCES):
            calls.update({(path[len(SOURCES) :], n) for n in (name, name.partition(".")[0])})

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        inline.ok(*words)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return calls


@pytest.mark.slow
def test_commands_take_the_paths_of_the_page(inline: Inline) -> None:
    to_tables, to_scores = FIGURES
    assert len(to_tables) + len(to_scores) == len(re.findall(r"\.py +\w", PAGE))
    built = calls_of(
        inline, *("build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}"),
        *("--embedder", "offline", "--out", "facts"),
    )  # fmt: skip
    assert [step for step in to_tables if step not in built] == []
    inline.ok("run", "random", "--benchmark", "facts", "--out", "answers.jsonl")
    scored = calls_of(
        inline, "score", "answers.jsonl", "--benchmark", "facts", "--measures", "CiteP"
    )
    assert [step for step in to_scores if step not in scored] == []
