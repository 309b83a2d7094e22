"""Recorded verdicts in the place of learners: a column for each classifier, a row for each row.

A classifier that is fixed beforehand learns nothing from any sample, so fitness and exploitiveness
hold with equality: bounds have no slack but their own, and their coverage can be counted.
"""

from __future__ import annotations

import pandas as pd

from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.errors import DataError
from leaseboard.algorithms.events import Parameters
from leaseboard.algorithms.seeds import generator

SECONDS_PER_ROW = 1e-3
"""What a probe is charged: nothing is trained, so the same on every machine."""


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
