"""The leaderboard: who is best, by how much, how sure, at what cost."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.inference import (
    NO_INTERVAL,
    Interval,
    geometric_mean,
    mean_interval,
    wilcoxon,
)
from leaseboard.tasks.score.table import (
    EARLY,
    FAILED,
    NOT_DONE,
    OK,
    SKIPPED,
    UNFINISHED,
    Floats,
    Scale,
    ScoreTable,
    nanmean,
    relative_losses,
    score_table,
)

ONE_SET_RULE = (
    "One dataset gives no ranks: algorithms are in the order of their mean scores, and other data"
    " may order them differently."
)
"""Statement of a leaderboard of one dataset, in place of places, mean ranks and tests."""


@dataclass(frozen=True, slots=True)
class Row:
    """One algorithm of the leaderboard, with how many of its jobs ended in which way."""

    name: str
    place: int
    """1 for the best mean rank; equal mean ranks share a place, and who has none is last."""
    rank: Interval
    """Mean rank over datasets, with the interval over datasets."""
    score: Interval
    """Mean score on the leaderboard's common scale, more is better."""
    raw: Interval
    """Mean of the score itself; only on a leaderboard of one dataset, else NaN."""
    wins: int
    ties: int
    losses: int
    """Against every other algorithm on every dataset, by mean score."""
    cpu_seconds: float
    """Mean CPU seconds of a finished job, NaN if none finished."""
    relative_cost: float
    """Geometric mean over datasets of its CPU seconds over the cheapest algorithm's."""
    n_ok: int
    n_failed: int
    n_skipped: int
    n_not_done: int
    n_ranked: int
    """On how many datasets it has a rank."""
    n_early: int = 0
    """Those that ended before their budget did."""
    oracle_baseline: bool = False
    """It declares to use what cannot be known in time."""
    baseline: bool = False
    """It is a naive baseline."""
    relative: Interval = NO_INTERVAL
    """Relative loss: its loss over the best baseline's, on several datasets the geometric mean;
    below 1 is better. NaN where no baseline has a loss."""

    @property
    def unfinished(self) -> dict[str, int]:
        """Numbers of jobs without a score, by their outcome."""
        counts = self.n_failed, self.n_early, self.n_skipped, self.n_not_done
        return dict(zip(UNFINISHED.values(), counts, strict=True))

    @property
    def n_jobs(self) -> int:
        """All its jobs, finished or not."""
        return self.n_ok + sum(self.unfinished.values())


@dataclass(frozen=True)
class Board:
    """Rows of the leaderboard, best first, and the scale of their scores."""

    table: ScoreTable
    rows: tuple[Row, ...]
    scale: str
    values: Floats
    lead: Interval | None = None
    """Lead of the first row's score over the second's, paired over datasets, of one over
    repetitions; None for fewer than two algorithms."""
    unscaled: tuple[str, ...] = ()
    """Datasets that the common scale leaves out, because it has no meaning there."""
    metric: str = "score"
    """Name of the score, or of the measure in its place."""
    meaning: str = ""
    """Meaning of a number on the scale, in sentences."""
    baselines: tuple[str, ...] = ()
    """Algorithms whose best loss is 1 on the scale of relative losses; empty without any."""
    without_relative: tuple[str, ...] = ()
    """Datasets that relative losses leave out, because their best baseline has loss 0."""

    @property
    def one_set(self) -> bool:
        """True if a single dataset has scores, which claims no rank: see `ONE_SET_RULE`."""
        return self.table.only is not None

    @property
    def lead_p(self) -> float:
        """p-value of the signed-rank test of the first two rows, over datasets.

        Of one dataset it is over repetitions, of which copies count once.
        """
        only, places = self.table.only, [self.table.labels.index(r.name) for r in self.rows[:2]]
        means = nanmean(self.values[places], axis=2)
        pairs = means if only is None else np.unique(self.table.gains[places, only], axis=1)
        return wilcoxon(*pairs[:, np.isfinite(pairs).all(axis=0)])

    @property
    def loss(self) -> str:
        """Name of what a relative loss divides: the metric, if all datasets have the same."""
        return "loss" if self.metric == "score" else metric_title(self.metric)

    @property
    def less_is_better(self) -> bool:
        """True if the score that its rows show is a loss."""
        only = self.table.only
        return only is not None and self.table.directions[only] == "min"

    @property
    def n_ranked(self) -> int:
        """Number of datasets on which any algorithm has a rank."""
        return int(np.isfinite(self.table.ranks()).any(axis=0).sum())


