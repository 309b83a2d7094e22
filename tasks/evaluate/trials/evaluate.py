"""Work of a trial: fit on the training rows, score the validation rows, and test."""

from __future__ import annotations

import contextlib
import math
import pickle
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.measures import Measures, of_test
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate.trials import recipes
from leaseboard.tasks.machine.disk import fault_of_disk
from leaseboard.tasks.preprocess import CODE, INDICATOR

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.trials.scoring import Judge

Task = Literal["classification", "regression"]
Matrix = NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Fold:
    """Encoded arrays of one fit; without test arrays where `test` is not scored."""

    train_x: Matrix
    train_y: NDArray[Any]
    validation_x: Matrix
    validation_y: NDArray[Any]
    test_x: Matrix | None
    test_y: NDArray[Any] | None
    train_weight: NDArray[np.float64] | None = None


@dataclass(frozen=True, slots=True)
class Arrays:
    """Arrays of the trials of one dataset and one split.

    With a `judge` the reward is that of its score on the predictions for all folds' validation
    rows, one after the other, and the predictions are a part of the outcome.
    """

    task: Task
    folds: tuple[Fold, ...]
    refit: Fold | None = None
    judge: Judge | None = None
    probabilistic: bool = False
    """The judge needs probabilities, so that a learner without them fails."""
    kinds: NDArray[np.int8] | None = None
    """Of features, see `leaseboard.tasks.preprocess.tables.TableEncoder`; None: all are alike."""

    def seen_by(self, order: Order) -> NDArray[np.intp] | None:
        """Return the features that the learner of an order gets; None: all."""
        if self.kinds is None or not self.kinds.any():
            return None
        return np.flatnonzero(self.kinds != (INDICATOR if order.codes else CODE))


@dataclass(frozen=True, slots=True, kw_only=True)
class TrialData:
    """Data of trials, and the part of their key that names them."""

    identity: Mapping[str, Any]
    """The digest of the data, how rows are divided, and how columns become numbers."""
    code: tuple[str, ...]
    """The modules that split and encode."""
    arrays: Callable[[], Arrays]
    """Makes the encoded data; called only if a trial must be run."""


WORKING_MEMORY = 64
"""MB of the distances between rows that neighbours look at at once; scikit-learn's are 1024."""
BOOSTING = 0.6
"""Share of the seconds of an order in which trees are added; the rest is for predictions."""


class Stopped(BaseException):
    """End of the seconds of the order; no learner is to catch it."""


@dataclass(frozen=True, slots=True)
class Order:
    """Trial to run: an estimator with its values, on a share of the training rows.

    A share below 1 is fitted on the first fold alone.
    """

    estimator: str
    values: Mapping[str, Any]
    seed: int
    fidelity: float = 1.0
    seconds: float = math.inf
    """After which it is stopped, in `clock`."""
    clock: Literal["cpu", "wall"] = "cpu"
    keep: str = ""
    """File of the fitted folds, see `fitted_in`; those in it are not fitted again. No file if
    empty."""
    refit: bool = False
    """Fit on the rows of `Arrays.refit` instead, and predict its validation rows."""
    codes: bool = False
    """Of a nominal column that has both, the learner gets its codes and not its indicators."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Outcome of an `Order`; `reward` is 0 unless `status` is ``ok``.

    The status ``stopped`` says that the order's seconds ended first. Of several folds it then has
    the score and the predictions of those that were fitted; without any, nothing is known of it.
    """

    reward: float = 0.0
    test: float | None = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0
    status: str = "ok"
    reason: str = ""
    score: float | None = None
    """Score by the judge."""
    predictions: NDArray[Any] | None = None
    """Predictions for all validation rows; none of a fit on a share of one fold of several."""
    folds: int = 0
    """Number of fitted folds, where it was stopped."""
    trees: int = 0
    """Number of boosted trees, where the seconds ended before there were all."""
    measures: Measures = field(default_factory=dict)
    """Measures of the test rows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """Trial that was judged: its predictions, and where its models are."""

    order: Order
    score: float
    predictions: NDArray[Any]
    cpu_seconds: float
    wall_seconds: float
    file: Path | None
    """Its pickled models, fold by fold; None if another process ran it."""


def run(
    order: Order,
    arrays: Arrays,
    begin: Callable[[], object] = lambda: None,
    end: Callable[[], object] = lambda: None,
) -> TrialOutcome:
    """Fit and score; an exception of the estimator is a failed trial, not an error.

    The cost is that of fitting and validating. Scoring the test rows is for the record and is
    not part of it.

    - `begin`: called when the learner's library is imported and the trial's own work begins.
    - `end`: called when it ends, before the test rows are scored.
    """
    clock = _Clock(end)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            _new(order, arrays)  # imports its library before the clock starts
            begin()
            clock.start()
            outcome = _fitted(order, arrays, clock)
            judged = arrays.judge is not None
            if not math.isfinite(outcome.reward if outcome.score is None else outcome.score):
                why = "score is not a number" if judged else "predictions are not finite"
                outcome = TrialOutcome(status="diverged", reason=f"the {why}")
    except Stopped:
        outcome = TrialOutcome(status="stopped")
    except MemoryError:
        outcome = TrialOutcome(status="memout", reason="out of memory")
    except Exception as error:  # noqa: BLE001 - any error of a learner is its trial's outcome
        full = fault_of_disk(error)
        status = "skipped" if full else "crash"
        outcome = TrialOutcome(status=status, reason=full or one_line(error))
    cpu_seconds, wall_seconds = clock.stop()
    return replace(outcome, cpu_seconds=cpu_seconds, wall_seconds=wall_seconds)


def possible(outcome: TrialOutcome) -> TrialOutcome:
    """Return `outcome`; SkipError for one that the machine prevented, which is not recorded."""
    if outcome.status == "skipped":
        raise SkipError(outcome.reason)
    return outcome


def reward_of(task: Task, y: NDArray[Any], predicted: NDArray[Any]) -> float:
    """Return the accuracy, or the squared error mapped into [0, 1].

    A regression's reward is 1 / (1 + MSE / Var y): 1 without error, 1/2 for the mean as the
    prediction, falling towards 0. It is monotone in the error, as Rising Bandits asks.
    """
    if task == "classification":
        return float(np.mean(predicted == y))
    scale = float(np.var(y))
    error = float(np.mean((predicted - y) ** 2))
    return 1 / (1 + error / scale) if scale > 0 else float(error == 0)


def one_line(error: BaseException) -> str:
    """Return an exception in one short line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


