"""Orders of systems under several definitions, worked out by hand."""

import csv
import io
import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from citeforge.evaluator.measures.registry import measures
from citeforge.reports.pages.robustness import Robustness, compare_definitions
from citeforge.reports.pages.robustness_report import (
    explain_differing,
    headline,
    summary_sentences,
)
from citeforge.schemas.recipes.command_options import TableOptions
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused
from conftest_plots import HOSTILE, entry, scored
from conftest_reports import report_text


def file(
    system: str,
    protocol: str = "strict",
    judge: str | None = None,
    **values: Sequence[float | None],
) -> ScoreFile:
    """A score file; ``CitF1`` stands for ``ALCE.CitF1``, and is judged."""
    made = scored(system, {"CiteP": [0.0] * len(next(iter(values.values())))})
    result = []
    for name, column in values.items():
        full = {"CitF1": "ALCE.CitF1", "Overcited": "ALCE.Overcited"}.get(name, name)
        parts = [f"p:{protocol}", *([f"judge:{judge}"] if judge else []), "ctx:mix", "bench:x@1"]
        result.append(
            entry(full, column).model_copy(update={"signature": "|".join([full, *parts, "v:1"])})
        )
    return made.model_copy(update={"protocol": protocol, "measures": result})


def three_systems() -> list[ScoreFile]:
    """In `strict` A is ahead of B, and B of C; in `reference` B is ahead of A."""
    return [
        file("A", CiteP=[1.0, 0.5], CiteR=[1.0, 0.8]),
        file("B", CiteP=[0.5, 0.5], CiteR=[0.8, 0.8]),
        file("C", CiteP=[0.2, 0.4], CiteR=[0.2, 0.1]),
        file("A", "reference", CiteP=[0.5, 0.5]),
        file("B", "reference", CiteP=[1.0, 0.5]),
        file("C", "reference", CiteP=[0.2, 0.4]),
    ]


def named(found: Robustness) -> list[str]:
    return [one.name for one in found.definitions]


def test_ranks_tau_and_pairs_by_hand() -> None:
    result = compare_definitions(three_systems())
    assert named(result) == ["CiteP · reference", "CiteP · strict", "CiteR · strict"]
    assert [one.ranks for one in result.definitions] == [(2, 1, 3), (1, 2, 3), (1, 2, 3)]
    # Of the 3 pairs 2 are ordered alike: (2 − 1) / 3.
    assert result.tau[0] == pytest.approx((1, 1 / 3, 1 / 3))
    assert result.mean_tau(1) == pytest.approx((1 / 3 + 1) / 2)
    orders = [(p.first, p.second, p.ahead, p.behind, p.is_contradicted) for p in result.pairs]
    assert orders == [("A", "B", 2, 1, True), ("A", "C", 3, 0, False), ("B", "C", 3, 0, False)]
    assert result.n_flips == 1
    assert headline(result) == (
        "1 of 3 pairs of systems change their order with the definition of citation quality (33 %)"
    )


def test_what_differs_has_the_sentence_that_the_measure_declares() -> None:
    result = compare_definitions(three_systems())
    assert result.against == (1, 0, 0)
    (line,) = explain_differing(result)
    quality = measures()["CiteP"].citation_quality
    assert quality is not None
    assert line == (
        "D1 CiteP · reference: 1 of 3 pairs the other way round than most. "
        f"{quality.apart} {quality.reference}"
    )


def test_a_reference_with_another_segmenter_is_a_reference() -> None:
    files = [file(s, p, "j@1", CitF1=[v, v]) for s, v in (("A", 0.2), ("B", 0.1))
             for p in ("strict", "reference~seg:nupunkt")]  # fmt: skip
    result = compare_definitions(files)
    assert named(result) == ["ALCE.CitF1 · reference · j@1", "ALCE.CitF1 · strict · j@1"]
    assert "first line alone" in result.definitions[0].why


