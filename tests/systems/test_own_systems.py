"""Programs and servers of one's own as systems: real processes, and a real server on loopback."""

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, chdir
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from threading import Thread

import pytest

import citeforge as cf
from citeforge.builders.rebuild import list_resources
from citeforge.engines.llm import own
from citeforge.engines.llm.own import Program, Server, read_reply
from citeforge.engines.llm.records import LlmReply
from citeforge.schemas.recipes.base import RunOptions
from citeforge.schemas.recipes.twins import TwinsRecipe
from conftest import Inline, refused

PROGRAM = """
import json, os, sys
prompt = sys.stdin.read()
with open("asked.log", "a") as log:
    log.write(json.dumps(os.environ["CITEFORGE_PARAMS"]) + "\\n")
if "mars" in prompt.rpartition("Question:")[2].lower():
    sys.exit("no idea about Mars")
print("It is so [1].")
"""


class Endpoint(BaseHTTPRequestHandler):
    """Answers with the path that was asked; the third prompt in vain."""

    bodies: list[dict[str, object]] = []
    keys: list[str | None] = []
    busy = 0

    def do_POST(self) -> None:
        text = self.rfile.read(int(self.headers["Content-Length"]))
        if Endpoint.busy:
            Endpoint.busy -= 1
            self.reply(429, b"wait")
            return
        self.bodies.append(json.loads(text))
        self.keys.append(self.headers["Authorization"])
        if len(self.bodies) == 3:
            self.reply(418, b"overloaded")
            return
        self.reply(200, json.dumps({"output": f"{self.path} [2].", "k": 1}).encode())

    def reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Retry-After", "0")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep the tests' output clean."""


@pytest.fixture
def address() -> Iterator[str]:
    Endpoint.bodies.clear()
    Endpoint.keys.clear()
    Endpoint.busy = 0
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/ask"
        server.shutdown()


def questions(package: Path, n: int) -> dict[str, str]:
    items = islice(cf.load(package).items("mix"), n)
    return {item.query_id: item.query for item in items}


def outputs(path: Path) -> dict[str, str]:
    rows = map(json.loads, path.read_text().splitlines()[1:])
    return {row["query_id"]: row["output"] for row in rows}


def test_a_program_answers_each_prompt(inline: Inline, package: Path, tmp_path: Path) -> None:
    (tmp_path / "rag.py").write_text(PROGRAM)
    command = f"exec:{sys.executable} rag.py"
    ask = ("run", command, "--benchmark", package, "--out", "mine.jsonl", "--limit", "6")
    made = inline(*ask, "--temperature", "0.5")
    unknown = {query for query, text in questions(package, 6).items() if "mars" in text.lower()}
    assert 0 < len(unknown) < 6
    assert made.returncode == 3  # counted failures
    assert "ended with exit code 1: 'no idea about Mars'" in made.stderr
    assert outputs(tmp_path / "mine.jsonl") == {
        query: "It is so [1]." for query in questions(package, 6) if query not in unknown
    }
    asked = (tmp_path / "asked.log").read_text().splitlines()
    assert len(asked) == 6 and '\\"temperature\\":0.5' in asked[0]
    head = json.loads((tmp_path / "mine.jsonl").read_text().splitlines()[0])["submission"]
    assert head["system"] == command and "rag.py" in head["llm"]["files_sha256"]
    # Again: only what has no answer is asked. A program that was changed is asked for all.
    inline(*ask, "--temperature", "0.5")
    assert len((tmp_path / "asked.log").read_text().splitlines()) == 6 + len(unknown)
    (tmp_path / "rag.py").write_text(PROGRAM + "# changed\n")
    inline(*ask, "--temperature", "0.5")
    assert len((tmp_path / "asked.log").read_text().splitlines()) == 12 + len(unknown)


@pytest.mark.parametrize(("command", "are"), [("true", "empty"), ("echo [1]", "the same: '[1]'")])
def test_a_program_that_reads_no_question_is_told_of(
    command: str, are: str, inline: Inline, package: Path
) -> None:
    made = inline("run", f"exec:{command}", "--benchmark", package, "--out", "m.jsonl")
    assert made.returncode == 0
    assert f"warning: m.jsonl: all 30 answers are {are}" in made.stderr
    assert made.stderr.startswith(f"asking exec:{command} for 30 answers (context sets: mix)")


