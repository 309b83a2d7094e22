"""Run a suite to its end: what ``run``, ``gate`` and ``accept`` have in common."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from flows.commands.damage import say_damage
from flows.commands.options import check_writable, output_folder, use_conf
from flows.terminal import say, tell

if TYPE_CHECKING:
    from flows.suite import Outcome
    from tasks.jobs.job import Result
    from tasks.score.compared import Compared
    from tasks.suites.plan import Planned
    from tasks.suites.suite import Suite


def open_suite(name: str, out: Path | None, conf: Path | None) -> tuple[Suite, Path]:
    """The suite, checked, and its output folder, which need not be there yet."""
    from tasks.machine.paths import conf_dir
    from tasks.suites.plan import check_suite
    from tasks.suites.suite import load_suite, suite_path

    use_conf(conf)
    folder = conf_dir(conf)
    suite = load_suite(name, folder)
    check_suite(suite, suite_path(name, folder))
    return suite, (out or Path("runs") / suite.name).resolve()


def open_suites(name: str, out: Path | None, conf: Path | None) -> list[tuple[Suite, Path]]:
    """`open_suite` of each suite that `name` stands for; those of a collection under `out`."""
    from tasks.machine.paths import conf_dir
    from tasks.suites.collection import check_apart, members

    use_conf(conf)
    names = members(name, conf_dir(conf))
    if names == [name]:
        return [open_suite(name, out, conf)]
    opened = [open_suite(one, out / Path(one).stem if out else None, conf) for one in names]
    check_apart([suite for suite, _ in opened])
    return opened


def plan_suite(suite: Suite, home: Path, mirror: list[Path] | None) -> list[Planned]:
    """Every job of the suite with its key and state."""
    from tasks.folder import results
    from tasks.machine import paths
    from tasks.suites.plan import plan

    found: list[results.Damage] = []

    def earlier(key: str) -> Result | None:
        seen = results.look(home, key, whole_log=True)
        if isinstance(seen, results.Damage):
            found.append(seen)
            return None
        return seen if seen is not None and seen.status == "ok" else None

    planned = plan(suite.jobs(), earlier, paths.mirrors(tuple(mirror or ())))
    say_damage(found)
    return planned


def execute(
    suite: Suite,
    home: Path,
    *,
    mirror: list[Path] | None,
    workers: int | None,
    local: bool,
    tracking_uri: str | None,
    cluster: str | None = None,
    kept: ExitStack | None = None,
) -> Outcome:
    """Run what is not done, with the folder locked; problems beside the jobs are printed.

    What is said until `kept` is closed is in the log of the flow run too.
    """
    from tasks.machine.environment import prepare_environment

    prepare_environment()

    from flows.suite import run_suite
    from tasks.folder import results
    from tasks.machine import paths

    check_writable(home)
    planned = plan_suite(
        suite, home, mirror
    )  # what is wrong with the data leaves no folder behind
    with results.locked(output_folder(home)):
        outcome = run_suite(
            suite,
            [_again(entry, home) for entry in planned],
            home,
            mirrors=paths.mirrors(tuple(mirror or ())),
            workers=suite.workers(workers),
            local=local,
            cluster=cluster,
            tracking_uri=paths.tracking_uri(tracking_uri),
            kept=kept,
        )
    for problem in outcome.problems:
        say(f"leaseboard: {problem}", err=True)
    return outcome


def _again(entry: Planned, home: Path) -> Planned:
    """A job as it is now that nobody else works in the folder."""
    from tasks.folder import results

    if entry.done and (results.job_folder(home, entry.key) / results.RESULT).is_file():
        return entry
    return replace(entry, earlier=results.reusable(home, entry.key))


def show_board(
    results: list[Result],
    suite: Suite | None,
    name: str,
    home: Path,
    uri: str | None,
    found: Compared | None = None,
) -> bool:
    """Print the board, build the page, and put both into the MLflow store.

    Returns False if the store was asked and refused, which is printed.

    Parameters
    ----------
    results : list of Result
        As the table in `home` has them.
    suite : Suite, optional
    name : str
        The suite's name.
    home : Path
    uri : str, optional
        The store; None if it is in trouble, which has been said.
    found : Compared, optional
        The comparison of the results, where it has been made already.
    """
    from tasks import report
    from tasks.score import board
    from tasks.score.compared import compared
    from tasks.track import TrackingError
    from tasks.track.publish import publish

    found = found or compared(results, suite)
    board.show(found)
    tell(board.plain(found))
    page = report.refresh(home, suite, found)
    say(f"results: {home / 'results.parquet'}\nreport:  {page}")
    if uri is None:
        return True
    try:
        place = publish(
            uri,
            name,
            results,
            board=board.markdown(found),
            names=suite.data_names if suite else {},
            files=[page],
            figures=report.figures(found),
        )
    except TrackingError as error:
        say(f"leaseboard: the board is not in MLflow: {error}", err=True)
        return False
    say(f"mlflow:  {_address(uri)}/{place}")
    return True


def _address(uri: str) -> str:
    """Where the UI of a store is; a database needs `leaseboard ui` to have one."""
    from tasks.machine.addresses import redacted

    return (
        redacted(uri).rstrip("/")
        if uri.startswith("http")
        else "leaseboard ui, http://127.0.0.1:5000"
    )


def exit_code(outcome: Outcome) -> int:
    """0 if every job that could run is ok, 2 if one failed, 3 if none could run."""
    statuses = {result.status for result in outcome.results}
    if outcome.problems or statuses - {"ok", "skipped"}:
        return 2
    return 0 if "ok" in statuses else 3
