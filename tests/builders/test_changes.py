"""A finished package is taken on --resume only when its recipe is the same."""

import shutil
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.authorship.twins import build_twins
from citeforge.builders.build import Workspace
from citeforge.builders.package import PackageWriter
from citeforge.builders.rage.build import build_rage
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.running.names import make_embedder
from citeforge.schemas.recipes.base import IfExists, RunOptions
from citeforge.schemas.recipes.twins import Attempts, Thresholds
from conftest import EXAMPLES, content, refused, run_options
from conftest_builders import HAGRID, Hashed, hagrid
from stand_ins import turning_llm

ASQA = f"alce:{EXAMPLES / 'answers' / 'asqa.json'}"
PEOPLE = f"file:{EXAMPLES / 'people' / 'graph.ttl'}"


@pytest.mark.parametrize(
    ("more", "difference"),
    [
        ({"name": "other"}, "name: hagrid → other"),
        ({"licence": "mit"}, "licence: cc-by-sa-3.0 → mit"),
        ({"skip_empty": True}, "skip_empty: false → true"),
    ],
)
def test_a_finished_package_of_another_recipe_is_refused(
    hagrid_package: Path, more: dict[str, object], difference: str
) -> None:
    before = content(hagrid_package)
    with refused("recipe-changed", path=hagrid_package) as caught:
        hagrid(hagrid_package, "resume", **more)
    assert f"({difference})" in str(caught.value)
    assert content(hagrid_package) == before
    assert not hagrid_package.with_name("hagrid.partial").exists()


def test_a_finished_package_of_the_same_recipe_is_taken(
    hagrid_package: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {p: p.stat().st_mtime_ns for p in hagrid_package.parent.rglob("*")}
    hagrid(hagrid_package, "resume")
    assert "is finished already, by the same recipe: nothing is built" in capsys.readouterr().err
    assert {p: p.stat().st_mtime_ns for p in hagrid_package.parent.rglob("*")} == before


def test_a_changed_source_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "hagrid.jsonl"
    shutil.copyfile(EXAMPLES / "answers" / "hagrid.jsonl", source)
    out = tmp_path / "package"
    hagrid(out, source=f"hagrid:{source}")
    source.write_text(source.read_text() + "\n")
    with refused("recipe-changed") as caught:
        hagrid(out, "resume", source=f"hagrid:{source}")
    assert "files.hagrid.jsonl: " in str(caught.value)


def test_a_damaged_finished_package_is_not_taken(hagrid_package: Path, tmp_path: Path) -> None:
    out = Path(shutil.copytree(hagrid_package, tmp_path / "hagrid"))
    (out / "stats.json").write_text("{}")
    with refused("hash-mismatch", path=out / "stats.json"):
        hagrid(out, "resume")


def test_k_of_alce_belongs_to_the_recipe(alce_package: Path) -> None:
    cf.build(cf.AlceRecipe(source=ASQA, k=2), alce_package, resume=True)
    with refused("recipe-changed") as caught:
        cf.build(cf.AlceRecipe(source=ASQA, k=3), alce_package, resume=True)
    assert "k: 2 → 3" in str(caught.value)


def rage(
    beir: Path, out: Path, if_exists: IfExists = "refuse", limit: int | None = None, **facts: object
) -> Hashed:
    embedder = Hashed(**facts)
    recipe = cf.RageRecipe(
        source=f"beir:{beir}", embedder="x", limit=limit,
        mining={"seemingly_relevant": 3, "irrelevant": 2}, mixtures=("mix=1,1,2",),
    )  # fmt: skip
    build_rage(recipe, run_options(out, if_exists), embedder)  # type: ignore[arg-type]
    return embedder


def test_prefixes_and_endpoint_belong_to_the_recipe(tmp_path: Path, small_beir: Path) -> None:
    out = tmp_path / "package"
    rage(small_beir, out)
    assert rage(small_beir, out, "resume").asked == []
    for facts, difference in (
        ({"query_prefix": "query: "}, "embedder.query_prefix:  → query: "),
        ({"passage_prefix": "passage: "}, "embedder.passage_prefix: nothing → passage: "),
        ({"endpoint": "http://b/v1"}, "embedder.endpoint: http://a/v1 → http://b/v1"),
    ):
        with refused("recipe-changed") as caught:
            rage(small_beir, out, "resume", **facts)
        assert difference in str(caught.value)


def test_an_endpoint_is_recorded_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def endpoint(url: str | None) -> object:
        return make_embedder(
            "openai:m", EmbedderSettings(options=RunOptions(base_url=url))
        ).fingerprint()["endpoint"]

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert endpoint(None) == "https://api.openai.com/v1"
    assert endpoint("http://me:secret@host:8000/v1/?key=secret") == "http://host:8000/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other/v1")
    assert endpoint(None) == "http://other/v1"


