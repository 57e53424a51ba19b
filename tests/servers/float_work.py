"""Computes floats in every way that the toolkit does, on as many threads as it is told.

Usage: float_work.py FOLDER THREADS; FOLDER holds models of :func:`make_models`. Prints one JSON
object: name of the work to [sha256 of its results, numbers of threads that modules saw].
"""

import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

WORDS = [f"w{i}" for i in range(200)]


def make_models(folder: Path) -> None:
    """Models of random weights, wide enough that torch shares their operations out."""
    import torch
    from transformers import (
        BertConfig,
        BertForQuestionAnswering,
        BertForSequenceClassification,
        GPT2Config,
        GPT2LMHeadModel,
        T5Config,
        T5ForConditionalGeneration,
    )

    from servers.tiny_nli import make_tokenizer

    torch.manual_seed(0)
    for name in ("bert", "cross", "nli", "qa", "gpt2", "t5"):
        make_tokenizer(folder / name, pair=name in ("cross", "nli", "qa"), words=WORDS)
    make_tokenizer(folder / "monot5", pair=False, words=[*WORDS, "▁true", "▁false"])
    size = 7 + len(WORDS)
    bert = {
        "vocab_size": size, "hidden_size": 256, "num_hidden_layers": 2, "num_attention_heads": 4,
        "intermediate_size": 512, "max_position_embeddings": 512, "pad_token_id": 0,
    }  # fmt: skip
    labels = {0: "contradiction", 1: "neutral", 2: "entailment"}
    for name, model in (
        ("bert", BertForSequenceClassification(BertConfig(**bert))),
        ("cross", BertForSequenceClassification(BertConfig(**bert, num_labels=1))),
        ("nli", BertForSequenceClassification(BertConfig(**bert, id2label=labels))),
        ("qa", BertForQuestionAnswering(BertConfig(**bert))),
        ("gpt2", GPT2LMHeadModel(GPT2Config(vocab_size=size, n_positions=512, n_embd=256,
                                            n_layer=2, n_head=4))),
        ("t5", T5ForConditionalGeneration(T5Config(
            vocab_size=size, d_model=256, d_kv=64, d_ff=512, num_layers=2, num_heads=4,
            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))),
        ("monot5", T5ForConditionalGeneration(T5Config(
            vocab_size=size + 2, d_model=256, d_kv=64, d_ff=512, num_layers=2, num_heads=4,
            decoder_start_token_id=0, pad_token_id=0, eos_token_id=1))),
    ):  # fmt: skip
        model.eval().save_pretrained(folder / name)


