"""The naive baselines of a stream, measured as any algorithm is, or going on next to a model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from leaseboard.algorithms.benches.measures import baseline_name, loss_of, of_numbers
from leaseboard.algorithms.benches.predictions import likeliest
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.online.column_features import Column, ColumnFeatures
from leaseboard.algorithms.reference.forecaster import Forecaster, ReferenceForecast
from leaseboard.algorithms.reference.labels import LastLabel, RunningMean, SeasonalLast
from leaseboard.algorithms.reference.ridge import OnlineRidge

FIRST_TRIES: dict[str, type[ReferenceForecast]] = {
    "running-mean": RunningMean,
    "last-label": LastLabel,
    "seasonal-last": SeasonalLast,
    "online-ridge": OnlineRidge,
}
"""By their registered names."""


def best_first_try(bench: StreamBench) -> tuple[str, float] | None:
    """Whose loss is least on the stream and budget of `bench`, and that loss.

    The loss is that of `leaseboard.algorithms.benches.measures.loss_of`; None if nobody has any.
    The name says so where ridge is on selected features.
    """
    losses = {}
    for name, kind in FIRST_TRIES.items():
        algorithm, twin = kind(), bench.twin()
        for _ in algorithm.run(twin, seed=0):
            pass
        metrics = twin.score().metrics
        loss = loss_of(metrics)
        if loss is not None:
            losses[baseline_name(name, metrics)] = loss
    best = min(losses, key=losses.__getitem__, default=None)
    return None if best is None else (best, losses[best])


class Baselines:
    """The naive baselines, which learn table after table with the features of any learner.

    Parameters
    ----------
    task : "regression" or "classification"

    Attributes
    ----------
    classes : list of str
        Those that came, in their order.
    each : dict of str to Forecaster
        By name.
    rows : int
        Learned so far.
    begun : dict of str to int
        The rows before one that began anew, because it is another kind of so many features.
    """

    def __init__(self, task: str) -> None:
        self.task, self.classes = task, list[str]()
        self.rows, self.begun = 0, dict[str, int]()
        self.features = ColumnFeatures()
        self.each = {name: self._new(kind(), 0) for name, kind in FIRST_TRIES.items()}

    def _new(self, algorithm: ReferenceForecast, n_features: int) -> Forecaster:
        if self.task == "regression":
            return algorithm.forecaster(n_features, self.task)
        return algorithm.of_classes(n_features, len(self.classes))

    def learn(
        self, columns: Mapping[str, Column], labels: NDArray[Any], declared: Sequence[str] = ()
    ) -> dict[str, float]:
        """Forecast and learn the rows of a table in order; return the loss of each on them.

        The name of one that has not learned all rows says from which row on.

        Parameters
        ----------
        columns : dict
            See `ColumnFeatures.encode`.
        labels : ndarray, shape (n_rows,)
            Numbers, or names of classes.
        declared : sequence of str
            Classes that are known before the first row, of which it is taken for the first.
        """
        rows, _ = self.features.encode(columns, learns=True)
        losses, are_classes = dict[str, float](), self.task == "classification"
        if are_classes:
            self.classes = [*dict.fromkeys([*self.classes, *declared, *labels.tolist()])]
            labels = np.array([self.classes.index(name) for name in labels])
        for name, kind in FIRST_TRIES.items():
            new = self._new(kind(), rows.shape[1])
            if _kind(new) is not _kind(self.each[name]):
                self.each[name], self.begun[name] = new, self.rows
            self.each[name].grow(rows.shape[1])
            forecasts = self.each[name].learn_many(rows, labels.astype(np.float32))
            since = self.begun.get(name)
            shown = baseline_name(name, self.each[name].notes())
            shown += f" from row {since + 1} on" if since else ""
            told = np.asarray(forecasts, dtype=np.float64)
            if are_classes:
                found = np.maximum(likeliest(told), 0 if declared else -1)
                losses[shown] = float((found != labels).mean())
            elif (loss := loss_of(of_numbers(told, labels))) is not None:
                losses[shown] = loss
        self.rows += len(labels)
        return losses

    def state(self) -> dict[str, Any]:
        """Return everything that `restored` needs, as plain values."""
        each = {name: one.state() for name, one in self.each.items()}
        return {"task": self.task, "classes": self.classes, "rows": self.rows, "begun": self.begun,
                "features": self.features.state(), "each": each}  # fmt: skip

    @classmethod
    def restored(cls, state: Mapping[str, Any]) -> Baselines:
        """Return those that go on from `state`; ValueError if none have it."""
        try:
            made = cls(state["task"])
            made.classes = list(state["classes"])
            made.rows, made.begun = state["rows"], dict(state["begun"])
            made.features = ColumnFeatures.restored(state["features"])
            for name, kind in FIRST_TRIES.items():
                made.each[name] = made._new(kind(), made.features.n_features)
                made.each[name].fill(state["each"][name])
        except LookupError as error:
            raise ValueError(f"no state of baselines: {error}") from error
        return made


def _kind(forecaster: Forecaster) -> type:
    """Return the class of a forecaster, or of those of each class against the rest."""
    return type(getattr(forecaster, "rest", forecaster))
