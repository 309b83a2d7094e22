"""The end of a run: its board on the terminal, its page, and both in MLflow."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from flows.steps import Steps
from flows.terminal import say, tell
from tasks.folder.results import TABLE
from tasks.jobs.job import Result
from tasks.jobs.suites.suite import Suite
from tasks.machine.addresses import redacted
from tasks.score.compared import Compared
from tasks.track.store import TrackingError


def show_board(
    steps: Steps,
    results: Sequence[Result],
    suite: Suite | None,
    name: str,
    out: Path,
    uri: str | None,
    found: Compared | None = None,
) -> str:
    """Score, print the board, build the page, and put both into the MLflow store.

    - `results`: as the table in `out` has them; they have been logged.
    - `uri`: the store; None if there is none, or it is in trouble.
    - `found`: the comparison of the results, where it has been made already.

    Returns why the board is not in the store, empty if it is.
    """
    from tasks.score import board

    found = found or steps.score(results, suite)
    board.show(found)
    tell(board.plain(found))
    page = steps.report(out, found, suite)
    say(f"results: {out / TABLE}\nreport:  {page}")
    if uri is None:
        return ""
    given = {"uri": uri, "out": out, "suite": suite, "report": page, "logged": True}
    try:
        place = steps.record(results, name, found, **given)
    except TrackingError as error:
        return f"the board is not in MLflow: {error}"
    say(f"mlflow:  {_address(uri)}/{place}")
    return ""


def _address(uri: str) -> str:
    """Where the UI of a store is; a database needs `leaseboard ui` to have one."""
    if uri.startswith("http"):
        return redacted(uri).rstrip("/")
    return "leaseboard ui, http://127.0.0.1:5000"
