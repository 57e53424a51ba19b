"""ALCE's systems and what is edited afterwards, against the scripted endpoint."""

import json
import re
from pathlib import Path
from re import escape as literal

import pytest

import citeforge as cf
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.retrieval.bm25 import Bm25
from citeforge.engines.running.names import make_judge
from citeforge.plugins.published_systems import alce_options as o
from citeforge.plugins.published_systems.demonstrations import (
    BUILT_IN_EXAMPLES,
    read_demonstrations,
)
from citeforge.systems.registry import get_system
from citeforge.systems.run import run_system
from conftest import refused
from servers.endpoint import Endpoint
from stand_ins import RuleLlm


def test_vanilla_shows_k_passages_and_the_examples_of_its_run(endpoint: Endpoint) -> None:
    options = o.AlceOptions(k=3, shots=1, temperature=0.0)
    ran, rows, prompts = endpoint("vanilla", [[".", "So it is [2]."]], options, runs=3)
    assert ran.answers == 9
    assert len(prompts) == 9
    pool = read_demonstrations(BUILT_IN_EXAMPLES)
    shown = [[d.question for d in pool if d.question in p] for p in prompts]
    assert all(len(result) == 1 for result in shown)
    assert len({result[0] for result in shown}) > 1  # another run, another draw
    item = next(iter(endpoint.benchmark.items("mix")))
    mine = next(p for p in prompts if f"Question: {item.query}\n" in p)
    last = mine.split("Question: ")[-1]
    assert "Document [3]" in last and "Document [4]" not in last
    assert item.passages[0].text in last
    assert mine.endswith("Answer:")
    assert rows[0] == {"query_id": item.query_id, "output": "So it is [2].", "run": 0,
                       "context": "mix"}  # fmt: skip
    endpoint.accepted()
    short = o.AlceOptions(k=3, shots=0, instruction="short")
    _, _, brief = endpoint("vanilla", [[".", "So it is [2]."]], short)
    assert max(map(len, brief)) < min(map(len, prompts))


def test_summaries_leave_out_what_does_not_help_and_keep_numbers(endpoint: Endpoint) -> None:
    first = next(iter(endpoint.benchmark.items("mix")))
    replies = [
        [
            f"{literal(first.query)}.*{literal(first.passages[0].text[:20])}.*Summary:$",
            "Irrelevant.",
        ],
        ["Summary:$", "What helps."],
        ["Stretch of text:$", "irrelevant"],
        [".", "It is so [2]."],
    ]
    ran, _, prompts = endpoint("summ", replies, o.CondensedOptions(shots=0), runs=2)
    assert ran.counts["passages_without_a_short_version"] == 2  # in both runs
    n = sum(min(10, len(i.passages)) for i in list(endpoint.benchmark.items("mix"))[:3])
    assert sum(p.endswith("Summary:") for p in prompts) == n  # one for both runs
    mine = next(p for p in prompts if p.endswith("Answer:") and first.query in p)
    assert "Document [1]" not in mine
    assert "Document [2]" in mine and ": What helps." in mine
    endpoint.accepted()
    # Nothing helps: the question is asked all the same, without a passage, and that is said.
    ran, rows, prompts = endpoint("snippet", replies, o.CondensedOptions(shots=0))
    assert ran.counts["queries_without_a_passage"] == 3
    assert len(rows) == 3
    assert all("Document [1]" not in p for p in prompts if p.endswith("Answer:"))


INTERACT = [
    ["Summary:$", "What helps."],
    ["Output:$", "It is so [1]."],
    ["Output: It is so \\[1\\]\\.\n$", "End"],
    ["Answer:\n$", "Check: Document [1][99][2][3][4]"],
]


def test_interact_checks_three_documents_and_shows_them_once(endpoint: Endpoint) -> None:
    ran, rows, prompts = endpoint("interact", INTERACT, o.InteractOptions(shots=0))
    assert {r["output"] for r in rows} == {"It is so [1]."}
    check_line = "Check: Document [1][99][2][3][4]"
    steps = [check_line, "Output: It is so [1].", "End"][:2]
    assert rows[0]["meta"] == {"steps": steps}
    assert ran.counts["invented_document_numbers"] == 3
    item = next(iter(endpoint.benchmark.items("mix")))
    mine = [p for p in prompts if f"Question: {item.query}\n" in p and "Summary:" not in p]
    seen = next(p for p in mine if p.endswith("Output:"))
    assert [p.text in seen for p in item.passages[:4]] == [True, True, True, False]
    after = next(p for p in mine if p.endswith("Output: It is so [1].\n"))
    assert not any(p.text in after for p in item.passages)
    endpoint.accepted()


