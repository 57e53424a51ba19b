"""Responses of vendors as submissions, and what is said of those that are wrong."""

# ruff: noqa: E501 (cases, one a line)
import json
from copy import deepcopy
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import msgspec
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import detect
from citeforge.package.items import Passage
from citeforge.plugins.responses.detect import find_layout
from citeforge.plugins.responses.layout import layouts
from citeforge.plugins.responses.placer import Matching
from citeforge.plugins.responses.reader import read_responses
from citeforge.plugins.responses.records import CitedSource, Response, errors_at
from citeforge.plugins.responses.values import Node
from citeforge.schemas.citations.urls import normalise_url
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.tables import CORPUS
from conftest import EXAMPLES, Inline, refused, write_jsonl
from scoring import iter_answers

NAMES = ["anthropic", "openai", "gemini", "langchain"]
FILES = {name: EXAMPLES / "vendors" / f"{name}.jsonl" for name in NAMES}


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in FILES[name].read_text(encoding="utf-8").splitlines()]


def read(path: Path, benchmark: Benchmark, form: str = "auto") -> dict[str, SubmissionLine]:
    return {a.query_id: a for _, a in iter_answers(path, benchmark, form)}


def shown_to(benchmark: Benchmark, query: str) -> tuple[Passage, ...]:
    (item,) = benchmark.items(query_id=query)
    return item.passages


def responses_of(row: dict[str, Any]) -> list[Response]:
    found = find_layout(Node(row), layouts())
    assert found is not None
    return read_responses(*found)


def cited_words(answer: SubmissionLine) -> list[tuple[str, int | None]]:
    return [(answer.output[s.start : s.end], s.passage) for s in answer.spans or ()]


@pytest.mark.parametrize("name", NAMES)
def test_formats_are_known_by_their_first_line(name: str, tmp_path: Path) -> None:
    assert detect(FILES[name]).name == name
    first = rows(name)[0]
    long = tmp_path / "long.jsonl"  # a line that is longer than what is looked at
    write_jsonl(long, [{**first, "pages": [{"text": "x" * 90_000, "url": "u"}]}])
    assert detect(long).name == name
    assert detect(write_jsonl(long, [{**first, "zz": "x" * 90_000}])).name == name
    ours = {"query_id": "q01", "output": "Io [1].", "meta": first}
    assert detect(write_jsonl(tmp_path / "ours.jsonl", [ours])).name == "citeforge"
    ours["meta"]["zz"] = "x" * 90_000
    assert detect(write_jsonl(tmp_path / "ours.jsonl", [ours])).name == "citeforge"


