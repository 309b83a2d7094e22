"""Arrays of environments: shown read-only, taken as predictions, and scored."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.errors import DivergedError

Array = TypeVar("Array")


def read_only(array: Array) -> Array:
    """Return the same numbers, read-only; the owner of `array` can go on writing to it.

    Parameters
    ----------
    array : ndarray or csr_array

    Examples
    --------
    >>> import numpy as np
    >>> labels = np.zeros(3)
    >>> read_only(labels)[0] = 1
    Traceback (most recent call last):
    ValueError: assignment destination is read-only
    """
    given: Any = array
    if hasattr(given, "indptr"):
        parts = tuple(read_only(part) for part in (given.data, given.indices, given.indptr))
        rows: Array = type(given)(parts, shape=given.shape, copy=False)
        return rows
    view = given.view()
    view.flags.writeable = False
    seen: Array = view
    return seen


def uniform(array: Array) -> Array:
    """Return the same numbers in C order and read-only, as kernels take them.

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
    return read_only(np.ascontiguousarray(array))  # type: ignore[return-value]


Doubles = NDArray[np.float64]

_NUMBERS = "biuf"
"""NumPy's kinds of real numbers: booleans, integers, floats."""

_ROUNDING = 1e-4
"""By how much probabilities of single precision may sum to more than 1."""


def taken(
    predictions: ArrayLike, n: int | None = None, *, n_classes: int = 0, at: int = 0
) -> NDArray[np.float32]:
    """Return the predictions in the precision of the labels they are compared with.

    Predictions of another form would be broadcast, cut or counted as a class, and scored silently.

    Parameters
    ----------
    predictions : array-like of real numbers or booleans, shape (n,) or (n, n_classes)
    n : int, optional
        How many there have to be.
    n_classes : int
        Of three and more classes a number for each is expected; the largest says which.
    at : int
        The number of the first example, for messages.

    Raises
    ------
    ValueError
        If they are of another form.
    DivergedError
        If one is not a finite float32, for any task: an infinite margin has a sign, but its
        model has left the numbers that it can learn with.

    Examples
    --------
    >>> taken([0.5, 2], 2)
    array([0.5, 2. ], dtype=float32)
    >>> taken(np.zeros((2, 1)))
    Traceback (most recent call last):
    ValueError: predictions of shape (2, 1): give one number for each example, shape (n,)
    >>> taken([0.5, 2], n_classes=3)
    Traceback (most recent call last):
    ValueError: predictions of shape (2,): give a number for each of 3 classes, shape (n, 3)
    """
    given = np.asarray(predictions)
    if given.ndim != (2 if n_classes else 1) or (n_classes and given.shape[1] != n_classes):
        wanted = f"a number for each of {n_classes} classes, shape (n, {n_classes})"
        wanted = wanted if n_classes else "one number for each example, shape (n,)"
        raise ValueError(f"predictions of shape {given.shape}: give {wanted}")
    _require_numbers(given)
    if n is not None and len(given) != n:
        raise ValueError(f"{len(given)} predictions of {n} examples: give one for each")
    if given.dtype != np.float32:
        with np.errstate(over="ignore"):  # an overflow is infinite, and reported below
            given = given.astype(np.float32)
    _require_finite(given.sum(axis=1, dtype=np.float64) if n_classes else given, given, at)
    return given


def largest(margins: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return the number of the class with the largest margin, of several the first.

    Examples
    --------
    >>> largest(np.float32([[-1, 0.5, 0.5], [0, -1, -1]])).tolist()
    [1.0, 0.0]
    """
    return np.asarray(margins.argmax(axis=1), dtype=np.float32)


def taken_probabilities(predictions: ArrayLike, n_classes: int, *, at: int = 0) -> Doubles:
    """Return the predictions of three and more classes: a probability for each.

    Parameters
    ----------
    predictions : array-like of real numbers, shape (n, m)
        Each from 0 to 1, those of an example together 1, or less where an unseen class may come.
        m is at most `n_classes`: the probability of further classes is 0.
    n_classes, at : int
        See `taken` for the second.

    Raises
    ------
    ValueError
        If they are of another form, or no probabilities.
    DivergedError
        If one is not finite.

    Examples
    --------
    >>> taken_probabilities([[0.5, 0.25], [0, 1]], 3)
    array([[0.5 , 0.25],
           [0.  , 1.  ]])
    >>> taken_probabilities([0.5, 2], 3)
    Traceback (most recent call last):
    ValueError: predictions of shape (2,): give a probability for each of 3 classes, shape (n, 3)
    """
    given = np.asarray(predictions)
    if given.ndim != 2 or given.shape[1] > n_classes:
        raise ValueError(
            f"predictions of shape {given.shape}: give a probability for each of {n_classes}"
            f" classes, shape (n, {n_classes})"
        )
    _require_numbers(given)
    probabilities = np.asarray(given, dtype=np.float64)
    sums = probabilities.sum(axis=1)
    _require_finite(sums, probabilities, at)
    wrong = (probabilities < 0).any(axis=1) | (sums > 1 + _ROUNDING)
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"the probabilities of example {at + first} sum to {sums[first]:g}, the least is"
            f" {probabilities[first].min():g}: give numbers from 0 to 1 that sum to at most 1"
        )
    return probabilities


def likeliest(probabilities: Doubles) -> NDArray[np.float32]:
    """Return the number of the likeliest class, of several the first; -1 if all have 0.

    Examples
    --------
    >>> likeliest(np.array([[0.25, 0.5, 0.25], [0.0, 0.0, 0.0]])).tolist()
    [1.0, -1.0]
    """
    if not probabilities.shape[1]:
        return np.full(len(probabilities), -1, dtype=np.float32)
    found = np.where(probabilities.max(axis=1) > 0, probabilities.argmax(axis=1), -1)
    return found.astype(np.float32)


def _require_numbers(given: NDArray[np.generic]) -> None:
    if given.dtype.kind not in _NUMBERS:
        raise ValueError(
            f"predictions of dtype {given.dtype}: give real numbers, such as float32, or booleans"
        )


def _require_finite(numbers: NDArray[np.floating], given: NDArray[np.generic], at: int) -> None:
    """Raise DivergedError with what is `given` for the first example of no finite number."""
    finite = np.isfinite(numbers)
    if np.count_nonzero(finite) != len(numbers):
        first = int(np.argmin(finite))
        raise DivergedError(
            f"the prediction of example {at + first} is {given[first]}: a model whose predictions"
            " are not finite numbers has diverged, lower its learning rate or scale its data"
        )


def squared_losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32]
) -> NDArray[np.float64]:
    """Return :math:`(p - y)^2`, which learners of a regression and of `holdout` minimise."""
    return np.asarray((predictions.astype(np.float64) - labels) ** 2, dtype=np.float64)


def losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32], task: str
) -> NDArray[np.float64]:
    """Return the squared losses of a regression, else 1 for each wrong sign.

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
