"""VW's update for the live models at once, bit for bit as for each alone.

Live models are independent, so the arithmetic of one term of eight models fills the lanes of a
vector register, where that of many terms of one model is a chain of sums. `enter` copies models
from their slots into lanes, `leave_lanes` copies them back; between the decisions of a race, that is
once in hundreds of examples.

Models are sorted by their terms, most first, and each eight are a group: its k-th `Term` holds the
k-th term of each. A term that is zero or that a model does not have is NOT A NUMBER in its lane
and changes nothing; one without a number in any lane is left out. Lanes without a model do what
the last one does, and are not copied back.

Notes
-----
Values are selected rather than branched over. Lanes that are off must not compute numbers below
float32's normal ones, which take a hundred cycles each; NaN costs nothing.
"""

from libc.math cimport NAN
from libc.stdint cimport int32_t, int64_t, uint32_t
from libc.stdlib cimport free
from libc.string cimport memcmp, memcpy, memmove

from leaseboard.algorithms.elementary cimport exp32
from leaseboard.algorithms.online.kernel cimport (
    ADAPTIVE, HIGH, LOW, NORM_SUM, NORMALISED, ONE, RATE, SQUARED, TWO, VECTOR, WEIGHT,
    WEIGHT_SUM, X2_MAX, X2_MIN, X_MIN, Group, Lanes, Pool, Term, Vector, free_lanes,
    gradient_squared, invariant_update, look, room, take,
)


cdef extern from *:
    """
    #pragma GCC diagnostic ignored "-Wpsabi"
    #define LB_INLINE static inline __attribute__((always_inline))
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
        for (int lane = 0; lane < LB_VECTOR; lane++) x[lane] = sqrtf(x[lane]);
        return x;
    }
    LB_INLINE int lb_any(lb_mask mask) {
        int64_t some = 0, four[4];
        memcpy(four, &mask, 32);
        for (int k = 0; k < 4; k++) some |= four[k];
        return some != 0;
    }
    """
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


cdef int enter(
    const int64_t *joined, Py_ssize_t count, Pool pool, Py_ssize_t n_columns
) except -1 nogil:
    """Copy the models of the slots `joined`, those of most terms first, into lanes."""
    cdef Lanes *lanes = &pool.lanes
    cdef Py_ssize_t k, total = 0, lane
    for k in range(count):
        total += pool.n_terms[joined[k]]
    cdef Py_ssize_t n_groups = (count + VECTOR - 1) // VECTOR
    lanes.groups = <Group *>room(n_groups, sizeof(Group))
    lanes.n_groups, lanes.n_columns, lanes.order = n_groups, n_columns, pool.factors.shape[2]
    lanes.products = <uint32_t *>room(total * lanes.order, sizeof(uint32_t))
    lanes.values = <float *>room(2 + n_columns + total, sizeof(float))
    lanes.values[0], lanes.values[1] = NAN, 1
    for k in range(lanes.n_groups):
        _enter(joined + k * VECTOR, min(count - k * VECTOR, VECTOR), pool, lanes.groups + k)
    _number_terms(lanes, pool, total)
    return 0


cdef int _enter(
    const int64_t *slots, Py_ssize_t n_models, Pool pool, Group *group
) except -1 nogil:
    cdef Py_ssize_t n_terms = pool.n_terms[slots[0]], lane, k
    cdef const float *cell
    cdef Term *term
    group.n_models, group.n_terms = n_models, n_terms
    group.terms = <Term *>room(n_terms, sizeof(Term))
    group.numbers = <uint32_t *>room(n_terms * VECTOR, sizeof(uint32_t))
    group.active = <Term **>room(n_terms, sizeof(Term *))
    for lane in range(VECTOR):
        # What a model has but once, then each of its cells.
        slot = slots[min(lane, n_models - 1)]
        group.slots[lane] = slot
        _of(&group.learning_rate)[lane] = pool.rates[slot]
        _of(&group.low)[lane] = pool.labels[slot, LOW]
        _of(&group.high)[lane] = pool.labels[slot, HIGH]
        group.norms[lane] = pool.sums[slot, NORM_SUM]
        group.weights[lane] = pool.sums[slot, WEIGHT_SUM]
        for k in range(pool.n_terms[slot]):
            cell, term = &pool.tables[slot, k, 0], group.terms + k
            _of(&term.weight)[lane], _of(&term.adaptive)[lane] = cell[WEIGHT], cell[ADAPTIVE]
            _of(&term.normalised)[lane], _of(&term.rate)[lane] = cell[NORMALISED], cell[RATE]
            _of(&term.inverse)[lane] = ONE / cell[NORMALISED]
    return 0


