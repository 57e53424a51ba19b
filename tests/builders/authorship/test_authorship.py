"""`build authorship`: one list of passages in every cell, labels that mean what they say."""

import json
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.builders.authorship.labels import (
    built_in_label_sets,
    cell_labels,
    choose_label_sets,
    draw_labels,
    load_label_sets,
)
from citeforge.builders.authorship.select import Ranked, retrieve_candidates
from citeforge.builders.derive import Base
from citeforge.builders.package import manifest_digest, render_manifest
from citeforge.builders.prompts import load_template, render_prompts
from citeforge.builders.verify import verify
from citeforge.engines.files import sha256_file
from citeforge.engines.tables import read_table, shard_paths, write_table
from citeforge.package.manifest import load_intact
from citeforge.package.package import Package
from citeforge.schemas.authorship import Cell, LabelSet, make_cells, parse_design
from citeforge.schemas.manifest import benchmark_hash
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.tables import AUTHORS, CONTEXTS, IRRELEVANT, RELEVANT
from conftest import ROOT, Inline, refused, write_beir


def build(source: Path, out: Path, **more: Any) -> cf.Benchmark:
    given = {"benchmark": source, "selection": Selection(k=5)} | more
    return cf.build(cf.AuthorshipRecipe(**given), out)


def test_the_cells_of_the_design() -> None:
    """Differing origins: vanilla, informed, cf; equal ones: vanilla and four pairs of labels."""
    one = (LabelSet(name="s", first=("H",), second=("L",)),)
    cells = make_cells((("human", "llm"), ("llm", "llm")), one)
    assert [c.context for c in cells] == [
        "hl_vanilla", "hl_s_informed", "hl_s_cf",
        "ll_vanilla", "ll_s_informed_informed", "ll_s_cf_informed", "ll_s_informed_cf",
        "ll_s_cf_cf",
    ]  # fmt: skip
    # (side of the relevant passages' label, side of the others'), worked out by hand: informed
    # tells the true author, cf the other one; a human is on the first side, an LLM on the second.
    sides = {c.context: (c.side(True), c.side(False)) for c in cells}
    assert sides == {
        "hl_vanilla": (None, None),
        "hl_s_informed": ("first", "second"),
        "hl_s_cf": ("second", "first"),
        "ll_vanilla": (None, None),
        "ll_s_informed_informed": ("second", "second"),
        "ll_s_cf_informed": ("first", "second"),
        "ll_s_informed_cf": ("second", "first"),
        "ll_s_cf_cf": ("first", "first"),
    }


def test_every_cell_shows_the_same_passages_in_the_same_order(authorship_package: Path) -> None:
    assert verify(authorship_package) == []
    base = Base(authorship_package)
    human_of = {r["twin_id"]: r["_id"] for r in base.twins.to_pylist()}
    design = parse_design(base.manifest.config)
    assert len(design.cells) == 4 + 2 * (4 + 2 + 2 + 4)
    expected: Any = None
    for cell in design.cells:
        rows = base.shown_passages(cell.context)
        humans = {
            q: [(human_of.get(d["corpus-id"], d["corpus-id"]), d["label"]) for d in docs]
            for q, docs in rows.items()
        }
        expected = expected or humans
        assert humans == expected
        for docs in rows.values():
            for doc in docs:
                relevant = doc["label"] == "relevant"
                origin = cell.relevant_origin if relevant else cell.other_origin
                assert (doc["corpus-id"] in human_of) == (origin == "llm")
    assert all(sum(label == "relevant" for _, label in docs) == 1 for docs in expected.values())
    positions = Counter(
        [label for _, label in docs].index("relevant") for docs in expected.values()
    )
    assert len(positions) >= 4  # drawn, not always the same


def test_labels_differ_between_cells_in_nothing_but_the_side(authorship_package: Path) -> None:
    base = Base(authorship_package)
    for cell in parse_design(base.manifest.config).cells:
        paths = shard_paths(authorship_package / "authors", cell.context)
        assert bool(paths) == (cell.labels is not None)
        if cell.labels is None:
            continue
        words = {"first": {"Human", "Blue"}, "second": {"LLM", "Green"}}
        labels = read_table(paths, AUTHORS).to_pylist()
        for row, docs in zip(labels, base.shown_passages(cell.context).values(), strict=True):
            for word, doc in zip(row["labels"], docs, strict=True):
                side = cell.side(doc["label"] == "relevant")
                assert side is not None
                known = words[side] if cell.labels != "placebo" else {"Blue", "Green"}
                assert word in known


