"""`score`: keys, missing answers, runs, protocols, signatures."""

import csv
import json
from pathlib import Path
from typing import Any, Literal

import pytest

import citeforge as cf
from citeforge.evaluator.measures.registry import measures, select
from citeforge.evaluator.rows import main_measure
from citeforge.evaluator.submissions.tools import Need, ScoringTools
from citeforge.library.scores import score_files
from citeforge.plugins.training.benchmark_reward import CitationReward
from citeforge.reports.pages.formats import render_table
from citeforge.reports.tables import counts_table
from citeforge.reports.terminal import render_scores
from conftest import EXAMPLES, refused, write_jsonl


def scored(
    tmp_path: Path, benchmark: cf.Benchmark, rows: list[dict[str, Any]], **options: Any
) -> cf.Scores:
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    return cf.score(path, benchmark, ["rage"], **options)


def perfect(benchmark: cf.Benchmark, row: int) -> dict[str, Any]:
    relevant = benchmark.context("mix").relevant[row]
    marks = "".join(f"[{p + 1}]" for p in sorted(relevant))
    return {"query_id": benchmark.query_ids[row], "output": f"Two words {marks}."}


def test_missing_answers_score_the_worst(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, r) for r in range(6)])
    assert result["CiteP"].value == pytest.approx(100 * 6 / 30)
    assert result["CiteR"].value == pytest.approx(100 * 6 / 30)
    assert result["Length"].value == pytest.approx(6 * 2 / 30)
    counts = result.counts
    assert (counts.n_queries, counts.n_answered, counts.n_missing) == (30, 6, 24)