cdef inline float *_of(Vector *vector) noexcept nogil:
    """Return the lanes of a vector."""
    return <float *>vector


cdef int _number_terms(Lanes *lanes, Pool pool, Py_ssize_t total) except -1 nogil:
    """Number the terms of all lanes: 0 for none, 1 the constant, then columns, then products."""
    cdef Py_ssize_t size = 4, each, k, place, order = lanes.order, count = 0
    cdef Group *group
    cdef const int32_t *term
    cdef uint32_t *seen
    cdef uint32_t at, home
    while size < 2 * total:
        size *= 2
    # A table of hashes finds a product that was there before.
    seen = <uint32_t *>room(size, sizeof(uint32_t))
    for each in range(lanes.n_groups * VECTOR):
        group, lane = lanes.groups + each // VECTOR, each % VECTOR
        slot = group.slots[lane]
        for k in range(pool.n_terms[slot]):
            term = &pool.factors[slot, k, 0]
            if term[1] < 0:  # the constant or a column
                group.numbers[k * VECTOR + lane] = <uint32_t>(term[0] + 2)
                continue
            # Hash the columns of the product.
            at = 0
            for place in range(order):
                at = at * <uint32_t>0x9E3779B1 + <uint32_t>(term[place] + 1)
            at ^= at >> 15
            # Look for it, place after place; a new one has the next number.
            home = at & <uint32_t>(size - 1)
            while seen[home] > 0 and not _same(
                lanes.products + (seen[home] - 1) * order, term, order
            ):
                home = (home + 1) & <uint32_t>(size - 1)
            if seen[home] == 0:
                for place in range(order):
                    lanes.products[count * order + place] = <uint32_t>(term[place] + 2)
                count += 1
                seen[home] = <uint32_t>count
            group.numbers[k * VECTOR + lane] = <uint32_t>(1 + lanes.n_columns + seen[home])
    lanes.n_products = count
    free(seen)
    return 0


cdef inline bint _same(
    const uint32_t *product, const int32_t *term, Py_ssize_t order
) noexcept nogil:
    cdef bint alike = True
    cdef Py_ssize_t place
    for place in range(order):
        alike &= product[place] == <uint32_t>(term[place] + 2)
    return alike


cpdef void leave_lanes(Pool pool) noexcept nogil:
    """Copy models that are in lanes back into their slots."""
    cdef Lanes *lanes = &pool.lanes
    cdef Py_ssize_t lane, k, each
    cdef float *cell
    cdef Term *term
    cdef Group *group
    for each in range(lanes.n_groups if pool.entered else 0):  # or what a failure left half made
        group = lanes.groups + each
        for lane in range(group.n_models):
            # What a model has but once, then each of its cells.
            slot = group.slots[lane]
            pool.labels[slot, LOW] = _of(&group.low)[lane]
            pool.labels[slot, HIGH] = _of(&group.high)[lane]
            pool.sums[slot, NORM_SUM] = group.norms[lane]
            pool.sums[slot, WEIGHT_SUM] = group.weights[lane]
            for k in range(pool.n_terms[slot]):
                cell, term = &pool.tables[slot, k, 0], group.terms + k
                cell[WEIGHT], cell[ADAPTIVE] = _of(&term.weight)[lane], _of(&term.adaptive)[lane]
                cell[NORMALISED], cell[RATE] = _of(&term.normalised)[lane], _of(&term.rate)[lane]
    free_lanes(pool)


cdef void look_all(const float *example, Lanes *lanes, float *predictions) noexcept nogil:
    """Write what each model predicts for an example, clipped to the labels; see `kernel.look`."""
    cdef Py_ssize_t column, k, place, order = lanes.order
    cdef float *values = lanes.values
    cdef float *products = values + 2 + lanes.n_columns
    cdef const uint32_t *factors
    # The values of columns, NaN for those that VW drops (see `kernel.gather`), and of products.
    for column in range(lanes.n_columns):
        values[2 + column] = example[column] if example[column] != 0 else <float>NAN
    for k in range(lanes.n_products):
        factors = lanes.products + k * order
        products[k] = values[factors[0]] * values[factors[1]]
        for place in range(2, order):
            if factors[place] != 1:
                products[k] *= values[factors[place]]
    for k in range(lanes.n_groups):
        _look(lanes.groups + k, values, predictions)


