"""A probe counts what a model gets right, whatever the sample lacks."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from leaseboard.tasks.evaluate.learners import build, spaces
from leaseboard.tasks.evaluate.probes.fitting import fit_and_test
from leaseboard.tasks.evaluate.probes.split import Samples


def test_a_probe_counts_what_the_model_gets_right(samples):
    probe = fit_and_test(DecisionTreeClassifier(max_depth=1), samples, 200, 100)
    model = DecisionTreeClassifier(max_depth=1).fit(*samples.train(200))
    assert probe.train_accuracy == model.score(*samples.train(200))
    assert probe.test_accuracy == model.score(*samples.test(100))
    assert probe.fit_cpu > 0


def test_predictions_of_another_shape_are_refused(samples):
    class Column(DecisionTreeClassifier):
        def predict(self, X):
            return super().predict(X)[:, np.newaxis]  # would be compared with every label

    with pytest.raises(ValueError, match=r"\(200, 1\) is predicted for labels \(200,\)"):
        fit_and_test(Column(), samples, 200, 100)


def test_at_full_size_the_training_accuracy_is_not_asked_for(samples):
    assert fit_and_test(DecisionTreeClassifier(), samples, 400, 200).train_correct is None


def test_a_sample_of_one_class_trains_the_constant(samples):
    labels = samples.labels.copy()
    labels[:60] = 1
    lopsided = Samples(features=samples.features, labels=labels, train_rows=400)
    probe = fit_and_test(LogisticRegression(), lopsided, 50, 100)
    assert probe.train_accuracy == 1.0
    assert probe.test_correct == np.count_nonzero(lopsided.test(100)[1] == 1)


@pytest.mark.parametrize("index", range(5))
def test_a_class_that_a_small_sample_misses_harms_no_learner(samples, index):
    labels = samples.labels.copy()
    labels[300::7] = 2
    rare = Samples(features=samples.features, labels=labels, train_rows=400)
    parameters = spaces.draw_configurations("bounded", 5, seed=2)[index]
    parameters = {**parameters, "steps": 20} if "steps" in parameters else parameters
    probe = fit_and_test(build.build(parameters, seed=1), rare, 250, 200)
    assert 0 < probe.test_correct < 200
