"""Publication of a live model in MLflow: versions in its registry, and a run of each closed day.

The candidates that have a role are versions of one registered model. If `publish` stops, the
next call finishes it: a snapshot is found again by its key.

A day is closed when it is over and none of its rows waits for a label. Its run holds the measures
of the champion of that day. It is a child of the run of the live model, which holds the same
metrics with a step a day, because runs next to one another are points to MLflow and not lines. A
run is found again by its day: so an update that was killed does not make it twice, and labels that
came late change what it holds.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keys.versions import code_version
from leaseboard.tasks.live.record import ROLES, ModelRecord
from leaseboard.tasks.live.rows import features_of, to_json
from leaseboard.tasks.live.shadow import CHAMPION
from leaseboard.tasks.live.snapshot import Snapshot
from leaseboard.tasks.live.update import LiveModel
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.models.logged import CANDIDATE, KEY, LIVE, About, log
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_tables import ModelCandidate
from leaseboard.tasks.track.client import PARENT, every, search
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

KEPT = 10
"""Snapshots of a candidate, and of all that have no role any more together: the newest."""
MOST_DAYS = 60
"""Days that are read in an update: the last. Of a longer past the first are not logged."""
SCORE, DAYS = "leaseboard.score", 28
"""Tag of a version: its measures over the last days, so many at most."""
LEVEL, DAY, DIGEST = "leaseboard.level", "leaseboard.day", "leaseboard.digest"
"""Tags of runs: ``live`` or ``day``; the day; the digest of its measures."""


def publish(uri: str, live: LiveModel, now: datetime, *, flow_run: str = "") -> dict[str, str]:
    """Register a snapshot of each role, taken `now`, under its alias.

    - `flow_run`: the identifier of the flow run that asks for it.

    Returns the version of each role. Raises TrackingError if the store cannot be used, UsageError
    if the model of that name belongs to others.
    """
    name = live.settings.name
    client = open_store(uri)
    with reported(uri):
        assert live.file is not None
        claim(client, name, live.file)
        place = experiment(client, uri, f"live/{name}")
        record = ModelRecord(live.settings, live.state, now)
        versions = list(every(client.search_model_versions, f"name='{name}'"))
        known = {version.tags.get(KEY): str(version.version) for version in versions}
        found = {}
        for role in ROLES:
            candidate = record.in_role(role)
            if candidate is None or candidate.model is None:
                continue
            key = f"{candidate.number}-{candidate.model}"
            if key not in known:
                version = _add(client, place, live, record, candidate, flow_run)
                reach("live.after-version")
                versions.append(version)
                known[key] = str(version.version)
            if candidate.published != candidate.model:
                live.state.mark_published(candidate.number, candidate.model)
            found[role] = known[key]
        _point(client, name, found)
        reach("live.after-alias")
        roles = {str(each.number): each.role for each in record.candidates.values()}
        _remove_old(client, uri, name, place, versions, roles, set(found.values()))
    return found


def claim(client: MlflowClient, name: str, file: Path) -> None:
    """Create the registered model, or check that it is of this live model."""
    from mlflow.exceptions import MlflowException

    mine = str(file.resolve())
    try:
        client.create_registered_model(name, tags={LIVE: mine})
    except MlflowException as error:
        if error.error_code != "RESOURCE_ALREADY_EXISTS":
            raise
        owner = client.get_registered_model(name).tags.get(LIVE)
        if owner == mine:
            return
        if owner is None or Path(owner).exists():
            whose = f"of the live model in {owner}" if owner else "not of a live model"
            raise UsageError(
                f"the registered model {name!r} is {whose}: give yours another name"
            ) from error
        client.set_registered_model_tag(name, LIVE, mine)  # its folder was moved


def _add(
    client: MlflowClient,
    place: str,
    live: LiveModel,
    record: ModelRecord,
    candidate: ModelCandidate,
    flow_run: str,
) -> ModelVersion:
    """Register a snapshot with tags of what it is and where it comes from."""
    assert candidate.model is not None
    learned = load(live.state.model(candidate.model), f"a model of the state {live.state}")
    model = Snapshot(features_of(live.contract, live.settings.data), learned)
    scores = record.scores(candidate.number, sorted(record.days)[-DAYS:])
    tags = {
        KEY: f"{candidate.number}-{candidate.model}",
        CANDIDATE: str(candidate.number),
        "leaseboard.algorithm": candidate.name,
        "leaseboard.created": f"{candidate.created}: {candidate.why}",
        "leaseboard.rows": str(candidate.learned),
        **provenance(record.batches, live.recipe, flow_run),
        SCORE: " ".join(f"{name} {value:.6g}" for name, value in scores.items() if name != "rows"),
    }
    text = f"`{candidate.name}` predicts `{live.settings.data.target}`."
    # Without an example: its rows would outlast their deletion by id or age.
    return log(client, place, live.settings.name, model, None, tags, About(text))


def provenance(
    batches: Sequence[Mapping[str, Any]], recipe: Recipe, flow_run: str
) -> dict[str, str]:
    """Return tags of the data by their digests, of the code, and of the flow run, if any."""
    digests = "".join(batch["digest"] for batch in batches)
    last = batches[-1] if batches else {"name": "", "digest": ""}
    kind = registry.algorithm_class(recipe.algorithm).environment
    return {
        "leaseboard.data": f"{len(batches)} batches to {last['name']}",
        "leaseboard.data_digest": hashlib.sha256(digests.encode()).hexdigest(),
        "leaseboard.last_batch_digest": last["digest"],
        "leaseboard.code": code_version(recipe.algorithm, kind),
    } | ({"leaseboard.flow_run": flow_run} if flow_run else {})


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
    roles: Mapping[str, str],
    pointed: set[str],
) -> None:
    """Remove snapshots beyond `KEPT`, and the artifacts of all that no version is of."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    count: Counter[str] = Counter()
    used = set()
    for version in sorted(versions, key=lambda each: -int(each.version)):
        number = version.tags.get(CANDIDATE, "")
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
    """Measures of a day that is over and has all its labels."""

    day: str
    candidate: int
    """The champion of that day."""
    metrics: Mapping[str, float]

    @property
    def digest(self) -> str:
        """Of all of it."""
        content = to_json([self.candidate, dict(self.metrics)])
        return hashlib.sha256(content.encode()).hexdigest()


