"""The prediction of many live models: a posterior mean that forgets, kept near the baselines.

Each live model is a hypothesis "the label is Gaussian around my prediction". With the noise
variance σ² estimated by the best model's recent loss, its posterior weight is

    w_c ∝ π_c exp(-(L_c - L_best) / (2 σ²)),   σ² = L_best / N,

where L_c discounts c's squared losses by γ an example and N is their number, discounted alike. Of
the first examples they are discounted faster, so that the loss of example s counts (s / t)² after
t: what a model lost before it knew anything says little about the next example. Priors π_c are
equal, but for the simplest, which has `PREFERENCE` times that of others: among models that explain the
past equally well it is preferred, and a line goes on as a line beyond the examples. σ is at least
`_ALIKE` of the range of labels, below which errors do not distinguish models.

This is dynamic model averaging [1]_. Without forgetting it is the exponentially weighted
predictor, whose regret to the best live model is at most ln(b) / η as long as squared loss is
η-exp-concave there, η ≤ 1 / (2 max (p - y)²) [2]_; σ² in the place of the maximum reacts
faster. What bounds the loss is that this mean is not the prediction, but the first of a few
experts that are averaged (`leaseboard.algorithms.online_automl.safe.aggregate`); others are
baselines.

References
----------
.. [1] Raftery, Karny, Ettler. Online prediction under model uncertainty via dynamic model
       averaging. Technometrics 52, 2010. https://doi.org/10.1198/TECH.2009.08104
.. [2] Cesa-Bianchi, Lugosi. Prediction, learning, and games. 2006, section 3.3.
"""

from libc.math cimport INFINITY

import numpy as np

from leaseboard.algorithms.elementary cimport exp
from leaseboard.algorithms.online_automl.safe.aggregate cimport ALLOWED, aggregate, weigh
from leaseboard.algorithms.online_automl.safe.expansion cimport MEAN_SO_FAR

from leaseboard.algorithms.online_automl.safe.aggregate import join, new_aggregate

PREFERENCE = 20.0
"""How many times the prior of another model the simplest one has."""

cdef double _PREFERENCE = PREFERENCE

cdef double _ALIKE = 3e-4
"""Share of the range of labels below which errors do not distinguish models."""


