"""Boards with hidden gold: what they refuse, what they do not tell, what an attacker learns."""

import json
import math
import re
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
from benchmarks.hidden_attacks import bring
from benchmarks.hidden_board import (
    RELEVANT,
    SHOWN,
    Board,
    figures,
    make_board,
    write_lines,
    write_runs,
)

import citeforge as cf
from citeforge.engines.files import digest, sha256_file
from citeforge.evaluator.compare import compare_many, load_scores
from citeforge.evaluator.measures.declared import OWN_WEIGHTS
from citeforge.evaluator.withhold import FEWEST_QUERIES, withhold_scores
from citeforge.package.manifest import pretty_json
from citeforge.plugins.leaderboard.board_check import Event
from citeforge.plugins.leaderboard.boards import read_boards
from citeforge.plugins.leaderboard.build import build_leaderboard, build_one
from citeforge.plugins.leaderboard.submit import add_submissions
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.record import Record
from citeforge.schemas.scores import (
    Corrected,
    Counts,
    Figures,
    MeasureScore,
    NotComputed,
    ScoreFile,
)
from conftest import Inline, refused

N_QUERIES = 30
SPELLING_RUNS = 2**SHOWN - 1


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board with hidden gold of 30 queries, three of nine passages relevant to each."""
    return make_board(tmp_path, N_QUERIES, passages=500)


def spelling_runs(board: Board, path: Path, n_runs: int) -> Path:
    """Passage i is cited alone in 2^i of the runs, so that a query's mean is a binary number."""
    runs = [
        {q: f"So [{int(math.log2(number)) + 1}]." for q in board.queries}
        for number in range(1, n_runs + 1)
    ]
    return write_runs(path, path.stem, runs)


def spelt(entry: MeasureScore, queries: list[str], n_runs: int) -> set[tuple[str, int]]:
    """Labels that the values by query spell."""
    return {
        (query, i)
        for query, value in zip(queries, entry.per_query, strict=True)
        for i in range(SHOWN)
        if value is not None and round(value * n_runs) >> i & 1
    }


def test_511_runs_spell_every_label_where_values_by_query_are_open(board: Board) -> None:
    """The attack itself works: whoever sees values by query has all labels."""
    root = board.folder.parent
    path = spelling_runs(board, root / "all.jsonl", SPELLING_RUNS)
    file = cf.score(path, root / "package", ["CiteP"]).file
    labels = spelt(file.measures[0], file.query_ids, SPELLING_RUNS)
    assert labels == board.truth
    assert len(labels) == N_QUERIES * RELEVANT


@pytest.mark.parametrize(("n_runs", "is_right"), [(SPELLING_RUNS, False), (6, False), (5, True)])
def test_five_runs_at_most(board: Board, n_runs: int, is_right: bool) -> None:
    path = spelling_runs(board, board.folder.parent / "runs.jsonl", n_runs)
    for only_check in (True, False):
        if is_right:
            add_submissions([path], board.folder, only_check=only_check)
            continue
        with refused("too-large"):
            add_submissions([path], board.folder, only_check=only_check)
        assert figures(board, ["runs"]) == []
    gold = board.folder.parent / "gold"
    if not is_right:  # the same where the maintainer scores by hand
        with refused("too-large"):
            cf.score_files([path], board.folder.parent / "public", gold=gold)


def test_passages_of_its_own_tell_nothing(board: Board) -> None:
    """The attack would tell two labels per submission for certain; all of it is refused."""
    assert bring(board, 3).claims == 0
    root = board.folder.parent
    path = root / "mine" / "bring-0.jsonl"
    place = {"line": 2, "field": "passages"}
    for only_check in (True, False):
        with refused("hidden-gold"):
            add_submissions([path], board.folder, only_check=only_check)
    with refused("hidden-gold", **place):
        cf.score_files([path], root / "public", gold=root / "gold", private=True)
    for half in (root / "public", cf.load(root / "public", root / "gold")):
        first = cf.check(path, half).errors[0]
        assert (first.code, first.line, first.field) == ("hidden-gold", *place.values())


