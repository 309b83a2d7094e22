"""Send the jobs of a run to where they run: worker processes here, or a Dask cluster.

Either way a job is run by `tasks.pool.workers.WorkerPool.run`, and settled in this process.
"""

from __future__ import annotations

import dataclasses
import importlib.util
import os
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from algorithms.errors import UsageError
from flows.interruption import terminable
from flows.server import PrefectServer, server_log
from tasks.folder import results
from tasks.jobs.job import Result
from tasks.jobs.run import failed
from tasks.pool.workers import Attempt, WorkerPool
from tasks.suites.plan import Planned
from tasks.suites.suite import Suite

if TYPE_CHECKING:
    from prefect.task_runners import TaskRunner


@dataclass(frozen=True, slots=True)
class Run:
    """The jobs of a run that wait, and how each is settled in this process.

    Parameters
    ----------
    suite : Suite
    waiting : dict of str to Planned
        By key.
    out : Path
    over : callable
        Records the result of a job that is over.
    """

    suite: Suite
    waiting: dict[str, Planned]
    out: Path
    over: Callable[[Result], Result]

    def settle(self, key: str, attempt: Attempt | None) -> Result:
        """Keep what came of a job, with the files that came from another machine."""
        job = self.waiting[key].job
        if attempt is None:
            reason = "one Dask worker after the other died while it ran"
            return self.over(failed(job, "crash", reason, key=key))
        result = dataclasses.replace(attempt.result, data=job.data)
        if attempt.files is not None:
            try:
                folder = results.begin(self.out, key)
                for name, content in attempt.files.items():
                    (folder / name).write_bytes(content)
            except OSError as error:
                return self.over(failed(job, "crash", f"{self.out}: {error.strerror}", key=key))
        return self.over(result)

    def title(self, key: str) -> str:
        """What Prefect calls the job."""
        job = self.waiting[key].job
        return f"{job.label or job.algorithm} on {job.data}, repetition {job.repetition}"


def dispatch(
    run: Run,
    size: int,
    mirrors: tuple[Path, ...],
    *,
    local: bool,
    cluster: str | None,
    work: str,
    kept: ExitStack,
) -> None:
    """Run the jobs side by side; an interruption leaves none half-written.

    `kept` gets what the flow needs as long as anything is said of it: the server, and its log.
    """
    address = os.environ.get("PREFECT_API_URL", "")
    unserved = (local and cluster is None) or address
    server = None if unserved else PrefectServer(server_log())
    with terminable(), _no_half_written_job(run.out):
        if server is not None:
            kept.enter_context(server)

        def url() -> str:
            return server.wait() if server else address

        if cluster is not None:
            _on_cluster(run, cluster, mirrors, work, url, kept)
            return
        with WorkerPool(size, run.suite.limits, mirrors=mirrors, work=work) as pool:
            pool.warm(entry.job for entry in run.waiting.values())

            def attempt(key: str) -> Attempt:
                job = run.waiting[key].job
                try:
                    folder = results.begin(run.out, key)
                except OSError as error:
                    return Attempt(failed(job, "crash", f"{run.out}: {error.strerror}", key=key))
                return Attempt(pool.run(job, key, folder))

            if local:
                _in_threads(run, attempt, size, pool.stop)
            else:
                from prefect.task_runners import ThreadPoolTaskRunner

                runner = ThreadPoolTaskRunner(max_workers=size)
                _in_flow(run, attempt, runner, url(), pool.stop, kept)


def _on_cluster(
    run: Run,
    address: str,
    mirrors: tuple[Path, ...],
    work: str,
    url: Callable[[], str],
    kept: ExitStack,
) -> None:
    """Run the jobs on a Dask cluster, and settle them here."""
    if importlib.util.find_spec("prefect_dask") is None:
        raise UsageError("--cluster needs the extra: pip install 'leaseboard[dask]'")

    from flows.cluster import Cluster

    given = {"limits": run.suite.limits, "mirrors": mirrors, "work": work}
    with Cluster(address, run.out, run.waiting.values(), **given) as cluster:
        server = url()
        cluster.equip(server)
        _in_flow(run, cluster.attempts(), cluster.task_runner(), server, lambda: None, kept)


def _in_flow(
    run: Run,
    attempt: Callable[[str], Attempt],
    runner: TaskRunner[Any],
    url: str,
    interrupt: Callable[[], None],
    kept: ExitStack,
) -> None:
    from flows.orchestrate import Here, run_flow

    titles = {key: run.title(key) for key in run.waiting}
    here = Here(titles, run.settle, interrupt, kept)
    run_flow(run.suite.name, attempt, here, runner=runner, url=url)


@contextmanager
def _no_half_written_job(out: Path) -> Iterator[None]:
    try:
        yield
    finally:
        results.discard_unfinished(out)


def _in_threads(
    run: Run, attempt: Callable[[str], Attempt], size: int, interrupt: Callable[[], None]
) -> None:
    """What the flow does, without Prefect."""
    with ThreadPoolExecutor(max_workers=size) as threads:
        futures: list[Future[Result]] = []
        try:
            futures = [
                threads.submit(lambda key: run.settle(key, attempt(key)), key)
                for key in run.waiting
            ]
            wait(futures)
        except BaseException:
            interrupt()
            raise
    for future in futures:
        future.result()
