"""Vowpal Wabbit's default update rule for many models at once, bit for bit as the wheel computes it.

The learner is gradient descent on squared loss or, for labels -1 and 1, logistic loss
with importance-invariant, adaptive and normalised steps (VW's ``--invariant --adaptive
--normalized``, its defaults). All arithmetic is float32 in VW's order, without fast math or
contraction, so that every prediction equals VW's; but for the Lambert function of logistic loss,
which VW approximates in double.

Models are independent, so the arithmetic of one term of eight models fills the lanes of a vector
register, where that of many terms of one model is a chain of sums: the model in slot s is lane
``s % 8`` of group ``s // 8``. A term that is zero or that a model does not have is NOT A NUMBER in
its lane and changes nothing; one without a number in any lane is left out.

Terms whose hashes collide share a cell of VW's table. Here each has its own, and takes over what
is in the cell of the term before, as VW goes from one to the next.

Notes
-----
Values are selected rather than branched over. Lanes that are off must not compute numbers below
float32's normal ones, which take a hundred cycles each; NaN costs nothing.

References
----------
.. [1] Karampatziakis and Langford. Online importance weight aware updates. UAI 2011.
       https://arxiv.org/abs/1011.1576
.. [2] Ross, Mineiro, Langford. Normalized online learning. UAI 2013.
       https://arxiv.org/abs/1305.6646
"""

from libc.math cimport NAN
from libc.string cimport memcmp, memcpy

import numpy as np

from leaseboard.algorithms.buffers import aligned_zeros
from leaseboard.algorithms.online.schema import cells_in, layouts
from leaseboard.algorithms.plain import fill_array

from leaseboard.algorithms.elementary cimport exp, exp32, log

RANGE = {SQUARED: (0.0, 0.0), LOGISTIC: (-50.0, 50.0)}
"""What VW clips predictions to before it has seen a label."""

LOSSES = {"regression": SQUARED, "classification": LOGISTIC}
"""The loss that each task is learned with; classes are labelled -1 and 1."""


cdef extern from *:
    """
    #include <float.h>
    #include <math.h>
    #include <stdint.h>
    #include <string.h>
    #pragma GCC diagnostic ignored "-Wpsabi"
    #define LB_X_MIN 1.084202e-19f
    #define LB_INLINE static inline __attribute__((always_inline))
    /* Eight numbers, and eight truth values: operators take them lane by lane. */
    typedef float lb_vector __attribute__((vector_size(32)));
    typedef int32_t lb_mask __attribute__((vector_size(32)));
    LB_INLINE lb_mask lb_equal(lb_vector x, lb_vector y) { return x == y; }
    LB_INLINE lb_mask lb_less(lb_vector x, lb_vector y) { return x < y; }
    LB_INLINE lb_mask lb_at_most(lb_vector x, lb_vector y) { return x <= y; }
    LB_INLINE lb_vector lb_pick(lb_mask mask, lb_vector yes, lb_vector no) {
        return (lb_vector)(((lb_mask)yes & mask) | ((lb_mask)no & ~mask));
    }
    LB_INLINE lb_vector lb_abs(lb_vector x) { return (lb_vector)((lb_mask)x & 0x7FFFFFFF); }
    LB_INLINE lb_vector lb_all(float x) { return (lb_vector){0} + x; }
    LB_INLINE lb_vector lb_gather(const float *from, const uint32_t *at) {
        return (lb_vector){from[at[0]], from[at[1]], from[at[2]], from[at[3]],
                           from[at[4]], from[at[5]], from[at[6]], from[at[7]]};
    }
    LB_INLINE lb_vector lb_sqrt(lb_vector x) {
        for (int lane = 0; lane < 8; lane++) x[lane] = sqrtf(x[lane]);
        return x;
    }
    LB_INLINE int lb_any(lb_mask mask) {
        int64_t some = 0, four[4];
        memcpy(four, &mask, 32);
        for (int k = 0; k < 4; k++) some |= four[k];
        return some != 0;
    }
    """
    # VW's limits of a feature and of its square.
    const float X_MIN "LB_X_MIN"
    const float X2_MIN "(LB_X_MIN * LB_X_MIN)"
    const float X2_MAX "FLT_MAX"
    # An integer next to a float would become a double.
    float ONE "1.0f"
    float TWO "2.0f"
    ctypedef float Vector "lb_vector"
    ctypedef int Mask "lb_mask"
    Mask equal "lb_equal"(Vector x, Vector y) noexcept nogil
    Mask less "lb_less"(Vector x, Vector y) noexcept nogil
    Mask at_most "lb_at_most"(Vector x, Vector y) noexcept nogil
    Vector pick "lb_pick"(Mask mask, Vector yes, Vector no) noexcept nogil
    Vector absolute "lb_abs"(Vector x) noexcept nogil
    Vector all_lanes "lb_all"(float x) noexcept nogil
    Vector gathered "lb_gather"(const float *values, const uint32_t *numbers) noexcept nogil
    Vector root "lb_sqrt"(Vector x) noexcept nogil
    bint any_lane "lb_any"(Mask mask) noexcept nogil