@pytest.mark.parametrize(
    "lines",
    [
        [{"passages": []}],  # own passages, and none
        [{}, {"passages": [{"text": "my own"}]}],  # behind a line about the context set
        [{"context": "mix", "passages": [{"docid": "p1"}]}],
    ],
)
@pytest.mark.parametrize("context", [None, "mix", "none", "own"])
def test_no_line_brings_passages(
    board: Board, lines: list[dict[str, object]], context: str | None
) -> None:
    root = board.folder.parent
    answers = [{"query_id": q, "output": "So [1]."} for q in board.queries]
    both = zip(answers, lines, strict=False)
    path = write_lines(root / "a.jsonl", "a", [answer | more for answer, more in both])
    with refused("hidden-gold"):
        cf.score_files([path], root / "public", ScoreOptions(context=context), gold=root / "gold",
                       private=True)  # fmt: skip


REVEALING = [
    {"max_row": True},
    {"only_asked": True},
    {"only_answered": True},
    {"by": ("n_shown",)},
    {"protocol": "reference"},
    {"context": "own"},
]


@pytest.mark.parametrize("chosen", REVEALING, ids=lambda chosen: next(iter(chosen)))
def test_no_option_reveals_labels(board: Board, chosen: dict[str, Any]) -> None:
    root = board.folder.parent
    with refused("hidden-gold"):
        cf.score_files([root / "answers.jsonl"], root / "public", ScoreOptions(**chosen),
                       gold=root / "gold", out=root / "a.json")  # fmt: skip
    config = board.folder / "leaderboard.yaml"
    content = yaml.safe_load(config.read_text())
    content["boards"][0]["score"] = {k: v if v != ("n_shown",) else [*v] for k, v in chosen.items()}
    config.write_text(yaml.safe_dump(content))
    with pytest.raises(cf.InputError, match="would reveal hidden gold"):
        read_boards(board.folder)


def test_scores_of_some_queries_are_not_saved(board: Board) -> None:
    root = board.folder.parent
    opened = cf.load(root / "public", root / "gold")
    for scores in (
        cf.score(root / "answers.jsonl", opened, protocol="reference"),
        cf.score([{"query_id": board.queries[0], "output": "[1]"}], opened, only_answered=True),
    ):
        with refused("hidden-gold"):
            scores.save(root / "a.json")
        scores.save(root / "a.json", private=True)


ANSWERS = {
    "cites nothing": "So.",
    "cites all": "So [1][2][3][4][5][6][7][8][9].",
    "cites what is not shown": "So [1][77].",
    "is empty": "",
}


def test_no_denominator_depends_on_answers(board: Board) -> None:
    """All submissions have the same measures, each of the same queries, for the same reasons."""
    root, seen = board.folder.parent, set()
    options = ScoreOptions(judge="lexical", measures=("rage", "alce"))
    for number, output in enumerate(ANSWERS.values()):
        cited = dict.fromkeys(board.queries[: 3 * number + 1], output)
        path = write_runs(root / f"a{number}.jsonl", f"system {number}", [cited])
        out = root / f"a{number}.json"
        cf.score_files([path], root / "public", options, gold=root / "gold", out=out)
        file = load_scores(out)
        counts = tuple((m.name, m.n, m.n_undefined, m.interval, m.weights) for m in file.measures)
        seen.add((counts, tuple((m.name, m.reason) for m in file.not_computed)))
    assert len(seen) == 1, seen
    ((counts, absent),) = seen
    assert {(n, n_undefined) for _, n, n_undefined, *_ in counts} == {(N_QUERIES, 0)}
    reasons = dict(absent)
    assert reasons["ALCE.Overcited"] == OWN_WEIGHTS
    assert len(counts) > 10


