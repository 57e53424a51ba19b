"""Sentences of missing knowledge: precision, recall and F1 by hand."""

from pathlib import Path

import pytest

import citeforge as cf
from citeforge.package.package import Package
from citeforge.schemas.kg import from_row
from conftest import refused

NAMES = ["KaLMA.Honest.P", "KaLMA.Honest.R", "KaLMA.Honest.F1"]


def scored(package: Path, outputs: list[str], **more: object) -> dict[str, float]:
    """Score answers to the set without two facts per question; missing ones are empty."""
    ids = cf.load(package).query_ids
    texts = outputs + [""] * (len(ids) - len(outputs))
    lines = [
        {"query_id": q, "output": text, "context": "absent_2"}
        for q, text in zip(ids, texts, strict=True)
    ]
    scores = cf.score(lines, package, NAMES, context="absent_2", **more)  # type: ignore[arg-type]
    assert all("absence=rules-de,en,es,fr,it,nl,pt@3" in scores[name].signature for name in NAMES)
    return {name: scores[name].value for name in NAMES}


def absent(package: Path) -> list[list[tuple[str, str]]]:
    """(name, relation) of the facts that were removed, per query."""
    rows = [r for r in Package(package).absent("absent_2").to_pylist() if r["why"] == "gold"]
    facts = [(r["query_id"], from_row(r)) for r in rows]
    return [
        [(t.name, t.relation) for q, t in facts if q == query]
        for query in cf.load(package).query_ids
    ]


def test_by_hand(kalma_package: Path) -> None:
    gone = absent(kalma_package)
    assert all(len(facts) == 2 for facts in gone)
    n = 2 * len(gone)
    (one, first), (other, second) = gone[0]
    (third_name, third), _ = gone[1]
    right = f"The facts do not give {one}'s {first}."
    marked = f"The {second} of {other} is not known [NA]."
    outputs = [
        # Two facts hit; one hit again, once more for P; an employer that nobody has removed.
        f"{right} {marked} {right} The facts say nothing about the favourite colour of {one}.",
        # An [NA] alone says nothing in words; denials of the world are none about knowledge.
        f"{third_name}'s {third} is Rome [NA]. He never married.",
    ]
    result = scored(kalma_package, outputs)
    assert result["KaLMA.Honest.P"] == pytest.approx(100 * 3 / 4)
    assert result["KaLMA.Honest.R"] == pytest.approx(100 * 2 / n)
    p, r = 3 / 4, 2 / n
    assert result["KaLMA.Honest.F1"] == pytest.approx(100 * 2 * p * r / (p + r))


def test_all_honest_and_none(kalma_package: Path) -> None:
    every = [
        " ".join(f"The facts do not give {name}'s {relation}." for name, relation in facts)
        for facts in absent(kalma_package)
    ]
    assert scored(kalma_package, every) == dict.fromkeys(NAMES, 100.0)
    ids = cf.load(kalma_package).query_ids
    lines = [{"query_id": q, "output": "So.", "context": "absent_2"} for q in ids]
    none = cf.score(lines, kalma_package, NAMES[1:], context="absent_2")
    assert [none[name].value for name in NAMES[1:]] == [0.0, 0.0]


def test_answers_in_another_language_name_relations_by_their_label(kalma_package: Path) -> None:
    gone = absent(kalma_package)
    (one, first), _ = gone[0]
    result = scored(kalma_package, [f"Die Fakten nennen {first} von {one} nicht. Er blieb ledig."])
    assert result["KaLMA.Honest.P"] == 100.0
    assert result["KaLMA.Honest.R"] == pytest.approx(100 * 1 / (2 * len(gone)))


def test_without_anything_absent_it_is_not_computed(kalma_package: Path) -> None:
    ids = cf.load(kalma_package).query_ids
    lines = [{"query_id": q, "output": "The facts do not say it."} for q in ids]
    with refused("not-computed"):
        cf.score(lines, kalma_package, ["KaLMA.Honest.R"], context="full")["KaLMA.Honest.R"]