# A term of the models in a group, see `FIELDS`.
cdef struct Term:
    Vector weight, adaptive, normalised, rate, inverse, value


# What each model of a group has but once, see `ONCE`.
cdef struct Group:
    Vector low, high, learning_rate, raw, exceeds


cdef class Pool(Buffers):
    """Models in numbered slots, eight of them in the lanes of a group.

    Parameters
    ----------
    n_slots : int
    loss : int
        Of all its models, `SQUARED` or `LOGISTIC`.

    Attributes
    ----------
    terms : ndarray of float32, shape (n_groups, max_terms, FIELDS, LANES)
    once : ndarray of float32, shape (n_groups, ONCE, LANES)
    sums : ndarray of float64, shape (n_groups, 2, LANES)
        Of the normaliser.
    numbers : ndarray of uint32, shape (n_groups, max_terms, max_order, LANES)
        The `values` that are multiplied into each term.
    before : ndarray of int32, shape (n_groups, max_terms, LANES)
        The term before that has the same cell of VW's table; -1 if there is none.
    again : ndarray of uint8, shape (n_groups, max_terms)
        Whether there is one in any lane.
    n_again : ndarray of int, shape (n_groups,)
        For how many there is.
    sizes : ndarray of int, shape (n_groups, LANES)
        Terms of each model.
    n_terms, n_single : ndarray of int, shape (n_groups,)
        The most of them, and how many of these come before any that is a product.
    active, n_active : ndarray of int, shapes (n_groups, max_terms) and (n_groups,)
        Where the terms are that have a value in the example that was looked at last, and how many
        these are.
    values : ndarray of float32, shape (2 + n_columns,)
        Of that example: NaN for what is not there, 1 for the constant, then its columns.
    outputs : ndarray of float32, shape (n_slots,)
        Scratch space for predictions.
    """

    def __init__(self, Py_ssize_t n_slots, int loss):
        self.n_slots, self.loss = n_slots, loss
        n_groups = (n_slots + LANES - 1) // LANES
        super().__init__(
            once=aligned_zeros((n_groups, ONCE, LANES), np.float32),
            sums=np.zeros((n_groups, 2, LANES)),
            sizes=np.zeros((n_groups, LANES), np.intp),
            outputs=np.zeros(n_slots, np.float32),
            numbers=np.zeros((n_groups, 0, 0, LANES), np.uint32),
        )
        self.put(
            n_terms=np.zeros(n_groups, np.intp), n_single=np.zeros(n_groups, np.intp),
            n_active=np.zeros(n_groups, np.intp), n_again=np.zeros(n_groups, np.intp),
        )
        self.reserve(0, 2)

    def reserve(self, Py_ssize_t n_terms, Py_ssize_t order):
        """Make room for models of so many terms, each a product of so many columns."""
        n_groups, most, highest, _ = self.numbers.shape
        if n_terms <= most and order <= highest:
            return
        n_terms, order, old = max(n_terms, most), max(order, highest), dict(self.arrays)
        self.put(
            terms=aligned_zeros((n_groups, n_terms, FIELDS, LANES), np.float32),
            numbers=np.ones((n_groups, n_terms, order, LANES), np.uint32),
            before=np.full((n_groups, n_terms, LANES), -1, np.int32),
            again=np.zeros((n_groups, n_terms), np.uint8),
            active=np.zeros((n_groups, n_terms), np.intp),
        )
        self.numbers[:, :, 0] = 0
        for name in ("terms", "numbers", "before", "again") if most else ():
            self.arrays[name][tuple(map(slice, old[name].shape))] = old[name]

    def lay_out(
        self, Py_ssize_t slot, const int32_t[:, ::1] factors, const int32_t[::1] before,
        float rate,
    ):
        """Give the model in a slot the terms of a `Layout`, none to empty it."""
        cdef Py_ssize_t group = slot // LANES, lane = slot % LANES, n_terms = factors.shape[0]
        cdef Py_ssize_t k, place, most = self._n_terms[group], single = 0
        cdef bint product
        # The factors of its terms, and none where it had more.
        for k in range(max(n_terms, self._sizes[group, lane])):
            self._before[group, k, lane] = before[k] if k < n_terms else -1
            for place in range(self._numbers.shape[2]):
                self._numbers[group, k, place, lane] = (
                    factors[k, place] + 2 if k < n_terms and place < factors.shape[1] else place > 0
                )
        self._sizes[group, lane], self._once[group, LEARNING_RATE, lane] = n_terms, rate
        # What the models of the group have together.
        for k in range(LANES):
            single = max(single, self._sizes[group, k])
        self._n_terms[group] = single
        self._n_again[group] = 0
        for k in range(max(most, single)):
            product = self._again[group, k] = False
            for lane in range(LANES):
                self._again[group, k] |= self._before[group, k, lane] >= 0
                product |= self._numbers[group, k, 1, lane] > 1
            single = min(single, k) if product else single
            self._n_again[group] += self._again[group, k]
        self._n_single[group], self.looked = single, False

    def write(
        self, Py_ssize_t slot, const int32_t[::1] cells, const float[:, ::1] table, sums, labels
    ):
        """Let the model in a slot have learned the cells of its terms; nothing where it is -1."""
        cdef Py_ssize_t group = slot // LANES, lane = slot % LANES, k, field
        for k in range(cells.shape[0]):
            term = &self._terms[group, k, 0, lane]
            for field in range(INVERSE):
                term[field * LANES] = table[cells[k], field] if cells[k] >= 0 else 0
            term[INVERSE * LANES] = ONE / term[NORMALISED * LANES]
        self._sums[group, NORM_SUM, lane], self._sums[group, WEIGHT_SUM, lane] = sums
        self._once[group, LOW, lane], self._once[group, HIGH, lane] = labels
        self.looked = False

    def read(self, Py_ssize_t slot, const int32_t[::1] cells, float[:, ::1] table):
        """Write what the model in a slot has learned into the cells of its terms."""
        cdef Py_ssize_t group = slot // LANES, lane = slot % LANES, k, field
        for k in range(cells.shape[0]):
            for field in range(INVERSE):
                table[cells[k], field] = self._terms[group, k, field, lane]

    def learn_many(
        self, const float[:, ::1] examples, const float[::1] labels, const float[::1] importances,
        float[:, ::1] predictions,
    ):
        """Let all models learn a block in order; write what each predicted before."""
        for t in range(labels.shape[0]):
            self.look(&examples[t, 0], False, &predictions[t, 0])
            self.take(labels[t], importances[t])

    def predict_many(self, const float[:, ::1] examples, float[:, ::1] predictions):
        """Write what each model predicts for each example of a block."""
        for t in range(examples.shape[0]):
            self.look(&examples[t, 0], False, &predictions[t, 0])
        self.looked = False

    cdef void look(self, const float *example, bint looked, float *predictions) noexcept nogil:
        cdef float *values = &self._values[2]
        if looked and self.looked:
            return
        for column in range(self._values.shape[0] - 2):
            # VW's text parser drops features that are zero, so their interactions vanish, too.
            values[column] = example[column] if example[column] != 0 else <float>NAN
        for group in range(self._n_terms.shape[0]):
            predicted = _look(self, group)
            for slot in range(LANES * group, min(LANES * (group + 1), self.n_slots)):
                predictions[slot] = _of(&predicted)[slot - LANES * group]
        self.looked = True

    cdef void take(self, float label, float importance) noexcept nogil:
        for group in range(self._n_terms.shape[0]):
            _take(self, group, label, importance)
        self.looked = False


