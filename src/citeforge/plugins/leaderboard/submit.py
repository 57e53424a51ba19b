"""``leaderboard add``: checks submissions, scores them, and builds the site again."""

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from citeforge.engines.files import sha256_file, write_bytes, write_text
from citeforge.engines.folders import file_lock, refuse_link
from citeforge.engines.pipes import SAVE, is_pipe
from citeforge.engines.shown import show_value
from citeforge.engines.textfiles import count_text
from citeforge.evaluator.check import Findings
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.rows import main_measure
from citeforge.evaluator.submissions.finding import Finding, describe
from citeforge.evaluator.submissions.formats import bare_name
from citeforge.evaluator.withhold import describe_failures, withhold_error, withhold_scores
from citeforge.library.benchmarks import load, package_folder
from citeforge.library.scores import plan_scores, score_files
from citeforge.package.manifest import load_manifest
from citeforge.plugins.leaderboard.board_check import (
    BoardCheck,
    Event,
    check_size,
    escape_line,
    latest_events,
    read_history,
    write_history,
)
from citeforge.plugins.leaderboard.boards import Board, Boards, find_board, read_boards
from citeforge.plugins.leaderboard.build import load_backed_scores, site_build
from citeforge.plugins.leaderboard.pages import Site, describe_site
from citeforge.reports.notes import systems_text
from citeforge.schemas.errors import (
    CiteforgeError,
    FailuresError,
    InputError,
    UnknownValueError,
    UsageError,
)
from citeforge.schemas.file_names import is_reserved
from citeforge.schemas.outputs import LeaderboardResult, TakenSubmission
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.scores import ScoreFile

LOCK = ".leaderboard.lock"
ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".csv", ".tsv")
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*", re.ASCII)
_LONGEST_NAME = 120
_MOST_ERRORS = 3


@dataclass
class PendingSubmission:
    """A submission on its way into a leaderboard.

    Attributes:
        source: path of its file.
        board: board that it is for; None if it cannot be stored.
        findings: warnings, and the errors for which it is left out.
        event: its event in the board's history; None with errors.
        files: its scores, one file per context set.
        replaced: stored file with the same name but for its ending, whose place it takes; None
            for none.
    """

    source: Path
    board: Board | None = None
    findings: Findings = field(default_factory=Findings)
    event: Event | None = None
    files: list[ScoreFile] = field(default_factory=list)
    replaced: Path | None = None

    @property
    def target(self) -> Path:
        """Path at which the leaderboard stores the submission."""
        assert self.board is not None
        return self.board.submissions_folder / self.source.name

    @property
    def scores(self) -> Path:
        """Path of the submission's score file, if of one context set (see ``score_paths``)."""
        assert self.board is not None
        return self.board.scores_folder / f"{bare_name(self.source)}.json"

    def score_paths(self) -> dict[Path, ScoreFile]:
        """Map paths of the submission's score files (one per context set) to their content."""
        if len(self.files) == 1:
            return {self.scores: self.files[0]}
        return {self.scores.with_suffix(f".{f.context}.json"): f for f in self.files}

    def scored_event(self) -> Event:
        """Make the submission's event with the hashes of its score files."""
        assert self.event is not None
        files = {path.name: file.to_line().encode() for path, file in self.score_paths().items()}
        hashes = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        return msgspec.structs.replace(self.event, scores=hashes)


@dataclass(frozen=True)
class Intake:
    """Result of :func:`add_submissions`.

    Attributes:
        submissions: all submissions, in order, with scores if they have no errors.
        refused: a line for each submission and score file that is left out, with the reason.
        site: numbers of the site; None if submissions were only checked.
        folder: folder of the site.
    """

    submissions: list[PendingSubmission]
    refused: list[str]
    site: Site | None
    folder: Path

    def to_result(self) -> LeaderboardResult:
        """Make the result that ``--json`` prints."""
        taken = [
            TakenSubmission(
                board=one.board.name, file=str(one.source), answers=one.findings.n_lines,
                warnings=tuple(map(str, one.findings.warnings)),
            )
            for one in self.submissions
            if one.board is not None and not one.findings.errors
        ]  # fmt: skip
        return describe_site(self.folder, self.site, self.refused, taken)

    def to_text_lines(self) -> Iterator[str]:
        """Yield lines for the terminal: one per accepted submission, and one about the site."""
        if not self.submissions:
            yield "no submission yet"
        for one in self.submissions:
            if one.board is not None and not one.findings.errors:
                found = one.findings
                counts = ", ".join(
                    [count_text(found.n_lines, "answer"),
                     count_text(len(found.warnings), "warning")]
                )  # fmt: skip
                yield f"{one.board.name}: {one.source}: {counts}{_main_scores_text(one.files)}"
                yield from map(escape_line, describe(found.warnings, "warning", one.source))
        if self.site is not None:
            yield (
                f"{self.folder / 'index.html'}: "
                f"{systems_text(self.site.systems, self.site.controls)}, "
                f"{self.site.queries:,} queries"
            )


