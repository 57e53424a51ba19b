"""``leaderboard init``: writes the files of a new repository for a leaderboard."""

import os
import re
from collections.abc import Sequence
from pathlib import Path

import yaml
from pydantic import ValidationError

from citeforge.engines.files import write_text
from citeforge.engines.folders import check_out
from citeforge.plugins.leaderboard.boards import (
    BOARDS_VERSION,
    CONFIG,
    Boards,
    read_boards,
    require_public_labels,
)
from citeforge.plugins.leaderboard.pages import TEMPLATES, environment
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.version import __version__

WORKFLOW = ".github/workflows/leaderboard.yml"
SPACE = "space/README.md"
_KEPT = (".gitignore",)
"""Files that a repository may have already, and keeps."""
SCORING_SPACE = "scoring-space"
"""Folder of the Space that checks and scores answers."""
GRADIO = "6.31.0"
"""Version of Gradio that the app of the Space was tried with."""


def start_leaderboard(
    folder: Path,
    benchmarks: Sequence[str],
    gold: Sequence[str] = (),
    title: str | None = None,
    space: bool = False,
    queue: str | None = None,
) -> tuple[list[str], list[str]]:
    """Write a new leaderboard's repository: (names of files written, of files kept).

    A second call changes nothing.

    Args:
        folder: folder of the repository; may exist and contain other files.
        benchmarks: ``[NAME=]FOLDER`` or ``[NAME=]hub:ORG/NAME[@REVISION]``, one or several.
        gold: gold halves, named in the same way, of benchmarks with hidden labels.
        title: title of the pages.
        space: also write a Space that checks and scores answers.
        queue: dataset repository that the Space commits submissions to.

    Returns:
        (names of the files written, names of the files that existed and are kept).

    Raises:
        UsageError: no benchmark, a name that no folder can have, or gold of no benchmark.
        InputError: one of the files exists with other content, or a benchmark is no package, or
            has hidden labels that the site would show.
    """
    check_out(folder)
    if queue is not None and not space:
        raise UsageError("--queue is for the Space; add --space", code="option-without-effect")
    boards = _declare_boards(folder, benchmarks, gold, title, queue)
    for board in boards.boards:
        if not board.benchmark.startswith("hub:"):
            require_public_labels(Path(os.path.normpath(folder / board.benchmark)))
    content = _to_yaml(boards.model_dump(mode="json", exclude_unset=True, exclude_none=True))
    heading = title or "Leaderboard"
    start = environment().overlay(autoescape=False, keep_trailing_newline=True)

    def render(file_name: str, **values: object) -> str:
        """Render the template of one file of a leaderboard's repository."""
        return start.get_template(f"start/{file_name}.j2").render(title=heading, **values)

    texts = {
        CONFIG: render("leaderboard.yaml", content=content.rstrip("\n")),
        WORKFLOW: render("workflow.yml", version=__version__),
        "submissions/README.md": render(
            "submissions.md", boards=boards.boards, megabytes=f"{boards.submission_megabytes:g}"
        ),
        SPACE: render("space.md", title_line=_to_yaml({"title": heading})),
        ".gitignore": render("gitignore"),
        **{f"submissions/{b.name}/.gitkeep": "" for b in boards.boards},
    }
    if space:
        texts |= {
            f"{SCORING_SPACE}/{name}": render(
                f"space/{name}", title_line=_to_yaml({"title": heading}), version=__version__,
                gradio=GRADIO,
            )
            for name in ("README.md", "requirements.txt")
        } | {
            f"{SCORING_SPACE}/{name}": (TEMPLATES / "start/space" / name).read_text("utf-8")
            for name in ("app.py", "space.css")
        }  # fmt: skip
    there = [n for n in texts if (folder / n).exists() or (folder / n).is_symlink()]
    other = [
        n for n in there if n not in _KEPT
        and not ((folder / n).is_file() and (folder / n).read_bytes() == texts[n].encode())
    ]  # fmt: skip
    if other:
        raise InputError(
            f"already contains {', '.join(other)}", path=folder,
            allowed="another folder, or move these away", code="output-exists"
        )  # fmt: skip
    new = [n for n in texts if n not in there]
    for name in new:
        write_text(folder / name, texts[name])
    return new, there


def find_outside(folder: Path) -> list[str]:
    """List benchmarks and gold halves of a leaderboard that are outside of its repository.

    Args:
        folder: folder of ``leaderboard.yaml``.
    """
    _, boards = read_boards(folder)
    specs = [spec for board in boards.boards for spec in (board.benchmark, board.gold) if spec]
    paths = [Path(os.path.normpath(spec)) for spec in specs if not spec.startswith("hub:")]
    here = Path(os.path.normpath(folder))
    return [str(path) for path in paths if not path.is_relative_to(here)]


def _declare_boards(
    folder: Path,
    benchmarks: Sequence[str],
    gold: Sequence[str],
    title: str | None,
    queue: str | None,
) -> Boards:
    """Make a leaderboard's declaration from benchmarks and gold halves named by options.

    Args:
        folder: folder of the leaderboard, which paths are made relative to.
        benchmarks: ``[NAME=]BENCHMARK`` of each.
        gold: ``[NAME=]GOLD`` of benchmarks with hidden labels.
        title: title of the pages.
        queue: dataset repository that the Space commits submissions to.
    """
    specs = [_split_name(b, folder) for b in benchmarks]
    halves = dict(_split_name(g, folder, "-gold") for g in gold)
    if len(specs) == len(halves) == 1 and "=" not in gold[0]:
        halves = dict(zip(dict(specs), halves.values(), strict=True))
    strange = next((n for n in halves if n not in dict(specs)), None)
    if strange is not None:
        raise UsageError(
            f"--gold {strange}=…: no --benchmark is named {strange}", code="unknown-name"
        )
    boards = [
        {"name": name, "benchmark": spec, **({"gold": halves[name]} if name in halves else {})}
        for name, spec in specs
    ]
    try:
        content = {"leaderboard": BOARDS_VERSION, "title": title, "queue": queue, "boards": boards}
        return Boards.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        message = first["msg"].removeprefix("Value error, ")
        if first["loc"][:1] == ("queue",):
            raise UsageError(f"--queue {queue}: give ORG/NAME", code="bad-option") from error
        raise UsageError(f"--benchmark: {message}; give NAME=FOLDER", code="bad-option") from error


def _split_name(argument: str, folder: Path, suffix_to_remove: str = "") -> tuple[str, str]:
    """Split ``[NAME=]BENCHMARK``: (name, else made from the path; path relative to a folder).

    Args:
        argument: as typed.
        folder: folder of the leaderboard.
        suffix_to_remove: ending that a name made from a path loses, such as ``-gold``.
    """
    name, mark, spec = argument.partition("=")
    if not mark or "/" in name:
        name, spec = "", argument
    is_hub = spec.startswith("hub:")
    if not name:
        last = re.split(r"[/\\]", spec.partition("@")[0] if is_hub else spec.rstrip("/"))[-1]
        name = re.sub(r"[^a-z0-9_-]+", "-", last.lower().removesuffix(suffix_to_remove)).strip("-_")
    if not is_hub and not Path(spec).is_absolute():
        try:
            spec = Path(os.path.relpath(spec, folder)).as_posix()
        except ValueError:  # on another drive of Windows
            spec = Path(spec).resolve().as_posix()
    return name, spec


def _to_yaml(value: object) -> str:
    """Convert a value to YAML text."""
    return yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=float("inf"))
