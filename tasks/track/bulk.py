"""Writer of whole jobs in one transaction, for a store that is a database that we know.

MLflow has no call that writes many runs, and a run through its client costs 12 to 25 ms of CPU.
Here the same rows go through MLflow's own table models and its store's session, some hundred
thousand a second. The rows are MLflow's business, so this is done only on the version and schema
that were checked, row for row, against the client (the tests do that); on any other the client
writes.
"""

from __future__ import annotations

import hashlib
import uuid
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.tasks.track.client import PARENT, ClientWriter, Known, log_artifacts, stays
from leaseboard.tasks.track.records import OWNER, RunRecord

if TYPE_CHECKING:
    from mlflow.tracking import MlflowClient
    from sqlalchemy.orm import Session

CHECKED_VERSIONS = ("3.17.2",)
CHECKED_REVISIONS = ("dc11669786a5",)
DIALECTS = ("sqlite", "postgresql")
_KNOWN_BY = (*(f"leaseboard.{name}" for name in ("level", "key", "status", "started")), OWNER)
_Rows = dict[str, list[dict[str, Any]]]
"""By MLflow's name of their table."""
_SUBDIVISION = 500  # of a list in a query: SQLite takes 32,766 variables, others fewer


def sql_store(client: MlflowClient) -> Any | None:
    """Return the SQL store behind `client` if its version and schema were checked, else None."""
    import mlflow
    from mlflow.store.db.utils import _get_schema_version
    from mlflow.store.tracking.sqlalchemy_store import SqlAlchemyStore

    store = client._tracking_client.store  # noqa: SLF001  (MLflow offers no public way to it)
    if type(store) is not SqlAlchemyStore or mlflow.__version__ not in CHECKED_VERSIONS:
        return None
    if store.engine.dialect.name not in DIALECTS:
        return None
    return store if _get_schema_version(store.engine) in CHECKED_REVISIONS else None


def writer_of(client: MlflowClient, *place: str) -> ClientWriter:
    """Return the writer to a store; `place` is what `ClientWriter` takes."""
    return BulkWriter(client, *place) if sql_store(client) else ClientWriter(client, *place)


class BulkWriter(ClientWriter):
    """Writer of jobs to a SQL store, each in one transaction."""

    def __init__(self, client: MlflowClient, *place: str) -> None:
        super().__init__(client, *place)
        self._store = sql_store(client)
        self._roots = {
            experiment: client.get_experiment(experiment).artifact_location
            for experiment in (self.jobs, self.configurations)
        }

    def known(self) -> dict[str, Known]:
        """Return the jobs that the store has, by key: runs that the client made as well."""
        import sqlalchemy as sa
        from mlflow.store.tracking.dbmodels.models import SqlRun, SqlTag

        query = (
            sa.select(SqlRun.run_uuid, SqlRun.status, SqlTag.key, SqlTag.value)
            .join(SqlTag, SqlTag.run_uuid == SqlRun.run_uuid)
            .where(SqlRun.experiment_id == int(self.jobs), SqlRun.lifecycle_stage == "active")
            .where(SqlTag.key.in_([*_KNOWN_BY, PARENT]))
        )
        runs: dict[str, Known] = {}
        with self._store.ManagedSessionMaker() as session:
            for run_id, status, key, value in session.execute(query):
                runs.setdefault(run_id, Known(run_id, status, {})).tags[key] = value
        jobs = (run for run in runs.values() if run.tags.get("leaseboard.level") == "job")
        return {run.tags["leaseboard.key"]: run for run in jobs}

    def write(
        self, job: RunRecord, configurations: Sequence[RunRecord], files: Iterable[Path]
    ) -> str:
        """Write a job and its configurations, all or nothing; return the job's run.

        A run's identifier follows from its key, so the primary key keeps a job from being there
        twice when several processes write it. A job that another process has written stays; one
        that failed, or that a user deleted in the UI, gives way. The artifacts are copied first:
        a writer that is cut off in between overwrites them the next time.
        """
        from mlflow.store.tracking.dbmodels import models

        run_id = _run_id(self.jobs, job)
        log_artifacts(self._artifact_uri(self.jobs, run_id), self.uri, files)
        rows: _Rows = defaultdict(list)
        self._add(rows, self.jobs, run_id, job)
        for record in configurations:
            # With its siblings: MLflow's tables are ordered by run, so a job's rows share pages.
            child = run_id[:16] + _run_id(self.configurations, record)[:16]
            self._add(rows, self.configurations, child, record, parent=run_id)
        with self._store.ManagedSessionMaker(read_only=False) as session:
            _lock(session)
            if _stays(session, run_id, job):
                return run_id
            _purge(session, run_id)
            for name, some in rows.items():  # runs come first, the rest refers to them
                session.execute(getattr(models, name).__table__.insert(), some)
            self._insert_data(session, run_id, job)
        return run_id

    def remove(self, run_id: str) -> None:
        """Remove a job's run and those of its configurations for good."""
        with self._store.ManagedSessionMaker(read_only=False) as session:
            _lock(session)
            _purge(session, run_id)

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

    def _add(
        self,
        rows: _Rows,
        experiment: str,
        run_id: str,
        record: RunRecord,
        parent: str | None = None,
    ) -> None:
        """Add one run's rows, as `SqlAlchemyStore.create_run`, `log_batch`, `update_run_info`."""
        rows["SqlRun"].append(
            {
                "run_uuid": run_id,
                "name": record.name,
                "source_type": "UNKNOWN",
                "source_name": "",
                "entry_point_name": "",
                "user_id": "unknown",
                "status": record.status,
                "start_time": record.start,
                "end_time": record.end,
                "deleted_time": None,
                "source_version": "",
                "lifecycle_stage": "active",
                "artifact_uri": self._artifact_uri(experiment, run_id),
                "experiment_id": int(experiment),
            }
        )
        tags = {**record.tags, "mlflow.runName": record.name}
        if parent is not None:
            tags[PARENT] = parent
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
        known = {"experiment_id": int(self.jobs), "name": data.name, "digest": data.digest}
        dataset = session.scalar(sa.select(SqlDataset.dataset_uuid).filter_by(**known))
        if dataset is None:
            dataset = uuid.uuid4().hex
            described = {"dataset_source_type": data.kind, "dataset_source": data.source}
            described |= {"dataset_uuid": dataset, **known}
            session.execute(SqlDataset.__table__.insert(), described)
        given = uuid.uuid4().hex
        link = {"input_uuid": given, "source_type": "DATASET", "source_id": dataset}
        link |= {"destination_type": "RUN", "destination_id": run_id}
        context = {"input_uuid": given, "name": "mlflow.data.context", "value": "benchmark"}
        session.execute(SqlInput.__table__.insert(), link)
        session.execute(SqlInputTag.__table__.insert(), context)


