"""The axis of a picture: the range it shows, its scale and its ticks."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence

from tasks.score.bootstrap import Interval

FEWEST = 5
"""Of fewer estimates none can be told from the rest as an outlier."""
FAR = 10.0
"""In median absolute deviations from the median: beyond lie outliers."""
FLATTENED = 4.0
"""An outlier is shown unless it makes the range this many times as wide."""
COMMON = 2.0
"""A range that is never cut on the common scale, on which two anchors lie 1 apart."""


def frame(found: Sequence[Interval], never_cut: float = 0.0) -> tuple[float, float]:
    """The range of an axis: all of it, unless an outlier would flatten all others.

    - `found`: estimates, which are finite, with their intervals, which need not be.
    - `never_cut`: a range up to this width is shown whole.
    """
    values = [one.value for one in found]
    whole = _hull(found)
    middle = statistics.median(values)
    deviation = statistics.median(abs(value - middle) for value in values)
    if len(values) < FEWEST or deviation == 0:
        return whole
    reach = FAR * deviation
    low, high = _hull([one for one in found if abs(one.value - middle) <= reach])
    # An estimate that is near may still have an end that is far; no estimate shown is cut off.
    near = max(low, middle - reach), min(high, middle + reach)
    wide = max(FLATTENED * (near[1] - near[0]), never_cut)
    return whole if whole[1] - whole[0] <= wide else near


def _hull(found: Sequence[Interval]) -> tuple[float, float]:
    ends = [e for one in found for e in (one.value, one.lower, one.upper) if math.isfinite(e)]
    return min(ends), max(ends)


class Scale:
    """A linear scale with a little room at both ends."""

    def __init__(self, low: float, high: float, start: float, stop: float) -> None:
        if high - low <= 1e-12 * max(abs(low), abs(high), 1e-300):
            pad = abs(low) * 0.05 or 1.0
            low, high = low - pad, high + pad
        self.low, self.high, self.start, self.stop = low, high, start, stop

    def __call__(self, value: float) -> float:
        """Where `value` lies in the picture."""
        share = (value - self.low) / (self.high - self.low)
        return self.start + share * (self.stop - self.start)

    def ticks(self, about: int) -> list[float]:
        """Round numbers between the ends."""
        raw = (self.high - self.low) / about
        power = 10.0 ** math.floor(math.log10(raw))
        step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [i * step for i in range(first, last + 1)]
