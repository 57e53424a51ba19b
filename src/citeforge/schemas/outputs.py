"""The object that a command with ``--json`` prints."""

from collections.abc import Mapping
from typing import Annotated, Generic, TypeVar

from pydantic import WithJsonSchema

from citeforge.schemas.errors import CiteforgeError, InputError, UsageError
from citeforge.schemas.record import FrozenRecord

OUTPUT_VERSION = 1
R = TypeVar("R")
UndefinedNumber = Annotated[
    float, WithJsonSchema({"type": ["number", "null"]}, mode="serialization")
]
"""Number that may be NaN or infinite, which is null in JSON."""


class Place(FrozenRecord):
    """Place of an error; what is not known is None.

    Attributes:
        file: file or folder, as the user named it.
        line: its line, from 1.
        field: name of the field.
        option: name of the option, such as ``--top-k``.
    """

    file: str | None = None
    line: int | None = None
    field: str | None = None
    option: str | None = None


class Fault(FrozenRecord):
    """Error that ended a command.

    Attributes:
        code: short stable name of the kind of error; the wording of a message may change.
        message: what the command prints on standard error.
        where: place of the error.
        advice: what would be right, or what to do next, also where the message ends with it; None
            where the error has no such part.
    """

    code: str
    message: str
    where: Place = Place()
    advice: str | None = None

    @classmethod
    def from_error(cls, error: CiteforgeError) -> "Fault":
        """Convert an error to the error object of ``--json``: code, message, file, line, advice."""
        where = Place()
        if isinstance(error, InputError):
            where = Place(file=error.path, line=error.line, field=error.field)
        elif isinstance(error, UsageError):
            where = Place(option=error.option)
        return cls(code=error.code, message=str(error), where=where, advice=error.allowed)


class TextResult(FrozenRecord):
    """Result of a command that prints a text for people or for a file.

    Attributes:
        text: the text.
    """

    text: str


class MissingAnswer(FrozenRecord):
    """Query that a run has no answer to.

    Attributes:
        query_id: id of the query.
        reason: kind of failure, such as ``timeout``.
        message: the failure in one line.
    """

    query_id: str
    reason: str
    message: str


class RunResult(FrozenRecord):
    """Result of a command that runs a system.

    Attributes:
        file: submission that was written.
        system: name of the system in its header.
        answers: number of answers in it.
        missing: queries without an answer, once per context set and run.
        counts: other figures above 0 by key (docs/counts.md).
        warnings: doubts about the answers, such as one text in all of them.
    """

    file: str
    system: str
    answers: int
    missing: tuple[MissingAnswer, ...] = ()
    counts: Mapping[str, int] = {}
    warnings: tuple[str, ...] = ()


class TakenSubmission(FrozenRecord):
    """Submission without errors that a leaderboard takes in.

    Attributes:
        board: name of its board.
        file: its file, as the user named it.
        answers: number of answers in it.
        warnings: what is doubtful about it.
    """

    board: str
    file: str
    answers: int
    warnings: tuple[str, ...] = ()


class LeaderboardResult(FrozenRecord):
    """Result of a command that builds a leaderboard's site, or checks submissions to it.

    Attributes:
        index: first page of the site; None if submissions were only checked, and so are the
            numbers below.
        systems: number of distinct systems on all benchmarks.
        controls: number of distinct controls.
        queries: number of query pages.
        index_bytes: size of the first page.
        submissions: submissions without errors.
        refused: a line for each submission and score file that is left out, with the reason.
    """

    index: str | None
    systems: int | None = None
    controls: int | None = None
    queries: int | None = None
    index_bytes: int | None = None
    submissions: tuple[TakenSubmission, ...] = ()
    refused: tuple[str, ...] = ()


class Output(FrozenRecord, Generic[R]):
    """What a command with ``--json`` prints on standard output, however it ends.

    Attributes:
        command: name of the command, such as ``build rage``; None where the name is unknown.
        exit_code: exit code of the command.
        result: what the command found or made; None where it did not get that far.
        error: why the exit code is not 0; None where it is.
    """

    command: str | None
    exit_code: int
    result: R | None
    error: Fault | None
