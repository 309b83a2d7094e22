"""Forecasts from earlier labels alone: their mean, the last one, the one a season ago."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import numpy as np
from numba import njit
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.benches.sealed import uniform
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.reference.forecaster import (
    Doubles,
    Floats,
    Forecaster,
    ReferenceForecast,
)
from leaseboard.algorithms.reference.linear import linear_model
from leaseboard.algorithms.reference.many_classes import Certain, Shares

LONGEST = 1000
"""Periods are looked for up to here: two days of minutes are beyond it, two years of days not."""


@dataclass(frozen=True, kw_only=True)
class RunningMean(ReferenceForecast):
    """The mean of the labels so far; for classes the one seen most often.

    What every learner has to beat to have learned anything: its loss is the label's variance.
    The first forecast is 0. Of two classes seen equally often it forecasts the first, of more the
    one that came first.

    Examples
    --------
    >>> forecaster = RunningMean().forecaster(n_features=1, task="regression")
    >>> nothing = np.zeros((3, 1), np.float32)
    >>> forecaster.learn_many(nothing, np.array([4, 6, 1], np.float32)).tolist()
    [0.0, 4.0, 5.0]
    """

    def forecaster(self, n_features: int, task: str) -> Forecaster:
        """See `ReferenceForecast.forecaster`."""
        return _RunningMean()

    def of_classes(self, n_features: int, n_classes: int) -> Forecaster:
        """See `ReferenceForecast.of_classes`."""
        return Shares()

    def parameters(self) -> dict[str, Any]:
        """See `ReferenceForecast.parameters`."""
        return {"forecast": "mean of the labels"}


@dataclass(frozen=True, kw_only=True)
class LastLabel(ReferenceForecast):
    """The label before: the no-change forecast, hard to beat where labels depend on time.

    The first forecast is 0. For classes it is the no-change classifier [1]_.

    References
    ----------
    .. [1] Zliobaite, Bifet, Read, Pfahringer, Holmes. Evaluation methods and decision theory for
           classification of streaming data with temporal dependence. Machine Learning 98, 2015.

    Examples
    --------
    >>> forecaster = LastLabel().forecaster(n_features=1, task="regression")
    >>> nothing = np.zeros((3, 1), np.float32)
    >>> forecaster.learn_many(nothing, np.array([4, 6, 1], np.float32)).tolist()
    [0.0, 4.0, 6.0]
    """

    def forecaster(self, n_features: int, task: str) -> Forecaster:
        """See `ReferenceForecast.forecaster`."""
        return _LastLabel()

    def of_classes(self, n_features: int, n_classes: int) -> Forecaster:
        """See `ReferenceForecast.of_classes`."""
        return Certain(_LastLabel())

    def parameters(self) -> dict[str, Any]:
        """See `ReferenceForecast.parameters`."""
        return {"forecast": "last label"}


@dataclass(frozen=True, kw_only=True)
class SeasonalLast(ReferenceForecast):
    """The label one period before: the seasonal no-change forecast.

    Parameters
    ----------
    period : int, optional
        Examples in a season. Without it, it is found online: each time, of all periods of which
        two have passed, the one whose forecasts would have had the least mean loss so far.

    Notes
    -----
    Until a period has passed the forecast is the last label, and the first is 0. Periods up to
    1,000 are looked for; longer ones must be given.

    Examples
    --------
    >>> forecaster = SeasonalLast(period=2).forecaster(n_features=1, task="regression")
    >>> nothing = np.zeros((4, 1), np.float32)
    >>> forecaster.learn_many(nothing, np.array([4, 6, 1, 7], np.float32)).tolist()
    [0.0, 4.0, 4.0, 6.0]
    """

    period: Annotated[int, Field(ge=2)] | None = None

    def forecaster(self, n_features: int, task: str) -> Forecaster:
        """See `ReferenceForecast.forecaster`."""
        return _SeasonalLast(self.period)

    def of_classes(self, n_features: int, n_classes: int) -> Forecaster:
        """See `ReferenceForecast.of_classes`."""
        return Certain(_SeasonalLast(self.period, classes=True))

    def parameters(self) -> dict[str, Any]:
        """See `ReferenceForecast.parameters`."""
        return {"forecast": "label one period before", "period": self.period}


class _RunningMean(Forecaster):
    def __init__(self) -> None:
        self.seen, self.total = 0, 0.0

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Forecaster.learn_many`."""
        totals = self.total + np.concatenate(([0.0], np.cumsum(labels, dtype=np.float64)))
        counts = self.seen + np.arange(len(labels))
        self.seen, self.total = self.seen + len(labels), float(totals[-1])
        return np.asarray(totals[:-1] / np.maximum(counts, 1), dtype=np.float32)

    def model(self, schema: Schema) -> Learner | None:
        """See `Forecaster.model`."""
        mean = self.total / max(self.seen, 1)
        return linear_model(schema, mean, np.zeros(schema.n_features), mean, mean)


