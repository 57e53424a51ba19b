"""The one reader: what it says of a package is what the tables hold."""

import re
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.engines.files import sha256_file
from citeforge.package.manifest import load_manifest
from citeforge.package.package import Package
from citeforge.schemas.tables import GOLD
from conftest import ROOT, refused


def rows(package: Path, table: str) -> list[dict[str, object]]:
    """Rows as pyarrow itself reads them."""
    result: list[dict[str, object]] = pq.read_table(next(package.glob(table))).to_pylist()
    return result


def test_items_are_the_rows_of_the_tables_in_their_order(package: Path) -> None:
    opened = Package(package)
    texts = {r["_id"]: r["text"] for r in rows(package, "corpus/corpus-*.parquet")}
    questions = {r["_id"]: r["text"] for r in rows(package, "queries/queries-*.parquet")}
    contexts = rows(package, "contexts/mix-*.parquet")
    items = list(opened.items("mix"))
    assert len(opened) == len(items) == len(contexts) == 30
    for item, row in zip(items, contexts, strict=True):
        docs: list[dict[str, str]] = row["docs"]  # type: ignore[assignment]
        assert (item.query_id, item.query) == (row["query_id"], questions[row["query_id"]])
        assert [(p.id, p.text, p.label) for p in item.passages] == [
            (d["corpus-id"], texts[d["corpus-id"]], d["label"]) for d in docs
        ]
        relevant = tuple(i for i, d in enumerate(docs) if d["label"] == "relevant")
        assert item.relevant == relevant


def test_one_query_is_the_same_item_as_among_all(package: Path) -> None:
    opened = Package(package)
    everything = {i.query_id: i for i in opened.items("mix")}
    assert list(opened.items("mix", "q21")) == [everything["q21"]]


def test_the_first_context_set_is_the_default(package: Path) -> None:
    opened = Package(package)
    assert next(opened.items()) == next(opened.items(opened.contexts[0]))


def test_unknown_names_are_said_with_the_known_ones(package: Path) -> None:
    opened = Package(package)
    with refused("unknown-name", noun="context", value="mixx", known=["mix"]) as caught:
        list(opened.items("mixx"))
    assert "did you mean 'mix'" in str(caught.value)
    with refused("unknown-name", noun="query", value="q999"):
        list(opened.items("mix", "q999"))
    with refused("unknown-name", noun="config", value="evolution"):
        opened.table("evolution", "evolution")


def test_a_table_without_rows_has_its_columns(package: Path) -> None:
    assert Package(package).twins.num_rows == 0
    assert "twin_id" in Package(package).twins.column_names


def test_what_is_no_package_is_said(tmp_path: Path) -> None:
    with refused("not-a-package", cf.InputError, path=tmp_path):
        Package(tmp_path)


def test_it_says_what_it_is(package: Path) -> None:
    opened = Package(package)
    assert repr(opened) == f"<rage benchmark {opened.label}: 30 queries, contexts mix>"
    opened.manifest = opened.manifest.model_copy(update={"name": "<script>"})
    assert "<script>" not in opened._repr_html_()
    assert "&lt;script&gt;" in opened._repr_html_()


KNOWS_TABLES = re.compile(r"shard_paths|read_table\(|\.table\(\"")
WRITERS = (
    "engines/tables.py",
    "package/package.py",
    "builders/alce/build.py",
    "builders/hiding.py",
    "builders/package.py",
    "builders/rage/negatives.py",
    "builders/rage/joined_corpora.py",
    "builders/rage/material.py",
    "plugins/documents/corpus.py",
)
"""What makes tables, and the one reader."""


def test_nobody_else_knows_where_a_table_lies() -> None:
    source = ROOT / "src" / "citeforge"
    knowing = [
        name
        for path in sorted(source.rglob("*.py"))
        for name in [path.relative_to(source).as_posix()]
        if name not in WRITERS and KNOWS_TABLES.search(path.read_text())
    ]
    assert not knowing


def damaged(package: Path, out: Path, table: str, change: object) -> Package:
    """A copy with one changed table and its old manifest, which is not checked."""
    shutil.copytree(package, out)
    file = next(out.glob(table))
    content = pq.read_table(file)
    pq.write_table(change(content), file)  # type: ignore[operator]
    return Package(out, load_manifest(out))


def test_a_query_id_that_comes_twice_is_refused(package: Path, tmp_path: Path) -> None:
    twice = damaged(
        package, tmp_path / "p", "queries/*.parquet",
        lambda t: pa.concat_tables([t.slice(0, 1), t.slice(0, 29)]),
    )  # fmt: skip
    with refused("duplicate-id"):
        twice.query_ids  # noqa: B018


def test_rows_about_a_query_that_is_not_there_are_refused(package: Path, tmp_path: Path) -> None:
    first = rows(package, "mapping/relevant-*.parquet")[0]["query-id"]
    without = damaged(
        package, tmp_path / "p", "queries/*.parquet",
        lambda t: t.filter(pc.not_equal(t["_id"], first)),
    )  # fmt: skip
    with refused("unknown-query", path=without.folder / "mapping" / "relevant"):
        without.mappings  # noqa: B018
    (without.folder / "gold").mkdir()
    gold = pa.Table.from_pylist(
        [{"query_id": first, "kind": "answer", "position": 0, "text": "Zinc."}], schema=GOLD
    )
    name = "gold/gold-00000-of-00001.parquet"
    pq.write_table(gold, without.folder / name)
    without.manifest.files[name] = sha256_file(without.folder / name)
    with refused("unknown-query", path=without.folder / "gold" / "gold"):
        without.gold  # noqa: B018


@pytest.mark.parametrize(
    ("change", "code", "field"),
    [
        (lambda t: t.drop_columns(["title"]), "schema-mismatch", None),
        (
            lambda t: t.set_column(2, "text", pa.nulls(len(t), pa.string())),
            "schema-mismatch",
            "text",
        ),
        (lambda t: t.slice(0, 3), "unknown-id", None),
    ],
)
def test_a_corpus_that_is_none_is_refused(
    package: Path, tmp_path: Path, change: object, code: str, field: str | None
) -> None:
    opened = damaged(package, tmp_path / "p", "corpus/*.parquet", change)
    with refused(code, field=field):
        list(opened.items("mix"))
