"""Every command that pays: its dry run asks nothing and counts every model; its end tells the cost.

One table of all commands that ask an LLM or a judge.
"""

import json
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import click
import pytest
import yaml
from msgspec.json import encode

from citeforge.cli.commands import one_line_helps
from citeforge.cli.main import cli
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.submission import make_header
from conftest import EXAMPLES, Inline, Ran
from servers.provider import Body, Sent, chat, provider

pytestmark = pytest.mark.usefixtures("key")
KEY = {"OPENAI_API_KEY": "sk-test-0123456789abcdef"}
PAIRS = '{"premise": "A bridge.", "hypothesis": "A."}\n{"premise": "B.", "hypothesis": "C."}\n'
SUBMISSION = ("a.jsonl", "--benchmark", "facts")
JUDGE = ("--judge", "openai:judge")
DOCUMENTS = "The pump runs at 20 degrees. " * 12
BUILD_DOCUMENTS = ("build", "documents", "--source", "folder:docs", "--llm", "openai:writer")

TABLE: dict[str, tuple[tuple[object, ...], dict[str, bool]]] = {
    "llm run": (("llm", "run", "p.jsonl", "--llm", "openai:writer"), {"writer": True}),
    "run": (
        ("run", "rage", "--benchmark", "facts", "--context", "mix", "--limit", 2,
         "--llm", "openai:writer"),
        {"writer": True},
    ),
    "run with a judge": (
        ("run", "rage", "--benchmark", "facts", "--context", "mix", "--limit", 2, "--rerank", 2,
         "--temperature", 1, "--llm", "openai:writer", *JUDGE),
        {"writer": True, "judge": False},
    ),
    "bench": (
        ("bench", "--benchmark", "facts", "--systems", "rage,random", "--llm", "openai:writer",
         "--context", "mix", "--limit", 2, "--measures", "ALCE.CitRec", *JUDGE),
        {"writer": True, "judge": False},
    ),
    "score": (("score", *SUBMISSION, *JUDGE, "--measures", "ALCE.CitRec"), {"judge": False}),
    "score with marks": (
        ("score", "k.jsonl", "--benchmark", "kalma", "--context", "full", "--llm", "openai:writer",
         "--measures", "GEval.coherence"),
        {"writer": True},
    ),
    "labels judge": (("labels", "judge", "pairs.jsonl", *JUDGE), {"judge": True}),
    "labels calibrate": (
        ("labels", "calibrate", "facts", "--labels", "labels.jsonl", *JUDGE), {"judge": True}
    ),
    "labels meta-eval": (
        ("labels", "meta-eval", "--labels", "labels.jsonl", *JUDGE), {"judge": True}
    ),
    "labels plan": (("labels", "plan", *SUBMISSION, *JUDGE, "--half-width", 5), {"judge": False}),
    "audit": (("audit", "facts", *JUDGE, "--strong-judge", "openai:strong"), {"strong": False}),
    "leaderboard add": (
        ("leaderboard", "add", "a.jsonl", "--boards", "board"), {"judge": False}
    ),
    "build rage": (
        ("build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--licence", "apache-2.0",
         "--mixture", "mix=1,1,1", "--embedder", "openai:embedder"),
        {"embedder": True},
    ),
    "build alce": (
        ("build", "alce", "--source", f"alce:{EXAMPLES / 'answers' / 'asqa.json'}", "--k", 2,
         "--licence", "mit", "--llm", "openai:writer", "--condense", "summary"),
        {"writer": True},
    ),
    "build alce with claims": (
        ("build", "alce", "--source", "alce:eli5.json", "--k", 2,
         "--licence", "mit", *JUDGE, "--oracle"),
        {"judge": True},
    ),
    "build kalma": (
        ("build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}", "--pairs-from-kg",
         "father", "--max-facts", 5, "--licence", "cc0-1.0", "--writer", "openai:writer",
         "--checker", "openai:checker", "--perplexity", "openai:perplexity", *JUDGE),
        {"writer": False, "checker": False, "perplexity": False, "judge": False},
    ),
    "build documents": (
        (*BUILD_DOCUMENTS, "--queries", 2, "--licence", "cc0-1.0", *JUDGE,
         "--embedder", "openai:embedder"),
        {"writer": False, "judge": False, "embedder": False},
    ),
    "build twins": (
        ("build", "twins", "--benchmark", "facts", "--llm", "openai:writer", *JUDGE),
        {"writer": False, "judge": False},
    ),
}  # fmt: skip
"""Command, and its models with whether "about" is exactly what a server that answers well is asked
for."""
BUILDS_AT_LENGTH = ("build twins",)


