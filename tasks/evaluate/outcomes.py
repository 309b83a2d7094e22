"""Recorded outcomes in place of learners: feedbacks of arms, verdicts of classifiers.

A classifier that is fixed beforehand learns nothing from any sample, so fitness and exploitiveness
hold with equality: bounds have no slack but their own, and their coverage can be counted.
"""

import math

import numpy as np
import pandas as pd

from leaseboard.algorithms.environments.pulls import Trial, Trials
from leaseboard.algorithms.environments.samples import KnownVerdicts
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.seeds import generator

SECONDS_PER_ROW = 1e-3
"""Cost of a probe: nothing is trained, so it is the same on every machine."""


class TableTrials(Trials):
    """Feedbacks of `table`, in its order or drawn without replacement.

    - `table`, shape (n_pulls, n_arms): numbers, none missing.
    - `seed`: of the draw, which has an order of its own for each arm; None keeps the table's.
    """

    def __init__(self, table: pd.DataFrame, seed: int | None) -> None:
        for name in table:
            if not pd.api.types.is_numeric_dtype(table[name]) or table[name].isna().any():
                raise DataError(
                    f"column {name!r} is not an arm's feedback: it must hold numbers only"
                )
        self.arms = tuple(str(name) for name in table)
        self.tunable = (True,) * len(self.arms)
        columns = [table.iloc[:, arm].to_numpy(np.float64) for arm in range(len(self.arms))]
        self._feedback = [
            column if seed is None else generator(seed, "table", arm).permutation(column)
            for arm, column in enumerate(columns)
        ]

    def trial(self, arm: int, n: int, seconds: float = math.inf) -> Trial:
        """Return feedback `n` of `arm`, free of cost; UsageError beyond the table's end."""
        feedback = self._feedback[arm]
        if n >= len(feedback):
            raise UsageError(
                f"the table holds {len(feedback)} feedbacks an arm and arm {self.arms[arm]} is"
                f" pulled for the {n + 1}th time: lower the budget or add rows"
            )
        return Trial(arm, {"pull": n + 1}, float(feedback[n]), None, 0.0, 0.0)


class RecordedVerdicts(KnownVerdicts):
    """Probes whose data say which classifier is right on which row.

    - `table`, shape (n_rows, n_classifiers): 1 where the classifier is right, else 0.
    - `seed`: of the rows' order: the first of them are training rows.
    """

    def __init__(self, table: pd.DataFrame, seed: int, test_fraction: float) -> None:
        for name in table:
            if not table[name].isin([0, 1]).all():
                raise DataError(
                    f"column {name!r} is not of verdicts: they are 0 or 1 in every row"
                )
        self.configurations = [{"learner": "recorded", "column": str(name)} for name in table]
        train_rows = len(table) - max(1, round(len(table) * test_fraction))
        if train_rows < 2:
            raise DataError(f"{len(table)} rows of verdicts are too few to split: add rows")
        order = generator(seed, "verdicts", "order").permutation(len(table))
        right = table.to_numpy(dtype="int64")[order].T
        super().__init__(right, train_rows, [SECONDS_PER_ROW] * len(right))
