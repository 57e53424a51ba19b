"""Attacks on boards with hidden gold: each works without the noise, and tells little with it."""

import json
import math
import random
from pathlib import Path
from statistics import NormalDist, fmean, stdev

import pytest
from benchmarks.hidden_attacks import (
    MANY,
    Attack,
    average,
    difference,
    intake,
    probe,
    repeat,
    single,
    tie,
    withdraw,
)
from benchmarks.hidden_board import Board, learnt, make_board, write_runs

import citeforge as cf
from citeforge.evaluator import noise
from citeforge.evaluator.measures.registry import measures
from citeforge.evaluator.noise import MOST_BITS, NOISE, NoiseKey, hash_answers
from citeforge.evaluator.statistics.intervals import Z_95, widest_interval, wilson_interval
from citeforge.evaluator.submissions.submission import Submission
from citeforge.evaluator.withhold import JUDGE_FAILED, NO_NOISE, withhold_scores
from citeforge.package.manifest import pretty_json
from citeforge.schemas.recipes.command_options import ScoreOptions
from citeforge.schemas.scores import Figures
from conftest import refused

N_QUERIES = 30
CERTAIN: dict[str, tuple[Attack, int]] = {
    "edge of rounding": (probe, 8), "single queries": (single, 8), "differences": (difference, 16),
    "several accounts": (average, 20),
}  # fmt: skip
"""Attacks that tell labels for certain on a board that rounds alone, and their submissions."""


@pytest.fixture
def board(tmp_path: Path) -> Board:
    """A board with hidden gold of 30 queries, three of nine passages relevant to each."""
    return make_board(tmp_path, N_QUERIES, passages=500)