def _main_scores_text(files: Sequence[ScoreFile]) -> str:
    """Write a system's name and its main score in each context set, as part of a line."""
    text = "".join(f", {escape_line(file.system)}: " for file in files[:1])
    for at, file in enumerate(files):
        entry = next((m for m in file.measures if m.name == main_measure([file])), None)
        text += ("; " if at else "") + (f"{file.context} " if len(files) > 1 else "")
        text += (
            f"{entry.name} {show_value(entry)}" if entry and entry.value is not None else "no score"
        )
    return text


def add_submissions(
    submissions: Sequence[str | Path] = (),
    boards: str | Path = ".",
    *,
    board: str | None = None,
    replace: bool = False,
    only_check: bool = False,
    allow_judge_failures: bool = False,
    run: RunOptions | None = None,
) -> Intake:
    """Check submissions to a leaderboard, score and store them, and rebuild its site.

    Submissions with errors are left out and named; the others are added all together, or, if
    scoring or writing fails, not at all. A second call changes nothing, and waits for one that is
    running. After a kill the same call finishes the work: the site is the old one or the new one.

    Args:
        submissions: files; none for all in the boards' folders.
        boards: ``leaderboard.yaml``, or its folder.
        board: name of the board that they are for; None for the one whose folder contains them, or
            whose hash their header names.
        replace: let a file replace another one of the same name.
        only_check: score nothing, and change nothing; needs no gold.
        allow_judge_failures: accept scores with bounds where the judge failed.
        run: where a judge runs, what it may cost, where its verdicts are stored; with ``dry_run``
            the calls are noted in the ledger, and nothing is changed.

    Raises:
        InputError: all named files have errors, or a board with hidden labels names no gold half.
        UsageError: the board of a submission is ambiguous.
        FailuresError: the judge failed on some pairs.
    """
    config, all_boards = read_boards(Path(boards))
    if board is not None and all_boards.find(board) is None:
        raise UnknownValueError("board", board, [b.name for b in all_boards.boards])
    with file_lock(config.parent / LOCK, config.parent, wait=True):
        paths = list(dict.fromkeys(map(Path, submissions))) or list(_list_submissions(all_boards))
        pending = _check_all(paths, all_boards, board, replace)
        refused = [line for p in pending for line in _error_lines(p)]
        if only_check and not submissions:  # other stored files do not stop a single submission
            for one in all_boards.boards:
                load_backed_scores(one, {}, refused)
        n_wrong = sum(bool(p.findings.errors) for p in pending)
        if refused and submissions and n_wrong == len(pending):
            of = count_text(len(pending), "submission")
            summary = f"errors in {n_wrong:,} of {of}; nothing was changed"
            codes = {found.code for p in pending for found in p.findings.errors}
            code = codes.pop() if len(codes) == 1 else "counted-failures"
            raise InputError("\n".join([summary, *refused]), code=code)
        if only_check:
            return Intake(pending, refused, None, all_boards.site)
        _require_gold(config, all_boards)
        valid = [p for p in pending if not p.findings.errors]
        if run is not None and run.dry_run:
            _rehearse_scores(valid, all_boards, run)
            return Intake(pending, refused, None, all_boards.site)
        _score_by_board(valid, all_boards, run or RunOptions(), allow_judge_failures, refused)
        scored = [p for p in valid if p.files]
        added = {path: file for p in scored for path, file in p.score_paths().items()}
        load_scores_of = partial(load_backed_scores, new_scores=added, refused_lines=refused)
        with site_build(all_boards, load_scores_of, all_boards.site, config) as site:
            # Scores are written before the site is replaced: after a kill here the old site is
            # there, and everything that the next call needs.
            _store_submissions(scored, all_boards)
        return Intake(pending, refused, site, all_boards.site)


def _list_submissions(boards: Boards) -> Iterator[Path]:
    """Yield a leaderboard's stored submissions, and files that are in no board's folder."""
    folders = [board.submissions_folder for board in boards.boards]
    for folder in (*folders, *boards.common_folders):
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if path in folders or path.name.startswith(".") or path.name == "README.md":
                continue
            yield path


