"""A live model as its files describe it: FILE.yaml, the contract, and the state.

What is predicted, what identifies rows, and of what columns, cannot change while there are
candidates: they know columns by name and kind, and the state knows rows by their ids. If FILE.yaml
or the contract were edited against them, one line says so before anything is ingested. The kind of
a column that the contract calls undecided is that of its first values.
"""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.algorithms.tables.values import ValueKind
from leaseboard.tasks.live.candidates import Shadow
from leaseboard.tasks.live.contract import NUMBERS, UNDECIDED, Contract, read_contract
from leaseboard.tasks.live.lifecycle import LifecycleState, Purpose
from leaseboard.tasks.live.record import DECIDED
from leaseboard.tasks.live.settings import LiveSettings
from leaseboard.tasks.machine.addresses import filled
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_model import PATIENCE, State

_HELD: dict[ValueKind, str] = {
    "number": "numbers",
    "integer": "numbers",
    "flag": "numbers",
    "date": "dates",
    "text": "words",
    "category": "words",
}
"""What a column of a kind holds for a candidate; among kinds of one sort a contract may change."""
_KEYS = {"task": "task", "algorithm": "model.algorithm"}
"""Keys of FILE.yaml by the fields of `Purpose`; the others are of ``data:``."""
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
    task = "regression" if kind in NUMBERS else "classification"
    recipe = Recipe(target, task, model.algorithm, model.settings, model.seed)
    recipe.check()
    return recipe


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
        kinds = LifecycleState.read(state.lifecycle()).kinds
        contract = read_contract(settings.contract, settings.data).with_kinds(kinds)
        return LiveModel(settings, contract, recipe_of(settings, contract), state, file)

    def serve_purpose(self, lifecycle: LifecycleState) -> None:
        """Remember in `lifecycle` what the live model is for.

        Raises UsageError if the candidates there are were made for something else.
        """
        data, before = self.settings.data, lifecycle.made_for
        columns = {
            name: rule.kind
            for name, rule in self.contract.columns.items()
            if name not in (data.id, data.target) and rule.kind != UNDECIDED
        }
        algorithm = "of streams" if self.recipe.goes_on else self.recipe.algorithm
        task = self.recipe.task
        now = Purpose(data.target, data.id, data.time, task, algorithm, columns)
        if before is not None and self.state.candidates():
            for name in ("target", "id", "time", "task", "algorithm"):
                old, new = getattr(before, name), getattr(now, name)
                if old != new:
                    key = _KEYS.get(name, f"data.{name}")
                    said = f"{key}: this live model was made for {old}, not for {new}"
                    raise UsageError(f"{said}: {_FIX}")
            self._check_columns(before.columns, columns)
            # What the contract does not name any more is known to them still.
            now.columns.update({**before.columns, **columns})
        lifecycle.made_for = now
        if self.file is not None:
            mine, other = str(self.file.resolve()), lifecycle.file
            if other not in (None, mine) and Path(other).exists():
                raise UsageError(
                    f"{self.file}: another live model of this name, in {other}, has this state:"
                    " give yours another name"
                )
            lifecycle.file = mine

    def _check_columns(self, before: dict[str, ValueKind], columns: dict[str, ValueKind]) -> None:
        for name, kind in before.items():
            asked = columns.get(name, kind)
            if _HELD[asked] != _HELD[kind]:
                history = self.state.history()
                since = {each.subject: each.what for each in history if each.kind == DECIDED}
                what = f"column {name!r} is of kind {kind} for the models there are"
                raise UsageError(
                    f"{self.settings.contract}: {since.get(name, what)}, not {asked}: {_FIX}"
                )

    def shadow(self) -> Shadow:
        """Return the candidates, as the state has them."""
        return Shadow(self.state, self.recipe, self.contract.dates)
