"""Exports: read by each format's own library, and back by ours as the same tables."""

import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import citeforge as cf
from citeforge.builders.derive import Base
from citeforge.evaluator.submissions.paper_files import read_attributed_ir
from citeforge.ir_convert.kalma import read_entries, read_gold
from citeforge.ir_convert.registry import open_source
from citeforge.ir_convert.source import ReadOptions
from citeforge.publishing.dataset_layouts import corpus_rows
from conftest import Inline, refused, write_beir, write_jsonl


def exported(name: str, folder: Path, out: Path) -> Path:
    cf.export(name, folder, out)
    return out


def same_tables(base: Base, spec: str, split: str | None = None) -> None:
    """A source gives back passages, queries and relevant pairs of a package."""
    source = open_source(spec, split, ReadOptions())
    ours = {(r["_id"], r["title"], r["text"]) for r in corpus_rows(base)}
    theirs = {(r["_id"], r["title"], r["text"]) for b in source.passages() for r in b.to_pylist()}
    assert theirs == ours
    relevant = {(q, p) for q, ids in base.relevant.items() for p in ids}
    result = source.relevant().to_pylist()
    assert {(r["query-id"], r["corpus-id"]) for r in result} == relevant
    queries = {r["_id"]: r["text"] for r in source.queries().to_pylist()}
    expected = dict(zip(base.query_ids, base.queries["text"].to_pylist(), strict=True))
    assert queries == {q: t for q, t in expected.items() if base.relevant[q] or q in queries}


def test_beir_reads_it(package: Path, tmp_path: Path) -> None:
    from beir.datasets.data_loader import GenericDataLoader

    out = exported("beir", package, tmp_path / "x")
    corpus, queries, qrels = GenericDataLoader(data_folder=str(out)).load(split="test")
    base = Base(package)
    assert len(corpus) == 84
    assert corpus["moon-io"]["title"] == "Io"
    assert set(queries) == set(base.query_ids)
    assert {(q, p) for q, row in qrels.items() for p, s in row.items() if s > 0} == {
        (q, p) for q, ids in base.relevant.items() for p in ids
    }
    same_tables(base, f"beir:{out}")


def test_mteb_layout_is_read_back(package: Path, tmp_path: Path) -> None:
    same_tables(Base(package), f"mteb:{exported('mteb', package, tmp_path / 'x')}")


@pytest.mark.slow
def test_mteb_reads_it(package: Path, tmp_path: Path) -> None:
    out = exported("mteb", package, tmp_path / "x")
    script = f"""
import mteb
from mteb.abstasks.retrieval import AbsTaskRetrieval
from mteb import TaskMetadata
class Ours(AbsTaskRetrieval):
    metadata = TaskMetadata(
        name="Ours", description="x", reference=None, type="Retrieval", category="t2t",
        modalities=["text"], eval_splits=["test"], eval_langs=["eng-Latn"], main_score="ndcg_at_10",
        dataset={{"path": {str(out)!r}, "revision": "main"}}, date=None, domains=None,
        task_subtypes=None, license=None, annotations_creators=None, dialect=None,
        sample_creation=None, bibtex_citation=None)
task = Ours()
task.load_data()
split = task.dataset["default"]["test"]
print(len(split["corpus"]), len(split["queries"]), sum(s > 0 for r in split["relevant_docs"].values() for s in r.values()))
"""  # noqa: E501
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True,
                            cwd=tmp_path)  # fmt: skip
    assert result.returncode == 0, result.stderr[-2000:]
    assert result.stdout.split() == ["84", "30", "41"]


def test_ir_measures_reads_it(package: Path, tmp_path: Path) -> None:
    import ir_measures

    out = exported("trec", package, tmp_path / "x")
    qrels = list(ir_measures.read_trec_qrels(str(out / "qrels.txt")))
    run = list(ir_measures.read_trec_run(str(out / "mix.run")))
    base = Base(package)
    shown = base.shown_passages("mix")
    assert [(r.query_id, r.doc_id) for r in run] == [
        (q, d["corpus-id"]) for q, docs in shown.items() for d in docs
    ]
    hits = {q: sum(d["label"] == "relevant" for d in docs) for q, docs in shown.items()}
    measure = ir_measures.parse_measure("SetR")
    result = {m.query_id: m.value for m in ir_measures.iter_calc([measure], qrels, run)}
    assert result == {q: hits[q] / len(base.relevant[q]) for q in shown}
    same_tables(base, f"trec:{out}")