class KernelModels(Pool):
    """Models in numbered slots, each with its configuration and its layout.

    A prediction is clipped to the labels learned before. What a model has learned, its *state*,
    are the cells of its ``table``, the ``sums`` of its normaliser, and the range of its ``labels``.

    Parameters
    ----------
    schema : Schema
    n_slots : int
    loss : int
        Of all its models, `SQUARED` or `LOGISTIC`.

    Attributes
    ----------
    configurations : list of VWConfiguration or None
        Of each slot.
    layouts : list of Layout or None
        Of each slot.

    Examples
    --------
    >>> from leaseboard.algorithms.online.schema import Schema, VWConfiguration
    >>> models = KernelModels(Schema(("a",), ((0, 1),), ("0", "1")), n_slots=1)
    >>> models.start(0, VWConfiguration())
    >>> examples, found = np.tile(np.float32([1, 2]), (3, 1)), np.empty((3, 1), np.float32)
    >>> models.learn_many(examples, np.float32([3, 3, 3]), np.ones(3, np.float32), found)
    >>> [f"{each:.3f}" for each in found[:, 0]]
    ['0.000', '0.752', '1.216']
    """

    def __init__(self, schema, n_slots, loss=SQUARED):
        super().__init__(n_slots, loss)
        self.configurations, self.layouts = [None] * n_slots, [None] * n_slots
        self.grow(schema)

    def start(self, slot, configuration, parent=None):
        """Put a new model into `slot`.

        Parameters
        ----------
        slot : int
        configuration : VWConfiguration
        parent : int, optional
            The slot of a model whose weights and state the new one starts with, maybe the same;
            what only the new one has starts at zero, so predictions are the parent's until it
            learns. The configuration must have all its interactions.
        """
        known = None if parent is None else (self.layouts[parent], self.state(parent))
        self._put(slot, configuration, known)

    def stop(self, slot):
        """Empty `slot`."""
        self.layouts[slot] = self.configurations[slot] = None
        self.lay_out(slot, np.zeros((0, 2), np.int32), np.zeros(0, np.int32), 0.0)

    def grow(self, schema):
        """Go on with a schema of more columns; every weight keeps its place in VW's table."""
        known = [
            (slot, one, (self.layouts[slot], self.state(slot)))
            for slot, one in enumerate(self.configurations)
            if one is not None
        ]
        self.schema, self._layouts = schema, layouts(schema)
        self.put(values=np.ones(2 + schema.n_features, np.float32))
        self.values[0] = np.nan
        for each in known:
            self._put(*each)

    def rescale(self, ratio, shift):
        """Let all models predict ``ratio * p + shift`` where they predicted p.

        They go on as if they had learned labels in that unit, at a rate that fits it.
        """
        most = np.finfo(np.float32).max
        for slot, layout in enumerate(self.layouts):
            if layout is not None:
                state = self.state(slot)
                weights, adaptive = state["table"][:, WEIGHT], state["table"][:, ADAPTIVE]
                weights *= np.float32(ratio)
                adaptive[:] = np.minimum(adaptive * np.float64(ratio * ratio), most)
                # The shift goes to the constant, the term without a column.
                weights[layout.cells[layout.factors[:, 0] < 0]] += np.float32(shift)
                state["labels"][:] = ratio * state["labels"].astype(np.float64) + shift
                self.write(slot, layout.cells, *state.values())

    def state(self, slot):
        """Return what the model in `slot` has learned."""
        (group, lane), layout = divmod(slot, LANES), self.layouts[slot]
        table = np.zeros((len(layout.indices), INVERSE), np.float32)
        self.read(slot, layout.cells, table)
        return {
            "table": table,
            "sums": self.sums[group, :, lane].copy(),
            "labels": self.once[group, : HIGH + 1, lane].copy(),
        }

    def restore(self, slot, configuration, state):
        """Put a model into `slot` that has learned `state`; ValueError if it cannot have."""
        self.start(slot, configuration)
        own = self.state(slot)
        for name, array in own.items():
            fill_array(array, state[name])
        self.write(slot, self.layouts[slot].cells, *own.values())

    def _put(self, slot, configuration, known):
        """Put a model into `slot` that goes on from a layout and a state, if any is `known`."""
        layout = self._layouts.of(configuration)
        self.configurations[slot], self.layouts[slot] = configuration, layout
        self.reserve(*layout.factors.shape)
        self.lay_out(slot, layout.factors, layout.before, configuration.learning_rate)
        if known is None:
            cells = np.full(len(layout.cells), -1, np.int32)
            self.write(slot, cells, np.zeros((0, INVERSE), np.float32), (0.0, 0.0), RANGE[self.loss])
        else:
            self.write(slot, cells_in(known[0], layout), *known[1].values())


