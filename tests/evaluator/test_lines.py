"""The line to beat: what copying the nearest passages scores, on a benchmark counted by hand."""

import csv
import io
import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.schemas.audit import LINE, ExploitRow, Exploits, is_up_to
from citeforge.schemas.recipes.rage import Mixture
from conftest import Inline, write_beir
from conftest_pages import opened

PASSAGES = {
    "p1": "The red bridge was opened in 1937. It is long.",
    "p2": "Red paint needs care. A bridge is painted each year.",
    "p3": "Titan is a moon of Saturn. Its air is nitrogen.",
    "p4": "Barley grows on the hills. It is cut in summer.",
}
QUESTION = "When was the red bridge opened?"
"""Words in common with p1: was, the, red, bridge, opened; with p2: red, bridge; with p3: none;
with p4: the."""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    at = tmp_path_factory.mktemp("lines")
    source = write_beir(at / "x", PASSAGES, {"q1": QUESTION}, [("q1", "p1", 1)])
    mixture = Mixture(name="mix", relevant=1, irrelevant=2, seemingly_relevant=1)
    recipe = cf.RageRecipe(
        source=f"beir:{source}", licence="cc0-1.0", candidates="bm25", mixtures=(mixture,)
    )
    return cf.build(recipe, at / "four").folder


@pytest.fixture
def scored(built: Path, tmp_path: Path, inline: Inline) -> dict[str, Path]:
    """Three systems: two of the marks of the first three passages, all marks, and the right one."""
    folder = Path(shutil.copytree(built, tmp_path / "four"))
    (item,) = cf.load(folder).items()
    texts = [p.text for p in item.passages]
    right = texts.index(PASSAGES["p1"]) + 1
    other = right % 4 + 1
    answers = {"half": f"[{right}][{other}]", "all": "[1][2][3][4]", "best": f"[{right}]"}
    paths = {"": folder}
    for name, marks in answers.items():
        line = {"query_id": "q1", "output": f"So {marks}.", "context": "mix"}
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(line) + "\n")
        paths[name] = tmp_path / f"{name}.json"
        inline.ok("score", tmp_path / f"{name}.jsonl", "--benchmark", folder, "--out", paths[name])
    return paths


def test_the_first_sentence_of_the_nearest_passages_each_cited(built: Path, tmp_path: Path) -> None:
    (item,) = cf.load(built).items()
    place = {p.text: n for n, p in enumerate(item.passages, 1)}
    numbers = {name: place[text] for name, text in PASSAGES.items()}
    sentences = {name: text.partition(".")[0] for name, text in PASSAGES.items()}
    for system, names in (("copy-nearest-1", ["p1"]), ("copy-nearest-3", ["p1", "p2", "p4"])):
        cf.run(system, built, tmp_path / f"{system}.jsonl")
        row = json.loads((tmp_path / f"{system}.jsonl").read_text().splitlines()[1])
        names.sort(key=lambda name: numbers[name])
        assert row["output"] == " ".join(f"{sentences[n]} [{numbers[n]}]." for n in names)


def test_the_audit_has_the_line_and_reports_mark_what_does_not_beat_it(
    scored: dict[str, Path], tmp_path: Path, inline: Inline
) -> None:
    folder, *files = scored.values()
    inline.ok("audit", folder, "--exploits")
    audit = json.loads((folder / "audit.json").read_text())
    found = Exploits.model_validate(audit["exploits"])
    rows = {row.system: row.values for row in found.rows}
    # One source: the relevant one. Three: one of them is relevant.
    assert rows["copy-nearest-1"] == {"CiteP": 100.0, "CiteR": 100.0, "CiteF1@query": 100.0}
    p, r = 1 / 3, 1
    expected = {"CiteP": 100 * p, "CiteR": 100 * r, "CiteF1@query": 100 * 2 * p * r / (p + r)}
    assert rows["copy-nearest-3"] == pytest.approx(expected, abs=0.01)
    assert {s.partition("|")[0]: v for s, v in found.lines.items()} == rows["copy-nearest-1"]
    text = inline.ok("report", *files, "--benchmark", folder).stdout
    table = {row.split(" | ")[0].strip("| "): row for row in text.splitlines() if "|" in row}
    names = [cell.split()[0] for cell in table["system"].strip("| ").split(" | ")]
    at = names.index("CiteP")
    assert "50.00" in table["half"].split(" | ")[at] and "≤" in table["half"].split(" | ")[at]
    assert "100.00" in table[LINE].split(" | ")[at]
    assert "- half does not beat copying: CiteP 50.00 (line 100.00)" in text
    # Also what reaches the line does not beat it.
    assert "- best does not beat copying: CiteP 100.00 (line 100.00)" in text
    page = tmp_path / "report.html"
    inline.ok("report", *files, "--benchmark", folder, "--out", page)
    assert "half does not beat copying: CiteP 50.00 (line 100.00)" in page.read_text()
    assert LINE in page.read_text()
    plain = inline.ok("report", *files).stdout
    assert LINE not in plain and "beat copying" not in plain


