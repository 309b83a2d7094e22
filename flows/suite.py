"""One run of a suite: skip what is done, run the rest, keep the record; a kill can be mended."""

from __future__ import annotations

import dataclasses
import os
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from flows.dispatch import Run, dispatch
from flows.progress import Progress
from tasks.folder import results
from tasks.jobs.job import Result
from tasks.jobs.run import failed
from tasks.pool.workers import RUN_JOB
from tasks.suites.plan import Planned
from tasks.suites.suite import Suite
from tasks.track import Recorder, Tracker


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a run came to.

    Attributes
    ----------
    results : list of Result
        One for each planned job, in the plan's order, those of earlier runs included.
    problems : list of str
        What went wrong beside the jobs, such as a tracking store that is gone: one line each.
        Nothing that a job came to is lost by it, and the next run makes it good.
    """

    results: list[Result]
    problems: list[str]


def run_suite(
    suite: Suite,
    planned: list[Planned],
    out: Path,
    *,
    mirrors: tuple[Path, ...] = (),
    workers: int | None = None,
    local: bool = False,
    cluster: str | None = None,
    tracking_uri: str | None = None,
    work: str = RUN_JOB,
    kept: ExitStack | None = None,
) -> Outcome:
    """Run what is not done of `planned` and record everything under `out` and in MLflow.

    Parameters
    ----------
    suite : Suite
    planned : list of Planned
    out : Path
        An existing folder that this process has locked.
    mirrors : tuple of Path
    workers : int, optional
        Worker processes; the number of cores by default.
    local : bool
        Run the jobs from plain threads instead of a Prefect flow.
    cluster : str, optional
        The address of a Dask scheduler on whose workers the jobs run.
    tracking_uri : str, optional
        The MLflow store; None records nothing there.
    work : str
        What runs a job, see `tasks.pool.workers.WorkerPool`.
    kept : ExitStack, optional
        Given, the flow's server and log last until it is closed, so that the caller's words about
        the outcome are in the log too.
    """
    results.discard_unfinished(out)
    waiting = {entry.key: entry for entry in planned if not entry.done}
    size = max(1, min(workers or os.cpu_count() or 1, len(waiting)))
    recorder = _recorder(suite, planned, out, tracking_uri)
    rows = {entry.key: entry.earlier for entry in planned if entry.earlier is not None}
    versions = {entry.key: entry.version for entry in planned}
    problems: list[str] = []
    with (
        ExitStack() as own,
        Progress(len(planned), len(planned) - len(waiting), suite.data_names) as progress,
        recorder,
    ):

        def over(result: Result) -> Result:
            if (
                not result.version
            ):  # of a job that failed: by its version merged runs are kept apart
                result = dataclasses.replace(result, version=versions[result.key])
            rows[result.key] = result
            try:
                results.finish(out, result)
            except OSError as error:
                problems.append(
                    f"the result of {result.label} on {result.data} was not kept:"
                    f" {error.strerror} ({out})"
                )
            else:
                recorder.job_is_over(result)
            progress(result)
            return result

        for key, entry in list(waiting.items()):
            reason = entry.fault or entry.obstacle
            if reason:
                status = "crash" if entry.fault else "skipped"
                over(failed(entry.job, status, reason, key=key, digest=entry.digest))
                del waiting[key]
        if waiting:
            # Whole repetitions first: a run that is stopped has complete ones to compare.
            waiting = dict(sorted(waiting.items(), key=lambda item: item[1].job.repetition))
            run = Run(suite, waiting, out, over)
            given = {"local": local, "cluster": cluster, "work": work}
            dispatch(run, size, mirrors, **given, kept=kept or own)
    ordered = [rows[entry.key] for entry in planned]
    results.assemble(out, ordered)
    return Outcome(ordered, problems + recorder.problems)


def _recorder(suite: Suite, planned: list[Planned], out: Path, uri: str | None) -> Recorder:
    """What logs to MLflow beside the jobs, those of earlier runs first."""
    earlier = [entry.earlier for entry in planned if entry.earlier is not None]
    if uri is None:
        return Recorder(out, [], None)
    keys = [entry.key for entry in planned]
    rule = suite.tracking.configurations
    return Recorder(out, earlier, lambda: Tracker(uri, suite.name, keys, rule=rule))
