"""The leaderboard: who is best, by how much, how sure, at what cost.

It is one data frame, of which every output is made: the terminal's table, the page, Markdown,
MLflow's metrics, and what `leaseboard.race` returns.
"""

from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.algorithms.measures import DIRECTIONS
from leaseboard.tasks.jobs.environments.kinds import choosing
from leaseboard.tasks.score.frame import metric_title
from leaseboard.tasks.score.inference import Interval, geometric_mean, mean_interval
from leaseboard.tasks.score.table import (
    OK,
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
    - ``baseline``, ``oracle_baseline``.
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
    baseline, oracle = (
        np.isin(table.labels, frame["name"][frame[of].astype(bool)])
        for of in ("baseline", "oracle_baseline")
    )
    ratios = relative_losses(table, baseline)
    # What intervals are over: dataset means, or the repetitions of a single dataset.
    if only is None:
        scores, losses = (nanmean(each, axis=2) for each in (values, ratios))
    else:
        scores, losses = table.scores[:, only], ratios[:, only]
    mean_loss = geometric_mean if only is None else mean_interval
    spans = {"score": map(mean_interval, scores), "relative_loss": map(mean_loss, losses)}
    seconds = score_table(frame, "cpu_seconds")
    found = pd.concat(
        [pd.DataFrame(each, columns=[of, f"{of}_lower", f"{of}_upper"])
         for of, each in spans.items()], axis=1,
    )  # fmt: skip
    found = found.assign(
        algorithm=table.labels,
        rank=nanmean(ranks, axis=1),
        **_tested(frame, table, scale),
        cpu_seconds=nanmean(seconds.scores.reshape(len(ranks), -1), axis=1),
        relative_cost=_relative_cost(seconds.means),
        **{
            how: (table.states == state).sum(axis=(1, 2))
            for state, how in {OK: "ok", **UNFINISHED}.items()
        },
        ranked=np.isfinite(ranks).sum(axis=1),
        baseline=baseline,
        oracle_baseline=oracle,
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


def _relative_cost(cost: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        cheapest = np.fmin.reduce(np.where(cost > 0, cost, np.nan), axis=0, initial=np.nan)
        return np.asarray(np.exp(nanmean(np.log(cost / cheapest), axis=1)))
