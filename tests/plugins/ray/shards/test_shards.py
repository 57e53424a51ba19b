"""Shares of a build, done by real processes that know nothing of each other but a folder."""

import json
import shutil
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import citeforge as cf
from citeforge.builders.rage.build import build_rage
from citeforge.engines.embedding.embed import make_embedder
from citeforge.engines.io.files import sha256_file
from citeforge.plugins.ray.shards.commands import ShardOptions
from citeforge.plugins.ray.shards.shares import embed_shard, mine_shard
from citeforge.schemas.command_options import Shard
from citeforge.schemas.recipes.base import checked
from conftest import EXAMPLES, Cli, Inline, content, refused, run_options
from servers import nursery

SOURCE = f"beir:{EXAMPLES / 'facts'}"
RECIPE = (
    "--source",
    SOURCE,
    "--embedder",
    "offline",
    "--compute",
    "fp32",
    "--keep-self",
    "--n-seemingly",
    "4",
)
CPU = ("--device", "cpu", "--shard-rows", "16")


def done(result: subprocess.CompletedProcess[str]) -> str:
    assert result.returncode == 0, result.stderr
    return result.stdout


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a build without shards gives."""
    out = tmp_path_factory.mktemp("plain") / "facts"
    mining = {"seemingly_relevant": 4, "keep_self": True}
    recipe = recipe_of(name="facts", compute="fp32", mining=mining)
    build_rage(recipe, run_options(out, shard_rows=16, device="cpu"))
    return content(out)


def build_of_shares(run: Cli | Inline, folder: Path, n: int, at_once: int) -> dict[str, bytes]:
    """Files of a package that is built from n shares."""
    shards, out = folder / "shards", folder / "out"

    def step(verb: str, i: int) -> str:
        words = CPU if verb == "embed" else ()
        return done(run("shard", verb, "--shard", f"{i}/{n}", "--out", shards, *RECIPE, *words))

    with ThreadPoolExecutor(at_once) as pool:  # at once, also while there is no corpus yet
        for verb in ("embed", "mine"):
            texts = list(pool.map(partial(step, verb), range(1, n + 1)))
            assert verb == "mine" or all("embedded" in text for text in texts)
    assert len(list((shards / "embeddings").glob("passages-*.f16"))) == 6  # 84 passages, 16 each
    done(run("build", "rage", *RECIPE, "--from-shards", shards, "--name", "facts", "--out", out))
    assert not list(shards.glob("*.lock"))
    assert not list(shards.glob("archives*"))
    return content(out)


@pytest.mark.slow
def test_shares_make_the_bytes_of_a_plain_build(
    inline: Inline, tmp_path: Path, plain: dict[str, bytes]
) -> None:
    assert build_of_shares(inline, tmp_path, 2, at_once=1) == plain


@pytest.mark.slow
@pytest.mark.parametrize("n", [1, 3])
def test_shares_of_processes_make_the_bytes_of_a_plain_build(
    cli: Cli, tmp_path: Path, plain: dict[str, bytes], n: int
) -> None:
    assert build_of_shares(cli, tmp_path, n, at_once=n) == plain


@pytest.mark.slow
def test_a_killed_share_goes_on_and_its_disk_may_be_full(
    cli: Cli, tmp_path: Path, plain: dict[str, bytes]
) -> None:
    folder, out = tmp_path / "shards", tmp_path / "out"
    share = ["shard", "embed", "--shard", "1/2", "--out", str(folder), *RECIPE, *CPU]
    # Vectors of 16 passages are 12,288 bytes: the kernel lets no file grow so large.
    result = nursery.run(share, tmp_path, largest=9000)
    assert result.returncode == 1
    assert "size limit is reached" in result.stderr
    assert "Traceback" not in result.stderr
    # Vectors and what they are of, each by a temporary file: the fifth begins the second batch.
    result = nursery.run(share, tmp_path, die_at=(folder / "embeddings", 5))
    assert result.returncode == -signal.SIGKILL, result.stderr
    assert len(list(folder.glob("embeddings/*.json"))) == 1
    for i in (2, 1):
        done(cli("shard", "embed", "--shard", f"{i}/2", "--out", folder, *RECIPE, *CPU))
    # Nothing was mined there: the build does it.
    done(cli("build", "rage", *RECIPE, "--from-shards", folder, "--name", "facts", "--out", out))
    assert content(out) == plain


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Vectors of one share of two in `shards`, all in `whole`."""
    made = tmp_path_factory.mktemp("made")
    embed(made / "shards", "1/2")
    embed(made / "whole", "1/1")
    return made


