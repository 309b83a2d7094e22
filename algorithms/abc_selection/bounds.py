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
trained in full and held against the bound that it won by: see below.

What is neglected: features scaled by the range of the training rows, or binned by their
quantiles, let H* depend on the split through these few numbers. No label is involved.

Fitness and exploitiveness, seen as they hold
=============================================
Every upper bound rests on fitness: A(H*, S_tr) <= A(H_S, S_tr), no model trained on other data
does better on S_tr than the one trained on it. Leaves that count rows, epochs, neighbours and
constant regularisers break it: they fit a small sample worse than all rows.

Theorem: fitness can be refuted
-------------------------------
Samples are nested, so the model trained on 2s rows has classified the s rows of the sample before
too. Its accuracy there, minus that of the sample's own model on the same rows, is the *rise*.
Fitness says that it is not positive; the rows are the same ones, so a positive rise refutes
fitness, and no chance can excuse it.

Rule and theorem: what a rise adds
----------------------------------
In place of fitness it is assumed that no later doubling raises the accuracy on the rows of a
sample by more than the larger of the last two did (or at all, if neither did), or that none raises
the test accuracy by more. H*, the model of all N + t rows, is d = log2((N + t) / s) doublings
away, and the full training less than d, so with the larger rise r and the larger growth g of the
test accuracy

    A(H*, S_tr) - A(H_S, S_tr) = the sum of the rises of these doublings <= r d,
    A(H_tr, D_te) - A(H_S, D_te) = the sum of the growths of its doublings <= g d.

By the first the upper bound holds with r d added, by the second A(H_S, D_te) + g d is one. Either
assumption may fail, so the higher of the two is taken, and what was concluded at earlier sizes is
forgotten. Growth is measured on the rows of the smaller test, where these are half of the larger
one: other rows do not count as growth. Before there are two doublings the upper bound is 1: no one
is dropped after fewer than three probes.

One that does not fit its sample better than the constant of the most frequent class, by a
standard deviation, has not begun to learn there: a network of few steps, leaves of more rows
than the smaller class has. Its curve says nothing of what is to come, so its upper bound is 1.

Any rise refutes fitness and raises the bound; those that are beyond chance are events of the job,
and `guarantee_` of `SelectionSearch` names their configurations.

Rule: what a fall takes off
---------------------------
Every lower bound rests on exploitiveness: A(H_S, D_te) <= A(H_tr, D_te), more rows never hurt.
Naive Bayes on a heavy-tailed feature breaks it, and many others do. A *fall* of the test accuracy
from one sample to the next that is beyond chance refutes it. As with rises it is then assumed that
no later doubling loses more than the larger fall f of the last two, so that

    A(H_tr, D_te) >= A(H_S, D_te) - f log2(N / s),

and what was concluded at earlier sizes is forgotten. A fall that comes later is not seen.

Theorem: the check makes exploitiveness needless
------------------------------------------------
Let j be the choice, trained in full, A_j its accuracy and L the highest lower bound that any
configuration was, and is, dropped by. Where A_j >= L the choice is within epsilon of the best
as often as the upper bound of the best one holds; whether any lower bound held, or whether more
rows hurt any of them, has no part in it.

*Proof.* The best i* is j itself, or was trained in full and lost to j by what was measured, or was
dropped: then u_i* <= L + epsilon. So A_i* <= u_i* <= L + epsilon <= A_j + epsilon.

So no one is dropped for good before the choice was trained in full, which its score takes anyway.
Where A_j < L, j gets A_j as both of its bounds, those that this does not drop are considered
again, and the search goes on. Who fails in full leaves alike. A choice that had no full training
before that has had three samples at least.

What remains is the upper bound of the best one: what it does on samples must show what it does
in full. Not seen are a learner whose gains begin only beyond some size although it beats the
constant before, which looks like one that has no more to learn; one that gets worse at first and
better than before at the end; and rises that get larger. Such a one may be dropped although it
is the best, and no full training of another shows it.

