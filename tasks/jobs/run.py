"""One job in this process: load the data, run the algorithm, audit and log its events."""

import math
import traceback
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

from pydantic import ValidationError

from leaseboard.algorithms import registry
from leaseboard.algorithms.audit import Auditor
from leaseboard.algorithms.base import ENDED_EARLY, Cost, Environment, play
from leaseboard.algorithms.environments.stream import StreamEnvironment
from leaseboard.algorithms.errors import (
    DataUnavailableError,
    DivergedError,
    LeaseboardError,
    SettingError,
    SkipError,
    unknown,
)
from leaseboard.algorithms.events import Event, Finished, LogWriter, Measured
from leaseboard.algorithms.plugins import blamed, source_of
from leaseboard.tasks.fetch import loading
from leaseboard.tasks.jobs import environments
from leaseboard.tasks.jobs.described import classes, describe, pinned
from leaseboard.tasks.jobs.job import MOST_SCORE, Job, Result, first_fault
from leaseboard.tasks.jobs.prepared import Prepared, load_mapped
from leaseboard.tasks.machine.addresses import discreet
from leaseboard.tasks.machine.disk import fault_of_disk, reach
from leaseboard.tasks.machine.environment import working_seconds
from leaseboard.tasks.machine.terminal import shown
from leaseboard.tasks.machine.versions import code_and_libraries

RUN_JOB = "leaseboard.tasks.jobs.run:run_job"
"""Name of the function that runs a job, which a worker imports."""

MOST_REASON = 2000
"""Characters of a reason that are kept."""

Sink = Callable[[Event], None]


