"""The theorem of the guard, tried to be broken."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.chacha.safe.guard import (
    guarded_value,
    largest_deviation,
    slack_change,
)

NUMBERS = st.floats(min_value=-1e15, max_value=1e15, allow_nan=False)
STEPS = st.lists(st.tuples(NUMBERS, NUMBERS, NUMBERS), min_size=1, max_size=40)


@given(STEPS, st.sampled_from([1e-4, 0.01, 0.5]))
def test_the_loss_is_never_above_its_bound(steps, rho):
    base_loss = loss = slack = 0.0
    for base, proposal, label in steps:
        forecast = guarded_value(base, proposal, slack, rho)
        slack += slack_change(base, forecast, label, rho)
        base_loss += (base - label) ** 2
        loss += (forecast - label) ** 2

        assert loss <= (1 + rho) * base_loss * (1 + 1e-9)


def test_no_deviation_beyond_it_keeps_the_guarantee():
    slack, rho, base = 0.3, 0.01, 5.0
    deviation = 1.001 * largest_deviation(slack, rho)
    worst_label = base - deviation / rho

    assert slack + slack_change(base, base + deviation, worst_label, rho) < 0


def test_the_worst_label_for_the_largest_deviation_leaves_no_slack():
    slack, rho, base = 0.3, 0.01, 5.0
    deviation = largest_deviation(slack, rho)
    worst_label = base - deviation / rho

    left = slack + slack_change(base, base + deviation, worst_label, rho)
    assert left == pytest.approx(0, abs=1e-9)


def test_a_proposal_within_reach_is_taken_as_it_is():
    assert guarded_value(base=1.0, proposal=1.05, slack=1.01, rho=0.01) == pytest.approx(1.05)


def test_without_tolerance_there_is_only_the_base():
    assert guarded_value(base=1.0, proposal=9.0, slack=100.0, rho=0.0) == 1.0


def test_an_outlier_that_only_the_base_foresaw_is_affordable():
    """A late outlier on the wrong side cannot take more than was gained."""
    rng = np.random.default_rng(0)
    labels = rng.normal(10, 1, 300)
    labels[-1] = -1e4
    base_loss = loss = slack = 0.0
    for label in labels:
        forecast = guarded_value(9.0, 12.0, slack, 0.01)
        slack += slack_change(9.0, forecast, label, 0.01)
        base_loss += (9.0 - label) ** 2
        loss += (forecast - label) ** 2

    assert loss <= 1.01 * base_loss
