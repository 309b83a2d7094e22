"""``leaseboard race``: one algorithm on one data set, now."""

from __future__ import annotations

import json
import math
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.flows.commands.model import record
from leaseboard.flows.commands.options import (
    Conf,
    Mirrors,
    NoBaselines,
    TrackingUri,
    parse_settings,
    use_conf,
)
from leaseboard.flows.console import new_folder, say, terminable
from leaseboard.tasks.folder.results import EVENTS, LOG, write_result
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import prepare_environment

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.models.winner import Fitted

MOST_FAILURES = 5

ONE_CLASS_MEND = (
    "leave scale, clip and learning_rate at their defaults, or give more rows; AppleClassifier has"
    " class_weight and predict_proba"
)


def race(
    context: typer.Context,
    algorithm: Annotated[
        str, typer.Argument(help="A name of `leaseboard list`, or file.py:Class.")
    ],
    data: Annotated[str, typer.Argument(help="A reference such as openml:215 or file:my.csv.")],
    target: Annotated[str | None, typer.Option(help="The target column (default: last).")] = None,
    task: Annotated[str | None, typer.Option(help="regression or classification.")] = None,
    seed: Annotated[int, typer.Option(min=0, max=2**31 - 1, help="Of everything random.")] = 0,
    environment_seed: Annotated[
        int | None,
        typer.Option(min=0, max=2**31 - 1, help="Of splits and draws (default: --seed)."),
    ] = None,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", help="A setting of the algorithm or bench, KEY=VALUE; repeatable."),
    ] = None,
    budget: Annotated[float | None, typer.Option(help="Units of the bench, see the JSON.")] = None,
    metric: Annotated[
        str | None,
        typer.Option(help="What to tell in the place of the score, such as kappa or mae."),
    ] = None,
    no_baselines: NoBaselines = False,
    as_json: Annotated[bool, typer.Option("--json", help="End with one JSON object.")] = False,
    out: Annotated[Path, typer.Option("--out", help="Where the events go.")] = Path("runs/race"),
    mirror: Mirrors = None,
    conf: Conf = None,
    register: Annotated[
        str | None, typer.Option(help="Register the model under this name, as challenger.")
    ] = None,
    track: Annotated[bool, typer.Option("--track", help="Log to MLflow as well.")] = False,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run one algorithm on one data set.

    Example: leaseboard race chacha synthetic:fried?rows=20000 --set b=10 --json
    """
    from leaseboard.tasks.fetch.references import with_options
    from leaseboard.tasks.jobs.job import Job

    prepare_environment()
    use_conf(conf)
    if budget is not None and not 0 < budget < math.inf:
        raise UsageError(
            f"--budget {budget:g} must be a number above 0: name how many units to spend"
        )
    job = Job(
        algorithm=algorithm,
        data=with_options(data, target=target, task=task),
        seed=seed,
        environment_seed=seed if environment_seed is None else environment_seed,
        label=algorithm,
        settings=parse_settings(settings or []),
        budget=budget,
    )
    job, fault = _checked(job)
    if register is not None:
        _check_register(register, job, fault)
    mirrors = paths.mirrors(tuple(mirror or ()))
    if metric is not None:
        _check_metric(metric, job, mirrors)
    with new_folder(out) as folder:
        attempt = _attempt(job, folder, mirrors, fault=fault, keep=register is not None)
        try:
            attempt.keep()
            attempt = attempt.with_skill(job, mirrors, baselines=not no_baselines)
        finally:  # the result is told, whatever goes wrong
            result = attempt.result
            if context.obj and result.status != "ok" and attempt.log:  # asked for by --debug
                say(attempt.log.rstrip(), err=True)
            _print(_measured_by(metric, result), attempt, as_json=as_json)
        attempt.keep()
    with redirect_stdout(sys.stderr):  # the JSON stays the last line
        if track:
            from leaseboard.tasks.track import log_race

            log_race(result, attempt.home / EVENTS, paths.tracking_uri(tracking_uri))
        if register is not None and result.status == "ok":
            record(register, attempt.fitted(job, mirrors), [result], "race", tracking_uri)
    return 0 if result.status == "ok" else 3 if result.status == "skipped" else 2


def _checked(job: Job) -> tuple[Job, str]:
    """The job with its settings divided, and why the user's file cannot be used, if so."""
    from leaseboard.tasks.jobs.run import check, route_settings

    try:
        mine, shared = route_settings(job.algorithm, job.settings)
        routed = replace(job, settings=mine, bench=shared)
        check(routed)
    except UserFileError as error:
        return job, str(error)
    return routed, ""


