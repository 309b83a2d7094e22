"""The lineages of a keep as versions of one model in MLflow's registry; roll-back.

Whatever stops `publish`, the next call finishes it: a snapshot is found again by its key.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.algorithms import registry
from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.card import TrackRecord, card
from leaseboard.tasks.keep.changes import Lineage, in_role
from leaseboard.tasks.keep.contract import Contract
from leaseboard.tasks.keep.living import Recipe
from leaseboard.tasks.keep.reading import as_sent, features_of
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import CHALLENGER, CHAMPION, PREVIOUS
from leaseboard.tasks.keep.snapshot import snapshot_of
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.keys.versions import code_version
from leaseboard.tasks.models.columns import EXAMPLE_ROWS, example
from leaseboard.tasks.models.logged import KEY, log
from leaseboard.tasks.models.registry import KEEP, LINEAGE
from leaseboard.tasks.track.client import every
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities.model_registry import ModelVersion
    from mlflow.tracking import MlflowClient

ROLES = (CHAMPION, CHALLENGER, PREVIOUS)
"""Those that are published, each under the alias of its name."""
KEPT = 10
"""Snapshots of a lineage, and of all that have no role any more together: the newest."""

SCORE = "leaseboard.score"
CARD = "card.md"


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