def test_a_share_that_was_cut_off_goes_on(made: Path, tmp_path: Path) -> None:
    whole = shutil.copytree(made / "whole", tmp_path / "whole")
    for name in ("passages-00003", "passages-00004"):
        for ending in (".f16", ".json"):
            (whole / "embeddings" / name).with_suffix(ending).unlink()
    embed(whole, "1/1")
    assert content(whole) == content(made / "whole")


@pytest.fixture
def folder(tmp_path: Path, made: Path) -> Path:
    """Copies of both."""
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    return tmp_path / "shards"


def embed(folder: Path, shard: str, **config: object) -> None:
    recipe = recipe_of(**config)
    embed_shard(
        recipe, run_options(folder, shard_rows=16), share(shard),
        lambda: make_embedder("offline", device="cpu"),
    )  # fmt: skip


def share(text: str) -> Shard:
    return Shard.model_validate(text)


def recipe_of(**config: object) -> cf.RageRecipe:
    return checked(cf.RageRecipe, **{"source": SOURCE, "embedder": "offline", **config})


def build(folder: Path, out: Path, **config: object) -> None:
    build_rage(recipe_of(**config), run_options(out, from_shards=folder))


def test_what_is_missing_is_named(folder: Path, tmp_path: Path) -> None:
    whole, missing = tmp_path / "whole", folder / "embeddings" / "passages-00001.f16"
    with refused("missing-file", path=missing):
        build(folder, tmp_path / "out")
    with refused("missing-file", path=missing):
        mine_shard(recipe_of(), run_options(folder), share("1/2"))
    mine_shard(recipe_of(), run_options(whole), share("2/3"))
    with refused("missing-file", path=whole) as caught:
        build(whole, tmp_path / "out")
    assert "share 1/3" in str(caught.value)
    with refused("missing-file", path=tmp_path / "nothing"):
        build(tmp_path / "nothing", tmp_path / "out")
    assert not (tmp_path / "nothing").exists()


def test_shards_of_another_build_are_refused(folder: Path, tmp_path: Path) -> None:
    whole = tmp_path / "whole"
    with refused("recipe-changed", path=folder) as caught:
        embed(folder, "2/2", seed=5)
    assert "config.seed: 0 → 5" in str(caught.value)
    with refused("recipe-changed", path=whole):
        build(whole, tmp_path / "out", passage_prefix="p")
    mine_shard(recipe_of(), run_options(whole), share("1/1"))
    with refused("recipe-changed", path=whole):
        mine_shard(recipe_of(mining={"skip_top": 2}), run_options(whole), share("1/1"))
    with refused("hash-mismatch", path=whole / "mined-1-of-1"):
        build(whole, tmp_path / "out", mining={"skip_top": 2})


@pytest.mark.parametrize(
    ("damage", "code"),
    [
        ("model", "recipe-changed"),
        ("flip", "hash-mismatch"),
        ("marker", "hash-mismatch"),
        ("texts", "input-changed"),
        ("facts", "wrong-value"),
    ],
)
def test_damaged_shards_are_named(folder: Path, tmp_path: Path, damage: str, code: str) -> None:
    whole = tmp_path / "whole"
    path = whole / "embeddings" / "passages-00002.f16"
    marker = path.with_suffix(".json")
    if damage == "model":
        known = json.loads(marker.read_text())
        known["recipe"]["embedder"]["dtype"], known["key"] = "float8", "0" * 64
        marker.write_text(json.dumps(known))
    elif damage == "flip":
        path.write_bytes(bytes([path.read_bytes()[0] ^ 1]) + path.read_bytes()[1:])
    elif damage == "marker":
        marker.write_text("[]")
    elif damage == "texts":
        for ending in (".f16", ".json"):
            shutil.copy(path.with_name(f"passages-00001{ending}"), path.with_suffix(ending))
    else:
        (whole / "embed.json").write_text('{"embedder": 1}')
    with refused(code, path=whole / "embed.json" if damage == "facts" else path):
        build(whole, tmp_path / "out")


