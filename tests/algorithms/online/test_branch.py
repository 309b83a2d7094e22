"""A branch goes on exactly where its parent is, on both engines."""

import numpy as np
import pytest

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.live import KernelModels, WorkspaceModels
from leaseboard.algorithms.online.schema import Schema

SCHEMA = Schema(("a", "b", "c"), ((0, 1), (2,), (3,)), ("0", "1", "2", "3"))
PARENT = VWConfiguration((("a", "b"),), 2.0)
WIDER = VWConfiguration((("a", "b"), ("b", "c")), 2.0)
FASTER = VWConfiguration((("a", "b"),), 8.0)


def examples(n):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 4)).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = 0
    return features, (features[:, 1] * features[:, 2] + features[:, 3] + 5).astype(np.float32)


def run(models, branches):
    """Predictions of 60 examples; `branches` leave slot 0 after 40 of them."""
    features, labels = examples(60)
    ones = np.ones(60, dtype=np.float32)
    slots = np.arange(1 + len(branches))
    predictions = np.zeros((60, len(slots)), dtype=np.float32)
    models.start(0, PARENT)
    models.learn(features[:40], labels[:40], ones[:40], slots[:1], predictions[:40])
    for slot, configuration in zip(slots[1:].tolist(), branches, strict=True):
        models.start(slot, configuration, parent=0)
    models.learn(features[40:], labels[40:], ones[40:], slots, predictions[40:])
    return predictions


def test_a_branch_of_the_same_configuration_stays_equal():
    predictions = run(KernelModels(SCHEMA, 2), [PARENT])

    assert predictions[40:, 1].tolist() == predictions[40:, 0].tolist()


@pytest.mark.parametrize("configuration", [WIDER, FASTER])
def test_a_branch_starts_with_its_parents_prediction_and_goes_its_own_way(configuration):
    predictions = run(KernelModels(SCHEMA, 2), [configuration])

    assert predictions[40, 1] == predictions[40, 0]
    assert predictions[41, 1] != predictions[41, 0]


def test_both_engines_branch_alike():
    kernel = run(KernelModels(SCHEMA, 3), [WIDER, FASTER])
    workspaces = run(WorkspaceModels(SCHEMA, 3), [WIDER, FASTER])

    assert workspaces.tolist() == kernel.tolist()


@pytest.mark.parametrize("models", [KernelModels(SCHEMA, 2), WorkspaceModels(SCHEMA, 2)])
def test_predicting_is_what_learning_would_have_predicted(models):
    features, labels = examples(20)
    live, row = np.array([1]), np.zeros(2, dtype=np.float32)
    models.start(1, WIDER)
    learned = np.zeros((1, 2), dtype=np.float32)
    for example, label in zip(features, labels, strict=True):
        models.predict(example, live, row)
        models.learn(example[None], label[None], np.ones(1, np.float32), live, learned)

        assert row[1] == learned[0, 1]


def test_a_model_can_be_kept():
    models = KernelModels(SCHEMA, 1)
    run(models, [])
    features, _ = examples(1)
    row = np.zeros(1, dtype=np.float32)
    models.predict(features[0], np.array([0]), row)

    assert models.learner(0).predict(features[0]) == row[0]