@pytest.mark.parametrize("name", NAMES)
def test_responses_that_are_not_one_a_line(name: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(json.dumps(rows(name)))
    for content, remedy in ((rows(name), ".[]"), (rows(name)[0], ".")):
        path.write_text(json.dumps(content, indent=1))
        with refused("bad-json", path=path) as caught:
            detect(path)
        assert f"responses of {name}" in str(caught.value)
        assert f"jq -c '{remedy}' a.json" in str(caught.value)


def test_answers_of_our_own_that_are_not_one_a_line(tmp_path: Path) -> None:
    path, row = tmp_path / "a.json", {"query_id": "q01", "output": "Io."}
    for content, remedy in (([row], ".[]"), (row, ".")):
        path.write_text(json.dumps(content, indent=1))
        with refused("bad-json", path=path) as caught:
            detect(path)
        assert f"jq -c '{remedy}' a.json" in str(caught.value)


def test_anthropic(benchmark: Benchmark) -> None:
    result = read(FILES["anthropic"], benchmark)
    shown = {q: [p.id for p in shown_to(benchmark, q)] for q in ("q01", "q02", "q03", "q04")}
    io, ganymede, titan = (
        shown[q].index(p) for q, p in (("q01", "moon-io"), ("q02", "moon-ganymede"),
                                       ("q03", "moon-titan"))
    )  # fmt: skip
    first = result["q01"]
    assert first.output == (
        f"The answer is Io, the most volcanically active body that is known[{io + 1}]. "
        "It goes round Jupiter."
    )
    assert cited_words(first) == [("Io, the most volcanically active body that is known", io)]
    assert first.spans is not None
    span = first.spans[0]
    text = shown_to(benchmark, "q01")[io].text
    assert (span.quote_unit, text[span.quote_start : span.quote_end]) == ("char", span.quote)
    # One block, two sentences: both are cited for. The thinking block is no part of the answer.
    n = ganymede + 1
    assert result["q02"].output.startswith(
        f"Ganymede is the largest moon of all[{n}]. It is larger than Mercury[{n}]."
    )
    spans = result["q03"].spans
    assert spans is not None
    assert (spans[0].passage, spans[0].quote_unit) == (titan, "block")
    assert (spans[1].quote_unit, spans[1].quote_start, spans[1].quote_end) == ("page", 12, 13)
    # A web page is none of the passages shown: a citation beyond them.
    last = result["q04"]
    assert last.spans is not None
    assert last.spans[0].passage is None
    assert last.output == f"Triton[{len(shown['q04']) + 1}]."
    assert last.is_truncated


def test_openai(benchmark: Benchmark) -> None:
    result = read(FILES["openai"], benchmark)
    one = result["q01"]
    assert one.output == "Io is the most volcanically active body known. [1] It goes round Jupiter."
    assert one.passages is not None and one.spans is not None
    assert one.passages[0].text.startswith("Io is the innermost")  # the page, found by its URL
    link = "([example.org](https://example.org/moons/io?utm_source=openai))"
    assert one.spans[0].written == link
    assert result["q02"].output == "Ganymede is the largest moon[1]. It is larger than Mercury."
    assert result["q02"].passages is not None
    assert result["q02"].passages[0].text.startswith("Ganymede, a moon of Jupiter")
    assert result["q02"].passages[0].docid == "moon-ganymede"  # so that its label is known
    assert result["q03"].output == "Titan has an atmosphere, mostly of nitrogen[1]."
    # The uploaded files are named after passages: their names without endings are ids.
    by_id = read(FILES["openai"], benchmark, "openai:id")["q02"]
    assert by_id.spans is not None
    place = [p.id for p in shown_to(benchmark, "q02")].index("moon-ganymede")
    assert (by_id.passages, by_id.spans[0].passage) == (None, place)


def test_the_bracket_that_closes_a_link_is_part_of_it(tmp_path: Path, benchmark: Benchmark) -> None:
    """`end_index` is called the last character in the documentation, and is the one behind it."""
    (row,) = (r for r in rows("openai") if r.get("query_id") == "q01")
    row["response"]["output"][0]["content"][0]["annotations"][0]["end_index"] -= 1
    path = write_jsonl(tmp_path / "a.jsonl", [row])
    assert read(path, benchmark)["q01"].output == read(FILES["openai"], benchmark)["q01"].output


@pytest.mark.parametrize("width", [1, 2])
def test_the_unit_of_openais_offsets_is_told_by_its_links(
    tmp_path: Path, benchmark: Benchmark, width: int
) -> None:
    """Two signs beyond the first plane and a space: 3 characters, 5 units of UTF-16."""
    (row,) = (r for r in rows("openai") if r.get("query_id") == "q01")
    part = row["response"]["output"][0]["content"][0]
    part["text"] = "\U0001f30b\U0001f30b " + part["text"]
    for end in ("start_index", "end_index"):
        part["annotations"][0][end] += 2 * width + 1
    wanted = read(FILES["openai"], benchmark)["q01"]
    result = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)["q01"]
    assert result.output == f"\U0001f30b\U0001f30b {wanted.output}"
    assert result.spans is not None and wanted.spans is not None
    assert result.spans[0].written == wanted.spans[0].written


def test_gemini(benchmark: Benchmark) -> None:
    result = read(FILES["gemini"], benchmark)
    one = result["q01"]
    # Bytes: two dashes of three and two umlauts of two stand before the second segment.
    assert one.output == (
        "Io – Jupiters innerster großer Mond – hat über 400 tätige Vulkane[1][2]. "
        "Er kreist um Jupiter[2]."
    )
    assert one.spans is not None and one.passages is not None
    assert [s.confidence for s in one.spans] == [0.97, 0.61, None]
    assert [bool(p.text) for p in one.passages] == [True, False]
    two = result["q02"]
    assert two.output == "Ganymede is the largest moon[1]. Titan is second[2][1]."
    assert two.passages is not None
    assert [p.docid for p in two.passages] == ["moon-ganymede", "moon-titan"]


