"""The stream bench: progressive validation, predict first, then learn."""

from __future__ import annotations

import itertools
import math
from bisect import bisect_right
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms import events
from leaseboard.algorithms.base import Algorithm, Bench, Cost, Run, Score
from leaseboard.algorithms.benches.arrays import likeliest, losses, sealed, taken, taken_chances
from leaseboard.algorithms.benches.measures import of_classes, of_margins, of_numbers
from leaseboard.algorithms.errors import DivergedError, SkipError
from leaseboard.algorithms.events import Measured, Parameters


@dataclass(frozen=True, slots=True)
class OutsideForecasts:
    """What a forecaster of another system is, by name.

    Attributes
    ----------
    system : str
        Whose environment it runs in, such as ``river``.
    learner : str
        Which of that system's.
    """

    system: str
    learner: str


@dataclass(frozen=True, slots=True)
class StreamToll:
    """What forecasting and learning took, somewhere else.

    Attributes
    ----------
    cpu_seconds, wall_seconds : float
        Neither the start of the process nor the exchange with it count.
    peak_memory_mb : float
        Of its whole process, in millions of bytes.
    """

    cpu_seconds: float
    wall_seconds: float
    peak_memory_mb: float


class OutsideSession(Protocol):
    """One forecaster on one stream."""

    def learn_many(
        self, examples: NDArray[np.float32], labels: NDArray[np.float32]
    ) -> NDArray[np.float64]:
        """The progressive forecasts of the next examples: none was made knowing its label.

        Shape (n,), or chances of shape (n, n_classes) where three and more classes come.
        """

    def finish(self) -> StreamToll:
        """Learn what is left to be learned, and end."""

    def close(self) -> None:
        """End it, whatever it does."""


class Outside(Protocol):
    """Where such forecasters are started: in environments of their own, or a stand-in."""

    def start(self, which: OutsideForecasts, stream: Stream, seed: int) -> OutsideSession:
        """One that has seen nothing of the stream; SkipError where its system is missing."""


CHECKED_ROWS = 1 << 16

LearnMany = Callable[[NDArray[np.float32], NDArray[np.float32]], NDArray[np.floating]]

BLOCK = 4096
"""Examples between two records."""

MOST_CLASSES = 1000
"""Of a stream: each has a chance for each example, and what learns them a model at least."""


@dataclass(frozen=True, slots=True)
class Namespace:
    """A run of neighbouring columns, ``features[:, start:stop]``, of a named group.

    A group that has grown is several runs of one name.
    """

    name: str
    start: int
    stop: int


@dataclass(frozen=True, slots=True)
class Origin:
    """The column of the user's that a feature is made of.

    Attributes
    ----------
    column : str
    part : str
        What of it, such as ``hour``; empty for its values themselves.
    value : str
        Where the feature is 1; empty if it is a number.
    """

    column: str
    part: str = ""
    value: str = ""


