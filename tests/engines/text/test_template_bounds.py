"""Templates of users are bounded in steps and in the size of what they make."""

import ast
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.packaging.prompts import load_template, render_template
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.writers import TemplateWriter
from citeforge.engines.text.template_bounds import LARGEST, MOST_STEPS
from citeforge.kg.domain import FORMS, Domain
from citeforge.schemas.benchmarks.kg import Triple
from conftest import ROOT, Inline, refused

TEN = "{% set x = x + x %}" * 40
TOO_LARGE = [
    "{{ 'x' * 10**10 }}",
    "{{ 10**10 * 'x' }}",
    "{{ ['x'] * 10**9 }}",
    "{{ 10 ** 10000000000 }}",
    "{% set x = 'x' %}" + TEN,
    "{% set x = 'x' %}" + TEN.replace("+", "~"),
    "{% set x = [1] %}" + TEN,
    "{{ 'x'.center(10**10) }}",
    "{{ 'x'|center(10**10) }}",
    "{{ 'x'.ljust(10**10) }}",
    "{{ '1'.zfill(10**10) }}",
    "{{ '\\t'.expandtabs(10**10) }}",
    "{{ 'x\\ny'|indent(10**10) }}",
    "{{ [1]|tojson(indent=10**10) }}",
    "{{ '%10000000000d' % 1 }}",
    "{{ '%*d' % (10**10, 1) }}",
    "{{ '%10000000000d'|format(1) }}",
    "{{ '{:10000000000}'.format(1) }}",
    "{{ '{:{}}'.format(1, 10**10) }}",
    "{{ ('x' * 10**6).replace('x', 'y' * 10**6) }}",
    "{{ ('x' * 10**6)|replace('x', 'y' * 10**6) }}",
    "{{ ('x' * 10**6).join(['y'] * 10**6) }}",
    "{{ ([('x' * 10**6)] * 10**6)|join }}",
    "{{ [1]|batch(10**10, 'x')|list }}",
    "{% for i in range(99) %}{{ 'x' * 10**6 }}{% endfor %}",
    "{% set y %}{% for i in range(99) %}{{ 'x' * 10**6 }}{% endfor %}{% endset %}",
    "{% macro m() %}{% for i in range(99) %}{{ 'x' * 10**6 }}{% endfor %}{% endmacro %}{{ m() }}",
]
TOO_LONG = [
    "{% for i in range(10**4) %}{% for j in range(10**4) %}{% endfor %}{% endfor %}",
    "{% macro m() %}{% for i in range(9999) %}{% endfor %}{% endmacro %}"
    "{% for i in range(9999) %}{{ m() }}{% endfor %}",
]


def message(folder: Path, text: str) -> str:
    path = folder / "t.j2"
    path.write_text(f"first line\n{text}\n")
    with pytest.raises(cf.InputError) as caught:
        render_template(load_template(str(path)), "query", query="q")
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    return str(caught.value)


@pytest.mark.parametrize("text", TOO_LARGE)
def test_size(tmp_path: Path, text: str) -> None:
    assert f"larger than {LARGEST:,} characters or items" in message(tmp_path, text)


@pytest.mark.parametrize("text", TOO_LONG)
def test_steps(tmp_path: Path, text: str) -> None:
    assert f"its loops take more than {MOST_STEPS:,} turns" in message(tmp_path, text)


def test_others(tmp_path: Path) -> None:
    assert "Range too big" in message(tmp_path, "{% for i in range(10**10) %}{% endfor %}")
    assert "recursion" in message(tmp_path, "{% macro m() %}{{ m() }}{% endmacro %}{{ m() }}")
    assert "unsafe" in message(tmp_path, "{{ ''.__class__.__mro__[1].__subclasses__() }}")
    assert "unsafe" in message(tmp_path, "{{ [].append(1) }}")


def test_what_prompts_do_is_within_the_bounds(tmp_path: Path) -> None:
    path = tmp_path / "t.j2"
    path.write_text(
        "{% for d in docs %}{{ loop.index }}/{{ loop.length }} {{ '%03d' % d.n }} {{ d.t }}"
        "{{ d.t.replace('a', 'bb')|upper|indent(2) }}"
        "{{ '-' * 3 * (10**9 * 10**9 // 10**18) }}{{ 'x' ~ d.n ~ none }}"
        "{% if not loop.last %}, {% endif %}{% else %}none{% endfor %} {{ 12345678 + big }}"
        "{{ '{}'.format(big) }}{{ ', '.join(['a', 'b']) }}{{ docs|map(attribute='n')|sum }}"
    )
    docs = [{"n": 1, "t": "ab"}, {"n": 2, "t": "c"}]
    text = render_template(load_template(str(path)), "docs", docs=docs, big=99_999_999)
    one, two = "1/2 001 abBBB---x1None", "2/2 002 cC---x2None"
    assert text == f"{one}, {two} 11234567799999999a, b3"


def test_no_traceback(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "t.j2").write_text("fine\n{{ 'x' * 10**10 }}\n")
    package = ROOT / "tests" / "golden" / "v1" / "package"
    done = inline("export", "prompts", package, "--template", "t.j2")
    assert done.returncode == 1
    assert done.stderr.startswith("error: t.j2:2: cannot be rendered (it makes something larger")


def test_no_other_environment_reads_templates() -> None:
    """Our own pages and cards say how they escape; templates of users have bounds."""
    others = [
        f"{path.name}:{call.lineno}"
        for path in Path(cf.__path__[0]).rglob("*.py")
        if "Environment" in (text := path.read_text())
        for call in ast.walk(ast.parse(text))
        if isinstance(call, ast.Call)
        and ast.unparse(call.func).endswith("Environment")
        and ast.unparse(call.func) != "BoundedEnvironment"
        and "autoescape" not in {keyword.arg for keyword in call.keywords}
    ]
    assert others == []


def test_templates_of_writers_and_domains_are_bounded() -> None:
    huge = "{{ 'x' * 10**10 }}"
    with refused("bad-template", path="t"):
        TemplateWriter({"t": huge}).complete([Request((), {}, task="t", values={})])
    domain = Domain(name="d", entity_class="Q5", templates=dict.fromkeys(FORMS, huge))
    with pytest.raises(cf.InputError) as caught:
        domain.verbalise(Triple("Q1", "A", "", "noun", "v"))
    assert caught.value.field == "templates.noun"
