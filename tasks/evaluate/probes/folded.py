"""The folds bench's environment: learners on all folds but one, every probe recorded once."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np
import threadpoolctl
from numpy.typing import NDArray

from leaseboard.algorithms.benches.folds import FoldProbe
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.probes.fitting import Classifier, able, timed, verdicts
from leaseboard.tasks.evaluate.probes.recording import Build, RecordedFits
from leaseboard.tasks.evaluate.probes.split import Rows, Shuffled
from leaseboard.tasks.store.recorded import Store

_HELD_OUT = -1
"""Stands for a fold in what is asked: trained on all of them, tested on the rows of none."""


class RecordedFolds(RecordedFits[FoldProbe]):
    """Learners on the training rows of a split, divided into folds, see `RecordedFits`.

    - `folds`: how many; each has each class in its share, give or take one row.
    - `n_jobs`: how many may be measured at once, in processes of their own.
    """

    def __init__(
        self,
        split: Shuffled,
        configurations: Sequence[Parameters],
        build: Build,
        store: Store | None,
        *,
        folds: int,
        n_jobs: int = 1,
        **options: Any,
    ) -> None:
        super().__init__(configurations, build, store, **options)
        self.split = split
        self.folds = folds
        self._n_jobs = n_jobs

    def measure(self, configuration: int, fold: int) -> FoldProbe:
        """The recorded probe, or a new one, recorded."""
        return self._known(configuration, fold)

    def held_out(self, configuration: int) -> Probe | None:
        """The probe on all folds; None if the split holds no rows out."""
        return self._known(configuration, _HELD_OUT) if self.split.test_rows else None

    def foresee(self, wanted: Sequence[tuple[int, int]]) -> None:
        """Measure those that were not yet, `n_jobs` at once."""
        missing = [asked for asked in wanted if asked not in self._seen]
        if self._n_jobs < 2 or len(missing) < 2:
            return
        self._make()
        # What each fork sets and resets is of the whole process, so it is set here once.
        with (
            warnings.catch_warnings(),
            threadpoolctl.threadpool_limits(1),
            ThreadPoolExecutor(self._n_jobs) as pool,
        ):
            try:
                list(pool.map(lambda asked: self._known(*asked), missing))
            except BaseException:  # an interrupt too ends those that have not begun
                pool.shutdown(cancel_futures=True)
                raise

    @cached_property
    def _fold(self) -> NDArray[np.intp]:
        """The fold of each training row: of each class they are dealt out in turn."""
        _, labels = self.split.samples.train(self.split.train_rows)
        _, codes = np.unique(labels, return_inverse=True)
        fold = np.empty(len(codes), dtype=np.intp)
        fold[np.argsort(codes, kind="stable")] = np.arange(len(codes)) % self.folds
        return fold

    def _rows(self, fold: int) -> tuple[Rows, Rows]:
        """The training rows to learn, and those to be tested on."""
        return (np.flatnonzero(self._fold != fold), np.flatnonzero(self._fold == fold))

    def _asked(self, *asked: int) -> dict[str, Any]:
        return {"samples": self.split.identity, "folds": self.folds, "fold": asked[1]}

    def _blank(self, *asked: int) -> FoldProbe:
        if asked[1] == _HELD_OUT:
            return FoldProbe(rows=self.split.train_rows, test_rows=self.split.test_rows)
        rows, tested = self._rows(asked[1])
        return FoldProbe(rows=len(rows), test_rows=len(tested))

    def _fit(self, model: Classifier, *asked: int) -> FoldProbe:
        features, labels = self.split.samples.train(self.split.train_rows)
        if asked[1] == _HELD_OUT:
            tested = self.split.samples.test(self.split.test_rows)
        else:
            rows, others = self._rows(asked[1])
            tested = _taken(features, others), labels[others]
            features, labels = _taken(features, rows), labels[rows]
        model = able(model, labels)
        _, fit_cpu, fit_wall = timed(lambda: model.fit(features, labels))
        right, test_cpu, test_wall = timed(lambda: verdicts(model, *tested))
        return FoldProbe(
            rows=len(labels),
            test_rows=len(right),
            test_correct=int(right.sum()),
            fit_cpu=fit_cpu,
            fit_wall=fit_wall,
            test_cpu=test_cpu,
            test_wall=test_wall,
            right="".join("01"[each] for each in right.astype(int)),
        )

    def _make(self) -> None:
        self._fold  # noqa: B018  (made at the first use)


def _taken(features: Any, rows: Rows) -> Any:
    return features.iloc[rows] if hasattr(features, "iloc") else features[rows]
