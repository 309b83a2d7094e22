"""The MLflow runs of a suite, its jobs and their configurations; writing may be cut off.

A thread of its own logs jobs that are over while others still run. At last the leaderboard goes to
the suite's run and its experiment, where people look first.
"""

from __future__ import annotations

import dataclasses
import json
import math
import queue
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Self, TypeVar

from leaseboard.algorithms.audit import Configuration, configurations, table
from leaseboard.algorithms.measures import describe_units
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import FAILURES, Result
from leaseboard.tasks.jobs.run import verdict
from leaseboard.tasks.machine.addresses import mlflow_ui
from leaseboard.tasks.machine.disk import BEAT, owner, reach
from leaseboard.tasks.machine.terminal import Activity
from leaseboard.tasks.track import records, writers
from leaseboard.tasks.track.store import TrackingError, experiment, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

Value = TypeVar("Value")

TABLE = "configurations.json"
NOTE = "mlflow.note.content"
RETRY_SECONDS = (1.0, 4.0, 8.0)
"""A busy or restarting store gets four tries."""
PATIENCE_SECONDS = 60.0
"""No new try after that: a store that accepts calls and never answers takes a minute for each."""
KIND = ("mlflow.experimentKind", "custom_model_development")
"""Saves the UI its own guess, by which an experiment without models is one of traces."""
MOST_BOARD = 5_000
"""Characters of a leaderboard in a description; the store takes 8,000 with the links."""
MOST_NAMED = 5
"""Jobs that a store refused which are named; of the others there may be thousands."""


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
            bulk = not through_client and writers.sql_store(self._client)
            make = writers.BulkWriter if bulk else writers.ClientWriter
            self.writer = make(self._client, uri, jobs, self._configurations)
            self._known = self.writer.known()
            end_suites(self._client, [jobs])
            self.run_id = self._open_suite(jobs, records.suite_key(suite, keys))
        self._ended = threading.Event()
        threading.Thread(target=self._beat, name="heartbeat", daemon=True).start()

    def _beat(self) -> None:
        """Tag the suite's run with the time, until it ends: others see by it that this lives."""
        while not self._ended.wait(BEAT):
            with suppress(TrackingError), reported(self.uri):
                self._client.set_tag(self.run_id, records.HEARTBEAT, str(time.time()))

    def log(self, result: Result, folder: Path) -> None:
        """Log a job from its run folder, unless the store has this result, or one that is ok."""
        if writers.stays(self._known.get(result.key, {}), result.started):
            return
        with reported(self.uri), tempfile.TemporaryDirectory() as scratch:
            log = folder / results.EVENTS
            events = results.read_partial_log(log) if log.is_file() else []
            considered = configurations(events)
            # The result is there already, and what a job printed, which may be long, is kept once.
            left_out = {results.RESULT, results.LOG}
            files = [path for path in sorted(folder.iterdir()) if path.name not in left_out]
            files = [path for path in files if path.stat().st_size > 0]
            line = f"{result.status} {result.reason}".strip()
            if result.score is not None:
                line += f"\n\n{describe_units(result.metric, result.score, result.metrics)}"
            tags = {
                writers.PARENT: self.run_id,
                "leaseboard.suite": self.suite,
                NOTE: f"{line}\n\n{self._link(result, considered)}",
            }
            if considered:
                path = Path(scratch) / TABLE
                path.write_text(json.dumps(table(considered)), encoding="utf-8")
                files.append(path)
                tags["mlflow.loggedArtifacts"] = json.dumps([{"path": TABLE, "type": "table"}])
            job = records.job_record(result, events)
            job = dataclasses.replace(job, tags={**job.tags, **tags})
            chosen = records.select(considered, self._rule, result.environment)
            of_configurations = [records.configuration_record(one, result) for one in chosen]
            reach("track.before-job")
            self.writer.write(job, of_configurations, files)
            reach("track.after-job")
            self._known[result.key] = dict(job.tags)

    def _link(self, result: Result, considered: list[Configuration]) -> str:
        """Return a link to a job's configurations."""
        mine, order = f"tags.leaseboard.job = '{result.key}'", "metrics.`score`"
        rising = "true" if result.direction == "min" else "false"
        place = records.runs_link(self._configurations, mine, order, orderByAsc=rising)
        return f"[{len(considered)} configurations]({place})"

    def close(self, status: str, counts: Mapping[str, int]) -> None:
        """End the suite's run with its counts of jobs by status."""
        self._ended.set()
        with reported(self.uri):
            self.writer.finish()
            known = self._client.get_run(self.run_id).data.metrics
            # Zero of those that an earlier call has logged, which was cut off after this point.
            earlier = dict.fromkeys((key for key in known if key.startswith("jobs.")), 0)
            for key, count in (earlier | {f"jobs.{k}": n for k, n in counts.items()}).items():
                self._client.log_metric(self.run_id, key, count)
            self._client.set_terminated(self.run_id, status)

    def _open_suite(self, experiment_id: str, key: str) -> str:
        """Return the suite's run: a new one, or that of an earlier call that was cut off.

        Each call has one that ends with a leaderboard, so that MLflow shows them over time.
        """
        tags = {"leaseboard.level": "suite", "leaseboard.key": key, records.OWNER: owner()}
        tags |= {"leaseboard.suite": self.suite, records.HEARTBEAT: str(time.time())}
        last = find_suite(self._client, experiment_id, key)
        written = last is not None and (
            last.info.status == "RUNNING"
            and last.data.tags.get(records.OWNER) != owner()
            and writers.has_writer(self._client, last.data.tags)
        )
        if last is None or records.NIGHT in last.data.tags or written:
            name = f"{self.suite} {datetime.now().astimezone():%F %R}"
            run = self._client.create_run(experiment_id, tags=tags, run_name=name)
            return str(run.info.run_id)
        for name in (records.HEARTBEAT, records.OWNER):
            self._client.set_tag(last.info.run_id, name, tags[name])
        self._client.update_run(last.info.run_id, status="RUNNING")
        return str(last.info.run_id)


