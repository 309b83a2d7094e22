"""Publication of a live model in MLflow: versions in its registry, and a run of each closed day.

The lineages that have a role are versions of one registered model. Whatever stops `publish`, the
next call finishes it: a snapshot is found again by its key.

A day is closed when it is over and none of its rows waits for a label. Its run holds what the
champion of that day came to. It hangs below the run of the live model, which holds the same
metrics with a step a day, because runs next to one another are points to MLflow and not lines. A
run is found again by its day: so an update that was killed does not make it twice, and labels that
came late change what it holds.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.benches.measures import skill_over
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.card import TrackRecord, card
from leaseboard.tasks.keep.contract import Contract
from leaseboard.tasks.keep.living import Recipe
from leaseboard.tasks.keep.losses import measures_of
from leaseboard.tasks.keep.page.story import stays
from leaseboard.tasks.keep.rows import as_sent, features_of, packed
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS, REFERENCE
from leaseboard.tasks.keep.snapshot import snapshot_of
from leaseboard.tasks.keys.versions import code_version
from leaseboard.tasks.models.columns import EXAMPLE_ROWS, example
from leaseboard.tasks.models.logged import KEY, log
from leaseboard.tasks.models.registry import KEEP, LINEAGE
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Lineage, in_role
from leaseboard.tasks.track.client import PARENT, every, search
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

ROLES = (CHAMPION, CHALLENGER, PREVIOUS)
"""Those that are published, each under the alias of its name."""
KEPT = 10
"""Snapshots of a lineage, and of all that have no role any more together: the newest."""

MOST_DAYS = 60
"""Days that are looked at in an update: the last. Of a longer past the first are not logged."""
SCORE = "leaseboard.score"
CARD = "card.md"
LEVEL, DAY, DIGEST = "leaseboard.level", "leaseboard.day", "leaseboard.digest"
"""Tags: ``keep`` or ``day``, which day, and of what was logged of it."""


@dataclass(frozen=True)
class Publishable:
    """A keep, and how its lineages are made."""

    keep: Keep
    file: Path
    """FILE.yaml."""
    contract: Contract
    recipe: Recipe
    state: State


def publish(uri: str, kept: Publishable, *, flow_run: str = "") -> dict[str, str]:
    """Have the registry hold a snapshot of each role as it is now, under its alias.

    - `flow_run`: the identifier of the flow run that asks for it.

    Returns the version of each role. Raises TrackingError if the store cannot be used, UsageError
    if the model of that name is somebody else's.
    """
    name, state = kept.keep.name, kept.state
    asked_by = {"leaseboard.flow_run": flow_run} if flow_run else {}
    client = open_store(uri)
    with reported(uri):
        _claim(client, name, kept.file)
        place = experiment(client, uri, f"keep/{name}")
        record = TrackRecord.of(kept.keep, kept.contract, state)
        versions = list(every(client.search_model_versions, f"name='{name}'"))
        known = {version.tags.get(KEY): str(version.version) for version in versions}
        found = {}
        for role in ROLES:
            lineage = in_role(record.lineages, role)
            if lineage is None or lineage.model is None:
                continue
            key = f"{lineage.number}-{lineage.model}"
            if key not in known:
                tags = {KEY: key, **_tags(record, lineage, kept.recipe), **asked_by}
                version = _add(client, place, kept, record, lineage, tags)
                versions.append(version)
                known[key] = str(version.version)
            if lineage.published != lineage.model:
                state.keep_published(lineage.number, lineage.model)
            found[role] = known[key]
        _point(client, name, found)
        _remove_old(client, uri, name, place, versions, record.lineages, set(found.values()))
    return found


def _claim(client: MlflowClient, name: str, file: Path) -> None:
    """Make the registered model, or see that it is of this keep."""
    from mlflow.exceptions import MlflowException

    mine = str(file.resolve())
    try:
        client.create_registered_model(name, tags={KEEP: mine})
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
        owner = client.get_registered_model(name).tags.get(KEEP)
        if owner == mine:
            return
        if owner is None or Path(owner).exists():
            whose = f"of the keep in {owner}" if owner else "of no keep"
            raise UsageError(
                f"the registered model {name!r} is {whose}: give your keep another name"
            ) from error
        client.set_registered_model_tag(name, KEEP, mine)  # its folder was moved


def _add(
    client: MlflowClient,
    place: str,
    kept: Publishable,
    record: TrackRecord,
    lineage: Lineage,
    tags: Mapping[str, str],
) -> ModelVersion:
    assert lineage.model is not None
    model = snapshot_of(
        lineage.name,
        kept.recipe,
        features_of(kept.contract, kept.keep.data),
        kept.state.model(lineage.model),
    )
    rows = [json.loads(row.features) for row in record.rows[-EXAMPLE_ROWS:] if row.features]
    sent = example(as_sent(rows, model.description.columns))
    return log(client, place, kept.keep.name, model, sent, tags, {CARD: card(record, lineage)})


def provenance(batches: Sequence[Mapping[str, Any]], recipe: Recipe) -> dict[str, str]:
    """Tags of where it comes from: the data by their digests, and the code."""
    digests = "".join(batch["digest"] for batch in batches)
    last = batches[-1] if batches else {"name": "", "digest": ""}
    return {
        "leaseboard.data": f"{len(batches)} batches to {last['name']}",
        "leaseboard.data_digest": hashlib.sha256(digests.encode()).hexdigest(),
        "leaseboard.last_batch_digest": last["digest"],
        "leaseboard.code": code_version(
            recipe.algorithm, registry.algorithm_class(recipe.algorithm).bench
        ),
    }


def _tags(record: TrackRecord, lineage: Lineage, recipe: Recipe) -> dict[str, str]:
    """What the UI shall show beside a version: what it is, and where it comes from."""
    scores = record.scores(lineage)
    return {
        LINEAGE: str(lineage.number),
        "leaseboard.role": lineage.role,
        "leaseboard.algorithm": lineage.name,
        "leaseboard.born": f"{lineage.born}: {lineage.why}",
        "leaseboard.rows": str(lineage.learned),
        **provenance(record.batches, recipe),
        SCORE: " ".join(f"{name} {value:.6g}" for name, value in scores.items() if name != "rows"),
    }


def _point(client: MlflowClient, name: str, found: Mapping[str, str]) -> None:
    """Set the aliases that are not set so, the champion's first."""
    before = {a: str(v) for a, v in client.get_registered_model(name).aliases.items()}
    for role in ROLES:
        if role in found and before.get(role) != found[role]:
            client.set_registered_model_alias(name, role, found[role])
        elif role in before and role not in found:
            client.delete_registered_model_alias(name, role)


