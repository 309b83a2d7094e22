"""Environments of training rows and test rows, which are scored once.

On the hold-out environment an algorithm learns example by example; on the systems environment a
whole system learns the training rows and predicts the test rows.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms import seeds
from leaseboard.algorithms.arrays import Doubles, Floats, losses, read_only, taken
from leaseboard.algorithms.base import Algorithm, Cost, Environment, Score
from leaseboard.algorithms.environments.stream import PredictedEnvironment
from leaseboard.algorithms.errors import DivergedError
from leaseboard.algorithms.events import Measured
from leaseboard.algorithms.measures import Measures, of_test

Rows: TypeAlias = Any
"""A float32 array in C order, or a ``scipy.sparse.csr_array`` of sorted rows (scipy has no types,
so neither has this)."""

ONE_CLASS = "one_class"
"""The metric of a run that predicts one class for all test rows although they have more."""

SAYS_NOTHING = "one class is predicted for all test rows, which have more"


@dataclass(frozen=True, slots=True)
class Part:
    """Examples in order.

    Attributes
    ----------
    rows : ndarray of float32 or csr_array, shape (n_examples, n_features)
    labels : ndarray of float32, shape (n_examples,)
        A regression's target, -1 and 1 for two classes, or the number of one of more.
    texts : tuple of tuple of str
        Of each example, what its columns of text hold; empty for data without such columns.
    """

    rows: Rows
    labels: Floats
    texts: tuple[tuple[str, ...], ...] = ()


@dataclass(frozen=True, slots=True)
class Holdout:
    """Dataset divided into rows to learn from and rows to be tested on.

    `names` are the features' names, `task` is ``regression`` or ``classification``, `classes` the
    names of three and more classes by number, empty otherwise. `unit` is 1 in a regression's
    target, in its own unit. What an environment shows of the test rows has no labels.
    """

    train: Part
    test: Part
    names: tuple[str, ...]
    task: str = "regression"
    classes: tuple[str, ...] = ()
    unit: float = 1.0


class HoldoutEnvironment(PredictedEnvironment):
    """One or more passes over the training rows, then one look at the test rows.

    The algorithm hands in, in order, the predictions it made before it learned each example
    (`record`), and at the end its predictions of the test rows (`submit`). The score is the test
    error: the mean squared error, or the error rate with the threshold 0. Of three and more
    classes a prediction is a number for each, shape (n, n_classes), and the largest says which.
    The anytime curve is the progressive validation loss of the first pass, an estimate of the same
    quantity that costs nothing and never looks at the test rows.

    A run that predicts one class for all test rows, although they have more, has the metric
    `ONE_CLASS`: such an error rate says how common the class is, and nothing else.

    All arrays are read-only, and `holdout` has no label of a test row.

    Parameters
    ----------
    holdout : Holdout
    passes : int
        How often the training rows may be learned.
    budget : int, optional
        Stop after so many examples, passes counted; all by default.
    """

    kind: ClassVar[str] = "holdout"
    measured: ClassVar[str] = "test"
    or_else: ClassVar[str] = "set positive to those that are one of the two, or leave it out"

    def __init__(self, holdout: Holdout, passes: int = 1, budget: int | None = None) -> None:
        self.n_train: int = len(holdout.train.labels)
        available = self.n_train * passes
        most = available if budget is None else min(budget, available)
        train, test = (
            Part(read_only(part.rows), read_only(part.labels), part.texts)
            for part in (holdout.train, holdout.test)
        )
        self.holdout = replace(holdout, train=train, test=replace(test, labels=test.labels[:0]))
        self._test_labels = test.labels
        super().__init__(train.labels, holdout, most, min(self.n_train, most))
        self._test_error = math.nan
        self._given: Floats | None = None

    def record(self, predictions: Floats) -> Iterator[Measured]:
        """Take the predictions of the next training examples, made before they were learned.

        Parameters
        ----------
        predictions : ndarray of float32, shape (n,)
            Finite, see `taken`. Of three and more classes a number for each, shape (n, n_classes).

        Yields
        ------
        Measured
            In the first pass: the progressive loss at the log-spaced points (1, 2, 5 times
            powers of ten, and the end) that were passed.
        """
        given = self._next(predictions)
        known = given[: max(0, self._end - self.at)]  # of the first pass
        yield from self._scored(self._answers(known), self.at + len(given))

    def skip(self, n_examples: int) -> None:
        """Count examples of a learner that does not report its predictions."""
        self.at += n_examples

    def submit(self, predictions: Floats) -> None:
        """Take the final predictions of the test rows, once; refused ones do not count."""
        labels = self._test_labels
        if self._given is not None:
            raise ValueError("the test rows were predicted before: they are scored once")
        given = taken(predictions, len(self.holdout.classes))
        if len(given) != len(labels):
            raise ValueError(f"{len(given)} predictions of {len(labels)} examples: give all")
        known = self._answers(given)
        self._test_error = float(losses(known, labels, self._task).mean())
        if self.holdout.task == "classification":
            said = known if self.holdout.classes else known > 0
            if len(np.unique(said)) == 1 < len(np.unique(labels)):
                self.note({ONE_CLASS: 1.0})
        self._given = given.copy()

    def score(self) -> Score:
        """Return the test error, NaN before `submit`."""
        metrics = dict(self._notes)
        if self.at:
            metrics["progressive"] = self._progressive
        return Score(self._test_error, self.metric, "min", metrics)

    def measures(self) -> Measures:
        """Return the measures of the test rows; none before `submit`."""
        given, labels = self._given, self._test_labels
        if given is None:
            return {}
        if self.holdout.task == "regression":
            unit = np.float64(self.holdout.unit)
            return of_test("regression", labels * unit, given * unit)
        many = len(self.holdout.classes)
        truth, said = (labels, self._answers(given)) if many else (labels > 0, given > 0)
        return of_test(
            "classification", truth.astype(int), said.astype(int), given, n_classes=many
        )

    def _answers(self, known: Floats) -> Floats:
        """Return which of three and more classes each prediction names."""
        return known.argmax(axis=1).astype(np.float32) if self.holdout.classes else known


class HoldoutAlgorithm(Algorithm[HoldoutEnvironment]):
    """Algorithm that runs on a hold-out environment."""

    environment: ClassVar[str] = "holdout"
    passes: ClassVar[int] = 1
    """Passes over the training rows that it is made for."""


def split(
    n_rows: int, seed: int, *, test_share: float = 0.2, order: Literal["shuffled", "kept"]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return which rows to learn from, in which order, and which to test on.

    Parameters
    ----------
    n_rows : int
    seed : int
        The environment's seed: all algorithms of a repetition meet the same split.
    test_share : float
        Share of the rows to test on; at least one row stays on each side.
    order : {"shuffled", "kept"}
        ``kept`` draws at random which rows are in which part, and leaves both in the order of
        the data. Some of the paper's sets were learned so.

    Examples
    --------
    >>> train, test = split(5, 0, order="kept")
    >>> len(train), len(test), sorted([*train.tolist(), *test.tolist()])
    (4, 1, [0, 1, 2, 3, 4])
    """
    n_test = min(max(1, round(n_rows * test_share)), n_rows - 1)
    shuffled = seeds.generator(seed, "holdout").permutation(n_rows)
    train, test = shuffled[: n_rows - n_test], shuffled[n_rows - n_test :]
    return (train, test) if order == "shuffled" else (np.sort(train), np.sort(test))


