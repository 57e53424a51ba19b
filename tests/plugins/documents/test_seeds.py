"""``build documents --seeds``: examples that are never copied, and packaged if that is asked."""

import json
from pathlib import Path

import pytest

from citeforge.engines.judge.session import JudgeSession
from citeforge.package.fields import read_fields
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.plugins.documents.build import build_documents
from citeforge.plugins.documents.checks import reject_seed_copies
from citeforge.plugins.documents.design import built_in_forms
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Question, is_answered
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.seeds import read_seeds
from conftest import Inline, refused
from plugins.documents.builds import served_words
from plugins.documents.pumps import FormLlm, pump, write_pumps
from plugins.documents.village import entails
from stand_ins import RuleJudge

OWN = [
    {"question": f"How much pressure has a {pump(0).name}?"},
    {
        "question": f"How much pressure has a {pump(1).name}?",
        "answers": ["304 psi", "21 bar", "2.1 MPa"],
    },
    {"question": f"How much pressure has a {pump(2).name}?", "answers": ["99 bar"]},  # wrong
    {"question": "Who won the cup in the end?"},
]


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> tuple[Package, FormLlm]:
    folder = tmp_path_factory.mktemp("seeds")
    write_pumps(folder / "docs", 8)
    (folder / "seeds.jsonl").write_text("".join(json.dumps(row) + "\n" for row in OWN))
    llm = FormLlm()
    recipe = DocumentsRecipe(
        source=f"folder:{folder / 'docs'}", llm="openai:forms", embedder="openai:words",
        design={"questions": [{"name": "number"}]}, seeds=folder / "seeds.jsonl", n_queries=5,
        keep_seeds=True, asking={"neighbours": 5, "closed_book": 1, "shown": 3},
    )  # fmt: skip
    with served_words(folder / "out") as run:
        build_documents(recipe, run, llm, JudgeSession(RuleJudge(entails)))
    return Package(folder / "out"), llm


def test_no_question_copies_a_seed(asked: tuple[Package, FormLlm]) -> None:
    package, llm = asked
    rows = package.table("questions", "questions").to_pylist()
    written = [r for r in rows if r["form"] == "number"]
    copied = {r["evidence"][0].partition(".")[0] for r in written if r["check"] == "copy of a seed"}
    # Eight pumps: questions about three of them copy a seed, and five are left.
    assert copied == {pump(n).name for n in range(3)}
    assert sum(r["accepted"] for r in written) == 5
    prompts = [r.messages[-1][1] for r in llm.asked if r.task == "question"]
    assert all("repeat none of them" in one and OWN[0]["question"] in one for one in prompts)


def test_seeds_get_evidence_and_are_packaged(asked: tuple[Package, FormLlm]) -> None:
    package, _ = asked
    rows = {r["_id"]: r for r in package.table("questions", "questions").to_pylist()}
    seeds = [rows[f"seed{n}"] for n in range(1, 5)]
    assert [r["check"] for r in seeds] == [None, None, *["seed without evidence"] * 2]
    assert [r["evidence"] for r in seeds[:2]] == [[f"{pump(n).name}.md#1"] for n in range(2)]
    assert [r["answers"] for r in seeds[:2]] == [["20 bar"], ["21 bar"]]
    assert read_fields(package.queries)["form"] == ["number"] * 5 + ["seed"] * 2
    # The user's other answers are right, too.
    aliases = {
        row["query_id"]: row["aliases"]
        for row in package.gold.to_pylist()
        if row["kind"] == "qa_pair" and row["query_id"].startswith("seed")
    }
    assert aliases == {"seed1": ["20 bar"], "seed2": ["21 bar", "304 psi", "2.1 MPa"]}
    stats = read_stats(package.folder)
    assert stats["mix_of_form[number]"] == "5 of 5 (100.0 % [56.6, 100.0]); declared 100.0 %"
    assert stats["distinct_openers[seeds]"] == 2  # how much pressure, who won the
    assert len(package.manifest.config["seeds_sha256"]) == 64


def test_a_copy_has_nearly_the_words_of_a_seed() -> None:
    spec = QuestionSpec(built_in_forms()["single"])
    texts = ["Who built the old lock?", "who built the old lock", "When was the lock built?"]
    questions = [Question(f"q{n}", spec, (), text) for n, text in enumerate(texts)]
    reject_seed_copies(questions, ["Who built the old lock?"])
    assert [q.check for q in questions] == ["copy of a seed", "copy of a seed", ""]


def test_a_reader_may_give_any_of_the_known_answers() -> None:
    spec = QuestionSpec(built_in_forms()["single"])
    seed = Question("seed1", spec, (), "Where?", ["New York City"], aliases=["NYC", "Gotham"])
    right = {r: is_answered(seed, r) for r in ("New York City.", "In NYC", "Gotham", "York", "")}
    assert right == {
        "New York City.": True,
        "In NYC": True,
        "Gotham": True,
        "York": False,
        "": False,
    }


def test_wrong_seeds_are_named(inline: Inline, tmp_path: Path) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text('{"question": "Who?"}\n{"question": " "}\n')
    with refused("empty-text", path=path, line=2, field="question"):
        read_seeds(path)
    path.write_text("")
    with refused("no-queries", path=path):
        read_seeds(path)
    words = ("build", "documents", "--source", "folder:x", "--llm", "openai:m", "--keep-seeds")
    inline.fails(2, "bad-option", *words, "--out", tmp_path / "out")
