"""Random draws keyed by (seed, purpose, id).

A draw depends on nothing else: not on the order of the queries, the number of workers, or what
was drawn before. ``random.Random`` seeded with an integer gives the same numbers on every
platform and Python version that citeforge runs on.
"""

import hashlib
import random
from collections.abc import Collection, Sequence
from typing import TypeVar

T = TypeVar("T")


def key(seed: int, purpose: str, *ids: object) -> int:
    """Hash a seed, a purpose and ids to the 256-bit integer that seeds one random draw."""
    text = "\x1f".join([str(seed), purpose, *(str(i) for i in ids)])
    return int.from_bytes(hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest())


def mix_secret(seed: int, secret: bytes | None) -> int:
    """Mix a secret into a seed, so that draws cannot be predicted; None changes nothing."""
    if secret is None:
        return seed
    return int.from_bytes(hashlib.blake2b(str(seed).encode(), key=secret, digest_size=32).digest())


def generator(seed: int, purpose: str, *ids: object) -> random.Random:
    """Make the random generator of one draw, seeded by a hash of seed, purpose and ids."""
    return random.Random(key(seed, purpose, *ids))


def sample_ids(ids: Sequence[T], size: int, seed: int, purpose: str) -> list[T]:
    """Draw a uniform sample of ``size`` ids, returned in their original order.

    Each id has a key of its own, so that adding an id to the population moves at most one id out
    of the sample.

    Args:
        ids: the population.
        size: most ids to draw.
        seed: seed of the draw.
        purpose: name of the draw, so that several draws with one seed differ.
    """
    sample = set(sorted(ids, key=lambda item: key(seed, purpose, item))[:size])
    return [item for item in ids if item in sample]


def distinct_below(limit: int, size: int, rng: random.Random, barred: Collection[int]) -> list[int]:
    """Draw ``size`` distinct integers from [0, limit), all equally likely, except barred ones.

    Args:
        limit: size of the population.
        size: how many to draw.
        rng: generator for this draw alone.
        barred: integers that are not drawn; expected to be few.

    Returns:
        At most ``size`` integers in the order drawn; fewer when fewer are left.
    """
    drawn: list[int] = []
    numbers: set[int] = set()
    attempts = 20 * size + 100
    for _ in range(attempts):
        if len(drawn) == size or len(numbers) == limit:
            return drawn
        candidate = rng.randrange(limit)
        if candidate in numbers:
            continue
        numbers.add(candidate)
        if candidate not in barred:
            drawn.append(candidate)
    # A small or mostly forbidden population: the rest is drawn from an explicit list.
    rest = [i for i in range(limit) if i not in numbers and i not in barred]
    rng.shuffle(rest)
    return drawn + rest[: size - len(drawn)]
