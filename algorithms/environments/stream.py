"""The stream environment: progressive validation, predict first, then learn."""

import heapq
import itertools
import math
from abc import abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms import events
from leaseboard.algorithms.arrays import likeliest, losses, read_only, taken
from leaseboard.algorithms.base import Algorithm, Environment, Run, Score, settings_of
from leaseboard.algorithms.environments.arrival import BLOCK, Arrival, StreamLearner
from leaseboard.algorithms.errors import DivergedError, SkipError
from leaseboard.algorithms.events import Measured, Parameters
from leaseboard.algorithms.measures import of_classes, of_margins, of_numbers
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.transcendental import exp_all

CHECKED_ROWS = 1 << 16

MOST_CLASSES = 1000
"""Of a stream: each has a probability in each example, and a learner has a model of each."""


@dataclass(frozen=True, slots=True)
class Stream:
    """Examples in the order in which they arrive.

    Attributes
    ----------
    features : ndarray of float32, shape (n_examples, n_features), C order
    labels : ndarray of float32, shape (n_examples,)
        The transformed target of a regression; for ``classification`` of two classes -1 or 1, of
        more the number of the class, from 0 in the order in which they come.
    schema : Schema
        The columns: their names, their groups, and what each is made of.
    task : str
        ``regression`` or ``classification``.
    shift : float, optional
        Where labels are logarithms: the target is the exponential of a label, less this.
    classes : tuple of str
        The names of three and more classes, by number; empty otherwise.
    births : tuple of int
        The example with which each column begins, ascending; empty where all are there from the
        first. Before it a column is 0, and a learner that grows does not know of it.
    moments : ndarray of int64, shape (n_examples,), optional
        Numbers of the values of the column with which labels arrive.
    """

    features: NDArray[np.float32]
    labels: NDArray[np.float32]
    schema: Schema
    task: str = "regression"
    shift: float | None = None
    classes: tuple[str, ...] = ()
    births: tuple[int, ...] = ()
    moments: NDArray[np.int64] | None = None

    def width(self, example: int) -> int:
        """Return how many columns have begun with an example."""
        return bisect_right(self.births, example) if self.births else self.features.shape[1]

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
            begun = self.features[start:stop, : self.width(start)]
            yield slice(start, stop), np.ascontiguousarray(begun)

    def in_own_unit(self, values: NDArray[np.float32]) -> NDArray[np.float64]:
        """Return labels of a regression, or predictions of them, in the unit of the target."""
        wide = values.astype(np.float64)
        if self.shift is None:
            return wide
        with np.errstate(over="ignore"):
            return np.asarray(exp_all(wide) - self.shift, dtype=np.float64)


Outside = Callable[[str, str, Stream, int], Any]
"""Starts a learner of a system on a stream, with a seed; SkipError without that system.

It is a `StreamLearner` with `finish`, which learns what is left to be learned, ends, and returns
the `Cost`, without the start of the process and the exchange with it; and `close`, also while it
works.
"""


class PredictedEnvironment(Environment):
    """Environment whose labels an algorithm predicts in order, before it learns each.

    It keeps the progressive validation loss, and reports it at log-spaced points: 1, 2, 5 times
    powers of ten.

    Parameters
    ----------
    labels : ndarray of float32
    data : Stream or Holdout
        Of which the labels are: its task, and its classes if they are numbers of these.
    budget : int
    end : int
        The number of examples that are scored, at which the loss is reported as well.
    """

    budget: int
    at: int
    measured: ClassVar[str] = "progressive"
    """What the loss that is the score is of, as the name of the metric begins."""
    or_else: ClassVar[str] = "leave it out"
    """What to do with an algorithm that knows two classes, if there are more."""

    def __init__(self, labels: NDArray[np.float32], data: Any, budget: int, end: int) -> None:
        super().__init__("examples", budget)
        self._labels, self._end, self._n_classes = labels, end, len(data.classes)
        self._task = "classes" if data.classes else data.task
        self.metric = f"{self.measured}_{'mse' if data.task == 'regression' else 'error'}"
        self._sum, self._next_point = 0.0, 1

    def bars(self, algorithm: Algorithm[Any]) -> str:
        """See `Environment.bars`: many algorithms know two classes, by the sign of a number."""
        if not self._n_classes or algorithm.many_classes:
            return ""
        return f"separates two classes, and the data have {self._n_classes}: {self.or_else}"

    def _next(self, predictions: ArrayLike, *, probabilities: bool = False) -> NDArray[Any]:
        """Return predictions of the next examples, checked; ValueError beyond the budget."""
        given = taken(predictions, self._n_classes, at=self.at, probabilities=probabilities)
        if self.at + len(given) > self.budget:
            raise ValueError(
                f"{self.at + len(given)} predictions on a budget of {self.budget} examples"
            )
        return given

    @property
    def _progressive(self) -> float:
        """Mean loss so far; NaN before the first example."""
        n = min(self.at, self._end)
        return self._sum / n if n else math.nan

    def _scored(self, predictions: NDArray[np.float32], stop: int) -> Iterator[Measured]:
        """Score predictions of the next examples, of those up to `stop` the first ones."""
        start, last = self.at, self.at + len(predictions)
        while self.at < last:
            part = slice(self.at, min(last, self._next_point))
            given = predictions[part.start - start : part.stop - start]
            self._sum += float(losses(given, self._labels[part], self._task).sum())
            self.at = part.stop
            if self.at in (self._next_point, self._end):
                yield Measured(at=self.at, value=self._progressive)
            if self.at == self._next_point:
                self._next_point = next_log_point(self.at)
        self.at = stop


