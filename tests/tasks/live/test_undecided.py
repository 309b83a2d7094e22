"""Columns without a value at first: their kind is decided when values come, or by their owner."""

import shutil
from types import SimpleNamespace

import numpy as np
import pytest

from leaseboard.algorithms.errors import UsageError
from leaseboard.tasks.live.model import LiveModel
from leaseboard.tasks.live.rows import Snapshot, features_of
from leaseboard.tasks.live.settings import read_contract
from leaseboard.tasks.models.model import load
from leaseboard.tasks.serve.champion import Follower
from tests.tasks.live.world import World, models

pytestmark = pytest.mark.usefixtures("without_pages")

VALUES = {
    "number": lambda rng, n: rng.normal(size=n).round(3),
    "flag": lambda rng, n: rng.choice(["true", "false"], n),
    "date": lambda rng, n: rng.choice(["2026-02-01", "2026-02-02T10:00:00"], n),
    "text": lambda rng, n: rng.choice(["007", "42", "A7"], n, p=[0.4, 0.4, 0.2]),
}
FIRST = {"late": 2, "later": 4}
"""From which day on the columns have values."""


class Growing(World):
    """World in which two columns have values from a later day on."""

    kinds = ("number", "text")

    def day(self, number, rows=None):
        """Return the rows of a day."""
        frame, rng = super().day(number, rows), np.random.default_rng(1000 + number)
        for name, kind in zip(FIRST, self.kinds, strict=True):
            known = number >= FIRST[name]
            frame[name] = VALUES[kind](rng, len(frame)) if known else None
        return frame

    def write_kinds(self, **kinds):
        """Edit the contract."""
        path = self.settings.contract
        lines = path.read_text().splitlines()
        new = {f"  {name}": f"  {name}: {rule}" for name, rule in kinds.items()}
        path.write_text("\n".join(new.get(each.partition(":")[0], each) for each in lines))


@pytest.fixture
def grow(tmp_path):
    """Return a function that makes worlds whose two columns are of these kinds."""

    def make(name, *kinds):
        made = Growing.__new__(Growing)
        made.kinds = kinds
        made.__init__(tmp_path / name)
        return made

    return make


@pytest.mark.parametrize("kinds", [("number", "text"), ("flag", "date")])
def test_a_model_is_the_same_as_if_the_kinds_had_been_known(grow, kinds):
    world, known = grow("undecided", *kinds), grow("known", *kinds)
    known.write_kinds(**{each: f"{{kind: {kind}, missing: 1}}"
                         for each, kind in zip(FIRST, kinds, strict=True)})  # fmt: skip
    for each in (world, known):
        each.live(0, 3)
        for number in (4, 5, 6):  # several files in one update
            each.deliver(number, each.day(number))
        assert each.update(6).rejected == 0
    assert models(world) == models(known)
    live = LiveModel.read(world.settings, world.state)
    assert [live.contract.columns[each].kind for each in FIRST] == [*kinds]


def test_an_owner_may_decide_until_values_come_and_then_narrow(grow):
    world = grow("owner", "number", "text")
    world.live(0, 1)
    world.write_kinds(
        late="{kind: number, low: -9, high: 9, missing: 1}", later="{kind: category}"
    )
    world.write_kinds(later="{kind: category, missing: 1}")
    for number in (2, 3):
        world.deliver(number, world.day(number))
        assert world.update(number).rejected == 0
    world.write_kinds(late="{kind: text, missing: 1}")
    with pytest.raises(UsageError, match=r"column 'late': .* made for numbers, not for words"):
        world.update(4)
    world.write_kinds(late="{kind: undecided, missing: 1}")
    world.update(4)


def test_a_server_takes_any_value_until_its_champion_knows_the_kind(grow):
    world = grow("served", "number", "text")
    world.live(0, 1)
    follower = Follower("", world.settings, world.state, lambda _: None)
    row = {"order": "9", "when": "2026-01-09", "a": 1.0, "shop": "x"}
    rows = [row | {"late": each, "later": None} for each in (None, 1.5, "x", True)]
    assert [follower.rules.row_fault(each) for each in rows] == [None] * 4
    assert "late" in follower.rules.row_fault(rows[0] | {"late": [1]})
    snapshot = snapshot_of(world)
    found = [snapshot.predict_rows([snapshot.read(each)]) for each in (row, *rows)]
    assert all(each == found[0] for each in found), "it has learned nothing of the column"
    for number in (2, 3):
        world.deliver(number, world.day(number))
        world.update(number)
    follower.champion = SimpleNamespace(kinds=world.lifecycle.kinds)
    follower._set_rules()
    faults = [follower.rules.row_fault(each) for each in rows]
    assert [each is None for each in faults] == [True, True, False, False]


def snapshot_of(world):
    """Return the champion as the registry has it."""
    live = LiveModel.read(world.settings, world.state)
    (champion,) = (each for each in world.state.candidates() if each.role == "champion")
    model = load(world.state.model(champion.model), "a model")
    return Snapshot(features_of(live.contract, live.settings.data, {}), model)


def test_a_target_without_a_value_must_be_decided_by_its_owner(tmp_path):
    world = World(tmp_path)
    shutil.rmtree(world.inbox)
    world.inbox.mkdir()
    world.settings.contract.unlink()
    world.deliver(0, world.day(0).assign(revenue=None))
    with pytest.raises(UsageError, match=r"'revenue' has had no value yet: write its kind"):
        world.begin()
    text = world.settings.contract.read_text()
    world.settings.contract.write_text(text.replace("undecided", "number"))
    assert read_contract(world.settings.contract, world.settings.data)
    assert world.update(0).counts["new"] == 20
