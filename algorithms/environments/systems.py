"""The systems environment: a whole system learns the training rows, predicts the test rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.base import Algorithm, Cost, Environment, Score
from leaseboard.algorithms.errors import DivergedError, UsageError
from leaseboard.algorithms.measures import of_test

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SystemFit:
    """Result of one system: a recorded value that is replayed.

    Attributes
    ----------
    predictions : ndarray of float64, shape (n_test,)
        Predictions of the test rows: numbers, or the classes' codes.
    cost : Cost
        Of the fit alone, all processes of the system counted.
    """

    predictions: Values
    cost: Cost


class Fits(Protocol):
    """Source of fits: a store that runs what is missing, or a synthetic problem."""

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        """Return the fit of `system`, which should take at most so many CPU seconds."""


class SystemsEnvironment(Environment):
    """One look at the training rows within a budget of CPU seconds; the score is the test score.

    A system splits off validation rows as it likes, and keeps to the budget by itself: it is not
    stopped, ``overrun`` says what share of the budget it took beyond it. The score is the
    accuracy, or R² of a regression, as scikit-learn has them; other measures are in its metrics.

    Parameters
    ----------
    fits : Fits
    truth : ndarray of float64, shape (n_test,)
        Of the test rows: numbers, or the classes' codes. Neither system nor algorithm sees it.
    task : {"classification", "regression"}
    budget : float
        In CPU seconds.
    seed : int
        The environment's seed.
    """

    kind: ClassVar[str] = "systems"
    to_be_spent: ClassVar[bool] = False
    paid: ClassVar[frozenset[str]] = frozenset(("fit",))
    actions: ClassVar[frozenset[str]] = paid | {"note"}
    unit = "cpu_seconds"

    def __init__(
        self, fits: Fits, truth: Values, task: str, budget: float = 30.0, seed: int = 0
    ) -> None:
        super().__init__()
        if not budget >= 0:
            raise UsageError(f"a budget of {budget} CPU seconds is negative: give some, or 0")
        self.task = task
        self.budget = budget
        self.seed = seed
        self.at: float = 0
        self._fits = fits
        self._truth = truth
        self._fit: SystemFit | None = None

    @property
    def cost(self) -> Cost:
        """Cost of the fit when it was run."""
        return Cost(spent_cpu_seconds=0.0) if self._fit is None else self._fit.cost

    def fit(self, system: str, seed: int) -> None:
        """Let `system` learn and predict, once; the budget is charged its recorded cost.

        Raises
        ------
        DivergedError
            If a prediction is not a finite number.
        """
        if self._fit is not None:
            raise ValueError("the test rows were predicted before: they are scored once")
        fit = self._fits.fit(system, seed, self.budget)
        if fit.predictions.shape != self._truth.shape or not np.isfinite(fit.predictions).all():
            raise DivergedError(f"{system} did not predict a finite number for each test row")
        self._fit = fit
        self.at = min(self.budget, fit.cost.cpu_seconds)

    def score(self) -> Score:
        """Return the test score, NaN before `fit`."""
        regression = self.task == "regression"
        metric = "test_r2" if regression else "test_accuracy"
        if self._fit is None:
            return Score(math.nan, metric, "max", self._notes)
        truth, found = self._truth, self._fit.predictions
        more = of_test(self.task, truth, found, n_classes=1 + int(max(truth.max(), found.max())))
        value = more.get("r2" if regression else "accuracy", 0.0)
        overrun = max(0.0, self.cost.cpu_seconds / self.budget - 1)
        return Score(value, metric, "max", {**self._notes, **more, "overrun": overrun})


class SystemsAlgorithm(Algorithm[SystemsEnvironment]):
    """Algorithm that runs on a systems environment."""

    environment: ClassVar[str] = "systems"
