"""``topics:`` and ``found_topics:`` of a design: each topic gets its share of the questions."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from citeforge.engines.llm.records import Request
from citeforge.engines.models.vectors import VectorShard
from citeforge.package.fields import read_fields
from citeforge.package.manifest import read_stats
from citeforge.plugins.documents import topics
from citeforge.plugins.documents.design import Design, FoundTopics, built_in_forms
from citeforge.plugins.documents.plan import plan_documents
from citeforge.plugins.documents.question_specs import (
    QuestionSpec,
    Topics,
    draw_passages,
    draw_specs,
)
from citeforge.plugins.documents.recipe import DocumentsRecipe
from citeforge.plugins.documents.topics import find_clusters
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.base import RunOptions
from conftest import refused
from plugins.documents.pumps import FormLlm, pump, write_pumps
from plugins.documents.test_design import make

NUMBERS = {"questions": [{"name": "number"}]}


def write_shelves(folder: Path) -> None:
    """Pumps 0 to 9 in `docs/old`, 10 to 15 in `docs/new/big`, 16 and 17 in `docs`."""
    write_pumps(folder / "docs", 18)
    for shelf, numbers in (("old", range(10)), ("new/big", range(10, 16))):
        (folder / "docs" / shelf).mkdir(parents=True)
        for one in map(pump, numbers):
            path = folder / "docs" / f"{one.name}.md"
            path.rename(folder / "docs" / shelf / path.name)


def topics_of(folder: Path, topics: Any, n: int = 6) -> tuple[Counter[str], dict[str, Any]]:
    """Number of accepted questions of each topic, and the statistics of the package."""
    package = make(folder, FormLlm(), NUMBERS | {"topics": topics}, n)
    rows = package.table("questions", "questions").to_pylist()
    assert Counter(read_fields(package.queries)["topic"]) == Counter(r["topic"] for r in rows)
    return Counter(r["topic"] for r in rows if r["accepted"]), dict(read_stats(folder / "out"))


def test_topics_are_folders_with_shares(tmp_path: Path) -> None:
    write_shelves(tmp_path)
    topics = [
        {"name": "new pumps", "share": 2, "pattern": "NEW"},  # the folder above, in any case
        {"name": "old pumps", "share": 3, "pattern": "o?d"},
        {"name": "rest"},
    ]
    found, stats = topics_of(tmp_path, topics)
    assert found == {"new pumps": 2, "old pumps": 3, "rest": 1}  # 6 × 2/6, 3/6 and 1/6
    # Wilson's interval of 2 of 6.
    assert stats["mix_of_topic[new pumps]"] == "2 of 6 (33.3 % [9.7, 70.0]); declared 33.3 %"
    assert "questions of the topic new pumps" in (tmp_path / "out" / "README.md").read_text()
    rows = make_rows(tmp_path)
    folders = {(r["topic"], r["evidence"][0].rpartition("/")[0]) for r in rows}
    assert folders == {("new pumps", "new/big"), ("old pumps", "old"), ("rest", "")}


def make_rows(folder: Path) -> list[dict[str, Any]]:
    """Questions of the package that was made last."""
    from citeforge.package.package import Package

    rows: list[dict[str, Any]] = Package(folder / "out").table("questions", "questions").to_pylist()
    return rows


def test_passages_of_no_topic_get_no_question_and_short_topics_say_so(tmp_path: Path) -> None:
    write_shelves(tmp_path)
    topics = [{"name": "one", "by": "heading", "pattern": pump(3).name},
              {"name": "old", "pattern": "old"}]  # fmt: skip
    found, stats = topics_of(tmp_path, topics)
    assert found == {"one": 1, "old": 3}  # the heading has one passage; 3 of each were wanted
    assert stats["mix_of_topic[one]"].endswith(
        "declared 50.0 %; 2 missing, 2 of them without a passage"
    )
    assert all(r["evidence"][0].startswith("old/") for r in make_rows(tmp_path))


def test_topics_are_values_of_metadata(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    with (tmp_path / "docs" / "all.jsonl").open("w") as file:
        for one in map(pump, range(6)):
            print(json.dumps({"title": one.name, "text": one.text}), file=file)
    topics = [{"name": "first", "by": "page", "pattern": "[12]"}, {"name": "rest", "share": 2}]
    found, _ = topics_of(tmp_path, topics, 3)
    assert found == {"first": 1, "rest": 2}
    pages = {r["evidence"][0].rpartition("#")[2] for r in make_rows(tmp_path)
             if r["topic"] == "first"}  # fmt: skip
    assert pages <= {"1", "2"}


@pytest.mark.parametrize(
    ("topics", "place", "fault"),
    [
        ("- {name: a, pattern: old}\n- {name: b,\n   pattern: young}\n", "4 topics.1.pattern",
         "'young' matches no passage that earlier topics leave; of folder there are '.', 'old'"),
        ("- {name: a, pattern: '*'}\n- {name: b, pattern: old}\n", "3 topics.1.pattern",
         "'old' matches no passage"),
        ("- {name: a, by: author, pattern: Li}\n", "2 topics.0.by",
         "no passage has 'author' in its metadata"),
        ("- {name: a, pattern: '*'}\n- {name: rest}\n", "3 topics.1.name", "has no passage"),
        ("- {name: a}\n", "2 topics.0.pattern", "is missing: which folder"),
        ("- {name: rest, pattern: x}\n", "2 topics.0.pattern", "'rest' has the passages"),
        ("- {name: a, pattern: x}\n- {name: a, pattern: y}\n", "1 topics", "names 'a' twice"),
        ("- {name: a, pattern: x}\nfound_topics: 3\n", "3 found_topics", "listed and to be found"),
        ("- {name: a, pattern: x, share: 0}\n", "2 topics.0.share", "should be greater than 0"),
        (" []\nfound_topics: 1\n", "3 found_topics", "expected 2 to 50 topics"),
        (" []\nfound_topics: {number: 51}\n", "3 found_topics.number", "should be less than"),
    ],
)  # fmt: skip
def test_wrong_topics_are_named_with_line_and_field(
    tmp_path: Path, topics: str, place: str, fault: str
) -> None:
    write_shelves(tmp_path)
    design = tmp_path / "d.yaml"
    design.write_text(f"topics:\n{topics}")
    recipe = DocumentsRecipe(
        source=f"folder:{tmp_path / 'docs'}", llm="openai:m", design=str(design)
    )
    with pytest.raises(InputError) as caught:
        plan_documents(recipe, RunOptions(price=(1, 1)))
    assert str(caught.value).startswith(f"{design}:{place}: ")
    assert fault in str(caught.value)


def test_a_topic_without_passages_is_skipped_and_others_go_on() -> None:
    specs = [
        QuestionSpec(built_in_forms()["single"], None, topic) for topic in ("a", "b", "a", "b")
    ]
    topics = Topics({"a": 1.0, "b": 1.0}, {"p1": "a", "p3": "b", "p4": "b"})
    drawn = draw_passages(specs, topics.split(["p4", "p2", "p1", "p3"]))
    assert [(spec.topic, name) for spec, name in drawn] == [("a", "p1"), ("b", "p4"), ("b", "p3")]


def test_which_form_is_about_which_topic_is_drawn() -> None:
    design = Design.model_validate({"questions": [{"name": "single"}, {"name": "time"}]})
    specs = draw_specs(design, 8, 0, {"a": 3, "b": 1})
    assert specs.keys() != draw_specs(design, 8, 0).keys()
    by_topic: Counter[str | None] = Counter()
    for spec, n in specs.items():
        by_topic[spec.topic] += n
    assert by_topic == {"a": 6, "b": 2}


@dataclass
class Vectors:
    """Vectors of a corpus in float32, and exact ones."""

    passages: list[VectorShard]
    exact: npt.NDArray[np.float64]
    asked: list[list[int]] = field(default_factory=list)

    def exact_vectors(self, name: str, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        self.asked.append(rows.tolist())
        return self.exact[rows]


def test_members_of_clusters_do_not_depend_on_the_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two clusters of 20; a further vector is nearly in the middle, on one side by less than 1e-6.

    Float32 vectors of two processors put it on different sides; exact ones decide.
    """
    monkeypatch.setattr(topics, "_MOST_FITTED", 40)
    monkeypatch.setattr(topics, "sample_ids", lambda rows, n, *_: rows[:n])
    rng = np.random.default_rng(3)
    exact = np.eye(8)[[0] * 20 + [1] * 20] + rng.normal(0, 0.01, (40, 8))
    one, two = exact[:20].mean(axis=0), exact[20:].mean(axis=0)
    exact = np.vstack([exact, (one + two) / 2 + 1e-7 * (one - two), one, two])
    found = []
    for n, error in enumerate((-3e-7, 3e-7)):
        moved = exact + error * (one - two)
        moved.astype("<f4").tofile(tmp_path / f"{n}.bin")
        shard = VectorShard(tmp_path / f"{n}.bin", len(moved), 8, "k")
        model = Vectors([shard], exact)
        found.append(find_clusters(model, range(43), 2, 1))
        assert model.asked == [list(range(40)), [40]]
    assert found[0] == found[1]
    assert {*found[0][0]} == {*range(20), 40, 41}  # the larger one: on the side of its centre
    assert {*found[0][1]} == {*range(20, 40), 42}


