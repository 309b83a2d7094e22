"""The samples bench's environment: learners on nested samples, every probe recorded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from leaseboard.algorithms.benches.folds import FoldProbe
from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.probes.fitting import Classifier, fit_and_test
from leaseboard.tasks.evaluate.probes.folded import RecordedFolds
from leaseboard.tasks.evaluate.probes.recording import Build, RecordedFits
from leaseboard.tasks.evaluate.probes.split import Shuffled
from leaseboard.tasks.store.recorded import Store


class RecordedProbes(RecordedFits[Probe]):
    """Learners on a split, see `RecordedFits`."""

    def __init__(
        self,
        split: Shuffled,
        configurations: Sequence[Parameters],
        build: Build,
        store: Store | None,
        **options: Any,
    ) -> None:
        super().__init__(configurations, build, store, **options)
        self._given = {"configurations": configurations, "build": build, "store": store, **options}
        self._folded: dict[tuple[int, int], SampleFolds] = {}
        self.split = split
        self.train_rows = split.train_rows
        self.test_rows = split.test_rows

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """The recorded probe, or a new one, recorded."""
        return self._known(configuration, rows, test_rows)

    def measure_fold(self, configuration: int, rows: int, fold: int, folds: int) -> FoldProbe:
        """The same of one fold of the first `rows` training rows, without any test row.

        Raises UsageError for a `variant`, whose models may take a sample for the first rows.
        """
        if self._variant:
            raise UsageError(
                f"{self._variant} know samples of the first rows alone: set folds=1, or leave"
                " them out"
            )
        if (rows, folds) not in self._folded:
            sample = self.split.first(rows)
            self._folded[rows, folds] = SampleFolds(sample, folds=folds, **self._given)
        return self._folded[rows, folds].measure(configuration, fold)

    def _asked(self, *asked: int) -> dict[str, Any]:
        _, rows, test_rows = asked
        return {"samples": self.split.identity, "rows": rows, "test_rows": test_rows}

    def _blank(self, *asked: int) -> Probe:
        return Probe(rows=asked[1], test_rows=asked[2])

    def _fit(self, model: Classifier, *asked: int) -> Probe:
        return fit_and_test(model, self.split.samples, *asked[1:])

    def _make(self) -> None:
        self.split.samples  # noqa: B018  (made at the first use)


class SampleFolds(RecordedFolds):
    """Folds of a sample, of which only the counts are kept: a large one has many rows."""

    def _fit(self, model: Classifier, *asked: int) -> FoldProbe:
        return replace(super()._fit(model, *asked), right="")
