"""Packages of third parties: manifests name files of the package alone; hashes are recomputed."""

import hashlib
import json
import os
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.builders.verify import verify
from citeforge.engines.files import digest, sha256_file
from citeforge.package.manifest import load_manifest, pretty_json
from citeforge.package.package import Package
from conftest import Inline, refused

MIX = "contexts/mix-00000-of-00001.parquet"


@pytest.fixture
def copy(package: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(package, tmp_path / "work" / "copy"))


def forge(folder: Path, own_hash: bool = False, **changes: Any) -> None:
    """Change a manifest and sign it again, as anybody can.

    Args:
        folder: package.
        own_hash: compute the benchmark hash of the changed files, too.
        changes: fields of the manifest.
    """
    path = folder / "manifest.json"
    content = {**json.loads(path.read_text()), **changes, "manifest_sha256": ""}
    if own_hash:
        tables = sorted(f"{s}  {n}\n" for n, s in content["files"].items() if "parquet" in n)
        content["benchmark_hash"] = hashlib.sha256("".join(tables).encode()).hexdigest()
    path.write_text(pretty_json(content | {"manifest_sha256": digest(content)}))


def files_of(folder: Path) -> dict[str, str]:
    return dict(json.loads((folder / "manifest.json").read_text())["files"])


def refusal(folder: Path, code: str, **place: object) -> str:
    """What opening, and verifying, report; both find the same fault."""
    with refused(code, cf.InputError, **place) as opened:
        cf.load(folder)
    try:
        problem = next(iter(verify(folder)))
    except cf.InputError as error:
        assert (error.code, str(error)) == (code, str(opened.value))
    else:
        assert problem.code == code
        assert str(opened.value.path) == str(folder / problem.file)
    return str(opened.value)


@pytest.mark.parametrize(
    "name",
    [
        "/etc/passwd", "../x.json", "../../x.json", "corpus/../../x.json", "./stats.json",
        "corpus//x.json", "corpus\\x.json", "..\\x.json", "C:\\x.json", "C:x.json", "//host/x.json",
        "stats.json\n", "stats.json\0", "", ".", "..", "~/.bashrc", "$HOME/x.json", ".env",
        "corpus/x.parquet", "x.parquet", "a/b/c-00000-of-00001.parquet", "run.sh",
        "corpus/corpus-00000-of-00001.parquet/", "\x1b[2Jstats.json", "st\u202eats.json",
    ],
)  # fmt: skip
def test_names_that_are_no_files_of_a_package(copy: Path, name: str) -> None:
    """The file exists, its sha256 is right, and the manifest is signed: the name alone is at
    fault."""
    forge(copy, files={**files_of(copy), name: "0" * 64})
    said = refusal(copy, "wrong-value", path=copy / "manifest.json")
    assert "manifest.json files" in said
    assert said.isprintable()


@pytest.mark.parametrize(
    ("field", "value", "code"),
    [
        ("grammar", {"base": -5}, "wrong-value"), ("grammar", {"base": 2}, "wrong-value"),
        ("grammar", {"base": 10**30}, "wrong-value"),
        ("name", "../x", "wrong-value"), ("name", "a b", "wrong-value"),
        ("name", "x\nwarning: y", "wrong-value"), ("name", "\x1b[31mx", "wrong-value"),
        ("name", "", "wrong-value"), ("name", "x" * 300, "wrong-value"),
        ("contexts", {"../../x": {"description": "d"}}, "wrong-value"),
        ("contexts", {"": {"description": "d"}}, "wrong-value"),
        ("contexts", {"mix\n": {"description": "d"}}, "wrong-value"),
        ("files", {"stats.json": "abc"}, "wrong-value"), ("files", {"stats.json": 5}, "wrong-type"),
        ("files", ["stats.json"], "wrong-type"), ("benchmark_hash", 7, "wrong-type"),
        ("counts", {"x": "many"}, "wrong-type"), ("models", [], "wrong-type"),
        ("sources", {}, "wrong-type"), ("kind", None, "wrong-type"), ("config", "x", "wrong-type"),
        ("schema_version", "new", "wrong-type"), ("schema_version", -1, "out-of-range"),
        ("version", "\x1b[2J", "wrong-value"), ("version", ["1"], "wrong-type"),
    ],
)  # fmt: skip
def test_fields_that_no_build_writes(copy: Path, field: str, value: object, code: str) -> None:
    forge(copy, **{field: value})
    assert f"manifest.json {field}" in refusal(copy, code, path=copy / "manifest.json")


