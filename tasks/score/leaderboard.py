"""The leaderboard: who is best, by how much, how sure, at what cost; scores and their scales.

It is one data frame, of which every output is made: the terminal's table, the page, Markdown,
MLflow's metrics, and what `leaseboard.race` returns.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import DIRECTIONS
from leaseboard.tasks.jobs.environments import choosing
from leaseboard.tasks.jobs.job import UNDONE
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.inference import (
    Floats,
    Interval,
    geometric_mean,
    mean_interval,
    significant,
)

ROUNDING = 1e-12
"""Relative size of what differs only because sums were rounded."""

NOT_DONE, OK, FAILED, SKIPPED, EARLY = range(5)
"""Outcomes of a repetition."""

UNFINISHED = {FAILED: "failed", EARLY: "ended early", SKIPPED: "skipped", NOT_DONE: "not done"}
"""Outcomes without a score, in words."""

MISSING_RULE = (
    "A repetition that failed (timeout, memout, crash, diverged), or ended early, before it had"
    " consumed its budget, counts as the worst score that any algorithm reached on that dataset;"
    " an algorithm without any score there ranks last."
    " A job that was skipped or is not done is left out, for that algorithm on that dataset only."
    " Means and spreads of raw scores are of finished repetitions alone."
)
"""The rule that every table of the leaderboard states."""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one metric."""

    labels: tuple[str, ...]
    problems: tuple[str, ...]
    """The algorithms and the datasets, in the order of the results."""
    directions: tuple[str, ...]
    """``min`` or ``max``, one a dataset."""
    scores: Floats
    """As measured; NaN where one is missing, shape (n_labels, n_problems, n_repetitions)."""
    states: NDArray[np.int8]
    """`OK`, `FAILED`, `SKIPPED`, `NOT_DONE`, or `EARLY` for an ending before the budget's."""

    @property
    def only(self) -> int | None:
        """The place of a single dataset, or of the one of several that alone has any score."""
        if len(self.problems) == 1:
            return 0
        scored = np.flatnonzero(np.isfinite(self.scores).any(axis=(0, 2))).tolist()
        return int(scored[0]) if len(scored) == 1 else None

    @property
    def signs(self) -> Floats:
        """Factors that make more better, one a dataset."""
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
        """Scores with signs by which more is better, failures imputed by `MISSING_RULE`."""
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
        """Return the rank of each algorithm's mean on each dataset, 1 the best, ties shared.

        NaN where the algorithm was skipped, or where no one has a score.
        """
        cells = self.standings
        ranks = pd.DataFrame(-significant(cells)).rank().to_numpy()
        return np.where(np.isfinite(cells).any(axis=0), ranks, np.nan)


def score_table(frame: pd.DataFrame, metric: str = "score") -> ScoreTable:
    """Return the table of a column (``score``, ``cpu_seconds``) or of one of the `metrics`.

    `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it.
    """
    values = (
        frame[metric]
        if metric in frame.columns
        else pd.Series([each.get(metric) for each in frame["metrics"]], frame.index)
    )
    ok, complete = frame["status"] == "ok", frame["complete"].astype(bool)
    skipped, undone = frame["status"] == "skipped", frame["status"] == UNDONE
    states = np.select([ok & complete, ok, skipped, undone], [OK, EARLY, SKIPPED, NOT_DONE],
                       FAILED)  # fmt: skip
    coded = [pd.factorize(frame["name"]), pd.factorize(frame["data"]),
             pd.factorize(frame["repetition"], sort=True)]  # fmt: skip
    places = tuple(codes for codes, _ in coded)
    (_, labels), (_, problems), _ = coded
    table = ScoreTable(
        tuple(labels),
        tuple(problems),
        tuple(
            _direction(data, rows[rows["status"] == "ok"])
            for data, rows in frame.groupby("data", sort=False)
        ),
        np.full([len(names) for _, names in coded], np.nan),
        np.full([len(names) for _, names in coded], NOT_DONE, dtype=np.int8),
    )
    table.scores[places] = values.astype("float64").where(ok & complete)
    table.states[places] = states
    return table


def nanmean(values: Floats, axis: int) -> Floats:
    """Return the mean of the finite numbers; NaN, without a warning, of none."""
    n = np.isfinite(values).sum(axis=axis)
    total = np.where(np.isfinite(values), values, 0.0).sum(axis=axis)
    return np.where(n > 0, total / np.maximum(n, 1), np.nan)


