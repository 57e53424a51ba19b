"""Pipes and standard input are read wherever a file is, or the message says what to do."""

import csv
import gzip
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest

import citeforge as cf
from citeforge.engines import pipes
from citeforge.engines.pipes import pipes_copied, readable_path
from conftest import Inline, refused, write_jsonl

Feed = Callable[[bytes], Path]


@pytest.fixture
def feed(tmp_path: Path) -> Iterator[Feed]:
    """Make a named pipe that gives some bytes once, as ``<(cat FILE)`` does."""
    writers = []

    def fed(content: bytes) -> Path:
        path = tmp_path / f"pipe{len(writers)}"
        os.mkfifo(path)
        writers.append(Thread(target=write, args=(path, content), daemon=True))
        writers[-1].start()
        return path

    def write(path: Path, content: bytes) -> None:
        with suppress(BrokenPipeError):  # the reader had enough
            path.write_bytes(content)

    yield fed
    for writer in writers:
        writer.join(timeout=60)


@pytest.fixture
def answers(tmp_path: Path, package: Path) -> Path:
    cf.run("top-1", package, tmp_path / "answers.jsonl")
    return tmp_path / "answers.jsonl"


def test_a_pipe_is_checked_and_scored(
    inline: Inline, package: Path, answers: Path, feed: Feed
) -> None:
    """All of it, from the first byte on, though it is looked at several times."""
    content = answers.read_bytes()
    there = inline.ok("check", answers, "--benchmark", package).stdout
    assert inline.ok("check", feed(content), "--benchmark", package).stdout == there
    packed = inline.ok("check", feed(gzip.compress(content)), "--benchmark", package)
    assert packed.stdout == there
    named = inline.ok("score", answers, "--benchmark", package, "--out", "a.json")
    piped = inline.ok("score", feed(content), "--benchmark", package, "--out", "b.json")
    assert piped.stdout == named.stdout
    ours, theirs = (json.loads((inline.folder / f"{n}.json").read_text()) for n in "ab")
    assert ours.pop("submission") != theirs.pop("submission")
    assert ours == theirs  # also the sha256 of what was read
    bad = content + b'{"query_id": "q99", "output": ""}\n'
    wrong = feed(bad)
    shown = inline.fails(1, "faulty-submission", "check", wrong, "--benchmark", package).stdout
    assert f"{wrong}:32: error: query_id: " in shown


def test_other_commands_that_read_lines(
    inline: Inline, package: Path, answers: Path, feed: Feed
) -> None:
    inline.ok("score", answers, "--benchmark", package, "--out", "a.json")
    scores = (inline.folder / "a.json").read_bytes()
    assert "CiteP" in inline.ok("report", feed(scores), "--format", "md").stdout
    assert "a score file is its own" not in inline("gate", feed(scores)).stderr
    inline.ok("export", "prompts", package, "--out", "p.jsonl")
    prompts = (inline.folder / "p.jsonl").read_bytes()
    args = ("--llm", "openai:m", "--dry-run", "--price", "1,1", "--out", "made.jsonl")
    inline.ok("llm", "run", feed(prompts[: prompts.index(b"\n") + 1]), *args)
    out = inline("export", "trec-rag24", package, "--submission", feed(answers.read_bytes()),
                 "--out", "run")  # fmt: skip
    assert out.returncode == 0, out.stderr


def test_a_recipe_is_read_from_a_pipe(inline: Inline, feed: Feed) -> None:
    """It is read again for the line of a field at fault, as a policy is."""
    recipe = b"kind: rage\nsource: beir:gone\nembedder: offline\n"
    inline.fails(2, "untrusted", "build", feed(recipe), "--out", "made")
    ran = inline.fails(1, "wrong-type", "build", feed(b"source\n"), "--trust", "--out", "made")
    assert "is not a recipe" in ran.stderr
    policy = feed(b"critical: [CiteP]\nmargn: 3\n")
    ran = inline.fails(5, "unknown-field", "gate", "new.json", "--policy", policy)
    assert f"{policy}:2 margn: " in ran.stderr


def test_a_leaderboard_says_why_it_takes_no_pipe(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    inline.ok("leaderboard", "init", "board", "--benchmark", package)
    add = ("leaderboard", "add", "--boards", "board")
    os.mkfifo(tmp_path / "pipe")
    for name in ("pipe", "-"):
        ran = inline.fails(1, "not-a-file", *add, name)
        assert f"{name}: is a pipe, and a leaderboard keeps each submission" in ran.stderr


def test_a_pipe_of_another_format(
    package: Path, benchmark: cf.Benchmark, feed: Feed, tmp_path: Path
) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, ["query_id", "output", "quotes"])
    writer.writeheader()
    writer.writerow({"query_id": "q01", "output": "Io, it is [1].", "quotes": "[{'text': 'Io.'}]"})
    found = cf.check(feed(text.getvalue().encode()), benchmark)
    assert (found.form, found.n_lines, found.errors) == ("attributed-ir", 1, [])
    chat = {"choices": [{"message": {"role": "assistant", "content": "Io [1]."}}]}
    path = write_jsonl(tmp_path / "o.jsonl", [{"query_id": "q01", "response": chat}])
    assert cf.check(feed(path.read_bytes()), benchmark).form == "openai"


def test_standard_input(
    benchmark: cf.Benchmark, answers: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def given(content: bytes) -> None:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(content)))

    given(answers.read_bytes())
    scores = cf.score("-", benchmark, ["CiteP"])
    assert scores["CiteP"].value == cf.score(answers, benchmark, ["CiteP"])["CiteP"].value
    given(b'{"query_id": "q01", "output": "[1]"}\n')  # no copy of the first one is kept
    assert cf.check("-", benchmark).n_lines == 1
    given(b'{"query_id": "q01", "output": "[1]"}\n')
    assert cf.score("-", benchmark, ["CiteP"], only_answered=True, system="s").system == "s"


class Terminal(io.BytesIO):
    def isatty(self) -> bool:
        return True


def test_what_cannot_be_read_is_explained(
    benchmark: cf.Benchmark, feed: Feed, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(Terminal()))
    with refused("not-a-file", path="-") as caught:
        cf.check("-", benchmark)
    assert "is a terminal; a file, or a pipe: cat FILE | citeforge …" in str(caught.value)
    endless = feed(b"")
    with refused("not-a-file", path=endless) as caught:
        readable_path(endless)
    assert "save it to a file" in str(caught.value)
    with pipes_copied():  # its writer can end
        assert readable_path(endless).read_bytes() == b""
    monkeypatch.setattr(pipes, "LARGEST_PIPE", 3)
    large = feed(b"1234")
    with refused("too-large", path=large) as caught, pipes_copied():
        readable_path(large)
    assert "save it to a file" in str(caught.value)
    with refused("missing-file", path=tmp_path / "gone"):
        cf.check(tmp_path / "gone", benchmark)


def test_copies_are_removed(feed: Feed, tmp_path: Path) -> None:
    plain = tmp_path / "plain"
    plain.write_bytes(b"x")
    with pipes_copied():
        assert readable_path(plain) == plain
        pipe = feed(b"abc")
        with pipes_copied():
            copy = readable_path(pipe)
        assert readable_path(pipe) == copy
        assert copy.read_bytes() == b"abc"
    assert not copy.exists()
