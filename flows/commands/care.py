"""``leaseboard live export``, ``import`` and ``forget``: care of a live model and its rows."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer

from leaseboard.flows.commands.live import app, live_of
from leaseboard.flows.commands.options import FlowsCommand, RunDir, TrackingUri
from leaseboard.flows.console import check_file, say
from leaseboard.tasks.machine import paths


@app.command("export", cls=FlowsCommand)
def export(
    file: Path, archive: Path, run_dir: RunDir = None, tracking_uri: TrackingUri = None
) -> None:
    """Write a live model into an archive: its files, state and registered versions.

    It may be served and updated meanwhile: the archive holds one moment. Only you can read it,
    because it holds rows.

    - `file`: YAML file of the live model, or its name.
    - `archive`: Archive to write, such as sales.zip.

    Example: leaseboard live export sales.yaml sales.zip
    """
    from leaseboard.tasks.live import backup
    from leaseboard.tasks.machine import disk

    check_file(archive)
    live = live_of(file, run_dir, tracking_uri)
    uri = paths.tracking_uri(tracking_uri)
    manifest = backup.export(uri, live, archive, datetime.now(UTC))
    count = sum(name.startswith("versions/") for name in manifest.files)
    say(f"{archive}: {manifest.name} with {count} versions, {disk.shown(archive.stat().st_size)}")


@app.command("import", cls=FlowsCommand)
def restore(
    archive: Path,
    file: Path | None = None,
    replace: bool = False,
    run_dir: RunDir = None,
    tracking_uri: TrackingUri = None,
) -> None:
    """Restore a live model from an archive, here or on another machine, in any kind of database.

    The settings and the contract are written unless they exist: to use another database, write
    FILE.yaml first. Stop the live model on the other machine before you update it here.

    - `archive`: Archive that `leaseboard live export` wrote.
    - `file`: YAML file of the live model (default: NAME.yaml in the current folder).
    - `replace`: Lose what the state and the registry have of this live model.

    Example: leaseboard live import sales.zip --file sales.yaml
    """
    from leaseboard.tasks.live import backup

    uri = paths.tracking_uri(tracking_uri)
    live, manifest = backup.restore(
        uri, archive, datetime.now(UTC), file, run_dir, replace=replace
    )
    say(f"{live.file}: {manifest.name} as of {manifest.created}, from {manifest.host}")
    say(f"next: leaseboard live update {live.file}")


@app.command("forget", cls=FlowsCommand)
def forget(
    file: Path,
    reason: Annotated[str, typer.Option(metavar="TEXT")],
    identity: Annotated[list[str], typer.Option("--id", metavar="ID")],
    run_dir: RunDir = None,
) -> None:
    """Delete all that is stored of rows by their ids, and never learn these ids again.

    Rows, quarantined rows, logged predictions and posted labels are deleted. How many, when, why
    and by whom is in the record; only a digest of each id stays.

    - `file`: YAML file of the live model, or its name.
    - `reason`: For the record.
    - `identity`: Id of a row; several: --id A --id B.

    Example: leaseboard live forget sales.yaml --id a-17 --reason 'the customer asked'
    """
    from leaseboard.tasks.live.erasure import erase

    live = live_of(file, run_dir)
    with live.state.update_lock():
        say(f"{live.settings.name}: {erase(live, identity, reason, datetime.now(UTC))}")
