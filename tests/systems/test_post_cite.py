"""Citations found afterwards, and packages whose candidates are frozen."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.alce.build import build_retrieved
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.plugins.published_systems import alce_options as o
from citeforge.schemas.recipes.base import RunOptions
from citeforge.systems.system_options import EditedOptions
from conftest import run_options, write_beir
from servers.endpoint import Endpoint
from servers.running import openai_server

PASSAGES = {
    "old": "The old bridge of 1831 was sold.",
    "new": "The new bridge opened in 1973.",
    "ship": "A ship sank in 1912.",
}
QUESTION = {
    "sample_id": "b",
    "question": "When did the old bridge open?",
    "qa_pairs": [{"question": "when?", "short_answers": ["1831"]}],
}


@pytest.fixture
def frozen(tmp_path: Path, endpoint: Endpoint) -> Endpoint:
    """One question over a corpus, with the oracle's passage and short versions."""
    (tmp_path / "q.json").write_text(json.dumps([QUESTION]))
    corpus = write_beir(tmp_path / "c", PASSAGES, {"q": "x"}, [("q", "old", 1)])
    recipe = cf.AlceRecipe.model_validate({
        "source": f"alce:{tmp_path / 'q.json'}", "corpus": f"beir:{corpus}", "k": 1,
        "writing": {"llm": "openai:m", "condense": "summary", "condense_k": 2},
    })  # fmt: skip
    replies = [["The old bridge", "Sold; of 1831."], [".", "irrelevant"]]
    with openai_server(tmp_path / "log", replies=replies) as server:
        llm = OpenAiLlm("m", None, RunOptions(base_url=server.url))
        build_retrieved(recipe, run_options(tmp_path / "alce"), llm)
    endpoint.benchmark = cf.load(tmp_path / "alce")
    return endpoint


def test_post_cite_chooses_among_the_candidates(frozen: Endpoint) -> None:
    pool = {r.docid for r in next(iter(frozen.benchmark.candidates().values()))}
    assert len(pool) > 1
    said = f"{PASSAGES['new']} {PASSAGES['old']} {PASSAGES['new']}"
    options = o.ShotOptions(shots=0, post_cite=True)
    _, [row], _ = frozen("closed-book", [[".", said]], options, contexts=["top1"])
    # Numbers count what was chosen, in the order of the first statement that it was chosen for.
    assert [p["docid"] for p in row["passages"]] == ["new", "old"]
    marks = re.findall(r"\[(\d+)\]", row["output"])
    assert marks[0] == marks[-1] == "1" and set(marks) == {"1", "2"}
    frozen.accepted(("Length",), context="own")
    plain = o.ShotOptions(shots=0)
    _, [row], _ = frozen("closed-book", [[".", said]], plain, contexts=["top1"])
    assert "passages" not in row  # nothing was to be chosen


def test_what_was_shown_keeps_its_numbers_and_candidates_follow(frozen: Endpoint) -> None:
    [first] = [p.id for p in next(iter(frozen.benchmark.items("top1"))).passages]
    other = "new" if first == "old" else "old"
    said = f"{PASSAGES[other]} It is so [1]. {PASSAGES[other]} Invented [2]. {PASSAGES[first]}"
    options = o.AlceOptions(shots=0, post_cite=True)
    ran, [row], _ = frozen("vanilla", [[".", said]], options, contexts=["top1"])
    assert [p["docid"] for p in row["passages"]] == [first, other]
    # A number that counted nothing does not come to count what was added.
    marks = re.findall(r"\[(\d+)\]", row["output"])
    beyond = str(2 + len(frozen.benchmark.candidates()["b"]))
    assert marks == ["2", "1", "2", beyond, "1"]
    assert ran.counts["statements_cited_afterwards"] == 3
    frozen.accepted(("Length",), context="own")
    alone = o.AlceOptions(shots=0, post_cite=True, post_cite_over="context")
    _, [row], _ = frozen("vanilla", [[".", said]], alone, contexts=["top1"])
    assert "passages" not in row
    assert re.findall(r"\[(\d+)\]", row["output"]) == ["1", "1", "1", "2", "1"]
    frozen.accepted(("Length",), context="top1")


@pytest.mark.parametrize(
    ("system", "options", "replies"),
    [
        ("rage", EditedOptions(post_cite=True), [[".", "S."]]),
        ("oracle", o.AlceOptions(shots=0, post_cite=True), [[".", "S."]]),
        ("summ", o.CondensedOptions(shots=0, post_cite=True), [["short|Short", "X."], [".", "S."]]),
        (
            "interact",
            o.InteractOptions(shots=0, post_cite=True),
            [["Output: S.", "End"], ["step", "Output: S."], [".", "X."]],
        ),
        (
            "inline-search",
            o.SearchOptions(shots=0, post_cite=True),
            [["Output: S.", "End"], [".", "Output: S."]],
        ),
    ],
)
def test_every_edited_system_may_be_cited_from_the_candidates(
    frozen: Endpoint, system: str, options: Any, replies: list[list[str]]
) -> None:
    context = {"oracle": "oracle", "summ": "summary", "interact": "summary"}.get(system, "top1")
    ran, [row], _ = frozen(system, replies, options, contexts=[context])
    assert re.fullmatch(r"S \[\d\]\.", row["output"]), row
    assert ran.counts["statements_cited_afterwards"] == 1
    assert row["passages"]
    frozen.accepted(("Length",), context="own")


def test_oracle_is_shown_what_holds_the_answer(frozen: Endpoint) -> None:
    _, [row], [prompt] = frozen("oracle", [[".", "In 1831 [1]."]], None, contexts=[])
    assert PASSAGES["old"] in prompt
    assert PASSAGES["new"] not in prompt
    assert (row["context"], row["output"]) == ("oracle", "In 1831 [1].")
    frozen.accepted(("ALCE.StrEM",), "oracle")


def test_short_versions_of_the_package_are_not_asked_for_again(frozen: Endpoint) -> None:
    ran, _, [prompt] = frozen("summ", [[".", "In 1831 [1]."]], None, contexts=["summary"])
    assert "Sold; of 1831." in prompt
    assert not any(text in prompt for text in PASSAGES.values())
    assert ran.counts["short_versions_of_the_package"] == 1
    frozen.accepted(("ALCE.StrEM",), "summary")
