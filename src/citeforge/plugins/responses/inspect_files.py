"""Reader of logs of inspect_ai (``.eval``) as submissions.

Outputs may have ``citations`` beside the text blocks. ``cited_text`` is the span of its block that
is cited for (OpenAI, Google), or words of the source (Anthropic), which the whole block cites.
Where there is neither (Grok, Perplexity), the marks of the block count; without marks, the whole
block cites.
"""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeforge.engines.keys import error_line
from citeforge.engines.pipes import is_pipe
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.formats import OnError, Origin
from citeforge.evaluator.submissions.origin import Claims, find_hashes
from citeforge.plugins.responses.layout import layouts
from citeforge.plugins.responses.placer import CitationPlacer, LineFields
from citeforge.plugins.responses.reader import read_responses
from citeforge.plugins.responses.records import Response, errors_at
from citeforge.plugins.responses.values import Node
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.errors import CiteforgeError, InputError, extras_named, read_error
from citeforge.schemas.finish_reasons import unless_whole
from citeforge.schemas.scores import About
from citeforge.schemas.submission import Lines, SubmissionLine

if TYPE_CHECKING:
    from inspect_ai.log import EvalLog
    from inspect_ai.model import ModelOutput

_UNREAD = {"events", "events_data", "timelines", "store", "attachments", "messages"}
"""Parts of samples that answers are not in, and that most of a log consists of."""
_MOST_BYTES = 1 << 30
"""Largest size of an unpacked log."""
_MOST_OF_A_FILE = 1 << 25
"""Largest size of a file in a log: its reader took 870 MB of memory for one of 60 MiB."""
_MISSING = "count as missing answers"
_ALLOWED = (
    "a log that `inspect eval` wrote (.eval; `inspect log convert` makes one of .json), whole"
)


def read_log(path: Path, benchmark: Benchmark, way: str, on_error: OnError) -> Lines:
    """Yield (number, answer) of an inspect_ai log's samples, with sources matched by a ``way``.

    The query is the sample's metadata ``query_id``, which tasks of ``citeforge[inspect]`` write, or
    its id; the context set its metadata ``context``. A sample that ended with an error, or was
    invalidated, is no answer.

    Args:
        path: log.
        benchmark: what it answers.
        way: how sources of a model's citations are found among the passages shown
            (:data:`citeforge.plugins.responses.placer.WAYS`); empty for ``shown``.
        on_error: unused, as a log is read as a whole.

    Raises:
        InputError: the log cannot be read, or holds no samples.
        MissingExtraError: inspect_ai is not installed.
    """
    log = _read_log(path, _UNREAD)
    if not log.samples:
        raise InputError(
            f"contains no samples (its status is {log.status!r})",
            path=path,
            allowed="a log of a finished run, without --no-log-samples",
            code="no-answers",
        )
    placer = CitationPlacer("inspect", benchmark, way or "shown")
    for number, sample in enumerate(log.samples, 1):
        if sample.error is None and sample.invalidation is None:
            with errors_at(path, number):
                answer = sample_answer(
                    placer, str(sample.id), sample.metadata, sample.output, sample.epoch
                )
            yield number, answer


def sample_answer(
    placer: CitationPlacer,
    sample_id: str,
    metadata: Mapping[str, Any],
    output: ModelOutput,
    epoch: int,
) -> SubmissionLine:
    """Convert an inspect_ai sample to a submission line; a placer writes citations as marks.

    Args:
        placer: writes the marks.
        sample_id: id of the sample, which is the query's where the metadata do not say.
        metadata: may hold ``query_id`` and ``context``.
        output: what the model gave.
        epoch: from 1.

    Raises:
        InputError: a citation cannot be read.
    """
    query, context = str(metadata.get("query_id", sample_id)), metadata.get("context")
    response = read_output(output, placer.benchmark.grammar)
    if output.choices:
        response.finish_reason = unless_whole(output.stop_reason)
    fields = LineFields(query, None if context is None else str(context), epoch - 1)
    return placer.answer(fields, response)


def read_output(output: ModelOutput, grammar: Grammar) -> Response:
    """Read the answer, its sources and its citations from a model's output in inspect_ai.

    Args:
        output: what the model gave.
        grammar: how marks are read.

    Raises:
        InputError: a span that its text does not have, or a text that was changed after it was
            cited.
    """
    if not output.choices:
        return Response(output.completion)
    message = output.choices[0].message
    body = message.model_dump(mode="json")
    for block in body["content"]:
        if isinstance(block, dict) and _has_marks_alone(block, grammar):
            block["citations"] = None
    layout = next(layout for layout in layouts() if layout.form == "inspect")
    (response,) = read_responses(layout, Node(body))
    if not response.cited:
        return Response(output.completion, thoughts=response.thoughts)
    if output.completion != message.text:
        raise InputError(
            "is not the text that the model's citations refer to", field="output.completion",
            allowed="the model's own text, or a message without citations", code="wrong-value"
        )  # fmt: skip
    return response