def reply(body: Body) -> Sent:
    """Answers as a useful model would; also embeddings and log probabilities."""
    if "input" in body:
        data = [
            {
                "object": "embedding",
                "index": i,
                "embedding": [float(len(t)), 1.0, float(ord(t[-1]))],
            }
            for i, t in enumerate(body["input"])
        ]
        usage = {"prompt_tokens": 10, "total_tokens": 10}
        return Sent({"object": "list", "data": data, "model": "e", "usage": usage})
    if "prompt" in body:
        logprobs = {"token_logprobs": [None, -1.0, -1.0], "text_offset": None}
        choice = {"index": 0, "text": "", "logprobs": logprobs, "finish_reason": "stop"}
        return Sent({"choices": [choice], "usage": {"prompt_tokens": 10, "completion_tokens": 1}})
    if body["model"] in ("judge", "strong"):
        return chat('{"entailed": true}')
    return chat("4" if body["max_tokens"] < 5000 and "mark" in str(body) else "It is 5 [1].")


@pytest.fixture
def folder(tmp_path: Path, package: Path, kalma_package: Path, inline: Inline) -> Path:
    """All that the commands of the table read."""
    shutil.copytree(package, tmp_path / "facts")
    shutil.copytree(kalma_package, tmp_path / "kalma")
    opened = Benchmark(package)
    lines = [
        {"query_id": q, "context": "mix", "output": "It opened [1]. It is long [2][3]."}
        for q in opened.query_ids
    ]
    header = make_header("s", opened.manifest.name, opened.manifest.benchmark_hash, ["mix"])
    rows: list[Any] = [header, *lines]
    (tmp_path / "a.jsonl").write_text("".join(encode(row).decode() + "\n" for row in rows))
    graph = Benchmark(kalma_package)
    answers = ({"query_id": q, "context": "full", "output": "He was her father."}
               for q in graph.query_ids)  # fmt: skip
    (tmp_path / "k.jsonl").write_text("".join(json.dumps(row) + "\n" for row in answers))
    (tmp_path / "p.jsonl").write_text('{"query_id": "q1", "prompt": "x"}\n')
    (tmp_path / "pairs.jsonl").write_text(PAIRS)
    claims = [
        {"claim": f"It opened in {n}.", "support": support, "evidence": [f"Opened in {n}."]}
        for n, support in enumerate(("Complete", "Incomplete") * 5)
    ]
    labels = [
        {"question": f"q{n}", "system": "a", "answer": "", "claims": [claim]}
        for n, claim in enumerate(claims)
    ]
    (tmp_path / "labels.jsonl").write_text("".join(json.dumps(row) + "\n" for row in labels))
    items = json.loads((EXAMPLES / "answers" / "asqa.json").read_text())
    for number, item in enumerate(items):
        item.pop("qa_pairs"), item.pop("annotations", None)
        item["claims"] = [f"Claim {n} of {number}." for n in range(3)]
    (tmp_path / "eli5.json").write_text(json.dumps(items))
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "pump.txt").write_text(DOCUMENTS)
    inline.ok("leaderboard", "init", "board", "--benchmark", "facts=facts")
    config = tmp_path / "board" / "leaderboard.yaml"
    boards = yaml.safe_load(config.read_text())
    boards["boards"][0]["score"] = {"judge": "openai:judge", "measures": ["ALCE.CitRec"]}
    config.write_text(yaml.safe_dump(boards))
    return tmp_path


def planned(ran: Ran) -> tuple[dict[str, int], float, float]:
    """Calls of each model that a dry run announces, and the cost: about, and at most."""
    assert ran.returncode == 0, ran.stdout + ran.stderr
    parts = {m[1]: int(m[2].replace(",", "")) for m in
             re.finditer(r"(\w+): ([\d,]+) calls?, at most", ran.stdout)}  # fmt: skip
    calls = re.search(r"calls to make +([\d,]+)", ran.stdout)
    costs = re.search(r"cost +about ([\d,.]+).*at most ([\d,.]+)", ran.stdout)
    assert calls and costs, ran.stdout
    total = {"": int(calls[1].replace(",", ""))}
    about, most = (float(text.replace(",", "")) for text in costs.groups())
    return parts or total, about, most


