"""A package is made again from its manifest alone; a recipe file and Python build the same."""

import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import citeforge as cf
from citeforge.builders.recipes.changes import recipe_of
from citeforge.builders.recipes.files import read_recipe
from citeforge.cli.main import main
from citeforge.engines.io.files import digest
from citeforge.package.manifest import load_intact, pretty_json
from conftest import EXAMPLES

SOURCE = f"beir:{EXAMPLES / 'facts'}"


@dataclass
class Said:
    """How a command ended."""

    returncode: int
    stdout: str
    stderr: str


Cli = Callable[..., Said]


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Cli:
    """Runs commands in this process, in ``tmp_path``."""
    monkeypatch.chdir(tmp_path)

    def run(*words: str) -> Said:
        capsys.readouterr()
        code = 0
        try:
            main(list(words))
        except SystemExit as stop:
            code = int(stop.code or 0)
        return Said(code, *capsys.readouterr())

    return run


@pytest.fixture
def facts(tmp_path: Path) -> Path:
    recipe = cf.RageRecipe(
        source=SOURCE, embedder="offline", limit=8, seed=3, mixtures=("a=1,1,2",),
        mining={"irrelevant": 3, "seemingly_relevant": 4},
    )  # fmt: skip
    cf.build(recipe, tmp_path / "facts")
    return tmp_path / "facts"


def test_a_package_of_each_kind_is_made_again(cli: Cli, tmp_path: Path, facts: Path) -> None:
    graph = EXAMPLES / "people" / "graph.ttl"
    shutil.copyfile(graph, tmp_path / "graph.ttl")
    answers = EXAMPLES / "answers"
    for words in (
        ("hagrid", "--source", f"hagrid:{answers / 'hagrid.jsonl'}", "--out", "hagrid"),
        ("alce", "--source", f"alce:{answers / 'asqa.json'}", "--k", "2", "--out", "alce"),
        ("authorship", "--benchmark", "facts", "--k", "3", "--relevant", "any", "--seed", "9",
         "--out", "authorship"),
        ("kalma", "--kg", "file:graph.ttl", "--pairs-from-kg", "spouse,father", "--limit", "2",
         "--rounds", "2", "--alpha", "0.25", "--seed", "4", "--out", "kalma"),
    ):  # fmt: skip
        assert cli("build", *words).returncode == 0
    for kind in ("facts", "hagrid", "alce", "authorship", "kalma"):
        result = cli("build", "--from", kind, "--trust", "--out", f"again-{kind}")
        assert result.returncode == 0, result.stderr
        assert result.stdout.endswith("equal: every table is the same, byte for byte\n")
        old, new = load_intact(tmp_path / kind), load_intact(tmp_path / f"again-{kind}")
        assert new.benchmark_hash == old.benchmark_hash
        assert recipe_of(new) == recipe_of(old)
        assert new.name == kind


def test_another_source_is_noticed(cli: Cli, tmp_path: Path) -> None:
    rows = (EXAMPLES / "answers" / "hagrid.jsonl").read_text().splitlines(keepends=True)
    source = tmp_path / "h.jsonl"
    source.write_text("".join(rows))
    assert cli("build", "hagrid", "--source", "hagrid:h.jsonl", "--out", "h").returncode == 0
    source.rename(tmp_path / "moved.jsonl")
    result = cli("build", "--from", "h", "--trust", "--out", "new")
    assert result.returncode == 1
    assert "h.jsonl" in result.stderr
    moved = cli("build", "--from", "h", "--out", "new", "--source", "hagrid:moved.jsonl")
    assert moved.returncode == 0, moved.stderr
    (tmp_path / "moved.jsonl").write_text("".join(rows[:-1]))
    again = ("build", "--from", "h", "--out", "new", "--overwrite", "--source")
    result = cli(*again, "source=hagrid:moved.jsonl")
    assert result.returncode == 1
    assert "not equal: " in result.stderr
    assert "queries/queries-00000-of-00001.parquet" in result.stderr
    result = cli(*again, "k=3")
    assert result.returncode == 2
    assert "unknown input of a hagrid recipe 'k'; known: source" in result.stderr


