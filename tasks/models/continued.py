"""A stream model beside its file: it learns tables and forecasts them, where it stopped."""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from time import process_time
from typing import Any, Self

import numpy as np
import pandas as pd

from leaseboard.algorithms.benches.measures import loss_of, of_classes, of_numbers, skill_over
from leaseboard.algorithms.chacha.streaming import ChaChaClassifier, ChaChaRegressor
from leaseboard.algorithms.chacha.streaming.base import OnlineChaCha
from leaseboard.algorithms.errors import DataError, UsageError, unknown
from leaseboard.algorithms.reference.naive import Baselines
from leaseboard.algorithms.tables.values import text_of
from leaseboard.tasks.fetch import columns, files
from leaseboard.tasks.fetch.dataset import infer_task, refuse_dates
from leaseboard.tasks.models.columns import (
    data_errors,
    flags_or_numbers,
    kind_of,
    kinds_of,
    plain,
    refuse_many_numbers,
)
from leaseboard.tasks.preprocess.stream_encoder import as_column

FORECAST, PROBABILITY = "forecast", "probability of "
"""What columns that `predict` adds are called, and begin with."""

ENDS = ("low", "high")
"""And those of intervals."""

LEVEL = 0.9
"""Of the intervals around forecasts whose labels come later."""

Told = float | list[float] | dict[str, float]
"""A number, a number with the ends of its interval, or the probability of each class."""

Rows = pd.DataFrame | Sequence[Mapping[str, Any]]
"""A table, or rows as of `Continued.foresee_rows`."""

TARGET, KINDS, BASELINES = "target", "kinds", "baselines"
"""What a model is told about the tables that it learns: their target, what columns hold, and the
naive baselines that learn with it."""

MODELS: dict[str, type[OnlineChaCha]] = {
    "regression": ChaChaRegressor,
    "classification": ChaChaClassifier,
}


@dataclass(frozen=True)
class LearnedTable:
    """What came of learning a table."""

    forecasts: pd.DataFrame
    """The target, and what was forecast of each row before its label was learned."""
    measures: dict[str, float]
    """See `leaseboard.algorithms.benches.measures`; ``skill`` is over `best`."""
    best: str
    """The best naive baseline, and from which row on it learned, where it began after the model;
    empty where there is none."""
    new: tuple[str, ...]
    """Columns that the model had not seen before."""
    baselines_cpu_seconds: float
    """Of learning the naive baselines; 0 where there are none."""


