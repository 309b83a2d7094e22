"""A race on an environment predicts what the estimator does whenever its labels come."""

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from tests.algorithms.played import ended

N, NAMES = 500, ("a", "b", "c")


def stream(task):
    """Return a product of two features on a wave, as numbers or three classes."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(N, 3)).astype(np.float32)
    y = (x[:, 0] * x[:, 1] + np.sin(np.arange(N) / 5) + rng.normal(0, 0.1, N)).astype(np.float32)
    classes = ()
    if task == "classification":
        found, places = np.digitize(y, [-0.5, 0.5]).tolist(), dict[int, int]()
        y = np.float32([places.setdefault(each, len(places)) for each in found])
        classes = ("0", "1", "2")
    spaces = tuple(Namespace(name, k, k + 1) for k, name in enumerate(NAMES))
    moments = np.arange(N) // 7
    return Stream(x, y, spaces, NAMES, task, classes=classes, moments=moments)


CASES = [
    *(("online-automl", task, labels) for task in ("regression", "classification")
      for labels in ("immediate", "after=24", "with=day")),
    *((algorithm, "regression", "immediate") for algorithm in ("chacha", "chacha-literal")),
]  # fmt: skip


@pytest.mark.parametrize(("algorithm", "task", "labels"), CASES)
def test_the_numbers_are_those_of_the_estimator(algorithm, task, labels):
    given, arrival = stream(task), Arrival.parse(labels)
    env = StreamEnvironment(given, arrival=arrival)
    ended(registry.build(algorithm).run(env, 3))
    kind = OnlineAutoMLRegressor if task == "regression" else OnlineAutoMLClassifier
    model, found = kind(seed=3, algorithm=algorithm), np.full(N, -1.0)
    rows = [dict(zip(NAMES, row, strict=True)) for row in given.features.tolist()]
    truth = given.labels.tolist()
    for said, known in arrival.steps(N, given.moments):
        for row in range(said.start, said.stop):
            predicted = model.predict_one(rows[row], id=None if labels == "immediate" else row)
            found[row] = -1 if predicted is None else predicted
        for row in range(known.start, known.stop):
            if labels == "immediate":
                model.learn_one(rows[row], truth[row])
            else:
                model.learn_label(row, truth[row])
    counted = (env.predictions >= 0) | (found < 0) | (task == "regression")
    assert counted.sum() >= N - 3  # none counts on the first example of a class
    assert env.predictions[counted].tolist() == found.astype(np.float32)[counted].tolist()
