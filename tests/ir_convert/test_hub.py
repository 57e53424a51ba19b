"""The Hub's layouts, read by `datasets` from local folders of the same layout."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions
from conftest import refused


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import datasets.config

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", str(tmp_path / "cache"))


def write_repo(folder: Path, tables: dict[str, pa.Table], card: str) -> None:
    for name, table in tables.items():
        path = folder / f"{name}.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(table, path)
    (folder / "README.md").write_text(f"---\n{card}---\n")


def config(name: str, splits: dict[str, str]) -> str:
    lines = [f"- config_name: {name}\n  data_files:\n"]
    lines += [f"  - split: {s}\n    path: {p}\n" for s, p in splits.items()]
    return "".join(lines)


CORPUS = pa.table({"_id": ["1", "2", "3"], "title": ["", "T", ""], "text": ["a", "b", "c"]})
QUERIES = pa.table({"_id": ["q1", "q2"], "title": ["", ""], "text": ["what?", "why?"]})


def test_beir_layout(tmp_path: Path) -> None:
    repo = tmp_path / "nq"
    card = config("corpus", {"corpus": "corpus.parquet"})
    card += config("queries", {"queries": "queries.parquet"})
    write_repo(repo, {"corpus": CORPUS, "queries": QUERIES}, "configs:\n" + card)
    qrels = tmp_path / "nq-qrels"
    qrels.mkdir()
    (qrels / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t2\t1\nq1\t3\t0\n")
    source = open_source(f"beir-hub:{repo}", "test", ReadOptions())
    # The judgement file has numbers as passage ids; they are the same ids.
    assert source.relevant()["corpus-id"].to_pylist() == ["2"]
    assert source.queries()["_id"].to_pylist() == ["q1"]
    titles = [t for batch in source.passages() for t in batch["title"].to_pylist()]
    assert titles == ["", "T", ""]
    assert source.info().counts == {"judgements_of_zero_or_less": 1}
    with refused("unknown-name", value="dev", known=["test"]):
        open_source(f"beir-hub:{repo}", "dev", ReadOptions())


def write_rage(folder: Path) -> Path:
    pairs = pa.table({"query-id": ["q1", "q2"], "corpus-id": ["1", "2"]})
    relevant = pairs.append_column("short_answers", pa.array(['["a"]', None], pa.string()))
    none = relevant.set_column(2, "short_answers", pa.nulls(2, pa.string()))
    splits = {n: f"mapping/{n}.parquet" for n in ("relevant", "irrelevant", "seemingly_relevant")}
    card = config("corpus", {"corpus": "corpus.parquet"})
    card += config("queries", {"queries": "queries.parquet"}) + config("mapping", splits)
    other = none.set_column(1, "corpus-id", pa.array(["2", "3"]))
    third = none.set_column(1, "corpus-id", pa.array(["3", "1"]))
    tables = {
        "corpus": CORPUS,
        "queries": QUERIES,
        "mapping/relevant": relevant,
        "mapping/irrelevant": other,
        "mapping/seemingly_relevant": third,
    }
    write_repo(folder, tables, "configs:\n" + card)
    return folder


def test_rage_layout(tmp_path: Path) -> None:
    source = open_source(f"rage:{write_rage(tmp_path / 'rage_nq')}", None, ReadOptions())
    assert source.relevant()["short_answers"].to_pylist() == ['["a"]', None]
    assert source.mined()["irrelevant"]["corpus-id"].to_pylist() == ["2", "3"]
    assert source.mined()["seemingly_relevant"]["corpus-id"].to_pylist() == ["3", "1"]
    assert source.gold().num_rows == 0


def test_a_rage_package_is_built_as_it_is(tmp_path: Path) -> None:
    repo = write_rage(tmp_path / "rage_nq")
    # Mappings are given: the embedder is not needed.
    config = cf.RageRecipe(source=f"rage:{repo}", embedder="nowhere/none")
    manifest = cf.build(config, tmp_path / "out").manifest
    assert verify(tmp_path / "out") == []
    assert manifest.contexts["mix"].short["q1"] == {"irrelevant": 1, "seemingly_relevant": 1}


def test_our_own_package_is_a_source(package: Path, tmp_path: Path) -> None:
    source = open_source(f"rage:{package}", None, ReadOptions())
    assert source.queries().num_rows == 30
    assert sum(b.num_rows for b in source.passages()) == 84
    assert set(source.mined()) == {"irrelevant", "seemingly_relevant"}


def test_a_folder_without_mapping(tmp_path: Path) -> None:
    write_repo(
        tmp_path / "x", {"corpus": CORPUS}, "configs:\n" + config("corpus", {"c": "corpus.parquet"})
    )
    with refused("missing-field", path=tmp_path / "x"):
        open_source(f"rage:{tmp_path / 'x'}", None, ReadOptions())


def test_a_folder_of_the_same_name_and_card_is_read_anew(tmp_path: Path) -> None:
    """`datasets` would give the rows that it has seen under this name."""
    infos = []
    for folder, text in ((tmp_path / "a" / "nq", "a"), (tmp_path / "b" / "nq", "changed")):
        write_rage(folder)
        table = CORPUS.set_column(2, "text", pa.array([text, "b", "c"]))
        pq.write_table(table, folder / "corpus.parquet")
        source = open_source(f"rage:{folder}", None, ReadOptions())
        assert next(source.passages())["text"].to_pylist() == [text, "b", "c"]
        infos.append(source.info())
    assert infos[0].files.keys() == infos[1].files.keys() == {"nq"}
    assert infos[0].files != infos[1].files  # so that --resume notices


@pytest.mark.parametrize(
    ("ids", "code", "field"),
    [
        (pa.array(["q1", None]), "missing-field", "query-id"),
        (pa.StringArray.from_buffers(2, pa.py_buffer(b"\0\0\0\0\2\0\0\0\4\0\0\0"),
                                     pa.py_buffer(b"q1q\xff")), "hub-failed", "query-id"),
    ],
)  # fmt: skip
def test_damaged_judgements_name_the_data_set(
    tmp_path: Path, ids: pa.Array, code: str, field: str | None
) -> None:
    repo = write_rage(tmp_path / "rage_nq")
    path = repo / "mapping" / "relevant.parquet"
    pq.write_table(pq.read_table(path).set_column(0, "query-id", ids), path)
    with refused(code, path=repo, field=field):
        open_source(f"rage:{repo}", None, ReadOptions())
