"""Several benchmarks on one site: the matrix in headless Chromium, its file, its refusals."""

import re
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

import citeforge as cf
from citeforge.engines.files import sha256_file
from citeforge.package.package import Package
from citeforge.plugins.leaderboard.board_check import Event, write_history
from citeforge.plugins.leaderboard.boards import read_boards
from citeforge.plugins.leaderboard.build import build_leaderboard
from citeforge.schemas.scores import About, ScoreFile
from conftest import Inline, content, refused
from conftest_boards import EVIL, entry, scored
from conftest_pages import expect, opened, serious_faults

LONG = "an-organisation/" + "a-very-long-name-of-a-system-" * 8
RTL = "نظام الاستشهاد 7B"
TEAMS = ("Team 0", "Team 1", "Team 2", "Department of Cited Texts, " * 3)
NAMES = (EVIL, LONG, RTL, *(f"team-{i % 4}/sys{i:02d}" for i in range(49)))


def made(package: Path, system: str, level: float, rng: Any, **more: Any) -> ScoreFile:
    """Scores of a system on a package: CiteF1 and CiteP around a level."""
    result = Package(package)
    queries = result.query_ids
    rows = [
        entry(n, np.clip(rng.normal(level, 0.1, len(queries)), 0, 1).tolist())
        for n in ("CiteP", "CiteF1")
    ]
    return scored(result.hash, system, rows, queries).model_copy(
        update={
            "about": About(**more) if more else None,
            "submission_sha256": sha256(f"{system} {rng.random()}".encode()).hexdigest(),
        }
    )


def write(root: Path, name: str, files: list[ScoreFile]) -> None:
    """Score files with submissions behind them, as a board keeps both."""
    for folder in ("scores", "submissions"):
        (root / folder / name).mkdir(parents=True)
    events = []
    for number, file in enumerate(files):
        there = root / "submissions" / name / f"{number:03d}.jsonl"
        there.write_text(f"{name} {file.system} {number}")
        digest = sha256(there.read_bytes()).hexdigest()
        mine = file.model_copy(update={"submission": there.name, "submission_sha256": digest})
        scores = root / "scores" / name / f"{number:03d}.json"
        scores.write_text(mine.to_line())
        hashes = {scores.name: sha256_file(scores)}
        named = (there.name, digest, file.system, file.context, file.benchmark_hash)
        events.append(Event(*named, hashes))
    write_history(root / "history" / f"{name}.jsonl", events)


