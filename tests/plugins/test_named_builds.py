"""Which build a file answers is read in one way from every format that there is."""

import csv
import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.evaluator.submissions.formats import FORMATS, named_hashes
from citeforge.evaluator.submissions.origin import find_hashes, hashes_in_json, require_build
from citeforge.evaluator.submissions.submission import Submission
from conftest import Inline, refused, write_jsonl

Row = dict[str, Any]
TEXT = "Io is a moon [1]."
Q01 = "Which moon is the most volcanically active body in the Solar System?"
OTHER = "0" * 64
SAID = {"role": "assistant", "content": TEXT}
PARTS = [{"type": "text", "text": TEXT}]
REPORT = {"references": ["d1"], "responses": [{"text": "Io.", "citations": ["d1"]}]}
RESPONSES: dict[str, Row] = {
    "openai": {"choices": [{"index": 0, "message": SAID, "finish_reason": "stop"}]},
    "anthropic": {"type": "message", "content": PARTS, "stop_reason": "end_turn"},
    "gemini": {"candidates": [{"content": {"parts": [{"text": TEXT}]}, "finishReason": "STOP"}]},
    "bedrock": {"output": {"message": {**SAID, "content": [{"text": TEXT}]}}, "stopReason": "x"},
    "cohere": {"id": "c", "finish_reason": "COMPLETE", "message": {**SAID, "content": PARTS}},
    "ollama": {"model": "m", "response": TEXT, "done": True},
    "langchain": {"type": "ai", "content": TEXT, "response_metadata": {}},
    "llamaindex": {"response": TEXT, "source_nodes": []},
    "haystack": {"answers": [{"data": TEXT, "query": "?", "documents": [], "meta": {}}]},
    "ragas": {"response": TEXT, "user_input": "?", "retrieved_contexts": []},
    "deepeval": {"input": "?", "actual_output": TEXT, "retrieval_context": []},
}
"""A response of each tool whose file has responses beside the query's id."""
LINES: dict[str, Callable[[str], Row]] = {
    **{
        name: lambda query, body=body: {"query_id": query, "response": dict(body)}  # type: ignore[misc]
        for name, body in RESPONSES.items()
    },
    "citeforge": lambda query: {"query_id": query, "output": TEXT},
    "answers": lambda query: {"query_id": query, "answer": TEXT},
    "traces": lambda query: {
        "name": "s", "context": {"trace_id": query, "span_id": f"s{query}"}, "parent_id": None,
        "start_time": "2026-01-01T00:00:00Z",
        "attributes": {"openinference.span.kind": "CHAIN", "output.value": TEXT,
                       "metadata": {"query_id": query}},
    },
    **dict.fromkeys(
        ("deep-research", "deep-research-facts"),
        lambda query: {"id": query, "prompt": "?", "article": TEXT, "citations": []},
    ),
    "deep-research-verdicts": lambda query: {
        "id": query, "prompt": "?", "article": TEXT, "citations_deduped": {},
    },
    "trec-rag24": lambda query: {
        "run_id": "r", "topic_id": query, "topic": "?", "references": [], "response_length": 1,
        "answer": [{"text": "Io.", "citations": []}],
    },
    **{
        f"trec-{name}": lambda query, topic=topic, field=field, more=more: {  # type: ignore[misc]
            "metadata": {"team_id": "t", "run_id": "r", topic: query, "type": "automatic", **more},
            "references": [], field: [{"text": "Io.", "citations": []}],
        }
        for name, topic, field, more in (
            ("rag25", "narrative_id", "answer", {"narrative": ""}),
            ("rag26", "narrative_id", "answer", {"narrative": "", "run_desc": "d"}),
            ("ragtime25", "topic_id", "responses", {"task": "english"}),
            ("ragtime26", "topic_id", "responses", {"run_desc": "d"}),
            ("dragun25", "topic_id", "responses", {"use_starter_kit": 0}),
            ("neuclir24", "topic_id", "responses", {}),
        )
    },
}  # fmt: skip
"""A line about a query, in every format with one JSON object per line."""


