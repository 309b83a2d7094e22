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
from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.elementary cimport log
from leaseboard.algorithms.online.kernel cimport Pool, room
from leaseboard.algorithms.online.placement cimport place, take_one
from leaseboard.algorithms.online.row_calls cimport RowCalls

cdef double COEFFICIENT = 0.05, DELTA = 0.1, LN_10 = 2.302585092994046


cdef inline double updated_mean(double mean, double n, double value) noexcept nogil:
    """Return the mean of ``n + 1`` losses: progressive validation loss after one more example."""
    return mean * (n / (n + 1.0)) + value / (n + 1.0)


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


CONFIGURATION, N, LEASE, DIMENSION, LOSS, EPSILON, LOWER, UPPER, LOW, HIGH, OUT, SCORE = range(12)
"""The columns of a slot: one row a live model.

CONFIGURATION is -1 in an empty slot; LOSS is the mean of the proxy over N examples; LOW and HIGH
are the range of the labels that this configuration has seen; OUT is 1 when the configuration is
no longer in S and only stays live until its slot is needed; SCORE is the sum over the N
examples of the environment's loss, squared error or errors of class, which decides nothing.
"""
N_SLOT_COLUMNS = 12

# The same as the kernel names them.
cdef struct Slot:
    double configuration, n, lease, dimension, loss, epsilon, lower, upper, low, high, out, score


Control = NDArray[np.float64]
"""What the scheduler sets and the steps read or update, with the entries below."""

(
    CHAMPION,  # configuration, not slot
    PREDICTOR,  # configuration that predicted last
    N_CANDIDATES,  # |S|
    MAY_ELIMINATE,  # whether a Worse test would have a consequence
    GLOBAL_LOW,
    GLOBAL_HIGH,
    LITERAL,  # 1: as printed; 0: as the authors programmed it
    RIPE,  # examples before a model may predict, and before a challenger is tested
    WORSE_MARGIN,
    TESTING,  # 0: no Better or Worse test at all
    DUE,  # 1: a decision is due; set by the steps
    CLASSES,  # 1: the labels are -1 and 1, the predictions margins
) = range(12)
N_CONTROLS = 12

# The same as the kernel names them.
cdef struct Setting:
    double champion, predictor, n_candidates, may_eliminate, low, high, literal, ripe, margin
    double testing, due, classes


def empty_slots(n_slots):
    """Return the state of a race without live models."""
    slots = np.zeros((n_slots, N_SLOT_COLUMNS))
    slots[:, CONFIGURATION] = -1
    return slots


