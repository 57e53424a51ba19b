"""What is reported of two packages is what was edited."""

import hashlib
from itertools import permutations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.schemas.package_changes import PackageChanges, TableChanges
from conftest import Inline, refused, write_beir, write_jsonl

N_PASSAGES, N_QUERIES = 12, 4
EDITS = st.sampled_from(["text", "title", "remove", "add"])


def table(changes: PackageChanges, name: str) -> TableChanges:
    """Changes of one table or context set."""
    (found,) = [t for t in (*changes.tables, *changes.contexts) if t.name == name]
    return found


def corpus() -> dict[str, dict[str, str]]:
    """Twelve passages, three per query."""
    return {
        f"p{n}": {"_id": f"p{n}", "title": f"Title {n}", "text": f"Passage number {n}."}
        for n in range(N_PASSAGES)
    }


def build(folder: Path, name: str, passages: dict[str, dict[str, str]], **edits: Any) -> Path:
    """Build a package whose contexts show all relevant passages of a query."""
    queries = edits.get("queries") or {f"q{n}": f"Question {n}?" for n in range(N_QUERIES)}
    judged = {q: [f"p{3 * (int(q[1:]) % N_QUERIES) + n}" for n in range(3)] for q in queries}
    judged = {q: [p for p in found if p in passages] for q, found in judged.items()}
    source = write_beir(
        folder / f"{name}-source", {}, queries,
        [(q, p, edits.get("scores", {}).get((q, p), 1)) for q in queries for p in judged[q]],
    )  # fmt: skip
    write_jsonl(source / "corpus.jsonl", [dict(row) for row in passages.values()])
    recipe = cf.RageRecipe(
        source=f"beir:{source}", embedder="offline", mixtures=("set=3,0,0",), name=name,
        mining={"irrelevant": 0, "seemingly_relevant": 0}, allow_no_relevant=True,
    )  # fmt: skip
    return cf.build(recipe, folder / name).folder


