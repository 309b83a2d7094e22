"""Candidates of a selection, drawn by a seed."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from leaseboard.tasks.evaluate import learners


def test_five_learners_have_29_hyperparameters_that_are_drawn_within_their_domains():
    domains = learners.domains()
    assert len(domains) == 5
    assert sum(len(space) for space in domains.values()) == 29
    for parameters in learners.draw_configurations(40, seed=3):
        learners.build(parameters, seed=1)
        for name, domain in domains[parameters["learner"]].items():
            if isinstance(domain, list):
                assert parameters[name] in domain
            else:
                assert domain["low"] * 0.999 <= parameters[name] <= domain["high"] * 1.001


def test_a_longer_draw_begins_with_the_shorter_and_learners_alternate():
    drawn = learners.draw_configurations(20, seed=5)
    names = [parameters["learner"] for parameters in drawn]

    assert learners.draw_configurations(7, seed=5) == drawn[:7]
    assert learners.draw_configurations(20, seed=6) != drawn
    assert len(set(names[:5])) == 5
    assert names[:5] == names[5:10]


@pytest.mark.filterwarnings("ignore:Stochastic Optimizer")
def test_every_learner_learns_float32_rows_alike_every_time():
    drawn = learners.draw_configurations(5, seed=2)
    X, y = make_classification(500, 6, n_informative=4, n_classes=3, class_sep=1.5, random_state=0)
    X, y = X.astype(np.float32), y.astype(np.int32)
    for parameters in drawn:
        one, other = (learners.build(parameters, seed=4).fit(X, y) for _ in range(2))
        assert np.mean(one.predict(X) == y) > 0.55
        assert np.array_equal(one.predict(X), other.predict(X))


def test_a_network_takes_the_same_number_of_steps_on_any_sample():
    rng = np.random.default_rng(0)
    for rows in (30, 1000):
        X = rng.random((rows, 2), dtype=np.float32)
        network = learners.FixedStepNetwork(width=4, steps=160, batch_size=50)
        assert network.fit(X, (X[:, 0] > 0.5).astype(int)).network_._optimizer.t == 160
