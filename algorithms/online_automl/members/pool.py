"""Members next to today's prediction, and what all pools of them share."""

from __future__ import annotations

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import Handle, array_at, handle_of, pointer
from leaseboard.algorithms.online.kernel import Doubles, Floats
from leaseboard.algorithms.online_automl.members.fourier import FourierRidge, learn_fourier
from leaseboard.algorithms.online_automl.members.leases import AWAKE, OPERATIONS, Leases
from leaseboard.algorithms.online_automl.members.neighbours import Neighbours, learn_neighbours
from leaseboard.algorithms.online_automl.members.trees import RandomTrees, learn_trees
from leaseboard.algorithms.online_automl.safe.passes import matrix, rows, vector
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.ridge import add_moments, standardise

TODAY_OPERATIONS = 8000.0
"""What the prediction without members costs, for numbers and for two classes."""

MEMBERS = {"trees": 1024, "fourier": 64, "neighbours": 64}
"""The members, and the most columns of each: random columns of more say little, and of more all
examples are about as far away as the nearest."""

SHOWN = ("live models", "trees", "Fourier features", "neighbours", "stack")
"""What users call today's prediction, the members and their stack."""

STANDING = ("member", "weight", "in_stack", "has_lease", "leased", "us")
"""What they read of each: see `MemberPool.standings`."""

LOOKED, MEMBERS_AT, CONTROL, OWN = 4, 5, 20, 21
"""Where in the handle of a pool the example is that was looked at last, the members begin, the
settings, and what each kind has alone."""


class MemberPool(Saved, ABC):
    """Trees, Fourier features and neighbours, with their leases.

    Parameters
    ----------
    n_features : int
    n_classes : int
        0 for numbers.
    seed : int
        Of what members draw.
    """

    kept: ClassVar[tuple[str, ...]] = ("at", *MEMBERS, "leases", "moments", "seen")

    def __init__(self, n_features: int, n_classes: int, seed: int = 0) -> None:
        self.n_features, self.n_classes, self.at = n_features, n_classes, 0
        self.trees = RandomTrees(self._columns("trees"), n_classes, seed)
        self.fourier = FourierRidge(self._columns("fourier"), n_classes, seed)
        self.neighbours = Neighbours(self._columns("neighbours"), n_classes)
        self.leases = Leases(len(MEMBERS))
        self.moments, self.seen = np.zeros((2, n_features)), np.zeros(1)
        self._handle: Handle | None = None
        self._due = 0
        self._leave_out()
        self.leases.plan()

    def limit(self, budget_us: float) -> None:
        """Let members take at most so many microseconds an example together."""
        self.leases.most = budget_us * OPERATIONS
        self.leases.fit(self.at, self.operations)

    def _columns(self, name: str) -> int:
        return self.n_features if self.n_features <= MEMBERS[name] else 0

    def _leave_out(self) -> None:
        """End the leases of members that have no columns, for good."""
        for m, name in enumerate(MEMBERS):
            if not self._columns(name):
                self.leases.end(m, self.at)

    @property
    def operations(self) -> list[float]:
        """What each member costs an example."""
        return [
            getattr(self, name).operations if self._columns(name) else math.inf for name in MEMBERS
        ]

    @property
    def _today(self) -> float:
        """What the prediction without members costs an example."""
        return TODAY_OPERATIONS * max(1, self.n_classes - 1)

    def grow(self, n_features: int, n_classes: int) -> None:
        """Go on with more columns, which were 0 until now, and more classes."""
        self.n_features, self.n_classes, self._handle, self._due = n_features, n_classes, None, 0
        for name, most in MEMBERS.items():
            member = getattr(self, name)
            if n_features <= most:
                member.grow(n_features, n_classes)
            else:
                setattr(self, name, type(member)(0, n_classes))  # too wide from now on
        self._leave_out()
        self.moments = np.pad(self.moments, ((0, 0), (0, n_features - self.moments.shape[1])))

    @property
    def handle(self) -> Handle:
        """Where the arrays of the members are; new when trees are drawn or columns join."""
        if self._handle is None:
            trees, fourier, near = self.trees, self.fourier, self.neighbours
            self._arrays = (
                self.leases.table, self.leases.lost, self.moments, self.seen,
                np.zeros(1 + self.n_features + len(MEMBERS) * max(1, self.n_classes)),
                trees.inner, trees.nodes, trees.totals, trees.buffer, trees.path,
                fourier.directions, fourier.phases, fourier.first, fourier.inverse,
                fourier.weights, fourier.cosines,
                near.window, near.targets, near.worths, near.seen,
                np.array([trees.rate, self.n_classes]), *self._own(),
            )  # fmt: skip
            self._handle = handle_of(*self._arrays)
        return self._handle

    @abstractmethod
    def address(self, given: Handle) -> int:
        """Return where the kernel is that passes a part of such a block through the members."""

    @abstractmethod
    def _own(self) -> tuple[NDArray[Any], ...]:
        """Return the arrays that only a pool for numbers or only one for classes has."""

    def until(self, n: int) -> int:
        """Return how many of the next `n` examples come before leases or trees are due."""
        return int(min(n, self.leases.due - self.at, self.trees.left))

    @abstractmethod
    def weighed(self) -> tuple[Doubles, Doubles]:
        """Return copies of the weights of today's prediction, the members and their stack.

        Those in the prediction sum to 1; the others are in the stack, which has none for itself.
        """

    def standings(self) -> list[dict[str, Any]]:
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
        costs = (self._today, *self.operations, math.inf)
        rows = zip(
            SHOWN, weights.tolist(), (*in_stack.tolist(), None), (None, *awake.tolist(), None),
            (None, *map(self._leased, range(len(MEMBERS))), None),
            (each / OPERATIONS if each < math.inf else None for each in costs), strict=True,
        )  # fmt: skip
        return [dict(zip(STANDING, row, strict=True)) for row in rows]

    def parts(self, n: int, *, learns: bool) -> Iterator[slice]:
        """Yield the parts of a block of `n` between which leases or trees may change.

        Those that are learned are counted once their user has learned them.
        """
        start = 0
        while start < n:
            left = n - start  # the next one comes before all that is due
            part = slice(start, start + (self.until(left) if learns and left > 1 else left))
            yield part
            if learns:
                self.advance(part.stop - start)
            start = part.stop

    def count_one(self) -> None:
        """Count one example; do `advance` only when trees or leases may be due."""
        self.at += 1
        if self.at >= self._due:
            self.advance(0)
            self._due = self.at + self.until(sys.maxsize)

    def advance(self, n: int) -> None:
        """Count examples; draw trees and review the leases when it is time."""
        self.at += n
        if self.trees.draw():
            self._handle = None
            self.leases.fit(self.at, self.operations)
        if self.at >= self.leases.due:
            self.leases.review(self.at, self.operations, self._today)

    def fill(self, state: Any) -> None:
        """See `Saved.fill`."""
        super().fill(state)
        self._handle, self._due = None, 0

    def notes(self) -> dict[str, float]:
        """Return the share of examples for which each member had a lease."""
        return {f"leased.{name}": self._leased(m) for m, name in enumerate(MEMBERS)}

    def _leased(self, member: int) -> float:
        return self.leases.held(member, self.at) / max(1, self.at)


