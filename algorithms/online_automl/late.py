"""What predicts while labels are pending, by its late errors, and the predictions that wait.

It is asked in place of a race where others wait for their labels, by the estimators and on
environments alike.
"""

import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, ClassVar

import numpy as np

from leaseboard.algorithms import plain
from leaseboard.algorithms.arrays import Doubles, Floats, Slots
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.online.conformal import Intervals
from leaseboard.algorithms.online_automl.one_vs_rest import OneVsRest
from leaseboard.algorithms.online_automl.safe.bayes import logit
from leaseboard.algorithms.online_automl.safe.later import (
    BASELINES,
    MEAN_PART,
    N_PARTS,
    RIDGE_PART,
    Parts,
    Waiting,
    parts_of,
)
from leaseboard.algorithms.online_automl.safe.mixture import (
    aggregate,
    new_aggregate,
    posterior_mean,
    weigh,
)
from leaseboard.algorithms.online_automl.safe.scale import MEAN, SHOWN, deviation
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.tables.features import Example
from leaseboard.algorithms.tables.values import copied
from leaseboard.algorithms.transcendental import exp_all, log_all

PRIOR = 160.0
"""Answers as which the losses count that parts would have had."""

TRUSTED, ALIKE = 6, 30.0
"""See `Weighed`."""

PLACES = np.array([*range(N_PARTS), *[MEAN_PART, RIDGE_PART] * (TRUSTED - 1)])
"""The parts, as often as they count."""

MEMORIES = {300.0: 2 / 3, 4000.0: 1 / 3}
"""Answers after which a squared loss counts 1/e, in each of the means, and its share."""

TRUSTED_CLASSES, MEMORY_OF_CLASSES = 4, {1000.0: 1.0}
"""`TRUSTED` and `MEMORIES` of what predicts a class."""

SCORES, LATELY, SURE = 1000, 300.0, 2.0
"""Errors that intervals of forecasts are made of; and see `Forecasts`."""

EXPECTED = 0.1
"""Errors that are expected of each that predicts a class, before any is known."""

LATER, ON_FEATURES, STALE, LAST, COMMON = range(5)
"""What predicts a class: the race without past labels; logistic regressions on features; the race
by the last labels that are known; the last class; and the one that came most often."""

PLACES_OF_CLASSES = np.array([*range(1 + COMMON), *[LATER, ON_FEATURES] * (TRUSTED_CLASSES - 1)])
"""They, as often as they count."""

NAIVE = ON_FEATURES, LAST, COMMON
FIRST = 0.97, 0.01, 0.01, 0.01
"""The naive baselines of classes; first weights, of the posterior mean and of each of these."""

LEAST_SHARE = 1e-3
"""Divided by the number of classes: the least probability of a class."""

MOST_PLACES = 16
"""How much more often the last class counts at most. Of a file that is sorted by class it is the
first to say the next class, long before the errors of the others are known."""


class Late(Saved):
    """Predictor that does what the race would next, if others wait without past labels."""

    def ask(self, race: Any, row: Floats, waiting: Waiting) -> tuple[Any, Doubles]:
        """Return a prediction of an example, and what `answer` needs of it, last its entity.

        Parameters
        ----------
        race : Race, OneVsRest, or None before the first example
        row : ndarray of float32, shape (n_features,)
        waiting : Waiting
            How many wait for their labels.
        """
        return 0.0 if race is None else race.predict(row, later=waiting[-1] > 0), np.zeros(1)

    def answer(self, race: Any, label: float, prediction: Any, kept: Doubles, delay: int) -> None:
        """Learn the label of a prediction, since which `delay` others were made."""

    def forget(self, kept: Doubles) -> None:
        """Let a prediction go whose label never comes."""

    def notes(self, race: Any) -> dict[str, float]:
        """Return metrics of late predictions."""
        return {}


