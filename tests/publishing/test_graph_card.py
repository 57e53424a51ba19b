"""Card and Croissant of a benchmark that grew from a graph."""

import hashlib
import json
import re
from pathlib import Path

import pytest

from citeforge.package.manifest import load_intact
from conftest import EXAMPLES, ROOT, Inline

GRAPH = EXAMPLES / "people" / "graph.ttl"
BUILD = ("build", "kalma", "--kg", f"file:{GRAPH}", "--pairs-from-kg", "spouse,father,child")


@pytest.fixture
def folder(tmp_path: Path, inline: Inline) -> Path:
    """A package with its card, from a domain whose file has another name than the domain."""
    text = (ROOT / "src/citeforge/kg/data/people.yaml").read_text()
    (tmp_path / "mine.yaml").write_text(text.replace("name: people", "name: lives", 1))
    inline.ok(*BUILD, "--domain", "mine.yaml", "--licence", "cc0-1.0", "--out", "k")
    inline.ok("export", "card", "k")
    return tmp_path / "k"


def test_the_command_names_the_domain_file(folder: Path) -> None:
    card = (folder / "README.md").read_text()
    sha256 = hashlib.sha256((folder.parent / "mine.yaml").read_bytes()).hexdigest()
    assert "--domain mine.yaml" in card
    assert f"domain `mine.yaml`: sha256 `{sha256}`" in card


def test_the_card_names_protected_facts_and_no_negatives(folder: Path) -> None:
    card = (folder / "README.md").read_text()
    # Aloysia, Pierre and others: two causes of death, one manner of death, one party.
    shown = "cause of death of 2, manner of death of 1, member of political party of 1"
    assert f"that laws protect: {shown}" in card
    assert "Share of negatives" not in card


def test_croissant_describes_triples_and_their_origin(folder: Path) -> None:
    content = json.loads((folder / "croissant.json").read_text())
    assert content["rai:dataCollection"] == (
        "Questions and their gold grow by rules from triples of kg:graph.ttl."
    )
    assert "cause of death of 2" in content["rai:personalSensitiveInformation"]
    assert re.match(r"@inproceedings\{", content["citeAs"])
    full = next(r for r in content["recordSet"] if r["@id"] == "contexts/full")
    triples = next(f for f in full["field"] if f["name"] == "triples")
    assert [f["name"] for f in triples["subField"]][:5] == [
        "qid",
        "name",
        "pid",
        "relation",
        "value",
    ]


def test_mlcroissant_reads_the_triples(folder: Path) -> None:
    mlcroissant = pytest.importorskip("mlcroissant")
    dataset = mlcroissant.Dataset(jsonld=str(folder / "croissant.json"))
    assert not dataset.metadata.ctx.issues.errors
    row = next(iter(dataset.records("contexts/full")))
    assert len(row["contexts/full/triples"]) > 5
    assert load_intact(folder).config["domain_file"]["name"] == "mine.yaml"
