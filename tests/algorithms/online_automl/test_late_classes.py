"""Classes whose labels come later: what was right while labels were pending is gone by."""

import numpy as np
import pytest

from leaseboard.algorithms import registry
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Namespace, Stream, StreamEnvironment
from tests.algorithms.played import ended


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("helps", ["the last class", "a feature"])
def test_late_classes_are_predicted_by_what_was_right_late(helps, n_classes):
    rng, n = np.random.default_rng(0), 2000
    x = rng.normal(size=(n, 2)).astype(np.float32)
    runs = np.arange(n) // 400 % n_classes
    y = runs if helps == "the last class" else np.digitize(x[:, 0], [0.0, 1.0][: n_classes - 1])
    places = dict[int, int]()
    y = np.array([places.setdefault(each, len(places)) for each in y.tolist()], dtype=np.float32)
    classes = tuple(map(str, range(n_classes))) if n_classes > 2 else ()
    y = y if classes else 2 * y - 1
    spaces = (Namespace("all", 0, 2),)
    stream, errors = Stream(x, y, spaces, ("a", "b"), "classification", classes=classes), {}
    for name in ("online-automl", "last-label", "online-ridge"):
        env = StreamEnvironment(stream, arrival=Arrival.parse("after=24"))
        ended(registry.build(name).run(env, 0))
        errors[name] = env.score().value
    assert errors["online-automl"] <= 1.3 * min(errors.values()), errors
