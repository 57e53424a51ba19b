"""`citeforge run SYSTEM --llm` as a user runs it, against the scripted endpoint."""

import json
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.systems.registry import SYSTEMS
from conftest import ROOT, Inline, refused
from servers.nursery import kill_command
from servers.running import openai_server

KEY = {"OPENAI_API_KEY": "k"}


def header(path: Path) -> dict[str, Any]:
    result: dict[str, Any] = json.loads(path.read_text().splitlines()[0])["submission"]
    return result


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(x) for x in path.read_text().splitlines()[1:]]


def test_rage_asks_what_prompts_writes_and_says_how(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    with openai_server(tmp_path / "log", replies=[["Question:", "It is so [1][2]."]]) as server:
        made = inline.ok(
            *("run", "rage", "--benchmark", package, "--llm", "openai:m", "--out", "s.jsonl"),
            *("--base-url", server.url, "--runs", "2", "--limit", "4", "--max-answer", "64"),
            **KEY,
        )
        asked = {r["text"] for r in server.requests()}
    assert made.stdout == "s.jsonl: 8 answers of rage (openai:m)\n"
    inline("export", "prompts", package, "--out", "p.jsonl")
    prompts = [json.loads(x)["prompt"] for x in (tmp_path / "p.jsonl").read_text().splitlines()]
    assert asked == set(prompts[:4])
    said = header(tmp_path / "s.jsonl")
    manifest = json.loads((package / "manifest.json").read_text())
    assert said["benchmark_hash"] == manifest["benchmark_hash"]
    assert said["contexts"] == ["mix"]
    assert said["llm"] == {"name": "openai:m"}
    assert len(said["prompts"]["rage"]) == 64
    assert said["options"]["max_answer"] == 64
    assert (said["runs"], said["limit"]) == (2, 4)
    rows = lines(tmp_path / "s.jsonl")
    assert [r["run"] for r in rows] == [0] * 4 + [1] * 4
    assert {r["output"] for r in rows} == {"It is so [1][2]."}
    assert cf.check(tmp_path / "s.jsonl", cf.load(package)).errors == []
    assert cf.score(tmp_path / "s.jsonl", package).counts.n_answered == 8


def test_empty_and_cut_replies_are_answers_and_failures_are_counted(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.j2").write_text(
        "{{ query }} {{ '#empty' if 'Which' in query else '#length' }}"
    )
    words = ("--benchmark", package, "--llm", "openai:m", "--template", "mine.j2")
    with openai_server(tmp_path / "log") as server:
        there = ("--base-url", server.url)
        made = inline("run", "rage", *words, "--out", "s.jsonl", *there, **KEY)
        (tmp_path / "mine.j2").write_text("{{ query }} {{ '#filter' if 'Which' in query else '' }}")
        failed = inline("run", "rage", *words, "--out", "f.jsonl", *there, **KEY)
    assert made.returncode == 0, made.stderr
    rows = lines(tmp_path / "s.jsonl")
    empty = sum(not r["output"] for r in rows)
    cut = sum(r.get("finish_reason") == "length" for r in rows)
    assert 0 < empty < 30
    assert cut == 30 - empty
    assert f"({cut} cut at --max-answer 512, {empty} empty)" in made.stdout
    assert failed.returncode == 3, failed.stderr
    assert len(lines(tmp_path / "f.jsonl")) == 30 - empty
    assert f"{empty} queries without an answer; run again" in failed.stderr
    assert "content_filter" in failed.stderr


def test_an_endpoint_that_answers_nothing_is_told_of(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    (tmp_path / "mine.j2").write_text("{{ query }} #filter")
    words = ("--benchmark", package, "--llm", "openai:m", "--template", "mine.j2", "--limit", "2")
    with openai_server(tmp_path / "log") as server:
        made = inline(*("run", "rage", *words, "--out", "s.jsonl", "--base-url", server.url), **KEY)
    assert (made.returncode, made.code) == (3, "no-answers"), made.stderr
    assert "none of 2 prompts has an answer, so nothing is written; query 'q01'" in made.stderr
    assert "content_filter" in made.stderr
    assert not (tmp_path / "s.jsonl").exists()


@pytest.mark.slow
def test_a_killed_run_goes_on(inline: Inline, package: Path, tmp_path: Path) -> None:
    """SIGKILL in the middle: what was answered is not asked again, and the bytes are the same."""
    words = ["run", "rage", "--benchmark", str(package), "--llm", "openai:m", "--concurrency", "2"]
    with openai_server(tmp_path / "log") as server:
        server.answer_up_to(9)
        args = [*words, "--base-url", server.url, "--out", "a.jsonl"]
        kill_command(args, tmp_path, lambda: len(server.requests()) >= 10, **KEY)
        assert not (tmp_path / "a.jsonl").exists()
        server.answer_up_to(None)
        first = len(server.requests())
        inline.ok(*args, **KEY)
        again = len(server.requests()) - first
        assert 30 - 9 <= again <= 30 - 7
        inline.ok(*words, "--base-url", server.url, "--out", "b.jsonl", **KEY)
    assert (tmp_path / "a.jsonl").read_bytes() == (tmp_path / "b.jsonl").read_bytes()
    store = "replay:a.jsonl.replay.db"
    replay = ["run", "rage", "--benchmark", str(package), "--llm", store, "--out", "c.jsonl"]
    inline.ok(*replay)
    assert (tmp_path / "c.jsonl").read_bytes() == (tmp_path / "a.jsonl").read_bytes()


def test_passages_that_do_not_fit_are_dropped_from_the_end_and_counted(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    words = ("run", "rage", "--benchmark", package, "--llm", "openai:m", "--max-answer", "50")
    with openai_server(tmp_path / "log", replies=[["Question:", "Yes [1]."]]) as server:
        there = ("--base-url", server.url, "--limit", "3")
        made = inline(*words, *there, "--window", "450", "--out", "s.jsonl", **KEY)
        texts = [r["text"] for r in server.requests()]
        small = inline(*words, *there, "--window", "100", "--out", "t.jsonl", **KEY)
    assert made.returncode == 0, made.stderr
    dropped = header(tmp_path / "s.jsonl")["counts"]["dropped_from_prompts[passages]"]
    assert f"{dropped} passages dropped" in made.stdout
    inline("export", "prompts", package, "--out", "p.jsonl")
    whole = [json.loads(x)["prompt"] for x in (tmp_path / "p.jsonl").read_text().splitlines()]
    shown, had = (sum(t.count("\n\n[") for t in some) for some in (texts, whole[:3]))
    assert dropped == had - shown > 0
    # A token for every three bytes, eight around the message, fifty for the reply.
    assert all(-(-len(t.encode()) // 3) + 8 + 50 <= 450 for t in texts)
    assert all("[1] " in t and "[9] " not in t for t in texts)
    assert (small.returncode, small.code) == (2, "too-long")
    assert "--window 100: the prompt of query 'q01' with one passage takes" in small.stderr
    assert not (tmp_path / "t.jsonl").exists()


def test_wrong_words_are_told(inline: Inline, package: Path) -> None:
    there = ("--benchmark", package, "--out", "y")
    unknown = inline.fails(2, "unknown-name", "run", "rgae", *there)
    assert "did you mean 'rage'?" in unknown.stderr
    missing = inline("run", "rage", *there)
    assert (missing.returncode, "--llm" in missing.stderr) == (2, True)
    early = inline("run", "--benchmark", package, "random", "--out", "y")
    assert early.returncode == 2
    assert "No such option" in early.stderr


def test_systems_that_cannot_answer(package: Path, tmp_path: Path) -> None:
    for code, system, options in (
        ("no-answers", "gold", {}),
        ("bad-name", "random", {"title": "a\u200bb"}),
        ("unknown-name", "random", {"contexts": ["nix"]}),
        ("wrong-kind", "label-follower", {}),
    ):
        with refused(code, cf.UsageError):
            cf.run(system, package, tmp_path / "s.jsonl", **options)
    assert not (tmp_path / "s.jsonl").exists()


def test_systems_are_listed_with_paper_and_needs(inline: Inline) -> None:
    result = inline.ok("list", "systems")
    assert "RAGE\n  random" in result.stdout
    assert "(RAGE, 4; needs an LLM)" in result.stdout


def test_every_system_stands_in_the_docs() -> None:
    page = (ROOT / "docs" / "systems.md").read_text()
    missing = [name for name in SYSTEMS.all() if f"`{name}`" not in page]
    assert not missing, f"docs/systems.md has no row of {missing}"
