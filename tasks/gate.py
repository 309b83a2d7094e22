"""The regression gate: this run's scores against the accepted ones, seed by seed.

A scenario is one algorithm on one data set. It regresses only if its paired mean drop exceeds
the tolerance *and* the paired bootstrap interval of the drop excludes zero. A scenario whose
score does not depend on the seed is exact: any drop beyond rounding is a regression.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from algorithms.errors import UsageError, naming
from tasks.score.bootstrap import Interval, paired_mean
from tasks.score.frame import scoreless

TOLERANCE = 0.002
"""Default: a drop of a fifth of a percent of the accepted mean. Seeded scores repeat exactly, so a
tolerance only has to absorb what another platform or library version rounds differently."""

ROUNDING = 1e-9
"""Relative; what two builds of one numerical library may differ by."""

PASSED, REGRESSION, RUN_FAILED, NOTHING_COMPARED = range(4)
"""Exit codes; never a count."""

_FAILING = ("regressed", "missing", "changed", "failed")


@dataclass(frozen=True, slots=True)
class Scenario:
    """What was accepted of one algorithm on one data set.

    Attributes
    ----------
    digest : str
        Of the data.
    version : str
        Of the algorithm's code when it was accepted; for information.
    exact : bool
        The score does not depend on the seed.
    scores : mapping
        ``{seed: score}``, the seeds as text.
    tolerance : float, optional
        Overrides the gate's.
    """

    label: str
    data: str
    metric: str
    direction: str
    digest: str
    version: str
    exact: bool
    scores: Mapping[str, float]
    tolerance: float | None = None

    @property
    def name(self) -> str:
        """What reports call the scenario."""
        return f"{self.label} on {self.data}"


@dataclass(frozen=True)
class Baseline:
    """An accepted run: ``conf/baselines/<suite>.json``."""

    suite: str
    date: str
    versions: Mapping[str, str]
    scenarios: tuple[Scenario, ...]

    def to_json(self) -> str:
        """The file's text; equal baselines give equal bytes."""
        payload = dataclasses.asdict(self)
        return json.dumps(payload, indent=1, sort_keys=True, allow_nan=False) + "\n"

    @classmethod
    def from_json(cls, text: str, where: str = "baseline") -> Baseline:
        """The baseline that `to_json` wrote; UsageError if it is not one."""
        try:
            payload = json.loads(text)
            scenarios = tuple(Scenario(**entry) for entry in payload.pop("scenarios"))
            return cls(scenarios=scenarios, **payload)
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            raise UsageError(
                f"{where} is no accepted baseline ({error}): write it with `leaseboard accept`"
            ) from error


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one scenario.

    Attributes
    ----------
    verdict : str
        ``same``, ``passed``, ``improved``, ``regressed``, ``missing``, ``changed`` (data or
        metric are not the accepted ones), ``failed`` (a job of it did not end ok) or ``new``.
    drop : Interval, optional
        Paired mean drop, in units of the score; positive is worse.
    relative_drop : float
        The drop over the accepted mean's size; NaN if nothing was compared.
    """

    label: str
    data: str
    verdict: str
    explanation: str
    accepted: float = np.nan
    measured: float = np.nan
    drop: Interval | None = None
    relative_drop: float = np.nan
    tolerance: float = np.nan
    n: int = 0

    @property
    def name(self) -> str:
        """What reports call the scenario."""
        return f"{self.label} on {self.data}"

    @property
    def fails(self) -> bool:
        """Whether the verdict alone fails the gate."""
        return self.verdict in _FAILING


@dataclass(frozen=True)
class Verdict:
    """All checks of one gate."""

    suite: str
    accepted_on: str
    accepted_versions: Mapping[str, str]
    checks: tuple[Check, ...]

    @property
    def n_compared(self) -> int:
        """Scenarios of which scores were compared."""
        return sum(check.drop is not None for check in self.checks)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression, 2 a run failed, 3 nothing was compared."""
        verdicts = {check.verdict for check in self.checks}
        if "failed" in verdicts:
            return RUN_FAILED
        if not self.n_compared:
            return NOTHING_COMPARED
        return REGRESSION if verdicts & set(_FAILING) else PASSED


