"""Every verdict of the gate, and attempts to pass it without evidence."""

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

import citeforge as cf
from citeforge.reports.gate_outputs import to_markdown
from citeforge.schemas.scores import Corrected, NotComputed, ScoreFile, Variance
from conftest import Inline, refused
from conftest_plots import scored

N = 40


def values(mean: float, spread: float = 0.0, n: int = N) -> list[float]:
    """Half of the queries above the mean and half below, with this standard deviation."""
    return [mean + spread * (1 if i % 2 else -1) for i in range(n)]


def system(
    name: str, mean: float = 0.5, spread: float = 0.0, n: int = N, **measures: Any
) -> ScoreFile:
    file = scored(name, measures or {"CiteP": values(mean, spread, n)})
    return file.model_copy(update={"submission_sha256": sha256(name.encode()).hexdigest()})


def gate(new: ScoreFile, old: ScoreFile | None, **policy: Any) -> cf.Decision:
    baseline = [] if old is None else [cf.Scores(old)]
    return cf.gate(cf.Scores(new), baseline, policy=policy)


def counted(file: ScoreFile, **counts: int) -> ScoreFile:
    return file.model_copy(update={"counts": file.counts.model_copy(update=counts)})


def row_of(result: cf.Decision, group: str) -> Any:
    (row,) = [r for r in result.rows if r.group == group]
    return row


OLD = system("old")


