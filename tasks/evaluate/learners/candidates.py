"""The configurations that are chosen from: drawn by a seed, or a user's own pipelines.

Drawn are five learners of the ABC paper with 29 hyperparameters, by random search.
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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self

import numpy as np
from pydantic import BaseModel, ConfigDict, Field, model_validator

from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import derive_seed, generator
from leaseboard.tasks.evaluate.probes.recorded import Build, Classifier
from leaseboard.tasks.evaluate.probes.sample_rows import Samples, Shuffled, split
from leaseboard.tasks.fetch import Dataset

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.learners.classifiers import SharedBins


class CandidateOptions(BaseModel):
    """Which configurations are chosen from, on which rows, as the options of a bench say."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    configurations: Annotated[int, Field(ge=1)] = 20
    """How many are drawn; the first N of a longer draw are the shorter draw."""
    profile: Literal["bounded", "paper"] = "bounded"
    """The domains of the learners, see `leaseboard.tasks.evaluate.learners.candidates`."""
    pipelines: Path | None = None
    """A Python file with a list ``PIPELINES`` of scikit-learn classifiers, in place of the
    draw."""
    test_fraction: Annotated[float, Field(gt=0, lt=1)] = 0.2
    """The share of rows that no configuration is trained on: the choice is tested on them."""
    probe_seconds: Annotated[float, Field(gt=0)] = 3600.0
    """CPU seconds after which a fit is given up and its configuration has failed."""

    @model_validator(mode="after")
    def _check_pipelines(self) -> Self:
        drawn = self.model_fields_set & {"configurations", "profile", "shared_bins"}
        if self.pipelines is not None and self.pipelines.suffix != ".py":
            raise ValueError(f"{str(self.pipelines)!r} is no Python file: name a .py of pipelines")
        if self.pipelines is not None and drawn:
            raise ValueError(f"pipelines are taken as they are: remove {', '.join(sorted(drawn))}")
        return self

    @property
    def on_shared_bins(self) -> bool:
        """LightGBM bins all training rows once."""
        return False


@dataclass(frozen=True, slots=True)
class GivenConfigurations:
    """The configurations, what builds them, and what to make before the first is built."""

    configurations: list[Parameters]
    build: Build
    prepare: Callable[[], object] = lambda: None
    classes: Sequence[str] = ()


def on_split(
    dataset: Dataset, options: CandidateOptions, seed: int, made: Samples | None = None
) -> tuple[Shuffled, GivenConfigurations]:
    """Return the rows of a data set by a seed, and the configurations on them; see `split`.

    The same seed draws and builds the same ones.
    """
    rows = split(dataset, seed, options.test_fraction, made)
    if options.pipelines is not None:
        from leaseboard.tasks.evaluate.learners import pipelines

        own = pipelines.read(options.pipelines)
        return rows, GivenConfigurations(own.configurations(), own.build, classes=own.classes())

    learner_seed, shared_bins = derive_seed(seed, "learner"), options.on_shared_bins

    @cache
    def bins() -> SharedBins:
        from leaseboard.tasks.evaluate.learners.classifiers import SharedBins

        return SharedBins(*rows.samples.train(rows.train_rows))

    def build(parameters: Parameters) -> Classifier:
        from leaseboard.tasks.evaluate.learners import classifiers

        if shared_bins and parameters["learner"] == "LightGBM":
            return bins().classifier(parameters, learner_seed)
        model: Classifier = classifiers.build(parameters, learner_seed)
        return model

    def prepare() -> None:
        """Load libraries before a probe's process is forked; a replay needs none."""
        import leaseboard.tasks.evaluate.learners.classifiers  # noqa: F401

        if shared_bins:
            bins()

    drawn = draw_configurations(options.profile, options.configurations, seed)
    return rows, GivenConfigurations(drawn, build, prepare)


@dataclass(frozen=True, slots=True)
class Range:
    """Numbers from `low` to `high`, uniform or log-uniform; whole ones if the ends are."""

    low: float
    high: float
    log: bool = False


Domain = Range | tuple[Any, ...]
"""A range, or one of some values."""