def test_another_judge_is_another_definition() -> None:
    files = [
        file("A", judge="one@1", CitF1=[0.4, 0.2], CiteP=[0.5, 0.5]),
        file("B", judge="one@1", CitF1=[0.2, 0.2], CiteP=[0.5, 0.3]),
        file("A", judge="two@1", CitF1=[0.1, 0.2], CiteP=[0.5, 0.5]),
        file("B", judge="two@1", CitF1=[0.2, 0.2], CiteP=[0.5, 0.3]),
    ]
    for one in files:  # no judge is asked for CiteP: both files have the same of it
        plain = [m.signature.replace("judge:one@1|", "").replace("judge:two@1|", "")
                 if m.name == "CiteP" else m.signature for m in one.measures]  # fmt: skip
        one.measures = [m.model_copy(update={"signature": s})
                        for m, s in zip(one.measures, plain, strict=True)]  # fmt: skip
    result = compare_definitions(files)
    assert named(result) == [
        "CiteP · strict", "ALCE.CitF1 · strict · one@1", "ALCE.CitF1 · strict · two@1",
    ]  # fmt: skip


def test_a_flip_is_certain_where_queries_tell_both_ways() -> None:
    ahead, behind = [0.9, 1.0] * 20, [0.1, 0.0] * 20
    files = [
        file("A", CiteP=ahead), file("B", CiteP=behind),
        file("A", "reference", CiteP=behind), file("B", "reference", CiteP=ahead),
    ]  # fmt: skip
    assert compare_definitions(files).pairs[0].is_certain
    noisy = [file("A", CiteP=[1.0, 0.2, 0.4]), file("B", CiteP=[0.3, 0.6, 0.5]), *files[2:]]
    noisy[2:] = [file("A", "reference", CiteP=[0.3, 0.6, 0.5]),
                 file("B", "reference", CiteP=[1.0, 0.2, 0.4])]  # fmt: skip
    (pair,) = compare_definitions(noisy).pairs
    assert pair.is_contradicted and not pair.is_certain
    assert any(
        line.startswith("For 0 of these") for line in summary_sentences(compare_definitions(noisy))
    )


def test_equal_values_share_a_place_and_flip_nothing() -> None:
    files = [file("A", CiteP=[0.5, 0.5], CiteR=[0.9, 0.9]),
             file("B", CiteP=[0.5, 0.5], CiteR=[0.1, 0.1])]  # fmt: skip
    result = compare_definitions(files)
    assert result.definitions[0].ranks == (1.5, 1.5)
    (pair,) = result.pairs
    assert (pair.ahead, pair.behind, pair.level, pair.is_contradicted) == (1, 0, 1, False)
    assert result.tau[0][1] != result.tau[0][1]  # not defined: one side ties all
    assert json.loads(report_text(files, "json", robustness=True))["tau"][0][1] is None


def test_measures_can_be_chosen_and_lower_may_be_better() -> None:
    files = [file("A", judge="j@1", Overcited=[0.1, 0.1], CiteP=[0.5, 0.5]),
             file("B", judge="j@1", Overcited=[0.9, 0.9], CiteP=[0.4, 0.5])]  # fmt: skip
    result = compare_definitions(files, ["ALCE.Overcited", "CiteP"])
    of_overcited = next(d for d in result.definitions if d.measure == "ALCE.Overcited")
    assert of_overcited.ranks == (1, 2)
    assert of_overcited.aspect == ""
    with refused("too-few"):
        compare_definitions(files)


def test_what_a_system_lacks_is_left_out_and_named() -> None:
    files = three_systems()[:5]
    reference = file("C", "reference", CiteP=[0.1, 0.2])
    control = file("random", CiteP=[0.5, 0.5]).model_copy(update={"is_control": True})
    result = compare_definitions([*files, control])
    assert named(result) == ["CiteP · strict", "CiteR · strict"]
    assert result.left_out == (
        "random: a reference, no system", "CiteP · reference: no value of C",
    )  # fmt: skip
    other = reference.model_copy(update={"query_ids": ["q0", "q9"]})
    assert compare_definitions([*files, other]).left_out == (
        "CiteP · reference: scored on other queries",
    )


def changed(**what: object) -> list[ScoreFile]:
    files = three_systems()
    return [*files[:-1], files[-1].model_copy(update=what)]


