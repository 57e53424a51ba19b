"""Work on a real Ray: the same bytes as here, whatever dies meanwhile."""

import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pytest

import citeforge as cf
from citeforge.engines.embedding.vectors import VectorShard, ensure_shards, unit_rows
from citeforge.engines.judge.hf import HfOptions
from citeforge.engines.judge.records import JudgeFailure, Pair, Verdict
from citeforge.engines.judge.registry import make_judge
from citeforge.engines.judge.session import JudgeSession, VerdictStore
from citeforge.engines.models.compute import cpu_has_bfloat16
from citeforge.engines.models.embedder import Embedder
from citeforge.engines.search.exact import retrieve_candidates
from citeforge.plugins.ray.options import RayOptions
from citeforge.plugins.ray.runner import RayRunner
from citeforge.plugins.ray.work import ClusterEmbedder, ClusterJudge, search_shards
from conftest import EXAMPLES, content, refused, write_beir
from servers.dying import BAD, FATAL, ONCE, DyingEmbedder, DyingJudge, UnlikeEmbedder, no_model
from servers.tiny_embedder import make_embedder_folder, passages
from servers.tiny_nli import make_pair, make_tokenizer

pytestmark = pytest.mark.ray

BUILD = ("build", "rage", "--source", f"beir:{EXAMPLES / 'facts'}", "--embedder", "offline")
BUILD += ("--device", "cpu", "--shard-rows", "2", "--out", "facts")
# `auto` may choose int8 on this machine, and never on a cluster, whose workers may be others.
BUILD += ("--compute", "bf16" if cpu_has_bfloat16() else "fp32")


_commands: list[subprocess.Popen[str]] = []


@pytest.fixture(autouse=True)
def no_command_outlives_its_test() -> Iterator[None]:
    """One that does holds cores of the cluster, for which the next test would wait."""
    yield
    for command in _commands:
        command.kill()
        command.wait()
    _commands.clear()


def start(folder: Path, *words: object, **more: str) -> subprocess.Popen[str]:
    """The command, in a process that can be killed."""
    command = subprocess.Popen(
        [sys.executable, "-m", "citeforge", *map(str, words)],
        cwd=folder, env={**os.environ, **more}, text=True,
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
    )  # fmt: skip
    _commands.append(command)
    return command


def finished(process: subprocess.Popen[str]) -> str:
    """Standard error of a command that must end well."""
    _, error = process.communicate()
    assert process.returncode == 0, error
    return error


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
    finished(start(folder, *BUILD))
    return content(folder / "facts")


def shards(folder: Path) -> list[Path]:
    return list(folder.glob("facts.partial/embeddings/*.json"))


def test_a_build_whose_worker_and_driver_are_killed_ends_in_the_same_bytes(
    tmp_path: Path, address: str, facts: dict[str, bytes]
) -> None:
    """First the driver dies, then a worker of the build that goes on."""
    engine = ("--engine", "ray", "--ray-address", address, "--ray-workers", "2")
    driver = start(tmp_path, *BUILD, *engine)
    while not shards(tmp_path):
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.005)
    driver.kill()
    driver.communicate()
    made = len(shards(tmp_path))
    assert 1 <= made < 42  # 84 passages in shards of 2
    assert not (tmp_path / "facts").exists()

    again = start(tmp_path, *BUILD, *engine, "--resume")
    while len(shards(tmp_path)) == made:
        assert again.poll() is None, again.communicate()
        time.sleep(0.005)
    os.kill(workers_of()[0], signal.SIGKILL)
    finished(again)
    assert content(tmp_path / "facts") == facts


