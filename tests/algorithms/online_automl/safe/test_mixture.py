"""The weights by hand, the theorem of the aggregate, tried to be broken, and paired tests."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.online_automl.safe.mixture import (
    ALLOWED,
    FIRST_SHARE,
    LARGEST,
    SHARES,
    SINCE,
    aggregate,
    critical_value,
    join,
    judge,
    new_aggregate,
    prior,
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
"""What three experts prediction, a label, and a range: its lower end and its width."""


REST = 1 - FIRST_SHARE
PER_UNIT = 2 * math.log(1 / prior(2, 3)) + 2 * SHARES
"""Of three experts, what is allowed a unit of M, but for the examples on which it rises."""


def step(values, label, state, low=-1e9, high=1e9):
    """Return the aggregate's prediction, and then take in the label."""
    values = np.asarray(values, dtype=float)
    prediction = aggregate(values, state)
    weigh(values, label, min(max(label, low), high), high - low, state)
    return prediction


def test_weights_by_hand():
    state = new_aggregate(2)
    step([0.0, 2.0], 0.0, state)
    step([1.0, 0.0], 0.0, state)
    # Losses 1 and 0 with M = 4, then the first share, 1 / (3 ln² 3).
    alpha = 1 / (3 * math.log(3) ** 2)
    worse = FIRST_SHARE * math.exp(-1 / 8) / (FIRST_SHARE * math.exp(-1 / 8) + REST)

    assert state[SINCE] == 1.0
    assert state[3] == pytest.approx((1 - alpha) * worse + alpha * FIRST_SHARE)
    assert state[3:].sum() == pytest.approx(1)

    before = state[3]
    step([0.0, 2.0], 0.0, state)
    share_of_best = before / ((1 - before) * math.exp(-0.5))
    assert share(2.0) == 1 / (4 * math.log(4) ** 2)
    assert state[3] == pytest.approx(
        (1 - share(2.0)) * share_of_best / (1 + share_of_best) + share(2.0) * FIRST_SHARE
    )


def test_a_larger_loss_changes_the_unit_by_a_power_of_four_and_levels_the_weights():
    state = new_aggregate(2)
    for _ in range(10):
        step([1.0, 0.0], 0.0, state)
    before, since, begun = state[3:].copy(), state[SINCE], np.array([FIRST_SHARE, REST])
    step([0.0, 3.0], 0.0, state)
    powers = begun * (before / begun) ** (1 / 16)

    assert state[LARGEST] == 16.0  # 9, rounded up to 4 ** j
    assert state[SINCE] == since
    assert state[3:] == pytest.approx(powers / powers.sum())
    assert state[ALLOWED] == pytest.approx(16 * (2 * math.log(1 / REST) + 2 * SHARES) + 17)


def clip_all(predictions, label, low, width):
    return np.clip(predictions, low, low + width), label, low, low + width


def play(times):
    """Return predictions of the aggregate and of the experts, the labels, and the allowed loss."""
    state = new_aggregate(3)
    rows = []
    for values, label, low, high in times:
        prediction = step(values, label, state, low, high)
        rows.append((prediction, values, label, state.copy()))
    return rows


@given(st.lists(st.tuples(TIMES, st.floats(0, 1)), min_size=1, max_size=60))
def test_the_theorem_for_any_label_shown_within_the_range(times):
    state, own, theirs = new_aggregate(3), 0.0, np.zeros(3)
    for (values, label, low, width), place in times:
        clipped = np.clip(values, low, low + width)
        prediction = aggregate(clipped, state)
        weigh(clipped, label, low + place * width, width, state)
        own += (prediction - label) ** 2
        theirs += (np.array(values) - label) ** 2  # predictions that were not clipped
        assert own <= (theirs.min() + state[ALLOWED]) * (1 + 1e-9) + ROUNDING


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
            most = state[LARGEST] * (PER_UNIT + 2 * math.log(1 / alpha))
            assert (total <= most * (1 + 1e-9) + ROUNDING).all()


@given(st.lists(TIMES, min_size=1, max_size=60), st.integers(0, 59), st.booleans())
def test_the_theorem_where_an_expert_joins(times, at, against):
    """The two first are protected from the beginning, the third since it joined."""
    state, own, theirs = new_aggregate(2), 0.0, np.zeros(3)
    for t, one in enumerate(times):
        if t == min(at, len(times) - 1):
            state, theirs[2] = join(state), own
        values, label, low, high = clip_all(*one)
        known = values[: len(state) - 3]
        if against:
            label = high if aggregate(known, state) < (low + high) / 2 else low
        own += (step(known, label, state, low, high) - label) ** 2
        theirs += (values - label) ** 2
        best = theirs[: len(known)].min()
        assert own <= (best + state[ALLOWED]) * (1 + 1e-9) + ROUNDING
    assert state[3:].sum() == pytest.approx(1)


def proved(advantages, squares, z):
    """Return the challenger, from 1 on, that is proved best against champion 0; or -1."""
    n = 1 + len(advantages)
    sums, delta = np.zeros((n, 4)), 2.0 * np.exp(-z * z / 2)
    sums[1:, 0], sums[1:, 1] = advantages, squares
    return judge(sums, [0] * n, [9] * n, np.arange(n), 0, 4, 1, 4, delta, 0)[0]


def test_few_equal_challengers_are_taken_for_better():
    """200 champions' times of 10 challengers and 30 looks, heavy tails: at most delta of them."""
    rng = np.random.default_rng(0)
    false_proofs, rounds, challengers = 0, 30, 10
    looks = np.arange(1, rounds + 1)
    z = [critical_value(challengers, look, 0.1) for look in looks]
    for _ in range(200):
        differences = rng.standard_t(2, (challengers, rounds * 64))
        at_looks = slice(63, None, 64)
        sums = differences.cumsum(axis=1)[:, at_looks]
        squares = (differences**2).cumsum(axis=1)[:, at_looks]
        false_proofs += any(
            proved(sums[:, look], squares[:, look], z[look]) > 0 for look in range(rounds)
        )

    assert false_proofs <= 20


def test_the_tests_change_their_answer_at_their_edge():
    assert proved([6.0 + 1e-9], [9.0], 2.0) == 1
    assert proved([6.0 - 1e-9], [9.0], 2.0) == -1
    assert proved([6.1, 6.2, 6.2], [9.0] * 3, 2.0) == 2  # the first of the best
