"""MLflow runs as plain values: nothing here imports MLflow.

Both ways of writing, through the client and in bulk, write these records; so what is read back
cannot depend on the way.
"""

import dataclasses
import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import quote, urlencode

from leaseboard.algorithms.audit import Configuration
from leaseboard.algorithms.events import Event, Measured, Started, of
from leaseboard.tasks.jobs.environments import REWARDING
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.disk import owner

MAX_VALUE = 6000
"""MLflow's longest parameter."""
MAX_KEY = 250
"""Longest name of a run, a parameter, a tag or a metric."""
OWNER, HEARTBEAT = "leaseboard.owner", "leaseboard.heartbeat"
"""Tag by which a run that is being written differs from one that was cut off."""
NIGHT = "leaseboard.night"
"""Tag of a suite's run that has its leaderboard."""
CURVE_POINTS = 60
CONFIGURATION_POINTS = 5
"""Of each metric of a configuration run; the event log has them all."""


@dataclass(frozen=True, slots=True)
class Metric:
    """Point of a metric; `step` counts units of the job's budget."""

    key: str
    value: float
    step: int


@dataclass(frozen=True, slots=True)
class RunRecord:
    """MLflow run to be written; `start` and `end` are milliseconds since 1970."""

    key: str
    name: str
    status: str
    start: int
    end: int
    params: Mapping[str, str]
    tags: Mapping[str, str]
    metrics: Sequence[Metric]
    data: Mapping[str, str] | None
    """Of a job: what makes MLflow's `Dataset`."""


PARAMS = (
    "algorithm", "name", "data", "digest", "seed", "environment_seed", "repetition", "environment",
    "rows", "rows_available", "version",
)  # fmt: skip
"""Fields of a result that are parameters of its job's run."""


def job_record(result: Result, events: Iterable[Event]) -> RunRecord:
    """Return the run of one job."""
    events = list(events)
    params = {name: getattr(result, name) for name in PARAMS}
    libraries = filter(None, result.libraries.split(", "))
    for prefix, values in (
        ("settings", result.settings),
        ("environment", result.environment_options),
        ("versions", dict(each.rsplit(" ", 1) for each in libraries)),
    ):
        params |= {f"{prefix}.{name}": value for name, value in values.items()}
    for started in of(events, Started)[:1]:
        params |= {"budget": started.budget, "unit": started.unit}
    tags = {
        "status": result.status,
        "complete": "" if result.complete else "false",
        "plugins": result.plugins,
        "host": result.host,
        "pid": result.pid or "",
        "reason": result.reason,
        "champion": result.champion,
    }
    own = {"leaseboard.started": result.started, OWNER: owner()}
    source = json.dumps({"tags": {"uri": result.data, "sha256": result.digest}})
    return RunRecord(
        key=result.key,
        name=f"{result.name} · {result.data} · {result.repetition}"[:MAX_KEY],
        status="FINISHED" if result.status == "ok" else "FAILED",
        params=texts(params),
        tags=_tags("job", result.key, tags) | own,
        metrics=_job_metrics(result, events),
        # Of MLflow's kinds of sources the one with data of any form.
        data={"name": result.data[:MAX_KEY], "digest": result.digest[:36],
              "source_type": "code", "source": source},
        **_times(result),
    )  # fmt: skip


def configuration_record(configuration: Configuration, result: Result) -> RunRecord:
    """Return the run of one configuration of a job."""
    number, key = configuration.configuration, f"{result.key}/{configuration.configuration}"
    tags = {
        "job": result.key,
        "configuration": str(number),
        "outcome": configuration.outcome,
        "algorithm": result.name,
        "data": result.data,
        # A score and a loss may differ in kind: the UI shows by what each is measured.
        **{name: getattr(configuration, name) for name in ("metric", "loss", "reason", "origin")},
        "parent": "" if configuration.parent is None else str(configuration.parent),
    }
    for made in configuration.decisions:
        tags |= made.notes()
    return RunRecord(
        key=key,
        name=f"{number} · {result.name} · {result.data} · {result.repetition}"[:MAX_KEY],
        status="FAILED" if configuration.outcome == "failed" else "FINISHED",
        params=texts(configuration.parameters),
        tags=_tags("configuration", key, tags),
        metrics=_configuration_metrics(configuration, result.environment),
        data=None,
        **_times(result),
    )


def _times(result: Result) -> dict[str, int]:
    """Return start and end of a job, in milliseconds since 1970."""
    start = datetime.fromisoformat(result.started) if result.started else None
    begin = round(start.timestamp() * 1000) if start else 0
    seconds = result.setup_seconds + result.wall_seconds
    return {"start": begin, "end": begin + round(1000 * seconds)}


def select(
    configurations: list[Configuration], rule: str, environment: str
) -> list[Configuration]:
    """Return those that get a run of their own: ``all``, ``top:K`` or ``none``.

    ``top:K`` takes the champion, then the lowest losses or the highest rewards.
    """
    if rule == "all":
        return configurations
    if rule == "none":
        return []
    count = int(rule.removeprefix("top:"))
    sign = -1.0 if environment in REWARDING else 1.0
    ranked = sorted(
        (c for c in configurations if c.score is not None),
        key=lambda c: (c.outcome != "champion", sign * (c.score or 0.0), c.configuration),
    )
    return sorted(ranked[:count], key=lambda c: c.configuration)


