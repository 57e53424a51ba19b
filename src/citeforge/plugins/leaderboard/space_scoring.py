"""Subprocess of the Space that reads a participant's file: checks it, and scores it.

It has no token and no network settings, and the limits on memory, processor time and written files
that its task names. Run as ``python -m citeforge.plugins.leaderboard.space_scoring`` with the task
as JSON on standard input; it writes ``outcome.json``, and for scores also ``report.html`` and
``scores.json``, into its working folder.
"""

import sys
from pathlib import Path

import msgspec

from citeforge.engines.files import write_bytes
from citeforge.engines.posix import limit_process
from citeforge.evaluator.check import Findings
from citeforge.evaluator.submissions.finding import Finding
from citeforge.evaluator.submissions.submission import Submission
from citeforge.library.benchmarks import load
from citeforge.library.scores import score_files
from citeforge.plugins.leaderboard.board_check import BoardCheck, Event, check_size, without_option
from citeforge.plugins.leaderboard.boards import Board
from citeforge.plugins.leaderboard.submit import check_file_name
from citeforge.plugins.leaderboard.views import slug
from citeforge.reports.pages.page import page_report
from citeforge.schemas.errors import CiteforgeError
from citeforge.schemas.recipes.command_options import JudgeOptions, ScoreOptions

OUTCOME, REPORT, SCORES = "outcome.json", "report.html", "scores.json"
LARGEST_WRITTEN = 1 << 28
"""Bytes that a file written by the subprocess may have."""
_JUDGED = {*JudgeOptions.model_fields, "judge_repeats", "llm", "labels", "assessments"}
"""Options of scoring that need a judge, an LLM, or files of the board's owner."""


class Task(msgspec.Struct):
    """What the subprocess does.

    Attributes:
        board: the board as JSON; its benchmark is a local folder.
        file: the participant's file.
        megabytes: size that it may have, unpacked.
        memory: bytes of address space of the process.
        seconds: processor time of the process.
        account: account that submits the file to the queue; None to score it.
    """

    board: str
    file: str
    megabytes: float
    memory: int
    seconds: int
    account: str | None = None


class Outcome(msgspec.Struct):
    """Findings about a participant's file.

    Attributes:
        summary: one line about the whole file.
        errors: for which it is refused.
        warnings: what may be meant otherwise.
        event: what the queue's history records; None with errors.
        is_scored: whether scores and report are written.
    """

    summary: str
    errors: list[Finding]
    warnings: list[Finding]
    event: Event | None = None
    is_scored: bool = False


def main() -> None:
    """Run the task of checking or scoring from standard input, and write its outcome."""
    task = msgspec.json.decode(sys.stdin.buffer.read(), type=Task)
    limit_process(task.memory, task.seconds, LARGEST_WRITTEN)
    write_bytes(Path(OUTCOME), msgspec.json.encode(run_task(task)))


def run_task(task: Task) -> Outcome:
    """Check a participant's file, and score it unless it is a submission to the queue."""
    board = Board.model_validate_json(task.board)
    path = Path(task.file)
    findings, event = Findings(), None
    try:
        check_file_name(path)
        check_size(path, task.megabytes)
        benchmark = load(board.benchmark)
        checker = BoardCheck(board, benchmark, may_replace=False)
        if task.account is None:
            findings, event = checker.check_file(path)
        else:
            system = Submission(path, benchmark, board.score.file_format).system
            path = path.rename(path.with_name(queue_name(task.account, system, path)))
            findings, event = checker.check_file(path, task.account)
            if event is not None and event.system != system:
                text = 'names no system in its first line; add {"submission": {"system": "NAME"}}'
                findings.errors.append(Finding("missing-field", text, 1))
        if event is not None and task.account is None:
            done = score_files([path], benchmark, without_judge(board.score), out=SCORES)
            files = [scores.file for scores in done.scores]
            # A visitor can install nothing here that would draw plots.
            page, _ = page_report(files, title=files[0].system, has_plots=False)
            write_bytes(Path(REPORT), page)
    except CiteforgeError as error:
        findings.errors.append(Finding.from_error(error))
    is_sound = not findings.errors
    return Outcome(
        findings.summary(), [*map(without_option, findings.errors)],
        [*map(without_option, findings.warnings)], event if is_sound else None,
        is_sound and task.account is None,
    )  # fmt: skip


def queue_name(account: str, system: str, path: Path) -> str:
    """Make a submission's file name in a Space's queue: one per account and system.

    A new version of a system takes the place of the old one, as on the board.
    """
    return f"{account}--{slug(system, set())}{check_file_name(path)}"


def without_judge(options: ScoreOptions) -> ScoreOptions:
    """Copy scoring options without judge, LLM and owner's files, and with answers kept."""
    return ScoreOptions(**options.model_dump(exclude=_JUDGED) | {"details": True})


if __name__ == "__main__":
    main()
