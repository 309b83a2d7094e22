"""Lookup and repetition of a suite in a SQLite store, without MLflow, whose import takes seconds.

A run that has nothing to do records what the store has already, as a suite run of its own.
"""

import hashlib
import re
import shutil
import sqlite3
import uuid
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.machine.owners import owner
from leaseboard.tasks.track.client import stays
from leaseboard.tasks.track.records import NIGHT, OWNER, suite_key
from leaseboard.tasks.track.store import SQLITE, SQLITE_WAIT_SECONDS, TrackingError

NOTE = "mlflow.note.content"
FLOW_RUN = "leaseboard.flow_run"
"""Tag of a suite's run: the address of the flow run that logged it, or its identifier."""
PAGE = "leaseboard.page"
"""Tag of a suite's run: the digest of the report that it has. It comes last."""


class StoredSuite(NamedTuple):
    """Suite that a store has whole: its experiments, and its newest run, with a leaderboard."""

    experiments: dict[str, str]
    run_id: str
    artifacts: str
    """Address of the artifacts of that run."""
    page: str


def lookup(uri: str, suite: str, results: Sequence[Result]) -> StoredSuite | None:
    """Return the suite's newest run, if it has a leaderboard and the store has all `results`.

    None for a store that is not SQLite's, and if something is missing or being written.
    """
    path = Path(uri.removeprefix(SQLITE))
    if not (uri.startswith(SQLITE) and path.is_file()):
        return None
    names = {"jobs": suite, "configurations": f"{suite}/configurations"}
    try:
        with closing(sqlite3.connect(path, timeout=SQLITE_WAIT_SECONDS)) as connection:
            experiments = dict(
                connection.execute(
                    "SELECT name, CAST(experiment_id AS TEXT) FROM experiments"
                    " WHERE name IN (?, ?) AND lifecycle_stage = 'active'",
                    tuple(names.values()),
                )
            )
            rows = connection.execute(
                "SELECT run_uuid, status, artifact_uri, key, value FROM runs"
                " JOIN tags USING (run_uuid) WHERE experiment_id = ?"
                " AND lifecycle_stage = 'active' AND key LIKE 'leaseboard.%' ORDER BY start_time",
                (experiments.get(suite),),
            ).fetchall()
    except sqlite3.Error:  # a damaged store, or one of another program: MLflow reports it
        return None
    if len(experiments) < len(names) or any(status == "RUNNING" for _, status, *_ in rows):
        return None
    runs: dict[str, dict[str, str]] = defaultdict(dict)
    places: dict[str, str] = {}
    for run, _, address, key, value in rows:
        runs[run][key] = value
        places[run] = address
    jobs = {tags["leaseboard.key"]: tags for tags in runs.values()
            if tags.get("leaseboard.level") == "job"}  # fmt: skip
    key = suite_key(suite, [result.key for result in results])
    mine = [run for run, tags in runs.items() if tags.get("leaseboard.key") == key]
    whole = all(
        result.key in jobs and stays(jobs[result.key], result.started) for result in results
    )
    if not (whole and mine and NIGHT in runs[mine[-1]] and places[mine[-1]].startswith("file://")):
        return None
    identifiers = {what: experiments[name] for what, name in names.items()}
    return StoredSuite(identifiers, mine[-1], places[mine[-1]], runs[mine[-1]].get(PAGE, ""))


def repeat(uri: str, suite: str, found: StoredSuite) -> str:
    """Add the suite's run again, as of now and without a flow run; return the new one.

    Its leaderboard is one more point of the lines over time. All of it is added, or nothing.

    Raises TrackingError if the store cannot be used.
    """
    new, place = uuid.uuid4().hex, unquote(urlsplit(found.artifacts).path)
    copied = place.replace(found.run_id, new)
    try:
        shutil.copytree(place, copied)
        _copy(uri, suite, found, new)
    except (OSError, sqlite3.Error) as error:
        own, *_ = copied.partition(new)
        shutil.rmtree(own + new, ignore_errors=True)
        raise TrackingError(f"the MLflow store {redacted(uri)} failed: {error}") from error
    return new


def _copy(uri: str, suite: str, found: StoredSuite, new: str) -> None:
    old, now = found.run_id, datetime.now().astimezone()
    name, moment = f"{suite} {now:%F %R}", int(now.timestamp() * 1000)
    path = uri.removeprefix(SQLITE)
    with closing(sqlite3.connect(path, timeout=SQLITE_WAIT_SECONDS)) as connection, connection:
        connection.row_factory = sqlite3.Row
        connection.execute("BEGIN IMMEDIATE")

        def rows(table: str, key: str, value: str) -> list[dict[str, Any]]:
            found = connection.execute(f"SELECT * FROM {table} WHERE {key} = ?", (value,))  # noqa: S608 - ours
            return [dict(row) for row in found.fetchall()]

        def add(table: str, row: dict[str, Any]) -> None:
            marks = ", ".join(f":{column}" for column in row)
            connection.execute(f"INSERT INTO {table} ({', '.join(row)}) VALUES ({marks})", row)  # noqa: S608 - ours

        (run,) = rows("runs", "run_uuid", old)
        run |= {"run_uuid": new, "name": name, "start_time": moment, "end_time": moment}
        add("runs", run | {"artifact_uri": found.artifacts.replace(old, new)})
        tags = {row["key"]: row["value"] for row in rows("tags", "run_uuid", old)}
        (last,) = connection.execute(
            "SELECT MAX(CAST(value AS INTEGER)) FROM runs JOIN tags USING (run_uuid)"
            " WHERE experiment_id = ? AND lifecycle_stage = 'active' AND key = ?",
            (run["experiment_id"], NIGHT),
        ).fetchone()
        before, tags[NIGHT] = int(tags[NIGHT]), str(last + 1)
        tags |= {OWNER: owner(), "mlflow.runName": name}
        if FLOW_RUN in tags:
            flow_run = re.escape(tags.pop(FLOW_RUN))
            tags[NOTE] = re.sub(rf"\n\[[^]\n]*\]\({flow_run}\)\.\n", "", tags[NOTE])
        for key, value in tags.items():
            add("tags", {"run_uuid": new, "key": key, "value": value.replace(old, new)})
        for table in ("metrics", "latest_metrics"):
            for row in rows(table, "run_uuid", old):
                step = last + 1 if row["step"] == before else row["step"]
                add(table, row | {"run_uuid": new, "timestamp": moment, "step": step})
        for row in rows("inputs", "destination_id", old):
            given = uuid.uuid4().hex
            add("inputs", row | {"input_uuid": given, "destination_id": new})
            for tag in rows("input_tags", "input_uuid", row["input_uuid"]):
                add("input_tags", tag | {"input_uuid": given})


def digest_of(page: Path) -> str:
    """Return the digest of a report."""
    return hashlib.sha256(page.read_bytes()).hexdigest()
