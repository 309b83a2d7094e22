"""``leaseboard race``: algorithms on one dataset, without a suite."""

from __future__ import annotations

import json
import math
import shutil
import sys
from contextlib import nullcontext, redirect_stdout, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from leaseboard.algorithms.errors import UsageError, UserFileError
from leaseboard.flows.commands import options
from leaseboard.flows.commands.run import record
from leaseboard.flows.console import echo, output_folder, say, terminable
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.terminal import Activity

if TYPE_CHECKING:
    from leaseboard.algorithms.events import Event
    from leaseboard.tasks.jobs.checks import Diagnostic
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.score.summary import Compared

OUT = Path("runs/race")
"""Each job gets a folder in it."""
ONE_CLASS_FIX = (
    "leave scale, clip and learning_rate at their defaults, or give more rows; AutoMLClassifier"
    " has class_weight"
)
_DATA = "Dataset: a file, a name of `leaseboard data list`, or a reference: openml:215."
_METRIC = "Metric that ranks, in place of the score: mae."
_BUDGET = "Units of the environment to spend: examples, trials, rows or seconds."
_SPLIT = "Rows of a table held out: random, time, time=COLUMN or group=COLUMN (default: guessed)."


def race(
    algorithm: options.Algorithms,
    data: Annotated[str, options.arg(_DATA)],
    target: options.Target = None,
    seed: options.Seed = None,
    settings: options.Settings = None,
    labels: options.Labels = None,
    split: Annotated[str | None, options.opt(_SPLIT, "ROWS")] = None,
    budget: Annotated[float | None, options.opt(_BUDGET, "UNITS")] = None,
    metric: Annotated[str | None, options.opt(_METRIC, "NAME")] = None,
    as_json: options.AsJson = False,
    register: options.Register = None,
) -> int:
    """Run algorithms on one dataset, on a stream with naive baselines, and print a leaderboard.

    --set is for settings of the algorithm and of its environment. With --json standard output is
    one JSON object a line for each algorithm. Each job gets a folder in runs/race.

    Example: leaseboard race online-automl vanilla synthetic:fried?rows=20000
    """
    from leaseboard.tasks.fetch.loading import with_options
    from leaseboard.tasks.jobs.described import describe
    from leaseboard.tasks.jobs.environments.stream import arrival_of_file
    from leaseboard.tasks.models.registry import check_name
    from leaseboard.tasks.models.winner import require_model
    from leaseboard.tasks.score.summary import compared
    from leaseboard.tasks.steps.interactive import race_suite
    from leaseboard.tasks.track.store import check_address

    reference, given = with_options(data, target=target), options.parse_settings(settings or [])
    given |= {k: v for k, v in (("labels", labels), ("split", split)) if v is not None}
    arrival = arrival_of_file(algorithm[0], reference, given)
    if not arrival.is_immediate:
        say(f"{arrival.guessed}; --labels says otherwise", err=as_json)
        given["labels"] = str(arrival)
    suite = race_suite(
        algorithms=[_contender(each, given) for each in algorithm],
        data=[reference], seeds=[seed or 0], budget=budget, metric=metric,
    )  # fmt: skip
    jobs, asked = suite.jobs(), len(algorithm)
    if register is not None:
        check_address(environment.tracking_uri())
        check_name(register)
        for job in jobs[:asked]:
            with suppress(UserFileError):  # its run reports that
                require_model(job.name, describe(job.algorithm, job.settings).environment)
    results: list[Result] = []
    out = output_folder(OUT)
    for number, job in enumerate(jobs):
        if number == asked and not any(result.status == "ok" for result in results):
            break  # the baselines have nothing to be compared with
        results.append(_run(job, out))
        if number < asked:
            _show(results[-1], as_json=as_json)
    with redirect_stdout(sys.stderr) if as_json else nullcontext():  # the JSON stays alone
        if any(result.status == "ok" for result in results):
            found = compared(results, suite)
            _show_all(results, found, diagnosed=not as_json)
            order = [*found.board.frame.index]
            whole = [n for n in range(asked) if results[n].status == "ok"]
            if register is not None and whole:
                best = min(whole, key=lambda n: order.index(results[n].name))
                _register(register, jobs[best], results[best])
    ended = [{"ok": 0, "skipped": 3}.get(result.status, 2) for result in results[:asked]]
    return 2 if 2 in ended else min(ended)


def _contender(algorithm: str, given: dict[str, Any]) -> dict[str, Any]:
    """Return an algorithm with the settings that are its own and those of its environment."""
    from leaseboard.tasks.jobs.run import route_settings

    own: dict[str, Any] = given
    shared: dict[str, Any] = {}
    with suppress(UserFileError):  # its job says so
        own, shared = route_settings(algorithm, given)
    return {"algorithm": algorithm, "settings": own, "environment": shared}


