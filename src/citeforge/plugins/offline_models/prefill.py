"""What a causal language model keeps of texts that it has read: keys and values of their tokens.

Each text is read by itself: no time goes into padding, the pieces fit into the processor's cache,
and what is kept of a text does not depend on the texts beside it. A beginning that several share is
read once.
"""

import copy
import os
from collections.abc import Sequence
from typing import Any

_LEAST_SHARED_TOKENS = 16
"""Tokens from which a common beginning is read apart."""


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

    tokens, kept = torch.tensor([list(ids)], device=model.device), copy.deepcopy(behind)
    return model.base_model(input_ids=tokens, past_key_values=kept, use_cache=True).past_key_values


def prefill_many(model: Any, texts: Sequence[Sequence[int]]) -> Any:
    """Keys and values of several texts, one row each, all ending at the last column.

    Returns:
        A ``DynamicCache``; columns before the beginning of a shorter text hold zeros.
    """
    import torch
    from transformers import DynamicCache

    if len(texts) == 1:
        return prefill_one(model, texts[0])
    # One token of each text is left to be read behind what they share. It compares any sequences.
    shared = os.path.commonprefix([list(ids[:-1]) for ids in texts])  # noqa: RUF071
    if len(shared) < _LEAST_SHARED_TOKENS:
        shared = []
    head = prefill_one(model, shared) if shared else None
    rows = [prefill_one(model, ids[len(shared) :], head) for ids in texts]
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
