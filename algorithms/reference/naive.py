"""Naive baselines of a stream: predictions from earlier labels alone, and all of them together.

The running mean, the last label and the label a season ago are here, the ridge regression is in
`leaseboard.algorithms.reference.ridge`. They are measured as any algorithm is, or go on next to a
model.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from pydantic import Field
from pydantic.dataclasses import dataclass

from leaseboard.algorithms.array_types import Floats
from leaseboard.algorithms.environments.arrays import likeliest, uniform
from leaseboard.algorithms.environments.arrival import Arrival
from leaseboard.algorithms.environments.stream import StreamEnvironment, widened
from leaseboard.algorithms.measures import baseline_name, loss_of, of_numbers
from leaseboard.algorithms.online.learner import Learner
from leaseboard.algorithms.online.schema import Schema
from leaseboard.algorithms.plain import Saved
from leaseboard.algorithms.reference.predictor import (
    Certain,
    Predictor,
    ReferencePrediction,
    Shares,
    linear_model,
)
from leaseboard.algorithms.reference.ridge import OnlineRidge
from leaseboard.algorithms.reference.season_steps import LONGEST, learn_seasonal, period_after
from leaseboard.algorithms.tables.column_features import Column, ColumnFeatures


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
        return _RunningMean() if n_classes is None else Shares()


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
        return _LastLabel() if n_classes is None else Certain(_LastLabel())


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
        if n_classes is None:
            return _SeasonalLast(self.period)
        return Certain(_SeasonalLast(self.period, classes=True))


class _RunningMean(Predictor):
    def __init__(self) -> None:
        self.seen, self.total = 0, 0.0

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        totals = self.total + np.concatenate(([0.0], np.cumsum(labels, dtype=np.float64)))
        counts = self.seen + np.arange(len(labels))
        self.seen, self.total = self.seen + len(labels), float(totals[-1])
        return np.asarray(totals[:-1] / np.maximum(counts, 1), dtype=np.float32)

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`."""
        return np.full(len(examples), self.total / max(self.seen, 1), dtype=np.float32)

    def model(self, schema: Schema) -> Learner | None:
        """See `Predictor.model`."""
        mean = self.total / max(self.seen, 1)
        return linear_model(schema, mean, np.zeros(schema.n_features), mean, mean)


