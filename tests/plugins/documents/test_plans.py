"""``build documents --dry-run``: what is announced bounds what is asked of each model."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.budget import RunPlan
from citeforge.plugins.documents.build import build_documents
from citeforge.plugins.documents.plan import plan_documents
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from plugins.documents.pumps import FormLlm, pump, write_pumps
from plugins.documents.village import ErringLlm, entails, write_documents
from servers.running import openai_server
from stand_ins import RuleJudge

ASKING = {"neighbours": 4, "closed_book": 1, "shown": 2}


@pytest.fixture(autouse=True)
def _set_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "key")


def recipe_of(folder: Path, **fields: Any) -> DocumentsRecipe:
    known = {
        "source": f"folder:{folder / 'docs'}", "llm": "openai:m", "n_queries": 3, "asking": ASKING,
        "design": {"questions": [{"name": "number"}]},
    }  # fmt: skip
    return DocumentsRecipe(**known | fields)


def part(plan: RunPlan, name: str) -> RunPlan:
    return next(part for who, part in plan.parts if name in who)


def inputs(log: list[dict[str, Any]]) -> list[list[str]]:
    return [request["input"] for request in log if "input" in request]


@pytest.mark.parametrize("stored", [False, True])
def test_embeddings_of_seeds_and_of_later_rounds_are_planned(tmp_path: Path, stored: bool) -> None:
    """A question copies a seed, so that there is a second round."""
    write_pumps(tmp_path / "docs", 8)
    seeds = [{"question": f"How much pressure has a {pump(n).name}?"} for n in (0, 1, 2, 3)]
    (tmp_path / "s.jsonl").write_text("".join(json.dumps(row) + "\n" for row in seeds))
    recipe = recipe_of(tmp_path, seeds=tmp_path / "s.jsonl", keep_seeds=True, embedder="openai:e")
    with openai_server(tmp_path / "log", replies=[]) as server:
        run = RunOptions(base_url=server.url, store=tmp_path / "s.db" if stored else None)
        plan = part(plan_documents(recipe, run), "embedding")
        run = run.model_copy(update={"out": tmp_path / "out"})
        build_documents(recipe, run, FormLlm(), JudgeSession(RuleJudge(entails)))
        asked = inputs(server.requests())
    # Passages; the first round; seeds, to find their evidence, then passages near them; all of
    # both, to mine negatives; cosines of all and of seeds, which a store has already.
    assert plan.about.calls == 1 + 1 + 2 + 1 + (0 if stored else 2)
    # Each of three questions may be written twice more, in a round of its own.
    assert plan.most.calls == plan.about.calls + 2 * 3
    assert len(asked) > 1 + 1 + 2 + 1
    assert len(asked) <= plan.most.calls
    assert sum(len(text) + 8 for texts in asked for text in texts) <= plan.most.prompt_tokens


def test_the_search_for_the_other_passage_of_a_pair_is_planned(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 12)
    shares = {"single": 1, "pair": 1, "lists": 0, "absent": 0}
    recipe = recipe_of(tmp_path, design=None, shares=shares, n_queries=6, embedder="openai:e")
    with openai_server(tmp_path / "log", replies=[]) as server:
        run = RunOptions(base_url=server.url)
        plan = part(plan_documents(recipe, run), "embedding")
        build_documents(
            recipe, run.model_copy(update={"out": tmp_path / "out"}), ErringLlm(),
            JudgeSession(RuleJudge(entails)),
        )  # fmt: skip
        asked = inputs(server.requests())
    # Passages, other passages of 3 pairs, the first round, and twice all accepted ones.
    assert plan.about.calls == 1 + 1 + 1 + 2
    assert plan.most.calls == 5 + 2 * (3 + 6)
    assert 5 < len(asked) <= plan.most.calls
    assert sum(len(text) + 8 for texts in asked for text in texts) <= plan.most.prompt_tokens


def test_checks_of_edited_questions_are_planned(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    sheet = tmp_path / "sheet.csv"
    sheet.write_text("item,form,label\na,number,keep\nb,number,Edit\nc,seed,edit\nd,number,\n")
    key = tmp_path / "sheet.csv.key.json"
    with refused("missing-file", path=key):
        plan_documents(recipe_of(tmp_path, decided_questions=sheet), RunOptions())
    key.write_text('{"task": "questions", "items": {}}')
    plain, edited = (
        plan_documents(recipe_of(tmp_path, decided_questions=path), RunOptions())
        for path in (None, sheet)
    )
    # Each: with the evidence, by heart, with four other passages alone, with two together.
    assert edited.about.calls == plain.about.calls + 2 * (1 + 1 + 4 + 1)


def test_models_that_cost_nothing_are_left_out_of_the_plan(inline: Inline, tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    words = (
        "build", "documents", "--source", f"folder:{tmp_path / 'docs'}", "--llm", "offline",
        "--queries", 2, "--pair", 0, "--list", 0, "--absent", 0, "--neighbours", 3, "--shown", 2,
        "--dry-run", "--price", "1,1",
    )  # fmt: skip
    planned = inline.ok(*words, "--checker", "openai:reads").stdout
    # Each of two: with the evidence, by heart three times, in three others, in two together.
    assert f"calls to make      {2 * (1 + 3 + 3 + 1)} if" in planned
    # Passages, the first round, and all of them twice.
    planned = inline.ok(*words, "--embedder", "openai:e").stdout
    assert f"calls to make      {1 + 1 + 2} if" in planned
    inline.fails(2, "option-without-effect", *words)
    for more in ((), ("--dry-run",)):
        line = (*words, *more, "--out", "new", "--checker", "opnai:reads")
        stderr = inline.fails(2, "unknown-name", *line).stderr
        assert "--checker 'opnai:reads' (did you mean 'openai'?)" in stderr


def test_a_plan_says_for_how_many_questions_there_are_passages(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    (tmp_path / "docs" / "short.md").write_text("The Baxado pump is blue.")
    for n, notes in (
        (8, []),
        (9, ["passages for 8 of 9 questions: each is asked about once, and 1 of less than 120 "
             "characters are not"]),
    ):  # fmt: skip
        plan = plan_documents(recipe_of(tmp_path, n_queries=n), RunOptions())
        assert [note for note in plan.notes if "questions" in note] == notes