def answers(name: str, n: int, losses: int = 0, gains: int = 0) -> ScoreFile:
    """Half of n queries are right, but for losses among them and gains among the others."""
    right = [1.0] * (n // 2) + [0.0] * (n // 2)
    right[:losses] = [0.0] * losses
    right[n // 2 : n // 2 + gains] = [1.0] * gains
    return system(name, CiteP=right)


@pytest.mark.parametrize(
    ("n", "losses", "gains", "verdict"),
    [
        (100, 0, 0, "not enough evidence"),  # up to 1 − .025^(1/100) = 3.62 are lost
        (130, 0, 0, "pass"),  # 1 − .025^(1/130) = 2.80
        (200, 1, 0, "pass"),  # Clopper & Pearson: at most 2.75
        (150, 1, 0, "not enough evidence"),  # at most 3.66
        (100, 5, 0, "not enough evidence"),  # signs of five: p = 2 / 2^5 = .0625
        (100, 9, 0, "fail"),  # p = 2 / 2^9 = .0039
        (100, 2, 14, "pass"),
    ],
)
def test_a_critical_measure(n: int, losses: int, gains: int, verdict: str) -> None:
    from scipy.stats import beta

    result = gate(answers("new", n, losses, gains), answers("old", n))
    row = row_of(result, "critical")
    assert (result.verdict, row.verdict, row.n, row.allowed) == (verdict, verdict, n, 3)
    assert row.difference == pytest.approx(100 * (gains - losses) / n)
    if not gains:
        assert row.low == pytest.approx(-100 * beta.ppf(0.975, losses + 1, n - losses), abs=0.04)
    assert (row.low >= -3) == (verdict == "pass")  # what is shown never crosses the margin


def test_changed_queries_are_counted_in_words() -> None:
    for losses, said in ((1, "of which 1 differs"), (9, "of which 9 differ")):
        text = to_markdown(gate(answers("new", 200, losses), answers("old", 200)))
        assert f"over 200 queries, {said}" in " ".join(text.split()).replace(" <br> ", " ")


def test_unchanged_answers_are_evidence_of_little() -> None:
    row = row_of(gate(answers("new", 30), answers("old", 30)), "critical")
    # 1 − .025^(1/30) = .116; log(.025) / log(1 − .03) = 121.1
    text = "0 of 30 answers differ: a loss of up to 11.6 points cannot be excluded; 3.00 less"
    assert text in row.sentence and "about 122 queries would show it" in row.sentence
    assert row.n_needed == 122


def test_the_same_answers_pass_by_identity() -> None:
    old = answers("old", 30)
    result = gate(other(old, system="new"), old)
    row = row_of(result, "critical")
    assert result.verdict == "pass" and "the same answers" in row.sentence
    # The same answers with other verdicts of a judge are tested.
    judged = other(answers("new", 30, 2), submission_sha256=old.submission_sha256)
    assert gate(judged, old).verdict == "not enough evidence"


def test_a_file_without_the_main_measure_of_the_others_decides_nothing() -> None:
    right = [1.0] * 200
    both = {"CiteP": right, "CiteF1@query": right}
    old, new = (other(system(name, **both), headline=["CiteF1@query"]) for name in ("old", "new"))
    part = other(system("new", CiteP=right), headline=["CiteF1@query"])
    assert gate(new, old).verdict == "pass"
    for a, b in ((part, old), (new, other(part, system="old"))):
        result = gate(a, b)
        assert result.verdict == "not enough evidence"
        assert "CiteF1@query" in row_of(result, "critical").sentence
    assert gate(part, system("old", CiteP=right)).verdict == "pass"


def test_a_fall_within_the_margin_says_why_it_fails() -> None:
    policy: dict[str, Any] = {"critical": {"CiteP": {"margin": 9.5, "relative": "100%"}}}
    row = row_of(gate(answers("new", 100, 9), answers("old", 100), **policy), "critical")
    assert row.verdict == "fail"
    assert "a fall is shown, and one of up to 16.4" in row.sentence
    assert "is not excluded; 9.50 less is allowed" in row.sentence


def test_no_number_of_queries_makes_up_for_failures_of_the_judge() -> None:
    counts = {"judge_failed": 100}
    new = counted(failing(system("new", 0.6, 0.01)), n_judge_failed=30)
    old = counted(system("old", 0.6), n_judge_failed=35)
    row = row_of(gate(new, old, counts=counts), "critical")
    assert (
        "35 and 30 failures of the judge (baseline and new) could lower it by 15.00" in row.sentence
    )
    assert "no number of queries makes up for them" in row.sentence and row.n_needed is None


def test_failures_in_the_new_file_are_no_reason_for_more_queries() -> None:
    """The value counts them as against: 45 of 45 to 65; up to 20 of the fall are theirs."""
    old = system("old", 0.6, 0.01)
    new = counted(failing(system("new", 0.45, 0.01)), n_judge_failed=61)
    named = "0 and 61 failures of the judge (baseline and new) could raise it by 20.00"
    for bound in (100, 0):
        row = row_of(gate(new, old, counts={"judge_failed": bound}), "critical")
        assert (row.verdict, row.n_needed) == ("not enough evidence", None)
        assert f"{named}; no number of queries makes up for them: judge these" in row.sentence
    tiers: dict[str, Any] = {"critical": ["CiteR"], "supporting": ["CiteP"]}
    pair = [system(n, CiteP=values(m, 0.01), CiteR=[1.0] * N) for n, m in (("a", 0.45), ("b", 0.6))]
    row = row_of(gate(counted(failing(pair[0]), n_judge_failed=61), pair[1], **tiers), "supporting")
    # 15 lower, and p = 2 / 10,001: only the failures keep it from being worse.
    assert row.verdict == "pass" and f"(p = 0.0002 after Holm); {named}." in row.sentence


def test_failures_of_a_measure_where_lower_is_better() -> None:
    """The value is at the end that is best: the failures could raise it, which is worse."""
    new, old = (system(n, **{"ALCE.Overcited": values(0.45, 0.01)}) for n in ("new", "old"))
    new = counted(failing(new), n_judge_failed=9)
    row = row_of(
        gate(new, old, counts={"judge_failed": 9}, critical=["ALCE.Overcited"]), "critical"
    )
    assert "0 and 9 failures of the judge (baseline and new) could raise it by 20.00 more" in (
        row.sentence
    )


def test_runs_that_differ_need_more_runs() -> None:
    new, old = answers("new", 2000, 20, 20), answers("old", 2000)
    variance = Variance.model_validate({
        "levels": {"judges": 1, "runs": 3, "repeats": 1, "queries": 2000},
        "components": {"runs": 12.0, "queries": 9.0, "runs:queries": 0.0}, "shares": {},
    })  # fmt: skip
    new.measures[0].variance = variance
    row = row_of(gate(new, old), "critical")
    # 12 / 3 of 2 degrees of freedom, t = 4.303: √(8.61² − .68²), and the margin is 3.
    assert row.verdict == "not enough evidence" and row.n_needed is None
    assert "8.58 by runs and verdicts; no number of queries makes up for that" in row.sentence


def test_a_low_baseline_has_a_smaller_margin() -> None:
    # 20 % of 10 points are 2; a loss of 1.5 is allowed, one of 2.5 is not.
    low = system("old", 0.1, n=1000)
    some, more = system("new", 0.085, 0.01, 1000), system("new", 0.075, 0.01, 1000)
    assert row_of(gate(some, low), "critical").allowed == pytest.approx(2)
    assert gate(some, low).verdict == "pass"
    assert gate(more, low).verdict == "fail"
    assert gate(more, low, relative="50%").verdict == "pass"


def test_lower_may_be_better() -> None:
    old = system("old", **{"ALCE.Overcited": values(0.5)})
    for mean, verdict in ((0.4, "pass"), (0.6, "fail")):
        new = system("new", **{"ALCE.Overcited": values(mean, 0.02)})
        assert gate(new, old, critical=["ALCE.Overcited"]).verdict == verdict


def test_tiers() -> None:
    same = values(0.5, n=400)
    old = system("old", CiteF1=same, CiteP=same, Length=same)

    def new(mean: float, spread: float) -> ScoreFile:  # fmt: skip
        worse = values(mean, spread, 400)
        return system("new", CiteF1=values(0.5, 0.01, 400), CiteP=worse, Length=values(0.1, n=400))

    supporting: dict[str, Any] = {"supporting": ["CiteP"], "advisory": ["Length"]}
    assert gate(new(0.48, 0.3), old, **supporting).verdict == "pass"  # −2 ± 2.95: not shown
    assert gate(new(0.45, 0.1), old, **supporting).verdict == "fail"
    assert gate(new(0.45, 0.1), old, advisory=["CiteP", "Length"]).verdict == "pass"
    assert gate(new(0.48, 0.3), old, critical=["CiteP"]).verdict == "not enough evidence"


def test_holm_over_the_rows_that_can_fail() -> None:
    """−2.5 ± 2.27 alone has p near .03; of two such, each has to stay below .025."""
    worse = {"CiteP": values(0.475, 0.07), "CiteR": values(0.475, 0.07)}
    new, old = system("new", **worse), system("old", CiteP=values(0.5), CiteR=values(0.5))
    one = gate(new, old, critical={"CiteP": {"margin": 1}})
    assert one.verdict == "fail"
    two = gate(new, old, critical={"CiteP": {"margin": 1}}, supporting=["CiteR"])
    assert row_of(two, "critical").p == pytest.approx(2 * row_of(one, "critical").p)
    assert two.verdict == "not enough evidence"


GOOD = system("new", 0.6, 0.01)


def other(file: ScoreFile, **changes: Any) -> ScoreFile:
    return file.model_copy(update=changes, deep=True)


def signed(file: ScoreFile, old: str, new: str) -> ScoreFile:
    copy = other(file)
    copy.measures[0].signature = copy.measures[0].signature.replace(old, new)
    return copy


def without(file: ScoreFile) -> ScoreFile:
    missing = [NotComputed(name="CiteP", reason="needs a judge")]
    return other(file, measures=[], not_computed=missing)


def failing(file: ScoreFile) -> ScoreFile:
    """The judge failed so often that the value lies anywhere between 45 and 65."""
    copy = other(file)
    copy.measures[0].lower_bound, copy.measures[0].upper_bound = 45.0, 65.0
    return copy


def few(file: ScoreFile, n: int) -> ScoreFile:
    return scored(file.system, {"CiteP": file.measures[0].per_query[:n]})


def undefined(file: ScoreFile) -> ScoreFile:
    """The measure is defined on the easier half alone."""
    return system(file.system, CiteP=[v if n % 2 else None for n, v in enumerate(values(0.9))])


@pytest.mark.parametrize(
    ("new", "old", "verdict"),
    [
        pytest.param(GOOD, None, "could not run", id="a first run"),
        pytest.param(
            signed(GOOD, "v:1", "v:2"), OLD, "not enough evidence", id="another version"
        ),
        pytest.param(
            signed(GOOD, "bench:x@1", "bench:x@2"), OLD, "not enough evidence", id="another hash"
        ),
        pytest.param(
            other(GOOD, query_ids=[f"p{i}" for i in range(N)]), OLD, "not enough evidence",
            id="other queries",
        ),
        pytest.param(other(GOOD, benchmark="y"), OLD, "not enough evidence", id="a benchmark"),
        pytest.param(other(GOOD, context="easy"), OLD, "not enough evidence", id="a context"),
        pytest.param(
            other(GOOD, protocol="reference"), OLD, "not enough evidence", id="a protocol"
        ),
        pytest.param(
            counted(GOOD, n_answered=20, n_missing=20), OLD, "fail", id="half of the answers"
        ),
        pytest.param(
            GOOD, counted(OLD, n_answered=20, n_missing=20), "not enough evidence",
            id="half a baseline",
        ),
        pytest.param(
            counted(GOOD, n_judge_failed=1), OLD, "not enough evidence", id="a judge that failed"
        ),
        pytest.param(
            GOOD, counted(OLD, n_judge_failed=1), "not enough evidence",
            id="a judge that failed on the baseline",
        ),
        pytest.param(counted(GOOD, n_truncated=3), OLD, "fail", id="cut answers"),
        pytest.param(without(GOOD), OLD, "not enough evidence", id="a measure is missing"),
        pytest.param(GOOD, without(OLD), "not enough evidence", id="the baseline lacks it"),
        pytest.param(few(GOOD, 19), few(OLD, 19), "not enough evidence", id="few queries"),
        pytest.param(undefined(GOOD), OLD, "not enough evidence", id="defined on half"),
    ],
)  # fmt: skip
def test_what_never_passes(new: ScoreFile, old: ScoreFile | None, verdict: str) -> None:
    assert gate(GOOD, OLD, critical=["CiteP"]).verdict == "pass"
    assert gate(new, old, critical=["CiteP"]).verdict == verdict


def test_two_truncated_answers_are_within_five_percent() -> None:
    assert gate(counted(GOOD, n_truncated=2), OLD).verdict == "pass"
    assert gate(counted(GOOD, n_truncated=1), OLD, counts={"truncated": 0}).verdict == "fail"
    assert gate(counted(GOOD, n_truncated=9), OLD, counts={"truncated": None}).verdict == "pass"


def test_refusals_have_a_bound() -> None:
    """21 of 100 answers are above 20 %; without a bound any number passes."""
    n = GOOD.counts.n_answered + GOOD.counts.n_missing
    new = counted(GOOD, n_refused=n // 5 + 1)
    assert gate(new, OLD).verdict == "pass"
    decision = gate(new, OLD, counts={"refused": "20%"})
    (row,) = (row for row in decision.rows if row.name == "refusals")
    assert (decision.verdict, row.new, row.allowed) == ("fail", n // 5 + 1, n // 5)
    assert f"{n // 5 + 1} of {n} answers say that they cannot answer; at most {n // 5}" in (
        row.sentence
    )


def test_allowed_failures_of_the_judge_count_at_their_worst() -> None:
    """10 ± 0.3 points better, of which verdicts that are missing may take 60 − 45 = 15."""
    allowed = {"judge_failed": 50}
    bad = counted(failing(GOOD), n_judge_failed=9)
    assert gate(counted(GOOD, n_judge_failed=9), OLD, counts=allowed).verdict == "pass"
    assert gate(bad, OLD, counts=allowed).verdict == "not enough evidence"
    # The baseline may have 65: 60 − 65 = −5.
    baseline = counted(failing(OLD), n_judge_failed=9)
    assert gate(GOOD, baseline, counts=allowed).verdict == "not enough evidence"


def test_a_context_of_the_baseline_that_is_not_scored() -> None:
    hard = other(OLD, context="hard")
    result = cf.gate(cf.Scores(GOOD), [cf.Scores(OLD), cf.Scores(hard)])
    assert result.verdict == "not enough evidence"
    assert "context hard" in row_of(result, "files").sentence
    both = [cf.Scores(GOOD), cf.Scores(other(GOOD, context="hard"))]
    result = cf.gate(both, [cf.Scores(OLD), cf.Scores(hard)])
    assert result.verdict == "pass"
    assert [r.place for r in result.rows if r.group == "critical"] == ["mix", "hard"]


@pytest.mark.parametrize(
    ("new", "old", "code"),
    [
        ([GOOD], [system("a"), system("b")], "ambiguous-baseline"),
        ([GOOD, other(GOOD)], [OLD], "duplicate-name"),
        ([GOOD], [GOOD], "same-file"),
        ([], [OLD], "missing-option"),
        ([system("new", Length=values(0.5))], [], "missing-option"),
    ],
)
def test_files_that_cannot_be_told_apart(
    new: Sequence[ScoreFile], old: Sequence[ScoreFile], code: str
) -> None:
    with refused(code, cf.UsageError):
        cf.gate([*map(cf.Scores, new)], [*map(cf.Scores, old)])


def test_the_baseline_of_the_same_system_is_taken() -> None:
    result = cf.gate(cf.Scores(GOOD), [cf.Scores(system("new")), cf.Scores(system("b", 0.9))])
    assert (result.verdict, result.baseline) == ("pass", ["new · baseline"])


def test_changed_values_are_refused() -> None:
    better = other(system("new", 0.3))
    better.measures[0].value = 90.0
    with refused("inconsistent-scores", cf.InputError, path="new.jsonl"):
        gate(better, OLD)
    hidden = other(GOOD, gold="withheld")
    with refused("hidden-gold", cf.InputError):
        gate(hidden, OLD)


def test_what_is_noted() -> None:
    new = other(GOOD, submission_sha256=OLD.submission_sha256)
    notes = gate(new, other(OLD, is_control=True)).notes
    assert "new and the baseline old are scores of the same answers" in notes
    assert "the baseline old is a reference line, not a system" in notes


def test_required_queries() -> None:
    new = system("new", CiteP=[0.0, *values(0.6)[1:]], ShortEM=[None, *values(1.0)[1:]])
    old = system("old", CiteP=values(0.5), ShortEM=values(1.0))

    def verdict(**query: Any) -> str:
        return gate(new, old, critical=["CiteP"], required=[query]).verdict

    assert verdict(query="q1", measure="CiteP") == "pass"
    assert verdict(query="q1", measure="CiteP", at_least=61) == "fail"
    assert verdict(query="q1", measure="CiteP", at_most=59) == "fail"
    assert verdict(query="q0", measure="CiteP") == "fail"  # 0, and the baseline has 50
    assert verdict(query="q0", measure="ShortEM") == "not enough evidence"
    assert verdict(query="q1", measure="CiteP", at_least=50, context="mix") == "pass"
    for place, name in ((("gone", None), "query"), (("q1", "gone"), "context")):
        with refused("unknown-name", cf.InputError, field=f"required.0.{name}"):
            verdict(query=place[0], measure="CiteP", context=place[1])


def corrected(file: ScoreFile, human: list[float], labelled: int = 30) -> ScoreFile:
    copy = other(file)
    (entry,) = copy.measures
    entry.corrected = Corrected(
        value=100 * float(np.mean(human)), low=0, high=100, stderr=1, method="ppi++",
        n_labels=labelled, signature=f"{entry.signature}|corr:ppi++,n={labelled}",
        human=[v if n < labelled else None for n, v in enumerate(human)],
        labelled=list(range(labelled)),
    )  # fmt: skip
    return copy


def test_labels_decide_where_both_have_them() -> None:
    """The judge finds the new system 10 points better, people find it 20 points worse."""
    rng = np.random.default_rng(1)
    new = corrected(GOOD, (0.3 + rng.normal(0, 0.05, N)).tolist())
    old = corrected(OLD, values(0.5))
    result = gate(new, old)
    assert result.verdict == "fail"
    assert row_of(result, "critical").difference == pytest.approx(-20, abs=2)
    assert gate(new, OLD).verdict == "pass"  # labels of one system alone say nothing of the other
    few = corrected(old, values(0.5), 5)
    assert any("not corrected" in note for note in gate(new, few).notes)


def write(folder: Path, *files: ScoreFile) -> None:
    for file in files:
        (folder / f"{file.system}.json").write_text(file.model_dump_json())


def test_the_command(inline: Inline, tmp_path: Path) -> None:
    write(tmp_path, GOOD, OLD, system("bad", 0.3, 0.01), system("open", 0.5, 0.3))
    outs = ("--out", "g.xml", "--out", "g.md", "--out", "g.json")
    place = "x@11111111, context mix, protocol strict: 40 queries"
    for name, exit_code, code in (
        ("new", 0, ""), ("bad", 1, "gate-failed"), ("open", 4, "not-enough-evidence")
    ):  # fmt: skip
        summary = tmp_path / f"{name}.summary"
        ran = inline.fails(exit_code, code, 
            "gate", f"{name}.json", "--baseline", "old.json", *outs,
            COLUMNS="80", GITHUB_STEP_SUMMARY=str(summary),
        )  # fmt: skip
        assert max(map(len, ran.stdout.splitlines())) <= 80
        verdict = json.loads((tmp_path / "g.json").read_text())["verdict"]
        assert ran.stdout.startswith(f"{verdict}: {name} against old")
        suite = ElementTree.parse(tmp_path / "g.xml").getroot()[0]
        output = str(suite.findtext("system-out"))
        assert output.startswith(f"note: {place}\n") and "\nsignature: CiteP|" in output
        assert (suite.get("failures"), suite.get("errors")) == (
            str(int(exit_code == 1)), str(int(exit_code == 4)),
        )  # fmt: skip
        assert summary.read_text() == (tmp_path / "g.md").read_text() + "\n"
        assert f"### citeforge gate: {verdict}\n" in summary.read_text()


def test_folders_of_score_files(inline: Inline, tmp_path: Path) -> None:
    for folder, file in (("a", GOOD), ("b", OLD)):
        (tmp_path / folder).mkdir()
        write(tmp_path / folder, file)
    inline.ok("gate", "a", "--baseline", "b")
    (tmp_path / "c").mkdir()
    assert inline("gate", "a", "--baseline", "c").code == "missing-file"


HOSTILE = "<img src=x> @team ``` [a](https://x.y) | \x1b[31m"


def test_names_act_on_nothing(tmp_path: Path) -> None:
    new = other(GOOD, system=HOSTILE, context="@me <b>|`x`")
    pair = [cf.Scores(other(OLD, context="@me <b>|`x`")), cf.Scores(OLD)]
    result = cf.gate([cf.Scores(new), cf.Scores(GOOD)], pair, out=tmp_path / "g.xml")
    page = to_markdown(result)
    assert not any(mark in page for mark in ("<b>", "<img", "@me", "@team", "`x`", " ```", "s://x"))
    assert len({line.count(" | ") for line in page.splitlines() if line.startswith("|")}) == 1
    # Sentences are items of lists, which wrap; a line of a code block would be cut.
    assert "- pass: " in page and not any(line.startswith("```") for line in page.splitlines())
    cases = ElementTree.parse(tmp_path / "g.xml").getroot().iter("testcase")
    assert any("@me <b>|`x`" in case.get("name", "") for case in cases)
    assert HOSTILE.partition("\x1b")[0] in str(result)
    assert "<img" not in result._repr_html_()
