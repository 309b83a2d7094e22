"""A stream model beside its file: it learns tables and forecasts them, where it stopped."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
import pandas as pd

from algorithms.benches.measures import loss_of, of_classes, of_numbers, skill_over
from algorithms.benches.stream import StreamBench
from algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor
from algorithms.chacha.streaming.base import OnlineChaCha
from algorithms.errors import DataError, UsageError, unknown
from algorithms.reference.first_tries import best_first_try
from tasks.fetch import columns, files
from tasks.fetch.dataset import Dataset, infer_task
from tasks.preprocess.streaming import StreamOptions, as_stream

FORECAST = "forecast"
TARGET, KINDS = "target", "kinds"
"""What a model is told about the tables that it learns: their target, and what columns hold."""

MODELS: dict[str, type[OnlineChaCha]] = {
    "regression": ChaChaRegressor,
    "classification": ChaChaClassifier,
}

_BOOLEANS = {"true": True, "True": True, "TRUE": True, "false": False, "False": False,
             "FALSE": False}  # fmt: skip
"""How a file may write a boolean."""


@dataclass(frozen=True)
class LearnedTable:
    """What came of learning a table.

    Attributes
    ----------
    forecasts : DataFrame
        The target, and what was forecast of each row before its label was learned.
    measures : dict of str to float
        See `algorithms.benches.measures`; ``skill`` is over `best`.
    best : str
        The best first try, which began with this table; empty where there is none to compare.
    new : tuple of str
        Columns that the model had not seen before.
    """

    forecasts: pd.DataFrame
    measures: dict[str, float]
    best: str
    new: tuple[str, ...]


class Continued:
    """A model that goes on.

    Parameters
    ----------
    model : ChaChaRegressor or ChaChaClassifier
        What `learn` of an earlier one saved.

    Raises
    ------
    UsageError
        If it was saved without what it needs to know of tables.
    """

    def __init__(self, model: OnlineChaCha) -> None:
        if not model.about.keys() >= {TARGET, KINDS}:
            raise UsageError(
                "the model was not made by `leaseboard learn`: say which column it learns, as in"
                " model.about = {'target': 'sales', 'kinds': {}}, and save it again"
            )
        self.model: Any = model
        self.target: str = model.about[TARGET]

    @classmethod
    def load(cls, path: Path) -> Self:
        """The model of a file, whichever task it has."""
        kind = OnlineChaCha.saved_class(path)
        known = {each.__name__: each for each in MODELS.values()}
        if kind not in known:
            raise UsageError(unknown("class of model", kind, known))
        return cls(known[kind].load(path))

    @classmethod
    def new(
        cls,
        frame: pd.DataFrame,
        *,
        target: str | None = None,
        task: str | None = None,
        algorithm: str = "chacha",
        settings: Mapping[str, Any] | None = None,
        seed: int = 0,
    ) -> Self:
        """One that has seen nothing, for tables such as `frame`.

        Parameters
        ----------
        frame : DataFrame
            See `read_rows`.
        target : str, optional
            The column that it learns; the last one by default.
        task : {"regression", "classification"}, optional
            By default that of the target's values, see `tasks.fetch.dataset.infer_task`.
        algorithm, settings, seed
            See `algorithms.chacha.streaming.ChaChaRegressor`.
        """
        name = frame.columns[-1] if target is None else target
        if name not in frame:
            raise UsageError(unknown("target column", name, list(frame.columns)))
        if len(frame.columns) < 2:
            raise DataError(f"no features: at least one column beside {name!r} is needed")
        kind = MODELS[task or infer_task(columns.tidy(frame[name].dropna()))]
        model = kind(None, None, seed, algorithm, **settings or {})
        model.about = {TARGET: name, KINDS: {}}
        return cls(model)

    @property
    def is_regression(self) -> bool:
        """Whether it forecasts numbers."""
        return isinstance(self.model, ChaChaRegressor)

    @property
    def task(self) -> str:
        """``regression`` or ``classification``."""
        return "regression" if self.is_regression else "classification"

    @property
    def kinds(self) -> dict[str, str]:
        """What the columns learned so far hold: ``number``, ``date`` or ``text``, by name."""
        kinds: dict[str, str] = self.model.about[KINDS]
        return kinds

    def learn(self, frame: pd.DataFrame) -> LearnedTable:
        """Learn the rows of a table in order; nothing is learned if any of it is wrong."""
        if self.target not in frame:
            raise UsageError(
                f"no column {self.target!r}, which the model learns: name the file that has it"
            )
        features, new = self._features(frame)
        labels = self._labels(frame[self.target])
        best = self._first_try(features, labels)
        whole = copy.deepcopy(self.model)
        try:
            forecasts, measures = self._learn(features, labels)
        except BaseException as error:
            self.model = whole
            if isinstance(error, TypeError | ValueError):  # what an example or a label must be
                raise DataError(str(error)) from error
            raise
        found = {name: kind for name, kind in _kinds(frame).items() if kind}
        self.model.about[KINDS] = found | self.kinds
        loss = loss_of(measures)
        if best is not None and best[1] and loss is not None:
            measures["skill"] = skill_over([best[1]], loss)
        told = pd.concat([labels.rename(self.target), forecasts], axis=1)
        return LearnedTable(told, measures, best[0] if "skill" in measures and best else "", new)

    def predict(self, frame: pd.DataFrame, level: float | None = None) -> pd.DataFrame:
        """The table, with the forecasts for its rows; nothing is learned.

        Of classes there is a column for the probability of each, too; of numbers the ends of the
        interval that holds the target with probability `level`, if that is given.

        Raises
        ------
        UsageError
            If a column is missing, or the model keeps no such intervals.
        """
        features, _ = self._features(frame)
        features = features[[name for name in features if name in self.kinds]]
        forecasts = self.model.predict_many(features).astype(
            np.float64 if self.is_regression else object
        )
        found = pd.DataFrame({FORECAST: forecasts})
        if level is not None:
            if not self.is_regression:
                raise UsageError("--level is of numbers: classes have their probabilities anyway")
            found[["low", "high"]] = self.model.predict_interval_many(features, level).to_numpy()
        if not self.is_regression:
            shares = self.model.predict_proba_many(features)
            found[[f"probability of {name}" for name in shares]] = shares.to_numpy()
        return beside(frame, found)

    def _features(self, frame: pd.DataFrame) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """The columns beside the target, as the model knows them, and which of them are new."""
        known = [name for name in self.kinds if name != self.target]
        absent = [name for name in known if name not in frame]
        if absent:
            raise UsageError(
                f"no column {absent[0]!r}, which the model has learned: add it, empty where its"
                f" values are not known ({len(absent)} of {len(known)} columns are missing)"
            )
        given = frame.drop(columns=self.target, errors="ignore")
        new = tuple(name for name in given if name not in self.kinds)
        return _plain(given, self.kinds), new if known else ()

    def _labels(self, target: pd.Series) -> pd.Series:
        missing = np.flatnonzero(target.isna())
        if len(missing):
            raise DataError(
                f"row {missing[0] + 1} has no {self.target}: leave out the {len(missing)} rows"
                " whose labels are not known, or forecast them with `leaseboard predict`"
            )
        if self.is_regression:
            return _as_numbers(target).astype("float64")
        return columns.as_classes(columns.tidy(target)).astype(str).astype(object).map(_text)

    def _learn(
        self, features: pd.DataFrame, labels: pd.Series
    ) -> tuple[pd.DataFrame, dict[str, float]]:
        """The progressive forecasts, and how they did."""
        if self.is_regression:
            found = self.model.learn_many(features, labels).astype(np.float64)
            return pd.DataFrame({FORECAST: found}), of_numbers(found, labels)
        classifier = self.model
        shares = []
        for x, label in zip(features.to_dict("records"), labels, strict=True):
            shares.append(classifier.predict_proba_one(x))
            classifier.learn_one(x, label)
        likeliest = [max(each, key=each.__getitem__, default=None) for each in shares]
        codes = {name: code for code, name in enumerate(classifier.classes)}
        measures = of_classes(
            np.array([codes.get(name, -1) for name in likeliest]),
            np.array([codes[name] for name in labels]),
            [each.get(name, math.nan) for each, name in zip(shares, labels, strict=True)],
        )
        return pd.DataFrame({FORECAST: likeliest}, dtype=object), measures

    def _first_try(self, features: pd.DataFrame, labels: pd.Series) -> tuple[str, float] | None:
        """The best of what a person tries first on this table alone; None if it is too small."""
        n_values = labels.nunique()
        if n_values < 2:
            return None
        tidy = columns.tidy_frame(features)
        kept = tidy[[name for name in tidy if not columns.is_text(tidy[name])]]
        if not len(kept.columns):
            return None
        target = labels if self.is_regression else labels.astype("category")
        dataset = Dataset("the table", "table", kept, target, self.task, digest="")
        stream = as_stream(dataset, StreamOptions(max_rows=None, log_target=False))
        return best_first_try(StreamBench(stream))


def beside(frame: pd.DataFrame, forecasts: pd.DataFrame) -> pd.DataFrame:
    """The table with its forecasts; UsageError if it has a column of one of their names."""
    taken = [name for name in forecasts if name in frame]
    if taken:
        raise UsageError(f"the table has a column {taken[0]!r} of its own: rename it")
    return pd.concat([frame, forecasts], axis=1)


def read_rows(path: Path, kinds: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The table in a file; a column that was learned as text is read as one, as it is written.

    Raises
    ------
    UsageError, DataError
        If it cannot be read, or two columns have one name.
    """
    texts = tuple(name for name, kind in (kinds or {}).items() if kind == "text")
    frame = files.read(str(path), texts=texts).frame
    frame.columns = frame.columns.map(str)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"{path}: column name {twice[0]!r} occurs twice: names must be unique")
    return frame.reset_index(drop=True)


