"""Measures beside the score: told in a line, or what a board ranks by."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from algorithms.benches.measures import DIRECTIONS, SKILL, loss_of, skill_over
from algorithms.errors import UsageError, unknown
from tasks.score.frame import finished


def told(metrics: Mapping[str, float], best: str = "") -> str:
    """The measures among `metrics` in one line; empty if there are none.

    `best`: the baseline over which the skill is.

    Examples
    --------
    >>> told({"rmse": 3.25, "mae": 2.0, "skill": 0.6, "models_per_example": 5}, "last-label")
    'rmse 3.25, mae 2, skill 0.6 (relative loss 0.4) over last-label'
    """
    found = [f"{name} {metrics[name]:.4g}" for name in DIRECTIONS if name in metrics]
    if best and SKILL in metrics:
        found[-1] += f" (relative loss {1 - metrics[SKILL]:.4g}) over {best}"
    return ", ".join(found)


def check_measure(name: str) -> str:
    """`name`; UsageError with the nearest one if it is no measure of streams."""
    if name not in DIRECTIONS:
        raise unknown("metric", name, DIRECTIONS)
    return name


def by_measure(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The frame of results with a measure in the place of the score.

    Skill is over the best of the results' own baselines, on the same data and repetition. Data
    sets where no job has the measure, such as those of classes by ``rmse``, are left out.

    Raises UsageError if no job has it.
    """
    direction = DIRECTIONS[check_measure(name)]
    values = _skills(frame) if name == SKILL else [m.get(name, math.nan) for m in frame["metrics"]]
    found = frame.assign(score=values, metric=name, direction=direction)
    measured = set(found.loc[found["score"].notna(), "data"])
    if not measured:
        mend = "run it beside a baseline such as last-label" if name == SKILL else "take another"
        raise UsageError(f"no job has the metric {name!r}: {mend}, or rank by the score")
    return found[found["data"].isin(measured)].reset_index(drop=True)


def _skills(frame: pd.DataFrame) -> list[float]:
    losses = pd.Series([loss_of(metrics) for metrics in frame["metrics"]], frame.index)
    losses = losses.astype("float64").where(finished(frame))
    where = list(zip(frame["data"], frame["repetition"], strict=True))
    of_baselines: dict[tuple[str, int], list[float]] = {}
    for place, is_baseline, loss in zip(where, frame["baseline"], losses, strict=True):
        if is_baseline and not math.isnan(loss):
            of_baselines.setdefault(place, []).append(loss)
    return [
        skill_over(of_baselines.get(place, ()), loss)
        for place, loss in zip(where, losses, strict=True)
    ]