@dataclass(frozen=True, slots=True)
class Stream:
    """Examples in the order in which they arrive.

    Attributes
    ----------
    features : ndarray of float32, shape (n_examples, n_features), C order
    labels : ndarray of float32, shape (n_examples,)
        The transformed target of a regression; for ``classification`` of two classes -1 or 1, of
        more the number of the class, from 0 in the order in which they come.
    namespaces : tuple of Namespace
        Disjoint, in column order, covering all columns.
    names : tuple of str
        The columns' names, by which Vowpal Wabbit hashes them.
    task : str
        ``regression`` or ``classification``.
    shift : float, optional
        Where labels are logarithms: the target is the exponential of a label, less this.
    classes : tuple of str
        The names of three and more classes, by number; empty otherwise.
    origins : tuple of Origin
        What each column is made of, if that is not told by its name.
    births : tuple of int
        The example with which each column begins, ascending; empty where all are there from the
        first. Before it a column is 0, and a learner that grows does not know of it.
    """

    features: NDArray[np.float32]
    labels: NDArray[np.float32]
    namespaces: tuple[Namespace, ...]
    names: tuple[str, ...]
    task: str = "regression"
    shift: float | None = None
    classes: tuple[str, ...] = ()
    origins: tuple[Origin, ...] = ()
    births: tuple[int, ...] = ()

    def stretches(self, budget: int) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Iterate over the first `budget` examples: rows between births, and what is known there.

        Yields
        ------
        rows : slice
        features : ndarray of float32, C order
            The columns that have begun.
        """
        inner = {at for at in self.births if 0 < at < budget}
        for start, stop in itertools.pairwise([0, *sorted(inner), budget]):
            width = bisect_right(self.births, start) if self.births else self.features.shape[1]
            yield slice(start, stop), np.ascontiguousarray(self.features[start:stop, :width])

    def in_own_unit(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """Labels of a regression, or forecasts of them, in the unit of the target."""
        told = values.astype(np.float64)
        if self.shift is None:
            return told
        with np.errstate(over="ignore"):
            return np.asarray(np.exp(told) - self.shift, dtype=np.float64)


class Progressive:
    """The progressive validation loss, told at log-spaced points: 1, 2, 5 times powers of ten.

    Parameters
    ----------
    labels : ndarray of float32
    task : str
    end : int
        The number of examples, at which it is told as well.
    """

    def __init__(self, labels: NDArray[np.float32], task: str, end: int) -> None:
        self.at = 0
        self._labels = labels
        self._task = task
        self._end = end
        self._sum = 0.0
        self._next_point = 1

    @property
    def mean(self) -> float:
        """The loss until now; NaN before the first example."""
        return self._sum / self.at if self.at else math.nan

    def take(self, predictions: NDArray[np.float32]) -> Iterator[Measured]:
        """Score the predictions of the next examples; tells the loss at the points passed."""
        start, stop = self.at, self.at + len(predictions)
        while self.at < stop:
            part = slice(self.at, min(stop, self._next_point))
            given = predictions[part.start - start : part.stop - start]
            self._sum += float(losses(given, self._labels[part], self._task).sum())
            self.at = part.stop
            if self.at in (self._next_point, self._end):
                yield Measured(at=self.at, value=self.mean)
            if self.at == self._next_point:
                self._next_point = next_log_point(self.at)


class StreamBench(Bench):
    """Progressive validation of one stream; the budget is its length in examples.

    The algorithm predicts example after example and hands the predictions in with `record`.
    The score is the mean squared error of the transformed target, or the error rate. All arrays
    that the bench shows are read-only.

    Of three and more classes a prediction is a chance for each. That a class exists is not known
    before it comes: its first example counts as an error whatever was predicted, and the log loss
    leaves it out.

    Parameters
    ----------
    stream : Stream
    seed : int
        The environment's seed.
    budget : int, optional
        Stop after so many examples; the whole stream by default.
    outside : Outside, optional
        Where forecasters of other systems are started; without it they are skipped.
    """

    kind: ClassVar[str] = "stream"
    to_be_spent: ClassVar[bool] = True
    deeds: ClassVar[frozenset[str]] = frozenset(("record", "note"))
    unit = "examples"

    def __init__(
        self,
        stream: Stream,
        seed: int = 0,
        budget: int | None = None,
        outside: Outside | None = None,
    ) -> None:
        super().__init__()
        n_examples = len(stream.labels)
        self.budget: int = n_examples if budget is None else min(budget, n_examples)
        self.stream = replace(
            stream, features=sealed(stream.features), labels=sealed(stream.labels)
        )
        self.seed = seed
        self.at: int = 0
        self._recorded = np.empty(self.budget, dtype=np.float32)
        self._task = "classes" if stream.classes else stream.task
        self._certain = np.empty(self.budget if stream.classes else 0)
        self._is_new = np.zeros(n_examples, dtype=bool)
        if stream.classes:
            self._is_new[np.unique(stream.labels, return_index=True)[1]] = True
        self._progressive = Progressive(self.stream.labels, self._task, self.budget)
        self._model_examples = 0.0
        self._outside = outside
        self._cost: Cost | None = None

    @property
    def cost(self) -> Cost | None:
        """What a forecaster of another system took, if one ran to its end; see `Bench.cost`."""
        return self._cost

    @contextmanager
    def outsider(self, which: OutsideForecasts, seed: int) -> Iterator[OutsideSession]:
        """A forecaster of another system, which is ended whatever comes.

        Raises SkipError where that system is missing.
        """
        if self._outside is None:
            raise SkipError(f"{which.system} runs on jobs alone: take `leaseboard race`")
        session = self._outside.start(which, self.stream, seed)
        try:
            yield session
            toll = session.finish()
        finally:
            session.close()
        self._cost = Cost(toll.cpu_seconds, toll.wall_seconds, peak_memory_mb=toll.peak_memory_mb)

    @property
    def predictions(self) -> NDArray[np.float32]:
        """What was recorded, shape (budget,); not yet meaningful from `at` on.

        Of three and more classes the numbers of the likeliest, -1 for none.
        """
        return sealed(self._recorded)

    @property
    def metric(self) -> str:
        """The name of the loss."""
        regression = self.stream.task == "regression"
        return "progressive_mse" if regression else "progressive_error"

    def record(self, predictions: NDArray[np.floating], live: float = 1) -> Iterator[Measured]:
        """Take the predictions of the next examples, made before their labels were learned.

        Parameters
        ----------
        predictions : ndarray of float, shape (n,)
            Finite, see `taken`. Of three and more classes chances, shape (n, m), see
            `taken_chances`.
        live : float
            How many models learned these examples, in the mean: the cost in models times examples.

        Yields
        ------
        Measured
            The progressive loss at the log-spaced points (1, 2, 5 times powers of ten, and
            the end) that were passed.
        """
        given = self._taken(predictions)
        start, stop = self.at, self.at + len(given)
        if stop > self.budget:
            raise ValueError(f"{stop} predictions recorded on a budget of {self.budget} examples")
        known = self._forecasts(given, start)
        self._recorded[start:stop] = known
        if self.stream.classes:
            self._certain[start:stop] = self._chances(given, start)
        self._model_examples += live * (stop - start)
        for told in self._progressive.take(known):
            self.at = self._progressive.at
            yield told
        self.at = stop

    def score(self) -> Score:
        """The progressive loss until now, NaN before the first example, and people's measures."""
        live = self._model_examples / self.at if self.at else 0.0
        metrics = {"models_per_example": live} | self._measures() | self._notes
        return Score(self._progressive.mean, self.metric, "min", metrics)

    def _measures(self) -> dict[str, float]:
        if not self.at:
            return {}
        forecasts, labels = self._recorded[: self.at], self.stream.labels[: self.at]
        if self.stream.task == "regression":
            return of_numbers(self.stream.in_own_unit(forecasts), self.stream.in_own_unit(labels))
        if self.stream.classes:
            numbers = forecasts.astype(np.intp), labels.astype(np.intp)
            return of_classes(*numbers, self._certain[: self.at])
        return of_margins(forecasts, labels)

    def _taken(self, predictions: ArrayLike) -> NDArray[Any]:
        """Predictions of the form that the stream's task asks for."""
        if self.stream.classes:
            return taken_chances(predictions, len(self.stream.classes), at=self.at)
        return taken(predictions, at=self.at)

    def _forecasts(self, given: NDArray[Any], at: int) -> NDArray[np.float32]:
        """What was predicted of the examples from `at` on; -1, no class, for a new one's own."""
        if not self.stream.classes:
            return given
        rows, found = slice(at, at + len(given)), likeliest(given)
        return np.where(
            self._is_new[rows] & (found == self.stream.labels[rows]), np.float32(-1), found
        )

    def _chances(self, given: NDArray[np.float64], at: int) -> NDArray[np.float64]:
        """What was predicted for the classes that came from `at` on; NaN for one that is new."""
        numbers = self.stream.labels[at : at + len(given)].astype(np.intp)
        every = np.pad(given, ((0, 0), (0, len(self.stream.classes) - given.shape[1])))
        certain = every[np.arange(len(given)), numbers]
        return np.where(self._is_new[at : at + len(given)], np.nan, certain)

    def bars(self, algorithm: Algorithm[Any]) -> str:
        """See `Bench.bars`: most algorithms forecast numbers or two classes."""
        n_classes = len(self.stream.classes)
        if self.stream.task not in algorithm.tasks:
            (known,) = algorithm.tasks
            return f"does {known} alone, and the stream is a {self.stream.task}: leave it out"
        if not n_classes or algorithm.many_classes:
            return ""
        return f"forecasts numbers or two classes, and the stream has {n_classes}: leave it out"

    def twin(self) -> StreamBench:
        """A fresh bench with a copy of the labels; it shows the same features."""
        labels = self.stream.labels.copy()
        return StreamBench(replace(self.stream, labels=labels), self.seed, self.budget)

    def loss(self, predictions: NDArray[np.float32]) -> float:
        """The mean loss of `predictions` of the first examples, recorded or not."""
        known = self._forecasts(self._taken(predictions), 0)
        labels = self.stream.labels[: len(known)]
        return float(losses(known, labels, self._task).mean()) if len(known) else math.nan


