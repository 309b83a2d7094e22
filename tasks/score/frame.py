"""The frame of results, a row for each job, and how its numbers and metrics are written."""

import dataclasses
from collections.abc import Iterable, Mapping

import numpy as np
import pandas as pd

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import DIRECTIONS, MEANS, SKILL
from leaseboard.tasks.jobs.job import UNDONE, Result

COLUMNS = tuple(field.name for field in dataclasses.fields(Result))


def to_frame(results: Iterable[Result]) -> pd.DataFrame:
    """Return one row a result, in order."""
    rows = [[getattr(result, name) for name in COLUMNS] for result in results]
    return pd.DataFrame(rows, columns=list(COLUMNS))


def as_frame(results: pd.DataFrame | Iterable[Result]) -> pd.DataFrame:
    """Return a frame as `to_frame` does, with scores that are numbers.

    Raises UsageError if two results claim the same algorithm, data and repetition.
    """
    frame = results if isinstance(results, pd.DataFrame) else to_frame(results)
    frame = frame.astype({"score": "float64"})
    repeated = frame.duplicated(["name", "data", "repetition"])
    if repeated.any():
        label, data, repetition = frame.loc[repeated, ["name", "data", "repetition"]].iloc[0]
        raise UsageError(
            f"two results for {label} on {data}, repetition {repetition}:"
            " give each setting of an algorithm its own label"
        )
    return frame.reset_index(drop=True)


def finished(frame: pd.DataFrame) -> pd.Series:
    """Mark the rows with a score that others can be compared with: ok, and not ended early."""
    return (frame["status"] == "ok") & frame["complete"].astype(bool)


def scoreless(frame: pd.DataFrame) -> pd.Series:
    """Mark the rows without such a score although their jobs were run."""
    return ~finished(frame) & ~frame["status"].isin(("skipped", UNDONE))


def rows_cut(frame: pd.DataFrame, names: Mapping[str, str]) -> str:
    """Describe how many rows were used of the datasets that were not used whole.

    - `names`: what datasets are called, by reference.
    """
    used = frame[["rows", "rows_available"]].astype("float64")
    cut = used["rows"].notna() & ~(used["rows"] >= used["rows_available"])
    parts = []
    for data, mine in used[cut].groupby(frame["data"], sort=False):
        least, most, whole = mine["rows"].min(), mine["rows"].max(), mine["rows_available"].max()
        text = f"{least:,.0f}" + (f" to {most:,.0f}" if most > least else "")
        parts.append(f"{names.get(data, data)}: {text} of {whole:,.0f}")
    return f"Rows used: {'; '.join(parts)}." if parts else ""


def describe_metrics(metrics: Mapping[str, float], best: str = "") -> str:
    """Return the measures among `metrics` in one line; empty without any.

    `best`: the baseline over which the skill is.

    Examples
    --------
    >>> describe_metrics({"rmse": 3.25, "mae": 2.0, "skill": 0.6}, "last-label")
    'rmse 3.25, mae 2, skill 0.6 (relative loss 0.4) over last-label'
    """
    found = [f"{name} {metrics[name]:.4g}" for name in DIRECTIONS if name in metrics]
    if best and SKILL in metrics:
        found[-1] += f" (relative loss {1 - metrics[SKILL]:.4g}) over {best}"
    return ", ".join(found)


def metric_title(metric: str) -> str:
    """Return the name of a metric for readers.

    Examples
    --------
    >>> metric_title("test_r2"), metric_title("mae")
    ('test R²', 'mae')
    """
    return MEANS.get(metric, metric).partition(": ")[0]


def short(value: float, digits: int = 4) -> str:
    """Return a number for a table: `digits` significant digits, a dash for none."""
    if not np.isfinite(value):
        return "–"
    text = f"{value:.{digits}g}"
    if "e" in text and 1e-4 <= abs(value) < 1e9:
        text = f"{value:.0f}"
    return text.replace("-", "−")


def fixed(value: float, decimals: int = 3) -> str:
    """Return a number on the common scale or a rank: with `decimals` decimals, a dash for none."""
    if not np.isfinite(value):
        return "–"
    if abs(value) >= 1000:
        return short(value, 4)
    return f"{round(value, decimals) + 0.0:.{decimals}f}".replace("-", "−")