class StreamEnvironment(PredictedEnvironment):
    """Progressive validation of one stream; the budget is its length in examples.

    The algorithm predicts example after example and hands the predictions in with `record`.
    The score is the mean squared error of the transformed target, or the error rate. All arrays
    that the environment shows are read-only.

    Of three and more classes a prediction is a probability for each. That a class exists is not
    known before it comes: its first example counts as an error in any case, and the log loss
    leaves it out. Where labels come later, so do all examples before its first label is known.

    Parameters
    ----------
    stream : Stream
    budget : int, optional
        Stop after so many examples; the whole stream by default.
    outside : Outside, optional
        Starts learners of other systems; without it they are skipped.
    arrival : Arrival
        When labels become known: at once by default. With a column the stream has `moments`.
    """

    kind: ClassVar[str] = "stream"

    def __init__(
        self,
        stream: Stream,
        budget: int | None = None,
        outside: Outside | None = None,
        arrival: Arrival = Arrival(),  # noqa: B008  (frozen)
    ) -> None:
        n = len(stream.labels)
        end = n if budget is None else min(budget, n)
        features, labels = map(np.ascontiguousarray, (stream.features, stream.labels))
        self.stream = replace(stream, features=read_only(features), labels=read_only(labels))
        super().__init__(self.stream.labels, stream, end, end)
        self.arrival = arrival
        self._recorded = np.empty(self.budget, dtype=np.float32)
        self._certain = np.empty(self.budget if stream.classes else 0)
        self._is_new = np.zeros(n, dtype=bool)
        if stream.classes:
            _, first, places = np.unique(stream.labels, return_index=True, return_inverse=True)
            self._is_new = first[places] >= self.known()
        self._outside = outside

    def known(self) -> NDArray[np.int64]:
        """Return how many labels are known when each example is predicted."""
        return self.arrival.known(len(self.stream.labels), self.stream.moments)

    @contextmanager
    def outsider(self, system: str, learner: str, seed: int) -> Iterator[Any]:
        """Run a learner of another system, which is ended with the context.

        Raises SkipError where that system is missing.
        """
        if self._outside is None:
            raise SkipError(f"{system} runs on jobs alone: take `leaseboard race`")
        with closing(self._outside(system, learner, self.stream, seed)) as session:
            yield session
            self.cost = session.finish()

    @property
    def predictions(self) -> NDArray[np.float32]:
        """Recorded predictions, shape (budget,); not yet meaningful from `at` on.

        Of three and more classes the numbers of the likeliest, -1 for none.
        """
        return read_only(self._recorded)

    def record(self, predictions: NDArray[np.floating]) -> Iterator[Measured]:
        """Take the predictions of the next examples, made before their labels were learned.

        Parameters
        ----------
        predictions : ndarray of float, shape (n,)
            Finite, see `taken`. Of three and more classes probabilities, shape (n, m).

        Yields
        ------
        Measured
            The progressive loss at the log-spaced points (1, 2, 5 times powers of ten, and
            the end) that were passed.
        """
        known = given = self._next(predictions, probabilities=True)
        stop, n_classes = self.at + len(given), self._n_classes
        rows = slice(self.at, stop)
        if n_classes:  # a new class's own prediction is wrong, and has no probability
            labels, new, found = self._labels[rows], self._is_new[rows], likeliest(given)
            known = np.where(new & (found == labels), np.float32(-1), found)
            certain = widened(given, n_classes)[np.arange(len(given)), labels.astype(np.intp)]
            self._certain[rows] = np.where(new, np.nan, certain)
        self._recorded[rows] = known
        yield from self._scored(known, stop)

    def score(self) -> Score:
        """Return the progressive loss, NaN before the first example, and further measures."""
        metrics = self._measures() | self._notes
        return Score(self._progressive, self.metric, "min", metrics)

    def _measures(self) -> dict[str, float]:
        """Return measures of what was predicted, of numbers in the target's own unit."""
        labels, said = self.stream.labels[: self.at], self._recorded[: self.at]
        if not self.at:
            return {}
        if self.stream.task == "regression":
            return of_numbers(self.stream.in_own_unit(said), self.stream.in_own_unit(labels))
        if not self.stream.classes:
            return of_margins(said, labels)
        return of_classes(said.astype(np.intp), labels.astype(np.intp), self._certain[: self.at])

    def bars(self, algorithm: Algorithm[Any]) -> str:
        """See `Environment.bars`: some algorithms do one task, or need each label at once."""
        if self.stream.task not in algorithm.tasks:
            (known,) = algorithm.tasks
            return f"does {known} alone, and the stream is a {self.stream.task}: leave it out"
        if not (self.arrival.is_immediate or algorithm.predicts_pending):
            return (
                f"learns each label before the next row, not labels {self.arrival}: leave it out"
            )
        return super().bars(algorithm)


