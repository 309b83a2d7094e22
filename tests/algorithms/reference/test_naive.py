"""Predictions from earlier labels: by hand, and in blocks of any size."""

from dataclasses import replace

import numpy as np
import pytest

from leaseboard.algorithms import plain, registry
from leaseboard.algorithms.checks import schema_of
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import Stream, StreamEnvironment
from leaseboard.algorithms.measures import loss_of
from leaseboard.algorithms.reference.naive import NAIVE_BASELINES, Baselines
from tests.algorithms.played import ended


def stream(labels, features=None, task="regression"):
    labels = np.asarray(labels, dtype=np.float32)
    x = np.zeros((len(labels), 1)) if features is None else features
    names = tuple(map(str, range(x.shape[1])))
    return Stream(np.asarray(x, np.float32), labels, schema_of(*names), task)


def test_next_to_a_model_they_get_labels_as_on_an_environment():
    x, y = np.random.default_rng(3).normal(size=(2, 200)).astype(np.float32)
    classes = ["no", "yes", "maybe"]
    for arrival in (Arrival(), Arrival(after=5), Arrival(column="day")):
        days = np.arange(200) // 3
        kinds = np.digitize(y, [-0.5, 0.5])
        first = dict.fromkeys(kinds.tolist())
        names = {kind: classes[place] for place, kind in enumerate(first)}
        numbers = np.float32([[*first].index(kind) for kind in kinds.tolist()])
        for task, labels, raw in (
            ("regression", y, y.astype(float)),
            ("classification", numbers, np.array([names[kind] for kind in kinds.tolist()])),
        ):
            losses = Baselines(task).learn({"x": x.astype(float)}, raw, (), arrival, days)
            called = tuple(classes) if task == "classification" else ()
            whole = replace(stream(labels, x[:, None], task), classes=called, moments=days)
            for name in NAIVE_BASELINES:
                one = StreamEnvironment(whole, arrival=arrival)
                ended(registry.build(name).run(one, 0))
                assert losses[name] == pytest.approx(loss_of(one.score().metrics)), (name, arrival)


def rows_of(rng, n, width):
    return {f"x{k}": column for k, column in enumerate(rng.normal(size=(width, n)))}


@pytest.mark.parametrize("width", [30, 1100])
def test_baselines_that_were_saved_learn_on_as_classes_come(width):
    rng = np.random.default_rng(0)
    tables = [rows_of(rng, 60, width) for _ in range(4)]
    labels = [rng.choice(names, 60) for names in (["a", "b"], [*"abc"], [*"abc"], [*"cabd"])]
    kept, saved = Baselines("classification"), Baselines("classification")

    for table, named in zip(tables, labels, strict=True):
        saved = Baselines.restored(plain.load(plain.dump("m", saved.state()), "m")[1])
        reported = saved.learn(table, named)
        assert reported == kept.learn(table, named)
        ridge = "online-ridge" if width < 1000 else "online-ridge on selected features"
        assert set(reported) == {*NAIVE_BASELINES} - {"online-ridge"} | {ridge}
