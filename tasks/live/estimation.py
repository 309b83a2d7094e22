"""Performance estimation: the loss of days whose labels have not come, and what it was later.

A model of the loss of a row, given its features and its prediction (direct loss estimation, as
NannyML calls it), is averaged over the rows of a day. For classes the prediction is the
probability of the class that was predicted, so that the model calibrates it where a row is. It
sees a day whose rows are harder, and cannot see that labels have come to depend on rows
otherwise.

Each day is estimated once its rows wait, on the labelled rows that the champion predicted. The
estimate stays unchanged, next to the loss that came: so the error of the estimates is measured on
the live model's own days.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.live.drift.day_statistics import is_number
from leaseboard.tasks.live.lifecycle import DayEstimate
from leaseboard.tasks.live.losses import label_of, loss_of_row
from leaseboard.tasks.live.shadow import CHAMPION
from leaseboard.tasks.live.update import ModelUpdate
from leaseboard.tasks.models.columns import frame_of
from leaseboard.tasks.models.model import Prediction
from leaseboard.tasks.store.live_tables import StoredRow

LEAST_DAYS = 14
"""Labelled days without which nothing is estimated."""
LEVEL = 0.9
"""Of the interval."""
_BLOCKS = 4
LEAST_ROWS = 10
"""Of a day: of fewer rows the mean loss is noise."""
MOST_DAYS, MOST_ROWS = 60, 20_000
"""Labelled days and rows that the losses are learned from: the last."""
REMEMBERED = 120
"""Days whose estimates are remembered."""
LATELY = 7
"""Labelled days whose mean loss would be expected without an estimate."""
NEARLY_ALL = 0.9
"""The share of a day's rows that must have their labels before its loss is known."""

Days = dict[str, list[tuple[StoredRow, Prediction]]]
"""Rows by day, with the champion's predictions."""


def estimate_losses(update: ModelUpdate) -> None:
    """Estimate the days whose rows wait, and add to earlier estimates what their loss was."""
    champion = update.shadow.in_role(CHAMPION)
    if champion is None:
        return
    number, state = champion.number, update.state
    known = {each.day: each for each in update.lifecycle.estimates}
    if any(each.came is None for each in known.values()):
        for each in state.days():
            before = known.get(each["day"])
            if before is None or before.came is not None or before.candidate != each["candidate"]:
                continue
            if each["rows"] >= NEARLY_ALL * before.rows:
                came = each["sums"].get("absolute", each["sums"]["loss"]) / each["rows"]
                known[before.day] = replace(before, came=came)
    waiting = {
        day: rows
        for day, rows in _by_day(state.unlabelled_rows(), number).items()
        if day <= update.last_day
        and (day not in known or known[day].candidate != number or len(rows) > known[day].rows)
    }
    if waiting:
        labelled = state.labelled_rows(min(update.settings.retrain.window, MOST_ROWS))
        days = dict(sorted(_by_day(labelled, number).items())[-MOST_DAYS:])
        if len(days) >= LEAST_DAYS:
            found = _estimates(days, waiting, number, update.shadow.dates)
            known |= {each.day: each for each in found}
    update.lifecycle.estimates = [known[day] for day in sorted(known)][-REMEMBERED:]


def unit_loss(predicted: Prediction, label: Any) -> float:
    """Return the absolute error, or the Brier score.

    Examples
    --------
    >>> unit_loss([3.0, 1.0, 4.0], 5.0), unit_loss({"no": 0.75, "yes": 0.25}, "no")
    (2.0, 0.125)
    """
    found = loss_of_row(predicted, label)
    return found.get("absolute", found["loss"])


def _estimates(days: Days, waiting: Days, number: int, dates: Sequence[str]) -> list[DayEstimate]:
    losses = {
        day: [unit_loss(predicted, label_of(row)) for row, predicted in rows]
        for day, rows in days.items()
    }
    lately = float(np.mean([np.mean(each) for each in list(losses.values())[-LATELY:]]))
    model = LossModel(
        *_inputs([each for rows in days.values() for each in rows], dates),
        pd.Series([loss for each in losses.values() for loss in each]),
        [day for day, rows in days.items() for _ in rows],
    )
    return [
        DayEstimate(day, number, len(rows), *model.estimate(*_inputs(rows, dates)), lately)
        for day, rows in waiting.items()
    ]


def _by_day(rows: Sequence[StoredRow], number: int) -> Days:
    """Return the rows that a candidate has predicted; days of few rows are left out."""
    days: Days = {}
    for row in rows:
        predicted = json.loads(row.predictions or "{}").get(str(number))
        if predicted is not None:
            days.setdefault(row.day, []).append((row, predicted))
    return {day: found for day, found in days.items() if len(found) >= LEAST_ROWS}