def test_the_reference_protocol_loops_over_lines(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [perfect(benchmark, r) for r in range(6)]
    result = scored(tmp_path, benchmark, rows, protocol="reference")
    assert result["CiteP"].value == 100
    assert result.counts.n_missing == 24
    assert {m.signature.split("|")[1] for m in result.file.measures} == {"p:reference"}


def test_the_kind_of_benchmark_names_the_main_measure(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    """It is the first of the kind's list that was computed; a file keeps the list."""
    rows = [perfect(benchmark, row) for row in range(6)]
    path = write_jsonl(tmp_path / "s.jsonl", rows)
    for names, main in (
        (["rage"], "CiteF1@query"), (["Length", "CiteR"], "CiteR"), (["Length"], "Length")
    ):  # fmt: skip
        file = cf.score(path, benchmark, names).file
        assert tuple(file.headline) == benchmark.kind.facts.headline
        assert main_measure([file]) == main


def test_runs(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [{**perfect(benchmark, r), "run": 0} for r in range(30)]
    rows += [{"query_id": q, "output": "", "run": 1} for q in benchmark.query_ids]
    result = scored(tmp_path, benchmark, rows)
    score_p = result["CiteP"]
    # Run 0 is all right (100), run 1 all wrong (0): mean 50, sd sqrt(50² + 50²) = 70.71.
    assert score_p.value == (100 + 0) / 2
    assert score_p.sd_runs == pytest.approx((2 * 50**2) ** 0.5)
    assert score_p.per_query == [0.5] * 30
    assert (result.counts.n_runs, result.counts.n_empty, result.counts.n_uncited) == (2, 30, 30)


def test_counts_of_odd_answers(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [perfect(benchmark, r) for r in range(30)]
    rows[0]["output"] = "In [2019] and [see page 2]."
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


@pytest.mark.parametrize("protocol", ["strict", "reference"])
def test_refusals_are_counted(
    tmp_path: Path, benchmark: cf.Benchmark, protocol: Literal["strict", "reference"]
) -> None:
    """In any language, with marks or without; an answer that is empty, or wrong, is none."""
    rows = [perfect(benchmark, r) for r in range(30)]
    rows[0]["output"] = "The passages do not say when [1]."
    rows[1]["output"] = "Dazu steht in den Quellen nichts; ich kann die Frage nicht beantworten."
    rows[2]["output"] = "It is not stated [1][2]."
    rows[3]["output"] = " "
    rows[4]["output"] = "No one saw it."
    scores = scored(tmp_path, benchmark, rows, protocol=protocol)
    # Rows 1, 3 and 4 cite nothing.
    assert (scores.counts.n_refused, scores.counts.n_uncited, scores.counts.n_empty) == (2, 3, 1)
    sentence = "2 of 30 answers say that they cannot answer"
    assert f"{scores.system}: {sentence}" in scores.warnings
    assert "; 3 uncited; 2 refused>" in repr(scores)
    files = [scores.file]
    for kind in ("md", "latex"):
        assert sentence in render_table(kind, files)
    head, *lines = csv.reader(render_table("csv", files).splitlines())
    at = head.index("missing")
    assert head[at : at + 3] == ["missing", "uncited", "refused"]
    assert {tuple(line[at : at + 3]) for line in lines} == {("0", "3", "2")}
    assert json.loads(render_table("json", files))[0]["counts"]["n_refused"] == 2
    printed = counts_table(files).transposed().text()
    assert [line.split()[-1] for line in printed if "refused  " in line] == ["2"]


def test_the_random_baseline_meets_its_expectation(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    """E[CiteP] = mean |R| / |context|; E[CiteR] = mean 2 / |context|."""
    path = tmp_path / "random.jsonl"
    cf.run("random", benchmark, path, runs=40)
    result = cf.score(path, benchmark)
    table = benchmark.context("mix")
    pairs = list(zip(table.relevant, table.sizes, strict=True))
    expected = {
        "CiteP": sum(len(r) / n for r, n in pairs) / len(pairs),
        "CiteR": sum(2 / n for _, n in pairs) / len(pairs),
    }
    for name, value in expected.items():
        measure = result[name]
        assert measure.low <= 100 * value <= measure.high
        # Forty runs narrow the draw's own noise well below the interval over queries.
        assert abs(measure.value - 100 * value) < 3 * measure.sd_runs / 40**0.5


def test_the_upper_bound(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    path = tmp_path / "echo.jsonl"
    cf.run("echo-relevant", benchmark, path)
    result = cf.score(path, benchmark, ["CiteP", "CiteR", "CiteF1"])
    assert {name: result[name].value for name in result} == {
        "CiteP": 100, "CiteR": 100, "CiteF1": 100
    }  # fmt: skip


def test_signatures_carry_the_recipe(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, 0)])
    hash8 = benchmark.manifest.benchmark_hash[:8]
    assert result["CiteP"].signature == (
        f"CiteP|p:strict|gram:1,strict3|ctx:mix|bench:facts@{hash8}|v:{cf.__version__}"
    )


def test_measures_without_their_needs(tmp_path: Path, benchmark: cf.Benchmark) -> None:
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
    recipe = cf.AlceRecipe(source=f"alce:{tmp_path / 'eli5.json'}", k=5)
    benchmark = cf.build(recipe, tmp_path / "eli5")
    lines = [{"query_id": q, "output": "In 1973 [1]."} for q in benchmark.query_ids]
    for protocol in ("strict", "reference"):
        result = scored(tmp_path, benchmark, lines, protocol=protocol)
        assert {n.name for n in result.not_computed} == {
            "CiteP", "CiteR", "CiteF1", "CiteF1@query", "ShortEM", "Reward"
        }  # fmt: skip
        assert {n.reason for n in result.not_computed} == {
            "the benchmark has no relevance judgements"
        }
        assert result["Distinct"].value == 1
    with refused("no-relevant", cf.UsageError):
        CitationReward(benchmark)


def test_the_order_of_lines_does_not_matter(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [perfect(benchmark, r) for r in range(30)]
    rows[4]["output"] = "[2]"
    forward = scored(tmp_path, benchmark, rows)
    backward = scored(tmp_path, benchmark, rows[::-1])
    assert forward.file.measures == backward.file.measures


@pytest.mark.parametrize(
    ("row", "code", "field"),
    [
        ({"query_id": "q99", "output": "x"}, "unknown-query", "query_id"),
        ({"query_id": "q01", "output": "x"}, "duplicate-id", "query_id"),
        ({"query_id": 1.5, "output": "x"}, "wrong-type", "query_id"),
        ({"query_id": 1, "output": "x"}, "unknown-query", "query_id"),
        ({"query_id": "q02", "output": {"text": "x"}}, "wrong-type", "output"),
        ({"query_id": "q02", "output": float("nan")}, "bad-json", None),
        ({"query_id": "q02", "output": "x", "score": 1}, "unknown-field", "score"),
        ({"query_id": "q02", "output": "x", "context": "nix"}, "unknown-context", "context"),
        ({"query_id": "q02", "output": "x", "run": -1}, "out-of-range", "run"),
        ({"query_id": "q02"}, "missing-field", "output"),
    ],
)
def test_bad_lines_are_refused(
    tmp_path: Path, benchmark: cf.Benchmark, row: dict[str, Any], code: str, field: str | None
) -> None:
    path = tmp_path / "s.jsonl"
    with refused(code, cf.InputError, path=path, line=2, field=field):
        scored(tmp_path, benchmark, [{"query_id": "q01", "output": "x"}, row])


def test_messages_about_lines(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    first = {"query_id": "q01", "output": "x"}
    for row, message in (
        (
            {**first, "query_id": "q99"},
            "query_id: 'q99' is not in the benchmark, whose queries are 'q01', 'q02', 'q03', …",
        ),
        (first, "query_id: duplicate answer to 'q01' (context mix, run 0; first at line 1)"),
        ({**first, "context": "nix"}, "context: 'nix' is unknown; one of mix"),
    ):
        with pytest.raises(cf.InputError) as caught:
            scored(tmp_path, benchmark, [first, row])
        assert str(caught.value) == f"{tmp_path / 's.jsonl'}:2 {message}; see: citeforge check"


def test_another_build_is_refused(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    header = {"submission": {"system": "s", "benchmark_hash": "0" * 64}}
    with refused("wrong-benchmark", line=1, field="benchmark_hash") as caught:
        scored(tmp_path, benchmark, [header, perfect(benchmark, 0)])
    hash16 = benchmark.manifest.benchmark_hash[:16]
    words = f"answers another build of this benchmark (hash {'0' * 16}…, expected {hash16}…)"
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("header", "code"),
    [
        ('{"submission": {"system": "s", "cost": 1e400}}', "wrong-value"),
        ('{"submission": [1]}', "wrong-type"),
        ('{"submission": {"system": "\\ud800"}}', "bad-json"),
        ('{"submission": {"system": "s"}, "cost": 1}', "unknown-field"),
        (f'{{"submission": {{"system": "{"s" * (1 << 16)}"}}}}', "too-long"),
    ],
)
def test_a_wrong_header(tmp_path: Path, benchmark: cf.Benchmark, header: str, code: str) -> None:
    path = tmp_path / "s.jsonl"
    path.write_text(f"{header}\n")
    with refused(code, cf.InputError, path=path, line=1):
        cf.score(path, benchmark)


def test_the_header_names_the_system(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    header = {"submission": {"system": "My system"}}
    assert scored(tmp_path, benchmark, [header, perfect(benchmark, 0)]).system == "My system"


def test_an_empty_file(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    with refused("no-answers", cf.InputError, path=tmp_path / "s.jsonl"):
        scored(tmp_path, benchmark, [])


def test_a_long_answer(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [{"query_id": "q01", "output": "word [2019] " * 9_000}]
    assert scored(tmp_path, benchmark, rows).counts.n_unparsed == 1


@pytest.mark.slow
def test_an_answer_of_almost_the_largest_line(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    rows = [{"query_id": "q01", "output": "word [2019] " * 330_000}]
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
        else measure.options(ScoringTools().with_options(**options), protocol)
    )
    assert result == expected


def test_forty_systems_fit_the_terminal(tmp_path: Path, benchmark: cf.Benchmark) -> None:
    result = scored(tmp_path, benchmark, [perfect(benchmark, r) for r in range(6)]).file
    forty = [result.model_copy(update={"system": f"system {i}"}) for i in range(40)]
    lines = render_scores(forty, width=80).splitlines()
    tables = lines[: next(i for i, line in enumerate(lines) if line.startswith("not computed"))]
    assert max(map(len, tables)) <= 80
    heads = [line.split() for line in tables if line.startswith(" ")]
    across = [name for head in heads for name in head if name not in "↑↓"]
    assert across[: len(result.measures)] == [m.name for m in result.measures]
    assert sum(line.startswith("system 39 ") for line in tables) == len(heads)
    assert "system 7   20.00 [" in "\n".join(tables)


def test_closed_book_answers_get_a_hint_and_each_context_its_signature(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    said = [{"query_id": q, "output": "Without any mark."} for q in benchmark.query_ids]
    plain = scored(tmp_path, benchmark, said)
    (hint,) = [text for text in plain.file.warnings if "--context none" in text]
    assert "none of the 30 answers cites a passage" in hint
    closed = scored(tmp_path, benchmark, said, context="none")
    assert not any("--context none" in text for text in closed.file.warnings)
    said[0] = perfect(benchmark, 0)
    assert not any("--context none" in t for t in scored(tmp_path, benchmark, said).file.warnings)
    own = [{**said[0], "passages": [{"text": "Two words."}]}]
    table = render_scores([plain.file, scored(tmp_path, benchmark, own).file], verbose=False)
    assert [n for n in ("|ctx:mix|", "|ctx:own|") if n not in table] == []


def test_citations_of_closed_book_answers_are_not_computed(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    """Of any family, and never 0: there was nothing to cite."""
    by_name = {n: m for n, m in measures().items() if m.reads == "passages"}
    judged = [
        n for n, m in by_name.items()
        if m.asks_judge and m.is_segmented and Need.PASSAGES in m.group.needs
    ]  # fmt: skip
    assert {m.family for m in map(by_name.get, judged) if m} >= {"alce", "attributed_ir", "fact",
                                                                 "trec", "wrong"}  # fmt: skip
    cited = [n for n, m in by_name.items() if m.citation_quality or m.family == "retrieval"]
    path = write_jsonl(tmp_path / "s.jsonl", [
        {"query_id": q, "output": "Without any mark."} for q in benchmark.query_ids
    ])  # fmt: skip
    names = [*judged, *cited, "ALCE.Length"]
    closed = cf.score(path, benchmark, names, context="none", judge="lexical")
    assert list(closed) == ["ALCE.Length"]
    reasons = {absent.name: absent.reason for absent in closed.not_computed}
    assert {reasons[n] for n in judged} == {"no passages were shown"}
    # Nor where lines bring passages, and none has any.
    rows = [{"query_id": q, "output": "So.", "passages": []} for q in benchmark.query_ids]
    assert list(cf.score(rows, benchmark, ["AutoAIS.psg", "Overlap.P"], judge="lexical")) == []


@pytest.mark.parametrize(
    ("measure", "option"),
    [
        ("rage", {"wordings": Path("nosuch.yaml"), "protocol": "reference"}),
        ("trust", {"wordings": Path("nosuch.yaml")}),  # strict has words of its own
        ("rage", {"tokenizer": "nosuch/model"}),
        ("rage", {"embedder": "nosuch/model"}),
        ("rage", {"qa_model": "nosuch/model"}),
        ("rage", {"mauve_model": "nosuch/model"}),
        ("rage", {"bertscore_model": "nosuch/model"}),
        ("Length", {"at_most_citations": 2, "protocol": "reference"}),
    ],
)
def test_options_that_no_measure_reads_are_refused(
    tmp_path: Path, benchmark: cf.Benchmark, measure: str, option: dict[str, Any]
) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [perfect(benchmark, 0)])
    with refused("option-without-effect", cf.UsageError) as caught:
        score_files([path], benchmark, cf.ScoreOptions(measures=(measure,), **option))
    assert f"--{next(iter(option)).replace('_', '-')}: no measure" in str(caught.value)


def test_a_file_of_wordings_is_read_before_anything_is_scored(
    tmp_path: Path, benchmark: cf.Benchmark
) -> None:
    path = write_jsonl(tmp_path / "s.jsonl", [perfect(benchmark, 0)])
    options: dict[str, Any] = {"protocol": "reference", "wordings": tmp_path / "w.yaml"}
    with refused("missing-file"):
        score_files([path], benchmark, cf.ScoreOptions(measures=("trust",), **options))
    options["wordings"] = tmp_path / "list.yaml"
    (tmp_path / "list.yaml").write_text("- trust_refusal\n")
    with refused("wrong-type") as caught:
        score_files([path], benchmark, cf.ScoreOptions(measures=("trust",), **options))
    assert "is not a mapping of names to values" in str(caught.value)
