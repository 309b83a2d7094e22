"""Numbers: today's prediction, members, and their stack, in an average that stays near the best.

*Today's prediction* is that of the live models and the naive baselines
(`leaseboard.algorithms.online_automl.safe.mixture`). The members are trees, Fourier features and
neighbours (`leaseboard.algorithms.online_automl.members.pool`), clipped to the range of labels. A
recursive ridge regression that forgets *stacks* them: it predicts today's error by how far each
member is from it. The prediction is made of the five as today's is made of models and baselines:
their posterior mean, and an aggregate of that and of each of the five.

**Theorem.** For every sequence of labels, after each one, the squared loss is at most that of the
best of today's prediction, the stack, trees, Fourier features and neighbours plus the constant of
`leaseboard.algorithms.online_automl.safe.aggregate` with six experts, and so at most that of the
best naive baseline plus two such constants. A member without a lease is said to predict today's
prediction.

*Proof.* The theorem of the aggregate, of which each of the five is an expert, and that of today's
prediction. ∎
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import Handle, array_at, pointer, quick
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online_automl.members.leases import SAVED
from leaseboard.algorithms.online_automl.members.pool import (
    LOOKED,
    MEMBERS,
    OWN,
    MemberPool,
    any_awake,
    consult,
)
from leaseboard.algorithms.online_automl.safe.aggregate import ALLOWED, FIELDS, new_aggregate
from leaseboard.algorithms.online_automl.safe.expansion import Block
from leaseboard.algorithms.online_automl.safe.mixture import (
    FIRST,
    LOST,
    MASS,
    N_TOTALS,
    SHARE_OF_BOUND,
    Mixture,
    mix,
)
from leaseboard.algorithms.online_automl.safe.passes import (
    PREDICTIONS,
    floats,
    matrix,
    open_block,
    vector,
)
from leaseboard.algorithms.transcendental import exp_all

FORGETTING = 0.999
"""What an example is worth to the stack one example later."""

VARIANCE = 1.0
"""Of each weight of the stack at first, and at most, where errors of today's have variance 1."""

N_EXPERTS = 2 + len(MEMBERS)
"""Today's prediction, the members, and their stack."""


class NumberPool(MemberPool):
    """Members for numbers, and what they and today's prediction say together.

    Attributes
    ----------
    weights, covariance : ndarray of float64, shapes (3,) and (3, 3)
        Of the stack.
    noise : ndarray of float64, shape (3,)
        Today's squared errors and their number, which forget; and 1 after the first example, which
        shows nothing but where 0 is.
    known : Mixture
        Of the five.
    """

    kept: ClassVar[tuple[str, ...]] = (*MemberPool.kept, "weights", "covariance", "noise", "known")

    def __init__(self, n_features: int, gamma: float, seed: int = 0) -> None:
        super().__init__(n_features, 0, seed)
        self.gamma = gamma
        self.weights = np.zeros(len(MEMBERS))
        self.covariance = VARIANCE * np.eye(len(MEMBERS))
        self.noise = np.zeros(3)
        self.known: Mixture = Mixture(
            losses=np.zeros(N_EXPERTS),
            totals=np.zeros(N_TOTALS),
            scores=np.zeros(N_EXPERTS),
            sums=np.zeros((N_EXPERTS, 4)),
            aggregated=new_aggregate(1 + N_EXPERTS),
            place=np.zeros(2),
            untrained=np.zeros(N_EXPERTS, dtype=np.bool_),
        )

    def answer(self, given: Handle, n: int, *, learns: bool) -> None:
        """Replace today's predictions of a block by what all say; if it `learns`, learn it.

        Parameters
        ----------
        given : ndarray of int64
            The handle of a block, see `leaseboard.algorithms.online_automl.safe.passes`.
        n : int
            Its examples.
        learns : bool
            False learns nothing.
        """
        for part in self.parts(n, learns=learns):
            pass_pool(self.handle, given, part.start, part.stop, learns)

    def address(self, given: Handle) -> int:
        """See `MemberPool.address`."""
        return pass_pool.address(self.handle, given, 0, 1, True)

    def _own(self) -> tuple[NDArray[Any], ...]:
        own = np.array([self.gamma])
        return self.weights, self.covariance, self.noise, own, *self.known

    def guaranteed(self, today: float) -> float:
        """Return what may be lost by the theorem, if today's prediction may lose so much."""
        best = min(today, float(self.known.scores.min() - self.known.totals[FIRST]))
        return best + float(self.known.aggregated[ALLOWED])

    def said(self, n_features: int) -> Doubles:
        """Return what each member said of the example that was looked at last, shape (3,)."""
        return np.asarray(self._arrays[LOOKED][1 + n_features :])

    def weighed(self) -> tuple[Doubles, Doubles]:
        """See `MemberPool.weighed`: by the posterior mean, and next to it in the aggregate."""
        losses, shares = self.known.losses, self.known.aggregated[FIELDS:]
        best = losses.min()
        fall = 0.5 * self.known.totals[MASS] / best if best > 0.0 else 1e300
        own = exp_all(np.maximum((best - losses) * fall, -700.0))
        weights = shares[0] * own / own.sum() + shares[1:]
        return weights, np.array([1.0 - self.weights.sum(), *self.weights])

    def notes(self) -> dict[str, float]:
        """See `MemberPool.notes`; and the largest share of what the theorem allows."""
        share = float(self.known.totals[SHARE_OF_BOUND])
        return {**super().notes(), "share_of_members_bound": share}


