"""`build twins`: retries, replacements, drops, replay, kills."""

import json
import math
import runpy
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.builders.authorship.checks import Checker
from citeforge.builders.authorship.roles import Parser
from citeforge.builders.authorship.twins import build_twins, twin_stats
from citeforge.builders.derive import Base
from citeforge.builders.rage.build import build_rage
from citeforge.builders.verify import verify
from citeforge.engines.llm.records import Failure, Request
from citeforge.package.manifest import load_intact
from citeforge.schemas.recipes.twins import Attempts
from conftest import ROOT, Inline, offline_embedder, refused, write_beir
from servers.nursery import kill_command
from servers.running import openai_server
from stand_ins import RuleLlm, turned

# Words are only turned round: figures and names stay, and nothing looks like a copy.
TEXTS = {
    f"p{i}": f"Here passage {i} speaks at some length of the topic that it was given."
    for i in range(9)
}


def scripted(script: dict[tuple[int, int], str | Failure] | None = None) -> RuleLlm:
    """A writer whose replies are in the test, by passage number and attempt; else words turned."""

    def reply(request: Request) -> str | Failure:
        twin = turned(request.values["text"])
        return (script or {}).get((number(request), request.sample), twin)

    return RuleLlm(reply, "scripted")


def number(request: Request) -> int:
    """Number of the passage whose twin is asked for."""
    return int(request.values["text"].split()[2])


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two queries; q1 shows p0 and three of the negatives, q2 shows p1 and three."""
    folder = tmp_path_factory.mktemp("base")
    beir = write_beir(
        folder / "beir",
        TEXTS,
        {"q1": "What of passage 0?", "q2": "What of passage 1?"},
        [("q1", "p0", 1), ("q2", "p1", 1)],
    )
    recipe = cf.RageRecipe(
        source=f"beir:{beir}",
        embedder="offline",
        mining={"seemingly_relevant": 4, "irrelevant": 2},
        mixtures=("list=1,0,3",),
    )
    out = folder / "rage"
    build_rage(recipe, cf.RunOptions(out=out), offline_embedder())
    return out


def shown(folder: Path, query: str) -> list[str]:
    return [d["corpus-id"] for d in Base(folder).shown_passages("list")[query]]


def build(base: Path, out: Path, llm: RuleLlm, **recipe: Any) -> Any:
    return build_twins(
        cf.TwinsRecipe(benchmark=base, llm="scripted", **recipe), cf.RunOptions(out=out), llm
    )


def test_every_shown_passage_gets_one_twin(base: Path, tmp_path: Path) -> None:
    llm = scripted()
    manifest = build(base, tmp_path / "t", llm)
    assert verify(tmp_path / "t") == []
    result = Base(tmp_path / "t")
    named = {p for q in ("q1", "q2") for p in shown(base, q)}
    rows = result.twins.to_pylist()
    assert {r["_id"] for r in rows} == named
    texts = result.texts([r["twin_id"] for r in rows])
    for row in rows:
        assert texts[row["twin_id"]][1] == turned(TEXTS[row["_id"]])
        assert (row["author"], row["attempts"], row["accepted"]) == ("scripted", 1, True)
        assert row["prompt_sha256"] == manifest.config["prompts"]["twin"]
    # The setting is what --parser takes; the version is beside it.
    parser = Parser("auto")
    assert manifest.config["parser"] == (parser.model or "none")
    assert manifest.config["parsed_by"] == parser.name
    assert len(llm.asked) == len(named)  # one request a passage, also when two queries show it
    assert {r.params["temperature"] for r in llm.asked} == {0.1}
    assert shown(tmp_path / "t", "q1") == shown(base, "q1")


def test_a_failing_twin_is_asked_again_at_a_higher_temperature(base: Path, tmp_path: Path) -> None:
    llm = scripted({(0, 0): "Sure! No.", (0, 1): Failure("truncated", "cut")})
    build(base, tmp_path / "t", llm)
    asked = [(r.sample, r.params["temperature"]) for r in llm.asked if number(r) == 0]
    assert asked == [(0, 0.1), (1, 0.4), (2, 0.7)]
    row = next(r for r in Base(tmp_path / "t").twins.to_pylist() if r["_id"] == "p0")
    assert (row["attempts"], row["temperature"], row["accepted"]) == (3, 0.7, True)


def never(number: int) -> dict[tuple[int, int], str | Failure]:
    return {(number, attempt): "No." for attempt in range(3)}


def test_a_failing_negative_gives_way_to_the_next_one_of_its_query(
    base: Path, tmp_path: Path
) -> None:
    victim = next(p for p in shown(base, "q1") if p != "p0" and p not in shown(base, "q2"))
    manifest = build(base, tmp_path / "t", scripted(never(int(victim[1:]))))
    before, after = shown(base, "q1"), shown(tmp_path / "t", "q1")
    new = [a for b, a in zip(before, after, strict=True) if b != a]
    assert len(new) == 1
    negatives = [d["corpus-id"] for d in Base(base).negatives["q1"]]
    # The next in the query's list that was not shown yet, in the very same place.
    expected = next(n for n in negatives if n not in before)
    assert new == [expected]
    assert before.index(victim) == after.index(expected)
    assert shown(tmp_path / "t", "q2") == shown(base, "q2")
    assert manifest.counts["passages_replaced"] == 1
    assert manifest.counts["passages_of_failed_twins"] == 1
    assert verify(tmp_path / "t") == []


def test_a_query_whose_relevant_passage_fails_is_dropped_and_counted(
    base: Path, tmp_path: Path, inline: Inline
) -> None:
    manifest = build(base, tmp_path / "t", scripted(never(0)))
    assert manifest.counts["queries_of_failed_twins_dropped"] == 1
    assert Base(tmp_path / "t").query_ids == ["q2"]
    assert verify(tmp_path / "t") == []
    kept = build(base, tmp_path / "k", scripted(never(0)), keep_failed=True)
    assert kept.counts["queries_of_failed_twins_kept"] == 1
    row = next(r for r in Base(tmp_path / "k").twins.to_pylist() if r["_id"] == "p0")
    assert not row["accepted"]
    assert row["twin_id"]
    assert "length" in row["failed"]
    rejected = f"rejected (attempts: 3): {'; '.join(row['notes'])}"
    for words in ("t",), ("k",), ("k", "--query", "q1"):
        page = inline("show", *words).stdout
        assert rejected in " ".join(page.split())
        assert ("1 passage without an accepted twin:\n  p0: " in page) == (words[-1] != "q1")
    assert f"twin ({row['twin_id']}): No.\n" in page
    assert verify(tmp_path / "k") == []
    stats = json.loads((tmp_path / "k" / "stats.json").read_text())
    n = len(Base(tmp_path / "k").twins)
    assert stats["twin_checks_passed_share[length]"] == round((n - 1) / n, 4)
    assert stats["twin_checks_passed_share[copy]"] == 1.0
    assert "twin_checks_passed_share[entailment]" not in stats  # nobody judged


def test_when_nothing_passes_the_build_stops_and_leaves_nothing(base: Path, tmp_path: Path) -> None:
    script = {(n, a): "No." for n in range(9) for a in range(3)}
    with refused("no-queries") as caught:
        build(base, tmp_path / "t", scripted(script))  # type: ignore[arg-type]
    assert "length" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_example_store_fits_the_prompt() -> None:
    """Run examples/twins/make_store.py again when this fails."""
    script = runpy.run_path(str(ROOT / "examples" / "twins" / "make_store.py"))
    assert script["replay_text"]() == (ROOT / "examples" / "twins" / "replay.jsonl").read_text()


def test_twins_of_the_quick_start(
    package: Path, twins_package: Path, inline: Inline, tmp_path: Path
) -> None:
    assert verify(twins_package) == []
    rows = {r["_id"]: r for r in Base(twins_package).twins.to_pylist()}
    assert all(r["accepted"] for r in rows.values())
    # texts.jsonl holds a copy, a preamble and an overlong text as first attempts on purpose.
    texts = (ROOT / "examples/twins/texts.jsonl").read_text().splitlines()
    twice = {r["_id"] for r in map(json.loads, texts) if len(r["attempts"]) == 2}
    assert {i for i, r in rows.items() if r["attempts"] == 2} == twice & set(rows)
    assert len(twice & set(rows)) >= 2
    words = ("--llm", f"replay:{twins_package.parent / 'kept.db'}", "--temperature", "0.2")
    inline.fails(
        1, "not-stored", "build", "twins", "--benchmark", package, *words, "--out", "other"
    )


KEY = {"OPENAI_API_KEY": "sk-test"}


def asking(base: Path, url: str, out: Path) -> list[str]:
    """The command whose writer is a served model."""
    return [
        *("build", "twins", "--benchmark", str(base)),
        *("--llm", "openai:m", "--base-url", url, "--out", str(out)),
        *("--attempts", "2", "--keep-failed", "--concurrency", "1", "--resume"),
    ]


def test_replies_of_a_build_that_was_cut_off_are_not_asked_for_again(
    base: Path, tmp_path: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It ends after the first replies, and goes on to the package of an undisturbed build."""

    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    with openai_server(tmp_path / "log") as server:
        words = asking(base, server.url, tmp_path / "cut")
        with monkeypatch.context() as patch:
            patch.setattr(Checker, "check", cut)
            assert inline(*words, **KEY).returncode == 130
        before = len(server.requests())
        assert before > 0
        inline.ok(*words, **KEY)
        bodies = [r["body"] for r in server.requests()]
        assert len(bodies) == len(set(bodies)) > before
        inline.ok(*asking(base, server.url, tmp_path / "calm"), **KEY)
    hashes = {load_intact(tmp_path / name).benchmark_hash for name in ("cut", "calm")}
    assert len(hashes) == 1


