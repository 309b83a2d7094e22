"""Arrays between benches and algorithms: shown read-only, taken as predictions, and scored."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.errors import DivergedError

Array = TypeVar("Array")


def sealed(array: Array) -> Array:
    """The same numbers, read-only; the owner of `array` can go on writing to it.

    Parameters
    ----------
    array : ndarray or csr_array

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.zeros(3)
    >>> sealed(labels)[0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    given: Any = array
    if hasattr(given, "indptr"):
        parts = tuple(sealed(part) for part in (given.data, given.indices, given.indptr))
        rows: Array = type(given)(parts, shape=given.shape, copy=False)
        return rows
    view = given.view()
    view.flags.writeable = False
    seen: Array = view
    return seen


def uniform(array: Array) -> Array:
    """The same numbers in C order and read-only, whoever owns them.

    A compiled kernel is made anew, in seconds, for every kind of array that it is given.

    Parameters
    ----------
    array : ndarray

    Examples
    --------
    >>> import numpy as np
    >>> column = uniform(np.eye(2)[:, 0])
    >>> column.flags.c_contiguous, column.flags.writeable
    (True, False)
    """
    return sealed(np.ascontiguousarray(array))  # type: ignore[return-value]


Doubles = NDArray[np.float64]

_NUMBERS = "biuf"
"""NumPy's kinds of real numbers: booleans, integers, floats."""

_ROUNDING = 1e-4
"""By how much chances of single precision may sum to more than 1."""


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
    _require_numbers(given)
    if n is not None and len(given) != n:
        raise ValueError(f"{len(given)} predictions of {n} examples: give one for each")
    if given.dtype != np.float32:
        with np.errstate(over="ignore"):  # becomes infinite, which is told below
            given = given.astype(np.float32)
    _require_finite(given, given, at)
    return given


def taken_margins(
    predictions: ArrayLike, n_classes: int, n: int | None = None, *, at: int = 0
) -> NDArray[np.float32]:
    """The predictions of three and more classes on a hold-out: the largest number says which.

    Parameters
    ----------
    predictions : array-like of real numbers, shape (n, n_classes)
    n_classes, n, at : int
        See `taken` for the last two and for what is raised.

    Examples
    --------
    >>> taken_margins([[-1, 0.5, -0.25]], 3)
    array([[-1.  ,  0.5 , -0.25]], dtype=float32)
    >>> taken_margins([0.5, 2], 3)
    Traceback (most recent call last):
    ValueError: predictions of shape (2,): give a number for each of 3 classes, shape (n, 3)
    """
    given = np.asarray(predictions)
    if given.ndim != 2 or given.shape[1] != n_classes:
        raise ValueError(
            f"predictions of shape {given.shape}: give a number for each of {n_classes} classes,"
            f" shape (n, {n_classes})"
        )
    if n is not None and len(given) != n:
        raise ValueError(f"{len(given)} predictions of {n} examples: give one for each")
    each = [taken(given[:, k], at=at) for k in range(n_classes)]
    return np.column_stack(each)


def largest(margins: NDArray[np.float32]) -> NDArray[np.float32]:
    """The number of the class with the largest margin, of several the first.

    Examples
    --------
    >>> largest(np.float32([[-1, 0.5, 0.5], [0, -1, -1]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(margins.argmax(axis=1), dtype=np.float32)


def taken_chances(predictions: ArrayLike, n_classes: int, *, at: int = 0) -> Doubles:
    """The predictions of three and more classes: a chance for each example and class.

    Parameters
    ----------
    predictions : array-like of real numbers, shape (n, m)
        Each from 0 to 1, those of an example together 1, or less where something may come that
        nobody has seen. m is at most `n_classes`: of further classes the chance is 0.
    n_classes, at : int
        See `taken` for the second.

    Raises
    ------
    ValueError
        If they are of another form, or no chances.
    DivergedError
        If one is not finite.

    Examples
    --------
    >>> taken_chances([[0.5, 0.25], [0, 1]], 3)
    array([[0.5 , 0.25],
           [0.  , 1.  ]])
    >>> taken_chances([0.5, 2], 3)
    Traceback (most recent call last):
    ValueError: predictions of shape (2,): give a chance for each of 3 classes, shape (n, 3)
    """
    given = np.asarray(predictions)
    if given.ndim != 2 or given.shape[1] > n_classes:
        raise ValueError(
            f"predictions of shape {given.shape}: give a chance for each of {n_classes} classes,"
            f" shape (n, {n_classes})"
        )
    _require_numbers(given)
    chances = np.asarray(given, dtype=np.float64)
    sums = chances.sum(axis=1)
    _require_finite(sums, chances, at)
    wrong = (chances < 0).any(axis=1) | (sums > 1 + _ROUNDING)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"the chances of example {at + first} sum to {sums[first]:g}, the least is"
            f" {chances[first].min():g}: give numbers from 0 to 1 that sum to at most 1"
        )
    return chances


def likeliest(chances: Doubles) -> NDArray[np.float32]:
    """The number of the likeliest class, of several the first; -1 where none has a chance.

    Examples
    --------
    >>> likeliest(np.array([[0.25, 0.5, 0.25], [0.0, 0.0, 0.0]])).tolist()
    [1.0, -1.0]
    """
    if not chances.shape[1]:
        return np.full(len(chances), -1, dtype=np.float32)
    found = np.where(chances.max(axis=1) > 0, chances.argmax(axis=1), -1)
    return found.astype(np.float32)


def _require_numbers(given: NDArray[np.generic]) -> None:
    if given.dtype.kind not in _NUMBERS:
        raise ValueError(
            f"predictions of dtype {given.dtype}: give real numbers, such as float32, or booleans"
        )


def _require_finite(numbers: NDArray[np.floating], given: NDArray[np.generic], at: int) -> None:
    """DivergedError with what was `given` for the first example whose number is not finite."""
    finite = np.isfinite(numbers)
    if np.count_nonzero(finite) != len(numbers):
        first = int(np.argmin(finite))
        raise DivergedError(
            f"the prediction of example {at + first} is {given[first]}: a model has diverged whose"
            " predictions are not finite numbers, lower its learning rate or scale its data"
        )


def squared_losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32]
) -> NDArray[np.float64]:
    """:math:`(p - y)^2`, which learners of a regression and of `holdout` minimise."""
    return np.asarray((predictions.astype(np.float64) - labels) ** 2, dtype=np.float64)


def losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32], task: str
) -> NDArray[np.float64]:
    """What a bench scores: the squared losses of a regression, else 1 for each wrong sign.

    For ``classes``, which are numbers, 1 for each other number.

    Examples
    --------
    >>> losses(np.float32([2, -1]), np.float32([1, 1]), "classification")
    array([0., 1.])
    >>> losses(np.float32([2, -1]), np.float32([2, 1]), "classes")
    array([0., 1.])
    """
    if task == "regression":
        return squared_losses(predictions, labels)
    if task == "classes":
        return np.asarray(predictions != labels, dtype=np.float64)
    return np.asarray((predictions > 0) != (labels > 0), dtype=np.float64)
