"""The papers' own numbers: published against measured, and errors relative to baselines."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.table import Floats, ScoreTable, normalised, score_table


@dataclass(frozen=True, slots=True)
class Agreement:
    """A claim beside what was measured."""

    claim: Printed
    measured: float
    measured_sd: float
    """Mean and standard deviation over the `n` finished repetitions; NaN if there is none. The
    deviation divides by n: so do the papers' (ChaCha's Table 1 comes out to the digit)."""
    n: int
    within_spread: bool | None
    """Rounded to the digits that the paper prints (at least two decimals), the difference is at
    most the paper's own standard deviation; None without one."""
    within_tolerance: bool | None
    """The difference is at most the suite's tolerance; None without one."""

    @property
    def agrees(self) -> bool | None:
        """Within the paper's own spread, or within the suite's tolerance where it has one."""
        return self.within_spread if self.within_tolerance is None else self.within_tolerance


def published_against_measured(
    frame: pd.DataFrame, claims: Sequence[Printed], zero: str | None = None, one: str | None = None
) -> list[Agreement]:
    """Return each claim with its measurement, in order.

    `claims`: a metric is ``score``, ``normalised_score`` (needs `zero` and `one`), ``cpu_seconds``
    or a name in the results' `metrics`.
    """
    tables: dict[str, Floats] = {}
    table = score_table(frame)
    return [_agreement(claim, _values(claim, frame, table, zero, one, tables)) for claim in claims]


def _values(
    claim: Printed,
    frame: pd.DataFrame,
    table: ScoreTable,
    zero: str | None,
    one: str | None,
    tables: dict[str, Floats],
) -> Floats:
    """Return the finished repetitions' values of what `claim` is about."""
    if claim.algorithm not in table.labels or claim.data not in table.problems:
        return np.empty(0)
    if claim.metric not in tables:
        if claim.metric == "normalised_score" and zero is not None and one is not None:
            values = normalised(table, zero, one)
            tables[claim.metric] = np.where(np.isfinite(table.scores), values, np.nan)
        else:
            tables[claim.metric] = score_table(frame, claim.metric).scores
    values = tables[claim.metric]
    row = values[table.labels.index(claim.algorithm), table.problems.index(claim.data)]
    return np.asarray(row[np.isfinite(row)])


def _agreement(claim: Printed, values: Floats) -> Agreement:
    if not values.size:
        return Agreement(claim, np.nan, np.nan, 0, None, None)
    mean = float(values.mean())
    gap = abs(mean - claim.value)
    printed_gap = abs(round(mean, printed_decimals(claim)) - claim.value)
    return Agreement(
        claim=claim,
        measured=mean,
        measured_sd=float(values.std()) if values.size > 1 else np.nan,
        n=values.size,
        within_spread=None if claim.sd is None else _at_most(printed_gap, claim.sd),
        within_tolerance=None if claim.tolerance is None else _at_most(gap, claim.tolerance),
    )


def printed_decimals(claim: Printed) -> int:
    """Return with how many decimals the paper prints the number, at least two.

    YAML keeps no trailing zeros: a 0.1 was most likely printed as 0.10.
    """
    return max(2, _decimals(claim.value), _decimals(claim.sd or 0.0))


def _at_most(gap: float, limit: float) -> bool:
    return gap <= limit + 1e-9


def _decimals(value: float) -> int:
    text = repr(float(value))
    return 0 if "e" in text or text.endswith(".0") else len(text.partition(".")[2])


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
    """Return equation 2 over mean errors and mean CPU seconds of the finished repetitions.

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
    """Return sorted finite values, and how many of them are at most each: a CDF over data sets."""
    found = np.sort(values[np.isfinite(values)])
    return found, np.arange(1, len(found) + 1, dtype=np.float64)


def _families(labels: Sequence[str]) -> dict[str, list[int]]:
    """Return places of the labels ``name(...)`` by name, of names that have more than one."""
    families: dict[str, list[int]] = {}
    for place, label in enumerate(labels):
        if match := re.fullmatch(r"(.+)\(.+\)", label):
            families.setdefault(match.group(1), []).append(place)
    return {name: places for name, places in families.items() if len(places) > 1}
