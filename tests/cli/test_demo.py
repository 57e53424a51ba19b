"""`build demo`: what it types can be typed, and nothing of it needs a model."""

import json
import shlex
from pathlib import Path

from citeforge.library.demo import EXAMPLES, start_demo
from conftest import EXAMPLES as REPOSITORY
from conftest import Inline, content, refused


def test_the_demo_shows_a_report_and_what_to_type_next(inline: Inline, tmp_path: Path) -> None:
    done = inline("build", "demo", "--out", "seen")
    assert done.returncode == 0, done.stderr
    typed = [line for line in done.stdout.splitlines() if line.startswith("$ citeforge ")]
    assert [line.split()[2] for line in typed] == [
        "build", "verify", "show", "run", "run", "run", "check", "score", "compare", "report",
    ]  # fmt: skip
    scores = json.loads((tmp_path / "seen/scores/echo-relevant.scores.json").read_text())
    assert {m["name"]: m["value"] for m in scores["measures"]}["CiteP"] == 100
    assert "<html" in (tmp_path / "seen/report.html").read_text()
    page = (tmp_path / "seen/report.html").resolve()
    assert done.stdout.splitlines()[-1] == f"file://{page}"
    following = done.stdout.partition("Next, your own system")[2]
    assert "citeforge export prompts seen/facts --out seen/prompts.jsonl" in following
    # What it says to type next can be typed.
    assert inline("export", "prompts", "seen/facts", "--out", "seen/prompts.jsonl").returncode == 0
    again = inline("build", "demo", "--out", "seen")
    assert (again.returncode, again.code, again.stdout) == (2, "output-exists", "")


def test_what_it_types_is_what_runs(tmp_path: Path) -> None:
    for line in start_demo(tmp_path / "x"):
        assert shlex.split(line) == line.split()
    for name in ("a b", "a'b"):
        with refused("bad-option"):
            start_demo(tmp_path / name)


def test_the_package_carries_the_examples() -> None:
    for folder in ("facts", "answers", "labels", "people"):
        assert content(EXAMPLES / folder) == content(REPOSITORY / folder)