def test_gemini_in_the_spelling_of_the_python_client(tmp_path: Path, benchmark: Benchmark) -> None:
    def snake(value: Any) -> Any:
        if isinstance(value, dict):
            return {"".join(f"_{c.lower()}" if c.isupper() else c for c in k): snake(v)
                    for k, v in value.items()}  # fmt: skip
        return [snake(v) for v in value] if isinstance(value, list) else value

    path = write_jsonl(tmp_path / "g.jsonl", [snake(r) for r in rows("gemini")])
    assert "grounding_supports" in path.read_text()
    assert read(path, benchmark) == read(FILES["gemini"], benchmark)


def test_langchain(benchmark: Benchmark) -> None:
    result = read(FILES["langchain"], benchmark)
    assert result["q01"].output.endswith("Europa has an ocean [2].")  # marks of its own
    assert result["q01"].spans is None
    assert result["q02"].output == "Ganymede is the largest moon[2]. It is larger than Mercury[2]."
    assert result["q03"].output == "Titan [1]."
    assert result["q04"].output == "Triton does [1]. It orbits Neptune."
    assert [p.docid for p in result["q01"].passages or ()] == ["moon-io", "moon-europa"]


def test_documents_of_the_request(tmp_path: Path, benchmark: Benchmark) -> None:
    """They are what was shown, cited or not, in their order."""
    row = rows("anthropic")[0]
    documents = [{"id": f"d{i}", "text": f"Text {i}."} for i in range(5)]
    path = write_jsonl(tmp_path / "a.jsonl", [{**row, "documents": documents}])
    answer = read(path, benchmark)["q01"]
    assert [p.docid for p in answer.passages or ()] == ["d0", "d1", "d2", "d3", "d4"]
    assert cited_words(answer) == [("Io, the most volcanically active body that is known", 4)]
    assert answer.context is None


def test_ways_to_find_a_source(tmp_path: Path, benchmark: Benchmark) -> None:
    shown = shown_to(benchmark, "q01")
    third = shown[2]
    twice = CitedSource(title=third.title)
    assert Matching(benchmark, "id").find(CitedSource((third.id,)), shown) == 2
    assert Matching(benchmark, "title").find(CitedSource(title=third.title), shown) == 2
    assert Matching(benchmark, "title").find(twice, (*shown, third)) is None  # which of the two?
    assert Matching(benchmark, "index").find(CitedSource(index=2), shown) == 2
    assert Matching(benchmark, "index").find(CitedSource(index=99), shown) is None
    for way in ("id", "title", "index"):
        assert Matching(benchmark, way).find(CitedSource(("?",), "?", index=-1), shown) is None
    # By id before by title, before by number.
    source = CitedSource((shown[1].id,), third.title, index=0)
    assert Matching(benchmark, "shown").find(source, shown) == 1
    with refused("unknown-field", cf.UsageError):
        Matching(benchmark, "url=link").find(CitedSource(url="https://a.b"), shown)
    with refused("unknown-name", value="ids"):
        Matching(benchmark, "ids")
    with refused("unsupported", cf.UsageError):
        list(iter_answers(FILES["gemini"], benchmark, "gemini:index"))
    with refused("bad-option", cf.UsageError):
        Matching(benchmark, "id=x")


