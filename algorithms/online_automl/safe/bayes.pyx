"""A probability that is nearly as good as that of the best of a few predictors, at all times.

K experts give each label that may come a probability. Bayes' rule with a fixed share averages
them:

    p̄_t = Σ_k w_t(k) p_t(k),    v_t(k) = w_t(k) p_t(k)(y_t) / p̄_t(y_t),
    w_{t+1}(k) = (1 - α_t) v_t(k) + α_t / K,

with w_1 = 1/K and the shares α_t of `leaseboard.algorithms.online_automl.safe.mixture`, for
which A = Σ ln 1 / (1 - α_t) is less than 1.6.

**Theorem.** For every sequence of labels and every expert k, at each time T,

    Σ_{t≤T} -ln p̄_t(y_t) ≤ Σ_{t≤T} -ln p_t(k)(y_t) + ln K + A,

and over every interval r ≤ t ≤ s the same with ln (K / α_r) + A in the place of the constant.

*Proof.* p̄_t(y_t) = w_t(k) p_t(k)(y_t) / v_t(k), and v_t(k) ≤ w_{t+1}(k) / (1 - α_t). So

    -ln p̄_t(y_t) + ln p_t(k)(y_t) = ln v_t(k) - ln w_t(k)
                                   ≤ ln w_{t+1}(k) - ln w_t(k) + ln 1 / (1 - α_t).

The sum telescopes; w ≤ 1, w_1 = 1/K and w_r ≥ α_r / K. ∎

The log loss is mixable, so the constant does not grow with time, and no label, learning rate or
bound of the losses enters it [1]_.

**Two classes:** from predictions of labels -1 and 1 to the probability of the second class.

The race learns squared loss, which is proper: (1 + ŷ) / 2 is a probability. It is not the best
one. Near 0 and 1 it is too sure, and what a few predictions say together is more than what their
average says. So a logistic regression *stacks* them: on the logits of the mixture, of a
nimble one that weighs the models by their last ten or so losses, of the champion and of the two
logistic simple models, and on the last label, it learns online, by an extended Kalman filter [2]_
that forgets (`stack`), beginning with the mixture alone.

The probability that is predicted is an average of this, of the mixture and of naive baselines, by
Bayes' rule (above): so it is calibrated where the stack
is, and its log loss is at no time more than ln 7 + 1.6 above that of the best of

- how often the class came, after the label before, and after the one a season ago (Krichevsky and
  Trofimov's estimates, unchanged);
- the logistic regression and c_init, which at example t give no class less than 1 / (1000 + t);
  for that they lose at most ln(1 + T / 1000) more than without.

References
----------
.. [1] Vovk. Aggregating strategies. COLT 1990. Cesa-Bianchi, Lugosi. Prediction, learning, and
       games. 2006, chapter 9.
.. [2] Anderson, Blair, 1982; as the logistic regressions, see
   `leaseboard.algorithms.reference.ridge`.
.. [3] Platt. Probabilistic outputs for support vector machines. 1999: the same with one logit.
"""

from libc.math cimport INFINITY, sqrt

import numpy as np

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.safe.expansion cimport (
    LAST, RIDGE, RIDGE_ON_PAST, SEASON,
)
from leaseboard.algorithms.online_automl.safe.mixture cimport _SHARES, mean_of, share

VARIANCE = 0.1
"""Of each weight at first, and at most."""

SURE_AFTER = 1000.0
"""A predictor that may be sure gives no class less than 1 / (SURE_AFTER + t) at example t."""

cdef double _VARIANCE = VARIANCE, _SURE_AFTER = SURE_AFTER
cdef double FORGETTING = 0.999  # what an example is worth to the stack one example later
# The least curvature of an example: one that the weights were wrong about, and sure, must not
# throw them far.
cdef double FLATTEST = 0.02
cdef double NEAREST = 0.02  # the logits that are stacked are of probabilities no nearer to 0 and 1
cdef double NIMBLE = 0.9  # what a loss is worth to the nimble mixture one example later
cdef double LARGEST_MARGIN = 30.0  # bound of the log odds of the stack: none is sure


def new_weights(Py_ssize_t n_experts):
    """Return the state before any label: how many labels came, then the weights."""
    return np.concatenate(([0.0], np.full(n_experts, 1.0 / n_experts)))