@pytest.mark.parametrize(
    ("content", "code"),
    [
        *((c, "wrong-type") for c in ("[]", "null", '"x"')),
        ("{}", "missing-field"),
        *((c, "bad-json") for c in ("[" * 100_000, "1e999", "")),
    ],
)
def test_manifests_that_are_no_records(copy: Path, content: str, code: str) -> None:
    (copy / "manifest.json").write_text(content)
    refusal(copy, code, path=copy / "manifest.json")


def test_the_hash_of_the_tables_is_recomputed(copy: Path) -> None:
    """The first passage is made relevant everywhere: `[1]` would score 100 by the official hash."""
    official = load_manifest(copy).benchmark_hash
    rows = pq.read_table(copy / MIX, partitioning=None)
    forged = rows.to_pylist()
    for row in forged:
        for place, doc in enumerate(row["docs"]):
            doc["label"] = "relevant" if place == 0 else "irrelevant"
    pq.write_table(pa.Table.from_pylist(forged, schema=rows.schema), copy / MIX)
    files = {**files_of(copy), MIX: sha256_file(copy / MIX)}
    forge(copy, files=files)
    tables = {n: s for n, s in files.items() if n.endswith(".parquet") and "cosines" not in n}
    lines = sorted(f"{s}  {n}\n" for n, s in tables.items())
    actual = hashlib.sha256("".join(lines).encode()).hexdigest()
    said = refusal(copy, "hash-mismatch", path=copy / "manifest.json", field="benchmark_hash")
    assert official in said
    assert actual in said


def test_a_changed_table_is_named_with_both_hashes(copy: Path) -> None:
    expected = files_of(copy)[MIX]
    (copy / MIX).write_bytes((copy / MIX).read_bytes() + b"x")
    said = refusal(copy, "hash-mismatch", path=copy / MIX)
    assert expected in said
    assert sha256_file(copy / MIX) in said


def test_a_file_that_the_manifest_does_not_list_is_never_read(copy: Path) -> None:
    """A second shard beside the listed ones would add rows under the official hash."""
    before = Package(copy).mappings["relevant"].num_rows
    shard = copy / "mapping" / "relevant-00000-of-00001.parquet"
    shutil.copyfile(shard, shard.with_name("relevant-00001-of-00002.parquet"))
    assert Package(copy).mappings["relevant"].num_rows == before
    (problem,) = verify(copy)
    assert (problem.file, problem.code) == (
        "mapping/relevant-00001-of-00002.parquet", "foreign-file",
    )  # fmt: skip


@pytest.mark.parametrize("target", ["outside", "inside", "absolute", "dangling", "loop", "self"])
def test_a_table_that_is_a_link(copy: Path, target: str) -> None:
    """The bytes behind the link have the right sha256, and the link is refused."""
    path = copy / MIX
    away = copy.parent / "elsewhere.parquet"
    shutil.copyfile(path, away)
    shutil.copyfile(path, copy / "hidden.parquet")
    path.unlink()
    path.symlink_to({
        "outside": "../../elsewhere.parquet", "inside": "../hidden.parquet", "absolute": away,
        "dangling": "nowhere", "loop": path.name, "self": ".",
    }[target])  # fmt: skip
    refusal(copy, "missing-file" if target == "loop" else "link-outside", path=copy / MIX)


BESIDE = ("README.md", "stats.json", "audit.json", "card.md", "reference_scores.json",
          "croissant.json", "eval.yaml", "public.json")  # fmt: skip
CORPUS = "corpus/corpus-00000-of-00001.parquet"


@pytest.mark.parametrize("name", [MIX, CORPUS, "manifest.json", *BESIDE])
def test_every_reader_refuses_a_link_that_verify_refuses(
    copy: Path, inline: Inline, name: str
) -> None:
    """Also a file that the manifest does not list, which a card or a report would show."""
    away = copy.parent / "away"
    if (copy / name).exists():
        (copy / name).rename(away)
    else:
        away.write_text("{}")
    (copy / name).symlink_to(away)
    answers = copy.parent / "answers.jsonl"
    answers.write_text('{"query_id": "q1", "output": "A [1]."}\n')
    lines: list[tuple[object, ...]] = [
        ("show", copy), ("show", copy, "--query", "q1"), ("audit", copy), ("export", "card", copy),
        ("export", "prompts", copy, "--out", copy.parent / "prompts.jsonl"),
        ("export", "trec", copy, "--out", copy.parent / "trec"),
        ("check", answers, "--benchmark", copy), ("score", answers, "--benchmark", copy),
        ("run", "random", "--benchmark", copy, "--out", copy.parent / "random.jsonl"),
        ("publish", copy, "--repo-id", "me/x", "--dry-run"),
        ("build", "--from", copy, "--out", copy.parent / "again", "--trust"),
    ]  # fmt: skip
    for line in lines:
        assert name in inline.fails(1, "link-outside", *line).stderr
    assert refusal(copy, "link-outside", path=copy / name)


