"""Rewards for trainers: equal to scores, whatever form completions come in."""

import math
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.plugins.training.benchmark_reward import CitationReward
from citeforge.plugins.training.rewards import citation_reward, citation_reward_with
from conftest import refused

OF_5 = {"n_passages": 5, "relevant": [1, 3]}
CITING = st.lists(
    st.one_of(
        st.integers(0, 12).map(lambda n: f"[{n}]"),
        st.sampled_from(
            ["[1, 3]", "[2-4]", "【2】", "[2019]", "[x1]", "Io", "is", "a moon.", "\n"]
        ),
    ),
    max_size=8,
).map(" ".join)


def test_the_reward_is_the_mean_of_precision_and_recall() -> None:
    outputs = ["Io [2].", "Io [2][1].", "Io [2][4].", "Io.", "Io [2][9]."]
    assert citation_reward(outputs, [OF_5] * 5) == [
        (1 / 1 + 1 / 2) / 2,
        (1 / 2 + 1 / 2) / 2,
        (2 / 2 + 2 / 2) / 2,
        0.0,
        (1 / 2 + 1 / 2) / 2,
    ]


def test_conversations_and_texts_are_rewarded_alike() -> None:
    said: list[Any] = [
        "Io [2].",
        [{"role": "assistant", "content": "Io [2]."}],
        [{"role": "assistant", "content": "[1]"}, {"role": "assistant", "content": "Io [2]."}],
        [{"role": "assistant", "content": [{"type": "text", "text": "Io "},
                                           {"type": "text", "text": "[2]."}]}],
        [{"role": "assistant", "content": None}],
    ]  # fmt: skip
    result = citation_reward(said, [OF_5] * 5, prompts=[""] * 5, trainer_state=None)
    assert result == [0.75, 0.75, 0.75, 0.75, 0.0]


def test_passages_may_count_from_0() -> None:
    assert citation_reward(["[1][3]"], [OF_5 | {"numbering": 0}]) == [1.0]
    assert citation_reward(["(1)"], [OF_5 | {"numbering": 0, "form": "(n)"}]) == [(1 + 1 / 2) / 2]


def test_terms_for_length_and_format() -> None:
    long = " ".join(["word"] * 14) + " Io [2]."  # 15 words; markers do not count
    reward = citation_reward_with(length_weight=0.5, max_words=10, format_weight=0.25)
    assert reward.__name__ == "citation_reward"
    assert reward([long], [OF_5]) == [(0.75 + 0.5 * (2 - 15 / 10) + 0.25 * 1) / 1.75]
    # Shown to nobody: out of range, so that the form is wrong.
    assert reward(["Io [2][9]."], [OF_5]) == [(0.5 + 0.5 * 1 + 0) / 1.75]
    # Saying nothing is no way to be short.
    assert reward([""], [OF_5]) == [0.0]
    assert citation_reward_with("CiteP")(["Io [2]."], [OF_5]) == [1.0]
    assert citation_reward_with("CiteF1")(["Io [2]."], [OF_5]) == [pytest.approx(2 / 3)]


@given(outputs=st.lists(CITING, min_size=30, max_size=30))
def test_the_reward_is_what_score_gives(package: Path, outputs: list[str]) -> None:
    bench = _bench(package)
    rows = [{"query_id": q, "output": o} for q, o in zip(bench.query_ids, outputs, strict=True)]
    scores = cf.score(rows, bench, ["CiteP", "CiteR", "CiteF1@query", "Reward"])
    items = bench.items("mix")
    shown = [{"n_passages": len(i.passages), "relevant": list(i.relevant)} for i in items]
    for measure, column in [
        ("Reward", "Reward"), ("CiteP", "CiteP"), ("CiteR", "CiteR"), ("CiteF1", "CiteF1@query"),
    ]:  # fmt: skip
        result = citation_reward_with(measure)(outputs, shown)  # type: ignore[arg-type]
        expected = scores[column].per_query
        assert result == pytest.approx([float(v or 0) for v in expected], abs=1e-15)
        one = CitationReward(bench, measure)  # type: ignore[arg-type]
        assert result == list(map(one, bench.query_ids, outputs))


_OPEN: dict[Path, cf.Benchmark] = {}


def _bench(package: Path) -> cf.Benchmark:
    if package not in _OPEN:
        _OPEN[package] = cf.load(package)
    return _OPEN[package]


def test_without_a_relevant_passage_precision_stands_in() -> None:
    nothing: dict[str, Any] = {"n_passages": 3, "relevant": []}
    assert citation_reward(["Io [2]."], [nothing]) == [0.0]
    assert not math.isnan(citation_reward([""], [nothing])[0])


@pytest.mark.parametrize(
    ("completions", "contexts", "code"),
    [
        (["x"], [], "wrong-value"),
        (["x"], [{"n_passages": 3}], "wrong-type"),
        (["x"], ["mix"], "wrong-type"),
        (["x"], [{"n_passages": 3, "relevant": [3]}], "out-of-range"),
        (["x"], [OF_5 | {"numbering": "one"}], "wrong-type"),
        ([3], [OF_5], "wrong-type"),
        ([[]], [OF_5], "wrong-type"),
        ([[{"role": "assistant"}]], [OF_5], "wrong-type"),
    ],
)
def test_what_is_no_sample_is_refused(
    completions: list[Any], contexts: list[Any], code: str
) -> None:
    with refused(code, cf.UsageError):
        citation_reward(completions, contexts)


def test_wrong_terms_are_refused() -> None:
    with refused("unknown-name", value="MAUVE"):
        citation_reward_with("MAUVE")  # type: ignore[arg-type]
    with refused("out-of-range"):
        citation_reward_with(length_weight=-1)
    with refused("out-of-range"):
        citation_reward_with(max_words=0)


def test_the_reward_refuses_what_it_cannot_score(package: Path) -> None:
    with refused("unknown-name", noun="measure", value="MAUVE"):
        CitationReward(package, "MAUVE")  # type: ignore[arg-type]
    with refused("unknown-name", noun="query", value="nobody"):
        CitationReward(package)("nobody", "x [1].")
    with refused("unknown-name", noun="context", value="mixx"):
        CitationReward(package, context="mixx")
