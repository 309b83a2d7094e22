"""Days as a few numbers for each column and for the errors of predictions, and unusual days.

Each number is a series over the days, called ``column: statistic``. All are robust (quantiles and
shares), so that one wild row does not make a wild day.

An unusual day is unlike the days before. For each series, a day's distance is that to its second
nearest day (Ramaswamy, Rastogi and Shim, 2000), over the spread of the series (the median absolute
deviation). Sundays have other Sundays near them, and on a slope the days before are near: so weeks
and trends need no model. A day that was alarming has no second like it; a level that lasts has,
after two days, and is the new normal. Not so predictions that are worse than before: they alarm as
long as they last.

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

from collections.abc import Iterable, Mapping, Sequence

import numpy as np
import numpy.typing as npt
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
        agreement = labels.rank().corr(predictions.rank())  # NaN where one has one value only
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


NEIGHBOUR = 2
"""Which of the nearest days counts."""

MARGIN = 3.0
"""How much further than all others a day must be."""

OF_PREDICTIONS = ("loss", "error", "disagreement")
"""Statistics of the quality of the predictions of a day."""

TOGETHER = {f"predictions: {each}" for each in OF_PREDICTIONS} | {
    "labels: other",
    "labels: middle",
}
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

NORMAL = 1.4826
"""Factor by which the median distance from the median is the deviation of normal values."""
_SHARE_OF_RANGE = 0.05

ONE_SIDED = ("commonest", *OF_PREDICTIONS)
"""Only a rise is alarming: a sensor that sticks, predictions that fail."""

Numbers = npt.NDArray[np.float64]


def excess(days: pd.DataFrame, rows: Sequence[int], alarmed: npt.NDArray[np.bool_]) -> Numbers:
    """Return by how much the last day exceeds what is alarming; above 1 it does.

    Parameters
    ----------
    days : DataFrame of shape (n + 1, m)
        The n days before, and the last; NaN where one of the m series had no value.
    rows : sequence of n + 1 int
        Of the days: a day of few rows is farther off by chance.
    alarmed : array of shape (n, m)
        Which of the days before were alarming, so that they do not define what is usual.

    Returns
    -------
    array of shape (m,)
        What the series of `TOGETHER` come to together is that of the farthest of them.
    """
    names, before, apart = list(days), days.iloc[:-1], _distances(days)
    few = min(1.0, float(np.sqrt(rows[-1] / max(np.median(rows[:-1]), 1))))
    # Of columns with one value a day, such as a month or a holiday, no value is judged.
    one = {divided(name)[0] for name in names
           if divided(name)[1] == "commonest" and not (before[name] < 1).any()}  # fmt: skip
    judged = ((before.notna().sum() >= LEAST) & days.iloc[-1].notna()).to_numpy(copy=True)
    for i, (of, statistic) in enumerate(map(divided, names)):
        judged[i] &= of not in one or statistic in ("missing", *ONE_SIDED)
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


def is_far_above(before: Numbers, now: float, floor: float, rows: Sequence[int]) -> bool:
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
    if len(before) < LEAST:
        return False
    few = min(1.0, float(np.sqrt(rows[-1] / max(np.median(rows[:-1]), 1))))
    usual = np.median(before)
    spread = max(floor, NORMAL * float(np.median(np.abs(before - usual)))) / few
    return bool(now > max(usual + FAR * spread, np.sort(before)[-2] + BEYOND * spread))


def _distances(days: pd.DataFrame) -> Numbers:
    """Return distances in spreads, as [day, other day, series]; infinite if a value is missing.

    Quantiles are on a scale that is linear for usual days and logarithmic far beyond: prices that
    leap to three times their highest leap again, and to other heights. A spread is never 0, and
    infinite where it is not known.
    """
    middles, bent, spreads = days.median(), days.copy(), []
    deviations = NORMAL * (days - middles).abs().median()
    for name in days:
        of, statistic = divided(name)
        spread = deviations[name]
        if statistic in QUANTILES:
            middle, width = f"{of}: middle", (days[f"{of}: high"] - days[f"{of}: low"]).median()
            scale = 1.5 * (width + 2 * deviations[middle])
            if scale > 0:
                bent[name] = scale * np.arcsinh((days[name] - middles[middle]) / scale)
            spread = max(spread, _SHARE_OF_RANGE * width)
            if spread > 0:
                spread = max(spread, middles.get(f"{of}: {STEP}", 0.0))
        else:
            spread = 0.0 if statistic == STEP else max(spread, FLOORS[statistic])
        spreads.append(spread if spread > 0 else np.inf)
    apart = bent.to_numpy()[:, None, :] - bent.to_numpy()[None, :, :]
    one_sided = [divided(name)[1] in ONE_SIDED for name in days]
    apart[:, :, one_sided] = np.maximum(apart[:, :, one_sided], 0)
    apart = np.abs(apart) / spreads
    apart[np.isnan(apart)] = np.inf
    return apart


def _nearest(apart: Numbers) -> Numbers:
    """Return the distance of each day to its second nearest; 0 if it is not known."""
    apart = apart.copy()
    np.fill_diagonal(apart, np.inf)
    nearest = np.partition(apart, NEIGHBOUR - 1, axis=1)[:, NEIGHBOUR - 1]
    return np.where(np.isfinite(nearest), nearest, 0.0)
