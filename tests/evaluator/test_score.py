"""`score`: keys, missing answers, runs, protocols, signatures."""

import json
from pathlib import Path
from typing import Any

import pytest

from citeforge import __version__
from citeforge.builders.frozen import build_alce
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.reports.table import render_scores
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.evaluator.tools import Tools
from citeforge.plugins.training.benchmark_reward import CitationReward
from citeforge.schemas.errors import InputError, UsageError
from citeforge.schemas.recipes.records import AlceRecipe, RunOptions
from citeforge.schemas.scores import ScoreFile
from citeforge.systems.run import run_system
from conftest import EXAMPLES, write_jsonl
from scoring import score


@pytest.fixture(scope="module")
def benchmark(package: Path) -> Benchmark:
    return Benchmark(package)


def scored(
    tmp_path: Path, benchmark: Benchmark, rows: list[dict[str, Any]], **options: Any
) -> ScoreFile:
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    return score(path, benchmark, select(["rage"]), **options)


def values(result: ScoreFile) -> dict[str, float | None]:
    return {m.name: m.value for m in result.measures}


def perfect(benchmark: Benchmark, row: int) -> dict[str, Any]:
    relevant = benchmark.context("mix").relevant[row]
    marks = "".join(f"[{p + 1}]" for p in sorted(relevant))
    return {"query_id": benchmark.query_ids[row], "output": f"Two words {marks}."}


def test_missing_answers_score_the_worst(tmp_path: Path, benchmark: Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, r) for r in range(6)])
    assert values(result)["CiteP"] == pytest.approx(100 * 6 / 30)
    assert values(result)["CiteR"] == pytest.approx(100 * 6 / 30)
    assert values(result)["Length"] == pytest.approx(6 * 2 / 30)
    counts = result.counts
    assert (counts.n_queries, counts.n_answered, counts.n_missing) == (30, 6, 24)


def test_the_reference_protocol_loops_over_the_lines(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = [perfect(benchmark, r) for r in range(6)]
    result = scored(tmp_path, benchmark, rows, protocol="reference")
    assert values(result)["CiteP"] == 100
    assert result.counts.n_missing == 24
    assert {m.signature.split("|")[1] for m in result.measures} == {"p:reference"}


def test_runs(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = [{**perfect(benchmark, r), "run": 0} for r in range(30)]
    rows += [{"query_id": q, "output": "", "run": 1} for q in benchmark.query_ids]
    result = scored(tmp_path, benchmark, rows)
    score_p = next(m for m in result.measures if m.name == "CiteP")
    # Run 0 is all right (100), run 1 all wrong (0): mean 50, sd sqrt(50² + 50²) = 70.71.
    assert score_p.value == (100 + 0) / 2
    assert score_p.sd_runs == pytest.approx((2 * 50**2) ** 0.5)
    assert score_p.per_query == [0.5] * 30
    assert (result.counts.n_runs, result.counts.n_empty, result.counts.n_uncited) == (2, 30, 30)


def test_counts_of_odd_answers(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = [perfect(benchmark, r) for r in range(30)]
    rows[0]["output"] = "In [2019] and [see 2]."
    rows[1]["output"] = "Cites [50]."
    rows[2]["output"] = "   "
    rows[3]["output"] += "\n\nReferences:\n[9] A paper."
    counts = scored(tmp_path, benchmark, rows).counts
    assert counts.n_unparsed == 1
    assert counts.n_out_of_range == 1
    assert counts.n_empty == 1
    assert counts.n_listed == 1
    assert counts.n_uncited == 2
    assert counts.n_no_relevant == counts.n_all_relevant == 0


def test_the_random_baseline_meets_its_expectation(tmp_path: Path, benchmark: Benchmark) -> None:
    """E[CiteP] = mean |R| / |context|; E[CiteR] = mean 2 / |context|."""
    path = tmp_path / "random.jsonl"
    run_system("random", benchmark, ["mix"], runs=40, seed=0, out=path)
    result = score(path, benchmark, select(["rage"]))
    by_name = {m.name: m for m in result.measures}
    table = benchmark.context("mix")
    pairs = list(zip(table.relevant, table.sizes, strict=True))
    expected = {
        "CiteP": sum(len(r) / n for r, n in pairs) / len(pairs),
        "CiteR": sum(2 / n for _, n in pairs) / len(pairs),
    }
    for name, value in expected.items():
        measure = by_name[name]
        assert measure.low <= 100 * value <= measure.high
        # Forty runs narrow the draw's own noise well below the interval over queries.
        assert abs(measure.value - 100 * value) < 3 * measure.sd_runs / 40**0.5


def test_the_upper_bound(tmp_path: Path, benchmark: Benchmark) -> None:
    path = tmp_path / "echo.jsonl"
    run_system("echo-relevant", benchmark, ["mix"], runs=1, seed=0, out=path)
    got = values(score(path, benchmark, select(["CiteP", "CiteR", "CiteF1"])))
    assert got == {"CiteP": 100, "CiteR": 100, "CiteF1": 100}


def test_signatures_carry_the_recipe(tmp_path: Path, benchmark: Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, 0)])
    hash8 = benchmark.manifest.benchmark_hash[:8]
    assert result.measures[0].signature == (
        f"CiteP|p:strict|gram:1,strict2|ctx:mix|bench:facts@{hash8}|v:{__version__}"
    )


def test_a_measure_without_its_needs_is_not_computed(tmp_path: Path, benchmark: Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, 0)])
    assert [(n.name, n.reason) for n in result.not_computed] == [
        ("ShortEM", "needs short answers in mapping/relevant")
    ]


