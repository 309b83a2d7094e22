"""A keep, from its file: settings, contract, state and lineages, ready for a turn."""

from __future__ import annotations

from datetime import datetime, timedelta
from pathlib import Path

from leaseboard.tasks.keep.contract import NUMBERS, Contract, read_contract
from leaseboard.tasks.keep.database import PATIENCE
from leaseboard.tasks.keep.ending import LAST_TURN
from leaseboard.tasks.keep.keeping import Keeping, addresses_of
from leaseboard.tasks.keep.lasting import MADE_FOR, check_file, check_lasting, file_of, made_for
from leaseboard.tasks.keep.living import Recipe, Task
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import Shadow
from leaseboard.tasks.keep.state import State
from leaseboard.tasks.keep.tell import check_addresses
from leaseboard.tasks.keep.turn import SINCE
from leaseboard.tasks.machine.addresses import filled

BACK, FILE = "clock back", "file"
"""In the memory: what a clock that had gone back said, and the file that the state is of."""

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
    task: Task = "regression" if kind in NUMBERS else "classification"
    model = keep.model
    recipe = Recipe(keep.data.target, task, model.algorithm, model.settings, model.seed)
    recipe.check()
    return recipe


def opened(keep: Keep, state: State, now: datetime, file: Path | None = None) -> Keeping:
    """All that a turn at `now` works on, once the turn is held.

    Raises UsageError if FILE.yaml or the contract is not that of the state any more.
    """
    contract = read_contract(keep.contract, keep.data)
    recipe = recipe_of(keep, contract)
    dates = [name for name, rule in contract.columns.items() if rule.kind == "date"]
    check_addresses(addresses_of(keep))
    memory, shadow = state.memory(), Shadow(state, recipe, dates)
    asked = made_for(keep, contract, recipe)
    if MADE_FOR in memory and shadow.lineages:
        check_lasting(memory[MADE_FOR], asked, keep.contract)
    if file is not None:
        check_file(memory.get(FILE), file, state.place)
        memory[FILE] = file_of(file, state.place)
    if shadow.lineages:  # what the contract names no more is known to them still
        known = memory.get(MADE_FOR, asked)["columns"]
        asked = {**asked, "columns": {**known, **asked["columns"]}}
    memory[MADE_FOR] = asked
    last = datetime.fromisoformat(memory.get("clock", now.isoformat()))
    keeping = Keeping(keep, contract, state, shadow, max(now, last), memory, file)
    _set_clock(keeping, now, last)
    begun = state.unfinished()
    if begun is not None:
        what = f"the turn of {begun[:16]} did not end: what it had not finished is done again"
        keeping.incident(*LAST_TURN, what)
    return keeping


def _set_clock(keeping: Keeping, now: datetime, last: datetime) -> None:
    """A clock that has gone back is told, and followed when it says so a second time.

    Once it may be wrong; twice, it was wrong before.
    """
    memory, before = keeping.memory, keeping.memory.get(BACK)
    memory[BACK] = None
    if now >= last - AHEAD:
        return
    said = (
        f"its clock says {now:%Y-%m-%d %H:%M} UTC, and the last turn was at {last:%Y-%m-%d %H:%M}"
    )
    if before is None or now < datetime.fromisoformat(before):
        memory[BACK] = now.isoformat()
        keeping.incident("clock", "this machine", f"{said}: set it")
        return
    keeping.now = now
    keeping.incident("clock", "this machine", f"{said}: as it said so before, it is followed")
    for case in memory.get("cases", []):
        for key in ("seen", "resolved"):
            if case[key] is not None:
                case[key] = min(datetime.fromisoformat(case[key]), now).isoformat()
    if SINCE in memory:
        memory[SINCE] = min(datetime.fromisoformat(memory[SINCE]), now).isoformat()
