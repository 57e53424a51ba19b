"""Wishes and models of a design: those of a form, a user and the whole; those of options."""

from pathlib import Path

import pytest
import yaml

from citeforge.builders.rebuild import list_resources
from citeforge.plugins.documents.checks import check_text, is_language_clear
from citeforge.plugins.documents.design import SEED, Design, Form
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Evidence, Question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.wishes import Length, Terms, Wishes
from citeforge.schemas.errors import UsageError
from conftest import Inline
from stand_ins import RuleLlm

DESIGN = Design.model_validate(
    {
        "users": [
            {"name": "expert", "difficulty": "hard", "length": {"least": 4}},
            {"name": "newcomer", "terms": {"avoid": ["weir"]}},
        ],
        "questions": [
            {"name": "single", "language": "de", "terms": {"keep": ["Heron Lock"]}},
            {"name": "search-like", "length": {"most": 5}},
        ],
        "language": "fr",
        "length": {"most": 30},
        "terms": {"keep": ["Otter Weir"]},
    }
)
EXPERT, NEWCOMER = DESIGN.users
SINGLE, SEARCH = DESIGN.forms


def test_wishes_of_a_form_come_before_those_of_a_user_and_of_all() -> None:
    assert QuestionSpec(SINGLE, EXPERT).merge_wishes(DESIGN) == Wishes(
        language="de", length=Length(least=4), difficulty="hard",
        terms=Terms(keep=("Heron Lock", "Otter Weir")),
    )  # fmt: skip
    assert QuestionSpec(SEARCH, NEWCOMER).merge_wishes(DESIGN) == Wishes(
        language="fr", length=Length(most=5), terms=Terms(keep=("Otter Weir",), avoid=("weir",))
    )
    assert QuestionSpec(SEARCH).merge_wishes(DESIGN).length == Length(most=5)
    assert QuestionSpec(Form(name=SEED, base="single"), EXPERT).merge_wishes(DESIGN) == Wishes()


def test_the_writer_is_told_the_wishes_of_the_cell() -> None:
    prompted_llm = PromptedLlm(RuleLlm(lambda _: ""), DESIGN)
    passages = (Evidence("a", "Heron Lock", "Ada kept Heron Lock."),)
    prompts = {
        form.name: prompted_llm.to_write(
            Question("q1", QuestionSpec(form, user), passages)
        ).messages[-1][1]
        for form, user in ((SINGLE, EXPERT), (SEARCH, NEWCOMER))
    }
    assert "with the code de;" in prompts["single"]
    assert "has 4 to 40 words." in prompts["single"]
    assert "exactly so: Heron Lock; Otter Weir." in prompts["single"]
    assert "with the code fr;" in prompts["search-like"]
    assert "has 1 to 5 words." in prompts["search-like"]
    assert "Do not use these terms: weir." in prompts["search-like"]


@pytest.mark.parametrize(
    ("spec", "check"),
    [
        (QuestionSpec(SEARCH, NEWCOMER), "length"),  # nine words, of at most five
        (QuestionSpec(SINGLE, NEWCOMER), "terms"),  # weir
        (QuestionSpec(SINGLE, EXPERT), ""),
        (QuestionSpec(Form(name=SEED, base="single"), NEWCOMER), ""),
    ],
)
def test_questions_are_checked_by_the_wishes_of_their_cell(spec: QuestionSpec, check: str) -> None:
    design = DESIGN.model_copy(update={"language": None})
    form = spec.form.model_copy(
        update={"check": "", "wishes": spec.form.wishes.model_copy(update={"language": None})}
    )
    question = Question(
        "q1", QuestionSpec(form, spec.user), (Evidence("a", "", "Ada kept the weir at Ystad."),),
        "By whom was the weir in that town kept?", ["Ada"], "The weir was kept by Ada.",
        ["Ada kept the weir"],
    )  # fmt: skip
    check_text(question, 7, design)
    assert question.check == check, question.reason


GERMAN = "Die Gartenpumpe wiegt 12 Kilogramm, und im Winter wird sie von Ada abgebaut."
ENGLISH = "The garden pump weighs 12 kilograms, and in winter it is taken down by Ada."


@pytest.mark.parametrize(
    ("text", "statement", "passage", "language", "reason"),
    [
        ("How heavy is the Nila 9?", "The Nila 9 is 12 kilograms.", GERMAN, "de",
         "is en; wanted: de"),
        ("How heavy is the Nila 9?", "The Nila 9 is 12 kilograms.", ENGLISH, "de",
         "is en; wanted: de"),
        ("How heavy is the Nila 9?", "The Nila 9 is 12 kilograms.", GERMAN, None,
         "is en; the passage is de"),
        ("Wie schwer ist die Nila 9?", "The Nila 9 is 12 kilograms.", GERMAN, "de",
         "is en; wanted: de"),
        ("Wie schwer ist die Nila 9?", "Die Nila 9 wiegt 12 kilograms.", GERMAN, None, ""),
        ("Wie schwer ist die Nila 9?", "Die Nila 9 wiegt 12 kilograms.", ENGLISH, "de", ""),
        ("How heavy is the Nila 9?", "The Nila 9 is 12 kilograms.", GERMAN, "en", ""),
        ("Nila 9?", "Nila 9: 12 kilograms.", GERMAN, "de", ""),
    ],
)  # fmt: skip
def test_short_questions_in_another_language_are_rejected(
    text: str, statement: str, passage: str, language: str | None, reason: str
) -> None:
    form = Form(name="own", base="single", wishes=Wishes(language=language))
    question = Question(
        "q1", QuestionSpec(form), (Evidence("a", "Nila 9", passage),), text, ["12"], statement,
        ["12"],
    )  # fmt: skip
    check_text(question, 7, Design())
    assert question.reason == reason