def regret_bound(Py_ssize_t n_experts):
    """Return ln K + A, by which the mixture's loss may exceed its best expert's, in nats.

    Examples
    --------
    >>> round(regret_bound(7), 3)
    3.546
    """
    return log(n_experts) + _SHARES


cpdef double average(const double[::1] probabilities, const double[::1] state) noexcept nogil:
    """Return p̄_t of one label, which the experts give these probabilities.

    Examples
    --------
    >>> average(np.array([0.2, 0.6]), new_weights(2))
    0.4
    """
    cdef double total = 0.0
    for k in range(probabilities.shape[0]):
        total += state[1 + k] * probabilities[k]
    return total


cpdef void learn(
    double[::1] probabilities, double worth, double[::1] state, double[::1] lost,
    Py_ssize_t n_baselines,
) noexcept nogil:
    """Learn that the label came which the experts gave these probabilities.

    Parameters
    ----------
    probabilities : ndarray of float64, shape (n_experts,)
        Overwritten.
    worth : float
        What the example counts, at most 1, up to which the log loss is mixable.
    state : ndarray of float64
    lost : ndarray of float64, shape (n_experts + 2,)
        The log loss of each expert and of the average, and the largest excess at any time of the
        latter over that of the best baseline; updated.
    n_baselines : int
        The first experts.

    Examples
    --------
    >>> state, lost = new_weights(2), np.zeros(4)
    >>> learn(np.array([0.2, 0.6]), 1.0, state, lost, 2)
    >>> state.round(4).tolist()  # of 1/4 and 3/4, then a share of .2762
    [1.0, 0.319, 0.681]
    """
    cdef Py_ssize_t n = probabilities.shape[0]
    cdef double best = INFINITY, total, loss, alpha
    # What all lose.
    lost[n] -= worth * log(average(probabilities, state))
    for k in range(n):
        loss = worth * log(probabilities[k])
        lost[k] -= loss
        if worth < 1.0:
            probabilities[k] = exp(loss)
        if k < n_baselines:
            best = min(best, lost[k])
    lost[n + 1] = max(lost[n + 1], lost[n] - best)
    # Bayes' rule, and a share.
    state[0] += 1.0
    alpha, total = share(state[0]), average(probabilities, state)
    for k in range(n):
        state[1 + k] = (1.0 - alpha) * state[1 + k] * probabilities[k] / total + alpha / n


cpdef void one_vs_rest(const double[::1] margins, double[::1] found) noexcept:
    """Write the probabilities of log odds of all classes but the first, scaled to 1.

    Examples
    --------
    >>> found = np.empty(3)
    >>> one_vs_rest(np.log([1 / 3, 1 / 3]), found)  # 1/4 and 1/4
    >>> found.round(12).tolist()
    [0.5, 0.25, 0.25]
    """
    cdef double left = 1.0
    for k in range(margins.shape[0]):
        found[1 + k] = 1.0 / (1.0 + exp(-min(max(margins[k], -500.0), 500.0)))
        left -= found[1 + k]
    found[0] = left  # the first class has what the others leave
    scale(&found[0], found.shape[0], 0.0)


cdef void scale(double *values, Py_ssize_t n, double least) noexcept nogil:
    """Raise probabilities to `least`, and scale them to the sum 1."""
    cdef double total = 0.0
    for k in range(n):
        values[k] = max(values[k], least)
        total += values[k]
    for k in range(n):
        values[k] /= total


