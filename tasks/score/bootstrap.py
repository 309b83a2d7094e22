"""Intervals of means; those by bootstrap are seeded: the same results give the same interval."""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.score.table import Floats, nanmean

N_RESAMPLES = 2000
LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its percentile interval; `lower` and `upper` are NaN if there is none."""

    value: float
    lower: float
    upper: float

    @property
    def excludes_zero(self) -> bool:
        """The whole interval lies on one side of zero."""
        return self.lower > 0 or self.upper < 0

    def times(self, factor: float) -> Interval:
        """The interval of as many times the estimate; a negative factor swaps the ends."""
        lower, upper = sorted((factor * self.lower, factor * self.upper))
        return Interval(factor * self.value + 0.0, lower + 0.0, upper + 0.0)  # no minus zero


def paired_mean(differences: Floats, level: float = LEVEL) -> Interval:
    """Return the mean of paired differences with Student's t interval over the pairs.

    A percentile bootstrap of two or three pairs misses far more often than its level says.

    - `differences`, shape (n_pairs,): a single pair has no spread: its interval has no ends.

    Examples
    --------
    >>> paired_mean(np.array([1.0, 1.0, 1.0]))
    Interval(value=1.0, lower=1.0, upper=1.0)
    >>> paired_mean(np.array([1.0, 2.0])).lower < 0
    True
    """
    n, mean = len(differences), float(differences.mean())
    if n == 1:
        return Interval(mean, np.nan, np.nan)
    from scipy.special import stdtrit

    half = float(stdtrit(n - 1, _tails(level)[1]) * differences.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half)


def resampled_means(values: Floats, n_resamples: int = N_RESAMPLES) -> Floats:
    """Means over data sets and repetitions of `n_resamples` two-level bootstrap samples.

    A sample draws data sets with replacement, then repetitions of each with replacement, and
    all algorithms share the draws: differences between rows are paired.

    `values`, shape (n_labels, n_problems, n_repetitions): NaN where a value is missing; each data
    set weighs the same.

    Returns
    -------
    ndarray, shape (n_resamples, n_labels)
        NaN where a sample holds no value of an algorithm, and all of an algorithm with a single
        value, which has no interval.
    """
    n_labels, n_problems, n_repetitions = values.shape
    present = [np.flatnonzero(np.isfinite(values[:, p]).any(axis=0)) for p in range(n_problems)]
    kept = np.array([p for p in range(n_problems) if present[p].size], dtype=np.int64)
    total = np.zeros((n_resamples, n_labels))
    n = np.zeros((n_resamples, n_labels))
    if kept.size:
        random = generator("two-level bootstrap", n_problems, n_repetitions)
        draws = _draw(random, kept, (n_resamples, kept.size))
        for slot, p in itertools.product(range(kept.size), kept):
            rows = np.flatnonzero(draws[:, slot] == p)
            repetitions = _draw(random, present[p], (rows.size, present[p].size))
            means = nanmean(values[:, p][:, repetitions], axis=2).T
            total[rows] += np.nan_to_num(means)
            n[rows] += np.isfinite(means)
    several = np.isfinite(values).sum(axis=(1, 2)) > 1
    return np.where((n > 0) & several, total / np.maximum(n, 1), np.nan)


def interval(value: float, samples: Floats, level: float = LEVEL) -> Interval:
    """The percentile interval of bootstrap `samples` around an estimate."""
    finite = samples[np.isfinite(samples)]
    if not np.isfinite(value) or not finite.size:
        return Interval(value, np.nan, np.nan)
    lower, upper = np.quantile(finite, _tails(level))
    return Interval(value, float(lower), float(upper))


def _tails(level: float) -> tuple[float, float]:
    return (1 - level) / 2, (1 + level) / 2


def _draw(
    random: np.random.Generator, items: NDArray[np.int64], size: tuple[int, int]
) -> NDArray[np.int64]:
    return items[random.integers(0, len(items), size=size)]
