"""Programs and servers of one's own as systems: real processes, and a real server on loopback."""

import json
import sys
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import islice
from pathlib import Path
from threading import Thread

import pytest

import citeforge as cf
from citeforge.builders.rebuild import list_resources
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
    """Answers with the fields of what was posted; the third prompt in vain."""

    bodies: list[dict[str, object]] = []

    def do_POST(self) -> None:
        self.bodies.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
        is_fault = len(self.bodies) == 3
        body = b"overloaded" if is_fault else json.dumps({"output": "Yes [2].", "k": 1}).encode()
        self.send_response(418 if is_fault else 200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Keep the tests' output clean."""


@pytest.fixture
def address() -> Iterator[str]:
    Endpoint.bodies.clear()
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


def test_a_program_that_is_slow_or_missing(inline: Inline, package: Path, tmp_path: Path) -> None:
    (tmp_path / "slow.py").write_text("import time; time.sleep(60)")
    ask = ("--benchmark", package, "--out", "s.jsonl", "--limit", "1")
    slow = inline("run", f"exec:{sys.executable} slow.py", *ask, "--timeout", "0.5")
    assert slow.returncode == 3 and "no answer within 0.5 s (--timeout)" in slow.stderr
    for command, words in (
        ("exec:no-such-program x", "no-such-program: No such file"),
        ("exec", "write exec:COMMAND"),
        ("exec:", "write exec:COMMAND"),
        ("exec:python 'x", "No closing quotation"),
    ):
        missing = inline("run", command, *ask)
        assert missing.returncode == 2 and words in missing.stderr, command


def test_a_server_gets_a_post_a_prompt(
    inline: Inline, package: Path, tmp_path: Path, address: str
) -> None:
    ask = ("--benchmark", package, "--limit", "4", "--concurrency", "1", "--out", "s.jsonl")
    made = inline("run", address, *ask)
    assert made.returncode == 3 and "status 418: 'overloaded'" in made.stderr
    assert list(outputs(tmp_path / "s.jsonl").values()) == ["Yes [2]."] * 3
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
