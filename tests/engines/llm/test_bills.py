"""Bills of --dry-run: what is announced bounds what is asked, however bad the replies are."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from citeforge.builders.authorship.checks import twin_request
from citeforge.builders.kalma.plan import _CheckRecorder, _RequestRecorder
from citeforge.engines.llm.budget import USUAL_ANSWER, estimate_call
from citeforge.engines.llm.records import Request
from citeforge.engines.llm.writers import TemplateWriter
from conftest import EXAMPLES, Inline, Ran
from servers.provider import Behaviour, Provider, chat, provider

pytestmark = pytest.mark.usefixtures("key")
KEY = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
USELESS = "No."


def announced(done: Ran) -> tuple[int, int, float, float]:
    """Calls and costs of a bill: if every first reply is taken, and at most."""
    assert done.returncode == 0, done.stderr
    calls = re.search(r"calls to make +([\d,]+)(?:.*at most ([\d,]+))?\n", done.stdout)
    costs = re.search(r"cost +about ([\d,.]+).*at most ([\d,.]+)", done.stdout)
    assert calls and costs, done.stdout
    numbers = [float(t.replace(",", "")) for t in (calls[1], calls[2] or calls[1], *costs.groups())]
    return int(numbers[0]), int(numbers[1]), numbers[2], numbers[3]


def made(server: Provider) -> tuple[int, float]:
    """Calls that were made, and their cost at a million per million tokens of chat()'s usage."""
    return len(server.bodies), 15.0 * len(server.bodies)  # 10 and 5 tokens each


def bill(
    inline: Inline, words: tuple[object, ...], behave: Behaviour, out: str
) -> tuple[tuple[int, int, float, float], tuple[int, float]]:
    with provider(behave) as server:
        there = ("--base-url", server.url, "--price", "1000000,1000000")
        plan = announced(inline(*words, *there, "--dry-run", **KEY))
        assert server.bodies == []
        inline(*words, *there, "--out", out, **KEY)
        return plan, made(server)


@pytest.mark.slow
def test_twins(inline: Inline, package: Path) -> None:
    """Every passage in three attempts, and every negative in place of one that failed."""
    words = ("build", "twins", "--benchmark", package, "--llm", "openai:m")
    (about, most, _, cost), (n, paid) = bill(inline, words, lambda body: chat(USELESS), "t")
    assert about < n <= most
    assert paid <= cost


def test_kalma(inline: Inline) -> None:
    graph = EXAMPLES / "people" / "graph.ttl"
    words = ("build", "kalma", "--kg", f"file:{graph}", "--pairs-from-kg", "father",
             "--max-facts", 5, "--licence", "cc0-1.0", "--writer", "openai:m", "--nearest",
             "none")  # fmt: skip
    (about, most, _, cost), (n, paid) = bill(inline, words, lambda body: chat(USELESS), "k")
    # Nothing but the seeds is asked for, three times each. A whole build asks for a seed, an
    # annotation, 3 to 5 facts (of 4 to 5, one of which may be the link) and two questions a pair.
    pairs = n // 3
    assert n % 3 == 0 and pairs * (2 + 3 + 2) <= about <= pairs * (2 + 5 + 2)
    assert n <= most
    assert paid <= cost
    # Seed, annotation, two questions, and 1 to 5 facts left in 5 rounds: three attempts at each.
    assert most == pairs * 3 * (4 + (1 + 2 + 3 + 4 + 5))


def test_the_bound_of_kalma_counts_whole_tokens_and_says_what_it_counts(inline: Inline) -> None:
    graph = EXAMPLES / "people" / "graph.ttl"
    words = ("build", "kalma", "--kg", f"file:{graph}", "--pairs-from-kg", "father", "--limit", 2,
             "--licence", "cc0-1.0", "--writer", "openai:m", "--checker", "openai:c",
             "--judge", "openai:j", "--dry-run", "--price", "1,2")  # fmt: skip
    plan = inline.ok(*words, "--base-url", "http://127.0.0.1:9/v1", **KEY).stdout
    assert not re.search(r"tokens .*\d\.\d", plan)
    assert "at most: 8 facts per question, and in each round all attempts at all facts" in plan
    calls = re.search(r"writer openai:m: (\d+) calls, at most (\d+);", plan)
    assert calls and f"if every text takes all 3 attempts: {3 * int(calls[1])} calls, cost" in plan
    # 8 rounds with 8 to 1 facts left, of which five are tried at most.
    n_extensions = 5 + 5 + 5 + 5 + 4 + 3 + 2 + 1
    assert int(calls[2]) == 2 * 3 * (4 + n_extensions)
    # Two entailments of each, three times at most.
    assert f"at most {2 * 3 * n_extensions * 2 * 3:,};" in plan.split("judge openai:j")[1]
    # Controls are checked twice at most, and two forms of two questions at three attempts.
    checks = re.search(r"checker openai:c: (\d+) calls, at most (\d+);", plan)
    assert checks and int(checks[2]) == 2 * int(checks[1]) + 2 * 2 * 2 * 3


