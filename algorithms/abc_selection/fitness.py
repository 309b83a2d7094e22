r"""Whether a configuration fits its samples, seen as it runs, and what its upper bound is if not.

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
"""

import math
from collections.abc import Sequence
from itertools import pairwise

from leaseboard.algorithms.environments.selecting import Probe

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
