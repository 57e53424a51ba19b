"""Every verb works for every kind of benchmark, or its declaration says why not."""

from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.prompts import load_template, render_prompts
from citeforge.builders.verify import verify
from citeforge.evaluator.measures.registry import select
from citeforge.evaluator.submissions.formats import read_answers
from citeforge.evaluator.withhold import withhold_scores
from citeforge.package.package import Package
from citeforge.plugins.audit.run import find_flaws
from citeforge.plugins.labels.sheets import TASKS, benchmark_items
from citeforge.plugins.leaderboard.build import build_site
from citeforge.plugins.responses.task_scoring import Scoring, Settings
from citeforge.publishing.export import EXPORTS, export, write_export
from citeforge.publishing.hidden import join_package, split_package
from citeforge.reports.pages.query_pages import query_pages
from citeforge.schemas.manifest import SECRET
from citeforge.schemas.recipes.base import Part
from citeforge.schemas.tables import UNSURE
from citeforge.systems.registry import get_system
from citeforge.systems.run import run_system
from conftest import refused
from conftest_builders import load_with_datasets
from scoring import score
from stand_ins import RuleLlm

KINDS = ("rage", "twins", "authorship", "kalma")


@pytest.fixture(scope="module")
def benchmarks(
    package: Path, twins_package: Path, authorship_package: Path, kalma_package: Path
) -> dict[str, Path]:
    """One benchmark a family; those of answers are declared like RAGE's."""
    packages = (package, twins_package, authorship_package, kalma_package)
    return dict(zip(KINDS, packages, strict=True))


@pytest.mark.parametrize("kind", KINDS)
def test_every_verb_or_a_reason(
    benchmarks: dict[str, Path], hidden_package: Path, tmp_path: Path, kind: str
) -> None:
    folder = benchmarks[kind]
    package = Package(folder)
    assert package.kind.name == kind
    assert verify(folder) == []
    context = package.contexts[0]
    item = next(iter(package.items()))
    assert item.passages or item.graphs
    prompts = list(render_prompts(package, context, load_template(package.kind.facts.template)))
    assert [query for query, _ in prompts] == package.query_ids
    assert [page.id for page in query_pages(package)] == package.query_ids
    result, seen = find_flaws(package, cf.AuditOptions(), cf.RunOptions())
    assert result.benchmark_hash == package.hash
    assert bool(seen.lengths) == bool(result.negatives) == bool(package.corpus)
    _exports(folder, package, tmp_path)
    if kind == "rage":
        _hides(hidden_package, Package(hidden_package), tmp_path)
    else:
        _hides(folder, package, tmp_path)
    _runs(folder, package, tmp_path)
    for task in TASKS.values():
        if task.of_benchmark and task.name not in package.kind.facts.annotation:
            with refused("wrong-kind"):
                benchmark_items(task, folder, 1, 0)
    for name in package.kind.facts.annotation:
        task = TASKS[name]
        if task.unit == UNSURE and UNSURE not in package.splits["mapping"]:
            with refused("too-few"):
                list(benchmark_items(task, folder, 1, 0))
            continue
        assert list(benchmark_items(task, folder, 1, 0))


def _exports(folder: Path, package: Package, tmp_path: Path) -> None:
    for declared in EXPORTS.all().values():
        name, out = declared.name, tmp_path / declared.name
        if declared.of == "scores":
            continue
        if declared.of in ("benchmarks", package.kind.facts.shows):
            assert export(name, folder, out, **_options(name, folder, package, tmp_path))
            assert any(p.stat().st_size for p in out.rglob("*") if p.is_file())
        else:
            with refused("wrong-kind"):
                write_export(declared, folder, out, Part())
            assert not out.exists()


def _options(name: str, folder: Path, package: Package, tmp_path: Path) -> dict[str, Any]:
    if name == "sft":
        answers = _answers(folder, tmp_path)
        return {"submission": answers, "context": package.contexts[0], "min_f1": 1}
    if name.startswith("trec-"):
        answers = _answers(folder, tmp_path)
        context = package.contexts[0]
        return {"submission": answers, "context": context, "team": "t", "run_desc": "a run"}
    return {"context": "all"} if name in ("inspect", "lighteval") else {}


def _answers(folder: Path, tmp_path: Path) -> Path:
    answers = tmp_path / "right.jsonl"
    if not answers.exists():
        run_system(get_system("echo-relevant"), cf.load(folder), [], 1, 0, answers)
    return answers


