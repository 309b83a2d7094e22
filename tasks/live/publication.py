"""Publication of a live model in MLflow: a version and a run of each candidate.

A candidate is registered once, as it is when it is first published; what it learns from then on is
in the state. The days on which it has predicted are the steps of its run's metrics. If `publish`
stops, the next call finishes it: version and run are found again by their key.

A day is closed when it is over and none of its rows waits for a label. It is logged again when
labels that came late have changed its measures.
"""

from __future__ import annotations

import hashlib
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keys.versions import code_and_libraries
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.record import ROLES, ModelRecord, name_of
from leaseboard.tasks.live.rows import Snapshot, features_of, to_json
from leaseboard.tasks.machine.disk import reach
from leaseboard.tasks.models.logged import CANDIDATE, KEY, LIVE, log
from leaseboard.tasks.models.model import load
from leaseboard.tasks.store.live_tables import ModelCandidate
from leaseboard.tasks.track.store import experiment, open_store, reported
from leaseboard.tasks.track.writers import every

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

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
    kind = registry.algorithm_class(live.recipe.algorithm).environment
    tags = {
        KEY: key_of(candidate),
        CANDIDATE: str(candidate.number),
        "leaseboard.algorithm": candidate.name,
        "leaseboard.created": f"{candidate.created}: {candidate.why}",
        "leaseboard.rows": str(candidate.learned),
        "leaseboard.data": f"{len(record.batches)} batches to {last}",
        "leaseboard.code": code_and_libraries(live.recipe.algorithm, kind)[0],
    } | ({"leaseboard.flow_run": flow_run} if flow_run else {})
    text = f"`{candidate.name}` predicts `{live.settings.data.target}`."
    # Without an example: its rows would outlast their deletion by id or age.
    model = Snapshot(features, learned)
    return log(client, place, live.settings.name, model, None, tags, text)


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
