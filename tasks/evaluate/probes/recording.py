"""Fits that are run once, each in a process of its own, and replayed from then on."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from typing import Any, Generic, TypeVar

from algorithms.benches.samples import Probe
from algorithms.events import Parameters
from tasks.evaluate.probes import isolation
from tasks.evaluate.probes.fitting import Classifier
from tasks.evaluate.store import Record, Records, Store
from tasks.keys.versions import recorded_key
from tasks.processes.endings import over_cpu

Build = Callable[[Parameters], Classifier]
"""From a configuration to an untrained model; the same model at every call."""

Kept = TypeVar("Kept", bound=Probe)


class RecordedFits(ABC, Generic[Kept]):
    """Learners of which a probe is run only if it is not recorded.

    - `build`: from a configuration to an untrained model.
    - `store`: keeps the probes; without one they are run again by the next.
    - `code`: the module that makes the samples and the models.
    - `classes`: learners from anywhere, as ``package.module:Class``.
    - `probe_seconds`: CPU seconds after which a probe is given up; None runs probes in this
      process, without a limit.
    - `variant`: what else the probes depend on, such as shared bins.
    - `prepare`: called before a probe is run, for what the children shall find made.

    What is `asked` is a configuration's number, and what of the data it is fitted and tested on.

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
        self.configurations = tuple(configurations)
        self._build = build
        self._store = store
        self._code = code
        self._classes = tuple(classes)
        self._limit = math.inf if probe_seconds is None else probe_seconds
        self._variant = variant
        self._prepare = prepare
        self._seen: dict[tuple[int, ...], Kept] = {}

    @abstractmethod
    def _asked(self, *asked: int) -> dict[str, Any]:
        """What a probe's key says beside what all of one environment have in common."""

    @abstractmethod
    def _blank(self, *asked: int) -> Kept:
        """The probe before it is run."""

    @abstractmethod
    def _fit(self, model: Classifier, *asked: int) -> Kept:
        """Run a probe, in the child."""

    @abstractmethod
    def _make(self) -> None:
        """Make the data here, so that the child finds them."""

    def key(self, *asked: int) -> dict[str, Any]:
        """What a probe is filed under: all that its accuracies and costs depend on."""
        return recorded_key(
            code=(type(self).__module__, self._code),
            libraries=("lightgbm",),
            classes=self._classes,
            configuration=dict(self.configurations[asked[0]]),
            variant=self._variant,
            **self._asked(*asked),
        )

    def _known(self, *asked: int) -> Kept:
        """The recorded probe, or a new one, recorded."""
        if asked not in self._seen:
            self._seen[asked] = self._recorded(*asked)
        return self._seen[asked]

    def _recorded(self, *asked: int) -> Kept:
        if self._store is None:
            return self._limited(self._run(*asked)[0])
        records = self._store.records(self.key(*asked))
        records.refresh()
        unrecorded: list[Kept] = []

        def run(_number: int) -> Record | None:
            probe, lasting = self._run(*asked)
            if not lasting:
                unrecorded.append(probe)
                return None
            return asdict(probe) | {"limit": self._limit}

        while (usable := self._usable(records, *asked)) is None:
            records.extend(run)
            if unrecorded:
                return unrecorded[0]
        return usable

    def _usable(self, records: Records, *asked: int) -> Kept | None:
        """The newest attempt, if it answers for our limit."""
        if not len(records):
            return None
        record = records[len(records) - 1]
        told = {name: value for name, value in record.items() if name != "limit"}
        probe = replace(self._blank(*asked), **told)
        if probe.status == "timeout":
            return probe if record["limit"] >= self._limit else None
        return self._limited(probe)

    def _limited(self, probe: Kept) -> Kept:
        """A time-out for a success that took too long: the kernel counts whole seconds."""
        if probe.status != "ok" or probe.cpu() <= self._limit:
            return probe
        blank = type(probe)(rows=probe.rows, test_rows=probe.test_rows)
        return replace(
            blank,
            fit_cpu=self._limit,
            fit_wall=probe.wall() * self._limit / probe.cpu(),
            status="timeout",
            reason=over_cpu(self._limit).reason,
        )

    def _run(self, *asked: int) -> tuple[Kept, bool]:
        """The probe, and whether it would end so again."""
        parameters = self.configurations[asked[0]]
        self._make()
        self._prepare()

        def run() -> dict[str, Any]:
            return asdict(self._fit(self._build(parameters), *asked))

        limited = math.isfinite(self._limit)
        called = isolation.call(run, self._limit) if limited else isolation.here(run)
        if called.ending.status == "ok":
            return replace(self._blank(*asked), **called.value), True
        failed = replace(
            self._blank(*asked),
            fit_cpu=called.cpu_seconds,
            fit_wall=called.wall_seconds,
            status=called.ending.status,
            reason=called.ending.reason,
        )
        return failed, called.ending.lasting
