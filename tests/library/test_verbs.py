"""What the command line does, Python does by one call: the same files, byte for byte."""

import json
import os
import shutil
from pathlib import Path

import pytest
from pydantic import ValidationError

import citeforge as cf
from citeforge.engines.llm.records import LlmReply
from citeforge.engines.llm.replay import ReplayStore, SentRequest, export_store, import_store
from citeforge.evaluator.targets import score_targets
from citeforge.kg.graph import open_graph
from citeforge.kg.link import Linker
from citeforge.kg.links import link_questions, read_questions
from citeforge.plugins.labels.judging import judge_pairs
from citeforge.plugins.labels.options import AnnotationOptions
from citeforge.plugins.labels.returned import import_sheets
from citeforge.plugins.labels.sheets import export_sheet
from citeforge.schemas.recipes.base import Judging
from citeforge.schemas.recipes.command_options import PromptingOptions
from citeforge.systems.prompt_files import answer_prompts, make_requests, plan_prompts, read_prompts
from conftest import ROOT, Inline, refused, write_jsonl


@pytest.fixture
def submission(inline: Inline, package: Path, tmp_path: Path) -> Path:
    inline.ok("run", "random", "--benchmark", package, "--out", "s.jsonl")
    return tmp_path / "s.jsonl"


def test_score_files(inline: Inline, package: Path, submission: Path, tmp_path: Path) -> None:
    args = ("--measures", "rage,ALCE.CitRec", "--judge", "lexical", "--segmenter", "punkt")
    inline.ok("score", submission, "--benchmark", package, *args, "--out", "c.json")
    options = cf.ScoreOptions(measures=("rage", "ALCE.CitRec"), judge="lexical", segmenter="punkt")
    done = cf.score_files([submission], package, options, out=tmp_path / "p.json")
    assert (tmp_path / "p.json").read_bytes() == (tmp_path / "c.json").read_bytes()
    assert done.judge is not None
    assert done.judge.n_failed == 0
    assert [s.system for s in done.scores] == ["random"]


def test_several_files_and_the_best_of_them(
    package: Path, submission: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.jsonl"
    shutil.copy(submission, other)
    options = cf.ScoreOptions(measures=("retrieval",), max_row=True)
    done = cf.score_files([submission, other], package, options, out=tmp_path / "out")
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "other.scores.json", "s.scores.json",
    ]  # fmt: skip
    assert [s.system for s in done.scores] == ["random", "random", "MAX of 2"]


def test_systems_are_named(inline: Inline, package: Path, tmp_path: Path) -> None:
    rows = [{"query_id": "q01", "output": "One [1]."}]
    for name in ("a.b.jsonl", "two.json.gz", "three.ndjson"):
        write_jsonl(tmp_path / name, rows)
    paths = [tmp_path / name for name in ("a.b.jsonl", "two.json.gz", "three.ndjson")]
    done = cf.score_files(paths, package, out=tmp_path / "out")
    assert [s.system for s in done.scores] == ["a.b", "two", "three"]
    assert cf.score(paths[0], package, system="mine").system == "mine"
    args = ("--benchmark", package, "--name", "x y", "--name", "z")
    made = inline.ok("score", *paths[:2], *args, "--out", "named")
    assert made.stdout.split("\n")[0].split() == ["x", "y", "z"]
    # What was written under a name is written again under it, also when the answers changed.
    write_jsonl(paths[0], [{"query_id": "q02", "output": "Two [2]."}])
    inline.ok("score", *paths[:2], *args, "--out", "named")
    for names in (["one"], ["one", "one"], ["", "one"]):
        with refused("bad-option", cf.UsageError):
            cf.score_files(paths[:2], package, names=names)


def test_a_table_without_any_score_is_refused(
    inline: Inline, package: Path, tmp_path: Path
) -> None:
    write_jsonl(tmp_path / "s.jsonl", [{"query_id": "q01", "output": "One [1]."}])
    args = ("score", "s.jsonl", "--benchmark", package, "--out", "s.scores.json")
    done = inline(*args, "--measures", "ALCE.CitRec,ShortEM")
    assert (done.returncode, done.code, done.stdout) == (2, "not-computed", "")
    assert "ALCE.CitRec: needs a judge" in done.stderr
    assert "ShortEM: needs short answers" in done.stderr
    assert not (tmp_path / "s.scores.json").exists()
    done = inline.ok(*args, "--measures", "ALCE.CitRec,CiteP")
    assert "not computed: ALCE.CitRec" in done.stdout