cdef inline void _look(Group *group, const float *values, float *predictions) noexcept nogil:
    cdef const uint32_t *number = group.numbers
    cdef Term *term
    cdef Py_ssize_t k, active = 0
    cdef int lane
    cdef Vector x, magnitude, further, total = all_lanes(0), most = total, predicted
    # Set the values of the example, and find the terms that have any.
    for k in range(group.n_terms):
        term = group.terms + k
        term.value = x = gathered(values, number + k * VECTOR)
        group.active[active] = term
        active += any_lane(equal(x, x))
    group.n_active = active
    for k in range(active):
        term = group.active[k]
        # The next summand of `kernel.inner_product`.
        x = term.value
        further = total + term.weight * x
        total = pick(equal(x, x), further, total)
        # By how much any value exceeds the largest so far.
        magnitude = _magnitude(x) - term.normalised
        most = pick(less(most, magnitude), magnitude, most)
    group.raw, group.exceeds = total, most
    predicted = _clip(total, group.low, group.high)
    for lane in range(group.n_models):
        predictions[group.slots[lane]] = _of(&predicted)[lane]


cdef inline Vector _magnitude(Vector x) noexcept nogil:
    return pick(less(x * x, all_lanes(X2_MIN)), all_lanes(X_MIN), absolute(x))


cdef inline Vector _clip(Vector raw, Vector low, Vector high) noexcept nogil:
    raw = pick(less(raw, low), low, raw)
    raw = pick(less(high, raw), high, raw)
    return pick(equal(raw, raw), raw, all_lanes(0))


cdef void learn_all(float label, float importance, int loss, Lanes *lanes) noexcept nogil:
    """Let all models learn the example of `look_all`."""
    cdef Py_ssize_t k
    for k in range(lanes.n_groups):
        _learn(lanes.groups + k, label, importance, loss)


cdef inline void _learn(Group *group, float label, float importance, int loss) noexcept nogil:
    cdef Vector zero = all_lanes(0), every = all_lanes(label)
    cdef Vector prediction, error, gradient, norm = zero, moves = zero, weight, mean, scale, update
    cdef Mask idle
    cdef Py_ssize_t k
    cdef int lane
    # VW extends the range with the current label first, then computes its gradient; its square is
    # 0 where nothing is to be learned.
    group.low = pick(less(every, group.low), every, group.low)
    group.high = pick(less(group.high, every), every, group.high)
    prediction = _clip(group.raw, group.low, group.high)
    error = prediction - label
    gradient = TWO * TWO * error * error
    if loss != SQUARED:
        for lane in range(VECTOR):
            _of(&gradient)[lane] = gradient_squared(loss, _of(&prediction)[lane], label)
    gradient = importance * pick(equal(error * error, zero), zero, gradient)
    idle = equal(gradient, zero)
    # Shrink weights where a value is larger than all before; then sum adaptively.
    if any_lane(less(zero, group.exceeds)):
        for k in range(group.n_active):
            _widen(group.active[k], idle)
    for k in range(group.n_active):
        _accumulate(group.active[k], gradient, idle, &norm, &moves)
    # Take the norms into the normalisers.
    for lane in range(VECTOR):
        if _of(&gradient)[lane] != 0:
            group.norms[lane] += <double>importance * <double>_of(&norm)[lane]
            group.weights[lane] += <double>importance
        _of(&norm)[lane] = <float>group.norms[lane]
        _of(&weight)[lane] = <float>group.weights[lane]
    mean = root(weight / norm)
    moves = moves * mean
    # Find each model's update, see `kernel.invariant_update`; 0 for NaN, or none.
    scale = group.learning_rate * importance
    if loss == SQUARED:
        update = -TWO * scale * moves
        for lane in range(VECTOR):
            _of(&update)[lane] = exp32(_of(&update)[lane])
        error = every - prediction
        update = error * (ONE - update) / moves
        update = pick(at_most(scale * moves, all_lanes(<float>1e-6)), TWO * error * scale, update)
    else:
        for lane in range(VECTOR):
            _of(&update)[lane] = invariant_update(
                loss, _of(&prediction)[lane], label, _of(&scale)[lane], _of(&moves)[lane]
            )
    update = update * mean
    idle = idle | (equal(update, update) ^ equal(zero, zero))
    # Move all weights by it.
    update = pick(idle, zero, update)
    for k in range(group.n_active):
        _move(group.active[k], update)


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
    """Take the gradients into the adaptive sums, as `kernel.update`, after `_widen`."""
    cdef Vector x = term.value, scale = term.normalised, zero = all_lanes(0)
    cdef Vector x2, more, relative, fresh
    cdef Mask there = equal(x, x), learns
    # The square of the value within VW's limits.
    x2 = x * x
    x2 = pick(less(x2, all_lanes(X2_MIN)), all_lanes(X2_MIN), x2)
    # The adaptive sum, the norm, the rate, and how far that moves the prediction.
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


