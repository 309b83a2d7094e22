"""``leaseboard race``: one or several algorithms on one dataset, now."""

from __future__ import annotations

import json
import math
import os
import shutil
import sys
import tempfile
from concurrent.futures import Future
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.flows.commands.options import (
    Algorithms,
    AsJson,
    Data,
    Labels,
    Metric,
    Register,
    Seed,
    Settings,
    Target,
    opt,
    parse_settings,
)
from leaseboard.flows.commands.registration import record
from leaseboard.flows.console import new_folder, say, terminable
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.progress import Activity

if TYPE_CHECKING:
    from leaseboard.algorithms.events import Event
    from leaseboard.tasks.jobs.diagnostic_codes import Diagnostic
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.jobs.skill import SkillScore
    from leaseboard.tasks.pool.attempts import Attempt

OUT = Path("runs/race")
"""Each job gets a folder in it."""
SHOWN = 0.001
"""CPU seconds of the naive baselines from which on they are printed; as jobs they cost none."""
ONE_CLASS_FIX = (
    "leave scale, clip and learning_rate at their defaults, or give more rows;"
    " PolynomialExpansionClassifier has"
    " class_weight and predict_proba"
)
_BUDGET = "Units of the environment to spend: examples, trials, rows or seconds."
_SPLIT = "Rows of a table held out: random, time, time=COLUMN or group=COLUMN (default: guessed)."


def race(
    context: typer.Context,
    algorithm: Algorithms,
    data: Data,
    target: Target = None,
    seed: Seed = 0,
    settings: Settings = None,
    labels: Labels = None,
    split: Annotated[str | None, opt(_SPLIT, "ROWS")] = None,
    budget: Annotated[float | None, opt(_BUDGET, "UNITS")] = None,
    metric: Metric = None,
    as_json: AsJson = False,
    register: Register = None,
) -> int:
    """Run one or several algorithms on one dataset; of several, print a leaderboard.

    --set is for settings of the algorithm and of its environment. With --json standard output is
    one JSON object a line for each algorithm. Each job gets a folder in runs/race.

    Example: leaseboard race online-automl vanilla synthetic:fried?rows=20000
    """
    from leaseboard.algorithms.measures import SKILL
    from leaseboard.tasks.fetch.references import with_options
    from leaseboard.tasks.folder.results import write_result
    from leaseboard.tasks.jobs.environments.stream import arrival_of_file
    from leaseboard.tasks.jobs.run import route_settings
    from leaseboard.tasks.steps.interactive import race_suite
    from leaseboard.tasks.steps.plain import run_all
    from leaseboard.tasks.track.store import check_address

    reference, given = with_options(data, target=target), parse_settings(settings or [])
    given |= {k: v for k, v in (("labels", labels), ("split", split)) if v is not None}
    if "labels" not in given:
        arrival = arrival_of_file(algorithm[0], reference, paths.mirrors())
        if not arrival.is_immediate:
            say(f"{arrival.guessed}; --labels says otherwise", err=as_json)
            given["labels"] = str(arrival)
    contenders: list[dict[str, Any]] = []
    faults: dict[str, str] = {}
    for each in algorithm:
        try:
            own, shared = route_settings(each, given)
        except UserFileError as error:
            own, shared, faults[each] = given, {}, str(error)
        contenders.append({"algorithm": each, "settings": own, "environment": shared})
    several = len(algorithm) > 1
    suite = race_suite(
        paths.mirrors(), algorithms=contenders, data=[reference], seeds=[seed], budget=budget,
        metric=metric if several or metric != SKILL else None,
        baselines=several,
    )  # fmt: skip
    if register is not None:
        check_address(paths.tracking_uri())
        _check_models(register, suite.jobs()[: len(algorithm)])
    with new_folder(OUT) as out:
        submit = partial(_submit, out, faults)
        ran = [*run_all(suite.jobs(), submit)]
    # Of one dataset: a baseline that has run is not run again for the skill of another.
    known = [attempt.result for job, attempt in ran if not job.settings]
    raced: list[tuple[Job, Attempt, Result]] = []
    shown: list[Result] = []
    for job, attempt in ran[: len(algorithm)]:
        log = attempt.log.decode(errors="replace").rstrip()
        if "debug" in context.obj and attempt.result.status != "ok" and log:
            say(log, err=True)
        result, measured = _finish(job, attempt, metric, known, as_json=as_json)
        raced.append((job, attempt, result))
        shown.append(measured)
    for _, attempt in ran[len(algorithm) :]:
        assert attempt.folder is not None
        write_result(attempt.folder, attempt.result)
        shown.append(_measured_by(metric, attempt.result))
    with redirect_stdout(sys.stderr) if as_json else nullcontext():  # the JSON stays alone
        _show_all(shown, diagnosed=not as_json)
        whole = [n for n, (*_, result) in enumerate(raced) if result.status == "ok"]
        if register is not None and whole:
            _register(register, *raced[min(whole, key=lambda n: _loss(shown[n]))])
    ended = [{"ok": 0, "skipped": 3}.get(result.status, 2) for *_, result in raced]
    return 2 if 2 in ended else min(ended)


def _check_models(name: str, jobs: list[Job]) -> None:
    """Raise UsageError for a name, or an algorithm, that no registered model can have."""
    from leaseboard.tasks.jobs.described import describe
    from leaseboard.tasks.models.winner import check_name, require_model

    check_name(name)
    for job in jobs:
        with suppress(UserFileError):
            require_model(job.name, describe(job.algorithm, job.settings).environment)