@pytest.fixture(scope="module")
def root(package: Path, people: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three benchmarks: 52 systems, 40 of them, and 5 of them; the site is built."""
    root = tmp_path_factory.mktemp("boards")
    rng = np.random.default_rng(7)
    for name, folder, size in (
        ("facts", package, 52),
        ("again", package, 12),
        ("people", people, 4),
    ):
        files = [
            made(folder, n, 0.8 - i / 100, rng, organisation=TEAMS[i % 4], cost=1.0 + i,
                 model="<b>m</b>-7B" if i == 1 else f"m-{i % 2}")
            for i, n in enumerate(NAMES[:size])
        ]  # fmt: skip
        write(root, name, files)
    boards = [
        {"name": "facts", "benchmark": str(package), "title": "Facts & figures"},
        {"name": "again", "benchmark": str(package), "measure": "CiteP", "title": "Again"},
        {"name": "people", "benchmark": str(people)},
    ]
    text = yaml.safe_dump({"title": "Cited <i>generation</i>", "boards": boards})
    (root / "leaderboard.yaml").write_text(text)
    build_leaderboard(root)
    return root


def cells(page: Any, row: int) -> list[str]:
    texts: list[str] = page.locator("tbody tr").nth(row).locator("td, th").all_inner_texts()
    return [t.replace("\n", " ") for t in texts]


def test_the_matrix(root: Path, browser: Any) -> None:
    page = opened(browser, root / "site" / "index.html")
    assert page.title() == "Cited <i>generation</i>"
    heads = [h.replace("\n", " ") for h in page.locator("thead th").all_inner_texts()]
    assert heads == ["Rank", "System", "Mean rank 95 %", "Facts & figures CiteF1", "Again CiteP",
                     "people CiteF1", "Missing", "organisation", "model", "cost"]  # fmt: skip
    expect(page.locator("#count")).to_have_text("Systems 1 to 50 of 52")
    first = cells(page, 0)
    assert first[0] == "1"
    assert first[6] == "0"
    assert first[9] == f"${3 * (1.0 + NAMES.index(first[1])):.2f}"  # three submissions
    note = page.locator("main").inner_text()
    assert "CiteF1 (mix, strict) on 30 queries, 52 systems" in note
    # A system that two benchmarks lack says so, and stands behind those that lack none.
    page.get_by_label("Find").fill("sys48")
    expect(page.locator("tbody tr")).to_have_count(1)
    lone = cells(page, 0)
    assert lone[4:7] == ["missing", "missing", "2 of 3"]
    # Any place of the first, those behind 12 and behind 4 of the others.
    place = float(lone[2].split()[0])
    assert place + 0.05 >= (1 + (13 + 52) / 2 + (5 + 52) / 2) / 3
    assert page.evaluate("location.hash") == "#find=sys48"
    page.get_by_label("Find").fill("")
    page.get_by_label("On all benchmarks").check()
    expect(page.locator("tbody tr")).to_have_count(4)
    page.get_by_role("combobox", name="organisation").select_option("Team 1")
    expect(page.locator("tbody tr")).to_have_count(1)
    again = opened(browser, root / "site" / "index.html")
    again.goto((root / "site" / "index.html").as_uri() + page.evaluate("location.hash"))
    again.wait_for_function("document.querySelectorAll('tbody tr').length === 1")
    assert page.problems == again.problems == []


def test_sorting_by_a_benchmark_and_the_way_there_and_back(root: Path, browser: Any) -> None:
    page = opened(browser, root / "site" / "index.html")
    page.get_by_role("button", name="Again").click()
    expect(page.locator("th[aria-sort=descending]")).to_contain_text("Again")
    shown = [cells(page, i)[2].split()[0] for i in range(50)]
    known = [float(s) for s in shown if s != "missing"]
    assert known == sorted(known, reverse=True)
    assert len(known) == 12  # what is missing stands last
    name = cells(page, 0)[1]
    page.locator("tbody tr").first.locator("td a").first.click()
    page.wait_for_url("**/again/systems/*.html")
    expect(page.locator("h1")).to_have_text(name)
    page.get_by_role("link", name="on all benchmarks").click()
    page.wait_for_url(re.compile(r"/site/index\.html#find="))
    expect(page.locator("tbody tr")).to_have_count(1)
    assert cells(page, 0)[1] == name
    page.get_by_role("navigation").get_by_role("link", name="people").click()
    page.wait_for_url("**/people/index.html")
    expect(page.locator("#count")).to_have_text("Systems 1 to 4 of 4")
    page.get_by_role("link", name="Again").click()
    page.wait_for_url("**/again/index.html")
    page.get_by_role("combobox", name="organisation").select_option("Team 2")
    expect(page.locator("#count")).to_have_text("Systems 1 to 3 of 3")
    page.get_by_role("link", name="Queries").click()
    page.locator("#found a").first.click()
    page.get_by_role("link", name="All benchmarks").click()
    page.wait_for_url("**/site/index.html")
    assert page.problems == []


@pytest.mark.parametrize("width", [390, 1280])
def test_long_organisations_and_titles_fit(root: Path, browser: Any, width: int) -> None:
    page = opened(browser, root / "site" / "index.html", viewport={"width": width, "height": 900})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    # The label of a choice, and the head of a column, break between words alone.
    label = page.locator("label").filter(has_text="organisation").first
    one_line = page.evaluate("parseFloat(getComputedStyle(document.body).lineHeight)")
    text = label.evaluate(
        "e => { const r = document.createRange(); r.selectNode(e.firstChild);"
        " return r.getBoundingClientRect().height }"
    )
    assert text <= 1.5 * one_line
    cell = page.locator("td.said", has_text="Department").first
    assert cell.evaluate("e => getComputedStyle(e).whiteSpace") == "normal"
    assert cell.bounding_box()["width"] <= 300


def test_hostile_names_phone_and_keyboard(root: Path, browser: Any) -> None:
    page = opened(browser, root / "site" / "index.html", viewport={"width": 390, "height": 844})
    for name in (EVIL, LONG, RTL):
        page.get_by_label("Find").fill(name[:40])
        row = page.locator("tbody tr").first
        expect(row.locator("th")).to_have_text(name)
        # Rank, system, mean rank and the first score are seen without scrolling.
        for place in range(4):
            box = row.locator("td, th").nth(place).bounding_box()
            assert box["x"] >= 0
            assert box["x"] + box["width"] <= 390, (name, place)
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.title() != "owned"
    page.get_by_label("Find").fill("")
    page.keyboard.press("Tab")
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.textContent") == "System":
            break
    page.keyboard.press("Enter")
    expect(page.locator("th[aria-sort]")).to_contain_text("System")
    assert page.evaluate("document.activeElement.textContent") == "System"  # the focus stays
    assert page.problems == []


def test_no_serious_accessibility_fault(root: Path, browser: Any) -> None:
    site = root / "site"
    system = next((site / "again" / "systems").glob("*.html"))
    for path in (site / "index.html", site / "again" / "index.html", system):
        page = opened(browser, path)
        assert serious_faults(page) == [], path


def test_one_or_several_benchmarks_but_not_both(tmp_path: Path, inline: Inline) -> None:
    inline.fails(
        2, "conflicting-options", "leaderboard", "build", "--boards", tmp_path, "--title", "x"
    )
    assert inline("leaderboard", "build", "--out", "x").code == "missing-option"


@pytest.fixture
def two(package: Path, tmp_path: Path) -> Path:
    """Two boards of one benchmark, each with a system and a control of one name."""
    rng = np.random.default_rng(0)
    boards = [{"name": name, "benchmark": str(package)} for name in ("early", "late")]
    (tmp_path / "leaderboard.yaml").write_text(yaml.safe_dump({"boards": boards}))
    for name in ("early", "late"):
        control = made(package, "ideal", 0.9, rng).model_copy(update={"is_control": True})
        write(tmp_path, name, [made(package, "one", 0.5, rng), control])
    return tmp_path


def test_a_strangers_folder_is_not_replaced(two: Path) -> None:
    """A folder named like one of ours, without our pages."""
    build_leaderboard(two)
    (two / "site" / "thesis").mkdir()
    (two / "site" / "thesis" / "index.html").write_text("years of work")
    before = content(two / "site")
    with refused("foreign-file", path=two / "site"):
        build_leaderboard(two)
    assert content(two / "site") == before


@pytest.mark.parametrize(
    ("change", "wanted"),
    [
        ({"boards": []}, r"leaderboard.yaml:1 boards: .*at least 1"),
        ({"boards": [{"name": "a"}]}, r"leaderboard.yaml:2 boards.0.benchmark: is missing"),
        ({"boards": [{"name": "A/b", "benchmark": "x"}]}, r"boards.0.name: .*pattern"),
        ({"boards": [{"name": "queries", "benchmark": "x"}]}, "folder of every site"),
        ({"boards": [{"name": "a", "benchmark": x} for x in "xy"]}, "duplicate name 'a'"),
        ({"boards": [{"name": "a", "benchmark": "x", "colour": 1}]}, "boards.0.colour"),
        ({"boards": [{"name": "a", "benchmark": "x", "score": {"judg": 1}}]}, "score.judg"),
        ({"boards": [{"name": "a", "benchmark": "x", "score": {"also": ["f"]}}]}, "score.also"),
        ({"leaderboard": 9, "boards": []}, "newer citeforge"),
        ({"boards": [{"name": "a", "benchmark": "no-such"}]}, "no-such"),
    ],
)
def test_a_wrong_file_is_named_with_its_line(
    tmp_path: Path, change: dict[str, Any], wanted: str
) -> None:
    (tmp_path / "leaderboard.yaml").write_text(yaml.safe_dump(change))
    with pytest.raises(cf.InputError, match=wanted):
        build_leaderboard(tmp_path)
    assert not (tmp_path / "site").exists()


@pytest.mark.parametrize(
    ("field", "said", "wanted"),
    [
        ("judge", "table:verdicts.jsonl", "table:{}/verdicts.jsonl"),
        ("judge", "table:/else/verdicts.jsonl", "table:/else/verdicts.jsonl"),
        ("judge", "hf:./model", "hf:{}/model"),
        ("judge", "hf:org/model", "hf:org/model"),
        ("judge", "lexical", "lexical"),
        ("judge_profile", "own.yaml", "{}/own.yaml"),
        ("judge_profile", "minicheck", "minicheck"),
        ("llm", "replay:store.db#gpt", "replay:{}/store.db#gpt"),
    ],
)
def test_files_of_a_judge_lie_beside_the_yaml(
    tmp_path: Path, field: str, said: str, wanted: str
) -> None:
    """Wherever the command runs."""
    score = {"judge": "lexical", "labels": ["l.jsonl"], field: said}
    board = {"name": "a", "benchmark": "b", "score": score}
    (tmp_path / "leaderboard.yaml").write_text(yaml.safe_dump({"boards": [board]}))
    result = read_boards(tmp_path)[1].boards[0].score
    assert getattr(result, field) == wanted.format(tmp_path)
    assert result.labels == (tmp_path / "l.jsonl",)


def test_a_column_that_nobody_has(two: Path) -> None:
    config = two / "leaderboard.yaml"
    plain = yaml.safe_load(config.read_text())["boards"]
    for field, value, code, known in (
        ("measure", "ROUGE", "not-computed", "CiteP, CiteF1"),
        ("context", "other", "unknown-context", "mix"),
    ):
        config.write_text(yaml.safe_dump({"boards": [plain[0] | {field: value}, plain[1]]}))
        with refused(code, path=config, field=field, allowed=known):
            build_leaderboard(two)


def test_two_boards_of_one_benchmark_are_told_apart(two: Path) -> None:
    site = build_leaderboard(two)[0]
    assert (site.systems, site.controls) == (1, 1)  # each once, though both are on both boards
    page = (two / "site" / "index.html").read_text()
    for name in ("early", "late"):
        assert f'<a href="{name}/index.html">{name}</a>' in page
