r"""Cross-validation that stops: who cannot be the best any more is spared the remaining folds.

In each fold every remaining configuration is tested on the same rows, so two of them give a pair
of verdicts a row: X = 1 where i is right and j wrong (a win of i), -1 the other way round (a
loss), 0 where they agree (a tie). theta = E X is what i has over j.

The bet
-------
Against "theta >= e" a share c of a capital of 1 is staked on every row. A win multiplies
it by 1 - c, a tie by 1 + c e / (1 - e), a loss by 1 + c (1 + e) / (1 - e): that is 1 + b (e - X)
with b = c / (1 - e), whose expectation is 1 + b (e - theta) <= 1 where the claim holds. A mean
of capitals, one for each share in `SHARES`, needs no guess of the right share. Each grows with
e, so there is a largest e that is not refuted: `most`, the upper bound of theta.

Theorem
-------
Suppose that, given all verdicts of earlier folds, the verdicts of a fold are independent with a
mean that is theta_ij in every fold: fold models are as good as each other, and what was tested
does not predict the verdicts on those rows that it helped to train on. Let a configuration be
dropped when the capital against "it has epsilon or more over the leader" reaches (n - 1) / delta,
and let no configuration be dropped that another was dropped for. Then with probability 1 - delta
the best, or one that is at most epsilon worse, is never dropped, for any leaders.

*Proof.* Let b be the best. For each j with theta_bj >= epsilon the capital against it is a
non-negative supermartingale that starts at 1, so by Ville's inequality it ever reaches (n - 1) /
delta with probability delta / (n - 1) at most. So with probability 1 - delta b is never dropped,
or by some j that is less than epsilon worse; and who drops is not dropped (it may yet fail to
train). Where folds are stratified the mean of X differs from class to class; the product of 1 + b
(e - theta_r) is at most the power of its mean (of arithmetic and geometric means), and the capital
is looked at only where a fold ends.

The assumption holds exactly for classifiers that do not depend on their training rows, and in the
limit for stable ones (Bayle et al. 2020: cross-validated error minus the fold models' own is
normal as if rows were independent). It is wrong for unstable ones: of fair coins, a fold each, a
learner that says the parity of its labels is right in every fold or in none.

References
----------
Bergman, Purucker, Hutter. Don't waste your time: early stopping cross-validation. AutoML 2024.
Waudby-Smith, Ramdas. Estimating means of bounded random variables by betting. JRSS B 86 (2024).
Bayle, Bayle, Janson, Mackey. Cross-validation confidence intervals for test error. NeurIPS 2020.
"""

import math
from collections.abc import Callable
from typing import Annotated

import numpy as np
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.base import Run
from leaseboard.algorithms.environments.samples import FoldsAlgorithm, FoldsEnvironment
from leaseboard.algorithms.events import BoundsUpdated, Eliminated, Measured

SHARES = (0.9, 0.5, 0.25, 0.125, 0.0625)
"""Of the capital that are staked. Best is theta over the rate of disagreement: halves reach from
one-sided pairs to those that need some hundred disagreements."""

PRECISION = 1e-6
"""Of an upper bound, which is rounded up."""

Pairing = tuple[int, int, int]  # wins, ties and losses of one configuration against another


@dataclass(frozen=True, kw_only=True)
class CrossValidation(FoldsAlgorithm):
    """Every configuration on every fold, and the best mean: what grid searches do."""

    def run(self, env: FoldsEnvironment, seed: int) -> Run:
        """Test all configurations, fold after fold."""
        yield from _folds(env, lambda _pairing: (1.0, False))  # drops none


@dataclass(frozen=True, kw_only=True)
class EarlyStoppedCV(FoldsAlgorithm):
    """Cross-validation that drops, after each fold, those that cannot be the best any more.

    Parameters
    ----------
    epsilon : float
        Accuracy that may be lost.
    delta : float
        Probability with which more may be lost by dropping.

    Notes
    -----
    Choosing by the mean of all folds has an error of its own, which no guarantee covers: it is
    that of cross-validation.

    Examples
    --------
    >>> from leaseboard.algorithms.checks import tiny_environment
    >>> env = tiny_environment("folds")
    >>> events = list(EarlyStoppedCV().run(env, seed=0))
    >>> env.champion, env.at  # of 16 fits
    (3, 13)
    """

    epsilon: Annotated[float, Field(ge=0, lt=1)] = 0.01
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.1

    def run(self, env: FoldsEnvironment, seed: int) -> Run:
        """Test those that remain, fold after fold."""
        level = (len(env.configurations) - 1) / self.delta

        def refuted(pairing: Pairing) -> tuple[float, bool]:
            upper = most(pairing, level)
            return upper, upper <= self.epsilon

        yield from _folds(env, refuted)


