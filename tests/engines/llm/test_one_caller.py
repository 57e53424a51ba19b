"""Store, budget and counted failures under every kind of call, against a server process."""

import json
from pathlib import Path

import numpy as np
import pytest

from citeforge.engines.llm.records import Request
from citeforge.engines.llm.replay import ReplayStore
from citeforge.engines.llm.writers import OpenAiLlm
from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.running.names import make_embedder, make_perplexity
from citeforge.schemas.recipes.base import RunOptions
from conftest import EXAMPLES, Inline, Ran, refused
from servers.provider import Sent, embeddings, provider, refusal
from servers.running import Running, openai_server

pytestmark = pytest.mark.usefixtures("key")
TEXTS = [f"text number {i}" for i in range(40)]


def test_perplexity_is_paid_for_once(server: Running, tmp_path: Path) -> None:
    options = RunOptions(base_url=server.url, max_retries=2)
    with ReplayStore(tmp_path / "s.db") as store:
        model = make_perplexity("openai:m", [], options=options, store=store)
        first = model.compute([*TEXTS, TEXTS[0]])
        assert len(server.requests()) == 40
        again = make_perplexity("openai:m", [], options=options, store=store)
        assert again.compute([*TEXTS, TEXTS[0]]) == first
        assert len(server.requests()) == 40
        assert store.tokens() == (3 * 40, 40)  # three words each, and the generated token
        # Another model is another call.
        make_perplexity("openai:n", [], options=options, store=store).compute(TEXTS[:1])
        assert len(server.requests()) == 41


def test_the_budget_stops_perplexity(server: Running, store: ReplayStore) -> None:
    # A text of 14 bytes is bounded by 14 + 8 tokens and the generated one, 23 in all, and paid for
    # with 3 + 1: with room for 40 tokens a call starts as long as at most 40 − 23 = 17 are spent,
    # so the fifth is the last (after 4 · 4 = 16), and 5 · 4 = 20.
    texts = [f"text number {i}" for i in range(10, 40)]
    options = RunOptions(
        base_url=server.url, max_retries=2, concurrency=1, price=(1e6, 1e6), max_cost=40
    )
    for _ in range(2):  # a second run spends nothing more
        model = make_perplexity("openai:m", [], options=options, store=store)
        with refused("budget", exit_code=3) as caught:
            model.compute(texts)
        assert "spent 20.0000 in all runs" in str(caught.value)
        assert len(server.requests()) == 5
    # What chat asks counts to the same total.
    with refused("budget"):
        OpenAiLlm("m", store, options).complete([Request((("user", "x" * 9),), {"max_tokens": 4})])


def test_embeddings_are_paid_for_once_and_within_the_budget(
    server: Running, store: ReplayStore
) -> None:
    texts = [f"text {i}" for i in range(150)]
    options = RunOptions(base_url=server.url, max_retries=2)
    first = make_embedder("openai:e", EmbedderSettings(options=options, store=store)).encode(
        texts, "passage"
    )
    assert len(server.requests()) == 3
    again = make_embedder("openai:e", EmbedderSettings(options=options, store=store)).encode(
        texts, "passage"
    )
    assert np.array_equal(first, again)
    assert (again.shape, again.dtype) == ((150, 8), np.float32)
    assert np.allclose(np.linalg.norm(again, axis=1), 1)
    assert len(server.requests()) == 3
    assert store.tokens() == (150, 0)
    assert np.array_equal(
        make_embedder("openai:e", EmbedderSettings(options=options)).encode(texts, "passage"), first
    )
    poor = RunOptions(base_url=server.url, max_retries=2, price=(1e6, 1e6), max_cost=200)
    with refused("budget"):
        make_embedder("openai:e", EmbedderSettings(options=poor, store=store)).encode(
            ["new " * 99], "query"
        )
    assert len(server.requests()) == 6


def test_failed_calls_are_counted_and_asked_again(tmp_path: Path) -> None:
    with openai_server(tmp_path / "log", faults=0.3, kinds=["garbage"]) as server:
        options = RunOptions(base_url=server.url, max_retries=0)
        with ReplayStore(tmp_path / "s.db") as store:
            model = make_perplexity("openai:m", [], options=options, store=store)
            with refused("endpoint-failed", path="openai:m") as caught:
                model.compute(TEXTS)
            failed = store.stats().failures
            assert 0 < failed < 40
            assert f"({failed} of 40 calls failed)" in str(caught.value)
            assert store.stats().answers == 40 - failed


