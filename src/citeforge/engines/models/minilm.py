"""The encoder of all-MiniLM-L6-v2, by transformers' BertModel.

``sentence_transformers`` would compute the same, and takes three seconds longer to import
(docs/performance.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from citeforge.engines.model_files import quiet_transformers

if TYPE_CHECKING:
    import torch
    from torch import Tensor

MAX_TOKENS = 256


class MiniLmEncoder:
    """Tokenises and embeds texts; has the methods of a sentence-transformers model.

    Attributes:
        tokenizer: tokenizer of transformers; cuts texts at MAX_TOKENS.
        bert: torch module.
    """

    def __init__(self, folder: Path) -> None:
        """Load tokenizer and weights from a folder."""
        transformers = quiet_transformers()
        self.tokenizer = transformers.AutoTokenizer.from_pretrained(
            folder, model_max_length=MAX_TOKENS, local_files_only=True
        )
        self.bert = transformers.BertModel.from_pretrained(folder, local_files_only=True)

    def to(self, placement: torch.dtype | str) -> MiniLmEncoder:
        """Move the weights to a type or a device; return the same encoder."""
        self.bert = self.bert.to(placement)
        return self

    def eval(self) -> MiniLmEncoder:
        """Turn dropout off; return the same encoder."""
        self.bert = self.bert.eval()
        return self

    def preprocess(self, texts: Sequence[str]) -> dict[str, Tensor]:
        """Tokenise a batch: ids and attention mask, padded to its longest text."""
        tokens = self.tokenizer(list(texts), padding=True, truncation=True, return_tensors="pt")
        return dict(tokens)

    def __call__(self, features: dict[str, Tensor]) -> dict[str, Tensor]:
        """Compute unit vectors of a tokenised batch: the mean over its tokens, normalised."""
        import torch

        hidden = self.bert(**features).last_hidden_state
        present = features["attention_mask"].unsqueeze(-1).to(hidden.dtype)
        wide = torch.promote_types(hidden.dtype, torch.float32)  # bfloat16 sums in float32
        total = (hidden * present).sum(dim=1, dtype=wide)
        mean = (total / present.sum(dim=1, dtype=wide)).to(hidden.dtype)
        return {"sentence_embedding": torch.nn.functional.normalize(mean, dim=1)}


def load_minilm(folder: Path, device: str) -> Any:
    """Load all-MiniLM-L6-v2 from a folder onto a device."""
    return MiniLmEncoder(folder).to(device)
