"""Whether a series has changed for good: cumulative sums of its standardised days.

Page's two cumulative sums (Biometrika, 1954) of ``z - K`` and ``-z - K``, where z is a day's
distance from the median of the days before in robust deviations, cut at `CAP`, so that one wild
day is no drift. The limit H comes from Siegmund's approximation (Sequential Analysis, 1985) of the
days between two false signals where days are independent and normal::

    (exp(b) - b - 1) / (2 K²) = QUIET_DAYS · series · sides,   b = 2 K (H + 1.166)

After a signal the days before the change are forgotten, so that a stream that moves for months
signals every few weeks, and a stream that moved once once.

River's detectors (ADWIN, Page-Hinkley, KSWIN) take single losses as independent, which losses of
one day are not, and ADWIN's state, compiled, cannot be written as JSON. ``python -m
benchmarks.watch`` sets them beside this.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from leaseboard.tasks.keep.watch.novelty import LEAST

K = 0.5
"""Half the change, in deviations, that is looked for."""

CAP = 3.0
QUIET_DAYS = 365
"""Between two false signals, on all series together, if days were independent."""


@dataclass
class DriftSums:
    """What is remembered of a series.

    Attributes
    ----------
    up, down : float
        The two sums.
    up_days, down_days : int
        For how many days they have been above 0.
    known : int
        Days since the last change.
    """

    up: float = 0.0
    down: float = 0.0
    up_days: int = 0
    down_days: int = 0
    known: int = 0


def limit(series: int, sides: int) -> float:
    """The sum that is a signal.

    Examples
    --------
    >>> round(limit(1, 1), 1), round(limit(40, 2), 1)
    (4.1, 8.4)
    """
    wanted = 2 * K**2 * QUIET_DAYS * series * sides
    b = math.log(wanted)
    for _ in range(20):  # of b = log(wanted + b + 1), which contracts
        b = math.log(wanted + b + 1)
    return b / (2 * K) - 1.166


def days_of_drift(
    sums: DriftSums,
    before: Sequence[float],
    today: float,
    floor: float,
    most: float,
    *,
    both: bool,
) -> int:
    """Add a day to `sums`; for how many days it has drifted, 0 if it has not.

    `before` are the days before, `floor` is the least deviation of the series, `most` is the limit
    of a sum, and `both` whether a fall counts as well as a rise.
    """
    known = np.array(before)[len(before) - min(sums.known, len(before)) :]
    known = known[~np.isnan(known)]
    sums.known += 1
    if len(known) < LEAST or math.isnan(today):
        return 0
    middle = float(np.median(known))
    spread = max(1.4826 * float(np.median(np.abs(known - middle))), floor)
    if spread <= 0:
        return 0
    z = max(-CAP, min(CAP, (today - middle) / spread))
    sums.up = max(0.0, sums.up + z - K)
    sums.down = max(0.0, sums.down - z - K) if both else 0.0
    sums.up_days = sums.up_days + 1 if sums.up else 0
    sums.down_days = sums.down_days + 1 if sums.down else 0
    if max(sums.up, sums.down) <= most:
        return 0
    days = sums.up_days if sums.up > sums.down else sums.down_days
    sums.up = sums.down = 0.0
    sums.up_days = sums.down_days = 0
    sums.known = days
    return days
