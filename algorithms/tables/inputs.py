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
    number_of,
)

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
    return np.array([regression_label(label) for label in _singles(given)], dtype=np.float32)


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
    return np.array([importance_of(one) for one in _singles(found)], dtype=np.float32)


def _singles(given: NDArray[Any]) -> list[Any]:
    """Return an array's values as Python's own, except times, which would become integers."""
    return list(given) if given.dtype.kind in "mM" else given.tolist()


def unique_names(names: Iterable[Any]) -> list[str]:
    """Return the names of columns as texts; ValueError if two are the same."""
    found: dict[str, None] = {}
    for name in map(str, names):
        if name in found:
            raise ValueError(f"column {name!r} comes twice: give each a name of its own")
        found[name] = None
    return list(found)