def thin(count: int, keep: int) -> list[int]:
    """Return at most `keep` of the positions 0 to `count` - 1: log-spaced, with both ends.

    Examples
    --------
    >>> thin(1000, 5)
    [0, 5, 31, 177, 999]
    """
    if count <= keep:
        return list(range(count))
    spaced = {round(count ** (i / (keep - 1))) - 1 for i in range(keep)}
    return sorted(spaced)


def _job_metrics(result: Result, events: list[Event]) -> list[Metric]:
    curve = of(events, Measured)
    curve = [curve[i] for i in thin(len(curve), CURVE_POINTS)]
    name = result.metric or "measured"
    points = [(name, event.value, event.at) for event in curve]
    if not curve and result.score is not None:
        points.append((name, result.score, result.units))
    # Of a single value at step 0 the UI draws a bar; at any other step it would be a lone point.
    points += [(key, value, 0) for key, value in result.metrics.items() if key != name]
    points += [
        (key, getattr(result, key), 0)
        for key in ("score", "units", "cpu_seconds", "wall_seconds", "setup_seconds")
    ]
    return _metrics(points)


def _configuration_metrics(configuration: Configuration, environment: str) -> list[Metric]:
    """Return leases and bounds at lease ends and log-spaced steps, and the final score."""
    value = "reward" if environment in REWARDING else "loss"
    leases = configuration.leases
    points: list[tuple[str, float | None, float]] = [
        ("lease", leases[i].amount, leases[i].at) for i in thin(len(leases), CONFIGURATION_POINTS)
    ]
    seen = configuration.observations
    for i in thin(len(seen), CONFIGURATION_POINTS):
        points.append((value, seen[i].value, seen[i].at))
        points.append(("bound.lower", seen[i].lower, seen[i].at))
        points.append(("bound.upper", seen[i].upper, seen[i].at))
    for kind in dict.fromkeys(type(decision) for decision in configuration.decisions):
        made = [decision for decision in configuration.decisions if type(decision) is kind]
        for i in thin(len(made), CONFIGURATION_POINTS):
            points += [(key, value, made[i].at) for key, value in made[i].measures().items()]
    last = seen[-1].at if seen else configuration.admitted_at
    seconds = configuration.cpu_seconds or None
    for name in ("score", "units", "test"):
        points.append((name, getattr(configuration, name), last))
    return _metrics([*points, ("cpu_seconds", seconds, last)])


def _metrics(points: Iterable[tuple[str, float | None, float]]) -> list[Metric]:
    """Return one value for each key and step, the last one; NaN and None are left out."""
    kept: dict[tuple[str, int], float] = {}
    for key, value, at in points:
        if value is not None and not math.isnan(value):
            kept[sound_key(key), round(at)] = float(value)
    return [Metric(key, value, step) for (key, step), value in kept.items()]


def _tags(level: str, key: str, tags: Mapping[str, Any]) -> dict[str, str]:
    """Return tags of ours, those without a value left out."""
    found = {name: value for name, value in tags.items() if value not in ("", None)}
    named = {"level": level, "key": key, **found}
    return texts({f"leaseboard.{name}": value for name, value in named.items()})


def texts(values: Mapping[str, Any]) -> dict[str, str]:
    """Return parameters or tags in the form and length that MLflow takes."""
    return {sound_key(name): _text(value) for name, value in values.items()}


def sound_key(name: str) -> str:
    """Return `name` in the characters that MLflow takes."""
    return re.sub(r"[^/\w.\- :]", "_", name)[:MAX_KEY]


def _text(value: Any) -> str:
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    plain = isinstance(value, (str, int, float, bool)) or value is None
    text = str(value) if plain else json.dumps(value, default=str, ensure_ascii=False)
    return text if len(text) <= MAX_VALUE else text[: MAX_VALUE - 1] + "…"


def suite_key(suite: str, keys: Iterable[str]) -> str:
    """Return the key of a suite's run: the same for the same jobs, so that it is found again."""
    return hashlib.sha256("\n".join([suite, *sorted(keys)]).encode()).hexdigest()[:20]


def runs_link(experiment: str, condition: str, order: str = "params.`data`", **more: str) -> str:
    """Return the address, within MLflow's UI, of the runs of an experiment that meet a condition.

    - `order`: the column that orders them. By their start, jobs are below their suite's run.
    - `more`: of the address's query.
    """
    # Without the workflow the UI opens in the one that its reader chose last, at first GenAI.
    query = {"workflowType": "machine_learning", "searchFilter": condition, "orderByKey": order}
    return f"#/experiments/{experiment}/runs?{urlencode(query | more, quote_via=quote)}"


JOBS = "tags.leaseboard.level = 'job'"
NIGHTS = f"tags.{NIGHT} LIKE '%'"
"""Conditions of all jobs, and of the suite's runs that have a leaderboard."""
