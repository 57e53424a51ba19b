"""Community Evals: leaderboards of a published benchmark, values in a model's pull request."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from huggingface_hub import parse_eval_result_entries
from huggingface_hub.errors import LocalEntryNotFoundError

import citeforge as cf
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.benchmark import Benchmark
from citeforge.package.kinds import KINDS
from citeforge.package.manifest import load_manifest
from citeforge.plugins.leaderboard.results import (
    PullRequest,
    Results,
    ResultsOptions,
    make_results,
    open_pull_request,
    read_target,
    read_tasks,
)
from citeforge.publishing.card import render_evals, task_id
from citeforge.publishing.hub import Publisher
from citeforge.schemas.scores import About, ScoreFile
from conftest import Inline, refused, write_jsonl
from scoring import score
from servers.hub import MODELS, Hub, Repo, blob_id, hub_server

REPO, MODEL = "org/facts", "some/model"
PATH = ".eval_results/facts_mix.yaml"


@pytest.fixture(scope="module", autouse=True)
def online() -> Iterator[None]:
    import huggingface_hub.constants as constants

    patch = pytest.MonkeyPatch()
    patch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    patch.setattr(constants, "HF_HUB_OFFLINE", False)
    yield
    patch.undo()


def with_files(hub: Hub, files: dict[str, bytes]) -> Repo:
    repo = Repo()
    hub.blobs |= {blob_id(content): content for content in files.values()}
    result = {n: {"oid": blob_id(c), "size": len(c)} for n, c in files.items()}
    repo.commit("main", result, "initial commit")
    return repo


@pytest.fixture
def hub(package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Hub]:
    """A Hub with the benchmark and a model of somebody's."""
    import huggingface_hub.constants as constants

    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    evals = render_evals(load_manifest(package))
    assert evals is not None
    with hub_server() as hub:
        files = {"manifest.json": (package / "manifest.json").read_bytes(),
                 "eval.yaml": evals.encode()}  # fmt: skip
        hub.repos[REPO] = with_files(hub, files)
        hub.repos[MODELS + MODEL] = with_files(hub, {"README.md": b"# A model\n"})
        yield hub


def scored(package: Path, tmp_path: Path, output: str = "So [1]. And [2].") -> ScoreFile:
    benchmark = Benchmark(package)
    header = {"submission": {"system": "s", "benchmark_hash": benchmark.hash}}
    lines = [{"query_id": q, "output": output} for q in benchmark.query_ids[1:]]
    path = write_jsonl(tmp_path / "s.jsonl", [header, *lines])
    return score(path, benchmark, select(["rage"]))


def options(**more: Any) -> ResultsOptions:
    return ResultsOptions(repo_id=REPO, model=MODEL, **more)


def publisher(hub: Hub) -> Publisher:
    return Publisher(hub.url, hub.token)


def content(hub: Hub, revision: str) -> str:
    repo = hub.repos[MODELS + MODEL]
    file = repo.commits[repo.branches[revision]]["files"][PATH]
    return hub.blobs[file["oid"]].decode()


def test_eval_yaml_names_a_leaderboard_a_context_and_headline_measure(
    package: Path, tmp_path: Path
) -> None:
    text = render_evals(load_manifest(package))
    assert text is not None
    result = yaml.safe_load(text)
    assert set(result) == {"name", "description", "evaluation_framework", "tasks"}
    assert result["name"] == "facts"
    headline = ("CiteF1-query", "CiteP", "CiteR")
    assert result["tasks"] == [
        {"id": f"mix_{m}", "config": "contexts", "split": "mix"} for m in headline
    ]
    (tmp_path / "eval.yaml").write_text(text)
    assert read_tasks(tmp_path / "eval.yaml") == {t["id"] for t in result["tasks"]}
    for kind in KINDS.all().values():
        assert bool(kind.facts.headline) != kind.facts.is_design
        assert all(m.scale == 100 for m in select(kind.facts.headline))
    hostile = load_manifest(package).model_copy(update={"name": "x: [y]\n- é '\""})
    assert yaml.safe_load(render_evals(hostile) or "")["name"] == hostile.name
    assert task_id("a b/../c", "CiteF1@query") == "a-b-..-c_CiteF1-query"