def end_suites(client: MlflowClient, experiments: list[str]) -> None:
    """End the suite runs whose process is gone."""
    condition = "attributes.status = 'RUNNING' and tags.leaseboard.level = 'suite'"
    running = writers.every(client.search_runs, experiments, condition)
    for run in list(running):  # before any of them is ended, which moves pages
        if not writers.has_writer(client, run.data.tags):
            client.set_terminated(run.info.run_id, "KILLED")


def find_suite(client: MlflowClient, experiment_id: str, key: str) -> Run | None:
    """Return the newest run of a suite's jobs, None if the store does not have one."""
    condition = f"tags.leaseboard.level = 'suite' and tags.leaseboard.key = '{key}'"
    newest = ["attributes.start_time DESC"]
    found = client.search_runs([experiment_id], condition, max_results=1, order_by=newest)
    return found[0] if found else None


class Recorder:
    """Thread that logs each job that is over, and never delays a job or loses its result.

    What could not be logged is one line in `problems`. The next run logs it, because it looks at
    what the store has and not at what was tried.

    - `earlier`: jobs that were done before; those missing from the store are logged as well.
    - `open_tracker`: opens the store, in the thread: importing MLflow takes a second.
    """

    def __init__(
        self, out: Path, earlier: list[Result], open_tracker: Callable[[], Tracker]
    ) -> None:
        self.problems: list[str] = []
        self._out = out
        self._open = open_tracker
        self._refused: list[str] = []
        self._has_failed = False
        self._statuses: Counter[str] = Counter()
        self._queue: queue.SimpleQueue[Result | None] = queue.SimpleQueue()
        self._abandon = threading.Event()
        self._thread = threading.Thread(target=self._work, name="recorder")
        for result in earlier:
            self._queue.put(result)

    def job_is_over(self, result: Result) -> None:
        """Log a job some time soon."""
        self._queue.put(result)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        """Wait until all is logged; after an interruption only for the job that is written."""
        if kind is not None:
            self._abandon.set()
        self._queue.put(None)
        total = self._queue.qsize()
        with Activity("MLflow", total, "jobs", lambda: total - self._queue.qsize()):
            self._thread.join()

    def _work(self) -> None:
        try:
            tracker = self._patiently(self._open)
            while (result := self._queue.get()) is not None and not self._abandon.is_set():
                self._statuses[result.status] += 1
                folder = results.job_folder(self._out, result.key)
                try:
                    self._patiently(partial(tracker.log, result, folder))
                    self._has_failed = False
                except Exception as error:  # noqa: BLE001  (a job costs no other one)
                    open_store(tracker.uri)  # an error if the store is gone
                    self._has_failed = isinstance(error, TrackingError)
                    job = f"{result.name} on {result.data}"
                    self._refused.append(f"{job} is not in MLflow: {verdict(error)[1]}")
            failed = FAILURES & set(self._statuses)
            status = "KILLED" if self._abandon.is_set() else "FAILED" if failed else "FINISHED"
            self._patiently(lambda: tracker.close(status, dict(self._statuses)))
        except Exception as error:  # noqa: BLE001  (no one would see a thread's exception)
            self.problems.append(f"{verdict(error)[1]}; the next run logs what is missing")
        if more := len(self._refused[MOST_NAMED:]):
            self._refused[MOST_NAMED:] = [f"{more} more of the jobs are not in MLflow"]
        self.problems += self._refused

    def _patiently(self, action: Callable[[], Value]) -> Value:
        """Call `action`, which uses the store, again after a while if it fails.

        After a job that failed each time there is one call, until a job is logged: it may be the
        store that refuses all.
        """
        deadline = time.monotonic() + PATIENCE_SECONDS
        for pause in () if self._has_failed else RETRY_SECONDS:
            try:
                return action()
            except TrackingError:
                if time.monotonic() > deadline or self._abandon.wait(pause):
                    raise
        return action()


