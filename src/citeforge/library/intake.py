"""Taking submissions into a leaderboard: check, score, site again."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from citeforge.engines.files import sha256_file, write_bytes, write_text
from citeforge.engines.folders import held
from citeforge.evaluator.check import Findings, check
from citeforge.evaluator.compare import load_scores
from citeforge.evaluator.plots.choose import main_measure
from citeforge.evaluator.submission import read_header
from citeforge.library.benchmarks import load, package_folder
from citeforge.library.leaderboards import bench_of, scores_folder, submissions_folder
from citeforge.library.scores import score_files
from citeforge.package.manifest import load_manifest
from citeforge.publish.leaderboard.build import growing_site, without_labels
from citeforge.publish.leaderboard.config import read_boards
from citeforge.publish.leaderboard.pages import Site
from citeforge.schemas.errors import FailuresError, InputError, UsageError
from citeforge.schemas.recipes.boards import Board, Boards
from citeforge.schemas.recipes.run import RunOptions
from citeforge.schemas.scores import ScoreFile

LOCK = ".leaderboard.lock"
_ENDINGS = (".jsonl", ".jsonl.gz", ".json", ".csv", ".tsv")
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ERRORS_TOLD = 3


@dataclass(frozen=True)
class Taken:
    """A submission on its way into a leaderboard.

    Attributes:
        board: that it is for.
        source: where it is.
        target: where the leaderboard keeps it.
        scores: its score file.
    """

    board: Board
    source: Path
    target: Path
    scores: Path


@dataclass(frozen=True)
class Checked:
    """What was found in a submission.

    Attributes:
        taken: the submission.
        findings: warnings; errors are refused.
    """

    taken: Taken
    findings: Findings


@dataclass(frozen=True)
class Intake:
    """What :func:`add_submissions` did.

    Attributes:
        checked: the submissions, in order.
        scored: their scores, in the same order; empty where they were only checked.
        site: numbers of the site's pages; None where they were only checked.
        folder: of the site.
    """

    checked: list[Checked]
    scored: list[ScoreFile]
    site: Site | None
    folder: Path

    def lines(self) -> Iterator[str]:
        """What to tell: a line a submission, and where the site is."""
        if not self.checked:
            yield "no submission yet"
        for at, one in enumerate(self.checked):
            found, taken = one.findings, one.taken
            yield (
                f"{taken.board.name}: {taken.source}: {found.n_lines:,} answers, "
                f"{len(found.warnings):,} warnings"
                + (f", {_best(self.scored[at])}" if self.scored else "")
            )
        if self.site is not None:
            yield (
                f"{self.folder / 'index.html'}: {self.site.systems:,} systems, "
                f"{self.site.queries:,} queries"
            )


def _best(file: ScoreFile) -> str:
    """A system with the measure that ranks it."""
    entry = next((m for m in file.measures if m.name == main_measure([file])), None)
    value = (
        "no score" if entry is None or entry.value is None else f"{entry.name} {entry.value:.2f}"
    )
    return f"{file.system}: {value}"


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
    """Check submissions, score them, and build the site again: all of it, or nothing.

    A submission with errors leaves everything as it was. Done twice, nothing changes. Who comes
    while another one is at it waits. What is killed is done again by the same call: the site is
    the old one or the new one.

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
        InputError: a submission has errors, or the place it would take is taken.
        UsageError: nobody can tell which board it is for.
        FailuresError: the judge failed on some pairs.
    """
    config, found = read_boards(Path(boards))
    if board is not None and found.find(board) is None:
        known = ", ".join(b.name for b in found.boards)
        raise UsageError(f"--board {board!r} is not in {config}; known: {known}")
    with held(config.parent / LOCK, config.parent, wait=True):
        paths = [Path(s) for s in submissions] or list(_all_in(found))
        taken = [_taken(path, found, board, replace) for path in paths]
        _require_apart(taken)
        checked = _checked(taken, found, with_gold=not only_check)
        if only_check:
            return Intake(checked, [], None, found.site)
        scored = _scored(taken, found, run or RunOptions(), allow_judge_failures)
        added = {t.scores: file for t, file in zip(taken, scored, strict=True)}
        benches = [bench_of(b, added) for b in found.boards]
        with growing_site(benches, found.site, found.title, config) as site:
            # The scores come first: whoever is killed here leaves the old site, and all of what
            # the next one needs.
            for one in taken:
                _keep(one, added[one.scores].submission_sha256)
                write_text(one.scores, added[one.scores].model_dump_json() + "\n")
        return Intake(checked, scored, site, found.site)


def _all_in(boards: Boards) -> Iterator[Path]:
    """Submissions in the boards' folders, by name."""
    for board in boards.boards:
        folder = submissions_folder(board)
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            if not path.name.startswith(".") and path.name != "README.md":
                yield path


