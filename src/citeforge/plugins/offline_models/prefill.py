"""What a causal language model keeps of texts that it has read: keys and values of their tokens.

Each text is read by itself: no time goes into padding, the pieces fit into the processor's cache,
and what is kept of a text does not depend on the texts beside it. A beginning that several share is
read once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_WORTH_SHARING = 16
"""Tokens from which a common beginning is read apart."""


def common_length(texts: Sequence[Sequence[int]]) -> int:
    """Tokens that all begin with; 0 where they are too few to be read apart."""
    if len(texts) < 2:
        return 0
    ordered = sorted(map(tuple, texts))
    low, high = ordered[0], ordered[-1]  # what these two begin with, all between them do
    differing = (n for n, (a, b) in enumerate(zip(low, high, strict=False)) if a != b)
    length = next(differing, min(len(low), len(high)))
    return length if length >= _WORTH_SHARING else 0


def prefill_one(model: Any, ids: Sequence[int], behind: Any = None) -> Any:
    """Keys and values of one text.

    Args:
        model: a causal language model of transformers.
        ids: its tokens, at least one.
        behind: keys and values of what comes before; stays as it is.

    Returns:
        A ``DynamicCache`` of one row.
    """
    import torch
    from transformers import DynamicCache

    cache: Any = DynamicCache(config=model.config)
    if behind is not None:
        for n, layer in enumerate(behind.layers):
            cache.update(layer.keys, layer.values, n)
    tokens = torch.tensor([list(ids)], device=model.device)
    model.base_model(input_ids=tokens, past_key_values=cache, use_cache=True)
    return cache


def prefill_many(model: Any, texts: Sequence[Sequence[int]]) -> Any:
    """Keys and values of several texts, one row each, all ending at the last column.

    Returns:
        A ``DynamicCache``; columns before the beginning of a shorter text hold zeros.
    """
    import torch
    from transformers import DynamicCache

    shared = min(common_length(texts), min(map(len, texts)) - 1)
    head = prefill_one(model, texts[0][:shared]) if shared else None
    rows = [prefill_one(model, ids[shared:], head) for ids in texts]
    if len(rows) == 1:
        return rows[0]
    width = max(map(len, texts))
    cache: Any = DynamicCache(config=model.config)
    for n, layer in enumerate(rows[0].layers):
        shape = (len(rows), layer.keys.shape[1], width, layer.keys.shape[3])
        keys, values = torch.zeros(shape), torch.zeros(shape)
        for row, (ids, one) in enumerate(zip(texts, rows, strict=True)):
            keys[row, :, width - len(ids) :] = one.layers[n].keys[0]
            values[row, :, width - len(ids) :] = one.layers[n].values[0]
            one.layers[n] = None  # held once, not twice
        cache.update(keys, values, n)
    return cache