def closed_days(record: ModelRecord) -> list[ClosedDay]:
    """Return the last days that are over and have all their labels."""
    opened = [each.at[:10] for each in record.history if each.kind == "opened"]
    today, found = record.now.date().isoformat(), []
    days = [day for day in record.days if day < today and day not in record.waiting]
    for day in sorted(days)[-MOST_DAYS:]:
        number = record.served.get(day)
        if number is None:
            continue
        metrics = record.scores(number, [day]) | {"incidents": float(opened.count(day))}
        found.append(ClosedDay(day, number, metrics))
    return found


def log_days(
    uri: str, live: LiveModel, now: datetime, versions: Mapping[str, str], *, flow_run: str = ""
) -> list[str]:
    """Log a run of each closed day; return the days that were written.

    - `versions`: of the roles in the registry, as `publish` gave them.
    - `flow_run`: the identifier of the flow run that asks for it.

    Raises TrackingError if the store cannot be used.
    """
    record = ModelRecord(live.settings, live.state, now)
    days = closed_days(record)
    if not days:
        return []
    client, name = open_store(uri), live.settings.name
    with reported(uri):
        place = experiment(client, uri, f"live/{name}")
        since = f"attributes.start_time >= {_milliseconds(days[0].day)}"
        runs = search(client, place, f"tags.`{LEVEL}` = 'day' and {since}")
        known = {run.data.tags[DAY]: run for run in runs}
        done = {
            day: run.data.tags.get(DIGEST)
            for day, run in known.items()
            if run.info.status == "FINISHED"
        }
        new = [each for each in days if done.get(each.day) != each.digest]
        if not new:
            return []
        parents = search(client, place, f"tags.`{LEVEL}` = 'live'")
        found = next(iter(parents), None) or client.create_run(
            place, tags={LEVEL: "live"}, run_name=name
        )
        parent = str(found.info.run_id)
        first = date.fromisoformat(min(each.created for each in record.candidates.values())[:10])
        tags = provenance(record.batches, live.recipe, flow_run)
        for each in new:
            step = (date.fromisoformat(each.day) - first).days
            about = {**tags, "leaseboard.candidate": str(each.candidate), DIGEST: each.digest}
            if record.champion is not None and each.candidate == record.champion.number:
                about["leaseboard.model_version"] = versions.get(CHAMPION, "")
            # The series first: a run of a day that is whole says that it is in there.
            _fill(client, parent, each, step, {})
            run = known.get(each.day) or client.create_run(
                place, start_time=_milliseconds(each.day), run_name=f"{name} {each.day}",
                tags={LEVEL: "day", DAY: each.day, PARENT: parent},
            )  # fmt: skip
            reach("live.after-day")
            _fill(client, run.info.run_id, each, step, about)
            client.set_terminated(run.info.run_id, "FINISHED", _milliseconds(each.day, days=1))
        client.set_terminated(parent, "FINISHED", _milliseconds(new[-1].day, days=1))
    return [each.day for each in new]


def _fill(
    client: MlflowClient, run_id: str, day: ClosedDay, step: int, tags: Mapping[str, str]
) -> None:
    from mlflow.entities import Metric, RunTag

    at = _milliseconds(day.day)
    metrics: Sequence[Any] = [Metric(k, value, at, step) for k, value in day.metrics.items()]
    client.log_batch(run_id, metrics=metrics, tags=[RunTag(k, v) for k, v in tags.items()])


def _milliseconds(day: str, days: int = 0) -> int:
    """Return when a day begins, or so many later."""
    begins = datetime.fromisoformat(day).replace(tzinfo=UTC) + timedelta(days=days)
    return int(begins.timestamp() * 1000)