def test_a_store_with_numbers_is_exported_and_taken_in(server: Running, tmp_path: Path) -> None:
    options = RunOptions(base_url=server.url, max_retries=2)
    with ReplayStore(tmp_path / "a.db") as store:
        result = make_perplexity("openai:m", [], options=options, store=store).compute(TEXTS)
        vectors = make_embedder("openai:m", EmbedderSettings(options=options, store=store)).encode(
            TEXTS, "query"
        )
        rows = list(store.export())
    before = len(server.requests())
    with ReplayStore(tmp_path / "b.db") as store:
        assert store.import_rows(iter(rows)) == (41, 0)
        assert (
            make_perplexity("openai:m", [], options=options, store=store).compute(TEXTS) == result
        )
        other = make_embedder("openai:m", EmbedderSettings(options=options, store=store))
        assert np.array_equal(other.encode(TEXTS, "query"), vectors)
    assert len(server.requests()) == before


def test_build_kalma_pays_perplexity_within_the_budget_and_once(
    server: Running, key: str, tmp_path: Path, inline: Inline
) -> None:
    def build(out: str, *more: object) -> Ran:
        return inline(
            *("build", "kalma", "--kg", f"file:{EXAMPLES / 'people' / 'graph.ttl'}"),
            *("--pairs-from-kg", "father", "--limit", 3, "--max-facts", 5),
            *("--perplexity", "openai:m", "--licence", "CC0-1.0"),
            *("--base-url", server.url, "--store", "s.db", *more, "--out", out),
        )

    poor = build("poor", "--price", "1,1", "--max-cost", 0.0003)
    assert (poor.returncode, poor.code) == (3, "budget")
    some = len(server.requests())
    assert some > 0
    assert build("a").returncode == 0
    everything = len(server.requests())
    assert everything > some
    assert build("b").returncode == 0
    assert len(server.requests()) == everything
    manifests = [json.loads((tmp_path / n / "manifest.json").read_text()) for n in "ab"]
    assert manifests[0]["models"]["perplexity"]["name"] == "openai:m"
    assert manifests[0]["benchmark_hash"] == manifests[1]["benchmark_hash"]


@pytest.mark.parametrize(
    ("most", "too_many"),
    [
        (32, refusal("batch size 64 > maximum allowed batch size 32", 413, status=413)),  # TEI
        (32, refusal("batch size 64 > maximum allowed batch size 32", status=422)),
        (10, refusal("batch size is invalid, it should not be larger than 10.")),  # DashScope
        pytest.param(1, refusal("only one input"), marks=pytest.mark.slow),
    ],
)
def test_embedding_batches_are_halved_and_remembered(most: int, too_many: Sent) -> None:
    texts = [f"text {'x' * (i % 7)}{i}" for i in range(70)]
    with provider(lambda body: embeddings(body, most, too_many)) as server:
        embedder = make_embedder(
            "openai:e", EmbedderSettings(options=RunOptions(base_url=server.url))
        )
        vectors = embedder.encode(texts, "passage")
        before = len(server.bodies)
        assert np.array_equal(embedder.encode(texts, "passage"), vectors)
        sizes = [len(body["input"]) for body in server.bodies[before:]]
    assert max(sizes) <= most
    with provider(lambda body: embeddings(body, 64, too_many)) as server:
        free = make_embedder("openai:e", EmbedderSettings(options=RunOptions(base_url=server.url)))
        assert np.array_equal(free.encode(texts, "passage"), vectors)


def test_an_embedding_that_fails_at_size_one_says_why() -> None:
    too_long = refusal("input is too long for the context of 512 tokens")
    with provider(lambda body: embeddings(body, 0, too_long)) as server:
        embedder = make_embedder(
            "openai:e", EmbedderSettings(options=RunOptions(base_url=server.url))
        )
        with refused("endpoint-failed") as caught:
            embedder.encode(["a", "b"], "passage")
    assert "too long for the context" in str(caught.value)
