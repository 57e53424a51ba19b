"""A corpus of overlapping chunks: negatives that are pieces of a relevant passage."""

import json
from pathlib import Path

import pytest

from citeforge.package.manifest import load_intact
from conftest import Cli
from overlapping import DOCUMENTS, PIECES, built, write_chunks


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chunks(tmp_path_factory.mktemp("chunks"))


def test_they_are_found_and_kept_out(source: Path, tmp_path: Path, cli: Cli) -> None:
    plain = built(source, tmp_path / "plain")
    n = sum(len(plain[q] & PIECES[q]) for q in DOCUMENTS)
    assert n == 2 + 3 + 2  # the miner takes them all: they are the nearest
    assert cli("audit", tmp_path / "plain").returncode == 0
    flaws = json.loads((tmp_path / "plain" / "audit.json").read_text())["flaws"]
    assert {(q, p) for _, q, p, _ in flaws["shared-text"]} == {
        (q, p) for q in DOCUMENTS for p in PIECES[q]
    }
    assert "near-duplicate" not in flaws  # what was looked for before finds none of them

    dropped = built(source, tmp_path / "dropped", drop_suspects=True)
    assert not any(dropped[q] & PIECES[q] for q in DOCUMENTS)
    counts = load_intact(tmp_path / "dropped").counts
    assert counts["suspect negatives dropped: shared-text"] == n

    screened = built(source, tmp_path / "screened", mining={"exclude_contained": True})
    assert not any(screened[q] & PIECES[q] for q in DOCUMENTS)
    # Dropping leaves fewer; mining without them finds others in their place.
    assert all(len(found) == 5 + 4 for found in screened.values())
    counts = load_intact(tmp_path / "screened").counts
    what = "candidates dropped: share text with a relevant passage"
    assert counts[f"seemingly relevant {what}"] == n
    assert f"irrelevant {what}" in counts


def test_the_threshold_belongs_to_the_recipe(source: Path, tmp_path: Path) -> None:
    # Neighbours share 46 of 96 runs; only the line is a piece as a whole.
    mining = {"exclude_contained": True, "contained": 0.5}
    found = built(source, tmp_path / "out", mining=mining)
    assert "castle-line" not in found["castle"]
    assert found["river"] >= PIECES["river"]
    assert load_intact(tmp_path / "out").config["mining"]["contained"] == 0.5
