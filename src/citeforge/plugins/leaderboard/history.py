"""What a board has scored: one line a submission, which limits and replacements are told by."""

import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

import msgspec

from citeforge.engines.io.files import write_bytes
from citeforge.engines.io.jsonlines import read_rows


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A submission that a board scored.

    Attributes:
        submission: name of its file.
        sha256: of the file.
        system: name of the system.
        context: context set that was scored; several with ``|`` between them.
        benchmark_hash: benchmark, without its gold where that is hidden.
    """

    submission: str
    sha256: str
    system: str
    context: str
    benchmark_hash: str

    @property
    def contexts(self) -> list[str]:
        """Names of the context sets that were scored."""
        return self.context.split("|")


def read_history(path: Path) -> list[Event]:
    """All submissions that a board scored, the first one first; none without the file.

    Raises:
        InputError: a line is none of ours.
    """
    return [event for _, event in read_rows(path, Event)] if path.exists() else []


def write_history(path: Path, events: Iterable[Event]) -> None:
    """Write all of a board's history."""
    write_bytes(path, b"".join(msgspec.json.encode(e) + b"\n" for e in events))


def latest(events: Sequence[Event]) -> dict[str, Event]:
    """File name to what was scored of it last."""
    return {e.submission: e for e in events}


def name_key(name: str) -> str:
    """What names that readers take for one another have in common: case, width, spaces."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def submissions_of(event: Event, events: Sequence[Event]) -> int:
    """Submissions to the same benchmark that a system made, by its name or by its file's."""
    mine = (name_key(event.system), name_key(event.submission))
    return len(
        {
            e.sha256
            for e in events
            if e.benchmark_hash == event.benchmark_hash
            and (name_key(e.system) == mine[0] or name_key(e.submission) == mine[1])
        }
        - {event.sha256}
    )
