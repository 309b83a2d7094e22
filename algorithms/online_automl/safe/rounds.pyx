"""End of a round: tables of slots and candidates, which compiled code advances.

What it decides is written into rows, in order; the race makes events of them afterwards.
"""

from libc.math cimport sqrt
from libc.stdint cimport int64_t

import numpy as np

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.safe.windows cimport (
    BELOW, ENDED, LOSS, LOSS_SQUARES, SQUARES, WORSE, critical_value, judge,
)

from leaseboard.algorithms.plain import Saved


cdef enum:
    EMPTY = -1  # a slot without a model, see `leaseboard.algorithms.online_automl.race.EMPTY`

cpdef enum:
    REPORT = 0  # kinds of decisions
    ELIMINATE = 1
    PAUSE = 2
    EXTEND = 3
    START = 4

cpdef enum:
    # The columns of a decision: its kind, a slot, the number of its configuration; and examples, of
    # a report and of what leaves its slot those that it learned there, else those of the lease.
    KIND = 0
    SLOT = 1
    NUMBER = 2
    AMOUNT = 3

cpdef enum:
    # Its numbers: of a report the mean loss and its bounds, of what leaves its slot the first is
    # the sum of the losses there.
    VALUE = 0
    LOWER = 1
    UPPER = 2

cpdef enum:
    FRONTIER = 0  # the columns of a candidate
    ELIMINATED = 1
    LEASE = 2

cpdef enum:
    NO_CHANGE = -1  # what `end_round` returns in the place of a new champion's slot
    TOO_LARGE = -2


