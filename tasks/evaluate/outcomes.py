"""Recorded outcomes in place of learners: feedbacks of arms, verdicts of classifiers.

A classifier that is fixed beforehand learns nothing from any sample, so fitness and exploitiveness
hold with equality: bounds have no slack but their own, and their coverage can be counted.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from leaseboard.algorithms.benches.pulls import Trial
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.errors import DataError, UsageError
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import generator

SECONDS_PER_ROW = 1e-3
"""What a probe is charged: nothing is trained, so the same on every machine."""


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
        """Raise UsageError: a table has no hyperparameters to optimise jointly."""
        raise UsageError(f"a table of feedbacks has no joint space: {optimiser} cannot run ({n})")


class RecordedVerdicts:
    """The environment of a samples bench whose data say which classifier is right on which row.

    - `table`, shape (n_rows, n_classifiers): 1 where the classifier is right, else 0.
    - `seed`: of the rows' order: the first of them are training rows.
    """

    def __init__(self, table: pd.DataFrame, seed: int, test_fraction: float) -> None:
        for name in table:
            if not table[name].isin([0, 1]).all():
                raise DataError(f"column {name!r} holds no verdicts: they are 0 or 1 in every row")
        self.configurations: list[Parameters] = [
            {"learner": "recorded", "column": str(name)} for name in table
        ]
        self.test_rows = max(1, round(len(table) * test_fraction))
        self.train_rows = len(table) - self.test_rows
        if self.train_rows < 2:
            raise DataError(f"{len(table)} rows of verdicts are too few to split: add rows")
        order = generator(seed, "verdicts", "order").permutation(len(table))
        right = table.to_numpy(dtype="int64")[order]
        self._train = right[: self.train_rows].cumsum(axis=0)
        self._test = right[self.train_rows :].cumsum(axis=0)

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """The counts of right verdicts in the two prefixes, at a cost that grows with the rows."""
        full = rows == self.train_rows
        return Probe(
            rows=rows,
            test_rows=test_rows,
            train_correct=None if full else int(self._train[rows - 1, configuration]),
            half_correct=None if full else int(self._train[: rows // 2, configuration][-1:].sum()),
            test_correct=int(self._test[test_rows - 1, configuration]),
            half_test_correct=int(self._test[: test_rows // 2, configuration][-1:].sum()),
            fit_cpu=SECONDS_PER_ROW * rows,
            fit_wall=SECONDS_PER_ROW * rows,
        )
