"""``leaseboard race``: one algorithm on one data set, now."""

from __future__ import annotations

import json
import math
import shutil
import sys
import tempfile
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    from leaseboard.tasks.jobs.skill import SkillScore
    from leaseboard.tasks.models.winner import Fitted
    from leaseboard.tasks.pool.attempts import Attempt

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
    from leaseboard.tasks.jobs.skill import SkillScore, with_skill

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
        attempt = _run(job, folder, mirrors, fault=fault, keep=register is not None)
        result, found, home = attempt.result, SkillScore(attempt.result), attempt.folder
        assert home is not None
        try:
            _keep(attempt, result)
            found = with_skill(job, result, mirrors=mirrors, baselines=not no_baselines)
        finally:  # the result is told, whatever goes wrong
            result = found.result
            log = attempt.log.decode(errors="replace").rstrip()
            if context.obj and result.status != "ok" and log:  # asked for by --debug
                say(log, err=True)
            _print(_measured_by(metric, result), found, home, as_json=as_json)
        _keep(attempt, result)
    with redirect_stdout(sys.stderr):  # the JSON stays the last line
        if track:
            from leaseboard.tasks.track import log_race

            log_race(result, home / EVENTS, paths.tracking_uri(tracking_uri))
        if register is not None and result.status == "ok":
            fitted = _fitted(job, attempt, result, mirrors)
            record(register, fitted, [result], "race", tracking_uri)
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


def _run(job: Job, out: Path, mirrors: tuple[Path, ...], *, fault: str, keep: bool) -> Attempt:
    """Run the job in a folder of its own; what it raises is a result, but for wrong usage.

    Code of the user's runs in a worker, as in a suite; if `keep`, its model is kept there.
    """
    from leaseboard.tasks.jobs.programs import is_foreign
    from leaseboard.tasks.jobs.run import RUN_JOB, failed
    from leaseboard.tasks.models.kept import RUN
    from leaseboard.tasks.pool.attempts import Attempt, run_one

    folder = Path(tempfile.mkdtemp(prefix=".race-", dir=out))
    try:
        if fault:
            made = Attempt(failed(job, "crash", fault))
        else:
            with terminable() if is_foreign(job) else nullcontext():
                made = run_one(job, folder, mirrors=mirrors, work=RUN if keep else RUN_JOB)
    except (UsageError, KeyboardInterrupt, SystemExit):
        shutil.rmtree(folder)
        raise
    result = made.result
    home = out / f"{result.label.replace('/', '_').replace(':', '_')}-{result.key}"
    if home.exists():
        shutil.rmtree(home)
    folder.rename(home)
    log = home / EVENTS
    result = replace(result, events=str(log) if log.exists() else None)
    return replace(made, result=result, folder=home)


def _keep(attempt: Attempt, result: Result) -> None:
    """Write the result, and the traceback of a crash, beside the events."""
    home = attempt.folder
    assert home is not None
    write_result(home, result)
    if attempt.trace:
        (home / LOG).write_text(attempt.trace, encoding="utf-8")


def _fitted(job: Job, attempt: Attempt, result: Result, mirrors: tuple[Path, ...]) -> Fitted:
    """The model that was found, with what it was made from.

    Raises UsageError if the run's score is none that others can be compared with.
    """
    from leaseboard.tasks.models.kept import WORD, kept
    from leaseboard.tasks.models.winner import barred, fit

    if why := barred(result):
        raise UsageError(f"not registered: {result.label} on {result.data}: {why}")
    assert attempt.folder is not None
    if (attempt.folder / WORD).is_file():
        return kept(job, attempt.folder, mirrors)
    return fit(job, result, mirrors=mirrors, learner=attempt.model)


def _print(result: Result, found: SkillScore, home: Path, *, as_json: bool) -> None:
    from leaseboard.algorithms.benches.holdout import ONE_CLASS, SAYS_NOTHING
    from leaseboard.algorithms.configurations import phrase
    from leaseboard.algorithms.events import ConfigurationFailed, of
    from leaseboard.tasks.folder.event_logs import read_partial_log
    from leaseboard.tasks.jobs.job import plain
    from leaseboard.tasks.score.frame import rows_cut, to_frame, told

    is_log = found.of_log and result.metric == found.result.metric
    events = read_partial_log(home / EVENTS) if (home / EVENTS).is_file() else ()
    failures = list(of(events, ConfigurationFailed))
    for each in failures[:MOST_FAILURES]:
        reason = " ".join(each.reason.split())
        say(f"configuration {each.configuration} failed: {reason}", err=True)
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
        measured = told(result.metrics, found.best)
        if measured:
            say(f"measured: {measured}{', all of the target itself' if found.of_log else ''}")
        if found.best:
            say(f"naive baselines: {found.baselines_cpu_seconds:.3f} CPU s more")
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
        say(f"events: {home / EVENTS}")
    if as_json:
        names = ("status", "score", "metric", "direction", "metrics", "champion", "units", "unit",
                 "rows", "rows_available",
                 "budget", "complete", "hindsight",
                 "cpu_seconds", "wall_seconds", "setup_seconds", "seed", "environment_seed",
                 "algorithm", "data", "digest", "settings", "bench_options", "reason",
                 "events", "baseline", "baselines_cpu_seconds", "of_log_target")  # fmt: skip
        row = plain(result) | {"baseline": found.best, "of_log_target": is_log,
                               "baselines_cpu_seconds": found.baselines_cpu_seconds}  # fmt: skip
        say(json.dumps({name: row[name] for name in names}))
