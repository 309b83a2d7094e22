"""What stands before the live models: representations of each example, and simple companions.

An example comes as its features. What models see of it is wider
(`leaseboard.algorithms.chacha.safe.representations`): the features as they are, the same
standardised by the rows before, the same in pieces, the last three labels, and the label one
season ago. Next to the models five *companions* forecast, which need no search: the mean of the
labels, the last one, the one a season ago (`leaseboard.algorithms.reference.naive`), and two
ridge regressions (`leaseboard.algorithms.reference.ridge`), on the standardised features alone and
with the labels' past; for classes these two are logistic.

Of more than `NARROW` features so many are selected as the stream goes on
(`leaseboard.algorithms.chacha.safe.selected`): pieces, and the ridge regression on the labels'
past, are of these, and models may see them alone. Beyond what
`leaseboard.algorithms.reference.ridge.on_all` allows this ridge regression is the only one, and
both companions forecast what it does.

All of it learns labels that are clipped to the range of `leaseboard.algorithms.chacha.safe.scale`.
Classes are the labels -1 and 1; a chance p of the second is the forecast 2 p - 1.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.safe.scale import (
    COUNT,
    HIGH,
    LOW,
    MEAN,
    admit,
    clipped,
    deviation,
    new_scale,
)
from leaseboard.algorithms.chacha.safe.selected import (
    EMPTY,
    EVERY,
    Slots,
    choose,
    learn_row,
    remembered,
    select,
    target_of,
)
from leaseboard.algorithms.online.handles import quick
from leaseboard.algorithms.plain import fill
from leaseboard.algorithms.reference.naive import LONGEST, compare, next_period, remember
from leaseboard.algorithms.reference.ridge import (
    CLIP,
    add_moments,
    on_all,
    solve,
    solve_both,
    solve_long,
    standardise,
)

Floats = NDArray[np.float32]
Doubles = NDArray[np.float64]

MEAN_SO_FAR, LAST, SEASON, RIDGE, RIDGE_ON_PAST = range(5)
"""The companions."""

N_COMPANIONS = 5
N_PAST = 4
"""Features of the labels' past: the last three, and the one a season ago."""

KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Deviations from its mean at which a feature in pieces is bent; they are 1 apart."""

STRANGE = 5.0
"""Deviations from its mean at which a feature explains a label beyond the range."""

NARROW = 64
"""Up to so many features all are seen in pieces, and are in both ridge regressions; of more, so
many that are selected."""


_NOTHING = np.zeros(1, dtype=np.float32)


class Companions(NamedTuple):
    """What representations and companions are made of.

    Attributes
    ----------
    scale : ndarray of float64
        See `leaseboard.algorithms.chacha.safe.scale`.
    moments : ndarray of float64, shape (2, n_features)
        Of the features, see `leaseboard.algorithms.reference.ridge.standardise`.
    past, losses : ndarray of float64
        See `leaseboard.algorithms.reference.naive.learn_seasonal`.
    triangle, rotated, weights : ndarray of float64
        Of the ridge regression on features, see
        `leaseboard.algorithms.reference.ridge.learn_ridge`.
    past_triangle, past_rotated, past_weights : ndarray of float64
        Of the one that has the labels' past before them, and of many features the selected ones.
    slots, memory : ndarray
        Which ones these are, and what they are selected by; see
        `leaseboard.algorithms.chacha.safe.selected.select`.
    """

    scale: Doubles
    moments: Doubles
    past: Doubles
    losses: Doubles
    triangle: Doubles
    rotated: Doubles
    weights: Doubles
    past_triangle: Doubles
    past_rotated: Doubles
    past_weights: Doubles
    slots: Slots
    memory: Floats


class Block(NamedTuple):
    """Examples in order, and what becomes of them on their way to the forecast.

    Attributes
    ----------
    examples : ndarray of float32, shape (n, n_features)
    labels, importances : ndarray of float32, shape (n,)
        An example of importance 0 teaches nothing. The others weigh what the companions learn,
        but for the moments of features and the search for a season.
    wide : ndarray of float32, shape (n, width(n_features))
        What models see: the labels' past and the features, standardised; the features as they
        are; these in pieces. Of many the pieces of the selected ones, and these standardised.
    values : ndarray of float64, shape (n, at least N_COMPANIONS)
        What is forecast, within the range of labels; the last columns are the companions'.
    shown : ndarray of float64, shape (n,)
        The labels as learners see them.
    limits : ndarray of float64, shape (n, 2)
        The range of labels before each.
    """

    examples: Floats
    labels: Floats
    importances: Floats
    wide: Floats
    values: Doubles
    shown: Doubles
    limits: Doubles


def new_block(
    examples: Floats, labels: Floats, importances: Floats, n_values: int = N_COMPANIONS
) -> Block:
    """Return examples of which nothing is known yet, with room for so many forecasts of each."""
    given = np.ascontiguousarray(labels), np.ascontiguousarray(importances)
    return _with_room(np.ascontiguousarray(examples), *given, n_values)


def _with_room(examples: Floats, labels: Floats, importances: Floats, n_values: int) -> Block:
    n, d = examples.shape
    wide, shown = np.empty((n, width(d)), dtype=np.float32), np.zeros(n)
    values, limits = np.zeros((n, n_values)), np.zeros((n, 2))
    return Block(examples, labels, importances, wide, values, shown, limits)


class Front:
    """The state of representations and companions for examples of `n_features`.

    Parameters
    ----------
    n_features : int
    classes : bool
        Labels are -1 and 1.
    shares : int
        How many there are of these, one for each class: together they have bounded memory.

    Attributes
    ----------
    known : Companions
    last_period : int
        The period that was found last, from which the search for the next one goes on.
    """

    def __init__(self, n_features: int, classes: bool = False, shares: int = 1) -> None:
        self.classes, self.shares, self.last_period = classes, shares, 1
        wide, selected = n_features > NARROW, min(n_features, NARROW)
        size = remembered(shares * n_features) if wide else 0, N_PAST + n_features + 2
        self.known = Companions(
            new_scale(-1.0, 1.0) if classes else new_scale(),
            np.zeros((2, n_features)),
            np.zeros(2 * LONGEST),
            np.zeros(LONGEST + 1),
            *_new_ridge(n_features if on_all(n_features, shares) else 0),
            *_new_ridge(N_PAST + selected),
            np.full(selected, EMPTY) if wide else np.arange(selected),
            np.zeros(size, dtype=np.float32),
        )

    @property
    def scale(self) -> Doubles:
        """That of the labels, see `leaseboard.algorithms.chacha.safe.scale`."""
        return self.known.scale

    @property
    def period(self) -> int:
        """How many labels ago a season is, as far as is known; 1 where none was found."""
        seen = int(self.scale[COUNT])
        self.last_period = next_period(self.known.losses, seen, self.last_period)
        return self.last_period

    def grow(self, n_features: int) -> None:
        """Go on with more features, which were 0 until now."""
        grown = Front(n_features, self.classes, self.shares)
        for old, new in zip(self.known[:-1], grown.known[:-1], strict=True):
            if all(have >= had for have, had in zip(new.shape, old.shape, strict=True)):
                new[tuple(slice(size) for size in old.shape)] = old
        # Of more features fewer examples may be remembered: the last ones.
        before, memory = self.known.memory, grown.known.memory
        n = min(len(before), len(memory))
        if n:
            last = int(self.scale[COUNT]) - np.arange(n) - 1
            rows, places = before[last % len(before)], last % len(memory)
            memory[places, : rows.shape[1] - 2] = rows[:, :-2]
            memory[places, -2:] = rows[:, -2:]
        vars(self).update(vars(grown))

    def look(self, example: Floats, n_values: int = N_COMPANIONS) -> Block:
        """Return a block of one example, of which nothing is learned."""
        block = _with_room(np.ascontiguousarray(example[None]), _NOTHING, _NOTHING, n_values)
        advance(block, self.known, self.classes, self.last_period, 0, False)
        return block

    def learn(self, block: Block) -> None:
        """Write all that a block has room for, and learn it; features are selected on the way."""
        known, at = self.known, 0
        while at < len(block.labels):
            period = self.last_period
            self.last_period, at = advance(block, known, self.classes, period, at, True)
            if len(known.memory) and block.importances[at - 1] > 0.0:
                ridge = known.past_triangle, known.past_rotated, known.past_weights
                select(known.memory, known.slots, ridge, known.scale, known.moments, self.classes)

    def state(self) -> dict[str, Any]:
        """Return all that was learned, as plain values."""
        return {"shares": self.shares, **self.known._asdict()}

    def fill(self, state: Any) -> None:
        """Go on from `state` and its shares; ValueError if it is of another size."""
        n_features, shares = self.known.moments.shape[1], state["shares"]
        if type(shares) is not int or shares < 1:
            raise ValueError(f"{shares} shares")
        vars(self).update(vars(Front(n_features, self.classes, shares)))
        fill(self.known, state, Companions._fields)
        held = self.known.slots[self.known.slots != EMPTY]
        if len({*held.tolist()}) < len(held) or not ((held >= 0) & (held < n_features)).all():
            raise ValueError(f"selected features {held} of {n_features}")


def _new_ridge(n_features: int) -> tuple[Doubles, Doubles, Doubles]:
    """Triangle, rotated labels and weights of a ridge regression that has seen nothing."""
    triangle = np.diag([0.0, *[1.0] * n_features])
    return triangle, np.zeros(n_features + 1), np.zeros(n_features + 1)


def companions_of(front: Front, examples: Floats, labels: Floats) -> Doubles:
    """Learn a block, and return what the companions forecast, shape (n, N_COMPANIONS)."""
    block = new_block(examples, labels, np.ones(len(labels), dtype=np.float32))
    front.learn(block)
    return block.values


def width(n_features: int) -> int:
    """Return how many numbers models may see of an example."""
    pieces = len(KNOTS) * min(n_features, NARROW)
    return N_PAST + 2 * n_features + pieces + (NARROW if n_features > NARROW else 0)


@njit(cache=True, nogil=True)
def cut(value: float, varies: bool, pieces: Floats) -> None:
    """Write a standardised feature in pieces: how near it is to each of `KNOTS`.

    Between two knots the nearer one has the larger share, and the shares sum to 1, so a model that
    is linear in them is a line with a bend at each knot, flat beyond the outer ones [1]_. A
    feature that has not varied yet has no pieces.

    References
    ----------
    .. [1] De Boor. A practical guide to splines. 1978: B-splines of order 2.

    Examples
    --------
    >>> pieces = np.zeros(5, dtype=np.float32)
    >>> cut(0.25, True, pieces)
    >>> pieces.tolist()
    [0.0, 0.0, 0.75, 0.25, 0.0]
    """
    for knot in range(len(KNOTS)):
        pieces[knot] = 0.0
    if not varies:
        return
    first, last = KNOTS[0], KNOTS[len(KNOTS) - 1]
    value = min(max(value, first), last)
    below = min(int(value - first), len(KNOTS) - 2)
    share = value - KNOTS[below]
    pieces[below], pieces[below + 1] = 1.0 - share, share


@njit(cache=True, nogil=True, inline="always")
def represent(
    example: Floats,
    known: Companions,
    period: int,
    extended: Doubles,
    row: Doubles,
    wide: Floats,
) -> None:
    """Write what models see of an example.

    Parameters
    ----------
    example : ndarray of float32, shape (n_features,)
    known : Companions
        Only read.
    period : int
        How many labels ago a season is.
    extended, row : ndarray of float64, shape (N_PAST + n_features,)
        Written: the labels' past and the features, as they are, and standardised.
    wide : ndarray of float32
        Written, see `Block`.
    """
    scale, past, slots = known.scale, known.past, known.slots
    d, seen, spread = len(example), int(scale[COUNT]), deviation(scale)
    # The labels' past, before the features as they are.
    begin = -seen % (len(past) // 2)
    for lag in range(1, N_PAST):
        extended[lag - 1] = past[begin + lag - 1] if seen >= lag else scale[MEAN]
    extended[N_PAST - 1] = past[begin + period - 1] if seen else 0.0
    for j in range(d):
        extended[N_PAST + j] = example[j]
        wide[N_PAST + d + j] = example[j]
    # The same standardised.
    for j in range(N_PAST):
        value = (extended[j] - scale[MEAN]) / spread if spread > 0.0 else 0.0
        row[j] = min(max(value, -CLIP), CLIP)
    standardise(extended[N_PAST:], known.moments, scale[COUNT], row[N_PAST:])
    for j in range(N_PAST + d):
        wide[j] = row[j]
    # The features in pieces, of many the selected ones.
    for slot in range(len(slots)):
        column, at = slots[slot], N_PAST + 2 * d + slot * len(KNOTS)
        value, varies = 0.0, False
        if column >= 0:
            value, varies = row[N_PAST + column], known.moments[1, column] > 0.0
        cut(value, varies, wide[at : at + len(KNOTS)])
        if d > NARROW:
            wide[N_PAST + 2 * d + NARROW * len(KNOTS) + slot] = value


@njit(cache=True, nogil=True, inline="always")
def foretell(
    known: Companions, extended: Doubles, row: Doubles, classes: bool, companions: Doubles
) -> None:
    """Write what the companions forecast of an example that `represent` has seen."""
    scale, weights, past_weights, slots = (
        known.scale,
        known.weights,
        known.past_weights,
        known.slots,
    )
    # The regression on the labels' past and the selected features, and that on all of them.
    on_past, on_features = past_weights[0], weights[0]
    for j in range(N_PAST):
        on_past += past_weights[1 + j] * row[j]
    for slot in range(len(slots)):
        if slots[slot] >= 0:
            on_past += past_weights[1 + N_PAST + slot] * row[N_PAST + slots[slot]]
    for j in range(len(weights) - 1):
        on_features += weights[1 + j] * row[N_PAST + j]
    if classes:
        companions[RIDGE] = math.tanh(0.5 * on_features)
        companions[RIDGE_ON_PAST] = math.tanh(0.5 * on_past)
    else:
        companions[RIDGE] = on_features
        companions[RIDGE_ON_PAST] = scale[MEAN] + deviation(scale) * on_past
    if len(weights) <= len(row) - N_PAST:
        companions[RIDGE] = companions[RIDGE_ON_PAST]
    # The labels that are forecast as they were, and all within the range.
    companions[MEAN_SO_FAR] = scale[MEAN]
    companions[LAST], companions[SEASON] = extended[0], extended[N_PAST - 1]
    for k in range(N_COMPANIONS):
        companions[k] = min(max(companions[k], scale[LOW]), scale[HIGH])


@quick
@njit(cache=True, nogil=True)
def advance(
    block: Block, known: Companions, classes: bool, period: int, start: int, learns: bool
) -> tuple[int, int]:
    """Look at each example of a block in order, then learn its label.

    Of many features it stops where features may be selected: that is a kernel of its own, which
    narrow examples neither compile nor wait for.

    Parameters
    ----------
    block : Block
        All but examples, labels and importances is written.
    known : Companions
        Updated.
    classes : bool
        The ridge regressions are logistic.
    period : int
        Any earlier one: what is found does not depend on it.
    start : int
        The first example that is not learned yet.
    learns : bool
        False looks only.

    Returns
    -------
    period, start : int
        The period of the last example, and where to go on.
    """
    scale, moments, past, losses = known.scale, known.moments, known.past, known.losses
    triangle, rotated, weights = known.triangle, known.rotated, known.weights
    past_triangle, past_rotated = known.past_triangle, known.past_rotated
    past_weights, slots, memory = known.past_weights, known.slots, known.memory
    examples, labels, importances = block.examples, block.labels, block.importances
    wide, values, shown, limits = block.wide, block.values, block.shown, block.limits
    d, wide_too = examples.shape[1], len(memory) > 0
    extended, row = np.empty(N_PAST + d), np.empty(N_PAST + d)
    narrow, broad = np.empty(len(weights)), np.empty(len(past_weights))
    first = values.shape[1] - N_COMPANIONS
    for t in range(start, len(labels)):
        seen, seeing = int(scale[COUNT]), wide[t]
        period = next_period(losses, seen, period)
        represent(examples[t], known, period, extended, row, seeing)
        foretell(known, extended, row, classes, values[t, first:])
        limits[t, 0], limits[t, 1] = scale[LOW], scale[HIGH]
        if not learns:
            continue
        # A strange label of a strange example is a rare event rather than an error.
        explained = False
        for j in range(d):
            explained |= abs(seeing[N_PAST + j]) >= STRANGE
        label = clipped(np.float64(labels[t]), scale, explained)
        shown[t] = label
        importance = np.float64(importances[t])
        if importance <= 0.0:
            continue
        # Take the example into both ridge regressions.
        narrow[0] = 1.0
        for j in range(len(narrow) - 1):
            narrow[1 + j] = seeing[N_PAST + j]
        choose(seeing, N_PAST, slots, broad)
        learn_row(triangle, rotated, weights, narrow, label, importance, classes)
        if classes or deviation(scale) > 0.0:
            target = target_of(label, scale, classes)
            learn_row(
                past_triangle, past_rotated, past_weights, broad, target, importance, classes
            )
        # Solve them; of many features remember the example.
        if wide_too:
            solve_long(triangle, rotated, weights)
            solve(past_triangle, past_rotated, past_weights)
            place = seen % len(memory)
            memory[place, : N_PAST + d] = extended
            memory[place, N_PAST + d], memory[place, N_PAST + d + 1] = label, importance
        else:
            solve_both(triangle, rotated, weights, past_triangle, past_rotated, past_weights)
        # Remember the label, and learn the scales of labels and features.
        compare(label, past, losses, seen)
        remember(label, past, seen)
        admit(np.float64(labels[t]), scale, importance, explained)
        add_moments(examples[t], moments, scale[COUNT])
        if wide_too and (seen + 1) % EVERY == 0:
            return period, t + 1
    return period, len(labels)
