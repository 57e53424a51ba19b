"""Whole files of every kind that a command reads: the examples, and what is made of them.

Made with the project's own commands and a few hand-written files in the layouts of others.
"""

import csv
import gzip
import json
import os
import shutil
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from fuzzing.worker import call
from plugins.documents.pdfs import pdf

ROOT = Path(__file__).resolve().parent.parent.parent
EXAMPLES = ROOT / "examples"
GOLDEN = ROOT / "tests" / "golden" / "v1"

Rows = list[dict[str, Any]]


def cite(*args: object) -> None:
    """Run a command that has to end well.

    Raises:
        RuntimeError: it did not.
    """
    done = call([str(a) for a in args])
    if done["exit"] != 0:
        raise RuntimeError(f"{' '.join(map(str, args))}: {done['stderr']}{done['trace']}")


def jsonl(path: Path, rows: Rows) -> None:
    """Write JSON Lines, gzipped when the name says so."""
    data = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(data, mtime=0) if path.suffix == ".gz" else data)


def table(path: Path, rows: Rows) -> None:
    """Write a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read(path: Path) -> Rows:
    """Rows of a JSON Lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def make_world(root: Path) -> Path:
    """Make all files in a folder; a folder that holds them already is taken as it is."""
    if (root / "whole").exists():
        return root
    root.mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    os.chdir(root)
    try:
        _sources()
        _graphs()
        _packages()
        _submissions()
        _scores()
        _stores()
        _published()
    finally:
        os.chdir(before)
    (root / "whole").touch()
    return root


def _sources() -> None:
    import datasets

    shutil.copytree(EXAMPLES / "facts", "beir")
    corpus, queries = read(Path("beir/corpus.jsonl")), read(Path("beir/queries.jsonl"))
    shutil.copytree(EXAMPLES / "manuals", "documents")
    texts = [p["text"] for p in corpus]
    jsonl(Path("documents/rows.jsonl"), corpus[:3])
    Path("documents/two.pdf").write_bytes(pdf(*texts[3:5]))
    body = "".join(f"<h2>{p['title']}</h2><p>{p['text']}</p>" for p in corpus[5:12])
    Path("documents/page.html").write_text(f"<html><body><main>{body}</main></body></html>")
    pairs = [line.split("\t") for line in Path("beir/qrels/test.tsv").read_text().splitlines()[1:]]
    for name in ("corpus.jsonl", "queries.jsonl", "qrels/test.tsv"):
        packed = Path("beir-gz") / f"{name}.gz"
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(gzip.compress(Path("beir", name).read_bytes(), mtime=0))
    shutil.make_archive("beir-zip", "zip", "beir")
    topics = "".join(f"{q['_id']}\t{q['text']}\n" for q in queries)
    qrels = "".join(f"{q} 0 {p} {s}\n" for q, p, s in pairs)
    docs = [{"docid": p["_id"], "title": p["title"], "text": p["text"]} for p in corpus]
    for folder, names in (
        ("trec", ("topics.tsv", "qrels.txt", "corpus.jsonl")),
        ("miracl", (
            "topics/topics.miracl-v1.0-en-dev.tsv", "qrels/qrels.miracl-v1.0-en-dev.tsv",
            "docs-0.jsonl.gz",
        )),
    ):  # fmt: skip
        paths = [Path(folder, n) for n in names]
        for path in paths:
            path.parent.mkdir(parents=True, exist_ok=True)
        paths[0].write_text(topics)
        paths[1].write_text(qrels)
        jsonl(paths[2], docs)
    for name in ("asqa.json", "hagrid.jsonl"):
        shutil.copy(EXAMPLES / "answers" / name, name)
    items = json.loads(Path("asqa.json").read_text())
    for name, gold in (("qampari.json", {"answers": [["1973"], ["1831", "31"]]}),
                       ("eli5.json", {"claims": ["It opened in 1973.", "It was sold."]})):  # fmt: skip
        bare = [{"id": i, "question": r["question"], "docs": r["docs"], "answer": "1973", **gold}
                for i, r in enumerate(items)]  # fmt: skip
        Path(name).write_text(json.dumps({"args": {}, "data": bare}))
    marco = [
        {
            "query_id": i, "query": q["text"], "org_answers": ["x"],
            "passages": {"passage_text": [p["text"] for p in corpus[i : i + 4]],
                         "is_selected": [0, 1, 0, 0]},
        }
        for i, q in enumerate(queries[:6])
    ]  # fmt: skip
    jsonl(Path("marco.jsonl"), marco)
    datasets.Dataset.from_list(marco).save_to_disk("marco")