def test_a_program_that_is_slow_or_missing(inline: Inline, package: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    ask = ("--benchmark", package, "--out", "s.jsonl", "--limit", "1")
    slow = inline("run", f"exec:{sys.executable} slow.py", *ask, "--timeout", "0.5")
    assert slow.returncode == 3 and "no answer within 0.5 s (--timeout)" in slow.stderr
    for command, words in (
        ("exec:no-such-program x", "no-such-program: No such file or directory\n"),
        (
            "exec:slow.py",
            "No such file or directory; a program that reads the file comes first, "
            'as in exec:"python3 slow.py"; a file that may be executed is named by its path, as in '
            "exec:./slow.py\n",
        ),
        (
            "exec:./slow.py",
            "Permission denied; a program that reads the file comes first, as in "
            'exec:"python3 ./slow.py"',
        ),
        ("exec", "write exec:COMMAND"),
        ("exec:", "write exec:COMMAND"),
        ("exec:python 'x", "No closing quotation"),
        ("http://127.0.0.1:99999/x", "expected http://HOST[:PORT]/PATH"),
        ("http:foo", "expected http://HOST[:PORT]/PATH"),
        ("http://", "expected http://HOST[:PORT]/PATH"),
    ):
        missing = inline("run", command, *ask)
        assert missing.returncode == 2 and words in missing.stderr, missing.stderr


def test_a_server_gets_a_post_a_prompt(
    inline: Inline, package: Path, tmp_path: Path, address: str
) -> None:
    ask = ("--benchmark", package, "--limit", "4", "--concurrency", "1", "--out", "s.jsonl")
    made = inline("run", address, *ask)
    assert made.returncode == 3 and "status 418: 'overloaded'" in made.stderr
    assert list(outputs(tmp_path / "s.jsonl").values()) == ["/ask [2]."] * 3
    assert all(body.keys() == {"prompt", "max_tokens", "temperature", "sample"}
               for body in Endpoint.bodies)  # fmt: skip
    # A template of one's own may write the whole body.
    template = tmp_path / "body.j2"
    template.write_text('{"q": {{ query | tojson }}, "n": {{ docs | length }}}')
    inline("run", address, *ask, "--template", template)
    first = next(cf.load(package).items("mix"))
    assert Endpoint.bodies[4] == {"q": first.query, "n": len(first.passages)}


def test_from_python_and_as_an_llm(inline: Inline, package: Path, tmp_path: Path) -> None:
    (tmp_path / "rag.py").write_text("print('So [1].')")
    command = f"exec:{sys.executable} {tmp_path / 'rag.py'}"
    ran = cf.run(command, package, tmp_path / "a.jsonl", limit=2)
    assert (ran.system, ran.answers) == (command, 2)
    made = inline.ok("run", "rage", "--llm", command, "--benchmark", package, "--limit", "2",
                     "--out", "b.jsonl")  # fmt: skip
    assert made.stdout == f"b.jsonl: 2 answers of rage ({command})\n"
    assert outputs(tmp_path / "a.jsonl") == outputs(tmp_path / "b.jsonl")


def test_a_recipe_that_runs_a_program_says_so() -> None:
    recipe = TwinsRecipe(benchmark="x", llm="exec:rm -rf /")
    assert "--llm exec:rm -rf /" in list_resources(recipe)


def test_other_systems_take_no_argument(package: Path, tmp_path: Path) -> None:
    with refused("unknown-name"):
        cf.run("random:5", package, tmp_path / "a.jsonl")


def test_a_busy_server_is_asked_again_with_the_key(
    inline: Inline, package: Path, tmp_path: Path, address: str
) -> None:
    Endpoint.busy = 2
    ask = ("--benchmark", package, "--limit", "1", "--out", "s.jsonl")
    inline.ok("run", address, *ask, CITEFORGE_HTTP_KEY="sesame-123456")
    assert Endpoint.keys == ["Bearer sesame-123456"]
    Endpoint.busy = 2
    made = inline("run", address, *ask[:-1], "t.jsonl", "--max-retries", "1")
    assert made.returncode == 3 and "status 429: 'wait'" in made.stderr


def test_a_server_that_was_never_reached_ends_the_run_at_once(
    inline: Inline, package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    monkeypatch.setattr(own.time, "sleep", pauses.append)
    args = ("--benchmark", str(package), "--out", "a.jsonl", "--concurrency", "1")
    result = inline("run", "rage", "--llm", "http://127.0.0.1:9/ask", *args)
    assert (result.returncode, result.code) == (1, "endpoint-failed")
    assert "http://127.0.0.1:9/ask: the first call failed: no connection: " in result.stderr
    assert "check the address, and that the server runs" in result.stderr
    assert pauses == [1, 2]  # three tries, and none for a second prompt


def test_a_server_that_was_reached_is_waited_for_while_it_restarts(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    pauses: list[float] = []
    with ThreadingHTTPServer(("127.0.0.1", 0), Endpoint) as first:
        Thread(target=first.serve_forever, daemon=True).start()
        port = first.server_port
        server = Server(f"http://127.0.0.1:{port}/ask", None, RunOptions(max_retries=6))
        assert isinstance(server.reply_to("p", {}), bytes)
        first.shutdown()
    with ExitStack() as stack:

        def wait(seconds: float) -> None:
            """Start the server again in the fourth pause."""
            pauses.append(seconds)
            if len(pauses) == 4:
                second = ThreadingHTTPServer(("127.0.0.1", port), Endpoint)
                stack.enter_context(second)
                Thread(target=second.serve_forever, daemon=True).start()
                stack.callback(second.shutdown)

        monkeypatch.setattr(own.time, "sleep", wait)
        assert isinstance(server.reply_to("p", {}), bytes)
    assert pauses == [1, 2, 4, 8]


def test_addresses_that_differ_in_their_query_share_no_answers(
    inline: Inline, package: Path, tmp_path: Path, address: str
) -> None:
    ask = ("--benchmark", package, "--limit", "1", "--store", "one.db", "--out")
    for model in "ab":
        inline.ok("run", f"{address}?model={model}", *ask, f"{model}.jsonl")
    answers = [list(outputs(tmp_path / f"{model}.jsonl").values()) for model in "ab"]
    assert answers == [["/ask?model=a [2]."], ["/ask?model=b [2]."]]


def test_keys_in_a_command_or_an_address_are_shown_nowhere(
    inline: Inline, package: Path, tmp_path: Path, address: str
) -> None:
    (tmp_path / "rag.py").write_text("print('So [1].')")
    secret = "sk-abcdefghijklmnop1234567890"
    command = f"exec:{sys.executable} rag.py --api-key={secret}"
    host = address.removeprefix("http://")
    for system in (command, f"http://user:sesame-pass@{host}?api_key={secret}"):
        made = inline("run", system, "--benchmark", package, "--limit", "1", "--out", "s.jsonl")
        head = (tmp_path / "s.jsonl").read_text().splitlines()[0]
        shown = head + made.stdout + made.stderr
        assert secret not in shown and "sesame-pass" not in shown, shown


def test_bench_asks_each_system_itself_and_stays_in_its_folder(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    (tmp_path / "x").mkdir()
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(f"print('{name} [1].')")
    systems = [f"exec:{sys.executable} x/../{name}.py" for name in ("one", "two")]
    before = {*tmp_path.iterdir()}
    with chdir(tmp_path):
        made = cf.bench(package, [*systems, "random"], "bench", limit=2, measures=["CiteP"])
    assert [ran.system for ran in made.ran] == [*systems, "random"]
    assert {*tmp_path.iterdir()} - before == {tmp_path / "bench"}
    files = sorted((tmp_path / "bench").glob("exec-*.jsonl"))
    assert [{*outputs(file).values()} for file in files] == [{"one [1]."}, {"two [1]."}]


def test_options_without_effect_are_refused(inline: Inline, package: Path, tmp_path: Path) -> None:
    ask = ("run", "exec:true", "--benchmark", package, "--out", "s.jsonl")
    for option in (("--max-cost", "1"), ("--rpm", "1"), ("--batch",)):
        assert inline(*ask, *option).code == "option-without-effect"
    with refused("option-without-effect"):
        cf.run("exec:true", package, tmp_path / "a.jsonl", llm="openai:m")


def test_replies_that_are_no_answer(inline: Inline, package: Path, tmp_path: Path) -> None:
    ask = ("--benchmark", package, "--limit", "1", "--out", "s.jsonl")
    for program, words in (
        ("print('{\"answer\": 1}')", "a JSON object without a text in output"),
        ("print('{\"output\": null}')", "a JSON object without a text in output"),
        ("import sys; sys.stdout.buffer.write(b'\\xff')", "the reply is not UTF-8"),
        ("print('x' * 5_000_000)", "the reply has 5,000,001 bytes"),
    ):
        (tmp_path / "rag.py").write_text(program)
        made = inline("run", f"exec:{sys.executable} rag.py", *ask)
        assert words in made.stderr, (program, made.stderr)
    # A writer of a build may reply in JSON: it is taken as it is.
    assert read_reply(b'{"answer": 1}', may_be_json=False) == LlmReply('{"answer": 1}')


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="process groups are POSIX")
@pytest.mark.parametrize(
    ("command", "exit_code"), [("sleep 1000 &", 3), ("sleep 1000 > other 2>&1 &", 0)]
)
def test_what_a_program_started_ends_with_it(
    inline: Inline, package: Path, tmp_path: Path, command: str, exit_code: int
) -> None:
    """Also what has let go of its output, which nobody waits for."""
    end = "wait" if exit_code else "echo Said [1]."
    (tmp_path / "own.sh").write_text(f"{command}\necho $! > child\n{end}\n")
    seconds = "2" if exit_code else "600"
    ask = ("--benchmark", package, "--limit", "1", "--out", "s.jsonl", "--timeout", seconds)
    done = inline("run", "exec:sh own.sh", *ask)
    assert done.returncode == exit_code
    assert ("no answer within 2 s" in done.stderr) == bool(exit_code)
    child = int((tmp_path / "child").read_text())
    while is_running(child):  # a test that hangs is ended by the suite's own limit
        time.sleep(0.05)


def is_running(process: int) -> bool:
    """Whether a process runs; one that ended and waits for its parent does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rpartition(")")[2].split()[0] != "Z"


def test_files_that_a_command_names_are_told_apart(tmp_path: Path) -> None:
    """Two files of one name, and a word that is too long for a path."""
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "run.py").write_text(folder)
    words = [f"{tmp_path}/a/run.py", f"{tmp_path}/b/run.py", "x" * 5000]
    identity = Program(f"exec:python {' '.join(words)}", None, RunOptions()).identity()
    assert list(identity["files_sha256"]) == words[:2]
    assert len({*identity["files_sha256"].values()}) == 2