def _submit(out: Path, faults: dict[str, str], job: Job) -> Future[Attempt]:
    """Run a job in a folder of its own; only wrong usage is raised.

    Untrusted code runs in a worker, as in a suite.

    - `faults`: why the files of algorithms cannot be used.
    """
    from leaseboard.tasks.folder.results import EVENTS
    from leaseboard.tasks.jobs.programs import is_untrusted
    from leaseboard.tasks.jobs.run import failed
    from leaseboard.tasks.pool.attempts import Attempt, run_one

    folder = Path(tempfile.mkdtemp(prefix=".race-", dir=out))
    try:
        stop = terminable() if is_untrusted(job) else nullcontext()
        with Activity(f"{job.name} on {job.data}") as shown, stop:
            sinks = (partial(_show, shown),)
            if fault := faults.get(job.algorithm):
                made = Attempt(failed(job, "crash", fault))
            else:
                made = run_one(job, folder, mirrors=paths.mirrors(), sinks=sinks)
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
    ended = Future[Attempt]()
    ended.set_result(replace(made, result=result, folder=home))
    return ended


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
    metric: str | None,
    known: list[Result],
    *,
    as_json: bool,
) -> tuple[Result, Result]:
    """Print and write the result of a job that has ended, with its skill.

    Returns it, and the same with `metric` as its score.
    """
    from leaseboard.tasks.folder.results import LOG, write_result
    from leaseboard.tasks.jobs.skill import SkillScore, with_skill

    found, home = SkillScore(attempt.result), attempt.folder
    assert home is not None
    try:
        found = with_skill(job, attempt.result, mirrors=paths.mirrors(), ran=known)
    finally:  # the result is shown and written, also if the baselines fail
        measured = _measured_by(metric, found.result)
        if measured.status != "ok":
            reason = " ".join(measured.reason.split())
            say(f"{measured.name} on {measured.data}: {measured.status}: {reason}", err=True)
        if as_json:
            say(json.dumps(_row(measured, found)))
        elif measured.status == "ok":
            _print(measured, found)
        write_result(home, found.result)
        if attempt.trace:
            (home / LOG).write_text(attempt.trace, encoding="utf-8")
    return found.result, measured


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


def _is_log(result: Result, found: SkillScore) -> bool:
    return found.of_log and result.metric == found.result.metric


def _row(result: Result, found: SkillScore) -> dict[str, Any]:
    """Return a result for JSON."""
    from leaseboard.tasks.jobs.job import plain, replayed_cpu_seconds

    return plain(result) | {
        "baseline": found.best,
        "of_log_target": _is_log(result, found),
        "split": result.data_facts.get("split"),
        "replayed_cpu_seconds": replayed_cpu_seconds(result),
        "baselines_cpu_seconds": found.baselines_cpu_seconds,
        "diagnostics": [each.as_row() for each in _diagnosed([result])],
    }


def _print(result: Result, found: SkillScore) -> None:
    """Print a finished job; on standard error why its score says little."""
    from leaseboard.algorithms.configurations import phrase
    from leaseboard.algorithms.environments.holdout import ONE_CLASS, SAYS_NOTHING
    from leaseboard.flows.benchmark import replay
    from leaseboard.tasks.folder.event_logs import read_partial_log
    from leaseboard.tasks.models.automl.findings import guarantee
    from leaseboard.tasks.score.frame import describe_metrics
    from leaseboard.tasks.score.leaderboard import TEST

    assert result.score is not None
    assert result.events is not None
    split, labels = result.data_facts.get("split"), result.environment_options.get("labels")
    say(
        f"{result.name} on {result.data}, seed {result.seed}: {result.metric} {result.score:.6g}"
        f"{' of the log target' if _is_log(result, found) else ''} in {result.cpu_seconds:.3f}"
        f" CPU s{replay(result)} ({result.units:g} {result.unit})"
        f"{f'; {split}' if split else ''}{f', labels {labels}' if labels else ''}"
    )
    if {"epsilon", "delta"} <= result.settings.keys():
        events = read_partial_log(Path(result.events))
        names = [f"configuration {n}" for n in range(int(result.metrics["configurations"]))]
        say(f"guarantee: {guarantee(events, names)}")
    tested = result.metrics.get(TEST, math.nan)
    unseen = " on test rows, which the search did not use" if math.isfinite(tested) else ""
    if measured := describe_metrics(result.metrics, found.best):
        say(f"measured{unseen}: {measured}{', all of the target itself' if found.of_log else ''}")
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
    say(f"events: {result.events}")


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
    from leaseboard.tasks.jobs.diagnostic_codes import lines_of
    from leaseboard.tasks.score import board
    from leaseboard.tasks.score.frame import rows_cut, to_frame
    from leaseboard.tasks.score.summary import compared

    if len(results) > 1 and any(result.status == "ok" for result in results):
        say()
        board.show(compared(results))
    if not diagnosed:
        return
    cut = rows_cut(to_frame(results), {}) if len(results) == 1 else ""  # boards have it
    for line in filter(None, [cut, *lines_of(_diagnosed(results))]):
        say(line)
    spent = sum(os.times()[:4])
    say(f"this command took {spent:.1f} CPU s, with imports, set-up, stopped trials and tests")


def _register(name: str, job: Job, attempt: Attempt, result: Result) -> None:
    """Register the model that was found; UsageError if its score cannot be compared."""
    from leaseboard.tasks.models.chosen import fit
    from leaseboard.tasks.models.winner import barred

    if why := barred(result):
        raise UsageError(f"not registered: {result.name} on {result.data}: {why}")
    with terminable():
        fitted = fit(job, result, mirrors=paths.mirrors(), learner=attempt.model)
    record(name, fitted, [result], "race")
