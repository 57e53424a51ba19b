"""The cache of vectors: nothing is embedded twice, and what is damaged is not used."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.models import vector_cache
from citeforge.engines.models.cached import cached_embedder
from citeforge.engines.models.embed import EmbedderSettings, LocalEmbedder
from citeforge.engines.models.embedder import Distributed, Role, vectors_depend_on
from citeforge.engines.models.transformer import TransformerEmbedder
from citeforge.engines.models.vector_cache import (
    GIGABYTE,
    CachedVectors,
    VectorCache,
    cache_folder,
    digest_each,
    open_cache,
)
from citeforge.engines.running.names import make_embedder
from citeforge.schemas.recipes.base import Compute, RunOptions
from stand_ins import RuleEmbedder


class Letters(RuleEmbedder):
    """Counts of four letters; as a local model, it says in which numbers it computes."""

    def __init__(self, computed: dict[str, Any] | None = None, **facts: Any) -> None:
        computed = computed or {"dtype": "float32", "device": "cpu"}
        super().__init__(
            lambda text: [1 + text.count(c) / 3 for c in "abcd"], computed=computed, **facts
        )


def encode(
    root: Path, texts: Sequence[str], kind: Role = "passage", limit: int = GIGABYTE, **facts: Any
) -> tuple[np.ndarray, list[str]]:
    """Vectors of texts by a new embedder over a cache, and the texts that it was asked for."""
    embedder = Letters(**facts)
    vectors = cached_embedder(embedder, VectorCache(root, limit)).encode(texts, kind)
    return vectors, embedder.asked


def blocks(root: Path) -> list[Path]:
    return sorted(root.rglob("*.blocks"))


TEXTS = ["a", "bb", "abc", "", "dd"]


def test_blocks_are_read_whole_once_in_any_order(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts = [f"{'abcd'[i % 4]} {i}" for i in range(40)]
    for start in range(0, 40, 10):  # four blocks
        encode(tmp_path, texts[start : start + 10])
    whole = []
    read = CachedVectors._read_block
    monkeypatch.setattr(
        CachedVectors, "_read_block", lambda self, block: whole.append(block) or read(self, block)
    )
    cached = cached_embedder(Letters(), VectorCache(tmp_path, GIGABYTE))
    mixed = [texts[10 * (i % 4) + i // 4] for i in range(40)]
    batches = [mixed[i : i + 8] for i in range(0, 40, 8)]  # each has texts of all blocks
    found = np.concatenate([cached.encode(batch, "passage") for batch in batches])
    assert len(whole) == len(set(whole)) == 4
    assert np.array_equal(found, Letters().encode(mixed, "passage"))


def test_only_new_texts_are_embedded(tmp_path: Path) -> None:
    first, asked = encode(tmp_path, TEXTS)
    assert asked == TEXTS
    again, asked = encode(tmp_path, ["new", *reversed(TEXTS)])
    assert asked == ["new"]
    assert np.array_equal(again[1:], first[::-1])
    assert np.array_equal(again[:1], Letters().encode(["new"], "passage"))
    assert encode(tmp_path, [*TEXTS, "new"])[1] == []


class Cluster(Letters):
    """Embeds the arrays of a corpus together, the last one first."""

    def encode_each(
        self, shards: Iterable[pa.Array], kind: Role
    ) -> Iterator[tuple[int, np.ndarray]]:
        for number, texts in reversed(list(enumerate(shards))):
            empty = np.empty((0, 0), np.float32)
            yield number, self.encode(texts.to_pylist(), kind) if len(texts) else empty


def test_a_cluster_embeds_only_new_texts(tmp_path: Path) -> None:
    for shards, new in (
        ([["a", "bb"], ["abc"], ["dd"]], ["dd", "abc", "a", "bb"]),
        ([["a", "x"], ["bb", "abc"], ["y"]], ["y", "x"]),
    ):
        cluster = Cluster()
        cached = cached_embedder(cluster, VectorCache(tmp_path, GIGABYTE))
        assert isinstance(cached, Distributed)
        assert not isinstance(cached_embedder(Letters(), VectorCache(tmp_path, 1)), Distributed)
        arrays = [pa.array(texts) for texts in shards]
        made = dict(cached.encode_each(arrays, "passage"))
        assert cluster.asked == new
        for number, texts in enumerate(shards):
            assert np.array_equal(made[number], Letters().encode(texts, "passage"))
    cached.encode(["a", "bb", "y"], "passage")
    assert cluster.asked == new  # no worker starts for known texts


def test_without_a_cache_the_embedder_is_its_own() -> None:
    embedder = Letters()
    assert cached_embedder(embedder, None) is embedder


@pytest.mark.parametrize(
    ("facts", "is_shared"),
    [
        ({"computed": {"dtype": "float32", "device": "cuda", "batch_size": 64}}, True),
        ({"query_prefix": "ask: "}, True),  # the texts are passages
        ({"prefixes": "given"}, True),
        ({"computed": {"dtype": "float64", "device": "cpu"}}, False),
        ({"passage_prefix": "read: "}, False),
        ({"folder_sha256": "other files"}, False),
        ({"revision": "0a"}, False),
        ({"plugin": "mine"}, False),
    ],
    ids=str,
)
def test_what_vectors_depend_on(tmp_path: Path, facts: dict[str, Any], is_shared: bool) -> None:
    encode(tmp_path, TEXTS)
    assert encode(tmp_path, TEXTS, **facts)[1] == ([] if is_shared else TEXTS)


def test_queries_and_passages_are_apart(tmp_path: Path) -> None:
    encode(tmp_path, TEXTS)
    assert encode(tmp_path, TEXTS, "query")[1] == TEXTS


def test_other_libraries_embed_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    encode(tmp_path, TEXTS)
    before = vectors_depend_on(Letters().fingerprint(), "passage")["model"]["libraries"]
    assert list(before) == ["torch", "transformers", "tokenizers", "sentence-transformers"]
    monkeypatch.setattr("citeforge.engines.models.embedder.version", lambda name: "99.0+cpu")
    assert encode(tmp_path, TEXTS)[1] == TEXTS
    monkeypatch.setattr("citeforge.engines.models.embedder.version", lambda name: "99.0+cu129")
    assert encode(tmp_path, TEXTS)[1] == []


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_cold_and_warm_vectors_are_the_same_to_the_bit(tmp_path: Path, dtype: str) -> None:
    computed = {"dtype": dtype}
    cold, _ = encode(tmp_path, TEXTS, computed=computed)
    half, _ = encode(tmp_path, ["x", *TEXTS, "y"], computed=computed)
    warm, asked = encode(tmp_path, TEXTS, computed=computed)
    assert asked == []
    assert cold.tobytes() == warm.tobytes() == half[1:-1].tobytes()
    assert cold.dtype == half.dtype == (np.float64 if dtype == "float64" else np.float32)


def flip(file: Path, at: int) -> None:
    whole = bytearray(file.read_bytes())
    whole[at] ^= 1
    file.write_bytes(whole)


# Head: magic 8, rows 4, dimension 4, sha256 32; then 5 digests of 16 bytes and 5 vectors of 16.
@pytest.mark.parametrize("at", [0, 8, 12, 16, 47, 48, 127, 128, 207])
def test_any_changed_byte_is_noticed(tmp_path: Path, at: int) -> None:
    before, _ = encode(tmp_path, TEXTS)
    (file,) = blocks(tmp_path)
    assert file.stat().st_size == 8 + 4 + 4 + 32 + 5 * 16 + 5 * 4 * 4 == 208
    flip(file, at)
    after, asked = encode(tmp_path, TEXTS)
    assert asked == TEXTS
    assert np.array_equal(before, after)
    assert encode(tmp_path, TEXTS)[1] == []


@pytest.mark.parametrize(("rows", "dimension"), [(0, 4), (5, 0), (0, 0), (1, 0), (2**32 - 1, 0)])
def test_a_head_without_vectors_is_damaged(tmp_path: Path, rows: int, dimension: int) -> None:
    before, _ = encode(tmp_path, TEXTS)
    (file,) = blocks(tmp_path)
    whole = bytearray(file.read_bytes())
    whole[8:16] = rows.to_bytes(4, "little") + dimension.to_bytes(4, "little")
    file.write_bytes(whole)
    after, asked = encode(tmp_path, TEXTS)
    assert asked == TEXTS
    assert np.array_equal(before, after)
    assert file not in blocks(tmp_path)
    assert encode(tmp_path, TEXTS)[1] == []


@given(at=st.integers(0, 207), value=st.integers(0, 255))
def test_vectors_of_a_file_with_any_other_byte_are_the_same(
    tmp_path_factory: pytest.TempPathFactory, at: int, value: int
) -> None:
    root = tmp_path_factory.mktemp("byte")
    before, _ = encode(root, TEXTS)
    (file,) = blocks(root)
    whole = bytearray(file.read_bytes())
    is_changed, whole[at] = whole[at] != value, value
    file.write_bytes(whole)
    after, asked = encode(root, TEXTS)
    assert asked == (TEXTS if is_changed else [])
    assert np.array_equal(before, after)


def test_damage_is_reported_and_the_file_removed(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    encode(tmp_path, TEXTS)
    (file,) = blocks(tmp_path)
    flip(file, 207)
    encode(tmp_path, TEXTS)
    said = capsys.readouterr().err
    assert said == (
        f"warning: {file}: damaged since it was written; its vectors are computed again\n"
    )
    assert file not in blocks(tmp_path)


@given(st.data())
def test_what_is_whole_of_a_cut_file_is_read(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    root = tmp_path_factory.mktemp("cut")
    embedder = Letters()
    cached = cached_embedder(embedder, VectorCache(root, GIGABYTE))
    for text in TEXTS:
        cached.encode([text], "passage")
    (file,) = blocks(root)
    whole = file.read_bytes()
    one = 8 + 4 + 4 + 32 + 16 + 4 * 4
    assert len(whole) == len(TEXTS) * one
    kept = data.draw(st.integers(0, len(whole)))
    file.write_bytes(whole[:kept])
    vectors, asked = encode(root, TEXTS)
    assert asked == TEXTS[kept // one :]
    assert np.array_equal(vectors, Letters().encode(TEXTS, "passage"))


def test_a_vector_without_a_number_is_not_kept(tmp_path: Path) -> None:
    broken = RuleEmbedder(lambda text: [float("nan"), 1.0])
    cached_embedder(broken, VectorCache(tmp_path, GIGABYTE)).encode(["a"], "passage")
    assert blocks(tmp_path) == []


def test_the_vectors_unused_for_longest_are_removed_first(tmp_path: Path) -> None:
    for number, text in enumerate("abc"):
        encode(tmp_path, [text])
        newest = max(blocks(tmp_path), key=lambda path: path.stat().st_ctime_ns)
        os.utime(newest, (number, number))
    one = 48 + 16 + 16
    assert VectorCache(tmp_path, 0).size() == 3 * one
    assert encode(tmp_path, ["a"])[1] == []  # and so used now
    encode(tmp_path, ["d"], limit=3 * one)
    assert VectorCache(tmp_path, 0).size() == 3 * one
    assert encode(tmp_path, ["a", "b", "c", "d"])[1] == ["b"]


def test_a_corpus_above_the_limit_keeps_its_beginning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    one = 48 + 16 + 16
    cached = cached_embedder(Letters(), VectorCache(tmp_path, 3 * one))
    for text in "abcde":
        cached.encode([text], "passage")
    said = capsys.readouterr().err
    assert said.count("full of vectors in use") == 1
    assert encode(tmp_path, "abcde")[1] == ["d", "e"]


def test_files_removed_while_another_process_reads_are_embedded_again(tmp_path: Path) -> None:
    encode(tmp_path, TEXTS)
    embedder = Letters()
    reading = cached_embedder(embedder, VectorCache(tmp_path, GIGABYTE))
    reading.encode(TEXTS[:2], "passage")  # it knows the file
    for file in blocks(tmp_path):
        file.unlink()
    assert np.array_equal(reading.encode(TEXTS, "passage"), Letters().encode(TEXTS, "passage"))
    assert embedder.asked == TEXTS


def test_large_files_are_followed_by_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(vector_cache, "_LARGEST_FILE", 1)
    cached = cached_embedder(Letters(), VectorCache(tmp_path, GIGABYTE))
    for text in "abc":
        cached.encode([text], "passage")
    assert len(blocks(tmp_path)) == 3
    assert encode(tmp_path, "abc")[1] == []


def test_a_process_sees_what_another_keeps_meanwhile(tmp_path: Path) -> None:
    embedders = Letters(), Letters()
    one, other = (cached_embedder(e, VectorCache(tmp_path, GIGABYTE)) for e in embedders)
    one.encode(["a"], "passage")
    other.encode(["a", "b"], "passage")
    one.encode(["b", "c"], "passage")
    other.encode(["a", "b", "c"], "passage")
    assert [e.asked for e in embedders] == [["a", "c"], ["b"]]


def test_where_no_folder_can_be_made_the_work_goes_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    assert encode(tmp_path / "file" / "vectors", TEXTS)[1] == TEXTS
    assert "vectors are not kept for other builds (Not a directory)" in capsys.readouterr().err


def test_a_read_only_folder_is_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if os.geteuid() == 0:
        pytest.skip("root may write anywhere")
    encode(tmp_path, TEXTS)
    (folder,) = tmp_path.iterdir()
    folder.chmod(0o500)
    try:
        assert encode(tmp_path, [*TEXTS, "new"])[1] == ["new"]
    finally:
        folder.chmod(0o700)
    assert "vectors are not kept for other builds" in capsys.readouterr().err
    assert len(blocks(tmp_path)) == 1


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no full device")
def test_on_a_full_disk_the_work_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(vector_cache.CachedVectors, "_choose_file", lambda self: Path("/dev/full"))
    embedder = Letters()
    cached = cached_embedder(embedder, VectorCache(tmp_path, GIGABYTE))
    for _ in range(2):
        assert np.array_equal(cached.encode(TEXTS, "passage"), Letters().encode(TEXTS, "passage"))
    assert capsys.readouterr().err == (
        f"warning: {next(iter(cached._opened.values()))._folder}: vectors are not kept for other "  # type: ignore[attr-defined]
        "builds (No space left on device); --cache names another folder, --no-cache none\n"
    )


def test_after_an_interrupt_another_file_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = Path.open

    def interrupted(path: Path, mode: str = "r") -> Any:
        file = real(path, mode)
        if mode == "ab":
            file.write(b"a part of a block")
            file.close()
            raise KeyboardInterrupt
        return file

    cached = cached_embedder(Letters(), VectorCache(tmp_path, GIGABYTE))
    cached.encode(["a"], "passage")
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(Path, "open", interrupted)
        cached.encode(["b"], "passage")
    cached.encode(["c"], "passage")
    assert len(blocks(tmp_path)) == 2
    assert encode(tmp_path, "abc")[1] == ["b"]


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, {tests!r})
from engines.models.test_vector_cache import Letters
from citeforge.engines.models.cached import cached_embedder
from citeforge.engines.models.vector_cache import GIGABYTE, VectorCache
cached = cached_embedder(Letters(), VectorCache(Path({root!r}), GIGABYTE))
for start in range(0, {number}, 7):
    print(start, flush=True)
    cached.encode([f"text {{i}}" for i in range(start, min(start + 7, {number}))], "passage")
"""


