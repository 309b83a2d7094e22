"""Feature expansion for live models, and simple models: simple predictors that need no search.

An example comes as its features. What models see of it is wider
(`leaseboard.algorithms.online_automl.safe.representations`): the raw features, the same
standardised by the rows before, the same in pieces, the last three labels, and the label one
season ago. Next to the models five *simple models* predict, which need no search: the mean of the
labels, the last one, the one a season ago (`leaseboard.algorithms.reference.naive`), and two
ridge regressions (`leaseboard.algorithms.reference.ridge`), on the standardised features alone and
with the labels' past; for classes these two are logistic.

Of more than `NARROW` features so many are selected as the stream goes on: pieces, and the ridge regression on the
labels' past, are of these, and models may see them alone. Beyond what
`leaseboard.algorithms.reference.ridge.on_all` allows this ridge regression is the only one, and
both simple models predict what it does.

All of it learns labels that are clipped to the range of
`leaseboard.algorithms.online_automl.safe.scale`. Classes are the labels -1 and 1; a probability p
of the second is the prediction 2 p - 1.

**Selection of features:** of very many the few that the error of a ridge regression speaks for.

A last part of the stream is remembered. Every `EVERY` examples, in up to `STEPS` steps, a feature
joins the selected ones if the errors that the regression on these makes there go with it, or with
its absolute value. With errors e and the standardised feature z that is

    (Σ e z)² / Σ e² z² > 2 ln 2d + `MARGIN`,

the square of a self-normalised sum, which is seldom above 2 ln 2d for any of 2d features (z, and
|z| - .8) that say nothing, however heavy the tails of both [1]_; so where d features are noise few
of them join. This is sure independence screening [2]_, iterated: as errors become smaller, weaker
features are seen.

A selected feature has a *slot*, and keeps it; where none is free, one that weighs more than twice
as much takes the slot of the one that weighs least. The regression then learns what is remembered
from the beginning.

References
----------
.. [1] De la Peña, Lai, Shao. Self-normalized processes. 2009, theorem 2.14.
.. [2] Fan, Lv. Sure independence screening for ultrahigh dimensional feature space. Journal of the
       Royal Statistical Society B 70, 2008.
"""

from libc.math cimport INFINITY, fabs, fabsf, sqrt

import numpy as np

from leaseboard.algorithms import plain

from leaseboard.algorithms.elementary cimport exp, log
from leaseboard.algorithms.online_automl.safe.scale cimport (
    COUNT, HIGH, LOW, MEAN, clipped, deviation, learn_label,
)
from leaseboard.algorithms.reference.steps cimport (
    CLIP, LONGEST, compare, express, follow, latest, next_period, remember, reweigh,
    rotate, solve, standardise,
)

from leaseboard.algorithms.online_automl.safe.scale import new_scale
from leaseboard.algorithms.reference.ridge import on_all

cdef enum:
    STEPS = 4  # times in a selection that features may join, by the errors of the one before
    A_STEP = 16  # features that join in a step, at most
    MOST_REMEMBERED = 2048  # examples
    MEMORY = 4194304  # numbers that are remembered, at most: 16 MB

cdef double MARGIN = 3.0  # by how much a feature's evidence is above that of noise
cdef double ALIKE = 0.7  # of two features with a higher correlation only one joins in a step
cdef double THE_SAME = 0.95  # or, above this, ever
cdef double TINY = 1e-300  # the least divisor, where all errors are 0
cdef double MEAN_MAGNITUDE = 0.8  # about the mean of |z| where z is standard normal, √(2 / π)

KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)
"""Deviations from its mean at which a feature in pieces is bent; they are 1 apart."""

STRANGE = 5.0
"""Deviations from its mean at which a feature explains a label beyond the range."""

cdef float _STRANGE = STRANGE
cdef double _FIRST = KNOTS[0], _END = KNOTS[N_KNOTS - 1]


cdef class Ridge(Buffers):
    """State of a ridge regression that has seen nothing, see `leaseboard.algorithms.reference`.

    Parameters
    ----------
    n_features : int
    """

    def __init__(self, n_features):
        n = n_features + 1
        triangle = np.diag([0.0, *[1.0] * n_features])
        super().__init__(
            triangle=triangle, rotated=np.zeros(n), weights=np.zeros(n), penalties=np.ones(n)
        )


