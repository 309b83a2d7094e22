"""``leaseboard race``: one algorithm on one data set, now, in this process."""

from __future__ import annotations

import json
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from flows.commands.options import Conf, Mirrors, TrackingUri, new_folder, parse_settings, use_conf
from flows.terminal import say

if TYPE_CHECKING:
    from algorithms.events import Event
    from tasks.jobs import Job, Result

MOST_FAILURES = 5


def race(
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
    from algorithms.errors import UsageError
    from tasks import paths
    from tasks.environment import prepare_environment
    from tasks.jobs import Job
    from tasks.models.names import check_name
    from tasks.results import EVENTS
    from tasks.run import check, route_settings

    prepare_environment()
    use_conf(conf)
    if budget is not None and not budget > 0:
        raise UsageError(f"--budget {budget:g} must be above 0: name how many units to spend")
    mine, shared = route_settings(algorithm, parse_settings(settings or []))
    job = Job(
        algorithm=algorithm,
        data=_with_options(data, target=target, task=task),
        seed=seed,
        environment_seed=seed if environment_seed is None else environment_seed,
        label=algorithm,
        settings=mine,
        bench=shared,
        budget=budget,
    )
    check(job)
    if register is not None:
        check_name(register)
    mirrors = paths.mirrors(tuple(mirror or ()))
    with new_folder(out) as folder:
        attempt = _attempt(job, folder, mirrors)
        result = attempt.result
        _print(result, attempt, as_json=as_json)  # before anything can go wrong
        attempt.keep()
    with redirect_stdout(sys.stderr):  # the JSON stays the last line
        if track:
            from tasks.track import log_race

            log_race(result, attempt.home / EVENTS, paths.tracking_uri(tracking_uri))
        if register is not None and result.status == "ok":
            from flows.commands.model import register_race

            register_race(
                job, result, attempt.model, register, mirrors=mirrors, tracking_uri=tracking_uri
            )
    return 0 if result.status == "ok" else 3 if result.status == "skipped" else 2


def _with_options(data: str, **given: str | None) -> str:
    """The reference `data` with the options that were given beside it."""
    from tasks.fetch import references

    options = {key: value for key, value in given.items() if value is not None}
    if not options:
        return data
    reference = references.parse(data)
    return str(replace(reference, options={**reference.options, **options}))


@dataclass(frozen=True, slots=True)
class _Attempt:
    """What came of the job and of configurations that failed in it, and where its events are."""

    result: Result
    home: Path
    model: Any = None
    traceback: str = ""
    failures: tuple[str, ...] = ()

    def keep(self) -> None:
        """Write the result, and the traceback of a crash, beside the events."""
        from tasks.results import LOG, write_result

        write_result(self.home, self.result)
        if self.traceback:
            (self.home / LOG).write_text(self.traceback, encoding="utf-8")


def _attempt(job: Job, out: Path, mirrors: tuple[Path, ...]) -> _Attempt:
    """Run the job; whatever it raises is a result, but for wrong usage and Ctrl-C."""
    import shutil
    import tempfile
    import traceback

    from algorithms.errors import UsageError
    from algorithms.events import ConfigurationFailed, of
    from flows.worker import verdict
    from tasks.results import EVENTS
    from tasks.run import failed, run_job

    folder = Path(tempfile.mkdtemp(prefix=".race-", dir=out))
    model, trace = None, ""
    failures: list[str] = []

    def watch(event: Event) -> None:
        failures.extend(
            f"configuration {failure.configuration} failed: {failure.reason}"
            for failure in of((event,), ConfigurationFailed)
        )

    try:
        result, model = run_job(job, folder, mirrors=mirrors, sinks=(watch,))
    except (UsageError, KeyboardInterrupt):
        shutil.rmtree(folder)
        raise
    except BaseException as error:  # noqa: BLE001  (SystemExit too, as in a suite's worker)
        status, reason = verdict(error)
        result = failed(job, status, reason)
        if status in {"crash", "memout"}:
            trace = traceback.format_exc()
    home = out / f"{result.label.replace('/', '_').replace(':', '_')}-{result.key}"
    if home.exists():
        shutil.rmtree(home)
    folder.rename(home)
    log = home / EVENTS
    result = replace(result, events=str(log) if log.exists() else None)
    return _Attempt(result, home, model, trace, tuple(failures))


def _print(result: Result, attempt: _Attempt, *, as_json: bool) -> None:
    from tasks.jobs import plain
    from tasks.results import EVENTS

    for failure in attempt.failures[:MOST_FAILURES]:
        say(" ".join(failure.split()), err=True)
    more = len(attempt.failures) - MOST_FAILURES
    if more > 0:
        say(f"and {more} more configurations failed: their reasons are events", err=True)
    if result.status != "ok":
        reason = " ".join(result.reason.split())
        say(f"{result.label} on {result.data}: {result.status}: {reason}", err=True)
    elif not as_json:
        say(
            f"{result.label} on {result.data}, seed {result.seed}:"
            f" {result.metric} {result.score:.6g}"
            f" in {result.cpu_seconds:.3f} CPU s ({result.units:g} {result.unit})"
        )
        if result.champion:
            say(f"champion: {json.dumps(dict(result.champion), default=str)}")
        say(f"events: {attempt.home / EVENTS}")
    if as_json:
        names = ("status", "score", "metric", "direction", "metrics", "champion", "units", "unit",
                 "cpu_seconds", "wall_seconds", "setup_seconds", "seed", "environment_seed",
                 "algorithm", "data", "digest", "settings", "bench_options", "reason",
                 "events")  # fmt: skip
        row = plain(result)
        say(json.dumps({name: row[name] for name in names}))
