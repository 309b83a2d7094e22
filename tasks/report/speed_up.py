"""The page's section on policies over arms: how soon each matched the joint optimiser."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from algorithms.events import Event
from tasks.report.cells import Cell, Names, data_cell, number
from tasks.score.speed_up import Progress, SpeedUp, progress_of, reference_of, speed_ups


@dataclass
class Races:
    """The progress of every job of trials, gathered log by log."""

    runs: dict[tuple[str, int], dict[str, Progress]] = field(default_factory=dict)
    units: set[str] = field(default_factory=set)

    def add(self, row: Any, events: Sequence[Event]) -> None:
        """Take in the log of one finished job, if it was one of pulls."""
        if row.status != "ok" or row.bench != "pulls":
            return
        progress = progress_of(events)
        if progress is not None:
            self.runs.setdefault((row.data, row.repetition), {})[row.label] = progress
            self.units.add(row.unit)

    def section(self, names: Names) -> dict[str, Any] | None:
        """The section; None where no reference ran or nothing stands beside it."""
        reference = reference_of(label for by_label in self.runs.values() for label in by_label)
        found = speed_ups(self.runs, reference) if reference else []
        if not found:
            return None
        unit = " or ".join(sorted(self.units))
        return {
            "reference": reference,
            "over_all": not found[0].data,
            "columns": ["Data", "Algorithm", "Runs", "Reached", unit.capitalize(), "CPU s",
                        f"Times fewer {unit}", "Times less CPU"],
            "rows": [_row(speed_up, names) for speed_up in found],
        }  # fmt: skip


def _row(found: SpeedUp, names: Names) -> list[Cell]:
    return [
        data_cell(found.data, names) if found.data else Cell("All data sets", ""),
        Cell(found.label, found.label),
        Cell(str(found.runs), found.runs),
        Cell(str(found.reached), found.reached),
        *(_or_never(value) for value in (found.units, found.cpu_seconds)),
        *(number(value, 3) for value in (found.times_units, found.times_cpu)),
    ]


def _or_never(value: float) -> Cell:
    return number(value) if math.isfinite(value) else Cell("never")