def test_rage_toolkit_and_datasets_read_it(package: Path, tmp_path: Path) -> None:
    import datasets

    out = exported("rage-toolkit", package, tmp_path / "x")
    mapping = datasets.load_dataset(str(out), "mapping")
    assert set(mapping) == {"relevant", "irrelevant", "seemingly_relevant"}
    base = Base(package)
    source = open_source(f"rage:{out}", None, ReadOptions())
    assert source.relevant().to_pydict() == base.mappings["relevant"].to_pydict()
    for label, table in source.mined().items():
        assert table.to_pydict() == base.mappings[label].to_pydict()
    out = exported("hf-csv", package, tmp_path / "y")
    corpus = datasets.load_dataset(str(out), "corpus")["corpus"]
    assert corpus.num_rows == 84
    contexts = datasets.load_dataset(str(out), "contexts")["mix"]
    docs = json.loads(contexts[0]["docs"])
    assert docs == base.shown_passages("mix")["q01"]


def test_attrieval_and_attributed_ir(package: Path, tmp_path: Path) -> None:
    out = exported("attrieval", package, tmp_path / "x")
    source = open_source(f"attrieval:{out / 'data'}", None, ReadOptions())
    base = Base(package)
    texts = {r["_id"]: r["text"] for b in source.passages() for r in b.to_pylist()}
    result = {(r["query-id"], texts[r["corpus-id"]]) for r in source.relevant().to_pylist()}
    ours = base.texts(i for ids in base.relevant.values() for i in ids)
    shown = base.shown_passages("mix")
    assert result == {
        (q, ours[d["corpus-id"]][1])
        for q, docs in shown.items()
        for d in docs
        if d["label"] == "relevant"
    }
    out = exported("attributed-ir", package, tmp_path / "y")
    rows = [line for _, line in read_attributed_ir(out / "data.csv", None)]  # type: ignore[arg-type]
    assert [r.query_id for r in rows] == base.query_ids
    assert [p.docid for p in rows[0].passages or []] == [d["corpus-id"] for d in shown["q01"]]


def test_ms_marco_rows(tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {
            "query_id": 7,
            "query": "what?",
            "answers": ["that"],
            "passages": {"passage_text": ["It is that.", "No."], "is_selected": [1, 0],
                         "url": ["a", "b"]},
        }
    ]  # fmt: skip
    source = open_source(f"attrieval:{write_jsonl(tmp_path / 'm.jsonl', rows)}", None,
                         ReadOptions())  # fmt: skip
    assert source.queries().to_pylist()[0]["_id"] == "7"
    assert source.gold().to_pylist()[0]["aliases"] == ["that"]
    assert source.relevant().num_rows == 1


def test_alce_is_read_back(inline: Inline, tmp_path: Path) -> None:
    items = [
        {
            "sample_id": "s1",
            "question": "Who?",
            "docs": [{"id": "d1", "title": "T", "text": "It was Ada."},
                     {"id": "d2", "title": "", "text": "Nobody."}],
            "qa_pairs": [{"question": "Who?", "short_answers": ["Ada", "Lovelace"]}],
            "annotations": [{"long_answer": "Ada it was."}],
        }
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(items))
    words = ("build", "alce", "--k", "2", "--source")
    inline.ok(*words, "alce:a.json", "--out", "a")
    out = exported("alce", tmp_path / "a", tmp_path / "ax")
    inline.ok(*words, f"alce:{out / 'data.json'}", "--out", "b")
    one, two = Base(tmp_path / "a"), Base(tmp_path / "b")
    assert one.gold.to_pydict() == two.gold.to_pydict()
    assert one.manifest.benchmark_hash == two.manifest.benchmark_hash


