"""The gate's verdict: every accepted score and every promise against what a run came to.

Scores are compared seed by seed, in as many repetitions as the decision needs.
A scenario is one algorithm on one data set. A regression is a mean drop beyond the tolerance that
chance does not explain, judged group-sequentially:

- a scenario whose scores are all as accepted is the same, and nothing more is run;
- one that dropped is *in doubt*: it is run again with `LOOKS` repetitions, one look after the
  other, as long as chance has not become a good explanation (`DOUBT`);
- it has regressed if at a look of at least `DECIDING` pairs the chance of such a drop
  (`leaseboard.tasks.score.inference`) is at most `ALPHA` / (2 m), where m scenarios changed.

A scenario of which `DECIDING` accepted scores or more are equal, and so are the new ones, is
exact: its score does not depend on the seed, and any drop beyond rounding is a regression.

Theorem. If a change is neutral, that is, if it changes nothing but the random draws of the
scenarios that changed, a gate calls one of them regressed with probability at most `ALPHA`, plus
2⁻¹² for each that is taken for exact by chance.
Proof: at each look the chance is a p-value, see `leaseboard.tasks.score.inference`. A scenario
meets at most two deciding looks, one of `DECIDING` to 23 pairs and one of 24 or more, so by the
union bound it is called regressed with probability at most 2 · `ALPHA` / (2 m). There are m of
them. The drop of an exact one is that of all its pairs, whose chance is 2⁻ⁿ for n ≥ 12 pairs.  ∎
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.job import plain_value
from leaseboard.tasks.jobs.suites.promise import ROUNDING
from leaseboard.tasks.score.frame import scoreless
from leaseboard.tasks.score.gate.baseline import Baseline, Scenario
from leaseboard.tasks.score.gate.promises import PromiseVerdict, Quantity, check_promises
from leaseboard.tasks.score.inference import Interval, Paired, paired

TOLERANCE = 0.002
"""Default: a drop of a fifth of a percent of the accepted mean. Seeded scores repeat exactly, so a
tolerance only has to absorb what another platform or library version rounds differently."""

ALPHA = 0.02
"""A gate calls a neutral change a regression with at most this probability."""

LOOKS = (6, 12, 24)
"""Repetitions of a scenario that is in doubt, after those of its suite."""

DECIDING = 12
"""Fewer pairs decide nothing: 2⁻¹² is below `ALPHA` / 2 shared among 40 scenarios."""

DOUBT = {6: 0.25, 12: 0.1}
"""From so many pairs on, a drop that is by chance with a greater probability is not pursued. It
saves repetitions and cannot add a false alarm."""

FAILING = ("regressed", "missing", "changed", "failed")


@dataclass(frozen=True, slots=True)
class Check:
    """The verdict on one scenario."""

    label: str
    data: str
    verdict: str
    """``same``, ``passed``, ``improved``, ``regressed``, ``not judged`` (it dropped, and too few
    repetitions were accepted to say that it is not by chance), ``missing``, ``changed`` (data,
    metric, algorithm, its settings or its bench are not the accepted ones), ``failed`` (a job of
    it did not end ok) or ``new``."""
    explanation: str
    accepted: float = np.nan
    measured: float = np.nan
    drop: Interval | None = None
    """Paired mean drop over `scale`; positive is worse. None if nothing was compared."""
    scale: float = np.nan
    """The size of the accepted mean."""
    tolerance: float = np.nan
    n: int = 0
    wanted: int = 0
    """In doubt: with so many repetitions it is to be judged again; 0 if it need not be."""
    cpu_seconds: tuple[float | None, float] = (None, np.nan)
    """Medians of the algorithm, accepted and now; for information, since machines differ."""

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
    found = [_check(one, groups.get((one.label, one.data))) for one in scenarios]
    compared = [one for one in found if isinstance(one, _Compared)]
    changed = sum(not one.pairs.same for one in compared)
    checks = [
        _judge(one, tolerance, changed) if isinstance(one, _Compared) else one for one in found
    ]
    for (label, data), rows in groups.items():
        if (label, data) not in accepted:
            checks.append(_new(label, data, rows))
    return tuple(checks)


@dataclass(frozen=True, slots=True)
class _Compared:
    """A scenario whose scores could be paired."""

    scenario: Scenario
    pairs: Paired
    cpu_seconds: float


def _check(scenario: Scenario, rows: pd.DataFrame | None) -> Check | _Compared:
    def verdict(kind: str, explanation: str) -> Check:
        return Check(scenario.label, scenario.data, kind, explanation)

    if rows is None:
        return verdict("missing", "no result: the scenario vanished from the suite")
    broken = rows[scoreless(rows)]
    if len(broken):
        row = broken.iloc[0]
        return verdict("failed", f"seed {row['seed']}: {row['status']}: {row['reason']}")
    mine = rows[[str(seed) in scenario.scores for seed in rows["seed"]]]
    done = mine[mine["status"] == "ok"]
    if not len(mine) or len(done) < len(mine):
        seeds = mine[mine["status"] != "ok"]["seed"] if len(mine) else rows["seed"]
        reasons = "; ".join(sorted(set(mine["reason"]) - {""})) or "not accepted"
        return verdict("missing", f"no score for seed {', '.join(map(str, seeds))}: {reasons}")
    for row in done.itertuples():
        for name, found, was in _differences(scenario, row):
            return verdict(
                "changed",
                f"{name} is {found!r}, accepted was {was!r}:"
                " the scores cannot be compared; accept anew",
            )
    old = np.array([scenario.scores[str(seed)] for seed in done["seed"]])
    new = done["score"].to_numpy(float)
    pairs = paired(old, new, scenario.direction)
    return _Compared(scenario, pairs, float(done["cpu_seconds"].median()))


def _differences(scenario: Scenario, row: Any) -> Iterator[tuple[str, Any, Any]]:
    """Yield what makes a result another scenario: its name, what it is, what was accepted.

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


