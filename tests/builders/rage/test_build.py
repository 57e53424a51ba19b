"""`build rage`: what the tables hold."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.builders.licences import conflicts
from citeforge.builders.rage.build import build_rage
from citeforge.builders.verify import verify
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.models.embedder import Role
from citeforge.engines.progress import ProgressLines
from citeforge.engines.running.names import make_embedder
from citeforge.package.manifest import load_manifest
from citeforge.schemas.manifest import Manifest, benchmark_hash
from citeforge.schemas.recipes.rage import Mining, Mixture
from conftest import (
    EXAMPLES,
    offline_embedder,
    refused,
    run_options,
    write_beir,
    write_jsonl,
)
from conftest_builders import Hashed, load_with_datasets


def build(
    source: str,
    out: Path,
    embedder: Any = None,
    options: dict[str, Any] | None = None,
    **config: Any,
) -> Manifest:
    """Build with vectors of hashes where no test depends on a model's."""
    recipe = cf.RageRecipe(source=source, **{"embedder": "offline", **config})
    return build_rage(recipe, run_options(out, **(options or {})), embedder or Hashed())


def rows(folder: Path, table: str) -> list[dict[str, Any]]:
    config, split = table.split("/")
    paths = sorted((folder / config).glob(f"{split}-*.parquet"))
    return [row for path in paths for row in pq.read_table(path, partitioning=None).to_pylist()]


def by_query(table: list[dict[str, Any]]) -> dict[str, list[str]]:
    result: dict[str, list[str]] = {}
    for row in table:
        result.setdefault(row["query-id"], []).append(row["corpus-id"])
    return result


def test_the_labels_are_disjoint_and_full(package: Path) -> None:
    tables = {n: by_query(rows(package, f"mapping/{n}")) for n in ("relevant", "irrelevant")}
    seemingly = rows(package, "mapping/seemingly_relevant")
    tables["seemingly_relevant"] = by_query(seemingly)
    for query in by_query(rows(package, "mapping/relevant")):
        groups = [tables[n][query] for n in tables]
        flat = [p for g in groups for p in g]
        assert len(flat) == len(set(flat))
        assert len(tables["irrelevant"][query]) == len(tables["seemingly_relevant"][query]) == 10
    assert verify(package) == []


def check_nearest(package: Path, encode: Callable[[list[str], Role], Any]) -> None:
    """Check that the ten nearest others of each query were mined, by a search of our own."""
    corpus, queries = rows(package, "corpus/corpus"), rows(package, "queries/queries")
    passages = encode([f"{p['title']} {p['text']}" for p in corpus], "passage")
    asked = encode([q["text"] for q in queries], "query")
    relevant = by_query(rows(package, "mapping/relevant"))
    mined = by_query(rows(package, "mapping/seemingly_relevant"))
    for query, scores in zip(queries, asked @ passages.T, strict=True):
        known = {p["_id"]: s for p, s in zip(corpus, scores, strict=True)}
        others = sorted(s for p, s in known.items() if p not in relevant[query["_id"]])
        chosen = sorted(known[p] for p in mined[query["_id"]])
        assert np.allclose(chosen, others[-10:], rtol=0, atol=1e-5)


def test_seemingly_relevant_are_the_nearest_others(package: Path) -> None:
    check_nearest(package, offline_embedder().encode)


@pytest.mark.slow
@pytest.mark.numeric
def test_they_are_the_nearest_by_vectors_of_sentence_transformers(tmp_path: Path) -> None:
    from sentence_transformers import SentenceTransformer

    embedder = make_embedder("offline", EmbedderSettings(device="cpu"))
    build(f"beir:{EXAMPLES / 'facts'}", tmp_path / "out", embedder)
    folder = offline_embedder().locate().folder  # type: ignore[attr-defined]
    model = SentenceTransformer(str(folder), device="cpu", local_files_only=True)
    check_nearest(tmp_path / "out", lambda texts, _: model.encode(texts, normalize_embeddings=True))


