"""What the app of a Space calls: scores of participants' files, and submissions to a queue.

This process holds the owner's token and reads no file of a participant: a subprocess without the
token, and with limits, does (:mod:`citeforge.plugins.leaderboard.space_scoring`).
"""

import base64
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec

from citeforge.engines.keys import mask_keys
from citeforge.engines.posix import hide_memory, is_ended_by, run_group
from citeforge.engines.shown import show_amount
from citeforge.evaluator.submissions.finding import Finding
from citeforge.library.benchmarks import package_folder
from citeforge.package.manifest import load_manifest
from citeforge.plugins.leaderboard.board_check import Event
from citeforge.plugins.leaderboard.boards import Board, read_boards, require_public_labels
from citeforge.plugins.leaderboard.pages import environment
from citeforge.plugins.leaderboard.space_queue import Queue, local_board
from citeforge.plugins.leaderboard.space_scoring import OUTCOME, REPORT, SCORES, Outcome, Task
from citeforge.schemas.errors import CiteforgeError, InputError

TOKEN = "CITEFORGE_QUEUE_TOKEN"
"""Secret of the Space: a token that may write to the queue. No library reads it by itself."""
_KEPT_VARIABLES = ("PATH", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONPATH", "VIRTUAL_ENV")
"""Variables of the environment that the subprocess has, too."""
_OUT_OF_MEMORY = re.compile(r"MemoryError|bad_alloc|memory allocation|Cannot allocate memory")
"""How Python, C++ and Rust say it."""
_MOST_SHOWN = 100
"""Errors, and warnings, that a reply lists."""


@dataclass(frozen=True)
class Reply:
    """Reply to a participant.

    Attributes:
        html: findings, and what happened, as HTML in which every text is escaped.
        report: page with scores and answers, in a frame of its own; empty without scores.
        files: report and score file, to download.
    """

    html: str
    report: str = ""
    files: tuple[str, ...] = ()


class Desk:
    """Boards of a Space, at which participants check, score and submit files."""

    def __init__(self, folder: str | Path, *, seconds: int = 120, gigabytes: float = 4) -> None:
        """Read ``leaderboard.yaml`` and download benchmarks; set the limits on one file's scoring.

        Args:
            folder: of ``leaderboard.yaml``.
            seconds: processor time, and time in all, for one file.
            gigabytes: memory (address space) for one file.

        Raises:
            InputError: the file is at fault, or a benchmark cannot be read or shows hidden labels.
        """
        self.config, self._all = read_boards(Path(folder))
        self._seconds, self._memory = seconds, round(gigabytes * 1e9)
        self._boards = {b.name: _localise_board(b) for b in self._all.boards}
        self._hidden = {
            name: bool(load_manifest(Path(b.benchmark)).config.get("hidden_gold"))
            for name, b in self._boards.items()
        }
        token = os.environ.get(TOKEN, "").strip()
        self._queue = None
        if self._all.queue and token:
            self._queue = Queue(self._all.queue, token)
            hide_memory()

    @property
    def title(self) -> str:
        """Title of the Space's page."""
        return self._all.title or "Leaderboard"

    @property
    def boards(self) -> list[str]:
        """Names of the leaderboard's boards, one per benchmark."""
        return list(self._boards)

    @property
    def megabytes(self) -> float:
        """Megabytes that a submission may have at most."""
        return self._all.submission_megabytes

    @property
    def takes_submissions(self) -> bool:
        """Whether the Space has a queue for submissions and a token to write to it."""
        return self._queue is not None

    @property
    def action(self) -> str:
        """Label of the button that checks a file without submitting it."""
        return "Check" if all(self._hidden.values()) else "Check and score"

    def rules(self, has_sign_in: bool) -> str:
        """Render the Space's limits and rules for submissions as HTML.

        Args:
            has_sign_in: whether participants can sign in.
        """
        return _render(
            "space_rules.html.j2", desk=self, has_sign_in=has_sign_in, seconds=self._seconds,
            gigabytes=self._memory / 1e9, hidden=[n for n in self.boards if self._hidden[n]],
        )  # fmt: skip

    @contextmanager
    def score(self, upload: str | None, board_name: str) -> Iterator[Reply]:
        """Check an uploaded file for a board, and score it if labels are public; yield the reply.

        The reply's files last as long as the block.

        Args:
            upload: path of the file; None without one.
            board_name: name of the board.
        """
        with tempfile.TemporaryDirectory(prefix="citeforge-space-") as work:
            folder = Path(work)
            try:
                account = "visitor" if self._hidden[board_name] else None
                board = local_board(self._boards[board_name], folder / "board")
                outcome = self._check_upload(board, upload, folder, account)
            except CiteforgeError as error:
                yield _make_refusal(error)
                return
            if not outcome.is_scored:
                yield Reply(_render_findings(outcome, is_hidden=self._hidden[board_name]))
                return
            page = (folder / REPORT).read_bytes()
            scores = sorted(folder.glob(f"{Path(SCORES).stem}*.json"))
            files = tuple(map(str, (folder / REPORT, *scores)))
            yield Reply(_render_findings(outcome), _embed_page(page), files)

    def submit(self, upload: str | None, board_name: str, account: str | None) -> Reply:
        """Check an uploaded file by the rules of a board, add it to the queue, and reply.

        Args:
            upload: path of the file; None without one.
            board_name: name of the board.
            account: account that is signed in; None without one.
        """
        if self._queue is None:
            return _make_reply("This Space takes no submissions: its owner has set up no queue.")
        if account is None:
            return _make_reply(
                "Sign in to submit: submissions are counted by account. Without an account you can "
                "check files, and score those whose labels are open."
            )
        outcomes: list[Outcome] = []
        with tempfile.TemporaryDirectory(prefix="citeforge-space-") as work:
            folder = Path(work)

            def check(board: Board) -> tuple[Event, Path] | None:
                """Check the uploaded file: (event for the history, path); None if refused."""
                outcomes.append(self._check_upload(board, upload, folder, account))
                event = outcomes[-1].event
                if event is None:
                    return None
                if event.account != account or not _is_queue_name(event.submission, account):
                    raise _internal_error()
                return event, folder / event.submission

            try:
                is_new = self._queue.add(self._boards[board_name], check)
            except CiteforgeError as error:
                if not error.code.startswith("hub-"):
                    return _make_refusal(error)
                sys.stderr.write(f"{mask_keys(str(error))}\n")
                return _make_reply(
                    "The queue of submissions cannot be reached, for which the file is not at "
                    "fault. Submit it again later, or tell the owner: the log of the Space says "
                    "why."
                )
        if outcomes[-1].errors:
            return Reply(_render_findings(outcomes[-1]))
        state = "It is in the queue." if is_new else "It was in the queue already."
        state += " The owner checks it against all submissions to the board, and scores it."
        return Reply(_render_findings(outcomes[-1], status=state))

    def _check_upload(
        self, board: Board, upload: str | None, work_folder: Path, account: str | None
    ) -> Outcome:
        """Check an uploaded file in a subprocess, and score it there if ``account`` is None.

        Args:
            board: its board.
            upload: path of the file.
            work_folder: folder of the subprocess.
            account: account that submits it.

        Raises:
            InputError: there is no file, it is too large, or takes too much memory or time.
        """
        if upload is None:
            raise InputError(
                "no file", allowed=f"drop one of at most {self.megabytes:g} MB above",
                code="missing-file",
            )  # fmt: skip
        source = Path(upload)
        try:
            size = source.stat().st_size
            if size > self.megabytes * 1e6:
                raise InputError(
                    f"{show_amount(size / 1e6, 1)} MB, more than the {self.megabytes:g} MB that "
                    "this leaderboard takes", code="too-large",
                    allowed="answers alone, without fields of your own, or fewer runs",
                )  # fmt: skip
            shutil.copyfile(source, work_folder / source.name)
        except OSError as error:
            raise InputError(
                f"cannot be read any more ({error.strerror})", allowed="upload it again",
                code="missing-file",
            ) from error  # fmt: skip
        task = Task(
            board.model_dump_json(), source.name, self.megabytes, self._memory, self._seconds,
            account,
        )  # fmt: skip
        return self._run_subprocess(task, work_folder)

    def _run_subprocess(self, task: Task, work_folder: Path) -> Outcome:
        """Run a task of checking or scoring in a subprocess; return its outcome.

        Raises:
            InputError: it took too much time or memory, or failed.
        """
        command = [sys.executable, "-P", "-m", "citeforge.plugins.leaderboard.space_scoring"]
        try:
            given = msgspec.json.encode(task)
            done = run_group(
                command, given, _subprocess_environment(work_folder), self._seconds, work_folder
            )
        except subprocess.TimeoutExpired as error:
            raise self._time_error() from error
        # What it has read may have changed what it does: no link leads out of its folder.
        if done.returncode == 0 and not any(path.is_symlink() for path in work_folder.iterdir()):
            return msgspec.json.decode((work_folder / OUTCOME).read_bytes(), type=Outcome)
        if is_ended_by(done.returncode, "SIGXCPU"):
            raise self._time_error()
        text = done.stderr.decode(errors="replace")
        sys.stderr.write(mask_keys(text))
        # Before the limit of one file is reached, the machine may have no memory left for it.
        if is_ended_by(done.returncode, "SIGKILL"):
            raise InputError(
                "needs more memory than is free now",
                allowed="submit it again later, or score it on your own machine", code="too-large",
            )  # fmt: skip
        if _OUT_OF_MEMORY.search(text):
            raise InputError(
                f"takes more than {self._memory / 1e9:g} GB of memory to read",
                allowed="fewer runs or shorter answers; score it on your own machine",
                code="too-large",
            )
        raise _internal_error()

    def _time_error(self) -> InputError:
        """Make the error for an uploaded file that takes too much time."""
        return InputError(
            f"takes more than the {self._seconds} seconds that this Space has for one file",
            allowed="fewer runs or shorter answers; score it on your own machine",
            code="too-large",
        )


def _is_queue_name(name: str, account: str) -> bool:
    """Whether a file name is allowed for an account's submission in the queue."""
    return name.startswith(f"{account}--") and not re.search(r"[/\\]", name)


def _internal_error() -> InputError:
    """Make the error for an uploaded file on which the scoring subprocess failed."""
    return InputError(
        "could not be read; the log of the Space says why",
        allowed="citeforge check on your own machine; tell the owner of the Space",
        code="internal",
    )


def _localise_board(board: Board) -> Board:
    """Copy a board with its benchmark downloaded to a local folder, without its gold half.

    Raises:
        InputError: it cannot be read, or contains hidden labels.
    """
    folder = package_folder(board.benchmark)
    require_public_labels(folder)
    return board.model_copy(update={"benchmark": str(folder.resolve()), "gold": None})


def _subprocess_environment(work_folder: Path) -> dict[str, str]:
    """Make the scoring subprocess's environment variables: no token, offline, one thread."""
    kept = {name: os.environ[name] for name in _KEPT_VARIABLES if name in os.environ}
    own = {
        "HOME": str(work_folder),
        "TMPDIR": str(work_folder),
        "HF_HUB_OFFLINE": "1",
        "OMP_NUM_THREADS": "1",
    }
    return kept | own | {"OPENBLAS_NUM_THREADS": "1"}


def _render_findings(outcome: Outcome, *, status: str = "", is_hidden: bool = False) -> str:
    """Render a status line and a checked submission's errors and warnings as HTML."""
    return _render(
        "space_reply.html.j2", outcome=outcome, state=status, is_hidden=is_hidden, most=_MOST_SHOWN
    )


def _make_reply(text: str) -> Reply:
    """Make a reply to a participant that shows a text alone."""
    return Reply(_render("space_reply.html.j2", outcome=None, state=text, is_hidden=False))


def _make_refusal(error: CiteforgeError) -> Reply:
    """Make the reply to a participant whose file could not be read."""
    found = Finding.from_error(error)
    return Reply(_render_findings(Outcome("", [found], [])))


def _render(template: str, **values: object) -> str:
    """Render a template as HTML for Gradio; escape characters that Gradio's templates read."""
    text = environment().get_template(template).render(**values)
    return text.replace("{", "&#123;").replace("$", "&#36;").replace("`", "&#96;")


def _embed_page(page: bytes) -> str:
    """Embed an HTML page in a sandboxed iframe."""
    content = base64.b64encode(page).decode()
    return (
        '<iframe class="report" title="Scores and answers" sandbox="allow-scripts allow-downloads" '
        f'src="data:text/html;charset=utf-8;base64,{content}"></iframe>'
    )
