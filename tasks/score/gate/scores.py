"""Scores against the accepted ones, seed by seed.

A scenario is one algorithm on one data set. It regresses only if its paired mean drop exceeds
the tolerance *and* the paired bootstrap interval of the drop excludes zero. A scenario whose
score does not depend on the seed is exact: any drop beyond rounding is a regression.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tasks.jobs.job import plain_value
from tasks.jobs.suites.promise import ROUNDING
from tasks.score.bootstrap import Interval
from tasks.score.frame import scoreless
from tasks.score.gate.baseline import Scenario
from tasks.score.paired import paired

TOLERANCE = 0.002
"""Default: a drop of a fifth of a percent of the accepted mean. Seeded scores repeat exactly, so a
tolerance only has to absorb what another platform or library version rounds differently."""

FAILING = ("regressed", "missing", "changed", "failed")


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one scenario."""

    label: str
    data: str
    verdict: str
    """``same``, ``passed``, ``improved``, ``regressed``, ``missing``, ``changed`` (data, metric,
    algorithm, its settings or its bench are not the accepted ones), ``failed`` (a job of it did
    not end ok) or ``new``."""
    explanation: str
    accepted: float = np.nan
    measured: float = np.nan
    drop: Interval | None = None
    """Paired mean drop over `scale`; positive is worse. None if nothing was compared."""
    scale: float = np.nan
    """The size of the accepted mean."""
    tolerance: float = np.nan
    n: int = 0

    @property
    def name(self) -> str:
        """What reports call the scenario."""
        return f"{self.label} on {self.data}"

    @property
    def fails(self) -> bool:
        """Whether the verdict alone fails the gate."""
        return self.verdict in FAILING


def check_scores(
    frame: pd.DataFrame, scenarios: Sequence[Scenario], tolerance: float
) -> tuple[Check, ...]:
    """Check every accepted scenario against a frame of results, and report new ones."""
    groups = dict(list(frame.groupby(["label", "data"], sort=False)))
    accepted = {(scenario.label, scenario.data) for scenario in scenarios}
    checks = [
        _check(scenario, groups.get((scenario.label, scenario.data)), tolerance)
        for scenario in scenarios
    ]
    for (label, data), rows in groups.items():
        if (label, data) not in accepted:
            checks.append(_new(label, data, rows))
    return tuple(checks)


def _check(scenario: Scenario, rows: pd.DataFrame | None, tolerance: float) -> Check:
    def verdict(kind: str, explanation: str, **values: Any) -> Check:
        return Check(scenario.label, scenario.data, kind, explanation, **values)

    if rows is None:
        return verdict("missing", "no result: the scenario vanished from the suite")
    broken = rows[scoreless(rows)]
    if len(broken):
        row = broken.iloc[0]
        return verdict("failed", f"seed {row['seed']}: {row['status']}: {row['reason']}")
    mine = rows[[str(seed) in scenario.scores for seed in rows["seed"]]]
    done = mine[mine["status"] == "ok"]
    absent = sorted(set(scenario.scores) - {str(seed) for seed in done["seed"]})
    if absent:
        reasons = "; ".join(sorted(set(mine["reason"]) - {""})) or "not run"
        return verdict("missing", f"no score for seed {', '.join(absent)}: {reasons}")
    for row in done.itertuples():
        for name, found, was in _differences(scenario, row):
            return verdict(
                "changed",
                f"{name} is {found!r}, accepted was {was!r}:"
                " the scores cannot be compared; accept anew",
            )
    scores = {str(row.seed): float(row.score) for row in done.itertuples()}
    return _compare(scenario, scores, tolerance)


def _differences(scenario: Scenario, row: Any) -> Iterator[tuple[str, Any, Any]]:
    """What makes a result another scenario: its name, what it is, what was accepted.

    A setting that only one of both knows is none: code may gain and lose settings.
    """
    for name in ("metric", "direction", "digest", "algorithm"):
        if getattr(row, name) != getattr(scenario, name):
            yield name, getattr(row, name), getattr(scenario, name)
    settings, bench = plain_value(row.settings), plain_value(row.bench_options)
    for name in sorted(settings.keys() & scenario.settings.keys()):
        if settings[name] != scenario.settings[name]:
            yield f"setting {name}", settings[name], scenario.settings[name]
    for name in sorted(bench.keys() | scenario.bench.keys()):
        if bench.get(name) != scenario.bench.get(name):
            yield f"option {name} of the bench", bench.get(name), scenario.bench.get(name)


def _compare(scenario: Scenario, scores: Mapping[str, float], tolerance: float) -> Check:
    old = np.array([scenario.scores[seed] for seed in scenario.scores])
    new = np.array([scores[seed] for seed in scenario.scores])
    found = paired(old, new, scenario.direction)
    drop = found.gain.times(-1)
    allowed = 0.0 if scenario.exact else tolerance
    if scenario.tolerance is not None:
        allowed = scenario.tolerance
    kind, explanation = _judge(drop, found.same, allowed, scenario.exact)
    return Check(
        label=scenario.label,
        data=scenario.data,
        verdict=kind,
        explanation=explanation,
        accepted=found.old,
        measured=found.new,
        drop=drop,
        scale=found.scale,
        tolerance=allowed,
        n=found.n,
    )


def _judge(drop: Interval, same: bool, allowed: float, exact: bool) -> tuple[str, str]:
    if same:
        return "same", "the accepted scores again"
    worse, certain = drop.value, drop.excludes_zero
    if worse > max(allowed, ROUNDING) and certain:
        how = "exact scenario" if exact else f"tolerance {allowed:.2%}"
        return "regressed", f"worse by {worse:.3%}, interval excludes zero ({how})"
    if worse < -ROUNDING and certain:
        return "improved", f"better by {-worse:.3%}: accept it to keep it"
    if worse > allowed:
        return "passed", f"worse by {worse:.3%}, but its interval includes zero"
    return "passed", f"changed by {-worse:+.3%}, within the tolerance of {allowed:.2%}"


def _new(label: str, data: str, rows: pd.DataFrame) -> Check:
    done = rows[rows["status"] == "ok"]
    broken = rows[scoreless(rows)]
    if len(broken):
        row = broken.iloc[0]
        text = f"new scenario, seed {row['seed']}: {row['status']}: {row['reason']}"
        return Check(label, data, "failed", text)
    mean = float(done["score"].mean()) if len(done) else np.nan
    text = "not in the baseline: accept it to watch it" if len(done) else "not in the baseline"
    return Check(label, data, "new", text, measured=mean, n=len(done))
