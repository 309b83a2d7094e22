"""The five learners of the ABC paper with 29 hyperparameters, drawn by random search.

Huang et al. (AAAI 2019) name the learners and the number of hyperparameters, not their domains.
These are the usual ones of each learner.

``paper``
    Ordinary domains, forests and boosted trees that can learn a sample by heart among them.
``bounded``
    Domains in which no learner can, so that their accuracy on a sample of a few thousand rows
    is close to what they reach in full, and the paper's bounds can separate them. Nothing
    binds on a small sample only, because a model that is held back there fits that sample worse
    than a model from all rows does, against ABC's fitness assumption. So linear models are
    hardly regularised (scikit-learn's C weighs the sum of the losses), leaves may hold few
    rows, and boosting's penalties, which weigh against sums over a leaf, are small.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import generator


@dataclass(frozen=True, slots=True)
class Real:
    """A number between `low` and `high`, uniform or log-uniform."""

    low: float
    high: float
    log: bool = False

    def draw(self, rng: np.random.Generator) -> float:
        """One value, with four significant digits."""
        if self.log:
            value = math.exp(rng.uniform(math.log(self.low), math.log(self.high)))
        else:
            value = rng.uniform(self.low, self.high)
        return float(f"{value:.4g}")


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number from `low` to `high`, both included, uniform or log-uniform."""

    low: int
    high: int
    log: bool = False

    def draw(self, rng: np.random.Generator) -> int:
        """One value."""
        if self.log:
            return int(math.exp(rng.uniform(math.log(self.low), math.log(self.high + 1))))
        return int(rng.integers(self.low, self.high + 1))


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some values."""

    values: tuple[Any, ...]

    def draw(self, rng: np.random.Generator) -> Any:
        """One value."""
        return self.values[rng.integers(len(self.values))]


Space = Mapping[str, Real | Whole | Choice]

PROFILES: dict[str, dict[str, Space]] = {
    "paper": {
        "LogisticRegression": {
            "C": Real(1e-3, 1e2, log=True),
            "solver": Choice(("lbfgs", "newton-cholesky")),
            "tol": Real(1e-5, 1e-3, log=True),
            "max_iter": Whole(50, 200),
        },
        "LinearSVM": {
            "C": Real(1e-3, 1e1, log=True),
            "penalty": Choice(("l1", "l2")),
            "tol": Real(1e-4, 1e-2, log=True),
            "max_iter": Whole(100, 1000, log=True),
        },
        "LightGBM": {
            "n_estimators": Whole(20, 300, log=True),
            "num_leaves": Whole(4, 127, log=True),
            "max_depth": Whole(3, 12),
            "learning_rate": Real(0.02, 0.5, log=True),
            "min_child_samples": Whole(5, 200, log=True),
            "subsample": Real(0.5, 1.0),
            "colsample_bytree": Real(0.5, 1.0),
            "reg_alpha": Real(1e-6, 10.0, log=True),
            "reg_lambda": Real(1e-6, 10.0, log=True),
        },
        "NeuralNetwork": {
            "width": Whole(8, 128, log=True),
            "depth": Choice((1, 2)),
            "activation": Choice(("relu", "tanh")),
            "alpha": Real(1e-6, 1e-1, log=True),
            "learning_rate_init": Real(1e-4, 3e-2, log=True),
            "batch_size": Choice((64, 128, 256, 512)),
        },
        "RandomForest": {
            "n_estimators": Whole(5, 50, log=True),
            "criterion": Choice(("gini", "entropy")),
            "max_features": Real(0.2, 1.0),
            "max_depth": Whole(3, 30, log=True),
            "min_samples_leaf": Whole(1, 100, log=True),
            "min_samples_split": Whole(2, 200, log=True),
        },
    },
    "bounded": {
        "LogisticRegression": {
            "C": Real(1e1, 1e3, log=True),
            "solver": Choice(("lbfgs", "newton-cholesky")),
            "tol": Real(1e-4, 1e-3, log=True),
            "max_iter": Whole(50, 200),
        },
        "LinearSVM": {
            "C": Real(1e0, 1e2, log=True),
            "penalty": Choice(("l1", "l2")),
            "tol": Real(1e-3, 1e-2, log=True),
            "max_iter": Whole(30, 100, log=True),
        },
        "LightGBM": {
            "n_estimators": Whole(20, 60),
            "num_leaves": Whole(4, 31, log=True),
            "max_depth": Whole(3, 8),
            "learning_rate": Real(0.05, 0.3, log=True),
            "min_child_samples": Whole(2, 20, log=True),
            "subsample": Real(0.5, 1.0),
            "colsample_bytree": Real(0.5, 1.0),
            "reg_alpha": Real(1e-6, 0.1, log=True),
            "reg_lambda": Real(1e-6, 0.1, log=True),
        },
        "NeuralNetwork": {
            "width": Whole(8, 32, log=True),
            "depth": Choice((1, 2)),
            "activation": Choice(("relu", "tanh")),
            "alpha": Real(1e-6, 1e-2, log=True),
            "learning_rate_init": Real(3e-3, 1e-2, log=True),
            "batch_size": Choice((128, 256)),
        },
        "RandomForest": {
            "n_estimators": Whole(4, 6),
            "criterion": Choice(("gini", "entropy")),
            "max_features": Real(0.6, 0.9),
            "max_depth": Whole(3, 6),
            "min_samples_leaf": Whole(1, 20, log=True),
            "min_samples_split": Whole(2, 20, log=True),
        },
    },
}
"""Each profile's learners, in the order in which they take turns, with their domains."""

GRADIENT_STEPS = {"paper": 4000, "bounded": 1500}
"""A network takes so many gradient steps on every sample, large or small.

With a fixed number of epochs it would take few on a small sample and underfit it, which breaks
the fitness assumption of ABC's upper bound.
"""


def draw_configurations(profile: str, count: int, seed: int) -> list[Parameters]:
    """The first `count` configurations of the sequence that `profile` and `seed` name.

    The learners take turns. A longer draw begins with the shorter one, so that stored probes
    serve both.
    """
    learners = list(PROFILES[profile].items())
    drawn: list[Parameters] = []
    for index in range(count):
        learner, space = learners[index % len(learners)]
        rng = generator(seed, "configuration", profile, index)
        parameters = {name: domain.draw(rng) for name, domain in space.items()}
        if learner == "NeuralNetwork":
            parameters["steps"] = GRADIENT_STEPS[profile]
        drawn.append({"learner": learner, **parameters})
    return drawn