def test_nothing_on_a_board_tells_of_single_queries(board: Board) -> None:
    config = board.folder / "leaderboard.yaml"
    content = yaml.safe_load(config.read_text())
    content["boards"][0]["score"] = {"details": True}
    config.write_text(yaml.safe_dump(content))
    root = board.folder.parent
    for name, cited in (("alpha", 1), ("beta", 2)):
        path = write_runs(root / f"{name}.jsonl", f"system {name}",
                          [dict.fromkeys(board.queries, f"So [{cited}].")])  # fmt: skip
        add_submissions([path], board.folder)
    for path in sorted((board.folder / "scores").rglob("*.json")):
        file = load_scores(path)
        assert (file.gold, file.query_ids, file.answers, file.clusters) == ("withheld", [], [], [])
        for entry in file.measures:
            assert entry.per_query == []
            assert entry.influence is entry.stderr is entry.sd_runs is None
            assert entry.published is entry.lower_bound is entry.upper_bound is None
            ends = (entry.value, entry.low, entry.high)[entry.scale == 1 :]  # counts: tenths
            assert all(v is None or v == round(v) for v in ends)
        assert not any(query in path.read_text() for query in (f'"{q}"' for q in board.queries))
    site = board.folder / "site"
    assert not (site / "answers.html").exists()
    pages = sorted((site / "queries").glob("*.html"))
    assert len(pages) == N_QUERIES
    for page in pages:
        text = page.read_text()
        assert "system alpha" not in text
        assert 'class="tag">hidden<' in text and 'class="tag">relevant' not in text
        assert "unjudged</span>" not in text
    for page in (site / "systems").glob("*.html"):
        text = page.read_text()
        assert "queries/" not in text
        # Values are whole points, Length and Distinct are in tenths; the ends of all are whole.
        assert re.search(r"<td>[0-9]+</td><td>\[[0-9]+, [0-9]+\]</td>", text)
        assert not re.search(r"<td>[0-9]+\.[0-9]{2}", text)
    first_page = (site / "index.html").read_text()
    assert "gold is hidden: values are in whole points" in first_page


def private_file(board: Board, name: str = "mine") -> Path:
    root = board.folder.parent
    path = write_runs(root / f"{name}.jsonl", name, [dict.fromkeys(board.queries, "So [1].")])
    cf.score_files([path], root / "public", gold=root / "gold", out=root / f"{name}.json",
                   private=True)  # fmt: skip
    return root / f"{name}.json"


LEAVES = {
    ScoreFile: """scores_version system submission submission_format submission_sha256 benchmark
        benchmark_hash protocol context counts measures not_computed design warnings about
        is_control is_build_known same_family unpublished_judge headline gold""",
    Counts: """n_queries n_runs n_answered n_missing n_unparsed n_judge_failed n_empty n_truncated
        n_uncited n_refused n_out_of_range n_listed""",
    MeasureScore: "name signature scale interval n n_undefined weights value low high noise",
    Figures: "value low high interval noise",
    NotComputed: "name reason",
    Event: "submission sha256 system context benchmark_hash scores account",
}
STAYS = {
    ScoreFile: "query_ids clusters slices answers private_warnings",
    Counts: "n_premises_cut n_no_relevant n_no_gold n_all_relevant",
    MeasureScore: """stderr sd_runs p_t p_holm per_query influence variance lower_bound upper_bound
        corrected published""",
}
NOTHING = (None, [], 0)


@pytest.mark.parametrize("record", LEAVES, ids=lambda record: record.__name__)
def test_each_field_leaves_or_stays(record: type[Record] | type[Event]) -> None:
    """Whoever adds a field decides here whether it tells of hidden labels."""
    is_ours = issubclass(record, Record)
    fields = [*record.model_fields] if is_ours else [f.name for f in msgspec.structs.fields(record)]
    both = [*LEAVES[record].split(), *STAYS.get(record, "").split()]
    assert sorted(fields) == sorted(both)


