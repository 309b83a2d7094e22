"""The samples bench's environment: learners on nested samples, every probe recorded once."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import Any

from algorithms.benches.samples import Probe
from algorithms.events import Parameters
from tasks.evaluate.probes import isolation
from tasks.evaluate.probes.fitting import Classifier, fit_and_test
from tasks.evaluate.probes.split import Shuffled
from tasks.evaluate.store import Record, Records, Store
from tasks.keys.versions import recorded_key
from tasks.processes.endings import over_cpu

Build = Callable[[Parameters], Classifier]
"""From a configuration to an untrained model; the same model at every call."""


class RecordedProbes:
    """Learners on a split; a probe is run in a process of its own, and only if not recorded.

    - `build`: from a configuration to an untrained model.
    - `store`: keeps the probes; without one they are run again by the next.
    - `code`: the module that makes the samples and the models.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `probe_seconds`: CPU seconds after which a probe is given up; None runs probes in this
      process, without a limit.
    - `variant`: what else the probes depend on, such as shared bins.
    - `prepare`: called before a probe is run, for what the children shall find made.

    Notes
    -----
    A recorded failure is replayed like a success: the same fit crashes again. A time-out is
    replayed only for limits that are no longer than the one it met, and a recorded success that
    took longer than `probe_seconds` counts as a time-out, as it would be if it were run now.
    Want of memory, and being killed, say more of the machine than of the probe, so they are never
    recorded.
    """

    def __init__(
        self,
        split: Shuffled,
        configurations: Sequence[Parameters],
        build: Build,
        store: Store | None,
        *,
        code: str,
        classes: Sequence[str] = (),
        probe_seconds: float | None = 3600.0,
        variant: str = "",
        prepare: Callable[[], object] = lambda: None,
    ) -> None:
        self.split = split
        self.configurations = tuple(configurations)
        self.train_rows = split.train_rows
        self.test_rows = split.test_rows
        self._build = build
        self._store = store
        self._code = code
        self._classes = tuple(classes)
        self._limit = math.inf if probe_seconds is None else probe_seconds
        self._variant = variant
        self._prepare = prepare
        self._seen: dict[tuple[int, int, int], Probe] = {}

    def measure(self, configuration: int, rows: int, test_rows: int) -> Probe:
        """The recorded probe, or a new one, recorded."""
        asked = configuration, rows, test_rows
        if asked not in self._seen:
            self._seen[asked] = self._recorded(*asked)
        return self._seen[asked]

    def key(self, configuration: int, rows: int, test_rows: int) -> dict[str, Any]:
        """What a probe is filed under: all that its accuracies and costs depend on."""
        return recorded_key(
            code=(__name__, self._code),
            libraries=("lightgbm",),
            classes=self._classes,
            samples=self.split.identity,
            configuration=dict(self.configurations[configuration]),
            rows=rows,
            test_rows=test_rows,
            variant=self._variant,
        )

    def _recorded(self, configuration: int, rows: int, test_rows: int) -> Probe:
        if self._store is None:
            return self._limited(self._run(configuration, rows, test_rows)[0])
        records = self._store.records(self.key(configuration, rows, test_rows))
        records.refresh()
        unrecorded: list[Probe] = []

        def run(_number: int) -> Record | None:
            probe, lasting = self._run(configuration, rows, test_rows)
            if not lasting:
                unrecorded.append(probe)
                return None
            return asdict(probe) | {"limit": self._limit}

        while (usable := self._usable(records)) is None:
            records.extend(run)
            if unrecorded:
                return unrecorded[0]
        return usable

    def _usable(self, records: Records) -> Probe | None:
        """The newest attempt, if it answers for our limit."""
        if not len(records):
            return None
        record = records[len(records) - 1]
        probe = Probe(**{name: value for name, value in record.items() if name != "limit"})
        if probe.status == "timeout":
            return probe if record["limit"] >= self._limit else None
        return self._limited(probe)

    def _limited(self, probe: Probe) -> Probe:
        """A time-out for a success that took too long: the kernel counts whole seconds."""
        if probe.status != "ok" or probe.cpu() <= self._limit:
            return probe
        return Probe(
            rows=probe.rows,
            test_rows=probe.test_rows,
            fit_cpu=self._limit,
            fit_wall=probe.wall() * self._limit / probe.cpu(),
            status="timeout",
            reason=over_cpu(self._limit).reason,
        )

    def _run(self, configuration: int, rows: int, test_rows: int) -> tuple[Probe, bool]:
        """The probe, and whether it would end so again."""
        parameters = self.configurations[configuration]
        samples = self.split.samples  # made here, so that the child finds it
        self._prepare()

        def run() -> dict[str, Any]:
            return asdict(fit_and_test(self._build(parameters), samples, rows, test_rows))

        limited = math.isfinite(self._limit)
        called = isolation.call(run, self._limit) if limited else isolation.here(run)
        if called.ending.status == "ok":
            return Probe(**called.value), True
        failed = Probe(
            rows=rows,
            test_rows=test_rows,
            fit_cpu=called.cpu_seconds,
            fit_wall=called.wall_seconds,
            status=called.ending.status,
            reason=called.ending.reason,
        )
        return failed, called.ending.lasting
