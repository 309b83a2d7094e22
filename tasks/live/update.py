"""A live model as its files describe it, and an update of it while it is running.

What is predicted, what identifies rows, and of what columns, cannot change while there are
candidates: they know columns by name and kind, and the state knows rows by their ids. If FILE.yaml
or the contract were edited against them, one line says so before anything is ingested. The kind of
a column that the contract calls undecided is that of its first values.
"""

from __future__ import annotations

import os
import shlex
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from pathlib import Path

import pandas as pd

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.live.contract import NUMBERS, UNDECIDED, Contract, read_contract
from leaseboard.tasks.live.contract_check import AHEAD, first_kinds
from leaseboard.tasks.live.incidents import Incident
from leaseboard.tasks.live.lifecycle import LifecycleState, Purpose
from leaseboard.tasks.live.losses import Sums
from leaseboard.tasks.live.notification import LAST_UPDATE, check_addresses, record
from leaseboard.tasks.live.record import DECIDED
from leaseboard.tasks.live.rows import Batch, BatchRows
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.live.shadow import Shadow
from leaseboard.tasks.machine.addresses import filled
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_model import PATIENCE, State
from leaseboard.tasks.store.live_tables import Changes, HistoryEntry, StoredRow

BEHIND = timedelta(minutes=5)
"""How far a clock may be behind the last update's before it is reported."""
_HELD: dict[ValueKind, str] = {
    "number": "numbers",
    "integer": "numbers",
    "flag": "numbers",
    "date": "dates",
    "text": "words",
    "category": "words",
}
"""What a column of a kind holds for a candidate; among kinds of one sort a contract may change."""
_PURPOSE = {
    "target": "data.target",
    "id": "data.id",
    "time": "data.time",
    "task": "task",
    "algorithm": "model.algorithm",
}
"""Keys of FILE.yaml by the fields of `Purpose`."""
_FIX = "write it back, or start another live model under another name"


def home_of(name: str, out: Path | None = None) -> Path:
    """Return the folder of the state and the page of a live model."""
    return (out if out is not None else Path("runs") / "live" / name).resolve()


def state_of(settings: LiveSettings, home: Path, patience: float = PATIENCE) -> State:
    """Return the state: by default a file in `home`; ``$NAME`` is of the environment."""
    if settings.state is None:
        return State(home / "state.sqlite", settings.name, patience)
    place = filled(settings.state)
    return State(place if "://" in place else Path(place), settings.name, patience)


@dataclass
class LiveModel:
    """Live model as its files describe it."""

    settings: LiveSettings
    contract: Contract
    recipe: Recipe
    state: State
    file: Path | None
    """FILE.yaml, as the caller named it; None if that is not known."""

    @classmethod
    def read(cls, settings: LiveSettings, state: State, file: Path | None = None) -> LiveModel:
        """Read the contract; UsageError if it or the algorithm cannot be used."""
        purpose = state.lifecycle().get("made_for") or {"columns": {}}
        contract = read_contract(settings.contract, settings.data).with_kinds(purpose["columns"])
        return LiveModel(settings, contract, recipe_of(settings, contract), state, file)


def status_command(settings: LiveSettings, file: Path | None) -> str:
    """Return the command that shows how a live model is doing."""
    return f"leaseboard live status {shlex.quote(str(file or f'{settings.name}.yaml'))}"


def recipe_of(settings: LiveSettings, contract: Contract) -> Recipe:
    """Return how a candidate is made; UsageError if the algorithm cannot be a live model."""
    target, model = settings.data.target, settings.model
    kind = contract.columns[target].kind
    if kind == UNDECIDED:
        raise UsageError(
            f"{settings.contract}: target: column {target!r} has had no value yet: write its kind,"
            " number or category"
        )
    recipe = Recipe(
        target, "regression" if kind in NUMBERS else "classification",
        model.algorithm, model.settings, model.seed,
    )  # fmt: skip
    recipe.check()
    return recipe


@dataclass
class Work:
    """Work of an update on one batch."""

    batch: Batch
    changes: Changes
    rows: BatchRows = field(default_factory=BatchRows)
    labelled: list[StoredRow] = field(default_factory=list)
    """Rows whose label has come with this batch, in the order they are learned."""
    losses: list[dict[int, Sums]] = field(default_factory=list)
    """The loss of each candidate's prediction of each of them."""
    made_champion: bool = False
    """Whether the first champion was made of this batch."""
    doubtful: dict[str, bool] = field(default_factory=dict)
    """By day that was monitored: whether its labels are unlike those of other days."""
    drift: tuple[str, ...] = ()
    """Why a challenger should be made."""


