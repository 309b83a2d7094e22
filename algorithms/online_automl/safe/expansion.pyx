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

from libc.math cimport fabsf, sqrt

import numpy as np

from leaseboard.algorithms.buffers cimport place_of
from leaseboard.algorithms.elementary cimport exp
from leaseboard.algorithms.online_automl.safe.scale cimport (
    COUNT, HIGH, LOW, MEAN, admit, clipped, deviation,
)
from leaseboard.algorithms.online_automl.safe.selected cimport (
    EMPTY, EVERY, choose, target_of, weigh_row,
)
from leaseboard.algorithms.reference.ridge_steps cimport (
    CLIP, add_moments, rotate, solve, standardise,
)
from leaseboard.algorithms.reference.season_steps cimport (
    LONGEST, compare, latest, next_period, remember,
)

from leaseboard.algorithms.online_automl.safe.scale import new_scale
from leaseboard.algorithms.online_automl.safe.selected import remembered, select
from leaseboard.algorithms.plain import fill, values_of
from leaseboard.algorithms.reference.ridge import on_all

KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Deviations from its mean at which a feature in pieces is bent; they are 1 apart."""

STRANGE = 5.0
"""Deviations from its mean at which a feature explains a label beyond the range."""

cdef float _STRANGE = STRANGE
cdef double _FIRST = KNOTS[0], _END = KNOTS[N_KNOTS - 1]

_NOTHING = np.zeros(1, dtype=np.float32)


cdef class Block:
    """Examples in order, and what becomes of them on their way to the prediction.

    Parameters
    ----------
    examples : ndarray of float32, shape (n, n_features)
    labels, importances : ndarray of float32, shape (n,)
        An example of importance 0 teaches nothing. The others weigh what the simple models learn,
        but for the moments of features and the search for a season.
    b : int
        Slots of models.
    predictions : ndarray of float32, shape (n,), optional
        Written, as are all attributes.
    n_simple : int
        How many predict after the models.

    Attributes
    ----------
    wide : ndarray of float32, shape (n, width(n_features))
        What models see: the labels' past and the features, standardised; the raw
        features; these in pieces. Of many the pieces of the selected ones, and these standardised.
    outputs : ndarray of float32, shape (n, b)
        What models predict, in their own unit.
    values : ndarray of float64, shape (n, b + n_simple)
        What is predicted, within the range of labels; the last columns are the simple models'.
    shown : ndarray of float64, shape (n,)
        The labels as learners see them.
    limits : ndarray of float64, shape (n, 2)
        The range of labels before each.
    """

    def __init__(
        self, examples, labels, importances, Py_ssize_t b=0, predictions=None,
        Py_ssize_t n_simple=N_SIMPLE,
    ):
        cdef Py_ssize_t n = len(labels), d = examples.shape[1]
        self.n, self.d, self.n_wide, self.b, self.n_values = n, d, width(d), b, b + n_simple
        room = np.zeros(n * (self.n_values + 3) + (n * (self.n_wide + b) + 1) // 2)
        given = (
            *(np.ascontiguousarray(one, np.float32) for one in (examples, labels, importances)),
            np.empty(n, np.float32) if predictions is None else predictions,
        )
        self.arrays = dict(
            zip(("room", "examples", "labels", "importances", "predictions"), (room, *given))
        )
        # The given arrays where they are, the others one after another.
        examples, labels, importances, predictions = given
        self.examples = <float *>place_of(examples, "f")
        self.labels = <float *>place_of(labels, "f")
        self.importances = <float *>place_of(importances, "f")
        self.predictions = <float *>place_of(predictions, "f")
        self.values = <double *>place_of(room, "d")
        self.shown = self.values + n * self.n_values
        self.limits = self.shown + n
        self.wide = <float *>(self.limits + 2 * n)
        self.outputs = self.wide + n * self.n_wide

    def __getattr__(self, str name):
        if name in self.arrays:
            return self.arrays[name]
        n, room = self.n, self.arrays["room"]
        shapes = {"values": (n, self.n_values), "shown": (n,), "limits": (n, 2)}
        if name not in shapes:  # the second part, of single precision
            room = room[n * (self.n_values + 3) :].view(np.float32)
            shapes = {"wide": (n, self.n_wide), "outputs": (n, self.b)}
        for each, shape in shapes.items():
            size = n * (shape[1] if len(shape) > 1 else 1)
            if each == name:
                return room[:size].reshape(shape)
            room = room[size:]
        raise AttributeError(name)


cdef class Members:
    """What answers after the models of an ensemble: a subclass overrides `answer`."""

    cpdef answer(self, Block block, bint learns):
        """Replace the predictions of a block; if it `learns`, learn its labels."""
        raise NotImplementedError


cdef class SimpleModels(Buffers):
    """State of representations and simple models that have seen nothing.

    Parameters
    ----------
    n_features : int
    classes : bool
        The ridge regressions are logistic.
    shares : int
        See `FeatureExpansion`.

    Attributes
    ----------
    scale : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.scale`.
    moments : ndarray of float64, shape (2, n_features)
        Mean and sum of squared deviations of each feature.
    past, losses : ndarray of float64
        See `leaseboard.algorithms.reference.season_steps`.
    ridge : Ridge
        The ridge regression on features.
    on_past : Ridge
        The one that has the labels' past before them, and of many features the selected ones.
    slots, memory : ndarray
        Which ones these are, and what they are selected by; see
        `leaseboard.algorithms.online_automl.safe.selected.select`.
    """

    def __init__(self, Py_ssize_t n_features, bint classes=False, shares=1):
        self.classes, self.d, self.period = classes, n_features, 1
        wide, selected = n_features > NARROW, min(n_features, NARROW)
        size = remembered(shares * n_features) if wide else 0, N_PAST + n_features + 2
        super().__init__(
            scale=new_scale(-1.0, 1.0) if classes else new_scale(),
            moments=np.zeros((2, n_features)),
            past=np.zeros(2 * LONGEST),
            losses=np.zeros(LONGEST + 1),
            ridge=Ridge(n_features if on_all(n_features, shares) else 0),
            on_past=Ridge(N_PAST + selected),
            slots=np.full(selected, EMPTY, np.int64) if wide else np.arange(selected),
            memory=np.zeros(size, dtype=np.float32),
        )

    cdef int locate(self) except -1:
        self.scale, self.moments = self.doubles("scale"), self.doubles("moments")
        self.past, self.losses = self.doubles("past"), self.doubles("losses")
        self.ridge, self.on_past = self.arrays["ridge"], self.arrays["on_past"]
        self.slots, self.n_slots = self.numbers("slots"), len(self.arrays["slots"])
        self.memory, self.n_memory = self.floats("memory"), len(self.arrays["memory"])
        self._room = np.empty(N_PAST + self.d + self.ridge.n + self.on_past.n)
        self.row = <double *>place_of(self._room, "d")
        self.narrow = self.row + N_PAST + self.d
        self.broad = self.narrow + self.ridge.n
        return 0

    def season(self):
        """Return the length of a season in labels, as far as is known; 1 where none was found."""
        self.period = next_period(
            self.losses, LONGEST, <Py_ssize_t>self.scale[COUNT], self.period
        )
        return self.period

    def learn(self, Block block, Py_ssize_t start, bint learns):
        """Do `advance`."""
        with nogil:
            start = self.advance(block, start, learns, False)
        return start

    cdef Py_ssize_t advance(
        self, Block block, Py_ssize_t start, bint learns, bint looked
    ) noexcept nogil:
        """Look at each example of a block from `start` on; if it `learns`, learn its label.

        All of the block but examples, labels and importances is written. If the first example was
        just `looked` at, it only has to be learned. Return where to go on: of many features it
        stops where they may be selected.
        """
        cdef Py_ssize_t t
        for t in range(start, block.n):
            if not looked or self.n_memory > 0:  # which remember what a look forgets
                self._look(block, t)
            looked = False
            if learns and self._learn(block, t):
                return t + 1
        return block.n

    cdef void _look(self, Block block, Py_ssize_t t) noexcept nogil:
        """Write what models see, what simple models predict, and the range of labels before."""
        cdef Py_ssize_t seen = <Py_ssize_t>self.scale[COUNT]
        self.period = next_period(self.losses, LONGEST, seen, self.period)
        self._represent(block.examples + t * block.d, seen, block.wide + t * block.n_wide)
        self._predict(block.values + (t + 1) * block.n_values - N_SIMPLE)
        block.limits[2 * t], block.limits[2 * t + 1] = self.scale[LOW], self.scale[HIGH]

    cdef void _represent(
        self, const float *example, Py_ssize_t seen, float *wide
    ) noexcept nogil:
        """Write what models see of an example."""
        cdef Py_ssize_t d = self.d, begin = latest(seen, LONGEST), j, lag, column
        cdef double mean = self.scale[MEAN], spread = deviation(self.scale), value
        cdef double *row = self.row
        cdef const double *past = self.past + begin
        cdef const double *squares = self.moments + d
        cdef float *pieces = wide + N_PAST + 2 * d
        cdef bint varies
        # The labels' past, before the raw features.
        for lag in range(1, N_PAST):
            self.lags[lag - 1] = past[lag - 1] if seen >= lag else mean
        self.lags[N_PAST - 1] = past[self.period - 1] if seen else 0.0
        for j in range(d):
            wide[N_PAST + d + j] = example[j]
        # The same standardised.
        for j in range(N_PAST):
            value = (self.lags[j] - mean) / spread if spread > 0.0 else 0.0
            row[j] = min(max(value, -<double>CLIP), <double>CLIP)
        standardise(example, self.moments, d, self.scale[COUNT], row + N_PAST)
        for j in range(N_PAST + d):
            wide[j] = <float>row[j]
        # The features in pieces, of many the selected ones.
        for j in range(self.n_slots):
            column, value, varies = self.slots[j], 0.0, False
            if column >= 0:
                value, varies = row[N_PAST + column], squares[column] > 0.0
            cut(value, varies, pieces + j * N_KNOTS)
            if d > NARROW:
                pieces[NARROW * N_KNOTS + j] = <float>value

    cdef void _predict(self, double *simple) noexcept nogil:
        """Write what the simple models predict of an example that `_represent` has seen."""
        cdef const double *row = self.row
        cdef const double *features = row + N_PAST
        cdef const double *weights = self.ridge.weights
        cdef const double *past_weights = self.on_past.weights
        cdef double on_past = past_weights[0], on_features = weights[0], mean = self.scale[MEAN]
        cdef Py_ssize_t j
        # The regression on the labels' past and the selected features, and that on all of them.
        for j in range(N_PAST):
            on_past += past_weights[1 + j] * row[j]
        for j in range(self.n_slots):
            if self.slots[j] >= 0:
                on_past += past_weights[1 + N_PAST + j] * features[self.slots[j]]
        for j in range(self.ridge.n - 1):
            on_features += weights[1 + j] * features[j]
        if self.classes:
            simple[RIDGE] = 1.0 - 2.0 / (exp(on_features) + 1.0)
            simple[RIDGE_ON_PAST] = 1.0 - 2.0 / (exp(on_past) + 1.0)
        else:
            simple[RIDGE] = on_features
            simple[RIDGE_ON_PAST] = mean + deviation(self.scale) * on_past
        if self.ridge.n <= self.d:
            simple[RIDGE] = simple[RIDGE_ON_PAST]
        # Labels that are predicted unchanged, and all within the range.
        simple[MEAN_SO_FAR], simple[LAST] = mean, self.lags[0]
        simple[SEASON] = self.lags[N_PAST - 1]
        for j in range(N_SIMPLE):
            simple[j] = min(max(simple[j], self.scale[LOW]), self.scale[HIGH])

    cdef bint _learn(self, Block block, Py_ssize_t t) noexcept nogil:
        """Learn the label of an example that was looked at; return whether to select features."""
        cdef const float *wide = block.wide + t * block.n_wide
        cdef const float *example = block.examples + t * block.d
        cdef double *scale = self.scale
        cdef Py_ssize_t d = self.d, seen = <Py_ssize_t>scale[COUNT], n = self.ridge.n, m = self.on_past.n
        cdef Py_ssize_t j
        cdef double importance = block.importances[t], root, label, narrow_label, broad_label = 0.0
        cdef bint explained = False
        cdef float *place
        # A strange label of a strange example is a rare event rather than an error.
        for j in range(d):
            explained |= fabsf(wide[N_PAST + j]) >= _STRANGE
        label = block.shown[t] = clipped(block.labels[t], scale, explained)
        if importance <= 0.0:
            return False
        # Take the example into both ridge regressions.
        root, self.narrow[0] = sqrt(importance), 1.0
        for j in range(n - 1):
            self.narrow[1 + j] = wide[N_PAST + j]
        narrow_label = weigh_row(self.ridge.weights, self.narrow, n, label, root, self.classes)
        if self.classes or deviation(scale) > 0.0:
            choose(wide, N_PAST, self.slots, self.n_slots, self.broad)
            broad_label = target_of(label, scale, self.classes)
            broad_label = weigh_row(
                self.on_past.weights, self.broad, m, broad_label, root, self.classes
            )
        else:  # a row of zeros changes nothing
            for j in range(m):
                self.broad[j] = 0.0
        rotate(self.ridge.triangle, self.ridge.rotated, self.narrow, n, narrow_label)
        rotate(self.on_past.triangle, self.on_past.rotated, self.broad, m, broad_label)
        # Solve them; of many features remember the example.
        solve(self.ridge.triangle, self.ridge.rotated, self.ridge.weights, n)
        solve(self.on_past.triangle, self.on_past.rotated, self.on_past.weights, m)
        if self.n_memory > 0:
            place = self.memory + seen % self.n_memory * (N_PAST + d + 2)
            for j in range(N_PAST):
                place[j] = <float>self.lags[j]
            for j in range(d):
                place[N_PAST + j] = example[j]
            place[N_PAST + d], place[N_PAST + d + 1] = <float>label, <float>importance
        # Remember the label, and learn the scales of labels and features.
        compare(label, False, self.past, self.losses, LONGEST, seen)
        remember(label, self.past, LONGEST, seen)
        admit(block.labels[t], scale, importance, explained)
        add_moments(example, self.moments, d, scale[COUNT])
        return self.n_memory > 0 and (seen + 1) % EVERY == 0


cdef void cut(double value, bint varies, float *pieces) noexcept nogil:
    """Write a standardised feature in pieces: how near it is to each of `KNOTS`.

    Between two knots the nearer one has the larger share, and the shares sum to 1, so a model that
    is linear in them is a line with a bend at each knot, flat beyond the outer ones [1]_. A
    feature that has not varied yet has no pieces.

    References
    ----------
    .. [1] De Boor. A practical guide to splines. 1978: B-splines of order 2.
    """
    cdef Py_ssize_t knot, below
    cdef double share
    # All pieces but the two between whose knots the value lies are 0.
    for knot in range(N_KNOTS):
        pieces[knot] = 0.0
    if not varies:
        return
    value = min(max(value, _FIRST), _END)
    below = min(<Py_ssize_t>(value - _FIRST), N_KNOTS - 2)
    share = value - (_FIRST + below)
    pieces[below], pieces[below + 1] = <float>(1.0 - share), <float>share


def pieces_of(double value):
    """Return a standardised feature that varies in pieces.

    Examples
    --------
    >>> pieces_of(0.25).tolist()
    [0.0, 0.0, 0.75, 0.25, 0.0]
    """
    cdef float[::1] pieces = np.empty(N_KNOTS, dtype=np.float32)
    cut(value, True, &pieces[0])
    return np.asarray(pieces)


cdef class FeatureExpansion:
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
    """

    kept = ("shares", "known")

    def __init__(self, n_features, classes=False, shares=1):
        self.classes, self.shares = classes, shares
        self.known = SimpleModels(n_features, classes, shares)

    @property
    def scale(self):
        """The scale of the labels, see `leaseboard.algorithms.online_automl.safe.scale`."""
        return self.known.arrays["scale"]

    @property
    def period(self):
        """Length of a season in labels, as far as is known; 1 where none was found."""
        return self.known.season()

    def grow(self, n_features):
        """Go on with more features, which were 0 until now."""
        cdef object grown = FeatureExpansion(n_features, self.classes, self.shares)
        cdef object had = self
        for old, new in zip(_arrays(self.known), _arrays(grown.known)):
            if all(size >= before for size, before in zip(new.shape, old.shape)):
                new[tuple(slice(size) for size in old.shape)] = old
        # Of more features fewer examples may be remembered: the last ones.
        before, memory = had.known.memory, grown.known.memory
        n = min(len(before), len(memory))
        if n:
            last = int(self.known.scale[COUNT]) - np.arange(n) - 1
            rows, places = before[last % len(before)], last % len(memory)
            memory[places, : rows.shape[1] - 2] = rows[:, :-2]
            memory[places, -2:] = rows[:, -2:]
        self.known = grown.known

    def look(self, example):
        """Return a block of one example, of which nothing is learned."""
        block = Block(example[None], _NOTHING, _NOTHING)
        self.known.learn(block, 0, False)
        return block

    def learn(self, block):
        """Write all that a block has room for, and learn it; features are selected on the way."""
        at = 0
        while at < len(block.labels):
            at = self.known.learn(block, at, True)
            self.select(block.importances[at - 1])

    def select(self, importance):
        """Select features if it is time, after an example of such an importance."""
        cdef object known = self.known
        if len(known.memory) and importance > 0.0:
            select(
                known.memory, known.slots, known.on_past, known.scale, known.moments, self.classes
            )

    def state(self):
        """See `leaseboard.algorithms.plain.Saved.state`."""
        return values_of(self, self.kept)

    def fill(self, state):
        """See `Saved.fill`; how many share memory is part of the state."""
        self.shares = state["shares"]
        self.known = SimpleModels(self.known.d, self.classes, self.shares)
        fill(self, state, self.kept)

    def __deepcopy__(self, memo):
        other = FeatureExpansion(self.known.d, self.classes, self.shares)
        other.fill(self.state())
        return other


def _arrays(known):
    """Return all that grows with the features, but for the memory."""
    *own, ridge, on_past, slots, _ = known.arrays.values()
    return [*own, *ridge.arrays.values(), *on_past.arrays.values(), slots]


def simple_of(expansion, examples, labels):
    """Learn a block, and return what the simple models predict, shape (n, N_SIMPLE)."""
    cdef object block = Block(examples, labels, np.ones(len(labels), dtype=np.float32))
    expansion.learn(block)
    return block.values


def width(Py_ssize_t n_features):
    """Return how many numbers models may see of an example."""
    pieces = N_KNOTS * min(n_features, NARROW)
    return N_PAST + 2 * n_features + pieces + (NARROW if n_features > NARROW else 0)
