"""``export sft`` and ``export rl-prompts``: training data from a benchmark (RAGE, section 4)."""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Annotated, Any

import pyarrow as pa
from pydantic import Field

from citeforge.builders.prompts import load_template, render_prompts
from citeforge.engines.files import atomic_file, sha256_file, write_text
from citeforge.engines.tables import TableWriter
from citeforge.evaluator.measures.rage_citations import AnswerValues, score_strict
from citeforge.evaluator.submissions.benchmark import Benchmark, ContextTable, LineIndex
from citeforge.evaluator.submissions.submission import Submission
from citeforge.plugins.training.held_out import HeldOut, read_held_out
from citeforge.plugins.training.rewards import f1
from citeforge.publishing.export import ContextOptions, DroppedFields, Export
from citeforge.schemas.counts import count_key, count_line, join_counts
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import Option
from citeforge.schemas.recipes.groups import PROMPTS
from citeforge.schemas.submission import SubmissionLine
from citeforge.schemas.version import __version__

SUMMARY = "training.json"
"""Name of the file that records an export's inputs, and the number of rows left out."""
_BATCH_ROWS = 1 << 10
_CHAT = pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))
_TEXT, _VALUE = pa.string(), pa.float64()


def _make_schema(**types: pa.DataType) -> pa.Schema:
    """Make a table schema from column types by name, without nulls."""
    return pa.schema([pa.field(name, value, nullable=False) for name, value in types.items()])


SFT_ROWS = _make_schema(
    prompt=_CHAT, completion=_CHAT, query_id=_TEXT, context_set=_TEXT, run=pa.int32(),
    cite_p=_VALUE, cite_r=_VALUE, cite_f1=_VALUE,
)  # fmt: skip
"""Columns of ``export sft``; TRL's ``SFTTrainer`` reads the first two."""
_REWARD_CONTEXT = pa.struct({"n_passages": pa.int32(), "relevant": pa.list_(pa.int32()),
                    "numbering": pa.int32(), "form": _TEXT})  # fmt: skip
RL_ROWS = _make_schema(
    prompt=_CHAT, contexts=_REWARD_CONTEXT, query_id=_TEXT, context_set=_TEXT, benchmark_hash=_TEXT
)
"""Columns of ``export rl-prompts`` for TRL's ``GRPOTrainer``; `rewards` reads ``contexts``."""


class PromptOptions(ContextOptions):
    """Options of ``export rl-prompts``."""

    context: str | None = None
    """Context set (default: all)."""
    held_out: Annotated[tuple[Path, ...], Option(metavar="FILE|DIR")] = ()
    """Leave out these questions, by id and by text: a benchmark, or JSON Lines with _id or text;
    may repeat."""
    template: Annotated[str | None, PROMPTS] = None
    """Prompt template (default: by kind of benchmark)."""


class AnswerOptions(PromptOptions):
    """Options of ``export sft``."""

    context: str | None = None
    """Context set (default: the one that the answers are of)."""
    submission: Path
    """Answers that a model is to learn from."""
    min_f1: float = Field(ge=0, le=1)
    """Minimum citation F1 per answer, 0 to 1 (harmonic mean of its CiteP and CiteR)."""


@dataclass(frozen=True, slots=True)
class TrainingAnswer:
    """An answer to train on, with its run and the values of its citations."""

    run: int
    output: str
    scores: AnswerValues