cdef class Mixture(Buffers):
    """State of the slots, those of models first and those of simple models after them.

    Parameters
    ----------
    b, n_slots : int
        Slots of models, and of all.
    baselines : ndarray of int64
        Slots of what the prediction must stay near.
    gamma : float
        What a loss is worth one example later.
    simplest : int
        The slot that is preferred among equals; it always predicts.

    Attributes
    ----------
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    totals : ndarray of float64, shape (N_TOTALS,)
        N of the module's formula, the examples, what all lost on the first, where all predict 0;
        from there on what the predictions lost, and the largest share of what the best baseline's
        loss and the theorem's constant allow that this ever was; and 1 / 2 σ² of the last one.
    scores : ndarray of float64, shape (n_slots,)
        Sums of squared loss.
    sums : ndarray of float64, shape (n_slots, 4)
        Of D, of D², of the model's own loss and of its square, where D is the champion's loss
        minus the model's on one example, over the window that both have in common.
    aggregated : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.aggregate`.
    place : ndarray of float64, shape (2,)
        Models learn labels less the first and over the second; 0 while all labels are equal.
    untrained : ndarray of bool, shape (n_slots,)
        Models that have learned nothing yet: they take their losses, but have no weight.
    """

    def __init__(
        self, Py_ssize_t b, Py_ssize_t n_slots, baselines, double gamma, Py_ssize_t simplest
    ):
        self.b, self.n_slots, self.gamma, self.simplest = b, n_slots, gamma, simplest
        super().__init__(
            losses=np.zeros(n_slots),
            totals=np.zeros(N_TOTALS),
            scores=np.zeros(n_slots),
            sums=np.zeros((n_slots, 4)),
            aggregated=new_aggregate(1 + len(baselines)),
            place=np.zeros(2),
            untrained=np.zeros(n_slots, dtype=np.uint8),
        )
        self.mixed, self.weighed = np.zeros((2, n_slots), dtype=np.int64)
        self.shares = np.zeros(n_slots)
        self._protect(baselines)

    def _protect(self, baselines):
        self.baselines, self.experts = baselines, np.zeros(1 + len(baselines))

    def join(self, slot):
        """Let one slot more be a baseline: what it lost before is what the prediction has lost."""
        self._protect(np.append(self.baselines, slot))
        self.put(aggregated=join(self.aggregated))
        self._scores[<Py_ssize_t>slot] = self._totals[LOST] + self._totals[FIRST]

    cpdef void begin(self, const int64_t[::1] live) noexcept:
        cdef Py_ssize_t n_live = live.shape[0], k, slot
        # A model that has learned nothing has no weight on its first example.
        self.n_mixed, self.n_weighed = n_live + self.n_slots - self.b, 0
        for k in range(self.n_mixed):
            slot = self.mixed[k] = live[k] if k < n_live else self.b + k - n_live
            if not self._untrained[slot]:
                self.weighed[self.n_weighed] = slot
                self.n_weighed += 1

    cdef float predict(self, const double *values, double width) noexcept nogil:
        cdef Py_ssize_t k, n = self.n_weighed
        cdef double noise = _ALIKE * width, eta = _learning_rate(
            &self.weighed[0], n, &self._losses[0], self._totals[MASS]
        )
        # The posterior mean is the first expert, the baselines are the others. The slots from b on
        # are the last that are weighed.
        if noise > 0.0:
            eta = min(eta, 0.5 / (noise * noise))
        self._totals[ETA] = eta
        self.experts[0] = mean_of(
            values, &self.weighed[0], n, &self._losses[0], eta, &self.shares[0],
            n - self.n_slots + self.simplest, _PREFERENCE,
        )
        for k in range(self.baselines.shape[0]):
            self.experts[1 + k] = values[self.baselines[k]]
        self.exact = aggregate(self.experts, self._aggregated)
        return <float>self.exact

    cdef void learn(self, const double *values, Py_ssize_t champion, Row row) noexcept nogil:
        cdef double *totals = &self._totals[0]
        cdef double *sums
        cdef double gamma = worth_later(self.gamma, totals[COUNT]), standard, loss, difference, lost, best = INFINITY, allowed
        cdef double label = row.label, importance = row.importance, shown = row.shown
        cdef Py_ssize_t k, slot
        # Before the first label all predict 0: what that loses shows nothing but where 0 is.
        cdef bint first = totals[COUNT] == 0.0
        if first:
            shown = 0.0
        totals[MASS] = gamma * totals[MASS] + importance
        totals[COUNT] += 1.0
        if self.n_weighed < self.n_mixed:
            self.n_weighed = self.n_mixed
            for k in range(self.n_slots):
                self.weighed[k], self._untrained[k] = self.mixed[k], False
        # Take the losses, and their differences from the champion's.
        standard = importance * _square(values[champion] - shown)
        for k in range(self.n_mixed):
            slot = self.mixed[k]
            loss = importance * _square(values[slot] - shown)
            self._losses[slot] = gamma * self._losses[slot] + loss
            difference, sums = standard - loss, &self._sums[slot, 0]
            sums[ADVANTAGE] += difference
            sums[SQUARES] += difference * difference
            sums[LOSS] += loss
            sums[LOSS_SQUARES] += loss * loss
            self._scores[slot] += importance * _square(values[slot] - label)
        if first:
            totals[FIRST] = importance * label * label
            return
        # Weigh the experts; the first three labels are shown even beyond the range.
        weigh(
            self.experts, label, min(max(shown, row.low), row.high), row.high - row.low,
            self._aggregated, importance,
        )
        # Hold what was lost against what the theorem allows.
        lost = importance * _square(row.prediction - label)
        self._aggregated[ALLOWED] += max(0.0, lost - importance * _square(self.exact - label))
        totals[LOST] += lost
        for k in range(self.baselines.shape[0]):
            best = min(best, self._scores[self.baselines[k]] - totals[FIRST])
        allowed = best + self._aggregated[ALLOWED]
        if allowed > 0.0:
            totals[SHARE_OF_BOUND] = max(totals[SHARE_OF_BOUND], totals[LOST] / allowed)

    cpdef void mix(self, Row row) noexcept:
        """Predict by the models' outputs, before the label is used; learn it if the row does."""
        cdef double center = self._place[0], spread = self._place[1], value
        cdef double *values = &row.values[0]
        cdef Py_ssize_t k, slot
        # What the models predict in the labels' own unit and range: their mean while all are
        # equal.
        for k in range(row.live.shape[0]):
            slot, value = row.live[k], values[self.b + MEAN_SO_FAR]
            if spread != 0.0:
                value = center + spread * row.outputs[slot]
                value = min(max(value, row.low), row.high)
            values[slot] = value
        row.prediction = self.predict(values, row.high - row.low)
        if row.learns and row.importance > 0.0:
            self.learn(values, row.champion, row)