cdef class RoundTable(Buffers):
    """The slots of a race, its candidates, and what was decided of them.

    Parameters
    ----------
    holders, terms, fresh_at, leases, reported_at, starts : ndarray of int64, shape (b,)
        Of each slot: the number of its configuration; how many of its features are not 0 at a
        time; after which example it went live; its lease, in examples from the beginning of its
        window; after which example its bounds were reported last; the example before which its
        window begins.
    sums : ndarray of float64, shape (at least b, 4)
        Over that window, see `leaseboard.algorithms.online_automl.safe.mixture.Mixture`.
    candidates : ndarray of int64, shape (n, 3)
        Of each configuration, see `FRONTIER` and those after it.
    sizes : ndarray of float64, shape (n,)
        Terms of each configuration.
    queue : ndarray of int64, shape (n + 1,)
        How many wait for a slot, then these.
    decided : ndarray of int64, shape (5 * b, 4)
        The number of its configuration, examples, and more: see `KIND` and those after it.
    values : ndarray of float64, shape (5 * b, 3)
        See `VALUE` and those after it.
    length : int
        Of a round, in examples.
    delta : float
    """

    cdef Py_ssize_t b, n
    cdef int64_t length
    cdef double delta
    cdef int64_t *holders
    cdef int64_t *terms
    cdef int64_t *fresh_at
    cdef int64_t *leases
    cdef int64_t *reported_at
    cdef int64_t *starts
    cdef double *sums
    cdef int64_t *candidates
    cdef double *sizes
    cdef int64_t *queue
    cdef int64_t *decided
    cdef double *values

    def __init__(
        self, holders, terms, fresh_at, leases, reported_at, starts, sums, candidates, sizes,
        queue, decided, values, length, delta,
    ):
        self.b, self.length, self.delta = len(holders), length, delta
        super().__init__(
            holders=holders, terms=terms, fresh_at=fresh_at, leases=leases,
            reported_at=reported_at, starts=starts, sums=sums, candidates=candidates,
            sizes=sizes, queue=queue, decided=decided, values=values,
        )

    cdef int locate(self) except -1:
        self.holders, self.terms = self.numbers("holders"), self.numbers("terms")
        self.fresh_at, self.leases = self.numbers("fresh_at"), self.numbers("leases")
        self.reported_at, self.starts = self.numbers("reported_at"), self.numbers("starts")
        self.sums, self.candidates = self.doubles("sums"), self.numbers("candidates")
        self.sizes, self.queue = self.doubles("sizes"), self.numbers("queue")
        self.decided, self.values = self.numbers("decided"), self.doubles("values")
        return 0

    def report_live(self, Py_ssize_t champion, int64_t at):
        """Report the bounds of all live models; return how many rows were written."""
        cdef Py_ssize_t slot
        cdef int64_t size = self.compared()
        self.n = 0
        for slot in range(self.b):
            if self.holders[slot] != EMPTY:
                self.report(slot, champion, at, size)
        return self.n

    def fill_slots(self, int64_t at, int64_t least, double most):
        """Give free slots to those that wait; return how many rows were written."""
        self.n = 0
        self.fill(at, least, most)
        return self.n

    def end_round(
        self, Py_ssize_t champion, int64_t at, int64_t least, double most,
        const double[::1] lost, bint reports,
    ):
        """Test Better, else Worse and the leases; then fill free slots.

        What is proved worse than the champion leaves for good, while others wait for a slot. A
        lease that has ended is doubled; below the median a waiting configuration gets the slot.

        Parameters
        ----------
        champion, at : int
            Its slot, and the examples learned.
        least : int
            The first lease.
        most : float
            Terms of all live models, at most.
        lost : ndarray of float64
            Each slot's sum of the losses that are scored.
        reports : bool
            Whether the bounds of all are due.

        Returns
        -------
        n, best : int
            The rows that were written; and the slot of the challenger that is proved better, else
            `NO_CHANGE`, or `TOO_LARGE` if live models have too many terms. After both others
            nothing is decided.
        """
        cdef Py_ssize_t b = self.b, count = 0, slot, best
        cdef int64_t size = self.compared()
        cdef int64_t[::1] live = np.empty(b, dtype=np.int64), verdicts = np.zeros(b, np.int64)
        cdef double[::1] critical = np.empty(b)
        self.n = 0
        for slot in range(b):
            if self.holders[slot] != EMPTY:
                live[count] = slot
                count += 1
                critical[slot] = self.critical_of(slot, at, size)
                if reports:
                    self.report(slot, champion, at, size)
        if self.n_terms() > most:  # there were fewer columns when they came
            return self.n, TOO_LARGE
        live = live[:count]
        best = judge(
            self.arrays["sums"], self.arrays["starts"], self.arrays["leases"], live, champion, at,
            critical, self.queue[0], verdicts,
        )
        if best < 0:
            self.drop(live, verdicts, champion, at, lost)
            self.end_leases(live, verdicts, champion, at, lost)
            self.fill(at, least, most)
            best = NO_CHANGE
        return self.n, best

    cdef int64_t compared(self) noexcept nogil:
        """Return |S|; 1 if none is compared."""
        cdef Py_ssize_t slot
        cdef int64_t live = 0
        for slot in range(self.b):
            live += self.holders[slot] != EMPTY
        return max(1, live - 1 + self.queue[0])

    cdef int64_t n_terms(self) noexcept nogil:
        cdef Py_ssize_t slot
        cdef int64_t total = 0
        for slot in range(self.b):
            total += self.terms[slot]
        return total

    cdef double critical_of(self, Py_ssize_t slot, int64_t at, int64_t size) noexcept nogil:
        """Return the critical value of a slot's window, if |S| is `size`."""
        cdef int64_t rounds = (at - self.starts[slot] + self.length - 1) // self.length
        return critical_value(size, max(rounds, 1), self.delta)

    cdef void decide(self, int kind, Py_ssize_t slot, int64_t amount) noexcept nogil:
        """Write a decision about what is in `slot` into the next row."""
        cdef int64_t *row = self.decided + 4 * self.n
        row[KIND], row[SLOT], row[NUMBER], row[AMOUNT] = kind, slot, self.holders[slot], amount
        self.n += 1

    cdef void report(
        self, Py_ssize_t slot, Py_ssize_t champion, int64_t at, int64_t size
    ) noexcept nogil:
        """Report a mean loss with its bounds, of each model once at most after an example.

        A challenger's radius is that of its mean difference from the champion: the tests are
        whether its bounds leave out the champion's loss on the same examples. The champion, which
        does not differ from itself, has the radius of its own loss around its mean.
        """
        cdef const double *sums = self.sums + 4 * slot
        cdef double *values = self.values + 3 * self.n
        cdef double loss, spread, width
        cdef int64_t seen = at - self.starts[slot]
        if self.reported_at[slot] == at or seen == 0:
            return
        self.reported_at[slot] = at
        loss, spread = sums[LOSS] / seen, sums[SQUARES]
        if slot == champion:
            spread = max(sums[LOSS_SQUARES] - seen * (loss * loss), 0.0)
        width = self.critical_of(slot, at, size) * sqrt(spread) / seen
        values[VALUE], values[LOWER], values[UPPER] = loss, max(loss - width, 0.0), loss + width
        self.decide(REPORT, slot, at - self.fresh_at[slot])

    cdef void leave(
        self, int kind, Py_ssize_t slot, int64_t at, const double[::1] lost
    ) noexcept nogil:
        """Empty a slot."""
        self.values[3 * self.n + VALUE] = lost[slot]
        self.decide(kind, slot, at - self.fresh_at[slot])
        self.holders[slot], self.terms[slot] = EMPTY, 0

    cdef void fill(self, int64_t at, int64_t least, double most) noexcept nogil:
        """Give free slots to waiting configurations, as far as terms go."""
        cdef double left = most - self.n_terms()
        cdef int64_t *queue = self.queue
        cdef int64_t number, lease
        cdef Py_ssize_t place = 1, slot = 0, later
        while place <= queue[0]:
            while slot < self.b and self.holders[slot] != EMPTY:
                slot += 1
            number = queue[place]
            if slot == self.b:
                break
            if self.sizes[number] > left:
                place += 1
                continue
            # It waits no longer, and begins a window and a lease.
            for later in range(place, queue[0]):
                queue[later] = queue[later + 1]
            queue[0] -= 1
            left -= self.sizes[number]
            self.holders[slot], self.terms[slot] = number, <int64_t>self.sizes[number]
            self.fresh_at[slot] = self.starts[slot] = at
            for later in range(4):
                self.sums[4 * slot + later] = 0.0
            lease = self.candidates[3 * number + LEASE]
            self.leases[slot] = lease if lease > 0 else least
            self.decide(START, slot, self.leases[slot])

    cdef void drop(
        self, const int64_t[::1] live, const int64_t[::1] verdicts, Py_ssize_t champion,
        int64_t at, const double[::1] lost,
    ) noexcept nogil:
        """Report what is worse and the champion that it is compared with; then let it leave."""
        cdef int64_t size = self.compared()
        cdef bint failed = False
        cdef Py_ssize_t k, slot
        for k in range(live.shape[0]):
            if verdicts[live[k]] == WORSE:
                self.report(live[k], champion, at, size)
                failed = True
        if failed:
            self.report(champion, champion, at, size)
        for k in range(live.shape[0]):
            slot = live[k]
            if verdicts[slot] == WORSE:
                self.candidates[3 * self.holders[slot] + ELIMINATED] = 1
                self.leave(ELIMINATE, slot, at, lost)

    cdef void end_leases(
        self, const int64_t[::1] live, const int64_t[::1] verdicts, Py_ssize_t champion,
        int64_t at, const double[::1] lost,
    ) noexcept nogil:
        """Report models whose leases have ended; each gets a longer one, or pauses."""
        cdef int64_t size = self.compared(), lease, number
        cdef bint waits = self.queue[0] > 0
        cdef Py_ssize_t k, slot
        for k in range(live.shape[0]):
            if verdicts[live[k]] >= ENDED:
                self.report(live[k], champion, at, size)
        for k in range(live.shape[0]):
            slot = live[k]
            if verdicts[slot] < ENDED:
                continue
            lease, number = 2 * self.leases[slot], self.holders[slot]
            if waits and verdicts[slot] & BELOW:
                self.leave(PAUSE, slot, at, lost)
                self.candidates[3 * number + LEASE] = lease
                if self.candidates[3 * number + FRONTIER]:
                    wait(self.candidates, self.queue, number)
            else:
                self.leases[slot] = lease
                self.decide(EXTEND, slot, self.starts[slot] - self.fresh_at[slot] + lease)


