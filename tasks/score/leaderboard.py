"""The leaderboard: who is best, by how much, how sure, at what cost; scores and their scales.

It is one data frame, of which every output is made: the terminal's table, the page, Markdown,
MLflow's metrics, and what `leaseboard.race` returns.
"""

from collections.abc import Collection
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import DIRECTIONS
from leaseboard.tasks.jobs.environments import KINDS
from leaseboard.tasks.jobs.job import UNDONE
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.inference import Interval, geometric_mean, mean_interval, significant

ROUNDING = 1e-12
"""Relative size of what differs only because sums were rounded."""

OK, FAILED, EARLY, SKIPPED, NOT_DONE = "ok", "failed", "ended early", "skipped", "not done"
"""Outcomes of a repetition."""

UNFINISHED = (FAILED, EARLY, SKIPPED, NOT_DONE)
"""Outcomes without a score."""


@dataclass(frozen=True)
class ScoreTable:
    """The scores of one metric: a row an algorithm, a column each repetition of each dataset.

    Both are in the order of the results.
    """

    scores: pd.DataFrame
    """As measured; NaN where one is missing."""
    states: pd.DataFrame
    """`OK`, `FAILED`, `SKIPPED`, `NOT_DONE`, or `EARLY` for an ending before the budget's."""
    directions: pd.Series
    """``min`` or ``max`` by dataset."""

    @property
    def only(self) -> str | None:
        """The single dataset, or the one of several that alone has any score."""
        scored = self.means.columns[self.means.notna().any()]
        found = self.directions.index if len(self.directions) == 1 else scored
        return str(found[0]) if len(found) == 1 else None

    @cached_property
    def signs(self) -> pd.Series:
        """Factors that make more better, by dataset."""
        return self.directions.map({"max": 1.0, "min": -1.0})

    @cached_property
    def means(self) -> pd.DataFrame:
        """Mean score of the finished repetitions by dataset."""
        return over_data(self.scores).mean().T

    @property
    def sds(self) -> pd.DataFrame:
        """Standard deviation (n - 1) over finished repetitions; NaN for fewer than two."""
        sds = over_data(self.scores).std().T
        return sds.mask(sds <= ROUNDING * self.means.abs(), 0.0)

    def wide(self, values: pd.Series) -> pd.Series:
        """Return values by dataset for each column of the scores."""
        columns = self.scores.columns
        return values[columns.get_level_values("data")].set_axis(columns)

    @cached_property
    def gains(self) -> pd.DataFrame:
        """Scores by which more is better, failures imputed by `summary.MISSING_RULE`."""
        gains = self.scores * self.wide(self.signs)
        worst = gains.min().groupby(level="data").min()
        return gains.where(~self.states.isin([FAILED, EARLY]), self.wide(worst), axis=1)

    @cached_property
    def standings(self) -> pd.DataFrame:
        """Mean gain by `summary.MISSING_RULE` and dataset: what ranks compare.

        Minus infinity for an algorithm that failed in every repetition, NaN if it was skipped.
        """
        ok = over_data(self.states == OK).any().T
        failed = over_data(self.states.isin([FAILED, EARLY])).any().T
        return over_data(self.gains).mean().T.mask(failed & ~ok, -np.inf)

    def ranks(self) -> pd.DataFrame:
        """Return the rank of each algorithm's mean on each dataset, 1 the best, ties shared.

        NaN where the algorithm was skipped, or where no one has a score.
        """
        cells = self.standings
        ranks = pd.DataFrame(-significant(cells.to_numpy()), cells.index, cells.columns).rank()
        return ranks.loc[:, np.isfinite(cells).any()].reindex(columns=cells.columns)


def over_data(values: pd.DataFrame) -> Any:
    """Return the columns of each dataset as the rows of a group."""
    return values.T.groupby(level="data", sort=False)


def score_table(frame: pd.DataFrame, metric: str = "score") -> ScoreTable:
    """Return the table of a column (``score``, ``cpu_seconds``) or of one of the `metrics`.

    `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it.
    """
    if metric not in frame.columns:
        frame = frame.assign(**{metric: [each.get(metric) for each in frame["metrics"]]})
    ok, complete = frame["status"] == "ok", frame["complete"].astype(bool)
    skipped, undone = frame["status"] == "skipped", frame["status"] == UNDONE
    states = np.select([ok & complete, ok, skipped, undone], [OK, EARLY, SKIPPED, NOT_DONE],
                       FAILED)  # fmt: skip
    values = frame[metric].astype("float64")
    values = values.where(ok & complete & np.isfinite(values))
    found = frame.assign(found=values, state=states)
    labels, problems = frame["name"].unique(), frame["data"].unique()
    repetitions = sorted(frame["repetition"].unique())
    places = pd.MultiIndex.from_product([problems, repetitions], names=["data", "repetition"])
    scores, states = (
        found.pivot(index="name", columns=places.names, values=of).reindex(labels, columns=places)
        for of in ("found", "state")
    )
    directions = {data: _direction(data, rows[rows["status"] == "ok"])
                  for data, rows in frame.groupby("data", sort=False)}  # fmt: skip
    return ScoreTable(scores, states.astype(object).fillna(NOT_DONE), pd.Series(directions))


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

    def values(self, table: ScoreTable) -> pd.DataFrame:
        """Return scores on the scale; NaN on the datasets that are `meaningless` on it."""
        named = self.zero is not None
        values = normalised(table, self.zero, self.one) if named else scaled(table)
        left_out = table.directions.index.to_series().isin(self.meaningless)
        return values.mask(table.wide(left_out), axis=1)