@dataclass
class _ExportState:
    """State of an export: benchmark, options, output folder, and counts of rows left out."""

    benchmark: Benchmark
    options: PromptOptions
    out: Path
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        """Read held-out questions and the prompt template; find which queries are held out."""
        self.held_out: HeldOut = read_held_out(self.options.held_out)
        self.template = load_template(self.options.template or self.benchmark.kind.facts.template)
        self._reasons = [
            self.held_out.find_reason(query, text)
            for query, text in zip(
                self.benchmark.query_ids, self.benchmark.queries["text"].to_pylist(), strict=True
            )
        ]

    def find_reason(self, question_row: int, table: ContextTable) -> str | None:
        """Get the reason why a training export leaves a question out; None if it does not."""
        return self._reasons[question_row] or (
            None if table.relevant[question_row] else "without recall: no relevant passage is shown"
        )

    def get_context(self, context_name: str) -> ContextTable:
        """Get a context set; raise an error if its passages have no relevance judgements."""
        table = self.benchmark.context(context_name)
        if not table.is_labelled:
            raise InputError(
                f"context {context_name!r}: its passages have no relevance judgements, so that "
                "citations cannot be rewarded",
                path=self.benchmark.folder,
                allowed="a benchmark with judged passages, or joined with its gold half",
                code="no-relevant",
            )
        return table

    def make_prompts(self, context_name: str) -> Iterator[tuple[int, list[dict[str, str]]]]:
        """Yield (row of the query, prompt as messages) for all queries of a context set."""
        texts = render_prompts(self.benchmark, context_name, self.template)
        for row, (_, text) in enumerate(texts):
            yield row, [{"role": "user", "content": text}]

    def write(
        self,
        row_noun: str,
        rows: Iterable[dict[str, Any]],
        schema: pa.Schema,
        advice: str,
        **more: Any,
    ) -> DroppedFields:
        """Write training rows as Parquet and a summary; return omissions; advise if none is left.

        Args:
            row_noun: noun for a row, for errors.
            rows: rows of questions or answers.
            schema: schema of the rows.
            advice: advice if no row is left, for errors.
            more: further inputs for the summary.

        Returns:
            Rows and fields that were left out, a line each.

        Raises:
            InputError: all rows were left out.
        """
        n_rows, source = 0, iter(rows)
        with TableWriter(self.out / "data", "train", schema) as writer:
            while part := list(islice(source, _BATCH_ROWS)):
                n_rows += len(part)
                writer.write(pa.Table.from_pylist(part, schema))
        counts = dict(sorted(self.counts.items()))
        if not n_rows:
            raise InputError(
                f"has no {row_noun} to learn from "
                f"({join_counts(self.counts.items()) or 'no lines'})",
                path=getattr(self.options, "submission", self.benchmark.folder), allowed=advice,
                code="too-few"
            )  # fmt: skip
        files = sorted(file for file in self.out.rglob("*") if file.is_file())
        summary = {
            "rows": n_rows,
            "benchmark": self.benchmark.manifest.name,
            "benchmark_hash": self.benchmark.hash,
            "template": Path(str(self.template.filename)).name,
            "template_sha256": sha256_file(Path(str(self.template.filename))),
            "held_out": self.held_out.inputs,
            "left_out": counts,
            **more,
            "citeforge": __version__,
            "files": {f.relative_to(self.out).as_posix(): sha256_file(f) for f in files},
        }
        write_text(self.out / SUMMARY, json.dumps(summary, indent=1, ensure_ascii=False) + "\n")
        lost = [count_line(key, count) for key, count in counts.items()]
        return [*lost, "ids of passages: prompts hold their texts"]


def export_sft(folder: Path, out: Path, options: AnswerOptions) -> DroppedFields:
    """Export well-cited answers with their prompts as training data; return what is left out.

    It writes ``chat.jsonl`` and ``data/train-*.parquet``.

    Args:
        folder: benchmark that was answered.
        out: folder, there already.
        options: answers, least F1, held-out questions, template.

    Returns:
        What was left out, one line per reason.

    Raises:
        InputError: a wrong line, an unjudged context set, or no answer that is good enough.
    """
    benchmark = Benchmark(folder)
    export = _ExportState(benchmark, options, out)
    submission = Submission(options.submission, benchmark)
    if (base := submission.format.base) is not None:
        raise InputError(
            f"contains answers to prompts of {submission.form}, which count passages from {base}",
            path=options.submission,
            allowed="answers to prompts of `citeforge export prompts`",
            code="unsupported",
        )
    context = submission.choose_context(options.context)
    good = _select_good_answers(export, submission, context, options)

    def write_chat_lines() -> Iterator[dict[str, Any]]:
        """Write each selected answer to ``chat.jsonl``, and yield it as a row of the table."""
        with atomic_file(out / "chat.jsonl") as file:
            for row, prompt in export.make_prompts(context) if any(good.values()) else ():
                for answer in sorted(good.get(row, ()), key=lambda k: k.run):
                    completion = [{"role": "assistant", "content": answer.output}]
                    line = json.dumps({"messages": prompt + completion}, ensure_ascii=False)
                    file.write(line.encode() + b"\n")
                    yield {
                        "prompt": prompt,
                        "completion": completion,
                        "query_id": benchmark.query_ids[row],
                        "context_set": context,
                        "run": answer.run,
                        "cite_p": answer.scores.numbers.precision,
                        "cite_r": answer.scores.numbers.recall,
                        "cite_f1": f1(answer.scores),
                    }

    return export.write(
        "answer", write_chat_lines(), SFT_ROWS, "a lower --min-f1, or other answers",
        submission={"file": options.submission.name, "sha256": submission.digest(),
                    "system": submission.system},
        min_f1=options.min_f1,
        measure="F1 of one answer: harmonic mean of its CiteP and CiteR (CiteF1@query), "
        f"{benchmark.grammar.signature}",
    )  # fmt: skip


