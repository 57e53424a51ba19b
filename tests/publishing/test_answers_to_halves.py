"""Answers to the public half of a benchmark are answers to its whole, for the owner, too."""

import json
import shutil
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.package.manifest import unknown_files
from citeforge.package.public_halves import read_public_halves, record_public_half
from citeforge.publishing.hidden import split_package
from conftest import refused, write_jsonl


@pytest.fixture
def parts(hidden_package: Path, tmp_path: Path) -> tuple[Path, Path, Path]:
    """The whole package, its public half, and its gold half."""
    whole = Path(shutil.copytree(hidden_package, tmp_path / "whole"))
    public, gold = tmp_path / "public", tmp_path / "gold"
    split_package(whole, public, gold)
    return whole, public, gold


def test_one_hash_in_all_advice(parts: tuple[Path, Path, Path], tmp_path: Path) -> None:
    whole, public, gold = parts
    opened = {"whole": cf.load(whole), "public": cf.load(public), "both": cf.load(public, gold)}
    bare = write_jsonl(tmp_path / "bare.jsonl", [{"query_id": "q01", "output": "[1]"}])
    said = set()
    for benchmark in opened.values():
        found = cf.check(bare, benchmark).warnings
        (advice,) = [f.message for f in found if f.code == "missing-hash"]
        said.add(
            json.loads(advice.partition("begin the file with ")[2])["submission"]["benchmark_hash"]
        )
    cf.run("top-1", public, tmp_path / "run.jsonl")
    header = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[0])
    said |= {header["submission"]["benchmark_hash"], cf.export_prompts(public)[0]["benchmark_hash"]}
    cf.export_prompts(public, stub=tmp_path / "stub.jsonl")
    stub = json.loads((tmp_path / "stub.jsonl").read_text().splitlines()[0])
    assert said | {stub["submission"]["benchmark_hash"]} == {opened["whole"].hash}
    for name, benchmark in opened.items():
        assert cf.check(tmp_path / "run.jsonl", benchmark).errors == [], name
    value = cf.score(tmp_path / "run.jsonl", opened["both"], ["CiteP"])["CiteP"].value
    assert cf.score(tmp_path / "run.jsonl", opened["whole"], ["CiteP"])["CiteP"].value == value


def test_the_owner_knows_the_halves_that_were_published(
    parts: tuple[Path, Path, Path], tmp_path: Path
) -> None:
    whole, public, _ = parts
    theirs = cf.load(public).hash
    rows = [{"query_id": "q01", "output": "[1]", "benchmark_hash": theirs}]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    with refused("wrong-benchmark", path=path, line=1):
        cf.score(path, whole)
    before = (whole / "manifest.json").read_bytes()
    for _ in range(2):
        record_public_half(whole, theirs)
    assert read_public_halves(whole) == (theirs,)
    assert cf.score(path, whole, only_answered=True).file.is_build_known
    # It is no part of the package.
    assert (whole / "manifest.json").read_bytes() == before
    assert (verify(whole), unknown_files(whole)) == ([], [])
    (whole / "public.json").write_text('{"hashes": ["x"]}')
    with refused("wrong-value", path=whole / "public.json"):
        cf.score(path, whole)