@pytest.mark.parametrize("name", CERTAIN)
def test_without_noise_each_label_is_told_for_certain(
    board: Board, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One label is 100 / 30 = 3.3 points of the precision: rounding to whole points shows it."""
    monkeypatch.setattr(noise, "NOISE", 1e-9)
    attack, n = CERTAIN[name]
    found = attack(board, n)
    assert found.claims == found.right > 0


@pytest.mark.parametrize("name", ["edge of rounding", "single queries", "differences"])
def test_with_noise_no_label_is_certain(board: Board, name: str) -> None:
    attack, n = CERTAIN[name]
    found = attack(board, n)
    assert found.right < found.claims


@pytest.mark.slow
@pytest.mark.parametrize("name", MANY)
def test_bits_per_submission_are_below_the_bound(board: Board, name: str) -> None:
    """Four means have 1.16 bits each at most, and CiteF1 1.58: 6.2; attacks find less than 1."""
    found = MANY[name](board, 40)
    assert found.bits_each < 1 < 4 * MOST_BITS


def test_ranks_tell_what_figures_tell(board: Board) -> None:
    found = tie(board, 16)
    assert found.right < found.claims


def test_the_same_answers_have_the_same_figures(board: Board) -> None:
    """Whatever name, header, order, blanks and metadata they are sent with."""
    assert repeat(board, 6).submissions == 1


def test_withdrawn_submissions_count(board: Board) -> None:
    """The history keeps what was scored, also where its file was taken back."""
    assert withdraw(board, 5).submissions == 3


def test_refusals_do_not_depend_on_labels(board: Board, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.hidden_attacks._PASSAGES", 500)
    assert intake(board, 4).claims == 0


def test_mutual_information_is_measured_as_it_is(board: Board) -> None:
    """All 270 labels right: 270 · H(1/3) bits, less the half log2(e) of chance; a constant: 0."""
    labels = [(query, i) for query in board.queries for i in range(9)]
    entropy = math.log2(3) - 2 / 3
    right = learnt(board, {label: label in board.truth for label in labels}, 10)
    assert right.bits == pytest.approx(270 * entropy - math.log2(math.e) / 2)
    assert right.bits_each == pytest.approx(right.bits / 10)
    assert learnt(board, dict.fromkeys(labels, False), 10).bits == 0


def test_noise_is_normal_and_its_own_for_each_figure() -> None:
    """3,000 draws: the mean is within 3.5 / √3000, the deviation within 3.5 / √6000."""
    draws = [NoiseKey(bytes(32), str(i)).draw("CiteP|p:strict|v:1") for i in range(3000)]
    assert abs(fmean(draws)) < 3.5 / math.sqrt(3000)
    assert abs(stdev(draws) - 1) < 3.5 / math.sqrt(6000)
    key = NoiseKey(bytes(32), "0")
    assert key.draw("CiteP|p:strict|v:1") == key.draw("CiteP|p:strict|v:2") == draws[0]
    others = {key.draw("CiteR|p:strict|v:1"), NoiseKey(b"\1" * 32, "0").draw("CiteP|p:strict|v:1")}
    assert draws[0] not in others
    assert len(others) == 2


def test_a_figure_tells_at_most_its_channel() -> None:
    """Labels vary a mean by 1/2 ÷ √n, noise by 1/4 ÷ √n: ½ log2(1 + 4) = 1.16 bits."""
    assert pytest.approx(0.25) == NOISE
    assert pytest.approx(math.log2(5) / 2) == MOST_BITS


@pytest.mark.parametrize(("share", "n"), [(0.0, 30), (0.3, 30), (0.5, 716), (1.0, 716)])
def test_the_widest_interval_is_wilsons_and_wider_with_noise(share: float, n: int) -> None:
    plain = widest_interval(share, 1 / n)
    assert plain == pytest.approx(wilson_interval(share, n))
    size = 0.25 / math.sqrt(n)
    low, high = widest_interval(share, 1 / n, size)
    assert 0 <= low <= plain[0] <= plain[1] <= high <= 1
    for end in {low, high} - {0.0, 1.0}:  # each end is 1.96 standard errors away
        assert abs(share - end) == pytest.approx(Z_95 * math.sqrt(end * (1 - end) / n + size**2))


def test_harmonic_means_vary_by_twice_the_variance_at_most() -> None:
    """The interval of CiteF1 counts its variance twice: no pair of precision and recall needs more.

    By first derivatives, with precision and recall that rise and fall together.
    """
    worst = 0.0
    grid = [i / 200 for i in range(1, 201)]
    for p in grid:
        for r in grid:
            f = 2 * p * r / (p + r)
            spread = (
                2 * r * r * math.sqrt(p * (1 - p)) + 2 * p * p * math.sqrt(r * (1 - r))
            ) / (p + r) ** 2  # fmt: skip
            worst = max(worst, spread**2 / (f * (1 - f)) if f < 1 else 0.0)
    assert 1.9 < worst <= 2


def test_intervals_of_published_figures_cover() -> None:
    """Shares of 1,000 benchmarks of 100 queries, with noise: 95 % hold the truth, or more."""
    rng, n, truth, hits = random.Random(1), 100, 0.4, 0
    for _ in range(1000):
        mean = sum(rng.random() < truth for _ in range(n)) / n
        noisy = min(max(mean + NOISE / math.sqrt(n) * rng.gauss(0, 1), 0.0), 1.0)
        low, high = widest_interval(noisy, 1 / n, NOISE / math.sqrt(n))
        hits += low <= truth <= high
    # Three standard deviations below 950 of 1,000: 950 − 3 √(1000 · .95 · .05) = 929.
    assert hits >= 929


NASTY = ["So [1].", "So [1", "- [2] a\n- b [3]", "", "“x” [1][2]\n\n[1] y", "a\u00a0[1]\u00a0", "#"]
BLANKS = ["", " ", "\n", " \n\t\n", "\u00a0"]


@pytest.mark.parametrize("blank", BLANKS)
def test_answers_of_one_hash_have_the_same_values(board: Board, tmp_path: Path, blank: str) -> None:
    """Else two files with the same noise would tell their exact difference."""
    root = board.folder.parent
    whole = cf.load(root / "public", root / "gold")
    outputs = {q: NASTY[i % len(NASTY)] for i, q in enumerate(board.queries)}
    padded = {q: text + blank for q, text in outputs.items()}
    values, hashes = [], set()
    for name, one in (("plain", outputs), ("padded", padded)):
        path = write_runs(tmp_path / f"{name}.jsonl", name, [one])
        hashes.add(hash_answers(Submission(path, whole)))
        file = cf.score(path, whole, ["rage", "alce"], judge="lexical").file
        values.append([(m.name, m.value, m.per_query, m.published) for m in file.measures])
    assert len(hashes) == 1
    assert values[0] == values[1]


def test_a_changed_word_draws_new_noise(board: Board, tmp_path: Path) -> None:
    """So each near-identical submission counts: their average is what `several accounts` is."""
    root = board.folder.parent
    whole = cf.load(root / "public", root / "gold")
    hashes = {
        hash_answers(Submission(write_runs(tmp_path / f"{i}.jsonl", "a", [{"q0": text}]), whole))
        for i, text in enumerate(("So [1].", "so [1].", " So [1].", "So  [1]."))
    }
    assert len(hashes) == 4


def test_changed_further_files_draw_new_noise(board: Board, tmp_path: Path) -> None:
    """Their answers enter values as those of the first file do."""
    root = board.folder.parent
    whole = cf.load(root / "public", root / "gold")
    first, *others = (
        write_runs(tmp_path / f"{i}.jsonl", "a", [{"q0": text}])
        for i, text in enumerate(("So [1].", "So [2].", "so [2]."))
    )
    hashes = {
        hash_answers(Submission(first, whole, more=more))
        for more in ([], *([other] for other in others), others, others[::-1])
    }
    assert len(hashes) == 5


def test_labels_that_are_not_there_are_named_and_are_no_zeros(board: Board) -> None:
    """Who has the public half alone reads why, as for measures of citations of passages."""
    root = board.folder.parent
    names = ["CiteP", "P@5", "nDCG@5", "Grounded.uRAF"]
    found = cf.score(root / "answers.jsonl", cf.load(root / "public"), names, judge="lexical")
    assert found.file.measures == []
    assert {one.name: one.reason for one in found.not_computed} == dict.fromkeys(
        names, "the labels of this benchmark are hidden; give its gold half with --gold"
    )


def test_measures_without_noise_are_what_anybody_can_compute(board: Board) -> None:
    """The public half alone has the same values: no label decides anything of these measures."""
    root = board.folder.parent
    exact = [
        m.name for m in measures().values() if not m.reads_labels and m.reads == "passages"
    ]  # fmt: skip
    assert {"Distinct", "Length", "ALCE.CitRec", "AutoAIS.cit", "NLI.F1"} < {*exact}
    assert not {"CiteP", "ShortEM", "ALCE.StrEM", "ALCE.ClaimRec", "nDCG@10"} & {*exact}
    options = {"measures": exact, "judge": "lexical"}
    answers = root / "answers.jsonl"
    ours, theirs = (
        cf.score(answers, half, **options).file  # type: ignore[arg-type]
        for half in (cf.load(root / "public", root / "gold"), cf.load(root / "public"))
    )
    assert ours.measures
    assert [(m.name, m.per_query) for m in ours.measures] == [
        (m.name, m.per_query) for m in theirs.measures
    ]
    assert {m.published.noise for m in ours.measures if m.published} == {0.0}


def test_published_figures_are_value_and_noise(board: Board) -> None:
    """30 queries: the noise has the standard deviation 25 / √30 = 4.6 points."""
    root = board.folder.parent
    whole = cf.load(root / "public", root / "gold")
    file = cf.score(root / "answers.jsonl", whole, ["CiteP", "Distinct"]).file
    entry, count = file.measures
    key = NoiseKey(bytes(32), hash_answers(Submission(root / "answers.jsonl", whole)))
    assert entry.value is not None
    size = 25 / math.sqrt(30)
    assert entry.published is not None
    assert entry.published.noise == pytest.approx(size)
    assert entry.published.value == round(entry.value + size * key.draw(entry.signature))
    assert count.value == 3
    assert count.published is not None
    assert (count.published.value, count.published.noise) == (3, 0)
    shown = withhold_scores(file).measures[0]
    assert (shown.value, shown.noise, shown.interval) == (
        entry.published.value, entry.published.noise, "widest"
    )  # fmt: skip


def test_without_a_secret_nothing_that_labels_decide_is_published(board: Board) -> None:
    """A gold half without it is refused; a package of hidden labels publishes the rest alone."""
    root = board.folder.parent
    answers, folder = root / "answers.jsonl", root / "package"
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["config"]["hidden"] = True
    (folder / "manifest.json").write_text(pretty_json(manifest))
    (folder / "secret.hex").unlink()
    (root / "gold" / "secret.hex").unlink()
    with refused("missing-file", path=root / "gold"):
        cf.score_files([answers], root / "public", gold=root / "gold", out=root / "a.json")


def test_a_file_without_published_figures_publishes_none(board: Board) -> None:
    root = board.folder.parent
    whole = cf.load(root / "public", root / "gold")
    file = cf.score(root / "answers.jsonl", whole, ["CiteP", "Length"]).file
    old = [m.model_copy(update={"published": None}) for m in file.measures]
    shown = withhold_scores(file.model_copy(update={"measures": old}))
    assert shown.measures == []
    assert {m.reason for m in shown.not_computed} == {NO_NOISE}


@pytest.mark.parametrize(("noise_size", "shown"), [(1.0, 0), (0.0, 3)])
def test_failures_of_the_judge_are_counted_where_no_label_causes_them(
    board: Board, noise_size: float, shown: int
) -> None:
    root = board.folder.parent
    whole = cf.load(root / "public", root / "gold")
    file = cf.score(root / "answers.jsonl", whole, ["ALCE.CitRec"], judge="lexical").file
    figures = Figures(value=50, low=40, high=60, interval="widest", noise=noise_size)
    entry = file.measures[0].model_copy(update={"published": figures})
    counts = file.counts.model_copy(update={"n_judge_failed": 3})
    published = withhold_scores(file.model_copy(update={"measures": [entry], "counts": counts}))
    assert published.counts.n_judge_failed == shown
    assert (JUDGE_FAILED in published.warnings) == (shown == 0)


def test_two_systems_of_716_queries_keep_their_order() -> None:
    """Noise of 25 / √716 = 0.93 points: three points apart, 98.9 % of pairs keep their order."""
    size = 100 * NOISE / math.sqrt(716)
    assert size == pytest.approx(0.934, abs=0.001)
    kept = [NormalDist().cdf(points / (size * math.sqrt(2))) for points in (1, 2, 3)]
    assert kept == pytest.approx([0.775, 0.935, 0.988], abs=0.001)


def test_max_row_stays_with_the_owner(board: Board) -> None:
    root = board.folder.parent
    paths = [
        write_runs(root / f"{name}.jsonl", name, [dict.fromkeys(board.queries, text)])
        for name, text in (("a", "So [1]."), ("b", "So [2]."))
    ]
    options = ScoreOptions(measures=("retrieval",), max_row=True)
    with refused("hidden-gold"):
        cf.score_files(paths, root / "public", options, gold=root / "gold")
