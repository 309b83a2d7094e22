"""Old results that newer ones have replaced: in run folders, and in MLflow stores."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Generic, TypeVar
from urllib.parse import unquote, urlsplit

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.folder import results
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.machine import disk
from leaseboard.tasks.machine.failpoints import reach
from leaseboard.tasks.machine.progress import counted
from leaseboard.tasks.track.client import PARENT, every, has_writer, search
from leaseboard.tasks.track.records import NIGHT
from leaseboard.tasks.track.store import compact, open_store, reported

if TYPE_CHECKING:
    from mlflow.entities import Run

PAGES = "report.html", "diagnostics.json"
LEVEL, KEY = "leaseboard.level", "leaseboard.key"
Item = TypeVar("Item")


@dataclass(frozen=True, slots=True)
class Aged(Generic[Item]):
    """Item that was made once, may be made again, and may be removed."""

    item: Item
    scenario: tuple[object, ...]
    """Equal for results of the same thing: an algorithm on a dataset in one repetition."""
    started: datetime
    used: bool = False
    """It is on a leaderboard, or a model was registered from it."""


@dataclass(frozen=True, slots=True)
class Rule:
    """Rule of what is removed: all but the `keep` newest of each scenario, if older than `before`.

    What is used stays in addition to the newest, unless nothing is kept.
    """

    keep: int = 1
    before: datetime | None = None

    def surplus(self, found: Iterable[Aged[Item]]) -> list[Item]:
        """Return the items to remove, the oldest first."""
        newer: dict[tuple[object, ...], int] = {}
        gone = []
        oldest_first = sorted(found, key=lambda each: each.started)
        for one in oldest_first[::-1]:
            number = newer.setdefault(one.scenario, 0)
            newer[one.scenario] = number + 1
            stays = number < self.keep or (one.used and self.keep > 0)
            if not stays and (self.before is None or one.started < self.before):
                gone.append(one.item)
        return gone[::-1]


@dataclass(frozen=True, slots=True)
class Surplus(Generic[Item]):
    """Items to remove, the number of all, and the bytes that the items to remove use."""

    items: list[Item]
    of: int
    size: int


def run_folders(places: Iterable[Path]) -> list[Path]:
    """Return the run folders among `places` and below them, sorted.

    Raises UsageError for a place that is not a folder.
    """
    found: set[Path] = set()
    for place in places:
        if not place.is_dir():
            raise UsageError(
                f"{str(place)!r} is not a folder: name run folders, or one that has them"
            )
        found |= {file.parents[2] for file in place.rglob(f"jobs/*/{results.RESULT}")}
    return sorted(found)


def surplus_jobs(out: Path, rule: Rule) -> Surplus[Result]:
    """Return the finished jobs in the run folder `out` to remove by `rule`.

    The rows of the folder's own table are used: a leaderboard stays whole unless nothing is kept.
    """
    shown = {result.key for result in results.current(out)}
    found = [
        Aged(
            each,
            (each.name, each.data, each.repetition),
            _started(results.job_folder(out, each.key), each),
            each.key in shown,
        )
        for each in results.read_results(out)
    ]
    gone = rule.surplus(found)
    size = sum(disk.used(results.job_folder(out, result.key)) for result in gone)
    return Surplus(gone, len(found), size)


def remove_jobs(out: Path, jobs: Iterable[Result]) -> None:
    """Remove jobs from a folder that this process has locked; a run without jobs goes whole."""
    gone = {result.key for result in jobs}
    if (out / results.TABLE).is_file():  # with the jobs whose files are damaged
        left = set(results.read_table(out / results.TABLE)["key"]) - gone
    else:
        left = {result.key for result in results.read_results(out)} - gone
    if left:
        results.keep_rows(out, left)
    else:
        for name in (results.TABLE, *PAGES, results.SUITE_FILE):
            (out / name).unlink(missing_ok=True)
    reach("prune.after-rows")
    for key in counted(gone, "removing results", "jobs"):
        shutil.rmtree(results.job_folder(out, key))


def _started(folder: Path, result: Result) -> datetime:
    """Return when the job began; of one that did not, when its result was written."""
    if result.started:
        return datetime.fromisoformat(result.started)
    return datetime.fromtimestamp((folder / results.RESULT).stat().st_mtime, UTC)


@dataclass(slots=True)
class SurplusRuns:
    """MLflow runs to remove."""

    suites: list[Run] = field(default_factory=list)
    jobs: list[Run] = field(default_factory=list)
    configurations: list[Run] = field(default_factory=list)
    """Those of the jobs to remove."""
    deleted: list[Run] = field(default_factory=list)
    """Runs of ours that a user has deleted, and that MLflow keeps for an undo."""

    @property
    def runs(self) -> list[Run]:
        """All of them, in an order in which an interruption leaves no run without its parent."""
        return [*self.configurations, *self.jobs, *self.suites, *self.deleted]

    @property
    def size(self) -> int:
        """Bytes of all artifacts that are in folders of this machine."""
        places = (urlsplit(run.info.artifact_uri) for run in self.runs)
        return sum(disk.used(Path(unquote(p.path))) for p in places if p.scheme in ("", "file"))


def surplus_runs(uri: str, rule: Rule) -> SurplusRuns:
    """Return the runs of the store at `uri` to remove by `rule`.

    A run that is being written stays, and so does one from which a model was registered, and a
    suite's run as long as one of its jobs does, or, without an age, if it has a leaderboard.
    """
    client = open_store(uri)
    found = SurplusRuns()

    def over(experiment: str, level: str) -> Iterator[Run]:
        """Yield the runs of a level that no live process is writing."""
        for run in search(client, experiment, f"tags.{LEVEL} = '{level}'"):
            if run.info.status != "RUNNING" or not has_writer(client, run.data.tags):
                yield run

    def chosen(runs: Iterable[Run], needed: set[str], *names: str) -> list[Run]:
        """Return the surplus of runs whose scenario is in these parameters, if not needed."""
        aged = (
            Aged(
                run,
                tuple(run.data.params.get(name, "") for name in names),
                datetime.fromtimestamp(run.info.start_time / 1000, UTC),
            )
            for run in runs
        )
        return [run for run in rule.surplus(aged) if run.info.run_id not in needed]

    with reported(uri):
        used = {version.run_id for version in every(client.search_model_versions)}
        experiments = {e.name: e.experiment_id for e in every(client.search_experiments)}
        for name, experiment in experiments.items():
            found.deleted += search(client, experiment, f"tags.{LEVEL} LIKE '%'", deleted=True)
            jobs = list(over(experiment, "job"))
            # Races differ in the seed alone.
            gone = chosen(jobs, used, "name", "data", "repetition", "seed")
            doomed = {run.info.run_id for run in gone}
            parents = {
                run.data.tags.get(PARENT, "") for run in jobs if run.info.run_id not in doomed
            }
            found.jobs += gone
            # Those with a leaderboard are the suite's history, and small.
            suites = (
                run
                for run in over(experiment, "suite")
                if NIGHT not in run.data.tags or rule.before is not None
            )
            found.suites += chosen(suites, used | parents)
            below = experiments.get(f"{name}/configurations")
            if doomed and below is not None:
                considered = search(client, below, f"tags.{LEVEL} = 'configuration'")
                found.configurations += (
                    run for run in considered if run.data.tags.get(PARENT) in doomed
                )
    return found


def remove_runs(uri: str, old: SurplusRuns) -> bool:
    """Delete runs, and then for good what `mlflow gc` would: rows, artifacts, and free pages.

    Returns False if the store is behind a server: there only `mlflow gc` on the server's machine
    can make deleted runs go for good.
    """
    from mlflow.store.artifact.artifact_repository_registry import get_artifact_repository

    client = open_store(uri)
    store = client._tracking_client.store  # noqa: SLF001  (MLflow offers no public way to it)
    for_good = hasattr(store, "_hard_delete_run")
    with reported(uri):
        for run in counted(old.runs, "removing from MLflow", "runs"):
            if run.info.lifecycle_stage == "active":
                client.delete_run(run.info.run_id)
            if for_good:
                get_artifact_repository(run.info.artifact_uri).delete_artifacts()
                store._hard_delete_run(run.info.run_id)  # noqa: SLF001  (as `mlflow gc` does)
        if for_good:
            compact(uri)
    return for_good
