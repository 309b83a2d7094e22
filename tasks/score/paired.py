"""New scores beside old ones of the same seeds: what the gate and `compare` both judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tasks.jobs.suites.promise import ROUNDING
from tasks.score.bootstrap import Interval, paired_mean
from tasks.score.table import Floats


@dataclass(frozen=True, slots=True)
class Paired:
    """What became of the scores."""

    old: float
    new: float
    scale: float
    """The size of the old mean, 1 if that is 0."""
    gain: Interval
    """Mean improvement over `scale`; positive is better, whatever the direction of the score."""
    same: bool
    """No pair differs by more than rounding."""
    n: int


def paired(old: Floats, new: Floats, direction: str) -> Paired:
    """Compare scores pair by pair.

    Examples
    --------
    >>> found = paired(np.array([2.0, 2.0]), np.array([1.5, 1.5]), "min")
    >>> found.gain.value, found.gain.excludes_zero, found.same
    (0.25, True, False)
    """
    scale = abs(float(old.mean())) or 1.0
    gains = (new - old if direction == "max" else old - new) / scale
    same = bool(np.abs(gains).max() <= ROUNDING)
    return Paired(float(old.mean()), float(new.mean()), scale, paired_mean(gains), same, len(old))


def paired_ratio(old: Floats, new: Floats) -> Interval:
    """How many times `old` `new` is: the geometric mean over pairs of positive numbers."""
    logs = paired_mean(np.log(new / old))
    return Interval(*(float(np.exp(end)) for end in (logs.value, logs.lower, logs.upper)))
