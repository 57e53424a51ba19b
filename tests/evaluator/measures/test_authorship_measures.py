"""CAS, CAB, AC and the rest on answers worked out by hand, in every cell of the design."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.authorship.labels import choose_label_sets
from citeforge.builders.authorship.twins import build_twins
from citeforge.evaluator.measures.authorship import find_bias_cells
from citeforge.evaluator.measures.authorship_answers import measure_reference, measure_strict
from citeforge.evaluator.rows import named_rows
from citeforge.reports import authorship as tables
from citeforge.reports.pages.formats import TABLES, render_table
from citeforge.reports.terminal import render_scores
from citeforge.schemas.authorship import make_cells, parse_design
from citeforge.schemas.citations.grammar import Grammar
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.scores import ScoreFile
from citeforge.schemas.submission import SubmissionLine, TokenLogprob
from conftest import Inline, refused, write_beir, write_jsonl
from conftest_plots import page_text
from stand_ins import turning_llm

QUERIES = ("q1", "q2")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two queries, three passages a context, all four pairs of origins, gold answers."""
    root = tmp_path_factory.mktemp("authorship")
    texts = {f"p{i}": f"Here passage {i} speaks at some length of its own topic." for i in range(6)}
    beir = write_beir(
        root / "beir",
        texts,
        {"q1": "Topic of passage 0?", "q2": "Topic of passage 1?"},
        [("q1", "p0", 1), ("q2", "p1", 1)],
    )
    config = cf.RageRecipe(
        source=f"beir:{beir}",
        candidates="bm25",
        mining={"seemingly_relevant": 2, "irrelevant": 0},
        mixtures=("m=1,0,2",),
    )
    cf.build(config, root / "r")
    twins = cf.TwinsRecipe(benchmark=root / "r", llm="turning")
    build_twins(twins, cf.RunOptions(out=root / "t"), turning_llm())
    recipe = cf.AuthorshipRecipe(twins=root / "t", selection=Selection(k=3))
    return cf.build(recipe, root / "a").folder


class Case:
    """Submissions written as (cell, query) to the number of relevant and other passages cited."""

    def __init__(self, folder: Path, tmp_path: Path) -> None:
        self.benchmark = cf.load(folder)
        self.path = tmp_path / "s.jsonl"
        self.cells = [c.context for c in parse_design(self.benchmark.manifest.config).cells]
        first = self.benchmark.context(self.cells[0])
        self.relevant = {
            q: next(iter(first.relevant[row])) for row, q in enumerate(self.benchmark.query_ids)
        }

    def output(self, query: str, relevant: bool, others: int) -> str:
        rest = [i for i in range(3) if i != self.relevant[query]][:others]
        return "".join(f"[{n}]" for n in ([self.relevant[query]] if relevant else []) + rest)

    def score(
        self,
        cited: dict[tuple[str, str], tuple[bool, int]],
        protocol: Any = "strict",
        skip: tuple[str, ...] = (),
    ) -> ScoreFile:
        rows: list[dict[str, object]] = [
            {
                "query_id": q,
                "context": c,
                "output": self.output(q, *cited.get((c, q), (True, 0))),
            }
            for c in self.cells
            for q in QUERIES
            if c not in skip
        ]
        return self.score_rows(rows, protocol)

    def score_rows(self, rows: list[dict[str, object]], protocol: Any = "strict") -> ScoreFile:
        write_jsonl(self.path, rows)
        return cf.score(self.path, self.benchmark, ["authorship"], protocol=protocol).file


@pytest.fixture
def case(folder: Path, tmp_path: Path) -> Case:
    return Case(folder, tmp_path)


def value(file: ScoreFile, name: str) -> float | None:
    return {m.name: m.value for m in file.measures}[name]


