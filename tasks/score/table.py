"""Scores as an array: algorithms x data sets x repetitions, with what is missing and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError

Floats = NDArray[np.float64]

ROUNDING = 1e-12
"""Relative size of what differs only because sums were rounded."""

NOT_RUN, OK, FAILED, SKIPPED, EARLY = range(5)
"""What became of a cell's repetition."""

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
        worst = np.array([_least(gains[:, p]) for p in range(len(self.problems))])
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
        """Rank of each algorithm's mean on each data set, 1 the best, ties shared.

        NaN where the algorithm was skipped, or where nobody has a score.
        """
        cells = self.standings
        ranks = np.full(cells.shape, np.nan)
        for p in range(len(self.problems)):
            present = ~np.isnan(cells[:, p])
            if np.isfinite(cells[present, p]).any():
                ranks[present, p] = ranked(-significant(cells[present, p]))
        return ranks

    def select(self, problems: Sequence[str]) -> ScoreTable:
        """The table of some of its data sets."""
        keep = [self.problems.index(problem) for problem in problems]
        return ScoreTable(
            self.labels,
            tuple(problems),
            tuple(self.directions[i] for i in keep),
            self.scores[:, keep],
            self.states[:, keep],
        )


def score_table(frame: pd.DataFrame, metric: str = "score") -> ScoreTable:
    """The table of a column (``score``, ``cpu_seconds``) or of one of the results' `metrics`.

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
    """The rank of each of `values`, shape (n,), 1 the least; equal ones share their mean rank.

    Examples
    --------
    >>> ranked(np.array([0.5, 0.1, 0.5])).tolist()
    [2.5, 1.0, 2.5]
    """
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    means: Floats = np.cumsum(counts) - (counts - 1) / 2
    return means[places]


def significant(values: Floats, digits: int = 9) -> Floats:
    """`values` rounded to `digits` significant digits, so that rounding errors are ties."""
    finite = np.isfinite(values) & (values != 0)
    scale = np.ones_like(values)
    scale[finite] = 10.0 ** (digits - 1 - np.floor(np.log10(np.abs(values[finite]))))
    return np.where(finite, np.round(values * scale) / scale, values)


def nanmean(values: Floats, axis: int) -> Floats:
    """The mean of the numbers that are there; NaN, without a warning, where there are none."""
    n = np.isfinite(values).sum(axis=axis)
    total = np.where(np.isfinite(values), values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _least(values: Floats) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.min()) if finite.size else np.nan


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
