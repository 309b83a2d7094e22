"""The systems bench: a whole system learns from the training rows and forecasts the test rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.base import Algorithm, Bench, Cost, Score
from leaseboard.algorithms.errors import DivergedError, UsageError

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SystemFit:
    """What one system came to: a recorded value that is replayed.

    Attributes
    ----------
    forecasts : ndarray of float64, shape (n_test,)
        Of the test rows: numbers, or the classes' codes.
    cpu_seconds, wall_seconds : float
        Of the fit alone, all processes of the system counted.
    spent_cpu_seconds : float
        What was really spent: nothing on a fit that was recorded before.
    peak_memory_mb : float, optional
        Of the largest of its processes, libraries included, in millions of bytes.
    """

    forecasts: Values
    cpu_seconds: float
    wall_seconds: float
    spent_cpu_seconds: float = 0.0
    peak_memory_mb: float | None = None


class Fits(Protocol):
    """Where fits come from: a store that runs what is missing, or a synthetic problem."""

    def fit(self, system: str, seed: int, seconds: float) -> SystemFit:
        """The fit of `system`, which was asked to take at most so many CPU seconds."""


class SystemsBench(Bench):
    """One look at the training rows within a budget of CPU seconds; the score is the test score.

    A system splits off validation rows as it likes, and keeps to the budget by itself: nobody
    stops it, ``overrun`` says what share of the budget it took beyond it. The score is the
    accuracy, or R² of a regression.

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
    deeds: ClassVar[frozenset[str]] = paid | {"note"}
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
        """What the fit cost when it was run."""
        fit = self._fit
        if fit is None:
            return Cost(spent_cpu_seconds=0.0)
        return Cost(fit.cpu_seconds, fit.wall_seconds, fit.spent_cpu_seconds, fit.peak_memory_mb)

    def fit(self, system: str, seed: int) -> None:
        """Let `system` learn and forecast, once; the budget is charged its recorded cost.

        Raises
        ------
        DivergedError
            If it forecasts what is not a finite number.
        """
        if self._fit is not None:
            raise ValueError("the test rows were forecast before: they are scored once")
        fit = self._fits.fit(system, seed, self.budget)
        if fit.forecasts.shape != self._truth.shape or not np.isfinite(fit.forecasts).all():
            raise DivergedError(f"{system} did not forecast a finite number for each test row")
        self._fit = fit
        self.at = min(self.budget, fit.cpu_seconds)

    def score(self) -> Score:
        """The test score, NaN before `fit`."""
        regression = self.task == "regression"
        metric = "test_r2" if regression else "test_accuracy"
        if self._fit is None:
            return Score(math.nan, metric, "max", self._notes)
        value, beside = (_r2 if regression else _accuracy)(self._truth, self._fit.forecasts)
        overrun = max(0.0, self._fit.cpu_seconds / self.budget - 1)
        return Score(value, metric, "max", {**self._notes, **beside, "overrun": overrun})

    def twin(self) -> SystemsBench:
        """A fresh bench on the same fits, which are replayed alike, with a truth of its own."""
        return SystemsBench(self._fits, self._truth.copy(), self.task, self.budget, self.seed)


class SystemsAlgorithm(Algorithm[SystemsBench]):
    """Runs on a systems bench."""

    bench: ClassVar[str] = "systems"


def _accuracy(truth: Values, forecasts: Values) -> tuple[float, dict[str, float]]:
    right = truth == forecasts
    recalls = [float(right[truth == label].mean()) for label in np.unique(truth)]
    return float(right.mean()), {"balanced_accuracy": math.fsum(recalls) / len(recalls)}


def _r2(truth: Values, forecasts: Values) -> tuple[float, dict[str, float]]:
    """Against the test rows' own mean; 0 where they are all alike."""
    errors, spread = truth - forecasts, truth - truth.mean()
    total = float(spread @ spread)
    r2 = 1 - float(errors @ errors) / total if total else 0.0
    return r2, {"mae": float(np.abs(errors).mean())}
