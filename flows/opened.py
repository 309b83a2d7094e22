"""From the name of a suite to its outcome: what commands and the clock share."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaseboard.flows.folders import check_writable

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from leaseboard.flows.dispatch import Place
    from leaseboard.flows.jobs import Outcome
    from leaseboard.flows.steps import Steps
    from leaseboard.tasks.jobs.job import Job
    from leaseboard.tasks.jobs.suites.suite import Suite


@dataclass(frozen=True, slots=True)
class How:
    """How a suite is run."""

    workers: int | None = None
    """Worker processes; what the suite says, or one a core, by default."""
    local: bool = False
    cluster: str | None = None
    """The address of a Dask scheduler."""
    mirrors: tuple[Path, ...] = ()
    """By default those of ``LEASEBOARD_MIRROR``."""
    tracking_uri: str | None = None
    """By default ``MLFLOW_TRACKING_URI``, or the store of the project."""
    boarded: bool = True
    """With the board, the page, and both in MLflow."""


def use_conf(conf: Path | None) -> None:
    """Make --conf hold for all that runs from here, worker processes among it."""
    from leaseboard.tasks.machine.paths import own_conf

    if conf is not None:
        os.environ["LEASEBOARD_CONF"] = str(own_conf(conf))


def open_suite(
    name: str, out: Path | None, conf: Path | None, *, baselines: bool = True
) -> tuple[Suite, Path]:
    """The suite, checked, and its output folder, which need not be there yet.

    - `baselines`: False leaves out the naive baselines that the suite does not name.
    """
    from leaseboard.tasks.jobs.suites.plan import check_suite
    from leaseboard.tasks.jobs.suites.rankable import with_baselines
    from leaseboard.tasks.jobs.suites.suite import load_suite, suite_path
    from leaseboard.tasks.machine.paths import conf_dir

    use_conf(conf)
    folder = conf_dir(conf)
    suite = load_suite(name, folder)
    suite = with_baselines(suite) if baselines else suite
    check_suite(suite, suite_path(name, folder))
    return suite, (out or Path("runs") / suite.name).resolve()


def open_suites(
    name: str, out: Path | None, conf: Path | None, *, baselines: bool = True
) -> list[tuple[Suite, Path]]:
    """`open_suite` of each suite that `name` stands for; those of a collection under `out`."""
    from leaseboard.tasks.jobs.suites.collection import check_apart, members
    from leaseboard.tasks.machine.paths import conf_dir

    use_conf(conf)
    names = members(name, conf_dir(conf))
    if names == [name]:
        return [open_suite(name, out, conf, baselines=baselines)]
    opened = [
        open_suite(one, out / Path(one).stem if out else None, conf, baselines=baselines)
        for one in names
    ]
    check_apart([suite for suite, _ in opened])
    return opened


def execute(suite: Suite, out: Path, how: How) -> Outcome:
    """Run a suite to its end, and print what comes of it."""
    place, body, waiting = _asked(suite, out, how)

    from leaseboard.flows.dispatch import dispatch

    return dispatch(place, waiting, body)


def perform(suite: Suite, out: Path, how: How) -> State[Any]:
    """`execute` within the flow run that this is called in; returns how that ends."""
    place, body, waiting = _asked(suite, out, how)

    from leaseboard.flows.dispatch import dispatch_here

    return dispatch_here(place, waiting, body)


def _asked(
    suite: Suite, out: Path, how: How
) -> tuple[Place, Callable[[Steps], Outcome], list[Job]]:
    """Where the suite is run, what is made of its steps, and the jobs that will probably run."""
    from leaseboard.tasks.machine import paths
    from leaseboard.tasks.machine.environment import prepare_environment

    prepare_environment()

    from leaseboard.flows.benchmark import benchmark
    from leaseboard.flows.dispatch import Place

    check_writable(out)
    mirrors, waiting = paths.mirrors(how.mirrors), expected(suite, out)
    given: dict[str, Any] = {
        "mirrors": mirrors,
        "tracking_uri": paths.tracking_uri(how.tracking_uri),
    }
    place = Place(
        name=suite.name,
        out=out,
        size=size_for(suite.workers(how.workers), waiting),
        limits=suite.limits,
        mirrors=mirrors,
        local=how.local,
        cluster=how.cluster,
        names=suite.data_names,
    )
    return place, partial(benchmark, suite, out, **given, boarded=how.boarded), waiting


def expected(suite: Suite, out: Path) -> list[Job]:
    """The jobs without a finished result in the table of `out`; the keys alone know for sure."""
    from leaseboard.tasks.folder.results import TABLE, read_table

    jobs = suite.jobs()
    if not (out / TABLE).is_file():
        return jobs
    table = read_table(out / TABLE)
    done = table[table["status"] == "ok"]
    known = set(zip(done["label"], done["data"], done["repetition"], strict=True))
    return [job for job in jobs if (job.label, job.data, job.repetition) not in known]


def size_for(workers: int | None, jobs: list[Job]) -> int:
    """So many worker processes: at most one a job, and one at least."""
    return max(1, min(workers or os.cpu_count() or 1, len(jobs)))


def exit_code(outcome: Outcome) -> int:
    """0 if every job that could run is ok, 2 if one failed, 3 if none could run."""
    statuses = {result.status for result in outcome.results}
    if outcome.problems or outcome.failed:
        return 2
    return 0 if "ok" in statuses else 3