def check_file_name(path: Path) -> str:
    """Check that a submission's file name is one that leaderboards take; return its ending.

    Raises:
        InputError: it is too long, has other characters, is a device, or has an unknown ending.
    """
    if len(path.name) > _LONGEST_NAME:
        raise InputError(
            f"the file's name has {len(path.name)} characters", path=path,
            allowed=f"{_LONGEST_NAME} at most", code="bad-name",
        )  # fmt: skip
    ending = next((e for e in sorted(ENDINGS, key=len)[::-1] if path.name.endswith(e)), None)
    if ending is None or not _FILE_NAME.fullmatch(path.name) or is_reserved(path.name):
        raise InputError(
            "not a valid file name for a leaderboard", path=path, code="bad-name",
            allowed="letters, digits, dots, - and _, ending in " + ", ".join(ENDINGS)
            + "; no device of Windows, such as con",
        )  # fmt: skip
    return ending


def _make_pending(path: Path, boards: Boards, name: str | None, replace: bool) -> PendingSubmission:
    """Assign a submission to a leaderboard's benchmark (board); raise if it cannot be stored.

    Args:
        path: the submission.
        boards: boards of the leaderboard.
        name: name of its board; None to find it.
        replace: whether it may replace another file of the same name.

    Raises:
        InputError: it is not a file, is too large, or its name is invalid or in use.
        UsageError: its board is ambiguous.
    """
    if is_pipe(path):
        raise InputError(
            "is a pipe, and a leaderboard keeps each submission under the name of its file",
            path=path, allowed=SAVE, code="not-a-file",
        )  # fmt: skip
    if path.is_symlink() or not path.is_file():
        raise InputError(
            "not a file",
            path=path,
            allowed=f"a submission ({', '.join(ENDINGS)})",
            code="not-a-file",
        )
    ending = check_file_name(path)
    boards.require_known_folder(path)
    check_size(path, boards.submission_megabytes)
    board = find_board(path, boards, name)
    sets = load_manifest(package_folder(board.benchmark)).contexts
    if len(sets) > 1 and path.name.removesuffix(ending).endswith(tuple(f".{s}" for s in sets)):
        raise InputError(
            "the name ends with a context set, as names of score files do", path=path,
            allowed="another name", code="bad-name"
        )  # fmt: skip
    pending = PendingSubmission(path, board)
    if pending.target.exists() and not replace and sha256_file(pending.target) != sha256_file(path):
        raise InputError(
            f"{board.name} already has another {path.name}", path=path,
            allowed="another name for another system, or --replace", code="output-exists"
        )  # fmt: skip
    folder = board.submissions_folder
    for other in sorted(folder.iterdir()) if folder.is_dir() else ():
        if other.name == path.name:
            continue
        allowed = "another name"
        if other.name.casefold() == path.name.casefold():
            fault = f"differs from {other.name} of {board.name} only in case"
        elif bare_name(other) != bare_name(path):
            continue
        elif replace and not pending.target.exists():
            pending.replaced = other
            continue
        else:
            fault = f"would write over the scores of {other.name} in {pending.scores}"
            if not pending.target.exists():
                allowed = "another name for another system, or --replace"
        raise InputError(fault, path=path, allowed=allowed, code="duplicate-id")
    return pending


def _require_gold(config: Path, boards: Boards) -> None:
    """Raise an error if a leaderboard's benchmark has hidden labels and names no gold half.

    Raises:
        InputError: a board's labels are hidden, and it names no gold half.
    """
    for board in boards.boards:
        folder = package_folder(board.benchmark)
        if board.gold is None and load_manifest(folder).config.get("hidden_gold"):
            raise InputError(
                f"the labels of {board.benchmark} are hidden, and the board names no gold half",
                path=config,
                field=f"boards: {board.name}",
                allowed=f"add the line `gold: {board.benchmark.partition('@')[0]}-gold` to this "
                "board, or the folder of that half",
                code="hidden-gold",
            )