def _lock(session: Session) -> None:
    """Let one writer at a time look and write, so that no job is written twice."""
    import sqlalchemy as sa

    if session.get_bind().dialect.name == "sqlite":
        session.execute(sa.text("BEGIN IMMEDIATE"))
    else:
        session.execute(sa.text("SELECT pg_advisory_xact_lock(hashtext('leaseboard'))"))


def _stays(session: Session, run_id: str, job: RunRecord) -> bool:
    """Return whether the job is there: with the same result, or another one that is ``ok``."""
    import sqlalchemy as sa
    from mlflow.store.tracking.dbmodels.models import SqlRun, SqlTag

    stage = session.scalar(sa.select(SqlRun.lifecycle_stage).where(SqlRun.run_uuid == run_id))
    if stage != "active":
        return False
    query = sa.select(SqlTag.key, SqlTag.value).where(SqlTag.run_uuid == run_id)
    return stays(dict(session.execute(query).tuples().all()), job.tags["leaseboard.started"])


def _purge(session: Session, run_id: str) -> None:
    """Remove a job's run and those of its configurations for good."""
    import sqlalchemy as sa
    from mlflow.store.tracking.dbmodels import models

    doomed = [run_id]  # MLflow's garbage collection takes a run and forgets its inputs
    if session.get(models.SqlRun, run_id) is not None:
        children = sa.select(models.SqlTag.run_uuid).where(
            models.SqlTag.key == PARENT, models.SqlTag.value == run_id
        )
        doomed += session.scalars(children)
    for some in _divided(doomed):
        for end in (models.SqlInput.destination_id, models.SqlInput.source_id):
            session.execute(sa.delete(models.SqlInput).where(end.in_(some)))
        for name in ("LatestMetric", "Metric", "Param", "Tag", "Run"):
            model = getattr(models, f"Sql{name}")
            session.execute(sa.delete(model).where(model.run_uuid.in_(some)))


def _divided(identifiers: list[str]) -> Iterator[list[str]]:
    for i in range(0, len(identifiers), _SUBDIVISION):
        yield identifiers[i : i + _SUBDIVISION]


def _run_id(experiment: str, record: RunRecord) -> str:
    return hashlib.sha256(f"{experiment}\n{record.key}".encode()).hexdigest()[:32]
