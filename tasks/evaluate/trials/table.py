"""Recorded feedbacks as trials: a column for each arm, a row for each pull."""

from __future__ import annotations

import numpy as np
import pandas as pd

from leaseboard.algorithms.benches.pulls import Trial
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.seeds import generator


class TableTrials:
    """The feedbacks of `table`, in its order or drawn without replacement.

    - `table`, shape (n_pulls, n_arms): numbers, none missing.
    - `seed`: of the draw, which has an order of its own for each arm; None keeps the table's.
    """

    def __init__(self, table: pd.DataFrame, seed: int | None) -> None:
        for name in table:
            if not pd.api.types.is_numeric_dtype(table[name]) or table[name].isna().any():
                raise DataError(f"column {name!r} is no arm's feedback: it must hold numbers only")
        self.arms = tuple(str(name) for name in table)
        self.tunable = (True,) * len(self.arms)
        self.spent_cpu_seconds = 0.0
        columns = [table.iloc[:, arm].to_numpy(np.float64) for arm in range(len(self.arms))]
        self._feedback = [
            column if seed is None else generator(seed, "table", arm).permutation(column)
            for arm, column in enumerate(columns)
        ]

    def trial(self, arm: int, n: int) -> Trial:
        """Feedback `n` of `arm`, free of cost; UsageError beyond the table's end."""
        feedback = self._feedback[arm]
        if n >= len(feedback):
            raise UsageError(
                f"the table holds {len(feedback)} feedbacks an arm and arm {self.arms[arm]} is"
                f" pulled for the {n + 1}th time: lower the budget or add rows"
            )
        return Trial(arm, {"pull": n + 1}, float(feedback[n]), None, 0.0, 0.0)

    def joint_trial(self, optimiser: str, n: int) -> Trial:
        """A table has no hyperparameters to optimise jointly: UsageError."""
        raise UsageError(f"a table of feedbacks has no joint space: {optimiser} cannot run ({n})")
