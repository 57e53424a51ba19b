"""AttriEval's own output folders on an authorship benchmark, cell by cell."""

import math
import tempfile
from pathlib import Path
from typing import Any, get_args

import datasets
import pytest

import citeforge as cf
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.recipes.command_options import Protocol
from citeforge.schemas.scores import ScoreFile
from conftest import Inline, refused, write_jsonl


@pytest.fixture(scope="module")
def benchmark(tmp_path_factory: pytest.TempPathFactory) -> cf.Benchmark:
    """Two queries of three passages; the second one has no gold."""
    root = tmp_path_factory.mktemp("cells")
    rows: list[dict[str, object]] = [
        {
            "query_id": f"q{q}",
            "query": f"What of {q}?",
            "passages": {
                "passage_text": [f"Text {q} {i} stands here." for i in range(3)],
                "is_selected": [0, 1, 0],
            },
            "org_answers": ["the answer"] if q == 1 else [],
        }
        for q in (1, 2)
    ]
    source = write_jsonl(root / "rows.jsonl", rows)
    config = cf.RageRecipe(
        source=f"attrieval:{source}", embedder="none", mining={"irrelevant": 0},
        mixtures=("m=1,0,2",),
    )  # fmt: skip
    cf.build(config, root / "rage")
    recipe = cf.AuthorshipRecipe(benchmark=root / "rage", selection=Selection(k=3))
    return cf.build(recipe, root / "a")


def save(
    benchmark: cf.Benchmark, folder: Path, cell: str, answers: list[str], **columns: list[Any]
) -> Path:
    """The cell as we export it, with AttriEval's columns, saved again."""
    with tempfile.TemporaryDirectory() as exported:
        out = Path(exported, "out")
        cf.export("attrieval", benchmark.folder, out, context=cell)
        rows = list(map(dict, datasets.load_from_disk(str(out / "data"))))
    for at, (row, text) in enumerate(zip(rows, answers, strict=True)):
        row |= {"rag_raw_answer": text, **{name: values[at] for name, values in columns.items()}}
    datasets.Dataset.from_list(rows).save_to_disk(str(folder))
    return folder


def values(file: ScoreFile) -> dict[str, float | None]:
    return {m.name: m.value for m in file.measures}


def where(benchmark: cf.Benchmark) -> tuple[int, int]:
    first, second = benchmark.context("hh_vanilla").relevant
    return min(first), min(second)


