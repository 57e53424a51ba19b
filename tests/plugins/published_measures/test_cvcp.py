"""The dispersion of citation positions, worked by hand (docs/measures/cvcp.md)."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from citeforge.evaluator.statistics.estimates import estimate_value
from citeforge.plugins.published_measures.cvcp import variation_sample
from conftest_evaluator import Measure

# (answer, strict, reference)
CASES = [
    # Places 2/8 and 7/8; offsets 3/16 and 12/16.
    ("Ab [1] cdef [2].", (5 / 16) / (9 / 16), (9 / 2) / (15 / 2)),
    # All at the end: 7/8 twice, in sentences of 11 and of 14 characters.
    ("Ab cdef[1]. Ab cdef[2][3].", 0 / (7 / 8), None),
    ("Ab cdef [1].", 0 / (7 / 8), 0 / (8 / 12)),
]


@pytest.mark.parametrize("case", CASES, ids=[c[0] for c in CASES])
def test_places_of_citations(case: tuple[str, float, float | None], measure: Measure) -> None:
    assert measure([case[0]], ["CVCP"])["CVCP"] == pytest.approx([case[1]])
    if case[2] is not None:
        found = measure([case[0]], ["CVCP"], protocol="reference")["CVCP"]
        assert found == pytest.approx([case[2]])


def test_it_is_not_computed_without_a_citation(measure: Measure) -> None:
    for protocol in ("strict", "reference"):
        assert isinstance(measure(["Ab.", ""], ["CVCP"], protocol=protocol)["CVCP"], str)


@given(st.lists(st.lists(st.floats(0.01, 1), max_size=5), min_size=1, max_size=9))
def test_it_is_over_the_corpus_and_not_a_mean_of_answers(places: list[list[float]]) -> None:
    value = estimate_value(variation_sample([places])).value
    every = [x for query in places for x in query]
    if every:
        assert value == pytest.approx(np.std(every) / np.mean(every), abs=1e-9)
    else:
        assert math.isnan(value)