def test_by_the_url_in_the_metadata(tmp_path: Path) -> None:
    said = [json.dumps({"link": f"http://www.Example.org/p{i}/#top"}) for i in range(3)] + ["{}"]
    table = pa.table([[f"p{i}" for i in range(4)], [""] * 4, ["x"] * 4, said], schema=CORPUS)
    pq.write_table(table, tmp_path / "c.parquet")
    known: Any = SimpleNamespace(
        corpus=[tmp_path / "c.parquet"], manifest=SimpleNamespace(name="b")
    )
    shown = [Passage(f"p{i}", "", "x") for i in (3, 2, 1)]
    matching = Matching(known, "url=link")
    page = "https://example.org/p2?utm_source=openai"
    assert matching.find(CitedSource(url=page), shown) == 1
    assert matching.find(CitedSource(url="https://example.org/p0"), shown) is None  # not shown
    assert matching.find(CitedSource(("p2",)), shown) is None
    with refused("unknown-field") as caught:
        Matching(known, "url=adress").find(CitedSource(url=page), shown)
    assert "no passage of b has 'adress' in its metadata" in str(caught.value)


@pytest.mark.parametrize(
    ("a", "b", "same"),
    [
        ("https://example.org/a", "http://www.example.org:80/a/", True),
        ("https://example.org/a#part", "https://EXAMPLE.org/a#:~:text=x%20y", True),
        ("https://example.org/a?utm_source=openai&b=1", "https://example.org/a?b=1", True),
        ("https://example.org/a?b=1", "https://example.org/a?b=2", False),
        ("https://example.org/a", "https://example.org/A", False),
        ("doc 7", " doc 7 ", True),
        ("http://[broken", "http://[broken", True),
    ],
)
def test_urls_of_one_page(a: str, b: str, same: bool) -> None:
    assert (normalise_url(a) == normalise_url(b)) is same
    assert normalise_url(normalise_url(a)) == normalise_url(a)


