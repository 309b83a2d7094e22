"""``leaseboard race``: one algorithm on one data set, now, in this process."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Annotated, Any

import typer

from flows.commands.options import Conf, Mirrors, TrackingUri, new_folder, use_conf


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
        result, log, learner = _attempt(job, folder, mirrors)
    if track:
        _track(result, log, paths.tracking_uri(tracking_uri))
    if register is not None and result.status == "ok":
        from flows.commands.model import register_race

        register_race(job, result, learner, register, mirrors=mirrors, tracking_uri=tracking_uri)
    _print(result, log, as_json=as_json)
    return 0 if result.status == "ok" else 3 if result.status == "skipped" else 2


def _with_options(data: str, **given: str | None) -> str:
    """The reference `data` with the options that were given beside it."""
    from dataclasses import replace

    from tasks.fetch import references

    options = {key: value for key, value in given.items() if value is not None}
    if not options:
        return data
    reference = references.parse(data)
    return str(replace(reference, options={**reference.options, **options}))


def parse_settings(pairs: list[str]) -> dict[str, Any]:
    """KEY=VALUE pairs as a mapping; lists and mappings are written as YAML flow style.

    Examples
    --------
    >>> parse_settings(["b=5", "rates=[0.1, 0.5]", "limit=null"])
    {'b': '5', 'rates': [0.1, 0.5], 'limit': None}
    """
    from algorithms.errors import UsageError

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise UsageError(f"--set {pair!r} is not KEY=VALUE: write for example --set b=5")
        if key in settings:
            raise UsageError(f"--set names {key!r} twice: keep one")
        settings[key] = _value(value)
    return settings


def _value(text: str) -> Any:
    if text == "null":
        return None
    if text.startswith(("[", "{")):
        import yaml

        from algorithms.errors import UsageError

        try:
            return yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise UsageError(f"--set value {text!r} is no YAML list or mapping") from error
    return text


def _attempt(job: Any, out: Path, mirrors: tuple[Path, ...]) -> tuple[Any, Path, Any]:
    """The job's result, log and model; a crash is a result too, wrong usage an error."""
    import shutil
    import tempfile

    from algorithms.errors import DataUnavailableError, LeaseboardError, SkipError
    from tasks.run import failed, run_job

    folder = Path(tempfile.mkdtemp(prefix=".race-", dir=out))
    learner = None
    try:
        result, learner = run_job(job, folder, mirrors=mirrors)
    except (DataUnavailableError, SkipError) as error:
        result = failed(job, "skipped", str(error))
    except MemoryError as error:
        result = failed(job, "memout", str(error) or "out of memory")
    except (LeaseboardError, OSError, KeyboardInterrupt):
        shutil.rmtree(folder)
        raise
    except Exception as error:  # noqa: BLE001  (whatever an algorithm raises is its status)
        import traceback

        (folder / "log.txt").write_text(traceback.format_exc(), encoding="utf-8")
        result = failed(job, "crash", f"{type(error).__name__}: {error}")
    home = out / f"{result.label.replace('/', '_').replace(':', '_')}-{result.key}"
    if home.exists():
        shutil.rmtree(home)
    folder.rename(home)
    log = home / "events.jsonl.gz"
    result = dataclasses.replace(result, events=str(log) if log.exists() else None)
    from tasks.results import write_result

    write_result(home, result)
    return result, log, learner


def _track(result: Any, log: Path, uri: str) -> None:
    from tasks.track import log_race

    log_race(result, log, uri)


def _print(result: Any, log: Path, *, as_json: bool) -> None:
    if result.status != "ok":
        reason = " ".join(result.reason.split())
        typer.echo(f"{result.label} on {result.data}: {result.status}: {reason}", err=True)
    elif not as_json:
        typer.echo(
            f"{result.label} on {result.data}, seed {result.seed}:"
            f" {result.metric} {result.score:.6g}"
            f" in {result.cpu_seconds:.3f} CPU s ({result.units:g} {result.unit})"
        )
        if result.champion:
            typer.echo(f"champion: {json.dumps(dict(result.champion), default=str)}")
        typer.echo(f"events: {log}")
    if as_json:
        names = ("status", "score", "metric", "direction", "metrics", "champion", "units", "unit",
                 "cpu_seconds", "wall_seconds", "setup_seconds", "seed", "environment_seed",
                 "algorithm", "data", "digest", "settings", "bench_options", "reason",
                 "events")  # fmt: skip
        typer.echo(json.dumps({name: getattr(result, name) for name in names}, default=_plain))


def _plain(value: Any) -> Any:
    return value.item() if hasattr(value, "item") else dict(value)
