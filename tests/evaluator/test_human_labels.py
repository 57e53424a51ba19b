"""Corrected scores: labels of people, read and held against answers, with hand-worked values."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.engines.judge.no_model import LexicalJudge
from citeforge.engines.judge.session import JudgeSession
from citeforge.engines.running.names import make_segmenter
from citeforge.evaluator.compare import compare_many
from citeforge.evaluator.corrected_ranks import corrected_ranks
from citeforge.evaluator.corrections import Correction, LabelCorrection, RateCorrection
from citeforge.evaluator.label_files import read_labels
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.statistics.bounds import mean_interval
from citeforge.evaluator.statistics.error_rates import Rates
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.submissions.tools import ScoringTools
from citeforge.plugins.labels.options import LabelPlanOptions
from citeforge.plugins.labels.planning import plan_labelling
from citeforge.reports.terminal import render_differences, render_scores
from citeforge.schemas.scores import MeasureScore, ScoreFile
from conftest import refused, write_jsonl
from scoring import score

MEASURES = "ALCE.CitRec,ALCE.CitPrec,ALCE.CitF1,AutoAIS.cit,NLI.rec,CiteP"
ANSWER = "Xylo {0} is so [1]. Yttrium {0} is so [1][2]. Zinc is uncited."
T_11 = 2.200985160082949  # 97.5 % point of Student's t with 11 degrees of freedom


def labels(n: int, system: str = "one") -> list[dict[str, Any]]:
    """Of the first n answers. Even ones: both cited statements are supported, the second citation
    of the second is needless; odd ones: only the second is, in part by its first citation."""
    rows = []
    for query in range(n):
        said: list[tuple[int, int | None, str]] = [
            (0, None, "full"), (1, None, "full"), (2, None, "not"), (0, 0, "full"),
            (1, 0, "full"), (1, 1, "not"),
        ]  # fmt: skip
        if query % 2:
            said[0], said[3], said[4] = (0, None, "not"), (0, 0, "not"), (1, 0, "partial")
        for statement, citation, label in said:
            place = {"statement": statement} | ({} if citation is None else {"citation": citation})
            rows.append({"system": system, "query_id": query, **place, "label": label})
    return rows


def said(query: int) -> list[str]:
    """Statements of an answer, with other spaces than it has."""
    return ANSWER.format(query).replace("so [1][2]", "so  [1] [2]").split(". ")


def named(benchmark: Benchmark, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{**r, "query_id": benchmark.query_ids[r["query_id"]]} for r in rows]


def scored(
    tmp_path: Path,
    benchmark: Benchmark,
    rows: list[dict[str, Any]] | None = None,
    n_uncited: int = 0,
    name: str = "one",
    answer: str = ANSWER,
    rates: Rates | None = None,
) -> ScoreFile:
    n = len(benchmark.query_ids)
    answers = [answer.format(i) if i < n - n_uncited else "Nothing is cited." for i in range(n)]
    submission = [{"submission": {"system": name}}] + [
        {"query_id": q, "output": a} for q, a in zip(benchmark.query_ids, answers, strict=True)
    ]
    path = write_jsonl(tmp_path / f"{name}.jsonl", submission)
    result = []
    if rows is not None:
        result = read_labels(write_jsonl(tmp_path / "labels.jsonl", named(benchmark, rows)))
    tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
    correction: Correction | None = None if rates is None else RateCorrection(rates, "test")
    if result:
        correction = LabelCorrection(result)
    return score(path, benchmark, select(MEASURES.split(",")), tools=tools, correction=correction)


def entry(file: ScoreFile, name: str) -> MeasureScore:
    return next(m for m in file.measures if m.name == name)


def test_labels_by_hand(tmp_path: Path, benchmark: Benchmark) -> None:
    file = scored(tmp_path, benchmark, labels(12))
    # The judge supports nothing, so it has no weight: the values are the means of the labels.
    expected = {
        "ALCE.CitRec": (2 / 3 + 1 / 3) / 2,  # 2 of 3 statements; 1 of 3
        "NLI.rec": (2 / 3 + 1 / 3) / 2,
        "ALCE.CitPrec": (2 / 3 + 1 / 3) / 2,  # of 3 citations: 1 and 1 of 2; 0 and 1 of 2
        "ALCE.CitF1": 0.5,
        "AutoAIS.cit": (2 / 3 + 0) / 2,  # some citation supports it fully
    }
    for name, value in expected.items():
        result = entry(file, name)
        assert result.value == 0, name
        assert result.corrected is not None, name
        assert result.corrected.value == pytest.approx(100 * value), name
        assert (result.corrected.method, result.corrected.n_labels) == ("ppi++", 12)
        assert result.corrected.tuning == 0
        assert "|corr:ppi++,n=12|" in result.corrected.signature
        assert "corr:" not in result.signature
    assert entry(file, "CiteP").corrected is None
    recall = entry(file, "ALCE.CitRec").corrected
    assert recall is not None
    # Wilson's with the effective number of answers: as many zeros and ones vary like this.
    variance = (1 / 6) ** 2 * (12 / 11) / 12
    n = 0.5 * (1 - 0.5) / variance * 12 / 11
    half = T_11 / (1 + T_11**2 / n) * math.sqrt(0.25 / n + T_11**2 / 4 / n**2)
    assert recall.low == pytest.approx(100 * (0.5 - half))
    assert recall.labels_high == pytest.approx(100 * (0.5 + half))
    assert recall.labelled == list(range(12))
    assert recall.human[:2] == pytest.approx([2 / 3, 1 / 3])
    assert recall.human[12:] == [None] * 18
    table = render_scores([file])
    assert "ALCE.CitRec corrected" in table
    assert "PPI++ with 12 labelled answers" in table


def test_measures_that_labels_of_statements_do_not_decide(
    tmp_path: Path, benchmark: Benchmark
) -> None:
    scored(tmp_path, benchmark, labels(12))
    correction = LabelCorrection(read_labels(tmp_path / "labels.jsonl"))
    tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
    wanted = select(["AutoAIS.psg", "TREC.WP", "TREC.WR"])
    file = score(tmp_path / "one.jsonl", benchmark, wanted, tools=tools, correction=correction)
    assert entry(file, "AutoAIS.psg").corrected is None
    assert any("AutoAIS.psg is not corrected: it reads all passages" in w for w in file.warnings)
    precision, recall = (entry(file, name).corrected for name in ("TREC.WP", "TREC.WR"))
    assert precision is not None and recall is not None
    # Citations: full, full and not of 3; not, partial (half) and not. The best of each statement,
    # of 3: 1 + 1; 0 + .5.
    assert precision.value == pytest.approx(100 * (2 / 3 + 0.5 / 3) / 2)
    assert recall.value == pytest.approx(100 * (2 / 3 + 0.5 / 3) / 2)


def test_answers_that_cite_nothing_need_no_labels(tmp_path: Path, benchmark: Benchmark) -> None:
    result = entry(scored(tmp_path, benchmark, labels(12), n_uncited=6), "ALCE.CitRec").corrected
    assert result is not None
    assert result.value == pytest.approx(100 * 0.5 * 24 / 30)
    assert result.human[24:] == [0.0] * 6


def test_differences_are_corrected_as_differences(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = labels(12)
    one = scored(tmp_path, benchmark, rows)
    # The other system is worse by 2/3 on even queries, and as good on odd ones.
    worse = [{**r, "label": "not"} if r["query_id"] % 2 == 0 else r for r in labels(12, "two")]
    two = scored(tmp_path, benchmark, worse, name="two")
    result = {d.measure: d for d in compare_many([one, two]).differences}
    recall = result["ALCE.CitRec"].corrected
    assert recall is not None
    assert recall.value == pytest.approx(-100 / 3)
    # The judge sees no difference. Its errors are -2/3 on six of twelve; none is beyond 1.
    half = T_11 * (1 / 3) * math.sqrt(12 / 11) / math.sqrt(12)
    _, bound = mean_interval(np.array([-2 / 3] * 6 + [0.0] * 6), -1, 1)
    assert recall.low <= 100 * (-1 / 3 - half)
    assert recall.high == pytest.approx(100 * max(bound, -1 / 3 + half))
    assert (recall.n_labels, result["CiteP"].corrected) == (12, None)
    assert "corrected" in render_differences(result.values())
    # Other queries were labelled: nothing is paired.
    other = [{**r, "query_id": r["query_id"] + 12} for r in worse]
    two = scored(tmp_path, benchmark, other, name="two")
    assert all(d.corrected is None for d in compare_many([one, two]).differences)


def test_order_is_claimed_by_ranks_that_hold_at_once(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = labels(12)
    one = scored(tmp_path, benchmark, rows)
    worse = [{**r, "label": "not"} if r["query_id"] % 2 == 0 else r for r in labels(12, "two")]
    two = scored(tmp_path, benchmark, worse, name="two")
    (result,) = (r for r in corrected_ranks([one, two]) if r.measure == "ALCE.CitRec")
    # Paired: t = (1/3) / ((1/3) √(12/11) / √12) = √11, p = .007.
    assert (result.ranks, result.paired) == ({"one": (1, 1), "two": (2, 2)}, True)
    assert "ranks by ALCE.CitRec corrected (at once, 95 %): one 1, two 2" in render_scores(
        [one, two]
    )
    # Other queries were labelled: by intervals that hold together, here with 97.5 % each.
    other = [{**r, "query_id": r["query_id"] + 12} for r in worse]
    two = scored(tmp_path, benchmark, other, name="two")
    (result,) = (r for r in corrected_ranks([one, two]) if r.measure == "ALCE.CitRec")
    assert (result.ranks, result.paired) == ({"one": (1, 1), "two": (2, 2)}, False)
    # Equal labels: both may be first. One system alone has no rank.
    same = scored(tmp_path, benchmark, labels(12, "two"), name="two")
    (result,) = (r for r in corrected_ranks([one, same]) if r.measure == "NLI.rec")
    assert result.ranks == {"one": (1, 2), "two": (1, 2)}
    assert not corrected_ranks([one])


def test_labels_are_planned_with_a_judge(
    tmp_path: Path, benchmark: Benchmark, package: Path
) -> None:
    scored(tmp_path, benchmark, labels(12))
    options = LabelPlanOptions(
        half_width=15, judge="lexical", benchmark=package, labels=(tmp_path / "labels.jsonl",)
    )
    plan = plan_labelling(tmp_path / "one.jsonl", options)
    assert (plan.measure, plan.system, plan.n_answers) == ("ALCE.CitRec", "one", 30)
    assert plan.pilot == 12
    assert plan.sd == pytest.approx(100 / 6 * math.sqrt(12 / 11))  # of 2/3 and 1/3
    assert plan.with_judge == plan.alone  # the judge supports nothing, and saves nothing
    for changes in ({"benchmark": None}, {"judge": None, "labels": ()},
                    {"judge": None, "benchmark": None}):  # fmt: skip
        with refused("missing-option"):
            plan_labelling(tmp_path / "one.jsonl", options.model_copy(update=changes))


def test_error_rates_correct_shares_of_verdicts(tmp_path: Path, benchmark: Benchmark) -> None:
    file = scored(tmp_path, benchmark, rates=Rates(0.9, 0.99, 0.02, 0.03), n_uncited=15)
    result = entry(file, "ALCE.CitRec").corrected
    assert result is not None
    # It says yes to none: (0 + .99 − 1) / .89 of the 2 of 3 statements that it was asked about, in
    # half of the answers; a little below 0, so the end of the range.
    assert (result.value, result.method, result.n_labels) == (0, "rogan-gladen", 0)
    assert result.low == 0 < result.high < 5
    assert "corr:rogan-gladen,test" in result.signature
    assert entry(file, "ALCE.CitF1").corrected is None
    assert any("ALCE.CitF1 is not corrected" in w for w in file.warnings)


def changed(rows: list[dict[str, Any]], at: int, **values: Any) -> list[dict[str, Any]]:
    return [{**r, **values} if i == at else r for i, r in enumerate(rows)]


@pytest.mark.parametrize(
    "rows, code, line, field",
    [
        (changed(labels(12), 0, statement=7), "out-of-range", 1, None),
        (changed(labels(12), 4, citation=5), "unknown-id", 5, None),
        (changed(labels(12), 3, label="maybe"), "wrong-value", 4, "label"),
        ([*labels(12), {**labels(1)[0], "label": "not"}], "contradiction", 73, None),
        ([{"query_id": 0, "label": "5"}], "no-labels", None, None),
    ],
)
def test_wrong_labels(
    tmp_path: Path, benchmark: Benchmark, rows: list[dict[str, Any]], code: str, line: int | None,
    field: str | None,
) -> None:  # fmt: skip
    with refused(code, path=tmp_path / "labels.jsonl", line=line, field=field):
        scored(tmp_path, benchmark, rows)


def test_labels_of_unknown_answers(tmp_path: Path, benchmark: Benchmark) -> None:
    path = write_jsonl(tmp_path / "l.jsonl", changed(named(benchmark, labels(2)), 1, query_id="?"))
    result = read_labels(path)
    with refused("wrong-benchmark", path=path):
        LabelCorrection(result).require_known([("other", "other.jsonl")])
    LabelCorrection(result).require_known([("1", "one.jsonl"), ("other", "other.jsonl")])
    tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
    scored(tmp_path, benchmark)
    with refused("unknown-query", path=path, line=2):
        score(
            tmp_path / "one.jsonl", benchmark, select(["NLI.rec"]), tools=tools,
            correction=LabelCorrection(result),
        )  # fmt: skip


@pytest.mark.parametrize(
    "rows, words",
    [
        (labels(9), "9 labelled answers; 10 are needed"),
        (
            [{**r, "label": "full"} for r in labels(12)],
            "all 12 labelled answers have the same value",
        ),
        (
            [{**r, "label": "full"} for r in labels(12)],
            "all labels say 'full', so that the judge's errors",
        ),
        ([r for r in labels(12) if "citation" not in r], "CitPrec is not .* decide 0 of 12"),
        ([{**r, "label": None} if i < 20 else r for i, r in enumerate(labels(20))], "20 labels"),
    ],
)
def test_labels_that_cannot_correct_say_why(
    tmp_path: Path, benchmark: Benchmark, rows: list[dict[str, Any]], words: str
) -> None:
    import re

    file = scored(tmp_path, benchmark, rows)
    assert any(re.search(words, w) for w in file.warnings), file.warnings


def test_answers_chosen_by_score_are_noticed(tmp_path: Path, benchmark: Benchmark) -> None:
    # The judge supports the answers of the labelled queries alone: they repeat their passage.
    texts = {i.query_id: i.passages[0] for i in benchmark.items("mix")}
    n = len(benchmark.query_ids)
    lines = [{"submission": {"system": "one"}}]
    for i, query in enumerate(benchmark.query_ids):
        copied = texts[query].text.split(". ")[0].rstrip(".") if i < 12 else "Xylo is so"
        lines.append({"query_id": query, "output": f"{copied} [1]."})
    path = write_jsonl(tmp_path / "one.jsonl", lines)
    rows = [
        {"system": "one", "query_id": q, "statement": 0, "label": "full" if i % 3 else "not"}
        for i, q in enumerate(benchmark.query_ids[:12])
    ]
    result = read_labels(write_jsonl(tmp_path / "labels.jsonl", rows))
    tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
    file = score(
        path, benchmark, select(["NLI.rec"]), tools=tools, correction=LabelCorrection(result)
    )
    assert n > 12
    assert any("unlike the others" in w for w in file.warnings)


def test_other_layouts(tmp_path: Path, benchmark: Benchmark) -> None:
    """ExpertQA's rows and ALCE's human file say the same as ours."""
    ours = entry(scored(tmp_path, benchmark, labels(12)), "ALCE.CitRec").corrected
    questions = benchmark.queries["text"].to_pylist()
    support = [("Complete", "Complete"), ("Partial", "Complete")]
    expertqa = [
        {
            "id": f"e{i}", "question": questions[i], "system": "one", "answer": "",
            "claims": [
                {"claim": text, "support": s, "evidence": []}
                for text, s in zip(said(i), (*support[i % 2], "Missing"), strict=True)
            ],
        }
        for i in range(12)
    ]  # fmt: skip
    alce = {
        "asqa": {
            "one.json": {
                benchmark.query_ids[i]: {
                    "sentences": [
                        {
                            "sentence_recall_score": int(i % 2 == 0),
                            "citations": [{"citation_precision_score": 2 * int(i % 2 == 0)}],
                        },
                        {
                            "sentence_recall_score": 1,
                            "citations": [
                                {"citation_precision_score": 2 - i % 2},
                                {"citation_precision_score": 0},
                            ],
                        },
                        {"sentence_recall_score": 0, "citations": []},
                    ]
                }
                for i in range(12)
            }
        }
    }
    (tmp_path / "alce.json").write_text(json.dumps(alce, indent=1))
    write_jsonl(tmp_path / "expertqa.jsonl", expertqa)
    tools = ScoringTools(JudgeSession(LexicalJudge()), make_segmenter("nupunkt"))
    for name in ("expertqa.jsonl", "alce.json"):
        file = score(
            tmp_path / "one.jsonl", benchmark, select(["ALCE.CitRec", "ALCE.CitPrec"]),
            tools=tools, correction=LabelCorrection(read_labels(tmp_path / name)),
        )  # fmt: skip
        assert entry(file, "ALCE.CitRec").corrected == ours, name
        precision = entry(file, "ALCE.CitPrec").corrected
        if name == "alce.json":
            assert precision is not None
            assert precision.value == pytest.approx(50)
        else:
            assert precision is None
    (tmp_path / "other.json").write_text('{\n "a": {"b": {"c": {"sentences": 3}}}}')
    with refused("schema-mismatch", path=tmp_path / "other.json"):
        read_labels(tmp_path / "other.json")