def test_impossible_options_of_scores(package: Path, submission: Path) -> None:
    with pytest.raises(ValidationError, match="strict looks at every citation"):
        cf.ScoreOptions(at_most_citations=2)
    with pytest.raises(ValidationError, match="roberta-large#17"):
        cf.ScoreOptions(bertscore_model="x#y")
    assert cf.ScoreOptions(bertscore_model="x#3").bertscore == ("x", 3)
    with refused("unknown-name", value="nonsense"):
        cf.score_files([submission], "nowhere", cf.ScoreOptions(measures=("nonsense",)))
    with refused("bad-option", cf.UsageError):
        cf.score(submission, package, protocol="other")  # type: ignore[arg-type]


def test_a_pipe_or_device_is_refused_before_anything_is_scored(tmp_path: Path) -> None:
    submission = tmp_path / "a.jsonl"
    os.mkfifo(tmp_path / "pipe")
    os.mkfifo(tmp_path / "pipe.json")
    (tmp_path / "link.json").symlink_to("pipe")
    for name in ("pipe", "pipe.json", "link.json", "/dev/null"):
        with refused("not-a-file", path=tmp_path / name):
            score_targets(tmp_path / name, [submission])


def test_where_scores_go(tmp_path: Path) -> None:
    a, b = tmp_path / "a.jsonl", tmp_path / "b.v2.jsonl.gz"
    out = tmp_path / "out"
    assert score_targets(None, [a]) == {}
    assert score_targets(out / "x.json", [a]) == {a: out / "x.json"}
    assert score_targets(out, [a, b]) == {a: out / "a.scores.json", b: out / "b.v2.scores.json"}
    assert score_targets(out, [a]) == {a: out / "a.scores.json"}  # a folder, as it has no ending
    with refused("conflicting-options", cf.UsageError):
        score_targets(out, [a, tmp_path / "a.json"])
    with refused("conflicting-options", cf.UsageError):
        score_targets(a, [a])


def test_audit(inline: Inline, package: Path, tmp_path: Path) -> None:
    for name in ("c", "p"):
        shutil.copytree(package, tmp_path / name)
    inline.ok("audit", "c", "--judge", "lexical", "--known-flaws", "c.jsonl", "--accept")
    known = tmp_path / "p.jsonl"
    options = cf.AuditOptions(judge="lexical", known_flaws=known, accept=True)
    done = cf.audit(tmp_path / "p", options)
    assert (tmp_path / "p/audit.json").read_bytes() == (tmp_path / "c/audit.json").read_bytes()
    assert known.read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert done.accepted == sum(map(len, done.result.flaws.values()))
    gone = json.dumps({"kind": "empty-passage", "passage": "none"}) + "\n"
    known.write_text(known.read_text() + gone)
    done = cf.audit(
        tmp_path / "p", cf.AuditOptions(judge="lexical", known_flaws=known, strict=True)
    )
    assert (done.new, done.stale) == ([], [("empty-passage", "", "none")])
    with pytest.raises(ValidationError, match="need --known-flaws"):
        cf.AuditOptions(strict=True)


