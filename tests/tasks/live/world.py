"""A small world for a live model: a stream of days in an inbox, and its files."""

from __future__ import annotations

import shutil
from copy import copy
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from leaseboard.flows.live_update import run_update
from leaseboard.tasks.live import model
from leaseboard.tasks.live.first_files import write_contract
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.settings import LiveSettings, read_settings
from leaseboard.tasks.live.update import Update, UpdateResult
from leaseboard.tasks.store.live_model import State

BEGIN = datetime(2026, 1, 1, tzinfo=UTC)

KEEP = """\
name: sales
data: {source: "folder:inbox/*.csv", time: when, id: order, target: revenue, label_delay: 1d}
model: {algorithm: online-automl, settings: {b: 3}}
retrain: {every: 5d, window: 200}
contract: contract.yaml
"""


class World:
    """An inbox that gets a file a day, and updates in the night."""

    def __init__(self, home: Path, keep: str = KEEP, rows: int = 20, first: int = 60) -> None:
        self.home, self.rows = home, rows
        self.inbox = home / "inbox"
        self.inbox.mkdir(parents=True)
        (home / "sales.yaml").write_text(keep)
        self.deliver(0, self.day(0, first))
        self.begin()

    def copied(self, home: Path) -> World:
        """Return the same world in another folder."""
        shutil.copytree(self.home, home)
        other = copy(self)
        other.home, other.inbox = home, home / "inbox"
        return other

    def begin(self) -> None:
        """Write the contract."""
        write_contract(self.settings, BEGIN + timedelta(days=1))

    @staticmethod
    def settings_of(file: Path) -> LiveSettings:
        """Return the settings in another file."""
        return read_settings(file)

    @property
    def settings(self) -> LiveSettings:
        """Return the settings."""
        return read_settings(self.home / "sales.yaml")

    @property
    def state(self) -> State:
        """Return the state."""
        return model.state_of(self.settings, self.home)

    def day(self, number: int, rows: int | None = None) -> pd.DataFrame:
        """Return the rows of a day."""
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

    def update(self, number: int, **given: Any) -> UpdateResult:
        """Update in the night after a day."""
        now = BEGIN + timedelta(days=number + 1, hours=4)
        return run_update(self.settings, self.home, now, local=True, **given)

    def live(self, first: int, last: int) -> None:
        """Run days of a file and an update each."""
        for number in range(first, last + 1):
            if number:
                self.deliver(number, self.day(number))
            self.update(number)

    @property
    def lifecycle(self) -> LifecycleState:
        """Return what the live model remembers."""
        return LifecycleState.read(self.state.lifecycle())

    def open_update(self, state: State) -> Update:
        """Open an update on the next day."""
        now = datetime.fromisoformat(state.last_update()["began"]) + timedelta(days=1)
        return Update(LiveModel.read(self.settings, state), now)

    def roles(self) -> dict[str, int]:
        """Return who has which role, except for roles that many have."""
        return {each.role: each.number for each in self.state.candidates()
                if each.role in ("champion", "challenger", "previous")}  # fmt: skip


def models(world: World) -> dict[int, tuple[str, int, str | None]]:
    """Return what each candidate has learned, by number."""
    return {
        each.number: (each.role, each.learned, each.model) for each in world.state.candidates()
    }


def opened(world: World) -> list[str]:
    """Return what was reported when it opened, by kind."""
    return [each.what for each in world.state.history() if each.kind == "opened"]


def logged(state: State) -> list[Any]:
    """Return the log of predictions."""
    query = "select id, at, snapshot, prediction from live_sales_served order by number"
    with state.connected() as connection:
        return list(connection.exec_driver_sql(query).all())
