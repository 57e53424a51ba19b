"""A finished package is taken on --resume only when its recipe is the same."""

import hashlib
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from citeforge.builders.authorship.build import build_authorship
from citeforge.builders.frozen import build_alce, build_hagrid
from citeforge.builders.packaging.package import PackageWriter
from citeforge.builders.rage.build import build_rage
from citeforge.builders.stages.build import Workspace
from citeforge.builders.twins.build import build_twins
from citeforge.cli.main import cli as cli_group
from citeforge.engines.embedding.embed import make_embedder
from citeforge.engines.llm.options import ClientOptions
from citeforge.engines.llm.records import LlmReply, Request, Result
from citeforge.schemas.errors import InputError
from citeforge.schemas.recipes.authorship import Selection
from citeforge.schemas.recipes.base import IfExists
from citeforge.schemas.recipes.mixture import Mixture
from citeforge.schemas.recipes.rage import Mining
from citeforge.schemas.recipes.records import (
    AlceRecipe,
    AuthorshipRecipe,
    HagridRecipe,
    RageRecipe,
    TwinsRecipe,
)
from citeforge.schemas.recipes.twins import Attempts, Thresholds
from conftest import EXAMPLES, content, run_options
from conftest_builders import HAGRID, hagrid


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"name": "other"}, "name: package → other"),
        ({"licence": "mit"}, "licence: apache-2.0 → mit"),
        ({"skip_empty": True}, "skip_empty: false → true"),
    ],
)
def test_a_finished_package_of_another_recipe_is_refused(
    tmp_path: Path, more: dict[str, object], said: str
) -> None:
    out = tmp_path / "package"
    first = hagrid(out)
    if "licence" in more:
        said = said.replace("apache-2.0", first.licence or "nothing")
    before = content(out)
    with pytest.raises(InputError, match=f"finished package of another recipe .*{said}"):
        hagrid(out, "resume", **more)
    assert content(out) == before
    assert not (tmp_path / "package.partial").exists()


def test_a_finished_package_of_the_same_recipe_is_taken(tmp_path: Path) -> None:
    out = tmp_path / "package"
    hagrid(out)
    before = {p: p.stat().st_mtime_ns for p in out.rglob("*")}
    hagrid(out, "resume")
    assert {p: p.stat().st_mtime_ns for p in out.rglob("*")} == before
    assert [p.name for p in tmp_path.iterdir()] == ["package"]


def test_a_changed_source_is_refused(tmp_path: Path) -> None:
    source = tmp_path / "hagrid.jsonl"
    shutil.copyfile(EXAMPLES / "answers" / "hagrid.jsonl", source)
    out = tmp_path / "package"
    hagrid(out, source=f"hagrid:{source}")
    source.write_text(source.read_text() + "\n")
    with pytest.raises(InputError, match=r"another recipe \(sources.*files.hagrid.jsonl: "):
        hagrid(out, "resume", source=f"hagrid:{source}")


def test_a_damaged_finished_package_is_not_taken(tmp_path: Path) -> None:
    out = tmp_path / "package"
    hagrid(out)
    (out / "stats.json").write_text("{}")
    with pytest.raises(InputError, match="has the sha256"):
        hagrid(out, "resume")


def test_k_of_alce_belongs_to_the_recipe(tmp_path: Path) -> None:
    source = f"alce:{EXAMPLES / 'answers' / 'asqa.json'}"
    out = tmp_path / "package"
    build_alce(AlceRecipe(source=source, k=2), run_options(out))
    build_alce(AlceRecipe(source=source, k=2), run_options(out, "resume"))
    with pytest.raises(InputError, match="k: 2 → 3"):
        build_alce(AlceRecipe(source=source, k=3), run_options(out, "resume"))


class Hashed:
    """Vectors of hashes; says what it was told to be."""

    def __init__(self, **said: object) -> None:
        self.said = {"name": "hashed", "query_prefix": "", "endpoint": "http://a/v1", **said}
        self.asked = 0

    def fingerprint(self) -> dict[str, object]:
        return self.said

    def encode(self, texts: Sequence[str], kind: str) -> Any:
        self.asked += len(texts)
        rows = np.array([list(hashlib.sha256(t.encode()).digest()) for t in texts], np.float32)
        return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def rage(
    beir: Path, out: Path, if_exists: IfExists = "refuse", limit: int | None = None, **said: object
) -> Hashed:
    embedder = Hashed(**said)
    config = RageRecipe(
        source=f"beir:{beir}", embedder="x", limit=limit,
        mining=Mining(seemingly_relevant=3, irrelevant=2),
        mixtures=(Mixture(name="mix", relevant=1, irrelevant=1, seemingly_relevant=2),),
    )  # fmt: skip
    build_rage(config, run_options(out, if_exists), lambda: embedder)  # type: ignore[arg-type]
    return embedder


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ({"query_prefix": "query: "}, "embedder.query_prefix:  → query: "),
        ({"passage_prefix": "passage: "}, "embedder.passage_prefix: nothing → passage: "),
        ({"endpoint": "http://b/v1"}, "embedder.endpoint: http://a/v1 → http://b/v1"),
    ],
)
def test_prefixes_and_endpoint_belong_to_the_recipe(
    tmp_path: Path, small_beir: Path, said: dict[str, object], shown: str
) -> None:
    out = tmp_path / "package"
    rage(small_beir, out)
    assert rage(small_beir, out, "resume").asked == 0
    with pytest.raises(InputError, match=shown):
        rage(small_beir, out, "resume", **said)


