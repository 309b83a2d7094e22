"""Statistics of a day: a few numbers for each column, and for the errors of its predictions.

Each number is a series over the days, called ``column: statistic``. All are robust (quantiles and
shares), so that one wild row does not make a wild day.
"""

from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

Signature = dict[str, float]

WORDS = {
    "missing": "the share of {} that is missing",
    "commonest": "the share of the commonest value of {}",
    "low": "the tenth percentile of {}",
    "middle": "the median of {}",
    "high": "the ninetieth percentile of {}",
    "lean": "the lean of {} (from -1, a long low end, to 1)",
    "other": "the share of {} that differs from the usual mix",
    "loss": "the loss of {}",
    "error": "the mean absolute error of {}",
    "disagreement": "how closely {} follow the labels (0 is not at all, 1 wholly)",
}
"""What the statistics are called."""

STEP = "step"
"""The least difference of two values of a day: no quantile moves by less. It is not judged."""

QUANTILES = {"low": 0.1, "middle": 0.5, "high": 0.9}

MOST_CATEGORIES = 200
"""Of a column, whose usual shares are remembered."""

LEAST_OTHERS = 5
"""Rows of a day that are not of its commonest class: fewer cannot be distinguished from noise."""

_FORGET = 0.1
"""The weight of the last day in the usual shares."""


def divided(series: str) -> tuple[str, str]:
    """Return the column and the statistic of a series."""
    column, _, statistic = series.rpartition(": ")
    return column, statistic


def said(series: str) -> str:
    """Return a series in words.

    Examples
    --------
    >>> said("price: middle")
    'the median of price'
    """
    column, statistic = divided(series)
    return WORDS[statistic].format(column)


def shown(series: str, value: float) -> float:
    """Return a value of a series for readers: an error in the target's unit, a correlation.

    Examples
    --------
    >>> shown("predictions: disagreement", -0.9), shown("price: middle", 7.0)
    (0.9, 7.0)
    """
    statistic = divided(series)[1]
    if statistic == "error":
        return float(np.exp(value))
    return -value if statistic == "disagreement" else value


def is_number(values: pd.Series) -> bool:
    """Return whether values have a scale: flags, texts and categories do not."""
    return pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_bool_dtype(values)


def of_columns(
    columns: Iterable[tuple[str, pd.Series]], usual: Mapping[str, Mapping[str, float]]
) -> Signature:
    """Return the statistics of columns; `usual` has shares of categories, see `new_usual`.

    Dates are left out, because they grow anyway.
    """
    found: Signature = {}
    for name, values in columns:
        if not pd.api.types.is_datetime64_any_dtype(values):
            each = _numbers(values) if is_number(values) else _mix(values, usual.get(name))
            found |= {f"{name}: {statistic}": value for statistic, value in each.items()}
    return found


def of_errors(
    labels: pd.Series, predictions: pd.Series | pd.DataFrame, losses: pd.Series
) -> Signature:
    """Return the size of losses, of numbers as a logarithm, and the agreement with labels.

    Predictions of classes are the probabilities, a column a class.
    """
    if isinstance(predictions, pd.DataFrame):
        size, agreement = {"loss": float(losses.mean())}, _separation(labels, predictions)
    else:
        size = {"error": float(np.log(max(losses.mean(), 1e-12)))}
        agreement = _agreement(labels, predictions)
    found = size | {"disagreement": -agreement}
    return {f"predictions: {statistic}": value for statistic, value in found.items()}


def new_usual(values: pd.Series, usual: Mapping[str, float] | None) -> dict[str, float] | None:
    """Return the usual shares of categories after a day of them; None for other columns."""
    if is_number(values) or pd.api.types.is_datetime64_any_dtype(values):
        return None
    shares = _shares(values)
    if usual is not None:
        before = pd.Series(usual, dtype=np.float64) * (1 - _FORGET)
        shares = shares.mul(_FORGET).add(before, fill_value=0)
    kept = shares.sort_index().nlargest(MOST_CATEGORIES)
    return {str(name): float(f"{share:.4g}") for name, share in kept.items()}


def _numbers(values: pd.Series) -> Signature:
    numbers = values.to_numpy(dtype=np.float64, na_value=np.nan)
    there = np.sort(numbers[np.isfinite(numbers)])
    found = {"missing": 1 - len(there) / max(len(numbers), 1)}
    if not len(there):
        return found
    low, middle, high = (float(np.quantile(there, share)) for share in QUANTILES.values())
    starts = np.flatnonzero(np.diff(there, prepend=-np.inf))
    longest = int(np.diff(starts, append=len(there)).max())
    found |= {"commonest": longest / len(there), "low": low, "middle": middle, "high": high}
    if len(starts) > 1:
        found[STEP] = float(np.diff(there[starts]).min())
    if high > low:
        found["lean"] = (low + high - 2 * middle) / (high - low)
    return found


def _mix(values: pd.Series, usual: Mapping[str, float] | None) -> Signature:
    shares = _shares(values)
    found = {"missing": float(values.isna().mean()) if len(values) else 0.0}
    if len(shares):
        found["commonest"] = float(shares.max())
        if usual:  # half the total variation
            found["other"] = float(shares.sub(pd.Series(usual), fill_value=0).abs().sum() / 2)
    return found


def _shares(values: pd.Series) -> pd.Series:
    return values.dropna().astype(str).value_counts(normalize=True).astype(np.float64)


def _agreement(labels: pd.Series, predictions: pd.Series) -> float:
    """Return the rank correlation; NaN where one of them has one value only."""
    one, other = labels.rank().to_numpy(), predictions.rank().to_numpy()
    if len(one) < 3 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return np.nan
    return float(np.corrcoef(one, other)[0, 1])


def _separation(labels: pd.Series, probabilities: pd.DataFrame) -> float:
    """Return Somers' D of the probabilities: twice the area under the ROC curve, less 1.

    Of more classes the mean of each against the rest, by the pairs of rows that show it; NaN
    where fewer than `LEAST_OTHERS` rows are not of the commonest class.
    """
    texts, different = pd.factorize(labels.astype(str))
    sizes = np.bincount(texts)
    if len(labels) - sizes.max() < LEAST_OTHERS:
        return np.nan
    total = pairs = 0.0
    for code, name in enumerate(different):
        mine = probabilities[name] if name in probabilities else pd.Series(0.0, labels.index)
        ranks, is_it = mine.rank().to_numpy(), texts == code
        size, others = sizes[code], len(labels) - sizes[code]
        total += 2 * (ranks[is_it].sum() - size * (size + 1) / 2) - size * others
        pairs += size * others
    return float(total / pairs)
