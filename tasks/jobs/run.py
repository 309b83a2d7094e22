"""One job in this process: load the data, play the algorithm, audit and log its events."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic import ValidationError

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import ENDED_EARLY, Bench, Cost, play
from leaseboard.algorithms.benches.referee import Referee
from leaseboard.algorithms.benches.stream import StreamBench
from leaseboard.algorithms.errors import (
    DataUnavailableError,
    DivergedError,
    LeaseboardError,
    SkipError,
    UsageError,
)
from leaseboard.algorithms.events import Event
from leaseboard.algorithms.log_format import LogWriter
from leaseboard.algorithms.user_files import place
from leaseboard.tasks import fetch
from leaseboard.tasks.jobs import benches
from leaseboard.tasks.jobs.benches.kinds import KINDS
from leaseboard.tasks.jobs.described import describe
from leaseboard.tasks.jobs.job import MOST_SCORE, Job, Result, first_fault
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.programs import classes, files, pinned, programs
from leaseboard.tasks.keys.versions import code_version, read_ahead
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.clocks import cpu_seconds

RUN_JOB = "leaseboard.tasks.jobs.run:run_job"
"""What runs a job, by name: a worker imports it."""

Sink = Callable[[Event], None]

BESIDE_EVENTS = frozenset(("spent_cpu_seconds", "peak_memory_mb"))
"""Metrics that are measured beside the events, and are others in every run."""


def route_settings(
    algorithm: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide one user's settings between the algorithm and its bench, by name.

    Raises UsageError for a name that neither knows, with the nearest one.
    """
    found = describe(algorithm)
    own, shared = frozenset(found.settings), benches.options(found.bench)
    for name in given:
        if name not in own | shared:
            raise registry.unknown_setting(algorithm, name, given[name], own | shared)
    return (
        {name: value for name, value in given.items() if name in own},
        {name: value for name, value in given.items() if name not in own},
    )


def check(job: Job) -> None:
    """Raise a UsageError for what can be seen to be wrong with `job` before any data are read."""
    bench = describe(job.algorithm, job.settings).bench
    benches.check_options(bench, job.bench)
    for file in files(job):
        if not file.is_file():
            raise UsageError(f"no file {str(file)!r}: name an existing .py file")
    fetch.check(job.data)
    identify(job, bench)


def identify(job: Job, bench: str) -> tuple[str, str]:
    """The version of the code that `job` runs on a bench of that kind, and all that its key holds.

    That is, beside the job itself and the digest of its data.
    """
    given = files(job), classes(job, bench), programs(job)
    version = code_version(job.algorithm, bench, *given)
    return version, version + benches.identity(bench, job.bench) + pinned(job)


def run_job(
    job: Job,
    folder: Path,
    *,
    mirrors: tuple[Path, ...] = (),
    prepared: Prepared | None = None,
    sinks: tuple[Sink, ...] = (),
) -> tuple[Result, Any]:
    """Run `job` and write its event log into `folder`, which exists.

    - `folder`: gets ``events.jsonl.gz``, also a partial one if the job fails.
    - `mirrors`: data mirrors that are asked before the network.
    - `prepared`: the data and what the bench is made of; without it both are made here.
    - `sinks`: called with each event, outside the measured time.

    Returns
    -------
    Result
        With status ``ok`` or ``diverged``. Every other ending is an exception.
    model
        The champion's model, None if the algorithm has none.
    """
    started = datetime.now(UTC).isoformat(timespec="seconds")
    setup = perf_counter()
    dataset = prepared.dataset(job) if prepared else fetch.load(job.data, mirrors=mirrors)
    algorithm = registry.build(job.algorithm, job.settings)
    parts = prepared.bench_parts(job, algorithm.bench, dataset.digest) if prepared else None
    bench = benches.make(algorithm.bench, dataset, job, parts)
    if why := bench.bars(algorithm):
        raise SkipError(f"{job.label or job.algorithm} {why}")
    referee = Referee(bench)
    algorithm.prepare(referee.window)
    setup_seconds = perf_counter() - setup
    version, identity = identify(job, algorithm.bench)
    options = benches.check_options(algorithm.bench, job.bench)
    rows = min(len(dataset.target), options.get("max_rows") or math.inf)
    if isinstance(bench, StreamBench):  # its budget counts rows
        rows = min(rows, bench.budget)
    made = partial(
        Result.of,
        job,
        key=job.key(dataset.digest, identity),
        rows=rows,
        rows_available=dataset.rows_available,
        digest=dataset.digest,
        source=dataset.source,
        licence=dataset.licence,
        setup_seconds=setup_seconds,
        bench=algorithm.bench,
        hindsight=algorithm.hindsight,
        baseline=algorithm.baseline,
        bench_options=options,
        version=version,
        started=started,
        events="events.jsonl.gz",
    )
    with ExitStack() as stack:
        log = stack.enter_context(LogWriter(folder / "events.jsonl.gz"))
        auditor = Auditor()
        try:
            model, *spent = _drive(
                play(job.label or job.algorithm, algorithm, bench, job.seed, referee.window),
                (auditor, log, *sinks),
            )
        except DivergedError as error:
            return made(status="diverged", reason=discreet(str(error))), None
        finished = auditor.close()
    referee.verify(finished)
    result = made(**_ending(auditor, bench, *spent))
    return result, model if result.status == "ok" else None