References
----------
Huang, Wang, Ding, Chaudhuri. ABC: efficient selection of machine learning configuration on
large dataset. AAAI 2019, as "Efficient identification of approximate best configuration of
training in large datasets". Theorems 1 and 2.
"""

import math
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Literal, get_args

from leaseboard.algorithms.abc_selection.schedulers import Prospect
from leaseboard.algorithms.environments.samples import Probe

PROBES = 3
"""The least of them after which a configuration may be dropped."""


DEVIATIONS = 2.0
"""Beyond so many standard deviations a rise is worth an event."""


def rise(before: Probe, probe: Probe) -> float:
    """Return how much a doubling of the sample raised the accuracy on the rows before.

    Where those rows were not counted, or the sample did not just double, the accuracies of the two
    samples are compared, which chance moves too.

    Examples
    --------
    >>> small = Probe(rows=500, test_rows=500, train_correct=400)
    >>> rise(small, Probe(rows=1000, test_rows=500, train_correct=830, half_correct=410))
    0.02
    >>> rise(small, Probe(rows=2000, test_rows=500, train_correct=1680))
    0.02
    """
    if probe.half_correct is not None and probe.rows // 2 == before.rows:
        assert before.train_correct is not None
        return (probe.half_correct - before.train_correct) / before.rows
    doublings = math.log2(probe.rows / before.rows)
    return round((probe.train_accuracy - before.train_accuracy) / doublings, 12)


def beyond_chance(before: Probe, probe: Probe) -> bool:
    """Return whether the rise is more than `DEVIATIONS` of what the choice of the rows may bring.

    The deviation is that of two samples of the smaller size; it does not grow where both are
    likely to be right on the same rows.
    """
    p = before.train_accuracy
    return rise(before, probe) > DEVIATIONS * math.sqrt(2 * p * (1 - p) / before.rows)


def raised(upper: float, curve: Sequence[Probe], every: int) -> float:
    """Return the upper bound of the last probe of `curve`, from `upper`, which assumes fitness.

    Parameters
    ----------
    upper : float
    curve : sequence of Probe
        All of a configuration, in ascending order of rows.
    every : int
        N + t, all rows.
    """
    if len(curve) < PROBES or not has_learned(curve[-1]):
        return 1.0
    last, doublings = curve[-1], math.log2(every / curve[-1].rows)
    pairs = list(pairwise(curve[-PROBES:]))
    risen = max(0.0, *(rise(*pair) for pair in pairs)) * doublings
    grown = max(0.0, *(_growth(*pair) for pair in pairs)) * doublings
    return min(1.0, max(upper + risen, last.test_accuracy + grown))


def has_learned(probe: Probe) -> bool:
    """Return whether a model fits its sample better than the constant, by a standard deviation.

    True where the most frequent class was not counted.

    Examples
    --------
    >>> has_learned(Probe(rows=1000, test_rows=9, train_correct=515, common=500))
    False
    >>> has_learned(Probe(rows=1000, test_rows=9, train_correct=516, common=500))
    True
    """
    if probe.common is None:
        return True
    p = probe.common / probe.rows
    return probe.train_accuracy - p > math.sqrt(p * (1 - p) / probe.rows)


def lowered(lower: float, curve: Sequence[Probe], full: int) -> float:
    """Return the lower bound of the last probe of `curve`, from `lower`, which assumes no fall.

    Parameters
    ----------
    lower : float
    curve : sequence of Probe
        All of a configuration, in ascending order of rows.
    full : int
        N, all training rows.
    """
    if len(curve) < PROBES:
        return lower
    falls = [fall(*pair) for pair in pairwise(curve[-PROBES:])]
    return max(0.0, lower - max(falls) * math.log2(full / curve[-1].rows))


def fall(before: Probe, probe: Probe) -> float:
    """Return by how much the test accuracy fell in a doubling; 0 where that may be by chance.

    The deviation is that of two samples of the smaller test; it does not grow where both are
    likely to be right on the same rows.

    Examples
    --------
    >>> small = Probe(rows=500, test_rows=1000, test_correct=800)
    >>> fall(small, Probe(rows=1000, test_rows=2000, test_correct=1500, half_test_correct=750))
    0.05
    >>> fall(small, Probe(rows=1000, test_rows=2000, test_correct=1500, half_test_correct=770))
    0.0
    """
    p = before.test_accuracy
    fallen = round(-_growth(before, probe), 12)
    return fallen if fallen > DEVIATIONS * math.sqrt(2 * p * (1 - p) / before.test_rows) else 0.0


def _growth(before: Probe, probe: Probe) -> float:
    """Return how much the test accuracy grew in a doubling, on the rows of the test before."""
    was, now = before.test_accuracy, probe.test_accuracy
    if probe.half_test_correct is not None and probe.test_rows // 2 == before.test_rows:
        now = probe.half_test_correct / before.test_rows
    return (now - was) / math.log2(probe.rows / before.rows)


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
    more = range(correct + 1, correct + t + 1)  # K of the union that may go with `correct`
    return bisect_left(more, True, key=lambda k: at_most(correct, s + t, k, s) <= alpha) / t


@lru_cache(maxsize=4096)
def exact_lower(correct: int, s_te: int, t: int, alpha: float) -> float:
    """Return the lower bound: the least accuracy with `correct` of s_te not improbably high."""
    wrong = s_te - correct  # of which there are few
    all_right = range(correct, t - wrong)
    below = bisect_left(all_right, True, key=lambda k: at_most(wrong, t, t - k, s_te) > alpha)
    return (correct + below) / t


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


def estimate(chosen: Prospect, probe: Probe, estimator: Estimator) -> None:
    """Set the interval of the probed configuration (algorithm 2)."""
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
    if chosen.lower > chosen.upper:
        chosen.lower, chosen.upper = min(lower, upper), upper


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
