"""Backup of a live model: one zip file from which it goes on, here or on another machine.

::

    manifest.json              format, name, host, the last number of each table, digests of all
                               others, and the checksum of all that
    live.yaml, contract.yaml   its files
    state/<table>.jsonl        the rows of a table of its state
    registry.json              versions, tags and aliases of the registered model
    versions/<number>/model    what a version has learned

State and registry are read at one moment: if an update changes either meanwhile, both are read
again. An archive comes from elsewhere: nothing in it is executed. Versions are logged again from
what they have learned, so the code that MLflow runs to serve one is ours.
"""

from __future__ import annotations

import platform
import re
import tempfile
import zipfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import fields
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from leaseboard.algorithms.errors import UsageError, short
from leaseboard.tasks.archive.zipped import MANIFEST, ArchiveFormat, Listing, Writer
from leaseboard.tasks.folder.results import replacing, write_atomically
from leaseboard.tasks.jobs.job import Moment, Title
from leaseboard.tasks.live.lifecycle import LifecycleState
from leaseboard.tasks.live.publication import CARD, claim
from leaseboard.tasks.live.settings import read_settings
from leaseboard.tasks.live.snapshot import Snapshot
from leaseboard.tasks.live.update import LiveModel, file_of, home_of, state_of
from leaseboard.tasks.machine.owners import operator
from leaseboard.tasks.models.logged import LIVE, About, default_store, download, log
from leaseboard.tasks.models.model import FILE, load
from leaseboard.tasks.store import live_tables, live_transfer
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry
from leaseboard.tasks.track.client import every
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

SETTINGS, CONTRACT, REGISTRY = "live.yaml", "contract.yaml", "registry.json"
TABLES = [each.name for each in fields(live_tables.Tables) if each.name != "metadata"]
ATTEMPTS = 5
"""To read state and registry while no update changes them; at the last, updates must wait."""
MOST_VERSIONS = 100_000
_FILES = (
    f"({'|'.join(map(re.escape, (MANIFEST, SETTINGS, CONTRACT, REGISTRY)))})"
    f"|state/({'|'.join(TABLES)})[.]jsonl|versions/[0-9]{{1,6}}/{FILE}"
)
_MOST = dict.fromkeys((MANIFEST, SETTINGS, CONTRACT), 1 << 20) | {REGISTRY: 64 << 20}
_MOST |= dict.fromkeys((FILE, *(f"{name}.jsonl" for name in TABLES)), 16 << 30)
ARCHIVE = ArchiveFormat(re.compile(_FILES), _MOST, "leaseboard live export")


class BackupManifest(Listing):
    """Contents of an archive, and where it comes from."""

    format: Literal["leaseboard-live-1"]
    state: Annotated[int, Field(ge=live_tables.VERSION, le=live_tables.VERSION)]
    """The version of the tables."""
    name: Title
    host: Title
    created: Moment
    last: dict[str, Annotated[int, Field(ge=0, lt=2**63)]]
    """The last number that each table gave."""


class PublishedVersion(BaseModel):
    """Version in the registry."""

    model_config = ConfigDict(extra="forbid", strict=True)

    number: Annotated[int, Field(ge=1, le=MOST_VERSIONS)]
    tags: dict[str, str]
    description: str
    card: str


class PublishedModel(BaseModel):
    """Registered model."""

    model_config = ConfigDict(extra="forbid", strict=True)

    description: str = ""
    tags: dict[str, str] = {}
    aliases: dict[str, int] = {}
    versions: list[PublishedVersion] = []


def export(uri: str, live: LiveModel, archive: Path, now: datetime) -> BackupManifest:
    """Write the live model into `archive`, whole or not at all, while it is served and updated.

    Only its owner may read the file: it holds rows. Raises TrackingError if the MLflow store at
    `uri` cannot be used.
    """
    from mlflow.exceptions import MlflowException

    client = open_store(uri)
    with replacing(archive) as part, reported(uri):
        part.touch(mode=0o600)
        for attempt in range(1, ATTEMPTS + 1):
            with ExitStack() as stack:
                if attempt == ATTEMPTS:
                    stack.enter_context(live.state.update_lock(wait=True))
                try:
                    manifest, before = _write(client, uri, live, part, now)
                except MlflowException:  # a version that was removed meanwhile
                    if attempt == ATTEMPTS:
                        raise
                    continue
                if before == live.state.candidates():
                    return manifest
    raise AssertionError("no update runs at the last attempt")


