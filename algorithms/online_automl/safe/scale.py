"""The range and the scale of labels, which no few labels can move far.

Learners see labels clipped to the range. From the tenth on, one beyond it is a *stray*, taken for
an error of the data, and learners see the label before it again: on an
autoregressive stream even the range is hundreds of residuals wide. A label that strange features
explain is not a stray but a rare event. Of three strays at once nothing is learned; from
the fourth on they may be a new level or rare events, which are shown or clipped.
"""

from __future__ import annotations

import math

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.kernel import Doubles

COUNT, LEAST, SECOND_LEAST, SECOND_MOST, MOST, LOW, HIGH, MEAN, SQUARES = range(9)
"""The fields of a scale: how many labels, the two least and the two largest, the range that labels
are clipped to, and of the clipped ones the mean and the sum of squared deviations."""

BELOW, BELOW_AT, ABOVE, ABOVE_AT, KNOWN, WEIGHT, SHOWN, STRAYS, EXTENDED_AT = range(9, 18)
"""Its last fields: the label that was last beyond the range on each side, and which one it was;
whether the range was known beforehand, as that of classes is; the sum of importances; the last
label as learners saw it; how many strays there were of late; and which label last extended the
range from beyond it."""

NEAR = 5
"""Two labels beyond the range on one side confirm each other if they are not further apart."""

STEADY = 10
"""Labels of a new range from which on those beyond it are strays."""

MOST_STRAYS = 3
"""So many of late may be errors."""

RECENT = 1000.0
"""Labels after which a stray counts 1/e."""

STABLE_FROM = 4
"""Labels from which on a strange one can be distinguished from the others."""

_LARGEST = float(np.finfo(np.float32).max)

MARGIN = 3.0
"""Widths by which the range is extended on both sides."""


def new_scale(low: float = 0.0, high: float = 0.0) -> Doubles:
    """Return the scale of no labels; if `low` and `high` differ, they are the fixed range."""
    scale = np.zeros(EXTENDED_AT + 1)
    scale[LOW], scale[HIGH], scale[KNOWN] = low, high, low < high
    return scale


@compiled
def clipped(label: float, scale: Doubles, explained: bool = False) -> float:
    """Return the label as learners see it: within the range, which is decided before it comes.

    The first three labels are shown raw: it is not known yet which one is strange. A stray is
    shown as the label before it was, and after `MOST_STRAYS` raw if another confirms it.
    """
    if scale[COUNT] < STABLE_FROM - 1 and not scale[KNOWN]:
        return label
    # A stray is replaced, unless there are more and another confirms it.
    found = strays(label, scale, explained)
    if 0.0 < found <= MOST_STRAYS:
        return float(scale[SHOWN])
    if found > MOST_STRAYS and is_confirmed(label, scale):
        return label
    return float(min(max(label, scale[LOW]), scale[HIGH]))


@compiled
def strays(label: float, scale: Doubles, explained: bool) -> float:
    """Return how many strays there are of late with this label; 0 if it is not one.

    If all labels were equal, none is.
    """
    steady = scale[COUNT] - scale[EXTENDED_AT] >= STEADY and scale[LOW] < scale[HIGH]
    if scale[LOW] <= label <= scale[HIGH] or explained or not steady or scale[KNOWN]:
        return 0.0
    return float(scale[STRAYS] + 1.0)


@compiled
def is_confirmed(label: float, scale: Doubles) -> bool:
    """Return whether another label was beyond the range on the same side shortly before."""
    last = scale[BELOW_AT] if label < scale[LOW] else scale[ABOVE_AT]
    return bool(last > 0.0 and scale[COUNT] + 1.0 - last <= NEAR)


@compiled
def deviation(scale: Doubles) -> float:
    """Return the standard deviation of the clipped labels; 0 before two labels differ."""
    return math.sqrt(scale[SQUARES] / scale[WEIGHT]) if scale[WEIGHT] > 0.0 else 0.0


@compiled
def admit(label: float, scale: Doubles, importance: float = 1.0, explained: bool = False) -> None:
    """Learn a label; its importance matters for mean and deviation.

    The range is that of the second least to the second largest label, extended by `MARGIN` widths
    on both sides; from the fourth label on it never shrinks. A label beyond it counts for it only
    if another one was there no longer than `NEAR` labels ago and it is not one of `MOST_STRAYS`
    strays: few, however large, and those that are far apart, do not extend it; a new level or a
    trend does.

    Examples
    --------
    >>> scale = new_scale()
    >>> for label in (1.0, 2.0, 3.0, 1e6, 4.0):
    ...     admit(label, scale)
    >>> scale[[LOW, HIGH]].tolist()
    [-4.0, 10.0]
    """
    # Decide what learners see of it, by what was known before.
    shown, found = clipped(label, scale, explained), strays(label, scale, explained)
    confirmed = is_confirmed(label, scale) and not 0.0 < found <= MOST_STRAYS
    scale[SHOWN] = shown
    scale[COUNT] += 1.0
    scale[STRAYS] = max(found, scale[STRAYS]) * (1.0 - 1.0 / RECENT)
    count = scale[COUNT]
    # Extend the range.
    if not scale[KNOWN]:
        _extend(label, scale, count, confirmed)
    # Take what learners see into mean and deviation.
    scale[WEIGHT] += importance
    difference = importance * (shown - scale[MEAN])
    scale[MEAN] += difference / scale[WEIGHT]
    scale[SQUARES] += difference * (shown - scale[MEAN])
    if count == STABLE_FROM and not scale[KNOWN]:
        _begin(scale)


@compiled
def _extend(label: float, scale: Doubles, count: float, confirmed: bool) -> None:
    """Take the label into the range."""
    # Keep the label among the extremes; beyond the range only if another confirms it.
    if count <= STABLE_FROM:
        _order(label, scale, count)
    elif label < scale[LOW] or label > scale[HIGH]:
        side = BELOW if label < scale[LOW] else ABOVE
        if confirmed:
            _order(scale[side], scale, count)
            _order(label, scale, count)
            scale[STRAYS], scale[EXTENDED_AT] = 0.0, count
        scale[side], scale[side + 1] = label, count
    else:
        _order(label, scale, count)
    # The range follows the second extremes, and never shrinks from the fourth label on.
    few = count < STABLE_FROM
    low = scale[LEAST] if few else min(scale[SECOND_LEAST], scale[SECOND_MOST])
    high = scale[MOST] if few else max(scale[SECOND_LEAST], scale[SECOND_MOST])
    low, high = low - MARGIN * (high - low), high + MARGIN * (high - low)
    if count > STABLE_FROM:
        low, high = min(low, scale[LOW]), max(high, scale[HIGH])
    scale[LOW], scale[HIGH] = max(low, -_LARGEST), min(high, _LARGEST)


@compiled
def _begin(scale: Doubles) -> None:
    """Take the moments of the first four labels again, by the range that they give."""
    total = squares = 0.0
    for place in (LEAST, SECOND_LEAST, SECOND_MOST, MOST):
        total += min(max(scale[place], scale[LOW]), scale[HIGH])
    scale[MEAN] = total / STABLE_FROM
    for place in (LEAST, SECOND_LEAST, SECOND_MOST, MOST):
        shown = min(max(scale[place], scale[LOW]), scale[HIGH])
        squares += (shown - scale[MEAN]) ** 2
    scale[SQUARES] = squares * (scale[WEIGHT] / STABLE_FROM)


@compiled
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
