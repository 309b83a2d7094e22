"""Record of a live model in its state: roles, losses over days; and its publication in MLflow.

A candidate is registered once, in the state in which it is first published; what it learns then is
in the state. The days on which it has predicted are the steps of its run's metrics. If `publish`
stops, the next call finishes it: version and run are found again by their key.

A day is closed when it is over and none of its rows waits for a label. It is logged again when
labels that came late have changed its measures.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from datetime import UTC, date, datetime
from functools import cached_property, reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.measures import skill_over
from leaseboard.tasks.live.candidates import CHALLENGER, CHAMPION, PREVIOUS, REFERENCE
from leaseboard.tasks.live.contract_check import AHEAD
from leaseboard.tasks.live.incidents import Incident, LifecycleState
from leaseboard.tasks.live.rows import Snapshot, features_of, label_of, to_json
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.machine.disk import operator, reach
from leaseboard.tasks.machine.versions import code_and_libraries
from leaseboard.tasks.models.model import Prediction, likeliest, load
from leaseboard.tasks.models.registry import CANDIDATE, KEY, LIVE, log
from leaseboard.tasks.store.live_model import OF_ROWS, State
from leaseboard.tasks.store.live_tables import HistoryEntry, ModelCandidate, StoredRow, added
from leaseboard.tasks.track.store import experiment, open_store, reported
from leaseboard.tasks.track.writers import every

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

    from leaseboard.tasks.live.model import LiveModel

Sums = dict[str, float]
"""Of rows: how many, ``rows``, their ``loss`` and, of numbers, ``absolute``, ``inside``,
``intervals``; of classes ``error``."""


def loss_of_row(prediction: Prediction, label: Any) -> Sums:
    """Return the losses of one prediction.

    ``loss`` is what comparisons and promotions go by: of numbers the squared error, of classes the
    Brier score, which is 0 for the right class with certainty and 2 for a wrong one [1]_.

    References
    ----------
    .. [1] Brier. Verification of Forecasts Expressed in Terms of Probability. Monthly Weather
           Review 78, 1950.

    Examples
    --------
    >>> loss_of_row(3.0, 5.0)
    {'rows': 1.0, 'loss': 4.0, 'absolute': 2.0}
    >>> loss_of_row([3.0, 1.0, 4.0], 5.0)
    {'rows': 1.0, 'loss': 4.0, 'absolute': 2.0, 'inside': 0.0, 'intervals': 1.0}
    >>> loss_of_row({"no": 0.75, "yes": 0.25}, "no")
    {'rows': 1.0, 'loss': 0.125, 'error': 0.0}
    """
    if isinstance(prediction, Mapping):
        label = str(label)
        brier = sum((p - (name == label)) ** 2 for name, p in prediction.items())
        return {
            "rows": 1.0,
            "loss": brier + (label not in prediction),
            "error": float(likeliest(prediction) != label),
        }
    middle, *ends = prediction if isinstance(prediction, list) else [prediction]
    error = middle - float(label)
    found = {"rows": 1.0, "loss": error * error, "absolute": abs(error)}
    if ends:
        found |= {"inside": float(ends[0] <= label <= ends[1]), "intervals": 1.0}
    return found


def losses_of(rows: Sequence[StoredRow]) -> list[dict[int, Sums]]:
    """Return the losses of each candidate's prediction of each labelled row."""
    return [
        {
            int(number): loss_of_row(each, label_of(row))
            for number, each in json.loads(row.predictions or "{}").items()
        }
        for row in rows
    ]


def by_day(
    rows: Sequence[StoredRow], losses: Sequence[Mapping[int, Sums]]
) -> dict[tuple[str, int], Sums]:
    """Return the sums of the losses of rows by day and candidate."""
    days: dict[tuple[str, int], Sums] = {}
    for row, each in zip(rows, losses, strict=True):
        for number, sums in each.items():
            days[row.day, number] = added(days.get((row.day, number), {}), sums)
    return days


def measures_of(sums: Sums) -> dict[str, float]:
    """Return measures in the target's own unit: mae and rmse, or error and brier.

    Examples
    --------
    >>> sums = {"rows": 2.0, "loss": 8.0, "absolute": 4.0, "inside": 1.0, "intervals": 2.0}
    >>> measures_of(sums)
    {'loss': 4.0, 'mae': 2.0, 'rmse': 2.0, 'coverage': 0.5}
    """
    rows, loss = sums["rows"], sums["loss"] / sums["rows"]
    if "absolute" in sums:
        found = {"loss": loss, "mae": sums["absolute"] / rows, "rmse": math.sqrt(loss)}
    else:
        found = {"loss": loss, "error": sums["error"] / rows, "brier": loss}
    if sums.get("intervals"):
        found["coverage"] = sums["inside"] / sums["intervals"]
    return found