def test_passages_that_nobody_judged(tmp_path: Path) -> None:
    """ELI5's are all `unjudged`: what asks for relevant ones is not computed, and not 0."""
    items = json.loads((EXAMPLES / "answers" / "asqa.json").read_text())
    claims = {"claims": ["It opened in 1973."], "answer": "It opened in 1973."}
    rows = [{"id": i, "question": r["question"], "docs": r["docs"], **claims}
            for i, r in enumerate(items)]  # fmt: skip
    (tmp_path / "eli5.json").write_text(json.dumps(rows))
    recipe = AlceRecipe(source=f"alce:{tmp_path / 'eli5.json'}", k=5)
    build_alce(recipe, RunOptions(out=tmp_path / "eli5"))
    benchmark = Benchmark(tmp_path / "eli5")
    lines = [{"query_id": q, "output": "In 1973 [1]."} for q in benchmark.query_ids]
    for protocol in ("strict", "reference"):
        result = scored(tmp_path, benchmark, lines, protocol=protocol)
        assert {n.name for n in result.not_computed} == {
            "CiteP", "CiteR", "CiteF1", "CiteF1@query", "ShortEM", "Reward"
        }  # fmt: skip
        assert {n.reason for n in result.not_computed} == {
            "nobody judged which passages are relevant"
        }
        assert values(result)["Distinct"] == 1
    with pytest.raises(UsageError, match="nobody judged"):
        CitationReward(benchmark)


