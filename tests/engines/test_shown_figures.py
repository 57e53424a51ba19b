"""Figures have one home: Python and pages write them alike, and no other code has a format."""

import ast
import math
import re
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.shown import (
    hundredths,
    show_amount,
    show_cost,
    show_number,
    show_percent,
    show_rounded,
    show_share,
)
from conftest import ROOT
from conftest_pages import browser, chromium  # noqa: F401

SOURCE = ROOT / "src" / "citeforge"
HOME = SOURCE / "engines" / "shown.py"
DECIMALS = re.compile(r"\.(\d+|\{\})?[fFeEgG%]$")
"""A format with a number of decimals or digits. Formats such as ``:g`` echo what a user wrote."""
IN_SCRIPTS = re.compile(r"\.toFixed\(|toPrecision\(|NumberFormat|%\.\d+f|\| *round")
SCRIPT_HOME = "figures_shown.js"


def formats(code: str) -> list[tuple[int, str]]:
    """List formats of numbers with decimals in Python code: (line, format)."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.FormattedValue) and isinstance(node.format_spec, ast.JoinedStr):
            parts = [
                v.value if isinstance(v, ast.Constant) else "{}" for v in node.format_spec.values
            ]
            spec = "".join(map(str, parts))
            if DECIMALS.search(spec):
                found.append((node.lineno, spec))
        # '{:.2f}'.format(x) and '%.2f' % x
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found += [
                (node.lineno, spec)
                for spec in re.findall(
                    r"\{[\w.]*:[^{}]*\.\d+[fge%]\}|%[-+ 0-9]*\.\d+[fge]", node.value
                )
            ]
        # f'{round(x, 2)}' and str(round(x, 2))
        elif _is_text(node) and any(map(_is_rounding, ast.walk(node))):
            found.append((node.lineno, "round"))
    return found


def _is_text(node: ast.AST) -> bool:
    is_str = (
        isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "str"
    )
    return is_str or isinstance(node, ast.JoinedStr)


def _is_rounding(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "round"
        and len(node.args) == 2
    )


def test_a_format_outside_of_the_home_is_found() -> None:
    code = (
        'f"{x:.1f}"; f"{x:+,.{n}f}"; f"{x:.0%}"; "{:.2f}".format(x); "%.3f" % x; str(round(x, 2))'
    )
    assert len(formats(code)) == 6
    assert formats('f"{n:,} {x:g} {text!r:.80} {round(x)} {round(x, 2) > 1:d}"') == [(1, "round")]
    assert formats('f"{n:,} {x:g} {text!r:.80}"; round(x, 2)') == []


def test_no_other_code_has_formats_of_figures() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {spec}"
        for path in sorted(SOURCE.rglob("*.py"))
        if path != HOME
        for line, spec in formats(path.read_text(encoding="utf-8"))
    ]
    assert found == [], "call a function of engines/shown.py"


def test_no_page_or_script_has_formats_of_figures() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in sorted([*SOURCE.rglob("*.js"), *SOURCE.rglob("*.j2")])
        if path.name != SCRIPT_HOME
        for match in IN_SCRIPTS.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == [], f"pass the text from Python, or call {SCRIPT_HOME}"


@pytest.fixture
def script() -> str:
    (path,) = SOURCE.rglob(SCRIPT_HOME)
    return Path(path).read_text(encoding="utf-8")


def test_pages_write_figures_as_python_does(browser: Any, script: str) -> None:  # noqa: F811
    # Values with fewer decimals than two are rounded to them before: see MeasureScore.n_digits.
    numbers = [*range(-10_100, 10_101), 123_456, 10**9 + 1]
    cases = [
        (h, digits, sign)
        for digits, unit in ((2, 1), (1, 10), (0, 100))
        for h in numbers
        if h % unit == 0
        for sign in ("", "+")
    ]
    page = browser.new_page()
    shown = page.evaluate(
        f"cases => {{ {script}; return cases.map(c => showHundredths(...c)); }}", cases
    )
    expected = [show_number(h / 100, digits, sign) for h, digits, sign in cases]
    assert [(c, s) for c, s, e in zip(cases, shown, expected, strict=True) if s != e] == []
    assert page.evaluate(f"() => {{ {script}; return showHundredths(null); }}") == show_number(None)


def test_hundredths_and_shares() -> None:
    assert (hundredths(1.115), hundredths(-0.001), hundredths(None)) == (111, 0, None)
    assert hundredths(math.nan) is None
    assert (show_percent(0.9), show_percent(0.0404, 1)) == ("90 %", "4.0 %")
    assert show_share(3, 12, 0.0889, 0.5323) == "3 of 12 (25.0 % [8.9, 53.2])"
    assert show_share(9, 10) == "9 of 10 (90.0 %)"
    assert show_share(0, 0) == "0 of 0"


def test_amounts_are_never_minus_zero_and_a_sign_stands_before_the_currency() -> None:
    assert (show_number(-0.001), show_number(-0.001, sign="+")) == ("0.00", "+0.00")
    assert (show_amount(-0.0001), show_amount(-1234.5)) == ("0.00", "-1,234.50")
    assert (show_rounded(-0.00001, 2), show_rounded(-0.25, 2)) == ("0.0", "-0.25")
    assert (show_rounded(1234, 2), show_rounded(-3, 2)) == ("1,234", "-3")
    assert [show_cost(x) for x in (-1, -0.001, 1234.5)] == ["-$1.00", "$0.00", "$1,234.50"]
