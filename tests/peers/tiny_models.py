"""Tiny models whose weights do not depend on the processor, nor on the version of torch.

Imports nothing of ours: ALCE's QA measures need an interpreter with transformers 4.28.
"""

import zlib
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer, decoders, models, normalizers, pre_tokenizers, processors

WIDTH = 32
VERDICT, END = WIDTH - 2, WIDTH - 1
"""Directions of T5's states that its output reads: 1 against 0, and that one of them was said."""


def draw_weights(model: Any, scale: float) -> None:
    """Draw all matrices by their names; vectors keep what they begin with."""
    import torch

    with torch.no_grad():
        for name, weights in model.named_parameters():
            if weights.dim() == 2:
                rng = np.random.RandomState(zlib.crc32(name.encode()))
                weights.copy_(torch.from_numpy(scale * rng.standard_normal(tuple(weights.shape))))


def make_t5(folder: Path) -> Path:
    """An NLI model that reads bytes and says 1 or 0; every byte has a say."""
    import torch
    from transformers import PreTrainedTokenizerFast, T5Config, T5ForConditionalGeneration

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    ids = {c: i for i, c in enumerate(["<pad>", "</s>", "<unk>", *letters])}
    plain = Tokenizer(models.BPE(vocab=ids, merges=[]))
    plain.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    plain.decoder = decoders.ByteLevel()
    plain.post_processor = processors.TemplateProcessing(
        single="$A </s>", pair=None, special_tokens=[("</s>", 1)]
    )
    PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="<pad>",
        eos_token="</s>",
        unk_token="<unk>",
        model_max_length=4096,
        model_input_names=["input_ids", "attention_mask"],
    ).save_pretrained(folder)
    config = T5Config(
        vocab_size=len(ids),
        d_model=WIDTH,
        d_kv=8,
        d_ff=32,
        num_layers=1,
        num_decoder_layers=1,
        num_heads=4,
        dropout_rate=0.0,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=1,
    )
    model = T5ForConditionalGeneration(config).eval()
    draw_weights(model, 1.0)
    with torch.no_grad():
        words = model.shared.weight
        words[:, [VERDICT, END]] = 0
        words[ids["<pad>"], VERDICT] = -2.5  # half of the verdicts are 0
        words[ids["0"], VERDICT], words[ids["1"], VERDICT] = -3, 3
        words[[ids["0"], ids["1"]], END] = 40
        words[ids["</s>"], END] = 100
        for name, weights in model.decoder.named_parameters():
            if name.endswith((".o.weight", ".wo.weight")):
                weights[END] = 0
        model.decoder.final_layer_norm.weight[:VERDICT] = 0
    model.save_pretrained(folder)
    return folder


def make_qa_model(folder: Path) -> Path:
    """A BERT whose words are many tokens, sharp enough to prefer some spans."""
    from transformers import BertConfig, BertForQuestionAnswering, PreTrainedTokenizerFast

    letters = [chr(c) for c in range(33, 127)] + list("éïŠ京東巴黎。“”’–０１٢")
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    pieces = [*special, *letters, *("##" + c for c in letters), "the", "##er", "##on", "of"]
    plain = Tokenizer(models.WordPiece({p: i for i, p in enumerate(pieces)}, unk_token="[UNK]"))
    plain.normalizer = normalizers.Lowercase()
    plain.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    plain.decoder = decoders.WordPiece()
    plain.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", 2), ("[SEP]", 3)],
    )
    PreTrainedTokenizerFast(
        tokenizer_object=plain,
        pad_token="[PAD]",
        unk_token="[UNK]",
        cls_token="[CLS]",
        sep_token="[SEP]",
        model_max_length=96,
        model_input_names=["input_ids", "token_type_ids", "attention_mask"],
    ).save_pretrained(folder)
    config = BertConfig(
        vocab_size=len(pieces),
        hidden_size=32,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=64,
        max_position_embeddings=128,
        pad_token_id=0,
    )
    model = BertForQuestionAnswering(config).eval()
    draw_weights(model, 0.6)
    model.save_pretrained(folder)
    return folder
