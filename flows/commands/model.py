"""``leaseboard model``: models of runs in the MLflow registry."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from leaseboard.algorithms.errors import LeaseboardError, UsageError, unknown
from leaseboard.flows.commands.options import Command, Commands, Mirrors, TrackingUri, show_table
from leaseboard.flows.console import report_damage, say, terminable
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.progress import counted

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.models.winner import Fitted

app = typer.Typer(
    cls=Commands,
    help="Register the models of runs in MLflow, and look at them.",
    no_args_is_help=True,
)


@app.command("register", cls=Command)
def register(
    run: Path,
    name: str | None = None,
    dataset: str | None = None,
    mirror: Mirrors = None,
    tracking_uri: TrackingUri = None,
) -> None:
    """Register the best model on each dataset of a run, with the alias challenger.

    - `run`: Folder of a finished run of a suite.
    - `name`: by default the suite's; with several datasets, that of each follows.
    - `dataset`: Register only the best model on this dataset.

    Example: leaseboard model register runs/quick --dataset synthetic:fried?rows=20000
    """
    from leaseboard.tasks.report.build import suite_of

    suite = suite_of(run)
    if suite is None:
        raise UsageError(
            f"{str(run)!r} is not the folder of a suite's finished run: name its --run-dir"
        )
    register_winners(suite, run, name, dataset, mirror=mirror, tracking_uri=tracking_uri)


@app.command("list", cls=Command)
def list_models(tracking_uri: TrackingUri = None) -> int:
    """List the registered models: versions, aliases, scores, and why one was promoted or not.

    Example: leaseboard model list
    """
    from leaseboard.tasks.models import registry

    rows = registry.listed(paths.tracking_uri(tracking_uri))
    if not rows:
        say("no model is registered: see `leaseboard model register --help`")
        return 3
    show_table("", tuple(rows[0]), [tuple(row.values()) for row in rows])
    return 0


@app.command("show", cls=Command)
def show_model(model: str, tracking_uri: TrackingUri = None) -> None:
    """Show the versions of a registered model, the newest first, and how to use one.

    - `model`: Name of the registered model, see `leaseboard model list`.

    Example: leaseboard model show sales
    """
    from leaseboard.tasks.models import registry

    rows = registry.listed(paths.tracking_uri(tracking_uri))
    found = [row for row in rows if row["name"] == model]
    if not found:
        names = {row["name"] for row in rows}
        raise unknown("registered model", model, names, "leaseboard model list")
    for row in found:
        say("\n".join(f"{key + ':':<11}{value}" for key, value in row.items() if value))
        say(f"{'use:':<11}leaseboard predict models:/{model}/{row['version']} FILE\n")


def register_winners(
    suite: Suite,
    run: Path,
    name: str | None,
    data: str | None = None,
    *,
    mirror: list[Path] | None,
    tracking_uri: str | None,
) -> None:
    """Register the winner on `data`, or on every dataset of the suite, under a name for each.

    A failure is reported, and the other winners are registered.
    """
    from leaseboard.tasks.folder.results import current
    from leaseboard.tasks.models.winner import check_name, slug, winner_of

    title = slug(suite.name) if name is None else check_name(name)
    report_damage(run)
    references = [entry.data for entry in suite.data]
    if data is not None and data not in references:
        raise unknown("dataset of the suite", data, references)
    mirrors = paths.mirrors(tuple(mirror or ()))
    results = current(run)
    wanted = [entry for entry in suite.data if data in (None, entry.data)]
    failures = 0
    for entry in counted(wanted, "model register", "models"):
        own = f"{title}-{slug(entry.name or entry.data)}" if len(wanted) > 1 else title
        try:
            winner = winner_of(suite.jobs(), results, entry.data)
            fitted = _fitted(winner.job, winner.results[0], mirrors)
            record(own, fitted, list(winner.results), suite.name, tracking_uri)
        except LeaseboardError as error:
            if len(wanted) == 1:
                raise
            say(f"not registered: the winner on {entry.data}: {error}", err=True)
            failures += 1
    if failures:
        raise LeaseboardError(
            f"{failures} of {len(wanted)} winners were not registered: fix the errors"
            " above, and register again"
        )


def _fitted(job: Job, result: Result, mirrors: tuple[Path, ...]) -> Fitted:
    """Return the model of a result; untrusted code makes it in a worker."""
    from leaseboard.tasks.jobs.programs import is_untrusted
    from leaseboard.tasks.models.winner import REFIT, fit, put_result, saved_in
    from leaseboard.tasks.pool.attempts import run_one

    if not is_untrusted(job):
        return fit(job, result, mirrors=mirrors)
    with tempfile.TemporaryDirectory(prefix="leaseboard-") as name, terminable():
        folder = Path(name)
        put_result(result, folder)
        again = run_one(job, folder, key=result.key, mirrors=mirrors, work=REFIT).result
        if again.status != "ok":
            raise LeaseboardError(f"the model of {result.name}: {again.status}: {again.reason}")
        return saved_in(job, folder, mirrors)


def record(
    name: str, fitted: Fitted, results: list[Result], group: str, tracking_uri: str | None
) -> None:
    """Register a fitted model and print how to use it."""
    from leaseboard.tasks.models import registry

    version = registry.register(
        paths.tracking_uri(tracking_uri),
        name,
        fitted,
        results,
        group=group,
        date=datetime.now(UTC).date().isoformat(),
        versions=versions(),
    )
    say(
        f"registered {results[0].name} on {results[0].data} as models:/{name}/{version};"
        f" next: leaseboard live promote {name}",
        err=True,
    )
