"""Any causal language model through transformers.

Texts that begin alike (a paragraph, and one candidate sentence after the other) are read once as
far as they are alike; what follows is read behind the kept keys and values.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from citeforge.engines.models.compute import device_of
from citeforge.engines.models.files import Located, find_model, loading_errors
from citeforge.engines.models.parallel import one_thread_each
from citeforge.engines.models.perplexity.records import PerplexitySettings
from citeforge.plugins.offline_models import smollm
from citeforge.plugins.offline_models.packed import pack_linears
from citeforge.plugins.offline_models.prefill import common_length

_TOKENS = 512
"""Most tokens of a batch, padding included: each has a logit for every word of the vocabulary."""
_GROUPS = 16
"""Groups whose beginnings are kept at a time."""


@dataclass(frozen=True)
class _Group:
    """Texts that begin alike.

    Attributes:
        texts: numbers of the texts.
        ids: their tokens.
        shared: how many of these are the same.
    """

    texts: list[int]
    ids: list[list[int]]
    shared: int


@dataclass(frozen=True)
class _Head:
    """What is known of a group's beginning.

    Attributes:
        total: sum of the log probabilities of its tokens, the first left out.
        last: log probabilities of what follows it, shape (vocabulary,).
        kept: keys and values, one row.
    """

    total: float
    last: Any
    kept: Any


class CausalModel:
    """A causal language model of this disk."""

    def __init__(
        self, name: str, locate: Callable[[], Located], title: str, device: str = "auto"
    ) -> None:
        """Take a model; it is looked for and loaded when it is first used.

        Args:
            name: as it was given, for errors.
            locate: finds its files.
            title: name in manifests.
            device: where it computes.
        """
        self.name, self._locate, self.title, self._device = name, locate, title, device

    @cached_property
    def _located(self) -> Located:
        return self._locate()

    def identity(self) -> dict[str, Any]:
        return {"name": self.title, **self._located.identity}

    @cached_property
    def _loaded(self) -> tuple[Any, Any, Any]:
        import torch

        device = device_of(self._device)
        tokenizer, model = self._load(device)
        return tokenizer, model.to(device).eval(), torch.device(device)

    def _load(self, device: str) -> tuple[Any, Any]:
        from transformers import AutoModelForCausalLM, AutoTokenizer
        from transformers.utils import logging

        logging.disable_progress_bar()  # type: ignore[no-untyped-call]
        with loading_errors("is no causal language model", self.name):
            tokenizer: Any = AutoTokenizer.from_pretrained(self._located.folder)
            model: Any = AutoModelForCausalLM.from_pretrained(self._located.folder)
        if device == "cpu":
            pack_linears(model)
        return tokenizer, model

    def of(self, texts: Sequence[str]) -> list[float]:
        """Perplexities; the first token of each text conditions and is not counted."""
        tokenizer, model, device = self._loaded
        limit = getattr(model.config, "max_position_embeddings", None) or 1024
        ids = tokenizer(list(texts), truncation=True, max_length=limit)["input_ids"]
        totals = [0.0] * len(texts)
        groups = list(_groups(ids))
        for at in range(0, len(groups), _GROUPS):
            some = groups[at : at + _GROUPS]
            heads = list(one_thread_each(self._head, some, device.type))
            work = [p for g, h in zip(some, heads, strict=True) for p in _pieces(g, h)]
            for totals_of_piece in one_thread_each(self._rest, work, device.type):
                for text, total in totals_of_piece:
                    totals[text] = total
        sizes = [len(one) - 1 for one in ids]
        return [math.exp(-t / n) if n > 0 else math.inf for t, n in zip(totals, sizes, strict=True)]

    def _head(self, group: _Group) -> _Head | None:
        """The common beginning of a group, read once."""
        import torch

        if not group.shared:
            return None
        _, model, device = self._loaded
        ids = torch.tensor([group.ids[0][: group.shared]], device=device)
        with torch.inference_mode():
            out = model(input_ids=ids, use_cache=True)
            logs = _logs(out.logits[:, :-1], ids[:, 1:])
            last = out.logits[0, -1].float().log_softmax(dim=0)
        return _Head(math.fsum(logs[0].tolist()), last, out.past_key_values)

    def _rest(self, piece: tuple[_Group, _Head | None, list[int]]) -> list[tuple[int, float]]:
        """Text number and sum of log probabilities of some texts of a group."""
        import torch

        group, head, rows = piece
        _, model, device = self._loaded
        rest = [group.ids[row][group.shared :] for row in rows]
        width = max(map(len, rest), default=0)
        logs: list[list[float]] = [[] for _ in rows]
        if width:
            ids = torch.tensor([r + [0] * (width - len(r)) for r in rest], device=device)
            # What pads a row stands behind all that is read there, so that nothing looks at it.
            mask = torch.ones((len(rows), group.shared + width), dtype=torch.long, device=device)
            for n, one in enumerate(rest):
                mask[n, group.shared + len(one) :] = 0
            cache = None
            if head is not None:
                cache = copy.deepcopy(head.kept)
                cache.batch_repeat_interleave(len(rows))
            with torch.inference_mode():
                out = model(input_ids=ids, attention_mask=mask, past_key_values=cache)
                logs = _logs(out.logits[:, :-1], ids[:, 1:]).tolist()
        totals = []
        for row, one, values in zip(rows, rest, logs, strict=True):
            total = 0.0 if head is None else head.total + (float(head.last[one[0]]) if one else 0.0)
            totals.append((group.texts[row], total + math.fsum(values[: max(0, len(one) - 1)])))
        return totals


class _Embedded(CausalModel):
    """The embedded LLM, which is loaded once a process on the CPU."""

    def _load(self, device: str) -> tuple[Any, Any]:
        return smollm.loaded() if device == "cpu" else super()._load(device)


def _logs(logits: Any, tokens: Any) -> Any:
    """Log probabilities of tokens, shape (rows, tokens), in float64."""
    import torch

    logits = logits.float()
    chosen = logits.gather(2, tokens[:, :, None]).squeeze(2)
    return (chosen - logits.logsumexp(dim=2)).to(torch.float64)


def _groups(ids: Sequence[list[int]]) -> Iterator[_Group]:
    """Texts, sorted by their tokens, cut where less than half of a text is common to its group."""
    order = sorted(range(len(ids)), key=lambda n: ids[n])
    texts: list[int] = []
    for n in order:
        both = common_length([ids[texts[0]], ids[n]]) if texts else 0
        if texts and 2 * both < len(ids[n]):
            yield _group(ids, texts)
            texts = []
        texts.append(n)
    if texts:
        yield _group(ids, texts)


def _group(ids: Sequence[list[int]], texts: list[int]) -> _Group:
    mine = [ids[n] for n in texts]
    return _Group(texts, mine, common_length(mine))


def _pieces(group: _Group, head: _Head | None) -> Iterator[tuple[_Group, _Head | None, list[int]]]:
    """Batches of a group's rows, of like length."""
    rows: list[int] = []
    for row in sorted(range(len(group.ids)), key=lambda r: -len(group.ids[r])):
        longest = len(group.ids[rows[0] if rows else row]) - group.shared
        if rows and longest * (len(rows) + 1) > _TOKENS:
            yield group, head, rows
            rows = []
        rows.append(row)
    if rows:
        yield group, head, rows


def hub_or_folder(name: str, settings: PerplexitySettings) -> CausalModel:
    """A model folder, or a Hub repository."""
    locate = partial(find_model, name, settings.revision, "--perplexity ngram")
    return CausalModel(name, locate, f"hf:{Path(name).name}", settings.device)


def offline_model(settings: PerplexitySettings) -> CausalModel:
    """The embedded LLM."""
    return _Embedded("offline", smollm.located, "offline", settings.device)
