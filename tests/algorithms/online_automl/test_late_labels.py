"""Classes whose labels come later: what was right while labels were pending is gone by."""

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.online.schema import Origin, Schema
from tests.algorithms.played import ended


def errors_of(names, x, y, n_classes, labels):
    """Return the error of each algorithm on classes, the first that comes being that of 1.0."""
    places = dict[int, int]()
    y = np.array([places.setdefault(each, len(places)) for each in y.tolist()], dtype=np.float32)
    classes = tuple(map(str, range(n_classes))) if n_classes > 2 else ()
    y = y if classes else 1 - 2 * y
    schema = Schema(("all",), ((0, 1),), ("a", "b"), origins=(Origin("a"), Origin("b")))
    stream, errors = Stream(x, y, schema, "classification", classes=classes), {}
    for name in names:
        env = StreamEnvironment(stream, arrival=Arrival.parse(labels))
        ended(registry.build(name).run(env, 0))
        errors[name] = env.score().value
    return errors


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("helps", ["the last class", "a feature"])
def test_late_classes_are_predicted_by_what_was_right_late(helps, n_classes):
    rng, n = np.random.default_rng(0), 2000
    x = rng.normal(size=(n, 2)).astype(np.float32)
    runs = np.arange(n) // 400 % n_classes
    y = runs if helps == "the last class" else np.digitize(x[:, 0], [0.0, 1.0][: n_classes - 1])
    names = ("online-automl", "last-label", "online-ridge")
    errors = errors_of(names, x, y, n_classes, "after=24")
    assert errors["online-automl"] <= 1.3 * min(errors.values()), errors


@pytest.mark.parametrize("labels", ["after=24", "after=200"])
@pytest.mark.parametrize("n_classes", [2, 3])
def test_a_file_that_is_sorted_by_class_is_predicted_as_by_the_last_class(n_classes, labels):
    n = 3000
    x = np.random.default_rng(0).normal(size=(n, 2)).astype(np.float32)
    errors = errors_of(
        ("online-automl", "last-label"), x, np.arange(n) * n_classes // n, n_classes, labels
    )
    assert errors["online-automl"] <= 1.01 * errors["last-label"], errors
