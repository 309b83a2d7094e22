"""The steps of a run as the tasks of one Prefect flow run, in threads here or on a Dask cluster.

Prefect's history is a convenience; the run folder and MLflow are the record. So nothing is
persisted or cached here, and a job that fails is a failed task, never a failed flow run engine.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx
from prefect.artifacts import create_progress_artifact, update_progress_artifact
from prefect.client.schemas.objects import State
from prefect.exceptions import PrefectException
from prefect.futures import PrefectWrappedFuture
from prefect.states import Completed, Failed
from prefect.task_runners import TaskRunner
from prefect.utilities.annotations import quote
from typing_extensions import override

from leaseboard.flows.jobs import Outcome
from leaseboard.flows.one_run import Performance, in_one_run
from leaseboard.flows.steps import Steps
from leaseboard.flows.terminal import say
from leaseboard.tasks import steps as tasks_of
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.jobs.job import Job, Result
from leaseboard.tasks.jobs.prepared import Prepared
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.pool.attempts import Attempt, RunsJobs
from leaseboard.tasks.score.compared import Compared

PROGRESS_SECONDS = 2.0
"""How often the progress on a run's page is brought up to date."""


class AsTasks(Steps):
    """The steps as tasks of the flow run that they are made in.

    Prefect sends the flow along with each task that goes to another process; this stays behind.

    - `runs`: runs a job where `runner` runs its task.
    - `runner`: of threads, or of a cluster.
    - `ahead`: see `Steps`.
    - `names`: what the page calls data, by reference.
    """

    def __init__(
        self, runs: RunsJobs, runner: TaskRunner[Any], ahead: int, names: Mapping[str, str]
    ) -> None:
        super().__init__(ahead)
        self._runs = runs
        self.runner = runner
        self.tasks = 0
        self._names = names
        self._makers: dict[Kept | Prepared, State[Any]] = {}
        self._told = 0.0
        self._progress: Any = None
        self._telling = True

    def __reduce__(self) -> tuple[Any, ...]:
        return object, ()

    @override
    def fetch(self, reference: str, place: Path, *, mirrors: tuple[Path, ...]) -> Kept:
        given = {"mirrors": mirrors, "called": self._names.get(reference, "")}
        return self._made(tasks_of.fetch, reference, place, **given)

    @override
    def prepare(self, data: Kept, job: Job) -> Prepared:
        given = {"called": self._names.get(job.data, ""), "wait_for": [self._makers[data]]}
        return self._made(tasks_of.prepare, quote(data), quote(job), **given)

    def _made(self, task: Any, *given: Any, **named: Any) -> Any:
        """What a task makes; who is given it is told to Prefect to come after that task.

        It would guess: two tasks that are given one text come one after the other to it. So it is
        to look into nothing: what is given is quoted, and a state holds nothing.
        """
        self.tasks += 1
        state = task(*given, return_state=True, **named)
        made = state.result()
        self._makers[made] = state.model_copy(update={"data": True})
        return made

    @override
    def score(self, results: Sequence[Result], suite: Suite | None) -> Compared:
        self.tasks += 1
        return tasks_of.score(results, quote(suite))

    @override
    def report(self, out: Path, found: Compared, suite: Suite | None) -> Path:
        self.tasks += 1
        return tasks_of.report(out, found, quote(suite))

    @override
    def record(self, results: Sequence[Result], name: str, found: Compared, **given: Any) -> str:
        self.tasks += 1
        hidden = {key: quote(value) for key, value in given.items() if key != "report"}
        return tasks_of.record(quote(results), name, found, **(given | hidden))

    @override
    def told(self, done: int, total: int) -> None:
        percent, now = 100.0 * done / max(1, total), time.monotonic()
        due = done == total or now > self._told + PROGRESS_SECONDS
        if not (due and self._telling):
            return
        self._told = now
        try:
            if self._progress is None:
                self._progress = create_progress_artifact(
                    percent, key="progress", description=f"of {total} jobs"
                )
            else:
                update_progress_artifact(self._progress, percent)
        except (httpx.HTTPError, PrefectException) as error:  # history is a convenience
            self._telling = False
            say(f"leaseboard: Prefect is not told the progress: {type(error).__name__}", err=True)

    def _deliver(self, data: Prepared) -> Prepared:
        """Where the jobs find what was prepared: here."""
        return data

    def _hidden(self, given: Any) -> Any:
        """What a job's task is given, where Prefect does not look into it."""
        return quote(given)

    def let_go(self) -> None:
        """Run nothing that has not begun."""
        for future in self._running.values():
            future.wrapped_future.cancel()

    @override
    def _submit(self, job: Job, key: str, data: Prepared | None) -> Any:
        self.tasks += 1
        there = None if data is None else self._deliver(data)
        given = {"job": self._hidden(job), "data": self._hidden(there), "key": key}
        given |= {"limits": None, "out": None, "workers": self._runs}
        given |= {"called": self._names.get(job.data, "")}
        after = [] if data is None else [self._makers[data]]
        return self.runner.submit(tasks_of.run, given, wait_for=after)

    @override
    def _outcome(self, future: PrefectWrappedFuture[Any, Any]) -> Attempt | None:
        """The attempt, None if Dask gave it up because one worker after the other died of it."""
        lost = future.wrapped_future.exception()
        if type(lost).__name__ == "KilledWorker":  # no import: Dask is an extra
            return None
        made = future.result(raise_on_failure=False)
        if isinstance(made, BaseException):
            raise made
        return made if isinstance(made, Attempt) else Attempt(made)


def in_flow(
    suite: str,
    url: str,
    steps: AsTasks,
    body: Callable[[Steps], Outcome],
    interrupt: Callable[[], None],
) -> Outcome:
    """What `body` makes of `steps` in one flow run on the server at `url`.

    `interrupt`: called when the flow is cancelled or interrupted: makes every running job return.
    """
    here = RunPerformance(steps, body, interrupt)
    description = "Fetch, prepare, run, score, record and report."
    return in_one_run("benchmark", suite, url, here, description)


class RunPerformance(Performance[Outcome]):
    """The steps of a run in a flow run's own process, with what they came to.

    - `body`: what is made of them.
    - `interrupt`: makes every running job return.
    """

    def __init__(
        self,
        steps: AsTasks,
        body: Callable[[Steps], Outcome],
        interrupt: Callable[[], None],
    ) -> None:
        self._steps = steps
        self._body = body
        self._interrupt = interrupt

    @override
    def _make(self) -> Outcome:
        with self._steps.runner:
            try:
                return self._body(self._steps)
            except BaseException:
                self._interrupt()
                self._steps.let_go()
                raise
            finally:
                self.tasks = self._steps.tasks

    @override
    def _state_of(self, made: Outcome) -> State[Any]:
        jobs, skipped = len(made.results), made.skipped
        if made.failed:
            return Failed(message=f"{made.failed} of {jobs} jobs failed")
        if made.problems:
            return Failed(message="; ".join(made.problems))
        if jobs and skipped == jobs:
            return Failed(message=f"nothing could run: {jobs} jobs skipped")
        left = f", {skipped} skipped" if skipped else ""
        return Completed(message=f"{jobs - skipped} jobs done{left}")
