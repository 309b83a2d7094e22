"""Linear models over monomials: of dense rows, of sparse rows, and of full expansions.

A monomial is the sorted tuple of its variables with repeats: ``(0, 0, 3)`` is :math:`x_0^2 x_3`.
Kernels know it by a 64-bit key, the wrapping sum of one random odd number per variable. The sum
commutes, so ``x1 * x2`` and ``x2 * x1`` are one feature; VW's hash depends on the path and counts
them twice. Two of m monomials share a key with a probability below m² / 2^64.
"""

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from leaseboard.algorithms.apple import kernel
from leaseboard.algorithms.apple.kernel import EMPTY, EXAMPLES, UNSEEN
from leaseboard.algorithms.apple.rows import Examples
from leaseboard.algorithms.arrays import Doubles, Floats
from leaseboard.algorithms.environments.holdout import Rows
from leaseboard.algorithms.errors import DivergedError, SkipError

Heuristic = Literal["weight", "raw-weight", "ssm"]
Monomial = tuple[int, ...]
Slots = NDArray[np.intp]

RECORD = np.dtype([("w", "f4"), ("g", "f4"), ("inverse", "f4"), ("last_row", "u4")], align=True)
"""State of a slot: ω, γ, 1 / N, and the number of the last row that emitted it, where that counts.
Any look-up costs one cache line."""

MONOMIAL = np.dtype(
    [("key", "u8"), ("source", "u4"), ("variable", "u4"), ("degree", "u1")], align=True
)
"""Provenance of a slot: its key, the slot of the parent and the variable that multiplied it, and
the degree. The source of a base variable is the constant, the empty monomial."""


class MonomialLearner(ABC):
    """Linear model over monomials, which live in slots.

    Slots 0 to d - 1 hold the base variables, slot d the constant, the rest monomials of higher
    degree. All columns are scaled by powers of two to at most 1 in magnitude. VW's update is
    indifferent to that, and products of any degree then stay within float32.

    Parameters
    ----------
    scale : ndarray of float64, shape (n_variables,)
        See `leaseboard.algorithms.apple.rows.column_scales`.
    rate : float
        η of VW's update.
    bits : int
        Monomials of degree two and more share a table of 2^bits slots.
    moments : bool
        Keep the sums of the SSM heuristic.

    Attributes
    ----------
    table : bool
        Whether slots are set aside for a table.
    records : ndarray of RECORD, shape (n_slots,)
    moments : ndarray of float64, shape (n_slots, 2)
        The sums of `ssm_score`.
    totals : ndarray of float64, shape (6,)
    """

    table: ClassVar[bool] = True

    def __init__(
        self, scale: Doubles, rate: float, bits: int = 18, *, moments: bool = False
    ) -> None:
        self.scale, self.rate, self.bits = scale, rate, bits
        n_slots = len(scale) + 1 + (self.table << bits)
        self.variable_keys: NDArray[np.uint64] = kernel.variable_keys(len(scale))
        self.records: NDArray[Any] = np.zeros(n_slots, dtype=RECORD)
        self.records["inverse"][: len(scale) + 1] = 1 / UNSEEN
        self.moments = np.zeros((n_slots if moments else 0, 2))
        self.totals = np.zeros(6)

    def learn(self, examples: Examples, target: int = 0) -> Floats:
        """Predict each example and then learn it (lines 3 and 4); return the predictions."""
        out = np.empty(len(examples), dtype=np.float32)
        labels = np.ascontiguousarray(examples.targets[target])
        bad = self._expander(examples.rows).learn(labels, out)
        if bad >= 0:
            raise DivergedError(
                f"the prediction of training example {bad} is not finite at learning rate"
                f" {self.rate}: lower it"
            )
        return out

    def predict(self, rows: Rows, *, clamped: bool = True) -> Floats:
        """Return predictions, clamped to the labels' range or linear in the weights."""
        out = np.empty(rows.shape[0], dtype=np.float32)
        low, high = self.totals[[kernel.LOW, kernel.HIGH]] if clamped else (-np.inf, np.inf)
        self._expander(rows).predict(low, high, out)
        return out

    @property
    @abstractmethod
    def size(self) -> int:
        """Number of monomials, the constant not counted."""

    @property
    @abstractmethod
    def max_degree(self) -> int:
        """The highest degree of a monomial."""

    @property
    def mean_nonzeros(self) -> float:
        """s: the average number of non-zero base features, the constant counted."""
        return float(self.totals[kernel.NONZEROS] / max(self.totals[EXAMPLES], 1.0))

    @abstractmethod
    def _expander(self, rows: Rows) -> kernel.Expander:
        """Return the kernel that learns and predicts these rows."""


