"""`build rage --keep-from`: queries that did not change keep their contexts."""

import re
import signal
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.builders.rage.build import build_rage
from citeforge.builders.verify import verify
from citeforge.package.package import Package
from citeforge.schemas.tables import LABELS, RELEVANT, UNSURE
from conftest import Inline, content, refused, run_options, write_beir, write_jsonl
from conftest_builders import Hashed
from servers import nursery
from servers.running import Running, openai_server

N_PASSAGES, N_QUERIES = 60, 6
WORDS = ("amber", "birch", "cedar", "daisy", "ember", "fjord")


def passages() -> dict[str, str]:
    """Sixty passages about six words, ten each; their numbers are words, too."""
    return {f"p{n}": f"Text n{n} about {WORDS[n % 6]} and m{n % 7}." for n in range(N_PASSAGES)}


def questions() -> dict[str, str]:
    """Six queries, about a word and a number each."""
    return {f"q{n}": f"What about {WORDS[n]} and m{n}?" for n in range(N_QUERIES)}


def judgements() -> list[tuple[str, str, int]]:
    """Two relevant passages per query."""
    return [(f"q{n}", f"p{n + 6 * k}", 1) for n in range(N_QUERIES) for k in range(2)]


def recipe(source: Path, **more: Any) -> cf.RageRecipe:
    """Three near and three far negatives per query, of which a context shows two and two."""
    return cf.RageRecipe(
        **{
            "source": f"beir:{source}", "candidates": "bm25", "name": "b", "skip_dangling": True,
            "mining": {"irrelevant": 3, "seemingly_relevant": 3}, "mixtures": ("mix=2,2,2",),
            "allow_no_relevant": True, **more,
        }
    )  # fmt: skip


def build(folder: Path, name: str, texts: dict[str, str], **more: Any) -> Path:
    """Build a package of these passages."""
    asked, judged = more.pop("asked", questions()), more.pop("judged", judgements())
    source = write_beir(folder / f"{name}-source", texts, asked, judged)
    return cf.build(recipe(source, **more), folder / name).folder


def labelled(folder: Path) -> dict[str, dict[str, list[str]]]:
    """Labels to queries to their passages in order."""
    found: dict[str, dict[str, list[str]]] = {}
    for label in (*LABELS, UNSURE):
        for row in Package(folder).mapping(label).to_pylist():
            found.setdefault(row["query-id"], {}).setdefault(label, []).append(row["corpus-id"])
    return found