@pytest.mark.slow
@pytest.mark.parametrize("kind", [*KINDS, "hidden", "hagrid", "alce"])
def test_datasets_loads_every_config(
    kind: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    folder = request.getfixturevalue("package" if kind == "rage" else f"{kind}_package")
    loaded = load_with_datasets(folder, tmp_path)
    tables = Package(folder)
    assert loaded == {
        config: {split: tables.table(config, split).num_rows for split in splits}
        for config, splits in tables.splits.items()
    }


@pytest.mark.parametrize("kind", KINDS)
def test_single_answers_score_as_among_all(
    benchmarks: dict[str, Path], tmp_path: Path, kind: str
) -> None:
    """What inspect's scorer gives for a sample, and over all, in every kind."""
    folder, out = benchmarks[kind], tmp_path / "s.jsonl"
    benchmark, scoring = cf.load(folder), Scoring(Settings(str(folder)))
    context = None if benchmark.kind.facts.is_design else benchmark.contexts[0]
    run_system(get_system("random"), benchmark, [context] if context else [], 1, 0, out)
    answers = [answer for _, answer in read_answers(out)]
    ours = score(out, benchmark, select(benchmark.kind.facts.default_measures), context=context)
    (whole,) = scoring.score_all(answers)
    assert [(m.name, m.value, m.stderr) for m in whole.measures] == [
        (m.name, m.value, m.stderr) for m in ours.measures
    ]
    if context is None:  # of one cell: what the answer cites
        context = benchmark.contexts[0]
        ours = score(out, benchmark, select(["rage"]), context=context)
    for row, query in list(enumerate(ours.query_ids))[:4]:
        (mine,) = (a for a in answers if (a.query_id, a.context) == (query, context))
        result, _ = scoring.score_one(mine)
        assert result == {m.name: m.per_query[row] for m in ours.measures}


def _hides(folder: Path, package: Package, tmp_path: Path) -> None:
    public, gold = tmp_path / "public", tmp_path / "gold"
    if reason := package.kind.facts.explain_refusal("hide-gold"):
        with refused("wrong-kind") as caught:
            split_package(folder, public, gold)
        assert reason in str(caught.value)
        return
    if SECRET not in package.manifest.files:
        with refused("hidden-gold"):
            split_package(folder, public, gold)
        return
    split_package(folder, public, gold)
    assert verify(public) == []
    tables = {p.parent.name for p in public.rglob("*.parquet")}
    assert tables == {*package.kind.facts.public, *package.kind.facts.blinded}
    half = Package(public)
    items = [i for name in half.contexts for i in half.items(name)]
    assert {p.label for i in items for p in i.passages} <= {"unjudged"}
    assert not any(i.knowledge or i.gold for i in items)
    template = load_template(package.kind.facts.template)
    for name in half.contexts:
        assert list(render_prompts(half, name, template)) == list(
            render_prompts(package, name, template)
        )
    assert [page.id for page in query_pages(half)] == package.query_ids
    join_package(public, gold, tmp_path / "joined")
    before = {p.relative_to(folder): p.read_bytes() for p in folder.rglob("*") if p.is_file()}
    joined = tmp_path / "joined"
    assert before == {p.relative_to(joined): p.read_bytes() for p in joined.rglob("*.*")}
    _scores_alike(folder, public, gold, tmp_path)


def _scores_alike(folder: Path, public: Path, gold: Path, tmp_path: Path) -> None:
    """Answers to the public half score with the gold half what the whole package gives, to the
    last digit; a site of these scores shows no label."""
    seen, again = tmp_path / "seen.jsonl", tmp_path / "again.jsonl"
    run_system(get_system("random"), cf.load(public), [], 1, 0, seen)
    hashes = (Package(public).hash, Package(folder).hash)
    again.write_text(seen.read_text().replace(*hashes))
    options = cf.ScoreOptions(judge="lexical", details=True)
    (result,) = cf.score_files([seen], public, options, gold=gold).scores
    (wanted,) = cf.score_files([again], folder, options).scores
    same = {"submission", "submission_sha256", "gold"}
    assert result.file.model_dump(exclude=same) == wanted.file.model_dump(exclude=same)
    assert any(m.value is not None for m in result.file.measures)
    build_site(public, [withhold_scores(result.file)], tmp_path / "site", gold=gold)
    for path in (p for p in (tmp_path / "site").rglob("*") if p.is_file()):
        text = path.read_text()
        assert '"relevant"' not in text, path
        assert 'class="tag">relevant' not in text, path
        assert '"minimum knowledge"' not in text, path
        assert 'class="gold"' not in text, path


def _runs(folder: Path, package: Package, tmp_path: Path) -> None:
    out = tmp_path / "s.jsonl"
    with refused("wrong-kind" if package.kind.facts.explain_refusal("run gold") else "no-answers"):
        run_system(get_system("gold"), cf.load(folder), [], 1, 0, out)
    ran = run_system(get_system("random"), cf.load(folder), [], 1, 0, out)
    assert ran.answers == len(package) * len(package.contexts)
    biased = not package.kind.facts.explain_refusal("run label-follower")
    assert biased == package.kind.facts.is_design


def test_authorship_is_asked_in_every_cell_with_its_labels(
    benchmarks: dict[str, Path], tmp_path: Path
) -> None:
    """A model that cites whatever it is shown first answers each query of each cell once."""
    benchmark, out = cf.load(benchmarks["authorship"]), tmp_path / "s.jsonl"
    model = RuleLlm(lambda request: "It is so [1].")
    ran = run_system(get_system("authorship"), benchmark, [], 1, 0, out, llm=model)
    assert ran.answers == len(benchmark) * len(benchmark.contexts)
    for context in benchmark.contexts:
        wanted = set(dict(render_prompts(benchmark, context, load_template("authorship"))).values())
        assert wanted <= {request.messages[-1][1] for request in model.asked}
    result = cf.check(out, benchmark)
    assert (result.errors, [w.code for w in result.warnings]) == ([], ["same-answers"])
    scored = score(out, benchmark, select(benchmark.kind.facts.default_measures))
    assert scored.counts.n_missing == 0
    # Which passages are relevant it does not look at, and labels neither.
    assert scored.design is not None
    with refused("wrong-kind"):
        run_system(get_system("authorship"), cf.load(benchmarks["rage"]), [], 1, 0, out, llm=model)