NO_STEP = "answers_that_ended_without_a_step"


@pytest.mark.parametrize(
    ("replies", "output", "told"),
    [
        # Never says "End": the answer ends with the turns.
        ([["Output: (\\d)\\.\n$", "Output: more."], ["Output: more\\.\n$", "Output: 2."],
          [".", "Output: 1."]], "1. more. 2. more.", "answers_without_an_end"),
        ([[".", "Output: again."]], "again.", "answers_that_ended_with_a_repeated_step"),
        ([[".", "Die Antwort ist blau."]], "", NO_STEP),
        ([[".", "Sorry, I found no relevant documents."]], "", NO_STEP),
    ],
)  # fmt: skip
def test_models_that_do_not_keep_to_the_steps(
    endpoint: Endpoint, replies: list[list[str]], output: str, told: str
) -> None:
    options = o.InteractOptions(shots=0, turns=4)
    ran, rows, _ = endpoint("interact", [["Summary:$", "Helps."], *replies], options)
    assert {r["output"] for r in rows} == {output}
    assert ran.counts[told] == 3
    endpoint.accepted()


def test_bare_sentences_are_taken_where_that_is_asked_for(endpoint: Endpoint) -> None:
    """What small models say: sentences without a step's name, and then the same for ever."""
    replies = [
        ["Answer:\n$", "It is so [1]."],
        ["Output: It is so \\[1\\]\\.\n$", "And so."],
        ["Output: And so\\.\n$", "And so."],
    ]
    ran, rows, _ = endpoint("inline-search", replies, o.SearchOptions(shots=0, bare=True))
    assert {r["output"] for r in rows} == {"It is so [1]. And so."}
    assert ran.counts["answers_that_ended_with_a_repeated_step"] == len(rows)
    ran, rows, _ = endpoint("inline-search", replies, o.SearchOptions(shots=0))
    assert {r["output"] for r in rows} == {""}
    assert ran.counts[NO_STEP] == len(rows)


def test_documents_that_are_named_bare_are_checked(endpoint: Endpoint) -> None:
    """What a small model says of the step that would show it."""
    replies = [
        ["Summary:$", "Helps."],
        ["Answer:\n$", "Document [1], [2]."],
        ["Output:$", "It is so [1]."],
        ["Output: It is so \\[1\\]\\.\n$", "Document [2] says more."],
        [".", "End"],
    ]
    ran, rows, prompts = endpoint("interact", replies, o.InteractOptions(shots=0, bare=True))
    assert {r["output"] for r in rows} == {"It is so [1]. Document [2] says more."}
    said = ["It is so [1].", "Document [2] says more."]
    steps = ["Check: Document [1], [2].", *(f"Output: {x}" for x in said)]
    assert rows[0]["meta"] == {"steps": steps}
    item = next(iter(endpoint.benchmark.items("mix")))
    seen = next(p for p in prompts if f"Question: {item.query}\n" in p and p.endswith("Output:"))
    assert [p.text in seen for p in item.passages[:3]] == [True, True, False]
    ran, rows, _ = endpoint("interact", replies, o.InteractOptions(shots=0))
    assert ran.counts[NO_STEP] == len(rows)
    endpoint.accepted()


def test_inline_search_brings_its_own_passages(endpoint: Endpoint) -> None:
    items = list(endpoint.benchmark.items("mix"))[:3]
    replies = [
        *([f"{literal(i.query)}.*Answer:\n$", f"Search: {i.query}"] for i in items),
        ["Output:$", "It is so [1]."],
        [".", "End"],
    ]
    _, rows, prompts = endpoint("inline-search", replies, o.SearchOptions(shots=1))
    assert {r["output"] for r in rows} == {"It is so [1]."}
    assert all(len(r["passages"]) == 1 and "context" not in r for r in rows)
    for item, row in zip(items, rows, strict=True):
        seen = next(p for p in prompts if item.query in p and p.endswith("Output:"))
        assert f"Document [1] (Title: {row['passages'][0]['title']}): " in seen
        best = Bm25.from_corpus(endpoint.benchmark.corpus).rank({"": item.query}, 1)[""][0].docid
        assert row["passages"][0]["docid"] == best
    endpoint.accepted(("Length",), context="own")


