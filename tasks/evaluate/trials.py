"""A trial: its rows as arrays; a fit on the training rows, scored on validation and test rows."""

from __future__ import annotations

import contextlib
import functools
import math
import pickle
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import psutil
from numpy.typing import NDArray
from scipy.special import softmax

from leaseboard.algorithms.errors import SkipError
from leaseboard.algorithms.measures import Measures, of_test
from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.evaluate import spaces
from leaseboard.tasks.fetch.dataset import Dataset, Task
from leaseboard.tasks.preprocess import CODE, INDICATOR, MANY
from leaseboard.tasks.preprocess.encoders import Scale, TableEncoder, labels_of, refuse_text
from leaseboard.tasks.preprocess.encoding import naming
from leaseboard.tasks.preprocess.splits import Rows, Split, division, split, split_by_column
from leaseboard.tasks.processes.child import Limits, call, call_here, of_one_thread

if TYPE_CHECKING:
    from leaseboard.tasks.evaluate.scoring import Judge

Matrix = NDArray[np.float32]

WORKING_MEMORY = 64
"""MB of the distances between rows that neighbours look at at once; scikit-learn's are 1024."""
BOOSTING = 0.6
"""Share of the seconds of an order in which trees are added; the rest is for predictions."""
WITH_TEST = 1.5
"""How many times its limit of CPU seconds a trial may take with its test, which costs nothing."""


@dataclass(frozen=True, slots=True)
class Fold:
    """Encoded arrays of one fit; without test arrays where `test` is not scored."""

    train_x: Matrix
    train_y: NDArray[Any]
    validation_x: Matrix
    validation_y: NDArray[Any]
    test_x: Matrix | None = None
    test_y: NDArray[Any] | None = None
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
    kinds: NDArray[np.int8] | None = None
    """Of features, see `TableEncoder`; None: all are alike."""


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
    """CPU seconds after which it is stopped."""
    keep: str = ""
    """File that gets the fitted models, see `fitted_in`; none if empty."""
    refit: bool = False
    """Fit on the rows of `Arrays.refit` instead, and predict its validation rows."""
    codes: bool = False
    """Of a nominal column that has both, the learner gets its codes and not its indicators; of
    one with many categories also the mean target of each, see `_effects`."""


