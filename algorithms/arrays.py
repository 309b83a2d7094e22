"""Arrays: their types, shown read-only by environments, taken as predictions, and scored."""

from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from leaseboard.algorithms.errors import DivergedError

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]
Slots = NDArray[np.int64]


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
        return type(given)(parts, shape=given.shape, copy=False)
    view = given.view()
    view.flags.writeable = False
    return view


_ROUNDING = 1e-4
"""By how much probabilities of single precision may sum to more than 1."""


def taken(
    predictions: ArrayLike, n_classes: int = 0, *, at: int = 0, probabilities: bool = False
) -> NDArray[Any]:
    """Return predictions in the precision of the labels they are compared with.

    Predictions of another form would be broadcast, cut or counted as a class, and scored silently.

    Parameters
    ----------
    predictions : array-like of real numbers or booleans, shape (n,) or (n, n_classes)
    n_classes : int
        Of three and more classes a number for each is expected.
    at : int
        The number of the first example, for messages.
    probabilities : bool
        Whether the numbers of classes are probabilities, as float64: those of an example sum to 1,
        or less where an unseen class may come. Further classes may be left out: theirs is 0.

    Raises
    ------
    ValueError
        If they are of another form, or no probabilities.
    DivergedError
        If one is not finite, for any task: an infinite margin has a sign, but its model has left
        the numbers that it can learn with.

    Examples
    --------
    >>> taken([0.5, 2])
    array([0.5, 2. ], dtype=float32)
    >>> taken([[0.5, 0.25], [0, 1]], 3, probabilities=True)
    array([[0.5 , 0.25],
           [0.  , 1.  ]])
    """
    given = np.asarray(predictions)
    fits = given.ndim == (2 if n_classes else 1) and given.dtype.kind in "biuf"
    if fits and n_classes:
        n_columns = given.shape[1]
        fits = n_columns <= n_classes if probabilities else n_columns == n_classes
    if not fits:
        each = f"a {'probability' if probabilities else 'number'} for each of {n_classes} classes"
        wanted = f"{each}, shape (n, {n_classes})" if n_classes else "one of each example, (n,)"
        raise ValueError(
            f"predictions of {given.dtype} and shape {given.shape}: give real numbers, {wanted}"
        )
    wide = probabilities and n_classes
    with np.errstate(over="ignore"):  # an overflow is infinite, and reported below
        numbers: NDArray[Any] = given.astype(np.float64 if wide else np.float32, copy=False)
    sums = numbers.sum(axis=1, dtype=np.float64) if n_classes else numbers
    finite = np.isfinite(sums)
    if not finite.all():
        first = int(np.argmin(finite))
        raise DivergedError(
            f"the prediction of example {at + first} is {numbers[first]}: a model whose"
            " predictions are not finite numbers has diverged, lower its learning rate or scale"
            " its data"
        )
    wrong = (numbers < 0).any(axis=1) | (sums > 1 + _ROUNDING) if wide else ~finite
    if wrong.any():
        first = int(np.argmax(wrong))
        raise ValueError(
            f"the probabilities of example {at + first} sum to {sums[first]:g}, the least is"
            f" {numbers[first].min():g}: give numbers from 0 to 1 that sum to at most 1"
        )
    return numbers


def likeliest(probabilities: NDArray[np.float64]) -> NDArray[np.float32]:
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


def losses(
    predictions: NDArray[np.float32], labels: NDArray[np.float32], task: str = "regression"
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
        return np.asarray((predictions.astype(np.float64) - labels) ** 2, dtype=np.float64)
    wrong = predictions != labels if task == "classes" else (predictions > 0) != (labels > 0)
    return np.asarray(wrong, dtype=np.float64)