cdef inline double _square(double x) noexcept nogil:
    return x * x


cdef double _learning_rate(
    const int64_t *live, Py_ssize_t n, const double *losses, double mass
) noexcept nogil:
    cdef Py_ssize_t k
    cdef double best = INFINITY
    for k in range(n):
        best = min(best, losses[live[k]])
    return 0.5 * mass / best if best > 0.0 else INFINITY


cdef double mean_of(
    const double *outputs, const int64_t *live, Py_ssize_t n, const double *losses, double eta,
    double *shares, Py_ssize_t simplest, double prior,
) noexcept nogil:
    cdef Py_ssize_t k
    cdef double best = INFINITY, total = 0.0, mean = 0.0, share
    # The least loss, by which no weight overflows.
    for k in range(n):
        best = min(best, losses[live[k]])
    # Weights that fall with the excess over it: a loop that is vectorised; then the mean.
    for k in range(n):
        shares[k] = losses[live[k]] - best
    for k in range(n):
        share = exp(-eta * shares[k])
        shares[k] = share if shares[k] > 0.0 else 1.0
    shares[simplest] *= prior
    for k in range(n):
        total += shares[k]
        mean += shares[k] * outputs[live[k]]
    return mean / total


def learning_rate(const int64_t[::1] live, const double[::1] losses, double mass):
    """Return η = 1 / (2 σ²), so that the weight of a model is exp(-η (L_c - L_best)).

    As the best loss goes to 0, η goes to infinity: no noise is left to excuse an error.

    Examples
    --------
    >>> learning_rate(np.arange(2), np.array([5.0, 8.0]), 10.0)
    1.0
    >>> learning_rate(np.arange(2), np.array([0.0, 8.0]), 10.0)
    inf
    """
    return _learning_rate(&live[0], live.shape[0], &losses[0], mass)


def posterior_mean(
    const double[::1] outputs, const int64_t[::1] live, const double[::1] losses, double eta
):
    """Return the average of the live models' predictions by their posterior weights.

    Parameters
    ----------
    outputs : ndarray of float64, shape (n_slots,)
    live : ndarray of int64, shape (n_live,)
        The occupied slots.
    losses : ndarray of float64, shape (n_slots,)
        Discounted sums of loss, L_c.
    eta : float
        See `learning_rate`; where it is infinite, the models of least loss share all weight.

    Examples
    --------
    >>> outputs, live = np.array([0.0, 1.0]), np.arange(2)
    >>> posterior_mean(outputs, live, np.array([1.0, 1.0]), 5.0)
    0.5
    >>> round(posterior_mean(outputs, live, np.array([1.0, 1.2]), 5.0), 4)
    0.2689
    """
    cdef double[::1] shares = np.empty(live.shape[0])
    return mean_of(
        &outputs[0], &live[0], live.shape[0], &losses[0], eta, &shares[0], 0, 1.0
    )
