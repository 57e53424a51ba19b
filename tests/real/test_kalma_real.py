"""BioKaLMA's real graphs and questions."""

import re
from pathlib import Path

import pytest

from citeforge.package.manifest import load_intact
from conftest import Cli, real_data
from servers.sparql import sparql_server

pytestmark = pytest.mark.slow


def test_the_whole_route_on_real_people(cli: Cli, tmp_path: Path) -> None:
    graph = real_data() / "biokalma" / "people.nt.gz"
    common = (
        *("build", "kalma", "--pairs-from-kg", "spouse,father,child,student"),
        *("--writer", "template", "--limit", "60"),
    )
    for args in (
        (*common, "--kg", f"file:{graph}", "--out", "kalma"),
        ("verify", "kalma"),
        ("run", "random", "--benchmark", "kalma", "--out", "random.jsonl"),
        (
            "score",
            "random.jsonl",
            "--benchmark",
            "kalma",
            "--judge",
            "lexical",
            "--context",
            "full",
        ),
    ):
        result = cli(*args)
        assert result.returncode == 0, (args, result.stderr)
    # It cites shown triples alone.
    told = r"KaLMA\.Corr@micro ↑(.*\n.*\nrandom \(reference\))? +100\.00"
    assert re.search(told, result.stdout), result.stdout
    with sparql_server(graph, tmp_path) as url:
        result = cli(*common, "--kg", f"sparql:{url}", "--out", "served")
        assert result.returncode == 0, result.stderr
    one, two = load_intact(tmp_path / "kalma"), load_intact(tmp_path / "served")
    assert one.benchmark_hash == two.benchmark_hash


def test_published_questions_and_linking(cli: Cli, tmp_path: Path) -> None:
    folder = real_data() / "biokalma"
    result = cli(
        *("build", "kalma", "--source", f"kalma:{folder / 'specific.json'}"),
        *("--general", folder / "general.json", "--out", "published"),
    )
    assert result.returncode == 0, result.stderr
    assert cli("verify", "published").returncode == 0
    assert load_intact(tmp_path / "published").contexts.keys() >= {"full", "full_general"}
    result = cli(
        *("kg", "link", "--kg", f"file:{folder / 'people.nt.gz'}"),
        *("--questions", folder / "specific.json"),
    )
    found = re.search(r"recall (\d+\.\d), precision (\d+\.\d)", result.stdout)
    assert found, result.stdout
    # Names come from the graph's own labels here; a spaCy model would find other spellings.
    assert float(found[1]) > 70
    assert float(found[2]) > 90
