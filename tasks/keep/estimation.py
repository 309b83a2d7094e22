"""The loss of days whose labels have not come; and what it was when they came.

A model of the loss of a row, given its features and its forecast (direct loss estimation, as
NannyML calls it), is averaged over the rows of a day. For classes the forecast is the probability
of the class that was forecast, so that the model calibrates it where a row stands. It sees
a day whose rows are harder, and cannot see that labels have come to depend on rows otherwise.

Each day is estimated once its rows wait, on the settled rows that the champion forecast. The
estimate stays as it was, next to the loss that came: so the error of the estimates is measured on
the live model's own days, and not promised.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep.lifecycle import DayEstimate
from leaseboard.tasks.keep.losses import loss_of_row
from leaseboard.tasks.keep.rows import frame_of, label_of
from leaseboard.tasks.keep.shadow import CHAMPION
from leaseboard.tasks.keep.update import ModelUpdate
from leaseboard.tasks.keep.watch.signature import is_number
from leaseboard.tasks.models.continued import Told
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import KeptRow

LEAST_DAYS = 14
"""Settled days without which nothing is estimated."""

LEVEL = 0.9
"""Of the interval."""

_BLOCKS = 4
LEAST_ROWS = 10
"""Of a day: of fewer rows the mean loss is chance."""

MOST_DAYS = 60
"""Settled ones that the losses are learned from: the last."""
MOST_ROWS = 20_000
"""Of them."""

REMEMBERED = 120
"""Days whose estimates are kept."""

LATELY = 7
"""Settled days whose mean loss is what one would expect without an estimate."""

NEARLY_ALL = 0.9
"""So much of a day's rows must have their labels before it is said what the day came to."""


def estimate_losses(update: ModelUpdate) -> None:
    """Estimate the days whose rows wait, and say of earlier ones what they came to."""
    champion = update.shadow.of_role(CHAMPION)
    if champion is None:
        return
    known = {each.day: each for each in update.lifecycle.estimates}
    if any(each.came is None for each in known.values()):
        known |= _came(known, update.state)
    number = champion.number
    waiting = {
        day: rows
        for day, rows in _by_day(_forecast(update.state.unsettled(), number)).items()
        if day <= update.last_day
        and (day not in known or known[day].lineage != number or len(rows) > known[day].rows)
    }
    if waiting:
        known |= {each.day: each for each in _estimates(update, number, waiting)}
    kept = [known[day] for day in sorted(known)][-REMEMBERED:]
    update.lifecycle.estimates = kept


def unit_loss(told: Told, label: Any) -> float:
    """The absolute error, or the Brier score.

    Examples
    --------
    >>> unit_loss([3.0, 1.0, 4.0], 5.0), unit_loss({"no": 0.75, "yes": 0.25}, "no")
    (2.0, 0.125)
    """
    found = loss_of_row(told, label)
    return found.get("absolute", found["loss"])


def _estimates(
    update: ModelUpdate, number: int, waiting: Mapping[str, Sequence[KeptRow]]
) -> list[DayEstimate]:
    """Of each day that waits; none while few days are settled."""
    settled = update.state.settled(min(update.keep.retrain.window, MOST_ROWS))
    days = dict(sorted(_by_day(_forecast(settled, number)).items())[-MOST_DAYS:])
    if len(days) < LEAST_DAYS:
        return []
    losses = {
        day: [unit_loss(_told(row, number), label_of(row)) for row in rows]
        for day, rows in days.items()
    }
    lately = float(np.mean([np.mean(each) for each in list(losses.values())[-LATELY:]]))
    dates = update.shadow.dates
    model = LossModel(
        *_inputs([row for rows in days.values() for row in rows], number, dates),
        pd.Series([loss for each in losses.values() for loss in each]),
        [day for day, rows in days.items() for _ in rows],
    )
    found = []
    for day, rows in waiting.items():
        ends = model.estimate(*_inputs(rows, number, dates))
        found.append(DayEstimate(day, number, len(rows), *ends, lately))
    return found


def _came(known: Mapping[str, DayEstimate], state: State) -> dict[str, DayEstimate]:
    """Those whose labels have come by now."""
    found = {}
    for each in state.days():
        before = known.get(each["day"])
        if before is None or before.came is not None or before.lineage != each["lineage"]:
            continue
        if each["rows"] >= NEARLY_ALL * before.rows:
            sums = each["sums"]
            came = sums.get("absolute", sums["loss"]) / each["rows"]
            found[before.day] = replace(before, came=came)
    return found


