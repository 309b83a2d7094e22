"""Models of streams: they learn tables, or rows whose labels come later, and never stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.chacha.presets import ChaChaClassifier, ChaChaRegressor
from leaseboard.algorithms.environments.arrival import IMMEDIATE, Arrival
from leaseboard.algorithms.errors import DataError, UsageError, unknown
from leaseboard.algorithms.measures import loss_of, of_classes, of_numbers, skill_over
from leaseboard.algorithms.online_automl.streaming import (
    OnlineAutoMLClassifier,
    OnlineAutoMLRegressor,
)
from leaseboard.algorithms.online_automl.streaming.base import OnlineModel
from leaseboard.algorithms.reference.naive import Baselines
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.fetch import columns
from leaseboard.tasks.fetch.dataset import infer_task, refuse_dates
from leaseboard.tasks.machine.environment import working_seconds
from leaseboard.tasks.machine.terminal import counted
from leaseboard.tasks.models.columns import (
    Column,
    Values,
    flags_or_numbers,
    frame_of,
    kind_of,
    labels_with_date,
    plain,
    refuse_many_numbers,
)
from leaseboard.tasks.models.learned_table import FEWEST, LearnedTable, cuts_of
from leaseboard.tasks.models.model import LEVEL, ModelFile, Prediction, TableModel
from leaseboard.tasks.preprocess.encoding import as_column, data_errors, in_float32, moments_of

PREDICTION, PROBABILITY = "prediction", "probability of "
"""Names, or the beginning of names, of the columns that `leaseboard predict` adds."""

ENDS = ("low", "high")
"""And those of intervals."""

TARGET, COLUMNS, ORDERS, BASELINES, LABELS = "target", "columns", "orders", "baselines", "labels"
"""What `about` of a model has of the tables that it learned: the target, the kind of each column
(``number``, ``date`` or ``text``), whether dates as texts begin with the day, the naive baselines
that learn with it, and when labels arrive (`leaseboard.algorithms.environments.arrival`)."""

WAITING = 1_000_000
"""Rows that may wait for their labels, at most."""

MODELS: dict[str, type[OnlineModel]] = {
    "regression": OnlineAutoMLRegressor,
    "classification": OnlineAutoMLClassifier,
}


class StreamModel(TableModel):
    """A race that goes on, and what its columns hold."""

    kind = "OnlineAutoMLRegressor"

    def __init__(self, model: OnlineModel) -> None:
        if not model.about.keys() >= {TARGET, COLUMNS}:
            raise UsageError(
                "the model was not made by `leaseboard learn`: say which column it learns, as in"
                " model.about = {'target': 'sales', 'columns': {}}, and save it again"
            )
        self.model: Any = model
        self.target: str = model.about[TARGET]
        self.labels = Arrival.parse(model.about.get(LABELS, IMMEDIATE))
        """When labels arrive."""
        self.is_regression = isinstance(model, OnlineAutoMLRegressor)
        """True if it predicts numbers."""
        self.task = "regression" if self.is_regression else "classification"

    @classmethod
    def new(
        cls,
        target: str,
        task: str,
        algorithm: str = "online-automl",
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
        labels: str = IMMEDIATE,
    ) -> Self:
        """Return a model that has learned nothing.

        - `target`: the column that it learns.
        - `task`: ``regression`` or ``classification``.
        - `algorithm`, `settings`, `seed`: see
          `leaseboard.algorithms.online_automl.streaming.OnlineAutoMLRegressor`.
        - `labels`: when they arrive, see `leaseboard.algorithms.environments.arrival`.
        """
        model = MODELS[task](seed, algorithm, **{"max_pending": WAITING, **(settings or {})})
        kinds = {model.entity: "text"} if model.entity else {}
        model.about = {TARGET: target, COLUMNS: kinds, LABELS: str(Arrival.parse(labels))}
        return cls(model)

    @classmethod
    def for_table(
        cls, frame: pd.DataFrame, target: str | None = None, task: str | None = None, **how: Any
    ) -> Self:
        """Return a model that has learned nothing, for tables such as `frame`.

        - `target`: by default the last column.
        - `task`: by default that of the target's values, see
          `leaseboard.tasks.fetch.dataset.infer_task`.
        - `how`: the algorithm, its settings, the seed and when labels arrive, see `new`; by
          default with the value of the only column of dates, if none is before the one above it.
        """
        name = frame.columns[-1] if target is None else target
        if name not in frame:
            raise UsageError(unknown("target column", name, list(frame.columns)))
        if len(frame.columns) < 2:
            raise DataError(
                f"1 column, {name!r}, and a table needs the target and at least one feature: add a"
                " column, or check what separates the cells"
            )
        refuse_dates(columns.tidy(frame[name]), "the table")
        if task is None and not frame[name].isna().all() and kind_of(frame[name]) == "text":
            columns.refuse_unclear(frame[name])
        known = columns.tidy(frame[name].dropna())
        if (
            task == "classification"
            and columns.kind_of(known) == "number"
            and (known % 1 != 0).any()
        ):
            raise DataError(
                f"target {name!r} holds numbers with fractions, not classes: leave --task out,"
                " or write names of classes"
            )
        if "labels" not in how:
            how["labels"] = str(labels_with_date(frame.drop(columns=name)))
        return cls.new(name, task or infer_task(known), **how)

    @property
    def kinds(self) -> dict[str, str]:
        """Kinds of the columns learned so far, by name: ``number``, ``date`` or ``text``."""
        kinds: dict[str, str] = self.model.about[COLUMNS]
        return kinds

    @property
    def columns(self) -> tuple[Column, ...]:  # type: ignore[override]
        """See `TableModel`; numbers may be whole or not, which MLflow leaves to the model."""
        kinds: dict[str, Any] = {"number": "integer"}
        return tuple(
            Column(name=name, kind=kinds.get(kind, kind))
            for name, kind in self.kinds.items()
            if name != self.target
        )

    @property
    def classes(self) -> tuple[str, ...]:  # type: ignore[override]
        """See `TableModel`."""
        return () if self.is_regression else tuple(map(str, self.model.classes))

    @property
    def levels(self) -> tuple[float, ...]:  # type: ignore[override]
        """See `TableModel`."""
        return tuple(self.model.levels) if self.is_regression else ()

    @property
    def _features(self) -> list[str]:
        return [name for name in self.kinds if name != self.target]

    def dump(self) -> bytes:
        """See `TableModel.dump`; the file is that of the race."""
        return bytes(self.model.dump())

    def state(self) -> dict[str, Any]:
        """See `TableModel.state`."""
        return dict(self.model.state())

    @classmethod
    def restored(cls, file: ModelFile) -> Self:
        """See `TableModel.restored`."""
        kinds = *MODELS.values(), ChaChaRegressor, ChaChaClassifier
        kind = {each.__name__: each for each in kinds}[file.kind]
        return cls(kind.restored(file.state, file.name))

    def predict(self, frame: pd.DataFrame) -> NDArray[Any]:
        """See `TableModel.predict`; UsageError if a column is missing."""
        if self.is_regression:
            return self._forecast(frame)[:, 0]
        classes, shares = np.array(self.model.classes, dtype=object), self.predict_proba(frame)
        return np.asarray(classes[shares.argmax(axis=1)])

    def predict_proba(self, frame: pd.DataFrame) -> NDArray[np.float64]:
        """See `TableModel.predict_proba`."""
        with data_errors():
            found = [*map(self.model.forecast_proba_one, self._examples_of(frame))]
        return pd.DataFrame(found, columns=self.classes).to_numpy(dtype=np.float64)

    def predict_interval(self, frame: pd.DataFrame, level: float) -> NDArray[np.float64]:
        """Return predictions, and the ends of the intervals that hold labels at that `level`.

        Shape (n_rows, 3). Raises UsageError if the model predicts no intervals.
        """
        if not self.levels:
            raise UsageError(
                f"--level {level}: the model keeps no prediction intervals, as of numbers only"
                " --algorithm online-automl does; classes have their probabilities"
            )
        return self._forecast(frame, level)

    def learn_table(
        self, frame: pd.DataFrame, begin: Callable[[], object] = lambda: None
    ) -> LearnedTable:
        """Learn the rows of a table in order.

        After an error drop the model: it may have learned a part of them.

        - `begin`: called when all values have been checked.
        """
        if self.target not in frame:
            raise UsageError(
                f"no column {self.target!r}, which the model learns: name the file that has it"
            )
        names = [name for name in map(str, frame) if name != self.target]
        if self.labels.column not in ("", *names):
            raise UsageError(unknown("column of --labels", self.labels.column, names))
        self._check_names(frame)
        features, new = self._plain(frame)
        labels = self._labels(frame[self.target])
        if self.is_regression and not self.model.examples and len(labels) >= FEWEST:
            in_float32(labels.to_numpy())  # which may hold each number, and not distinguish them
        declared = self._declared(frame[self.target])
        moments = moments_of(features[self.labels.column]) if self.labels.column else None
        learned = bool(self.model.examples)
        cuts = cuts_of(len(labels), moments, learned=learned, weighs=self.is_regression)
        begin()
        began, _ = working_seconds()
        baselines, losses = self._naive_baselines(features, labels, declared, moments, cuts)
        taken = working_seconds()[0] - began if baselines else 0.0
        if declared:
            self.model.declare(*declared)
        with data_errors():
            said, ahead = self._learn(features, labels, moments, cuts)
            predictions, measures = self._measured(said, labels)
            late = labels.tail(len(ahead))
            forecast = self._measured(ahead, late)[1] if len(ahead) else {}
        self._remember_kinds(frame)
        best, loss = min(losses, key=losses.__getitem__, default=""), loss_of(measures)
        if best and losses[best] and loss is not None and labels.nunique() > 1:
            measures["skill"] = skill_over([losses[best]], loss)
        self.model.about |= baselines
        table = pd.concat([labels.rename(self.target), predictions], axis=1)
        best = best if "skill" in measures else ""
        return LearnedTable(table, measures, best, new, taken, forecast, len(ahead))

    # Rows whose labels come later

    def predict_rows(self, rows: Sequence[Values], ids: Sequence[str] = ()) -> list[Prediction]:
        """See `TableModel.predict_rows`; intervals are as wide as the delay of labels makes them.

        What is wrong with a row may leave those before it remembered: drop the model then.
        """
        model = self.model
        if not model.examples:
            return []
        with data_errors():
            examples, found = self._examples(rows, adds=bool(ids)), list[Prediction]()
            if not self.is_regression:  # they are learned as if they were never predicted
                return [model.forecast_proba_one(x) for x in examples]
            keys = ids or [("asked", row) for row in range(len(rows))]
            for key, x in zip(keys, examples, strict=True):
                said = model.predict_one(x, id=key, store_x=False)
                ends = model.pending_interval(key, LEVEL) if model.levels else ()
                found.append([said, *ends] if ends else said)
            if not ids:  # backwards, so that the next ones are predicted as these were
                model.forget_pending(keys[::-1])
        return found

    def learn(self, rows: Sequence[Values], labels: Sequence[Any], ids: Sequence[str]) -> None:
        """See `TableModel.learn`.

        - `rows`: in the form that was predicted, if they were predicted.
        """
        targets = self._labels(pd.Series(list(labels), name=self.target)).tolist()
        examples = self._examples(rows, adds=True, labels=labels)
        with data_errors():
            for key, label, x in zip(ids, targets, examples, strict=True):
                if self.model.is_pending(key):
                    self.model.learn_label(key, label, x=x)
                else:
                    self.model.learn_one(x, label)

    def forget_pending(self, ids: Iterable[str] | None = None) -> None:
        """See `TableModel.forget_pending`."""
        self.model.forget_pending(ids)

    def _examples(
        self, rows: Sequence[Values], *, adds: bool, labels: Sequence[Any] | None = None
    ) -> Iterable[dict[Any, Any]]:
        """Return rows as the race takes them.

        - `adds`: whether columns that are not known yet become known, which takes a table and a
          hundred times as long.
        """
        if adds and rows and not self.kinds.keys() >= {*rows[0], self.target}:
            frame = frame_of(rows, self.dates)
            for name in self._features:
                if name not in frame:
                    frame[name] = None
            examples: list[dict[Any, Any]] = self._plain(frame)[0].to_dict("records")
            if labels is not None:
                frame[self.target] = list(labels)
            self._remember_kinds(frame)
            return examples
        names = self._features
        days = [name for name in names if self.kinds[name] == "date"]
        found = [{name: row.get(name) for name in names} for row in rows]
        for x in found:
            x |= {name: datetime.fromisoformat(x[name]) for name in days if x[name] is not None}
        return found

    def _forecast(self, frame: pd.DataFrame, level: float | None = None) -> NDArray[np.float64]:
        """Return forecasts and the ends of their intervals, in the precision of labels."""
        with data_errors():
            found = [*self.model.forecasts(self._examples_of(frame), level)]
        return np.array(found, dtype=np.float32).reshape(-1, 3).astype(np.float64)

    def _examples_of(self, frame: pd.DataFrame) -> Iterable[dict[Any, Any]]:
        """Return rows to predict as the race takes them, counted as they are."""
        known = self._plain(frame[[name for name in frame if name in self.kinds]])[0]
        return counted(known.to_dict("records"), "predicting", "rows")

    def _plain(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the features as the model knows them, and which of them are new."""
        known = self._features
        absent = [name for name in known if name not in frame]
        given = frame.drop(columns=self.target, errors="ignore")
        if absent and not self.model.examples:
            raise UsageError(unknown("entity column", absent[0], [*given]))
        if absent:
            raise UsageError(
                f"no column {absent[0]!r}, which the model has learned: add it, empty where its"
                f" values are not known ({len(absent)} of {len(known)} columns are missing)"
            )
        new = tuple(name for name in given if name not in self.kinds)
        orders = self.model.about.get(ORDERS, {})
        for name in orders.keys() & set(given):
            given[name] = columns.require_dates(given[name], orders[name])
        return plain(given, self.kinds), new if self.model.examples else ()

    def _remember_kinds(self, frame: pd.DataFrame) -> None:
        found = {name: kind for name in frame if (kind := kind_of(frame[name]))}
        orders = {name: columns.day_order(frame[name]) for name in found if found[name] == "date"}
        self.model.about[COLUMNS] = found | self.kinds
        self.model.about[ORDERS] = orders | self.model.about.get(ORDERS, {})

    def _check_names(self, frame: pd.DataFrame) -> None:
        """Raise UsageError if a column has the name of one that `leaseboard predict` adds."""
        for name in map(str, frame):
            if name == PREDICTION or (not self.is_regression and name.startswith(PROBABILITY)):
                raise UsageError(
                    f"column {name!r} is called like one that `leaseboard predict` adds: rename"
                    " it, or leave it out"
                )

    def _labels(self, target: pd.Series) -> pd.Series:
        missing = np.flatnonzero(target.isna())
        if len(missing):
            raise DataError(
                f"row {missing[0] + 1} has no {self.target}: leave out the {len(missing)} rows"
                " whose labels are not known, or predict them with `leaseboard predict`"
            )
        if self.is_regression:
            return flags_or_numbers(target).astype("float64")
        tidy = columns.tidy(target)
        refuse_dates(tidy, "the table")
        refuse_many_numbers(tidy, self.model.classes)
        return columns.as_classes(tidy).astype(str).astype(object).map(text_of)

    def _learn(
        self,
        features: pd.DataFrame,
        labels: pd.Series,
        moments: NDArray[Any] | None,
        cuts: Sequence[int],
    ) -> tuple[Sequence[Any], Sequence[Any]]:
        """Learn a table; return what was predicted of each row, and forecast of the last ones."""
        said: list[Any] = []
        ahead: Any = []
        for start, stop in pairwise([*sorted({0, *cuts}), len(labels)]):
            part = slice(start, stop)
            if start in cuts and self.is_regression:
                ahead = self.model.measure_forecast(
                    features[part], labels[part], intervals=start == cuts[-1]
                )
            elif start in cuts:
                ahead = self.model.forecast_proba_many(features[part]).to_dict("records")
            own = None if moments is None else moments[part]
            said += self._learn_rows(features[part], labels[part], own)
        return said, ahead

    def _learn_rows(
        self, features: pd.DataFrame, labels: pd.Series, moments: NDArray[Any] | None
    ) -> Iterable[Any]:
        """Yield what is predicted of each row by the labels that are known then."""
        model, arrival = self.model, self.labels
        if self.is_regression and arrival.is_immediate and not model.entity:
            yield from model.predict_then_learn_many(features, labels).astype(np.float64)
        else:
            yield from self._learn_late(features, labels, moments)
        model.fit_ahead()

    def _learn_late(
        self, features: pd.DataFrame, labels: pd.Series, moments: NDArray[Any] | None
    ) -> Iterable[Any]:
        model = self.model
        rows, targets = features.to_dict("records"), labels.tolist()
        for said, known in self.labels.steps(len(rows), moments):
            for row in range(said.start, said.stop):
                if self.is_regression:
                    yield model.predict_one(rows[row], id=row, store_x=False)
                else:
                    model.predict_one(rows[row], id=row, store_x=False)
                    yield model.waited
            for row in range(known.start, known.stop):
                model.learn_label(row, targets[row], x=rows[row])

    def _measured(
        self, said: Sequence[Any], labels: pd.Series
    ) -> tuple[pd.DataFrame, dict[str, float]]:
        """Return predictions as the columns that they are, and their measures."""
        if self.is_regression:
            numbers = np.asarray(said, dtype=np.float32).astype(np.float64)
            return pd.DataFrame({PREDICTION: numbers}), of_numbers(numbers, labels)
        likeliest = [max(each, key=each.__getitem__, default=None) for each in said]
        codes = {name: code for code, name in enumerate(self.model.classes)}
        measures = of_classes(
            np.array([codes.get(name, -1) for name in likeliest]),
            np.array([codes[name] for name in labels]),
            [each.get(name, math.nan) for each, name in zip(said, labels, strict=True)],
        )
        found = pd.DataFrame({PREDICTION: likeliest}, dtype=object)
        probabilities = pd.DataFrame(said, columns=self.model.classes)
        return found.join(probabilities.add_prefix(PROBABILITY)), measures

    def _declared(self, target: pd.Series) -> tuple[str, ...]:
        """Return the two classes of a first table in the order of a stream's, if it has two."""
        if self.is_regression or self.model.examples:
            return ()
        classes = columns.as_classes(columns.tidy(target)).cat.categories
        return tuple(text_of(str(name)) for name in classes) if len(classes) == 2 else ()

    def _naive_baselines(
        self,
        features: pd.DataFrame,
        labels: pd.Series,
        declared: Sequence[str],
        moments: NDArray[Any] | None,
        cuts: Sequence[int],
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Return the baselines after this table, if all that was learned was, and their losses."""
        state = self.model.about.get(BASELINES)
        if state is None and self.model.examples:
            return {}, {}
        with data_errors():
            found = Baselines(self.task) if state is None else Baselines.restored(state)
            given = {str(name): as_column(column) for name, column in features.items()}
            learned = given, labels.to_numpy(), declared
            losses = found.learn(*learned, self.labels, moments, cuts)
        return {BASELINES: found.state()}, losses
