"""The range and the scale of labels, which no single label can move far."""

from __future__ import annotations

import math

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

COUNT, LEAST, SECOND_LEAST, SECOND_MOST, MOST, LOW, HIGH, MEAN, SQUARES = range(9)
"""The fields of a scale: how many labels, the two least and the two largest, the range that labels
are clipped to, and of the clipped ones the mean and the sum of squared deviations."""

BELOW, BELOW_AT, ABOVE, ABOVE_AT, KNOWN, WEIGHT = range(9, 15)
"""Its last fields: the label that was last beyond the range on each side, and which one it was;
whether the range was known beforehand, as that of classes is; and the sum of importances."""

NEAR = 5
"""Two labels beyond the range on one side confirm each other if they are no further apart."""


SETTLED = 4
"""Labels from which on one that is strange can be told from the others."""

_LARGEST = float(np.finfo(np.float32).max)

MARGIN = 3.0
"""Widths by which the range is extended on both sides."""


def new_scale(low: float = 0.0, high: float = 0.0) -> Doubles:
    """The scale of no labels; if `low` and `high` differ they are the range, once and for all."""
    scale = np.zeros(WEIGHT + 1)
    scale[LOW], scale[HIGH], scale[KNOWN] = low, high, low < high
    return scale


@njit(cache=True, nogil=True)
def clipped(label: float, scale: Doubles) -> float:
    """The label as learners are shown it: within the range, which is decided before it comes.

    The first three labels are shown as they are: nobody can say yet which one is strange.
    """
    if scale[COUNT] < SETTLED - 1 and not scale[KNOWN]:
        return label
    return float(min(max(label, scale[LOW]), scale[HIGH]))


@njit(cache=True, nogil=True)
def deviation(scale: Doubles) -> float:
    """The standard deviation of the clipped labels; 0 before two labels differ."""
    return math.sqrt(scale[SQUARES] / scale[WEIGHT]) if scale[WEIGHT] > 0.0 else 0.0


@njit(cache=True, nogil=True)
def admit(label: float, scale: Doubles, importance: float = 1.0) -> None:
    """Take a label into the scale; how important it is matters for mean and deviation.

    The range is that of the second least to the second largest label, extended by `MARGIN` widths
    on both sides; from the fourth label on it never shrinks. A label beyond it counts for it only
    if another one was there no longer than `NEAR` labels ago: one alone, however large, and others
    like it that are far apart, do not extend it; a new level or a trend does.

    Examples
    --------
    >>> scale = new_scale()
    >>> for label in (1.0, 2.0, 3.0, 1e6, 4.0):
    ...     admit(label, scale)
    >>> scale[[LOW, HIGH]].tolist()
    [-4.0, 10.0]
    """
    shown = clipped(label, scale)
    scale[COUNT] += 1.0
    count = scale[COUNT]
    if not scale[KNOWN]:
        _extend(label, scale, count)
    scale[WEIGHT] += importance
    difference = importance * (shown - scale[MEAN])
    scale[MEAN] += difference / scale[WEIGHT]
    scale[SQUARES] += difference * (shown - scale[MEAN])
    if count == SETTLED and not scale[KNOWN]:
        _begin(scale)


@njit(cache=True, nogil=True)
def _extend(label: float, scale: Doubles, count: float) -> None:
    """Take the label into the range."""
    if count <= SETTLED:
        _order(label, scale, count)
    elif label < scale[LOW]:
        if count - scale[BELOW_AT] <= NEAR and scale[BELOW_AT] > 0.0:
            _order(scale[BELOW], scale, count)
            _order(label, scale, count)
        scale[BELOW], scale[BELOW_AT] = label, count
    elif label > scale[HIGH]:
        if count - scale[ABOVE_AT] <= NEAR and scale[ABOVE_AT] > 0.0:
            _order(scale[ABOVE], scale, count)
            _order(label, scale, count)
        scale[ABOVE], scale[ABOVE_AT] = label, count
    else:
        _order(label, scale, count)
    few = count < SETTLED
    low = scale[LEAST] if few else min(scale[SECOND_LEAST], scale[SECOND_MOST])
    high = scale[MOST] if few else max(scale[SECOND_LEAST], scale[SECOND_MOST])
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    if count > SETTLED:
        low, high = min(low, scale[LOW]), max(high, scale[HIGH])
    scale[LOW], scale[HIGH] = max(low, -_LARGEST), min(high, _LARGEST)


@njit(cache=True, nogil=True)
def _begin(scale: Doubles) -> None:
    """Take the moments of the first four labels again, by the range that they give."""
    total = squares = 0.0
    for place in (LEAST, SECOND_LEAST, SECOND_MOST, MOST):
        total += min(max(scale[place], scale[LOW]), scale[HIGH])
    scale[MEAN] = total / SETTLED
    for place in (LEAST, SECOND_LEAST, SECOND_MOST, MOST):
        shown = min(max(scale[place], scale[LOW]), scale[HIGH])
        squares += (shown - scale[MEAN]) ** 2
    scale[SQUARES] = squares * (scale[WEIGHT] / SETTLED)


@njit(cache=True, nogil=True)
def _order(label: float, scale: Doubles, count: float) -> None:
    """Keep the two least and the two largest labels; of fewer than two, one counts twice."""
    if count == 1.0:
        for place in range(LEAST, MOST + 1):
            scale[place] = label
        return
    if count == 2.0:
        low, high = min(label, scale[LEAST]), max(label, scale[LEAST])
        scale[LEAST], scale[SECOND_LEAST] = low, high
        scale[SECOND_MOST], scale[MOST] = low, high
        return
    if label < scale[LEAST]:
        scale[SECOND_LEAST], scale[LEAST] = scale[LEAST], label
    elif label < scale[SECOND_LEAST]:
        scale[SECOND_LEAST] = label
    if label > scale[MOST]:
        scale[SECOND_MOST], scale[MOST] = scale[MOST], label
    elif label > scale[SECOND_MOST]:
        scale[SECOND_MOST] = label
