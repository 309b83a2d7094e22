"""Members next to today's prediction, and what all pools of them share."""

import math

import numpy as np

from leaseboard.algorithms import plain
from leaseboard.algorithms.online_automl.members.fourier import FourierRidge
from leaseboard.algorithms.online_automl.members.leases import OPERATIONS, Leases
from leaseboard.algorithms.online_automl.members.neighbours import Neighbours
from leaseboard.algorithms.online_automl.members.trees import RandomTrees

from leaseboard.algorithms.reference.ridge_steps cimport add_moments, standardise

TODAY_OPERATIONS = 8000.0
"""What the prediction without members costs, for numbers and for two classes."""

MEMBERS = {"trees": 1024, "fourier": 64, "neighbours": 64}
"""The members, and the most columns of each: random columns of more say little, and of more all
examples are about as far away as the nearest."""

SHOWN = ("live models", "trees", "Fourier features", "neighbours", "stack")
"""What users call today's prediction, the members and their stack."""

STANDING = ("member", "weight", "in_stack", "has_lease", "leased", "us")
"""What they read of each: see `MemberPool.standings`."""


cdef class MemberPool(Members):
    """Trees, Fourier features and neighbours, with their leases.

    A subclass has the stack, and in its weights those of today's prediction, members and stack.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        Of what members draw.
    """

    kept = ("at", *MEMBERS, "leases", "moments", "seen")

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.at = n_features, n_classes, 0
        self.trees = RandomTrees(self._columns("trees"), n_classes, seed)
        self.fourier = FourierRidge(self._columns("fourier"), n_classes, seed)
        self.neighbours = Neighbours(self._columns("neighbours"), n_classes, seed)
        self.leases = Leases(len(MEMBERS))
        self._leases, self._lost = self.leases.table, self.leases.lost
        self.moments, self.seen = np.zeros((2, n_features)), np.zeros(1)
        self._allocate()
        self._leave_out()
        self.leases.plan()

    def _allocate(self) -> None:
        """Make room for chunks; what was looked at last is forgotten."""
        k, standardised = max(1, self.n_classes), self._columns("fourier")
        self._example, self._said = np.zeros(self.n_features, np.float32), np.zeros(N_MEMBERS * k)
        self._standard, self._today = np.zeros(CHUNK * standardised), np.zeros(CHUNK * k)
        self._found, self._nothing = np.zeros((N_MEMBERS, CHUNK, k)), np.zeros(CHUNK, np.float32)
        self._looked, self._due = False, 0

    def limit(self, budget_us: float) -> None:
        """Let members take at most so many microseconds an example together."""
        self.leases.most = budget_us * OPERATIONS
        self.leases.fit(self.at, self.operations)

    def _columns(self, name):
        return self.n_features if self.n_features <= MEMBERS[name] else 0

    def _leave_out(self) -> None:
        """End the leases of members that have no columns, for good."""
        for m, name in enumerate(MEMBERS):
            if not self._columns(name):
                self.leases.end(m, self.at)

    @property
    def operations(self):
        """What each member costs an example."""
        return [
            getattr(self, name).operations if self._columns(name) else math.inf for name in MEMBERS
        ]

    @property
    def today_operations(self):
        """What the prediction without members costs an example."""
        return TODAY_OPERATIONS * max(1, self.n_classes - 1)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and more classes."""
        self.n_features, self.n_classes = n_features, n_classes
        for name, most in MEMBERS.items():
            member = getattr(self, name)
            if n_features <= most:
                member.grow(n_features, n_classes)
            else:
                setattr(self, name, type(member)(0, n_classes))  # too wide from now on
        self._leave_out()
        before = np.asarray(self.moments)
        self.moments = np.pad(before, ((0, 0), (0, n_features - before.shape[1])))
        self._allocate()

    def weighed(self):
        """Return copies of the weights of today's prediction, the members and their stack.

        Those in the prediction sum to 1; the others are in the stack, which has none for itself.
        """
        raise NotImplementedError

    def standings(self):
        """Return the `STANDING` of what predicts, today's prediction first.

        These are the weights in prediction and stack, whether it has a lease and for which
        share of the examples it had one, and microseconds an example.

        A member without a lease predicts what the live models do, which have its weights.
        """
        awake = self.leases.table[:, AWAKE] > 0.0
        weights, in_stack = self.weighed()
        for each in (weights, in_stack):
            each[0] += each[1 : 1 + len(MEMBERS)][~awake].sum()
            each[1 : 1 + len(MEMBERS)][~awake] = 0.0
        if not awake.any():  # nor has the stack anything to add
            weights = np.eye(len(weights))[0]
        costs = (self.today_operations, *self.operations, math.inf)
        rows = zip(
            SHOWN, weights.tolist(), (*in_stack.tolist(), None), (None, *awake.tolist(), None),
            (None, *map(self._leased, range(len(MEMBERS))), None),
            (each / OPERATIONS if each < math.inf else None for each in costs), strict=True,
        )  # fmt: skip
        return [dict(zip(STANDING, row, strict=True)) for row in rows]

    cpdef answer(self, Block block):
        """Replace today's predictions of a block by what all say; learn it if it `learns`."""
        cdef Py_ssize_t start = 0
        while start < block.n:
            stop = self.part(start, block.n, block.learns)
            self.consult(block, start, stop)
            if block.learns:
                self.count(stop - start)
            start = stop

    cdef Py_ssize_t part(self, Py_ssize_t start, Py_ssize_t n, bint learns) noexcept nogil:
        """Return the end of a part of `n` examples between which leases or trees may change."""
        return min(n, start + max(self._due - self.at, 1)) if learns else n

    cdef int count(self, Py_ssize_t n) except -1:
        """Count examples; draw trees and review the leases when it is time."""
        self.at += n
        if self.at >= self._due:
            self._advance()
        return 0

    def _advance(self) -> None:
        if self.trees.draw():
            self._looked = False
            self.leases.fit(self.at, self.operations)
        if self.at >= self.leases.due:
            self.leases.review(self.at, self.operations, self.today_operations)
        self._due = int(min(self.leases.due, self.at + self.trees.left))

    def fill(self, state) -> None:
        """See `plain.Saved.fill`."""
        plain.fill(self, state, self.kept)
        self._looked, self._due = False, 0

    def notes(self):
        """Return the share of examples for which each member had a lease."""
        return {f"leased.{name}": self._leased(m) for m, name in enumerate(MEMBERS)}

    def _leased(self, member):
        return self.leases.held(member, self.at) / max(1, self.at)

    cdef bint any_awake(self) noexcept nogil:
        """Return whether a member has a lease."""
        return (
            self._leases[0, AWAKE] > 0.0 or self._leases[1, AWAKE] > 0.0
            or self._leases[2, AWAKE] > 0.0
        )

    cdef void ask(self, Chunk *chunk) noexcept:
        """Let the awake members learn a chunk, and write what they predict into `_found`.

        There is today's prediction before; an example of worth 0 teaches nothing.
        """
        cdef Py_ssize_t d = self.n_features, k = self._found.shape[2], t, j, m
        cdef bint standardised = self._leases[1, AWAKE] > 0.0 or self._leases[2, AWAKE] > 0.0
        cdef const float *example = chunk.examples
        cdef double *moments = &self.moments[0, 0]
        cdef double *standard = &self._standard[0]
        chunk.standard = standard
        # Every row standardised by the rows before.
        for t in range(chunk.n):
            if standardised:
                standardise(example, moments, d, self.seen[0], standard + t * d)
            if chunk.worths[t] > 0.0:
                self.seen[0] += 1.0
                add_moments(example, moments, d, self.seen[0])
            example += d
        # Whether what was said of the only example is there, as nothing was learned since.
        chunk.again = chunk.n == 1 and self._looked
        for j in range(d if chunk.again else 0):
            chunk.again = chunk.again and self._example[j] == chunk.examples[j]
        # The members that have a lease.
        for m in range(N_MEMBERS):
            if self._leases[m, AWAKE] > 0.0:
                for j in range(k if chunk.again else 0):
                    self._found[m, 0, j] = self._said[m * k + j]
                member = self.trees if m == 0 else self.fourier if m == 1 else self.neighbours
                member.take(chunk, &self._found[m, 0, 0])
        self._looked = chunk.n == 1 and chunk.worths[0] <= 0.0
        if self._looked:
            for j in range(d):
                self._example[j] = chunk.examples[j]
            for m in range(N_MEMBERS):
                for j in range(k):
                    self._said[m * k + j] = self._found[m, 0, j]

    cdef void consult(self, Block block, Py_ssize_t start, Py_ssize_t stop) noexcept:
        """Do `answer` with a part of a block, in which no lease ends."""
