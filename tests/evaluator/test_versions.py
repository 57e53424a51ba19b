"""Score files of an older version of a measure, or of the judge `lexical`."""

import pytest

from citeforge.evaluator.compare import compare_many
from citeforge.evaluator.gate import decide
from citeforge.evaluator.gate_policy import PolicySource
from citeforge.evaluator.measures.declared import SHORT_ANSWERS
from citeforge.evaluator.measures.registry import find_measure, select
from citeforge.reports.gate_sentences import write_sentence
from citeforge.schemas.recipes.gate import GatePolicy
from citeforge.schemas.scores import Counts, MeasureScore, ScoreFile
from conftest import refused


def scores(system: str, name: str, parts: str) -> ScoreFile:
    values: list[float | None] = [1.0, 0.0]
    measure = MeasureScore(
        name=name, signature=f"{name}|p:strict|{parts}gram:1,strict|ctx:mix|bench:b@1|v:1",
        scale=100, value=50.0, low=None, high=None, stderr=None, interval="none", n=2,
        n_undefined=0, per_query=values,
    )  # fmt: skip
    return ScoreFile(
        system=system, submission=f"{system}.jsonl", submission_sha256="0", benchmark="b",
        benchmark_hash="1", protocol="strict", context="mix", query_ids=["q1", "q2"],
        counts=Counts(n_queries=2, n_runs=1, n_answered=2, n_missing=0, n_unparsed=0),
        measures=[measure],
    )  # fmt: skip


def test_compare_says_what_changed_and_how_to_score_again() -> None:
    new, old = scores("new", "ALCE.StrEM", "def:2|"), scores("old", "ALCE.StrEM", "")
    for pair in ([new, old], [old, new]):
        with refused("not-comparable") as caught:
            compare_many(pair)
        message = str(caught.value)
        assert f"old has version 1 of ALCE.StrEM, and since version 2 {SHORT_ANSWERS[0]}" in message
        assert "citeforge score old.jsonl --benchmark DIR --out FILE" in message
        assert "--across" not in message


def test_no_option_compares_versions() -> None:
    with refused("unknown-name"):
        compare_many(
            [scores("new", "ALCE.StrEM", "def:2|"), scores("old", "ALCE.StrEM", "")],
            across=["definitions"],
        )


def test_gate_says_what_changed_and_how_to_score_again() -> None:
    policy = PolicySource(GatePolicy.model_validate({"critical": ["ALCE.StrEM"]}))
    decision = decide(
        [scores("new", "ALCE.StrEM", "def:2|")], [scores("old", "ALCE.StrEM", "")], policy
    )
    (row,) = (r for r in decision.rows if r.name == "ALCE.StrEM")
    sentence = write_sentence(row)
    assert "old has version 1 of ALCE.StrEM" in sentence
    assert "citeforge score old.jsonl" in sentence


def test_versions_of_the_lexical_judge() -> None:
    old = scores("old", "ALCE.CitRec", "judge:lexical@1|")
    with refused("not-comparable") as caught:
        compare_many([scores("new", "ALCE.CitRec", "judge:lexical@2|"), old])
    assert "old has version 1 of the judge lexical" in str(caught.value)
    with refused("not-comparable") as other:
        compare_many([scores("new", "ALCE.CitRec", "judge:table:x@2|"), old])
    assert "judge: table:x@2 / lexical@1" in str(other.value)


def test_a_later_version_is_named_as_it_is() -> None:
    with refused("not-comparable") as caught:
        compare_many([scores("a", "ALCE.StrEM", "def:2|"), scores("b", "ALCE.StrEM", "def:99|")])
    assert "def: 2 / 99" in str(caught.value)


@pytest.mark.parametrize(
    "name",
    [
        "ALCE.StrEM", "ALCE.StrHit", "QAMPARI.F1", "QA-EM", "ShortEM", "Auth.EM",
        "KaLMA.P@micro", "ROUGE-Lsum.F", "ALCE.ROUGE-Lsum", "BLEU", "Length", "ALCE.Length",
    ],
)  # fmt: skip
def test_only_strict_has_another_version(name: str) -> None:
    (measure,) = select([name])
    assert (measure.version("strict"), measure.version("reference")) == ("2", None)


def test_other_measures_have_their_first_version() -> None:
    measure = find_measure("CiteP")
    assert measure is not None
    assert measure.version("strict") is None
