"""Weights, last labels and errors of each entity: of each shop, product or sensor of a stream.

Where a column of texts has few values that repeat, or a column is named, each value is an
*entity*. It has a ridge regression of its own, which begins with the weights of the regression on
all examples, so that it is near them while it has few examples. Next to it predict the same with
the mean of its last errors, which a drift changes at once; the mean of the entity's labels; and
the last one, alone, with the mean step of the entity, and with the mean step of all. The
regressions are exact after each example, by the recursion of
`leaseboard.algorithms.online_automl.members.learners`.
"""

import numpy as np

from libc.math cimport fabs, sqrt
from libc.stdint cimport int64_t

from leaseboard.algorithms.buffers cimport Buffers
from leaseboard.algorithms.online_automl.members.learners cimport shrink
from leaseboard.algorithms.online_automl.safe.expansion cimport FeatureExpansion, Row
from leaseboard.algorithms.online_automl.safe.mixture cimport worth_later
from leaseboard.algorithms.online_automl.safe.scale cimport COUNT as SEEN, HIGH, LOW
from leaseboard.algorithms.reference.steps cimport LONGEST

MOST, LEAST = 50, 20
"""Entities of a column that is not named, and examples of each."""

COLUMNS, NUMBERS = 64, 2**23
"""The most columns of a regression, and numbers of all of them: 64 MB."""

cpdef enum:
    # What is predicted: by the entity's regression, by that and its last errors, by the mean of
    # its labels, by the last one, and by that with its own mean step or that of all.
    OWN_RIDGE, OWN_LEVEL, OWN_MEAN, LAST, OWN_STEP, COMMON_STEP, N_SAID

cpdef enum:
    # The fields of an entity's past: examples; labels; the latest and the earliest time; the mean
    # of the labels; and of the regression's errors.
    COUNT, LAST_LABEL, FIRST_LABEL, LAST_TIME, FIRST_TIME, MEAN, LEVEL, N_FIELDS

cdef double _NEWEST = 0.2, _FIRM = 10.0
"""What an error counts in that mean, and the examples after which the regression's count."""

cdef double _MEASURED = 64.0
"""Examples after which a feature has a unit."""

cdef double _FARTHEST = 1e6
"""Units, and importances, beyond which regressions would not stay finite."""


def entity_columns(origins, means, seen):
    """Return the columns of texts whose values are entities, at most three.

    Parameters
    ----------
    origins : sequence of Origin
    means : ndarray of float64, shape (n_features,)
        Of the features so far.
    seen : float
        Examples so far.

    Examples
    --------
    >>> from leaseboard.algorithms.online.schema import Origin
    >>> origins = [Origin("shop", "", "a"), Origin("shop", "", "b"), Origin("price")]
    >>> entity_columns(origins, np.array([0.5, 0.5, 7.0]), 40)
    ['shop']
    >>> entity_columns(origins, np.array([0.9, 0.1, 7.0]), 40)
    []
    """
    counts = {}
    for origin, mean in zip(origins, means.tolist(), strict=True):
        if origin.value and not origin.part:
            counts.setdefault(origin.column, []).append(mean * seen)
    fit = ((each, len(own), min(own)) for each, own in counts.items())
    return [each for each, n, least in fit if 2 <= n <= MOST and least > LEAST - 0.5][:3]


