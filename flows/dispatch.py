"""From the name of a suite to its outcome, or to the gate's verdict: on which executor, and where.

All executors carry out the same steps, and a job runs in a process under limits: of a pool
here, or of a pool next to a Dask worker.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack, nullcontext, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from leaseboard.algorithms.errors import LeaseboardError, require
from leaseboard.flows.benchmark import Executor, JobWaitsError, Outcome, benchmark
from leaseboard.flows.console import resumable, say, say_progress, terminable
from leaseboard.flows.server import (
    REGRESSION,
    RUN_ENDED,
    SUITE,
    PrefectServer,
    current_run,
    emit,
    server_log,
)
from leaseboard.tasks.folder.results import (
    EVENTS,
    TABLE,
    job_folder,
    keep_rows,
    read_partial_log,
    read_table,
)
from leaseboard.tasks.jobs.job import Job
from leaseboard.tasks.jobs.run import RUN_JOB
from leaseboard.tasks.jobs.suites.plan import check_suite, with_baselines
from leaseboard.tasks.jobs.suites.suite import Suite, check_apart, load_suites
from leaseboard.tasks.machine import environment
from leaseboard.tasks.machine.environment import (
    conf_files,
    own_conf,
    prepare_environment,
    versions,
)
from leaseboard.tasks.pool.workers import WorkerPool, run_planned
from leaseboard.tasks.score import baseline as core
from leaseboard.tasks.score.baseline import Quantity, measure
from leaseboard.tasks.score.frame import as_frame, finished
from leaseboard.tasks.score.papers import selections, selects, with_metrics
from leaseboard.tasks.score.summary import several
from leaseboard.tasks.score.verdict import DECIDING, TOLERANCE, Verdict, headline, worse
from leaseboard.tasks.score.verdict import gate as judge
from leaseboard.tasks.track.store import check_address

if TYPE_CHECKING:
    from prefect.client.schemas.objects import State

    from leaseboard.flows.prefect_executor import PrefectExecutor

Body = Callable[[Executor], Outcome]
"""Chains the steps of a run, which an executor carries out."""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of a run: executor and workers."""

    workers: int | None = None
    """Worker processes; one a core by default."""
    local: bool = False
    cluster: str | None = None
    """The address of a Dask scheduler on whose workers the jobs run."""
    boarded: bool = True
    """With the leaderboard, the page, and both in MLflow."""
    work: str = RUN_JOB
    """The function that runs a job, see `leaseboard.tasks.pool.workers.WorkerPool`."""


def open_suites(name: str, out: Path | None) -> list[tuple[Suite, Path]]:
    """Return the suite called `name`, or each of the group's, checked, with its output folder.

    - `out`: the folder of a suite, which need not exist, or one of all folders of a group's.
    """
    conf = environment.conf_dir()
    (group, suites), opened = load_suites(name, conf), []
    for suite in map(with_baselines, suites):
        check_suite(suite)
        home = out or Path("runs") / suite.name
        if out is not None and group:
            home = out / suite.name
        opened.append((suite, home.resolve()))
    return opened


def execute(suite: Suite, out: Path, options: RunOptions) -> Outcome:
    """Run a suite to its end, and print its results."""
    require("flows", "a suite")
    prepare_environment()
    uri = environment.tracking_uri()
    check_address(uri)
    body = partial(benchmark, suite, out, tracking_uri=uri, boarded=options.boarded)
    return dispatch(suite, out, options, expected(suite, out), body)


def expected(suite: Suite, out: Path) -> list[Job]:
    """Return the jobs without a finished result in the table of `out`; only keys are certain."""
    jobs = suite.jobs()
    if not (out / TABLE).is_file():
        return jobs
    try:
        table = read_table(out / TABLE)
    except LeaseboardError:  # the run writes it again
        return jobs
    done = table[table["status"] == "ok"]
    known = set(zip(done["name"], done["data"], done["repetition"], strict=True))
    return [job for job in jobs if (job.name, job.data, job.repetition) not in known]


def exit_code(outcome: Outcome) -> int:
    """Return 0 if every job that could run is ok, 2 if one failed, 3 if none could run."""
    if outcome.problems or outcome.failed:
        return 2
    return 0 if any(result.status == "ok" for result in outcome.results) else 3