def test_the_package_of_a_derived_one_is_looked_for_and_held_against_its_hash(
    cli: Cli, tmp_path: Path, facts: Path
) -> None:
    args = ("build", "authorship", "--benchmark", "facts", "--k", "3", "--out", "a")
    assert cli(*args).returncode == 0
    away = facts.rename(tmp_path / "away")
    result = cli("build", "--from", "a", "--trust", "--out", "b")
    assert result.returncode == 1
    assert "the benchmark 'facts' is not here, nor beside a" in result.stderr
    assert "--source benchmark=DIR" in result.stderr
    assert (
        cli("build", "--from", "a", "--trust", "--out", "b", "--source", str(away)).returncode == 0
    )
    other = cf.RageRecipe(
        source=SOURCE, embedder="none", limit=8, mixtures=("a=1,1,0",),
        mining={"irrelevant": 3, "seemingly_relevant": 0},
    )  # fmt: skip
    cf.build(other, tmp_path / "facts")
    result = cli("build", "--from", "a", "--trust", "--out", "c")
    assert result.returncode == 1
    assert "and a was made of" in result.stderr


def test_a_package_of_unknown_making_is_not_rebuilt(cli: Cli) -> None:
    package = Path(__file__).parents[1] / "golden" / "v1" / "package"
    for words in (
        ("build", "--from", package, "--out", "x"),
        ("build", "--print-recipe", "--from", package),
    ):
        result = cli(*map(str, words))
        assert result.returncode == 1
        assert "its manifest does not hold the choices of a build" in result.stderr


def test_a_recipe_file_builds_what_its_options_build(cli: Cli, tmp_path: Path, facts: Path) -> None:
    printed = cli("build", "--print-recipe", "--from", "facts")
    assert printed.returncode == 0
    (tmp_path / "recipe.yaml").write_text(printed.stdout)
    result = cli("build", "recipe.yaml", "--trust", "--out", "again")
    assert result.returncode == 0, result.stderr
    one, two = load_intact(facts), load_intact(tmp_path / "again")
    assert one.benchmark_hash == two.benchmark_hash
    # A manifest's config is a recipe, too.
    content = {"kind": one.kind, "name": one.name, **one.config}
    (tmp_path / "recipe.json").write_text(json.dumps(content))
    assert read_recipe(tmp_path / "recipe.json") == cf.RageRecipe.of(one).model_copy(
        update={"licence": None}
    )
    (tmp_path / "recipe.yaml").write_text(printed.stdout.replace("seed: 3", "sed: 3"))
    result = cli("build", "recipe.yaml", "--trust", "--out", "third")
    assert result.returncode == 1
    assert "sed: is no field of a rage recipe (did you mean 'seed'?)" in result.stderr


def test_build_from_python(tmp_path: Path, facts: Path) -> None:
    bench = cf.load(facts)
    again = cf.build(cf.RageRecipe.of(bench.manifest), tmp_path / "two")
    assert again.manifest.benchmark_hash == bench.manifest.benchmark_hash
    with pytest.raises(cf.InputError, match="exists already"):
        cf.build(cf.RageRecipe.of(bench.manifest), tmp_path / "two")
    assert cf.build(cf.RageRecipe.of(bench.manifest), tmp_path / "two", resume=True)
    made = cf.rebuild(facts, tmp_path / "three", trust=True)
    assert made.equal
    assert made.unlike == []


