"""Models of runs in the MLflow registry, for the option ``--register``."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.console import report_damage, say, terminable
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.progress import counted

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.job import Result
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.models.chosen import Fitted


def register_winners(suite: Suite, run: Path, name: str) -> None:
    """Register the winner on every dataset of the suite, under a name for each.

    A failure is reported, and the other winners are registered.
    """
    from leaseboard.tasks.folder.results import current
    from leaseboard.tasks.models.chosen import fit
    from leaseboard.tasks.models.winner import check_name, slug, winner_of

    title = check_name(name)
    report_damage(run)
    mirrors = paths.mirrors()
    results = current(run)
    failures = 0
    for entry in counted(suite.data, "registering", "models"):
        own = f"{title}-{slug(entry.name or entry.data)}" if len(suite.data) > 1 else title
        try:
            job, found = winner_of(suite.jobs(), results, entry.data)
            with terminable():
                fitted = fit(job, found[0], mirrors=mirrors)
            record(own, fitted, found, suite.name)
        except LeaseboardError as error:
            if len(suite.data) == 1:
                raise
            say(f"not registered: the winner on {entry.data}: {error}", err=True)
            failures += 1
    if failures:
        raise LeaseboardError(
            f"{failures} of {len(suite.data)} winners were not registered: fix the errors"
            " above, and register again"
        )


def record(name: str, fitted: Fitted, results: list[Result], group: str) -> None:
    """Register a fitted model and print how to use it."""
    from leaseboard.tasks.models import registry

    version = registry.register(paths.tracking_uri(), name, fitted, results, group=group)
    say(
        f"registered {results[0].name} on {results[0].data} as models:/{name}/{version}, alias"
        " challenger; for the alias champion open `leaseboard ui`",
        err=True,
    )