@dataclass
class ModelUpdate(LiveModel):
    """Update of a live model while it is running."""

    shadow: Shadow
    now: datetime
    lifecycle: LifecycleState
    found: list[Incident] = field(default_factory=list)
    """What is wrong, so far in this update."""
    recorded: int = 0
    """How many of these are in the state, or in changes that are about to be written."""
    page: str = ""
    """The address of the page, for notifications."""
    held: dict[str, list[tuple[str, str, str]]] = field(default_factory=dict)
    """Kind, subject and text of why batches were rejected in this update, by their names."""

    @property
    def moment(self) -> datetime:
        """The present time in whole seconds, as in the state."""
        return self.now.replace(microsecond=0)

    @property
    def at(self) -> str:
        """The moment as text."""
        return self.moment.isoformat()

    @property
    def last_day(self) -> str:
        """Days after this one are far ahead: their rows wait, and are not monitored or shown."""
        return (self.now + AHEAD).date().isoformat()

    def incident(self, kind: str, subject: str, what: str) -> None:
        """Report that something is wrong, as of now."""
        command = status_command(self.settings, self.file)
        self.found.append(Incident(kind, subject, " ".join(what.split()), self.now, command))

    def decide(self, rows: pd.DataFrame, batch: str) -> bool:
        """Decide the kinds of undecided columns that have their first values; True for any."""
        kinds = first_kinds(self.contract, rows)
        if not kinds or self.lifecycle.made_for is None:
            return False
        self.contract = self.contract.with_kinds(kinds)
        self.lifecycle.made_for.columns.update(kinds)
        self.shadow.dates = self.contract.dates
        self.shadow.record_history(
            HistoryEntry(self.at, DECIDED, name, f"column {name!r} is a {kind} since {batch}")
            for name, kind in kinds.items()
        )
        return True

    def has_found(self, kind: str) -> bool:
        """Return whether an incident was found since the last update, also by a killed one."""
        last = self.lifecycle.last_update
        return any(each.kind == kind for each in self.found) or any(
            each.incident.kind == kind
            and (last is None or each.seen.replace(microsecond=0) > last)
            for each in self.lifecycle.cases
        )

    def record(self, changes: Changes, *, ends: bool = False) -> None:
        """Put what was found since the last time, and the notifications of it, into `changes`.

        What a batch makes true is so written in one transaction with the incident: an update that
        is killed after it has nothing to find again.

        - `ends`: the update does, so that incidents which it did not find may be over.
        """
        new, self.recorded = self.found[self.recorded :], len(self.found)
        still = {each.key for each in self.found} if ends else None
        record(changes, self.lifecycle, new, still, self.settings, self.now, self.page)
        changes.lifecycle = self.lifecycle.dump()


def open_update(
    settings: LiveSettings, state: State, now: datetime, file: Path | None = None
) -> ModelUpdate:
    """Return all that an update at `now` works on, once the live model is locked.

    Raises UsageError if FILE.yaml or the contract is not that of the state any more.
    """
    live = LiveModel.read(settings, state, file)
    contract, recipe, data = live.contract, live.recipe, settings.data
    check_addresses(settings.alerts)
    lifecycle, shadow = (
        LifecycleState.read(state.lifecycle()),
        Shadow(state, recipe, contract.dates),
    )
    columns = {
        name: rule.kind
        for name, rule in contract.columns.items()
        if name not in (data.id, data.target) and rule.kind != UNDECIDED
    }
    algorithm = "of streams" if recipe.goes_on else recipe.algorithm
    asked = Purpose(data.target, data.id, data.time, recipe.task, algorithm, columns)
    if lifecycle.made_for is not None and shadow.candidates:
        check_purpose(lifecycle.made_for, asked, settings.contract, state)
        # What the contract does not name any more is known to them still.
        asked = replace(asked, columns={**lifecycle.made_for.columns, **asked.columns})
    lifecycle.made_for = asked
    if file is not None:
        check_file(lifecycle.file, file, state.place)
        lifecycle.file = file_of(file, state.place)
    last = lifecycle.last_update or now
    update = ModelUpdate(
        settings, contract, recipe, state, file, shadow, max(now, last), lifecycle
    )
    _set_clock(update, now, last)
    before = state.last_update()
    if before is not None and before["ended"] is None:
        what = (
            f"the update of {before['began'][:16]} did not end: what it had not finished is done"
        )
        update.incident(*LAST_UPDATE, f"{what} again")
    return update


def _set_clock(update: ModelUpdate, now: datetime, last: datetime) -> None:
    """Report a clock that has gone back, and follow it if it says so a second time.

    Once it may be wrong; twice, it was wrong before.
    """
    lifecycle, before = update.lifecycle, update.lifecycle.clock_went_back
    lifecycle.clock_went_back = None
    if now >= last - BEHIND:
        return
    what = f"its clock says {now:%Y-%m-%d %H:%M} UTC, and the last update was at"
    what += f" {last:%Y-%m-%d %H:%M}"
    if before is None or now < before:
        lifecycle.clock_went_back = now
        update.incident("clock", "this machine", f"{what}: set it")
        return
    update.now = now
    update.incident("clock", "this machine", f"{what}: as it said so before, it is followed")
    lifecycle.cases = [
        replace(each, seen=min(each.seen, now), resolved=each.resolved and min(each.resolved, now))
        for each in lifecycle.cases
    ]
    if lifecycle.challenger_since is not None:
        lifecycle.challenger_since = min(lifecycle.challenger_since, now)


def check_purpose(before: Purpose, now: Purpose, contract: Path, state: State) -> None:
    """Raise UsageError if something else is asked of a live model than it was made for."""
    old, new = asdict(before), asdict(now)
    for name, key in _PURPOSE.items():
        if old[name] != new[name]:
            raise UsageError(
                f"{key}: this live model was made for {old[name]}, not for {new[name]}: {_FIX}"
            )
    for name, kind in before.columns.items():
        asked = now.columns.get(name, kind)
        if _HELD[asked] != _HELD[kind]:
            since = {each.subject: each.what for each in state.history() if each.kind == DECIDED}
            what = since.get(name, f"column {name!r} is of kind {kind} for the models there are")
            raise UsageError(f"{contract}: {what}, not {asked}: {_FIX}")


def file_of(file: Path, place: Path | str) -> str:
    """Return FILE.yaml seen from the state in `place`, so that both may be moved together."""
    path = file.resolve()
    return os.path.relpath(path, place.parent) if isinstance(place, Path) else str(path)


def check_file(before: str | None, file: Path, place: Path | str) -> None:
    """Raise UsageError if the state is of another file, which still exists."""
    if before is None or before == file_of(file, place):
        return
    other = (place.parent / before).resolve() if isinstance(place, Path) else Path(before)
    if other.exists() and not other.samefile(file):
        raise UsageError(
            f"{file}: another live model of this name, in {other}, has this state: give yours"
            " another name"
        )
