"""``build documents``: each bad question is taken by its check, and no sound one is."""

import csv
import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
import pytest

from citeforge import load, score
from citeforge.builders.derive import Base
from citeforge.builders.verify import verify
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.engines.tables import write_table
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.package import Package
from citeforge.plugins.documents.checks import check_text
from citeforge.plugins.documents.corpus import PassagePool
from citeforge.plugins.documents.design import built_in_forms
from citeforge.plugins.documents.llm_requests import PromptedLlm
from citeforge.plugins.documents.question_specs import QuestionSpec
from citeforge.plugins.documents.questions import Evidence, Question, read_question
from citeforge.plugins.documents.source import DocumentFolder
from citeforge.plugins.documents.tables import question_column
from citeforge.plugins.labels.options import AnnotationOptions
from citeforge.plugins.labels.returned import import_sheets
from citeforge.plugins.labels.sheets import export_sheet
from citeforge.schemas.counts import count_key, count_name
from citeforge.schemas.finish_reasons import TRUNCATED
from citeforge.schemas.tables import CORPUS
from conftest import Inline, refused
from conftest_builders import load_with_datasets
from plugins.documents.builds import SINGLE, Built, built
from plugins.documents.village import (
    CAUGHT_BY,
    ERRORS,
    ErringLlm,
    entails,
    village,
    write_documents,
)
from stand_ins import RuleJudge

ONE = QuestionSpec(built_in_forms()["single"])


@pytest.fixture(scope="module")
def erring(tmp_path_factory: pytest.TempPathFactory) -> Built:
    folder = tmp_path_factory.mktemp("erring")
    write_documents(folder / "docs", 150)
    return built(folder, ErringLlm(), n_queries=68)


@pytest.mark.slow
def test_each_error_is_caught_by_its_check_and_no_sound_question_is(erring: Built) -> None:
    taken = Counter((r["error"], r["check"]) for r in erring.rows)
    errors = {e for some in ERRORS.values() for e in some}
    assert {e for e, _ in taken} == errors | {""}  # every error was made
    assert {(e, c) for e, c in taken if e} == {(e, CAUGHT_BY.get(e, e)) for e in errors}
    assert {c for e, c in taken if not e} == {None}
    accepted = Counter(r["form"] for r in erring.rows if r["accepted"])
    assert accepted == {"single": 17, "pair": 17, "list": 17, "absent": 17}


@pytest.mark.slow
def test_every_rejected_question_says_why(erring: Built) -> None:
    assert all(r["reason"] for r in erring.rows if not r["accepted"])
    counts = erring.manifest.counts
    by_check = Counter(r["check"] for r in erring.rows if r["check"])
    assert {count_key("questions_rejected", check): n for check, n in by_check.items()} == {
        key: n for key, n in counts.items() if count_name(key) == "questions_rejected"
    }
    assert counts["questions_written"] == len(erring.rows) == 68 + sum(by_check.values())


@pytest.mark.slow
def test_the_package_is_sound_and_its_gold_cites(erring: Built) -> None:
    assert verify(erring.folder) == []
    loaded = load_with_datasets(erring.folder, erring.folder.parent)
    assert loaded["questions"] == {"questions": len(erring.rows)}
    assert {"documents", "gold", "mapping", "contexts"} <= loaded.keys()
    benchmark = load(erring.folder)
    by_name = {v.name: v for v in map(village, range(150))}
    kinds = {r["_id"]: r for r in erring.rows}
    items = list(benchmark.items("mix"))
    assert len(items) == 68
    for item in items:
        row = kinds[item.query_id]
        if row["form"] == "absent":
            assert not any(p.is_relevant for p in item.passages)
            continue
        assert {p.id for p in item.passages if p.is_relevant} == set(row["evidence"])
        (answer,) = item.gold.answers
        assert list(answer.citations) == row["evidence"]
        names = [e.removesuffix(".md#1") for e in row["evidence"]]
        leader, crops = by_name[names[-1]].leader, by_name[names[0]].crops
        wanted = crops if row["form"] == "list" else (leader,)
        assert tuple(a for g in item.gold.qa_pairs for a in g.aliases) == wanted
    assert set(erring.manifest.config["prompts"]) == {"question", "answer", "evidence", "examples"}