def warm() -> None:
    """Import and read what any job needs, so that forks of this process need not."""
    for kind in KINDS:
        benches.options(kind)
    read_ahead(KINDS)


def failed(job: Job, status: str, reason: str, *, key: str = "", **found: Any) -> Result:
    """The result of a job without a score; `key` is the job's own where no data were read."""
    found = {"digest": ""} | found
    key = key or job.key(found["digest"], job.data)
    return Result.of(job, key=key, status=status, reason=discreet(reason), **found)


def _drive(events: Any, sinks: tuple[Sink, ...]) -> tuple[Any, float, float]:
    """Exhaust the generator `events`; return its value, and the CPU and wall seconds it took.

    Only the algorithm's own work is measured: the sinks get each event outside of it.
    """
    cpu_spent = wall_spent = 0.0
    while True:
        cpu, wall = cpu_seconds(), perf_counter()
        try:
            event = next(events)
        except StopIteration as stop:
            cpu_spent += cpu_seconds() - cpu
            wall_spent += perf_counter() - wall
            return stop.value, cpu_spent, wall_spent
        cpu_spent += cpu_seconds() - cpu
        wall_spent += perf_counter() - wall
        for sink in sinks:
            sink(event)


def _ending(auditor: Auditor, bench: Bench, cpu: float, wall: float) -> dict[str, Any]:
    """What the events and the bench say of a complete run, as fields of a `Result`.

    A bench that replays recorded trials or probes, or asks a process of its own, charges what
    they cost there; what this run really spent is then the metric ``spent_cpu_seconds``.
    """
    said = told(auditor)
    cost = bench.cost
    if cost is not None:
        spent = cost.spent_cpu_seconds
        said["metrics"]["spent_cpu_seconds"] = cpu if spent is None else spent
        if cost.peak_memory_mb is not None:
            said["metrics"]["peak_memory_mb"] = cost.peak_memory_mb
    charged = cost or Cost(cpu, wall)
    return said | {"cpu_seconds": charged.cpu_seconds, "wall_seconds": charged.wall_seconds}


def told(auditor: Auditor) -> dict[str, Any]:
    """What the events of a complete run say of it, as fields of a `Result`."""
    started, champion, known = auditor.started, auditor.champion, auditor.parameters
    finished = auditor.close()
    assert started is not None  # no other event comes first
    finite = abs(finished.score) <= MOST_SCORE
    complete = finished.reason != ENDED_EARLY
    early = f"ended early: {finished.at:g} of {started.budget:g} {started.unit}"
    reason = "" if complete else early
    return {
        "status": "ok" if finite else "diverged",
        "reason": reason if finite else "the score is not a finite number",
        "score": finished.score if finite else None,
        "metric": finished.metric,
        "direction": finished.direction,
        "metrics": dict(finished.metrics),
        "champion": None if champion is None else known[champion],
        "champion_seed": None if champion is None else auditor.seeds.get(champion),
        "unit": started.unit,
        "units": finished.at,
        "budget": started.budget if math.isfinite(started.budget) else None,
        "complete": complete,
        "settings": started.settings,
    }


def verdict(error: BaseException) -> tuple[str, str]:
    """The status of a job that ended with `error`, and the reason in one line, no password in it.

    Results, MLflow, Prefect and terminals tell it on.
    """
    status, reason = _judged(error)
    return status, discreet(reason)


def _judged(error: BaseException) -> tuple[str, str]:
    match error:
        case DataUnavailableError() | SkipError():
            return "skipped", str(error)
        case DivergedError():
            return "diverged", str(error)
        case MemoryError():
            return "memout", "no memory could be allocated"
        case LeaseboardError():
            return "crash", str(error)
        case ValidationError():
            return "crash", f"{error.title}: {first_fault(error)}"
        case _:
            first = str(error).partition("\n")[0]
            return "crash", f"{type(error).__name__}: {first}".rstrip(": ") + place(error)
