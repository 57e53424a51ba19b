"""A package is made again from its manifest alone; a recipe file and Python build the same."""

import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import pytest

import citeforge as cf
from citeforge.builders.changes import find_recipe
from citeforge.builders.rebuild import _replace_inputs, list_resources
from citeforge.builders.recipe_files import read_recipe
from citeforge.engines.files import digest
from citeforge.package.kinds import recipe_named, recipes
from citeforge.package.manifest import load_intact, pretty_json
from citeforge.schemas.recipes.flags import list_flags
from citeforge.schemas.recipes.kalma import KalmaRecipe
from conftest import EXAMPLES, Inline, refused

SOURCE = f"beir:{EXAMPLES / 'facts'}"
GOLDEN = Path(__file__).parents[1] / "golden" / "v1" / "package"


@pytest.fixture(scope="module")
def built_facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    recipe = cf.RageRecipe(
        source=SOURCE, embedder="offline", candidates="bm25", limit=8, seed=3,
        mixtures=("a=1,1,2",), mining={"irrelevant": 3, "seemingly_relevant": 4},
    )  # fmt: skip
    return cf.build(recipe, tmp_path_factory.mktemp("built") / "facts").folder


@pytest.fixture
def facts(built_facts: Path, tmp_path: Path) -> Path:
    """A package in the folder that commands run in."""
    return Path(shutil.copytree(built_facts, tmp_path / "facts"))


KINDS = ("rage", "hagrid", "alce", "twins", "authorship", "kalma")