def _kinds(frame: pd.DataFrame) -> dict[str, str]:
    """What each column holds; empty for one that is missing in all rows."""
    return {name: _kind(frame[name]) for name in frame}


def _kind(column: pd.Series) -> str:
    if column.isna().all():
        return ""
    if pd.api.types.infer_dtype(column, skipna=True) == "boolean":
        return "number"  # with gaps, too, where a learner of whole tables takes categories
    tidy = columns.tidy(column)
    if columns.is_date(tidy):
        return "date"
    return "text" if columns.is_nominal(tidy) or columns.is_text(tidy) else "number"


def _plain(frame: pd.DataFrame, known: Mapping[str, str]) -> pd.DataFrame:
    """The columns as numbers, dates, and texts as they are; DataError for another kind."""
    found = {}
    for name, seen in _kinds(frame).items():
        column, kind = frame[name], known.get(name) or seen
        if kind == "number":
            found[name] = _as_numbers(column)
        elif kind == "date":
            found[name] = _as_dates(column)
        else:
            told = column.astype(object).where(column.notna(), None)
            found[name] = told.map(_text, na_action="ignore").astype(object)
    return pd.DataFrame(found, frame.index)


def _text(value: object) -> str:
    """A value as a text; a boolean is one text, however it is written."""
    text = columns.label(value)
    return str(_BOOLEANS.get(text, text))