def test_judge(inline: Inline, tmp_path: Path) -> None:
    rows: list[dict[str, object]] = [
        {"premise": "Io is a moon.", "hypothesis": h} for h in ("Io is a moon.", "Rome is old.")
    ]
    pairs = write_jsonl(tmp_path / "pairs.jsonl", [*rows, rows[0]])
    inline.ok("labels", "judge", pairs, "--judge", "lexical", "--out", "c.jsonl")
    judging = Judging(judge="lexical")
    done = judge_pairs(pairs, judging, cf.RunOptions(), tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert (done.pairs, done.entailed, done.session.n_asked) == (3, 2, 2)
    with refused("missing-judge", cf.UsageError):
        judge_pairs(pairs, Judging(), cf.RunOptions(), tmp_path / "x.jsonl")


def test_llm(inline: Inline, package: Path, tmp_path: Path) -> None:
    inline.ok("export", "prompts", package, "--out", "p.jsonl")
    prompts = tmp_path / "p.jsonl"
    requests = make_requests(read_prompts(prompts), PromptingOptions(llm="openai:m"))
    with ReplayStore(tmp_path / "a.db") as store:
        for n, request in enumerate(requests):
            cut = "length" if n == 0 else None
            answer = LlmReply("So [1]." if n else "", finish_reason=cut)
            store.keep(SentRequest(request.key("m"), request.payload("m"), 0), answer)
    made = inline.ok("llm", "run", "p.jsonl", "--llm", "replay:a.db", "--out", "c.jsonl")
    options = PromptingOptions(llm=f"replay:{tmp_path / 'a.db'}")
    out = tmp_path / "again.jsonl"
    done = answer_prompts(prompts, options, cf.RunOptions(out=out))
    assert out.read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert (done.answers, *done.counts.values()) == (len(requests), 1, 1)
    assert "(1 cut at --max-answer 512, 1 empty)" in made.stdout
    with refused("option-without-effect", cf.UsageError):
        plan_prompts(prompts, options, cf.RunOptions(out=out))
    assert export_store(tmp_path / "a.db", tmp_path / "a.jsonl") == len(requests)
    assert import_store(tmp_path / "b.db", tmp_path / "a.jsonl") == (len(requests), 0)
    assert import_store(tmp_path / "b.db", tmp_path / "a.jsonl") == (0, len(requests))


def test_a_plan_leaves_no_store(
    inline: Inline, package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    inline.ok("export", "prompts", package, "--out", "p.jsonl")
    options = PromptingOptions(llm="openai:m", runs=2)
    plan = plan_prompts(tmp_path / "p.jsonl", options, cf.RunOptions(out=tmp_path / "s.jsonl"))
    n_prompts = len((tmp_path / "p.jsonl").read_text().splitlines())
    assert (plan.requests, plan.stored) == (2 * n_prompts, 0)
    assert [p.name for p in tmp_path.iterdir()] == ["p.jsonl"]


def test_annotate(inline: Inline, package: Path, submission: Path, tmp_path: Path) -> None:
    args = ("--benchmark", package, "--details", "--out", "s.json")
    inline.ok("score", submission, *args)
    command = ("labels", "export", "s.json", "--task", "utility", "--sample", 3, "--seed", 7)
    inline.ok(*command, "--out", "c.csv")
    options = AnnotationOptions(task="utility", out=tmp_path / "p.csv", sample=3, seed=7)
    sheet = export_sheet(options, [tmp_path / "s.json"])
    assert (sheet.task.name, sheet.n_items, sheet.n_uncited) == ("utility", 3, 0)
    for ending in ("csv", "csv.key.json"):
        assert (tmp_path / f"p.{ending}").read_bytes() == (tmp_path / f"c.{ending}").read_bytes()
    head, *rows = (tmp_path / "p.csv").read_text().splitlines()
    (tmp_path / "ann.csv").write_text("\n".join([head, *(f"{row}4" for row in rows)]) + "\n")
    key = tmp_path / "p.csv.key.json"
    done = import_sheets([tmp_path / "ann.csv"], key, out=tmp_path / "l.jsonl")
    assert (done.items, done.agreement.annotators) == (3, 1)
    assert {json.loads(r)["label"] for r in done.out.read_text().splitlines()} == {"4"}
    with refused("missing-option", cf.UsageError):
        import_sheets([tmp_path / "ann.csv"], key)


def test_link_questions(inline: Inline, tmp_path: Path) -> None:
    graph = f"file:{ROOT / 'examples/people/graph.ttl'}"
    rows: list[dict[str, object]] = [{"_id": "a", "text": "Who was Ada Lovelace?"}]
    path = write_jsonl(tmp_path / "q.jsonl", rows)
    inline.ok("kg", "link", "--kg", graph, "--questions", path, "--out", "c.jsonl")
    linker = Linker(open_graph(graph, "people", ["en"], cf.RunOptions()))
    links, quality = link_questions(read_questions(path), linker, tmp_path / "p.jsonl")
    assert (tmp_path / "p.jsonl").read_bytes() == (tmp_path / "c.jsonl").read_bytes()
    assert [link.name for mine in links for link in mine] == ["Ada Lovelace"]
    assert quality is None
    with refused("missing-file", path=tmp_path / "no-such.jsonl"):
        read_questions(tmp_path / "no-such.jsonl")