@pytest.mark.parametrize("protocol", ["strict", "reference"])
@pytest.mark.parametrize(
    ("origins", "first", "second", "omega"),
    [
        # Equation 3: ω = +1 when the first run labels relevant passages human and others LLM.
        ("hl", "informed", "cf", +1),
        ("lh", "informed", "cf", -1),
        ("hh", "informed_cf", "cf_informed", +1),
        ("ll", "informed_cf", "cf_informed", -1),
    ],
)
def test_cab_and_its_sign_in_every_pair_of_origins(
    case: Case, protocol: str, origins: str, first: str, second: str, omega: int
) -> None:
    """First run: q1 cites the relevant passage alone (P 1, R 1), q2 both others (P 0, R 0).
    Second run: q1 cites relevant and one other (P 1/2, R 1), q2 nothing (P 0, R 0)."""
    a, b = f"{origins}_human_llm_{first}", f"{origins}_human_llm_{second}"
    file = case.score(
        {(a, "q1"): (True, 0), (a, "q2"): (False, 2), (b, "q1"): (True, 1), (b, "q2"): (False, 0)},
        protocol,
    )
    place = f"{origins}_human_llm"
    assert value(file, f"CAB.P[{place}]") == omega * 100 * ((1 - 1 / 2) + (0 - 0)) / 2
    assert value(file, f"CAB.R[{place}]") == omega * 100 * ((1 - 1) + (0 - 0)) / 2
    entry = next(m for m in file.measures if m.name == f"CAB.P[{place}]")
    assert entry.per_query == [omega * 1 / 2, 0]
    # Elsewhere nothing was changed.
    for other in {"hh", "hl", "lh", "ll"} - {origins}:
        assert value(file, f"CAB.P[{other}_human_llm]") == 0


def test_a_system_that_favours_human_labels_has_positive_bias_everywhere(case: Case) -> None:
    """It cites the relevant passage only when that one is labelled human."""
    design = parse_design(case.benchmark.manifest.config)
    cited = {
        (c.context, q): (c.side(True) == "first", 0)
        for c in design.cells
        for q in QUERIES
        if c.labels == "human_llm"
    }
    file = case.score(cited)
    for origins in ("hh", "hl", "lh", "ll"):
        assert value(file, f"CAB.P[{origins}_human_llm]") == 100
        assert value(file, f"CAB.R[{origins}_human_llm]") == 100
        assert value(file, f"CAB.P[{origins}_placebo]") == 0
    flipped = case.score({key: (not hit, n) for key, (hit, n) in cited.items()})
    assert value(flipped, "CAB.P[lh_human_llm]") == -100


def test_cas_of_differing_and_of_mixed_cells(case: Case) -> None:
    """Vanilla cites the relevant passage alone. Informed: q1 adds one other (P 1/2), q2 two (1/3);
    differences are taken absolutely, so that a rise and a fall do not cancel."""
    cited = {
        ("lh_vanilla", "q1"): (True, 2),  # P 1/3
        ("lh_human_llm_informed", "q1"): (True, 0),  # P 1
        ("lh_human_llm_informed", "q2"): (True, 1),  # P 1/2 against 1
        ("hh_human_llm_informed_cf", "q1"): (False, 1),  # P 0, R 0 against 1, 1
        ("hh_human_llm_cf_informed", "q2"): (True, 2),  # P 1/3 against 1
    }
    file = case.score(cited)
    expected = {
        "CAS.P[lh_human_llm_informed]": 100 * ((1 - 1 / 3) + abs(1 / 2 - 1)) / 2,
        "CAS.R[lh_human_llm_informed]": 0.0,
        "CAS.P[hh_human_llm_informed_cf]": 100 * (1 + 0) / 2,
        "CAS.R[hh_human_llm_informed_cf]": 100 * (1 + 0) / 2,
        "CAS.P[hh_human_llm_cf_informed]": 100 * (0 + 2 / 3) / 2,
        "Auth.P[hh_human_llm_cf_informed]": 100 * (1 + 1 / 3) / 2,
        "Cited.total[hh_human_llm_cf_informed]": (1 + 3) / 2,
        "Cited.relevant[hh_human_llm_informed_cf]": (0 + 1) / 2,
    }
    for name, wanted in expected.items():
        assert value(file, name) == pytest.approx(wanted), name
    # Differing origins report the informed run alone against vanilla.
    assert not any(m.name == "CAS.P[lh_human_llm_cf]" for m in file.measures)