def _judge(found: _Compared, tolerance: float, changed: int) -> Check:
    scenario, pairs = found.scenario, found.pairs
    own = scenario.tolerance
    allowed = (0.0 if pairs.constant else tolerance) if own is None else own
    kind, explanation, wanted = decide(pairs, allowed, changed, len(scenario.scores))
    return Check(
        label=scenario.label,
        data=scenario.data,
        verdict=kind,
        explanation=explanation,
        accepted=pairs.old,
        measured=pairs.new,
        drop=pairs.gain.times(-1),
        scale=pairs.scale,
        tolerance=allowed,
        n=pairs.n,
        wanted=wanted,
        cpu_seconds=(scenario.cpu_seconds, found.cpu_seconds),
    )


def decide(pairs: Paired, allowed: float, changed: int, accepted: int) -> tuple[str, str, int]:
    """Return verdict, explanation, and the repetitions that are wanted to judge again."""
    if pairs.same:
        return "same", "the accepted scores again", 0
    drop, n, level = -pairs.gain.value, pairs.n, ALPHA / (2 * changed)
    text = f"worse by {drop:.3%}" if drop > 0 else f"better by {-drop:.3%}"
    if drop <= 0 and (pairs.constant or pairs.chance_of_gain <= level):
        return "improved", f"{text}: accept it to keep it", 0
    if drop <= max(allowed, ROUNDING):
        return "passed", text + (f", within the tolerance of {allowed:.2%}" if drop > 0 else ""), 0
    if pairs.constant and n >= DECIDING:
        how = f"tolerance {allowed:.2%}" if allowed else "exact scenario"
        return "regressed", f"{text} ({how})", 0
    text = f"{text} in {n} pairs, chance of such a drop {pairs.chance_of_drop:.2g}"
    if n >= DECIDING and pairs.chance_of_drop <= level:
        return "regressed", f"{text} (tolerance {allowed:.2%})", 0
    doubt = min((most for least, most in DOUBT.items() if n >= least), default=1.0)
    wanted = min(next((look for look in LOOKS if look > n), n), accepted)
    if pairs.chance_of_drop <= doubt and wanted > n:
        return "passed", f"{text}: in doubt", wanted
    if n >= DECIDING or pairs.chance_of_drop > doubt:
        return "passed", f"{text}: chance explains it", 0
    return "not judged", f"{text}: accept {LOOKS[-1]} repetitions to exclude chance", 0


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


PASSED, REGRESSION, RUN_FAILED, NOTHING_COMPARED = range(4)
"""Exit codes; never a count."""


@dataclass(frozen=True)
class Verdict:
    """All checks of one gate."""

    suite: str
    accepted_on: str
    accepted_versions: Mapping[str, str]
    checks: tuple[Check, ...]
    promises: tuple[PromiseVerdict, ...] = ()
    slower: tuple[str, ...] = ()
    """Scenarios that became slower, where that fails the gate."""
    problems: tuple[str, ...] = ()
    """What went wrong in addition to the jobs, such as a tracking store that is gone."""
    names: Mapping[str, str] = field(default_factory=dict)
    """What the suite calls its datasets, by reference."""

    @property
    def n_compared(self) -> int:
        """Scenarios of which scores were compared and judged."""
        return sum(one.drop is not None and one.verdict != "not judged" for one in self.checks)

    @property
    def n_kept(self) -> int:
        """Accepted promises that were measured and hold."""
        return sum(kept.verdict == "kept" for kept in self.promises)

    @property
    def exit_code(self) -> int:
        """0 passed, 1 regression or broken promise, 2 a run failed, 3 nothing was compared."""
        verdicts = {one.verdict for one in (*self.checks, *self.promises)}
        if "failed" in verdicts:
            return RUN_FAILED
        if verdicts & {"broken", "changed"}:
            return REGRESSION
        if not self.n_compared and not self.n_kept:
            return NOTHING_COMPARED
        if any(one.fails for one in (*self.checks, *self.promises)):
            return REGRESSION
        if self.problems:
            return RUN_FAILED
        return REGRESSION if self.slower else PASSED


def gate(
    frame: pd.DataFrame,
    baseline: Baseline | None,
    tolerance: float = TOLERANCE,
    quantities: Sequence[Quantity] = (),
    **more: Any,
) -> Verdict:
    """Check every accepted scenario and every promise, and report new ones.

    - `frame`: results, see `leaseboard.tasks.score.frame.as_frame`.
    - `baseline`: without one every scenario is new and nothing is compared; a broken promise
      fails.
    - `tolerance`: relative drop of the mean score that is still accepted.
    - `quantities`: the suite's promises, measured.
    - `more`: `slower`, `problems` and `names` of the verdict.
    """
    if baseline is None:
        new = check_scores(frame, (), tolerance)
        return Verdict("", "", {}, new, check_promises(quantities, ()), **more)
    return Verdict(
        baseline.suite,
        baseline.date,
        baseline.versions,
        check_scores(frame, baseline.scenarios, tolerance),
        check_promises(quantities, baseline.promises),
        **more,
    )