def test_replies_are_estimated_as_long_as_the_template_and_the_passage() -> None:
    """A reply is counted at four characters a token, and one for its end."""
    text = "The bridge was built in 1932. " * 10  # 300 characters
    twin = twin_request("Bridge", text, 0.1, 0)
    assert estimate_call(twin.payload("m"), twin.usual_reply).completion_tokens == 300 // 4 + 1
    question = "Where was Ada Lovelace born, and when did she die?"  # 50 characters
    recorder = _RequestRecorder("openai:m", TemplateWriter({"specific": "{{ question }}"}))
    values = {"question": question, "facts": [], "paragraph": "", "link": "", "again": ""}
    asked = Request((("user", "Ask."),), {"max_tokens": 200}, 0, task="specific", values=values)
    recorder.complete([asked])
    checker = _CheckRecorder("openai:m")
    checker.complete([replace(asked, values={"facts": "1. birth\n2. death"})])
    for request, reply in (
        (recorder.requests[0], question),
        (checker.requests[0], '{"asked": [1, 2], "other": []}'),
    ):
        assert request.usual_reply == reply
        bound = estimate_call(request.payload("m"), request.usual_reply)
        assert (bound.calls, bound.completion_tokens) == (1, len(reply) // 4 + 1)
    # A reply has no more tokens than the request allows; nothing known is the usual answer.
    short = replace(twin, params={"max_tokens": 20})
    assert estimate_call(short.payload("m"), short.usual_reply).completion_tokens == 20
    assert estimate_call(twin.payload("m")).completion_tokens == min(USUAL_ANSWER, 64 + 300 // 2)


def test_a_judge(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "pairs.jsonl").write_text(
        '{"premise": "A bridge.", "hypothesis": "A."}\n{"premise": "B.", "hypothesis": "C."}\n'
    )
    words = ("labels", "judge", "pairs.jsonl", "--judge", "openai:m")
    (about, most, _, cost), (n, paid) = bill(inline, words, lambda body: chat("Hm."), "v.jsonl")
    assert (about, most, n) == (2, 6, 6)
    assert paid <= cost


@pytest.mark.parametrize("system", ["rage", "interact"])
def test_a_system(inline: Inline, package: Path, system: str) -> None:
    words = ("run", system, "--benchmark", package, "--context", "mix", "--limit", 3)
    words = (*words, "--llm", "openai:m")
    (about, most, _, cost), (n, paid) = bill(inline, words, lambda body: chat(USELESS), "s.jsonl")
    assert about <= n <= most
    assert paid <= cost


def test_a_bench(inline: Inline, package: Path) -> None:
    words = ("bench", "--benchmark", package, "--systems", "rage,random", "--llm", "openai:m")
    words = (*words, "--context", "mix", "--limit", 2, "--measures", "CiteF1")
    there = ("--base-url", "http://127.0.0.1:9/v1", "--price", "1,1")
    assert announced(inline(*words, *there, "--dry-run", **KEY))[:2] == (2, 2)


def test_without_a_price_the_line_says_what_to_type(inline: Inline, package: Path) -> None:
    done = inline("run", "rage", "--benchmark", package, "--llm", "openai:m", "--dry-run",
                  "--base-url", "http://127.0.0.1:9/v1", **KEY)  # fmt: skip
    assert "cost               add --price IN,OUT (per million tokens), e.g. --price" in done.stdout
    wrong = inline("run", "random", "--benchmark", package, "--dry-run")
    assert wrong.returncode == 2


def test_a_build_on_stored_bad_replies_says_how_to_ask_again(
    inline: Inline, tmp_path: Path
) -> None:
    graph = EXAMPLES / "people" / "graph.ttl"
    words = ("build", "kalma", "--kg", f"file:{graph}", "--pairs-from-kg", "father",
             "--licence", "cc0-1.0", "--writer", "openai:m", "--nearest", "none",
             "--out", "k")  # fmt: skip
    with provider(lambda body: chat(USELESS)) as server:
        first = inline(*words, "--base-url", server.url, **KEY)
        n = len(server.bodies)
        again = inline(*words, "--base-url", server.url, **KEY)
        assert len(server.bodies) == n
    assert (first.code, again.code) == ("no-queries", "no-queries")
    assert "to ask again" not in first.stderr
    assert f"{n:,} replies came from k.replay.db: to ask again, " in again.stderr
    assert str(graph) not in again.stderr
