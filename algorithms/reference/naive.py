"""Naive baselines of a stream: predictions from earlier labels alone, and all of them together.

The running mean, the last label and the label a season ago are here, the ridge regression is in
`leaseboard.algorithms.reference.ridge`. They are measured as any algorithm is, or go on next to a
model.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.arrays import Doubles, Floats, likeliest
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import widened
from leaseboard.algorithms.measures import baseline_name, loss_of, of_numbers
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.ridge import (
    OnlineRidge,
    Predictor,
    ReferencePrediction,
    one_hot,
)
from leaseboard.algorithms.reference.steps import LONGEST, learn_seasonal, period_after
from leaseboard.algorithms.tables.features import Column, FeatureMap


@dataclass(frozen=True, kw_only=True)
class RunningMean(ReferencePrediction):
    """Mean of the labels so far; for classes the one seen most often.

    What every learner has to beat to have learned anything: its loss is the label's variance.
    The first prediction is 0. Of two classes seen equally often it predicts the first, of more the
    one that came first.

    Examples
    --------
    >>> predictor = RunningMean().predictor(n_features=1, task="regression")
    >>> nothing = np.zeros((3, 1), np.float32)
    >>> predictor.learn_many(nothing, np.array([4, 6, 1], np.float32)).tolist()
    [0.0, 4.0, 5.0]
    """

    prediction: ClassVar[str] = "mean of the labels"

    def predictor(self, n_features: int, task: str, n_classes: int | None = None) -> Predictor:
        """See `ReferencePrediction.predictor`."""
        return _RunningMean(classes=n_classes is not None)


@dataclass(frozen=True, kw_only=True)
class LastLabel(ReferencePrediction):
    """Last label: the no-change prediction, hard to beat where labels depend on time.

    The first prediction is 0. For classes it is the no-change classifier [1]_.

    References
    ----------
    .. [1] Zliobaite, Bifet, Read, Pfahringer, Holmes. Evaluation methods and decision theory for
           classification of streaming data with temporal dependence. Machine Learning 98, 2015.

    Examples
    --------
    >>> predictor = LastLabel().predictor(n_features=1, task="regression")
    >>> nothing = np.zeros((3, 1), np.float32)
    >>> predictor.learn_many(nothing, np.array([4, 6, 1], np.float32)).tolist()
    [0.0, 4.0, 6.0]
    """

    prediction: ClassVar[str] = "last label"

    def predictor(self, n_features: int, task: str, n_classes: int | None = None) -> Predictor:
        """See `ReferencePrediction.predictor`."""
        return _SeasonalLast(1, classes=n_classes is not None)


@dataclass(frozen=True, kw_only=True)
class SeasonalLast(ReferencePrediction):
    """Last label of the season: the seasonal no-change prediction.

    Parameters
    ----------
    period : int, optional
        Examples in a season. Without it, it is found online: each time, of all periods of which
        two have passed, the one whose predictions would have had the least mean loss so far.

    Notes
    -----
    Until a period has passed the prediction is the last label, and the first is 0. Periods up to
    1,000 are looked for; longer ones must be given.

    Examples
    --------
    >>> predictor = SeasonalLast(period=2).predictor(n_features=1, task="regression")
    >>> nothing = np.zeros((4, 1), np.float32)
    >>> predictor.learn_many(nothing, np.array([4, 6, 1, 7], np.float32)).tolist()
    [0.0, 4.0, 4.0, 6.0]
    """

    period: Annotated[int, Field(ge=2)] | None = None

    prediction: ClassVar[str] = "label one period before"

    def predictor(self, n_features: int, task: str, n_classes: int | None = None) -> Predictor:
        """See `ReferencePrediction.predictor`."""
        return _SeasonalLast(self.period, classes=n_classes is not None)


class _RunningMean(Predictor):
    """Mean of the labels so far, or the share of each class among them."""

    def __init__(self, *, classes: bool) -> None:
        self.classes, self.seen, self.total = classes, 0, np.zeros(0 if classes else 1)

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Predictor.fill`."""
        self.total = np.zeros(len(state["total"]))
        super().fill(state)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """See `Predictor.learn_many`."""
        values: Floats | Doubles = labels[:, None]
        if self.classes:
            values = one_hot(labels, max(len(self.total), 1 + int(labels.max())))
        total = np.pad(self.total, (0, values.shape[1] - len(self.total)))
        totals = np.vstack((total, values)).cumsum(axis=0)
        counts = np.maximum(self.seen + np.arange(len(labels)), 1)
        self.seen, self.total = self.seen + len(labels), totals[-1]
        return self._shown(totals[:-1] / counts[:, None])

    def predict_waiting(self, examples: Floats, pending: int) -> Floats | Doubles:
        """See `Predictor.predict_waiting`."""
        return self._shown(np.tile(self.total / max(self.seen, 1), (len(examples), 1)))

    def _shown(self, means: Doubles) -> Floats | Doubles:
        return means if self.classes else means[:, 0].astype(np.float32)


