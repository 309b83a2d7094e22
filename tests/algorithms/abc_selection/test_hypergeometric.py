"""Tail probabilities beside SciPy's."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import hypergeom

from leaseboard.algorithms.abc_selection.bounds import at_most


@given(
    rows=st.integers(1, 4_000_000),
    correct=st.floats(0, 1),
    drawn=st.floats(0, 1),
    deviations=st.floats(-8, 8),
)
@settings(max_examples=300, deadline=None)
def test_the_tail_is_scipys(rows, correct, drawn, deviations):
    correct, drawn = round(correct * rows), round(drawn * rows)
    mean = drawn * correct / rows
    variance = mean * (1 - correct / rows) * (rows - drawn) / max(1, rows - 1)
    x = round(mean + deviations * math.sqrt(variance))
    expected = hypergeom.cdf(x, rows, correct, drawn)
    assert at_most(x, rows, correct, drawn) == pytest.approx(expected, rel=1e-7, abs=1e-14)


def test_every_count_of_a_small_population():
    for x in range(-2, 9):
        expected = hypergeom.cdf(x, 12, 7, 6)
        assert at_most(x, 12, 7, 6) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(
    ("rows", "correct", "drawn"), [(5, 0, 3), (5, 5, 3), (5, 2, 0), (5, 2, 5)]
)
def test_a_certain_count_is_certain(rows, correct, drawn):
    certain = correct * drawn // rows
    assert at_most(certain - 1, rows, correct, drawn) == 0
    assert at_most(certain, rows, correct, drawn) == 1