def _remove_old(
    client: MlflowClient,
    uri: str,
    name: str,
    place: str,
    versions: Iterable[ModelVersion],
    lineages: Iterable[Lineage],
    pointed: set[str],
) -> None:
    """Remove snapshots beyond `KEPT`, and the artifacts of all that no version is of."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    roles = {str(each.number): each.role for each in lineages}
    count: Counter[str] = Counter()
    used = set()
    for version in sorted(versions, key=lambda each: -int(each.version)):
        number = version.tags.get(LINEAGE, "")
        group = number if roles.get(number) in ROLES else ""
        count[group] += 1
        if count[group] > KEPT and str(version.version) not in pointed:
            client.delete_model_version(name, str(version.version))
        else:
            used.add(version.source.removeprefix("models:/"))
    store = client._tracking_client.store  # noqa: SLF001  (MLflow offers no public way to it)
    for logged in every(client.search_logged_models, [place]):
        if logged.model_id not in used:
            get_artifact_repository(logged.artifact_location, tracking_uri=uri).delete_artifacts()
            client.delete_logged_model(logged.model_id)
            if hasattr(store, "_hard_delete_logged_model"):  # as `mlflow gc` does
                store._hard_delete_logged_model(logged.model_id)  # noqa: SLF001


@dataclass(frozen=True, slots=True)
class ClosedDay:
    """What a day came to."""

    day: str
    lineage: int
    """The champion's of that day."""
    metrics: Mapping[str, float]

    @property
    def digest(self) -> str:
        """Of all of it."""
        return hashlib.sha256(packed([self.lineage, dict(self.metrics)]).encode()).hexdigest()


