"""Commands with --batch: whole paths, kills, and what refuses the option."""

import json
from pathlib import Path

import pytest

from conftest import EXAMPLES, Inline
from servers.batch_server import BatchServer, batch_server, complete
from servers.nursery import kill_command
from servers.provider import Body, Sent, chat

KEY = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
YES = '{"entailed": true}'


def batch_options(server: BatchServer, store: str = "s.db") -> tuple[object, ...]:
    return ("--base-url", server.url, "--batch", "--store", store)


def asked(server: BatchServer) -> list[str]:
    """Last messages of all requests in batches; none is there twice, and none was sent directly."""
    texts = [json.dumps(body) for body in server.bodies()]
    assert server.direct == [] and len(set(texts)) == len(texts)
    return [body["messages"][-1]["content"] for body in server.bodies()]


def test_run(inline: Inline, package: Path, tmp_path: Path) -> None:
    words = ("run", "rage", "--benchmark", package, "--context", "mix", "--limit", 3)
    words = (*words, "--llm", "openai:m", "--price", "1000000,1000000")
    with batch_server(lambda body: chat("So it is [1].")) as server:
        bill = inline(*words, *batch_options(server), "--dry-run", **KEY)
        assert "(batches: 0.5 of --price)" in bill.stdout and server.log == []
        done = inline(*words, *batch_options(server), "--out", "a.jsonl", **KEY)
        assert done.returncode == 0, done.stderr
        assert "(batches: 0.5 of --price)" in done.stderr  # before anything is asked
        assert len(asked(server)) == 3 and len(server.batches) == 1
    lines = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    assert [line["output"] for line in lines[1:]] == ["So it is [1]."] * 3
    stats = inline("llm", "stats", "s.db", "--price", "1000000,1000000")
    assert "of batches         30 and 15\n" in stats.stdout
    assert stats.stdout.endswith(f"cost               {(30 + 15) / 2:.4f}\n")


def test_labels_judge(inline: Inline, tmp_path: Path) -> None:
    """A verdict that cannot be read is asked for in a second batch."""

    def behave(body: Body) -> Sent:
        return chat("Hm." if "Hm" in body["messages"][-1]["content"] else YES)

    rows = [{"premise": "A bridge.", "hypothesis": h} for h in ("A.", "B.", "Hm.")]
    (tmp_path / "pairs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    words = ("labels", "judge", "pairs.jsonl", "--judge", "openai:m", "--out", "v.jsonl")
    with batch_server(behave) as server:
        done = inline(*words, *batch_options(server), **KEY)
        assert done.returncode == 3, done.stderr
        sizes = [len(server.lines(batch)) for batch in server.batches.values()]
        assert sizes == [3, 1, 1] and server.direct == []
    verdicts = [json.loads(x)["verdict"] for x in (tmp_path / "v.jsonl").read_text().splitlines()]
    assert verdicts == [True, True]


@pytest.mark.slow
def test_score(inline: Inline, package: Path) -> None:
    run = inline("run", "top-1", "--benchmark", package, "--context", "mix", "--out", "a.jsonl")
    assert run.returncode == 0, run.stderr
    words = (
        "score",
        "a.jsonl",
        "--benchmark",
        package,
        "--measures",
        "ALCE.CitF1",
        "--judge",
        "openai:m",
    )
    words = (*words, "--context", "mix", "--out", "scores.json")
    with batch_server(lambda body: chat(YES)) as server:
        done = inline(*words, *batch_options(server), **KEY)
        assert done.returncode == 0, done.stderr
        n, n_batches = len(asked(server)), len(server.batches)
        assert n > n_batches > 0
        again = inline(*words, *batch_options(server), "--verdicts", "other.db", **KEY)
        assert again.returncode == 0, again.stderr
        assert (len(asked(server)), len(server.batches)) == (n, n_batches)


@pytest.mark.slow
def test_build_twins(inline: Inline, package: Path, tmp_path: Path) -> None:
    words = ("build", "twins", "--benchmark", package, "--llm", "openai:m", "--attempts", 2)
    words = (*words, "--keep-failed", "--out", "t")
    with batch_server(lambda body: chat("A text of another length.")) as server:
        done = inline(*words, "--base-url", server.url, "--batch", **KEY)
        assert done.returncode == 0, done.stderr
        # Each attempt at all passages that have no twin yet is one batch.
        sizes = [len(server.lines(batch)) for batch in server.batches.values()]
        assert len(sizes) >= 2 and sizes[0] == sizes[1] and server.direct == []
    assert (tmp_path / "t.replay.db").is_file()


@pytest.mark.parametrize(
    "words",
    [
        ("build", "documents", "--source", f"folder:{EXAMPLES}", "--llm", "openai:m"),
        ("build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}",
         "--pairs-from-kg", "father", "--licence", "cc0-1.0", "--writer", "openai:m"),
        ("run", "interact", "--llm", "openai:m"),
        ("run", "rtg-query-gen", "--llm", "openai:m"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("end", [("--dry-run",), ("--out", "o")])
def test_what_asks_in_rounds_refuses_batches(
    inline: Inline, package: Path, words: tuple[str, ...], end: tuple[str, ...]
) -> None:
    more = ("--benchmark", package) if words[0] == "run" else ()
    done = inline(*words, *more, "--batch", "--base-url", "http://127.0.0.1:9/v1", *end, **KEY)
    assert done.returncode == 2
    assert done.stderr.startswith("Error: --batch: not for ") or "--batch: not for" in done.stderr
    assert done.stderr.count("day") == 1  # the reason


@pytest.mark.slow
@pytest.mark.parametrize(
    ("held", "request_", "times"),
    [
        ("POST /v1/files$", "POST /v1/files", 1),  # before there is a batch
        ("POST /v1/batches$", "POST /v1/batches", 1),  # the batch is there, its id is not known
        ("$.", "GET /v1/batches/batch_0", 2),  # while it is looked at
        ("GET /v1/files/.*content$", "GET /v1/files/", 1),  # before the replies have come
    ],
)
def test_a_killed_command_finds_its_batch(
    package: Path, tmp_path: Path, inline: Inline, held: str, request_: str, times: int
) -> None:
    fate = complete if "content" in held else (lambda server, batch: None)
    with batch_server(lambda body: chat("So it is [1]."), fate) as server:
        server.held = held
        words = ("run", "rage", "--benchmark", package, "--context", "mix", "--limit", 3)
        words = (*words, "--llm", "openai:m", "--out", "a.jsonl", *batch_options(server))
        kill_command(
            [*map(str, words)], tmp_path,
            lambda: sum(line.startswith(request_) for line in server.log) >= times, **KEY,
        )  # fmt: skip
        server.released.set()
        server.fate = complete
        inline.ok(*words, **KEY)
        assert len(server.batches) == 1
        assert len(asked(server)) == 3
    assert len((tmp_path / "a.jsonl").read_text().splitlines()) == 1 + 3