def test_the_placebo_is_drawn_by_lot() -> None:
    """Its prompt says so. In every cell relevant passages are Blue as often as others; cells that
    CAB subtracts carry opposite tags."""
    placebo = built_in_label_sets()["placebo"]
    assert "by lot" in placebo.note
    cells = make_cells((("human", "llm"), ("human", "human")), (placebo,))
    row = [{"label": RELEVANT}, *[{"label": IRRELEVANT}] * 9]
    docs = {f"q{q}": row for q in range(2000)}
    tags = {
        c.context: np.array([r["labels"] for r in cell_labels(placebo, c, docs, 0)]) == "Blue"
        for c in cells
        if c.labels
    }
    for result in tags.values():
        # 2,000 coins: a standard error of .011; 18,000 coins: .004.
        assert result[:, 0].mean() == pytest.approx(0.5, abs=0.05)
        assert result[:, 1:].mean() == pytest.approx(0.5, abs=0.02)
        # Knowing the tag of one passage helps to guess no other.
        assert np.corrcoef(result.T.astype(float)) == pytest.approx(np.eye(10), abs=0.11)
    assert (tags["hl_placebo_informed"] != tags["hl_placebo_cf"]).all()
    assert (tags["hh_placebo_informed_cf"] != tags["hh_placebo_cf_informed"]).all()
    both = tags["hh_placebo_informed_informed"]
    assert (both[:, 0] == tags["hh_placebo_informed_cf"][:, 0]).all()
    assert (both[:, 1:] == tags["hh_placebo_cf_informed"][:, 1:]).all()


@given(st.text(min_size=1), st.integers(2, 12), st.integers(0, 5))
def test_draws_are_keyed_by_query(query: str, size: int, seed: int) -> None:
    names = built_in_label_sets()["names"]
    pairs = draw_labels(names, query, size, seed)
    assert pairs == draw_labels(names, query, size, seed)
    first, second = zip(*pairs, strict=True)
    assert len(set(first)) == size  # no two passages of one context by one name
    assert set(second) == {"AI"}
    words = built_in_label_sets()["person_machine"]
    for first_word, second_word in draw_labels(words, query, size, seed):
        assert first_word in words.first
        assert second_word in words.second


def test_there_are_at_least_100_names_of_two_parts() -> None:
    names = built_in_label_sets()["names"].first
    assert len(set(names)) >= 100
    assert all(len(n.split()) == 2 for n in names)


def test_a_label_only_benchmark_needs_no_twins(package: Path, tmp_path: Path) -> None:
    manifest = build(package, tmp_path / "a").manifest
    assert verify(tmp_path / "a") == []
    assert {c.origins for c in parse_design(manifest.config).cells} == {"hh"}
    with refused("missing-option", cf.UsageError):
        build(package, tmp_path / "b", origins=("hl",))


def test_exactly_one_relevant_counts_judgements(package: Path, tmp_path: Path) -> None:
    judged = Counter(
        line.split("\t")[0]
        for line in (ROOT / "examples/facts/qrels/test.tsv").read_text().splitlines()[1:]
    )
    build(package, tmp_path / "one", selection=Selection(k=5))
    assert Base(tmp_path / "one").query_ids == [q for q, n in sorted(judged.items()) if n == 1]
    build(package, tmp_path / "any", selection=Selection(k=5, rule="any"))
    contexts = Base(tmp_path / "any").shown_passages("hh_vanilla")
    assert {q: sum(d["label"] == "relevant" for d in docs) for q, docs in contexts.items()} == {
        q: min(n, 4) for q, n in judged.items()
    }
    sampled = build(package, tmp_path / "s", selection=Selection(k=5, sample=7))
    assert sampled.manifest.counts["queries_with_several_relevant_passages"] == 9
    assert len(Base(tmp_path / "s").query_ids) == 7


def test_bm25_ranks_by_hand_worked_scores(tmp_path: Path) -> None:
    # Only "gamma" is asked. Both holders have it once; the shorter one ranks first (b = 0.75);
    # the rest score 0 and follow by id.
    passages = {
        "d": "alpha beta gamma delta epsilon zeta",
        "b": "alpha gamma",
        "c": "alpha beta",
        "a": "delta epsilon zeta",
    }
    rage = rage_of(tmp_path, passages, "gamma?", relevant="d")
    assert ranked(Base(rage), "bm25", 4) == {"q": ["b", "d", "a", "c"]}
    build(rage, tmp_path / "a", selection=Selection(k=3), candidates="bm25")
    docs = Base(tmp_path / "a").shown_passages("hh_vanilla")["q"]
    others = [d["corpus-id"] for d in docs if d["label"] != "relevant"]
    assert others == ["b", "a"]  # in the ranking's order, the relevant one put anywhere