def in_own_field(row: Row, value: str) -> Row:
    return row | {"benchmark_hash": value}


def in_metadata(row: Row, value: str) -> Row:
    """Where a caller's data of a request come back, in the response or beside it."""
    inner = row.get("response")
    if isinstance(inner, dict):
        return row | {"response": inner | {"metadata": {"benchmark_hash": value}}}
    name = next((n for n in ("attributes", "metadata") if n in row), "meta")
    return row | {name: {**row.get(name, {}), "benchmark_hash": value}}


@pytest.fixture
def write(tmp_path: Path, benchmark: cf.Benchmark) -> Callable[..., Path]:
    def made(
        form: str, *values: str | None, header: str | None = None, put: Any = in_own_field
    ) -> Path:
        """A file of a format whose header, and answers to q01, q02, …, name these hashes."""
        if form in LINES:
            rows = [LINES[form](f"q0{n}") for n in range(1, len(values) + 1)]
            rows = [r if v is None else put(r, v) for r, v in zip(rows, values, strict=True)]
            head = [{"submission": {"system": "s", "benchmark_hash": header}}] if header else []
            return write_jsonl(tmp_path / f"{form}.jsonl", [*head, *rows])
        texts = benchmark.queries["text"].to_pylist()
        return OTHERS[form](tmp_path, values, header, texts)

    return made


def outcome(path: Path, benchmark: cf.Benchmark, form: str) -> tuple[list[str], int | None]:
    """Codes that concern the build, and the line of the first; score refuses what check refuses."""
    found = cf.check(path, benchmark, file_format=form)
    errors = [f for f in found.errors if f.code == "wrong-benchmark"]
    warnings = [f for f in found.warnings if f.code == "missing-hash"]
    if errors:
        with refused("wrong-benchmark", path=path, line=errors[0].line, field="benchmark_hash"):
            Submission(path, benchmark, form)
    else:
        assert Submission(path, benchmark, form).is_anonymous == bool(warnings)
    return [f.code for f in errors + warnings], errors[0].line if errors else None


def csv_rows(columns: Row) -> Callable[..., Path]:
    """Write answers to the first queries in CSV; a header's hash becomes that of all rows."""

    def written(folder: Path, values: Any, header: str | None, texts: list[str]) -> Path:
        path = folder / "made.csv"
        rows = [
            {k: v.replace("QUERY", f"q0{n}") for k, v in columns.items()}
            | {"benchmark_hash": header or value or ""}
            for n, value in enumerate(values, 1)
        ]
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, list(rows[0]))
            writer.writeheader()
            writer.writerows(rows)
        return path

    return written


def write_alce(folder: Path, values: Any, header: str | None, texts: list[str]) -> Path:
    items = [
        {"question": q, "output": TEXT, "docs": []} | ({"benchmark_hash": v} if v else {})
        for q, v in zip(texts, values, strict=False)
    ]
    path = folder / "alce.json"
    args = {"args": {"benchmark_hash": header}} if header else {}
    path.write_text(json.dumps({**args, "data": items}))
    return path


def write_saved(folder: Path, values: Any, header: str | None, texts: list[str]) -> Path:
    datasets = pytest.importorskip("datasets")
    rows = [
        {"query": q, "passages": {"passage_text": ["a"]}, "rag_raw_answer": TEXT,
         "benchmark_hash": header or v}
        for q, v in zip(texts, values, strict=False)
    ]  # fmt: skip
    datasets.Dataset.from_list(rows).save_to_disk(str(folder / "saved"))
    return folder / "saved"