@pytest.mark.parametrize("name", [
    pytest.param(n, marks=pytest.mark.slow if n in BUILDS_AT_LENGTH else ()) for n in TABLE
])  # fmt: skip
def test_a_dry_run_counts_every_model_and_the_end_tells_the_cost(
    name: str, folder: Path, inline: Inline
) -> None:
    words, models = TABLE[name]
    out = () if name.startswith(("audit", "labels calibrate", "labels meta", "leaderboard")) else (
        ("--out", "out.jsonl" if words[0] in ("llm", "run") or "judge" in words else "out")
    )  # fmt: skip
    with provider(reply) as server:
        there = ("--base-url", server.url, "--price", "1000000,1000000")
        before = sorted(folder.rglob("*"))
        parts, about, most = planned(inline(*words, *there, "--dry-run", **KEY))
        assert server.bodies == []
        assert sorted(folder.rglob("*")) == before
        done = inline(*words, *there, *out, **KEY)
        asked = Counter(body["model"] for body in server.bodies)
    assert set(asked) <= set(models), done.stderr
    if len(models) > 1:
        assert {who for who, n in parts.items() if n} == set(models)
    else:
        assert about > 0
    for model, is_exact in models.items():
        n = parts.get(model, parts.get("", 0))
        assert not is_exact or asked[model] == n, (model, asked, parts, done.stderr)
    cost = re.search(r"^cost ([\d.]+)(?: \(.*: ([\d,]+) calls?\b|: no call was)", done.stderr, re.M)
    assert cost, done.stderr
    assert int((cost[2] or "0").replace(",", "")) == sum(asked.values())
    assert float(cost[1]) <= most


def commands(group: click.Group, words: tuple[str, ...] = ()) -> list[tuple[str, click.Command]]:
    """All commands below a group, with their words."""
    context, found = click.Context(group), []
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        if isinstance(command, click.Group):
            found += commands(command, (*words, name))
        else:
            found.append((" ".join((*words, name)), command))
    return found


def test_every_command_that_takes_a_price_has_a_dry_run() -> None:
    found = [one for name in one_line_helps() for one in commands(
        click.Group(commands={name: cli.get_command(click.Context(cli), name)})  # type: ignore[dict-item]
    )]  # fmt: skip
    priced = {name: {p.name for p in command.params} for name, command in found
              if any(p.name == "max_cost" for p in command.params)}  # fmt: skip
    assert {"score", "audit", "bench", "llm run", "labels plan", "build alce"} <= set(priced)
    without = {name for name, names in priced.items()
               if not {"dry_run", "price", "max_cost", "same_server"} <= names}  # fmt: skip
    assert without == set()


@pytest.mark.parametrize("words", [
    ("llm", "run", "p.jsonl", "--llm", "openai:writer"),
    ("run", "rage", "--benchmark", "facts", "--limit", 1, "--llm", "openai:writer"),
    ("score", *SUBMISSION, *JUDGE, "--measures", "ALCE.CitRec"),
    ("labels", "judge", "pairs.jsonl", *JUDGE),
    ("labels", "plan", *SUBMISSION, *JUDGE, "--half-width", 5),
], ids=lambda words: " ".join(words[:2]))  # fmt: skip
def test_an_output_that_cannot_be_written_is_noticed_before_anything_is_paid(
    words: tuple[object, ...], folder: Path, inline: Inline
) -> None:
    (folder / "file").touch()
    with provider(reply) as server:
        done = inline(*words, "--base-url", server.url, "--store", "s.db", "--out", "file/x.json",
                      **KEY)  # fmt: skip
        assert (done.returncode, done.code) == (1, "storage"), done.stderr
        assert server.bodies == []


@pytest.mark.parametrize("words", [
    ("score", *SUBMISSION, *JUDGE, "--measures", "ALCE.CitRec"),
    ("labels", "judge", "pairs.jsonl", *JUDGE),
    ("labels", "meta-eval", "--labels", "labels.jsonl", *JUDGE),
    ("labels", "plan", *SUBMISSION, *JUDGE, "--half-width", 5),
    ("audit", "facts", *JUDGE, "--strong-judge", "openai:strong"),
], ids=lambda words: " ".join(words[:2]))  # fmt: skip
def test_a_batch_needs_a_store_and_takes_that_of_verdicts(
    words: tuple[object, ...], folder: Path, inline: Inline
) -> None:
    there = ("--base-url", "http://127.0.0.1:9/v1", "--price", "1,1", "--batch", "--dry-run")
    without = inline(*words, *there, **KEY)
    assert (without.returncode, without.code) == (2, "missing-option")
    assert "--batch requires --store" in without.stderr
    done = inline(*words, *there, "--verdicts", "v.db", **KEY)
    assert done.returncode == 0, done.stderr
    assert "(batches: 0.5 of --price)" in done.stdout
    assert not (folder / "v.db").exists()