def test_the_order_of_lines_does_not_matter(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = [perfect(benchmark, r) for r in range(30)]
    rows[4]["output"] = "[2]"
    forward = scored(tmp_path, benchmark, rows)
    backward = scored(tmp_path, benchmark, rows[::-1])
    assert forward.measures == backward.measures


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"query_id": "q99", "output": "x"}, "s.jsonl:2: query_id 'q99' is not in the benchmark"),
        ({"query_id": "q01", "output": "x"}, "comes twice"),
        ({"query_id": 1, "output": "x"}, "query_id: Expected `str`, got `int`"),
        ({"query_id": "q02", "output": {"text": "x"}}, "output: Expected `str`, got `object`"),
        ({"query_id": "q02", "output": float("nan")}, "not one JSON object"),
        ({"query_id": "q02", "output": "x", "score": 1}, "score: is not a field"),
        ({"query_id": "q02", "output": "x", "context": "nix"}, "context 'nix' is unknown"),
        ({"query_id": "q02", "output": "x", "run": -1}, "run -1 is negative"),
        ({"query_id": "q02"}, "missing required field `output`"),
    ],
)
def test_bad_lines_are_refused(
    tmp_path: Path, benchmark: Benchmark, row: dict[str, Any], message: str
) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(json.dumps({"query_id": "q01", "output": "x"}) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(InputError, match=message) as error:
        score(path, benchmark, select(["rage"]))
    assert error.value.line == 2


def test_another_build_of_the_benchmark_is_refused(tmp_path: Path, benchmark: Benchmark) -> None:
    header = {"submission": {"system": "s", "benchmark_hash": "0" * 64}}
    with pytest.raises(InputError, match="was made on a benchmark with hash 0000"):
        scored(tmp_path, benchmark, [header, perfect(benchmark, 0)])


@pytest.mark.parametrize(
    ("header", "fault"),
    [
        ('{"submission": {"system": "s", "cost": 1e400}}', "submission[...]: Number out of range"),
        ('{"submission": [1]}', "submission: Expected `object`, got `array`"),
        ('{"submission": {"system": "\\ud800"}}', "half of a surrogate pair"),
        ('{"submission": {"system": "s"}, "cost": 1}', "cost: is not a field"),
        (f'{{"submission": {{"system": "{"s" * (1 << 16)}"}}}}', "header is too long; 65,536"),
    ],
)
def test_a_wrong_header(tmp_path: Path, benchmark: Benchmark, header: str, fault: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{header}\n")
    with pytest.raises(InputError, match=r"s\.jsonl:1") as error:
        score(path, benchmark, select(["rage"]))
    assert fault in str(error.value)


def test_the_header_names_the_system(tmp_path: Path, benchmark: Benchmark) -> None:
    header = {"submission": {"system": "My system"}}
    assert scored(tmp_path, benchmark, [header, perfect(benchmark, 0)]).system == "My system"


def test_an_empty_file(tmp_path: Path, benchmark: Benchmark) -> None:
    with pytest.raises(InputError, match="holds no answer"):
        scored(tmp_path, benchmark, [])


def test_a_ten_megabyte_answer(tmp_path: Path, benchmark: Benchmark) -> None:
    rows = [{"query_id": "q01", "output": "word [2019] " * 900_000}]
    assert scored(tmp_path, benchmark, rows).counts.n_unparsed == 1


@pytest.mark.parametrize(
    ("name", "protocol", "options", "expected"),
    [
        ("ALCE.CitRec", "reference", {"at_most_citations": 2}, "at-most-2"),
        ("ALCE.CitRec", "reference", {"at_most_citations": 3}, None),
        ("ALCE.CitRec", "strict", {"at_most_citations": 2}, None),
        ("ALCE.StrEM", "reference", {"at_most_citations": 2}, None),
        ("QAMPARI.F1", "reference", {"cot": True}, "cot"),
        # ALCE cuts at the colon for the lists only; strict takes the statements from there, too.
        ("ALCE.CitRec", "reference", {"cot": True}, None),
        ("ALCE.CitRec", "strict", {"cot": True}, "cot"),
        ("ALCE.StrEM", "strict", {"cot": True}, None),
    ],
)
def test_signatures_name_the_options_that_move_a_measure(
    name: str, protocol: str, options: dict[str, Any], expected: str | None
) -> None:
    (measure,) = select([name])
    result = (
        None
        if measure.options is None
        else measure.options(Tools().with_options(**options), protocol)
    )
    assert result == expected


def test_forty_systems_fit_the_terminal(tmp_path: Path, benchmark: Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, r) for r in range(6)])
    forty = [result.model_copy(update={"system": f"system {i}"}) for i in range(40)]
    lines = render_scores(forty, width=80).splitlines()
    tables = lines[: next(i for i, line in enumerate(lines) if line.startswith("not computed"))]
    assert max(map(len, tables)) <= 80
    heads = [line.split() for line in tables if line.startswith(" ")]
    across = [name for head in heads for name in head]
    assert across[: len(result.measures)] == [m.name for m in result.measures]
    assert sum(line.startswith("system 39 ") for line in tables) == len(heads)
    assert "system 7   20.00 [" in "\n".join(tables)
