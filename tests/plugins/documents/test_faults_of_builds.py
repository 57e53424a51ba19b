"""Documents that are like one another, builds that fall short, and passages embedded once."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.engines.retrieval.records import Rankings, ranked
from citeforge.package.package import Package
from citeforge.plugins.documents.build import build_documents
from citeforge.plugins.documents.checks import check_text, fits_passage
from citeforge.plugins.documents.design import Design, built_in_forms
from citeforge.plugins.documents.kinds import DOCUMENTS
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.question_specs import QuestionSpec, Topics, spread_specs
from citeforge.plugins.documents.questions import Evidence, Question, read_question
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.rounds import QuestionMaker
from citeforge.schemas.recipes.base import RunOptions
from conftest import Inline, refused
from plugins.documents.builds import SINGLE, built
from plugins.documents.pumps import FormLlm, pump, written
from plugins.documents.village import ErringLlm, entails, write_documents
from stand_ins import RuleJudge

ONE = QuestionSpec(built_in_forms()["single"])
PK7 = Evidence("a", "PK-7 > Cleaning", "Replace the ring of the lid after 18 months.")
TZ3 = Evidence("b", "TZ-3 > Cleaning", "Replace the ring of the pump after 24 months.")


@pytest.mark.parametrize(
    ("text", "reply", "fits"),
    [
        ("After how many months is the ring replaced, by Cleaning?", "24 months", True),
        # Of a question in another language the words that tell documents apart are translated.
        ("Nach wie vielen Monaten wird die Dichtung gewechselt?", "24 months.", False),
        ("Nach wie vielen Monaten wird der Ring vom Deckel gewechselt?", "24 months.", False),
        ("Why?", "24 months", False),  # no word of the evidence
        ("After how many months is the ring of a PK-7 replaced?", "24 months", False),
        ("After how many months is the lid's ring replaced?", "24 months", False),
        # The reader made this answer up.
        ("After how many months is the ring replaced, by Cleaning?", "36 months", False),
    ],
)
def test_a_question_fits_another_document_that_it_does_not_tell_apart(
    text: str, reply: str, fits: bool
) -> None:
    question = Question("q1", ONE, (PK7,), text, ["18 months"])
    assert fits_passage(question, TZ3, reply) == fits


def test_words_that_any_text_has_tell_no_documents_apart_in_any_language() -> None:
    own = Evidence("a", "PK-7", "Der Ring des Deckels ist nach spätestens 18 Monaten zu ersetzen.")
    other = Evidence("b", "TZ-3", "Ein Ring der Pumpe muss alle 24 Monate ersetzt werden, vor dem "
                     "Ablauf von 25 Monaten.")  # fmt: skip
    text = "Nach wie vielen Monaten ist der Ring spätestens zu wechseln?"
    asked = [Question("q1", ONE, (own,), t) for t in (text.replace("spätestens ", ""), text)]
    # "Nach" is no word of the other passage, and tells nothing; "spätestens" does.
    assert [fits_passage(question, other, "24 Monate") for question in asked] == [True, False]


class Ranked:
    """Passages, and a search that finds them in a fixed order, whatever is asked."""

    def __init__(self, passages: list[Evidence]) -> None:
        self._by_id = {passage.id: passage for passage in passages}

    def rank(self, texts: dict[str, str], depth: int) -> Rankings:
        names = list(self._by_id)[:depth]
        return {text: ranked(text, ((name, 1.0) for name in names)) for text in texts}

    def texts(self, ids: list[str]) -> dict[str, Evidence]:
        return {name: self._by_id[name] for name in ids}

    def file_of(self, name: str) -> str:
        return name


@pytest.mark.parametrize(
    ("rank", "reason"),
    [
        (1, ""),
        (3, ""),
        (4, "a search finds its evidence below rank 3: not easy"),
        (9, "a search finds its evidence below rank 3: not easy"),
    ],
)
def test_an_easy_question_is_one_whose_evidence_is_found(rank: int, reason: str) -> None:
    """One passage is searched besides the evidence, yet the first three ranks count."""
    one = pump(0)
    passages = [Evidence(f"o{n}", "", pump(n).text) for n in range(1, 10)]
    passages.insert(rank - 1, Evidence("e", one.name, one.text))
    recipe = DocumentsRecipe(
        source="folder:docs", llm="openai:m", asking={"neighbours": 1, "closed_book": 0}
    )
    form = QuestionSpec(built_in_forms()["number"])
    question = Question("q1", form, (passages[rank - 1],))
    assert read_question(written("number", one), question) is None
    world: Any = Ranked(passages)
    prompted_llm = PromptedLlm(FormLlm(), Design(difficulty="easy"))
    QuestionMaker(recipe, {form: 1}, prompted_llm, None, world, world, Topics()).check(
        [question], []
    )
    assert question.reason == reason


@pytest.mark.parametrize("option", ["seeds", "labels", "decided_questions", "source"])
def test_a_file_that_a_build_reads_is_not_the_one_that_it_removes(
    tmp_path: Path, option: str
) -> None:
    write_documents(tmp_path / "docs", 2)
    folder = tmp_path / "docs" if option == "source" else tmp_path
    own = folder / "out.questions.jsonl"
    own.write_text('{"question": "Who?"}\n')
    values: dict[str, Any] = {
        "seeds": own, "labels": (own,), "decided_questions": own, "source": f"folder:{folder}"
    }  # fmt: skip
    recipe = DocumentsRecipe(
        **{"source": f"folder:{tmp_path / 'docs'}", "llm": "openai:m", option: values[option]}
    )
    llm = ErringLlm()
    with refused("output-exists", path=own):
        build_documents(recipe, RunOptions(out=folder / "out"), llm)
    assert not llm.asked
    assert own.read_text() == '{"question": "Who?"}\n'


@pytest.mark.parametrize(("tells", "check"), [(True, None), (False, "which document")])
def test_a_question_that_tells_no_document_is_rejected(
    tmp_path: Path, tells: bool, check: str | None
) -> None:
    """Two manuals have the same section; the reader finds the value of each."""
    docs = tmp_path / "docs"
    docs.mkdir()
    months = {"PK-7": 18, "TZ-3": 24}
    for name, number in months.items():
        text = f"Clean the lid with water. Replace its ring after {number} months. " * 3
        (docs / f"{name}.md").write_text(f"# {name}\n\n## Cleaning\n\n{text}\n")

    class ManualLlm(ErringLlm):
        def _reply(self, request: Request) -> Result:
            passages = request.values["passages"]
            if not passages:
                return LlmReply("NOT ANSWERED")
            device = passages[0]["title"].partition(" > ")[0]
            answer = f"{months[device]} months"
            if request.task == "answer":
                asked = [d for d in months if d in request.values["question"]] or [device]
                shown = {p["title"].partition(" > ")[0] for p in passages}
                return LlmReply(answer if asked[0] in shown else "NOT ANSWERED")
            after = f" of a {device}" if tells else ""
            return LlmReply(
                f"Quote: Replace its ring after {answer}\n"
                f"Question: After which time is the ring{after} replaced?\nAnswer: {answer}\n"
                f"Statement: The ring of a {device} is replaced after {answer}."
            )

    llm = ManualLlm(errs=False)
    if check:
        with refused("no-queries", path=None):
            built(tmp_path, llm, judged=False, n_queries=2, shares=SINGLE, asking={"tries": 1})
        rows = map(json.loads, (tmp_path / "out.questions.jsonl").read_text().splitlines())
    else:
        found = built(tmp_path, llm, judged=False, n_queries=2, shares=SINGLE)
        rows = iter(Package(found.folder).table("questions", "questions").to_pylist())
    assert {row["check"] for row in rows} == {check}


@pytest.mark.parametrize(
    ("text", "answer", "check"),
    [
        ("How many bells does the great bell weigh?", "820 kilograms", "kind of answer"),
        ("How many pallets fit on it?", "5 cm", "kind of answer"),
        ("How many kilos does the bell weigh?", "820 kilograms", ""),
        ("How many square metres has the hall?", "40 m2", ""),
        ("How many of the thirty days is it closed?", "12 days", ""),
        ("How many people took it?", "4 m", ""),  # millions
        ("How many guests have a bed?", "36 guests", ""),
        ("How long has the hut been run by a woman?", "2012", "kind of answer"),
        ("How old is the oldest map?", "1742", "kind of answer"),
        ("How long is the bridge in metres?", "1200", ""),
        ("How long has it been run by a woman?", "since 2012", "kind of answer"),
        ("How long has it been run by a woman?", "2012.", "kind of answer"),
        ("How long has it been run by a woman?", "Since the year 2012.", "kind of answer"),
        ("How long has it been run by a woman?", "12 years", ""),
        ("How long was the hut closed?", "from 1950", "kind of answer"),
        ("How long was the hut closed?", "1950", "kind of answer"),
        ("How long is the bridge?", "1500", ""),  # metres
        ("How long was the bridge?", "1500", ""),
        ("How old is the oldest map?", "1742 years", ""),
        ("When was it opened?", "1742", ""),
    ],
)
def test_an_answer_is_of_the_kind_that_is_asked_for(text: str, answer: str, check: str) -> None:
    evidence = Evidence("a", "A", "It is so.")
    question = Question("q1", ONE, (evidence,), text, [answer], f"{text} {answer}", ["It is so."])
    check_text(question, 7)
    assert question.check == check, question.reason


def test_a_question_with_the_number_of_the_quotes_of_its_prompt_is_rejected(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 8)

    class RepeatingLlm(ErringLlm):
        def _reply(self, request: Request) -> Result:
            if request.task == "answer":
                return LlmReply("NOT ANSWERED")
            number = request.messages[-1][1].partition("<quote-")[2][:16]
            return LlmReply(f"Question: How many days does it take to visit {number}?")

    with refused("no-queries", path=None):
        built(tmp_path, RepeatingLlm(), n_queries=2, shares={**SINGLE, "absent": 1})
    rows = [json.loads(x) for x in (tmp_path / "out.questions.jsonl").read_text().splitlines()]
    assert {(row["form"], row["check"], row["reason"][:28]) for row in rows} == {
        ("single", "format", "has 0 answers where one is a"),
        ("absent", "format", "repeats a tag of the prompt:"),
    }


def test_fewer_questions_than_wanted_are_a_warning_and_exit_code_3(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_documents(tmp_path / "docs", 8)
    recipe = {"n_queries": 10, "shares": {"single": 1, "pair": 0, "lists": 0, "absent": 0}}
    manifest = built(tmp_path, ErringLlm(errs=False), **recipe).manifest
    # Eight villages, each asked about once: 10 - 8 = 2 are missing.
    assert manifest.warnings[-1] == "2 questions wanted and not made: single"
    monkeypatch.setattr(DOCUMENTS, "build", lambda recipe, run: manifest)
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    ran = inline(
        "build", "documents", "--source", "folder:docs", "--llm", "openai:m", "--out", "out"
    )
    assert (ran.returncode, ran.code) == (3, "counted-failures")
    assert "warning: 2 questions wanted and not made: single" in ran.stderr


@pytest.mark.slow
def test_passages_are_embedded_once(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 120)
    run = RunOptions(out=tmp_path / "out", embeddings=tmp_path / "vectors")
    recipe = DocumentsRecipe(
        source=f"folder:{tmp_path / 'docs'}", llm="openai:erring", n_queries=2, shares=SINGLE
    )
    build_documents(recipe, run, ErringLlm(errs=False), JudgeSession(RuleJudge(entails)))
    kept = [p.name for p in (tmp_path / "vectors").glob("passages-*.vectors")]
    assert kept == ["passages-float32-00000.vectors"]


def test_few_passages_are_shared_among_the_forms() -> None:
    forms = built_in_forms()
    single, several, none = (QuestionSpec(forms[name]) for name in ("single", "list", "absent"))
    spread = spread_specs({single: 4, several: 2, none: 2})
    # Of four passages half go to the form with half of the questions.
    assert Counter(spread[:4]) == {single: 2, several: 1, none: 1}
    assert Counter(spread) == {single: 4, several: 2, none: 2}
    assert spread_specs({single: 0, several: 1}) == [several]
