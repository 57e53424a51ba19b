"""Pairwise preferences of people against a measure."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import kendalltau

from citeforge.plugins.labels.preferences import (
    PreferencePair,
    add_scores,
    annotator_agreement,
    compare_values,
    pairwise_agreement,
    read_preferences,
    select_agreed,
    tie_threshold,
    win_rates,
)
from conftest import Inline, refused, write_jsonl
from conftest_plots import scored

Pair = tuple[float, float]


def comparisons(
    *rows: tuple[Pair, Pair | None], systems: tuple[str, str] = ("a", "b")
) -> list[PreferencePair]:
    """(people, measure) of questions 0, 1, …"""
    return [
        PreferencePair(f"q{i}", systems, people, measure)
        for i, (people, measure) in enumerate(rows)
    ]


ROWS = comparisons(
    ((1, 0), (0.9, 0.1)),  # concordant
    ((1, 0), (0.8, 0.1)),  # concordant
    ((0, 1), (0.1, 0.9)),  # concordant
    ((0, 1), (0.9, 0.1)),  # discordant
    ((1, 0), (0.5, 0.5)),  # the measure ties
    ((1, 1), (0.7, 0.1)),  # people tie
    ((0, 0), (0.3, 0.32)),  # both tie within .05
    ((1, 0), None),
)


def test_agreement_and_tau_by_hand() -> None:
    """C = 3, D = 1, T_h = 2, T_m = 2 of n = 7."""
    result = pairwise_agreement(ROWS, 0.05)
    assert (result.n, result.n_left_out, result.threshold) == (7, 1, 0.05)
    assert result.agreement == (3 + 1) / 7
    assert result.tau == (3 - 1) / math.sqrt((7 - 2) * (7 - 2))
    # Without a threshold the measure ties once: the last comparison is one of people's ties alone.
    exact = pairwise_agreement(ROWS, 0)
    assert exact.agreement == 3 / 7
    assert exact.tau == (3 - 1) / math.sqrt((7 - 2) * (7 - 1))


def test_nothing_to_speak_of() -> None:
    empty = pairwise_agreement([])
    assert (empty.n, empty.threshold) == (0, 0)
    assert all(map(math.isnan, (empty.agreement, empty.tau, empty.system_tau)))
    tied = pairwise_agreement(comparisons(((1, 1), (0, 1)), ((1, 1), (1, 0))), 0)
    assert tied.agreement == 0
    assert math.isnan(tied.tau)
    assert math.isnan(annotator_agreement([ROWS]).strict)


def test_the_threshold_at_which_ties_are_as_frequent() -> None:
    """People tie in 2 of 7; the measure does within .02 (0 and .02), the least such threshold."""
    assert tie_threshold(ROWS) == pytest.approx(0.02)
    assert tie_threshold(ROWS, [0.01, 0.05, 0.1]) == 0.05
    assert tie_threshold(comparisons(((1, 0), (1, 0)), ((1, 0), (0.5, 0.5)))) == 0
    everything = comparisons(((1, 1), (1, 0)), ((0, 0), (0.5, 0.2)))
    assert tie_threshold(everything) == 1
    assert compare_values((0.5, 0.2), 0.3) == 0


def test_systems_by_hand() -> None:
    """a beats b and c, b ties c by people; the measure puts c above b."""
    rows = [
        *comparisons(((1, 0), (2, 1)), ((1, 0.5), (1, 2))),
        *comparisons(((1, 0), (2, 1)), systems=("a", "c")),
        *comparisons(((1, 1), (0, 1)), systems=("b", "c")),
    ]
    people, measure = win_rates(rows)
    assert people == {"a": 3 / 3, "b": (0 + 0 + 0.5) / 3, "c": (0 + 0.5) / 2}
    assert measure == {"a": 2 / 3, "b": (0 + 1 + 0) / 3, "c": (0 + 1) / 2}
    result = pairwise_agreement(rows, 0).system_tau
    assert result == kendalltau([1, 1 / 6, 1 / 4], [2 / 3, 1 / 3, 1 / 2]).statistic


def test_annotators_by_hand() -> None:
    """Alike in 2 of 5, one tie against a decision twice, opposite once; q5 has one label."""
    first = comparisons(
        *[((a, b), None) for a, b in ((1, 0), (0, 1), (1, 1), (1, 0), (1, 0), (1, 0))]
    )
    second = comparisons(*[((a, b), None) for a, b in ((1, 0), (0, 1), (1, 0), (1, 1), (0, 1))])
    result = annotator_agreement([first, second])
    assert (result.n, result.strict, result.half_credit) == (5, 2 / 5, (2 + 2 * 0.5) / 5)
    assert [c.question for c in select_agreed([first, second])] == ["q0", "q1"]


def test_rows_of_scholarqa_and_ours(tmp_path: Path) -> None:
    rows = [
        {"question": "Why?", "models": ["b", "a"], "preference_ranking_norm": [0.5, 1.0],
         "model_overall": [0.25, 0.75], "question_intent": "Why"},
        {"question": "Who?", "models": ["a", "b"], "preference_ranking_norm": [1.0, 1.0],
         "model_overall": [0.25, None]},
    ]  # fmt: skip
    path = tmp_path / "ann1.json"
    path.write_text(json.dumps(rows))
    result = read_preferences(path, "preference_ranking_norm", "model_overall")
    assert result[0] == [
        PreferencePair("Why?", ("a", "b"), (1.0, 0.5), (0.75, 0.25)),
        PreferencePair("Who?", ("a", "b"), (1.0, 1.0), None),
    ]
    ours = write_jsonl(tmp_path / "o.jsonl", [
        {"query_id": "q01", "systems": ["s", "t"], "preference": [0, 1]}])  # fmt: skip
    assert read_preferences(ours) == ([PreferencePair("q01", ("s", "t"), (0.0, 1.0))], 0)


GOOD = {"question": "q", "models": ["a", "b"], "preference": [1, 0], "m": [1, 2]}


@pytest.mark.parametrize(
    ("row", "code"),
    [
        ({**GOOD, "models": ["a"]}, "schema-mismatch"),
        ({**GOOD, "preference": None}, "schema-mismatch"),
        ({**GOOD, "preference": ["a", "b"]}, "schema-mismatch"),
        ({**GOOD, "m": None}, "schema-mismatch"),
        ({**GOOD, "models": ["a", "a"]}, "missing-field"),
        ({**GOOD, "question": ""}, "missing-field"),
        ({**GOOD, "question": "first", "models": ["b", "a"]}, "contradiction"),
        ([1], "schema-mismatch"),
    ],
)
def test_a_wrong_comparison(tmp_path: Path, row: Any, code: str) -> None:
    rows = [{**GOOD, "question": "first"}, row]
    (tmp_path / "p.json").write_text(json.dumps(rows))
    with refused(code, path=tmp_path / "p.json", line=None, field="item 2"):
        read_preferences(tmp_path / "p.json", measure_field="m")
    if isinstance(row, dict):
        lines = write_jsonl(tmp_path / "p.jsonl", rows)
        with refused(code, path=lines, line=2, field=None):
            read_preferences(lines, measure_field="m")


PREFERENCES = [
    {"query_id": f"q{i}", "systems": systems, "preference": [i % 2, i % 3], "m": [i / 7, 0.4]}
    for i in range(8)
    for systems in (["a", "b"], ["a", "c"])
]


@given(st.permutations(PREFERENCES), st.lists(st.sampled_from(PREFERENCES), max_size=5))
def test_order_and_repeats_change_no_figure(
    tmp_path_factory: pytest.TempPathFactory, order: list[object], repeats: list[object]
) -> None:
    folder = tmp_path_factory.mktemp("preferences")
    (first, none), (other, n) = (
        read_preferences(write_jsonl(folder / "p.jsonl", rows), measure_field="m")
        for rows in (PREFERENCES, [*order, *repeats])
    )
    assert (none, n) == (0, len(repeats))
    assert pairwise_agreement(other) == pairwise_agreement(first)
    assert annotator_agreement([other, first]) == annotator_agreement([first, other])


FILES = [scored("s", {"M": [80.0, None, 60.0]}), scored("t", {"M": [40.0, 50.0, 60.0]})]


def test_values_of_score_files() -> None:
    rows = [PreferencePair(q, ("s", "t"), (1, 0)) for q in ("q0", "q1")]
    assert [c.measure for c in add_scores(rows, FILES, "M")] == [(80.0, 40.0), None]
    with refused("unknown-name", noun="measure", value="N"):
        add_scores(rows, FILES, "N")
    with refused("unknown-name", noun="query", value="q9"):
        add_scores([PreferencePair("q9", ("s", "t"), (1, 0))], FILES, "M")
    with refused("no-scores"):
        add_scores([PreferencePair("q0", ("s", "u"), (1, 0))], FILES, "M")


def test_at_the_command_line(inline: Inline, tmp_path: Path) -> None:
    for name, last in (("ann", [1, 0]), ("bob", [0, 1])):
        rows = [
            {"query_id": "q0", "systems": ["s", "t"], "preference": [1, 0], "m": [3, 1]},
            {"query_id": "q1", "systems": ["s", "t"], "preference": last, "m": [1, 3]},
        ]
        write_jsonl(tmp_path / f"{name}.jsonl", rows)
    both = ("labels", "meta-eval", "--preferences", "ann.jsonl", "--preferences", "bob.jsonl")
    result = inline.ok(*both, "--measure", "m")
    write_jsonl(tmp_path / "bob.jsonl", [*rows, *rows[:1]])
    repeated = inline(*both, "--measure", "m").stdout.splitlines()
    repeated.remove("  left out  1: the row repeats another one")
    assert repeated == result.stdout.splitlines()
    lines = {words[0]: words[1:4] for x in result.stdout.splitlines() if (words := x.split())}
    assert lines["ann"] == ["2", "50.00", "0.000"]
    assert lines["bob"] == ["2", "100.00", "1.000"]
    assert lines["mean"][:2] == ["75.00", "0.500"]
    assert "annotators agree on 50.00 % of 2 comparisons; 50.00 % with a half" in result.stdout
    assert "agreed" in inline(*both, "--measure", "m", "--agreed").stdout
    inline.fails(2, "missing-option", *both)
    for file in FILES:
        (tmp_path / f"{file.system}.json").write_text(file.model_dump_json())
    done = inline.ok(*both, "--measure", "M", "--scores", "s.json", "--scores", "t.json")
    assert "left out  2: M has no value of both answers" in done.stdout
