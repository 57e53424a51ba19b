"""``labels export --task questions``, a person's decisions, and the build that follows them."""

import csv
import dataclasses
import json
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.session import JudgeSession
from citeforge.package.manifest import read_stats
from citeforge.package.package import Package
from citeforge.plugins.documents.build import build_documents
from citeforge.plugins.documents.decisions import apply_decisions
from citeforge.plugins.documents.design import built_in_forms
from citeforge.plugins.documents.form_rules import find_form_fault
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Evidence, Question, apply_labels
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.labels.options import AnnotationOptions
from citeforge.plugins.labels.sheets import export_sheet
from conftest import refused
from plugins.documents.builds import served_words
from plugins.documents.pumps import FormLlm, write_pumps
from plugins.documents.village import entails
from stand_ins import RuleJudge


def build(folder: Path, out: str, sheet: Path | None = None, labels: Path | None = None) -> Package:
    recipe = DocumentsRecipe(
        source=f"folder:{folder / 'docs'}", llm="openai:forms", embedder="openai:words",
        design={"questions": [{"name": "number", "share": 2}, {"name": "time"}]}, n_queries=6,
        asking={"neighbours": 4, "closed_book": 1, "shown": 2}, decided_questions=sheet,
        labels=(labels,) if labels else (),
    )  # fmt: skip
    with served_words(folder / out) as run:
        build_documents(recipe, run, FormLlm(), JudgeSession(RuleJudge(entails)))
    return Package(folder / out)


