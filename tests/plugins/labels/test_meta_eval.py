"""A judge against people: one reader of labels for `meta-eval` and `calibrate`."""

import math
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.plugins.labels.calibration import calibrate
from citeforge.plugins.labels.meta_eval import (
    REPEATED,
    UNCITED,
    UNLABELLED,
    LabelledPair,
    judge_quality,
    labelled_pairs,
)
from conftest import Inline, refused, write_jsonl
from stand_ins import RuleJudge


def judge() -> JudgeSession:
    """Finds supported whatever its premise says is."""
    return JudgeSession(RuleJudge(lambda premise, _: premise == "yes"))


def judged(decisions: list[tuple[bool, bool]]) -> list[LabelledPair]:
    """(people, judge) of statements."""
    return [
        LabelledPair("s", str(i), Pair("yes" if machine else "no", f"statement {i}"), human)
        for i, (human, machine) in enumerate(decisions)
    ]


def test_macro_f1_and_balanced_accuracy_by_hand() -> None:
    """Of 5 supported the judge finds 4, of 3 others 1."""
    pairs = [(True, True)] * 4 + [(True, False)] + [(False, True)] * 2 + [(False, False)]
    result = judge_quality(judged(pairs), judge())
    assert result.accuracy == 5 / 8
    assert result.balanced_accuracy == (4 / 5 + 1 / 3) / 2
    # F1 of supported: precision 4/6, recall 4/5; of not supported: precision 1/2, recall 1/3.
    assert result.macro_f1 == (2 * 4 / (6 + 5) + 2 * 1 / (2 + 3)) / 2


def test_people_who_say_the_same_of_all() -> None:
    result = judge_quality(judged([(True, True), (True, False)]), judge())
    assert math.isnan(result.balanced_accuracy)
    assert result.macro_f1 == (2 / 3 + 0) / 2


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=20))
def test_macro_f1_is_scikit_learns(pairs: list[tuple[bool, bool]]) -> None:
    sklearn = pytest.importorskip("sklearn.metrics")
    result = judge_quality(judged(pairs), judge()).macro_f1
    people, machine = zip(*pairs, strict=True)
    theirs = sklearn.f1_score(people, machine, labels=[False, True], average="macro",
                              zero_division=0)  # fmt: skip
    assert result == pytest.approx(theirs)


EXPERTQA = {
    "question": "q", "system": "s", "answer": "", "claims": [
        {"claim": "granite rock [1].", "support": "Complete", "evidence": ["granite rock"]},
        {"claim": "basalt.", "support": "Incomplete", "evidence": ["granite"]},
        {"claim": "basalt.", "support": "N/A", "evidence": ["granite"]},
        {"claim": "basalt!", "support": None, "evidence": ["granite"]},
        {"claim": "cites nothing.", "support": "Missing", "evidence": []},
        {"claim": "cites an empty page.", "support": "Missing", "evidence": [" "]},
    ],
}  # fmt: skip


def test_both_commands_look_at_the_same_rows(inline: Inline, tmp_path: Path, package: Path) -> None:
    write_jsonl(tmp_path / "e.jsonl", [{**EXPERTQA, "question": f"q{i}"} for i in range(10)])
    result = labelled_pairs([tmp_path / "e.jsonl"])
    assert (len(result.pairs), result.left_out) == (20, {UNLABELLED: 20, UNCITED: 20})
    measured = inline.ok("labels", "meta-eval", "--labels", "e.jsonl", "--judge", "lexical")
    assert "against 20 human labels" in measured.stdout
    assert "supported, by people        10 of 20" in measured.stdout
    assert "balanced accuracy           1.0000" in measured.stdout
    assert "macro-F1                    1.0000" in measured.stdout
    shutil.copytree(package, tmp_path / "copy")
    kept = inline.ok("labels", "calibrate", "copy", "--labels", "e.jsonl", "--judge", "lexical")
    assert "against 20 statements of 10 answers" in kept.stdout
    for line in result.to_text_lines():
        assert line in measured.stdout
        assert line in kept.stdout