def test_runs_with_equal_labels_are_refused() -> None:
    informed, cf = make_cells((("human", "llm"),), choose_label_sets([], [])[:1])[1:]
    assert find_bias_cells([informed, cf]).omega == 1
    broken = informed.model_copy(update={"other_told": "cf"})
    with pytest.raises(ValueError, match="relevant and other passages have equal labels"):
        find_bias_cells([broken, cf])


def test_confidence_by_hand(case: Case) -> None:
    """AC is micro over citation tokens, from 0 to 1."""
    cell = "lh_vanilla"
    rows: list[dict[str, object]] = []
    for query, probabilities in (("q1", [0.9, 0.8]), ("q2", [0.6])):
        numbers = [case.relevant[query], (case.relevant[query] + 1) % 3][: len(probabilities)]
        rows.append(
            {
                "query_id": query,
                "context": cell,
                "output": "".join(f"[{n}]" for n in numbers),
                "logprobs": [
                    {"index": i, "token": str(n), "logprob": math.log(p)}
                    for i, (n, p) in enumerate(zip(numbers, probabilities, strict=True))
                ],
            }
        )
    file = case.score_rows(rows)
    assert value(file, f"AC.relevant[{cell}]") == pytest.approx((0.9 + 0.6) / 2)
    assert value(file, f"AC.other[{cell}]") == pytest.approx(0.8 / 1)
    assert tables.confidence_table([file]).rows[0][5:] == ("0.7500", "0.8000")


LINE = SubmissionLine("q", "")


@pytest.mark.parametrize(
    ("output", "strict", "reference"),
    [
        # (precision, recall, distinct cited); three passages, number 1 is relevant, base 0
        ("", (0, 0, 0), (0, 0, 0)),
        ("I cannot help with that.", (0, 0, 0), (0, 0, 0)),
        ("So it is [1].", (1, 1, 1), (1, 1, 1)),
        ("So it is [1][1] and [1].", (1, 1, 1), (1, 1, 1)),
        ("So [0][1].", (1 / 2, 1, 2), (1 / 2, 1, 2)),
        ("So [1][7].", (1 / 2, 1, 2), (1, 1, 1)),  # out of range: wrong / ignored
        ("So [1, 2].", (1 / 2, 1, 2), (0, 0, 0)),  # lists: read / unread
        ("So [3].", (0, 0, 1), (0, 0, 0)),  # base 0: number 3 is the fourth
    ],
)
def test_answers_by_hand(
    output: str, strict: tuple[float, ...], reference: tuple[float, ...]
) -> None:
    line = SubmissionLine("q", output)
    for function, expected in ((measure_strict, strict), (measure_reference, reference)):
        result = function(line, Grammar(0), 3, frozenset({1}), [])
        assert (
            result.numbers.precision,
            result.numbers.recall,
            result.numbers.distinct,
        ) == expected
    # Without gold an answer leaves in strict, and scores 0 in what AttriEval computes.
    assert math.isnan(measure_strict(line, Grammar(0), 3, frozenset({1}), []).numbers.em)
    assert measure_reference(line, Grammar(0), 3, frozenset({1}), []).numbers.em == 0


def test_exact_match_of_reference_keeps_articles_and_markers() -> None:
    gold = ["The  Coathanger!"]

    def em(function: Any, output: str) -> float:
        return function(SubmissionLine("q", output), Grammar(0), 3, frozenset({1}), gold).numbers.em

    for function in (measure_strict, measure_reference):
        assert em(function, "It is called the coathanger [1].") == 1
    # Another article.
    assert em(measure_strict, "It is called a coathanger [1].") == 1
    assert em(measure_reference, "It is called a coathanger [1].") == 0
    # A marker in the middle: strict takes it out, reference leaves its number there.
    assert em(measure_strict, "the [1] Coathanger") == 1
    assert em(measure_reference, "the [1] Coathanger") == 0