@pytest.mark.slow
def test_killed_while_asking_and_built_again_nothing_is_paid_for_twice(
    base: Path, tmp_path: Path, inline: Inline
) -> None:
    """SIGKILL of the real command after some requests; the rest is asked once, the package is
    the one of an undisturbed build."""
    with openai_server(tmp_path / "log") as server:
        server.answer_up_to(4)
        words = asking(base, server.url, tmp_path / "killed")
        kill_command(words, tmp_path, lambda: len(server.requests()) >= 4, **KEY)
        before = [r["body"] for r in server.requests()]
        server.answer_up_to(None)
        inline.ok(*words, **KEY)
        bodies = [r["body"] for r in server.requests()]
    assert not (tmp_path / "killed.partial").exists()
    # Only the request in flight at the kill may have been asked again.
    assert len(bodies) - len(set(bodies)) <= 1
    assert 4 <= len(before) < len(set(bodies))
    with openai_server(tmp_path / "log2", latency=0.0) as server:
        inline.ok(*asking(base, server.url, tmp_path / "calm"), **KEY)
    one, two = (load_intact(tmp_path / n) for n in ("killed", "calm"))
    assert one.files.keys() == two.files.keys()
    assert one.benchmark_hash == two.benchmark_hash


def test_acceptance_by_check() -> None:
    """Of three written twins one is too short and lacks a name; of the two left one is judged to
    say something else; the fourth passage has no twin."""
    likeness = {"attempts": 1, "edit_similarity": 0.5, "ngram_overlap": 0.2}
    rows = [
        {"failed": [], "length_ratio": 1.0},
        {"failed": ["length", "entities"], "length_ratio": 0.2},
        {"failed": ["entailment"], "length_ratio": 0.9},
        {"failed": ["answer from the writer"], "length_ratio": math.nan},
    ]
    table = pa.Table.from_pylist([{**likeness, **r, "accepted": not r["failed"]} for r in rows])
    stats = twin_stats(table, judged=True)
    assert stats["twins_accepted_share"] == 1 / 4
    assert stats["twin_checks_passed_share[length]"] == round(2 / 3, 4)
    assert stats["twin_checks_passed_share[entities]"] == round(2 / 3, 4)
    assert stats["twin_checks_passed_share[copy]"] == 3 / 3
    assert stats["twin_checks_passed_share[entailment]"] == 1 / 2
    assert "twin_checks_passed_share[entailment]" not in twin_stats(table, judged=False)


def test_attempts_raise_the_temperature() -> None:
    attempts = Attempts(limit=3, temperature=0.1, step=0.3)
    assert [attempts.get_temperature(i) for i in range(3)] == [0.1, 0.4, 0.7]


def test_a_dry_run_needs_no_folder(inline: Inline, package: Path, tmp_path: Path) -> None:
    args = ("build", "twins", "--benchmark", package, "--llm", "openai:m")
    there = ("--base-url", "http://127.0.0.1:9/v1", "--price", "1,2")
    plan = inline.ok(*args, *there, "--dry-run", "--store", "s.db", OPENAI_API_KEY="k")
    assert "cost " in plan.stdout
    assert list(tmp_path.iterdir()) == []  # nothing is made
    result = inline.fails(2, "missing-option", *args, *there, OPENAI_API_KEY="k")
    assert "--out" in result.stderr