def test_finished_twins_and_authorship_are_never_replaced_by_others(
    tmp_path: Path, small_beir: Path
) -> None:
    """`--resume` with another option used to replace the finished package without a word."""
    rage(small_beir, tmp_path / "base")
    out, writer = tmp_path / "twins", turning_llm()

    def twins(if_exists: IfExists = "refuse", **more: Any) -> None:
        base = tmp_path / "base"
        recipe = cf.TwinsRecipe(benchmark=base, llm="turning", keep_failed=True, **more)
        build_twins(recipe, run_options(out, if_exists), writer)

    twins()
    before, asked = content(out), len(writer.asked)
    twins("resume")
    assert len(writer.asked) == asked
    for more, difference in (
        ({"attempts": Attempts(limit=1)}, "attempts.limit: 3 → 1"),
        ({"thresholds": Thresholds(copy_similarity=0.5)}, "copy_similarity: 0.95 → 0.5"),
        ({"name": "other"}, "name: twins → other"),
    ):
        with refused("recipe-changed") as caught:
            twins("resume", **more)
        assert difference in str(caught.value)
    assert content(out) == before
    assert len(writer.asked) == asked

    def authorship(k: int, resume: bool = False) -> None:
        recipe = cf.AuthorshipRecipe(
            benchmark=tmp_path / "base", label_sets=("human_llm",), origins=("hh",),
            selection={"k": k},
        )  # fmt: skip
        cf.build(recipe, tmp_path / "authors", resume=resume)

    authorship(3)
    authorship(3, resume=True)
    with refused("recipe-changed") as caught:
        authorship(2, resume=True)
    assert "selection.k: 3 → 2" in str(caught.value)


def kalma(out: Path, resume: bool = False, **more: Any) -> None:
    recipe = {"kg": PEOPLE, "pairs_from_kg": ("father",), "limit": 1, "choices": {"max_facts": 5}}
    cf.build(cf.KalmaRecipe.model_validate(recipe | more), out, resume=resume)


def test_a_finished_kalma_package_is_never_replaced_by_another(tmp_path: Path) -> None:
    out = tmp_path / "package"
    kalma(out)
    before = content(out)
    kalma(out, resume=True)
    for more, difference in (
        ({"seed": 1}, "seed: 0 → 1"),
        ({"licence": "mit"}, "licence: nothing → mit"),
        ({"choices": {"max_facts": 6}}, "choices.max_facts: 5 → 6"),
        ({"perplexity": "openai:m"}, "perplexity.name: ngram → openai:m"),
    ):
        with refused("recipe-changed") as caught:
            kalma(out, resume=True, **more)
        assert difference in str(caught.value)
    assert content(out) == before


def test_names_are_cleaned_in_one_place(tmp_path: Path) -> None:
    """A name with the marks of signatures used to end `compare` in a traceback."""
    assert hagrid(tmp_path / "package", name="a|b c@d").name == "a-b-c-d"
    recipe = cf.AlceRecipe(source=ASQA, name="x|y:z")
    assert cf.build(recipe, tmp_path / "alce").manifest.name == "x-y-z"


@pytest.mark.parametrize("kind", ["rage", "hagrid", "alce", "twins", "authorship", "kalma"])
def test_a_half_done_build_of_another_recipe_is_refused(
    tmp_path: Path, small_beir: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As a kill leaves it: stages are there, and the package is not yet whole."""
    rage(small_beir, tmp_path / "base")
    out = tmp_path / "out"
    base = tmp_path / "base"

    def make(if_exists: IfExists, changed: bool, out: Path = out) -> None:
        run = run_options(out, if_exists)
        if kind == "rage":
            rage(small_beir, out, if_exists, limit=2 if changed else None)
        elif kind == "twins":
            recipe = cf.TwinsRecipe(
                benchmark=base, llm="turning", keep_failed=True, attempts={"limit": 1 + changed}
            )
            build_twins(recipe, run, turning_llm())
        elif kind == "kalma":
            kalma(out, resume=if_exists == "resume", seed=int(changed))
        else:
            recipes = {
                "hagrid": cf.HagridRecipe(source=HAGRID, skip_empty=changed),
                "alce": cf.AlceRecipe(source=ASQA, k=2 + changed),
                "authorship": cf.AuthorshipRecipe(benchmark=base, selection={"k": 2 + changed}),
            }
            cf.build(recipes[kind], out, resume=if_exists == "resume")

    difference = {
        "rage": "limit: nothing → 2",
        "hagrid": "skip_empty: false → true",
        "alce": "k: 2 → 3",
        "twins": "attempts.limit: 1 → 2",
        "authorship": "selection.k: 2 → 3",
        "kalma": "seed: 0 → 1",
    }[kind]
    with monkeypatch.context() as patch:
        # Nothing is tidied away when a process is killed.
        patch.setattr(Workspace, "clear", lambda self: None)
        patch.setattr(PackageWriter, "finish", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            make("refuse", False)
    partial = tmp_path / "out.partial"
    before = content(partial)
    assert "recipe.json" in before
    with refused("recipe-changed", path=partial) as caught:
        make("resume", True)
    assert f"({difference})" in str(caught.value)
    assert "--overwrite" in str(caught.value)
    assert content(partial) == before
    make("resume", False)
    assert not partial.exists()
    make("refuse", False, tmp_path / "calm" / "out")
    assert content(out) == content(tmp_path / "calm" / "out")


def test_a_half_done_build_from_before_recipes_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr(Workspace, "clear", lambda self: None)
        patch.setattr(PackageWriter, "finish", lambda *args: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            hagrid(out)
    (tmp_path / "out.partial" / "recipe.json").unlink()
    assert hagrid(out, "resume", skip_empty=True).config["skip_empty"] is True
