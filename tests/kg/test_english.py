"""English words for labels of a graph."""

import pytest

from citeforge.kg.english import with_unit


@pytest.mark.parametrize(
    ("number", "unit", "expected"),
    [
        ("92", "minute", "92 minutes"),
        ("1", "metre", "1 metre"),
        ("115000000", "United States dollar", "115000000 United States dollars"),
        ("1.5", "metre per second", "1.5 metres per second"),
        ("20", "degree Celsius", "20 degrees Celsius"),
        ("2", "century", "2 centuries"),
        ("5", "foot", "5 feet"),
        ("7", "gigahertz", "7 gigahertz"),
        ("3", "km", "3 km"),
        ("3", "US dollar", "3 US dollars"),
        ("about 3", "metre", "about 3 metre"),
        ("5", "metre above sea level", "5 metres above sea level"),
        ("9.8", "metre per second squared", "9.8 metres per second squared"),
        ("4", "metre squared", "4 metres squared"),
        ("5", "per mille", "5 per mille"),
        ("5", "per cent", "5 per cent"),
        ("5", "cent", "5 cents"),
        ("5", "light-year", "5 light-years"),
        ("2", "acre-foot", "2 acre-feet"),
        ("2", "kW-h", "2 kW-h"),
        ("2", "pound-force", "2 pounds-force"),
        ("150", "horsepower", "150 horsepower"),
    ],
)
def test_units_are_in_the_plural(number: str, unit: str, expected: str) -> None:
    assert with_unit(number, unit) == expected