cdef class Entities(Buffers):
    """Predictor that knows each entity of one column.

    Parameters
    ----------
    column : str
    origins : sequence of Origin
        Of the features.
    moments : ndarray of float64, shape (2, n_features)
        Mean and mean squared deviation of each feature so far.
    gamma : float
        What a loss is worth one example later.
    number : ndarray of int64, shape (1,), optional
        Where the column is named: that of the next example.

    Attributes
    ----------
    place : ndarray of float64, shape (2, n_features)
        Regressions are on features less the first and times the second, which is set for good by
        the examples before, or by the first value that differs.
    losses : ndarray of float64, shape (N_SAID,)
        Discounted squared losses of what is predicted, see `OWN_RIDGE` and those after it.
    past : ndarray of float64, shape (n_entities + 1, N_FIELDS)
        Of each entity; first of all together.
    times : ndarray of float64, shape (LONGEST,)
        Of the last examples, each at its number modulo `LONGEST`.
    """

    kept = "column", "place", "inverse", "weights", "past", "steps", "losses", "times"

    cdef public object column
    cdef readonly object origins
    cdef readonly bint is_named
    cdef double gamma
    cdef public int64_t[::1] _number, _of, _columns, _time
    cdef public double[::1] _steps, _losses, _times
    cdef public double[:, ::1] _place, _weights, _past
    cdef public double[:, :, ::1] _inverse
    cdef double[::1] _row, _gain, _nothing, _said

    def __init__(self, column, origins, moments, gamma, number=None):
        self.column, self.gamma, self.is_named = column, gamma, number is not None
        self._said = np.zeros(N_SAID)
        super().__init__(
            number=np.zeros(1, dtype=np.int64) if number is None else number,
            losses=np.zeros(N_SAID), steps=np.zeros(2), past=np.zeros((0, N_FIELDS)),
            inverse=np.zeros((0, 0, 0)), weights=np.zeros((0, 0)), times=np.zeros(LONGEST),
            place=place_of_features(moments),
        )
        self.grow(origins)

    def grow(self, origins, n=0):
        """Go on with more features, which were 0 until now, and with `n` entities at least."""
        self.origins = origins
        texts = [(each.column, each.part) == (self.column, "") and each.value for each in origins]
        own = np.array(texts, dtype=bool)
        days = [j for j, each in enumerate(origins) if each.part == "days"]
        rest, n = np.flatnonzero(~own), max(1 + int(own.sum()), len(self.past), 1 + n)
        fits = self.column and len(rest) <= COLUMNS and n * (1 + len(rest)) ** 2 <= NUMBERS
        size, before = 1 + len(rest) if fits else 1, self.inverse
        inverse, k = np.zeros((n, size, size)), min(size, before.shape[2])
        inverse[:] = np.eye(size)
        inverse[: len(before), :k, :k] = before[:, :k, :k]
        self._row = np.ones(size)
        self._gain, self._nothing = np.zeros((2, size))
        self.put(
            of=np.where(own & (not self.is_named), np.cumsum(own), 0),
            time=np.array(days[:1], dtype=np.int64),
            columns=rest if fits else rest[:0],
            place=_padded(self.place, (2, len(origins))),
            past=_padded(self.past, (n, N_FIELDS)),
            weights=_padded(self.weights, (n, size)),
            inverse=inverse,
        )

    def learn(self, Row row, FeatureExpansion expansion):
        """Learn a row of importance above 0."""
        if self._number[0] >= len(self._past):
            self.grow(self.origins, 2 * self._number[0])
        self.take(row, expansion._scale, row.importance)

    def predict(self, Row row, FeatureExpansion expansion):
        """Return what is predicted of a row, shape (N_SAID,); nothing is learned."""
        self.take(row, expansion._scale, 0.0)
        return np.array(self._said)

    def seasons_ago(self, time, period):
        """Return how many examples ago it was whole seasons before a time, each time that it was.

        A season lasts as long as the last `period` examples, whatever gaps there are in it.
        """
        seen = int(self.past[0, COUNT])
        times = self.times[(seen - 1 - np.arange(min(seen, LONGEST))) % LONGEST]
        if len(times) <= period or (season := times[0] - times[period]) <= 0.0:
            return np.zeros(0, dtype=np.int64)
        wanted = time - season * np.ceil((time - times[0]) / season - 1e-6)
        nearest = times[np.abs(times - wanted).argmin()]
        return np.flatnonzero((times == nearest) & (abs(nearest - wanted) < 0.5 * season / period))

    def entity(self, example):
        """Return the number of an example's entity, 0 if it is none that is known."""
        number = int(self.of[example != 0].max(initial=self._number[0]))
        return number if number < len(self.past) else 0

    cdef void take(self, Row given, const double[::1] scale, double worth) noexcept nogil:
        """Predict an example before its label is used."""
        cdef const float *example = &given.example[0]
        cdef double *row = &self._row[0]
        cdef double *said = &self._said[0]
        cdef double label = given.label
        cdef double *past = &self._past[0, 0]
        cdef Py_ssize_t entity = self._number[0] if self._number[0] < self._past.shape[0] else 0
        # The entity, and the features in their units.
        for j in range(self._of.shape[0]):
            if self._of[j] > 0 and example[j] != 0.0:
                entity = self._of[j]
        for k in range(self._columns.shape[0]):
            j = self._columns[k]
            value = example[j] - self._place[0, j]
            if self._place[1, j] == 0.0 and value != 0.0 and worth > 0.0:
                if past[COUNT] >= _MEASURED:
                    self._place[1, j] = 1.0 / fabs(value)
            row[1 + k] = min(max(value * self._place[1, j], -_FARTHEST), _FARTHEST)
        self.say(entity, said)
        for k in range(N_SAID):  # all within the range of labels
            said[k] = min(max(said[k], scale[LOW]), scale[HIGH])
        if worth <= 0.0:
            return
        # Take the losses. The first says nothing.
        counts = worth if past[COUNT] > 0.0 else 0.0
        kept = worth_later(self.gamma, scale[SEEN] - 1.0)
        for k in range(N_SAID):
            value = said[k] - label
            self._losses[k] = kept * self._losses[k] + counts * (value * value)
        # An entity that is new begins with the weights of all.
        if entity > 0 and self._past[entity, COUNT] == 0.0:
            for k in range(self._row.shape[0]):
                self._weights[entity, k] = self._weights[0, k]
        time_now = example[self._time[0]] if self._time.shape[0] > 0 else 0.0
        self._times[<Py_ssize_t>past[COUNT] % LONGEST] = time_now
        if entity > 0 and self._past[entity, COUNT] >= _FIRM:
            value = label - said[OWN_RIDGE] - self._past[entity, LEVEL]
            self._past[entity, LEVEL] += min(_NEWEST * worth, 1.0) * value
        # All together, then the entity.
        for k in range(2 if entity > 0 else 1):
            number = k * entity
            past = &self._past[number, 0]
            if number > 0 and past[COUNT] > 0.0:
                self._steps[0] += label - past[LAST_LABEL]
                self._steps[1] += 1.0
            self.move(number, label, worth)
            remember(past, label, time_now)

    cdef void say(self, Py_ssize_t entity, double *said) noexcept nogil:
        """Write what is predicted of a row."""
        # What the regressions say, the last label, and where steps would lead.
        cdef const double *own = &self._past[entity, 0]
        cdef const double *row = &self._row[0]
        cdef double common = 0.0, own_ridge = 0.0
        cdef Py_ssize_t known = entity if own[COUNT] > 0.0 else 0, k
        for k in range(self._row.shape[0]):
            common += self._weights[0, k] * row[k]
            own_ridge += self._weights[known, k] * row[k]
        for k in range(N_SAID):
            said[k] = common
        if known > 0:
            said[OWN_RIDGE], said[OWN_LEVEL] = own_ridge, own_ridge + own[LEVEL]
            said[OWN_MEAN] = own[MEAN]
            said[LAST] = said[OWN_STEP] = said[COMMON_STEP] = own[LAST_LABEL]
            if own[COUNT] > 1.0:
                said[OWN_STEP] += (own[LAST_LABEL] - own[FIRST_LABEL]) / (own[COUNT] - 1.0)
            if self._steps[1] > 0.0:
                said[COMMON_STEP] += self._steps[0] / self._steps[1]

    cdef void move(self, Py_ssize_t number, double label, double worth) noexcept nogil:
        """Take an example into a regression."""
        # Move the weights along the gain, which is scaled by the step.
        cdef Py_ssize_t size = self._row.shape[0]
        cdef const double *row = &self._row[0]
        cdef double *weights = &self._weights[number, 0]
        cdef double *gain = &self._gain[0]
        cdef double *inverse = &self._inverse[number, 0, 0]
        cdef double error = label
        for k in range(size):
            error -= weights[k] * row[k]
        step = shrink(row, min(worth, _FARTHEST), inverse, &self._nothing[0], gain, size, size)
        step = sqrt(step) * error
        for k in range(size):
            weights[k] += step * gain[k]
            for j in range(size):
                inverse[k * size + j] -= gain[k] * gain[j]


def place_of_features(moments):
    """Return what features are less, and times: 0 where they have not varied."""
    varied = moments[1] > 0.0
    return np.array([moments[0], varied / np.sqrt(np.where(varied, moments[1], 1.0))])


def _padded(old, shape):
    new = np.zeros(shape)
    rows, columns = (min(a, b) for a, b in zip(old.shape, shape, strict=True))
    new[:rows, :columns] = old[:rows, :columns]
    return new


cdef inline void remember(double *past, double label, double time) noexcept nogil:
    """Take a label and its time into the past of an entity."""
    if past[COUNT] == 0.0:
        past[FIRST_LABEL], past[FIRST_TIME], past[LAST_TIME] = label, time, time
    past[LAST_LABEL], past[COUNT] = label, past[COUNT] + 1.0
    past[MEAN] += (label - past[MEAN]) / past[COUNT]
    past[FIRST_TIME], past[LAST_TIME] = min(past[FIRST_TIME], time), max(past[LAST_TIME], time)
