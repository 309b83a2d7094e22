"""The benchmark: fetch, prepare, run, score, report and record.

Every step is one of `leaseboard.tasks.steps`, made as `leaseboard.flows.steps` says: as a task of
a Prefect flow run, or plainly. A kill at any moment can be mended: what is done is skipped by the
next run.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from leaseboard.flows.folders import new_folder
from leaseboard.flows.jobs import Outcome, look, run_jobs
from leaseboard.flows.steps import Steps
from leaseboard.flows.terminal import say, tell
from leaseboard.tasks.fetch.kept import Kept
from leaseboard.tasks.folder import results
from leaseboard.tasks.folder.results import TABLE
from leaseboard.tasks.jobs.job import Result
from leaseboard.tasks.jobs.suites.rankable import require_ranking
from leaseboard.tasks.jobs.suites.suite import Suite
from leaseboard.tasks.machine.addresses import redacted
from leaseboard.tasks.score.compared import Compared
from leaseboard.tasks.track.store import TrackingError

SHARED = ".data-"
"""Folders begin so, in a run's, that hold the data which its jobs map into memory."""


def benchmark(
    suite: Suite,
    out: Path,
    steps: Steps,
    *,
    mirrors: tuple[Path, ...] = (),
    tracking_uri: str | None = None,
    boarded: bool = True,
) -> Outcome:
    """Chain the steps; the run folder `out` is locked meanwhile, and holds all that lasts.

    `tracking_uri` is the MLflow store, None if nothing is recorded there. Unless `boarded`, the
    jobs are run and logged, and their suite is stored next to them, and that is all.
    """
    with new_folder(out), results.locked(out), _shared(out) as place:
        data: dict[str, Kept] = {}

        def fetch(reference: str) -> str:
            data[reference] = steps.fetch(reference, place, mirrors=mirrors)
            return data[reference].digest

        planned = look(suite, out, fetch)
        if boarded and suite.metric is not None:
            known = {reference: kept.task for reference, kept in data.items()}
            require_ranking(suite.metric, suite.jobs(), known)
        outcome = run_jobs(suite, planned, data, steps, out=out, tracking_uri=tracking_uri)
        if boarded:
            store = None if outcome.problems else tracking_uri
            problem = show_board(steps, outcome.results, suite, suite.name, out, store)
            outcome.problems.extend(filter(None, [problem]))
        else:
            content = suite.model_dump_json(indent=1).encode()
            results.write_atomically(out / results.SUITE_FILE, content)
    for problem in outcome.problems:
        say(f"leaseboard: {problem}", err=True)
    return outcome


@contextmanager
def _shared(out: Path) -> Iterator[Path]:
    """A folder for what all jobs map; a killed run's is removed first."""
    for left in out.glob(f"{SHARED}*"):
        shutil.rmtree(left)
    place = Path(tempfile.mkdtemp(prefix=SHARED, dir=out))
    try:
        yield place
    finally:
        with suppress(FileNotFoundError):  # code of a user's may have removed it
            shutil.rmtree(place)


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
    from leaseboard.tasks.score import board

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