def _direction(data: object, rows: pd.DataFrame) -> str:
    """Return the direction of the finished jobs of a dataset."""
    kinds, metrics = sorted(set(rows["direction"])), sorted(set(rows["metric"]))
    if len(kinds) > 1 or len(metrics) > 1:
        raise UsageError(
            f"results on {data} have metrics {', '.join(metrics)} ({', '.join(kinds)}):"
            " a leaderboard compares results of one metric"
        )
    return kinds[0] if kinds else "min"


@dataclass(frozen=True)
class Scale:
    """Common scale of the scores of several datasets.

    It is `normalised` where `zero` and `one` are named, else `scaled`.
    """

    zero: str | None = None
    one: str | None = None
    """Algorithms whose scores are 0 and 1."""
    meaningless: Collection[str] = ()
    """Datasets that the suite leaves out; they are ranked nevertheless."""
    metric: str = "score"

    @property
    def name(self) -> str:
        """Name of the scale."""
        metric = metric_title(self.metric)
        if self.zero is not None:
            return f"normalised {metric}: {self.zero} is 0, {self.one} is 1"
        return f"scaled {metric}: in each repetition the worst and any failure are 0, the best 1"

    def values(self, table: ScoreTable) -> Floats:
        """Return scores on the scale; NaN on the datasets that are `meaningless` on it."""
        named = self.zero is not None
        values = normalised(table, self.zero, self.one) if named else scaled(table)
        values[:, [problem in self.meaningless for problem in table.problems]] = np.nan
        return values


def normalised(table: ScoreTable, zero: str | None, one: str | None) -> Floats:
    """Return ChaCha's normalised score: 0 is as good as `zero`, 1 as good as `one`.

    ``(L_zero - L) / (L_zero - L_one)``, with the mean scores of `zero` and `one` on the
    dataset; above 1 is better than `one` (Wu et al. 2021, section 5).

    Returns
    -------
    ndarray, shape (n_labels, n_problems, n_repetitions)
        NaN on datasets where it has no meaning: `one` is not better than `zero`, or one of
        them has no score.
    """
    gains = table.gains
    means = pd.DataFrame(table.means * table.signs, index=list(table.labels))
    base, best = (means.reindex([label]).to_numpy()[0] for label in (zero, one))
    with np.errstate(invalid="ignore"):
        span = np.where(best - base > ROUNDING * np.abs(base), best - base, np.nan)
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


def relative_losses(table: ScoreTable, references: NDArray[np.bool_]) -> Floats:
    """Return score over the best mean score of `references`, of datasets with a loss (``min``).

    Below 1 is better than the best of them. A repetition that failed counts by `MISSING_RULE`.

    - `references`, shape (n_labels,): marks them.

    Returns
    -------
    ndarray, shape (n_labels, n_problems, n_repetitions)
        NaN where the score is not a loss, no reference has one, or its loss is not positive.
    """
    with np.errstate(invalid="ignore"):
        base = np.fmin.reduce(table.means[references], axis=0, initial=np.nan)
        usable = (base > 0) & (table.signs < 0)
    return np.asarray(-table.gains / np.where(usable, base, np.nan)[None, :, None])


ONE_SET_RULE = (
    "One dataset gives no ranks: algorithms are in the order of their mean scores, and other data"
    " may order them differently."
)
"""Statement of a leaderboard of one dataset, in place of places, mean ranks and tests."""
TEST = "test"
"""Metric of the results: the test score of a policy's choice by validation."""


@dataclass(frozen=True)
class Board:
    """Leaderboard of a run."""

    frame: pd.DataFrame
    """A row an algorithm, the best first, by name:

    - ``place``: 1 for the best mean rank; equal ones share a place, and who has none is last;
    - ``rank``: mean over datasets; ``score``: mean on the common scale, more is better, of one
      dataset the mean score itself; ``relative_loss``: the loss over the best baseline's, over
      several datasets the geometric mean; NaN where no baseline has a loss; the ends of the
      intervals of both, such as ``score_lower``, ``score_upper``;
    - ``test``, ``test_rank``: score and rank by the test score, which no algorithm saw; NaN where
      the leaderboard does not rank by validation;
    - ``cpu_seconds``: mean of a finished job; ``relative_cost``: over the cheapest algorithm's,
      the geometric mean over datasets;
    - ``ok``, ``failed``, ``ended early``, ``skipped``, ``not done``, ``jobs``: numbers of jobs;
    - ``ranked``: on how many datasets it has a rank;
    - ``baseline``.
    """
    table: ScoreTable
    scale: Scale
    without_relative: tuple[str, ...] = ()
    """Datasets that relative losses leave out, because their best baseline has loss 0."""

    @property
    def one_set(self) -> bool:
        """True if a single dataset has scores, which claims no rank: see `ONE_SET_RULE`."""
        return self.table.only is not None

    @property
    def has_baselines(self) -> bool:
        """True if any relative loss is known."""
        return bool(self.frame["relative_loss"].notna().any())

    @property
    def has_tests(self) -> bool:
        """True if any test score is known."""
        return bool(self.frame["test"].notna().any())

    @property
    def score_name(self) -> str:
        """Name of the score column."""
        only = self.table.only
        if only is None:
            return self.scale.name
        better = "less" if self.table.directions[only] == "min" else "more"
        return f"{metric_title(self.scale.metric)}, {better} is better"

    def span(self, name: str, of: str) -> Interval:
        """Return the interval of algorithm `name` in ``score`` or ``relative_loss``."""
        return Interval(*self.frame.loc[name, [of, f"{of}_lower", f"{of}_upper"]])


