"""A whole design, from its file to the sheet of a person and back, with served models.

Three users, six forms, one of them in another language, and seeds with and without answers.
"""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.plugins.documents.plan import plan_documents
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline
from plugins.documents.pumps import pump, write_pumps
from plugins.documents.served_pumps import embed, speak
from servers.running import Running, openai_server

FORMS = ("time", "definition", "yes/no", "search-like", "false premise", "Zahl")
DESIGN: dict[str, Any] = {
    "users": [
        {"name": "newcomer", "share": 2},
        {"name": "auditor"},
        {"name": "fitter", "description": "a fitter on a building site"},
    ],
    "questions": [
        *({"name": form} for form in FORMS[:-1]),
        {"name": "Zahl", "like": "number", "language": "de", "length": {"most": 12}},
    ],
    "judge": "openai:good",
    "embedder": "openai:letters",
    "seeds": "seeds.jsonl",
}
SEEDS = [
    {"question": f"How much pressure has a {pump(0).name}?"},
    {"question": f"How much pressure has a {pump(1).name}?", "answers": ["304 psi", "21 bar"]},
    {"question": f"How much pressure has a {pump(2).name}?", "answers": ["99 bar"]},  # wrong
]
WANTED = 12
ASKING = {"neighbours": 3, "closed_book": 1, "shown": 2}


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Running]:
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    write_pumps(tmp_path / "docs", 18)
    (tmp_path / "seeds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in SEEDS))
    with openai_server(tmp_path / "log", speak=speak, embed=embed) as server:
        yield server


def words(folder: Path, server: Running, writer: str, *more: object) -> list[object]:
    path = folder / f"{writer}.yaml"
    path.write_text(yaml.safe_dump(DESIGN | {"writer": f"openai:{writer}"}, allow_unicode=True))
    return [
        "build", "documents", "--source", "folder:docs", "--design", path, "--keep-seeds",
        "--queries", WANTED, "--neighbours", 3, "--closed-book", 1, "--shown", 2,
        "--base-url", server.url, *more,
    ]  # fmt: skip


def mix(folder: Path, axis: str) -> dict[str, tuple[str, float, float, float]]:
    """Name to its share as made, its interval, and the declared share in per cent."""
    pattern = re.compile(r"(.*) \(\S+ % \[(\S+), (\S+)\]\); declared (\S+) %")
    found = {}
    for key, text in read_stats(folder).items():
        if key.startswith(f"mix_of_{axis}["):
            match = pattern.match(str(text))
            assert match
            low, high, declared = map(float, match.groups()[1:])
            found[key.partition("[")[2][:-1]] = (match[1], low, high, declared)
    return found


@pytest.mark.parametrize("writer", ["good", "thinking"])
def test_the_declared_mix_is_made_within_the_bill(
    inline: Inline, tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch, writer: str
) -> None:
    monkeypatch.chdir(tmp_path)
    line = words(tmp_path, server, writer)
    assert inline.ok(*line, "--dry-run", "--price", "1,1").returncode == 0
    design = yaml.safe_load((tmp_path / f"{writer}.yaml").read_text())
    recipe = DocumentsRecipe(source="folder:docs", design=design, keep_seeds=True,
                             n_queries=WANTED, asking=ASKING)  # fmt: skip
    plan = plan_documents(recipe, RunOptions(base_url=server.url))
    assert not server.requests()
    inline.ok(*line, "--out", "out")
    out, asked = tmp_path / "out", server.requests()
    models = Counter(request["model"] for request in asked)
    n_written = sum("Now one exam question" in str(request["text"]) for request in asked)
    assert n_written == WANTED  # each first question is accepted
    assert plan.about.calls * 0.8 <= len(asked) <= plan.most.calls
    assert set(models) == {writer, "good", "letters"}
    # Six forms of equal shares, users of shares 2, 1 and 1: 12 / 6, 12 / 2 and 12 / 4.
    forms, users = mix(out, "form"), mix(out, "user")
    assert {name: row[0] for name, row in forms.items()} == dict.fromkeys(FORMS, "2 of 12")
    assert {name: row[0] for name, row in users.items()} == {
        "newcomer": "6 of 12", "auditor": "3 of 12", "fitter": "3 of 12"
    }  # fmt: skip
    assert all(low <= declared <= high for _, low, high, declared in [
        *forms.values(), *users.values()])  # fmt: skip
    package = Package(out)
    rows = {r["_id"]: r for r in package.table("questions", "questions").to_pylist()}
    assert [rows[f"seed{n}"]["check"] for n in (1, 2, 3)] == [None, None, "seed without evidence"]
    assert all("Welchen Druck" in r["question"] for r in rows.values() if r["form"] == "Zahl")
    assert sum("Druck" in r["question"] for r in rows.values()) == 2
    config = package.manifest.config
    named = (config["llm"], config["judging"]["judge"], config["embedder"], config["seeds"])
    assert named == (f"openai:{writer}", "openai:good", "openai:letters", "seeds.jsonl")
    assert config["design"]["questions"][-1]["language"] == "de"
    assert not {"writer", "judge", "embedder", "seeds"} & config["design"].keys()
    inline.ok("verify", "out")


def test_the_sheet_of_a_design_goes_round(
    inline: Inline, tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = words(tmp_path, server, "good")
    inline.ok(*line, "--out", "out")
    n = len(server.requests())
    inline.ok("labels", "export", "--task", "questions", "--benchmark", "out", "--out", "s.csv")
    with (tmp_path / "s.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert Counter(row["form"] for row in rows) == {**dict.fromkeys(FORMS, 2), "seed": 2}
    rows.sort(key=lambda row: (row["form"], row["item"]))
    for row in rows:
        row["label"] = "keep"
    german, other = [row for row in rows if row["form"] == "Zahl"]
    name = re.findall(r"Pumpe (\w+)", german["question"])[0]
    text = f"Mit welchem Druck wird die Pumpe {name} sonst gefahren?"
    german |= {"label": "edit", "new_question": text}
    other |= {"label": "drop", "why": "asked twice"}
    with (tmp_path / "s.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    design = yaml.safe_load((tmp_path / "good.yaml").read_text())
    recipe = DocumentsRecipe(source="folder:docs", design=design, keep_seeds=True,
                             n_queries=WANTED, asking=ASKING,
                             decided_questions=tmp_path / "s.csv")  # fmt: skip
    plans = [
        plan_documents(recipe, RunOptions(base_url=server.url, store=store))
        for store in (tmp_path / "out.replay.db", tmp_path / "no.replay.db")
    ]
    # Both embed passages and questions in 6 calls. With the replies of the first build the LLM and
    # the judge are asked about the edited question alone: it is read with its evidence, by heart,
    # in two others alone and together, and judged with its evidence and three others.
    about = [{who.partition(" ")[0]: part.about.calls for who, part in p.parts} for p in plans]
    assert about[0] == {"LLM": 1 + 1 + 2 + 1, "judge": 1 + 3, "embedding": 6}
    assert about[1]["LLM"] > WANTED * 5
    assert about[1]["judge"] > WANTED
    assert [any("edited ones alone" in n for n in p.notes) for p in plans] == [True, False]
    assert plans[0].most.calls >= about[1]["LLM"] + about[1]["judge"]
    assert len(server.requests()) == n
    inline.ok(*line, "--out", "kept", "--decided-questions", "s.csv", "--store", "out.replay.db")
    package = Package(tmp_path / "kept")
    assert len(package.query_ids) == len(rows) - 1
    assert text in package.queries["text"].to_pylist()
    stats = read_stats(package.folder)
    assert str(stats["kept_by_people[Zahl]"]).startswith("1 of 2 (50.0 % [9.5, 90.5])")
    assert str(stats["kept_by_people[time]"]).startswith("2 of 2 (100.0 %")
    # The edited question is read with its evidence, by heart, in two or three others alone and
    # together, and judged with its evidence and three others; vectors of it and of the queries.
    assert 0 < len(server.requests()) - n <= 1 + 1 + 3 + 1 + 4 + 4


def test_lazy_models_are_found_out(
    inline: Inline, tmp_path: Path, server: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    line = words(tmp_path, server, "lazy", "--tries", 2)
    # Seeds are answered by a lazy writer, too: it reads as well as the others.
    ran = inline.fails(3, "counted-failures", *line, "--out", "out")
    assert "fewer questions than were asked for" in ran.stderr
    package = Package(tmp_path / "out")
    assert package.query_ids == ["seed1", "seed2"]
    counts = package.manifest.counts
    assert {f: counts[f"questions_not_made[{f}]"] for f in FORMS} == dict.fromkeys(FORMS, 2)
    assert all("2 missing, rejected by: " in str(text)
               for key, text in read_stats(package.folder).items()
               if key.startswith("mix_of_form["))  # fmt: skip
    line.remove("--keep-seeds")
    inline.fails(1, "no-queries", *line, "--out", "none")
    assert (tmp_path / "none.questions.jsonl").exists()