@given(st.text(max_size=30), st.data())
def test_offsets_in_bytes(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    segment = {"startIndex": len(text[:start].encode()), "endIndex": len(text[:end].encode()),
               "text": text[start:end]}  # fmt: skip
    body = {"candidates": [{"content": {"parts": [{"text": text}]}, "groundingMetadata": {
        "groundingChunks": [{"web": {"uri": "u"}}],
        "groundingSupports": [{"segment": segment, "groundingChunkIndices": [0]}]}}]}  # fmt: skip
    (cited,) = responses_of(body)[0].cited
    assert (cited.start, cited.end) == (start, end)
    if len(text.encode()) > len(text) and end > start:  # the same offsets as characters are wrong
        segment |= {"startIndex": start, "endIndex": len(text.encode()) + 1}
        with refused("out-of-range"):
            responses_of(body)


def test_a_source_comes_once() -> None:
    result = Response()
    assert (
        result.add_source(CitedSource(("u",), url="https://a.b/c?utm_source=x", text="One.")) == 0
    )
    assert result.add_source(CitedSource(("v",), url="https://a.b/c#d", text="Two.")) == 0
    assert result.add_source(CitedSource(("v",), url="https://a.b/d")) == 1
    assert result.sources[0].text == "One.\nTwo."


def change(name: str, line: int, place: list[Any], value: Any) -> list[dict[str, Any]]:
    """The example with one thing changed."""
    result = deepcopy(rows(name))
    at: Any = result[line]
    for step in place[:-1]:
        at = at[step]
    at[place[-1]] = value
    return result


MESSAGE = ["result", "message"]
AT = "result.message.content[1].citations[0]"
NOTED = "response.output[0].content[0].annotations[0]"
META = "response.candidates[0].groundingMetadata.groundingSupports[0]"
CITED = [*MESSAGE, "content", 1, "citations", 0]
NOTE = ["response", "output", 0, "content", 0, "annotations", 0]
CANDIDATE = ["response", "candidates", 0]
SUPPORT = [*CANDIDATE, "groundingMetadata", "groundingSupports", 0]


@pytest.mark.parametrize(
    ("name", "line", "place", "value", "code", "field"),
    [
        ("anthropic", 0, [*CITED, "end_char_index"], None, "out-of-range", AT),
        ("anthropic", 0, [*CITED, "start_char_index"], -1, "out-of-range", AT),
        ("anthropic", 0, [*CITED, "type"], "line_location", "wrong-value", AT),
        ("anthropic", 0, [*MESSAGE, "content"], "Io", "wrong-type", "result.message.content"),
        ("anthropic", 0, ["result"], {"type": "errored", "error": {"type": "overloaded_error"}}, "endpoint-failed", None),
        ("anthropic", 0, ["result"], {"type": "expired"}, "endpoint-failed", None),
        ("anthropic", 0, ["custom_id"], None, "missing-field", None),
        ("anthropic", 0, ["context"], "mixed", "unknown-context", "context"),
        ("anthropic", 0, ["documents"], [{"score": 1}], "missing-field", "documents[0]"),
        ("openai", 0, [*NOTE, "end_index"], 400, "out-of-range", NOTED),
        ("openai", 0, [*NOTE, "start_index"], 111, "out-of-range", NOTED),
        ("openai", 0, [*NOTE, "start_index"], "x", "wrong-type", f"{NOTED}.start_index"),
        ("openai", 2, ["response", "status_code"], 500, "endpoint-failed", None),
        ("openai", 2, ["response", "body", "choices"], [], "missing-field", "response.body.choices"),
        ("gemini", 0, [*SUPPORT, "segment", "endIndex"], 999, "out-of-range", META),
        ("gemini", 0, [*SUPPORT, "segment", "endIndex"], 4, "out-of-range", META),
        ("gemini", 0, [*SUPPORT, "segment", "text"], "Io", "wrong-value", META),
        ("gemini", 0, [*SUPPORT, "segment", "partIndex"], 1, "out-of-range", META),
        ("gemini", 0, [*SUPPORT, "groundingChunkIndices"], [2], "out-of-range", f"{META}.groundingChunkIndices[0]"),
        ("gemini", 0, [*CANDIDATE[:2]], [], "missing-field", "response.candidates"),
        ("langchain", 0, ["context", 0], {"page_content": None}, "missing-field", "context[0]"),
        ("langchain", 1, ["answer"], 5, "wrong-type", "answer"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    tmp_path: Path, benchmark: Benchmark, name: str, line: int, place: list[Any], value: Any,
    code: str, field: str | None,
) -> None:  # fmt: skip
    path = write_jsonl(tmp_path / "a.jsonl", change(name, line, place, value))
    with refused(code, cf.InputError, path=path, line=line + 1, field=field):
        list(iter_answers(path, benchmark, name))
    errors: list[cf.InputError] = []
    left = list(iter_answers(path, benchmark, name, errors.append))
    assert (len(left), len(errors)) == (len(rows(name)) - 1, 1)


@pytest.mark.parametrize(
    ("name", "line", "place", "value", "words"),
    [
        ("anthropic", 0, ["result"], {"type": "errored", "error": {"type": "overloaded_error"}}, "overloaded_error"),
        ("anthropic", 0, ["result"], {"type": "expired"}, "failed (expired)"),
        ("anthropic", 0, ["context"], "mixed", "anthropic:own"),
        ("openai", 0, [*NOTE, "end_index"], 400, "spans 47 to 400, and the text has 1"),
        ("openai", 2, ["response", "status_code"], 500, "failed (status 500)"),
    ],
)  # fmt: skip
def test_errors_have_the_words_of_the_vendor_and_the_numbers(
    tmp_path: Path, benchmark: Benchmark, name: str, line: int, place: list[Any], value: Any,
    words: str,
) -> None:  # fmt: skip
    path = write_jsonl(tmp_path / "a.jsonl", change(name, line, place, value))
    with pytest.raises(cf.InputError) as caught:
        list(iter_answers(path, benchmark, name))
    assert words in str(caught.value)


def test_a_wrong_id_is_not_mended_by_the_question(tmp_path: Path, benchmark: Benchmark) -> None:
    row = next(r for r in rows("langchain") if "query_id" not in r)
    assert len(read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark, "langchain")) == 1
    wrong = write_jsonl(tmp_path / "b.jsonl", [{**row, "query_id": "q99"}])
    assert list(read(wrong, benchmark, "langchain")) == ["q99"]  # which check and score refuse


def test_quotes_around_a_question_do_not_matter(tmp_path: Path, benchmark: Benchmark) -> None:
    row = next(r for r in rows("langchain") if "query_id" not in r)
    (plain,) = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark, "langchain")
    quoted = {k: f'"{v}"' if v == row.get("input", row.get("question")) else v
              for k, v in row.items()}  # fmt: skip
    assert quoted != row
    assert list(read(write_jsonl(tmp_path / "b.jsonl", [quoted]), benchmark)) == [plain]


def test_an_unknown_number_of_a_document_is_beyond(tmp_path: Path, benchmark: Benchmark) -> None:
    row = rows("langchain")[1]
    row["answer"]["citations"] = [7, 0]
    answer = read(write_jsonl(tmp_path / "a.jsonl", [row]), benchmark)["q02"]
    assert answer.output == "Ganymede is the largest moon[8][1]. It is larger than Mercury[8][1]."
    assert len(answer.passages or ()) == 2  # 7 from 0 is the eighth of two


def test_empty_answers_and_several_texts(tmp_path: Path, benchmark: Benchmark) -> None:
    text = {"type": "output_text", "text": "Io.", "annotations": []}
    note = {"type": "url_citation", "url": "u", "title": "", "start_index": 0, "end_index": 3}
    two = [text, {**text, "annotations": [note]}]
    body = {"object": "response", "output": [
        {"type": "reasoning"}, {"type": "message", "content": two}]}  # fmt: skip
    path = write_jsonl(tmp_path / "a.jsonl", [
        {"query_id": "q01", "response": {"object": "response", "output": []}},
        {"query_id": "q02", "response": body},
    ])  # fmt: skip
    result = read(path, benchmark)
    assert (result["q01"].output, result["q01"].spans) == ("", None)
    # Offsets are those of the second text, where they were given.
    assert result["q02"].output == "Io.\n\nIo[1]."


def test_a_number_that_is_too_long(tmp_path: Path, benchmark: Benchmark) -> None:
    path = tmp_path / "a.jsonl"
    path.write_text('{"query_id": "q01", "candidates": [], "usage": ' + "9" * 5000 + "}\n")
    with refused("wrong-value", path=path, line=1):
        list(iter_answers(path, benchmark, "gemini"))


def test_lists_in_lists_are_no_answer(tmp_path: Path, benchmark: Benchmark) -> None:
    path = tmp_path / "a.jsonl"
    deep = '[{"content": {"parts": ' + "[" * 800 + "]" * 800 + "}}]"
    path.write_text('{"query_id": "q01", "candidates": ' + deep + "}\n")
    with refused("wrong-type", path=path, line=1):
        list(iter_answers(path, benchmark, "gemini"))
    with refused("bad-json", path=path, line=1), errors_at(path, 1):
        raise RecursionError  # as deep as the parser of JSON takes it


@pytest.mark.parametrize("name", NAMES)
def test_answers_of_our_own_with_spans_are_the_same(
    tmp_path: Path, benchmark: Benchmark, name: str
) -> None:
    out = tmp_path / "ours.jsonl"
    out.write_bytes(b"".join(
        msgspec.json.encode(answer) + b"\n" for _, answer in iter_answers(FILES[name], benchmark, name)
    ))  # fmt: skip
    result = read(out, benchmark)
    assert result == read(FILES[name], benchmark)
    assert detect(out).name == "citeforge"
    assert any(answer.spans for answer in result.values())


def test_responses_are_checked_and_scored(inline: Inline, package: Path, tmp_path: Path) -> None:
    done = inline.ok("check", FILES["anthropic"], "--benchmark", package)
    assert "anthropic.jsonl:3: warning: spans[1]: quotes 'the only moon with a dense" in done.stdout
    assert (
        "anthropic.jsonl:4: warning: spans[0]: cites 'https://example.org/moons/triton', which"
        in done.stdout
    )
    scored = inline.ok("score", FILES["anthropic"], "--benchmark", package, "--judge", "lexical",
                    "--measures", "ALCE.CitRec,ALCE.CitPrec", "--out", "s.json")  # fmt: skip
    assert "read as anthropic" in scored.stdout
    measures = json.loads((tmp_path / "s.json").read_text())["measures"]
    assert [m["name"] for m in measures] == ["ALCE.CitRec", "ALCE.CitPrec"]
    assert measures[0]["value"] > 0
    words = ("check", FILES["openai"], "--benchmark", package, "--format", "openai:ids")
    inline.fails(2, "unknown-name", *words)
