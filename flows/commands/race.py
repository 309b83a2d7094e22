"""``leaseboard race``: one or several algorithms on one dataset, now."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
from contextlib import nullcontext, redirect_stdout
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.flows.commands.options import (
    Algorithms,
    AsJson,
    Conf,
    Mirrors,
    Seed,
    Settings,
    TrackingUri,
    parse_settings,
    use_conf,
)
from leaseboard.flows.commands.registration import record
from leaseboard.flows.console import new_folder, say, say_progress, terminable
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.progress import Activity

if TYPE_CHECKING:
    from leaseboard.algorithms.events import Event
    from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.jobs.skill import SkillScore
    from leaseboard.tasks.pool.attempts import Attempt

SHOWN = 0.001
"""CPU seconds of the naive baselines from which on they are printed; as jobs they cost none."""
ONE_CLASS_FIX = (
    "leave scale, clip and learning_rate at their defaults, or give more rows;"
    " PolynomialExpansionClassifier has"
    " class_weight and predict_proba"
)


def race(
    context: typer.Context,
    algorithm: Algorithms,
    data: str,
    target: str | None = None,
    task: str | None = None,
    seed: Seed = 0,
    settings: Settings = None,
    split: str | None = None,
    labels: str | None = None,
    budget: float | None = None,
    metric: str | None = None,
    no_baselines: bool = False,
    predictions: bool = False,
    as_json: AsJson = False,
    run_dir: Path = Path("runs/race"),
    mirror: Mirrors = None,
    conf: Conf = None,
    register: str | None = None,
    track: bool = False,
    tracking_uri: TrackingUri = None,
) -> int:
    """Run one or several algorithms on one dataset; of several, print a leaderboard.

    With --json standard output is one JSON object, or a list of them for several algorithms.

    - `run_dir`: each job gets a folder in it.
    - `split`: Rows to hold out and to validate on: random, time (the last ones), time=COLUMN or
      group=COLUMN (default: time if exactly one column holds dates).
    - `labels`: When they arrive: immediate, after=N (rows), with=COLUMN or end; by default, of a
      stream in a file, with the only column of dates, if it never decreases.
    - `budget`: Units of the environment to spend: examples, trials, rows or seconds.
    - `predictions`: Also write each label with its prediction, to predictions.parquet.
    - `track`: Also record the jobs in MLflow.

    Example: leaseboard race online-automl vanilla synthetic:fried?rows=20000
    """
    from leaseboard.algorithms.measures import DIRECTIONS
    from leaseboard.tasks.fetch.references import with_options
    from leaseboard.tasks.folder.results import EVENTS, write_result
    from leaseboard.tasks.jobs.job import Job

    use_conf(conf)
    _check_store(tracking_uri, records=track or bool(register))
    if budget is not None and not 0 < budget < math.inf:
        raise UsageError(
            f"--budget {budget:g} must be a number above 0: name how many units to spend"
        )
    reference = with_options(data, target=target, task=task)
    mirrors = paths.mirrors(tuple(mirror or ()))
    chosen = {} if labels is None else {"labels": labels}
    given = _with_labels(
        parse_settings(settings or []) | chosen, algorithm[0], reference, mirrors, as_json=as_json
    )
    checked = [
        _checked(
            Job(
                algorithm=each,
                data=reference,
                seed=seed,
                environment_seed=seed,
                name=each,
                settings=given | ({"split": split} if split else {}),
                budget=budget,
                metric="" if metric is None or metric in DIRECTIONS else metric,
                predictions=predictions,
            ),
            register,
            metric,
            mirrors,
        )
        for each in algorithm
    ]
    more = _baselines(algorithm, reference, no_baselines) if len(algorithm) > 1 else []
    jobs = [*checked, *((replace(checked[0][0], algorithm=each, name=each, settings={}), "")
                        for each in more)]  # fmt: skip
    attempts: list[Attempt] = []
    raced, results = [], []
    rows: list[dict[str, Any]] | None = [] if as_json else None
    with new_folder(run_dir) as folder:
        for number, (job, fault) in enumerate(jobs, 1):
            if len(jobs) > 1:
                say_progress(f"[{number}/{len(jobs)}] {job.name} on {job.data}")
            attempts.append(_run(job, folder, mirrors, fault=fault, keep_model=bool(register)))
        ran = [each.result for (job, _), each in zip(jobs, attempts, strict=True)
               if not job.settings]  # fmt: skip
        try:
            for (job, _), attempt in zip(checked, attempts, strict=False):
                log = attempt.log.decode(errors="replace").rstrip()
                if "debug" in context.obj and attempt.result.status != "ok" and log:
                    say(log, err=True)
                result, measured = _finish(
                    job, attempt, mirrors, metric, ran, rows, baselines=not no_baselines
                )
                raced.append((job, attempt, result))
                results.append(measured)
        finally:  # also of those before one that cannot be written
            if rows:
                say(json.dumps(rows if len(checked) > 1 else rows[0]))
        for attempt in attempts[len(checked) :]:
            assert attempt.folder is not None
            write_result(attempt.folder, attempt.result)
            results.append(_measured_by(metric, attempt.result))
    with redirect_stdout(sys.stderr) if as_json else nullcontext():
        _show_all(results, diagnosed=not as_json)
    with redirect_stdout(sys.stderr):  # the JSON stays alone
        if track:
            from leaseboard.tasks.track.tracker import log_race

            for _, attempt, result in raced:
                assert attempt.folder is not None
                log_race(result, attempt.folder / EVENTS, paths.tracking_uri(tracking_uri))
        whole = [n for n, (*_, result) in enumerate(raced) if result.status == "ok"]
        if register is not None and whole:
            best = min(whole, key=lambda n: _loss(results[n]))
            _register(register, *raced[best], mirrors, tracking_uri)
    ended = [{"ok": 0, "skipped": 3}.get(result.status, 2) for *_, result in raced]
    return 2 if 2 in ended else min(ended)


def _with_labels(
    given: dict[str, Any], algorithm: str, data: str, mirrors: tuple[Path, ...], *, as_json: bool
) -> dict[str, Any]:
    """Return the settings with the option `labels`, which goes by a file's dates by default."""
    from leaseboard.tasks.jobs.environments.stream import arrival_of_file

    if "labels" in given or (arrival := arrival_of_file(algorithm, data, mirrors)).is_immediate:
        return given
    say(f"{arrival.guessed}; --labels says otherwise", err=as_json)
    return {**given, "labels": str(arrival)}