def test_a_controls_own_scores_are_a_line_where_signatures_agree(
    scored: dict[str, Path], tmp_path: Path, inline: Inline
) -> None:
    folder, *files = scored.values()
    control = tmp_path / "control.json"
    inline.ok("run", "copy-nearest-3", "--benchmark", folder, "--out", tmp_path / "c.jsonl")
    inline.ok("score", tmp_path / "c.jsonl", "--benchmark", folder, "--out", control)
    text = inline.ok("report", *files, control).stdout
    # Its precision is 1/3: below that of `half` (1/2), above that of `all` (1/4).
    assert "- all does not beat copying: CiteP 25.00 (line 33.33)" in text
    assert "half does not beat copying: CiteR 100.00 (line 100.00)" in text
    table = inline.ok("report", *files, control, "--format", "csv").stdout
    rows = csv.DictReader(io.StringIO(table))
    lines = {row["system"]: float(row["line"]) for row in rows if row["measure"] == "CiteP"}
    assert {round(line, 2) for line in lines.values()} == {33.33}
    # Of another context set, judge or version nothing is known.
    content = json.loads(control.read_text())
    for measure in content["measures"]:
        measure["signature"] = measure["signature"].replace("ctx:mix", "ctx:other")
    control.write_text(json.dumps(content))
    assert "beat copying" not in inline.ok("report", *files, control).stdout


def test_tables_for_papers_have_the_line_and_its_mark(
    scored: dict[str, Path], tmp_path: Path, inline: Inline
) -> None:
    """The control's precision is 1/3: above that of `all` (1/4), below that of `half` (1/2)."""
    folder, *files = scored.values()
    control = tmp_path / "control.json"
    inline.ok("run", "copy-nearest-3", "--benchmark", folder, "--out", tmp_path / "c.jsonl")
    inline.ok("score", tmp_path / "c.jsonl", "--benchmark", folder, "--out", control)
    options = ("report", *files, control, "--measures", "CiteP", "--best", "bold")
    text = inline.ok(*options, "--format", "md").stdout
    assert "| all | 25.00 ≤ |" in text and "| half | 50.00 |" in text
    assert f"| {LINE} | 33.33 |" in text
    assert "all does not beat copying: CiteP 25.00 (line 33.33)." in text
    latex = inline.ok(*options, "--format", "latex").stdout
    assert r"all & 25.00\textsuperscript{$\leq$} \\" in latex
    assert rf"{LINE} & 33.33 \\" in latex
    table = csv.DictReader(io.StringIO(inline.ok(*options, "--format", "csv").stdout))
    below = {row["system"]: row["below"] for row in table}
    assert (below["all"], below["half"]) == ("1", "0")
    apart = inline.ok(*options, "--per-context", "--format", "md").stdout
    assert f"| {LINE} | 33.33 |" in apart
    alone = inline.ok("report", *files, "--measures", "CiteP", "--format", "md").stdout
    assert LINE not in alone and "≤" not in alone


def test_a_leaderboard_has_the_line_below_its_systems(
    scored: dict[str, Path], tmp_path: Path, inline: Inline, browser: Any
) -> None:
    folder, *files = scored.values()
    inline.ok("audit", folder, "--exploits")
    (tmp_path / "scores").mkdir()
    for file in files:
        shutil.copy(file, tmp_path / "scores")
    site = tmp_path / "site"
    inline.ok("leaderboard", "build", "--benchmark", folder, "--scores", tmp_path / "scores",
              "--out", site)  # fmt: skip
    page = opened(browser, site / "index.html")
    page.select_option("#measure", label="CiteP")
    rows = [row.inner_text().split("\t") for row in page.locator("#table tbody tr").all()]
    assert len(rows) == 4
    assert LINE in rows[-1] and "100.00" in rows[-1]
    shown = {row[2].strip(): " ".join(row) for row in rows}
    assert "50.00 ≤" in shown["half"] and "25.00 ≤" in shown["all"] and "100.00 ≤" in shown["best"]
    assert "≤: at or below the line of systems that copy" in page.inner_text("body")
    page.fill("#find", "half")
    line = page.locator("#table tbody tr").last
    assert LINE in line.inner_text()
    shade = "e => getComputedStyle(e).backgroundColor"
    first = page.locator("#table tbody tr").first
    assert line.locator("td").last.evaluate(shade) != first.locator("td").last.evaluate(shade)
    assert page.problems == []
    (system,) = (site / "systems").glob("half*.html")
    assert "half does not beat copying: CiteP 50.00 (line 100.00)" in system.read_text()


def test_the_card_has_the_line_beside_reference_scores(
    scored: dict[str, Path], inline: Inline
) -> None:
    folder, *files = scored.values()
    inline.ok("export", "card", folder, "--scores", files[0])
    assert LINE not in (folder / "README.md").read_text()
    inline.ok("audit", folder, "--exploits")
    card = (folder / "README.md").read_text()
    assert f"| measure | {LINE} | half, mix |" in card
    assert "| CiteP | 100.00 | 50.00 ≤" in card
    assert "`≤` marks a value at or below the line" in card


def test_the_better_of_both_is_the_line() -> None:
    rows = [
        ExploitRow(system=name, about="", is_honest=False, values={"M": value, "N": 9.0 - value})
        for name, value in (("copy-nearest-1", 4.0), ("copy-nearest-3", 3.0), ("cite all", 8.0))
    ]
    signatures = [f"{name}|p:strict|gram:1|ctx:a|bench:b@00000000|v:1" for name in "MN"]
    found = Exploits(context="a", signatures=signatures, rows=rows, left_out={})
    assert found.lines == {signatures[0]: 4.0, signatures[1]: 9.0 - 3.0}
    assert [is_up_to(v, 4.0) for v in (3.0, 4.004, 4.006)] == [True, True, False]
    assert not is_up_to(1.0, None)
