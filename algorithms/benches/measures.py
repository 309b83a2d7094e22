"""What people measure forecasts by: in the target's own unit, or for classes beyond chance.

A measure that is not defined is left out: R² of labels that are all the same, or a root mean
squared error beyond what a number can be.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Measures = dict[str, float]

Measure = Literal["rmse", "mae", "r2", "error", "log_loss", "kappa", "kappa_temporal", "skill"]

DIRECTIONS: dict[str, str] = {
    "rmse": "min",
    "mae": "min",
    "r2": "max",
    "error": "min",
    "log_loss": "min",
    "kappa": "max",
    "kappa_temporal": "max",
    "skill": "max",
}
"""Each measure, and whether less or more of it is better."""

SKILL = "skill"

OF_TASK: dict[str, tuple[str, ...]] = {
    "regression": ("rmse", "mae", "r2", SKILL),
    "classification": ("error", "log_loss", "kappa", "kappa_temporal", SKILL),
}
"""What can be measured on a stream, by its task."""

_LEAST_PROBABILITY = 1e-15


def of_numbers(forecasts: ArrayLike, labels: ArrayLike) -> Measures:
    """Root mean squared and mean absolute error, and the share of the variance explained, R².

    Parameters
    ----------
    forecasts, labels : array-like, shape (n,)
        In the target's own unit; n is at least 1.

    Examples
    --------
    >>> of_numbers([1, 2, 3], [1, 2, 6])
    {'rmse': 1.7320508075688772, 'mae': 1.0, 'r2': 0.3571428571428571}
    """
    told = np.asarray(labels, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        errors = np.asarray(forecasts, dtype=np.float64) - told
        squares = (errors**2).sum()
        spread = ((told - told.mean()) ** 2).sum()
        found = {
            "rmse": np.sqrt(squares / len(told)),
            "mae": np.abs(errors).mean(),
            "r2": 1.0 - np.divide(squares, spread),
        }
    return _defined(found)


def of_classes(
    forecasts: NDArray[np.intp], labels: NDArray[np.intp], probabilities: ArrayLike
) -> Measures:
    """Error rate, log loss, and the two kappas: what is right beyond chance and beyond no change.

    Cohen's kappa [1]_ compares with forecasts drawn by the shares of the classes, the temporal
    one [2]_ with the label before, from the second example on.

    Parameters
    ----------
    forecasts, labels : ndarray of int, shape (n,)
        Codes of classes; -1 for a forecast of none. n is at least 1.
    probabilities : array-like, shape (n,)
        What was forecast for the class that came; NaN where it was not known before, which the
        log loss leaves out: none can give a chance to it.

    References
    ----------
    .. [1] Cohen. A coefficient of agreement for nominal scales. Educational and Psychological
           Measurement 20, 1960.
    .. [2] Zliobaite, Bifet, Read, Pfahringer, Holmes. Evaluation methods and decision theory for
           classification of streaming data with temporal dependence. Machine Learning 98, 2015.

    Examples
    --------
    >>> codes = np.array([0, 1, 1, 1])
    >>> found = of_classes(np.array([0, 1, 1, 0]), codes, [0.5] * 4)
    >>> {name: round(value, 3) for name, value in found.items()}
    {'error': 0.25, 'log_loss': 0.693, 'kappa': 0.5, 'kappa_temporal': 0.0}
    """
    right = forecasts == labels
    classes = np.unique(labels)
    chance = sum(float((forecasts == c).mean() * (labels == c).mean()) for c in classes)
    given = np.asarray(probabilities, dtype=np.float64)
    certain = np.clip(given[~np.isnan(given)], _LEAST_PROBABILITY, 1.0)
    found = {
        "error": (~right).mean(),
        "log_loss": 0.0 - np.log(certain).mean() if len(certain) else math.nan,
        "kappa": _beyond(right.mean(), chance),
    }
    if len(labels) > 1:
        unchanged = labels[1:] == labels[:-1]
        found["kappa_temporal"] = _beyond(right[1:].mean(), unchanged.mean())
    return _defined(found)


def of_margins(margins: NDArray[np.float32], labels: NDArray[np.float32]) -> Measures:
    """`of_classes` for two classes, -1 and 1, of which a margin above 0 forecasts the second.

    The probability of that one is the logistic function of the margin.
    """
    with np.errstate(over="ignore"):
        certain = 1.0 / (1.0 + np.exp(-margins.astype(np.float64) * labels))
    return of_classes((margins > 0).astype(np.intp), (labels > 0).astype(np.intp), certain)


def loss_of(metrics: Mapping[str, float]) -> float | None:
    """The loss by which skill is counted: the squared error or the error rate; None if neither."""
    return metrics["rmse"] ** 2 if "rmse" in metrics else metrics.get("error")


def skill_over(baselines: Iterable[float], loss: float) -> float:
    """The share of the best baseline's loss that is avoided: 1 at best, 0 where none is.

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
        See `leaseboard.algorithms.reference.forecaster.Forecaster.notes`; the metrics of a job
        hold them.

    Examples
    --------
    >>> baseline_name("online-ridge", {"selected_features": 64.0})
    'online-ridge on selected features'
    """
    return f"{name} on selected features" if "selected_features" in notes else name


def _beyond(right: float, by_reference: float) -> float:
    """The share of what a reference gets wrong that is right; NaN where it gets all right."""
    return (right - by_reference) / (1.0 - by_reference) if by_reference < 1.0 else math.nan


def _defined(found: Mapping[str, float]) -> Measures:
    return {name: float(value) for name, value in found.items() if math.isfinite(value)}