def test_each_folder_is_a_cell_by_its_name(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    one, two = where(benchmark)
    save(benchmark, tmp_path / "runs/gpt_hh_vanilla", "hh_vanilla", [f"[{one}]", f"[{two}]"])
    save(
        benchmark, tmp_path / "runs/hh_human_llm_informed_cf", "hh_vanilla",
        [f"The answer! [{one}]", "uncited"],
    )  # fmt: skip
    save(
        benchmark, tmp_path / "runs/m_hh_human_llm_cf_informed", "hh_vanilla",
        ["nothing", f"[{(two + 1) % 3}] [{two}]"],
    )  # fmt: skip
    result = {}
    for protocol in get_args(Protocol):
        file = cf.score(tmp_path / "runs", benchmark, protocol=protocol).file
        assert (file.system, file.submission_format) == ("runs", "attrieval")
        result = values(file)
        assert result["Auth.P[hh_vanilla]"] == 100
        assert result["Auth.P[hh_human_llm_informed_cf]"] == 100 * (1 + 0) / 2
        assert result["Auth.P[hh_human_llm_cf_informed]"] == 100 * (0 + 1 / 2) / 2
        assert result["CAB.P[hh_human_llm]"] == pytest.approx(100 * ((1 - 0) + (0 - 1 / 2)) / 2)
        # The second query has no gold: strict leaves it out, AttriEval's code counts it as 0.
        gold = 1 if protocol == "strict" else 2
        assert result["Auth.EM[hh_human_llm_informed_cf]"] == 1 / gold
        assert file.counts.n_no_gold == 1
        absent = {n.name for n in file.not_computed}
        assert "all measures of the cell hh_human_llm_cf_cf" in absent


def test_its_own_modes_name_cells_too(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    """``base`` labels relevant passages human and others LLM, ``cf`` the other way round."""
    for mode in ("vanilla", "base", "cf"):
        answers = ["[0][1][2]" if mode == "cf" else f"[{p}]" for p in where(benchmark)]
        save(benchmark, tmp_path / f"runs/llama3_nq_{mode}", "hh_vanilla", answers)
    file = cf.score(tmp_path / "runs", benchmark, protocol="reference").file
    result = values(file)
    assert result["Auth.P[hh_vanilla]"] == 100
    assert result["Auth.P[hh_human_llm_informed_cf]"] == 100
    assert result["Auth.P[hh_human_llm_cf_informed]"] == pytest.approx(100 / 3)
    assert result["CAB.P[hh_human_llm]"] == pytest.approx(100 * (1 - 1 / 3))


def test_confidence_of_its_lists(benchmark: cf.Benchmark, tmp_path: Path) -> None:
    """Strict credits what stands in the text; reference every number listed, as their code does."""
    one, two = where(benchmark)
    other = (one + 1) % 3
    save(
        benchmark, tmp_path / "runs/hh_vanilla", "hh_vanilla",
        [f"In [2019] it was [{other}] [{one}].", f"[{two}]"],
        list_of_citations_in_answer=[[other, one, 9], [two]],
        logprob_of_citations_in_answer=[[math.log(p) for p in (0.5, 0.9, 0.3)], [math.log(0.7)]],
    )  # fmt: skip
    for protocol, others in (("strict", [0.5]), ("reference", [0.5, 0.3])):
        file = cf.score(tmp_path / "runs", benchmark, protocol=protocol).file
        result = values(file)
        assert result["AC.relevant[hh_vanilla]"] == pytest.approx((0.9 + 0.7) / 2)
        assert result["AC.other[hh_vanilla]"] == pytest.approx(sum(others) / len(others))


def test_the_command_reads_and_checks_them(
    inline: Inline, benchmark: cf.Benchmark, tmp_path: Path
) -> None:
    save(benchmark, tmp_path / "runs/hh_vanilla", "hh_vanilla", ["[0]", "[1]"])
    given = ("runs", "--format", "attrieval", "--benchmark", benchmark.folder)
    inline.ok("score", *given, "--protocol", "reference", "--out", "s.json")
    inline.ok("check", *given)
    (tmp_path / "empty").mkdir()
    inline.fails(1, "empty-file", "score", "empty", *given[1:])


@pytest.mark.parametrize(
    ("fault", "code", "words"),
    [
        ("name", "unknown-context", "its name contains no cell"),
        ("twice", "duplicate-id", "has the cell hh_vanilla, as hh_vanilla has"),
        ("passages", "wrong-benchmark", "row 1: passage 2 is not"),
        ("selected", "wrong-benchmark", "row 1: selects [0, 1, 2], relevant are"),
        ("length", "wrong-benchmark", "row 1: shows 2 passages, the cell shows 3"),
    ],
)
def test_what_does_not_fit_is_refused(
    benchmark: cf.Benchmark, tmp_path: Path, fault: str, code: str, words: str
) -> None:
    def change(row: dict[str, Any]) -> dict[str, Any]:
        if fault == "passages":
            row["passages"]["passage_text"][2] = "Another text."
        if fault == "selected":
            row["passages"]["is_selected"] = [1, 1, 1]
        if fault == "length":
            row["passages"] = {k: v[:2] for k, v in row["passages"].items()}
        return row

    name = "somewhere" if fault == "name" else "hh_vanilla"
    save(benchmark, tmp_path / "given", "hh_vanilla", ["", ""])
    rows = [change(dict(r)) for r in datasets.load_from_disk(str(tmp_path / "given"))]
    datasets.Dataset.from_list(rows).save_to_disk(str(tmp_path / "runs" / name))
    if fault == "twice":
        save(benchmark, tmp_path / "runs/llama_hh_vanilla", "hh_vanilla", ["", ""])
    with refused(code, cf.InputError) as caught:
        cf.score(tmp_path / "runs", benchmark)
    assert words in str(caught.value)