def fill(sheet: Path, decisions: list[dict[str, str]]) -> list[dict[str, str]]:
    with sheet.open(newline="") as file:
        rows = list(csv.DictReader(file))
    rows.sort(key=lambda row: (row["form"], row["item"]))
    for row, decision in zip(rows, decisions, strict=True):
        row.update(decision)
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_the_sheet_goes_round(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    first, sheet = build(tmp_path, "out"), tmp_path / "sheet.csv"
    export_sheet(AnnotationOptions(task="questions", benchmark=first.folder, out=sheet))
    rows = fill(
        sheet,
        [
            {"label": "keep"},
            {"label": "Drop", "why": "nobody asks this"},
            {"label": "edit", "new_question": "At how many bar is the machine run?"},
            {},
            {"label": "keep"},
            {"label": "edit", "new_answers": "1066"},
        ],
    )
    assert all(" bar. To start the" in row["evidence"] for row in rows)
    # The second edit is in vain: its statement does not have the new answer. The first one asks
    # for a machine without a name, which the reader does not find.
    ids = {k: o["query_id"] for k, o in json.loads(
        (tmp_path / "sheet.csv.key.json").read_text())["items"].items()}  # fmt: skip
    names = [ids[row["item"]] for row in rows]
    package = build(tmp_path, "again", sheet)
    questions = {r["_id"]: r for r in package.table("questions", "questions").to_pylist()}
    assert [questions[name]["check"] for name in names] == [
        None, "a person", "answered with evidence", "a person", None, "statement"
    ]  # fmt: skip
    assert questions[names[1]]["reason"] == "nobody asks this"
    assert questions[names[3]]["reason"] == "not decided"
    assert package.query_ids == sorted((names[0], names[4]), key=lambda name: int(name[1:]))
    stats = read_stats(package.folder)
    # Three of four numbers were decided and one is kept; one of two times.
    assert str(stats["kept_by_people[number]"]).startswith("1 of 3 (33.3 % [6.1, 79.2])")
    assert str(stats["kept_by_people[time]"]).startswith("1 of 2 (50.0 %")
    # A dropped and an undecided number are not missing; a number and a time that failed are.
    counts = package.manifest.counts
    assert counts["questions_rejected[a person]"] == 2
    assert {form: counts[f"questions_not_made[{form}]"] for form in ("number", "time")} == {
        "number": 4 - 1 - 2, "time": 2 - 1
    }  # fmt: skip


def test_an_edited_question_that_passes_is_packaged(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    first, sheet = build(tmp_path, "out"), tmp_path / "sheet.csv"
    export_sheet(AnnotationOptions(task="questions", benchmark=first.folder, out=sheet))
    rows = fill(sheet, [{"label": "keep"}] * 6)
    name = rows[0]["question"].split()[-1].rstrip("?")
    text = f"What pressure in bar does the machine called {name} have?"
    fill(sheet, [{"label": "edit", "new_question": text}, *[{}] * 5])
    package = build(tmp_path, "again", sheet)
    assert text in package.queries["text"].to_pylist()
    assert len(package.query_ids) == 6


def test_labels_of_questions_hold_for_their_words(tmp_path: Path) -> None:
    """Labels of an earlier build are known, whatever a person decides about its questions."""
    write_pumps(tmp_path / "docs", 8)
    first, sheet = build(tmp_path, "out"), tmp_path / "sheet.csv"
    export_sheet(AnnotationOptions(task="questions", benchmark=first.folder, out=sheet))
    rows = fill(sheet, [{}] * 6)
    name = rows[2]["question"].split()[-1].rstrip("?")
    text = f"What pressure in bar does the machine called {name} have?"
    statement = " ".join(reversed(rows[5]["statement"].removesuffix(".").split()))
    fill(
        sheet,
        [
            {"label": "keep"},
            {"label": "drop"},
            {"label": "edit", "new_question": text},
            {},
            {"label": "keep"},
            {"label": "edit", "new_statement": statement},
        ],
    )
    items = json.loads((tmp_path / "sheet.csv.key.json").read_text())["items"]
    ids = [items[row["item"]]["query_id"] for row in rows]
    asked = [(name, row["question"]) for name, row in zip(ids, rows, strict=True)]
    passages = sorted(one for batch in first.passages() for one in batch["_id"].to_pylist())
    other = {  # a passage that is not the evidence
        r["_id"]: next(p for p in passages if p not in r["evidence"])
        for r in first.table("questions", "questions").to_pylist()
    }
    labels = tmp_path / "labels.jsonl"
    labels.write_text(
        "".join(
            json.dumps({"query_id": name, "question": question, "passage": other[name],
                        "label": "relevant"}) + "\n"
            for name, question in [*asked, (ids[2], text)]
        )
    )  # fmt: skip
    package = build(tmp_path, "again", sheet, labels)
    counts = package.manifest.counts
    # Left out: of the dropped one, of the undecided one, and of the old words of the edited one.
    assert counts["labels_of_dropped_or_edited_questions"] == 3
    assert counts["passages_people_call[relevant]"] == 7 - 3
    relevant = package.mappings["relevant"].to_pylist()
    pairs = {(r["query-id"], r["corpus-id"]) for r in relevant}
    assert {(ids[n], other[ids[n]]) for n in (0, 2, 4, 5)} <= pairs
    # 6 were wanted and 4 are there: the other two were a person's decision.
    assert len(package.query_ids) == 4
    assert not [key for key in counts if key.startswith("questions_not_made")]


def test_labels_of_neither_the_old_nor_the_new_words_are_refused(tmp_path: Path) -> None:
    labels = tmp_path / "labels.jsonl"
    rows = [{"question": "Who?"}, {"question": "Which person?"}, {}, {"question": "Whose?"}]
    labels.write_text(
        "".join(json.dumps({"query_id": "q1", "passage": "x"} | row) + "\n" for row in rows)
    )
    edited = question(text="Which person?")
    with refused("unknown-query", path=labels, line=4, field="query_id"):
        apply_labels([edited], [labels], {"q1": "Who?"})
    with refused("unknown-query", path=labels, line=1, field="query_id"):
        apply_labels([edited], [labels], {})  # a check had rejected it


COLUMNS = "item,label,new_question,new_answers,new_statement,new_premise,new_corrected,why"


@pytest.mark.parametrize(
    ("rows", "line", "field", "code"),
    [
        (["b,keep,,,,,,"], 2, "item", "unknown-query"),
        (["a,keep,,,,,,", "a,drop,,,,,,"], 3, "item", "duplicate-key"),
        (["a,perhaps,,,,,,"], 2, "label", "wrong-value"),
        (["a,edit,,,,,,why"], 2, "new_question", "missing-field"),
        (['a,edit,,"21\n22",,,,'], 3, "new_answers", "wrong-value"),
        (["a,edit,,,,It is so.,,"], 2, "new_premise", "wrong-value"),
        (["a,edit,,,,,Who?,"], 2, "new_corrected", "wrong-value"),
    ],
)
def test_a_wrong_row_is_named(
    tmp_path: Path, rows: list[str], line: int, field: str, code: str
) -> None:
    sheet = tmp_path / "s.csv"
    sheet.write_text("\n".join([COLUMNS, *rows]) + "\n")
    write_key(sheet, "questions")
    with refused(code, path=sheet, line=line, field=field):
        apply_decisions([question()], sheet)


@pytest.mark.parametrize(
    ("form", "answers", "is_right"),
    [
        ("number", "21", True),
        ("number", "21\n22", False),
        ("time", "1921\n1922", False),
        ("definition", "a wall across a river\na dam", False),
        ("yes/no", "yes\nno", False),
        ("pair", "a\nb", False),
        ("list", "a", False),
        ("list", "a\na", False),
        ("procedure", "a\nb\nc", True),
        ("absent", "a", False),
    ],
)
def test_an_edit_has_as_many_answers_as_the_form(
    tmp_path: Path, form: str, answers: str, is_right: bool
) -> None:
    sheet = tmp_path / "s.csv"
    sheet.write_text(f'{COLUMNS}\na,edit,,"{answers}",,,,\n')
    write_key(sheet, "questions")
    edited = question(spec=QuestionSpec(built_in_forms()[form]))
    if is_right:
        assert apply_decisions([edited], sheet).edited == [edited]
        assert edited.answers == answers.split("\n")
        return
    with refused("wrong-value", path=sheet, line=2 + answers.count("\n"), field="new_answers"):
        apply_decisions([edited], sheet)


@pytest.mark.parametrize(
    ("form", "row", "old"),
    [
        ("misspelled", "a,edit,How lnog is teh lock?,,,,How long is the lock?,",
         {"corrected": "Who?"}),
        ("false premise", "a,edit,Why is the lock dry?,,,The lock is dry.,,",
         {"premise": "Ada left.", "quotes": ["x"]}),
    ],
)  # fmt: skip
def test_an_edited_question_has_new_further_texts(
    tmp_path: Path, form: str, row: str, old: dict[str, Any]
) -> None:
    sheet = tmp_path / "s.csv"
    sheet.write_text(f"{COLUMNS}\n{row}\n")
    write_key(sheet, "questions")
    edited = question(spec=QuestionSpec(built_in_forms()[form]), answers=["x"], **old)
    apply_decisions([edited], sheet)
    assert find_form_fault(edited) is None
    (name,) = old.keys() - {"quotes"}
    assert find_form_fault(dataclasses.replace(edited, **{name: old[name]})) is not None


def test_a_sheet_of_another_task_or_build_is_refused(tmp_path: Path) -> None:
    sheet = tmp_path / "s.csv"
    sheet.write_text(f"{COLUMNS}\na,keep,,,,,,\n")
    write_key(sheet, "unsure-relevance")
    with refused("wrong-kind", path=tmp_path / "s.csv.key.json"):
        apply_decisions([question()], sheet)
    write_key(sheet, "questions")
    with refused("unknown-query", path=sheet, line=2, field="item"):
        apply_decisions([question(text="Another?")], sheet)


def test_a_missing_key_file_is_named_before_anything_is_made(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    sheet = tmp_path / "renamed.csv"
    sheet.write_text(f"{COLUMNS}\na,keep,,,,,,\n")
    with refused("missing-file", path=tmp_path / "renamed.csv.key.json") as caught:
        build(tmp_path, "out", sheet)
    assert "which question each row of renamed.csv is about" in str(caught.value)
    assert "labels export --task questions" in str(caught.value)
    assert not [*tmp_path.glob("out.partial*")]


def test_a_sheet_that_keeps_nothing_is_named(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 8)
    first, sheet = build(tmp_path, "out"), tmp_path / "sheet.csv"
    export_sheet(AnnotationOptions(task="questions", benchmark=first.folder, out=sheet))
    with refused("no-queries") as caught:
        build(tmp_path, "again", sheet)
    assert "(rejected by the checks: 6 a person)" in str(caught.value)
    assert "the label keep, or edit, for more rows of the --decided-questions" in str(caught.value)


def write_key(sheet: Path, task: str) -> None:
    items = {"a": {"query_id": "q1", "question": "Who?"}}
    sheet.with_name("s.csv.key.json").write_text(json.dumps({"task": task, "items": items}))


def question(**fields: Any) -> Question:
    known = {"spec": QuestionSpec(built_in_forms()["single"]), "text": "Who?"} | fields
    return Question("q1", evidence=(Evidence("p", "", "x"),), **known)
