r"""Confidence intervals of the real test accuracy A_i = A(H_tr, D_te), from one probe.

=========  ======================================================================
symbol     meaning
=========  ======================================================================
s          \|S_tr\|, rows that the probe trained on
s_te       \|S_te\|, rows that it was tested on
t          \|D_te\|, all test rows
N          \|D_tr\|, all training rows
n          number of configurations
m          number of sample sizes below \|D_tr\| that any probe may have
delta      probability with which the answer may be worse than guaranteed
=========  ======================================================================

Two kinds of interval:

``paper``
    Theorems 1 and 2 of the paper. Its union bound runs over snapshots whose times depend on
    the data, so its proof has a gap.
``best``
    Every event is bounded by the hypergeometric distribution itself: on the same event no
    concentration inequality can be tighter. Of all upper bounds only those of the one best
    configuration have to hold for the answer to be right.

Lemma: one probe
----------------
The rows of D are in random order; S_tr, S_te and D_te are positions in that order. H*, trained
on the set D, does not depend on the order.

*Upper bound.* As in the paper, fitness gives A(H_tr, D_te) <= A(H*, D_te) and A(H*, S_tr) <=
A(H_S, S_tr). What is left is A(H*, D_te) against A(H*, S_tr) for a fixed H* and two disjoint
random samples. Given their union U of s + t rows of which H* classifies K correctly, the number
X it classifies correctly in S_tr is hypergeometric(s + t, K, s), and A(H*, D_te) = (K - X) / t.

K_max(x) is the largest K with P(X <= x) > alpha. P(K > K_max(X)) <= alpha, and K_max(x) - x grows
with x, because one more correct row in S_tr raises X by at most one. So X may be replaced by the
count that H_S reaches, which fitness says is at least as large: `exact_upper`.

*Lower bound.* H_S depends on S_tr alone, so S_te is a random sample of D_te for it. The number
of correct rows in it is hypergeometric(t, K, s_te) with K = t A(H_S, D_te) <= t A(H_tr, D_te)
by exploitiveness: `exact_lower`.

At full size the accuracy is measured, not estimated, and needs no event.

Theorem (``best``): the answer is within epsilon of the best
------------------------------------------------------------
With probability 1 - delta every probe of the best configuration i* = argmax A_i has A_i* <= u,
and every probe of every configuration has l <= A_i. That is all that Theorem 3 of the paper uses:
if i* is dropped while j leads, A_i* <= u_i* <= l_j + epsilon, the leading lower bound never falls,
and that of the answer is below its accuracy.

*Upper bound*, in two steps. The split: K_tr of the N training rows, of the K right ones of all,
are those that H*_i classifies correctly, hypergeometric(N + t, K, N): one event for each
configuration, none for a size, with `exact_upper` for s = N. The sample: given the split, D_tr is
still in random order, so X of S_tr is hypergeometric(N, K_tr, s). Which configuration is best was
decided by the split, so that m events, those of i*, are enough: no union over n. The bound is
`exact_upper` for t = N - s, which gives the most K_tr can be, put into the first step; both grow
with X, so H_S may replace H*. Sizes at which one step of n events is narrower, for an accuracy of
1/2, take that one: the sizes decide it before any row is seen, so each size has one form and its
share of delta once.

No configuration is dropped after fewer than three probes, so that no upper bound of the first two
sizes has a part in the answer: of the m events of the sample m - 2 are left, those of the sizes in
use.

*Lower bound*: one event for each configuration and each size *of a grid that is fixed beforehand*,
whether it is probed or not, so that intervals of one configuration may be intersected. The shares
of delta are `SHARES`: alpha of the split delta/10 n, of the sample 7 delta/10 (m - 2), of a lower
bound 2 delta/10 n m.

The condition that is new: full training does not depend on the order of its rows, or only by
chance that has no part in how many rows of S_tr H* classifies correctly (seeds of forests,
epochs).

Larger samples are tested on `TESTED` times their training rows and not on twice, which makes the
lower width half of it; the size alone decides on how many. Of the first three, after which
configurations may be dropped, tests would be most of the cost.

Lower bounds decide what is dropped when; the guarantee does not rest on them, as the choice is
trained in full and held against the bound that it won by
(`leaseboard.algorithms.abc_selection.fitness`).

What is neglected: features scaled by the range of the training rows, or binned by their
quantiles, let H* depend on the split through these few numbers. No label is involved.

References
----------
Huang, Wang, Ding, Chaudhuri. ABC: efficient selection of machine learning configuration on
large dataset. AAAI 2019, as "Efficient identification of approximate best configuration of
training in large datasets". Theorems 1 and 2.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, get_args

from leaseboard.algorithms.abc_selection.fitness import lowered, raised
from leaseboard.algorithms.abc_selection.schedulers import Prospect
from leaseboard.algorithms.environments.selecting import Probe

Kind = Literal["best", "paper"]
KINDS: tuple[Kind, ...] = get_args(Kind)

SHARES = (0.1, 0.7, 0.2)
"""Of delta: what ``best`` gives to the split, to the best one's samples, and to lower bounds."""

TESTED = 8
"""Rows that a large sample's probe is tested on for each of it; those of ``paper`` are two."""


