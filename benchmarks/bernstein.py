r"""The published comparison of bounded losses: empirical Bernstein with a conjugate mixture.

For differences |d_i| <= B of the losses of two predictors, with the mean of all before as the
centre γ_i of row i and V_t = Σ (d_i - γ_i)², Theorem 2 of Choe and Ramdas [1]_ gives

    mean(d_1, ..., d_t) ± u(V_t) / t

for the average of E[d_i | past], at all t at once. u is where the mixture over λ of the
supermartingales exp(λ s - ψ(λ) v), with ψ(λ) = (-log(1 - cλ) - cλ) / c² and c = 2B, reaches 2 / α.
With the gamma density of Howard et al. [2]_ (Proposition 9) the mixture has the closed form of
`log_mixture`. At s = Σ d_i it is their e-process (Theorem 3) for the weak null "the average is at
no time above 0".

It is what `leaseboard.algorithms.sequential_test` is measured against: it needs the bound, and ρ
tunes it for one V_t.

Notes
-----
Where c s + v + ρ <= 0, far on the side of the null, the closed form ends and 0 is given for e.

References
----------
.. [1] Choe, Ramdas. Comparing sequential forecasters. Operations Research (2023).
.. [2] Howard, Ramdas, McAuliffe, Sekhon. Time-uniform, nonparametric, nonasymptotic confidence
       sequences. Annals of Statistics 49 (2021).
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import gammainc, gammaln

from leaseboard.algorithms.errors import UsageError

Doubles = NDArray[np.float64]

_HALVINGS = 56
"""Of a range for the boundary."""


def best_rho(variance: float, alpha: float) -> float:
    """Return the ρ whose one-sided boundary is about the least at V_t = `variance`.

    Section 3.5 of Howard et al. (2021).

    Examples
    --------
    >>> round(best_rho(100.0, 0.05), 4)
    15.8006
    """
    log = 2 * math.log(1 / (2 * alpha))
    return variance / (log + math.log(1 + log))


def log_mixture(s: ArrayLike, v: ArrayLike, rho: float, c: float) -> Doubles:
    """Return the logarithm of the gamma-exponential mixture, of sums `s` at variances `v`."""
    prior, shape = rho / c**2, (np.asarray(v, dtype=float) + rho) / c**2
    reach = np.asarray(s, dtype=float) / c + shape
    inside = reach > 0
    x = np.where(inside, reach, 1.0)
    with np.errstate(divide="ignore"):
        found: Doubles = np.where(
            inside,
            prior * math.log(prior)
            - gammaln(prior)
            - math.log(gammainc(prior, prior))
            + gammaln(shape)
            + np.log(gammainc(shape, x))
            - shape * np.log(x)
            + (x - prior),
            -np.inf,
        )
    return found


def boundary(v: ArrayLike, alpha: float, rho: float, c: float) -> Doubles:
    """Return u(v): the sum that a path ever reaches with probability `alpha` at most."""
    v, level = np.asarray(v, dtype=float), math.log(1 / alpha)
    low, high = np.zeros_like(v), np.full_like(v, c)
    while (under := log_mixture(high, v, rho, c) < level).any():
        high = np.where(under, 2 * high, high)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        under = log_mixture(middle, v, rho, c) < level
        low, high = np.where(under, middle, low), np.where(under, high, middle)
    return high


@dataclass(frozen=True, kw_only=True)
class EmpiricalBernstein:
    """The published confidence sequence and e-process after some rows.

    Parameters
    ----------
    bound : float
        The largest difference of two losses that there can be.
    rho : float
        Of the mixture, see `best_rho`.
    rows : int
    total, variance : float
        Σ d_i and V_t.

    Examples
    --------
    >>> state = EmpiricalBernstein(bound=1.0, rho=best_rho(100.0, 0.025))
    >>> state = state.update_many([0.5, 1.0] * 50)
    >>> lower, upper = state.interval(alpha=0.05)
    >>> round(lower, 2), round(upper, 2)
    (0.59, 0.91)
    """

    bound: float
    rho: float
    rows: int = 0
    total: float = 0.0
    variance: float = 0.0

    def update(self, difference: float) -> Self:
        """Update with one more row."""
        return self.update_many([difference])

    def update_many(self, differences: ArrayLike) -> Self:
        """Update with many rows, exactly as one by one."""
        rows, totals, variances = self._path(differences)
        return replace(
            self, rows=int(rows[-1]), total=float(totals[-1]), variance=float(variances[-1])
        )

    def interval(self, alpha: float) -> tuple[float, float]:
        """Return the interval of the average of E[d_i | past] so far."""
        lower, upper = self.intervals([], alpha)
        return float(lower[0]), float(upper[0])

    def intervals(self, differences: ArrayLike, alpha: float) -> tuple[Doubles, Doubles]:
        """Return the bounds by now and after each of the rows that come."""
        rows, totals, variances = self._path(differences)
        n = np.maximum(rows, 1)
        widths = np.where(rows > 0, boundary(variances, alpha / 2, self.rho, 2 * self.bound), 0)
        half = np.where(rows > 0, widths / n, np.inf)
        lower, upper = totals / n - half, totals / n + half
        return np.maximum(lower, -self.bound), np.minimum(upper, self.bound)

    def log_e(self, differences: ArrayLike = ()) -> Doubles:
        """Return the logarithm of e for "better on average" by now and after each later row."""
        _, totals, variances = self._path(differences)
        return log_mixture(totals, variances, self.rho, 2 * self.bound)

    def _path(self, differences: ArrayLike) -> tuple[Doubles, Doubles, Doubles]:
        d = np.asarray(differences, dtype=float)
        if not (np.abs(d) <= self.bound).all():
            worst = d[~(np.abs(d) <= self.bound)][0]
            raise UsageError(f"difference {worst}: give numbers within ±{self.bound}, the bound")
        rows = self.rows + np.arange(len(d) + 1.0)
        totals = np.cumsum(np.concatenate([[self.total], d]))
        centres = totals[:-1] / np.maximum(rows[:-1], 1)
        return rows, totals, np.cumsum(np.concatenate([[self.variance], (d - centres) ** 2]))
