"""`citeforge bench`, and `cf.run` and `cf.bench`, which it calls."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from conftest import EXAMPLES, Inline, refused
from servers.running import openai_server

RIGHT = [["Question:", "It is so [1]."]]


def test_bench_runs_scores_and_compares(inline: Inline, package: Path, tmp_path: Path) -> None:
    with openai_server(tmp_path / "log", replies=RIGHT) as server:
        words = (
            *("bench", "--benchmark", package, "--systems", "rage,echo-relevant"),
            *("--llm", "openai:m", "--base-url", server.url, "--out", "b"),
            *("--measures", "CiteF1"),
        )
        made = inline.ok(*words, OPENAI_API_KEY="k")
        asked = len(server.requests())
        again = inline(*words, OPENAI_API_KEY="k")
        assert len(server.requests()) == asked == 30
    assert again.stdout == made.stdout
    folder = tmp_path / "b"
    for name in ("rage", "echo-relevant"):
        assert cf.check(folder / f"{name}.jsonl", cf.load(package)).errors == []
        scored = json.loads((folder / f"{name}.scores.json").read_text())
        assert scored["counts"]["n_answered"] == 30
    assert "rage (openai:m)" in (folder / "report.html").read_text()
    assert "echo-relevant" in made.stdout
    assert made.stdout.count("echo-relevant") >= 3  # what was run, its scores, its differences
    # The same numbers as by single commands.
    one = cf.score(folder / "rage.jsonl", package, ["CiteF1"])
    many = cf.read_scores(folder / "rage.scores.json")
    assert one.file.measures == many.file.measures


def test_wrong_benches_are_refused_before_anything_is_asked(package: Path, tmp_path: Path) -> None:
    out = tmp_path / "b"
    for systems, options, code, said in (
        (["random", "label-blind"], {}, "wrong-kind", "label-blind"),
        (["random", "random"], {}, "bad-option", "random"),
        ([], {}, "missing-option", "name at least one"),
        (["random"], {"rage": {}}, "bad-option", "options of rage"),
        (["rage"], {"rage": {"k": 3}}, "bad-option", "option k"),
        (["random", "rage"], {}, "missing-option", "give --llm"),
    ):
        with refused(code, cf.UsageError) as caught:
            cf.bench(package, systems, out, options=options)
        assert said in str(caught.value)
    assert not (out / "random.jsonl").exists()


def test_from_python(package: Path, tmp_path: Path) -> None:
    ran = cf.run("echo-relevant", package, tmp_path / "e.jsonl")
    assert ran.answers == 30
    made = cf.bench(package, ["random", "echo-relevant"], tmp_path / "b", measures=["CiteF1"])
    assert [s["CiteF1"].value for s in made.scores][1] == 100
    (difference,) = made.differences
    assert difference.measure == "CiteF1"


@pytest.mark.parametrize("amount", [{"limit": -1}, {"limit": 0}, {"runs": 0}, {"runs": -2}])
def test_amounts_below_one_are_refused(package: Path, tmp_path: Path, amount: Any) -> None:
    (name,) = amount
    with refused("bad-option", cf.UsageError) as caught:
        cf.run("echo-relevant", package, tmp_path / "e.jsonl", **amount)
    assert str(caught.value).startswith(f"{name}: ")
    with refused("bad-option", cf.UsageError):
        cf.bench(package, ["random"], tmp_path / "b", **amount)


def test_a_trial_scores_what_was_asked_alone(package: Path, tmp_path: Path) -> None:
    made = cf.bench(package, ["echo-relevant"], tmp_path / "b", measures=["CiteF1"], limit=3)
    (scored,) = made.scores
    assert scored.file.counts.n_answered == 3
    assert scored["CiteF1"].value == 100  # the 27 others would be missing, and wrong
    assert "|asked:3|" in scored["CiteF1"].signature


def test_all_context_sets_are_asked_and_their_cost_is_said_first(
    inline: Inline, tmp_path: Path
) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    sets = ("few=1,1,0", "many=1,2,2")
    recipe = cf.RageRecipe(source=source, candidates="bm25", mixtures=sets)
    cf.build(recipe, tmp_path / "two")
    with openai_server(tmp_path / "log", replies=RIGHT) as server:
        words = (
            *("bench", "--benchmark", "two", "--systems", "rage,random", "--llm", "openai:m"),
            *("--base-url", server.url, "--out", "b", "--limit", "3", "--price", "1000000,0"),
            *("--measures", "CiteF1"),
        )
        first = inline(*words, OPENAI_API_KEY="k")
        assert len(server.requests()) == 2 * 3
        again = inline(*words, OPENAI_API_KEY="k")
        assert len(server.requests()) == 2 * 3
    assert first.returncode == again.returncode == 0, first.stderr
    said = re.search(
        r"^asking rage for 6 answers \(context sets: few, many\); first round: requests 6, "
        r"answered by store 0, calls to make 6, prompt tokens about ([\d,]+); at most [\d,]+ "
        r"\(a token per byte\), completion tokens about [\d,]+ "
        r"\(replies of usual length, without thoughts\); at most [\d,]+, "
        r"cost about ([\d,.]+); at most [\d,.]+$",
        first.stderr,
        re.MULTILINE,
    )
    assert said is not None, first.stderr
    tokens, cost = (float(text.replace(",", "")) for text in said.groups())
    assert tokens > 0
    assert cost == tokens  # a million for a million tokens of prompts, and replies for nothing
    assert "answered by store 6, calls to make 0, prompt tokens about 0" in again.stderr
    names = {path.name for path in (tmp_path / "b").glob("*.scores.json")}
    assert names == {f"{s}.{c}.scores.json" for s in ("rage", "random") for c in ("few", "many")}
