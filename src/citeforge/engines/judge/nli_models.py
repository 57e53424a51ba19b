"""Base of local judge models: texts to tokens, tokens to margins of support."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.engines.judge.chunks import split_pair
from citeforge.engines.judge.profiles import fill_prompt
from citeforge.engines.judge.records import Pair
from citeforge.engines.parallel import in_halves
from citeforge.engines.text.special_tokens import break_special_tokens
from citeforge.schemas.judge_profile import JudgeProfile
from citeforge.schemas.recipes.base import Runtime

BUCKET = 32
"""Inputs are padded to multiples of this many tokens."""

_LONGEST = 4096


@dataclass(frozen=True)
class NliSettings:
    """Settings a judge model is loaded with; sent to worker processes.

    Attributes:
        folder: its files.
        device: device of the model.
        profile: how it is asked.
        threshold: least probability of support, exclusive.
        max_tokens: longest input; None for the model's own limit.
        foundation: folder with configuration and tokenizer; None for ``folder``.
        dtype: numeric type; None to choose by device.
        runtime: library that computes it.
    """

    folder: Path
    device: str
    profile: JudgeProfile
    threshold: float
    max_tokens: int | None
    foundation: Path | None = None
    dtype: str | None = None
    runtime: Runtime = "torch"

    @property
    def config_folder(self) -> Path:
        """Folder with the model's configuration and tokenizer."""
        return self.foundation or self.folder


@dataclass(frozen=True)
class Encoded:
    """A pair of texts as tokens.

    Attributes:
        ids: input token ids, special ones included.
        types: token type ids, for models that have them.
        truncated: whether the premise was cut.
    """

    ids: list[int]
    types: list[int] | None
    truncated: bool


def at_least_float32(logits: Any) -> Any:
    """Convert logits to float32, unless they are float64."""
    import torch

    return logits if logits.dtype == torch.float64 else logits.float()


