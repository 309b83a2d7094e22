"""``leaseboard model``: what runs found, registered and promoted past the gate."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import LeaseboardError, UsageError, unknown
from leaseboard.flows.commands.options import Mirrors, TrackingUri, show_table
from leaseboard.flows.console import check_folder, say, terminable
from leaseboard.tasks.folder.results import current
from leaseboard.tasks.machine import paths
from leaseboard.tasks.machine.environment import versions

if TYPE_CHECKING:
    from leaseboard.tasks.jobs.job import Job, Result
    from leaseboard.tasks.jobs.suites.suite import Suite
    from leaseboard.tasks.keep.publication import Publishable
    from leaseboard.tasks.models.winner import Fitted

app = typer.Typer(
    help="Models that runs found: registered in MLflow, promoted past the gate.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(help="Of the registered model.")]
KeepFolder = Annotated[
    Path | None, typer.Option("--out", help="Of a keep: its folder (default: runs/keep/NAME).")
]


@app.command("register")
def register(
    run: Annotated[Path, typer.Argument(help="The output folder of a suite's finished run.")],
    name: Annotated[
        str | None, typer.Option(help="Of the registered model (default: the suite's).")
    ] = None,
    data: Annotated[
        str | None, typer.Option(help="Only the winner on these data (default: on each).")
    ] = None,
    mirror: Mirrors = None,
    tracking_uri: TrackingUri = None,
) -> None:
    """Register the winner on each data set of a run as a model with the alias challenger.

    Example: leaseboard model register runs/quick --data synthetic:fried?rows=20000
    """
    from leaseboard.tasks.report.build import suite_of

    suite = suite_of(run)
    if suite is None:
        raise UsageError(
            f"{str(run)!r} is not the folder of a suite's finished run: name its --out"
        )
    register_winners(suite, run, name, data, mirror=mirror, tracking_uri=tracking_uri)


@app.command("promote")
def promote(
    name: Name,
    tolerance: Annotated[
        float | None, typer.Option(min=0, help="Relative drop that is still accepted.")
    ] = None,
    better: Annotated[
        bool, typer.Option("--better", help="Only if it is better, not just as good.")
    ] = False,
    anyway: Annotated[
        bool, typer.Option("--anyway", help="Of a keep: whatever the evidence says.")
    ] = False,
    out: KeepFolder = None,
    tracking_uri: TrackingUri = None,
) -> int:
    """Make the challenger champion, unless the gate finds it worse; exits with 1 if it does.

    Of a model that is kept, only on the evidence of the rows that both have forecast.

    Example: leaseboard model promote sales
    """
    from leaseboard.tasks.models import registry
    from leaseboard.tasks.score.gate.verdict import TOLERANCE

    uri = paths.tracking_uri(tracking_uri)
    file = registry.keep_of(uri, name)
    if file:
        if tolerance is not None or better:
            raise UsageError(
                f"--tolerance and --better are of the gate, and {name} is kept: its evidence"
                " decides, or --anyway"
            )
        return _promote_kept(uri, name, Path(file), out, anyway)
    if anyway or out is not None:
        raise UsageError(
            f"--anyway and --out are of keeps, and no keep publishes {name}: raise --tolerance"
        )
    limit = TOLERANCE if tolerance is None else tolerance
    outcome = registry.promote(uri, name, tolerance=limit, better=better)
    became = "is champion now" if outcome.promoted else "stays challenger"
    say(f"{name}: version {outcome.version} {became}; {outcome.explanation}")
    return 0 if outcome.promoted else 1


@app.command("rollback")
def rollback(name: Name, out: KeepFolder = None, tracking_uri: TrackingUri = None) -> None:
    """Make the previous champion champion again; the champion becomes previous.

    Of a model that is kept, the keep's state says so from then on, too.

    Example: leaseboard model rollback sales
    """
    from leaseboard.tasks.models import registry

    uri = paths.tracking_uri(tracking_uri)
    file = registry.keep_of(uri, name)
    if not file:
        say(f"{name}: version {registry.roll_back(uri, name)} is champion again")
        return

    from leaseboard.tasks.keep.promotion import roll_back
    from leaseboard.tasks.keep.publication import publish

    kept = _kept(Path(file), out)
    with kept.state.turn():
        what = roll_back(kept.state, _now())
        version = publish(uri, kept)["champion"]
    say(f"{name}: version {version} is champion: {what}")


def _promote_kept(uri: str, name: str, file: Path, out: Path | None, anyway: bool) -> int:
    from leaseboard.tasks.keep.promotion import promote_by_hand
    from leaseboard.tasks.keep.publication import publish

    kept = _kept(file, out)
    alpha = kept.keep.compare.alpha
    with kept.state.turn():
        done, evidence = promote_by_hand(kept.state, alpha, _now(), anyway=anyway)
        version = publish(uri, kept)["champion"] if done else ""
    if not done:
        say(f"{name}: the challenger stays challenger: {evidence}; --anyway promotes it")
        return 1
    say(f"{name}: version {version} is champion now: {evidence}")
    return 0


def _kept(file: Path, out: Path | None) -> Publishable:
    """The keep in a file, as it is published."""
    from leaseboard.tasks.keep.contract import read_contract
    from leaseboard.tasks.keep.opening import home_of, recipe_of, state_of
    from leaseboard.tasks.keep.publication import Publishable
    from leaseboard.tasks.keep.settings import read_keep

    keep = read_keep(file)
    contract = read_contract(keep.contract, keep.data)
    state = state_of(keep, home_of(keep.name, out))
    return Publishable(keep, file, contract, recipe_of(keep, contract), state)


def _now() -> str:
    from datetime import UTC, datetime

    return datetime.now(UTC).isoformat(timespec="seconds")


@app.command("list")
def list_models(tracking_uri: TrackingUri = None) -> int:
    """List the registered models with their aliases, scores and the gate's last word.

    Example: leaseboard model list
    """
    from leaseboard.tasks.models import registry

    rows = registry.listed(paths.tracking_uri(tracking_uri))
    if not rows:
        say("no model is registered: see `leaseboard model register --help`")
        return 3
    show_table("", tuple(rows[0]), [tuple(row.values()) for row in rows])
    return 0


def register_winners(
    suite: Suite,
    run: Path,
    name: str | None,
    data: str | None = None,
    *,
    mirror: list[Path] | None,
    tracking_uri: str | None,
) -> None:
    """Register the winner on `data`, or on every data set of the suite, under names of its own.

    What fails is told, and the other winners are registered all the same.
    """
    from leaseboard.tasks.models.names import check_name, slug
    from leaseboard.tasks.models.winner import winner_of

    title = slug(suite.name) if name is None else check_name(name)
    check_folder(run)
    references = [entry.data for entry in suite.data]
    if data is not None and data not in references:
        raise unknown("data of the suite", data, references)
    mirrors = paths.mirrors(tuple(mirror or ()))
    results = current(run)
    wanted = [entry for entry in suite.data if data in (None, entry.data)]
    failures = 0
    for entry in wanted:
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
            f"{failures} of {len(wanted)} winners were not registered: mend what is said"
            " above, and register again"
        )


def _fitted(job: Job, result: Result, mirrors: tuple[Path, ...]) -> Fitted:
    """The model of a result; where a user's code makes it, in a worker."""
    from leaseboard.tasks.jobs.programs import is_foreign
    from leaseboard.tasks.models.kept import REFIT, kept, lay
    from leaseboard.tasks.models.winner import fit
    from leaseboard.tasks.pool.attempts import run_one

    if not is_foreign(job):
        return fit(job, result, mirrors=mirrors)
    with tempfile.TemporaryDirectory(prefix="leaseboard-") as name, terminable():
        folder = Path(name)
        lay(result, folder)
        again = run_one(job, folder, key=result.key, mirrors=mirrors, work=REFIT).result
        if again.status != "ok":
            raise LeaseboardError(f"the model of {result.label}: {again.status}: {again.reason}")
        return kept(job, folder, mirrors)


def record(
    name: str, fitted: Fitted, results: list[Result], group: str, tracking_uri: str | None
) -> None:
    """Register a fitted model and say how to use it."""
    from datetime import UTC, datetime

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
        f"registered {results[0].label} on {results[0].data} as models:/{name}/{version};"
        f" next: leaseboard model promote {name}",
        err=True,
    )