def _graphs() -> None:
    import pyoxigraph

    shutil.copy(EXAMPLES / "people" / "graph.ttl", "graph.ttl")
    shutil.copy(EXAMPLES / "plain" / "people.ttl", "friends.ttl")
    shutil.copy(EXAMPLES / "plain" / "friends.yaml", "friends.yaml")
    quads = pyoxigraph.parse(path="graph.ttl", format=pyoxigraph.RdfFormat.TURTLE)
    lines = pyoxigraph.serialize((q.triple for q in quads), format=pyoxigraph.RdfFormat.N_TRIPLES)
    Path("graph.nt").write_bytes(lines)
    Path("graph.nt.gz").write_bytes(gzip.compress(lines, mtime=0))
    Path("entities.txt").write_text("".join(f"Q{n}\n" for n in range(901, 912)))
    shutil.copy(ROOT / "src/citeforge/kg/data/people.yaml", "people.yaml")
    stated = [
        {"paragraph": "Ada Lovelace was born to Lord Byron.", "first": "Ada Lovelace",
         "relation": "father", "second": "Lord Byron"},
        {"paragraph": "Pierre Curie married Marie Curie.", "first": "Pierre Curie",
         "relation": "spouse", "second": "Marie Curie"},
    ]  # fmt: skip
    jsonl(Path("stated.jsonl"), stated)
    table(Path("stated.csv"), stated)
    jsonl(Path("questions.jsonl"), [{"_id": "a", "text": "Who was Ada Lovelace?"},
                                    {"_id": "b", "text": "Was Marie Curie born first?"}])  # fmt: skip
    graph = {"date_of_birth": "1815-12-10", "notable works": "Notes", "name": "Ada Lovelace",
             "qid": "Q7259"}  # fmt: skip
    other = {"spouse": "Ada Lovelace", "name": "William King", "qid": "Q8"}
    Path("specific.json").write_text(
        json.dumps([["Question: Who was Ada?", [graph, other]], ["Who wrote the notes?", [graph]]])
    )
    Path("general.json").write_text(
        json.dumps([["Who was she?", [graph, other]], ["Who wrote?", [graph]]])
    )
    Path("minimum.json").write_text(
        json.dumps([["Who was Ada?", [["Q7259", "date_of_birth", "1815-12-10"]]],
                    ["Who wrote the notes?", [["Q7259", "notable works", "Notes"]]]])
    )  # fmt: skip