def _check_register(name: str, job: Job, fault: str) -> None:
    """UsageError if the job's model cannot be registered under that name, whatever comes of it."""
    from leaseboard.tasks.jobs.described import describe
    from leaseboard.tasks.models.names import check_name
    from leaseboard.tasks.models.winner import require_model

    check_name(name)
    if not fault:
        require_model(job.label, describe(job.algorithm, job.settings).bench)


def _check_metric(name: str, job: Job, mirrors: tuple[Path, ...]) -> None:
    """UsageError if the job cannot have the measure."""
    from leaseboard.tasks.jobs.suites.plan import require_measure, tasks_of
    from leaseboard.tasks.score.frame import check_measure

    require_measure(check_measure(name), [job], {})  # before any data are loaded
    require_measure(name, [job], tasks_of([job.data], mirrors))


def _measured_by(metric: str | None, result: Result) -> Result:
    """`result` with the measure, if asked for, in the place of the score; says if it has none."""
    from leaseboard.algorithms.benches.measures import DIRECTIONS

    if metric is None or result.status != "ok":
        return result
    if metric not in result.metrics:
        say(
            f"--metric {metric} is not defined for what came of this run: its score is"
            f" {result.metric}; run more of the data, or leave --metric out",
            err=True,
        )
        return result
    value = result.metrics[metric]
    return replace(result, score=value, metric=metric, direction=DIRECTIONS[metric])


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What came of the job, where its files are, and its model or where that was kept.

    `best` is the first try that the result's skill is over; `of_log` says whether the score is of
    the logarithm of the target.
    """

    result: Result
    home: Path
    model: Any = None
    traceback: str = ""
    best: str = ""
    of_log: bool = False
    baselines_cpu_seconds: float = 0.0

    def with_skill(self, job: Job, mirrors: tuple[Path, ...], *, baselines: bool) -> _Attempt:
        """It, measured against the best of what a person tries first, on a stream."""
        from leaseboard.tasks.jobs.skill import with_skill

        found = with_skill(job, self.result, mirrors=mirrors, baselines=baselines)
        return replace(self, **found._asdict())

    @property
    def log(self) -> str:
        """What the job printed, and the traceback if it crashed."""
        kept = self.home / LOG
        return self.traceback or (
            kept.read_text(encoding="utf-8", errors="replace") if kept.is_file() else ""
        )

    @property
    def failures(self) -> list[str]:
        """The configurations that failed, by the event log."""
        from leaseboard.algorithms.events import ConfigurationFailed, of
        from leaseboard.tasks.folder.event_logs import read_partial_log

        log = self.home / EVENTS
        events = read_partial_log(log) if log.is_file() else ()
        return [
            f"configuration {failed.configuration} failed: {failed.reason}"
            for failed in of(events, ConfigurationFailed)
        ]

    def keep(self) -> None:
        """Write the result, and the traceback of a crash, beside the events."""
        write_result(self.home, self.result)
        if self.traceback:
            (self.home / LOG).write_text(self.traceback, encoding="utf-8")

    def fitted(self, job: Job, mirrors: tuple[Path, ...]) -> Fitted:
        """The model that was found, with what it was made from.

        Raises UsageError if the run's score is none that others can be compared with.
        """
        from leaseboard.tasks.models.kept import WORD, kept
        from leaseboard.tasks.models.winner import barred, fit

        why = barred(self.result)
        if why:
            raise UsageError(f"not registered: {self.result.label} on {self.result.data}: {why}")
        if (self.home / WORD).is_file():
            return kept(job, self.home, mirrors)
        return fit(job, self.result, mirrors=mirrors, learner=self.model)


def _attempt(
    job: Job, out: Path, mirrors: tuple[Path, ...], *, fault: str, keep: bool
) -> _Attempt:
    """Run the job; whatever it raises is a result, but for wrong usage and Ctrl-C.

    Code of the user's runs in a worker, as in a suite; if `keep`, its model is kept there.
    """
    import shutil
    import tempfile

    from leaseboard.tasks.jobs.job import Limits
    from leaseboard.tasks.jobs.programs import is_foreign
    from leaseboard.tasks.jobs.run import RUN_JOB, attempt, failed
    from leaseboard.tasks.models.kept import RUN
    from leaseboard.tasks.pool.workers import WorkerPool

    folder = Path(tempfile.mkdtemp(prefix=".race-", dir=out))
    model, trace = None, ""
    try:
        if fault:
            result = failed(job, "crash", fault)
        elif is_foreign(job):
            work = RUN if keep else RUN_JOB
            with terminable(), WorkerPool(1, Limits(), mirrors=mirrors, work=work) as pool:
                result = pool.race(job, folder)
        else:
            result, model, trace = attempt(job, folder, mirrors=mirrors)
    except (UsageError, KeyboardInterrupt, SystemExit):
        shutil.rmtree(folder)
        raise
    home = out / f"{result.label.replace('/', '_').replace(':', '_')}-{result.key}"
    if home.exists():
        shutil.rmtree(home)
    folder.rename(home)
    log = home / EVENTS
    result = replace(result, events=str(log) if log.exists() else None)
    return _Attempt(result, home, model, trace)


def _print(result: Result, attempt: _Attempt, *, as_json: bool) -> None:
    from leaseboard.algorithms.benches.holdout import ONE_CLASS, SAYS_NOTHING
    from leaseboard.algorithms.configurations import phrase
    from leaseboard.tasks.jobs.job import plain
    from leaseboard.tasks.score.frame import rows_cut, to_frame, told

    is_log = attempt.of_log and result.metric == attempt.result.metric
    failures = attempt.failures
    for failure in failures[:MOST_FAILURES]:
        say(" ".join(failure.split()), err=True)
    more = len(failures) - MOST_FAILURES
    if more > 0:
        say(f"and {more} more configurations failed: their reasons are events", err=True)
    if result.status != "ok":
        reason = " ".join(result.reason.split())
        say(f"{result.label} on {result.data}: {result.status}: {reason}", err=True)
    elif not as_json:
        say(
            f"{result.label} on {result.data}, seed {result.seed}:"
            f" {result.metric} {result.score:.6g}{' of the log target' if is_log else ''}"
            f" in {result.cpu_seconds:.3f} CPU s ({result.units:g} {result.unit})"
        )
        if cut := rows_cut(to_frame([result]), {}):
            say(cut)
        measured = told(result.metrics, attempt.best)
        if measured:
            say(f"measured: {measured}{', all of the target itself' if attempt.of_log else ''}")
        if attempt.best:
            say(f"naive baselines: {attempt.baselines_cpu_seconds:.3f} CPU s more")
        if ONE_CLASS in result.metrics:
            say(f"{SAYS_NOTHING}: {ONE_CLASS_MEND}", err=True)
        if not result.complete:
            say(
                f"it ended early: {result.units:g} of {result.budget:g} {result.unit},"
                " so its score cannot be compared",
                err=True,
            )
        if result.champion:
            say(f"champion: {phrase(result.champion)}")
        say(f"events: {attempt.home / EVENTS}")
    if as_json:
        names = ("status", "score", "metric", "direction", "metrics", "champion", "units", "unit",
                 "rows", "rows_available",
                 "budget", "complete", "hindsight",
                 "cpu_seconds", "wall_seconds", "setup_seconds", "seed", "environment_seed",
                 "algorithm", "data", "digest", "settings", "bench_options", "reason",
                 "events", "baseline", "baselines_cpu_seconds", "of_log_target")  # fmt: skip
        row = plain(result) | {"baseline": attempt.best, "of_log_target": is_log,
                               "baselines_cpu_seconds": attempt.baselines_cpu_seconds}  # fmt: skip
        say(json.dumps({name: row[name] for name in names}))