cdef class RowCalls:
    """Way of one example after another through a race, each written into the same row.

    Parameters
    ----------
    example : ndarray of float32, shape (n_features,)
        The row.
    """

    def __init__(self, float[::1] example):
        self.example, self.last = example, np.full(len(example), np.nan, np.float32)

    cdef bint repeats(self) noexcept:
        cdef size_t size = self.example.shape[0] * sizeof(float)
        cdef bint same = not memcmp(&self.last[0], &self.example[0], size)
        memcpy(&self.last[0], &self.example[0], size)
        return same

    cdef double predict_row(self) except? -1:
        raise NotImplementedError

    cdef bint learn_row(self, double label, double importance) except -1:
        raise NotImplementedError

    def predict(self):
        """Return the prediction; nothing is learned."""
        return self.predict_row()

    def learn(self, double label, double importance):
        """Learn it; return whether a decision is due."""
        self.due = self.learn_row(label, importance)
        return self.due

    def write(self, const float[::1] example):
        """Write an example that is elsewhere into the row."""
        memcpy(&self.example[0], &example[0], self.example.shape[0] * sizeof(float))

    def learn_many(
        self, const float[:, ::1] examples, const float[::1] labels, const float[::1] importances,
        float[::1] predictions,
    ):
        """Learn until a decision is due; write progressive predictions; return how many."""
        cdef Py_ssize_t t = 0
        self.due = False
        while t < labels.shape[0] and not self.due:
            memcpy(&self.example[0], &examples[t, 0], self.example.shape[0] * sizeof(float))
            self.due = self.learn_row(labels[t], importances[t])
            predictions[t] = <float>self.said
            t += 1
        return t


