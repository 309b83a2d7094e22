"""Writers of jobs to a store: through `MlflowClient`, or in bulk, to a database that we know.

MLflow has no call that writes many runs, and a run through its client costs 12 to 25 ms of CPU.
In bulk the same rows go through MLflow's own table models and its store's session, some hundred
thousand a second. The rows are MLflow's business, so this is done only on the version that was
checked, row for row, against the client (the tests do that); on any other the client
writes.
"""

from __future__ import annotations

import dataclasses
import hashlib
import uuid
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.tasks.machine.disk import is_alive, owner
from leaseboard.tasks.track.records import HEARTBEAT, JOBS, OWNER, RunRecord

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient
    from sqlalchemy.orm import Session

PARAMS_PER_BATCH = 100
METRICS_PER_BATCH = 1000 - PARAMS_PER_BATCH
"""A batch holds at most 1,000 values together."""
PAGE = 1000
THREADS = 4
"""Configurations that are written at a time: with more, a server is no faster."""
PARENT = "mlflow.parentRunId"
ENDED = "attributes.status != 'RUNNING'"


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

    def known(self) -> dict[str, dict[str, str]]:
        """Return the tags of the jobs that were written to their end, by key."""
        found = search(self.client, self.jobs, f"{JOBS} and {ENDED}")
        return {run.data.tags["leaseboard.key"]: dict(run.data.tags) for run in found}

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
            list(threads.map(self._write_child, (_below(run_id, each) for each in configurations)))
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

    def _write_child(self, record: RunRecord) -> None:
        run_id = self.create(self.configurations, record)
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
        if record.data is not None:
            tags = [InputTag("mlflow.data.context", "benchmark")]
            given = DatasetInput(dataset=Dataset(**record.data), tags=tags)
            self.client.log_inputs(run_id, datasets=[given])


def _below(parent: str, record: RunRecord) -> RunRecord:
    """Return the record as that of a run below the run `parent`."""
    return dataclasses.replace(record, tags={**record.tags, PARENT: parent})


def log_artifacts(place: str, uri: str, files: Iterable[Path]) -> None:
    """Copy `files` to the address `place` of a run's artifacts in the store at `uri`."""
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    repository = get_artifact_repository(place, tracking_uri=uri)
    for path in files:
        repository.log_artifact(str(path))


def stays(tags: Mapping[str, str], started: str) -> bool:
    """Return whether a run with `tags` is of the result that was `started` then, or is ``ok``."""
    return tags.get("leaseboard.started") == started or tags.get("leaseboard.status") == "ok"


def search(client: MlflowClient, experiment: str, condition: str) -> Iterator[Run]:
    """Return the runs of an experiment that meet a condition."""
    return every(client.search_runs, [experiment], condition, max_results=PAGE)


def every(find: Callable[..., Any], *what: Any, **how: Any) -> Iterator[Any]:
    """Yield all that one of a client's searches finds: by itself it gives the first page."""
    token: str | None = None
    while True:
        page = find(*what, page_token=token, **how)
        yield from page
        token = page.token
        if not token:
            return


CHECKED_VERSIONS = ("3.17.2",)
DIALECTS = ("sqlite", "postgresql")
_Rows = dict[str, list[dict[str, Any]]]
"""By MLflow's name of their table."""


def sql_store(client: MlflowClient) -> Any | None:
    """Return the SQL store behind `client` if its version was checked, else None."""
    import mlflow
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = client._tracking_client.store  # noqa: SLF001  (MLflow offers no public way to it)
    if type(store) is not SqlAlchemyStore or mlflow.__version__ not in CHECKED_VERSIONS:
        return None
    return store if store.engine.dialect.name in DIALECTS else None