@quick
@compiled
def pass_pool(pool: Handle, given: Handle, start: int, stop: int, learns: bool) -> None:
    """Let a part of a block go through members, their stack and the mixture of all."""
    k, untrained, whole = OWN + 4, pool[OWN + 10], open_block(given)
    predictions, shown = floats(given, PREDICTIONS)[start:stop], whole.shown[start:stop]
    limits, n = whole.limits[start:stop], len(shown)
    worths = whole.importances[start:stop] if learns else np.zeros(n, np.float32)
    if not any_awake(pool):
        _count(
            predictions, whole.labels[start:stop], worths, vector(pool, k + 1), vector(pool, k + 2)
        )
        return
    today, members = np.empty(n), np.empty((N_EXPERTS - 2, n, 1))
    for t in range(n):
        today[t] = predictions[t]
        members[:, t, 0] = today[t]
    consult(pool, whole.examples[start:stop], shown, worths, members)
    values = np.empty((n, N_EXPERTS))
    stack_numbers(
        today, members, shown, limits, worths, vector(pool, OWN), matrix(pool, OWN + 1),
        vector(pool, OWN + 2), matrix(pool, 0), vector(pool, 1), values,
    )  # fmt: skip
    part = Block(
        whole.examples[start:stop], whole.labels[start:stop], worths, whole.wide[start:stop],
        values, shown, limits,
    )  # fmt: skip
    known = Mixture(
        vector(pool, k), vector(pool, k + 1), vector(pool, k + 2), matrix(pool, k + 3),
        vector(pool, k + 4), vector(pool, k + 5),
        array_at(pointer(untrained[0]), (untrained[1],), np.bool_),
    )  # fmt: skip
    mix(
        np.zeros((n, 0), np.float32), part, np.arange(0), np.arange(N_EXPERTS), 0,
        vector(pool, OWN + 3)[0], known, learns, predictions,
    )  # fmt: skip


@compiled
def _count(
    predictions: Floats, labels: Floats, worths: Floats, totals: Doubles, scores: Doubles
) -> None:
    """Take what all five lose alike where none has a lease: today's prediction is everyone's."""
    for t in range(len(predictions)):
        lost = np.float64(worths[t]) * (np.float64(predictions[t]) - labels[t]) ** 2
        totals[LOST] += lost
        for k in range(len(scores)):
            scores[k] += lost


@compiled(error_model="numpy")
def stack_numbers(
    today: Doubles,
    members: Doubles,
    shown: Doubles,
    limits: Doubles,
    worths: Floats,
    weights: Doubles,
    covariance: Doubles,
    noise: Doubles,
    leases: Doubles,
    lease_lost: Doubles,
    values: Doubles,
) -> None:
    """Write what the five predict of each example, before its label is used."""
    n = len(weights)
    inputs, gain = np.empty(n), np.empty(n)
    for t in range(len(today)):
        low, high = limits[t, 0], limits[t, 1]
        # Today's prediction, what each member differs from it, and the stack of these.
        stacked = values[t, 0] = today[t]
        for m in range(n):
            values[t, 1 + m] = min(max(members[m, t, 0], low), high)
            inputs[m] = values[t, 1 + m] - today[t]
            stacked += weights[m] * inputs[m]
        values[t, 1 + n] = min(max(stacked, low), high)
        worth = np.float64(worths[t])
        if worth <= 0.0:
            continue
        if noise[2] == 0.0:
            noise[2] = 1.0
            continue
        # What a quarter of each member would save today's prediction, in its lease.
        error = today[t] - shown[t]
        for m in range(n):
            mixed = error + 0.25 * inputs[m]
            lease_lost[m] += worth * error * error
            leases[m, SAVED] += worth * (error * error - mixed * mixed)
        # The stack learns by a step of recursive least squares, in units of today's errors.
        noise[0] = FORGETTING * noise[0] + worth * error * error
        noise[1] = FORGETTING * noise[1] + worth
        variance = noise[0] / noise[1]
        if variance <= 0.0:
            continue
        total = 0.0
        for i in range(n):
            gain[i] = 0.0
            for j in range(n):
                gain[i] += covariance[i, j] * inputs[j]
            total += gain[i] * inputs[i]
        step = worth / (variance + worth * total)
        away = shown[t] - stacked
        largest = 0.0
        for i in range(n):
            weights[i] += step * gain[i] * away
            for j in range(n):
                covariance[i, j] -= step * gain[i] * gain[j]
            largest = max(largest, covariance[i, i])
        # It forgets, as far as no variance is beyond what it was at first.
        grown = min(1.0 / FORGETTING, max(VARIANCE / largest, 1.0)) if largest > 0.0 else 1.0
        for i in range(n):
            for j in range(n):
                covariance[i, j] *= grown
