"""A board's history of scored submissions, and its own rules for new ones."""

import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec

from citeforge.engines.files import sha256_file, write_bytes
from citeforge.engines.jsonlines import read_rows, read_start
from citeforge.evaluator.check import Findings, check
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.formats import bare_name
from citeforge.evaluator.submissions.submission import Submission
from citeforge.plugins.leaderboard.boards import Board
from citeforge.schemas.errors import CiteforgeError, InputError
from citeforge.schemas.recipes.systems import find_lookalike


class Event(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A submission that a board scored.

    Attributes:
        submission: name of its file.
        sha256: hash of the file.
        system: name of the system.
        context: context sets that were scored, joined by ``|``.
        benchmark_hash: hash of the benchmark, or of its public half.
        scores: name of each of its score files to the file's sha256; empty before it is scored.
        account: account that submitted it in the Space; unset where files come in another way.
    """

    submission: str
    sha256: str
    system: str
    context: str
    benchmark_hash: str
    scores: dict[str, str] = {}
    account: str | msgspec.UnsetType = msgspec.UNSET

    @property
    def contexts(self) -> list[str]:
        """Names of the context sets that were scored."""
        return self.context.split("|")

    @property
    def file_key(self) -> str:
        """Name of the submission's file without ending, unique among those to its benchmark."""
        return bare_name(Path(self.submission))


def read_history(path: Path) -> list[Event]:
    """Read scored submissions of one benchmark of a leaderboard, in order; empty without a file.

    Raises:
        InputError: a line is not an event.
    """
    return [event for _, event in read_rows(path, Event)] if path.exists() else []


def write_history(path: Path, events: Iterable[Event]) -> None:
    """Write all scored submissions of one benchmark of a leaderboard as JSON Lines."""
    write_bytes(path, b"".join(msgspec.json.encode(e) + b"\n" for e in events))


def latest_events(events: Sequence[Event]) -> dict[str, Event]:
    """Map the file name of each submission to its latest event in a leaderboard's history."""
    return {e.submission: e for e in events}


def normalise_name(name: str) -> str:
    """Normalise case, width and spaces of a system's or file's name, to find equal ones."""
    return " ".join(unicodedata.normalize("NFKC", name).casefold().split())


def count_submissions(event: Event, events: Sequence[Event]) -> int:
    """Count other submissions of the same system or file name to the same benchmark.

    Case, width and spaces of names do not matter.
    """
    mine = (normalise_name(event.system), normalise_name(event.file_key))
    return len(
        {
            e.sha256
            for e in events
            if e.benchmark_hash == event.benchmark_hash
            and (normalise_name(e.system) == mine[0] or normalise_name(e.file_key) == mine[1])
        }
        - {event.sha256}
    )


def count_account_submissions(event: Event, events: Sequence[Event]) -> int:
    """Count other submissions by the same account to the same benchmark."""
    return len(
        {
            e.sha256
            for e in events
            if e.benchmark_hash == event.benchmark_hash and e.account == event.account
        }
        - {event.sha256}
    )


def check_size(path: Path, megabytes: float) -> None:
    """Raise an error if a submission, unpacked, has more megabytes than its leaderboard takes.

    Raises:
        InputError: it has more, or cannot be read.
    """
    limit = round(megabytes * 1e6)
    if len(read_start(path, limit + 1)) > limit:
        raise InputError(
            f"has more than the {megabytes:g} MB that this leaderboard takes (unpacked)",
            path=path,
            allowed="answers alone, without fields of your own, or fewer runs; the owner of the "
            "leaderboard sets submission_megabytes in leaderboard.yaml",
            code="too-large",
        )


HIDDEN_GOLD_QUOTA = 3
"""Default quota of a system's submissions to hidden gold: each score reveals some of the labels."""


class BoardCheck:
    """Checks submissions to one board, each against the history and those accepted before."""

    def __init__(self, board: Board, benchmark: Benchmark, may_replace: bool) -> None:
        """Read a board's history to check submissions; they may replace other systems' or not.

        Args:
            board: board to check for.
            benchmark: its benchmark; labels are not needed.
            may_replace: whether a file may be of another system than before.

        Raises:
            InputError: the history cannot be read.
        """
        self._board, self._benchmark, self._replace = board, benchmark, may_replace
        self._history = read_history(board.history_file)
        folder = board.submissions_folder
        scored = latest_events(self._history)
        self._scored = {e.file_key: e for n, e in scored.items() if (folder / n).is_file()}
        self._systems = {n: e.system for n, e in self._scored.items()}
        self._names = {
            (normalise_name(e.system), c): e for e in self._scored.values() for c in e.contexts
        }

    def is_scored(self, path: Path) -> bool:
        """Whether the leaderboard has scored a file of this name with this content."""
        event = self._scored.get(bare_name(path))
        return event is not None and event.sha256 == sha256_file(path)

    def check_file(
        self, path: Path, account: str | msgspec.UnsetType = msgspec.UNSET
    ) -> tuple[Findings, Event | None]:
        """Check a submission: (errors and warnings, event for the history or None if refused).

        Args:
            path: the submission.
            account: account that submits it in the Space, whose submissions are counted, too.
        """
        findings = Findings()
        try:
            options = self._board.score
            findings = check(path, self._benchmark, options.context, options.file_format)
            # The board's owner has set the options of scoring.
            findings.warnings = [*map(without_option, findings.warnings)]
            if findings.errors:
                return findings, None
            event = msgspec.structs.replace(self._make_event(path), account=account)
            findings.errors += self._find_faults(event, findings)
        except CiteforgeError as error:
            findings.errors.append(Finding.from_error(error))
        if findings.errors:
            return findings, None
        for context in event.contexts:
            self._names[normalise_name(event.system), context] = event
        self._systems[event.file_key] = event.system
        self._history.append(event)
        return findings, event

    def _make_event(self, path: Path) -> Event:
        """Make the history's event of a submission, from its header and its content's hash.

        Raises:
            CiteforgeError: a field of the header is wrong, or the context is ambiguous.
        """
        options = self._board.score
        submission = Submission(path, self._benchmark, options.file_format)
        context = options.context or "|".join(submission.contexts)
        return Event(
            path.name, submission.digest(), submission.system, context, self._benchmark.hash
        )

    def _find_faults(self, event: Event, findings: Findings) -> Iterator[Finding]:
        """Yield a submission's violations of rules on names, files and quotas; add warnings.

        Args:
            event: what the history would record of the submission.
            findings: warnings are added.
        """
        key, holder = normalise_name(event.system), event
        for context in event.contexts:
            holder = self._names.get((key, context), event)
            if holder.file_key != event.file_key:
                yield Finding(
                    "duplicate-id",
                    f"{event.system!r} is already the system of {holder.submission} (context "
                    f"{context}); "
                    "choose another name for another system, or replace that file",
                )
                break
        others = [s for n, s in self._systems.items() if n != event.file_key]
        if (
            holder.file_key == event.file_key
            and (twin := find_lookalike(event.system, others)) is not None
        ):
            text = f"{event.system!a} looks like {twin!a} on the board; choose another name"
            yield Finding("bad-name", text)
        before = self._scored.get(event.file_key)
        if before is not None and before.sha256 != event.sha256:
            if before.system != event.system and not self._replace:
                yield Finding(
                    "foreign-file",
                    f"is the submission of {before.system!r}, and now names {event.system!r}; "
                    "choose another name and file for another system",
                    option="--replace puts it in the place of the first",
                )
            text = f"replaces the submission of {before.system!r}: are both from the same people?"
            findings.warnings.append(Finding("replaced-file", text))
        limit = self._board.submissions_per_system
        if limit is None and (self._board.gold is not None or self._benchmark.has_hidden_gold):
            limit = HIDDEN_GOLD_QUOTA
        n_before = count_submissions(event, self._history)
        is_new = before is None or before.sha256 != event.sha256
        if limit is not None and is_new and n_before >= limit:
            yield Finding(
                "quota",
                f"{event.system!r} has made {n_before} submissions, and this board takes {limit} a "
                "system (submissions_per_system in leaderboard.yaml)",
            )
        if event.account is not msgspec.UNSET:
            limit = self._board.submissions_per_account or limit
            n_before = count_account_submissions(event, self._history)
            if limit is not None and is_new and n_before >= limit:
                yield Finding(
                    "quota",
                    f"the account {event.account} has made {n_before} submissions, and this board "
                    f"takes {limit} an account (submissions_per_account in leaderboard.yaml)",
                )


def without_option(finding: Finding) -> Finding:
    """Copy a finding without its note on a command's option, which a web page does not have."""
    return replace(finding, option="")


def escape_line(text: str) -> str:
    """Escape control characters and line breaks in a text for the terminal."""
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)
