"""Hostile names and texts do nothing on terminals; names that deceive are refused."""

import io
import json
from pathlib import Path

import pytest

from citeforge.cli.terminal import SafeText
from conftest import ROOT, Inline, write_jsonl

V1 = ROOT / "tests" / "golden" / "v1"
PACKAGE = V1 / "package"
LINES = [json.loads(x) for x in (V1 / "submission.jsonl").read_text().splitlines()[1:]]


def submission(folder: Path, name: object, file: str = "s.jsonl") -> Path:
    return write_jsonl(folder / file, [{"submission": {"system": name}}, *LINES])


@pytest.mark.parametrize(
    "name", ["a\n::add-mask::b", "a ", "a\u202eb", "a\u200bb", "a\x1b[2J", ["a"], {"a": 1}, 7]
)
def test_check_and_score_refuse(inline: Inline, tmp_path: Path, name: object) -> None:
    submission(tmp_path, name)
    for words in (("check", "s.jsonl"), ("score", "s.jsonl")):
        done = inline(*words, "--benchmark", PACKAGE)
        assert done.returncode == 1
        said = done.stdout + done.stderr
        assert "system" in said
        assert not set("\x1b\u202e\u200b") & set(said)
        assert "\n::" not in said
    # A name that is given takes its place.
    assert inline("score", "s.jsonl", "--benchmark", PACKAGE, "--name", "a").returncode == 0


def test_names_of_options_and_files(inline: Inline, tmp_path: Path) -> None:
    submission(tmp_path, "a")
    write_jsonl(tmp_path / "x .jsonl", LINES)
    for words, code in (
        (("score", "s.jsonl", "--benchmark", PACKAGE, "--name", "a\u200b"), "bad-name"),
        (("check", "x .jsonl", "--benchmark", PACKAGE), "faulty-submission"),
        (("score", "x .jsonl", "--benchmark", PACKAGE), "bad-name"),
    ):
        done = inline(*words)
        assert done.returncode == 1, words
        assert done.code == code, words
    done = inline("run", "random", "--benchmark", PACKAGE, "--out", "r.jsonl", "--system", "a\rb")
    assert (done.returncode, done.code) == (2, "bad-name")
    assert not (tmp_path / "r.jsonl").exists()


def test_twins(inline: Inline, tmp_path: Path) -> None:
    submission(tmp_path, "ace")
    submission(tmp_path, "аcе", "t.jsonl")
    done = inline("score", "s.jsonl", "t.jsonl", "--benchmark", PACKAGE)
    assert (done.returncode, done.code) == (1, "bad-option")
    assert "'ace' and '\\u0430c\\u0435' look the same" in done.stderr


def test_every_line_on_the_terminal_is_plain(inline: Inline, tmp_path: Path) -> None:
    """Query ids, fields, names of files."""
    hostile = (
        "\x1b[2J\x1b]8;;http://x\x07y\x9b1m\r\u202e\u2066\u200b\n::set-output name=a::b\n ::error::"
    )
    rows = [{"query_id": hostile, "output": "x"}, {"query_id": "q1", "output": "x", hostile: 1}]
    for file in ("s.jsonl", "\x1b[2J\u202e\n::error::f.jsonl"):
        write_jsonl(tmp_path / file, rows)
        for command in ("check", "score"):
            done = inline(command, file, "--benchmark", PACKAGE)
            assert done.returncode == 1
            said = done.stdout + done.stderr
            assert not set("\x1b\x07\x9b\r\u202e\u2066\u200b") & set(said)
            assert not any(line.strip().startswith("::") for line in said.splitlines())
    done = inline("compare", hostile, "--oops\x1b")
    assert "\x1b" not in done.stderr


def written(*texts: str, encoding: str = "utf-8") -> str:
    raw = io.BytesIO()
    stream = SafeText(raw, encoding, errors="backslashreplace", newline="")
    for text in texts:
        assert stream.write(text) == len(text)
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_stream() -> None:
    assert written("plain – 日本 مي\u200cخواهم\n\tx") == "plain – 日本 مي\u200cخواهم\n\tx"
    assert written("a\x1b[1mb\rc\x00\x85") == "a\\u001b[1mb\\u000dc\\u0000\\u0085"
    assert written("\ue0041 \U000e0041") == "\ue0041 \\udb40\\udc41"
    assert written("::x\n ::y\nz ::w\n") == "\\u003a:x\n \\u003a:y\nz ::w\n"
    assert written("a ", "::b\n", "::c") == "a ::b\n\\u003a:c"
    assert written("", "::", "c") == "\\u003a:c"
    assert written("##[error]a ##vso[x] ## x") == "#\\u0023[error]a #\\u0023vso[x] ## x"
    line = json.dumps({"a": "\u202e\u200b\x9b"}, ensure_ascii=False)
    assert json.loads(written(line)) == json.loads(line)
    assert written("–", encoding="ascii") == "\\u2013"
