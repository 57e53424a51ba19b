"""Policies: what they say, and what is wrong in them."""

import re
from pathlib import Path
from textwrap import dedent

import pytest

import citeforge as cf
from citeforge.evaluator.gate_policy import read_policy
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.gate import GatePolicy, Margin
from citeforge.schemas.scores import Counts
from conftest import ROOT, refused


def written(folder: Path, text: str) -> Path:
    path = folder / "gate.yaml"
    path.write_text(dedent(text))
    return path


def test_a_whole_policy(tmp_path: Path) -> None:
    path = written(
        tmp_path,
        """\
        gate: 1
        margin: 2.5
        relative: 10%
        critical:
          CiteF1: {margin: 1, relative: 50%}
          CiteP:
        supporting: [CiteR]
        advisory: [Length]
        counts: {missing: 1%, truncated: 3, uncited: }
        least_queries: 50
        required:
          - {query: q21, measure: CiteR, at_least: 100}
        """,
    )
    policy = read_policy(path).policy
    assert policy.critical == {"CiteF1": Margin(margin=1, relative=0.5), "CiteP": Margin()}
    assert (list(policy.supporting), list(policy.advisory)) == (["CiteR"], ["Length"])
    assert (policy.counts.missing, policy.counts.truncated, policy.counts.uncited) == (
        0.01,
        3,
        None,
    )
    assert policy.required[0].at_least == 100
    # Of 60 points, 10 % are 6; of 20, they are 2.
    assert policy.allowed_drop(Margin(), 60) == 2.5
    assert policy.allowed_drop(Margin(), 20) == 2
    assert policy.allowed_drop(policy.critical["CiteF1"], 60) == 1


def test_shares_are_of_all_expected_answers() -> None:
    bounds = GatePolicy.model_validate({"counts": {"missing": "2%", "empty": 0}}).counts
    counts = Counts(n_queries=100, n_runs=1, n_answered=97, n_missing=3, n_unparsed=0, n_empty=1)
    assert list(bounds.exceeded(counts)) == [("missing", 3, 2), ("empty", 1, 0)]
    fewer = counts.model_copy(update={"n_answered": 98, "n_missing": 2, "n_empty": 0})
    assert list(bounds.exceeded(fewer)) == []


@pytest.mark.parametrize(
    ("text", "code", "line", "field"),
    [
        ("", "wrong-type", 1, None),
        ("- CiteF1\n", "wrong-type", 1, None),
        ("margin: 2\nmargin: 3\n", "duplicate-key", 2, None),
        ("margin: [\n", "bad-yaml", 2, None),
        ("gate: 2\n", "wrong-value", 1, "gate"),
        ("margin: 2\nmargins: 3\n", "unknown-field", 2, "margins"),
        ("margin: -1\n", "out-of-range", 1, "margin"),
        ("margin: .inf\n", "wrong-value", 1, "margin"),
        ("margin: .nan\n", "wrong-value", 1, "margin"),
        ("margin: yes\n", "wrong-type", 1, "margin"),
        ("margin: two\n", "wrong-type", 1, "margin"),
        ("margin: '2'\n", "wrong-type", 1, "margin"),
        ("relative: 20\n", "wrong-value", 1, "relative"),
        ("relative: 200%\n", "wrong-value", 1, "relative"),
        ("relative: some%\n", "wrong-value", 1, "relative"),
        ("critical:\n  CiteF1: 2\n", "wrong-type", 2, "critical.CiteF1"),
        ("critical:\n  CiteF1: {margn: 2}\n", "unknown-field", 2, "critical.CiteF1.margn"),
        ("critical:\n  CiteF1: {margin: 100}\n", "out-of-range", 2, "critical.CiteF1.margin"),
        ("critical: [CiteF1]\nmargin: 100\nrelative: 100%\n", "out-of-range", 2, "margin"),
        ("critical: [CiteF2]\n", "unknown-name", 1, "critical.CiteF2"),
        ("critical: [rage]\n", "unknown-name", 1, "critical.rage"),
        ("critical: [Length]\n", "wrong-value", 1, "critical.Length"),
        ("critical: [CiteP]\nadvisory: [CiteP]\n", "duplicate-key", 2, "advisory.CiteP"),
        ("critical: [CiteP, CiteP]\n", "wrong-value", 1, "critical"),
        ("counts:\n  missing: -1\n", "wrong-value", 2, "counts.missing"),
        ("counts:\n  missing: 5.5\n", "wrong-value", 2, "counts.missing"),
        ("counts:\n  judge_failed: 5%\n", "wrong-type", 2, "counts.judge_failed"),
        ("counts:\n  lost: 5%\n", "unknown-field", 2, "counts.lost"),
        ("least_queries: 1\n", "out-of-range", 1, "least_queries"),
        ("required:\n  - {query: q1}\n", "missing-field", 2, "required.0.measure"),
        ("required:\n- {query: q1, measure: CiteQ}\n", "unknown-name", 2, "required.0.measure"),
        (
            "required:\n- {query: q, measure: CiteP, at_least: 1, at_most: 2}\n", "wrong-value", 2,
            "required.0",
        ),
    ],
)  # fmt: skip
def test_a_wrong_policy(
    tmp_path: Path, text: str, code: str, line: int | None, field: str | None
) -> None:
    path = written(tmp_path, text)
    with refused(code, InputError, path=path, line=line, field=field):
        read_policy(path)


def test_what_would_be_right_is_said(tmp_path: Path) -> None:
    path = written(tmp_path, "margin: 2\ncounts:\n  mising: 3\n")
    with refused("unknown-field") as caught:
        read_policy(path)
    assert str(caught.value).startswith(
        f"{path}:3 counts.mising: is not a field of a policy (did you mean 'missing'?); known: "
        "missing, judge_failed, "
    )
    with refused("wrong-value") as caught:
        read_policy(written(tmp_path, "relative: 20\n"))
    assert str(caught.value).startswith(
        f"{path}:1 relative: is '20': expected a percentage from 0% to 100%, such as 20%; maximum "
    )
    assert "\n" not in str(caught.value)


def test_a_policy_in_python() -> None:
    with refused("bad-option", cf.UsageError):
        cf.gate([], policy={"margin": "two"})
    with refused("unknown-name", InputError, path="policy", field="critical.CiteF2"):
        cf.gate([], policy={"critical": ["CiteF2"]})
    with refused("unknown-name", InputError, path="policy", field="critical.CiteF2"):
        cf.gate([], policy=GatePolicy(critical={"CiteF2": Margin()}))


def test_the_policy_of_the_docs(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "gate.md").read_text()
    (text,) = re.findall(r"<<'END'\n(.*?)END\n", page, re.DOTALL)
    assert list(read_policy(written(tmp_path, text)).policy.critical) == ["CiteF1@query", "CiteR"]
