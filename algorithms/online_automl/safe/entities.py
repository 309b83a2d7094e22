"""Weights, last labels and errors of each entity: of each shop, product or sensor of a stream.

Where a column of texts has few values that repeat, or a column is named, each value is an
*entity*. It has a ridge regression of its own, which begins with the weights of the regression on
all examples, so that it is near them while it has few examples. Next to it predict the same with
the mean of its last errors, which a drift changes at once; the mean of the entity's labels; and
the last one, alone, with the mean step of the entity, and with the mean step of all. The
regressions are exact after each example, by the recursion of
`leaseboard.algorithms.online_automl.members.fourier`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leaseboard.algorithms.compilation import compiled
from leaseboard.algorithms.environments.stream import Origin
from leaseboard.algorithms.online.handles import quick
from leaseboard.algorithms.online.kernel import Doubles, Floats, Slots
from leaseboard.algorithms.online_automl.members.fourier import shrink
from leaseboard.algorithms.online_automl.safe.scale import HIGH, LOW
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.naive import LONGEST

MOST, LEAST = 50, 20
"""Entities of a column that is not named, and examples of each."""

COLUMNS, NUMBERS = 64, 2**23
"""The most columns of a regression, and numbers of all of them: 64 MB."""

OWN_RIDGE, OWN_LEVEL, OWN_MEAN, LAST, OWN_STEP, COMMON_STEP = range(6)
"""What is predicted: by the entity's regression, by that and its last errors, by the mean of its
labels, by the last one, and by that with its own mean step or that of all."""

N_SAID = 6

COUNT, LAST_LABEL, FIRST_LABEL, LAST_TIME, FIRST_TIME, ERRORS, MASS, MEAN, LEVEL = range(9)
"""The fields of an entity's past: examples; labels; the latest and the earliest time; squared
errors and their number, which forget; the mean of the labels; and of the regression's errors."""

NEWEST, FIRM = 0.2, 10.0
"""What an error counts in that mean, and the examples after which the regression's count."""

MEASURED = 64.0
"""Examples after which a feature has a unit."""

FARTHEST = 1e6
"""Units, and importances, beyond which regressions would not stay finite."""

FORGETTING = 0.99
"""What an error of an entity is worth one of its examples later."""


