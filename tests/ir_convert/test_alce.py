"""ALCE items."""

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.ir_convert.alce import detect_task, load_alce, open_alce, read_items
from citeforge.ir_convert.source import ReadOptions
from conftest import Inline, refused

ASQA = {
    "sample_id": "a1",
    "question": "Who wrote it?",
    "qa_pairs": [
        {"question": "first part", "short_answers": ["Ada Lovelace", "Ada"], "context": "c"},
        {"question": "second part", "short_answers": ["The Byron"]},
    ],
    "annotations": [{"long_answer": "Ada wrote it."}, {"long_answer": "It was Ada."}],
    "docs": [
        {"id": 11, "title": "A", "text": "It was written by ADA-LOVELACE... no, Ada Lovelace!"},
        {"id": "12", "title": "Ada", "text": "Nothing here."},
        {"title": "B", "text": "Lord Byron's daughter."},
    ],
}
QAMPARI = {
    "id": "q1",
    "question": "Which books?",
    "answers": [["Marazan"], ["On the Beach", "Beach, On the"]],
    "docs": [{"id": "1", "title": "", "text": "Among them is on  the beach."}],
}
ELI5 = {"question": "Why?", "claims": ["c"], "docs": [{"title": "", "text": "t"}]}


def write(tmp_path: Path, content: Any) -> str:
    path = tmp_path / "items.json"
    path.write_text(json.dumps(content))
    return str(path)


@pytest.mark.parametrize("wrap", [False, True], ids=["list", "object"])
def test_asqa(tmp_path: Path, wrap: bool) -> None:
    source = open_alce(write(tmp_path, {"data": [ASQA]} if wrap else [ASQA]), None, ReadOptions())
    made = hashlib.sha256(b"B\nLord Byron's daughter.").hexdigest()[:16]
    passages = [row for batch in source.passages() for row in batch.to_pylist()]
    assert [p["_id"] for p in passages] == ["11", "12", made]
    relevant = source.relevant().to_pylist()
    # "The Byron" is "byron" without its article; passage 12 has the answer in its title only.
    assert [(r["corpus-id"], json.loads(r["short_answers"])) for r in relevant] == [
        ("11", ["Ada Lovelace", "Ada"]),
        (made, ["The Byron"]),
    ]
    gold = source.gold().to_pylist()
    assert [g["kind"] for g in gold] == ["qa_pair", "qa_pair", "long_answer", "long_answer"]
    assert [g["position"] for g in gold] == [0, 1, 2, 3]
    assert gold[0]["aliases"] == ["Ada Lovelace", "Ada"]
    assert json.loads(gold[0]["metadata"]) == {"context": "c", "wikipage": None}
    assert "normalised" in source.info().rules["relevant"]


def test_qampari(tmp_path: Path) -> None:
    source = open_alce(write(tmp_path, [QAMPARI]), None, ReadOptions())
    (row,) = source.relevant().to_pylist()
    assert json.loads(row["short_answers"]) == ["On the Beach"]
    assert [g["aliases"] for g in source.gold().to_pylist()] == QAMPARI["answers"]


def test_eli5_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = write(tmp_path, [ELI5])
    assert detect_task(read_items(Path(path)), Path(path)) == "eli5"
    with refused("missing-judge", path=path):
        open_alce(path, None, ReadOptions())


@pytest.mark.parametrize(
    ("content", "code", "place"),
    [
        ({"items": []}, "wrong-type", {"line": None, "field": None}),
        ([{"question": "x", "docs": []}], "missing-field", {"field": None}),
        ([ASQA, {**ASQA}], "duplicate-id", {"field": "item 2"}),
        ([{**ASQA, "docs": [{"title": "x"}]}], "wrong-type", {"field": "item 1"}),
        ([{**ASQA, "question": " "}], "empty-text", {"line": 1, "field": "text"}),
    ],
)
def test_bad_files(tmp_path: Path, content: Any, code: str, place: dict[str, Any]) -> None:
    path = write(tmp_path, content)
    with refused(code, path=path, **place):
        open_alce(path, None, ReadOptions())


def test_blank_questions_are_skipped_and_counted(tmp_path: Path, inline: Inline) -> None:
    blank = {"question": " ", "qa_pairs": [], "docs": [{"title": "", "text": "Only here."}]}
    path = write(tmp_path, [ASQA, blank, blank])
    with refused("empty-text", path=path, line=2, field="text") as caught:
        open_alce(path, None, ReadOptions())
    assert isinstance(caught.value, cf.InputError)
    assert "--skip-empty" in str(caught.value.allowed)
    source = open_alce(path, None, ReadOptions(skip_empty=True))
    assert source.queries()["_id"].to_pylist() == ["a1"]
    assert set(source.gold()["query_id"].to_pylist()) == {"a1"}
    # Its documents stay passages of the corpus.
    assert "Only here." in [r["text"] for b in source.passages() for r in b.to_pylist()]
    build = ("build", "alce", "--source", f"alce:{path}", "--out", "b")
    assert inline(*build).code == "empty-text"
    inline.ok(*build, "--skip-empty")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert manifest["sources"][0]["counts"]["rows_without_text[queries]"] == 2
    assert json.loads((tmp_path / "b" / "stats.json").read_text())["queries"] == 1


DEMOS = {
    name: [{"question": f"Why {name}?", "answer": "So [1].", "docs": [{"title": "", "text": "x"}]}]
    for name in ("asqa", "qampari", "eli5")
}


def test_a_list_of_several_is_named(tmp_path: Path) -> None:
    """ALCE's demonstrations: nothing in an item says which data set it is of."""
    path = write(tmp_path, DEMOS)
    with refused("missing-option", path=path) as caught:
        load_alce(path, None, ReadOptions())
    assert "asqa, qampari, eli5" in str(caught.value) and f"alce:{path}#asqa" in str(caught.value)
    for task in DEMOS:
        source = load_alce(f"{path}#{task}", None, ReadOptions())
        assert source.task == task == source.info().rules["data set"]
        assert source.queries()["text"].to_pylist() == [f"Why {task}?"]
    with refused("missing-option", path=path):
        load_alce(f"{path}#other", None, ReadOptions())


@pytest.mark.parametrize("task", list(DEMOS))
def test_an_answer_alone_is_no_sign_of_eli5(tmp_path: Path, task: str) -> None:
    path = write(tmp_path, DEMOS[task])
    with refused("missing-field", path=path) as caught:
        load_alce(path, None, ReadOptions())
    assert f"alce:{path}#eli5" in str(caught.value)
    assert load_alce(f"{path}#{task}", None, ReadOptions()).task == task


def test_the_prompt_files_of_alce_are_refused_by_name(tmp_path: Path) -> None:
    path = write(tmp_path, {"instruction": "Write.", "demo_sep": "\n", "demos": DEMOS["asqa"]})
    with refused("missing-option", path=path) as caught:
        load_alce(path, None, ReadOptions())
    assert f"alce:{path}#demos" in str(caught.value)


def test_not_json(tmp_path: Path) -> None:
    path = tmp_path / "items.json"
    path.write_text("[")
    with refused("bad-json", path=path):
        open_alce(str(path), None, ReadOptions())