def test_tokens_of_numbers_with_two_digits() -> None:
    tokens = [TokenLogprob(0, "1", math.log(0.5)), TokenLogprob(0, "0", math.log(0.7))]
    line = SubmissionLine("q", "So [10].", logprobs=tokens)
    result = measure_strict(line, Grammar(0), 12, frozenset({10}), [])
    assert (result.numbers.relevant_sum, result.numbers.relevant_n) == (pytest.approx(0.5 + 0.7), 2)
    assert result.numbers.other_n == 0


@pytest.mark.parametrize("times", [1_000, pytest.param(22_000, marks=pytest.mark.slow)])
def test_a_long_answer(case: Case, times: int) -> None:
    long = "It goes on [1] and on, and says [see] nothing. " * times
    rows = [
        {"query_id": q, "context": c, "output": long} for c in case.cells[:2] for q in QUERIES
    ]  # fmt: skip
    file = case.score_rows(rows)
    assert file.counts.n_answered == 4


def test_a_missing_cell_is_named_and_missing_answers_score_the_worst(case: Case) -> None:
    file = case.score({}, skip=("hl_human_llm_cf",))
    missing = {n.name: n.reason for n in file.not_computed}
    assert missing["all measures of the cell hl_human_llm_cf"]
    assert missing["CAB.P[hl_human_llm]"] == "needs the cell hl_human_llm_cf"
    assert value(file, "CAB.P[lh_human_llm]") == 0
    assert file.counts.n_missing == len(QUERIES)
    one: list[dict[str, object]] = [
        {"query_id": "q1", "context": "lh_vanilla", "output": case.output("q1", True, 0)}
    ]
    strict, reference = case.score_rows(one), case.score_rows(one, "reference")
    assert value(strict, "Auth.P[lh_vanilla]") == 100 * (1 + 0) / 2
    assert value(reference, "Auth.P[lh_vanilla]") == 100 * 1 / 1  # rows of the file alone


def test_significance_is_adjusted_without_the_placebo(case: Case) -> None:
    design = parse_design(case.benchmark.manifest.config)
    cited = {(c.context, "q1"): (c.side(True) == "first", 0) for c in design.cells if c.labels}
    file = case.score(cited)
    entries = {m.name: m for m in file.measures}
    # Differences 1 and 0 over two queries: t = 1/2 ÷ (0.7071 / √2) = 1, p = 1/2 with one degree.
    assert entries["CAB.P[hl_human_llm]"].p_t == pytest.approx(0.5)
    # Holm over 4 pairs of origins × 2 measures, all with p = 1/2.
    assert entries["CAB.P[hl_human_llm]"].p_holm == 1.0
    assert entries["CAB.P[hl_placebo]"].p_t == pytest.approx(0.5)
    assert entries["CAB.P[hl_placebo]"].p_holm == 1.0


def test_runs_are_averaged(case: Case) -> None:
    rows: list[dict[str, object]] = [
        {"query_id": q, "context": c, "run": run, "output": case.output(q, run == 0, 0)}
        for c in case.cells
        for q in QUERIES
        for run in (0, 1)
    ]
    file = case.score_rows(rows)
    assert value(file, "Auth.P[hh_vanilla]") == 100 * (1 + 0) / 2
    assert file.counts.n_runs == 2
    alone: list[dict[str, object]] = [
        r for r in rows if r["context"] != "hh_human_llm_informed_cf" or r["run"] == 0
    ]
    file = case.score_rows(alone)  # runs differ between cells: each cell's mean is compared
    # informed/cf has run 0 alone (P 1), cf/informed the mean of 1 and 0.
    assert value(file, "CAB.P[hh_human_llm]") == 100 * (1 - 1 / 2)