def rage_of(folder: Path, passages: dict[str, str], query: str, relevant: str) -> Path:
    """A package of one query, whose negatives are drawn."""
    source = write_beir(folder / "x", passages, {"q": query}, [("q", relevant, 1)])
    recipe = cf.RageRecipe(
        source=f"beir:{source}", embedder="none", mining={"seemingly_relevant": 0},
        mixtures=("m=1,1,0",),
    )  # fmt: skip
    return cf.build(recipe, folder / "x.r").folder


def ranked(base: Base, spec: str, depth: int = 100) -> Ranked:
    return retrieve_candidates(
        base, spec, depth, lambda: pytest.fail("nothing is embedded"), Path()
    )


RUNS = [
    ("q01 Q0 moon-io 1 2.5", "wrong-type", "has 5 fields"),
    ("q01 Q0 moon-io 1 high t", "wrong-type", "'high'"),
    ("q01 Q0 moon-io 1 inf t", "wrong-type", "'inf'"),
    ("q01 Q0 nowhere 1 2.5 t", "unknown-id", "'nowhere'"),
    ("q01 Q0 moon-io 1 2.5 t\nq01 Q0 moon-io 2 1.5 t", "duplicate-id", "'moon-io'"),
    ("other Q0 moon-io 1 2.5 t", "wrong-benchmark", "names no query"),
]


@pytest.mark.parametrize(("text", "code", "fact"), RUNS)
def test_bad_runs_are_refused(
    package: Path, tmp_path: Path, text: str, code: str, fact: str
) -> None:
    path = tmp_path / "run.txt"
    path.write_text(text + "\n")
    with refused(code, path=path) as caught:
        ranked(Base(package), f"run:{path}")
    assert fact in str(caught.value)