ROLES = (CHAMPION, CHALLENGER, PREVIOUS)
"""Those that a candidate has in turn, and under which it is published."""
ERASED, EXPIRED = "deleted by id", "deleted by age"
"""Kinds of entries of the history."""


def deletion(at: str, kind: str, counts: Mapping[str, int], why: str) -> HistoryEntry:
    """Return the entry of rows that were deleted: how many, why, and who did it."""
    shown = ", ".join(f"{count:,} {OF_ROWS[name]}" for name, count in counts.items() if count)
    return HistoryEntry(at, kind, "rows", f"{shown or 'nothing'} deleted {why}, by {operator()}")


def name_of(candidate: ModelCandidate) -> str:
    """Return the name of a candidate for readers.

    Examples
    --------
    >>> name_of(ModelCandidate(3, "champion", "online-automl", None, 9, "2026-01-01", "the first"))
    'online-automl 3'
    """
    is_baseline = candidate.role == REFERENCE
    return candidate.name if is_baseline else f"{candidate.name} {candidate.number}"


def in_words(counts: dict[str, int]) -> str:
    """Return what a batch brought, in a few words."""
    return ", ".join(f"{count} {name}" for name, count in counts.items() if count) or "nothing new"


class ModelRecord:
    """Record of a live model at a moment.

    - `lifecycle`, `candidates`, `history`, `batches`: as the state has them, the oldest first.
    - `waiting`: how many rows wait for their label, by day.
    """

    def __init__(self, settings: LiveSettings, state: State, now: datetime) -> None:
        self.settings, self.state, self.now = settings, state, now
        self.lifecycle = LifecycleState.read(state.lifecycle())
        self.candidates = {each.number: each for each in state.candidates()}
        self.history, self.batches = state.history(), state.batches()
        self.waiting = state.waiting()

    @cached_property
    def days(self) -> Mapping[str, Mapping[int, Sums]]:
        """Losses by day and candidate, of days with labels that are not far ahead."""
        found: dict[str, dict[int, Sums]] = {}
        last = (self.now + AHEAD).date().isoformat()
        for each in self.state.days():
            if each["day"] <= last:
                found.setdefault(each["day"], {})[each["candidate"]] = each["sums"]
        return found

    def days_of(self, number: int) -> dict[str, Sums]:
        """Return the losses of a candidate by day."""
        return {day: found[number] for day, found in self.days.items() if number in found}

    @property
    def champion(self) -> ModelCandidate | None:
        """The candidate that answers."""
        return self.in_role(CHAMPION)

    @property
    def baselines(self) -> list[ModelCandidate]:
        """The naive baselines."""
        return [each for each in self.candidates.values() if each.role == REFERENCE]

    def in_role(self, role: str) -> ModelCandidate | None:
        """Return the candidate in a role of which there is one."""
        return next((each for each in self.candidates.values() if each.role == role), None)

    @cached_property
    def open(self) -> list[Incident]:
        """Incidents that are not resolved, the oldest first."""
        found = [each for each in self.lifecycle.incidents if each.is_open]
        return sorted(found, key=lambda each: each.since)

    @property
    def measure(self) -> str:
        """The root of what comparisons go by, in the target's unit; of classes the Brier score."""
        totals = (each for found in self.days.values() for each in found.values())
        return "rmse" if any("absolute" in total for total in totals) else "brier"

    def total(self, number: int, days: Sequence[str]) -> Sums:
        """Return the losses of a candidate over those of the days that it has predicted."""
        each_day = (self.days[day][number] for day in days if number in self.days[day])
        return reduce(added, each_day, {})

    def scores(self, number: int, days: Sequence[str]) -> dict[str, float]:
        """Return the measures of a candidate over days, with the skill over naive baselines.

        The skill counts the days alone that the candidate and all baselines have predicted.
        """
        mine = self.total(number, days)
        if not mine:
            return {}
        found = {"rows": mine["rows"]} | measures_of(mine)
        tried = [each.number for each in self.baselines]
        both = [day for day in days if {number, *tried} <= self.days[day].keys()]
        if both and tried:
            totals = (self.total(each, both) for each in [number, *tried])
            loss, *losses = (each["loss"] / each["rows"] for each in totals)
            found["skill"] = skill_over(losses, loss)
        return found


MOST_DAYS = 60
"""Days that are logged in an update: the last. Of a longer past the first are not."""
LEVEL, DIGEST = "leaseboard.level", "leaseboard.digest"
"""Tags of a run: ``live``; the digest of the days that were logged last."""


def key_of(candidate: ModelCandidate) -> str:
    """Return the key of a candidate's version and run; of a state made again, it is another."""
    return f"{candidate.number}-{candidate.created}"


