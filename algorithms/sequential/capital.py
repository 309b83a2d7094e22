"""What a duel bets, row after row: capitals of fixed bets, in logarithms, compiled.

Bet k of ``N_BETS`` stakes λ_k = ``SHARE`` min(2^-k / c_1, 1 / c) on each unit of a difference,
where c is the clip of this row and c_1 the first. c doubles after a row that it has clipped and
never shrinks, so that no λ_k ever grows: see the theorem of `algorithms.sequential.duel`.
"""

from __future__ import annotations

import math
import sys

import numpy as np
from numba import njit
from numpy.typing import NDArray

Doubles = NDArray[np.float64]

N_BETS = 24
"""Halves of the largest bet: the least finds what takes some 1e13 rows to be seen."""

SHARE = 0.9
"""Of its capital that the largest bet loses by the worst difference that there can be."""

_WEIGHTS = 1 / np.arange(2.0, N_BETS + 2)
LOG_WEIGHTS: Doubles = np.log(_WEIGHTS / _WEIGHTS.sum())
"""Of the bets in the mixture: nearly alike for any number of rows, larger for large bets."""

COUNTED, CLIPPED, MEAN, CLIP, PEAK_CHALLENGER, PEAK_CHAMPION = range(6)
"""The running values: rows that were bet on, of these clipped, mean difference, c, and the largest
logarithms of either capital."""

_HALVINGS = 64
"""Of the range for a bound of the interval."""

_LARGEST = sys.float_info.max


@njit(cache=True, error_model="numpy")
def shares(first: float, clip: float) -> Doubles:
    """λ_k c: what each bet loses by a difference of -c."""
    found = np.empty(N_BETS)
    for k in range(N_BETS):
        found[k] = SHARE * min(2.0**-k * (clip / first), 1.0)
    return found


@njit(cache=True, error_model="numpy")
def log_mean(logs: Doubles) -> float:
    """The logarithm of the mixture of capitals."""
    top = -np.inf
    for k in range(N_BETS):
        top = max(top, LOG_WEIGHTS[k] + logs[k])
    total = 0.0
    for k in range(N_BETS):
        total += math.exp(LOG_WEIGHTS[k] + logs[k] - top)
    return top + math.log(total)


@njit(cache=True, error_model="numpy")
def log_entry(row: float) -> float:
    """The logarithm of the capital that comes anew before this row, from 0; of all rows, half.

    A telescoping sum, (1 / ln(row + 2) - 1 / ln(row + 3)) ln(2) / 2, written without a difference.
    """
    log, step = math.log(row + 2.0), math.log1p(1.0 / (row + 2.0))
    return math.log(0.5 * math.log(2.0) * step / (log * (log + step)))


@njit(cache=True, error_model="numpy")
def _added(log: float, other: float) -> float:
    return max(log, other) + math.log1p(math.exp(-abs(log - other)))


@njit(cache=True, error_model="numpy")
def bet(
    differences: Doubles,
    first: float,
    growing: bool,
    restarts: bool,
    challenger: Doubles,
    champion: Doubles,
    running: Doubles,
    path: Doubles,
) -> None:
    """Bet on all rows in their order.

    Parameters
    ----------
    differences : array of shape (n,)
        Loss of the champion minus that of the challenger.
    first : float
        The first clip c_1.
    growing : bool
        Whether the clip doubles after a row that it has clipped.
    restarts : bool
        Whether capital comes anew before each row, which has seen nothing yet.
    challenger, champion : array of shape (N_BETS,)
        Logarithms of the capitals that bet on either, changed in place.
    running : array of shape (6,)
        Changed in place.
    path : array of shape (n, 2)
        Takes the logarithms of both mixtures after each row.
    """
    stakes = shares(first, running[CLIP])
    for row in range(len(differences)):
        clip = running[CLIP]
        ratio = min(max(differences[row] / clip, -1.0), 1.0)
        if restarts:
            entry = log_entry(running[COUNTED])
            for k in range(N_BETS):
                challenger[k] = _added(challenger[k], entry)
                champion[k] = _added(champion[k], entry)
        for k in range(N_BETS):
            challenger[k] += math.log1p(stakes[k] * ratio)
            champion[k] += math.log1p(-stakes[k] * ratio)
        running[COUNTED] += 1.0
        n = running[COUNTED]
        running[MEAN] += differences[row] / n - running[MEAN] / n
        path[row, 0] = log_mean(challenger)
        path[row, 1] = log_mean(champion)
        running[PEAK_CHALLENGER] = max(running[PEAK_CHALLENGER], path[row, 0])
        running[PEAK_CHAMPION] = max(running[PEAK_CHAMPION], path[row, 1])
        if abs(differences[row]) > clip:
            running[CLIPPED] += 1.0
            if growing:
                running[CLIP] = min(2.0 * clip, _LARGEST)
                stakes = shares(first, running[CLIP])


@njit(cache=True, error_model="numpy")
def least_gain(logs: Doubles, bets: Doubles, level: float) -> float:
    """The least gain, in clips from -1 to 1, at which the mixture less the gain is below `level`.

    Parameters
    ----------
    logs : array of shape (n,)
        Logarithms of weight and capital of the bets that never changed.
    bets : array of shape (n,)
        What each has staked on all rows together, per clip.
    level : float
        A logarithm.
    """
    low, high = -1.0, 1.0
    middle = low
    for _ in range(_HALVINGS):
        top = -np.inf
        for k in range(len(logs)):
            top = max(top, logs[k] - bets[k] * middle)
        total = 0.0
        for k in range(len(logs)):
            total += math.exp(logs[k] - bets[k] * middle - top)
        if len(logs) > 0 and top + math.log(total) >= level:
            low = middle
        elif middle == -1.0:
            return middle
        else:
            high = middle
        middle = (low + high) / 2
    return low