def writer(root: Path, number: int) -> "subprocess.Popen[str]":
    code = _WRITER.format(tests=str(Path(__file__).parents[2]), root=str(root), number=number)
    return subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)


def test_two_processes_write_at_once_and_a_killed_one_leaves_whole_blocks(tmp_path: Path) -> None:
    number = 500
    both = [writer(tmp_path, number), writer(tmp_path, 10**9)]
    assert both[1].stdout is not None
    while int(both[1].stdout.readline()) < number:  # somewhere in the middle of writing
        pass
    both[1].send_signal(signal.SIGKILL)
    for process in both:
        process.communicate()
    assert [p.returncode for p in both] == [0, -signal.SIGKILL]
    texts = [f"text {i}" for i in range(number)]
    vectors, asked = encode(tmp_path, texts)
    assert asked == []
    assert np.array_equal(vectors, Letters().encode(texts, "passage"))


@given(st.lists(st.text(max_size=4)), st.lists(st.text(max_size=4)))
def test_digests(one: list[str], other: list[str]) -> None:
    digests = digest_each(one)
    assert len(digests) == len(one)
    same = [[a == b for b in other] for a in one]
    found = [[bool(a == b) for b in digest_each(other)] for a in digests]
    assert same == found


@pytest.mark.parametrize(
    ("variable", "options", "expected"),
    [
        ("off", {}, None),
        ("/by/variable", {}, "/by/variable"),
        ("/by/variable", {"cache": "/by/option"}, "/by/option"),
        ("off", {"cache": "/by/option"}, "/by/option"),
        ("/by/variable", {"no_cache": True}, None),
        ("", {}, "/xdg/citeforge"),
    ],
)
@pytest.mark.skipif(sys.platform != "linux", reason="other systems have other folders")
def test_where_the_folder_is(
    variable: str, options: dict[str, Any], expected: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CITEFORGE_CACHE", variable)
    monkeypatch.setenv("XDG_CACHE_HOME", "/xdg")
    folder = cache_folder(RunOptions.model_validate(options))
    assert folder == (None if expected is None else Path(expected))
    cache = open_cache(RunOptions.model_validate({"cache_size": 0.5} | options))
    assert cache is None if folder is None else cache is not None and cache.limit == 5 * 10**8


def local(name: object, cache: Path) -> LocalEmbedder:
    options = RunOptions(cache=cache)
    made = make_embedder(str(name), EmbedderSettings(device="cpu", options=options))
    assert isinstance(made, LocalEmbedder)
    return made


@pytest.mark.parametrize("compute", ["fp32", "fp64"])
def test_a_local_model_is_not_loaded_for_known_texts(
    tmp_path: Path, compute: Compute, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = local("offline", tmp_path).at(compute).encode(TEXTS, "passage")
    monkeypatch.setattr(TransformerEmbedder, "_model", None)
    again = local("offline", tmp_path).at(compute).encode(TEXTS, "passage")
    assert first.tobytes() == again.tobytes()


def test_a_changed_file_of_a_local_model_hits_no_older_vectors(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def encode_watched(self: object, texts: Sequence[str], *_: object) -> np.ndarray:
        asked.append(len(texts))
        return np.ones((len(texts), 4), np.float32) / 2

    monkeypatch.setattr(TransformerEmbedder, "encode_watched", encode_watched)
    model, cache = tmp_path / "model", tmp_path / "cache"
    for name, written in (("model.safetensors", "one"), ("model.safetensors", "two"),
                          ("config.json", "{}"), ("config.json", "{}")):  # fmt: skip
        model.mkdir(exist_ok=True)
        (model / name).write_text(written)
        local(model, cache).encode(TEXTS, "passage")
    assert asked == [5, 5, 5]
