"""Publication of a live model in MLflow: versions in its registry, and a run of its closed days.

The candidates that have a role are versions of one registered model. If `publish` stops, the
next call finishes it: a snapshot is found again by its key.

A day is closed when it is over and none of its rows waits for a label. The run of the live model
holds the measures of the champion of each such day, one step a day. Those of a day are logged
again when labels that came late, or incidents, have changed them.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keys.versions import code_version
from leaseboard.tasks.live.record import ROLES, ModelRecord
from leaseboard.tasks.live.rows import features_of, to_json
from leaseboard.tasks.live.snapshot import Snapshot
from leaseboard.tasks.live.update import LiveModel
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.models.logged import CANDIDATE, KEY, LIVE, About, log
from leaseboard.tasks.models.model import load
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_tables import ModelCandidate
from leaseboard.tasks.track.client import every, search
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

KEPT = 10
"""Snapshots of a candidate, and of all that have no role any more together: the newest."""
MOST_DAYS = 60
"""Days that are logged in an update: the last. Of a longer past the first are not."""
SCORE, DAYS = "leaseboard.score", 28
"""Tag of a version: its measures over the last days, so many at most."""
LEVEL, DIGEST = "leaseboard.level", "leaseboard.digest"
"""Tags of the run: ``live``; the digest of the days that were logged last."""


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


def closed_days(record: ModelRecord) -> dict[str, dict[str, float]]:
    """Return measures of the last days that are over and have all their labels, by day."""
    opened = [each.at[:10] for each in record.history if each.kind == "opened"]
    today, found = record.now.date().isoformat(), dict[str, dict[str, float]]()
    days = [day for day in record.days if day < today and day not in record.waiting]
    for day in sorted(days)[-MOST_DAYS:]:
        number = record.served.get(day)
        if number is None:
            continue
        found[day] = {**record.scores(number, [day]), "incidents": float(opened.count(day))}
    return found


def log_days(uri: str, live: LiveModel, now: datetime, *, flow_run: str = "") -> list[str]:
    """Log the closed days in the run of the live model; return them, none if all are logged.

    - `flow_run`: the identifier of the flow run that asks for it.

    Raises TrackingError if the store cannot be used.
    """
    from mlflow.entities import Metric, RunTag

    record = ModelRecord(live.settings, live.state, now)
    days = closed_days(record)
    if not days:
        return []
    digest = hashlib.sha256(to_json(days).encode()).hexdigest()
    client, name = open_store(uri), live.settings.name
    with reported(uri):
        place = experiment(client, uri, f"live/{name}")
        known = next(search(client, place, f"tags.`{LEVEL}` = 'live'"), None)
        if known and known.data.tags.get(DIGEST) == digest:
            return []
        run = known or client.create_run(place, tags={LEVEL: "live"}, run_name=name)
        reach("live.after-run")
        first = date.fromisoformat(min(each.created for each in record.candidates.values())[:10])
        metrics = []
        for day, measures in days.items():
            at = int(datetime.fromisoformat(day).replace(tzinfo=UTC).timestamp() * 1000)
            step = (date.fromisoformat(day) - first).days
            metrics += [Metric(name, value, at, step) for name, value in measures.items()]
        tags = {**provenance(record.batches, live.recipe, flow_run), DIGEST: digest}
        # What is there is not written twice. The digest comes last: after a kill, all come again.
        client.log_batch(run.info.run_id, metrics, tags=[RunTag(*each) for each in tags.items()])
        client.set_terminated(run.info.run_id, "FINISHED")
    return list(days)