def entity_columns(origins: Sequence[Origin], means: Doubles, seen: float) -> list[str]:
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
    >>> origins = [Origin("shop", "", "a"), Origin("shop", "", "b"), Origin("price")]
    >>> entity_columns(origins, np.array([0.5, 0.5, 7.0]), 40)
    ['shop']
    >>> entity_columns(origins, np.array([0.9, 0.1, 7.0]), 40)
    []
    """
    counts: dict[str, list[float]] = {}
    for origin, mean in zip(origins, means.tolist(), strict=True):
        if origin.value and not origin.part:
            counts.setdefault(origin.column, []).append(mean * seen)
    fit = ((each, len(own), min(own)) for each, own in counts.items())
    return [each for each, n, least in fit if 2 <= n <= MOST and least > LEAST - 0.5][:3]


class Entities(Saved):
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
        Where the column is named, and features do not show the entity: that of the next example.

    Attributes
    ----------
    place : ndarray of float64, shape (2, n_features)
        Regressions are on features less the first and times the second, which is set for good by
        the examples before, or by the first value that differs.
    losses : ndarray of float64, shape (N_SAID,)
        Discounted squared losses of what is predicted, see `OWN_RIDGE` and those after it.
    past : ndarray of float64, shape (n_entities + 1, 9)
        Of each entity; first of all together.
    times : ndarray of float64, shape (LONGEST,)
        Of the last examples, each at its number modulo `LONGEST`.
    """

    kept = "column", "place", "inverse", "weights", "past", "steps", "losses", "times"

    def __init__(
        self,
        column: str,
        origins: Sequence[Origin],
        moments: Doubles,
        gamma: float,
        number: Slots | None = None,
    ) -> None:
        self.column, self.gamma, self.is_named = column, gamma, number is not None
        self.number = np.zeros(1, dtype=np.int64) if number is None else number
        self.losses, self.steps, self.past = np.zeros(N_SAID), np.zeros(2), np.zeros((0, 9))
        self.inverse, self.weights = np.zeros((0, 0, 0)), np.zeros((0, 0))
        self.times = np.zeros(LONGEST)
        self.set_units(moments)
        self.grow(origins)

    def set_units(self, moments: Doubles) -> None:
        """Set the place of features that have none yet, and so no weights."""
        varied = moments[1] > 0.0
        self.place = np.array([moments[0], varied / np.sqrt(np.where(varied, moments[1], 1.0))])

    def grow(self, origins: Sequence[Origin], n: int = 0) -> None:
        """Go on with more features, which were 0 until now, and with `n` entities at least."""
        self.origins = origins
        texts = [(each.column, each.part) == (self.column, "") and each.value for each in origins]
        own = np.array(texts, dtype=bool)
        self.of = np.where(own & (not self.is_named), np.cumsum(own), 0)
        days = [j for j, each in enumerate(origins) if each.part == "days"]
        self.time = np.array(days[:1], dtype=np.int64)
        rest, n = np.flatnonzero(~own), max(1 + int(own.sum()), len(self.past), 1 + n)
        fits = self.column and len(rest) <= COLUMNS and n * (1 + len(rest)) ** 2 <= NUMBERS
        self.columns, size = rest if fits else rest[:0], 1 + len(rest) if fits else 1
        self.place = _padded(self.place, (2, len(origins)))
        self.past, self.weights = _padded(self.past, (n, 9)), _padded(self.weights, (n, size))
        before, self.inverse = self.inverse, np.zeros((n, size, size))
        self.inverse[:] = np.eye(size)
        k = min(size, before.shape[-1])
        self.inverse[: len(before), :k, :k] = before[:, :k, :k]

    def learn(
        self, examples: Floats, labels: Floats, importances: Floats, scale: Doubles
    ) -> Doubles:
        """Learn a block; return what was predicted of each example, shape (n, N_SAID)."""
        found, number = np.empty((len(labels), N_SAID)), int(self.number[0])
        if number >= len(self.past) and importances[0] > 0:
            self.grow(self.origins, 2 * number)
        learn_entities(
            examples, labels, importances, self.number, self.of, self.columns, self.time,
            self.place, self.inverse, self.weights, self.past, self.steps, self.losses,
            self.times, scale, self.gamma, found,
        )  # fmt: skip
        return found

    def predict(self, example: Floats, scale: Doubles) -> Doubles:
        """Return what is predicted of one example, shape (N_SAID,); nothing is learned."""
        nothing = np.zeros(1, dtype=np.float32)
        return np.asarray(self.learn(example[None], nothing, nothing, scale)[0])

    def seasons_ago(self, time: float, period: int) -> Slots:
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

    def entity(self, example: Floats) -> int:
        """Return the number of an example's entity, 0 if it is none that is known."""
        number = int(self.of[example != 0].max(initial=self.number[0]))
        return number if number < len(self.past) else 0


def _padded(old: Doubles, shape: tuple[int, int]) -> Doubles:
    new = np.zeros(shape)
    rows, columns = (min(a, b) for a, b in zip(old.shape, shape, strict=True))
    new[:rows, :columns] = old[:rows, :columns]
    return new


