"""Pairs with impossible lives are dropped and counted, or kept and found by an audit."""

import json
from pathlib import Path

import pytest

from citeforge.package.manifest import load_manifest
from citeforge.schemas.audit import Audit
from conftest import EXAMPLES, Inline

PLAIN = EXAMPLES / "plain"
LATE = ("1788", "1850")
"""Lord Byron's year of birth, and one that is after his daughter's (1815) and his death (1824)."""


@pytest.fixture
def build(tmp_path: Path, inline: Inline) -> list[object]:
    """Words of a build from a graph in which Lord Byron is born too late."""
    text = (PLAIN / "people.ttl").read_text()
    assert text.count(f'"{LATE[0]}"') == 1
    (tmp_path / "people.ttl").write_text(text.replace(f'"{LATE[0]}"', f'"{LATE[1]}"'))
    return [
        *("build", "kalma", "--kg", "file:people.ttl", "--domain", PLAIN / "friends.yaml"),
        *("--licence", "cc0-1.0", "--min-facts", "1", "--out", "k"),
    ]


def test_pairs_with_an_impossible_life_are_dropped(build: list[object], inline: Inline) -> None:
    # Ada's graph names the late father, so that she and William are no pair either; all others
    # are Byron and Ada, Byron and Annabella, Annabella and Ada.
    failed = inline(*build, "--pairs-from-kg", "spouse,child")
    assert failed.returncode == 1
    said = " ".join(failed.stderr.split())
    assert "pairs dropped: an entity would have had a child before birth (2)" in said
    assert "pairs dropped: an entity would have died before birth (2)" in said
    assert "--keep-impossible" in said


def test_the_same_with_a_file_of_pairs(build: list[object], tmp_path: Path, inline: Inline) -> None:
    row = {"paragraph": "Ada Lovelace was Lord Byron's daughter.", "first": "Lord Byron",
           "relation": "child", "second": "Ada Lovelace"}  # fmt: skip
    (tmp_path / "pairs.jsonl").write_text(json.dumps(row) + "\n")
    failed = inline(*build, "--pairs", "pairs.jsonl")
    assert failed.returncode == 1
    assert "no pair is left (pairs dropped: an entity would have died before birth: 1)" in " ".join(
        failed.stderr.split()
    )


def test_kept_pairs_are_counted_and_an_audit_finds_them(
    build: list[object], tmp_path: Path, inline: Inline
) -> None:
    inline.ok(*build, "--pairs-from-kg", "child", "--keep-impossible")
    counts = load_manifest(tmp_path / "k").counts
    kept = {k: n for k, n in counts.items() if "impossible_life" in k}
    assert sum(kept.values()) == counts["pairs_selected"] == 2
    assert all(k.startswith("pairs_kept_with_an_impossible_life[") for k in kept)
    inline.ok("audit", "k")
    found = Audit.model_validate_json((tmp_path / "k" / "audit.json").read_text())
    assert found.checks["possible lives"]
    byron = "Lord Byron: born 1850, died 1824-04"
    descent = "Ada Lovelace: born 1815-12-10; parent Lord Byron: born 1850"
    details = {f.detail for f in found.flaws["impossible-life"]}
    assert any(byron in d and descent in d for d in details)


def test_an_audit_finds_no_impossible_life_in_a_true_graph(tmp_path: Path, inline: Inline) -> None:
    inline.ok(
        *("build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}", "--out", "k"),
        *("--pairs-from-kg", "spouse,father,child", "--licence", "cc0-1.0"),
    )
    assert not [k for k in load_manifest(tmp_path / "k").counts if "impossible" in k]
    inline.ok("audit", "k")
    found = Audit.model_validate_json((tmp_path / "k" / "audit.json").read_text())
    assert "impossible-life" not in found.flaws
