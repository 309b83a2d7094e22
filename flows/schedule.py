"""Suites by the clock: each schedule is a Prefect deployment of one flow, served from here.

A run that would overlap with one of the same deployment is cancelled. A run's page in Prefect
shows the board; a run with a failed job is a failed run, there as in MLflow.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from prefect import flow, serve
from prefect.artifacts import create_link_artifact, create_markdown_artifact
from prefect.client.schemas.objects import ConcurrencyLimitConfig, State
from prefect.flows import EntrypointType
from prefect.schedules import Cron
from prefect.states import Completed, Failed

from tasks.schedule import Schedule


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
    from flows.commands.execute import open_suite
    from flows.commands.run import run_and_report
    from tasks import board, results
    from tasks.config import Limits
    from tasks.score.compared import compared

    loaded, home = open_suite(suite, Path(out) if out else None, Path(conf))
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


def serve_schedules(schedule: Schedule, conf: Path) -> None:
    """Serve every schedule until this process is interrupted."""
    one_at_a_time = ConcurrencyLimitConfig.model_validate(
        {"limit": 1, "collision_strategy": "CANCEL_NEW"}
    )
    deployments = [
        scheduled.to_deployment(
            entry.name,
            schedule=Cron(entry.cron, timezone=entry.timezone),
            parameters={
                "suite": entry.suite,
                "conf": str(conf),
                "out": entry.out,
                "workers": entry.workers,
                "limits": entry.limits.model_dump() if entry.limits else None,
            },
            concurrency_limit=one_at_a_time,
            entrypoint_type=EntrypointType.MODULE_PATH,
        )
        for entry in schedule.schedules
    ]
    serve(*deployments, print_starting_message=False)
