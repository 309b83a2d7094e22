"""Runs of selection that differ in one setting alone, so that its effect can be drawn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from leaseboard.tasks.score.selection import Selection

COUNT = "configurations"
"""The one setting that is the bench's: how many configurations there were to choose from."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Runs of one algorithm, all settings alike but one."""

    name: str
    """The algorithm, with what sets its settings apart from those of its other sweeps."""
    points: dict[str, dict[Any, list[Selection]]]
    """By data set, the runs (its repetitions) at every value of the setting, in rising order."""

    @property
    def runs(self) -> list[Selection]:
        """All of them."""
        return [run for values in self.points.values() for runs in values.values() for run in runs]


def sweeps(found: Sequence[Selection], setting: str) -> list[Sweep]:
    """Every group of runs in which `setting` alone takes two values or more.

    `setting`: an algorithm's setting, or ``configurations``.
    """
    groups: dict[str, list[Selection]] = {}
    for run in found:
        known = _identity(run)
        if setting in known:
            rest = {name: value for name, value in known.items() if name != setting}
            groups.setdefault(json.dumps(rest, sort_keys=True, default=str), []).append(run)
    swept = {
        key: runs
        for key, runs in groups.items()
        if len({_identity(run)[setting] for run in runs}) > 1
    }
    names = _names({key: _identity(runs[0]) for key, runs in swept.items()}, setting)
    return [Sweep(names[key], _points(runs, setting)) for key, runs in swept.items()]


def _identity(run: Selection) -> dict[str, Any]:
    return {**run.settings, "algorithm": run.algorithm, COUNT: run.configurations}


def _points(runs: Sequence[Selection], setting: str) -> dict[str, dict[Any, list[Selection]]]:
    points: dict[str, dict[Any, list[Selection]]] = {}
    # A setting that is None is the bench's own value; it is told first.
    for run in sorted(runs, key=lambda run: _order(_identity(run)[setting])):
        values = points.setdefault(run.data, {})
        values.setdefault(_identity(run)[setting], []).append(run)
    return points


def _order(value: Any) -> tuple[bool, float, str]:
    number = isinstance(value, (int, float))
    return number, float(value) if number else 0.0, str(value)


def _names(groups: dict[str, dict[str, Any]], setting: str) -> dict[str, str]:
    names = {}
    for key, own in groups.items():
        rivals = [other for other in groups.values() if other["algorithm"] == own["algorithm"]]
        apart = [
            f"{name} {value}"
            for name, value in own.items()
            if name != setting and any(other.get(name) != value for other in rivals)
        ]
        names[key] = own["algorithm"] + (f" ({', '.join(apart)})" if apart else "")
    return names
