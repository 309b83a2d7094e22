"""Better and Worse on a common window: tests of the difference of two models' losses.

The paper compares each model's own progressive loss, over the examples that it happened to see,
and bounds each by √(d log(n|S|/δ) / n). Two models that started at different times are then
compared on different examples, which misleads under drift, and differences far below the noise
of the labels drown in it. Here a challenger starts as a copy of the champion, and what counts is

    D_i = l(champion, i) - l(challenger, i)   on the same examples i = 1, ..., n since then,

in squared loss, which is what the bench scores. For independent D_i that are symmetric around 0,
whatever their scale and tails, and for every z [1]_

    P( Σ D_i ≥ z √(Σ D_i²) ) ≤ exp(-z²/2).

A union over the |S| challengers and over all looks m = 1, 2, ... with shares 1 / (m (m + 1))
gives `critical_value`: a challenger that is as good as its champion is taken for better with
probability at most δ in a champion's time. Models that learn make the D_i depend on each other,
so this is a guide, as the paper's bound is; what the forecasts may lose rests on the aggregate
alone.

References
----------
.. [1] Efron. Student's t-test under symmetry conditions. Journal of the American Statistical
       Association 64, 1969: given the |D_i|, the signs are fair coins, so Hoeffding's inequality
       applies to Σ D_i.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Doubles = NDArray[np.float64]


def critical_value(challengers: int, looks: NDArray[np.int64], delta: float) -> Doubles:
    """z: the number of root sums of squares that proves a difference.

    Parameters
    ----------
    challengers : int
        |S|, how many are compared with the champion.
    looks : ndarray of int64
        m, how often each challenger has been looked at, this time included.
    delta : float
        Probability of a false proof during one champion's time.

    Examples
    --------
    >>> critical_value(challengers=50, looks=np.array([1, 10]), delta=0.1).round(4)
    array([3.7169, 4.6723])
    """
    return np.asarray(np.sqrt(2.0 * np.log(challengers * looks * (looks + 1) / delta)))


def radius(squares: Doubles, n: NDArray[np.int64], z: Doubles) -> Doubles:
    """Half the width of the confidence interval of the mean difference.

    Examples
    --------
    >>> radius(squares=np.array([4.0]), n=np.array([10]), z=np.array([3.0]))
    array([0.6])
    """
    return np.asarray(z * np.sqrt(squares) / n)


def better(advantage: Doubles, squares: Doubles, z: Doubles) -> NDArray[np.bool_]:
    """Whether a challenger's loss is proved lower than its champion's.

    Parameters
    ----------
    advantage, squares : ndarray of float64
        Σ D and Σ D² over the common window.

    Examples
    --------
    >>> better(advantage=np.array([7.0, 5.0]), squares=np.array([4.0, 4.0]), z=np.array(3.0))
    array([ True, False])
    """
    return np.asarray(advantage > z * np.sqrt(squares))


def worse(advantage: Doubles, squares: Doubles, z: Doubles) -> NDArray[np.bool_]:
    """Whether a challenger's loss is proved higher than its champion's.

    Examples
    --------
    >>> worse(advantage=np.array([-7.0, 5.0]), squares=np.array([4.0, 4.0]), z=np.array(3.0))
    array([ True, False])
    """
    return better(-advantage, squares, z)
