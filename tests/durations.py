"""Write `tests/durations.json`: how long tests take, to 1, 2 or 5 times a power of ten.

``python -m durations JUNIT.xml`` reads a run of the whole suite (`make durations`). The file lists
functions of :data:`SLOW_FROM` or more, the sum of their parameters. They are slow, so that what is
in the quick tier is decided by measuring; tests with a browser are slow, too.
"""

import json
import math
import sys
from collections import Counter
from pathlib import Path
from xml.etree import ElementTree

FILE = Path(__file__).with_name("durations.json")
SLOW_FROM = 1
"""Seconds from which a function is in the slow tier."""


def read_durations(junit: Path) -> dict[str, float]:
    """Seconds of each test function, by ``path::name``."""
    seconds: Counter[str] = Counter()
    for case in ElementTree.parse(junit).iter("testcase"):
        path = f"{case.attrib['classname'].replace('.', '/')}.py"
        name = case.attrib["name"].partition("[")[0]
        seconds[f"{path}::{name}"] += float(case.attrib["time"])
    return dict(seconds)


def rounded(seconds: float) -> float:
    """The nearest of …, 1, 2, 5, 10, 20, 50, …."""
    power = 10.0 ** math.floor(math.log10(seconds))
    return min((power * step for step in (1, 2, 5, 10)), key=lambda x: abs(math.log(x / seconds)))


if __name__ == "__main__":
    seconds = read_durations(Path(sys.argv[1]))
    lasting = {name: rounded(s) for name, s in seconds.items() if s >= SLOW_FROM}
    FILE.write_text(json.dumps(lasting, indent=0, sort_keys=True) + "\n")
