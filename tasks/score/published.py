"""The papers' own numbers: published against measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.table import Floats, Scale, normalised, score_table


@dataclass(frozen=True, slots=True)
class Agreement:
    """A published number with its measurement."""

    claim: Printed
    measured: float
    measured_sd: float
    """Mean and standard deviation over the `n` finished repetitions; NaN if n is 0. The
    deviation divides by n: so do the papers' (ChaCha's Table 1 comes out to the digit)."""
    n: int
    within_spread: bool | None
    """Rounded to the digits that the paper prints (at least two decimals), the difference is at
    most the paper's own standard deviation; None without one."""
    within_tolerance: bool | None
    """The difference is at most the suite's tolerance; None without one."""

    @property
    def agrees(self) -> bool | None:
        """True within the paper's own spread, or within the suite's tolerance where it has one."""
        return self.within_spread if self.within_tolerance is None else self.within_tolerance


def published_against_measured(
    frame: pd.DataFrame, claims: Sequence[Printed], scale: Scale | None = None
) -> list[Agreement]:
    """Return each claim with its measurement, in order.

    `claims`: a metric is ``score``, ``normalised_score`` (needs a `scale` with its two ends),
    ``cpu_seconds`` or a name in the results' `metrics`.
    """
    table, values = score_table(frame), dict[str, Floats]()
    found = []
    for claim in claims:
        if claim.metric not in values:
            values[claim.metric] = score_table(frame, claim.metric).scores
            if claim.metric == "normalised_score" and scale and scale.zero and scale.one:
                measured = normalised(table, scale.zero, scale.one)
                values[claim.metric] = np.where(np.isfinite(table.scores), measured, np.nan)
        mine = np.empty(0)
        if claim.algorithm in table.labels and claim.data in table.problems:
            mine = values[claim.metric][
                table.labels.index(claim.algorithm), table.problems.index(claim.data)
            ]
        found.append(_agreement(claim, mine[np.isfinite(mine)]))
    return found


def _agreement(claim: Printed, values: Floats) -> Agreement:
    if not values.size:
        return Agreement(claim, np.nan, np.nan, 0, None, None)
    mean = float(values.mean())
    gap = abs(mean - claim.value) - 1e-9
    printed_gap = abs(round(mean, printed_decimals(claim)) - claim.value) - 1e-9
    return Agreement(
        claim=claim,
        measured=mean,
        measured_sd=float(values.std()) if values.size > 1 else np.nan,
        n=values.size,
        within_spread=None if claim.sd is None else printed_gap <= claim.sd,
        within_tolerance=None if claim.tolerance is None else gap <= claim.tolerance,
    )


def printed_decimals(claim: Printed) -> int:
    """Return with how many decimals the paper prints the number, at least two.

    YAML keeps no trailing zeros: a 0.1 was most likely printed as 0.10.
    """
    texts = [repr(float(value)) for value in (claim.value, claim.sd or 0.0)]
    return max([2, *(len(text.partition(".")[2].removesuffix("0"))
                     for text in texts if "e" not in text)])  # fmt: skip
