"""TREC's topics, one a line."""

from pathlib import Path

import pytest

from citeforge.plugins.trec.folders import read_topics
from citeforge.schemas.errors import InputError


def test_topics(tmp_path: Path) -> None:
    path = tmp_path / "topics.tsv"
    path.write_text("1\tGolden Gate \n\n 2 \tWhat\tis it?\n")
    assert read_topics(path) == {"1": (1, "Golden Gate"), "2": (3, "What\tis it?")}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1\ta\n1\tb\n", "txt:2: '1' stands already in line 1"),
        ("", "holds no topics"),
        ("1\t\n", "txt:1: is not qid<tab>text"),
        ("<top>\n", "txt:1: is not qid<tab>text"),
    ],
)
def test_topics_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "topics.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_topics(path)
