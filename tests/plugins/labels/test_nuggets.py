"""`labels propose nuggets`: an LLM lists facts, people edit the sheet, `score` reads it."""

import csv
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.engines.llm.records import Failure, LlmReply, Request, Result
from citeforge.plugins.labels.nuggets import (
    NuggetWriter,
    ProposedNuggets,
    Topic,
    propose_nuggets,
    read_topics,
)
from citeforge.plugins.labels.options import NuggetOptions
from citeforge.plugins.trec.assessments import read_assessments
from conftest import Inline, refused
from servers.running import openai_server

LISTED = json.dumps({"nuggets": ["=Honey keeps for years", "Bees make  honey", "Honey is sweet"]})
WEIGHED = json.dumps({"importance": ["okay", "vital", "okay"]})
REPLIES = [["You list the facts", LISTED], ["You judge how important", WEIGHED]]
KEY = {"OPENAI_API_KEY": "k"}


@dataclass
class ListingLlm:
    """Adds the title of each passage to the list, and calls every other fact vital.

    Attributes:
        slips: replies of each step that cannot be read, before the good ones.
        asked: all requests.
    """

    slips: int = 0
    fails: str = ""
    asked: list[Request] = field(default_factory=list)

    def identity(self) -> dict[str, Any]:
        return {"name": "openai:listing"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += requests
        return [self._reply(request) for request in requests]

    def _reply(self, request: Request) -> Result:
        if request.values["question"] == self.fails:
            return Failure("exhausted", "no luck", 500)
        if request.sample < self.slips:
            return LlmReply('Sure! {"nuggets": "none", "importance": ["vital"]}')
        nuggets = list(request.values["nuggets"])
        if request.task == "importance":
            words = ["okay", "vital"] * len(nuggets)
            return LlmReply(f"Here: {json.dumps({'importance': words[: len(nuggets)]})}")
        titles = [p["title"] for p in request.values["passages"]]
        return LlmReply(json.dumps({"nuggets": [*nuggets, *titles]}))


def topic(name: str, n: int) -> Topic:
    return Topic(name, f"What of {name}?", [(f"{name}{i}", "A text.") for i in range(n)])


def test_lists_grow_by_windows_and_are_weighed_by_tens() -> None:
    llm = ListingLlm()
    long, short = topic("a", 25), topic("b", 2)
    NuggetWriter(llm).find([long, short])
    # 25 passages: windows of 10, 10, 5; 25 nuggets: 10, 10, 5. Two passages: one of each.
    assert len(llm.asked) == 3 + 3 + 1 + 1
    assert long.texts == [f"a{i}" for i in range(25)]
    chosen = long.choose(20)
    # In each ten every second one is vital: 5 + 5 + 2 of 25.
    assert [n.importance for n in chosen] == ["vital"] * 12 + ["okay"] * 8
    assert [n.text for n in chosen[:2]] == ["a1", "a3"]
    assert [n.text for n in short.choose(20)] == ["b1", "b0"]


@pytest.mark.parametrize(("slips", "n_asked"), [(0, 2), (2, 2 * 3)])
def test_replies_that_cannot_be_read_are_asked_for_again(slips: int, n_asked: int) -> None:
    llm, one = ListingLlm(slips), topic("a", 3)
    NuggetWriter(llm).find([one])
    assert (len(llm.asked), len(one.choose(20)), one.failure) == (n_asked, 3, "")


def test_a_window_without_news_keeps_the_list() -> None:
    class SilentLlm(ListingLlm):
        def _reply(self, request: Request) -> Result:
            if request.task == "nuggets" and request.values["nuggets"]:
                return LlmReply('{"nuggets": []}')
            return super()._reply(request)

    one = topic("a", 12)
    NuggetWriter(SilentLlm()).find([one])
    assert one.texts == [f"a{i}" for i in range(10)]  # those of the first window


def test_failures_are_of_their_query_alone() -> None:
    one, other, slipping = topic("a", 3), topic("b", 3), topic("c", 3)
    NuggetWriter(ListingLlm(fails=one.question)).find([one, other])
    assert one.failure == "exhausted: no luck" and one.choose(20) == []
    assert len(other.choose(20)) == 3
    NuggetWriter(ListingLlm(slips=3)).find([slipping])
    assert slipping.failure.startswith("no list in 3 replies") and slipping.choose(20) == []
    for failed, advice in ((slipping, "take another --llm"), (one, "another --out and --store")):
        done = ProposedNuggets(0, 0, {failed.query_id: failed.failure})
        assert done.describe_failures().endswith(advice)


def test_a_sheet_goes_to_people_and_to_score(inline: Inline, package: Path, tmp_path: Path) -> None:
    with openai_server(tmp_path / "log", replies=REPLIES) as server:
        words = ("labels", "propose", "nuggets", package, "--llm", "openai:m", "--limit", 2)
        there = ("--base-url", server.url)
        plan = inline.ok(*words, *there, "--dry-run", "--price", "1,1", **KEY).stdout
        assert "calls to make      4" in plan  # a list and its weights, of two queries
        assert not server.requests()
        inline.ok(*words, *there, "--out", "n.csv", **KEY)
        assert len(server.requests()) == 2 * 2
        inline.ok(*words, *there, "--out", "again.csv", "--store", "n.csv.replay.db", **KEY)
        assert len(server.requests()) == 2 * 2  # nothing is paid for twice
    sheet = tmp_path / "n.csv"
    assert sheet.read_text() == (tmp_path / "again.csv").read_text()
    about = json.loads((tmp_path / "n.csv.about.json").read_text())
    assert about["llm"]["name"] == "openai:m" and about["failures"] == {}
    rows = list(csv.DictReader(sheet.open()))
    queries = cf.load(package).query_ids[:2]
    assert [(r["query_id"], r["nugget"], r["importance"], r["keep"]) for r in rows[:3]] == [
        (queries[0], "Bees make honey", "vital", "yes"),
        (queries[0], "'=Honey keeps for years", "okay", "yes"),
        (queries[0], "Honey is sweet", "okay", "yes"),
    ]
    with refused("output-exists"):
        propose_nuggets(
            package, NuggetOptions(llm="openai:m"), cf.RunOptions(out=sheet)
        )  # people's edits stay
    rows[2]["keep"] = "No"
    rows[1]["importance"] = "Vital"
    with sheet.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    points = read_assessments([sheet]).lists["nuggets"].points
    assert [(p.text, p.group) for p in points[queries[0]]] == [
        ("Bees make honey", "vital"), ("=Honey keeps for years", "vital"),
    ]  # fmt: skip
    assert len(points[queries[1]]) == 3
    inline.ok("run", "random", "--benchmark", package, "--out", "r.jsonl")
    words = ("score", "r.jsonl", "--benchmark", package, "--measures", "Nuggets.Vital")
    scored = inline.ok(*words, "--assessments", "n.csv", "--judge", "lexical").stdout
    assert "Nuggets.Vital" in scored and "0.00" in scored


@pytest.mark.parametrize(
    ("row", "place"),
    [
        ("q,A fact,importnat,yes", "importance"),
        ("q,A fact,vital,maybe", "keep"),
        ("q, ,vital,yes", "nugget"),
    ],
)
def test_a_wrong_cell_is_named(tmp_path: Path, row: str, place: str) -> None:
    sheet = tmp_path / "n.csv"
    sheet.write_text(f"query_id,nugget,importance,keep\n{row}\n")
    with refused("empty-text" if place == "nugget" else "wrong-value", line=2, field=place):
        read_assessments([sheet])


def test_a_benchmark_without_relevant_passages_is_refused(kalma_package: Path) -> None:
    with refused("wrong-kind", path=kalma_package):
        read_topics(kalma_package, None)