class GrowingLearner(MonomialLearner):
    """Learner of Algorithm 1: it knows S_k, P_k, and where each monomial comes from.

    Attributes
    ----------
    monomials : ndarray of MONOMIAL, shape (n_slots,)
    parent : ndarray of bool, shape (n_slots,)
        Membership in P_k.
    """

    def __init__(self, scale: Doubles, *given: Any, **named: Any) -> None:
        super().__init__(scale, *given, **named)
        d, n_slots = len(scale), len(self.records)
        self.monomials: NDArray[Any] = np.zeros(n_slots, dtype=MONOMIAL)
        self.monomials["key"][:d], self.monomials["degree"][:d] = self.variable_keys, 1
        self.monomials["source"][: d + 1] = d
        self.monomials["variable"][: d + 1] = np.arange(d + 1)
        self.parent = np.zeros(n_slots, dtype=np.bool_)

    @abstractmethod
    def slots(self) -> Slots:
        """Return the slots of S_k, the constant left out, base variables first."""

    @abstractmethod
    def places_of(self, other: Self) -> tuple[Slots, Slots]:
        """Return the slots of `other` and those here of the same monomials, constant included.

        A monomial of `other` that finds no place here is left out.
        """

    @abstractmethod
    def expand(self, slots: Iterable[int]) -> None:
        """Put the monomials of some slots into P_k and their children into S_k (line 7)."""

    @abstractmethod
    def slot_of(self, monomial: Monomial) -> int:
        """Return the slot of a monomial of S_k; below 0 if it has none."""

    def expand_by(self, parents: Iterable[Monomial]) -> None:
        """Expand by monomials, of which some may be children of others."""
        for _, level in groupby(sorted(parents, key=by_degree), key=len):
            self.expand([slot for slot in map(self.slot_of, level) if slot >= 0])

    def choose(self, size: int, heuristic: Heuristic, *, fallback: bool = False) -> Slots:
        """Choose M_k of line 6: the `size` non-parents with the highest scores.

        With `fallback` (section 2.4) the last place goes to a non-parent of the smallest
        degree, the first in the order of the variables, for any score.
        """
        slots = self.slots()
        slots = slots[~self.parent[slots]]
        score, keys = self._scores(slots, heuristic), self.monomials["key"][slots]
        chosen = slots[top(score, keys, size - fallback)]
        if fallback and len(rest := np.setdiff1d(slots, chosen)):
            degree = self.monomials["degree"][rest]
            chosen = np.append(chosen, min(rest[degree == degree.min()], key=self.monomial))
        return chosen

    def monomial(self, slot: int | np.integer[Any]) -> Monomial:
        """Return the monomial in a slot, read off its provenance."""
        variables = []
        while slot != len(self.scale):
            variables.append(int(self.monomials["variable"][slot]))
            slot = self.monomials["source"][slot]
        return tuple(sorted(variables))

    def parents(self) -> list[Monomial]:
        """Return P_k, by degree and then in the order of the variables: prefixes come first."""
        return sorted(map(self.monomial, np.flatnonzero(self.parent)), key=by_degree)

    @property
    def size(self) -> int:
        """|S_k|, the constant not counted."""
        return len(self.slots())

    @property
    def max_degree(self) -> int:
        """The highest degree in S_k."""
        return int(self.monomials["degree"].max(initial=1))

    def _scores(self, slots: Slots, heuristic: Heuristic) -> Doubles:
        if heuristic == "ssm":
            return ssm_score(*self.moments[slots].T)
        if heuristic == "raw-weight":
            return np.abs(self._raw_weights(slots))
        return np.abs(self.records["w"][slots].astype(np.float64))

    def _raw_weights(self, slots: Slots) -> Doubles:
        """Return the weights w on the scale of the data; those of features never seen are 0."""
        factors, monomials = np.ones(len(self.records)), self.monomials
        factors[: len(self.scale)] = self.scale
        for degree in range(2, self.max_degree + 1):  # a product's source is one degree lower
            at = np.flatnonzero(monomials["degree"] == degree)
            factors[at] = factors[monomials["source"][at]] * self.scale[monomials["variable"][at]]
        state = self.records[slots]
        seen = np.where(state["inverse"] < 1 / UNSEEN, state["inverse"], np.float32(0))
        return np.asarray(state["w"].astype(np.float64) * seen * factors[slots])


