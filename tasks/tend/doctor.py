"""Look after an installation: packages, stores, disk, and what a power cut left behind."""

from __future__ import annotations

import importlib
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

from leaseboard.algorithms.caches import cache_dir
from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.algorithms.parts import PARTS
from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.environment import installed
from leaseboard.tasks.machine.owners import is_alive
from leaseboard.tasks.store.recorded import Store
from leaseboard.tasks.track.client import ClientWriter, every, search
from leaseboard.tasks.track.records import OWNER
from leaseboard.tasks.track.store import SQLITE, open_store, reported
from leaseboard.tasks.track.tracker import mend_suites

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

NATIVE = ("vowpalwabbit", "lightgbm", "numba", "pyarrow.parquet")
MIN_FREE = 1 << 30
CACHED = {
    "data cache": "data",
    "trials and probes": "recorded",
    "compiled kernels": "kernels",
}
"""The parts of the cache."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at, and what to do if it is not healthy."""

    name: str
    healthy: bool
    detail: str


def examine(uri: str, *, mend: bool = False) -> Iterator[Finding]:
    """Check everything, one finding at a time.

    `mend`: remove half-written jobs and end the suites of processes that are gone.
    """
    yield from requirements()
    yield from native_libraries()
    yield from disk_use(uri)
    yield from damaged(uri)
    yield recorded()
    try:
        client = open_store(uri)
        with reported(uri):
            yield from store(client, uri)
            yield from stuck_runs(client, uri, mend=mend)
    except LeaseboardError as error:
        yield Finding("tracking store", False, str(error))


def requirements() -> Iterator[Finding]:
    """Whether the installed versions are in the ranges that the project asks for."""
    from packaging.requirements import Requirement

    try:
        wanted = metadata.requires("leaseboard") or []
    except metadata.PackageNotFoundError:
        yield Finding("packages", False, "leaseboard is not installed: pip install -e .")
        return
    wrong = []
    for line in wanted:
        requirement = Requirement(line)
        marker = requirement.marker
        if marker and not any(marker.evaluate({"extra": part}) for part in ("", *PARTS)):
            continue
        if requirement.name == "leaseboard":  # a part that brings another
            continue
        found = installed(requirement.name)
        if found is None:
            wrong.append(f"{requirement.name} is missing")
        elif not requirement.specifier.contains(found, prereleases=True):
            wrong.append(f"{requirement.name} {found} is not {requirement.specifier}")
    mended = "; install requirements.lock" if wrong else f"{len(wanted)} requirements met"
    yield Finding("packages", not wrong, ", ".join(wrong) + mended)


def native_libraries() -> Iterator[Finding]:
    """Whether the learners' native code loads; LightGBM, for one, needs the system's libgomp."""
    broken = []
    for name in NATIVE:
        try:
            importlib.import_module(name)
        except (ImportError, OSError) as error:
            broken.append(f"{name}: {str(error).partition(chr(10))[0]}")
    yield Finding("native libraries", not broken, "; ".join(broken) or ", ".join(NATIVE))


def disk_use(uri: str) -> Iterator[Finding]:
    """What run folders, the cache's parts and the local store use, and what is left."""
    cache = cache_dir()
    places = {"run folders": [Path("runs").resolve()]}
    places |= {name: [cache / part] for name, part in CACHED.items()}
    if uri.startswith(SQLITE):
        database = Path(uri.removeprefix(SQLITE)).resolve()
        places["MLflow database"] = [database, *database.parent.glob(f"{database.name}-*")]
        places["MLflow artifacts"] = [database.parent / "artifacts"]
    for name, (place, *others) in places.items():
        used = sum(disk.used(file) for file in (place, *others))
        existing = next(parent for parent in (place, *place.parents) if parent.exists())
        free = shutil.disk_usage(existing).free
        detail = f"{place}: {disk.shown(used)} used, {disk.shown(free)} free"
        yield Finding(name, free > MIN_FREE, detail)


def damaged(uri: str) -> Iterator[Finding]:
    """Stores that were set aside because they were damaged, until somebody deletes them."""
    kept = sorted((cache_dir() / "recorded").glob(f"*{disk.DAMAGED}*"))
    if uri.startswith(SQLITE):
        database = Path(uri.removeprefix(SQLITE)).resolve()
        kept += sorted(database.parent.glob(f"{database.name}{disk.DAMAGED}*"))
    size = disk.shown(sum(disk.used(path) for path in kept))
    names = ", ".join(str(path) for path in kept[:3]) + (", ..." if len(kept) > 3 else "")
    detail = f"{len(kept)} set aside, {size}: look why, then delete them: {names}"
    yield Finding("damaged stores", not kept, detail if kept else "none")


def recorded() -> Finding:
    """Whether the store of trials and probes can be used, and what was set aside in it."""
    name = "store of trials and probes"
    try:
        table = Store().table
        keys, records, aside = table.counted()
    except LeaseboardError as error:
        return Finding(name, False, str(error))
    detail = f"{table}: {records} records of {keys} keys"
    if aside:
        detail += (
            f", {aside} set aside because they were damaged: look why, then delete them: their"
            f" name in leaseboard_records has {disk.DAMAGED!r} in it"
        )
    return Finding(name, not aside, detail)


def store(client: MlflowClient, uri: str) -> Iterator[Finding]:
    """Whether the store is whole, and which way jobs are written to it."""
    from leaseboard.tasks.track.bulk import sql_store

    if uri.startswith(SQLITE):
        with closing(sqlite3.connect(uri.removeprefix(SQLITE), timeout=20)) as connection:
            (verdict,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        if verdict != "ok":
            yield Finding("tracking store", False, f"{redacted(uri)} is damaged: {verdict}")
            return
    way = "in bulk" if sql_store(client) else "through the client"
    yield Finding("tracking store", True, f"{redacted(uri)}, written {way}")


def stuck_runs(client: MlflowClient, uri: str, *, mend: bool) -> Iterator[Finding]:
    """Runs that are RUNNING though their process is gone."""
    experiments = {e.name: e.experiment_id for e in every(client.search_experiments)}
    stuck = 0
    for name, identifier in experiments.items():
        if name.endswith("/configurations"):
            continue
        condition = "attributes.status = 'RUNNING' and tags.leaseboard.level LIKE '%'"
        running = search(client, identifier, condition)
        dead = [run for run in running if not is_alive(run.data.tags.get(OWNER, ""))]
        stuck += len(dead)
        if mend:
            children = experiments.get(f"{name}/configurations", identifier)
            writer = ClientWriter(client, uri, identifier, children)
            for run in dead:
                if run.data.tags["leaseboard.level"] == "job":
                    writer.remove(run.info.run_id)
            mend_suites(client, [identifier])
    detail = f"{stuck} left by processes that are gone" if stuck else "none"
    if stuck:
        detail += ", mended" if mend else ": mend them with `leaseboard doctor --mend`"
    yield Finding("stuck runs", mend or not stuck, detail)