class _Clock:
    """CPU and wall seconds from `start` to the first `stop`."""

    def __init__(self, end: Callable[[], object]) -> None:
        self._spent: tuple[float, float] | None = None
        self._end = end
        self.start()

    def start(self) -> None:
        self._cpu, self._wall = time.process_time(), time.perf_counter()

    def seconds(self, clock: Literal["cpu", "wall"]) -> float:
        if clock == "cpu":
            return time.process_time() - self._cpu
        return time.perf_counter() - self._wall

    def stop(self) -> tuple[float, float]:
        if self._spent is None:
            self._spent = self.seconds("cpu"), self.seconds("wall")
            self._end()
        return self._spent


def _fitted(order: Order, arrays: Arrays, clock: _Clock) -> TrialOutcome:
    """Return the outcome without its cost, which the test does not belong to."""
    if arrays.judge is not None:
        return _judged(order, arrays, arrays.judge, clock)
    models = [_fit(order, arrays, fold) for fold in arrays.folds]
    rewards = [
        reward_of(arrays.task, fold.validation_y, model.predict(fold.validation_x))
        for fold, model in zip(arrays.folds, models, strict=True)
    ]
    clock.stop()
    tested, model = arrays.folds[0], models[0]
    if arrays.refit is not None:
        tested, model = arrays.refit, _fit(order, arrays, arrays.refit)
    test, measures = None, {}
    if tested.test_x is not None and tested.test_y is not None:
        said = model.predict(tested.test_x)
        test = reward_of(arrays.task, tested.test_y, said)
        measures = _measures(arrays.task, tested, model, said)
    return TrialOutcome(float(np.mean(rewards)), test, measures=measures)


def _measures(task: Task, tested: Fold, model: Any, said: NDArray[Any]) -> Measures:
    """Return the measures of the test rows, for which a model predicts `said`."""
    assert tested.test_x is not None
    assert tested.test_y is not None
    if not np.isfinite(said).all():
        return {}
    if task == "regression":
        return of_test(task, tested.test_y, said)
    n_classes = 1 + int(max(tested.train_y.max(), tested.test_y.max()))
    scored = any(hasattr(model, name) for name in ("predict_proba", "decision_function"))
    scores = predict(model, tested.test_x, n_classes) if scored else None
    measures = of_test(task, tested.test_y, said, scores, n_classes=n_classes)
    if not hasattr(model, "predict_proba"):
        measures.pop("log_loss", None)  # `predict` makes the scores sum to 1
    return measures