def leaderboard(frame: pd.DataFrame, scale: Scale | None = None) -> Board:
    """Return the leaderboard of results as `leaseboard.tasks.score.frame.as_frame` gives them."""
    scale, table = scale or Scale(), score_table(frame)
    only, values, ranks = table.only, scale.values(table), table.ranks()
    baseline = np.isin(table.labels, frame["name"][frame["baseline"].astype(bool)])
    ratios = relative_losses(table, baseline)
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    if only is None:
        scores, losses = (nanmean(each, axis=2) for each in (values, ratios))
    else:
        scores, losses = table.scores[:, only], ratios[:, only]
    mean_loss = geometric_mean if only is None else mean_interval
    spans = {"score": map(mean_interval, scores), "relative_loss": map(mean_loss, losses)}
    seconds = score_table(frame, "cpu_seconds")
    costs = np.where(seconds.means > 0, seconds.means, np.nan)
    cheapest = np.fmin.reduce(costs, axis=0, initial=np.nan)
    found = pd.concat(
        [pd.DataFrame(each, columns=[of, f"{of}_lower", f"{of}_upper"])
         for of, each in spans.items()], axis=1,
    )  # fmt: skip
    found = found.assign(
        algorithm=table.labels,
        rank=nanmean(ranks, axis=1),
        **_tested(frame, table, scale),
        cpu_seconds=nanmean(seconds.scores.reshape(len(ranks), -1), axis=1),
        relative_cost=np.exp(nanmean(np.log(costs / cheapest), axis=1)),
        **{
            how: (table.states == state).sum(axis=(1, 2))
            for state, how in {OK: "ok", **UNFINISHED}.items()
        },
        ranked=np.isfinite(ranks).sum(axis=1),
        baseline=baseline,
    )
    found["jobs"] = found[["ok", *UNFINISHED.values()]].sum(axis=1)
    found["place"] = found["rank"].round(9).rank(method="min", na_option="bottom").astype(int)
    # The best mean rank first; equals by score, then the cheaper one first.
    gains = values if only is None else values[:, [only]]
    found["gain"] = -nanmean(nanmean(gains, axis=2), axis=1).round(9)
    found = found.sort_values(["place", "gain", "relative_cost"], kind="stable")
    no_loss = (table.means[baseline] <= 0).any(axis=0) & (table.signs < 0)
    return Board(
        frame=found.drop(columns="gain").set_index("algorithm"),
        table=table,
        scale=scale,
        without_relative=tuple(np.array(table.problems)[no_loss].tolist()),
    )


def _tested(frame: pd.DataFrame, table: ScoreTable, scale: Scale) -> dict[str, Floats]:
    """Return means and mean ranks by test score, where jobs chose by a validation score."""
    nothing, only = np.full(len(table.labels), np.nan), table.only
    # A measure may be in the place of the score: it is no choice by validation.
    chosen = scale.metric not in DIRECTIONS and frame["environment"].isin(choosing("arm")).any()
    tested = score_table(frame, TEST)
    if not chosen or not np.isfinite(tested.scores).any():
        return {"test": nothing, "test_rank": nothing}
    if only is not None:
        return {"test": tested.means[:, only], "test_rank": nothing}
    # Datasets without a meaning on the common scale count here.
    values = Scale(scale.zero, scale.one).values(tested)
    means, ranks = nanmean(nanmean(values, axis=2), axis=1), nanmean(tested.ranks(), axis=1)
    return {"test": means, "test_rank": ranks}
