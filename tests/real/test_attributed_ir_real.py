"""Published scores of real outputs, reproduced from their files."""

import json
import re
from pathlib import Path

import pytest

from citeforge.builders.alce.frozen import build_hagrid
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.schemas.recipes.answers import HagridRecipe
from citeforge.schemas.recipes.base import RunOptions
from conftest import Cli, real_data
from scoring import score

pytestmark = pytest.mark.slow

LIST_HEADING = re.compile(
    r"\n(?:(?:In-?line )?[Cc]itations|References?|Contexts)(?: for the answer)?:\s"
)


@pytest.fixture(scope="module")
def data() -> Path:
    return real_data()


@pytest.fixture(scope="module")
def benchmark(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Benchmark:
    out = tmp_path_factory.mktemp("real") / "hagrid-gold"
    build_hagrid(
        HagridRecipe(source=f"hagrid:{data / 'hagrid' / 'dev.jsonl'}"), RunOptions(out=out)
    )
    return Benchmark(out)


def values(path: Path, benchmark: Benchmark, names: str, **options: str) -> dict[str, float]:
    result = score(path, benchmark, select(names.split(",")), **options)  # type: ignore[arg-type]
    return {m.name: m.value for m in result.measures if m.value is not None}


@pytest.mark.parametrize("name", ["zephyr_G", "zephyr_RTG_vanilla"])
def test_texts_and_citations_have_the_published_scores(
    data: Path, benchmark: Benchmark, name: str
) -> None:
    expected = json.loads((data / "attributed_ir" / "expected.json").read_text())[name]
    names = "BLEU,ROUGE-Lsum.P,ROUGE-Lsum.R,ROUGE-Lsum.F"
    if name == "zephyr_RTG_vanilla":
        names += ",Overlap.P,Overlap.R"
    path = data / "attributed_ir" / f"{name}.jsonl"
    context = "own" if name == "zephyr_RTG_vanilla" else "none"
    result = values(path, benchmark, names, protocol="reference", context=context)
    rouge = expected["ROUGE-Lsum"]
    assert result["BLEU"] == pytest.approx(expected["BLEU"], rel=1e-9)
    assert result["ROUGE-Lsum.P"] == pytest.approx(rouge["Precision"], rel=1e-9)
    assert result["ROUGE-Lsum.R"] == pytest.approx(rouge["Recall"], rel=1e-9)
    assert result["ROUGE-Lsum.F"] == pytest.approx(rouge["fmeasure"], rel=1e-9)
    if name == "zephyr_RTG_vanilla":
        assert (round(result["Overlap.P"], 2), round(result["Overlap.R"], 2)) == (33.80, 22.41)


def test_strict_overlap_worked_out_independently(data: Path, benchmark: Benchmark) -> None:
    """Plain code over the files, with a reader of its own for the marks in these files."""
    questions = {}
    for line in (data / "hagrid" / "dev.jsonl").read_text().splitlines():
        row = json.loads(line)
        questions[str(row["query_id"])] = row
    mark = re.compile(
        r"\[\s*\^?\s*((?:(?:context|document|doc)\s*)?\d+(?:\s*[-–,;]\s*"
        r"(?:(?:context|document|doc)\s*)?\d+)*)\s*\]",
        re.IGNORECASE,
    )

    def numbers(text: str) -> set[int]:
        result: set[int] = set()
        for inner in mark.findall(text):
            for part in re.split(r"[,;]", inner):
                ends = [int(n) for n in re.findall(r"\d+", part)]
                result.update(range(ends[0], ends[-1] + 1))
        return {n for n in result if not 1000 <= n <= 9999}

    precision = recall = 0.0
    lines = (data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl").read_text().splitlines()
    for line in lines:
        row = json.loads(line)
        question = questions[row["query_id"]]
        answers = question["answers"]
        gold = min(
            answers,
            key=lambda a: (
                [(1, 1), (1, 0), (0, 1), (0, 0)].index(
                    (int(a["attributable"] == 1), int(a["informative"] == 1))
                ),
                answers.index(a),
            ),
        )
        quotes = [q["docid"] for q in question["quotes"]]
        wanted = {quotes[n - 1] for n in numbers(gold["answer"]) if 0 < n <= len(quotes)}
        shown = [p["docid"] for p in row["passages"]]
        # What follows a line such as "In-line citations:" is a reference list, which cites nothing.
        cited = numbers(re.split(LIST_HEADING, row["output"], maxsplit=1)[0])
        ids = {shown[n - 1] for n in cited if 0 < n <= len(shown)}
        size = len(ids) + sum(not 0 < n <= len(shown) for n in cited)
        precision += len(ids & wanted) / size if size else 0
        recall += len(ids & wanted) / len(wanted) if wanted else 0
    path = data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl"
    result = values(path, benchmark, "Overlap.P,Overlap.R")
    assert result["Overlap.P"] == pytest.approx(100 * precision / 716, abs=1e-9)
    assert result["Overlap.R"] == pytest.approx(100 * recall / 716, abs=1e-9)


def test_score_and_report_of_real_outputs(data: Path, benchmark: Benchmark, inline: Cli) -> None:
    path = data / "attributed_ir" / "zephyr_RTG_vanilla.jsonl"
    how = ("--format", "attributed-ir", "--judge", "lexical", "--out", "s.json")
    scored = inline.ok("score", path, "--benchmark", benchmark.folder, *how)
    assert "not comparable with published numbers" in scored.stdout
    assert "judge:lexical@2|seg:nupunkt-0.8r3|gram:1,strict3|ctx:own" in scored.stdout
    inline.ok("report", "s.json", "--out", "report.html")


@pytest.mark.parametrize("name", ["zephyr_G", "zephyr_RTG_vanilla"])
def test_bertscore_equals_the_published_one(data: Path, benchmark: Benchmark, name: str) -> None:
    from citeforge.engines.models.answer_models import locate_model
    from citeforge.schemas.errors import InputError

    try:
        locate_model("roberta-large")
    except InputError:
        pytest.skip("roberta-large is not on this machine")
    expected = json.loads((data / "attributed_ir" / "expected.json").read_text())[name]
    path = data / "attributed_ir" / f"{name}.jsonl"
    context = "own" if name == "zephyr_RTG_vanilla" else "none"
    names = "BERTScore.P,BERTScore.R,BERTScore.F"
    result = values(path, benchmark, names, protocol="reference", context=context)
    for key, theirs in (("P", "Precision"), ("R", "Recall"), ("F", "fmeasure")):
        assert result[f"BERTScore.{key}"] == pytest.approx(expected["BERTScore"][theirs], abs=0.01)