def write_log(folder: Path, values: Any, header: str | None, texts: list[str]) -> Path:
    log = pytest.importorskip("inspect_ai.log")
    from inspect_ai.model import ModelOutput

    samples = [
        log.EvalSample(
            id=f"q0{n}", epoch=1, input="?", target="",
            metadata={"benchmark_hash": v} if v else {},
            output=ModelOutput.from_content("m/x", TEXT),
        )
        for n, v in enumerate(values, 1)
    ]  # fmt: skip
    spec = log.EvalSpec(
        created="2026-01-01T00:00:00+00:00", task="t", model="m/x", config=log.EvalConfig(),
        dataset=log.EvalDataset(), metadata={"benchmark_hash": header} if header else None,
    )  # fmt: skip
    path = folder / "made.eval"
    made = log.EvalLog(status="success", eval=spec, samples=samples, stats=log.EvalStats())
    log.write_eval_log(made, str(path))
    return path


OTHERS: dict[str, Callable[..., Path]] = {
    "alce": write_alce,
    "attrieval": write_saved,
    "inspect": write_log,
    "attributed-ir": csv_rows({"query_id": "QUERY", "output": TEXT, "quotes": ""}),
    "rage-toolkit": csv_rows(
        {"query_id": "QUERY", "answer": TEXT, "doc_ids": "['d']", "docs_for_query": "['t']",
         "answer_citations": ""}
    ),
    "kalma": csv_rows({"Answer": TEXT}),
}  # fmt: skip


def test_there_is_a_sample_of_every_format() -> None:
    assert set(FORMATS.all()) == {*LINES, *OTHERS}


@pytest.mark.parametrize("form", [*LINES, *OTHERS])
def test_every_format_names_its_build(
    form: str, benchmark: cf.Benchmark, write: Callable[..., Path]
) -> None:
    here = benchmark.hash
    wrong = ["wrong-benchmark"]
    for values, header, expected in (
        ((None, None), None, (["missing-hash"], None)),
        ((here, here), None, ([], None)),
        ((None, None), here, ([], None)),
        ((here, None), None, (["missing-hash"], None)),
        ((None, None), OTHER, (wrong, 1)),
        ((OTHER, OTHER), None, (wrong, None)),
        ((None, OTHER), None, (wrong, None)),
        ((here, OTHER), None, (wrong, None)),
    ):
        path = write(form, *values, header=header)
        codes, line = outcome(path, benchmark, form)
        assert codes == expected[0], (form, values, header)
        assert expected[1] is None or line is not None
    found = cf.check(path, benchmark, file_format=form).errors
    message = next(f.message for f in found if f.code == "wrong-benchmark")
    assert "names several builds of the benchmark: line " in message
    assert here[:16] in message
    assert OTHER[:16] in message
    assert named_hashes(path) == {here, OTHER}


@pytest.mark.parametrize("form", LINES)
def test_a_hash_in_what_a_request_carried(
    form: str, benchmark: cf.Benchmark, write: Callable[..., Path]
) -> None:
    path = write(form, benchmark.hash, benchmark.hash, put=in_metadata)
    assert outcome(path, benchmark, form) == ([], None)
    path = write(form, benchmark.hash, OTHER, put=in_metadata)
    assert outcome(path, benchmark, form)[0] == ["wrong-benchmark"]


@pytest.mark.parametrize("form", [f for f in LINES if f in (*RESPONSES, "answers")])
def test_prompts_with_responses_beside_them(
    form: str, package: Path, hidden_package: Path, tmp_path: Path
) -> None:
    rows = [prompt | LINES[form](prompt["query_id"]) for prompt in cf.export_prompts(package)]
    path = write_jsonl(tmp_path / "kept.jsonl", rows)
    assert outcome(path, cf.load(package), form) == ([], None)
    assert outcome(path, cf.load(hidden_package), form) == (["wrong-benchmark"], 1)


