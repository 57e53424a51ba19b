"""Measures as objects: a stranger's, names with parameters, what is collected."""

import math
import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.engines import plugins
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession
from citeforge.evaluator.measures import declared as declarations
from citeforge.evaluator.measures.declared import per_answer
from citeforge.evaluator.measures.handed import Answer, Asking
from citeforge.evaluator.measures.registry import (
    BUILT_IN,
    families,
    find_measure,
    measures,
    select,
)
from citeforge.evaluator.measures.values import ByAnswer, Value
from citeforge.evaluator.statistics.estimates import estimate_value
from citeforge.evaluator.submissions.inputs import Inputs
from citeforge.evaluator.submissions.tools import CannotError, Need, ScoringTools
from conftest import refused, write_jsonl
from conftest_evaluator import Facts, Measure, gold

STRANGER = '''"""Answers that name a digit, and how many words they have."""

from citeforge.evaluator.measures.declared import COUNT, Need, per_answer

__version__ = "1.2"


@per_answer("strange", missing=0, source="here")
def has_digit(answer):
    """1 where the output has a digit, or none at all; undefined for an empty answer."""
    if not answer.output and not answer.is_missing:
        return None
    return float(answer.is_missing or any(c.isdigit() for c in answer.output))


@per_answer("strange", needs=(Need.PASSAGES,), source="here")
def passages(answer):
    """Passages shown."""
    return len(answer.passages)


MEASURES = (
    has_digit.measure("Digit", "answers with a digit"),
    passages.measure("Shown", "passages shown", **COUNT),
)
PLUGINS = {"measures": MEASURES}
'''
"""One file of fewer than 40 lines."""


@pytest.fixture
def stranger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The stranger's file, for one test."""
    monkeypatch.setenv(plugins.VARIABLE, "")
    path = tmp_path / "stranger.py"
    path.write_text(STRANGER)
    plugins.add_file(path)


@pytest.mark.usefixtures("stranger")
def test_a_strangers_measure_is_one_file(package: Path) -> None:
    assert len(STRANGER.splitlines()) <= 40
    assert families()[-1] == "strange"
    benchmark = cf.load(package)
    lines = [{"query_id": q, "output": text} for q, text in
             zip(benchmark.query_ids, ("In 1964.", "Long ago.", ""), strict=False)]  # fmt: skip
    result = cf.score(lines, benchmark, ["strange", "CiteP"])
    digit, shown = result["Digit"], result["Shown"]
    # One of the 29 answers that count (two given, 27 missing) has a digit; the empty one leaves.
    assert digit.value == pytest.approx(100 * 1 / (2 + 27))
    assert (digit.n, digit.n_undefined) == (29, 1)
    sizes = benchmark.context("mix").sizes
    assert shown.value == pytest.approx(sum(sizes) / len(sizes))
    assert "|plug:stranger.py 1.2|" in digit.signature
    assert "plug" not in result["CiteP"].signature


@pytest.mark.usefixtures("stranger")
def test_a_missing_answer_has_the_worst_value(package: Path) -> None:
    """Whatever a plugin's function says of an empty output; measures of retrieval see no answer."""
    benchmark = cf.load(package)
    half = len(benchmark.query_ids) // 2
    lines = [{"query_id": q, "output": "In 1831 [1]."} for q in benchmark.query_ids[:half]]
    names = [
        m.name for m in measures().values()
        if m.reads == "passages" and m.higher_is_better and m.family not in ("retrieval", "strange")
    ]  # fmt: skip
    result = cf.score(lines, benchmark, ["Digit", *names], judge="lexical")
    assert {"Digit", "CiteP", "ALCE.CitRec", "NLI.prec", "TREC.HP"} <= set(result)
    for entry in result.file.measures:
        worst = 0.0 if entry.name == "Digit" else find_measure(entry.name).low
        values = {v for v in entry.per_query[half:] if not math.isnan(v)}
        assert values <= {worst}, entry.name


@pytest.mark.usefixtures("stranger")
def test_what_clashes_is_told_of_and_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    again = STRANGER.replace('"Digit"', '"P@7"').replace('"Shown"', '"rage"')
    path = tmp_path / "again.py"
    path.write_text(
        again + "PLUGINS['measures'] += (type('Odd', (), {'name': 'Odd'})(), has_digit)\n"
    )
    plugins.add_file(path)
    assert list(measures())[-2:] == ["Digit", "Shown"]
    told = capsys.readouterr().err
    assert "again.py 1.2: there is a measure 'P@7' already" in told
    assert "again.py 1.2: there is a measure 'rage' already" in told
    assert told.count("is no measure") == 2  # what is no record, and a group of measures
    assert select(["P@7"])[0].origin is None


def test_each_field_of_a_measure_can_be_declared() -> None:
    of_group = {"name", "family", "definition", "group", "origin"}
    every = {field.name for field in fields(declarations.Measure)}
    assert set(declarations.Facts.__annotations__) == every - of_group


