"""The weights by hand, and the theorem of the anchor, tried to be broken."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from algorithms.chacha.safe.anchor import (
    ALLOWED,
    LARGEST,
    SHARES,
    SINCE,
    anchored,
    new_anchor,
    share,
    weigh,
)

ROUNDING = 1e-6
"""Of sums of squares of numbers up to 1e6 in doubles."""

TIMES = st.tuples(
    st.lists(st.floats(-1e4, 1e4), min_size=3, max_size=3),
    st.floats(-1e6, 1e6),
    st.floats(-1e4, 1e4),
    st.floats(0, 1e4),
)
"""What three experts forecast, a label, and a range: its lower end and its width."""


def step(values, label, state, low=-1e9, high=1e9):
    """The anchor's forecast, and then the label taken in."""
    values, experts = np.asarray(values, dtype=float), np.arange(len(values))
    forecast = anchored(values, experts, state)
    weigh(values, experts, label, low, high, state)
    return forecast


def test_all_experts_weigh_the_same_at_first():
    assert anchored(np.array([1.0, 2.0, 9.0]), np.arange(3), new_anchor(3)) == 4.0


def test_experts_are_told_by_their_places():
    values = np.array([1.0, 99.0, 3.0])

    assert anchored(values, np.array([0, 2]), new_anchor(2)) == 2.0


def test_the_first_loss_is_the_unit_and_moves_no_weight():
    state = new_anchor(2)
    step([0.0, 2.0], 0.0, state)

    assert state[3:].tolist() == [0.5, 0.5]
    assert state[LARGEST] == 4.0
    assert state[ALLOWED] == 4.0 * (2 * math.log(2) + 2 * SHARES + 1)


def test_weights_by_hand():
    state = new_anchor(2)
    step([0.0, 2.0], 0.0, state)
    step([1.0, 0.0], 0.0, state)
    # Losses 1 and 0 with M = 4, then the first share, 1 / (3 ln² 3).
    alpha = 1 / (3 * math.log(3) ** 2)
    worse = math.exp(-1 / 8) / (1 + math.exp(-1 / 8))

    assert state[SINCE] == 1.0
    assert state[3] == pytest.approx((1 - alpha) * worse + alpha / 2)
    assert state[3:].sum() == pytest.approx(1)

    before = state[3]
    step([0.0, 2.0], 0.0, state)
    odds = before / ((1 - before) * math.exp(-0.5))
    assert share(2.0) == 1 / (4 * math.log(4) ** 2)
    assert state[3] == pytest.approx((1 - share(2.0)) * odds / (1 + odds) + share(2.0) / 2)


def test_a_larger_loss_changes_the_unit_by_a_power_of_four_and_no_rank():
    state = new_anchor(2)
    for _ in range(10):
        step([0.0, 1.0], 0.0, state)
    before, since = state[3:].copy(), state[SINCE]
    step([0.0, 3.0], 0.0, state)

    assert state[LARGEST] == 16.0  # 9, rounded up to 4 ** j
    assert state[SINCE] == since
    assert state[3:] == pytest.approx(before ** (1 / 16) / (before ** (1 / 16)).sum())
    assert state[ALLOWED] == pytest.approx(32 * (math.log(2) + SHARES) + 17)


def test_what_is_allowed_grows_by_what_a_label_is_beyond_the_range():
    state = new_anchor(2)
    step([0.0, 2.0], 0.0, state, low=0.0, high=2.0)
    before = state[ALLOWED]
    step([0.0, 2.0], 5.0, state, low=0.0, high=2.0)

    assert state[ALLOWED] - before == pytest.approx(2 * 2 * 3 + 3 * 3)


def test_one_expert_is_the_anchor_and_nothing_is_allowed():
    state = new_anchor(1)
    losses = [(step([3.0], label, state) - label) ** 2 for label in (0.0, 1e6)]

    assert losses == [9.0, (1e6 - 3.0) ** 2]
    assert state.tolist() == [0.0, 0.0, 0.0, 1.0]


