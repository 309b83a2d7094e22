"""The loss of days whose labels have not come, estimated from rows whose labels have.

A model of the loss of a row, given its features and its forecast (direct loss estimation, as
NannyML calls it), is averaged over the rows of a day. For classes the forecast is the probability
of the class that was forecast, so that the model calibrates it where a row stands. It sees
a day whose rows are harder, and cannot see that labels have come to depend on rows otherwise.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import DataError
from leaseboard.tasks.keep.watch.signature import is_number

LEAST_DAYS = 14
"""Settled days without which nothing is estimated."""

LEVEL = 0.9
"""Of the interval."""

_BLOCKS = 4


@dataclass(frozen=True)
class LossEstimate:
    """The mean loss that a day will come to, and the interval that holds it."""

    loss: float
    low: float
    high: float


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
    >>> found = model.estimate(pd.DataFrame({"hard": [True] * 40}), pd.Series(np.zeros(40)))
    >>> round(found.loss, 1), found.low < 5.5 < found.high
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

    def estimate(self, features: pd.DataFrame, forecasts: pd.Series) -> LossEstimate:
        """What the rows of a day will come to."""
        loss = max(0.0, float(self._model.predict(self._inputs(features, forecasts)).mean()))
        return LossEstimate(loss, max(0.0, loss - self._margin), loss + self._margin)

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
    codes = pd.Index(known, dtype=object).get_indexer(values.astype(object).map(_text))
    return pd.Categorical.from_codes(codes, categories=known)


def _text(value: Any) -> str | None:
    return None if pd.isna(value) else str(value)


def _learned(inputs: pd.DataFrame, losses: Any) -> Any:
    import lightgbm  # heavy

    model = lightgbm.LGBMRegressor(
        n_estimators=50, num_leaves=7, random_state=0, deterministic=True, n_jobs=1, verbose=-1
    )
    return model.fit(inputs, losses)
