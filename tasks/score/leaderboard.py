"""The leaderboard: who is best, by how much, how sure, at what cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
import pandas as pd

from leaseboard.tasks.score.inference import Interval, interval, resampled_means
from leaseboard.tasks.score.table import (
    EARLY,
    FAILED,
    NOT_RUN,
    OK,
    SKIPPED,
    UNFINISHED,
    Floats,
    ScoreTable,
    nanmean,
    on_scale,
    relative_losses,
    score_table,
)

ONE_SET_RULE = (
    "One data set claims no rank, for it says nothing of others: algorithms stand in the order of"
    " their mean scores."
)
"""What a board of one data set says in the place of places, mean ranks and tests."""

NO_LOSS = -1e300
"""The logarithm of no loss at all in geometric means, which are 0 with it."""

_NOTHING = Interval(np.nan, np.nan, np.nan)


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm of the board, with how many of its jobs ended in which way."""

    label: str
    place: int
    """1 for the best mean rank; equal mean ranks share a place, and who has none is last."""
    rank: Interval
    """Mean rank over data sets, with the bootstrap interval over data sets."""
    score: Interval
    """Mean score on the board's common scale, more is better."""
    raw: Interval
    """Mean of the score itself; only on a board of one data set, else NaN."""
    wins: int
    ties: int
    losses: int
    """Against every other algorithm on every data set, by mean score."""
    cpu_seconds: float
    """Mean CPU seconds of a finished job, NaN if none finished."""
    relative_cost: float
    """Geometric mean over data sets of its CPU seconds over the cheapest algorithm's."""
    n_ok: int
    n_failed: int
    n_skipped: int
    n_not_run: int
    n_ranked: int
    """On how many data sets it has a rank."""
    n_early: int = 0
    """Those that ended before their budget did."""
    hindsight: bool = False
    """It declares to use what cannot be known in time."""
    baseline: bool = False
    """It is what a person would try first."""
    relative: Interval = _NOTHING
    """Relative loss: its loss over the best baseline's, on several datasets the geometric mean;
    below 1 is better. NaN where no baseline has a loss."""

    @property
    def unfinished(self) -> dict[str, int]:
        """How many jobs have no score, by what became of them."""
        counts = self.n_failed, self.n_early, self.n_skipped, self.n_not_run
        return dict(zip(UNFINISHED.values(), counts, strict=True))

    @property
    def n_jobs(self) -> int:
        """All its jobs, whatever became of them."""
        return self.n_ok + sum(self.unfinished.values())


@dataclass(frozen=True)
class Board:
    """The rows, best first, and what the scale of their scores is."""

    table: ScoreTable
    rows: tuple[Row, ...]
    scale: str
    values: Floats
    lead: Interval | None = None
    """How far the first row's score is ahead of the second's, paired over data sets and
    repetitions; None for fewer than two algorithms."""
    unscaled: tuple[str, ...] = field(default=())
    """Data sets that the common scale leaves out, because it has no meaning there."""
    metric: str = "score"
    """What is compared: the score, or a measure in its place."""
    meaning: str = ""
    """What a number on the scale says, in sentences."""
    baselines: tuple[str, ...] = ()
    """Whose best loss is 1 on the scale of relative losses; empty where no such loss is."""
    without_relative: tuple[str, ...] = ()
    """Datasets that relative losses leave out, because their best baseline has loss 0."""

    @property
    def one_set(self) -> bool:
        """Whether one data set alone has scores, which claims no rank: see `ONE_SET_RULE`."""
        return self.table.only is not None

    @property
    def less_is_better(self) -> bool:
        """Of the score that its rows show."""
        only = self.table.only
        return only is not None and self.table.directions[only] == "min"

    @property
    def n_ranked(self) -> int:
        """On how many data sets anybody has a rank."""
        return int(np.isfinite(self.table.ranks()).any(axis=0).sum())


