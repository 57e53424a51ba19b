"""Citations over a retriever of one's own get CiteP and CiteR from the benchmark's judgements."""

import json
from pathlib import Path
from typing import Any, get_args

import pytest

import citeforge as cf
from citeforge.schemas.recipes.command_options import Protocol
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused, write_jsonl


def scored(path: Path, benchmark: cf.Benchmark, protocol: Protocol = "strict") -> ScoreFile:
    return cf.score(path, benchmark, ["rage"], protocol=protocol).file


def warnings(path: Path, benchmark: cf.Benchmark) -> dict[str, str]:
    """Codes to texts of what ``check`` and ``score`` warn of, without the missing answers."""
    found = {f.code: str(f) for f in cf.check(path, benchmark).warnings}
    found.pop("missing-answer", None)
    told = [text for text in scored(path, benchmark).warnings if "answers missing" not in text]
    assert told == list(found.values())
    assert found.pop("missing-hash")
    return found


def values(result: ScoreFile) -> dict[str, float | None]:
    return {m.name: m.value for m in result.measures}


def others(benchmark: cf.Benchmark, row: int) -> list[str]:
    relevant = set(benchmark.relevant_ids[row])
    return [name for name in benchmark.context("mix").ids_of(row) if name not in relevant]


def answer(benchmark: cf.Benchmark, row: int, output: str, ids: list[Any]) -> dict[str, Any]:
    texts = benchmark.texts([name for name in ids if name])
    shown = [{"docid": name, "text": texts.get(name, ("", "text of it"))[1]} for name in ids]
    return {"query_id": benchmark.query_ids[row], "output": output, "passages": shown}


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_the_context_brought_along_scores_as_the_context(
    package: Path, tmp_path: Path, benchmark: cf.Benchmark, protocol: Protocol
) -> None:
    cf.run("random", package, tmp_path / "r.jsonl")
    _, *lines = (tmp_path / "r.jsonl").read_text().splitlines()
    rows = [json.loads(line) for line in lines][:25]
    write_jsonl(tmp_path / "frozen.jsonl", rows)
    table = benchmark.context("mix")
    for row in rows:
        ids = table.ids_of(benchmark.row_of[row["query_id"]])
        row["context"] = None
        row["passages"] = [{"docid": name} for name in ids]
    write_jsonl(tmp_path / "own.jsonl", rows)
    frozen = scored(tmp_path / "frozen.jsonl", benchmark, protocol)
    own = scored(tmp_path / "own.jsonl", benchmark, protocol)
    assert own.context == "own"
    assert len(own.measures) == len(frozen.measures) >= 7
    for one, other in zip(own.measures, frozen.measures, strict=True):
        assert (one.name, one.per_query, one.value) == (other.name, other.per_query, other.value)


