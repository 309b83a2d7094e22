"""The MLflow runs of a suite, its jobs and their configurations; writing may be cut off."""

from __future__ import annotations

import dataclasses
import json
import tempfile
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING

from leaseboard.algorithms.configurations import Configuration, configurations, table
from leaseboard.algorithms.measures import describe_units
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.event_logs import read_partial_log
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine.addresses import mlflow_ui
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.machine.owners import BEAT, owner
from leaseboard.tasks.track.records import (
    HEARTBEAT,
    NIGHT,
    OWNER,
    configuration_record,
    job_record,
    runs_link,
    select,
    suite_key,
)
from leaseboard.tasks.track.store import TrackingError, experiment, open_store, reported
from leaseboard.tasks.track.writers import (
    PARENT,
    ClientWriter,
    every,
    has_writer,
    stays,
    writer_of,
)

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

TABLE = "configurations.json"
_NOTE = "mlflow.note.content"


class Tracker:
    """Logger of the jobs of one suite in one MLflow store.

    Every run is found again by its ``leaseboard.key``: what is there is not logged twice, what
    a kill left half-written is removed and logged again.

    Raises TrackingError here and from every method, if the store cannot be used.

    - `suite`: the suite's name, which names both experiments.
    - `keys`: of all jobs of the suite.
    - `rule`: which configurations get a run: ``all``, ``top:K`` or ``none``.
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
        self.place = {"ui": mlflow_ui(uri), "jobs": jobs, "configurations": self._configurations}
        with reported(uri):
            make = ClientWriter if through_client else writer_of
            self.writer = make(self._client, uri, jobs, self._configurations)
            self._known = self.writer.known()
            end_suites(self._client, [jobs])
            self.run_id = self._open_suite(jobs, suite_key(suite, keys))
        self._ended = Event()
        Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def _beat(self) -> None:
        """Tag the suite's run with the time, until it ends: others see by it that this lives."""
        while not self._ended.wait(BEAT):
            with suppress(TrackingError), reported(self.uri):
                self._client.set_tag(self.run_id, HEARTBEAT, str(time.time()))

    def has(self, result: Result) -> bool:
        """Return whether the store has this result, or one of the same job that is ``ok``."""
        known = self._known.get(result.key)
        return known is not None and stays(known, result.started)

    def log(self, result: Result, folder: Path) -> None:
        """Log a job from its run folder, unless it is there."""
        if self.has(result):
            return
        with reported(self.uri), tempfile.TemporaryDirectory() as scratch:
            log = folder / results.EVENTS
            events = read_partial_log(log) if log.is_file() else []
            considered = configurations(events)
            # The result is there already, and what a job printed, which may be long, is kept once.
            others = {results.RESULT, results.LOG}
            files = [path for path in sorted(folder.iterdir()) if path.name not in others]
            files = [path for path in files if path.stat().st_size > 0]
            line = f"{result.status} {result.reason}".strip()
            if result.score is not None:
                line += f"\n\n{describe_units(result.metric, result.score, result.metrics)}"
            tags = {
                PARENT: self.run_id,
                "leaseboard.suite": self.suite,
                _NOTE: f"{line}\n\n{self._links(result, considered)}",
            }
            if considered:
                path = Path(scratch) / TABLE
                path.write_text(json.dumps(table(considered)), encoding="utf-8")
                files.append(path)
                tags["mlflow.loggedArtifacts"] = json.dumps([{"path": TABLE, "type": "table"}])
            job = job_record(result, events)
            job = dataclasses.replace(job, tags={**job.tags, **tags})
            chosen = select(considered, self._rule, result.environment)
            records = [configuration_record(one, result) for one in chosen]
            reach("track.before-job")
            self.writer.write(job, records, files)
            reach("track.after-job")
            self._known[result.key] = dict(job.tags)

    def _links(self, result: Result, considered: list[Configuration]) -> str:
        """Return links to a job's configurations, and to those that held a lease."""
        mine = f"tags.leaseboard.job = '{result.key}'"
        rising = "true" if result.direction == "min" else "false"
        shown = {f"{len(considered)} configurations": mine}
        if held := sum(bool(each.leases) for each in considered):
            shown[f"{held} that held a lease"] = f"metrics.lease > 0 and {mine}"
        order = "metrics.`score`"
        return ", ".join(
            f"[{what}]({runs_link(self._configurations, condition, order, orderByAsc=rising)})"
            for what, condition in shown.items()
        )

    def close(self, status: str, counts: Mapping[str, int]) -> None:
        """End the suite's run with its counts of jobs by status."""
        self._ended.set()
        with reported(self.uri):
            self.writer.finish()
            # A call that was cut off after this point has logged them already.
            known = self._client.get_run(self.run_id).data.metrics
            gone = (key.removeprefix("jobs.") for key in known if key.startswith("jobs."))
            for name, count in {**dict.fromkeys(gone, 0), **counts}.items():
                if known.get(f"jobs.{name}") != count:
                    self._client.log_metric(self.run_id, f"jobs.{name}", count)
            self._client.set_terminated(self.run_id, status)

    def _open_suite(self, experiment_id: str, key: str) -> str:
        """Return the suite's run: a new one, or that of an earlier call that was cut off.

        Each call has one that ends with a leaderboard, so that MLflow shows them over time.
        """
        tags = {"leaseboard.level": "suite", "leaseboard.key": key, OWNER: owner()}
        tags |= {"leaseboard.suite": self.suite, HEARTBEAT: str(time.time())}
        last = find_suite(self._client, experiment_id, key)
        written = last is not None and (
            last.info.status == "RUNNING"
            and last.data.tags.get(OWNER) != owner()
            and has_writer(self._client, last.data.tags)
        )
        if last is None or NIGHT in last.data.tags or written:
            name = f"{self.suite} {datetime.now().astimezone():%F %R}"
            run = self._client.create_run(experiment_id, tags=tags, run_name=name)
            return str(run.info.run_id)
        for name in (HEARTBEAT, OWNER):
            self._client.set_tag(last.info.run_id, name, tags[name])
        self._client.update_run(last.info.run_id, status="RUNNING")
        return str(last.info.run_id)


def end_suites(client: MlflowClient, experiments: list[str]) -> None:
    """End the suite runs whose process is gone."""
    condition = "attributes.status = 'RUNNING' and tags.leaseboard.level = 'suite'"
    running = every(client.search_runs, experiments, condition)
    for run in list(running):  # before any of them is ended, which moves pages
        if not has_writer(client, run.data.tags):
            client.set_terminated(run.info.run_id, "KILLED")


def find_suite(client: MlflowClient, experiment_id: str, key: str) -> Run | None:
    """Return the newest run of a suite's jobs, None if the store does not have one."""
    condition = f"tags.leaseboard.level = 'suite' and tags.leaseboard.key = '{key}'"
    newest = ["attributes.start_time DESC"]
    found = client.search_runs([experiment_id], condition, max_results=1, order_by=newest)
    return found[0] if found else None


def log_race(result: Result, log: Path, uri: str) -> None:
    """Log one job that belongs to no suite, into the experiment ``race``."""
    tracker = Tracker(uri, "race", [result.key])
    tracker.log(result, log.parent)
    tracker.close("FINISHED" if result.status == "ok" else "FAILED", {result.status: 1})