@compiled
def any_awake(pool: Handle) -> bool:
    """Return whether a member has a lease."""
    table, found = matrix(pool, 0), False
    for m in range(len(table)):
        found = found or table[m, AWAKE] > 0.0
    return found


@compiled
def consult(
    pool: Handle, examples: Floats, targets: Doubles, worths: Floats, found: Doubles
) -> None:
    """Let the awake members learn a block, and overwrite what they predict.

    Parameters
    ----------
    pool : ndarray of int64
        The handle of a `MemberPool`.
    examples : ndarray of float32, shape (n, n_features)
    targets : ndarray of float64, shape (n,)
    worths : ndarray of float32, shape (n,)
        An example of 0 teaches nothing.
    found : ndarray of float64, shape (3, n, n_outputs)
        Of each member; today's prediction before.
    """
    table, k, control = matrix(pool, 0), MEMBERS_AT, vector(pool, CONTROL)
    classes = control[1] > 0.0
    # Every row standardised by the rows before.
    moments, seen = matrix(pool, 2), vector(pool, 3)
    standard = np.zeros(examples.shape)
    for t in range(len(examples)):
        standardise(examples[t], moments, seen[0], standard[t])
        if worths[t] > 0.0:
            seen[0] += 1.0
            add_moments(examples[t], moments, seen[0])
    # Whether what was said of the only example is there, as nothing was learned since.
    looked, d, n_outputs = vector(pool, LOOKED), examples.shape[1], found.shape[2]
    again, said = len(examples) == 1 and looked[0] > 0.0, looked[1 + d :]
    for j in range(d if again else 0):
        again = again and looked[1 + j] == examples[0, j]
    for m in range(len(found) if again else 0):
        for j in range(n_outputs if table[m, AWAKE] > 0.0 else 0):
            found[m, 0, j] = said[m * n_outputs + j]
    # The members that have a lease.
    if table[0, AWAKE] > 0.0:
        inner, nodes, path = pool[k], pool[k + 1], pool[k + 4]
        size = 2 * inner[1] * inner[2]
        learn_trees(
            examples, targets, worths, classes, control[0],
            array_at(pointer(inner[0]), (size,), np.int32),
            array_at(pointer(inner[0]), (size,), np.float32),
            array_at(pointer(nodes[0]), (nodes[1], nodes[2], nodes[3]), np.float32),
            vector(pool, k + 2), rows(pool, k + 3),
            array_at(pointer(path[0]), (path[1], path[2]), np.uint32), again, found[0],
        )  # fmt: skip
    k += 5
    if table[1, AWAKE] > 0.0:
        learn_fourier(
            standard, targets, worths, classes, matrix(pool, k), vector(pool, k + 1),
            vector(pool, k + 2), matrix(pool, k + 3), matrix(pool, k + 4), vector(pool, k + 5),
            again, found[1],
        )  # fmt: skip
    k += 6
    if table[2, AWAKE] > 0.0:
        learn_neighbours(
            standard, targets, worths, classes, rows(pool, k), vector(pool, k + 1),
            vector(pool, k + 2), vector(pool, k + 3), again, found[2],
        )  # fmt: skip
    looked[0] = len(examples) == 1 and worths[0] <= 0.0
    if looked[0] > 0.0:
        for j in range(d):
            looked[1 + j] = examples[0, j]
        for m in range(len(found)):
            for j in range(n_outputs):
                said[m * n_outputs + j] = found[m, 0, j]