def _write(
    client: MlflowClient, uri: str, live: LiveModel, part: Path, now: datetime
) -> tuple[BackupManifest, Any]:
    """Write the archive; return its manifest, and the candidates of the state in it."""
    settings, state = live.settings, live.state
    assert live.file is not None
    with zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as zipped:
        writer = Writer(zipped, _MOST)
        writer.add(SETTINGS, [live.file.read_bytes()])
        writer.add(CONTRACT, [settings.contract.read_bytes()])
        with live_transfer.snapshot(state) as connection:
            before = state.candidates()
            last = live_transfer.counters(connection, state.tables)
            for name, table in state.tables.items():
                writer.add(f"state/{name}.jsonl", live_transfer.lines_of(connection, table))
        published = _published(client, uri, settings.name, writer)
        writer.add(REGISTRY, [published.model_dump_json().encode()])
        manifest = BackupManifest(
            files=writer.files, format="leaseboard-live-1", state=live_tables.VERSION,
            name=settings.name, host=platform.node() or "unknown",
            created=now.isoformat(timespec="seconds"), last=last,
        )  # fmt: skip
        return writer.finish(manifest), before


def _published(client: MlflowClient, uri: str, name: str, writer: Writer) -> PublishedModel:
    """Return the registered model, and write what its versions have learned."""
    versions = []
    found = client.search_registered_models(f"name='{name}'")
    if not found:
        return PublishedModel()
    for each in every(client.search_model_versions, f"name='{name}'"):
        with tempfile.TemporaryDirectory() as folder:
            model, card = download(client, uri, each, folder, f"artifacts/{FILE}", CARD)
            writer.add(f"versions/{each.version}/{FILE}", [model.read_bytes()])
            versions.append(PublishedVersion(
                number=int(each.version), tags=each.tags, description=each.description or "",
                card=card.read_text(encoding="utf-8"),
            ))  # fmt: skip
    registered = client.get_registered_model(name)
    aliases = {alias: int(version) for alias, version in registered.aliases.items()}
    return PublishedModel(
        description=registered.description or "", tags=registered.tags, aliases=aliases,
        versions=sorted(versions, key=lambda each: each.number),
    )  # fmt: skip


def restore(
    uri: str,
    archive: Path,
    now: datetime,
    file: Path | None = None,
    run_dir: Path | None = None,
    *,
    replace: bool = False,
) -> tuple[LiveModel, BackupManifest]:
    """Write the live model of an archive into its state and the MLflow store at `uri`.

    - `file`: FILE.yaml; it and the contract that it names are written unless they exist.
    - `replace`: what state and registry hold of it.

    The state is written in one transaction, then the versions, and the aliases last. Raises
    UsageError for another file than such an archive, and if there is something to replace.
    """
    with ARCHIVE.opened(archive) as zipped:
        manifest, members = ARCHIVE.checked(zipped, BackupManifest, archive)
        published = PublishedModel()
        if REGISTRY in members:
            published = ARCHIVE.validated(PublishedModel, zipped, REGISTRY, archive)
        wanted = {MANIFEST, SETTINGS, CONTRACT, REGISTRY, *(f"state/{t}.jsonl" for t in TABLES)}
        wanted |= {f"versions/{each.number}/{FILE}" for each in published.versions}
        if odd := wanted ^ members:
            raise ARCHIVE.refused(archive, f"{min(odd)!r} is missing, or of no version")
        models = {each.number: _snapshot(zipped, each.number) for each in published.versions}
        file = file or Path(f"{manifest.name}.yaml")
        live = _described(zipped, manifest.name, file, run_dir)
        client = open_store(uri)
        with live.state.update_lock(), reported(uri):
            _check_free(client, live, replace=replace)
            _fill(zipped, manifest, live, archive, now)
            _publish(client, uri, live, published, models)
    return live, manifest


