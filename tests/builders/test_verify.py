"""`verify` finds every flipped byte and every disagreement."""

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.builders.package import PackageWriter, manifest_digest, render_manifest
from citeforge.builders.verify import verify
from citeforge.engines.files import sha256_file
from citeforge.package.manifest import load_intact, load_manifest
from citeforge.package.package import Package
from citeforge.schemas.manifest import benchmark_hash
from citeforge.schemas.tables import is_split_name
from conftest import refused


@pytest.fixture
def copy(package: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(package, tmp_path / "copy"))


def test_a_flipped_byte_in_any_file(copy: Path) -> None:
    files = [p for p in copy.rglob("*") if p.is_file()]
    assert len(files) == 10
    for path in files:
        content = path.read_bytes()
        for at in (0, len(content) // 2, len(content) - 1):
            path.write_bytes(content[:at] + bytes([content[at] ^ 1]) + content[at + 1 :])
            with pytest.raises(cf.InputError, match=path.name):
                cf.load(copy)
            try:
                problems = [str(p) for p in verify(copy)]
            except cf.InputError as error:
                problems = [str(error)]
            assert path.name in problems[0]
        path.write_bytes(content)
    assert verify(copy) == []


@pytest.mark.parametrize("split", ["all", "a-b"])
def test_splits_that_datasets_refuses(copy: Path, split: str) -> None:
    manifest = load_manifest(copy)
    old, new = (f"mapping/{n}-00000-of-00001.parquet" for n in ("relevant", split))
    (copy / old).rename(copy / new)
    files = {new if name == old else name: digest for name, digest in manifest.files.items()}
    changed = manifest.model_copy(update={"files": files, "benchmark_hash": benchmark_hash(files)})
    changed = changed.model_copy(update={"manifest_sha256": manifest_digest(changed)})
    (copy / "manifest.json").write_text(render_manifest(changed))
    assert [str(p) for p in verify(copy)] == [
        f"mapping/{split}: has a split that `datasets` refuses to load"
    ]
    assert not is_split_name(split)
    with pytest.raises(ValueError, match=re.escape(repr(split))):
        PackageWriter(copy).add("mapping", split, pa.table({}))


def test_missing_and_stray_files(copy: Path) -> None:
    (copy / "stats.json").unlink()
    shutil.copy(
        copy / "queries" / "queries-00000-of-00001.parquet",
        copy / "queries" / "queries-00001-of-00002.parquet",
    )
    assert [str(p) for p in verify(copy)] == [
        "stats.json: is missing",
        "queries/queries-00001-of-00002.parquet: is not in the manifest",
    ]
    with refused("missing-file", path=copy / "stats.json"):
        load_intact(copy)


def change(folder: Path, name: str, edit: Callable[[pa.Table], pa.Table]) -> None:
    """Edit a table and sign the package again, as someone who knows the manifest would."""
    path = folder / f"{name}-00000-of-00001.parquet"
    pq.write_table(edit(pq.read_table(path, partitioning=None)), path)
    manifest = load_manifest(folder)
    manifest.files[path.relative_to(folder).as_posix()] = sha256_file(path)
    manifest.benchmark_hash = benchmark_hash(manifest.files)
    manifest.manifest_sha256 = manifest_digest(manifest)
    (folder / "manifest.json").write_text(render_manifest(manifest))


def set_value(column: str, row: int, value: object) -> Callable[[pa.Table], pa.Table]:
    def edit(table: pa.Table) -> pa.Table:
        rows = table.to_pylist()
        rows[row][column] = value
        return pa.Table.from_pylist(rows, schema=table.schema)

    return edit


@pytest.mark.parametrize(
    ("table", "edit", "message"),
    [
        ("queries/queries", set_value("_id", 1, "q01"), "queries: duplicate _id"),
        ("corpus/corpus", set_value("_id", 1, "moon-io"), "duplicate _id 'moon-io'"),
        ("corpus/corpus", set_value("_id", 0, "other"), "names the passage 'moon-io', which is n"),
        ("mapping/relevant", set_value("query-id", 0, "q99"), "names the query 'q99'"),
        ("mapping/relevant", set_value("corpus-id", 1, "moon-zzz"), "the passage 'moon-zzz'"),
        ("mapping/irrelevant", set_value("corpus-id", 0, "moon-io"), "is also in relevant"),
        ("contexts/mix", set_value("query_id", 0, "q02"), "not those of queries, in their order"),
        (
            "contexts/mix",
            set_value("docs", 0, [{"corpus-id": "moon-io", "label": "irrelevant"}]),
            "the label 'irrelevant' is not that of the mappings",
        ),
        (
            "contexts/mix",
            set_value("docs", 0, [{"corpus-id": "moon-io", "label": "relevant"}] * 2),
            "shows one passage twice",
        ),
        ("queries/queries", lambda t: t.drop(["metadata"]), "has not the schema of config queries"),
    ],
)
def test_disagreements(
    copy: Path, table: str, edit: Callable[[pa.Table], pa.Table], message: str
) -> None:
    change(copy, table, edit)
    assert any(message in str(problem) for problem in verify(copy))


def test_what_is_no_package(tmp_path: Path) -> None:
    with refused("not-a-package", path=tmp_path / "half") as caught:
        (tmp_path / "half.partial").mkdir()
        load_manifest(tmp_path / "half")
    assert str(caught.value).endswith("half.partial): run the same command again with --resume")
    with refused("not-a-package", path=tmp_path):
        verify(tmp_path)


def test_a_newer_package_is_refused(copy: Path) -> None:
    path = copy / "manifest.json"
    content = json.loads(path.read_text())
    content["schema_version"] = 999
    path.write_text(json.dumps(content))
    with refused("wrong-version", path=path):
        load_manifest(copy)


def test_a_context_that_names_a_missing_passage(copy: Path) -> None:
    """Whole and hashed, and still wrong: reading it names the table and the passage."""
    change(copy, "corpus/corpus", lambda t: t.filter(pc.not_equal(t["_id"], "moon-io")))
    with refused("unknown-id") as caught:
        list(Package(copy).items("mix"))
    assert "contexts/mix" in str(caught.value) and "'moon-io'" in str(caught.value)
