"""A live model, from its file: settings, contract, state and lineages, ready for an update.

What is predicted, what tells rows apart, and of what columns, cannot change while there are
models: they know columns by name and kind, and the state knows rows by their ids. If FILE.yaml or
the contract were edited against them, one line says so before anything is taken in.
"""

from __future__ import annotations

import os
from dataclasses import asdict, replace
from datetime import datetime, timedelta
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.keep.contract import NUMBERS, Contract, ValueKind, read_contract
from leaseboard.tasks.keep.lifecycle import LifecycleState, Purpose
from leaseboard.tasks.keep.living import Recipe, Task
from leaseboard.tasks.keep.notification import LAST_UPDATE, addresses_of, check_addresses
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import Shadow
from leaseboard.tasks.keep.update import ModelUpdate
from leaseboard.tasks.machine.addresses import filled
from leaseboard.tasks.store.live_model import PATIENCE, State

AHEAD = timedelta(minutes=5)
"""So much a clock may be behind the last update's before it is reported: clocks are set, and
drift."""
_HELD: dict[ValueKind, str] = {
    "number": "numbers",
    "integer": "numbers",
    "flag": "numbers",
    "date": "dates",
    "text": "words",
    "category": "words",
}
"""What a column of a kind holds for a model; among kinds of one sort a contract may change."""
_FIX = "write it back, or begin another keep, by another name"


def home_of(name: str, out: Path | None = None) -> Path:
    """The folder of a keep's state and page."""
    return (out if out is not None else Path("runs") / "keep" / name).resolve()


def state_of(keep: Keep, home: Path, patience: float = PATIENCE) -> State:
    """Where the keep's state is: its own file by default; ``$NAME`` is of the environment."""
    if keep.state is None:
        return State(home / "state.sqlite", keep.name, patience)
    place = filled(keep.state)
    return State(place if "://" in place else Path(place), keep.name, patience)


def recipe_of(keep: Keep, contract: Contract) -> Recipe:
    """How a lineage is made; UsageError for an algorithm that cannot be kept."""
    kind = contract.columns[keep.data.target].kind
    task: Task = "regression" if kind in NUMBERS else "classification"
    model = keep.model
    recipe = Recipe(keep.data.target, task, model.algorithm, model.settings, model.seed)
    recipe.check()
    return recipe


def opened(keep: Keep, state: State, now: datetime, file: Path | None = None) -> ModelUpdate:
    """All that an update at `now` works on, once the live model is held.

    Raises UsageError if FILE.yaml or the contract is not that of the state any more.
    """
    contract = read_contract(keep.contract, keep.data)
    recipe = recipe_of(keep, contract)
    dates = [name for name, rule in contract.columns.items() if rule.kind == "date"]
    check_addresses(addresses_of(keep))
    lifecycle, shadow = LifecycleState.read(state.memory()), Shadow(state, recipe, dates)
    asked = purpose_of(keep, contract, recipe)
    if lifecycle.made_for is not None and shadow.lineages:
        check_purpose(lifecycle.made_for, asked, keep.contract)
        # What the contract names no more is known to them still.
        asked = replace(asked, columns={**lifecycle.made_for.columns, **asked.columns})
    lifecycle.made_for = asked
    if file is not None:
        check_file(lifecycle.file, file, state.place)
        lifecycle.file = file_of(file, state.place)
    last = lifecycle.last_update or now
    update = ModelUpdate(keep, contract, state, shadow, max(now, last), lifecycle, file)
    _set_clock(update, now, last)
    begun = state.unfinished()
    if begun is not None:
        what = f"the turn of {begun[:16]} did not end: what it had not finished is done again"
        update.incident(*LAST_UPDATE, what)
    return update


def _set_clock(update: ModelUpdate, now: datetime, last: datetime) -> None:
    """Report a clock that has gone back, and follow it when it says so a second time.

    Once it may be wrong; twice, it was wrong before.
    """
    lifecycle, before = update.lifecycle, update.lifecycle.clock_went_back
    lifecycle.clock_went_back = None
    if now >= last - AHEAD:
        return
    said = (
        f"its clock says {now:%Y-%m-%d %H:%M} UTC, and the last turn was at {last:%Y-%m-%d %H:%M}"
    )
    if before is None or now < before:
        lifecycle.clock_went_back = now
        update.incident("clock", "this machine", f"{said}: set it")
        return
    update.now = now
    update.incident("clock", "this machine", f"{said}: as it said so before, it is followed")
    lifecycle.cases = [
        replace(each, seen=min(each.seen, now), resolved=each.resolved and min(each.resolved, now))
        for each in lifecycle.cases
    ]
    if lifecycle.challenger_since is not None:
        lifecycle.challenger_since = min(lifecycle.challenger_since, now)


def purpose_of(keep: Keep, contract: Contract, recipe: Recipe) -> Purpose:
    """What a live model is made for."""
    data = keep.data
    columns = {
        name: _HELD[rule.kind]
        for name, rule in contract.columns.items()
        if name not in (data.id, data.target)
    }
    algorithm = "of streams" if recipe.goes_on else recipe.algorithm
    return Purpose(data.target, data.id, data.time, recipe.task, algorithm, columns)


_KEYS = {
    "target": "data.target",
    "id": "data.id",
    "time": "data.time",
    "task": "task",
    "algorithm": "model.algorithm",
}
"""Of FILE.yaml, by the fields of `Purpose`."""


def check_purpose(before: Purpose, now: Purpose, contract: Path) -> None:
    """UsageError if something else is asked of a live model than it was made for."""
    old, new = asdict(before), asdict(now)
    for field, key in _KEYS.items():
        if old[field] != new[field]:
            raise UsageError(
                f"{key}: the model that lives was made for {old[field]}, not for {new[field]}:"
                f" {_FIX}"
            )
    for name, held in before.columns.items():
        if now.columns.get(name, held) != held:
            raise UsageError(
                f"{contract}: column {name!r} held {held} when the model that lives was made, and"
                f" holds {now.columns[name]} now: {_FIX}"
            )


def file_of(file: Path, place: Path | str) -> str:
    """FILE.yaml as the state in `place` remembers it, so that both may be moved together."""
    path = file.resolve()
    return os.path.relpath(path, place.parent) if isinstance(place, Path) else str(path)


def check_file(before: str | None, file: Path, place: Path | str) -> None:
    """UsageError if the state is of another file, which is there still."""
    if before is None or before == file_of(file, place):
        return
    other = (place.parent / before).resolve() if isinstance(place, Path) else Path(before)
    if other.exists() and not other.samefile(file):
        raise UsageError(
            f"{file}: a keep of this name, in {other}, has this state: give yours another name"
        )
