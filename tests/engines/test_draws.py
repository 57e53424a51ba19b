"""Keyed draws."""

from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from citeforge.engines.draws import distinct_below, generator, key, sample_ids


def test_keys_differ_in_every_part() -> None:
    keys = {key(0, "a", "b"), key(1, "a", "b"), key(0, "ab", ""), key(0, "a", "b", ""), key(0, "a")}
    assert len(keys) == 5


def test_the_stream_is_pinned() -> None:
    # Builds of old seeds must come out the same in years to come. The digest is sha256 of
    # "7\x1fpurpose\x1fq1", worked out with `printf '7\037purpose\037q1' | sha256sum`.
    expected = 0x312F7B214A3BE1CA
    assert key(7, "purpose", "q1") >> 192 == expected


@given(st.sets(st.text(max_size=5), min_size=1, max_size=30), st.integers(1, 30), st.integers())
def test_samples_keep_order_and_size(ids: set[str], size: int, seed: int) -> None:
    population = sorted(ids)
    sample = sample_ids(population, size, seed, "limit")
    assert len(sample) == min(size, len(population))
    assert sample == [i for i in population if i in set(sample)]
    assert sample == sorted(sample_ids(population[::-1], size, seed, "limit"))


@given(
    st.integers(0, 60),
    st.integers(0, 20),
    st.sets(st.integers(0, 60)),
    st.integers(0, 1000),
)
def test_draws_are_distinct_and_allowed(limit: int, size: int, barred: set[int], seed: int) -> None:
    drawn = distinct_below(limit, size, generator(seed, "test"), barred)
    free = set(range(limit)) - barred
    assert len(drawn) == len(set(drawn)) == min(size, len(free))
    assert set(drawn) <= free


def test_draws_are_uniform() -> None:
    counts = Counter(
        n for i in range(6000) for n in distinct_below(12, 3, generator(1, "uniform", i), {4, 7})
    )
    # Each of 10 numbers is expected 6000 * 3 / 10 = 1800 times, with a standard deviation of
    # sqrt(6000 * 0.3 * 0.7) = 35.5; the seed is fixed, five deviations leave room.
    assert set(counts) == set(range(12)) - {4, 7}
    assert all(abs(count - 1800) < 178 for count in counts.values())
