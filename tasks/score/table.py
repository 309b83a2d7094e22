"""Scores as an array: algorithms x datasets x repetitions, what is missing, and common scales."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative size of what differs only because sums were rounded."""

NOT_RUN, OK, FAILED, SKIPPED, EARLY = range(5)
"""What became of a cell's repetition."""

UNFINISHED = {FAILED: "failed", EARLY: "ended early", SKIPPED: "skipped", NOT_RUN: "not run"}
"""What became of those without a score, in words."""

MISSING_RULE = (
    "A repetition that failed (timeout, memout, crash, diverged), or ended early, before it had"
    " consumed its budget, counts as the worst score that any algorithm reached on that data set;"
    " an algorithm without any score there ranks last."
    " A job that was skipped or not run is left out, for that algorithm on that data set only."
    " Means and spreads of raw scores are of finished repetitions alone."
)
"""The rule that every table of the board states."""

HINDSIGHT_RULE = (
    "Hindsight: an algorithm that declares to use what cannot be known in time, a mark to measure"
    " by and no competitor."
)
"""Of boards with such an algorithm."""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one metric."""

    labels: tuple[str, ...]
    problems: tuple[str, ...]
    """The algorithms and the data sets, in the order of the results."""
    directions: tuple[str, ...]
    """``min`` or ``max``, one a data set."""
    scores: Floats
    """As measured; NaN where there is none, shape (n_labels, n_problems, n_repetitions)."""
    states: NDArray[np.int8]
    """`OK`, `FAILED`, `SKIPPED`, `NOT_RUN`, or `EARLY` for an ending before the budget's."""

    @property
    def only(self) -> int | None:
        """The place of a single data set, or of the one of several that alone has any score."""
        if len(self.problems) == 1:
            return 0
        scored = np.flatnonzero(np.isfinite(self.scores).any(axis=(0, 2))).tolist()
        return int(scored[0]) if len(scored) == 1 else None

    @property
    def signs(self) -> Floats:
        """1 for each data set on which more is better, else -1."""
        return np.array([1.0 if direction == "max" else -1.0 for direction in self.directions])

    @property
    def means(self) -> Floats:
        """Mean score of the finished repetitions, shape (n_labels, n_problems)."""
        return nanmean(self.scores, axis=2)

    @property
    def sds(self) -> Floats:
        """Standard deviation (n - 1) over finished repetitions; NaN for fewer than two."""
        n = np.isfinite(self.scores).sum(axis=2)
        squares = (self.scores - self.means[:, :, None]) ** 2
        sds = np.sqrt(np.nansum(squares, axis=2) / np.maximum(n - 1, 1))
        with np.errstate(invalid="ignore"):
            sds[sds <= ROUNDING * np.abs(self.means)] = 0.0
        return np.where(n > 1, sds, np.nan)

    @property
    def gains(self) -> Floats:
        """Scores turned so that more is better, failures imputed by `MISSING_RULE`."""
        gains = self.scores * self.signs[None, :, None]
        worst = np.fmin.reduce(gains, axis=(0, 2), initial=np.nan)
        failed = np.isin(self.states, (FAILED, EARLY))
        return np.where(failed, worst[None, :, None], gains)

    @property
    def standings(self) -> Floats:
        """Mean gain by `MISSING_RULE`, shape (n_labels, n_problems): what ranks compare.

        Minus infinity for an algorithm that failed in every repetition, NaN if it was skipped.
        """
        cells = nanmean(self.gains, axis=2)
        ok = (self.states == OK).any(axis=2)
        failed = np.isin(self.states, (FAILED, EARLY)).any(axis=2)
        return np.where(failed & ~ok, -np.inf, cells)

    def ranks(self) -> Floats:
        """Return the rank of each algorithm's mean on each data set, 1 the best, ties shared.

        NaN where the algorithm was skipped, or where nobody has a score.
        """
        cells = self.standings
        ranks = np.full(cells.shape, np.nan)
        for p in range(len(self.problems)):
            present = ~np.isnan(cells[:, p])
            if np.isfinite(cells[present, p]).any():
                ranks[present, p] = ranked(-significant(cells[present, p]))
        return ranks

    def less(self, label: str) -> ScoreTable:
        """Return the differences of all scores from those of one algorithm, pair by pair."""
        return replace(self, scores=self.scores - self.scores[self.labels.index(label)])

    def select(self, problems: Sequence[str]) -> ScoreTable:
        """Return the table of some of its data sets."""
        keep = [self.problems.index(problem) for problem in problems]
        return ScoreTable(
            self.labels,
            tuple(problems),
            tuple(self.directions[i] for i in keep),
            self.scores[:, keep],
            self.states[:, keep],
        )


def score_table(frame: pd.DataFrame, metric: str = "score") -> ScoreTable:
    """Return the table of a column (``score``, ``cpu_seconds``) or of one of the `metrics`.

    `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it.
    """
    labels = tuple(dict.fromkeys(frame["label"]))
    problems = tuple(dict.fromkeys(frame["data"]))
    repetitions = sorted(set(frame["repetition"]))
    shape = (len(labels), len(problems), len(repetitions))
    scores = np.full(shape, np.nan)
    states = np.full(shape, NOT_RUN, dtype=np.int8)
    in_column = metric in frame.columns
    for row in frame.itertuples():
        where = (
            labels.index(row.label),
            problems.index(row.data),
            repetitions.index(row.repetition),
        )
        value = getattr(row, metric) if in_column else row.metrics.get(metric)
        if row.status == "ok" and not row.complete:
            states[where] = EARLY
        elif row.status == "ok":
            states[where] = OK
            scores[where] = np.nan if value is None else value
        else:
            states[where] = SKIPPED if row.status == "skipped" else FAILED
    return ScoreTable(labels, problems, _directions(frame, problems), scores, states)


def ranked(values: Floats) -> Floats:
    """Return the rank of each of `values`, 1 the least; equal ones share their mean rank.

    Examples
    --------
    >>> ranked(np.array([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(counts) - (counts - 1) / 2
    return means[places]


def significant(values: Floats, digits: int = 9) -> Floats:
    """Return `values` rounded to `digits` significant digits, so that rounding errors are ties."""
    finite = np.isfinite(values) & (values != 0)
    scale = np.ones_like(values)
    scale[finite] = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values[finite]))))
    return np.where(finite, np.round(values * scale) / scale, values)


def nanmean(values: Floats, axis: int) -> Floats:
    """Return the mean of the numbers that are there; NaN, without a warning, of none."""
    n = np.isfinite(values).sum(axis=axis)
    total = np.where(np.isfinite(values), values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _directions(frame: pd.DataFrame, problems: tuple[str, ...]) -> tuple[str, ...]:
    found = []
    for problem in problems:
        rows = frame[(frame["data"] == problem) & (frame["status"] == "ok")]
        kinds = sorted(set(rows["direction"]))
        metrics = sorted(set(rows["metric"]))
        if len(kinds) > 1 or len(metrics) > 1:
            raise UsageError(
                f"results on {problem} have metrics {', '.join(metrics)} ({', '.join(kinds)}):"
                " only results of one metric can stand on one board"
            )
        found.append(kinds[0] if kinds else "min")
    return tuple(found)


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
    """Return values on the common scale, its name, and what a number on it says.

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
    """Return ChaCha's normalised score: 0 is as good as `zero`, 1 as good as `one`.

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
    """Return 1 for the best algorithm of each repetition, 0 for the worst; equals are all 1.

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
    """Return score over the best mean score of `references`, of datasets with a loss (``min``).

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
