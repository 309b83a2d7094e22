"""The configurations that are chosen from where nobody names any: ordinary ones.

Each tells probabilities, and is at home on some tables of mixed columns: linear ones where rows
are few, forests and boosted trees where columns act together, a network where they do so smoothly.
They are few, for a choice among many that are alike costs samples and gains nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from leaseboard.algorithms.errors import UsageError, short
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.learners.build import build

ORDINARY: tuple[Parameters, ...] = (
    {"learner": "LogisticRegression", "C": 0.01, "max_iter": 200},
    {"learner": "LogisticRegression", "C": 1.0, "max_iter": 200},
    {"learner": "LogisticRegression", "C": 100.0, "max_iter": 200},
    {"learner": "RandomForest", "n_estimators": 100, "min_samples_leaf": 1},
    {"learner": "RandomForest", "n_estimators": 100, "min_samples_leaf": 10},
    {"learner": "LightGBM", "n_estimators": 50, "num_leaves": 7, "learning_rate": 0.1},
    {"learner": "LightGBM", "n_estimators": 100, "num_leaves": 31, "learning_rate": 0.1},
    {"learner": "LightGBM", "n_estimators": 200, "num_leaves": 15, "learning_rate": 0.03},
    {"learner": "NeuralNetwork", "width": 32, "learning_rate_init": 0.003, "steps": 1500},
)
"""As `leaseboard.tasks.evaluate.learners.build.build` takes them."""


def classifiers(configurations: Sequence[Mapping[str, Any]], seed: int) -> dict[str, Any]:
    """An untrained classifier for each configuration, by what it sets.

    Raises
    ------
    UsageError
        If there are fewer than two, two are the same, or one cannot be built.

    Examples
    --------
    >>> list(classifiers(ORDINARY, seed=0))[1]
    'LogisticRegression C=1.0 max_iter=200'
    """
    found: dict[str, Any] = {}
    for each in configurations:
        if not isinstance(each, Mapping) or "learner" not in each:
            raise UsageError(
                f"a configuration names its learner: {short(str(each), 60)} does not; write"
                " {learner: LogisticRegression, C: 1.0}"
            )
        settings = {name: value for name, value in each.items() if name != "learner"}
        name = " ".join([str(each["learner"]), *(f"{n}={v}" for n, v in settings.items())])
        if name in found:
            raise UsageError(f"the configuration {name!r} stands there twice: remove one")
        try:
            found[name] = build(dict(each), seed)
        except TypeError as error:  # of a parameter that it does not have
            raise UsageError(f"the configuration {name!r}: {error}") from error
    if len(found) < 2:
        raise UsageError(
            f"{len(found)} configurations are nothing to choose from: name two or more"
        )
    return found
