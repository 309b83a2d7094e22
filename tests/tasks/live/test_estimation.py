"""The loss of days whose labels have not come: estimated once, and compared with what came."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from leaseboard.algorithms.errors import DataError
from leaseboard.flows import live_update as flow
from leaseboard.tasks.live import cycle
from leaseboard.tasks.live.estimation import LEVEL, LossModel, unit_loss
from leaseboard.tasks.live.lifecycle import DayEstimate
from tests.tasks.live.world import KEEP, World

LATE = 3


class HardWorld(World):
    """Days whose revenue is noise where a flag says so, on some days more; labels come later."""

    def day(self, number, rows=None):
        """Return the rows of a day."""
        frame = super().day(number, rows)
        random = np.random.default_rng([number, 1])
        hard = random.random(len(frame)) < (0.9 if number % 5 == 0 else 0.1)
        noise = hard * 40 * random.normal(size=len(frame))
        return frame.assign(hard=np.where(hard, "yes", "no"), revenue=frame["revenue"] + noise)

    def late(self, first, last):
        """Return days whose labels come `LATE` days after their rows."""
        for number in range(first, last + 1):
            self.deliver(number, self.day(number).assign(revenue=None))
            if number - LATE >= first:
                labels = self.day(number - LATE)[["order", "revenue"]]
                self.deliver(number, labels, "-labels")
            self.update(number)


@pytest.fixture
def world(tmp_path, monkeypatch):
    """Return a world with three weeks of labels behind it."""
    monkeypatch.setattr(flow, "build", lambda *_: None)
    monkeypatch.setattr(cycle, "monitor", lambda *_, **__: None)
    text = KEEP.replace("every: 5d, ", "").replace("label_delay: 1d", f"label_delay: {LATE}d")
    world = HardWorld(tmp_path, keep=text.replace("window: 200", "window: 2000"), first=60)
    for number in range(1, 21):
        world.deliver(number, world.day(number))
    world.update(20)
    return world


def test_days_that_wait_are_estimated_and_then_said_what_they_came_to(world):
    assert world.lifecycle.estimates == [], "no row waits"
    world.late(21, 29)
    found = world.lifecycle.estimates
    assert [each.day for each in found] == [f"2026-01-{n}" for n in range(22, 31)]
    assert [each.came is None for each in found] == [False] * 6 + [True] * 3
    hard, others = found[4], [each for each in found if each is not found[4]]
    assert hard.loss > 2 * max(each.loss for each in others), "before any of its labels came"
    days = world.state.days()
    (day,) = (e for e in days if e["day"] == found[0].day and e["candidate"] == found[0].candidate)
    assert found[0].came == day["sums"]["absolute"] / day["rows"]


def test_an_estimate_stays_as_reported(world):
    world.late(21, 22)
    before = world.lifecycle.estimates
    world.update(22)
    assert world.lifecycle.estimates == before
    more = world.day(22).assign(revenue=None)
    more["order"] += "-more"
    world.deliver(22, more, "-more")
    world.update(22)
    assert world.lifecycle.estimates[1].rows == 2 * before[1].rows, "unless rows come"


def test_few_days_with_labels_are_not_learned_from(tmp_path, monkeypatch):
    monkeypatch.setattr(flow, "build", lambda *_: None)
    world = HardWorld(tmp_path)
    world.live(0, 5)
    world.late(6, 7)
    assert world.lifecycle.estimates == []


def test_labels_of_a_part_of_a_day_say_nothing_yet(world):
    world.late(21, 21)
    world.deliver(22, world.day(21)[["order", "revenue"]].head(10), "-labels")
    world.update(22)
    assert world.lifecycle.estimates[0].came is None


def test_the_loss_of_classes_is_the_brier_score():
    assert unit_loss({"a": 0.5, "b": 0.5}, "b") == 0.5
    assert not DayEstimate("2026-01-01", 1, 20, 1.0, 0.5, 1.5, 1.0).held


def days(first, count, rows=40, classes=False):
    """Return rows of which some are hard, more on some days than on others, and what they cost."""
    tables, losses, sure, numbers = [], [], [], []
    for number in range(first, first + count):
        generator = np.random.default_rng(number)
        hard = generator.random(rows) < generator.random()
        kind = np.where(hard, "hard", "easy")
        tables.append(pd.DataFrame({"kind": kind, "noise": generator.random(rows), "at": pd.NaT}))
        wrong = generator.random(rows) < np.where(hard, 0.5, 0.1)
        losses.append(pd.Series(wrong * 1.0 if classes else np.where(hard, 8, 2) + wrong))
        sure.append(pd.Series(np.where(hard, 0.6, 0.95) if classes else generator.random(rows)))
        numbers += [number] * rows
    return pd.concat(tables), pd.concat(losses), pd.concat(sure), numbers


@pytest.mark.parametrize("classes", [False, True])
def test_a_hard_day_is_seen_before_its_labels(classes):
    table, losses, sure, numbers = days(0, 40, classes=classes)
    model = LossModel(table, sure, losses, numbers)
    errors, naive, held = [], [], []
    for number in range(40, 80):
        new, came, prediction, _ = days(number, 1, classes=classes)
        loss, low, high = model.estimate(new, prediction)
        errors.append(abs(loss - came.mean()))
        naive.append(abs(losses.mean() - came.mean()))
        held.append(low <= came.mean() <= high)

    assert np.mean(errors) < 0.6 * np.mean(naive)
    assert np.mean(held) >= LEVEL - 0.1


def test_it_is_the_same_every_time():
    table, losses, sure, numbers = days(0, 20)
    new, _, prediction, _ = days(20, 1)
    first, again = (
        LossModel(table, sure, losses, numbers).estimate(new, prediction) for _ in range(2)
    )

    assert first == again


def test_a_category_that_is_new_or_missing_is_taken():
    table, losses, sure, numbers = days(0, 20)
    new, _, prediction, _ = days(20, 1)
    new["kind"] = ["other", None] * 20

    assert LossModel(table, sure, losses, numbers).estimate(new, prediction)[0] > 0


def test_few_days_show_little():
    table, losses, sure, numbers = days(0, 13)
    with pytest.raises(DataError, match="13 labelled days says little: wait for 14"):
        LossModel(table, sure, losses, numbers)
