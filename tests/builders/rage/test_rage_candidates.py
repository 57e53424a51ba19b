"""Negatives of `build rage`: of a run, by a judge, no nearer than random ones, pieces of others."""

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import citeforge as cf
from citeforge.builders.rage.mining import Negative
from citeforge.builders.rage.negatives import count_easy_negatives
from citeforge.engines.models.vectors import VectorShard
from citeforge.engines.retrieval.certain import CertainSearch
from citeforge.package.manifest import load_intact
from citeforge.package.package import Package
from citeforge.schemas.manifest import COMPARED, FAR
from conftest import Inline, refused, write_beir
from overlapping import DOCUMENTS, PIECES, built, write_chunks

PASSAGES = {
    "r": "The ship sank in 1912.",
    "twin": "the  ship sank in 1912.",
    "a": "A ship sails.",
    "b": "The year 1912 was cold.",
    "c": "A boat sank.",
    "d": "Trees grow.",
}


def world(tmp_path: Path, run: str) -> dict[str, Any]:
    (tmp_path / "run.txt").write_text(run)
    folder = write_beir(tmp_path / "x", PASSAGES, {"q": "When did the ship sink?"}, [("q", "r", 1)])
    mixtures = ("mix=1,0,2",)
    return {"source": f"beir:{folder}", "candidates": f"run:{tmp_path / 'run.txt'}",
            "mixtures": mixtures, "mining": {"seemingly_relevant": 2, "irrelevant": 1}}  # fmt: skip


RUN = """q Q0 c 1 7 t
q Q0 r 2 9 t
q Q0 twin 3 8 t
q Q0 b 4 6.5 t
q Q0 a 5 5 t
other Q0 zz 1 1 t
"""


def negatives(package: Path) -> list[tuple[str, float, int]]:
    rows = Package(package).mappings["seemingly_relevant"].to_pylist()
    return [(r["corpus-id"], r["score"], r["rank"]) for r in rows]


def test_seemingly_relevant_passages_come_from_the_run(tmp_path: Path) -> None:
    given = world(tmp_path, RUN)
    # By score: r (relevant), twin (its text), c, b, a; ranks count what may stand as a negative.
    manifest = cf.build(cf.RageRecipe.model_validate(given), tmp_path / "o").manifest
    assert negatives(tmp_path / "o") == [("c", 7.0, 1), ("b", 6.5, 2)]
    assert "embedder" not in manifest.models
    assert manifest.models["candidates"]["name"] == "run"
    given["mining"] |= {"skip_top": 1}
    cf.build(cf.RageRecipe.model_validate(given), tmp_path / "p")
    assert negatives(tmp_path / "p") == [("b", 6.5, 2), ("a", 5.0, 3)]


def test_a_run_that_is_too_short_is_told_of(tmp_path: Path) -> None:
    given = world(tmp_path, "q Q0 c 1 7 t\n")
    manifest = cf.build(cf.RageRecipe.model_validate(given), tmp_path / "o").manifest
    assert negatives(tmp_path / "o") == [("c", 7.0, 1)]
    assert manifest.short_mappings == {"q": {"seemingly_relevant": 1}}


def test_bm25_gives_candidates_too(tmp_path: Path) -> None:
    given = {**world(tmp_path, RUN), "candidates": "bm25"}
    cf.build(cf.RageRecipe.model_validate(given), tmp_path / "o")
    assert [name for name, _, _ in negatives(tmp_path / "o")] == ["a"]  # nobody else has a word


def test_bad_candidates_are_refused(tmp_path: Path) -> None:
    given = world(tmp_path, "q Q0 c 1 7 t\nq Q0 gone 2 6 t\n")
    with refused("unknown-id", path=tmp_path / "run.txt", line=2):
        cf.build(cf.RageRecipe.model_validate(given), tmp_path / "o")
    with pytest.raises(ValueError, match="--margin limits cosines"):
        cf.RageRecipe.model_validate({**given, "mining": {"margin": 0.1}})
    recipe = cf.RageRecipe.model_validate({**given, "candidates": str(tmp_path / "run.txt")})
    with refused("unknown-name", cf.UsageError):
        cf.build(recipe, tmp_path / "n")


def test_eli5_becomes_rage_with_a_judge(tmp_path: Path, inline: Inline) -> None:
    docs = [{"id": i, "title": "", "text": t} for i, t in PASSAGES.items() if i != "twin"]
    claims = ["The ship sank in 1912.", "The ship sank."]
    item = {"id": "q", "question": "What became of the ship?", "docs": docs, "claims": claims}
    (tmp_path / "eli5.json").write_text(json.dumps([item]))
    args = ("build", "rage", "--source", "alce:eli5.json", "--n-seemingly", "0", "--out", "o",
            "--mixture", "mix=1,1,0")  # fmt: skip
    result = inline.fails(1, "missing-judge", *args)
    assert "--judge" in result.stderr
    inline.ok(*args, "--judge", "lexical")
    package = Package(tmp_path / "o")
    rows = package.mappings["relevant"].to_pylist()
    assert [(r["corpus-id"], r["score"]) for r in rows] == [("r", 2.0)]  # both claims
    assert package.manifest.models["relevance judge"]["name"] == "lexical"
    assert "entails a claim by lexical" in package.manifest.sources[0].rules["relevant"]
    inline.ok(*args, "--judge", "lexical", "--resume")
    write_beir(tmp_path / "x", PASSAGES, {"q": "ship"}, [("q", "r", 1)])
    inline.fails(
        2, "option-without-effect", *args[:3], "beir:x", *args[4:-3], "p", "--judge", "lexical"
    )


