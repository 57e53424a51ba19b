"""Score files of a hostile system and a plain one."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from citeforge.evaluator.compare import load_scores
from citeforge.reports.pages.formats import make_report
from citeforge.schemas.recipes.command_options import ReportOptions, TableOptions
from citeforge.schemas.scores import ScoreFile
from conftest import run_inline, write_jsonl

HOSTILE = [
    "<script>document.title = 'owned'</script> [1].",
    "</script><script>document.title = 'owned'</script> [1].",
    "<img src=x onerror=\"document.title='owned'\"> [1][9].",
    "{{ 7 * 7 }} & \u2028 \\u003c <!-- [2].",
]


@pytest.fixture(scope="module")
def scored(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A hostile system and a plain one, with scores and answers."""
    folder = tmp_path_factory.mktemp("scored")
    rows = [
        {"submission": {"system": "<b>evil</b>"}},
        *(
            {"query_id": f"q{i + 1:02d}", "output": f"{HOSTILE[i % 4]} And so on."}
            for i in range(29)
        ),
    ]
    write_jsonl(folder / "evil.jsonl", rows)  # type: ignore[arg-type]
    there = ["--benchmark", str(package)]
    how = ["--judge", "lexical", "--measures", "rage,ALCE.CitRec,ALCE.CitPrec", "--details"]
    for words in (
        ["run", "echo-relevant", *there, "--out", "echo.jsonl"],
        *(["score", f"{s}.jsonl", *there, *how, "--out", f"{s}.json"] for s in ("evil", "echo")),
    ):
        run_inline(words, folder, {"HF_HOME": str(folder / "hf")}).check_returncode()
    return folder


@pytest.fixture
def files(scored: Path, tmp_path: Path) -> list[ScoreFile]:
    """Read anew for each test, beside a copy of the files."""
    shutil.copytree(scored, tmp_path, dirs_exist_ok=True)
    return [load_scores(tmp_path / f"{name}.json") for name in ("evil", "echo")]


def report_text(
    files: Sequence[ScoreFile], form: str, table: TableOptions | None = None, **options: Any
) -> str:
    """A report in a format, as a text."""
    given = {} if table is None else table.model_dump()
    return make_report(files, form, None, ReportOptions(**given, **options))[0].decode()