@pytest.mark.parametrize("form", [*LINES, *OTHERS])
def test_the_advice_of_the_caution_is_taken(
    form: str, benchmark: cf.Benchmark, write: Callable[..., Path]
) -> None:
    path = write(form, None, None)
    (said,) = [
        f for f in cf.check(path, benchmark, file_format=form).warnings if f.code == "missing-hash"
    ]
    assert said.message.startswith("not known which build was answered: ")
    advice = said.message.partition(f"if it was {benchmark.label}, ")[2]
    assert benchmark.hash in advice
    if form in LINES:
        header = advice.removeprefix("begin the file with ")
        path.write_text(f"{header}\n{path.read_text()}")
        assert outcome(path, benchmark, form) == ([], None)


def otlp(**attributes: str) -> list[Row]:
    """Attributes as OTLP writes them in JSON."""
    return [
        {"key": name.replace("__", "."), "value": {"stringValue": value}}
        for name, value in attributes.items()
    ]


SPANS: dict[str, Row] = {
    "the resource of OTLP": {
        "resourceSpans": [
            {
                "resource": {"attributes": otlp(benchmark_hash=OTHER)},
                "scopeSpans": [
                    {"spans": [{"traceId": "t", "spanId": "s", "attributes": otlp(
                        output__value=TEXT, input__value=Q01, openinference__span__kind="CHAIN",
                    )}]}
                ],
            }
        ]
    },
    "a text that is an object": {
        "context.trace_id": "t", "context.span_id": "s", "parent_id": None,
        "attributes.openinference.span.kind": "CHAIN", "attributes.output.value": TEXT,
        "attributes.input.value": Q01,
        "attributes.metadata": json.dumps({"benchmark_hash": OTHER}),
    },
}  # fmt: skip


@pytest.mark.parametrize("name", SPANS)
def test_spans_of_another_build(name: str, benchmark: cf.Benchmark, tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "t.jsonl", [SPANS[name]])
    assert outcome(path, benchmark, "traces") == (["wrong-benchmark"], 1)


def test_one_span_of_a_trace_names_the_build(
    benchmark: cf.Benchmark, write: Callable[..., Path]
) -> None:
    path = write("traces", benchmark.hash)
    bare = LINES["traces"]("q01")
    bare["context"]["span_id"], bare["parent_id"] = "inner", "sq01"
    path.write_text(path.read_text() + json.dumps(bare) + "\n")
    assert outcome(path, benchmark, "traces") == ([], None)