cdef class Row:
    """Example, and what becomes of it on its way to the prediction.

    Parameters
    ----------
    example : ndarray of float32, shape (n_features,)
        Where the next example is written, too.
    b : int
        Slots of models.
    n_simple : int
        How many predict after the models.

    Attributes
    ----------
    label, importance : float
        An example of importance 0 teaches nothing. Others weigh what the simple models learn,
        but for the moments of features and the search for a season.
    prediction : float
        Written, as are all attributes from here on.
    shown : float
        The label as learners see it.
    low, high : float
        The range of labels before.
    wide : ndarray of float32, shape (width(n_features),)
        What models see: the labels' past and the features, standardised; the raw
        features; these in pieces. Of many the pieces of the selected ones, and these standardised.
    outputs : ndarray of float32, shape (b,)
        What models predict, in their own unit.
    values : ndarray of float64, shape (b + n_simple,)
        What is predicted, within the range of labels; the last ones are the simple models'.
    live : ndarray of int64
        The slots of models that predict.
    champion : int
        The champion's slot.
    learns : bool
        Whether the label is learned.
    looked : bool
        Whether the example was looked at just before, and only has to be learned.
    """

    def __init__(self, const float[::1] example, Py_ssize_t b=0, Py_ssize_t n_simple=N_SIMPLE):
        self.example, self.wide = example, np.zeros(width(len(example)), np.float32)
        self.outputs, self.values = np.zeros(b, np.float32), np.zeros(b + n_simple)


cdef class FeatureExpansion(Buffers):
    """State of representations and simple models that have seen nothing.

    Parameters
    ----------
    n_features : int
    classes : bool
        Labels are -1 and 1, and the ridge regressions are logistic.
    shares : int
        How many there are of these, one for each class: together they have bounded memory.

    Attributes
    ----------
    scale : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.scale`.
    moments : ndarray of float64, shape (2, n_features)
        Mean and sum of squared deviations of each feature.
    past, losses : ndarray of float64
        See `leaseboard.algorithms.reference.steps`.
    ridge : Ridge
        The ridge regression on features.
    on_past : Ridge
        The one that has the labels' past before them, and of many features the selected ones.
    slots, memory : ndarray
        Which ones these are, and what they are selected by; see
        `select`.
    """

    def __init__(self, Py_ssize_t n_features, bint classes=False, shares=1):
        self.classes, self.shares, self.d, self.season = classes, shares, n_features, 1
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
        self.standard = np.empty(N_PAST + n_features)
        self.units = np.empty((2, N_PAST + n_features))
        self.narrow = np.empty(len(self.ridge.weights))
        self.broad = np.empty((3, 1 + N_PAST + selected))

    @property
    def period(self):
        """Length of a season in labels, as far as is known; 1 where none was found."""
        self.season = next_period(
            &self._losses[0], LONGEST, <Py_ssize_t>self._scale[COUNT], self.season
        )
        return self.season

    def grow(self, n_features):
        """Go on with more features, which were 0 until now."""
        cdef object before = self.arrays
        self.__init__(n_features, self.classes, self.shares)
        old, memory = before.pop("memory"), self.memory
        _enter(before, self.arrays)
        # Of more features fewer examples may be remembered: the last ones.
        n = min(len(old), len(memory))
        if n:
            last = int(self.scale[COUNT]) - np.arange(n) - 1
            rows, places = old[last % len(old)], last % len(memory)
            memory[places, : rows.shape[1] - 2] = rows[:, :-2]
            memory[places, -2:] = rows[:, -2:]

    def look(self, example, label=None):
        """Return the row of an example, whose label is learned if it is given."""
        cdef Row row = Row(example)
        if label is not None:
            row.label, row.importance, row.learns = label, 1.0, True
        self.expand(row)
        return row

    def state(self):
        """See `leaseboard.algorithms.plain.Saved.state`."""
        return {"shares": self.shares, **plain.values_of(self, self.kept)}

    def fill(self, state):
        """See `Saved.fill`; how many share memory is part of the state."""
        self.__init__(self.d, self.classes, state["shares"])
        plain.fill(self, state, self.kept)

    def __deepcopy__(self, memo):
        other = FeatureExpansion(self.d, self.classes, self.shares)
        other.fill(self.state())
        return other

    cpdef expand(self, Row row):
        """Write all that a row has room for; if it `learns`, learn it."""
        if not row.looked or self._memory.shape[0] > 0:  # which remembers what a look forgets
            _look(self, row)
        if row.learns and _learn(self, row):
            select(
                self.memory, self.slots, self._on_past, self.scale, self.moments, self.classes
            )


