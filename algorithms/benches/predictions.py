"""What a bench takes as predictions, one finite real number for each example, and their losses."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from algorithms.errors import DivergedError

_NUMBERS = "biuf"
"""NumPy's kinds of real numbers: booleans, integers, floats."""


def taken(predictions: ArrayLike, n: int | None = None, *, at: int = 0) -> NDArray[np.float32]:
    """The predictions in the precision of the labels they are compared with.

    Whatever has another form would be broadcast, cut or counted as a class, and scored silently.

    Parameters
    ----------
    predictions : array-like of real numbers or booleans, shape (n,)
    n : int, optional
        How many there have to be.
    at : int
        The number of the first example, for messages.

    Raises
    ------
    ValueError
        If they are of another form.
    DivergedError
        If one is no finite float32, whatever the task: an infinite margin has a sign, but a model
        that tells one has left the numbers it can learn with.

    Examples
    --------
    >>> taken([0.5, 2], 2)
    array([0.5, 2. ], dtype=float32)
    >>> taken(np.zeros((2, 1)))
    Traceback (most recent call last):
    ValueError: predictions of shape (2, 1): give one number for each example, shape (n,)
    """
    given = np.asarray(predictions)
    if given.ndim != 1:
        raise ValueError(
            f"predictions of shape {given.shape}: give one number for each example, shape (n,)"
        )
    if given.dtype.kind not in _NUMBERS:
        raise ValueError(
            f"predictions of dtype {given.dtype}: give real numbers, such as float32, or booleans"
        )
    if n is not None and len(given) != n:
        raise ValueError(f"{len(given)} predictions of {n} examples: give one for each")
    if given.dtype != np.float32:
        with np.errstate(over="ignore"):  # becomes infinite, which is told below
            given = given.astype(np.float32)
    finite = np.isfinite(given)
    if np.count_nonzero(finite) != len(given):
        first = int(np.argmin(finite))
        raise DivergedError(
            f"the prediction of example {at + first} is {given[first]}: a model has diverged whose"
            " predictions are not finite numbers, lower its learning rate or scale its data"
        )
    return given


def squared_losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32]
) -> NDArray[np.float64]:
    """:math:`(p - y)^2`, which learners of a regression and of `holdout` minimise."""
    return np.asarray((predictions.astype(np.float64) - labels) ** 2, dtype=np.float64)


def losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32], task: str
) -> NDArray[np.float64]:
    """What a bench scores: the squared losses of a regression, else 1 for each wrong sign.

    Examples
    --------
    >>> losses(np.float32([2, -1]), np.float32([1, 1]), "classification")
    array([0., 1.])
    """
    if task == "regression":
        return squared_losses(predictions, labels)
    return np.asarray((predictions > 0) != (labels > 0), dtype=np.float64)