def test_questions_whose_language_is_not_clear_are_counted() -> None:
    def is_clear(text: str, name: str = "own") -> bool:
        spec = QuestionSpec(Form(name=name, base="single", wishes=Wishes(language="de")))
        question = Question("q1", spec, (Evidence("a", "", ENGLISH),), text)
        return is_language_clear(question, Design())

    assert [is_clear("Wie schwer ist die Nila 9?"), is_clear("Nila 9?")] == [True, False]
    assert is_clear("Nila 9?", SEED)  # a user's own: not checked


def test_models_of_options_come_before_those_of_the_design(inline: Inline, tmp_path: Path) -> None:
    named = {"writer": "openai:w", "checker": "openai:c", "judge": "lexical", "embedder": "e",
             "seeds": "s.jsonl"}  # fmt: skip
    (tmp_path / "d.yaml").write_text(yaml.safe_dump(named))
    line = ("build", "documents", "--show-design", "--design", tmp_path / "d.yaml")
    options = ("--llm", "openai:o", "--judge", "hf:j", "--embedder", "offline", "--keep-seeds")
    given = {"writer": "openai:o", "judge": "hf:j", "embedder": "offline"}
    for more, changed in ((), {}), (options, given):
        shown = yaml.safe_load(inline.ok(*line, *more).stdout)
        beside = {"seeds": str(tmp_path / "s.jsonl")}
        assert {key: shown[key] for key in named} == named | beside | changed
    shown = yaml.safe_load(inline.ok("build", "documents", "--show-design").stdout)
    assert [shown[key] for key in named] == [None, None, None, "offline", None]


def test_a_writer_is_needed(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "d.yaml").write_text("language: de\n")
    line = ("build", "documents", "--source", f"folder:{tmp_path / 'docs'}", "--out", "out")
    for more in ((), ("--dry-run",), ("--design", tmp_path / "d.yaml")):
        assert "--llm" in inline.fails(2, "missing-option", *line, *more).stderr
    more = ("--design", tmp_path / "d.yaml", "--llm", "offline", "--keep-seeds")
    assert "--seeds" in inline.fails(2, "bad-option", *line, *more).stderr


def test_models_inside_a_recipe_are_named_before_they_are_used() -> None:
    design = {"writer": "openai:w", "seeds": "/home/me/s.jsonl", "language": "de"}
    recipe = DocumentsRecipe(source="folder:x", design=design)
    assert list_resources(recipe)[-2:] == ["--llm openai:w", "--seeds /home/me/s.jsonl"]
    recorded = recipe.recorded_design()
    assert recorded is not None
    assert recorded["language"] == "de"
    assert not {"writer", "seeds"} & recorded.keys()
    with pytest.raises(UsageError, match="--llm"):
        _ = recipe.writer
    assert recipe.with_design_inputs().writer == "openai:w"


@pytest.mark.parametrize(
    ("key", "name", "option"),
    [
        ("writer", "exec:python3 evil.py", "--llm"),
        ("checker", "exec:python3 evil.py", "--checker"),
        ("writer", "http://me:password@other.example/ask", "--llm"),
        ("checker", "https://other.example/ask", "--checker"),
    ],
)
def test_a_design_starts_no_program(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, key: str, name: str,
    option: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    Path("docs").mkdir()
    Path("docs/a.txt").write_text("The weir at Ystad was kept by Ada. " * 20)
    Path("evil.py").write_text("open('was_run', 'w')\nprint('Yes.')\n")
    design = {"brief": "Locks.", "language": "en", key: name}
    Path("d.yaml").write_text(yaml.safe_dump(design, sort_keys=False))
    given = {"writer": ("--llm", "openai:m"), "checker": ("--checker", "openai:m")}
    other = given["checker" if key == "writer" else "writer"]
    line = ("build", "documents", "--source", "folder:docs", "--design", "d.yaml", *other)
    for more in ((), ("--dry-run",), ("--plan-only",)):
        stderr = inline.fails(1, "wrong-value", *line, "--out", "out.yaml", *more).stderr
        assert f"d.yaml:3 {key}: " in stderr
        assert option in stderr
        assert "password" not in stderr
    assert not Path("was_run").exists()
    shown = inline.ok("build", "documents", "--show-design", "--design", "d.yaml", *given[key])
    assert yaml.safe_load(shown.stdout)[key] == "openai:m"
    Path("r.yaml").write_text("kind: documents\nsource: folder:docs\ndesign: d.yaml\n")
    stderr = inline.fails(2, "untrusted", "build", "r.yaml", "--out", "out").stderr
    assert f"{option} {name}" in stderr


def test_files_of_a_design_are_looked_for_beside_it(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    named = {"writer": "replay:r.db", "checker": "openai:./c", "judge": "table:verdicts.jsonl",
             "embedder": "./model", "seeds": "seeds.jsonl"}  # fmt: skip
    Path("sub/d.yaml").write_text(yaml.safe_dump(named))
    line = ("build", "documents", "--show-design", "--design", "sub/d.yaml")
    shown = yaml.safe_load(inline.ok(*line).stdout)
    assert {key: shown[key] for key in named} == {
        "writer": "replay:sub/r.db", "checker": "openai:sub/c",
        "judge": "table:sub/verdicts.jsonl", "embedder": "sub/model", "seeds": "sub/seeds.jsonl",
    }  # fmt: skip
    inside = DocumentsRecipe(source="folder:x", design=dict(named)).with_design_inputs()
    assert (inside.embedder, inside.seeds) == ("./model", Path("seeds.jsonl"))