class Continued:
    """A model that goes on.

    `model`: what `learn` of an earlier one saved.

    Raises UsageError if it was saved without what it needs to know of tables.
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

        - `frame`: see `read_rows`.
        - `target`: the column that it learns; the last one by default.
        - `task`, {"regression", "classification"}: by default that of the target's values, see
          `leaseboard.tasks.fetch.dataset.infer_task`.
        - `algorithm`, `settings`, `seed`: see
          `leaseboard.algorithms.chacha.streaming.ChaChaRegressor`.
        """
        name = frame.columns[-1] if target is None else target
        if name not in frame:
            raise UsageError(unknown("target column", name, list(frame.columns)))
        if len(frame.columns) < 2:
            raise DataError(f"no features: at least one column beside {name!r} is needed")
        refuse_dates(columns.tidy(frame[name]), "the table")
        if task is None and not frame[name].isna().all() and kind_of(frame[name]) == "text":
            columns.refuse_few_words(frame[name])
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
        self._check_names(frame)
        features, new = self._features(frame)
        labels = self._labels(frame[self.target])
        declared = self._declared(frame[self.target])
        began = process_time()
        baselines, losses = self._naive_baselines(features, labels, declared)
        taken = process_time() - began if baselines else 0.0
        whole = copy.deepcopy(self.model)
        try:
            if declared:
                self.model.declare(*declared)
            with data_errors():
                forecasts, measures = self._learn(features, labels)
        except BaseException:
            self.model = whole
            raise
        self._remember_kinds(frame)
        best, loss = min(losses, key=losses.__getitem__, default=""), loss_of(measures)
        if best and losses[best] and loss is not None and labels.nunique() > 1:
            measures["skill"] = skill_over([losses[best]], loss)
        self.model.about |= baselines
        told = pd.concat([labels.rename(self.target), forecasts], axis=1)
        return LearnedTable(told, measures, best if "skill" in measures else "", new, taken)

    def expect(self, ids: Sequence[str], rows: Rows) -> list[Told]:
        """Forecast rows whose labels come later, and remember what was said by id; see `answer`.

        Of classes nothing needs to be remembered: they are learned as if never forecast.
        What is wrong with the table may leave some of its rows remembered: drop the model then.

        - `rows`: a table; or rows as of `foresee_rows`, if all their columns are among `kinds`.
        """
        examples = self._examples(rows)
        if isinstance(rows, pd.DataFrame):
            self._check_names(rows)
            self._remember_kinds(rows)
        told = []
        with data_errors():
            for key, x in zip(ids, examples, strict=True):
                if self.is_regression:
                    self.model.forecast_one(key, x, keep=False)
                told.append(self._told(x, key))
        return told

    def answer(self, ids: Sequence[str], labels: Sequence[Any], rows: Rows) -> None:
        """Learn the labels of rows in their order.

        - `rows`: what they are, as they were when they were forecast if they were; see `expect`.
        """
        targets = self._labels(pd.Series(list(labels), name=self.target))
        with data_errors():
            for key, label, x in zip(ids, targets.tolist(), self._examples(rows), strict=True):
                if self.model.awaits(key):
                    self.model.answer_one(key, label, x=x)
                else:
                    self.model.learn_one(x, label)
        if isinstance(rows, pd.DataFrame):
            self._remember_kinds(rows.assign(**{self.target: list(labels)}))

    def foresee(self, frame: pd.DataFrame) -> list[Told]:
        """What `expect` would say of rows, remembering nothing."""
        known = [name for name in frame if name in self.kinds]
        features, _ = self._features(frame[known])
        with data_errors():
            return [self._told(x) for x in features.to_dict("records")]

    def foresee_rows(self, rows: Sequence[Mapping[str, Any]], level: float = LEVEL) -> list[Told]:
        """What `foresee` says of rows; of one without a table, which takes a hundred times longer.

        - `rows`: the columns that the model knows, of its kind: a number, a text, an ISO date;
          None for what is missing, which may also be left out.
        - `level`: of the intervals, one of `levels` where there are any.
        """
        with data_errors():
            return [self._told(x, level=level) for x in self._examples(rows)]

    def _examples(self, rows: Rows) -> Iterable[dict[Any, Any]]:
        if isinstance(rows, pd.DataFrame):
            return self._features(rows)[0].to_dict("records")
        names = [name for name in self.kinds if name != self.target]
        days = [name for name in names if self.kinds[name] == "date"]
        found = [{name: row.get(name) for name in names} for row in rows]
        for x in found:
            x |= {name: datetime.fromisoformat(x[name]) for name in days if x[name] is not None}
        return found

    @property
    def levels(self) -> tuple[float, ...]:
        """Those of the intervals that it keeps."""
        kept: tuple[float, ...] = self.model.levels if self.is_regression else ()
        return kept

    def _told(self, x: Mapping[Any, Any], key: str | None = None, level: float = LEVEL) -> Told:
        """A forecast with all that there is beside it; of a row that waits for its label."""
        model = self.model
        if not self.is_regression:
            shares: dict[str, float] = model.predict_proba_one(x)
            return shares
        forecast = model.foresee_one(x) if key is None else model.awaited(key)
        if level not in model.levels:
            return float(forecast)
        ends = (
            model.foresee_interval_one(x, level)
            if key is None
            else model.forecast_interval_one(key, level)
        )
        return [float(forecast), *map(float, ends)]

    def predict(self, frame: pd.DataFrame, level: float | None = None) -> pd.DataFrame:
        """Return the forecasts for the rows of a table; nothing is learned.

        Of classes there is a column for the probability of each, too; of numbers the ends of the
        interval that holds the target with probability `level`, if that is given.

        Raises UsageError if a column is missing, or the model keeps no such intervals.
        """
        if level is not None:
            self._check_level(level)
        known = [name for name in frame if name in self.kinds]
        features, _ = self._features(frame[known])
        with data_errors():
            forecasts = self.model.predict_many(features).astype(
                np.float64 if self.is_regression else object
            )
            found = pd.DataFrame({FORECAST: forecasts})
            if level is not None:
                ends = self.model.predict_interval_many(features, level)
                found[[*ENDS]] = ends.to_numpy()
            if not self.is_regression:
                shares = self.model.predict_proba_many(features)
                found[[f"{PROBABILITY}{name}" for name in shares]] = shares.to_numpy()
        return found

    def _remember_kinds(self, frame: pd.DataFrame) -> None:
        found = {name: kind for name, kind in kinds_of(frame).items() if kind}
        self.model.about[KINDS] = found | self.kinds

    def _check_names(self, frame: pd.DataFrame) -> None:
        """UsageError if a column has the name of one that `predict` adds to each table."""
        for name in map(str, frame):
            if name == FORECAST or (not self.is_regression and name.startswith(PROBABILITY)):
                raise UsageError(
                    f"column {name!r} is called like one that `leaseboard predict` adds: rename"
                    " it, or leave it out"
                )

    def _check_level(self, level: float) -> None:
        """UsageError unless the model keeps intervals of this level."""
        if not self.is_regression:
            raise UsageError("--level is of numbers: classes have their probabilities anyway")
        for name in ENDS:
            if name in self.kinds:
                raise UsageError(
                    f"--level adds a column {name!r}, and the model has learned one: leave --level"
                    " out, or learn a new model where that is called otherwise"
                )
        kept = self.model.levels
        if not kept:
            raise UsageError(
                f"--level {level}: {self.model.algorithm!r} keeps no prediction intervals: learn a"
                " new model with --algorithm chacha"
            )
        if not 0 < level < 1:
            raise UsageError(f"--level {level} must be between 0 and 1, such as 0.9")
        if level not in kept:
            raise UsageError(
                f"--level {level} is none of {', '.join(map(str, kept))}, which this model keeps:"
                f" name one of them, or learn a new model with --set levels=[{level}]"
            )

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
        return plain(given, self.kinds), new if known else ()

    def _labels(self, target: pd.Series) -> pd.Series:
        missing = np.flatnonzero(target.isna())
        if len(missing):
            raise DataError(
                f"row {missing[0] + 1} has no {self.target}: leave out the {len(missing)} rows"
                " whose labels are not known, or forecast them with `leaseboard predict`"
            )
        if self.is_regression:
            return flags_or_numbers(target).astype("float64")
        tidy = columns.tidy(target)
        refuse_dates(tidy, "the table")
        refuse_many_numbers(tidy, self.model.classes)
        return columns.as_classes(tidy).astype(str).astype(object).map(text_of)

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

    def _declared(self, target: pd.Series) -> tuple[str, ...]:
        """Return the two classes of a first table in the order of a stream's, if it has two."""
        if self.is_regression or self.model.examples:
            return ()
        classes = columns.as_classes(columns.tidy(target)).cat.categories
        return tuple(text_of(str(name)) for name in classes) if len(classes) == 2 else ()

    def _naive_baselines(
        self, features: pd.DataFrame, labels: pd.Series, declared: Sequence[str] = ()
    ) -> tuple[dict[str, Any], dict[str, float]]:
        """Return the baselines after this table, if all that was learned was, and their losses."""
        state = self.model.about.get(BASELINES)
        if state is None and self.model.examples:
            return {}, {}
        with data_errors():
            found = Baselines(self.task) if state is None else Baselines.restored(state)
            given = {str(name): as_column(column) for name, column in features.items()}
            losses = found.learn(given, labels.to_numpy(), declared)
        return {BASELINES: found.state()}, losses