def _check_store(tracking_uri: str | None, *, records: bool) -> None:
    from leaseboard.tasks.track.store import check_address

    if records:
        check_address(paths.tracking_uri(tracking_uri))
    elif tracking_uri is not None:
        raise UsageError("--tracking-uri alone records nothing: add --track or --register NAME")


def _show(shown: Activity, event: Event) -> None:
    """Show how much of its budget a job has spent."""
    from leaseboard.algorithms.events import Started, of

    for first in of((event,), Started):
        shown.total, shown.unit = first.budget, first.unit
    shown.done = event.at


def _loss(result: Result) -> float:
    """Return the score of a finished job, such that less is better."""
    assert result.score is not None
    return result.score if result.direction == "min" else -result.score


def _finish(
    job: Job,
    attempt: Attempt,
    mirrors: tuple[Path, ...],
    metric: str | None,
    ran: list[Result],
    rows: list[dict[str, Any]] | None,
    *,
    baselines: bool,
) -> tuple[Result, Result]:
    """Print and write the result of a job that has ended, with its skill.

    Returns it, and the same with `metric` as its score.

    - `ran`: results on the same data, by the defaults of their algorithms.
    - `rows`: gets the result as a row for JSON, which is not printed then.
    """
    from leaseboard.tasks.folder.results import LOG, write_result
    from leaseboard.tasks.jobs.skill import SkillScore, with_skill

    found, home = SkillScore(attempt.result), attempt.folder
    assert home is not None
    try:
        found = with_skill(job, attempt.result, mirrors=mirrors, baselines=baselines, ran=ran)
    finally:  # the result is shown and written, also if the baselines fail
        measured = _measured_by(metric, found.result)
        _print(measured, found, home, rows)
        write_result(home, found.result)
        if attempt.trace:
            (home / LOG).write_text(attempt.trace, encoding="utf-8")
    return found.result, measured


def _baselines(algorithms: list[str], reference: str, no_baselines: bool) -> list[str]:
    """Return the naive baselines to add; UsageError if no leaderboard compares the algorithms."""
    from pydantic import ValidationError

    from leaseboard.tasks.jobs.job import first_fault
    from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
    from leaseboard.tasks.jobs.suites.suite import Suite

    content = {"title": "Race", "algorithms": algorithms, "data": [reference],
               "baselines": not no_baselines}  # fmt: skip
    try:
        suite = with_baselines(Suite.model_validate(content))
    except ValidationError as error:
        raise UsageError(first_fault(error)) from error
    check_suite(suite)
    return [each.algorithm for each in suite.algorithms[len(algorithms) :]]


