"""Vowpal Wabbit's default update rule, bit for bit as the wheel computes it.

The learner is gradient descent on squared loss or, for labels -1 and 1, logistic loss
with importance-invariant, adaptive and normalised steps (VW's ``--invariant --adaptive
--normalized``, its defaults). All arithmetic is float32 in VW's order, without fast math or
contraction, so that every prediction equals VW's; but for the Lambert function of logistic loss,
which VW approximates in double.

A model is a row of four arrays (see `Pool`): cells of
``(weight, adaptive, normalised, rate)``, the sums of the normaliser, the range of the labels,
and a learning rate.

References
----------
.. [1] Karampatziakis and Langford. Online importance weight aware updates. UAI 2011.
       https://arxiv.org/abs/1011.1576
.. [2] Ross, Mineiro, Langford. Normalized online learning. UAI 2013.
       https://arxiv.org/abs/1305.6646
"""

from libc.math cimport fabsf, sqrtf
from libc.stdlib cimport free

import numpy as np

from leaseboard.algorithms.elementary cimport exp, log

RANGE = {SQUARED: (0.0, 0.0), LOGISTIC: (-50.0, 50.0)}
"""What VW clips predictions to before it has seen a label."""



# An update of logistic loss, see `invariant_update`.
cdef float logistic_update(
    float prediction, float label, float scale, float per_update
) noexcept nogil:
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


