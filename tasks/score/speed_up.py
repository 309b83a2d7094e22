"""How much sooner a policy reaches the validation score with which another one ended."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from leaseboard.algorithms.events import Event, TrialFinished, of

REFERENCES = ("smac-joint", "tpe-joint", "random-joint", "average")
"""Whose final score is the target: the first of these that ran (Tables 3 and 4 of Li et al.)."""


@dataclass(frozen=True, slots=True)
class BestSoFar:
    """The best reward after each trial of one run, with what had been consumed by then.

    `units`, `cpu_seconds`, `best`: of equal length: units of the budget, recorded CPU seconds,
    best reward so far.
    """

    units: tuple[float, ...]
    cpu_seconds: tuple[float, ...]
    best: tuple[float, ...]

    def reaching(self, target: float) -> tuple[float, float]:
        """Units and CPU seconds until the best reward is at least `target`; infinite if never."""
        for units, cpu, best in zip(self.units, self.cpu_seconds, self.best, strict=True):
            if best >= target:
                return units, cpu
        return math.inf, math.inf


@dataclass(frozen=True, slots=True)
class SpeedUp:
    """What one algorithm needed to match the reference on `data`; medians over runs.

    A run that never reaches the target needs infinitely much, and its speed-up is 0.
    """

    data: str
    label: str
    runs: int
    reached: int
    """Repetitions, and those in which the target was reached."""
    units: float
    cpu_seconds: float
    """Until it was reached."""
    times_units: float
    times_cpu: float
    """What the reference needed to reach its own final score, over what this one needed."""


def progress_of(events: Iterable[Event]) -> BestSoFar | None:
    """The progress of a run of trials; None if it had none."""
    units: list[float] = []
    cpu: list[float] = []
    best: list[float] = []
    for trial in of(events, TrialFinished):
        units.append(float(trial.at))
        cpu.append((cpu[-1] if cpu else 0.0) + trial.cpu_seconds)
        best.append(max(best[-1] if best else 0.0, trial.reward))
    return BestSoFar(tuple(units), tuple(cpu), tuple(best)) if units else None


def reference_of(labels: Iterable[str]) -> str | None:
    """The label whose final score is the target, if any of them ran."""
    here = set(labels)
    return next((label for label in REFERENCES if label in here), None)


def speed_ups(
    runs: Mapping[tuple[str, int], Mapping[str, BestSoFar]], reference: str
) -> list[SpeedUp]:
    """Every algorithm against `reference`, on the repetitions that both finished.

    Where there are several data sets, those over all of them come first, with `data` empty.
    """
    pairs: dict[tuple[str, str], list[tuple[BestSoFar, BestSoFar]]] = {}
    over_all: dict[str, list[tuple[BestSoFar, BestSoFar]]] = {}
    for (data, _), by_label in runs.items():
        if reference in by_label:
            for label, progress in by_label.items():
                if label != reference:
                    pair = (progress, by_label[reference])
                    pairs.setdefault((data, label), []).append(pair)
                    over_all.setdefault(label, []).append(pair)
    found = [_speed_up(data, label, each) for (data, label), each in pairs.items()]
    if len({data for data, _ in pairs}) > 1:
        found = [_speed_up("", label, each) for label, each in over_all.items()] + found
    return found


def _speed_up(data: str, label: str, pairs: Sequence[tuple[BestSoFar, BestSoFar]]) -> SpeedUp:
    mine = [progress.reaching(other.best[-1]) for progress, other in pairs]
    theirs = [other.reaching(other.best[-1]) for _, other in pairs]
    return SpeedUp(
        data=data,
        label=label,
        runs=len(pairs),
        reached=sum(math.isfinite(units) for units, _ in mine),
        units=median(units for units, _ in mine),
        cpu_seconds=median(cpu for _, cpu in mine),
        times_units=median(t[0] / m[0] for m, t in zip(mine, theirs, strict=True)),
        times_cpu=median(_ratio(t[1], m[1]) for m, t in zip(mine, theirs, strict=True)),
    )


def _ratio(theirs: float, mine: float) -> float:
    """Synthetic trials cost nothing at all: then neither is faster."""
    return theirs / mine if mine > 0 else 1.0