@pytest.mark.skipif(not all(map(find_spec, ("openvino", "nncf"))), reason="without the extra fast")
def test_two_stages_on_workers_end_in_the_same_bytes(tmp_path: Path, address: str) -> None:
    """Each worker quantises the model there, and the command here."""
    make_embedder_folder(tmp_path)
    texts = {f"p{i}": text for i, text in enumerate(passages(400))}
    queries = {f"q{i}": text for i, text in enumerate(passages(2, seed=1, longest=9))}
    write_beir(tmp_path / "beir", texts, queries, [("q0", "p0", 1), ("q1", "p1", 1)])
    words = ["build", "rage", "--source", f"beir:{tmp_path / 'beir'}", "--device", "cpu"]
    words += ["--embedder", str(tmp_path / "model"), "--compute", "int8", "--n-seemingly", "3"]
    words += ["--shard-rows", "100", "--out", "b"]
    for place, engine in (
        ("local", []),
        ("ray", ["--engine", "ray", "--ray-address", address, "--ray-workers", "2"]),
    ):
        (tmp_path / place).mkdir()
        finished(start(tmp_path / place, *words, *engine))
    result = content(tmp_path / "ray" / "b")
    assert result == content(tmp_path / "local" / "b")
    assert b'"dtype": "int8"' in result["manifest.json"]


def embedder(cluster: RayOptions, make: Any = DyingEmbedder) -> ClusterEmbedder:
    return ClusterEmbedder(make, "cpu", cluster)


def embed(folder: Path, texts: list[list[str]], by: Embedder) -> list[VectorShard]:
    pieces = (pa.array(shard) for shard in texts)
    return ensure_shards(folder, "passages", pieces, by, "passage", lambda *_: None)


def test_a_shard_that_kills_every_worker_is_named_and_the_others_go_on(
    tmp_path: Path, cluster: RayOptions
) -> None:
    texts = [["a"], ["bb", "cc"], [FATAL], ["dddd"], [BAD], ["eeeee"]]
    with refused("counted-failures", cf.FailuresError, exit_code=3) as caught:
        embed(tmp_path / "ray", texts, embedder(cluster))
    told = str(caught.value)
    assert told.startswith(
        "2 shards have no vectors (passages-00002.vectors, passages-00004.vectors), 4 are kept. "
        "passages-00002.vectors (texts 4 to 4): 3 workers failed on it, the last one so: it died"
    )
    assert told.endswith("Run again with --resume")
    harmless = [shard for shard in texts if shard[0] not in (FATAL, BAD)]
    assert len(list((tmp_path / "ray").glob("*.vectors"))) == len(harmless)
    # Mended, only what is missing is made; the bytes are those of a build in this process.
    mended = [["z"] if shard[0] in (FATAL, BAD) else shard for shard in texts]
    embed(tmp_path / "ray", mended, embedder(cluster))
    embed(tmp_path / "here", mended, DyingEmbedder())
    assert content(tmp_path / "ray") == content(tmp_path / "here")


def test_one_death_costs_nothing(tmp_path: Path, cluster: RayOptions) -> None:
    texts = [["a"], [f"{ONCE} {tmp_path / 'x'}"], ["b"], [f"{ONCE} {tmp_path / 'y'}"], ["c"]]
    embed(tmp_path / "ray", texts, embedder(cluster))
    embed(tmp_path / "here", texts, DyingEmbedder())
    assert content(tmp_path / "ray") == content(tmp_path / "here")


def test_workers_that_compute_otherwise_are_refused(tmp_path: Path, cluster: RayOptions) -> None:
    """As where one machine has bfloat16 and another has not."""
    texts = [[f"{ONCE} {tmp_path / 'x'}"], ["b"], ["c"]]
    with refused("not-comparable") as caught:
        embed(tmp_path / "ray", texts, embedder(cluster, UnlikeEmbedder))
    assert re.search(r"dtype '[0-9]+' .on .* '[0-9]+'", str(caught.value))


def test_what_cannot_be_loaded_is_told_as_it_is_without_a_cluster(
    tmp_path: Path, cluster: RayOptions
) -> None:
    with refused("missing-model", cf.InputError, path="here"):
        embed(tmp_path / "ray", [["a"]], embedder(cluster, no_model))


@pytest.fixture
def pairs() -> Iterator[list[Pair]]:
    yield [Pair(f"premise {i}" + " word" * (i % 7), f"{i % 5}") for i in range(300)]