def test_a_search_that_finds_nothing_still_leads_to_an_answer(endpoint: Endpoint) -> None:
    replies = [["Answer:\n$", "Search: zzqx"], ["Output:$", "Nobody knows."], [".", "End"]]
    ran, rows, _ = endpoint("inline-search", replies, o.SearchOptions(shots=0))
    assert ran.counts["searches_that_found_nothing"] == 3
    assert {r["output"] for r in rows} == {"Nobody knows."}
    assert all(r["passages"] == [] for r in rows)
    endpoint.accepted(("Length",), context="own")


def test_closed_book_shows_nothing_and_post_cite_cites(endpoint: Endpoint) -> None:
    items = list(endpoint.benchmark.items("mix"))[:3]
    texts = [i.passages[-1].text for i in items]
    replies = [
        [f"Question: {literal(i.query)}\n\nAnswer:$", t] for i, t in zip(items, texts, strict=True)
    ]
    plain = o.ShotOptions(shots=1)
    _, rows, prompts = endpoint("closed-book", replies, plain)
    assert [r["output"] for r in rows] == texts
    assert not any("Document [" in p for p in prompts)
    ran, rows, _ = endpoint("closed-book", replies, o.ShotOptions(shots=1, post_cite=True))
    # What repeats a passage word for word is nearest to that passage.
    for item, row in zip(items, rows, strict=True):
        assert f"[{len(item.passages)}]" in row["output"]
    assert ran.counts["statements_cited_afterwards"] >= 3
    endpoint.accepted()
    cited = [[".", "First it was. Then it is so [1]! And more"]]
    _, rows, _ = endpoint("closed-book", cited, o.ShotOptions(shots=0, post_cite=True))
    assert "Then it is so [1]!" in rows[0]["output"]  # cited already
    assert rows[0]["output"].startswith("First it was [")
    assert rows[0]["output"].count("[") == 3


def test_rerank_keeps_the_answer_with_the_best_citation_recall(endpoint: Endpoint) -> None:
    """The server says one thing to every draw, so the draws come from a store of four."""
    item = next(iter(endpoint.benchmark.items("mix")))
    draws = ["Nothing of it [1].", "", f"{item.passages[0].text} [1]", "No [2]."]
    llm = RuleLlm(lambda request: draws[request.sample % len(draws)])
    judge = JudgeSession(make_judge("lexical"))
    out = endpoint.folder / "r.jsonl"
    options = o.AlceOptions(shots=0, rerank=4)
    ran = run_system(
        get_system("vanilla"), endpoint.benchmark, ["mix"], 2, 0, out, llm=llm, judge=judge,
        options=options, limit=1,
    )  # fmt: skip
    rows = [json.loads(x) for x in out.read_text().splitlines()[1:]]
    assert ran.answers == 2
    assert [r["output"] for r in rows] == [draws[2]] * 2
    assert [request.sample for request in llm.asked] == list(range(8))
    for asked, heat, code in ((None, 0.5, "missing-judge"), (judge, 0.0, "conflicting-options")):
        cold = o.AlceOptions(rerank=4, temperature=heat)
        with refused(code, cf.UsageError):
            run_system(
                get_system("vanilla"), endpoint.benchmark, ["mix"], 1, 0, out, llm=llm,
                options=cold, judge=asked,
            )  # fmt: skip


DEMO = """- question: Q?
  passages: [{title: T, text: P.}]
  answer: [{text: "A [1]."}, {text: "B [%s]."}]
"""


@pytest.mark.parametrize(
    ("content", "code", "field"),
    [
        (DEMO % 2, "wrong-value", "0"),
        (DEMO % 0, "wrong-value", "0"),
        ("a: [", "bad-yaml", None),
        ("- question: " + "9" * 5000, "bad-yaml", None),
        ("[]", "wrong-type", None),
        ("- {question: Q, passages: [{text: P.}], answer: A.}", "wrong-type", "0.answer"),
        ("- question: Q?\n  passages: []\n  answer: [{text: A.}]\n", "wrong-value", "0.passages"),
    ],
)
def test_demonstrations_that_are_wrong_are_refused(
    tmp_path: Path, content: str, code: str, field: str | None
) -> None:
    path = tmp_path / "demos.yaml"
    path.write_text(content)
    with refused(code, path=path, field=field):
        read_demonstrations(path)


