"""The frame of results, one row a job; and the measures that may take the place of the score."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.algorithms.benches.measures import DIRECTIONS, SKILL, loss_of, skill_over
from leaseboard.algorithms.errors import UsageError, unknown
from leaseboard.tasks.jobs.job import Result

COLUMNS = tuple(field.name for field in dataclasses.fields(Result))
MAPPINGS = ("metrics", "champion", "settings", "bench_options")
"""Columns that hold a mapping; ``results.parquet`` stores them as JSON text."""


def to_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return one row a result, in order; mappings stay mappings."""
    return pd.DataFrame([_row(result) for result in results], columns=list(COLUMNS))


def as_frame(results: pd.DataFrame | Iterable[Result]) -> pd.DataFrame:
    """Return a checked frame with every column of `Result`, its mappings decoded.

    Raises UsageError if a column is missing, or two results claim the same algorithm, data and
    repetition.
    """
    frame = results.copy() if isinstance(results, pd.DataFrame) else to_frame(results)
    for name in ("label", "data", "repetition", "status", "score", "direction"):
        if name not in frame.columns:
            raise UsageError(f"results without a column {name!r}: they are of another version")
    for field in dataclasses.fields(Result):
        if field.name not in frame.columns:
            default = field.default if isinstance(field.default, (str, bool)) else None
            frame[field.name] = default
    for name in MAPPINGS:
        frame[name] = [_decoded(value) for value in frame[name]]
    frame["label"] = frame["label"].where(frame["label"] != "", frame["algorithm"])
    frame["score"] = frame["score"].astype("float64")
    twins = frame.duplicated(["label", "data", "repetition"])
    if twins.any():
        label, data, repetition = frame.loc[twins, ["label", "data", "repetition"]].iloc[0]
        raise UsageError(
            f"two results for {label} on {data}, repetition {repetition}:"
            " give each setting of an algorithm its own label"
        )
    return frame.reset_index(drop=True)


def finished(frame: pd.DataFrame) -> pd.Series:
    """Return which rows have a score that others can be compared with: ok, and not ended early."""
    return (frame["status"] == "ok") & frame["complete"].astype(bool)


def scoreless(frame: pd.DataFrame) -> pd.Series:
    """Return which rows have no such score although their jobs were run."""
    return ~finished(frame) & (frame["status"] != "skipped")


def rows_cut(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return how many rows of which datasets were used, of those that were not used whole.

    - `names`: what datasets are called, by reference.
    """
    used = frame[["rows", "rows_available"]].astype("float64")
    cut = used["rows"].notna() & ~(used["rows"] >= used["rows_available"])
    said = []
    for data, mine in used[cut].groupby(frame["data"], sort=False):
        least, most = mine["rows"].min(), mine["rows"].max()
        text = f"{least:,.0f}" + (f" to {most:,.0f}" if most > least else "")
        whole = mine["rows_available"].max()
        of = ", and the source may have more" if math.isnan(whole) else f" of {whole:,.0f}"
        said.append(f"{names.get(data, data)}: {text}{of}")
    return f"Rows used: {'; '.join(said)}." if said else ""


def _row(result: Result) -> dict[str, Any]:
    return {name: getattr(result, name) for name in COLUMNS}


def _decoded(value: Any) -> Any:
    if isinstance(value, str):
        return json.loads(value) if value else {}
    if isinstance(value, float) or value is None:  # NaN is how pandas spells "nothing"
        return {}
    return dict(value)


def told(metrics: Mapping[str, float], best: str = "") -> str:
    """Return the measures among `metrics` in one line; empty if there are none.

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


MEANS = {
    "progressive_mse": "the mean squared error of predictions made before the label",
    "progressive_error": "the share of labels that were predicted wrongly before they came",
    "validation_reward": (
        "1 / (1 + mean squared error / variance of the target) on validation rows: 1 without"
        " error, 1/2 for a prediction of the mean"
    ),
    "validation_accuracy": "the share of validation labels that were predicted rightly",
    "best_feedback": "the best reward among the pulls of a table of feedbacks",
    "cv_accuracy": "the share of labels that were predicted rightly in cross-validation",
    "test_accuracy": "the share of held-out labels that were predicted rightly",
    "test_r2": "the share of the target's variance explained on held-out rows",
    "test_mse": "the mean squared error on held-out rows",
    "test_error": "the share of held-out labels that were predicted wrongly",
}
"""What a metric is, where its name alone may not say it."""


def described(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Return what the scores of some results measure, in which unit, on which datasets."""
    done = frame[finished(frame) & (frame["metric"] != "")]
    said = []
    for (metric, direction), mine in done.groupby(["metric", "direction"], sort=False):
        text = f"{metric}, {MEANS[metric]}" if metric in MEANS else str(metric)
        if metric.endswith("_mse"):
            text += ", in the squared unit of the target"
        # Only of a logarithm does the score differ from the squared error of the target itself.
        squares = np.array([each.get("rmse", math.nan) ** 2 for each in mine["metrics"]])
        apart = np.abs(squares / mine["score"].clip(lower=1e-300) - 1) > 1e-3
        if metric == "progressive_mse" and apart.any():
            logs = ", ".join(dict.fromkeys(names.get(d, d) for d in mine["data"][apart]))
            text += f" ({logs}: of its logarithm)"
        said.append(f"{text}; {'less' if direction == 'min' else 'more'} is better")
    return f"Metric: {'. '.join(said)}." if said else ""


def check_measure(name: str) -> str:
    """Return `name`; UsageError with the nearest one if it is no measure of streams."""
    if name not in DIRECTIONS:
        raise unknown("metric", name, DIRECTIONS)
    return name


def by_measure(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """Return the frame of results with a measure in the place of the score.

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
