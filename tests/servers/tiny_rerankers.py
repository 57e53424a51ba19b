"""Tiny rerankers: a cross-encoder and a monoT5 of random weights, and one that has learnt.

The one that has learnt finds a passage relevant when it holds the query's word.
"""

import random
from pathlib import Path
from typing import Any

from servers.tiny_nli import KEYS, WORDS, make_tokenizer, train

_PROMPT = ["Query:", "Document:", "Relevant:", "▁true", "▁false"]
VOCABULARY = [*_PROMPT, *KEYS, *WORDS]


def cross_encoder(folder: Path, words: list[str], labels: int = 1) -> Path:
    """A BERT of random weights, sharp enough to tell pairs apart."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    tokenizer = make_tokenizer(folder, pair=True, words=words)
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=16, num_hidden_layers=1, num_attention_heads=2,
        intermediate_size=16, max_position_embeddings=64, num_labels=labels, pad_token_id=0,
        initializer_range=0.5,
    )  # fmt: skip
    BertForSequenceClassification(config).save_pretrained(folder)
    return folder


def mono_t5(folder: Path, words: list[str] = VOCABULARY, steps: int = 0) -> Path:
    """A T5; with ``steps`` it learns that a passage with the query's word is relevant."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    tokenizer = make_tokenizer(folder, pair=False, words=words)
    torch.manual_seed(0)
    config = T5Config(
        vocab_size=len(tokenizer), d_model=32, d_kv=16, d_ff=64, num_layers=2, num_heads=2,
        decoder_start_token_id=0, pad_token_id=0, eos_token_id=1, dropout_rate=0.0,
    )  # fmt: skip
    model = T5ForConditionalGeneration(config)
    rng, known = random.Random(0), tokenizer.get_vocab()

    def loss() -> Any:
        rows = [drawn(rng) for _ in range(64)]
        texts = [f"Query: {q} Document: {d} Relevant:" for q, d, _ in rows]
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        answers = [[known["▁true" if relevant else "▁false"], 1] for _, _, relevant in rows]
        return model(**batch, labels=torch.tensor(answers)).loss

    train(model, 5e-3, steps, loss, low=0.02)
    model.eval().save_pretrained(folder)
    return folder


def drawn(rng: random.Random) -> tuple[str, str, bool]:
    """(query, passage, whether it is relevant)."""
    key = rng.choice(KEYS)
    words = rng.choices(WORDS, k=rng.randint(3, 8))
    relevant = rng.random() < 0.5
    words[rng.randrange(len(words))] = (
        key if relevant else rng.choice([k for k in KEYS if k != key])
    )
    return key, " ".join(words), relevant