@pytest.fixture(scope="module")
def unedited(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of the corpus as it is."""
    return build(tmp_path_factory.mktemp("unedited"), "old", corpus())


@pytest.mark.slow
@given(edits=st.lists(st.tuples(EDITS, st.integers(0, 11))))
def test_edits_of_a_corpus_are_what_is_reported(
    unedited: Path, edits: list[tuple[str, int]]
) -> None:
    old, new = corpus(), corpus()
    for edit, n in edits:
        name = f"p{n}" if edit != "add" else f"new{n}"
        if edit == "remove":
            new.pop(name, None)
        elif edit == "add":
            new[name] = {"_id": name, "title": "", "text": f"New passage {n}."}
        elif name in new:
            new[name] = {**new[name], edit: f"Another {edit} {n}"}
    both = [name for name in old if name in new]
    differing = {
        part: {n for n in both if old[n][part] != new[n][part]} for part in ("text", "title")
    }
    with TemporaryDirectory() as place:
        changes = cf.compare_packages(unedited, build(Path(place), "new", new))
    passages = table(changes, "passages")
    assert set(passages.added) == set(new) - set(old)
    assert set(passages.removed) == set(old) - set(new)
    assert {part: set(names) for part, names in passages.changed.items()} == {
        part: names for part, names in differing.items() if names
    }
    touched = differing["text"] | differing["title"]
    assert passages.n_same == len(both) - len(touched)
    gone = set(old) - set(new)
    shown = {f"q{n}": {f"p{3 * n + i}" for i in range(3)} for n in range(N_QUERIES)}
    contexts = table(changes, "context set")
    assert {c: set(queries) for c, queries in contexts.changed.items()} == {
        change: queries
        for change, queries in {
            "other evidence": {q for q, ids in shown.items() if ids & gone},
            "other texts": {q for q, ids in shown.items() if ids & touched and not ids & gone},
        }.items()
        if queries
    }
    assert set(table(changes, "judgements").removed) == {
        f"{q} → {p}" for q, ids in shown.items() for p in ids & gone
    }
    assert changes.is_equal == (not (touched or gone or set(new) - set(old)))


def test_edits_of_judgements_and_queries(tmp_path: Path) -> None:
    """p0 is no longer judged; the relevance of p1 grows; one question is put in other words."""
    old = build(tmp_path, "old", corpus())
    questions = {"q0": "Question 0?", "q1": "Other words?", "q2": "Question 2?", "q9": "New?"}
    scores = {("q0", "p0"): 0, ("q0", "p1"): 2}
    new = build(tmp_path, "new", corpus(), queries=questions, scores=scores)
    changes = cf.compare_packages(old, new)
    queries, judged = table(changes, "queries"), table(changes, "judgements")
    assert (queries.added, queries.removed, queries.n_same) == (("q9",), ("q3",), 2)
    assert queries.changed == {"text": ("q1",)}
    # q3 had three judgements, q0 loses one; q9 is judged as q1 is.
    assert judged.added == ("q9 → p3", "q9 → p4", "q9 → p5")
    assert judged.removed == ("q0 → p0", "q3 → p9", "q3 → p10", "q3 → p11")
    assert judged.changed == {"score": ("q0 → p1",)}
    assert (judged.n_old, judged.n_new, judged.n_same) == (12, 11, 7)
    contexts = table(changes, "context set")
    assert contexts.changed == {"other evidence": ("q0",), "another question": ("q1",)}
    assert any(text.startswith("name: old → new") for text in changes.settings)


def test_another_order_is_told_from_other_passages(tmp_path: Path) -> None:
    """The seed decides the order alone, where a context shows all relevant passages."""
    old, new = corpus(), corpus()
    first = build(tmp_path, "old", old)
    recipe = cf.RageRecipe(
        source=f"beir:{tmp_path / 'old-source'}", mixtures=("set=3,0,0",), seed=9, name="old",
        embedder="offline", mining={"irrelevant": 0, "seemingly_relevant": 0},
        allow_no_relevant=True,
    )  # fmt: skip
    second = cf.build(recipe, tmp_path / "new").folder
    assert old == new
    changes = cf.compare_packages(first, second)
    contexts = table(changes, "context set")
    assert set(contexts.changed) == {"another order"}
    assert contexts.n_same + len(contexts.changed["another order"]) == N_QUERIES
    assert table(changes, "passages").is_equal
    assert "seed: 13 → 9" in changes.settings or any("seed" in s for s in changes.settings)


def test_a_source_of_another_name_is_compared_with_the_one_that_it_replaces(tmp_path: Path) -> None:
    passages = corpus()
    passages["p4"]["text"] = "Something else."
    changes = cf.compare_packages(
        build(tmp_path, "old", corpus()), build(tmp_path, "new", passages)
    )
    old, new = (
        hashlib.sha256((tmp_path / f"{name}-source" / "corpus.jsonl").read_bytes()).hexdigest()
        for name in ("old", "new")
    )
    spec = f"beir:{tmp_path}/new-source"
    assert [text for text in changes.settings if text.startswith("sources")] == [
        f"sources.{spec}.files.corpus.jsonl: {old[:12]}… → {new[:12]}…"
    ]
    assert sum(text.startswith("source: beir:") for text in changes.settings) == 1
    assert not any("nothing" in text for text in changes.settings)


@pytest.mark.slow
@pytest.mark.parametrize(
    "kind", ["package", "twins_package", "authorship_package", "kalma_package", "hagrid_package",
             "alce_package", "hidden_package"],
)  # fmt: skip
def test_a_package_of_each_kind_equals_itself(kind: str, request: pytest.FixtureRequest) -> None:
    folder = request.getfixturevalue(kind)
    changes = cf.compare_packages(folder, folder)
    assert changes.is_equal
    assert changes.settings == ()
    assert {t.name for t in changes.contexts} == {f"context {c}" for c in cf.load(folder).contexts}


def test_kinds_may_differ(package: Path, kalma_package: Path) -> None:
    changes = cf.compare_packages(package, kalma_package)
    assert "kind: rage → kalma" in changes.settings
    assert table(changes, "passages").n_new == 0
    assert not changes.is_equal


KINDS = ("package", "authorship_package", "kalma_package", "hagrid_package", "alce_package")


@pytest.mark.parametrize(("old", "new"), [*permutations(KINDS, 2)])
def test_packages_of_each_pair_of_kinds(old: str, new: str, request: pytest.FixtureRequest) -> None:
    """A table whose columns differ is in one package alone, with all of its rows."""
    folders = [request.getfixturevalue(name) for name in (old, new)]
    changes = cf.compare_packages(*folders)
    packages = [cf.load(folder) for folder in folders]
    schemas = [p.kind.facts.tables for p in packages]
    shared = [c for c in schemas[0] if c in schemas[1] and c not in ("corpus", "queries")]
    differing = {c for c in shared if schemas[0][c].names != schemas[1][c].names}
    named = [f"gold of {p.manifest.kind}" for p in packages]
    parts = [t for t in changes.tables if t.name in named]
    assert len(parts) == (2 if "gold" in differing else 0)
    for part in parts:
        assert part.n_same == 0 and not part.changed
        assert (len(part.removed), len(part.added)) == (part.n_old, part.n_new)


def answers(path: Path, folder: Path, contexts: list[str]) -> Path:
    """A submission that answers every query of some context sets."""
    opened = cf.load(folder)
    header = {"system": "s", "benchmark_hash": opened.hash, "contexts": contexts, "cost": 3}
    lines = [
        {"query_id": q, "output": f"Answer to {q} [1].", "context": c}
        for c in contexts
        for q in opened.query_ids
    ]
    return write_jsonl(path, [{"submission": header}, *lines])


def test_answers_that_are_still_valid_are_scored_on_the_new_package(
    tmp_path: Path, inline: Inline
) -> None:
    """Of p4, which q1 is shown, the text changes: three of four queries are left."""
    old = build(tmp_path, "old", corpus())
    passages = corpus()
    passages["p4"]["text"] = "Something else."
    new = build(tmp_path, "new", passages)
    submission = answers(tmp_path / "a.jsonl", old, ["set"])
    changes = cf.compare_packages(old, new, submission=submission, kept=tmp_path / "k.jsonl")
    (still,) = changes.answers
    assert (still.n_answered, still.as_shown, still.share) == (4, ("q0", "q2", "q3"), 3 / 4)
    assert still.changed == {"other texts": ("q1",)}
    assert changes.kept == (str(tmp_path / "k.jsonl"),)
    scored = cf.score_files([tmp_path / "k.jsonl"], new, cf.ScoreOptions(only_answered=True))
    counts = scored.scores[0].file.counts
    assert (counts.n_queries, counts.n_missing) == (3, 0)
    with refused("wrong-benchmark"):
        cf.compare_packages(new, old, submission=submission)
    everything = corpus()
    for row in everything.values():
        row["text"] += " Changed."
    other = build(tmp_path, "other", everything)
    changes = cf.compare_packages(old, other, submission=submission, kept=tmp_path / "k2.jsonl")
    assert (changes.answers[0].share, changes.kept) == (0, ())
    ran = inline("compare", old, other, "--submission", submission, "--kept", "k2.jsonl")
    assert (ran.returncode, ran.code) == (1, "no-answers")
    assert "Answers to what is shown in another way" in ran.stdout  # the reasons
    assert not (tmp_path / "k2.jsonl").exists()


def test_cells_of_one_experiment_are_kept_together(
    authorship_package: Path, tmp_path: Path
) -> None:
    cells = cf.load(authorship_package).contexts[:2]
    submission = answers(tmp_path / "a.jsonl", authorship_package, cells)
    changes = cf.compare_packages(
        authorship_package, authorship_package, submission=submission, kept=tmp_path / "k.jsonl"
    )
    assert [one.share for one in changes.answers] == [1.0, 1.0]
    assert changes.kept == (str(tmp_path / "k.jsonl"),)


def test_answers_are_not_overwritten_by_those_that_are_kept(tmp_path: Path, inline: Inline) -> None:
    """Neither under their own name nor under that of a link or of their context set."""
    old = build(tmp_path, "old", corpus())
    passages = corpus()
    passages["p4"]["text"] = "Something else."
    new = build(tmp_path, "new", passages)
    submission = answers(tmp_path / "a.jsonl", old, ["set"])
    before = submission.read_bytes()
    (tmp_path / "link.jsonl").symlink_to(submission)
    for kept in ("a.jsonl", "./a.jsonl", "link.jsonl"):
        ran = inline("compare", old, new, "--submission", submission, "--kept", tmp_path / kept)
        assert (ran.returncode, ran.code) == (2, "conflicting-options")
        assert "has the answers that are read; name another file" in ran.stderr
    assert submission.read_bytes() == before


def test_the_command(tmp_path: Path, inline: Inline) -> None:
    old = build(tmp_path, "old", corpus())
    passages = corpus()
    passages["p4"]["title"] = "<b>Other</b>"
    new = build(tmp_path, "new", passages)
    submission = answers(tmp_path / "a.jsonl", old, ["set"])
    for width in (40, 80):
        text = inline.ok("compare", old, new, "--submission", submission, COLUMNS=str(width)).stdout
        assert max(map(len, text.splitlines())) <= width
        assert "75 %" in text
    for ending in ("html", "md", "tex", "csv", "json"):
        out = tmp_path / f"c.{ending}"
        ran = inline.ok("compare", old, new, "--submission", submission, "--out", out)
        assert "set: 3 of 4 answers are still valid" in ran.stdout
        assert "p4" in out.read_text()
        changes = cf.compare_packages(old, new, submission=submission, out=tmp_path / f"p.{ending}")
        assert (tmp_path / f"p.{ending}").read_text() == out.read_text()
    assert PackageChanges.model_validate_json((tmp_path / "c.json").read_text()) == changes
    score_file = tmp_path / "s.json"
    inline.ok("score", submission, "--benchmark", old, "--out", score_file)
    for words, code in (
        ((old, score_file), "wrong-type"),
        ((old,), "too-few"),
        ((old, new, old), "conflicting-options"),
        ((old, new, "--against", "x"), "option-without-effect"),
        ((score_file, score_file, "--submission", submission), "option-without-effect"),
        ((old, new, "--kept", "k.jsonl"), "missing-option"),
        ((old, new, "--out", "c.svg"), "bad-option"),
    ):
        failed = inline("compare", *words)
        assert (failed.returncode, failed.code) == (2, code), words
