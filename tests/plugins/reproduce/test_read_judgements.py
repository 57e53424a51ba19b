"""Labels of people beside a judge's values: what a table of anybody prints of them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.plugins.reproduce.read_judgements import read_judgements
from citeforge.plugins.reproduce.reader import FileGroups, ReaderTools
from conftest import refused


def write(path: Path, content: object) -> list[list[Path]]:
    path.write_text(json.dumps(content))
    return [[path]]


def files(tmp_path: Path, people: object, judge: object) -> FileGroups:
    return [*write(tmp_path / "people.json", people), *write(tmp_path / "judge.json", judge)]  # type: ignore[list-item]


def values(groups: Any, options: dict[str, Any], *wanted: str) -> dict[str, Any]:
    paths = [[[path] for path in group] for group in groups]
    return dict(read_judgements(paths, options, wanted, ReaderTools(Path())))


DECISIONS = {"people": ("meta.id", "label"), "judge": ("key", "value"), "positive": "yes"}


def labels(*pairs: tuple[str, str]) -> list[dict[str, Any]]:
    return [{"meta": {"id": key}, "label": label} for key, label in pairs]


def test_decisions_of_a_judge(tmp_path: Path) -> None:
    people = labels(("a", "yes"), ("b", "yes"), ("c", "no"), ("d", "partly"), ("e", "yes"))
    judge = {"a": 0.9, "b": 0.4, "c": 0.6, "d": 0.5}  # nothing of e
    ours = values(
        files(tmp_path, people, judge), DECISIONS | {"threshold": 0.5},
        "n", "accuracy", "balanced accuracy", "precision", "recall", "f1", "auroc",
    )  # fmt: skip
    assert ours["n"] == 4
    assert ours["accuracy"] == (1 + 0 + 0 + 1) / 4  # 0.5 is not above the threshold
    assert ours["balanced accuracy"] == (1 / 2 + 1 / 2) / 2
    assert ours["precision"] == 1 / 2
    assert ours["recall"] == 1 / 2
    assert ours["f1"] == 1 / 2
    assert ours["auroc"] == (2 + 0) / (2 * 2)  # 0.9 beats both, 0.4 none


def test_a_judge_that_never_says_yes_finds_nothing(tmp_path: Path) -> None:
    people, judge = labels(("a", "yes"), ("b", "no")), {"a": 0.1, "b": 0.2}
    ours = values(files(tmp_path, people, judge), DECISIONS | {"threshold": 0.5},
                  "precision", "recall", "f1")  # fmt: skip
    assert math.isnan(ours["precision"])
    assert ours["recall"] == ours["f1"] == 0


def test_people_who_say_yes_to_all_rank_nothing(tmp_path: Path) -> None:
    people, judge = labels(("a", "yes"), ("b", "yes")), {"a": 0.1, "b": 0.2}
    ours = values(files(tmp_path, people, judge), DECISIONS, "auroc", "f1")
    assert math.isnan(ours["auroc"])
    assert ours["f1"] == 1


def test_every_annotator_meets_the_difference_of_the_judge(tmp_path: Path) -> None:
    people = [
        {"id": i, "prefers": p} for i, p in ((1, 2), (1, 1), (2, 0), (2, 0), (3, -1), (3, -2))
    ]
    judge = [
        {"id": i, "first": {"score": a}, "second": {"score": b}}
        for i, a, b in ((1, 0.1, 0.3), (2, 0.3, 0.4), (3, 0.9, 0.9))
    ]
    options = {"people": ("id", "prefers"), "judge": ("id", "second.score", "first.score")}
    ours = values(files(tmp_path, people, judge), options, "n", "pearson", "spearman")
    assert ours["n"] == 6
    # people 2 1 0 0 -1 -2 (mean 0, squares 10), judge .2 .2 .1 .1 0 0 (mean .1, squares .04)
    products = 0.1 * (2 + 1) + 0 + -0.1 * (-1 + -2)
    assert ours["pearson"] == pytest.approx(products / math.sqrt(10 * 0.04))
    # ranks 6 5 3.5 3.5 2 1 and 5.5 5.5 3.5 3.5 1.5 1.5: mean 3.5
    ranks = 2 * (2.5 + 1.5) + 2 * (1.5 + 2.5)
    spread = math.sqrt((2.5**2 + 1.5**2) * 2 * (4 * 2**2))
    assert ours["spearman"] == pytest.approx(ranks / spread)


def test_differences_that_are_equal_are_ties_whatever_their_last_bits(tmp_path: Path) -> None:
    people = [{"id": i, "prefers": i} for i in (1, 2, 3)]
    judge = [
        {"id": i, "less": a, "more": b} for i, a, b in ((1, 0.1, 0.3), (2, 0.5, 0.7), (3, 0.0, 0.9))
    ]
    assert 0.3 - 0.1 != 0.7 - 0.5
    options = {"people": ("id", "prefers"), "judge": ("id", "more", "less")}
    ours = values(files(tmp_path, people, judge), options, "spearman")
    # ranks 1 2 3 and 1.5 1.5 3
    assert ours["spearman"] == pytest.approx((1 * 0.5 + 0 + 1 * 1) / math.sqrt(2 * 1.5))


def test_two_annotators_without_a_judge(tmp_path: Path) -> None:
    people = [
        {"id": i, "label": v} for i, v in ((1, 1), (1, 2), (2, 3), (2, 3), (3, 5), (3, 1), (4, 9))
    ]
    groups = write(tmp_path / "people.json", people)
    ours = values(groups, {"people": ("id", "label")}, "n", "pearson")
    assert ours["n"] == 3  # 4 has one label
    # 1 3 5 (mean 3) and 2 3 1 (mean 2)
    assert ours["pearson"] == pytest.approx((-2 * 0 + 0 * 1 + 2 * -1) / math.sqrt(8 * 2))


def test_one_pair_correlates_with_nothing(tmp_path: Path) -> None:
    groups = write(tmp_path / "people.json", [{"id": 1, "label": 1}, {"id": 1, "label": 2}])
    ours = values(groups, {"people": ("id", "label")}, "n", "pearson", "spearman")
    assert ours["n"] == 1
    assert math.isnan(ours["pearson"])
    assert math.isnan(ours["spearman"])


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"people": ("meta.name", "label")}, "missing-field"),
        ({"judge": ("key", "score")}, "missing-field"),
        ({"people": ("label", "label")}, "no-pairs"),
    ],
)
def test_fields_that_are_not_there(tmp_path: Path, options: dict[str, Any], code: str) -> None:
    groups = files(tmp_path, labels(("a", "yes")), {"a": 1})
    with refused(code, cf.UsageError):
        values(groups, DECISIONS | options, "n")


@pytest.mark.parametrize(
    ("options", "judge"),
    [
        ({"positive": ""}, {"a": 1, "b": 2}),
        ({}, {"a": "high", "b": "low"}),
        ({"judge": ("id", "more", "less")}, [{"id": "a", "more": "high", "less": 1}]),
        ({"judge": None}, {}),
    ],
)
def test_labels_and_values_that_are_no_numbers(
    tmp_path: Path, options: dict[str, Any], judge: object
) -> None:
    groups = files(tmp_path, labels(("a", "yes"), ("b", "no"), ("a", "no")), judge)
    with refused("wrong-type", cf.UsageError):
        values(groups, DECISIONS | options, "n")


def test_numbers_of_a_table_are_text_there(tmp_path: Path) -> None:
    (tmp_path / "judge.csv").write_text("id,value,base\na,0.75,0.25\nb,0.5,0.5\n")
    people = write(tmp_path / "people.json", labels(("a", "yes"), ("b", "no")))
    groups = [*people, [tmp_path / "judge.csv"]]
    ours = values(groups, DECISIONS | {"judge": ("id", "value"), "threshold": 0.5}, "accuracy")
    assert ours["accuracy"] == (1 + 1) / 2
    ours = values(groups, DECISIONS | {"judge": ("id", "value", "base")}, "accuracy")
    assert ours["accuracy"] == (1 + 1) / 2  # 0.5 is above 0, and 0.0 is not
