"""What was shown nothing is neither right nor wrong about passages."""

from pathlib import Path

import pytest

import citeforge as cf

OF_PASSAGES = ("quotes", "DeepTRACE.Uncited", "trust", "numbers", "LongCite.Length")


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_answers_without_passages_have_no_value(alce_package: Path, protocol: str) -> None:
    benchmark = cf.load(alce_package)
    rows = [
        {"query_id": query, "context": "none", "output": 'It says "one two three four" [1].'}
        for query in benchmark.query_ids
    ]
    names = [*OF_PASSAGES, "Placement.First"]
    found = cf.score(rows, benchmark, names, judge="lexical", protocol=protocol)
    assert [(m.name, m.value) for m in found.file.measures] == [("Placement.First", 100)]
    assert {one.reason for one in found.not_computed} == {"no passages were shown"}
    assert len(found.not_computed) == 4 + 1 + 4 + 3 + 1