def dispatch(
    suite: Suite, out: Path, options: RunOptions, expected: Collection[Job], body: Body
) -> Outcome:
    """Return the outcome of `body` on the executor that the options ask for.

    In a flow run, of a schedule or a worker of Prefect's, it is the one of that run.

    - `expected`: jobs that will probably run: their workers start to import at once.
    """
    address, inside = os.environ.get("PREFECT_API_URL", ""), bool(current_run())
    if not (expected or address or inside or options.cluster):  # no server for nothing
        with suppress(JobWaitsError):
            return Executor().perform(body)
    with ExitStack() as stack:
        if not inside:  # Prefect handles the signals of a run of its own
            stack.enter_context(terminable())
        server = None
        if not (address or inside) and (options.cluster or not options.local):
            server = stack.enter_context(PrefectServer(server_log()))

        if options.cluster:
            from leaseboard.flows.prefect_executor import DaskExecutor

            executor: PrefectExecutor = DaskExecutor(options.cluster, suite.limits, options.work)
        else:
            size = max(1, min(options.workers or os.cpu_count() or 1, len(expected)))
            pool = stack.enter_context(WorkerPool(size, suite.limits, work=options.work))
            pool.warm(len(expected))
            runs = partial(run_planned, pool, out)
            if options.local and not inside:
                return Executor(runs, pool.size, pool.stop).perform(body)
            from prefect.task_runners import ThreadPoolTaskRunner

            from leaseboard.flows.prefect_executor import PrefectExecutor

            runner: Any = ThreadPoolTaskRunner(max_workers=pool.size)
            executor = PrefectExecutor(runs, pool.size, pool.stop, runner)
        outcome: Outcome
        if inside:
            outcome = executor.perform(body)
            return outcome
        from leaseboard.flows.prefect_executor import in_one_run

        if server is not None:
            address = server.wait()
        ended = partial(final_state, suite.name)
        outcome = in_one_run("benchmark", suite.name, address, executor, body, ended)
        return outcome


def final_state(suite: str, made: Outcome) -> State[Any]:
    """Return the state of a flow run, which fails if a job does; send it as an event."""
    from prefect.states import Completed, Failed

    jobs, skipped = len(made.results), made.skipped
    counts = {"jobs": jobs, "failed": made.failed, "skipped": skipped}
    emit(RUN_ENDED, SUITE, suite, {**counts, "problems": made.problems, **made.about})
    if made.failed:
        return Failed(message=f"{made.failed} of {jobs} jobs failed")
    if made.problems:
        return Failed(message="; ".join(made.problems))
    if jobs and skipped == jobs:
        return Failed(message=f"nothing could run: {jobs} jobs skipped")
    left = f", {skipped} skipped" if skipped else ""
    return Completed(message=f"{jobs - skipped} jobs done{left}")


Places = Mapping[tuple[str, str], int]
"""Scenarios, by algorithm and data, with the repetitions that they need."""


