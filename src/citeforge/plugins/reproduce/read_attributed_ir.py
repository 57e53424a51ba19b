"""Readers of Attributed-IR's published answers to HAGRID's questions."""

import ast
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.compute as pc

from citeforge.builders.alce.frozen import build_hagrid
from citeforge.engines.files import sha256_file, write_bytes
from citeforge.engines.textfiles import read_csv
from citeforge.ir_convert.hagrid import HagridAnswer, Quote, open_hagrid
from citeforge.ir_convert.source import ReadOptions
from citeforge.library.citations import parse_citations
from citeforge.library.scores import score
from citeforge.plugins.reproduce.reader import FileGroups, ReaderTools, Values, only_file
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import Part, RunOptions, make_record
from citeforge.schemas.recipes.command_options import Protocol


class AirOptions(Part):
    """Options of the reader ``attributed-ir``: context set and protocol of scoring."""

    context: str = "own"
    """Context set: `own` for passages in the file, `none` for systems that saw none."""
    protocol: Protocol = "reference"
    """Definitions of measures: `reference` as in the paper's code, `strict` for ours."""


def read_air_answers(
    files: FileGroups, options: dict[str, Any], value_names: Sequence[str], tools: ReaderTools
) -> Values:
    """Score answers in an Attributed-IR file: value by name, or reason why there is none.

    Args:
        files: groups of files that a row of the table names.
        options: options of this reader that the table declares.
        value_names: names of the values to compute.
        tools: folder, judge and models that readers share.
    """
    choices = make_record(AirOptions, **options)
    paths = only_file(files, "attributed-ir")
    scores = score(
        paths[0],
        _build_benchmark(paths, tools),
        value_names,
        context=choices.context,
        protocol=choices.protocol,
        judge=tools.judge,
        file_format="attributed-ir",
    )
    reasons = {one.name: one.reason for one in scores.not_computed}
    values = ((name, scores[name].value) for name in value_names if name not in reasons)
    return reasons | {name: "has no value" if value is None else value for name, value in values}


def read_air_questions(
    files: FileGroups, options: dict[str, Any], value_names: Sequence[str], tools: ReaderTools
) -> Values:
    """Compute named statistics of the questions and gold answers in a HAGRID file.

    Args:
        files: groups of files that a row of the table names.
        options: options of this reader that the table declares.
        value_names: names of the values to compute.
        tools: folder, judge and models that readers share.
    """
    make_record(Part, **options)
    paths = only_file(files, "hagrid")
    path, _ = _write_questions(paths, tools)
    source = open_hagrid(str(path), None, ReadOptions())
    gold, n_questions = source.gold(), source.queries().num_rows
    marks = sum(
        len(m.numbers) for text in gold["text"].to_pylist() for m in parse_citations(text).markers
    )
    statistics = {
        "questions": n_questions,
        "answers": gold.num_rows,
        "informative": pc.sum(pc.equal(gold["informative"], 1), min_count=0).as_py(),
        "attributable": pc.sum(pc.equal(gold["attributable"], 1), min_count=0).as_py(),
        "passages per question": source.relevant().num_rows / n_questions,
        "attributability judged": gold.num_rows - gold["attributable"].null_count,
        "citations per answer": marks / gold.num_rows,
    }
    return {name: float(value) for name, value in statistics.items()}


def _build_benchmark(paths: Sequence[Path], tools: ReaderTools) -> Path:
    """Build (once) a benchmark from the questions of a file: its folder."""
    path, content = _write_questions(paths, tools)
    if content not in tools.benchmarks:
        folder = tools.folder / f"benchmark-{content[:16]}"
        build_hagrid(HagridRecipe(source=f"hagrid:{path}"), RunOptions(out=folder))
        tools.benchmarks[content] = folder
    return tools.benchmarks[content]


def _write_questions(paths: Sequence[Path], tools: ReaderTools) -> tuple[Path, str]:
    """Write an Attributed-IR file's questions as HAGRID's, unless given so: (path, sha256)."""
    if len(paths) > 1:  # the questions have a file of their own, in that layout
        return paths[1], sha256_file(paths[1])
    rows = (msgspec.json.encode(row) + b"\n" for row in _read_rows(paths[0]))
    path = tools.folder / f"{sha256_file(paths[0])[:16]}.jsonl"
    write_bytes(path, b"".join(rows))
    return path, sha256_file(path)


def _read_rows(path: Path) -> Iterator[dict[str, Any]]:
    """Yield HAGRID rows (question, passages, answers) from an Attributed-IR CSV file."""
    # Passages are `gold_quotes`, else `quotes`.
    for line, row in read_csv(path, ("query_id", "query", "quotes", "answers")):
        try:
            quotes = ast.literal_eval(row.get("gold_quotes") or row["quotes"])
            answers = ast.literal_eval(row["answers"])
            msgspec.convert(quotes, list[Quote])
            msgspec.convert(answers, list[HagridAnswer])
        except (msgspec.ValidationError, ValueError, SyntaxError, MemoryError) as error:
            raise InputError(
                f"is not a row of Attributed-IR ({error})", path=path, line=line, code="wrong-value"
            ) from error
        named = {name: row[name] for name in ("query_id", "query")}
        yield {**named, "quotes": quotes, "answers": answers}
