"""Prompts."""

from pathlib import Path

import pytest

from citeforge.builders.prompts import (
    contexts_for,
    load_template,
    neutralise,
    prompt_lines,
    render_prompts,
)
from citeforge.package.package import Package
from conftest import Inline, refused


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As shown [3], and [1, 2].", "As shown (3), and (1, 2)."),
        ("Seen 【4】 and [^5].", "Seen (4) and (^5)."),
        ("Not [sic] nor [link](x).", "Not [sic] nor [link](x)."),
        ("[NA]", "(NA)"),
        ("So [[5]].¹ Of 25 km² (Document 2).", "So (5).¹ Of 25 km² (Document 2)."),
    ],
)
def test_marks_inside_passages_are_neutralised(text: str, expected: str) -> None:
    assert neutralise(text) == expected


def test_one_prompt_a_query_with_numbered_passages(package: Path) -> None:
    prompts = dict(render_prompts(Package(package), "mix", load_template("rage")))
    assert len(prompts) == 30
    text = prompts["q01"]
    assert "Question: Which moon is the most volcanically active body" in text
    assert "[1] " in text
    assert "Io is the innermost of Jupiter's four" in text
    assert text.rstrip().endswith("Answer:")


def test_own_template(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "mine.j2"
    path.write_text("{{ query }}|{% for d in docs %}{{ d.number }} {% endfor %}")
    (_, text), *_ = render_prompts(Package(package), "mix", load_template(str(path)))
    assert (
        text
        == "Which moon is the most volcanically active body in the Solar System?|1 2 3 4 5 6 7 "
    )


@pytest.mark.parametrize(
    ("text", "line", "fact"),
    [
        ("{{ query", 1, "is not a Jinja template"),
        ("{{ nothing }}", 1, "'nothing' is undefined"),
        ("\n{{ query / 2 }}", 2, "unsupported operand"),
        ("{{ 1 / 0 }}", 1, "division"),
        ("{{ '\\ud800' }}", None, "surrogates not allowed"),
        # Templates run in a sandbox.
        ("{{ docs.__class__.__mro__[1].__subclasses__() }}", 1, "unsafe"),
    ],
)
def test_wrong_templates(
    package: Path, tmp_path: Path, text: str, line: int | None, fact: str
) -> None:
    path = tmp_path / "mine.j2"
    path.write_text(text)
    with refused("bad-template", path=path, line=line) as caught:
        list(render_prompts(Package(package), "mix", load_template(str(path))))
    assert fact in str(caught.value)


def test_lines_of_a_file_of_prompts(inline: Inline, package: Path, tmp_path: Path) -> None:
    opened = Package(package)
    assert contexts_for(opened, None) == contexts_for(opened, "all") == ["mix"]
    inline.ok("export", "prompts", package, "--out", "p.jsonl")
    lines = prompt_lines(opened, ["mix"])
    assert (tmp_path / "p.jsonl").read_text() == "".join(lines)
    with refused("unknown-name", value="nope", known=["all", "mix"]):
        contexts_for(opened, "nope")
    with refused("missing-file", path="nope"):
        list(prompt_lines(opened, ["mix"], "nope"))