def _claim_row(i: int, claim: str, label: str | None) -> dict[str, Any]:
    answer = {"system": "ab"[i % 2], "question": f"q{i}", "response": f"r{i % 11}"}
    return {**answer, "claim": claim, "references": ["granite rock"], "label": label}


_CLAIMS = [
    _claim_row(i, claim, label)
    for i in range(22)
    for claim, label in (("granite rock.", "yes" if i % 3 else "no"), ("basalt.", "no"),
                         ("slate.", None))
]  # fmt: skip


@given(st.permutations(_CLAIMS), st.lists(st.sampled_from(_CLAIMS), max_size=5))
@settings(max_examples=20)
def test_order_and_repeats_of_labels_change_no_figure(
    tmp_path_factory: pytest.TempPathFactory, order: list[Any], repeats: list[Any]
) -> None:
    folder, judge = tmp_path_factory.mktemp("labels"), JudgeSession(LexicalJudge())
    first, other = (
        labelled_pairs([write_jsonl(folder / "c.jsonl", rows)])
        for rows in (_CLAIMS, [*order, *repeats])
    )
    assert other.left_out - first.left_out == Counter({REPEATED: len(repeats)})
    assert calibrate(other.pairs, judge) == calibrate(first.pairs, judge)
    assert judge_quality(other.pairs, judge) == judge_quality(first.pairs, judge)


def test_contradictions_are_refused_with_both_lines(tmp_path: Path) -> None:
    rows = [*_CLAIMS, {**_CLAIMS[0], "label": "yes"}]  # of 3 * 22 labels and another one
    for lines, words in ((rows, ("full", "not")), (rows[::-1], ("not", "full"))):
        path = write_jsonl(tmp_path / "c.jsonl", lines)
        with refused("contradiction", path=path, line=67) as caught:
            labelled_pairs([path])
        said = f"labels as '{words[0]}' what {path}, line 1, labels as '{words[1]}'"
        assert said in str(caught.value)


def test_labels_that_are_none(tmp_path: Path) -> None:
    claims = [EXPERTQA["claims"][0], {"claim": "x", "support": "finished", "evidence": ["x"]}]  # type: ignore[index]
    files: list[tuple[list[dict[str, Any]], str]] = [
        ([EXPERTQA, {**EXPERTQA, "claims": claims}], "Complete, Par"),
        ([{"claim": "Io.", "references": ["Io."], "attribution_label": "?"}], "not attributable"),
        ([{"system": "s", "query_id": "q", "statement": 0, "label": "Yes!"}],
         "full, partial, not, yes"),
    ]  # fmt: skip
    for rows, levels in files:
        path = write_jsonl(tmp_path / "l.jsonl", rows)
        with refused("wrong-value", path=path, line=len(rows)) as caught:
            labelled_pairs([path], [])
        assert levels in caught.value.allowed


def test_yes_and_no_of_annotators(inline: Inline, tmp_path: Path, package: Path) -> None:
    """One label of a statement that cites nothing is left out by both commands."""
    rows = [
        {"query_id": q, "output": "Io is a moon [1]. It is far. Io is a moon [2]."}
        for q in ("q01", "q02", "q03", "q04", "q05", "q06", "q07", "q08", "q09", "q10")
    ]
    write_jsonl(tmp_path / "s.jsonl", rows)
    inline.ok("score", "s.jsonl", "--benchmark", package, "--measures", "CiteP", "--details",
               "--out", "s.json")  # fmt: skip
    labels = [
        {"system": "s", "query_id": row["query_id"], "statement": n, "label": word}
        for row in rows for n, word in enumerate(("yes", "no", "no"))
    ]  # fmt: skip
    write_jsonl(tmp_path / "l.jsonl", labels)
    options = ("--labels", "l.jsonl", "--scores", "s.json", "--judge", "lexical")
    result = inline.ok("labels", "meta-eval", *options)
    assert "supported, by people        10 of 20" in result.stdout
    assert f"  left out  10: {UNCITED}" in result.stdout