def test_any_cutoff(measure: Measure) -> None:
    relevant = ["p1", "p3", "p9"]
    names = ["P@2", "P@4", "R@4", "nDCG@4"]
    result = measure(["x"], names, passages=["a", "b", "c", "d"], quotes=[relevant])
    assert result["P@2"] == [1 / 2]
    assert result["P@4"] == [2 / 4]  # not listed, and computed all the same
    assert result["R@4"] == [2 / 3]
    reference = measure(
        ["x"], ["P@7"], passages=["a", "b"], quotes=[relevant], protocol="reference"
    )
    assert reference["P@7"] == [1 / 2]  # divided by what was retrieved
    assert measure(["x"], ["P@7"], passages=["a", "b"], quotes=[relevant])["P@7"] == [1 / 7]


def test_measures_follow_their_like() -> None:
    names = [m.name for m in select(["nDCG@4", "P@12", "retrieval", "P@7", "CiteP", "P@7"])]
    assert names == [
        "CiteP", "P@1", "P@2", "P@3", "P@5", "P@10", "P@7", "P@12", "R@1", "R@2", "R@3", "R@5",
        "R@10", "nDCG@1", "nDCG@2", "nDCG@3", "nDCG@5", "nDCG@10", "nDCG@4",
    ]  # fmt: skip


def test_parameters_of_names() -> None:
    assert dict(select(["P@7"])[0].parameters) == {"base": "P", "cutoff": 7}
    for name, expected in (
        ("ROUGE-Lsum.F", {"part": "F", "references": "best"}),
        ("ROUGE-Lsum.P@1gold", {"part": "P", "references": "1gold"}),
        ("BLEU@1gold", {"references": "1gold"}),
    ):
        (one,) = select([name])
        assert {k: one.parameters[k] for k in expected} == expected
        assert (one.name, measures()[name]) == (name, one)


@pytest.mark.parametrize(
    ("name", "example"), [("P@0", "P@5"), ("nDCG@-3", "nDCG@5"), ("R@05", "R@5"), ("P", "P@5")]
)
def test_bad_parameters_are_answered_with_good_ones(name: str, example: str) -> None:
    with refused("bad-option", cf.UsageError) as caught:
        select([name])
    assert str(caught.value).endswith(f"a whole number of at least 1, as in {example}")
    assert find_measure(name) is None


def test_other_names_are_unknown() -> None:
    for name in ("P5", "ROUGE", "nDCG.F@5", "Citep", "BERTScore", "BLEU@2gold", "ROUGE-Lsum.F@5"):
        with refused("unknown-name", noun="measure", value=name):
            select([name])


def test_a_family_is_what_is_listed() -> None:
    assert [m.name for m in select(["retrieval"]) if m.name.startswith("P@")] == [
        "P@1", "P@2", "P@3", "P@5", "P@10"
    ]  # fmt: skip
    own = tuple(dict.fromkeys(m.family for m in BUILT_IN))
    assert families()[: len(own)] == own
    # Then those of plugins, by the plugins' names.
    assert {"deflection", "fact", "trec", "wrong"} <= {*families()[len(own) :]}


def test_what_measures_share_is_computed_once_for_each_repeat(package: Path) -> None:
    asked: list[int] = []

    def share(answers: Inputs) -> int:
        assert answers.tools.judge is not None
        asked.append(answers.tools.judge.repeat)
        if asked[-1] == 1:
            raise CannotError("failed", code="judge-failed")
        return len(asked)

    benchmark, tools = cf.load(package), ScoringTools(JudgeSession(Facts()))
    answers = Inputs(benchmark, [], benchmark.grammar, "", tools)
    assert answers.tools.judge is not None
    assert [answers.once(share), answers.once(share)] == [1, 1]
    answers.tools.judge.repeat = 1
    for _ in range(2):  # an error is remembered, too
        with refused("judge-failed", CannotError):
            answers.once(share)
    assert asked == [0, 1]


@pytest.mark.parametrize("names", ["rage", "rage,ALCE.Length,retrieval"])
def test_a_submission_is_opened_five_times(package: Path, tmp_path: Path, names: str) -> None:
    """For what it is, its header, the build it names, its answers, and its own hash."""
    opened = []

    def hook(event: str, args: tuple[Any, ...]) -> None:  # stays, and sees this file alone
        if event == "open" and args[0] == str(path):
            opened.append(path)

    benchmark = cf.load(package)
    path = write_jsonl(
        tmp_path / "s.jsonl", [{"query_id": q, "output": "A [1]."} for q in benchmark.query_ids]
    )
    sys.addaudithook(hook)
    cf.score(path, benchmark, names.split(","), details=True)
    assert len(opened) == 5


def test_the_corpus_is_streamed_once(package: Path, tmp_path: Path) -> None:
    streamed = []

    class Watched(cf.Benchmark):
        def texts(self, wanted: Any) -> dict[str, tuple[str, str]]:
            streamed.append(self.folder)
            return super().texts(wanted)

    benchmark = Watched(package)
    rows = [{"query_id": q, "output": "A [1]."} for q in benchmark.query_ids]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    names = ["rage", "ALCE.Length", "retrieval"]
    result = cf.score(path, benchmark, names, details=True).file
    assert streamed == [package]
    assert result.answers[0].statements[0].cited == [0]
    assert result.answers[0].passages[0].label in ("relevant", "irrelevant", "seemingly_relevant")
    cf.score(path, benchmark, ["rage"])  # numbers alone: no text is needed at all
    assert streamed == [package]