def theorem1_upper(accuracy: float, s: int, t: int, n: int, delta: float) -> float:
    """Return u of theorem 1: A(H_S, S_tr) plus the deviations of S_tr and of D_te from D."""
    log = math.log(4 * n**2 / delta)
    return accuracy + math.sqrt(log / (2 * s)) + math.sqrt(log / (2 * t))


def theorem2_lower(accuracy: float, s_te: int, n: int, delta: float) -> float:
    """Return l of theorem 2: A(H_S, S_te) minus the deviation of S_te from D_te."""
    return accuracy - math.sqrt(math.log(2 * n**2 / delta) / (2 * s_te))


@lru_cache(maxsize=4096)
def exact_upper(correct: int, s: int, t: int, alpha: float) -> float:
    """Return the upper bound: the most that H* reaches on D_te with `correct` not improbably low.

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
    """Return the lower bound: the least accuracy with `correct` of s_te not improbably high."""
    low, high = correct, t - (s_te - correct)
    while low < high:
        middle = (low + high) // 2
        if at_most(s_te - correct, t, t - middle, s_te) > alpha:  # the wrong ones, not the right
            high = middle
        else:
            low = middle + 1
    return low / t


def best_upper(
    correct: int, s: int, train_rows: int, t: int, sample: float, split: float
) -> float:
    """Return the upper bound of the best one: what the order hides of D_tr, then the split.

    Parameters
    ----------
    correct : int
        Training rows, of s, that H_S classifies correctly.
    s, train_rows, t : int
    sample, split : float
        Probabilities of the two events that the bound fails.
    """
    rest = train_rows - s
    most = correct + round(exact_upper(correct, s, rest, sample) * rest)
    return exact_upper(most, train_rows, t, split)


@lru_cache(maxsize=4096)
def two_steps(s: int, train_rows: int, t: int, n: int, sample: float, split: float) -> bool:
    """Return whether two steps are narrower than one of n events, at accuracy 1/2."""
    one = exact_upper(s // 2, s, t, sample / n)
    return best_upper(s // 2, s, train_rows, t, sample, split) <= one


@dataclass(frozen=True, slots=True)
class Estimator:
    """Interval of one probe, of the kind that was asked for.

    Parameters
    ----------
    kind : {"best", "paper"}
    n, m, train_rows, t : int
        Configurations, sample sizes below the full one, rows of D_tr and of D_te.
    delta : float
    idle : int
        How many of the sizes, the smallest ones, are too small for any upper bound to be used.
    """

    kind: Kind
    n: int
    m: int
    train_rows: int
    t: int
    delta: float
    idle: int = 0

    def __call__(self, probe: Probe) -> tuple[float, float]:
        """Return the bounds l and u within [0, 1]; both the accuracy itself at full size."""
        s, s_te, t, n = probe.rows, probe.test_rows, self.t, self.n
        if (correct := probe.train_correct) is None:
            return probe.test_accuracy, probe.test_accuracy
        if self.kind == "paper":
            lower = theorem2_lower(probe.test_accuracy, s_te, n, self.delta)
            upper = theorem1_upper(probe.train_accuracy, s, t, n, self.delta)
            return max(0.0, lower), min(1.0, upper)
        split, sample, each = (share * self.delta for share in SHARES)
        split, sample = split / n, sample / max(self.m - self.idle, 1)
        lower = exact_lower(probe.test_correct, s_te, t, each / (n * max(self.m, 1)))
        if two_steps(s, self.train_rows, t, n, sample, split):
            return lower, best_upper(correct, s, self.train_rows, t, sample, split)
        return lower, exact_upper(correct, s, t, sample / n)


def estimate(chosen: Prospect, probe: Probe, estimator: Estimator) -> bool:
    """Set the interval of the probed configuration (algorithm 2); return if its bounds crossed."""
    chosen.lower_before, chosen.upper_before = chosen.lower, chosen.upper
    chosen.curve.append(probe)
    lower, upper = estimator(probe)
    sampled = probe.train_correct is not None
    chosen.above = upper - probe.train_accuracy if sampled else 0.0
    chosen.below = probe.test_accuracy - lower if sampled else 0.0
    if estimator.kind == "best":
        chosen.lower_old, chosen.upper_old = chosen.lower, chosen.upper
        if sampled:
            holding, fitting, full = lower, upper, estimator.train_rows
            lower = lowered(lower, chosen.curve, full)
            upper = raised(upper, chosen.curve, full + estimator.t)
            # What was concluded from an assumption that is refuted is forgotten.
            chosen.lower_old = 0.0 if lower < holding else chosen.lower
            chosen.upper_old = 1.0 if upper > fitting else chosen.upper
    chosen.lower, chosen.upper = max(lower, chosen.lower_old), min(upper, chosen.upper_old)
    crossed = chosen.lower > chosen.upper
    if crossed:
        chosen.lower, chosen.upper = min(lower, upper), upper
    return crossed


def at_most(x: int, rows: int, correct: int, drawn: int) -> float:
    """Return P(X <= x), X the correct ones among `drawn` of `rows` rows without replacement.

    Examples
    --------
    Of four rows, two are correct; two are drawn, in one of six ways.

    >>> [round(6 * at_most(x, 4, 2, 2)) for x in (-1, 0, 1, 2)]
    [0, 1, 5, 6]
    """
    from scipy.stats import hypergeom  # it takes a while to load

    return float(hypergeom.cdf(x, rows, correct, drawn))
