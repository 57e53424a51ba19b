"""Pages of docs define every measure, and what points to a definition finds its place."""

import re
from itertools import chain

import pytest

from citeforge.evaluator.measures.declared import Measure
from citeforge.evaluator.measures.definitions import built_in_families, measures_of
from citeforge.evaluator.measures.registry import measures
from conftest import ROOT

SHARED = ROOT / "docs" / "definitions.md"
PAGES = {family: ROOT / "docs" / "measures" / f"{family}.md" for family in built_in_families()}
PLACES = ("README.md", "CONTRIBUTING.md", "docs", "src", "tests", "examples", "benchmarks")
WRITTEN_BY_HAND = {".md", ".py", ".j2", ".yaml", ".toml", ".ipynb"}
OWN = [m for m in measures().values() if m.origin is None]


def test_each_family_has_a_page_and_no_page_is_left_over() -> None:
    assert set((ROOT / "docs" / "measures").iterdir()) == set(PAGES.values())


@pytest.mark.parametrize("family", PAGES)
def test_the_page_of_a_family_has_a_text_formulas_and_facts(family: str) -> None:
    # The docstring of its module says what a family is, and the table follows.
    text = PAGES[family].read_text()
    assert re.match(rf"# {family}\n\n<!--.*-->\n\n[^|\n].*\n\| measure \| value", text, re.DOTALL)
    facts = re.findall(r"^\| `([^`]+)`", text.partition("\n## Facts\n")[2], re.MULTILINE)
    assert facts == [m.name for m in measures_of(family)]


@pytest.mark.parametrize("measure", OWN, ids=lambda m: m.name)
def test_every_measure_has_a_formula_for_the_page(measure: Measure) -> None:
    assert measure.formula


def test_everything_that_points_to_a_definition_finds_it() -> None:
    sections = {*re.findall(r"^## (.+)$", SHARED.read_text(), re.MULTILINE), ""}
    absent = "MET" + "RICS"
    tops = [ROOT / place for place in PLACES]
    for path in chain(*([top] if top.is_file() else sorted(top.rglob("*")) for top in tops)):
        if path.suffix not in WRITTEN_BY_HAND or not path.is_file():
            continue
        text = path.read_text()
        assert absent not in text, path
        pointers = re.findall(r"definitions\.md(?:#(\w+))?", text)
        if path == SHARED:
            pointers += re.findall(r"\]\(#(\w+)\)", text)
        assert set(pointers) <= sections, path
        assert set(re.findall(r"docs/measures/(\w+)\.md", text)) <= {*PAGES, "FAMILY"}, path