CLAIM = {
    "question": "Which moon?", "claim": "Io [1] is hot. It is a moon [2].",
    "claim_raw_string": "Io [1] is hot.", "response": "Io [1] is hot. It is a moon [2]. It is big.",
    "references": ["Io is hot.", "Io is a moon."], "citation_links": [], "webpage_references": [],
    "attribution_label": "attributable", "src_dataset": "Some", "id": "Some_1",
}  # fmt: skip


@pytest.mark.parametrize("form", ["auto", "claims"])
def test_claims_with_references_stay_whole(tmp_path: Path, form: str) -> None:
    rows = [
        CLAIM,
        {**CLAIM, "attribution_label": "Not Attributable", "references": ["Titan is cold."]},
        {**CLAIM, "references": []},
        {"claim": "Io.", "references": ["Io."], "label": "no", "system": "other"},
        {"claim": "Io.", "references": ["Io."]},
    ]
    result = labelled_pairs([write_jsonl(tmp_path / "c.jsonl", rows)], label_format=form)
    assert [(j.system, j.pair, j.supported) for j in result.pairs] == [
        ("Some", Pair("Io is hot.\nIo is a moon.", "Io [1] is hot. It is a moon [2]."), True),
        ("Some", Pair("Titan is cold.", "Io [1] is hot. It is a moon [2]."), False),
        ("other", Pair("Io.", "Io."), False),
    ]
    # Both claims of one response are of one answer.
    assert result.pairs[0].answer == result.pairs[1].answer != result.pairs[2].answer
    assert result.left_out == {UNCITED: 1, UNLABELLED: 1}


def test_claims_at_the_command_line(inline: Inline, tmp_path: Path) -> None:
    write_jsonl(
        tmp_path / "c.jsonl",
        [CLAIM, {**CLAIM, "claim": "Io too.", "attribution_label": "not attributable"}],
    )
    result = inline.ok(
        "labels", "meta-eval", "--labels", "c.jsonl", "--format", "claims", "--judge", "lexical"
    )
    assert "against 2 human labels" in result.stdout
    inline.fails(2, "missing-option", "labels", "meta-eval", "--judge", "lexical")


def test_contradictions_are_held_against_labels_that_tell_them(
    tmp_path: Path, inline: Inline
) -> None:
    """The judge calls two contradicted, one of them rightly; people call two so.

    Of "neither" it finds none of one, and says so once, wrongly.
    """
    rows = [
        ("Io is cold.", "contradictory", "contradicts"),
        ("Io is dry.", "contradictory", "no"),
        ("Io is old.", "extrapolatory", "contradicts"),
        ("Io is hot.", "attributable", "full"),
    ]
    write_jsonl(tmp_path / "labels.jsonl", [
        {"claim": claim, "references": ["Io is hot."], "attribution_label": label}
        for claim, label, _ in rows
    ])  # fmt: skip
    write_jsonl(tmp_path / "verdicts.jsonl", [
        {"premise": "Io is hot.", "hypothesis": claim, "verdict": support == "full",
         "support": support}
        for claim, _, support in rows
    ])  # fmt: skip
    command = ("labels", "meta-eval", "--judge", "table:verdicts.jsonl", "--labels")
    result = inline.ok(*command, "labels.jsonl")
    expected = (("supported", 1, 1 / 1, 1 / 1), ("contradicted", 2, 1 / 2, 1 / 2),
                ("neither", 1, 0 / 1, 0 / 1))  # fmt: skip
    for name, n, precision, recall in expected:
        line = f"  class {name:<22}{n} by people, precision {precision:.4f}, recall {recall:.4f}\n"
        assert line in result.stdout
    two_levels = [{"claim": rows[3][0], "references": ["Io is hot."], "label": "attributable"}]
    write_jsonl(tmp_path / "two.jsonl", two_levels)
    assert "class" not in inline(*command, "two.jsonl").stdout