def publish(uri: str, live: LiveModel, now: datetime, *, flow_run: str = "") -> dict[str, str]:
    """Register each candidate with a role under its alias, and log its days.

    - `flow_run`: the identifier of the flow run that asks for it.

    Returns the version of each role. Raises TrackingError if the store cannot be used, UsageError
    if the model of that name belongs to others.
    """
    name, client = live.settings.name, open_store(uri)
    with reported(uri):
        assert live.file is not None
        _claim(client, name, live.file)
        place, found = experiment(client, uri, f"live/{name}"), dict[str, str]()
        record = ModelRecord(live.settings, live.state, now)
        known = {each.tags.get(KEY): each
                 for each in every(client.search_model_versions, f"name='{name}'")}  # fmt: skip
        for role in ROLES:
            candidate = record.in_role(role)
            if candidate is None or candidate.model is None:
                continue
            version = known.get(key_of(candidate))
            _log_days(client, place, record, candidate)
            if version is None:
                version = _add(client, place, live, record, candidate, flow_run)
                reach("live.after-version")
            found[role] = str(version.version)
        before = {a: str(v) for a, v in client.get_registered_model(name).aliases.items()}
        for role in ROLES:  # the champion's first
            if role in found and before.get(role) != found[role]:
                client.set_registered_model_alias(name, role, found[role])
            elif role in before and role not in found:
                client.delete_registered_model_alias(name, role)
        reach("live.after-alias")
    return found


def _claim(client: MlflowClient, name: str, file: Path) -> None:
    """Create the registered model, or check that it is of this live model."""
    mine = str(file.resolve())
    found = client.search_registered_models(f"name = '{name}'")
    if not found:
        client.create_registered_model(name, tags={LIVE: mine})
        return
    owner = found[0].tags.get(LIVE)
    if owner is None or (owner != mine and Path(owner).exists()):
        whose = f"of the live model in {owner}" if owner else "not of a live model"
        raise UsageError(f"the registered model {name!r} is {whose}: give yours another name")
    if owner != mine:  # its folder was moved
        client.set_registered_model_tag(name, LIVE, mine)


def _add(
    client: MlflowClient,
    place: str,
    live: LiveModel,
    record: ModelRecord,
    candidate: ModelCandidate,
    flow_run: str,
) -> ModelVersion:
    """Register a candidate with tags of what it is and where it comes from."""
    assert candidate.model is not None
    learned = load(live.state.model(candidate.model), f"a model of the state {live.state}")
    features = features_of(live.contract, live.settings.data, record.lifecycle.kinds)
    last = record.batches[-1]["name"] if record.batches else ""
    tags = {
        KEY: key_of(candidate),
        CANDIDATE: str(candidate.number),
        "leaseboard.algorithm": candidate.name,
        "leaseboard.created": f"{candidate.created}: {candidate.why}",
        "leaseboard.rows": str(candidate.learned),
        "leaseboard.data": f"{len(record.batches)} batches to {last}",
        "leaseboard.code": code_and_libraries(registry.files_of(live.recipe.algorithm))[0],
    } | ({"leaseboard.flow_run": flow_run} if flow_run else {})
    text = f"`{candidate.name}` predicts `{live.settings.data.target}`."
    return log(client, place, live.settings.name, Snapshot(features, learned), tags, text)


def closed_days(record: ModelRecord, number: int) -> dict[str, dict[str, float]]:
    """Return a candidate's measures of the last days that are over and have all their labels."""
    today = record.now.date().isoformat()
    days = [day for day in record.days_of(number) if day < today and day not in record.waiting]
    return {day: record.scores(number, [day]) for day in sorted(days)[-MOST_DAYS:]}


def _log_days(
    client: MlflowClient, place: str, record: ModelRecord, candidate: ModelCandidate
) -> None:
    """Log the closed days in the run of a candidate, which is made if it does not exist."""
    from mlflow.entities import Metric, RunTag

    key, days = key_of(candidate), closed_days(record, candidate.number)
    digest = hashlib.sha256(to_json(days).encode()).hexdigest()
    known = client.search_runs([place], f"tags.`{KEY}` = '{key}'", max_results=1)
    if known and known[0].data.tags.get(DIGEST) == digest and known[0].info.status == "FINISHED":
        return
    tags = {LEVEL: "live", KEY: key}
    run = known[0] if known else client.create_run(place, tags=tags, run_name=name_of(candidate))
    reach("live.after-run")
    first = date.fromisoformat(min(each.created for each in record.candidates.values())[:10])
    metrics = list[Metric]()
    for day, measures in days.items():
        at = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
        step = (date.fromisoformat(day) - first).days
        metrics += [Metric(name, value, at, step) for name, value in measures.items()]
    # What is there is not written twice. The digest comes last: after a kill, all come again.
    client.log_batch(run.info.run_id, metrics, tags=[RunTag(DIGEST, digest)])
    client.set_terminated(run.info.run_id, "FINISHED")
