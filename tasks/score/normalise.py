"""Scores on a common scale, so that data sets can be averaged."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np

from leaseboard.tasks.score.table import EARLY, FAILED, ROUNDING, Floats, ScoreTable, nanmean

NORMALISED_MEANS = (
    "A normalised {metric} is the share of the way from what {zero} reaches (0) to what {one}"
    " reaches (1), averaged over data sets: above 1 is better than {one}, below 0 worse than"
    " {zero}."
)
SCALED_MEANS = (
    "A scaled {metric} is the place between the worst algorithm of the run (0) and the best (1),"
    " averaged over data sets: 0.9 is a tenth of that distance behind the best. It changes with"
    " who takes part."
)
"""What a number on either scale says; the board shows it beside the numbers."""


def on_scale(
    table: ScoreTable,
    zero: str | None,
    one: str | None,
    meaningless: Collection[str] = (),
    metric: str = "score",
) -> tuple[Floats, str, str]:
    """The values on the common scale, what the scale is called, and what a number on it says.

    It is `normalised` where `zero` and `one` are named, else `scaled`; NaN on the data sets that
    are `meaningless` on it.
    """
    if zero is not None and one is not None:
        values = normalised(table, zero, one)
        scale = f"normalised {metric}: {zero} is 0, {one} is 1"
        meaning = NORMALISED_MEANS.format(metric=metric, zero=zero, one=one)
    else:
        values = scaled(table)
        scale = f"scaled {metric}: in each repetition the worst and any failure are 0, the best 1"
        meaning = SCALED_MEANS.format(metric=metric)
    values[:, [problem in meaningless for problem in table.problems]] = np.nan
    return values, scale, meaning


def normalised(table: ScoreTable, zero: str, one: str) -> Floats:
    """ChaCha's normalised score: 0 is as good as `zero`, 1 as good as `one`.

    ``(L_zero - L) / (L_zero - L_one)``, with the mean scores of `zero` and `one` on the data
    set; above 1 is better than `one` (Wu et al. 2021, section 5).

    Returns
    -------
    ndarray, shape (n_labels, n_problems, n_repetitions)
        NaN on data sets where it has no meaning: `one` is not better than `zero`, or one of
        them has no score.
    """
    gains = table.gains
    means = nanmean(np.where(np.isfinite(table.scores), gains, np.nan), axis=2)
    base = _row(table, means, zero)
    span = _row(table, means, one) - base
    with np.errstate(invalid="ignore"):
        span = np.where(span > ROUNDING * np.abs(base), span, np.nan)
    above = gains - base[None, :, None]
    above[np.abs(above) <= ROUNDING * np.abs(base)[None, :, None]] = 0.0
    return np.asarray(above / span[None, :, None])


def scaled(table: ScoreTable) -> Floats:
    """In each repetition on a data set 1 is the best algorithm, 0 the worst; equals are all 1.

    A repetition that failed or ended early is 0, also where all that finished are equal.

    The scale of suites that name no ``normalise``. It depends on who takes part. Repetitions
    are scaled one by one because their splits, which all algorithms share, move all scores.

    Returns
    -------
    ndarray, shape (n_labels, n_problems, n_repetitions)
    """
    gains = table.gains
    there = np.isfinite(gains)
    best = np.where(there, gains, -np.inf).max(axis=0)
    worst = np.where(there, gains, np.inf).min(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = (gains - worst) / (best - worst)
        equal = best - worst <= ROUNDING * np.maximum(np.abs(best), np.abs(worst))
    failed = np.isin(table.states, (FAILED, EARLY))
    return np.where(there, np.where(failed, 0.0, np.where(equal, 1.0, ratio)), np.nan)


def relative_losses(table: ScoreTable, references: Sequence[str]) -> Floats:
    """Score over the best mean score of `references`, of datasets with a loss (``min``).

    Below 1 is better than the best of them. A repetition that failed counts by `MISSING_RULE`.

    Returns
    -------
    ndarray, shape (n_labels, n_problems, n_repetitions)
        NaN where the score is not a loss, no reference has one, or its loss is not positive.
    """
    rows = [table.labels.index(label) for label in references if label in table.labels]
    with np.errstate(invalid="ignore"):
        base = np.fmin.reduce(table.means[rows], axis=0, initial=np.nan)
        usable = (base > 0) & (np.array(table.directions) == "min")
    return np.asarray(-table.gains / np.where(usable, base, np.nan)[None, :, None])


def _row(table: ScoreTable, values: Floats, label: str) -> Floats:
    if label not in table.labels:
        return np.full(len(table.problems), np.nan)
    return np.asarray(values[table.labels.index(label)])
