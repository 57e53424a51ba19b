"""TREC's topics in both forms."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.plugins.trec.folders import read_topics
from citeforge.schemas.errors import InputError

OLD = """
<top>

<num> Number: 301
<title> International Organized Crime

<desc> Description:
Which organisations take part in it?
</top>

<top>
<num>Number: 302 </num>
<title>
Topic: Poliomyelitis &amp;
  Post-Polio </title>
</top>
"""


def test_tagged_topics(tmp_path: Path) -> None:
    path = tmp_path / "topics.txt"
    path.write_text(OLD)
    assert read_topics(path) == {
        "301": (2, "International Organized Crime"),
        "302": (11, "Poliomyelitis & Post-Polio"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<top>\n<num> Number: 1\n</top>\n", "txt:1: is a topic without number or title"),
        ("<top>\n<num>1\n<title>a\n<top>\n<title>b\n", "txt:4: is a topic without number"),
        ("<top>\n<num>1\n<title>a\n<top>\n<num>1\n<title>b\n", "stands already in line 1"),
        ("", "holds no topics"),
        ("1\t\n", "txt:1: is not qid<tab>text"),
    ],
)
def test_topics_that_are_none(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "topics.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_topics(path)


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)


@given(st.dictionaries(words, st.lists(words, min_size=1).map(" ".join), min_size=1))
def test_both_forms_say_the_same(
    tmp_path_factory: pytest.TempPathFactory, topics: dict[str, str]
) -> None:
    folder = tmp_path_factory.mktemp("topics")
    tabbed, tagged = folder / "a.tsv", folder / "b.txt"
    tabbed.write_text("".join(f"{k}\t{v}\n" for k, v in topics.items()), encoding="utf-8")
    blocks = (f"<top>\n<num> Number: {k}\n<title> {v}\n</top>\n" for k, v in topics.items())
    tagged.write_text("".join(blocks), encoding="utf-8")
    plain = {k: text for k, (_, text) in read_topics(tabbed).items()}
    assert plain == {k: text for k, (_, text) in read_topics(tagged).items()}