def _given() -> None:
    """Vectors and passages that others made."""
    Path("vectors").mkdir()
    rng = np.random.default_rng(0)
    lines = [json.loads(line) for line in Path("beir/corpus.jsonl").read_text().splitlines()]
    np.save("vectors/passages.npy", rng.normal(size=(len(lines), 4)))
    asked = [json.loads(line) for line in Path("beir/queries.jsonl").read_text().splitlines()]
    vectors = pa.array(rng.normal(size=(len(asked), 4)).tolist(), pa.list_(pa.float32()))
    table = pa.table({"_id": [row["_id"] for row in asked], "vector": vectors})
    pq.write_table(table, "vectors/queries.parquet")
    further = [{"id": n, "contents": f"Passage {n}."} for n in range(4)]
    Path("passages.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in further))
    pq.write_table(pa.Table.from_pylist(further), "passages.parquet")


def _packages() -> None:
    cite("build", "rage", "--source", "beir:beir", "--licence", "cc0-1.0", "--embedder", "offline",
         "--limit", 6, "--n-seemingly", 4, "--n-irrelevant", 4, "--out", "facts")  # fmt: skip
    cite("llm", "import", "twins.db", EXAMPLES / "twins" / "replay.jsonl")
    _given()
    cite("build", "twins", "--benchmark", "facts", "--llm", "replay:twins.db", "--keep-failed",
         "--out", "twins")  # fmt: skip
    cite("build", "authorship", "--twins", "twins", "--k", 3, "--relevant", "any", "--label-set",
         "human_llm", "--origins", "hl,lh", "--out", "authorship")  # fmt: skip
    cite("build", "kalma", "--kg", "file:graph.ttl", "--pairs-from-kg", "spouse,father,child",
         "--limit", 3, "--max-facts", 5, "--licence", "cc0-1.0", "--out", "kalma")  # fmt: skip
    cite("build", "hagrid", "--source", "hagrid:hagrid.jsonl", "--out", "hagrid")
    cite("build", "alce", "--source", "alce:asqa.json", "--out", "asqa")
    made = call(["build", "--print-recipe", "--from", "facts"])["stdout"].replace(
        "beir:beir", f"beir:{Path.cwd() / 'beir'}"
    )
    Path("recipe.yaml").write_text(made)
    Path("recipe.json").write_text(json.dumps(yaml.safe_load(made)))
    shutil.copytree(GOLDEN / "package", "golden")
    cite("export", "mteb", "facts", "--out", "mteb")
    Path("labels.yaml").write_text(
        "- name: source\n  first: [Encyclopaedia, Lexicon]\n  second: [Web page]\n"
        "  phrase: 'from: {label}'\n  note: Where it is from.\n  distinct: false\n"
    )
    shutil.copy(
        ROOT / "src/citeforge/plugins/published_systems/data/demonstrations.yaml", "demos.yaml"
    )
    shutil.copy(ROOT / "src/citeforge/engines/judge/data/llm-three-level.yaml", "profile.yaml")
    cite("build", "position", "--benchmark", "facts", "--k", 3, "--out", "position")
    cite("run", "position-blind", "--benchmark", "position", "--out", "position.jsonl")
    for kind in ("deflection", "faithfulness"):
        cite("build", kind, "--benchmark", "facts", "--k", 3, "--out", kind)
    cite("run", "deflection-blind", "--benchmark", "deflection", "--out", "deflection.jsonl")
    cite("run", "faithful", "--benchmark", "faithfulness", "--out", "faithful.jsonl")
    shutil.copytree("facts", "copy")
    cite("audit", "copy", "--known-flaws", "known-flaws.jsonl", "--accept")
    cite("audit", "copy", "--strong-judge", "lexical")
    shutil.copy("copy/audit.json", "decided.json")
    shutil.rmtree("copy")
    with Path("known-flaws.jsonl").open("a") as file:
        file.write('{"kind": "odd-text", "query": "", "passage": "moon-io", "why": "ours"}\n')
    queries = [row["query_id"] for row in _prompts("facts", "prompts.jsonl")]
    names = [row["_id"] for row in read(Path("beir/corpus.jsonl"))][:12]
    Path("run.txt").write_text(
        "".join(f"{q} Q0 {p} {n} {20 - n}.5 t\n" for q in queries for n, p in enumerate(names))
    )
    Path("template.j2").write_text(
        "{{ query }}\n{% for d in docs %}[{{ d.number }}] {{ d.title }} {{ d.text }}\n{% endfor %}"
    )


def _prompts(package: str, name: str) -> Rows:
    cite("export", "prompts", package, "--out", name)
    return read(Path(name))


def _submissions() -> None:
    import datasets

    for package in ("facts", "authorship", "kalma", "hagrid", "asqa"):
        runs = 1 if package in ("authorship", "kalma") else 2
        name = "cited" if package == "hagrid" else package
        cite("run", "random", "--benchmark", package, "--runs", runs, "--out", f"{name}.jsonl")
    rows = read(Path("facts.jsonl"))
    jsonl(Path("facts.jsonl.gz"), rows)
    from citeforge.evaluator.submissions.benchmark import Benchmark

    loaded = Benchmark(Path("facts"))
    texts = loaded.queries["text"].to_pylist()
    ids = loaded.query_ids
    shown = [{"docid": "moon-io", "title": "Io", "text": "Io is a moon."}, {"text": "Rome is."}]
    out = "Io is a moon [1]. Rome is [2][1]. Nothing."
    jsonl(Path("own.jsonl"), [
        {"submission": {"system": "own", "benchmark": "facts"}},
        *({"query_id": i, "output": out, "run": 0, "passages": shown, "sentences": [{"text": out, "citations": [1, None]}],
           "logprobs": [{"index": 0, "token": "1", "logprob": -0.5}], "meta": {"x": [1]}}
          for i in ids),
    ])  # fmt: skip
    docs = [{"title": "Io", "text": "Io is a moon.", "id": "7"}, {"title": "", "text": "Rome is."}]
    Path("result.json").write_text(json.dumps({"args": {"shot": 2}, "data": [
        {"question": q, "output": out, "docs": docs, "answer": "Io"} for q in texts
    ]}))  # fmt: skip
    table(Path("attributed-ir.csv"), [
        {"query_id": i, "query": q, "quotes": repr([{"idx": 1, **shown[0]}]), "answers": "[]",
         "output": out} for i, q in zip(ids, texts, strict=True)
    ])  # fmt: skip
    table(Path("response_info.csv"), [
        {"query_id": i, "query_text": q, "prompt": "p", "docs_for_query": "['Io text', 'Europa']",
         "answer": out, "answer_citations": "['1']", "doc_ids": "['moon-io', 'moon-europa']"}
        for i, q in zip(ids, texts, strict=True)
    ])  # fmt: skip
    answers = [row["output"] for row in read(Path("kalma.jsonl")) if "output" in row][:3]
    table(Path("answers.csv"), [{"": n, "Answer": a} for n, a in enumerate(answers)])
    sentences = [{"text": "Io it is.", "citations": [0, 1]}, {"text": "Nothing.", "citations": []}]
    refs = ["moon-io", "moon-europa"]
    jsonl(Path("rag24.jsonl"), [
        {"run_id": "r", "topic_id": i, "topic": q, "references": refs, "response_length": 4,
         "answer": sentences} for i, q in zip(ids, texts, strict=True)
    ])  # fmt: skip
    jsonl(Path("rag25.jsonl"), [
        {"metadata": {"team_id": "t", "run_id": "r", "narrative_id": i}, "references": refs,
         "answer": sentences} for i in ids
    ])  # fmt: skip
    by_id = [{"text": "Io it is.", "citations": {refs[0]: 0.9, refs[1]: 0.1}}]
    jsonl(Path("ragtime26.jsonl"), [
        {"metadata": {"team_id": "t", "run_id": "r", "run_desc": "d", "topic_id": i},
         "references": refs, "responses": by_id} for i in ids
    ])  # fmt: skip
    jsonl(Path("dragun25.jsonl"), [
        {"metadata": {"team_id": "t", "run_id": "r", "topic_id": i, "type": "automatic",
                      "use_starter_kit": 0},
         "responses": [{"text": "Io it is.", "citations": refs}]} for i in ids
    ])  # fmt: skip
    for path in (EXAMPLES / "vendors").iterdir():
        named = ("query_id", "custom_id", "key", "id", "input")
        jsonl(Path(f"vendors-{path.name}"), [
            row for row in read(path) if {row.get(n) for n in named} & {*ids, *texts}
        ])  # fmt: skip
    datasets.Dataset.from_list([
        {"query": q, "passages": {"passage_text": ["a", "b"], "is_selected": [1, 0]},
         "rag_raw_answer": "Io [0]."} for q in texts
    ]).save_to_disk("outputs")  # fmt: skip
    _inspect_logs()


def _inspect_logs() -> None:
    """A log of inspect_ai, of our answers."""
    from inspect_ai.log import (
        EvalConfig,
        EvalDataset,
        EvalLog,
        EvalSample,
        EvalSpec,
        write_eval_log,
    )
    from inspect_ai.model import ModelOutput

    manifest = json.loads(Path("facts/manifest.json").read_text())
    said = {k: manifest[k] for k in ("benchmark_hash",)} | {"contexts": ["mix"]}
    rows = [r for r in read(Path("facts.jsonl")) if "query_id" in r]
    samples = [
        EvalSample(id=r["query_id"], epoch=r.get("run", 0) + 1, input="?", target="", metadata={"context": "mix"},
                   output=ModelOutput.from_content("m", r["output"]))
        for r in rows
    ]  # fmt: skip
    log = EvalLog(
        status="success", samples=samples,
        eval=EvalSpec(created="2026-05-01T10:00:00+00:00", task="facts", dataset=EvalDataset(),
                      model="m", config=EvalConfig(), metadata=said),
    )  # fmt: skip
    write_eval_log(log, "log.eval")


def _scores() -> None:
    first, second = Path("scores"), Path("cells")
    for system in ("random", "top-1"):
        cite("run", system, "--benchmark", "facts", "--out", f"{system}.jsonl")
        cite("score", f"{system}.jsonl", "--benchmark", "facts", "--measures", "rage,ALCE.CitRec",
             "--judge", "lexical", "--details", "--out", first / f"{system}.json")  # fmt: skip
    cite("leaderboard", "init", "board", "--benchmark", Path("facts").resolve())
    cite("leaderboard", "add", "random.jsonl", "--boards", "board")
    for system in ("label-blind", "label-follower"):
        cite("run", system, "--benchmark", "authorship", "--out", f"{system}.jsonl")
        cite("score", f"{system}.jsonl", "--benchmark", "authorship", "--out",
             second / f"{system}.json")  # fmt: skip
    Path("gate.yaml").write_text(
        "margin: 3\nrelative: 20%\ncritical:\n  CiteF1: {margin: 2}\nsupporting: [CiteP]\n"
        "counts: {missing: 1%, truncated: 3}\nrequired:\n"
        "  - {query: q01, measure: CiteR, at_least: 0}\n"
    )
    # Outside the folders of scores, one kind each: what a mutated file is beside.
    cite("labels", "export", "scores/random.json", "scores/top-1.json", "--task",
         "statement-support", "--out", "sheet.csv")  # fmt: skip
    with Path("sheet.csv").open(newline="", encoding="utf-8") as file:
        sheet: Rows = list(csv.DictReader(file))
    for number, row in enumerate(sheet):
        row["label"] = ("full", "not")[number % 2]
    table(Path("sheet.csv"), sheet)
    Path("studio.json").write_text(json.dumps([
        {"data": {"item": row["item"]}, "annotations": [
            {"completed_by": {"id": 1, "email": "a@b.c"},
             "result": [{"value": {"choices": [row["label"]]}}]}]}
        for row in sheet
    ]))  # fmt: skip
    cite("labels", "import", "sheet.csv", "--key", "sheet.csv.key.json", "--out", "labels.jsonl")
    lines = (EXAMPLES / "facts" / "queries.jsonl").read_text().splitlines()
    queries = [json.loads(line) for line in lines][:3]
    claims = [{"claim": "Io is a moon [1].", "support": s} for s in ("Complete", "N/A", None)]
    Path("expertqa.jsonl").write_text("".join(
        json.dumps({"question": q["text"], "system": "random", "answer": "", "claims": claims})
        + "\n" for q in queries
    ))  # fmt: skip
    sentence = {"sentence_recall_score": 1, "citations": [{"citation_precision_score": 2}]}
    Path("alce-human.json").write_text(json.dumps(
        {"asqa": {"random.json": {q["_id"]: {"sentences": [sentence]} for q in queries}}}, indent=1
    ))  # fmt: skip
    cite("labels", "export", "--task", "audit-negative", "--benchmark", "facts", "--sample", 3,
         "--out", "negatives.csv")  # fmt: skip
    with Path("negatives.csv").open(newline="", encoding="utf-8") as file:
        rows: Rows = list(csv.DictReader(file))
    for number, row in enumerate(rows):
        row["label"] = ("relevant", "not relevant")[number % 2]
    table(Path("negatives.csv"), rows)
    cite("labels", "import", "negatives.csv", "--key", "negatives.csv.key.json", "--out",
         "negatives.jsonl")  # fmt: skip
    shutil.copytree("facts", "audited")
    cite("audit", "audited", "--strong-judge", "lexical", "--labels", "negatives.jsonl")
    _corrected()


def _published() -> None:
    folder = Path("published", "theirs")
    folder.mkdir(parents=True)
    table(folder / "scores.csv", [{"run": "a", "score": 1}, {"run": "b", "score": 3}])
    content = (folder / "scores.csv").read_bytes()
    file = {"path": "scores.csv", "size": len(content), "sha256": sha256(content).hexdigest()}
    paper = {"title": "A paper", "venue": "Here", "url": "https://example.org/", "table": "1"}
    Path("published", "table.yaml").write_text(yaml.safe_dump({
        "name": "theirs", "title": "Two runs", "paper": paper, "files": {"scores": file},
        "repository": {"name": "them/theirs", "commit": "0" * 40, "licence": "MIT"},
        "reader": "rows", "columns": {"mean": {"value": "mean score"}},
        "rows": [{"name": "all", "files": "scores", "printed": {"mean": "2.0"}}],
    }))  # fmt: skip


def _corrected() -> None:
    """Scores corrected by labels of people, and a plan for more of them."""
    cite("build", "rage", "--source", "beir:beir", "--embedder", "offline", "--mixture",
         "mix=3,3,3", "--out", "wide")  # fmt: skip
    labels = EXAMPLES / "labels"
    shutil.copy(labels / "labels.jsonl", "own-labels.jsonl")
    cite("score", labels / "answers.jsonl", "--benchmark", "wide", "--measures", "ALCE.CitRec",
         "--judge", "lexical", "--labels", labels / "labels.jsonl",
         "--out", "corrected/one.json")  # fmt: skip
    cite("labels", "plan", "corrected/one.json", "--half-width", 15, "--out", "plan.json")


def _stores() -> None:
    shutil.copy(EXAMPLES / "twins" / "replay.jsonl", "replay.jsonl")
    model = "hand-written"
    from citeforge.engines.llm.records import LlmReply
    from citeforge.engines.llm.replay import encode_answer
    from citeforge.schemas.recipes.command_options import PromptingOptions
    from citeforge.systems.prompt_files import make_requests, read_prompts

    asked = make_requests(read_prompts(Path("prompts.jsonl")), PromptingOptions(llm="openai:m"))
    jsonl(Path("answers-export.jsonl"), [
        {"key": r.key(model), "payload": r.payload(model), "sample": r.sample, "created": 0.0,
         "answer": json.loads(encode_answer(LlmReply("Io [1].", model=model)))} for r in asked
    ])  # fmt: skip
    cite("llm", "import", "answers.db", "answers-export.jsonl")
    pairs = [{"premise": f"Io is moon {n}.", "hypothesis": "Io is a moon."} for n in range(5)]
    jsonl(Path("pairs.jsonl"), pairs)
    cite("labels", "judge", "pairs.jsonl", "--judge", "lexical", "--verdicts", "verdicts.db", "--out",
         "table.jsonl")  # fmt: skip
