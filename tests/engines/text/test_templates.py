"""Templates of users run in jinja2's sandbox."""

from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.prompts import load_template, render_template
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.kg.domain import Domain
from citeforge.kg.english import FORMS
from citeforge.schemas.kg import Triple
from conftest import ROOT, Inline, refused

UNSAFE = "{{ ''.__class__.__mro__[1].__subclasses__() }}"


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (UNSAFE, "unsafe"),
        ("{% for i in range(10**10) %}{% endfor %}", "Range too big"),
        ("{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}", "recursion"),
        ("{{ 'x' * 10**18 }}", "MemoryError"),
        ("{{ query|dictsort }}", "no attribute 'items'"),
    ],
)
def test_what_a_template_may_not_do_is_said_with_its_line(
    tmp_path: Path, text: str, words: str
) -> None:
    path = tmp_path / "t.j2"
    path.write_text(f"first line\n{text}\n")
    with refused("bad-template", path=path, line=2) as caught:
        render_template(load_template(str(path)), "query", query="q")
    assert words in str(caught.value)


def test_no_traceback(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "t.j2").write_text(f"fine\n{UNSAFE}\n")
    package = ROOT / "tests" / "golden" / "v1" / "package"
    done = inline("export", "prompts", package, "--template", "t.j2")
    assert done.returncode == 1
    assert done.stderr.startswith("error: t.j2:2: cannot be rendered (access to attribute")


@pytest.mark.parametrize("text", [UNSAFE, "{{ 1 / 0 }}", "{{ value + 1 }}", "{{ range(10**9) }}"])
def test_templates_of_writers_and_domains_fail_with_their_name(text: str) -> None:
    with refused("bad-template", path="t"):
        TemplateWriter({"t": text}).complete([Request((), {}, task="t", values={"value": "v"})])
    domain = Domain(name="d", entity_class="Q5", templates=dict.fromkeys(FORMS, text))
    with pytest.raises(cf.InputError) as caught:
        domain.verbalise(Triple("Q1", "A", "", "noun", "v"))
    assert caught.value.field == "templates.noun"
