"""One verdict of ``add --check`` and ``add``; score files without a submission behind them."""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from benchmarks.hidden_board import write_runs
from benchmarks.score import make_package

import citeforge as cf
from citeforge.evaluator.compare import load_scores
from citeforge.plugins.leaderboard.boards import read_boards
from citeforge.plugins.leaderboard.build import build_leaderboard
from citeforge.plugins.leaderboard.start import start_leaderboard
from citeforge.plugins.leaderboard.submit import add_submissions
from conftest import Inline, refused
from conftest_boards import EVIL

QUERIES = ("q0", "q1", "q2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A board of three queries, with a submission of the system "good" on it."""
    root = tmp_path_factory.mktemp("made")
    make_package(root, len(QUERIES), passages=100)
    start_leaderboard(root / "board", [f"facts={root / 'package'}"], title="Facts")
    add_submissions([submission(root / "good.jsonl")], root / "board")
    return root


@pytest.fixture
def board(made: Path, tmp_path: Path) -> Path:
    """A copy of the board."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "board"


def submission(path: Path, header: dict[str, Any] | None = None, cited: int = 1) -> Path:
    """A submission whose answers cite one passage; its header says more than its system."""
    write_runs(path, path.stem, [dict.fromkeys(QUERIES, f"So [{cited}].")])
    if header is not None:
        lines = path.read_text().splitlines()
        lines[0] = json.dumps({"submission": {"system": path.stem} | header})
        path.write_text("\n".join(lines) + "\n")
    return path


def raw_header(text: str) -> Callable[[Path], Path]:
    """A submission whose header is this text."""

    def write(path: Path) -> Path:
        lines = submission(path).read_text().splitlines()
        path.write_text("\n".join([text, *lines[1:]]) + "\n")
        return path

    return write


NESTED = '{"submission": {"system": "bad", "organisation": ' + "[" * 3000 + "]" * 3000 + "}}"
HEADERS: dict[str, dict[str, Any] | Callable[[Path], Path]] = {
    "a name twice": {"system": "good"},
    "a name twice but for its case": {"system": "GOOD"},
    "a name twice in full width": {"system": "ｇｏｏｄ"},
    "a name twice to the eye": {"system": "gооd"},
    "a name twice but for spaces": {"system": " good "},
    "a negative cost": {"cost": -1},
    "a cost that is no number": {"cost": "NaN"},
    "an endless cost": {"cost": "Infinity"},
    "a cost of 300 digits": {"cost": 1e300},
    "a cost out of range": raw_header('{"submission": {"system": "bad", "cost": 1e400}}'),
    "parameters that are an object": {"parameters": {}},
    "an organisation that is a list": {"organisation": ["a"]},
    "a date that is a truth value": {"date": True},
    "a URL that is an object": {"url": {"$ref": "x"}},
    "an enormous model": {"model": "m" * 100_000},
    "an enormous URL": {"url": "https://x.example/" + "a" * 100_000},
    "a line end in the organisation": {"organisation": "a\n::add-mask::x"},
    "an escape sequence in the model": {"model": "\x1b[2Jm"},
    "bidirectional control in the date": {"date": "2026\u202e1"},
    "zero width in the parameters": {"parameters": "8\u200bB"},
    "a header that nests": raw_header(NESTED),
    "a header that is a list": raw_header('{"submission": ["system"]}'),
    "another field in the header's line": raw_header('{"submission": {}, "x": 1}'),
    "a hash of another benchmark": {"benchmark_hash": "f" * 64},
}


@pytest.mark.parametrize("name", HEADERS)
def test_check_and_add_have_one_verdict(board: Path, name: str) -> None:
    """What ``--check`` passes goes in; what it refuses stays out, and stops nobody else."""
    how = HEADERS[name]
    folder = board / "submissions" / "facts"
    bad = how(folder / "bad.jsonl") if callable(how) else submission(folder / "bad.jsonl", how)
    verdicts = []
    for only_check in (True, False):
        with pytest.raises(cf.InputError) as caught:
            add_submissions([bad], board, only_check=only_check)
        verdicts.append((caught.value.code, str(caught.value)))
    assert verdicts[0] == verdicts[1]
    assert "bad.jsonl" in verdicts[0][1].splitlines()[1]
    submission(folder / "other.jsonl", cited=2)
    done = add_submissions([], board)
    assert done.site is not None
    assert done.site.systems == 2
    assert len(done.refused) == 1
    assert "bad.jsonl" in done.refused[0]
    assert done.refused[0].isprintable()
    assert len(done.refused[0]) < 1000
    assert not (board / "scores" / "facts" / "bad.json").exists()


def test_a_bad_submission_is_named_and_the_exit_code_is_3(board: Path, inline: Inline) -> None:
    folder = board / "submissions" / "facts"
    submission(folder / "bad.jsonl", {"cost": -1})
    submission(folder / "other.jsonl", cited=2)
    add = ("leaderboard", "add", "--boards", board)
    assert "bad.jsonl" in inline.fails(3, "counted-failures", *add, "--check").stderr
    done = inline.fails(3, "counted-failures", *add)
    assert "2 systems" in done.stdout
    assert "bad.jsonl: cost" in done.stderr
    inline.ok("leaderboard", "build", "--boards", board)


def test_two_newcomers_of_one_name(board: Path) -> None:
    """The first by the name of its file stays; who was there before stays in any case."""
    folder = board / "submissions" / "facts"
    submission(folder / "a.jsonl", {"system": "good"})
    submission(folder / "m.jsonl", {"system": "new"}, cited=2)
    submission(folder / "n.jsonl", {"system": "New"}, cited=3)
    done = add_submissions([], board)
    assert [p.files[0].system for p in done.submissions if p.files] == ["good", "new"]
    assert ["a.jsonl" in done.refused[0], "n.jsonl" in done.refused[1]] == [True, True]


@pytest.mark.parametrize(
    "name",
    ["good.csv", "Good.jsonl", "good.JSONL", "gооd.jsonl", "..jsonl", "-x.jsonl", ".x.jsonl",
     "a b.jsonl", "a\n.jsonl", "x.txt", "x" * 200 + ".jsonl", "a;b.jsonl", "$(x).jsonl",
     "good.json", "::warning::.jsonl", "a\u202e.jsonl"],
)  # fmt: skip
def test_names_of_files(board: Path, name: str) -> None:
    """Endings, case, Cyrillic letters, dots, dashes, line ends, length, words of shells."""
    (board.parent / "new").mkdir()
    path = board.parent / "new" / name
    path.write_bytes(submission(board.parent / "bad.jsonl", cited=2).read_bytes())
    for only_check in (True, False):
        with pytest.raises(cf.InputError) as caught:
            add_submissions([path], board, only_check=only_check)
        assert caught.value.code in ("bad-name", "duplicate-id"), caught.value
        assert all(line.isprintable() for line in str(caught.value).splitlines())
    assert [p.name for p in (board / "submissions" / "facts").glob("*.*sonl")] == ["good.jsonl"]


def test_a_folder_a_link_and_a_fifo_are_no_submissions(board: Path) -> None:
    folder = board / "submissions" / "facts"
    (folder / "a.jsonl").mkdir()
    os.mkfifo(folder / "b.jsonl")
    (folder / "c.jsonl").symlink_to("/etc/passwd")
    (folder / "d.jsonl").symlink_to(folder / "no-such")
    done = add_submissions([], board)
    assert len(done.refused) == 4
    codes = [f.code for p in done.submissions for f in p.findings.errors]
    assert codes == ["not-a-file"] * 4


def test_a_changed_file_of_another_system(board: Path) -> None:
    """A file that was scored for one system does not become another's; its own change is named."""
    there = board / "submissions" / "facts" / "good.jsonl"
    submission(there, {"system": "thief"}, cited=2)
    for only_check in (True, False):
        with refused("foreign-file") as caught:
            add_submissions([there], board, only_check=only_check)
        assert "is the submission of 'good', and now names 'thief'" in str(caught.value)
    done = add_submissions([], board)
    assert done.site is not None
    assert done.site.systems == 0
    assert len(done.refused) == 2  # the file, and the scores of what it was
    submission(there, {"system": "good"}, cited=2)
    done = add_submissions([], board)
    assert (done.refused, sum(bool(p.files) for p in done.submissions)) == ([], 1)
    warning = done.submissions[0].findings.warnings[-1].message
    assert warning == "replaces the submission of 'good': are both from the same people?"


def forged(change: Callable[[dict[str, Any]], None]) -> Callable[[Path], None]:
    """A score file of the board, changed by hand."""

    def write(board: Path) -> None:
        path = board / "scores" / "facts" / "good.json"
        content = json.loads(path.read_text())
        change(content)
        path.write_text(json.dumps(content))

    return write


def value_100(content: dict[str, Any]) -> None:
    content["measures"][0].update(value=100.0, low=99.0, high=100.0)


def measure_of_nothing(content: dict[str, Any]) -> None:
    content["measures"][0].update(value=100.0, per_query=[None] * len(QUERIES))


def influence_of_nothing(content: dict[str, Any]) -> None:
    content["measures"][0].update(value=100.0, influence=[1.0] * len(QUERIES))


def stranger(board: Path) -> None:
    path = board / "scores" / "facts" / "good.json"
    content = json.loads(path.read_text()) | {"system": "ghost", "submission": "ghost.jsonl"}
    (path.parent / "ghost.json").write_text(json.dumps(content))
    path.unlink()


FORGERIES: dict[str, tuple[Callable[[Path], None], str]] = {
    "value": (forged(value_100), "100.0 is not the mean of its values"),
    "no values": (forged(measure_of_nothing), "is of no query"),
    "influence": (forged(influence_of_nothing), "influences do not sum to 0"),
    "system": (forged(lambda c: c.update(system="ghost")), "not score the good.jsonl"),
    "hash": (forged(lambda c: c.update(submission_sha256="0" * 64)), "scores another good.jsonl"),
    "path": (forged(lambda c: c.update(submission="../facts/good.jsonl")), "is not named for"),
    "absent": (stranger, "'ghost.jsonl', which is not in"),
    "json": (lambda b: (b / "scores/facts/good.json").write_text("{") and None, "JSON"),
    "infinite": (lambda b: (b / "scores/facts/good.json").write_text('{"system": 1e999}') and None,
                 "good.json"),
    "history": (lambda b: (b / "history/facts.jsonl").unlink(), "by its history"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORGERIES)
def test_score_files_have_a_submission_behind_them(board: Path, name: str) -> None:
    write, words = FORGERIES[name]
    honest = (board / "scores" / "facts" / "good.json").read_bytes()
    write(board)
    site, _, lines = build_leaderboard(board)
    assert site.systems == 0
    assert len(lines) == 1
    assert words in lines[0]
    if name not in ("absent", "history"):
        checked = add_submissions([], board, only_check=True)
        assert words in checked.refused[0]
    # The board makes its files anew from the submissions.
    (board / "scores" / "facts" / "ghost.json").unlink(missing_ok=True)
    assert add_submissions([], board).refused == []
    assert (board / "scores" / "facts" / "good.json").read_bytes() == honest


def test_hostile_words_stay_words(board: Path) -> None:
    """HTML, Markdown and scripts in every field that a header has."""
    folder = board / "submissions" / "facts"
    words = {f: f"{EVIL}[x](javascript:x) {{{{7*7}}}} ${{x}} {f}"
             for f in ("system", "organisation", "model", "parameters", "url", "date")}  # fmt: skip
    submission(folder / "evil.jsonl", words | {"cost": 1e9}, cited=2)
    done = add_submissions([], board)
    assert done.refused == []
    assert load_scores(board / "scores" / "facts" / "evil.json").about is not None
    for page in (board / "site").rglob("*.html"):
        text = page.read_text()
        assert "<img src=x" not in text, page
        assert "</script><script>" not in text, page
        assert 'href="javascript:' not in text, page


BOMB = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(8)
)
YAML_TRICKS = {
    "bomb": BOMB,
    "object": "boards: !!python/object/apply:os.system ['true']",
    "twice": "boards: []\nboards: []\n",
    "itself": "boards: &b [*b]",
    "nested": "boards: " + "[" * 2000,
    "merge": "x: &x {name: a}\nboards:\n- <<: *x\n",
    "number": "boards: [{name: a, benchmark: b, submissions_per_system: 1e400}]",
    "zero": "boards: [{name: a, benchmark: b, submissions_per_system: 0}]",
    "not a number": "boards: [{name: a, benchmark: b, submissions_per_system: .nan}]",
    "date": "boards: 2026-13-45",
    "null": "boards: ~",
    "name": "boards: [{name: ../a, benchmark: b}]",
    "name with a line end": 'boards: [{name: "a\\n", benchmark: b}]',
    "reserved": "boards: [{name: answers, benchmark: b}]",
    "same place": "boards:\n- {name: a, benchmark: b, scores: x}\n"
    "- {name: c, benchmark: b, scores: ./x}",
    "site over submissions": "site: submissions\nboards: [{name: a, benchmark: b}]",
    "scores in submissions": "boards: [{name: a, benchmark: b, scores: x, submissions: x}]",
    "binary": "boards: \x00",
}


@pytest.mark.parametrize("name", YAML_TRICKS)
def test_tricks_in_the_boards_file(tmp_path: Path, name: str) -> None:
    (tmp_path / "leaderboard.yaml").write_text(YAML_TRICKS[name])
    with pytest.raises(cf.InputError) as caught:
        read_boards(tmp_path)
    assert caught.value.path == str(tmp_path / "leaderboard.yaml")


def test_the_workflow_watches_what_a_board_is_made_of(board: Path) -> None:
    text = (board / ".github" / "workflows" / "leaderboard.yml").read_text()
    result = yaml.safe_load(text)
    paths = result[True]["pull_request"]["paths"]
    assert {"submissions/**", "scores/**", "history/**", "leaderboard.yaml"} <= set(paths)
    assert "needs" not in result["jobs"]["site"]
    used = [s["uses"] for job in result["jobs"].values() for s in job["steps"] if "uses" in s]
    assert used and all(re.fullmatch(r"actions/[a-z-]+@[0-9a-f]{40}", one) for one in used)
    assert text.count(f"pip install citeforge=={cf.__version__}\n") == 2


def test_every_refusal_is_one_of_ours(board: Path) -> None:
    """Bytes that are no submission at all."""
    path = board / "submissions" / "facts" / "bad.jsonl"
    for content in (b"", b"\x00" * 100, b"\xff\xfe", b"[" * 100_000, b"{}\n" * 3, b'{"a":1e999}\n',
                    b"\x1f\x8b\x08\x00broken", b'"x"\n', b"null\n"):  # fmt: skip
        path.write_bytes(content)
        with pytest.raises(cf.CiteforgeError):
            add_submissions([path], board, only_check=True)
        done = add_submissions([], board)
        assert done.refused
        assert all("bad.jsonl" in line for line in done.refused)
        assert done.site is not None
        assert done.site.systems == 1
