"""Work on a real Ray: the same bytes as here, whatever dies meanwhile."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Thread

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.judge.records import Pair
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.models.compute import cpu_has_bfloat16
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.models.vectors import VectorShard, ensure_shards, unit_rows
from citeforge.engines.retrieval.exact import retrieve_candidates
from citeforge.engines.running.names import make_judge
from citeforge.engines.running.ray_runner import RayRunner
from citeforge.engines.running.ray_work import ClusterEmbedder, ClusterJudge, search_shards
from citeforge.schemas.recipes.base import Judging, RunOptions
from citeforge.schemas.recipes.ray import RayOptions
from conftest import EXAMPLES, content, refused, run_inline, write_beir
from servers.dying import FATAL, ONCE, DyingEmbedder
from servers.tiny_embedder import make_embedder_folder, passages
from servers.tiny_nli import make_pair, make_tokenizer

pytestmark = pytest.mark.ray

BUILD = ("build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--embedder", "offline")
BUILD += ("--device", "cpu", "--compute", "fp32", "--shard-rows", "2", "--out", "facts")


@contextmanager
def started(folder: Path, *words: object) -> Iterator[subprocess.Popen[str]]:
    """The command with a Ray of its own, in a process that is killed at the end."""
    command = subprocess.Popen(
        [sys.executable, "-m", "citeforge", *map(str, words), "--engine", "ray"],
        cwd=folder, env={**os.environ, "RAY_ADDRESS": ""}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    try:
        yield command
    finally:
        command.kill()
        command.communicate()


def workers_of(name: bytes = b"ray::MapWorker") -> list[int]:
    """Processes that Ray calls so."""
    result = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            if name in path.read_bytes():
                result.append(int(path.parent.name))
        except OSError:
            continue
    return result


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    """What a build without Ray writes."""
    folder = tmp_path_factory.mktemp("local")
    run_inline(BUILD, folder, {}).check_returncode()
    return content(folder / "facts")


def shards(folder: Path) -> list[Path]:
    return list(folder.glob("facts.partial/embeddings/*.json"))


def kill_a_worker(folder: Path, n_shards: int, killed: list[int]) -> None:
    """Kill a worker, and note it, once a build has made more shards than that."""
    while len(shards(folder)) <= n_shards:
        time.sleep(0.005)
    killed.append(workers_of()[0])
    os.kill(killed[0], signal.SIGKILL)


def test_a_build_whose_driver_and_worker_are_killed_ends_in_the_same_bytes(
    tmp_path: Path, cluster: RayOptions, facts: dict[str, bytes]
) -> None:
    """The driver has a Ray of its own, which listens on loopback only and ends with it."""
    folder, before = tmp_path / "there", set(workers_of())
    folder.mkdir()
    with started(folder, *BUILD) as driver:
        while not shards(folder):
            assert driver.poll() is None, driver.communicate()
            time.sleep(0.005)
        assert listening_beyond_loopback(driver.pid) == []
        mine = set(workers_of()) - before
        assert mine
    while mine & set(workers_of()):
        time.sleep(0.1)
    made = len(shards(folder))
    assert 1 <= made < 42  # 84 passages in shards of 2
    assert not (folder / "facts").exists()
    # It goes on without Ray, and on a cluster one of whose workers is killed.
    here = shutil.copytree(folder, tmp_path / "here")
    run_inline([*BUILD, "--resume"], here, {}).check_returncode()
    assert content(here / "facts") == facts
    killed: list[int] = []
    Thread(target=kill_a_worker, args=(folder, made, killed), daemon=True).start()
    engine = ("--engine", "ray", "--ray-address", cluster.address, "--ray-workers", "2")
    run_inline([*BUILD, *engine, "--resume"], folder, {}).check_returncode()
    assert killed
    assert content(folder / "facts") == facts


def listening_beyond_loopback(root: int) -> list[str]:
    """Addresses other than loopback on which a process or its descendants listen."""
    ss = shutil.which("ss")
    assert ss, "ss (iproute2) is needed"
    family = {root}
    for _ in range(4):
        for path in Path("/proc").glob("[0-9]*/stat"):
            try:
                fields = path.read_text().rpartition(")")[2].split()
            except OSError:
                continue
            if int(fields[1]) in family:
                family.add(int(path.parent.name))
    rows = subprocess.run([ss, "-ltnpH"], capture_output=True, text=True, check=True).stdout
    return [
        row
        for row in rows.splitlines()
        if any(f"pid={pid}," in row for pid in family)
        and not row.split()[3].startswith(("127.", "[::1]", "[::ffff:127."))
    ]


def test_two_stages_on_workers_end_in_the_same_bytes(tmp_path: Path, cluster: RayOptions) -> None:
    """Passages that lie near each other are embedded twice, here and on a worker."""
    make_embedder_folder(tmp_path)
    texts = {f"p{i}": text for i, text in enumerate(passages(400))}
    texts |= {f"twin{i}": f" {text}" for i, text in enumerate(list(texts.values())[100:150])}
    queries = {f"q{i}": text for i, text in enumerate(passages(2, seed=1, longest=9))}
    write_beir(tmp_path / "beir", texts, queries, [("q0", "p0", 1), ("q1", "p1", 1)])
    first = "bf16" if cpu_has_bfloat16() else "fp32"
    words = ["build", "rage", "--source", f"beir:{tmp_path / 'beir'}", "--device", "cpu"]
    words += ["--embedder", str(tmp_path / "model"), "--compute", first, "--n-seemingly", "60"]
    words += ["--shard-rows", "200", "--out", "b"]
    engine = ["--engine", "ray", "--ray-address", cluster.address, "--ray-workers", "1"]
    for place, more in (("here", []), ("there", engine)):
        (tmp_path / place).mkdir()
        run_inline([*words, *more], tmp_path / place, {}).check_returncode()
    result = content(tmp_path / "there" / "b")
    assert result == content(tmp_path / "here" / "b")
    assert json.loads(result["manifest.json"])["computed"]["passages_decided_in_float64"] > 0


def embed(folder: Path, texts: list[list[str]], by: Embedder) -> None:
    shards = (pa.array(shard) for shard in texts)
    ensure_shards(folder, "passages", shards, by, "passage", lambda *_: None)


def test_a_death_costs_nothing_and_a_block_that_kills_every_worker_is_named(
    tmp_path: Path, cluster: RayOptions
) -> None:
    """The run ends there; with that shard mended, it goes on with what is missing."""
    there = ClusterEmbedder(DyingEmbedder, "cpu", cluster)
    texts = [["a"], [f"{ONCE} {tmp_path / 'x'}"], [FATAL], ["dddd", "ee"], ["f"]]
    with refused("failed-workers", cf.InputError, path="1 texts from 'fatal' on") as caught:
        embed(tmp_path / "there", texts, there)
    assert "3 workers died of it" in str(caught.value)
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "there").glob("*.vectors")}
    assert kept  # a worker takes the third block after its first
    texts[2] = ["mended"]
    embed(tmp_path / "there", texts, there)
    embed(tmp_path / "here", texts, DyingEmbedder())
    assert content(tmp_path / "there") == content(tmp_path / "here")
    assert kept == {path: path.stat().st_mtime_ns for path in kept}


def test_a_t5_on_a_worker_gives_every_margin_to_the_last_bit(
    tmp_path: Path, cluster: RayOptions
) -> None:
    """150 pairs are two blocks; batches of 8 are those that are cut here. Verdicts are kept."""
    random_t5(tmp_path)
    rng = random.Random(1)
    asked = [Pair(*make_pair(rng, rng.randint(2, 60))[:2]) for _ in range(150)]
    judging, run = Judging(judge_profile="true-t5"), RunOptions(device="cpu")
    one = RayRunner(RayOptions(address=cluster.address, workers=1))
    here = make_judge(f"hf:{tmp_path}", judging=judging, run=run)
    there = make_judge(f"hf:{tmp_path}", judging=judging, run=run, factory=one.judge)
    assert isinstance(there, ClusterJudge)
    assert there.identity() == here.identity()
    assert (there.signature, there.comparable) == (here.signature, here.comparable)
    with VerdictStore(tmp_path / "verdicts") as store:
        result = JudgeSession(there, store).ask(asked)
        assert result == JudgeSession(here).ask(asked)
        again = JudgeSession(here, store)
        assert again.ask(asked) == result
        assert (again.n_asked, again.n_stored) == (0, len(set(asked)))


def random_t5(folder: Path) -> None:
    """As it comes: margins are all that matters."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = make_tokenizer(folder, pair=False)
    size = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, eos_token_id=1, **size)
    T5ForConditionalGeneration(config).eval().save_pretrained(folder)


def test_workers_find_the_candidates_that_are_found_here(
    tmp_path: Path, cluster: RayOptions
) -> None:
    """Seven shards of unequal length; every vector twice, so that there are ties."""
    rng = np.random.default_rng(5)
    half = rng.standard_normal((200, 16)).astype(np.float32)
    vectors = np.concatenate([half, half])
    cuts = np.split(vectors, [50, 100, 150, 151, 300, 399])
    made = [_shard(tmp_path / f"{i}.vectors", rows) for i, rows in enumerate(cuts)]
    queries = unit_rows(rng.standard_normal((30, 16)).astype(np.float32))
    done: list[int] = []
    there = search_shards(cluster, "cpu", queries, made, 10, lambda n, *_: done.append(n))
    here = retrieve_candidates(queries, made, 10, lambda *_: None, device="cpu")
    assert np.allclose(there[0], here[0], atol=1e-6)
    assert (np.sort(there[1] % 200) == np.sort(here[1] % 200)).all()
    assert sorted(done) == [1, 1, 50, 50, 50, 99, 149]


def _shard(path: Path, rows: npt.NDArray[np.float32]) -> VectorShard:
    rows.astype("<f4").tofile(path)
    return VectorShard(path, len(rows), rows.shape[1], path.name)