def _has_marks_alone(block: Mapping[str, Any], grammar: Grammar) -> bool:
    """Whether a content block cites only by marks in its text: no citation has ``cited_text``."""
    citations = block.get("citations") or ()
    has_words = any(citation["cited_text"] is not None for citation in citations)
    return not has_words and any(m.numbers for m in grammar.parse(block.get("text", ""), 1).markers)


def origin_of_log(path: Path) -> Origin:
    """Read the fields of a submission's header (system, benchmark, …) from an inspect_ai log.

    Raises:
        InputError: the log cannot be read.
        MissingExtraError: inspect_ai is not installed.
    """
    log = _read_log(path, None)
    spec, meta = log.eval, log.eval.metadata or {}
    costs = [one.total_cost for one in log.stats.model_usage.values()]
    about = {k: meta[k] for k in About.model_fields if isinstance(meta.get(k), str | int | float)}
    header: dict[str, Any] = {
        "system": meta.get("system") or spec.model,
        "model": spec.model,
        "date": str(spec.created)[:10],
        **{k: meta[k] for k in ("benchmark", "benchmark_hash") if isinstance(meta.get(k), str)},
        **about,
    }
    if costs and all(cost is not None for cost in costs):
        header["cost"] = sum(cost for cost in costs if cost is not None)
    limit = spec.config.limit
    in_order = not spec.config.sample_shuffle and spec.config.sample_id is None
    contexts = meta.get("contexts")
    has_one = isinstance(contexts, list) and len(contexts) == 1
    if isinstance(limit, int) and in_order and has_one:
        header["limit"] = limit
    return Origin(header, tuple(_warnings(log, "limit" in header)))


def claims_of_log(path: Path) -> Claims:
    """Yield, per sample of an inspect_ai log, the benchmark hashes in its metadata.

    Raises:
        InputError: the log cannot be read.
        MissingExtraError: inspect_ai is not installed.
    """
    log = _read_log(path, _UNREAD | {"output", "scores"})
    for number, sample in enumerate(log.samples or (), 1):
        yield number, find_hashes(sample.metadata)


def _warnings(log: EvalLog, allows_part: bool) -> Iterator[str]:
    """Yield a warning per reason why a log's samples are incomplete, unless a part is allowed."""
    config, results = log.eval.config, log.results
    if log.status != "success":
        yield f"the run did not finish (status {log.status!r}); samples that it lacks {_MISSING}"
    elif results is not None and (n := results.total_samples - results.completed_samples) > 0:
        yield f"{n:,} of {results.total_samples:,} samples ended with an error; they {_MISSING}"
    if not allows_part and (config.limit is not None or config.sample_id is not None):
        yield f"only a part of the samples was run (--limit or --sample-id); the others {_MISSING}"
    if log.invalidated:
        yield f"samples of the log were invalidated; they {_MISSING}"


def _require_size(path: Path, files: Sequence[zipfile.ZipInfo]) -> None:
    """Raise an error if an inspect_ai log, unpacked, or a file in it is too large.

    Args:
        path: log.
        files: what it consists of; two may have one name.
    """
    too_large = [file.filename for file in files if file.file_size > _MOST_OF_A_FILE]
    if sum(file.file_size for file in files) > _MOST_BYTES:
        what = f"is larger than {_MOST_BYTES >> 20:,} MiB, unpacked"
    elif too_large:
        what = f"has a file larger than {_MOST_OF_A_FILE >> 20:,} MiB, unpacked: {too_large[0]!r}"
    else:
        return
    raise InputError(
        what, path=path, code="too-large",
        allowed="a smaller log: inspect eval --no-log-model-api, or a part of the samples each",
    )  # fmt: skip


def _read_log(path: Path, unread: set[str] | None) -> EvalLog:
    """Read an inspect_ai log without some fields; raise an error if damaged or too large.

    Args:
        path: log.
        unread: parts of samples to leave out; None to read only the header.
    """
    with extras_named():
        from inspect_ai.log import read_eval_log
    if is_pipe(path):
        raise InputError(
            "is a pipe; logs are known by their names", path=path, allowed="save it as LOG.eval",
            code="not-a-file",
        )  # fmt: skip
    try:
        with zipfile.ZipFile(path) as archive:
            _require_size(path, archive.infolist())
            # The reader of inspect_ai looks neither at checksums nor at the sizes above.
            if unread is not None and (name := archive.testzip()):
                raise zipfile.BadZipFile(f"{name} does not have its checksum")
        return read_eval_log(path.resolve(), header_only=unread is None, exclude_fields=unread)
    except CiteforgeError:
        raise
    except FileNotFoundError as error:
        raise read_error(error, path) from error
    except Exception as error:
        # Whatever its reader, or a decoder beneath it, says of a damaged file.
        raise InputError(
            f"is not a readable log of inspect_ai ({error_line(error)})", path=path,
            allowed=_ALLOWED, code="bad-archive",
        ) from error  # fmt: skip
