r"""Confidence intervals of the real test accuracy A_i = A(H_tr, D_te), from one probe.

=========  ======================================================================
symbol     meaning
=========  ======================================================================
s          \|S_tr\|, rows that the probe trained on
s_te       \|S_te\|, rows that it was tested on
t          \|D_te\|, all test rows
n          number of configurations
m          number of sample sizes below \|D_tr\| that any probe may have
delta      probability with which the answer may be worse than promised
=========  ======================================================================

Three kinds of interval, each a step tighter than the one before:

``paper``
    Theorems 1 and 2 of the paper. Its union bound runs over snapshots whose times depend on
    the data, so its proof has a gap.
``serfling``
    One event for every (configuration, size) in place of snapshots closes the gap and is
    tighter too: ln(2 n m / delta) for ln(4 n^2 / delta). Sampling is without replacement, and
    the two deviations of Theorem 1 are bounded as one.
``exact``
    The same events, each bounded by the hypergeometric distribution itself. No concentration
    inequality can be tighter on the same event: Hoeffding, Serfling, Bernstein (empirical or
    not) and Chernoff bounds are all relaxations of these tail probabilities.

What the steps buy, as times that selection is faster than Full-run of 20 bounded configurations at
epsilon 0.01, in one repetition of the suite ``paper-abc``:

=====================  =====  ========  =====
data, rows             paper  serfling  exact
=====================  =====  ========  =====
separated, 1,000,000   11     30        45
flights, 3,000,000     3.3    2.6       8.9
fried, 1,000,000       2.2    4.8       12
census income, 299285  1.1    2.0       4.7
covertype, 581,012     22     24        29
=====================  =====  ========  =====

Proof of ``serfling`` and ``exact``
-----------------------------------
The rows of D are in random order; S_tr, S_te and D_te are positions in that order. H*, trained
on the set D, does not depend on the order.

*Upper bound.* As in the paper, fitness gives A(H_tr, D_te) <= A(H*, D_te) and A(H*, S_tr) <=
A(H_S, S_tr). What is left is A(H*, D_te) against A(H*, S_tr) for a fixed H* and two disjoint
random samples. Given their union U of s + t rows of which H* classifies K correctly, the number
X it classifies correctly in S_tr is hypergeometric(s + t, K, s), and A(H*, D_te) = (K - X) / t.

- ``exact``: K_max(x) is the largest K with P(X <= x) > alpha. P(K > K_max(X)) <= alpha, and
  K_max(x) - x grows with x, because one more correct row in S_tr raises X by at most one. So X
  may be replaced by the count that H_S reaches, which fitness says is no smaller.
- ``serfling``: the mean of X / s against K / (s + t) by Hoeffding-Serfling, factor
  1 - (s - 1)/(s + t) = (t + 1)/(s + t); times (s + t)/t it is the deviation wanted:
  sqrt(ln(1/alpha) / 2 (1/s + 1/t) (t + 1)/t).

*Lower bound.* H_S depends on S_tr alone, so S_te is a random sample of D_te for it. The number
of correct rows in it is hypergeometric(t, K, s_te) with K = t A(H_S, D_te) <= t A(H_tr, D_te)
by exploitiveness. Its exact one-sided limit, or Serfling's factor 1 - (s_te - 1)/t.

*Union.* alpha = delta / (2 n m): one upper and one lower event for each configuration and each
size *of a grid that is fixed beforehand*, whether it is probed or not. So every interval of a
run holds at once with probability 1 - delta, whatever the scheduler does with the clock, and
intervals of one configuration may be intersected. At full size the accuracy is measured, not
estimated, and needs no event.

What is neglected: features scaled by the range of the training rows, or binned by their
quantiles, let H* depend on the split through these few numbers. No label is involved.

What does not help: bounds on the *difference* of two configurations on the same rows need the
rate at which H*_i and another model disagree, and H*_i is never seen. The two deviations that part
a pair, of S_tr and of S_te, may be bounded as one, so that their variances add and not their
widths; but the union is then over pairs of configurations and of sizes, which leaves intervals
7 % narrower than Hoeffding's (20 configurations, 10 sizes), and wider than ``exact`` where
accuracies are above 0.7. Bardenet and Maillard's refinement of Serfling's factor is below what
``exact`` gives.

References
----------
Huang, Wang, Ding, Chaudhuri. ABC: efficient selection of machine learning configuration on
large dataset. AAAI 2019, as "Efficient identification of approximate best configuration of
training in large datasets". Theorems 1 and 2.
Hoeffding. Probability inequalities for sums of bounded random variables. JASA 58 (1963).
Bardenet, Maillard. Concentration inequalities for sampling without replacement. Bernoulli 21
(2015).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from algorithms.abc_selection.hypergeometric import at_most
from algorithms.benches.samples import Probe

Kind = Literal["exact", "serfling", "paper"]
KINDS: tuple[Kind, ...] = get_args(Kind)


def theorem1_upper(accuracy: float, s: int, t: int, n: int, delta: float) -> float:
    """Theorem 1: u is A(H_S, S_tr) plus the deviations of S_tr and of D_te from D."""
    log = math.log(4 * n**2 / delta)
    return accuracy + math.sqrt(log / (2 * s)) + math.sqrt(log / (2 * t))


def theorem2_lower(accuracy: float, s_te: int, n: int, delta: float) -> float:
    """Theorem 2: l is A(H_S, S_te) minus the deviation of S_te from D_te."""
    return accuracy - math.sqrt(math.log(2 * n**2 / delta) / (2 * s_te))


def serfling_upper(accuracy: float, s: int, t: int, alpha: float) -> float:
    """Upper bound by one deviation between the disjoint samples S_tr and D_te."""
    return accuracy + math.sqrt(math.log(1 / alpha) / 2 * (1 / s + 1 / t) * (t + 1) / t)


def serfling_lower(accuracy: float, s_te: int, t: int, alpha: float) -> float:
    """Lower bound by the deviation of S_te from D_te, without replacement."""
    return accuracy - math.sqrt(math.log(1 / alpha) / (2 * s_te) * (1 - (s_te - 1) / t))


@lru_cache(maxsize=4096)
def exact_upper(correct: int, s: int, t: int, alpha: float) -> float:
    """Upper bound: the most H* can reach on D_te if `correct` of s is not improbably low.

    Parameters
    ----------
    correct : int
        Training rows, of s, that H_S classifies correctly.
    s, t : int
    alpha : float
        Probability of the event that the bound fails.
    """
    low, high = correct, correct + t  # K of the union that are compatible with `correct`
    while low < high:
        middle = (low + high + 1) // 2
        if at_most(correct, s + t, middle, s) > alpha:
            low = middle
        else:
            high = middle - 1
    return (low - correct) / t


@lru_cache(maxsize=4096)
def exact_lower(correct: int, s_te: int, t: int, alpha: float) -> float:
    """Lower bound: the least accuracy for which `correct` of s_te is not improbably high."""
    low, high = correct, t - (s_te - correct)
    while low < high:
        middle = (low + high) // 2
        if at_most(s_te - correct, t, t - middle, s_te) > alpha:  # the wrong ones, not the right
            high = middle
        else:
            low = middle + 1
    return low / t


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimator:
    """The interval of one probe, of the kind that was asked for.

    Parameters
    ----------
    kind : {"exact", "serfling", "paper"}
    n, m, t : int
        Configurations, sample sizes below the full one, rows of D_te.
    delta : float
    """

    kind: Kind
    n: int
    m: int
    t: int
    delta: float

    @property
    def simultaneous(self) -> bool:
        """Whether all intervals of a run hold at once, so that they may be intersected."""
        return self.kind != "paper"

    def __call__(self, probe: Probe) -> tuple[float, float]:
        """The bounds l and u within [0, 1]; both the accuracy itself at full size."""
        if probe.train_correct is None:
            return probe.test_accuracy, probe.test_accuracy
        lower, upper = _INTERVALS[self.kind](probe, self)
        return max(0.0, lower), min(1.0, upper)

    @property
    def alpha(self) -> float:
        """The share of delta of one event."""
        return self.delta / (2 * self.n * max(self.m, 1))


def _paper(probe: Probe, of: Estimator) -> tuple[float, float]:
    return (
        theorem2_lower(probe.test_accuracy, probe.test_rows, of.n, of.delta),
        theorem1_upper(probe.train_accuracy, probe.rows, of.t, of.n, of.delta),
    )


def _serfling(probe: Probe, of: Estimator) -> tuple[float, float]:
    return (
        serfling_lower(probe.test_accuracy, probe.test_rows, of.t, of.alpha),
        serfling_upper(probe.train_accuracy, probe.rows, of.t, of.alpha),
    )


def _exact(probe: Probe, of: Estimator) -> tuple[float, float]:
    assert probe.train_correct is not None
    return (
        exact_lower(probe.test_correct, probe.test_rows, of.t, of.alpha),
        exact_upper(probe.train_correct, probe.rows, of.t, of.alpha),
    )


_INTERVALS: dict[Kind, Callable[[Probe, Estimator], tuple[float, float]]] = {
    "paper": _paper,
    "serfling": _serfling,
    "exact": _exact,
}
