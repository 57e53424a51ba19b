"""BioKaLMA's published JSON: hand-written entries, wrong ones, and the way there and back."""

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.ir_convert.kalma import GoldFact, read_entries, read_gold
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions
from citeforge.publishing.question_layouts import write_gold, write_items
from citeforge.schemas.kg import Graph, Triple, relation_key
from conftest import refused

ADA = {
    "name": "Ada Lovelace",
    "qid": "Q7259",
    "date_of_birth": "1815-12-10",
    "notable works": "Notes, on a machine",
    "spouse": " ",
}


def write(path: Path, content: Any) -> Path:
    path.write_text(json.dumps(content))
    return path


def test_an_entry(tmp_path: Path) -> None:
    (item,) = read_entries(write(tmp_path / "a.json", [["Question: Who was Ada? ", [ADA]]]))
    assert item.question == "Who was Ada?"
    assert item.empty == {"Q7259": {"spouse": " "}}
    assert item.n_empty == 1
    # Relations keep the names that answers to the published questions have.
    assert item.graphs[0].triples == (
        Triple("Q7259", "Ada Lovelace", "", "date_of_birth", "1815-12-10", "", "unknown"),
        Triple("Q7259", "Ada Lovelace", "", "notable works", "Notes, on a machine"),
    )


@pytest.mark.parametrize(
    ("content", "code", "field"),
    [
        ({}, "wrong-type", None),
        ([], "wrong-type", None),
        ([["Q?", [ADA]], ["Q?"]], "wrong-type", "entry 2"),
        ([["Q?", ADA]], "wrong-type", "entry 1"),
        ([["Q?", [{"name": "Ada"}]]], "missing-field", "entry 1"),
        ([["Q?", [ADA | {"spouse": ["x"]}]]], "wrong-type", "entry 1"),
    ],
)
def test_another_layout(tmp_path: Path, content: Any, code: str, field: str | None) -> None:
    with refused(code, path=tmp_path / "a.json", field=field):
        read_entries(write(tmp_path / "a.json", content))


def test_gold_of_another_layout(tmp_path: Path) -> None:
    rows = [["Q?", [["Q1", "surname", "Curie"]]], ["Q?", [["Q1", "spouse"]]]]
    with refused("wrong-type", path=tmp_path / "g.json", field="entry 2"):
        read_gold(write(tmp_path / "g.json", rows))


@pytest.mark.parametrize(
    "fact",
    [None, "Q1", [], ["Q1", "spouse"], ["Q1", "spouse", 3], ["", "spouse", "x"],
     ["Q1", "spouse", "x", "2"], ["Q1", "spouse", "x", -1], ["Q1", "spouse", "x", 2**31],
     ["Q1", "spouse", "x", True], ["Q1", "spouse", "x", 1, 1], {"Q1": 1}],
)  # fmt: skip
def test_facts_of_another_layout(tmp_path: Path, fact: Any) -> None:
    with refused("wrong-type", path=tmp_path / "g.json", field="entry 1"):
        read_gold(write(tmp_path / "g.json", [["Q?", [fact]]]))


def test_rounds_of_one_file_and_of_two(tmp_path: Path) -> None:
    a, b, c = (["Q1", "spouse", x] for x in "abc")
    every = write(tmp_path / "with.json", [["Q?", [a, b, c]]])
    assert [f.round for f in read_gold(every)[0]] == [0, 0, 0]
    later = write(tmp_path / "no_round1.json", [["Q?", [c, b]]])
    assert [f.round for f in read_gold(every, later)[0]] == [1, 2, 2]
    exact = write(tmp_path / "exact.json", [["Q?", [[*a, 1], [*b, 4], c]]])
    assert [f.round for f in read_gold(exact)[0]] == [1, 4, 0]
    assert [f.round for f in read_gold(exact, later)[0]] == [1, 4, 2]
    other = write(tmp_path / "other.json", [["Q?", [["Q1", "spouse", "d"]]]])
    with refused("unknown-id", path=other, field="entry 1") as caught:
        read_gold(every, other)
    assert "Q1, spouse, d" in str(caught.value)
    with refused("wrong-value", path=tmp_path / "none.json"):
        read_gold(every, write(tmp_path / "none.json", []))


def test_it_is_no_source_of_passages() -> None:
    with refused("wrong-kind") as caught:
        open_source("kalma:x.json", None, ReadOptions())
    assert "citeforge build kalma --source kalma:x.json" in str(caught.value)


text = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map(str.strip)
values = text.filter(bool)
relations = values.filter(lambda r: r not in {"name", "qid"})


@st.composite
def graphs(draw: st.DrawFn) -> Graph:
    qid = f"Q{draw(st.integers(1, 10**9))}"
    name = draw(values)
    result = draw(st.lists(st.tuples(relations, values), max_size=5, unique_by=lambda p: p[0]))
    dates = ("date of birth", "date of death")
    return Graph(
        qid,
        name,
        tuple(
            Triple(qid, name, "", r, v, "", "unknown" if relation_key(r) in dates else "")
            for r, v in result
        ),
    )


questions = values.filter(lambda q: not q.lower().startswith("question:"))


@given(st.lists(st.tuples(questions, st.lists(graphs(), max_size=3)), min_size=1, max_size=4))
def test_written_and_read_again(entries: list[tuple[str, list[Graph]]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path, gold = Path(folder) / "a.json", Path(folder) / "g.json"
        assert write_items([q for q, _ in entries], [g for _, g in entries], path) == 0
        assert [(i.question, list(i.graphs)) for i in read_entries(path)] == entries
        flat = [
            [(t, at % 4) for at, t in enumerate(t for g in result for t in g.triples)]
            for _, result in entries
        ]
        write_gold([q for q, _ in entries], flat, gold)
        assert read_gold(gold) == [
            [GoldFact(t.qid, t.relation, t.value, n) for t, n in f] for f in flat
        ]


def test_a_layout_of_one_value_a_relation(tmp_path: Path) -> None:
    both = Graph("Q1", "A B", tuple(Triple("Q1", "A B", "", "child", v) for v in ("C", "D")))
    assert write_items(["Q?"], [[both]], tmp_path / "a.json") == 1