cdef void _look(FeatureExpansion state, Row row) noexcept nogil:
    """Write what models see, what simple models predict, and the range of labels before."""
    cdef const double[::1] scale = state._scale
    cdef const double *squares = &state._moments[1, 0]
    cdef const float *example = &row.example[0]
    cdef double *standard = &state.standard[0]
    cdef float *wide = &row.wide[0]
    cdef Py_ssize_t d = state.d, seen = <Py_ssize_t>scale[COUNT], j, lag, column
    cdef double mean = scale[MEAN], value
    cdef bint varies
    # The labels' past, before the raw features.
    state.season = next_period(&state._losses[0], LONGEST, seen, state.season)
    past, pieces = &state._past[latest(seen, LONGEST)], wide + N_PAST + 2 * d
    for lag in range(1, N_PAST):
        state.lags[lag - 1] = past[lag - 1] if seen >= lag else mean
    state.lags[N_PAST - 1] = past[state.season - 1] if seen else 0.0
    for j in range(d):
        wide[N_PAST + d + j] = example[j]
    # The same standardised.
    _standardise(state, example)
    for j in range(N_PAST + d):
        wide[j] = <float>standard[j]
    # The features in pieces, of many the selected ones.
    for j in range(state._slots.shape[0]):
        column, value, varies = state._slots[j], 0.0, False
        if column >= 0:
            value, varies = standard[N_PAST + column], squares[column] > 0.0
        cut(value, varies, pieces + j * N_KNOTS)
        if d > NARROW:
            pieces[NARROW * N_KNOTS + j] = <float>value
    _predict(state, &row.values[row.values.shape[0] - N_SIMPLE])
    row.low, row.high = scale[LOW], scale[HIGH]


cdef void _standardise(FeatureExpansion state, const float *example) noexcept nogil:
    """Write the labels' past and an example by mean and deviation of those learned."""
    cdef double mean = state._scale[MEAN], spread = deviation(state._scale), value
    for j in range(N_PAST):
        value = (state.lags[j] - mean) / spread if spread > 0.0 else 0.0
        state.standard[j] = min(max(value, -<double>CLIP), <double>CLIP)
    standardise(
        example, &state._moments[0, 0], state.d, state._scale[COUNT], &state.standard[N_PAST]
    )


cdef void _predict(FeatureExpansion state, double *simple) noexcept nogil:
    """Write what the simple models predict of an example that `_look` has seen."""
    cdef const double *row = &state.standard[0]
    cdef const double *features = row + N_PAST
    cdef const double *weights = &state._ridge._weights[0]
    cdef const double *past_weights = &state._on_past._weights[0]
    cdef const double[::1] scale = state._scale
    cdef double on_past = past_weights[0], on_features = weights[0], mean = scale[MEAN]
    cdef Py_ssize_t j, n = state._ridge._weights.shape[0]
    # The regression on the labels' past and the selected features, and that on all of them.
    for j in range(N_PAST):
        on_past += past_weights[1 + j] * row[j]
    for j in range(state._slots.shape[0]):
        if state._slots[j] >= 0:
            on_past += past_weights[1 + N_PAST + j] * features[state._slots[j]]
    for j in range(n - 1):
        on_features += weights[1 + j] * features[j]
    state.on_features, state.on_past_said = on_features, on_past
    if state.classes:
        simple[RIDGE] = 1.0 - 2.0 / (exp(on_features) + 1.0)
        simple[RIDGE_ON_PAST] = 1.0 - 2.0 / (exp(on_past) + 1.0)
    else:
        simple[RIDGE] = on_features
        simple[RIDGE_ON_PAST] = mean + deviation(scale) * on_past
    if n <= state.d:
        simple[RIDGE] = simple[RIDGE_ON_PAST]
    # Labels that are predicted unchanged, and all within the range.
    simple[MEAN_SO_FAR], simple[LAST] = mean, state.lags[0]
    simple[SEASON] = state.lags[N_PAST - 1]
    for j in range(N_SIMPLE):
        simple[j] = min(max(simple[j], scale[LOW]), scale[HIGH])


