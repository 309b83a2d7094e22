"""Targets in the precision that learners compute with."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.errors import DataError

LOST = 1e-3
"""How much of its standard deviation a target may lose: a millionth of the loss of its mean."""


FLOAT32 = np.finfo(np.float32)


def in_float32(target: NDArray[np.float64]) -> NDArray[np.float32]:
    """`target` as float32.

    Raises DataError if there is none; if a value is beyond the range of float32; or if float32
    cannot tell its values apart, as of a timestamp: the score would be of another target than was
    given.

    Examples
    --------
    >>> in_float32(np.array([0.1, 2.0])).tolist()
    [0.10000000149011612, 2.0]
    """
    if not len(target):
        raise DataError("the target has 0 values: give at least one row")
    with np.errstate(over="ignore", under="ignore"):
        narrow = target.astype(np.float32)
    beyond = np.isinf(narrow)
    if beyond.any():
        raise DataError(
            f"the target has the value {float(target[beyond][0]):.9g}, beyond the range of"
            f" float32, {float(FLOAT32.max):.3g} either way: rescale it"
        )
    lost, spread = float(np.abs(narrow - target).max()), float(target.std())
    # The deviation of equal values need not be 0: their mean is rounded.
    if target.min() < target.max() and not lost <= LOST * spread:
        mend = "subtract a constant" if spread >= FLOAT32.tiny else "rescale it"
        raise DataError(
            f"the target's values lie around {float(np.median(target)):.9g} with a standard"
            f" deviation of {spread:.3g}: float32 cannot tell them apart, {mend}"
        )
    return narrow
