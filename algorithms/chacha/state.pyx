"""Losses and bounds of live models (equations 1 to 3), and the loop that learns until a decision.

| here | paper |
| --- | --- |
| ``n`` | |D_{c,t}|, examples that c has learned since it was fresh |
| ``dimension`` | d_c, features that c induces |
| ``n_candidates`` | |S_t| |
| ``DELTA`` | δ |
| ``COEFFICIENT * value_range`` | a, a constant related to the bound of the loss (appendix A.2) |
| ``lower``, ``upper`` | L̲_{c,t} and L̄_{c,t} |

`select` names the model that predicts, `observe` takes one example's losses, and
`needs_decision` returns whether the scheduler is needed.
"""

cimport cython
from libc.math cimport INFINITY, fabs, sqrt

import numpy as np

from leaseboard.algorithms.elementary cimport log
from leaseboard.algorithms.online.kernel cimport LOGISTIC, Pool, RowCalls

cdef double COEFFICIENT = 0.05, DELTA = 0.1, LN_10 = 2.302585092994046


cpdef double epsilon_paper(
    double n, double dimension, double n_candidates, double value_range
) noexcept nogil:
    """Return ε of equation 1 as appendix A.2 states it: ``a sqrt(d_c ln(n |S| / δ) / n)``."""
    cdef double a = COEFFICIENT * value_range
    return a * sqrt(dimension * log(n * n_candidates / DELTA) / n)


cpdef double epsilon_flaml(double n, double dimension, double value_range) noexcept nogil:
    """Return ε of equation 1 as in the authors' code: ``a sqrt(d_c) sqrt(log10(n / δ) / n)``."""
    cdef double a = COEFFICIENT * value_range
    return a * sqrt(dimension) * sqrt(log(n / DELTA) / (LN_10 * n))


cpdef bint better(
    double challenger_upper, double champion_lower, double champion_epsilon
) noexcept nogil:
    """Return whether the challenger is better by a margin of ε_{C,t} (equation 2)."""
    return challenger_upper < champion_lower - champion_epsilon


cpdef bint worse(
    double challenger_lower, double challenger_epsilon, double champion_upper, double margin
) noexcept nogil:
    """Return whether the challenger is worse than the champion (equation 3).

    The paper has ``margin`` 0; the authors' evaluation asked for 1 more ε_{c,t}.
    """
    return challenger_lower - margin * challenger_epsilon > champion_upper


cdef struct Slot:
    double configuration, n, lease, dimension, loss, epsilon, lower, upper, low, high, out, score


_COLUMNS = "configuration n lease dimension loss epsilon lower upper low high out score"
SLOT = np.dtype([(name, np.float64) for name in _COLUMNS.split()])
"""A live model: `configuration` is -1 in an empty slot, `loss` is the mean of the proxy over `n`
examples, `low` and `high` are the range of the labels that this configuration has seen. `out` is 1
when the configuration is no longer in S and only stays live until its slot is needed. `score` is
the sum over the examples of the environment's loss, squared error or errors of class, which
decides nothing.
"""