def _as_numbers(column: pd.Series) -> pd.Series:
    if column.dtype.kind in "mM":  # which pandas takes for nanoseconds
        _refuse(column, column.notna(), "numbers")
    if columns.is_nominal(column) or columns.is_text(column):
        column = column.astype(object).map(lambda value: _BOOLEANS.get(str(value), value))
    numbers = pd.to_numeric(column, errors="coerce")
    _refuse(column, numbers.isna() & column.notna(), "numbers")
    return numbers if isinstance(numbers.dtype, np.dtype) else numbers.astype("float64")


def _as_dates(column: pd.Series) -> pd.Series:
    dates = columns.as_dates(column)
    if dates is None:
        wrong = [columns.as_dates(column.iloc[[row]]) is None for row in range(len(column))]
        _refuse(column, pd.Series(wrong) & column.notna().reset_index(drop=True), "dates")
        if column.notna().any():
            raise DataError(
                f"column {column.name!r} mixes dates with their texts: give one of them"
            )
        return pd.Series(pd.NaT, column.index)
    return dates


def _refuse(column: pd.Series, wrong: pd.Series, what: str) -> None:
    rows = np.flatnonzero(wrong)
    if len(rows):
        raise DataError(
            f"column {column.name!r} holds {what}, and {column.iloc[rows[0]]!r} in row"
            f" {rows[0] + 1} is none: mend that row, or leave it out"
        )
