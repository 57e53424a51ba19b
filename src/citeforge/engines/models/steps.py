"""How far a batch is while a model computes it: a share after each of the model's linear layers."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

Share = Callable[[float], None]
"""Told how much of the work, in items, was done since the last call; from any thread."""


@contextmanager
def layer_steps(model: Any, share: Share) -> Iterator[Callable[[float], None]]:
    """Listen to a model's linear layers; what it computes does not change.

    Args:
        model: a torch module, or another model that calls its ``after_linear`` likewise.
        share: told of every layer.

    Yields:
        To be called with the items of a batch by the thread that is about to compute it.
    """
    import torch

    batch = threading.local()
    is_module = isinstance(model, torch.nn.Module)
    layers = [m for m in model.modules() if isinstance(m, torch.nn.Linear)] if is_module else []
    n_layers = len(layers) if is_module else model.n_linear

    def begin(items: float) -> None:
        batch.step, batch.steps_left = items / max(1, n_layers), n_layers

    def after(*_: object) -> None:
        if getattr(batch, "steps_left", 0):  # a layer may run twice, or a batch in halves
            batch.steps_left -= 1
            share(batch.step)

    removals = [layer.register_forward_hook(after).remove for layer in layers]
    if not is_module:
        model.after_linear = after
        removals = [lambda: setattr(model, "after_linear", None)]
    try:
        yield begin
    finally:
        for remove in removals:
            remove()
