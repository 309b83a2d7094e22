"""Writing through `MlflowClient`: any store that MLflow knows, one run at a time."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.tasks.machine.owners import is_alive, owner
from leaseboard.tasks.track.records import OWNER, DataInput, RunRecord

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

METRICS_PER_BATCH = 1000
VALUES_PER_BATCH = 100
PAGE = 1000
PARENT = "mlflow.parentRunId"


@dataclass(frozen=True, slots=True)
class Known:
    """A job that the store has a run of.

    `status` is MLflow's: a run that is still ``RUNNING`` was not written to its end.
    """

    run_id: str
    status: str
    tags: dict[str, str]

    @property
    def whole(self) -> bool:
        """Whether the job and all of its configurations were written."""
        return self.status != "RUNNING"


class ClientWriter:
    """Writes jobs to one store.

    - `uri`: the store's address, for its artifacts.
    - `jobs`, `configurations`: the identifiers of the two experiments.
    """

    def __init__(self, client: MlflowClient, uri: str, jobs: str, configurations: str) -> None:
        self.client = client
        self.uri = uri
        self.jobs = jobs
        self.configurations = configurations

    def known(self) -> dict[str, Known]:
        """The jobs that the store has, by key."""
        runs = search(self.client, self.jobs, "tags.leaseboard.level = 'job'")
        return {
            run.data.tags["leaseboard.key"]: Known(
                run.info.run_id, run.info.status, dict(run.data.tags)
            )
            for run in runs
        }

    def write(
        self, job: RunRecord, configurations: Sequence[RunRecord], files: Iterable[Path]
    ) -> str:
        """Write a job and its configurations; returns the job's run.

        The job's run ends last: one that is cut off stays ``RUNNING`` and is told apart by it. Of
        several processes that write one job at the same time, that with the least run goes on.
        """
        for twin in self._twins(job):
            if _is_in_hand(twin) or (
                twin.info.status != "RUNNING"
                and stays(twin.data.tags, job.tags["leaseboard.started"])
            ):
                return str(twin.info.run_id)
            self.remove(twin.info.run_id)
        run_id = self._create(self.jobs, job)
        first = min((str(twin.info.run_id) for twin in self._twins(job)), default=run_id)
        if first != run_id:
            self.remove(run_id)
            return first
        self._fill(run_id, job)
        self._artifacts(self.client.get_run(run_id).info.artifact_uri, files)
        for record in configurations:
            child = dataclasses.replace(record, tags={**record.tags, PARENT: run_id})
            child_id = self._create(self.configurations, child)
            self._fill(child_id, child)
            self.client.set_terminated(child_id, child.status, child.end)
        self.client.set_terminated(run_id, job.status, job.end)
        return run_id

    def remove(self, run_id: str) -> None:
        """Delete a job's run and those of its configurations; none is left ``RUNNING``."""
        children = search(self.client, self.configurations, f"tags.{PARENT} = '{run_id}'")
        for run in [*children, self.client.get_run(run_id)]:
            if run.info.status == "RUNNING":
                self.client.set_terminated(run.info.run_id, "KILLED")
            self.client.delete_run(run.info.run_id)

    def settle(self) -> None:
        """Leave the store ready for searches; a server sees to that itself."""

    def _twins(self, job: RunRecord) -> list[Run]:
        """The runs of this job that the store has just now."""
        return list(search(self.client, self.jobs, f"tags.leaseboard.key = '{job.key}'"))

    def _create(self, experiment: str, record: RunRecord) -> str:
        run = self.client.create_run(
            experiment, start_time=record.start, tags=dict(record.tags), run_name=record.name
        )
        return str(run.info.run_id)

    def _fill(self, run_id: str, record: RunRecord) -> None:
        """Everything that a run holds, in as few calls as MLflow's limits allow."""
        from mlflow.entities import Metric, Param

        metrics = [Metric(m.key, m.value, record.end, m.step) for m in record.metrics]
        params = [Param(key, value) for key, value in record.params.items()]
        for some_metrics, some_params in _batches(metrics, params):
            self.client.log_batch(run_id, metrics=some_metrics, params=some_params)
        if record.data is not None:
            self.client.log_inputs(run_id, datasets=[data_input(record.data)])

    def _artifacts(self, uri: str, files: Iterable[Path]) -> None:
        from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

        repository = get_artifact_repository(uri, tracking_uri=self.uri)
        for path in files:
            repository.log_artifact(str(path))


def stays(tags: Mapping[str, str], started: str) -> bool:
    """Whether a run with `tags` is of the result that was `started` then, or of one ``ok``."""
    return tags.get("leaseboard.started") == started or tags.get("leaseboard.status") == "ok"


def _is_in_hand(run: Run) -> bool:
    """Whether another live process is writing the run just now."""
    writer = run.data.tags.get(OWNER, "")
    return run.info.status == "RUNNING" and writer != owner() and is_alive(writer)


def search(
    client: MlflowClient, experiment: str, condition: str, *, deleted: bool = False
) -> Iterator[Run]:
    """The runs of an experiment that meet a condition."""
    from mlflow.entities import ViewType

    view = ViewType.DELETED_ONLY if deleted else ViewType.ACTIVE_ONLY
    return every(client.search_runs, [experiment], condition, view, max_results=PAGE)


def every(find: Callable[..., Any], *what: Any, **how: Any) -> Iterator[Any]:
    """All that one of a client's searches finds, page by page: by itself it gives the first."""
    token: str | None = None
    while True:
        page = find(*what, page_token=token, **how)
        yield from page
        token = page.token
        if not token:
            return


def data_input(data: DataInput) -> Any:
    """A data set as MLflow's entity."""
    from mlflow.entities import Dataset, DatasetInput, InputTag

    return DatasetInput(
        dataset=Dataset(data.name, data.digest, data.kind, data.source),
        tags=[InputTag("mlflow.data.context", "benchmark")],
    )


def _batches(metrics: list[Any], params: list[Any]) -> Iterator[tuple[list[Any], list[Any]]]:
    rounds = max(-(-len(metrics) // (METRICS_PER_BATCH - VALUES_PER_BATCH)),
                 -(-len(params) // VALUES_PER_BATCH))  # fmt: skip
    many = METRICS_PER_BATCH - VALUES_PER_BATCH  # a batch holds at most 1,000 values together
    for i in range(rounds):
        yield (
            metrics[i * many : (i + 1) * many],
            params[i * VALUES_PER_BATCH : (i + 1) * VALUES_PER_BATCH],
        )