class BulkWriter(ClientWriter):
    """Writer of jobs to a SQL store, each in one transaction."""

    def __init__(self, client: MlflowClient, *place: str) -> None:
        super().__init__(client, *place)
        self._store = sql_store(client)
        self._roots = {
            experiment: client.get_experiment(experiment).artifact_location
            for experiment in (self.jobs, self.configurations)
        }

    def write(
        self, job: RunRecord, configurations: Sequence[RunRecord], files: Iterable[Path]
    ) -> str:
        """Write a job and its configurations, all or nothing; return the job's run.

        A run's identifier follows from its key, so that a job is there once, also if several
        processes write it: what is there gives way. The artifacts are copied first: a writer that
        is cut off in between overwrites them the next time.
        """
        from mlflow.store.tracking.dbmodels import models

        run_id = _run_id(self.jobs, job)
        log_artifacts(self._artifact_uri(self.jobs, run_id), self.uri, files)
        rows: _Rows = defaultdict(list)
        self._add(rows, self.jobs, run_id, job)
        for record in configurations:
            # With its siblings: MLflow's tables are ordered by run, so a job's rows share pages.
            child = run_id[:16] + _run_id(self.configurations, record)[:16]
            self._add(rows, self.configurations, child, _below(run_id, record))
        with self._store.ManagedSessionMaker(read_only=False) as session:
            _purge(session, run_id)
            for name, some in rows.items():  # runs come first, the rest refers to them
                session.execute(getattr(models, name).__table__.insert(), some)
            self._insert_data(session, run_id, job)
        return run_id

    def finish(self) -> None:
        """Have SQLite count rows: else a search by a metric takes minutes among 50,000 runs.

        Without counts it goes through all that have the metric for each run, in the place of an
        index. A sample is enough, and takes milliseconds. Connections that are open, such as
        those of a server, read the counts again only if their table is a new one. PostgreSQL
        counts by itself.
        """
        import sqlalchemy as sa

        if self._store.engine.dialect.name == "sqlite":
            with self._store.ManagedSessionMaker(read_only=False) as session:
                session.execute(sa.text("PRAGMA analysis_limit = 400"))
                session.execute(sa.text("DROP TABLE IF EXISTS sqlite_stat1"))
                session.execute(sa.text("ANALYZE"))

    def _artifact_uri(self, experiment: str, run_id: str) -> str:
        from mlflow.utils.uri import append_to_uri_path

        return str(append_to_uri_path(self._roots[experiment], run_id, "artifacts"))

    def _add(self, rows: _Rows, experiment: str, run_id: str, record: RunRecord) -> None:
        """Add one run's rows, as `SqlAlchemyStore.create_run`, `log_batch`, `update_run_info`."""
        rows["SqlRun"].append(
            {
                "run_uuid": run_id,
                "name": record.name,
                "user_id": "unknown",
                "status": record.status,
                "start_time": record.start,
                "end_time": record.end,
                "artifact_uri": self._artifact_uri(experiment, run_id),
                "experiment_id": int(experiment),
            }
        )
        tags = {**record.tags, "mlflow.runName": record.name}
        for name, values in (("SqlTag", tags), ("SqlParam", record.params)):
            rows[name] += [{"run_uuid": run_id, "key": k, "value": v} for k, v in values.items()]
        latest: dict[str, dict[str, Any]] = {}
        for metric in record.metrics:
            is_nan, value = self._store.sanitize_metric_value(metric.value)
            row = {"run_uuid": run_id, "timestamp": record.end, "is_nan": is_nan}
            row |= {"key": metric.key, "value": value, "step": metric.step}
            rows["SqlMetric"].append(row)
            if metric.key not in latest or metric.step >= latest[metric.key]["step"]:
                latest[metric.key] = row
        if latest:
            rows["SqlLatestMetric"] += latest.values()

    def _insert_data(self, session: Session, run_id: str, record: RunRecord) -> None:
        """Insert the dataset as the run's input, as `SqlAlchemyStore.log_inputs` does it."""
        import sqlalchemy as sa
        from mlflow.store.tracking.dbmodels.models import SqlDataset, SqlInput, SqlInputTag

        if record.data is None:
            return
        data = record.data
        known = {"experiment_id": int(self.jobs), "name": data["name"], "digest": data["digest"]}
        dataset = session.scalar(sa.select(SqlDataset.dataset_uuid).filter_by(**known))
        if dataset is None:
            dataset = uuid.uuid4().hex
            described = {f"dataset_{name}": data[name] for name in ("source_type", "source")}
            described |= {"dataset_uuid": dataset, **known}
            session.execute(SqlDataset.__table__.insert(), described)
        given = uuid.uuid4().hex
        link = {"input_uuid": given, "source_type": "DATASET", "source_id": dataset}
        link |= {"destination_type": "RUN", "destination_id": run_id}
        context = {"input_uuid": given, "name": "mlflow.data.context", "value": "benchmark"}
        session.execute(SqlInput.__table__.insert(), link)
        session.execute(SqlInputTag.__table__.insert(), context)


def _purge(session: Session, run_id: str) -> None:
    """Remove a job's run and those of its configurations, whose identifiers begin alike."""
    import sqlalchemy as sa
    from mlflow.store.tracking.dbmodels import models

    link = models.SqlInput
    # First of all something is written: of several processes in SQLite one waits for the other.
    own = sa.and_(link.destination_type == "RUN", link.destination_id == run_id)
    session.execute(sa.delete(link).where(own))
    for name in ("LatestMetric", "Metric", "Param", "Tag", "Run"):
        model = getattr(models, f"Sql{name}")
        gone = model.run_uuid.between(run_id[:16], f"{run_id[:16]}g")  # after all digits
        session.execute(sa.delete(model).where(gone))


def _run_id(experiment: str, record: RunRecord) -> str:
    return hashlib.sha256(f"{experiment}\n{record.key}".encode()).hexdigest()[:32]