@pytest.mark.parametrize(
    ("files", "code", "message"),
    [
        ([file("A", CiteP=[0.1, 0.2], CiteR=[0.2, 0.2])], "too-few", "these are of A"),
        (changed(benchmark_hash="2" * 64), "not-comparable", "several benchmarks: x@11111111, x@2"),
        (changed(submission_sha256="9" * 64, submission="C2.jsonl"), "not-comparable",
         "C.jsonl and C2.jsonl are two submissions of C"),
        ([*three_systems(), file("A", CiteP=[0.9, 0.9])], "contradiction", "for one signature"),
        ([file("A", CiteP=[0.1, 0.1]), file("B", CiteP=[0.2, 0.1])], "too-few", "there is 1"),
        ([file("A", Length=[1.0, 1.0]), file("B", Length=[2.0, 1.0])], "too-few", "there are 0"),
    ],
)  # fmt: skip
def test_files_that_do_not_belong_together_are_refused(
    files: list[ScoreFile], code: str, message: str
) -> None:
    with refused(code) as caught:
        compare_definitions(files)
    assert message in str(caught.value)


def test_contexts_are_compared_when_that_is_asked_for() -> None:
    files = three_systems()
    own = files[0].model_copy(update={"context": "own", "measures": [
        m.model_copy(update={"signature": m.signature.replace("ctx:mix", "ctx:own")})
        for m in files[0].measures]})  # fmt: skip
    with refused("not-comparable"):
        report_text([own, *files[1:3]], "md", robustness=True)
    across = TableOptions(across=("contexts",))
    text = report_text([own, *files[1:3]], "md", across, robustness=True)
    assert "All 2 definitions order 3 of 3 alike." in text


def test_every_family_of_citation_measures_says_how_it_defines_them() -> None:
    declared = [m for m in measures().values() if m.citation_quality is not None]
    assert {m.family for m in declared} >= {
        "rage",
        "alce",
        "attributed_ir",
        "trec",
        "fact",
        "kalma",
    }
    for measure in declared:
        assert measure.citation_quality is not None
        assert measure.higher_is_better
        for protocol in ("strict", "reference"):
            assert measure.citation_quality.why(protocol).endswith(".")


def test_all_formats(tmp_path: Path, inline: Inline) -> None:
    files = [f.model_copy(update={"system": HOSTILE}) if f.system == "A" else f
             for f in three_systems()]  # fmt: skip
    for number, one in enumerate(files):
        (tmp_path / f"{number}.json").write_text(one.model_dump_json())
    names = [f"{n}.json" for n in range(len(files))]
    text = inline("report", *names, "--robustness").stdout
    assert "| D1 CiteP · reference | precision |" in text
    assert "2 (50.00) | **1 (75.00)** | 3 (30.00) | 0.33 | 1 |" in text
    for ending in ("html", "json", "csv", "tex", "svg"):
        inline.ok("report", *names, "--robustness", "--out", f"r.{ending}")
    rows = list(csv.DictReader(io.StringIO((tmp_path / "r.csv").read_text())))
    assert [(r["measure"], r["system"], r["rank"]) for r in rows[1:3]] == [
        ("CiteP", "B", "1.0"), ("CiteP", "C", "3.0"),
    ]  # fmt: skip
    page = (tmp_path / "r.html").read_text()
    assert "<h2>Ranks under each definition</h2>" in page and 'id="plot-robustness"' in page
    assert "<img src=x" not in page
    assert r"\toprule" in (tmp_path / "r.tex").read_text()


@pytest.mark.parametrize(
    ("more", "code"),
    [
        (("--plot", "intervals"), "bad-option"),
        (("--best", "bold"), "conflicting-options"),
        (("--measure", "CiteP"), "conflicting-options"),
        (("--title", "x", "--out", "r.svg"), "option-without-effect"),
    ],
)
def test_options_of_other_reports_are_refused(
    tmp_path: Path, inline: Inline, more: tuple[str, ...], code: str
) -> None:
    for number, one in enumerate(three_systems()):
        (tmp_path / f"{number}.json").write_text(one.model_dump_json())
    inline.fails(2, code, "report", *[f"{n}.json" for n in range(6)], "--robustness", *more)