PROFILES: dict[str, dict[str, Mapping[str, Domain]]] = {
    "paper": {
        "LogisticRegression": {
            "C": Range(1e-3, 1e2, log=True),
            "solver": ("lbfgs", "newton-cholesky"),
            "tol": Range(1e-5, 1e-3, log=True),
            "max_iter": Range(50, 200),
        },
        "LinearSVM": {
            "C": Range(1e-3, 1e1, log=True),
            "penalty": ("l1", "l2"),
            "tol": Range(1e-4, 1e-2, log=True),
            "max_iter": Range(100, 1000, log=True),
        },
        "LightGBM": {
            "n_estimators": Range(20, 300, log=True),
            "num_leaves": Range(4, 127, log=True),
            "max_depth": Range(3, 12),
            "learning_rate": Range(0.02, 0.5, log=True),
            "min_child_samples": Range(5, 200, log=True),
            "subsample": Range(0.5, 1.0),
            "colsample_bytree": Range(0.5, 1.0),
            "reg_alpha": Range(1e-6, 10.0, log=True),
            "reg_lambda": Range(1e-6, 10.0, log=True),
        },
        "NeuralNetwork": {
            "width": Range(8, 128, log=True),
            "depth": (1, 2),
            "activation": ("relu", "tanh"),
            "alpha": Range(1e-6, 1e-1, log=True),
            "learning_rate_init": Range(1e-4, 3e-2, log=True),
            "batch_size": (64, 128, 256, 512),
        },
        "RandomForest": {
            "n_estimators": Range(5, 50, log=True),
            "criterion": ("gini", "entropy"),
            "max_features": Range(0.2, 1.0),
            "max_depth": Range(3, 30, log=True),
            "min_samples_leaf": Range(1, 100, log=True),
            "min_samples_split": Range(2, 200, log=True),
        },
    },
    "bounded": {
        "LogisticRegression": {
            "C": Range(1e1, 1e3, log=True),
            "solver": ("lbfgs", "newton-cholesky"),
            "tol": Range(1e-4, 1e-3, log=True),
            "max_iter": Range(50, 200),
        },
        "LinearSVM": {
            "C": Range(1e0, 1e2, log=True),
            "penalty": ("l1", "l2"),
            "tol": Range(1e-3, 1e-2, log=True),
            "max_iter": Range(30, 100, log=True),
        },
        "LightGBM": {
            "n_estimators": Range(20, 60),
            "num_leaves": Range(4, 31, log=True),
            "max_depth": Range(3, 8),
            "learning_rate": Range(0.05, 0.3, log=True),
            "min_child_samples": Range(2, 20, log=True),
            "subsample": Range(0.5, 1.0),
            "colsample_bytree": Range(0.5, 1.0),
            "reg_alpha": Range(1e-6, 0.1, log=True),
            "reg_lambda": Range(1e-6, 0.1, log=True),
        },
        "NeuralNetwork": {
            "width": Range(8, 32, log=True),
            "depth": (1, 2),
            "activation": ("relu", "tanh"),
            "alpha": Range(1e-6, 1e-2, log=True),
            "learning_rate_init": Range(3e-3, 1e-2, log=True),
            "batch_size": (128, 256),
        },
        "RandomForest": {
            "n_estimators": Range(4, 6),
            "criterion": ("gini", "entropy"),
            "max_features": Range(0.6, 0.9),
            "max_depth": Range(3, 6),
            "min_samples_leaf": Range(1, 20, log=True),
            "min_samples_split": Range(2, 20, log=True),
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
    """Return the first `count` configurations of the sequence that `profile` and `seed` name.

    The learners take turns. A longer draw begins with the shorter one, so that stored probes
    serve both.
    """
    learners = list(PROFILES[profile].items())
    drawn: list[Parameters] = []
    for index in range(count):
        learner, space = learners[index % len(learners)]
        rng = generator(seed, "configuration", profile, index)
        parameters = {name: _drawn(domain, rng) for name, domain in space.items()}
        if learner == "NeuralNetwork":
            parameters["steps"] = GRADIENT_STEPS[profile]
        drawn.append({"learner": learner, **parameters})
    return drawn


def _drawn(domain: Domain, rng: np.random.Generator) -> Any:
    """Draw a value; one of a range of reals has four significant digits."""
    if isinstance(domain, tuple):
        return domain[rng.integers(len(domain))]
    whole = isinstance(domain.low, int)
    if whole and not domain.log:
        return int(rng.integers(int(domain.low), int(domain.high) + 1))
    if domain.log:
        value = math.exp(rng.uniform(math.log(domain.low), math.log(domain.high + whole)))
    else:
        value = rng.uniform(domain.low, domain.high)
    return int(value) if whole else float(f"{value:.4g}")
