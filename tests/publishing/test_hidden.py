"""Gold halves of third parties: only their own files are read, and nothing else is written."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.files import digest, sha256_file
from citeforge.engines.tables import write_table
from citeforge.package.manifest import pretty_json
from citeforge.plugins.bundles.design import DeflectionRecipe
from citeforge.plugins.leaderboard.build import build_site
from citeforge.publishing.hidden import join_package, split_package
from citeforge.publishing.hub import Publisher
from citeforge.schemas.manifest import benchmark_hash
from citeforge.schemas.tables import CONTEXTS
from conftest import refused


@pytest.fixture
def halves(hidden_package: Path, tmp_path: Path) -> tuple[Path, Path]:
    public, gold = tmp_path / "public", tmp_path / "gold"
    split_package(hidden_package, public, gold)
    return public, gold


def forge(file: Path, **changes: Any) -> None:
    """Change fields of a JSON file; a manifest is signed again, as anybody can."""
    content = {**json.loads(file.read_text()), **changes}
    if "manifest_sha256" in content:
        content["manifest_sha256"] = digest({**content, "manifest_sha256": ""})
    file.write_text(pretty_json(content))


def files_of(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "manifest.json").read_text())["files"])


@pytest.mark.parametrize(
    "name",
    [
        "../../../letter.json", "../public/letter.json", "/tmp/letter.json", "..", ".", "",
        "mapping\\letter.json", "letter.json\0", ".ssh/letter.json", "a/b/letter.json",
    ],
)  # fmt: skip
def test_no_name_leads_out(halves: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    """A letter of the user beside the joined copy, and one three folders up, stay as they are."""
    public, gold = halves
    out = tmp_path / "a" / "b" / "joined"
    letters = [tmp_path / "letter.json", tmp_path.parent / "letter.json"]
    for letter in letters:
        letter.write_text("dear")
    (public / "letter.json").write_text("overwritten")
    forge(gold / "manifest.json", files={**files_of(gold), name: "0" * 64})
    with refused("wrong-value", path=gold / "manifest.json"):
        join_package(public, gold, out)
    assert [x.read_text() for x in letters] == ["dear", "dear"]
    assert not out.exists()


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("letter.json", "missing-file"),
        ("mapping/relevant-00000-of-00001.parquet", "wrong-benchmark"),
        ("contexts/mix-00000-of-00001.parquet", "wrong-benchmark"),
    ],
)
def test_no_file_of_the_public_half_takes_the_place_of_one_of_the_gold(
    halves: tuple[Path, Path], name: str, code: str
) -> None:
    public, gold = halves
    (public / "letter.json").write_text("dear")
    theirs = sha256_file(public / name) if (public / name).exists() else "0" * 64
    files = {**files_of(gold), name: theirs}
    forge(gold / "manifest.json", files=files, benchmark_hash=benchmark_hash(files))
    with refused(code, cf.InputError):
        cf.load(public, gold)


def test_files_that_the_manifest_does_not_list_stay(
    halves: tuple[Path, Path], tmp_path: Path
) -> None:
    """Of the gold half exactly what its manifest lists is copied: no links, no further files."""
    public, gold = halves
    (tmp_path / "secret").write_text("s")
    (gold / "notes.txt").symlink_to(tmp_path / "secret")
    (gold / "mapping" / "extra-00000-of-00001.parquet").symlink_to(tmp_path / "secret")
    join_package(public, gold, tmp_path / "joined")
    names = {p.name for p in (tmp_path / "joined").rglob("*")}
    assert not names & {"notes.txt", "extra-00000-of-00001.parquet"}


@pytest.mark.parametrize("name", ["hidden.json", "manifest.json", "stats.json"])
def test_a_link_in_a_gold_half(halves: tuple[Path, Path], tmp_path: Path, name: str) -> None:
    public, gold = halves
    (gold / name).rename(tmp_path / "away")
    (gold / name).symlink_to(tmp_path / "away")
    with refused("link-outside", path=gold / name):
        cf.load(public, gold)


@pytest.mark.parametrize(
    ("field", "value", "code", "place"),
    [
        ("public_hash", "x", "wrong-value", "public_hash"),
        ("public_hash", None, "wrong-type", "public_hash"),
        ("shown", ["stats.json"], "unknown-field", "shown"),
    ],
)
def test_links_of_wrong_types(
    halves: tuple[Path, Path], field: str, value: object, code: str, place: str
) -> None:
    public, gold = halves
    forge(gold / "hidden.json", **{field: value})
    with refused(code, path=gold / "hidden.json", field=place):
        cf.load(public, gold)


@pytest.mark.parametrize(
    ("field", "value"),
    [("name", "other"), ("kind", "hagrid"), ("version", "9"), ("grammar", {"base": 0})],
)
def test_labels_of_another_benchmark(halves: tuple[Path, Path], field: str, value: object) -> None:
    """A gold half that only claims to belong to the public one."""
    public, gold = halves
    forge(gold / "manifest.json", **{field: value})
    with refused("wrong-benchmark", path=gold / "manifest.json", field=field):
        cf.load(public, gold)


def test_labels_forged_without_the_secret(halves: tuple[Path, Path]) -> None:
    """Every first passage becomes relevant, and each hash of the gold half fits: only what the
    public half records of its gold does not."""
    public, gold = halves
    whole = cf.load(public, gold)
    said = json.loads((public / "manifest.json").read_text())["config"]["joined_hash"]
    assert said == whole.hash != whole.manifest.config.get("joined_hash")
    name = "contexts/mix-00000-of-00001.parquet"
    rows = whole.context_table("mix").to_pylist()
    for row in rows:
        for place, doc in enumerate(row["docs"]):
            doc["label"] = "irrelevant" if place else "relevant"
    write_table(gold / "contexts", "mix", pa.Table.from_pylist(rows, schema=CONTEXTS))
    files = {**files_of(gold), name: sha256_file(gold / name)}
    forge(gold / "manifest.json", files=files, benchmark_hash=benchmark_hash(files))
    with refused("wrong-benchmark", path=gold) as caught:
        cf.load(public, gold)
    assert f"of facts@{said[:8]}" in str(caught.value.allowed)


@pytest.mark.parametrize("kind", ["kalma", "authorship", "deflection"])
def test_halves_of_kinds_that_cannot_hide_gold(
    halves: tuple[Path, Path], tmp_path: Path, kind: str
) -> None:
    """No half of these is made, and none that was made by hand is read."""
    public, gold = halves
    for half in halves:
        forge(half / "manifest.json", kind=kind)
    with refused("hidden-gold", path=gold):
        cf.load(public, gold)
    with refused("hidden-gold", path=gold):
        build_site(public, [], tmp_path / "site", gold=gold)


def test_labels_do_not_stay_where_halves_do_not_fit(
    halves: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    public, gold = halves
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "work"))
    (tmp_path / "work").mkdir()
    forge(gold / "manifest.json", files={**files_of(gold), "stats.json": "0" * 64})
    with refused("hash-mismatch"):
        cf.load(public, gold)
    assert list((tmp_path / "work").iterdir()) == []


def test_what_is_made_of_hidden_labels_is_not_published(
    hidden_package: Path, tmp_path: Path
) -> None:
    """A benchmark of every cell of them has no secret of its own, and shows every label."""
    out = tmp_path / "cells"
    cf.build(DeflectionRecipe(benchmark=hidden_package), out)
    with refused("hidden-gold", cf.UsageError):
        Publisher("http://127.0.0.1:9", "token").plan(out, "org/cells")
    with refused("hidden-gold", path=out):
        build_site(out, [], tmp_path / "site")
    assert cf.load(out).has_hidden_gold


def test_a_perfect_system_needs_gold(halves: tuple[Path, Path], tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    with refused("no-relevant", path=halves[0]) as caught:
        cf.run("echo-relevant", halves[0], out=out)
    assert "the public half of a benchmark has none" in str(caught.value.allowed)
    assert not out.exists()


def test_scoring_without_the_gold_half_says_what_is_missing(
    hidden_package: Path, halves: tuple[Path, Path], tmp_path: Path
) -> None:
    public, _ = halves
    for folder, name in ((hidden_package, "whole.jsonl"), (public, "half.jsonl")):
        cf.run("random", folder, out=tmp_path / name)
        missing = cf.score(tmp_path / name, benchmark=public).not_computed
        assert {m.name: m.reason for m in missing}["CiteP"] == (
            "the labels of this benchmark are hidden; give its gold half with --gold"
        )
