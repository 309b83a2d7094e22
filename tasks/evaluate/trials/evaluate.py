"""One trial's work: fit on the training rows, score the validation rows, test beside it."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from algorithms.seeds import generator
from tasks.evaluate.trials import recipes

Task = Literal["classification", "regression"]
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fold:
    """The encoded arrays of one fit; the test arrays are None where `test` is not scored."""

    train_x: Matrix
    train_y: NDArray[Any]
    validation_x: Matrix
    validation_y: NDArray[Any]
    test_x: Matrix | None
    test_y: NDArray[Any] | None


@dataclass(frozen=True, slots=True)
class Arrays:
    """Everything that the trials of one data set and one split need."""

    task: Task
    folds: tuple[Fold, ...]
    refit: Fold | None = None


@dataclass(frozen=True, slots=True)
class Order:
    """A trial to run: which estimator with which values, on which share of the training rows."""

    estimator: str
    values: Mapping[str, Any]
    seed: int
    fidelity: float = 1.0


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """What came of an `Order`; `reward` is 0 unless `status` is ``ok``."""

    reward: float
    test: float | None
    cpu_seconds: float
    wall_seconds: float
    status: str = "ok"
    reason: str = ""


def run(order: Order, arrays: Arrays, begin: Callable[[], object] = lambda: None) -> TrialOutcome:
    """Fit and score; an exception of the estimator is a failed trial, not an error.

    The cost is that of fitting and validating. Scoring the test rows is for the record and is
    not part of it.

    `begin`: called when the learner's library is imported and the trial's own work begins.
    """
    clock = _Clock()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _new(order, arrays.folds[0])  # imports its library before the clock starts
            begin()
            clock.start()
            reward, test = _score(order, arrays, clock)
    except MemoryError:
        return TrialOutcome(0.0, None, *clock.stop(), status="memout", reason="out of memory")
    except Exception as error:  # noqa: BLE001 - whatever a learner raises is its trial's outcome
        return TrialOutcome(0.0, None, *clock.stop(), status="crash", reason=one_line(error))
    if not math.isfinite(reward):
        reason = "the predictions are not finite"
        return TrialOutcome(0.0, None, *clock.stop(), status="diverged", reason=reason)
    return TrialOutcome(reward, test, *clock.stop())


def reward_of(task: Task, y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Accuracy, or a squared error mapped into [0, 1].

    A regression's reward is 1 / (1 + MSE / Var y): 1 without error, 1/2 for the mean as the
    prediction, falling towards 0. It is monotone in the error, as Rising Bandits asks.
    """
    if task == "classification":
        return float(np.mean(predicted == y))
    scale = float(np.var(y))
    error = float(np.mean((predicted - y) ** 2))
    return 1 / (1 + error / scale) if scale > 0 else float(error == 0)


def one_line(error: BaseException) -> str:
    """An exception in one short line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


class _Clock:
    """CPU and wall seconds from `start` to the first `stop`."""

    def __init__(self) -> None:
        self._spent: tuple[float, float] | None = None
        self.start()

    def start(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def stop(self) -> tuple[float, float]:
        if self._spent is None:
            self._spent = time.process_time() - self._cpu, time.perf_counter() - self._wall
        return self._spent


def _score(order: Order, arrays: Arrays, clock: _Clock) -> tuple[float, float | None]:
    fitted = [_fit(order, fold) for fold in arrays.folds]
    rewards = [
        reward_of(arrays.task, fold.validation_y, model.predict(fold.validation_x))
        for fold, model in zip(arrays.folds, fitted, strict=True)
    ]
    clock.stop()
    tested, model = arrays.folds[0], fitted[0]
    if arrays.refit is not None:
        tested, model = arrays.refit, _fit(order, arrays.refit)
    test = None
    if tested.test_x is not None and tested.test_y is not None:
        test = reward_of(arrays.task, tested.test_y, model.predict(tested.test_x))
    return float(np.mean(rewards)), test


def _new(order: Order, fold: Fold) -> Any:
    return recipes.build(order.estimator, order.values, fold.train_x.shape[1], order.seed)


def _fit(order: Order, fold: Fold) -> Any:
    model = _new(order, fold)
    if order.fidelity == 1:
        return model.fit(fold.train_x, fold.train_y)
    n_rows = len(fold.train_x)
    rows = generator(order.seed, "fidelity").permutation(n_rows)
    rows = np.sort(rows[: max(2, round(order.fidelity * n_rows))])
    return model.fit(fold.train_x[rows], fold.train_y[rows])