def _snapshot(zipped: zipfile.ZipFile, number: int) -> Snapshot:
    """Return what a version has learned; UsageError if it is something else."""
    name = f"the model of version {number}"
    found = load(zipped.read(f"versions/{number}/{FILE}"), name)
    if not isinstance(found, Snapshot):
        raise UsageError(f"{name} is of kind {found.kind}, not of a live model: export it again")
    return found


def _described(zipped: zipfile.ZipFile, name: str, file: Path, run_dir: Path | None) -> LiveModel:
    """Return the live model of `file`, which is written unless it exists, as its contract is."""
    if not file.exists():
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, zipped.read(SETTINGS))
    settings = read_settings(file)
    if settings.name != name:
        raise UsageError(
            f"{file} is of {settings.name!r}, and the archive of {name!r}: name another"
        )
    contract = settings.contract
    if not contract.exists():
        if not contract.resolve().is_relative_to(file.resolve().parent):
            raise UsageError(
                f"{file}: contract {str(contract)!r} is outside of its folder: edit contract, and"
                " import again"
            )
        contract.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(contract, zipped.read(CONTRACT))
    return LiveModel.read(settings, state_of(settings, home_of(name, run_dir)), file)


def _check_free(client: MlflowClient, live: LiveModel, *, replace: bool) -> None:
    """Claim the registered model; UsageError if it or the state holds what is not to replace."""
    name, state = live.settings.name, live.state
    assert live.file is not None
    claim(client, name, live.file)
    rows = sum(state.counts().values())
    versions = client.search_model_versions(f"name='{name}'", max_results=1)
    if replace or not (rows or versions):
        return
    what = f"the state {state} holds {rows:,} rows" if rows else "MLflow has versions"
    raise UsageError(
        f"{what} of the live model {name!r}: pass --replace to lose them, or move them away"
    )


def _fill(
    zipped: zipfile.ZipFile,
    manifest: BackupManifest,
    live: LiveModel,
    archive: Path,
    now: datetime,
) -> None:
    """Write the state in one transaction, if an update could go on from it."""
    state, at = live.state, now.isoformat(timespec="seconds")
    assert live.file is not None
    with ExitStack() as stack:
        lines = {name: stack.enter_context(zipped.open(f"state/{name}.jsonl")) for name in TABLES}
        stack.enter_context(state.transaction())
        with state.connected() as connection:
            named = file_of(live.file, state.place)
            live_transfer.fill(connection, state.tables, lines, manifest.last, named)
        try:
            LifecycleState.read(state.lifecycle())
            for each in state.candidates():
                if each.model is not None:
                    load(state.model(each.model), f"the model of candidate {each.number}")
        except ValueError as error:
            raise ARCHIVE.refused(archive, short(str(error).partition("\n")[0])) from error
        what = f"exported on {manifest.host} at {manifest.created}; imported by {operator()}"
        state.commit(Changes(at, history=[HistoryEntry(at, "imported", "archive", what)]))


def _publish(
    client: MlflowClient,
    uri: str,
    live: LiveModel,
    published: PublishedModel,
    models: Mapping[int, Snapshot],
) -> None:
    """Register the versions under their numbers, and then their aliases."""
    name, file = live.settings.name, live.file
    assert file is not None
    client.delete_registered_model(name)
    claim(client, name, file)
    if published.description:
        client.update_registered_model(name, published.description)
    for key, value in published.tags.items():
        if key != LIVE:
            client.set_registered_model_tag(name, key, value)
    place, last, source = experiment(client, uri, f"live/{name}"), 0, ""
    for each in published.versions:
        model = models[each.number]
        for number in range(last + 1, each.number):  # those that were removed
            source = source or client.create_logged_model(place, name=name).model_id
            with default_store(uri):
                client.create_model_version(name, f"models:/{source}")
            client.delete_model_version(name, str(number))
        about = About(each.description, files={CARD: each.card})
        log(client, place, name, model, None, each.tags, about)
        last = each.number
    for alias, number in published.aliases.items():
        client.set_registered_model_alias(name, alias, str(number))
