"""What a bench shows, which can be read and not written."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np

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