cdef class LogOdds(Buffers):
    """State of what makes predictions of labels -1 and 1 into log odds of the second class.

    Parameters
    ----------
    b : int
        Slots of models, c_init's first.

    Attributes
    ----------
    recent : ndarray of float64, shape (b,)
        Of each slot, the squared losses that the nimble mixture weighs by.
    errors : ndarray of float64, shape (b,)
        Of each slot, how often its model was for the wrong class.
    weights : ndarray of float64, shape (INPUTS,)
        Of the stack.
    covariance : ndarray of float64, shape (INPUTS, INPUTS)
        Of these weights.
    counts : ndarray of float64, shape (5, 2)
        How often each class came: at all, after the first and second class, and after them one
        season ago.
    bayes : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.bayes`.
    lost : ndarray of float64, shape (N_EXPERTS + 2,)
        The log loss of each expert, of the average, and the largest excess at any time of the
        latter over that of the best naive baseline.
    """

    def __init__(self, Py_ssize_t b):
        self.b = b
        super().__init__(
            recent=np.zeros(b),
            errors=np.zeros(b),
            weights=np.eye(INPUTS)[1].copy(),
            covariance=VARIANCE * np.eye(INPUTS),
            counts=np.zeros((5, 2)),
            bayes=new_weights(N_EXPERTS),
            lost=np.zeros(N_EXPERTS + 2),
        )
        self.inputs, self.probabilities, self.shares = map(np.empty, (INPUTS, N_EXPERTS, b))

    def begin(self, Py_ssize_t slot, parent):
        """Make room for a new model in `slot`, to be weighed like the one in slot `parent`."""
        self._recent[slot] = 0.0 if parent is None else self._recent[<Py_ssize_t>parent]
        self._errors[slot] = 0.0

    cpdef void take(self, Row row) noexcept:
        """Replace the prediction of a row by log odds, then learn its label.

        An example of importance 0 teaches nothing; one of more than 1 counts for Bayes' rule as
        one of 1.
        """
        probability = _predict(self, row)
        row.prediction = <float>log(probability / (1.0 - probability))
        if row.learns and row.importance > 0.0:
            _learn(self, row)


cdef double _predict(LogOdds odds, Row row) noexcept nogil:
    """Return the experts' average; write the stack's inputs, and what each expert gives."""
    cdef const double *values = &row.values[0]
    cdef const double *simple = values + odds.b
    cdef double[::1] inputs = odds.inputs, probabilities = odds.probabilities
    cdef double margin = 0.0, least, prediction = row.prediction
    cdef Py_ssize_t j, season = _after(simple[SEASON])
    # What is stacked: a constant, logits, and the last label.
    inputs[0], inputs[6] = 1.0, simple[LAST]
    inputs[1] = logit(prediction)
    inputs[2] = logit(mean_of(
        values, &row.live[0], row.live.shape[0], &odds._recent[0], 1.0, &odds.shares[0], 0, 1.0
    ))
    inputs[3], inputs[4] = logit(values[row.champion]), logit(simple[RIDGE])
    inputs[5] = logit(simple[RIDGE_ON_PAST])
    for j in range(INPUTS):
        margin += odds._weights[j] * inputs[j]
    margin = min(max(margin, -LARGEST_MARGIN), LARGEST_MARGIN)
    # Frequencies, at all and after labels of the past; then predictors and their stack.
    probabilities[FREQUENCY] = _share(&odds._counts[0, 0])
    probabilities[AFTER_LAST] = _share(&odds._counts[_after(simple[LAST]), 0])
    probabilities[AFTER_SEASON] = _share(&odds._counts[season + 2 if season else 0, 0])
    probabilities[LOGISTIC] = 0.5 + 0.5 * simple[RIDGE]
    probabilities[INITIAL] = 0.5 + 0.5 * values[0]
    probabilities[MIXTURE] = 0.5 + 0.5 * prediction
    probabilities[STACK] = 1.0 / (1.0 + exp(-margin))
    # Frequencies are never 0 or 1; the other experts are bounded, more weakly as examples come.
    least = 1.0 / (_SURE_AFTER + odds._counts[0, 0] + odds._counts[0, 1])
    for j in range(LOGISTIC, N_EXPERTS):
        probabilities[j] = min(max(probabilities[j], least), 1.0 - least)
    return average(probabilities, odds._bayes)