def test_kalma_is_read_back(kalma_package: Path, inline: Inline, tmp_path: Path) -> None:
    result = inline.ok("export", "kalma", kalma_package, "--out", "kx")
    assert "further values of relations" in result.stdout
    read = read_entries(tmp_path / "kx" / "specific.json")
    gold = read_gold(tmp_path / "kx" / "gold.json")
    assert len(read) == len(gold) > 0
    for item, triples in zip(read, gold, strict=True):
        known = {(g.qid, t.relation) for g in item.graphs for t in g.triples}
        assert {(f.qid, f.relation) for f in triples} <= known
        # Round 1 has gold where the question asks what connects the two.
        rounds = [f.round for f in triples]
        assert rounds == list(range(rounds[0], rounds[0] + len(triples)))
        assert rounds[0] in (1, 2)
    args = ("build", "kalma", "--source", f"kalma:{tmp_path / 'kx' / 'specific.json'}")
    inline.ok(*args, "--out", "k2")
    inline.fails(1, "wrong-kind", "export", "beir", kalma_package, "--out", "no")
    inline.fails(2, "unknown-name", "export", "nothing", kalma_package, "--out", "no")


def test_what_cannot_be_carried_is_listed_or_refused(package: Path, tmp_path: Path) -> None:
    lost = cf.export("beir", package, tmp_path / "x")
    assert any("frozen contexts (mix)" in x for x in lost)
    with refused("output-exists", path=tmp_path / "x"):
        cf.export("beir", package, tmp_path / "x")
    with refused("unknown-name", cf.UnknownValueError, value="nothing"):
        cf.export("alce", package, tmp_path / "y", context="nothing")


@pytest.mark.parametrize(
    ("name", "text", "code", "line"),
    [
        ("topics.tsv", "q1 no tab\n", "wrong-type", 1),
        ("topics.tsv", "q1\ta\nq1\tb\n", "duplicate-id", 2),
        ("qrels.txt", "q1 0 d1\n", "wrong-type", 1),
        ("qrels.txt", "q1 0 d1 high\n", "wrong-type", 1),
        ("qrels.txt", "q1 0 d1 1\nq1 0 d1 0\n", "duplicate-id", 2),
        ("qrels.txt", "q2 0 d1 1\n", "unknown-query", 1),
        ("corpus.jsonl", '{"docid": "d1", "text": ""}\n', "empty-text", 1),
    ],
)
def test_bad_trec_files(tmp_path: Path, name: str, text: str, code: str, line: int) -> None:
    (tmp_path / "topics.tsv").write_text("q1\ta\n")
    (tmp_path / "qrels.txt").write_text("q1 0 d1 1\n")
    (tmp_path / "corpus.jsonl").write_text('{"docid": "d1", "title": "", "text": "A."}\n')
    (tmp_path / name).write_text(text)
    with refused(code, path=tmp_path / name, line=line):
        source = open_source(f"trec:{tmp_path}", None, ReadOptions())
        source.queries()
        list(source.passages())


def test_miracl_layout(tmp_path: Path) -> None:
    (tmp_path / "topics").mkdir()
    (tmp_path / "qrels").mkdir()
    (tmp_path / "topics" / "topics.miracl-v1.0-sw-dev.tsv").write_text("1\tNani?\n")
    (tmp_path / "qrels" / "qrels.miracl-v1.0-sw-dev.tsv").write_text("1 Q0 5#1 1\n1 Q0 5#2 0\n")
    write_jsonl(tmp_path / "docs-0.jsonl.gz", [{"docid": "5#1", "title": "A", "text": "Huyu."}])
    write_jsonl(tmp_path / "docs-1.jsonl.gz", [{"docid": "5#2", "title": "A", "text": "Yule."}])
    source = open_source(f"miracl:{tmp_path}", "dev", ReadOptions())
    assert source.queries().to_pylist()[0]["text"] == "Nani?"
    assert [r["_id"] for b in source.passages() for r in b.to_pylist()] == ["5#1", "5#2"]
    assert source.relevant().num_rows == 1
    assert source.info().counts["judgements_of_zero_or_less"] == 1
    with refused("unknown-name", value="test"):
        open_source(f"miracl:{tmp_path}", "test", ReadOptions())
    # A fault names the shard that it is in.
    shard = tmp_path / "docs-1.jsonl.gz"
    write_jsonl(shard, [{"docid": "5#2", "title": "", "text": " "}])
    with refused("empty-text", path=shard, line=1, field="text"):
        list(open_source(f"miracl:{tmp_path}", "dev", ReadOptions()).passages())
    twice = [{"docid": d, "title": "A", "text": "Yule."} for d in ("5#2", "5#1")]
    write_jsonl(shard, twice)
    with refused("duplicate-id", path=shard, line=2, field="docid") as caught:
        list(open_source(f"miracl:{tmp_path}", "dev", ReadOptions()).passages())
    assert f"line 1 of {tmp_path / 'docs-0.jsonl.gz'}" in str(caught.value)
    (tmp_path / "topics" / "topics.miracl-v1.0-fi-dev.tsv").write_text("1\tKuka?\n")
    with refused("unsupported", path=tmp_path):  # two languages
        open_source(f"miracl:{tmp_path}", "dev", ReadOptions())