@pytest.fixture(scope="module")
def sound(tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    folder = tmp_path_factory.mktemp("sound")
    write_documents(folder / "docs", 60)
    return load(built(folder, ErringLlm(errs=False), n_queries=40).folder)


def test_questions_without_an_answer_count_for_abstention_and_trust_alone(
    tmp_path: Path, sound: Benchmark
) -> None:
    benchmark = sound
    forms = question_column(benchmark, "form")
    refusal = "The passages do not answer this question."
    lines = []
    for item in benchmark.items("mix"):
        marks = "".join(f"[{n}]" for n, p in enumerate(item.passages, 1) if p.is_relevant)
        lines.append({"query_id": item.query_id, "output": f"So it is. {marks}".strip()})
    absent = [line for line in lines if forms[line["query_id"]] == "absent"]
    others = [line for line in lines if forms[line["query_id"]] != "absent"]
    assert (len(absent), len(others)) == (10, 30)
    absent[0]["output"] = others[0]["output"] = refusal
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    scores = score(tmp_path / "a.jsonl", benchmark)
    assert {
        m: scores[m].value for m in ("Abstain.R", "Abstain.Wrong", "Abstain.P", "Abstain.F1")
    } == {
        "Abstain.R": pytest.approx(100 * 1 / 10),
        "Abstain.Wrong": pytest.approx(100 * 1 / 30),
        "Abstain.P": pytest.approx(100 * 1 / 2),
        "Abstain.F1": pytest.approx(100 * 2 * 1 / (2 + 10)),
    }
    assert "refusals=rules-de,en,es,fr,it,nl,pt,zh@" in scores["Abstain.R"].signature
    # The right passages and nothing else are cited in 29 of the 30 that have an answer.
    assert scores["CiteF1"].value == pytest.approx(100 * 29 / 30)
    assert scores["CiteF1"].n == 30
    # Of 2 refused questions 1 has no answer, of 10 such questions; of 38 others 29 have one, of 30.
    trust = score(tmp_path / "a.jsonl", benchmark, ["Trust.Refusals"], judge=RuleJudge(entails))
    refused_rightly, answered_rightly = 2 * 1 / (2 + 10), 2 * 29 / (38 + 30)
    assert trust["Trust.Refusals"].n == 40
    assert trust["Trust.Refusals"].value == pytest.approx(
        100 * (refused_rightly + answered_rightly) / 2
    )
    # A missing answer is wrong either way.
    (tmp_path / "b.jsonl").write_text(json.dumps(others[1]) + "\n")
    missing = score(tmp_path / "b.jsonl", benchmark)
    assert missing["Abstain.R"].value == 0
    assert missing["Abstain.Wrong"].value == pytest.approx(100 * 29 / 30)


def test_sizes_of_contexts_do_not_tell_which_questions_have_no_answer(sound: Benchmark) -> None:
    shown = {item.query_id: item.passages for item in sound.items("mix")}
    assert {len(passages) for passages in shown.values()} == {3 + 3 + 3}
    absent = {name for name, passages in shown.items() if not any(p.is_relevant for p in passages)}
    assert len(absent) == 10
    # A guesser who calls the shorter of two contexts unanswerable; a tie is a toss.
    letters = {name: sum(len(p.text) for p in passages) for name, passages in shown.items()}
    pairs = [(letters[a], letters[q]) for a in absent for q in shown.keys() - absent]
    right = sum((one < other) + (one == other) / 2 for one, other in pairs) / len(pairs)
    # Half, give or take two standard errors of a rank sum: sqrt((10 + 30 + 1) / (12 * 10 * 30)).
    assert abs(right - 0.5) <= 2 * (41 / 3600) ** 0.5
    assert verify(sound.folder) == []


def test_of_few_documents_each_context_holds_all_that_every_question_has(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 4)
    shares = {"single": 1, "pair": 0, "lists": 0, "absent": 1}
    bench = load(built(tmp_path, ErringLlm(errs=False), n_queries=2, shares=shares).folder)
    assert [len(item.passages) for item in bench.items("mix")] == [5, 5]  # 4 villages, chronicle


def test_the_table_of_questions_is_read_once(
    sound: Benchmark, monkeypatch: pytest.MonkeyPatch
) -> None:
    benchmark = Benchmark(sound.folder)
    first = benchmark.unanswerable
    monkeypatch.setattr(benchmark, "table", None)
    assert benchmark.unanswerable is first
    assert first.sum() == 40 / 4


@pytest.mark.slow
def test_people_decide_what_the_models_could_not(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 12)
    for number in range(12):
        one = village(number)
        text = (
            f"Of {one.name} they say much. {one.leader} is old, and is led by the hand. So be it."
        )
        (tmp_path / "docs" / f"z-news-{one.name}.md").write_text(f"# News\n\n{text} {text[:40]}\n")
    built(tmp_path, ErringLlm(errs=False), n_queries=4, shares=SINGLE)
    sheet = tmp_path / "sheet.csv"
    options = AnnotationOptions(task="unsure-relevance", benchmark=tmp_path / "out", out=sheet)
    sheet_of = export_sheet(options)
    task, n = sheet_of.task, sheet_of.n_items
    package = Package(tmp_path / "out")
    unsure = package.table("mapping", "unsure").to_pylist()
    assert n == len(unsure) > 1
    shown = {
        (row["query_id"], d["corpus-id"])
        for row in package.context_table("mix").to_pylist() for d in row["docs"]
    }  # fmt: skip
    assert not shown & {(u["query-id"], u["corpus-id"]) for u in unsure}
    with sheet.open() as file:
        rows = list(csv.DictReader(file))
    key = json.loads((tmp_path / "sheet.csv.key.json").read_text())["items"]
    for number, row in enumerate(rows):
        row["label"] = task.labels[number % 2]
    with sheet.open("w") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    labels = tmp_path / "labels.jsonl"
    import_sheets([sheet], tmp_path / "sheet.csv.key.json", out=labels)
    (tmp_path / "again").mkdir()
    (tmp_path / "docs").rename(tmp_path / "again" / "docs")
    again = built(tmp_path / "again", ErringLlm(errs=False), n_queries=4, shares=SINGLE,
                  labels=(labels,))  # fmt: skip
    by_label = {label: {(key[r["item"]]["query_id"], key[r["item"]]["passage"]) for r in rows
                        if r["label"] == label} for label in task.labels}  # fmt: skip
    result = Package(again.folder)
    assert result.table("mapping", "unsure").num_rows == 0
    relevant = {(r["query-id"], r["corpus-id"]) for r in result.mappings["relevant"].to_pylist()}
    assert by_label["relevant"] <= relevant
    assert not by_label["not relevant"] & relevant
    assert again.manifest.counts["passages_people_call[relevant]"] == -(-n // 2)


def test_a_missing_key_is_told_before_documents_are_read(
    inline: Inline, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.md").write_text("# One\n\nA text.\n")
    source = ("--source", "folder:texts", "--llm", "openai:m")
    result = inline("build", "documents", *source, "--out", "made")
    assert (result.returncode, result.code) == (1, "missing-key"), result.stderr
    assert not list(tmp_path.rglob("*.parquet"))


def test_labels_of_another_build_are_refused(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 8)
    labels = tmp_path / "labels.jsonl"
    row = {"query_id": "q1", "question": "Who?", "passage": "x", "label": "relevant"}
    labels.write_text(json.dumps(row) + "\n")
    with refused("unknown-query", path=labels, line=1, field="query_id"):
        built(tmp_path, ErringLlm(errs=False), n_queries=2, shares=SINGLE, labels=(labels,))


@pytest.mark.slow
def test_other_passages_that_answer_are_relevant(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 12)
    for number in range(12):
        one = village(number)
        crops = ", ".join(one.crops[:2])
        text = (
            f"News of the year. The village of {one.name} lies as it ever lay. It is led by "
            f"{one.leader}, who is old. They bear {crops} and {one.crops[2]}. So said {one.name}."
        )
        (tmp_path / "docs" / f"z-news-{one.name}.md").write_text(f"# News\n\n{text}\n")
    llm = ErringLlm(errs=False)
    result = built(tmp_path, llm, n_queries=8, shares=SINGLE, seed=3)
    ours = [r for r in result.rows if r["accepted"] and "news" not in r["evidence"][0]]
    assert ours
    base = Base(result.folder)
    for row in ours:
        news = f"z-news-{row['evidence'][0]}"
        assert row["relevant"] == [news]
        assert base.relevant[row["_id"]] == [*row["evidence"], news]
        assert news not in {d["corpus-id"] for d in base.negatives[row["_id"]]}


@pytest.mark.slow
def test_without_a_judge_the_reader_looks_for_other_answers(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 12)
    llm = ErringLlm(errs=False)
    result = built(tmp_path, llm, judged=False, n_queries=3, shares=SINGLE)
    # For each: written, answered, 3 tries by heart, 12 other passages one by one, 5 together.
    assert len(llm.asked) == 3 * (1 + 1 + 3 + 12 + 1)
    assert "relevance judge" not in result.manifest.models


def test_no_accepted_question_says_what_took_them(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 8)
    llm = ErringLlm(fails=("question",))
    with refused("no-queries") as caught:
        built(tmp_path, llm, n_queries=4, asking={"tries": 2})
    assert "none of 8 questions was accepted (rejected by the checks: 8 format)" in str(
        caught.value
    )
    rows = [json.loads(x) for x in (tmp_path / "out.questions.jsonl").read_text().splitlines()]
    assert {r["reason"] for r in rows} == {"no reply (exhausted: no luck)"}
    assert not (tmp_path / "out").exists()


SET = "Quote: It is led by Ada\nQuestion: Who leads?\nAnswer: Ada\nStatement: Ada leads."


@pytest.mark.parametrize(
    "reply",
    [
        SET,
        f"Sure! Here it is:\n\n{SET}",
        f"{SET}\nQuote: More\nQuestion: Who else?\nAnswer: Bo",  # goes on with a second one
        "\n".join([SET] * 9),  # repeats itself
        SET.replace("Quote: ", '**Quote 1:** "').replace("Ada\nQuestion", 'Ada"\n\n- Question'),
    ],
)
def test_the_first_whole_question_of_a_reply_counts(reply: str) -> None:
    question = Question("q1", ONE, (Evidence("a", "A", "It is led by Ada."),))
    assert read_question(reply, question) is None
    assert (question.text, question.answers) == ("Who leads?", ["Ada"])
    assert (question.statement, question.quotes) == ("Ada leads.", ["It is led by Ada"])


@pytest.mark.parametrize(
    ("reply", "wrong"),
    [
        ("", "says nothing"),
        ("I'm sorry, but I cannot help with that.", "refuses"),
        ('{"question": "Who?"}', "has 0 questions"),
        ("Question: Who?\nQuestion: What?\nAnswer: Ada", "has 2 questions"),
        (SET.partition("Answer")[0], "has 0 answers where one is asked for"),
    ],
)
def test_a_reply_in_another_form_is_named(reply: str, wrong: str) -> None:
    question = Question("q1", ONE, (Evidence("a", "A", "It is led by Ada."),))
    assert (read_question(reply, question) or "").startswith(wrong)


def test_of_a_reply_that_was_cut_the_last_line_goes(tmp_path: Path) -> None:
    cut = LlmReply(f"{SET}\nQuote: It is l", finish_reason=TRUNCATED)

    class CutLlm(ErringLlm):
        def complete(self, requests: Sequence[Request]) -> list[Result]:
            return [cut for _ in requests]

    prompted_llm = PromptedLlm(CutLlm())
    question = Question("q1", ONE, (Evidence("a", "A", "It is led by Ada."),))
    (reply,) = prompted_llm.ask([prompted_llm.to_write(question)])
    assert reply.text == SET


@pytest.mark.parametrize(
    ("quote", "check"),
    [
        ("It’s led by Ada — of Ba", ""),  # other apostrophe, dash and emphasis
        ("it's led\nby ada of", ""),
        ("It's led by Bo", "quote"),
        ("led of Ba", "quote"),
        ("…", "quote"),
    ],
)
def test_words_of_a_quote_stand_in_the_passage_however_they_are_set(quote: str, check: str) -> None:
    passage = Evidence("a", "A", "**It's led** by Ada, of Ba.")
    question = Question("q1", ONE, (passage,), "Who rules?", ["Ada"], "Ada rules.", [quote])
    check_text(question, 7)
    assert question.check == check


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("大橋は千九百六十四年に完成しましたか", "copy"),  # 16 signs in a row are 8 words
        ("千九百六十四年に完成したのはどの橋ですか", None),  # 11 signs, so 5.5 words
    ],
)
def test_a_sign_of_a_script_without_spaces_is_half_a_word(text: str, check: str | None) -> None:
    passage = Evidence("a", "橋", "この大橋は千九百六十四年に完成しました。")
    statement = f"{text}。大橋。"
    question = Question("q1", ONE, (passage,), f"{text}？", ["大橋"], statement, ["大橋"])
    check_text(question, 7)
    assert (question.check == "copy") == (check == "copy")


def test_an_answer_in_the_words_of_the_question_gives_it_away() -> None:
    text = "You can make a benchmark of any questions."
    question = Question(
        "q1", ONE, (Evidence("a", "A", text),), "How can you make one, a benchmark of any?",
        ["You can make a benchmark"], "You can make a benchmark.", [text],
    )  # fmt: skip
    check_text(question, 9)
    assert question.check == "giveaway"


@pytest.mark.parametrize(
    ("text", "answer", "statement", "check"),
    [
        ("Who leads the village of Ada?", "Bea", "Bea", "statement"),
        ("Who leads the village of Ada?", "Bea", "The leader is Bea.", "statement"),  # of what?
        ("Who leads the village of Ada?", "Bea", "Bea leads Ada.", ""),
        ("誰が村を率いていますか？", "ベア", "村長はベアです。", ""),
    ],
)
def test_a_statement_names_what_is_asked(
    text: str, answer: str, statement: str, check: str
) -> None:
    evidence = (Evidence("p", "f", "Bea leads Ada. 村長はベアです。"),)
    question = Question("q0", ONE, evidence, text, [answer], statement, ["Bea leads Ada"])
    check_text(question, 9)
    assert question.check == check


def test_a_reader_that_fails_vouches_for_nothing(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 8)
    with refused("no-queries") as caught:
        built(tmp_path, ErringLlm(errs=False, fails=("answer",)), shares=SINGLE,
              asking={"tries": 2})  # fmt: skip
    assert "1 format, 7 answered with evidence" in str(caught.value)


def test_large_files_do_not_crowd_out_small_ones(tmp_path: Path) -> None:
    write_documents(tmp_path / "docs", 4)
    parts = "".join(f"\n## {v.name}\n\n{v.text}\n" for v in map(village, range(100, 200)))
    (tmp_path / "docs" / "large.md").write_text(f"# All\n{parts}")
    # Six files in turn: the four villages, the chronicle, the large one.
    batches = list(DocumentFolder(tmp_path / "docs").passages())
    write_table(tmp_path, "corpus", pa.Table.from_batches(batches, CORPUS))
    order = PassagePool(sorted(tmp_path.glob("corpus-*.parquet")), 0).order
    files = [name.partition("#")[0] for name in order]
    assert len(set(files[:6])) == 6
    assert files[6:] == ["large.md"] * 99


@pytest.mark.slow
def test_the_same_seed_gives_the_same_package(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_documents(tmp_path / name / "docs", 20)
    one, two = (
        built(tmp_path / n, ErringLlm(), n_queries=4).manifest.benchmark_hash
        for n in ("one", "two")
    )
    assert one == two