def _judged(order: Order, arrays: Arrays, judge: Judge, clock: _Clock) -> TrialOutcome:
    folds = arrays.folds if order.fidelity == 1 else arrays.folds[:1]
    if order.refit:
        assert arrays.refit is not None
        folds = (arrays.refit,)
    if arrays.probabilistic and not hasattr(_new(order, arrays), "predict_proba"):
        raise TypeError(f"{order.estimator} gives no probabilities, which the scorer needs")
    n_classes = 0 if judge.classes is None else len(judge.classes)
    done = fitted_in(order.keep)
    before, trees = len(done), 0
    stops = len(arrays.folds) == 1 and not order.refit

    def left() -> float:
        return order.seconds * BOOSTING - clock.seconds(order.clock)

    try:
        for fold in folds[before:]:
            new = len(done) - before
            if new and clock.seconds(order.clock) * (new + 1) / new > order.seconds:
                break  # the next one would be stopped
            model = _fit(order, arrays, fold, left if stops else None)
            trees = recipes.trees_if_stopped(model) if stops else 0
            part = predict(model, fold.validation_x, n_classes)
            if not np.isfinite(part).all():
                raise FloatingPointError("the predictions are not finite")
            if order.keep:
                with Path(order.keep).open("ab") as file:
                    pickle.dump((model, part), file, protocol=pickle.HIGHEST_PROTOCOL)
            done.append((model, part))
    except Stopped:
        if not done:
            raise
    predictions = np.concatenate([part for _, part in done])
    if len(predictions) < len(judge.targets):
        judge = judge.first(len(predictions))
    score = judge.score(predictions)
    if len(done) == len(folds) or not math.isfinite(score):
        kept = predictions if order.refit or len(folds) == len(arrays.folds) else None
        return TrialOutcome(judge.reward(score), score=score, predictions=kept, trees=trees)
    # Of fewer rows a score is less certain: its lower bound counts.
    reward = judge.reward(score - judge.noise(predictions, order.seed))
    reason = f"{len(done)} of {len(folds)} folds"
    return TrialOutcome(
        reward,
        status="stopped",
        reason=reason,
        score=score,
        predictions=predictions,
        folds=len(done),
    )


def fitted_in(path: Path | str) -> list[tuple[Any, NDArray[Any]]]:
    """Return model and predictions of each fold in a file; remove a fold that is not whole."""
    found: list[tuple[Any, NDArray[Any]]] = []
    if not path or not Path(path).is_file():
        return found
    with Path(path).open("rb+") as file:
        whole = 0
        with contextlib.suppress(EOFError, pickle.UnpicklingError):
            while True:
                found.append(pickle.load(file))  # noqa: S301 - our own process wrote it
                whole = file.tell()
        file.truncate(whole)
    return found


def predict(model: Any, features: Matrix, n_classes: int) -> NDArray[Any]:
    """Return probabilities, shape (n_rows, n_classes), or values, shape (n_rows,).

    A class that the model does not know has the probability 0. A classifier without probabilities
    has the softmax of its decision function, which is not calibrated.
    """
    from sklearn import config_context  # most commands that import this module fit nothing

    with config_context(working_memory=WORKING_MEMORY):
        if not n_classes:
            return np.asarray(model.predict(features), dtype=np.float64).reshape(len(features))
        if hasattr(model, "predict_proba"):
            given = model.predict_proba(features)
        else:
            given = softmax(np.asarray(model.decision_function(features), dtype=np.float64))
    if len(model.classes_) == n_classes:
        return np.asarray(given, dtype=np.float32)
    probabilities = np.zeros((len(features), n_classes), dtype=np.float32)
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = given
    return probabilities


def softmax(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of scores, shape (n_rows, n_classes), or (n_rows,) for two classes."""
    if scores.ndim == 1:
        scores = np.column_stack([np.zeros(len(scores)), scores])
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    return np.asarray(weights / weights.sum(axis=1, keepdims=True))


def _new(order: Order, arrays: Arrays) -> Any:
    seen = arrays.seen_by(order)
    if seen is None:
        n_features = arrays.folds[0].train_x.shape[1]
        return recipes.build(order.estimator, order.values, n_features, order.seed)
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    model = recipes.build(order.estimator, order.values, len(seen), order.seed)
    return make_pipeline(ColumnTransformer([("seen", "passthrough", seen)]), model)


def _fit(order: Order, arrays: Arrays, fold: Fold, left: Callable[[], float] | None = None) -> Any:
    """Return the fitted model; one that adds trees has fewer if the seconds `left` end."""
    model = _new(order, arrays)
    options = {}
    if left is not None and order.seconds < math.inf and recipes.stoppable(order.estimator):
        options["callbacks"] = [recipes.stopping(left)]
    if order.fidelity == 1:
        options |= _weighted(fold.train_weight)
        return model.fit(fold.train_x, fold.train_y, **_of_last_step(model, options))
    n_rows = len(fold.train_x)
    rows = generator(order.seed, "fidelity").permutation(n_rows)
    rows = np.sort(rows[: max(2, round(order.fidelity * n_rows))])
    weight = None if fold.train_weight is None else fold.train_weight[rows]
    options |= _weighted(weight)
    return model.fit(fold.train_x[rows], fold.train_y[rows], **_of_last_step(model, options))


def _weighted(weight: NDArray[np.float64] | None) -> dict[str, Any]:
    return {} if weight is None else {"sample_weight": weight}


def _of_last_step(model: Any, options: dict[str, Any]) -> dict[str, Any]:
    """Return the options of a fit as those of a pipeline's last step, if the model is one."""
    steps = getattr(model, "steps", None)
    return (
        {f"{steps[-1][0]}__{name}": each for name, each in options.items()} if steps else options
    )
