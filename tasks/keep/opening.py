"""A keep, from its file: settings, contract, state and lineages, ready for a turn."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from algorithms.errors import UsageError
from tasks.keep.contract import NUMBERS, Contract, read_contract
from tasks.keep.database import PATIENCE
from tasks.keep.living import Recipe, Task
from tasks.keep.settings import Keep
from tasks.keep.shadow import Shadow
from tasks.keep.state import State
from tasks.keep.tell import check_addresses
from tasks.keep.turn import Keeping, addresses_of
from tasks.machine.addresses import filled

AHEAD = timedelta(minutes=5)
"""So much a clock may be behind the last turn's before it is told: clocks are set, and drift."""


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
    if kind == "date":
        raise UsageError(
            f"the target {keep.data.target!r} is a date: name a column of numbers or words"
        )
    task: Task = "regression" if kind in NUMBERS else "classification"
    model = keep.model
    recipe = Recipe(keep.data.target, task, model.algorithm, model.settings, model.seed)
    recipe.check()
    return recipe


def opened(keep: Keep, state: State, now: datetime, file: Path | None = None) -> Keeping:
    """All that a turn at `now` works on, once the turn is held.

    A clock that has gone back is told, and not followed.
    """
    contract = read_contract(keep.contract, keep.data)
    recipe = recipe_of(keep, contract)
    dates = [name for name, rule in contract.columns.items() if rule.kind == "date"]
    check_addresses(addresses_of(keep))
    memory = state.memory()
    last = datetime.fromisoformat(memory.get("clock", now.isoformat()))
    shadow = Shadow(state, recipe, dates)
    keeping = Keeping(keep, contract, state, shadow, max(now, last), memory, file)
    if now < last - AHEAD:
        keeping.incident(
            "clock",
            "this machine",
            f"its clock says {now:%Y-%m-%d %H:%M} UTC, and the last turn was at"
            f" {last:%Y-%m-%d %H:%M}: set it",
        )
    begun = state.unfinished()
    if begun is not None:
        what = f"the turn of {begun[:16]} did not end: what it had not finished is done again"
        keeping.incident("turn", "the last turn", what)
    return keeping