class Fits(Protocol):
    """Source of fits: a store that runs what is missing, or a synthetic problem."""

    def fit(self, system: str, seed: int, seconds: float) -> tuple[Doubles, Cost]:
        """Return what `system` predicts, fitted in at most so many CPU seconds, and the cost.

        It predicts numbers, or the classes' codes, of the test rows; the cost is of the fit
        alone, with all processes of the system.
        """


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
    """

    kind: ClassVar[str] = "systems"
    to_be_spent: ClassVar[bool] = False

    def __init__(self, fits: Fits, truth: Doubles, task: str, budget: float = 30.0) -> None:
        super().__init__("cpu_seconds", budget)
        self.task, self._fits, self._truth = task, fits, truth
        self._found: Doubles | None = None
        self.cost: Cost = Cost(spent_cpu_seconds=0.0)

    def fit(self, system: str, seed: int) -> None:
        """Let `system` learn and predict, once; the budget is charged its recorded cost.

        Raises
        ------
        DivergedError
            If a prediction is not a finite number.
        """
        if self._found is not None:
            raise ValueError("the test rows were predicted before: they are scored once")
        found, cost = self._fits.fit(system, seed, self.budget)
        if found.shape != self._truth.shape or not np.isfinite(found).all():
            raise DivergedError(f"{system} did not predict a finite number for each test row")
        self._found, self.cost = found, cost
        self.at = min(self.budget, cost.cpu_seconds)

    def score(self) -> Score:
        """Return the test score, NaN before `fit`."""
        regression = self.task == "regression"
        metric = "test_r2" if regression else "test_accuracy"
        truth, found = self._truth, self._found
        if found is None:
            return Score(math.nan, metric, "max", self._notes)
        more = of_test(self.task, truth, found, n_classes=1 + int(max(truth.max(), found.max())))
        value = more.get("r2" if regression else "accuracy", 0.0)
        overrun = max(0.0, self.cost.cpu_seconds / self.budget - 1)
        return Score(value, metric, "max", {**self._notes, **more, "overrun": overrun})


class SystemsAlgorithm(Algorithm[SystemsEnvironment]):
    """Algorithm that runs on a systems environment."""

    environment: ClassVar[str] = "systems"
