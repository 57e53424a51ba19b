"""Taking submissions into a leaderboard: one verdict on each, scores, site again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.engines.io.files import sha256_file, write_bytes, write_text
from citeforge.engines.io.folders import file_lock
from citeforge.evaluator.reports.rows import main_measure, systems_text
from citeforge.evaluator.reports.withhold import withhold_scores
from citeforge.evaluator.statistics.compare import load_scores
from citeforge.evaluator.submissions.check import Findings
from citeforge.evaluator.submissions.reader import bare_name, read_header
from citeforge.library.benchmarks import load, package_folder
from citeforge.library.scores import score_files
from citeforge.package.manifest import load_manifest
from citeforge.plugins.leaderboard.board_check import BoardCheck, error_line, escaped_line
from citeforge.plugins.leaderboard.boards import Board, Boards, read_boards
from citeforge.plugins.leaderboard.build import growing_site
from citeforge.plugins.leaderboard.history import Event, latest, read_history, write_history
from citeforge.plugins.leaderboard.pages import Site
from citeforge.plugins.leaderboard.sites import backed_scores, bench_of
from citeforge.schemas.errors import CiteforgeError, FailuresError, InputError, UsageError
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.scores import ScoreFile

LOCK = ".leaderboard.lock"
_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".csv", ".tsv")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,119}", re.ASCII)
_ERRORS_TOLD = 3


@dataclass(frozen=True)
class PendingSubmission:
    """A submission on its way into a leaderboard.

    Attributes:
        board: that it is for.
        source: where it is.
        target: where the leaderboard keeps it.
        scores: its score file, where it is of one context set.
    """

    board: Board
    source: Path
    target: Path
    scores: Path

    def score_files(self, files: Sequence[ScoreFile]) -> dict[Path, ScoreFile]:
        """Where its scores go: into one file, or one a context set."""
        if len(files) == 1:
            return {self.scores: files[0]}
        folder, stem = self.scores.parent, self.scores.stem
        return {folder / f"{stem}.{file.context}.json": file for file in files}


@dataclass(frozen=True)
class Checked:
    """What was found in a submission.

    Attributes:
        source: where it is.
        findings: warnings, and errors, for which it is left out.
        taken: where it goes; None where it has no place.
        event: its line in the board's history; None with errors.
    """

    source: Path
    findings: Findings
    taken: PendingSubmission | None = None
    event: Event | None = None


@dataclass(frozen=True)
class Intake:
    """What :func:`add_submissions` did.

    Attributes:
        checked: the submissions, in order.
        scored: scores of those without errors, one file a context set.
        refused: what was left out, and why: submissions, and score files of the boards.
        site: numbers of the site's pages; None where they were only checked.
        folder: of the site.
    """

    checked: list[Checked]
    scored: dict[Path, list[ScoreFile]]
    refused: list[str]
    site: Site | None
    folder: Path

    def lines(self) -> Iterator[str]:
        """What to tell: a line a submission, and where the site is."""
        if not self.checked:
            yield "no submission yet"
        for one in self.checked:
            findings, taken = one.findings, one.taken
            if taken is None or findings.errors:
                continue
            yield (
                f"{taken.board.name}: {taken.source}: {findings.n_lines:,} answers, "
                f"{len(findings.warnings):,} warnings{_best(self.scored.get(one.source, []))}"
            )
        if self.site is not None:
            yield (
                f"{self.folder / 'index.html'}: "
                f"{systems_text(self.site.systems, self.site.references)}, "
                f"{self.site.queries:,} queries"
            )


def _best(files: Sequence[ScoreFile]) -> str:
    """A system with the measure that ranks it, in each context set."""
    text = "".join(f", {escaped_line(file.system)}: " for file in files[:1])
    for at, file in enumerate(files):
        entry = next((m for m in file.measures if m.name == main_measure([file])), None)
        has_value = entry is not None and entry.value is not None
        text += ("; " if at else "") + (f"{file.context} " if len(files) > 1 else "")
        text += f"{entry.name} {entry.value:.2f}" if entry and has_value else "no score"
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
    """Check submissions, score them, and build the site again.

    What has errors is left out and named; the others go in all together, or, where scoring or
    writing fails, not at all. Done twice, nothing changes. Who comes while another one is at it
    waits. What is killed is done again by the same call: the site is the old one or the new one.

    Args:
        submissions: files; none for all that lie in the boards' folders.
        boards: ``leaderboard.yaml``, or its folder.
        board: which one they are for; None for the one whose folder they lie in, or whose hash
            their header names.
        replace: take a file in the place of another one of the same name.
        only_check: score nothing, and change nothing; needs no gold.
        allow_judge_failures: take scores with bounds where the judge failed.
        run: where a judge runs, what it may cost, where its verdicts are kept.

    Raises:
        InputError: none of the files that were named can be taken, ``only_check`` finds errors, or
            a board with hidden labels names no gold half.
        UsageError: nobody can tell which board it is for.
        FailuresError: the judge failed on some pairs.
    """
    config, all_boards = read_boards(Path(boards))
    if board is not None and all_boards.find(board) is None:
        names = ", ".join(b.name for b in all_boards.boards)
        raise UsageError(f"--board {board!r} is not in {config}; known: {names}")
    with file_lock(config.parent / LOCK, config.parent, wait=True):
        paths = [Path(s) for s in submissions] or list(_all_in(all_boards))
        checked = _verdicts(paths, all_boards, board, replace)
        refused = [line for c in checked for line in _error_lines(c)]
        if only_check and not submissions:  # what else lies there stops no single submission
            refused += [fault for b in all_boards.boards for fault in backed_scores(b, {})[1]]
        n_wrong = sum(bool(c.findings.errors) for c in checked)
        if refused and (only_check or (submissions and n_wrong == len(checked))):
            summary = f"{n_wrong} of {len(checked)} submissions have errors; nothing was changed"
            raise InputError("\n".join([summary, *refused]))
        if only_check:
            return Intake(checked, {}, [], None, all_boards.site)
        _require_gold(config, all_boards)
        right = [c for c in checked if c.taken is not None and not c.findings.errors]
        scored = _scored(right, all_boards, run or RunOptions(), allow_judge_failures, refused)
        added = {
            path: file
            for c in right
            if c.taken and c.source in scored
            for path, file in c.taken.score_files(scored[c.source]).items()
        }
        benches = [bench_of(b, added, refused) for b in all_boards.boards]
        with growing_site(benches, all_boards.site, all_boards.title, config) as site:
            # The scores come first: whoever is killed here leaves the old site, and all of what
            # the next one needs.
            _keep([c for c in right if c.source in scored], all_boards, scored)
        return Intake(checked, scored, refused, site, all_boards.site)


def _all_in(boards: Boards) -> Iterator[Path]:
    """Submissions in the boards' folders, by name."""
    for board in boards.boards:
        folder = board.submissions_folder
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not path.name.startswith(".") and path.name != "README.md":
                yield path


