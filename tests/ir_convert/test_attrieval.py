"""AttriEval's and MS MARCO's rows as a source: what people did not select stays beside it."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from datasets import Dataset

import citeforge as cf
from citeforge.builders.derive import Base
from citeforge.ir_convert.attrieval import AttrievalSource, read_saved
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions
from conftest import Inline, refused, write_jsonl


def marco(path: Path, rows: list[tuple[str, list[str], list[int]]]) -> Path:
    return write_jsonl(
        path,
        [
            {
                "query_id": f"m{number}",
                "query": query,
                "answers": ["an answer"],
                "passages": {"passage_text": texts, "is_selected": selected},
            }
            for number, (query, texts, selected) in enumerate(rows)
        ],
    )


def rage(path: Path, n_irrelevant: int = 0, mixture: str = "m=1,0,1") -> tuple[str, ...]:
    """A build of such rows without a model: negatives are given, so nothing is embedded."""
    words = ("build", "rage", "--source", f"attrieval:{path}", "--embedder", "nowhere/none")
    return (*words, "--n-irrelevant", str(n_irrelevant), "--mixture", mixture, "--out", "b")


ROWS = [
    ("first question?", ["Zinc is a metal.", "Tin is one too.", "So is lead."], [0, 1, 0]),
    ("second question?", ["Cats purr.", "Dogs bark.", "Owls hoot.", "Cows low."], [1, 0, 0, 0]),
]


def test_unselected_passages_are_the_negatives_of_their_query(tmp_path: Path) -> None:
    source = AttrievalSource(str(marco(tmp_path / "m.jsonl", ROWS)), None, ReadOptions())
    texts = {r["_id"]: r["text"] for b in source.passages() for r in b.to_pylist()}
    (label,) = source.mined()
    assert label == "seemingly_relevant"
    result = [
        (r["query-id"], texts[r["corpus-id"]], r["rank"]) for r in source.mined()[label].to_pylist()
    ]
    assert result == [
        ("m0", "Zinc is a metal.", 1), ("m0", "So is lead.", 3),
        ("m1", "Dogs bark.", 2), ("m1", "Owls hoot.", 3), ("m1", "Cows low.", 4),
    ]  # fmt: skip


def test_a_benchmark_of_them_shows_each_query_its_own_list(inline: Inline, tmp_path: Path) -> None:
    path = marco(tmp_path / "m.jsonl", ROWS)
    inline.ok(*rage(path))
    inline.ok("build", "authorship", "--benchmark", "b", "--k", "4", "--out", "a")
    base = Base(tmp_path / "a")
    shown = {
        query: [base.texts([d["corpus-id"]])[d["corpus-id"]][1] for d in docs]
        for query, docs in base.shown_passages("hh_vanilla").items()
    }
    for query, (_, texts, selected) in zip(("m0", "m1"), ROWS, strict=True):
        assert set(shown[query]) == set(texts)
        # The others keep the order of the list; the selected one is put anywhere.
        others = [t for t, s in zip(texts, selected, strict=True) if not s]
        assert [t for t in shown[query] if t in others] == others


def test_irrelevant_passages_are_still_drawn_where_the_source_has_none(
    inline: Inline, tmp_path: Path
) -> None:
    path = marco(tmp_path / "m.jsonl", ROWS)
    inline.ok(*rage(path, n_irrelevant=2, mixture="m=1,1,1"))
    base = Base(tmp_path / "b")
    own = {"m0": ROWS[0][1], "m1": ROWS[1][1]}
    rows = base.mappings["irrelevant"].to_pylist()
    assert [r["query-id"] for r in rows] == ["m0", "m0", "m1", "m1"]
    for row in rows:
        (text,) = (t for _, t in base.texts([row["corpus-id"]]).values())
        assert text not in own[row["query-id"]]


def test_a_passage_judged_both_ways_is_refused_or_counted(inline: Inline, tmp_path: Path) -> None:
    rows = [*ROWS, ("third?", ["Fish swim.", "Birds fly.", "Fish swim."], [0, 0, 1])]
    path = marco(tmp_path / "m.jsonl", rows)
    assert inline(*rage(path)).code == "duplicate-id"
    inline.ok(*rage(path), "--skip-contradictions")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    (source,) = manifest["sources"]
    assert source["counts"]["contradicting_judgements"] == 1
    base = Base(tmp_path / "b")
    texts = {i: t for i, (_, t) in base.texts(base.relevant["m2"]).items()}
    assert list(texts.values()) == ["Fish swim."]
    negatives = base.texts(d["corpus-id"] for d in base.negatives["m2"])
    assert [t for _, t in negatives.values()] == ["Birds fly."]


def test_blank_queries_are_skipped_and_counted(inline: Inline, tmp_path: Path) -> None:
    path = marco(tmp_path / "m.jsonl", [*ROWS, (" ", ["Fish swim.", "Birds fly."], [0, 1])])
    assert inline(*rage(path)).code == "empty-text"
    inline.ok(*rage(path), "--skip-empty")
    manifest = json.loads((tmp_path / "b" / "manifest.json").read_text())
    assert manifest["sources"][0]["counts"]["rows_without_text[queries]"] == 1
    base = Base(tmp_path / "b")
    assert set(base.relevant) == {"m0", "m1"}
    assert set(base.negatives) == {"m0", "m1"}


def test_a_saved_data_set_without_its_file_list_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "marco"
    Dataset.from_list([{"query": "a"}]).save_to_disk(folder)
    state = json.loads((folder / "state.json").read_text())
    (folder / "state.json").write_text(json.dumps(state | {"_data_files": []}))
    with refused("wrong-type", path=folder):
        list(read_saved(folder, Row))
    (folder / "state.json").write_text("[" * 100_000)
    with refused("wrong-type", path=folder):
        list(read_saved(folder, Row))


class Row(msgspec.Struct):
    query: str
    n: int | None = None


def save(folder: Path, rows: list[dict[str, Any]]) -> Path:
    import datasets

    datasets.Dataset.from_list(rows).save_to_disk(str(folder))
    return folder


def test_rows_and_their_types(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", [{"query": "x", "n": 1, "more": 0.5}, {"query": None, "n": 2}])
    rows = read_saved(folder, Row)
    assert next(rows) == (1, Row("x", 1))
    with refused("missing-field", path=folder, field="row 2"):
        next(rows)


def test_damaged_files_are_named(tmp_path: Path) -> None:
    folder = save(tmp_path / "a", [{"query": "é" * 40}, {"query": "x"}])
    (data,) = folder.glob("*.arrow")
    whole = data.read_bytes()
    for at in range(0, len(whole), 29):
        changed = bytearray(whole)
        changed[at] ^= 0xFF
        data.write_bytes(changed)
        try:
            list(read_saved(folder, Row))
        except cf.InputError as error:
            assert str(error.path) == str(folder)
    data.write_bytes(whole)
    for name in ("state.json", "dataset_info.json"):
        (folder / name).write_text("[]")
        with refused("wrong-type", path=folder):
            list(read_saved(folder, Row))


GOOD = {"query": "q", "passages": {"passage_text": ["a", "b"], "is_selected": [1, 0]}}


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        (
            {"passages": {"passage_text": ["a"], "is_selected": [1, 0]}},
            "wrong-value",
            "passages",
        ),
        (
            {"passages": {"passage_text": 5, "is_selected": []}},
            "wrong-type",
            "passages.passage_text",
        ),
        (
            {"passages": {"passage_text": [None], "is_selected": [1]}},
            "wrong-type",
            "passages.passage_text[0]",
        ),
        ({"passages": []}, "wrong-type", "passages"),
        ({"query": None}, "wrong-type", "query"),
        ({"query_id": [1]}, "wrong-type", "query_id"),
        ({"org_answers": 7}, "wrong-type", "org_answers"),
    ],
)
def test_rows_of_other_types(tmp_path: Path, change: dict[str, Any], code: str, field: str) -> None:
    path = write_jsonl(tmp_path / "rows.jsonl", [{**GOOD, "query_id": 1}, {**GOOD, **change}])
    with refused(code, path=path, line=2, field=field):
        open_source(f"attrieval:{path}", None, ReadOptions())