cdef class Pool:
    """Models in numbered slots, next to each other in arrays.

    Parameters
    ----------
    n_slots : int

    Attributes
    ----------
    tables : memoryview of float32, shape (n_slots, max_cells, 4)
        Weight, adaptive sum, largest value and rate of each cell.
    sums : memoryview of float64, shape (n_slots, 2)
        Of the normaliser.
    labels : memoryview of float32, shape (n_slots, 2)
        The range of labels that each model has seen.
    rates : memoryview of float32, shape (n_slots,)
        Learning rates.
    factors : memoryview of int32, shape (n_slots, max_terms, max_order)
        Columns that are multiplied into each term, padded with -1.
    cells : memoryview of int32, shape (n_slots, max_terms)
        Where in its table a term has its weight.
    ends : memoryview of int32, shape (n_slots, max_terms)
        The first term after each whose first column is another one.
    n_terms : memoryview of int64, shape (n_slots,)
        0 in an empty slot.
    plain : memoryview of uint8, shape (n_slots,)
        Whether each term of a model has a cell of its own, in the order of the terms.
    values, places : memoryview, shape (n_slots, max_terms)
        The active features of the example that each model looked at last, and their cells.
    counts, raws : memoryview, shape (n_slots,)
        How many these are, and the raw prediction.
    work : memoryview of float32, shape (3, max_terms)
        Scratch space for the active features.
    outputs : memoryview of float32, shape (n_slots,)
        Scratch space for what each model predicts.
    entered : bool
        Whether models are in lanes, see `leaseboard.algorithms.online.placement`.
    """

    def __init__(self, Py_ssize_t n_slots):
        self.sums = np.zeros((n_slots, 2))
        self.labels = np.zeros((n_slots, 2), dtype=np.float32)
        self.rates = np.zeros(n_slots, dtype=np.float32)
        self.n_terms = np.zeros(n_slots, dtype=np.int64)
        self.plain = np.zeros(n_slots, dtype=np.uint8)
        self.counts = np.zeros(n_slots, dtype=np.int64)
        self.raws = np.zeros(n_slots, dtype=np.float32)
        self.outputs = np.zeros(n_slots, dtype=np.float32)
        self.tables = np.zeros((n_slots, 0, FIELDS), dtype=np.float32)
        self.factors = np.zeros((n_slots, 0, 2), dtype=np.int32)
        self.cells = self.ends = np.zeros((n_slots, 0), dtype=np.int32)

    def __dealloc__(self):
        free_lanes(self)

    def reserve(self, Py_ssize_t n_cells, Py_ssize_t n_terms, Py_ssize_t order):
        """Make room for models of so many cells and terms."""
        n_slots, old = len(self.rates), self.factors.shape
        if n_cells > self.tables.shape[1]:
            self.tables = _grown(self.tables, (n_slots, n_cells, FIELDS), np.float32, 0)
        if n_terms > old[1] or order > old[2]:
            n_terms, order = max(n_terms, old[1]), max(order, old[2])
            self.factors = _grown(self.factors, (n_slots, n_terms, order), np.int32, -1)
            self.cells = _grown(self.cells, (n_slots, n_terms), np.int32, 0)
            self.ends = _grown(self.ends, (n_slots, n_terms), np.int32, 0)
            self.values = np.zeros((n_slots, n_terms), dtype=np.float32)
            self.places = np.zeros((n_slots, n_terms), dtype=np.int32)
            self.work = np.zeros((3, n_terms), dtype=np.float32)

    def start(
        self,
        Py_ssize_t slot,
        layout,
        float rate,
        float low,
        float high,
        Pool source=None,
        Py_ssize_t parent=0,
        its=None,
    ):
        """Put a model into a slot: a new one, or one that goes on from another.

        Parameters
        ----------
        slot : int
        layout : Layout
        rate, low, high : float
            Its learning rate, and the range of labels of a new one.
        source : Pool, optional
            Where the `parent` is, a slot whose model it goes on from where they share places in
            VW's table.
        its : Layout, optional
            The parent's.
        """
        cdef const int32_t[:, ::1] factors = layout.factors
        cdef const int32_t[::1] cells = layout.cells
        cdef Py_ssize_t n_terms = factors.shape[0], order = factors.shape[1], k, place
        # The layout; terms of a lower order end with -1.
        self.reserve(len(layout.indices), n_terms, order)
        for k in range(n_terms):
            for place in range(self.factors.shape[2]):
                self.factors[slot, k, place] = factors[k, place] if place < order else -1
            self.cells[slot, k] = cells[k]
        mark_ends(
            &self.factors[slot, 0, 0], n_terms, self.factors.shape[2], &self.ends[slot, 0]
        )
        self.n_terms[slot], self.plain[slot] = n_terms, n_terms == len(layout.indices)
        self.rates[slot] = rate
        # What it has learned: nothing, but for what a parent has.
        self.tables[slot, :, :] = 0
        self.sums[slot, NORM_SUM] = self.sums[slot, WEIGHT_SUM] = 0
        self.labels[slot, LOW], self.labels[slot, HIGH] = low, high
        if source is None:
            return
        self.sums[slot, :] = source.sums[parent]
        self.labels[slot, :] = source.labels[parent]
        # Both sets of places in order: shared ones meet.
        cdef const int64_t[::1] own = layout.indices, by_own = layout.by_index
        cdef const int64_t[::1] theirs = its.indices, by_theirs = its.by_index
        cdef Py_ssize_t at = 0, field
        for k in range(by_own.shape[0]):
            cell = by_own[k]
            while at < by_theirs.shape[0] and theirs[by_theirs[at]] < own[cell]:
                at += 1
            if at < by_theirs.shape[0] and theirs[by_theirs[at]] == own[cell]:
                for field in range(FIELDS):
                    self.tables[slot, cell, field] = source.tables[parent, by_theirs[at], field]

    def rescale(self, const int64_t[::1] live, double ratio, double shift):
        """Let the `live` models predict ``ratio * p + shift`` where they predicted p."""
        cdef Py_ssize_t one, cell, constant, end
        cdef float *table
        for one in range(live.shape[0]):
            slot = live[one]
            table = &self.tables[slot, 0, 0]
            for cell in range(self.tables.shape[1]):
                table[FIELDS * cell + WEIGHT] *= <float>ratio
                grown = <double>table[FIELDS * cell + ADAPTIVE] * (ratio * ratio)
                table[FIELDS * cell + ADAPTIVE] = <float>min(grown, <double>X2_MAX)
            # The shift goes to the constant, the term without a column.
            constant = 0
            while self.factors[slot, constant, 0] >= 0:
                constant += 1
            table[FIELDS * self.cells[slot, constant] + WEIGHT] += <float>shift
            for end in (LOW, HIGH):
                self.labels[slot, end] = <float>(ratio * self.labels[slot, end] + shift)


