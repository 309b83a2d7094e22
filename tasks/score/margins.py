"""How far whole systems are from a reference on each table, and how far beyond their budget."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.benches.kinds import choosing
from leaseboard.tasks.score.frame import finished
from leaseboard.tasks.score.table import Floats, ScoreTable, nanmean

REFERENCE, RIVAL = "lightgbm-default", "flaml-default"
"""What every system is measured against, and the system that it is to be level with."""

TOLERATED = 0.005
"""Of accuracy or R² below the reference."""


@dataclass(frozen=True, slots=True)
class Margin:
    """One system; a table counts where both it and the other finished a repetition of it."""

    label: str
    differences: Floats
    """Mean score less the reference's, over repetitions that both finished; a number a table."""
    spreads: Floats
    """Standard deviations of these over repetitions; NaN for fewer than two."""
    against_rival: Floats
    """As `differences`, from the rival."""
    overruns: Floats
    """Share of the budget that each finished job took beyond it."""

    @property
    def mean(self) -> float:
        """Mean difference over tables; NaN without any."""
        return float(nanmean(self.differences, axis=0))

    @property
    def tolerable(self) -> int:
        """On how many tables it is at most `TOLERATED` below the reference."""
        return int((self.differences >= -TOLERATED - 1e-12).sum())

    @property
    def level(self) -> int:
        """On how many tables it is at least as good as the rival."""
        return int((self.against_rival >= -1e-12).sum())


def margins(frame: pd.DataFrame, table: ScoreTable) -> list[Margin]:
    """The margins of every system of a board; none where the reference did not run.

    - `frame`: the results; `table`: their scores, of which more is better.
    """
    if REFERENCE not in table.labels or not frame["bench"].isin(choosing("system")).any():
        return []
    found = []
    for label, scores in zip(table.labels, table.scores, strict=True):
        paired = scores - table.scores[table.labels.index(REFERENCE)]
        rival = np.full(len(scores), np.nan)
        if RIVAL in table.labels:
            rival = nanmean(scores - table.scores[table.labels.index(RIVAL)], axis=1)
        done = frame[(frame["label"] == label) & finished(frame)]
        overruns = np.array([each.get("overrun", np.nan) for each in done["metrics"]], float)
        found.append(Margin(label, nanmean(paired, axis=1), _spreads(paired), rival, overruns))
    return found


def _spreads(differences: Floats) -> Floats:
    n = np.isfinite(differences).sum(axis=1)
    centred = differences - nanmean(differences, axis=1)[:, None]
    squares = np.nansum(centred**2, axis=1)
    return np.where(n > 1, np.sqrt(squares / np.maximum(n - 1, 1)), np.nan)