def leaderboard(
    frame: pd.DataFrame,
    zero: str | None = None,
    one: str | None = None,
    meaningless: tuple[str, ...] = (),
    metric: str = "score",
) -> Board:
    """Return the board of a frame of results (see `leaseboard.tasks.score.frame.as_frame`).

    - `zero`, `one`: the algorithms whose scores are 0 and 1 on the common scale; without them the
      worst (and whatever failed) and the best algorithm of each data set are.
    - `meaningless`: data sets that the suite leaves out of the common scale. They are ranked all
      the same.
    - `metric`: what the frame's scores are.
    """
    table = score_table(frame)
    values, scale, meaning = on_scale(table, zero, one, meaningless, metric)
    samples = resampled_means(values)
    estimates = nanmean(nanmean(values, axis=2), axis=1)
    ranks = table.ranks()
    mean_ranks = nanmean(ranks, axis=1)
    standing = np.where(np.isfinite(mean_ranks), mean_ranks, np.inf)
    rank_samples = resampled_means(ranks[:, :, None])
    wins, ties, losses = duels(ranks)
    cpu = score_table(frame, "cpu_seconds")
    costs = _relative_cost(cpu.means)
    seconds = nanmean(cpu.scores.reshape(len(table.labels), -1), axis=1)
    only = table.only
    raw = np.full((len(table.labels), 1, 1), np.nan) if only is None else table.scores[:, [only]]
    means = nanmean(raw[:, 0], axis=1)
    raw_samples = np.full_like(samples, np.nan) if only is None else resampled_means(raw)
    hindsight, baselines = (set(frame["label"][frame[of]]) for of in ("hindsight", "baseline"))
    ratios = relative_losses(table, [*baselines])
    with np.errstate(divide="ignore"):  # of no loss at all: finite, for means leave out the rest
        logs = np.nan_to_num(np.log(nanmean(ratios, axis=2)), nan=np.nan, neginf=NO_LOSS)
    shown = logs[:, :, None] if only is None else ratios[:, [only]]
    no_loss = (table.means[[label in baselines for label in table.labels]] <= 0).any(axis=0)
    no_loss &= np.array(table.directions) == "min"
    relative_means, relative_samples = (
        np.exp(found) if only is None else found
        for found in (nanmean(nanmean(shown, axis=2), axis=1), resampled_means(shown))
    )
    rows = []
    for i in _order(mean_ranks, estimates, costs):
        states = table.states[i]
        rows.append(
            Row(
                label=table.labels[i],
                place=1 + int((standing < standing[i] - 1e-9).sum()),
                rank=interval(mean_ranks[i], rank_samples[:, i]),
                score=interval(estimates[i], samples[:, i]),
                raw=interval(means[i], raw_samples[:, i]),
                relative=interval(relative_means[i], relative_samples[:, i]),
                wins=int(wins[i]),
                ties=int(ties[i]),
                losses=int(losses[i]),
                cpu_seconds=float(seconds[i]),
                relative_cost=float(costs[i]),
                n_ok=int((states == OK).sum()),
                n_failed=int((states == FAILED).sum()),
                n_skipped=int((states == SKIPPED).sum()),
                n_not_run=int((states == NOT_RUN).sum()),
                n_ranked=int(np.isfinite(ranks[i]).sum()),
                n_early=int((states == EARLY).sum()),
                hindsight=table.labels[i] in hindsight,
                baseline=table.labels[i] in baselines,
            )
        )
    everywhere = np.asarray(np.isfinite(values).any(axis=(0, 2)))
    return Board(
        table=table,
        rows=tuple(rows),
        scale=scale,
        values=values,
        lead=_lead(table, rows, estimates, samples),
        unscaled=tuple(
            p for p, there in zip(table.problems, everywhere.tolist(), strict=True) if not there
        ),
        metric=metric,
        meaning=meaning,
        baselines=tuple(
            row.label for row in rows if row.baseline and math.isfinite(row.relative.value)
        ),
        without_relative=tuple(np.array(table.problems)[no_loss].tolist()),
    )


def duels(ranks: Floats) -> tuple[Floats, Floats, Floats]:
    """Return wins, ties and losses of each row against every other, over the columns both have.

    `ranks`, shape (n_labels, n_problems)

    Examples
    --------
    >>> [list(map(int, part)) for part in duels(np.array([[1.0, 1.5], [2.0, 1.5]]))]
    [[1, 0], [1, 1], [0, 1]]
    """
    mine, theirs = ranks[:, None, :], ranks[None, :, :]
    ties = (mine == theirs).sum(axis=(1, 2)) - np.isfinite(ranks).sum(axis=1)  # with themselves
    return (mine < theirs).sum(axis=(1, 2)), ties, (mine > theirs).sum(axis=(1, 2))


def _order(mean_ranks: Floats, scores: Floats, costs: Floats) -> list[int]:
    """Return the best mean rank first; equals by score, then the cheaper one first."""
    worst = np.nan_to_num(scores.round(9), nan=-np.inf)
    ranks, costs = (np.nan_to_num(each, nan=np.inf) for each in (mean_ranks.round(9), costs))
    found: list[int] = np.lexsort((costs, -worst, ranks)).tolist()
    return found


def _lead(
    table: ScoreTable, rows: list[Row], estimates: Floats, samples: Floats
) -> Interval | None:
    if len(rows) < 2:
        return None
    first, second = (table.labels.index(row.label) for row in rows[:2])
    return interval(estimates[first] - estimates[second], samples[:, first] - samples[:, second])


def _relative_cost(cost: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        cheapest = np.fmin.reduce(np.where(cost > 0, cost, np.nan), axis=0, initial=np.nan)
        return np.asarray(np.exp(nanmean(np.log(cost / cheapest), axis=1)))