def _grown(old, shape, kind, filled):
    """Return an array of a larger shape, `filled` where the old one has nothing."""
    new = np.full(shape, filled, dtype=kind)
    new[tuple(map(slice, old.shape))] = old
    return new


cdef void mark_ends(
    const int32_t *factors, Py_ssize_t n_terms, Py_ssize_t order, int32_t *ends
) noexcept nogil:
    """Write the first term after each whose first column is another one."""
    cdef Py_ssize_t k
    cdef bint alike
    for k in range(n_terms - 1, -1, -1):
        alike = k < n_terms - 1 and factors[k * order] == factors[(k + 1) * order]
        ends[k] = ends[k + 1] if alike else <int32_t>(k + 1)


cdef inline Model model_in(Py_ssize_t slot, Pool pool) noexcept nogil:
    """Return the model in a slot."""
    cdef Model model
    model.table, model.sums = &pool.tables[slot, 0, 0], &pool.sums[slot, 0]
    model.labels, model.rate = &pool.labels[slot, 0], pool.rates[slot]
    model.factors, model.order = &pool.factors[slot, 0, 0], pool.factors.shape[2]
    model.cells, model.ends = &pool.cells[slot, 0], &pool.ends[slot, 0]
    model.n_terms, model.values = pool.n_terms[slot], &pool.values[slot, 0]
    model.places, model.work = &pool.places[slot, 0], &pool.work[0, 0]
    model.stride = pool.work.shape[1]
    return model


cdef Py_ssize_t gather(const float *example, const Model *model) noexcept nogil:
    """Write the example's non-zero features and their cells; return their number.

    VW's text parser drops features that are zero, so their interactions vanish with them.
    """
    cdef const int32_t *factors
    cdef float *values = model.values
    cdef int32_t *places = model.places
    cdef Py_ssize_t count = 0, term = 0, k, place, order = model.order
    cdef float first, factor, value
    cdef int32_t column
    cdef bint present
    while term < model.n_terms:
        # All terms with the same first column are absent together; -1 is not a column.
        column, end = model.factors[term * order], model.ends[term]
        first = example[column] if column >= 0 else ONE
        for k in range(term if first != 0 else end, end):
            # Multiply the columns of the term.
            factors = model.factors + k * order
            factor = example[factors[1]] if factors[1] >= 0 else ONE
            value, present = first * factor, factor != 0
            for place in range(2, order):
                if factors[place] < 0:
                    break
                factor = example[factors[place]]
                value, present = value * factor, present & (factor != 0)
            # Put it among the active features, with its cell; what is absent is overwritten by
            # the next one, for a branch would be guessed wrong half the time.
            values[count], places[count] = value, model.cells[k]
            count += present
        term = end
    return count


cdef inline float inner_product(Py_ssize_t count, const Model *model) noexcept nogil:
    """Return the raw prediction of `gather`'s features, summed in VW's order."""
    cdef float total = 0
    cdef Py_ssize_t feature
    for feature in range(count):
        total += model.table[FIELDS * model.places[feature] + WEIGHT] * model.values[feature]
    return total