def log_capital(pairing: Pairing, e: float) -> float:
    """Return the logarithm of the capital against "theta >= e", -1 < e < 1.

    Parameters
    ----------
    pairing : tuple of int
        Wins, ties and losses in all folds together.
    e : float

    Examples
    --------
    >>> round(log_capital((0, 90, 10), 0.0), 2)
    4.92
    """
    wins, ties, losses = pairing
    logs = [
        wins * math.log1p(-share)
        + ties * math.log1p(share * e / (1 - e))
        + losses * math.log1p(share * (1 + e) / (1 - e))
        for share in SHARES
    ]
    top = max(logs)
    return top + math.log(sum(math.exp(each - top) for each in logs) / len(SHARES))


def most(pairing: Pairing, level: float) -> float:
    """Return the upper bound of theta: the least e whose capital reaches `level`; 1 if none.

    Examples
    --------
    >>> most((0, 90, 10), 10.0) < 0 < most((5, 90, 5), 10.0)
    True
    """
    low, high = -1 + 1e-9, 1 - 1e-9
    if log_capital(pairing, high) < math.log(level):
        return 1.0
    while high - low > PRECISION:
        middle = (low + high) / 2
        if log_capital(pairing, middle) < math.log(level):
            low = middle
        else:
            high = middle
    return high


def pairing(one: str, other: str) -> Pairing:
    """Return how often of two rows of verdicts the one, neither and the other is right alone.

    Examples
    --------
    >>> pairing("1101", "1010")
    (2, 1, 1)
    """
    mine, theirs = (np.frombuffer(each.encode(), np.uint8) for each in (one, other))
    wins, losses = int(np.sum(mine > theirs)), int(np.sum(mine < theirs))
    return wins, len(mine) - wins - losses, losses


def _folds(env: FoldsEnvironment, refuted: Callable[[Pairing], tuple[float, bool]]) -> Run:
    """Test those that remain on one fold after the other; the best mean leads.

    `refuted` says how much a configuration may have over the leader at most, and whether it is
    to be dropped.
    """
    remaining = yield from env.admit()
    yield from env.crown(remaining[0])
    right = dict.fromkeys(remaining, "")
    droppers: set[int] = set()  # configurations that others were dropped for, which stay
    for fold in range(env.folds):
        if len(remaining) == 1:
            return
        failed = {}
        for index in remaining:
            probe = yield from env.test(index, fold)
            if probe is None:
                return
            if probe.status == "ok":
                right[index] += probe.right
            else:
                failed[index] = probe
        remaining = [index for index in remaining if index not in failed]
        if remaining:
            mean = {index: right[index].count("1") / len(right[index]) for index in remaining}
            leader = max(remaining, key=lambda index: (mean[index], index in droppers, -index))
            yield from env.crown(leader)
        for index, probe in failed.items():
            yield from env.fail(index, probe, None)
        if not remaining:
            return
        for index in list(remaining):
            pair = pairing(right[index], right[leader])
            above, drop = (0.0, False) if index == leader else refuted(pair)
            upper = min(1.0, max(mean[leader] + above, mean[index]))
            yield BoundsUpdated(
                at=env.at,
                configuration=index,
                value=mean[index],
                lower=0.0,  # the bet bounds from above only
                upper=upper,
                units=fold + 1,
            )
            if drop and index not in droppers and fold + 1 < env.folds:
                droppers.add(leader)
                remaining.remove(index)
                yield Eliminated(
                    at=env.at,
                    configuration=index,
                    reason=f"after {fold + 1} of {env.folds} folds at most {above:.4f} above"
                    f" configuration {leader}",
                )
        yield Measured(at=env.at, value=mean[leader])