# A model of so many times the terms of all others goes alone: lanes would be empty next to it.
cdef Py_ssize_t ALONE = 3


cdef int place(
    Py_ssize_t n_columns, const int64_t *live, Py_ssize_t n_live, Pool pool
) except -1 nogil:
    """Copy `live` models into lanes, unless they are there.

    Two models of one size are faster there than one by one, but one is not. Models where terms
    share a cell stay in their slots.
    """
    if (
        pool.entered
        and pool.n_live == n_live
        and pool.n_columns == n_columns
        and not memcmp(pool.live, live, n_live * sizeof(int64_t))
    ):
        return 0
    leave_lanes(pool)
    # Order the models that may go into lanes by their terms, most first; then the others.
    cdef const int64_t *terms = &pool.n_terms[0]
    cdef int64_t *order = <int64_t *>room(n_live, sizeof(int64_t))
    cdef Py_ssize_t count = 0, begin = 0, others = n_live, at, k
    pool.single = order
    for k in range(n_live):
        if not pool.plain[live[k]]:
            others -= 1
            order[others] = live[k]
            continue
        at = count
        while at > 0 and terms[order[at - 1]] < terms[live[k]]:
            order[at] = order[at - 1]
            at -= 1
        order[at] = live[k]
        count += 1
    # Leave the largest out.
    while begin < count - 1 and terms[order[begin]] > ALONE * terms[order[begin + 1]]:
        begin += 1
    if count - begin > 1:
        enter(order + begin, count - begin, pool, n_columns)
        memmove(order + begin, order + count, (n_live - count) * sizeof(int64_t))
        pool.n_single = n_live - count + begin
    else:
        pool.n_single = n_live
    pool.n_columns = n_columns
    pool.live = <int64_t *>room(n_live, sizeof(int64_t))
    memcpy(pool.live, live, n_live * sizeof(int64_t))
    pool.n_live, pool.entered, pool.looked = n_live, True, False
    return 0


cdef void take_one(
    const float *example, float target, float importance, Pool pool, int loss, bint learns,
    bint looked, float *predictions,
) noexcept nogil:  # fmt: skip
    """Let models that have a place predict an example, and learn it if it `learns`.

    What they predicted if it was `looked` at, and nothing else since, is not computed again.
    """
    cdef bint again = looked and pool.looked
    cdef Py_ssize_t k
    if not again:
        look_all(example, &pool.lanes, predictions)
    if learns:
        learn_all(target, importance, loss, &pool.lanes)
    # Then those that are in no lanes.
    for k in range(pool.n_single):
        slot = pool.single[k]
        if not again:
            predictions[slot] = look(example, slot, pool)
        if learns:
            take(target, importance, slot, pool, loss)
    pool.looked = not learns


def learn_block(
    const float[:, ::1] examples, const float[::1] targets, const float[::1] importances,
    const int64_t[::1] live, Pool pool, int loss, float[:, ::1] predictions,
):  # fmt: skip
    """Let every live model learn a block in order.

    In the live columns of `predictions` is written what each predicted before it learned the
    example.
    """
    cdef Py_ssize_t t
    place(examples.shape[1], &live[0], live.shape[0], pool)
    for t in range(targets.shape[0]):
        take_one(
            &examples[t, 0], targets[t], importances[t], pool, loss, True, False,
            &predictions[t, 0],
        )


def predict_one(
    const float[::1] example, const int64_t[::1] live, Pool pool, float[::1] predictions
):
    """Write what each live model predicts."""
    place(example.shape[0], &live[0], live.shape[0], pool)
    take_one(&example[0], 0, 0, pool, 0, False, False, &predictions[0])
    pool.looked = False  # not by whoever asks for it
