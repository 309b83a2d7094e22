"""Fits that are run once, each in a process of its own, and replayed from then on."""

from __future__ import annotations

import json
import math
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from time import perf_counter, process_time
from typing import Any, Generic, TypeVar

import threadpoolctl

from leaseboard.algorithms.benches.selecting import Probe
from leaseboard.algorithms.events import Parameters
from leaseboard.tasks.evaluate.probes.fitting import Classifier
from leaseboard.tasks.keys.versions import recorded_key
from leaseboard.tasks.processes.channel import Silence
from leaseboard.tasks.processes.endings import Ending, over_cpu, over_wall, post_mortem
from leaseboard.tasks.processes.forks import Fork, confine
from leaseboard.tasks.store.recorded import Record, Records, Store

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
        called = call(run, self._limit) if limited else here(run)
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


WALL_FACTOR = 10
WALL_GRACE = 30.0


@dataclass(frozen=True, slots=True)
class Called:
    """How a call ended, its `value` if it is ``ok``, and its cost."""

    ending: Ending
    value: Any = None
    cpu_seconds: float = 0.0
    wall_seconds: float = 0.0


def call(function: Callable[[], Any], cpu_seconds: float) -> Called:
    """Run `function` in a forked child, with one thread, and return what it returned.

    The child sees the caller's arrays without a copy. It is ended after `cpu_seconds` of CPU
    time, by the kernel, so that also an orphan ends; and, because a child that sleeps uses none,
    after ten times as much (and half a minute) on the wall clock.

    `function`: its value must be of JSON's types.

    It ends ``ok``, in a ``crash`` (an exception), a ``timeout`` or a ``memout``.
    """
    started = perf_counter()
    # One thread is set here and inherited: set in the child, OpenBLAS would first start its
    # threads there, and each spins for some 20 ms of CPU time.
    with threadpoolctl.threadpool_limits(1), warnings.catch_warnings():
        # Python 3.12 warns of forking with threads; the child takes no lock that they may hold.
        warnings.simplefilter("ignore", DeprecationWarning)
        child = Fork(lambda: _answer(function, cpu_seconds))
    patience = cpu_seconds * WALL_FACTOR + WALL_GRACE
    with child:
        said = child.answer(patience)
        code = child.code
    if not isinstance(said, Silence):
        ending, *rest = json.loads(said)
        return Called(Ending(*ending), *rest)
    if said is Silence.LONG:
        ending = Ending("crash", str(said))
    elif said is Silence.LATE or code is None:
        ending = over_wall(patience)
    else:
        ending = post_mortem(code, "the process", cpu_seconds)
    charged = cpu_seconds if ending.status == "timeout" else 0.0
    return Called(ending, None, charged, perf_counter() - started)


def here(function: Callable[[], Any]) -> Called:
    """Run `function` in this process, without any limit: a fork costs more than a small fit."""
    return Called(*_outcome(function))


def _answer(function: Callable[[], Any], cpu_seconds: float) -> bytes:
    """In the child: call the function, and tell its value or its error."""
    confine(cpu_seconds)
    ending, value, _, wall_seconds = _outcome(function)
    told = [ending.status, ending.reason, ending.lasting]
    return json.dumps([told, value, process_time(), wall_seconds]).encode()


def _outcome(function: Callable[[], Any]) -> tuple[Ending, Any, float, float]:
    """How a call ended, its value, and its seconds."""
    value, ending, cpu, started = None, Ending("ok"), process_time(), perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function()
    except MemoryError as error:
        ending = Ending("memout", f"MemoryError: {error}", lasting=False)
    except Exception as error:  # noqa: BLE001 - whatever a learner raises is its probe's result
        ending = Ending("crash", f"{type(error).__name__}: {error}".splitlines()[0])
    return ending, value, process_time() - cpu, perf_counter() - started