def route_settings(
    algorithm: str, given: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Divide a user's settings between the algorithm and its environment, by name.

    Raises UsageError for a name that neither knows, with the nearest one.
    """
    found = describe(algorithm)
    own, shared = frozenset(found.settings), environments.names(found.environment)
    for name in given:
        if name not in own | shared:
            raise SettingError(unknown(f"setting of {algorithm}", name, own | shared), name)
    return (
        {name: value for name, value in given.items() if name in own},
        {name: value for name, value in given.items() if name not in own},
    )


def check(job: Job) -> tuple[str, str, str]:
    """Return what `identify` does; UsageError for what is wrong with `job`, but for its data."""
    kind = describe(job.algorithm, job.settings).environment
    environments.resolve(kind, job.environment)
    loading.check(job.data)
    return identify(job, kind)


def identify(job: Job, kind: str) -> tuple[str, str, str]:
    """Return the version of the code that `job` runs, its identity, and its libraries.

    The identity is what the key holds in addition to the job and the digest of its data.
    """
    version, libraries = code_and_libraries(registry.files_of(job.algorithm), classes(job, kind))
    more = environments.resolve(kind, job.environment).identity() + pinned(job)
    return version, version + libraries + more, libraries


def run_job(
    job: Job, folder: Path, *, prepared: Prepared | None = None, sinks: tuple[Sink, ...] = ()
) -> Result:
    """Run `job` and write its event log into `folder`, which exists.

    - `folder`: gets ``events.jsonl.gz``, also a partial one if the job fails.
    - `prepared`: the data and the environment's parts; without it both are made here.
    - `sinks`: called with each event, outside the measured time.

    Returns the result with status ``ok`` or ``diverged``: every other ending is an exception.
    """
    started = datetime.now(UTC).isoformat(timespec="milliseconds")
    setup = perf_counter()
    dataset = prepared.dataset(job) if prepared else loading.load(job.data)
    algorithm = registry.build(job.algorithm, job.settings)
    parts = load_mapped(prepared.parts) if prepared and prepared.parts else None
    options = environments.resolve(algorithm.environment, job.environment)
    dataset = environments.divided(dataset, job)
    env = options.make(dataset, job, parts)
    if why := env.bars(algorithm):
        raise SkipError(f"{job.name or job.algorithm} {why}")
    algorithm.prepare(env)
    setup_seconds = perf_counter() - setup
    version, identity, libraries = identify(job, algorithm.environment)
    plugin = registry.plugin(job.algorithm)
    rows = min(len(dataset.target), getattr(options, "max_rows", None) or math.inf)
    if isinstance(env, StreamEnvironment):  # its budget counts rows
        rows = min(rows, env.budget)
    made = partial(
        Result.of,
        job,
        key=job.key(dataset.digest, identity),
        rows=rows,
        rows_available=dataset.rows_available,
        digest=dataset.digest,
        source=dataset.source,
        licence=dataset.licence,
        data_facts={
            **dataset.facts,
            **environments.facts_of_parts(options, dataset, job.environment_seed),
        },
        environment=algorithm.environment,
        baseline=algorithm.baseline,
        environment_options=options.model_dump(),
        version=version,
        libraries=libraries,
        plugins=source_of(plugin) if plugin else "",
        started=started,
        setup_seconds=setup_seconds,
        events="events.jsonl.gz",
    )
    auditor = Auditor()
    with LogWriter(folder / "events.jsonl.gz") as log:
        try:
            spent = _drive(
                play(job.name or job.algorithm, algorithm, env, job.seed),
                env,
                (auditor, log, *sinks),
            )
        except DivergedError as error:
            reason = discreet(str(error))
            return made(status="diverged", reason=reason)
        except BaseException:
            if isinstance(env, StreamEnvironment) and env.at:  # the log ends with what it reached
                log(Measured(at=env.at, value=env.score().value))
            raise
        auditor.close()
    reach("run.after-log")
    return made(**_fields(auditor, env, *spent))


def failed(job: Job, status: str, reason: str, *, key: str = "", **found: Any) -> Result:
    """Return the result of a job without a score; `key` is the job's own if no data were read."""
    found = {"digest": ""} | found
    key = key or job.key(found["digest"], job.data)
    said = shown(discreet(reason))[:MOST_REASON]
    return Result.of(job, key=key, status=status, reason=said, **found)


def _drive(events: Any, env: Environment, sinks: tuple[Sink, ...]) -> tuple[float, float]:
    """Exhaust the generator `events`; return the CPU and wall seconds that it took.

    Only the algorithm's own work is measured: the sinks get each event outside of it.
    """
    cpu_spent = wall_spent = 0.0
    while True:
        cpu, wall = working_seconds()
        event = next(events, None)
        cpu_now, wall_now = working_seconds()
        cpu_spent += cpu_now - cpu
        wall_spent += wall_now - wall
        if event is None:
            return cpu_spent, wall_spent
        if isinstance(event, Finished):
            event = replace(event, metrics={**event.metrics, **env.measures()})
        for sink in sinks:
            sink(event)


def _fields(auditor: Auditor, env: Environment, cpu: float, wall: float) -> dict[str, Any]:
    """Return what the events and the environment say of a complete run, as fields of a `Result`.

    An environment that replays recorded trials or probes, or asks another process, charges what
    they cost there; what this run spent is then the metric ``spent_cpu_seconds``.
    """
    started, champion, finished = auditor.started, auditor.champion, auditor.close()
    assert started is not None  # no other event comes first
    metrics = {name: float(value) for name, value in finished.metrics.items()}
    charged = env.cost or Cost(cpu, wall)
    if env.cost is not None:
        spent = env.cost.spent_cpu_seconds
        metrics["spent_cpu_seconds"] = cpu if spent is None else spent
        if env.cost.peak_memory_mb is not None:
            metrics["peak_memory_mb"] = env.cost.peak_memory_mb
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
        "metrics": metrics,
        "champion": None if champion is None else auditor.parameters[champion],
        "champion_seed": None if champion is None else auditor.seeds.get(champion),
        "unit": started.unit,
        "units": finished.at,
        "budget": started.budget if math.isfinite(started.budget) else None,
        "complete": complete,
        "settings": started.settings,
        "cpu_seconds": charged.cpu_seconds,
        "wall_seconds": charged.wall_seconds,
    }


def ended(error: BaseException, log: Callable[[str], Any]) -> tuple[str, str]:
    """Return the `verdict` on a job; `log` gets the traceback if its code is at fault."""
    status, reason = verdict(error)
    if status in {"crash", "memout"}:
        with suppress(OSError):  # a disk that is full
            log(discreet(traceback.format_exc()))
    return status, reason


def verdict(error: BaseException) -> tuple[str, str]:
    """Return the status of a job that ended with `error`, and the reason in one line.

    A job is skipped, and no algorithm's failure, if the data are not there or the disk is full.

    Results, MLflow, Prefect and terminals show it, so it holds no password.
    """
    if full := fault_of_disk(error):
        return "skipped", discreet(full)
    status, reason = "crash", str(error)
    match error:
        case DataUnavailableError() | SkipError():
            status = "skipped"
        case DivergedError():
            status = "diverged"
        case MemoryError():
            status, reason = "memout", "no memory could be allocated"
        case LeaseboardError():
            pass
        case ValidationError():
            reason = f"{error.title}: {first_fault(error)}"
        case _:
            reason = blamed(error)
    return status, discreet(reason)