def test_experts_that_are_right_move_nothing():
    state = new_anchor(3)
    step([4.0, 4.0, 4.0], 4.0, state)

    assert state.tolist() == new_anchor(3).tolist()


def test_shares_stay_below_their_sum():
    first = sum(-math.log(1 - share(float(t))) for t in range(1, 100_000))

    assert first + 1.001 / math.log(100_001) < SHARES


def clip_all(forecasts, label, low, width):
    return np.clip(forecasts, low, low + width), label, low, low + width


def play(times):
    """Forecasts of the anchor, of the experts, the labels, and what is allowed after each."""
    state = new_anchor(3)
    rows = []
    for values, label, low, high in times:
        forecast = step(values, label, state, low, high)
        rows.append((forecast, values, label, state.copy()))
    return rows


@given(st.lists(TIMES, min_size=1, max_size=60))
def test_the_theorem_over_the_whole_stream(times):
    own, theirs = 0.0, np.zeros(3)
    for forecast, values, label, state in play([clip_all(*time) for time in times]):
        own += (forecast - label) ** 2
        theirs += (values - label) ** 2
        assert own <= (theirs.min() + state[ALLOWED]) * (1 + 1e-9) + ROUNDING


@given(st.lists(TIMES, min_size=1, max_size=60))
def test_allowed_is_at_most_what_the_theorem_says(times):
    beyond = 0.0
    steps = [clip_all(*time) for time in times]
    for (_, label, low, high), (*_, state) in zip(steps, play(steps), strict=True):
        away = abs(label - min(max(label, low), high))
        beyond += 2 * (high - low) * away + away**2
        per_unit = 2 * math.log(3) + 2 * SHARES + 1
        assert state[ALLOWED] >= (state[LARGEST] * per_unit + beyond) * (1 - 1e-9)
        assert state[ALLOWED] <= (4 / 3 * state[LARGEST] * per_unit + beyond) * (1 + 1e-9)


@given(st.lists(TIMES, min_size=2, max_size=40))
def test_the_theorem_over_every_interval_in_which_the_unit_stays(times):
    steps = [clip_all(values, min(max(y, low), low + w), low, w) for values, y, low, w in times]
    rows = play(steps)
    gaps = np.array([(own - y) ** 2 - (values - y) ** 2 for own, values, y, _ in rows])
    for first in range(1, len(rows)):
        before = rows[first - 1][3]
        alpha = share(max(before[SINCE], 1.0))
        total = np.zeros(3)
        for last in range(first, len(rows)):
            state = rows[last][3]
            if state[LARGEST] != before[LARGEST]:
                break
            total += gaps[last]
            most = 2 * state[LARGEST] * (math.log(3 / alpha) + SHARES)
            assert (total <= most * (1 + 1e-9) + ROUNDING).all()


@given(st.lists(st.lists(st.floats(0, 1), min_size=3, max_size=3), min_size=20, max_size=80))
def test_the_theorem_for_labels_chosen_against_the_forecast(experts):
    """Whoever sees the forecast picks the end of the range that is farther from it."""
    state, own, theirs = new_anchor(3), 0.0, np.zeros(3)
    for values in experts:
        forecast = anchored(np.array(values), np.arange(3), state)
        label = 1.0 if forecast < 0.5 else 0.0
        step(values, label, state, 0.0, 1.0)
        own += (forecast - label) ** 2
        theirs += (np.array(values) - label) ** 2
        assert own <= (theirs.min() + state[ALLOWED]) * (1 + 1e-9) + ROUNDING


def test_the_best_expert_of_each_part_is_followed():
    state, loss = new_anchor(2), 0.0
    for t in range(4000):
        label = 0.0 if t < 2000 else 1.0
        loss += (step([0.0, 1.0], label, state) - label) ** 2

    # Constant on the first part; on the second ln 1 / α of 2,000 examples.
    assert loss < 2 * (math.log(2) + SHARES) + 2 * (math.log(2 / share(2000.0)) + SHARES)