def normalised(table: ScoreTable, zero: str | None, one: str | None) -> pd.DataFrame:
    """Return ChaCha's normalised score: 0 is as good as `zero`, 1 as good as `one`.

    ``(L_zero - L) / (L_zero - L_one)``, with the mean scores of `zero` and `one` on the
    dataset; above 1 is better than `one` (Wu et al. 2021, section 5). NaN on datasets where it has
    no meaning: `one` is not better than `zero`, or one of them has no score.
    """
    means = table.means * table.signs
    base, best = (means.reindex([label]).iloc[0] for label in (zero, one))
    span = (best - base).where(best - base > ROUNDING * base.abs())
    above = table.gains - table.wide(base)
    return above.mask(above.abs() <= ROUNDING * table.wide(base.abs()), 0.0) / table.wide(span)


def scaled(table: ScoreTable) -> pd.DataFrame:
    """Return 1 for the best algorithm of each repetition, 0 for the worst; equals are all 1.

    A repetition that failed or ended early is 0, also where all that finished are equal.

    The scale of suites that name no ``normalise``. It depends on who takes part. Repetitions
    are scaled one by one because their splits, which all algorithms share, move all scores.
    """
    gains, failed = table.gains, table.states.isin([FAILED, EARLY])
    best, worst = gains.max(), gains.min()
    equal = best - worst <= ROUNDING * np.maximum(best.abs(), worst.abs())
    ratio = ((gains - worst) / (best - worst)).mask(equal, 1.0, axis=1)
    return ratio.mask(failed, 0.0).where(gains.notna())


def relative_losses(table: ScoreTable, references: NDArray[np.bool_]) -> pd.DataFrame:
    """Return score over the best mean score of `references`, of datasets with a loss (``min``).

    Below 1 is better than the best of them. A repetition that failed counts by
    `summary.MISSING_RULE`. NaN where the score is not a loss, no reference has one, or its loss
    is not positive.

    - `references`: marks them.
    """
    base = table.means[references].min()
    return -table.gains / table.wide(base.where((base > 0) & (table.signs < 0)))


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
        """True if a single dataset has scores, which ranks nothing: `summary.ONE_SET_RULE`."""
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
    baseline = table.scores.index.isin(frame["name"][frame["baseline"].astype(bool)])
    ratios = relative_losses(table, baseline)
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    if only is None:
        scores, losses = (over_data(each).mean().T for each in (values, ratios))
    else:
        scores, losses = table.scores[only], ratios[only]
    mean_loss = geometric_mean if only is None else mean_interval
    spans = {"score": map(mean_interval, scores.to_numpy()),
             "relative_loss": map(mean_loss, losses.to_numpy())}  # fmt: skip
    seconds = score_table(frame, "cpu_seconds")
    costs = seconds.means.where(seconds.means > 0)
    found = pd.concat(
        [pd.DataFrame(each, columns=[of, f"{of}_lower", f"{of}_upper"])
         for of, each in spans.items()], axis=1,
    )  # fmt: skip
    found.index = table.scores.index.rename("algorithm")
    found = found.assign(
        rank=ranks.mean(axis=1),
        **_tested(frame, table, scale),
        cpu_seconds=seconds.scores.mean(axis=1),
        relative_cost=np.exp(np.log(costs / costs.min()).mean(axis=1)),
        **{how: (table.states == how).sum(axis=1) for how in (OK, *UNFINISHED)},
        ranked=ranks.notna().sum(axis=1),
        baseline=baseline,
        jobs=table.states.shape[1],
    )
    found["place"] = found["rank"].round(9).rank(method="min", na_option="bottom").astype(int)
    # The best mean rank first; equals by score, then the cheaper one first.
    gains = over_data(values if only is None else values[[only]]).mean().T
    found["gain"] = -gains.mean(axis=1).round(9)
    found = found.sort_values(["place", "gain", "relative_cost"], kind="stable")
    no_loss = (table.means[baseline] <= 0).any() & (table.signs < 0)
    return Board(
        frame=found.drop(columns="gain"),
        table=table,
        scale=scale,
        without_relative=tuple(no_loss.index[no_loss]),
    )


def _tested(frame: pd.DataFrame, table: ScoreTable, scale: Scale) -> dict[str, Any]:
    """Return means and mean ranks by test score, where jobs chose by a validation score."""
    only, tested = table.only, score_table(frame, TEST)
    # A measure may be in the place of the score: it is no choice by validation.
    chosen = scale.metric not in DIRECTIONS and (frame["environment"].map(KINDS) == "arm").any()
    if not chosen or tested.means.isna().all(axis=None):
        return {"test": np.nan, "test_rank": np.nan}
    if only is not None:
        return {"test": tested.means[only], "test_rank": np.nan}
    # Datasets without a meaning on the common scale count here.
    values = over_data(Scale(scale.zero, scale.one).values(tested)).mean().T
    return {"test": values.mean(axis=1), "test_rank": tested.ranks().mean(axis=1)}