class _SeasonalLast(Predictor):
    """Last label of the same season; see `steps` for its state.

    Without a season (`period` 1) it is the last label. Among classes it has probability 1.
    """

    def __init__(self, period: int | None, *, classes: bool) -> None:
        longest = LONGEST if period is None else period
        self.classes, self.n_classes, self.seen = classes, 0, 0
        self.given, self.period = period, 1
        self.past, self.losses = np.zeros(2 * longest), np.zeros(longest + 1)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats | Doubles:
        """See `Predictor.learn_many`."""
        found, first = np.empty(len(labels), dtype=np.float32), self.seen == 0
        state = self.past, self.losses, self.seen, found
        block = np.ascontiguousarray(labels)
        self.period = learn_seasonal(block, self.given or 0, self.classes, *state)
        self.seen += len(labels)
        if not self.classes:
            return found
        found[:first] = -1
        self.n_classes = max(self.n_classes, 1 + int(labels.max()))
        return one_hot(found, self.n_classes)

    def predict_waiting(self, examples: Floats, pending: int) -> Floats | Doubles:
        """See `Predictor.predict_waiting`."""
        period: int = self.given or period_after(self.losses, self.seen, self.period)
        if self.seen < period:
            period = 1
        # An example in the place of one `period` after the last that is known goes by that one.
        ages, latest = pending + np.arange(len(examples)), -self.seen % (len(self.losses) - 1)
        found = self.past[latest + period - 1 - ages % period].astype(np.float32)
        return one_hot(found, self.n_classes) if self.classes else found

    def notes(self) -> dict[str, float]:
        """Return the period that the last prediction used."""
        return {} if self.given == 1 else {"period": float(self.period)}


NAIVE_BASELINES: dict[str, type[ReferencePrediction]] = {
    "running-mean": RunningMean,
    "last-label": LastLabel,
    "seasonal-last": SeasonalLast,
    "online-ridge": OnlineRidge,
}
"""By their registered names."""


class Baselines(Saved):
    """Naive baselines, which learn table after table with the features of any learner.

    Parameters
    ----------
    task : "regression" or "classification"

    Attributes
    ----------
    classes : list of str
        Those that came, in their order.
    each : list of Predictor
        In the order of `NAIVE_BASELINES`.
    """

    kept = ("task", "classes", "each")

    def __init__(self, task: str) -> None:
        self.task, self.classes = task, list[str]()
        self.features = FeatureMap()
        self.each = self._new(0)

    def _new(self, n_features: int) -> list[Predictor]:
        n_classes = None if self.task == "regression" else len(self.classes)
        kinds = NAIVE_BASELINES.values()
        return [kind().predictor(n_features, self.task, n_classes) for kind in kinds]

    def learn(
        self,
        columns: Mapping[str, Column],
        labels: NDArray[Any],
        declared: Sequence[str] = (),
        arrival: Arrival = Arrival(),  # noqa: B008  (frozen)
        values: ArrayLike | None = None,
        cuts: Sequence[int] = (),
    ) -> dict[str, float]:
        """Predict and learn the rows of a table in order; return the loss of each on them.

        One that is of another kind for so many features begins again.

        Parameters
        ----------
        columns : dict
            See `FeatureMap.encode`.
        labels : ndarray, shape (n_rows,)
            Numbers, or names of classes.
        declared : sequence of str
            Classes that are known before the first row, of which it is taken for the first.
        arrival : Arrival
            When labels become known; by the end of the table all are.
        values : array-like, shape (n_rows,), optional
            Those of the column with which they come.
        cuts : sequence of int
            Rows before which all are known, too.
        """
        rows, _ = self.features.encode(columns)
        losses, are_classes = dict[str, float](), self.task == "classification"
        if are_classes:
            self.classes = [*dict.fromkeys([*self.classes, *declared, *labels.tolist()])]
            labels = np.array([self.classes.index(name) for name in labels])
        for place, (name, new) in enumerate(
            zip(NAIVE_BASELINES, self._new(rows.shape[1]), strict=True)
        ):
            if _kind(new) is not _kind(self.each[place]):
                self.each[place] = new
            one = self.each[place]
            one.grow(rows.shape[1])
            said = np.zeros((len(rows), max(1, len(self.classes))))
            numbers = labels.astype(np.float32)
            for some, found in arrival.play(one, rows, numbers, values, cuts):
                said[some] = widened(found.reshape(len(found), -1), said.shape[1])
            shown = baseline_name(name, one.notes())
            if are_classes:
                found = np.maximum(likeliest(said), 0 if declared else -1)
                losses[shown] = float((found != labels).mean())
            elif (loss := loss_of(of_numbers(said[:, 0], labels))) is not None:
                losses[shown] = loss
        return losses

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        return super().state() | {"features": self.features.state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Self:
        """Return baselines that go on from `state`."""
        made = cls(state["task"])
        made.classes = state["classes"]
        made.features = FeatureMap.restored(state["features"])
        made.each = made._new(made.features.n_features)
        made.fill(state)
        return made


def _kind(predictor: Predictor) -> type:
    """Return the class of a predictor, or of those of each class against the rest."""
    return type(getattr(predictor, "rest", predictor))