def searching(folder: Path, cosines: list[float]) -> CertainSearch:
    """Search with two equal queries, of which passages have these cosines."""
    vectors = np.array([[c, math.sqrt(1 - c * c)] for c in cosines], np.float32)
    path = folder / "vectors"
    path.write_bytes(vectors.astype("<f4").tobytes())
    queries = np.array([[1, 0], [1, 0]], np.float32)
    return CertainSearch([VectorShard(path, len(cosines), 2, "k")]).set_queries(queries)


def test_half_way_from_the_median_of_random_to_the_mean_of_relevant(tmp_path: Path) -> None:
    # Seven passages: all of them are the random ones, with a median of 0.25. Relevant are 0.75
    # and 1.0, with a mean of 0.875. Half-way is (0.25 + 0.875) / 2 = 0.5625.
    search = searching(tmp_path, [0.0, 0.0, 0.125, 0.25, 0.5, 0.75, 1.0])
    mined = [
        [Negative(4, 0.57, 1), Negative(4, 0.56, 2), Negative(3, 0.25, 3)],
        [Negative(4, 0.5, 1)],
    ]
    # The second query has no relevant passage, so nothing can be said of its own.
    assert count_easy_negatives(search, [[5, 6], []], mined, 0) == {COMPARED: 3, FAR: 2}
    assert count_easy_negatives(search, [[5, 6], []], [[], []], 0) == {COMPARED: 0, FAR: 0}


@pytest.mark.parametrize(
    ("others", "warns"),
    [
        # Nothing else in the corpus is about moons: what is mined is as far away as anything.
        (["Bread needs flour.", "The king died in 1066.", "Tax law of France."], True),
        # Everything else is about the same moon.
        (
            ["Europa is a moon of Jupiter.", "Moons of Jupiter: Ganymede and Callisto.",
             "Which moon circles Jupiter in a day?", "Jupiter has a moon called Thebe."],
            False,
        ),
    ],
)  # fmt: skip
def test_a_build_says_so_in_the_end_message_the_card_and_the_audit(
    tmp_path: Path, inline: Inline, others: list[str], warns: bool
) -> None:
    filler = [f"Page {i} of a manual on {w}." for i, w in enumerate(("taxes", "bread", "war") * 4)]
    passages = {f"o{i}": text for i, text in enumerate([*others, *filler])}
    passages["r"] = "Io is the innermost moon of Jupiter."
    folder = write_beir(
        tmp_path / "b", passages, {"q": "Which is the innermost moon of Jupiter?"}, [("q", "r", 1)]
    )
    words = ("--embedder", "offline", "--licence", "mit", "--n-seemingly", "3", "--n-irrelevant")
    done = inline.ok("build", "rage", "--source", f"beir:{folder}", *words, "3", "--out", "out")
    counts = json.loads((tmp_path / "out" / "manifest.json").read_text())["counts"]
    assert counts[COMPARED] == 3
    assert (2 * counts[FAR] > 3) == warns
    text = f"{counts[FAR]} of 3 mined negatives are nearer to random passages"
    audit = inline("audit", "out")
    card = (tmp_path / "out" / "README.md").read_text()
    for said in (done.stderr, card, audit.stdout):
        assert (text in said) == warns


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_chunks(tmp_path_factory.mktemp("chunks"))


def test_they_are_found_and_kept_out(source: Path, tmp_path: Path, inline: Inline) -> None:
    plain = built(source, tmp_path / "plain")
    n = sum(len(plain[q] & PIECES[q]) for q in DOCUMENTS)
    assert n == 2 + 3 + 2  # the miner takes them all: they are the nearest
    inline.ok("audit", tmp_path / "plain")
    flaws = json.loads((tmp_path / "plain" / "audit.json").read_text())["flaws"]
    assert {(q, p) for _, q, p, _ in flaws["shared-text"]} == {
        (q, p) for q in DOCUMENTS for p in PIECES[q]
    }
    assert "near-duplicate" not in flaws  # what was looked for before finds none of them

    dropped = built(source, tmp_path / "dropped", drop_suspects=True)
    assert not any(dropped[q] & PIECES[q] for q in DOCUMENTS)
    counts = load_intact(tmp_path / "dropped").counts
    assert counts["suspect_negatives_dropped[shared-text]"] == n

    screened = built(source, tmp_path / "screened", mining={"exclude_contained": True})
    assert not any(screened[q] & PIECES[q] for q in DOCUMENTS)
    # Dropping leaves fewer; mining without them finds others in their place.
    assert all(len(result) == 5 + 4 for result in screened.values())
    counts = load_intact(tmp_path / "screened").counts
    assert counts["candidates_sharing_text[seemingly_relevant]"] == n
    assert "candidates_sharing_text[irrelevant]" in counts


def test_the_threshold_belongs_to_the_recipe(source: Path, tmp_path: Path) -> None:
    # Neighbours share 46 of 96 runs; only the line is a piece as a whole.
    mining = {"exclude_contained": True, "contained": 0.5}
    result = built(source, tmp_path / "out", mining=mining)
    assert "castle-line" not in result["castle"]
    assert result["river"] >= PIECES["river"]
    assert load_intact(tmp_path / "out").config["mining"]["contained"] == 0.5