def accept(
    frame: pd.DataFrame,
    suite: str,
    *,
    date: str,
    versions: Mapping[str, str],
    before: Baseline | None = None,
) -> Baseline:
    """The baseline that a frame of results makes (see `tasks.score.frame.as_frame`).

    Parameters
    ----------
    date : str
        When it is accepted, ISO 8601.
    versions : mapping
        Of the project and of the libraries that scores depend on.
    before : Baseline, optional
        What was accepted so far: scenarios with a tolerance of their own keep it.

    Raises
    ------
    UsageError
        If a job failed, or if no job is ok: neither can be a standard for others.
    """
    failed = frame[scoreless(frame)]
    if len(failed):
        row = failed.iloc[0]
        raise UsageError(
            f"{len(failed)} of {len(frame)} jobs failed (first: {row['label']} on {row['data']},"
            f" {row['status']}): mend them or take them out of the suite before accepting"
        )
    done = frame[frame["status"] == "ok"]
    if not len(done):
        raise UsageError(f"no job of {suite!r} is ok: there is nothing to accept")
    old = before.scenarios if before else ()
    tolerances = {(scenario.label, scenario.data): scenario.tolerance for scenario in old}
    scenarios = []
    for (label, data), rows in done.groupby(["label", "data"], sort=True):
        first = rows.iloc[0]
        scores = {str(row.seed): float(row.score) for row in rows.itertuples()}
        scenarios.append(
            Scenario(
                label=label,
                data=data,
                metric=first["metric"],
                direction=first["direction"],
                digest=first["digest"],
                version=first["version"],
                exact=len(scores) > 1 and len(set(scores.values())) == 1,
                scores=scores,
                tolerance=tolerances.get((label, data)),
            )
        )
    return Baseline(suite, date, dict(versions), tuple(scenarios))


def dropped(before: Baseline | None, after: Baseline) -> list[str]:
    """The names of the scenarios that were accepted `before` and are not any more."""
    kept = {scenario.name for scenario in after.scenarios}
    old = before.scenarios if before else ()
    return [scenario.name for scenario in old if scenario.name not in kept]


def gate(frame: pd.DataFrame, baseline: Baseline | None, tolerance: float = TOLERANCE) -> Verdict:
    """Check every accepted scenario against a frame of results, and report new ones.

    Parameters
    ----------
    baseline : Baseline, optional
        Without one every scenario is new and nothing is compared.
    tolerance : float
        Relative drop of the mean score that is still accepted.
    """
    groups = dict(list(frame.groupby(["label", "data"], sort=False)))
    baseline = baseline or Baseline("", "", {}, ())
    accepted = {(scenario.label, scenario.data) for scenario in baseline.scenarios}
    checks = [
        _check(scenario, groups.get((scenario.label, scenario.data)), tolerance)
        for scenario in baseline.scenarios
    ]
    for (label, data), rows in groups.items():
        if (label, data) not in accepted:
            checks.append(_new(label, data, rows))
    return Verdict(baseline.suite, baseline.date, baseline.versions, tuple(checks))


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
    for name in ("metric", "direction", "digest"):
        found = sorted(set(done[name]) - {getattr(scenario, name)})
        if found:
            return verdict(
                "changed",
                f"{name} is {found[0]!r}, accepted was {getattr(scenario, name)!r}:"
                " the scores cannot be compared; accept anew",
            )
    scores = {str(row.seed): float(row.score) for row in done.itertuples()}
    return _compare(scenario, scores, tolerance)


def _compare(scenario: Scenario, scores: Mapping[str, float], tolerance: float) -> Check:
    old = np.array([scenario.scores[seed] for seed in scenario.scores])
    new = np.array([scores[seed] for seed in scenario.scores])
    drop = paired_mean(new - old if scenario.direction == "min" else old - new)
    scale = abs(float(old.mean())) or 1.0
    relative = drop.value / scale
    allowed = 0.0 if scenario.exact else tolerance
    if scenario.tolerance is not None:
        allowed = scenario.tolerance
    kind, explanation = _judge(drop, relative, allowed, scenario.exact, scale)
    return Check(
        label=scenario.label,
        data=scenario.data,
        verdict=kind,
        explanation=explanation,
        accepted=float(old.mean()),
        measured=float(new.mean()),
        drop=drop,
        relative_drop=relative,
        tolerance=allowed,
        n=len(old),
    )


def _judge(
    drop: Interval, relative: float, allowed: float, exact: bool, scale: float
) -> tuple[str, str]:
    rounding = ROUNDING * scale
    if max(abs(drop.value), abs(drop.lower), abs(drop.upper)) <= rounding:
        return "same", "the accepted scores again"
    certain = drop.excludes_zero
    if relative > max(allowed, ROUNDING) and certain:
        how = "exact scenario" if exact else f"tolerance {allowed:.2%}"
        return "regressed", f"worse by {relative:.3%}, interval excludes zero ({how})"
    if relative < -ROUNDING and certain:
        return "improved", f"better by {-relative:.3%}: accept it to keep it"
    if relative > allowed:
        return "passed", f"worse by {relative:.3%}, but its interval includes zero"
    return "passed", f"changed by {-relative:+.3%}, within the tolerance of {allowed:.2%}"


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


def read_baseline(path: Path) -> Baseline | None:
    """The accepted baseline at `path`, None if there is none."""
    if not path.is_file():
        return None
    return Baseline.from_json(path.read_text(encoding="utf-8"), str(path))


def write_baseline(path: Path, baseline: Baseline) -> None:
    """Write `baseline`; the file appears whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(".part")
    with naming(path):
        part.write_text(baseline.to_json(), encoding="utf-8")
        part.replace(path)