def test_runs_are_ranked_as_trec_eval_ranks(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.txt"
    path.write_text("q01 Q0 moon-io 1 1.0 t\nq01 Q0 moon-titan 2 3.0 t\nq01 Q0 moon-luna 3 1.0 t\n")
    by_query = ranked(Base(package), f"run:{path}")
    assert by_query["q01"] == ["moon-titan", "moon-luna", "moon-io"]


BAD_LABELS = [
    ("name: x\nfirst: A\nsecond: [A]\n", "wrong-value", "both sides have the label 'a'"),
    ("name: x\nfirst: A\nsecond: [b, a]\n", "wrong-value", "both sides have the label 'a'"),
    ("name: x\nfirst: A\n", "missing-field", "second"),
    ("name: x y\nfirst: A\nsecond: B\n", "wrong-value", "name"),
    ("name: x\nfirst: A\nsecond: B\nphrase: by them\n", "wrong-value", "{label}"),
    ("name: x\nfirst: ['']\nsecond: B\n", "wrong-value", "empty"),
    ("name: x\nfirst: A\nsecond: B\nfrist: C\n", "unknown-field", "frist"),
    ("name: [", "bad-yaml", "labels.yaml:1"),
    ("just text", "wrong-type", "object with fields"),
]


@pytest.mark.parametrize(("text", "code", "fact"), BAD_LABELS)
def test_bad_label_files_are_refused(tmp_path: Path, text: str, code: str, fact: str) -> None:
    path = tmp_path / "labels.yaml"
    path.write_text(text)
    with refused(code, path=path) as caught:
        load_label_sets(path)
    assert fact in str(caught.value)


def test_labels_of_ones_own(package: Path, tmp_path: Path) -> None:
    path = tmp_path / "labels.yaml"
    path.write_text(
        'name: source\nfirst: [NASA]\nsecond: [a blog, a forum]\nphrase: "source: {label}"\n'
        "note: For each passage its source is given.\n"
    )
    build(package, tmp_path / "a", label_sets=choose_label_sets([], [path]))
    template = load_template("authorship")
    prompts = dict(render_prompts(Package(tmp_path / "a"), "hh_source_informed_cf", template))
    text = prompts["q01"]
    assert "3. For each passage its source is given." in text
    assert text.count("(source: NASA)") == 1  # the relevant passage
    assert text.count("(source: a blog)") + text.count("(source: a forum)") == 4
    with refused("duplicate-id"):
        choose_label_sets([], [path, path])
    with refused("unknown-name", noun="label set", value="nobody"):
        choose_label_sets(["nobody"], [])


def test_a_pool_of_names_smaller_than_k_is_refused(package: Path, tmp_path: Path) -> None:
    few = LabelSet(name="few", first=("A B", "C D", "E F"), second=("AI",), distinct=True)
    with refused("too-few", path="label set few"):
        build(package, tmp_path / "a", label_sets=(few,))
    assert list(tmp_path.iterdir()) == []
    build(package, tmp_path / "b", label_sets=(few.model_copy(update={"distinct": False}),))


def test_prompts_of_each_cell(authorship_package: Path, inline: Inline, tmp_path: Path) -> None:
    inline.ok("export", "prompts", authorship_package, "--out", "p.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "p.jsonl").read_text().splitlines()]
    cells = {c.context: c for c in parse_design(load_intact(authorship_package).config).cells}
    assert Counter(r["context"] for r in rows) == dict.fromkeys(cells, 21)
    for row in rows:
        cell: Cell = cells[row["context"]]
        marks = [row["prompt"].count(f"(written by [{w}])") for w in ("Human", "LLM")]
        sides = (cell.side(True), cell.side(False))
        if cell.labels == "human_llm":
            expected = [0, 0]
            expected[sides[0] != "first"] += 1
            expected[sides[1] != "first"] += 4
            assert marks == expected
            assert "\n3. " in row["prompt"]
        else:
            assert marks == [0, 0]
            assert ("\n3. " in row["prompt"]) == (cell.labels is not None)
        assert "\n[0] " in row["prompt"]  # counted from 0
        assert "\n[5] " not in row["prompt"]


def test_a_passage_cannot_label_itself(tmp_path: Path) -> None:
    passages = {"a": "True. (written by [Human]) [0]", "b": "Other words.", "c": "More words."}
    rage = rage_of(tmp_path, passages, "What is true?", relevant="a")
    build(rage, tmp_path / "a", selection=Selection(k=3), base=1)
    manifest = load_intact(tmp_path / "a")
    template = load_template("authorship")
    for cell in manifest.contexts:
        ((_, text),) = render_prompts(Package(tmp_path / "a"), cell, template)
        assert "True. (written by (Human)) (0)" in text
        assert "\n[1] " in text


def tampered(authorship_package: Path, folder: Path, name: str, table: pa.Table) -> Path:
    """The benchmark with one table exchanged and every hash set right again."""
    shutil.copytree(authorship_package, folder)
    config, split = name.split("/")
    write_table(folder / config, split, table)
    manifest = load_intact(authorship_package)
    files = {n: sha256_file(folder / n) for n in manifest.files}
    hashes = {"files": files, "benchmark_hash": benchmark_hash(files)}
    manifest = manifest.model_copy(update=hashes)
    manifest = manifest.model_copy(update={"manifest_sha256": manifest_digest(manifest)})
    (folder / "manifest.json").write_text(render_manifest(manifest))
    return folder


def test_verify_finds_cells_that_differ(authorship_package: Path, tmp_path: Path) -> None:
    name = "hl_human_llm_informed"
    rows = read_table(shard_paths(authorship_package / "contexts", name), CONTEXTS).to_pylist()
    rows[0]["docs"] = rows[0]["docs"][::-1]
    table = pa.Table.from_pylist(rows, schema=CONTEXTS)
    result = verify(tampered(authorship_package, tmp_path / "a", f"contexts/{name}", table))
    assert any("other passages than the first cell" in str(p) for p in result)
    labels = read_table(shard_paths(authorship_package / "authors", name), AUTHORS).to_pylist()
    labels[0]["labels"] = labels[0]["labels"][::-1]
    labels[1]["labels"] = ["Human"] * 5
    table = pa.Table.from_pylist(labels, schema=AUTHORS)
    result = verify(tampered(authorship_package, tmp_path / "b", f"authors/{name}", table))
    assert any("label of the wrong side" in str(p) for p in result)


def test_equal_choices_give_equal_bytes(
    twins_package: Path, authorship_package: Path, tmp_path: Path
) -> None:
    again = build(twins_package, tmp_path / "authorship", benchmark=None, twins=twins_package)
    assert again.manifest.files == load_intact(authorship_package).files


def test_another_seed_moves_the_relevant_passage(package: Path, tmp_path: Path) -> None:
    orders = []
    for seed in (0, 1):
        build(package, tmp_path / str(seed), selection=Selection(k=5, seed=seed))
        rows = Base(tmp_path / str(seed)).shown_passages("hh_vanilla")
        orders.append([[d["label"] for d in docs].index("relevant") for docs in rows.values()])
    assert orders[0] != orders[1]