class PlanLearner(GrowingLearner):
    """Learner for dense rows of few columns; exact, no two monomials ever share a slot.

    S_k is a plan of products, without hashing. Parameters as of `MonomialLearner`.
    """

    table: ClassVar[bool] = False

    def slots(self) -> Slots:
        """Return all but the constant's."""
        return np.delete(np.arange(len(self.monomials)), len(self.scale))

    def expand(self, slots: Iterable[int]) -> None:
        """Add the children that are not in S_k, those of the smallest degree first."""
        at = np.fromiter(slots, dtype=np.intp)
        at = at[np.argsort(self.monomials["degree"][at], kind="stable")]
        self._append_children(at, np.ones((len(at), len(self.scale)), dtype=np.bool_))

    def expand_all(self, degree: int, indicators: NDArray[np.bool_]) -> None:
        """Put all monomials up to `degree` into S_k, but no square of an indicator."""
        variables = np.arange(len(self.scale))
        for below in range(1, degree):
            slots = np.flatnonzero(self.monomials["degree"] == below)
            last = self.monomials["variable"][slots][:, None]
            squares = (variables == last) & ~indicators
            self._append_children(slots, (variables > last) | squares)

    def slot_of(self, monomial: Monomial) -> int:
        """See `GrowingLearner.slot_of`."""
        return int(self._slots_of(monomial_key(monomial, self.variable_keys)))

    def places_of(self, other: Self) -> tuple[Slots, Slots]:
        """Return all of `other`'s slots; this feature set must hold its own."""
        return np.arange(len(other.monomials)), self._slots_of(other.monomials["key"])

    def _slots_of(self, keys: Any) -> Slots:
        order = np.argsort(self.monomials["key"])
        return np.asarray(order[np.searchsorted(self.monomials["key"], keys, sorter=order)])

    def _append_children(self, slots: Slots, allowed: NDArray[np.bool_]) -> None:
        """Make parents of `slots`; `allowed` says for each of them which variables count."""
        self.parent[slots] = True
        of, variable = np.nonzero(allowed)
        new = np.zeros(len(of), dtype=MONOMIAL)
        new["source"], new["variable"] = slots[of], variable
        parents = self.monomials[new["source"]]
        new["key"] = parents["key"] + self.variable_keys[variable]
        new["degree"] = parents["degree"] + np.uint8(1)
        _, first = np.unique(new["key"], return_index=True)
        new = new[np.sort(first)]
        new = new[~np.isin(new["key"], self.monomials["key"])]
        more = (0, len(new))
        self.monomials = np.append(self.monomials, new)
        self.parent = np.pad(self.parent, more)
        self.records = np.append(self.records, np.zeros(len(new), dtype=RECORD))
        self.records["inverse"][len(self.records) - len(new) :] = 1 / UNSEEN
        self.moments = np.pad(self.moments, (more if len(self.moments) else (0, 0), (0, 0)))

    def _expander(self, rows: Rows) -> kernel.PlanExpander:
        return kernel.PlanExpander(self, rows.toarray() if sparse.issparse(rows) else rows)


class HashedLearner(GrowingLearner):
    """Learner for sparse rows of any width; its memory is the table and the base features.

    Monomials are found as the examples need them. Parameters as of `MonomialLearner`.

    Attributes
    ----------
    tags, owners, counts
        The table, see `leaseboard.algorithms.apple.kernel.HashedExpander`.
    """

    def __init__(self, scale: Doubles, *given: Any, **named: Any) -> None:
        super().__init__(scale, *given, **named)
        self.tags = np.zeros(1 << self.bits, dtype=np.uint8)
        self.owners = np.zeros(1 << self.bits, dtype=np.uint64)
        self.counts = np.zeros(2, dtype=np.int64)

    def slots(self) -> Slots:
        """Return the base variables, then the monomials in the order of their first example."""
        d = len(self.scale)
        return np.delete(np.arange(d + 1 + self.counts[kernel.CLAIMED]), d)

    def expand(self, slots: Iterable[int]) -> None:
        """Mark parents; their children claim buckets when an example first has them."""
        self.parent[list(slots)] = True

    def slot_of(self, monomial: Monomial) -> int:
        """Return a monomial's slot, claimed if it was empty; below 0 if another owns it."""
        if len(monomial) == 1:
            return monomial[0]
        key, table = monomial_key(monomial, self.variable_keys), self._table()
        slot: int = table.find(key)
        source = self.slot_of(monomial[:-1]) if slot == EMPTY else -1
        return table.claim(key, source, monomial[-1]) if source >= 0 else slot

    def places_of(self, other: Self) -> tuple[Slots, Slots]:
        """See `GrowingLearner.places_of`; monomials that are new here claim buckets, by degree."""
        d, slots = len(self.scale), other.slots()
        slots = slots[np.argsort(other.monomials["degree"][slots], kind="stable")]
        here = np.full(len(other.records), -1)
        here[: d + 1] = np.arange(d + 1)
        self._table().adopt(other._table(), slots[d:], here)
        shared = np.flatnonzero(here >= 0)
        return shared, here[shared]

    def _table(self) -> kernel.HashedExpander:
        return self._expander(sparse.csr_array((0, len(self.scale)), dtype=np.float32))

    def _expander(self, rows: Rows) -> kernel.HashedExpander:
        return kernel.HashedExpander(self, sparse.csr_array(rows))


