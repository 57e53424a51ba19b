"""docs/definitions.md defines every measure, and what points to it finds its place."""

import re

import pytest

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.registry import families, measures
from conftest import ROOT

PAGE = ROOT / "docs" / "definitions.md"
PLACES = ("README.md", "CONTRIBUTING.md", "docs", "src", "tests", "examples", "benchmarks")
WRITTEN_BY_HAND = {".md", ".py", ".j2", ".yaml", ".toml", ".ipynb"}
OWN = [m for m in measures().values() if m.origin is None]


def sections() -> dict[str, str]:
    """Heading to what stands below it."""
    parts = re.split(r"^## (.+)\n", PAGE.read_text(), flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_families_have_sections_in_declared_order() -> None:
    own = list(dict.fromkeys(m.family for m in OWN))
    assert [heading for heading in sections() if heading in families()] == own
    # The docstring of its module says what a family is, and the table follows.
    assert all(re.match(r"\n[^|\n].*\n\| measure", sections()[f], re.DOTALL) for f in own)


@pytest.mark.parametrize("measure", OWN, ids=lambda m: m.name)
def test_every_measure_has_a_formula_for_the_page(measure: Measure) -> None:
    assert measure.formula


def test_everything_that_points_to_a_definition_finds_it() -> None:
    headings = {*sections(), ""}
    absent = "MET" + "RICS"
    for place in PLACES:
        top = ROOT / place
        for path in sorted(top.rglob("*")) if top.is_dir() else [top]:
            if path.suffix not in WRITTEN_BY_HAND or not path.is_file():
                continue
            text = path.read_text()
            assert absent not in text, path
            pointers = re.findall(r"definitions\.md(?:#(\w+))?", text)
            if path == PAGE:
                pointers += re.findall(r"\]\(#(\w+)\)", text)
            assert set(pointers) <= headings, path
