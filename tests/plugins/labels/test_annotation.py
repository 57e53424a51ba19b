"""Annotation: blind exports, labels back, agreement by hand."""

import csv
import json
import math
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.plugins.labels.annotators import (
    agreement,
    cohen_kappa,
    krippendorff_alpha,
)
from citeforge.plugins.labels.meta_eval import pearson
from citeforge.plugins.labels.options import AnnotationOptions
from citeforge.plugins.labels.returned import majority, read_sheet_labels
from citeforge.plugins.labels.sheets import TASKS, export_sheet, find_task
from citeforge.schemas.errors import InputError
from conftest import Inline, refused, run_inline


@pytest.fixture(scope="module")
def scored(package: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two submissions and their scores."""
    folder = tmp_path_factory.mktemp("scored")
    for system in ("one", "two"):
        lines = [{"submission": {"system": f"Secret {system}"}}]
        lines += [
            {"query_id": f"q{i:02d}", "output": f"=Statement {system} {i} [1][2]. Another [3]."}
            for i in range(1, 31)
        ]
        (folder / f"{system}.jsonl").write_text("".join(json.dumps(x) + "\n" for x in lines))
        words = ["score", f"{system}.jsonl", "--benchmark", str(package), "--details"]
        words += ["--judge", "lexical", "--out", f"{system}.json"]
        run_inline(words, folder, {"HF_HOME": str(folder / "hf")}).check_returncode()
    return folder


@pytest.fixture
def files(scored: Path, tmp_path: Path) -> list[Path]:
    """A copy of them for each test."""
    shutil.copytree(scored, tmp_path, dirs_exist_ok=True)
    return [tmp_path / f"{system}.json" for system in ("one", "two")]


def exported(files: list[Path], task: str, sample: int, seed: int) -> tuple[Any, Any]:
    """Rows of a sheet, and its key."""
    out = files[0].with_name("sheet.csv")
    export_sheet(AnnotationOptions(task=task, out=out, sample=sample, seed=seed), files)
    key = json.loads(out.with_name("sheet.csv.key.json").read_text())["items"]
    return list(csv.DictReader(out.read_text().splitlines())), key


@pytest.mark.parametrize(
    ("task", "n"), [("utility", 2 * 5), ("statement-support", 2 * 5 * 2), ("citation-support", 30)]
)
def test_exports_are_blind_sampled_and_shuffled(files: list[Path], task: str, n: int) -> None:
    rows, key = exported(files, task, 5, 1)
    assert len(rows) == n == len(key)
    assert "Secret" not in str(rows)
    # Both systems answer the same sampled queries, and do not stand in blocks.
    systems = [key[row["item"]]["system"] for row in rows]
    queries = {key[row["item"]]["query_id"] for row in rows}
    assert len(queries) == 5
    assert systems != sorted(systems)
    assert rows == exported(files, task, 5, 1)[0]
    assert rows != exported(files, task, 5, 2)[0]


def test_cells_cannot_start_a_formula(files: list[Path]) -> None:
    rows, _ = exported(files, "statement-support", 1, 0)
    cells = [row["statement"] for row in rows]
    assert any(cell.startswith("'=Statement") for cell in cells)
    assert not any(cell.startswith("=") for cell in cells)


def test_statements_without_a_citation_are_left_out_and_counted(
    files: list[Path], inline: Inline, tmp_path: Path
) -> None:
    file = json.loads(files[0].read_text())
    statements = [s for answer in file["answers"] for s in answer["statements"]]
    for statement in statements[:3]:
        statement["cited"] = []
    files[0].write_text(json.dumps(file))
    result = inline("labels", "export", "one.json", "--task", "statement-support", "--out", "a.csv")
    assert f"a.csv: {len(statements) - 3} items" in result.stdout
    assert "left out: 3 statements without a citation" in result.stdout
    with (tmp_path / "a.csv").open(newline="") as sheet:
        assert len(list(csv.DictReader(sheet))) == len(statements) - 3
    for statement in statements:
        statement["cited"] = []
    files[0].write_text(json.dumps(file))
    with pytest.raises(InputError) as caught:
        exported(files[:1], "statement-support", 10, 0)
    assert caught.value.code == "no-answers"


def annotate_file(path: Path, out: Path, rule: Any) -> None:
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["label"] = rule(row)
    with out.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)


def test_the_whole_way_round(inline: Inline, files: list[Path], tmp_path: Path) -> None:
    args = ("labels", "export", *files, "--task", "statement-support", "--sample", "6")
    inline.ok(*args, "--out", "a.csv")
    annotate_file(tmp_path / "a.csv", tmp_path / "ann.csv", lambda r: "full")
    annotate_file(
        tmp_path / "a.csv",
        tmp_path / "bob.csv",
        lambda r: "full" if "Another" in r["statement"] else "not",
    )
    result = inline.ok(
        "labels", "import", "ann.csv", "bob.csv", "--key", "a.csv.key.json", "--out", "l.jsonl"
    )
    assert "24 items of statement-support, 2 annotators" in result.stdout
    assert "raw 0.500, Cohen's kappa 0.000" in result.stdout
    rows = [json.loads(x) for x in (tmp_path / "l.jsonl").read_text().splitlines()]
    assert {r["system"] for r in rows} == {"Secret one", "Secret two"}
    assert rows[0]["labels"].keys() == {"ann", "bob"}
    assert {r["label"] for r in rows} == {"full", None}  # a tie has no majority
    beside = ("labels", "import", "ann.csv", "--key", "a.csv.key.json", "--benchmark", "facts")
    assert "on 12 items: adjudicate them" in result.stdout
    alone = inline.ok(*beside)
    assert "1 annotator\nno agreement: no item has labels of two annotators" in alone.stdout
    assert (tmp_path / "facts.labels" / "statement-support.jsonl").is_file()
    assert inline(*beside[:-2]).code == "missing-option"
    judged = inline.ok(
        *("labels", "meta-eval", "--judge", "lexical", "--labels", "l.jsonl"),
        *("--scores", "one.json", "--scores", "two.json"),
    )
    assert "against 12 human labels" in judged.stdout
    for place in ({"citation": 99}, {"statement": 99}):
        (tmp_path / "bad.jsonl").write_text(
            json.dumps({**rows[0], "label": "full", **place}) + "\n"
        )
        scores = ("--scores", "one.json", "--scores", "two.json")
        words = ("labels", "meta-eval", "--judge", "lexical", "--labels", "bad.jsonl", *scores)
        wrong = inline.fails(1, "unknown-id", *words)
        assert getattr(wrong.error, "line", None) == 1


def test_label_studio(inline: Inline, files: list[Path], tmp_path: Path) -> None:
    args = ("labels", "export", files[0], "--task", "utility", "--sample", "4", "--out", "a.json")
    inline.ok(*args)
    tasks = json.loads((tmp_path / "a.json").read_text())
    assert set(tasks[0]["data"]) == {"item", "question", "answer"}
    assert '<Choice value="5"/>' in (tmp_path / "a.xml").read_text()
    done = [
        {
            **task,
            "annotations": [
                {"completed_by": {"email": f"{who}@x.org"}, "result": [{"value": {"choices": [n]}}]}
                for who, n in (("a", "4"), ("b", "5"))
            ],
        }
        for task in tasks
    ]
    (tmp_path / "done.json").write_text(json.dumps(done))
    result = inline.ok(
        "labels", "import", "done.json", "--key", "a.json.key.json", "--out", "l.jsonl"
    )
    assert "4 items of utility, 2 annotators" in result.stdout


@pytest.mark.parametrize("written", ["Yes", " YES ", "yes\u00a0", "\tyEs"])
def test_case_and_spaces_of_labels_do_not_matter(tmp_path: Path, written: str) -> None:
    """As spreadsheets change them, and people type them."""
    task = find_task("utility").model_copy(update={"labels": ("yes", "not relevant")})
    sheet = tmp_path / "a.csv"
    sheet.write_text(f'item,label\n1,"{written}"\n2,Not  Relevant\n3,\u00a0\n')
    read = [(i, label) for i, _, label in read_sheet_labels(sheet, task, {"1", "2", "3"})]
    assert read == [("1", "yes"), ("2", "not relevant")]
    studio = [
        {"data": {"item": "1"}, "annotations": [{"result": [{"value": {"choices": [written]}}]}]}
    ]
    (tmp_path / "a.json").write_text(json.dumps(studio))
    assert [x[2] for x in read_sheet_labels(tmp_path / "a.json", task, {"1"})] == ["yes"]


@pytest.mark.parametrize(
    ("rule", "code"),
    [
        (lambda r: "perhaps", "wrong-value"),
        (lambda r: r.update(item="x") or "1", "unknown-id"),
    ],
)
def test_wrong_labels(
    inline: Inline, files: list[Path], tmp_path: Path, rule: Any, code: str
) -> None:
    inline("labels", "export", files[0], "--task", "utility", "--sample", "2", "--out", "a.csv")
    annotate_file(tmp_path / "a.csv", tmp_path / "b.csv", rule)
    inline.fails(
        1, code, "labels", "import", "b.csv", "--key", "a.csv.key.json", "--out", "l.jsonl"
    )
    assert not (tmp_path / "l.jsonl").exists()


def test_unknown_tasks() -> None:
    with refused("unknown-name", value="mood") as caught:
        find_task("mood")
    assert "citation-support" in caught.value.known


def test_cohen_kappa_by_hand() -> None:
    # 20 yes-yes, 5 yes-no, 10 no-yes, 15 no-no: observed .7, expected .5 × .6 + .5 × .4 = .5.
    pairs = [("y", "y")] * 20 + [("y", "n")] * 5 + [("n", "y")] * 10 + [("n", "n")] * 15
    assert cohen_kappa(pairs) == pytest.approx((0.7 - 0.5) / (1 - 0.5))
    assert math.isnan(cohen_kappa([("y", "y")] * 3))


def test_krippendorff_alpha_by_hand() -> None:
    # Two coders, ten units, binary (Krippendorff 2011, section A): alpha = 0.095.
    first = "0100000000"
    second = "1110010100"
    units = list(zip(first, second, strict=True))
    # Four units disagree; n0 = 14, n1 = 6, n = 20: 1 - 19 × 4 / (14 × 6).
    assert krippendorff_alpha(units, ["0", "1"], ordinal=False) == pytest.approx(
        1 - 19 * 4 / (14 * 6)
    )
    # Ordinal: labels 1, 1, 3 | 3: n1 = 2, n2 = 0, n3 = 2, distance(1, 3) = (4 - 2)² = 4.
    # Units (1, 1), (3, 3): no disagreement; (1, 3), (1, 3): observed 4, expected 2·2·2·4/(4·3).
    assert krippendorff_alpha([("1", "1"), ("3", "3")], ["1", "2", "3"], ordinal=True) == 1
    assert krippendorff_alpha([("1", "3"), ("1", "3")], ["1", "2", "3"], True) == pytest.approx(
        1 - 4 / (2 * 2 * 2 * 4 / (4 * 3))
    )


labels = st.dictionaries(
    st.text(max_size=3),
    st.dictionaries(st.sampled_from("abc"), st.sampled_from(["x", "y", "z"]), max_size=3),
    max_size=8,
)


@given(labels, st.booleans())
def test_agreement_is_bounded(table: dict[str, dict[str, str]], ordinal: bool) -> None:
    result = agreement(table, ["x", "y", "z"], ordinal)
    assert math.isnan(result.raw) or 0 <= result.raw <= 1
    assert math.isnan(result.kappa) or -1 - 1e-9 <= result.kappa <= 1 + 1e-9
    assert math.isnan(result.alpha) or result.alpha <= 1 + 1e-9
    if result.raw == 1 and not math.isnan(result.alpha):
        assert result.alpha == pytest.approx(1)


def test_majorities() -> None:
    assert majority(["full", "not", "full"], TASKS["statement-support"]) == "full"
    assert majority(["full", "not"], TASKS["statement-support"]) is None
    assert majority(["5", "1", "3", "4"], TASKS["utility"]) == "3"  # the lower median


def test_pearson_of_decisions_by_hand() -> None:
    # 3 both, 1 human only, 2 judge only, 4 none.
    pairs = [(True, True)] * 3 + [(True, False)] + [(False, True)] * 2 + [(False, False)] * 4
    a, b = 4 / 10, 5 / 10
    expected = (3 / 10 - a * b) / math.sqrt(a * (1 - a) * b * (1 - b))
    assert pearson(pairs) == pytest.approx(expected)
    assert math.isnan(pearson([(True, True)]))


@pytest.mark.parametrize("ordinal", [False, True])
def test_krippendorff_alpha_is_that_of_the_package(ordinal: bool) -> None:
    """``krippendorff`` (fast-krippendorff), with annotators who skip items."""
    import krippendorff

    values = ["1", "2", "3", "4"]
    for seed in range(20):
        rng = random.Random(seed)
        table = [[rng.choice([*values, None]) for _ in range(3)] for _ in range(rng.randint(4, 30))]
        units = [[v for v in row if v is not None] for row in table]
        numbers = [[math.nan if v is None else float(v) for v in row] for row in table]
        theirs = krippendorff.alpha(
            reliability_data=list(zip(*numbers, strict=True)),
            level_of_measurement="ordinal" if ordinal else "nominal",
        )
        ours = krippendorff_alpha([u for u in units if len(u) > 1], values, ordinal)
        assert ours == pytest.approx(theirs, abs=1e-12)