cdef inline float *_of(Vector *vector) noexcept nogil:
    """Return the lanes of a vector."""
    return <float *>vector


cdef inline Vector _magnitude(Vector x) noexcept nogil:
    return pick(less(x * x, all_lanes(X2_MIN)), all_lanes(X_MIN), absolute(x))


cdef inline Vector _clip(Vector raw, Vector low, Vector high) noexcept nogil:
    """Return what models predict of their raw sums: VW's ``finalize_prediction``."""
    raw = pick(less(raw, low), low, raw)
    raw = pick(less(high, raw), high, raw)
    return pick(equal(raw, raw), raw, all_lanes(0))


cdef inline Vector _look(Pool pool, Py_ssize_t which) noexcept nogil:
    """Return what the models of a group predict."""
    cdef Group *group = <Group *>&pool._once[which, 0, 0]
    cdef Term *terms = <Term *>&pool._terms[which, 0, 0, 0]
    cdef const uint32_t *numbers = &pool._numbers[which, 0, 0, 0]
    cdef const float *values = &pool._values[0]
    cdef Term **active = <Term **>&pool._active[which, 0]
    cdef const uint8_t *again = &pool._again[which, 0]
    cdef Py_ssize_t k, place, count = 0, order = pool._numbers.shape[2]
    cdef Py_ssize_t n_terms = pool._n_terms[which], n_single = pool._n_single[which]
    cdef Vector x, magnitude, further, total = all_lanes(0), most = total
    for k in range(n_terms):
        # Set the value of the term, and note whether it has any.
        x = gathered(values, numbers)
        for place in range(1, order if k >= n_single else 1):
            x = x * gathered(values, numbers + place * LANES)
        terms[k].value = x
        numbers += order * LANES
        active[count] = terms + k
        count += again[k] | any_lane(equal(x, x))
    pool._n_active[which] = count
    for k in range(count):
        term = active[k]
        # The next summand of the raw prediction.
        x = term.value
        further = total + term.weight * x
        total = pick(equal(x, x), further, total)
        # By how much any value exceeds the largest so far.
        magnitude = _magnitude(x) - term.normalised
        most = pick(less(most, magnitude), magnitude, most)
    group.raw, group.exceeds = total, most
    return _clip(total, group.low, group.high)


