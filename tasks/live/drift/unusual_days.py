"""Unusual days: days that are unlike the days before, by the distance to their neighbours.

For each series, a day's distance is that to its second nearest day (Ramaswamy, Rastogi and Shim,
2000), over the spread of the series (the median absolute deviation). Sundays have other Sundays
near them, and on a slope the days before are near: so weeks and trends need no model. A day that
was alarming has no second like it; a level that lasts has, after two days, and is the new normal.
Not so predictions that are worse than before: they alarm as long as they last.

A series is alarming when that distance exceeds `MARGIN` times the largest that any of the days
before has among all of them, and 1 + ln m for m series; days that were alarming are near to
others, and do not measure how far is usual. The quality of predictions is judged together with
the labels, by the mean of k distances, against `MARGIN_TOGETHER` times the largest and
1 + ln m / k: wrong labels move each of them a little, and an honest day seldom all.

If days are exchangeable, to be farther than all days before happens to a series with a probability
of at most 1 / (n + 1) on a day after n others, for any distribution and even at a margin of 1
(conformal prediction: Vovk, Gammerman and Shafer, 2005, chapter 2, with this distance as the
measure of non-conformity); the logarithm is the size to which the largest of m distances with
exponential tails grows. Real days are not exchangeable, which is what the margins are for. How
often they alarm is measured by ``python -m benchmarks.drill``. Wrong labels alarm where
predictions follow labels; where they do
not, because these come a week late, only labels whose own distribution changes are.

NannyML and Evidently compare a day with a fixed reference (three deviations of its chunks; a
distance of 0.1), which the first change of season leaves for good; River's and frouros' detectors
look for lasting change, not for a day.
"""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from leaseboard.tasks.live.drift.day_statistics import QUANTILES, STEP, divided

NEIGHBOUR = 2
"""Which of the nearest days counts."""

MARGIN = 3.0
"""How much further than all others a day must be."""

TOGETHER = frozenset(
    {
        "predictions: loss",
        "predictions: error",
        "predictions: disagreement",
        "labels: other",
        "labels: middle",
    }
)
"""Series that are judged by the mean of their distances, too: wrong labels move each a little."""

MARGIN_TOGETHER = 2.0
"""The margin of that mean: it is rarer that an honest day is off in all of them."""

LEAST = 14
"""Days that a series must have before it is judged: two weeks."""

FAR, BEYOND = 5.0, 2.0
"""Spreads by which a day's mean loss is far above, see `is_far_above`."""

FLOORS = {
    "missing": 0.05,
    "commonest": 0.1,
    "other": 0.1,
    "lean": 0.1,
    "loss": 0.05,
    "error": 0.05,
    "disagreement": 0.1,
}
"""The least spread by statistic, for series that hardly move; of quantiles: a share of a day's."""

_SHARE_OF_RANGE = 0.05
OF_PREDICTIONS = ("loss", "error", "disagreement")
"""Statistics of the quality of the predictions of a day."""

ONE_SIDED = ("commonest", *OF_PREDICTIONS)
"""Only a rise is alarming: a sensor that sticks, predictions that fail."""

Numbers = npt.NDArray[np.float64]


def excess(
    names: Sequence[str],
    before: Numbers,
    today: Numbers,
    rows: Sequence[int],
    alarmed: npt.NDArray[np.bool_],
) -> Numbers:
    """Return by how much a day exceeds what is alarming; above 1 it does.

    Parameters
    ----------
    names : sequence of str
        The m series.
    before : array of shape (n, m)
        The n days before; NaN where a series had no value.
    today : array of shape (m,)
    rows : sequence of n + 1 int
        Of the days before and of today: a day of few rows is farther off by chance.
    alarmed : array of shape (n, m)
        Which of the days before were alarming, so that they do not define what is usual.

    Returns
    -------
    array of shape (m,)
        What the series of `TOGETHER` come to together is that of the farthest of them.
    """
    days = np.vstack([before, today])
    apart = _distances(names, days)  # [day, other day, series]
    few = min(1.0, float(np.sqrt(rows[-1] / max(np.median(rows[:-1]), 1))))
    # Series that have enough days, a value today, and more than one value within a day.
    judged = (~np.isnan(before)).sum(axis=0) >= LEAST
    judged &= ~_has_one_value_a_day(names, before) & ~np.isnan(today)
    # A step is a series for `_spreads` alone: it is not judged, and does not count.
    size = np.log(sum(divided(name)[1] != STEP for name in names))
    found = np.zeros(len(names))
    together = [i for i in np.flatnonzero(judged) if names[i] in TOGETHER]
    mine = [i for i in together if divided(names[i])[1] in OF_PREDICTIONS]
    if len(together) > 1 and mine:
        # The mean distance is for each series of `OF_PREDICTIONS`; the farthest gets its excess.
        judged[mine] = False
        wrong = alarmed[:, together].any(axis=1)
        away = apart[:, :, together].mean(axis=2)
        away[:, :-1][:, wrong] = np.inf  # bad predictions are not usual because they last
        distances = _nearest(away)
        usual = np.where(wrong, 0.0, distances[:-1]).max()
        limit = max(MARGIN_TOGETHER * usual, 1 + size / len(together))
        farthest = mine[int(np.argmax([_nearest(apart[:, :, i])[-1] for i in mine]))]
        found[farthest] = distances[-1] * few / limit
    for i in np.flatnonzero(judged):
        distances = _nearest(apart[:, :, i])
        usual = np.where(alarmed[:, i], 0.0, distances[:-1]).max()
        found[i] = distances[-1] * few / max(MARGIN * usual, 1 + size)
    return found


