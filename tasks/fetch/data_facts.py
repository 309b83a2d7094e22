"""Facts of a dataset that its rows alone show: a column that gives the target away, time order.

They are computed once, when a dataset is loaded, on a sample of its rows, and every result on the
dataset holds them: the diagnostics LB002 and LB003 judge them. The sample is the same in every
process.
"""

import math
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.seeds import generator
from leaseboard.tasks.fetch.columns import is_date, is_named, is_nominal

MOST_ROWS, MOST_CELLS = 4000, 2_000_000
"""Rows of the sample, and its cells where there are many columns."""
FEWEST_ROWS = 40
"""Of fewer rows nothing is said."""
PAIRS = 20_000
SORTED = 0.02
"""Share of pairs or steps in the wrong order that is an accident."""
Floats = NDArray[np.float64]


def facts_of(features: pd.DataFrame, target: pd.Series) -> dict[str, Any]:
    """Return the facts of a table of tidy columns: numbers, flags, and names of columns.

    - ``leak_column``, ``leak_skill``, ``leak_errors``, ``leak_rows``: the column that predicts the
      target best by itself, see `skill_of_column`, its errors, and rows that it was tested on;
    - ``time_column``, ``time_certain``, ``time_discordant``: of a table with one column of dates,
      whether it is for sure the time of the rows, and the share of pairs of rows in the wrong
      order;
    - ``majority``: the share of the commonest class.
    """
    found: dict[str, Any] = {}
    classes = len(target.cat.categories) if is_nominal(target) else 0
    if classes:
        found["majority"] = float(np.bincount(target.cat.codes).max() / len(target))
    if len(target) < FEWEST_ROWS or not features.shape[1]:
        return found
    return found | _leak(features, target, classes) | _order(features)


def _leak(features: pd.DataFrame, target: pd.Series, classes: int) -> dict[str, Any]:
    most = min(MOST_ROWS, max(MOST_CELLS // features.shape[1], 500))
    rows = generator("sample for diagnostics").permutation(len(target))[:most]
    before = np.maximum(rows - 1, 0)
    y = (target.cat.codes if classes else target).to_numpy()
    labels = y[rows].astype(np.intp) if classes else _ranks(y[rows])
    best: tuple[float, float, str] = (-math.inf, math.nan, "")
    for name, column in features.items():
        named, asked = is_named(column), labels
        x = _numbers(column.iloc[rows]) if not named else pd.factorize(column.iloc[rows])[0]
        if not (named or classes) and is_sorted_in_blocks(x[np.argsort(rows)]):
            # The place of the row: neighbours in time, of which half are known, are alike.
            x, asked = x - _numbers(column.iloc[before]), _ranks(y[rows] - y[before])
        skill, errors = skill_of_column(x, asked, classes, names=named)
        best = max(best, (skill, errors, str(name)))
    names = ("leak_skill", "leak_errors", "leak_column", "leak_rows")
    return dict(zip(names, (*best, len(rows) - len(rows) // 2), strict=True))


def _ranks(values: NDArray[Any]) -> Floats:
    return np.asarray(pd.Series(values).rank(), dtype=np.float64)


def _numbers(column: pd.Series) -> Floats:
    """Return the values of numbers, dates and flags, NaN where they are missing or infinite."""
    dates = is_date(column)
    x = column.to_numpy().view(np.int64) if dates else column.to_numpy(np.float64)
    return np.where(column.isna() if dates else ~np.isfinite(x), np.nan, x)


def is_sorted_in_blocks(values: NDArray[Any]) -> bool:
    """Return whether nearly all steps from row to row, of those with one, go one way.

    Examples
    --------
    >>> is_sorted_in_blocks(np.r_[0:99, 0:99, 0.0]), is_sorted_in_blocks(np.r_[0:9, 0:9])
    (True, False)
    """
    steps = np.diff(values[~np.isnan(values)])
    up, down = (steps > 0).sum(), (steps < 0).sum()
    return bool(up + down > 0 and min(up, down) <= SORTED * (up + down))


def skill_of_column(
    x: NDArray[Any], y: NDArray[Any], classes: int, *, names: bool = False
) -> tuple[float, float]:
    """Return the skill and the errors of predicting the second half of `y` from one column.

    The first half of the rows, which are in random order, is what is known. Of classes the skill
    is the share of the errors of the commonest class that is avoided. Of numbers `y` are ranks,
    and the skill is R². Names predict what is known of them. Numbers may be a time or count rows,
    and then neighbours are alike: only a function that rises or falls counts, with an interval of
    values for each class. A value that is missing is a value.

    - `names`: `x` are numbers of names.
    """
    half = len(y) // 2
    known, asked = y[:half], y[half:]
    usual = np.bincount(known, minlength=classes).argmax() if classes else known.mean()
    if not names:
        x = np.where(np.isnan(x), np.min(x, where=~np.isnan(x), initial=0.0) - 1.0, x)
    values, place = np.unique(x[:half], return_inverse=True)
    known = known if names else _arranged(place, known, classes)
    at = np.interp(x[half:], values, np.arange(len(values)))
    if classes:
        counts = np.bincount(place * classes + known, minlength=len(values) * classes)
        commonest = counts.reshape(len(values), classes).argmax(axis=1)
        predicted = commonest[np.rint(at).astype(np.intp)]
    else:
        means = np.bincount(place, known) / np.bincount(place)
        predicted = np.interp(at, np.arange(len(means)), means)
    if names:
        predicted = np.where(np.isin(x[half:], values), predicted, usual)
    errors, base = (
        float((each != asked).sum() if classes else ((each - asked) ** 2).sum())
        for each in (predicted, usual)
    )
    return (1 - errors / base if base else 0.0), errors


def _arranged(place: NDArray[np.intp], known: NDArray[Any], classes: int) -> NDArray[Any]:
    """Return the labels put into the order of their places, classes by their mean place."""
    if classes:
        means = np.bincount(known, place, classes) / np.maximum(
            np.bincount(known, minlength=classes), 1
        )
        order = np.argsort(means[known], kind="stable")
    else:
        rising = np.cov(place, known)[0, 1] >= 0
        order = np.argsort(known if rising else -known, kind="stable")
    arranged = np.empty_like(known)
    arranged[np.argsort(place, kind="stable")] = known[order]
    return arranged


def _order(features: pd.DataFrame) -> dict[str, Any]:
    """Return how the rows follow the only column of dates.

    A date of birth is not the time of the row: it is certain by rows in order within blocks.
    """
    dates = [column.dropna() for _, column in features.items() if is_date(column)]
    if len(dates) != 1 or len(dates[0]) < 2:
        return {}
    moments = _numbers(dates[0])
    ends = generator("pairs for diagnostics").integers(0, len(moments), (PAIRS, 2))
    first, last = np.sort(ends, axis=1).T
    apart = moments[first] != moments[last]
    wrong = float((moments[first] > moments[last])[apart].mean()) if apart.any() else 0.0
    return {
        "time_column": str(dates[0].name),
        "time_certain": is_sorted_in_blocks(moments),
        "time_discordant": wrong,
    }
