"""Lines about long work, for logs."""

import contextvars
import io
import json
import os
import pty
import subprocess
import sys
from threading import Event

import pytest

from citeforge.cli.main import cli
from citeforge.engines.progress import ProgressLine, ProgressLines, is_json, progress
from patience import patience


def test_a_line_an_interval_and_one_at_the_end(capsys: pytest.CaptureFixture[str]) -> None:
    with ProgressLines("embedding", 4, "passages") as work:
        for items, note in ((1, None), (2, "shard 2"), (1, None)):
            work.advance(items, note)
            work._write()  # the interval is over
    lines = capsys.readouterr().err.splitlines()
    starts = [line.split(" passages, ")[0] for line in lines]
    wanted = ["embedding: 1 of 4", "embedding · shard 2: 3 of 4", "embedding: 4 of 4"]
    assert starts == [*wanted, wanted[-1]]
    assert all(" a second, 0:0" in line and "peak memory" in line for line in lines)


def test_work_that_is_over_soon_says_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    with progress("embedding", 2, "passages") as advance:
        advance(2)
    assert capsys.readouterr().err == ""


def test_json_tells_the_end_of_what_was_over_soon(capsys: pytest.CaptureFixture[str]) -> None:
    def work() -> None:
        is_json.set(True)
        with progress("embedding", 2, "passages") as advance:
            advance(2)
        with progress("reading", None, "files"):
            pass  # nothing was done

    contextvars.copy_context().run(work)
    (line,) = capsys.readouterr().err.splitlines()
    result = json.loads(line)
    assert (result["stage"], result["done"], result["total"]) == ("embedding", 2, 2)


def test_work_that_is_stuck_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    told = Event()

    class Log(io.StringIO):
        def write(self, text: str) -> int:
            told.set()
            return super().write(text)

    monkeypatch.setattr(sys, "stderr", log := Log())
    monkeypatch.setattr("citeforge.engines.progress.FIRST", 0.01)
    with progress("LLM", 50, "answers"):
        assert told.wait(patience(60))
    assert log.getvalue().startswith("LLM: 0 of 50 answers, peak memory")


def test_the_first_line_comes_soon_and_the_others_at_intervals(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    waits: list[float | None] = []
    lines = ProgressLines("mining", 2, "passages")
    monkeypatch.setattr(lines, "_write", lambda: None)
    monkeypatch.setattr(lines._over, "wait", lambda wait: waits.append(wait) or len(waits) == 3)
    lines._write_regularly()
    assert waits == [5, 60, 60]


def test_arithmetic_of_a_line() -> None:
    lines = ProgressLines("mining", 5_000_000, "passages")
    lines.done = 1_200_000
    result = lines.line(60)
    assert result.rate == 20_000  # 1,200,000 / 60
    assert result.seconds_left == 190  # 3,800,000 / 20,000
    text = "mining: 1,200,000 of 5,000,000 passages, 20,000 a second, 0:03:10 left, peak memory"
    assert str(result).startswith(text)
    assert 10 < result.peak_mb < 1_000_000


def test_without_a_total_or_an_item_there_is_no_time_left() -> None:
    lines = ProgressLines("reading", None, "files")
    assert str(lines.line(60)).startswith("reading: 0 files, peak memory")
    lines.done = 30
    assert (lines.line(60).rate, lines.line(60).seconds_left) == (0.5, None)
    assert str(lines.line(60)).startswith("reading: 30 files, 0.50 a second, peak memory")


WORK = """
import sys
from citeforge.engines import progress as p
p.is_json.set(len(sys.argv) > 1)
with p.progress("judging", 2, "pairs") as advance:
    advance(1); advance(1)
"""


@pytest.mark.parametrize(("words", "is_lines"), [([], False), (["json"], True)])
def test_a_terminal_sees_a_bar_unless_json_is_asked_for(words: list[str], is_lines: bool) -> None:
    reader, writer = pty.openpty()
    child = subprocess.Popen([sys.executable, "-c", WORK, *words], stderr=writer)
    os.close(writer)
    seen = b""
    while True:
        try:
            part = os.read(reader, 4096)
        except OSError:  # the child's end is closed
            break
        seen += part
    os.close(reader)
    assert child.wait() == 0
    if is_lines:
        result = json.loads(seen)
        assert [result[n] for n in ("stage", "done", "total", "unit")] == ["judging", 2, 2, "pairs"]
        assert set(result) == set(ProgressLine.__struct_fields__)
    else:
        assert b"judging" in seen
        assert b"peak memory" not in seen


def test_the_command_line_asks_for_json() -> None:
    def asked() -> bool:
        cli.main(["--log-json", "list", "measures"], standalone_mode=False)
        return is_json.get()

    assert contextvars.copy_context().run(asked)
    assert not is_json.get()
