"""TREC's topics, one a line."""

from pathlib import Path

import pytest

from citeforge.ir_convert.judged import LocatedQuery
from citeforge.plugins.trec.sources import read_topics
from conftest import refused


def test_topics(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("1\tGolden Gate \n\n 2 \tWhat\tis it?\n")
    assert read_topics(path) == {
        "1": LocatedQuery(1, "Golden Gate"),
        "2": LocatedQuery(3, "What\tis it?"),
    }


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("1\ta\n1\tb\n", "duplicate-id", 2),
        ("", "no-queries", None),
        ("1\t\n", "wrong-type", 1),
        ("<top>\n", "wrong-type", 1),
    ],
)
def test_topics_that_are_none(tmp_path: Path, text: str, code: str, line: int | None) -> None:
    path = tmp_path / "topics.txt"
    path.write_text(text)
    with refused(code, path=path, line=line):
        read_topics(path)