def test_clusters_are_those_of_the_vectors_and_always_the_same(tmp_path: Path) -> None:
    """Three directions with 30, 20 and 10 vectors, in two shards."""
    rng = np.random.default_rng(7)
    kinds = rng.permutation([0] * 30 + [1] * 20 + [2] * 10)
    vectors = np.eye(8)[kinds] + rng.normal(0, 0.02, (60, 8))
    shards = []
    for n, part in enumerate((vectors[:25], vectors[25:])):
        part.astype("<f4").tofile(tmp_path / f"{n}.bin")
        shards.append(VectorShard(tmp_path / f"{n}.bin", len(part), 8, "k"))
    model = Vectors(shards, vectors)
    clusters = find_clusters(model, range(60), 3, 1)
    assert [len(some) for some in clusters] == [30, 20, 10]
    assert [{*kinds[some]} for some in clusters] == [{0}, {1}, {2}]
    assert find_clusters(model, range(60), 3, 1) == clusters
    # Next to the centre first.
    first = vectors[clusters[2]] - vectors[clusters[2]].mean(axis=0)
    assert np.argmin(np.linalg.norm(first, axis=1)) == 0
    few = find_clusters(model, [3, 4], 50, 1)
    assert sorted(row for some in few for row in some) == [3, 4]