def test_the_demonstrations_of_alce_follow_the_data_set(tmp_path: Path) -> None:
    docs = [{"title": "T", "text": "P.", "extraction": "P"}, {"title": "U", "text": "R."}]
    answers = {"asqa": "It is so [1]. It was so [1][2].", "qampari": "One [1], Two [2]."}
    demos = {n: [{"question": "Q?", "answer": a, "docs": docs}] for n, a in answers.items()}
    path = tmp_path / "demos.json"
    path.write_text(json.dumps(demos))
    for name, answer in answers.items():
        (demo,) = read_demonstrations(path, name)
        assert demo.text(1) == answer
        assert demo.text(0) == re.sub(r"\d", lambda m: str(int(m[0]) - 1), answer)
        assert len(demo.answer) == {"asqa": 2, "qampari": 1}[name]
        assert [(d.title, d.text) for d in demo.docs(1, 1)] == [("T", "P."), ("U", "R.")]
    for name, what in (("eli5", "of eli5"), ("", "of none of ALCE's data sets")):
        with refused("missing-field", path=path) as caught:
            read_demonstrations(path, name)
        assert f"contains asqa, qampari; the benchmark is {what}" in str(caught.value)
    # ALCE's prompt files, of one data set each; those of interact write steps.
    path.write_text(json.dumps({"instruction": "Write.", "demos": demos["qampari"]}))
    assert read_demonstrations(path, "qampari")[0].text(1) == answers["qampari"]
    steps = "Check: Document [1]\nOutput: It is so [1].\nEnd"
    path.write_text(json.dumps([{"question": "Q?", "answer": steps, "docs": docs}]))
    with refused("wrong-value", path=path, field="0"):
        read_demonstrations(path)


@pytest.mark.parametrize("data_set", ["qampari", ""])
def test_a_run_says_which_demonstrations_it_draws_from(
    endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, data_set: str
) -> None:
    monkeypatch.setattr(cf.Benchmark, "data_set", data_set)
    llm = RuleLlm(lambda request: "So [1].")
    ran = run_system(
        get_system("vanilla"), endpoint.benchmark, ["mix"], 1, 0, endpoint.folder / "d", llm=llm,
        options=o.AlceOptions(shots=1), limit=1,
    )  # fmt: skip
    hint = "; QAMPARI's are lists: see --demos" if data_set else ""
    said = f"worked_examples[built in; their answers are sentences{hint}]"
    assert ran.counts[said] == len(read_demonstrations(BUILT_IN_EXAMPLES)) == 4


def test_demonstrations_show_what_they_cite_and_are_no_questions_of_the_benchmark(
    endpoint: Endpoint, tmp_path: Path
) -> None:
    for demo in read_demonstrations(BUILT_IN_EXAMPLES):
        assert 1 <= demo.last_cited <= len(demo.docs(1, 1)) < len(demo.passages) + 1
        assert demo.text(0) != demo.text(1)
    query = next(iter(endpoint.benchmark.items("mix"))).query
    path = tmp_path / "demos.yaml"
    path.write_text((DEMO % 1).replace("Q?", json.dumps(query)))
    options = o.AlceOptions(shots=1, demos=path)
    with refused("too-few", cf.UsageError):
        endpoint("vanilla", [], options)


def test_a_benchmark_without_oracle_says_so(endpoint: Endpoint) -> None:
    llm = RuleLlm(lambda request: "x")
    with refused("unknown-context", cf.UsageError):
        run_system(
            get_system("oracle"), endpoint.benchmark, [], 1, 0, endpoint.folder / "x", llm=llm,
        )  # fmt: skip


def test_what_is_promised_says_how_many_calls_may_follow(
    endpoint: Endpoint, capsys: pytest.CaptureFixture[str]
) -> None:
    _, rows, _ = endpoint("interact", INTERACT, o.InteractOptions(shots=0, turns=4))
    assert f"; later rounds: {4 * len(rows)} requests at most\n" in capsys.readouterr().err
