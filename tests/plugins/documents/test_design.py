"""``build documents --design``: the questions that were asked for are the ones that are made."""

import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from citeforge import load
from citeforge.builders.rebuild import list_resources
from citeforge.engines.judge.session import JudgeSession
from citeforge.package.fields import read_fields
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.plugins.documents.build import build_documents
from citeforge.plugins.documents.checks import check_text
from citeforge.plugins.documents.design import Design, built_in_forms
from citeforge.plugins.documents.form_rules import find_form_fault
from citeforge.plugins.documents.outcome import design_stats, mean_pairwise_cosine, mix_stats
from citeforge.plugins.documents.question_specs import QuestionSpec, apportion, draw_specs
from citeforge.plugins.documents.questions import Evidence, Question, read_question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from conftest import Inline, refused
from plugins.documents.builds import served_words
from plugins.documents.pumps import FormLlm, write_pumps
from plugins.documents.served_pumps import embed
from plugins.documents.village import N, entails, replies, write_documents
from servers.running import openai_server
from stand_ins import RuleJudge

FORMS = (
    "number", "time", "definition", "yes/no", "procedure", "search-like", "misspelled",
    "false premise",
)  # fmt: skip
DESIGN = {
    "users": [
        {"name": "newcomer", "share": 2},
        {"name": "expert"},
        {"name": "fitter", "description": "a fitter on a building site"},
    ],
    "questions": [{"name": form} for form in FORMS],
}


Rule = Callable[[str, str], bool]


def make(
    folder: Path, llm: FormLlm, design: Any, n: int, rule: Rule = entails, **recipe: Any
) -> Package:
    (folder / "design.yaml").write_text(yaml.safe_dump(design))
    asking = {"neighbours": 5, "closed_book": 1, "shown": 2}
    known = {"asking": asking, "embedder": "openai:words"} | recipe
    recipe = DocumentsRecipe(
        source=f"folder:{folder / 'docs'}", llm="openai:forms",
        design=str(folder / "design.yaml"), n_queries=n, **known,
    )  # fmt: skip
    with served_words(folder / "out") as run:
        build_documents(recipe, run, llm, JudgeSession(RuleJudge(rule)))
    return Package(folder / "out")


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Package:
    folder = tmp_path_factory.mktemp("design")
    write_pumps(folder / "docs", 30)
    return make(folder, FormLlm(), DESIGN, 16)