cdef inline void _take(Pool pool, Py_ssize_t which, float label, float importance) noexcept nogil:
    cdef Group *group = <Group *>&pool._once[which, 0, 0]
    cdef Term *terms = <Term *>&pool._terms[which, 0, 0, 0]
    cdef double *norms = &pool._sums[which, NORM_SUM, 0]
    cdef double *weights = &pool._sums[which, WEIGHT_SUM, 0]
    cdef Term **active = <Term **>&pool._active[which, 0]
    cdef bint widens = any_lane(less(all_lanes(0), group.exceeds)), shared = pool._n_again[which]
    cdef Vector zero = all_lanes(0), every = all_lanes(label)
    cdef Vector prediction, error, gradient, norm = zero, moves = zero, weight, mean, scale
    cdef Vector update
    cdef Mask idle
    # VW extends the range with the current label first, then computes its gradient; its square
    # is 0 where nothing is to be learned.
    group.low = pick(less(every, group.low), every, group.low)
    group.high = pick(less(group.high, every), every, group.high)
    prediction = _clip(group.raw, group.low, group.high)
    error = prediction - label
    gradient = TWO * TWO * error * error
    if pool.loss == LOGISTIC:
        for lane in range(LANES):
            _of(&gradient)[lane] = logistic_gradient_squared(_of(&prediction)[lane], label)
    gradient = importance * pick(equal(error * error, zero), zero, gradient)
    idle = equal(gradient, zero)
    # Shrink weights where a value is larger than all before, and sum adaptively.
    for k in range(pool._n_active[which]):
        if shared:
            _copy(pool, which, active[k] - terms, False)
        if widens:
            _widen(active[k], idle)
        _accumulate(active[k], gradient, idle, &norm, &moves)
    if shared:
        _give_back(pool, which)
    # Take the norms into the normalisers.
    for lane in range(LANES):
        if _of(&gradient)[lane] != 0:
            norms[lane] += <double>importance * <double>_of(&norm)[lane]
            weights[lane] += <double>importance
        _of(&norm)[lane] = <float>norms[lane]
        _of(&weight)[lane] = <float>weights[lane]
    mean = root(weight / norm)
    moves = moves * mean
    # Find each model's step, which stays short of the label however important the example is
    # (table 1 of the first reference); 0 for NaN, or none.
    scale = group.learning_rate * importance
    if pool.loss == SQUARED:
        update = -TWO * scale * moves
        for lane in range(LANES):
            _of(&update)[lane] = exp32(_of(&update)[lane])
        error = every - prediction
        update = error * (ONE - update) / moves
        # There VW takes the first term of the series.
        update = pick(
            at_most(scale * moves, all_lanes(<float>1e-6)), TWO * error * scale, update
        )
    else:
        for lane in range(LANES):
            _of(&update)[lane] = logistic_update(
                _of(&prediction)[lane], label, _of(&scale)[lane], _of(&moves)[lane]
            )
    update = update * mean
    idle = idle | (equal(update, update) ^ equal(zero, zero))
    # Move all weights by it.
    update = pick(idle, zero, update)
    for k in range(pool._n_active[which]):
        if shared:
            _copy(pool, which, active[k] - terms, False)
        _move(active[k], update)
    if shared:
        _give_back(pool, which)


cdef void _copy(Pool pool, Py_ssize_t which, Py_ssize_t k, bint back) noexcept nogil:
    """Let a term go on from the one before it in its cell, or that one from it."""
    for lane in range(LANES if pool._again[which, k] else 0):
        before = pool._before[which, k, lane]
        for field in range(VALUE if before >= 0 else 0):
            if back:
                pool._terms[which, before, field, lane] = pool._terms[which, k, field, lane]
            else:
                pool._terms[which, k, field, lane] = pool._terms[which, before, field, lane]


