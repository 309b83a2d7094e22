"""Live models that learn: in lanes where that is faster, else one by one."""

from libc.stdint cimport int64_t
from libc.string cimport memcmp, memcpy, memmove

from leaseboard.algorithms.online.kernel cimport Pool, free_lanes, look, room, take
from leaseboard.algorithms.online.lanes cimport enter, learn_all, leave, look_all

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
    leave_all(pool)
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


cdef void leave_all(Pool pool) noexcept nogil:
    """Copy models that are in lanes back into their slots."""
    if pool.entered:
        leave(pool)
    else:  # what a failure left half made
        free_lanes(pool)


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


def leave_lanes(Pool pool):
    """Copy models that are in lanes back into their slots."""
    leave_all(pool)


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