def _select_good_answers(
    export: _ExportState, submission: Submission, context: str, options: AnswerOptions
) -> dict[int, list[TrainingAnswer]]:
    """Select a submission's answers to train on, by row of the question; count the others.

    Args:
        export: counts, and what is held out.
        submission: the answers.
        context: context set that they are about.
        options: least F1.
    """
    benchmark, counts = export.benchmark, export.counts
    table = export.get_context(context)
    line_index = LineIndex(submission.path, benchmark)
    good: dict[int, list[TrainingAnswer]] = {}
    for line, answer in submission.answers():
        if not line_index.is_about(line, answer, context):
            is_own = answer.passages is not None
            counts["answers_to_own_passages" if is_own else "answers_to_other_contexts"] += 1
            continue
        row = line_index.row(line, answer, context)
        numbers = score_strict(
            benchmark.grammar, answer.output, table.sizes[row], table.relevant[row], {}
        )
        mine = good.setdefault(row, [])
        if why := export.find_reason(row, table) or _find_flaw(answer, numbers, mine, options):
            counts[count_key("answers_left_out", why)] += 1
        else:
            mine.append(TrainingAnswer(answer.run, answer.output, numbers))
    return good


def _find_flaw(
    answer: SubmissionLine,
    scores: AnswerValues,
    chosen: Sequence[TrainingAnswer],
    options: AnswerOptions,
) -> str | None:
    """Explain why an answer is too bad for training, or equals a chosen one; None if it is not.

    Args:
        answer: the answer.
        scores: its citations' precision and recall.
        chosen: answers to the same question that are used.
        options: least F1.
    """
    if answer.is_truncated:
        return "cut at the token limit"
    if not answer.output.strip():
        return "without a word"
    if f1(scores) < options.min_f1:
        return f"below F1 {options.min_f1:g}"
    if any(one.output == answer.output for one in chosen):
        return "in the words of another run"
    return None


def export_rl(folder: Path, out: Path, options: PromptOptions) -> DroppedFields:
    """Export prompts with reward data for RL training; return what is left out.

    It writes ``data/train-*.parquet``.

    Args:
        folder: benchmark that is to be answered.
        out: folder, there already.
        options: held-out questions, template.

    Returns:
        What was left out, one line per reason.

    Raises:
        InputError: an unjudged context set, or no question is left.
    """
    benchmark = Benchmark(folder)
    export = _ExportState(benchmark, options, out)
    contexts = benchmark.contexts if options.context is None else [options.context]

    def rows() -> Iterator[dict[str, Any]]:
        """Yield a training row (prompt, and data for its reward) per question not left out."""
        grammar = benchmark.grammar
        for name in contexts:
            table = export.get_context(name)
            for row, prompt in export.make_prompts(name):
                if why := export.find_reason(row, table):
                    export.counts[count_key("prompts_left_out", why)] += 1
                    continue
                about = {"n_passages": table.sizes[row], "relevant": sorted(table.relevant[row]),
                         "numbering": grammar.base, "form": grammar.form}  # fmt: skip
                yield {"prompt": prompt, "contexts": about, "query_id": benchmark.query_ids[row],
                       "context_set": name, "benchmark_hash": benchmark.hash}  # fmt: skip

    allowed = "fewer held-out questions, or another benchmark"
    return export.write("question", rows(), RL_ROWS, allowed, contexts=contexts)


SFT = Export(
    "sft", "Answers that cite well, for supervised fine-tuning.", export_sft, AnswerOptions
)
RL_PROMPTS = Export(
    "rl-prompts",
    "Prompts for reinforcement learning, with the data that rewards need.",
    export_rl,
    PromptOptions,
)