class NliModel(ABC):
    """Base class of the models that a local judge runs.

    Attributes:
        engine: library that computes it, with its version; None for torch.
        takes_letters: whether texts go into the prompt to the letter, as in a paper's own code;
            else special tokens in them are broken.
    """

    engine: str | None = None
    takes_letters = False
    pads_left = False
    _yes: list[int]
    _no: list[int]

    def __init__(self, settings: NliSettings, model: Any, dtype: str) -> None:
        """Put the model on its device in its numeric type, and load its tokenizer.

        Args:
            settings: folder, device and profile of the model.
            model: network of transformers.
            dtype: numeric type in which it computes.
        """
        import torch
        from transformers import AutoTokenizer

        self.settings, self.profile = settings, settings.profile
        self.dtype = dtype
        self.model = model.to(settings.device, getattr(torch, dtype)).eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(
            settings.config_folder, local_files_only=True
        )
        self.limit = settings.max_tokens or self.profile.max_tokens or self._input_limit()

    def _input_limit(self) -> int:
        """Get the input limit in tokens that holds if neither user nor profile sets one."""
        return _LONGEST

    def parts(self, pair: Pair) -> list[list[Pair]]:
        """Split a pair: per sentence of the hypothesis, one pair for each chunk of the premise."""
        if not self.takes_letters:
            own = self.tokenizer.all_special_tokens
            pair = Pair(*(break_special_tokens(t, own) for t in (pair.premise, pair.hypothesis)))
        return split_pair(self.profile, pair, self._count)

    def _count(self, text: str) -> int:
        """Count a text's tokens, without special ones."""
        return len(self.tokenizer(text, add_special_tokens=False, verbose=False).input_ids)

    def prompt(self, premise: str, hypothesis: str) -> str:
        """Write the text that the model reads for a pair."""
        eos = str(self.tokenizer.eos_token)
        return fill_prompt(self.profile.prompt or "", premise, hypothesis, eos)

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """Tokenise pairs; the premise is cut if the input would be too long."""
        if not pairs:
            return []
        encoded = self.tokenizer(*self._texts(pairs), truncation=False, verbose=False)
        types = encoded.get("token_type_ids") or [None] * len(pairs)
        return [
            Encoded(ids, kinds, False) if len(ids) <= self.limit else self._cut(pair, len(ids))
            for pair, ids, kinds in zip(pairs, encoded.input_ids, types, strict=True)
        ]

    def _texts(self, pairs: Sequence[Pair]) -> tuple[list[str], ...]:
        """Make the tokenizer's arguments: one prompt per pair, or premises and hypotheses."""
        return ([self.prompt(p.premise, p.hypothesis) for p in pairs],)

    def _cut(self, pair: Pair, n_tokens: int) -> Encoded:
        """Encode a pair of ``n_tokens``, too many for the model: cut the end of its premise.

        Args:
            pair: the pair.
            n_tokens: number of its tokens.
        """
        premise = self.tokenizer(pair.premise, add_special_tokens=False, verbose=False).input_ids
        room = max(0, len(premise) - (n_tokens - self.limit))
        while True:
            text = self.prompt(self.tokenizer.decode(premise[:room]), pair.hypothesis)
            encoded = self.tokenizer(text, truncation=False, verbose=False)
            ids, kinds = encoded.input_ids, encoded.get("token_type_ids")
            if len(ids) <= self.limit or room == 0:
                token_types = None if kinds is None else kinds[: self.limit]
                return Encoded(ids[: self.limit], token_types, True)
            room = max(0, room - max(1, len(ids) - self.limit))

    def _margins_above(self, probabilities: Any) -> list[float]:
        """Compute margins of support: summed probability of support minus the threshold."""
        margins: list[float] = (probabilities.sum(dim=1) - self.settings.threshold).tolist()
        return margins

    def _margins_among(self, logits: Any) -> list[float]:
        """Compute margins of support by a softmax over the logits of the verdicts' tokens only."""
        verdicts = logits[:, self._yes + self._no].softmax(dim=1)
        return self._margins_above(verdicts[:, : len(self._yes)])

    @abstractmethod
    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]:
        """Compute by how much each pair's probability of support is above the threshold."""

    def margins(self, batch: Sequence[Encoded]) -> list[float | None]:
        """Compute the margin of each encoded pair; None if the pair alone exceeds the memory."""
        margins: list[float | None] = []
        whole = slice(0, len(batch))
        for piece in in_halves(lambda rows: self._run(batch[rows]), whole, self.settings.device):
            margins += [None] if piece is None else piece
        return margins

    def _run(self, batch: Sequence[Encoded]) -> list[float]:
        """Pad a batch to one length and run the model on it; return one margin per pair.

        Args:
            batch: tokenised pairs.
        """
        import torch

        longest = max(len(e.ids) for e in batch)
        width = min(-(-longest // BUCKET) * BUCKET, max(self.limit, longest))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([self._pad(e.ids, width, pad) for e in batch])
        mask = torch.tensor([self._pad([1] * len(e.ids), width, 0) for e in batch])
        types = None
        if batch[0].types is not None:
            rows = [self._pad(e.types or [], width, 0) for e in batch]
            types = torch.tensor(rows).to(self.settings.device)
        with torch.inference_mode():
            return self._forward(ids.to(self.settings.device), mask.to(self.settings.device), types)

    def _pad(self, row: list[int], width: int, pad: int) -> list[int]:
        """Pad a row of tokens to a width, on the left or right as the model needs."""
        filling = [pad] * (width - len(row))
        return filling + row if self.pads_left else row + filling


def verdict_indices(
    supported: Sequence[object],
    unsupported: Sequence[object],
    indices_of: Callable[[Any], Sequence[int]],
) -> tuple[list[int], list[int]]:
    """Find the model's output indices of (supported, unsupported) labels; refuse an overlap.

    Args:
        supported: texts or indices that mean support.
        unsupported: texts or indices that mean no support.
        indices_of: function that gives the output indices of one of these.

    Raises:
        ValueError: one of them is both.
    """
    yes = sorted({i for one in supported for i in indices_of(one)})
    no = sorted({i for one in unsupported for i in indices_of(one)})
    both = sorted(set(yes) & set(no))
    if both:
        raise ValueError(
            f"supported and unsupported are the same output ({both[0]}) of this model: verdicts "
            "must not overlap"
        )
    return yes, no