def closed_days(kept: Publishable, now: datetime) -> list[ClosedDay]:
    """The last days that are over and have all their labels."""
    state = kept.state
    lineages = {each.number: each for each in state.lineages()}
    history = state.history()
    reigns = [
        (stay.start[:10], stay.lineage)
        for stay in stays(history, lineages, now.isoformat(timespec="seconds"))
        if stay.role == CHAMPION
    ]
    tried = [each.number for each in lineages.values() if each.role == REFERENCE]
    opened = [each.at[:10] for each in history if each.kind == "opened"]
    days: dict[str, dict[int, tuple[int, dict[str, float]]]] = {}
    for each in state.days():
        days.setdefault(each["day"], {})[each["lineage"]] = each["rows"], each["sums"]
    waiting, today = state.waiting(), now.date().isoformat()
    found = []
    for day in [day for day in sorted(days) if day < today and day not in waiting][-MOST_DAYS:]:
        told = days[day]
        there = [(since, number) for since, number in reigns if number in told]
        number = next((n for since, n in there[::-1] if since < day), there[0][1] if there else 0)
        if not number:
            continue
        rows, sums = told[number]
        metrics = {**measures_of(sums, rows), "rows": float(rows)}
        metrics["incidents"] = float(opened.count(day))
        losses = [told[each][1]["loss"] / told[each][0] for each in tried if each in told]
        if losses:
            metrics["skill"] = skill_over(losses, metrics["loss"])
        found.append(ClosedDay(day, number, metrics))
    return found


def log_days(
    uri: str, kept: Publishable, versions: Mapping[str, str], now: datetime, *, flow_run: str = ""
) -> list[str]:
    """Have the store hold a run of each closed day; returns the days that were written.

    - `versions`: of the roles in the registry, as `publish` gave them.
    - `flow_run`: the identifier of the flow run that asks for it.

    Raises TrackingError if the store cannot be used.
    """
    days = closed_days(kept, now)
    if not days:
        return []
    client = open_store(uri)
    with reported(uri):
        place = experiment(client, uri, f"keep/{kept.keep.name}")
        since = f"attributes.start_time >= {_moment(days[0].day)}"
        runs = search(client, place, f"tags.`{LEVEL}` = 'day' and {since}")
        known = {run.data.tags[DAY]: run for run in runs}
        new = [
            each
            for each in days
            if each.day not in known
            or known[each.day].info.status != "FINISHED"
            or known[each.day].data.tags.get(DIGEST) != each.digest
        ]
        if not new:
            return []
        parent = _parent(client, place, kept)
        first = date.fromisoformat(min(each.born for each in kept.state.lineages())[:10])
        tags = provenance(kept.state.batches(), kept.recipe) | (
            {"leaseboard.flow_run": flow_run} if flow_run else {}
        )
        champion = next(each for each in kept.state.lineages() if each.role == CHAMPION)
        for each in new:
            step = (date.fromisoformat(each.day) - first).days
            told = {**tags, "leaseboard.lineage": str(each.lineage), DIGEST: each.digest}
            if each.lineage == champion.number:
                told["leaseboard.model_version"] = versions.get(CHAMPION, "")
            # The series first: a run of a day that is whole says that it is in there.
            _fill(client, parent, each, step, {})
            run = known.get(each.day)
            run_id = str(run.info.run_id) if run else _created(client, place, kept, each, parent)
            _fill(client, run_id, each, step, told)
            client.set_terminated(run_id, "FINISHED", _moment(each.day, days=1))
        client.set_terminated(parent, "FINISHED", _moment(new[-1].day, days=1))
    return [each.day for each in new]


def _parent(client: MlflowClient, place: str, kept: Publishable) -> str:
    """The run of the keep."""
    for run in search(client, place, f"tags.`{LEVEL}` = 'keep'"):
        return str(run.info.run_id)
    run = client.create_run(place, tags={LEVEL: "keep"}, run_name=kept.keep.name)
    return str(run.info.run_id)


def _created(
    client: MlflowClient, place: str, kept: Publishable, day: ClosedDay, parent: str
) -> str:
    run = client.create_run(
        place,
        start_time=_moment(day.day),
        tags={LEVEL: "day", DAY: day.day, PARENT: parent},
        run_name=f"{kept.keep.name} {day.day}",
    )
    return str(run.info.run_id)


def _fill(
    client: MlflowClient, run_id: str, day: ClosedDay, step: int, tags: Mapping[str, str]
) -> None:
    from mlflow.entities import Metric, RunTag

    at = _moment(day.day)
    metrics: Sequence[Any] = [Metric(k, value, at, step) for k, value in day.metrics.items()]
    client.log_batch(run_id, metrics=metrics, tags=[RunTag(k, v) for k, v in tags.items()])


def _moment(day: str, days: int = 0) -> int:
    """When a day begins, or so many later, in milliseconds."""
    begins = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=days)
    return int(begins.timestamp() * 1000)