class Gate:
    """Suites whose accepted scores are in one file, and what has run of them.

    - `name`: of a suite, a group, or a YAML file.
    """

    def __init__(self, name: str, run_dir: Path | None, options: RunOptions) -> None:
        self.name = Path(name).stem
        self.problems: list[str] = []
        """What went wrong apart from the jobs; it has been reported."""
        self._given = name
        self._opened = open_suites(name, run_dir)
        check_apart([suite for suite, _ in self._opened])
        self._options = options
        self._frame = pd.DataFrame()
        self._quantities: list[Quantity] = []
        self._path = _own_baseline(name)

    def compare(self) -> Verdict:
        """Run the suites, and judge them; repeat what is in doubt until it is decided."""
        baseline = core.read_baseline(self._accepted())
        if baseline is None:
            fix = f"run leaseboard gate {self._given} --update-baseline first"
            problem = f"no accepted scores at {self._path}: {fix}"
            if not any(suite.requirements for suite, _ in self._opened):
                return Verdict(problems=(problem,))
            say(problem, err=True)
        self._run()
        names = {key: name for suite, _ in self._opened for key, name in suite.data_names.items()}
        while True:
            verdict = judge(
                self._frame, baseline, TOLERANCE, self._quantities, names=names,
                problems=tuple(self.problems),
            )  # fmt: skip
            doubtful = {(one.name, one.data): one.wanted for one in verdict.checks if one.wanted}
            if not doubtful:
                break
            scenarios, most = several(len(doubtful), "scenario"), max(doubtful.values())
            say_progress(f"{scenarios} in doubt: running up to {most} repetitions each")
            self._repeat(doubtful)
        if verdict.exit_code == 1:
            about = {"what": headline(verdict), "worse": worse(verdict)}
            emit(REGRESSION, SUITE, self.name, about)
        return verdict

    def accept(self, repetitions: int) -> tuple[core.Baseline, Path]:
        """Run the suites, and write their scores and requirements as accepted ones."""
        before = core.read_baseline(self._accepted())
        self._run()
        for pairs in dict.fromkeys((min(DECIDING, repetitions), repetitions)):
            wanted = {
                place: pairs
                for place, rows in self._frame.groupby(["name", "data"])
                if len(rows) < pairs
                and finished(rows).all()
                and (len(rows) < DECIDING or rows["score"].nunique() > 1)
            }
            if wanted:
                scenarios = several(len(wanted), "scenario")
                say_progress(f"running {pairs} repetitions of {scenarios} to accept them")
                self._repeat(wanted)
        baseline = core.accept(
            self._frame,
            self.name,
            date=datetime.now(UTC).date().isoformat(),
            versions=versions(),
            before=before,
            quantities=self._quantities,
        )
        core.write_baseline(self._path, baseline)
        return baseline, self._path

    def _accepted(self) -> Path:
        """Return the file of accepted scores; a suite named as a file has no shipped ones."""
        shipped = conf_files("baselines", suffix=".json").get(self._given, self._path)
        return self._path if self._path.is_file() else shipped

    def _run(self) -> None:
        for suite, home in self._opened:
            frame = self._execute(suite, home)
            self._frame = pd.concat([self._frame, frame], ignore_index=True)
            self._quantities += [measure(each, frame) for each in suite.all_requirements()]

    def _repeat(self, wanted: Places) -> None:
        """Run more repetitions of some scenarios; the table of each run stays its suite's."""
        for suite, home in self._opened:
            own = set(zip(self._frame["name"], self._frame["data"], strict=True))
            places = {(job.name, job.data) for job in suite.jobs()} & own & wanted.keys()
            if not places:
                continue
            more = suite.extended({place: wanted[place] for place in places})
            frame = self._execute(more, home)
            asked = {(job.name, job.data, job.repetition) for job in suite.jobs()}
            named = frame.set_index(["name", "data", "repetition"])["key"]
            keep_rows(home, set(named[named.index.isin(asked)]))
            fresh = frame[~frame["key"].isin(self._frame["key"])]
            self._frame = pd.concat([self._frame, fresh], ignore_index=True)

    def _execute(self, suite: Suite, home: Path) -> pd.DataFrame:
        """Return the results of a run, with what is known of selections as metrics."""
        # Prefect handles the signals of a flow run.
        with nullcontext() if current_run() else resumable(home):
            outcome = execute(suite, home, self._options)
        self.problems += [each for each in outcome.problems if each not in self.problems]
        frame = as_frame(outcome.results)
        logs = [(row, read_partial_log(job_folder(home, row.key) / EVENTS))
                for row in frame.itertuples() if selects(row)]  # fmt: skip
        return with_metrics(frame, selections(logs))


def _own_baseline(named: str) -> Path:
    """Return the file of baseline scores: in the user's configuration, or next to a YAML suite.

    Without a configuration folder it is below ``./conf``, never in the installation.
    """
    if os.environ.get("LEASEBOARD_CONF") or Path(named).suffix not in (".yaml", ".yml"):
        folder = own_conf() or Path("conf").resolve()
    else:
        folder = Path(named).resolve().parent
        if folder.name == "suites":
            folder = folder.parent
    return folder / "baselines" / f"{Path(named).stem}.json"
