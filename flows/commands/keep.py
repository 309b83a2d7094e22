"""``leaseboard keep``: a model that lives, turn after turn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from leaseboard.algorithms.errors import UsageError
from leaseboard.flows.commands.options import Local, TrackingUri
from leaseboard.flows.interruption import resumable
from leaseboard.flows.terminal import say

if TYPE_CHECKING:
    from leaseboard.tasks.keep.settings import Keep

File = Annotated[Path, typer.Argument(help="What is kept: a YAML file.")]


def keep(
    file: File,
    init: Annotated[
        bool,
        typer.Option(
            "--init", help="Write the contract from the first data, and FILE if it is absent."
        ),
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Say how the model stands; take no turn.")
    ] = False,
    card: Annotated[
        bool, typer.Option("--card", help="Print the champion's model card; take no turn.")
    ] = False,
    data: Annotated[
        str | None, typer.Option(help="With --init: the files, such as 'inbox/*.csv'.")
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="With --init: the column that is forecast.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="With --init: the column that says when (default: guessed).")
    ] = None,
    identity: Annotated[
        str | None,
        typer.Option("--id", help="With --init: the column that tells rows apart (guessed)."),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Of state and page (default: runs/keep/NAME).")
    ] = None,
    at: Annotated[
        str | None,
        typer.Option(help="What this turn takes for now, in UTC, such as 2026-11-23T04:00."),
    ] = None,
    local: Local = False,
    tracking_uri: TrackingUri = None,
) -> int:
    """Update once: ingest, validate, join labels, monitor, train, evaluate, promote, notify.

    Exits with 0, with 1 if something is wrong that should be looked at, with 3 if nothing came.

    Example: leaseboard keep sales.yaml
    """
    from leaseboard.tasks.keep.opening import home_of
    from leaseboard.tasks.keep.settings import read_keep

    now = datetime.now(UTC) if at is None else _moment(at)
    if init:
        return _begin(file, data, target, time, identity, now)
    given = {"--data": data, "--target": target, "--time": time, "--id": identity}
    for option, value in given.items():
        if value is not None:
            raise UsageError(f"{option} is of --init: {str(file)!r} says it from then on")
    settings = read_keep(file)
    home = home_of(settings.name, out)
    if status:
        return _show(settings, home, now)
    if card:
        return _print_card(settings, home)
    from leaseboard.flows.keep import run_turn, still_open
    from leaseboard.tasks.machine import paths

    with resumable(home, _kept):
        turned = run_turn(
            settings, home, now,
            file=file, local=local, tracking_uri=paths.tracking_uri(tracking_uri),
        )  # fmt: skip
    if turned.open_incidents:
        say(still_open(turned, file))
        return 1
    if not turned.batches:
        say("nothing new came")
        return 3
    return 0


def _kept(home: Path) -> str:
    return f"each batch that was taken in is kept in {str(home)!r}"


def _begin(
    file: Path,
    data: str | None,
    target: str | None,
    time: str | None,
    identity: str | None,
    now: datetime,
) -> int:
    from leaseboard.tasks.keep.beginning import first_frame, guessed, write_contract, write_keep
    from leaseboard.tasks.keep.settings import read_keep

    if not file.exists():
        if data is None or target is None:
            raise UsageError(
                f"{str(file)!r} is not there: to have it written, give --data 'inbox/*.csv' and"
                " --target COLUMN"
            )
        found = guessed(first_frame(data), target)
        time, identity = time or found[0], identity or found[1]
        write_keep(file, data, target, time, identity)
        say(f"{file}: time {time or 'none'}, id {identity or 'none'}, target {target}: edit it")
    settings = read_keep(file)
    write_contract(settings, now)
    say(f"{settings.contract}: what rows must look like: read it, it is yours")
    say(f"next: leaseboard keep {file}")
    return 0


def _show(settings: Keep, home: Path, now: datetime) -> int:
    from leaseboard.tasks.keep.opening import state_of
    from leaseboard.tasks.keep.page import status

    say(status(state_of(settings, home), settings, now))
    return 0


def _print_card(settings: Keep, home: Path) -> int:
    from leaseboard.tasks.keep.card import TrackRecord, card
    from leaseboard.tasks.keep.contract import read_contract
    from leaseboard.tasks.keep.opening import state_of
    from leaseboard.tasks.keep.shadow import CHAMPION
    from leaseboard.tasks.store.live_tables import in_role

    contract = read_contract(settings.contract, settings.data)
    record = TrackRecord.of(settings, contract, state_of(settings, home))
    champion = in_role(record.lineages, CHAMPION)
    if champion is None:
        say(f"{settings.name}: there is no champion yet: the first is made when labels have come")
        return 3
    say(card(record, champion).rstrip())
    return 0


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError as error:
        raise UsageError(f"--at {text!r} is no moment: write it as 2026-11-23T04:00") from error
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
