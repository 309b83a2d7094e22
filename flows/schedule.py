"""Suites by the clock: each schedule is a Prefect deployment of one flow, served from here.

A run that would overlap with one of the same deployment is cancelled, and says what is in its way.
A run's page in Prefect shows the board and all that the terminal shows; a run with a failed job is
a failed run, there as in MLflow.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx
from prefect import flow
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.client.orchestration import get_client
from prefect.client.schemas.objects import State
from prefect.context import get_run_context
from prefect.flows import EntrypointType
from prefect.schedules import Cron
from prefect.settings import PREFECT_API_URL
from prefect.states import Cancelled, Completed, Failed

from flows.flow_log import logged
from flows.flow_runs import TAG, claim, end_dead_runs, in_the_way, unanswered
from flows.scheduler import Scheduler
from flows.terminal import say
from tasks.suites.timetable import Schedule

_CAUSES = {KeyboardInterrupt: "Ctrl-C", SystemExit: "SIGTERM"}


@flow(name="scheduled", flow_run_name="{suite}", persist_result=False)
def scheduled(
    suite: str,
    conf: str,
    out: str | None = None,
    workers: int | None = None,
    limits: dict[str, Any] | None = None,
) -> State[Any]:
    """Run one suite as ``leaseboard run`` does, and show its board on this run's page.

    The MLflow store is that of ``MLFLOW_TRACKING_URI``: an address may hold a password, and
    Prefect shows the parameters of a flow to everybody.
    """
    run = get_run_context().flow_run
    with get_client(sync_client=True) as client:
        claim(client, run)
        reason = in_the_way(client, run)
    with logged(run.id):
        if reason is not None:
            say(reason)
            return Cancelled(message=reason)
        return _run(suite, Path(conf), Path(out) if out else None, workers, limits)


def _run(
    suite: str, conf: Path, out: Path | None, workers: int | None, limits: dict[str, Any] | None
) -> State[Any]:
    from flows.commands.execute import open_suite
    from flows.commands.run import run_and_report
    from tasks.folder import results
    from tasks.processes.limits import Limits
    from tasks.score import board
    from tasks.score.compared import compared

    loaded, home = open_suite(suite, out, conf)
    if limits is not None:
        loaded = loaded.model_copy(update={"limits": Limits(**limits)})
    code = run_and_report(loaded, home, workers=workers)
    rows = results.current(home)
    text = board.markdown(compared(rows, loaded))
    create_markdown_artifact(text, key="board", description=loaded.title)
    page = home / "report.html"
    create_link_artifact(page.as_uri(), link_text=str(page), key="report")
    if code:
        failed = sum(row.status not in {"ok", "skipped"} for row in rows)
        return Failed(message=f"exit code {code}: {failed} of {len(rows)} jobs failed")
    return Completed(message=f"{len(rows)} jobs")


def serve_schedules(schedule: Schedule, conf: Path, check: Callable[[], None]) -> None:
    """Serve every schedule until this process is interrupted; then end the runs that go on.

    Parameters
    ----------
    schedule : Schedule
    conf : Path
    check : callable
        Raises if there is no use in going on.
    """
    try:
        names = _deployed(schedule, conf)
    except httpx.HTTPError as error:
        raise unanswered(error, PREFECT_API_URL.value() or "") from error
    with get_client(sync_client=True) as client:
        for run in end_dead_runs(client):
            say(f"ended run {run.name!r} {run.id}: its process is gone")
        say(f"serving {len(names)} schedule{'s' * (len(names) != 1)}")
        scheduler = Scheduler(client, names, say)
        try:
            scheduler.serve(check)
        except BaseException as error:
            scheduler.stop(_CAUSES.get(type(error)) or f"an error ({type(error).__name__})")
            raise


def _deployed(schedule: Schedule, conf: Path) -> dict[UUID, str]:
    """The deployment of each schedule, and its name."""
    names = {}
    for entry in schedule.schedules:
        made = scheduled.to_deployment(
            entry.name,
            schedule=Cron(entry.cron, timezone=entry.timezone),
            parameters={
                "suite": entry.suite,
                "conf": str(conf),
                "out": entry.out,
                "workers": entry.workers,
                "limits": entry.limits.model_dump() if entry.limits else None,
            },
            tags=[TAG],  # its runs are ours from the start, so that none can be left unseen
            paused=False,
            concurrency_limit=None,  # ours says what is in the way, see flows.flow_runs
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        names[made.apply()] = entry.name
    return names
