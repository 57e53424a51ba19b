"""`build alce` from questions and a corpus."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.builders.alce.build import build_retrieved
from citeforge.builders.prompts import load_template, render_prompts
from citeforge.builders.verify import verify, wrong_candidates
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.llm.records import Failure, Request
from citeforge.package.manifest import load_manifest
from citeforge.package.package import Package
from citeforge.schemas.manifest import Manifest
from conftest import EXAMPLES, Inline, refused, run_options, write_beir, write_jsonl
from stand_ins import RuleJudge, RuleLlm

PASSAGES = {
    "old": "The old bridge of 1831 was sold and stands in a desert town of Arizona now.",
    "new": "The new bridge opened in 1973 and carries a road.",
    "both": "One bridge dates from 1831, the other from 1973.",
    "ship": "A ship sank in 1912.",
    "moon": "The moon has no bridge.",
}


def judge() -> JudgeSession:
    """Entailment is standing in the text, letter by letter."""
    return JudgeSession(RuleJudge(lambda premise, claim: claim.rstrip(".") in premise))


def items(path: Path, *rows: dict[str, Any]) -> str:
    path.write_text(json.dumps(list(rows)))
    return f"alce:{path}"


def corpus(folder: Path, passages: dict[str, str] = PASSAGES) -> str:
    return f"beir:{write_beir(folder, passages, {'q': 'x'}, [('q', next(iter(passages)), 1)])}"


BRIDGE = {
    "sample_id": "b",
    "question": "When did the old and the new bridge open?",
    "qa_pairs": [
        {"question": "the old one?", "short_answers": ["1831"]},
        {"question": "the new one?", "short_answers": ["1973", "year 73"]},
    ],
}
SHIP = {"sample_id": "s", "question": "When did the ship sink?", "claims": [], "qa_pairs": [
    {"question": "when?", "short_answers": ["1912"]}]}  # fmt: skip


def ids(package: Path, context: str) -> dict[str, list[str]]:
    return {i.query_id: [p.id for p in i.passages] for i in Package(package).items(context)}


def build(tmp_path: Path, **more: Any) -> Manifest:
    given = {"source": items(tmp_path / "q.json", BRIDGE, SHIP), "corpus": corpus(tmp_path / "c")}
    recipe = cf.AlceRecipe.model_validate({**given, "licence": "mit", "k": 1, **more})
    return build_retrieved(recipe, run_options(tmp_path / "out"), judge=more.get("judge"))


def test_questions_and_a_corpus_become_a_benchmark(tmp_path: Path) -> None:
    manifest = build(tmp_path)
    out = tmp_path / "out"
    assert verify(out) == []
    stats = json.loads((out / "stats.json").read_text())
    # "both" alone holds 1831 and 1973; for the ship there is one passage.
    assert ids(out, "oracle") == {"b": ["both"], "s": ["ship"]}
    first = {q: result[0].docid for q, result in Package(out).candidates().items()}
    assert ids(out, "top1") == {q: [name] for q, name in first.items()}
    assert first["s"] == "ship"
    short = {"old": 1, "new": 1, "both": 2}[first["b"]]
    assert stats["recall_mean[bm25][@1][short answers]"] == round((short / 2 + 1) / 2, 4)
    assert stats["recall_mean[oracle][@1][short answers]"] == 1.0
    assert stats["oracle_recall_of_all_candidates_share"] == 1.0
    mapping = Package(out).mappings["relevant"].to_pylist()
    assert {(r["query-id"], r["corpus-id"]): json.loads(r["short_answers"]) for r in mapping} == {
        ("b", "old"): ["1831"],
        ("b", "new"): ["1973"],
        ("b", "both"): ["1831", "1973"],
        ("s", "ship"): ["1912"],
    }
    assert manifest.models["retriever bm25"]["variant"] == "lucene"
    assert manifest.config["candidates"] == ["bm25"]
    with refused("unknown-name", value="dense"):
        Package(out).candidates("dense")


def test_the_corpus_is_cut_and_kept_whole_when_asked(tmp_path: Path) -> None:
    manifest = build(tmp_path, chunk=4, passages="all")
    texts = {
        row["_id"]: row["text"]
        for batch in Package(tmp_path / "out").passages()
        for row in batch.to_pylist()
    }
    assert texts["ship#0"] == "A ship sank in"
    assert texts["ship#1"] == "1912."
    assert {name.split("#")[0] for name in texts} == set(PASSAGES)
    assert manifest.sources[1].counts["passages_after_cutting"] == len(texts)
    # No word of the question stands beside the year: nothing that is retrieved holds the answer.
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    assert ids(tmp_path / "out", "oracle")["s"] == ["ship#0"]
    assert stats["oracle_recall_of_all_candidates_share"] == 1.0


def test_runs_and_bm25_side_by_side(tmp_path: Path) -> None:
    run = tmp_path / "mine.txt"
    run.write_text("b Q0 moon 1 2 t\nb Q0 new 2 1 t\ns Q0 ship 1 1 t\n")
    manifest = build(tmp_path, retrieving={"retrievers": (f"run:{run}", "bm25")})
    assert ids(tmp_path / "out", "top1") == {"b": ["moon"], "s": ["ship"]}
    assert ids(tmp_path / "out", "oracle") == {"b": ["new"], "s": ["ship"]}
    package = Package(tmp_path / "out")
    assert [(r.docid, r.rank, r.score) for r in package.candidates()["b"]] == [
        ("moon", 1, 2.0), ("new", 2, 1.0),
    ]  # fmt: skip
    assert package.candidates("bm25")["s"][0].docid == "ship"
    assert manifest.config["candidates"] == ["run_mine", "bm25"]
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    assert stats["recall_mean[run_mine][@1][short answers]"] == (0 / 2 + 1) / 2


def test_judged_passages_stand_in_where_there_are_no_answers(tmp_path: Path) -> None:
    judged = [("q", "ship", 1), ("q", "new", 1)]
    beir = f"beir:{write_beir(tmp_path / 'x', PASSAGES, {'q': 'a ship on the moon'}, judged)}"
    build(tmp_path, source=beir, corpus=beir)
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    assert ids(tmp_path / "out", "oracle") == {"q": ["ship"]}
    assert stats["recall_mean[oracle][@1][judged passages]"] == 1 / 2
    assert {r["corpus-id"] for r in Package(tmp_path / "out").mappings["relevant"].to_pylist()} == {
        "ship", "new",
    }  # fmt: skip


def test_answers_in_the_metadata_of_queries_are_gold(tmp_path: Path) -> None:
    folder = write_beir(
        tmp_path / "x", PASSAGES, {"q": "When did the ship sink?"}, [("q", "moon", 1)]
    )
    row = {"_id": "q", "text": "When did the ship sink?", "metadata": {"answers": ["1912", "12"]}}
    write_jsonl(folder / "queries.jsonl", [row])
    build(tmp_path, source=f"beir:{folder}")
    [gold] = Package(tmp_path / "out").gold.to_pylist()
    assert (gold["kind"], gold["aliases"]) == ("qa_pair", ["1912", "12"])
    write_jsonl(folder / "queries.jsonl", [{**row, "metadata": {"answers": [["1912"], 7]}}])
    with refused("wrong-value", path=f"beir:{folder}", field="metadata.answers"):
        recipe = cf.AlceRecipe(source=f"beir:{folder}", corpus=f"beir:{folder}")
        cf.build(recipe, tmp_path / "n")


ANSWER = "The old bridge opened in 1831. The new bridge opened in 1973."
LONG = {"sample_id": "b", "question": BRIDGE["question"], "claims": [], "answer": ANSWER}


def test_sub_claims_are_kept_when_the_answer_entails_them(tmp_path: Path) -> None:
    claims = "1. The new bridge opened in 1973.\n2. The bridges are red.\n"
    llm = RuleLlm(lambda request: claims)
    recipe = cf.AlceRecipe.model_validate({
        "source": items(tmp_path / "q.json", LONG), "corpus": corpus(tmp_path / "c"),
        "k": 1, "writing": {"llm": "openai:m", "sub_claims": 3}, "judging": {"judge": "lexical"},
    })  # fmt: skip
    manifest = build_retrieved(recipe, run_options(tmp_path / "out"), llm, judge())
    gold = Package(tmp_path / "out").gold_rows[0]
    assert [g.text for g in gold.claims] == ["The new bridge opened in 1973."]
    assert manifest.counts == {
        "subclaims_written": 2,
        "subclaims_missing": 1,
        "subclaims_kept": 1,
        "subclaims_not_entailed": 1,
    }
    # Only "new" holds the claim, whatever its rank.
    assert ids(tmp_path / "out", "oracle") == {"b": ["new"]}
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    assert stats["recall_mean[oracle][@1][claims]"] == 1.0
    assert set(manifest.config["prompts"]) == {"subclaims"}
    assert manifest.models["writer"] == {"name": "rule"}
    assert ANSWER in llm.asked[0].messages[0][1]


def test_summaries_and_snippets_stand_for_passages(tmp_path: Path) -> None:
    def reply(request: Request) -> str | Failure:
        text = request.values["text"]
        if "moon" in text or "ship" in text:
            return "irrelevant"
        if text.startswith("The new"):
            return Failure("empty", "nothing")
        return "1831" if request.task == "summary" else "sold and stands in"

    recipe = cf.AlceRecipe.model_validate({
        "source": items(tmp_path / "q.json", BRIDGE), "corpus": corpus(tmp_path / "c"),
        "writing": {"llm": "openai:m", "condense": "summary,snippet", "condense_k": 1},
    })  # fmt: skip
    manifest = build_retrieved(recipe, run_options(tmp_path / "out"), RuleLlm(reply))
    package = Package(tmp_path / "out")
    assert verify(tmp_path / "out") == []
    [item] = package.items("summary", show="summary")
    assert [p.text for p in item.passages] == ["1831"]
    ((_, prompt),) = render_prompts(package, "summary", load_template("rage"), "summary")
    assert "1831" in prompt
    assert PASSAGES[item.passages[0].id] not in prompt
    [full] = package.items("summary")
    assert [p.text for p in full.passages] == [PASSAGES[item.passages[0].id]]
    assert manifest.counts["condensed_passages_that_the_writer_failed_on[summary]"] == 1
    assert manifest.counts["condensed_passages_irrelevant[summary]"] == 1
    # A passage without a summary is shown in full where its set is not that of the summaries.
    shown = {p.id: p.text for i in package.items("top5", show="summary") for p in i.passages}
    assert shown["new"] == PASSAGES["new"]
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    # Of "old" and "both" only the first has these words.
    assert stats["snippet_verbatim_share"] == 1 / 2
    words = len(PASSAGES["old"].split()) + len(PASSAGES["both"].split())
    assert stats["condensed_words_of_the_passage_per_word[summary]"] == words / 2
    with refused("unknown-name", value="extraction"):
        next(package.items("summary", show="extraction"))


def test_oracle_of_the_documents_that_items_bring(tmp_path: Path) -> None:
    docs = [{"id": i, "title": "", "text": t} for i, t in PASSAGES.items()]
    source = items(tmp_path / "q.json", {**BRIDGE, "docs": docs})
    cf.build(cf.AlceRecipe(source=source, k=1, oracle=True), tmp_path / "out")
    assert ids(tmp_path / "out", "top1") == {"b": ["old"]}
    assert ids(tmp_path / "out", "oracle") == {"b": ["both"]}
    plain = cf.build(cf.AlceRecipe(source=source, k=1), tmp_path / "plain")
    assert plain.contexts == ["top1"]
    assert Package(tmp_path / "plain").candidates() == {"b": []}


def test_verify_tells_of_candidates_that_do_not_fit(tmp_path: Path) -> None:
    build(tmp_path)
    out = tmp_path / "out"
    table = Package(out).table("candidates", "bm25")
    rows = [*table.to_pylist(), {"query_id": "x", "corpus-id": "gone", "rank": 3, "score": 1.0}]
    rows.append(rows[0])
    (path,) = (out / "candidates").glob("*.parquet")
    pq.write_table(pa.Table.from_pylist(rows, schema=table.schema), path)
    result = [
        text for _, text in wrong_candidates(Package(out, load_manifest(out), check_tables=False))
    ]
    assert result[0] == "names the query 'x', which is not in queries"
    assert result[1] == "names the passage 'gone', which is not in corpus"
    assert "twice" in result[2]
    assert result[3] == "query 'x' has rank 3 after 0"
    assert "has rank 1 after" in result[4]
    assert len(result) == 5


def test_a_judge_labels_the_documents_of_eli5(tmp_path: Path) -> None:
    docs = [{"id": i, "title": "", "text": t} for i, t in PASSAGES.items()]
    source = items(tmp_path / "q.json", {**LONG, "docs": docs, "claims": ["A ship sank in 1912."]})
    recipe = cf.AlceRecipe.model_validate({"source": source, "judging": {"judge": "lexical"}})
    assert not recipe.is_plain
    build_retrieved(recipe, run_options(tmp_path / "out"), judge=judge())
    (item,) = Package(tmp_path / "out").items("top5")
    assert [p.id for p in item.passages] == list(PASSAGES)
    assert [p.id for p in item.passages if p.is_relevant] == ["ship"]


def test_answers_without_claims_are_enough_for_sub_claims(tmp_path: Path) -> None:
    docs = [{"id": i, "title": "", "text": t} for i, t in PASSAGES.items()]
    row = {"question": "When did the new bridge open?", "answer": ANSWER, "docs": docs}
    recipe = cf.AlceRecipe.model_validate({
        "source": f"{items(tmp_path / 'q.json', row)}#eli5", "oracle": True, "k": 1,
        "writing": {"llm": "openai:m", "sub_claims": 1}, "judging": {"judge": "lexical"},
    })  # fmt: skip
    llm = RuleLlm(lambda request: "The new bridge opened in 1973")
    build_retrieved(recipe, run_options(tmp_path / "out"), llm, judge())
    assert [*ids(tmp_path / "out", "oracle").values()] == [["new"]]


BAD: list[tuple[dict[str, Any], str]] = [
    ({"corpus": None, "chunk": 5}, "--chunk requires --corpus"),
    ({"chunk": 0}, "greater than or equal to 1"),
    ({"writing": {"sub_claims": 3}}, "--llm requires --sub-claims"),
    ({"writing": {"llm": "openai:m"}}, "--llm requires --sub-claims"),
    ({"writing": {"llm": "openai:m", "sub_claims": 3}}, "needs --judge"),
    ({"writing": {"llm": "openai:m", "condense": "extract"}}, "unknown form"),
    ({"corpus": None, "retrieving": {"retrievers": ("dense",)}}, "--retriever requires --corpus"),
]


@pytest.mark.parametrize(("more", "message"), BAD)
def test_what_does_not_go_together_is_refused(more: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        cf.AlceRecipe.model_validate({"source": "alce:q.json", "corpus": "beir:c", **more})


def test_questions_of_other_sources_need_a_corpus(tmp_path: Path) -> None:
    with refused("missing-option", cf.UsageError):
        cf.build(cf.AlceRecipe(source="beir:c", oracle=True), tmp_path / "out")


def test_inputs_without_gold_words_or_passages(tmp_path: Path) -> None:
    with refused("too-few", path="bm25") as caught:
        build(tmp_path, corpus=corpus(tmp_path / "n", {"a": "unlike them all"}))
    assert "finds nothing for any of 2 questions" in str(caught.value)
    with refused("empty-file"):
        build(tmp_path, corpus=corpus(tmp_path / "m", {"a": " "}), skip_empty=True)
    run = tmp_path / "run.txt"
    run.write_text("b Q0 nowhere 1 1 t\n")
    with refused("unknown-id", path=run, line=1):
        build(tmp_path, retrieving={"retrievers": (f"run:{run}",)})
    for name, row in (("n", {"question": "Why?", "claims": []}), ("l", LONG)):
        source = items(tmp_path / f"{name}.json", row)
        with refused("no-relevant", path=source):
            build(tmp_path, source=source)


@pytest.mark.numeric
def test_dense_retrieval_beside_bm25(tmp_path: Path) -> None:
    manifest = build(tmp_path, retrieving={"retrievers": ("dense", "bm25"), "depth": 3})
    result = Package(tmp_path / "out").candidates("dense")
    assert [len(row) for row in result.values()] == [3, 3]
    assert result["s"][0].docid == "ship"
    assert manifest.models["retriever dense"]["search"] == "exact, cosine"
    stats = json.loads((tmp_path / "out" / "stats.json").read_text())
    assert stats["recall_mean[dense][@1][short answers]"] >= 1 / 2  # the ship's


def test_the_command_builds_resumes_and_rebuilds(tmp_path: Path, inline: Inline) -> None:
    source = f"alce:{EXAMPLES / 'answers' / 'asqa.json'}"
    facts = f"beir:{EXAMPLES / 'facts'}"
    args = ("build", "alce", "--source", source, "--corpus", facts, "--chunk", "10", "--out", "o")
    result = inline.ok(*args)
    assert "bm25: recall@5 of short answers, mean" in result.stdout
    inline.ok(*args, "--resume")
    result = inline.fails(1, "recipe-changed", *args, "--resume", "--depth", "7")
    assert "retrieving.depth: 100 → 7" in result.stderr
    assert cf.rebuild(tmp_path / "o", tmp_path / "again", trust=True).equal
