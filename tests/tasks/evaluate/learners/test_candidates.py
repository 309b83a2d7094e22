"""Five learners, 29 hyperparameters, and draws that are prefixes of each other."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.datasets import make_classification

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.evaluate.learners import candidates, classifiers
from leaseboard.tasks.evaluate.learners.classifiers import FixedStepNetwork


@pytest.mark.parametrize("profile", candidates.PROFILES)
def test_five_learners_have_29_hyperparameters(profile):
    assert len(candidates.PROFILES[profile]) == 5
    assert sum(len(space) for space in candidates.PROFILES[profile].values()) == 29


@pytest.mark.parametrize("profile", candidates.PROFILES)
def test_every_draw_is_within_its_domain_and_can_be_built(profile):
    for parameters in candidates.draw_configurations(profile, 40, seed=3):
        classifiers.build(parameters, seed=1)
        for name, domain in candidates.PROFILES[profile][parameters["learner"]].items():
            if isinstance(domain, tuple):
                assert parameters[name] in domain
            else:
                assert domain.low * 0.999 <= parameters[name] <= domain.high * 1.001


def test_a_longer_draw_begins_with_the_shorter():
    drawn = candidates.draw_configurations("bounded", 20, seed=5)
    assert candidates.draw_configurations("bounded", 7, seed=5) == drawn[:7]
    assert candidates.draw_configurations("bounded", 20, seed=6) != drawn
    learners = [parameters["learner"] for parameters in drawn]
    assert learners[:5] == learners[5:10]
    assert len(set(learners[:5])) == 5


@pytest.mark.parametrize("learner_index", range(5))
@pytest.mark.parametrize("classes", [2, 3])
def test_every_learner_learns_float32_rows_alike_every_time(learner_index, classes):
    X, y = make_classification(
        2000, 6, n_informative=4, n_classes=classes, class_sep=1.5, random_state=0
    )
    X, y = X.astype(np.float32), y.astype(np.int32)
    parameters = candidates.draw_configurations("bounded", 5, seed=2)[learner_index]
    models = [classifiers.build(parameters, seed=4).fit(X, y) for _ in range(2)]
    assert np.mean(models[0].predict(X) == y) > 0.6
    assert np.array_equal(models[0].predict(X), models[1].predict(X))


def test_a_network_takes_the_same_number_of_steps_on_any_sample():
    rng = np.random.default_rng(0)
    for rows in (30, 100, 1000, 50_000):
        X = rng.random((rows, 2), dtype=np.float32)
        network = FixedStepNetwork(width=4, steps=160, batch_size=50)
        network.fit(X, (X[:, 0] > 0.5).astype(int))
        assert network.network_._optimizer.t == 160


def test_an_unknown_learner_is_named():
    with pytest.raises(UsageError, match="unknown learner 'Oracle'"):
        classifiers.build({"learner": "Oracle"}, seed=0)