def test_what_is_relevant_is_what_the_benchmark_judged(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    relevant, other = benchmark.relevant_ids[0][0], others(benchmark, 0)
    # Three of four citations are of passages; one is relevant, and it is all that was to be found.
    rows = [answer(benchmark, 0, "A [1][2][3].", [other[0], relevant, "zebra"])]
    # Nothing relevant was shown: CiteR has no value, and CiteP is 0.
    rows += [answer(benchmark, 1, "A [1].", [others(benchmark, 1)[0]])]
    # A passage of another query's judgements is not relevant to this one.
    foreign = next(n for n in relevant_ids(benchmark, 2) if n not in benchmark.relevant_ids[2])
    rows += [answer(benchmark, 2, "A [1][2].", [foreign, None])]
    result = scored(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    found = {m.name: m for m in result.measures}
    assert found["CiteP"].per_query[:4] == [1 / 3, 0, 0, 0]  # the fourth is missing: the worst
    assert found["CiteR"].per_query[:4] == [1, None, None, 0]
    assert found["CiteP"].value == pytest.approx(100 * (1 / 3) / 30)
    assert found["CiteR"].value == pytest.approx(100 * 1 / 28)
    assert warnings(tmp_path / "s.jsonl", benchmark) == {
        "unknown-id": "1 of 6 passages have docids that the benchmark does not know (zebra): they "
        "count as not relevant",
        "missing-field": "no docid in 1 passage, which count as not relevant",
    }


def relevant_ids(benchmark: cf.Benchmark, row: int) -> list[str]:
    return [n for i, ids in enumerate(benchmark.relevant_ids) if i != row for n in ids]


def test_passages_that_nobody_knows_have_no_labels(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [answer(benchmark, 0, "Three words here [1].", ["zebra"])]
    result = scored(write_jsonl(tmp_path / "s.jsonl", rows), benchmark)
    assert values(result) == {"Distinct": pytest.approx(1 / 30), "Length": pytest.approx(3 / 30)}
    assert {n.reason for n in result.not_computed} == {
        "no passage has a docid that the benchmark knows, so that none has a label"
    }


def test_a_docid_stands_for_its_text(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    name = benchmark.relevant_ids[0][0]
    text = benchmark.texts([name])[name][1]
    whole = answer(benchmark, 0, f"{text} [1].", [name])
    whole["passages"][0]["text"] = text
    bare = {**whole, "passages": [{"docid": name}]}
    result = [cf.score([row], benchmark, ["ALCE.CitRec"], judge="lexical") for row in (whole, bare)]
    assert result[0]["ALCE.CitRec"] == result[1]["ALCE.CitRec"]
    assert result[0]["ALCE.CitRec"].per_query[0] == 1
    odd = write_jsonl(tmp_path / "odd.jsonl", [{**whole, "passages": [{"docid": "zebra"}]}])
    found = {f.code: f.message for f in cf.check(odd, benchmark).warnings}
    assert found["empty-text"] == (
        "1 passage with neither a text nor a docid that the benchmark knows (first: zebra): they "
        "support nothing"
    )


def test_a_docid_with_another_text_says_nothing(
    inline: Inline, package: Path, tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    names = [benchmark.relevant_ids[row][0] for row in range(4)]
    texts = benchmark.texts(names)
    for form in ("text", "title"):
        rows = [
            # Case and spaces make no other text; another word does, and so does another title.
            answer(benchmark, 0, "A [1].", [names[0]]),
            answer(benchmark, 1, "B [1].", [names[1]]),
            answer(benchmark, 2, "A [1].", [names[2]]),
            answer(benchmark, 3, "A [1].", [names[3]]),
        ]
        rows[0]["passages"][0]["text"] = f"  {texts[names[0]][1].upper()}\n"
        rows[1]["passages"][0]["title"] = texts[names[1]][0]
        rows[2]["passages"][0][form] = "Whatever the answer says"
        path = write_jsonl(tmp_path / "s.jsonl", rows)
        for protocol in get_args(Protocol):
            result = cf.score(path, benchmark, ["CiteP", "CiteR", "P@1"], protocol=protocol)
            by_name = {name: result[name].per_query[:4] for name in result}
            believed = protocol == "reference"  # the papers' code looks at docids alone
            assert by_name["CiteP"] == [1, 1, int(believed), 1]
            assert by_name["P@1"] == [1, 1, int(believed), 1]
            assert by_name["CiteR"] == [1, 1, 1 if believed else None, 1]
        said = (
            "1 of 4 passages have another text or title than the benchmark has for their docid "
            f"({names[2]}): they count as unknown, and as not relevant"
        )
        assert warnings(path, benchmark) == {"text-mismatch": said}
    done = inline("score", path, "--benchmark", package, "--measures", "CiteP", "--out", "o.json")
    assert f"warning: s.jsonl: {said}" in done.stderr


def test_a_passage_that_is_the_statement_is_named(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    name = benchmark.relevant_ids[0][0]
    text = benchmark.texts([name])[name][1]
    rows = [
        answer(benchmark, 0, f"{text} [1].", [name]),  # the corpus's words may be repeated
        answer(benchmark, 1, "The sea is wet [1]. Sand is very dry [2].", ["own", name]),
        answer(benchmark, 2, "The sea is wet [1]. Or so they say.", [None]),
        answer(benchmark, 3, "Paris it is [1].", [None]),  # fewer words than a statement has
    ]
    rows[1]["passages"][0]["text"] = "the sea is WET"
    rows[1]["passages"][1]["text"] = "Sand is very dry."
    rows[2]["passages"][0]["text"] = "The sea is wet [1]. Or so they say."
    rows[3]["passages"][0]["text"] = "Paris"
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    said = (
        "3 passages of the system's own repeated word for word in the answer (first: query "
        f"{benchmark.query_ids[1]!r}): a judge finds such statements supported by themselves"
    )
    assert warnings(path, benchmark)["self-support"] == said


@pytest.mark.parametrize(
    ("numbers", "is_right"), [([1, 2], True), ([0, 1], True), ([2, 1], False), ([1, None], False)]
)
def test_passages_as_hagrid_has_them(
    tmp_path: Path, benchmark: cf.Benchmark, numbers: list[int | None], is_right: bool
) -> None:
    """``idx`` counts from 0 or 1; marks cite by the order, so that another order is refused."""
    ids = benchmark.context("mix").ids_of(0)
    passages = [{"idx": n, "docid": i, "text": ""} for n, i in zip(numbers, ids, strict=False)]
    row = {"query_id": benchmark.query_ids[0], "output": "A [1].", "passages": passages}
    path = write_jsonl(tmp_path / "s.jsonl", [row])
    if is_right:
        found = cf.check(path, benchmark)
        assert (found.errors, found.n_lines) == ([], 1)
        return
    with refused("wrong-value", path=path, line=1) as caught:
        cf.score(path, benchmark)
    assert "idx does not count the passages one by one" in str(caught.value)
