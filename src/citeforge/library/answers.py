"""Temporary submission files for answers that are Python objects."""

import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from citeforge.schemas.errors import InputError, UsageError

_AT_LINE = re.compile(r"at line (\d+)")
_HEADER = re.compile(r"begin the file with \{.*\}")
_OPTION = re.compile(r"--([a-z][a-z-]+)")
Answers = str | Path | Iterable[Mapping[str, Any]] | Any
"""A submission file, dictionaries with its fields, or a DataFrame with such columns."""


@contextmanager
def submission_file(answers: Answers, system: str | None = None) -> Iterator[Path]:
    """Write answers to a temporary submission file, which exists while the block runs.

    Args:
        answers: path of a submission; or rows with the fields of a submission line
            (``query_id``, ``output``, …); or a DataFrame with these columns, whose empty cells
            (NaN, None) count as absent.
        system: name of the system, for rows; ``answers`` by default.

    Raises:
        InputError: a row cannot be written as JSON, with its number.
        UsageError: neither a path nor rows.
    """
    if isinstance(answers, str | Path):
        yield Path(answers)
        return
    name = system or "answers"
    with tempfile.TemporaryDirectory(prefix="citeforge-") as folder:
        path = Path(folder) / "answers.jsonl"
        with path.open("wb") as file:
            file.write(msgspec.json.encode({"submission": {"system": name}}) + b"\n")
            for number, row in enumerate(_rows(answers), 1):
                file.write(_encode_row(row, number) + b"\n")
        try:
            yield path
        except InputError as error:
            if error.path != str(path):
                raise
            # The file is temporary: the caller knows the number of the row instead.
            raise InputError(
                in_python(error.message),
                path="answers" if error.line is None else _name_element(error.line),
                field=error.field,
                allowed=in_python(error.allowed or "") or None,
                code=error.code,
            ) from error


def _name_element(line: int) -> str:
    """Name the answer in a line of a file with a header line: ``answers[0]`` is in line 2."""
    return f"answers[{line - 2}]"


def in_python(text: str) -> str:
    """Reword a message about a submission file for answers that are Python objects."""
    text = _AT_LINE.sub(lambda found: f"at {_name_element(int(found[1]))}", text)
    text = _OPTION.sub(lambda found: f"{found[1].replace('-', '_')}=", text)
    text = _HEADER.sub("add benchmark_hash to each answer", text)
    return text.replace("citeforge check", "citeforge.check")


def _rows(answers: Any) -> Iterator[Mapping[str, Any]]:
    """Yield answers as dictionaries; empty cells of a DataFrame are left out.

    Args:
        answers: dictionaries, or a DataFrame.
    """
    if hasattr(answers, "to_dict") and hasattr(answers, "columns"):
        for row in answers.to_dict(orient="records"):
            # A DataFrame's empty cell is NaN, the one value unequal to itself.
            yield {
                k: v
                for k, v in row.items()
                if v is not None and not (isinstance(v, float) and v != v)
            }
        return
    if isinstance(answers, Mapping) or not isinstance(answers, Iterable):
        raise UsageError(
            f"answers: expected a path, dictionaries or a DataFrame, got {type(answers).__name__}",
            code="wrong-type",
        )
    yield from answers


def _encode_row(row: Any, number: int) -> bytes:
    """Encode an answer as a line of JSON; ``number`` (from 1) is for messages.

    Args:
        row: the answer.
        number: its number, from 1.

    Raises:
        InputError: it is no dictionary, or holds what JSON cannot.
    """
    try:
        line = msgspec.json.encode(row)
        if line.startswith(b"{"):
            return line
        fault, cause = f"expected a dictionary, got {type(row).__name__}", None
    except (TypeError, ValueError, msgspec.MsgspecError) as error:
        fault, cause = f"cannot be written as JSON ({error})", error
    raise InputError(
        fault,
        path=f"answers[{number - 1}]",
        allowed='fields of a submission line, e.g. {"query_id": "q1", "output": "… [2]."}',
        code="wrong-type",
    ) from cause
