"""Queue of submissions: a dataset repository of the Hub to which the Space commits."""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

from citeforge.engines.files import write_bytes
from citeforge.evaluator.submissions.formats import bare_name
from citeforge.plugins.leaderboard.board_check import (
    Event,
    latest_events,
    read_history,
    write_history,
)
from citeforge.plugins.leaderboard.boards import Board
from citeforge.publishing.hub_errors import hub_errors
from citeforge.schemas.errors import InputError

_MOST_TRIES = 5
"""Commits that are tried where others change the repository meanwhile."""
_CHANGED = (409, 412)
"""Statuses of the Hub for a commit whose parent is no longer the newest one."""
Check = Callable[[Board], tuple[Event, Path] | None]
"""Checks a submission against a board's history: (event, file), or None if it is refused."""


@dataclass(frozen=True)
class _Remote:
    """State of the queue's repository.

    Attributes:
        commit: newest commit.
        history: events of the board's submissions.
    """

    commit: str
    history: list[Event]


class Queue:
    """Client of the queue's repository, which holds the owner's token.

    The repository has the folders of a leaderboard: ``submissions/BOARD`` and ``history``.
    """

    def __init__(self, repo_id: str, token: str) -> None:
        """Make a client of the Hub dataset that stores a leaderboard's queue of submissions."""
        from huggingface_hub import HfApi

        self._repo_id, self._api, self._lock = repo_id, HfApi(token=token), Lock()

    def add(self, board: Board, check_submission: Check) -> bool:
        """Check a submission by a function, and add it to a board's queue; False if already there.

        One at a time, and again where the repository changed meanwhile, so that no submission
        escapes the limits.

        Args:
            board: its board.
            check_submission: called with the board whose history and submissions are those of the
                queue.

        Raises:
            InputError: the Hub cannot be reached, or refuses the token.
        """
        from huggingface_hub.errors import HfHubHTTPError

        with self._lock, hub_errors(self._repo_id):
            for _ in range(_MOST_TRIES):
                # Each try in a folder of its own: it must find nothing that an earlier one wrote.
                with tempfile.TemporaryDirectory(prefix="citeforge-space-") as work:
                    try:
                        return self._commit(board, local_board(board, Path(work)), check_submission)
                    except HfHubHTTPError as error:
                        if error.response is None or error.response.status_code not in _CHANGED:
                            raise
        raise InputError(
            "the queue changed while the submission was added", path=self._repo_id,
            allowed="submit it again", code="hub-failed",
        )  # fmt: skip

    def _commit(self, board: Board, local_copy: Board, check_submission: Check) -> bool:
        """Check and commit a submission to the queue's latest revision; False if already there.

        Args:
            board: its board.
            local_copy: the same board in an empty folder.
            check_submission: as in :meth:`add`.
        """
        from huggingface_hub import CommitOperationAdd, CommitOperationDelete

        remote = self._download_state(board, local_copy)
        accepted = check_submission(local_copy)
        if accepted is None:
            return True
        event, path = accepted
        if latest_events(remote.history).get(event.submission) == event:
            return False
        write_history(local_copy.history_file, [*remote.history, event])
        folder = local_copy.submissions_folder
        replaced = [
            other.name for other in (folder.iterdir() if folder.is_dir() else ())
            if bare_name(other) == event.file_key and other.name != path.name
        ]  # fmt: skip
        self._api.create_commit(
            self._repo_id,
            [
                *(CommitOperationDelete(f"submissions/{board.name}/{name}") for name in replaced),
                CommitOperationAdd(f"submissions/{board.name}/{path.name}", str(path)),
                CommitOperationAdd(f"history/{board.name}.jsonl", str(local_copy.history_file)),
            ],
            commit_message=f"{board.name}: {path.name}",
            repo_type="dataset",
            parent_commit=remote.commit,
        )
        return True

    def _download_state(self, board: Board, local_copy: Board) -> _Remote:
        """Download a board's history and its submissions' names from the queue to local files."""
        info = self._api.dataset_info(self._repo_id)
        commit, names = str(info.sha), [s.rfilename for s in info.siblings or ()]
        history = f"history/{board.name}.jsonl"
        if history in names:
            content = self._api.hf_hub_download(
                self._repo_id, history, repo_type="dataset", revision=commit
            )
            write_bytes(local_copy.history_file, Path(content).read_bytes())
        for name in names:
            folder, _, file = name.rpartition("/")
            if folder == f"submissions/{board.name}":
                # The rules ask whether a file is there, and never read one of somebody else.
                write_bytes(local_copy.submissions_folder / file, b"")
        return _Remote(commit, read_history(local_copy.history_file))


def local_board(board: Board, work_folder: Path) -> Board:
    """Copy a leaderboard's benchmark (board) with paths of history and submissions in a folder."""
    return board.model_copy(
        update={
            "history": work_folder / "history.jsonl",
            "submissions": work_folder / "submissions",
        }
    )