def _diagnosed(results: list[Result]) -> list[Diagnostic]:
    """Return the diagnostics of jobs that have ended."""
    from leaseboard.tasks.folder.event_logs import read_partial_log
    from leaseboard.tasks.jobs.diagnostic_codes import find
    from leaseboard.tasks.score.diagnostics import FINDERS, DiagnosedRun, signals
    from leaseboard.tasks.score.frame import to_frame

    logs = {each.key: signals(each, read_partial_log(Path(each.events))) or ()
            for each in results if each.events}  # fmt: skip
    return find(FINDERS, DiagnosedRun(to_frame(results), logs=logs))


def _show_all(results: list[Result], *, diagnosed: bool) -> None:
    """Print the leaderboard of several results, if one has a score, and the diagnostics."""
    from leaseboard.tasks.fetch.data_facts import remarks
    from leaseboard.tasks.jobs.diagnostic_codes import lines_of
    from leaseboard.tasks.score import board
    from leaseboard.tasks.score.frame import rows_cut, to_frame
    from leaseboard.tasks.score.summary import compared

    if len(results) > 1 and any(result.status == "ok" for result in results):
        say()
        board.show(compared(results))
    if not diagnosed:
        return
    facts = next(filter(None, (result.data_facts for result in results)), {})
    cut = rows_cut(to_frame(results), {}) if len(results) == 1 else ""  # boards have it
    for line in filter(None, [cut, *lines_of(_diagnosed(results)), *remarks(facts)]):
        say(line)
    spent = sum(os.times()[:4])
    say(f"this command took {spent:.1f} CPU s, with imports, set-up, stopped trials and tests")


def _checked(
    job: Job, register: str | None, metric: str | None, mirrors: tuple[Path, ...]
) -> tuple[Job, str]:
    """Return the job with its settings divided, and why the user's file cannot be used, if so.

    Raises UsageError for wrong settings, and a name or metric that the job cannot have.
    """
    from leaseboard.tasks.jobs.described import describe
    from leaseboard.tasks.jobs.run import check, route_settings
    from leaseboard.tasks.jobs.suites.plan import require_measure, tasks_of
    from leaseboard.tasks.models.winner import check_name, require_model
    from leaseboard.tasks.score.frame import direction_of

    fault = ""
    try:
        own, shared = route_settings(job.algorithm, job.settings)
        routed = replace(job, settings=own, environment=shared)
        check(routed)
        job = routed
    except UserFileError as error:
        fault = str(error)
    if register is not None:
        check_name(register)
        if not fault:
            require_model(job.name, describe(job.algorithm, job.settings).environment)
    if metric is not None:
        direction_of(metric)
        require_measure(metric, [job], {})  # before any data are loaded
        require_measure(metric, [job], tasks_of([job.data], mirrors))
    return job, fault


def _measured_by(metric: str | None, result: Result) -> Result:
    """Return `result` with the metric as its score; if it has none, say so and leave the score."""
    from leaseboard.tasks.score.frame import direction_of

    if metric is None or result.status != "ok":
        return result
    if metric not in result.metrics:
        say(
            f"--metric {metric} is not defined for the outcome of this run: its score is"
            f" {result.metric}; run more of the data, or leave --metric out",
            err=True,
        )
        return result
    value = result.metrics[metric]
    return replace(result, score=value, metric=metric, direction=direction_of(metric))


def _run(
    job: Job, out: Path, mirrors: tuple[Path, ...], *, fault: str, keep_model: bool
) -> Attempt:
    """Run the job in a folder of its own; only wrong usage is raised.

    Untrusted code runs in a worker, as in a suite, which writes its model if `keep_model`.
    """
    from leaseboard.tasks.folder.results import EVENTS
    from leaseboard.tasks.jobs.programs import is_untrusted
    from leaseboard.tasks.jobs.run import RUN_JOB, failed
    from leaseboard.tasks.models.winner import RUN
    from leaseboard.tasks.pool.attempts import Attempt, run_one

    folder = Path(tempfile.mkdtemp(prefix=".race-", dir=out))
    try:
        if fault:
            made = Attempt(failed(job, "crash", fault))
        else:
            work = RUN if keep_model else RUN_JOB
            stop = terminable() if is_untrusted(job) else nullcontext()
            with Activity(f"{job.name} on {job.data}") as shown, stop:
                sinks = (partial(_show, shown),)
                made = run_one(job, folder, mirrors=mirrors, work=work, sinks=sinks)
    except (UsageError, KeyboardInterrupt, SystemExit):
        shutil.rmtree(folder)
        raise
    result = made.result
    home = out / f"{result.name.replace('/', '_').replace(':', '_')}-{result.key}"
    if home.exists():
        shutil.rmtree(home)
    folder.rename(home)
    log = home / EVENTS
    result = replace(result, events=str(log) if log.exists() else None)
    return replace(made, result=result, folder=home)