def _check_all(
    paths: Sequence[Path], boards: Boards, board_name: str | None, replace: bool
) -> list[PendingSubmission]:
    """Check every submission against the rules of its board, for ``--check`` and before scoring.

    Args:
        paths: submissions.
        boards: boards of the leaderboard.
        board_name: name of the board of all of them; None to find each one's.
        replace: whether a file may replace another one of the same name.

    Raises:
        UsageError: the board of one is ambiguous, or two would have the same score file.
    """
    by_score_file: dict[Path, Path] = {}
    checked: dict[Path, PendingSubmission] = {}
    for path in paths:
        try:
            pending = _make_pending(path, boards, board_name, replace)
        except InputError as error:
            findings = Findings(errors=[Finding.from_error(error)])
            checked[path] = PendingSubmission(path, findings=findings)
            continue
        other = by_score_file.setdefault(pending.scores, path)
        if other.resolve() != path.resolve():
            raise UsageError(
                f"{other} and {path} would have the same score file; rename one of them",
                code="duplicate-id",
            )
        checked[path] = pending
    for board in boards.boards:
        mine = [p for p in checked.values() if p.board == board]
        if mine:
            board_check = BoardCheck(board, load(board.benchmark), replace)
            # Submissions scored before come first, so that new ones cannot take their names.
            for pending in sorted(mine, key=lambda p: not board_check.is_scored(p.source)):
                pending.findings, pending.event = board_check.check_file(pending.source)
    return [checked[path] for path in paths]


def _error_lines(pending: PendingSubmission) -> list[str]:
    """Write the first errors of a submission, one per line."""
    path, errors = escape_line(str(pending.source)), pending.findings.errors
    lines = [
        f"{path}{'' if found.line is None else f':{found.line}'}: {escape_line(str(found))}"
        for found in errors[:_MOST_ERRORS]
    ]
    if len(errors) > _MOST_ERRORS:
        lines.append(f"{path}: {len(errors) - _MOST_ERRORS:,} more errors")
    return lines


def _rehearse_scores(valid: Sequence[PendingSubmission], boards: Boards, run: RunOptions) -> None:
    """Count the judge and LLM calls of scoring submissions in the ledger of a dry run."""
    for board in boards.boards:
        mine = [p.source for p in valid if p.board == board]
        if mine and (board.score.judge is not None or board.score.llm is not None):
            plan_scores(mine, board.benchmark, board.score, gold=board.gold, run=run)


def _score_by_board(
    valid: Sequence[PendingSubmission],
    boards: Boards,
    run: RunOptions,
    allow_failures: bool,
    refused_lines: list[str],
) -> None:
    """Score submissions per benchmark, in place; list in ``refused_lines`` which cannot be.

    Values of single queries are left out if gold is hidden.

    Args:
        valid: submissions without errors.
        boards: boards of the leaderboard.
        run: where a judge runs, what it may cost.
        allow_failures: whether scores with failures of the judge are accepted.
        refused_lines: gets a line for each submission that cannot be scored.

    Raises:
        FailuresError: the judge failed on some pairs.
    """
    for board in boards.boards:
        mine = {p.source.name: p for p in valid if p.board == board}
        if not mine:
            continue
        wrong: dict[Path, CiteforgeError] = {}
        done = score_files(
            [p.source for p in mine.values()], board.benchmark, board.score, gold=board.gold,
            run=run, on_error=wrong.__setitem__,
        )  # fmt: skip
        files = [withhold_scores(scores.file) for scores in done.scores]
        if done.judge is not None and done.judge.n_failed and not allow_failures:
            text = describe_failures(done.judge.n_failed, files)
            raise FailuresError(f"{text}; nothing was changed", code="judge-failed")
        describe = str if board.gold is None else withhold_error
        refused_lines += [
            f"{path}: {escape_line(describe(error))}" for path, error in wrong.items()
        ]
        for file in files:
            mine[file.submission].files.append(file)


def _store_submissions(scored: Sequence[PendingSubmission], boards: Boards) -> None:
    """Copy scored submissions into a leaderboard's folders, with their history and scores.

    Raises:
        InputError: a file changed after it was scored, or a link is in its place in the board.
    """
    for one in scored:
        for path in (one.target, *one.score_paths()):
            refuse_link(path)
    for one in scored:
        content = one.source.read_bytes()
        if hashlib.sha256(content).hexdigest() != one.files[0].submission_sha256:
            raise InputError(
                "changed while it was scored",
                path=one.source,
                allowed="run the command again",
                code="input-changed",
            )
        if one.replaced is not None:
            one.replaced.unlink()
        if one.source.resolve() != one.target.resolve():
            write_bytes(one.target, content)
    for board in boards.boards:
        before = read_history(board.history_file)
        entries = latest_events(before)
        events = [p.scored_event() for p in scored if p.event and p.board == board]
        new = [e for e in events if entries.get(e.submission) != e]
        if new:
            write_history(board.history_file, [*before, *new])
    for one in scored:
        files = one.score_paths()
        for path, file in files.items():
            write_text(path, file.to_line())
        for path in {one.scores, *one.scores.parent.glob(f"{one.scores.stem}.*.json")} - {*files}:
            if path.exists() and bare_name(Path(load_scores(path).submission)) == one.scores.stem:
                path.unlink()  # scores of context sets that it no longer answers
