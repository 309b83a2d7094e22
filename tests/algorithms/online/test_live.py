"""Live models, and branches."""

from __future__ import annotations

import numpy as np

from leaseboard.algorithms.online.configuration import VWConfiguration
from leaseboard.algorithms.online.kernel_models import KernelModels
from leaseboard.algorithms.online.schema import Schema

SCHEMA = Schema(("a", "b", "c"), ((0, 1), (2,), (3,)), ("0", "1", "2", "3"))
PARENT = VWConfiguration((("a", "b"),), 2.0)
WIDER = VWConfiguration((("a", "b"), ("b", "c")), 2.0)
FASTER = VWConfiguration((("a", "b"),), 8.0)


def examples(n):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(n, 4)).astype(np.float32)
    features[rng.random(features.shape) < 0.1] = 0
    labels = (features[:, 1] * features[:, 2] + features[:, 3] + 5).astype(np.float32)
    return np.ascontiguousarray(features), np.ascontiguousarray(labels)


def run(models, branches):
    """Return predictions of 60 examples; `branches` leave slot 0 after 40 of them."""
    features, labels = examples(60)
    ones = np.ascontiguousarray(np.ones(60, dtype=np.float32))
    slots = np.arange(1 + len(branches))
    predictions = np.zeros((60, len(slots)), dtype=np.float32)
    models.start(0, PARENT)
    models.learn(features[:40], labels[:40], ones[:40], slots[:1], predictions[:40])
    for slot, configuration in zip(slots[1:].tolist(), branches, strict=True):
        models.start(slot, configuration, parent=0)
    models.learn(features[40:], labels[40:], ones[40:], slots, predictions[40:])
    return predictions


def test_a_branch_starts_with_its_parents_prediction_and_goes_its_own_way():
    predictions = run(KernelModels(SCHEMA, 4), [PARENT, WIDER, FASTER])

    assert predictions[40:, 1].tolist() == predictions[40:, 0].tolist()
    assert (predictions[40, 1:] == predictions[40, 0]).all()
    assert (predictions[41, 2:] != predictions[41, 0]).all()