class NamingLlm(FormLlm):
    """Names topics as it is told, one reply after the other."""

    names: Sequence[str] = ()

    def _reply(self, request: Request) -> str:
        if request.task == "topics":
            return self.names[request.sample]
        return super()._reply(request)


def test_found_topics_are_named_and_have_equal_shares(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 12)
    llm = NamingLlm()
    llm.names = ('{"topics": ["Pumps", "pumps"]}', 'So: {"topics": ["Pumps", "Other pumps"]}')
    package = make(tmp_path, llm, NUMBERS | {"found_topics": 2}, 4, embedder="offline")
    asked = [request for request in llm.asked if request.task == "topics"]
    assert [request.sample for request in asked] == [0, 1]  # equal names are none
    assert "Topic 2:" in asked[0].messages[-1][1]
    assert "pump was made by" in asked[0].messages[-1][1]
    rows = package.table("questions", "questions").to_pylist()
    assert Counter(r["topic"] for r in rows if r["accepted"]) == {"Pumps": 2, "Other pumps": 2}
    assert "topics" in package.manifest.config["prompts"]


@pytest.mark.parametrize(
    ("found", "shares"),
    [
        (2, [1, 1]),
        ({"number": 2, "shares": [3, 1]}, [3, 1]),
        ({"number": 2, "by_size": True}, [8, 4]),
    ],
)
def test_found_topics_have_shares(found: Any, shares: list[float]) -> None:
    topics = FoundTopics.model_validate(found)
    assert [topics.share(n, size) for n, size in enumerate((8, 4))] == shares


def test_no_names_are_an_error(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 12)
    llm = NamingLlm()
    llm.names = ['{"topics": ["Pumps"]}'] * 3
    with refused("bad-reply") as caught:
        make(tmp_path, llm, NUMBERS | {"found_topics": 2}, 4, embedder="offline")
    assert "no 2 names of topics in 3 replies" in str(caught.value)


def test_names_of_topics_are_in_the_bill(tmp_path: Path) -> None:
    write_pumps(tmp_path / "docs", 6)
    recipe = DocumentsRecipe(source=f"folder:{tmp_path / 'docs'}", llm="openai:m", n_queries=2)
    plans = [
        plan_documents(recipe.model_copy(update={"design": design}), RunOptions(price=(1, 1)))
        for design in (NUMBERS, NUMBERS | {"found_topics": 2})
    ]
    assert plans[1].requests == plans[0].requests + 1


def test_an_exhausted_topic_takes_no_tries_of_others(tmp_path: Path) -> None:
    """Of two topics one has a passage and wants two; the other one's questions are refused once."""
    write_shelves(tmp_path)
    (tmp_path / "docs" / "new" / "big").rename(tmp_path / "kept")
    (tmp_path / "docs" / "new" / "big").mkdir()
    first = pump(10).name
    (tmp_path / "kept" / f"{first}.md").rename(tmp_path / "docs" / "new" / f"{first}.md")
    topics = [{"name": "new", "pattern": "new"}, {"name": "old", "pattern": "old"}]
    found, _ = topics_of(tmp_path, topics, 4)
    assert found == {"new": 1, "old": 2}


def test_documents_too_short_for_topics_are_named(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "a.md").write_text("# A\n\nToo short.\n")
    with refused("no-queries"):
        topics_of(tmp_path, [{"name": "all", "pattern": "."}])
