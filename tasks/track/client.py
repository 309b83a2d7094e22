"""Writer through `MlflowClient`: to any store that MLflow knows, one run a call."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.tasks.machine.owners import is_alive, owner
from leaseboard.tasks.track.records import HEARTBEAT, JOBS, OWNER, RunRecord

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

PARAMS_PER_BATCH = 100
METRICS_PER_BATCH = 1000 - PARAMS_PER_BATCH
"""A batch holds at most 1,000 values together."""
PAGE = 1000
THREADS = 4
"""Configurations that are written at a time: with more, a server is no faster."""
PARENT = "mlflow.parentRunId"


@dataclass(frozen=True, slots=True)
class Known:
    """Job that the store has a run of.

    `status` is MLflow's: a run that is still ``RUNNING`` was not written to its end.
    """

    run_id: str
    status: str
    tags: dict[str, str]

    @property
    def whole(self) -> bool:
        """The job and all of its configurations were written."""
        return self.status != "RUNNING"


def has_writer(client: MlflowClient, tags: Mapping[str, str]) -> bool:
    """Return whether the process that writes a run still runs; a suite's run has its heartbeat."""
    from mlflow.exceptions import MlflowException

    beat = tags.get(HEARTBEAT, "0")
    with suppress(MlflowException):  # the suite's run was deleted
        if PARENT in tags:
            beat = client.get_run(tags[PARENT]).data.tags.get(HEARTBEAT, "0")
    return is_alive(tags.get(OWNER, ""), float(beat))


class ClientWriter:
    """Writer of jobs to one store.

    - `uri`: the store's address, for its artifacts.
    - `jobs`, `configurations`: the identifiers of the two experiments.
    """

    def __init__(self, client: MlflowClient, uri: str, jobs: str, configurations: str) -> None:
        self.client = client
        self.jobs = jobs
        self.uri = uri
        self.configurations = configurations

    def known(self) -> dict[str, Known]:
        """Return the jobs that the store has, by key."""
        return {
            run.data.tags["leaseboard.key"]: Known(
                run.info.run_id, run.info.status, dict(run.data.tags)
            )
            for run in search(self.client, self.jobs, JOBS)
        }

    def write(
        self, job: RunRecord, configurations: Sequence[RunRecord], files: Iterable[Path]
    ) -> str:
        """Write a job and its configurations; return the job's run.

        The job's run ends last: one that is cut off stays ``RUNNING``, by which it is known. Of
        several processes that write one job at the same time, that with the least run goes on.
        """
        same = f"tags.leaseboard.key = '{job.key}'"
        for run in list(search(self.client, self.jobs, same)):
            tags = run.data.tags
            if run.info.status != "RUNNING":
                keep = stays(tags, job.tags["leaseboard.started"])
            else:  # another live process is writing it
                keep = tags.get(OWNER, "") != owner() and has_writer(self.client, tags)
            if keep:
                return str(run.info.run_id)
            self.remove(run.info.run_id)
        run_id = self.create(self.jobs, job)
        runs = search(self.client, self.jobs, same)
        first = min((str(run.info.run_id) for run in runs), default=run_id)
        if first != run_id:
            self.remove(run_id)
            return first
        self._fill(run_id, job)
        log_artifacts(self.client.get_run(run_id).info.artifact_uri, self.uri, files)
        with ThreadPoolExecutor(THREADS) as threads:  # a server answers several at a time
            list(threads.map(partial(self._write_child, run_id), configurations))
        self.client.set_terminated(run_id, job.status, job.end)
        return run_id

    def remove(self, run_id: str) -> None:
        """Delete a job's run and those of its configurations; none is left ``RUNNING``."""
        children = search(self.client, self.configurations, f"tags.{PARENT} = '{run_id}'")
        for run in [*children, self.client.get_run(run_id)]:
            if run.info.status == "RUNNING":
                self.client.set_terminated(run.info.run_id, "KILLED")
            self.client.delete_run(run.info.run_id)

    def finish(self) -> None:
        """Prepare the store for readers, once all jobs are written."""

    def create(self, experiment: str, record: RunRecord) -> str:
        """Return a run of `record` that is ``RUNNING``, with its tags alone."""
        run = self.client.create_run(
            experiment, start_time=record.start, tags=dict(record.tags), run_name=record.name
        )
        return str(run.info.run_id)

    def _write_child(self, parent: str, record: RunRecord) -> None:
        tags = {**record.tags, PARENT: parent}
        run_id = self.create(self.configurations, dataclasses.replace(record, tags=tags))
        self._fill(run_id, record)
        self.client.set_terminated(run_id, record.status, record.end)

    def _fill(self, run_id: str, record: RunRecord) -> None:
        """Log everything that a run holds, in as few calls as MLflow's limits allow."""
        from mlflow.entities import Dataset, DatasetInput, InputTag, Metric, Param

        metrics = [Metric(m.key, m.value, record.end, m.step) for m in record.metrics]
        params = [Param(key, value) for key, value in record.params.items()]
        while metrics or params:
            self.client.log_batch(run_id, metrics[:METRICS_PER_BATCH], params[:PARAMS_PER_BATCH])
            del metrics[:METRICS_PER_BATCH], params[:PARAMS_PER_BATCH]
        if (data := record.data) is not None:
            dataset = Dataset(data.name, data.digest, data.kind, data.source)
            tags = [InputTag("mlflow.data.context", "benchmark")]
            self.client.log_inputs(run_id, datasets=[DatasetInput(dataset=dataset, tags=tags)])


def log_artifacts(place: str, uri: str, files: Iterable[Path]) -> None:
    """Copy `files` to the address `place` of a run's artifacts in the store at `uri`."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    repository = get_artifact_repository(place, tracking_uri=uri)
    for path in files:
        repository.log_artifact(str(path))


def stays(tags: Mapping[str, str], started: str) -> bool:
    """Return whether a run with `tags` is of the result that was `started` then, or is ``ok``."""
    return tags.get("leaseboard.started") == started or tags.get("leaseboard.status") == "ok"


def search(
    client: MlflowClient, experiment: str, condition: str, *, deleted: bool = False
) -> Iterator[Run]:
    """Return the runs of an experiment that meet a condition."""
    from mlflow.entities import ViewType

    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    return every(client.search_runs, [experiment], condition, view, max_results=PAGE)


def every(find: Callable[..., Any], *what: Any, **how: Any) -> Iterator[Any]:
    """Yield all that one of a client's searches finds: by itself it gives the first page."""
    token: str | None = None
    while True:
        page = find(*what, page_token=token, **how)
        yield from page
        token = page.token
        if not token:
            return