@quick
@compiled(error_model="numpy")
def learn_entities(
    examples: Floats,
    labels: Floats,
    worths: Floats,
    named: Slots,
    of: Slots,
    columns: Slots,
    time: Slots,
    place: Doubles,
    inverse: Doubles,
    weights: Doubles,
    past: Doubles,
    steps: Doubles,
    losses: Doubles,
    times: Doubles,
    scale: Doubles,
    gamma: float,
    found: Doubles,
) -> None:
    """Predict example after example, each before its label is used.

    Parameters
    ----------
    named : ndarray of int64, shape (1,)
        The entity, if no feature stands for it.
    of : ndarray of int64, shape (n_features,)
        The entity that a feature stands for, 0 for none.
    columns : ndarray of int64
        The features that regressions are on.
    time : ndarray of int64
        The feature that is a time, where there is one.
    worths : ndarray of float32, shape (n,)
        An example of 0 teaches nothing.
    """
    row, gain = np.ones(1 + len(columns)), np.empty(1 + len(columns))
    for t in range(len(labels)):
        example, worth, label = examples[t], np.float64(worths[t]), np.float64(labels[t])
        # The entity, and the features in their units.
        entity = named[0] if named[0] < len(past) else 0
        for j in range(len(of)):
            if of[j] > 0 and example[j] != 0.0:
                entity = of[j]
        for k in range(len(columns)):
            j = columns[k]
            value = example[j] - place[0, j]
            if place[1, j] == 0.0 and value != 0.0 and worth > 0.0 and past[0, COUNT] >= MEASURED:
                place[1, j] = 1.0 / abs(value)
            row[1 + k] = min(max(value * place[1, j], -FARTHEST), FARTHEST)
        said, best = found[t], 0
        say(row, entity, weights, past, steps, said)
        for k in range(len(said)):  # all within the range of labels
            said[k] = min(max(said[k], scale[LOW]), scale[HIGH])
            best = k if losses[k] < losses[best] else best
        if worth <= 0.0:
            continue
        # Take the losses; those of the entity are of what is best so far. The first says nothing.
        counts = worth if past[0, COUNT] > 0.0 else 0.0
        squared = counts * (said[best] - label) ** 2
        for k in range(len(said)):
            losses[k] = gamma * losses[k] + counts * (said[k] - label) ** 2
        # An entity that is new begins with the weights of all.
        if entity > 0 and past[entity, COUNT] == 0.0:
            weights[entity] = weights[0]
        time_now = np.float64(example[time[0]]) if len(time) else 0.0
        times[int(past[0, COUNT]) % len(times)] = time_now
        if entity > 0 and past[entity, COUNT] >= FIRM:
            error = label - said[OWN_RIDGE]
            past[entity, LEVEL] += min(NEWEST * worth, 1.0) * (error - past[entity, LEVEL])
        for number in range(0, entity + 1, max(1, entity)):
            if number and past[number, COUNT] > 0.0:
                steps[0] += label - past[number, LAST_LABEL]
                steps[1] += 1.0
            move(row, label, worth, inverse[number], weights[number], gain)
            remember(past[number], label, worth, squared, time_now)


@compiled
def say(
    row: Doubles, entity: int, weights: Doubles, past: Doubles, steps: Doubles, said: Doubles
) -> None:
    """Write what is predicted of a row."""
    # What the regressions say, the last label, and where steps would lead.
    own, common, own_ridge = past[entity], 0.0, 0.0
    known = entity if own[COUNT] > 0.0 else 0
    for k in range(len(row)):
        common += weights[0, k] * row[k]
        own_ridge += weights[known, k] * row[k]
    said[:] = common
    if known > 0:
        said[OWN_LEVEL] = own_ridge + own[LEVEL]
        said[OWN_RIDGE], said[OWN_MEAN], said[LAST:] = own_ridge, own[MEAN], own[LAST_LABEL]
        if own[COUNT] > 1.0:
            said[OWN_STEP] += (own[LAST_LABEL] - own[FIRST_LABEL]) / (own[COUNT] - 1.0)
        if steps[1] > 0.0:
            said[COMMON_STEP] += steps[0] / steps[1]


@compiled(error_model="numpy")
def move(
    row: Doubles, label: float, worth: float, inverse: Doubles, weights: Doubles, gain: Doubles
) -> None:
    """Take an example into a regression."""
    # Move the weights along the gain, which is scaled by the step.
    error = label
    for k in range(len(row)):
        error -= weights[k] * row[k]
    step = np.sqrt(shrink(row, min(worth, FARTHEST), inverse, gain)) * error
    for k in range(len(row)):
        weights[k] += step * gain[k]


@compiled
def remember(past: Doubles, label: float, worth: float, squared: float, time: float) -> None:
    """Take a label, its time, and how far off it was into the past of an entity."""
    if past[COUNT] == 0.0:
        past[FIRST_LABEL], past[FIRST_TIME], past[LAST_TIME] = label, time, time
    past[LAST_LABEL], past[COUNT] = label, past[COUNT] + 1.0
    past[MEAN] += (label - past[MEAN]) / past[COUNT]
    past[FIRST_TIME], past[LAST_TIME] = min(past[FIRST_TIME], time), max(past[LAST_TIME], time)
    past[ERRORS] = FORGETTING * past[ERRORS] + squared
    past[MASS] = FORGETTING * past[MASS] + worth