def log_all(found: Sequence[Result], out: Path, name: str, uri: str, rule: str = "all") -> None:
    """Log results of `out` that are missing from the store as runs of the experiment `name`.

    Raises TrackingError if something could not be logged.

    - `rule`: see `Tracker`.
    """
    keys = [result.key for result in found]
    with Recorder(out, list(found), lambda: Tracker(uri, name, keys, rule=rule)) as recorder:
        pass
    if recorder.problems:
        raise TrackingError("; ".join(recorder.problems))


class Place(NamedTuple):
    """Places of a suite within MLflow's UI, from ``#`` on."""

    jobs: str
    report: str
    """Of ``report.html`` among the artifacts of the suite's run."""


def publish(
    uri: str,
    suite: str,
    found: Sequence[Result],
    *,
    board: str,
    standings: Mapping[str, float],
    files: Sequence[Path],
) -> Place:
    """Describe a suite's run and experiments by the leaderboard, and attach files.

    The run gets the standings as metrics at the time when it began, so that a chart of all of them
    by wall time shows an algorithm over time.

    Raises TrackingError if the store cannot be used or does not know the suite's run.

    - `found`: of all its jobs; their keys find its run.
    - `board`: Markdown.
    - `standings`: score, rank and CPU seconds of each algorithm, by MEASURE/NAME.
    - `files`: artifacts of the suite's run, such as the report.
    """
    client = open_store(uri)
    with reported(uri):
        names = suite, f"{suite}/configurations"
        jobs, configurations = (experiment(client, uri, name) for name in names)
        run = find_suite(client, jobs, records.suite_key(suite, [result.key for result in found]))
        if run is None:
            raise TrackingError(f"the store has no run of these jobs of {suite!r}: run it first")
        run_id = run.info.run_id
        if len(board) > MOST_BOARD:
            rows, _, _ = board[:MOST_BOARD].rpartition("\n")
            board = f"{rows}\n\nThe report has the other rows.\n"
        report = f"#/experiments/{jobs}/runs/{run_id}/artifacts/{results.PAGE}"
        place = Place(records.runs_link(jobs, records.JOBS), report)
        considered = records.runs_link(configurations, "", "metrics.`lease`", orderByAsc="false")
        began = "attributes.start_time"
        nights = records.runs_link(jobs, records.NIGHTS, began, compareRunsMode="CHART")
        note = (
            f"{board}\n[All jobs]({place.jobs}) and their [configurations]({considered}); each job"
            f" links to its own. Leaderboards of earlier runs: [over time]({nights}).\n"
        )
        about = f"The configurations that [the jobs]({place.jobs}) of **{suite}** considered.\n"
        for place_id, text in ((jobs, note), (configurations, about)):
            client.set_experiment_tag(place_id, *KIND)
            client.set_experiment_tag(place_id, NOTE, text)
        note += f"\n[The report]({place.report}).\n" if files else ""
        client.set_tag(run_id, NOTE, note)
        for path in files:
            client.log_artifact(run_id, str(path))
        _log_standings(client, run, standings)
    return place


def _log_standings(client: MlflowClient, run: Run, standings: Mapping[str, float]) -> None:
    """Log the standings; the tag that says that a run has them comes last."""
    from mlflow.entities import Metric

    run_id, at = run.info.run_id, run.info.start_time
    metrics = [Metric(records.sound_key(name), value, at, 0)
               for name, value in standings.items() if math.isfinite(value)]  # fmt: skip
    for start in range(0, len(metrics), writers.METRICS_PER_BATCH):
        client.log_batch(run_id, metrics[start : start + writers.METRICS_PER_BATCH])
    client.set_tag(run_id, records.NIGHT, "true")
