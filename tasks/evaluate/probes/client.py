"""The samples bench's environment: learners on nested samples, every probe recorded once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from algorithms.benches.samples import Probe
from algorithms.events import Parameters
from tasks.evaluate.probes.fitting import Classifier, fit_and_test
from tasks.evaluate.probes.recording import Build, RecordedFits
from tasks.evaluate.probes.split import Shuffled
from tasks.evaluate.store import Store


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
        self.split = split
        self.train_rows = split.train_rows
        self.test_rows = split.test_rows

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """The recorded probe, or a new one, recorded."""
        return self._known(configuration, rows, test_rows)

    def _asked(self, *asked: int) -> dict[str, Any]:
        _, rows, test_rows = asked
        return {"samples": self.split.identity, "rows": rows, "test_rows": test_rows}

    def _blank(self, *asked: int) -> Probe:
        return Probe(rows=asked[1], test_rows=asked[2])

    def _fit(self, model: Classifier, *asked: int) -> Probe:
        return fit_and_test(model, self.split.samples, *asked[1:])

    def _make(self) -> None:
        self.split.samples  # noqa: B018  (made at the first use)