def test_cosines_fall_and_ranks_count_up(package: Path) -> None:
    for pairs in ranked(package).values():
        cosines = [cosine for _, cosine, _ in pairs]
        assert cosines == sorted(cosines, reverse=True)
        assert [rank for *_, rank in pairs] == list(range(1, 11))
        assert all(round(cosine, 6) == cosine for cosine in cosines)


def test_the_mapping_names_the_mined_in_the_order_of_the_corpus(package: Path) -> None:
    place = {row["_id"]: i for i, row in enumerate(rows(package, "corpus/corpus"))}
    mapping = by_query(rows(package, "mapping/seemingly_relevant"))
    for query, names in mapping.items():
        assert names == sorted(names, key=place.__getitem__)
        assert set(names) == {name for name, *_ in ranked(package)[query]}


def test_cosines_are_not_part_of_the_hash(package: Path) -> None:
    files = load_manifest(package).files
    (name,) = (f for f in files if f.startswith("cosines/"))
    assert benchmark_hash(files) == benchmark_hash({**files, name: "0" * 64})
    assert benchmark_hash(files) != benchmark_hash({**files, "corpus/x.parquet": "0" * 64})


def ranked(folder: Path) -> dict[str, list[tuple[str, float, int]]]:
    """(passage, cosine, rank) of each query, nearest first."""
    result: dict[str, list[tuple[str, float, int]]] = {}
    for row in sorted(rows(folder, "cosines/seemingly_relevant"), key=lambda r: r["rank"]):
        found = row["corpus-id"], row["cosine"], row["rank"]
        result.setdefault(row["query-id"], []).append(found)
    return result


def test_same_seed_same_bytes_other_seed_other_draws(tmp_path: Path, small_beir: Path) -> None:
    hashes = [
        build(f"beir:{small_beir}", tmp_path / f"out{i}", seed=seed).benchmark_hash
        for i, seed in enumerate((0, 0, 1))
    ]
    assert hashes[0] == hashes[1] != hashes[2]