def test_an_endpoint_is_recorded_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    def endpoint(url: str | None) -> object:
        return make_embedder("openai:m", options=ClientOptions(url)).fingerprint()["endpoint"]

    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    assert endpoint(None) == "https://api.openai.com/v1"
    assert endpoint("http://me:secret@host:8000/v1/?key=secret") == "http://host:8000/v1"
    monkeypatch.setenv("OPENAI_BASE_URL", "http://other/v1")
    assert endpoint(None) == "http://other/v1"


class Turning:
    """Writes twins by turning the words round."""

    def __init__(self) -> None:
        self.asked = 0

    def identity(self) -> dict[str, Any]:
        return {"name": "turning"}

    def complete(self, requests: Sequence[Request]) -> list[Result]:
        self.asked += len(requests)
        texts = [r.values["text"].rstrip(".").split() for r in requests]
        return [LlmReply(" ".join(reversed(t)) + ".") for t in texts]


def test_finished_twins_and_authorship_are_never_replaced_by_others(
    tmp_path: Path, small_beir: Path
) -> None:
    """`--resume` with another option used to replace the finished package without a word."""
    rage(small_beir, tmp_path / "base")
    out, writer = tmp_path / "twins", Turning()

    def twins(if_exists: IfExists = "refuse", **more: Any) -> None:
        recipe = TwinsRecipe(benchmark=tmp_path / "base", llm="turning", keep_failed=True, **more)
        build_twins(recipe, run_options(out, if_exists), writer)

    twins()
    before, asked = content(out), writer.asked
    twins("resume")
    assert writer.asked == asked
    for more, shown in (
        ({"attempts": Attempts(limit=1)}, "attempts.limit: 3 → 1"),
        ({"thresholds": Thresholds(copy_similarity=0.5)}, "copy_similarity: 0.95 → 0.5"),
        ({"name": "other"}, "name: twins → other"),
    ):
        with pytest.raises(InputError, match=shown):
            twins("resume", **more)
    assert content(out) == before
    assert writer.asked == asked

    def authorship(if_exists: IfExists = "refuse", **more: Any) -> None:
        recipe = AuthorshipRecipe(
            benchmark=tmp_path / "base", label_sets=("human_llm",), origins=("hh",), **more
        )
        build_authorship(recipe, run_options(tmp_path / "authors", if_exists))

    authorship(selection=Selection(k=3))
    authorship("resume", selection=Selection(k=3))
    with pytest.raises(InputError, match=r"selection.k: 3 → 2"):
        authorship("resume", selection=Selection(k=2))


def test_a_finished_kalma_package_is_never_replaced_by_another(tmp_path: Path) -> None:
    out = tmp_path / "package"
    words = ["build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}",
             "--pairs-from-kg", "spouse,father", "--limit", "2", "--rounds", "2",
             "--out", str(out)]  # fmt: skip
    cli_group.main(words, standalone_mode=False)
    before = content(out)
    cli_group.main([*words, "--resume"], standalone_mode=False)
    for more, shown in (
        (["--seed", "1"], "seed: 0 → 1"),
        (["--licence", "mit"], "licence: nothing → mit"),
        (["--rounds", "3"], "choices.rounds: 2 → 3"),
        (["--perplexity", "openai:m"], "perplexity.name: ngram → openai:m"),
    ):
        with pytest.raises(InputError, match=shown):
            cli_group.main([*words, *more, "--resume"], standalone_mode=False)
    assert content(out) == before


def test_names_are_cleaned_in_one_place(tmp_path: Path) -> None:
    """A name with the marks of signatures used to end `compare` in a traceback."""
    assert hagrid(tmp_path / "package", name="a|b c@d").name == "a-b-c-d"
    recipe = AlceRecipe(source=f"alce:{EXAMPLES / 'answers' / 'asqa.json'}", name="x|y:z")
    assert build_alce(recipe, run_options(tmp_path / "alce")).name == "x-y-z"


def kalma(out: Path, *more: str) -> None:
    words = ["build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}",
             "--pairs-from-kg", "father", "--limit", "1", "--rounds", "1",
             "--out", str(out)]  # fmt: skip
    cli_group.main([*words, *more], standalone_mode=False)


@pytest.mark.parametrize("kind", ["rage", "hagrid", "alce", "twins", "authorship", "kalma"])
def test_a_half_done_build_of_another_recipe_is_refused(
    tmp_path: Path, small_beir: Path, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """As a kill leaves it: stages are there, and the package is not yet whole."""
    rage(small_beir, tmp_path / "base")
    out = tmp_path / "out"
    asqa = f"alce:{EXAMPLES / 'answers' / 'asqa.json'}"

    def make(if_exists: IfExists, changed: bool) -> object:
        run = run_options(out, if_exists)
        if kind == "rage":
            return rage(small_beir, out, if_exists, limit=2 if changed else None)
        if kind == "hagrid":
            return build_hagrid(HagridRecipe(source=HAGRID, skip_empty=changed), run)
        if kind == "alce":
            return build_alce(AlceRecipe(source=asqa, k=2 + changed), run)
        base = tmp_path / "base"
        if kind == "twins":
            recipe = TwinsRecipe(
                benchmark=base, llm="turning", keep_failed=True, attempts={"limit": 1 + changed}
            )
            return build_twins(recipe, run, Turning())
        if kind == "authorship":
            recipe_ = AuthorshipRecipe(benchmark=base, selection={"k": 2 + changed})
            return build_authorship(recipe_, run)
        more = () if if_exists == "refuse" else (f"--{if_exists}",)
        return kalma(out, *more, "--seed", str(int(changed)))

    unlike = {
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
    with pytest.raises(InputError) as caught:
        make("resume", True)
    assert f"out.partial: is a half-done build of another recipe ({unlike})" in str(caught.value)
    assert "--overwrite" in str(caught.value)
    assert content(partial) == before
    make("resume", False)
    assert not partial.exists()
    assert (out / "manifest.json").is_file()


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