def _run(job: Job, out: Path) -> Result:
    """Run a job in a folder of its own; only wrong usage and interruptions are raised.

    Untrusted code runs in a worker, as in a suite.
    """
    from leaseboard.tasks.folder.results import EVENTS, write_result
    from leaseboard.tasks.jobs.described import is_untrusted
    from leaseboard.tasks.pool.workers import run_one

    name = job.name.replace("/", "_").replace(":", "_")
    home = out / f"{name}-{job.key('', job.data)}"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir()
    try:
        stop = terminable() if is_untrusted(job) else nullcontext()
        with Activity(f"{job.name} on {job.data}") as shown, stop:
            sinks = (partial(_show_budget, shown),)
            made = run_one(job, home, sinks=sinks)
    except (UsageError, KeyboardInterrupt, SystemExit):
        shutil.rmtree(home)
        raise
    log = home / EVENTS
    result = replace(made, events=str(log) if log.exists() else None)
    write_result(home, result)
    return result


def _show_budget(shown: Activity, event: Event) -> None:
    """Show how much of its budget a job has spent."""
    from leaseboard.algorithms.events import Started, of

    for first in of((event,), Started):
        shown.total, shown.unit = first.budget, first.unit
    shown.done = event.at


def _show(result: Result, *, as_json: bool) -> None:
    """Print a job that has ended."""
    if result.status != "ok":
        reason = " ".join(result.reason.split())
        say(f"{result.name} on {result.data}: {result.status}: {reason}", err=True)
    if as_json:
        echo(json.dumps(_row(result)))
    elif result.status == "ok":
        _print(result)


def _row(result: Result) -> dict[str, Any]:
    """Return a result for JSON."""
    from leaseboard.tasks.jobs.job import plain, replayed_cpu_seconds

    return plain(result) | {
        "split": result.data_facts.get("split"),
        "replayed_cpu_seconds": replayed_cpu_seconds(result),
        "diagnostics": [each.as_row() for each in _diagnosed([result])],
    }


def _print(result: Result) -> None:
    """Print a finished job; on standard error why its score says little."""
    from leaseboard.algorithms.audit import phrase
    from leaseboard.algorithms.environments.holdout import ONE_CLASS, SAYS_NOTHING
    from leaseboard.algorithms.measures import of_logarithm
    from leaseboard.flows.benchmark import replay
    from leaseboard.tasks.folder.results import read_partial_log
    from leaseboard.tasks.models.automl.search import guarantee
    from leaseboard.tasks.score.frame import describe_metrics
    from leaseboard.tasks.score.leaderboard import TEST

    assert result.score is not None
    assert result.events is not None
    split, labels = result.data_facts.get("split"), result.environment_options.get("labels")
    of_log = result.metric == "progressive_mse" and of_logarithm(result.score, result.metrics)
    say(
        f"{result.name} on {result.data}, seed {result.seed}: {result.metric} {result.score:.6g}"
        f"{' of the log target' if of_log else ''} in {result.cpu_seconds:.3f}"
        f" CPU s{replay(result)} ({result.units:g} {result.unit})"
        f"{f'; {split}' if split else ''}{f', labels {labels}' if labels else ''}"
    )
    if {"epsilon", "delta"} <= result.settings.keys():
        events = read_partial_log(Path(result.events))
        names = [f"configuration {n}" for n in range(int(result.metrics["configurations"]))]
        say(f"guarantee: {guarantee(events, names)}")
    tested = result.metrics.get(TEST, math.nan)
    unseen = " on test rows, which the search did not use" if math.isfinite(tested) else ""
    if measured := describe_metrics(result.metrics):
        say(f"measured{unseen}: {measured}{', all of the target itself' if of_log else ''}")
    elif unseen:
        say(f"test score of the choice{unseen}: {tested:.6g}")
    if (share := result.data_facts.get("majority_tested")) is not None:
        say(f"naive baseline: the commonest class is right in {share:.4g} of the test rows")
    if ONE_CLASS in result.metrics:
        say(f"{SAYS_NOTHING}: {ONE_CLASS_FIX}", err=True)
    if result.reason:
        say(result.reason, err=True)
    if result.champion:
        say(f"champion: {phrase(result.champion)}")
    say(f"events: {result.events}")


def _diagnosed(results: list[Result]) -> list[Diagnostic]:
    """Return the diagnostics of jobs that have ended."""
    from leaseboard.tasks.folder.results import read_partial_log
    from leaseboard.tasks.score.diagnostics import DiagnosedRun, signals
    from leaseboard.tasks.score.frame import to_frame

    logs = {each.key: signals(read_partial_log(Path(each.events)))
            for each in results if each.events}  # fmt: skip
    return DiagnosedRun(to_frame(results), logs=logs).findings()


def _show_all(results: list[Result], found: Compared, *, diagnosed: bool) -> None:
    """Print the leaderboard of several results, and the diagnostics of all."""
    from leaseboard.tasks.jobs.checks import lines_of
    from leaseboard.tasks.score.frame import rows_cut, to_frame
    from leaseboard.tasks.score.summary import plain

    if len(results) > 1:
        say()
        say(plain(found))
    if diagnosed:
        cut = rows_cut(to_frame(results), {}) if len(results) == 1 else ""  # boards have it
        for line in filter(None, [cut, *lines_of(_diagnosed(results))]):
            say(line)


def _register(name: str, job: Job, result: Result) -> None:
    """Register the model that was found; UsageError if its score cannot be compared."""
    from leaseboard.tasks.models.winner import barred, fit

    if why := barred(result):
        raise UsageError(f"not registered: {result.name} on {result.data}: {why}")
    with terminable():
        fitted = fit(job, result)
    record(name, fitted, [result], "race")