@pytest.mark.parametrize("name", [CORPUS, "audit.json"])
def test_no_reader_waits_for_a_pipe(copy: Path, inline: Inline, name: str) -> None:
    (copy / name).unlink(missing_ok=True)
    os.mkfifo(copy / name)
    inline.fails(1, "missing-file", "show", copy)
    refusal(copy, "missing-file", path=copy / name)


def test_a_folder_that_is_a_link(copy: Path) -> None:
    (copy / "contexts").rename(copy.parent / "contexts")
    (copy / "contexts").symlink_to(copy.parent / "contexts")
    refusal(copy, "link-outside", path=copy / MIX)


@pytest.mark.parametrize(
    ("name", "code", "at"),
    [("stats.json", "missing-file", "stats.json"), ("manifest.json", "not-a-package", ".")],
)
def test_a_pipe_is_not_waited_for(copy: Path, name: str, code: str, at: str) -> None:
    (copy / name).unlink()
    os.mkfifo(copy / name)
    refusal(copy, code, path=copy / at)


def cached(folder: Path, cache: Path) -> Path:
    """A package as the Hub's cache lays it: names that link to ``blobs``."""
    snapshot = cache / "snapshots" / "abc"
    (cache / "blobs").mkdir(parents=True)
    for path in [p for p in folder.rglob("*") if p.is_file()]:
        blob = cache / "blobs" / sha256_file(path)
        shutil.copyfile(path, blob)
        link = snapshot / path.relative_to(folder)
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(os.path.relpath(blob, link.parent))
    return snapshot


def test_the_cache_of_the_hub_links_to_its_blobs(copy: Path, tmp_path: Path) -> None:
    snapshot = cached(copy, tmp_path / "cache")
    assert verify(snapshot) == []
    assert cf.load(snapshot).query_ids == cf.load(copy).query_ids


def test_blobs_that_link_elsewhere(copy: Path, tmp_path: Path) -> None:
    snapshot = cached(copy, tmp_path / "cache")
    blobs = tmp_path / "cache" / "blobs"
    blobs.rename(tmp_path / "private")
    blobs.symlink_to(tmp_path / "private")
    refusal(snapshot, "link-outside")


def test_a_half_done_change_does_not_reach_outside(copy: Path, tmp_path: Path) -> None:
    """`.amending` finishes a change that was cut off; a third party may have put links there."""
    private = tmp_path / "private"
    (private / "ready").mkdir(parents=True)
    (private / "ready" / "letter.txt").write_text("dear")
    (private / "profile").write_text("alias ls=ls\n")
    amending = copy / ".amending"
    for place, target in ((amending, private), (amending / "ready", private / "ready"),
                          (amending / "lock", private / "profile")):  # fmt: skip
        shutil.rmtree(amending, ignore_errors=True)
        if place != amending:
            (amending / "ready").mkdir(parents=True)
            if place.name == "ready":
                place.rmdir()
        place.symlink_to(target)
        with refused("link-outside"):
            load_manifest(copy)
        assert (private / "ready" / "letter.txt").read_text() == "dear"
        assert (private / "profile").read_text() == "alias ls=ls\n"
        assert not (private / "lock").exists()
        amending.unlink() if amending.is_symlink() else None


def test_every_verb_refuses_a_forged_hash(copy: Path, tmp_path: Path, inline: Inline) -> None:
    (tmp_path / "s.jsonl").write_text('{"query_id": "q01", "output": "x [1]."}\n')
    inline.ok("score", "s.jsonl", "--benchmark", copy, "--out", "scores/s.json")
    forge(copy, benchmark_hash="0" * 64)
    verbs = [
        ("score", "s.jsonl", "--benchmark", copy), ("check", "s.jsonl", "--benchmark", copy),
        ("run", "random", "--benchmark", copy, "--out", "o.jsonl"), ("show", copy),
        ("leaderboard", "build", "--benchmark", copy, "--scores", "scores", "--out", "site"),
        ("verify", copy), ("export", "beir", copy, "--out", "e"), ("export", "prompts", copy),
        ("publish", copy, "--repo-id", "a/b", "--dry-run"), ("export", "card", copy),
        ("build", "--from", copy, "--out", "r"), ("build", "--print-recipe", "--from", copy),
    ]  # fmt: skip
    for verb in verbs:
        ran = inline.fails(1, "hash-mismatch", *verb)
        assert ran.error.field == "benchmark_hash", verb