# Fifty lines; the text of the last one's id would have 2^50 letters.
BOMB = "tasks:\n- {id: x, x: &a0 [x, x]}\n" + "".join(
    f"- {{id: x, x: &a{n + 1} [*a{n}, *a{n}]}}\n" for n in range(50)
) + "- id: *a50\n"  # fmt: skip
TWICE = "tasks:\n- id: x\ntasks:\n- id: y"


@pytest.mark.parametrize(
    "text",
    ["", "tasks: 3", "tasks: [a]", "{", "tasks:\n- idd: x", "\x00", "[" * 9999, BOMB, TWICE],
)
def test_a_file_that_is_no_eval_yaml(tmp_path: Path, text: str) -> None:
    (tmp_path / "eval.yaml").write_text(text)
    with refused("schema-mismatch", path=tmp_path / "eval.yaml"):
        read_tasks(tmp_path / "eval.yaml")


def test_a_pull_request_is_opened_once(hub: Hub, package: Path, tmp_path: Path) -> None:
    hub.role = "read"  # whoever has a token may propose
    file = scored(package, tmp_path)
    file.about = About(date="2026-05-01")
    asked = options()
    target = read_target(asked, publisher(hub))
    assert target.commit == hub.repos[REPO].branches["main"]
    results = make_results([(Path("s.json"), file)], target, asked)
    assert (list(results.files), results.n_values) == ([PATH], 3)
    assert {line.split(": ")[1] for line in results.left_out} >= {"Distinct", "Reward"}
    url = f"{hub.url}/{MODEL}/discussions/1"
    assert open_pull_request(results, asked, publisher(hub)) == PullRequest("opened", url)
    assert open_pull_request(results, asked, publisher(hub)) == PullRequest("there", url)
    repo = hub.repos[MODELS + MODEL]
    assert len(repo.pulls) == 1
    assert repo.history("main") == ["initial commit"]
    assert repo.history("refs/pr/1")[0] == "Evaluation results on org/facts"
    # Their parser reads what was sent as it was meant.
    entries = parse_eval_result_entries(yaml.safe_load(content(hub, "refs/pr/1")))
    by_name = {m.name: m for m in file.measures}
    assert [(e.task_id, e.value) for e in entries] == [
        (task_id("mix", m), by_name[m].value) for m in ("CiteP", "CiteR", "CiteF1@query")
    ]
    first = entries[0]
    assert (first.dataset_id, first.dataset_revision) == (REPO, target.commit)
    assert first.date == "2026-05-01"
    assert first.notes is not None
    assert first.notes.startswith(by_name["CiteP"].signature)
    assert "30 queries; 1 answer missing, with the worst value each" in first.notes


def test_other_scores_bring_it_up_to_date(hub: Hub, package: Path, tmp_path: Path) -> None:
    target = read_target(options(), publisher(hub))
    for output, state in (("So [1].", "opened"), ("So [2].", "updated"), ("So [2].", "there")):
        file = scored(package, tmp_path, output)
        results = make_results([(Path("s.json"), file)], target, options())
        assert open_pull_request(results, options(), publisher(hub)).state == state
        assert content(hub, "refs/pr/1") == results.files[PATH]
    repo = hub.repos[MODELS + MODEL]
    assert len(repo.pulls) == 1
    repo.branches["main"] = repo.branches["refs/pr/1"]
    repo.pulls[0]["status"] = "merged"
    assert open_pull_request(results, options(), publisher(hub)) == PullRequest("merged", "")


def test_what_does_not_belong_there_is_refused(hub: Hub, package: Path, tmp_path: Path) -> None:
    target = read_target(options(), publisher(hub))
    file = scored(package, tmp_path)

    part = file.measures[0].model_copy(update={"signature": "CiteP|p:strict|asked:2"})
    changes: tuple[tuple[dict[str, Any], str], ...] = (
        ({"benchmark_hash": "0" * 64}, "wrong-benchmark"),
        ({"protocol": "reference"}, "not-comparable"),
        ({"measures": [part]}, "not-comparable"),
        ({"context": "other"}, "no-scores"),
    )
    for change, code in changes:
        with refused(code, path="s.json"):
            make_results([(Path("s.json"), file.model_copy(update=change))], target, options())
    with refused("duplicate-id"):
        make_results([(Path("a.json"), file), (Path("b.json"), file)], target, options())
    manifest = (package / "manifest.json").read_bytes()
    hub.repos["org/bare"] = with_files(hub, {"manifest.json": manifest})
    with refused("missing-file", path="org/bare@main"):
        read_target(ResultsOptions(repo_id="org/bare", model=MODEL), publisher(hub))
    for name in ("model", "some/mo del", "../x", "a/b/c"):
        with pytest.raises(ValueError, match="expected ORG/NAME"):
            ResultsOptions(repo_id=REPO, model=name)