@cython.final
cdef class Steps:
    """Steps of a race, and what they read and update.

    Parameters
    ----------
    rules : Rules
    pool : Pool
        The live models; of logistic loss the labels are -1 and 1, the predictions margins.

    Attributes
    ----------
    at, log_point : int
        Examples learned, and after how many bounds are reported.
    slots : structured ndarray of `SLOT`, shape (n_slots,)
    numbers : ndarray of float64, shape (n_slots, 12)
        The same memory.
    champion, predictor : float
        Configurations, not slots: the champion, and the one that predicted last.
    n_candidates : float
        |S|.
    low, high : float
        The range of all labels.
    may_eliminate : bool
        Whether a Worse test would have a consequence.
    due : bool
        Whether a decision is due.
    """

    kept = ("at", "numbers", "champion", "predictor", "n_candidates", "low", "high", "may_eliminate",
            "due")

    cdef public Py_ssize_t at, log_point
    cdef public double champion, predictor, n_candidates, low, high
    cdef public bint may_eliminate, due
    cdef readonly object slots, numbers
    cdef double ripe, margin  # examples before a model may predict or is tested; see `worse`
    cdef bint literal, testing, classes
    cdef object looker  # whose row was predicted last
    cdef Slot *rows
    cdef Py_ssize_t n_slots
    cdef Pool pool

    def __init__(self, rules, Pool pool):
        n_slots = pool.n_slots
        self.slots = np.zeros(n_slots, SLOT)
        self.slots["configuration"] = -1
        self.numbers = self.slots.view(np.float64).reshape(n_slots, -1)
        cdef double[:, ::1] numbers = self.numbers
        self.rows, self.n_slots, self.pool = <Slot *>&numbers[0, 0], n_slots, pool
        self.champion, self.predictor, self.low, self.high = -1, -1, INFINITY, -INFINITY
        self.literal, self.margin, self.testing = rules.literal, rules.worse_margin, not rules.fixed
        self.classes, self.ripe = pool.loss == LOGISTIC, 1 if rules.literal else 100

    cdef Py_ssize_t slot_of(self, double configuration) noexcept nogil:
        """Return where a configuration is live, or -1."""
        for slot in range(self.n_slots):
            if configuration >= 0 and self.rows[slot].configuration == configuration:
                return slot
        return -1

    cdef Py_ssize_t lowest(self, double least, Py_ssize_t champion) noexcept nogil:
        """Return the slot of least upper bound after `least` examples, or -1 for none.

        With a champion it is passed over, and so are those out of S.
        """
        cdef Py_ssize_t best = -1
        for slot in range(self.n_slots):
            one = self.rows + slot
            if one.configuration < 0 or one.n < least:
                continue
            if champion >= 0 and (slot == champion or one.out != 0):
                continue
            if best < 0 or one.upper < self.rows[best].upper:
                best = slot
        return best

    cpdef Py_ssize_t select(self) noexcept nogil:
        """Return the slot whose model predicts: ``argmin over B + C of L̄`` (Algorithm 1).

        Models of fewer than `ripe` examples are passed over. If all are, the last predictor
        goes on while it lives, then the champion. If the champion is paused, which only an
        ablation allows, the answer is -1: its model starts afresh and has nothing to say.
        """
        cdef Py_ssize_t best = self.lowest(self.ripe, -1)
        if best < 0:
            best = self.slot_of(self.predictor)
        if best < 0:
            best = self.slot_of(self.champion)
        self.predictor = -1.0 if best < 0 else self.rows[best].configuration
        return best

    cpdef void observe(self, double label, const float[::1] predictions) noexcept nogil:
        """Take one label: update range, progressive loss, bounds and score of every live model."""
        # Extend the range of all labels.
        self.low, self.high = min(self.low, label), max(self.high, label)
        for slot in range(self.n_slots):
            one = self.rows + slot
            if one.configuration < 0:
                continue
            # Extend the model's own range.
            one.low = low = min(one.low, label)
            one.high = high = max(one.high, label)
            if self.literal:
                low, high = self.low, self.high
            # The proxy is the absolute error, clipped to the range of labels seen (appendix A.2).
            error = fabs(label - min(max(<double>predictions[slot], low), high))
            # Add the environment's loss to the score.
            if self.classes:
                one.score += (predictions[slot] > 0) != (label > 0)
            else:
                one.score += (predictions[slot] - label) * (predictions[slot] - label)
            # Take the proxy into the progressive loss, and its bounds from that.
            one.n += 1.0
            one.loss = one.loss * ((one.n - 1.0) / one.n) + error / one.n
            one.epsilon = self.epsilon(one.n, one.dimension, high - low)
            one.lower, one.upper = max(one.loss - one.epsilon, 0.0), one.loss + one.epsilon

    cdef double epsilon(self, double n, double dimension, double value_range) noexcept nogil:
        if self.literal:
            return epsilon_paper(n, dimension, self.n_candidates, value_range)
        # The authors' guard: a single label so far does not justify certainty.
        return epsilon_flaml(n, dimension, value_range if value_range != 0 else 1.0)

    cpdef bint needs_decision(self) noexcept nogil:
        """Return whether a lease has ended or a test is positive."""
        for slot in range(self.n_slots):
            if self.rows[slot].configuration >= 0 and self.rows[slot].n >= self.rows[slot].lease:
                return True
        champion = self.slot_of(self.champion)
        if not self.testing or champion < 0 or self.rows[champion].n == 0:
            return False
        # A challenger that is better, or one that is worse.
        if self.challenger_to_promote(champion) >= 0:
            return True
        for slot in range(self.n_slots):
            if self.may_eliminate and self.is_worse(champion, slot):
                return True
        return False

    cpdef Py_ssize_t challenger_to_promote(self, Py_ssize_t champion) noexcept nogil:
        """Return the slot of a challenger that passes the Better test against `champion`, or -1.

        The challenger of least upper bound is the one to test: if any passes, it does, and none
        can pass against it. The authors' program chooses it before it asks whether it is ripe, so
        that a fresh challenger can hide a riper one.
        """
        cdef Py_ssize_t best = self.lowest(self.ripe if self.literal else 1.0, champion)
        if best < 0 or self.rows[best].n < self.ripe:
            return -1
        one = self.rows + champion
        return best if better(self.rows[best].upper, one.lower, one.epsilon) else -1

    cpdef bint is_worse(self, Py_ssize_t champion, Py_ssize_t slot) noexcept nogil:
        """Return whether the challenger in `slot` fails the Worse test."""
        cdef Slot *one = self.rows + slot
        return (
            slot != champion
            and one.configuration >= 0
            and one.out == 0
            and one.n >= self.ripe
            and worse(one.lower, one.epsilon, self.rows[champion].upper, self.margin)
        )


@cython.final
cdef class RowSteps(RowCalls):
    """Steps of a published race for examples that come one at a time.

    Parameters
    ----------
    race : PublishedRace
    example : ndarray of float32, shape (n_features,)
    """

    cdef Steps steps

    def __init__(self, race, float[::1] example):
        super().__init__(example)
        self.steps = race.steps

    cdef double predict_row(self) except? -1:
        cdef Steps steps = self.steps
        self.repeats()
        steps.looker = self
        steps.pool.look(&self.example[0], False, &steps.pool._outputs[0])
        cdef Py_ssize_t slot = steps.select()
        return 0.0 if slot < 0 else steps.pool._outputs[slot]

    cdef bint learn_row(self, double label, double importance) except -1:
        cdef Steps steps = self.steps
        # What was computed to predict this very example is not computed again.
        looked = self.repeats() and steps.looker is self
        predictor = steps.select()
        # All models learn, and take their losses, which may call for a decision.
        steps.pool.look(&self.example[0], looked, &steps.pool._outputs[0])
        steps.pool.take(<float>label, <float>importance)
        steps.observe(<float>label, steps.pool._outputs)
        steps.due = steps.needs_decision()
        self.said = 0.0 if predictor < 0 else steps.pool._outputs[predictor]
        steps.at += 1
        return steps.due or steps.at == steps.log_point
