"""Sub-queries in what models reply."""

import pytest

from citeforge.plugins.published_systems.scenarios import read_examples, read_queries

PROSE = "That depends on " + "many things " * 15


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("1. one query\n2. another one", ["one query", "another one"]),
        ("Here you are:\n\n1) a b\n 2) c d\nI hope this helps!", ["a b", "c d"]),
        ('- "Who built it?"\n* **When?**\n• why', ["Who built it?", "When?", "why"]),
        ("Queries:\nwho built it\nwhen was it built", ["who built it", "when was it built"]),
        ("(1. x y", ["x y"]),
        ("1. \n2. ...\n3. real", ["real"]),
        ("1937 golden gate", ["1937 golden gate"]),
        (PROSE, []),
        (f"{PROSE}\nwho built it", []),
        (f"{PROSE}\n1. who built it", ["who built it"]),
        ("", []),
        ("\n \n", []),
        ("Queries:", []),
    ],
)
def test_queries_of_a_reply(said: str, expected: list[str]) -> None:
    assert read_queries(said) == expected


def test_demonstrations_have_enough_queries() -> None:
    assert len(read_examples()) == 4
    assert all(len(shot["queries"]) >= 4 for shot in read_examples())
