"""Labels, importances and blocks of users, checked before anything is learned."""

from collections.abc import Iterable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.values import (
    LARGEST,
    NO_NUMBERS,
    is_missing,
    number_of,
    seconds_of,
    standard_value,
)

NOT_READ = (*NO_NUMBERS, str, bytes)
"""Types that a block of numbers does not hold, though NumPy would read numbers in them."""


MOST = 1e9
"""An importance at most: sums of far larger ones leave nothing of an example of importance 1."""


def regression_label(y: Any) -> float:
    """Return a regressor's label as a number; TypeError or ValueError for anything else."""
    if isinstance(y, float) and -LARGEST <= y <= LARGEST:  # of NumPy's too
        return float(y)
    if isinstance(y, (bool, np.bool_, *NO_NUMBERS)) or not isinstance(y, Real):
        raise TypeError(f"label {y!r} is a {type(y).__name__}: a regressor learns numbers")
    if not abs(number_of(y)) <= LARGEST:
        raise ValueError(f"label {y!r} must be finite in 32 bits: leave the example out")
    return float(y)


def importance_of(w: Any) -> float:
    """Return an importance as a number; ValueError if it is negative or above `MOST`.

    One that is 0 in single precision is 0, as in a block.
    """
    if type(w) is float and 1e-30 < w <= MOST:
        return w
    if isinstance(w, NO_NUMBERS) or not isinstance(w, Real) or not 0 <= number_of(w) <= MOST:
        raise ValueError(f"importance {w!r} must be a finite number >= 0, and at most {MOST:g}")
    return float(np.float32(w)) if w < 1 else float(w)


def labels_of(y: Any) -> NDArray[np.float32]:
    """Return a regressor's labels; TypeError or ValueError if one is not a finite number."""
    given = np.asarray(y)
    if given.ndim != 1:
        raise ValueError(f"labels of shape {given.shape} must be one number an example")
    if given.dtype.kind not in "fiu" or not (np.abs(given) <= LARGEST).all():
        return np.array([regression_label(label) for label in _singles(given)], dtype=np.float32)
    return given.astype(np.float32)


def codes_of(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place of each label among `classes`, by value: True, 1 and 1.0 are the same.

    Raises
    ------
    UsageError
        If a label is not among them; ``"1"`` is not 1.

    Examples
    --------
    >>> codes_of(np.array([True, False]), np.array([0, 1])).tolist()
    [1, 0]
    """
    places = {value: place for place, value in enumerate(classes.tolist())}
    values, rows = np.unique(y, return_inverse=True)
    unknown = [value for value in values.tolist() if value not in places]
    if unknown:
        raise UsageError(
            f"y holds {unknown[0]!r}, which is not among the classes {classes.tolist()}: name all"
            " of them, as values of one type, in the first call"
        )
    return np.array([places[value] for value in values.tolist()], dtype=np.intp)[rows]


def importances_of(w: Any, n: int) -> NDArray[np.float32]:
    """Return the importances of `n` examples, 1 by default; ValueError for an invalid one."""
    if w is None:
        return np.ones(n, dtype=np.float32)
    found = np.asarray(w)
    if found.shape != (n,):
        raise ValueError(f"importances of shape {found.shape} for {n} examples: give one each")
    if found.dtype.kind not in "fiu" or not ((found >= 0) & (found <= MOST)).all():
        return np.array([importance_of(one) for one in _singles(found)], dtype=np.float32)
    return found.astype(np.float32)


def _singles(given: NDArray[Any]) -> list[Any]:
    """Return an array's values as Python's own, except times, which would become integers."""
    return list(given) if given.dtype.kind in "mM" else given.tolist()


def numeric_block(X: Any) -> tuple[list[str], NDArray[np.float32]]:
    """Return the names of the columns of `X`, and its values, of which NaN is missing.

    Raises
    ------
    UsageError
        If it holds other things than numbers.
    ValueError
        If a value is infinite, two columns have one name, or it is not a table.
    """
    try:
        block = _numbers(X)
    except (TypeError, ValueError) as error:
        raise UsageError(
            "a block must hold numbers, in rows of equal length: make a DataFrame of texts and"
            " dates, or use learn_one"
        ) from error
    if block.shape == (0,):
        block = block.reshape(0, 0)
    if block.ndim != 2:
        raise ValueError(f"a block of shape {block.shape} must be (n_examples, n_features)")
    if np.isinf(block).any():
        row, column = np.argwhere(np.isinf(block))[0]
        raise ValueError(
            f"example {row} has a value in column {column} that is not finite in 32 bits: leave"
            " the example out"
        )
    return unique_names(getattr(X, "columns", range(block.shape[1]))), block


def _numbers(X: Any) -> NDArray[np.float32]:
    """Return a copy of `X` in 32 bits; TypeError or ValueError if it holds other things."""
    given = np.asarray(X)
    if given.dtype.kind == "m":
        given = seconds_of(given)
    if given.dtype.kind == "O":
        gaps = np.array([is_missing(value) for value in given.ravel()], dtype=bool)
        given = np.where(gaps.reshape(given.shape), np.nan, given)
    objects = given.ravel().tolist() if given.dtype.kind == "O" else ()
    objects = [standard_value(value) for value in objects]
    if given.dtype.kind not in "fiubO" or any(isinstance(v, NOT_READ) for v in objects):
        raise TypeError("not numbers")
    if objects:
        given = np.reshape([number_of(value) for value in objects], given.shape)
    with np.errstate(over="ignore"):
        return np.array(given, dtype=np.float32, order="C")


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return the names of columns as texts; ValueError if two are the same."""
    found: dict[str, None] = {}
    for name in map(str, names):
        if name in found:
            raise ValueError(f"column {name!r} comes twice: give each a name of its own")
        found[name] = None
    return list(found)
