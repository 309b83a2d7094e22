"""Old runs in an MLflow store: which there are, what they use, and how they go for good."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote, urlsplit

from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.owners import is_alive
from leaseboard.tasks.tend.folders import Aged, Rule
from leaseboard.tasks.track.client import PARENT, every, search
from leaseboard.tasks.track.records import OWNER
from leaseboard.tasks.track.store import compact, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities import Run
    from mlflow.tracking import MlflowClient

LEVEL = "leaseboard.level"


@dataclass(slots=True)
class SurplusRuns:
    """The runs of a store that go."""

    suites: list[Run] = field(default_factory=list)
    jobs: list[Run] = field(default_factory=list)
    configurations: list[Run] = field(default_factory=list)
    """What the rule lets go, the configurations with their jobs."""
    deleted: list[Run] = field(default_factory=list)
    """Runs of ours that somebody has deleted, and that MLflow keeps for an undo."""
    size: int = 0
    """Bytes of all their artifacts that are on this machine."""

    @property
    def runs(self) -> list[Run]:
        """All of them, in an order in which an interruption leaves no run without its parent."""
        return [*self.configurations, *self.jobs, *self.suites, *self.deleted]


def surplus(uri: str, rule: Rule) -> SurplusRuns:
    """What `rule` lets go of the store at `uri`.

    A run that is being written stays, and so does one from which a model was registered, and a
    suite's run as long as one of its jobs does.
    """
    client = open_store(uri)
    found = SurplusRuns()
    with reported(uri):
        used = {version.run_id for version in every(client.search_model_versions)}
        experiments = {e.name: e.experiment_id for e in every(client.search_experiments)}
        for name, experiment in experiments.items():
            found.deleted += search(client, experiment, f"tags.{LEVEL} LIKE '%'", deleted=True)
            jobs = _over(client, experiment, "job")
            gone = _chosen(rule, jobs, used, _same_job)
            doomed = {run.info.run_id for run in gone}
            parents = {
                run.data.tags.get(PARENT, "") for run in jobs if run.info.run_id not in doomed
            }
            suites = _over(client, experiment, "suite")
            found.jobs += gone
            found.suites += _chosen(rule, suites, used | parents, _same_suite)
            below = experiments.get(f"{name}/configurations")
            if doomed and below is not None:
                considered = search(client, below, f"tags.{LEVEL} = 'configuration'")
                found.configurations += (
                    run for run in considered if run.data.tags.get(PARENT) in doomed
                )
    found.size = sum(_artifacts(run) for run in found.runs)
    return found


def remove(uri: str, old: SurplusRuns, tell: Callable[[], None] = lambda: None) -> bool:
    """Delete runs, and then for good what `mlflow gc` would: rows, artifacts, and free pages.

    `tell`: called after each run.

    Returns False if the store is behind a server: there only `mlflow gc` on the server's machine
    can make deleted runs go for good.
    """
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    client = open_store(uri)
    store = client._tracking_client.store  # noqa: SLF001  (MLflow offers no public way to it)
    for_good = hasattr(store, "_hard_delete_run")
    with reported(uri):
        for run in old.runs:
            if run.info.lifecycle_stage == "active":
                client.delete_run(run.info.run_id)
            if for_good:
                get_artifact_repository(run.info.artifact_uri).delete_artifacts()
                store._hard_delete_run(run.info.run_id)  # noqa: SLF001  (as `mlflow gc` does)
            tell()
        if for_good:
            compact(uri)
    return for_good


def _over(client: MlflowClient, experiment: str, level: str) -> list[Run]:
    """The runs of a level that no live process is writing."""
    found = search(client, experiment, f"tags.{LEVEL} = '{level}'")
    return [
        run
        for run in found
        if run.info.status != "RUNNING" or not is_alive(run.data.tags.get(OWNER, ""))
    ]


def _chosen(
    rule: Rule, runs: Iterable[Run], used: set[str], same: Callable[[Run], tuple[str, ...]]
) -> list[Run]:
    """Those that the rule lets go and that nothing else needs."""
    by_name = {run.info.run_id: run for run in runs}
    aged = (
        Aged(name, same(run), datetime.fromtimestamp(run.info.start_time / 1000, UTC))
        for name, run in by_name.items()
    )
    return [by_name[one.name] for one in rule.surplus(aged) if one.name not in used]


def _same_job(run: Run) -> tuple[str, ...]:
    """Jobs are of one scenario by label, data, repetition and seed; races differ in the seed."""
    params = run.data.params
    return tuple(params.get(name, "") for name in ("label", "data", "repetition", "seed"))


def _same_suite(run: Run) -> tuple[str, ...]:
    return (run.info.experiment_id,)


def _artifacts(run: Run) -> int:
    """Bytes of a run's artifacts, 0 where they are not in a folder of this machine."""
    place = urlsplit(run.info.artifact_uri)
    return disk.used(Path(unquote(place.path))) if place.scheme in ("", "file") else 0
