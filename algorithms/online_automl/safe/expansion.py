"""Feature expansion for live models, and simple models: simple predictors that need no search.

An example comes as its features. What models see of it is wider
(`leaseboard.algorithms.online_automl.safe.representations`): the raw features, the same
standardised by the rows before, the same in pieces, the last three labels, and the label one
season ago. Next to the models five *simple models* predict, which need no search: the mean of the
labels, the last one, the one a season ago (`leaseboard.algorithms.reference.naive`), and two
ridge regressions (`leaseboard.algorithms.reference.ridge`), on the standardised features alone and
with the labels' past; for classes these two are logistic.

Of more than `NARROW` features so many are selected as the stream goes on
(`leaseboard.algorithms.online_automl.safe.selected`): pieces, and the ridge regression on the
labels' past, are of these, and models may see them alone. Beyond what
`leaseboard.algorithms.reference.ridge.on_all` allows this ridge regression is the only one, and
both simple models predict what it does.

All of it learns labels that are clipped to the range of
`leaseboard.algorithms.online_automl.safe.scale`. Classes are the labels -1 and 1; a probability p
of the second is the prediction 2 p - 1.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.online.handles import quick
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online_automl.safe.scale import (
    COUNT,
    HIGH,
    LOW,
    MEAN,
    admit,
    clipped,
    deviation,
    new_scale,
)
from leaseboard.algorithms.online_automl.safe.selected import (
    EMPTY,
    EVERY,
    Ridge,
    choose,
    new_ridge,
    remembered,
    select,
    target_of,
    weigh_row,
)
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.naive import LONGEST, compare, next_period, remember
from leaseboard.algorithms.reference.ridge import (
    CLIP,
    add_moments,
    on_all,
    rotate_both,
    solve,
    solve_both,
    solve_long,
    standardise,
)
from leaseboard.algorithms.transcendental import exp

MEAN_SO_FAR, LAST, SEASON, RIDGE, RIDGE_ON_PAST = range(5)
"""The simple models."""

N_SIMPLE = 5
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


class SimpleModels(NamedTuple):
    """State of representations and simple models.

    Attributes
    ----------
    scale : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.scale`.
    moments : ndarray of float64, shape (2, n_features)
        Of the features, see `leaseboard.algorithms.reference.ridge.standardise`.
    past, losses : ndarray of float64
        See `leaseboard.algorithms.reference.naive.learn_seasonal`.
    ridge : Ridge
        The ridge regression on features.
    on_past : Ridge
        The one that has the labels' past before them, and of many features the selected ones.
    slots, memory : ndarray
        Which ones these are, and what they are selected by; see
        `leaseboard.algorithms.online_automl.safe.selected.select`.
    """

    scale: Doubles
    moments: Doubles
    past: Doubles
    losses: Doubles
    ridge: Ridge
    on_past: Ridge
    slots: Slots
    memory: Floats


class Block(NamedTuple):
    """Examples in order, and what becomes of them on their way to the prediction.

    Attributes
    ----------
    examples : ndarray of float32, shape (n, n_features)
    labels, importances : ndarray of float32, shape (n,)
        An example of importance 0 teaches nothing. The others weigh what the simple models learn,
        but for the moments of features and the search for a season.
    wide : ndarray of float32, shape (n, width(n_features))
        What models see: the labels' past and the features, standardised; the raw
        features; these in pieces. Of many the pieces of the selected ones, and these standardised.
    values : ndarray of float64, shape (n, at least N_SIMPLE)
        What is predicted, within the range of labels; the last columns are the simple models'.
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
    examples: Floats, labels: Floats, importances: Floats, n_values: int = N_SIMPLE
) -> Block:
    """Return examples of which nothing is known yet, with room for so many predictions of each."""
    examples, labels, importances = (
        np.ascontiguousarray(one, np.float32) for one in (examples, labels, importances)
    )
    n, d = examples.shape
    wide, shown = np.empty((n, width(d)), dtype=np.float32), np.zeros(n)
    values, limits = np.zeros((n, n_values)), np.zeros((n, 2))
    return Block(examples, labels, importances, wide, values, shown, limits)


class FeatureExpansion(Saved):
    """State of representations and simple models for examples of `n_features`.

    Parameters
    ----------
    n_features : int
    classes : bool
        Labels are -1 and 1.
    shares : int
        How many there are of these, one for each class: together they have bounded memory.

    Attributes
    ----------
    known : SimpleModels
    last_period : ndarray of int64, shape (1,)
        The period that was found last, from which the search for the next one goes on.
    """

    kept: ClassVar[tuple[str, ...]] = ("shares", "known")

    def __init__(self, n_features: int, classes: bool = False, shares: int = 1) -> None:
        self.classes, self.shares = classes, shares
        self.last_period = np.ones(1, dtype=np.int64)
        wide, selected = n_features > NARROW, min(n_features, NARROW)
        size = remembered(shares * n_features) if wide else 0, N_PAST + n_features + 2
        self.known = SimpleModels(
            new_scale(-1.0, 1.0) if classes else new_scale(),
            np.zeros((2, n_features)),
            np.zeros(2 * LONGEST),
            np.zeros(LONGEST + 1),
            new_ridge(n_features if on_all(n_features, shares) else 0),
            new_ridge(N_PAST + selected),
            np.full(selected, EMPTY) if wide else np.arange(selected),
            np.zeros(size, dtype=np.float32),
        )

    @property
    def scale(self) -> Doubles:
        """The scale of the labels, see `leaseboard.algorithms.online_automl.safe.scale`."""
        return self.known.scale

    @property
    def period(self) -> int:
        """Length of a season in labels, as far as is known; 1 where none was found."""
        seen = int(self.scale[COUNT])
        self.last_period[0] = next_period(self.known.losses, seen, self.last_period[0])
        return int(self.last_period[0])

    def grow(self, n_features: int) -> None:
        """Go on with more features, which were 0 until now."""
        grown = FeatureExpansion(n_features, self.classes, self.shares)
        for old, new in zip(_arrays(self.known), _arrays(grown.known), strict=True):
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

    def look(self, example: Floats) -> Block:
        """Return a block of one example, of which nothing is learned."""
        block = new_block(example[None], _NOTHING, _NOTHING)
        _advance(block, self.known, self.classes, int(self.last_period[0]), 0, False, False)
        return block

    def learn(self, block: Block) -> None:
        """Write all that a block has room for, and learn it; features are selected on the way."""
        at = 0
        while at < len(block.labels):
            period = int(self.last_period[0])
            self.last_period[0], at = _advance(
                block, self.known, self.classes, period, at, True, False
            )
            self.select(block.importances[at - 1])

    def select(self, importance: float) -> None:
        """Select features if it is time, after an example of such an importance."""
        known = self.known
        if len(known.memory) and importance > 0.0:
            select(
                known.memory, known.slots, known.on_past, known.scale, known.moments, self.classes
            )

    def fill(self, state: Any) -> None:
        """See `Saved.fill`; how many share memory is part of the state."""
        n_features, shares = self.known.moments.shape[1], state["shares"]
        vars(self).update(vars(FeatureExpansion(n_features, self.classes, shares)))
        super().fill(state)


def _arrays(known: SimpleModels) -> list[NDArray[Any]]:
    """Return all that grows with the features, but for the memory."""
    return [*known[:4], *known.ridge, *known.on_past, known.slots]


def simple_of(expansion: FeatureExpansion, examples: Floats, labels: Floats) -> Doubles:
    """Learn a block, and return what the simple models predict, shape (n, N_SIMPLE)."""
    block = new_block(examples, labels, np.ones(len(labels), dtype=np.float32))
    expansion.learn(block)
    return block.values


def width(n_features: int) -> int:
    """Return how many numbers models may see of an example."""
    pieces = len(KNOTS) * min(n_features, NARROW)
    return N_PAST + 2 * n_features + pieces + (NARROW if n_features > NARROW else 0)


@compiled
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
    # All pieces but the two between whose knots the value lies are 0.
    for knot in range(len(KNOTS)):
        pieces[knot] = 0.0
    if not varies:
        return
    first, last = KNOTS[0], KNOTS[len(KNOTS) - 1]
    value = min(max(value, first), last)
    below = min(int(value - first), len(KNOTS) - 2)
    share = value - KNOTS[below]
    pieces[below], pieces[below + 1] = 1.0 - share, share


@compiled(inline="always")
def represent(
    example: Floats,
    known: SimpleModels,
    period: int,
    extended: Doubles,
    row: Doubles,
    wide: Floats,
) -> None:
    """Write what models see of an example.

    Parameters
    ----------
    example : ndarray of float32, shape (n_features,)
    known : SimpleModels
        Only read.
    period : int
        How many labels ago a season is.
    extended, row : ndarray of float64, shape (N_PAST + n_features,)
        Written: the labels' past and the features, raw and standardised.
    wide : ndarray of float32
        Written, see `Block`.
    """
    scale, past, slots = known.scale, known.past, known.slots
    d, seen, spread = len(example), int(scale[COUNT]), deviation(scale)
    # The labels' past, before the raw features.
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


@compiled(inline="always")
def predict_simple(
    known: SimpleModels, extended: Doubles, row: Doubles, classes: bool, simple: Doubles
) -> None:
    """Write what the simple models predict of an example that `represent` has seen."""
    scale, slots = known.scale, known.slots
    weights, past_weights = known.ridge.weights, known.on_past.weights
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
        simple[RIDGE] = 1.0 - 2.0 / (exp(on_features) + 1.0)
        simple[RIDGE_ON_PAST] = 1.0 - 2.0 / (exp(on_past) + 1.0)
    else:
        simple[RIDGE] = on_features
        simple[RIDGE_ON_PAST] = scale[MEAN] + deviation(scale) * on_past
    if len(weights) <= len(row) - N_PAST:
        simple[RIDGE] = simple[RIDGE_ON_PAST]
    # Labels that are predicted unchanged, and all within the range.
    simple[MEAN_SO_FAR] = scale[MEAN]
    simple[LAST], simple[SEASON] = extended[0], extended[N_PAST - 1]
    for k in range(N_SIMPLE):
        simple[k] = min(max(simple[k], scale[LOW]), scale[HIGH])


@compiled
def advance(
    block: Block,
    known: SimpleModels,
    classes: bool,
    period: int,
    start: int,
    learns: bool,
    looked: bool,
) -> tuple[int, int]:
    """Look at each example of a block in order, then learn its label.

    Of many features it stops where features may be selected: that is a kernel of its own, which
    narrow examples neither compile nor wait for.

    Parameters
    ----------
    block : Block
        All but examples, labels and importances is written.
    known : SimpleModels
        Updated.
    classes : bool
        The ridge regressions are logistic.
    period : int
        Any earlier one: what is found does not depend on it.
    start : int
        The first example that is not learned yet.
    learns : bool
        False looks only.
    looked : bool
        Whether the first example was just looked at, and only has to be learned.

    Returns
    -------
    period, start : int
        The period of the last example, and where to go on.
    """
    scale, moments, past, losses = known.scale, known.moments, known.past, known.losses
    ridge, on_past, slots, memory = known.ridge, known.on_past, known.slots, known.memory
    # Taken out of their tuples before the loop, in which each time counts references.
    triangle, rotated, weights = ridge
    past_triangle, past_rotated, past_weights = on_past
    examples, labels, importances = block.examples, block.labels, block.importances
    wide, values, shown, limits = block.wide, block.values, block.shown, block.limits
    d, wide_too = examples.shape[1], len(memory) > 0
    extended, row = np.empty(N_PAST + d), np.empty(N_PAST + d)
    narrow, broad = np.empty(len(weights)), np.empty(len(past_weights))
    first = values.shape[1] - N_SIMPLE
    for t in range(start, len(labels)):
        # What models see, what simple models predict, and the range of labels before.
        seen, seeing = int(scale[COUNT]), wide[t]
        if not looked or wide_too:  # which remember what a look forgets
            period = next_period(losses, seen, period)
            represent(examples[t], known, period, extended, row, seeing)
            predict_simple(known, extended, row, classes, values[t, first:])
            limits[t, 0], limits[t, 1] = scale[LOW], scale[HIGH]
        looked = False
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
        narrow_label = weigh_row(weights, narrow, label, importance, classes)
        if classes or deviation(scale) > 0.0:
            target = target_of(label, scale, classes)
            broad_label = weigh_row(past_weights, broad, target, importance, classes)
        else:  # a row of zeros changes nothing
            broad[:], broad_label = 0.0, 0.0
        rotate_both(
            triangle, rotated, narrow, narrow_label,
            past_triangle, past_rotated, broad, broad_label,
        )  # fmt: skip
        # Solve them; of many features remember the example.
        if wide_too:
            solve_long(*ridge)
            solve(*on_past)
            place = seen % len(memory)
            for j in range(N_PAST + d):
                memory[place, j] = extended[j]
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


_advance = quick(advance)