cdef void _learn(LogOdds odds, Row row) noexcept nogil:
    cdef const double *values = &row.values[0]
    cdef const double *simple = values + odds.b
    cdef double[::1] probabilities = odds.probabilities
    cdef double label = row.label, importance = row.importance, loss
    cdef bint second = label > 0.0
    cdef Py_ssize_t k, slot, last = _after(simple[LAST]), season = _after(simple[SEASON])
    # Let the nimble mixture, the stack and the frequencies learn: all examples, and those
    # after each label and each label a season ago.
    for k in range(row.live.shape[0]):
        slot = row.live[k]
        loss = (values[slot] - label) * (values[slot] - label)
        odds._recent[slot] = NIMBLE * odds._recent[slot] + importance * loss
        odds._errors[slot] += importance * ((values[slot] > 0.0) != second)
    stack(
        odds.inputs, probabilities[STACK], second, odds._weights, odds._covariance, importance
    )
    odds._counts[0, second] += importance
    if last:
        odds._counts[last, second] += importance
        odds._counts[season + 2, second] += importance
    # Weigh the experts by their probabilities of the class that came.
    if not second:
        for k in range(N_EXPERTS):
            probabilities[k] = 1.0 - probabilities[k]
    learn(probabilities, min(importance, 1.0), odds._bayes, odds._lost, N_BASELINES)


cpdef void stack(
    const double[::1] inputs, double probability, bint second, double[::1] weights,
    double[:, ::1] covariance, double importance=1.0,
) noexcept nogil:
    """Learn one label by a step of the extended Kalman filter.

    Weights have a covariance P. With inputs x, the probability p of the second class, c = p (1 -
    p) but no less than `FLATTEST`, and λ = `FORGETTING`, a label y of 0 or 1 makes of them

        w + P x (y - p) / (1 + c xᵀPx)   and   D (P - c P x xᵀ P / (1 + c xᵀPx)) D / λ,

    where D scales down each direction whose variance would be beyond `VARIANCE`: an input that
    says nothing, or the same as another, does not keep the others from forgetting. P is computed
    as half a matrix: rounding would make it asymmetric, and λ that larger and larger.

    Parameters
    ----------
    inputs : ndarray of float64, shape (n,)
        At most `INPUTS`.
    probability : float
        Of the second class, by these weights.
    second : bool
        Whether it came.
    weights, covariance : ndarray of float64, shapes (n,) and (n, n)
        Updated.
    importance : float
        Learned as if seen so many times.

    Examples
    --------
    >>> weights, covariance = np.array([0.0]), np.array([[0.1]])
    >>> stack(np.array([1.0]), 0.5, True, weights, covariance)
    >>> weights.round(4).tolist()  # .1 / 1.025 * .5
    [0.0488]
    >>> covariance.round(4).tolist()  # .1 / 1.025 / .999
    [[0.0977]]
    """
    cdef double gain[INPUTS]
    cdef double scale[INPUTS]
    cdef double total = 0.0, curvature, step, value
    cdef Py_ssize_t n = inputs.shape[0], i, j
    # The gain P x, and the variance xᵀPx of the margin.
    for i in range(n):
        gain[i] = 0.0
        for j in range(n):
            gain[i] += covariance[i, j] * inputs[j]
        total += gain[i] * inputs[i]
    curvature = importance * max(probability * (1.0 - probability), FLATTEST)
    step = 1.0 / (1.0 + curvature * total)
    # Move the weights, and the variances of each.
    for i in range(n):
        weights[i] += step * gain[i] * importance * ((1.0 if second else 0.0) - probability)
        value = (covariance[i, i] - curvature * step * (gain[i] * gain[i])) / FORGETTING
        covariance[i, i] = value
        scale[i] = sqrt(_VARIANCE / max(value, _VARIANCE))
    # Then the covariances, all scaled down where a variance is too large.
    for i in range(n):
        covariance[i, i] *= scale[i] * scale[i]
        for j in range(i):
            value = (covariance[i, j] - curvature * step * gain[i] * gain[j]) / FORGETTING
            covariance[i, j] = covariance[j, i] = value * scale[i] * scale[j]


cdef inline Py_ssize_t _after(double label) noexcept nogil:
    """Return the row of `counts` for what comes after `label`; 0 before there is one."""
    return 0 if label == 0.0 else (2 if label > 0.0 else 1)


cdef inline double _share(const double *counts) noexcept nogil:
    """Return Krichevsky and Trofimov's estimate of the second class's share."""
    return (counts[1] + 0.5) / (counts[0] + counts[1] + 1.0)


cpdef double logit(double prediction) noexcept nogil:
    """Return the log odds of a prediction of labels -1 and 1, within the bounds allowed."""
    cdef double probability = min(max(0.5 + 0.5 * prediction, NEAREST), 1.0 - NEAREST)
    return log(probability / (1.0 - probability))
