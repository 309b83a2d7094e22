"""Tail probabilities of the hypergeometric distribution.

`scipy.stats` has them too, within a relative difference of 1e-7, but loading it takes longer than
a replay of stored probes does.
"""

from __future__ import annotations

from math import exp, lgamma

import numpy as np

_BLOCK = 1024


def at_most(x: int, rows: int, correct: int, drawn: int) -> float:
    """P(X <= x), X the correct ones among `drawn` of `rows` rows without replacement.

    Parameters
    ----------
    x : int
    rows, correct, drawn : int
        All rows, those of them that are correct, and the size of the sample.

    Examples
    --------
    Of four rows, two are correct; two are drawn, in one of six ways.

    >>> [round(6 * at_most(x, 4, 2, 2)) for x in (-1, 0, 1, 2)]
    [0, 1, 5, 6]
    """
    least, most = max(0, drawn - (rows - correct)), min(correct, drawn)
    if x < least:
        return 0.0
    if x >= most:
        return 1.0
    # Terms shrink away from the mode, so the tail that does not hold it is summed.
    if x < (drawn + 1) * (correct + 1) // (rows + 2):
        return _tail(x, rows, correct, drawn)
    return 1.0 - _tail(drawn - x - 1, rows, rows - correct, drawn)


def _tail(x: int, rows: int, correct: int, drawn: int) -> float:
    """The sum of P(X = j) for j from `x`, below the mode, down to where terms add nothing."""
    wrong = rows - correct
    least = max(0, drawn - wrong)
    chosen = _log_choose(correct, x) + _log_choose(wrong, drawn - x)
    term = exp(chosen - _log_choose(rows, drawn))
    total = term
    while x > least and term > 1e-17 * total:
        j = np.arange(x, max(least, x - _BLOCK), -1, dtype=float)
        ratios = j * (wrong - drawn + j) / ((correct - j + 1) * (drawn - j + 1))
        terms = term * np.cumprod(ratios)
        total += float(terms.sum())
        term = float(terms[-1])
        x -= len(j)
    return total


def _log_choose(n: int, k: int) -> float:
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)
