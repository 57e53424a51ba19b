"""SIGKILL at many points, and the world changing between two runs."""

import shutil
import signal
from pathlib import Path
from typing import Any

import pytest

import citeforge as cf
from citeforge.builders.rage.build import build_rage
from citeforge.builders.verify import verify
from citeforge.engines.models.embed import TransformerEmbedder
from conftest import (
    EXAMPLES,
    Inline,
    content,
    offline_embedder,
    refused,
    run_options,
    sampled,
)
from conftest_builders import Hashed
from servers import nursery


def run(args: list[str], out: Path, die_at: int = 0) -> int:
    """Run a build; it is killed where this many new files would be there."""
    place = (out, die_at) if die_at else None
    return nursery.run(args, out.parent, die_at=place).returncode


def arguments(out: Path, *more: str) -> list[str]:
    source = f"beir:{EXAMPLES / 'facts'}"
    return [
        *("build", "rage", "--source", source, "--embedder", "offline", "--device", "cpu"),
        *("--out", str(out), "--name", "facts", "--shard-rows", "4"),
        *("--cache", str(out.parent / "cache"), *more),
    ]


FILES = 140  # that one build makes at least, temporary ones included
POINTS = (*range(1, FILES, 7), FILES)


@pytest.mark.slow
@pytest.mark.sampled
def test_killed_builds_end_byte_identical(tmp_path: Path) -> None:
    """A fifth of the kills; all of them in `make exhaustive`, and thousands in `make torture`."""
    points, in_a_row = sampled(POINTS, 5), len(sampled(range(20), 5))
    calm = tmp_path / "calm"
    assert run([*arguments(calm), "--no-cache"], calm) == 0
    expected = content(calm)
    # One build, killed again and again as it gets further.
    out = tmp_path / "torn"
    for _ in range(in_a_row):
        assert run(arguments(out, "--resume"), out, 7) == -signal.SIGKILL
    assert run(arguments(out, "--resume"), out) == 0
    assert content(out) == expected
    assert not out.with_name("torn.partial").exists()
    # Fresh builds, each killed once at another point, late ones included.
    for point in points:
        out = tmp_path / f"once-{point}"
        assert run(arguments(out), out, point) == -signal.SIGKILL
        assert run(arguments(out, "--resume"), out) == 0
        assert content(out) == expected


def build(
    out: Path,
    source: Path,
    if_exists: str = "refuse",
    embedder: Any = None,
    embeddings: Path | None = None,
    **config: Any,
) -> list[str]:
    """Build; returns the texts that were embedded."""
    counter = Counting(embedder or Hashed())
    build_rage(
        cf.RageRecipe(source=f"beir:{source}", embedder="offline", name="x", **config),
        run_options(out, if_exists, shard_rows=20, embeddings=embeddings),
        counter,  # type: ignore[arg-type]
    )
    return counter.asked


class Counting:
    """An embedder that keeps the texts it was asked for."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        self.asked: list[str] = []

    def fingerprint(self) -> Any:
        return self.inner.fingerprint()

    def encode(self, texts: list[str], kind: str) -> Any:
        self.asked += texts
        return self.inner.encode(texts, kind)


def unfinished(
    out: Path, source: Path, monkeypatch: pytest.MonkeyPatch, embedder: Any = None
) -> None:
    """A build that embedded everything and could not write its package."""
    from citeforge.builders.rage import build as rage

    with monkeypatch.context() as patch:
        patch.setattr(rage, "freeze", lambda *_, **__: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            build(out, source, embedder=embedder)
    assert out.with_name(f"{out.name}.partial").is_dir()
    assert not out.exists()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return Path(shutil.copytree(EXAMPLES / "facts", tmp_path / "facts"))


@pytest.mark.slow
def test_resume_after_a_changed_corpus_line_redoes_its_shard(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a real model, whose vectors depend on their batch."""
    out, embedder = tmp_path / "out", offline_embedder()
    unfinished(out, source, monkeypatch, embedder)
    corpus = source / "corpus.jsonl"
    lines = corpus.read_text().splitlines(keepends=True)
    lines[30] = lines[30].replace("lightest", "very lightest")
    corpus.write_text("".join(lines))
    asked = build(out, source, "resume", embedder)
    assert len(asked) == 20
    assert any("very lightest" in text for text in asked)
    build(tmp_path / "fresh", source, embedder=embedder)
    assert content(out) == content(tmp_path / "fresh")


def test_a_half_done_build_of_another_seed_is_refused_and_its_vectors_are_of_use(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out, other = tmp_path / "out", tmp_path / "other"
    unfinished(out, source, monkeypatch)
    with refused("recipe-changed", path=tmp_path / "out.partial"):
        build(out, source, "resume", seed=5)
    assert build(other, source, embeddings=tmp_path / "out.partial" / "embeddings", seed=5) == []
    build(tmp_path / "fresh", source, seed=5)
    assert content(other) == content(tmp_path / "fresh")
    assert build(out, source, "resume") == []


def test_resume_with_another_embedder_embeds_anew(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    unfinished(out, source, monkeypatch)
    assert len(build(out, source, "resume", Hashed(batch_size=16))) == 84 + 30


def test_the_batch_size_of_a_model_is_part_of_its_fingerprint(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = offline_embedder().fingerprint()
    monkeypatch.setattr(TransformerEmbedder, "batch_size", 16)
    assert offline_embedder().fingerprint() != before


def test_unfinished_builds_are_not_overwritten_silently(
    tmp_path: Path, source: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    unfinished(out, source, monkeypatch)
    with refused("output-exists", path=tmp_path / "out.partial"):
        build(out, source)
    assert build(out, source, "resume") == []
    assert verify(out) == []


def test_resuming_a_finished_build(tmp_path: Path, source: Path) -> None:
    out = tmp_path / "out"
    build(out, source)
    before = content(out)
    assert build(out, source, "resume") == []
    assert content(out) == before
    with refused("recipe-changed", path=out):
        build(out, source, "resume", seed=9)
    assert content(out) == before
    assert not out.with_name("out.partial").exists()


@pytest.mark.slow
def test_a_full_disk_during_a_shard(tmp_path: Path, inline: Inline) -> None:
    """The kernel refuses to let a shard grow (RLIMIT_FSIZE), as a full disk would."""
    out = tmp_path / "out"
    args = [a if a != "4" else "64" for a in arguments(out)]  # 64 * 384 * 2 bytes a shard
    result = nursery.run(args, tmp_path, largest=40_000)
    assert result.returncode == 1
    assert "size limit is reached" in result.stderr
    assert "Traceback" not in result.stderr
    assert not out.exists()
    inline.ok(*args, "--overwrite")