def test_what_a_model_says_is_no_claim(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    """The name of the field in an answer, a prompt or a passage tells nothing."""
    text = json.dumps({"benchmark_hash": OTHER})
    row = {"query_id": "q01", "output": text, "prompt": text, "passages": [{"text": text}]}
    path = write_jsonl(tmp_path / "s.jsonl", [row])
    assert outcome(path, benchmark, "citeforge") == (["missing-hash"], None)


JSON = st.recursive(
    st.none() | st.text(max_size=3) | st.integers(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(JSON, JSON, st.lists(st.sampled_from(["a", "metadata", 0]), max_size=4), st.booleans())
def test_a_hash_is_found_wherever_it_is(
    around: Any, beside: Any, path: list[Any], camel: bool
) -> None:
    assert find_hashes([around, beside]) == []
    value: Any = {"benchmarkHash" if camel else "benchmark_hash": OTHER, "b": beside}
    for step in path:
        value = [around, value] if step == 0 else {step: value, "c": around}
    assert find_hashes(value) == [OTHER]
    assert hashes_in_json(msgspec.json.encode(value)) == [OTHER]


HASHES = st.sampled_from(["here", "one", "two", None])


@given(HASHES, st.lists(st.lists(HASHES.filter(bool), max_size=2), max_size=6))
def test_the_rule(header: str | None, claims: list[list[str]]) -> None:
    """Refused if another build is named; known if the header or every answer names this one."""

    class Here:
        known_hashes = ("here",)

        class manifest:
            answer_hash = "here"

        require_hash = cf.Benchmark.require_hash

    named = {h for h in (header, *itertools.chain.from_iterable(claims)) if h}
    rows = list(enumerate(claims, 2))
    args = Path("s.jsonl"), Here(), {"benchmark_hash": header}, rows
    if named - {"here"}:
        with refused("wrong-benchmark", field="benchmark_hash") as caught:
            require_build(*args)  # type: ignore[arg-type]
        assert ("several builds" in str(caught.value)) == (len(named) > 1)
    else:
        is_known = header is not None or (bool(claims) and all(claims))
        assert require_build(*args) == is_known  # type: ignore[arg-type]


def test_one_caution_in_every_output(
    inline: Inline, package: Path, write: Callable[..., Path]
) -> None:
    path = write("openai", *[None] * 9)
    out = inline.ok("score", path, "--benchmark", package, "--only-answered", "--out", "a.json")
    caution = "not known which build was answered"
    assert caution in " ".join(out.stdout.split())
    assert out.stderr.count(caution) == 1
    assert f"warning: {path.name}: {caution}" in out.stderr
    file = json.loads((inline.folder / "a.json").read_text())
    assert (file["is_build_known"], sum(caution in w for w in file["warnings"])) == (False, 1)
    for form in ("md", "html", "csv", "latex", "json"):
        shown = inline.ok("report", "a.json", "--format", form).stdout
        if form in ("md", "html", "latex", "json"):
            assert caution in shown, form
    gate = inline("gate", "a.json", "--out", "gate.json")
    assert caution in " ".join((gate.stdout + gate.stderr).split())
    assert caution in (inline.folder / "gate.json").read_text()


def test_the_texts_of_prompts_and_sources_are_compared(
    package: Path, benchmark: cf.Benchmark, tmp_path: Path
) -> None:
    """Of two builds with the same queries and ids, texts may differ."""
    rows = [
        {"query_id": r["query_id"], "prompt": r["prompt"], "output": TEXT}
        for r in cf.export_prompts(package)
    ]

    def compared(path: Path, form: str = "auto") -> list[str]:
        found = cf.check(path, benchmark, file_format=form)
        assert not found.errors
        return [f.message for f in found.warnings if f.code == "text-mismatch"]

    assert compared(write_jsonl(tmp_path / "s.jsonl", rows)) == []
    shown = [list(item.passages) for item in benchmark.items("mix")]
    n_shown, first = sum(map(len, shown)), shown[0][1]
    changed = rows[0] | {"prompt": rows[0]["prompt"].replace(first.text, "Other words.")}
    (said,) = compared(write_jsonl(tmp_path / "s.jsonl", [changed, *rows[1:]]))
    start = (
        f"1 of {n_shown} passages shown are not in the prompts that the file keeps (first: query"
    )
    assert said.startswith(f"{start} q01, passage {first.id})")
    # Prompts of another template show none of the passages.
    assert compared(write_jsonl(tmp_path / "s.jsonl", [r | {"prompt": "Why?"} for r in rows])) == []
    # The same, beside a vendor's response.
    chats = [
        {"query_id": r["query_id"], "messages": [{"role": "user", "content": r["prompt"]}],
         "response": RESPONSES["openai"]}
        for r in [changed, *rows[1:]]
    ]  # fmt: skip
    assert compared(write_jsonl(tmp_path / "chat.jsonl", chats)) == [said]
    # A framework's documents that are found among the passages shown by their ids.
    for text, n in ((first.text, 0), (f"Title\n{first.text}", 0), ("Other words.", 1)):
        documents = [{"page_content": text, "metadata": {"doc_id": first.id}}]
        row = {"query_id": "q01", "answer": "Io [1].", "context": documents}
        path = write_jsonl(tmp_path / "chain.jsonl", [row])
        said_of = compared(path, "langchain:id")
        assert len(said_of) == n
        assert all(f"(first: {first.id})" in text for text in said_of)
