"""Models of runs in the MLflow registry, for the option ``--register``."""

from __future__ import annotations

import tempfile
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from leaseboard.algorithms.errors import LeaseboardError
from leaseboard.flows.console import report_damage, say, terminable
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import versions
from leaseboard.tasks.machine.progress import counted

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.models.winner import Fitted


def register_winners(suite: Suite, run: Path, name: str) -> None:
    """Register the winner on every dataset of the suite, under a name for each.

    A failure is reported, and the other winners are registered.
    """
    from leaseboard.tasks.folder.results import current
    from leaseboard.tasks.models.winner import check_name, slug, winner_of

    title = check_name(name)
    report_damage(run)
    mirrors = paths.mirrors()
    results = current(run)
    failures = 0
    for entry in counted(suite.data, "registering", "models"):
        own = f"{title}-{slug(entry.name or entry.data)}" if len(suite.data) > 1 else title
        try:
            winner = winner_of(suite.jobs(), results, entry.data)
            fitted = _fitted(winner.job, winner.results[0], mirrors)
            record(own, fitted, list(winner.results), suite.name)
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


def record(name: str, fitted: Fitted, results: list[Result], group: str) -> None:
    """Register a fitted model and print how to use it."""
    from leaseboard.tasks.models import registry

    version = registry.register(
        paths.tracking_uri(),
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
