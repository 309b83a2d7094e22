"""A small world for a keep: a stream of days in an inbox, and its files."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.flows.keep import Turned, run_turn
from leaseboard.tasks.keep import opening
from leaseboard.tasks.keep.beginning import write_contract
from leaseboard.tasks.keep.lifecycle import LifecycleState
from leaseboard.tasks.keep.settings import Keep, read_keep
from leaseboard.tasks.keep.update import ModelUpdate
from leaseboard.tasks.store.live_model import State

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

KEEP = """\
name: sales
data: {source: "folder:inbox/*.csv", time: when, id: order, target: revenue, label_delay: 1d}
model: {algorithm: chacha, settings: {b: 3}}
retrain: {every: 5d, window: 200}
contract: contract.yaml
"""


class World:
    """An inbox that gets a file a day, and turns in the night."""

    def __init__(self, home: Path, keep: str = KEEP, rows: int = 20, first: int = 60) -> None:
        self.home, self.rows = home, rows
        self.inbox = home / "inbox"
        self.inbox.mkdir(parents=True)
        (home / "sales.yaml").write_text(keep)
        self.deliver(0, self.day(0, first))
        self.begin()

    def begin(self) -> None:
        """Write the contract."""
        write_contract(self.keep, BEGIN + timedelta(days=1))

    @staticmethod
    def keep_of(file: Path) -> Keep:
        """The settings in another file."""
        return read_keep(file)

    @property
    def keep(self) -> Keep:
        """The settings."""
        return read_keep(self.home / "sales.yaml")

    @property
    def state(self) -> State:
        """The state."""
        return opening.state_of(self.keep, self.home)

    def day(self, number: int, rows: int | None = None) -> pd.DataFrame:
        """The rows of a day."""
        rng = np.random.default_rng(number)
        n = rows or self.rows
        a, b = rng.normal(size=n).round(3), rng.choice(["x", "y"], n)
        when = [BEGIN + timedelta(days=number, minutes=i) for i in range(n)]
        return pd.DataFrame(
            {
                "order": [f"{number}-{i}" for i in range(n)],
                "when": [f"{each:%Y-%m-%dT%H:%M:%S}" for each in when],
                "a": a,
                "shop": b,
                "revenue": (100 + 10 * a + 5 * (b == "x") + rng.normal(size=n)).round(3),
            }
        )

    def deliver(self, number: int, frame: pd.DataFrame, name: str = "") -> Path:
        """Put a file into the inbox."""
        path = self.inbox / f"{number:03}{name}.csv"
        frame.to_csv(path, index=False)
        return path

    def turn(self, number: int, **given: Any) -> Turned:
        """The turn in the night after a day."""
        now = BEGIN + timedelta(days=number + 1, hours=4)
        return run_turn(self.keep, self.home, now, local=True, **given)

    def live(self, first: int, last: int) -> None:
        """Days of a file and a turn each."""
        for number in range(first, last + 1):
            if number:
                self.deliver(number, self.day(number))
            self.turn(number)

    @property
    def lifecycle(self) -> LifecycleState:
        """What the live model remembers."""
        return LifecycleState.read(self.state.memory())

    def opened_update(self, state: State) -> ModelUpdate:
        """What a turn on the next day would begin with."""
        now = self.lifecycle.last_update + timedelta(days=1)
        return opening.opened(self.keep, state, now)

    def roles(self) -> dict[str, int]:
        """Who has which role, but for what has many."""
        return {each.role: each.number for each in self.state.lineages()
                if each.role in ("champion", "challenger", "previous")}  # fmt: skip


def models(world: World) -> dict[int, tuple[str, int, str | None]]:
    """What each lineage has learned, by number."""
    return {each.number: (each.role, each.learned, each.model) for each in world.state.lineages()}


def opened(world: World) -> list[str]:
    """What was told when it opened, by kind."""
    return [each.what for each in world.state.history() if each.kind == "opened"]