def test_every_pass_over_the_corpus_tells_how_far_it_is(
    tmp_path: Path, small_beir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages: list[str] = []
    monkeypatch.setattr(ProgressLines, "advance", lambda self, *_: stages.append(self.stage))
    mining = Mining(seemingly_relevant=0)
    build(
        f"beir:{small_beir}",
        tmp_path / "out",
        extra_corpus=f"beir:{EXAMPLES / 'facts'}",
        mining=mining,
    )
    assert list(dict.fromkeys(stages)) == [
        "reading the corpus", "reading the other corpus", "joining both corpora",
        "looking passages up", "looking for copies of relevant passages",
        "looking for the queries' own texts", "looking for the queries' own ids",
        "counting words",
    ]  # fmt: skip


def test_what_falls_short_is_listed(tmp_path: Path, small_beir: Path) -> None:
    manifest = build(f"beir:{small_beir}", tmp_path / "out", options={"shard_rows": 5})
    # Of 12 passages q1 has 2 relevant ones and 10 seemingly relevant; q2 has 1, 10 and 1 left.
    assert manifest.short_mappings == {"q1": {"irrelevant": 0}, "q2": {"irrelevant": 1}}
    assert manifest.contexts["mix"].short == {"q1": {"irrelevant": 0}, "q2": {"irrelevant": 1}}
    assert len(rows(tmp_path / "out", "mapping/seemingly_relevant")) == 20
    assert len(rows(tmp_path / "out", "mapping/irrelevant")) == 1


def test_texts_equal_to_a_relevant_one_are_no_negatives(tmp_path: Path) -> None:
    passages = {f"p{i}": f"Different text {i}." for i in range(6)}
    passages |= {"gold": "The very answer.", "copy": "the  VERY answer."}
    folder = write_beir(tmp_path / "b", passages, {"q": "The answer?"}, [("q", "gold", 1)])
    manifest = build(f"beir:{folder}", tmp_path / "out", mining=Mining(seemingly_relevant=3))
    negatives = {
        p
        for n in ("irrelevant", "seemingly_relevant")
        for p in by_query(rows(tmp_path / "out", f"mapping/{n}"))["q"]
    }
    assert negatives == {f"p{i}" for i in range(6)}
    assert manifest.counts["negatives_of_equal_text"] == 1
    assert manifest.short_mappings == {"q": {"irrelevant": 3}}


def test_the_query_itself_is_no_negative(tmp_path: Path) -> None:
    passages = {f"p{i}": f"Different text {i}." for i in range(4)}
    passages |= {"self": "what is  LIFE?", "q": "Life, and what it is."}
    folder = write_beir(tmp_path / "b", passages, {"q": "What is life?"}, [("q", "p0", 1)])

    def negatives(name: str, **more: bool) -> tuple[set[str], dict[str, Any]]:
        mining = Mining(seemingly_relevant=2, irrelevant=3, **more)
        manifest = build(f"beir:{folder}", tmp_path / name, mining=mining)
        ids = {
            passage
            for table in ("irrelevant", "seemingly_relevant")
            for passage in by_query(rows(tmp_path / name, f"mapping/{table}"))["q"]
        }
        return ids, manifest.counts

    assert negatives("kept", keep_self=True)[0] == {"p1", "p2", "p3", "self", "q"}
    ids, counts = negatives("out")
    assert ids == {"p1", "p2", "p3"}
    assert counts["negatives_that_are_the_query[text]"] == 1
    assert counts["negatives_that_are_the_query[id]"] == 1


def test_no_context_shows_the_query_where_the_corpus_holds_all_queries(tmp_path: Path) -> None:
    """ArguAna and Quora: each query stands in the corpus, and is the nearest passage to itself."""
    claims = {
        f"a{i}": f"Claim number {i}: cities with trees are {i} degrees cooler." for i in range(40)
    }
    replies = {
        f"r{i}": f"Reply to claim {i}: trees cost a city {i} million a year." for i in range(40)
    }
    queries = {f"q{i}": text for i, text in enumerate(claims.values())}
    judged = [(f"q{i}", f"r{i}", 1) for i in range(40)]
    folder = write_beir(tmp_path / "b", claims | replies, queries, judged)
    build(f"beir:{folder}", tmp_path / "out")
    for row in rows(tmp_path / "out", "contexts/mix"):
        assert f"a{row['query_id'][1:]}" not in [doc["corpus-id"] for doc in row["docs"]]


def test_skip_top_and_thresholds(tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    build(source, tmp_path / "all", mining=Mining(seemingly_relevant=60))
    everything = ranked(tmp_path / "all")
    build(source, tmp_path / "cut", mining=Mining(seemingly_relevant=5, skip_top=2, max_score=0.2))
    result = ranked(tmp_path / "cut")
    for query, full in everything.items():
        assert result[query] == [t for t in full if t[2] > 2 and t[1] <= 0.2][:5]
    assert any(full[2][1] > 0.2 for full in everything.values())


def test_margin_below_the_best_relevant(tmp_path: Path) -> None:
    out, embedder = tmp_path / "out", Hashed()
    build(f"beir:{EXAMPLES / 'facts'}", out, mining=Mining(seemingly_relevant=5, margin=0.1))
    corpus, queries = rows(out, "corpus/corpus"), rows(out, "queries/queries")
    passages = embedder.encode([f"{p['title']} {p['text']}" for p in corpus], "passage")
    vector_of = dict(zip([p["_id"] for p in corpus], passages, strict=True))
    relevant = by_query(rows(out, "mapping/relevant"))
    asked = embedder.encode([q["text"] for q in queries], "query")
    best = {
        query["_id"]: max(vector_of[p] @ vector for p in relevant[query["_id"]])
        for query, vector in zip(queries, asked, strict=True)
    }
    mined = ranked(out)
    assert mined
    for query, found in mined.items():
        assert all(cosine <= best[query] - 0.1 + 1e-6 for _, cosine, _ in found)


def test_exclude_answers(tmp_path: Path) -> None:
    items = [
        {
            "id": "1",
            "question": "Which metal is liquid?",
            "answers": [["mercury"]],
            "docs": [
                {"id": "rel", "title": "", "text": "Mercury is liquid."},
                *({"id": f"d{i}", "title": "", "text": f"Metal {i} is solid."} for i in range(8)),
            ],
        },
        {
            "id": "2",
            "question": "Which planet is first?",
            "answers": [["planet one"]],
            "docs": [
                {"id": "leak", "title": "", "text": "Planet one is also mercury, a liquid metal."}
            ],
        },
    ]
    path = tmp_path / "items.json"
    path.write_text(json.dumps(items))
    for name, exclude in (("kept", False), ("out", True)):
        manifest = build(
            f"alce:{path}",
            tmp_path / name,
            offline_embedder(),
            mining=Mining(seemingly_relevant=4, irrelevant=4, exclude_answers=exclude),
        )
        negatives = {
            p
            for n in ("irrelevant", "seemingly_relevant")
            for p in by_query(rows(tmp_path / name, f"mapping/{n}"))["1"]
        }
        assert ("leak" in negatives) is not exclude
    assert manifest.counts["candidates_with_an_answer[seemingly_relevant]"] == 1
    assert {g["kind"] for g in rows(tmp_path / "out", "gold/gold")} == {"answer_list"}


def test_exclude_answers_needs_answers(tmp_path: Path, small_beir: Path) -> None:
    with refused("option-without-effect", cf.UsageError):
        build(f"beir:{small_beir}", tmp_path / "out", mining=Mining(exclude_answers=True))


def test_an_extra_corpus_is_mined_and_merged(tmp_path: Path, small_beir: Path) -> None:
    extra = write_beir(tmp_path / "extra", {"x": "t"}, {"q": "t"}, [("q", "x", 1)])
    write_jsonl(
        extra / "corpus.jsonl",
        [
            {"_id": "p1", "title": "Kept title", "text": "passage NUMBER 1  speaks of topic 1."},
            {"_id": "x1", "title": "", "text": "Topic 1 is spoken of here too, says topic 1."},
        ],
    )
    build(f"beir:{small_beir}", tmp_path / "out", extra_corpus=f"beir:{extra}", seed=3)
    corpus = {p["_id"]: p for p in rows(tmp_path / "out", "corpus/corpus")}
    assert list(corpus) == [*(f"p{i}" for i in range(12)), "x1"]
    assert corpus["p1"]["title"] == "Kept title"
    assert corpus["p1"]["text"] == "Passage number 1 speaks of topic 1."
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert manifest["sources"][1]["counts"] == {"passages_in_the_first_source": 1}


def test_an_extra_corpus_with_another_text_under_an_id(tmp_path: Path, small_beir: Path) -> None:
    extra = write_beir(tmp_path / "extra", {"p1": "Other."}, {"q": "t"}, [("q", "p1", 1)])
    with refused("duplicate-id", path=f"beir:{extra}"):
        build(f"beir:{small_beir}", tmp_path / "out", extra_corpus=f"beir:{extra}")


def test_an_extra_corpus_of_passages_alone(tmp_path: Path, small_beir: Path) -> None:
    """Its ids clash and mean others, and its licence is its own."""
    path = write_jsonl(tmp_path / "wiki.jsonl", [{"id": "p1", "contents": "Of topic 1, too."}])
    config = {"extra_corpus": f"corpus:{path}", "licence": "cc-by-4.0"}
    build(f"beir:{small_beir}", tmp_path / "a", extra_prefix="wiki/", **config)
    assert [p["_id"] for p in rows(tmp_path / "a", "corpus/corpus")][-2:] == ["p11", "wiki/p1"]
    manifest = load_manifest(tmp_path / "a")
    assert [s.licence for s in manifest.sources] == ["cc-by-4.0", None]
    assert conflicts(manifest) == [
        "corpus:wiki.jsonl has no stated licence (build with --extra-licence)"
    ]
    build(f"beir:{small_beir}", tmp_path / "b", extra_prefix="w:", extra_licence="odc-by", **config)
    manifest = load_manifest(tmp_path / "b")
    assert [s.licence for s in manifest.sources] == ["cc-by-4.0", "odc-by"]
    assert conflicts(manifest) == []
    assert "odc-by" in (tmp_path / "b" / "README.md").read_text()


def test_limit_samples_queries(tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    build(source, tmp_path / "a", limit=7)
    build(source, tmp_path / "b", limit=8)
    a = [q["_id"] for q in rows(tmp_path / "a", "queries/queries")]
    b = [q["_id"] for q in rows(tmp_path / "b", "queries/queries")]
    assert len(a) == 7
    assert set(a) < set(b)
    assert a == sorted(a)


def test_only_the_pool_is_kept(tmp_path: Path) -> None:
    source = f"beir:{EXAMPLES / 'facts'}"
    build(source, tmp_path / "out", limit=2, corpus="pool")
    named = {
        row["corpus-id"]
        for n in ("relevant", "irrelevant", "seemingly_relevant")
        for row in rows(tmp_path / "out", f"mapping/{n}")
    }
    assert {p["_id"] for p in rows(tmp_path / "out", "corpus/corpus")} == named
    assert verify(tmp_path / "out") == []


def test_queries_without_relevant_passages(tmp_path: Path, small_beir: Path) -> None:
    with (small_beir / "qrels" / "test.tsv").open("a") as file:
        file.write("q3\tp1\t0\n")
    with (small_beir / "queries.jsonl").open("a") as file:
        file.write('{"_id": "q3", "text": "Unanswered?"}\n')
    with refused("no-relevant", path=f"beir:{small_beir}") as caught:
        build(f"beir:{small_beir}", tmp_path / "out")
    assert "no relevant passage for 1 query (first: 'q3')" in str(caught.value)
    manifest = build(f"beir:{small_beir}", tmp_path / "out", allow_no_relevant=True)
    assert manifest.counts["queries_without_a_relevant_passage"] == 1
    assert len(rows(tmp_path / "out", "queries/queries")) == 3
    assert verify(tmp_path / "out") == []


def test_contexts_follow_the_mixture(tmp_path: Path) -> None:
    mixtures = (
        Mixture(name="a", relevant=1, irrelevant=2, seemingly_relevant=3),
        Mixture(name="b", relevant=3, irrelevant=0, seemingly_relevant=12),
    )
    manifest = build(f"beir:{EXAMPLES / 'facts'}", tmp_path / "out", mixtures=mixtures)
    for row in rows(tmp_path / "out", "contexts/a"):
        labels = [d["label"] for d in row["docs"]]
        assert labels.count("relevant") == 1
        assert labels.count("irrelevant") == 2
        assert labels.count("seemingly_relevant") == 3
    firsts = {row["docs"][0]["label"] for row in rows(tmp_path / "out", "contexts/a")}
    assert len(firsts) == 3  # shuffled
    assert all(row["docs"] for row in rows(tmp_path / "out", "contexts/b"))
    assert manifest.contexts["b"].short["q01"] == {"seemingly_relevant": 10}
    assert manifest.contexts["a"].short == {}


def test_an_existing_folder_is_not_touched(tmp_path: Path, small_beir: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (out / "mine.txt").write_text("keep")
    for choice in ("refuse", "overwrite", "resume"):
        with refused("output-exists", path=out):
            build(f"beir:{small_beir}", out, options={"if_exists": choice})
        assert [p.name for p in out.iterdir()] == ["mine.txt"]


def test_datasets_reads_every_config(package: Path, tmp_path: Path) -> None:
    import datasets

    assert load_with_datasets(package, tmp_path) == {
        "corpus": {"corpus": 84},
        "queries": {"queries": 30},
        "mapping": {"relevant": 41, "irrelevant": 300, "seemingly_relevant": 300},
        "contexts": {"mix": 30},
        "cosines": {"seemingly_relevant": 300},
    }
    # A BEIR source has no gold answers: no such config is written or declared.
    assert not (package / "gold").exists()
    with pytest.raises(ValueError, match="BuilderConfig 'gold' not found"):
        datasets.load_dataset(str(package), "gold", cache_dir=str(tmp_path / "cache"))
    assert json.loads((package / "manifest.json").read_text())["empty_tables"] == ["gold/gold"]
