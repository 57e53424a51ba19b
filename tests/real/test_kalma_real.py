"""BioKaLMA's real graphs and questions."""

import json
import re
from itertools import combinations
from pathlib import Path

import pytest

from citeforge.builders.kalma.question_check import QuestionCheck, QuestionToCheck
from citeforge.builders.kalma.themes import GENERAL_WORDS
from citeforge.kg.domain import load_domain
from citeforge.package.manifest import load_intact
from citeforge.package.package import Package
from citeforge.schemas.kg import Triple, from_row
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
    told = r"KaLMA\.Corr@micro ↑(.*\n.*\nrandom \(control\))? +100\.00"
    assert re.search(told, result.stdout), result.stdout
    with sparql_server(graph, tmp_path) as url:
        result = cli(*common, "--kg", f"sparql:{url}", "--out", "served")
        assert result.returncode == 0, result.stderr
    one, two = load_intact(tmp_path / "kalma"), load_intact(tmp_path / "served")
    assert one.benchmark_hash == two.benchmark_hash


def test_questions_on_real_people_have_few_of_the_faults_that_a_reader_counts(
    cli: Cli, tmp_path: Path
) -> None:
    words = ("--pairs-from-kg", "spouse,father,child", "--keep-impossible", "--out", "k")
    result = cli(
        "build", "kalma", "--kg", f"file:{real_data() / 'biokalma' / 'people.nt.gz'}", *words
    )
    assert result.returncode == 0, result.stderr
    package = Package(tmp_path / "k")
    general, specific = (package.forms[f]["text"].to_pylist() for f in ("general", "specific"))
    facts: dict[str, list[Triple]] = {query: [] for query in package.query_ids}
    for row in package.gold.to_pylist():
        facts[row["query_id"]].append(from_row(row))
    assert len(specific) == len(set(specific)) == 91
    assert max(len(text.split()) for text in general) <= GENERAL_WORDS
    assert (
        sum(len(g.split()) >= len(s.split()) for g, s in zip(general, specific, strict=True)) <= 2
    )
    for text in (*general, *specific):
        clauses = re.split(r", (?:and )?", text.lower().rstrip("?"))
        assert len(clauses) == len(set(clauses)), text
    assert sum(bool(re.match(r"Who (?:is|was) .+ to ", text)) for text in specific) <= 91 / 3
    assert all(len({*a} & {*b}) < 3 for a, b in combinations(facts.values(), 2))
    stats = json.loads((tmp_path / "k" / "stats.json").read_text())
    assert stats["questions_with_uncounted_answers"] == 0
    # Questions of a writer that ask for nothing of their gold.
    vague = [
        QuestionToCheck(f"Who was {mine[0].name}?", tuple(mine), tuple(mine))
        for mine in facts.values()
    ]
    read = QuestionCheck(load_domain("people")).check(vague)
    refused = [f.find_fault(a) for a, f in zip(vague, read, strict=True)]
    assert sum(map(bool, refused)) >= 0.95 * 91


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