def _taken(path: Path, boards: Boards, name: str | None, replace: bool) -> Taken:
    """Where a submission goes.

    Raises:
        InputError: it is no file, has a name that cannot be kept, or takes another one's place.
        UsageError: nobody can tell which board it is for.
    """
    if not path.is_file():
        raise InputError("is no file", path=path, allowed=f"a submission ({', '.join(_ENDINGS)})")
    ending = next((e for e in sorted(_ENDINGS, key=len)[::-1] if path.name.endswith(e)), None)
    if ending is None or not _NAME.fullmatch(path.name):
        raise InputError(
            "has a name that a leaderboard does not keep", path=path,
            allowed="letters, digits, dots, - and _, ending in " + ", ".join(_ENDINGS),
        )  # fmt: skip
    board = _board_of(path, boards, name)
    target = submissions_folder(board) / path.name
    scores = scores_folder(board) / f"{path.name.removesuffix(ending)}.json"
    if target.exists() and not replace and sha256_file(target) != sha256_file(path):
        raise InputError(
            f"is not the {path.name} that {board.name} has already", path=path,
            allowed="another name for another system, or --replace",
        )  # fmt: skip
    if scores.exists() and (there := load_scores(scores)).submission != path.name:
        raise InputError(
            f"would write over the scores of {there.submission} in {scores}", path=path,
            allowed="another name",
        )  # fmt: skip
    return Taken(board, path, target, scores)


def _board_of(path: Path, boards: Boards, name: str | None) -> Board:
    if len(boards.boards) == 1:
        return boards.boards[0]
    if name is not None:
        return next(b for b in boards.boards if b.name == name)
    here = path.resolve().parent
    inside = [b for b in boards.boards if submissions_folder(b).resolve() == here]
    if inside:
        return inside[0]
    said = None if path.suffix == ".csv" else (read_header(path) or {}).get("benchmark_hash")
    found = [b for b in boards.boards if said is not None and said == _hash_of(b)]
    if len(found) == 1:
        return found[0]
    known = ", ".join(b.name for b in found or boards.boards)
    raise UsageError(f"{path}: for which benchmark is it? Give --board, one of {known}")


def _hash_of(board: Board) -> str:
    return load_manifest(package_folder(board.benchmark)).benchmark_hash


def _require_apart(taken: Sequence[Taken]) -> None:
    """Refuse two submissions that would have one place."""
    seen: dict[Path, Path] = {}
    for one in taken:
        other = seen.setdefault(one.scores, one.source)
        if other.resolve() != one.source.resolve():
            raise UsageError(f"{other} and {one.source} would have one place; rename one of them")


def _checked(taken: Sequence[Taken], boards: Boards, with_gold: bool) -> list[Checked]:
    """All findings; every submission is looked at before one is refused.

    Raises:
        InputError: names the errors.
    """
    found: dict[Path, Checked] = {}
    for board in boards.boards:
        mine = [t for t in taken if t.board.name == board.name]
        if not mine:
            continue
        gold = board.gold if with_gold else None
        benchmark = load(board.benchmark, gold)
        for one in mine:
            options = board.score
            findings = check(one.source, benchmark, options.context, options.file_format)
            found[one.source] = Checked(one, findings)
    wrong = [c for c in found.values() if c.findings.errors]
    if wrong:
        raise InputError(_told(wrong, len(taken)))
    return [found[t.source] for t in taken]


def _told(wrong: Sequence[Checked], of: int) -> str:
    lines = [f"{len(wrong)} of {of} submissions have errors; nothing was changed"]
    for one in wrong:
        path, errors = one.taken.source, one.findings.errors
        lines += [
            f"{path}{'' if line is None else f':{line}'}: {text}"
            for line, text in errors[:_ERRORS_TOLD]
        ]
        if len(errors) > _ERRORS_TOLD:
            lines.append(f"{path}: {len(errors) - _ERRORS_TOLD:,} more errors")
    return "\n".join(lines)


def _scored(
    taken: Sequence[Taken], boards: Boards, run: RunOptions, allow_failures: bool
) -> list[ScoreFile]:
    """Scores, board by board, as files may hold them: without labels where these are hidden.

    Raises:
        FailuresError: the judge failed.
    """
    found: dict[Path, ScoreFile] = {}
    for board in boards.boards:
        mine = [t for t in taken if t.board.name == board.name]
        if not mine:
            continue
        done = score_files(
            [t.source for t in mine], board.benchmark, board.score, gold=board.gold, run=run
        )
        if done.judge is not None and done.judge.n_failed and not allow_failures:
            raise FailuresError(
                f"the judge failed on {done.judge.n_failed:,} pairs; nothing was changed"
            )
        for one, scores in zip(mine, done.scores, strict=False):
            file = scores.file
            found[one.source] = file if board.gold is None else without_labels(file)
    return [found[t.source] for t in taken]


def _keep(one: Taken, digest: str) -> None:
    """Copy a submission that does not lie there yet, if it is still what was scored."""
    content = one.source.read_bytes()
    if hashlib.sha256(content).hexdigest() != digest:
        raise InputError("has changed meanwhile", path=one.source, allowed="the same call again")
    if one.source.resolve() != one.target.resolve():
        write_bytes(one.target, content)