def test_twins_are_made_again_from_the_answers_that_were_kept(cli: Cli, tmp_path: Path) -> None:
    """The package does not say where a store lay: it is named, or lies beside."""
    cf.build(cf.RageRecipe(source=SOURCE, embedder="offline"), tmp_path / "all")
    replay = str(EXAMPLES / "twins" / "replay.jsonl")
    assert cli("llm", "import", "kept.db", replay).returncode == 0
    words = ("--benchmark", "all", "--llm", "replay:kept.db", "--out", "twins")
    assert cli("build", "twins", *words).returncode == 0
    named = cli(
        "build", "--from", "twins", "--trust", "--out", "named", "--source", "llm=replay:kept.db"
    )
    assert named.returncode == 0, named.stderr
    old = load_intact(tmp_path / "twins").benchmark_hash
    assert load_intact(tmp_path / "named").benchmark_hash == old
    shutil.copyfile(tmp_path / "kept.db", tmp_path / "twins.replay.db")
    beside = cli("build", "--from", "twins", "--trust", "--out", "beside")
    assert beside.returncode == 0, beside.stderr
    assert load_intact(tmp_path / "beside").benchmark_hash == old


def test_what_a_strangers_manifest_names_is_printed_and_not_read(
    cli: Cli, tmp_path: Path, facts: Path
) -> None:
    """Without a terminal and without --trust nothing is opened: the source is not even there."""
    source = f"beir:{tmp_path / 'private'}"
    path = facts / "manifest.json"
    content = json.loads(path.read_text())
    content["config"] |= {"source": source, "extra_corpus": "corpus:/etc"}
    content["config"]["judging"] |= {"judge": "hf:./model", "judge_profile": "../judge.yaml"}
    content["manifest_sha256"] = digest({**content, "manifest_sha256": ""})
    path.write_text(pretty_json(content))
    (tmp_path / "facts.replay.db").write_bytes(b"")
    (tmp_path / "judge.yaml").write_text("")
    uses = [
        f"--source {source}", "--extra-corpus corpus:/etc", "--embedder offline",
        "--judge hf:./model", "--judge-profile ", "--store facts.replay.db",
    ]  # fmt: skip
    result = cli("build", "--from", "facts", "--out", "again")
    assert result.returncode == 2
    assert "--trust" in result.stderr
    for use in uses:
        assert f"\n  {use}" in result.stderr, use
    with pytest.raises(cf.UsageError, match="corpus:/etc"):
        cf.rebuild(facts, tmp_path / "again")
    assert not (tmp_path / "again").exists()
    result = cli("build", "--from", "facts", "--trust", "--out", "again")
    assert result.returncode == 2  # a judge beside judgements, seen before anything is read
    assert "private" in result.stderr
    assert "--source beir:" in result.stderr  # printed all the same


def test_on_a_terminal_it_asks(cli: Cli, facts: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replies = iter((False, True))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True, raising=False)
    monkeypatch.setattr("click.confirm", lambda *_, **__: next(replies))
    assert cli("build", "--from", "facts", "--out", "again").returncode == 2
    assert cli("build", "--from", "facts", "--out", "again").returncode == 0


def test_what_the_user_names_is_not_asked_about(cli: Cli, facts: Path) -> None:
    words = ("--source", SOURCE, "--source", "embedder=offline")
    assert cli("build", "--from", "facts", "--out", "again", *words).returncode == 0


def test_a_recipe_file_names_what_it_reads(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("kind: hagrid\nsource: hagrid:/etc/passwd\n")
    result = cli("build", "r.yaml", "--out", "h")
    assert result.returncode == 2
    assert "\n  --source hagrid:/etc/passwd" in result.stderr
    assert cli("build", "r.yaml", "--trust", "--out", "h").returncode == 1


def test_every_field_that_is_a_path_counts_as_an_input() -> None:
    from citeforge.package.kinds import recipe_named, recipes
    from citeforge.schemas.recipes.flags import flags_of

    flags = [f for kind in recipes() for f in flags_of(recipe_named(kind))]
    assert len(flags) > 100
    assert [f.name for f in flags if f.type is Path and not f.option.input] == []
