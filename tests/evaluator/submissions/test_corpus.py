"""Marks in three hundred answers in ten languages: how many are read as they should be.

Each line of ``answers_with_marks.jsonl`` is an answer in one of ten languages, to ten passages. Its
marks have a place (``start``, ``end``) and the numbers that they cite. A mark that is ``unread``
names no passage and must be counted; one with ``or_unread`` may be read or counted.

The half ``unseen`` was written before the rules, by the same hand, and not opened while the first
rules were written; the half ``seen`` was. Authors of later rules had seen places of both.
"""

import json
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from citeforge.schemas.citations.grammar import Grammar

FILE = Path(__file__).with_name("answers_with_marks.jsonl")
SHOWN = 10
"""Passages that each answer was shown."""


@dataclass
class Agreement:
    """How far marks were read as they should be.

    Attributes:
        n_right: (place, number) pairs that were read, and should be.
        n_read: pairs that were read.
        n_wanted: pairs that should be.
        n_counted: marks of no passage that were counted as unread.
        n_residue: marks of no passage.
        wrong: ids of answers that were read wrongly.
    """

    n_right: int = 0
    n_read: int = 0
    n_wanted: int = 0
    n_counted: int = 0
    n_residue: int = 0
    wrong: list[str] = field(default_factory=list)

    @property
    def precision(self) -> float:
        return self.n_right / self.n_read

    @property
    def recall(self) -> float:
        return self.n_right / self.n_wanted


def rows(half: str) -> list[dict[str, Any]]:
    """Answers of a half: ``seen`` or ``unseen``."""
    lines = FILE.read_text(encoding="utf-8").splitlines()
    return [row for row in map(json.loads, lines) if row["half"] == half]


def agreement(half: str) -> Agreement:
    """Read all answers of a half, and compare."""
    total = Agreement()
    for row in rows(half):
        parsed = Grammar().parse(row["output"], SHOWN)
        read: Counter[tuple[int, int]] = Counter()
        for marker in parsed.markers:
            places = [
                m for m in row["marks"] if m["start"] < marker.end and marker.start < m["end"]
            ]
            where = places[0]["start"] if places else -1 - marker.start
            if places and places[0].get("or_unread"):
                continue
            read.update((where, number) for number in marker.numbers)
        wanted = Counter(
            (m["start"], n)
            for m in row["marks"]
            if not m.get("or_unread")
            for n in m.get("cites", ())
        )
        # A mark that is written in several brackets is several marks at one place each.
        residue = [m for m in row["marks"] if m.get("unread")]
        counted = [
            m for m in residue if any(s < m["end"] and m["start"] < e for s, e in parsed.unparsed)
        ]
        right = (read & wanted).total()
        total.n_right += right
        total.n_read += read.total()
        total.n_wanted += wanted.total()
        total.n_residue += len(residue)
        total.n_counted += len(counted)
        if right < read.total() or right < wanted.total() or len(counted) < len(residue):
            total.wrong.append(row["id"])
    return total


def test_the_corpus_is_large_enough() -> None:
    both = [*rows("seen"), *rows("unseen")]
    assert len(both) == len({row["output"] for row in both}) == 300
    assert len({row["language"] for row in both}) >= 9
    assert sum(not row["marks"] for row in both) >= 50


@pytest.mark.parametrize("half", ["seen", "unseen"])
def test_marks_are_read_as_they_should_be(half: str) -> None:
    found = agreement(half)
    assert found.precision >= 0.99
    assert found.recall >= 0.99
    assert found.n_counted == found.n_residue
