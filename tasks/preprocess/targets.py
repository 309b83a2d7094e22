"""Targets in the precision that learners compute with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from algorithms.errors import DataError

LOST = 1e-3
"""How much of its standard deviation a target may lose: a millionth of the loss of its mean."""


def in_float32(target: NDArray[np.float64]) -> NDArray[np.float32]:
    """`target` as float32.

    Raises
    ------
    DataError
        If float32 cannot tell its values apart, as of a timestamp: the score would be of another
        target than the one that was given.

    Examples
    --------
    >>> in_float32(np.array([0.1, 2.0])).tolist()
    [0.10000000149011612, 2.0]
    """
    narrow = target.astype(np.float32)
    spread = float(target.std())
    lost = float(np.abs(narrow - target).max())
    if spread > 0 and not lost <= LOST * spread:
        raise DataError(
            f"the target's values lie around {float(np.median(target)):.9g} with a standard"
            f" deviation of {spread:.3g}: float32 cannot tell them apart, subtract a constant"
        )
    return narrow
