"""Records of Every Eval Ever against their own JSON schemas and their own validator."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from jsonschema import Draft7Validator

from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.plugins.leaderboard.every_eval_ever import (
    SCHEMA_VERSION,
    RecordOptions,
    export_every_eval,
)
from conftest import Inline
from scoring import score


@pytest.fixture(scope="module")
def theirs(peer: Callable[[str], Path]) -> Any:
    """Their module of checks."""
    sys.path.insert(0, str(peer("every_eval_ever")))
    try:
        from every_eval_ever.validator import validation_core  # type: ignore[import-not-found]
    finally:
        sys.path.pop(0)
    return validation_core


@pytest.mark.parametrize("details", [True, False])
def test_no_errors(
    peer: Callable[[str], Path],
    theirs: Any,
    benchmark: Benchmark,
    inline: Inline,
    tmp_path: Path,
    details: bool,
) -> None:
    run = ("run", "random", "--benchmark", benchmark.folder, "--runs", "2", "--out", "r.jsonl")
    inline.ok(*run)
    wanted = select(["rage", "retrieval", "alce"])
    scores = tmp_path / "r.json"
    file = score(tmp_path / "r.jsonl", benchmark, wanted, details=details)
    scores.write_text(file.model_dump_json())
    out = tmp_path / "out"
    options = RecordOptions(model="org/m", organisation="Us", dataset="org/facts")
    export_every_eval(scores, out, options)
    schemas = peer("every_eval_ever") / "every_eval_ever" / "schemas"
    files = {p.relative_to(out).as_posix() for p in out.rglob("*") if p.is_file()}
    assert len(files) == 1 + details
    for name in sorted(files):
        is_aggregate = name.endswith(".json")
        schema = json.loads(
            (schemas / f"{'' if is_aggregate else 'instance_level_'}eval.schema.json").read_text()
        )
        assert schema["version"] == SCHEMA_VERSION
        texts = (out / name).read_text()
        rows = [texts] if is_aggregate else texts.splitlines()
        errors = [e for row in rows for e in Draft7Validator(schema).iter_errors(json.loads(row))]
        assert errors == []
        check = theirs.validate_aggregate if is_aggregate else theirs.validate_instance_file
        result = check(
            out / name,
            repo_path=name,
            available_files=files,
            read_repo_file=lambda q: (out / q).read_text(),
            run_semantic_checks=True,
        )
        assert (result.valid, result.errors, result.warnings) == (True, [], [])