cdef void update(
    Py_ssize_t count, float prediction, float label, float importance, const Model *model, int loss
) noexcept nogil:
    """Move the weights of `gather`'s features after `prediction` met `label`."""
    cdef float *cell
    cdef float *table = model.table
    cdef const float *values = model.values
    cdef const int32_t *places = model.places
    cdef float *rates = model.work
    cdef float *norms = rates + model.stride
    cdef float *moves = norms + model.stride
    cdef double *sums = model.sums
    cdef Py_ssize_t feature
    cdef float x, x2, scale, magnitude, rate, per_update = 0, norm = 0, mean, step
    # Nothing is learned where the loss has no slope.
    squared = importance * gradient_squared(loss, prediction, label)
    if squared == 0:
        return
    for feature in range(count):
        cell = table + FIELDS * places[feature]
        # Keep a feature within VW's limits.
        x = values[feature]
        x2 = x * x
        if x2 < X2_MIN:
            x = X_MIN if x > 0 else -X_MIN
            x2 = X2_MIN
        # Take the gradient into the adaptive sum.
        cell[ADAPTIVE] += squared * x2
        # A value larger than all before shrinks the weight to the new scale.
        scale, magnitude = cell[NORMALISED], fabsf(x)
        if magnitude > scale:
            if scale > 0:
                cell[WEIGHT] *= scale / magnitude
            cell[NORMALISED] = scale = magnitude
        rates[feature], norms[feature], moves[feature] = cell[ADAPTIVE], scale, x2
    # Each feature's rate, the square over the largest value, and how far an update of 1 moves the
    # prediction; apart from the rest, so that registers hold many features.
    for feature in range(count):
        scale, x2 = norms[feature], moves[feature]
        rate = (ONE / sqrtf(rates[feature])) * (ONE / scale)
        rates[feature], moves[feature] = rate, x2 * rate
        # A square beyond float32 counts as the largest value seen, as in VW.
        norms[feature] = x2 / (scale * scale) if x2 <= X2_MAX else ONE
    # Their sums, in VW's order.
    for feature in range(count):
        table[FIELDS * places[feature] + RATE] = rates[feature]
        norm += norms[feature]
        per_update += moves[feature]
    # Take the example into the sums of the normaliser.
    sums[NORM_SUM] += <double>importance * <double>norm
    sums[WEIGHT_SUM] += <double>importance
    mean = sqrtf(<float>sums[WEIGHT_SUM] / <float>sums[NORM_SUM])
    # Find the step that stays short of the label, however important the example is.
    per_update *= mean
    step = invariant_update(loss, prediction, label, model.rate * importance, per_update)
    step *= mean
    # VW replaces an update that is not a number by none.
    if step != 0 and not isnan(step):
        for feature in range(count):
            cell = table + FIELDS * places[feature]
            cell[WEIGHT] += step * (values[feature] * cell[RATE])


cdef float look(const float *example, Py_ssize_t slot, Pool pool) noexcept nogil:
    """Return what the model in a slot predicts, clipped to the labels seen; `take` may follow."""
    cdef Model model = model_in(slot, pool)
    pool.counts[slot] = gather(example, &model)
    pool.raws[slot] = inner_product(pool.counts[slot], &model)
    return clip(pool.raws[slot], model.labels[LOW], model.labels[HIGH])


cdef void take(
    float label, float importance, Py_ssize_t slot, Pool pool, int loss
) noexcept nogil:
    """Let the model in a slot learn the example that it looked at last."""
    cdef Model model = model_in(slot, pool)
    # VW extends the range with the current label first, then computes its gradient.
    model.labels[LOW] = min(model.labels[LOW], label)
    model.labels[HIGH] = max(model.labels[HIGH], label)
    prediction = clip(pool.raws[slot], model.labels[LOW], model.labels[HIGH])
    update(pool.counts[slot], prediction, label, importance, &model, loss)


cdef void free_lanes(Pool pool) noexcept nogil:
    """Forget which models are in lanes, and what they learned there."""
    cdef Lanes *lanes = &pool.lanes
    cdef Py_ssize_t k
    for k in range(lanes.n_groups):
        free(lanes.groups[k].terms)
        free(lanes.groups[k].numbers)
        free(lanes.groups[k].active)
    free(lanes.groups)
    free(lanes.products)
    free(lanes.values)
    free(pool.single)
    free(pool.live)
    memset(lanes, 0, sizeof(Lanes))
    pool.single = pool.live = NULL
    pool.entered = pool.looked = False