class Weighed(Late):
    """Posterior mean of parts by what each has lost in predictions whose labels came later.

    They are weighed as models are in `leaseboard.algorithms.online_automl.safe.mixture`, mean and
    ridge regression `TRUSTED` times; what they would have lost counts as `PRIOR` answers. Of
    predictions that wait together the errors are alike, so that n of them say less than n errors
    that were known one after the other: up to `ALIKE` of them count as one, each further one as
    1 / `ALIKE`.
    It is the average of a mean that forgets fast and one that forgets slowly: what was best lately
    need not be so for the next labels, which come after other predictions.

    Attributes
    ----------
    places : ndarray of int64
        The parts, as often as they count.
    losses : ndarray of float64, shape (n_memories, n_parts)
        Squared losses, discounted by each memory.
    mass : ndarray of float64, shape (n_memories,)
        Their number, discounted alike.
    """

    kept: ClassVar[tuple[str, ...]] = ("losses", "mass")

    def __init__(self, places: Slots = PLACES, memories: Mapping[float, float] = MEMORIES) -> None:
        self.places = places
        self.memories, self.shares = np.array([*memories.items()]).T
        self.losses = np.zeros((len(memories), 1 + places.max()))
        self.mass = np.zeros(len(memories))

    def mean(self, said: Doubles, lost: Doubles, waiting: int = 0) -> float:
        """Return the average posterior mean of parts, before whose prediction so many wait."""
        known = zip(PRIOR * lost + self.losses, PRIOR + self.mass, strict=True)
        n = min(1.0 + waiting, ALIKE)
        means = [posterior_mean(said, self.places, losses, mass / n) for losses, mass in known]
        return float(self.shares @ means)

    def learn(self, said: Doubles, label: float) -> None:
        """Take what the parts of a prediction have lost."""
        kept = 1.0 - 1.0 / self.memories
        self.losses[:] = kept[:, None] * self.losses + (said - label) ** 2
        self.mass[:] = kept * self.mass + 1.0


class Copied(Weighed):
    """`Weighed` under a mixture; each prediction takes a copy of it that no other waits for [1]_.

    So a copy predicts a part of the sequence, and knows each label of this part before it predicts
    the next: its theorem holds for this part. A copy is made only where all others wait. There are
    at most D + 1, where D predictions wait at most when one is made.

    References
    ----------
    .. [1] Joulani, Gyorgy, Szepesvari. Online learning under delayed feedback. ICML 2013.

    Attributes
    ----------
    copies : list of ndarray of float64
        Their states.
    free : list of int
        Those for whose label nothing waits.
    """

    kept: ClassVar[tuple[str, ...]] = (*Weighed.kept, "copies", "free")

    def __init__(self, new: Doubles, *given: Any) -> None:
        super().__init__(*given)
        self.new, self.copies, self.free = new, [new.copy()], [0]

    def take(self) -> int:
        """Return the number of a free copy."""
        if not self.free:
            self.free.append(len(self.copies))
            self.copies.append(self.new.copy())
        return self.free.pop()

    def release(self, copy: float) -> None:
        """Let go a copy whose label never comes."""
        self.free.append(int(copy))
        if len(self.free) == len(self.copies):  # of those that learned nothing one is enough
            learned = [each for each in self.copies if not np.array_equal(each, self.new)]
            self.copies = learned or self.copies[:1]
            self.free = [*range(len(self.copies))]


class Forecasts(Weighed):
    """Predictions of rows none of whose labels is known before all are predicted.

    Intervals hold what the given share of the last `SCORES` errors held that were measured so,
    each over the spread of its entity (split conformal prediction): as many of the next labels, if
    these follow on the last ones as those did on the ones before. The spread is an entity's mean
    error over that of all, to the power n / (n + `SURE`) after n errors, of which each counts 1/e
    after `LATELY` later ones.

    Attributes
    ----------
    column : str
        The column of the entities.
    scores : ndarray of float64, shape (SCORES,)
        These errors, the latest last.
    numbers : ndarray of float64, shape (SCORES,)
        The number of the entity of each, 0 for none.
    """

    kept: ClassVar[tuple[str, ...]] = (*Weighed.kept, "column", "scores", "numbers")

    def __init__(self) -> None:
        super().__init__()
        self.column, self.scores, self.numbers = "", np.full(SCORES, math.nan), np.zeros(SCORES)

    def measure(self, prediction: float, label: float, entity: int, column: str) -> None:
        """Learn how far off a prediction was, of an entity of a column."""
        if column != self.column:  # numbers are those of another one
            self.column, self.numbers = column, np.zeros(SCORES)
        self.scores = np.append(self.scores[1:], abs(label - prediction))
        self.numbers = np.append(self.numbers[1:], entity)

    def halves(self, level: float, column: str) -> Doubles:
        """Return half the width of intervals, of none and of each entity that was measured.

        Infinite while there are too few errors.
        """
        known = ~np.isnan(self.scores)
        errors, of = self.scores[known], self.numbers[known].astype(np.intp)
        if column != self.column:
            of[:] = 0
        counts = exp_all(-np.arange(len(errors))[::-1] / LATELY)
        n = np.bincount(of, counts, 1).astype(np.float64)
        sums = np.bincount(of, counts * errors, 1).astype(np.float64)
        sums[0], mean = 0.0, counts @ errors / max(counts.sum(), 1.0)
        # The spread that an error is over does not know it, as the next label's does not.
        scores = errors / _spreads(n[of] - counts, sums[of] - counts * errors, mean)
        rank = math.ceil(level * (len(errors) + 1))
        quantile = np.sort(scores)[rank - 1] if 0 < rank <= len(errors) else math.inf
        return np.asarray(quantile * _spreads(n, sums, mean))


