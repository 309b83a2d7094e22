"""The papers' own numbers: published against measured."""

from collections.abc import Sequence

import numpy as np
import pandas as pd

from leaseboard.tasks.jobs.suites.suite import Printed
from leaseboard.tasks.score.table import Floats, Scale, normalised, score_table


def published_against_measured(
    frame: pd.DataFrame, claims: Sequence[Printed], scale: Scale | None = None
) -> pd.DataFrame:
    """Return each claim with its measurement, in order.

    - `claims`: a metric is ``score``, ``normalised_score`` (needs a `scale` with its two ends),
      ``cpu_seconds`` or a name in the results' `metrics`.

    Returns
    -------
    DataFrame
        The fields of the claims, and ``measured`` with its standard deviation ``measured_sd`` over
        the ``n`` finished repetitions; it divides by n: so do the papers' (ChaCha's Table 1 comes
        out to the digit). ``agrees`` is whether the difference is at most the suite's tolerance
        where it has one, else, rounded to the digits that the paper prints, at most the paper's
        own standard deviation; None without both, and where nothing was measured.
    """
    table, values = score_table(frame), dict[str, Floats]()
    rows = []
    for claim in claims:
        if claim.metric not in values:
            values[claim.metric] = score_table(frame, claim.metric).scores
            if claim.metric == "normalised_score" and scale and scale.zero:
                measured = normalised(table, scale.zero, scale.one)
                values[claim.metric] = np.where(np.isfinite(table.scores), measured, np.nan)
        mine = np.empty(0)
        if claim.algorithm in table.labels and claim.data in table.problems:
            place = table.labels.index(claim.algorithm), table.problems.index(claim.data)
            mine = values[claim.metric][place]
            mine = mine[np.isfinite(mine)]
        found: dict[str, object] = {"measured": np.nan, "measured_sd": np.nan, "agrees": None}
        if len(mine):
            mean, agrees = float(mine.mean()), None
            if claim.tolerance is not None:
                agrees = abs(mean - claim.value) - 1e-9 <= claim.tolerance
            elif claim.sd is not None:
                printed = round(mean, printed_decimals(claim.value, claim.sd))
                agrees = abs(printed - claim.value) - 1e-9 <= claim.sd
            sd = mine.std() if len(mine) > 1 else np.nan
            found = {"measured": mean, "measured_sd": sd, "agrees": agrees}
        rows.append({**claim.model_dump(), **found, "n": len(mine)})
    return pd.DataFrame(rows).astype({"agrees": object})


def printed_decimals(value: float, sd: float | None) -> int:
    """Return with how many decimals the paper prints a number and its spread, at least two.

    YAML keeps no trailing zeros: a 0.1 was most likely printed as 0.10.
    """
    texts = [repr(float(number)) for number in (value, sd or 0.0)]
    return max([2, *(len(text.partition(".")[2].removesuffix("0"))
                     for text in texts if "e" not in text)])  # fmt: skip