def test_fields_that_stay_are_empty(board: Board) -> None:
    """Each field has a value before, and none behind the one function that files leave by."""
    file = load_scores(private_file(board))
    corrected = Corrected(
        tuning=0.5, df=9.0, labels_value=50.5, labels_low=49.5, labels_high=51.5,
        value=51.234, low=50.1, high=52.2, stderr=0.5, method="ppi", n_labels=3, signature="ppi",
        human=[1.0] * N_QUERIES, labelled=[0], linear_judged=[0.5] * N_QUERIES,
        linear_human=[0.5] * N_QUERIES,
    )  # fmt: skip
    entry = file.measures[0].model_copy(
        update={"sd_runs": 1.0, "p_t": 0.1, "p_holm": 0.1, "influence": [0.0] * N_QUERIES,
                "lower_bound": 50.0, "upper_bound": 51.0, "corrected": corrected}
    )  # fmt: skip
    counts = Counts.model_validate(dict.fromkeys(Counts.model_fields, 7))
    full = file.model_copy(
        update={"measures": [entry], "counts": counts, "private_warnings": ["label"],
                "clusters": [0] * N_QUERIES}
    )  # fmt: skip
    shown = withhold_scores(full)
    pairs = [(full, shown), (counts, shown.counts), (entry, shown.measures[0])]
    for before, behind in pairs:
        for name in STAYS[type(before)].split():
            if name not in ("slices", "answers", "variance"):
                assert getattr(before, name) not in NOTHING, name
            assert getattr(behind, name) in NOTHING, name


def test_only_warnings_of_the_submission_leave(board: Board) -> None:
    file = load_scores(private_file(board))
    assert any("benchmark_hash" in text for text in withhold_scores(file).warnings)
    assert withhold_scores(file.model_copy(update={"private_warnings": ["x"]})) == withhold_scores(
        file
    )


@pytest.mark.parametrize("name", ["value", "high", "n_queries"])
def test_edited_score_files_are_noticed(board: Board, name: str) -> None:
    """A rounded file has no values to check its means by: the history has its hash."""
    root = board.folder.parent
    path = write_runs(root / "a.jsonl", "a", [dict.fromkeys(board.queries, "So [1].")])
    add_submissions([path], board.folder)
    scores = board.folder / "scores" / "public" / "a.json"
    (line,) = (board.folder / "history" / "public.jsonl").read_text().splitlines()
    assert json.loads(line)["scores"] == {"a.json": sha256_file(scores)}
    content = json.loads(scores.read_text())
    (content["counts"] if name == "n_queries" else content["measures"][0])[name] = 100
    scores.write_text(json.dumps(content) + "\n")
    site, _, lines = build_leaderboard(board.folder)
    assert site.systems == 0
    assert "is not the file that this board wrote" in lines[0]
    add_submissions([], board.folder)  # scores again
    assert sha256_file(scores) == json.loads(line)["scores"]["a.json"]


def test_private_scores_are_for_the_maintainer(board: Board) -> None:
    path = private_file(board)
    file = load_scores(path)
    assert file.gold == "private"
    assert len(file.query_ids) == N_QUERIES
    assert compare_many([file, load_scores(private_file(board, "other"))]).differences
    (path.parent / "files").mkdir()
    path.rename(path.parent / "files" / "mine.json")
    root = board.folder.parent
    with refused("hidden-gold"):
        build_one(root / "public", path.parent / "files", root / "site", gold=root / "gold")
    withheld = withhold_scores(file)
    with refused("hidden-gold"):
        compare_many([withheld, withheld])


def test_the_command_writes_withheld_scores(board: Board, inline: Inline) -> None:
    root = board.folder.parent
    private_file(board)
    there = ("--benchmark", root / "public", "--gold", root / "gold", "--out")
    inline.ok("score", root / "mine.jsonl", *there, root / "a.json")
    inline.ok("score", root / "mine.jsonl", *there, root / "b.json", "--private")
    assert load_scores(root / "a.json") == withhold_scores(load_scores(root / "b.json"))
    assert load_scores(root / "a.json").gold == "withheld"
    inline.ok("report", root / "a.json", "--out", root / "r.html")
    compared = inline.fails(1, "hidden-gold", "compare", root / "a.json", root / "a.json")
    assert "--private" in compared.stderr
    sliced = inline("score", root / "mine.jsonl", *there, root / "d.json", "--by", "n_shown")
    assert (sliced.returncode, sliced.code) == (2, "hidden-gold")
    open_one = ("--benchmark", root / "package", "--out", root / "c.json", "--private")
    assert inline("score", root / "mine.jsonl", *open_one).returncode == 2


