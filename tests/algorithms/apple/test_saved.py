"""A learner that was built from plain values predicts bit by bit as the one that they describe."""

import numpy as np
import pytest

from leaseboard.algorithms.apple.apple import Apple, Polynomial
from leaseboard.algorithms.apple.saved import learner_of, state_of
from leaseboard.algorithms.base import play
from leaseboard.algorithms.testing import parity
from tests.algorithms.played import ended

ALGORITHMS = [
    *(Apple(alpha=0.5), Apple(alpha=0.5, bits=4)),
    *(Polynomial(degree=2), Polynomial(degree=3, bits=4)),
]


def ran(algorithm):
    """Return what a run leaves, and its environment."""
    env = parity(rows=500, order=2)
    return ended(play("a", algorithm, env, 0))[1], env


@pytest.mark.parametrize("algorithm", ALGORITHMS, ids=str)
def test_predictions_are_the_same(algorithm):
    learner, env = ran(algorithm)
    rows = env.holdout.test.rows

    assert learner is not None
    np.testing.assert_array_equal(
        learner_of(state_of(learner)).predict(rows), learner.predict(rows)
    )


@pytest.mark.parametrize("bits", [18, 4], ids=["plan", "hashed"])
def test_monomials_keep_their_names_and_weights(bits):
    learner, _ = ran(Apple(alpha=0.5, bits=bits))

    assert (state_of(learner)["kernel"] == "hashed") == (bits == 4)
    assert learner_of(state_of(learner)).weights() == learner.weights()


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"magnitude": np.zeros(3)}, ValueError),
        ({"w": np.zeros(3, np.float32)}, ValueError),
        ({"learning": {"bits": 60}}, ValueError),
        ({"kernel": "full", "degree": 40}, ValueError),
        ({"n_variables": "many"}, ValueError),
    ],
)
@pytest.mark.parametrize("bits", [18, 4], ids=["plan", "hashed"])
def test_a_state_that_no_learner_has_is_refused(bits, change, error):
    learner, _ = ran(Apple(alpha=0.5, bits=bits))
    state = state_of(learner) | change
    with pytest.raises(error):
        learner_of(state)