cdef bint _learn(FeatureExpansion state, Row row) noexcept nogil:
    """Learn the label of an example that was looked at; return whether to select features."""
    cdef const float *wide = &row.wide[0]
    cdef const float *example = &row.example[0]
    cdef double[::1] scale = state._scale
    cdef Py_ssize_t d = state.d, seen = <Py_ssize_t>scale[COUNT]
    cdef Py_ssize_t n_memory = state._memory.shape[0], j
    cdef double importance = row.importance, label, before, spread
    cdef bint explained = False
    # A strange label of a strange example is a rare event rather than an error.
    for j in range(d):
        explained |= fabsf(wide[N_PAST + j]) >= _STRANGE
    label = row.shown = clipped(row.label, scale, explained)
    if importance <= 0.0:
        return False
    # Of many features remember the example.
    if n_memory > 0:
        place = &state._memory[seen % n_memory, 0]
        for j in range(N_PAST):
            place[j] = <float>state.lags[j]
        for j in range(d):
            place[N_PAST + j] = example[j]
        place[N_PAST + d], place[N_PAST + d + 1] = <float>label, <float>importance
    # Remember the label, and learn the scales of labels and features.
    compare(label, False, &state._past[0], &state._losses[0], LONGEST, seen)
    remember(label, &state._past[0], LONGEST, seen)
    before, spread = scale[MEAN], deviation(scale)
    learn_label(row.label, scale, importance, explained)
    follow(
        example, &state._moments[0, 0], d, scale[COUNT], &state.units[0, N_PAST],
        &state.units[1, N_PAST],
    )
    for j in range(N_PAST):
        state.units[0, j] = spread / deviation(scale) if spread > 0.0 else 1.0
        state.units[1, j] = (before - scale[MEAN]) / deviation(scale) if spread > 0.0 else 0.0
    # Take the example into both ridge regressions by these, and solve them.
    _standardise(state, example)
    _take_both(state, label, importance)
    return n_memory > 0 and (seen + 1) % EVERY == 0


cdef void _take_both(FeatureExpansion state, double label, double importance) noexcept nogil:
    """Learn what `_standardise` has written in both ridge regressions."""
    cdef double[::1] rotated = state._on_past._rotated
    cdef double *triangle = &state._on_past._triangle[0, 0]
    cdef double *broad = &state.broad[0, 0]
    cdef Py_ssize_t n = state.narrow.shape[0], j
    # The one on features: what it knows in the units of today, then the row.
    express(
        &state._ridge._triangle[0, 0], &state._ridge._rotated[0], &state._ridge._penalties[0], n,
        1.0, &state.units[0, N_PAST - 1], &state.units[1, N_PAST - 1], &state.narrow[0],
    )
    state.narrow[0] = 1.0
    for j in range(1, n):
        state.narrow[j] = state.standard[N_PAST - 1 + j]
    take_row(
        state._ridge, &state.narrow[0], label, importance, state.classes, state.on_features
    )
    solve_ridge(state._ridge)
    # The one on the labels' past, whose labels have units, too.
    if not state.classes and deviation(state._scale) == 0.0:
        return
    n = rotated.shape[0]
    choose(&state.units[0, 0], N_PAST, state._slots, 1.0, broad)
    choose(&state.units[1, 0], N_PAST, state._slots, 0.0, broad + n)
    express(
        triangle, &rotated[0], &state._on_past._penalties[0], n, 1.0, broad, broad + n,
        broad + 2 * n,
    )
    for j in range(0 if state.classes else n):
        rotated[j] *= state.units[0, 0]
    if not state.classes:
        rotated[0] += triangle[0] * state.units[1, 0]
    choose(&state.standard[0], N_PAST, state._slots, 0.0, broad)
    take_row(
        state._on_past, broad, target_of(label, state._scale, state.classes), importance,
        state.classes, state.on_past_said,
    )
    solve_ridge(state._on_past)


cdef void cut(double value, bint varies, float *pieces) noexcept nogil:
    """Write a standardised feature in pieces: how near it is to each of `KNOTS`.

    Between two knots the nearer one has the larger share, and the shares sum to 1, so a model that
    is linear in them is a line with a bend at each knot, flat beyond the outer ones [1]_. A
    feature that has not varied yet has no pieces.

    References
    ----------
    .. [1] De Boor. A practical guide to splines. 1978: B-splines of order 2.
    """
    # All pieces but the two between whose knots the value lies are 0.
    for knot in range(N_KNOTS):
        pieces[knot] = 0.0
    if not varies:
        return
    value = min(max(value, _FIRST), _END)
    below = min(<Py_ssize_t>(value - _FIRST), N_KNOTS - 2)
    share = value - (_FIRST + below)
    pieces[below], pieces[below + 1] = <float>(1.0 - share), <float>share


