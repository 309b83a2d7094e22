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

import numpy as np

from libc.stdint cimport int64_t

from leaseboard.algorithms.online_automl.members.member cimport Chunk
from leaseboard.algorithms.online_automl.members.pool cimport (
    CHUNK, N_EXPERTS, N_MEMBERS, SAVED, MemberPool,
)
from leaseboard.algorithms.online_automl.safe.aggregate cimport ALLOWED, FIELDS
from leaseboard.algorithms.online_automl.safe.mixture cimport (
    FIRST, LOST, MASS, SHARE_OF_BOUND, Mixture,
)
from leaseboard.algorithms.online_automl.safe.expansion cimport Block

from leaseboard.algorithms.transcendental import exp_all

cdef double _FORGETTING = 0.999
"""What an example is worth to the stack one example later."""

cdef double _VARIANCE = 1.0
"""Of each weight of the stack at first, and at most, where errors of today's have variance 1."""


cdef class NumberPool(MemberPool):
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

    kept = (*MemberPool.kept, "weights", "covariance", "noise", "known")

    cdef public double[::1] weights, noise
    cdef public double[:, ::1] covariance
    cdef public Mixture known
    cdef int64_t[::1] _no_models

    def __init__(self, n_features: int, gamma: float, seed: int = 0) -> None:
        super().__init__(n_features, 0, seed)
        self.weights, self.noise = np.zeros(N_MEMBERS), np.zeros(3)
        self.covariance = _VARIANCE * np.eye(N_MEMBERS)
        self.known = Mixture(0, N_EXPERTS, np.arange(N_EXPERTS), gamma)
        self._no_models = np.zeros(0, dtype=np.int64)

    def guaranteed(self, today: float) -> float:
        """Return what may be lost by the theorem, if today's prediction may lose so much."""
        known = self.known
        best = min(today, float(known.scores.min() - known.totals[FIRST]))
        return best + float(known.aggregated[ALLOWED])

    def said(self):
        """Return what each member said of the example that was looked at last, shape (3,)."""
        return np.asarray(self._said)

    def weighed(self):
        """See `MemberPool.weighed`: by the posterior mean, and next to it in the aggregate."""
        losses, shares = self.known.losses, self.known.aggregated[FIELDS:]
        best = losses.min()
        fall = 0.5 * self.known.totals[MASS] / best if best > 0.0 else 1e300
        own = exp_all(np.maximum((best - losses) * fall, -700.0))
        in_stack = np.asarray(self.weights)
        return shares[0] * own / own.sum() + shares[1:], np.append(1.0 - in_stack.sum(), in_stack)

    def notes(self):
        """See `MemberPool.notes`; and the largest share of what the theorem allows."""
        return {**super().notes(), "share_of_members_bound": self.known.totals[SHARE_OF_BOUND]}

    cdef void consult(self, Block block, Py_ssize_t start, Py_ssize_t stop) noexcept:
        cdef double *today = &self._today[0]
        cdef double values[N_EXPERTS]
        cdef double worth, low, high
        cdef Py_ssize_t m, t, at
        cdef Chunk chunk
        # Where none has a lease today's prediction is everyone's, and all five lose alike.
        if not self.any_awake():
            for t in range(start, stop if block.learns else start):
                label = block._predictions[t] - <double>block._labels[t]
                lost = block._importances[t] * (label * label)
                self.known._totals[LOST] += lost
                for m in range(N_EXPERTS):
                    self.known._scores[m] += lost
            return
        self.known.begin(self._no_models)
        while start < stop:
            chunk.n = min(stop - start, CHUNK)
            chunk.examples, chunk.targets = &block._examples[start, 0], &block._shown[start]
            chunk.worths = &block._importances[start] if block.learns else &self._nothing[0]
            for t in range(chunk.n):
                today[t] = block._predictions[start + t]
                for m in range(N_MEMBERS):
                    self._found[m, t, 0] = today[t]
            self.ask(&chunk)
            for t in range(chunk.n):
                # Today's prediction, the members within the range of labels, and their stack.
                at, worth = start + t, chunk.worths[t]
                low, high = block._limits[at, 0], block._limits[at, 1]
                values[0] = today[t]
                for m in range(N_MEMBERS):
                    values[1 + m] = min(max(self._found[m, t, 0], low), high)
                self.stack(values, block._shown[at], low, high, worth)
                # The mixture of the five.
                block._predictions[at] = self.known.predict(values)
                if worth > 0.0:
                    self.known.learn(values, 0, block, at)
            start += chunk.n

    cdef void stack(
        self, double *values, double shown, double low, double high, double worth
    ) noexcept nogil:
        """Write what the stack says of an example into `values`, before its label is used."""
        cdef double inputs[N_MEMBERS]
        cdef double gain[N_MEMBERS]
        cdef double *weights = &self.weights[0]
        cdef double *noise = &self.noise[0]
        cdef double today = values[0], stacked = values[0], total = 0.0, largest = 0.0
        cdef Py_ssize_t m, i, j
        for m in range(N_MEMBERS):
            inputs[m] = values[1 + m] - today
            stacked += weights[m] * inputs[m]
        values[1 + N_MEMBERS] = min(max(stacked, low), high)
        if worth <= 0.0:
            return
        if noise[2] == 0.0:
            noise[2] = 1.0
            return
        # What a quarter of each member would save today's prediction, in its lease.
        error = today - shown
        for m in range(N_MEMBERS):
            mixed = error + 0.25 * inputs[m]
            self._lost[m] += worth * error * error
            self._leases[m, SAVED] += worth * (error * error - mixed * mixed)
        # The stack learns by a step of recursive least squares, in units of today's errors.
        noise[0] = _FORGETTING * noise[0] + worth * error * error
        noise[1] = _FORGETTING * noise[1] + worth
        variance = noise[0] / noise[1]
        if variance <= 0.0:
            return
        for i in range(N_MEMBERS):
            gain[i] = 0.0
            for j in range(N_MEMBERS):
                gain[i] += self.covariance[i, j] * inputs[j]
            total += gain[i] * inputs[i]
        step = worth / (variance + worth * total)
        away = shown - stacked
        for i in range(N_MEMBERS):
            weights[i] += step * gain[i] * away
            for j in range(N_MEMBERS):
                self.covariance[i, j] -= step * gain[i] * gain[j]
            largest = max(largest, self.covariance[i, i])
        # It forgets, as far as no variance is beyond what it was at first.
        if largest > 0.0:
            grown = min(1.0 / _FORGETTING, max(_VARIANCE / largest, 1.0))
            for i in range(N_MEMBERS):
                for j in range(N_MEMBERS):
                    self.covariance[i, j] *= grown
