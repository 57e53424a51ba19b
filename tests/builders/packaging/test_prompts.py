"""Prompts."""

from pathlib import Path

import pytest

from citeforge.builders.packaging.prompts import (
    contexts_for,
    load_template,
    neutralise,
    prompt_lines,
    render_prompts,
)
from citeforge.package.package import Package
from citeforge.schemas.errors import InputError, UnknownValueError
from conftest import Cli


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("As shown [3], and [1, 2].", "As shown (3), and (1, 2)."),
        ("Seen 【4】 and [^5].", "Seen (4) and (^5)."),
        ("Not [sic] nor [link](x).", "Not [sic] nor [link](x)."),
        ("[NA]", "(NA)"),
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
    ("template", "message"),
    [("{{ query", "is not a Jinja template"), ("{{ nothing }}", "cannot be rendered")],
)
def test_wrong_templates(package: Path, tmp_path: Path, template: str, message: str) -> None:
    path = tmp_path / "bad.j2"
    path.write_text(template)
    with pytest.raises(InputError, match=message):
        list(render_prompts(Package(package), "mix", load_template(str(path))))


def test_templates_run_in_a_sandbox(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "evil.j2"
    path.write_text("{{ docs.__class__.__mro__[1].__subclasses__() }}")
    with pytest.raises(InputError):
        list(render_prompts(Package(package), "mix", load_template(str(path))))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{{ quer }}", "'quer' is undefined"),
        ("{{ query / 2 }}", "unsupported operand"),
        ("{{ 1 / 0 }}", "division"),
        ("{{ '\\ud800' }}", "surrogates not allowed"),
    ],
)
def test_a_template_that_cannot_be_rendered_is_named(
    package: Path, tmp_path: Path, text: str, message: str
) -> None:
    path = tmp_path / "mine.j2"
    path.write_text(text)
    with pytest.raises(InputError, match=rf"mine\.j2(:1)?: cannot be rendered \(.*{message}"):
        list(render_prompts(Package(package), "mix", load_template(str(path))))


def test_lines_of_a_file_of_prompts(cli: Cli, package: Path, tmp_path: Path) -> None:
    opened = Package(package)
    assert contexts_for(opened, None) == contexts_for(opened, "all") == ["mix"]
    assert not cli("export", "prompts", package, "--out", "p.jsonl").returncode
    lines = prompt_lines(opened, ["mix"])
    assert (tmp_path / "p.jsonl").read_text() == "".join(lines)
    with pytest.raises(UnknownValueError, match="known: all, mix"):
        contexts_for(opened, "nope")
    with pytest.raises(InputError, match="neither a template nor a file"):
        list(prompt_lines(opened, ["mix"], "nope"))
