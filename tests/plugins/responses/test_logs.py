"""Logs of inspect_ai as submissions: epochs, errors, other benchmarks, damage."""

import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai")

from inspect_ai.log import (
    EvalConfig,
    EvalDataset,
    EvalError,
    EvalLog,
    EvalResults,
    EvalSample,
    EvalSpec,
    EvalStats,
    ProvenanceData,
    write_eval_log,
)
from inspect_ai.model import (
    ChatCompletionChoice,
    ChatMessageAssistant,
    ContentCitation,
    ContentText,
    DocumentCitation,
    ModelOutput,
    ModelUsage,
    UrlCitation,
)

from citeforge.evaluator.check import check
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.submission import Submission
from citeforge.plugins.responses import inspect_files
from citeforge.schemas.scores import ScoreFile
from conftest import refused
from scoring import iter_answers, score


def sample(query: str, output: str, epoch: int = 1, **more: Any) -> EvalSample:
    stop = more.pop("stop", "stop")
    usage = {"m/x": ModelUsage(input_tokens=9, output_tokens=1, total_tokens=10, total_cost=0.5)}
    return EvalSample(
        id=f"x{query}", epoch=epoch, input="?", target="", metadata={"query_id": query},
        output=ModelOutput.from_content("m/x", output, stop_reason=stop), model_usage=usage, **more
    )  # fmt: skip


def log_of(
    benchmark: Benchmark | None, samples: list[EvalSample], total: int | None = None, **more: Any
) -> EvalLog:
    said = more.pop("metadata", {})
    if benchmark is not None:
        said |= {"benchmark": benchmark.name, "benchmark_hash": benchmark.hash, "contexts": ["mix"]}
    done = sum(s.error is None for s in samples)
    return EvalLog(
        status=more.pop("status", "success"),
        eval=EvalSpec(
            created="2026-05-01T10:00:00+00:00", task="package", dataset=EvalDataset(),
            model="m/x", config=EvalConfig(**more.pop("config", {})), metadata=said,
        ),
        results=EvalResults(total_samples=total or len(samples), completed_samples=done),
        stats=EvalStats(model_usage={"m/x": ModelUsage(total_tokens=20, total_cost=1.25)}),
        samples=samples, **more,
    )  # fmt: skip


def scored(path: Path, benchmark: Benchmark) -> ScoreFile:
    return score(path, benchmark, select(["CiteP"]))


