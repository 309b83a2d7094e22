"""A live model as its files describe it: FILE.yaml, the contract, and the state.

What is predicted, what identifies rows, and of what columns, cannot change while there are
candidates: they know columns by name and kind, and the state knows rows by their ids. If FILE.yaml
or the contract were edited against them, one line says so before anything is ingested. The kind of
a column that the contract calls undecided is that of its first values.
"""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.candidates import Shadow
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.record import ERASED, deletion
from leaseboard.tasks.live.settings import (
    NUMBERS,
    UNDECIDED,
    Contract,
    LiveSettings,
    read_contract,
)
from leaseboard.tasks.machine.addresses import filled
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_model import PATIENCE, State
from leaseboard.tasks.store.live_tables import Changes, digest_of

_HELD = dict.fromkeys(("number", "integer", "flag"), "numbers") | {
    "date": "dates", "text": "words", "category": "words"
}  # fmt: skip
"""What a column of a kind holds for a candidate; among kinds of one sort a contract may change."""


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
        data = self.settings.data
        kinds = {
            name: rule.kind
            for name, rule in self.contract.columns.items()
            if name not in (data.id, data.target) and rule.kind != UNDECIDED
        }
        now = {
            "data.target": data.target,
            "data.id": data.id,
            "data.time": data.time,
            "task": self.recipe.task,
            "model.algorithm": "of streams" if self.recipe.goes_on else self.recipe.algorithm,
        }
        if self.state.candidates():
            asked = now | _held(kinds)
            for key, old in (lifecycle.made_for | _held(lifecycle.kinds)).items():
                if asked.get(key, old) != old:
                    raise UsageError(
                        f"{key}: this live model was made for {old}, not for {asked[key]}: write"
                        " it back, or start another live model under another name"
                    )
            # What the contract does not name any more is known to them still.
            kinds = lifecycle.kinds | kinds
        lifecycle.made_for, lifecycle.kinds = now, kinds
        if self.file is not None:
            mine, other = str(self.file.resolve()), lifecycle.file
            if other not in (None, mine) and Path(other).exists():
                raise UsageError(
                    f"{self.file}: another live model of this name, in {other}, has this state:"
                    " give yours another name"
                )
            lifecycle.file = mine

    def shadow(self) -> Shadow:
        """Return the candidates, as the state has them."""
        return Shadow(self.state, self.recipe, self.contract.dates)


def _held(kinds: Mapping[str, str]) -> dict[str, str]:
    """Return by column what it holds for a candidate."""
    return {f"column {name!r}": _HELD[kind] for name, kind in kinds.items()}


def erase(live: LiveModel, ids: Sequence[str], reason: str, now: datetime) -> str:
    """Delete all that is stored of rows by their ids; return what was deleted, in one line.

    Sums of losses, statistics of days, and what models have learned stay. Of these only models of
    streams hold single rows: the numbers of the last ones, without ids, until others take their
    place. A file that arrives again brings no deleted row back: of the ids digests are remembered.

    The caller holds the update lock. Raises UsageError for a live model without ids.
    """
    if live.settings.data.id is None:
        raise UsageError(
            f"the live model {live.settings.name!r} has no id: set data.id, or delete old rows by"
            " retention"
        )
    state, at, gone = live.state, now.isoformat(timespec="seconds"), set(ids)
    with state.transaction():
        is_known = {digest_of(each.encode()) for each in ids} <= state.erased()
        counts = state.erase(ids)
        entry = deletion(at, ERASED, counts, f"by id: {reason}")
        if is_known and not any(counts.values()):  # as of a command that was killed at its end
            return entry.what
        lifecycle = LifecycleState.read(state.lifecycle())
        lifecycle.left_out = [each for each in lifecycle.left_out if each not in gone]
        if lifecycle.doubtful is not None:
            lifecycle.doubtful.rows = [r for r in lifecycle.doubtful.rows if r not in gone]
        shadow = live.shadow()
        shadow.forget(ids)
        changes = Changes(at, lifecycle=lifecycle.dump(), history=[entry])
        shadow.write_to(changes)
        state.commit(changes)
    return entry.what