class _LastLabel(Forecaster):
    def __init__(self) -> None:
        self.last = np.float32(0)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Forecaster.learn_many`."""
        forecasts = np.concatenate(([self.last], labels[:-1]))
        self.last = labels[-1]
        return forecasts


class _SeasonalLast(Forecaster):
    """See `learn_seasonal` for what it keeps."""

    def __init__(self, period: int | None, *, classes: bool = False) -> None:
        longest = LONGEST if period is None else period
        self.given, self.classes = period, classes
        self.past = np.zeros(2 * longest)
        self.losses = np.zeros(longest + 1)
        self.seen = 0
        self.period = 1

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Forecaster.learn_many`."""
        forecasts = np.empty(len(labels), dtype=np.float32)
        self.seen, self.period = learn_seasonal(
            uniform(labels), self.given or 0, self.classes, self.past, self.losses, self.seen,
            forecasts,
        )  # fmt: skip
        return forecasts

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Forecaster.fill`; no period reaches the kernel that is longer than its arrays."""
        super().fill(state)
        if self.seen < 0 or not 1 <= self.period < len(self.losses):
            raise ValueError(f"period {self.period} after {self.seen} labels")

    def notes(self) -> dict[str, float]:
        """The period that the last forecast used."""
        return {"period": float(self.period)}


@njit(cache=True, nogil=True)
def learn_seasonal(
    labels: Floats,
    given: int,
    classes: bool,
    past: Doubles,
    losses: Doubles,
    seen: int,
    forecasts: Floats,
) -> tuple[int, int]:
    """Forecast each label by the one a period before, then learn it.

    Parameters
    ----------
    labels : ndarray of float32, shape (n,)
    given : int
        The period, 0 if it is to be found.
    classes : bool
        Labels are numbers of classes: any two differ by 1.
    past : ndarray of float64, shape (2 * longest,)
        The labels before, the latest first, from ``past[-seen % longest]`` on: each stands twice,
        so that all periods are neighbours wherever they begin. Updated.
    losses : ndarray of float64, shape (longest + 1,)
        The sum of squared differences from the label so many examples before; updated.
    seen : int
        Labels learned before.
    forecasts : ndarray of float32, shape (n,)
        Written.

    Returns
    -------
    seen : int
    period : int
        That of the last forecast.
    """
    longest = len(losses) - 1
    period = 1
    for t in range(len(labels)):
        period = given if given else next_period(losses, seen, period)
        if seen < period:
            period = 1
        forecasts[t] = past[-seen % longest + period - 1] if seen else 0.0
        label = np.float64(labels[t])
        if not given:
            if classes:
                count_others(label, past, losses, seen)
            else:
                compare(label, past, losses, seen)
        remember(label, past, seen)
        seen += 1
    return seen, period


@njit(cache=True, nogil=True)
def compare(label: float, past: Doubles, losses: Doubles, seen: int) -> None:
    """Add to `losses` what the label so many examples before would have lost as a forecast."""
    recent, sums = _by_lag(past, losses, seen)
    for k in range(len(sums)):
        difference = label - recent[k]
        sums[k] += difference * difference


@njit(cache=True, nogil=True)
def count_others(label: float, past: Doubles, losses: Doubles, seen: int) -> None:
    """As `compare`, for numbers of classes: 1 for each that is another."""
    recent, sums = _by_lag(past, losses, seen)
    for k in range(len(sums)):
        sums[k] += 1.0 if recent[k] != label else 0.0


@njit(cache=True, nogil=True)
def _by_lag(past: Doubles, losses: Doubles, seen: int) -> tuple[Doubles, Doubles]:
    """The labels 1, 2, ... before, and their sums: slices, whose loops are vectorised."""
    longest = len(losses) - 1
    start, n = -seen % longest, min(seen, longest)
    return past[start : start + n], losses[1 : 1 + n]


@njit(cache=True, nogil=True)
def remember(label: float, past: Doubles, seen: int) -> None:
    """Put a label before those that were learned."""
    longest = len(past) // 2
    start = (-seen - 1) % longest
    past[start] = past[start + longest] = label


@njit(cache=True, nogil=True)
def least_period(losses: Doubles, seen: int) -> int:
    """The period of least mean loss among those of which two have passed; 1 if none has."""
    period, least = 1, np.inf
    for lag in range(2, min(seen // 2, len(losses) - 1) + 1):
        mean = losses[lag] / (seen - lag)
        if mean < least:
            period, least = lag, mean
    return period


@njit(cache=True, nogil=True)
def next_period(losses: Doubles, seen: int, period: int) -> int:
    """`least_period`, where `period` was it one label before: it seldom is another.

    Whether another's mean loss is as small is asked without a division. Who rounding could make
    equal counts as such, and then all means are compared.

    Examples
    --------
    >>> losses = np.array([0.0, 9.0, 5.0, 2.0, 5.0])
    >>> [next_period(losses, 8, period) for period in (1, 2, 3)]
    [3, 3, 3]
    """
    longest = min(seen // 2, len(losses) - 1)
    if period < 2 or period > longest:
        return least_period(losses, seen)
    most = losses[period] / (seen - period) * (1.0 + 1e-9)
    candidates, sums = 0, losses[2 : longest + 1]  # a slice, whose loop is vectorised
    for k in range(len(sums)):
        candidates += sums[k] <= most * (seen - 2 - k)
    return period if candidates == 1 else least_period(losses, seen)
