"""Tiny NLI models, trained for a second or two: a 2-layer T5 and a 1-layer classifier.

A hypothesis is entailed when its key word stands in the premise. The models learn it well enough
to give both verdicts; a random model would always answer alike.
"""

import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

from citeforge.engines.judge.hf import HfJudge
from citeforge.schemas.recipes.base import Judging, RunOptions

WORDS = [f"w{i}" for i in range(30)]
KEYS = ["red", "blue", "green", "gold"]


def make_pair(rng: random.Random, length: int = 8) -> tuple[str, str, int]:
    """(premise, hypothesis, 1 if entailed)."""
    key = rng.choice(KEYS)
    words = rng.choices(WORDS, k=length)
    entailed = rng.random() < 0.5
    words[rng.randrange(length)] = key if entailed else rng.choice([k for k in KEYS if k != key])
    return " ".join(words), f"{rng.choice(WORDS)} {key}", int(entailed)


def make_tokenizer(folder: Path, pair: bool, words: list[str] | None = None) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    vocabulary = ["<pad>", "</s>", "<unk>", "0", "1", "premise:", "hypothesis:"]
    vocabulary += words if words is not None else [*KEYS, *WORDS]
    plain = Tokenizer(models.WordLevel({w: i for i, w in enumerate(vocabulary)}, unk_token="<unk>"))
    plain.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    plain.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair="</s> $A </s> $B:1 </s>:1", special_tokens=[("</s>", 1)]
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=64 if pair else 512,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"]
        if pair
        else ["input_ids", "attention_mask"],
    )
    tokenizer.save_pretrained(folder)
    return tokenizer


def train(
    model: Any, rate: float, steps: int, loss_of: Callable[[], Any], low: float = 0.01
) -> None:
    """Optimise a model until its loss is that low, or for so many steps."""
    import torch

    optimiser = torch.optim.Adam(model.parameters(), lr=rate)
    for _ in range(steps):
        loss = loss_of()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
        if loss.item() < low:
            break


Maker = Callable[[random.Random], tuple[str, str, int]]


def train_t5(
    folder: Path, words: list[str] | None = None, make: Maker = make_pair, steps: int = 400
) -> Path:
    """Train on pairs that ``make`` draws; ``words`` are those that the tokenizer knows."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    tokenizer = make_tokenizer(folder, pair=False, words=words)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=64,
        d_kv=16,
        d_ff=128,
        num_layers=2,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = T5ForConditionalGeneration(config)
    rng = random.Random(0)
    ids = {label: tokenizer(str(label)).input_ids for label in (0, 1)}

    def loss() -> Any:
        rows = [make(rng) for _ in range(64)]
        texts = [f"premise: {p} hypothesis: {h}" for p, h, _ in rows]
        batch = tokenizer(texts, padding=True, return_tensors="pt")
        return model(**batch, labels=torch.tensor([ids[y] for _, _, y in rows])).loss

    train(model, 3e-3, steps, loss)
    model.eval().save_pretrained(folder)
    return folder


def train_classifier(folder: Path, steps: int = 300) -> Path:
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = make_tokenizer(folder, pair=True)
    config = BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=64,
        num_hidden_layers=1,
        num_attention_heads=4,
        intermediate_size=128,
        max_position_embeddings=64,
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
        pad_token_id=0,
        initializer_range=0.1,  # from the usual 0.02 it learns this hardly, and slowly
        id2label={0: "CONTRADICTION", 1: "NEUTRAL", 2: "ENTAILMENT"},
        label2id={"CONTRADICTION": 0, "NEUTRAL": 1, "ENTAILMENT": 2},
    )
    model = BertForSequenceClassification(config)
    rng = random.Random(0)

    def loss() -> Any:
        premises, hypotheses, entailed = map(
            list, zip(*(make_pair(rng) for _ in range(64)), strict=True)
        )
        batch = tokenizer(premises, hypotheses, padding=True, return_tensors="pt")
        return model(**batch, labels=2 * torch.tensor(entailed)).loss

    train(model, 2e-3, steps, loss)
    model.eval().save_pretrained(folder)
    return folder


def train_causal(folder: Path, sentences: list[str]) -> Path:
    """A tiny GPT-2 that has learnt some sentences by heart."""
    import torch
    from transformers import GPT2Config, GPT2LMHeadModel

    torch.manual_seed(0)
    words = sorted({w for s in sentences for w in s.split()})
    tokenizer = make_tokenizer(folder, pair=False, words=words)
    config = GPT2Config(vocab_size=len(tokenizer), n_positions=64, n_embd=32, n_layer=1, n_head=2)
    model = GPT2LMHeadModel(config)
    batch = tokenizer(sentences, padding=True, return_tensors="pt")
    labels = batch["input_ids"].masked_fill(batch["attention_mask"] == 0, -100)
    train(model, 1e-2, 120, lambda: model(**batch, labels=labels).loss)
    model.save_pretrained(folder)
    return folder


def cpu_judge(
    model: Path | str, profile: str | None = None, batch_size: int | None = None,
    dtype: str | None = None, **judging: Any,
) -> HfJudge:  # fmt: skip
    """A local judge on the CPU."""
    options = Judging(judge_profile=profile, **judging)
    return HfJudge(str(model), options, RunOptions(device="cpu", batch_size=batch_size), dtype)