def contexts(folder: Path) -> dict[str, Any]:
    """What each query is shown: passages with labels, in order."""
    return {r["query_id"]: r["docs"] for r in Package(folder).context_table("mix").to_pylist()}


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package of the corpus as it is."""
    return build(tmp_path_factory.mktemp("kept"), "old", passages())


def test_an_unchanged_corpus_gives_the_same_tables(old: Path, tmp_path: Path) -> None:
    new = build(tmp_path, "new", passages(), keep_from=old)
    assert Package(new).hash == Package(old).hash
    counts = Package(new).manifest.counts
    assert counts["queries_kept"] == N_QUERIES
    assert not any(key.startswith("queries_made_anew") for key in counts)
    assert "queries kept from the earlier package" in (new / "README.md").read_text()


EDITS = st.lists(
    st.tuples(st.sampled_from(["edit", "remove", "add"]), st.integers(0, N_PASSAGES - 1)),
    max_size=6,
)


@pytest.mark.slow
@given(edits=EDITS, reworded=st.sets(st.integers(0, N_QUERIES - 1), max_size=1))
def test_queries_are_kept_if_nothing_of_theirs_is_edited(
    old: Path, edits: list[tuple[str, int]], reworded: set[int]
) -> None:
    texts = passages()
    for edit, n in edits:
        if edit == "remove":
            texts.pop(f"p{n}", None)
        elif edit == "add":
            texts[f"new{n}"] = f"A new text {n} about {WORDS[n % 6]} and m{n % 7}."
        elif f"p{n}" in texts:
            texts[f"p{n}"] = f"Text n{n} in a new edition about {WORDS[n % 6]}."
    touched = {name for name, text in passages().items() if texts.get(name) != text}
    asked = {q: f"{t} Really?" if int(q[1:]) in reworded else t for q, t in questions().items()}
    before = labelled(old)
    expected = {
        query
        for query, of_query in before.items()
        if int(query[1:]) not in reworded
        and not touched & {p for found in of_query.values() for p in found}
    }
    with TemporaryDirectory() as place:
        new = build(Path(place), "new", texts, keep_from=old, asked=asked)
        fresh = build(Path(place), "fresh", texts, asked=asked)
        counts, package = Package(new).manifest.counts, Package(new)
        assert verify(new) == []
        assert counts["queries_kept"] == len(expected)
        anew = {k: n for k, n in counts.items() if k.startswith("queries_made_anew")}
        assert sum(anew.values()) == len(package) - len(expected)
        after, fresh_labels = labelled(new), labelled(fresh)
        for query in package.query_ids:
            # Of the others, all is as in a build of the new corpus alone.
            assert after[query] == (before if query in expected else fresh_labels)[query]
        shown = {query: docs for query, docs in contexts(old).items() if query in expected}
        assert {query: contexts(new)[query] for query in expected} == shown
        changes = cf.compare_packages(old, new)
        (compared,) = changes.contexts
        assert not expected & {q for queries in compared.changed.values() for q in queries}


def test_other_judgements_and_gone_queries(old: Path, tmp_path: Path) -> None:
    """q0 has another relevant passage, q1 is gone, and q7 is new."""
    judged = [row for row in judgements() if row[0] != "q1"] + [("q0", "p12", 1), ("q7", "p3", 1)]
    asked = {**{q: t for q, t in questions().items() if q != "q1"}, "q7": "What about daisy?"}
    new = build(tmp_path, "new", passages(), keep_from=old, judged=judged, asked=asked)
    assert Package(new).manifest.counts == {
        **Package(new).manifest.counts,
        "queries_kept": 4,
        "queries_made_anew[other judgements]": 1,
        "queries_made_anew[a new query]": 1,
        "queries_of_the_earlier_package_gone": 1,
    }
    assert Package(new).query_ids == [*asked]


def test_what_a_kept_query_depends_on_has_to_be_the_same(old: Path, tmp_path: Path) -> None:
    for more in (
        {"seed": 1},
        {"mining": {"irrelevant": 4, "seemingly_relevant": 3}},
        {"mixtures": ("mix=1,2,2",)},
    ):
        with refused("recipe-changed") as caught:
            build(tmp_path, "new", passages(), keep_from=old, **more)
        assert next(iter(more)) in str(caught.value)
    with pytest.raises(ValueError, match="--hidden draws all contexts together"):
        recipe(tmp_path, hidden=True, keep_from=old)
    source = cf.RageRecipe(source=f"rage:{old}", keep_from=old, candidates="bm25")
    with refused("recipe-changed"):
        cf.build(source, tmp_path / "other")
    with refused("not-a-package"):
        build(tmp_path, "new", passages(), keep_from=tmp_path)


def test_another_kind_has_nothing_to_keep(kalma_package: Path, tmp_path: Path) -> None:
    with refused("wrong-kind"):
        build(tmp_path, "new", passages(), keep_from=kalma_package)
    with refused("option-without-effect", cf.UsageError):
        cf.update(kalma_package, tmp_path / "new", trust=True)


def test_a_source_with_negatives_of_its_own(old: Path, tmp_path: Path) -> None:
    of_package = recipe(old).model_copy(update={"source": f"rage:{old}"})
    first = cf.build(of_package, tmp_path / "first").folder
    with refused("option-without-effect"):
        cf.build(of_package.model_copy(update={"keep_from": first}), tmp_path / "second")


GRADES = [
    [r"about (\w+) and (m\d)\?.*Text \w+ about \1 and \2\.", '{"grade": 3}'],
    [r"about (\w+) and m\d\?.*Text \w+ about \1 ", '{"grade": 1}'],
    ["how well", '{"grade": 0}'],
]
"""Grades by the words that query and passage share."""


def build_pool(
    out: Path, texts: dict[str, str], server: Running, labels: Path | None = None, **more: Any
) -> Package:
    """Build a package whose judgements are an LLM's, without those of people."""
    source = write_beir(out.with_name(f"{out.name}-source"), texts, questions(), [])
    given = recipe(
        source, candidates=None, embedder="offline", pool={"judge": "openai:m", "depth": 6},
        labels=() if labels is None else (labels,), **more,
    )  # fmt: skip
    run = run_options(out, base_url=server.url)
    build_rage(given, run, Hashed())  # type: ignore[arg-type]
    return Package(out)


@pytest.mark.slow
def test_judgements_of_a_model_and_of_people_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """People say that an unsure passage of q0 is relevant, and one of q4 is not."""
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with openai_server(tmp_path / "log", replies=GRADES) as server:
        first = build_pool(tmp_path / "first", passages(), server)
        unsure = {q: found[UNSURE][0] for q, found in labelled(first.folder).items()
                  if UNSURE in found}  # fmt: skip
        labels = write_jsonl(tmp_path / "labels.jsonl", [
            {"query_id": "q0", "passage": unsure["q0"], "label": "relevant"},
            {"query_id": "q4", "passage": unsure["q4"], "label": "not relevant"},
        ])  # fmt: skip
        old = build_pool(tmp_path / "old", passages(), server, labels)
        before = labelled(old.folder)
        assert unsure["q0"] in before["q0"][RELEVANT]
        n_asked = len(server.requests())
        same = build_pool(tmp_path / "same", passages(), server, labels, keep_from=old.folder)
        assert len(server.requests()) == n_asked
        assert same.hash == old.hash
        # A relevant passage of q2 changes, and what people said of one of q4's does not hold.
        texts = passages()
        changed = {before["q2"][RELEVANT][0], before["q4"][RELEVANT][0], unsure["q4"]}
        texts.update(dict.fromkeys(changed, "Text in a new edition."))
        new = build_pool(tmp_path / "new", texts, server, labels, keep_from=old.folder)
        after, counts = labelled(new.folder), new.manifest.counts
        kept = {q for q, found in before.items() if not changed & {
            p for names in found.values() for p in names
        }}  # fmt: skip
        assert not {"q2", "q4"} & kept
        assert counts["queries_kept"] == len(kept) > 0
        assert {q: after[q] for q in kept} == {q: before[q] for q in kept}
        asked = [*map(str, server.requests()[n_asked:])]
        assert {q for q, text in questions().items() if any(text in one for one in asked)} == {
            *questions().keys() - kept
        }
        assert counts["labels_of_changed_passages"] == 1
    assert new.manifest.models["pool judge"] == old.manifest.models["pool judge"]
    assert verify(new.folder) == []