def beside(frame: pd.DataFrame, forecasts: pd.DataFrame) -> pd.DataFrame:
    """The table with its forecasts; UsageError if it has a column of one of their names."""
    taken = [name for name in forecasts if name in frame]
    if taken:
        raise UsageError(f"the table has a column {taken[0]!r} of its own: rename it")
    return pd.concat([frame, forecasts], axis=1)


def read_rows(path: Path, kinds: Mapping[str, str] | None = None) -> pd.DataFrame:
    """The table in a file; a column that was learned as text is read as one, as it is written.

    In a libsvm file an index that does not occur is 0, so columns that were learned are there.

    Raises UsageError, DataError if it cannot be read, or two columns have one name.
    """
    kinds = kinds or {}
    texts = tuple(name for name, kind in kinds.items() if kind == "text")
    frame = files.read(str(path), texts=texts).frame
    frame.columns = frame.columns.map(str)
    twice = frame.columns[frame.columns.duplicated()]
    if len(twice):
        raise DataError(f"{path}: column name {twice[0]!r} occurs twice: names must be unique")
    if files.is_sparse(path):
        zeros = {name: 0.0 for name in kinds if name not in frame and files.is_index(name)}
        frame = frame.assign(**zeros)
    return frame.reset_index(drop=True)


def pass_through(path: Path, frame: pd.DataFrame, added: pd.DataFrame) -> pd.DataFrame:
    """Return the table in a file with columns added, every value as it stands there.

    `frame` is what `read_rows` made of it: a column of a csv that says the same in its own type
    keeps that type.
    """
    written = files.as_written(path).reset_index(drop=True)
    written.columns = written.columns.map(str)
    for name in written:
        if written[name].dtype == files.TEXTS:
            said = frame[name].astype("string").astype(files.TEXTS)
            written[name] = frame[name] if said.equals(written[name]) else written[name]
    return beside(written, added)


def in_own_types(written: pd.DataFrame, frame: pd.DataFrame) -> pd.DataFrame:
    """Return what `pass_through` gave with numbers, flags and dates of a csv in their types.

    For a file that has types: a mark of a gap, such as ``NA`` among numbers, is missing there.
    Ids that a number would change stay texts.
    """
    found = written.copy()
    for name in frame:
        column = frame[name]
        if found[name].dtype == files.TEXTS and column.dtype.kind in "iufbM":
            said = column.astype("string").astype(files.TEXTS)
            if (said.eq(found[name]) | column.isna()).fillna(False).all():
                found[name] = column
    return found