cdef void _give_back(Pool pool, Py_ssize_t which) noexcept nogil:
    """Let all terms of a cell be as the last one."""
    for k in range(pool._n_terms[which] - 1, -1, -1):
        _copy(pool, which, k, True)


cdef inline void _widen(Term *term, Mask idle) noexcept nogil:
    """Shrink weights to the new scale where a value is larger than any before."""
    cdef Vector scale = term.normalised, magnitude = _magnitude(term.value), zero = all_lanes(0)
    # The weight at the scale of a larger value.
    cdef Vector shrunk = term.weight * (scale / magnitude)
    shrunk = pick(less(zero, scale), shrunk, term.weight)
    # Take it where the value is larger and something is learned.
    cdef Mask grows = less(scale, pick(idle, zero, magnitude))
    term.weight = pick(grows, shrunk, term.weight)
    term.normalised = pick(grows, magnitude, scale)
    term.inverse = pick(grows, all_lanes(ONE) / magnitude, term.inverse)


cdef inline void _accumulate(
    Term *term, Vector gradient, Mask idle, Vector *norm, Vector *moves
) noexcept nogil:
    """Take the gradients into the adaptive sums, after `_widen`."""
    cdef Vector x = term.value, scale = term.normalised, zero = all_lanes(0)
    cdef Vector x2, more, relative, fresh
    cdef Mask there = equal(x, x), learns
    # The square of the value within VW's limits.
    x2 = x * x
    x2 = pick(less(x2, all_lanes(X2_MIN)), all_lanes(X2_MIN), x2)
    # The adaptive sum, the norm, the rate, and how far that moves the prediction; a square beyond
    # float32 counts as the largest value seen, as in VW.
    more = term.adaptive + gradient * x2
    relative = x2 / (scale * scale)
    relative = pick(at_most(x2, all_lanes(X2_MAX)), relative, all_lanes(ONE))
    fresh = (all_lanes(ONE) / root(more)) * term.inverse
    # Keep what was there in lanes without a value or a gradient.
    learns = there & ~idle
    term.adaptive = pick(learns, more, term.adaptive)
    term.rate = pick(learns, fresh, term.rate)
    norm[0] = norm[0] + pick(there, relative, zero)
    moves[0] = moves[0] + pick(there, x2 * fresh, zero)


cdef inline void _move(Term *term, Vector update) noexcept nogil:
    """Move the weights of lanes with a value by the updates."""
    cdef Vector x = term.value, moved = term.weight + update * (x * term.rate)
    moved = pick(equal(x, x), moved, term.weight)
    term.weight = pick(equal(update, all_lanes(0)), term.weight, moved)


cdef float logistic_gradient_squared(float prediction, float label) noexcept nogil:
    """Return the square of the logistic loss's derivative; 0 if VW's loss is 0."""
    if ONE + exp32(-label * prediction) <= ONE:
        return 0
    cdef float derivative = -label / (ONE + exp32(label * prediction))
    return derivative * derivative


cdef float logistic_update(
    float prediction, float label, float scale, float per_update
) noexcept nogil:
    """Return the step of logistic loss, of which an update of 1 moves the prediction so far."""
    cdef float against = exp32(label * prediction), moved
    if scale * per_update < 1e-6:
        return label * scale / (ONE + against)
    moved = lambert_less(scale * per_update + label * prediction + against)
    return -(label * moved + prediction) / per_update


cpdef float lambert_less(float x) noexcept nogil:
    """Return ``W(exp(x)) - x`` with W the Lambert function, by VW's one step from a guess.

    Examples
    --------
    >>> round(lambert_less(0.0), 3)
    0.567
    """
    cdef double x64 = x, w, residual
    if x64 >= 1.0:
        w = 0.86 * x64 + 0.01
        residual = x64 - log(w) - w
    else:
        w = exp(0.8 * x64 - 0.65)
        residual = 0.2 * x64 + 0.65 - w
    cdef double t = 1.0 + w
    cdef double u = 2.0 * t * (t + 2.0 * residual / 3.0)
    cdef double step = residual / t * (u - residual) / (u - 2.0 * residual)
    return <float>(w * (1.0 + step) - x64)
