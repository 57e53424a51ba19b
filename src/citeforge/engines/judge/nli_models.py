"""The two kinds of NLI models, behind one face: texts to tokens, tokens to margins."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from citeforge.engines.judge.records import Pair
from citeforge.schemas.errors import InputError

BUCKET = 32
"""Inputs are padded to multiples of this many tokens."""

_LONGEST = 4096


@dataclass(frozen=True)
class Settings:
    """What a model is loaded with; travels to worker processes."""

    folder: Path
    device: str
    threshold: float
    max_tokens: int | None
    entailment_label: str | None
    dtype: str | None = None


@dataclass(frozen=True)
class Encoded:
    """A pair as tokens.

    Attributes:
        ids: input token ids, special ones included.
        types: token type ids, for models that have them.
        truncated: whether the premise was cut.
    """

    ids: list[int]
    types: list[int] | None
    truncated: bool


def load_model(settings: Settings) -> NliModel:
    """Load whichever kind of model the folder holds.

    Raises:
        InputError: it holds neither kind.
    """
    from transformers import AutoConfig
    from transformers.utils import logging

    logging.disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        config = AutoConfig.from_pretrained(settings.folder, local_files_only=True)
        kind = Seq2SeqModel if config.is_encoder_decoder else ClassifierModel
        return kind(settings, config)
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise InputError(
            f"is not an NLI model that can be loaded ({str(error)[:160]})",
            path=settings.folder,
            allowed="a T5 that writes 1 or 0, or a classifier with an entailment label",
        ) from error


class NliModel(ABC):
    """Common ground of both kinds."""

    is_classifier = False
    prompt_version = ""

    def __init__(self, settings: Settings, model: Any, dtype: str) -> None:
        import torch
        from transformers import AutoTokenizer

        self.settings = settings
        self.dtype = dtype
        self.model = model.to(settings.device, getattr(torch, dtype)).eval()
        self.tokenizer: Any = AutoTokenizer.from_pretrained(settings.folder, local_files_only=True)
        self.limit = settings.max_tokens or self._own_limit()

    def _own_limit(self) -> int:
        return _LONGEST

    @abstractmethod
    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        """Tokens of every pair, the premise cut where the input would be too long."""

    @abstractmethod
    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]: ...

    def margins(self, batch: Sequence[Encoded]) -> list[float | None]:
        """Margin of each pair; None where memory does not suffice even for it alone."""
        import torch

        try:
            return list(self._run(batch))
        except RuntimeError as error:
            text = str(error).lower()
            if not isinstance(error, torch.OutOfMemoryError) and "memory" not in text:
                raise
        if len(batch) == 1:
            return [None]
        # Outside the handler, so that the failed batch's tensors are free again.
        if self.settings.device.startswith("cuda"):
            torch.cuda.empty_cache()
        half = (len(batch) + 1) // 2
        return self.margins(batch[:half]) + self.margins(batch[half:])

    def _run(self, batch: Sequence[Encoded]) -> list[float]:
        import torch

        longest = max(len(e.ids) for e in batch)
        width = min(-(-longest // BUCKET) * BUCKET, max(self.limit, longest))
        pad = self.tokenizer.pad_token_id or 0
        ids = torch.tensor([e.ids + [pad] * (width - len(e.ids)) for e in batch])
        mask = torch.tensor([[1] * len(e.ids) + [0] * (width - len(e.ids)) for e in batch])
        types = None
        if batch[0].types is not None:
            rows = [(e.types or []) + [0] * (width - len(e.ids)) for e in batch]
            types = torch.tensor(rows).to(self.settings.device)
        with torch.inference_mode():
            return self._forward(ids.to(self.settings.device), mask.to(self.settings.device), types)


class Seq2SeqModel(NliModel):
    """``premise: … hypothesis: …`` answered by "1" or "0" (Honovich et al. 2022, TRUE).

    One decoder step is enough: greedy decoding writes "1" exactly when "1" is the likeliest first
    token. The margin is its logit minus the best other one.
    """

    prompt_version = "true-nli/1"

    def __init__(self, settings: Settings, config: Any) -> None:
        import torch
        from transformers import AutoModelForSeq2SeqLM

        on_gpu = settings.device.startswith("cuda")
        half = on_gpu and torch.cuda.is_bf16_supported()
        model = AutoModelForSeq2SeqLM.from_pretrained(settings.folder, local_files_only=True)
        super().__init__(settings, model, settings.dtype or ("bfloat16" if half else "float32"))
        self._start = config.decoder_start_token_id
        ids = self.tokenizer("1", add_special_tokens=False).input_ids
        if len(ids) != 1:
            raise ValueError(f'"1" is {len(ids)} tokens of this model')
        self._one = ids[0]

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        if not pairs:
            return []
        texts = [self._prompt(p.premise, p.hypothesis) for p in pairs]
        found = self.tokenizer(texts, truncation=False, verbose=False).input_ids
        return [
            Encoded(ids, None, False) if len(ids) <= self.limit else self._cut(pair, len(ids))
            for pair, ids in zip(pairs, found, strict=True)
        ]

    @staticmethod
    def _prompt(premise: str, hypothesis: str) -> str:
        return f"premise: {premise} hypothesis: {hypothesis}"

    def _cut(self, pair: Pair, size: int) -> Encoded:
        """Shorten the premise from its end until the prompt fits."""
        premise = self.tokenizer(pair.premise, add_special_tokens=False, verbose=False).input_ids
        room = max(0, len(premise) - (size - self.limit))
        while True:
            text = self._prompt(self.tokenizer.decode(premise[:room]), pair.hypothesis)
            ids = self.tokenizer(text, truncation=False, verbose=False).input_ids
            if len(ids) <= self.limit or room == 0:
                return Encoded(ids[: self.limit], None, True)
            room = max(0, room - max(1, len(ids) - self.limit))

    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]:
        import torch

        start = torch.full((len(ids), 1), self._start, device=ids.device)
        output = self.model(
            input_ids=ids, attention_mask=mask, decoder_input_ids=start, use_cache=False
        )
        logits = output.logits[:, 0].float()
        one = logits[:, self._one].clone()
        logits[:, self._one] = -torch.inf
        margins: list[float] = (one - logits.max(dim=1).values).tolist()
        return margins


class ClassifierModel(NliModel):
    """Any sequence classifier with an entailment label; entailed from a probability on."""

    is_classifier = True
    prompt_version = "pair/1"

    def __init__(self, settings: Settings, config: Any) -> None:
        from transformers import AutoModelForSequenceClassification

        self._label = _entailment_index(config.id2label or {}, settings.entailment_label)
        self._positions = getattr(config, "max_position_embeddings", None)
        model = AutoModelForSequenceClassification.from_pretrained(
            settings.folder, local_files_only=True
        )
        super().__init__(settings, model, "float32")

    def _own_limit(self) -> int:
        limits = [_LONGEST, self.tokenizer.model_max_length]
        if self._positions:
            limits.append(self._positions)
        return int(min(limits))

    def encode(self, pairs: Sequence[Pair]) -> list[Encoded]:
        if not pairs:
            return []
        premises, hypotheses = [p.premise for p in pairs], [p.hypothesis for p in pairs]
        found = self.tokenizer(premises, hypotheses, truncation=False, verbose=False)
        types = found.get("token_type_ids") or [None] * len(pairs)
        return [
            Encoded(ids, kinds, False) if len(ids) <= self.limit else self._cut(pair)
            for pair, ids, kinds in zip(pairs, found.input_ids, types, strict=True)
        ]

    def _cut(self, pair: Pair) -> Encoded:
        alone = len(self.tokenizer(pair.hypothesis, verbose=False).input_ids)
        # A hypothesis that fills the input by itself has to be cut as well.
        how = "only_first" if alone + 8 < self.limit else "longest_first"
        found = self.tokenizer(*pair, truncation=how, max_length=self.limit, verbose=False)
        return Encoded(found.input_ids, found.get("token_type_ids"), True)

    def _forward(self, ids: Any, mask: Any, types: Any) -> list[float]:
        extra = {} if types is None else {"token_type_ids": types}
        logits = self.model(input_ids=ids, attention_mask=mask, **extra).logits.float()
        probability = logits.softmax(dim=1)[:, self._label]
        margins: list[float] = (probability - self.settings.threshold).tolist()
        return margins


def _entailment_index(labels: dict[int, str], wanted: str | None) -> int:
    """Index of the entailment label by its name in the model's config."""
    for index, name in labels.items():
        plain = name.lower().replace("_", " ").replace("-", " ")
        if name == wanted or (wanted is None and plain in ("entailment", "entailed", "entail")):
            return int(index)
    raise ValueError(
        f"no label is {wanted or 'entailment'!r}; labels: {', '.join(labels.values())}; "
        "name one with --entailment-label"
    )
