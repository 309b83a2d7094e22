"""The last step: what a run came to goes into MLflow, with the board that describes it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from leaseboard.tasks import report as page
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.score.board import markdown
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.track import log_all
from leaseboard.tasks.track.publish import publish


def record(
    results: Sequence[Result],
    name: str,
    found: Compared,
    uri: str,
    *,
    out: Path,
    suite: Suite | None = None,
    report: Path | None = None,
    logged: bool = False,
) -> str:
    """Log `results` as runs of MLflow's experiment `name`, described by their board.

    Raises TrackingError if the store cannot be used.

    - `out`: the run folder with the event logs.
    - `suite`: says what its data sets are called.
    - `report`: the page, to be attached.
    - `logged`: the jobs were logged while they ran; the board alone is missing.

    Returns where the jobs are in MLflow's UI, from ``#`` on.
    """
    if not logged:
        log_all(results, out, name, uri)
    return publish(
        uri,
        name,
        results,
        board=markdown(found),
        names=suite.data_names if suite else {},
        files=[report] if report else [],
        figures=page.figures(found),
    )