def test_a_judge_on_workers_decides_as_here(
    tmp_path: Path, cluster: RayOptions, pairs: list[Pair]
) -> None:
    pairs.append(Pair("premise", f"{ONCE} {tmp_path / 'x'}"))
    there = JudgeSession(
        ClusterJudge(DyingJudge, "cpu", cluster, 8), VerdictStore(tmp_path / "there.db")
    )
    result = there.ask(pairs)
    here = JudgeSession(DyingJudge()).ask(pairs)
    assert {p: v.entailed for p, v in result.items() if isinstance(v, Verdict)} == {
        p: v.entailed for p, v in here.items() if isinstance(v, Verdict)
    }
    assert there.judge.identity() == DyingJudge().identity()
    assert there.judge.count_tokens(pairs) == DyingJudge().count_tokens(pairs)
    again = JudgeSession(
        ClusterJudge(DyingJudge, "cpu", cluster), VerdictStore(tmp_path / "there.db")
    )
    assert again.ask(pairs) == result
    assert (again.n_asked, again.n_stored) == (0, len(set(pairs)))


def test_a_t5_on_workers_gives_every_margin_to_the_last_bit(
    tmp_path: Path, cluster: RayOptions
) -> None:
    """300 pairs are three pieces; batches of 8 are those that are cut here."""
    random_t5(tmp_path)
    rng = random.Random(1)
    asked = [Pair(*make_pair(rng, rng.randint(2, 60))[:2]) for _ in range(300)]
    options = HfOptions(device="cpu", profile="true-t5")
    here = make_judge(f"hf:{tmp_path}", hf=options)
    there = make_judge(f"hf:{tmp_path}", hf=options, place=RayRunner(cluster).judge)
    assert isinstance(there, ClusterJudge)
    assert there.identity() == here.identity()
    assert (there.signature, there.comparable) == (here.signature, here.comparable)
    assert JudgeSession(there).ask(asked) == JudgeSession(here).ask(asked)


def random_t5(folder: Path) -> None:
    """As it comes: margins are all that matters."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = make_tokenizer(folder, pair=False)
    size = {"d_model": 32, "d_kv": 8, "d_ff": 64, "num_layers": 2, "num_heads": 4}
    config = T5Config(vocab_size=len(tokenizer), decoder_start_token_id=0, eos_token_id=1, **size)
    T5ForConditionalGeneration(config).eval().save_pretrained(folder)


def test_a_pair_that_kills_every_worker_is_the_only_failure(
    cluster: RayOptions, pairs: list[Pair]
) -> None:
    fatal = Pair("premise", FATAL)
    session = JudgeSession(ClusterJudge(DyingJudge, "cpu", cluster))
    result = session.ask([*pairs[:20], fatal])
    assert isinstance(result[fatal], JudgeFailure)
    assert "3 workers failed on it" in result[fatal].message
    assert (session.n_failed, session.n_asked) == (1, 21)


def test_workers_nominate_what_is_nominated_here(tmp_path: Path, cluster: RayOptions) -> None:
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
    assert done == [50, 50, 50, 1, 149, 99, 1]


def _shard(path: Path, rows: npt.NDArray[np.float32]) -> VectorShard:
    rows.astype("<f4").tofile(path)
    return VectorShard(path, len(rows), rows.shape[1], path.name)


def test_a_ray_of_our_own_listens_on_loopback_only_and_ends_with_the_driver(
    tmp_path: Path, facts: dict[str, bytes]
) -> None:
    before = set(workers_of())
    environment = {"RAY_ADDRESS": ""}
    driver = start(tmp_path, *BUILD, "--engine", "ray", **environment)
    while not shards(tmp_path):
        assert driver.poll() is None, driver.communicate()
        time.sleep(0.005)
    assert listening_beyond_loopback(driver.pid) == []
    mine = set(workers_of()) - before
    assert mine
    driver.kill()
    driver.communicate()
    while mine & set(workers_of()):
        time.sleep(0.1)
    finished(start(tmp_path, *BUILD, "--resume"))  # here, after a Ray: the engine is no matter
    assert content(tmp_path / "facts") == facts


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
