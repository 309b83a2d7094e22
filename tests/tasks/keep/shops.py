"""A keep whose days are taken in by hand."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pandas as pd

from leaseboard.tasks.keep.conform import check
from leaseboard.tasks.keep.contract import ColumnRule, Contract
from leaseboard.tasks.keep.living import Recipe
from leaseboard.tasks.keep.publication import Publishable
from leaseboard.tasks.keep.rows import sort_rows
from leaseboard.tasks.keep.settings import Keep
from leaseboard.tasks.keep.shadow import CHAMPION, Shadow, by_day, losses_of
from leaseboard.tasks.store.live_model import State
from leaseboard.tasks.store.live_tables import Changes, TakenIn

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)
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
    """A small shop: a number or a word to forecast, from a price, the weather and a place."""

    def __init__(self, folder, task="regression", algorithm="chacha", *, place=None, **settings):
        data = {"source": f"folder:{folder}/*.csv", "time": "day", "id": "order",
                "target": "revenue"}  # fmt: skip
        keep = Keep(name="sales", data=data, contract=folder / "contract.yaml")
        recipe = Recipe("revenue", task, algorithm, settings)
        state = State(place or folder / "state.sqlite", "sales")
        self.file = folder / "sales.yaml"
        self.file.touch()
        self.kept = Publishable(keep, self.file, CONTRACT, recipe, state)
        self.days = 0

    def rows(self, day, n=40):
        """A day's rows with their labels, as a file has them."""
        rng = np.random.default_rng(day)
        price, rain = rng.uniform(-2, 2, n).round(3), rng.random(n) < 0.3
        shop = rng.choice(["x", "y"], n)
        revenue = 3 * price + rain + (shop == "x") + rng.normal(scale=0.1, size=n)
        if self.kept.recipe.task == "classification":
            revenue = np.where(revenue > 0, "good", "bad")
        return pd.DataFrame({
            "order": [f"{day}-{i}" for i in range(n)], "day": BEGAN + timedelta(days=day),
            "price": price, "rain": rain, "shop": shop, "revenue": revenue,
        })  # fmt: skip

    def contract(self):
        """What a row must look like, with the target's kind."""
        kind = "category" if self.kept.recipe.task == "classification" else "number"
        rule = ColumnRule(kind=kind, required=False)
        return CONTRACT.model_copy(update={"columns": {**CONTRACT.columns, "revenue": rule}})

    def turn(self, *, bear="", move=()):
        """Take a day in: forecast, learn, perhaps a new challenger, and commit."""
        kept, at = self.kept, (BEGAN + timedelta(days=self.days)).isoformat()
        frame = check(self.contract(), self.rows(self.days), now=BEGAN).rows
        new = sort_rows(frame, list(frame["order"]), {}, kept.keep.data, at[:10]).new
        shadow = Shadow(kept.state, kept.recipe, ["day"])
        new = shadow.forecast(new)
        losses = losses_of(new)
        changes = Changes(at, TakenIn(f"{at[:10]}.csv", f"{self.days:064}", {"new": len(new)}),
                          rows=new, days=by_day(new, losses), window=500)  # fmt: skip
        if shadow.of_role(CHAMPION) is None:
            shadow.begin(new, at)
        else:
            shadow.learn(new)
        if bear:
            shadow.bear(new, at, "7 days since the last")
        for before, after in move:
            lineage = shadow.of_role(before)
            shadow.move(lineage, after, at, "moved", "by the test")
        shadow.put_into(changes)
        kept.state.commit(changes)
        self.days += 1
        return self