def is_far_above(
    before: Numbers, now: float, floor: float, rows_before: Sequence[int], rows: int
) -> bool:
    """Return whether a day's mean loss is far above those of the days before.

    That is `FAR` spreads above their median and `BEYOND` above the second largest of them, so that
    neither a weekday that is always worse counts nor one bad day hides the next; `LEAST` or more
    must be known. The spread is their median absolute deviation as that of normal values, or
    `floor` if that is more; for a day of fewer rows it is larger by the root of how many fewer.

    Of 10,400 simulated days a case, of 10, 30 and 100 rows, 0.01 to 0.02 % are so in error where
    errors are normal, 0.01 to 0.13 % where they have heavy tails (Student's t with 3 degrees of
    freedom, exponential, lognormal), and 0.15 to 0.5 % where one day a week costs twice. A day of
    30 rows that costs 3.7 times as much is found in 75 to 100 % of cases.
    """
    there = before[~np.isnan(before)]
    if len(there) < LEAST:
        return False
    few = min(1.0, float(np.sqrt(rows / max(np.median(rows_before), 1))))
    spread = max(floor, _deviation(there)) / few
    return bool(now > max(np.median(there) + FAR * spread, np.sort(there)[-2] + BEYOND * spread))


def _distances(names: Sequence[str], days: Numbers) -> Numbers:
    """Return distances in spreads, as [day, other day, series]; infinite if a value is missing."""
    bent = _bent(names, days)
    apart = bent[:, None, :] - bent[None, :, :]
    one_sided = [divided(name)[1] in ONE_SIDED for name in names]
    apart[:, :, one_sided] = np.maximum(apart[:, :, one_sided], 0)
    apart = np.abs(apart) / _spreads(names, days)
    apart[np.isnan(apart)] = np.inf
    return apart


def _bent(names: Sequence[str], days: Numbers) -> Numbers:
    """Return quantiles on a scale that is linear for usual days and logarithmic far beyond.

    Prices that leap to three times their highest leap again, and to other heights.
    """
    column = {name: i for i, name in enumerate(names)}
    bent = days.copy()
    for i, name in enumerate(names):
        of, statistic = divided(name)
        if statistic in QUANTILES:
            middle = days[:, column[f"{of}: middle"]]
            ranges = days[:, column[f"{of}: high"]] - days[:, column[f"{of}: low"]]
            scale = 1.5 * (_median(ranges) + 2 * _deviation(middle))
            if scale > 0:
                bent[:, i] = scale * np.arcsinh((days[:, i] - _median(middle)) / scale)
    return bent


def _nearest(apart: Numbers) -> Numbers:
    """Return the distance of each day to its second nearest; 0 if it is not known."""
    apart = apart.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.partition(apart, NEIGHBOUR - 1, axis=1)[:, NEIGHBOUR - 1]
    return np.where(np.isfinite(nearest), nearest, 0.0)


def _spreads(names: Sequence[str], days: Numbers) -> Numbers:
    """Return the spread of each series, which is never 0: infinite where it is not known."""
    column = {name: i for i, name in enumerate(names)}
    spreads = np.full(len(names), np.inf)
    for i, name in enumerate(names):
        of, statistic = divided(name)
        if statistic in QUANTILES:
            ranges = days[:, column[f"{of}: high"]] - days[:, column[f"{of}: low"]]
            floor = _SHARE_OF_RANGE * _median(ranges)
        elif statistic == STEP:
            continue
        else:
            floor = FLOORS[statistic]
        spread = max(floor, _deviation(days[:, i]))
        step = column.get(f"{of}: {STEP}")
        if spread > 0 and statistic in QUANTILES and step is not None:
            spread = max(spread, _median(days[:, step]))
        if spread > 0:
            spreads[i] = spread
    return spreads


def _has_one_value_a_day(names: Sequence[str], before: Numbers) -> npt.NDArray[np.bool_]:
    """Return which series are of columns with one value a day, such as a month or a holiday."""
    column = {name: i for i, name in enumerate(names)}
    found = np.zeros(len(names), dtype=bool)
    for i, name in enumerate(names):
        of, statistic = divided(name)
        commonest = column.get(f"{of}: commonest")
        if commonest is not None and statistic not in ("missing", "commonest", *ONE_SIDED):
            shares = before[:, commonest]
            found[i] = bool((shares[~np.isnan(shares)] >= 1).all())
    return found


def _deviation(values: Numbers) -> float:
    """Return the median distance from the median, as the deviation of normal values."""
    return 1.4826 * _median(np.abs(values - _median(values)))


def _median(values: Numbers) -> float:
    there = values[~np.isnan(values)]
    return float(np.median(there)) if len(there) else 0.0