def test_questions_have_the_forms_and_users_of_the_design(package: Package) -> None:
    rows = package.table("questions", "questions").to_pylist()
    assert [r["reason"] for r in rows if not r["accepted"]] == []
    assert Counter(r["form"] for r in rows) == dict.fromkeys(FORMS, 16 // 8)
    # Shares 2, 1, 1 of 16.
    assert Counter(r["user"] for r in rows) == {"newcomer": 8, "expert": 4, "fitter": 4}
    fields = read_fields(package.queries)
    assert Counter(fields["user"]) == Counter(r["user"] for r in rows)
    assert Counter(fields["form"]) == Counter(r["form"] for r in rows)


def test_a_false_premise_is_a_question_without_an_answer(package: Package) -> None:
    rows = {r["_id"]: r for r in package.table("questions", "questions").to_pylist()}
    absent = {name for name, r in rows.items() if r["form"] == "false premise"}
    benchmark = load(package.folder)
    found = zip(package.query_ids, benchmark.unanswerable, strict=True)
    assert {name for name, is_absent in found if is_absent} == absent
    assert all("never built" in rows[name]["premise"] for name in absent)


def test_manifest_and_command_name_the_design(package: Package) -> None:
    config = package.manifest.config
    assert config["design"]["users"][2]["description"] == "a fitter on a building site"
    assert config["design_file"]["name"] == "design.yaml"
    assert "--design design.yaml" in " ".join((package.folder / "README.md").read_text().split())


def test_another_model_reads_the_questions(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "docs", N)
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with openai_server(tmp_path / "log", replies=replies(), embed=embed) as server:
        words = [
            "build", "documents", "--source", f"folder:{tmp_path / 'docs'}", "--llm",
            "openai:writes", "--checker", "openai:reads", "--queries", "2", "--pair", "0", "--list",
            "0", "--absent", "0", "--base-url", server.url, "--neighbours", "3", "--closed-book",
            "1", "--shown", "2", "--embedder", "openai:words",
        ]  # fmt: skip
        planned = inline.ok(*words, "--dry-run", "--price", "1,1").stdout
        inline.ok(*words, "--out", tmp_path / "out")
        asked = Counter(request["model"] for request in server.requests() if not request["input"])
    # Each is written; and read with evidence, by heart, in three others alone, in two together.
    assert asked == {"writes": 2, "reads": 2 * (1 + 1 + 3 + 1)}
    assert "writes, writer" in planned
    assert "reads, reader" in planned
    manifest = Package(tmp_path / "out").manifest
    assert manifest.models["question reader"]["name"] == "openai:reads"
    assert manifest.config["checker"] == "openai:reads"


def test_the_writer_is_told_who_asks(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 4)
    llm = FormLlm()
    make(tmp_path, llm, {"users": DESIGN["users"][2:], "questions": [{"name": "number"}]}, 2)
    asked = [r.messages[-1][1] for r in llm.asked if r.task == "question"]
    assert asked
    assert all("as this person would: a fitter on a building site." in one for one in asked)


def test_questions_are_in_the_language_that_is_asked_for(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 6)
    design = {"language": "de", "length": {"most": 9}, "questions": [{"name": "number"}]}

    def says_the_figure(premise: str, hypothesis: str) -> bool:
        return all(word in premise for word in re.findall(r"Pumpe (\w+)|(\d+ bar)", hypothesis)[0])

    package = make(tmp_path, FormLlm(), design, 2, says_the_figure)
    rows = package.table("questions", "questions").to_pylist()
    assert [r["reason"] for r in rows] == [None, None]
    assert all(r["question"].startswith("Welchen Druck") for r in rows)


@pytest.mark.parametrize(
    ("design", "fields", "check"),
    [
        ({"language": "de"}, {"statement": "Die Länge der alten Schleuse beträgt x Meter."}, ""),
        ({"language": "de"}, {"text": "How long is the old lock, Heron Lock, in all its parts?",
                              "statement": "The length of the old lock is x."}, "language"),
        ({"length": {"least": 3, "most": 9}}, {}, ""),
        ({"length": {"most": 3}}, {}, "length"),
        ({"length": {"least": 9}}, {}, "length"),
        ({"terms": {"avoid": ["länge"]}}, {}, "terms"),
        ({"terms": {"avoid": ["Län"]}}, {}, ""),  # no whole word
        ({"terms": {"keep": ["X"]}}, {}, "terms"),  # quoted, and written otherwise
        ({"terms": {"keep": ["x", "y"]}}, {}, ""),
        ({"terms": {"avoid": ["长度"]}}, {"text": "水闸的长度是多少 Schleuse?"}, "terms"),
    ],
)  # fmt: skip
def test_wishes_are_checked(design: Any, fields: dict[str, Any], check: str) -> None:
    known = {
        "text": "Welche Länge hat die alte Schleuse?", "statement": "Die alte Schleuse hat x Meter."
    }  # fmt: skip
    question = ask("single", **known | fields)
    question.evidence = (Evidence("a", "", "x."),)
    check_text(question, 20, Design.model_validate(design))
    assert question.check == check


@pytest.mark.parametrize(("difficulty", "accepted"), [("easy", 2), ("hard", 0)])
def test_difficulty_is_the_rank_at_which_a_search_finds_the_evidence(
    tmp_path: Path, difficulty: str, accepted: int
) -> None:
    """Each question names its pump, so that its passage is the nearest one."""
    write_pumps(tmp_path / "docs", 6)
    design = {"difficulty": difficulty, "questions": [{"name": "number"}, {"name": "absent"}]}
    if accepted:
        counts = make(tmp_path, FormLlm(), design, 3).manifest.counts
        assert counts["questions_accepted[number]"] == accepted
        return
    with refused("no-queries") as caught:
        make(tmp_path, FormLlm(), design, 3)
    # Six passages, of which one is for a question without an answer.
    assert (
        "1 question without an answer was accepted, but none of 5 others: nothing can be shown as "
        "evidence (rejected by the checks: 5 difficulty)" in str(caught.value)
    )


def test_a_manifest_keeps_the_design_as_its_file_has_it(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 6)
    shares = {"single": 1, "pair": 0, "lists": 0, "absent": 0}
    design = {"users": [{"name": "expert"}]}
    package = make(tmp_path, FormLlm(), design, 1, shares=shares)
    again = DocumentsRecipe.from_manifest(package.manifest)
    assert [f.name for f in again.load_design().forms] == ["single"]
    assert "--design content (in the manifest)" in list_resources(again)


def test_the_achieved_mix_is_compared_with_the_declared_one(package: Package) -> None:
    stats = read_stats(package.folder)
    # Wilson's interval of 2 of 16 and 8 of 16.
    number = "2 of 16 (12.5 % [3.5, 36.0]); declared 12.5 %"
    assert stats["mix_of_form[number]"] == number
    assert stats["mix_of_user[newcomer]"] == "8 of 16 (50.0 % [28.0, 72.0]); declared 50.0 %"
    card = (package.folder / "README.md").read_text()
    assert f"| questions of the form number | {number} |" in card
    assert "mean cosine of two questions" in card


def test_the_card_describes_users_and_forms(tmp_path: Path) -> None:
    design = Design.model_validate({
        "language": "fr",
        "users": [{"name": "expert", "description": "They repair pumps.", "language": "de"}],
        "questions": [{"name": "torque", "like": "number", "description": "It asks for a torque.",
                       "language": "it"}, {"name": "own", "like": "single", "description": "Own."}],
    })  # fmt: skip
    assert design_stats(design) == {
        "description_of_user[expert]": "They repair pumps. (language: de)",
        "description_of_form[torque]": "It asks for a torque. (language: it)",
        "description_of_form[own]": "Own.",
        "design_language": "fr",
    }
    write_pumps(tmp_path / "docs", 6)
    package = make(
        tmp_path,
        FormLlm(),
        {"users": [{"name": "vet", "description": "A | b."}], "questions": [{"name": "number"}]},
        1,
    )
    card = (package.folder / "README.md").read_text()
    assert "| the user vet | A \\| b. |" in card


def test_a_short_cell_says_why() -> None:
    specs = {QuestionSpec(built_in_forms()[form]): 2 for form in ("number", "time")}
    questions = [ask(form) for form in ("number", "number", "time", "time", "time")]
    for question, check in zip(questions[2:], ("copy", "copy", "form"), strict=True):
        question.reject(check, "so")
    declared = {"form": {"number": 1.0, "time": 1.0, "list": 0.5}, "user": {}}
    stats = mix_stats(specs, questions, declared)
    assert stats["mix_of_form[time]"] == (
        "0 of 2 (0.0 % [0.0, 65.8]); declared 40.0 %; 2 missing, rejected by: copy 2, form 1"
    )
    assert stats["mix_of_form[list]"] == (
        "0 of 2 (0.0 % [0.0, 65.8]); declared 20.0 %, too little for one of 4 questions"
    )
    assert len(stats) == 3
    nothing = mix_stats({}, [], {"form": {"number": 1.0}})
    assert nothing == {"mix_of_form[number]": "0 of 0; declared 100.0 %"}


def test_the_mean_cosine_is_that_of_all_pairs() -> None:
    # Cosines of the three pairs: 0, 0.6 and 0.8.
    assert mean_pairwise_cosine([[1, 0], [0, 1], [0.6, 0.8]]) == pytest.approx((0 + 0.6 + 0.8) / 3)


def test_a_lazy_writer_leaves_a_form_short(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 30)
    design = {"questions": [{"name": "number"}, {"name": "yes/no"}]}
    package = make(tmp_path, FormLlm(lazy=("yes/no",)), design, 4)
    counts = package.manifest.counts
    assert counts["questions_accepted[number]"] == 2
    assert counts["questions_accepted[yes/no]"] == 0
    assert counts["questions_not_made[yes/no]"] == 2
    # Three tries for each of two.
    assert counts["questions_written"] == 2 + 3 * 2


def test_a_thinking_writer_is_designed_from_the_command_line(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "docs", N)
    (tmp_path / "d.yaml").write_text(
        "users: [{name: auditor}]\nquestions: [{name: single, share: 2}, {name: absent}]\n"
    )
    thoughts = "<think>\nQuestion: What do I ask?\n</think>\n"
    said = [[pattern, thoughts + text] for pattern, text in replies()]
    monkeypatch.setenv("OPENAI_API_KEY", "key")
    with openai_server(tmp_path / "log", replies=said, embed=embed) as server:
        inline.ok(
            "build", "documents", "--source", f"folder:{tmp_path / 'docs'}", "--llm", "openai:m",
            "--judge", "lexical", "--queries", "3", "--design", tmp_path / "d.yaml", "--base-url",
            server.url, "--neighbours", "3", "--closed-book", "1", "--out", tmp_path / "out",
            "--embedder", "openai:words",
        )  # fmt: skip
    rows = Package(tmp_path / "out").table("questions", "questions").to_pylist()
    assert Counter(r["form"] for r in rows if r["accepted"]) == {"single": 2, "absent": 1}
    assert {r["user"] for r in rows} == {"auditor"}


def test_the_design_in_force_is_printed(inline: Inline, tmp_path: Path) -> None:
    shown = yaml.safe_load(inline.ok("build", "documents", "--show-design").stdout)
    shares = {row["name"]: row["share"] for row in shown["questions"]}
    assert shares == {"single": 50, "pair": 20, "list": 20, "absent": 10}
    (tmp_path / "d.yaml").write_text("questions: [{name: torque, like: number, share: 3}]\n")
    words = ("build", "documents", "--show-design", "--design", tmp_path / "d.yaml")
    printed = inline.ok(*words).stdout
    (tmp_path / "d.yaml").write_text(printed)
    assert inline.ok(*words).stdout == printed  # what is printed is a design


@pytest.mark.parametrize(
    ("text", "line", "field", "code"),
    [
        ("users:\n- name: expert\n- {name: nurse}\n", 3, "users.1.description", "wrong-value"),
        ("questions:\n- name: number\n- name: numbr\n", 3, "questions.1.name", "wrong-value"),
        ("questions:\n- name: seed\n  like: time\n", 2, "questions.0.name", "wrong-value"),
        ("questions:\n- {name: a, like: b}\n", 2, "questions.0.like", "wrong-value"),
        ("questions:\n- {name: number, share: 0}\n", 2, "questions.0.share", "out-of-range"),
        ("users: []\nquestions:\n- {name: absent}\n", 2, "questions", "wrong-value"),
        ("questions:\n- {name: time}\n- {name: time}\n", 1, "questions", "wrong-value"),
        ("prompts:\n  answer: '{{ x }}'\n", 2, "prompts.answer", "wrong-value"),
        ("language: xy\n", 1, "language", "wrong-value"),
        ("length:\n  least: 5\n  most: 4\n", 3, "length.most", "wrong-value"),
        ("difficulty: mild\n", 1, "difficulty", "wrong-value"),
        ("terms: {keep: pump}\n", 1, "terms.keep", "wrong-type"),
        ("users:\n- {name: ' ', description: x}\n", 2, "users.0.name", "wrong-value"),
        ('users:\n- {name: "a\\nb", description: x}\n', 2, "users.0.name", "wrong-value"),
        ("users: [{name: expert, language: xy}]\n", 1, "users.0.language", "wrong-value"),
        ("users: [{name: expert, share: .nan}]\n", 1, "users.0.share", "wrong-value"),
        ("users:\n- &a {name: expert}\n- *a\n", 3, None, "bad-yaml"),
        ("judge: ''\n", 1, "judge", "wrong-value"),
        ("found_topics: {number: 3, shares: [1, 2]}\n", 1, "found_topics", "wrong-value"),
        (
            "found_topics: {number: 2, shares: [1, 2], by_size: true}\n",
            1,
            "found_topics",
            "wrong-value",
        ),
        ("found_topics: true\n", 1, "found_topics", "wrong-type"),
        ("form: [single]\n", 1, "form", "unknown-field"),
    ],
)
def test_a_fault_in_a_design_is_named_by_line_and_field(
    tmp_path: Path, text: str, line: int, field: str | None, code: str
) -> None:
    (tmp_path / "d.yaml").write_text(text)
    recipe = DocumentsRecipe(source="folder:x", llm="openai:m", design=str(tmp_path / "d.yaml"))
    with refused(code, path=tmp_path / "d.yaml", line=line, field=field):
        recipe.load_design()


def test_forms_are_named_in_one_place(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "d.yaml").write_text("questions: [{name: single}]\n")
    words = ("build", "documents", "--show-design", "--design", tmp_path / "d.yaml")
    inline.fails(2, "option-without-effect", *words, "--single", "3")


def test_numbers_by_form_and_user_are_the_shares() -> None:
    # 7 × 1/2 = 3.5, 7 × 1/3 = 2.33, 7 × 1/6 = 1.17: the largest remainder gets the seventh.
    assert apportion(7, {"a": 3, "b": 2, "c": 1}) == {"a": 4, "b": 2, "c": 1}
    design = Design.model_validate(DESIGN)
    specs = draw_specs(design, 1000, 5)
    assert specs == draw_specs(design, 1000, 5) != draw_specs(design, 1000, 6)
    by_user = Counter[str]()
    for spec, n in specs.items():
        assert spec.user is not None
        by_user[spec.user.name] += n
    assert by_user == {"newcomer": 500, "expert": 250, "fitter": 250}


def ask(form: str, **fields: Any) -> Question:
    passages = (
        Evidence("a", "Heron Lock", "Ada kept Heron Lock, which is 30 m long."),
        Evidence("b", "Otter Weir", "Otter Weir is 12 m long. Ada was born in Ystad."),
    )
    known = {"answers": ["x"], "statement": "It is x.", "quotes": ["x"]} | fields
    return Question("q1", QuestionSpec(built_in_forms()[form]), passages, **known)


@pytest.mark.parametrize(
    ("form", "fields", "fault"),
    [
        ("number", {"answers": ["30 m"]}, None),
        ("number", {"answers": ["三十米"]}, None),
        ("number", {"answers": ["many"]}, "the answer has no number"),
        ("yes/no", {"answers": ["No."]}, None),
        ("yes/no", {"answers": ["Nein."], "text": "Ist die Schleuse bei Hochwasser offen?",
                    "statement": "Die Schleuse ist bei Hochwasser nicht offen."}, None),
        ("yes/no", {"answers": ["perhaps"]}, "the answer is neither yes nor no"),
        ("definition", {"answers": ["a wall across a river"]}, None),
        ("definition", {"answers": ["wall"]}, "the answer has 1 of at least 3 words"),
        ("procedure", {"answers": ["open it", "shut it"], "statement": "Open it, then shut it."},
         None),
        ("procedure", {"answers": ["shut it", "open it"], "statement": "Open it, then shut it."},
         "the statement has the steps in another order"),
        ("search-like", {"text": "heron lock length"}, None),
        ("search-like", {"text": "heron lock length?"}, "is a sentence"),
        ("search-like", {"text": " ".join("abcdefghi")}, "has 9 words"),
        ("misspelled", {"text": "How lnog is the lok?", "corrected": "How long is the lock?"},
         None),
        ("misspelled", {"text": "How long?", "corrected": "How long?"}, "no word is misspelled"),
        ("misspelled", {"text": "How wide?", "corrected": "How long?"}, "'wide' is another word"),
        ("misspelled", {"text": "How lng?"}, "has no line with Corrected"),
        ("false premise", {"text": "Why is the lock dry?", "premise": "The lock is dry."}, None),
        ("false premise", {"text": "Why is the lock dry?"}, "has no line with Premise"),
        ("false premise", {"text": "Who won?", "premise": "The lock is dry."}, "the premise has"),
        ("bridge", {"text": "Where was the keeper born?",
                    "quotes": ["Keeper Adaline kept it", "Adaline was born"]}, None),
        ("bridge", {"text": "Where was Adaline born?",
                    "quotes": ["Adaline kept it", "Adaline was born"]}, "names what links"),
        ("bridge", {"text": "Where?", "quotes": ["Ada kept it", "Born in Ystad"]}, "the two quot"),
        ("comparison", {"text": "Is Heron Lock longer than Otter Weir?"}, None),
        ("comparison", {"text": "Is Heron Lock the longer one?"}, "does not name both"),
    ],
)  # fmt: skip
def test_each_form_has_its_rule(form: str, fields: dict[str, Any], fault: str | None) -> None:
    found = find_form_fault(ask(form, **fields))
    assert (found or "").startswith(fault or "")
    assert bool(found) == bool(fault)


@pytest.mark.parametrize(
    ("form", "answers", "fault"),
    [
        ("single", ["a"], None),
        ("single", ["a", "b"], "has 2 answers where one is asked for"),
        ("pair", [], "has 0 answers where one is asked for"),
        ("procedure", ["a", "b", "c"], None),
        ("list", ["a", "a"], "has 1 answers where at least two are asked for"),  # one, twice
        ("absent", ["a"], None),  # no answer of it is used
    ],
)
def test_a_reply_has_as_many_answers_as_its_form(
    form: str, answers: list[str], fault: str | None
) -> None:
    lines = "".join(f"Answer: {answer}\n" for answer in answers)
    reply = f"Quote: x\nQuote: y\nQuestion: What?\n{lines}Statement: It is a."
    assert read_question(reply, ask(form)) == fault


def test_a_premise_is_read_where_the_form_has_one() -> None:
    reply = (
        "Quote: x\nPremise: Ada was old.\nCorrected: Who is it?\nQuestion: Who is it?\n"
        "Answer: Ada\nStatement: Ada is."
    )
    found = {}
    for form in ("single", "misspelled", "false premise"):
        question = ask(form)
        assert read_question(reply, question) is None
        found[form] = (question.premise, question.corrected)
    assert found == {
        "single": ("", ""), "misspelled": ("", "Who is it?"), "false premise": ("Ada was old.", "")
    }  # fmt: skip


def test_further_lines_of_a_reply_are_read() -> None:
    question = ask("misspelled")
    text = "Quote: x\nCorrected: Who is it?\nQuestion: Who si it?\nAnswer: Ada\nStatement: Ada is."
    assert read_question(text, question) is None
    assert (question.text, question.corrected) == ("Who si it?", "Who is it?")
    row = question.row()
    assert json.dumps(row["corrected"]) == '"Who is it?"'
