"""The frame of results: one row a job, the mappings as JSON text where it is stored."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.jobs.job import Result

COLUMNS = tuple(field.name for field in dataclasses.fields(Result))
MAPPINGS = ("metrics", "champion", "settings", "bench_options")
"""Columns that hold a mapping; ``results.parquet`` stores them as JSON text."""


def to_frame(results: Iterable[Result]) -> pd.DataFrame:
    """One row a result, in order; mappings stay mappings."""
    return pd.DataFrame([_row(result) for result in results], columns=list(COLUMNS))


def as_frame(results: pd.DataFrame | Iterable[Result]) -> pd.DataFrame:
    """A checked frame with every column of `Result`, its mappings decoded.

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
    """Which rows have a score that others can be compared with: ok, and not ended early."""
    return (frame["status"] == "ok") & frame["complete"].astype(bool)


def scoreless(frame: pd.DataFrame) -> pd.Series:
    """Which rows have no such score although their jobs were run."""
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