def next_log_point(point: int) -> int:
    """The number after `point` in 1, 2, 5, 10, 20, 50, ...

    Examples
    --------
    >>> [next_log_point(point) for point in (1, 2, 5, 10)]
    [2, 5, 10, 20]
    """
    leading = int(str(point)[0])
    return point * 5 // 2 if leading == 2 else point * 2


def require_finite(stream: Stream, n_examples: int) -> None:
    """Raise `DivergedError` where a feature or label is not a finite number."""
    for start in range(0, n_examples, CHECKED_ROWS):
        rows = slice(start, min(start + CHECKED_ROWS, n_examples))
        finite = np.isfinite(stream.features[rows]).all(axis=1) & np.isfinite(stream.labels[rows])
        if not finite.all():
            row = start + int(np.argmin(finite))
            raise DivergedError(
                f"example {row} has a feature or label that is not finite:"
                " no model can learn from it, impute or drop it"
            )


def one_model(bench: StreamBench, learn_many: LearnMany, parameters: Parameters) -> Run:
    """Predict and learn the stream in blocks with one model: nothing is searched or tested.

    Parameters
    ----------
    bench : StreamBench
        Its budget is not 0.
    learn_many : callable
        Learns a block in order, returns its progressive predictions.
    parameters : dict
        The one configuration, as events have it.
    """
    stream, budget = bench.stream, bench.budget
    require_finite(stream, budget)
    yield events.ConfigurationAdmitted(at=0, configuration=0, parameters=parameters)
    yield events.LeaseGranted(at=0, configuration=0, amount=budget, slot=0)
    yield events.ChampionChanged(at=0, configuration=0, previous=None)
    for start in range(0, budget, BLOCK):
        rows = slice(start, min(start + BLOCK, budget))
        yield from bench.record(learn_many(stream.features[rows], stream.labels[rows]))
    score = float(bench.score().value)
    yield events.ConfigurationScored(at=bench.at, configuration=0, value=score, units=budget)


class StreamAlgorithm(Algorithm[StreamBench]):
    """Runs on a stream bench, and compiles its kernels on the stream's first examples."""

    bench: ClassVar[str] = "stream"

    def prepare(self, bench: StreamBench) -> None:
        """Run over eight examples, on a bench of their own, with labels that differ."""
        n, classes = min(8, bench.budget), bench.stream.classes
        other = range(min(3, len(classes))) if classes else (-1, 1)
        labels = np.resize(np.array(other, dtype=np.float32), n)
        few = replace(bench.stream, features=bench.stream.features[:n], labels=labels)
        for _ in self.run(StreamBench(few), seed=0):
            pass