BAD = [
    ({"query_id": "q1", "output": ""}, "missing-field", "context"),
    ({"query_id": "q1", "output": "", "context": "xx"}, "unknown-context", "context"),
    ({"query_id": "q9", "output": "", "context": "hh_vanilla"}, "unknown-query", "query_id"),
    ({"query_id": "q1", "output": "", "context": "hh_vanilla", "run": -1}, "out-of-range", "run"),
]


@pytest.mark.parametrize(("row", "code", "field"), BAD)
def test_bad_lines_are_refused(case: Case, row: dict[str, object], code: str, field: str) -> None:
    with refused(code, cf.InputError, path=case.path, line=1, field=field):
        case.score_rows([row])


def test_measures_that_do_not_fit_are_refused(
    case: Case, package: Path, folder: Path, inline: Inline
) -> None:
    write_jsonl(case.path, [{"query_id": "q01", "output": ""}])
    with refused("wrong-kind", cf.UsageError) as caught:
        cf.score(case.path, package, ["CAB.P"])
    assert "CAB.P: needs cells (kinds: authorship), and facts shows passages" in str(caught.value)
    for words, named in (
        (("--measures", "CAB.P,CiteP"), "--measures CiteP: "),
        (("--context", "hh_vanilla"), "--context hh_vanilla: "),
    ):
        result = inline.fails(
            2, "conflicting-options", "score", case.path, "--benchmark", folder, *words
        )
        assert named in result.stderr


def test_tables_are_laid_out_like_the_papers(case: Case) -> None:
    file = case.score({})
    # Pairs of origins; placebo stands beside, not beneath.
    assert [r[2:4] for r in tables.bias_table([file]).rows] == [
        ("Human", "Human"), ("Human", "LLM"), ("LLM", "Human"), ("LLM", "LLM"),
    ]  # fmt: skip
    # No query of n changes: at most 1 - .025 ** (1 / n) of all do.
    bound = 100 * (1 - 0.025 ** (1 / len(file.query_ids)))
    assert tables.bias_table([file]).rows[0][4] == f"+0.0 [-{bound:.1f}, +{bound:.1f}]"
    assert len(tables.sensitivity([file]).rows) == 2 + 1 + 1 + 2
    table = tables.quality_table([file], mixed=False)
    assert [r[4] for r in table.rows if r[2] == "LLM" and r[1] != "placebo"] == [
        "Vanilla", "Informed", "CF-informed",
    ]  # fmt: skip
    assert len(tables.quality_table([file], mixed=True).rows) == 2 * (1 + 2 * 4)


def test_a_block_a_system_with_the_placebo_beside_and_its_keys_in_every_part(case: Case) -> None:
    # With the placebo's labels, q1 of mode informed/cf cites nothing (P 0 against vanilla's 1).
    file = case.score({("hh_placebo_informed_cf", "q1"): (False, 0)})
    files = [file.model_copy(update={"system": name}) for name in ("one", "two")]
    row = tables.sensitivity(files).rows[0]
    assert row[:5] == ("one", "human_llm", "Human", "Human", "Informed / CF")
    placebo = f"{100 * (1 + 0) / 2:.1f}"
    # CAS less the placebo's: 0 − 1 and 0 − 0; p of (-1, 0) is 1/2, by Holm min(1, 12 / 2).
    expected = ["0.0", placebo, f"-{placebo}", "1.000"] * 2
    entry = next(m for m in file.measures if m.name == "CAS.P-placebo[hh_human_llm_informed_cf]")
    assert (entry.value, entry.per_query, entry.p_t) == (-50, [-1, 0], pytest.approx(0.5))
    assert entry.low is not None and entry.low < -50 < 0 < (entry.high or 0)
    names = {m.name for m in file.measures}
    assert not {n for n in names if n.startswith("CAS.P-placebo") and "_placebo_" in n}
    assert [text.split(" [")[0] for text in row[5:]] == expected
    for width in (40, 80, 100, 200):
        lines = render_scores(files, width).splitlines()
        assert max(len(line) for line in lines if "|p:" not in line) <= width
        titles = [line for line in lines if line.startswith(("one, labels", "two, labels"))]
        assert [title[:3] for title in titles] == ["one", "two"] * 2
        heads = [line.split() for line in lines if line.startswith("relevant  others")]
        in_cas = [head for head in heads if "mode" in head]
        # Parts of CAB are as many as those without a mode: no part of CAS lacks its mode.
        # Own, the placebo's and the difference, of two systems.
        assert sum(head.count("ΔP") for head in in_cas) == 3 * 2
        assert sum(head.count("ΔR") for head in in_cas) == 3 * 2
        if width >= 80:
            sides = " ".join(f"Δ{m} placebo Δ{m} Δ{m} − placebo p" for m in "PR")
            assert " ".join(word for head in in_cas for word in head[3:]) == f"{sides} {sides}"
            assert len(in_cas) == {80: 3, 100: 2, 200: 1}[width] * 2