def test_ir_datasets(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A data set registered with the real library, from files written here."""
    import ir_datasets
    from ir_datasets.formats import TrecQrels, TsvDocs, TsvQueries

    class File:
        def __init__(self, name: str, text: str) -> None:
            self._path = tmp_path / name
            self._path.write_text(text)

        def path(self, force: bool = True) -> str:
            return str(self._path)

        def stream(self) -> Any:
            return self._path.open("rb")

    data = ir_datasets.Dataset(
        TsvDocs(File("docs.tsv", "d1\tIt is so.\nd2\tIt is not.\n"), namespace="ours", lang="en"),
        TsvQueries(File("queries.tsv", "q1\tIs it?\n"), namespace="ours", lang="en"),
        TrecQrels(File("qrels", "q1 0 d1 1\nq1 0 d2 0\n"), {1: "yes", 0: "no"}),
    )
    ir_datasets.registry.register("ours", data)
    source = open_source("ir-datasets:ours", None, ReadOptions())
    assert [r["_id"] for b in source.passages() for r in b.to_pylist()] == ["d1", "d2"]
    assert source.queries().to_pylist()[0]["text"] == "Is it?"
    assert source.relevant().to_pylist()[0]["corpus-id"] == "d1"
    with refused("unknown-name", path="nothing/here"):
        open_source("ir-datasets:nothing/here", None, ReadOptions())


WORD = st.text(st.characters(categories=["Lu", "Ll", "Lo", "Nd"]), min_size=1, max_size=8)
TEXT = st.lists(WORD, min_size=1, max_size=6).map(" ".join)


@pytest.mark.slow
@given(
    st.dictionaries(WORD, TEXT, min_size=2, max_size=6),
    st.lists(TEXT, min_size=1, max_size=3),
    st.data(),
)
def test_random_benchmarks_survive_the_round_trip(
    passages: dict[str, str], queries: list[str], data: st.DataObject
) -> None:
    """build → export → import → the same tables, for every format that we also read."""
    names = {f"q{i}": t for i, t in enumerate(queries)}
    qrels = [(q, data.draw(st.sampled_from(sorted(passages))), data.draw(st.integers(1, 3)))
             for q in names]  # fmt: skip
    with tempfile.TemporaryDirectory() as work:
        root = Path(work)
        write_beir(root / "beir", passages, names, qrels)
        recipe = cf.RageRecipe(
            source=f"beir:{root / 'beir'}",
            candidates="bm25",
            mining={"seemingly_relevant": 0, "irrelevant": 1},
            mixtures=("m=1,1,0",),
        )
        base = Base(cf.build(recipe, root / "b").folder)
        for name in ("beir", "trec"):
            same_tables(base, f"{name}:{exported(name, root / 'b', root / name / 'x')}")
        scores = open_source(f"beir:{root / 'beir' / 'x'}", None, ReadOptions()).relevant()
        assert sorted(scores["score"].to_pylist()) == sorted(float(s) for _, _, s in qrels)
        shutil.rmtree(root / "b")


@pytest.mark.parametrize(
    ("query", "passage", "named"),
    [("frage ü", "doc:2", "'frage ü' of a query"), ("q1", "doc 2", "'doc 2' of a passage")],
)
def test_an_id_that_trec_cannot_hold_is_named(
    tmp_path: Path, query: str, passage: str, named: str
) -> None:
    texts = {passage: "red moon", "other": "blue sea"}
    write_beir(tmp_path / "beir", texts, {query: "moon?"}, [(query, passage, 1)])
    recipe = cf.RageRecipe(
        source=f"beir:{tmp_path / 'beir'}", candidates="bm25", mixtures=("m=1,1,0",),
        mining={"seemingly_relevant": 0, "irrelevant": 1},
    )  # fmt: skip
    built = cf.build(recipe, tmp_path / "b").folder
    with refused("unsupported", path=built) as caught:
        exported("trec", built, tmp_path / "x")
    assert f"the id {named} contains white space" in str(caught.value)
