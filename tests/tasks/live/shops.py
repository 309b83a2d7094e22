"""Live model whose days are taken in by hand."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from leaseboard.tasks.live.candidates import CHAMPION, Shadow
from leaseboard.tasks.live.contract_check import check
from leaseboard.tasks.live.incidents import LifecycleState
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.record import ModelRecord, by_day, losses_of
from leaseboard.tasks.live.rows import sort_rows
from leaseboard.tasks.live.settings import ColumnRule, Contract, LiveSettings
from leaseboard.tasks.models.recipe import Recipe
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
LATER = BEGAN + timedelta(days=365)
CONTRACT = Contract(
    columns={
        "order": ColumnRule(kind="text"),
        "day": ColumnRule(kind="date"),
        "price": ColumnRule(kind="number", low=-10, high=10),
        "rain": ColumnRule(kind="flag", missing=0.5),
        "shop": ColumnRule(kind="category", categories=["x", "y"], missing=0.5),
        "revenue": ColumnRule(kind="number", required=False),
    }
)


class Shop:
    """A small shop: a number or a word to predict, from a price, the weather and a place."""

    def __init__(
        self, folder, task="regression", algorithm="online-automl", *, place=None, **settings
    ):
        data = {"source": f"folder:{folder}/*.csv", "time": "day", "id": "order",
                "target": "revenue"}  # fmt: skip
        keep = LiveSettings(name="sales", data=data, contract=folder / "contract.yaml")
        recipe = Recipe("revenue", task, algorithm, settings)
        state = State(place or folder / "state.sqlite", "sales")
        self.file = folder / "sales.yaml"
        self.file.touch()
        self.live = LiveModel(keep, CONTRACT, recipe, state, self.file)
        self.days = 0

    def rows(self, day, n=40):
        """Return a day's rows with their labels, as a file has them."""
        rng = np.random.default_rng(day)
        price, rain = rng.uniform(-2, 2, n).round(3), rng.random(n) < 0.3
        shop = rng.choice(["x", "y"], n)
        revenue = 3 * price + rain + (shop == "x") + rng.normal(scale=0.1, size=n)
        if self.live.recipe.task == "classification":
            revenue = np.where(revenue > 0, "good", "bad")
        return pd.DataFrame({
            "order": [f"{day}-{i}" for i in range(n)], "day": BEGAN + timedelta(days=day),
            "price": price, "rain": rain, "shop": shop, "revenue": revenue,
        })  # fmt: skip

    def contract(self):
        """Return the contract of a row, with the target's kind."""
        kind = "category" if self.live.recipe.task == "classification" else "number"
        rule = ColumnRule(kind=kind, required=False)
        return CONTRACT.model_copy(update={"columns": {**CONTRACT.columns, "revenue": rule}})

    def record(self, now=LATER):
        """Return what page and MLflow read."""
        return ModelRecord(self.live.settings, self.live.state, now)

    def update(self, *, bear="", move=()):
        """Take a day in: predict, learn, perhaps a new challenger, and commit."""
        live, at = self.live, (BEGAN + timedelta(days=self.days)).isoformat()
        checked = check(self.contract(), self.rows(self.days), now=BEGAN).rows
        rows = [(row.values["order"], at[:10], row.values) for row in checked]
        found = sort_rows(rows, {}, live.settings.data)
        shadow = Shadow(live.state, live.recipe, ["day"])
        new = found.new = shadow.predict(found.new)
        losses = losses_of(new)
        changes = Changes(at, (f"{at[:10]}.csv", f"{self.days:064}"), found,
                          days=by_day(new, losses), window=500)  # fmt: skip
        kinds = {
            n: rule.kind for n, rule in CONTRACT.columns.items() if n not in ("order", "revenue")
        }
        changes.lifecycle = LifecycleState(kinds=kinds).dump()
        if shadow.in_role(CHAMPION) is None:
            shadow.create_champion(new, at)
        else:
            shadow.learn(new)
        if bear:
            shadow.create_challenger(new, at, "7 days since the last")
        for before, after in move:
            candidate = shadow.in_role(before)
            shadow.change_role(candidate, after, at, after, "by the test")
        shadow.write_to(changes)
        live.state.commit(changes)
        self.days += 1
        return self