def test_new_labels_of_people_make_a_query_anew(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with openai_server(tmp_path / "log", replies=GRADES) as server:
        old = build_pool(tmp_path / "old", passages(), server)
        passage = labelled(old.folder)["q5"][UNSURE][0]
        labels = write_jsonl(
            tmp_path / "labels.jsonl",
            [{"query_id": "q5", "passage": passage, "label": "relevant"}],
        )
        new = build_pool(tmp_path / "new", passages(), server, labels, keep_from=old.folder)
    assert new.manifest.counts["queries_made_anew[other judgements]"] == 1
    assert passage in labelled(new.folder)["q5"][RELEVANT]


def edited(folder: Path) -> Path:
    """The source of a later month: a passage of q0 has another text, and there is a new one."""
    texts = {**passages(), "p0": "Text n0 in a new edition about amber.", "new": "Something new."}
    return write_beir(folder / "later", texts, questions(), judgements())


def test_an_update_takes_the_recipe_of_the_package(
    old: Path, tmp_path: Path, inline: Inline
) -> None:
    later = edited(tmp_path)
    words = ("build", "--from", old, "--keep", "--source", f"beir:{later}", "--out", "new")
    untrusted = inline(*words)
    assert untrusted.code == "untrusted"
    assert "--candidates bm25" in untrusted.stderr
    printed = inline.ok(*words, "--trust").stdout
    assert re.search(r"queries kept from the earlier package +[1-5]\n", printed)
    assert "queries made anew: a passage changed or is missing" in printed
    new = tmp_path / "new"
    update = cf.update(old, tmp_path / "py", inputs={"source": f"beir:{later}"}, trust=True)
    assert content(update.folder) == content(new)
    # Its own recipe makes it again: the manifest names the earlier package by name and hash.
    config = Package(new).manifest.config
    assert (config["keep_from"], config["kept_from_hash"]) == (old.name, Package(old).hash)
    with refused("missing-file"):
        cf.rebuild(new, tmp_path / "again", trust=True)
    again = cf.rebuild(new, tmp_path / "again", inputs={"keep_from": str(old)}, trust=True)
    assert again.equal
    foreign = inline("build", "--from", new, "--out", "again")
    assert foreign.code == "untrusted"
    assert f"--keep-from {old.name}" in foreign.stderr
    with refused("wrong-benchmark"):
        cf.rebuild(new, tmp_path / "wrong", inputs={"keep_from": str(new)}, trust=True)


def test_an_update_of_a_corpus_without_a_judged_passage(tmp_path: Path, inline: Inline) -> None:
    strict = {"skip_dangling": False, "allow_no_relevant": False}
    old, texts = build(tmp_path, "old", passages(), **strict), passages()
    gone = judgements()[0][1]
    del texts[gone]
    later = write_beir(tmp_path / "later", texts, questions(), judgements())
    words = ("build", "--from", old, "--source", f"beir:{later}", "--trust", "--out", "new")
    assert "pass --skip-dangling" in inline.fails(1, "unknown-id", *words, "--keep").stderr
    inline.fails(2, "missing-option", *words, "--skip-dangling")
    allowed = ("--skip-dangling", "--allow-no-relevant")
    printed = inline.ok(*words, "--keep", *allowed).stdout
    assert "queries made anew: a passage changed or is missing" in printed
    update = cf.update(
        old, tmp_path / "py", inputs={"source": f"beir:{later}"}, skip_dangling=True,
        allow_no_relevant=True, trust=True,
    )  # fmt: skip
    assert content(update.folder) == content(tmp_path / "new")


POINTS = (1, 9, 17, 25)


@pytest.mark.slow
def test_a_killed_update_ends_byte_identical(old: Path, tmp_path: Path) -> None:
    later = edited(tmp_path)

    def run(out: str, *more: str, die_at: int = 0) -> int:
        """Run the update; it is killed where this many new files would be there."""
        place = (tmp_path / out, die_at) if die_at else None
        words = ["build", "--from", str(old), "--keep", "--source", f"beir:{later}", "--trust",
                 "--out", str(tmp_path / out), *more]  # fmt: skip
        return nursery.run(words, tmp_path, die_at=place).returncode

    assert run("calm") == 0
    for point in POINTS:
        assert run(f"torn-{point}", die_at=point) == -signal.SIGKILL
        assert run(f"torn-{point}", "--resume") == 0
        assert content(tmp_path / f"torn-{point}") == content(tmp_path / "calm")