def _place_for(path: Path, boards: Boards, name: str | None, replace: bool) -> PendingSubmission:
    """Where a submission goes.

    Raises:
        InputError: it is no file, has a name that cannot be kept, or takes another one's place.
        UsageError: nobody can tell which board it is for.
    """
    if path.is_symlink() or not path.is_file():
        raise InputError("is no file", path=path, allowed=f"a submission ({', '.join(_ENDINGS)})")
    ending = next((e for e in sorted(_ENDINGS, key=len)[::-1] if path.name.endswith(e)), None)
    if ending is None or not _NAME.fullmatch(path.name):
        raise InputError(
            "has a name that a leaderboard does not keep", path=path,
            allowed="letters, digits, dots, - and _, ending in " + ", ".join(_ENDINGS),
        )  # fmt: skip
    board = _board_of(path, boards, name)
    sets = load_manifest(package_folder(board.benchmark)).contexts
    if len(sets) > 1 and path.name.removesuffix(ending).endswith(tuple(f".{s}" for s in sets)):
        raise InputError(
            "has a name that ends like that of a context set, as score files do", path=path,
            allowed="another name",
        )  # fmt: skip
    target = board.submissions_folder / path.name
    scores = board.scores_folder / f"{path.name.removesuffix(ending)}.json"
    twin = _twin(target)
    if twin is not None:
        raise InputError(
            f"differs from {twin.name}, which {board.name} has, in case alone", path=path,
            allowed="another name",
        )  # fmt: skip
    if target.exists() and not replace and sha256_file(target) != sha256_file(path):
        raise InputError(
            f"is not the {path.name} that {board.name} has already", path=path,
            allowed="another name for another system, or --replace",
        )  # fmt: skip
    rival = next((p for p in board.submissions_folder.glob(f"{scores.stem}.*")
                  if p.name != path.name and bare_name(p) == scores.stem), None)  # fmt: skip
    if rival is not None:
        raise InputError(
            f"would write over the scores of {rival.name} in {scores}", path=path,
            allowed="another name",
        )  # fmt: skip
    return PendingSubmission(board, path, target, scores)


def _twin(target: Path) -> Path | None:
    """Another file of the folder whose name a file system without case takes for the same."""
    folder, key = target.parent, target.name.casefold()
    names = sorted(folder.iterdir()) if folder.is_dir() else []
    return next((p for p in names if p.name != target.name and p.name.casefold() == key), None)


def _board_of(path: Path, boards: Boards, name: str | None) -> Board:
    if len(boards.boards) == 1:
        return boards.boards[0]
    if name is not None:
        return next(b for b in boards.boards if b.name == name)
    here = path.parent.resolve()
    inside = [b for b in boards.boards if b.submissions_folder.resolve() == here]
    if inside:
        return inside[0]
    header_hash = None if path.suffix == ".csv" else (read_header(path) or {}).get("benchmark_hash")
    matching = [b for b in boards.boards if header_hash in _hashes_of(b)]
    if len(matching) == 1:
        return matching[0]
    names = ", ".join(b.name for b in matching or boards.boards)
    raise UsageError(f"{path}: for which benchmark is it? Give --board, one of {names}")