def _forecast(rows: Sequence[KeptRow], number: int) -> list[KeptRow]:
    """Those that a lineage has forecast, and whose features are kept."""
    return [row for row in rows if row.features and _told(row, number) is not None]


def _told(row: KeptRow, number: int) -> Any:
    return json.loads(row.forecasts or "{}").get(str(number))


def _by_day(rows: Sequence[KeptRow]) -> dict[str, list[KeptRow]]:
    days: dict[str, list[KeptRow]] = {}
    for row in rows:
        days.setdefault(row.day, []).append(row)
    return {day: rows for day, rows in days.items() if len(rows) >= LEAST_ROWS}


def _inputs(
    rows: Sequence[KeptRow], number: int, dates: Sequence[str]
) -> tuple[pd.DataFrame, pd.Series]:
    """What they hold, and what was forecast: of classes how sure it was."""
    told = [_told(row, number) for row in rows]
    points = [
        max(each.values()) if isinstance(each, Mapping)
        else each[0] if isinstance(each, list) else each
        for each in told
    ]  # fmt: skip
    features = frame_of([json.loads(row.features) for row in rows], dates)
    return features, pd.Series(points, dtype=np.float64)


class LossModel:
    """What was learned of the losses of settled rows.

    The interval is that of conformal prediction with the days as examples: the quantile of the
    errors on days that a model of other days estimated, where days next to each other are left
    out together.

    Parameters
    ----------
    features : DataFrame of shape (n, m)
    forecasts : Series of length n
        Numbers; for classes the probability of the class that was forecast.
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
        self, features: pd.DataFrame, forecasts: pd.Series, losses: pd.Series, days: Sequence[Any]
    ) -> None:
        numbers, different = pd.factorize(np.asarray(days))
        if len(different) < LEAST_DAYS:
            raise DataError(
                f"the loss of {len(different)} settled days tells little: wait for {LEAST_DAYS}"
            )
        self._kinds = {
            str(name): None if is_number(values) else sorted(values.dropna().astype(str).unique())
            for name, values in features.items()
            if not pd.api.types.is_datetime64_any_dtype(values)
        }
        inputs = self._inputs(features, forecasts)
        came = losses.to_numpy(dtype=np.float64)
        block = numbers * _BLOCKS // (numbers.max() + 1)
        errors = np.empty(len(came))
        for each in range(_BLOCKS):
            out = block == each
            errors[out] = _learned(inputs[~out], came[~out]).predict(inputs[out]) - came[out]
        of_days = np.sort(np.abs(np.bincount(numbers, errors) / np.bincount(numbers)))
        rank = int(np.ceil(LEVEL * (len(of_days) + 1))) - 1
        self._margin = float(of_days[min(rank, len(of_days) - 1)])
        self._model = _learned(inputs, came)

    def estimate(self, features: pd.DataFrame, forecasts: pd.Series) -> tuple[float, float, float]:
        """The mean loss of the rows of a day, and the ends of the interval that holds it."""
        loss = max(0.0, float(self._model.predict(self._inputs(features, forecasts)).mean()))
        return loss, max(0.0, loss - self._margin), loss + self._margin

    def _inputs(self, features: pd.DataFrame, forecasts: pd.Series) -> pd.DataFrame:
        found = {
            f"x{i}": _codes(features[name], known)
            if known is not None
            else features[name].to_numpy(dtype=np.float64, na_value=np.nan)
            for i, (name, known) in enumerate(self._kinds.items())
        }
        return pd.DataFrame({**found, "forecast": forecasts.to_numpy(dtype=np.float64)})


def _codes(values: pd.Series, known: Sequence[str]) -> pd.Categorical:
    """The place of each among the known ones; missing if it is missing or new."""
    texts = values.astype(object).map(str, na_action="ignore")
    codes = pd.Index(known, dtype=object).get_indexer(texts)
    return pd.Categorical.from_codes(codes, categories=known)


def _learned(inputs: pd.DataFrame, losses: Any) -> Any:
    import lightgbm  # heavy

    model = lightgbm.LGBMRegressor(
        n_estimators=50, num_leaves=7, random_state=0, deterministic=True, n_jobs=1, verbose=-1
    )
    return model.fit(inputs, losses)
