"""The range and the scale of labels, which no few labels can move far.

Learners see labels clipped to the range. From the tenth on, one beyond it is a *stray*, taken for
an error of the data, and learners see the label before it again: on an
autoregressive stream even the range is hundreds of residuals wide. A label that strange features
explain is not a stray but a rare event. Of three strays at once nothing is learned; from
the fourth on they may be a new level or rare events, which are shown or clipped.
"""

import numpy as np

from libc.float cimport FLT_MAX
from libc.math cimport sqrt

cpdef enum:
    # Two labels beyond the range on one side confirm each other if they are not further apart.
    NEAR = 5
    # Labels of a new range from which on those beyond it are strays.
    STEADY = 10
    # So many of late may be errors.
    MOST_STRAYS = 3
    # Labels from which on a strange one can be distinguished from the others.
    STABLE_FROM = 4
    # Widths by which the range is extended on both sides.
    MARGIN = 3

cdef double _RECENT = 1000.0  # labels after which a stray counts 1/e


def new_scale(double low=0.0, double high=0.0):
    """Return the scale of no labels; if `low` and `high` differ, they are the fixed range."""
    scale = np.zeros(EXTENDED_AT + 1)
    scale[[LEAST, SECOND_LEAST]], scale[[SECOND_MOST, MOST]] = np.inf, -np.inf
    scale[LOW], scale[HIGH], scale[KNOWN] = low, high, low < high
    return scale


cpdef double deviation(const double[::1] scale) noexcept nogil:
    """Return the standard deviation of the clipped labels; 0 before two labels differ."""
    return sqrt(scale[SQUARES] / scale[WEIGHT]) if scale[WEIGHT] > 0.0 else 0.0


cpdef double clipped(
    double label, const double[::1] scale, bint explained=False
) noexcept nogil:
    """Return the label as learners see it: within the range, which is decided before it comes.

    The first three labels are shown raw: it is not known yet which one is strange. A stray is
    shown as the label before it was, and after `MOST_STRAYS` raw if another confirms it.
    """
    if scale[COUNT] < STABLE_FROM - 1 and not scale[KNOWN]:
        return label
    # A stray is replaced, unless there are more and another confirms it.
    found = _strays(label, scale, explained)
    if 0.0 < found <= MOST_STRAYS:
        return scale[SHOWN]
    if found > MOST_STRAYS and _is_confirmed(label, scale):
        return label
    return min(max(label, scale[LOW]), scale[HIGH])


cdef double _strays(double label, const double[::1] scale, bint explained) noexcept nogil:
    """Return how many strays there are of late with this label; 0 if it is not one.

    If all labels were equal, none is.
    """
    cdef bint steady = scale[COUNT] - scale[EXTENDED_AT] >= STEADY and scale[LOW] < scale[HIGH]
    if scale[LOW] <= label <= scale[HIGH] or explained or not steady or scale[KNOWN]:
        return 0.0
    return scale[STRAYS] + 1.0


cdef bint _is_confirmed(double label, const double[::1] scale) noexcept nogil:
    """Return whether another label was beyond the range on the same side shortly before."""
    last = scale[BELOW_AT] if label < scale[LOW] else scale[ABOVE_AT]
    return last > 0.0 and scale[COUNT] + 1.0 - last <= NEAR


cpdef void learn_label(
    double label, double[::1] scale, double importance=1.0, bint explained=False
) noexcept nogil:
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
    ...     learn_label(label, scale)
    >>> scale[[LOW, HIGH]].tolist()
    [-4.0, 10.0]
    """
    # Decide what learners see of it, by what was known before.
    shown, found = clipped(label, scale, explained), _strays(label, scale, explained)
    cdef bint confirmed = _is_confirmed(label, scale) and not 0.0 < found <= MOST_STRAYS
    scale[SHOWN] = shown
    scale[COUNT] += 1.0
    scale[STRAYS] = max(found, scale[STRAYS]) * (1.0 - 1.0 / _RECENT)
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


cdef void _extend(double label, double[::1] scale, double count, bint confirmed) noexcept nogil:
    """Take the label into the range."""
    # Keep the label among the extremes; beyond the range only if another confirms it.
    if count > STABLE_FROM and (label < scale[LOW] or label > scale[HIGH]):
        side = BELOW if label < scale[LOW] else ABOVE
        if confirmed:
            _order(scale[side], scale)
            _order(label, scale)
            scale[STRAYS], scale[EXTENDED_AT] = 0.0, count
        scale[side], scale[side + 1] = label, count
    else:
        _order(label, scale)
    # The range follows the second extremes, and never shrinks from the fourth label on.
    cdef bint few = count < STABLE_FROM
    low = scale[LEAST] if few else min(scale[SECOND_LEAST], scale[SECOND_MOST])
    high = scale[MOST] if few else max(scale[SECOND_LEAST], scale[SECOND_MOST])
    width = high - low
    low, high = low - MARGIN * width, high + MARGIN * width
    if count > STABLE_FROM:
        low, high = min(low, scale[LOW]), max(high, scale[HIGH])
    scale[LOW], scale[HIGH] = max(low, -FLT_MAX), min(high, FLT_MAX)


cdef void _begin(double[::1] scale) noexcept nogil:
    """Take the moments of the first four labels again, by the range that they give."""
    cdef double total = 0.0, squares = 0.0
    for place in range(LEAST, MOST + 1):
        total += min(max(scale[place], scale[LOW]), scale[HIGH])
    scale[MEAN] = total / STABLE_FROM
    for place in range(LEAST, MOST + 1):
        shown = min(max(scale[place], scale[LOW]), scale[HIGH])
        squares += (shown - scale[MEAN]) * (shown - scale[MEAN])
    scale[SQUARES] = squares * (scale[WEIGHT] / STABLE_FROM)


cdef void _order(double label, double[::1] scale) noexcept nogil:
    """Keep the two least and the two largest labels."""
    if label < scale[LEAST]:
        scale[SECOND_LEAST], scale[LEAST] = scale[LEAST], label
    elif label < scale[SECOND_LEAST]:
        scale[SECOND_LEAST] = label
    if label > scale[MOST]:
        scale[SECOND_MOST], scale[MOST] = scale[MOST], label
    elif label > scale[SECOND_MOST]:
        scale[SECOND_MOST] = label
