"""Error and time relative to a few baselines: equation 2 of the apple paper."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.score.table import Floats, score_table


@dataclass(frozen=True)
class Relative:
    """Relative errors and times, one row an algorithm, one column a data set."""

    labels: tuple[str, ...]
    problems: tuple[str, ...]
    """The algorithms of the results, then a ``name-best`` for each family ``name(...)``: on
    every data set the member with the lowest mean error. Data sets without all baselines are
    left out."""
    baselines: tuple[str, ...]
    errors: Floats
    """``(error - least) / (largest - least)`` of the baselines' mean errors; 0 is as good as the
    best baseline, below 0 is better. NaN where all baselines are equal."""
    times: Floats
    """Mean CPU seconds over those of the first baseline."""


def relative(frame: pd.DataFrame, baselines: Sequence[str]) -> Relative:
    """Equation 2 over mean errors and mean CPU seconds of the finished repetitions.

    - `frame`: as `leaseboard.tasks.score.frame.as_frame` gives it; scores are losses.
    - `baselines`: labels; times are relative to the first.
    """
    table = score_table(frame)
    means, seconds = table.means, score_table(frame, "cpu_seconds").means
    places = [table.labels.index(label) for label in baselines if label in table.labels]
    usable = np.isfinite(means[places]).all(axis=0) & (len(places) == len(baselines))
    means, seconds = means[:, usable], seconds[:, usable]
    problems = tuple(p for p, keep in zip(table.problems, usable, strict=True) if keep)
    labels = list(table.labels)
    for name, members in _families(table.labels).items():
        labels.append(f"{name}-best")
        filled = np.where(np.isfinite(means[members]), means[members], np.inf)
        best = np.array(members)[np.argmin(filled, axis=0)]
        columns = np.arange(len(problems))
        means = np.vstack([means, means[best, columns]])
        seconds = np.vstack([seconds, seconds[best, columns]])
    if not problems:
        return Relative(tuple(labels), (), tuple(baselines), means, seconds)
    least, largest = means[places].min(axis=0), means[places].max(axis=0)
    span = np.where(largest > least, largest - least, np.nan)
    errors, times = (means - least) / span, seconds / seconds[places[0]]
    return Relative(tuple(labels), problems, tuple(baselines), errors, times)


def cumulative(values: Floats) -> tuple[Floats, Floats]:
    """Sorted finite values, and how many of them are at most each: a CDF over data sets."""
    found = np.sort(values[np.isfinite(values)])
    return found, np.arange(1, len(found) + 1, dtype=np.float64)


def _families(labels: Sequence[str]) -> dict[str, list[int]]:
    """Places of the labels ``name(...)`` by name, of names that have more than one."""
    families: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        if match := re.fullmatch(r"(.+)\(.+\)", label):
            families.setdefault(match.group(1), []).append(place)
    return {name: places for name, places in families.items() if len(places) > 1}
