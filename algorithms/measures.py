"""Measures of predictions: in the target's own unit, or for classes beyond chance.

A measure that is not defined is left out: R² of labels that are all the same, or a root mean
squared error beyond what a number can be.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Literal, get_args

if TYPE_CHECKING:  # the command line's help waits for no numpy
    import numpy as np
    from numpy.typing import ArrayLike, NDArray

Measures = dict[str, float]

Measure = Literal[
    "rmse", "mae", "r2", "error", "accuracy", "balanced_accuracy", "f1", "roc_auc", "log_loss",
    "kappa", "kappa_temporal", "skill",
]  # fmt: skip

_LESS_IS_BETTER = ("rmse", "mae", "error", "log_loss")
DIRECTIONS: dict[str, str] = {
    name: "min" if name in _LESS_IS_BETTER else "max" for name in get_args(Measure)
}
"""Each measure, and whether less or more of it is better."""

MEANS = {
    "progressive_mse": "progressive mean squared error: each label is predicted, then learned",
    "progressive_error": "progressive error rate: the share of wrong predictions before learning",
    "validation_reward": "validation reward: 1 / (1 + squared error / variance of the target)",
    "validation_accuracy": "validation accuracy: the share of labels predicted correctly",
    "best_feedback": "feedback: the best reward among the pulls of a table of feedbacks",
    "test_accuracy": "test accuracy: the share of held-out labels predicted correctly",
    "test_r2": "test R²: the share of the target's variance explained on held-out rows",
    "test_mse": "test mean squared error: the mean squared error on held-out rows",
    "test_error": "test error rate: the share of held-out labels predicted wrongly",
}
"""Names of metrics for readers, and their meaning."""

SKILL = "skill"

_LEAST_PROBABILITY = 1e-15


def of_logarithm(score: float, measures: Mapping[str, float]) -> bool:
    """Return whether a progressive squared error is that of the target's logarithm.

    Only of one does it differ from the squared error of the target itself.

    Examples
    --------
    >>> of_logarithm(0.25, {"rmse": 0.5}), of_logarithm(0.24, {"rmse": 59.98})
    (False, True)
    """
    return abs(measures.get("rmse", math.nan) ** 2 / max(score, 1e-300) - 1) > 1e-3


def describe_units(metric: str, score: float, measures: Mapping[str, float]) -> str:
    """Return in which unit a score and the measures next to it are, in Markdown.

    Examples
    --------
    >>> print(describe_units("progressive_mse", 0.24, {"rmse": 59.98, "mae": 40}))
    `score` is `progressive_mse`, progressive mean squared error: each label is predicted, then\
 learned; in squared units of the target's logarithm. `rmse`, `mae`: in units of the target.
    """
    text = f"`score` is `{metric}`" + (f", {MEANS[metric]}" if metric in MEANS else "")
    if metric.endswith("_mse"):
        log = metric == "progressive_mse" and of_logarithm(score, measures)
        text += "; in squared units of the target" + ("'s logarithm" if log else "")
    own = [f"`{name}`" for name in ("rmse", "mae") if name in measures]
    return f"{text}." + (f" {', '.join(own)}: in units of the target." if own else "")


def of_numbers(predictions: ArrayLike, labels: ArrayLike) -> Measures:
    """Return root mean squared and mean absolute error, and the share of variance explained, R².

    Parameters
    ----------
    predictions, labels : array-like, shape (n,)
        In the target's own unit; n is at least 1.

    Examples
    --------
    >>> of_numbers([1, 2, 3], [1, 2, 6])
    {'rmse': 1.7320508075688772, 'mae': 1.0, 'r2': 0.3571428571428571}
    """
    import numpy as np

    truth = np.asarray(labels, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        errors = np.asarray(predictions, dtype=np.float64) - truth
        squares = (errors**2).sum()
        spread = ((truth - truth.mean()) ** 2).sum()
        found = {
            "rmse": np.sqrt(squares / len(truth)),
            "mae": np.abs(errors).mean(),
            "r2": 1.0 - np.divide(squares, spread),
        }
    return _defined(found)


def of_classes(
    predictions: NDArray[np.intp], labels: NDArray[np.intp], probabilities: ArrayLike
) -> Measures:
    """Return error rate, log loss, two kappas: what is right beyond chance and beyond no change.

    Cohen's kappa [1]_ compares with predictions drawn by the shares of the classes, the temporal
    one [2]_ with the label before, from the second example on.

    Parameters
    ----------
    predictions, labels : ndarray of int, shape (n,)
        Codes of classes; -1 for a prediction of none. n is at least 1.
    probabilities : array-like, shape (n,)
        What was predicted for the class that came; NaN where it was not known before, which the
        log loss leaves out: none can give a probability to it.

    References
    ----------
    .. [1] Cohen. A coefficient of agreement for nominal scales. Educational and Psychological
           Measurement 20, 1960.
    .. [2] Zliobaite, Bifet, Read, Pfahringer, Holmes. Evaluation methods and decision theory for
           classification of streaming data with temporal dependence. Machine Learning 98, 2015.

    Examples
    --------
    >>> import numpy as np
    >>> codes = np.array([0, 1, 1, 1])
    >>> found = of_classes(np.array([0, 1, 1, 0]), codes, [0.5] * 4)
    >>> {name: round(value, 3) for name, value in found.items()}
    {'error': 0.25, 'log_loss': 0.693, 'kappa': 0.5, 'kappa_temporal': 0.0}
    """
    import numpy as np

    right = predictions == labels
    classes = np.unique(labels)
    by_chance = sum(float((predictions == c).mean() * (labels == c).mean()) for c in classes)
    given = np.asarray(probabilities, dtype=np.float64)
    certain = np.clip(given[~np.isnan(given)], _LEAST_PROBABILITY, 1.0)
    found = {
        "error": (~right).mean(),
        "log_loss": 0.0 - np.log(certain).mean() if len(certain) else math.nan,
        "kappa": _beyond(right.mean(), by_chance),
    }
    if len(labels) > 1:
        unchanged = labels[1:] == labels[:-1]
        found["kappa_temporal"] = _beyond(right[1:].mean(), unchanged.mean())
    return _defined(found)


def of_margins(margins: NDArray[np.float32], labels: NDArray[np.float32]) -> Measures:
    """Return `of_classes` for the classes -1 and 1; a margin above 0 predicts the second.

    The probability of that one is the logistic function of the margin.
    """
    import numpy as np

    with np.errstate(over="ignore"):
        certain = 1.0 / (1.0 + np.exp(-margins.astype(np.float64) * labels))
    return of_classes((margins > 0).astype(np.intp), (labels > 0).astype(np.intp), certain)


def of_test(
    task: str,
    truth: NDArray[Any],
    predictions: NDArray[Any],
    scores: NDArray[Any] | None = None,
    *,
    n_classes: int = 0,
) -> Measures:
    """Return the measures of test rows, by scikit-learn's functions of these names.

    F1 is that of the second class, of more than two classes the mean over classes; the area under
    the ROC curve of more than two is the mean of each class against the rest, and is left out if
    a class has no test row. The log loss is left out if the scores are not probabilities.

    Parameters
    ----------
    task : {"regression", "classification"}
    truth, predictions : ndarray, shape (n,)
        Numbers in the target's own unit, or codes of classes.
    scores : ndarray, shape (n,) or (n, n_classes), optional
        Of classes: margins of the second class, or a score or probability of each class.
    n_classes : int
        Of the whole table.

    Examples
    --------
    >>> import numpy as np
    >>> of_test("regression", np.array([1, 2, 6]), np.array([1, 2, 3]))["mae"]
    1.0
    >>> truth, chances = np.array([0, 1, 1]), np.array([[0.9, 0.1], [0.6, 0.4], [0.2, 0.8]])
    >>> found = of_test("classification", truth, chances.argmax(axis=1), chances, n_classes=2)
    >>> {name: round(value, 3) for name, value in found.items()}
    {'accuracy': 0.667, 'balanced_accuracy': 0.75, 'f1': 0.667, 'roc_auc': 1.0, 'log_loss': 0.415}
    """
    import numpy as np
    from sklearn import metrics  # takes a second to load

    if task == "regression":
        measured = of_numbers(predictions, truth)
        # Of labels that are all the same it is 1 or 0.
        return measured | ({"r2": metrics.r2_score(truth, predictions)} if len(truth) > 1 else {})
    average = "macro" if n_classes > 2 else "binary"
    with warnings.catch_warnings():  # of a class that is predicted and has no test row
        warnings.simplefilter("ignore", UserWarning)
        found = {
            "accuracy": metrics.accuracy_score(truth, predictions),
            "balanced_accuracy": metrics.balanced_accuracy_score(truth, predictions),
            "f1": metrics.f1_score(truth, predictions, average=average, zero_division=0.0),
        }
    if scores is not None:
        classes = np.arange(max(2, n_classes))
        if len(np.unique(truth)) == len(classes):
            each = truth[:, None] == classes if n_classes > 2 else truth
            known = scores if scores.ndim == 1 or n_classes > 2 else scores[:, 1]
            found["roc_auc"] = metrics.roc_auc_score(each, known)
        sums = scores.sum(axis=1, keepdims=True) if scores.ndim > 1 else np.zeros(1)
        if (scores >= 0).all() and np.allclose(sums, 1, atol=1e-4):
            found["log_loss"] = metrics.log_loss(truth, scores / sums, labels=classes)
    return _defined(found)


def loss_of(metrics: Mapping[str, float]) -> float | None:
    """Return the loss that skill compares: squared error or error rate; None without either."""
    return metrics["rmse"] ** 2 if "rmse" in metrics else metrics.get("error")


def skill_over(baselines: Iterable[float], loss: float) -> float:
    """Return the share of the best baseline's loss that is avoided: 1 at best, 0 where none is.

    NaN without a baseline, or over one that loses nothing.

    Examples
    --------
    >>> skill_over([4.0, 2.0], 0.5)
    0.75
    """
    best = min(baselines, default=0.0)
    return 1.0 - loss / best if best else math.nan


def baseline_name(name: str, notes: Mapping[str, float]) -> str:
    """Return what a baseline is called, which says so where its ridge is on selected features.

    Parameters
    ----------
    name : str
    notes : dict
        See `leaseboard.algorithms.reference.ridge.Predictor.notes`; the metrics of a job
        hold them.

    Examples
    --------
    >>> baseline_name("online-ridge", {"selected_features": 64.0})
    'online-ridge on selected features'
    """
    return f"{name} on selected features" if "selected_features" in notes else name


def _beyond(right: float, by_reference: float) -> float:
    """Return the share of a reference's errors that is avoided; NaN where it has none."""
    return (right - by_reference) / (1.0 - by_reference) if by_reference < 1.0 else math.nan


def _defined(found: Mapping[str, float]) -> Measures:
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}
