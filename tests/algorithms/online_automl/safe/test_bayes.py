"""The theorem of Bayes' mixture with a share, tried to be broken."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaseboard.algorithms.online_automl.safe.aggregate import SHARES, share
from leaseboard.algorithms.online_automl.safe.bayes import (
    average,
    learn,
    new_weights,
    regret_bound,
)

CHANCE = st.floats(1e-9, 1.0, exclude_max=True)


def lost(rows):
    """Log loss of the mixture and of each expert, after each label."""
    state, own, theirs = new_weights(rows.shape[1]), [0.0], [np.zeros(rows.shape[1])]
    for probabilities in rows:
        own.append(own[-1] - math.log(average(probabilities, state)))
        theirs.append(theirs[-1] - np.log(probabilities))
        learn(probabilities.copy(), 1.0, state, np.zeros(len(probabilities) + 2), 1)
        assert state[1:].sum() == pytest.approx(1)
    return np.array(own), np.array(theirs)


@given(st.integers(2, 6).flatmap(lambda k: st.lists(st.tuples(*[CHANCE] * k), max_size=60)))
def test_no_expert_is_ever_better_by_more_than_the_bound(steps):
    if not steps:
        return
    rows = np.array(steps)
    own, theirs = lost(rows)

    assert (own - theirs.min(axis=1)).max() <= regret_bound(rows.shape[1]) + 1e-9


@given(st.lists(st.tuples(CHANCE, CHANCE, CHANCE), min_size=2, max_size=60), st.integers(0, 58))
def test_over_every_interval_the_same_with_the_share(steps, start):
    rows, start = np.array(steps), min(start, len(steps) - 1)
    own, theirs = lost(rows)
    excess = own[start:] - own[start] - (theirs[start:] - theirs[start]).min(axis=1)
    bound = math.log(3 / share(max(start, 1))) + SHARES

    assert excess.max() <= bound + 1e-9