def _inputs(
    rows: Sequence[tuple[StoredRow, Prediction]], dates: Sequence[str]
) -> tuple[pd.DataFrame, pd.Series]:
    """Return features and predictions: of classes how probable the likeliest was."""
    points = [
        max(predicted.values()) if isinstance(predicted, Mapping)
        else predicted[0] if isinstance(predicted, list) else predicted
        for _, predicted in rows
    ]  # fmt: skip
    features = frame_of([json.loads(row.features) for row, _ in rows], dates)
    return features, pd.Series(points, dtype=np.float64)


class LossModel:
    """Model of the losses of labelled rows.

    The interval is that of conformal prediction with the days as examples: the quantile of the
    errors on days that a model of other days estimated, where days next to each other are left
    out together.

    Parameters
    ----------
    features : DataFrame of shape (n, m)
    predictions : Series of length n
        Numbers; for classes the probability of the class that was predicted.
    losses : Series of length n
    days : sequence of length n
        In the order of time.

    Raises
    ------
    DataError
        If there are fewer than `LEAST_DAYS` days.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> days = np.repeat(np.arange(30), 40)
    >>> x = pd.DataFrame({"hard": rng.random(1200) < 0.1 + days / 60})
    >>> losses = pd.Series(np.where(x["hard"], 5.0, 1.0) + rng.random(1200))
    >>> model = LossModel(x, pd.Series(np.zeros(1200)), losses, days)
    >>> days = pd.DataFrame({"hard": [True] * 40}), pd.Series(np.zeros(40))
    >>> loss, low, high = model.estimate(*days)
    >>> round(loss, 1), low < 5.5 < high
    (5.5, True)
    """

    def __init__(
        self,
        features: pd.DataFrame,
        predictions: pd.Series,
        losses: pd.Series,
        days: Sequence[Any],
    ) -> None:
        numbers, different = pd.factorize(np.asarray(days))
        if len(different) < LEAST_DAYS:
            raise DataError(
                f"the loss of {len(different)} labelled days says little: wait for {LEAST_DAYS}"
            )
        self._kinds = {
            str(name): None if is_number(values) else sorted(values.dropna().astype(str).unique())
            for name, values in features.items()
            if not pd.api.types.is_datetime64_any_dtype(values)
        }
        inputs = self._inputs(features, predictions)
        came = losses.to_numpy(dtype=np.float64)
        block = numbers * _BLOCKS // (numbers.max() + 1)
        errors = np.empty(len(came))
        for each in range(_BLOCKS):
            out = block == each
            errors[out] = _fitted(inputs[~out], came[~out]).predict(inputs[out]) - came[out]
        of_days = np.sort(np.abs(np.bincount(numbers, errors) / np.bincount(numbers)))
        rank = int(np.ceil(LEVEL * (len(of_days) + 1))) - 1
        self._margin = float(of_days[min(rank, len(of_days) - 1)])
        self._model = _fitted(inputs, came)

    def estimate(
        self, features: pd.DataFrame, predictions: pd.Series
    ) -> tuple[float, float, float]:
        """Return the mean loss of the rows of a day, and the ends of its interval."""
        loss = max(0.0, float(self._model.predict(self._inputs(features, predictions)).mean()))
        return loss, max(0.0, loss - self._margin), loss + self._margin

    def _inputs(self, features: pd.DataFrame, predictions: pd.Series) -> pd.DataFrame:
        found = {
            f"x{i}": _codes(features[name], known)
            if known is not None
            else features[name].to_numpy(dtype=np.float64, na_value=np.nan)
            for i, (name, known) in enumerate(self._kinds.items())
        }
        return pd.DataFrame({**found, "prediction": predictions.to_numpy(dtype=np.float64)})


def _codes(values: pd.Series, known: Sequence[str]) -> pd.Categorical:
    """Return the place of each among the known ones; missing if it is missing or new."""
    texts = values.astype(object).map(str, na_action="ignore")
    codes = pd.Index(known, dtype=object).get_indexer(texts)
    return pd.Categorical.from_codes(codes, categories=known)


def _fitted(inputs: pd.DataFrame, losses: Any) -> Any:
    import lightgbm  # heavy

    model = lightgbm.LGBMRegressor(
        n_estimators=50, num_leaves=7, random_state=0, deterministic=True, n_jobs=1, verbose=-1
    )
    return model.fit(inputs, losses)