MOST_PRODUCTS = 2**25
"""A row may have so many products; they take 48 bytes each, once."""


class FullLearner(MonomialLearner):
    """All monomials up to a degree, as VW's ``--interactions ::`` has them: nothing is chosen.

    Every product of up to `max_degree` features of a row is emitted once and lives in the bucket
    of its key. Products that hash to the same bucket share its weight: at these numbers no table
    could separate them, and their names are not needed.

    Parameters
    ----------
    scale, rate, bits
        As of `MonomialLearner`.
    degree : int
    indicators : ndarray of bool, shape (n_variables,)
        Columns of zeros and ones, which are their own squares.
    """

    max_degree: int = 1

    def __init__(
        self, scale: Doubles, rate: float, bits: int, degree: int, indicators: NDArray[np.bool_]
    ) -> None:
        super().__init__(scale, rate, bits)
        self.records["inverse"] = 1 / UNSEEN
        self.max_degree, self.indicators = degree, indicators

    @property
    def size(self) -> int:
        """The base variables and the buckets in use, however many monomials share them."""
        buckets = self.records["inverse"][len(self.scale) + 1 :]
        return len(self.scale) + int(np.count_nonzero(buckets < 1 / UNSEEN))

    def _expander(self, rows: Rows) -> kernel.FullExpander:
        rows = sparse.csr_array(rows)
        longest = int(np.diff(rows.indptr).max(initial=0))
        products = math.comb(longest + self.max_degree, self.max_degree)
        if products > MOST_PRODUCTS:
            raise SkipError(
                f"a row of {longest} features has {products:.3g} products of up to"
                f" {self.max_degree}, more than {MOST_PRODUCTS}: lower the degree"
            )
        return kernel.FullExpander(self, rows, products)


def ssm_score(residual_moment: Doubles, moment: Doubles) -> Doubles:
    """Return the estimate of :math:`E[r^2 m^2] / E[m^2]` (section 2.3); 0 where m always was 0.

    Parameters
    ----------
    residual_moment, moment : ndarray of float64, shape (n_monomials,)
        :math:`Σ_t (p_t - y_t)^2 m(x_t)^2` and :math:`Σ_t m(x_t)^2` since training began, p
        made before the update, as the authors' own implementation had it.

    Examples
    --------
    >>> ssm_score(np.array([2.0, 0.0]), np.array([4.0, 0.0]))
    array([0.5, 0. ])
    """
    return np.divide(residual_moment, moment, out=np.zeros_like(moment), where=moment > 0)


def top(scores: Doubles, keys: NDArray[np.uint64], size: int) -> Slots:
    """Return the places of the `size` highest positive scores, best first, equal ones by key.

    A monomial of score 0 is never chosen: it has not been seen.

    Examples
    --------
    >>> top(np.array([0.0, 3.0, 5.0, 3.0]), np.array([1, 9, 2, 4], dtype=np.uint64), 2)
    array([2, 3])
    """
    places = np.flatnonzero(scores > 0)
    if len(places) > size > 0:  # without a sort of all
        least = np.partition(scores[places], -size)[-size]
        places = places[scores[places] >= least]
    return places[np.lexsort((keys[places], -scores[places]))][:size]


def by_degree(monomial: Monomial) -> tuple[int, Monomial]:
    """Return what monomials are sorted by."""
    return len(monomial), monomial


def monomial_key(monomial: Monomial, keys: NDArray[np.uint64]) -> np.uint64:
    """Return the wrapping sum of the variables' keys."""
    return np.uint64(np.sum(keys[list(monomial)], dtype=np.uint64))


def readable(monomial: Monomial, names: Sequence[str]) -> str:
    """Return the monomial as a product of named features; the empty one is ``1``.

    Examples
    --------
    >>> readable((0, 0, 2), ["age", "sex", "fare"])
    'age^2*fare'
    """
    powers = Counter(names[variable] for variable in monomial)
    return "*".join(name if n == 1 else f"{name}^{n}" for name, n in powers.items()) or "1"


def learned(learners: Sequence[MonomialLearner], examples: Examples) -> Floats:
    """Let each learner learn its target; return its predictions before, a column for each."""
    return np.column_stack([each.learn(examples, i) for i, each in enumerate(learners)])


def outputs(learners: Sequence[MonomialLearner], rows: Rows) -> Floats:
    """Return the predictions of some rows, a column for each learner."""
    return np.column_stack([learner.predict(rows) for learner in learners])