def _register(
    name: str,
    job: Job,
    attempt: Attempt,
    result: Result,
    mirrors: tuple[Path, ...],
    tracking_uri: str | None,
) -> None:
    """Register the model that was found; UsageError if its score cannot be compared."""
    from leaseboard.tasks.models.winner import OUTCOME, barred, fit, saved_in

    if why := barred(result):
        raise UsageError(f"not registered: {result.name} on {result.data}: {why}")
    assert attempt.folder is not None
    if (attempt.folder / OUTCOME).is_file():
        fitted = saved_in(job, attempt.folder, mirrors)
    else:
        fitted = fit(job, result, mirrors=mirrors, learner=attempt.model)
    record(name, fitted, [result], "race", tracking_uri)


def _print(
    result: Result, found: SkillScore, home: Path, rows: list[dict[str, Any]] | None
) -> None:
    """Print a result, or append it to `rows`; print on standard error what went wrong."""
    from leaseboard.algorithms.configurations import phrase
    from leaseboard.algorithms.environments.holdout import ONE_CLASS, SAYS_NOTHING
    from leaseboard.flows.benchmark import replay
    from leaseboard.tasks.folder.event_logs import read_partial_log
    from leaseboard.tasks.folder.results import EVENTS
    from leaseboard.tasks.jobs.job import plain, replayed_cpu_seconds
    from leaseboard.tasks.models.automl.findings import guarantee
    from leaseboard.tasks.score.frame import describe_metrics
    from leaseboard.tasks.score.leaderboard import TEST

    is_log = found.of_log and result.metric == found.result.metric
    if result.status != "ok":
        reason = " ".join(result.reason.split())
        say(f"{result.name} on {result.data}: {result.status}: {reason}", err=True)
    elif rows is None:
        assert result.score is not None
        split = result.data_facts.get("split")
        say(
            f"{result.name} on {result.data}, seed {result.seed}:"
            f" {result.metric} {result.score:.6g}{' of the log target' if is_log else ''}"
            f" in {result.cpu_seconds:.3f} CPU s{replay(result)} ({result.units:g} {result.unit})"
            f"{f'; {split}' if split else ''}"
            f"{f', labels {known}' if (known := result.environment_options.get('labels')) else ''}"
        )
        if {"epsilon", "delta"} <= result.settings.keys():
            events = read_partial_log(home / EVENTS)
            names = [f"configuration {n}" for n in range(int(result.metrics["configurations"]))]
            say(f"guarantee: {guarantee(events, names)}")
        tested = result.metrics.get(TEST, math.nan)
        unseen = " on test rows, which the search did not use" if math.isfinite(tested) else ""
        if measured := describe_metrics(result.metrics, found.best):
            say(f"measured{unseen}: {measured}"
                f"{', all of the target itself' if found.of_log else ''}")  # fmt: skip
        elif unseen:
            say(f"test score of the choice{unseen}: {tested:.6g}")
        if (share := result.data_facts.get("majority_tested")) is not None:
            say(f"naive baseline: the commonest class is right in {share:.4g} of the test rows")
        if result.setup_seconds >= 1:
            say(f"set up in {result.setup_seconds:.1f} s: data read and encoded")
        if found.baselines_cpu_seconds > SHOWN:
            say(f"naive baselines: {found.baselines_cpu_seconds:.3f} CPU s more")
        if ONE_CLASS in result.metrics:
            say(f"{SAYS_NOTHING}: {ONE_CLASS_FIX}", err=True)
        if not result.complete:
            say(
                f"it ended early: {result.units:g} of {result.budget:g} {result.unit},"
                " so its score cannot be compared",
                err=True,
            )
        if result.champion:
            say(f"champion: {phrase(result.champion)}")
        say(f"events: {home / EVENTS}")
    if rows is not None:
        more = {
            "baseline": found.best,
            "of_log_target": is_log,
            "split": result.data_facts.get("split"),
            "replayed_cpu_seconds": replayed_cpu_seconds(result),
            "baselines_cpu_seconds": found.baselines_cpu_seconds,
            "diagnostics": [each.as_row() for each in _diagnosed([result])],
        }
        rows.append(plain(result) | more)
