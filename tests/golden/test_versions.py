"""Files of every version are still read, and the published schemas describe them."""

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

import citeforge as cf
from citeforge.builders.authorship.labels import load_label_sets
from citeforge.builders.verify import verify
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.gate_policy import read_policy
from citeforge.kg.domain import load_domain
from citeforge.package.manifest import load_manifest
from citeforge.plugins.audit.run import read_accepted
from citeforge.plugins.leaderboard.boards import read_boards
from citeforge.schemas.audit import Audit
from conftest import ROOT, Inline, refused

V1 = ROOT / "tests" / "golden" / "v1"
FILES = {
    "manifest": "package/manifest.json",
    "scores": "scores.json",
    "audit": "audit.json",
    "known-flaws": "known-flaws.jsonl",
    "submission": "submission.jsonl",
    "prompts": "prompts.jsonl",
    "replay-store-export": "replay.jsonl",
    "label-set": "labels.yaml",
    "kg-domain": "domain.yaml",
    "leaderboard": "leaderboard.yaml",
    "gate-policy": "gate-policy.yaml",
}


def values(schema: str) -> Iterable[Any]:
    """What a schema describes in its golden file."""
    path = V1 / FILES[schema]
    text = path.read_text()
    if path.suffix == ".yaml":
        return [yaml.safe_load(text)]
    if path.suffix == ".json":
        return [json.loads(text)]
    return [json.loads(line) for line in text.splitlines()]


def test_every_schema_has_a_golden_file() -> None:
    schemas = {p.stem for p in (ROOT / "docs" / "schemas").glob("*.json")}
    # Those of --json are tried on what the commands print (tests/cli/test_json_output.py).
    assert {name for name in schemas if not name.startswith("output-")} == set(FILES)


@pytest.mark.parametrize("name", FILES)
def test_the_schemas_describe_the_files(name: str) -> None:
    schema = json.loads((ROOT / "docs" / "schemas" / f"{name}.json").read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema["$id"] == f"urn:citeforge:{name}:1"
    check = jsonschema.Draft202012Validator(schema)
    for value in values(name):
        check.validate(value)
        assert not check.is_valid({**value, "no such field": 1})
        assert not check.is_valid([])


def test_a_policy() -> None:
    policy = read_policy(V1 / "gate-policy.yaml").policy
    assert (list(policy.critical), policy.counts.uncited) == (["CiteF1@query", "CiteR"], 0.1)


def test_a_package(inline: Inline) -> None:
    manifest = load_manifest(V1 / "package")
    assert (manifest.name, manifest.licence) == ("oxo", "cc0-1.0")
    assert verify(V1 / "package") == []
    result = inline("show", V1 / "package", "--query", "q1")
    assert "[2] relevant (d1)" in result.stdout


def test_what_is_done_to_a_package_of_unknown_making(inline: Inline, tmp_path: Path) -> None:
    """Its manifest names no choices of a build: everything but the command of the build is said."""
    shutil.copytree(V1 / "package", tmp_path / "p")
    (tmp_path / "scores").mkdir()
    shutil.copy(V1 / "scores.json", tmp_path / "scores")
    for words in (
        ("audit", "p"),
        ("export", "card", "p"),
        ("verify", "p"),
        ("export", "prompts", "p", "--out", "prompts.jsonl"),
        ("export", "beir", "p", "--out", "beir"),
        ("leaderboard", "build", "--benchmark", "p", "--scores", "scores", "--out", "site"),
    ):
        inline.ok(*words)
    card = (tmp_path / "p" / "README.md").read_text()
    assert "The manifest does not hold the choices of a `citeforge build`." in card
    assert "# oxo" in card


def test_an_older_manifest_may_lack_what_came_later(tmp_path: Path) -> None:
    """As a record gets a field, files without it must still match their own sha256."""
    import hashlib

    shutil.copytree(V1 / "package", tmp_path / "p")
    path = tmp_path / "p" / "manifest.json"
    content = json.loads(path.read_text())
    del content["short_mappings"], content["libraries"]
    content["manifest_sha256"] = ""
    canonical = json.dumps(content, sort_keys=True, separators=(",", ":"))
    content["manifest_sha256"] = hashlib.sha256(canonical.encode()).hexdigest()
    path.write_text(json.dumps(content, indent=2) + "\n")
    assert load_manifest(tmp_path / "p").libraries == {}
    path.write_text(path.read_text().replace("cc0-1.0", "mit"))
    with refused("hash-mismatch", path=path):
        load_manifest(tmp_path / "p")


def test_a_submission_and_its_scores() -> None:
    old = cf.read_scores(V1 / "scores.json")
    new = cf.score(V1 / "submission.jsonl", V1 / "package")
    assert (new.system, new.file.benchmark_hash) == (old.system, old.file.benchmark_hash)
    # q1 cites [2] (relevant) and [1] (not): 1/2; q2 cites [1] (relevant): 1. Mean .75.
    for scores in (old, new):
        assert (scores["CiteP"].value, scores["CiteP"].per_query) == (75.0, [0.5, 1.0])
    assert "mill" in cf.report([V1 / "scores.json"]).text


def test_a_newer_version_is_refused(tmp_path: Path) -> None:
    content = json.loads((V1 / "scores.json").read_text())
    path = tmp_path / "scores.json"
    path.write_text(json.dumps({**content, "scores_version": 2}))
    with refused("wrong-version", path=path):
        load_scores(path)
    shutil.copytree(V1 / "package", tmp_path / "p")
    path = tmp_path / "p" / "manifest.json"
    path.write_text(path.read_text().replace('"schema_version": 1', '"schema_version": 2'))
    with refused("wrong-version", path=path) as caught:
        load_manifest(tmp_path / "p")
    assert "has schema version 2; this citeforge reads up to 1" in str(caught.value)


def test_prompts_and_a_replay_store(inline: Inline, tmp_path: Path) -> None:
    inline.ok("llm", "import", "store.db", V1 / "replay.jsonl")
    inline.ok("llm", "run", V1 / "prompts.jsonl", "--llm", "replay:store.db", "--out", "s.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "s.jsonl").read_text().splitlines()]
    found = {r["query_id"]: r["output"] for r in rows if "query_id" in r}
    assert found == {"q1": "It opened in 1901 [2].", "q2": "Two [1]."}


def test_audit_and_accepted_flaws() -> None:
    audit = Audit.model_validate_json((V1 / "audit.json").read_text())
    assert audit.false_negatives is not None
    assert audit.flaws["near-duplicate"][0].key == ("near-duplicate", "q1", "d2")
    assert read_accepted(V1 / "known-flaws.jsonl") == {("near-duplicate", "q1", "d2")}


def test_a_leaderboard() -> None:
    file, boards = read_boards(V1)
    assert file == V1 / "leaderboard.yaml"
    assert [b.name for b in boards.boards] == ["oxo", "other"]
    assert boards.boards[0].benchmark == str(V1 / "package")
    assert boards.boards[0].score.judge == "lexical"
    assert boards.boards[1].gold == "hub:ORG/NAME-gold"


def test_labels_and_domain() -> None:
    (labels,) = load_label_sets(V1 / "labels.yaml")
    assert (labels.first, labels.second) == (("Encyclopaedia",), ("Web page",))
    assert load_domain(str(V1 / "domain.yaml")).single_valued == {"inception": ("opened",)}