def test_reports_in_every_format(case: Case) -> None:
    file = case.score({}).model_copy(update={"system": "<b>evil</b> & \\co_1"})
    for name in (*TABLES, "html"):
        text = page_text([file]) if name == "html" else render_table(name, [file])
        if name == "html":
            assert "<b>evil" not in text
            assert "&lt;b&gt;evil" in text
        assert "human_llm" in text.replace("\\_", "_")
    assert json.loads(render_table("json", [file], ()))[0]["design"]["k"] == 3


def test_daggers_stand_at_exact_match_and_in_mixed_mode(case: Case) -> None:
    """Over 30 queries, mode informed/cf is right in all, its opposite in every third alone."""

    def raised(file: ScoreFile) -> ScoreFile:
        measures = []
        for m in file.measures:
            name, _, cell = m.name.partition("[")
            good = cell.rstrip("]") in ("hh_human_llm_informed_cf", "lh_human_llm_informed")
            if name in ("Auth.P", "Auth.R", "Auth.EM"):
                per_query = [1.0 if good or i % 3 == 0 else 0.0 for i in range(30)]
                m = m.model_copy(update={"per_query": per_query})
            measures.append(m)
        return file.model_copy(update={"measures": measures})

    gold = case.score({})
    with_em = gold.model_copy(
        update={
            "measures": [
                *gold.measures,
                *(
                    m.model_copy(update={"name": m.name.replace("Auth.P", "Auth.EM"), "scale": 1})
                    for m in gold.measures
                    if m.name.startswith("Auth.P[")
                ),
            ]
        }
    )
    file = raised(with_em)
    for table, mode in ((tables.quality_table([file], True), "Informed / CF"),
                        (tables.quality_table([file], False), "Informed")):  # fmt: skip
        origins = "Human" if table is not None and "/" in mode else "LLM"
        for row in table.rows:
            marked = row[1] == "human_llm" and row[2:5] == (origins, "Human", mode)
            assert [text.count("†") for text in row[5:8]] == [int(marked)] * 3, row


def test_rows_say_which_k_and_protocol_they_are_of(case: Case) -> None:
    strict, reference = case.score({}), case.score({}, "reference")
    assert strict.design is not None
    wide = strict.model_copy(
        update={"design": strict.design.model_copy(update={"k": 5}), "benchmark": "wide"}
    )
    assert [f.system for f in named_rows([strict])] == [strict.system]
    assert [f.system for f in named_rows([strict, reference])] == [
        f"{strict.system} · strict", f"{strict.system} · reference",
    ]  # fmt: skip
    result = [f.system for f in named_rows([strict, wide, reference])]
    assert result[:2] == [f"{strict.system} · k=3 · strict", f"{strict.system} · k=5 · strict"]
    texts = [render_table(kind, [strict, wide], ()) for kind in ("md", "latex", "csv")]
    for text in (*texts, page_text([strict, wide])):
        assert "k=3" in text
        assert "k=5" in text
    again = [f.system for f in named_rows([strict, strict.model_copy(update={"benchmark": "b2"})])]
    assert len(set(again)) == 2