@cython.final
cdef class Steps:
    """Steps of a race.

    Parameters
    ----------
    slots : ndarray of float64, shape (n_slots, 12)
    control : ndarray of float64, shape (12,)
        The race's state; updated.
    pool : Pool, optional
        The live models.
    loss : int
        Theirs.

    Attributes
    ----------
    at : int
        Examples learned.
    """

    cdef public Py_ssize_t at

    cdef object arrays
    cdef object looker  # whose row was predicted last
    cdef Slot *slots
    cdef Setting *control
    cdef Py_ssize_t n_slots
    cdef int64_t *live
    cdef Pool pool
    cdef int loss

    def __init__(self, double[:, ::1] slots, double[::1] control, Pool pool=None, int loss=0):
        self.arrays, self.n_slots, self.pool, self.loss = (slots, control), len(slots), pool, loss
        self.live = <int64_t *>room(self.n_slots, sizeof(int64_t))
        self.slots, self.control = <Slot *>&slots[0, 0], <Setting *>&control[0]

    def __dealloc__(self):
        free(self.live)

    cpdef Py_ssize_t select(self) noexcept nogil:
        """Return the slot whose model predicts: ``argmin over B + C of L̄`` (Algorithm 1).

        Models of fewer than RIPE examples are passed over. If all are, the last predictor
        goes on while it lives, then the champion. If the champion is paused, which only an
        ablation allows, the answer is -1: its model starts afresh and has nothing to say.
        """
        cdef Setting *control = self.control
        cdef Slot *one
        cdef Py_ssize_t slot, best = -1, previous = -1, champion = -1
        for slot in range(self.n_slots):
            # Find the last predictor, the champion, and the ripe model of least upper bound.
            one = self.slots + slot
            if one.configuration < 0:
                continue
            if one.configuration == control.predictor:
                previous = slot
            if one.configuration == control.champion:
                champion = slot
            if one.n >= control.ripe and (best < 0 or one.upper < self.slots[best].upper):
                best = slot
        if best < 0:
            best = previous if previous >= 0 else champion
        control.predictor = -1.0 if best < 0 else self.slots[best].configuration
        return best

    def observe(self, double label, const float[::1] predictions):
        """Take one label: update range, progressive loss, bounds and score of every live model."""
        self._observe(label, &predictions[0])

    cdef void _observe(self, double label, const float *predictions) noexcept nogil:
        cdef Setting *control = self.control
        cdef Slot *one
        cdef Py_ssize_t slot
        cdef double low, high, error, n
        # Extend the range of all labels.
        control.low, control.high = min(control.low, label), max(control.high, label)
        for slot in range(self.n_slots):
            one = self.slots + slot
            if one.configuration < 0:
                continue
            # Extend the model's own range.
            one.low = low = min(one.low, label)
            one.high = high = max(one.high, label)
            if control.literal != 0:
                low, high = control.low, control.high
            # The proxy is the absolute error, clipped to the range of labels seen (appendix A.2).
            error = fabs(label - min(max(<double>predictions[slot], low), high))
            # Add the environment's loss to the score.
            if control.classes != 0:
                one.score += (predictions[slot] > 0) != (label > 0)
            else:
                one.score += (predictions[slot] - label) * (predictions[slot] - label)
            # Take the proxy into the progressive loss, and its bounds from that.
            n = one.n + 1
            one.loss = updated_mean(one.loss, n - 1, error)
            one.n = n
            one.epsilon = self._epsilon(n, one.dimension, high - low)
            one.lower, one.upper = max(one.loss - one.epsilon, 0.0), one.loss + one.epsilon

    cdef double _epsilon(self, double n, double dimension, double value_range) noexcept nogil:
        if self.control.literal != 0:
            return epsilon_paper(n, dimension, self.control.n_candidates, value_range)
        if value_range == 0:
            # The authors' guard: a single label so far does not justify certainty.
            value_range = 1.0
        return epsilon_flaml(n, dimension, value_range)

    cpdef bint needs_decision(self) noexcept nogil:
        """Return whether a lease has ended or a test is positive."""
        cdef Slot *one
        cdef Py_ssize_t slot, champion = -1
        # A lease that has ended.
        for slot in range(self.n_slots):
            one = self.slots + slot
            if one.configuration >= 0 and one.n >= one.lease:
                return True
        if self.control.testing == 0:
            return False
        for slot in range(self.n_slots - 1, -1, -1):
            if self.slots[slot].configuration == self.control.champion:
                champion = slot
        if champion < 0 or self.slots[champion].n == 0:
            return False
        # A challenger that is better, or one that is worse.
        if self.challenger_to_promote(champion) >= 0:
            return True
        if self.control.may_eliminate != 0:
            for slot in range(self.n_slots):
                if self.is_worse(champion, slot):
                    return True
        return False

    cpdef Py_ssize_t challenger_to_promote(self, Py_ssize_t champion) noexcept nogil:
        """Return the slot of a challenger that passes the Better test against `champion`, or -1.

        The challenger of least upper bound is the one to test: if any passes, it does, and none
        can pass against it. The authors' program chooses it before it asks whether it is ripe, so
        that a fresh challenger can hide a riper one.
        """
        cdef Setting *control = self.control
        cdef Slot *one
        cdef Py_ssize_t slot, best = -1
        for slot in range(self.n_slots):
            # Pass over the champion, those out of S, and those that are too young.
            one = self.slots + slot
            if slot == champion or one.configuration < 0 or one.out != 0 or one.n < 1:
                continue
            if control.literal != 0 and one.n < control.ripe:
                continue
            if best < 0 or one.upper < self.slots[best].upper:
                best = slot
        if best < 0 or self.slots[best].n < control.ripe:
            return -1
        one = self.slots + champion
        return best if better(self.slots[best].upper, one.lower, one.epsilon) else -1

    cpdef bint is_worse(self, Py_ssize_t champion, Py_ssize_t slot) noexcept nogil:
        """Return whether the challenger in `slot` fails the Worse test."""
        cdef Slot *one = self.slots + slot
        return (
            slot != champion
            and one.configuration >= 0
            and one.out == 0
            and one.n >= self.control.ripe
            and worse(one.lower, one.epsilon, self.slots[champion].upper, self.control.margin)
        )

    cdef int _place(self, Py_ssize_t n_columns) except -1 nogil:
        """Copy the live models into lanes where they are faster, unless they are there."""
        cdef Py_ssize_t slot, n_live = 0
        for slot in range(self.n_slots):
            if self.slots[slot].configuration >= 0:
                self.live[n_live] = slot
                n_live += 1
        return place(n_columns, self.live, n_live, self.pool)

    cdef bint _learn(
        self, const float *example, float label, float importance, bint looked
    ) noexcept nogil:
        """Let all models learn, take their losses; return whether these call for a decision."""
        cdef float *outputs = &self.pool.outputs[0]
        take_one(example, label, importance, self.pool, self.loss, True, looked, outputs)
        self._observe(label, outputs)
        self.control.due = self.needs_decision()
        return self.control.due != 0

    def advance(
        self,
        const float[:, ::1] examples,
        const float[::1] labels,
        const float[::1] importances,
        float[::1] predictions,
    ):
        """Predict and learn examples until a decision is due; return how many were learned.

        Parameters
        ----------
        examples : ndarray of float32, shape (n_examples, n_features)
        labels, importances : ndarray of float32, shape (n_examples,)
        predictions : ndarray of float32, shape (n_examples,)
            Written: the progressive predictions of the models that `select` names.
        """
        cdef Py_ssize_t t, predictor, n = examples.shape[0]
        # With the interpreter's lock: another thread may use the same model.
        self._place(examples.shape[1])
        for t in range(n):
            # Select the model that predicts, before the label is seen.
            predictor = self.select()
            due = self._learn(&examples[t, 0], labels[t], importances[t], False)
            predictions[t] = self.pool.outputs[predictor] if predictor >= 0 else <float>0
            if due:
                break
        n = min(t + 1, n)
        self.at += n
        return n

    cdef double _predict(self, const float *example, Py_ssize_t n_columns) except? -1:
        """Do `predict`."""
        self._place(n_columns)
        take_one(example, 0, 0, self.pool, self.loss, False, False, &self.pool.outputs[0])
        cdef Py_ssize_t slot = self.select()
        return 0.0 if slot < 0 else self.pool.outputs[slot]

    def predict(self, const float[::1] example):
        """Return the prediction of the model that `select` names; 0 if it names none."""
        self.looker = None
        return self._predict(&example[0], example.shape[0])