class _LastLabel(Predictor):
    def __init__(self) -> None:
        self.last = np.float32(0)

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        predictions = np.concatenate(([self.last], labels[:-1]))
        self.last = labels[-1]
        return predictions

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`."""
        return np.full(len(examples), self.last)


class _SeasonalLast(Predictor):
    """Predictor of the last label of the same season; see `season_steps` for its state."""

    def __init__(self, period: int | None, *, classes: bool = False) -> None:
        longest = LONGEST if period is None else period
        self.given, self.classes = period, classes
        self.past = np.zeros(2 * longest)
        self.losses = np.zeros(longest + 1)
        self.seen = 0
        self.period = 1

    def learn_many(self, examples: Floats, labels: Floats) -> Floats:
        """See `Predictor.learn_many`."""
        predictions = np.empty(len(labels), dtype=np.float32)
        self.seen, self.period = learn_seasonal(
            uniform(labels), self.given or 0, self.classes, self.past, self.losses, self.seen,
            predictions,
        )  # fmt: skip
        return predictions

    def predict_waiting(self, examples: Floats, pending: int) -> Floats:
        """See `Predictor.predict_waiting`: the last season whose label is known."""
        period: int = self.given or period_after(self.losses, self.seen, self.period)
        if self.seen < period:
            period = 1
        longest = len(self.losses) - 1
        ages = pending + np.arange(len(examples))
        # An example in the place of one `period` after the last that is known goes by that one.
        places = -self.seen % longest + period - 1 - ages % period
        return self.past[places].astype(np.float32)

    def fill(self, state: Mapping[str, Any]) -> None:
        """See `Predictor.fill`; no period reaches the kernel that is longer than its arrays."""
        super().fill(state)
        if self.seen < 0 or not 1 <= self.period < len(self.losses):
            raise ValueError(f"period {self.period} after {self.seen} labels")

    def notes(self) -> dict[str, float]:
        """Return the period that the last prediction used."""
        return {"period": float(self.period)}


NAIVE_BASELINES: dict[str, type[ReferencePrediction]] = {
    "running-mean": RunningMean,
    "last-label": LastLabel,
    "seasonal-last": SeasonalLast,
    "online-ridge": OnlineRidge,
}
"""By their registered names."""


def best_baseline(
    env: StreamEnvironment, ran: Mapping[str, Mapping[str, float]] = MappingProxyType({})
) -> tuple[str, float] | None:
    """Return the baseline of least loss on the stream and budget of `env`, and that loss.

    See `leaseboard.algorithms.measures.loss_of`; None if no baseline has one.
    The name says so where ridge is on selected features.

    - `ran`: metrics of those that were run already, by name.
    """
    losses = {}
    for name, kind in NAIVE_BASELINES.items():
        metrics = ran.get(name)
        if metrics is None:
            fresh_copy = env.fresh_copy()
            for _ in kind().run(fresh_copy, seed=0):
                pass
            metrics = fresh_copy.score().metrics
        loss = loss_of(metrics)
        if loss is not None:
            losses[baseline_name(name, metrics)] = loss
    best = min(losses, key=losses.__getitem__, default=None)
    return None if best is None else (best, losses[best])


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
    rows : int
        Learned so far.
    begun : dict of str to int
        The rows before one that began again, because it is another kind of so many features.
    """

    kept = ("classes", "rows", "begun", "each")

    def __init__(self, task: str) -> None:
        self.task, self.classes = task, list[str]()
        self.rows, self.begun = 0, dict[str, int]()
        self.features = ColumnFeatures()
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
    ) -> dict[str, float]:
        """Predict and learn the rows of a table in order; return the loss of each on them.

        The name of one that has not learned all rows says from which row on.

        Parameters
        ----------
        columns : dict
            See `ColumnFeatures.encode`.
        labels : ndarray, shape (n_rows,)
            Numbers, or names of classes.
        declared : sequence of str
            Classes that are known before the first row, of which it is taken for the first.
        arrival : Arrival
            When labels become known; by the end of the table all are.
        values : array-like, shape (n_rows,), optional
            Those of the column with which they come.
        """
        rows, _ = self.features.encode(columns, learns=True)
        losses, are_classes = dict[str, float](), self.task == "classification"
        if are_classes:
            self.classes = [*dict.fromkeys([*self.classes, *declared, *labels.tolist()])]
            labels = np.array([self.classes.index(name) for name in labels])
        for place, (name, new) in enumerate(
            zip(NAIVE_BASELINES, self._new(rows.shape[1]), strict=True)
        ):
            if _kind(new) is not _kind(self.each[place]):
                self.each[place], self.begun[name] = new, self.rows
            one = self.each[place]
            one.grow(rows.shape[1])
            said = np.zeros((len(rows), max(1, len(self.classes))))
            for some, found in arrival.play(one, rows, labels.astype(np.float32), values):
                said[some] = widened(found.reshape(len(found), -1), said.shape[1])
            since = self.begun.get(name)
            shown = baseline_name(name, one.notes())
            shown += f" from row {since + 1} on" if since else ""
            if are_classes:
                found = np.maximum(likeliest(said), 0 if declared else -1)
                losses[shown] = float((found != labels).mean())
            elif (loss := loss_of(of_numbers(said[:, 0], labels))) is not None:
                losses[shown] = loss
        self.rows += len(labels)
        return losses

    def state(self) -> dict[str, Any]:
        """See `Saved.state`."""
        return super().state() | {"task": self.task, "features": self.features.state()}

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Baselines:
        """Return baselines that go on from `state`; ValueError if none have it."""
        try:
            made = cls(state["task"])
            made.classes, made.features = (
                state["classes"],
                ColumnFeatures.restored(state["features"]),
            )
            made.each = made._new(made.features.n_features)
            made.fill(state)
        except LookupError as error:
            raise ValueError(f"no state of baselines: {error}") from error
        return made


def _kind(predictor: Predictor) -> type:
    """Return the class of a predictor, or of those of each class against the rest."""
    return type(getattr(predictor, "rest", predictor))