class Candidates(Saved):
    """S of the paper, with the leases that its members have reached.

    Attributes
    ----------
    table : ndarray of int64, shape (n, 3)
        Of each configuration: whether the oracle proposed it for the present champion, whether it
        has left for good, and the lease that it will get after a pause, in examples; 0 if it never
        had one.
    queue : ndarray of int64, shape (n + 1,)
        How many members of the frontier are not live, then these, in the order in which they get
        free slots (Choose, algorithm 3): first those that never had a lease, then by the least
        lease; among equals in the order in which they came.
    sizes : ndarray of float64, shape (n,)
        Terms of each configuration.
    """

    def __init__(self):
        self.table, self.sizes = np.zeros((0, 3), dtype=np.int64), np.zeros(0)
        self.queue = np.zeros(1, dtype=np.int64)

    def measure(self, sizes, start=0):
        """Take the terms of the configurations from number `start` on."""
        given = np.array([*sizes], dtype=np.float64)
        need, have = start + len(given), len(self.sizes)
        if need > have:  # room for twice as many
            more = 2 * need - have
            self.table = np.pad(self.table, ((0, more), (0, 0)))
            self.sizes, self.queue = np.pad(self.sizes, (0, more)), np.pad(self.queue, (0, more))
        self.sizes[start:need] = given

    def forget_frontier(self):
        """Forget all but the eliminated: a new champion brings its own frontier."""
        self.table[:, [FRONTIER, LEASE]] = 0
        self.queue[0] = 0

    def join(self, numbers, holders):
        """Add configurations to the frontier; those wait that are neither live nor eliminated."""
        join(self.table, self.queue, np.array(numbers, dtype=np.int64), holders)

    @property
    def waiting(self):
        """Those that wait, in order."""
        return self.queue[1 : 1 + self.queue[0]].tolist()

    def state(self):
        """See `Saved.state`."""
        frontier, eliminated, leases = self.table.T
        numbers = np.flatnonzero(leases)
        return {
            "frontier": {*np.flatnonzero(frontier).tolist()},
            "pending": self.waiting,
            "eliminated": {*np.flatnonzero(eliminated).tolist()},
            "leases": dict(zip(numbers.tolist(), leases[numbers].tolist())),
        }

    def fill(self, state):
        """See `Saved.fill`; there is room for all configurations."""
        for column in (FRONTIER, ELIMINATED):
            name = ("frontier", "eliminated")[column]
            self.table[[*state[name]], column] = 1
        for number, lease in state["leases"].items():
            self.table[number, LEASE] = lease
        pending = state["pending"]
        self.queue[: 1 + len(pending)] = len(pending), *pending


cdef void wait(const int64_t *candidates, int64_t *queue, int64_t number) noexcept nogil:
    """Let a configuration wait for a slot, by its lease."""
    cdef int64_t place, lease = candidates[3 * number + LEASE]
    queue[0] += 1
    place = queue[0]
    while place > 1 and candidates[3 * queue[place - 1] + LEASE] > lease:
        queue[place] = queue[place - 1]
        place -= 1
    queue[place] = number


def join(
    int64_t[:, ::1] candidates, int64_t[::1] queue, const int64_t[::1] numbers,
    const int64_t[::1] holders,
):
    """See `Candidates.join`."""
    cdef Py_ssize_t k, slot, place
    cdef int64_t number
    cdef bint out
    for k in range(numbers.shape[0]):
        number = numbers[k]
        out = candidates[number, ELIMINATED] > 0
        for slot in range(holders.shape[0]):
            out = out or holders[slot] == number
        for place in range(1, queue[0] + 1):
            out = out or queue[place] == number
        candidates[number, FRONTIER] = 1
        if not out:
            wait(&candidates[0, 0], &queue[0], number)