@cython.final
cdef class RowSteps(RowCalls):
    """Steps of a published race for examples that come one at a time.

    Parameters
    ----------
    race : PublishedRace
    row : ndarray of float32, shape (n_features,)
        Each example is written there.
    """

    cdef object race
    cdef Steps steps
    cdef float[::1] row, seen

    def __init__(self, race, float[::1] row):
        self.race, self.steps, self.row, self.seen = race, race.steps, row, np.copy(row)

    cdef double predict_row(self) except? -1:
        self.steps.looker = self
        memcpy(&self.seen[0], &self.row[0], self.row.shape[0] * sizeof(float))
        return self.steps._predict(&self.row[0], self.row.shape[0])

    cdef bint learn_row(self, double label, double importance) except -1:
        cdef Steps steps = self.steps
        cdef size_t size = self.row.shape[0] * sizeof(float)
        # What was computed to predict this very example is not computed again.
        looked = steps.looker is self and not memcmp(&self.seen[0], &self.row[0], size)
        steps._place(self.row.shape[0])
        steps.select()
        due = steps._learn(&self.row[0], <float>label, <float>importance, looked)
        steps.at += 1
        return due or steps.at == <Py_ssize_t>self.race._log_point

    cdef Py_ssize_t learned(self) except -1:
        return self.steps.at
