"""Listening to a model's layers: shares of a batch, and nothing else about it changes."""

import torch

from citeforge.engines.io.progress import ProgressCounter
from citeforge.engines.models.steps import layer_steps


def test_each_linear_layer_tells_its_share() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(3, 3), torch.nn.ReLU(), torch.nn.Linear(3, 2))
    shares: list[float] = []
    inputs = torch.ones(4, 3)
    with torch.inference_mode():
        before = model(inputs)
        with layer_steps(model, shares.append) as begin:
            begin(4)
            heard = model(inputs)
            model(inputs)  # the same batch once more, as in halves: its share is used up
        model(inputs)  # nobody listens
    assert shares == [4 / 2, 4 / 2]
    assert torch.equal(before, heard)


def test_a_model_without_linear_layers_says_nothing() -> None:
    shares: list[float] = []
    with layer_steps(torch.nn.ReLU(), shares.append) as begin:
        begin(4)
    assert shares == []


def test_an_estimate_never_goes_back_and_ends_at_what_is_done() -> None:
    told: list[tuple[int, str | None]] = []
    count = ProgressCounter(lambda items, note=None: told.append((items, note)), 4)
    count.share(0.5)  # half an item: nothing to tell
    count.share(0.6)  # 1.1 of 4
    count.share(9.0)  # never all of them before they are done
    count.done(2, "0 failed")  # 3 of 4 were told already
    count.done(2, "1 failed")
    assert told == [(1, None), (2, None), (1, "1 failed")]