def next_log_point(point: int) -> int:
    """Return the number after `point` in 1, 2, 5, 10, 20, 50, ...

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


def play(
    env: StreamEnvironment,
    learner: StreamLearner,
    decided: Callable[[], Iterable[events.Event]] = tuple,
) -> Run:
    """Predict the stream with a learner, which gets labels when they arrive.

    Parameters
    ----------
    env : StreamEnvironment
    learner : StreamLearner
    decided : callable
        Returns what the learner decided since the last call; where labels come later, it happens
        when it is reported.
    """
    stream, end, held = env.stream, env.budget, list[NDArray[Any]]()
    moments = None if stream.moments is None else stream.moments[:end]
    block = stream.features[:end], stream.labels[:end]
    yield from decided()
    for said, found in env.arrival.play(learner, *block, moments):
        held.append(widened(found, len(stream.classes)))
        due, rows = list(decided()), said.stop - env.at
        if not env.arrival.is_immediate:
            due = [replace(event, at=said.stop) for event in due]
        if due or rows >= BLOCK or said.stop == end:
            measured = env.record(np.concatenate(held))
            yield from heapq.merge(measured, due, key=attrgetter("at"))
            held = []


def widened(found: NDArray[Any], n_classes: int) -> NDArray[Any]:
    """Return probabilities of all of three and more classes: 0 for those that have not come."""
    if not n_classes or found.shape[1] == n_classes:
        return found
    every = np.zeros((len(found), n_classes))
    every[:, : found.shape[1]] = found
    return every


def one_model(env: StreamEnvironment, learner: StreamLearner, parameters: Parameters) -> Run:
    """Predict and learn the stream in blocks with one model: nothing is searched or tested.

    Parameters
    ----------
    env : StreamEnvironment
        Its budget is not 0.
    learner : StreamLearner
        Its `notes`, if it has some, are metrics of the run.
    parameters : dict
        The one configuration, as events have it.
    """
    stream, budget = env.stream, env.budget
    require_finite(stream, budget)
    yield events.ConfigurationAdmitted(at=0, configuration=0, parameters=parameters)
    yield events.LeaseGranted(at=0, configuration=0, amount=budget, slot=0)
    yield events.ChampionChanged(at=0, configuration=0, previous=None)
    yield from play(env, learner)
    score = float(env.score().value)
    yield events.ConfigurationScored(at=env.at, configuration=0, value=score, units=budget)
    if hasattr(learner, "notes"):
        env.note(learner.notes())


class StreamAlgorithm(Algorithm[StreamEnvironment]):
    """Algorithm that runs on a stream environment."""

    environment: ClassVar[str] = "stream"


class OneModel(StreamAlgorithm):
    """Algorithm that is one model, which nothing is compared with."""

    many_classes: ClassVar[bool] = True
    predicts_pending: ClassVar[bool] = True

    capacity = 1

    @abstractmethod
    def model(self, env: StreamEnvironment) -> StreamLearner:
        """Return the model, which has learned nothing."""

    def parameters(self) -> Parameters:
        """Return the one configuration, as events have it."""
        return settings_of(self)

    def run(self, env: StreamEnvironment, seed: int) -> Run:
        """Predict the stream and learn it; nothing is drawn, so the seed changes nothing."""
        if env.budget:
            yield from one_model(env, self.model(env), self.parameters())