def _spreads(n: Doubles, sums: Doubles, mean: float) -> Doubles:
    """Return the spread of entities with so many errors, and their sums; 1 without errors."""
    found, measured = np.ones(len(n)), (sums > 0.0) & (n > 0.0)
    n, means = n[measured], sums[measured] / n[measured]
    found[measured] = exp_all(n / (n + SURE) * log_all(means / mean))
    return found


class LateNumbers(Copied):
    """Numbers whose labels come later.

    The posterior mean of the parts, next to the naive baselines, is an expert of the aggregate
    (`leaseboard.algorithms.online_automl.safe.mixture`).

    **Theorem.** For every sequence of labels, in any order of arrival, the squared loss of all
    predictions that were answered is at most that of the best baseline, plus for each copy the
    constant of the aggregate with one expert more than `BASELINES`. There are at most D + 1
    copies, where D predictions wait at most when one is made.

    *Proof.* The theorem holds for the part of each copy (`Copied`), and their losses sum. ∎

    With labels that come before the next prediction there is one copy, and the theorem is the
    first one.

    Parameters
    ----------
    levels : sequence of float
        Of intervals.

    Attributes
    ----------
    ahead : Forecasts
        Of blocks of rows none of whose labels is known before all are predicted.
    """

    kept: ClassVar[tuple[str, ...]] = (*Copied.kept, "intervals", "ahead")

    def __init__(self, levels: Sequence[float]) -> None:
        super().__init__(new_aggregate(1 + len(BASELINES)))
        self.intervals, self.ahead = Intervals(levels, later=True), Forecasts()

    def ask(self, race: Any, row: Floats, waiting: Waiting) -> tuple[float, Doubles]:
        """See `Late.ask`."""
        if race is None or not race.at:
            none = [*[0.0] * (N_PARTS + 3), -1.0, *self.intervals.ask(0.0), 0.0]
            return super().ask(race, row, waiting)[0], np.array(none)
        entity = race.head.entity(row)
        return self.predict(parts_of(race, row, waiting[-1], waiting[entity]), entity)

    def predict(self, parts: Parts, entity: int = 0) -> tuple[float, Doubles]:
        """Return the prediction by its parts, and what `answer` needs of it.

        It is what the parts said, their mean, the range of labels and the copy, what
        `Intervals.ask` returns, and the entity.
        """
        waiting = len(self.copies) - len(self.free)
        copy, mean = self.take(), self.mean(parts.said, parts.lost, waiting)
        prediction = aggregate(_experts(parts.said, mean), self.copies[copy])
        own, asked = np.array([mean, *parts.limits, copy]), self.intervals.ask(prediction)
        return prediction, np.concatenate((parts.said, own, asked, [entity]))

    def answer(
        self, race: Any, label: float, prediction: float, kept: Doubles, delay: int
    ) -> None:
        """See `Late.answer`."""
        said, (mean, low, high, copy), asked = np.split(kept[:-1], [N_PARTS, N_PARTS + 4])
        if copy < 0:
            return
        shown = float(race.ensemble.expansion.scale[SHOWN])
        within = min(max(shown, low), high)
        weigh(_experts(said, mean), label, within, high - low, self.copies[int(copy)])
        self.free.append(int(copy))
        self.learn(said, shown)
        self.intervals.update(label, prediction, asked, delay)

    def around(self, prediction: float, level: float, kept: Doubles) -> tuple[float, float]:
        """Return the interval that a prediction was given, of which that was kept."""
        return self.intervals.around(prediction, level, kept[N_PARTS + 4 : -1])

    def forget(self, kept: Doubles) -> None:
        """See `Late.forget`."""
        if kept[N_PARTS + 3] >= 0:
            self.release(kept[N_PARTS + 3])

    def notes(self, race: Any) -> dict[str, float]:
        """Return metrics of intervals."""
        return self.intervals.notes(deviation(race.ensemble.expansion.scale))