def test_a_score_file_that_was_changed_is_refused(hub: Hub, package: Path, tmp_path: Path) -> None:
    target = read_target(options(), publisher(hub))
    file = scored(package, tmp_path)

    def changed(**change: Any) -> ScoreFile:
        measures = [m.model_copy(update=change) for m in file.measures]
        return file.model_copy(update={"measures": measures})

    for change, message in (
        ({"value": 99.0}, "99.0 is not the mean of its values"),
        ({"value": 1e300}, "is not from 0 to 100"),
        ({"value": -5.0}, "-5.0 is not from 0 to 100"),
        ({"per_query": []}, "is of no query"),
    ):
        with refused("wrong-value", path="s.json") as caught:
            make_results([(Path("s.json"), changed(**change))], target, options())
        assert message in str(caught.value)
    other = file.model_copy(update={"system": "t", "context": "other"})
    with refused("not-comparable"):
        make_results([(Path("a.json"), file), (Path("b.json"), other)], target, options())
    # A benchmark without labels names the hash of the whole.
    config = {"hidden_gold": True, "joined_hash": "0" * 64}
    hidden = target.manifest.model_copy(update={"config": config})
    with refused("wrong-benchmark", field="benchmark_hash") as caught:
        make_results([(Path("s.json"), file)], replace(target, manifest=hidden), options())
    assert "the published benchmark is facts@00000000" in str(caught.value)


def test_a_hub_that_does_not_answer_has_all_files(
    hub: Hub, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut_off(*_: object, **__: object) -> str:
        raise LocalEntryNotFoundError("no connection")

    mine = publisher(hub)
    monkeypatch.setattr(mine.api, "hf_hub_download", cut_off)
    with refused("hub-failed", path=REPO):
        read_target(options(), mine)


@pytest.mark.parametrize("name", ["a/b..c", "a/b--c", "a/b.git", "a/" + "x" * 120, "a./b"])
def test_names_that_the_hub_has_not_are_the_users_mistake(hub: Hub, name: str) -> None:
    asked = ResultsOptions(repo_id=name, model=MODEL)
    with refused("bad-name"):
        read_target(asked, publisher(hub))
    with refused("bad-name"):
        open_pull_request(Results({PATH: ""}, 0, []), options().model_copy(update={"model": name}),
             publisher(hub))  # fmt: skip


def test_what_a_pull_request_replaces_is_said(hub: Hub, package: Path, tmp_path: Path) -> None:
    files = {"README.md": b"# A model\n", PATH: b"- value: 1\n"}
    hub.repos[MODELS + MODEL] = with_files(hub, files)
    target = read_target(options(), publisher(hub))
    results = make_results([(Path("s.json"), scored(package, tmp_path))], target, options())
    for state in ("opened", "there"):
        sent = open_pull_request(results, options(), publisher(hub))
        assert (sent.state, sent.replaced) == (state, (PATH,))


def test_the_command(
    hub: Hub, package: Path, tmp_path: Path, inline: Inline, monkeypatch: pytest.MonkeyPatch
) -> None:
    where = "citeforge.plugins.leaderboard.results.Publisher"
    monkeypatch.setattr(where, lambda: publisher(hub))
    (tmp_path / "s.json").write_text(scored(package, tmp_path).model_dump_json())
    words = ("publish", "results", "s.json", "--repo-id", REPO)
    shown = inline.ok(*words, "--model", MODEL, "--dry-run", "--out", "files")
    text = (tmp_path / "files" / PATH).read_text()
    assert shown.stdout.strip() == f"# {PATH}\n{text}".strip()
    assert hub.repos[MODELS + MODEL].pulls == []
    done = inline.ok(*words, "--model", MODEL)
    assert f"3 values on {REPO}; pull request opened: {hub.url}/{MODEL}" in done.stdout
    assert content(hub, "refs/pr/1") == text
    absent = inline.fails(1, "hub-refused", *words, "--model", "some/none")
    assert isinstance(absent.error, cf.InputError) and absent.error.path == "some/none"