def test_epochs_are_runs_and_the_origin_is_kept(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "a::b [b]é.eval"
    long = "So it is [1]." + " And on." * 5000
    samples = [sample("q01", long), sample("q01", "", epoch=2, stop="max_tokens")]
    write_eval_log(log_of(benchmark, samples, metadata={"system": "<b>mine</b>"}), str(path))
    read = Submission(path, benchmark)
    (_, first), (_, second) = read.answers()
    assert (read.form, read.system, first.query_id) == ("inspect", "<b>mine</b>", "q01")
    assert (first.run, second.run, first.output) == (0, 1, long)
    assert (first.finish_reason, second.finish_reason) == (None, "max_tokens")
    assert read.about is not None
    assert (read.about.model, read.about.cost, read.about.date) == ("m/x", 1.25, "2026-05-01")
    result = scored(path, benchmark)
    assert (result.counts.n_runs, result.counts.n_answered) == (2, 2)
    assert result.counts.n_missing == 2 * len(benchmark) - 2
    assert check(path, benchmark).n_truncated == 1


def test_errors_and_what_was_invalidated_are_missing(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    error = EvalError(message="m", traceback="t", traceback_ansi="t")
    bad = ProvenanceData(author="somebody", reason="cheated")
    samples = [
        sample("q01", "It is [1]."),
        sample("q02", "half", error=error),
        sample("q03", "It is [1].", invalidation=bad),
    ]
    write_eval_log(log_of(benchmark, samples, invalidated=True), str(path))
    result = scored(path, benchmark)
    assert (result.counts.n_answered, result.counts.n_missing) == (1, len(benchmark) - 1)
    assert any("1 of 3 samples ended with an error" in w for w in result.warnings)
    assert any("invalidated" in w for w in result.warnings)


def test_a_cancelled_run_says_so(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    write_eval_log(
        log_of(benchmark, [sample("q01", "It is [1].")], 30, status="cancelled"), str(path)
    )
    said = "the run did not finish (status 'cancelled')"
    assert any(str(w).startswith(said) for w in check(path, benchmark).warnings)
    assert any(text.startswith(said) for text in scored(path, benchmark).warnings)


def test_a_limit_is_known(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    write_eval_log(log_of(benchmark, [sample("q01", "It is [1].")], config={"limit": 1}), str(path))
    whole = scored(path, benchmark)
    assert any("1 of 30 queries were asked" in w for w in whole.warnings)
    only = score(path, benchmark, select(["CiteP"]), only_asked=True)
    assert only.counts.n_missing == 0
    write_eval_log(
        log_of(benchmark, [sample("q01", "It is [1].")], config={"sample_id": ["q01"]}), str(path)
    )
    assert any("only a part of the samples" in w for w in scored(path, benchmark).warnings)


def test_a_log_of_another_benchmark(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    other = log_of(None, [sample("q01", "[1]")], metadata={"benchmark_hash": "0" * 64})
    write_eval_log(other, str(path))
    with refused("wrong-benchmark", path=path, field="benchmark_hash"):
        scored(path, benchmark)
    assert "answers another build" in check(path, benchmark).errors[0].message
    write_eval_log(log_of(None, [sample("q01", "[1]")]), str(path))  # nobody's task
    assert any(
        w.startswith("not known which build was answered") for w in scored(path, benchmark).warnings
    )
    write_eval_log(log_of(None, [sample("q99", "[1]")]), str(path))
    with refused("unknown-query", path=path, field="query_id"):
        scored(path, benchmark)


def test_damaged_logs(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "log.eval"
    write_eval_log(log_of(benchmark, []), str(path))
    with refused("no-answers", path=path):
        scored(path, benchmark)
    whole = path.read_bytes()
    for data in (b"", b"PK", whole[: len(whole) // 2], b"no log", whole.replace(b"PK", b"QK")):
        path.write_bytes(data)
        with refused("bad-archive", path=path):
            scored(path, benchmark)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", "{}")
    with refused("bad-archive", path=path):
        check(path, benchmark)
    with refused("missing-file", path=tmp_path / "none.eval"):
        scored(tmp_path / "none.eval", benchmark)


def cited_sample(query: str, blocks: list[ContentText]) -> EvalSample:
    """A sample whose model cited beside its text."""
    message = ChatMessageAssistant(content=list(blocks))
    output = ModelOutput(model="m/x", choices=[ChatCompletionChoice(message=message)])
    result = sample(query, "")
    result.output = ModelOutput.model_validate_json(output.model_dump_json())
    return result


def answer_of(benchmark: Benchmark, path: Path, taken: EvalSample, form: str = "inspect") -> Any:
    write_eval_log(log_of(benchmark, [taken]), str(path))
    ((_, line),) = iter_answers(path, benchmark, form)
    return line


def test_citations_of_anthropic_are_read_as_from_its_own_responses(
    benchmark: Benchmark, tmp_path: Path
) -> None:
    """inspect_ai's own conversion of Anthropic's blocks, beside our reader of the blocks."""
    from anthropic.types import CitationCharLocation, Message, TextBlock, Usage
    from inspect_ai.model._providers._anthropic_citations import to_inspect_citation

    shown = next(i for i in benchmark.items("mix") if i.query_id == "q01").passages

    def place(at: int, start: int, end: int) -> CitationCharLocation:
        return CitationCharLocation(
            type="char_location", document_index=at, document_title=shown[at].title,
            cited_text=shown[at].text[start:end], start_char_index=start, end_char_index=end,
        )  # fmt: skip

    blocks = [
        TextBlock(type="text", text="As is known, "),
        TextBlock(type="text", text="the first holds", citations=[place(1, 0, 12)]),
        TextBlock(
            type="text", text=". The second does, too.", citations=[place(0, 3, 9), place(2, 0, 4)]
        ),
    ]
    message = Message(
        id="m", type="message", role="assistant", model="c", content=blocks, stop_reason="end_turn",
        usage=Usage(input_tokens=1, output_tokens=1),
    )  # fmt: skip
    responses = tmp_path / "responses.jsonl"
    row = {"query_id": "q01", "context": "mix", "response": message.model_dump(mode="json")}
    responses.write_text(json.dumps(row) + "\n")
    ((_, theirs),) = iter_answers(responses, benchmark, "anthropic")
    logged = [
        ContentText(text=b.text, citations=[to_inspect_citation(c) for c in b.citations or ()])
        for b in blocks
    ]
    ours = answer_of(benchmark, tmp_path / "log.eval", cited_sample("q01", logged))
    assert (
        ours.output
        == theirs.output
        == "As is known, the first holds[2]. The second does, too[1][3]."
    )
    assert ours.spans == theirs.spans


def test_a_link_that_openai_wrote_is_the_citation(benchmark: Benchmark, tmp_path: Path) -> None:
    shown = next(i for i in benchmark.items("mix") if i.query_id == "q01").passages
    text = "It was so ([a page](https://a.example/1)). It still is."
    start, end = text.index("("), text.index(").") + 1
    link = UrlCitation(url="https://a.example/1", cited_text=(start, end), title=shown[2].title)
    block = ContentText(text=text, citations=[link])
    line = answer_of(benchmark, tmp_path / "log.eval", cited_sample("q01", [block]))
    assert line.output == "It was so [3]. It still is."
    own = answer_of(benchmark, tmp_path / "log.eval", cited_sample("q01", [block]), "inspect:own")
    assert own.output == "It was so [1]. It still is."
    assert [(p.title, p.url) for p in own.passages] == [(shown[2].title, "https://a.example/1")]


def test_a_citation_without_a_place_is_for_the_block(benchmark: Benchmark, tmp_path: Path) -> None:
    shown = next(i for i in benchmark.items("mix") if i.query_id == "q01").passages
    content = ContentCitation(title=shown[1].title)
    nowhere = ContentCitation(title="Something else")
    block = ContentText(text="One. Two.", citations=[content])
    line = answer_of(benchmark, tmp_path / "log.eval", cited_sample("q01", [block]))
    assert line.output == "One[2]. Two[2]."
    # A source that was not shown is a citation beyond the passages: it counts as wrong.
    block = ContentText(text="One.", citations=[nowhere])
    line = answer_of(benchmark, tmp_path / "log.eval", cited_sample("q01", [block]))
    assert line.output == f"One[{len(shown) + 1}]."
    # Perplexity lists its pages beside an answer that has marks.
    block = ContentText(text="One [3].", citations=[nowhere])
    line = answer_of(benchmark, tmp_path / "log.eval", cited_sample("q01", [block]))
    assert line.output == "One [3]."


def test_citations_count_in_scores(benchmark: Benchmark, tmp_path: Path) -> None:
    item = next(i for i in benchmark.items("mix") if i.query_id == "q01")
    relevant = next(p for p in item.passages if p.label == "relevant")
    block = ContentText(text="So it is.", citations=[DocumentCitation(title=relevant.title)])
    path = tmp_path / "log.eval"
    write_eval_log(log_of(benchmark, [cited_sample("q01", [block])]), str(path))
    assert scored(path, benchmark).measures[0].value == pytest.approx(100 / len(benchmark))


def test_a_citation_beyond_its_text_is_refused(benchmark: Benchmark, tmp_path: Path) -> None:
    block = ContentText(
        text="So.", citations=[UrlCitation(url="https://a.example", cited_text=(0, 9))]
    )
    log = tmp_path / "log.eval"
    with refused("out-of-range", path=log, line=1, field="content[0].citations[0]"):
        answer_of(benchmark, log, cited_sample("q01", [block]))
    changed = cited_sample("q01", [ContentText(text="So.", citations=[ContentCitation(title="x")])])
    changed.output.completion = "Otherwise."
    with refused("wrong-value", path=log, line=1, field="output.completion"):
        answer_of(benchmark, log, changed)


def test_a_log_that_unpacks_to_too_much_is_refused(
    benchmark: Benchmark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.eval"
    write_eval_log(log_of(benchmark, [sample(benchmark.query_ids[0], "So. " * 300_000)]), str(path))
    assert [n for n, _ in iter_answers(path, benchmark, "inspect")] == [1]
    monkeypatch.setattr(inspect_files, "_MOST_BYTES", 1 << 20)
    with refused("too-large", path=path) as caught:
        list(iter_answers(path, benchmark, "inspect"))
    assert "larger than 1 MiB, unpacked" in str(caught.value)


def test_a_sample_nested_without_end_is_refused(benchmark: Benchmark, tmp_path: Path) -> None:
    path = tmp_path / "a.eval"
    write_eval_log(log_of(benchmark, [sample("q01", "So [1].")]), str(path))
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("samples/xq02_epoch_1.json", "[" * 10_000 + "]" * 10_000)
    with refused("bad-archive", path=path):
        list(iter_answers(path, benchmark, "inspect"))


@pytest.mark.parametrize("contexts", [5, {"full": 1}, "f", True])
def test_contexts_of_another_type_say_nothing(
    benchmark: Benchmark, tmp_path: Path, contexts: object
) -> None:
    path = tmp_path / "a.eval"
    said = {"contexts": contexts}
    log = log_of(None, [sample(benchmark.query_ids[0], "[1]")], metadata=said, config={"limit": 1})
    write_eval_log(log, str(path))
    assert "limit" not in inspect_files.origin_of_log(path).header