def test_citations_without_a_word_are_kept(package: Path) -> None:
    """As `random` and `echo-relevant` answer; the last number was not shown."""
    rows = [{"query_id": q, "output": "[2][1] [2] [99]"} for q in cf.load(package).query_ids]
    (answer, *_) = cf.score(rows, package, ["rage"], details=True).file.answers
    assert answer.statements == []
    assert (answer.cited, answer.wrong) == ([1, 0], 1)
    assert (answer.all_cited, answer.n_not_shown) == ({0, 1}, 1)


_USES: dict[Need, Callable[[Answer], object]] = {
    Need.PASSAGES: lambda answer: answer.passages[0].text,
    Need.GOLD: lambda answer: answer.gold.qa_pairs,
    Need.STATEMENTS: lambda answer: answer.statements,
    Need.SEGMENTER: lambda answer: answer.submission.tools.get_segmenter().signature,
    Need.JUDGE: lambda answer: answer.submission.tools.get_judge().repeat,
    Need.BENCHMARK: lambda answer: answer.submission.benchmark.gold_rows,
    Need.LLM: lambda answer: bool(answer.submission.tools.llm and answer.submission.tools.llm.name),
}


def declared(name: str, needs: Collection[Need], function: Callable[[Answer], object]) -> Any:
    """A measure that uses something of each answer, and is 1."""

    @per_answer("mine", needs=needs, source="ours")
    def used(answer: Answer) -> int:
        function(answer)
        return 1

    return used.measure(name, "uses something")


@pytest.mark.parametrize(
    ("forgotten", "use"),
    [*_USES.items(), (Need.GOLD, lambda answer: answer.submission.relevant_ids)],
)
def test_a_measure_is_handed_nothing_that_it_does_not_declare(
    measure: Measure, forgotten: Need, use: Callable[[Answer], object],
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    """What is forgotten is named, and the same measure with it declared has its value."""
    others = [need for need in _USES if need is not forgotten]
    both = [declared("Forgetful", others, use), declared("Whole", [forgotten], use)]
    monkeypatch.setattr("conftest_evaluator.select", lambda names: both)
    result = measure(["A holds [1]."], ["mine"], gold=[[gold("qa_pair", "q", aliases=["A"])]])
    wanted = f"its declaration lacks {forgotten} in `needs` (docs/extend.md)"
    assert result == {"Forgetful": wanted, "Whole": [1 / 1]}


def test_the_judge_is_asked_of_all_answers_at_once(
    measure: Measure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In each of two waves. A holds, so that B is asked of the second answer alone; ``#`` fails."""
    waves: list[list[Pair]] = []

    class Recorder(Facts):
        def decide(self, pairs: Sequence[Pair], keep: Any) -> None:
            waves.append([*pairs])
            super().decide(pairs, keep)

    @per_answer("mine", needs=(Need.PASSAGES, Need.STATEMENTS, Need.JUDGE), source="ours")
    def supported(answer: Answer) -> Asking[Value]:
        (first,) = yield [Pair(answer.passages[0].text, s.text) for s in answer.statements]
        if first.low:
            return first
        (second,) = yield [Pair(answer.passages[1].text, s.text) for s in answer.statements]
        return Value.best([first, second])

    monkeypatch.setattr(
        "conftest_evaluator.select", lambda names: [supported.measure("Holds", "holds")]
    )
    outputs = ["A holds.", "B holds.", "C holds."]
    result = measure(outputs, ["mine"], passages=["A", "B"], judge=Recorder())
    assert result["Holds"] == [1, 1, 0]
    assert [sorted(p.hypothesis[0] for p in wave) for wave in waves] == [
        ["A", "B", "C"],
        ["B", "C"],
    ]
    assert measure(outputs[:1], ["mine"], passages=["#", "B"])["Holds/upper"] == [1]


def test_reducers_by_hand() -> None:
    """Answer 1 has 1 of 2, answer 2 has 0 to 2 of 4, and the third none."""
    results = ByAnswer({(0, 0): (Value(1, 1), 2), (0, 1): (Value(0, 2), 4)}, (1, 3))
    mean = results.mean(lambda one: one[0] / one[1])
    ratio = results.ratio(lambda one: one)
    assert mean.upper is not None
    assert ratio.upper is not None
    assert estimate_value(mean).value == (1 / 2 + 0 / 4) / 2
    assert estimate_value(mean.upper).value == (1 / 2 + 2 / 4) / 2
    assert estimate_value(ratio).value == (1 + 0) / (2 + 4)
    assert estimate_value(ratio.upper).value == (1 + 2) / (2 + 4)
    assert np.isnan(mean.per_query[0, 2])