@dataclass(frozen=True, slots=True)
class TrialOutcome:
    """Outcome of an `Order`; `reward` is 0 unless `status` is ``ok``.

    The status ``stopped`` says that the order's seconds ended first: nothing is known of it.
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
    trees: int = 0
    """Number of boosted trees, where the seconds ended before there were all."""
    measures: Measures = field(default_factory=dict)
    """Measures of the test rows."""
    lasting: bool = True
    """False of a trial that the machine killed: another time it may end otherwise."""


def carry_out(order: Order, arrays: Arrays, limits: Limits | None) -> TrialOutcome:
    """Run a trial in a fork, or here without `limits`; SkipError if it cannot be run."""
    outcome = run(order, arrays) if limits is None else run_apart(order, arrays, limits)
    if outcome.status == "skipped":  # the machine prevented it
        raise SkipError(outcome.reason)
    return outcome


def run_apart(order: Order, arrays: Arrays, limits: Limits) -> TrialOutcome:
    """Run a trial in a fork, which has the arrays and the learner's library of this process.

    - `limits`: CPU seconds of the trial, and memory in addition to that of this process.
    """
    assert limits.cpu_seconds is not None
    warm()
    with contextlib.suppress(Exception):  # the trial meets it again, and says why
        _new(order, arrays)
    allowed, longest = limits.cpu_seconds, of_one_thread(limits.cpu_seconds)
    cpu = min(allowed, order.seconds) * (WITH_TEST if arrays.judge is None else 1.0)
    memory = (limits.memory_mb or 0.0) + psutil.Process().memory_info().rss / 1e6
    most = longest.model_copy(update={"cpu_seconds": max(1e-3, cpu), "memory_mb": memory})
    called = call(lambda: run(order, arrays), most)
    late, found = called.ending.status == "timeout", called.value
    taken = math.inf if late else 0.0 if found is None else found.cpu_seconds
    ending = longest.breach(taken, called.wall_seconds, 0.0) or called.ending
    if late and order.seconds <= allowed:
        outcome = TrialOutcome(status="stopped")
    elif ending.status == "ok":
        return found
    else:
        outcome = TrialOutcome(status=ending.status, reason=ending.reason, lasting=ending.lasting)
    spent = min(called.cpu_seconds, allowed)
    return replace(outcome, cpu_seconds=spent, wall_seconds=called.wall_seconds)


@functools.cache
def warm() -> None:
    """Do what scikit-learn does at its first fit and test, or every fork is charged for it."""
    import sklearn.metrics  # noqa: F401 - the test imports it
    from sklearn.dummy import DummyClassifier

    rows = np.zeros((2, 1))
    DummyClassifier().fit(rows, [0, 1]).predict(rows)


def run(order: Order, arrays: Arrays) -> TrialOutcome:
    """Fit and score; an exception of the estimator is a failed trial, not an error.

    The cost is that of fitting and validating. Scoring the test rows is for the record and is
    not part of it.
    """
    models: list[Any] = []

    def validate() -> TrialOutcome:
        if arrays.judge is not None:
            return _judged(order, arrays, arrays.judge)
        models.extend(_fit(order, arrays, fold) for fold in arrays.folds)
        rewards = [
            reward_of(arrays.task, fold.validation_y, model.predict(fold.validation_x))
            for fold, model in zip(arrays.folds, models, strict=True)
        ]
        return TrialOutcome(float(np.mean(rewards)))

    with contextlib.suppress(Exception):  # imports its library before the clock starts
        _new(order, arrays)
    called = call_here(validate)
    ok = called.value is not None
    tested = call_here(lambda: _tested(order, arrays, models[0]) if ok and models else {})
    ending = tested.ending if ok else called.ending
    outcome = TrialOutcome(status=ending.status, reason=ending.reason)
    if ending.status == "ok":
        outcome = replace(called.value, **tested.value)
        if not math.isfinite(outcome.reward if outcome.score is None else outcome.score):
            why = "predictions are not finite" if models else "score is not a number"
            outcome = TrialOutcome(status="diverged", reason=f"the {why}")
    return replace(outcome, cpu_seconds=called.cpu_seconds, wall_seconds=called.wall_seconds)


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


def _tested(order: Order, arrays: Arrays, model: Any) -> dict[str, Any]:
    """Return the reward and the measures of the test rows, by a fit of its own if there is one."""
    tested = arrays.folds[0]
    if arrays.refit is not None:
        tested, model = arrays.refit, _fit(order, arrays, arrays.refit)
    if tested.test_x is None or tested.test_y is None:
        return {}
    said = model.predict(tested.test_x)
    found = {"test": reward_of(arrays.task, tested.test_y, said)}
    if not np.isfinite(said).all():
        return found
    if arrays.task == "regression":
        return found | {"measures": of_test(arrays.task, tested.test_y, said)}
    n_classes = 1 + int(max(tested.train_y.max(), tested.test_y.max()))
    scored = any(hasattr(model, name) for name in ("predict_proba", "decision_function"))
    scores = predict(model, tested.test_x, n_classes) if scored else None
    measures = of_test(arrays.task, tested.test_y, said, scores, n_classes=n_classes)
    if not hasattr(model, "predict_proba"):
        measures.pop("log_loss", None)  # `predict` makes the scores sum to 1
    return found | {"measures": measures}


def _judged(order: Order, arrays: Arrays, judge: Judge) -> TrialOutcome:
    """Fit all folds, of a share of the rows the first, and score their predictions."""
    began, folds = time.process_time(), arrays.folds if order.fidelity == 1 else arrays.folds[:1]
    if order.refit:
        assert arrays.refit is not None
        folds = (arrays.refit,)
    if judge.probabilistic and not hasattr(_new(order, arrays), "predict_proba"):
        raise TypeError(f"{order.estimator} gives no probabilities, which the scorer needs")
    n_classes = 0 if judge.classes is None else len(judge.classes)
    left, trees = None, 0  # seconds in which a single fit may add trees
    if len(arrays.folds) == 1 and not order.refit and spaces.stoppable(order.estimator):
        left = lambda: order.seconds * BOOSTING - (time.process_time() - began)  # noqa: E731
    models = [_fit(order, arrays, fold, left) for fold in folds]
    if left is not None:
        trees = spaces.trees_if_stopped(models[0])
    predictions = np.concatenate(
        [
            predict(model, fold.validation_x, n_classes)
            for model, fold in zip(models, folds, strict=True)
        ]
    )
    if not np.isfinite(predictions).all():
        raise FloatingPointError("the predictions are not finite")
    if order.keep:
        Path(order.keep).write_bytes(pickle.dumps(models, protocol=pickle.HIGHEST_PROTOCOL))
    score = judge.score(predictions)
    kept = predictions if order.refit or len(folds) == len(arrays.folds) else None
    return TrialOutcome(judge.reward(score), score=score, predictions=kept, trees=trees)


def fitted_in(file: Path | str) -> list[Any]:
    """Return the models that a trial left, of each fold."""
    return pickle.loads(Path(file).read_bytes())  # noqa: S301 - our process wrote it


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
            scores = np.asarray(model.decision_function(features), dtype=np.float64)
            if scores.ndim == 1:  # of two classes
                scores = np.column_stack([np.zeros(len(scores)), scores])
            given = softmax(scores, axis=1)
    probabilities = np.zeros((len(features), n_classes), dtype=np.float32)
    probabilities[:, np.asarray(model.classes_, dtype=np.intp)] = given
    return probabilities


def _new(order: Order, arrays: Arrays) -> Any:
    """Return the estimator, behind the choice of its features if it does not get all."""
    n_features = arrays.folds[0].train_x.shape[1]
    if arrays.kinds is None or not arrays.kinds.any():
        return spaces.build(order.estimator, order.values, n_features, order.seed)
    from sklearn.compose import ColumnTransformer
    from sklearn.pipeline import make_pipeline

    seen = np.flatnonzero(arrays.kinds != INDICATOR if order.codes else arrays.kinds < CODE)
    model = spaces.build(order.estimator, order.values, len(seen), order.seed)
    parts: list[Any] = [("seen", "passthrough", seen)]
    if order.codes and (arrays.kinds == MANY).any():
        parts.append(("effects", _effects(order, arrays), np.flatnonzero(arrays.kinds == MANY)))
    return make_pipeline(ColumnTransformer(parts), model)


def _effects(order: Order, arrays: Arrays) -> Any:
    """Return the encoder of categories as their mean targets, the shares of classes.

    Trees need a split for each run of neighbouring codes, but few splits by these. A row's are of
    other training rows, or a learner would trust those of rare categories, which are noise.
    """
    from sklearn.model_selection import KFold
    from sklearn.preprocessing import TargetEncoder

    fewest = round(order.fidelity * min(len(fold.train_y) for fold in arrays.folds))
    parts = KFold(max(2, min(5, fewest)), shuffle=True, random_state=order.seed)
    targets = "continuous" if arrays.task == "regression" else "auto"
    return TargetEncoder(target_type=targets, cv=parts)


def _fit(order: Order, arrays: Arrays, fold: Fold, left: Callable[[], float] | None = None) -> Any:
    """Return the fitted model; one that adds trees has fewer if the seconds `left` end."""
    model, options = _new(order, arrays), {}
    rows: Any = slice(None)
    if order.fidelity < 1:
        n_rows = len(fold.train_x)
        shuffled = generator(order.seed, "fidelity").permutation(n_rows)
        rows = np.sort(shuffled[: max(2, round(order.fidelity * n_rows))])
    if left is not None and order.seconds < math.inf:
        options["callbacks"] = [spaces.stopping(left)]
    if fold.train_weight is not None:
        options["sample_weight"] = fold.train_weight[rows]
    if hasattr(model, "steps"):  # of a pipeline, whose last step is the learner
        options = {f"{model.steps[-1][0]}__{name}": each for name, each in options.items()}
    return model.fit(fold.train_x[rows], fold.train_y[rows], **options)


TRAIN_SHARE = 0.8
"""Of the rows, for cross-validation where the data bring no split of their own."""


def scored(
    dataset: Dataset, seed: int, protocol: str, column: str | None = None
) -> tuple[Dataset, Split]:
    """Return data and rows of the fit whose test score is recorded, which a winner repeats.

    - `seed`: of the split.
    - `protocol`, {"holdout", "cv"}: ``holdout``: 64 %, 16 % and 20 % of the rows, as Rising
      Bandits has them; of random rows every class has a row for training. ``cv``: all rows but a
      fifth; so it is by time, where those before the test are worth most.
    - `column`: says ``train`` or ``test`` of each row, for ``cv``; the data are then without it.
    """
    if protocol == "holdout" and division(dataset).kind != "time":
        return dataset, split(dataset, seed=seed)
    if column is None:
        return dataset, split(dataset, (TRAIN_SHARE, 1 - TRAIN_SHARE), seed)
    dataset, train, test = split_by_column(dataset, column)
    return dataset, Split(train, test)


def holdout(dataset: Dataset, seed: int, scale: Scale = "none") -> Arrays:
    """Return the arrays of one fit, validated and tested, as Rising Bandits does.

    By time the test is of another fit, see `scored`.
    """
    part, (_, tested) = split(dataset, seed=seed), scored(dataset, seed, "holdout")
    refit = None if len(tested.validation) else _fold(dataset, tested, scale)
    return Arrays(dataset.task, (_fold(dataset, part, scale),), refit)


def cross_validation(
    dataset: Dataset, seed: int, folds: int, column: str | None = None, scale: Scale = "none"
) -> Arrays:
    """Return the arrays of stratified folds and of a tested fit on all of them, as ER-UCB does.

    - `dataset`: of a classification.
    - `seed`, `column`: as in `scored`.
    - `folds`: each class's training rows are dealt to them in their order, without shuffling,
      unless time or groups divide them.
    """
    dataset, every = scored(dataset, seed, "cv", column)
    train = every.train
    rule, codes = division(dataset).of(train), dataset.target.cat.codes.to_numpy()[train]
    pairs = rule.folds(folds, dealt(codes, folds))
    parts = [Split(train[rows], train[:0], train[others]) for rows, others in pairs]
    refit = _fold(dataset, every, scale)
    return Arrays(dataset.task, tuple(_fold(dataset, p, scale) for p in parts), refit)


def encoder(dataset: Dataset, train: Rows, scale: Scale) -> TableEncoder:
    """Return the encoder of the features, fitted on the rows `train`.

    Raises DataError for a text column.
    """
    refuse_text(dataset)
    return TableEncoder(scale).fit(dataset.features.iloc[train])


def dealt(labels: NDArray[np.integer], folds: int) -> NDArray[np.intp]:
    """Return the fold of each row: each class is cut into `folds` runs of nearly equal length.

    Where a class has fewer members than there are folds, the classes start at different folds,
    so that no fold gets them all.
    """
    fold_of = np.empty(len(labels), dtype=np.intp)
    start = 0
    for label in np.unique(labels):
        members = np.flatnonzero(labels == label)
        runs = np.arange(len(members)) * folds // max(len(members), folds)
        fold_of[members] = (runs + start) % folds
        start += len(members) % folds
    return fold_of


def _fold(dataset: Dataset, part: Split, scale: Scale) -> Fold:
    """Return the arrays of one fit, encoded by its training rows alone."""
    features, labels = dataset.features, labels_of(dataset)
    with naming(dataset.reference):
        encode = encoder(dataset, part.train, scale).transform
        train, validation, test = (
            (encode(features.iloc[rows]), labels[rows])
            for rows in (part.train, part.validation, part.test)
        )
    return Fold(*train, *validation, *(test if len(part.test) else (None, None)))