def texts(n: int, seed: int = 0, longest: int = 60) -> list[str]:
    """Made-up texts."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, longest))) for _ in range(n)]


def embedding(folder: Path, dtype: str) -> Iterator[bytes]:
    from citeforge.engines.models import compute
    from citeforge.engines.models.embed import EmbedderSettings
    from citeforge.engines.running.names import make_embedder

    compute.cpu_has_bfloat16 = lambda: True
    chosen = "bf16" if dtype == "bfloat16" else "fp32"
    embedder = make_embedder("offline", EmbedderSettings(device="cpu")).at(chosen)  # type: ignore[attr-defined]
    assert embedder.fingerprint()["computed"]["dtype"] == dtype
    # Processors without bfloat16 take ten times as long: texts as short as prove the same.
    short, long = (8, 80) if dtype == "bfloat16" else (30, 250)
    for n in (1, 3, 75):
        yield embedder.encode(texts(n, longest=short if n > 1 else long), "passage").tobytes()


def judge(folder: Path, name: str) -> Iterator[bytes]:
    from citeforge.engines.judge.records import Pair
    from citeforge.engines.judge.session import JudgeSession
    from servers.tiny_nli import cpu_judge

    pairs = [Pair(p, h) for p, h in zip(texts(30, longest=40), texts(30, 1, 8), strict=True)]
    judge = cpu_judge(folder / name, "true-t5" if name == "t5" else None)
    result = JudgeSession(judge).ask(pairs)
    yield repr([result[p] for p in pairs]).encode()


def perplexity(folder: Path) -> Iterator[bytes]:
    from citeforge.engines.running.names import make_perplexity

    model = make_perplexity(f"hf:{folder / 'gpt2'}", [], device="cpu")
    yield repr(model.compute(texts(30))).encode()


def bertscore(folder: Path) -> Iterator[bytes]:
    from citeforge.engines.models.answer_models import BertScore

    references = [[a, b] for a, b in zip(texts(70, 1), texts(70, 2), strict=True)]
    yield repr(BertScore(str(folder / "bert"), 2).best(texts(70), references)).encode()


def mauve(folder: Path) -> Iterator[bytes]:
    from citeforge.engines.models.answer_models import mauve_value as compute

    yield repr(compute(texts(40), texts(40, 1), str(folder / "gpt2"))).encode()


def qa(folder: Path) -> Iterator[bytes]:
    from citeforge.engines.models.extractive_qa import ExtractiveQa

    model = ExtractiveQa(str(folder / "qa"))
    yield repr(model.answers(list(zip(texts(12, 1, 6), texts(12), strict=True)))).encode()


def reranker(folder: Path, name: str) -> Iterator[bytes]:
    from citeforge.engines.retrieval.reranker import make_reranker

    pairs = list(zip(texts(70, 1, 6), texts(70, longest=40), strict=True))
    yield repr(make_reranker(str(folder / name), "cpu").scores(pairs)).encode()


def statistics(folder: Path) -> Iterator[bytes]:
    import numpy as np

    from citeforge.evaluator.statistics.estimates import (
        estimate_value,
        harmonic_sample,
        mean_sample,
    )
    from citeforge.evaluator.statistics.significance import permutation_tests

    rng = np.random.default_rng(0)
    for n in (30, 700):
        a, b = rng.random((2, n)), rng.random((2, n)) / 3
        rows = [mean_sample(a), mean_sample(b), harmonic_sample(a, b)] * 12
        yield repr(list(map(estimate_value, rows))).encode()
        yield repr(permutation_tests([a[0] - b[0]], [n])).encode()


def mining(folder: Path) -> Iterator[bytes]:
    """Candidates of FAISS among ties and near ties, rescored, chosen."""
    import numpy as np
    import pyarrow as pa

    from citeforge.builders.rage.exclusions import Exclusions
    from citeforge.builders.rage.mining import SeeminglyRelevant
    from citeforge.engines.models.vectors import VectorShard
    from citeforge.engines.retrieval.certain import CertainSearch
    from citeforge.engines.tables import TableWriter, shard_paths
    from citeforge.schemas.recipes.rage import Mining
    from citeforge.schemas.tables import CORPUS

    rng = np.random.default_rng(0)
    base = rng.normal(size=(300, 64))
    vectors = np.repeat(base, 10, axis=0) + rng.normal(size=(3000, 64)) * 1e-7
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("<f4")
    path = folder / f"mining-{sys.argv[2]}"
    path.mkdir()
    vectors.tofile(path / "vectors")
    shard = VectorShard(path / "vectors", 3000, 64, "k")
    table = pa.table({f.name: pa.array([f"p{i}" for i in range(3000)], pa.string())
                      for f in CORPUS}).cast(CORPUS)  # fmt: skip
    with TableWriter(path, "corpus", CORPUS) as writer:
        for batch in table.to_batches():
            writer.write(batch)
    queries = (base[:50] + rng.normal(size=(50, 64)) * 0.5).astype(np.float32)
    nothing: list[Any] = [[] for _ in queries]
    corpus, mining = shard_paths(path, "corpus"), Mining(seemingly_relevant=15)
    exclusions = Exclusions(corpus, mining, nothing, [set() for _ in queries], nothing)
    miner = SeeminglyRelevant(CertainSearch([shard]).set_queries(queries), exclusions)
    yield repr(miner.mine()).encode()


WORK: dict[str, Callable[[Path], Iterator[bytes]]] = {
    "embedding in bfloat16": lambda f: embedding(f, "bfloat16"),
    "embedding in float32": lambda f: embedding(f, "float32"),
    "judge t5": lambda f: judge(f, "t5"),
    "judge classifier": lambda f: judge(f, "nli"),
    "perplexity": perplexity,
    "bertscore": bertscore,
    "mauve": mauve,
    "qa": qa,
    "cross-encoder": lambda f: reranker(f, "cross"),
    "cross-encoder monoT5": lambda f: reranker(f, "monot5"),
    "statistics": statistics,
    "mining": mining,
}


def main() -> None:
    import torch

    folder, threads = Path(sys.argv[1]), int(sys.argv[2])
    torch.set_num_threads(threads)
    seen: set[int] = set()
    torch.nn.modules.module.register_module_forward_pre_hook(
        lambda module, given: seen.add(torch.get_num_threads())
    )
    linear = torch.nn.functional.linear

    def seen_linear(*args: Any) -> torch.Tensor:
        seen.add(torch.get_num_threads())  # the offline embedder has no modules
        return linear(*args)

    torch.nn.functional.linear = seen_linear
    result = {}
    for name, work in WORK.items():
        seen.clear()
        sha = hashlib.sha256(b"\n".join(work(folder))).hexdigest()
        # Whoever computes afterwards has as many threads as before.
        result[name] = [sha, sorted(seen), torch.get_num_threads()]
    print(json.dumps(result))


if __name__ == "__main__":
    main()
