"""A sentence-transformers model of random weights: BERT of two layers, mean pooling."""

import random
from pathlib import Path

from servers.tiny_nli import make_tokenizer

WORDS = [f"w{i}" for i in range(200)]


def make_embedder_folder(folder: Path, seed: int = 0) -> Path:
    """Write the model; passages of :func:`passages` are spread over its directions."""
    import torch
    from sentence_transformers import SentenceTransformer
    from sentence_transformers.sentence_transformer.modules import Pooling, Transformer
    from transformers import BertConfig, BertModel

    torch.manual_seed(seed)
    make_tokenizer(folder / "bert", pair=False, words=WORDS)
    config = BertConfig(
        vocab_size=7 + len(WORDS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        intermediate_size=64, max_position_embeddings=128, pad_token_id=0, initializer_range=0.3,
    )  # fmt: skip
    BertModel(config).eval().save_pretrained(folder / "bert")
    first = Transformer(str(folder / "bert"))
    model = SentenceTransformer(
        modules=[first, Pooling(first.get_embedding_dimension())], device="cpu"
    )
    model.max_seq_length = 100
    model.save(str(folder / "model"))
    return folder / "model"


def passages(n: int, seed: int = 0, longest: int = 40) -> list[str]:
    """Made-up texts."""
    rng = random.Random(seed)
    return [" ".join(rng.choices(WORDS, k=rng.randint(3, longest))) for _ in range(n)]