cdef object _enter(old, new):
    """Write arrays by name into larger ones; what would be smaller begins again."""
    for name, array in old.items():
        if isinstance(array, Ridge):
            _enter(array.arrays, new[name].arrays)
        elif all(size >= before for size, before in zip(new[name].shape, array.shape)):
            new[name][tuple(map(slice, array.shape))] = array


def width(Py_ssize_t n_features):
    """Return how many numbers models may see of an example."""
    pieces = N_KNOTS * min(n_features, NARROW)
    return N_PAST + 2 * n_features + pieces + (NARROW if n_features > NARROW else 0)


def remembered(n_features):
    """Return how many examples of `n_features` are remembered.

    Examples
    --------
    >>> remembered(100), remembered(10_000)
    (2048, 419)
    """
    return max(1, min(MOST_REMEMBERED, MEMORY // n_features))


cdef double target_of(double label, const double[::1] scale, bint classes) noexcept nogil:
    """Return the label as regressions on the past learn it; 0 while all are equal."""
    # Of numbers it is standardised, as far as `FARTHEST`.
    if classes:
        return label
    cdef double spread = deviation(scale)
    cdef double value = (label - scale[MEAN]) / spread if spread > 0.0 else 0.0
    return min(max(value, -FARTHEST), FARTHEST)


cdef void choose(
    const double *example, Py_ssize_t n_past, const int64_t[::1] slots, double empty, double *row
) noexcept nogil:
    """Write a regression's row: the constant, the labels' past, the selected features.

    Where a slot is empty there is `empty`.
    """
    # The constant and the labels' past, then slot after slot.
    row[0] = 1.0
    for j in range(n_past):
        row[1 + j] = example[j]
    for slot in range(slots.shape[0]):
        row[1 + n_past + slot] = example[n_past + slots[slot]] if slots[slot] >= 0 else empty


cdef double value_of(Ridge ridge, const double *row) noexcept nogil:
    """Return the prediction of a ridge regression for a row, for classes the log odds."""
    cdef double value = 0.0
    for j in range(ridge._weights.shape[0]):
        value += ridge._weights[j] * row[j]
    return value


cdef void take_row(
    Ridge ridge, double *row, double label, double importance, bint classes, double margin
) noexcept nogil:
    """Take a row and its label into a ridge regression; the row is spent.

    Of classes it is a step of reweighted least squares at the weights that say `margin`.
    """
    cdef Py_ssize_t j, n = ridge._weights.shape[0]
    cdef double root = sqrt(importance)
    if classes:
        label = reweigh(row, n, margin, label)
    for j in range(n):
        row[j] *= root
    rotate(&ridge._triangle[0, 0], &ridge._rotated[0], row, n, root * label)


cdef void solve_ridge(Ridge ridge) noexcept nogil:
    """Set the weights by what was taken."""
    solve(
        &ridge._triangle[0, 0], &ridge._rotated[0], &ridge._weights[0], ridge._weights.shape[0]
    )


def select(memory, slots, Ridge ridge, scale, moments, bint classes):
    """Let features join, if it is time.

    Parameters
    ----------
    memory : ndarray of float32, shape (n, N_PAST + n_features + 2)
        Labels' past, features, label and importance; the next example is written where the
        oldest is.
    slots : ndarray of int64
        The selected features, or `EMPTY`; updated.
    ridge : Ridge
        The regression on `choose`'s row; updated.
    scale, moments : ndarray of float64
        See `leaseboard.algorithms.online_automl.safe.scale` and
        `leaseboard.algorithms.reference.ridge`.
    classes : bool
        The regression is logistic.
    """
    cdef const double[::1] known = scale
    cdef Py_ssize_t seen = <Py_ssize_t>known[COUNT], n = min(seen, len(memory)), age, t
    cdef double[:, ::1] chosen
    cdef double[::1] row, labels, worths, errors = np.zeros(n)
    if seen % (EVERY if seen <= len(memory) else 5 * EVERY):
        return
    # What is remembered, by the moments of today.
    memory = memory[:n]
    rows, worths = standardise_memory(memory, scale, moments), memory[:, -1].astype(np.float64)
    labels = np.array([target_of(label, known, classes) for label in memory[:, -2].tolist()])
    chosen = chosen_of(rows, slots)
    row = np.empty(chosen.shape[1])
    for _ in range(STEPS):
        # The errors that the regression makes on what is remembered; their mean says nothing.
        total = 0.0
        for t in range(n):
            said = value_of(ridge, &chosen[t, 0])
            if classes:
                said = 1.0 - 2.0 / (exp(said) + 1.0)
            errors[t] = worths[t] * (labels[t] - said)
            total += errors[t]
        for t in range(n):
            errors[t] = errors[t] - total / n if errors[t] != 0.0 else 0.0
        if not join(rows, errors, slots, ridge.weights):
            return
        # With other features it learns all that from the beginning, from the oldest on.
        for own, new in zip(ridge.arrays.values(), Ridge(len(row) - 1).arrays.values()):
            own[...] = new
        chosen = chosen_of(rows, slots)
        for age in range(n):
            t = (seen + age) % n
            row[:] = chosen[t]
            said = value_of(ridge, &row[0])
            take_row(ridge, &row[0], labels[t], worths[t], classes, said)
            if classes or age == n - 1:
                solve_ridge(ridge)


def chosen_of(rows, slots):
    """Return the row of `choose` of all that is remembered."""
    selected = np.take(rows, N_PAST + np.maximum(slots, 0), axis=1) * (slots >= 0)
    return np.hstack([np.ones((len(rows), 1)), rows[:, :N_PAST], selected])


def standardise_memory(memory, scale, moments):
    """Return what is remembered, standardised by all examples so far."""
    spread = deviation(scale)
    # Center and factor of each column.
    factors = np.sqrt(scale[COUNT] / np.where(moments[1] > 0.0, moments[1], np.inf))
    of_past = np.full(N_PAST, 1.0 / spread if spread > 0.0 else 0.0)
    rows = memory[:, :-2] - np.append(np.full(N_PAST, scale[MEAN]), moments[0])
    rows *= np.append(of_past, factors)
    return np.clip(rows, -CLIP, CLIP, out=rows).astype(np.float32)


def join(const float[:, ::1] rows, const double[::1] errors, slots, weights):
    """Give slots to the features that the errors speak for most; return whether there were any."""
    cdef Py_ssize_t d = rows.shape[1] - N_PAST, joined = 0, t, j
    cdef double error, z, along, across
    cdef double[:, ::1] sums = np.zeros((2, d)), norms = np.zeros((2, d))
    cdef double[::1] lengths = np.zeros(d)
    # Sums of the errors along each feature and its absolute value.
    for t in range(rows.shape[0]):
        error = errors[t]
        for j in range(d if error != 0.0 else 0):
            z = rows[t, N_PAST + j]
            along, across = error * z, error * (fabs(z) - MEAN_MAGNITUDE)
            sums[0, j] += along
            sums[1, j] += across
            norms[0, j] += along * along
            norms[1, j] += across * across
            lengths[j] += z * z
    # The evidence of each, and the slope that it would have; selected ones have none.
    found, own = np.asarray(sums), weights[1 + N_PAST :]
    slopes = np.abs(found[0]) / np.maximum(lengths, 1.0)
    evidence = (found * found / np.maximum(norms, TINY)).max(axis=0)
    evidence[slots[slots >= 0]] = 0.0
    # Those of most evidence join, if there is a slot and none is nearly there already.
    for best in np.argsort(-evidence, kind="stable")[: 4 * A_STEP].tolist():
        if evidence[best] <= 2.0 * log(2.0 * d) + MARGIN or joined == A_STEP:
            break
        slot = free(slots, own, slopes[best])
        if slot != EMPTY and not is_alike(rows, best, slots, own, lengths):
            # What joins in this step is not to be replaced in it.
            slots[slot], own[slot] = best, INFINITY
            joined += 1
    return joined > 0


cdef bint is_alike(
    const float[:, ::1] rows, Py_ssize_t column, const int64_t[::1] slots,
    const double[::1] weights, const double[::1] lengths,
):
    """Return whether a feature is nearly a selected one, or like one that joins in this step."""
    cdef double product, most
    for slot in range(slots.shape[0]):
        other, product = slots[slot], 0.0
        if other == EMPTY:
            continue
        # The correlation with the feature in the slot.
        for t in range(rows.shape[0]):
            product += rows[t, N_PAST + column] * rows[t, N_PAST + other]
        most = ALIKE if weights[slot] == INFINITY else THE_SAME
        if product * product > most * most * lengths[column] * lengths[other]:
            return True
    return False


def free(slots, weights, double slope):
    """Return an empty slot, else one whose weight is less than half of `slope`, or `EMPTY`."""
    if (slots == EMPTY).any():
        return int((slots == EMPTY).argmax())
    lightest = int(np.abs(weights).argmin())
    return lightest if 2.0 * abs(weights[lightest]) < slope else EMPTY