def _experts(said: Doubles, mean: float) -> Doubles:
    return np.array([mean, *said[[*BASELINES]]])


class LateClasses(Copied):
    """Probabilities of classes while labels are pending.

    As for numbers, what predicts a class is judged by its errors while labels were pending, and n
    predictions that wait together count as few; the posterior mean is averaged with the naive
    baselines by Bayes' rule, at first with the weights `FIRST`.

    **Theorem.** For every sequence of classes, in any order of arrival, the log loss of all
    predictions that were made while others waited and were answered is at most that of the best of
    `NAIVE`, none of which gives a class less than `LEAST_SHARE` over the number of classes, plus
    ln 100 for each copy. Left out is an answer whose class had not come before its prediction.

    *Proof.* By Bayes' rule the loss of each copy (`Copied`) is at most -ln π above that of an
    expert whose weight at first is π, which is at least .01; the losses of the copies sum. ∎
    """

    def __init__(self) -> None:
        super().__init__(log_all(np.array(FIRST)), PLACES_OF_CLASSES, MEMORY_OF_CLASSES)

    def ask(self, race: Any, row: Floats, waiting: Waiting) -> tuple[Any, Doubles]:
        """See `Late.ask`; probabilities, or of an environment's two classes log odds."""
        n_classes = getattr(race, "n_classes", 2) if race is not None and race.at else 0
        if not waiting[-1] or n_classes < 2:  # nothing is learned, but that there is one class
            votes = np.append(np.full(1 + COMMON, 0.0 if n_classes == 1 else -1.0), 0.0)
            return super().ask(race, row, waiting)[0], votes
        many = isinstance(race, OneVsRest)
        races: list[Any] = race.races if many else [race]
        later, ridge, stale = np.array([each.late_margins(row) for each in races]).T.copy()
        if many:
            last, counts = race.mixture.last, np.asarray(race.mixture.counts[0])
            first = race.of_margins(later, row, later=True)
            third, second = race.of_margins(stale, row), race.of_margins(ridge)
        else:
            scale = race.ensemble.expansion.scale
            last, mean = int(scale[SHOWN] > 0.0), float(scale[MEAN])
            counts = np.array([1.0 - mean, 1.0 + mean])
            odds = 1.0 / (1.0 + exp_all(np.clip([-later, -ridge, -stale], -500.0, 500.0)))
            first, second, third = np.column_stack((1.0 - odds, odds))
        wrong = (self.losses[0, LAST] + 1.0) / (self.mass[0] + 2.0)
        more = min(MOST_PLACES, max(0.0, (1.0 - wrong) / wrong - 1.0) ** 2)
        self.places = np.append(PLACES_OF_CLASSES, np.full(int(more), LAST))
        fourth = np.full(len(counts), wrong / max(1, len(counts) - 1))
        fourth[last] = 1.0 - wrong
        said = np.array([first, second, third, fourth, counts / max(counts.sum(), 1.0)])
        lost = np.full(len(said), EXPECTED)
        found = np.array([self.mean(each, lost, waiting[-1]) for each in said.T.copy()])
        votes = said.argmax(axis=1)
        votes[LAST] = last  # also where another class is more probable
        shares, guarded = self.guard(np.array([found, *said[[*NAIVE]]]))
        kept = np.concatenate((votes, guarded, [0.0]))
        return (shares if many else logit(shares[1] - shares[0])), kept

    def guard(self, experts: Doubles) -> tuple[Doubles, Doubles]:
        """Return a copy's average of experts (4, n_classes), and what `answer` needs of it."""
        experts = (1.0 - LEAST_SHARE) * experts + LEAST_SHARE / experts.shape[1]
        copy = self.take()
        weights = exp_all(self.copies[copy] - self.copies[copy].max())
        return weights @ experts / weights.sum(), np.append(experts.ravel(), copy)

    def answer(self, race: Any, label: float, prediction: Any, kept: Doubles, delay: int) -> None:
        """See `Late.answer`; a class by its number, or of two by the sign of `label`."""
        number = int(label) if isinstance(race, OneVsRest) else int(label > 0.0)
        votes, guarded = np.split(kept[:-1], [1 + COMMON])
        if votes[0] >= 0.0:
            self.learn(votes != number, 0.0)
        if len(guarded):
            self.free.append(int(guarded[-1]))
            said = guarded[:-1].reshape(len(FIRST), -1)
            if number < said.shape[1]:  # which had come before
                self.copies[int(guarded[-1])] += log_all(said[:, number].copy())

    def forget(self, kept: Doubles) -> None:
        """See `Late.forget`."""
        if len(kept) > 2 + COMMON:
            self.release(kept[-2])


