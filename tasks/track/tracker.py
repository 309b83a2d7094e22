"""The MLflow record of a suite: suite run, job runs, configuration runs. Safe to cut off."""

from __future__ import annotations

import dataclasses
import json
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import quote

from leaseboard.algorithms.configurations import configurations, table
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.owners import is_alive, owner
from leaseboard.tasks.track import bulk
from leaseboard.tasks.track.client import PARENT, ClientWriter, Known, every, stays
from leaseboard.tasks.track.records import (
    OWNER,
    configuration_record,
    job_record,
    select,
    suite_key,
)
from leaseboard.tasks.track.store import experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient

TABLE = "configurations.json"
_NOTE = "mlflow.note.content"


class Tracker:
    """Logs the jobs of one suite to one MLflow store.

    Everything is found again by its ``leaseboard.key``: what is there is not logged twice, what
    a kill left half-written is removed and logged again.

    Raises TrackingError here and from every method, if the store cannot be used.

    - `suite`: the suite's name, which names both experiments.
    - `keys`: of all jobs of the suite.
    - `rule`: which configurations get a run: ``all``, ``leased``, ``top:K`` or ``none``.
    - `through_client`: do not use the bulk path even where it could be.
    """

    def __init__(
        self,
        uri: str,
        suite: str,
        keys: Iterable[str],
        *,
        rule: str = "all",
        through_client: bool = False,
    ) -> None:
        self.uri = uri
        self.suite = suite
        self._rule = rule
        self._client = open_store(uri)
        jobs = experiment(self._client, uri, suite)
        self._configurations = experiment(self._client, uri, f"{suite}/configurations")
        with reported(uri):
            store = None if through_client else bulk.sql_store(self._client)
            arguments = (self._client, uri, jobs, self._configurations)
            self.writer = bulk.BulkWriter(*arguments, store) if store else ClientWriter(*arguments)
            self._known = self.writer.known()
            self._mend()
            self.run_id = self._open_suite(jobs, suite_key(suite, keys))

    def has(self, result: Result) -> bool:
        """Whether the store has this result, or one of the same job that is ``ok``."""
        known = self._known.get(result.key)
        return known is not None and known.whole and stays(known.tags, result.started)

    def log(self, result: Result, folder: Path) -> None:
        """Log a job from its run folder, unless it is there."""
        if self.has(result):
            return
        with reported(self.uri), tempfile.TemporaryDirectory() as scratch:
            stale = self._known.pop(result.key, None)
            if stale is not None and (stale.whole or not _in_writing(stale)):
                self.writer.remove(stale.run_id)
            log = folder / results.EVENTS
            events = read_partial_log(log) if log.is_file() else []
            considered = configurations(events)
            files = [path for path in sorted(folder.iterdir()) if _is_artifact(path)]
            tags = {
                PARENT: self.run_id,
                "leaseboard.suite": self.suite,
                _NOTE: self._note(result, len(considered)),
            }
            if considered:
                path = Path(scratch) / TABLE
                path.write_text(json.dumps(table(considered)), encoding="utf-8")
                files.append(path)
                tags["mlflow.loggedArtifacts"] = json.dumps([{"path": TABLE, "type": "table"}])
            job = job_record(result, events)
            job = dataclasses.replace(job, tags={**job.tags, **tags})
            chosen = select(considered, self._rule, result.bench)
            records = [configuration_record(one, result) for one in chosen]
            run_id = self.writer.write(job, records, files)
            self._known[result.key] = Known(run_id, job.status, dict(job.tags))

    def close(self, status: str, counts: Mapping[str, int]) -> None:
        """End the suite's run with its counts of jobs by status."""
        with reported(self.uri):
            self.writer.settle()
            for name, count in counts.items():
                self._client.log_metric(self.run_id, f"jobs.{name}", count)
            self._client.set_terminated(self.run_id, status)

    def _open_suite(self, experiment_id: str, key: str) -> str:
        """The suite's run, new or from an earlier, unfinished or finished, call."""
        tags = {"leaseboard.level": "suite", "leaseboard.key": key, OWNER: owner()}
        run_id = find_suite(self._client, experiment_id, key)
        if run_id is None:
            run = self._client.create_run(experiment_id, tags=tags, run_name=self.suite)
            return str(run.info.run_id)
        self._client.set_tag(run_id, OWNER, tags[OWNER])
        self._client.update_run(run_id, status="RUNNING")
        return run_id

    def _mend(self) -> None:
        """Remove the half-written jobs of processes that are gone, and end their suites."""
        for key, known in list(self._known.items()):
            if not known.whole and not _in_writing(known):
                self.writer.remove(known.run_id)
                del self._known[key]
        mend_suites(self._client, [self.writer.jobs])

    def _note(self, result: Result, count: int) -> str:
        query = quote(f"tags.leaseboard.job = '{result.key}'")
        place = f"#/experiments/{self._configurations}/runs"
        link = f"{place}?searchFilter={query}&workflowType=machine_learning"
        line = f"{result.status} {result.reason}".strip()
        return f"{line}\n\n[{count} configurations]({link})"


def _is_artifact(path: Path) -> bool:
    """Whether a file of a job's folder goes to the store.

    The result is there already, and what a job printed, which may be long, is kept once.
    """
    return path.name not in {results.RESULT, results.LOG} and path.stat().st_size > 0


def mend_suites(client: MlflowClient, experiments: list[str]) -> list[str]:
    """End the suite runs whose process is gone; returns their identifiers."""
    condition = "attributes.status = 'RUNNING' and tags.leaseboard.level = 'suite'"
    running = every(client.search_runs, experiments, condition)
    dead = [run.info.run_id for run in running if not is_alive(run.data.tags.get(OWNER, ""))]
    for run_id in dead:
        client.set_terminated(run_id, "KILLED")
    return dead


def find_suite(client: MlflowClient, experiment_id: str, key: str) -> str | None:
    """The run of a suite's jobs, if the store has it."""
    condition = f"tags.leaseboard.level = 'suite' and tags.leaseboard.key = '{key}'"
    found = client.search_runs([experiment_id], condition, max_results=1)
    return str(found[0].info.run_id) if found else None


def _in_writing(known: Known) -> bool:
    """Whether a live process is writing this job just now."""
    return known.status == "RUNNING" and is_alive(known.tags.get(OWNER, ""))


def log_race(result: Result, log: Path, uri: str) -> None:
    """Log one job that belongs to no suite, into the experiment ``race``."""
    tracker = Tracker(uri, "race", [result.key])
    tracker.log(result, log.parent)
    tracker.close("FINISHED" if result.status == "ok" else "FAILED", {result.status: 1})