def leaderboard(frame: pd.DataFrame, scale: Scale | None = None) -> Board:
    """Return the leaderboard of results as `leaseboard.tasks.score.frame.as_frame` gives them."""
    scale = scale or Scale()
    table, cpu = score_table(frame), score_table(frame, "cpu_seconds")
    labels, only = table.labels, table.only
    values, ranks = scale.values(table), table.ranks()
    marks = {of: set(frame["name"][frame[of]]) for of in ("oracle_baseline", "baseline")}
    ratios = relative_losses(table, [*marks["baseline"]])
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    means, losses = (
        nanmean(each, axis=2) if only is None else each[:, only] for each in (values, ratios)
    )
    score, rank = ([mean_interval(each) for each in of] for of in (means, ranks))
    relative = [(geometric_mean if only is None else mean_interval)(each) for each in losses]
    raw = [NO_INTERVAL if only is None else mean_interval(each[only]) for each in table.scores]
    scores = np.array([each.value for each in score])
    standing = np.array([each.value for each in rank])
    standing = np.where(np.isfinite(standing), standing, np.inf)
    wins, ties, losses = pairwise_wins(ranks)
    costs, seconds = _relative_cost(cpu.means), nanmean(cpu.scores.reshape(len(labels), -1), 1)
    # The best mean rank first; equals by score, then the cheaper one first.
    order = np.lexsort(
        (
            np.nan_to_num(costs, nan=np.inf),
            -np.nan_to_num(scores.round(9), nan=-np.inf),
            standing.round(9),
        )
    )
    counts: list[dict[str, Any]] = [
        {name: int((states == state).sum()) for name, state in _COUNTS.items()}
        for states in table.states
    ]
    rows = [
        Row(
            name=labels[i],
            place=1 + int((standing < standing[i] - 1e-9).sum()),
            rank=rank[i],
            score=score[i],
            raw=raw[i],
            relative=relative[i],
            wins=int(wins[i]),
            ties=int(ties[i]),
            losses=int(losses[i]),
            cpu_seconds=float(seconds[i]),
            relative_cost=float(costs[i]),
            n_ranked=int(np.isfinite(ranks[i]).sum()),
            **counts[i],
            oracle_baseline=labels[i] in marks["oracle_baseline"],
            baseline=labels[i] in marks["baseline"],
        )
        for i in order
    ]
    no_loss = (table.means[[label in marks["baseline"] for label in labels]] <= 0).any(axis=0)
    no_loss &= table.signs < 0
    problems = np.array(table.problems)
    return Board(
        table=table,
        rows=tuple(rows),
        scale=scale.name,
        values=values,
        lead=mean_interval(means[order[0]] - means[order[1]]) if len(rows) > 1 else None,
        unscaled=tuple(problems[~np.isfinite(values).any(axis=(0, 2))].tolist()),
        metric=scale.metric,
        meaning=scale.meaning,
        baselines=tuple(r.name for r in rows if r.baseline and np.isfinite(r.relative.value)),
        without_relative=tuple(problems[no_loss].tolist()),
    )


_COUNTS = {"n_ok": OK, "n_failed": FAILED, "n_skipped": SKIPPED, "n_not_done": NOT_DONE,
           "n_early": EARLY}  # fmt: skip


def pairwise_wins(ranks: Floats) -> tuple[Floats, Floats, Floats]:
    """Return wins, ties and losses of each row against every other, over the columns both have.

    `ranks`, shape (n_labels, n_problems)

    Examples
    --------
    >>> [list(map(int, part)) for part in pairwise_wins(np.array([[1.0, 1.5], [2.0, 1.5]]))]
    [[1, 0], [1, 1], [0, 1]]
    """
    mine, theirs = ranks[:, None, :], ranks[None, :, :]
    ties = (mine == theirs).sum(axis=(1, 2)) - np.isfinite(ranks).sum(axis=1)  # with themselves
    return (mine < theirs).sum(axis=(1, 2)), ties, (mine > theirs).sum(axis=(1, 2))


def _relative_cost(cost: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        cheapest = np.fmin.reduce(np.where(cost > 0, cost, np.nan), axis=0, initial=np.nan)
        return np.asarray(np.exp(nanmean(np.log(cost / cheapest), axis=1)))