ROW = ("examples", "predictions", "before", "parts")
"""What files call the parts of what waits."""


class Pending:
    """Examples that wait for their labels, with their predictions.

    Parameters
    ----------
    most : int
        Of more, the oldest is dropped.

    Attributes
    ----------
    waiting : dict of Hashable to (dict or None, Any, int, ndarray of float64)
        By id, the oldest first: a copy of the example unless the caller has it, its prediction,
        how many were made before it, and the numbers of which it was made.
    made, dropped : int
        How many predictions were made, and dropped.
    of : Waiting
        How many wait; the last of their numbers names the entity.
    """

    def __init__(self, most: int) -> None:
        if not isinstance(most, int) or isinstance(most, bool) or most < 1:
            raise UsageError(
                f"max_pending={most!r} must be a whole number of examples, 1 at least"
            )
        self.most = most
        self.waiting: dict[Hashable, tuple[Example | None, Any, int, Doubles]] = {}
        self.made = self.dropped = 0
        self.of = Waiting()

    def add(self, key: Hashable, x: Example | None, prediction: Any, kept: Doubles) -> None:
        """Remember an example until its label comes; its id does not wait yet."""
        self.waiting[key] = None if x is None else _copied(x), prediction, self.made, kept
        self.made += 1
        self.of.add(int(kept[-1]))

    def pop(self, key: Hashable) -> Doubles:
        """Forget an example that waits; return the numbers of which its prediction was made."""
        kept = self.waiting.pop(key)[-1]
        self.of.add(int(kept[-1]), -1)
        return kept

    def get(self, key: Hashable) -> tuple[Example | None, Any, int, Doubles]:
        """Return an example that waits, its prediction, how many were made since, and its numbers.

        Raises
        ------
        UsageError
            If none of this id waits.
        """
        if key not in self.waiting:
            raise UsageError(
                f"id {key!r} waits for no label: it was never predicted with it, its label is"
                f" learned, or it was forgotten ({self.dropped} were dropped as the oldest of more"
                f" than max_pending={self.most}); predict it with its id first"
            )
        x, prediction, before, kept = self.waiting[key]
        return x, prediction, self.made - 1 - before, kept

    def state(self) -> dict[str, Any]:
        """Return all that it holds, as plain values."""
        rows = [*map(list, zip(*self.waiting.values(), strict=True))] or [[]] * len(ROW)
        parts = {"keys": list(self.waiting)} | dict(zip(ROW, rows, strict=True))
        parts["sizes"] = np.array([*map(len, parts["parts"])], dtype=np.int64)
        parts["parts"] = np.concatenate([np.zeros(0), *parts["parts"]])
        return parts | {"made": self.made, "dropped": self.dropped}

    def fill(self, state: Any) -> None:
        """Go on from `state`."""
        parts = np.split(state["parts"], np.cumsum(state["sizes"])[:-1]) if state["keys"] else []
        rows = zip(*(state[name] for name in ROW[:-1]), parts, strict=True)
        self.waiting = dict(zip(state["keys"], rows, strict=True))
        for kept in parts:
            self.of.add(int(kept[-1]))
        plain.fill(self, state, ("made", "dropped"))


def _copied(x: Example) -> dict[Hashable, Any]:
    """Return an example that was read before, as plain values that no caller can change."""
    return {
        name: _copied(value) if isinstance(value, Mapping) else copied(value)
        for name, value in x.items()
    }
