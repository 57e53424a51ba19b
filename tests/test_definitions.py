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


def name_on_page(measure: Measure) -> str:
    """Measures that differ in a cutoff alone share a row: ``P@k``."""
    if "cutoff" in measure.parameters:
        return f"{measure.parameters['base']}@k"
    return measure.name


def test_families_have_sections_in_declared_order() -> None:
    own = list(dict.fromkeys(m.family for m in OWN))
    assert [heading for heading in sections() if heading in families()] == own


@pytest.mark.parametrize("measure", OWN, ids=lambda m: m.name)
def test_every_measure_has_a_row_in_the_section_of_its_family(measure: Measure) -> None:
    rows = [line for line in sections()[measure.family].splitlines() if line.startswith("| `")]
    named = [name for row in rows for name in re.findall(r"`([^`]+)`", row.split(" | ")[0])]
    assert named.count(name_on_page(measure)) == 1


def test_the_page_defines_no_measure_that_there_is_not() -> None:
    known = {name_on_page(m) for m in OWN}
    for family in families():
        for row in re.findall(r"^\| (`.*)$", sections().get(family, ""), re.MULTILINE):
            assert set(re.findall(r"`([^`]+)`", row.split(" | ")[0])) <= known, row


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