def test_figures_of_few_queries_are_left_out(board: Board) -> None:
    file = load_scores(private_file(board))
    few = file.measures[0].model_copy(update={"n": FEWEST_QUERIES - 1})
    shown = withhold_scores(file.model_copy(update={"measures": [few]}))
    assert shown.measures == []
    assert few.name in {absent.name for absent in shown.not_computed}
    with pytest.raises(ValueError, match="contains values of single queries"):
        ScoreFile.model_validate(file.model_dump() | {"gold": "withheld"})


@pytest.mark.slow
def test_a_system_has_three_submissions(board: Board) -> None:
    """By the name of the system or of the file, whatever case or width it is written in."""
    root, names = board.folder.parent, ("Team A", "team a", "ＴＥＡＭ a")

    def submit(number: int, system: str, file: str = "a.jsonl", only_check: bool = False) -> None:
        cited = dict.fromkeys(board.queries, f"So [{number + 1}].")
        path = write_runs(root / file, system, [cited])
        add_submissions([path], board.folder, replace=True, only_check=only_check)

    for number, name in enumerate(names):
        submit(number, name)
        submit(number, name)  # once more is no other submission
    for only_check in (True, False):
        for name in ("Team A", "Another name"):
            with refused("quota") as caught:
                submit(3, name, only_check=only_check)
            assert "has made 3 submissions, and this board takes 3" in str(caught.value)
    assert len((board.folder / "history" / "public.jsonl").read_text().splitlines()) == 3
    config = board.folder / "leaderboard.yaml"
    content = yaml.safe_load(config.read_text())
    content["boards"][0]["submissions_per_system"] = 4
    config.write_text(yaml.safe_dump(content))
    submit(3, "Team A")
    with refused("quota"):
        submit(4, "Team A")


def test_scores_with_values_by_query_are_refused(board: Board) -> None:
    """A file that says that gold is public does not get onto a site of hidden gold."""
    file = load_scores(private_file(board)).model_copy(update={"gold": "public"})
    root = board.folder.parent
    (root / "files").mkdir()
    (root / "files" / "mine.json").write_text(file.model_dump_json())
    with refused("hidden-gold", path="mine.jsonl"):
        build_one(root / "public", root / "files", root / "site", gold=root / "gold")


def test_errors_of_scoring_say_their_code_alone(board: Board) -> None:
    """They arise with the gold; without a judge, what is asked for cannot be computed."""
    config = board.folder / "leaderboard.yaml"
    content = yaml.safe_load(config.read_text())
    content["boards"][0]["score"] = {"measures": ["ALCE.CitRec"]}
    config.write_text(yaml.safe_dump(content))
    path = write_runs(board.folder.parent / "a.jsonl", "a", [{board.queries[0]: "So [1]."}])
    (line,) = add_submissions([path], board.folder).refused
    assert line.startswith(f"{path}: cannot be scored (not-computed); the owner reads why in: ")


def test_a_board_without_gold_builds_what_was_scored(board: Board) -> None:
    """Who has no gold builds the site from the score files, and sees no more."""
    root = board.folder.parent
    path = write_runs(root / "a.jsonl", "a", [dict.fromkeys(board.queries, "So [1].")])
    done = add_submissions([path], board.folder)
    assert build_leaderboard(board.folder)[0] == done.site
    assert json.loads((board.folder / "scores/public/a.json").read_text())["gold"] == "withheld"


def test_the_whole_of_a_hidden_benchmark(board: Board) -> None:
    """Its scores are hidden, too, and no site is made of it: its pages would show the labels."""
    root = board.folder.parent
    manifest = root / "package" / "manifest.json"
    content = json.loads(manifest.read_text())
    content["config"]["hidden"] = True
    content["manifest_sha256"] = digest(content | {"manifest_sha256": ""})
    manifest.write_text(pretty_json(content))
    cf.score_files([root / "answers.jsonl"], root / "package", out=root / "files" / "a.json")
    assert load_scores(root / "files" / "a.json").gold == "withheld"
    with refused("hidden-gold", path=root / "package"):
        build_one(root / "package", root / "files", root / "site")


def test_private_is_for_hidden_gold(board: Board) -> None:
    root = board.folder.parent
    with refused("option-without-effect"):
        cf.score_files([root / "answers.jsonl"], root / "package", private=True)
