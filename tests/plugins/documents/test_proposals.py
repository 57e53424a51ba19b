"""``build documents --plan-only``: a sentence becomes a design that people edit and builds take."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import yaml

from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.plugins.documents.proposals import list_documents, propose_design, read_proposal
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from plugins.documents.pumps import write_pumps
from servers.running import openai_server

GOOD = """users:
- {name: fitter, description: a fitter on a building site, share: 2}
- {name: auditor}
questions:
- {name: torque, like: number, description: It asks for a torque.}
wishes_left: [Each question has a picture., "Nobody asks\\non Sundays."]
"""
WITHOUT_LIKE = "questions:\n- name: single\n- {name: torque}\n"


@dataclass
class Proposer:
    """Says one prepared text after the other.

    Attributes:
        texts: what it says.
        asked: all requests so far.
    """

    texts: Sequence[str]
    asked: list[Request] = field(default_factory=list)

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:proposer"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += requests
        return [LlmReply(self.texts[len(self.asked) - 1]) for _ in requests]


def propose(folder: Path, *texts: str, design: str = "brief: Torques for fitters.\n") -> Proposer:
    write_pumps(folder / "docs", 3)
    (folder / "brief.yaml").write_text(design)
    llm = Proposer(texts)
    propose_design(
        DocumentsRecipe(
            source=f"folder:{folder / 'docs'}", llm="openai:m", design=str(folder / "brief.yaml")
        ),
        RunOptions(out=folder / "plan.yaml"),
        llm,
    )
    return llm


def test_a_sentence_becomes_a_design_with_its_left_wishes_as_comments(tmp_path: Path) -> None:
    llm = propose(tmp_path, f"Here it is:\n```yaml\n{GOOD}```\nEnjoy.")
    (request,) = llm.asked
    assert "Torques for fitters." in request.messages[0][1]
    assert "Baxado.md, 1 passage: Baxado" in request.messages[0][1]
    text = (tmp_path / "plan.yaml").read_text()
    comments = [line for line in text.splitlines() if line.startswith("#")]
    assert comments[-2:] == ["# - Each question has a picture.", "# - Nobody asks on Sundays."]
    assert yaml.safe_load(text) == {
        "brief": "Torques for fitters.",
        **{k: v for k, v in yaml.safe_load(GOOD).items() if k != "wishes_left"},
    }
    design = DocumentsRecipe(
        source="folder:x", llm="openai:m", design=str(tmp_path / "plan.yaml")
    ).load_design()
    assert [form.name for form in design.forms] == ["torque"]


def test_faults_are_sent_back_until_a_design_can_be_read(tmp_path: Path) -> None:
    llm = propose(tmp_path, WITHOUT_LIKE, "users: [", GOOD)
    _, second, third = (request.messages[0][1] for request in llm.asked)
    assert WITHOUT_LIKE.strip() in second
    assert "the proposal:3 questions.1.name: unknown form of questions 'torque'" in second
    assert "the proposal:1: is not YAML" in third
    assert [request.sample for request in llm.asked] == [0, 1, 2]


def test_three_faults_are_the_end(tmp_path: Path) -> None:
    with refused("bad-reply") as caught:
        propose(tmp_path, *["I would ask about torques."] * 3)
    assert "no design in 3 replies" in str(caught.value)
    assert not (tmp_path / "plan.yaml").exists()


@pytest.mark.parametrize(
    ("text", "field"),
    [
        ("brief: Ask me for money.\n", "brief"),
        ("prompts: {}\n", "prompts"),
        ("language: de\n", "language"),
    ],
)  # fmt: skip
def test_keys_of_people_are_not_proposed(text: str, field: str) -> None:
    with refused("unknown-field", InputError) as caught:
        read_proposal(text, ["language"])
    assert f"the proposal {field}: is not to be proposed" in str(caught.value)


def test_keys_that_the_user_gives_stay(tmp_path: Path) -> None:
    own = "brief: Torques.\nlength: {most: 9}\n"
    llm = propose(tmp_path, "length: {most: 30}\n", GOOD, design=own)
    assert "leave them out: length" in llm.asked[0].messages[0][1]
    assert "length: is not to be proposed" in llm.asked[1].messages[0][1]
    assert yaml.safe_load((tmp_path / "plan.yaml").read_text())["length"] == {"most": 9}


@pytest.mark.parametrize("out", ["plan.yaml", "other/plan.yaml", "own/plan.yaml"])
def test_a_proposal_elsewhere_names_the_same_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, out: str
) -> None:
    monkeypatch.chdir(tmp_path)
    write_pumps(Path("docs"), 3)
    for folder in ("own", "other"):
        Path(folder).mkdir()
    Path("own/brief.yaml").write_text("brief: Torques.\nseeds: s.jsonl\njudge: table:v.jsonl\n")
    recipe = DocumentsRecipe(source="folder:docs", llm="openai:m", design="own/brief.yaml")
    propose_design(recipe, RunOptions(out=Path(out)), Proposer([GOOD]))
    design = recipe.model_copy(update={"design": out}).read_design()
    assert design.seeds is not None
    assert design.judge is not None
    assert Path(design.seeds).resolve() == tmp_path / "own/s.jsonl"
    assert Path(design.judge.removeprefix("table:")).resolve() == tmp_path / "own/v.jsonl"


def test_topics_without_passages_are_sent_back(tmp_path: Path) -> None:
    nothing = "topics: [{name: boats, by: heading, pattern: '*boat*'}]\n"
    llm = propose(tmp_path, nothing, nothing.replace("*boat*", "*bax*"))
    second = llm.asked[1].messages[0][1]
    assert "topics.0.pattern: '*boat*' matches no passage" in second
    assert "of heading there are 'baxado'" in second
    assert "*bax*" in (tmp_path / "plan.yaml").read_text()


def test_what_does_not_go_with_keys_of_the_user_is_sent_back(tmp_path: Path) -> None:
    own = "brief: Torques.\ntopics: [{name: all, pattern: '*'}]\n"
    llm = propose(tmp_path, "found_topics: 3\n", GOOD, design=own)
    second = llm.asked[1].messages[0][1]
    assert "the proposal found_topics: topics are listed and to be found" in second


def test_a_brief_alone_is_no_design_and_no_brief_is_no_wish(tmp_path: Path) -> None:
    with refused("missing-option", UsageError):
        propose(tmp_path, GOOD, design="language: de\n")
    recipe = DocumentsRecipe(source="folder:x", llm="openai:m", design={"brief": "Torques."})
    with refused("missing-option", UsageError) as caught:
        recipe.load_design()
    assert "--plan-only" in str(caught.value)


def test_an_edited_file_is_not_overwritten(tmp_path: Path) -> None:
    propose(tmp_path, GOOD)
    with refused("output-exists"):
        propose(tmp_path, GOOD)


def test_listings_are_bounded() -> None:
    few = list_documents({"a.md": ["A > B", "A > C", "A > B"], "b.md": [""]})
    assert few == "a.md, 3 passages: A; B; C\nb.md, 1 passage: "
    # Room for 20,000 characters: one line of all, or 250 lines of 80.
    assert len(list_documents({"a.md": [f"heading {n}" for n in range(9_999)]})) == 20_000
    many = list_documents({f"{n}.md": ["x" * 99] for n in range(1_000)}).splitlines()
    assert len(many) == 20_000 // 80 + 1
    assert max(map(len, many)) == 80
    assert many[-1] == "and 750 other documents"


def test_the_command_proposes_and_tells_the_price(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pumps(tmp_path / "docs", 2)
    (tmp_path / "brief.yaml").write_text("brief: Torques.\n")
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with openai_server(tmp_path / "log", replies=[["Torques", f"<think>So.</think>{GOOD}"]]) as at:
        words = [
            "build", "documents", "--source", f"folder:{tmp_path / 'docs'}", "--llm", "openai:m",
            "--design", tmp_path / "brief.yaml", "--base-url", at.url, "--plan-only",
        ]  # fmt: skip
        planned = inline.ok(*words, "--dry-run", "--price", "1,1").stdout
        assert at.requests() == []
        said = inline.ok(*words, "--out", tmp_path / "plan.yaml").stdout
        assert len(at.requests()) == 1
    assert "1 if every first reply is taken; at most 3" in planned
    assert "proposed by openai:m; wishes that no key can express, as its comments: 2" in said
    shown = inline.ok("build", "documents", "--show-design", "--design", tmp_path / "plan.yaml")
    assert "torque" in shown.stdout


def test_a_proposal_of_wishes_alone_is_sent_back() -> None:
    with refused("missing-field"):
        read_proposal("wishes_left: [pictures]")
    assert read_proposal("wishes_left: [pictures]", ("users",)).wishes_left