@pytest.mark.parametrize("kind", KINDS)
def test_a_package_of_each_kind_is_made_again(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Sources that were named by relative paths are looked for here, packages beside the old one;
    twins are written by the store that is named."""
    folder = request.getfixturevalue("package" if kind == "rage" else f"{kind}_package")
    package = tmp_path / "old" / folder.name
    shutil.copytree(folder, package)
    if kind == "kalma":
        monkeypatch.chdir(folder.parent)
    inputs = {}
    if kind == "twins":
        shutil.copytree(request.getfixturevalue("package"), tmp_path / "old" / "facts")
        inputs = {"llm": f"replay:{folder.parent / 'kept.db'}"}
    if kind == "authorship":
        shutil.copytree(request.getfixturevalue("twins_package"), tmp_path / "old" / "twins")
    made = cf.rebuild(package, tmp_path / "new", inputs=inputs, trust=True)
    assert made.equal and made.differing_tables == []
    assert find_recipe(made.new) == find_recipe(made.old)
    assert made.new.name == made.old.name


def test_the_command_reports_equal_tables(inline: Inline, facts: Path) -> None:
    result = inline.ok("build", "--from", "facts", "--trust", "--out", "again")
    assert result.stdout.endswith("equal: every table is the same, byte for byte\n")


def test_another_source_is_noticed(inline: Inline, tmp_path: Path) -> None:
    rows = (EXAMPLES / "answers" / "hagrid.jsonl").read_text().splitlines(keepends=True)
    source = tmp_path / "h.jsonl"
    source.write_text("".join(rows))
    inline.ok("build", "hagrid", "--source", "hagrid:h.jsonl", "--out", "h")
    source.rename(tmp_path / "moved.jsonl")
    result = inline.fails(1, "not-a-file", "build", "--from", "h", "--trust", "--out", "new")
    assert "h.jsonl" in result.stderr
    inline.ok("build", "--from", "h", "--out", "new", "--source", "hagrid:moved.jsonl")
    (tmp_path / "moved.jsonl").write_text("".join(rows[:-1]))
    again = ("build", "--from", "h", "--out", "new", "--overwrite", "--source")
    result = inline(*again, "source=hagrid:moved.jsonl")
    assert result.returncode == 1
    assert "not equal: " in result.stderr
    assert "queries/queries-00000-of-00001.parquet" in result.stderr
    # What the last line alone brought is missing.
    assert re.search(r"parquet, row \d+: \{.*\} is None in new", result.stderr)
    result = inline.fails(2, "unknown-name", *again, "k=3")
    assert "unknown input of a hagrid recipe 'k'; known: source" in result.stderr


def test_the_package_of_a_derived_one_is_compared_by_its_hash(facts: Path, tmp_path: Path) -> None:
    old, new = tmp_path / "a", tmp_path / "b"
    cf.build(cf.AuthorshipRecipe(benchmark=facts, selection={"k": 3}), old)
    away = facts.rename(tmp_path / "away")
    with refused("missing-file", path=old) as caught:
        cf.rebuild(old, new, trust=True)
    assert "--source benchmark=DIR with the benchmark of hash " in str(caught.value)
    assert cf.rebuild(old, new, inputs={"benchmark": str(away)}, trust=True).equal
    other = cf.RageRecipe(
        source=SOURCE, embedder="none", limit=8, mixtures=("a=1,1,0",),
        mining={"irrelevant": 3, "seemingly_relevant": 0},
    )  # fmt: skip
    cf.build(other, facts)
    with refused("wrong-benchmark", path=facts):
        cf.rebuild(old, tmp_path / "c", trust=True)


def test_a_package_without_a_recipe_is_not_rebuilt(inline: Inline) -> None:
    for words in (("--out", "x"), ("--print-recipe",)):
        inline.fails(1, "missing-field", "build", "--from", GOLDEN, *words)


def test_a_recipe_file_builds_what_its_options_build(
    inline: Inline, tmp_path: Path, facts: Path
) -> None:
    printed = inline.ok("build", "--print-recipe", "--from", "facts")
    path = tmp_path / "recipe.yaml"
    path.write_text(printed.stdout)
    inline.ok("build", "recipe.yaml", "--trust", "--out", "again")
    one, two = load_intact(facts), load_intact(tmp_path / "again")
    assert one.benchmark_hash == two.benchmark_hash
    # A manifest's config is a recipe, too.
    content = {"kind": one.kind, "name": one.name, **one.config}
    (tmp_path / "recipe.json").write_text(json.dumps(content))
    assert read_recipe(tmp_path / "recipe.json") == cf.RageRecipe.from_manifest(one).model_copy(
        update={"licence": None}
    )
    path.write_text(printed.stdout.replace("seed: 3", "sed: 3"))
    line = printed.stdout[: printed.stdout.index("seed: 3")].count("\n") + 1
    with refused("unknown-field", path=path, line=line, field="sed") as caught:
        cf.build(path, tmp_path / "third")
    assert "(did you mean 'seed'?)" in str(caught.value)


def test_build_from_python(tmp_path: Path, facts: Path) -> None:
    bench, out = cf.load(facts), tmp_path / "two"
    recipe = cf.RageRecipe.from_manifest(bench.manifest)
    assert cf.build(recipe, out).manifest.benchmark_hash == bench.manifest.benchmark_hash
    with refused("output-exists", cf.InputError, path=out):
        cf.build(recipe, out)
    assert cf.build(recipe, out, resume=True)


def test_twins_are_made_again_from_the_answers_that_were_kept(
    package: Path, twins_package: Path, inline: Inline, tmp_path: Path
) -> None:
    """A store beside the package is used without being named."""
    shutil.copytree(package, tmp_path / "facts")
    shutil.copytree(twins_package, tmp_path / "twins")
    shutil.copyfile(twins_package.parent / "kept.db", tmp_path / "twins.replay.db")
    inline.ok("build", "--from", "twins", "--trust", "--out", "new")
    hashes = {load_intact(tmp_path / name).benchmark_hash for name in ("twins", "new")}
    assert len(hashes) == 1


def test_what_the_manifest_of_others_names_is_printed_and_not_read(
    inline: Inline, tmp_path: Path, facts: Path
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
    result = inline.fails(2, "untrusted", "build", "--from", "facts", "--out", "again")
    assert "--trust" in result.stderr
    for use in uses:
        assert f"\n  {use}" in result.stderr, use
    with refused("untrusted", cf.UsageError) as caught:
        cf.rebuild(facts, tmp_path / "again")
    assert "--extra-corpus corpus:/etc" in str(caught.value)
    assert not (tmp_path / "again").exists()
    result = inline("build", "--from", "facts", "--trust", "--out", "again")
    assert (
        result.code == "option-without-effect"
    )  # a judge beside judgements, seen before anything is read
    assert "private" in result.stderr
    assert "--source beir:" in result.stderr  # printed all the same


def test_on_a_terminal_it_asks(
    inline: Inline, facts: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = iter((False, True))
    terminal = SimpleNamespace(stdin=SimpleNamespace(isatty=lambda: True))
    monkeypatch.setattr("citeforge.cli.building.sys", terminal)
    monkeypatch.setattr("click.confirm", lambda *_, **__: next(replies))
    assert inline("build", "--from", "facts", "--out", "again").returncode == 2
    inline.ok("build", "--from", "facts", "--out", "again")


def test_what_the_user_names_is_not_asked_about(inline: Inline, facts: Path) -> None:
    words = ("--source", SOURCE, "--source", "embedder=offline", "--source", "candidates=bm25")
    inline.ok("build", "--from", "facts", "--out", "again", *words)


def test_a_recipe_file_names_what_it_reads(inline: Inline, tmp_path: Path) -> None:
    (tmp_path / "r.yaml").write_text("kind: hagrid\nsource: hagrid:/etc/passwd\n")
    result = inline("build", "r.yaml", "--out", "h")
    assert result.returncode == 2
    assert "\n  --source hagrid:/etc/passwd" in result.stderr
    assert inline("build", "r.yaml", "--trust", "--out", "h").returncode == 1


def test_every_field_that_is_a_path_counts_as_an_input() -> None:
    flags = [f for kind in recipes() for f in list_flags(recipe_named(kind))]
    assert len(flags) > 100
    assert [f.name for f in flags if f.type is Path and not f.option.input] == []


def test_a_domain_in_the_manifest_is_named_and_not_printed() -> None:
    domain = {"name": "friends", "relations": {"knows": {"ask": "whom does {who} know"}}}
    recipe = KalmaRecipe(kg="file:graph.ttl", pairs_from_kg=("knows",), domain=domain)
    assert list_resources(recipe) == ["--kg file:graph.ttl", "--domain friends (in the manifest)"]


def test_none_is_no_resource() -> None:
    recipe = KalmaRecipe(kg="file:graph.ttl", pairs_from_kg=("father",), nearest="none")
    assert list_resources(recipe) == ["--kg file:graph.ttl"]
    twins = cf.TwinsRecipe(benchmark=Path("b"), llm="openai:m", parser="none", embedder="offline")
    assert list_resources(twins) == ["--benchmark b", "--llm openai:m", "--embedder offline"]


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("twins", "--benchmark", "n", "--llm", "openai:x", "--secret-from", "n"), 2),
        (("hagrid", "--source", "hagrid:nope", "--secret-from", "n"), 2),
        (("kalma", "--kg", "file:nope.nt", "--batch", "--writer", "openai:x"), 2),
        (("alce", "--source", "alce:nope.json", "--secret-from", "n"), 2),
    ],
)
def test_options_are_refused_before_anything_is_opened(
    inline: Inline, tmp_path: Path, words: tuple[str, ...], code: int
) -> None:
    ran = inline("build", *words, "--out", "o")
    assert ran.returncode == code, ran.stderr
    assert "--secret-from requires --hidden" in ran.stderr or "--batch: not for" in ran.stderr
    assert list(tmp_path.iterdir()) == []


def test_an_input_that_may_be_repeated_takes_one_file() -> None:
    recipe = cf.RageRecipe(source="beir:x", pool={"judge": "openai:m"})
    moved = _replace_inputs(recipe, {"labels": "moved.jsonl", "source": "beir:y"})
    assert (moved.labels, moved.source) == ((Path("moved.jsonl"),), "beir:y")