COLUMNS = {
    "row 10^9": ("row", 10**9), "row -1": ("row", -1), "position 10^9": ("position", 10**9),
    "position -1": ("position", -1), "no score": ("score", None),
    "score NaN": ("score", float("nan")), "rank 0": ("rank", 0),
}  # fmt: skip
MARKERS: dict[str, dict[str, object]] = {
    "no record": {"record": None}, "a list": {"record": []}, "no counts": {"record": {}},
    "a text": {"record": {"dropped": {"x": 1}, "above": {}}},
    "less than none": {"record": {"dropped": {}, "above": {"--margin": -1}}},
    "files a list": {"files": []}, "files elsewhere": {"files": {"../../embed.json": "0"}},
}  # fmt: skip


@pytest.mark.parametrize("forgery", [*COLUMNS, *MARKERS, "twice", "truncated"])
def test_forged_shares_are_refused(made: Path, tmp_path: Path, forgery: str) -> None:
    whole = tmp_path / "whole"
    shutil.copytree(made / "whole", whole)
    mine_shard(recipe_of(), run_options(whole), share("1/1"))
    marker, (path,) = whole / "mined-1-of-1.json", (whole / "mined-1-of-1").iterdir()
    table = pq.read_table(path)
    if forgery in COLUMNS:
        name, value = COLUMNS[forgery]
        at = table.schema.get_field_index(name)
        changed = pa.array([value, *table[name].to_pylist()[1:]], table.schema.field(at).type)
        table = table.set_column(at, table.schema.field(at), changed)
    pq.write_table(pa.concat_tables([table] * (1 + (forgery == "twice"))), path)
    if forgery == "truncated":
        path.write_bytes(path.read_bytes()[:-40])
    content = json.loads(marker.read_text())
    content["files"] = {path.name: sha256_file(path)}  # as whoever forged it would write
    marker.write_text(json.dumps({**content, **MARKERS.get(forgery, {})}))
    with pytest.raises(cf.InputError) as caught:
        build(whole, tmp_path / "out")
    assert caught.value.code == ("bad-parquet" if forgery == "truncated" else "hash-mismatch")
    assert caught.value.path in (str(path), str(path.parent))
    assert not (tmp_path / "out").exists()


def test_two_merges_at_once(folder: Path, tmp_path: Path) -> None:
    from citeforge.engines.io.folders import staging_directory

    with (
        staging_directory(tmp_path / "out"),
        refused("locked", path=tmp_path / "out"),
    ):
        build(tmp_path / "whole", tmp_path / "out")


def test_what_has_no_shares(tmp_path: Path, package: Path) -> None:
    (tmp_path / "full").mkdir()
    (tmp_path / "full" / "thesis.txt").write_text("mine")
    with refused("foreign-file", path=tmp_path / "full"):
        embed(tmp_path / "full", "1/1")
    for code, more in (
        ("option-without-effect", {"candidates": "bm25"}),
        ("option-without-effect", {"mining": {"seemingly_relevant": 0}}),
        ("option-without-effect", {"source": f"rage:{package}"}),
        ("conflicting-options", {"compute": "int8"}),
    ):
        with refused(code, cf.UsageError):
            embed(tmp_path / "out", "1/1", **more)
    with refused("bad-option", cf.UsageError):
        checked(cf.RunOptions, from_shards=tmp_path, embeddings=tmp_path)


@pytest.mark.parametrize("text", ["0/2", "3/2", "1", "1/0", "a/b", "-1/2"])
def test_shares_that_cannot_be(text: str) -> None:
    with refused("bad-option", cf.UsageError):
        checked(ShardOptions, shard=text)
