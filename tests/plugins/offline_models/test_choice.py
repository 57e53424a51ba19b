"""Which token is next: worked logits, and draws that nobody else's row can change."""

import hashlib
import math

import pytest
import torch

from citeforge.engines.llm.records import Request
from citeforge.plugins.offline_models.choice import TokenChooser

pytestmark = pytest.mark.numeric
END = 0


def key(text: object) -> str:
    return hashlib.sha256(str(text).encode()).hexdigest()


def choice(*heats: float) -> TokenChooser:
    requests = [Request((), {"temperature": t}) for t in heats]
    return TokenChooser(requests, [key(n) for n in range(len(heats))], END)


def step(chooser: TokenChooser, *rows: list[float]) -> list[int]:
    sums = chooser(None, torch.tensor(rows))
    return [int(i) for i in sums.argmax(dim=1)]


def test_the_likeliest_token_with_its_probability_and_its_lead() -> None:
    chooser = choice(0.0)
    # Probabilities 1/8, 2/8, 5/8.
    assert step(chooser, [0.0, math.log(2), math.log(5)]) == [2]
    assert step(chooser, [math.log(3), 0.0, 0.0]) == [END]
    first, last = chooser.rows[0]
    assert (first.token, last.token) == (2, END)
    assert first.log == pytest.approx(math.log(5 / 8))
    assert first.lead == pytest.approx(math.log(5) - math.log(2))
    assert last.log == pytest.approx(math.log(3 / 5))
    assert last.lead == pytest.approx(math.log(3))


def test_nothing_counts_behind_the_end() -> None:
    chooser = choice(0.0, 0.0)
    step(chooser, [9.0, 0.0], [0.0, 9.0])
    step(chooser, [0.0, 0.5], [0.0, 9.0])  # the first row has ended: its padding is nobody's token
    assert [c.token for c in chooser.rows[0]] == [END]
    assert [c.token for c in chooser.rows[1]] == [1, 1]


def test_draws_follow_the_distribution() -> None:
    n = 4000
    requests = [Request((), {"temperature": 2.0})] * n
    chooser = TokenChooser(requests, [key(i) for i in range(n)], END)
    # Over a temperature of 2 the odds are √9 : 1, so p = 3/4.
    drawn = step(chooser, *[[0.0, math.log(9)]] * n)
    share, p = sum(drawn) / n, 3 / 4
    assert abs(share - p) < 4 * math.sqrt(p * (1 - p) / n)


def test_a_draw_is_its_requests_own() -> None:
    logits = [[0.1 * i for i in range(50)]]
    alone = [TokenChooser([Request((), {"temperature": 1.0})], [key(n)], END) for n in range(5)]
    together = choice(*[1.0] * 5)
    for _ in range(3):
        apart = [step(one, *logits)[0] for one in alone]
        assert step(together, *logits * 5) == apart