def _hashes_of(board: Board) -> set[str]:
    manifest = load_manifest(package_folder(board.benchmark))
    return {manifest.benchmark_hash, str(manifest.config.get("joined_hash"))}


def _require_gold(config: Path, boards: Boards) -> None:
    """Refuse to rank by what can be measured without the labels.

    Raises:
        InputError: labels are hidden, and the board names no gold half.
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
            )


def _verdicts(
    paths: Sequence[Path], boards: Boards, name: str | None, replace: bool
) -> list[Checked]:
    """One verdict on each submission, the same for ``--check`` and for what is scored.

    Raises:
        UsageError: nobody can tell which board one is for, or two would have one place.
    """
    places: dict[Path, Path] = {}
    verdicts: dict[Path, Checked] = {}
    waiting: list[PendingSubmission] = []
    for path in paths:
        try:
            pending = _place_for(path, boards, name, replace)
        except InputError as error:
            verdicts[path] = Checked(path, Findings(errors=[error_line(error)]))
            continue
        other = places.setdefault(pending.scores, path)
        if other.resolve() != path.resolve():
            raise UsageError(f"{other} and {path} would have one place; rename one of them")
        waiting.append(pending)
    for board in boards.boards:
        mine = [t for t in waiting if t.board.name == board.name]
        if mine:
            judge = BoardCheck(board, load(board.benchmark), replace)
            # Who was scored before comes first: a newcomer takes nobody's name away.
            for pending in sorted(mine, key=lambda t: not judge.is_scored(t.source)):
                findings, event = judge.verdict(pending.source)
                verdicts[pending.source] = Checked(pending.source, findings, pending, event)
    return [verdicts[path] for path in paths]


def _error_lines(checked: Checked) -> list[str]:
    path, errors = escaped_line(str(checked.source)), checked.findings.errors
    lines = [
        f"{path}{'' if line is None else f':{line}'}: {escaped_line(text)}"
        for line, text in errors[:_ERRORS_TOLD]
    ]
    if len(errors) > _ERRORS_TOLD:
        lines.append(f"{path}: {len(errors) - _ERRORS_TOLD:,} more errors")
    return lines


def _scored(
    right: Sequence[Checked],
    boards: Boards,
    run: RunOptions,
    allow_failures: bool,
    refused: list[str],
) -> dict[Path, list[ScoreFile]]:
    """Scores, board by board, as files may hold them: withheld where gold is hidden.

    Raises:
        FailuresError: the judge failed.
    """
    by_path: dict[Path, list[ScoreFile]] = {}
    for board in boards.boards:
        mine = [c.source for c in right if c.taken and c.taken.board.name == board.name]
        if not mine:
            continue
        wrong: dict[Path, CiteforgeError] = {}
        done = score_files(
            mine, board.benchmark, board.score, gold=board.gold, run=run,
            on_error=wrong.__setitem__,
        )  # fmt: skip
        if done.judge is not None and done.judge.n_failed and not allow_failures:
            raise FailuresError(
                f"the judge failed on {done.judge.n_failed:,} pairs; nothing was changed"
            )
        refused += [f"{path}: {escaped_line(str(error))}" for path, error in wrong.items()]
        files = [withhold_scores(scores.file) for scores in done.scores]
        for path in mine:
            if path not in wrong:
                by_path[path] = [file for file in files if file.submission == path.name]
    return by_path


def _keep(
    right: Sequence[Checked], boards: Boards, scored: Mapping[Path, Sequence[ScoreFile]]
) -> None:
    """Copy submissions that do not lie there yet, and write history and scores.

    Raises:
        InputError: one of them is no longer what was scored.
    """
    submissions = [c.taken for c in right if c.taken is not None]
    for one in submissions:
        content = one.source.read_bytes()
        if hashlib.sha256(content).hexdigest() != scored[one.source][0].submission_sha256:
            raise InputError(
                "has changed meanwhile", path=one.source, allowed="the same call again"
            )
        if one.source.resolve() != one.target.resolve():
            write_bytes(one.target, content)
    for board in boards.boards:
        events = [c.event for c in right if c.event and c.taken and c.taken.board == board]
        before = read_history(board.history_file)
        latest_events = latest(before)
        new = [e for e in events if latest_events.get(e.submission) != e]
        if new:
            write_history(board.history_file, [*before, *new])
    for one in submissions:
        files = one.score_files(scored[one.source])
        for path, file in files.items():
            write_text(path, file.model_dump_json() + "\n")
        for path in {one.scores, *one.scores.parent.glob(f"{one.scores.stem}.*.json")} - {*files}:
            if path.exists() and load_scores(path).submission == one.target.name:
                path.unlink()  # of context sets that it no longer answers
