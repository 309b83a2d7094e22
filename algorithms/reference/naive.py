"""The naive baselines of a stream: forecasts from earlier labels alone, and all of them together.

The running mean, the last label and the label a season ago are here, the ridge regression is in
`leaseboard.algorithms.reference.ridge`. They are measured as any algorithm is, or go on next to a
model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from numba import njit
from numpy.typing import NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.benches.arrays import likeliest, uniform
from leaseboard.algorithms.benches.measures import baseline_name, loss_of, of_numbers
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.reference.forecaster import (
    Certain,
    Doubles,
    Floats,
    Forecaster,
    ReferenceForecast,
    Shares,
    linear_model,
)
from leaseboard.algorithms.reference.ridge import OnlineRidge
from leaseboard.algorithms.tables.column_features import Column, ColumnFeatures

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

    forecast: ClassVar[str] = "mean of the labels"

    def forecaster(self, n_features: int, task: str, n_classes: int | None = None) -> Forecaster:
        """See `ReferenceForecast.forecaster`."""
        return _RunningMean() if n_classes is None else Shares()


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

    forecast: ClassVar[str] = "last label"

    def forecaster(self, n_features: int, task: str, n_classes: int | None = None) -> Forecaster:
        """See `ReferenceForecast.forecaster`."""
        return _LastLabel() if n_classes is None else Certain(_LastLabel())


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

    forecast: ClassVar[str] = "label one period before"

    def forecaster(self, n_features: int, task: str, n_classes: int | None = None) -> Forecaster:
        """See `ReferenceForecast.forecaster`."""
        return (
            _SeasonalLast(self.period)
            if n_classes is None
            else Certain(_SeasonalLast(self.period, classes=True))
        )


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
        # The period: given, or of least mean loss; the last label until one has passed.
        period = given if given else next_period(losses, seen, period)
        if seen < period:
            period = 1
        forecasts[t] = past[-seen % longest + period - 1] if seen else 0.0
        # What each period would have lost by this label.
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


NAIVE_BASELINES: dict[str, type[ReferenceForecast]] = {
    "running-mean": RunningMean,
    "last-label": LastLabel,
    "seasonal-last": SeasonalLast,
    "online-ridge": OnlineRidge,
}
"""By their registered names."""


def best_baseline(bench: StreamBench) -> tuple[str, float] | None:
    """Whose loss is least on the stream and budget of `bench`, and that loss.

    The loss is that of `leaseboard.algorithms.benches.measures.loss_of`; None if nobody has any.
    The name says so where ridge is on selected features.
    """
    losses = {}
    for name, kind in NAIVE_BASELINES.items():
        algorithm, twin = kind(), bench.twin()
        for _ in algorithm.run(twin, seed=0):
            pass
        metrics = twin.score().metrics
        loss = loss_of(metrics)
        if loss is not None:
            losses[baseline_name(name, metrics)] = loss
    best = min(losses, key=losses.__getitem__, default=None)
    return None if best is None else (best, losses[best])


class Baselines:
    """The naive baselines, which learn table after table with the features of any learner.

    Parameters
    ----------
    task : "regression" or "classification"

    Attributes
    ----------
    classes : list of str
        Those that came, in their order.
    each : dict of str to Forecaster
        By name.
    rows : int
        Learned so far.
    begun : dict of str to int
        The rows before one that began anew, because it is another kind of so many features.
    """

    def __init__(self, task: str) -> None:
        self.task, self.classes = task, list[str]()
        self.rows, self.begun = 0, dict[str, int]()
        self.features = ColumnFeatures()
        self.each = {name: self._new(kind(), 0) for name, kind in NAIVE_BASELINES.items()}

    def _new(self, algorithm: ReferenceForecast, n_features: int) -> Forecaster:
        n_classes = None if self.task == "regression" else len(self.classes)
        return algorithm.forecaster(n_features, self.task, n_classes)

    def learn(
        self, columns: Mapping[str, Column], labels: NDArray[Any], declared: Sequence[str] = ()
    ) -> dict[str, float]:
        """Forecast and learn the rows of a table in order; return the loss of each on them.

        The name of one that has not learned all rows says from which row on.

        Parameters
        ----------
        columns : dict
            See `ColumnFeatures.encode`.
        labels : ndarray, shape (n_rows,)
            Numbers, or names of classes.
        declared : sequence of str
            Classes that are known before the first row, of which it is taken for the first.
        """
        rows, _ = self.features.encode(columns, learns=True)
        losses, are_classes = dict[str, float](), self.task == "classification"
        if are_classes:
            self.classes = [*dict.fromkeys([*self.classes, *declared, *labels.tolist()])]
            labels = np.array([self.classes.index(name) for name in labels])
        for name, kind in NAIVE_BASELINES.items():
            new = self._new(kind(), rows.shape[1])
            if _kind(new) is not _kind(self.each[name]):
                self.each[name], self.begun[name] = new, self.rows
            self.each[name].grow(rows.shape[1])
            forecasts = self.each[name].learn_many(rows, labels.astype(np.float32))
            since = self.begun.get(name)
            shown = baseline_name(name, self.each[name].notes())
            shown += f" from row {since + 1} on" if since else ""
            told = np.asarray(forecasts, dtype=np.float64)
            if are_classes:
                found = np.maximum(likeliest(told), 0 if declared else -1)
                losses[shown] = float((found != labels).mean())
            elif (loss := loss_of(of_numbers(told, labels))) is not None:
                losses[shown] = loss
        self.rows += len(labels)
        return losses

    def state(self) -> dict[str, Any]:
        """Return everything that `restored` needs, as plain values."""
        each = {name: one.state() for name, one in self.each.items()}
        return {"task": self.task, "classes": self.classes, "rows": self.rows, "begun": self.begun,
                "features": self.features.state(), "each": each}  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Baselines:
        """Return those that go on from `state`; ValueError if none have it."""
        try:
            made = cls(state["task"])
            made.classes = list(state["classes"])
            made.rows, made.begun = state["rows"], dict(state["begun"])
            made.features = ColumnFeatures.restored(state["features"])
            for name, kind in NAIVE_BASELINES.items():
                made.each[name] = made._new(kind(), made.features.n_features)
                made.each[name].fill(state["each"][name])
        except LookupError as error:
            raise ValueError(f"no state of baselines: {error}") from error
        return made


def _kind(forecaster: Forecaster) -> type:
    """Return the class of a forecaster, or of those of each class against the rest."""
    return type(getattr(forecaster, "rest", forecaster))
